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
from dataclasses import replace

import numpy as np

from chronicle.classify.kernel import RISING_KINDS, Event
from chronicle.classify.measure import departure, median
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted, renamed, stands
from chronicle.classify.rules import resume
from chronicle.classify.rules.loss_shapes import BUMPS, SPIKES, typed_findings
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import step_gap
from chronicle.metrics.names import MIN_POINTS
from chronicle.model import Finding, Role, Series

DATASET_SPIKE, SKEW = "multi-dataset-spike", "resume-ratio-skew"


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
        group = [(f, s) for f, s in spikes if together(view, stretch(first), stretch(f), source)]
        spikes = [pair for pair in spikes if pair not in group]
        yield _whose(view, attempt, sources, group)


def together(view: View, a: tuple[int, int], b: tuple[int, int], series: Series) -> bool:
    """Whether the onsets of two events are close, in samples or relative to the longer event."""
    near, longest = view.thresholds.same_time * step_gap(series), max(a[1] - a[0], b[1] - b[0])
    return abs(a[0] - b[0]) <= max(near, view.thresholds.same_share * longest)


def stretch(f: Finding) -> tuple[int, int]:
    """The first step of a finding, and the last one that is known."""
    return f.start_step, f.end_step or f.peak_step or f.start_step


def _whose(
    view: View, attempt: AttemptView, sources: Sequence[Series], group: Sequence[tuple[Finding, Series]]
) -> Finding:
    tallest, series = max(group, key=lambda pair: pair[0].severity)
    start = min(f.start_step for f, _ in group)
    peak = tallest.peak_step if tallest.peak_step is not None else tallest.start_step
    rises = {s.metric: departure(s, start, peak + 1) for s in sources}
    spiking, least = {s.metric for _, s in group}, view.thresholds.other_t
    moved = [m for m, e in rises.items() if m in spiking or e.t >= least]
    kind = "simultaneous" if len(moved) == len(sources) else "several"
    if len(moved) == 1:
        kind = "single"
    height, others = rises[series.metric].height, sorted(e.t for m, e in rises.items() if m not in moved)[-1:]
    checks = [
        *noted(kind=kind, data_sets=sorted(moved), of=len(sources)),
        at_least("tallest over its line", height, "log units", view.thresholds.moved, "height_log"),
        Check("data sets that spike", len(moved), "data sets", f"1 or more of {len(sources)}"),
        *(Check("strongest of the others", t, "standard errors", f"< {least:g}") for t in others),
    ]
    ends = [f.end_step for f, _ in group if f.end_step is not None]
    end = max(ends) if len(ends) == len(group) else None
    at = At(attempt, series if kind == "single" else None, start, peak, end)
    total = (tallest.pattern, "the total loss alone: one event, whoever it belongs to")
    return finding(DATASET_SPIKE, at, checks, tallest.severity, tallest.confidence, total)


def skewed_mixture(view: View) -> Iterator[Finding]:
    """Bumps of the loss that the mixture of the batch explains, at joins and elsewhere."""
    logged = [(a, a.loss) for a in view.attempts if a.loss is not None and a.by_role(Role.RATIO)]
    at_joins = [f for f in resume.find(view) if f.pattern == resume.RESUME_SPIKE] if logged else []
    for attempt, loss in logged:
        spikes = [f for f in at_joins if f.attempt == attempt.name]
        known = {f.start_step for f in spikes}
        shapes = [f for f in typed_findings(view, loss) if f.pattern in BUMPS and f.start_step not in known]
        for bump in (*spikes, *shapes):
            for ratio in attempt.by_role(Role.RATIO):
                yield from filter(stands, _ratio_skew(view, attempt, loss, ratio, bump))


def _ratio_skew(
    view: View, attempt: AttemptView, loss: Series, ratio: Series, bump: Finding
) -> Iterator[Finding]:
    """A bump during which a ratio leaves its level, or that of the attempt before, and no data set rises."""
    limits, start = view.thresholds, bump.start_step
    before = next(iter(view.named(bump.evidence.get("after"))), None)
    peak = bump.peak_step if bump.peak_step is not None else start
    sources = [departure(continued(before, s), start, peak + 1) for s in attempt.dataset_losses]
    # where one rose by half as much, the model is worse
    risen = [e.t for e in sources if e.height >= limits.midway * bump.evidence["height_log"]]
    calm = at_most("single data set off its line", max(risen, default=0.0), "standard errors", limits.other_t)
    event, sign = _event_of_ratio(view, loss, ratio, bump) if before is None else (None, 0.0)
    if not calm.met or (event is None and bump.end_step is None):
        return
    if event is not None:
        began, share = int(ratio.steps[event.onset]), abs(np.expm1(sign * event.height))
        change = [Check("change of the ratio", share, "share", "leaves its level", key="ratio_change_share")]
    else:
        off = departure(continued(before, ratio), start, (bump.end_step or start) + 1)
        began, share = start, abs(np.expm1(off.height))
        least = limits.single_t if before is None else limits.join_t
        change = [
            at_least("ratio off its line meanwhile", abs(off.t), "standard errors", least),
            at_least("change of the ratio", share, "share", limits.ratio_off, "ratio_change_share"),
        ]
    checks = [*noted(ratio=ratio.metric, ratio_start_step=began), *change, *([calm] if sources else [])]
    why = "the ratio had kept its level, or a single data set had risen as much"
    yield renamed(bump, SKEW, checks, why=why)


def _event_of_ratio(view: View, loss: Series, ratio: Series, bump: Finding) -> tuple[Event | None, float]:
    """The event of a ratio at the time of a bump, and its sign: 1 for a rise, -1 for a dip."""
    steps = ratio.steps.tolist()
    for sign in (1.0, -1.0):
        for event in view.events(ratio, sign):
            span = steps[event.onset], steps[event.end or event.peak]
            if event.kind in RISING_KINDS and together(view, span, stretch(bump), loss):
                return event, sign
    return None, 0.0


def continued(before: AttemptView | None, series: Series) -> Series:
    """A series behind that of the same metric of an attempt before it."""
    old = before.series.get(series.metric) if before is not None else None
    if old is None:
        return series
    old = old.pick(old.steps < series.steps[0])
    steps, values = np.r_[old.steps, series.steps], np.r_[old.values, series.values]
    return replace(series, steps=steps, values=values, times=np.r_[old.times, series.times])


BY_DATASET = Rule("datasets", (DATASET_SPIKE,), Rule.by_attempt(_dataset_spikes))
MIXTURE = Rule("mixture", (SKEW,), skewed_mixture, replaces=BUMPS | {resume.RESUME_SPIKE})
