"""From tracks to what a panel draws: segments that are live or dead, lines of segments, panels of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronicle.model import Floats, Role, Track

_MOST_RUNS = 8  # an attempt whose points are overtaken one by one is drawn as two curves, not as crumbs
_LARGEST = 1e290  # what is beyond would overflow when a margin is added


@dataclass(frozen=True, eq=False)
class Segment:
    """Points of one attempt that are all live or all dead: ascending steps, both arrays float64[n]."""

    steps: Floats
    values: Floats
    live: bool

    def inside(self, first: float, last: float) -> Segment:
        """The points in [first, last]; a view, maybe empty."""
        a, b = np.searchsorted(self.steps, first, "left"), np.searchsorted(self.steps, last, "right")
        return Segment(self.steps[a:b], self.values[a:b], self.live)

    def within(self, first: float, last: float) -> Segment | None:
        """The points in [first, last] and one neighbour on each side, so that the curve reaches the frame."""
        a, b = np.searchsorted(self.steps, first, "left"), np.searchsorted(self.steps, last, "right")
        if a == b and (a == 0 or b == len(self.steps)):
            return None
        rows = slice(max(0, a - 1), b + 1)
        return Segment(self.steps[rows], self.values[rows], self.live)


@dataclass(frozen=True, eq=False)
class Line:
    """One metric in a panel: how it is called on the line, and its colour (a token) and dash."""

    name: str
    metric: str
    segments: Sequence[Segment]
    token: str = "live"
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over one y axis; ``unit`` is None where nobody declared one."""

    name: str
    unit: str | None
    role: Role
    lines: Sequence[Line]

    @property
    def metrics(self) -> set[str]:
        """The metrics that the panel shows."""
        return {line.metric for line in self.lines}

    def segments(self) -> list[Segment]:
        """All segments of all lines."""
        return [segment for line in self.lines for segment in line.segments]

    def points(self, first: float, last: float) -> int:
        """Finite points in [first, last]."""
        return sum(int(np.isfinite(s.inside(first, last).values).sum()) for s in self.segments())


def segments(track: Track, attempt: int | None = None) -> list[Segment]:
    """The track (or one attempt of it) cut where the attempt changes and where a later one overtook it."""
    which = np.unique(track.attempt) if attempt is None else [attempt]
    return [part for k in which for part in _of_attempt(track, track.attempt == k) if len(part.steps)]


def _of_attempt(track: Track, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[Segment]:
    rows: Any = slice(None) if mine.all() else mine  # a long log is not copied for nothing
    steps, values, live = track.steps[rows].astype(np.float64), track.values[rows], track.live[rows]
    if (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, values, live = steps[order], values[order], live[order]
    if (too_large := (np.abs(values) > _LARGEST) & np.isfinite(values)).any():
        values = np.where(too_large, np.copysign(_LARGEST, values), values)
    cuts = np.flatnonzero(np.diff(live)) + 1
    if len(cuts) > _MOST_RUNS:
        yield Segment(steps[~live], values[~live], False)
        yield Segment(steps[live], values[live], True)
        return
    for a, b in zip([0, *cuts], [*cuts, len(live)], strict=True):
        # A dead branch starts one sample before the cut: it is seen to leave the live line.
        part = slice(a if live[a] else max(0, a - 1), b)
        yield Segment(steps[part], values[part], bool(live[a]))
