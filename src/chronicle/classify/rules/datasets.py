"""Data sets and their mixture: which data set spikes, and whether the model or only the batch is worse.

multi-dataset-spike
    Sees: a spike in the losses of single data sets, in one of them or in several at the same time.
    Rule: spikes whose onsets lie within 8 samples (or a fifth of the longer one) are one event; every other
    data set is then tested at that place, where 4 standard errors are enough.
    Blind to: sources that are not logged apart, and those with less than a fifth of the points of the loss.
    False alarm: a search for a bad shard that does not exist.
    Source: IDEFICS chronicles; PaLM (arXiv:2204.02311) 5.1.

resume-ratio-skew
    Sees: a bump of the loss that comes from the mixture of the batch and not from the model.
    Rule: the share of a source leaves its level while the loss has a bump, and no single data set rises by
    half as much. At a join the level is that of the earlier attempt.
    Blind to: a skew whose ratio is not logged, and one under which the loss shows no bump.
    False alarm: a real spike is taken for harmless.
    Source: IDEFICS memo ("restart spikes"): ratio 0.0117 to 0.008 at each resume, back in 50 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify import measure
from chronicle.classify.kernel import RISES as RISING_KINDS
from chronicle.classify.kernel import Event
from chronicle.classify.measure import LINE_SAMPLES, Excess, departure, median, positive
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted, renamed, stands
from chronicle.classify.resumed import FIRST_SAMPLES, JOIN_SAMPLES
from chronicle.classify.rules import resume
from chronicle.classify.rules.loss_shapes import BUMPS, SPIKES, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import step_gap
from chronicle.metrics.roles import MIN_POINTS
from chronicle.model import Finding, Role, Series

DATASET_SPIKE, SKEW = "multi-dataset-spike", "resume-ratio-skew"
WHY = "the ratio had kept its level, or a single data set had risen as much"


def _dataset_spikes(view: View, attempt: AttemptView) -> Iterator[Finding]:
    sources = [s for s in attempt.by_role(Role.DATASET_LOSS) if len(s) >= MIN_POINTS]
    if len(sources) < 2:
        return
    spikes = [(f, s) for s in sources for f in typed_findings(view, s) if f.pattern in SPIKES]
    least = view.thresholds.trifle  # of the first value: what stays below it has been learned
    spikes = [(f, s) for f, s in spikes if not 0 < f.evidence["peak_loss"] <= least * median(s.values[:2])]
    spikes.sort(key=lambda pair: pair[0].start_step)
    while spikes:
        first, source = spikes[0]
        group = [(f, s) for f, s in spikes if together(view, first, f, source)]
        spikes = [pair for pair in spikes if pair not in group]
        yield _whose(view, attempt, sources, group)


def together(view: View, a: Finding, b: Finding, series: Series) -> bool:
    """Whether two events are one: their onsets are close, in samples or relative to the longer one."""
    near = view.thresholds.same_time * step_gap(series)
    longest = max((f.end_step or f.peak_step or f.start_step) - f.start_step for f in (a, b))
    apart = abs(a.start_step - b.start_step)
    return apart <= max(near, view.thresholds.same_share * longest)


def _whose(
    view: View, attempt: AttemptView, sources: Sequence[Series], group: Sequence[tuple[Finding, Series]]
) -> Finding:
    tallest, series = max(group, key=lambda pair: pair[0].severity)
    start = min(f.start_step for f, _ in group)
    peak = tallest.peak_step if tallest.peak_step is not None else tallest.start_step
    rises = {s.metric: departure(s, start, peak + 1) for s in sources}
    spiking, least = {s.metric for _, s in group}, view.thresholds.other_t
    moved = [m for m, e in rises.items() if m in spiking or e.t >= least]
    kind = "single" if len(moved) == 1 else "simultaneous" if len(moved) == len(sources) else "several"
    ends, height = [f.end_step for f, _ in group if f.end_step is not None], rises[series.metric].height
    others = sorted(e.t for m, e in rises.items() if m not in moved)[-1:]
    checks = [
        *noted(kind=kind, data_sets=sorted(moved), of=len(sources)),
        at_least("tallest over its line", height, "log units", view.thresholds.moved, "height_log"),
        Check("data sets that spike", len(moved), "data sets", f"1 or more of {len(sources)}"),
        *(Check("strongest of the others", t, "standard errors", f"< {least:g}") for t in others),
    ]
    end = max(ends) if len(ends) == len(group) else None
    at = At(attempt, series if kind == "single" else None, start, peak, end)
    total = (tallest.pattern, "the total loss alone: one event, whoever it belongs to")
    return finding(DATASET_SPIKE, at, checks, tallest.severity, tallest.confidence, total)


def skewed_mixture(view: View) -> Iterator[Finding]:
    """Bumps of the loss that the mixture of the batch explains, at joins and elsewhere."""
    logged = [(a, a.loss) for a in view.attempts if a.loss is not None and a.by_role(Role.RATIO)]
    at_joins = list(skewed_resumes(view)) if logged else []
    yield from at_joins
    known = {(f.attempt, f.start_step) for f in at_joins}
    for attempt, loss in logged:
        yield from (f for f in _ratio_skew(view, attempt, loss) if (f.attempt, f.start_step) not in known)


def _ratio_skew(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    bumps = [f for f in typed_findings(view, loss) if f.pattern in BUMPS]
    for ratio in attempt.by_role(Role.RATIO) if bumps else ():
        events = [e for sign in (1.0, -1.0) for e in view.events(ratio, sign) if e.kind in RISING_KINDS]
        for bump in bumps:
            start = bump.start_step
            event = next((e for e in events if together(view, _stretch(ratio, e), bump, loss)), None)
            peak = bump.peak_step if bump.peak_step is not None else start
            sources = [departure(s, start, peak + 1) for s in attempt.dataset_losses]
            calm = calm_sources(view.thresholds, sources, bump.evidence["height_log"])
            change = left_level(view, ratio, bump) if event is None else _seen(event)
            if calm is not None and change is not None:
                began = start if event is None else int(ratio.steps[event.onset])
                checks = [*noted(ratio=ratio.metric, ratio_start_step=began), *change, *calm]
                yield from filter(stands, [renamed(bump, SKEW, checks, why=WHY)])


def _stretch(ratio: Series, event: Event) -> Finding:
    """An event of a ratio as what `together` compares."""
    start, end = (int(ratio.steps[k]) for k in (event.onset, event.peak if event.end is None else event.end))
    return Finding("", None, None, start, None, end, 0.0, 0.0)


def _seen(event: Event) -> list[Check]:
    change = float(np.exp(abs(event.height))) - 1
    return [Check("change of the ratio", change, "share", "leaves its level", key="ratio_change_share")]


def left_level(view: View, ratio: Series, bump: Finding) -> list[Check] | None:
    """The checks that a ratio is off its line during a bump that is over."""
    if bump.end_step is None:
        return None
    off, limits = departure(ratio, bump.start_step, bump.end_step + 1), view.thresholds
    change = float(np.exp(abs(off.height))) - 1
    return [
        at_least("ratio off its line meanwhile", abs(off.t), "standard errors", limits.single_t),
        at_least("change of the ratio", change, "share", limits.ratio_off, "ratio_change_share"),
    ]


def skewed_resumes(view: View) -> Iterator[Finding]:
    """Resume spikes that the mixture explains: a ratio is off its earlier level, and no data set is."""
    limits = view.thresholds
    for spike in resume.find(view):
        names = spike.attempt, spike.evidence.get("after")
        after, before = (next(iter(view.named(name)), None) for name in names)
        if spike.pattern != resume.RESUME_SPIKE or after is None or before is None:
            continue
        skews = [(skew(old, r, spike.start_step), r) for r, old in pairs(before, after, Role.RATIO)]
        (share, t), ratio = max(skews, key=lambda s: abs(s[0][1]), default=((0.0, 0.0), None))
        sources = [rise_at_join(old, s, spike) for s, old in pairs(before, after, Role.DATASET_LOSS)]
        calm = calm_sources(limits, sources, float(spike.evidence["join_height_log"]))
        if ratio is not None and calm is not None:
            first = "first samples of the ratio off its level"
            checks = [
                *noted(ratio=ratio.metric, ratio_change_share=share),
                at_least(first, abs(t), "standard errors", limits.join_t),
                at_least("change of the ratio", abs(share), "share", limits.ratio_off),
                *calm,
            ]
            yield from filter(stands, [renamed(spike, SKEW, checks, why=WHY)])


def pairs(before: AttemptView, after: AttemptView, role: Role) -> list[tuple[Series, Series]]:
    """Series of a role in an attempt, each with its counterpart in the earlier attempt."""
    return [(s, before.series[s.metric]) for s in after.by_role(role) if s.metric in before.series]


def skew(old: Series, new: Series, at: float) -> tuple[float, float]:
    """How far the first samples of a ratio are off its level before: as a share of it, and in errors."""
    level = old.values[(old.steps < at) & np.isfinite(old.values)][-LINE_SAMPLES:]
    first = new.values[(new.steps >= at) & np.isfinite(new.values)][: FIRST_SAMPLES[-1]]
    if min(len(level), len(first)) < JOIN_SAMPLES or not np.mean(level) > 0:
        return 0.0, 0.0
    usual, noise = float(np.mean(level)), measure.scale(level)
    noise *= measure.inflation(level - usual, noise)
    offs = [(float(np.mean(first[:m])) - usual, m) for m in FIRST_SAMPLES if m <= len(first)]
    off, m = max(offs, key=lambda o: abs(o[0]) * o[1] ** 0.5)
    return off / usual, off / (noise * (1 / m + 1 / len(level)) ** 0.5)


def rise_at_join(old: Series, new: Series, spike: Finding) -> Excess:
    """How far the loss of a data set lies over its line of the earlier attempt while the spike lasts."""
    (old_steps, before), (steps, y) = positive(old), positive(new)
    known = old_steps < spike.start_step
    line = measure.fit(old_steps[known][-LINE_SAMPLES:], before[known][-LINE_SAMPLES:])
    end = spike.end_step or spike.start_step
    part = steps[: int(np.searchsorted(steps, end)) + JOIN_SAMPLES]
    return measure.excess(line, part, y[: len(part)]) if line and len(part) else Excess(0.0, 0.0)


def calm_sources(limits: Thresholds, rises: Sequence[Excess], height: float) -> list[Check] | None:
    """The check that no single data set rose by half as much; None if one did, so that the model is worse."""
    worst = max((e.t for e in rises if e.height >= limits.midway * height), default=0.0)
    if worst >= limits.other_t:
        return None
    most = at_most("single data set off its line", worst, "standard errors", limits.other_t)
    return [most] if rises else []


BY_DATASET = Rule.of_attempts("datasets", (DATASET_SPIKE,), _dataset_spikes)
MIXTURE = Rule("mixture", (SKEW,), skewed_mixture, replaces=BUMPS | {resume.RESUME_SPIKE})
