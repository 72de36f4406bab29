"""The lineage of a run with several attempts: a row an attempt, who goes on from whom, what ended each.

Live steps are solid, overtaken ones grey and dashed. A thin line leads down from the attempt that was gone
on from, at the step of its checkpoint. What became of an attempt stands beside its row; on a phone, above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from matplotlib.figure import Figure

from chronicle.classify.restarts import outcome
from chronicle.figures.annotations import MOST_BARS, Bar, bars
from chronicle.figures.layout import BOTTOM_PX, LEFT_PX, inner_px
from chronicle.figures.scales import RIGHT_PX, SMALL_PX, Pane, Style, Window
from chronicle.figures.style import WIDE, Tokens, literal, pt, sheet, text_px
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


class Row(NamedTuple):
    """An attempt: its spans, how it ended, and that in words."""

    bar: Bar
    ending: Ending
    words: str


@dataclass(frozen=True)
class Lineage:
    """A lineage figure before it has a colour; rows from the top, the earliest attempt first."""

    width: float
    axis: str
    rows: Sequence[Row]
    joins: Sequence[Join]

    @property
    def narrow(self) -> bool:
        """Whether words stand above the rows: there is no room beside them."""
        return self.width < WIDE / 2

    @property
    def row_px(self) -> float:
        return _PHONE_PX if self.narrow else _ROOMY_PX if len(self.rows) <= _FEW else _TIGHT_PX

    @property
    def height(self) -> float:
        return round(_TOP_PX + self.row_px * len(self.rows) + BOTTOM_PX)

    @property
    def ends(self) -> tuple[float, float]:
        spans = [span for row in self.rows for span in row.bar.spans]
        return min(first for first, _, _ in spans), max(last for _, last, _ in spans)

    def paint(self, tokens: Tokens) -> Figure:
        size = self.width, self.height
        figure = sheet(*size)
        plot_px = self.width if self.narrow else self.width - _WORDS_PX
        box = (LEFT_PX, BOTTOM_PX, inner_px(plot_px), self.row_px * len(self.rows))
        first, last = self.ends
        pad = _PAD * (last - first) or 1.0
        pane = Pane(figure, size, box, Window(first - pad, last + pad, box[2]), tokens)
        pane.ax.set_ylim(len(self.rows), 0)
        height = 0.72 if self.narrow else 0.5  # of a bar in its row
        self._paint_joins(pane, height)
        for place, row in enumerate(self.rows):
            _paint_bar(pane, row, place + height)
            self._paint_words(pane, row, place, height)
        pane.paint_steps(self.axis, 4 if plot_px < WIDE / 2 else 8)
        return figure

    def words(self, title: str) -> tuple[str, str]:
        became = "; ".join(f"{row.bar.attempt + 1} {row.words}" for row in self.rows[-8:])
        first, last = self.ends
        attempts = f"lineage of {plural(len(self.rows), 'attempt')}"
        alt = f"{literal(title)}: {attempts} over {self.axis} {count(first)} to {count(last)}. {became}."
        caption = (
            "A row an attempt. Solid: live; grey and dashed: overtaken. "
            "Cross: it died; dot: it is done; bar: it was stopped, or nothing tells."
        )
        dropped = self.rows[0].bar.attempt
        if len(self.rows) == MOST_BARS and dropped:
            verb = "is" if dropped == 1 else "are"
            caption += f" The {plural(dropped, 'attempt')} before these {verb} not drawn."
        return alt, caption

    def holder(self, join: Join) -> int:
        """The attempt a join goes back to: the one before it, or of its forebears the one with that step."""
        source = {j.after: j for j in self.joins}
        attempt = join.before
        while attempt in source and source[attempt].to_step > join.to_step:
            attempt = source[attempt].before
        return attempt

    def _paint_joins(self, pane: Pane, height: float) -> None:
        """From the row that was gone on from down to the row that goes on, at the latter's first step."""
        place_of = {row.bar.attempt: place for place, row in enumerate(self.rows)}
        for join in self.joins:
            above, below = place_of.get(self.holder(join)), place_of.get(join.after)
            if above is not None and below is not None:
                x, y = float(join.to_step), (above + height, below + height)
                end = self.rows[above].bar.spans[-1][1]  # a resume may begin a little after it
                pane.line([min(x, end), x, x], [y[0], y[0], y[1]], "ink2", zorder=2)

    def _paint_words(self, pane: Pane, row: Row, place: int, height: float) -> None:
        number = str(row.bar.attempt + 1)
        style: Style = {"where": "values", "fontsize": pt(SMALL_PX), "zorder": 6, **pane.halo}
        if self.narrow:
            shown = fitted(f"{number}. {row.words}", self.width - 16)
            pane.write(shown, (0, place + 0.3), (8 - LEFT_PX, 0), "left center", **style)
            return
        y, shown = place + height, fitted(row.words, _WORDS_PX - 16)
        pane.write(number, (0, y), (-10, 0), "right center_baseline", **style)
        pane.write(shown, (1, y), (RIGHT_PX, 0), "left center_baseline", **style)


def lineage(timeline: Timeline, axis: str, width: float) -> Lineage | None:
    """The figure at a width; None for a run of fewer than two attempts with points."""
    shown = [_taken_over(bar, timeline.joins) for bar in bars(timeline)]
    if len(shown) < 2:
        return None
    ended = endings(timeline)
    rows = []
    for bar in shown:
        ending = ended[bar.attempt]
        # Of those that no join leads to or from the name as well, for nothing else tells which they are.
        name = f"{timeline.attempts[bar.attempt].name}: " if ending.then in ("apart", "evaluation") else ""
        rows.append(Row(bar, ending, name + outcome(ending)))
    return Lineage(width, axis, rows, timeline.joins)


def _taken_over(bar: Bar, joins: Sequence[Join]) -> Bar:
    """The bar with its live part up to the step where another attempt took over, between two samples."""
    spans = list(bar.spans)
    for k, ((first, last, live), (_, end, still)) in enumerate(pairwise(bar.spans)):
        if live and not still:
            later = (j.to_step for j in joins if j.after > bar.attempt and last < j.to_step <= end)
            step = float(min(later, default=last))
            spans[k : k + 2] = [(first, step, True), (step, end, False)]
    return Bar(bar.attempt, tuple(spans))


def _paint_bar(pane: Pane, row: Row, y: float) -> None:
    for first, last, live in row.bar.spans:
        if live:
            pane.line([first, last], [y, y], "live", _LIVE_PX, solid_capstyle="butt", zorder=4)
        else:
            pane.line([first, last], [y, y], "dead", _DEAD_PX, ls=(0, _DASH), zorder=3)
    _, end, live = row.bar.spans[-1]
    marker = end_marker(row.ending)
    edge = pt(1.6) if marker == "|" else 0
    pane.mark([end], [y], marker, 9, "live" if live else "dead", "data", mew=edge, zorder=5)


def end_marker(ending: Ending) -> str:
    """How an attempt ended, as matplotlib's marker: a dot where it is done, a cross where it died."""
    if ending.how in _STOPPED:
        return ">" if ending.then in ("latest", "apart") else "|"
    return "o" if ending.how == "finished" else "X"


def fitted(words: str, width_px: float) -> str:
    """The words on one line of a width: without the last phrases where they are longer, or cut."""
    shown = literal(words, 200)
    while text_px(shown, SMALL_PX) > width_px and ", " in shown:
        shown = shown.rpartition(", ")[0]
    while text_px(shown, SMALL_PX) > width_px and len(shown) > 2:
        shown = f"{shown[:-2].rstrip(' ,.')}…"
    return shown
