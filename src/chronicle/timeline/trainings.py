"""Which attempts are parts of one training, which are trainings of their own, and what lives of each.

A training is a tree. An attempt goes on from the latest earlier one that reached its first step; the path
from the root to the latest attempt is the live course, and branches that were left are dead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import PurePosixPath

import numpy as np

from chronicle.model import Join, JoinKind, Role, Series, StepBack
from chronicle.timeline.courses import PART, Course, Index, Mask, process, reached, side_by_side
from chronicle.timeline.endings import DIED, how_ended
from chronicle.timeline.joins import (
    COSTS,
    SEAM_SAMPLES,
    Piece,
    agree,
    costs,
    join_of,
    median,
    pairs,
    seam_levels,
    training_beside,
)

_SAME_END = 0.02  # share of the length within which two trainings end at the same step
_SHORT_SAMPLES = 8  # of a shorter log one sample is its level, and its end must be equal
_GOES_ON = 0.25  # share of the way back to the first level within which the loss goes on
_FAR = 4.0  # times the noise of a loss that has gone somewhere
_MOST_NAMES = 3  # of the attempts that a doubt is about
_COUNTERS = (Role.TOKENS, Role.SAMPLES, Role.EPOCH)
_TRAINED = frozenset(
    (Role.LOSS, Role.DATASET_LOSS, Role.GRAD_NORM, Role.LOSS_SCALE, Role.LEARNING_RATE, Role.BATCH_SIZE)
)
_START_SAMPLES = 8  # the first steps are as far apart as these many on average
_CLEARLY = 3.0  # times farther at the seam is the loss of the other training
_LEAST_APART = 0.02  # relative difference of the loss at a seam that tells anything
_SPAN = ("started", "ended", "first", "last", "gap", "slack")  # what is asked of a `Course`
_NAMED = ("kind", "run", "seed", "folder", "host")  # see `Tips._numbers_of`

# Why attempts over the same steps are taken as trainings of their own: what a doubt says of it; "" is none.
APART = {
    "told": "",
    "evaluation": "",
    "together": "ran at the same time",
    "finished": "",
    "seed": "",
    "sweep": "",
    "goes on": "the loss or the data go on where the step starts again (a next stage, or a new counter?)",
    "same end": "end at the same step",
    "undecided": "nothing tells which training begins again",
}
_NO_TRIAL = ("evaluation", "goes on")  # reasons that speak of no seed and no trial of a sweep
_ANY_HOME = (
    "{after.name} may belong to any of several trainings: no process, seed, folder or level of the loss "
    "tells; taken as going on from {before.name}, the latest. Give each training a run of its own and name "
    "its logs in `paths` of run.toml."
)
_LEFT = (
    "{after.name} starts later than {before.name} ended: taken as going on from an earlier attempt that "
    "reached its first step, which leaves {before.name} dead. `order` in run.toml makes each attempt follow "
    "the one before."
)
_MISSING = (
    "{after.name} begins {steps} steps after {before.name} ended: logs between them are missing, or steps "
    "are counted in another way. `paths` in run.toml names all logs."
)
_EARLY = (
    "{after.name} begins at step {after.first}, and {before.name}, which ran earlier, at {before.first}: "
    "logs are missing, or a clock was off. `order` in run.toml decides."
)


def relate(
    courses: Sequence[Course], relation: str | None, order_given: bool
) -> tuple[list[Training], list[str]]:
    """The trainings in the attempts (in the order they ran), and the doubts about them.

    ``order_given`` is whether run.toml gave the order: then each attempt follows the one before.
    """
    trainings = _related(courses, relation, order_given, several=False)
    # A training begun beside or after another one of its kind: a seed, a trial of a sweep.
    trials = any(t.beside and t.beside.evidence["because"] not in _NO_TRIAL for t in trainings)
    if not relation and trials and any(t.relaunches for t in trainings):
        trainings = _related(courses, relation, order_given, several=True)
    doubts = [] if relation else [*_doubts(trainings)]
    return trainings, doubts + [doubt for training in trainings for doubt in training.doubts]


def _related(
    courses: Sequence[Course], relation: str | None, order_given: bool, several: bool
) -> list[Training]:
    """Puts each attempt to its training. Where there turned out to be ``several``, the second one to begin at
    the start is one of them, unless the first had died."""
    trainings: list[Training] = []
    tips = Tips(len(courses))
    for index, course in enumerate(courses):
        after = replace(course, index=index)
        home, decided = _home(trainings, tips, after)
        beside = None
        if home is not None:
            before = trainings[home].tip
            sure = decided and (not several or len(trainings) > 1 or how_ended(before.attempt) in DIED)
            why = next(_reasons(trainings[home], after, relation, sure), None)
            beside = training_beside(before, after, why) if why else None
        if home is None or beside is not None:
            home = len(trainings)
            trainings.append(Training(after, beside=beside))
        else:
            if not decided:
                trainings[home].doubts.append(_ANY_HOME.format(before=trainings[home].tip, after=after))
            trainings[home].follow(after, chain=order_given)
        tips[home] = after
    return trainings


def _home(trainings: Sequence[Training], tips: Tips, after: Course) -> tuple[int | None, bool]:
    """The training that an attempt belongs to, of those that log a metric of it, else the latest whose steps
    it goes on from; and whether the logs decide it."""
    alike = tips.alike(after)
    if len(alike):
        return tips.home(alike, after)
    return max((k for k, t in enumerate(trainings) if after.first >= t.tip.last), default=None), True


def _reasons(training: Training, after: Course, relation: str | None, sure: bool) -> Iterator[str]:
    """Why an attempt is no part of this training but one of its own, keys of `APART`; none if it is a part.

    ``sure`` is whether the logs tell that it is this training that begins again, if one does.
    """
    before = training.tip
    if _trains(before) and not _trains(after):
        yield "evaluation"
    if relation == "attempts" or after.first >= before.last:
        return
    if side_by_side(before, after):
        yield "together"
    if relation == "seeds" and training.begins_like(after):
        yield "told"
    if not relation and training.starts_again(after):
        yield from _starts_another(training, after, sure)


def _starts_another(training: Training, after: Course, sure: bool) -> Iterator[str]:
    """Why what begins at the very start is no relaunch."""
    before = training.tip
    if before.attempt.facts.get("ended") == "finished":
        yield "finished"
    if agree(before, after, "seed") is False:
        yield "seed"
    if agree(before, after, "sweep"):
        yield "sweep"
    if _goes_on(training, after):
        yield "goes on"
    if _end_together(training, after):
        yield "same end"
    if not sure:
        yield "undecided"


def _trains(course: Course) -> bool:
    """Whether an attempt logs what only a training does. An evaluation does not, and it overtakes nothing."""
    return any(series.role in _TRAINED for series in course.attempt.series.values())


def _goes_on(training: Training, after: Course) -> bool:
    """Whether the loss goes on from the end of the attempt before, not from the first level, or whether a
    counter of data does: the counter of steps began anew, the weights did not."""
    before = training.tip
    first, end, now = _level(training.root, 1), _level(before, -1), _level(after, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # logged values may be as large as floats get
        noise = median(np.abs(np.diff(before.clock.values)))
    fell = len(before.clock) >= _SHORT_SAMPLES and abs(end - first) > _FAR * noise
    counters = (two for role in _COUNTERS for two in pairs(before.attempt, after.attempt, role))
    on_with_loss = fell and abs(now - end) < _GOES_ON * abs(now - first)
    return on_with_loss or any(_counts_on(*two) for two in counters)


def _level(course: Course, way: int) -> float:
    """Loss at the start (way 1) or end (-1); infinite if nothing there is finite: then no level is near."""
    values = course.clock.values
    level = median(values[::way][: max(1, min(SEAM_SAMPLES, len(values) // _SHORT_SAMPLES))])
    return math.inf if math.isnan(level) else level


def _counts_on(old: Series, new: Series) -> bool:
    """Whether a counter is at least where it was, and not back at its first value."""
    counts = all(bool((s.values[1:] >= s.values[:-1]).all()) for s in (old, new))  # not with a NaN
    return counts and bool(new.values[0] >= old.values[-1] and new.values[0] > old.values[0])


def _end_together(training: Training, after: Course) -> bool:
    before = training.tip
    length = max(before.last, after.last) - min(training.root.first, after.first)
    gap = before.gap if len(before.clock) > _SHORT_SAMPLES else 0.0
    return abs(before.last - after.last) <= max(gap, _SAME_END * length)


def _doubts(trainings: Sequence[Training]) -> Iterator[str]:
    """What `relation` in run.toml decides: trainings of their own, and attempts that began at the start."""
    backs = [training.beside for training in trainings if training.beside is not None]
    for why, words in APART.items():
        names = [name for back in backs if back.evidence["because"] == why for name in back.attempts]
        if names and words:
            both = "both" if len(set(names)) == 2 else "all"
            yield (
                f"{_listed(names)} cover the same steps and {words}: taken as separate trainings, "
                f'{both} live. `relation = "attempts"` in run.toml makes them attempts of one training.'
            )
    again = [(t.courses[j.before].name, t.courses[j.after].name) for t in trainings for j in t.relaunches]
    if again:
        what, both = "relaunches, each in place of the one before", "all"
        if len(again) == 1:
            what, both = f"a relaunch that replaces {again[0][0]}", "both"
        yield (
            f"{_listed([after for _, after in again])}: the step starts again; taken as {what}. "
            f'`relation = "seeds"` in run.toml keeps {both} live.'
        )


def _listed(names: Sequence[str]) -> str:
    """``a, b, c and 9 more``; each name once."""
    *some, last = dict.fromkeys(names)
    if len(some) > _MOST_NAMES:
        some, last = some[:_MOST_NAMES], f"{len(some) + 1 - _MOST_NAMES} more"
    return f"{', '.join(some)} and {last}" if some else last


class Tips:
    """The latest attempts of up to ``most`` trainings, a record each, so that all are asked at once.

    What speaks for a training, strongest first: its latest process was not running while this one ran; both
    log a loss of one kind; both state the same run and seed; they lie in one folder; it had reached this
    attempt's first step; both ran on one host; its loss at the seam is the nearer one. Where all of it is
    equal the latest training is taken, and a doubt says so.
    """

    def __init__(self, most: int) -> None:
        self._tips: dict[int, Course] = {}
        self._records = np.recarray((most,), dtype=[(name, float) for name in (*_SPAN, *_NAMED)])
        self._numbers: dict[str, float] = {}
        self._logging: dict[str, Mask] = {}  # which trainings log a metric

    def __setitem__(self, training: int, tip: Course) -> None:
        self._tips[training] = tip
        for metric in tip.attempt.series:
            self._logging.setdefault(metric, np.zeros(len(self._records), bool))[training] = True
        self._records[training] = (*(getattr(tip, name) for name in _SPAN), *self._numbers_of(tip))

    def alike(self, after: Course) -> Index:
        """The trainings that log a metric of an attempt."""
        logging = (self._logging[metric] for metric in after.attempt.series if metric in self._logging)
        return np.flatnonzero(np.any([*logging, np.zeros(len(self._records), bool)], axis=0))

    def home(self, among: Index, after: Course) -> tuple[int, bool]:
        """Which of these trainings (one at least) ``after`` belongs to, and whether the logs decide it."""
        if len(among) == 1:
            return int(among[0]), True
        best = np.arange(len(among))
        for evidence in self._speaks_for(among, after):
            best = best[evidence[best] == evidence[best].max()]
        equal = among[best]
        if len(equal) == 1:
            return int(equal[0]), True
        # What begins where they began goes on from none of them: all first losses are alike.
        again = bool((after.first <= self._records.first[equal]).any())
        nearest = None if again else _by_level([self._tips[k] for k in equal.tolist()], after)
        return int(equal[-1 if nearest is None else nearest]), nearest is not None

    def _speaks_for(self, among: Index, after: Course) -> Iterator[Index | Mask]:
        """What speaks for each of these trainings, the strongest evidence first: more is better."""
        tips, numbers = self._records[among], self._numbers_of(after)
        kind, *stated, folder, host = (tips[name] - n for name, n in zip(_NAMED, numbers, strict=True))
        yield ~side_by_side(tips, after)
        yield kind == 0  # the difference of equal words
        yield np.where(np.isnan(stated), 0, np.where(stated, -1, 1)).sum(axis=0)
        yield folder == 0
        yield reached(tips, after)
        yield host == 0

    def _numbers_of(self, tip: Course) -> list[float]:
        """Kind of loss, run, seed, folder, host of an attempt, equal numbers for equal words; NaN: none."""
        facts, writer = tip.attempt.facts, process(tip.attempt)
        words = [tip.clock.role, *(str(facts[name]) if name in facts else None for name in ("run", "seed"))]
        words += [str(PurePosixPath(PART.sub("", tip.name)).parent), writer and writer[0]]
        return [np.nan if w is None else self._numbers.setdefault(w, len(self._numbers)) for w in words]


def _by_level(tips: Sequence[Course], after: Course) -> int | None:
    """The one whose loss at the seam is clearly nearest; None if there is none."""
    away = []
    for tip in tips:
        before, now, _ = seam_levels(tip, after) or (0.0, 0.0, 0)
        if not (before or now):
            return None
        away.append(abs(now - before) / max(abs(before), abs(now)))
    nearest, second = np.argsort(away, kind="stable")[:2].tolist()
    clear = away[second] > max(_CLEARLY * away[nearest], _LEAST_APART)
    return nearest if clear else None


@dataclass
class Training:
    """One training while it is put together: attempts and joins by index, ``tip`` the latest attempt."""

    tip: Course
    courses: dict[int, Course] = field(default_factory=dict)
    roots: dict[int, Course] = field(default_factory=dict)  # where the live course of an attempt begins
    joins: dict[int, Join] = field(default_factory=dict)  # by the attempt that the join leads into
    doubts: list[str] = field(default_factory=list)
    beside: StepBack | None = None  # why it is not part of the training before it

    def __post_init__(self) -> None:
        self._add(self.tip, root=self.tip)

    def _add(self, course: Course, root: Course) -> None:
        self.tip = self.courses[course.index] = course
        self.roots[course.index] = root

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
            self.doubts.append(_LEFT.format(before=self.tip, after=after))
        early = after.first < self.root.first - self._start(after) and after.started > self.root.started
        if early and not chain:
            self.doubts.append(_EARLY.format(before=self.root, after=after))
        if not chain and not reached(before, after):
            self.doubts.append(_MISSING.format(before=before, after=after, steps=after.first - before.last))
        lost, pieces = self._leave(before)
        again = after.first < before.last and self.starts_again(after)
        back = JoinKind.RELAUNCH if again else JoinKind.ROLLBACK
        kind = JoinKind.RESUME if after.first >= before.last else back
        lost += max(0, before.last - (min(self.root.first, after.first) if again else after.first))
        if kind is not JoinKind.RESUME:
            pieces += self._overtaken(None if again else after.first)
        self.joins[after.index] = join_of(kind, before, after, lost, costs(pieces))
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
        starts = (course.clock.steps[: _START_SAMPLES + 1] for course in (self.root, after))
        return 2 * max(max(1.0, (float(s[-1]) - float(s[0])) / max(1, len(s) - 1)) for s in starts)
