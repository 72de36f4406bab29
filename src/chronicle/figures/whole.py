"""The figure of a whole run: its panels over all its steps, findings numbered, joins lettered, attempts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.figures.curves import Panel
from chronicle.figures.plan import Plan, plan
from chronicle.figures.scale import body_scale
from chronicle.figures.strip import strip_height
from chronicle.figures.style import WIDE
from chronicle.figures.subject import Subject

_PAD = 0.006  # of the run, left and right


def whole(run: Subject, width: float) -> Plan:
    """The plan of the figure at a width in CSS pixels."""
    alone, first, other = (250, 210, 130) if width >= WIDE else (190, 170, 110)
    heights = [alone] if len(run.panels) == 1 else [first, *[other] * (len(run.panels) - 1)]
    pad = _PAD * (run.last - run.first) or 2
    panels = [
        (panel, body_scale(panel.segments(), panel.role, list(_peaks(run, panel))), float(height))
        for panel, height in zip(run.panels, heights, strict=True)
    ]
    window = (run.first - pad, run.last + pad)
    tall = strip_height(len(run.bars)) if run.bars else 0
    return plan(width, window, run.axis, panels, run.marks, run.bars, tall)


def _peaks(run: Subject, panel: Panel) -> Iterator[float]:
    """The largest value of each finding on a panel."""
    for number, finding in run.marks.findings:
        end = (run.marks.ends or {})[number]
        for line in panel.lines:
            for s in line.segments if finding.metric in (None, line.metric) else ():
                a, b = np.searchsorted(s.steps, finding.start_step), np.searchsorted(s.steps, end, "right")
                values = s.values[a:b][np.isfinite(s.values[a:b])]
                if len(values):
                    yield float(values.max())
