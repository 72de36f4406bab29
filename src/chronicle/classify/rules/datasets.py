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
    errors and 1 % meanwhile, and no loss of a single data set rises by half as much. At a join, where an
    attempt has no level of its own yet, the level is the earlier attempt's: a resume spike in whose first
    samples the ratio is 5 standard errors and 5 % off it, and no single data set rises by half as much.
    Blind to: a skew whose ratio is not logged. False alarm: a real spike is taken for harmless.
    Source: IDEFICS memo ("restart spikes"): ratio 0.0117 to 0.008 at each resume, back in 50 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.joins import BEFORE, LEAST
from chronicle.classify.measure import (
    Excess,
    at_least,
    at_most,
    departure,
    excess,
    fit,
    inflation,
    positive,
    scale,
    sure,
)
from chronicle.classify.report import criterion, found, renamed
from chronicle.classify.rules import resume
from chronicle.classify.view import MIN_POINTS, AttemptView, View, step_gap
from chronicle.model import Finding, Role, Series

PATTERNS = ("multi-dataset-spike", "resume-ratio-skew")
SPIKES = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery")
BUMPS = (*SPIKES, "level-shift")
SETTLED = 64  # [samples] of a ratio until it has a level
REPLACES = (*BUMPS, "resume-spike")


def find(view: View) -> Iterator[Finding]:
    at_joins = list(skewed_resumes(view))
    yield from at_joins
    told = {(f.attempt, f.start_step) for f in at_joins}
    for attempt in view.attempts:
        yield from (f for f in ratio_skew(view, attempt) if (f.attempt, f.start_step) not in told)
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
    most = max(calm, default=None)
    least = view.thresholds.shares_in
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


# ---- the mixture -----------------------------------------------------------------------------------


def ratio_skew(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Every excursion of a ratio that the loss follows."""
    loss = attempt.loss
    if loss is None:
        return
    for ratio in attempt.by_role(Role.RATIO):
        for event in excursions(view, ratio):
            yield from explained(view, attempt, loss, ratio, event)


def skewed_resumes(view: View) -> Iterator[Finding]:
    """Resume spikes that are the mixture: a ratio is off the earlier attempt's level, no data set is."""
    if not any(a.by_role(Role.RATIO) for a in view.attempts):
        return
    limits = view.thresholds
    for spike in resume.find(view):
        after = next((a for a in view.attempts if a.name == spike.attempt), None)
        before = next((a for a in view.attempts if a.name == spike.evidence.get("after")), None)
        if spike.pattern != "resume-spike" or after is None or before is None:
            continue
        skews = [(skew(old, r, spike.start_step), r) for r, old in pairs(before, after, Role.RATIO)]
        (share, t), ratio = max(skews, key=lambda s: abs(s[0][1]), default=((0.0, 0.0), None))
        if ratio is None or abs(t) < limits.join_t or abs(share) < limits.ratio_off:
            continue  # the mixture kept its level
        sources = [rise_at_join(old, s, spike) for s, old in pairs(before, after, Role.DATASET_LOSS)]
        least = 0.5 * float(spike.evidence["join_height_log"])
        worst = max((e.t for e in sources if e.height >= least), default=0.0)
        if worst < limits.shares_in:
            evidence = {"ratio": ratio.metric, "ratio_change_share": share}
            tests = [
                at_least(
                    "first samples of the ratio off its level", abs(t), "standard errors", limits.join_t
                ),
                at_least("change of the ratio", abs(share), "share", limits.ratio_off),
                at_most("single data set off its line", worst, "standard errors", limits.shares_in),
            ]
            why = "the ratio had kept its level, or a single data set had risen as much"
            seen = tests[: 2 + bool(sources)]
            yield renamed(spike, "resume-ratio-skew", why=why, evidence=evidence, criteria=seen)


def pairs(before: AttemptView, after: AttemptView, role: Role) -> list[tuple[Series, Series]]:
    """Series of a role in an attempt, each with the same one in the earlier attempt."""
    return [(s, before.series[s.metric]) for s in after.by_role(role) if s.metric in before.series]


def skew(old: Series, new: Series, at: float) -> tuple[float, float]:
    """How far the first samples of a ratio are off its level before: as a share of it, and in errors."""
    level = old.values[(old.steps < at) & np.isfinite(old.values)][-BEFORE:]
    first = new.values[(new.steps >= at) & np.isfinite(new.values)][:32]
    if min(len(level), len(first)) < LEAST or not np.mean(level) > 0:
        return 0.0, 0.0
    usual, noise = float(np.mean(level)), scale(level)
    noise *= inflation(level - usual, noise)
    offs = [(float(np.mean(first[:m])) - usual, m) for m in (4, 8, 16, 32) if m <= len(first)]
    off, m = max(offs, key=lambda o: abs(o[0]) * o[1] ** 0.5)
    return off / usual, off / (noise * (1 / m + 1 / len(level)) ** 0.5)


def rise_at_join(old: Series, new: Series, spike: Finding) -> Excess:
    """How far a data set's loss lies over its own line of the earlier attempt while the spike lasts."""
    (old_steps, before), (steps, y) = positive(old), positive(new)
    known = old_steps < spike.start_step
    line = fit(old_steps[known][-BEFORE:], before[known][-BEFORE:])
    end = spike.end_step or spike.start_step
    part = steps[: int(np.searchsorted(steps, end)) + LEAST]
    return excess(line, part, y[: len(part)]) if line and len(part) else Excess(0.0, 0.0)


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
    if shape is None and attempt.index == 0 and event.onset < max(SETTLED, 0.05 * len(ratio)):
        return  # neither the ratio nor the loss has a level yet
    height = max(abs(moved.height), float(shape.evidence.get("height_log", 0.0)) if shape else 0.0)
    single = [departure(s, start, peak + 1) for s in attempt.dataset_losses]
    worst = max((e.t for e in single if e.height >= 0.5 * height), default=0.0)
    if worst >= limits.shares_in:
        return  # the sources themselves are worse: the model or its data, not the mixture
    change = float(np.exp(abs(event.height))) - 1
    evidence = {"ratio": ratio.metric, "ratio_change_share": change, "ratio_start_step": start}
    tests = [
        criterion("change of the ratio", change, "share", "leaves its level", True),
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
