"""The y range of a panel, ticks, and the pane that both stand on.

A range shows the body of the curve, not its first steps and not one point at 1e30. Ticks are at round
values, short, and never two of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from chronicle.figures.panels import Segment
from chronicle.figures.style import Tokens, pt, text_px
from chronicle.metrics.values import count, level
from chronicle.model import Floats, Role

LABEL_PX, SMALL_PX = 11.5, 11
SECONDS = "second"  # the name of an axis of wall clock, see chronicle.timeline.axes
RIGHT_PX = 22  # margin at the right of a pane
_TICK_PX, _PAD_PX = 4, 5

_START_SHARE = 0.04  # of the samples of an attempt; a loss begins high, and that is no news
_BODY = (0.002, 0.985)  # quantiles
_REACH_SPANS = 0.5  # all is shown if nothing is further from the body
_PEAK_SPANS = 1.6  # a finding's peak is kept in the frame if it is no further above the body
_LOG_FROM = {Role.GRAD_NORM: 8.0, Role.LOSS_SCALE: 8.0}  # ratio of largest to smallest; other roles:
_LOG_FROM_ELSE = 1e3
_ROW_SHARE = 0.16
_ENOUGH = 100_000  # values; more do not move a quantile by a pixel

_LONGEST_TICK = 7  # characters that fit left of a panel
_LOW_PANEL_PX = 120
_CLOCK = (
    (1, "s", (1, 2, 5, 10, 20, 30)),
    (60, "min", (1, 2, 5, 10, 20, 30)),
    (3600, "h", (1, 2, 3, 6, 12)),
    (86_400, "d", (1, 2, 5, 10, 20, 50)),
)

Ticks = Sequence[tuple[float, str]]
Places = Sequence[float] | Floats
Pair = tuple[float, float]
Box = tuple[float, float, float, float]
Style = dict[str, Any]  # what matplotlib takes


class Window(NamedTuple):
    """The steps that a figure shows, and how wide in CSS pixels."""

    first: float
    last: float
    width: float

    def px(self, step: float) -> float:
        return (step - self.first) / (self.last - self.first) * self.width


@dataclass(frozen=True)
class Scale:
    """The ends of a y axis, and whether it is logarithmic (then both are positive)."""

    low: float
    high: float
    log: bool = False

    def with_headroom(self) -> Scale:
        """Room at the top for a row of marks."""
        if self.log:
            return Scale(self.low, self.high * (self.high / self.low) ** _ROW_SHARE, True)
        return Scale(self.low, self.high + _ROW_SHARE * (self.high - self.low))


def body_scale(segments: Sequence[Segment], role: Role, peaks: Sequence[float] = ()) -> Scale:
    """The range of a whole run: its body with head room, and the peaks of findings that are near enough."""
    bodies = (s.values[len(s.values) // int(1 / _START_SHARE) :] for s in segments)
    body = _finite(values[:: 1 + len(values) // _ENOUGH] for values in bodies)
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
    known = _finite(segment.values for segment in segments)
    return (float(known.min()), float(known.max())) if len(known) else (math.nan, math.nan)


def _finite(arrays: Iterable[Floats]) -> Floats:
    values: Floats = np.concatenate([np.empty(0), *arrays])
    return values[np.isfinite(values)]


def time_ticks(first: float, last: float, most: int) -> Ticks:
    """Whole hours, days, … in [first, last], which are seconds: ``12 h``, ``3 d``."""
    strides = [(n, size, unit) for size, unit, numbers in _CLOCK for n in numbers]
    n, size, unit = next((s for s in strides if (last - first) / (s[0] * s[1]) <= most), strides[-1])
    stride = n * size * max(1, math.ceil((last - first) / (n * size * most)))
    places = [k * stride for k in range(math.ceil(first / stride), math.floor(last / stride) + 1)]
    return [(float(at), f"{count(at / size)} {unit}" if at else "0") for at in places]


def value_ticks(scale: Scale, height_px: float) -> Ticks:
    """Values of a panel's y axis with their labels: ``0.1``, ``100``, ``1e-6`` on a logarithmic one."""
    if scale.log:
        return [
            (value, f"{value:g}" if 1e-3 <= abs(value) < 1e5 else power(value, 0))
            for value in log_ticks(scale.low, scale.high)
        ]
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
        if max(map(len, texts)) <= _LONGEST_TICK and _exact(form, ticks):
            return [text.replace("-", "−") for text in texts]
    digits = next((n for n in range(4) if _exact(f".{n}e", ticks)), 4)
    return [power(tick, digits) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """At most five ticks of a logarithmic axis: whole decades, and some between where they are few."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 2:
        stride = -(-(last - first + 1) // 5)
        return [10.0**power for power in range(-(-first // stride) * stride, last + 1, stride)]
    leads = (1, 2, 5) if high / low < 50 else (1, 3)
    ticks = [lead * 10.0**power for power in range(first - 1, last + 1) for lead in leads]
    return _inside(ticks, low, high) or [math.sqrt(low * high)]


def true_value(value: float) -> str:
    """The value beside a mark that says that the curve goes on beyond the frame."""
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
    """Whether labels of a form are off by less than a hundredth of the distance of two ticks."""
    gap = min((b - a for a, b in pairwise(ticks) if b > a), default=max(map(abs, ticks), default=1))
    return all(abs(float(f"{tick:{form}}") - tick) <= 0.01 * gap for tick in ticks)


def _inside(places: Iterable[float], first: float, last: float) -> list[float]:
    return [float(place) for place in places if first <= place <= last]


class Pane:
    """Axes over a window of steps in the colours of a theme; ``height`` is in CSS pixels.

    Lines, marks and words stand at "data" (a step and a value), "inside" (shares of width and height),
    "steps" (a step and a share of the height) or "values" (a share of the width and a value). The frame is
    ours: matplotlib's own would do, at half of the cost of a figure.
    """

    def __init__(self, figure: Figure, size: Pair, box: Box, window: Window, tokens: Tokens) -> None:
        # box: left, bottom, width and height on a figure of a size
        (left, bottom, width, self.height), (across, up) = box, size
        self.ax = ax = figure.add_axes((left / across, bottom / up, width / across, self.height / up))
        ax.axis("off")
        ax.set_xlim(window.first, window.last)
        self.window, self.tokens = window, tokens
        self.place = {
            "data": ax.transData,
            "inside": ax.transAxes,
            "steps": ax.get_xaxis_transform(),
            "values": ax.get_yaxis_transform(),
        }

    def line(
        self, x: Places, y: Places, token: str, px: float = 1, where: str = "data", **style: Any
    ) -> None:
        self.ax.plot(x, y, color=self.tokens[token], lw=pt(px), transform=self.place[where], **style)

    def uprights(self, steps: Sequence[float], width_px: float, **style: Any) -> None:
        look: Style = {"color": self.tokens["ink2"], "lw": pt(width_px), **style}
        self.ax.vlines(steps, 0, 1, transform=self.place["steps"], **look)

    def mark(
        self, x: Places, y: Places, shape: str | int, size_px: float, token: str, where: str, **style: Any
    ) -> None:
        """Filled markers, which may reach over the edge."""
        look = {"ls": "none", "marker": shape, "ms": pt(size_px), "mew": 0, "clip_on": False, **style}
        self.ax.plot(x, y, color=self.tokens[token], transform=self.place[where], **look)

    def write(
        self,
        words: str,
        at: Pair,
        shift_px: Pair,
        aligned: str,
        token: str = "ink2",
        where: str = "inside",
        **style: Any,
    ) -> None:
        """Text at a place, shifted by CSS pixels; ``aligned`` is horizontal, then vertical."""
        across, up = aligned.split()
        look: Style = {"ha": across, "va": up, "fontsize": pt(LABEL_PX), "color": self.tokens[token], **style}
        shift = pt(shift_px[0]), pt(shift_px[1])
        self.ax.annotate(words, at, shift, self.place[where], "offset points", annotation_clip=False, **look)

    @property
    def halo(self) -> Style:
        """The ground's colour around letters: they can be read over a curve and hide little of it."""
        return {"path_effects": [withStroke(linewidth=pt(4), foreground=self.tokens["page"])]}

    def paint_values(self, ticks: Ticks) -> None:
        """The y axis: a line at the left, a grid line and a label at each tick."""
        self.line([0, 0], [0, 1], "line", where="inside", clip_on=False, zorder=2.6)
        grid: Style = {"color": self.tokens["grid"], "lw": pt(1), "zorder": 0.5}
        self.ax.hlines([y for y, _ in ticks], 0, 1, transform=self.place["values"], **grid)
        for y, label in ticks:
            place = (0, y), (-_PAD_PX, 0), "right center_baseline", "ink2", "values"
            self.write(label, *place, fontsize=pt(SMALL_PX))

    def paint_steps(self, axis: str = "", most_ticks: int = 0) -> None:
        """The line at the foot; of the lowest pane also ticks, their labels, and what they count."""
        self.line([0, 1], [0, 0], "line", where="inside", clip_on=False, zorder=2.6)
        if not axis:
            return
        first, last, width = self.window
        if axis == SECONDS:
            ticks = time_ticks(first, last, most_ticks)
        else:
            steps = _inside(MaxNLocator(most_ticks, integer=True).tick_values(first, last), first, last)
            ticks = list(zip(steps, step_labels(steps), strict=True))
        for x, label in ticks:
            self.mark([x], [0], 3, _TICK_PX, "ink2", "steps", mew=pt(1))
            room_px = (last - x) * (width / (last - first)) + RIGHT_PX - 2
            if room_px >= text_px(label, SMALL_PX) / 2:  # else the edge would cut it
                place = (x, 0), (0, -_TICK_PX - _PAD_PX), "center top", "ink2", "steps"
                self.write(label, *place, fontsize=pt(SMALL_PX))
        self.write("wall clock" if axis == SECONDS else axis, (1, 0), (0, -24), "right top")
