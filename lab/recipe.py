"""What a training of the lab is made of, as one value. NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass

from lab.faults import Fault, Schedule


@dataclass(frozen=True)
class Attempt:
    """One process of a training: steps from ``start`` to before ``stop``."""

    start: int
    stop: int


@dataclass(frozen=True)
class Recipe:
    """One training. ``cause`` says what is wrong with it, if anything; ``known`` how the gallery calls that.

    ``batch`` counts rows of 64 bytes; ``batch_ramp`` is ((from step, rows), ...). ``unique_rows`` are all
    the rows there are to train on, 0: enough for every row to be served once. ``sums_share`` is the share of
    rows that are sums, not story. ``logs_decimals``: the log rounds the loss, 0: it does not.
    ``step_seconds``: the clock of the log is simulated, so long a step, 0: it is that of the machine.
    """

    name: str
    title: str
    cause: str
    description: str
    format: str
    attempts: tuple[Attempt, ...]
    schedule: Schedule
    faults: tuple[Fault, ...] = ()
    tags: tuple[str, ...] = ()
    known: str = ""
    seed: int = 1
    width: int = 64
    layers: int = 2
    batch: int = 16
    batch_ramp: tuple[tuple[int, int], ...] = ()
    unique_rows: int = 0
    sums_share: float = 0.0
    clip: float = 1.0
    beta2: float = 0.95
    fp16: bool = False
    qk_norm: bool = False
    layer_norm: bool = True
    logs_attention: bool = False
    logs_throughput: bool = False
    logs_decimals: int = 0
    step_seconds: float = 0.0

    @property
    def steps(self) -> int:
        """Steps from the first to the last."""
        return max(attempt.stop for attempt in self.attempts)

    @property
    def rows(self) -> int:
        """Rows of text that the training reads at most."""
        return sum(self.batch_at(step) for step in range(self.steps))

    def batch_at(self, step: int) -> int:
        """Rows in the batch of a step."""
        return next((rows for start, rows in reversed(self.batch_ramp) if step >= start), self.batch)


def one_attempt(steps: int) -> tuple[Attempt, ...]:
    """A training that nothing interrupts."""
    return (Attempt(0, steps),)
