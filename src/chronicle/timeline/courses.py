"""Finds the clock and the span of an attempt, and in which order attempts ran: by run.toml, times or
steps."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import UsageError
from chronicle.metrics.aliases import step_gap
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.roles import AnySeries, shown_metric
from chronicle.metrics.values import grouped, natural
from chronicle.model import Attempt, Role, Series, Timeline, cached_by_object

Index = NDArray[np.intp]
PART = re.compile(r"#\d+$")  # at the end of the name of one of several attempts in a log, see `split`
_ALL_PARTS = re.compile(r"(?:#\d+)+$")  # a log may hold several launches, and a launch several attempts
# Planned before the run, and so equal in two attempts that otherwise differ.
SCHEDULES = {Role.LEARNING_RATE, Role.EPOCH, Role.TOKENS, Role.SAMPLES, Role.BATCH_SIZE, Role.LOSS_SCALE}
_EVENT_FILE = re.compile(r"tfevents\.\d+\.(.+?)\.(\d+)\.\d+(?:\.v2)?$")
_DENSE_SHARE = 0.5  # a series with at least this share of the clock's points counts for the span
_MISSING_SHARE = 0.1  # share of an attempt that may be missing at its end
_CLOCK_OFF = (
    "The wall clock says that {late} ran after {early}, which begins at the step where {late} ends. A clock "
    "was taken to be wrong, and the order to be that of the steps. State another with `order` in run.toml."
)
_OVERLAP = (
    "Logs overlap in steps and not all have wall clock times. The order of the attempts was taken from {by}. "
    "State another with `order` in run.toml."
)
_CLOCK_SHARE = 0.05  # a loss with a smaller share of the points is too sparse for a clock


@dataclass(frozen=True)
class Course:
    """An attempt with points; ``index`` is its place in the timeline. Its span is that of every series about
    as dense as the clock: a value that every process logs at step 0 would make each resume a new start."""

    attempt: Attempt
    clock: Series
    first: int
    last: int
    started: float  # [Unix s]; NaN where the log has no times
    ended: float  # [Unix s]
    index: int = -1

    @property
    def name(self) -> str:
        return self.attempt.name

    @cached_property
    def gap(self) -> float:
        """Logging interval of the clock [steps]."""
        return step_gap(self.clock)

    @cached_property
    def slack(self) -> float:
        """How many steps may be missing at its end, since a killed process loses its last lines."""
        return _MISSING_SHARE * (self.last - self.first)


def course(attempt: Attempt) -> Course | None:
    """The course of an attempt whose rows are sorted by step; None if it has no points."""
    if (ticks := clock(attempt)) is None:
        return None
    fewest = max(1.0, _DENSE_SHARE * len(ticks))
    # A bar that is drawn empty shows its epoch and nothing else; a single value that is not known may be a
    # setting, or stand for a result that is still to come (`hp_metric` of Lightning).
    others = (s for s in attempt.series.values() if len(s) > 1 or s.role is not Role.OTHER)
    trained = [ticks, *(s for s in others if s is not ticks and s.role is not Role.EPOCH)]
    dense = [s.steps for s in trained if len(s) >= fewest]
    started, ended = wall_clock(attempt)
    first, last = min(int(s[0]) for s in dense), max(int(s[-1]) for s in dense)
    return Course(attempt, ticks, first, last, started, ended)


def is_counter(series: Series) -> bool:
    """Whether the values are growing whole numbers from 0 or 1, such as the episodes of an agent."""
    values = series.values
    begins = len(values) > 1 and values[0] in (0, 1)
    return bool(begins and (values == np.floor(values)).all() and (values[1:] > values[:-1]).all())


@cached_by_object
def wall_clock(attempt: Attempt) -> tuple[float, float]:
    """First and last time of any series [Unix s]; NaN without times."""
    if not (times := [t for s in distinct_in(attempt) if len(t := finite_of(s.times))]):
        return math.nan, math.nan
    return min(float(t.min()) for t in times), max(float(t.max()) for t in times)


@cached_by_object
def clock(attempt: Attempt) -> Series | None:
    """The series whose steps and times stand for the attempt: the judged loss, else the longest series."""
    if not (filled := [s for s in attempt.series.values() if len(s)]):
        return None
    worth = _CLOCK_SHARE * max(map(len, filled))
    longest = min(filled, key=lambda s: (s.role in SCHEDULES, -len(s), len(s.metric), s.metric))
    return shown_metric(s for s in filled if len(s) >= worth) or longest


def process(attempt: Attempt) -> tuple[str, str] | None:
    """Host and process id, by the facts or the name of an event file, if known; containers may share both."""
    if "host" in attempt.facts and "pid" in attempt.facts:
        return str(attempt.facts["host"]), str(attempt.facts["pid"])
    match = _EVENT_FILE.search(PART.sub("", attempt.name))
    return (match[1], match[2]) if match else None


def by_name(name: str) -> tuple[Any, ...]:
    """Sort key of attempts: natural order, with names that begin with a digit last."""
    return name[:1].isdecimal(), natural(name)


def in_order(
    courses: Sequence[Course], others: Sequence[Attempt], order: Sequence[str]
) -> tuple[list[Course], list[str]]:
    """The attempts in the order they ran, and the doubts about it. ``order`` may also name ``others`` (copies
    and attempts without points), which are not ordered."""
    ordered, doubts = _by_evidence(sorted(courses, key=lambda c: by_name(c.name)))
    names = [c.name for c in ordered] + [a.name for a in others]
    place: dict[str, int] = {}
    for k, word in enumerate(order):
        if not (meant := [n for n in names if word in (n, PART.sub("", n))]):
            raise UsageError(f"order names {word!r}, which is no attempt. Attempts: {', '.join(names)}")
        place = {**dict.fromkeys(meant, k), **place}
    ordered.sort(key=lambda c: place.get(c.name, len(order)))
    return ordered, [] if order else doubts


def _by_evidence(courses: Sequence[Course]) -> tuple[list[Course], list[str]]:
    # Those of one file are in the order of its rows.
    logs = grouped(courses, lambda c: (c.attempt.sources, _ALL_PARTS.sub("", c.name)))
    by_step = list(chain(*sorted(logs.values(), key=lambda log: min(c.first for c in log))))
    if not any(math.isnan(c.started) for c in courses):
        by_clock = sorted(courses, key=lambda c: c.started)
        late = [(a, b) for a, b in pairwise(by_step) if a.started > b.started]
        abut = all(0 <= b.first - a.last <= 2 * max(a.gap, b.gap) for a, b in pairwise(by_step))
        if not late or _no_step_twice(by_clock) or not abut:
            return by_clock, []
        return by_step, [_CLOCK_OFF.format(late=late[0][0].name, early=late[0][1].name)]
    if len(logs) == 1 or _no_step_twice(by_step):
        return by_step, []
    chosen, by = by_step, "their first steps"
    if _numbered([log[0].name for log in logs.values()]):
        chosen, by = list(chain(*logs.values())), "the numbers in their names, against the order of " + by
    return chosen, [] if chosen is not by_step and chosen == by_step else [_OVERLAP.format(by=by)]


def _no_step_twice(courses: Sequence[Course]) -> bool:
    """Whether no step was trained twice in this order: it is then a chain of resumes."""
    return all(a.last <= b.first for a, b in pairwise(courses))


def _numbered(names: Sequence[str]) -> bool:
    """Whether the names first differ in a number, as run-5-blue and run-6: people number what they launch."""
    words = [re.split(r"(\d+)", name) for name in names]
    apart = next((k for k in range(min(map(len, words))) if len({w[k] for w in words}) > 1), None)
    return apart is not None and apart % 2 == 1 and len({w[apart].lstrip("0") for w in words}) == len(names)


def one_of_each(series: Collection[AnySeries]) -> Collection[AnySeries]:
    """One series of all those that share their arrays of steps and times, as the columns of a table do."""
    return {(id(s.steps), id(s.times), id(getattr(s, "live", None))): s for s in series}.values()


def step_ends(series: Iterable[Series]) -> tuple[int, int] | None:
    """The first and the last step of some series; None if they have no point."""
    steps = [s.steps for s in series if len(s)]
    return (min(int(s.min()) for s in steps), max(int(s.max()) for s in steps)) if steps else None


@cached_by_object
def distinct_in(log: Attempt | Timeline) -> Collection[Any]:
    """The distinct series of an attempt, or tracks of a run."""
    return one_of_each(log.series.values())
