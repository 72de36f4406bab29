"""What is drawn over and below the curves, in CSS pixels from the left end of a panel, without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from chronicle.figures.scales import Pane, Segment, Window, segments
from chronicle.figures.sheet import HALF_CAPITAL_PX, Box, Sheet, on, one_line, text_px
from chronicle.metrics.values import fault_words
from chronicle.model import Fault, Finding, Join, Timeline, Verdict

BADGE_PX, WIDE_BADGE_PX = 24, 30  # from one badge to the next on a row; the same if one has two digits
LETTER_PX = 19  # the same for the letters of joins
MOST_BADGES = 30  # more do not fit on a phone; further findings have bands without a number
MOST_LETTERS = 24
MOST_BARS = 60
_MOST_LINES = 40  # of more joins than this, only those with a letter have a line
_NARROWEST_PX = 5  # of a band
_LONG_PX = 72  # a longer band has its badge at its left end
_FILL_SHARE = 0.8  # of the panel: a wider band is not filled
_DEEPEST = 2  # tints of one verdict over each other
_MOVED_PX = 2  # a badge so far from its place has a leader line
_BADGE_ROW_PX, _CAP_LANE_PX, _CAP_PX, _MOST_LANES = 24, 4.5, 3.5, 3
_FAULTS_APART_PX = 16.0  # faults nearer to each other share one mark
_CROSS_PX, _PAD_PX = 8.0, 6.0
_MOST_FAULT_LINES = 12  # if there are more faults, none has a line through the panels
_BAR_ROW_PX, _STRIP_PX = 20, 240  # of one attempt, and of all of them
_LABEL_PX = 13  # the least distance between the numbers of two attempts
_NARROWEST_BAR_PX = 2


class Occurrence(NamedTuple):
    """The gravest finding of a group up to the end of the group, the step where that (else its attempt) ends,
    its rank (0 is the gravest) and its verdict, and all findings of which its sentences tell."""

    number: int
    finding: Finding
    end: float
    rank: int
    verdict: Verdict
    parts: tuple[Finding, ...] = ()

    @property
    def badge(self) -> bool:
        return self.rank < MOST_BADGES


class Mark(NamedTuple):
    """A badge or letter: its wanted place, its actual place, and its row (0 is next to the panel)."""

    text: str
    wanted_px: float
    at_px: float
    row: int

    @property
    def moved(self) -> bool:
        return abs(self.at_px - self.wanted_px) > _MOVED_PX


class Fill(NamedTuple):
    """A tint through all panels, where ``depth`` findings of one verdict overlap."""

    verdict: Verdict
    left_px: float
    right_px: float
    depth: int


class Band(NamedTuple):
    """A finding over its steps: a cap on the lane ``lane``, a fill, and an arrow if it is not over."""

    number: int
    verdict: Verdict
    left_px: float
    right_px: float
    lane: int
    fill: bool
    open: bool
    badge: bool = True

    @property
    def lift(self) -> float:
        return min(self.lane, _MOST_LANES) * _CAP_LANE_PX


class FindingMarks:
    """The findings in a window: tints through all panels, caps and numbered badges above the first one."""

    def __init__(self, findings: Sequence[Occurrence], window: Window) -> None:
        self.bands = bands(findings, window)
        self.badges = badges(self.bands, window.width)
        lanes_px = max((band.lift for band in self.bands), default=0)
        # From the frame to the middle of the lowest badges, with room for leaders and lanes.
        self.badge_base = 14 + 6 * any(badge.moved for badge in self.badges) + lanes_px
        # How far the first panel's label is above its frame, to leave room for caps and badges.
        lanes = min(_MOST_LANES, max((band.lane + 1 for band in self.bands), default=0))
        self.lift = 4 + _CAP_LANE_PX * lanes
        if self.badges:
            self.lift = self.badge_base + 13 + _BADGE_ROW_PX * max(badge.row for badge in self.badges)

    def paint(self, panes: Sequence[Pane]) -> None:
        top, sheet = panes[0], panes[0].sheet
        for pane in panes:
            for fill in fills(self.bands):
                box = pane.left + fill.left_px, pane.top, fill.right_px - fill.left_px, pane.height
                sheet.box(box, fill.verdict, 1, alpha=round(0.13 * fill.depth, 2))
        for band in self.bands:
            left, right, cap = top.left + band.left_px, top.left + band.right_px, top.top - band.lift
            sheet.line([left, right], [cap, cap], band.verdict, 6, _CAP_PX)
            if band.open:
                sheet.area([right - 3, right + 4, right - 3], [cap - 4, cap, cap + 4], band.verdict, 6)
        band_of = {str(band.number): band for band in self.bands}
        for badge in self.badges:
            band, x = band_of[badge.text], top.left + badge.at_px
            y = top.top - self.badge_base - _BADGE_ROW_PX * badge.row
            if badge.row or badge.moved:
                sheet.line([top.left + badge.wanted_px, x], [top.top - band.lift, y], band.verdict, 7)
            _badge(sheet, badge.text, band.verdict, x, y)


def _badge(sheet: Sheet, number: str, verdict: Verdict, x: float, y: float) -> None:
    small = len(number) == 1
    baseline = y + HALF_CAPITAL_PX
    if verdict is Verdict.GOOD:
        sheet.line([x], [y], verdict, 9, 19 if small else 20, dots=True)
    elif verdict is Verdict.WORRYING:  # the triangle is wider for two digits
        half, foot = (11, y + 9) if small else (15, y + 10)
        sheet.area([x - half, x, x + half], [foot, foot - (20 if small else 24), foot], verdict, 9)
        baseline = foot - (3 if small else 2.5)
    else:
        reach = np.array([-1, 1, 1, -1]) * 8.5, np.array([-1, -1, 1, 1]) * 8.5
        if verdict is Verdict.UNEXPECTED:
            reach = np.array([-1, 0, 1, 0]) * (11.5 if small else 14), np.array([0, -1, 0, 1]) * 11.5
        sheet.area(x + reach[0], y + reach[1], verdict, 9)
    sheet.write(number, x, baseline, on(verdict), anchor="middle", bold=True)


def bands(findings: Sequence[Occurrence], window: Window) -> list[Band]:
    """Bands of the findings in the window; the caps of overlapping bands are on different lanes."""
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
        fill, is_open = right - left < _FILL_SHARE * window.width, item.finding.end_step is None
        placed.append(Band(item.number, item.verdict, left, right, lane, fill, is_open, item.badge))
    return placed


def fills(shown: Sequence[Band]) -> list[Fill]:
    """The tints of the bands. Where verdicts overlap, the gravest one has its colour without a blend."""
    tinted = [band for band in shown if band.fill]
    cuts = sorted({edge for band in tinted for edge in (band.left_px, band.right_px)})
    merged: list[Fill] = []
    for left, right in pairwise(cuts):
        if over := [band.verdict for band in tinted if band.left_px <= left and right <= band.right_px]:
            gravest = max(over, key=lambda verdict: verdict.rank)
            fill = Fill(gravest, left, right, min(over.count(gravest), _DEEPEST))
            if merged and fill._replace(left_px=merged[-1].left_px, right_px=left) == merged[-1]:
                fill = merged.pop()._replace(right_px=right)  # it continues the last one
            merged.append(fill)
    return merged


def badges(shown: Sequence[Band], width_px: float) -> list[Mark]:
    """The badges of the bands: centred over short bands, at the left end of long ones."""
    wanted = []
    for band in shown:
        if band.badge:
            long = band.right_px - band.left_px > _LONG_PX
            at_px = band.left_px + BADGE_PX / 2 + 2 if long else (band.left_px + band.right_px) / 2
            wanted.append((at_px, str(band.number)))
    gap_px = BADGE_PX if all(len(number) == 1 for _, number in wanted) else WIDE_BADGE_PX
    return spread(wanted, gap_px, width_px)


def spread(wanted: Iterable[tuple[float, str]], gap_px: float, width_px: float, rows: int = 4) -> list[Mark]:
    """Marks near their wanted places, in order, and at least ``gap_px`` apart on a row. Rather than move far,
    marks use more rows in turn, so that the leader of an upper one passes between two lower ones."""
    order = sorted(wanted)
    places, at_px = list[float](), [at for at, _ in order]
    for n in range(1, rows + 1):
        places = _apart(at_px, gap_px / n, gap_px / 2, width_px - gap_px / 2)
        farthest = max((abs(place - at) for place, at in zip(places, at_px, strict=True)), default=0)
        if farthest <= 2 * gap_px and (len(order) - 1) * gap_px / n <= width_px - gap_px:
            break
    ends: list[float] = []  # of each row; a mark takes the lowest row that has room for it
    marks = []
    for (at, text), place in zip(order, places, strict=True):
        row = next((i for i, end in enumerate(ends) if place - end >= gap_px - 1e-6), len(ends))
        ends[row : row + 1] = [place]
        marks.append(Mark(text, at, place, row))
    return marks


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places in [low, high], at least ``gap`` apart, nearest to ``wanted`` (ascending) by least squares.
    Without the gaps this is isotonic regression: neighbours in the wrong order are pooled."""
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


class JoinMarks:
    """The joins in a window: lines at the steps ``lines``, and letters at the foot of the panels."""

    def __init__(self, joins: Sequence[tuple[str, Join]], window: Window) -> None:
        inside = [(letter, join) for letter, join in joins if window.first <= join.to_step <= window.last]
        most = min(MOST_LETTERS, int(window.width / LETTER_PX))
        costliest = sorted(inside, key=lambda item: -item[1].discarded_steps)[:most]
        wanted = [(window.px(join.to_step), letter) for letter, join in costliest]
        self.joins = [join for _, join in joins]
        self.letters = spread(wanted, LETTER_PX, window.width, rows=2)
        lined = inside if len(inside) <= _MOST_LINES else costliest
        self.lines = sorted({float(join.to_step) for _, join in lined})

    def paint_lines(self, panes: Sequence[Pane]) -> None:
        for pane in panes:
            pane.uprights(self.lines, 1, 2.5, dash=(1, 2.2))

    def boxes(self, pane: Pane) -> list[Box]:
        return [(pane.left + mark.at_px - 9, pane.foot - 18 - 17 * mark.row, 18, 18) for mark in self.letters]

    def paint_letters(self, pane: Pane) -> None:
        for mark in self.letters:
            x, y = pane.left + mark.at_px, pane.foot - 9 - 17 * mark.row
            half = 7 if len(mark.text) == 1 else 9
            pane.sheet.box((x - half, y - 7, 2 * half, 14), "ink2", 9)
            pane.sheet.mark(mark.text, x, y, "page", anchor="middle", bold=True)


class FaultMark(NamedTuple):
    """Neighbouring faults. Their words stand right (``side`` 1) or left (-1) of the mark, or nowhere (0)."""

    step: float
    at_px: float
    words: str
    side: int


def _fitting_words(
    kinds: Sequence[str], at_px: float, free_px: float, end_px: float
) -> tuple[str, float, int]:
    """The words of a mark of faults, their room [px], and the side on which they fit between ``free_px`` and
    ``end_px``: 1 right, -1 left, 0 none. ``Xid, NCCL +1``; if there is no room for that, ``Xid +2``."""
    words, room, side = "", 0.0, 0
    for most in (2, 1):
        more = f" +{len(kinds) - most}" if len(kinds) > most else ""
        words = one_line(", ".join(kinds[:most]) + more, 40)
        room = text_px(words) + _CROSS_PX / 2 + 2 * _PAD_PX
        side = int(at_px + room <= end_px) or -int(at_px - room >= free_px)
        if side:
            break
    return words, room, side


class FaultLane:
    """The strip with the faults of machines and jobs whose step is in the window, from left to right."""

    height = 20.0

    def __init__(self, faults: Iterable[Fault], window: Window) -> None:
        groups: list[tuple[float, float, list[str]]] = []
        placed = (f for f in faults if f.at_step is not None and window.first <= f.at_step <= window.last)
        for fault in sorted(placed, key=attrgetter("at_step")):
            at_px = window.px(float(fault.at_step or 0))
            if not groups or at_px - groups[-1][1] >= _FAULTS_APART_PX:
                groups.append((fault.at_step or 0, at_px, []))
            groups[-1][2].append(fault_words(fault.kind))
        ends_px = [at_px - _CROSS_PX / 2 for _, at_px, _ in groups[1:]] + [window.width]
        self.marks: list[FaultMark] = []
        free_px = 0.0  # from here on there is room for words to the left of the next mark
        for (step, at_px, kinds), end_px in zip(groups, ends_px, strict=False):
            words, room, side = _fitting_words([*dict.fromkeys(kinds)], at_px, free_px, end_px)
            free_px = at_px + (room if side == 1 else _CROSS_PX)
            self.marks.append(FaultMark(step, at_px, words, side))

    def title(self, narrow: bool) -> str:
        return "faults beside the curves"

    def paint(self, pane: Pane, panels: Sequence[Pane]) -> None:
        y = pane.top + pane.height / 2
        places = pane.left + np.array([mark.at_px for mark in self.marks])
        pane.sheet.crosses(places, y, _CROSS_PX / 2 - 1, 3, "ink")
        for mark, place in zip(self.marks, places, strict=True):
            if mark.side:
                anchor, x = "start" if mark.side > 0 else "end", place + mark.side * (_CROSS_PX / 2 + _PAD_PX)
                pane.sheet.mark(mark.words, x, y, anchor=anchor)
        for panel in panels if len(self.marks) <= _MOST_FAULT_LINES else ():
            panel.uprights([mark.step for mark in self.marks], 0.8, 2.4, alpha=0.45)


def bars(timeline: Timeline) -> Mapping[int, Sequence[Segment]]:
    """The longest track of each attempt that logged a point, by its index, of the last `MOST_BARS`."""
    number, tracks = len(timeline.attempts), list(timeline.series.values())
    points = np.array([np.bincount(t.attempt, minlength=number) for t in tracks])
    logged = np.flatnonzero(points.any(axis=0)).tolist()
    return {k: segments(tracks[int(points[:, k].argmax())], k) for k in logged[-MOST_BARS:]}


class AttemptStrip(NamedTuple):
    """A strip with a bar for each attempt, hatched where it was overtaken, and an arrow at each rollback."""

    bars: Mapping[int, Sequence[Segment]]
    joins: JoinMarks

    @property
    def height(self) -> float:
        return min(_BAR_ROW_PX * len(self.bars), _STRIP_PX) + 2

    def title(self, narrow: bool) -> str:
        first, *_, last = self.bars
        which = "attempts" if not first else f"attempts {first + 1} to {last + 1}"
        discards = any(not segment.live for bar in self.bars.values() for segment in bar)
        return which + ("  ·  hatched: discarded" if discards and not narrow else "")

    def paint(self, pane: Pane, panels: Sequence[Pane]) -> None:
        self.joins.paint_lines([pane])
        row_px = self.height / len(self.bars)
        every = next((n for n in (1, 2, 5, 10) if n * row_px >= _LABEL_PX), 20)
        y_of = {attempt: pane.top + (row + 0.5) * row_px for row, attempt in enumerate(self.bars)}
        for row, (attempt, bar) in enumerate(self.bars.items()):
            for segment in bar:
                self._paint_segment(pane, segment, y_of[attempt], half=0.22 * row_px)
            if row == 0 or ((attempt + 1) % every == 0 and row * row_px >= _LABEL_PX):
                pane.sheet.mark(str(attempt + 1), pane.left - 10, y_of[attempt], anchor="end")
        for join in self.joins.joins:
            before, after = y_of.get(join.before, 1e9), y_of.get(join.after, -1)
            if join.to_step < join.from_step and before < after:
                self._paint_rollback(pane, join, before, after, row_px)

    def _paint_segment(self, pane: Pane, segment: Segment, y: float, half: float) -> None:
        left, right = (pane.x(float(step)) for step in segment.steps[[0, -1]])
        right = max(right, left + _NARROWEST_BAR_PX)
        if segment.live:
            pane.sheet.box((left, y - half, right - left, 2 * half), "live", 1)
        else:  # a thick line of short dashes makes the hatching
            pane.sheet.line([left, right], [y, y], "dead", 1, 2 * half, dash=(0.5 / half, 2 / half))
            around = [y - half, y - half, y + half, y + half, y - half]
            pane.sheet.line([left, right, right, left, left], around, "dead", 1)

    def _paint_rollback(self, pane: Pane, join: Join, before: float, after: float, row_px: float) -> None:
        """An arrow from the bar at ``before`` to the one at ``after``: down from the end of what was
        discarded, back, and down to the step that was resumed from."""
        start, end, half = pane.x(join.from_step), pane.x(join.to_step), 0.22 * row_px
        middle, tip, size = before + 0.5 * row_px, after - half, min(3, row_px / 6)
        down = [before + half, middle, middle, tip - size]
        pane.sheet.line([start, start, end, end], down, "ink2", 5, 1.2)
        pane.sheet.area([end - size, end + size, end], [tip - 2 * size, tip - 2 * size, tip], "ink2", 6)
