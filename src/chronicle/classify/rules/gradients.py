"""What comes before spikes: the gradient norm, and the spikes before.

grad-norm-precursor
    Sees: the gradient norm rising before the loss does.
    Rule: a rise of log(gradient norm) begins 1 to 64 samples before an upward event of the loss, the loss is
    still on its line in between, and a rise would fall there by chance in fewer than one of ten runs, given
    how many rises the gradient norm has in this run.
    Blind to: leads below one logging interval, and norms logged after clipping.
    False alarm: trust in a warning that is none; so the share of rises without a spike is said.
    Source: GLM-130B 3, OLMo 2 3, BLOOM (4 steps; 1 of 4 rises had a spike).

rising-spike-rate
    Sees: spikes that come more often, or taller, as the run goes on.
    Rule: Laplace's test for a trend in the times of at least 6 spikes (p < 0.025, second half twice the
    first), or Kendall's for the gaps between them (first third twice the last) or their heights (last third
    twice the first).
    Blind to: fewer than 6 spikes. False alarm: the schedule made them (a rising learning rate).
    Source: OLMo 2 3 (rising rates before divergence).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import departure, fit, positive, sure
from chronicle.classify.report import criterion, found
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats, Series

PATTERNS = ("grad-norm-precursor", "rising-spike-rate")
RISES = (Kind.BACK, Kind.OPEN, Kind.LONE)
BEFORE = 64  # [samples] that make the line a rise is measured from
START_SHARE = 0.05  # share of the run left out of the rate: detection is still warming up


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from precursors(view, attempt)
    yield from rising_rate(view)


# ---- gradient norm ---------------------------------------------------------------------------------


def precursors(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Rises of the gradient norm that lead a spike of the loss."""
    loss, norm = attempt.loss, attempt.grad_norm
    if loss is None or norm is None or len(norm) < 0.5 * len(loss):
        return
    rises = [(e, onset(norm, e)) for e in view.events(norm) if e.kind in RISES]
    # of a slow rise the last calm sample comes late: then the loss began where the kernel saw it begin
    spikes = [min(onset(loss, e), int(loss.steps[e.onset])) for e in view.events(loss) if e.kind in RISES]
    most = view.thresholds.lead_most * step_gap(norm)
    pairs = [
        (rise, start, spike)
        for spike in spikes
        for rise, start in rises
        if 0 < spike - start <= most and alone(view, norm, loss, start, spike)
    ]
    rate = len(rises) / len(norm)
    chance = 1 - (1 - min(rate, 1.0)) ** view.thresholds.lead_most
    luck = tail(len(pairs), len(spikes), chance)
    if not pairs or luck > view.thresholds.lead_chance:
        return
    for rise, start, spike in pairs:
        yield precursor(view, attempt, norm, rise, (start, spike), len(rises), len(pairs), luck)


def onset(series: Series, event: Event) -> int:
    """The step from which on a rise is 3 noise scales over its line, seen from its peak."""
    steps, y = positive(series)
    first, peak = (int(np.searchsorted(steps, series.steps[k])) for k in (event.onset, event.peak))
    before = slice(max(first - BEFORE, 0), max(first - 4, 0))
    line = fit(steps[before], y[before])
    if line is None:
        return int(series.steps[event.onset])
    calm = np.flatnonzero(y[: peak + 1] - line.at(steps[: peak + 1]) < 3 * line.noise)
    return int(steps[min(calm[-1] + 1, peak)]) if len(calm) else int(series.steps[event.onset])


def alone(view: View, norm: Series, loss: Series, start: int, spike: int) -> bool:
    """Whether the gradient norm was up, and the loss on its line, in all steps between the two onsets."""
    least = view.thresholds.lead_t
    return departure(norm, start, spike).t >= least > abs(departure(loss, start, spike).t)


def precursor(
    view: View,
    attempt: AttemptView,
    norm: Series,
    rise: Event,
    onsets: tuple[int, int],
    rises: int,
    followed: int,
    luck: float,
) -> Finding:
    """The finding of one lead."""
    start, spike = onsets
    return found(
        "grad-norm-precursor",
        attempt,
        norm,
        (start, norm.steps[rise.peak], spike),
        severity=0.3,
        confidence=0.5 + 0.5 * (1 - luck) * followed / max(rises, 1),
        evidence={
            "lead_steps": spike - start,
            "rise_factor": math.exp(rise.height),
            "loss_start_step": spike,
            "rises_of_gradient_norm": rises,
            "rises_before_a_spike": followed,
        },
        criteria=[
            criterion("lead", spike - start, "steps", "> 0", True),
            criterion(
                "such leads by chance", luck, "probability", f"< {view.thresholds.lead_chance:g}", True
            ),
        ],
    )


def tail(hits: int, trials: int, p: float) -> float:
    """Probability of at least ``hits`` of ``trials`` when each happens with probability ``p``."""
    p = min(max(p, 0.0), 1.0)
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))


# ---- rate -----------------------------------------------------------------------------------------


def rising_rate(view: View) -> Iterator[Finding]:
    """A trend in the times or the heights of the spikes of the whole run."""
    places, heights, steps = live_spikes(view)
    least = int(view.thresholds.rate_events)
    keep = places >= START_SHARE
    places, heights, steps = (places[keep] - START_SHARE) / (1 - START_SHARE), heights[keep], steps[keep]
    n = len(places)
    if n < least:
        return
    often = (normal_tail(laplace(places)), ratio(int(np.sum(places > 0.5)), int(np.sum(places <= 0.5))))
    trends = {
        "spikes in the second half": often,
        "gap in the first third": growth(np.diff(places)[::-1]),
        "height in the last third": growth(heights),
    }
    what, (p, factor) = min(trends.items(), key=lambda t: t[1] if t[1][1] >= 2 else (1.0, 1.0))
    if p >= view.thresholds.rate_p or factor < 2:
        return
    yield found(
        "rising-spike-rate",
        None,
        None,
        (steps[0], steps[int(np.argmax(heights))], steps[-1]),
        severity=0.5,
        confidence=sure(-math.log(max(p, 1e-12)), -math.log(view.thresholds.rate_p)),
        evidence={"spikes": n, "p_value": p, "factor": factor, "of": what},
        criteria=[
            criterion("trend by chance", p, "probability", f"< {view.thresholds.rate_p:g}", True),
            criterion(what, factor, "times the other", ">= 2", True),
        ],
    )


def live_spikes(view: View) -> tuple[Floats, Floats, Floats]:
    """Of all spikes on the run's course: place (share of the live points), height (log units) and step."""
    rows: list[tuple[float, float, float]] = []
    base = 0
    for attempt in view.attempts:
        loss = attempt.loss
        if loss is None or attempt.live_until is None:
            continue
        for e in view.events(loss):
            if e.kind in (Kind.BACK, Kind.LONE) and attempt.is_live(int(loss.steps[e.onset])):
                rows.append((base + e.onset, e.height, float(loss.steps[e.onset])))
        base += int(np.sum(loss.steps <= attempt.live_until))
    table = np.array(sorted(rows), float).reshape(-1, 3)
    return table[:, 0] / max(base, 1), table[:, 1], table[:, 2]


def growth(values: Floats) -> tuple[float, float]:
    """Kendall's p of a rising sequence, and its last third over its first (medians)."""
    third = max(len(values) // 3, 1)
    first, last = float(np.median(values[:third])), float(np.median(values[-third:]))
    return normal_tail(kendall(values)), last / first if first else 1.0


def laplace(places: Floats) -> float:
    """Laplace's trend statistic of events in (0, 1): standard normal if their rate is constant."""
    return float((places.mean() - 0.5) * np.sqrt(12 * len(places)))


def kendall(values: Floats) -> float:
    """Kendall's trend statistic of a sequence, standard normal if there is no trend (no tie correction)."""
    n = len(values)
    score = float(np.sum(np.sign(values[None, :] - values[:, None])[np.triu_indices(n, 1)]))
    return score / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)


def normal_tail(z: float) -> float:
    """Probability of a standard normal variable above ``z``."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def ratio(late: int, early: int) -> float:
    """Late over early counts, with one of each added so that none is a division by zero."""
    return (late + 1) / (early + 1)
