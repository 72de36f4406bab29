"""Changes of schedule and batch that a log shows inside an attempt; joins tell those at restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from chronicle.metrics.values import count
from chronicle.model import Event, EventKind, Quantity, Role, Track
from chronicle.story.measured import Ground, stated

_RATE_LOG = math.log(1.2)  # a learning rate that jumps by less is its schedule
_STANDS_OUT = 8.0  # times what it moves by around it: a warm-up and a decay are no changes
_AROUND = 10  # samples
_BATCH_LOG = math.log(1.01)
_MOST = 12  # changes of one series told one by one; more are a ramp, and one event


def changes(ground: Ground) -> Iterator[Event]:
    """Each jump of the learning rate and of the batch size on its own, or all in one where they are many."""
    for role, kind, name, least in (
        (Role.LEARNING_RATE, EventKind.SCHEDULE, "learning rate", _RATE_LOG),
        (Role.BATCH_SIZE, EventKind.BATCH, "batch size", _BATCH_LOG),
    ):
        tracks = ground.timeline.by_role(role)
        if not tracks:
            continue
        track = max(tracks, key=len)
        found = [(k, i) for k in np.unique(track.attempt).tolist() for i in _jumps(track, k, least)]
        if len(found) > _MOST:
            yield _ramp(ground, track, kind, name, found)
        else:
            yield from (_change(ground, track, kind, name, k, i) for k, i in found)


def _jumps(track: Track, attempt: int, least: float) -> list[int]:
    """Rows of the track after which the value is another one, and moved far more than around it."""
    rows = np.flatnonzero((track.attempt == attempt) & np.isfinite(track.values) & (track.values > 0))
    moves = np.abs(np.diff(np.log(track.values[rows])))
    found = []
    for i in np.flatnonzero(moves >= least).tolist():
        around = np.delete(moves[max(i - _AROUND, 0) : i + _AROUND + 1], min(i, _AROUND))
        if len(around) and moves[i] >= _STANDS_OUT * float(np.median(around)):
            found.append(int(rows[i + 1]))
    return found


def _change(ground: Ground, track: Track, kind: EventKind, name: str, attempt: int, row: int) -> Event:
    before = track.values[:row][track.attempt[:row] == attempt][-1]
    after, step = track.values[row], int(track.steps[row])
    verb = "rose" if after > before else "fell"
    ends = f"{stated(before)} to {stated(after)}"
    return Event(
        f"{kind.value.replace(' ', '-')}-a{attempt + 1}-{step}",
        kind,
        kind.value.capitalize(),
        f"The {name} {verb} from {ends} at {ground.axis.place(step)}.",
        f"{name} {stated(before)} → {stated(after)} at {ground.axis.place(step)}",
        step=step,
        attempt=ground.timeline.attempts[attempt].name,
        live=bool(track.live[row]),
        numbers=(Quantity("before", before, stated(before)), Quantity("after", after, stated(after))),
    )


def _ramp(ground: Ground, track: Track, kind: EventKind, name: str, found: list[tuple[int, int]]) -> Event:
    (attempt, first), (_, last) = found[0], found[-1]
    begin, end = int(track.steps[first]), int(track.steps[last])
    before, after = float(track.values[max(first - 1, 0)]), float(track.values[last])
    told = f"The {name} changed {count(len(found))} times over {ground.axis.places(begin, end)}, "
    return Event(
        f"{kind.value.replace(' ', '-')}-a{attempt + 1}-{begin}",
        kind,
        kind.value.capitalize(),
        f"{told}from {stated(before)} to {stated(after)}.",
        f"{name} {stated(before)} → {stated(after)} in {count(len(found))} stages",
        step=begin,
        end_step=end,
        attempt=ground.timeline.attempts[attempt].name,
        numbers=(Quantity("before", before, stated(before)), Quantity("after", after, stated(after))),
    )
