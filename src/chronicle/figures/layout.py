"""What stands where on a figure, at one width: the whole run, and the zoom into a finding.

A plan is in CSS pixels and has no colour yet; it is painted in each theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from chronicle.figures.annotations import AttemptStrip, FaultLane, FindingMarks, JoinMarks, Occurrence
from chronicle.figures.panels import PAD, Panel, Scene
from chronicle.figures.scales import (
    LABEL_PX,
    RIGHT_PX,
    Pair,
    Pane,
    Scale,
    Style,
    Window,
    body_scale,
    full_scale,
)
from chronicle.figures.strokes import Curves, strokes
from chronicle.figures.style import THUMBNAIL, WIDE, Tokens, pt, sheet

LEFT_PX, BOTTOM_PX, GAP_PX = 54, 46, 34
_LABEL_ROW_PX = 24  # room for the words above a panel
_STRIP_GAP_PX = GAP_PX - 4
THUMB_WIDTH, THUMB_HEIGHT = 320, 160  # CSS pixels, at one and a half device pixels each
_THUMB_DPI, _THUMB_COLUMNS = 144, 300


@dataclass(frozen=True, eq=False)
class Plan:
    """A whole figure over the steps of ``window``; ``axis`` is what they count.

    ``strips`` stand below the panels: faults beside the curves, and attempts.
    """

    width: float
    window: Window
    axis: str
    curves: Sequence[Curves]
    findings: FindingMarks
    joins: JoinMarks
    faults: FaultLane
    strips: Sequence[FaultLane | AttemptStrip]

    @property
    def narrow(self) -> bool:
        """Whether this is the figure for a phone."""
        return self.width < WIDE / 2

    @property
    def height(self) -> float:
        """Height of the figure."""
        panels = sum(c.height for c in self.curves) + GAP_PX * (len(self.curves) - 1)
        strips = sum(strip.height + _STRIP_GAP_PX for strip in self.strips)
        return round(self.findings.lift + _LABEL_ROW_PX + panels + strips + BOTTOM_PX)

    def paint(self, tokens: Tokens) -> Figure:
        """The figure in a theme; call it inside `chronicle.figures.style.theme`."""
        size = self.width, self.height
        figure = sheet(*size)

        def pane(bottom: float, height: float) -> Pane:
            box = (LEFT_PX, bottom, self.window.width, height)
            return Pane(figure, size, box, self.window, tokens)

        top = self.height - self.findings.lift - _LABEL_ROW_PX
        panes: list[Pane] = []
        for curves in self.curves:
            top -= curves.height
            panes.append(pane(top, curves.height))
            curves.paint(panes[-1], 5 if len(panes) > 1 else self.findings.lift)
            top -= GAP_PX
        self.findings.paint(panes)
        self.joins.paint_lines(panes)
        self.joins.paint_letters(panes[-1])
        below = []
        bottom = BOTTOM_PX + sum(strip.height + _STRIP_GAP_PX for strip in self.strips)
        for strip in self.strips:
            bottom -= strip.height + _STRIP_GAP_PX
            below.append(pane(bottom, strip.height))
            strip.paint(below[-1], panes)
            below[-1].write(strip.title(self.narrow), (0, 1), (0, 3), "left bottom")
        *upper, lowest = [*panes, *below]
        for each in upper:
            each.paint_steps()
        lowest.paint_steps(self.axis, 4 if self.narrow else 8)
        return figure


def inner_px(width: float) -> float:
    """The width of a panel on a figure of a width."""
    return width - LEFT_PX - RIGHT_PX


def whole(run: Scene, width: float) -> Plan:
    """The whole run at a width in CSS pixels: findings numbered, joins lettered, attempts as bars."""
    alone, first, other = (250, 210, 130) if width >= WIDE else (190, 170, 110)
    heights = [alone] if len(run.panels) == 1 else [first, *[other] * (len(run.panels) - 1)]
    pad = PAD * (run.last - run.first) or 2
    panels = [
        (panel, body_scale(panel.segments(), panel.role, run.peaks(panel)), float(height))
        for panel, height in zip(run.panels, heights, strict=True)
    ]
    return _plan(run, width, (run.first - pad, run.last + pad), panels, attempts=True)


def zoom(run: Scene, item: Occurrence, width: float) -> Plan:
    """The zoom into a finding: the loss over the series that explain it, on one step axis."""
    window = run.window(item)
    high, low = (150.0, 92.0) if width >= WIDE else (130.0, 84.0)
    panels: list[tuple[Panel, Scale, float]] = []
    for panel in run.zoom_panels(item):
        parts = [segment.inside(*window) for segment in panel.segments()]
        panels.append((panel, full_scale(parts, panel.role), low if panels else high))
    return _plan(run, width, window, panels, attempts=False)


def _plan(
    run: Scene, width: float, ends: Pair, panels: Iterable[tuple[Panel, Scale, float]], attempts: bool
) -> Plan:
    window = Window(*ends, inner_px(width))
    curves = [Curves.of(panel, scale, height, window) for panel, scale, height in panels]
    joins, faults = JoinMarks.place(run.joins, window), FaultLane.place(run.timeline.faults, window)
    strips: list[FaultLane | AttemptStrip] = [faults] if faults.marks else []
    if attempts and run.bars:
        strips.append(AttemptStrip(run.bars, joins))
    findings = FindingMarks.place(run.findings, window)
    return Plan(width, window, run.axis, curves, findings, joins, faults, strips)


@dataclass(frozen=True)
class Empty:
    """A small figure for a run that has nothing to draw, and says so."""

    width: float
    words: str
    height: float = 80

    def paint(self, tokens: Tokens) -> Figure:
        """The figure in a theme; call it inside `chronicle.figures.style.theme`."""
        figure = sheet(self.width, self.height)
        style: Style = {"ha": "center", "va": "center", "fontsize": pt(LABEL_PX)}
        figure.text(0.5, 0.5, self.words, color=tokens["ink2"], **style)
        return figure


def thumb(run: Scene) -> Figure:
    """The shape of the first line's curve and nothing else, so that it can be a quiz; for both themes."""
    figure = sheet(THUMB_WIDTH, THUMB_HEIGHT, _THUMB_DPI)
    figure.patch.set_visible(False)
    first = run.panels[0]
    panel = Panel(first.name, first.unit, first.role, first.lines[:1])
    segments = panel.segments()
    scale = body_scale(segments, panel.role)
    start, end = min(s.steps[0] for s in segments), max(s.steps[-1] for s in segments)
    start, end = (start, end) if end > start else (start - 0.5, end + 0.5)
    window = Window(start, end, _THUMB_COLUMNS)
    pane = Pane(figure, (1, 1), (0.03, 0.06, 0.94, 0.88), window, THUMBNAIL)
    if scale.log:
        pane.ax.set_yscale("log")
    for stroke in strokes(panel, scale, window):
        stroke.paint(pane, 1.8)
    pane.ax.set_ylim(scale.low, scale.high)
    return figure
