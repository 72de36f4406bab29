"""What a name in a line means: whether it counts steps or epochs, and whether it shows how a training goes.

`Epochs` turns a step that restarts in each epoch into one that goes on over all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from chronicle.metrics.aliases import CONSOLE_IN_EPOCH_NAMES, STEP_NAMES, word_set
from chronicle.metrics.names import LOSSES, role_of
from chronicle.model import Role, Steps
from chronicle.readers.step_axis import step_rank

_N_STEP_RANKS = 2 * len(STEP_NAMES)  # the ranks of `step_rank`; names that count within an epoch come after
EPOCH_WORDS = ("epoch", "ep")
PROGRESS = "progress"  # the name of "12/100" and of bars
MEASURES = frozenset({Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE})
_JUDGED = {*LOSSES} | MEASURES | {Role.GRAD_NORM, Role.LEARNING_RATE}
# Words that make a counter's name one that does not count: "best step", "save every 100 steps".
_NO_COUNT = word_set("""
    accum accumulation best checkpoint every final first grad gradient inner last log max min n next num
    patience per ppo save saved total until warmup
""")
_PATIENCE = {"counter", "improvement", "patience", "stopping"}  # words of early stopping
_IN_BRACKETS = re.compile(r"\(\w*\)$")


class Pair(NamedTuple):
    """A number, its name, and what it counts up to (0 where it does not say)."""

    name: str
    value: float
    of: int = 0


def _words(name: str) -> set[str]:
    return set(re.split(r"[\s/._]", name.lower()))


@lru_cache(maxsize=4096)
def last_word(name: str) -> str:
    """The last word of a name in lower case, without what stands in brackets behind it."""
    return re.split(r"[\s/.]", _IN_BRACKETS.sub("", name.lower()))[-1]


@lru_cache(maxsize=4096)
def rank_of_name(name: str) -> int | None:
    """How well a name counts steps (0 is best); None where it does not. Names of epochs have no rank."""
    name = _IN_BRACKETS.sub("", name)
    rank, last = step_rank(name), last_word(name.replace("-", "_"))
    if last in EPOCH_WORDS:
        return None
    if rank is None and not _NO_COUNT & _words(name):
        rank = step_rank(last) if " " in name else None
        if rank is None and last in CONSOLE_IN_EPOCH_NAMES:
            rank = _N_STEP_RANKS + CONSOLE_IN_EPOCH_NAMES.index(last)
    return rank


def axis_of(rank: int) -> str:
    """What a counter of this rank counts."""
    return STEP_NAMES[rank % len(STEP_NAMES)][1] if rank < _N_STEP_RANKS else "step"


@lru_cache(maxsize=4096)
def names_epoch(name: str) -> bool:
    """Whether a name counts epochs, which "best results observed at epoch" does not."""
    return last_word(name) in EPOCH_WORDS and not _NO_COUNT & _words(name)


def counts(pair: Pair) -> bool:
    """Whether a pair counts steps or epochs."""
    is_whole = pair.value == pair.value // 1 and 0 <= pair.value < 2.0**63
    return (is_whole and rank_of_name(pair.name) is not None) or names_epoch(pair.name)


def key_of(pair: Pair) -> str:
    """What identifies a counter: its name in lower case, or of a bar what it counts up to."""
    return f"{PROGRESS}/{pair.of}" if pair.name == PROGRESS else pair.name.lower()


@lru_cache(maxsize=4096)
def is_judged(name: str) -> bool:
    """Whether trainings are judged by a metric of this name."""
    return "loss" in name.lower() or role_of(name) in _JUDGED


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a value of this name belongs to a training wherever it stands."""
    return "loss" in name.lower() or role_of(name) is not Role.OTHER


def as_bar(pair: Pair) -> Pair:
    """``Training: 12/100`` as progress: the name is that of a bar. ``Accuracy: 90/100`` stays a metric."""
    if not pair.of or counts(pair) or _PATIENCE & _words(pair.name):
        return pair
    is_metric = is_known(pair.name) and role_of(pair.name) not in LOSSES
    return pair if is_metric else pair._replace(name=PROGRESS)


@lru_cache(maxsize=4096)
def best_beside_loss(names: tuple[str, ...]) -> bool:
    """Whether a loss stands beside the best score so far, and nothing counts: that is an evaluation. A
    training tells its losses at its steps: `Loss: 0.9, MeanIU: 0.7, Best_mIoU: 0.7` stands between them."""
    has_best = any("best" in _words(name) and role_of(name) in MEASURES for name in names)
    is_training = any("train" in _words(name) or counts(Pair(name, 0.0)) for name in names)
    return has_best and not is_training and any(role_of(name) in LOSSES for name in names)


class Epochs:
    """Steps that restart in each epoch, as one count. An epoch is as long as its last step says, and one
    distance between steps longer if the next one counts from 0, as in `step_axis.steps_per_epoch`. An epoch
    that was there before starts where it started then; what that means is decided when attempts are stitched.
    So does the first epoch of a launch that continues in a later epoch than the log began with."""

    def __init__(self, earlier: Mapping[float, int] | None = None) -> None:
        self._epoch: float | None = None
        self._earlier = earlier or {}  # the first steps of epochs in the launches before
        self._step = self._before = 0  # the last step within the epoch, and the steps before the epoch
        self._distance, self._repeats = 1, False  # of two steps; whether a step occurs several times
        self._begun: dict[float, int] = {}

    @property
    def begun(self) -> dict[float, int]:
        """The step at which each epoch began, in this launch and in those before."""
        return {**self._earlier, **self._begun}

    def is_at(self, epoch: float) -> bool:
        return self._epoch == epoch

    def go_on(self, steps: Steps) -> Steps:
        """As `step` for each of these steps, which only grow and belong to the current epoch."""
        before = int(steps[-2]) if len(steps) > 1 else self._step
        self._step = int(steps[-1])
        self._distance = self._step - before
        return self._before + steps

    def step(self, epoch: float, step: int, of: int = 0) -> int:
        """The step over all epochs; ``of`` is how many an epoch has, if that is known."""
        if step == 0 and epoch == self._epoch and self._step == of > 0:
            return self._before + of  # a full bar is drawn empty before its next epoch is named (Lightning)
        if self._epoch is not None and epoch != self._epoch:
            falls = step < self._step or (step == self._step and not self._repeats)
            restarts = falls and epoch > self._epoch
            length = of or self._step + (self._distance if step <= 0 else 0)
            next_begin = self._before + length * restarts
            # Where the epoch began before, unless its length is known, which may have changed since.
            self._before = next_begin if of and restarts else self._begun.get(epoch, next_begin)
        elif self._epoch is None and epoch > (first := min(self._earlier, default=math.inf)):
            self._before = of * int(epoch - first) or self._earlier.get(epoch, 0)
        elif step > self._step:
            self._distance = step - self._step
        elif step == self._step and epoch == self._epoch:
            self._repeats = True
        self._begun[epoch] = self._before
        self._epoch, self._step = epoch, step
        return self._before + step
