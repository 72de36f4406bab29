"""Level shift: the loss steps up and stays, without a spike.

Sees: jumps (up to twice the trend) of which half stays to the end of the log.
Rule: gained in one jump, at least half of the height left, no growth since, and values that still change.
Blind to: steps down (learning-rate decay, epochs and repeated data are told apart by their context) and
steps in the last samples of a log. False alarm: somebody looks for a change of data that did not happen.
Source: MLE "repeat data" curves, where the step up is the end of a replay; Marin data shifts.
"""

from __future__ import annotations

from chronicle.classify.report import criterion
from chronicle.classify.rules.shape import Shape
from chronicle.model import Finding

SHIFT = "level-shift"
PATTERNS = (SHIFT,)


def claim(shape: Shape) -> Finding | None:
    """The finding, if this event is a level shift."""
    if not (shape.is_open and shape.is_jump and shape.is_step) or shape.grows:
        return None
    left = shape.event.residual
    test = criterion("stays up", left, "log units", "half of the height, less two noise scales", True)
    return shape.finding(
        SHIFT, 0.3 + left, ("spike-no-full-recovery", "its peak stood out above the new level"), [test]
    )
