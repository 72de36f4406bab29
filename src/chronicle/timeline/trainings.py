"""Which attempts are parts of one training, and which are trainings of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chronicle.timeline.clock import Course, side_by_side
from chronicle.timeline.homes import Tips
from chronicle.timeline.lineage import Training
from chronicle.timeline.step_backs import apart

_SAME_END = 0.02  # share of the length within which two trainings end at the same step


def relate(courses: Sequence[Course], relation: str | None, told: bool) -> tuple[list[Training], list[str]]:
    """The trainings in the attempts (in the order they ran), and the doubts about them.

    ``told`` is whether run.toml gave the order: then each attempt follows the one before.
    """
    trainings: list[Training] = []
    tips = Tips(len(courses))
    for index, course in enumerate(courses):
        after = replace(course, index=index)
        home, decided = _home(trainings, tips, after)
        if home is None:
            home = len(trainings)
            trainings.append(Training(after))
        elif is_separate(trainings[home], after, relation):
            home, before = len(trainings), trainings[home].tip
            doubts = [] if relation else [_separate_doubt(before, after)]
            beside = apart(before, after, told=relation is not None)
            trainings.append(Training(after, doubts=doubts, beside=beside))
        else:
            training = trainings[home]
            if relation is None and after.first < training.tip.last and training.starts_again(after):
                training.doubts.append(_again_doubt(training, after))
            if not decided:
                training.doubts.append(_home_doubt(training.tip, after))
            training.follow(after, chain=told)
        tips[home] = after
    return trainings, [doubt for training in trainings for doubt in training.doubts]


def _home(trainings: Sequence[Training], tips: Tips, after: Course) -> tuple[int | None, bool]:
    """The training that an attempt belongs to, of those that log a metric of it, else the latest whose steps
    it goes on from; and whether the logs decide it."""
    metrics = after.attempt.series.keys()
    alike = [k for k, t in enumerate(trainings) if not t.metrics.isdisjoint(metrics)]
    if alike:
        return tips.home(alike, after)
    return max((k for k, t in enumerate(trainings) if after.first >= t.tip.last), default=None), True


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
    end_together = abs(before.last - after.last) <= max(before.gap, _SAME_END * length)
    return end_together and training.starts_again(after) and not training.goes_on(after)


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
