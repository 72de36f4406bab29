"""Signs that precede spikes: the gradient norm, and earlier spikes.

grad-norm-precursor
    Sees: the gradient norm rising before the loss does.
    Rule: a rise of the gradient norm begins 1 to 64 samples before a rise of the loss, and so many of them do
    that chance, given how often this gradient norm rises, makes it in fewer than one of ten runs.
    Blind to: leads shorter than one logging interval, and norms that are logged after clipping.
    False alarm: a warning is trusted that is none; the share of rises without a spike is therefore stated.
    Source: GLM-130B 3, OLMo 2 3, BLOOM (4 steps; 1 of 4 rises had a spike).

rising-spike-rate
    Sees: spikes that come more often, or taller, as the run goes on.
    Rule: of at least 6 spikes, the second half of the run has twice as many as the first (Laplace's test for
    a trend, p < 0.025), or gaps halve or heights double from the first third to the last (rank correlation).
    Blind to: fewer than 6 spikes.
    False alarm: the schedule made them (a rising learning rate).
    Source: OLMo 2 3 (rising rates before divergence).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from chronicle.classify.kernel import RISES as RISING_KINDS
from chronicle.classify.kernel import Event, Kind
from chronicle.classify.measure import LINE_SAMPLES, confidence_of, fit, median, positive, rises_by
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import step_gap
from chronicle.model import Finding, Floats, Series

LOGGED_SHARE = 0.5  # of the points of the loss must have a gradient norm


def _precursors(view: View, attempt: AttemptView) -> Iterator[Finding]:
    loss, norm, limits = attempt.loss, attempt.grad_norm, view.thresholds
    if loss is None or norm is None or len(norm) < LOGGED_SHARE * len(loss):
        return
    events = [e for e in view.events(loss) if e.kind in RISING_KINDS]
    if not events:  # the usual case: nothing to precede
        return
    rises = [(e, onset(norm, e, limits)) for e in view.events(norm) if e.kind in RISING_KINDS]
    # the last calm sample of a slow rise comes late; then the onset of the kernel is used
    spikes = [min(onset(loss, e, limits), int(loss.steps[e.onset])) for e in events]
    most = limits.lead_most * step_gap(norm)
    leads = [(rise, start, spike) for spike in spikes for rise, start in rises if 0 < spike - start <= most]
    chance = 1 - (1 - min(len(rises) / len(norm), 1.0)) ** limits.lead_most
    luck = at_least_by_chance(len(leads), len(spikes), chance)
    if not leads or luck > limits.lead_chance:
        return
    confidence = 0.5 + 0.5 * (1 - luck) * len(leads) / max(len(rises), 1)
    for rise, start, spike in leads:
        checks = [
            Check("lead", spike - start, "steps", "> 0", key="lead_steps"),
            *noted(rise_factor=math.exp(rise.height), loss_start_step=spike),
            *noted(rises_of_gradient_norm=len(rises), rises_before_a_spike=len(leads)),
            Check("such leads by chance", luck, "probability", f"< {limits.lead_chance:g}"),
        ]
        at = At(attempt, norm, start, norm.steps[rise.peak], spike)
        yield finding("grad-norm-precursor", at, checks, 0.3, confidence)


def onset(series: Series, event: Event, limits: Thresholds) -> int:
    """The step from which on a rise is over its line without interruption until its peak."""
    steps, y = positive(series)
    first, peak = (int(np.searchsorted(steps, series.steps[k])) for k in (event.onset, event.peak))
    before = slice(max(first - LINE_SAMPLES, 0), max(first - 4, 0))
    line = fit(steps[before], y[before])
    if line is None:
        return int(series.steps[event.onset])
    over = y[: peak + 1] - line.at(steps[: peak + 1])
    calm = np.flatnonzero(over < limits.onset_noise * line.noise)
    return int(steps[min(calm[-1] + 1, peak)]) if len(calm) else int(series.steps[event.onset])


def at_least_by_chance(hits: int, trials: int, p: float) -> float:
    """Probability of at least ``hits`` of ``trials`` when each happens with probability ``p``."""
    p = min(max(p, 0.0), 1.0)
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))


def _rising_rate(view: View) -> Iterator[Finding]:
    places, heights, steps = live_spikes(view)
    limits = view.thresholds
    keep, start = places >= limits.settling, limits.settling  # the detectors are still adapting
    places, heights, steps = (places[keep] - start) / (1 - start), heights[keep], steps[keep]
    n = len(places)
    if n < limits.rate_events:
        return
    late = int(np.sum(places > 0.5))
    more_often = (late + 1) / (n - late + 1)  # one of each added, so that none is a division by zero
    trends = {
        "spikes in the second half": (above_by_chance(laplace(places)), more_often),
        "gap in the first third": growth(np.diff(places)[::-1]),
        "height in the last third": growth(heights),
    }
    least = limits.rate_factor
    what, (p, factor) = min(trends.items(), key=lambda t: t[1] if t[1][1] >= least else (1.0, 1.0))
    if p >= limits.rate_p:
        return
    checks = [
        *noted(spikes=n),
        Check("trend by chance", p, "probability", f"< {limits.rate_p:g}", key="p_value"),
        at_least(what, factor, "times the other", least, "factor"),
        *noted(of=what),
    ]
    confidence = confidence_of(-math.log(max(p, 1e-12)), -math.log(limits.rate_p))
    at = At(None, None, steps[0], steps[int(np.argmax(heights))], steps[-1])
    yield finding("rising-spike-rate", at, checks, 0.5, confidence)


def live_spikes(view: View) -> tuple[Floats, Floats, Floats]:
    """Position (share of the live points), height (log units) and step of all spikes on the live course."""
    rows: list[tuple[float, float, float]] = []
    base = 0
    for attempt in view.attempts:
        loss = attempt.loss
        if loss is None or attempt.live_until is None:
            continue
        for e in view.events(loss):
            if e.kind in (Kind.BACK, Kind.LONE) and attempt.is_live(step := int(loss.steps[e.onset])):
                rows.append((base + e.onset, e.height, step))
        base += int(np.sum(loss.steps <= attempt.live_until))
    table = np.array(sorted(rows), float).reshape(-1, 3)
    return table[:, 0] / max(base, 1), table[:, 1], table[:, 2]


def growth(values: Floats) -> tuple[float, float]:
    """The probability that chance makes a sequence rise so, and the ratio of its last to its first third."""
    third = max(len(values) // 3, 1)
    first, last = median(values[:third]), median(values[-third:])
    return above_by_chance(rises_by(values)), last / first if first else 1.0


def laplace(places: Floats) -> float:
    """Laplace's trend statistic of events in (0, 1): standard normal if their rate is constant."""
    return float((places.mean() - 0.5) * np.sqrt(12 * len(places)))


def above_by_chance(z: float) -> float:
    """Probability of a standard normal variable above ``z``."""
    return 0.5 * math.erfc(z / math.sqrt(2))


PRECURSORS = Rule.of_attempts("precursors", ("grad-norm-precursor",), _precursors)
SPIKE_RATE = Rule("spike-rate", ("rising-spike-rate",), _rising_rate)
