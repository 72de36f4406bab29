"""What a log says, as types: the role of a metric, a series, a fault, and the attempt that holds them.

These are the words of the readers, the lower half of `chronicle.model`, which gives them on: import them
from there. The conventions of steps, values and times are said there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]
Floats = NDArray[np.float64]
Facts = Mapping[str, Any]


class Role(StrEnum):
    """What a metric is, whatever it is called in the log."""

    LOSS = "loss"
    DATASET_LOSS = "dataset-loss"
    VALIDATION_LOSS = "validation-loss"
    GRAD_NORM = "grad-norm"
    LEARNING_RATE = "learning-rate"
    THROUGHPUT = "throughput"
    STEP_TIME = "step-time"
    LOSS_SCALE = "loss-scale"
    RATIO = "ratio"
    ATTENTION_LOGIT = "attention-logit"
    OUTPUT_LOGIT = "output-logit"
    TOKENS = "tokens"
    SAMPLES = "samples"
    BATCH_SIZE = "batch-size"
    EPOCH = "epoch"
    SCORE = "score"
    VALIDATION_SCORE = "validation-score"
    UPDATE_NORM = "update-norm"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Series:
    """One metric as logged by one attempt: three arrays of one length, in the order of the log.

    ``unit`` is None where nobody declared one (pages then say "unit not declared").
    ``dataset`` names the data set of a DATASET_LOSS, and is empty for every other role.
    """

    metric: str
    role: Role
    steps: Steps
    values: Floats
    times: Floats
    unit: str | None = None
    dataset: str = ""

    def __post_init__(self) -> None:
        if not len(self.steps) == len(self.values) == len(self.times):
            raise ValueError(f"series {self.metric!r}: steps, values and times differ in length")

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Fault:
    """One thing in a log that could not be used, or that speaks of a fault of the machine.

    ``where`` is ``file``, ``file:line`` or ``file@byte``; ``what`` says what is wrong and what
    became of it; ``count`` is how many records it stands for. ``kind`` is "read" for what could not be
    used, else what failed beside the curves: "xid", "nccl", "out-of-memory", "preemption", ... (see
    `chronicle.readers.console.fault_kinds`); those have the ``host`` where the log names one, and the
    step the log was at.
    """

    where: str
    what: str
    count: int = 1
    at_time: float = float("nan")
    kind: str = "read"
    host: str = ""
    at_step: int | None = None


@dataclass(frozen=True, eq=False)
class Attempt:
    """What one log says, whole: one uninterrupted process of a run.

    ``name`` is the path of the log relative to what was read; ``sources`` are the files it came from.
    ``axis`` is what ``steps`` count: "step", "epoch", "sample", "token" or "row" (none was logged).
    ``truncated`` is true where the last record is cut: a live log, or a process that was killed.
    """

    name: str
    sources: tuple[str, ...]
    series: Mapping[str, Series]
    facts: Facts = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    truncated: bool = False
    axis: str = "step"

    def by_role(self, role: Role) -> list[Series]:
        """All series of a role, in the order of the log."""
        return [s for s in self.series.values() if s.role is role]
