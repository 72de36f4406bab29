"""Losses by data set, and the mixture they are drawn in: whose spike is it?

multi-dataset-spike
    Sees: a spike in the losses of single data sets, in one of them or in several at the same time.
    Rule: spikes of the data-set losses whose onsets lie within 8 samples (or a fifth of the longer one) are
    one event; every other data set is then asked again at that place, where 4 standard errors are enough.
    Blind to: sources that are not logged apart, and those with less than a fifth of the points of the loss.
    False alarm: somebody looks for a bad shard that does not exist. Source: IDEFICS chronicles; PaLM 5.1.

resume-ratio-skew
    Sees: a bump of the loss that is the mixture of the batch, not the model.
    Rule: the share of a source leaves its level and comes back, the loss is off its line by 4.5 standard
    errors and 1 % meanwhile, and no loss of a single data set rises by half as much.
    Blind to: a skew whose ratio is not logged. False alarm: a real spike is taken for harmless.
    Source: IDEFICS memo ("restart spikes"): ratio 0.0117 to 0.008 at each resume, back in 50 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import at_least, at_most, departure, sure
from chronicle.classify.report import criterion, found, renamed
from chronicle.classify.view import MIN_POINTS, AttemptView, View, step_gap
from chronicle.model import Finding, Role, Series

PATTERNS = ("multi-dataset-spike", "resume-ratio-skew")
SPIKES = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery")
BUMPS = (*SPIKES, "level-shift")
REPLACES = BUMPS


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from ratio_skew(view, attempt)
        yield from dataset_spikes(view, attempt)


# ---- whose spike ---------------------------------------------------------------------------------


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
    """Whether two events are one: onsets close, or the later one starts before the peak of the earlier."""
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
    rises = {s.metric: departure(s, start, max(peak, start) + 1) for s in sources}
    spiking = {s.metric for _, s in group}
    moved = [m for m, e in rises.items() if m in spiking or e.t >= view.thresholds.shares_in]
    kind = "single" if len(moved) == 1 else "simultaneous" if len(moved) == len(sources) else "several"
    ends = [f.end_step for f, _ in group]
    end = None if any(e is None for e in ends) else max(e for e in ends if e is not None)
    calm = [e.t for m, e in rises.items() if m not in moved]
    least = view.thresholds.shares_in
    made = found(
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
            criterion(
                "strongest of the others",
                max(calm, default=None),
                "standard errors",
                f"< {least:g}",
                bool(calm),
            ),
        ],
        runner_up=(tallest.pattern, "the total loss alone: one event, whoever it belongs to"),
    )
    return made


# ---- the mixture -----------------------------------------------------------------------------------


def ratio_skew(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Every excursion of a ratio that the loss follows."""
    loss = attempt.loss
    if loss is None:
        return
    for ratio in attempt.by_role(Role.RATIO):
        for event in excursions(view, ratio):
            yield from explained(view, attempt, loss, ratio, event)


def excursions(view: View, ratio: Series) -> Iterator[Event]:
    """Departures of a ratio from its level, up or down, that are over or at least not growing."""
    for sign in (1.0, -1.0):
        for event in view.events(ratio, sign):
            if event.kind in (Kind.BACK, Kind.OPEN, Kind.LONE):
                yield event


def explained(
    view: View, attempt: AttemptView, loss: Series, ratio: Series, event: Event
) -> Iterator[Finding]:
    """The bump of the loss under an excursion of the ratio, unless single data sets rose as well."""
    limits = view.thresholds
    start, peak = int(ratio.steps[event.onset]), int(ratio.steps[event.peak])
    end = int(ratio.steps[event.end]) if event.end is not None else peak
    moved = departure(loss, start, (end if end - start < 64 * step_gap(loss) else peak) + 1)
    shape = beside(view, loss, start, end)
    if shape is None and (abs(moved.t) < limits.known_t or abs(moved.height) < limits.ratio_bump):
        return
    height = max(abs(moved.height), float(shape.evidence.get("height_log", 0.0)) if shape else 0.0)
    single = [departure(s, start, peak + 1) for s in attempt.dataset_losses]
    worst = max((e.t for e in single if e.height >= 0.5 * height), default=0.0)
    if worst >= limits.shares_in:
        return  # the sources themselves are worse: the model or its data, not the mixture
    skew = float(np.exp(abs(event.height))) - 1
    evidence = {"ratio": ratio.metric, "ratio_change_share": skew, "ratio_start_step": start}
    tests = [
        criterion("change of the ratio", skew, "share", "leaves its level", True),
        at_least("loss off its line, or a spike", abs(moved.t), "standard errors", limits.known_t),
    ]
    if single:
        tests.append(at_most("single data set off its line", worst, "standard errors", limits.shares_in))
    why = "the ratio had kept its level, or a single data set had risen as much"
    if shape is not None:
        yield renamed(shape, "resume-ratio-skew", why=why, evidence=evidence, criteria=tests)
        return
    yield found(
        "resume-ratio-skew",
        attempt,
        loss,
        (start, peak, end),
        severity=0.3,
        confidence=sure(moved.t, limits.known_t),
        evidence={**evidence, "height_log": moved.height},
        criteria=tests,
        runner_up=("spike-fast-recovery", why),
    )


def beside(view: View, loss: Series, start: int, end: int) -> Finding | None:
    """The bump of the loss that belongs to an event between two steps of another series, if there is one."""
    probe = Finding("", None, None, start, None, end, 0.0, 0.0)
    near = [f for f in view.findings(loss) if f.pattern in BUMPS and together(view, probe, f, loss)]
    return min(near, key=lambda f: abs(f.start_step - start), default=None)
