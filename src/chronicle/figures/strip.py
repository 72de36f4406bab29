"""The attempt strip: one bar an attempt, hatched where it was overtaken, an arrow back at each rollback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from chronicle.figures.curves import segments
from chronicle.figures.style import Tokens, pt
from chronicle.model import Join, Timeline, Track

MOST_BARS = 60
_ROW_PX, _STRIP_PX = 25, 240  # of one attempt, and of all of them


@dataclass(frozen=True)
class Bar:
    """One attempt: its index and its spans (first step, last step, live)."""

    attempt: int
    spans: tuple[tuple[float, float, bool], ...]


def bars(timeline: Timeline) -> list[Bar]:
    """A bar for each attempt that logged a point; the last ``MOST_BARS`` of very many."""
    number = len(timeline.attempts)
    tracks = list(timeline.series.values())
    if not tracks:
        return []
    points = np.array([np.bincount(t.attempt, minlength=number) for t in tracks])
    logged = [k for k in range(number) if points[:, k].any()]
    return [Bar(k, _spans(tracks[int(points[:, k].argmax())], k)) for k in logged[-MOST_BARS:]]


def strip_height(number: int) -> float:
    """Height of the strip in CSS pixels: rows of 25, thinner where there are many."""
    return min(_ROW_PX * number, _STRIP_PX) + 2


def paint_strip(ax: Axes, shown: Sequence[Bar], joins: Sequence[Join], t: Tokens, height: float) -> None:
    """Paints bars, arrows and attempt numbers into axes whose x range is set already."""
    row_px = height / len(shown)
    every = next((n for n in (1, 2, 5, 10) if n * row_px >= 13), 20)
    narrowest = 0.004 * float(np.diff(ax.get_xlim())[0])
    ax.set_ylim(len(shown) - 0.35, -0.65)
    for row, bar in enumerate(shown):
        for first, last, live in bar.spans:
            dead = {"fc": "none", "ec": t["dead"], "hatch": "/////", "lw": pt(1)}
            style = {"fc": t["live"], "lw": 0} if live else dead
            ax.add_patch(Rectangle((first, row - 0.22), max(last - first, narrowest), 0.44, **style))  # type: ignore[arg-type]
        if row == 0 or (bar.attempt + 1) % every == 0:
            _number(ax, row, bar.attempt + 1, t)
    row_of = {bar.attempt: row for row, bar in enumerate(shown)}
    for join in joins:
        if join.to_step < join.from_step and row_of.get(join.before, 1e9) < row_of.get(join.after, -1):
            _arrow(ax, join, row_of[join.before], row_of[join.after], t, min(6, row_px / 3))


def _number(ax: Axes, row: int, number: int, t: Tokens) -> None:
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "xytext": (-pt(10), 0)}
    ax.annotate(str(number), (0, row), ha="right", va="center", fontsize=pt(11), color=t["ink2"], **place)  # type: ignore[arg-type]


def _arrow(ax: Axes, join: Join, before: int, after: int, t: Tokens, head_px: float) -> None:
    """Down from the end of what was discarded, back, and down to the step that was resumed from."""
    x = [join.from_step, join.from_step, join.to_step, join.to_step]
    y = [before + 0.24, before + 0.5, before + 0.5, after - 0.38]
    ax.plot(x, y, color=t["ink2"], lw=pt(1.2), zorder=5, solid_joinstyle="miter", clip_on=False)
    ax.plot(x[-1:], [after - 0.32], "v", ms=pt(head_px), mew=0, color=t["ink2"], zorder=6, clip_on=False)


def _spans(track: Track, attempt: int) -> tuple[tuple[float, float, bool], ...]:
    return tuple((float(s.steps[0]), float(s.steps[-1]), s.live) for s in segments(track, attempt))
