"""Ticks and what they say: at round values, short, and never two of the same name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.ticker import MaxNLocator

from chronicle.figures.scale import Scale
from chronicle.figures.text import power
from chronicle.metrics.values import count

_LONGEST_TICK = 7  # characters that fit left of a panel
_LOW_PANEL_PX = 120

SECONDS = "second"  # the name of an axis of wall clock, see chronicle.timeline.axes
_CLOCK = (
    (1, "s", (1, 2, 5, 10, 20, 30)),
    (60, "min", (1, 2, 5, 10, 20, 30)),
    (3600, "h", (1, 2, 3, 6, 12)),
    (86_400, "d", (1, 2, 5, 10, 20, 50)),
)

Ticks = Sequence[tuple[float, str]]


def step_ticks(first: float, last: float, most: int) -> Ticks:
    """Whole steps in [first, last] with their labels."""
    places = _inside(MaxNLocator(most, integer=True).tick_values(first, last), first, last)
    return list(zip(places, step_labels(places), strict=True))


def time_ticks(first: float, last: float, most: int) -> Ticks:
    """Whole hours, days, … in [first, last], which are seconds: ``12 h``, ``3 d``."""
    strides = [(n, size, unit) for size, unit, numbers in _CLOCK for n in numbers]
    wide = strides[-1]
    n, size, unit = next((s for s in strides if (last - first) / (s[0] * s[1]) <= most), wide)
    stride = n * size * max(1, math.ceil((last - first) / (n * size * most)))
    places = [k * stride for k in range(math.ceil(first / stride), math.floor(last / stride) + 1)]
    return [(float(at), f"{count(at / size)} {unit}" if at else "0") for at in places]


def value_ticks(scale: Scale, height_px: float) -> Ticks:
    """Values of a panel's y axis with their labels."""
    if scale.log:
        return [(value, log_label(value)) for value in log_ticks(scale.low, scale.high)]
    most = 5 if height_px > _LOW_PANEL_PX else 3
    places = _inside(MaxNLocator(most).tick_values(scale.low, scale.high), scale.low, scale.high)
    return list(zip(places, value_labels(places), strict=True))


def step_labels(ticks: Sequence[float]) -> list[str]:
    """Steps on an axis: ``15 k``, ``1.2 M``; in full where a shorter form would repeat itself."""
    largest = max(map(abs, ticks), default=0)
    for size, unit, least in ((1e6, " M", 1e6), (1e3, " k", 1e4)):
        shown = [f"{tick / size:g}{unit}" if tick else "0" for tick in ticks]
        if largest >= least and len(set(shown)) == len(ticks) and max(map(len, shown)) <= _LONGEST_TICK:
            return shown
    return [count(tick) for tick in ticks]


def value_labels(ticks: Sequence[float]) -> list[str]:
    """Values on an axis, all with as many digits as tell them apart: ``2.05``, ``1.5e−4``."""
    largest = max(map(abs, ticks), default=0)
    if not ticks:
        return []
    for form in (f".{n}f" for n in range(6)) if 1e-3 <= largest < 1e6 or not largest else ():
        texts = [count(tick) if form == ".0f" else f"{tick:{form}}" for tick in ticks]
        if (
            _exact([float(f"{tick:{form}}") for tick in ticks], ticks)
            and max(map(len, texts)) <= _LONGEST_TICK
        ):
            return [text.replace("-", "−") for text in texts]
    for digits in range(5):
        if _exact([float(f"{tick:.{digits}e}") for tick in ticks], ticks):
            break
    return [power(tick, digits) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """At most five ticks of a logarithmic axis: whole decades, and some between where they are few."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 2:
        stride = -(-(last - first + 1) // 5)
        return [10.0**power for power in range(-(-first // stride) * stride, last + 1, stride)]
    leads = (1, 2, 5) if high / low < 50 else (1, 3)
    ticks = [lead * 10.0**power for power in range(first - 1, last + 1) for lead in leads]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if inside else [math.sqrt(low * high)]


def log_label(value: float) -> str:
    """A value on a logarithmic axis: ``0.1``, ``100``, ``1e-6``."""
    return f"{value:g}" if 1e-3 <= abs(value) < 1e5 else power(value, 0)


def _exact(said: Sequence[float], ticks: Sequence[float]) -> bool:
    """Whether labels that say ``said`` are off by less than a hundredth of the distance of two ticks."""
    gap = min((b - a for a, b in pairwise(ticks) if b > a), default=max(map(abs, ticks), default=1))
    return all(abs(a - b) <= 0.01 * gap for a, b in zip(said, ticks, strict=True))


def _inside(places: Sequence[float], first: float, last: float) -> list[float]:
    return [float(place) for place in places if first <= place <= last]
