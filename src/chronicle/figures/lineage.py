"""The lineage of a run with several attempts: a row an attempt, who goes on from whom, what ended each.

Live steps are solid, overtaken ones grey and dashed. A thin line leads down from the attempt that was gone
on from, at the step of its checkpoint. What became of an attempt stands beside its row; on a phone, above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chronicle.classify.restarts import outcome
from chronicle.figures.frame import SMALL_PX, paint_steps, write
from chronicle.figures.paint import halo
from chronicle.figures.plan import BOTTOM, LEFT, RIGHT, Plan
from chronicle.figures.strip import MOST_BARS, Bar, bars
from chronicle.figures.style import WIDE, Tokens, pt, sheet
from chronicle.figures.text import literal, text_px
from chronicle.metrics.values import count, plural
from chronicle.model import Join, Timeline
from chronicle.timeline.endings import Ending, endings

LEAST = 3  # attempts: two are told well by the strip below the whole run
_WORDS_PX = 410  # column of words at the right of a wide figure
_ROOMY_PX, _TIGHT_PX, _PHONE_PX = 26.0, 18.0, 34.0  # a row of few attempts, of many, of a phone
_FEW, _TOP_PX = 12, 12.0
_LIVE_PX, _DEAD_PX = 5.0, 1.6
_DASH = (3.2, 2.2)
_PAD = 0.012  # of the steps, left and right: an end mark needs room
# How an attempt ended without dying: it was stopped, or nothing tells.
_STOPPED = ("", "cut off", "preempted", "time limit", "cancelled")


@dataclass(frozen=True)
class Lineage:
    """A lineage figure before it has a colour; rows from the top, the earliest attempt first."""

    width: float
    frame: Plan
    rows: Sequence[tuple[Bar, Ending, str]]
    joins: Sequence[Join]
    row_px: float

    @property
    def narrow(self) -> bool:
        """Whether words stand above the rows: there is no room beside them."""
        return self.width < WIDE / 2

    @property
    def height(self) -> float:
        """Height of the figure in CSS pixels."""
        return round(_TOP_PX + self.row_px * len(self.rows) + BOTTOM)


def lineage(timeline: Timeline, axis: str, width: float) -> Lineage | None:
    """The figure at a width; None for a run of fewer than two attempts with points."""
    shown = [_taken_over(bar, timeline.joins) for bar in bars(timeline)]
    if len(shown) < 2:
        return None
    told = endings(timeline)
    panel = width if width < WIDE / 2 else width - _WORDS_PX
    first = min(first for bar in shown for first, _, _ in bar.spans)
    last = max(last for bar in shown for _, last, _ in bar.spans)
    pad = _PAD * (last - first) or 1.0
    frame = Plan(panel, first - pad, last + pad, axis, (), (), (), (), (), (), ())
    rows = [(bar, told[bar.attempt], _words(timeline, told[bar.attempt])) for bar in shown]
    wide_px = _ROOMY_PX if len(shown) <= _FEW else _TIGHT_PX
    return Lineage(width, frame, rows, timeline.joins, _PHONE_PX if frame.narrow else wide_px)


def _taken_over(bar: Bar, joins: Sequence[Join]) -> Bar:
    """The bar with its live part up to the step where another attempt took over, between two samples."""
    spans = list(bar.spans)
    for k, ((first, last, live), (_, end, still)) in enumerate(pairwise(bar.spans)):
        if live and not still:
            later = (j.to_step for j in joins if j.after > bar.attempt and last < j.to_step <= end)
            step = float(min(later, default=last))
            spans[k : k + 2] = [(first, step, True), (step, end, False)]
    return Bar(bar.attempt, tuple(spans))


def _words(timeline: Timeline, ending: Ending) -> str:
    """What became of an attempt; of those that no join leads to or from the name, for nothing else tells."""
    name = f"{timeline.attempts[ending.attempt].name}: " if ending.then in ("apart", "evaluation") else ""
    return name + outcome(ending)


def paint_lineage(plan: Lineage, t: Tokens) -> Figure:
    """The figure of a lineage in a theme; call it inside `chronicle.figures.style.theme`."""
    figure = sheet(plan.width, plan.height)
    tall, frame = plan.row_px * len(plan.rows), plan.frame
    box = (LEFT / plan.width, BOTTOM / plan.height, frame.inner / plan.width, tall / plan.height)
    ax = figure.add_axes(box)
    ax.axis("off")
    ax.set_xlim(frame.first, frame.last)
    ax.set_ylim(len(plan.rows), 0)
    _paint_joins(ax, plan, t)
    for place, (bar, ending, words) in enumerate(plan.rows):
        y = place + (0.72 if plan.narrow else 0.5)
        _paint_bar(ax, bar, ending, y, t)
        _paint_words(ax, plan, place, y, str(bar.attempt + 1), words, t)
    paint_steps(ax, frame, t, labelled=True)
    write(ax, frame.axis, (1, 0), (0, -24), ("right", "top"), t["ink2"])
    return figure


def lineage_words(plan: Lineage, title: str) -> tuple[str, str]:
    """Alternative text and caption."""
    told = "; ".join(f"{bar.attempt + 1} {words}" for bar, _, words in plan.rows[-8:])
    axis = plan.frame.axis
    spans = f"{axis} {count(_first(plan))} to {count(_last(plan))}"
    dropped = plan.rows[0][0].attempt
    more = f" The {plural(dropped, 'attempt')} before these {'is' if dropped == 1 else 'are'} not drawn."
    caption = (
        "A row an attempt. Solid: live; grey and dashed: overtaken. "
        "Cross: it died; dot: it is done; bar: it was stopped, or nothing tells."
    )
    return (
        f"{literal(title)}: lineage of {plural(len(plan.rows), 'attempt')} over {spans}. {told}.",
        caption + (more if len(plan.rows) == MOST_BARS and dropped else ""),
    )


def _first(plan: Lineage) -> float:
    return min(first for bar, _, _ in plan.rows for first, _, _ in bar.spans)


def _last(plan: Lineage) -> float:
    return max(last for bar, _, _ in plan.rows for _, last, _ in bar.spans)


def _paint_bar(ax: Axes, bar: Bar, ending: Ending, y: float, t: Tokens) -> None:
    for first, last, live in bar.spans:
        if live:
            ax.plot([first, last], [y, y], color=t["live"], lw=pt(_LIVE_PX), solid_capstyle="butt", zorder=4)
        else:
            ax.plot([first, last], [y, y], color=t["dead"], lw=pt(_DEAD_PX), ls=(0, _DASH), zorder=3)
    _, end, live = bar.spans[-1]
    mark = _mark(ending)
    edge = pt(1.6) if mark == "|" else 0
    ax.plot(
        [end], [y], mark, ms=pt(9), mew=edge, color=t["live" if live else "dead"], zorder=5, clip_on=False
    )


def _mark(ending: Ending) -> str:
    """How an attempt ended, as matplotlib's marker: a dot where it is done, a cross where it died."""
    if ending.how in _STOPPED:
        return ">" if ending.then in ("latest", "apart") else "|"
    return "o" if ending.how == "finished" else "X"


def _paint_joins(ax: Axes, plan: Lineage, t: Tokens) -> None:
    """From the row that was gone on from down to the row that goes on, at the first step of the latter."""
    low = 0.72 if plan.narrow else 0.5
    row_of = {bar.attempt: k for k, (bar, _, _) in enumerate(plan.rows)}
    for join in plan.joins:
        held = _holder(plan, join)
        if held in row_of and join.after in row_of:
            x, y = float(join.to_step), (row_of[held] + low, row_of[join.after] + low)
            end = plan.rows[row_of[held]][0].spans[-1][1]  # a resume may begin a little after it
            ax.plot([min(x, end), x, x], [y[0], y[0], y[1]], color=t["ink2"], lw=pt(1), zorder=2)


def _holder(plan: Lineage, join: Join) -> int:
    """The attempt that a join goes back to: the one before it, or of its forebears the one with that step."""
    source = {j.after: j for j in plan.joins}
    node = join.before
    while node in source and source[node].to_step > join.to_step:
        node = source[node].before
    return node


def _paint_words(ax: Axes, plan: Lineage, place: int, y: float, number: str, words: str, t: Tokens) -> None:
    where = ax.get_yaxis_transform()
    style = {"fontsize": pt(SMALL_PX), "path_effects": halo(t), "zorder": 6}
    if plan.narrow:
        shown = _cut(f"{number}. {words}", plan.width - 16)
        write(ax, shown, (0, place + 0.3), (8 - LEFT, 0), ("left", "center"), t["ink2"], where, **style)
        return
    shown = _cut(words, _WORDS_PX - 16)
    write(ax, number, (0, y), (-10, 0), ("right", "center_baseline"), t["ink2"], where, **style)
    write(ax, shown, (1, y), (RIGHT, 0), ("left", "center_baseline"), t["ink2"], where, **style)


def _cut(words: str, width_px: float) -> str:
    """The words on one line of a width: without the last phrases where they are longer, or cut."""
    shown = literal(words, 200)
    while text_px(shown, SMALL_PX) > width_px and ", " in shown:
        shown = shown.rpartition(", ")[0]
    while text_px(shown, SMALL_PX) > width_px and len(shown) > 2:
        shown = f"{shown[:-2].rstrip(' ,.')}…"
    return shown
