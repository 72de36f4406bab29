"""Which of several trainings an attempt goes on with, where logs of several seeds lie side by side.

What speaks for a training, strongest first: its latest process was not running while this one ran; both
logs state the same run and seed; they lie in one folder; it had reached this attempt's first step; both ran
on one host; its loss at the seam is the nearer one. Where all of it is equal the latest training is taken,
and a doubt says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from chronicle.timeline.clock import PART, Course, process, reached, side_by_side
from chronicle.timeline.joins import seam_levels

_IDENTITIES = ("run", "seed")
_CLEARLY = 3.0  # times farther at the seam is the loss of the other training
_LEAST_APART = 0.02  # relative difference of the loss at a seam that tells anything


def home(tips: Sequence[Course], after: Course) -> tuple[int, bool]:
    """Index of the training (by its latest attempt, one at least) that ``after`` belongs to, and whether the
    logs decide it."""
    if len(tips) == 1:
        return 0, True
    spoken = [_speaks_for(tip, after) for tip in tips]
    best = [k for k, words in enumerate(spoken) if words == max(spoken)]
    if len(best) == 1:
        return best[0], True
    nearest = _by_level([tips[k] for k in best], after)
    return (best[-1], False) if nearest is None else (best[nearest], True)


def _speaks_for(tip: Course, after: Course) -> tuple[bool, int, bool, bool, bool]:
    old, new = tip.attempt.facts, after.attempt.facts
    stated = [(old[name], new[name]) for name in _IDENTITIES if name in old and name in new]
    hosts = [p and p[0] for p in (process(tip.attempt), process(after.attempt))]
    return (
        not side_by_side(tip, after),
        sum(1 if str(a) == str(b) else -1 for a, b in stated),
        _folder(tip) == _folder(after),
        reached(tip, after),
        hosts[0] is not None and hosts[0] == hosts[1],
    )


def _folder(course: Course) -> PurePosixPath:
    return PurePosixPath(PART.sub("", course.name)).parent


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
