"""Which attempts are parts of one training, which are trainings of their own, and what lives of each.

A training is a tree. An attempt goes on from the latest earlier one that reached its first step; the path
from the root to the latest attempt is the live course, and branches that were left are dead. So the points of
a track, one metric over all attempts, are live or dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Join, JoinKind, Series, StepBack, Steps, Timeline, Track
from chronicle.timeline.courses import PART, Course, Index, Mask, clock, process
from chronicle.timeline.joins import COSTS, ENDED_BADLY, Piece, costs, how_ended, join_of, training_beside
from chronicle.timeline.relation import Pair, Relation, reached, side_by_side

_MOST_NAMES = 3  # of the attempts that a doubt is about
_CLEARLY_FARTHER = 3.0  # times farther at the seam is the loss of the other training
_LEAST_APART = 0.02  # relative difference of the loss at a seam that tells anything
_SPAN_FIELDS = ("started", "ended", "first", "last", "gap", "slack")  # what is asked of a `Course`
_NAMED_FIELDS = ("kind", "run", "seed", "trial", "folder", "host")  # see `Tips._numbers_of`

# Why attempts over the same steps are taken as trainings of their own: what a doubt says of it; "" is none.
APART_REASONS = {
    "told": "",
    "evaluation": "",
    "together": "ran at the same time",
    "finished": "",
    "seed": "",
    "sweep": "",
    "trial": "",
    "goes on": "the loss or the data go on where the step starts again (a next stage, or a new counter?)",
    "same end": "end at the same step",
    "appended": "stand one after the other in one log, and nothing says that the earlier one died",
    "undecided": "nothing tells which training begins again",
}
_NO_TRIAL = ("evaluation", "goes on")  # reasons that speak of no seed and no trial of a sweep
_ANY_HOME = (
    "{after.name} may belong to any of several trainings, and no process, seed, folder or level of the loss "
    "says to which. It was taken to go on from {before.name}, the latest. Give each training a run of its "
    "own and name its logs in `paths` of run.toml."
)
_LEFT_DOUBT = (
    "{after.name} starts later than {before.name} ended, and was taken to go on from an earlier attempt that "
    "reached its first step, which leaves {before.name} dead. `order` in run.toml makes each attempt follow "
    "the one before."
)
_MISSING_DOUBT = (
    "{after.name} begins {steps} steps after {before.name} ended: logs between them are missing, or steps "
    "are counted in another way. `paths` in run.toml names all logs."
)
_EARLY_DOUBT = (
    "{after.name} begins at step {after.first}, and {before.name}, which ran earlier, at {before.first}: "
    "logs are missing, or a clock was off. `order` in run.toml decides."
)


def relate(courses: Sequence[Course], relation: str, order_given: bool) -> tuple[list[Training], list[str]]:
    """The trainings in the attempts, in the order they ran, and the doubts. ``relation`` is that of run.toml
    ("": none); with ``order_given`` each attempt follows the one before."""
    courses = [replace(course, index=index) for index, course in enumerate(courses)]
    trainings = _related(courses, relation, order_given, several=False)
    # A training begun beside or after another one of its kind: a seed, a trial of a sweep.
    trials = any(t.departure and t.departure.evidence["because"] not in _NO_TRIAL for t in trainings)
    if not relation and trials and any(t.relaunches for t in trainings):
        trainings = _related(courses, relation, order_given, several=True)
    doubts = [] if relation else [*_doubts(trainings, courses)]
    return trainings, doubts + [doubt for training in trainings for doubt in training.doubts]


def _related(courses: Sequence[Course], relation: str, order_given: bool, several: bool) -> list[Training]:
    """Puts each attempt to its training; if ``several``, the second begins one unless the first died."""
    trainings: list[Training] = []
    tips = Tips(len(courses))
    home: int | None
    for after in courses:
        if len(alike := tips.alike(after)):
            home, decided = tips.home(alike, after)
        else:  # of those that log none of its metrics the latest whose steps it goes on from
            before = (k for k, training in enumerate(trainings) if after.first >= training.tip.last)
            home, decided = max(before, default=None), True
        departure = None
        if home is not None:
            two = Pair(trainings[home].tip, after, trainings[home].root)
            one_so_far = several and len(trainings) == 1
            sure = decided and (not one_so_far or how_ended(two.before.attempt) in ENDED_BADLY)
            departure = next((training_beside(two, why) for why in two.apart(relation, sure)), None)
        if home is None or departure is not None:
            home = len(trainings)
            trainings.append(Training([after], {after.index: after}, departure=departure))
        else:
            if not decided:
                trainings[home].doubts.append(_ANY_HOME.format(before=trainings[home].tip, after=after))
            trainings[home].follow(after, chain=order_given)
        tips[home] = after
    return trainings


def _doubts(trainings: Sequence[Training], courses: Sequence[Course]) -> Iterator[str]:
    """What `relation` in run.toml decides: trainings of their own, and attempts that began at the start."""
    backs = [(str(t.departure.evidence["because"]), t.departure.attempts) for t in trainings if t.departure]
    log_of = {course.name: course.attempt.sources for course in courses}
    appended = {log_of[names[0]] for why, names in backs if why == "appended"}  # one doubt of each such log
    backs = [
        ("appended" if APART_REASONS[why] and all(log_of[name] in appended for name in names) else why, names)
        for why, names in backs
    ]
    for why, words in APART_REASONS.items():
        names = [name for because, both in backs if because == why for name in both]
        if names and words:
            both = "both" if len(set(names)) == 2 else "all"
            yield (
                f"{_listed(names)} cover the same steps and {words}. They were taken as separate trainings, "
                f'{both} live. `relation = "attempts"` in run.toml makes them attempts of one training.'
            )
    again = [(courses[j.before].name, courses[j.after].name) for t in trainings for j in t.relaunches]
    if again:
        what, both = "relaunches, each in place of the one before", "all"
        if len(again) == 1:
            what, both = f"a relaunch that replaces {again[0][0]}", "both"
        yield (
            f"The step starts again in {_listed([after for _, after in again])}. That was taken for {what}. "
            f'`relation = "seeds"` in run.toml keeps {both} live.'
        )


def _listed(names: Sequence[str]) -> str:
    """``a, b, c and 9 more``; each name once."""
    *listed, last = dict.fromkeys(names)
    if len(listed) > _MOST_NAMES:
        listed, last = listed[:_MOST_NAMES], f"{len(listed) + 1 - _MOST_NAMES} more"
    return f"{', '.join(listed)} and {last}" if listed else last


class Tips:
    """The latest attempts of up to ``most`` trainings, a column each, so that all are asked at once. What
    speaks for a training, strongest first, says `_speaks_for`; then a loss at the seam that is clearly
    nearer. Where all is equal the latest training is taken, and a doubt says so."""

    def __init__(self, most: int) -> None:
        self._tips: dict[int, Course] = {}
        self._rows = np.zeros((len(_SPAN_FIELDS) + len(_NAMED_FIELDS), most))
        self._numbers: dict[str, float] = {}
        self._logging: dict[str, Mask] = {}  # which trainings log a metric

    def __setitem__(self, training: int, tip: Course) -> None:
        self._tips[training] = tip
        for metric in tip.attempt.series:
            self._logging.setdefault(metric, np.zeros(self._rows.shape[1], bool))[training] = True
        self._rows[:, training] = (*(getattr(tip, name) for name in _SPAN_FIELDS), *self._numbers_of(tip))

    def alike(self, after: Course) -> Index:
        logging = (self._logging[metric] for metric in after.attempt.series if metric in self._logging)
        return np.flatnonzero(np.any([*logging, np.zeros(self._rows.shape[1], bool)], axis=0))

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
        again = bool((after.first <= self._rows[_SPAN_FIELDS.index("first"), equal]).any())
        nearest = None if again else _by_level([self._tips[k] for k in equal.tolist()], after)
        return int(equal[-1 if nearest is None else nearest]), nearest is not None

    def _speaks_for(self, among: Index, after: Course) -> Iterator[Index | Mask]:
        """What speaks for each of these trainings, the strongest evidence first: more is better."""
        rows = self._rows[:, among]
        tips = SimpleNamespace(**dict(zip(_SPAN_FIELDS, rows, strict=False)))
        kind, *stated, folder, host = rows[len(_SPAN_FIELDS) :] - np.reshape(self._numbers_of(after), (-1, 1))
        yield ~side_by_side(tips, after)
        yield kind == 0  # the difference of equal words
        yield np.where(np.isnan(stated), 0, np.where(stated, -1, 1)).sum(axis=0)
        yield folder == 0
        yield reached(tips, after)
        yield host == 0

    def _numbers_of(self, tip: Course) -> list[float]:
        """A number for each of `_NAMED_FIELDS`, equal ones for equal words; NaN: none."""
        facts, writer = tip.attempt.facts, process(tip.attempt)
        stated = (str(facts[name]) if name in facts else None for name in _NAMED_FIELDS[1:4])
        words = [tip.clock.role, *stated]
        words += [str(PurePosixPath(PART.sub("", tip.name)).parent), writer and writer[0]]
        return [np.nan if w is None else self._numbers.setdefault(w, len(self._numbers)) for w in words]


def _by_level(tips: Sequence[Course], after: Course) -> int | None:
    """The one whose loss at the seam is clearly nearest; None if there is none."""
    away = []
    for tip in tips:
        before, now, _ = Pair(tip, after, tip).seam or (0.0, 0.0, 0)
        if not (before or now):
            return None
        away.append(abs(now - before) / max(abs(before), abs(now)))
    nearest, second = np.argsort(away, kind="stable")[:2].tolist()
    clear = away[second] > max(_CLEARLY_FARTHER * away[nearest], _LEAST_APART)
    return nearest if clear else None


@dataclass
class Training:
    """A training while it is put together: ``path`` leads from its first attempt to the latest one."""

    path: list[Course]
    roots: dict[int, Course]  # by the index of an attempt, where its live course begins
    joins: dict[int, Join] = field(default_factory=dict)  # by the attempt that the join leads into
    doubts: list[str] = field(default_factory=list)
    departure: StepBack | None = None  # why it is not part of the training before it

    @property
    def tip(self) -> Course:
        return self.path[-1]

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
        bound = None
        for course in reversed(self.path):
            yield Piece(course, course.first, bound)
            if course is self.root:
                return
            join = self.joins[course.index]
            if join.kind is JoinKind.ROLLBACK:
                bound = join.to_step if bound is None else min(bound, join.to_step)

    def follow(self, after: Course, chain: bool) -> None:
        """Joins the next attempt in time to the one it comes from (with ``chain``: to the latest)."""
        tip, root = self.tip, self.root
        # Where nobody reached that far, what lies between was not logged.
        before = tip if chain else next((c for c in reversed(self.path) if reached(c, after)), tip)
        if before is not tip:
            self.doubts.append(_LEFT_DOUBT.format(before=tip, after=after))
        early = after.first < root.first - Pair(tip, after, root).start and after.started > root.started
        if early and not chain:
            self.doubts.append(_EARLY_DOUBT.format(before=root, after=after))
        if not chain and not reached(before, after):
            missing = after.first - before.last
            self.doubts.append(_MISSING_DOUBT.format(before=before, after=after, steps=missing))
        lost, pieces = self._leave(before)
        two = Pair(before, after, self.root)
        relaunched = two.course is Relation.ANEW
        begin = min(self.root.first, after.first) if relaunched else after.first
        for piece in self.live() if two.course is not Relation.CONTINUES else ():
            pieces.append(replace(piece, first=max(begin, piece.first)))
            if piece.first <= begin and not relaunched:  # what was before it goes on living
                break
        self.joins[after.index] = join_of(two, lost + max(0, before.last - begin), costs(pieces))
        self.roots[after.index] = after if relaunched else self.root
        self.path.append(after)

    def _leave(self, before: Course) -> tuple[int, list[Piece]]:
        """Goes back to ``before``; gives the steps of the branch that is left, and its pieces. What it had
        overtaken is live again, so the join into it has discarded nothing."""
        if before is self.tip:
            return 0, []
        pieces = [*takewhile(lambda piece: piece.course.index > before.index, self.live())]
        last = first = self.tip
        while self.tip is not before:
            first = self.path.pop()
        join = self.joins[first.index]
        kept = {name: value for name, value in join.evidence.items() if name not in COSTS}
        self.joins[first.index] = replace(join, discarded_steps=0, evidence=kept)
        return last.last - first.first, pieces


_Attempts = NDArray[np.int32]  # of each point the attempt that logged it


def tracks(attempts: Sequence[Attempt], trainings: Sequence[Training]) -> dict[str, Track]:
    """One track a metric: the points of all attempts, with the live mask, in arrays shared by equal steps."""
    alive = _live_course(len(attempts), trainings)
    known: dict[tuple[int, ...], tuple[Steps, _Attempts, Mask]] = {}  # of what was last logged so often
    logged: dict[str, dict[int, Series]] = {}
    for k, piece in enumerate(attempts):
        for metric, series in piece.series.items():
            logged.setdefault(metric, {})[k] = series
    made = {}
    for metric, by_attempt in logged.items():
        parts = [*by_attempt.values()]
        steps = _joined([s.steps for s in parts])
        lengths = [*map(len, parts)]
        points = known.get((*by_attempt, *lengths))
        if not (points and (steps is points[0] or np.array_equal(steps, points[0]))):
            attempt = np.repeat(np.array([*by_attempt], np.int32), lengths)
            known[*by_attempt, *lengths] = points = steps, attempt, alive(steps, attempt)
        steps, attempt, is_live = points
        values, times = _joined([s.values for s in parts]), _joined([s.times for s in parts])
        unit, first = next((s.unit for s in parts if s.unit), None), parts[0]
        track = Track(metric, first.role, steps, values, times, unit, first.dataset, attempt, is_live)
        made[metric] = track
    return made


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The parts one after the other; one alone is not copied."""
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def as_parts_of_tracks(series: Mapping[str, Track], attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts with their points as parts of the tracks, so that memory holds them once."""

    def part(track: Track, own: Series, k: int) -> Series:
        if own.steps is track.steps and own.values is track.values:
            return own  # the only one there is
        at = int(np.searchsorted(track.attempt, np.int32(k)))  # of its type, or all of it would be converted
        rows = slice(at, at + len(own))
        return replace(own, steps=track.steps[rows], values=track.values[rows], times=track.times[rows])

    parts = [{m: part(series[m], s, k) for m, s in log.series.items()} for k, log in enumerate(attempts)]
    return tuple(replace(attempt, series=own) for attempt, own in zip(attempts, parts, strict=True))


def _live_course(attempts: int, trainings: Sequence[Training]) -> Callable[[Steps, _Attempts], Mask]:
    """Which points live, by their steps and attempts: those below the first step of a later attempt that
    rolled back, and not logged once more by a later one."""
    home = np.full(attempts, -1)  # the training; -1: it is not on the course of one
    cut, below = np.zeros(attempts, bool), np.zeros(attempts, np.int64)
    for number, training in enumerate(trainings):
        for piece in training.live():
            k = piece.course.index
            home[k], cut[k], below[k] = number, piece.bound is not None, piece.bound or 0
    joined = len(home[home >= 0]) > len(np.unique(home[home >= 0]))

    def alive(steps: Steps, attempt: _Attempts) -> Mask:
        mask = (home[attempt] >= 0) & (~cut[attempt] | (steps < below[attempt]))
        if not joined:
            return np.asarray(mask)
        rows = np.flatnonzero(mask)
        training = home[attempt[rows]]
        order = np.lexsort((steps[rows], training))  # keeps attempts in order within a step
        rows, training = rows[order], training[order]
        ends = np.append((steps[rows[1:]] != steps[rows[:-1]]) | (training[1:] != training[:-1]), True)
        last = np.flatnonzero(ends[: len(rows)])
        latest = np.repeat(attempt[rows[last]], np.diff(last, prepend=-1))
        mask[rows[attempt[rows] != latest]] = False
        return np.asarray(mask)

    return alive


def live(track: Track) -> tuple[Steps, Floats]:
    """Steps and values of the live points, in the order of their steps."""
    rows = np.flatnonzero(track.live)
    rows = rows[np.argsort(track.steps[rows], kind="stable")]
    return track.steps[rows], track.values[rows]


def numbers_of(timeline: Timeline) -> list[int]:
    """The number of the training, from 1, that each attempt is of; 0 for one that logged nothing, and for an
    evaluation, which trains nothing."""
    source = {join.after: join.before for join in timeline.joins}
    judged = {b.attempts[-1] for b in timeline.step_backs if b.evidence.get("because") == "evaluation"}
    numbers, latest = list[int](), 0
    for k, attempt in enumerate(timeline.attempts):
        trains = clock(attempt) is not None and attempt.name not in judged
        numbers.append(numbers[source[k]] if k in source else latest + 1 if trains else 0)
        latest = max(latest, numbers[-1])
    return numbers


def discarded(timeline: Timeline) -> dict[str, Any]:
    """What was trained and thrown away. ``discarded_steps`` and what they cost (see
    `chronicle.timeline.joins.COSTS`; None where a join that discarded some does not tell), summed over joins;
    ``live_steps`` (span of the live course, summed over separate trainings), ``total_steps``."""
    lost = [join for join in timeline.joins if join.discarded_steps]
    costs = {name: [join.evidence.get(name) for join in lost] for name in COSTS}
    steps = sum(join.discarded_steps for join in lost)
    training = numbers_of(timeline)
    ends: dict[int, list[int]] = {}
    for k, attempt in enumerate(timeline.attempts):
        if (ticks := clock(attempt)) is not None:
            track = timeline.series[ticks.metric]
            rows = slice(*np.searchsorted(track.attempt, np.array([k, k + 1], np.int32)))
            if len(alive := track.steps[rows][track.live[rows]]):
                ends.setdefault(training[k], []).extend((int(alive.min()), int(alive.max())))
    live_steps = sum(max(span) - min(span) for span in ends.values())
    totals: dict[str, Any] = {
        name: sum(each) if each and None not in each else None for name, each in costs.items()
    }
    return {"discarded_steps": steps, **totals, "live_steps": live_steps, "total_steps": live_steps + steps}
