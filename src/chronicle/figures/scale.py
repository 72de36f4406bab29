"""The y range of a panel: the body of the curve, not its first steps and not one point at 1e30."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from chronicle.figures.curves import Segment
from chronicle.model import Floats, Role

_START_SHARE = 0.04  # of the samples of an attempt; a loss begins high, and that is no news
_BODY = (0.002, 0.985)  # quantiles
_REACH_SPANS = 0.5  # all is shown if nothing is further from the body
_PEAK_SPANS = 1.6  # a finding's peak is kept in the frame if it is no further above the body
_LOG_FROM = {Role.GRAD_NORM: 8.0, Role.LOSS_SCALE: 8.0}  # ratio of largest to smallest; other roles:
_LOG_FROM_ELSE = 1e3
_ROW_SHARE = 0.16
_ENOUGH = 100_000


@dataclass(frozen=True)
class Scale:
    """The ends of a y axis, and whether it is logarithmic (then both are positive)."""

    low: float
    high: float
    log: bool = False


def body_scale(segments: Sequence[Segment], role: Role, peaks: Sequence[float] = ()) -> Scale:
    """The range of a whole run: its body with head room, and the peaks of findings that are near enough."""
    body = _finite(_thinned(s.values[len(s.values) // int(1 / _START_SHARE) :]) for s in segments)
    if not len(body):
        return Scale(0, 1)
    lowest, highest = _extremes(segments)
    low, high = (float(q) for q in np.quantile(body, _BODY))
    if role is Role.LEARNING_RATE and lowest >= 0:
        return _widened(0, highest * 1.12)
    log = _is_log(low, high, role) and lowest > 0
    if log:
        low, high, lowest, highest = (math.log10(value) for value in (low, high, lowest, highest))
        peaks = [math.log10(p) for p in peaks if p > 0]
    span = _span(low, high)
    reach = _REACH_SPANS * span
    near = [p for p in peaks if p < high + _PEAK_SPANS * span]
    top = highest + 0.1 * span
    if highest > high + reach:
        top = min(top, max([high + 0.18 * span, *(p + 0.08 * span for p in near)]))
    bottom = low - 0.18 * span if lowest < low - reach else lowest - 0.1 * span
    return _widened(bottom, max(top, high), log)


def full_scale(segments: Sequence[Segment], role: Role) -> Scale:
    """The range of a zoom: all that is in its window; a learning rate starts at 0."""
    low, high = _extremes(segments)
    if math.isnan(low):
        return Scale(0, 1)
    if role is Role.LEARNING_RATE and low >= 0:
        return _widened(0, high * 1.15)
    if log := _is_log(low, high, role):
        low, high = math.log10(low), math.log10(high)
    span = _span(low, high)
    return _widened(low - 0.08 * span, high + 0.10 * span, log)


def with_headroom(scale: Scale) -> Scale:
    """Room at the top for a row of marks."""
    if scale.log:
        return Scale(scale.low, scale.high * (scale.high / scale.low) ** _ROW_SHARE, True)
    return Scale(scale.low, scale.high + _ROW_SHARE * (scale.high - scale.low))


def _is_log(low: float, high: float, role: Role) -> bool:
    return low > 1e-290 and high / low > _LOG_FROM.get(role, _LOG_FROM_ELSE)


def _span(low: float, high: float) -> float:
    """The distance; for a curve as good as flat what a label can still tell."""
    return max(high - low, 1e-4 * max(abs(low), abs(high)), 1e-12)


def _widened(low: float, high: float, log: bool = False) -> Scale:
    if log:
        return Scale(float(10 ** max(low, -300)), float(10 ** min(high, 300)), True)
    if high - low >= _span(low, high):
        return Scale(float(low), float(high))
    margin = 0.04 * abs(high) or 0.5
    return Scale(low - margin, high + margin)


def _extremes(segments: Sequence[Segment]) -> tuple[float, float]:
    """Smallest and largest finite value; NaN where there is none."""
    ends = []
    for segment in segments:
        values = segment.values
        if np.isinf(np.fmax.reduce(np.abs(values), initial=0)):
            values = _finite([values])
        ends += [float(np.fmin.reduce(values)), float(np.fmax.reduce(values))] if len(values) else []
    return float(np.fmin.reduce([*ends, np.nan])), float(np.fmax.reduce([*ends, np.nan]))


def _thinned(values: Floats) -> Floats:
    """At most some hundred thousand values, evenly: more do not move a quantile by a pixel."""
    return values[:: 1 + len(values) // _ENOUGH]


def _finite(arrays: Iterable[Floats]) -> Floats:
    values: Floats = np.concatenate([np.empty(0), *arrays])
    return values[np.isfinite(values)]
