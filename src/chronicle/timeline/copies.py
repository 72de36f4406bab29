"""Logs that tell of one process twice: copies in another format, and metrics spread over several files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chronicle.model import Attempt, Series
from chronicle.timeline.clock import SCHEDULES, Course, common, course, natural, process
from chronicle.timeline.glance import Glance
from chronicle.timeline.split import SAME, same

_COMMON_SAMPLES = 8  # fewer equal points than this may be chance
_COMMON_SHARE = 0.6  # of the smaller of the two
_AGREEING = 0.95  # share of the common points that must be equal
_NOISE = 0.25  # two seeds differ by their noise; two roundings by much less than this share of it
_SAME_TIME_S = 60.0  # the clocks of two loggers in one process differ by less


def one_of_each(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """Attempts that differ, and the copies: (kept, copies).

    Of two copies the one with more points stays and takes over the series that only the other has.
    """
    ranked = sorted(courses, key=_worth)
    glance = Glance([one.clock for one in ranked], SAME, 1 - _AGREEING, _SAME_TIME_S)
    kept: dict[int, Course] = {}
    copies: list[Attempt] = []
    for rank, one in enumerate(ranked):
        near = glance.near(one)
        found = ((k, by) for k in glance.alike(near, rank) if (by := shift(kept[k], one)) is not None)
        twin, by = next(found, (None, 0))
        home = next((k for k in near if is_part(kept[k], one)), None) if twin is None else twin
        if twin is not None:
            copies.append(one.attempt)
        if home is not None:
            one, rank = course(with_series_of(kept[home].attempt, _shifted(one.attempt, by))) or one, home
        kept[rank] = one
        glance.keep(rank, one)
    return list(kept.values()), copies


def _worth(one: Course) -> tuple[int, bool, object]:
    return (-sum(map(len, one.attempt.series.values())), math.isnan(one.started), natural(one.name))


def shift(one: Course, other: Course) -> int | None:
    """How many steps the counting of two logs is apart that hold the same values at the same steps: one run
    in two formats (0, or 1 or -1 where one counts from 0 and the other from 1). None if they do not."""
    if one.last < other.first or other.last < one.first or one.clock.role in SCHEDULES:
        return None
    if one.attempt.sources and one.attempt.sources == other.attempt.sources:
        return None  # two attempts of one file
    writers = process(one.attempt), process(other.attempt)
    several = all(writers) and writers[0] != writers[1]  # ranks of one job, if they log one loss at one time
    apart = int(one.clock.steps[0]) - int(other.clock.steps[0])
    for by in (0, apart) if abs(apart) == 1 else (0,):
        if are_equal(one.clock, _moved(other.clock, by), timed=several):
            return by
    return None


def _moved(series: Series, by: int) -> Series:
    return replace(series, steps=series.steps + by) if by else series


def _shifted(attempt: Attempt, by: int) -> Attempt:
    return replace(attempt, series={m: _moved(s, by) for m, s in attempt.series.items()}) if by else attempt


def are_equal(a: Series, b: Series, timed: bool = False) -> bool:
    """Same values, but for rounding, at the same steps and, where both are known, at the same times; with
    ``timed`` they must be known."""
    need = max(_COMMON_SAMPLES, _COMMON_SHARE * min(len(a), len(b)))
    i, j = common(a, b)
    if len(i) < need or np.count_nonzero(same(a.values[i], b.values[j])) < max(need, _AGREEING * len(i)):
        return False
    finite = np.isfinite(a.values[i]) & np.isfinite(b.values[j])
    i, j = i[finite], j[finite]
    if len(np.unique(a.values[i])) < _COMMON_SAMPLES:
        return False  # a frozen metric is equal in every run
    noise = np.median(np.abs(np.diff(a.values[i])))
    apart_s = np.abs(a.times[i] - b.times[j])
    apart_s = apart_s[np.isfinite(apart_s)]
    return bool(
        np.median(np.abs(a.values[i] - b.values[j])) <= _NOISE * noise
        and (np.median(apart_s) <= _SAME_TIME_S if len(apart_s) else not timed)
    )


def is_part(one: Course, other: Course) -> bool:
    """Whether two logs are parts of one: no metric in common, mostly the same steps, at the same time."""
    if not one.attempt.series.keys().isdisjoint(other.attempt.series):
        return False
    shared = min(one.last, other.last) - max(one.first, other.first)
    longer = max(one.last - one.first, other.last - other.first)
    if shared <= 0 or shared < _COMMON_SHARE * longer or one.attempt.axis != other.attempt.axis:
        return False
    return not min(one.ended, other.ended) < max(one.started, other.started)


def with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other log has, whatever they are called there."""
    mine = list(keeper.series.values())
    new = {
        metric: s
        for metric, s in other.series.items()
        if metric not in keeper.series and not any(m.role is s.role and are_equal(m, s) for m in mine)
    }
    return replace(
        keeper,
        series={**keeper.series, **new},
        sources=tuple(dict.fromkeys((*keeper.sources, *other.sources))),
        facts={**other.facts, **keeper.facts},
        faults=(*keeper.faults, *other.faults),
    )
