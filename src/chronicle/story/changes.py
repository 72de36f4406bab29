"""Changes of schedule and batch that a log shows inside an attempt; joins tell those at restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np

from chronicle.metrics.values import count
from chronicle.model import Event, EventKind, Floats, Quantity, Role, Track
from chronicle.story.measured import Ground, stated

_RATE_LOG = math.log(1.2)  # a learning rate that jumps by less is its schedule
_STANDS_OUT = 8.0  # times what it moves by around it: a warm-up and a decay are no changes
_AROUND = 10  # samples
_BATCH_LOG = math.log(1.01)
_MOST = 12  # changes of one series told one by one; more are one event


def changes(ground: Ground) -> Iterator[Event]:
    """Each jump of the learning rate and of the batch size on its own, or all in one where they are many."""
    for role, kind, name, least in (
        (Role.LEARNING_RATE, EventKind.SCHEDULE, "learning rate", _RATE_LOG),
        (Role.BATCH_SIZE, EventKind.BATCH, "batch size", _BATCH_LOG),
    ):
        tracks = ground.timeline.by_role(role)
        track = max(tracks, key=len, default=None)
        if track is not None:
            groups = [g for k in np.unique(track.attempt).tolist() for g in _jumps(track, k, least)]
            if len(groups) > _MOST:
                groups = [list(chain.from_iterable(groups))]
            yield from (_event(ground, track, kind, name, group) for group in groups)


def _jumps(track: Track, attempt: int, least: float) -> list[list[int]]:
    """Rows of the track after which the value is another one, and moved far more than around it.

    Jumps of neighbouring samples in one direction, such as a warm-up of few samples, are together.
    """
    rows = np.flatnonzero((track.attempt == attempt) & np.isfinite(track.values) & (track.values > 0))
    moves = np.diff(np.log(track.values[rows]))
    # A linear ramp moves evenly by amount, an exponential one by ratio: a jump does neither.
    scales = np.abs(moves), np.abs(np.diff(track.values[rows]))
    found = [
        i
        for i in np.flatnonzero(scales[0] >= least).tolist()
        if len(moves) > 1 and all(_stands_out(sizes, i) for sizes in scales)
    ]
    jumps = np.array(found, np.int64)
    apart = (np.diff(jumps) > 1) | (np.diff(np.sign(moves[jumps])) != 0)
    return [rows[group + 1].tolist() for group in np.split(jumps, np.flatnonzero(apart) + 1) if len(group)]


def _stands_out(sizes: Floats, i: int) -> bool:
    around = np.delete(sizes[max(i - _AROUND, 0) : i + _AROUND + 1], min(i, _AROUND))
    return bool(sizes[i] >= _STANDS_OUT * np.median(around))


def _event(ground: Ground, track: Track, kind: EventKind, name: str, jumps: list[int]) -> Event:
    """One jump, or several as one: the row of each."""
    first, last = jumps[0], jumps[-1]
    attempt, begin, end = int(track.attempt[first]), int(track.steps[first]), int(track.steps[last])
    before, after = track.values[:first][track.attempt[:first] == attempt][-1], track.values[last]
    ends, verb = f"from {stated(before)} to {stated(after)}", "rose" if after > before else "fell"
    short = f"at {ground.axis.place(begin)}"
    told = f"{verb} {ends} {short}"
    if len(jumps) > 1:
        over, short = f"over {ground.axis.places(begin, end)}", f"in {count(len(jumps))} stages"
        one_way = len(set(np.sign(np.diff(track.values[jumps], prepend=before)).tolist())) == 1
        told = (
            f"{verb} {ends} {short} {over}"
            if one_way
            else f"changed {count(len(jumps))} times {over}, {ends}"
        )
    return Event(
        f"{kind.value.replace(' ', '-')}-a{attempt + 1}-{begin}",
        kind,
        kind.value.capitalize(),
        f"The {name} {told}.",
        f"{name} {stated(before)} → {stated(after)} {short}",
        step=begin,
        end_step=end if len(jumps) > 1 else None,
        attempt=ground.timeline.attempts[attempt].name,
        live=bool(track.live[first]),
        numbers=(Quantity("before", before, stated(before)), Quantity("after", after, stated(after))),
    )
