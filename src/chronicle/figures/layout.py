"""A run as figures show it, and the plan of a figure: its parts for one width, in CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from chronicle.classify.patterns import BY_ID
from chronicle.classify.report import drawn
from chronicle.figures import scales
from chronicle.figures.annotations import AttemptStrip, FaultLane, FindingMarks, JoinMarks, Occurrence, bars
from chronicle.figures.scales import Pair, Pane, Panel, Scale, Segment, Window, y_scale
from chronicle.figures.sheet import WIDE, Sheet, one_line
from chronicle.figures.strokes import Curves, missing, strokes
from chronicle.metrics.aliases import median_gap
from chronicle.model import Diagnosis, Finding, Role, Timeline, Verdict
from chronicle.story.measured import CALM, FindingGroup, finding_groups
from chronicle.story.restarts import lettered
from chronicle.timeline.axes import OnAxis, axis_of

MOST_ZOOMS = 6
_FIRST_SAMPLES = 2  # whose median is the start of a curve
_MOST_NEEDED = 7  # panels of a zoom beside the first one, however many series its findings have
PAD_SHARE = 0.006  # of the run, left and right of it
# The context of a finding in a zoom, in widths of the finding: before it, after it, before one not over.
_BEFORE, _AFTER, _BEFORE_OPEN = 1.1, 0.9, 0.8
_LEAST_SAMPLES = 12  # a width is at least so many samples: a zoom then shows at least 22
_LEAST_RUN_SHARE = 0.004  # of the run: the least width, but at most three times the finding
_WHOLE_SHARE = 0.9  # of the run: a wider zoom is not drawn unless it has more panels
_ALIKE = 0.01  # of the run: bars whose ends differ by no more are alike
_FARTHEST_ROLLBACK = 12  # widths: a zoom does not include a rollback that goes back further


class Scene:
    """A run from step ``first`` to ``last``, on request over the axis ``x``; without ``panels`` if no attempt
    logged a value. From ``edge`` on, a digitised picture may cut off the loss."""

    def __init__(
        self, timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None = None, edge: float = math.inf
    ) -> None:
        self.timeline, self.edge = timeline if x is None else x.timeline, edge
        self.panels = scales.run_panels(self.timeline, diagnosis)
        every = bars(self.timeline) if len(timeline.attempts) > 1 else {}
        self.bars = every if diagnosis.joins or not _are_alike(every.values()) else {}
        seen = [s.steps[np.isfinite(s.values)] for panel in self.panels for s in panel.segments()]
        # NaN of the judged metric is drawn as well, and so are attempts without any value.
        judged = chain(*(panel.lines[0].segments for panel in self.panels[:1]), *every.values())
        seen = [steps for steps in (*seen, *(s.steps for s in judged)) if len(steps)]
        self.first = float(min((steps[0] for steps in seen), default=0))
        self.last = float(max((steps[-1] for steps in seen), default=0))
        groups, verdict = finding_groups(timeline, diagnosis), diagnosis.verdict
        gravest = sorted(groups, key=lambda g: (g.verdict is not verdict, -g.verdict.rank, -g.lead.severity))
        self.findings = _occurrences(self.timeline, gravest, x, self.last)
        self.last = max([self.last, *(float(item.finding.start_step) for item in self.findings)])
        pad = PAD_SHARE * (self.last - self.first) or 0.5  # a run of one step has a single tick
        self.ends: Pair = (self.first - pad, self.last + pad)  # of the x axis of the whole run
        self.joins = lettered(diagnosis if x is None else replace(diagnosis, joins=self.timeline.joins))
        self.axis = one_line(axis_of(self.timeline).noun, 24)

    def body(self, panel: Panel) -> Scale:
        """The y axis of a panel of the whole run, with room for the peaks of the findings on it."""
        peaks = [
            float(known.max())
            for item in self.findings
            for line in panel.lines
            if any(part.metric in (None, line.metric) or _is_needed(part, panel) for part in item.parts)
            for segment in line.segments
            if segment.meets(item.finding.start_step, item.end)
            if len(known := segment.inside(item.finding.start_step, item.end).finite())
        ]
        # A calm course is told from its first values on, which are else out of the frame.
        calm = any(item.finding.pattern in CALM for item in self.findings)
        firsts = (s.finite()[:_FIRST_SAMPLES] for s in panel.segments() if calm)
        start = max((float(np.median(first)) for first in firsts if len(first)), default=-math.inf)
        return y_scale(panel.segments(), panel.role, peaks, start=start)

    def zooms(self) -> list[Occurrence]:
        """The gravest findings with a zoom: narrower than the run or, if not good, with more panels."""
        shown = []
        for item in sorted(self.findings, key=lambda item: item.rank):
            first, last = self.window(item)
            is_narrower = last - first < _WHOLE_SHARE * (self.last - self.first)
            is_good = item.verdict is Verdict.GOOD
            if is_narrower or (not is_good and len(self.zoom_panels(item)) > len(self.panels)):
                shown.append(item)
        return shown[:MOST_ZOOMS]

    def window(self, item: Occurrence) -> tuple[float, float]:
        """The ends of a zoom: the findings with their context, and the rollback to which they led."""
        finding, start, end = item.finding, float(min(part.start_step for part in item.parts)), item.end
        span, length = end - start, self.last - self.first
        longest = max(self.panels[0].segments(), key=lambda s: len(s.steps))
        least = min(_LEAST_RUN_SHARE * length, 3 * span)
        width = max(span, _LEAST_SAMPLES * median_gap(longest.steps), least)
        over = finding.end_step is not None
        first = start - (_BEFORE if over else _BEFORE_OPEN) * width
        last = end + (_AFTER if over else 0.05) * width
        for _, join in self.joins:
            left = finding.attempt in (None, self.timeline.attempts[join.before].name)
            near = join.from_step - end < 2 * width and end - join.to_step < _FARTHEST_ROLLBACK * width
            if left and near and join.from_step >= end >= join.to_step:
                first = min(first, join.to_step - 0.12 * width)
                last = max(last, join.from_step + 0.25 * width)
        pad = PAD_SHARE * min(length, last - first)
        first, last = max(first, self.first - pad), min(last, self.last + pad)
        return (first, last) if last > first else self.ends

    def zoom_panels(self, item: Occurrence) -> Sequence[Panel]:
        """The first panel, then those of its findings and of their context with two values in the window."""
        first, window = self.panels[0], self.window(item)

        def seen(panel: Panel) -> bool:
            return sum(len(s.inside(*window).finite()) for s in panel.segments()) >= 2

        needed, context = scales.finding_panels(self.timeline, first, item.parts)
        shown = [first, *islice(filter(seen, needed), _MOST_NEEDED)]
        return [*shown, *filter(seen, context)][: max(scales.MOST_PANELS, len(shown))]


def _is_needed(finding: Finding, panel: Panel) -> bool:
    return panel.role is not Role.LOSS and panel.role in BY_ID[finding.pattern].needs


def _are_alike(every: Iterable[Sequence[Segment]]) -> bool:
    """Whether the bars of attempts cover the same steps, so that they say no more than their number."""
    ends = np.array([(bar[0].steps[0], bar[-1].steps[-1]) for bar in every])
    return len(ends) < 2 or bool((np.ptp(ends, axis=0) <= _ALIKE * np.ptp(ends)).all())


def _occurrences(
    timeline: Timeline, gravest: Sequence[FindingGroup], x: OnAxis | None, last: float
) -> list[Occurrence]:
    occurrences = []
    for rank, group in enumerate(gravest):
        lead, *parts = (f if x is None else x.finding(f) for f in map(drawn, group.representatives))
        known = (step for part in parts for step in (part.peak_step, part.end_step) if step is not None)
        finding = lead if lead.end_step is None else replace(lead, end_step=max([lead.end_step, *known]))
        end: float | None = finding.end_step
        if end is None:
            at = timeline.index_of.get(finding.attempt or "")
            tracks = [t for t in timeline.series.values() if finding.metric in (None, t.metric)]
            kept = (t.steps[t.live if at is None else t.attempt == at] for t in tracks)
            end = max((steps.max(initial=finding.start_step) for steps in kept), default=last)
        fields = group.number, finding, float(end), rank, group.verdict, (finding, *parts)
        occurrences.append(Occurrence(*fields))
    return sorted(occurrences)


LEFT_PX, BOTTOM_PX, GAP_PX = 54, 46, 34  # margins of a figure, and the gap between two panels
_LABEL_ROW_PX = 24  # room for the label above a panel
_STRIP_GAP_PX = GAP_PX - 4
_ALONE_PX, _FIRST_PX, _ZOOM_PX, _OTHER_PX = 200.0, 160.0, 130.0, 76.0  # heights of panels
THUMB_WIDTH, THUMB_HEIGHT = 320, 160
_THUMB_COLUMNS = 300
SHARE_WIDTH, SHARE_HEIGHT = 600, 315  # of a link preview, which has two pixels per CSS pixel
PanelRow = tuple[Panel, Scale, float]


def window_over(first: float, last: float, width: float) -> Window:
    """The window of these steps, made wider where they are one step, or one number as 64-bit floats."""
    first, last = float(first), float(last)
    pad = 0.0 if last > first else max(0.5, np.spacing(max(abs(first), abs(last))))
    return Window(first - pad, last + pad, width)


class Plan:
    """A figure over the steps between ``ends``: panels with their y axes and heights, and below them strips:
    the faults of machines and jobs, and on request a bar for each attempt."""

    def __init__(
        self, run: Scene, width: float, ends: Pair, panels: Iterable[PanelRow], with_bars: bool = False
    ) -> None:
        self.width, self.axis = width, run.axis
        self.window = window_over(*ends, width - LEFT_PX - scales.RIGHT_PX)
        self.curves = [Curves(*panel, self.window, run.edge) for panel in panels]
        self.findings = FindingMarks(run.findings, self.window)
        self.joins = JoinMarks(run.joins, self.window)
        self.faults = FaultLane(run.timeline.faults, self.window)
        self.strips: list[FaultLane | AttemptStrip] = [self.faults] if self.faults.marks else []
        if with_bars and run.bars:
            self.strips.append(AttemptStrip(run.bars, self.joins))
        self.narrow = width < WIDE / 2  # for a phone
        tops = [self.findings.lift + _LABEL_ROW_PX]
        for curves in self.curves:
            tops.append(tops[-1] + curves.height + GAP_PX)
        tops[-1] += _STRIP_GAP_PX - GAP_PX
        for strip in self.strips:
            tops.append(tops[-1] + strip.height + _STRIP_GAP_PX)
        self.tops = tops  # of each panel, of each strip, and of the next strip if there were one
        self.height: float = round(tops[-1] - _STRIP_GAP_PX + BOTTOM_PX)

    def paint(self) -> Sheet:
        sheet = Sheet(self.width, self.height)
        placed = zip(self.tops, (*self.curves, *self.strips), strict=False)
        frames = ((top, part.height, self.window, getattr(part, "scale", None)) for top, part in placed)
        panes = [Pane(sheet, LEFT_PX, *frame) for frame in frames]
        panels, below = panes[: len(self.curves)], panes[len(self.curves) :]
        for curves, pane in zip(self.curves, panels, strict=True):
            taken = self.joins.boxes(pane) if pane is panels[-1] else ()
            curves.paint(pane, 5 if pane is not panels[0] else self.findings.lift, taken)
        self.findings.paint(panels)
        self.joins.paint_lines(panels)
        self.joins.paint_letters(panels[-1])
        for strip, pane in zip(self.strips, below, strict=True):
            strip.paint(pane, panels)
            sheet.write(strip.title(self.narrow), LEFT_PX, pane.top - 6)
        for pane in panes[:-1]:
            pane.paint_steps()
        panes[-1].paint_steps(self.axis, 4 if self.narrow else 8)
        return sheet


def whole_plan(run: Scene, width: float) -> Plan:
    """The whole run at a width in CSS pixels: findings numbered, joins lettered, attempts as bars."""
    first_px = _FIRST_PX if len(run.panels) > 1 or run.bars else _ALONE_PX
    heights = [first_px, *[_OTHER_PX] * (len(run.panels) - 1)]
    panels = zip(run.panels, map(run.body, run.panels), heights, strict=True)
    return Plan(run, width, run.ends, panels, with_bars=True)


def preview_plan(run: Scene) -> Plan:
    """The first panel with its findings, for link previews on other sites."""
    first, width = (run.panels[0], run.body(run.panels[0])), SHARE_WIDTH
    margins_px = Plan(run, width, run.ends, [(*first, 0)]).height
    return Plan(run, width, run.ends, [(*first, SHARE_HEIGHT - margins_px)])


def zoom_plan(run: Scene, item: Occurrence, width: float) -> Plan:
    """The zoom into a finding: the loss and the series that explain it, over one step axis."""
    window = run.window(item)
    panels: list[PanelRow] = []
    for panel in run.zoom_panels(item):
        parts = [segment.inside(*window) for segment in panel.segments()]
        panels.append((panel, y_scale(parts, panel.role, all_values=True), _OTHER_PX if panels else _ZOOM_PX))
    return Plan(run, width, window, panels)


def thumbnail(run: Scene) -> Sheet:
    """The shape of the first curve, or crosses if it has no value; one file for both themes."""
    sheet = Sheet(THUMB_WIDTH, THUMB_HEIGHT, ground=False)
    panel = run.panels[0]._replace(lines=run.panels[0].lines[:1])
    segments = panel.segments()
    scale = y_scale(segments, panel.role)
    start, end = min(s.steps[0] for s in segments), max(s.steps[-1] for s in segments)
    window = window_over(start, end, _THUMB_COLUMNS)
    pane = Pane(sheet, (THUMB_WIDTH - _THUMB_COLUMNS) / 2, 10, THUMB_HEIGHT - 20, window, scale)
    for stroke in strokes(panel, scale, window):
        stroke.paint(pane, 1.8)
    if not any(np.isfinite(s.values).any() for s in segments) and (odd := missing(panel, window)):
        sheet.crosses(pane.x(odd[0]), THUMB_HEIGHT / 2, 2.5, 1.5, "live")
    return sheet
