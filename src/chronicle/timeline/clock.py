"""What stitching asks of an attempt: its clock series, the steps it spans, when it ran."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Role, Series

Index = NDArray[np.intp]

PART = re.compile(r"#\d+$")  # ends the name of one attempt of several in a log, see `split`
SCHEDULES = frozenset(
    (Role.LEARNING_RATE, Role.EPOCH, Role.TOKENS, Role.SAMPLES, Role.BATCH_SIZE, Role.LOSS_SCALE)
)  # planned before the run: equal in two attempts, whatever happened in them

_EVENT_FILE = re.compile(r"tfevents\.\d+\.(.+?)\.(\d+)\.\d+(?:\.v2)?$")
_JUDGED = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
_DENSE = 0.5  # a series this much as long as the clock tells the attempt's span too
_HOLE = 0.1  # share of an attempt that may be missing at its end
_BESIDE = 0.5  # share of the shorter one's wall clock in which both ran
_WORTH = 0.05  # a loss with a smaller share of the points than this is a remark, no clock


@dataclass(frozen=True)
class Course:
    """An attempt with points, and what the rules ask of it; ``index`` is its place in the timeline.

    The span is that of the clock and of every series about as dense. A sparse series has no say: a sanity
    check or a hyperparameter logged at step 0 by every process would make each resume a new start.
    """

    attempt: Attempt
    clock: Series
    first: int
    last: int
    started: float | None  # [Unix s] first and last wall clock; None where the log has none
    ended: float | None
    index: int = -1

    @property
    def name(self) -> str:
        """Name of the attempt."""
        return self.attempt.name


def course(attempt: Attempt) -> Course | None:
    """The course of an attempt whose rows are in step order, or None without points."""
    ticks = clock(attempt)
    if ticks is None:
        return None
    dense = [s.steps for s in attempt.series.values() if len(s) >= max(1.0, _DENSE * len(ticks))]
    times = [t for s in attempt.series.values() if len(t := s.times[np.isfinite(s.times)])]
    return Course(
        attempt,
        ticks,
        first=min(int(s[0]) for s in dense),
        last=max(int(s[-1]) for s in dense),
        started=min((float(t.min()) for t in times), default=None),
        ended=max((float(t.max()) for t in times), default=None),
    )


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
    gaps = np.diff(series.steps.astype(np.float64))
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


def reached(before: Course, after: Course) -> bool:
    """Whether an attempt got as far as another one begins. Two logging intervals or a tenth of it may be
    missing at its end: the last lines of a killed process."""
    slack = max(2 * step_gap(before.clock), 2 * step_gap(after.clock), _HOLE * (before.last - before.first))
    return before.last + slack >= after.first


def side_by_side(a: Course, b: Course) -> bool:
    """Whether both processes ran at the same time."""
    if a.started is None or a.ended is None or b.started is None or b.ended is None:
        return False
    shorter = min(a.ended - a.started, b.ended - b.started)
    return shorter > 0 and min(a.ended, b.ended) - max(a.started, b.started) > _BESIDE * shorter


def common(a: Series, b: Series) -> tuple[Index, Index]:
    """Rows of two series in step order at the steps that both have, the first row of each step."""
    i = np.flatnonzero(np.concatenate([[True], a.steps[1:] != a.steps[:-1]])[: len(a)])
    j = np.searchsorted(b.steps, a.steps[i])
    i, j = i[j < len(b)], j[j < len(b)]
    both = a.steps[i] == b.steps[j]
    return i[both], j[both]


def process(attempt: Attempt) -> tuple[str, str] | None:
    """Host and process id, from the facts or from the name of an event file; None where neither has them.

    Two that differ are two processes; equal ones may be two containers of one name.
    """
    if "host" in attempt.facts and "pid" in attempt.facts:
        return str(attempt.facts["host"]), str(attempt.facts["pid"])
    match = _EVENT_FILE.search(PART.sub("", attempt.name))
    return (match[1], match[2]) if match else None


def natural(name: str) -> tuple[list[tuple[bool, str, int]], str]:
    """Sort key with numbers by value: run-2 before run-10."""
    words = [w for w in re.split(r"(\d+)", name) if w]
    return [(w.isdecimal(), "" if w.isdecimal() else w, int(w) if w.isdecimal() else 0) for w in words], name
