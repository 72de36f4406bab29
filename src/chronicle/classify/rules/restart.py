"""Warm restarts: a learning rate that jumps back up lifts the loss, and takes it down again.

Sees: rises of the loss at a planned restart of the schedule (SGDR, cyclic rates, WSD from a decayed state).
Rule: the learning rate had come down, and rises by 1.3 or more within 8 samples of the onset; the rise of
the loss stays under 0.25 log units and does not grow. Such a rise is no finding: it was planned.
Blind to: restarts whose learning rate is not logged. False alarm: a spike that a restart brought about on
its own account is passed over while it is small. Source: Loshchilov and Hutter 2017 (1608.03983, figure 2).
"""

from __future__ import annotations

import numpy as np

from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import View, index_at
from chronicle.model import Finding, Series

EXPLAINED = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery", "level-shift")


def explains(view: View, finding: Finding) -> bool:
    """Whether a rise of the loss is what a restart of the schedule does."""
    attempt = next(iter(view.named(finding.attempt)), None)
    loss = attempt.series.get(finding.metric or "") if attempt is not None else None
    if attempt is None or loss is None or finding.pattern not in EXPLAINED:
        return False
    rate, limits = attempt.learning_rate, view.thresholds
    small = float(finding.evidence.get("height_log", np.inf)) < limits.spike_height
    return small and rate is not None and restarts(loss, rate, finding.start_step, limits)


def restarts(loss: Series, rate: Series, onset: int, limits: Thresholds) -> bool:
    """Whether the learning rate, which had come down, rises by as much around a step of the loss."""
    i, around, factor = index_at(loss, onset), int(limits.same_time), limits.lr_falls
    first, last = loss.steps[max(i - around, 0)], loss.steps[min(i + around, len(loss) - 1)]
    ok = np.isfinite(rate.values)
    steps, values = rate.steps[ok], rate.values[ok]
    before, near = values[steps < first], values[(steps >= first) & (steps <= last)]
    if not len(before) or not len(near):
        return False
    low = min(float(before[-1]), float(near.min()))
    return bool(before.max() >= factor * low and near.max() >= factor * low and near.max() > before[-1])
