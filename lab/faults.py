"""What is done to a training on purpose, and when: the schedule of faults as functions. NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lab.text import Bytes


class Kind(StrEnum):
    """The faults there are. Those of a resume act on what the checkpoint gives back."""

    GARBAGE = "garbage"  # random bytes instead of the data of a source
    LR_KICK = "lr-kick"  # the learning rate times `amount`
    NAN = "nan"  # the loss is NaN, as after 0/0 in a mask
    SLOW = "slow"  # `amount` more forward passes a step than needed
    STALE_LOG = "stale-log"  # the loss that is logged is the one from before the fault
    RATIO_SKEW = "ratio-skew"  # share of the second source times `amount`, drifting back over `steps`
    REPEAT = "repeat"  # the loader serves the last `amount` steps of data again and again
    OPTIMIZER_LOST = "optimizer-lost"  # a resume begins with a new optimizer
    SCHEDULE_LOST = "schedule-lost"  # a resume begins the learning-rate schedule anew
    WEIGHTS_LOST = "weights-lost"  # a resume begins with new weights
    HANG = "hang"  # one step takes `amount` seconds more of a simulated clock
    # Of the grown trainings alone (lab/grow):
    LABELS = "labels"  # this share of the targets is wrong
    TOKEN = "token"  # every input is the same symbol
    HARDER = "harder"  # the noise of the task times `amount`
    MIX = "mix"  # share of the second source times `amount`
    INF = "inf"  # the loss is infinite; the step is skipped
    ZERO_LOG = "zero-log"  # NaN weights, and a log that shows a loss of 0.0
    WEIGHT_NOISE = "weight-noise"  # every weight off by `amount` times the size of its matrix, at random
    GROWTH = "growth"  # the output layer times `amount` at each step: a decay of the wrong sign
    MOMENTS = "moments"  # the second moments of Adam times `amount`
    Z_LOSS = "z-loss"  # log Z squared times `amount` is added to the loss


@dataclass(frozen=True)
class Fault:
    """``kind`` from step ``at`` for ``steps`` steps. ``source``: the data it hits, "" for all."""

    kind: Kind
    at: int
    steps: int = 1
    amount: float = 1.0
    source: str = ""

    def active(self, step: int) -> bool:
        return self.at <= step < self.at + self.steps


def active(faults: Iterable[Fault], kind: Kind, step: int) -> Fault | None:
    """The fault of a kind that acts at a step."""
    return next((f for f in faults if f.kind is kind and f.active(step)), None)


def lost(faults: Iterable[Fault], step: int) -> set[Kind]:
    """What a resume at ``step`` does not bring back."""
    of_resume = {Kind.OPTIMIZER_LOST, Kind.SCHEDULE_LOST, Kind.WEIGHTS_LOST}
    return {f.kind for f in faults if f.kind in of_resume and f.at == step}


def of_attempt(faults: Iterable[Fault], start: int) -> tuple[Fault, ...]:
    """The faults of the attempt that began at ``start``: a loader repeats itself only after a resume."""
    return tuple(f for f in faults if f.kind is not Kind.REPEAT or f.at == start)


@dataclass(frozen=True)
class Schedule:
    """A learning rate over steps: warm-up, then one of six kinds.

    "constant"; "cosine" to a tenth; "decay": constant, linearly to zero over the last fifth of ``steps``, and
    zero from then on; "ramp": constant to ``turn``, then 1 % more each step; "restarts": a cosine to a tenth
    every ``turn`` steps; "stairs": a tenth after each ``turn`` steps.
    """

    peak: float
    steps: int
    kind: str = "cosine"
    warmup: int = 100
    turn: int = 0

    def at(self, step: int) -> float:
        """The learning rate of a step, without faults."""
        rate = self.peak * min(1.0, (step + 1) / self.warmup)
        if self.kind == "cosine":
            return rate * (0.55 + 0.45 * math.cos(math.pi * min(1.0, step / self.steps)))
        if self.kind == "decay":
            return rate * min(1.0, max(0.0, self.steps - step) / (self.steps / 5))
        if self.kind == "ramp":
            return rate * 1.01 ** max(0, step - self.turn)
        if self.kind == "restarts":
            return rate * (0.55 + 0.45 * math.cos(math.pi * (step % self.turn) / self.turn))
        if self.kind == "stairs":
            return rate * 0.1 ** (step // self.turn)
        return rate


def learning_rate(schedule: Schedule, faults: Iterable[Fault], step: int) -> float:
    """The learning rate that is applied at a step, faults included."""
    faults = tuple(faults)
    restarts = [f.at for f in faults if f.kind is Kind.SCHEDULE_LOST and f.at <= step]
    kick = active(faults, Kind.LR_KICK, step)
    return schedule.at(step - max(restarts, default=0)) * (kick.amount if kick else 1.0)


def second_share(share: float, faults: Iterable[Fault], step: int) -> float:
    """The share of the second source in the batch of a step, faults included.

    A skew decays as exp(-n / steps), as a shuffle buffer does that fills again.
    """
    for fault in faults:
        if fault.kind is Kind.RATIO_SKEW and step >= fault.at:
            skew = (1 - fault.amount) * math.exp(-(step - fault.at) / fault.steps)
            share *= 1 - skew
    return share


def replayed(faults: Iterable[Fault], step: int, cursor: int, rows_per_step: int) -> int | None:
    """Where a loader that repeats itself reads at a step, in rows; None if it reads on as it should."""
    fault = active(faults, Kind.REPEAT, step)
    if fault is None:
        return None
    segment = int(fault.amount)
    return cursor - (segment - (step - fault.at) % segment) * rows_per_step


def corrupted(
    rows: Bytes, source: str, faults: Iterable[Fault], step: int, rng: np.random.Generator
) -> Bytes:
    """The rows of a source as the model gets them at a step."""
    fault = active(faults, Kind.GARBAGE, step)
    if fault is None or fault.source not in ("", source):
        return rows
    return rng.integers(0, 256, rows.shape, dtype=np.uint8)
