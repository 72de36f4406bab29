"""Tracks: every metric over all attempts, each point live or dead; and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Series, Steps, Timeline, Track
from chronicle.timeline.courses import Mask, clock
from chronicle.timeline.trainings import Training

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


def discarded(timeline: Timeline) -> Mapping[str, Any]:
    """What was trained and thrown away.

    ``discarded_steps`` (sum over joins), ``discarded_s`` (wall clock of the dead points; None where it was
    not logged), ``live_steps`` (span of the live course, summed over separate trainings), ``total_steps``.
    """
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
        # Wall clock from its last live point, else its first, to its end, if it has dead ones.
        timed = logged & np.isfinite(track.times)
        dead, alive = track.times[timed & ~track.live], track.times[timed & track.live]
        if len(dead):
            before = alive[alive <= dead.min()]
            seconds.append(float(dead.max() - (before.max() if len(before) else dead.min())))
    live_steps = sum(max(span) - min(span) for span in ends.values())
    return {
        "discarded_steps": (lost := sum(join.discarded_steps for join in timeline.joins)),
        "discarded_s": sum(seconds) if seconds else None,
        "live_steps": live_steps,
        "total_steps": live_steps + lost,
    }
