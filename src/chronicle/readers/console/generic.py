"""Any text log that repeats lines of names and numbers with a counter: ``step 5 | loss: 2.5 | lr 1e-4``.

Only what no other reader knows is read so, and only where the same line comes again at least eight times with
a counter that grows. The counter is the best step name in the line (`tables.STEP_NAMES`), else a batch of an
epoch, else ``12/100`` without a name; steps that begin again in a later epoch go on counting. Lines without a
counter belong to the last step; before the first one they are facts (``config/lr``).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path

from chronicle.model import Attempt, Role
from chronicle.readers import tables
from chronicle.readers.console.counters import Epochs
from chronicle.readers.console.log import Log, text_of
from chronicle.readers.console.marks import may_be_log, owner, sample
from chronicle.readers.console.pairs import Pair, pairs
from chronicle.readers.console.prefix import split
from chronicle.readers.hyperparameters import Scalar, config_facts
from chronicle.roles import role_of

NAME = "key-value"
SUFFIXES: tuple[str, ...] = ()
FALLBACK = True

_FEWEST_LINES, _FEWEST_STEPS, _MOST_LINES, _FEWEST_POINTS = 8, 4, 6000, 3
_MAYBE = re.compile(rb"[A-Za-z_)%]\W{0,4}[-+.]?\d|\d/\d|\b(?:nan|inf)\b", re.IGNORECASE)
_JUDGED = frozenset(
    {Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS, Role.GRAD_NORM, Role.SCORE, Role.VALIDATION_SCORE}
)
_NONE = 1 << 30  # the rank of no counter
_BATCHES = ("batch", "minibatch", "mini_batch", "itr", "it", "i", "episode", "progress")


class Record:
    """The pairs of a line; ``counters`` from the best to the worst, ``epoch`` if it has one."""

    def __init__(self, text: str) -> None:
        self.pairs = pairs(text)
        self.epoch = next((pair for pair in self.pairs if _last_word(pair.name) == "epoch"), None)
        ranked = [(rank, pair) for pair in self.pairs if (rank := rank_of(pair)) is not None]
        self.counters = sorted(ranked, key=lambda one: one[0])

    @property
    def shape(self) -> tuple[str, ...]:
        """What lines of one kind have in common."""
        return tuple(pair.name for pair in self.pairs)

    def values(self, counter: str) -> dict[str, float]:
        """The numbers of the line but the counter."""
        named = {pair.name: pair.value for pair in reversed(self.pairs)}  # of equal names the first is meant
        return {name: named[name] for name in self.shape if name not in (counter, "progress")}


def rank_of(pair: Pair) -> int | None:
    """How well a pair counts steps (0 is best); None where it does not. Epochs are not asked here."""
    if pair.value != pair.value // 1 or not 0 <= pair.value < 2.0**63:
        return None
    word, rank = _last_word(pair.name), tables.step_rank(pair.name)
    if word == "epoch":
        return None
    return 2 * len(tables.STEP_NAMES) + _BATCHES.index(word) if rank is None and word in _BATCHES else rank


def _counted(rank: int) -> str:
    """What a counter of this rank counts."""
    names = tables.STEP_NAMES
    return names[rank % len(names)][1] if rank < 2 * len(names) else "step"


def _last_word(name: str) -> str:
    return re.split(r"[\s/.]", name.lower())[-1]


class Course:
    """Where a log is: the step of each of its records, given in their order."""

    def __init__(self) -> None:
        self.counter, self.axis = "", "step"
        self.last: int | None = None
        self._rank, self._epoch, self._epochs = _NONE, 0.0, Epochs()

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether the line itself says so."""
        if record.epoch and math.isfinite(record.epoch.value):
            self._epoch = record.epoch.value
        own = [(rank, pair) for rank, pair in record.counters if rank <= self._rank]
        if own:
            self._rank, pair = own[0]
            self.counter, self.axis = pair.name, _counted(self._rank)
            self.last = self._epochs.step(self._epoch, int(pair.value), pair.of)
        elif (
            record.epoch
            and self._rank == _NONE
            and record.epoch.value == self._epoch // 1
            and len(record.pairs) > 1
        ):
            self.last, self.axis, self.counter, own = (
                int(self._epoch),
                "epoch",
                record.epoch.name,
                [(0, record.epoch)],
            )
        return self.last, bool(own)


def identify(path: Path) -> bool:
    """Lines of one shape, with a metric that is known by its name, at steps that grow."""
    if not may_be_log(path) or owner(path):
        return False
    info = path.stat()
    return _is_log(path, info.st_size, info.st_mtime_ns)


@lru_cache(maxsize=256)
def _is_log(path: Path, size: int, time_ns: int) -> bool:
    seen: dict[tuple[str, ...], list[int]] = {}
    course = Course()
    for raw in islice(filter(_MAYBE.search, sample(path).split(b"\n")), _MOST_LINES):
        record = Record(split(text_of(raw)).text)
        step, _ = course.step(record)
        if step is not None and any(map(_is_judged, record.shape)):
            steps = seen.setdefault(record.shape, [])
            steps.append(step)
            if len(steps) >= _FEWEST_LINES and _grows(steps):
                return True
    return False


def _is_judged(name: str) -> bool:
    return "loss" in name.lower() or role_of(name) in _JUDGED


def _grows(steps: list[int]) -> bool:
    rises = sum(later > before for before, later in pairwise(steps))
    falls = sum(later < before for before, later in pairwise(steps))
    return rises >= _FEWEST_STEPS - 1 and rises > 4 * falls


def read(path: Path) -> list[Attempt]:
    """One attempt. A name without a known role that came twice at most is left out.

    Raises:
        BadLog: no line with a step holds another number.
    """
    log, course, before = Log(path), Course(), dict[str, Scalar]()
    for line in log.lines(_MAYBE):
        prefix = line.prefix
        record = Record(prefix.text)
        step, own = course.step(record)
        values = record.values(course.counter)
        known = own or any(name in log.rows.columns or role_of(name) is not Role.OTHER for name in values)
        if not values or not known:
            log.look(line)
        elif step is None:
            before |= {name: value for name, value in values.items() if name not in before}
        else:
            log.add(line, step, values, time=prefix.time, who=prefix.who)
    log.axis = course.axis
    log.facts |= config_facts(before)
    for name, (points, _) in list(log.rows.columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) is Role.OTHER:
            del log.rows.columns[name]
    return [log.attempt()]
