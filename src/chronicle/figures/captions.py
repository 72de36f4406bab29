"""What a figure says in words: alt text for those who do not see it, and the caption below it."""

from __future__ import annotations

from collections.abc import Iterator

from chronicle.classify.patterns import BY_ID
from chronicle.figures.layout import Plan
from chronicle.figures.scene import Scene
from chronicle.figures.style import literal
from chronicle.metrics.values import count, plural
from chronicle.model import Finding

_LISTED = 6  # findings named in an alt text; the key below the figure has all


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


def zoom_caption(plan: Plan) -> str:
    """How to read a zoom."""
    shared = [f"Same {plan.axis} axis on every panel."] if len(plan.curves) > 1 else []
    return " ".join([*shared, "Bands and numbers as in the figure of the whole run.", *_reading(plan)])


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
