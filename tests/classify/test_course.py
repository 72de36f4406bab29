"""Level and trend: what a loss would have done, and whether a rise came back."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.classify.course import MOST, came_back, fitted, medians_of, solved
from chronicle.classify.thresholds import DEFAULTS
from chronicle.model import Floats

STEPS = np.arange(1200.0)
FALL = 2 + 6 * (1 + STEPS / 30) ** -0.5


def noisy(values: Floats, seed: int = 0, scale: float = 0.01) -> Floats:
    return np.log(values) + scale * np.random.default_rng(seed).standard_normal(len(values))


def back(values: Floats, a: int, height: float = 0.3) -> int | None:
    return came_back(STEPS[: len(values)], noisy(values), a, height, DEFAULTS)


def test_the_forecast_holds_what_comes_next_within_its_own_uncertainty() -> None:
    off = []
    for seed in range(20):
        y = noisy(FALL, seed)
        course = fitted(STEPS[:600], y[:600])
        assert course is not None
        fall, sure = course.fall(STEPS[599], STEPS[[1199]])
        off.append((np.log(FALL[599] / FALL[1199]) - fall[0]) / sure[0])
    assert np.mean(np.abs(off) < 2) >= 0.9


def test_floor_and_gain_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    phi, y, weight = rng.random((2, 50)) * [[1], [0.5]], 1 + rng.random(50), rng.random(50)
    floor, gain = solved(phi, y, weight)
    for k in range(2):
        design = np.stack([np.ones(50), phi[k]], axis=1) * np.sqrt(weight)[:, None]
        (e, a), *_ = np.linalg.lstsq(design, y * np.sqrt(weight), rcond=None)
        assert (floor[k], gain[k]) == pytest.approx((e, a) if a > 0 else (np.average(y, weights=weight), 0))


def test_medians_leave_no_sample_out() -> None:
    steps = np.r_[np.arange(100.0), np.arange(1, 3000) * 100]
    x, level, samples = medians_of(steps, np.log(steps + 10))
    assert samples.sum() == len(steps) and len(x) == len(level) <= MOST and (np.diff(x) > 0).all()


def test_a_spike_that_is_back_at_its_level_and_trend_is_over() -> None:
    spiked = FALL.copy()
    spiked[600:700] *= np.linspace(1.5, 1, 100)
    place = back(spiked, 600)
    assert place is not None and 660 <= place <= 710


def test_a_loss_that_only_regained_its_old_level_is_not_over() -> None:
    lifted = FALL.copy()
    lifted[600:] *= 1.1
    assert back(lifted, 600, 0.1) is None


def test_the_return_from_a_dip_is_no_rise() -> None:
    dipped = FALL.copy()
    dipped[500:600] *= 0.8
    assert back(dipped, 600) == 600
    assert not {"divergence-no-spike", "divergence-after-spike"} & set(
        classify({"loss": np.exp(noisy(dipped))}).patterns
    )


def test_a_rise_after_a_slow_fall_is_one() -> None:
    rising = FALL.copy()
    rising[600:] *= np.linspace(1, 1.5, 600)
    assert back(rising, 600) is None
