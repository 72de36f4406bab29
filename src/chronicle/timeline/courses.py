"""What stitching asks of an attempt: its clock series, the steps it spans, when it ran."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import UsageError
from chronicle.metrics.judged import shown_loss
from chronicle.model import Attempt, Floats, Role, Series, Steps

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

PART = re.compile(r"#\d+$")  # ends the name of one attempt of several in a log, see `split`
SCHEDULES = frozenset(
    (Role.LEARNING_RATE, Role.EPOCH, Role.TOKENS, Role.SAMPLES, Role.BATCH_SIZE, Role.LOSS_SCALE)
)  # planned before the run: equal in two attempts, whatever happened in them

_EVENT_FILE = re.compile(r"tfevents\.\d+\.(.+?)\.(\d+)\.\d+(?:\.v2)?$")
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
    started: float  # [Unix s] first and last wall clock; NaN where the log has none
    ended: float
    index: int = -1

    @property
    def name(self) -> str:
        """Name of the attempt."""
        return self.attempt.name

    @cached_property
    def gap(self) -> float:
        """Logging interval of the clock [steps]."""
        return step_gap(self.clock)

    @cached_property
    def slack(self) -> float:
        """What may be missing at its end [steps], a tenth of it: the last lines of a killed process."""
        return _HOLE * (self.last - self.first)


@dataclass(frozen=True, eq=False)
class Spans:
    """Of many attempts what `reached` and `side_by_side` ask of one, float64[n] each."""

    started: Floats
    ended: Floats
    last: Floats
    gap: Floats
    slack: Floats


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
        started=min((float(t.min()) for t in times), default=math.nan),
        ended=max((float(t.max()) for t in times), default=math.nan),
    )


def clock(attempt: Attempt) -> Series | None:
    """The series that tells the attempt's course: the judged loss, else what has most points."""
    filled = [s for s in attempt.series.values() if len(s)]
    if not filled:
        return None
    worth = _WORTH * max(map(len, filled))
    return shown_loss(s for s in filled if len(s) >= worth) or min(filled, key=_rank)


def _rank(series: Series) -> tuple[bool, int, int, str]:
    return (series.role in SCHEDULES, -len(series), len(series.metric), series.metric)


def step_gap(series: Series) -> float:
    """Median distance of two logged steps (1 where there is nothing to measure)."""
    gaps = np.diff(series.steps.astype(np.float64))
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


def reached(before: Course | Spans, after: Course) -> Mask:
    """Whether an attempt got as far as another one begins, but for two logging intervals or its slack."""
    missing = np.maximum(np.maximum(2 * before.gap, before.slack), 2 * after.gap)
    return np.asarray(before.last + missing >= float(after.first))


def side_by_side(a: Course | Spans, b: Course) -> Mask:
    """Whether both processes ran at the same time; not where one of the clocks is unknown."""
    shorter = np.minimum(a.ended - a.started, b.ended - b.started)
    together = np.minimum(a.ended, b.ended) - np.maximum(a.started, b.started)
    return np.asarray((shorter > 0) & (together > _BESIDE * shorter))


def common(a: Series, b: Series) -> tuple[Index, Index]:
    """Rows of two series in step order at the steps that both have, the first row of each step."""
    i = heads(a.steps)
    j = np.searchsorted(b.steps, a.steps[i])
    i, j = i[j < len(b)], j[j < len(b)]
    both = a.steps[i] == b.steps[j]
    return i[both], j[both]


def heads(steps: Steps) -> Index:
    """The first row of each step of a series in step order."""
    return np.flatnonzero(np.append(True, steps[1:] != steps[:-1])[: len(steps)])


def process(attempt: Attempt) -> tuple[str, str] | None:
    """Host and process id, from the facts or from the name of an event file; None where neither has them.

    Two that differ are two processes; equal ones may be two containers of one name.
    """
    if "host" in attempt.facts and "pid" in attempt.facts:
        return str(attempt.facts["host"]), str(attempt.facts["pid"])
    match = _EVENT_FILE.search(PART.sub("", attempt.name))
    return (match[1], match[2]) if match else None


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Sort key with numbers by value: run-2 before run-10. Of two numbers the longer one is the larger."""
    numbers = ((w.isdecimal(), w.lstrip("0")) for w in re.split(r"(\d+)", name) if w)
    return [(len(digits), digits) if is_number else (-1, digits) for is_number, digits in numbers], name


Log = list[Course]  # the attempts of one file, in the order of its rows


def in_order(
    courses: Sequence[Course], others: Sequence[Attempt], order: Sequence[str]
) -> tuple[list[Course], list[str]]:
    """Attempts in the order they ran, and the doubts about it.

    ``order`` may also name ``others``, copies and attempts without points, which have no place in it.
    """
    found, doubts = _found_out(sorted(courses, key=lambda c: natural(c.name)))
    return (_as_told(found, others, order), []) if order else (found, doubts)


def _as_told(courses: Sequence[Course], others: Sequence[Attempt], order: Sequence[str]) -> list[Course]:
    names = [c.name for c in courses] + [a.name for a in others]
    place: dict[str, int] = {}
    for k, word in enumerate(order):
        meant = [n for n in names if word in (n, PART.sub("", n))]
        if not meant:
            raise UsageError(f"order names {word!r}, which is no attempt. Attempts: {', '.join(names)}")
        place |= {n: k for n in meant if n not in place}
    return sorted(courses, key=lambda c: place.get(c.name, len(order)))


def _found_out(by_name: Sequence[Course]) -> tuple[list[Course], list[str]]:
    logs = _by_log(by_name)
    by_step = sorted(logs, key=lambda log: min(c.first for c in log))
    if not any(math.isnan(c.started) for c in by_name):
        by_clock = sorted(by_name, key=lambda c: c.started)
        chain = _flat(by_step)
        late = [(a, b) for a, b in pairwise(chain) if a.started > b.started]
        if not late or _nothing_twice(by_clock) or not _abut(chain):
            return by_clock, []
        return chain, [_clock_doubt(*late[0])]
    if len(logs) == 1 or _nothing_twice(_flat(by_step)):
        return _flat(by_step), []
    numbered = _numbered(logs)
    doubts = [] if numbered and logs == by_step else [_doubt(numbered)]
    return _flat(logs if numbered else by_step), doubts


def _by_log(courses: Sequence[Course]) -> list[Log]:
    logs: dict[tuple[tuple[str, ...], str], Log] = {}
    for one in courses:
        logs.setdefault((one.attempt.sources, PART.sub("", one.name)), []).append(one)
    return list(logs.values())


def _nothing_twice(courses: Sequence[Course]) -> bool:
    """Whether no step was trained twice in this order: a chain of resumes needs no other evidence."""
    return all(a.last <= b.first for a, b in pairwise(courses))


def _abut(courses: Sequence[Course]) -> bool:
    """Whether each begins where the one before ended."""
    return all(0 <= b.first - a.last <= 2 * max(a.gap, b.gap) for a, b in pairwise(courses))


def _numbered(logs: Sequence[Log]) -> bool:
    """Whether what sets the names apart is a number: run-5-blue, run-6. People count what they launch."""
    words = [re.split(r"(\d+)", log[0].name) for log in logs]
    apart = next((k for k in range(min(map(len, words))) if len({w[k] for w in words}) > 1), None)
    return apart is not None and apart % 2 == 1 and len({w[apart].lstrip("0") for w in words}) == len(logs)


def _flat(logs: Sequence[Log]) -> list[Course]:
    return [one for log in logs for one in log]


def _clock_doubt(one: Course, other: Course) -> str:
    return (
        f"By wall clock {one.name} ran after {other.name}, which begins where it ends: a clock was off, and "
        f"the steps give the order. `order` in run.toml decides."
    )


def _doubt(numbered: bool) -> str:
    by = (
        "the numbers in their names, against the order of their first steps"
        if numbered
        else "their first steps"
    )
    return (
        f"Logs overlap in steps and not all have wall clock times: the order of the attempts is taken from "
        f"{by}. `order` in run.toml decides."
    )
