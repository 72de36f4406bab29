"""What stitching asks of an attempt: its clock series, the steps it spans, when it ran."""

from __future__ import annotations

import re

import numpy as np

from chronicle.model import Attempt, Role, Series

PART = re.compile(r"#(\d+)$")  # the mark of the k-th attempt in one log, see `split`
_JUDGED = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
_DENSE = 0.5  # a series this much as long as the clock tells the attempt's span too
_WORTH = 0.05  # a loss with a smaller share of the points than this is a remark, no clock


def clock(attempt: Attempt) -> Series | None:
    """The series that tells the attempt's course: the judged loss, else the series with most points."""
    filled = [s for s in attempt.series.values() if len(s)]
    if not filled:
        return None
    worth = _WORTH * max(map(len, filled))
    for role in _JUDGED:
        found = [s for s in filled if s.role is role and len(s) >= worth]
        if found:
            return min(found, key=_rank)
    return min(filled, key=_rank)


def _rank(series: Series) -> tuple[int, int, str]:
    return (-len(series), len(series.metric), series.metric)


def span(attempt: Attempt) -> tuple[int, int] | None:
    """First and last step, by the clock and every series about as dense; None without points.

    A sparse series has no say: a sanity check or a hyperparameter logged at step 0 by every process would
    make each resume a start from nothing.
    """
    ticks = clock(attempt)
    if ticks is None:
        return None
    dense = [s.steps for s in attempt.series.values() if len(s) >= _DENSE * len(ticks) and len(s)]
    return min(int(s.min()) for s in dense), max(int(s.max()) for s in dense)


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


def natural(name: str) -> tuple[tuple[int, str, int], ...]:
    """Sort key with numbers by value: run-2 before run-10."""
    return tuple((1, "", int(w)) if w.isdecimal() else (0, w, 0) for w in re.split(r"(\d+)", name) if w)
