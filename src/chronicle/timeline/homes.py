"""Which of several trainings an attempt goes on with, where logs of several seeds lie side by side.

What speaks for a training, strongest first: its latest process was not running while this one ran; both
log a loss of one kind; both state the same run and seed; they lie in one folder; it had reached this
attempt's first step; both ran on one host; its loss at the seam is the nearer one. Where all of it is equal
the latest training is taken, and a doubt says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import PurePosixPath

import numpy as np

from chronicle.timeline.clock import PART, Course, Index, Mask, Spans, process, reached, side_by_side
from chronicle.timeline.joins import seam_levels

_IDENTITIES = ("run", "seed")
_SPAN = [f.name for f in fields(Spans)]
_CLEARLY = 3.0  # times farther at the seam is the loss of the other training
_LEAST_APART = 0.02  # relative difference of the loss at a seam that tells anything


class Tips:
    """The latest attempts of up to ``most`` trainings, a column each, so that all are asked at once."""

    def __init__(self, most: int) -> None:
        self._tips: dict[int, Course] = {}
        self._spans = np.empty((len(_SPAN), most))
        self._names = np.empty((len(_IDENTITIES) + 3, most))  # see `_named`
        self._numbers: dict[str, float] = {}

    def __setitem__(self, training: int, tip: Course) -> None:
        self._tips[training] = tip
        self._spans[:, training] = [getattr(tip, name) for name in _SPAN]
        self._names[:, training] = self._named(tip)

    def home(self, among: Sequence[int], after: Course) -> tuple[int, bool]:
        """Which of these trainings (one at least) ``after`` belongs to, and whether the logs decide it."""
        if len(among) == 1:
            return among[0], True
        best = np.arange(len(among))
        for said in self._speaks_for(among, after):
            best = best[said[best] == said[best].max()]
        equal = [among[k] for k in best.tolist()]
        if len(equal) == 1:
            return equal[0], True
        nearest = _by_level([self._tips[k] for k in equal], after)
        return equal[-1 if nearest is None else nearest], nearest is not None

    def _speaks_for(self, among: Sequence[int], after: Course) -> Iterator[Index | Mask]:
        """What speaks for each of these trainings, the strongest evidence first: more is better."""
        tips = Spans(*self._spans[:, among])
        kind, *stated, folder, host = (
            self._names[:, among] - np.array([self._named(after)]).T
        )  # 0 where equal
        yield ~side_by_side(tips, after)
        yield kind == 0
        yield np.where(np.isnan(stated), 0, np.where(stated, -1, 1)).sum(axis=0)
        yield folder == 0
        yield reached(tips, after)
        yield host == 0

    def _named(self, one: Course) -> list[float]:
        """Kind of loss, run, seed, folder, host of an attempt, equal numbers for equal words; NaN: none."""
        facts, writer = one.attempt.facts, process(one.attempt)
        words = [one.clock.role, *(str(facts[name]) if name in facts else None for name in _IDENTITIES)]
        words += [str(PurePosixPath(PART.sub("", one.name)).parent), writer and writer[0]]
        return [np.nan if w is None else self._numbers.setdefault(w, len(self._numbers)) for w in words]


def _by_level(tips: Sequence[Course], after: Course) -> int | None:
    """The one whose loss at the seam is clearly nearest; None if there is none. What begins where they began
    goes on from none of them: all first losses are alike."""
    if any(after.first <= tip.first for tip in tips):
        return None
    away = []
    for tip in tips:
        before, now, _ = seam_levels(tip, after) or (0.0, 0.0, 0)
        if not (before or now):
            return None
        away.append(abs(now - before) / max(abs(before), abs(now)))
    nearest, second = np.argsort(away, kind="stable")[:2].tolist()
    clear = away[second] > max(_CLEARLY * away[nearest], _LEAST_APART)
    return nearest if clear else None
