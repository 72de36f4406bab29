"""What rules read: the timeline by attempts and roles, with the results of the kernel computed once.

Rules read series in the order of the log, without rows that were never written and without running means that
have not settled (`chronicle.metrics.arithmetic.teeth`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from operator import attrgetter
from typing import Any, TypeVar, cast

import numpy as np

from chronicle.classify.course import Contest, compete, retest_rises
from chronicle.classify.kernel import Event, detect, in_order
from chronicle.classify.measure import finite, median, positive
from chronicle.classify.thresholds import Thresholds
from chronicle.metrics import arithmetic
from chronicle.metrics.aliases import MEANS, OF_TRAINING
from chronicle.metrics.by_values import measurements
from chronicle.metrics.names import LOSSES, MIN_POINTS, name_words
from chronicle.metrics.roles import SCORES, judged, judged_loss
from chronicle.metrics.values import grouped
from chronicle.model import Attempt, Join, Role, Series, Steps, Timeline, cached_by_object
from chronicle.timeline.courses import distinct_in

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
COURSE_POINTS = 64  # the fewest of a loss that has a course
_HELD_OUT = (Role.VALIDATION_LOSS, Role.VALIDATION_SCORE)
_MEASURED = (*LOSSES, *SCORES, *arithmetic.SPEED, Role.OBJECTIVE)
_TABLES = ("csv", "json", "jsonl")
_NEAR_EVALUATIONS = 3  # whose median is a level
_WHOLE_SHARE = 0.9  # of the usual length: a last tooth as long has settled


def _of(role: Role) -> cached_property[Series | None]:
    return cached_property(lambda attempt: attempt.first(role))


@dataclass(frozen=True, eq=False)
class AttemptView:
    """One attempt. ``live_until`` is its last step that no later attempt overtook; None if there is none."""

    index: int
    name: str
    attempt: Attempt
    series: Mapping[str, Series]
    live_until: int | None

    def by_role(self, *roles: Role) -> list[Series]:
        """Series of any of these roles with at least one point, in the order of the log."""
        if len(roles) == 1:
            return [*self._of_role.get(roles[0], ())]
        return [s for s in self.series.values() if s.role in roles and len(s)]

    @cached_property
    def _of_role(self) -> Mapping[Role, Sequence[Series]]:
        return grouped(filter(len, self.series.values()), attrgetter("role"))

    def first(self, role: Role, points: int = 1) -> Series | None:
        """The series of a role with most points (the first of equals), or None below ``points``."""
        return max((s for s in self.by_role(role) if len(s) >= points), key=len, default=None)

    def is_live(self, step: int) -> bool:
        return self.live_until is not None and step <= self.live_until

    validation_loss = _of(Role.VALIDATION_LOSS)
    learning_rate = _of(Role.LEARNING_RATE)
    grad_norm = _of(Role.GRAD_NORM)

    @cached_property
    def loss(self) -> Series | None:
        """The loss that is judged, see `chronicle.metrics.roles`."""
        return judged_loss(self.series.values())

    @cached_property
    def objective(self) -> Series | None:
        """What is judged if no loss is: the reward or return of an agent, or else a score."""
        rated = self.by_role(Role.OBJECTIVE, *(SCORES if self.in_time else ()))
        # rows at the same step may be classes of one evaluation
        long = [s for s in rated if np.count_nonzero(s.steps[1:] != s.steps[:-1]) + 1 >= MIN_POINTS]
        return judged(long) if self.loss is None else None

    @cached_property
    def in_time(self) -> bool:
        """Whether rows follow each other in time. Those of a table without a counter may be examples, unless
        all metrics are scores of the training (Torch 7's `% mean class accuracy (train set)`)."""
        of_training = all(OF_TRAINING & name_words(name) for name in self.attempt.series)
        return self.attempt.axis != "row" or self.attempt.facts.get("format") not in _TABLES or of_training

    @cached_property
    def dataset_losses(self) -> list[Series]:
        """Losses by data set, logged at least a fifth as often as the judged loss, without that one."""
        if self.loss is None:
            return []
        need = max(MIN_POINTS, 0.2 * len(self.loss))
        return [s for s in self.by_role(Role.DATASET_LOSS) if s is not self.loss and len(s) >= need]


@dataclass(frozen=True, eq=False)
class View:
    """The whole run. Results of the kernel are kept, so any number of rules may ask for them."""

    timeline: Timeline
    thresholds: Thresholds
    attempts: tuple[AttemptView, ...]
    _memo: dict[tuple[object, ...], object] = field(default_factory=dict, repr=False)

    @cached_property
    def attempt_of(self) -> Mapping[Series, AttemptView]:
        return {s: a for a in self.attempts for s in a.series.values()}

    @cached_property
    def join_into(self) -> Mapping[int, Join]:
        """The joins by which attempts took over from earlier ones, by the index of the later one."""
        return {join.after: join for join in reversed(self.timeline.joins)}

    def named(self, name: str | None) -> Sequence[AttemptView]:
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> Mapping[str | None, Sequence[AttemptView]]:
        return grouped(self.attempts, attrgetter("name"))

    def by_role(self, *roles: Role) -> list[Series]:
        """The series of these roles in all attempts."""
        return [s for a in self.attempts for s in a.by_role(*roles)]

    @cached_property
    def losses(self) -> Sequence[Series]:
        return [a.loss for a in self.attempts if a.loss is not None]

    @cached_property
    def most_points(self) -> Mapping[Role, int]:
        """The points of the longest series of each role that any attempt logged."""
        by_role = grouped((s for a in self.attempts for s in a.series.values()), attrgetter("role")).items()
        return Counter({role: max(map(len, same)) for role, same in by_role})

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first and the last step of a judged loss or objective (0, 0 without one)."""
        judged = (s for a in self.attempts for s in (a.loss, a.first(Role.OBJECTIVE)))
        ends = [int(end) for s in judged if s is not None for end in (s.steps.min(), s.steps.max())]
        return min(ends, default=0), max(ends, default=0)

    def events(self, series: Series, sign: float = 1.0) -> tuple[Event, ...]:
        """Events of a series, or its dips (``sign`` -1). Open rises of a loss are tested again."""
        seen = self._kernel(series, sign)[0]
        if series.role not in LOSSES or sign < 0:
            return seen
        return self.once(("events", series), lambda: in_order(retest_rises(series, seen, self.thresholds)))

    def contest(self, loss: Series) -> Contest | None:
        return self.once(("contest", loss), lambda: compete(*positive(loss)))

    def noise(self, series: Series) -> float:
        """One-sample noise scale of a series in log units (asinh units where it crosses zero)."""
        return self._kernel(series, 1.0)[1]

    def _kernel(self, series: Series, sign: float) -> tuple[tuple[Event, ...], float]:
        return self.once(
            ("kernel", series, sign), lambda: detect(series, self.thresholds, sign, self._samples)
        )

    @cached_property
    def _samples(self) -> int:
        """Samples of all losses that are judged in any case: their number decides which kernel is faster."""
        return sum(len(s) for a in self.attempts for s in (a.loss, *a.dataset_losses) if s is not None)

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """The result of ``make``, computed once for each key."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast(T, self._memo[key])


def kept(make: F) -> F:
    """A decorator that computes the result for each argument once in a run."""
    return cast(F, wraps(make)(lambda view, *of: view.once((make, *of), lambda: make(view, *of))))


def look(timeline: Timeline, thresholds: Thresholds) -> View:
    """The view of a timeline."""
    last = np.full(len(timeline.attempts), none := np.iinfo(np.int64).min)
    for track in distinct_in(timeline):
        np.maximum.at(last, track.attempt[track.live], track.steps[track.live])
    until = [None if step == none else step for step in last.tolist()]
    rows = enumerate(zip(timeline.attempts, until, strict=True))
    attempts = (AttemptView(i, a.name, a, _settled_of(a), live) for i, (a, live) in rows)
    return View(timeline, thresholds, tuple(attempts))


@cached_by_object  # the classifier and the story look at the same attempts
def _settled_of(attempt: Attempt) -> Mapping[str, Series]:
    return settled(written(attempt.series))


def written(series: Mapping[str, Series]) -> dict[str, Series]:
    """Leaves out rows at which two series or more are all NaN, except a last stretch longer than any before:
    NaN losses stay NaN. A NaN in one series alone is data. Rewards do not count where two others are logged:
    an agent earns them between the updates that the others are of."""
    others = {name: s for name, s in series.items() if s.role is not Role.OBJECTIVE}
    rows = [s for s in (others if len(others) > 1 else series).values() if len(series) > 1]
    if all(np.isfinite(s.values).all() for s in rows):
        return dict(series)
    finite = np.concatenate([s.steps[~np.isnan(s.values)] for s in rows])
    where, count = np.unique(np.concatenate([np.unique(s.steps) for s in rows]), return_counts=True)
    empty = (count >= 2) & ~np.isin(where, finite)
    runs = np.diff(np.flatnonzero(~np.r_[False, empty, False])) - 1  # lengths of the empty stretches
    if runs[-1] > max(runs[:-1], default=0):
        empty[len(empty) - runs[-1] :] = False
    kept = {name: ~(np.isnan(s.values) & np.isin(s.steps, where[empty])) for name, s in series.items()}
    return {name: s.pick(kept[name]) for name, s in series.items() if kept[name].any()}


def settled(series: Mapping[str, Series]) -> dict[str, Series]:
    """The series as they were measured: the last values of running means that begin again (or means of
    parts), the terms of sums, and evaluations and rewards at their first row, without what stands until the
    next."""
    epoch = max((s for s in series.values() if s.role is Role.EPOCH), key=len, default=None)
    long = (s.steps for s in series.values() if len(s) >= arithmetic.FEWEST_TEETH)
    steps = {own.tobytes(): own for own in long}.values()
    return {m: _settled(s, epoch, steps) if s.role in _MEASURED else s for m, s in series.items()}


# a mean of zero has no inverse, and logged values may be as large as floats get
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _settled(series: Series, epoch: Series | None, own_steps: Iterable[Steps]) -> Series:
    if series.role is Role.OBJECTIVE:
        firsts = arithmetic.first_showings(series.values)
        return _without_mean(series) if firsts is None else series.pick(firsts)
    series = _trained(series)
    if (begins := arithmetic.teeth(series, epoch, own_steps)) is not None:
        ends = np.append(begins[1:], len(series)) - 1
        if len(ends) < MIN_POINTS and series.role in LOSSES:
            return arithmetic.means_of_parts(series, begins)
        lengths = np.diff(np.append(begins, len(series)))
        return series.pick(ends if lengths[-1] >= _WHOLE_SHARE * median(lengths[:-1]) else ends[:-1])
    firsts = arithmetic.first_showings(series.values) if series.role in _HELD_OUT else None
    series = _without_mean(series) if firsts is None else series.pick(firsts)
    return arithmetic.between_rows(finite(series)) if series.role in arithmetic.SPEED else series


def _without_mean(series: Series) -> Series:
    is_named = not name_words(series.metric).isdisjoint(MEANS)
    may_be_mean = is_named or series.role in (Role.LOSS, Role.PART_LOSS)
    return arithmetic.without_mean(series, is_named=is_named) if may_be_mean else series


def _trained(series: Series) -> Series:
    """The series as it is measured, without a last row of a final test, which alone repeats the step
    before."""
    new, (rows, values) = series.steps[1:] > series.steps[:-1], measurements(series.values, series.role)
    tested = (
        len(new) >= arithmetic.TOOTH_SAMPLES and not new[-1] and new[:-1].all() and np.isfinite(values[-1])
    )
    end = len(values) - tested
    return replace(series.pick(rows).pick(slice(end)), values=values[:end])


def value_at(series: Series, step: float) -> float:
    """The value at a step, linear between logged points, the nearest one outside; NaN for an empty series."""
    known = finite(series)
    return float(np.interp(step, known.steps, known.values)) if len(known) else float("nan")


def is_back_held_out(
    attempt: AttemptView,
    start: float,
    most_left: float,
    since: float,
    until: float = math.inf,
    level: float = math.inf,
) -> bool:
    """Whether all held-out losses, measured before a rise and twice or more ``since`` a step, are at their
    old level by the last ones, or above it by ``most_left`` log units at most, and not above ``level``;
    False if there is none."""
    levels = []
    for series in attempt.by_role(Role.VALIDATION_LOSS):
        steps, y = positive(series)
        before, later = y[steps < start][-_NEAR_EVALUATIONS:], y[(steps > since) & (steps <= until)]
        if len(before) and len(later) > 1:
            levels.append((median(before) + most_left, median(later[-_NEAR_EVALUATIONS:])))
    return bool(levels) and all(now <= most and math.exp(now) <= level for most, now in levels)


def index_at(series: Series, step: float) -> int:
    """Index of the last sample at or before a step (0 before the first)."""
    return max(int(np.searchsorted(series.steps, step, side="right")) - 1, 0)
