"""The y range of a panel, ticks, and the pane on which both are drawn.

A range shows most of the curve, without its first steps and without a single point at 1e30. Ticks are at
round values; their labels are short and differ from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from chronicle.figures.panels import Segment
from chronicle.figures.sheet import CAPITAL, LABEL_PX, SMALL_PX, Box, Sheet, text_px
from chronicle.metrics.roles import SCORES
from chronicle.metrics.values import count, level
from chronicle.model import Floats, Role
from chronicle.story.measured import finite_values

SECONDS = "second"  # the name of an axis of wall clock, see chronicle.timeline.axes
RIGHT_PX = 22  # margin at the right of a pane
_TICK_PX, _PAD_PX = 4, 5

_START_SHARE = 0.04  # of the samples of an attempt, left out of its body because a loss begins high
_WITH_START = (Role.OBJECTIVE, Role.POLICY_ENTROPY, Role.EXPERT_LOAD)  # their beginning is of interest
_BODY_QUANTILES = (0.002, 0.985)
_REACH_SPANS = 0.5  # everything is shown if nothing is further from the body, in spans of the body
_PEAK_SPANS = 1.6  # the peak of a finding is shown if it is no further above the body
# From this ratio of the largest to the smallest value on, an axis is logarithmic. It is never logarithmic for
# rewards and scores, because on a linear axis one sees that they end near 0.
_LOG_FROM_RATIO = {
    Role.GRAD_NORM: 8.0, Role.LOSS_SCALE: 8.0, **dict.fromkeys((Role.OBJECTIVE, *SCORES), math.inf),
}  # fmt: skip
_LOG_FROM_RATIO_ELSE = 1e3
_MOST_SAMPLED = 100_000  # values for a quantile; more do not move it by a pixel

_TICK_STEPS = (1, 2, 2.5, 5, 10)  # the distance between ticks is one of these times a power of ten
_LONGEST_TICK = 7  # characters that fit left of a panel
_LOW_PANEL_PX = 120  # a lower panel has fewer ticks
_CLOCK = (
    (1, "s", (1, 2, 5, 10, 20, 30)),
    (60, "min", (1, 2, 5, 10, 20, 30)),
    (3600, "h", (1, 2, 3, 6, 12)),
    (86_400, "d", (1, 2, 5, 10, 20, 50)),
)

Ticks = Sequence[tuple[float, str]]
Pair = tuple[float, float]
Number = TypeVar("Number", float, Floats)


class Window(NamedTuple):
    """The steps that a figure shows, and how wide in CSS pixels."""

    first: float
    last: float
    width: float

    def px(self, steps: Number) -> Number:
        """The distance of a step, or of each in an array, from the left edge of a panel."""
        return (steps - self.first) * (self.width / (self.last - self.first))

    def holds(self, steps: Floats) -> NDArray[np.bool_]:
        return (steps >= self.first) & (steps <= self.last)


class Scale(NamedTuple):
    """The ends of a y axis, and whether it is logarithmic (then both are positive)."""

    low: float
    high: float
    log: bool = False

    def share(self, values: Floats) -> Floats:
        """The places of values between the ends: 0 at the lower end, 1 at the upper end."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = math.log(low), math.log(high), np.log(values)
        return np.asarray((values - low) / (high - low), np.float64)

    def beyond(self, share: float) -> float:
        """The value so many heights above the upper end, or below the lower end if negative."""
        end = self.high if share > 0 else self.low
        if self.log:
            return float(end * (self.high / self.low) ** share)
        return end + share * (self.high - self.low)


def y_scale(
    segments: Sequence[Segment], role: Role, peaks: Sequence[float] = (), whole: bool = False
) -> Scale:
    """The range of a panel of the whole run: its body, and the peaks of findings that are near enough. With
    ``whole``, that of a zoom, all values count. The axis of a learning rate starts at 0."""
    known = finite_values(segment.values for segment in segments)
    if not len(known):
        return Scale(0, 1)
    lowest, highest = float(known.min()), float(known.max())
    if role is Role.LEARNING_RATE and lowest >= 0:
        return _widened(0, highest * 1.12)
    low, high = (lowest, highest) if whole or role in _WITH_START else _body(segments, known)
    is_wide = low > 1e-290 and high / low > _LOG_FROM_RATIO.get(role, _LOG_FROM_RATIO_ELSE)
    if log := is_wide and lowest > 0:
        low, high, lowest, highest = (math.log10(value) for value in (low, high, lowest, highest))
        peaks = [math.log10(p) for p in peaks if p > 0]
    span = _span(low, high)
    top, bottom = highest + 0.1 * span, lowest - 0.1 * span
    if highest > high + _REACH_SPANS * span:
        near = [p + 0.08 * span for p in peaks if p < high + _PEAK_SPANS * span]
        top = min(top, max([high + 0.18 * span, *near]))
    if lowest < low - _REACH_SPANS * span:
        bottom = low - 0.18 * span
    return _widened(bottom, max(top, high), log)


def _body(segments: Sequence[Segment], known: Floats) -> Pair:
    later = (s.values[len(s.values) // int(1 / _START_SHARE) :] for s in segments)
    body = finite_values(values[:: 1 + len(values) // _MOST_SAMPLED] for values in later)
    low, high = np.quantile(body if len(body) else known, _BODY_QUANTILES)
    return float(low), float(high)


def _span(low: float, high: float) -> float:
    return max(high - low, 1e-4 * max(abs(low), abs(high)), 1e-12)


def _widened(low: float, high: float, log: bool = False) -> Scale:
    if log:
        return Scale(float(10 ** max(low, -300)), float(10 ** min(high, 300)), True)
    if high - low >= _span(low, high):
        return Scale(float(low), float(high))
    margin = 0.04 * abs(high) or 0.5
    return Scale(low - margin, high + margin)


def time_ticks(first: float, last: float, most: int) -> Ticks:
    """Ticks at whole minutes, hours or days in [first, last], in seconds: ``12 h``, ``3 d``."""
    strides = [(n, size, unit) for size, unit, numbers in _CLOCK for n in numbers]
    n, size, unit = next((s for s in strides if (last - first) / (s[0] * s[1]) <= most), strides[-1])
    stride = n * size * max(1, math.ceil((last - first) / (n * size * most)))
    places = [k * stride for k in range(math.ceil(first / stride), math.floor(last / stride) + 1)]
    return [(float(at), f"{count(at / size)} {unit}" if at else "0") for at in places]


def value_ticks(scale: Scale, height_px: float) -> Ticks:
    """The ticks of a y axis: ``0.1``, ``100``; ``1e-6`` on a logarithmic one."""
    if scale.log:
        return [(at, _decade(at)) for at in log_ticks(scale.low, scale.high)]
    places = round_places(scale.low, scale.high, 5 if height_px > _LOW_PANEL_PX else 3)
    return list(zip(places, value_labels(places), strict=True))


def round_places(first: float, last: float, most: int, whole: bool = False) -> list[float]:
    """About ``most``, but at least three, round values in [first, last]; on request only whole numbers."""
    least = 1 if whole and last - first < 3 else 3
    locator = MaxNLocator(most, steps=_TICK_STEPS, integer=whole, min_n_ticks=least)
    return _inside(locator.tick_values(first, last), first, last)


def _decade(value: float) -> str:
    if not 1e-3 <= value < 1e5:
        return power(value, 0)
    return count(value) if value >= 1e3 else f"{value:g}"


def step_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of steps: ``15 k``, ``1.2 M``; in full if short labels would not differ."""
    largest = max(map(abs, ticks), default=0)
    for size, unit, least in ((1e6, " M", 1e6), (1e3, " k", 1e4)):
        shown = [f"{tick / size:g}{unit}" if tick else "0" for tick in ticks]
        if largest >= least and len(set(shown)) == len(ticks) and max(map(len, shown)) <= _LONGEST_TICK:
            return shown
    return [count(tick).replace("-", "−") for tick in ticks]


def value_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of values, with as many digits as are needed to tell them apart: ``2.05``, ``1.5e−4``."""
    largest = max(map(abs, ticks), default=0)
    if not ticks:
        return []
    for form in (f".{n}f" for n in range(6)) if 1e-3 <= largest < 1e6 or not largest else ():
        texts = [count(tick) if form == ".0f" else f"{tick:{form}}" for tick in ticks]
        if max(map(len, texts)) <= _LONGEST_TICK and _exact(form, ticks):
            return [text.replace("-", "−") for text in texts]
    digits = next((n for n in range(4) if _exact(f".{n}e", ticks)), 4)
    return [power(tick, digits) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """At most five ticks of a logarithmic axis: whole decades, and values between them if they are few."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 2:
        stride = -(-(last - first + 1) // 5)
        return [10.0**power for power in range(-(-first // stride) * stride, last + 1, stride)]
    leads = (1, 2, 5) if high / low < 50 else (1, 3)
    ticks = [lead * 10.0**power for power in range(first - 1, last + 1) for lead in leads]
    return _inside(ticks, low, high) or [math.sqrt(low * high)]


def true_value(value: float) -> str:
    """The words for a value that lies beyond the frame."""
    return level(value) if 1e-3 <= abs(value) < 1e5 or not value else power(value, 2)


def power(value: float, digits: int) -> str:
    """A value with its power of ten: ``1.5e−4``."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def _exact(form: str, ticks: Sequence[float]) -> bool:
    gap = min((b - a for a, b in pairwise(ticks) if b > a), default=max(map(abs, ticks), default=1))
    return all(abs(float(f"{tick:{form}}") - tick) <= 0.01 * gap for tick in ticks)


def _inside(places: Iterable[float], first: float, last: float) -> list[float]:
    return [float(place) for place in places if first <= place <= last]


class Pane(NamedTuple):
    """A frame on a sheet. Without a y axis (``scale``), values are shares of the height above the foot."""

    sheet: Sheet
    left: float
    top: float
    height: float
    window: Window
    scale: Scale | None = None

    @property
    def foot(self) -> float:
        return self.top + self.height

    @property
    def right(self) -> float:
        return self.left + self.window.width

    @property
    def box(self) -> Box:
        return self.left, self.top, self.window.width, self.height

    def x(self, steps: Number) -> Number:
        return self.left + self.window.px(steps)

    def y(self, values: Floats) -> Floats:
        shares = self.scale.share(values) if self.scale else values
        return np.asarray(self.foot - shares * self.height, np.float64)

    def uprights(self, steps: Sequence[float], px: float, z: float, **style: object) -> None:
        x = self.x(np.asarray(steps, np.float64))[:, None]
        self.sheet.lines(x, np.array([[self.top, self.foot]]), "ink2", z, px, **style)

    def paint_values(self, ticks: Ticks) -> None:
        self.sheet.line([self.left] * 2, [self.top, self.foot], "line", 2.6)
        heights = self.y(np.array([value for value, _ in ticks]))
        self.sheet.lines(np.array([[self.left, self.right]]), heights[:, None], "grid", 0.5)
        for y, (_, label) in zip(heights, ticks, strict=True):
            self.sheet.mark(label, self.left - _PAD_PX, y, SMALL_PX, anchor="end")

    def paint_steps(self, axis: str = "", most_ticks: int = 0) -> None:
        """The line at the foot; with ``axis``, also ticks with their labels, and what they count."""
        self.sheet.line([self.left, self.right], [self.foot] * 2, "line", 2.6)
        if not axis:
            return
        first, last, _ = self.window
        if axis == SECONDS:
            ticks = time_ticks(first, last, most_ticks)
        else:
            steps = round_places(first, last, most_ticks, whole=True)
            ticks = list(zip(steps, step_labels(steps), strict=True))
        places = self.x(np.array([step for step, _ in ticks]))
        self.sheet.lines(places[:, None], np.array([[self.foot, self.foot + _TICK_PX]]), "ink2", 2.7)
        for x, (_, label) in zip(places, ticks, strict=True):
            if self.right + RIGHT_PX - 2 - x >= text_px(label, SMALL_PX) / 2:  # else the edge would cut it
                place = x, self.foot + _TICK_PX + _PAD_PX + 2 * CAPITAL * SMALL_PX
                self.sheet.write(label, *place, anchor="middle", size_px=SMALL_PX)
        words = "wall clock" if axis == SECONDS else axis
        self.sheet.write(words, self.right, self.foot + 24 + 2 * CAPITAL * LABEL_PX, anchor="end")
