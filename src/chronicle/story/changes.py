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
        track = max(tracks, key=len, default=None)
        if track is not None:
            found = [(k, i) for k in np.unique(track.attempt).tolist() for i in _jumps(track, k, least)]
            groups = [found] if len(found) > _MOST else [[jump] for jump in found]
            yield from (_event(ground, track, kind, name, group) for group in groups)


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


def _event(ground: Ground, track: Track, kind: EventKind, name: str, jumps: list[tuple[int, int]]) -> Event:
    """One jump, or all of them as one ramp: (attempt, row) of each."""
    (attempt, first), (_, last) = jumps[0], jumps[-1]
    begin, end = int(track.steps[first]), int(track.steps[last])
    before, after = track.values[:first][track.attempt[:first] == attempt][-1], track.values[last]
    ends = f"from {stated(before)} to {stated(after)}"
    if len(jumps) == 1:
        where = f"at {ground.axis.place(begin)}"
        sentence = f"The {name} {'rose' if after > before else 'fell'} {ends} {where}."
    else:
        where = f"in {count(len(jumps))} stages"
        over = ground.axis.places(begin, end)
        sentence = f"The {name} changed {count(len(jumps))} times over {over}, {ends}."
    return Event(
        f"{kind.value.replace(' ', '-')}-a{attempt + 1}-{begin}",
        kind,
        kind.value.capitalize(),
        sentence,
        f"{name} {stated(before)} → {stated(after)} {where}",
        step=begin,
        end_step=end if len(jumps) > 1 else None,
        attempt=ground.timeline.attempts[attempt].name,
        live=bool(track.live[first]),
        numbers=(Quantity("before", before, stated(before)), Quantity("after", after, stated(after))),
    )
