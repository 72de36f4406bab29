"""Places a timeline on other axes than steps: samples, tokens or wall clock.

Every attempt gets a table from steps to places on the axis, made of the best that it logged. The table is
interpolated, and extrapolated with its mean slope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chronicle.errors import UsageError
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.values import Axis, axis_named
from chronicle.model import Attempt, Entry, Finding, Floats, Role, Series, Steps, Timeline
from chronicle.timeline.courses import clock
from chronicle.workspace.config import AXES

_WORDS = {"step": "step", "samples": "sample", "tokens": "token", "time": "second"}
_BATCHES = ("global_batch_size", "train_batch_size", "total_batch_size", "effective_batch_size")
_FARTHEST_PLACE = 2.0**62
_LARGEST_BATCH = 1e12  # a larger number is not a batch size
_NEEDED_SERIES = {
    "samples": "a series of samples or of batch sizes, or a global batch size in its configuration",
    "tokens": "a series of tokens (or `tokens_per_step` in run.toml)",
    "time": "wall clock times",
}


def axis_of(timeline: Timeline) -> Axis:
    """What the steps of a timeline count; ``step`` if its attempts disagree."""
    return axis_named({attempt.noun for attempt in timeline.attempts})


def axis_of_entry(entry: Entry) -> Axis:
    """What the steps of an entry count; ``step`` if its attempts disagree."""
    return axis_named({row["axis"] for row in entry.attempts})


@dataclass(frozen=True, eq=False)
class StepTable:
    """Maps ascending steps to places on another axis that never descend; ``how`` says what it is made of."""

    steps: Floats
    places: Floats
    how: str

    def at(self, steps: Steps | Floats) -> Floats:
        """The places of steps, extrapolated at both ends with the mean slope of the table."""
        x = np.asarray(steps, np.float64)
        width = self.steps[-1] - self.steps[0]
        slope = float(self.places[-1] - self.places[0]) / width if width > 0 else 0.0
        beyond = x - np.clip(x, self.steps[0], self.steps[-1])
        places = np.interp(x, self.steps, self.places) + slope * beyond
        return np.asarray(np.clip(places, -_FARTHEST_PLACE, _FARTHEST_PLACE))


@dataclass(frozen=True, eq=False)
class OnAxis:
    """A timeline whose steps are places on ``axis`` ("step", "sample", "token" or "second"). ``tables`` has
    the table of each attempt (None: steps are unchanged), ``how`` says what the tables are made of."""

    timeline: Timeline
    axis: str
    how: str
    tables: Sequence[StepTable | None]

    def place(self, attempt: int | None, step: int) -> int:
        """The place of a step of an attempt (None: of the latest one that begins at or before the step)."""
        if attempt is None:
            attempt = [0, *[k for k, t in enumerate(self.tables) if t is not None and t.steps[0] <= step]][-1]
        return int(_placed(np.array([step]), self.tables[attempt])[0])

    def finding(self, finding: Finding) -> Finding:
        """The finding over this axis; its evidence stays in steps."""
        k = self.timeline.index_of.get(finding.attempt or "")
        steps = {name: getattr(finding, name) for name in ("start_step", "peak_step", "end_step")}
        places: dict[str, Any] = {n: self.place(k, step) for n, step in steps.items() if step is not None}
        return replace(finding, **places)


@any_numbers
def on_axis(timeline: Timeline, axis: str, *, tokens_per_step: float = 0.0) -> OnAxis:
    """The timeline over another axis: "step", "samples", "tokens", or "time" (seconds since its first point),
    from a logged counter, else the cumulated sizes of steps, else the configuration or ``tokens_per_step``.
    An attempt without a counter continues from the place of the one before it at the same step. Raises
    UsageError for another axis, or if an attempt logged nothing to derive it from."""
    if axis not in AXES:
        raise UsageError(f"axis must be one of {', '.join(map(repr, AXES))}, not {axis!r}")
    if axis == "step":
        return OnAxis(timeline, "step", "as logged", [None] * len(timeline.attempts))
    source = {join.after: join.before for join in timeline.joins}
    tables: list[StepTable | None] = []
    for k, attempt in enumerate(timeline.attempts):
        before, table, ticks = tables[source[k]] if k in source else None, None, clock(attempt)
        if ticks is not None:
            table = next(_tables(attempt, ticks, axis, before, tokens_per_step), None)
        if ticks is not None and table is None:
            raise UsageError(f"{attempt.name} has no {axis} axis: it needs {_NEEDED_SERIES[axis]}")
        tables.append(table)
    if axis == "time":
        begin = min((float(t.places[0]) for t in tables if t is not None), default=0.0)
        tables = [t and replace(t, places=t.places - begin) for t in tables]
    how = ", ".join(dict.fromkeys(t.how for t in tables if t is not None))
    over = OnAxis(timeline, _WORDS[axis], how, tables)
    return replace(over, timeline=_on_axis(over))


def _on_axis(over: OnAxis) -> Timeline:
    timeline, place = over.timeline, over.place
    moved = []
    for attempt, table in zip(timeline.attempts, over.tables, strict=True):
        own = {m: replace(s, steps=_placed(s.steps, table)) for m, s in attempt.series.items()}
        moved.append(replace(attempt, axis=over.axis, called="", series=own))
    tracks = {}
    for metric, track in timeline.series.items():
        steps = track.steps.copy()
        for k in np.unique(track.attempt).tolist():
            rows = track.attempt == k
            steps[rows] = _placed(track.steps[rows], over.tables[k])
        tracks[metric] = replace(track, steps=steps)
    ends = ((j, place(j.before, j.from_step), place(j.after, j.to_step)) for j in timeline.joins)
    joins = tuple(replace(join, from_step=left, to_step=resumed) for join, left, resumed in ends)
    faults = (f if f.at_step is None else replace(f, at_step=place(None, f.at_step)) for f in timeline.faults)
    return replace(timeline, attempts=tuple(moved), joins=joins, series=tracks, faults=tuple(faults))


def _tables(
    attempt: Attempt, ticks: Series, axis: str, before: StepTable | None, tokens_per_step: float
) -> Iterator[StepTable]:
    """All tables that can be made for an attempt, the best first."""
    if axis == "time":
        if (timed := np.isfinite(ticks.times)).any():
            yield StepTable(*_rising(ticks.steps[timed], ticks.times[timed]), "wall clock")
        return
    for series in attempt.by_role(Role(axis)):
        ok = np.isfinite(series.values)
        values = series.values[ok]
        if len(values) > 1 and (np.diff(values) >= 0).all() and values[-1] > values[0]:  # a counter
            yield StepTable(*_rising(series.steps[ok], values), f"{series.metric}, as logged")
    role, how = Role.BATCH_SIZE, "{}, cumulated"
    sizes = {name: attempt.facts.get(f"config/{name}") for name in _BATCHES}
    if axis == "tokens":
        role, how = Role.TOKENS, "{} of each step, cumulated"
        sizes = {"tokens_per_step": tokens_per_step}
    for series in attempt.by_role(role):
        yield from _cumulated(series, before, how.format(series.metric))
    for name, size in sizes.items():
        if isinstance(size, int | float) and 0 < size < _LARGEST_BATCH:
            ends = np.array([ticks.steps[0], max(ticks.steps[-1], ticks.steps[0] + 1)], np.float64)
            places = _start_of_attempt(before, ends[0], size) + size * (ends - ends[0])
            yield StepTable(ends, places, f"step × {name}")


def _cumulated(series: Series, before: StepTable | None, how: str) -> Iterator[StepTable]:
    """A table in which each step adds the size logged at it or next after it."""
    ok = np.isfinite(series.values) & (series.values > 0)
    if ok.any():
        steps, each = series.steps[ok].astype(np.float64), series.values[ok]
        grown = np.concatenate([[0.0], np.cumsum(np.diff(steps) * each[1:])])
        steps, places = _rising(steps, grown + _start_of_attempt(before, steps[0], each[0]))
        if len(steps) == 1:
            steps, places = np.array([steps[0], steps[0] + 1]), np.array([places[0], places[0] + each[0]])
        yield StepTable(steps, places, how)


def _start_of_attempt(before: StepTable | None, step: float, each: float) -> float:
    """The place of the attempt before at a step; without one, as if all earlier steps had this size."""
    return each * step if before is None else float(before.at(np.array([step]))[0])


def _rising(steps: Steps | Floats, places: Floats) -> tuple[Floats, Floats]:
    """One row for each step (the last one), with places that never fall and fit into an integer."""
    kept = np.append(steps[1:] != steps[:-1], True)
    y = np.clip(np.nan_to_num(places[kept]), -_FARTHEST_PLACE, _FARTHEST_PLACE)
    return np.asarray(steps, np.float64)[kept], np.maximum.accumulate(y)


def _placed(steps: Steps, table: StepTable | None) -> Steps:
    return steps if table is None else np.rint(table.at(steps)).astype(np.int64)
