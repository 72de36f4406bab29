"""Figures of a run: the whole of it, its lineage, one zoom a finding, and a thumbnail.

A run becomes a `Scene`, a `Plan` says what stands where at one width, and is painted by matplotlib in each
theme. The bytes depend on the run and on the versions of the libraries alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import numbered
from chronicle.figures.layout import THUMB_HEIGHT, THUMB_WIDTH, Empty, Plan, Scene, scene, thumb, whole, zoom
from chronicle.figures.lineage import LEAST, Lineage, lineage
from chronicle.figures.style import LIGHT, NARROW, TOKENS, WIDE, literal, save, theme
from chronicle.metrics.values import count, plural
from chronicle.model import Diagnosis, Figure, Finding, Timeline
from chronicle.timeline.axes import OnAxis

__all__ = ["draw"]

_WIDTHS = {"": WIDE, "-narrow": NARROW}
_LISTED = 6  # findings named in an alt text; the key below the figure has all
_EMPTY = "No metric to draw: the log holds no values."

Files = dict[str, tuple[str, int, int]]


def draw(
    timeline: Timeline, diagnosis: Diagnosis, folder: Path, *, title: str, x: OnAxis | None = None
) -> tuple[Figure, ...]:
    """Draws a run into ``folder`` as lossless WebP and says what was drawn.

    With ``x`` (what `chronicle.timeline.on_axis` gives) the whole run is drawn over that axis; a zoom shows
    single steps, and the lineage shows checkpoints, so these stay over steps.

    Returns:
        "whole", "lineage" of three attempts or more, "finding-N" for the gravest findings (N as
        `chronicle.classify.restarts.numbered` counts), "thumb".
        A run without any value has only a "whole", which says so.
    """
    run = scene(timeline, diagnosis)
    if run is None:
        blank = {suffix: Empty(width, _EMPTY) for suffix, width in _WIDTHS.items()}
        return (Figure("whole", _painted("whole", blank, folder), f"{literal(title)}: {_EMPTY}"),)
    over = scene(timeline, diagnosis, x) if x is not None else None
    figures = [_whole(over or run, folder, title, x), *_lineage(run, folder, title), *_zooms(run, folder)]
    with theme(LIGHT):
        save(thumb(run), folder / "thumb.webp", transparent=True)
    return (*figures, Figure("thumb", {"any": ("thumb.webp", THUMB_WIDTH, THUMB_HEIGHT)}, alt=""))


def _whole(run: Scene, folder: Path, title: str, x: OnAxis | None) -> Figure:
    plans = {suffix: whole(run, width) for suffix, width in _WIDTHS.items()}
    alt, caption = whole_alt(title, run, plans[""]), whole_caption(run, plans[""])
    if x is not None and x.axis != "step":
        caption += f" x axis: {x.axis}s ({literal(x.how)})."
    return Figure("whole", _painted("whole", plans, folder), alt, caption)


def _lineage(run: Scene, folder: Path, title: str) -> Iterator[Figure]:
    if len(run.bars) < LEAST:
        return
    timeline = replace(run.timeline, joins=run.diagnosis.joins)  # with what the classifier says of each
    drawn = {suffix: lineage(timeline, run.axis, width) for suffix, width in _WIDTHS.items()}
    plans = {suffix: plan for suffix, plan in drawn.items() if plan is not None}
    yield Figure("lineage", _painted("lineage", plans, folder), *plans[""].words(title))


def _zooms(run: Scene, folder: Path) -> Iterator[Figure]:
    diagnosed = dict(numbered(run.diagnosis))
    for item in run.zooms():
        name = f"finding-{item.number}"
        plans = {suffix: zoom(run, item, width) for suffix, width in _WIDTHS.items()}
        plan = plans[""]
        shared = [f"Same {plan.axis} axis on every panel."] if len(plan.curves) > 1 else []
        as_whole = "Bands and numbers as in the figure of the whole run."
        caption = " ".join([*shared, as_whole, *_reading(plan)])
        alt = zoom_alt(item.number, diagnosed[item.number], plan)
        yield Figure(name, _painted(name, plans, folder), alt, caption)


def _painted(name: str, plans: Mapping[str, Plan | Lineage | Empty], folder: Path) -> Files:
    """The files of a figure: light, light-narrow, dark, dark-narrow, each with its width and height."""
    files = {}
    for theme_name, tokens in TOKENS.items():
        for suffix, plan in plans.items():
            variant = theme_name + suffix
            file = f"{name}-{variant}.webp"
            with theme(tokens):
                save(plan.paint(tokens), folder / file)
            files[variant] = (file, int(plan.width), int(plan.height))
    return files


def whole_alt(title: str, run: Scene, plan: Plan) -> str:
    """``TITLE: train/loss over step 0 to 100 000. 1 Fast-recovering spike at step 22 308; …``"""
    parts = [f"{item.number} {_finding(item.finding, plan.axis)}" for item in run.findings[:_LISTED]]
    if more := len(run.findings) - len(parts):
        parts.append(plural(more, "more finding"))
    findings = f"{'; '.join(parts)}." if parts else "No findings."
    restarts = f" {plural(len(run.joins), 'restart')}." if run.joins else ""
    marks = plan.faults.marks[:_LISTED]
    failed = "; ".join(f"{mark.words} at {plan.axis} {count(mark.step)}" for mark in marks)
    faults = f" Faults beside the curves: {failed}." if failed else ""
    return f"{literal(title)}: {_shown(plan)}. {findings}{restarts}{faults}"


def whole_caption(run: Scene, plan: Plan) -> str:
    """How to read the figure of the whole run."""
    unnumbered = sum(not item.badge for item in run.findings)
    lesser = [f"{plural(unnumbered, 'lesser finding')} without a number."] if unnumbered else []
    return " ".join([f"{_metrics(plan)}, whole run.", *_reading(plan), *lesser])


def zoom_alt(number: int, finding: Finding, plan: Plan) -> str:
    """``Finding 2, Spike, not fully recovered from step 58 897: train/loss, train/lr over step …``"""
    return f"Finding {number}, {_finding(finding, plan.axis)}: {_shown(plan)}."


def _finding(finding: Finding, axis: str) -> str:
    """``Fast-recovering spike at step 22 308``; ``from step`` if it is not over."""
    where = "at" if finding.end_step is not None else "from"
    return f"{BY_ID[finding.pattern].title} {where} {axis} {count(finding.start_step)}"


def _reading(plan: Plan) -> Iterator[str]:
    strokes = [stroke for curves in plan.curves for stroke in curves.strokes]
    if any(stroke.low is not None for stroke in strokes):
        yield "Line: median of a pixel column; shade: minimum to maximum."
    else:
        yield "Every logged point."
    if any(curves.clips for curves in plan.curves):
        yield "Triangle: the curve goes on to the value beside it."
    if plan.faults.marks:
        yield "Crosses: faults of machines and jobs, listed below."
    if any(not stroke.live for stroke in strokes):
        yield "Grey and dashed: overtaken after a restart."


def _metrics(plan: Plan) -> str:
    names = [literal(line.metric, 40) for curves in plan.curves for line in curves.panel.lines]
    return ", ".join(dict.fromkeys(names))


def _shown(plan: Plan) -> str:
    """``train/loss, train/lr over step 0 to 100 000``"""
    parts = [segment for curves in plan.curves for segment in curves.panel.segments()]
    first = max(min(s.steps[0] for s in parts), plan.window[0])
    last = min(max(s.steps[-1] for s in parts), plan.window[1])
    return f"{_metrics(plan)} over {plan.axis} {count(first)} to {count(last)}"
