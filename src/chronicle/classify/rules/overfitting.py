"""Overfitting: validation turns upward while training goes on.

Sees: validation loss that turns upward while training loss goes on falling.
Rule: the minimum of the validation loss (of running medians) lies before nine tenths of the run; the
median of the last third of what follows it (three points or more) is 1.5 % and five standard errors
above it; the training loss is lower than it was then, by 1.5 % or more. Of three to five evaluations each
is worse than the one before, by 15 % in all.
Blind to: runs without validation. False alarm: a run is stopped too early.
Source: fast.ai; Muennighoff et al. 2305.16264 (epochs).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.measure import MEDIAN_ERROR, positive, running, scale, sure
from chronicle.classify.report import at_least, criterion, found
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Floats, Role, Series

PATTERNS = ("overfitting",)
FEW = 6  # evaluations of which a noise can be told


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from overfitting(view, attempt)


def overfitting(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """The first validation loss that ends above its minimum while the training loss went on falling."""
    loss, limits = attempt.loss, view.thresholds
    for validation in attempt.by_role(Role.VALIDATION_LOSS):
        steps, y = positive(validation)
        if loss is None or validation is loss or len(y) < 3:
            continue
        low, rise, need = turned_up(view, y)
        if rise < need or steps[-1] - steps[low] < limits.overfit_late * (steps[-1] - steps[0]):
            continue
        gain = train_gain(loss, steps[low], steps[-1])
        if gain is None or gain < limits.moved:
            continue
        yield found(
            "overfitting",
            attempt,
            validation,
            (steps[low], steps[-1], None),
            severity=0.3 + rise,
            confidence=0.5 + 0.5 * sure(rise, need),
            evidence={"minimum_step": int(steps[low]), "rise_log": rise, "training_fall_log": gain},
            criteria=[
                criterion("validation over its minimum", rise, "log units", f">= {need:.3g}", True),
                at_least("training loss fell meanwhile", gain, "log units", limits.moved),
            ],
            runner_up=("divergence-no-spike", "the training loss had risen as well"),
        )
        return


def turned_up(view: View, y: Floats) -> tuple[int, float, float]:
    """Of a validation loss: the sample of its minimum, the rise since, and the rise that is needed."""
    least = view.thresholds.moved
    if len(y) < FEW:
        worse = bool(np.all(np.diff(y) > 0))  # too few for a noise: any three are in this order once in six
        return 0, float(y[-1] - y[0]) if worse else 0.0, view.thresholds.overfit_few
    smooth = running(y, 3 if len(y) < 30 else 5)
    low = int(np.argmin(smooth))
    after = y[low + 1 :]
    if len(after) < 3:
        return low, 0.0, least
    late = after[-max(len(after) // 3, 3) :]
    noise = scale(np.diff(y, 2)) / np.sqrt(6)
    error = MEDIAN_ERROR * noise * float(np.sqrt(1 / len(late) + 1 / 3))
    return low, float(np.median(late) - smooth[low]), max(least, view.thresholds.join_t * error)


def train_gain(loss: Series, start: float, end: float) -> float | None:
    """How much the training loss fell between two steps (medians around them), log units."""
    steps, y = positive(loss)
    near = max(0.1 * (end - start), 1.0)
    there = y[np.abs(steps - start) <= near]
    here = y[steps >= end - near]
    return float(np.median(there) - np.median(here)) if len(there) and len(here) else None
