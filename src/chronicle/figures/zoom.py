"""The zoom into one finding: the loss over the series that explain it, on one step axis."""

from __future__ import annotations

from collections.abc import Sequence

from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import drawn, gravest
from chronicle.figures.choose import MOST_PANELS, finding_panels
from chronicle.figures.curves import Panel
from chronicle.figures.plan import Plan, plan
from chronicle.figures.scale import Scale, full_scale
from chronicle.figures.style import WIDE
from chronicle.figures.subject import Subject
from chronicle.model import Finding, Verdict

MOST_ZOOMS = 6
_BEFORE, _AFTER, _BEFORE_OPEN = 1.1, 0.9, 0.8  # widths of the finding
_LEAST_SAMPLES = 12  # of the width that the context is measured in: at least 22 samples are seen
_RUN_SHARE = 0.004
_WHOLE_SHARE = 0.9
_FARTHEST_ROLLBACK = 12  # widths; a zoom that goes back further shows nothing


def zooms(run: Subject) -> list[tuple[int, Finding]]:
    """The findings that get a zoom, gravest first: not those that the whole run shows just as well."""
    ranked = gravest(run.diagnosis)
    return [(number, f) for number, f in ranked if _shows_more(run, number, f)][:MOST_ZOOMS]


def zoom(run: Subject, number: int, finding: Finding, width: float) -> Plan:
    """The plan of the zoom at a width in CSS pixels."""
    first, last = window(run, number, finding)
    high, low = (150.0, 92.0) if width >= WIDE else (130.0, 84.0)
    panels: list[tuple[Panel, Scale, float]] = []
    for panel in _panels(run, finding, first, last):
        parts = [segment.inside(first, last) for segment in panel.segments()]
        panels.append((panel, full_scale(parts, panel.role), low if panels else high))
    return plan(width, (first, last), run.axis, panels, run.marks)


def window(run: Subject, number: int, finding: Finding) -> tuple[float, float]:
    """First and last step of the zoom: the finding with its context, and the rollback that it led to."""
    start, end = float(drawn(finding).start_step), (run.marks.ends or {})[number]
    span = end - start
    width = max(span, _LEAST_SAMPLES * run.samples_apart, min(_RUN_SHARE * (run.last - run.first), 3 * span))
    over = finding.end_step is not None
    first = start - (_BEFORE if over else _BEFORE_OPEN) * width
    last = end + (_AFTER if over else 0.05) * width
    for _, join in run.marks.joins:
        mine = finding.attempt in (None, run.timeline.attempts[join.before].name)
        near = join.from_step - end < 2 * width and end - join.to_step < _FARTHEST_ROLLBACK * width
        if mine and near and join.from_step >= end >= join.to_step:
            first, last = min(first, join.to_step - 0.12 * width), max(last, join.from_step + 0.25 * width)
    pad = 0.006 * (run.last - run.first)
    first, last = max(first, run.first - pad), min(last, run.last + pad)
    return (first, last) if last > first else (run.first - 2, run.last + 2)


def _panels(run: Subject, finding: Finding, first: float, last: float) -> Sequence[Panel]:
    """Panels with something to see in the window; the first one always."""
    every = list(finding_panels(run.timeline, run.panels[0], finding, run.made))
    return [every[0], *(p for p in every[1:] if p.points(first, last) >= 2)][:MOST_PANELS]


def _shows_more(run: Subject, number: int, finding: Finding) -> bool:
    """Whether the zoom is narrower than the run, or has other panels (nobody asks why a run is well)."""
    first, last = window(run, number, finding)
    if last - first < _WHOLE_SHARE * (run.last - run.first):
        return True
    well = BY_ID[finding.pattern].verdict is Verdict.GOOD
    return not well and len(_panels(run, finding, first, last)) > len(run.panels)
