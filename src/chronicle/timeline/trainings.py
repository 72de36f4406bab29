"""Decides which attempts belong to one training, and which of their points are live.

The attempts of a training form a tree: each continues the latest earlier one that reached its first step. The
path from the root to the latest attempt is the live course; abandoned branches are dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics.aliases import step_gap
from chronicle.metrics.values import listed
from chronicle.model import Attempt, Floats, Join, JoinKind, Mask, Series, StepBack, Steps, Timeline, Track
from chronicle.timeline import joins
from chronicle.timeline.courses import PART, Course, Index, clock, process
from chronicle.timeline.joins import COSTS, Piece
from chronicle.timeline.relation import Pair, Relation, reached, side_by_side

_MOST_NAMES = 3  # attempts that a doubt lists
_CLEARLY_FARTHER = 3.0  # the second nearest loss at a seam must be this many times farther away
_LEAST_APART = 0.02  # relative difference of losses at a seam below which they tell nothing
_SPAN_FIELDS = ("started", "ended", "first", "last", "gap", "slack")  # fields of `Course`
_NAMED_FIELDS = ("kind", "run", "seed", "trial", "folder", "host")  # see `LatestAttempts._numbers_of`


class Reason(NamedTuple):
    """Why attempts over the same steps are separate trainings: as a fact beside others ("": their times or
    ends are among these), and in the words of a doubt ("": there is no doubt)."""

    fact: str = ""
    doubt: str = ""


APART_REASONS = {
    "told": Reason("run.toml says so"),
    "evaluation": Reason("an evaluation"),
    "finished": Reason("the one before had finished"),
    "seed": Reason("another seed"),
    "sweep": Reason("of the same sweep"),
    "trial": Reason("another fold, seed or run"),
    "together": Reason(doubt="ran at the same time"),
    "axis": Reason("it counts something else", "count different things, epochs and steps"),
    "goes on": Reason(
        "the loss or the data go on",
        "the loss or the data go on where the step starts again (a next stage, or a new counter?)",
    ),
    "same end": Reason(doubt="end at the same step"),
    "appended": Reason(
        "nothing says that the one before died",
        "stand one after the other in one log, and nothing says that the earlier one died",
    ),
    "undecided": Reason(
        "nothing shows which training it begins again", "nothing tells which training begins again"
    ),
}
_NO_TRIAL = ("evaluation", "goes on", "axis")  # reasons that do not suggest seeds or trials of a sweep
_UNDECIDED_DOUBT = (
    "{after.name} may belong to any of several trainings: no process, seed, folder or loss level decides. It "
    "was taken to continue {before.name}, the latest one. Give each training a run of its own and name its "
    "logs in `paths` of run.toml."
)
_BRANCH_DOUBT = (
    "{after.name} starts at a later step than {before.name} reached. It was taken to continue an earlier "
    "attempt that did reach this step, so {before.name} counts as discarded. `order` in run.toml makes each "
    "attempt continue the one before it."
)
_MISSING_DOUBT = (
    "{after.name} begins {steps} steps after the end of {before.name}: logs between them are missing, or "
    "they count steps differently. List all logs under `paths` in run.toml."
)
_EARLY_DOUBT = (
    "{after.name} begins at step {after.first}, before {before.name}, which ran earlier but begins at step "
    "{before.first}: logs are missing, or a clock was wrong. State the order with `order` in run.toml."
)


def relate(courses: Sequence[Course], relation: str, order_given: bool) -> tuple[list[Training], list[str]]:
    """The trainings that the attempts (in the order they ran) form, and the doubts. ``relation`` is that of
    run.toml ("": none); with ``order_given`` each attempt continues the one before it."""
    courses = [replace(course, index=index) for index, course in enumerate(courses)]
    trainings = _related(courses, relation, order_given, several=False)
    # One training that is a seed or a trial of a sweep suggests that what looks like a relaunch is one, too.
    trials = any(t.departure and t.departure.evidence["because"] not in _NO_TRIAL for t in trainings)
    if not relation and trials and any(t.relaunches for t in trainings):
        trainings = _related(courses, relation, order_given, several=True)
    doubts = [] if relation else [*_doubts(trainings, courses)]
    return trainings, doubts + [doubt for training in trainings for doubt in training.doubts]


def _related(courses: Sequence[Course], relation: str, order_given: bool, several: bool) -> list[Training]:
    """Assigns each attempt to a training; if ``several``, the second begins its own unless the first died."""
    trainings: list[Training] = []
    latest = LatestAttempts(len(courses))
    chosen: int | None
    for after in courses:
        if len(alike := latest.logging_metrics_of(after)):
            chosen, is_decided = latest.best_training(alike, after)
        else:  # no training logs a metric of it: the latest one whose steps it continues
            before = [k for k, training in enumerate(trainings) if after.first >= training.latest.last]
            chosen, is_decided = max(before, default=None), True
        departure = None
        if chosen is not None:
            pair = Pair(trainings[chosen].latest, after, trainings[chosen].root)
            is_second = several and len(trainings) == 1
            died = joins.how_ended(pair.before.attempt) in joins.ENDED_BADLY
            is_sure = is_decided and (not is_second or died)
            reason = next(pair.reasons_apart(relation, is_sure), None)
            departure = joins.separate_training(pair, reason) if reason else None
        if chosen is None or departure is not None:
            chosen = len(trainings)
            trainings.append(Training([after], {after.index: after}, departure=departure))
        else:
            training = trainings[chosen]
            if not is_decided:
                training.doubts.append(_UNDECIDED_DOUBT.format(before=training.latest, after=after))
            training.follow(after, chain=order_given)
        latest[chosen] = after
    return trainings


def _doubts(trainings: Sequence[Training], courses: Sequence[Course]) -> Iterator[str]:
    """The doubts that `relation` in run.toml settles: about separate trainings, and about relaunches."""
    backs = [(str(t.departure.evidence["because"]), t.departure.attempts) for t in trainings if t.departure]
    log_of = {course.name: course.attempt.sources for course in courses}
    appended = {log_of[names[0]] for why, names in backs if why == "appended"}  # each gets only one doubt
    apart: dict[str, list[str]] = {}
    for why, names in backs:
        is_appended = bool(APART_REASONS[why].doubt) and all(log_of[name] in appended for name in names)
        apart.setdefault("appended" if is_appended else why, []).extend(names)
    for why, (_, words) in APART_REASONS.items():
        if words and (separate := apart.get(why)):
            both = "both" if len(set(separate)) == 2 else "all"
            over = "" if why == "axis" else "cover the same steps and "
            taken = f"They were taken as separate trainings, {both} live."
            other = '`relation = "attempts"` in run.toml makes them attempts of one training.'
            yield f"{_listed(separate)} {over}{words}. {taken} {other}"
    relaunches = [join for training in trainings for join in training.relaunches]
    if relaunches:
        what, both = "relaunches, each in place of the one before", "all"
        if len(relaunches) == 1:
            what, both = f"a relaunch that replaces {courses[relaunches[0].before].name}", "both"
        late = _listed([courses[join.after].name for join in relaunches])
        seeds = f'`relation = "seeds"` in run.toml keeps {both} live.'
        yield f"The step starts again in {late}. That was taken for {what}. {seeds}"


def _listed(names: Sequence[str]) -> str:
    """The distinct names as ``a, b, c and 9 more``."""
    distinct = [*dict.fromkeys(names)]
    more = len(distinct) - _MOST_NAMES
    return listed(distinct if more <= 1 else [*distinct[:_MOST_NAMES], f"{more} more"])


class LatestAttempts:
    """The latest attempts of up to ``most`` trainings, as columns of an array that are compared at once."""

    def __init__(self, most: int) -> None:
        self._latest: dict[int, Course] = {}
        self._rows = np.zeros((len(_SPAN_FIELDS) + len(_NAMED_FIELDS), most))
        self._numbers: dict[str, float] = {}
        self._logging: dict[str, Mask] = {}  # by metric: which trainings log it

    def __setitem__(self, training: int, latest: Course) -> None:
        self._latest[training] = latest
        for metric in latest.attempt.series:
            self._logging.setdefault(metric, np.zeros(self._rows.shape[1], bool))[training] = True
        self._rows[:, training] = [getattr(latest, name) for name in _SPAN_FIELDS] + self._numbers_of(latest)

    def logging_metrics_of(self, after: Course) -> Index:
        """The trainings that log at least one of the attempt's metrics."""
        alike = np.zeros(self._rows.shape[1], bool)
        for metric in after.attempt.series.keys() & self._logging.keys():
            alike |= self._logging[metric]
        return np.flatnonzero(alike)

    def best_training(self, among: Index, after: Course) -> tuple[int, bool]:
        """Which of these trainings (at least one) ``after`` belongs to by the strongest evidence that tells
        them apart, the loss at the seam last; and whether anything does: else it is the latest training."""
        if len(among) == 1:
            return int(among[0]), True
        best = np.arange(len(among))
        for evidence in self._evidence(among, after):
            best = best[evidence[best] == evidence[best].max()]
        equal = among[best]
        if len(equal) == 1:
            return int(equal[0]), True
        # First losses are alike in all trainings, so they do not tell to which of them a relaunch belongs.
        from_start = bool((after.first <= self._rows[_SPAN_FIELDS.index("first"), equal]).any())
        nearest = None if from_start else _nearest_at_seam([self._latest[k] for k in equal.tolist()], after)
        return int(equal[-1 if nearest is None else nearest]), nearest is not None

    def _evidence(self, among: Index, after: Course) -> Iterator[Index | Mask]:
        """Scores of these trainings, the strongest evidence first; the highest score is the best."""
        rows = self._rows[:, among]
        spans = SimpleNamespace(**dict(zip(_SPAN_FIELDS, rows, strict=False)))
        kind, *stated, folder, host = rows[len(_SPAN_FIELDS) :] - np.reshape(self._numbers_of(after), (-1, 1))
        yield ~side_by_side(spans, after)
        yield kind == 0  # 0 is the difference between the numbers of equal words
        yield np.where(np.isnan(stated), 0, np.where(stated, -1, 1)).sum(axis=0)
        yield folder == 0
        yield reached(spans, after)
        yield host == 0

    def _numbers_of(self, course: Course) -> list[float]:
        """A number for each of `_NAMED_FIELDS`: equal numbers for equal words, NaN for what is not known."""
        facts, writer = course.attempt.facts, process(course.attempt)
        stated = (str(facts[name]) if name in facts else None for name in _NAMED_FIELDS[1:4])
        folder = str(PurePosixPath(PART.sub("", course.name)).parent)
        words = [course.clock.role, *stated, folder, writer and writer[0]]
        return [np.nan if w is None else self._numbers.setdefault(w, len(self._numbers)) for w in words]


def _nearest_at_seam(candidates: Sequence[Course], after: Course) -> int | None:
    """The index of the candidate whose loss at the seam is clearly nearest; None if there is none."""
    distances = []
    for candidate in candidates:
        before, now, _ = Pair(candidate, after, candidate).seam or (0.0, 0.0, 0)
        if not (before or now):
            return None
        distances.append(abs(now - before) / max(abs(before), abs(now)))
    nearest, second = np.argsort(distances, kind="stable")[:2].tolist()
    return nearest if distances[second] > max(_CLEARLY_FARTHER * distances[nearest], _LEAST_APART) else None


@dataclass
class Training:
    """A training under construction: ``path`` leads from its first attempt to the latest one."""

    path: list[Course]
    roots: dict[int, Course]  # by the index of an attempt: the first attempt of its live course
    joins: dict[int, Join] = field(default_factory=dict)  # by the index of the later attempt
    doubts: list[str] = field(default_factory=list)
    departure: StepBack | None = None  # why it is not part of an earlier training

    @property
    def latest(self) -> Course:
        return self.path[-1]

    @property
    def root(self) -> Course:
        """The attempt with which the live course begins: the first one, or the latest relaunch."""
        return self.roots[self.latest.index]

    @property
    def relaunches(self) -> list[Join]:
        return [join for join in self.joins.values() if join.kind is JoinKind.RELAUNCH]

    def live(self) -> Iterator[Piece]:
        """The live course from the latest attempt back to the root, each up to where it was overtaken."""
        bound = None
        for course in reversed(self.path):
            yield Piece(course, course.first, bound)
            if course is self.root:
                return
            join = self.joins[course.index]
            if join.kind is JoinKind.ROLLBACK:
                bound = join.to_step if bound is None else min(bound, join.to_step)

    def follow(self, after: Course, chain: bool) -> None:
        """Joins the next attempt in time to the one that it continues (with ``chain``: to the latest)."""
        latest, root = self.latest, self.root
        # If no attempt reached its first step, the steps before it were not logged.
        before = latest if chain else next((c for c in reversed(self.path) if reached(c, after)), latest)
        if before is not latest:
            self.doubts.append(_BRANCH_DOUBT.format(before=latest, after=after))
        start_steps = Pair(latest, after, root).start_steps
        if not chain and after.first < root.first - start_steps and after.started > root.started:
            self.doubts.append(_EARLY_DOUBT.format(before=root, after=after))
        if not chain and not reached(before, after):
            missing = after.first - before.last
            self.doubts.append(_MISSING_DOUBT.format(before=before, after=after, steps=missing))
        lost, pieces = self._leave(before)
        pair = Pair(before, after, self.root)
        relaunched = pair.course is Relation.ANEW
        begin = min(self.root.first, after.first) if relaunched else after.first
        for piece in self.live() if pair.course is not Relation.CONTINUES else ():
            pieces.append(piece._replace(first=max(begin, piece.first)))
            if piece.first <= begin and not relaunched:  # earlier pieces stay live
                break
        if pair.course is not Relation.CONTINUES:
            lost += _trained_steps(begin, before.last, (self.root if relaunched else after).gap)
        self.joins[after.index] = joins.join_of(pair, lost, joins.costs(pieces))
        self.roots[after.index] = after if relaunched else self.root
        self.path.append(after)

    def _leave(self, before: Course) -> tuple[int, list[Piece]]:
        """Abandons the branch after ``before``; returns how many steps it has, and its pieces. What the
        branch had overtaken is live again, so the join into the branch has discarded nothing."""
        if before is self.latest:
            return 0, []
        pieces = [*takewhile(lambda piece: piece.course.index > before.index, self.live())]
        last = first = self.latest
        while self.latest is not before:
            first = self.path.pop()
        join = self.joins[first.index]
        kept = {name: value for name, value in join.evidence.items() if name not in COSTS}
        self.joins[first.index] = replace(join, discarded_steps=0, evidence=kept)
        return _trained_steps(first.first, last.last, first.gap), pieces


def _trained_steps(first: int, last: int, gap: float) -> int:
    """How many steps were trained from the logged step ``first`` to ``last``; the first one is the end of an
    interval of ``gap`` steps, which begins at step 0 or later."""
    return max(0, last - first + round(min(gap, first + 1)))


_Attempts = NDArray[np.int32]  # for each point the index of the attempt that logged it


def tracks(attempts: Sequence[Attempt], trainings: Sequence[Training]) -> dict[str, Track]:
    """One track for each metric, and which points are live; metrics of the same steps share arrays."""
    live_points = _live_course(len(attempts), trainings)
    known: dict[tuple[int, ...], tuple[Steps, _Attempts, Mask]] = {}  # by attempts and numbers of points
    logged: dict[str, dict[int, Series]] = {}
    for k, piece in enumerate(attempts):
        for metric, series in piece.series.items():
            logged.setdefault(metric, {})[k] = series
    made = {}
    for metric, by_attempt in logged.items():
        parts = [*by_attempt.values()]
        steps, lengths = _joined([s.steps for s in parts]), [*map(len, parts)]
        points = known.get((*by_attempt, *lengths))
        if not (points and (steps is points[0] or np.array_equal(steps, points[0]))):
            attempt = np.repeat(np.array([*by_attempt], np.int32), lengths)
            known[*by_attempt, *lengths] = points = steps, attempt, live_points(steps, attempt)
        steps, attempt, is_live = points
        values, times = _joined([s.values for s in parts]), _joined([s.times for s in parts])
        unit, first = next((s.unit for s in parts if s.unit), None), parts[0]
        made[metric] = Track(metric, first.role, steps, values, times, unit, first.dataset, attempt, is_live)
    return made


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if len(parts) > 1 else parts[0]  # a single one is not copied


def as_parts_of_tracks(series: Mapping[str, Track], attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts with their points as views of the tracks, so that memory holds the points once."""

    def part(track: Track, own: Series, k: int) -> Series:
        if own.steps is track.steps and own.values is track.values:
            return own  # no other attempt logs this metric
        rows = track.rows_of(k)
        return replace(own, steps=track.steps[rows], values=track.values[rows], times=track.times[rows])

    parts = [{m: part(series[m], s, k) for m, s in log.series.items()} for k, log in enumerate(attempts)]
    return tuple(replace(attempt, series=own) for attempt, own in zip(attempts, parts, strict=True))


def _live_course(attempts: int, trainings: Sequence[Training]) -> Callable[[Steps, _Attempts], Mask]:
    """A function that tells which points are live, given their steps and attempts: those that no rollback
    overtook, and whose step no later attempt of the training logged again."""
    training_of = np.full(attempts, -1)  # -1: the attempt is on no live course
    is_cut, below_step = np.zeros(attempts, bool), np.zeros(attempts, np.int64)
    for number, training in enumerate(trainings):
        for piece in training.live():
            k = piece.course.index
            training_of[k], is_cut[k], below_step[k] = number, piece.bound is not None, piece.bound or 0
    on_course = training_of[training_of >= 0]
    any_joined = len(on_course) > len(np.unique(on_course))

    def live_points(steps: Steps, attempt: _Attempts) -> Mask:
        mask = (training_of[attempt] >= 0) & (~is_cut[attempt] | (steps < below_step[attempt]))
        if not any_joined:
            return np.asarray(mask)
        rows = np.flatnonzero(mask)
        training = training_of[attempt[rows]]
        order = np.lexsort((steps[rows], training))  # stable: within a step, later attempts come later
        rows, training = rows[order], training[order]
        ends = np.append((steps[rows[1:]] != steps[rows[:-1]]) | (training[1:] != training[:-1]), True)
        last = np.flatnonzero(ends[: len(rows)])
        latest = np.repeat(attempt[rows[last]], np.diff(last, prepend=-1))
        mask[rows[attempt[rows] != latest]] = False
        return np.asarray(mask)

    return live_points


def live(track: Track) -> tuple[Steps, Floats]:
    """Steps and values of the live points, in the order of their steps."""
    rows = np.flatnonzero(track.live)
    rows = rows[np.argsort(track.steps[rows], kind="stable")]
    return track.steps[rows], track.values[rows]


def numbers_of(timeline: Timeline) -> list[int]:
    """The number of each attempt's training, from 1; 0 if it logged nothing, or only evaluated."""
    source = {join.after: join.before for join in timeline.joins}
    evaluations = joins.names_of_evaluations(timeline)
    numbers, latest = list[int](), 0
    for k, attempt in enumerate(timeline.attempts):
        trains = clock(attempt) is not None and attempt.name not in evaluations
        own_number = latest + 1 if trains else 0
        numbers.append(numbers[source[k]] if k in source else own_number)
        latest = max(latest, numbers[-1])
    return numbers


def discarded(timeline: Timeline) -> dict[str, Any]:
    """What was trained and discarded: ``discarded_steps`` and what they cost, summed over the joins (the keys
    are those of `chronicle.timeline.joins.COSTS`; None where the cost of a join is not known);
    ``live_steps``, those of the live course summed over separate trainings; and ``total_steps``."""
    lost = [join for join in timeline.joins if join.discarded_steps]
    steps = sum(join.discarded_steps for join in lost)
    totals: dict[str, Any] = {}
    for name in COSTS:
        costs_of_joins = [join.evidence.get(name) for join in lost]
        totals[name] = sum(costs_of_joins) if lost and None not in costs_of_joins else None
    training = numbers_of(timeline)
    ends: dict[int, list[tuple[int, int, float]]] = {}
    for k, attempt in enumerate(timeline.attempts):
        if (ticks := clock(attempt)) is not None:
            track = timeline.series[ticks.metric]
            rows = track.rows_of(k)
            if len(on_course := track.steps[rows][track.live[rows]]):
                span = int(on_course.min()), int(on_course.max()), step_gap(ticks)
                ends.setdefault(training[k], []).append(span)
    spans = ((min(parts), max(last for _, last, _ in parts)) for parts in ends.values())
    live_steps = sum(_trained_steps(first, last, gap) for (first, _, gap), last in spans)
    return {"discarded_steps": steps, **totals, "live_steps": live_steps, "total_steps": live_steps + steps}
