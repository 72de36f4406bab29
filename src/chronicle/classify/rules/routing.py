"""Which experts of a mixture do the work.

router-collapse
    Sees: a router that sends nearly all tokens to a few experts, so that the others learn nothing.
    Rule: in the median over the second half of the log the busiest expert of a layer has three times the mean
    load or more, and a quarter of the experts less than a tenth of it. Where only the largest load is logged,
    it has three times the mean and twice what it began with.
    Blind to: layers whose experts are not all logged, and mixtures in which each token takes more than a
    third of the experts: no load can be so large. An auxiliary loss is not asked: it can be satisfied without
    balance.
    False alarm: fine-tuning on data that some experts were never meant for.
    Source: Wang et al. (arXiv:2408.15664), who measure the largest load over the mean. The limits are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify.measure import finite, median
from chronicle.classify.report import At, Rule, at_least, finding
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.roles import plain
from chronicle.model import Finding, Floats, Role, Series

COLLAPSE = "router-collapse"
BUSIEST = 3.0  # [times] the mean load
IDLE = 0.1  # [times] the mean load: as good as none
IDLE_EXPERTS = 0.25  # share of a layer's experts
GROWN = 2.0  # [times] the first value, where the largest load alone is logged
FEWEST, _LEAST = 4, 32  # experts of a layer; steps of a log
_AN_EXPERT = re.compile(r"(?i)(.*expert\D*)\d+")  # the last of them: a layer may be numbered before it
_ABOVE_ONE = re.compile(r"\bvio(lation)?\b|\bmaxvio\b")  # what the largest load has above the mean


Layer = tuple[Sequence[Series], Floats, Floats]  # its experts, steps, and loads [expert, step]


def layers(attempt: AttemptView) -> Iterator[Layer]:
    """Those whose experts are all logged at the same steps, and the largest loads that stand alone; loads in
    multiples of the mean."""
    families: dict[str, list[Series]] = {}
    for series in attempt.by_role(Role.EXPERT_LOAD):
        families.setdefault(_AN_EXPERT.sub(r"\1", series.metric, count=1), []).append(series)
    for family in families.values():
        one, steps = family[0], family[0].steps.astype(float)
        if len(family) >= FEWEST and all(np.array_equal(s.steps, one.steps) for s in family):
            loads = np.array([s.values for s in family])
            total = loads.sum(0)
            ok = np.isfinite(total) & (total > 0)
            yield family, steps[ok], loads[:, ok] * len(family) / total[ok]
        elif len(family) == 1 and not _AN_EXPERT.match(one.metric):
            above = 1.0 if _ABOVE_ONE.search(plain(one.metric)) else 0.0
            known = finite(one)
            yield family, known.steps.astype(float), known.values[None] + above


def _collapsed(view: View, attempt: AttemptView) -> Iterator[Finding]:
    found = [one for layer in layers(attempt) if (one := _judged(attempt, *layer)) is not None]
    yield from sorted(found, key=lambda one: (-one.severity, one.metric or ""))[:1]


def _judged(attempt: AttemptView, experts: Sequence[Series], steps: Floats, loads: Floats) -> Finding | None:
    half = len(steps) // 2
    if half < _LEAST // 2:
        return None
    later = np.median(loads[:, half:], axis=1)  # what single batches do is no habit
    at = int(np.argmax(later))
    busiest, earlier = float(later[at]), loads[at, :half]
    checks = [at_least("load of the busiest expert", busiest, "times the mean", BUSIEST, "busiest_times")]
    if len(experts) > 1:
        idle, what = float(np.mean(later < IDLE)), "experts below a tenth of the mean load"
        checks.append(at_least(what, idle, "share of them", IDLE_EXPERTS, "idle_share"))
    else:
        first = max(median(earlier[: max(half // 8, 3)]), 1.0)
        checks.append(at_least("growth of that since the start", busiest / first, "times", GROWN))
    if any(not check.met for check in checks):
        return None
    calm = np.flatnonzero(earlier < BUSIEST)
    start = steps[int(calm[-1]) + 1 if len(calm) else 0]
    severity = 0.3 + 0.1 * busiest / BUSIEST
    fair = ("near-perfect", "the loads had been alike")
    return finding(COLLAPSE, At(attempt, experts[at], start), checks, severity, 0.8, fair)


RULE = Rule.of_attempts("routing", (COLLAPSE,), _collapsed)
