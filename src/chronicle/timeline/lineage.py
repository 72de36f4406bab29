"""Which attempt each attempt comes from, and which are trainings of their own.

One training is a tree: an attempt goes on from the latest earlier one that reached its first step. The path
from its root to its latest attempt is the live course; branches that were left are dead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from chronicle.model import Floats, Join, JoinKind, Series, StepBack
from chronicle.timeline.changes import changes
from chronicle.timeline.clock import Course, reached, side_by_side, step_gap
from chronicle.timeline.costs import COSTS, Piece, costs
from chronicle.timeline.homes import home
from chronicle.timeline.joins import SEAM_SAMPLES, evidence, median
from chronicle.timeline.step_backs import apart

_SAME_END = 0.02  # share of the length within which two trainings end at the same step
_START_SAMPLES = 8  # the first steps are as far apart as these many on average


@dataclass
class Training:
    """One training while it is put together: attempts and joins by index, ``tip`` the latest attempt."""

    tip: Course
    courses: dict[int, Course] = field(default_factory=dict)
    roots: dict[int, Course] = field(default_factory=dict)  # where the live course of an attempt begins
    joins: dict[int, Join] = field(default_factory=dict)  # by the attempt that the join leads into
    metrics: set[str] = field(default_factory=set)
    doubts: list[str] = field(default_factory=list)
    beside: StepBack | None = None  # why it is not part of the training before it

    def __post_init__(self) -> None:
        self._add(self.tip, root=self.tip)

    def _add(self, course: Course, root: Course) -> None:
        self.tip = self.courses[course.index] = course
        self.roots[course.index] = root
        self.metrics |= set(course.attempt.series)

    @property
    def root(self) -> Course:
        """The attempt with which the live course begins: the first, or the latest start from nothing."""
        return self.roots[self.tip.index]

    def path(self) -> list[Course]:
        """The live course, from the tip back to the root."""
        way = [self.tip]
        while way[-1] is not self.root:
            way.append(self.courses[self.joins[way[-1].index].before])
        return way

    def follow(self, after: Course, chain: bool) -> None:
        """Joins the next attempt in time to the one it comes from (with ``chain``: to the latest)."""
        before = self.tip if chain else self._source_of(after)
        if before is not self.tip:
            self.doubts.append(_left_doubt(after, self.tip))
        lost, pieces = self._leave(before)
        kind = self._kind(before, after)
        again = kind is JoinKind.RELAUNCH
        lost += max(0, before.last - (min(self.root.first, after.first) if again else after.first))
        if kind is not JoinKind.RESUME:
            pieces += self._overtaken(None if again else after.first)
        self.joins[after.index] = _join(kind, before, after, lost, costs(pieces))
        self._add(after, root=after if again else self.root)

    def _source_of(self, after: Course) -> Course:
        node: Course | None = self.tip
        while node is not None:
            if reached(node, after):
                return node
            join = self.joins.get(node.index)
            node = self.courses[join.before] if join else None
        return self.tip  # nobody reached that far: what lies between was not logged

    def _leave(self, before: Course) -> tuple[int, list[Piece]]:
        """Goes back to ``before`` and tells the steps of the branch that is left, and its pieces. What that
        branch had overtaken is part of the course again, so the join into it has discarded nothing."""
        if before is self.tip:
            return 0, []
        last, node = self.tip.last, self.tip.index
        while self.joins[node].before != before.index:
            node = self.joins[node].before
        pieces = [p for p in self._overtaken(None) if p.course.index > before.index]
        kept = {k: v for k, v in self.joins[node].evidence.items() if k not in COSTS}
        self.joins[node] = replace(self.joins[node], discarded_steps=0, evidence=kept)
        self.tip = before
        return last - self.courses[node].first, pieces

    def _overtaken(self, cut: int | None) -> list[Piece]:
        """Pieces of the live course at and after a step (None: all of it), the latest first."""
        pieces: list[Piece] = []
        bound: int | None = None  # where a later attempt on the course took over
        for course in self.path():
            pieces.append(Piece(course, course.first if cut is None else max(cut, course.first), bound))
            if cut is not None and course.first <= cut:
                break
            join = self.joins.get(course.index)
            if join is not None and join.kind is JoinKind.ROLLBACK:
                bound = join.to_step if bound is None else min(bound, join.to_step)
        return pieces

    def _kind(self, before: Course, after: Course) -> JoinKind:
        if after.first >= before.last:
            return JoinKind.RESUME
        return JoinKind.RELAUNCH if self.starts_again(after) else JoinKind.ROLLBACK

    def starts_again(self, after: Course) -> bool:
        """Whether the step is back where the training began: at its first steps, which are near zero.

        A log that itself begins at a later step began from a checkpoint, and so did this attempt.
        """
        gap = 2 * max(_first_gap(self.root.clock), _first_gap(after.clock))
        return self.begins_like(after) and self.root.first <= gap

    def begins_like(self, after: Course) -> bool:
        """Whether the step is back where the log of the training began, whatever that step is."""
        gap = 2 * max(_first_gap(self.root.clock), _first_gap(after.clock))
        return after.first - self.root.first <= gap

    def goes_on(self, after: Course) -> bool:
        """Whether the loss at a start goes on from the end of the attempt before, not from the first level:
        the counter of steps began anew, the weights did not."""
        first, end, now = _head(self.root.clock), _tail(self.tip.clock), _head(after.clock)
        return abs(now - end) < 0.25 * abs(now - first)


def _join(kind: JoinKind, before: Course, after: Course, discarded: int, lost: Mapping[str, float]) -> Join:
    known = before.ended is not None and after.started is not None
    return Join(
        kind=kind,
        before=before.index,
        after=after.index,
        from_step=before.last,
        to_step=after.first,
        discarded_steps=discarded,
        gap_s=(after.started or 0.0) - (before.ended or 0.0) if known else None,
        at_time=after.started,
        evidence={**evidence(before, after), **lost},
        changes=changes(before, after),
    )


def relate(courses: Sequence[Course], relation: str | None, told: bool) -> tuple[list[Training], list[str]]:
    """The trainings in the attempts (in the order they ran), and the doubts about them.

    ``told`` is whether run.toml gave the order: then each attempt follows the one before.
    """
    trainings: list[Training] = []
    for index, course in enumerate(courses):
        after = replace(course, index=index)
        training, decided = _home(trainings, after)
        if training is None or is_separate(training, after, relation):
            beside = None if training is None else apart(training.tip, after, told=relation is not None)
            trainings.append(Training(after, beside=beside))
            if training is not None and relation is None:
                trainings[-1].doubts.append(_separate_doubt(training.tip, after))
            continue
        if relation is None and after.first < training.tip.last and training.starts_again(after):
            training.doubts.append(_again_doubt(training, after))
        if not decided:
            training.doubts.append(_home_doubt(training.tip, after))
        training.follow(after, chain=told)
    return trainings, [doubt for training in trainings for doubt in training.doubts]


def _home(trainings: Sequence[Training], after: Course) -> tuple[Training | None, bool]:
    """The training that an attempt belongs to, of those that log a metric of it, else the latest whose steps
    it goes on from; and whether the logs decide it."""
    alike = [t for t in trainings if t.metrics & set(after.attempt.series)]
    if alike:
        which, decided = home([t.tip for t in alike], after)
        return alike[which], decided
    return next((t for t in reversed(trainings) if after.first >= t.tip.last), None), True


def is_separate(training: Training, after: Course, relation: str | None) -> bool:
    """Whether an attempt over steps that were trained before is a training of its own (another seed).

    It is where both ran at the same time, or where both begin at the start and end at the same step. Of seeds
    (so run.toml) each that begins where the training began; what begins later is a rollback of one.
    """
    before = training.tip
    if relation == "attempts" or after.first >= before.last:
        return False
    if side_by_side(before, after):
        return True
    if relation == "seeds":
        return training.begins_like(after)
    length = max(before.last, after.last) - min(training.root.first, after.first)
    end_together = abs(before.last - after.last) <= max(step_gap(before.clock), _SAME_END * length)
    return end_together and training.starts_again(after) and not training.goes_on(after)


def _first_gap(series: Series) -> float:
    steps = series.steps[: _START_SAMPLES + 1]
    return max(1.0, (float(steps[-1]) - float(steps[0])) / max(1, len(steps) - 1))


def _head(series: Series) -> float:
    return _level(series.values[:SEAM_SAMPLES])


def _tail(series: Series) -> float:
    return _level(series.values[-SEAM_SAMPLES:])


def _level(values: Floats) -> float:
    """Median; infinite where there is nothing finite, so that no level is near it."""
    level = median(values)
    return float("inf") if np.isnan(level) else level


def _separate_doubt(before: Course, after: Course) -> str:
    why = "ran at the same time" if side_by_side(before, after) else "end at the same step"
    return (
        f"{before.name} and {after.name} cover the same steps and {why}: taken as separate trainings, "
        f'both live. `relation = "attempts"` in run.toml makes them attempts of one training.'
    )


def _again_doubt(training: Training, after: Course) -> str:
    loss = (
        "the step starts again while the loss goes on (a counter that began anew?)"
        if training.goes_on(after)
        else "the step starts again"
    )
    return (
        f"{after.name}: {loss}; taken as a relaunch that replaces {training.tip.name}. "
        f'`relation = "seeds"` in run.toml keeps both live.'
    )


def _home_doubt(before: Course, after: Course) -> str:
    return (
        f"{after.name} may belong to any of several trainings: no process, seed, folder or level of the "
        f"loss tells; taken as going on from {before.name}, the latest. Give each training a run of its own "
        f"and name its logs in `paths` of run.toml."
    )


def _left_doubt(after: Course, tip: Course) -> str:
    return (
        f"{after.name} starts later than {tip.name} ended: taken as going on from an earlier attempt that "
        f"reached its first step, which leaves {tip.name} dead. `order` in run.toml makes each attempt "
        f"follow the one before."
    )
