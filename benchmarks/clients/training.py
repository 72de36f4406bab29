"""The training that every client logs: a regression of a tiny network, in numpy, in three launches.

The first launch dies at step 119; the second goes on from the checkpoint of step 100 (a rollback); the third
goes on where the second ended (a resume). Three batches of wrong targets from step 60 on are a spike; from
step 235 on all is NaN. Values depend on nothing but the seed and the numbers of launch and step.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

CONFIG = {"seed": 7, "peak_lr": 0.05, "batch_size": 32, "width": 16, "dataset": "two-moons-of-numpy"}
STEPS = int(os.environ.get("CHRONICLE_CLIENTS_STEPS", "240"))  # a multiple of 24; 48 gives logs for tests
KICK, NAN, CHECKPOINT, EVERY = STEPS // 4, STEPS - 5, 10 * STEPS // 24, STEPS // 24
LOSS, LR, GRAD_NORM, VAL_LOSS = "train/loss", "train/learning_rate", "train/grad_norm", "val/loss"
ROLES = {LOSS: "loss", LR: "learning-rate", GRAD_NORM: "grad-norm", VAL_LOSS: "validation-loss"}


@dataclass(frozen=True)
class Launch:
    """One process: the steps from ``begin`` to before ``end``."""

    number: int
    begin: int
    end: int


DIED, ENDED = STEPS // 2, 18 * EVERY
LAUNCHES = (Launch(0, 0, DIED), Launch(1, CHECKPOINT, ENDED), Launch(2, ENDED, STEPS))
JOINS = (
    {"kind": "rollback", "from": DIED - 1, "to": CHECKPOINT},
    {"kind": "resume", "from": ENDED - 1, "to": ENDED},
)
EVENTS = ({"pattern": "spike", "step": KICK}, {"pattern": "nan-inf", "step": NAN})


def points(number: int) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, value by name) of all that a launch logs; the validation loss stands at every EVERY-th."""
    launch = LAUNCHES[number]
    weights = _weights_at(number)
    for step in range(launch.begin, launch.end):
        if step == NAN:
            weights = [np.nan * array for array in weights]
        inputs, targets = _batch(number, step)
        loss, gradients = _gradients(weights, inputs, targets)
        rate = learning_rate(step)
        values = {LOSS: loss, LR: rate, GRAD_NORM: float(np.sqrt(sum(np.sum(g * g) for g in gradients)))}
        if step % EVERY == EVERY - 1:
            values[VAL_LOSS] = _gradients(weights, *_batch(99, 0, 256))[0]
        yield step, values
        norm = max(1.0, values[GRAD_NORM])
        weights = [array - rate * g / norm for array, g in zip(weights, gradients, strict=True)]
        _KEPT[number, step + 1] = weights


_KEPT: dict[tuple[int, int], list[np.ndarray]] = {}


@cache
def _weights_at(number: int) -> list[np.ndarray]:
    """The weights with which a launch begins: those of the launch before it, at its first step."""
    if not number:
        rng = np.random.default_rng(CONFIG["seed"])
        return [rng.standard_normal((8, 16)) / 3, np.zeros(16), rng.standard_normal((16, 1)) / 4]
    for _ in points(number - 1):
        pass
    return _KEPT[number - 1, LAUNCHES[number].begin]


def learning_rate(step: int) -> float:
    """A twelfth of the training of warm-up, then a cosine down to a tenth."""
    peak = float(CONFIG["peak_lr"])
    if step < 2 * EVERY:
        return peak * (step + 1) / (2 * EVERY)
    return peak * (0.55 + 0.45 * float(np.cos(np.pi * (step / EVERY - 2) / 22)))


def _batch(number: int, step: int, size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((7, number, step))
    inputs = rng.standard_normal((size, 8))
    targets = np.sin(inputs[:, :1]) + 0.5 * inputs[:, 1:2] * inputs[:, 2:3] + 1.5
    wrong = 4.0 if KICK <= step < KICK + 3 else 1.0
    return inputs, wrong * (targets + 0.3 * rng.standard_normal((size, 1)))


def _gradients(weights: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> tuple[float, list]:
    """The mean squared error, and its gradients."""
    first, bias, second = weights
    hidden = np.tanh(inputs @ first + bias)
    error = hidden @ second - targets
    back = 2 * error / len(inputs)
    inner = (back @ second.T) * (1 - hidden**2)
    return float(np.mean(error**2)), [inputs.T @ inner, inner.sum(axis=0), hidden.T @ back]
