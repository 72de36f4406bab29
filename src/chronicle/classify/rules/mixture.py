"""The mixture that batches are drawn from: is it the model that is worse, or the batch?

resume-ratio-skew
    Sees: a bump of the loss that is the mixture of the batch, not the model.
    Rule: the share of a source leaves its level and comes back, the loss is off its line by 4.5 standard
    errors and 1 % meanwhile, and no loss of a single data set rises by half as much. Under a bump of the loss
    the ratio is asked again: 3 standard errors and 5 % are enough there. At a join, where an
    attempt has no level of its own yet, the level is the earlier attempt's: a resume spike in whose first
    samples the ratio is 5 standard errors and 5 % off it, and no single data set rises by half as much.
    Blind to: a skew whose ratio is not logged. False alarm: a real spike is taken for harmless.
    Source: IDEFICS memo ("restart spikes"): ratio 0.0117 to 0.008 at each resume, back in 50 steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import (
    BEFORE,
    Excess,
    departure,
    excess,
    fit,
    inflation,
    positive,
    scale,
    sure,
)
from chronicle.classify.report import at_least, at_most, criterion, found, renamed
from chronicle.classify.resumed import FIRST, LEAST
from chronicle.classify.rules import resume
from chronicle.classify.rules.datasets import together
from chronicle.classify.rules.spikes import PATTERNS as SPIKES
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Criterion, Finding, Role, Series

PATTERNS = ("resume-ratio-skew",)
BUMPS = (*SPIKES, "level-shift")
REPLACES = (*BUMPS, "resume-spike")
WHY = "the ratio had kept its level, or a single data set had risen as much"


def find(view: View) -> Iterator[Finding]:
    at_joins = list(skewed_resumes(view))
    yield from at_joins
    told = {(f.attempt, f.start_step) for f in at_joins}
    for attempt in view.attempts:
        yield from (f for f in ratio_skew(view, attempt) if (f.attempt, f.start_step) not in told)


def ratio_skew(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Every excursion of a ratio that the loss follows."""
    loss = attempt.loss
    if loss is None:
        return
    for ratio in attempt.by_role(Role.RATIO):
        seen = [f for event in excursions(view, ratio) for f in explained(view, attempt, loss, ratio, event)]
        yield from seen
        told = {f.start_step for f in seen}
        for bump in view.findings(loss):
            if bump.pattern in BUMPS and bump.end_step is not None and bump.start_step not in told:
                yield from asked_again(view, attempt, ratio, bump, bump.end_step)


def skewed_resumes(view: View) -> Iterator[Finding]:
    """Resume spikes that are the mixture: a ratio is off the earlier attempt's level, no data set is."""
    if not any(a.by_role(Role.RATIO) for a in view.attempts):
        return
    limits = view.thresholds
    for spike in resume.find(view):
        names = spike.attempt, spike.evidence.get("after")
        after, before = (next(iter(view.named(name)), None) for name in names)
        if spike.pattern != "resume-spike" or after is None or before is None:
            continue
        skews = [(skew(old, r, spike.start_step), r) for r, old in pairs(before, after, Role.RATIO)]
        (share, t), ratio = max(skews, key=lambda s: abs(s[0][1]), default=((0.0, 0.0), None))
        if ratio is None or abs(t) < limits.join_t or abs(share) < limits.ratio_off:
            continue  # the mixture kept its level
        sources = [rise_at_join(old, s, spike) for s, old in pairs(before, after, Role.DATASET_LOSS)]
        least = limits.midway * float(spike.evidence["join_height_log"])
        worst = max((e.t for e in sources if e.height >= least), default=0.0)
        if worst < limits.other_t:
            evidence = {"ratio": ratio.metric, "ratio_change_share": share}
            tests = [
                at_least(
                    "first samples of the ratio off its level", abs(t), "standard errors", limits.join_t
                ),
                at_least("change of the ratio", abs(share), "share", limits.ratio_off),
                at_most("single data set off its line", worst, "standard errors", limits.other_t),
            ]
            seen = tests[: 2 + bool(sources)]
            yield renamed(spike, "resume-ratio-skew", why=WHY, evidence=evidence, criteria=seen)


def pairs(before: AttemptView, after: AttemptView, role: Role) -> list[tuple[Series, Series]]:
    """Series of a role in an attempt, each with the same one in the earlier attempt."""
    return [(s, before.series[s.metric]) for s in after.by_role(role) if s.metric in before.series]


def skew(old: Series, new: Series, at: float) -> tuple[float, float]:
    """How far the first samples of a ratio are off its level before: as a share of it, and in errors."""
    level = old.values[(old.steps < at) & np.isfinite(old.values)][-BEFORE:]
    first = new.values[(new.steps >= at) & np.isfinite(new.values)][: FIRST[-1]]
    if min(len(level), len(first)) < LEAST or not np.mean(level) > 0:
        return 0.0, 0.0
    usual, noise = float(np.mean(level)), scale(level)
    noise *= inflation(level - usual, noise)
    offs = [(float(np.mean(first[:m])) - usual, m) for m in FIRST if m <= len(first)]
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
    moved = departure(loss, start, (end if end - start < BEFORE * step_gap(loss) else peak) + 1)
    shape = beside(view, loss, start, end)
    if shape is None and (abs(moved.t) < limits.known_t or abs(moved.height) < limits.ratio_bump):
        return
    if shape is None and attempt.index == 0 and event.onset < max(BEFORE, limits.settling * len(ratio)):
        return  # neither the ratio nor the loss has a level yet
    height = max(abs(moved.height), float(shape.evidence.get("height_log", 0.0)) if shape else 0.0)
    calm = calm_sources(view, attempt, start, peak, height)
    if calm is None:
        return
    change = float(np.exp(abs(event.height))) - 1
    evidence = {"ratio": ratio.metric, "ratio_change_share": change, "ratio_start_step": start}
    tests = [
        criterion("change of the ratio", change, "share", "leaves its level", True),
        at_least("loss off its line, or a spike", abs(moved.t), "standard errors", limits.known_t),
        *calm,
    ]
    if shape is not None:
        yield renamed(shape, "resume-ratio-skew", why=WHY, evidence=evidence, criteria=tests)
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
        runner_up=("spike-fast-recovery", WHY),
    )


def asked_again(
    view: View, attempt: AttemptView, ratio: Series, bump: Finding, end: int
) -> Iterator[Finding]:
    """A bump of the loss under which the ratio, asked at this one place, is off its line."""
    limits, start = view.thresholds, bump.start_step
    off = departure(ratio, start, end + 1)
    if abs(off.t) < limits.single_t or abs(off.height) < limits.ratio_off:
        return
    peak = bump.peak_step if bump.peak_step is not None else start
    calm = calm_sources(view, attempt, start, peak, float(bump.evidence["height_log"]))
    if calm is not None:
        change = float(np.exp(abs(off.height))) - 1
        evidence = {"ratio": ratio.metric, "ratio_change_share": change, "ratio_start_step": start}
        tests = [
            at_least("ratio off its line meanwhile", abs(off.t), "standard errors", limits.single_t),
            at_least("change of the ratio", change, "share", limits.ratio_off),
            *calm,
        ]
        yield renamed(bump, "resume-ratio-skew", why=WHY, evidence=evidence, criteria=tests)


def calm_sources(
    view: View, attempt: AttemptView, start: int, peak: int, height: float
) -> list[Criterion] | None:
    """The test that no single data set rose by half as much (none without such losses), or None: one did.

    Then the sources themselves are worse: the model or its data, not the mixture.
    """
    limits = view.thresholds
    single = [departure(s, start, peak + 1) for s in attempt.dataset_losses]
    worst = max((e.t for e in single if e.height >= limits.midway * height), default=0.0)
    if worst >= limits.other_t:
        return None
    test = at_most("single data set off its line", worst, "standard errors", limits.other_t)
    return [test] if single else []


def beside(view: View, loss: Series, start: int, end: int) -> Finding | None:
    """The bump of the loss that belongs to an event between two steps of another series, if there is one."""
    probe = Finding("", None, None, start, None, end, 0.0, 0.0)
    near = [f for f in view.findings(loss) if f.pattern in BUMPS and together(view, probe, f, loss)]
    return min(near, key=lambda f: abs(f.start_step - start), default=None)
