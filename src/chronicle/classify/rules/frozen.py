"""Frozen metric: the same bits again and again.

Sees: a loss that repeats one value. Rule: 32 bit-equal values in a row, and eight times more than this
series had ever shown before (a log rounded to few digits repeats itself by chance); or a whole log of one
value, from 8 on.
Blind to: metrics that freeze with noise on top. False alarm: none known beyond constants logged on purpose.
Source: MLPerf logs with a dead metric; Hugging Face's filter repeats the last mean when the loss is NaN.
"""

from __future__ import annotations

from chronicle.classify.detect import Kind
from chronicle.classify.report import criterion, found
from chronicle.classify.rules.shape import Shape
from chronicle.model import Finding

FROZEN = "frozen-metric"
PATTERNS = (FROZEN,)


def claim(shape: Shape) -> Finding | None:
    """The finding, if this event is a stretch of equal values."""
    e = shape.event
    if e.kind is not Kind.FROZEN:
        return None
    last = e.end if e.end is not None else len(shape.series) - 1
    return found(
        FROZEN,
        shape.attempt,
        shape.series,
        (shape.step(e.onset), None, None if e.end is None else shape.step(last)),
        severity=0.7,
        confidence=0.95,
        evidence={"equal_samples": int(e.height), "value_loss": shape.value(e.onset, e.onset + 1)},
        criteria=[
            criterion(
                "bit-equal values in a row",
                e.height,
                "samples",
                ">= 32 and 8 times the longest before; or all of 8 and more",
                True,
            )
        ],
        runner_up=("quantised-loss", "the value changed now and then by one step of a coarse grid"),
    )
