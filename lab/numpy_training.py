"""A training in NumPy alone, as one value, and what such trainings share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from lab.logs import Log

CLOCK_START, STEP_S = 1_790_000_000.0, 2.0  # of the simulated clock: Unix seconds, and the length of a step


@dataclass(frozen=True)
class NumpyTraining:
    """One training. ``rows`` yields what each step logs; ``known`` is how the gallery calls the cause."""

    name: str
    title: str
    cause: str
    description: str
    tags: tuple[str, ...]
    seed: int
    parameters: int
    rows: Callable[[np.random.Generator], Iterator[dict[str, float]]]
    known: str = ""

    def train(self, log: Log) -> None:
        for step, values in enumerate(self.rows(np.random.default_rng(self.seed))):
            log.write(
                step, {k: float(v) for k, v in values.items()} | {"time": CLOCK_START + STEP_S * (step + 1)}
            )
        log.close()


def softmax(logits: np.ndarray) -> np.ndarray:
    """The softmax of each row."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(1, keepdims=True)
    return shares
