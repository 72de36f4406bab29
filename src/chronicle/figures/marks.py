"""Badges, bands, joins and faults painted: findings carry numbers, joins letters, faults their names."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from chronicle.figures.frame import write
from chronicle.figures.lane import MARK_PX, PAD_PX, WORDS_PX, FaultMark
from chronicle.figures.plan import LANE_PX, ROW_PX, Plan
from chronicle.figures.style import Tokens, pt
from chronicle.figures.tokens import SHAPES, on
from chronicle.model import Verdict

_SIZE_PX = {"o": 19.0, "^": 22.0, "s": 17.0, "D": 16.0}  # shapes of about one area
_CAP_PX = 3.5
_TINT = 0.13
_DOTTED = (0, (1, 2.2))
_MOST_LINES = 12  # of more faults than this none has a line through the panels


def paint_bands(panels: Sequence[Axes], plan: Plan, t: Tokens) -> None:
    """A light tint through every panel, and a solid cap on the first one's upper edge."""
    for ax in panels:
        for fill in plan.fills:
            left, width = fill.left_px / plan.inner, (fill.right_px - fill.left_px) / plan.inner
            style = {"color": t[fill.verdict], "alpha": _TINT * fill.depth, "lw": 0, "zorder": 1}
            ax.add_patch(Rectangle((left, 0), width, 1, transform=ax.transAxes, **style))  # type: ignore[arg-type]
    for band in plan.bands:
        y = 1 + min(band.lane, 3) * LANE_PX / plan.drawn[0].height
        left, right = band.left_px / plan.inner, band.right_px / plan.inner
        line = {"transform": panels[0].transAxes, "color": t[band.verdict], "clip_on": False, "zorder": 6}
        panels[0].plot([left, right], [y, y], lw=pt(_CAP_PX), solid_capstyle="butt", **line)  # type: ignore[arg-type]
        if band.open:
            panels[0].plot([right], [y], ">", ms=pt(7), mew=0, **line)  # type: ignore[arg-type]


def paint_badges(ax: Axes, plan: Plan, t: Tokens) -> None:
    """The number of each finding in the shape of its verdict, with a leader where it had to move."""
    height = plan.drawn[0].height
    bands = {str(band.number): band for band in plan.bands}
    for mark in plan.badges:
        band = bands[mark.text]
        x, y = mark.at_px / plan.inner, 1 + (plan.badge_base + ROW_PX * mark.row) / height
        if mark.row or abs(mark.at_px - mark.wanted_px) > 2:
            foot = 1 + min(band.lane, 3) * LANE_PX / height
            leader = {"transform": ax.transAxes, "color": t[band.verdict], "clip_on": False, "zorder": 7}
            ax.plot([mark.wanted_px / plan.inner, x], [foot, y], lw=pt(1), **leader)  # type: ignore[arg-type]
        _badge(ax, x, y, band.verdict, mark.text, t)


def paint_joins(panels: Sequence[Axes], lines: Sequence[float], t: Tokens) -> None:
    """A dotted line through the panels at the step that a later attempt begins with."""
    for ax in panels:
        where = ax.get_xaxis_transform()
        ax.vlines(lines, 0, 1, transform=where, color=t["ink2"], lw=pt(1), ls=_DOTTED, zorder=2.5)


def paint_letters(ax: Axes, plan: Plan, t: Tokens) -> None:
    """The letters of the joins at the foot of the last panel."""
    height = plan.drawn[-1].height
    for mark in plan.letters:
        ax.text(
            mark.at_px / plan.inner,
            (9 + 17 * mark.row) / height,
            mark.text,
            transform=ax.transAxes,
            ha="center",
            va="center",
            fontsize=pt(10 if len(mark.text) == 1 else 8.5),
            weight="bold",
            color=t["page"],
            zorder=9,
            bbox={"boxstyle": "round,pad=.22,rounding_size=.25", "fc": t["ink2"], "ec": "none"},
        )


def paint_lane(
    ax: Axes, panels: Sequence[Axes], marks: Sequence[FaultMark], t: Tokens, width_px: float
) -> None:
    """Crosses with their words; a thin line through the panels where there are few of them."""
    ax.set_ylim(0, 1)
    cross = {"ms": pt(MARK_PX), "mew": 0, "color": t["ink"], "clip_on": False, "zorder": 8}
    for mark in marks:
        x = mark.at_px / width_px
        ax.plot([x], [0.5], "X", transform=ax.transAxes, **cross)  # type: ignore[arg-type]
        if mark.side:
            shift, aligned = mark.side * (MARK_PX / 2 + PAD_PX), "left" if mark.side > 0 else "right"
            style = {"fontsize": pt(WORDS_PX)}
            write(ax, mark.words, (x, 0.5), (shift, 0), (aligned, "center_baseline"), t["ink2"], **style)
    for panel in panels if len(marks) <= _MOST_LINES else ():
        steps, where = [mark.step for mark in marks], panel.get_xaxis_transform()
        panel.vlines(steps, 0, 1, transform=where, color=t["ink2"], lw=pt(0.8), alpha=0.45, zorder=2.4)


def _badge(ax: Axes, x: float, y: float, verdict: Verdict, number: str, t: Tokens) -> None:
    shape = SHAPES[verdict]
    place = {"transform": ax.transAxes, "clip_on": False}
    ax.plot([x], [y], shape, ms=pt(_SIZE_PX[shape]), mew=0, color=t[verdict], zorder=9, **place)  # type: ignore[arg-type]
    low = 2.6 if shape == "^" else 0.3  # the middle of a triangle's body is below its centre
    style = {"fontsize": pt(11 if len(number) == 1 else 9), "weight": "bold", "zorder": 10}
    write(ax, number, (x, y), (0, -low), ("center", "center_baseline"), t[on(verdict)], **style)
