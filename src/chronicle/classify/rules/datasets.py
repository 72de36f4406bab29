"""Losses by data set: whose spike is it?

multi-dataset-spike
    Sees: a spike in the losses of single data sets, in one of them or in several at the same time. How each
    comes back is said by its own finding.
    Rule: spikes of the data-set losses whose onsets lie within 8 samples (or a fifth of the longer one) are
    one event; every other data set is then asked again at that place, where 4 standard errors are enough.
    Blind to: sources that are not logged apart, and those with less than a fifth of the points of the loss.
    False alarm: somebody looks for a bad shard that does not exist. Source: IDEFICS chronicles; PaLM 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chronicle.classify.measure import departure
from chronicle.classify.report import criterion, found
from chronicle.classify.rules.spikes import PATTERNS as SPIKES
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.metrics.judged import MIN_POINTS
from chronicle.model import Finding, Role, Series

PATTERNS = ("multi-dataset-spike",)


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from dataset_spikes(view, attempt)


def dataset_spikes(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Spikes of single data sets, joined in time."""
    sources = [s for s in attempt.by_role(Role.DATASET_LOSS) if len(s) >= MIN_POINTS]
    if len(sources) < 2:
        return
    spikes = [(f, s) for s in sources for f in view.findings(s) if f.pattern in SPIKES]
    spikes.sort(key=lambda pair: pair[0].start_step)
    while spikes:
        first, source = spikes[0]
        group = [(f, s) for f, s in spikes if together(view, first, f, source)]
        spikes = [pair for pair in spikes if pair not in group]
        yield whose(view, attempt, sources, group)


def together(view: View, a: Finding, b: Finding, series: Series) -> bool:
    """Whether two events are one: their onsets lie close, also for the length of the longer one."""
    near = view.thresholds.same_time * step_gap(series)
    longest = max((f.end_step or f.peak_step or f.start_step) - f.start_step for f in (a, b))
    apart = abs(a.start_step - b.start_step)
    return apart <= max(near, view.thresholds.same_share * longest)


def whose(
    view: View, attempt: AttemptView, sources: Sequence[Series], group: Sequence[tuple[Finding, Series]]
) -> Finding:
    """One event, and which of the data sets take part in it."""
    tallest, series = max(group, key=lambda pair: pair[0].severity)
    start = min(f.start_step for f, _ in group)
    peak = tallest.peak_step if tallest.peak_step is not None else tallest.start_step
    rises = {s.metric: departure(s, start, peak + 1) for s in sources}
    spiking = {s.metric for _, s in group}
    moved = [m for m, e in rises.items() if m in spiking or e.t >= view.thresholds.other_t]
    kind = "single" if len(moved) == 1 else "simultaneous" if len(moved) == len(sources) else "several"
    ends = [f.end_step for f, _ in group]
    end = None if any(e is None for e in ends) else max(e for e in ends if e is not None)
    calm = [e.t for m, e in rises.items() if m not in moved]
    most = max(calm, default=None)
    least = view.thresholds.other_t
    return found(
        "multi-dataset-spike",
        attempt,
        series if kind == "single" else None,
        (start, peak, end),
        severity=tallest.severity,
        confidence=tallest.confidence,
        evidence={
            "kind": kind,
            "data_sets": sorted(moved),
            "of": len(sources),
            "height_log": rises[series.metric].height,
        },
        criteria=[
            criterion("data sets that spike", len(moved), "data sets", f"1 or more of {len(sources)}", True),
            criterion("strongest of the others", most, "standard errors", f"< {least:g}", bool(calm)),
        ],
        runner_up=(tallest.pattern, "the total loss alone: one event, whoever it belongs to"),
    )
