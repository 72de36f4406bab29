"""A training loop as people write it, with numpy: batches, epochs, evaluations, a schedule, and a log of it.

It truly trains a softmax regression, so that the loss answers to the learning rate. Only its clock is made
up: a step takes 50 ms, an evaluation at the end of an epoch 6 s or so.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi

import numpy as np

from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Role, Series

EPOCHS, BATCHES, BATCH, CLASSES, FEATURES = 20, 60, 32, 10, 40
STEPS = EPOCHS * BATCHES
BASE = 0.2

Schedule = Callable[[int], float]  # learning rate by step


def multi_step(step: int) -> float:
    """Down to a tenth after epochs 8 and 14."""
    return BASE * 0.1 ** sum(step >= at * BATCHES for at in (8, 14))


def once(step: int) -> float:
    """Down to a tenth after epoch 10."""
    return BASE * 0.1 ** (step >= 10 * BATCHES)


def each_epoch(step: int) -> float:
    """Down to 0.7 after each epoch."""
    return BASE * 0.7 ** (step // BATCHES)


def warm_restarts(step: int) -> float:
    """Cosines of 4, 8 and 8 epochs, stepped by epoch."""
    epoch = step // BATCHES
    begin, length = (0, 4) if epoch < 4 else (4, 8) if epoch < 12 else (12, 8)
    return 0.5 * BASE * (1.001 + cos(pi * (epoch - begin) / length))


def restarts_within(step: int) -> float:
    """Cosines of five epochs, stepped by batch."""
    return 0.5 * BASE * (1.001 + cos(pi * (step % (5 * BATCHES)) / (5 * BATCHES)))


def one_cycle(step: int) -> float:
    """Up for 30 % of the steps, down for the rest."""
    x = step / STEPS
    share = 0.5 * (1 - cos(pi * x / 0.3)) if x < 0.3 else 0.5 * (1 + cos(pi * (x - 0.3) / 0.7))
    return BASE * (0.04 + 0.96 * share)


def warm_up_by_epoch(step: int) -> float:
    """0.1, 0.2, 0.4, 0.8 and 1 of the rate in the first epochs."""
    return BASE * (0.1, 0.2, 0.4, 0.8, 1.0)[min(step // BATCHES, 4)]


def kicked(step: int) -> float:
    """Thirty times the rate for 40 steps, from the end of an epoch on."""
    return BASE * (30.0 if 0 <= step - 10 * BATCHES < 40 else 1.0)


SCHEDULES: dict[str, Schedule] = {
    f.__name__: f
    for f in (
        *(multi_step, once, each_epoch, warm_restarts),
        *(restarts_within, one_cycle, warm_up_by_epoch, kicked),
    )
}


def log(
    schedule: Schedule,
    seed: int = 0,
    *,
    evaluates: Callable[[int], float] = lambda epoch: 6.0,
    step_s: float = 0.05,
    whole_seconds: bool = False,
) -> Attempt:
    """What the loop logs; ``evaluates`` gives the seconds of the evaluation after an epoch."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((FEATURES, CLASSES))
    weights = np.zeros((FEATURES, CLASSES))
    times, losses, rates = np.empty((3, STEPS))
    now = 1.7e9
    for step in range(STEPS):
        x = rng.standard_normal((BATCH, FEATURES))
        y = (x @ truth + 2 * rng.gumbel(size=(BATCH, CLASSES))).argmax(axis=1)
        logits = x @ weights
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        losses[step] = -np.log(p[np.arange(BATCH), y] + 1e-9).mean()
        p[np.arange(BATCH), y] -= 1
        rates[step] = schedule(step)
        weights -= rates[step] * x.T @ p / BATCH
        now += step_s * rng.uniform(0.9, 1.2)
        times[step] = np.floor(now) if whole_seconds else now
        if (step + 1) % BATCHES == 0:
            now += evaluates((step + 1) // BATCHES) * rng.uniform(0.9, 1.1)
    steps = np.arange(STEPS)
    columns = {"loss": losses, "lr": rates}
    series = {m: Series(m, Role.OTHER, steps, v, times) for m, v in columns.items()}
    return Attempt("log.csv", ("log.csv",), assign(series))
