import math

import pytest

from chronicle.metrics.values import count, instant, level, moment, natural, plural, times_over, with_unit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.2649, "2.26"), (0.01312, "0.0131"), (1.2e-5, "1.20e-05"), (0.0, "0"), (412.66, "412.7"),
        (58897, "58\u202f897"), (4.5e6, "4.50e+06"), (-3.14159, "−3.14"), (math.nan, "NaN"), (None, "NaN"),
        (math.inf, "∞"), (-math.inf, "−∞"),
    ],
)  # fmt: skip
def test_level(value, text):
    assert level(value) == text


def test_count_and_plural():
    assert count(1234567) == "1\u202f234\u202f567"
    assert (plural(1, "attempt"), plural(3, "attempt")) == ("1 attempt", "3 attempts")
    assert [times_over(n) for n in (1, 2, 3)] == ["once", "twice", "3 times"]


def test_the_unit_of_one_is_singular():
    given = [(1, "attempts"), (8, "attempts"), (1.0, "s"), (30.6, "s"), (1, "GB/s"), ("5.57, 1.81", None)]
    assert [with_unit(*quantity) for quantity in given] == [
        "1 attempt", "8 attempts", "1 s", "30.6 s", "1 GB/s", "5.57, 1.81",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "1970-01-01T00:00:00Z"), (math.nan, ""), (None, ""), (1e300, ""), (math.inf, "")],
)
def test_instant(seconds, text):
    assert instant(seconds) == text


def test_names_are_sorted_by_the_value_of_their_numbers():
    names = ["", "2", "02x", "10", "a", "a1", "a2b", "a10", "b"]
    assert sorted(set(names), key=natural) == names
    resumed = [
        "train.csv",
        "train_resume.csv",
        "train_resume2.csv",
        "train_resume10.csv",
        "train_resumed.csv",
    ]
    assert sorted(set(resumed), key=natural) == resumed
    assert sorted(["run-1", "run-01"], key=natural) == ["run-01", "run-1"]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_moment_outside_of_the_calendar_in_utc_is_none(time):
    assert math.isnan(moment(time, math.nan))
