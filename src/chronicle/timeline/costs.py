"""What the overtaken pieces of a training cost: wall clock, tokens and samples, where they were logged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from chronicle.model import Floats, Role, Series
from chronicle.timeline.clock import Course

COSTS = ("discarded_s", "discarded_tokens", "discarded_samples")
_COUNTERS = {"discarded_tokens": Role.TOKENS, "discarded_samples": Role.SAMPLES}


@dataclass(frozen=True)
class Piece:
    """The steps of an attempt from ``first`` on, and below ``bound`` (None: to its end)."""

    course: Course
    first: int
    bound: int | None

    def __bool__(self) -> bool:
        return self.first <= self.course.last and (self.bound is None or self.bound > self.first)


def costs(pieces: Iterable[Piece]) -> dict[str, float]:
    """Seconds of wall clock, tokens and samples of pieces; a key is there where every piece logged it."""
    pieces = [p for p in pieces if p]
    with np.errstate(over="ignore"):
        counted = {"discarded_s": [_used(p, p.course.clock, p.course.clock.times) for p in pieces]}
        for name, role in _COUNTERS.items():
            counted[name] = [_counted(p, role) for p in pieces]
    known = {n: [v for v in values if v is not None] for n, values in counted.items()}
    sums = {name: sum(found) for name, found in known.items() if found and len(found) == len(pieces)}
    return {name: total for name, total in sums.items() if np.isfinite(total)}


def _counted(piece: Piece, role: Role) -> float | None:
    counter = max(piece.course.attempt.by_role(role), key=len, default=None)
    if counter is None or (np.diff(counter.values[np.isfinite(counter.values)]) < 0).any():
        return None  # it is no counter
    return _used(piece, counter, counter.values)


def _used(piece: Piece, series: Series, reading: Floats) -> float | None:
    """How far a clock or counter went on in a piece, from the last reading before it (else its first one)."""
    ok = np.isfinite(reading)
    steps, reading = series.steps[ok], reading[ok]
    a = int(np.searchsorted(steps, piece.first))
    b = len(steps) if piece.bound is None else int(np.searchsorted(steps, piece.bound))
    return float(reading[b - 1] - reading[max(a - 1, 0)]) if a < b else None
