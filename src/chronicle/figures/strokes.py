"""The curves of a panel: worked out once in data units, then painted in each theme.

A million samples on some hundred pixel columns are minimum, median and maximum of each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.figures.panels import Line, Panel, Segment
from chronicle.figures.scales import RIGHT_PX, SMALL_PX, Pane, Scale, Window, true_value, value_ticks
from chronicle.figures.style import label, pt, text_px
from chronicle.model import Floats

Mask = NDArray[np.bool_]

_DOTS_BELOW, _DOT_PX = 60, 5  # points of a segment, if there is room: each is seen as one
_TALL = 6.0  # times the median column: drawn at full strength, so that one sample among a million is seen
_CLIP_GAP_PX = 60  # marks of clipped values that are closer share one value
_FAR = 50.0  # spans beyond the frame; further out a renderer overflows
_CROSS_PX = 6  # a column of crosses
_NAME_GAP_PX = 15
_DEAD_DASH = (3.2, 2.2)


@dataclass(frozen=True, eq=False)
class Stroke:
    """One curve in data units. ``low`` and ``high`` are None where every sample is drawn.

    ``tall`` marks columns that hold an extreme, ``dots`` the points that need a dot.
    """

    x: Floats
    mid: Floats
    low: Floats | None
    high: Floats | None
    dots: Mask
    tall: Mask
    live: bool
    token: str
    dash: tuple[float, ...]

    def paint(self, pane: Pane, width_px: float = 1.6) -> None:
        """Shade from minimum to maximum, extremes at full strength, the median over both."""
        z, token = (3, self.token) if self.live else (2, "dead")
        x, low, high, colour = self.x, self.low, self.high, pane.tokens[token]
        if low is not None and high is not None:
            if self.live:
                pane.ax.fill_between(x, low, high, color=colour, alpha=0.30, lw=0, zorder=z - 0.2)
            extremes = x[self.tall], low[self.tall], high[self.tall]
            pane.ax.vlines(*extremes, color=colour, lw=pt(1.1), zorder=z - 0.1)
        dash, width_px = (self.dash, width_px) if self.live else (_DEAD_DASH, 1.5)
        pane.line(x, self.mid, token, width_px, ls=(0, dash) if dash else "-", zorder=z)
        pane.mark(x[self.dots], self.mid[self.dots], "o", 3.6, token, "data", clip_on=True, zorder=z)


@dataclass(frozen=True)
class Clip:
    """The curve leaves the frame at step ``x`` and reaches ``value`` there.

    The value stands at the right (1) or left (-1) of the mark, or not at all (0) where another one stands.
    """

    x: float
    value: float
    above: bool
    token: str
    side: int = 1

    def paint(self, pane: Pane) -> None:
        """A triangle on the frame at the true step, the true value beside it."""
        edge, shape, up, shift_px = (1, "^", "top", -3) if self.above else (0, "v", "bottom", 3)
        pane.mark([self.x], [edge], shape, 7, self.token, "steps", zorder=8)
        if self.side:
            aligned = f"{'left' if self.side > 0 else 'right'} {up}"
            place = (self.x, edge), (7 * self.side, shift_px), aligned, self.token, "steps"
            pane.write(
                true_value(self.value), *place, fontsize=pt(SMALL_PX), weight="bold", zorder=8, **pane.halo
            )


@dataclass(frozen=True, eq=False)
class Missing:
    """Steps (one a pixel column) whose logged value is not a number, and the word for it."""

    x: Floats
    word: str

    def paint(self, pane: Pane) -> None:
        """A row of crosses below the upper edge, with the word where there is room for it."""
        y, first, last = 0.92, float(self.x[0]), float(self.x[-1])
        heights = np.full(len(self.x), y)
        pane.mark(self.x, heights, "x", 5, "bad", "steps", mew=pt(1.3), clip_on=True, zorder=8)
        px = pane.window.width / (pane.window.last - pane.window.first)
        at, shift, side = first, (-8, 0), "right"
        if (first - pane.window.first) * px < 60:
            at, shift, side = last, (8, 0), "left"
            if (pane.window.last - last) * px < 60:
                at, shift = first, (-3, -14)
        place = (at, y), shift, f"{side} center", "bad", "steps"
        pane.write(self.word, *place, weight="bold", zorder=8, **pane.halo)


@dataclass(frozen=True, eq=False)
class Curves:
    """One panel: what it draws in data units, and its height."""

    panel: Panel
    scale: Scale
    strokes: Sequence[Stroke]
    clips: Sequence[Clip]
    missing: Missing | None
    height: float

    @classmethod
    def of(cls, panel: Panel, scale: Scale, height: float, window: Window) -> Curves:
        gaps = missing(panel, window)
        if gaps:
            scale = scale.with_headroom()
        return cls(panel, scale, strokes(panel, scale, window), clips(panel, scale, window), gaps, height)

    def paint(self, pane: Pane, lift_px: float) -> None:
        """Paints curves, y axis and, so far above the frame, the label."""
        panel, scale = self.panel, self.scale
        if scale.log:
            pane.ax.set_yscale("log")
        for stroke in self.strokes:
            stroke.paint(pane)
        pane.ax.set_ylim(scale.low, scale.high)
        for clip in self.clips:
            clip.paint(pane)
        if self.missing:
            self.missing.paint(pane)
        if len(panel.lines) > 1:
            self._name_lines(pane)
        visible = any(np.isfinite(stroke.mid).any() for stroke in self.strokes)
        pane.paint_values(value_ticks(scale, self.height) if visible else ())
        title = label(panel.name, panel.unit, scale.log, pane.window.width + RIGHT_PX - 4)
        pane.write(title, (0, 1), (0, lift_px), "left bottom")

    def _name_lines(self, pane: Pane) -> None:
        """The name of each line of several at its right end, one above the other where lines end together."""
        ends = []
        for line in self.panel.lines:
            own = [s for s in self.strokes if s.token == line.token and s.live and np.isfinite(s.mid).any()]
            if own:
                stroke, window = max(own, key=lambda s: float(np.nanmax(s.x))), pane.window
                known, x = np.isfinite(stroke.mid), min(float(np.nanmax(stroke.x)), window.last)
                # The middle height of the curve along the way that its name takes, at the right end.
                way = np.linspace(max(x - 0.06 * (window.last - window.first), window.first), x, 9)
                y = float(np.median(np.interp(way, stroke.x[known], stroke.mid[known])))
                ends.append((float(pane.place["data"].transform((x, y))[1]) / 2, x, line))
        bottom = float(pane.place["inside"].transform((0, 0))[1]) / 2
        lowest = bottom + 2
        for y_px, x, line in sorted(ends, key=lambda end: end[0]):
            lowest = max(lowest, y_px + 5)
            y = min(lowest - bottom, self.height - 14) / self.height
            lowest += _NAME_GAP_PX
            place = (x, y), (-2, 0), "right bottom", line.token, "steps"
            pane.write(line.name, *place, weight="bold", zorder=7, **pane.halo)


def strokes(panel: Panel, scale: Scale, window: Window) -> list[Stroke]:
    """The curves of a panel over a window, dead ones first (they lie under everything)."""
    joined = []
    for live in (False, True):
        for line in panel.lines:
            parts = (s.inside(window.first, window.last, 1) for s in line.segments if s.live is live)
            drawn = [_stroke(line, part, scale, window) for part in parts if len(part.steps)]
            for shaded in (False, True):
                same = [stroke for stroke in drawn if (stroke.low is not None) is shaded]
                joined += [_joined(same)] if same else []
    return joined


def _stroke(line: Line, part: Segment, scale: Scale, window: Window) -> Stroke:
    first, last, width = window
    columns = int(width)
    x, mid, low, high = part.steps, part.values, None, None
    spanned = columns * (min(x[-1], last) - max(x[0], first)) / (last - first)
    if len(x) > max(2 * spanned, _DOTS_BELOW):
        x, *heights = envelope(x, mid, first, last, columns)
        low, mid, high = (_near(height, scale) for height in heights)
        height = np.log(heights[2] / heights[0]) if scale.log else heights[2] - heights[0]
        known = height[np.isfinite(height)]  # a column is tall beside the others, as they are seen
        tall = height > _TALL * np.median(known) if len(known) else np.zeros(len(x), bool)
        dots = _alone(mid)
    else:
        mid, tall = _near(np.where(np.isfinite(mid), mid, np.nan), scale), np.zeros(len(x), bool)
        few = len(x) < _DOTS_BELOW and spanned > _DOT_PX * len(x)
        dots = np.isfinite(mid) if few else _alone(mid)
    return Stroke(x, mid, low, high, dots, tall, part.live, line.token, line.dash)


def _joined(parts: list[Stroke]) -> Stroke:
    """Strokes of one kind as one with gaps: a renderer is slow in things, not in points."""

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if arrays[0] is None:
            return None
        gap = [False] if arrays[0].dtype == bool else [np.nan]
        return np.concatenate([piece for array in arrays for piece in (array, gap)][:-1])

    return replace(parts[0], **{name: joined(name) for name in ("x", "mid", "low", "high", "dots", "tall")})


def _near(values: Floats, scale: Scale) -> Floats:
    """Values far outside of the frame pulled nearer: nothing that is seen changes, nothing overflows."""
    if scale.log:
        return np.clip(values, scale.low / 1e9, scale.high * 1e9)
    span = scale.high - scale.low
    return np.clip(values, scale.low - _FAR * span, scale.high + _FAR * span)


def _alone(values: Floats) -> Mask:
    """Points between two NaN, which no line reaches."""
    known = np.isfinite(values)
    alone = known.copy()
    alone[1:] &= ~known[:-1]
    alone[:-1] &= ~known[1:]
    return alone


class Envelope(NamedTuple):
    """One entry a column that holds a sample: its centre on the step axis, and minimum, median, maximum.

    A column whose samples are all NaN or Inf has NaN: the line breaks there. Columns without a sample are
    left out, so that the line goes on over steps that were never logged.
    """

    centre: Floats
    low: Floats
    mid: Floats
    high: Floats


def envelope(steps: Floats, values: Floats, first: float, last: float, columns: int) -> Envelope:
    """Min, median and max of each of ``columns`` equal parts of [first, last].

    Args:
        steps: ascending float64[n], n >= 1; those outside of [first, last] count to the outer columns.
        values: float64[n]; what is not finite is left out.
        first, last: the ends of the axis, first < last. One grid for all curves of a panel, else a short
            attempt would look thicker than a long one.
    """
    column = np.clip((steps - first) * (columns / (last - first)), 0, columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    finite = np.where(np.isfinite(values), values, np.nan)
    parts = np.split(finite, starts[1:])
    if np.isnan(finite).any():
        parts = [part[~np.isnan(part)] for part in parts]
    return Envelope(
        centre=np.asarray(first + (column[starts] + 0.5) * ((last - first) / columns), np.float64),
        low=np.fmin.reduceat(finite, starts),
        mid=np.array([_median(part) if len(part) else np.nan for part in parts]),
        high=np.fmax.reduceat(finite, starts),
    )


def _median(values: Floats) -> float:
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))  # np.median does this too, at four times the cost
    return float(ordered[low] + ordered[high]) / 2


def clips(panel: Panel, scale: Scale, window: Window) -> list[Clip]:
    """Where curves leave the frame: the most extreme value of every stretch of ``_CLIP_GAP_PX``."""
    first, last, width = window
    px = width / (last - first)
    placed = []
    for above in (True, False):
        taken_px = -1.0  # right end of the last value
        outside = _outside(panel, scale, window, above)
        cuts = np.flatnonzero(np.diff([clip.x for clip in outside]) > _CLIP_GAP_PX / px) + 1
        groups = [outside[a:b] for a, b in pairwise([0, *cuts, len(outside)]) if b > a]
        for group in groups:
            clip = max(group, key=lambda clip: clip.value if above else -clip.value)
            x, room = (clip.x - first) * px, text_px(true_value(clip.value)) + 12
            side = 1 if x + room < width else -1
            if (x if side > 0 else x - room) < taken_px:
                side = 0
            taken_px = max(taken_px, x + room * max(side, 0))
            placed.append(replace(clip, side=side))
    return placed


def _outside(panel: Panel, scale: Scale, window: Window, above: bool) -> list[Clip]:
    """Of each run of neighbouring samples beyond one edge the most extreme one: all that a mark can say."""
    sign = 1 if above else -1
    edge = scale.high if above else scale.low
    extremes = []
    for line in panel.lines:
        for s in line.segments:
            rows = np.flatnonzero((s.values > edge) if above else (s.values < edge))
            rows = rows[_within(s.steps[rows], window) & np.isfinite(s.values[rows])]
            for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
                i = run[np.argmax(sign * s.values[run])]
                token = line.token if s.live else "dead"
                extremes.append(Clip(float(s.steps[i]), float(s.values[i]), above, token))
    return sorted(extremes, key=lambda clip: clip.x)


def missing(panel: Panel, window: Window) -> Missing | None:
    """Where the panel's first line was logged as NaN or Inf; None where it never was."""
    parts = [s for s in panel.lines[0].segments if s.live] or list(panel.lines[0].segments)
    if all(np.isfinite(s.values).all() for s in parts):
        return None
    steps, values = np.concatenate([s.steps for s in parts]), np.concatenate([s.values for s in parts])
    odd = ~np.isfinite(values) & _within(steps, window)
    if not odd.any():
        return None
    words = [word for word, test in (("NaN", np.isnan), ("Inf", np.isinf)) if test(values[odd]).any()]
    columns = int(window.width / _CROSS_PX)
    column = np.round((steps[odd] - window.first) * (columns / (window.last - window.first)))
    _, firsts = np.unique(column, return_index=True)
    return Missing(steps[odd][firsts], "/".join(words))


def _within(steps: Floats, window: Window) -> Mask:
    return (steps >= window.first) & (steps <= window.last)
