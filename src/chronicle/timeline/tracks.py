"""Tracks: every metric over all attempts, each point live or dead; and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Series, Steps, Timeline, Track
from chronicle.timeline.courses import Mask, clock
from chronicle.timeline.trainings import Training

_Points = tuple[Steps, NDArray[np.int32], Mask]  # steps, attempt, and which are live


def tracks(attempts: Sequence[Attempt], trainings: Sequence[Training]) -> dict[str, Track]:
    """One track a metric: the points of every attempt one after the other, with the live mask.

    Metrics that are logged at the same steps share the arrays that say so.
    """
    course, known = _LiveCourse(len(attempts), trainings), dict[int, _Points]()
    logged: dict[str, list[tuple[int, Series]]] = {}
    for k, attempt in enumerate(attempts):
        for metric, series in attempt.series.items():
            logged.setdefault(metric, []).append((k, series))
    return {metric: _track(metric, parts, course, known) for metric, parts in logged.items()}


def _track(
    metric: str, logged: Sequence[tuple[int, Series]], course: _LiveCourse, known: dict[int, _Points]
) -> Track:
    """The track of a metric; ``known`` holds the points of the last metric that was logged so often."""
    first = logged[0][1]
    steps = _joined([s.steps for _, s in logged])
    attempt = np.repeat(np.array([k for k, _ in logged], np.int32), [len(s) for _, s in logged])
    points = known.get(len(steps))
    if not (points and np.array_equal(steps, points[0]) and np.array_equal(attempt, points[1])):
        known[len(steps)] = points = steps, attempt, course.live(steps, attempt)
    return Track(
        metric=metric,
        role=first.role,
        steps=points[0],
        values=_joined([s.values for _, s in logged]),
        times=_joined([s.times for _, s in logged]),
        unit=next((s.unit for _, s in logged if s.unit), None),
        dataset=first.dataset,
        attempt=points[1],
        live=points[2],
    )


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The parts one after the other; one alone is not copied."""
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def within(series: Mapping[str, Track], attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts with their points as parts of the tracks, so that memory holds them once."""
    return tuple(
        replace(one, series={m: _part(series[m], s, k) for m, s in one.series.items()})
        for k, one in enumerate(attempts)
    )


def _part(track: Track, series: Series, k: int) -> Series:
    at = int(np.searchsorted(track.attempt, np.int32(k)))  # of its own type, or all of it would be converted
    rows = slice(at, at + len(series))
    return replace(series, steps=track.steps[rows], values=track.values[rows], times=track.times[rows])


class _LiveCourse:
    """What is left of each attempt on the live course of its training: its steps below the first step of a
    later attempt that rolled back, but for those that a later attempt logged once more."""

    def __init__(self, attempts: int, trainings: Sequence[Training]) -> None:
        self._training = np.full(attempts, -1)  # -1: it is not on the course of one
        self._cut = np.zeros(attempts, bool)
        self._below = np.zeros(attempts, np.int64)  # steps, where it was cut
        for number, training in enumerate(trainings):
            for piece in training.live():
                k = piece.course.index
                self._training[k], self._cut[k] = number, piece.bound is not None
                self._below[k] = piece.bound or 0
        on = self._training[self._training >= 0]
        self._joined = len(on) > len(np.unique(on))

    def live(self, steps: Steps, attempt: NDArray[np.int32]) -> Mask:
        """Which points live, of the steps of all attempts one after the other."""
        mask = (self._training[attempt] >= 0) & (~self._cut[attempt] | (steps < self._below[attempt]))
        if not self._joined:
            return mask
        rows = np.flatnonzero(mask)
        training = self._training[attempt[rows]]
        order = np.lexsort((steps[rows], training))  # keeps attempts in order within a step
        rows, training = rows[order], training[order]
        ends = np.append((steps[rows[1:]] != steps[rows[:-1]]) | (training[1:] != training[:-1]), True)
        last = np.flatnonzero(ends[: len(rows)])
        latest = np.repeat(attempt[rows[last]], np.diff(last, prepend=-1))
        mask[rows[attempt[rows] != latest]] = False
        return mask


def live(track: Track) -> tuple[Steps, Floats]:
    """Steps and values of the live points, in the order of their steps."""
    rows = np.flatnonzero(track.live)
    rows = rows[np.argsort(track.steps[rows], kind="stable")]
    return track.steps[rows], track.values[rows]


def discarded(timeline: Timeline) -> Mapping[str, Any]:
    """What was trained and thrown away.

    ``discarded_steps`` (sum over joins), ``discarded_s`` (wall clock of the dead points; None where it was
    not logged), ``live_steps`` (span of the live course, summed over separate trainings), ``total_steps``.
    """
    lost = sum(j.discarded_steps for j in timeline.joins)
    source = {j.after: j.before for j in timeline.joins}
    training: dict[int, int] = {}  # by the attempt that no join leads into
    ends: dict[int, list[int]] = {}
    seconds: list[float] = []
    for k, attempt in enumerate(timeline.attempts):
        ticks = clock(attempt)
        if ticks is None:
            continue
        training[k] = training[source[k]] if k in source else k
        track = timeline.series[ticks.metric]
        logged = track.attempt == k
        steps = track.steps[track.live & logged]
        if len(steps):
            ends.setdefault(training[k], []).extend((int(steps.min()), int(steps.max())))
        seconds += _dead_seconds(track, logged & np.isfinite(track.times))
    live_steps = sum(max(span) - min(span) for span in ends.values())
    return {
        "discarded_steps": lost,
        "discarded_s": sum(seconds) if seconds else None,
        "live_steps": live_steps,
        "total_steps": live_steps + lost,
    }


def _dead_seconds(track: Track, timed: Mask) -> Iterator[float]:
    """Wall clock of an attempt from its last live point (else its first) to its end, if it has dead ones."""
    dead, alive = track.times[timed & ~track.live], track.times[timed & track.live]
    if len(dead):
        start = alive[alive <= dead.min()]
        yield float(dead.max() - (start.max() if len(start) else dead.min()))
