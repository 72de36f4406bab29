"""Logs that tell of one process twice: copies in another format, and metrics spread over several files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from chronicle.model import Attempt, Floats, Series, Steps
from chronicle.timeline.courses import PART, SCHEDULES, Course, Index, common, course, heads, natural, process
from chronicle.timeline.split import SAME, pick, same

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


_FEW = 8  # so many logs are soon looked at one by one
_LEAST_SAMPLES, _STRIDE = 64, 8  # of a long log one sample in so many is compared, of a short one each
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_AT_ONCE = 1 << 20  # pairs of samples that are compared together


class Glance:
    """Clocks by rank, and which of them are kept so far.

    ``same`` is the relative difference up to which two values are equal, ``off`` the share of the common
    steps at which two copies may differ, ``apart_s`` how far apart their times may be.
    """

    def __init__(self, clocks: Sequence[Series], same: float, off: float, apart_s: float) -> None:
        self._clocks, self._same, self._off, self._apart_s = clocks, same, off, apart_s
        self._kept = np.zeros(len(clocks), bool)
        self._changed = np.zeros(len(clocks), bool)  # has another clock by now
        self._first, self._last = np.zeros((2, len(clocks)), np.int64)
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        self._times = np.array([_times(clock) for clock in clocks]).reshape(-1, 2).T

    def keep(self, rank: int, one: Course) -> None:
        """Keeps a log, or another one in its place."""
        self._changed[rank] = one.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = one.first, one.last, True

    def near(self, one: Course) -> list[int]:
        """Ranks of the logs kept that have steps in the span of another one."""
        at = np.flatnonzero(self._kept & (self._first <= one.last) & (self._last >= one.first))
        return list(at.tolist())

    def alike(self, near: Sequence[int], rank: int) -> list[int]:
        """Those of the logs ``near`` that may be copies of the log of this rank."""
        at, (start, end) = np.array(near, np.intp), self._times[:, rank]
        if len(at) > _FEW:
            starts, ends = self._times[:, at]
            elsewhen = (starts > end + self._apart_s) | (ends < start - self._apart_s)
            at = at[self._changed[at] | ~elsewhen]
        if len(at) > _FEW:
            lengths = np.minimum(self._lengths[at], self._lengths[rank])
            others = self._differing(rank)[at] > self._off * lengths + 1e-6
            begin = int(self._clocks[rank].steps[0])  # who counts from 1 has other values at equal steps
            shifted = (self._begins[at] == begin - 1) | (self._begins[at] == begin + 1)
            at = at[self._changed[at] | shifted | ~others]
        return list(at.tolist())

    @cached_property
    def _heads(self) -> list[Index]:
        return [heads(clock.steps) for clock in self._clocks]

    @cached_property
    def _lengths(self) -> Index:
        return np.array([len(rows) for rows in self._heads])

    @cached_property
    def _points(self) -> tuple[Steps, Floats, Index]:
        """Steps, values and ranks of all logs, in the order of their steps."""
        pairs = list(zip(self._clocks, self._heads, strict=True))
        steps = np.concatenate([clock.steps[rows] for clock, rows in pairs])
        values = np.concatenate([clock.values[rows] for clock, rows in pairs])
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order], np.repeat(np.arange(len(pairs)), self._lengths)[order]

    def _differing(self, rank: int) -> Index:
        """At how many of some steps of a log each of all logs has another value."""
        steps, values, ranks = self._points
        rows = self._heads[rank][:: min(_STRIDE, 1 + len(self._heads[rank]) // _LEAST_SAMPLES)]
        count = np.zeros(len(self._clocks), np.intp)
        for some in np.array_split(rows, len(rows) * len(count) // _AT_ONCE + 1):
            mine = self._clocks[rank].values[some]
            first, end = (np.searchsorted(steps, self._clocks[rank].steps[some], side) for side in _SIDES)
            each = end - first
            at = np.arange(each.sum()) + np.repeat(first - np.cumsum(each) + each, each)
            mine = np.repeat(mine, each)
            with np.errstate(over="ignore", invalid="ignore"):  # values may be as large as floats get
                differ = np.abs(values[at] - mine) > self._same * np.abs(mine)
            count += np.bincount(ranks[at[differ]], minlength=len(count))
        return count


def _times(clock: Series) -> tuple[float, float]:
    """First and last wall clock; NaN where a row has none."""
    return float(clock.times.min()), float(clock.times.max())


_COVERED = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL = -9  # one value in so many may be another one

Part = tuple[int, int, Course]  # first and last step that an attempt shares with the whole


def without_wholes(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside that tell the whole of what several others tell in parts.

    Only a log that is the one of its format is asked. What it alone logged goes to the attempts, by step.
    """
    formats = Counter(one.attempt.facts.get("format") for one in courses)
    kept = list(courses)
    wholes: list[Attempt] = []
    for whole in courses if len(courses) > 2 else ():
        if formats[whole.attempt.facts.get("format")] > 1 or PART.search(whole.name):
            continue
        parts = sorted(_parts(whole, kept), key=lambda part: (part[:2], part[2].name))
        if _covered(whole, parts) and not any(_covered(whole, [part]) for part in parts):
            kept = [one for one in kept if one is not whole and all(one is not part[2] for part in parts)]
            kept += _with_rows_of(whole.attempt, parts)
            wholes.append(whole.attempt)
    return kept, wholes


def _parts(whole: Course, others: Sequence[Course]) -> Iterator[Part]:
    """Of other logs those steps at which they have the values of the whole, without a break."""
    for one in others:
        if one is whole or one.last < whole.first or one.first > whole.last:
            continue
        i, j = common(whole.clock, one.clock)
        equal = same(whole.clock.values[i], one.clock.values[j])
        score = np.concatenate([[0], np.cumsum(np.where(equal, 1, _UNEQUAL))])
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(pick(whole.clock, i[rows]), pick(one.clock, j[rows])):
            yield int(whole.clock.steps[i[rows][0]]), int(whole.clock.steps[i[rows][-1]]), one


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    steps = whole.clock.steps
    inside = np.zeros(len(steps), bool)
    for first, last, _ in parts:
        inside |= (steps >= first) & (steps <= last)
    return bool(inside.mean() >= _COVERED)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to where the next one begins."""
    begins = [first for first, _, _ in parts[1:]]
    for number, (_, _, one) in enumerate(parts):
        mine = {m: _rows(s, begins, number) for m, s in whole.series.items()}
        rest = replace(whole, series={m: s for m, s in mine.items() if len(s)}, facts={}, faults=())
        yield course(with_series_of(one.attempt, rest)) or one


def _rows(series: Series, begins: Sequence[int], number: int) -> Series:
    return pick(series, np.searchsorted(np.array(begins), series.steps, side="right") == number)
