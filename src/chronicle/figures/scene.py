"""The run as figures see it, worked out once for all: panels, axis, findings, and what to zoom into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import drawn, gravest, lettered, numbered
from chronicle.figures.annotations import MOST_BADGES, Bar, Occurrence, bars
from chronicle.figures.panels import MOST_PANELS, Panel, finding_panels, run_panels
from chronicle.figures.style import literal
from chronicle.metrics.counters import median_gap
from chronicle.model import Diagnosis, Join, Timeline, Verdict
from chronicle.timeline.axes import OnAxis

MOST_ZOOMS = 6
PAD = 0.006  # of the run, left and right
_BEFORE, _AFTER, _BEFORE_OPEN = 1.1, 0.9, 0.8  # widths of the finding
_LEAST_SAMPLES = 12  # of the width that the context is measured in: at least 22 samples are seen
_RUN_SHARE = 0.004
_WHOLE_SHARE = 0.9
_FARTHEST_ROLLBACK = 12  # widths; a zoom that goes back further shows nothing


@dataclass(frozen=True, eq=False)
class Scene:
    """A run with at least one panel, from step ``first`` to ``last``; ``axis`` is what the steps count."""

    timeline: Timeline
    diagnosis: Diagnosis
    panels: Sequence[Panel]
    bars: Sequence[Bar]
    first: float
    last: float
    axis: str
    findings: Sequence[Occurrence]
    joins: Sequence[tuple[str, Join]]
    single: dict[str, Panel] = field(default_factory=dict)  # of single metrics, made when first asked for

    @property
    def samples_apart(self) -> float:
        """Median distance in steps of two points of the first panel (1 where there is but one)."""
        longest = max(self.panels[0].segments(), key=lambda s: len(s.steps))
        return median_gap(longest.steps)

    def peaks(self, panel: Panel) -> list[float]:
        """The largest value of each finding on each curve of a panel."""
        return [
            float(known.max())
            for item in self.findings
            for line in panel.lines
            if item.finding.metric in (None, line.metric)
            for segment in line.segments
            if len(known := segment.inside(item.finding.start_step, item.end).finite())
        ]

    def zooms(self) -> list[Occurrence]:
        """The findings that get a zoom, gravest first: not those that the whole run shows just as well."""
        by_number = {item.number: item for item in self.findings}
        ranked = [by_number[number] for number, _ in gravest(self.diagnosis)]
        return [item for item in ranked if self._shows_more(item)][:MOST_ZOOMS]

    def window(self, item: Occurrence) -> tuple[float, float]:
        """First and last step of the zoom: the finding with its context, and the rollback that it led to."""
        finding, start, end = item.finding, float(item.finding.start_step), item.end
        span, whole = end - start, self.last - self.first
        width = max(span, _LEAST_SAMPLES * self.samples_apart, min(_RUN_SHARE * whole, 3 * span))
        over = finding.end_step is not None
        first = start - (_BEFORE if over else _BEFORE_OPEN) * width
        last = end + (_AFTER if over else 0.05) * width
        for _, join in self.joins:
            left = finding.attempt in (None, self.timeline.attempts[join.before].name)
            near = join.from_step - end < 2 * width and end - join.to_step < _FARTHEST_ROLLBACK * width
            if left and near and join.from_step >= end >= join.to_step:
                first = min(first, join.to_step - 0.12 * width)
                last = max(last, join.from_step + 0.25 * width)
        first, last = max(first, self.first - PAD * whole), min(last, self.last + PAD * whole)
        return (first, last) if last > first else (self.first - 2, self.last + 2)

    def zoom_panels(self, item: Occurrence) -> Sequence[Panel]:
        """Panels with something to see in the window; the first one always."""
        first, *others = finding_panels(self.timeline, self.panels[0], item.finding, self.single)
        window = self.window(item)
        return [first, *(p for p in others if p.points(*window) >= 2)][:MOST_PANELS]

    def _shows_more(self, item: Occurrence) -> bool:
        """Whether the zoom is narrower than the run, or has other panels (nobody asks why a run is well)."""
        first, last = self.window(item)
        if last - first < _WHOLE_SHARE * (self.last - self.first):
            return True
        well = BY_ID[item.finding.pattern].verdict is Verdict.GOOD
        return not well and len(self.zoom_panels(item)) > len(self.panels)


def scene(timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None = None) -> Scene | None:
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
    findings = _occurrences(timeline, diagnosis, x, attempts, last)
    if x is not None:
        diagnosis = replace(diagnosis, joins=timeline.joins)
    axes = {attempt.axis for attempt in timeline.attempts}
    axis = literal(axes.pop(), 24) if len(axes) == 1 else "step"
    shown = attempts if len(attempts) > 1 else ()
    return Scene(timeline, diagnosis, panels, shown, first, last, axis, findings, lettered(diagnosis))


def _occurrences(
    timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None, attempts: Sequence[Bar], last: float
) -> list[Occurrence]:
    """The numbered findings; one that is not over ends with its attempt."""
    end_of = {timeline.attempts[bar.attempt].name: bar.spans[-1][1] for bar in attempts}
    badges = {number for number, _ in gravest(diagnosis)[:MOST_BADGES]}
    occurrences = []
    for number, diagnosed in numbered(diagnosis):
        finding = drawn(diagnosed) if x is None else x.finding(drawn(diagnosed))
        end: float | None = finding.end_step
        if end is None:
            end = max(end_of.get(finding.attempt or "", last), finding.start_step)
        occurrences.append(Occurrence(number, finding, float(end), number in badges))
    return occurrences
