"""Run the kernel over a series: values in, events out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chronicle.classify.thresholds import Thresholds
from chronicle.model import Series


class Kind(StrEnum):
    """What the kernel saw."""

    BACK = "back"  # a rise that came back to its extrapolated baseline
    OPEN = "open"  # a rise that had not come back when the log (or its finite part) ended
    LONE = "lone"  # a rise of one sample
    DROP = "drop"  # a sustained fall to a new best level
    NONFINITE = "nonfinite"  # a stretch of NaN or Inf
    FROZEN = "frozen"  # a stretch of bit-equal values


@dataclass(frozen=True)
class Event:
    """One event of one series. Indices count samples of the series; heights are in log units, sign applied.

    ``end`` is None while it is not over. ``height`` is peak over baseline, ``residual`` what was left of it at
    the end, ``noise`` the one-sample noise scale, ``score`` the evidence in noise scales, ``level_samples``
    how many samples the level of the pyramid averages that saw it, ``abruptness`` the share of the height that
    was gained in one jump (1 jump, 0 ramp).
    """

    kind: Kind
    onset: int
    peak: int
    end: int | None
    height: float
    residual: float
    noise: float
    score: float
    level_samples: int
    abruptness: float
    baseline: float  # transformed level before it
    into_nan: bool  # open because the values turned NaN or Inf
    growth: float  # level at the end over the level when it was first left open, log units
    falling: float  # how much the level still comes down at the end, share of the height
    last: float  # last sample over the baseline, log units
    before: float  # a drop: what the same time before it had gained, log units


def events(series: Series, thresholds: Thresholds, sign: float = 1.0) -> tuple[Event, ...]:
    """All kernel events of a series in order of onset; ``sign`` -1 turns it over (throughput, score, ratio dips)."""
    return ()


def noise_scale(series: Series, thresholds: Thresholds) -> float:
    """One-sample noise of the series in log units, as the kernel knows it at the end."""
    return 0.0
