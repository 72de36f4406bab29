"""Figures of a run: the whole of it, one zoom a finding, and a thumbnail.

A run becomes a `Scene`, a `Plan` says what stands where at one width, and is painted on a `Sheet`, whose file
serves both themes. The bytes depend on the run and on the versions of the libraries alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from chronicle.errors import UsageError
from chronicle.figures.layout import Plan, Scene, empty, scene, share, thumb, whole, zoom
from chronicle.figures.sheet import DARK, LIGHT, NARROW, THUMBNAIL, WIDE, Sheet, literal
from chronicle.metrics.values import plural
from chronicle.model import Diagnosis, Event, Figure, Timeline
from chronicle.story.measured import Axis
from chronicle.timeline.axes import OnAxis

__all__ = ["draw", "picture"]

_WIDTHS = {"wide": WIDE, "narrow": NARROW}
_LISTED = 6  # findings named in an alt text; the key below the figure has all
_EMPTY = "No metric to draw: the log holds no values."

Marked = Mapping[str, Event]
"""The events of findings by their marks."""


def draw(
    timeline: Timeline,
    diagnosis: Diagnosis,
    folder: Path,
    events: Sequence[Event],
    *,
    title: str,
    x: OnAxis | None = None,
    edge: float = math.inf,
) -> tuple[Figure, ...]:
    """Draws a run into ``folder`` as SVG and says what was drawn, in the words of its ``events``.

    With ``x`` (what `chronicle.timeline.on_axis` gives) the whole run is drawn over that axis; a zoom shows
    single steps, and stays over them. ``edge`` is what `chronicle.story.picture_edge` gives.

    Returns:
        "whole", "finding-N" for the gravest findings (N is the mark of their event), "thumb", and "share", a
        PNG for the cards that other sites make of a link.
        A run without any value has only a "whole", which says so.
    """
    run = scene(timeline, diagnosis, edge=edge)
    if run is None:
        blank = {variant: empty(width, _EMPTY) for variant, width in _WIDTHS.items()}
        return (Figure("whole", _written("whole", blank, folder), f"{literal(title)}: {_EMPTY}"),)
    over = scene(timeline, diagnosis, x, edge) if x is not None else None
    marked = {event.mark: event for event in events if event.patterns}
    figures = [_whole(over or run, folder, title, marked, x), *_zooms(run, folder, marked)]
    small, shared = thumb(run), share(over or run).paint()
    (folder / "thumb.svg").write_bytes(small.svg(THUMBNAIL, THUMBNAIL))
    (folder / "share.png").write_bytes(shared.png(2))
    width, height = shared.size
    figures.append(Figure("thumb", {"any": ("thumb.svg", *small.size)}, ""))
    figures.append(Figure("share", {"any": ("share.png", 2 * width, 2 * height)}, figures[0].alt))
    return tuple(figures)


def picture(
    timeline: Timeline, diagnosis: Diagnosis, mark: str = "", dark: bool = False, edge: float = math.inf
) -> bytes:
    """The figure of a run, or the zoom into the finding of a mark, as a PNG of two pixels to each of CSS.

    Raises:
        UsageError: there is nothing to draw, or no finding of this mark.
    """
    run = scene(timeline, diagnosis, edge=edge)
    if run is None:
        raise UsageError(_EMPTY)
    numbered = {str(item.number): item for item in run.findings}
    if mark and mark not in numbered:
        raise UsageError(f"no finding {mark!r}. Findings of this run: {', '.join(numbered) or 'none'}")
    plan = zoom(run, numbered[mark], WIDE) if mark else whole(run, WIDE)
    return plan.paint().png(2, DARK if dark else LIGHT)


def _whole(run: Scene, folder: Path, title: str, marked: Marked, x: OnAxis | None) -> Figure:
    plans = {variant: whole(run, width) for variant, width in _WIDTHS.items()}
    alt, caption = whole_alt(title, run, plans["wide"], marked), whole_caption(run, plans["wide"])
    if x is not None and x.axis != "step":
        caption += f" x axis: {x.axis}s ({literal(x.how)})."
    return Figure("whole", _written("whole", plans, folder), alt, caption)


def _zooms(run: Scene, folder: Path, marked: Marked) -> Iterator[Figure]:
    for item in run.zooms():
        name = f"finding-{item.number}"
        plans = {variant: zoom(run, item, width) for variant, width in _WIDTHS.items()}
        plan = plans["wide"]
        shared = [f"Same {plan.axis} axis on every panel."] if len(plan.curves) > 1 else []
        as_whole = "Bands and numbers as in the figure of the whole run."
        caption = " ".join([*shared, as_whole, *_reading(plan)])
        alt = zoom_alt(item.number, marked, plan)
        yield Figure(name, _written(name, plans, folder), alt, caption)


def _written(
    name: str, plans: Mapping[str, Plan | Sheet], folder: Path
) -> Mapping[str, tuple[str, int, int]]:
    """The files of a figure, wide and narrow, each with its width and height."""
    files = {}
    for variant, plan in plans.items():
        file, sheet = f"{name}-{variant}.svg", plan.paint() if isinstance(plan, Plan) else plan
        (folder / file).write_bytes(sheet.svg())
        files[variant] = (file, *sheet.size)
    return files


def whole_alt(title: str, run: Scene, plan: Plan, marked: Marked) -> str:
    """``TITLE: loss over steps 0 to 100 000. 1 Fast-recovering spike: 2.52 → 3.88 at step 22 308; …``"""
    shown = [marked[str(item.number)] for item in run.findings[:_LISTED] if str(item.number) in marked]
    parts = [f"{event.mark} {event.title}: {event.short}" for event in shown]
    if more := len(run.findings) - len(parts):
        parts.append(plural(more, "more finding"))
    findings = f"{'; '.join(parts)}." if parts else "No findings."
    restarts = f" {plural(len(run.joins), 'restart')}." if run.joins else ""
    marks = plan.faults.marks[:_LISTED]
    axis = Axis(plan.axis)
    failed = "; ".join(f"{mark.words} at {axis.place(round(mark.step))}" for mark in marks)
    faults = f" Faults beside the curves: {failed}." if failed else ""
    return f"{literal(title)}: {_shown(plan)}. {findings}{restarts}{faults}"


def whole_caption(run: Scene, plan: Plan) -> str:
    """How to read the figure of the whole run."""
    unnumbered = sum(not item.badge for item in run.findings)
    lesser = [f"{plural(unnumbered, 'lesser finding')} without a number."] if unnumbered else []
    return " ".join([f"{_metrics(plan)}, whole run.", *_reading(plan), *lesser])


def zoom_alt(number: int, marked: Marked, plan: Plan) -> str:
    """``Finding 2, Spike, not fully recovered: 2.26 → 4.17 at step 58 897. train/loss over steps …``"""
    event = marked.get(str(number))
    what = f"{event.title}: {event.short}. " if event else ""
    return f"Finding {number}, {what}{_shown(plan)}."


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
    """``train/loss, train/lr over steps 0 to 100 000``"""
    parts = [segment for curves in plan.curves for segment in curves.panel.segments()]
    first = max(min(s.steps[0] for s in parts), plan.window[0])
    last = min(max(s.steps[-1] for s in parts), plan.window[1])
    return f"{_metrics(plan)} over {Axis(plan.axis).places(round(first), round(last))}"
