"""What stands over and below the curves: findings, joins, faults beside the curves, and attempts.

Each kind is placed once, in CSS pixels from the left end of a panel, so that nothing covers another; then
it is painted in each theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from matplotlib.patches import Rectangle

from chronicle.classify.patterns import BY_ID
from chronicle.figures.panels import segments
from chronicle.figures.scales import Pane, Style, Window
from chronicle.figures.style import SHAPES, literal, on, pt, text_px
from chronicle.metrics.values import fault_words
from chronicle.model import Fault, Finding, Join, Timeline, Verdict

BADGE_PX = 24  # from one badge to the next on a row
LETTER_PX = 19  # the same for the letters of joins
MOST_BADGES = 30  # more than this do not fit a phone; further findings have bands without a number
MOST_LETTERS = 24
MOST_BARS = 60
_EVERY_LINE = 40  # of more joins than this only those with a letter have a line

_NARROWEST_PX = 5
_LONG_PX = 72  # a longer band has its badge at the left end
_FILL_SHARE = 0.8  # a finding about nearly all of the run gets a cap and no fill
_DEEPEST = 2  # tints of one verdict over each other; more are mud
_MOVED_PX = 2  # a badge this far from its place has a leader
_BADGE_ROW_PX, _CAP_LANE_PX, _CAP_PX, _MOST_LANES = 22, 4.5, 3.5, 3
_SIZE_PX = {"o": 19.0, "^": 22.0, "s": 17.0, "D": 16.0}  # shapes of about one area
_TINT = 0.13
_DOTTED = (0, (1, 2.2))

_FAULTS_APART_PX = 16.0  # faults nearer than this are one mark
_CROSS_PX, _WORDS_PX, _PAD_PX = 8.0, 11.0, 6.0
_MOST_FAULT_LINES = 12  # of more faults than this none has a line through the panels
_BAR_ROW_PX, _STRIP_PX = 25, 240  # of one attempt, and of all of them


@dataclass(frozen=True)
class Occurrence:
    """A finding with its number, the step it ends at (of one that is not over, its attempt's last one),
    and whether it has a badge."""

    number: int
    finding: Finding
    end: float
    badge: bool = True


@dataclass(frozen=True)
class Mark:
    """A badge or letter: where it belongs, where it stands, and on which row (0 is next to the panel)."""

    text: str
    wanted_px: float
    at_px: float
    row: int

    @property
    def moved(self) -> bool:
        return abs(self.at_px - self.wanted_px) > _MOVED_PX


@dataclass(frozen=True)
class Fill:
    """A tint through all panels: ``depth`` findings of one verdict are over each other here."""

    verdict: Verdict
    left_px: float
    right_px: float
    depth: int


@dataclass(frozen=True)
class Band:
    """A finding over the steps it took: cap on lane ``lane``, fill, arrow where it was not over."""

    number: int
    verdict: Verdict
    left_px: float
    right_px: float
    lane: int
    fill: bool
    open: bool
    badge: bool = True

    def cap(self, pane: Pane) -> float:
        """Where the cap is, as a share of the pane's height."""
        return 1 + min(self.lane, _MOST_LANES) * _CAP_LANE_PX / pane.height


@dataclass(frozen=True, eq=False)
class FindingMarks:
    """Findings as tints through all panels, and as caps and numbered badges above the first one."""

    bands: Sequence[Band]
    fills: Sequence[Fill]
    badges: Sequence[Mark]

    @classmethod
    def place(cls, findings: Sequence[Occurrence], window: Window) -> FindingMarks:
        """The marks of those findings that touch the window."""
        shown = bands(findings, window)
        return cls(shown, fills(shown), badges(shown, window.width))

    @property
    def badge_base(self) -> float:
        """From the frame to the middle of the lowest badges; more where leaders or lanes need room."""
        lanes = min(_MOST_LANES, max((band.lane for band in self.bands), default=0))
        return 14 + 6 * any(badge.moved for badge in self.badges) + _CAP_LANE_PX * lanes

    @property
    def lift(self) -> float:
        """How far the first panel's label stands above its frame to leave room for caps and badges."""
        if not self.badges:
            lanes = min(_MOST_LANES, max((band.lane + 1 for band in self.bands), default=0))
            return 4 + _CAP_LANE_PX * lanes
        return self.badge_base + 13 + _BADGE_ROW_PX * max(badge.row for badge in self.badges)

    def paint(self, panes: Sequence[Pane]) -> None:
        top, width = panes[0], panes[0].window.width
        for pane in panes:
            for fill in self.fills:
                left, size = fill.left_px / width, (fill.right_px - fill.left_px) / width
                tint: Style = {"color": pane.tokens[fill.verdict], "alpha": _TINT * fill.depth, "lw": 0}
                tint |= {"transform": pane.place["inside"], "zorder": 1}
                pane.ax.add_patch(Rectangle((left, 0), size, 1, **tint))
        band_of = {str(band.number): band for band in self.bands}
        for band in self.bands:
            x, y = [band.left_px / width, band.right_px / width], band.cap(top)
            look: Style = {"where": "inside", "clip_on": False, "zorder": 6}
            top.line(x, [y, y], band.verdict, _CAP_PX, solid_capstyle="butt", **look)
            if band.open:
                top.mark(x[1:], [y], ">", 7, band.verdict, **look)
        for badge in self.badges:
            band, at = band_of[badge.text], badge.at_px / width
            y = 1 + (self.badge_base + _BADGE_ROW_PX * badge.row) / top.height
            if badge.row or badge.moved:
                x = [badge.wanted_px / width, at]
                top.line(x, [band.cap(top), y], band.verdict, where="inside", clip_on=False, zorder=7)
            shape = SHAPES[band.verdict]
            top.mark([at], [y], shape, _SIZE_PX[shape], band.verdict, "inside", zorder=9)
            low = 2.6 if shape == "^" else 0.3  # the middle of a triangle's body is below its centre
            place = (at, y), (0, -low), "center center_baseline", on(band.verdict)
            size = pt(11 if len(badge.text) == 1 else 9)
            top.write(badge.text, *place, fontsize=size, weight="bold", zorder=10)


def bands(findings: Sequence[Occurrence], window: Window) -> list[Band]:
    """Bands of the findings that touch the window.

    Caps of overlapping bands are on lanes of their own, so two findings never look like one.
    """
    placed: list[Band] = []
    free_from: list[float] = []
    for item in findings:
        if item.end < window.first or item.finding.start_step > window.last:
            continue
        left, right = max(window.px(item.finding.start_step), 0), min(window.px(item.end), window.width)
        if right - left < _NARROWEST_PX:
            middle = min(max((left + right) / 2, _NARROWEST_PX / 2), window.width - _NARROWEST_PX / 2)
            left, right = middle - _NARROWEST_PX / 2, middle + _NARROWEST_PX / 2
        lane = next((i for i, taken in enumerate(free_from) if taken <= left), len(free_from))
        free_from[lane : lane + 1] = [right + 1]
        fill = right - left < _FILL_SHARE * window.width
        verdict, still = BY_ID[item.finding.pattern].verdict, item.finding.end_step is None
        placed.append(Band(item.number, verdict, left, right, lane, fill, still, item.badge))
    return placed


def fills(shown: Sequence[Band]) -> list[Fill]:
    """The tints of the bands. Where verdicts overlap the gravest one has it: a blend would be no verdict."""
    tinted = [band for band in shown if band.fill]
    cuts = sorted({edge for band in tinted for edge in (band.left_px, band.right_px)})
    merged: list[Fill] = []
    for left, right in pairwise(cuts):
        over = [band.verdict for band in tinted if band.left_px <= left and right <= band.right_px]
        if over:
            gravest = max(over, key=lambda verdict: verdict.rank)
            fill = Fill(gravest, left, right, min(over.count(gravest), _DEEPEST))
            last = merged[-1] if merged else fill
            if (last.verdict, last.depth, last.right_px) == (fill.verdict, fill.depth, left):
                fill = replace(merged.pop(), right_px=right)
            merged.append(fill)
    return merged


def badges(shown: Sequence[Band], width_px: float) -> list[Mark]:
    """Badges of those bands that have one: centred over short bands, at the left end of long ones."""
    wanted = []
    for band in shown:
        if band.badge:
            long = band.right_px - band.left_px > _LONG_PX
            at_px = band.left_px + BADGE_PX / 2 + 2 if long else (band.left_px + band.right_px) / 2
            wanted.append((at_px, str(band.number)))
    return spread(wanted, BADGE_PX, width_px)


def spread(
    wanted: Sequence[tuple[float, str]], gap_px: float, width_px: float, most_rows: int = 4
) -> list[Mark]:
    """Marks near where they belong, none closer than ``gap_px`` to another on its row, in order.

    One row if nobody has to go far, else more: marks of a crowd take the rows in turn, and stand
    so that the leader of an upper one passes between two lower ones.
    """
    order = sorted(wanted)
    places: list[float] = []
    for rows in range(1, most_rows + 1):
        places = _apart([at for at, _ in order], gap_px / rows, gap_px / 2, width_px - gap_px / 2)
        farthest = max((abs(place - at) for place, (at, _) in zip(places, order, strict=True)), default=0)
        if farthest <= 2 * gap_px and (len(order) - 1) * gap_px / rows <= width_px - gap_px:
            break
    ends: list[float] = []  # of each row; a mark takes the lowest that has room for it
    marks = []
    for (at, text), place in zip(order, places, strict=True):
        row = next((i for i, end in enumerate(ends) if place - end >= gap_px - 1e-6), len(ends))
        ends[row : row + 1] = [place]
        marks.append(Mark(text, at, place, row))
    return marks


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places nearest to ``wanted`` (ascending) in least squares that are ``gap`` apart in [low, high].

    With the gaps taken out this is isotonic regression: neighbours in the wrong order are pooled.
    """
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    pools: list[tuple[float, int]] = []  # mean, size
    for i, at in enumerate(wanted):
        mean, size = at - i * gap, 1
        while pools and pools[-1][0] > mean:
            other, n = pools.pop()
            mean, size = (mean * size + other * n) / (size + n), size + n
        pools.append((mean, size))
    flat = [mean for mean, size in pools for _ in range(size)]
    highest = high - (len(wanted) - 1) * gap
    return [min(max(q, low), highest) + i * gap for i, q in enumerate(flat)]


@dataclass(frozen=True, eq=False)
class JoinMarks:
    """Joins as dotted lines through the panels at the steps ``lines``, and as letters at their foot."""

    joins: Sequence[Join]
    letters: Sequence[Mark]
    lines: Sequence[float]

    @classmethod
    def place(cls, joins: Sequence[tuple[str, Join]], window: Window) -> JoinMarks:
        """The marks of the lettered joins in the window; of very many those of the costliest."""
        inside = [(letter, join) for letter, join in joins if window.first <= join.to_step <= window.last]
        most = min(MOST_LETTERS, int(window.width / LETTER_PX))
        costliest = sorted(inside, key=lambda item: -item[1].discarded_steps)[:most]
        wanted = [(window.px(join.to_step), letter) for letter, join in costliest]
        lines = {float(j.to_step) for _, j in (inside if len(inside) <= _EVERY_LINE else costliest)}
        letters = spread(wanted, LETTER_PX, window.width, most_rows=2)
        return cls([join for _, join in joins], letters, sorted(lines))

    def paint_lines(self, panes: Sequence[Pane]) -> None:
        """A line at each step that a later attempt begins with."""
        for pane in panes:
            pane.uprights(self.lines, 1, ls=_DOTTED, zorder=2.5)

    def paint_letters(self, pane: Pane) -> None:
        box = {"boxstyle": "round,pad=.22,rounding_size=.25", "fc": pane.tokens["ink2"], "ec": "none"}
        look: Style = {"ha": "center", "va": "center", "weight": "bold", "color": pane.tokens["page"]}
        for mark in self.letters:
            x, y = mark.at_px / pane.window.width, (9 + 17 * mark.row) / pane.height
            look["fontsize"] = pt(10 if len(mark.text) == 1 else 8.5)
            pane.ax.text(x, y, mark.text, transform=pane.place["inside"], zorder=9, bbox=box, **look)


@dataclass(frozen=True)
class FaultMark:
    """One or more faults next to each other: the step of the first, where it stands, what it says.

    ``side`` is 1 where the words stand to the right of the mark, -1 to the left, 0 where there is no room.
    """

    step: float
    at_px: float
    words: str
    side: int


@dataclass(frozen=True, eq=False)
class FaultLane:
    """What failed beside the curves, at the step the run was at: a lane of its own below the panels."""

    marks: Sequence[FaultMark]
    height: ClassVar[float] = 20.0

    @classmethod
    def place(cls, faults: Iterable[Fault], window: Window) -> FaultLane:
        """Marks of the faults with a step in the window, from left to right."""
        steps = [(f.at_step, fault_words(f.kind)) for f in faults if f.at_step is not None]
        groups: list[tuple[float, float, list[str]]] = []
        for step, words in sorted(steps, key=lambda item: item[0]):
            if not window.first <= step <= window.last:
                continue
            at_px = window.px(step)
            if groups and at_px - groups[-1][1] < _FAULTS_APART_PX:
                groups[-1][2].append(words)
            else:
                groups.append((step, at_px, [words]))
        return cls(_fault_marks(groups, window.width))

    def title(self, narrow: bool) -> str:
        return "faults beside the curves"

    def paint(self, pane: Pane, panels: Sequence[Pane]) -> None:
        """Crosses with their words; a thin line through the panels where there are few of them."""
        pane.ax.set_ylim(0, 1)
        for mark in self.marks:
            x = mark.at_px / pane.window.width
            pane.mark([x], [0.5], "X", _CROSS_PX, "ink", "inside", zorder=8)
            if mark.side:
                shift, aligned = mark.side * (_CROSS_PX / 2 + _PAD_PX), "left" if mark.side > 0 else "right"
                place = (x, 0.5), (shift, 0), f"{aligned} center_baseline"
                pane.write(mark.words, *place, fontsize=pt(_WORDS_PX))
        for panel in panels if len(self.marks) <= _MOST_FAULT_LINES else ():
            panel.uprights([mark.step for mark in self.marks], 0.8, alpha=0.45, zorder=2.4)


def _fault_marks(groups: Sequence[tuple[float, float, list[str]]], width_px: float) -> list[FaultMark]:
    marks: list[FaultMark] = []
    free_px = 0.0  # words to the left may begin here
    for number, (step, at_px, kinds) in enumerate(groups):
        end_px = groups[number + 1][1] - _CROSS_PX / 2 if number + 1 < len(groups) else width_px
        words, room, side = "", 0.0, 0
        distinct = list(dict.fromkeys(kinds))
        for most in (2, 1):  # ``Xid, NCCL +1``, and where there is no room for that ``Xid +2``
            if not side:
                more = f" +{len(distinct) - most}" if len(distinct) > most else ""
                words = literal(", ".join(distinct[:most]) + more, 40)
                room = text_px(words, _WORDS_PX) + _CROSS_PX / 2 + 2 * _PAD_PX
                side = 1 if at_px + room <= end_px else -1 if at_px - room >= free_px else 0
        free_px = at_px + (room if side == 1 else _CROSS_PX)
        marks.append(FaultMark(step, at_px, words, side))
    return marks


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
    shown = []
    for k in logged[-MOST_BARS:]:
        longest = tracks[int(points[:, k].argmax())]
        spans = ((float(s.steps[0]), float(s.steps[-1]), s.live) for s in segments(longest, k))
        shown.append(Bar(k, tuple(spans)))
    return shown


@dataclass(frozen=True, eq=False)
class AttemptStrip:
    """One bar an attempt, hatched where it was overtaken, an arrow back at each rollback."""

    bars: Sequence[Bar]
    joins: JoinMarks

    @property
    def height(self) -> float:
        return min(_BAR_ROW_PX * len(self.bars), _STRIP_PX) + 2

    def title(self, narrow: bool) -> str:
        first, last = self.bars[0].attempt, self.bars[-1].attempt
        which = "attempts" if not first else f"attempts {first + 1} to {last + 1}"
        discards = any(not live for bar in self.bars for _, _, live in bar.spans)
        return which + ("  ·  hatched: discarded" if discards and not narrow else "")

    def paint(self, pane: Pane, panels: Sequence[Pane]) -> None:
        self.joins.paint_lines([pane])
        row_px = self.height / len(self.bars)
        every = next((n for n in (1, 2, 5, 10) if n * row_px >= 13), 20)
        narrowest = 0.004 * (pane.window.last - pane.window.first)
        pane.ax.set_ylim(len(self.bars) - 0.35, -0.65)
        dead: Style = {"fc": "none", "ec": pane.tokens["dead"], "hatch": "/////", "lw": pt(1)}
        live: Style = {"fc": pane.tokens["live"], "lw": 0}
        for row, bar in enumerate(self.bars):
            for first, last, is_live in bar.spans:
                look = live if is_live else dead
                size = max(last - first, narrowest), 0.44
                pane.ax.add_patch(Rectangle((first, row - 0.22), *size, **look))
            if row == 0 or (bar.attempt + 1) % every == 0:
                place = (0, row), (-10, 0), "right center", "ink2", "values"
                pane.write(str(bar.attempt + 1), *place, fontsize=pt(11))
        row_of = {bar.attempt: row for row, bar in enumerate(self.bars)}
        for join in self.joins.joins:
            before, after = row_of.get(join.before, 1e9), row_of.get(join.after, -1)
            if join.to_step < join.from_step and before < after:
                # Down from the end of what was discarded, back, and down to the step that was resumed from.
                x = [float(step) for step in (join.from_step, join.from_step, join.to_step, join.to_step)]
                y = [before + 0.24, before + 0.5, before + 0.5, after - 0.38]
                pane.line(x, y, "ink2", 1.2, zorder=5, solid_joinstyle="miter", clip_on=False)
                pane.mark(x[-1:], [after - 0.32], "v", min(6, row_px / 3), "ink2", "data", zorder=6)
