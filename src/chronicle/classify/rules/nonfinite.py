"""NaN or Inf in the loss, also where a framework hides it behind zeros.

Sees: non-finite values of the loss; exact zeros at its end while the gradient norm is not finite.
Rule: any NaN or Inf that the loss has alone (a row in which every metric is NaN was never written, unless
more of them end the log than ever came before); or eight zeros and more at the end, after a loss that was
never near zero, with a gradient norm that is NaN, Inf or exactly zero.
Blind to: a filter that repeats the last mean instead (see frozen-metric). False alarm: a row left blank on
purpose.
Source: Hugging Face Trainer `logging_nan_inf_filter`; Megatron-LM's check before the all-reduce.
"""

from __future__ import annotations

import numpy as np

from chronicle.classify.detect import Kind
from chronicle.classify.report import criterion, found
from chronicle.classify.rules.shape import Shape
from chronicle.classify.view import AttemptView
from chronicle.model import Finding, Series

NAN = "nan-inf"
PATTERNS = (NAN,)
ZEROS = 8  # samples of exactly 0.0 at the end


def claim(shape: Shape) -> Finding | None:
    """The finding, if this event is a stretch of NaN or Inf."""
    e = shape.event
    if e.kind is not Kind.NONFINITE:
        return None
    last = e.end if e.end is not None else len(shape.series) - 1
    part = shape.series.values[e.onset : last + 1]
    return found(
        NAN,
        shape.attempt,
        shape.series,
        (shape.step(e.onset), shape.step(e.onset), None if e.end is None else shape.step(last)),
        severity=0.95 if e.end is None else 0.75,
        confidence=0.99,
        evidence={"nan_samples": int(np.isnan(part).sum()), "inf_samples": int(np.isinf(part).sum())},
        criteria=[criterion("values that are not finite", e.height, "samples", ">= 1", True)],
        runner_up=("frozen-metric", "the values were finite and the same"),
    )


def hidden(attempt: AttemptView, series: Series) -> Finding | None:
    """Zeros at the end of a loss that stand for filtered NaN."""
    values = series.values
    if len(values) < 2 * ZEROS or values[-1] != 0.0:
        return None
    start = int(np.flatnonzero(values != 0.0)[-1]) + 1 if (values != 0.0).any() else len(values)
    norm = attempt.grad_norm
    if len(values) - start < ZEROS or norm is None or not (values[:start] > 0).all():
        return None
    late = norm.values[norm.steps >= series.steps[start]]
    dead = float(np.mean(~np.isfinite(late) | (late == 0.0))) if len(late) else 0.0
    if dead < 0.5:
        return None
    return found(
        NAN,
        attempt,
        series,
        (int(series.steps[start]), int(series.steps[start]), None),
        severity=0.95,
        confidence=0.9,
        evidence={"zero_samples": len(values) - start, "dead_grad_norm_share": dead},
        criteria=[
            criterion("exact zeros at the end", len(values) - start, "samples", f">= {ZEROS}", True),
            criterion("gradient norm NaN, Inf or zero meanwhile", dead, "share", ">= 0.5", True),
        ],
        runner_up=("frozen-metric", "the gradient norm went on as before"),
    )
