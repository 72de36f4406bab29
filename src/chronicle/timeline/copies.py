"""Finds logs that hold the same data: copies in another format, metrics of one process spread over several
files, and a log of the whole run next to logs of its attempts.

Comparing each pair of hundreds of logs takes long. So each log is first compared with all others at a few of
its steps, with array operations. This never rules out a copy; the remaining pairs are then compared in full.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.names import LOSSES, plain
from chronicle.model import Attempt, Floats, Mask, Series, Steps
from chronicle.timeline import relation
from chronicle.timeline.courses import PART, Course, Index, by_name, course
from chronicle.timeline.relation import Pair, Relation, are_equal, are_same, at_common_steps, first_rows

_RANK = re.compile(r"((?<![a-z])(?:local|global)?[-_]?rank[-_]?)\d+", re.IGNORECASE)  # of a job, in a name
_FEW_LOGS = 8  # up to this many logs are compared one by one
_PROBES = np.arange(1, 17) * (math.sqrt(5) - 1) / 2 % 1  # places in a log; golden ratio: no period matches
_COVERED_SHARE = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL_ROW_SCORE = -9  # an equal row scores 1, so about one value in ten may differ
Part = tuple[int, int, Course]  # an attempt, and the first and last step that it shares with the whole


def without_other_ranks(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs without those of other ranks of a job, and these. Their names differ in the number of a rank
    alone, and they hold the same metrics over the same steps at the same time, if they log the time. The
    lowest rank is kept: the loss of each rank is that of its share of the batch."""
    kept: dict[tuple[str, frozenset[str]], Course] = {}
    others: dict[int, Attempt] = {}
    for log in sorted(courses, key=lambda log: by_name(log.name)):
        name = _RANK.sub(r"\1", log.name)
        lowest = kept.setdefault((name, frozenset(log.attempt.series)), log)
        steps_apart = max(abs(log.first - lowest.first), abs(log.last - lowest.last))
        hours_apart = max(log.started, lowest.started) > min(log.ended, lowest.ended)  # False for NaN
        if log is not lowest and name != log.name and steps_apart <= lowest.slack and not hours_apart:
            others[id(log)] = log.attempt
    return [log for log in courses if id(log) not in others], [*others.values()]


@any_numbers
def without_copies(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The distinct attempts, with the series that only their copies have, and the copies."""

    def worth(log: Course) -> tuple[int, bool, object]:
        return -sum(map(len, log.attempt.series.values())), math.isnan(log.started), by_name(log.name)

    ranked = sorted(courses, key=worth)
    logs = _Logs([log.clock for log in ranked])
    kept: dict[int, Course] = {}
    copies: list[Attempt] = []
    for rank, log in enumerate(ranked):
        originals: dict[Relation | None, tuple[int, int]] = {}  # by relation the first log, and the shift
        for k in logs.candidates(rank, log):
            pair = Pair(kept[k], log, kept[k])
            originals.setdefault(pair.copied, (k, pair.shift or 0))
            if Relation.SAME in originals:
                copies.append(log.attempt)
                break
        if original := originals.get(Relation.SAME, originals.get(Relation.PART)):
            rank, shift = original
            series = {m: relation.with_steps_moved(s, shift) for m, s in log.attempt.series.items()}
            log = course(with_series_of(kept[rank].attempt, replace(log.attempt, series=series))) or log
        kept[rank] = log
        logs.keep(rank, log)
    return list(kept.values()), copies


class _Logs:
    """The clocks of all logs by rank, and which logs have been kept so far."""

    def __init__(self, clocks: Sequence[Series]) -> None:
        self._clocks = clocks
        self._kept, self._changed = np.zeros((2, len(clocks)), bool)  # changed: its clock is a new one
        self._first, self._last, self._kind = np.zeros((3, len(clocks)), np.int64)
        self._kinds: dict[frozenset[str], int] = {}  # distinct sets of metrics, and a number for each
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        # A row without a time makes these NaN, and then times rule nothing out.
        self._times = np.array([(c.times.min(), c.times.max()) for c in clocks]).T

    @cached_property
    def _points(self) -> tuple[Steps, Floats, Index]:
        """Steps, values and ranks of the points of all logs, sorted by step."""
        logs = [clock.pick(first_rows(clock.steps)) for clock in self._clocks]
        steps = np.concatenate([log.steps for log in logs])
        values = np.concatenate([log.values for log in logs])
        ranks = np.repeat(np.arange(len(logs)), [*map(len, logs)])
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order], ranks[order]

    def keep(self, rank: int, log: Course) -> None:
        self._changed[rank] = log.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = log.first, log.last, True
        self._kind[rank] = self._kinds.setdefault(relation.measured(log.attempt), len(self._kinds))

    def candidates(self, rank: int, log: Course) -> list[int]:
        """Ranks of the kept logs that may be copies of a log, or have no metric in common with it."""
        near = np.flatnonzero(self._kept & (self._first <= log.last) & (self._last >= log.first))
        own = relation.measured(log.attempt)
        other = np.array([kind.isdisjoint(own) for kind in self._kinds], bool)
        starts, ends = self._times
        later = starts[near] > ends[rank] + relation.SAME_TIME_S
        at_another_time = later | (ends[near] < starts[rank] - relation.SAME_TIME_S)
        equal = near[self._changed[near] | ~at_another_time]
        if len(equal) > _FEW_LOGS:
            equal = equal[self._changed[equal] | ~self._with_other_values(equal, rank)]
        return [*np.union1d(equal, near[other[self._kind[near]]] if len(near) else near).tolist()]

    def _with_other_values(self, ranks: Index, rank: int) -> Mask:
        """Which logs differ in more than three of eight values at the probed steps: copies differ in one of
        twenty, noisy seeds in six of seven. A log that begins a step earlier or later is never ruled out."""
        clock, rows = self._clocks[rank], first_rows(self._clocks[rank].steps)
        rows = rows[np.unique((_PROBES * len(rows)).astype(np.intp))]
        steps, values, by_rank = self._points
        low = np.searchsorted(steps, clock.steps[rows])
        high = np.searchsorted(steps, clock.steps[rows], "right")
        at = np.concatenate([np.arange(a, b) for a, b in zip(low, high, strict=True)])
        expected = np.repeat(clock.values[rows], high - low)
        differs = np.abs(values[at] - expected) > relation.SAME_DIFFERENCE * abs(expected)
        logged = np.bincount(by_rank[at], minlength=len(self._clocks))[ranks]
        differing = np.bincount(by_rank[at][differs], minlength=len(self._clocks))[ranks]
        apart = np.abs(self._begins[ranks] - self._begins[rank])
        return np.asarray((8 * differing > 3 * logged) & (apart != 1))


def with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other log has, and with its times where it has none itself."""
    new = {}
    for metric, s in other.series.items():
        # One file may call validation loss what the other calls loss.
        roles = LOSSES if s.role in LOSSES else (s.role,)
        alike = (own for own in keeper.series.values() if own.role in roles)
        if metric not in keeper.series and not any(are_equal(own, s) or _is_again(own, s) for own in alike):
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


def _is_again(own: Series, other: Series) -> bool:
    """Whether two logs of one process call a metric alike (`eval/loss`, `eval_loss`) and have equal values,
    however few these are."""
    here, there = at_common_steps(own, other)
    names = {plain(series.metric).removeprefix("train ") for series in (own, other)}
    return len(names) == 1 and len(here) > 0 and bool(are_same(here.values, there.values).all())


def without_logs_of_the_whole(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside because several others together hold the same run, such as a trainer's
    state next to one event file for each process. The others show the restarts, so they are the attempts. A
    log of the whole is their copy if it is the only one of its format; its own metrics go to them by step."""
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
    """For each other log the longest stretch of steps at which it has the values of the whole."""
    for log in others:
        if log is whole:
            continue
        a, b = at_common_steps(whole.clock, log.clock)
        scores = np.where(are_same(a.values, b.values), 1, _UNEQUAL_ROW_SCORE)
        score = np.append(0, np.cumsum(scores))
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(a.pick(rows), b.pick(rows)):
            yield int(a.steps[rows][0]), int(a.steps[rows][-1]), log


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    inside = np.zeros(len(whole.clock), bool)
    for first, last, _ in parts:
        inside |= (whole.clock.steps >= first) & (whole.clock.steps <= last)
    return bool(inside.mean() >= _COVERED_SHARE)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to the beginning of the next."""
    begins = np.array([first for first, _, _ in parts[1:]])
    for number, (_, _, log) in enumerate(parts):
        rows = {m: np.searchsorted(begins, s.steps, "right") == number for m, s in whole.series.items()}
        own = {m: whole.series[m].pick(at) for m, at in rows.items() if at.any()}
        yield course(with_series_of(log.attempt, replace(whole, series=own, facts={}, faults=()))) or log
