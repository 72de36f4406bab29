"""Quantised loss: logged in a number format so coarse that the values stand on a grid.

Sees: losses of few distinct values, all multiples of one power of two (bf16) or of ten (rounded text).
Rule: at least 64 finite values, distinct ones fewer than 5 % of them, and the smallest step at least as
large as a tenth of the noise (or a thousandth of the loss).
Blind to: quantisation finer than the noise, which harms nobody. False alarm: none; it is a property of the
log.
Source: IDEFICS logs in bf16: steps of 2^-7 between 1 and 2, 2^-6 between 2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.report import criterion, found
from chronicle.classify.view import View
from chronicle.model import Finding

QUANTISED = "quantised-loss"
PATTERNS = (QUANTISED,)
FEWEST = 64


def find(view: View) -> Iterator[Finding]:
    """At most one finding an attempt."""
    for attempt in view.attempts:
        loss = attempt.loss
        if loss is None:
            continue
        values = loss.values[np.isfinite(loss.values)]
        grid = np.unique(values)
        if len(values) < FEWEST or len(grid) < 3:
            continue
        share = len(grid) / len(values)
        step = float(np.median(np.diff(grid)))
        coarse = step >= 1e-3 * float(np.median(np.abs(values)))
        if share >= view.thresholds.quantised or not coarse:
            continue
        yield found(
            QUANTISED,
            attempt,
            loss,
            (int(loss.steps[0]), None, int(loss.steps[-1])),
            severity=0.1,
            confidence=0.9,
            evidence={"distinct_share": share, "grid_loss": step, "distinct_values": len(grid)},
            criteria=[
                criterion("distinct values", share, "of the samples", f"< {view.thresholds.quantised}", True),
                criterion("smallest step", step, "loss", ">= 0.001 of the median", True),
            ],
            runner_up=("frozen-metric", "it had shown one value only"),
        )
