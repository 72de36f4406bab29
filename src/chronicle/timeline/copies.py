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

import numpy as np

from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.names import LOSSES
from chronicle.model import Attempt, Floats, Series, Steps
from chronicle.timeline import relation
from chronicle.timeline.courses import PART, Course, Index, Mask, by_name, course
from chronicle.timeline.relation import (
    Pair,
    Relation,
    are_equal,
    are_same,
    at_common_steps,
    first_rows,
    with_steps_moved,
)

_FEW_LOGS = 8  # so many logs are soon looked at one by one
_PROBES = np.arange(1, 17) * (math.sqrt(5) - 1) / 2 % 1  # places in a log, in step with no period of it
_COVERED_SHARE = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL_ROW = -9  # one value in so many may be another one

Part = tuple[int, int, Course]  # first and last step that an attempt shares with the log of the whole


@any_numbers
def without_copies(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """Attempts that differ, with the series that only their copies have, and the copies."""

    def worth(log: Course) -> tuple[int, bool, object]:
        return -sum(map(len, log.attempt.series.values())), math.isnan(log.started), by_name(log.name)

    ranked = sorted(courses, key=worth)
    logs = _Logs([log.clock for log in ranked])
    kept: dict[int, Course] = {}
    copies: list[Attempt] = []
    for rank, log in enumerate(ranked):
        originals: dict[Relation | None, tuple[int, int]] = {}  # the first that is related so, and the shift
        for k in logs.may_be_of(rank, log):
            two = Pair(kept[k], log, kept[k])
            originals.setdefault(two.copied, (k, two.shift or 0))
            if Relation.SAME in originals:
                copies.append(log.attempt)
                break
        if home := originals.get(Relation.SAME, originals.get(Relation.PART)):
            rank, by = home
            series = {m: with_steps_moved(s, by) for m, s in log.attempt.series.items()}
            other = replace(log.attempt, series=series)
            log = course(with_series_of(kept[rank].attempt, other)) or log
        kept[rank] = log
        logs.keep(rank, log)
    return list(kept.values()), copies


class _Logs:
    """The clocks of all logs by rank, and which logs are kept so far."""

    def __init__(self, clocks: Sequence[Series]) -> None:
        self._clocks = clocks
        self._kept, self._changed = np.zeros((2, len(clocks)), bool)  # changed: has another clock by now
        self._first, self._last, self._kind = np.zeros((3, len(clocks)), np.int64)
        self._kinds: dict[frozenset[str], int] = {}  # what logs may measure, each in another number
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        # NaN where a row has no time, and then times rule nothing out.
        self._times = np.array([(c.times.min(), c.times.max()) for c in clocks]).T

    @cached_property
    def _points(self) -> tuple[Steps, Floats, Index]:
        """Steps, values and ranks of all logs, in the order of their steps."""
        rows = [first_rows(clock.steps) for clock in self._clocks]
        steps, values = (
            np.concatenate([getattr(clock, name)[at] for clock, at in zip(self._clocks, rows, strict=True)])
            for name in ("steps", "values")
        )
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order], np.repeat(np.arange(len(rows)), [*map(len, rows)])[order]

    def keep(self, rank: int, log: Course) -> None:
        """Keeps a log, or another one in its place."""
        self._changed[rank] = log.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = log.first, log.last, True
        self._kind[rank] = self._kinds.setdefault(frozenset(log.attempt.series), len(self._kinds))

    def may_be_of(self, rank: int, log: Course) -> list[int]:
        """Ranks of the logs kept that may be copies of another one, or have no metric in common with it."""
        near = np.flatnonzero(self._kept & (self._first <= log.last) & (self._last >= log.first))
        other = np.array([kind.isdisjoint(log.attempt.series) for kind in self._kinds], bool)
        equal = near[self._changed[near] | ~self._at_another_time(near, rank)]
        if len(equal) > _FEW_LOGS:
            equal = equal[self._changed[equal] | ~self._with_other_values(equal, rank)]
        return [*np.union1d(equal, near[other[self._kind[near]]] if len(near) else near).tolist()]

    def _at_another_time(self, ranks: Index, rank: int) -> Mask:
        """Whether no row of one clock was logged at the time of one of the other."""
        starts, ends = self._times
        later = starts[ranks] > ends[rank] + relation.SAME_TIME_S
        return np.asarray(later | (ends[ranks] < starts[rank] - relation.SAME_TIME_S))

    def _with_other_values(self, ranks: Index, rank: int) -> Mask:
        """Whether more than three of eight values at a few probed steps differ: copies differ in one of
        twenty, two noisy seeds in six of seven. A log that counts from 0 where the other does from 1 is
        kept."""
        clock, rows = self._clocks[rank], first_rows(self._clocks[rank].steps)
        rows = rows[np.unique((_PROBES * len(rows)).astype(np.intp))]
        steps, values, by_rank = self._points
        low = np.searchsorted(steps, clock.steps[rows])
        high = np.searchsorted(steps, clock.steps[rows], "right")
        at = [slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        there, whose = (np.concatenate([points[rows] for rows in at]) for points in (values, by_rank))
        expected = np.repeat(clock.values[rows], high - low)
        off = np.abs(there - expected) > relation.SAME_DIFFERENCE * abs(expected)
        logged = np.bincount(whose, minlength=len(self._clocks))[ranks]
        differing = np.bincount(whose[off], minlength=len(self._clocks))[ranks]
        begins, begin = self._begins[ranks], int(self._begins[rank])
        return np.asarray((8 * differing > 3 * logged) & (begins != begin - 1) & (begins != begin + 1))


def with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other has, by any name, and its times where it has none."""
    own = list(keeper.series.values())

    further = {metric: s for metric, s in other.series.items() if metric not in keeper.series}
    new = {}
    for metric, s in further.items():  # a file may not say of which phase a loss is
        alike = (o for o in own if o.role is s.role or (o.role in LOSSES and s.role in LOSSES))
        if not any(are_equal(each, s) for each in alike):
            new[metric] = s
    timed = {}
    for metric in keeper.series.keys() & other.series.keys():
        own_rows, there = keeper.series[metric], other.series[metric]
        if not np.isfinite(own_rows.times).any():
            here, there = at_common_steps(own_rows, there)
            times = np.full(len(own_rows), np.nan)
            times[np.searchsorted(own_rows.steps, here.steps)] = there.times
            timed[metric] = replace(own_rows, times=times)
    series, facts = {**keeper.series, **timed, **new}, {**other.facts, **keeper.facts}
    sources = tuple(dict.fromkeys((*keeper.sources, *other.sources)))
    faults = (*keeper.faults, *other.faults)
    return replace(keeper, series=series, sources=sources, facts=facts, faults=faults)


def without_logs_of_the_whole(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside that tell the whole of what several others tell in parts, as a trainer's
    state beside an event file a process. The parts tell the restarts: they are the attempts, and the whole,
    if it is the only log of its format, is a copy of them, whose own metrics go to them by step."""
    formats = Counter(log.attempt.facts.get("format") for log in courses)
    kept = list(courses)
    wholes: list[Attempt] = []
    for whole in courses:
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
        if log is whole:
            continue
        a, b = at_common_steps(whole.clock, log.clock)
        score = np.concatenate([[0], np.cumsum(np.where(are_same(a.values, b.values), 1, _UNEQUAL_ROW))])
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(a.pick(rows), b.pick(rows)):
            yield int(a.steps[rows][0]), int(a.steps[rows][-1]), log


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    steps = whole.clock.steps
    inside = np.zeros(len(steps), bool)
    for first, last, _ in parts:
        inside |= (steps >= first) & (steps <= last)
    return bool(inside.mean() >= _COVERED_SHARE)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to where the next one begins."""
    begins = np.array([first for first, _, _ in parts[1:]])
    for number, (_, _, log) in enumerate(parts):
        rows = {m: np.searchsorted(begins, s.steps, "right") == number for m, s in whole.series.items()}
        own = {m: whole.series[m].pick(at) for m, at in rows.items() if at.any()}
        rest = replace(whole, series=own, facts={}, faults=())
        yield course(with_series_of(log.attempt, rest)) or log
