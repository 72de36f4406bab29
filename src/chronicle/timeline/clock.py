"""What stitching asks of an attempt: its clock series, the steps it spans, when it ran."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from chronicle.model import Attempt, Role, Series

PART = re.compile(r"#\d+$")  # ends the name of one attempt of several in a log, see `split`
SCHEDULES = frozenset(
    (Role.LEARNING_RATE, Role.EPOCH, Role.TOKENS, Role.SAMPLES, Role.BATCH_SIZE, Role.LOSS_SCALE)
)  # planned before the run: equal in two attempts, whatever happened in them

_JUDGED = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
_DENSE = 0.5  # a series this much as long as the clock tells the attempt's span too
_WORTH = 0.05  # a loss with a smaller share of the points than this is a remark, no clock


@dataclass(frozen=True)
class Course:
    """An attempt with at least one point, its place in the timeline, and what the rules ask of it."""

    index: int
    attempt: Attempt
    clock: Series
    first: int
    last: int

    @property
    def name(self) -> str:
        return self.attempt.name


def course(attempt: Attempt, index: int = 0) -> Course | None:
    """The course of an attempt, or None without points.

    The span is that of the clock and of every series about as dense. A sparse series has no say: a sanity
    check or a hyperparameter logged at step 0 by every process would make each resume a new start.
    """
    ticks = clock(attempt)
    if ticks is None:
        return None
    dense = [s.steps for s in attempt.series.values() if len(s) >= max(1.0, _DENSE * len(ticks))]
    return Course(index, attempt, ticks, min(int(s.min()) for s in dense), max(int(s.max()) for s in dense))


def clock(attempt: Attempt) -> Series | None:
    """The series that tells the attempt's course: the judged loss, else what has most points."""
    filled = [s for s in attempt.series.values() if len(s)]
    if not filled:
        return None
    worth = _WORTH * max(map(len, filled))
    for role in _JUDGED:
        found = [s for s in filled if s.role is role and len(s) >= worth]
        if found:
            return min(found, key=_rank)
    return min(filled, key=_rank)


def _rank(series: Series) -> tuple[bool, int, int, str]:
    return (series.role in SCHEDULES, -len(series), len(series.metric), series.metric)


def step_gap(series: Series) -> float:
    """Median distance of two logged steps (1 where there is nothing to measure)."""
    gaps = np.diff(np.unique(series.steps).astype(np.float64))
    return float(np.median(gaps)) if len(gaps) else 1.0


def ran(attempt: Attempt) -> tuple[float, float] | None:
    """When it ran: first and last time in Unix seconds; None where the log has no wall clock."""
    times = [s.times[np.isfinite(s.times)] for s in attempt.series.values()]
    filled = [t for t in times if len(t)]
    if not filled:
        return None
    return min(float(t.min()) for t in filled), max(float(t.max()) for t in filled)


def natural(name: str) -> tuple[list[tuple[bool, str, int]], str]:
    """Sort key with numbers by value: run-2 before run-10."""
    words = [w for w in re.split(r"(\d+)", name) if w]
    return [(w.isdecimal(), "" if w.isdecimal() else w, int(w) if w.isdecimal() else 0) for w in words], name
