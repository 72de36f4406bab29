"""From a plan and a theme's tokens to a matplotlib figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from chronicle.figures import text
from chronicle.figures.frame import LABEL_PX, SMALL_PX, paint_steps, paint_values, panel, write
from chronicle.figures.lane import HEIGHT_PX
from chronicle.figures.marks import paint_badges, paint_bands, paint_joins, paint_lane, paint_letters
from chronicle.figures.plan import BOTTOM, GAP, RIGHT, Drawn, Plan
from chronicle.figures.strip import paint_strip
from chronicle.figures.strokes import Clip, Missing, Stroke
from chronicle.figures.style import Tokens, pt, sheet
from chronicle.figures.ticks import SECONDS, value_ticks

_DEAD_DASH = (3.2, 2.2)
_NAME_GAP_PX = 15


def paint(plan: Plan, t: Tokens) -> Figure:
    """The figure of a plan in a theme; call it inside `chronicle.figures.style.theme`."""
    figure = sheet(plan.width, plan.height)
    top = plan.height - plan.top
    panels: list[Axes] = []
    for drawn in plan.drawn:
        top -= drawn.height
        panels.append(panel(figure, plan, top, drawn.height))
        _paint_panel(panels[-1], drawn, plan, t, plan.lift if len(panels) == 1 else 5)
        top -= GAP
    paint_bands(panels, plan, t)
    paint_badges(panels[0], plan, t)
    paint_joins(panels, plan.lines, t)
    paint_letters(panels[-1], plan, t)
    if plan.faults:
        foot = BOTTOM + (plan.strip_height + GAP - 4 if plan.bars else 0)
        drawn_panels, below = list(panels), panel(figure, plan, foot, HEIGHT_PX)
        paint_lane(below, drawn_panels, plan.faults, t, plan.inner)
        write(below, "faults beside the curves", (0, 1), (0, 3), ("left", "bottom"), t["ink2"])
        panels.append(below)
    if plan.bars:
        panels.append(panel(figure, plan, BOTTOM, plan.strip_height))
        paint_joins(panels[-1:], plan.lines, t)
        paint_strip(panels[-1], plan.bars, plan.joins, t, plan.strip_height)
        write(panels[-1], _strip_words(plan), (0, 1), (0, 3), ("left", "bottom"), t["ink2"])
    for ax in panels:
        paint_steps(ax, plan, t, labelled=ax is panels[-1])
    axis = "wall clock" if plan.axis == SECONDS else plan.axis
    write(panels[-1], axis, (1, 0), (0, -24), ("right", "top"), t["ink2"])
    return figure


def empty(width: float, words: str, t: Tokens) -> Figure:
    """A small figure for a run that has nothing to draw, and says so."""
    figure = sheet(width, 80)
    figure.text(0.5, 0.5, words, ha="center", va="center", color=t["ink2"], fontsize=pt(LABEL_PX))
    return figure


def paint_stroke(ax: Axes, stroke: Stroke, colour: str, width_px: float = 1.6) -> None:
    """A curve: shade from minimum to maximum, extremes at full strength, the median over both."""
    z = 3 if stroke.live else 2
    if stroke.low is not None and stroke.high is not None:
        tall = stroke.tall
        if stroke.live:
            ax.fill_between(stroke.x, stroke.low, stroke.high, color=colour, alpha=0.30, lw=0, zorder=z - 0.2)
        ax.vlines(
            stroke.x[tall], stroke.low[tall], stroke.high[tall], color=colour, lw=pt(1.1), zorder=z - 0.1
        )
    dash = stroke.dash if stroke.live else _DEAD_DASH
    style = (0, dash) if dash else "-"
    ax.plot(stroke.x, stroke.mid, ls=style, color=colour, lw=pt(width_px if stroke.live else 1.5), zorder=z)
    ax.plot(stroke.x[stroke.dots], stroke.mid[stroke.dots], "o", ms=pt(3.6), mew=0, color=colour, zorder=z)


def _paint_panel(ax: Axes, drawn: Drawn, plan: Plan, t: Tokens, lift: float) -> None:
    shown, scale = drawn.panel, drawn.scale
    if scale.log:
        ax.set_yscale("log")
    for stroke in drawn.strokes:
        paint_stroke(ax, stroke, t[stroke.token if stroke.live else "dead"])
    ax.set_ylim(scale.low, scale.high)
    for clip in drawn.clips:
        _paint_clip(ax, clip, t)
    if drawn.missing:
        _paint_missing(ax, drawn.missing, plan, t)
    if len(shown.lines) > 1:
        _name_lines(ax, drawn, plan, t)
    something = any(np.isfinite(stroke.mid).any() for stroke in drawn.strokes)
    paint_values(ax, value_ticks(scale, drawn.height) if something else (), t)
    said = text.label(shown.name, shown.unit, scale.log, plan.inner + RIGHT - 4)
    write(ax, said, (0, 1), (0, lift), ("left", "bottom"), t["ink2"])


def _paint_clip(ax: Axes, clip: Clip, t: Tokens) -> None:
    """A triangle on the frame at the true step, the true value beside it."""
    edge, marker = (1, "^") if clip.above else (0, "v")
    where = ax.get_xaxis_transform()
    colour = t[clip.token]
    ax.plot([clip.x], [edge], marker, transform=where, ms=pt(7), mew=0, color=colour, clip_on=False, zorder=8)
    if clip.side:
        shift = (7.0 * clip.side, -3.0 if clip.above else 3.0)
        aligned = ("left" if clip.side > 0 else "right", "top" if clip.above else "bottom")
        style = {"fontsize": pt(SMALL_PX), "weight": "bold", "zorder": 8, "path_effects": halo(t)}
        write(ax, text.true_value(clip.value), (clip.x, edge), shift, aligned, colour, where, **style)


def _paint_missing(ax: Axes, gone: Missing, plan: Plan, t: Tokens) -> None:
    """A row of crosses below the upper edge, with the word where there is room for it."""
    where, y = ax.get_xaxis_transform(), 0.92
    ax.plot(
        gone.x, np.full(len(gone.x), y), "x", transform=where, ms=pt(5), mew=pt(1.3), color=t["bad"], zorder=8
    )
    px = plan.inner / (plan.last - plan.first)
    at, shift, side = gone.x[0], (-8, 0), "right"
    if (gone.x[0] - plan.first) * px < 60:
        at, shift, side = gone.x[-1], (8, 0), "left"
        if (plan.last - gone.x[-1]) * px < 60:
            at, shift = gone.x[0], (-3, -14)
    style = {"weight": "bold", "zorder": 8, "path_effects": halo(t)}
    write(ax, gone.word, (at, y), shift, (side, "center"), t["bad"], where, **style)


def _name_lines(ax: Axes, drawn: Drawn, plan: Plan, t: Tokens) -> None:
    """The name of each line of several at its right end, one above the other where lines end together."""
    ends = []
    to_px = ax.transData.transform
    for line in drawn.panel.lines:
        mine = [s for s in drawn.strokes if s.token == line.token and s.live and np.isfinite(s.mid).any()]
        if mine:
            end = max(mine, key=lambda s: float(np.nanmax(s.x)))
            x, height = _right_end(end, plan)
            ends.append((float(to_px((x, height))[1]) / 2, x, line))
    ends.sort(key=lambda item: item[0])
    bottom = float(ax.transAxes.transform((0, 0))[1]) / 2
    lowest = bottom + 2
    for y_px, x, line in ends:
        lowest = max(lowest, y_px + 5)
        y = min(lowest - bottom, drawn.height - 14) / drawn.height
        lowest += _NAME_GAP_PX
        style = {"weight": "bold", "zorder": 7, "path_effects": halo(t)}
        where = ax.get_xaxis_transform()
        write(ax, line.name, (x, y), (-2, 0), ("right", "bottom"), t[line.token], where, **style)


def _right_end(stroke: Stroke, plan: Plan) -> tuple[float, float]:
    """Where a curve leaves the panel at the right, and its middle height along the way its name takes."""
    known = np.isfinite(stroke.mid)
    x = min(float(np.nanmax(stroke.x)), plan.last)
    way = np.linspace(max(x - 0.06 * (plan.last - plan.first), plan.first), x, 9)
    return x, float(np.median(np.interp(way, stroke.x[known], stroke.mid[known])))


def halo(t: Tokens) -> list[withStroke]:
    """The ground's colour around letters: they can be read over a curve and hide little of it."""
    return [withStroke(linewidth=pt(4), foreground=t["page"])]


def _strip_words(plan: Plan) -> str:
    first, last = plan.bars[0].attempt, plan.bars[-1].attempt
    which = "attempts" if not first else f"attempts {first + 1} to {last + 1}"
    discards = any(not live for bar in plan.bars for _, _, live in bar.spans)
    return which + ("  ·  hatched: discarded" if discards and not plan.narrow else "")
