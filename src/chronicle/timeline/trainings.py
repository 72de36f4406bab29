"""Which attempts are parts of one training, and which are trainings of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from chronicle.model import Role, Series
from chronicle.timeline.changes import pairs
from chronicle.timeline.clock import Course, side_by_side
from chronicle.timeline.endings import DIED, how_ended
from chronicle.timeline.homes import Tips
from chronicle.timeline.joins import SEAM_SAMPLES, agree, median
from chronicle.timeline.lineage import Training
from chronicle.timeline.step_backs import apart

_SAME_END = 0.02  # share of the length within which two trainings end at the same step
_SHORT_SAMPLES = 8  # of a shorter log one sample is its level, and its end must be equal
_GOES_ON = 0.25  # share of the way back to the first level within which the loss goes on
_FAR = 4.0  # times the noise of a loss that has gone somewhere
_MOST_NAMES = 3  # of the attempts that a doubt is about
_COUNTERS = (Role.TOKENS, Role.SAMPLES, Role.EPOCH)
_TRAINED = {
    Role.LOSS,
    Role.DATASET_LOSS,
    Role.GRAD_NORM,
    Role.LOSS_SCALE,
    Role.LEARNING_RATE,
    Role.BATCH_SIZE,
}

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


def relate(courses: Sequence[Course], relation: str | None, told: bool) -> tuple[list[Training], list[str]]:
    """The trainings in the attempts (in the order they ran), and the doubts about them.

    ``told`` is whether run.toml gave the order: then each attempt follows the one before.
    """
    trainings = _related(courses, relation, told, several=False)
    if not relation and any(t.relaunches for t in trainings) and any(map(_is_trial, trainings)):
        trainings = _related(courses, relation, told, several=True)
    found = [] if relation else [*_doubts(trainings)]
    return trainings, found + [doubt for training in trainings for doubt in training.doubts]


def _related(courses: Sequence[Course], relation: str | None, told: bool, several: bool) -> list[Training]:
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
            beside = apart(before, after, why) if why else None
        if home is None or beside is not None:
            home = len(trainings)
            trainings.append(Training(after, beside=beside))
        else:
            if not decided:
                trainings[home].doubts.append(_home_doubt(trainings[home].tip, after))
            trainings[home].follow(after, chain=told)
        tips[home] = after
    return trainings


def _is_trial(training: Training) -> bool:
    """Whether it was begun beside or after another one of its kind: a seed, a trial of a sweep."""
    return training.beside is not None and training.beside.evidence["because"] not in (
        "evaluation",
        "goes on",
    )


def _home(trainings: Sequence[Training], tips: Tips, after: Course) -> tuple[int | None, bool]:
    """The training that an attempt belongs to, of those that log a metric of it, else the latest whose steps
    it goes on from; and whether the logs decide it."""
    metrics = after.attempt.series.keys()
    alike = [k for k, t in enumerate(trainings) if not t.metrics.isdisjoint(metrics)]
    if alike:
        return tips.home(alike, after)
    return max((k for k, t in enumerate(trainings) if after.first >= t.tip.last), default=None), True


def _reasons(training: Training, after: Course, relation: str | None, sure: bool) -> Iterator[str]:
    """Why an attempt is no part of this training but one of its own, keys of `APART`; none if it is a part.

    ``sure`` is whether the logs tell that it is this training that begins again, if one does.
    """
    before = training.tip
    if trains(before) and not trains(after):
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


def trains(course: Course) -> bool:
    """Whether an attempt logs what only a training does. An evaluation does not, and it overtakes nothing."""
    return any(one.role in _TRAINED for one in course.attempt.series.values())


def _goes_on(training: Training, after: Course) -> bool:
    """Whether the loss goes on from the end of the attempt before, not from the first level, or whether a
    counter of data does: the counter of steps began anew, the weights did not."""
    before = training.tip
    first, end, now = _level(training.root, 1), _level(before, -1), _level(after, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # logged values may be as large as floats get
        noise = median(np.abs(np.diff(before.clock.values)))
    fell = len(before.clock) >= _SHORT_SAMPLES and abs(end - first) > _FAR * noise
    counters = (two for role in _COUNTERS for two in pairs(before.attempt, after.attempt, role))
    return (fell and abs(now - end) < _GOES_ON * abs(now - first)) or any(
        _counts_on(*two) for two in counters
    )


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
    found = [one.beside for one in trainings if one.beside is not None]
    for why, words in APART.items():
        names = [name for one in found if one.evidence["because"] == why for name in one.attempts]
        if names and words:
            both = "both" if len(set(names)) == 2 else "all"
            yield (
                f"{_listed(names)} cover the same steps and {words}: taken as separate trainings, "
                f'{both} live. `relation = "attempts"` in run.toml makes them attempts of one training.'
            )
    again = [(t.courses[j.before].name, t.courses[j.after].name) for t in trainings for j in t.relaunches]
    if again:
        what = (
            f"a relaunch that replaces {again[0][0]}"
            if len(again) == 1
            else "relaunches, each in place of the one before"
        )
        yield (
            f"{_listed([after for _, after in again])}: the step starts again; taken as {what}. "
            f'`relation = "seeds"` in run.toml keeps {"both" if len(again) == 1 else "all"} live.'
        )


def _listed(names: Sequence[str]) -> str:
    """``a, b, c and 9 more``; each name once."""
    *some, last = dict.fromkeys(names)
    if len(some) > _MOST_NAMES:
        some, last = some[:_MOST_NAMES], f"{len(some) + 1 - _MOST_NAMES} more"
    return f"{', '.join(some)} and {last}" if some else last


def _home_doubt(before: Course, after: Course) -> str:
    return (
        f"{after.name} may belong to any of several trainings: no process, seed, folder or level of the "
        f"loss tells; taken as going on from {before.name}, the latest. Give each training a run of its own "
        f"and name its logs in `paths` of run.toml."
    )
