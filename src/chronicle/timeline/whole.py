"""A log of the whole run beside logs of its attempts: a trainer's state beside an event file a process.

The log of the whole tells one course, without what was overtaken or with what should have been; the others
tell the restarts. So they are the attempts, and the log of the whole is a copy of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from chronicle.model import Attempt, Series
from chronicle.timeline.clock import PART, Course, common, course
from chronicle.timeline.copies import are_equal, with_series_of
from chronicle.timeline.split import pick, same

_COVERED = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL = -9  # one value in so many may be another one

Part = tuple[int, int, Course]  # first and last step that an attempt shares with the whole


def without_wholes(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside that tell the whole of what several others tell in parts.

    Only a log that is the one of its format is asked. What it alone logged goes to the attempts, by step.
    """
    formats = Counter(one.attempt.facts.get("format") for one in courses)
    kept = list(courses)
    wholes: list[Attempt] = []
    for whole in courses if len(courses) > 2 else ():
        if formats[whole.attempt.facts.get("format")] > 1 or PART.search(whole.name):
            continue
        parts = sorted(_parts(whole, kept), key=lambda part: (part[:2], part[2].name))
        if _covered(whole, parts) and not any(_covered(whole, [part]) for part in parts):
            kept = [one for one in kept if one is not whole and all(one is not part[2] for part in parts)]
            kept += _with_rows_of(whole.attempt, parts)
            wholes.append(whole.attempt)
    return kept, wholes


def _parts(whole: Course, others: Sequence[Course]) -> Iterator[Part]:
    """Of other logs those steps at which they have the values of the whole, without a break."""
    for one in others:
        if one is whole or one.last < whole.first or one.first > whole.last:
            continue
        i, j = common(whole.clock, one.clock)
        equal = same(whole.clock.values[i], one.clock.values[j])
        score = np.concatenate([[0], np.cumsum(np.where(equal, 1, _UNEQUAL))])
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(pick(whole.clock, i[rows]), pick(one.clock, j[rows])):
            yield int(whole.clock.steps[i[rows][0]]), int(whole.clock.steps[i[rows][-1]]), one


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    steps = whole.clock.steps
    inside = np.zeros(len(steps), bool)
    for first, last, _ in parts:
        inside |= (steps >= first) & (steps <= last)
    return bool(inside.mean() >= _COVERED)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to where the next one begins."""
    begins = [first for first, _, _ in parts[1:]]
    for number, (_, _, one) in enumerate(parts):
        mine = {m: _rows(s, begins, number) for m, s in whole.series.items()}
        rest = replace(whole, series={m: s for m, s in mine.items() if len(s)}, facts={}, faults=())
        yield course(with_series_of(one.attempt, rest)) or one


def _rows(series: Series, begins: Sequence[int], number: int) -> Series:
    return pick(series, np.searchsorted(np.array(begins), series.steps, side="right") == number)
