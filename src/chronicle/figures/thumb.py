"""The thumbnail: the shape of the curve and nothing else, so that it can be a quiz."""

from __future__ import annotations

from matplotlib.figure import Figure

from chronicle.figures.curves import Panel
from chronicle.figures.paint import paint_stroke
from chronicle.figures.scale import body_scale
from chronicle.figures.strokes import strokes
from chronicle.figures.style import sheet
from chronicle.figures.subject import Subject
from chronicle.figures.tokens import THUMBNAIL

WIDTH, HEIGHT = 320, 160  # CSS pixels, at one and a half device pixels each
_DPI = 144
_COLUMNS = 300


def thumb(run: Subject) -> Figure:
    """Live and dead curve of the first line, transparent, for both themes."""
    figure = sheet(WIDTH, HEIGHT, _DPI)
    figure.patch.set_visible(False)
    ax = figure.add_axes((0.03, 0.06, 0.94, 0.88))
    ax.axis("off")
    first = run.panels[0]
    panel = Panel(first.name, first.unit, first.role, first.lines[:1])
    segments = panel.segments()
    scale = body_scale(segments, panel.role)
    start, end = min(s.steps[0] for s in segments), max(s.steps[-1] for s in segments)
    start, end = (start, end) if end > start else (start - 0.5, end + 0.5)
    if scale.log:
        ax.set_yscale("log")
    for stroke in strokes(panel, scale, start, end, _COLUMNS):
        paint_stroke(ax, stroke, THUMBNAIL["live" if stroke.live else "dead"], 1.8)
    ax.set_xlim(start, end)
    ax.set_ylim(scale.low, scale.high)
    return figure
