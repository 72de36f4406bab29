"""Records of any text log: the pairs that were told together, and where in the training they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from chronicle.metrics.counters import CONSOLE_IN_EPOCH_NAMES, STEP_NAMES
from chronicle.metrics.roles import role_of
from chronicle.model import Role
from chronicle.readers.columns import step_rank
from chronicle.readers.console.counters import Epochs
from chronicle.readers.console.log import Line
from chronicle.readers.console.pairs import Pair
from chronicle.readers.console.prefix import Prefix
from chronicle.readers.runs_in_table import OF_BOTH

NONE = 1 << 30  # the rank of no counter
_N_NAMED = 2 * len(STEP_NAMES)
# Words that make of a counter's name something that does not count: "best step", "save every 100 steps".
_NO_COUNT = frozenset(
    re.findall(
        r"\w+",
        """accum accumulation best checkpoint every final first grad gradient inner last log max min n next
        num patience per ppo save saved total until warmup""",
    )
)
_EVALUATION = re.compile(
    r"(?<![\w/.\\-])(?:(val|valid|validation|eval|evaluation|test|dev)|(?P<ing>valid|evalu|test)(?:at)?ing)(?![\w/.\\-])",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"(?<![\w/.\\-])train(?:ing)?(?![\w/.\\-])", re.IGNORECASE)
_WHOLE_PASS = 0.9  # of the batches; where so many were seen and they begin again, that is the next epoch
_SCORES = frozenset({Role.SCORE, Role.VALIDATION_SCORE})
_JUDGED = frozenset(
    {Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS, Role.GRAD_NORM, Role.SCORE, Role.VALIDATION_SCORE}
    | {Role.LEARNING_RATE}
)


class Told(NamedTuple):
    """A pair, and the line it stands in with what stood before its words."""

    pair: Pair
    line: Line
    prefix: Prefix


class Record:
    """Pairs that were told together, in one line or in a block of lines. ``text`` is that of the line.

    ``shape`` is what records of one kind have in common, ``counters`` is what counts steps in it, from the
    best, ``epoch`` what counts epochs. ``open``: the log ended in the block, of which more may come.
    """

    def __init__(self, told: Sequence[Told], text: str = "", *, open: bool = False) -> None:
        self.told, self.open = told, open
        self.pairs = [one.pair for one in told]
        self.shape = tuple(pair.name for pair in self.pairs)
        self.epoch = next((pair for pair in self.pairs if _last_word(pair.name) == "epoch"), None)
        ranked = [(rank, pair) for pair in self.pairs if (rank := rank_of(pair)) is not None]
        self.counters = sorted(ranked, key=itemgetter(0)) if len(ranked) > 1 else ranked
        metric = next((pair.name for pair in self.pairs if not counts(pair)), "")
        before = text.find(metric) if metric else -1  # what stands behind a metric is said of another one
        self.evaluation = _evaluation(text[:before] if before > 0 else text) if told else ""

    def values(self, counter: str, phases: bool) -> dict[str, Told]:
        """What it tells but the counter, by its name; of equal names the first is meant.

        Where ``phases`` are told apart, what was measured in an evaluation says so in its name.
        """
        named = {one.pair.name: one for one in reversed(self.told)}
        named = {name: named[name] for name in self.shape if name not in (counter, "progress")}
        word = self.evaluation if phases else ""
        if not word:
            return named
        by_name = any(map(_says_so, named))  # then what else is told with it may be of another kind
        return {
            name if _is_whole(name, by_name) else f"{word}/{name}": one
            for name, one in named.items()
            if not counts(one.pair)
        }

    @property
    def is_block(self) -> bool:
        """Whether it was told in several lines."""
        return len({one.line.number for one in self.told}) > 1

    @property
    def is_training(self) -> bool:
        """Whether a trainer tells such things: a known metric, or batches of an epoch.

        A score alone behind a bar is that of a picture after the other.
        """
        named = any(pair.name != "progress" for _, pair in self.counters)
        if self.epoch is not None and named:
            return True
        only_a_bar = bool(self.counters) and not named and self.epoch is None
        return any(is_judged(name) and not (only_a_bar and role_of(name) in _SCORES) for name in self.shape)


def _evaluation(text: str) -> str:
    """The word of an evaluation in a line, where no training is spoken of beside it; else ""."""
    found = _EVALUATION.search(text)
    if not found or _TRAINING.search(text):
        return ""
    ing = (found["ing"] or "").lower()
    return {"evalu": "eval"}.get(ing, ing) or found[0].lower()


@lru_cache(maxsize=4096)
def _says_so(name: str) -> bool:
    """Whether the name of a metric itself speaks of an evaluation."""
    return bool(_EVALUATION.search(re.sub(r"[_/.-]", " ", name)))


def _is_whole(name: str, by_name: bool) -> bool:
    """Whether a metric is told of an evaluation under the name that it has anyway."""
    return _says_so(name) or (by_name and not is_judged(name)) or role_of(name) in OF_BOTH


@lru_cache(maxsize=4096)
def is_judged(name: str) -> bool:
    """Whether trainings are judged by a metric of this name."""
    return "loss" in name.lower() or role_of(name) in _JUDGED


def rank_of(pair: Pair) -> int | None:
    """How well a pair counts steps (0 is best); None where it does not. Epochs are not asked here."""
    whole = pair.value == pair.value // 1 and 0 <= pair.value < 2.0**63
    return _rank_of_name(pair.name) if whole else None


@lru_cache(maxsize=4096)
def _rank_of_name(name: str) -> int | None:
    name = re.sub(r"\(\w*\)$", "", name)
    rank, words = step_rank(name), re.split(r"[\s/.]", name.lower().replace("-", "_"))
    if words[-1] == "epoch":
        return None
    if rank is None and not _NO_COUNT & set(re.split(r"[\s/._]", name.lower())):
        rank = step_rank(words[-1]) if " " in name else None
        if rank is None and words[-1] in CONSOLE_IN_EPOCH_NAMES:
            rank = _N_NAMED + CONSOLE_IN_EPOCH_NAMES.index(words[-1])
    return rank


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a value of this name belongs to a training wherever it stands."""
    return "loss" in name.lower() or role_of(name) is not Role.OTHER


def counted(rank: int) -> str:
    """What a counter of this rank counts."""
    names = STEP_NAMES
    return names[rank % len(names)][1] if rank < _N_NAMED else "step"


def counts(pair: Pair) -> bool:
    """Whether a pair counts steps or epochs."""
    return rank_of(pair) is not None or _last_word(pair.name) == "epoch"


def as_bar(pair: Pair) -> Pair:
    """``Training: 12/100`` as progress: the name is that of a bar. ``Accuracy: 90/100`` stays a metric."""
    if pair.of and not counts(pair) and not is_known(pair.name):
        return pair._replace(name="progress")
    return pair


def key_of(pair: Pair) -> str:
    """The name of a counter; bars without a name are told apart by what they count up to."""
    return f"progress/{pair.of}" if pair.name == "progress" else pair.name


@lru_cache(maxsize=4096)
def _last_word(name: str) -> str:
    return re.split(r"[\s/.]", re.sub(r"\(\w*\)$", "", name.lower()))[-1]


class Course:
    """Where a log is: the step of each of its records, given in their order.

    Only what counts in several records of the log (``known``, as `key_of` has it) is taken for a counter.
    Where ``phases`` are told apart, an evaluation stands where the training is. ``twofold`` counters tell
    the epoch and the batch in it (``Batch 3/100``, where no batch is the last).
    """

    def __init__(self, known: frozenset[str], phases: bool, twofold: frozenset[str]) -> None:
        self.counter, self.axis = "", "step"
        self.last: int | None = None
        self._known, self._phases, self._twofold = known, phases, twofold
        self._rank = NONE
        self._epoch, self._epochs, self._passes = 0.0, Epochs(), False
        self._count = Pair("", -1.0)

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether it holds what counts in this log."""
        evaluation, epoch = self._phases and bool(record.evaluation), record.epoch
        if epoch and math.isfinite(epoch.value) and not (evaluation and self.last is not None):
            self._epoch, self._passes = epoch.value, False
        known = [(rank, pair) for rank, pair in record.counters if key_of(pair) in self._known]
        own = [
            (rank, pair)
            for rank, pair in known
            if rank <= self._rank and not (evaluation and self._is_elsewhere(pair))
        ]
        if own:
            self._rank, pair = own[0]
            self.counter, self.axis = pair.name, counted(self._rank)
            if pair.name in self._twofold:
                self._epoch, pair = pair.value, Pair(pair.name, pair.of)
            self.last = self._epochs.step(self._pass(pair, epoch is not None), int(pair.value), pair.of)
            self._count = pair
        elif epoch and self._rank == NONE and epoch.value == self._epoch // 1:
            self.last, self.axis, self.counter = int(self._epoch), "epoch", epoch.name
            return self.last, len(record.pairs) > 1
        return self.last, bool(known)

    def _is_elsewhere(self, pair: Pair) -> bool:
        """Whether an evaluation counts its own batches, and not the steps of the training."""
        same = pair.name == self.counter and pair.value >= self._count.value and pair.of == self._count.of
        return self.last is not None and not same

    def _pass(self, pair: Pair, told: bool) -> float:
        """The epoch of a counter; where none is ever told, whole passes over the batches are counted."""
        before = self._count
        if (self._passes or (not told and not self._epoch)) and before.of and pair.of == before.of:
            self._passes = True
            self._epoch += pair.value < before.value and before.value >= _WHOLE_PASS * before.of
        return self._epoch
