"""An objective that is to rise (reward, return of an agent): judged like a loss, its sign known.

Where a log has one, its losses are what the agent is made with, and may rise while it gets better; so the
objective is judged in their place. It may be negative and has no unit, so all is measured in its own noise:
medians of sixteen blocks, and what neighbouring blocks differ by where nothing happens.

failed-run, plateau (an objective that never rises)
    Sees: an objective that stays where its first values were; a plateau where the log begins after the run.
    Rule: at least 50 points, and no block lies four errors above the first two.
    Blind to: an agent that had learned before its log begins. False alarm: a task that is solved at once.

divergence-no-spike (an objective that collapses)
    Sees: what an agent had learned, lost again.
    Rule: the last two blocks lie at least 60 % of the way down from the best block to the first two, and
    both the way up and the way down are six errors or more.
    Blind to: a collapse in the last eighth of a log. False alarm: a task that is made harder on the way.
    Source: no published rule; the limits were set on generated rewards (benchmarks/curves/families.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chronicle.classify.measure import MEDIAN_ERROR, wiggle
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.loss_shapes import AFTER, NO_SPIKE
from chronicle.classify.rules.whole_run import FAILED
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Role, Series

PLATEAU = "plateau"
LOST = 0.6  # share of what was gained: more is no dip
BLOCKS = 16  # of a log: an eighth of it are two, as at the start of a loss
FEWEST = 50  # points, three a block
RISES, FAR = 4.0, 6.0  # [errors] what is no chance among sixteen blocks, and what is worth an alarm


@dataclass(frozen=True)
class Ascent:
    """Levels of an objective in its own unit: of the first and last two blocks and the best one, at a step.

    ``gained`` is what it rose by at its best, ``lost`` what it fell by since, in errors of one block.
    """

    first: float
    best: float
    last: float
    best_step: float
    gained: float
    lost: float

    @property
    def collapsed(self) -> bool:
        return self.lost > LOST * self.gained and min(self.gained, self.lost) >= FAR

    @property
    def learned(self) -> bool:
        """Whether it rose, and most of that is there at the end."""
        return self.gained >= RISES and not self.collapsed


def ascent(series: Series) -> Ascent | None:
    """The way of an objective; None where there are too few points."""
    ok = np.isfinite(series.values)
    steps, v = series.steps[ok].astype(float), series.values[ok]
    if len(v) < FEWEST:
        return None
    parts = np.array_split(v, BLOCKS)
    levels = np.array([np.median(p) for p in parts])
    first, last, at = float(levels[:2].mean()), float(levels[-2:].mean()), int(np.argmax(levels))
    inside = MEDIAN_ERROR * wiggle(v) / len(parts[-1]) ** 0.5
    # neighbours within a block may be alike, so quarters of blocks say how much means differ
    quarters = np.array([p.mean() for p in np.array_split(v, min(4 * BLOCKS, len(v)))])
    error = max(inside, wiggle(quarters) / 2, 1e-9 * float(np.abs(v).max()))
    best, start = float(levels[at]), np.array_split(steps, BLOCKS)[at][0]
    return Ascent(first, best, last, start, (best - first) / error, (best - last) / error)


def rises(view: View) -> bool:
    """Whether an objective is logged that rose and stayed up."""
    judged = (ascent(s) for a in view.attempts for s in a.by_role(Role.OBJECTIVE))
    return any(a is not None and a.learned for a in judged)


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    series = attempt.objective
    way = ascent(series) if series is not None else None
    if series is None or way is None:
        return
    measured = noted(first_level=way.first, best_level=way.best, last_level=way.last)
    if way.collapsed:
        checks = [
            *measured,
            at_least("rise to the best level", way.gained, "errors", FAR),
            at_least("of that lost at the end", way.lost / way.gained, "share", LOST, "lost_share"),
        ]
        at = At(attempt, series, way.best_step, way.best_step)
        yield finding(NO_SPIKE, at, checks, 0.9, 0.8, (AFTER, "it had begun with a jump"))
    elif way.gained < RISES:
        checks = [*measured, Check("best level over the first", way.gained, "errors", f"< {RISES:g}")]
        at = At(attempt, series, series.steps[0])
        if series.steps[0] <= 0.02 * series.steps[-1]:
            rose = (PLATEAU, "it had risen first and then stood still")
            yield finding(FAILED, at, checks, 0.9, 0.8, rose)
        else:
            yield finding(PLATEAU, at, checks, 0.4, 0.7, (FAILED, "the log had begun with the run"))


RULE = Rule.of_attempts("objectives", (FAILED, NO_SPIKE, PLATEAU), find)
