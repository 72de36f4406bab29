"""The frame of a panel: axis lines, grid, tick labels.

matplotlib's own axes would do, at half of the cost of a figure; ours are a few lines and texts.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chronicle.figures.plan import LEFT, RIGHT, Plan
from chronicle.figures.style import Tokens, pt
from chronicle.figures.text import text_px
from chronicle.figures.ticks import SECONDS, Ticks, step_ticks, time_ticks

LABEL_PX, SMALL_PX = 11.5, 11
_TICK_PX, _PAD_PX = 4, 5


def panel(figure: Figure, plan: Plan, bottom: float, height: float) -> Axes:
    """Empty axes over the plan's steps, ``bottom`` and ``height`` in CSS pixels."""
    box = (LEFT / plan.width, bottom / plan.height, plan.inner / plan.width, height / plan.height)
    ax = figure.add_axes(box)
    ax.axis("off")
    ax.set_xlim(plan.first, plan.last)
    return ax


def paint_values(ax: Axes, ticks: Ticks, t: Tokens) -> None:
    """The y axis: a line at the left, a grid line and a label at each tick."""
    where = ax.get_yaxis_transform()
    ax.plot([0, 0], [0, 1], transform=ax.transAxes, color=t["line"], lw=pt(1), clip_on=False, zorder=2.6)
    ax.hlines([y for y, _ in ticks], 0, 1, transform=where, color=t["grid"], lw=pt(1), zorder=0.5)
    for y, label in ticks:
        write(
            ax,
            label,
            (0, y),
            (-_PAD_PX, 0),
            ("right", "center_baseline"),
            t["ink2"],
            where,
            fontsize=pt(SMALL_PX),
        )


def paint_steps(ax: Axes, plan: Plan, t: Tokens, labelled: bool) -> None:
    """The line at the foot of a panel; at the lowest one also ticks and their labels."""
    ax.plot([0, 1], [0, 0], transform=ax.transAxes, color=t["line"], lw=pt(1), clip_on=False, zorder=2.6)
    where, px = ax.get_xaxis_transform(), plan.inner / (plan.last - plan.first)
    ticks = time_ticks if plan.axis == SECONDS else step_ticks
    for x, label in ticks(plan.first, plan.last, 4 if plan.narrow else 8) if labelled else ():
        ax.plot(
            [x], [0], marker=3, transform=where, ms=pt(_TICK_PX), mew=pt(1), color=t["ink2"], clip_on=False
        )
        if (plan.last - x) * px + RIGHT - 2 >= text_px(label, SMALL_PX) / 2:  # else the edge would cut it
            write(
                ax,
                label,
                (x, 0),
                (0, -_TICK_PX - _PAD_PX),
                ("center", "top"),
                t["ink2"],
                where,
                fontsize=pt(SMALL_PX),
            )


def write(
    ax: Axes,
    words: str,
    at: tuple[float, float],
    shift_px: tuple[float, float],
    aligned: tuple[str, str],
    colour: str,
    where: object = "axes fraction",
    **style: object,
) -> None:
    """Text at a point of the panel, shifted by CSS pixels; ``aligned`` is horizontal, vertical."""
    ax.annotate(
        words,
        at,
        xycoords=where,  # type: ignore[arg-type]
        xytext=(pt(shift_px[0]), pt(shift_px[1])),
        textcoords="offset points",
        annotation_clip=False,
        **{"ha": aligned[0], "va": aligned[1], "fontsize": pt(LABEL_PX), "color": colour, **style},  # type: ignore[arg-type]
    )
