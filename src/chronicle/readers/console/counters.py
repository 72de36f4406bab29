"""Steps that are counted anew in each epoch, as one count."""

from __future__ import annotations


class Epochs:
    """Adds up the steps of epochs: where a step does not grow into a later epoch, that epoch goes on
    counting.

    In an epoch that was there before it counts from where that one began; what a step that goes back
    means is decided when attempts are stitched.
    """

    def __init__(self) -> None:
        self._epoch: float | None = None
        self._step = self._before = 0
        self._begun: dict[float, int] = {}

    def step(self, epoch: float, step: int, of: int = 0) -> int:
        """The step over all epochs; ``of`` is how many an epoch has, if that is known."""
        if self._epoch is not None and epoch != self._epoch:
            later = of or self._step + 1 if step <= self._step and epoch > self._epoch else 0
            self._before = self._begun.get(epoch, self._before + later)
        self._begun.setdefault(epoch, self._before)
        self._epoch, self._step = epoch, step
        return self._before + step
