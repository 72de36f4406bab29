"""Any text log that repeats lines of names and numbers with a counter: ``step 5 | loss: 2.5 | lr 1e-4``.

Only what no other reader knows is read so, and only where the same record comes again and again with a
counter that grows. The counter is the best step name in it (`tables.STEP_NAMES`), else a batch of an epoch,
else ``12/100`` without a name; steps that begin again in a later epoch go on counting. Records without a
counter belong to the last step; before the first one they are facts (``config/lr``). Where nothing counts at
all, but a loss is told again and again, the rows are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path

from chronicle.metrics.roles import role_of
from chronicle.model import Attempt, Role
from chronicle.readers.console.gather import MAYBE, records
from chronicle.readers.console.log import Line, Log, text_of
from chronicle.readers.console.marks import may_be_log, owner, sample
from chronicle.readers.console.pairs import Pair
from chronicle.readers.console.prefix import Prefix, split
from chronicle.readers.console.records import Course, Record, Told, counted, is_known, key_of
from chronicle.readers.hyperparameters import Scalar, config_facts
from chronicle.readers.text import Head

NAME = "key-value"
SUFFIXES: tuple[str, ...] = ()
FALLBACK = True

_FEWEST_LINES, _FEWEST_STEPS, _MOST_LINES, _FEWEST_POINTS = 8, 4, 6000, 3
_RARE_FALLS = 20  # records between restarts at which samples or tokens begin again
_FEWEST_EPOCHS = 5  # lines of a log that tells each epoch in one line, with its loss
_LOSSES = frozenset({Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS})


@dataclass(frozen=True)
class Plan:
    """What a look at a log says of it: whether it is one, which names count, whether rows are counted.

    ``phases``: lines of the training and of evaluations are told apart by a word beside the names.
    ``twofold``: counters that tell an epoch and a batch in it.
    """

    is_log: bool = False
    counters: frozenset[str] = frozenset()
    by_row: bool = False
    phases: bool = False
    twofold: frozenset[str] = frozenset()


def identify(head: Head) -> bool:
    """Records of one shape, with a metric that is known by its name, at steps that grow."""
    return may_be_log(head.path) and not owner(head.path) and plan_of(head.path).is_log


def plan_of(path: Path) -> Plan:
    """How a log is to be read. Raises OSError."""
    info = path.stat()
    return _plan(path, info.st_size, info.st_mtime_ns)


@lru_cache(maxsize=256)
def _plan(path: Path, size: int, time_ns: int) -> Plan:
    whole, _, _ = sample(path).rpartition(b"\n")  # what follows may be cut
    raw = islice(filter(MAYBE.search, whole.split(b"\n")), _MOST_LINES)
    lines = (Line(number, text_of(one)) for number, one in enumerate(raw, 1))
    found = [record for record in records((line, line.prefix) for line in lines) if record.told]
    told: dict[str, list[tuple[int, Pair]]] = {}
    for record in found:
        for rank, pair in dict.fromkeys(record.counters):
            told.setdefault(key_of(pair), []).append((rank, pair))
    training = [record for record in found if record.is_training]
    phases = any(not record.evaluation for record in training)
    bars = {key_of(pair) for record in training for pair in record.pairs if pair.name == "progress"}
    counters = frozenset(
        key
        for key, counts in told.items()
        if _counts(counts) and (key in bars or not bars or "progress/" not in key)
    )
    twofold = frozenset(key for key in counters if _is_twofold([pair for _, pair in told[key]]))
    if _repeats(found, Course(counters, phases, twofold)):
        return Plan(True, counters, phases=phases, twofold=twofold)
    uncounted = not counters and not any(record.epoch for record in found)
    return Plan(uncounted and _tells_losses(training), by_row=True, phases=phases)


def _counts(told: Sequence[tuple[int, Pair]]) -> bool:
    """Whether this counts: a few times at least, and not the same all the while.

    Samples and tokens only grow; where they do not, they tell how many a mean is of.
    """
    values = [int(pair.value) for _, pair in told]
    if len(values) < _FEWEST_POINTS or (len(set(values)) < 2 and not _is_twofold([pair for _, pair in told])):
        return False
    falls = sum(later < before for before, later in pairwise(values))
    return counted(told[0][0]) == "step" or _RARE_FALLS * falls <= len(values)


def _is_twofold(told: Sequence[Pair]) -> bool:
    """Whether what it counts up to is what grows: the batch, behind its epoch."""
    ends = [pair.of for pair in told]
    return (
        len(set(ends)) > max(_FEWEST_STEPS, len({pair.value for pair in told})) and told[0].name != "progress"
    )


def _repeats(found: Iterable[Record], course: Course) -> bool:
    """Whether records of one shape stand at steps that grow."""
    seen: dict[tuple[str, ...], list[int]] = {}
    for record in found:
        step, _ = course.step(record)
        if step is not None and record.is_training:
            steps = seen.setdefault(record.shape, [])
            steps.append(step)
            if len(steps) >= _fewest(record) and _grows(steps):
                return True
    return False


def _fewest(record: Record) -> int:
    """How often a record must come: less often where it tells the loss of each epoch."""
    counts = record.epoch or (record.counters and record.counters[0][1].name != "progress")
    return _FEWEST_EPOCHS if counts and _LOSSES & set(map(role_of, record.shape)) else _FEWEST_LINES


def _tells_losses(found: Sequence[Record]) -> bool:
    """Whether one loss is told again and again, and changes."""
    losses = [pair for record in found for pair in record.pairs if "loss" in pair.name.lower()]
    (_, n_lines), *_ = Counter(pair.name for pair in losses).most_common(1) or [("", 0)]
    return n_lines >= _FEWEST_LINES and len({pair.value for pair in losses}) >= _FEWEST_STEPS


def _grows(steps: list[int]) -> bool:
    rises = sum(later > before for before, later in pairwise(steps))
    falls = sum(later < before for before, later in pairwise(steps))
    return rises >= _FEWEST_STEPS - 1 and rises > 4 * falls


def read(path: Path) -> list[Attempt]:
    """One attempt. A name without a known role that came twice at most is left out.

    Raises:
        BadLog: no line with a step holds another number.
    """
    plan, log, before = plan_of(path), Log(path), dict[str, Scalar]()
    course = Course(plan.counters, plan.phases, plan.twofold)
    told = _by_row if plan.by_row else _by_step
    for record, values, step, known in told(log, course, plan):
        if not values or not known:
            for line in {one.line.number: one.line for one in record.told}.values():
                log.look(line)
        elif step is None:
            before |= {name: one.pair.value for name, one in values.items() if name not in before}
        else:
            _add(log, step, values)
    log.axis = "row" if plan.by_row else course.axis
    log.facts |= config_facts(before)
    for name, (points, _) in list(log.rows.columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) is Role.OTHER:
            del log.rows.columns[name]
    return [log.attempt()]


Said = tuple[Record, dict[str, Told], int | None, bool]


def _by_step(log: Log, course: Course, plan: Plan) -> Iterator[Said]:
    """Each record with its values, its step, and whether it belongs to the training."""
    blocks_count = False
    for record in _records(log):
        step, own = course.step(record)
        blocks_count |= record.is_block and own
        if record.open and blocks_count and not own:
            break  # what counts its step is still to come
        values = record.values(course.counter, plan.phases)
        known = {name for name in values if own or name in log.rows.columns or is_known(name)}
        if known and record.is_block:
            values = {name: one for name, one in values.items() if name in known}
        yield record, values, step, bool(known)


def _by_row(log: Log, course: Course, plan: Plan) -> Iterator[Said]:
    """As `_by_step` where nothing counts: a name that comes again begins the next row."""
    row, names = 0, set[str]()
    for record in _records(log):
        values = record.values("", plan.phases)
        known = any(name in log.rows.columns or is_known(name) for name in values)
        if known and names & set(values):
            row, names = row + 1, set()
        names |= set(values) if known else set()
        yield record, values, row, known


def _records(log: Log) -> Iterator[Record]:
    """The records of a log; a line that holds none is looked at for faults of the machine."""

    def lines() -> Iterator[tuple[Line, Prefix]]:
        for line in log.lines(MAYBE):
            yield line, split(line.text)

    yield from records(lines())


def _add(log: Log, step: int, values: dict[str, Told]) -> None:
    """Adds what was told, line by line."""
    by_line: dict[int, dict[str, Told]] = {}
    for name, one in values.items():
        by_line.setdefault(one.line.number, {})[name] = one
    for told in by_line.values():
        first = next(iter(told.values()))
        numbers = {name: one.pair.value for name, one in told.items()}
        log.add(first.line, step, numbers, time=first.prefix.time, who=first.prefix.who)
