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

from chronicle.classify.measure import MEDIAN_ERROR, scale
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.loss_shapes import AFTER, NO_SPIKE
from chronicle.classify.rules.whole_run import FAILED
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Floats, Role, Series

PLATEAU = "plateau"
BLOCKS = 16  # of a log: an eighth of it are two, as at the start of a loss
FEWEST = 50  # points, three a block
RISES, FAR = 4.0, 6.0  # [errors] what is no chance among sixteen blocks, and what is worth an alarm


@dataclass(frozen=True)
class Ascent:
    """Levels of an objective in its own unit, with the error of one block."""

    steps: Floats
    levels: Floats
    error: float

    @property
    def first(self) -> float:
        return float(self.levels[:2].mean())

    @property
    def last(self) -> float:
        return float(self.levels[-2:].mean())

    @property
    def best(self) -> int:
        return int(np.argmax(self.levels))

    @property
    def gained(self) -> float:
        """What it rose by at its best."""
        return float(self.levels[self.best]) - self.first

    @property
    def lost(self) -> float:
        """What it fell by since."""
        return float(self.levels[self.best]) - self.last

    @property
    def learned(self) -> bool:
        """Whether it rose, and most of that is there at the end."""
        return self.gained >= RISES * self.error and not self.collapsed

    @property
    def collapsed(self) -> bool:
        return self.lost > 0.6 * self.gained and min(self.gained, self.lost) >= FAR * self.error


def ascent(series: Series) -> Ascent | None:
    """The blocks of an objective; None where there are too few points."""
    ok = np.isfinite(series.values)
    steps, v = series.steps[ok].astype(float), series.values[ok]
    if len(v) < FEWEST:
        return None
    parts = np.array_split(v, BLOCKS)
    levels = np.array([np.median(p) for p in parts])
    inside = MEDIAN_ERROR * scale(np.diff(v)) / 2**0.5 / len(parts[-1]) ** 0.5
    # neighbours within a block may be alike, so quarters of blocks say how much means differ
    quarters = np.array([p.mean() for p in np.array_split(v, min(4 * BLOCKS, len(v)))])
    slow = scale(np.diff(quarters)) / 2**0.5 / 2
    starts = np.array([p[0] for p in np.array_split(steps, BLOCKS)])
    return Ascent(starts, levels, max(inside, slow, 1e-9 * float(np.abs(v).max())))


def rises(view: View) -> bool:
    """Whether an objective is logged that rose and stayed up."""
    judged = [ascent(s) for a in view.attempts for s in a.by_role(Role.OBJECTIVE)]
    return any(a is not None and a.learned for a in judged)


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    series = attempt.objective
    course = ascent(series) if series is not None else None
    if series is None or course is None:
        return
    best = course.first + course.gained
    measured = noted(first_level=course.first, best_level=best, last_level=course.last)
    if course.collapsed:
        checks = [
            *measured,
            at_least("rise to the best level", course.gained / course.error, "errors", FAR),
            at_least("of that lost at the end", course.lost / course.gained, "share", 0.6, "lost_share"),
        ]
        at = At(attempt, series, course.steps[course.best], course.steps[course.best])
        runner_up = (AFTER, "it had begun with a jump")
        yield finding(NO_SPIKE, at, checks, severity=0.9, confidence=0.8, runner_up=runner_up)
    elif course.gained < RISES * course.error:
        checks = [
            *measured,
            Check("best level over the first", course.gained / course.error, "errors", f"< {RISES:g}"),
        ]
        at = At(attempt, series, series.steps[0])
        if series.steps[0] <= 0.02 * series.steps[-1]:
            rose = (PLATEAU, "it had risen first and then stood still")
            yield finding(FAILED, at, checks, severity=0.9, confidence=0.8, runner_up=rose)
        else:
            whole = (FAILED, "the log had begun with the run")
            yield finding(PLATEAU, at, checks, severity=0.4, confidence=0.7, runner_up=whole)


RULE = Rule.of_attempts("objectives", (FAILED, NO_SPIKE, PLATEAU), find)
