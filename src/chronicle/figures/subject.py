"""The run as figures see it: its panels, the ends of its axis, its marks. Worked out once for all figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chronicle.classify.numbering import drawn, gravest, lettered, numbered
from chronicle.figures import layout
from chronicle.figures.choose import run_panels
from chronicle.figures.curves import Panel
from chronicle.figures.plan import Marks
from chronicle.figures.strip import Bar, bars
from chronicle.figures.text import literal
from chronicle.metrics.counters import median_gap
from chronicle.model import Diagnosis, Finding, Timeline
from chronicle.timeline.axes import OnAxis


@dataclass(frozen=True, eq=False)
class Subject:
    """A run with at least one panel, from step ``first`` to ``last``; ``axis`` is what the steps count."""

    timeline: Timeline
    diagnosis: Diagnosis
    panels: Sequence[Panel]
    bars: Sequence[Bar]
    first: float
    last: float
    axis: str
    marks: Marks
    made: dict[str, Panel] = field(
        default_factory=dict
    )  # panels of single metrics, made when first asked for

    @property
    def samples_apart(self) -> float:
        """Median distance in steps of two points of the first panel (1 where there is but one)."""
        longest = max(self.panels[0].segments(), key=lambda s: len(s.steps))
        return median_gap(longest.steps)


def subject(timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None = None) -> Subject | None:
    """The run to draw; None if no attempt logged a value.

    With ``x`` it is drawn over that axis; findings keep the numbers and joins the letters that they have
    over steps.
    """
    timeline = x.timeline if x is not None else timeline
    panels = run_panels(timeline, diagnosis)
    if not panels:
        return None
    attempts = bars(timeline) if len(timeline.attempts) > 1 else []
    edges = [(s.steps[0], s.steps[-1]) for panel in panels for s in panel.segments()]
    edges += [(first, last) for bar in attempts for first, last, _ in bar.spans]
    first, last = float(min(a for a, _ in edges)), float(max(b for _, b in edges))
    axes = {attempt.axis for attempt in timeline.attempts}
    findings = [(number, drawn(finding)) for number, finding in numbered(diagnosis)]
    if x is not None:
        findings = [(number, x.finding(finding)) for number, finding in findings]
        diagnosis = replace(diagnosis, joins=timeline.joins)
    marks = Marks(
        findings=findings,
        ends=_ends(timeline, findings, attempts, last),
        badges=frozenset(number for number, _ in gravest(diagnosis)[: layout.MOST_BADGES]),
        joins=lettered(diagnosis),
        faults=timeline.faults,
    )
    axis = literal(axes.pop(), 24) if len(axes) == 1 else "step"
    shown = attempts if len(attempts) > 1 else ()
    return Subject(timeline, diagnosis, panels, shown, first, last, axis, marks)


def _ends(
    timeline: Timeline, findings: Sequence[tuple[int, Finding]], attempts: Sequence[Bar], last: float
) -> Mapping[int, float]:
    """The last step of each finding; of one that is not over, the end of its attempt."""
    ends = {timeline.attempts[bar.attempt].name: bar.spans[-1][1] for bar in attempts}
    return {
        number: float(f.end_step)
        if f.end_step is not None
        else max(ends.get(f.attempt or "", last), f.start_step)
        for number, f in findings
    }
