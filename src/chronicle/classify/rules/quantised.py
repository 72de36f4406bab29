"""Quantised loss: logged in a number format so coarse that the values stand on a grid.

Sees: losses logged in bfloat16, or rounded to so few digits that they repeat.
Rule: at least 64 finite values; all of them have 8 significant bits or fewer (bfloat16), or fewer than 5 % of
them are distinct and stand a thousandth of the loss apart or more.
Blind to: quantisation finer than the noise, which harms nobody.
False alarm: none; it is a property of the log, and leaves a good run good.
Source: IDEFICS logs in bfloat16: steps of 2^-7 between 1 and 2, of 2^-6 between 2 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.report import criterion, found
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Floats, Series

QUANTISED = "quantised-loss"
PATTERNS = (QUANTISED,)
FEWEST = 64  # [samples] of a log that can be told to stand on a grid
BITS = 8  # significant ones of bfloat16


def find(view: View) -> Iterator[Finding]:
    """At most one finding an attempt."""
    for attempt in view.attempts:
        if attempt.loss is not None:
            yield from on_a_grid(view, attempt, attempt.loss)


def on_a_grid(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """The test of one loss."""
    values = loss.values[np.isfinite(loss.values)]
    grid = np.unique(values)
    if len(values) < FEWEST or len(grid) < 3:
        return
    share, apart = len(grid) / len(values), float(np.median(np.diff(grid)))
    limits = view.thresholds
    few = share < limits.quantised and apart >= limits.grid * float(np.median(np.abs(values)))
    if not (few or coarse(values)):
        return
    yield found(
        QUANTISED,
        attempt,
        loss,
        (int(loss.steps[0]), None, int(loss.steps[-1])),
        severity=0.1,
        confidence=0.9,
        evidence={"distinct_share": share, "grid_loss": apart, "distinct_values": len(grid)},
        criteria=[
            criterion("distinct values", share, "of the samples", f"< {limits.quantised}", few),
            criterion("significant bits of every value", None, "bits", f"<= {BITS}", coarse(values)),
        ],
        runner_up=("frozen-metric", "it had shown one value only"),
    )


def coarse(values: Floats) -> bool:
    """Whether every value has at most BITS significant bits."""
    mantissa = np.frexp(values)[0] * 2.0**BITS
    return bool(np.all(mantissa == np.rint(mantissa)))
