"""The level before an event, where it would be by now, and when the series is back at it."""

from __future__ import annotations

import math

from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel.layout import Memory, Row


def baseline(event: Row, i: float) -> float:
    """The level before the event, moved on along its trend in log samples, twice as far as it was seen."""
    until = min(i, event[at.ONSET] + event[at.SPAN])
    return event[at.BASE] + event[at.SLOPE] * math.log((until + 8.0) / (event[at.ONSET] + 8.0))


def tolerance(cfg: Row, height: float, noise: float) -> float:
    """How far above the baseline still counts as back: a share of the height, capped, or within the noise."""
    return max(min(cfg[at.BACK] * height, cfg[at.BACK_CAP]), cfg[at.BACK_NOISE] * noise)


def baseline_level(mem: Memory, k: int) -> int:
    """The level that knows the baseline: means of four samples or more, unless they lag above."""
    coarse = max(k, 1) if mem.levels[1][at.COUNT] >= 6.0 else 0
    return k if mem.levels[coarse][at.MEAN] > mem.levels[k][at.MEAN] else coarse


def set_slope(mem: Memory, event: Row, finest: int, i: float) -> None:
    """Slope of the baseline in log samples, from the coarsest level where it stands out of the noise.

    An exponentially weighted mean with a memory that grows as n/4 lags 0.8 of it, hence 1.25.
    """
    for k in range(finest, at.LEVELS):
        q = mem.levels[k]
        if k > finest and q[at.FRESH] < 12.0:
            return
        memory = min(max(q[at.FRESH] / 4.0, 2.0), mem.config[at.MEMORY]) * at.BLOCK[k]
        fall = q[at.MEAN2] - q[at.MEAN]
        if fall > 2.0 * q[at.NOISE]:
            event[at.SLOPE] = -1.25 * fall / memory * max(i + 8.0 - memory, 8.0)
            event[at.SPAN] = 8.0 * memory
