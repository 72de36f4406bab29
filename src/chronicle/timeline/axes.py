"""Tracks, every metric over all attempts, each point live or dead; and what else they may stand over.

A timeline may be had over samples, tokens or wall clock instead of steps. Two runs of different batch sizes
agree over samples and not over steps, and so do two halves of one run whose batch grew. Every attempt gets a
table from step to place, out of the best that it logged; between its rows a straight line, beyond them the
line of the last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import UsageError
from chronicle.model import Attempt, Finding, Floats, Role, Series, Steps, Timeline, Track
from chronicle.timeline.courses import Mask, clock
from chronicle.timeline.joins import COSTS
from chronicle.timeline.trainings import Training
from chronicle.workspace.config import AXES

_WORDS = {"step": "step", "samples": "sample", "tokens": "token", "time": "second"}
_BATCHES = ("global_batch_size", "train_batch_size", "total_batch_size", "effective_batch_size")
_FARTHEST = 2.0**62
_LARGEST = 1e12  # of a batch; what is larger is no size
_NEEDS = {
    "samples": "a series of samples or of batch sizes, or a global batch size in its configuration",
    "tokens": "a series of tokens (or `tokens_per_step` in run.toml)",
    "time": "wall clock times",
}


@dataclass(frozen=True, eq=False)
class Table:
    """From steps (ascending, float64[n]) to places on another axis (not descending); ``how`` it was made."""

    steps: Floats
    places: Floats
    how: str

    def at(self, steps: Steps | Floats) -> Floats:
        """The places of steps; beyond both ends the slope of the whole table goes on."""
        x = np.asarray(steps, np.float64)
        inside: Floats = np.interp(x, self.steps, self.places)
        width = self.steps[-1] - self.steps[0]
        slope = float(self.places[-1] - self.places[0]) / width if width > 0 else 0.0
        beyond = np.minimum(x - self.steps[0], 0) + np.maximum(x - self.steps[-1], 0)
        places: Floats = np.clip(inside + slope * beyond, -_FARTHEST, _FARTHEST)
        return places


@dataclass(frozen=True, eq=False)
class OnAxis:
    """A timeline whose steps are places on ``axis`` ("step", "sample", "token" or "second").

    ``tables`` put them there, one an attempt (None: as they were), and ``how`` says what those are made of.
    """

    timeline: Timeline
    axis: str
    how: str
    tables: Sequence[Table | None]

    def place(self, attempt: int | None, step: int) -> int:
        """Where a step of an attempt stands (None: of the latest one that begins at or before it)."""
        if attempt is None:
            begun = [k for k, t in enumerate(self.tables) if t is not None and t.steps[0] <= step]
            attempt = [0, *begun][-1]
        return int(_placed(np.array([step]), self.tables[attempt])[0])

    def finding(self, finding: Finding) -> Finding:
        """The finding over this axis; what its evidence says stays in steps."""
        named = [attempt.name for attempt in self.timeline.attempts]
        k = named.index(finding.attempt) if finding.attempt in named else None
        steps = {name: getattr(finding, name) for name in ("start_step", "peak_step", "end_step")}
        places: dict[str, Any] = {n: self.place(k, step) for n, step in steps.items() if step is not None}
        return replace(finding, **places)


def on_axis(timeline: Timeline, axis: str, *, tokens_per_step: float = 0.0) -> OnAxis:
    """The timeline over another axis: "step", "samples", "tokens", or "time" (seconds since its first point).

    Samples come from a logged counter, else from batch sizes cumulated over steps, else from the global
    batch size that a configuration states; tokens from a logged counter, else from tokens of single steps
    cumulated, else from ``tokens_per_step``. Where an attempt has no counter it goes on from the place at
    which the attempt before it stood at its first step. The live mask stays as it is.

    Raises:
        UsageError: another axis, or an attempt that logged nothing to derive it from.
    """
    if axis not in AXES:
        raise UsageError(f"axis must be one of {', '.join(map(repr, AXES))}, not {axis!r}")
    if axis == "step":
        return OnAxis(timeline, "step", "as logged", [None] * len(timeline.attempts))
    source = {join.after: join.before for join in timeline.joins}
    tables: list[Table | None] = []
    for k, attempt in enumerate(timeline.attempts):
        before, table, ticks = tables[source[k]] if k in source else None, None, clock(attempt)
        if ticks is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # logged values may be as large as floats get
                table = next(_tables(attempt, ticks, axis, before, tokens_per_step), None)
            if table is None:
                raise UsageError(f"{attempt.name} has no {axis} axis: it needs {_NEEDS[axis]}")
        tables.append(table)
    if axis == "time":
        begin = min((float(t.places[0]) for t in tables if t is not None), default=0.0)
        tables = [t and replace(t, places=t.places - begin) for t in tables]
    how = ", ".join(dict.fromkeys(t.how for t in tables if t is not None))
    over = OnAxis(timeline, _WORDS[axis], how, tables)
    return replace(over, timeline=_moved(over))


def _moved(over: OnAxis) -> Timeline:
    timeline, place = over.timeline, over.place

    def moved(attempt: Attempt, table: Table | None) -> Attempt:
        series = {m: replace(s, steps=_placed(s.steps, table)) for m, s in attempt.series.items()}
        return replace(attempt, axis=over.axis, series=series)

    def moved_track(track: Track) -> Track:
        steps = track.steps.copy()
        for k in np.unique(track.attempt).tolist():
            rows = track.attempt == k
            steps[rows] = _placed(track.steps[rows], over.tables[k])
        return replace(track, steps=steps)

    placed = (None if f.at_step is None else place(None, f.at_step) for f in timeline.faults)
    return replace(
        timeline,
        attempts=tuple(map(moved, timeline.attempts, over.tables)),
        joins=tuple(
            replace(j, from_step=place(j.before, j.from_step), to_step=place(j.after, j.to_step))
            for j in timeline.joins
        ),
        series={m: moved_track(track) for m, track in timeline.series.items()},
        faults=tuple(replace(f, at_step=step) for f, step in zip(timeline.faults, placed, strict=True)),
    )


def _tables(
    attempt: Attempt, ticks: Series, axis: str, before: Table | None, tokens_per_step: float
) -> Iterator[Table]:
    """All ways from the steps of an attempt to an axis, the best first."""
    if axis == "time":
        timed = np.isfinite(ticks.times)
        if timed.any():
            yield Table(*_rising(ticks.steps[timed], ticks.times[timed]), "wall clock")
        return
    for series in attempt.by_role(Role(axis)):
        ok = np.isfinite(series.values)
        values = series.values[ok]
        if len(values) > 1 and (np.diff(values) >= 0).all() and values[-1] > values[0]:  # a counter
            yield Table(*_rising(series.steps[ok], values), f"{series.metric}, as logged")
    role, how = Role.BATCH_SIZE, "{}, cumulated"
    sizes = {name: attempt.facts.get(f"config/{name}") for name in _BATCHES}
    if axis == "tokens":
        role, how = Role.TOKENS, "{} of each step, cumulated"
        sizes = {"tokens_per_step": tokens_per_step}
    for series in attempt.by_role(role):
        yield from _cumulated(series, before, how.format(series.metric))
    for name, size in sizes.items():
        if isinstance(size, int | float) and 0 < size < _LARGEST:
            ends = np.array([ticks.steps[0], max(ticks.steps[-1], ticks.steps[0] + 1)], np.float64)
            places = _base(before, ends[0], size) + size * (ends - ends[0])
            yield Table(ends, places, f"step × {name}")


def _cumulated(series: Series, before: Table | None, how: str) -> Iterator[Table]:
    """Each step adds what was last logged; the first logged value holds from the step before on."""
    ok = np.isfinite(series.values) & (series.values > 0)
    if ok.any():
        steps, each = series.steps[ok].astype(np.float64), series.values[ok]
        base = _base(before, steps[0], each[0])
        places = base + np.concatenate([[0.0], np.cumsum(np.diff(steps) * each[1:])])
        steps, places = _rising(steps, places)
        if len(steps) == 1:
            steps, places = np.array([steps[0], steps[0] + 1]), np.array([places[0], places[0] + each[0]])
        yield Table(steps, places, how)


def _base(before: Table | None, step: float, each: float) -> float:
    """Where the attempt before stood at a step; without one all earlier steps were of this size."""
    return each * step if before is None else float(before.at(np.array([step]))[0])


def _rising(steps: Steps | Floats, places: Floats) -> tuple[Floats, Floats]:
    """One row a step, the last of equal ones; places as they are, clipped to what an integer holds."""
    kept = np.append(steps[1:] != steps[:-1], True)
    y = np.clip(np.nan_to_num(places[kept]), -_FARTHEST, _FARTHEST)
    return np.asarray(steps, np.float64)[kept], np.maximum.accumulate(y)


def _placed(steps: Steps, table: Table | None) -> Steps:
    return steps if table is None else np.rint(table.at(steps)).astype(np.int64)


_Attempts = NDArray[np.int32]  # of each point the attempt that logged it


def tracks(attempts: Sequence[Attempt], trainings: Sequence[Training]) -> dict[str, Track]:
    """One track a metric: the points of every attempt one after the other, with the live mask.

    Metrics that are logged at the same steps share the arrays that say so.
    """
    alive = _live_course(len(attempts), trainings)
    known: dict[tuple[int, ...], tuple[Steps, _Attempts, Mask]] = {}  # of what was last logged so often
    logged: dict[str, dict[int, Series]] = {}
    for k, piece in enumerate(attempts):
        for metric, series in piece.series.items():
            logged.setdefault(metric, {})[k] = series
    made = {}
    for metric, by_attempt in logged.items():
        parts = [*by_attempt.values()]
        steps = _joined([s.steps for s in parts])
        lengths = [*map(len, parts)]
        points = known.get((*by_attempt, *lengths))
        if not (points and (steps is points[0] or np.array_equal(steps, points[0]))):
            attempt = np.repeat(np.array([*by_attempt], np.int32), lengths)
            known[*by_attempt, *lengths] = points = steps, attempt, alive(steps, attempt)
        made[metric] = Track(
            metric=metric,
            role=parts[0].role,
            steps=points[0],
            values=_joined([s.values for s in parts]),
            times=_joined([s.times for s in parts]),
            unit=next((s.unit for s in parts if s.unit), None),
            dataset=parts[0].dataset,
            attempt=points[1],
            live=points[2],
        )
    return made


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The parts one after the other; one alone is not copied."""
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def within(series: Mapping[str, Track], attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts with their points as parts of the tracks, so that memory holds them once."""

    def part(track: Track, own: Series, k: int) -> Series:
        if own.steps is track.steps and own.values is track.values:
            return own  # the only one there is
        at = int(np.searchsorted(track.attempt, np.int32(k)))  # of its type, or all of it would be converted
        rows = slice(at, at + len(own))
        return replace(own, steps=track.steps[rows], values=track.values[rows], times=track.times[rows])

    return tuple(
        replace(attempt, series={m: part(series[m], s, k) for m, s in attempt.series.items()})
        for k, attempt in enumerate(attempts)
    )


def _live_course(attempts: int, trainings: Sequence[Training]) -> Callable[[Steps, _Attempts], Mask]:
    """Which points live, asked with the steps of all attempts one after the other and the attempt of each:
    those below the first step of a later attempt of their training that rolled back, but for those that a
    later attempt logged once more."""
    home = np.full(attempts, -1)  # the training; -1: it is not on the course of one
    cut, below = np.zeros(attempts, bool), np.zeros(attempts, np.int64)
    for number, training in enumerate(trainings):
        for piece in training.live():
            k = piece.course.index
            home[k], cut[k], below[k] = number, piece.bound is not None, piece.bound or 0
    joined = len(home[home >= 0]) > len(np.unique(home[home >= 0]))

    def alive(steps: Steps, attempt: _Attempts) -> Mask:
        mask = (home[attempt] >= 0) & (~cut[attempt] | (steps < below[attempt]))
        if not joined:
            return np.asarray(mask)
        rows = np.flatnonzero(mask)
        training = home[attempt[rows]]
        order = np.lexsort((steps[rows], training))  # keeps attempts in order within a step
        rows, training = rows[order], training[order]
        ends = np.append((steps[rows[1:]] != steps[rows[:-1]]) | (training[1:] != training[:-1]), True)
        last = np.flatnonzero(ends[: len(rows)])
        latest = np.repeat(attempt[rows[last]], np.diff(last, prepend=-1))
        mask[rows[attempt[rows] != latest]] = False
        return np.asarray(mask)

    return alive


def live(track: Track) -> tuple[Steps, Floats]:
    """Steps and values of the live points, in the order of their steps."""
    rows = np.flatnonzero(track.live)
    rows = rows[np.argsort(track.steps[rows], kind="stable")]
    return track.steps[rows], track.values[rows]


def discarded(timeline: Timeline) -> dict[str, Any]:
    """What was trained and thrown away.

    ``discarded_steps`` and what they cost (see `chronicle.timeline.joins.COSTS`; None where a join that
    discarded some does not tell), summed over joins; ``live_steps`` (span of the live course, summed over
    separate trainings), ``total_steps``.
    """
    lost = [join for join in timeline.joins if join.discarded_steps]
    costs = {name: [join.evidence.get(name) for join in lost] for name in COSTS}
    steps = sum(join.discarded_steps for join in lost)
    source = {j.after: j.before for j in timeline.joins}
    training: dict[int, int] = {}  # by the attempt that no join leads into
    ends: dict[int, list[int]] = {}
    for k, attempt in enumerate(timeline.attempts):
        if (ticks := clock(attempt)) is not None:
            training[k] = training[source[k]] if k in source else k
            track = timeline.series[ticks.metric]
            rows = slice(*np.searchsorted(track.attempt, np.array([k, k + 1], np.int32)))
            if len(alive := track.steps[rows][track.live[rows]]):
                ends.setdefault(training[k], []).extend((int(alive.min()), int(alive.max())))
    live_steps = sum(max(span) - min(span) for span in ends.values())
    return {
        "discarded_steps": steps,
        **{name: sum(told) if told and None not in told else None for name, told in costs.items()},
        "live_steps": live_steps,
        "total_steps": live_steps + steps,
    }
