"""Quantities inside the network that show trouble before the loss does, and how the loss is logged.

loss-scale-collapse
    Sees: a dynamic loss scale (fp16) that halves again and again.
    Rule: after the search for it, it falls by 4 halvings net within 50 samples; or it ends below 1.
    Blind to: bf16 runs, and survived collapses in the first tenth or before it first stays for 4 samples.
    False alarm: a restart for nothing.
    Source: OPT 2.5 (healthy at 1 or more), GLM-130B (30 steps before the loss), Megatron's defaults.

attention-logit-growth
    Sees: the largest attention logit growing without bound.
    Rule: its median grows over the second half by a half or more to above 100, or fourfold to above 50.
    Blind to: heads that are not logged.
    False alarm: QK-norm is examined for nothing; the logits of small models stay at 30 to 60.
    Source: Wortsman et al. 2309.14322; Kimi K2 (clipped at 100).

output-logit-drift
    Sees: the normaliser of the output softmax (log Z) leaving its level for good.
    Rule: it ends 5 nats and half its value from the level after the start, and moves in the second half too.
    Blind to: drift of single tokens.
    False alarm: a z-loss is added that nobody needed.
    Source: Wortsman et al. 3.1.2; Marin 8B (lm_head grew during the cooldown).

clip-saturation
    Sees: gradient clipping that shortens nearly every gradient, and so has become a second learning rate.
    Rule: nine in ten steps of the second half are clipped, by the share that is logged, else by the norm and
    the limit that the log states, else by a norm that stands at its highest value.
    Blind to: clipping that is neither logged nor stated, and clipping of single values.
    False alarm: none; many healthy trainings are so, and it leaves a good run good.
    Source: Pascanu et al. (arXiv:1211.5063), who clip what is far above the average. The limits are ours.

quantised-loss
    Sees: losses logged in bfloat16, or rounded to so few digits that they repeat.
    Rule: of 64 values or more, all have 8 significant bits at most (bfloat16), as far as five digits tell, or
    fewer than 5 % are distinct and lie a thousandth of the loss apart or more.
    Blind to: quantisation finer than the noise, which harms nobody.
    False alarm: none; it is a property of the log, and leaves a good run good.
    Source: IDEFICS logs in bfloat16: steps of 2^-7 between 1 and 2, of 2^-6 between 2 and 4.

router-collapse
    Sees: a router that sends nearly all tokens to a few experts, so that the others learn nothing.
    Rule: over the second half of the log the busiest expert of a layer has three times the mean load, and a
    quarter of the experts less than a tenth of it, or it alone half of all tokens; where only the largest
    load is logged, it is three times the mean and twice what it began with.
    Blind to: layers not logged in full, and tokens that take a third of the experts: no load is so large.
    False alarm: fine-tuning on data that some experts were never meant for.
    Source: Wang et al. (arXiv:2408.15664), who measure the largest load over the mean. The limits are ours.

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
import re
from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify import measure
from chronicle.classify.kernel import RISING_KINDS, Event, Kind
from chronicle.classify.measure import LINE_SAMPLES, confidence_of, difference_noise, finite, median, running
from chronicle.classify.report import At, Check, Rule, at_least, below, finding, noted, side, stands
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import step_gap
from chronicle.metrics.names import plain
from chronicle.metrics.values import grouped
from chronicle.model import Finding, Floats, Role, Series

START_SHARE = 0.1  # of a log, in which a level settles
LEFT_SHARE = 0.1  # of a drift: a level that has moved by less has not left its place
GROWTH_BEGINS_TIMES = 1.25  # the lowest level: growth begins where it exceeds this
GROWTH_SAMPLES = 16  # the fewest in which growth differs from noise
GRID_SAMPLES = 64  # the fewest that show a grid
BFLOAT16_BITS = 8  # significant ones
PRINTED_SHARE = 0.02  # of a step between bfloat16 values, by which a value of five digits may be off
SATURATED_SHARE = 0.9  # of the steps are clipped
LOGGED_SHARE = 0.5  # of the points of the loss must have a gradient norm
_CLIP_SAMPLES = 50  # the fewest of half a log
_CLIP_BLOCKS = 50  # of a log, by which the start of the clipping is located
_AT_LIMIT_SHARE = 1 - 1e-3  # of the limit: a norm that was clipped to it and rounded
_LIMIT = re.compile(
    r"(^|/)(max_grad(ient)?_norm|(opt_)?(clip_)?grad(ient)?s?_?(norm_)?clip(ping)?(_norm|_val)?"
    r"|clip_grad(_norm)?|clip_norm)$"
)


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    for series in attempt.by_role(Role.LOSS_SCALE):
        yield from _loss_scale_collapse(view, attempt, series)
    logits = (Role.ATTENTION_LOGIT, _attention_logit_growth), (Role.OUTPUT_LOGIT, _output_logit_drift)
    for role, rule in logits:
        long = (s for s in attempt.by_role(role) if np.isfinite(s.values).sum() >= GROWTH_SAMPLES)
        findings = [f for s in long if (f := rule(view, attempt, s)) is not None]
        yield from sorted(findings, key=lambda f: -f.severity)[:1]


def clip_saturation(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Clipping that affects nearly all steps of the second half."""
    norm, logged = attempt.grad_norm, attempt.first(Role.CLIPPED_SHARE)
    if (series := logged or norm) is None or len(known := finite(series)) < 2 * _CLIP_SAMPLES:
        return
    steps, values = known.steps, known.values
    if logged is not None:
        clipped = values / (100.0 if values.max() > 1 else 1.0)
    else:
        stated = (value for name, value in attempt.attempt.facts.items() if _LIMIT.search(name))
        limit = float(next((value for value in stated if type(value) in (int, float)), values.max()))
        if limit <= 0 or np.ptp(values) == 0:  # no limit, or a constant norm
            return
        clipped = (values >= _AT_LIMIT_SHARE * limit).astype(float)
    share = float(clipped[len(clipped) // 2 :].mean())
    if share < SATURATED_SHARE:
        return
    parts = np.array_split(np.arange(len(clipped)), _CLIP_BLOCKS)
    seldom = [part[-1] for part in parts if clipped[part].mean() < SATURATED_SHARE / 2]
    checks = [at_least("steps clipped in the second half", share, "share", SATURATED_SHARE, "clipped_share")]
    if norm is not None:
        checks += noted(usual_norm=median(finite(norm).values))
    start = steps[min(seldom[-1] + 1, len(steps) - 1)] if seldom else steps[0]
    yield finding("clip-saturation", At(attempt, series, start), checks, 0.1, 0.9)


def _loss_scale_collapse(view: View, attempt: AttemptView, series: Series) -> Iterator[Finding]:
    ok = np.isfinite(series.values) & (series.values >= 0)
    steps, power = series.steps[ok], np.log2(np.maximum(series.values[ok], 2.0**-64))
    need, within = view.thresholds.halvings, int(view.thresholds.halvings_within)
    if len(power) and power[-1] >= 0:  # it is searched for in the first tenth, and until it first stays
        stays = np.flatnonzero(power[int(need) :] >= power[: -int(need)])[:1]
        begin = max(np.searchsorted(steps, steps[0] + START_SHARE * (steps[-1] - steps[0])), *stays, 0)
        power, steps = power[begin:], steps[begin:]
    if len(power) < 2:
        return
    padded = np.append(power, np.full(within, np.inf))
    fall = power - np.lib.stride_tricks.sliding_window_view(padded, within + 1).min(axis=-1)
    below_one, last, fallen = bool(power[-1] < 0), float(2.0 ** power[-1]), float(fall.max())
    if fallen < need and not below_one:
        return
    first, lowest = int(np.argmax(fall >= min(need, fallen))), int(np.argmin(power))
    first += int(np.argmax(np.diff(power[first:]) < 0)) + 1 if len(power) > first + 1 else 0
    later = power[first:]
    if np.sum(np.diff(later) > 0) >= 2 * need and later[-int(need) :].min() > median(later) - need:
        return  # it found its level: each doubling takes many steps, none of which was skipped
    back = np.flatnonzero(power[lowest:] >= power[first - 1] - 1) if first else np.empty(0, int)
    halved, fast = f"net halvings in {within} samples", (f">= {need:.3g}", f"< {need:.3g}")
    checks = [  # either will do
        side(halved, fallen, "halvings", fallen >= need, fast, "halvings"),
        side("scale at the end", last, "", below_one, ("< 1", ">= 1")),
        *noted(lowest_scale=float(2.0 ** power[lowest])),
    ]
    if (times := float(-np.minimum(np.diff(power[first - 1 : lowest + 1]), 0).sum())) > 0:
        checks += noted(halved=times, scale_before=float(2.0 ** power[first - 1]))
    at = At(attempt, series, steps[first], steps[lowest], steps[lowest + back[0]] if len(back) else None)
    yield finding("loss-scale-collapse", at, checks, 0.9 if below_one or not len(back) else 0.5, 0.95)


def _attention_logit_growth(view: View, attempt: AttemptView, series: Series) -> Finding | None:
    steps, level = levels(series)
    middle, last = level[len(level) // 2], median(level[-max(len(level) // 16, 3) :])
    limits = view.thresholds
    high, need, fast = limits.logit_high, limits.logit_growth, limits.logit_fast
    growth = last / max(middle, 1e-9)
    if not (last > high and growth >= need) and not (last > high / 2 and growth >= fast):
        return None
    begin = int(len(level) * START_SHARE)
    rising = level[begin : begin + int(np.argmax(level[begin:])) + 1]
    start = begin + int(np.flatnonzero(rising <= GROWTH_BEGINS_TIMES * rising.min())[-1])
    halves = float(np.log2(max(last / level[start], 1.0 + 1e-9)))
    sizes = f"> {high:g}", f"> {high / 2:g}, one doubling away"
    checks = [
        side("largest logit at the end", last, "logit", last > high, sizes, "last_logit"),
        Check("growth over the second half", growth, "factor", f">= {need:g}", key="growth_factor"),
        *noted(doubling_steps=(steps[-1] - steps[start]) / halves, highest_logit=finite(series).values.max()),
    ]
    at = At(attempt, series, steps[start], steps[int(np.argmax(level))])
    severity = 0.3 + 0.2 * math.log10(last / high) + 0.1
    return finding("attention-logit-growth", at, checks, severity, 0.9 if last > high else 0.7)


def _output_logit_drift(view: View, attempt: AttemptView, series: Series) -> Finding | None:
    (steps, level), limits = levels(series), view.thresholds
    settled = int(len(level) * START_SHARE)
    base = median(level[settled : settled + max(len(level) // 10, 3)])
    eighth = max(len(level) // 8, 3)
    middle, last = median(level[len(level) // 2 :][:eighth]), median(level[-eighth:])
    noise = difference_noise(finite(series).values)
    drift, late = last - base, last - middle
    need = max(limits.drift, limits.drift_share * abs(base), limits.drift_noise * noise)
    if abs(drift) < need:
        return None
    still = np.flatnonzero(np.abs(level[settled:] - base) <= LEFT_SHARE * abs(drift))
    checks = [
        *noted(drift_nats=drift, level_before=base, level_now=last),
        at_least("distance from the level after the start", abs(drift), "nats", need),
        at_least("of it in the second half, either way", abs(late / drift), "share", limits.drift_late),
    ]
    at = At(attempt, series, steps[settled + int(still[-1]) if len(still) else settled], steps[-1])
    return finding("output-logit-drift", at, checks, 0.4, 0.8)


def levels(series: Series) -> tuple[Floats, Floats]:
    """Steps and running median of nine of the finite samples."""
    known = finite(series)
    return known.steps.astype(float), running(known.values, 9)


def _on_a_grid(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    values, limits = finite(loss).values, view.thresholds
    grid, mantissa = np.unique(values), np.frexp(values)[0] * 2.0**BFLOAT16_BITS
    if len(values) < GRID_SAMPLES or len(grid) < 3:
        return
    share, apart = len(grid) / len(values), median(np.diff(grid))
    few = share < limits.quantised and apart >= limits.grid * median(np.abs(values))
    coarse = bool(np.all(np.abs(mantissa - np.rint(mantissa)) <= PRINTED_SHARE))
    if few or coarse:
        limit, bits = limits.quantised, (f"<= {BFLOAT16_BITS}", f"> {BFLOAT16_BITS}")
        few_limits = f"< {limit}", f">= {limit}"
        checks = [
            side("distinct values", share, "of the samples", few, few_limits, "distinct_share"),
            *noted(grid_loss=apart, distinct_values=len(grid)),
            side("significant bits of every value", None, "bits", coarse, bits),
        ]
        at = At(attempt, loss, loss.steps[0], None, loss.steps[-1])
        renamed = ("frozen-metric", "it had shown one value only")
        yield finding("quantised-loss", at, checks, 0.1, 0.9, renamed)


INSIDE = "loss-scale-collapse", "attention-logit-growth", "output-logit-drift"
RULE = Rule("numerics", INSIDE, Rule.by_attempt(find))
CLIPPING = Rule("clipping", ("clip-saturation",), Rule.by_attempt(clip_saturation))
QUANTISED = Rule("quantised", ("quantised-loss",), Rule.by_loss(_on_a_grid))

COLLAPSE = "router-collapse"
BUSIEST_TIMES = 3.0  # the mean load
IDLE_LOAD = 0.1  # of the mean load: as good as none
IDLE_EXPERTS_SHARE = 0.25  # of the experts of a layer
MOST_TOKENS_SHARE = 0.5  # of a layer, for one expert: the others share the rest
GROWN_TIMES = 2.0  # the first value, where only the largest load is logged
FEWEST_EXPERTS = 4  # of a layer
_ROUTING_SAMPLES = 32  # the fewest of a log
_AN_EXPERT = re.compile(r"(?i)(.*expert\D*)\d+")  # the last of them: a layer may be numbered before it
_ABOVE_ONE = re.compile(r"\bvio(lation)?\b|\bmaxvio\b")  # what the largest load has above the mean


def layers(attempt: AttemptView) -> Iterator[tuple[Sequence[Series], Floats, Floats]]:
    """Experts, steps and loads over the mean [expert, step] of layers, and of largest loads alone."""
    loads_logged = attempt.by_role(Role.EXPERT_LOAD)
    for family in grouped(loads_logged, lambda s: _AN_EXPERT.sub(r"\1", s.metric, count=1)).values():
        first, steps = family[0], family[0].steps.astype(float)
        if len(family) >= FEWEST_EXPERTS and all(s.has_steps_of(first) for s in family):
            loads = np.array([s.values for s in family])
            total = loads.sum(0)
            ok = np.isfinite(total) & (total > 0)
            yield family, steps[ok], loads[:, ok] * len(family) / total[ok]
        elif len(family) == 1 and not _AN_EXPERT.match(first.metric):
            above = 1.0 if _ABOVE_ONE.search(plain(first.metric)) else 0.0
            known = finite(first)
            yield family, known.steps.astype(float), known.values[None] + above


def _collapsed(view: View, attempt: AttemptView) -> list[Finding]:
    findings = (collapse for layer in layers(attempt) for collapse in _judged(attempt, *layer))
    return sorted(filter(stands, findings), key=lambda f: (-f.severity, f.metric or ""))[:1]


def _judged(
    attempt: AttemptView, experts: Sequence[Series], steps: Floats, loads: Floats
) -> Iterator[Finding]:
    half = len(steps) // 2
    if half < _ROUTING_SAMPLES // 2:
        return
    later = np.median(loads[:, half:], axis=1)  # the median over batches: single batches do not matter
    at = int(np.argmax(later))
    busiest, earlier = float(later[at]), loads[at, :half]
    if len(experts) > 1:
        idle, what = float(np.mean(later < IDLE_LOAD)), "experts below a tenth of the mean load"
        other = at_least(what, idle, "share of them", IDLE_EXPERTS_SHARE, "idle_share")
        if idle < IDLE_EXPERTS_SHARE and (taken := busiest / len(experts)) >= MOST_TOKENS_SHARE:
            other = at_least("tokens of the busiest expert", taken, "share", MOST_TOKENS_SHARE)
    else:
        first = max(median(earlier[: half // 8]), 1.0)
        other = at_least("growth of that since the start", busiest / first, "times", GROWN_TIMES)
    busy = at_least("load of the busiest expert", busiest, "times the mean", BUSIEST_TIMES, "busiest_times")
    calm = np.flatnonzero(earlier < BUSIEST_TIMES)
    place = At(attempt, experts[at], steps[int(calm[-1]) + 1 if len(calm) else 0])
    fair = ("near-perfect", "the loads had been alike")
    yield finding(COLLAPSE, place, [busy, other], 0.3 + 0.1 * busiest / BUSIEST_TIMES, 0.8, fair)


ROUTING = Rule("routing", (COLLAPSE,), Rule.by_attempt(_collapsed))


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
    chance = 1 - (1 - len(rises) / len(norm)) ** limits.lead_most
    luck = at_least_by_chance(len(leads), len(spikes), chance)
    if not leads or luck > limits.lead_chance:
        return
    confidence = 0.5 + 0.5 * (1 - luck) * len(leads) / len(rises)
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
    steps, y = measure.positive(series)
    first, peak = (int(np.searchsorted(steps, series.steps[k])) for k in (event.onset, event.peak))
    before = slice(max(first - LINE_SAMPLES, 0), max(first - 4, 0))
    if (line := measure.fit(steps[before], y[before])) is None:
        return int(series.steps[event.onset])
    calm = np.flatnonzero(y[: peak + 1] - line.at(steps[: peak + 1]) < limits.onset_noise * line.noise)
    return int(steps[min(calm[-1] + 1, peak)]) if len(calm) else int(series.steps[event.onset])


def at_least_by_chance(hits: int, trials: int, p: float) -> float:
    """Probability of at least ``hits`` of ``trials`` when each happens with probability ``p``."""
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(hits, trials + 1))


def _rising_rate(view: View) -> Iterator[Finding]:
    limits, spikes = view.thresholds, live_spikes(view)
    start = limits.settling  # until then the detectors are still adapting
    places, heights, steps = spikes[spikes[:, 0] >= start].T
    places, n = (places - start) / (1 - start), len(places)
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
        below("trend by chance", p, "probability", limits.rate_p, "p_value"),
        at_least(what, factor, "times the other", least, "factor"),
        *noted(of=what),
    ]
    confidence = confidence_of(math.log(max(p, 1e-12)), -math.log(limits.rate_p))
    at = At(None, None, steps[0], steps[int(np.argmax(heights))], steps[-1])
    yield finding("rising-spike-rate", at, checks, 0.5, confidence)


def live_spikes(view: View) -> Floats:
    """Position (share of the live points), height (log units) and step of each spike on the live course."""
    rows: list[tuple[float, float, float]] = []
    base = 0
    for attempt in view.attempts:
        if (loss := attempt.loss) is not None and attempt.live_until is not None:
            spikes = (e for e in view.events(loss) if e.kind in (Kind.BACK, Kind.LONE))
            placed = ((base + e.onset, e.height, int(loss.steps[e.onset])) for e in spikes)
            rows += (row for row in placed if attempt.is_live(row[-1]))
            base += int(np.sum(loss.steps <= attempt.live_until))
    return np.array(sorted(rows), float).reshape(-1, 3) / (max(base, 1), 1, 1)


def growth(values: Floats) -> tuple[float, float]:
    """The probability that chance makes a sequence rise so, and the ratio of its last to its first third."""
    third = max(len(values) // 3, 1)
    first, last = median(values[:third]), median(values[-third:])
    return above_by_chance(measure.rises_by(values)), last / first if first else 1.0


def laplace(places: Floats) -> float:
    """Laplace's trend statistic of events in (0, 1): standard normal if their rate is constant."""
    return float((places.mean() - 0.5) * np.sqrt(12 * len(places)))


def above_by_chance(z: float) -> float:
    """Probability of a standard normal variable above ``z``."""
    return 0.5 * math.erfc(z / math.sqrt(2))


PRECURSORS = Rule("precursors", ("grad-norm-precursor",), Rule.by_attempt(_precursors))
SPIKE_RATE = Rule("spike-rate", ("rising-spike-rate",), _rising_rate)
