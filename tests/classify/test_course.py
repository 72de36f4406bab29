"""Level and trend: what a loss would have done, and whether a rise came back."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.classify.course import (
    COARSE,
    FINE,
    HEALTHY,
    MEDIANS_OF_FIT,
    STOPPED,
    TIMES,
    Laws,
    best_member,
    came_back,
    families,
    fitted,
    may_deviate,
    medians_of,
    shapes,
    solved,
)
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
    floor, gain = solved(phi, phi**2, y, weight)
    for k in range(2):
        design = np.stack([np.ones(50), phi[k]], axis=1) * np.sqrt(weight)[:, None]
        (e, a), *_ = np.linalg.lstsq(design, y * np.sqrt(weight), rcond=None)
        assert (floor[k], gain[k]) == pytest.approx((e, a) if a > 0 else (np.average(y, weights=weight), 0))


@pytest.mark.parametrize("laws", [COARSE, FINE])
def test_shapes_are_those_of_the_formulas(laws: Laws) -> None:
    t = np.r_[-1.0, 0.0, np.geomspace(1e-4, 2.0, 50)]
    late = np.maximum(t, 0)
    powers = [(1 + late / t0) ** -power for t0 in laws.t0 for power in laws.powers]
    expected = [*powers, *(np.exp(-late / tau) for tau in laws.taus)]
    np.testing.assert_allclose(shapes(t, laws), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", [HEALTHY, STOPPED])
def test_the_likeliest_member_is_that_of_the_least_squares_of_each(name: str) -> None:
    t = np.linspace(0, 1, 120)
    value = np.exp(noisy(0.4 + 0.6 * (1 + np.minimum(t, TIMES[8]) / 0.1) ** -0.8))
    error = np.full(len(t), 0.01)
    family = next(family for family in families(t.tobytes()) if family.name == name)
    tried = []
    for column, place in zip(family.columns[1], family.places, strict=True):
        design = np.stack([np.ones(len(t)), column], axis=1) / (error * value)[:, None]
        coefficients, *_ = np.linalg.lstsq(design, 1 / error, rcond=None)
        off = design @ coefficients - 1 / error
        if coefficients[1] > 0 and (coefficients[0] + coefficients[1] * column > 0).all():
            tried.append((float(off @ off), float(place), coefficients[0] + coefficients[1] * column))
    best = best_member(value, 1 / (error * value) ** 2, family)
    assert best is not None
    _, place, curve = min(tried, key=lambda member: member[0])
    assert best[0] == place
    np.testing.assert_allclose(best[1], curve, rtol=1e-6)


@pytest.mark.parametrize("samples", [999, 20_001])
def test_medians_are_those_of_each_bin(samples: int) -> None:
    y = np.random.default_rng(1).standard_normal(samples)
    steps, level, size = medians_of(np.arange(samples) * 3.0, y)
    bins = np.split(y, np.cumsum(size.astype(int))[:-1])
    assert level.tolist() == [float(np.median(part)) for part in bins]
    assert (steps % 3 == 0).all()


T = np.linspace(0, 1, 600)
COURSES = {
    "descends": 8 * (1 + T / 0.03) ** -0.5,
    "stops": 2 + 6 * (1 + np.minimum(T, 0.4) / 0.03) ** -0.5,
    "waits": 2 + 6 * np.exp(-np.maximum(T - 0.3, 0) / 0.1),
    "climbs": 2 + 2 * np.exp(-T / 0.4) - np.exp(-T / 0.01),
}


@pytest.mark.parametrize("course", COURSES)
def test_what_does_not_only_descend_is_asked_for_its_course(course: str) -> None:
    asked = [may_deviate(np.arange(600.0), noisy(COURSES[course], seed), DEFAULTS) for seed in range(20)]
    assert sum(asked) <= 6 if course == "descends" else all(asked)


def test_medians_leave_no_sample_out() -> None:
    steps = np.r_[np.arange(100.0), np.arange(1, 3000) * 100]
    x, level, samples = medians_of(steps, np.log(steps + 10))
    assert samples.sum() == len(steps) and len(x) == len(level) <= MEDIANS_OF_FIT and (np.diff(x) > 0).all()


def test_samples_of_one_step_have_no_course() -> None:
    steps = np.full(3 * MEDIANS_OF_FIT, 7.0)
    x, level, samples = medians_of(steps, np.linspace(2.0, 1.0, 3 * MEDIANS_OF_FIT))
    assert samples.sum() == len(steps) and (x == 7).all() and len(level) == len(x)


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


@pytest.mark.parametrize("rises", [False, True])
def test_a_log_that_begins_low_in_what_wanders_shows_no_rise(rises: bool) -> None:
    """A bar that prints a moving average: the level before its third sample is anywhere in its range."""
    z = np.random.default_rng(4).standard_normal(1200)
    wanders = np.zeros(1200)
    for i in range(1, 1200):
        wanders[i] = 0.95 * wanders[i - 1] + 0.02 * z[i]
    wanders += 0.1 * (STEPS >= 3) + (0.001 * STEPS if rises else 0.0)
    assert came_back(STEPS, wanders, 3, 0.2, DEFAULTS) == (None if rises else 3)


@pytest.mark.parametrize("seed", [7, 26, 38])
def test_a_trend_is_not_believed_for_longer_than_it_was_seen(seed: int) -> None:
    """A loss that falls steeply for a dozen samples and then slowly has not risen over that fall."""
    t, noise = np.arange(2000), np.random.default_rng(seed).standard_normal(2000)
    loss = (4.7 * np.exp(-t / 4.0) + 0.33 * np.exp(-t / 1500)) * np.exp(0.06 * noise)
    assert classify({"loss": loss}).patterns == ("noisy-healthy",)


@pytest.mark.parametrize(("trough", "seed"), [(0.16, 1), (0.165, 2), (0.17, 2), (0.18, 2)])
def test_no_law_shows_in_the_first_hundredth_of_a_log(trough: float, seed: int) -> None:
    """Each of the first 100 steps is logged, and then one in 500: the loss swings before it settles."""
    t, later = np.arange(100), np.arange(500, 8_000, 500)
    falls = trough + (0.6 - trough) * 0.5 * (1 + np.cos(np.pi * np.minimum(t, 35) / 35))
    settles = np.where(t > 50, trough - (trough - 0.14) * (1 - np.exp((50 - t) / 15)), falls)
    swing = settles + 0.05 * np.exp(-(((t - 50) / 9) ** 2))
    values = np.r_[swing, 0.12 + 0.01 * np.exp(-later / 2000)]
    noise = np.exp(0.01 * np.random.default_rng(seed).standard_normal(len(values)))
    assert classify({"loss": (np.r_[t, later], values * noise)}).verdict == "good"
