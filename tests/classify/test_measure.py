"""What rules measure with: a line that outliers do not move, and errors that are as large as they say."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.curves.curve import autocorrelated
from hypothesis import given
from hypothesis import strategies as st

from chronicle.classify.measure import (
    HUBER_SCALES,
    SORTED_WINDOWS,
    Line,
    clipped_difference_noise,
    difference_noise,
    excess,
    fit,
    inflation,
    median,
    medians,
    nearer_to_zero,
    positive,
    ranks,
    running,
    scale,
)
from chronicle.metrics.arithmetic import SORTED_VALUES
from chronicle.model import Floats, Role, Series

STEPS = np.arange(100.0, 400.0)


def noisy(seed: int, rho: float = 0.0) -> Floats:
    """A power law in log units with noise of one hundredth."""
    return 1.0 - 0.3 * np.log(STEPS) + 0.01 * autocorrelated(np.random.default_rng(seed), 300, rho, 30.0)


def test_outliers_do_not_move_a_line() -> None:
    y = noisy(1)
    y[::10] += 0.5
    line = fit(STEPS, y)
    assert line is not None and line.slope == pytest.approx(-0.3, abs=0.01)
    np.testing.assert_allclose(line.at(STEPS), 1.0 - 0.3 * np.log(STEPS), atol=0.005)
    assert line.noise == pytest.approx(0.01, rel=0.25)


def slow_fit(steps: Floats, y: Floats) -> Line:
    """Iteratively reweighted least squares by Huber's weights, as one writes it down."""
    x, r, weight = np.log(np.maximum(steps, 1.0)), y - np.median(y), np.ones(len(y))
    slope, level = 0.0, float(np.median(y))
    for _ in range(6 if len(y) >= 8 and np.std(x) > 1e-9 else 0):
        mean_x, mean_y = np.sum(x * weight) / np.sum(weight), np.sum(y * weight) / np.sum(weight)
        slope = np.sum(weight * (x - mean_x) * (y - mean_y)) / np.sum(weight * (x - mean_x) ** 2)
        level = mean_y + slope * (np.mean(x) - mean_x)
        r = y - level - slope * (x - np.mean(x))
        weight = np.minimum(1.0, HUBER_SCALES * scale(r) / np.maximum(np.abs(r), 1e-12))
    return Line(level, slope, float(np.mean(x)), float(np.std(x)), len(y), scale(r), inflation(r, scale(r)))


@given(st.integers(4, 400), st.integers(0, 2**32), st.sampled_from([0.0, 1e-9, 0.01, 1.0]))
def test_a_line_is_that_of_its_slow_twin_to_the_bit(samples: int, seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 100) + np.cumsum(rng.integers(0, 5, samples)).astype(float)
    y = 1.0 - 0.1 * np.log(steps + 1) + noise * rng.standard_t(2, samples)
    assert fit(steps, y) == slow_fit(steps, y)


@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize("window", [slice(60, 92), slice(200, 300)])
def test_an_excess_by_chance_is_seldom_larger_than_its_errors_say(rho: float, window: slice) -> None:
    """Beside the line and far off it, with neighbours that say the same and without."""
    t = []
    for seed in range(200):
        y, line = noisy(seed, rho), fit(STEPS[:60], noisy(seed, rho)[:60])
        assert line is not None
        t.append(excess(line, STEPS[window], y[window]).t)
    assert np.mean(np.abs(t) > 2) <= 0.1 and np.mean(np.abs(t) > 3) <= 0.04
    assert 0.5 <= np.std(t) <= 1.25


def test_errors_grow_by_what_neighbours_share() -> None:
    white, alike = (inflation(noisy(3, rho) - (1.0 - 0.3 * np.log(STEPS)), 0.01) for rho in (0.0, 0.6))
    assert white == pytest.approx(1.0, abs=0.15) and alike == pytest.approx(2.0, abs=0.4)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 1.0, 4.0], 1.0), ([-3.0, 1.0, 1.0], 0.0), ([-1.0, -2.0, -2.5], -5.5 / 3), ([0.0], 0.0)],
)
def test_the_middle_is_what_mean_and_median_both_say(values: list[float], expected: float) -> None:
    assert nearer_to_zero(np.array(values)) == pytest.approx(expected)


@pytest.mark.parametrize(("odd", "kept"), [(0, 100), (2, 98), (3, 0)])
def test_a_series_is_positive_if_all_but_a_fiftieth_is(odd: int, kept: int) -> None:
    values = np.where(np.arange(100) < odd, -1.0, 2.0)
    steps, y = positive(Series("loss", Role.LOSS, np.arange(100), values, np.full(100, np.nan)))
    assert len(steps) == len(y) == kept and (y == np.log(2.0)).all()


def test_log_values_are_made_once_and_nobody_can_write_into_them() -> None:
    loss = Series("loss", Role.LOSS, np.arange(9), np.arange(1.0, 10.0), np.full(9, np.nan))
    steps, y = positive(loss)
    assert positive(loss)[1] is y and not (steps.flags.writeable or y.flags.writeable)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 9, 400])
def test_the_running_median_is_that_of_each_window(width: int) -> None:
    y, half = noisy(5), width // 2
    slow = [np.median(y[max(i - half, 0) : i + half + 1]) for i in range(300)]
    assert running(y, width).tolist() == (slow if 3 <= width <= 300 else y.tolist())


def test_three_measures_of_one_noise_agree_and_a_step_moves_two_of_them_little() -> None:
    noise = 0.01 * np.random.default_rng(0).standard_normal(1000)
    assert [scale(noise), difference_noise(noise), clipped_difference_noise(noise)] == pytest.approx(
        [0.01] * 3, rel=0.1
    )
    stepped = noise + np.where(np.arange(1000) < 500, 0.0, 1.0)
    assert [difference_noise(stepped), clipped_difference_noise(stepped)] == pytest.approx(
        [0.01] * 2, rel=0.1
    )


ODD = (0.0, -0.0, 1.0, 2.5, -7.0, 1e300, np.inf, -np.inf, np.nan)
ROWS = {
    "noise": lambda rng, n: rng.standard_normal(n),
    "ties": lambda rng, n: np.round(rng.standard_normal(n)),
    "anything": lambda rng, n: rng.choice(ODD, n),
    "steps": lambda rng, n: rng.integers(-1000, 1 << 40, n),
}


@pytest.mark.parametrize("kind", ROWS)
def test_a_median_has_the_bits_of_numpy(kind: str) -> None:
    rng = np.random.default_rng(0)
    for n in [*range(1, 40), SORTED_VALUES, SORTED_VALUES + 1, 1000]:
        row = ROWS[kind](rng, n)
        with np.errstate(invalid="ignore", over="ignore"):
            np.testing.assert_array_equal(median(row), np.median(row))
            if kind != "steps":
                for window in {min(n, w) for w in (1, 2, 3, 8, 63, 64)}:
                    slow = np.median(np.lib.stride_tricks.sliding_window_view(row, window), axis=-1)
                    np.testing.assert_array_equal(medians(row, window), slow)


def test_medians_of_more_windows_than_are_sorted_together() -> None:
    row = np.random.default_rng(0).standard_normal(SORTED_WINDOWS + 100)
    slow = np.median(np.lib.stride_tricks.sliding_window_view(row, 3), axis=-1)
    np.testing.assert_array_equal(medians(row, 3), slow)
    assert np.isnan(median(np.empty(0)))


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_equal_values_share_the_mean_of_their_ranks(values: list[int]) -> None:
    """The slow, obvious version: how many are smaller, and the middle place among those that are equal."""
    expected = [sum(v < w for v in values) + (values.count(w) + 1) / 2 for w in values]
    assert ranks(np.array(values, np.float64)).tolist() == expected
