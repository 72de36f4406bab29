"""What the shape families ask of an event, each answer with its criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.report import At, Check, finding, noted
from chronicle.classify.short_logs import RISES
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView
from chronicle.model import Finding, Series

BEFORE = 8  # samples whose median is the level before an event
RECENT = 6  # samples after a peak that have thirds of two: fewer cannot tell whether it still falls


@dataclass(frozen=True, eq=False)
class Shape:
    """An event in its series. Spans in steps, heights in log units; see detect.Event."""

    event: Event
    series: Series
    attempt: AttemptView
    limits: Thresholds

    @cached_property
    def is_open(self) -> bool:
        return self.event.kind is Kind.OPEN

    @cached_property
    def is_jump(self) -> bool:
        """Most of the height came at once."""
        return self.event.kind is Kind.LONE or self.event.abruptness >= self.limits.jump

    @cached_property
    def is_spike(self) -> bool:
        """A jump that peaks soon, or is tall."""
        soon = self.event.peak - self.event.onset <= self.limits.spike_rise
        return self.is_jump and (soon or self.event.height >= self.limits.spike_height)

    @cached_property
    def dips(self) -> bool:
        """Whether it came down from its highest samples by a quarter of the height, as a spike does."""
        e = self.event
        y = self.series.values[e.onset : e.end]
        y = y[np.isfinite(y)]
        height, noise = e.height, e.noise
        if len(y) and float(y.min()) > 0:
            y = np.log(y)
        else:  # a loss that crosses zero is judged in its own unit
            height = self.value(e.peak, e.peak + 1) - self.value(e.onset - BEFORE, e.onset)
            noise *= height / e.height
        least = max(self.limits.dip * height, 4.0 * noise)
        return len(y) > 0 and float(np.max(np.maximum.accumulate(y) - y)) >= least

    @cached_property
    def nearly_back(self) -> bool:
        e, limits = self.event, self.limits
        return e.residual <= max(min(limits.back * e.height, limits.back_cap), limits.back_noise * e.noise)

    @cached_property
    def coming_down(self) -> bool:
        """A spike past its middle height that still falls, or whose peak is too recent to say more."""
        after_samples = len(self.series) - 1 - self.event.peak
        falls = self.event.falling > 0.15 or after_samples < RECENT
        return self.is_spike and self.event.last < 0.5 * self.event.height and falls

    @cached_property
    def grows(self) -> bool:
        """The level has risen since it was clear that the event would take long."""
        return self.event.growth > max(self.limits.grown * self.event.height, 2.0 * self.event.noise)

    @cached_property
    def lost(self) -> bool:
        """Most of the height is left, or the level is twice the trend; of a loss that counts."""
        e = self.event
        left = e.residual >= self.limits.lost * e.height or e.residual >= self.limits.twice
        # a loss that ends at next to nothing of its first value tells more than anybody needs
        return left and not 0.0 <= self.end_share <= self.limits.trifle

    @cached_property
    def end_share(self) -> float:
        """The last samples over the first ones (NaN where those are not positive)."""
        first, n = self.value(0, 2), len(self.series)
        return self.value(n - BEFORE, n) / first if first > 0 else math.nan

    @cached_property
    def is_step(self) -> bool:
        """A jump that stays: half of its height (the peak of a step holds two noise scales) is left."""
        e = self.event
        left = e.residual >= 0.5 * (e.height - 2.0 * e.noise) and e.height <= self.limits.twice
        return left and not self.is_dead

    @cached_property
    def is_dead(self) -> bool:
        """Bit-equal values to the end: a filter shows them where NaN were; no level is so calm."""
        rest = self.series.values[(self.event.onset + len(self.series)) // 2 :]
        return len(rest) >= BEFORE and bool((rest == rest[0]).all())

    @cached_property
    def recovery_steps(self) -> float:
        """Steps from the onset until the first sample that was back at the trend (NaN while open)."""
        e = self.event
        return math.nan if e.end is None else self.step(e.end) - self.step(e.onset)

    @cached_property
    def is_fast(self) -> bool:
        e = self.event
        few = e.end is not None and e.end - e.onset <= self.limits.fast_samples
        counts_steps = self.attempt.attempt.axis == "step"  # 100 epochs, or 100 tokens, say nothing
        return few or (counts_steps and self.recovery_steps <= self.limits.fast_steps)

    def step(self, index: int) -> int:
        """The step of a sample, clipped to the series."""
        return int(self.series.steps[min(max(index, 0), len(self.series) - 1)])

    @cached_property
    def confidence(self) -> float:
        """How sure it is that something happened: evidence and height, each against its own noise."""
        e = self.event
        return 0.5 + 0.5 * (1.0 - math.exp(-max(e.score, 0.0) / 20.0)) * min(1.0, e.height / (4.0 * e.noise))

    def value(self, first: int, last: int) -> float:
        """Median of the finite values from one sample to another, in the unit of the series."""
        part = self.series.values[max(first, 0) : max(last, 1)]
        part = part[np.isfinite(part)]
        return float(np.median(part)) if len(part) else math.nan

    def checks(self) -> list[Check]:
        e, limits = self.event, self.limits
        share = e.residual / e.height if e.height > 0 else 0.0
        back = f"<= {limits.back:g}, at most {limits.back_cap:g} log units; "
        back += f"or {limits.back_noise:g} noise scales"
        is_back = self.nearly_back or not self.is_open
        enough = f">= {limits.cusum:g} or two samples beyond the tail"
        return [
            Check(
                "height over the trend", e.height, "log units", f">= {limits.rise}", e.height >= limits.rise
            ),
            Check("evidence", e.score, "noise scales", enough),
            Check("gained in one jump", e.abruptness, "of the height", f">= {limits.jump}", self.is_jump),
            Check("left of the height", share, "of the height", back, is_back),
        ]

    def at(self, peak: int | None) -> At:
        """From the onset to the end, with a sample as the peak."""
        onset, end = self.step(self.event.onset), self.event.end
        peak_step = None if peak is None else self.step(peak)
        return At(self.attempt, self.series, onset, peak_step, None if end is None else self.step(end))

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
            before_loss=self.value(e.onset - BEFORE, e.onset),
            peak_loss=self.value(e.peak, e.peak + 1),
        )
        kind = "rise" if e.kind in RISES else e.kind.value
        return finding(
            pattern,
            self.at(e.peak),
            [*measured, *self.checks(), *checks],
            severity=severity,
            confidence=self.confidence,
            runner_up=runner_up,
            seen_at=f"{kind}@{self.step(e.opened)}",  # whatever it turns out to be: rise@600
        )
