"""One training as a tree: which attempt goes on from which, and which points that leaves alive.

An attempt goes on from the latest earlier one that reached its first step. The path from the root to the
latest attempt is the live course; branches that were left are dead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from chronicle.model import Join, JoinKind, Series, StepBack
from chronicle.timeline.changes import changes
from chronicle.timeline.clock import Course, reached
from chronicle.timeline.costs import COSTS, Piece, costs
from chronicle.timeline.joins import evidence

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

    @property
    def relaunches(self) -> list[Join]:
        """Its joins at which it began at the start again."""
        return [join for join in self.joins.values() if join.kind is JoinKind.RELAUNCH]

    def live(self) -> Iterator[Piece]:
        """The live course from the tip back to the root, each attempt up to where a rollback overtook it."""
        course, bound = self.tip, None
        while True:
            yield Piece(course, course.first, bound)
            if course is self.root:
                return
            join = self.joins[course.index]
            if join.kind is JoinKind.ROLLBACK:
                bound = join.to_step if bound is None else min(bound, join.to_step)
            course = self.courses[join.before]

    def follow(self, after: Course, chain: bool) -> None:
        """Joins the next attempt in time to the one it comes from (with ``chain``: to the latest)."""
        before = self.tip if chain else self._source_of(after)
        if before is not self.tip:
            self.doubts.append(_left_doubt(after, self.tip))
        if (
            not chain
            and after.first < self.root.first - self._start(after)
            and after.started > self.root.started
        ):
            self.doubts.append(_early_doubt(after, self.root))
        if not chain and not reached(before, after):
            self.doubts.append(_missing_doubt(after, before))
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
        pieces = list(takewhile(lambda piece: piece.course.index > before.index, self.live()))
        kept = {k: v for k, v in self.joins[node].evidence.items() if k not in COSTS}
        self.joins[node] = replace(self.joins[node], discarded_steps=0, evidence=kept)
        self.tip = before
        return last - self.courses[node].first, pieces

    def _overtaken(self, cut: int | None) -> Iterator[Piece]:
        """Pieces of the live course at and after a step (None: all of it), the latest first."""
        for piece in self.live():
            yield piece if cut is None else replace(piece, first=max(cut, piece.first))
            if cut is not None and piece.first <= cut:
                return

    def _kind(self, before: Course, after: Course) -> JoinKind:
        if after.first >= before.last:
            return JoinKind.RESUME
        return JoinKind.RELAUNCH if self.starts_again(after) else JoinKind.ROLLBACK

    def starts_again(self, after: Course) -> bool:
        """Whether the step is back where a training begins: at or before the first steps logged, near zero.

        A log that itself begins at a later step began from a checkpoint, and so did an attempt that does too.
        """
        return self.begins_like(after) and min(self.root.first, after.first) <= self._start(after)

    def begins_like(self, after: Course) -> bool:
        """Whether the step is back where the log of the training began, whatever that step is."""
        return after.first - self.root.first <= self._start(after)

    def _start(self, after: Course) -> float:
        """How many steps the start of the training is, two logging intervals of it."""
        return 2 * max(_first_gap(self.root.clock), _first_gap(after.clock))


def _first_gap(series: Series) -> float:
    steps = series.steps[: _START_SAMPLES + 1]
    return max(1.0, (float(steps[-1]) - float(steps[0])) / max(1, len(steps) - 1))


def _join(kind: JoinKind, before: Course, after: Course, discarded: int, lost: Mapping[str, float]) -> Join:
    gap_s = after.started - before.ended
    return Join(
        kind=kind,
        before=before.index,
        after=after.index,
        from_step=before.last,
        to_step=after.first,
        discarded_steps=discarded,
        gap_s=None if math.isnan(gap_s) else gap_s,
        at_time=None if math.isnan(after.started) else after.started,
        evidence={**evidence(before, after), **lost},
        changes=changes(before, after),
    )


def _left_doubt(after: Course, tip: Course) -> str:
    return (
        f"{after.name} starts later than {tip.name} ended: taken as going on from an earlier attempt that "
        f"reached its first step, which leaves {tip.name} dead. `order` in run.toml makes each attempt "
        f"follow the one before."
    )


def _missing_doubt(after: Course, before: Course) -> str:
    return (
        f"{after.name} begins {after.first - before.last} steps after {before.name} ended: logs between them "
        f"are missing, or steps are counted in another way. `paths` in run.toml names all logs."
    )


def _early_doubt(after: Course, root: Course) -> str:
    return (
        f"{after.name} begins at step {after.first}, and {root.name}, which ran earlier, at {root.first}: "
        f"logs are missing, or a clock was off. `order` in run.toml decides."
    )
