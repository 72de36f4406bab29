"""What a figure says in words: alt text for those who do not see it, and the caption below it."""

from __future__ import annotations

from collections.abc import Iterator

from chronicle.classify.patterns import BY_ID
from chronicle.figures.plan import Plan
from chronicle.figures.text import literal
from chronicle.metrics.values import count, plural
from chronicle.model import Finding

_LISTED = 6  # findings named in an alt text; the key below the figure has all


def whole_alt(title: str, plan: Plan, findings: list[tuple[int, Finding]], joins: int) -> str:
    """``TITLE: train/loss over step 0 to 100 000. 1 Fast-recovering spike at step 22 308; …``"""
    parts = [f"{number} {finding_words(finding, plan.axis)}" for number, finding in findings[:_LISTED]]
    more = [f"{plural(len(findings) - _LISTED, 'more finding')}"] if len(findings) > _LISTED else []
    told = f" {'; '.join(parts + more)}." if parts else " No findings."
    restarts = f" {plural(joins, 'restart')}." if joins else ""
    failed = "; ".join(f"{mark.words} at {plan.axis} {count(mark.step)}" for mark in plan.faults[:_LISTED])
    faults = f" Faults beside the curves: {failed}." if failed else ""
    return f"{literal(title)}: {_metrics(plan)} over {plan.axis} {_ends(plan)}.{told}{restarts}{faults}"


def whole_caption(plan: Plan, unnumbered: int) -> str:
    """How to read the figure of the whole run."""
    return " ".join([f"{_metrics(plan)}, whole run.", *_reading(plan), *_unnumbered(unnumbered)])


def zoom_alt(number: int, finding: Finding, plan: Plan) -> str:
    """``Finding 2, Spike, not fully recovered from step 58 897: train/loss, train/lr over step …``"""
    shown = f"{_metrics(plan)} over {plan.axis} {_ends(plan)}"
    return f"Finding {number}, {finding_words(finding, plan.axis)}: {shown}."


def zoom_caption(plan: Plan) -> str:
    """How to read a zoom."""
    shared = [f"Same {plan.axis} axis on every panel."] if len(plan.drawn) > 1 else []
    return " ".join([*shared, "Bands and numbers as in the figure of the whole run.", *_reading(plan)])


def finding_words(finding: Finding, axis: str) -> str:
    """``Fast-recovering spike at step 22 308``; ``from step`` if it is not over."""
    where = "at" if finding.end_step is not None else "from"
    return f"{BY_ID[finding.pattern].title} {where} {axis} {count(finding.start_step)}"


def _reading(plan: Plan) -> Iterator[str]:
    strokes = [stroke for drawn in plan.drawn for stroke in drawn.strokes]
    if any(stroke.low is not None for stroke in strokes):
        yield "Line: median of a pixel column; shade: minimum to maximum."
    else:
        yield "Every logged point."
    if any(drawn.clips for drawn in plan.drawn):
        yield "Triangle: the curve goes on to the value beside it."
    if plan.faults:
        yield "Crosses: faults of machines and jobs, listed below."
    if any(not stroke.live for stroke in strokes):
        yield "Grey and dashed: overtaken after a restart."


def _unnumbered(number: int) -> Iterator[str]:
    if number > 0:
        yield f"{plural(number, 'lesser finding')} without a number."


def _metrics(plan: Plan) -> str:
    names = [literal(line.metric, 40) for drawn in plan.drawn for line in drawn.panel.lines]
    return ", ".join(dict.fromkeys(names))


def _ends(plan: Plan) -> str:
    parts = [s for drawn in plan.drawn for s in drawn.panel.segments()]
    first = max(min(s.steps[0] for s in parts), plan.first)
    last = min(max(s.steps[-1] for s in parts), plan.last)
    return f"{count(first)} to {count(last)}"
