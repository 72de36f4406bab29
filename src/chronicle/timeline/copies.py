"""Logs that hold what another one holds: copies in another format, metrics of one process spread over several
files, and a log of the whole run beside logs of its attempts.

Looking at each pair of hundreds of logs takes long. So one log is first compared with all others at a few of
its steps, by one pass over arrays. What that rules out is no copy for certain; the rest gets a closer look.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np

from chronicle.metrics.arithmetic import rounding
from chronicle.metrics.roles import LOSSES
from chronicle.model import Attempt, Floats, Series, Steps
from chronicle.timeline.courses import (
    PART,
    SAME,
    SCHEDULES,
    Course,
    Index,
    Mask,
    by_name,
    common,
    course,
    heads,
    process,
    same,
)

_COMMON_SAMPLES = 8  # fewer equal points than this may be chance
_COMMON_SHARE = 0.6  # of the smaller of the two
_AGREEING = 0.95  # share of the common points that must be equal
_EXACT = 1e-4  # relative difference of values of a short log that two loggers rounded
_NOISE = 0.25  # two seeds differ by their noise; two roundings by much less than this share of it
_SAME_TIME_S = 60.0  # the clocks of two loggers in one process differ by less
_FEW = 8  # so many logs are soon looked at one by one
_LEAST_SAMPLES, _STRIDE = 16, 8  # of a long log one sample in so many is compared, of a short one each
_AT_ONCE = 1 << 20  # pairs of samples that are compared together
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_COVERED = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL = -9  # one value in so many may be another one

Part = tuple[int, int, Course]  # first and last step that an attempt shares with the log of the whole


def without_copies(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """Attempts that differ, and the copies: (kept, copies).

    Of two copies the one with more points stays and takes over the series that only the other has.
    """
    ranked = sorted(courses, key=_worth)
    logs = _Logs([log.clock for log in ranked])
    kept: dict[int, Course] = {}
    copies: list[Attempt] = []
    for rank, log in enumerate(ranked):
        near = logs.near(log)
        twins = ((k, by) for k in logs.may_equal(near, rank) if (by := shift(kept[k], log)) is not None)
        twin, by = next(twins, (None, 0))
        home = (
            next((int(k) for k in logs.apart(near, log) if is_part(kept[k], log)), None)
            if twin is None
            else twin
        )
        if twin is not None:
            copies.append(log.attempt)
        if home is not None:
            log, rank = course(with_series_of(kept[home].attempt, _shifted(log.attempt, by))) or log, home
        kept[rank] = log
        logs.keep(rank, log)
    return list(kept.values()), copies


def _worth(log: Course) -> tuple[int, bool, object]:
    return (-sum(map(len, log.attempt.series.values())), math.isnan(log.started), by_name(log.name))


class _Logs:
    """The clocks of all logs by rank, and which logs are kept so far."""

    def __init__(self, clocks: Sequence[Series]) -> None:
        self._clocks = clocks
        self._kept, self._changed = np.zeros((2, len(clocks)), bool)  # changed: has another clock by now
        self._first, self._last, self._kind = np.zeros((3, len(clocks)), np.int64)
        self._kinds: dict[frozenset[str], int] = {}  # what logs may measure, each in another number
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        # NaN where a row has no time, and then times rule nothing out.
        self._starts = np.array([clock.times.min() for clock in clocks])
        self._ends = np.array([clock.times.max() for clock in clocks])

    def keep(self, rank: int, log: Course) -> None:
        """Keeps a log, or another one in its place."""
        self._changed[rank] = log.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = log.first, log.last, True
        self._kind[rank] = self._kinds.setdefault(frozenset(log.attempt.series), len(self._kinds))

    def near(self, log: Course) -> Index:
        """Ranks of the logs kept that have steps in the span of another one."""
        return np.flatnonzero(self._kept & (self._first <= log.last) & (self._last >= log.first))

    def apart(self, ranks: Index, log: Course) -> Index:
        """Those of some logs that have no metric in common with another one."""
        other = [kind.isdisjoint(log.attempt.series) for kind in self._kinds]
        return ranks[np.array(other, bool)[self._kind[ranks]]] if len(ranks) else ranks

    def may_equal(self, ranks: Index, rank: int) -> Index:
        """Those of some logs that may be copies of the log of this rank."""
        for ruled_out in (self._at_another_time, self._with_other_values):
            if len(ranks) > _FEW:
                ranks = ranks[self._changed[ranks] | ~ruled_out(ranks, rank)]
        return ranks

    def _at_another_time(self, ranks: Index, rank: int) -> Mask:
        later = self._starts[ranks] > self._ends[rank] + _SAME_TIME_S
        return np.asarray(later | (self._ends[ranks] < self._starts[rank] - _SAME_TIME_S))

    def _with_other_values(self, ranks: Index, rank: int) -> Mask:
        """Whether at more of some steps than copies may differ at, but for logs that count from 0 or from 1
        where this one does not: those have other values at equal steps."""
        begins, begin = self._begins[ranks], int(self._begins[rank])
        shifted = (begins == begin - 1) | (begins == begin + 1)
        lengths = np.minimum(self._lengths[ranks], self._lengths[rank])
        return np.asarray(~shifted & (self._differing(rank)[ranks] > (1 - _AGREEING) * lengths + 1e-6))

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
        clock, rows = self._clocks[rank], self._heads[rank]
        rows = rows[:: min(_STRIDE, 1 + len(rows) // _LEAST_SAMPLES)]
        count = np.zeros(len(self._clocks), np.intp)
        for some in np.array_split(rows, len(rows) * len(count) // _AT_ONCE + 1):
            first, end = (np.searchsorted(steps, clock.steps[some], side) for side in _SIDES)
            each = end - first
            at = np.arange(each.sum()) + np.repeat(first - np.cumsum(each) + each, each)
            expected = np.repeat(clock.values[some], each)
            with np.errstate(over="ignore", invalid="ignore"):  # values may be as large as floats get
                differ = np.abs(values[at] - expected) > SAME * np.abs(expected)
            count += np.bincount(ranks[at[differ]], minlength=len(count))
        return count


def shift(a: Course, b: Course) -> int | None:
    """How many steps the counting of two logs is apart that hold the same values at the same steps: one run
    in two formats (0, or 1 or -1 where one counts from 0 and the other from 1). None if they do not."""
    if a.last < b.first or b.last < a.first or a.clock.role in SCHEDULES:
        return None
    if a.attempt.sources and a.attempt.sources == b.attempt.sources:
        return None  # two attempts of one file
    writers = process(a.attempt), process(b.attempt)
    several = all(writers) and writers[0] != writers[1]  # ranks of one job, if they log one loss at one time
    apart = int(a.clock.steps[0]) - int(b.clock.steps[0])
    shifts = (0, apart) if abs(apart) == 1 else (0,)
    by = next((by for by in shifts if are_equal(a.clock, _moved(b.clock, by), timed=several)), None)
    return 0 if by is None and not several and are_equal_throughout(a.attempt, b.attempt) else by


def _moved(series: Series, by: int) -> Series:
    return replace(series, steps=series.steps + by) if by else series


def _shifted(attempt: Attempt, by: int) -> Attempt:
    return replace(attempt, series={m: _moved(s, by) for m, s in attempt.series.items()})


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


def are_equal_throughout(a: Attempt, b: Attempt) -> bool:
    """Whether two logs have several metrics in common, each with the same values at the same steps: a clock
    of a few epochs, or one that soon ends in NaN, proves nothing, all metrics together do."""
    both = [(s, b.series[m]) for m, s in a.series.items() if m in b.series and s.role not in SCHEDULES]
    n_equal = 0
    for one, other in both:
        i, j = common(one, other)
        apart_s = np.abs(one.times[i] - other.times[j])
        if len(i) < _COMMON_SHARE * min(len(one), len(other)) or (apart_s > _SAME_TIME_S).any():
            return False
        x, y = one.values[i], other.values[j]
        known = np.isfinite(x) & np.isfinite(y)
        with np.errstate(over="ignore", invalid="ignore"):  # values may be as large as floats get
            rounded = rounding(x[known]) + rounding(y[known]) + _EXACT * np.abs(y[known])
            off = np.abs(x[known] - y[known]) > rounded
        if off.any() or not same(x[~known], y[~known]).all():
            return False
        n_equal += min(len(np.unique(x)), len(np.unique(y)))
    return len(both) > 1 and n_equal >= _COMMON_SAMPLES


def is_part(a: Course, b: Course) -> bool:
    """Whether two logs are parts of one: no metric in common, mostly the same steps, at the same time."""
    if not a.attempt.series.keys().isdisjoint(b.attempt.series):
        return False
    shared = min(a.last, b.last) - max(a.first, b.first)
    longer = max(a.last - a.first, b.last - b.first)
    if shared <= 0 or shared < _COMMON_SHARE * longer or a.attempt.axis != b.attempt.axis:
        return False
    return not min(a.ended, b.ended) < max(a.started, b.started)


def with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other log has, whatever they are called there, and with the
    times of those that both have, where it has none."""
    own = list(keeper.series.values())
    new = {
        metric: s
        for metric, s in other.series.items()
        if metric not in keeper.series and not any(_alike(o, s) and are_equal(o, s) for o in own)
    }
    timed = {m: _timed(s, other.series[m]) for m, s in keeper.series.items() if m in other.series}
    return replace(
        keeper,
        series={**keeper.series, **timed, **new},
        sources=tuple(dict.fromkeys((*keeper.sources, *other.sources))),
        facts={**other.facts, **keeper.facts},
        faults=(*keeper.faults, *other.faults),
    )


def _timed(own: Series, other: Series) -> Series:
    """A series, if it has no times with those that another one has at the same steps."""
    if np.isfinite(own.times).any() or not np.isfinite(other.times).any():
        return own
    i, j = common(own, other)
    times = np.full(len(own), np.nan)
    times[i] = other.times[j]
    return replace(own, times=times)


def _alike(a: Series, b: Series) -> bool:
    """Whether two metrics may be one: of one role, or losses, since a file may not say of which phase."""
    return a.role is b.role or (a.role in LOSSES and b.role in LOSSES)


def without_logs_of_the_whole(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside that tell the whole of what several others tell in parts: a trainer's
    state beside an event file a process.

    The log of the whole tells one course, without what was overtaken or with what should have been; the
    others tell the restarts. So they are the attempts, and the log of the whole is a copy of them. Only a log
    that is the one of its format is asked. What it alone logged goes to the attempts, by step.
    """
    formats = Counter(log.attempt.facts.get("format") for log in courses)
    kept = list(courses)
    wholes: list[Attempt] = []
    for whole in courses if len(courses) > 2 else ():
        if formats[whole.attempt.facts.get("format")] > 1 or PART.search(whole.name):
            continue
        parts = sorted(_parts(whole, kept), key=lambda part: (part[:2], part[2].name))
        if _covered(whole, parts) and not any(_covered(whole, [part]) for part in parts):
            kept = [log for log in kept if log is not whole and all(log is not part[2] for part in parts)]
            kept += _with_rows_of(whole.attempt, parts)
            wholes.append(whole.attempt)
    return kept, wholes


def _parts(whole: Course, others: Sequence[Course]) -> Iterator[Part]:
    """Of other logs those steps at which they have the values of the whole, without a break."""
    for log in others:
        if log is whole or log.last < whole.first or log.first > whole.last:
            continue
        i, j = common(whole.clock, log.clock)
        equal = same(whole.clock.values[i], log.clock.values[j])
        score = np.concatenate([[0], np.cumsum(np.where(equal, 1, _UNEQUAL))])
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(whole.clock.pick(i[rows]), log.clock.pick(j[rows])):
            steps = whole.clock.steps[i[rows]]
            yield int(steps[0]), int(steps[-1]), log


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    steps = whole.clock.steps
    inside = np.zeros(len(steps), bool)
    for first, last, _ in parts:
        inside |= (steps >= first) & (steps <= last)
    return bool(inside.mean() >= _COVERED)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to where the next one begins."""
    begins = np.array([first for first, _, _ in parts[1:]])
    for number, (_, _, log) in enumerate(parts):
        rows = {
            m: s.pick(np.searchsorted(begins, s.steps, side="right") == number)
            for m, s in whole.series.items()
        }
        rest = replace(whole, series={m: s for m, s in rows.items() if len(s)}, facts={}, faults=())
        yield course(with_series_of(log.attempt, rest)) or log
