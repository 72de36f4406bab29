"""Presets: each published rule on examples worked out by hand, and against a slow twin."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

from chronicle.score.presets import PRESETS, beyond_sigma

ONE_AND_THREE = [1.0, 3.0] * 64  # mean 2, standard deviation 1


def flagged(name: str, values: list[float]) -> list[int]:
    return np.flatnonzero(PRESETS[name].flags(np.array(values))).tolist()


def test_olmo_flags_what_exceeds_six_deviations_of_a_full_window() -> None:
    assert flagged("olmo-128-6", [*ONE_AND_THREE, 8.0]) == []
    assert flagged("olmo-128-6", [*ONE_AND_THREE, 8.01]) == [128]
    assert flagged("olmo-128-6", [*ONE_AND_THREE[1:], 8.01]) == []
    assert flagged("olmo-128-6", [*ONE_AND_THREE, -100.0]) == []
    assert flagged("olmo-128-6", [2.0] * 128 + [100.0]) == [], "a window without spread judges nothing"


def test_olmo_is_silent_while_a_nan_is_in_the_window() -> None:
    values = [*ONE_AND_THREE, math.nan, *ONE_AND_THREE[:127], 50.0, 50.0]
    assert flagged("olmo-128-6", values) == [257]


def test_spike_score_counts_both_sides_and_the_limit() -> None:
    calm = [1.0, 3.0] * 500
    assert flagged("olmo2-spike-score", [*calm, 9.0]) == [1000]
    assert flagged("olmo2-spike-score", [*calm, -5.0]) == [1000]
    assert flagged("olmo2-spike-score", [*calm, 8.9]) == []


def test_kill_loss_spike_wants_five_in_a_row() -> None:
    assert flagged("kill-loss-spike", [1.0] * 100 + [3.0] * 4 + [1.0] * 20) == []
    assert flagged("kill-loss-spike", [1.0] * 100 + [3.0] * 6 + [1.0] * 20) == [104, 105]
    assert flagged("kill-loss-spike", [1.0] * 100 + ([3.0] * 4 + [1.0]) * 4) == []


def test_kill_loss_spike_sees_a_window_half_of_which_is_high() -> None:
    """The cap is 5, the highest of the first window; values of 6 are no outliers beside a mean of 5."""
    values = [5.0] * 200 + [6.0] * 60
    assert flagged("kill-loss-spike", values) == list(range(250, 260))
    assert flagged("kill-loss-spike", [5.0] * 110 + [6.0] * 60) == [], "before the second window ends"


def test_lightning_flags_a_rise_to_three_times_the_mean() -> None:
    assert flagged("lightning-spike", [1.0, 1.0, 1.0, 3.0]) == [3]
    assert flagged("lightning-spike", [1.0, 1.0, 1.0, 2.99]) == []
    assert flagged("lightning-spike", [1.0, 1.0, 9.0, 8.0, 1.0]) == [2, 3], "the flagged value is skipped"
    assert flagged("lightning-spike", [1.0, math.nan, math.inf, 1.0]) == [1, 2]
    assert flagged("lightning-spike", [math.nan, 1.0]) == [1], "no mean yet: everything is above it"


def slow_sigma(values: list[float], window: int, sigmas: float, two_sided: bool) -> list[bool]:
    history, out = deque[float](maxlen=window), []
    for value in values:
        flag = False
        if len(history) == window:
            mean = np.array(history).mean()
            spread = np.array(history).std()
            away = abs(value - mean) >= sigmas * spread if two_sided else value > mean + sigmas * spread
            flag = bool(away) and spread >= 1e-10
        history.append(value)
        out.append(flag)
    return out


def slow_kill(values: list[float]) -> list[bool]:
    window = max(100, round(len(values) * 0.05))
    cap = min(max(values[:window]), 10.0)
    history, row, out = deque[float](maxlen=window), 0, []
    for i, value in enumerate(values):
        flag = False
        if len(history) == window:
            row = row + 1 if value >= 2.0 * np.mean(history) else 0
            flag = row > 4 or (i + 1 >= 2 * window and sum(h > cap for h in history) >= window / 2)
        history.append(value)
        out.append(flag)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_rules_agree_with_their_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = 3.0 + 0.1 * rng.standard_t(2, 5000)
    values[2000:2030] *= 4.0
    values[4000:] += 20.0 * (seed % 2)
    for window, sigmas, both in ((128, 6.0, False), (100, 4.0, True)):
        fast = beyond_sigma(values, window_samples=window, sigmas=sigmas, two_sided=both)
        assert fast.tolist() == slow_sigma(values.tolist(), window, sigmas, both)
    assert PRESETS["kill-loss-spike"].flags(values).tolist() == slow_kill(values.tolist())


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(
    "values", [[], [1.0], [math.nan] * 300, [math.inf] * 300, [0.0] * 300, [1e308, -1e308] * 700]
)
def test_no_rule_raises(name: str, values: list[float]) -> None:
    assert PRESETS[name].flags(np.array(values, dtype=float)).shape == (len(values),)
