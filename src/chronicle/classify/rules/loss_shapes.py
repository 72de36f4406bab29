"""The name of an event of the loss, by its shape as the kernel measured it.

spike-fast-recovery, spike-slow-recovery, spike-no-full-recovery
    Sees: rises of the loss that are over, or come down when the log ends; like all rises here, if they last,
    also those that evaluations alone show (`generalisation.evaluated_rises`).
    Rule: a rise is over when the loss is back at the trend it was on, extrapolated, within 15 % of the height
    (3 % of the loss at most), or at its old level, as held-out losses are (`back_at_level`); within 150 steps
    or 10 samples that is fast. An open rise is slow if it still comes down, else not fully recovered.
    Blind to: spikes of one sample below 8 noise scales (20 where every step is logged).
    False alarm: a batch that was only hard is examined.
    Source: PaLM (arXiv:2204.02311, 5.1); BLOOM and IDEFICS logs.

divergence-after-spike, divergence-no-spike
    Sees: rises that were not over when the log ended, or when its values turned NaN.
    Rule: 60 % of the height is left, or the loss is at twice its trend, or it still grows; it is "after a
    spike" if it began with a jump that came down by a quarter, or if a spike was not over when it began.
    Blind to: rises of less than 2.5 %, and a turn that only a handful of samples show.
    False alarm: a healthy run is stopped, the most expensive mistake of all.
    Source: OPT 2.5; BigScience tr8 (104B) logs.

level-shift
    Sees: jumps of the loss, up to twice the trend, that stay to the end of the log.
    Rule: most of the height is gained in one jump, half of it or more is left, and it does not grow.
    Blind to: steps down (learning-rate decay and epochs explain theirs), and steps in the last samples.
    False alarm: a search for a change of data that did not happen.
    Source: MLE "repeat data" curves, where the step up is the end of a replay; Marin data shifts.

nan-inf
    Sees: NaN or Inf in the loss, however short the log, a reward or an agent's evaluations, or zeros instead.
    Rule: any value that is not finite, in a row in which another metric is; or eight exact zeros or more in a
    loss that is otherwise far from zero, or whose gradient norm is lost meanwhile (`_hidden_nan`). It is only
    worrying if it passes, for NaN weights stay NaN.
    Blind to: a filter that repeats the last mean instead (see frozen-metric).
    False alarm: a row that was left blank on purpose.
    Source: Hugging Face Trainer `logging_nan_inf_filter`; Megatron-LM's check before the all-reduce.

frozen-metric
    Sees: a loss that repeats one value.
    Rule: 32 values in a row are equal in single precision, eight times as many as ever before, or all of a
    log of 8 values and more; unless the loss changes by less than it prints (`Shape.at_rest`), can go no
    further (`_is_at_bound`), or is held out while no training loss moves (`Shape.of_idle_weights`).
    Blind to: metrics that freeze with noise on top.
    False alarm: none known beyond constants that are logged on purpose.
    Source: MLPerf logs with a dead metric; Hugging Face's filter repeats the last mean when the loss is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from chronicle.classify import measure
from chronicle.classify.course import LEVEL_SAMPLES, SMOOTHED_SAMPLES
from chronicle.classify.kernel import RISING_KINDS, Event, Kind
from chronicle.classify.measure import finite, last_decimal, median, medians, running, trend
from chronicle.classify.patterns import DIVERGENCES, Trait, having
from chronicle.classify.report import At, Check, Rule, calibrated, finding, noted, renamed, side, stands
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, is_back_held_out, kept
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.names import is_error
from chronicle.model import Attempt, Finding, Mask, Role, Series

FAST, SLOW, NOT_FULLY = "spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery"
AFTER, NO_SPIKE, SHIFT = "divergence-after-spike", "divergence-no-spike", "level-shift"
NAN, FROZEN = "nan-inf", "frozen-metric"
SPIKES = having(Trait.SPIKE)
BUMPS = SPIKES | {SHIFT}
RISES = BUMPS | DIVERGENCES  # the names of a rise by its shape alone
MANY_ZEROS = 8  # samples of exactly 0.0 in a loss that stand for lost values
FEW_ZEROS = 2  # such samples are enough at the end, if the gradient norm of each is NaN or Inf
PACE_SHARE = 0.3  # of the rest must fall in the last third of the time since the peak
DIGITS_OF_RISE = 2.5  # of the last decimal that is printed: less is rounding
MOST_EPOCHS = 10_000  # of a training: where more rows are logged, a row is a step
FEWEST_LEVELS = 4  # of eight samples since the onset of a rise, by which it shows whether it goes on
RECENT_SAMPLES = 6  # after a peak: fewer cannot show whether the loss still falls


@dataclass(frozen=True, eq=False)
class Shape:
    """An event in its series, which lasts ``until`` the next open one begins. Spans are in steps, heights in
    log units; see `kernel.Event`."""

    event: Event
    series: Series
    attempt: AttemptView
    limits: Thresholds
    until: int

    @property
    def is_open(self) -> bool:
        return self.event.kind is Kind.OPEN

    @cached_property
    def before(self) -> float:
        """The level before the event, in the unit of the series: the lower one of the medians of the last 8
        and 3 samples, since a loss may fall steeply; the lowest sample, if it fell during the event."""
        onset, peak = self.event.onset, self.event.peak
        level = float(np.fmin(self.value(onset - LEVEL_SAMPLES, onset), self.value(onset - 3, onset)))
        stop = onset if self.value(peak, peak + 1) > level else peak + 1
        return float(np.fmin.reduce(self.series.values[onset:stop], initial=level))

    @cached_property
    def rises(self) -> bool:
        """Whether the peak is above the level before it, by a quarter of a fall since: no mere forecast."""
        e, peak = self.event, self.value(self.event.peak, self.event.peak + 1)
        near = self.series.values[max(e.onset - LEVEL_SAMPLES, 0) : e.peak + 1]
        grain, fell = last_decimal(finite_of(near)), self.value(e.onset - 3, e.onset) - self.before
        least = self.before + max(DIGITS_OF_RISE * grain, self.limits.dip * fell)
        return e.kind not in RISING_KINDS or e.into_nan or not peak <= least

    @cached_property
    def is_jump(self) -> bool:
        return self.event.kind is Kind.LONE or self.event.abruptness >= self.limits.jump

    @cached_property
    def is_spike(self) -> bool:
        soon = self.event.peak - self.event.onset <= self.limits.spike_rise
        return self.is_jump and (soon or self.event.height >= self.limits.spike_height)

    @cached_property
    def dips(self) -> bool:
        """Whether it came down from its highest samples by a quarter of the height, as a spike does."""
        e, height, noise = self.event, self.event.height, self.event.noise
        y = finite_of(self.series.values[e.onset : e.end])
        if y.min(initial=np.inf) > 0:
            y = np.log(y)
        else:  # a loss that crosses zero is measured in its own unit
            height = self.value(e.peak, e.peak + 1) - self.value(e.onset - LEVEL_SAMPLES, e.onset)
            noise *= height / e.height
        least = max(self.limits.dip * height, 4.0 * noise)
        return len(y) > 0 and float(np.max(np.maximum.accumulate(y) - y)) >= least

    @cached_property
    def most_left(self) -> float:
        """How far above its level a loss may be that is back, log units."""
        of_height = min(self.limits.back * self.event.height, self.limits.back_cap)
        return max(of_height, self.limits.back_noise * self.event.noise)

    @cached_property
    def back_at_level(self) -> int | None:
        """The sample from which on the loss is at its level before it, though not at its trend, if it stays
        there until the next rise, and all held-out losses were at theirs by its lowest 16 samples, or are at
        the end. Where they go on after the last sample, they alone tell."""
        e, n, values, most = self.event, self.until, self.series.values, self.most_left
        start, peak, highest = self.step(e.onset), self.step(e.peak), self.before * math.exp(most)
        held_out = partial(is_back_held_out, self.attempt, start, min(most, self.limits.back_cap))
        if not held_out(self.step(len(values)), level=highest):
            levels = medians(values[e.peak : n], min(2 * LEVEL_SAMPLES, n - e.peak))
            lowest = self.step(e.peak + int(np.argmin(levels)) + 2 * LEVEL_SAMPLES)
            back = held_out(peak, until=lowest) or (n == len(values) and held_out(peak))
            if not (back and self.value(n - LEVEL_SAMPLES, n) <= highest):
                return None
        over = np.flatnonzero(running(values[e.onset : n], SMOOTHED_SAMPLES) > highest)
        return min(e.onset + int(over.max(initial=0)) + 1, n - 1)

    @cached_property
    def climb(self) -> float:
        """How far the end lies above the lowest level of eight samples since the onset, log units; inf where
        too few samples tell."""
        since = self.series.values[self.event.onset :]
        known = since[np.isfinite(since) & (since > 0)]
        blocks = np.array_split(known[::-1], len(known) // LEVEL_SAMPLES or 1)
        levels = [median(block) for block in blocks]
        return math.log(levels[0] / min(levels)) if len(blocks) >= FEWEST_LEVELS else math.inf

    @cached_property
    def grows(self) -> bool:
        """Whether the loss goes on climbing, and away from the trend."""
        e, least = self.event, max(self.limits.grown * self.event.height, 2.0 * self.event.noise)
        return e.growth > least and self.climb >= e.noise

    @cached_property
    def lost(self) -> bool:
        """Whether most of the height is left, or the level is at twice the trend."""
        e = self.event
        left = e.residual >= self.limits.lost * e.height or e.residual >= self.limits.twice
        # unless the loss ends at so little of its first value that nearly all was learned
        return left and not 0.0 <= self.end_share <= self.limits.trifle

    @cached_property
    def end_share(self) -> float:
        """The last samples over the first ones (NaN where those are not positive)."""
        first, n = self.value(0, 2), len(self.series)
        return self.value(n - LEVEL_SAMPLES, n) / first if first > 0 else math.nan

    @cached_property
    def at_rest(self) -> bool:
        """Whether every other loss stands still too and most was learned, as in a converged optimizer, or the
        loss goes down a staircase from here on, or came to its lowest value by steps of its last printed
        decimal, or to any and left it so."""
        losses = self.attempt.by_role(Role.LOSS, Role.PART_LOSS, Role.VALIDATION_LOSS)
        since = [s.values[s.steps >= self.step(self.event.onset)] for s in losses if s is not self.series]
        still = bool(since) and all(len(v) > 1 and bool((v == v[0]).all()) for v in since)
        values, onset = self.series.values, self.event.onset
        near, later = values[max(onset - LEVEL_SAMPLES, 0) : onset + 1], values[onset:]
        moved = later[later != later[0]]
        n_stairs = np.count_nonzero(moved[1:] != moved[:-1])
        descends = bool((later[1:] <= later[:-1]).all()) and 0 < 2 * n_stairs < len(moved)
        if descends or (still and 0.0 <= self.end_share <= self.limits.first_level):
            return True
        moves = near if values[-1] == np.fmin.reduce(values) else np.r_[near[-2:], moved[:1]]  # in and out
        enough = len(near) > LEVEL_SAMPLES and len(moves) > 2
        return enough and bool((np.abs(np.diff(moves)) < 1.5 * last_decimal(np.r_[near, moved[:1]])).all())

    @cached_property
    def of_idle_weights(self) -> bool:
        """Whether a held-out loss stands still and no training loss moves meanwhile, as ranks tell."""
        if self.series.role is not Role.VALIDATION_LOSS:
            return False
        trained = map(finite, self.attempt.by_role(Role.LOSS, Role.PART_LOSS))
        since = [s.values[s.steps >= self.step(self.event.onset)] for s in trained]
        known = [values for values in since if len(values) >= measure.FEWEST_POINTS]
        return bool(known) and all(abs(trend(values)) < measure.TREND_ERRORS for values in known)

    @cached_property
    def is_step(self) -> bool:
        """Whether a jump stays: half of its height is left, less the two noise scales that its peak holds."""
        e, height = self.event, self.event.height - 2.0 * self.event.noise
        settled = self.climb < e.noise and e.abruptness * e.height >= self.limits.jump * height
        if not self.is_jump and not settled:
            return False
        left = e.residual >= 0.5 * height and e.height <= self.limits.twice
        rest = self.series.values[(e.onset + len(self.series)) // 2 :]
        # no level is bit-equal to the end: a filter repeats a value in the place of NaN
        return left and not (len(rest) >= LEVEL_SAMPLES and bool((rest == rest[0]).all()))

    def step(self, index: int) -> int:
        """The step of a sample, clipped to the series."""
        return int(self.series.steps[min(max(index, 0), len(self.series) - 1)])

    def value(self, first: int, last: int) -> float:
        """Median of the finite values from one sample to another, in the unit of the series."""
        return median(finite_of(self.series.values[max(first, 0) : max(last, 1)]))

    def checks(self) -> list[Check]:
        e, limits = self.event, self.limits
        share, back, cap = e.residual / e.height if e.height > 0 else 0.0, limits.back, limits.back_cap
        within = f"<= {back:g}, at most {cap:g} log units; or {limits.back_noise:g} noise scales"
        beyond = f"> {back:g} or {cap:g} log units; and {limits.back_noise:g} noise scales"
        tall, jump = f">= {limits.rise}", (f">= {limits.jump}", f"< {limits.jump}")
        enough = f">= {limits.cusum:g} or two samples beyond the tail"
        is_back = e.residual <= self.most_left or not self.is_open
        return [
            Check("height over the trend", e.height, "log units", tall, e.height >= limits.rise),
            Check("evidence", e.score, "noise scales", enough),
            side("gained in one jump", e.abruptness, "of the height", self.is_jump, jump),
            side("left of the height", share, "of the height", is_back, (within, beyond)),
        ]

    def at(self, peak: int | None) -> At:
        peak_step, end = (None if i is None else self.step(i) for i in (peak, self.event.end))
        return At(self.attempt, self.series, self.step(self.event.onset), peak_step, end)

    def finding(
        self, pattern: str, severity: float, runner_up: tuple[str, str], checks: list[Check]
    ) -> Finding:
        e = self.event
        measured = noted(
            height_log=e.height,
            residual_log=e.residual,
            noise_log=e.noise,
            score_noise_scales=e.score,
            scale_samples=e.level_samples,
            rise_samples=e.peak - e.onset,
            before_loss=self.before,
            peak_loss=self.value(e.peak, e.peak + 1),
        )
        checks = [*measured, *self.checks(), *checks]
        # the confidence that something happened: evidence and height, each against the noise
        sure = 0.5 + 0.5 * (1.0 - math.exp(-max(e.score, 0.0) / 20.0)) * min(1.0, e.height / (4.0 * e.noise))
        seen_at = f"rise@{self.step(e.opened)}"  # whatever the rise turns out to be
        return finding(pattern, self.at(e.peak), checks, severity, sure, runner_up, seen_at)


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    for series in filter(None, (attempt.loss, *attempt.dataset_losses)):
        yield from typed_findings(view, series)
    # a series that is not judged may rise, but not end in NaN, unless steps are skipped to find a loss scale
    searched = any((s.values[1:] < s.values[:-1]).all() for s in attempt.by_role(Role.LOSS_SCALE))
    unjudged = (Role.OBJECTIVE, Role.LOSS, Role.PART_LOSS) if attempt.loss is None and not searched else ()
    # an agent's evaluations are of episodes; the score of a model may be that of no sample (0 / 0)
    evaluated = () if attempt.first(Role.OBJECTIVE) is None else (Role.VALIDATION_SCORE,)
    lost = attempt.loss is not None and any(f.end_step is None for f in typed_findings(view, attempt.loss))
    held_out = () if lost else (Role.VALIDATION_LOSS,)
    for series in attempt.by_role(*unjudged, *evaluated, *held_out):
        known = np.isfinite(series.values)  # a metric that was never computed is NaN from its first value on
        ends, is_named = not known[-1], known.any() or series.role in unjudged[1:]
        passes = series.role is Role.VALIDATION_LOSS and known.mean() > 2 / 3  # else measured in some rows
        if series is not attempt.loss and is_named and (ends or passes):
            lost_values = (f for f in typed_findings(view, series) if f.pattern in (NAN, FROZEN))
            yield from (f for f in lost_values if ends or f.start_step > series.steps[0])


@kept
def typed_findings(view: View, series: Series) -> tuple[Finding, ...]:
    """Events of a series as findings of loss shapes, in order of onset."""
    attempt, judged = view.attempt_of[series], series
    zeros = _hidden_nan(attempt, series, view.thresholds)
    if zeros is not None:
        judged = replace(series, values=np.where(series.values == 0.0, np.nan, series.values))
    events = [e for e in view.events(judged) if e.kind is not Kind.NONFINITE or series.values[e.onset] != 0.0]
    return tuple(filter(None, (zeros, *by_shape(events, judged, attempt, view.thresholds))))


def provisional(
    events: Sequence[Event], series: Series, index: int, name: str, thresholds: Thresholds
) -> list[Finding]:
    """The findings of a running training, as if its log ended now, by the shape of its events alone."""
    attempt = AttemptView(index, name, Attempt(name, (), {}), {series.metric: series}, None)
    return [calibrated(f) for f in by_shape(events, series, attempt, thresholds) if stands(f)]


def by_shape(
    events: Sequence[Event], series: Series, attempt: AttemptView, limits: Thresholds
) -> Iterator[Finding]:
    """The findings of the events of one series, each by the first family that it fits; falls need context."""
    families = (_nonfinite, _frozen, _spike, _divergence, _level_shift)
    begun = [e.onset for e in events if e.kind is Kind.OPEN]
    until = (next((i for i in begun if i > e.peak), len(series)) for e in events)
    shapes = (Shape(e, series, attempt, limits, end) for e, end in zip(events, until, strict=True))
    real = (s for s in shapes if s.rises)
    named = ((s, next(filter(None, (family(s) for family in families)), None)) for s in real)
    yield from climbing_again([(s, f) for s, f in named if f is not None])


def _spike(shape: Shape) -> Finding | None:
    if shape.event.kind in (Kind.BACK, Kind.LONE):
        return _recovered(shape)
    if not shape.is_open or shape.event.into_nan:
        return None
    e, last = shape.event, len(shape.series) - 1
    if (back := shape.back_at_level) is not None:
        return _recovered(replace(shape, event=replace(e, kind=Kind.BACK, end=back, residual=0.0)))
    since = shape.step(last) - shape.step(e.onset)
    # a spike below half of its height that still falls, so fast in the last third of the time since its
    # peak that it would be back after as long again; or whose peak is too recent to measure that
    falls = e.falling * e.height > PACE_SHARE * e.residual
    coming_down = e.last < 0.5 * e.height and (falls or last - e.peak < RECENT_SAMPLES)
    if e.residual <= shape.most_left or (shape.is_spike and coming_down):  # the recovery is slow so far
        pace = f"> {PACE_SHARE:g} of what is left", f"<= {PACE_SHARE:g} of what is left"
        check = side("still coming down", e.falling, "of the height", falls, pace)
        stays = (NOT_FULLY, "the level stopped falling before it reached the trend")
        return shape.finding(SLOW, 0.35 + 0.1 * e.height, stays, [check, *noted(since_steps=since)])
    if shape.lost or shape.grows or shape.is_step:
        return None
    limit = f"< {shape.limits.lost} of the height, not growing"
    checks = [Check("left at the end", e.residual, "log units", limit), *noted(end_share=shape.end_share)]
    return shape.finding(NOT_FULLY, 0.5 + e.residual, (SLOW, "it went on falling to the trend"), checks)


def _recovered(shape: Shape) -> Finding:
    e, most, tall = shape.event, shape.limits.fast_steps, 0.1 * shape.event.height
    assert e.end is not None
    took, samples = shape.step(e.end) - shape.step(e.onset), shape.limits.fast_samples
    # a number of epochs or of tokens cannot be compared with a number of steps
    axis = shape.attempt.attempt.axis
    in_steps = axis == "step" or (axis == "row" and len(shape.series) > MOST_EPOCHS)
    fast = e.end - e.onset <= samples or (in_steps and took <= most)
    limits = f"<= {most:g}, or {samples:g} samples", f"> {most:g}, and {samples:g} samples"
    check = side("recovery", took, "steps", fast, limits, "recovery_steps")
    if fast:
        return shape.finding(FAST, 0.1 + tall, (SLOW, f"it had taken more than {most:g} steps"), [check])
    return shape.finding(SLOW, 0.3 + tall, (FAST, f"it were back within {most:g} steps"), [check])


def _divergence(shape: Shape) -> Finding | None:
    e, limits, most = shape.event, shape.limits, shape.limits.spike_rise
    if not shape.is_open or not (e.into_nan or shape.grows or (shape.lost and not shape.is_step)):
        return None
    grown, lost = f"{limits.grown} of the height", f"{limits.lost} of the height"
    growth = f"> {grown}", f"<= {grown}"
    spike = f"<= {most:g}, as of a spike", f"> {most:g}, as of a ramp"
    checks = [
        side("grown since it left the trend", e.growth, "log units", shape.grows, growth),
        side("left at the end", e.residual, "log units", shape.lost, (f">= {lost}", f"< {lost}")),
        side("rise", e.peak - e.onset, "samples", e.peak - e.onset <= most, spike),
        side("ends in NaN or Inf", float(e.into_nan), "", e.into_nan, ("yes", "no")),
        *noted(end_share=shape.end_share),
    ]
    ramp, jump = "the rise had been a ramp", "it had begun with a jump and come down from its peak"
    after = shape.is_spike and shape.dips
    pattern, runner_up = (AFTER, (NO_SPIKE, ramp)) if after else (NO_SPIKE, (AFTER, jump))
    return shape.finding(pattern, 0.8 + 0.2 * min(e.residual, 1.0), runner_up, checks)


def climbing_again(named: Sequence[tuple[Shape, Finding]]) -> Iterator[Finding]:
    """The findings of a series; a spike still open as a divergence begins is called its beginning."""
    climbs = [f for _, f in named if f.pattern == NO_SPIKE]
    for shape, f in named:
        climb = next((c for c in climbs if c.start_step > f.start_step), None)
        if climb is not None and f.pattern in (NOT_FULLY, SHIFT) and shape.is_spike and shape.dips:
            after, severity = climb.start_step - f.start_step, max(f.severity, climb.severity)
            check = Check("climbs again after", after, "steps", "before it was back", key="climb_after_steps")
            f = renamed(f, AFTER, [check], why="the loss had come back before it climbed again")
            f = replace(f, severity=severity)
        yield f


def _level_shift(shape: Shape) -> Finding | None:
    left = shape.event.residual
    check = Check("stays up", left, "log units", "half of the height, less two noise scales")
    peaks = (NOT_FULLY, "its peak stood out above the new level")
    # every other open rise was named by an earlier family
    return shape.finding(SHIFT, 0.3 + left, peaks, [check]) if shape.is_open else None


def _nonfinite(shape: Shape) -> Finding | None:
    e = shape.event
    if e.kind is not Kind.NONFINITE:
        return None
    since = shape.series.values[e.onset :]
    part = since if e.end is None else since[: e.end + 1 - e.onset]
    n_nan, n_inf = np.isnan(part).sum(), np.isinf(part).sum()
    if e.onset == 0 and e.end is not None and n_nan <= max(1, len(since) // 20) and not n_inf:
        return None
    lost = noted(nan_samples=n_nan, inf_samples=n_inf, absent_share=np.mean(~np.isfinite(since)))
    checks = [*lost, Check("values that are not finite", e.height, "samples", ">= 1")]
    same = (FROZEN, "the values were finite and the same")
    return finding(NAN, shape.at(e.onset), checks, 0.95 if e.end is None else 0.75, 0.99, same)


def _hidden_nan(attempt: AttemptView, series: Series, limits: Thresholds) -> Finding | None:
    """Exact zeros that stand for lost values; not those of a part of a loss whose total goes on meanwhile."""
    zero = series.values == 0.0
    if _goes_on_meanwhile(attempt.loss, series, zero):
        return None
    rest, count = series.values[~zero & np.isfinite(series.values)], int(zero.sum())
    if count < FEW_ZEROS or len(series) < 2 * MANY_ZEROS or not len(rest) or not (rest > 0).all():
        return None
    first, last = np.flatnonzero(zero)[[0, -1]].tolist()
    at_end, norm = bool(zero[first:].all()), attempt.grad_norm
    late = norm.values[norm.steps >= series.steps[first]] if norm and at_end else np.zeros(0)
    lost = ~np.isfinite(late)
    need = FEW_ZEROS if lost.all() and len(late) >= FEW_ZEROS else MANY_ZEROS
    dead = float(np.mean(lost | (late == 0.0))) if len(late) else 0.0
    # a mean of a few errors is zero now and then: zero is one step below its lowest value
    lowest, steps = float(rest.min()) / median(rest[:2]), np.diff(np.sort(rest)[: len(rest) // 2 + 1])
    clear = lowest > limits.trifle and rest.min() > 2 * steps.max(initial=0.0)
    if count < need or (dead < 0.5 and not clear) or (not at_end and _is_scattered(zero)):
        return None
    norms, apart = (">= 0.5", "< 0.5, or not logged"), (f"> {limits.trifle:g}", f"<= {limits.trifle:g}")
    checks = [
        Check("exact zeros", count, "samples", f">= {need}", key="zero_samples"),
        side("gradient norm NaN, Inf or zero meanwhile", dead, "share", dead >= 0.5, norms),
        side("lowest value besides", lowest, "of the first value", clear, apart),
        *noted(absent_share=count / (len(series) - first)),
    ]
    end = None if at_end or last + 1 == len(series) else series.steps[last + 1]
    at = At(attempt, series, series.steps[first], series.steps[first], end)
    other = (FROZEN, "the loss were zero now and then")
    return finding(NAN, at, checks, 0.95 if at_end else 0.75, 0.9, other)


def _goes_on_meanwhile(whole: Series | None, part: Series, zero: Mask) -> bool:
    """Whether the whole loss is neither zero nor lost where a part of it is zero."""
    if whole is None or whole is part:
        return False
    meanwhile = whole.values[np.isin(whole.steps, part.steps[zero])]
    return len(meanwhile) > 0 and bool((np.isfinite(meanwhile) & (meanwhile != 0.0)).all())


def _is_scattered(zero: Mask) -> bool:
    """Whether a share of all samples is zero, one by one as by chance and in each quarter as often: batches
    in which there is nothing to lose. As many NaN would have left no weights for the values between them."""
    share, *quarters = (float(part.mean()) for part in (zero, *np.array_split(zero, 4)))
    alone = np.count_nonzero(zero[1:] & ~zero[:-1]) >= 0.5 * share * (1 - share) * len(zero)
    return share > 0.05 and bool(alone) and min(quarters) >= 0.5 * max(quarters)


def _frozen(shape: Shape) -> Finding | None:
    e = shape.event
    if e.kind is not Kind.FROZEN or shape.at_rest or shape.of_idle_weights or _is_at_bound(shape):
        return None
    limit = ">= 32 and 8 times the longest before; or all of 8 and more"
    same = noted(equal_samples=int(e.height), value_loss=shape.value(e.onset, e.onset + 1))
    checks = [Check("equal values in a row", e.height, "samples", limit), *same]
    coarse = ("quantised-loss", "the value changed now and then by one step of a coarse grid")
    return finding(FROZEN, shape.at(None), checks, 0.7, 0.95, coarse)


def _is_at_bound(shape: Shape) -> bool:
    """Whether a series can go no further: an error rate at 0 or 1, a part that is switched off, which is
    always zero, or the lowest value with so few decimals (0.11; 0, once learned) that no move shows."""
    values, value = shape.series.values, shape.value(shape.event.onset, shape.event.onset + 1)
    if not value and not values.any():
        return len(shape.attempt.by_role(shape.series.role)) > 1
    known = finite_of(values)
    before = 0.0 if value else known[known > 0].min(initial=np.inf)
    is_coarse = 0.5 * last_decimal(known) >= shape.limits.moved * value
    if 0 <= value == known.min() < known.max() and is_coarse and before <= shape.limits.trifle * known[0]:
        return True
    return value in (0.0, 1.0) and is_error(shape.series.metric)


RULE = Rule("loss-shapes", (*sorted(RISES), NAN, FROZEN), Rule.by_attempt(find))
