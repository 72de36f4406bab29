"""Numbers on axes, and ranges of axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.figures.scales import (
    Scale,
    Segment,
    log_ticks,
    round_places,
    step_labels,
    true_value,
    value_labels,
    value_ticks,
    y_scale,
)
from chronicle.model import Role


@pytest.mark.parametrize(
    ("ticks", "shown"),
    [
        ([0, 5, 10], ["0", "5", "10"]),
        ([0, 2000, 4000], ["0", "2\u202f000", "4\u202f000"]),
        ([0, 15_000, 30_000], ["0", "15 k", "30 k"]),
        ([0, 500_000, 1_000_000], ["0", "0.5 M", "1 M"]),
        ([1_000_000, 1_000_001], ["1\u202f000\u202f000", "1\u202f000\u202f001"]),
        ([16_150, 16_175], ["16\u202f150", "16\u202f175"]),
        ([], []),
    ],
)
def test_steps_are_short_unless_that_would_repeat_a_label(ticks, shown):
    assert step_labels(ticks) == shown


@pytest.mark.parametrize(
    ("ends", "most", "whole", "places"),
    [
        ((96.4, 703.6), 8, True, [100, 200, 300, 400, 500, 600, 700]),
        ((-12, 2012), 8, True, [0, 500, 1000, 1500, 2000]),
        ((0.5, 1.5), 8, True, [1]),
        ((-103.4, -99.7), 5, False, [-103, -102, -101, -100]),
        ((2.42, 2.71), 3, False, [2.5, 2.6, 2.7]),
        ((2.2, 3.9), 3, False, [2.5, 3, 3.5]),
        ((-0.6, 98.6), 4, True, [0, 25, 50, 75]),
        ((-0.3, 2.3), 4, True, [0, 1, 2]),
    ],
)
def test_ticks_are_one_or_two_or_two_and_a_half_or_five_apart(ends, most, whole, places):
    assert round_places(*ends, most, whole) == pytest.approx(places)


def test_thousands_of_a_logarithmic_axis_are_apart_like_all_others():
    shown = [label for _, label in value_ticks(Scale(0.5, 2e6, log=True), 200)]
    assert shown == ["1", "100", "10\u202f000", "1e6"]
    assert [label for _, label in value_ticks(Scale(2.1, 2.9, log=True), 200)] == ["2.2", "2.4", "2.6", "2.8"]


@pytest.mark.parametrize(
    ("ticks", "shown"),
    [
        ([2, 2.5, 3], ["2.0", "2.5", "3.0"]),
        ([2.25, 2.5, 2.75], ["2.25", "2.50", "2.75"]),
        ([-60, -57], ["−60", "−57"]),
        ([0, 1e-4, 2e-4], ["0", "1e−4", "2e−4"]),
        ([0, 1.5e-4, 3e-4], ["0", "1.5e−4", "3e−4"]),
        ([9.9e5, 1.02e6], ["9.9e5", "1.02e6"]),
        ([0, 5e29, 1e30], ["0", "5e29", "1e30"]),
        ([0, 50_000], ["0", "50\u202f000"]),
        ([], []),
    ],
)
def test_values_have_as_many_digits_as_tell_them_apart(ticks, shown):
    assert value_labels(ticks) == shown


@given(st.floats(-1e12, 1e12), st.sampled_from([1, 2, 2.5, 5]), st.integers(-6, 9), st.integers(2, 6))
def test_value_labels_never_repeat(start, lead, power, number):
    gap = lead * 10.0**power
    first = round(start / gap)
    ticks = [(first + i) * gap for i in range(number)]
    if gap > 1e-4 * max(map(abs, ticks)):
        assert len(set(value_labels(ticks))) == number


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.05, 3, [0.1, 0.3, 1, 3]),
        (0.08, 0.7, [0.1, 0.2, 0.5]),
        (0.5, 2000, [1, 10, 100, 1000]),
        (2.1, 2.9, [2.2, 2.4, 2.6, 2.8]),
        (1e-3, 1e32, [1, 1e8, 1e16, 1e24, 1e32]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)


@given(st.floats(-290, 290), st.floats(0.5, 500))
def test_a_logarithmic_axis_has_one_to_six_ticks_inside(power, decades):
    low = 10.0**power
    high = 10.0 ** min(power + decades, 299)
    ticks = log_ticks(low, high)
    assert 1 <= len(ticks) <= 6 and all(low <= tick <= high for tick in ticks)


@pytest.mark.parametrize(
    ("value", "words"),
    [(4.817, "4.82"), (1e30, "1e30"), (-1.234e-7, "−1.23e−7"), (123_456.0, "1.23e5"), (0.0, "0")],
)
def test_the_true_value_beside_a_clip(value, words):
    assert true_value(value) == words


@pytest.mark.parametrize("role", list(Role))
def test_a_reward_that_is_lost_ends_near_zero(role):
    segments = [Segment(np.arange(100.0), np.repeat([0.6, 1e-5], [60, 40]), True)]
    logarithmic = role not in (Role.OBJECTIVE, Role.SCORE, Role.VALIDATION_SCORE, Role.LEARNING_RATE)
    assert y_scale(segments, role, all_values=True).log is logarithmic


@pytest.mark.parametrize("whole", [False, True])
def test_a_learning_rate_begins_at_zero_and_a_loss_where_its_curve_is(whole):
    segments = [Segment(np.arange(100.0), np.linspace(3e-4, 1e-4, 100), True)]
    assert y_scale(segments, Role.LEARNING_RATE, all_values=whole).low == 0
    assert 0 < y_scale(segments, Role.LOSS, all_values=whole).low <= 1e-4


@pytest.mark.parametrize(
    ("values", "log"),
    [
        (np.r_[np.full(600, 1.8), np.geomspace(2, 480, 100)], True),  # it diverged at the end
        (np.r_[np.geomspace(0.37, 0.03, 20), np.full(700, 0.02)], True),  # nearly all was learned at once
        (np.r_[np.geomspace(5.6, 1.6, 20), np.full(700, 1.4)], False),
        (np.r_[np.full(600, 1.4), 15.0, np.full(600, 1.4)], False),  # a lone spike flattens nothing
    ],
)
def test_a_start_or_an_end_that_would_flatten_the_rest_makes_an_axis_logarithmic(values, log):
    """The onset of a divergence from 1.8 to 480 lay on the axis, a fall to a twentieth above the frame."""
    part = [Segment(np.arange(len(values), dtype=float), values, True)]
    scale = y_scale(part, Role.LOSS, start=values[0])
    assert scale.log is log
    if log:
        assert scale.low < values.min() and scale.high > values.max()


@pytest.mark.parametrize(("peak", "log"), [(300.0, True), (5e7, False)])
def test_the_peak_of_a_finding_makes_an_axis_logarithmic_if_it_can_be_shown_on_one(peak, log):
    """One value of 5e7 made the axis of a loss near 2.5 logarithmic, with a single tick at 2.50384."""
    part = [Segment(np.arange(401.0), np.r_[np.geomspace(0.9, 0.1, 400), peak], True)]
    assert not y_scale(part, Role.LOSS).log
    scale = y_scale(part, Role.LOSS, peaks=[peak])
    assert scale.log is log and (scale.high > peak) is log


def test_zeros_lie_on_an_axis_of_ordinary_numbers():
    """A loss that was logged as 0 throughout had ticks of 1e-13."""
    segments = [Segment(np.arange(20.0), np.zeros(20), True)]
    assert y_scale(segments, Role.LOSS)[:2] == pytest.approx((-0.5, 0.5))


@given(
    values=st.lists(st.floats(-1e290, 1e290), min_size=1, max_size=60),
    role=st.sampled_from([Role.LOSS, Role.GRAD_NORM, Role.LEARNING_RATE]),
    peaks=st.lists(st.floats(), max_size=3),
)
def test_every_scale_is_a_proper_interval(values, role, peaks):
    segments = [Segment(np.arange(len(values), dtype=float), np.array(values), True)]
    for scale in (y_scale(segments, role, peaks), y_scale(segments, role, all_values=True)):
        assert np.isfinite([scale.low, scale.high]).all() and scale.low < scale.high
        assert scale.low > 0 or not scale.log
    assert scale.low <= min(values) and max(values) <= scale.high  # the last one is of the whole
