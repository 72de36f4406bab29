"""What one piece of a training is to another: the one comparison that all of stitching speaks from.

A `Pair` asks what two pieces logged at equal steps, how their steps and wall clocks lie to each other, and
what both state. Nothing is asked that nobody needs: thousands of attempts make millions of pairs.
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
from chronicle.metrics.arithmetic import any_numbers, rounding
from chronicle.model import Attempt, Floats, Role, Series
from chronicle.timeline.courses import SCHEDULES, Course, Index, Mask, is_counter, process

SAME_DIFFERENCE = 2e-3  # relative difference up to which two values are one value, rounded differently
_AGREEING_SHARE = 0.95  # share of the common points of two copies that must be equal
SEAM_SAMPLES = 5  # the level at a seam is the median of so many samples
START_SAMPLES = 8  # the first steps are as far apart as these many on average

_COMMON_SAMPLES = 8  # fewer equal points than this may be chance
_COMMON_SHARE = 0.6  # of the smaller of the two
_EXACT_DIFFERENCE = 1e-4  # relative difference of values of a short log that two loggers rounded
_NOISE_SHARE = 0.25  # two seeds differ by their noise; two roundings by much less than this share of it
SAME_TIME_S = 60.0  # the clocks of two loggers in one process differ by less
_BESIDE_SHARE = 0.5  # share of the shorter one's wall clock in which both ran
_SAME_END = 0.02  # share of the length within which two trainings end at the same step
_FAILED_SAMPLES = 3  # an attempt of no more than these never got going
_SHORT_SAMPLES = 8  # of a shorter log one sample is its level, and its end must be equal
_GOES_ON = 0.25  # share of the way back to the first level within which the loss goes on
_FAR_NOISES = 4.0  # times the noise of a loss that has gone somewhere
COUNTERS = (Role.TOKENS, Role.SAMPLES, Role.EPOCH)
_TRAINED = frozenset(
    (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM, Role.LOSS_SCALE, Role.LEARNING_RATE, Role.BATCH_SIZE)
)


class Relation(StrEnum):
    """What the later one of two pieces is to the earlier one."""

    SAME = "same"  # it has the same values at the same steps: one process, logged twice
    PART = "part of"  # other metrics over the same steps at the same time: one process, logged in parts
    CONTINUES = "continues"  # it begins at the end or after it
    OVERTAKES = "overtakes"  # it goes back to a step before the end
    ANEW = "starts anew"  # it goes back to where the training began
    OTHER = "other"  # it goes over the same steps and replaces nothing: a seed, an evaluation, a next stage


def are_same(a: Any, b: Any) -> Mask:
    """Whether two values are one value, as far as the rounding of logs goes; NaN is NaN."""
    return np.asarray(np.isclose(a, b, rtol=SAME_DIFFERENCE, atol=0.0, equal_nan=True))


def first_rows(steps: NDArray[np.int64]) -> Index:
    """The first row of each step of a series in step order."""
    return np.flatnonzero(np.append(True, steps[1:] != steps[:-1])[: len(steps)])


def at_common_steps(a: Series, b: Series) -> tuple[Series, Series]:
    """Both series, in step order, at the steps that both have, the first row of each step."""
    if not len(a) or not len(b):
        return a.pick(slice(0)), b.pick(slice(0))
    first, last = max(a.steps[0], b.steps[0]), min(a.steps[-1], b.steps[-1])
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
    """The series with another count of steps."""
    return replace(series, steps=series.steps + by) if by else series


def median(values: Floats) -> float:
    """Median of the finite values; NaN where there is none."""
    return arithmetic.median(values[np.isfinite(values)])


def reached(before: Any, after: Course) -> Mask:
    """Whether an attempt got as far as another one begins, but for two logging intervals or its slack.

    ``before`` is a `Course`, or has its fields as arrays, and then the answer is one for each place.
    """
    missing = np.maximum(np.maximum(2 * before.gap, before.slack), 2 * after.gap)
    return np.asarray(before.last + missing >= float(after.first))


def together_s(a: Any, b: Course) -> Any:
    """For how long both processes ran at the same time [s], below zero if one ended before the other began;
    NaN where one of the clocks is unknown. ``a`` is a `Course`, or has its fields as arrays."""
    return np.minimum(a.ended, b.ended) - np.maximum(a.started, b.started)


def side_by_side(a: Any, b: Course) -> Mask:
    """Whether both processes ran at the same time, for a good part of the shorter one."""
    shorter = np.minimum(a.ended - a.started, b.ended - b.started)
    return np.asarray((shorter > 0) & (together_s(a, b) > _BESIDE_SHARE * shorter))


def are_equal(a: Series, b: Series, timed: bool = False) -> bool:
    """Same values, but for rounding, at the same steps, and times if known (``timed``: they must be)."""
    need = max(_COMMON_SAMPLES, _COMMON_SHARE * min(len(a), len(b)))
    a, b = at_common_steps(a, b)
    if len(a) < need or np.count_nonzero(are_same(a.values, b.values)) < max(need, _AGREEING_SHARE * len(a)):
        return False
    finite = both_finite(a, b)
    a, b = a.pick(finite), b.pick(finite)
    if len(np.unique(a.values)) < _COMMON_SAMPLES:
        return False  # a frozen metric is equal in every run
    apart_s = np.abs(a.times - b.times)
    if not np.isfinite(apart_s).any():
        apart_s = np.array([math.inf if timed else 0.0])
    noise = median(np.abs(np.diff(a.values)))
    off = median(np.abs(a.values - b.values))
    return bool(off <= _NOISE_SHARE * noise and median(apart_s) <= SAME_TIME_S)


def _are_one(a: Series, b: Series) -> bool:
    """Whether steps, values and times of both are equal to the last digit."""
    floats = ((a.values, b.values), (a.times, b.times))
    return np.array_equal(a.steps, b.steps) and all(np.array_equal(x, y, equal_nan=True) for x, y in floats)


def pairs_of_role(before: Attempt, after: Attempt, role: Role) -> Iterator[tuple[Series, Series]]:
    """The first series of a role that both have under one name, else the first of either."""
    old, new = ([s for s in a.by_role(role) if len(s)] for a in (before, after))
    if old and new:
        named = {s.metric: s for s in new}
        yield next(((s, named[s.metric]) for s in old if s.metric in named), (old[0], new[0]))


@dataclass(frozen=True)
class Pair:
    """Two pieces, ``before`` and ``after``, and ``root``: that with which the training of the first began."""

    before: Course
    after: Course
    root: Course

    @any_numbers
    def relation(self) -> Relation:
        """What the later piece is to the earlier one."""
        other = Relation.OTHER if next(self.apart(), None) else None
        return self.copied or other or self.course

    @cached_property
    def copied(self) -> Relation | None:
        """Whether both are logs of one process: the same values, or other metrics of it."""
        return Relation.SAME if self.shift is not None else Relation.PART if self._parts_of_one() else None

    @cached_property
    def course(self) -> Relation:
        """How the steps of the later one lie to those of the earlier one, of one training."""
        begins = self.before.last == self.root.first in (0, 1)  # which told no step but the first
        if self.after.first >= self.before.last and not (begins and self.after.first == self.root.first):
            return Relation.CONTINUES
        # A log that itself begins at a later step began from a checkpoint, and so did an attempt that does.
        from_zero = min(self.root.first, self.after.first) <= self.start
        anew = (from_zero and self.begins_alike) or self._counts_anew()
        return Relation.ANEW if anew else Relation.OVERTAKES

    def apart(self, relation: str = "", sure: bool = True) -> Iterator[str]:
        """Why the later one is a training of its own: keys of `trainings.APART_REASONS`, none of a part.
        ``relation`` is that of run.toml, ``sure`` whether the logs tell that this training begins again."""
        a, b = self.before, self.after
        trains = [any(s.role in _TRAINED for s in course.attempt.series.values()) for course in (a, b)]
        if trains == [True, False]:
            yield "evaluation"  # it logs nothing that only a training does, and overtakes nothing
        if relation == "attempts":
            return
        if self.state("trial") is False:
            yield "trial"  # whatever its steps are: they may go on counting
        if self.course is Relation.CONTINUES:
            return
        if side_by_side(a, b):
            yield "together"
        if relation == "seeds" and self.begins_alike:
            yield "told"
        if not relation and self.course is Relation.ANEW:
            yield from self._no_relaunch(sure)

    def _no_relaunch(self, sure: bool) -> Iterator[str]:
        """Why what begins at the very start replaces nothing."""
        if self.before.attempt.facts.get("ended") == "finished":
            yield "finished"
        if self.state("seed") is False:
            yield "seed"
        if self.state("sweep"):
            yield "sweep"
        if self._goes_on():
            yield "goes on"
        a, b = self.before, self.after
        length = max(a.last, b.last) - min(self.root.first, b.first)
        logged_often = a.gap if len(a.clock) > _SHORT_SAMPLES else 0
        if abs(a.last - b.last) <= max(logged_often, _SAME_END * length):
            yield "same end"
        if a.attempt.sources and a.attempt.sources == b.attempt.sources and not self._cut_short():
            yield "appended"
        if not sure:
            yield "undecided"

    def _cut_short(self) -> bool:
        """Whether the earlier one says that it died, or never got going: what begins then takes its place."""
        ended, clock = self.before.attempt.facts.get("ended", "finished"), self.before.clock
        few = len(first_rows(clock.steps)) <= _FAILED_SAMPLES
        return ended != "finished" or few or not np.isfinite(clock.values[-1])

    # ---- by value

    @cached_property
    def shift(self) -> int | None:
        """By how many steps the counts of two logs of the same values differ: one run in two formats (0, or 1
        or -1 where one counts from 0 and the other from 1). None where the values are not the same."""
        a, b = self.before, self.after
        if a.last < b.first or b.last < a.first or a.clock.role in SCHEDULES:
            return None
        if a.attempt.sources and a.attempt.sources == b.attempt.sources:  # two stretches of one file
            return 0 if self._written_twice() else None
        ranks = self.same_writer() is False  # of one job, if they log one loss at one time
        apart = int(a.clock.steps[0]) - int(b.clock.steps[0])
        for by in (0, apart) if abs(apart) == 1 else (0,):
            if are_equal(a.clock, with_steps_moved(b.clock, by), timed=ranks):
                return by
        return 0 if not ranks and self._equal_throughout() else None

    def _written_twice(self) -> bool:
        """Whether all values and times of both are equal to the last digit, as in a file that holds a stretch
        of its rows twice. Where no time and no speed is logged, a launch with the same seed looks so, too."""
        old, new = self.before.attempt.series, self.after.attempt.series
        if old.keys() != new.keys() or len(self.before.clock) < _COMMON_SAMPLES:
            return False
        speeds = (s.values for s in old.values() if s.role in (Role.STEP_TIME, Role.THROUGHPUT))
        timed = math.isfinite(self.before.started) or any(len(np.unique(v)) > 1 for v in speeds)
        return timed and all(_are_one(series, new[metric]) for metric, series in old.items())

    def _equal_throughout(self) -> bool:
        """Whether several metrics are in common, all with the same values at the same steps. A clock of few
        epochs, or one that soon ends in NaN, proves nothing; all metrics together do."""
        old, new = self.before.attempt.series, self.after.attempt.series
        both = [(s, new[m]) for m, s in old.items() if m in new and s.role not in SCHEDULES]
        n_equal = 0
        for series, other in both if len(both) > 1 else ():
            a, b = at_common_steps(series, other)
            late = np.abs(a.times - b.times) > SAME_TIME_S
            if len(a) < _COMMON_SHARE * min(len(series), len(other)) or late.any():
                return False
            finite = both_finite(a, b)
            x, y = a.values[finite], b.values[finite]
            off = np.abs(x - y) > rounding(x) + rounding(y) + _EXACT_DIFFERENCE * np.abs(y)
            if off.any() or not are_same(a.values[~finite], b.values[~finite]).all():
                return False
            n_equal += min(len(np.unique(a.values)), len(np.unique(b.values)))
        return n_equal >= _COMMON_SAMPLES

    @cached_property
    def compared(self) -> tuple[Series, Series] | None:
        """The clocks of both, or the same metric in both, or None where nothing can be compared."""
        a, b = self.before, self.after
        if a.clock.metric in b.attempt.series:
            return a.clock, b.attempt.series[a.clock.metric]
        if b.clock.metric in a.attempt.series:
            return a.attempt.series[b.clock.metric], b.clock
        return (a.clock, b.clock) if a.clock.role is b.clock.role else None

    @cached_property
    def seam(self) -> tuple[float, float, int] | None:
        """Loss before and after the seam, and at how many steps both logged it; None if nobody can tell."""
        return levels_at_seam(*self.compared) if self.compared else None

    def _goes_on(self) -> bool:
        """Whether the loss or a counter of data goes on: the steps began anew, the weights did not."""
        ticks = self.before.clock
        first, end, now = _level(self.root, 1), _level(self.before, -1), _level(self.after, 1)
        noise = median(np.abs(np.diff(ticks.values)))
        fell = len(ticks) >= _SHORT_SAMPLES and abs(end - first) > _FAR_NOISES * noise
        if fell and abs(now - end) < _GOES_ON * abs(now - first):
            return True
        both = (self.before.attempt, self.after.attempt)
        for old, new in (two for role in COUNTERS for two in pairs_of_role(*both, role)):
            counts = all(bool((s.values[1:] >= s.values[:-1]).all()) for s in (old, new))  # not with a NaN
            # at least where it was, and not back at its first value
            if counts and new.values[0] >= old.values[-1] and new.values[0] > old.values[0]:
                return True
        return False

    # ---- by step

    @property
    def start(self) -> float:
        """How many steps the start of the training is, two logging intervals of it."""
        starts = (course.clock.steps[: START_SAMPLES + 1] for course in (self.root, self.after))
        return 2 * max(max(1.0, (float(s[-1]) - float(s[0])) / max(1, len(s) - 1)) for s in starts)

    @property
    def begins_alike(self) -> bool:
        """Whether the step is back where the log of the training began, whatever that step is."""
        return self.after.first - self.root.first <= self.start

    def _counts_anew(self) -> bool:
        """Whether another counter of the log is back at its first value: the first episode comes again,
        though it took as many steps as it took."""
        old, new = self.root.attempt.series, self.after.attempt.series
        both = ((s, new[m]) for m, s in old.items() if m in new and s is not self.root.clock)
        return any(is_counter(a) and is_counter(b) and a.values[0] == b.values[0] for a, b in both)

    def _parts_of_one(self) -> bool:
        """No metric in common, mostly the same steps, at the same time."""
        a, b = self.before, self.after
        shared, longer = min(a.last, b.last) - max(a.first, b.first), max(a.last - a.first, b.last - b.first)
        mostly = shared > 0 and shared >= _COMMON_SHARE * longer
        apart = a.attempt.axis != b.attempt.axis or bool(together_s(a, b) < 0)  # False where no clock tells
        return mostly and not apart and a.attempt.series.keys().isdisjoint(b.attempt.series)

    # ---- by word

    def state(self, name: str) -> bool | None:
        """Whether both logs state the same value of a fact; None where one of them states none."""
        stated = [course.attempt.facts.get(name) for course in (self.before, self.after)]
        return None if None in stated else str(stated[0]) == str(stated[1])

    def same_writer(self, *, host_only: bool = False) -> bool | None:
        """Whether host and process id are the same; None where one of the logs does not name them."""
        old, new = process(self.before.attempt), process(self.after.attempt)
        return (old[0] == new[0] if host_only else old == new) if old and new else None


def levels_at_seam(a: Series, b: Series) -> tuple[float, float, int] | None:
    """Medians at the first steps both share, else of the last and first samples; the number shared."""
    if not len(a) or not len(b):
        return None
    old, new = at_common_steps(a, b)
    if len(old):
        levels = median(old.values[:SEAM_SAMPLES]), median(new.values[:SEAM_SAMPLES])
    else:
        # The grids of logged steps may differ: then the last samples up to the branch's first step.
        upto = a.values[a.steps <= b.steps[0]]
        levels = median(upto[-SEAM_SAMPLES:]), median(b.values[:SEAM_SAMPLES])
    return None if np.isnan(levels).any() else (*levels, len(old))


def _level(course: Course, way: int) -> float:
    """Loss at the start (way 1) or end (-1); infinite if nothing there is finite: then no level is near."""
    values = course.clock.values
    level = median(values[::way][: max(1, min(SEAM_SAMPLES, len(values) // _SHORT_SAMPLES))])
    return math.inf if math.isnan(level) else level
