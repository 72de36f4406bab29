"""Dynamic loss scaling as mixed precision with fp16 does it, over gradients that are really fp32."""

from __future__ import annotations

import math

FP16_MAX = 65504.0


class LossScale:
    """Halves when a scaled gradient overflows fp16, and that step is skipped; doubles after good steps."""

    def __init__(self, scale: float = 2.0**16, good_steps: int = 100) -> None:
        self.scale, self.good_steps = scale, good_steps
        self.good = 0

    def fits(self, largest_gradient: float) -> bool:
        """Whether the gradient of this step can be used; moves the scale."""
        if not math.isfinite(largest_gradient) or largest_gradient * self.scale > FP16_MAX:
            self.scale, self.good = max(self.scale / 2, 2.0**-20), 0
            return False
        self.good += 1
        if self.good == self.good_steps:
            self.scale, self.good = self.scale * 2, 0
        return True
