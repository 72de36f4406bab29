"""Logs of some dozens of rows, as of epochs: what is over, what was planned, and what was learned anew."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from chronicle.classify import classify
from chronicle.classify.kernel import Event, Kind
from chronicle.classify.rules.loss_shapes import provisional
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Diagnosis, Role, Series

Values = NDArray[np.float64]


def noisy(course: Values, seed: int = 0, noise: float = 0.01) -> Values:
    return np.asarray(course * np.exp(noise * np.random.default_rng(seed).standard_normal(len(course))))


def falling(n_rows: int, floor: float, pace: float) -> Values:
    return np.asarray(floor + 2.3 * np.exp(-np.arange(n_rows) / pace))


def named(logged: Values | Mapping[str, Values]) -> tuple[str, list[str]]:
    judged = classify(logged if isinstance(logged, dict) else {"loss": logged})
    return judged.verdict, [
        f.pattern for f in judged.findings if f.pattern not in ("near-perfect", "noisy-healthy")
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_spike_below_which_all_that_follows_lies_is_over(seed: int) -> None:
    """The steep course before it, carried on without a floor, would lie lower still."""
    loss = noisy(falling(30, 0.19, 4.5), seed)
    loss[19:21] = 0.87, 0.36
    assert named(loss) == ("good", ["spike-fast-recovery"])


def test_a_spike_that_stays_above_the_level_before_it_is_not_over() -> None:
    loss = noisy(falling(30, 0.19, 4.5))
    loss[19], loss[20:] = 0.87, noisy(np.full(10, 0.33))
    assert named(loss)[0] != "good"


@pytest.mark.parametrize("seed", range(6))
def test_a_step_up_from_which_the_loss_falls_is_no_divergence(seed: int) -> None:
    """As where regularisation is switched on: the level is another one, and it goes on learning."""
    loss = noisy(falling(150, 0.31, 20.0), seed, 0.02)
    loss[75:] += 0.07 * np.exp(-np.arange(75) / 60)
    verdict, patterns = named(loss)
    assert verdict in ("good", "worrying") and not any("divergence" in pattern for pattern in patterns)


def test_a_step_up_from_which_the_loss_climbs_is_a_divergence() -> None:
    loss = noisy(falling(150, 0.31, 20.0), 0, 0.02)
    loss[75:] *= 1.25 * np.exp(np.arange(75) / 100)
    assert named(loss)[0] == "bad"


def explained(judged: Diagnosis) -> set[object]:
    return {f.evidence.get("explained_by") for f in judged.findings} - {None}


def set_anew(n_rows: int, changes: int, name: str = "difficulty") -> Diagnosis:
    """A task that gets harder at each of some changes, and is learned again."""
    setting = np.repeat(np.arange(1.0, changes + 2), -(-n_rows // (changes + 1)))[:n_rows]
    since = np.concatenate([np.arange(np.count_nonzero(setting == k)) for k in np.unique(setting)])
    loss = noisy(setting**0.25 * (0.3 + 0.8 * np.exp(-since / (n_rows / 16))))
    return classify({"loss": loss, name: setting})


@pytest.mark.parametrize("n_rows", [60, 100, 160, 400])
def test_a_setting_may_be_set_anew_in_a_log_of_few_rows(n_rows: int) -> None:
    judged = set_anew(n_rows, 1)
    assert (judged.verdict, explained(judged)) == ("good", {"difficulty was set anew"})


def test_a_setting_that_changes_ever_again_explains_nothing() -> None:
    assert not explained(set_anew(60, 9))


def test_what_memory_is_taken_is_no_setting() -> None:
    judged = set_anew(100, 1, "vram_mb")
    assert judged.verdict != "good" and not explained(judged)


def test_a_setting_does_not_explain_what_is_never_learned_again() -> None:
    loss = noisy(falling(100, 0.1, 10.0))
    loss[50:] = noisy(np.full(50, 0.9), 1, 0.05)
    judged = classify({"loss": loss, "difficulty": np.repeat([1.0, 2.0], 50)})
    assert judged.verdict == "bad" and not explained(judged)


def test_a_part_that_is_added_to_the_loss_is_no_loss_of_what_was_learned() -> None:
    part = noisy(0.4 + 1.9 * np.exp(-np.arange(200) / 25))
    added = np.where(
        np.arange(200) < 100, 0.0, noisy(0.2 + 1.5 * np.exp(-np.maximum(np.arange(200) - 100, 0) / 25))
    )
    judged = classify({"loss": part + added, "loss_cls": part, "loss_aux": added})
    assert (judged.verdict, explained(judged)) == ("good", {"loss_aux was switched on"})
    alone = classify({"loss": part + added})
    assert "reinitialised" in {f.pattern for f in alone.findings}


def test_a_restart_of_the_schedule_may_lift_the_level_of_its_cycles() -> None:
    """From where each cycle ends lower than the one before."""
    within = np.arange(48) % 12
    rate = 1e-3 * (1 + np.cos(np.pi * within / 12)) / 2
    loss = noisy((1.2 - 0.006 * np.arange(48)) * (0.72 + 0.28 * rate / 1e-3), 3)
    loss[:12] = np.linspace(2.1, 0.9, 12)
    assert classify({"loss": loss, "lr": rate}).verdict == "good"


def open_rise(after: Values, growth: float) -> list[str]:
    """The names of a rise from 2.65 of which 0.57 was gained in one jump and 0.9 is left."""
    values = np.concatenate([np.full(100, 2.65), after])
    rise = Event(
        Kind.OPEN, onset=100, peak=104, end=None, opened=101, level_samples=16, height=0.083, residual=0.075,
        into_nan=False, noise=0.01, score=40.0, abruptness=0.57, growth=growth, falling=0.0, last=0.075,
    )  # fmt: skip
    steps = np.arange(len(values))
    series = Series("loss", Role.LOSS, steps, values, np.full(len(values), np.nan))
    return [f.pattern for f in provisional([rise], series, 0, "log", Thresholds())]


def test_a_step_whose_peak_holds_noise_is_a_step_where_the_loss_does_not_climb_on() -> None:
    learns_on = 2.82 - 0.2 * np.arange(100) / 100
    assert open_rise(learns_on, 0.05) == ["level-shift"]
    assert open_rise(2.72 + 0.2 * np.arange(100) / 100, 0.05) == ["divergence-no-spike"]
    assert open_rise(learns_on[:20], 0.05) == ["divergence-no-spike"]  # too few samples to know
