"""What counts the steps of a log, how far apart they are, and clocks that tell no year."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.metrics.aliases import has_year, in_year_of, median_gap, step_gap
from chronicle.model import Role, Series


@given(st.lists(st.integers(-(2**50), 2**50), max_size=50))
def test_the_step_gap_is_the_median_of_the_distances_that_rise(steps: list[int]) -> None:
    array, nan = np.array(steps, np.int64), np.full(len(steps), np.nan)
    gaps = np.diff(array)
    expected = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    assert step_gap(Series("loss", Role.LOSS, array, nan, nan)) == median_gap(array.astype(float)) == expected


@pytest.mark.parametrize(
    ("month_and_day", "near", "date"),
    [
        ((11, 20), (2023, 11, 14), (2023, 11, 20)),
        ((12, 31), (2024, 1, 1), (2023, 12, 31)),
        ((1, 1), (2023, 12, 31), (2024, 1, 1)),
        ((2, 29), (2024, 3, 1), (2024, 2, 29)),
        ((2, 29), (2023, 3, 1), (2023, 3, 1)),
    ],
)
def test_the_year_is_the_nearest(
    month_and_day: tuple[int, int], near: tuple[int, ...], date: tuple[int, ...]
) -> None:
    at = datetime(1972, *month_and_day, tzinfo=UTC).timestamp()
    assert not has_year(at)
    year, month, day = near
    dated = in_year_of(at, datetime(year, month, day, tzinfo=UTC).timestamp())
    assert datetime.fromtimestamp(dated, UTC).timetuple()[:3] == date
