"""The curves of a panel in data units; of many samples per pixel column, extremes and median are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from chronicle.figures import scales
from chronicle.figures.scales import Line, Pair, Pane, Panel, Scale, Segment, Window
from chronicle.figures.sheet import Box, bold_px, label, one_line
from chronicle.metrics.arithmetic import finite_of, median
from chronicle.metrics.names import LOSSES
from chronicle.model import Floats, Mask
from chronicle.story.measured import is_cut_off

_DOTS_BELOW, _DOT_PX = 60, 5  # a segment with fewer points has dots, if there is so much room for each
_TALL_MEDIANS = 6.0  # a column so many times the median height is drawn at full strength
_CLIP_GAP_PX = 60  # of clipped values that are closer, only the most extreme one is marked
_HARDLY_SHARE = 0.1  # of the height: a curve that leaves the frame by less has no mark
_ROW_SHARE = 0.16  # of the height: room at the top for a row of marks
_FARTHEST_SPANS = 50.0  # beyond the frame, in heights; a renderer overflows further out
_GAP_PX = 6  # between columns with samples: over a wider one there is no shade
_CROSS_PX = 6  # the distance between crosses
_NAME_STRIDE_PX = 12  # the distance between places that are tried for a name
_APART_PX = 3  # the least distance between two labels
ROW_PX = 13  # the height of a label
_NAME_ROWS = 3  # how many label heights a name may be away from its line
_SHORT_NAME = 12  # characters


class Stroke(NamedTuple):
    """A curve in data units; ``low`` and ``high`` are None if all samples are drawn, ``tall`` are extremes"""

    x: Floats
    mid: Floats
    low: Floats | None
    high: Floats | None
    dots: Mask
    tall: Mask
    live: bool
    token: str
    dash: tuple[float, ...]

    def paint(self, pane: Pane, px: float = 1.6) -> None:
        z, token, sheet = (3.0, self.token, pane.sheet) if self.live else (2.0, "dead", pane.sheet)
        x, mid = pane.x(self.x), pane.y(self.mid)
        if self.low is not None and self.high is not None:
            low, high = pane.y(self.low), pane.y(self.high)
            parts = list(_shaded(x, low))
            if self.live and parts:  # the outline of the shade: along the lower edge, and back
                across = [piece for a, b in parts for piece in (x[a:b], x[a:b][::-1], [np.nan])]
                down = [piece for a, b in parts for piece in (low[a:b], high[a:b][::-1], [np.nan])]
                edges = np.concatenate(across), np.concatenate(down)
                sheet.area(*edges, token, z - 0.2, alpha=0.30, within=pane.box)
            ends = np.column_stack([low, high])[self.tall]
            sheet.lines(x[self.tall, None], ends, token, z - 0.1, 1.1, within=pane.box)
        dash, px = (self.dash, px) if self.live else ((3.2, 2.2), 1.5)
        if np.isfinite(mid[:-1] + mid[1:]).any():
            sheet.line(x, mid, token, z, px, dash=dash, within=pane.box)
        sheet.line(x[self.dots], mid[self.dots], token, z, 3.6, dots=True, within=pane.box)


def _stretches(mask: Mask) -> Iterator[tuple[int, int]]:
    """The stretches where the mask is true: the first row, and the row after the last."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _shaded(x: Floats, low: Floats) -> Iterator[tuple[int, int]]:
    """The stretches of columns with samples; across a gap no minimum and no maximum is known."""
    for a, b in _stretches(np.isfinite(low)):
        yield from pairwise([a, *(a + 1 + np.flatnonzero(np.diff(x[a:b]) > _GAP_PX)).tolist(), b])


class Room:
    """What new words on a pane may not cover: the curves, by pixel column, and the words placed before."""

    def __init__(self, pane: Pane, strokes: Sequence[Stroke], taken: Sequence[Box] = ()) -> None:
        self._pane, self.taken = pane, list(taken)
        shape = len(strokes), round(pane.window.width) + 2
        # Infinite where there is no curve.
        self._tops, self._feet = np.full(shape, np.inf), np.full(shape, -np.inf)
        for stroke, tops, feet in zip(strokes, self._tops, self._feet, strict=True):
            x = pane.x(stroke.x) - pane.left
            edges = [stroke.mid if edge is None else edge for edge in (stroke.high, stroke.low)]
            for a, b in _stretches(np.isfinite(stroke.mid)):
                columns = np.clip(x[a:b].astype(int), 0, len(tops) - 1)
                upper, lower = (pane.y(edge[a:b]) for edge in edges)
                np.minimum.at(tops, columns, upper)
                np.maximum.at(feet, columns, lower)
                covered = slice(max(0, int(x[a])), max(0, min(len(tops), int(x[b - 1]) + 2)))
                between = np.arange(covered.start, covered.stop)
                high, low = (np.interp(between, x[a:b], y) for y in (upper, lower))
                # A steep line also covers what lies between two columns.
                top, foot = np.append(low[1:], np.inf), np.append(high[1:], -np.inf)
                tops[covered] = np.minimum(tops[covered], np.minimum(high, top))
                feet[covered] = np.maximum(feet[covered], np.maximum(low, foot))

    def over(self, left: float, width: float) -> tuple[Floats, Floats]:
        first = max(0, round(left - self._pane.left))
        columns = slice(first, first + round(width) + 1)
        return self._tops[:, columns], self._feet[:, columns]

    def covered(self, box: Box) -> int:
        """In how many columns curves cross a box; plus 1000 for each label or edge that the box overlaps."""
        left, top, width, height = box
        pane, (tops, feet) = self._pane, self.over(left, width)
        inside = pane.left - 1 <= left <= pane.right + scales.RIGHT_PX - width
        inside &= pane.top - 1 <= top <= pane.foot + 1 - height
        words = sum(
            x < left + width + _APART_PX and left < x + w + _APART_PX and y < top + height and top < y + h
            for x, y, w, h in self.taken
        )
        return int(np.count_nonzero((tops < top + height) & (feet > top))) + 1000 * (words + (not inside))

    def write(self, words: str, places: Sequence[Pair], token: str, most: float = math.inf) -> bool:
        """Writes bold words at the place (left, top) that covers least, if it covers ``most`` or less."""
        width = bold_px(words)
        best = min(((*place, width, ROW_PX) for place in places), key=self.covered)
        if self.covered(best) > most:
            return False
        left, top, *_ = best
        self.taken.append(best)
        self._pane.sheet.write(words, left, top + ROW_PX - 2.5, token, bold=True, halo=True)
        return True


class Clip(NamedTuple):
    """The curve leaves the frame at step ``x``, where it reaches ``value``, or more if ``least``."""

    x: float
    value: float
    above: bool
    token: str
    least: bool

    @property
    def words(self) -> str:
        return f"{'≥ ' * self.least}{scales.true_value(self.value)}"

    def paint(self, pane: Pane, room: Room) -> None:
        x = pane.x(self.x)
        y, way = (pane.top, 1) if self.above else (pane.foot, -1)
        pane.sheet.area([x - 4, x, x + 4], [y + 7 * way, y, y + 7 * way], self.token, 8)
        width = bold_px(self.words)
        lows = [y + way * (2 + row * (ROW_PX - 1)) for row in range(4)]
        tops = [low if self.above else low - ROW_PX for low in lows]
        lefts = x + 6, x + 18, x - 6 - width, x - 18 - width
        room.write(self.words, [(left, top) for top in tops for left in lefts], self.token, 900)


class Curves:
    """One panel in data units. From the value ``edge`` on, a digitised picture may cut off the loss."""

    def __init__(self, panel: Panel, scale: Scale, height: float, window: Window, edge: float) -> None:
        self.panel, self.height, self.missing = panel, height, missing(panel, window)
        self.scale = scale._replace(high=scale.beyond(_ROW_SHARE)) if self.missing else scale
        self.strokes = strokes(panel, self.scale, window)
        self.clips = clips(panel, self.scale, window, edge if panel.role in LOSSES else math.inf)

    def paint(self, pane: Pane, lift_px: float, taken: Sequence[Box] = ()) -> None:
        """Paints the panel, its label ``lift_px`` above it; no word covers a box in ``taken``."""
        panel, scale = self.panel, self.scale
        for stroke in self.strokes:
            stroke.paint(pane)
        room = Room(pane, self.strokes, taken)
        if self.missing:
            x, y = pane.x(self.missing[0]), pane.top + 0.08 * pane.height
            pane.sheet.crosses(x, y, 2.5, 1.3, "bad", within=pane.box)
            room.taken.append((x[0] - 3, y - 4, x[-1] - x[0] + 6, 8))
            ends = x[0] - 8 - bold_px(self.missing[1]), x[-1] + 8, x[0] - 3
            places = [(left, top) for top in (y - ROW_PX / 2, y + 6) for left in ends]
            room.write(self.missing[1], places, "bad")
        for clip in self.clips:
            clip.paint(pane, room)
        drawn = [stroke for stroke in self.strokes if np.isfinite(stroke.mid).any()]
        for line in panel.lines if len(panel.lines) > 1 else ():
            own = [stroke for stroke in drawn if stroke.token == line.token and stroke.live]
            if own and not room.write(line.name, self._beside(own, line.name, pane), line.token, 0):
                short = one_line(line.name, _SHORT_NAME)
                room.write(short, self._beside(own, short, pane), line.token)
        pane.paint_values(scales.value_ticks(scale, self.height) if drawn else ())
        title = label(panel.name, panel.unit, scale.log, pane.window.width + scales.RIGHT_PX - 4)
        pane.sheet.write(title, pane.left, pane.top - lift_px - 3)

    def _beside(self, own: Sequence[Stroke], name: str, pane: Pane) -> list[Pair]:
        """Possible places (left, top) of a name: over and under its line, from the end backwards."""
        last = max(own, key=lambda s: float(s.x[np.isfinite(s.mid)][-1]))
        known = np.isfinite(last.mid)
        end, level = float(pane.x(last.x[known])[-1]), float(pane.y(last.mid[known])[-1])
        alone, width = Room(pane, own), bold_px(name)
        lefts = np.arange(min(end, pane.right) - width, pane.left + 4, -_NAME_STRIDE_PX).tolist()
        ends = [(left, *alone.over(left, width)) for left in lefts]
        there: list[Pair] = []
        for away in range(0, _NAME_ROWS * ROW_PX, ROW_PX):
            over = [(left, tops.min(initial=np.inf) - ROW_PX - 2 - away) for left, tops, _ in ends]
            under = [(left, feet.max(initial=-np.inf) + 2 + away) for left, _, feet in ends]
            both = chain.from_iterable(zip(over, under, strict=True))
            near = [place for place in both if math.isfinite(place[1])]
            there += sorted(near, key=lambda place: abs(place[1] + ROW_PX / 2 - level) // ROW_PX)
        # And right of the line, which may be shorter than its name.
        return [*there, *((end + 6, level + (row - 0.5) * ROW_PX) for row in (0, -1, 1, -2, 2))]


def strokes(panel: Panel, scale: Scale, window: Window) -> list[Stroke]:
    """The curves of a panel over a window; dead ones come first and are covered by the others."""
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
        low, mid, high = (_clamped(height, scale) for height in heights)
        height = np.log(heights[2] / heights[0]) if scale.log else heights[2] - heights[0]
        known = finite_of(height)
        tall = height > _TALL_MEDIANS * np.median(known) if len(known) else np.zeros(len(x), bool)
    else:
        mid, tall = _clamped(np.where(np.isfinite(mid), mid, np.nan), scale), np.zeros(len(x), bool)
    finite = np.isfinite(mid)
    isolated = finite & ~np.append(False, finite[:-1]) & ~np.append(finite[1:], False)
    dots = finite if low is None and len(x) < _DOTS_BELOW and spanned > _DOT_PX * len(x) else isolated
    return Stroke(x, mid, low, high, dots, tall, part.live, line.token, line.dash)


def _joined(parts: list[Stroke]) -> Stroke:

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if arrays[0] is None:
            return None
        gap = [False] if arrays[0].dtype == bool else [np.nan]
        return np.concatenate([piece for array in arrays for piece in (array, gap)][:-1])

    return parts[0]._replace(**{name: joined(name) for name in ("x", "mid", "low", "high", "dots", "tall")})


def _clamped(values: Floats, scale: Scale) -> Floats:
    if scale.log:
        return np.clip(values, scale.low / 1e9, scale.high * 1e9)
    span = scale.high - scale.low
    return np.clip(values, scale.low - _FARTHEST_SPANS * span, scale.high + _FARTHEST_SPANS * span)


def envelope(steps: Floats, values: Floats, first: float, last: float, columns: int) -> Sequence[Floats]:
    """The centre of each of ``columns`` equal parts of [first, last] that has a sample, and the minimum,
    median and maximum of its finite values (NaN without any). ``steps`` are ascending; those outside belong
    to the outer columns. All curves of a panel share one grid, else a short attempt would look thicker."""
    column = np.clip((steps - first) * (columns / (last - first)), 0, columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    finite = np.where(np.isfinite(values), values, np.nan)
    parts = np.split(finite, starts[1:])
    if np.isnan(finite).any():
        parts = [part[~np.isnan(part)] for part in parts]
    centres = np.asarray(first + (column[starts] + 0.5) * ((last - first) / columns), np.float64)
    medians = np.array([median(part) for part in parts])
    return centres, np.fmin.reduceat(finite, starts), medians, np.fmax.reduceat(finite, starts)


def clips(panel: Panel, scale: Scale, window: Window, cut_from: float) -> list[Clip]:
    """Where curves leave the frame: extremes at least `_CLIP_GAP_PX` apart, the farthest first."""
    gap = _CLIP_GAP_PX * (window.last - window.first) / window.width
    marked: list[Clip] = []
    for sign in (1, -1):
        for clip in sorted(_outside(panel, scale, window, sign, cut_from), key=lambda c: -sign * c.value):
            if all(abs(clip.x - other.x) > gap for other in marked if other.above is clip.above):
                marked.append(clip)
    return marked


def _outside(panel: Panel, scale: Scale, window: Window, sign: int, cut_from: float) -> Iterator[Clip]:
    """The most extreme sample of each stretch that is clearly beyond one edge."""
    edge = sign * scale.beyond(sign * _HARDLY_SHARE)
    for token, s in ((line.token, segment) for line in panel.lines for segment in line.segments):
        beyond = (sign * s.values > edge) & window.holds(s.steps) & np.isfinite(s.values)
        for a, b in _stretches(beyond):
            i = a + int(np.argmax(sign * s.values[a:b]))
            least = sign > 0 and is_cut_off(s.values, i, cut_from)
            yield Clip(float(s.steps[i]), float(s.values[i]), sign > 0, token if s.live else "dead", least)


def missing(panel: Panel, window: Window) -> tuple[Floats, str] | None:
    """Steps, one per column of crosses, where the panel's first line is NaN or Inf, and the word for it."""
    parts = [s for s in panel.lines[0].segments if s.live] or list(panel.lines[0].segments)
    steps, values = np.concatenate([s.steps for s in parts]), np.concatenate([s.values for s in parts])
    odd = ~np.isfinite(values) & window.holds(steps)
    if not odd.any():
        return None
    words = [word for word, test in (("NaN", np.isnan), ("Inf", np.isinf)) if test(values[odd]).any()]
    columns = int(window.width / _CROSS_PX)
    column = np.round((steps[odd] - window.first) * (columns / (window.last - window.first)))
    _, firsts = np.unique(column, return_index=True)
    return steps[odd][firsts], "/".join(words)
