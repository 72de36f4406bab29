"""Compares two attempts, which all stages of stitching rely on.

A `Pair` compares values, steps, times and facts, each only when needed: there may be millions of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics import arithmetic
from chronicle.metrics.arithmetic import any_numbers, finite_of, rounding
from chronicle.metrics.names import COUNTERS
from chronicle.model import Attempt, Floats, Mask, Role, Series
from chronicle.timeline.courses import SCHEDULES, Course, Index, is_counter, process

SAME_DIFFERENCE = 2e-3  # two loggers may round one value to values with this relative difference
_AGREEING_SHARE = 0.95  # share of the common points of two copies that must be equal
SEAM_SAMPLES = 5  # the level at a seam is the median of this many samples
START_SAMPLES = 8  # the logging interval at the start is the mean over this many samples
_COMMON_SAMPLES = 8  # fewer equal points may be chance
_COMMON_SHARE = 0.6  # share of the shorter log that two copies must have in common
_EXACT_DIFFERENCE = 1e-4  # as SAME_DIFFERENCE, but for short logs, where all values must be equal
_NOISE_SHARE = 0.25  # two seeds differ by their noise; two roundings by much less than this share of it
SAME_TIME_S = 60.0  # the clocks of two loggers in one process differ by less
_OVERLAP_SHARE = 0.5  # share of the shorter one's wall clock in which both must have run
_SAME_END_SHARE = 0.02  # share of the length within which two trainings end at the same step
_FEW_DIGITS = (3, 4, 5)  # of numbers that are printed short
_FAILED_SAMPLES = 3  # an attempt with no more samples failed at its start
_SHORT_SAMPLES = 8  # the level of a shorter log is a single sample, and its end must be exactly equal
_NEAR_END_SHARE = 0.25  # a loss goes on if it is nearer to the end than this share of its way from the start
_FAR_NOISES = 4.0  # a loss has moved if it did by this many times its noise
_OF_WINDOWS = (Role.STEP_TIME, Role.THROUGHPUT, Role.OTHER)  # of which each logger may log means of its own
_COLUMNS = ("steps", "values", "times")
_TRAINED = frozenset(
    (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM, Role.LOSS_SCALE, Role.LEARNING_RATE, Role.BATCH_SIZE)
)


class Relation(StrEnum):
    """How the later of two attempts relates to the earlier one."""

    SAME = "same"  # it has the same values at the same steps: one process, logged twice
    PART = "part of"  # it has other metrics at the same steps and times: one process, logged in parts
    CONTINUES = "continues"  # it begins where the earlier one ended, or later
    OVERTAKES = "overtakes"  # it begins before the end of the earlier one
    ANEW = "starts anew"  # it begins where the training began
    OTHER = "other"  # it covers the same steps and replaces nothing: a seed, an evaluation, a next stage


def are_same(a: Any, b: Any) -> Mask:
    """Where values are equal up to the rounding of logs; NaN equals NaN."""
    return np.asarray(np.isclose(a, b, rtol=SAME_DIFFERENCE, atol=0.0, equal_nan=True))


def _are_printed_alike(a: Series, b: Series) -> bool:
    """Whether two series have the same values, but for rounding, at the same times."""
    if (np.abs(a.times - b.times) > SAME_TIME_S).any():
        return False
    finite = both_finite(a, b)
    x, y = a.values[finite], b.values[finite]
    differ = np.abs(x - y) > _printing(x) + _printing(y) + _EXACT_DIFFERENCE * np.abs(y)
    return not differ.any() and bool(are_same(a.values[~finite], b.values[~finite]).all())


def _printing(values: Floats) -> Floats:
    """The largest rounding error of each number: of the decimals, or of the digits by which all are logged,
    as three are by a bar, and four by ``%.4g``."""
    first = np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
    for last in (10.0 ** (first - n + 1) for n in _FEW_DIGITS):
        if np.isclose(np.round(values / last) * last, values, rtol=1e-9, atol=0.0).all():
            return np.maximum(rounding(values), 0.51 * last)
    return rounding(values)


def _is_of_batches(series: Series) -> bool:
    """Whether a step has many values, as of the batches of an epoch, of which another log tells the mean."""
    return len(series) >= 2 * len(np.unique(series.steps))


def measured(attempt: Attempt) -> frozenset[str]:
    """The metrics of an attempt without those that count, which each of its parts may tell."""
    return frozenset(name for name, series in attempt.series.items() if series.role not in COUNTERS)


def first_rows(steps: NDArray[np.int64]) -> Index:
    """The first row of each step; ``steps`` are sorted."""
    return np.flatnonzero(np.append(True, steps[1:] != steps[:-1])[: len(steps)])


def at_common_steps(a: Series, b: Series) -> tuple[Series, Series]:
    """Both series (sorted by step) at the steps that both have, with the first row of each step."""
    either_empty = not len(a) or not len(b)
    if either_empty or (first := max(a.steps[0], b.steps[0])) > (last := min(a.steps[-1], b.steps[-1])):
        return a.pick(slice(0)), b.pick(slice(0))
    rows = [(np.searchsorted(s.steps, first), np.searchsorted(s.steps, last, "right")) for s in (a, b)]
    a, b = a.pick(slice(*rows[0])), b.pick(slice(*rows[1]))
    i = first_rows(a.steps)
    j = np.searchsorted(b.steps, a.steps[i])
    i, j = i[j < len(b)], j[j < len(b)]
    both = a.steps[i] == b.steps[j]
    return a.pick(i[both]), b.pick(j[both])


def both_finite(a: Series, b: Series) -> Mask:
    """Where the values of both are finite."""
    return np.asarray(np.isfinite(a.values) & np.isfinite(b.values))


def with_steps_moved(series: Series, by: int) -> Series:
    """The series with ``by`` added to its steps."""
    return replace(series, steps=series.steps + by) if by else series


def finite_median(values: Floats) -> float:
    """Median of the finite values; NaN where there is none."""
    return arithmetic.median(finite_of(values))


def reached(before: Any, after: Course) -> Mask:
    """Whether ``before`` got to the first step of ``after``, with a tolerance of two logging intervals or its
    slack. ``before`` is a `Course`, or an object with its fields as arrays."""
    missing = np.maximum(np.maximum(2 * before.gap, before.slack), 2 * after.gap)
    return np.asarray(before.last + missing >= float(after.first))


def together_s(a: Any, b: Course) -> Any:
    """For how long both processes ran at the same time [s]; negative if one ended before the other began, NaN
    where a time is unknown. ``a`` is a `Course`, or an object with its fields as arrays."""
    return np.minimum(a.ended, b.ended) - np.maximum(a.started, b.started)


def side_by_side(a: Any, b: Course) -> Mask:
    """Whether both processes ran at the same time, for at least half of the shorter one."""
    shorter = np.minimum(a.ended - a.started, b.ended - b.started)
    return np.asarray((shorter > 0) & (together_s(a, b) > _OVERLAP_SHARE * shorter))


def are_equal(a: Series, b: Series, timed: bool = False) -> bool:
    """Whether values are equal up to rounding at the same steps and times; ``timed``: times must be known."""
    need = max(_COMMON_SAMPLES, _COMMON_SHARE * min(len(a), len(b)))
    a, b = at_common_steps(a, b)
    enough, same = max(need, _AGREEING_SHARE * len(a)), are_same(a.values, b.values)
    finite = both_finite(a, b)
    a, b = a.pick(finite), b.pick(finite)
    if len(same) >= enough > np.count_nonzero(same):
        same[finite] |= np.abs(a.values - b.values) <= _printing(a.values) + _printing(b.values)
    if np.count_nonzero(same) < enough:
        return False
    if len(np.unique(a.values)) < _COMMON_SAMPLES:
        return False  # a metric that hardly changes is equal in every run
    apart_s = np.abs(a.times - b.times)
    if not np.isfinite(apart_s).any():
        apart_s = np.array([math.inf if timed else 0.0])
    noise = finite_median(np.abs(np.diff(a.values)))
    off = finite_median(np.abs(a.values - b.values))
    return bool(off <= _NOISE_SHARE * noise and finite_median(apart_s) <= SAME_TIME_S)


def pairs_of_role(before: Attempt, after: Attempt, role: Role) -> Iterator[tuple[Series, Series]]:
    """The first two series of this role that have one name, else the first of each, if both have one."""
    old, new = ([s for s in attempt.by_role(role) if len(s)] for attempt in (before, after))
    if old and new:
        by_name = {s.metric: s for s in new}
        yield next(((s, by_name[s.metric]) for s in old if s.metric in by_name), (old[0], new[0]))


@dataclass(frozen=True)
class Pair:
    """An earlier and a later attempt, and the ``root`` with which the earlier one's training began."""

    before: Course
    after: Course
    root: Course

    @any_numbers
    def relation(self) -> Relation:
        return self.copied or (Relation.OTHER if next(self.reasons_apart(), None) else self.course)

    @cached_property
    def copied(self) -> Relation | None:
        """SAME or PART (the same steps and times, no common metric) if one process wrote both, else None."""
        if self.shift is not None:
            return Relation.SAME
        a, b = self.before, self.after
        shared, longer = min(a.last, b.last) - max(a.first, b.first), max(a.last - a.first, b.last - b.first)
        mostly = shared > 0 and shared >= _COMMON_SHARE * longer and a.attempt.axis == b.attempt.axis
        apart = bool(together_s(a, b) < 0)  # false where a time is unknown
        parts = mostly and not apart and measured(a.attempt).isdisjoint(measured(b.attempt))
        return Relation.PART if parts else None

    @cached_property
    def course(self) -> Relation:
        """Where the later attempt begins, if both belong to one training."""
        first = self.root.first
        # Where all are at the first step, the training was launched again after a single step.
        only_first = first == self.before.last == self.after.first and first <= self.start_steps
        if self.after.first >= self.before.last and not only_first:
            return Relation.CONTINUES
        # A training whose log begins at a later step started from a checkpoint, and may do so again.
        near_zero = min(first, self.after.first) <= self.start_steps
        begins_again = (near_zero and self.begins_at_root) or self._counter_begins_again()
        return Relation.ANEW if begins_again else Relation.OVERTAKES

    def _counter_begins_again(self) -> bool:
        """Whether another counter is back at its first value: an agent's first episode may end at any
        step."""
        old, new = self.root.attempt.series, self.after.attempt.series
        both = ((s, new[m]) for m, s in old.items() if m in new and s is not self.root.clock)
        return any(is_counter(a) and is_counter(b) and a.values[0] == b.values[0] for a, b in both)

    def reasons_apart(self, relation: str = "", sure: bool = True) -> Iterator[str]:
        """Why the later attempt is a separate training: keys of `trainings.APART_REASONS`, none if it is not.
        ``relation`` is that of run.toml; ``sure``: the logs tell which training the later one belongs to."""
        a, b = self.before, self.after
        trains = [any(s.role in _TRAINED for s in course.attempt.series.values()) for course in (a, b)]
        if trains == [True, False]:
            yield "evaluation"  # it logs no metric that only a training has
        if relation == "attempts":
            return
        if self.same_fact("trial") is False:
            yield "trial"  # whatever its steps are: a sweep may count them on over its trials
        if {a.attempt.axis, b.attempt.axis} == {"epoch", "step"}:
            yield "axis"
        if self.course is Relation.CONTINUES:
            return
        if side_by_side(a, b):
            yield "together"
        if relation == "seeds" and self.begins_at_root:
            yield "told"
        if not relation and self.course is Relation.ANEW:
            yield from self._reasons_against_relaunch(sure)

    def _reasons_against_relaunch(self, sure: bool) -> Iterator[str]:
        """Why an attempt that begins where the training began does not replace the earlier one."""
        if self.before.attempt.facts.get("ended") == "finished":
            yield "finished"
        if self.same_fact("seed") is False:
            yield "seed"
        if self.same_fact("sweep"):
            yield "sweep"
        if self._weights_go_on():
            yield "goes on"
        a, b = self.before, self.after
        length = max(a.last, b.last) - min(self.root.first, b.first)
        logging_interval = a.gap if len(a.clock) > _SHORT_SAMPLES else 0
        if abs(a.last - b.last) <= max(logging_interval, _SAME_END_SHARE * length):
            yield "same end"
        # A later attempt in one file replaces one that says that it died, or failed at its start.
        ended, few = a.attempt.facts.get("ended"), len(first_rows(a.clock.steps)) <= _FAILED_SAMPLES
        died_early = ended not in (None, "finished") or few or not np.isfinite(a.clock.values[-1])
        if self._in_one_file() and not died_early:
            yield "appended"
        if not sure:
            yield "undecided"

    def _in_one_file(self) -> bool:
        sources = self.before.attempt.sources
        return bool(sources) and sources == self.after.attempt.sources

    @cached_property
    def shift(self) -> int | None:
        """By how many steps the counts of two logs with the same values differ, as of one run in two formats:
        0, or 1 or -1 where one counts from 0 and the other from 1. None where the values differ."""
        a, b = self.before, self.after
        if a.last < b.first or b.last < a.first or a.clock.role in SCHEDULES:
            return None
        if self._in_one_file():
            return 0 if self._written_twice() else None
        # Two processes that log one loss at the same times are ranks of one job.
        two_processes, shifts = self.same_writer() is False, (0, 1, -1)
        for by in shifts:
            if are_equal(a.clock, with_steps_moved(b.clock, by), timed=two_processes):
                return by
        return None if two_processes else next((by for by in shifts if self._equal_throughout(by)), None)

    def _written_twice(self) -> bool:
        """Whether both are identical, as in a file that holds some of its rows twice. A second launch with
        the same seed has the same losses, so times or speeds must be logged, too."""
        old, new = self.before.attempt.series, self.after.attempt.series
        if old.keys() != new.keys() or len(self.before.clock) < _COMMON_SAMPLES:
            return False
        speeds = (s.values for s in old.values() if s.role in (Role.STEP_TIME, Role.THROUGHPUT))
        timed = math.isfinite(self.before.started) or any(len(np.unique(v)) > 1 for v in speeds)
        both = ((getattr(s, name), getattr(new[m], name)) for m, s in old.items() for name in _COLUMNS)
        return timed and all(np.array_equal(x, y, equal_nan=True) for x, y in both)

    def _equal_throughout(self, shift: int) -> bool:
        """Whether several metrics are in common, all with the same values ``shift`` steps apart. A clock with
        few samples, or one that soon ends in NaN, is not enough evidence; all metrics together are."""
        old, new = self.before.attempt.series, self.after.attempt.series
        both = [(s, new[m]) for m, s in old.items() if m in new and s.role not in SCHEDULES]
        both = [(s, other) for s, other in both if _is_of_batches(s) is _is_of_batches(other)]
        if len(both) < 2:
            return False
        learned = [pair for pair in both if pair[0].role not in _OF_WINDOWS]
        n_equal = 0
        for series, other in learned if len(learned) > 1 else both:
            a, b = at_common_steps(series, with_steps_moved(other, shift))
            if len(a) < _COMMON_SHARE * min(len(series), len(other)) or not _are_printed_alike(a, b):
                return False
            n_equal += min(len(np.unique(a.values)), len(np.unique(b.values)))
        return n_equal >= _COMMON_SAMPLES

    @cached_property
    def compared(self) -> tuple[Series, Series] | None:
        """One metric of both: the clock of either, else the clocks if they have one role, else None."""
        old, new = self.before.attempt.series, self.after.attempt.series
        clocks = self.before.clock, self.after.clock
        same = next((c.metric for c in clocks if c.metric in old and c.metric in new), None)
        if same is not None:
            return old[same], new[same]
        return clocks if clocks[0].role is clocks[1].role else None

    @cached_property
    def seam(self) -> tuple[float, float, int] | None:
        """Loss before and after the seam, and at how many steps both logged it; None if it is not known."""
        return levels_at_seam(*self.compared) if self.compared else None

    def _weights_go_on(self) -> bool:
        """Whether the loss or a counter of data goes on: only the steps start again, the weights do not."""
        ticks = self.before.clock
        end = _level(ticks.values[::-1])
        first, now = _level(self.root.clock.values), _level(self.after.clock.values)
        noise = finite_median(np.abs(np.diff(ticks.values)))
        moved = len(ticks) >= _SHORT_SAMPLES and abs(end - first) > _FAR_NOISES * noise
        if moved and abs(now - end) < _NEAR_END_SHARE * abs(now - first):
            return True
        for role in COUNTERS:
            for old, new in pairs_of_role(self.before.attempt, self.after.attempt, role):
                # It goes on from the last value, and is not back at the first one. False with a NaN.
                never_fall = all((s.values[1:] >= s.values[:-1]).all() for s in (old, new))
                if never_fall and new.values[0] >= old.values[-1] and new.values[0] > old.values[0]:
                    return True
        return False

    @property
    def start_steps(self) -> float:
        """How many steps count as the start of the training: two logging intervals."""
        starts = (course.clock.steps[: START_SAMPLES + 1] for course in (self.root, self.after))
        return 2 * max(max(1.0, (float(s[-1]) - float(s[0])) / max(1, len(s) - 1)) for s in starts)

    @property
    def begins_at_root(self) -> bool:
        """Whether the later attempt begins where the log of the training began, whatever that step is, or at
        most ``start_steps`` later. If both log at the same multiples of one interval, it begins at that very
        step, unless that is 0: what is measured before the first step is often left out."""
        late_steps = self.after.first - self.root.first
        first, own = _logging_interval(self.root.clock), _logging_interval(self.after.clock)
        is_regular = first is not None and first == own and late_steps % first == 0
        return late_steps <= (0 if is_regular and self.root.first else self.start_steps)

    def same_fact(self, name: str) -> bool | None:
        """Whether both logs state the same value of a fact; None where one of them does not state it."""
        stated = [course.attempt.facts.get(name) for course in (self.before, self.after)]
        return None if None in stated else str(stated[0]) == str(stated[1])

    def same_writer(self, *, host_only: bool = False) -> bool | None:
        """Whether host and process id are the same; None where one of the logs does not name them."""
        old, new = process(self.before.attempt), process(self.after.attempt)
        if old is None or new is None:
            return None
        return old[0] == new[0] if host_only else old == new


def _logging_interval(clock: Series) -> int | None:
    """How many steps lie between all of the first few samples; None if there are too few, or they differ."""
    between = np.diff(clock.steps[: START_SAMPLES + 1])
    return int(between[0]) if len(between) > 1 and (between == between[0]).all() and between[0] else None


def levels_at_seam(a: Series, b: Series) -> tuple[float, float, int] | None:
    """The medians before and after a seam, and how many steps both series have in common: at the first common
    steps, or without any, of the last samples of ``a`` and the first of ``b``. None if no value is finite."""
    if not len(a) or not len(b):
        return None
    old, new = at_common_steps(a, b)
    if len(old):
        levels = finite_median(old.values[:SEAM_SAMPLES]), finite_median(new.values[:SEAM_SAMPLES])
    else:
        until = a.values[a.steps <= b.steps[0]]  # they may overlap, and be logged at different steps
        levels = finite_median(until[-SEAM_SAMPLES:]), finite_median(b.values[:SEAM_SAMPLES])
    return None if np.isnan(levels).any() else (*levels, len(old))


def _level(values: Floats) -> float:
    """The median of the first values; infinite, and so far from every level, if none of them is finite."""
    level = finite_median(values[: max(1, min(SEAM_SAMPLES, len(values) // _SHORT_SAMPLES))])
    return math.inf if math.isnan(level) else level
