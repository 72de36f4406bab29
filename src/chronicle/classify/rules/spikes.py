"""Spikes: the loss jumps, and comes back to its trend fast, slowly, or not fully.

Sees: rises of the loss that are over, or that come down when the log ends.
Rule: back when a mean is within 15 % of the height (3 % of the loss at most, or 0.8 noise scales) of the
*extrapolated trend*, not of the old level; dated where the sum of what samples have above that was highest;
fast within 150 steps or 10 samples.
Blind to: spikes of one sample below 8 noise scales (20 where every step is logged): they are hard batches.
False alarm: somebody looks at a batch that was only hard. Source: PaLM (2204.02311, 5.1); BLOOM and IDEFICS
logs.
"""

from __future__ import annotations

from chronicle.classify.detect import Kind
from chronicle.classify.report import criterion
from chronicle.classify.rules.shape import Shape
from chronicle.model import Finding

FAST, SLOW, NOT_FULLY = "spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery"
PATTERNS = (FAST, SLOW, NOT_FULLY)


def claim(shape: Shape) -> Finding | None:
    """The finding, if this event is a spike."""
    if shape.event.kind in (Kind.BACK, Kind.LONE):
        return recovered(shape)
    if shape.is_open and not shape.event.into_nan:
        if shape.nearly_back or shape.coming_down:
            return on_its_way(shape)
        if not shape.lost and not shape.grows and not (shape.is_jump and shape.is_step):
            return not_fully(shape)
    return None


def recovered(shape: Shape) -> Finding:
    """Over: fast or slow."""
    steps, limit = shape.recovery_steps, shape.limits.fast_steps
    test = criterion(
        "recovery", steps, "steps", f"<= {limit:g}, or {shape.limits.fast_samples:g} samples", shape.is_fast
    )
    if shape.is_fast:
        why = f"it had taken more than {limit:g} steps"
        return shape.finding(FAST, 0.1 + 0.1 * shape.event.height, (SLOW, why), [test], recovery_steps=steps)
    cost = 0.3 + 0.1 * shape.event.height
    return shape.finding(
        SLOW, cost, (FAST, f"it were back within {limit:g} steps"), [test], recovery_steps=steps
    )


def on_its_way(shape: Shape) -> Finding:
    """Still open at the end of the log, but nearly back or clearly falling: slow is all that can be said."""
    since = shape.step(len(shape.series) - 1) - shape.step(shape.event.onset)
    test = criterion(
        "still coming down", shape.event.falling, "of the height", "> 0.15", shape.event.falling > 0.15
    )
    why = "the level stopped falling before it reached the trend"
    return shape.finding(SLOW, 0.35 + 0.1 * shape.event.height, (NOT_FULLY, why), [test], since_steps=since)


def not_fully(shape: Shape) -> Finding:
    """Settled above the trend that it left."""
    left = shape.event.residual
    test = criterion(
        "left at the end", left, "log units", f"< {shape.limits.lost} of the height, not growing", True
    )
    runner_up = ("spike-slow-recovery", "it went on falling to the trend")
    return shape.finding(NOT_FULLY, 0.5 + left, runner_up, [test], end_share=shape.end_share)
