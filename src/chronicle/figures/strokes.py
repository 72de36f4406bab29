"""What a panel draws, worked out once for both themes: strokes, marks of clipped values and of NaN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chronicle.figures.curves import Line, Panel, Segment
from chronicle.figures.envelope import Envelope, envelope
from chronicle.figures.scale import Scale
from chronicle.figures.text import text_px, true_value
from chronicle.model import Floats

Mask = NDArray[np.bool_]

_DOTS_BELOW, _DOT_PX = 60, 5  # points of a segment, if there is room: each is seen as one
_TALL = 6.0  # times the median column: drawn at full strength, so that one sample among a million is seen
_CLIP_GAP_PX = 60  # marks of clipped values that are closer share one value
_FAR = 50.0  # spans beyond the frame; further out a renderer overflows


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


@dataclass(frozen=True, eq=False)
class Missing:
    """Steps (one a pixel column) whose logged value is not a number, and the word for it."""

    x: Floats
    word: str


def strokes(panel: Panel, scale: Scale, first: float, last: float, columns: int) -> list[Stroke]:
    """The curves of a panel between two steps, dead ones first (they lie under everything)."""
    made = []
    for live in (False, True):
        for line in panel.lines:
            parts = (s.within(first, last) for s in line.segments if s.live is live)
            drawn = [_stroke(line, part, scale, first, last, columns) for part in parts if part is not None]
            for shaded in (False, True):
                same = [stroke for stroke in drawn if (stroke.low is not None) is shaded]
                made += [_joined(same)] if same else []
    return made


def clips(panel: Panel, scale: Scale, first: float, last: float, width_px: float) -> list[Clip]:
    """Where curves leave the frame: the most extreme value of every stretch of ``_CLIP_GAP_PX``."""
    px = width_px / (last - first)
    found = []
    for above in (True, False):
        taken = -1.0  # right end of the last value, in pixels
        for clip in _grouped(_outside(panel, scale, first, last, above), _CLIP_GAP_PX / px):
            x, room = (clip.x - first) * px, text_px(true_value(clip.value)) + 12
            side = 1 if x + room < width_px else -1
            if (x if side > 0 else x - room) < taken:
                side = 0
            taken = max(taken, x + room * max(side, 0))
            found.append(replace(clip, side=side))
    return found


def missing(panel: Panel, first: float, last: float, columns: int) -> Missing | None:
    """Where the panel's first line was logged as NaN or Inf; None where it never was."""
    parts = [s for s in panel.lines[0].segments if s.live] or list(panel.lines[0].segments)
    if all(np.isfinite(s.values).all() for s in parts):
        return None
    steps, values = np.concatenate([s.steps for s in parts]), np.concatenate([s.values for s in parts])
    odd = ~np.isfinite(values) & (steps >= first) & (steps <= last)
    if not odd.any():
        return None
    words = [word for word, found in (("NaN", np.isnan), ("Inf", np.isinf)) if found(values[odd]).any()]
    column = np.round((steps[odd] - first) * (columns / (last - first)))
    _, kept = np.unique(column, return_index=True)
    return Missing(steps[odd][kept], "/".join(words))


def _stroke(line: Line, part: Segment, scale: Scale, first: float, last: float, columns: int) -> Stroke:
    x, mid, low, high = part.steps, part.values, None, None
    spanned = columns * (min(x[-1], last) - max(x[0], first)) / (last - first)
    if len(x) > max(2 * spanned, _DOTS_BELOW):
        seen = envelope(x, mid, first, last, columns)
        x, low, mid, high = seen.centre, *(_near(v, scale) for v in (seen.low, seen.mid, seen.high))
        dots, tall = _alone(mid), _tall(seen, scale.log)
    else:
        mid, tall = _near(np.where(np.isfinite(mid), mid, np.nan), scale), np.zeros(len(x), bool)
        few = len(x) < _DOTS_BELOW and spanned > _DOT_PX * len(x)
        dots = np.isfinite(mid) if few else _alone(mid)
    return Stroke(x, mid, low, high, dots, tall, part.live, line.token, line.dash)


def _joined(parts: list[Stroke]) -> Stroke:
    """Strokes of one kind as one with gaps: a renderer is slow in things, not in points."""

    def gaps(arrays: Sequence[Floats | None]) -> Floats:
        kept = [part for array in arrays if array is not None for part in (array, [np.nan])]
        return np.concatenate(kept[:-1])

    def flags(masks: Sequence[Mask]) -> Mask:
        return np.concatenate([part for mask in masks for part in (mask, [False])][:-1])

    first = parts[0]
    return replace(
        first,
        x=gaps([p.x for p in parts]),
        mid=gaps([p.mid for p in parts]),
        low=None if first.low is None else gaps([p.low for p in parts]),
        high=None if first.high is None else gaps([p.high for p in parts]),
        dots=flags([p.dots for p in parts]),
        tall=flags([p.tall for p in parts]),
    )


def _near(values: Floats, scale: Scale) -> Floats:
    """Values far outside of the frame pulled nearer: nothing that is seen changes, nothing overflows."""
    if scale.log:
        return np.clip(values, scale.low / 1e9, scale.high * 1e9)
    span = scale.high - scale.low
    return np.clip(values, scale.low - _FAR * span, scale.high + _FAR * span)


def _tall(seen: Envelope, log: bool) -> Mask:
    """Columns much taller than the others as they are seen."""
    height = np.log(seen.high / seen.low) if log else seen.high - seen.low
    known = height[np.isfinite(height)]
    return height > _TALL * np.median(known) if len(known) else np.zeros(len(height), bool)


def _alone(values: Floats) -> Mask:
    """Points between two NaN, which no line reaches."""
    known = np.isfinite(values)
    alone = known.copy()
    alone[1:] &= ~known[:-1]
    alone[:-1] &= ~known[1:]
    return alone


def _outside(panel: Panel, scale: Scale, first: float, last: float, above: bool) -> list[Clip]:
    """Of each run of neighbouring samples beyond one edge the most extreme one: all that a mark can say."""
    sign = 1 if above else -1
    edge = scale.high if above else scale.low
    found = []
    for line in panel.lines:
        for s in line.segments:
            rows = np.flatnonzero((s.values > edge) if above else (s.values < edge))
            rows = rows[(s.steps[rows] >= first) & (s.steps[rows] <= last) & np.isfinite(s.values[rows])]
            for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
                i = run[np.argmax(sign * s.values[run])]
                token = line.token if s.live else "dead"
                found.append(Clip(float(s.steps[i]), float(s.values[i]), above, token))
    return sorted(found, key=lambda clip: clip.x)


def _grouped(clips: list[Clip], gap: float) -> Iterator[Clip]:
    while clips:
        group = [clips[0]]
        for clip in clips[1:]:
            if clip.x - group[-1].x > gap:
                break
            group.append(clip)
        yield max(group, key=lambda clip: clip.value if clip.above else -clip.value)
        clips = clips[len(group) :]
