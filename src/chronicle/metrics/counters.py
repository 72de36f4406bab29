"""Clocks without a year: syslog and glog write none. Such a time is given as seconds within 1972."""

from __future__ import annotations

import math
from datetime import UTC, datetime

UNNAMED_YEAR = 1972  # it has a 29 February, and no training ran in it
_FIRST_S, _END_S = 63_072_000.0, 94_694_400.0  # its first second, and the first of 1973


def has_year(time: float) -> bool:
    """Whether a time is a date, and not one of an unnamed year. NaN counts as a date."""
    return not _FIRST_S <= time < _END_S


def in_year_of(time: float, near: float) -> float:
    """A time of an unnamed year in the year that brings it next to ``near``; NaN where that is unknown."""
    if has_year(time) or math.isnan(time):
        return time
    if not math.isfinite(near):
        return math.nan
    day = datetime.fromtimestamp(time, UTC)
    year = datetime.fromtimestamp(near, UTC).year
    candidates = [_dated(day, candidate).timestamp() for candidate in (year - 1, year, year + 1)]
    return min(candidates, key=lambda candidate: abs(candidate - near))


def _dated(day: datetime, year: int) -> datetime:
    try:
        return day.replace(year=year)
    except ValueError:  # 29 February of a year that has none
        return day.replace(year=year, month=3, day=1)
