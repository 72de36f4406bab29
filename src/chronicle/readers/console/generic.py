"""Any text log that repeats lines of names and numbers with a counter: ``step 5 | loss: 2.5 | lr 1e-4``.

Only what no other reader knows is read so, and only where the same record comes again and again with a
counter that grows. The counter is the best step name in it (`counters.STEP_NAMES`), else a batch of an epoch,
else ``12/100`` without a name; steps that begin again in a later epoch go on counting. Records without a
counter belong to the last step; before the first one they are facts (``config/lr``). Where nothing counts at
all, but a loss is told again and again, the rows are counted.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.metrics.roles import LOSSES, SCORES, role_of
from chronicle.model import Attempt, Role
from chronicle.readers.console.chunks import begin, may_be_log, sample
from chronicle.readers.console.line_records import (
    BEGINNINGS,
    MAYBE,
    Gatherer,
    Record,
    Repeats,
    is_judged,
    is_known,
    may_tell,
    records,
)
from chronicle.readers.console.log import Epochs, Line, Log, text_of
from chronicle.readers.console.pairs import Pair, axis_of, key_of, last_word, settings
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.step_axis import Column, goes_up_and_down
from chronicle.readers.text import Head

NAME = "key-value"

_FEWEST_LINES, _FEWEST_STEPS, MOST_LINES, _FEWEST_POINTS = 8, 4, 6000, 3
_RARE_FALLS = 20  # records between restarts at which samples or tokens begin again
_FEWEST_EPOCHS = 5  # lines of a log that tells each epoch in one line, with its loss
_NO_RANK = 1 << 30
_DIGITS = re.compile(rb"\d+")
_ARGUMENTS = re.compile(
    r"\b(?:arg(?:ument)?s|config\w*|h(?:yper-?)?param\w*|namespace|seed)\b", re.IGNORECASE
)
_VALUE = re.compile(r"(?<![-+.\w])[-+.\w]*\d[-+.\w]*")
_TELLING = 3  # names of arguments by which a line of them is known again
_OF_SOLVERS = {"objective", "cost", "error", "gap"}  # losses that other programs tell, too
# What a log of a training, and of nothing else that counts and measures, speaks of.
_TRAINS = re.compile(
    r"(?<![a-z])(?:(?:pre)?train|epoch|episod|generation|gen\b|population|fitness|reward|agent|optimi[sz]er|adam|sgd"
    r"|neural|network|layer|likelihood|logprob|learning.rate)",
    re.IGNORECASE,
)
_WHOLE_PASS = 0.9  # of the batches; where so many were seen and they begin again, that is the next epoch


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
    return may_be_log(head) and plan_of(head).is_log


@lru_cache(maxsize=256)
def plan_of(head: Head) -> Plan:
    """How a log is to be read. Raises OSError.

    Where its first lines tell nothing (an environment, a configuration, a list of layers), those at the end
    of the sample are asked.
    """
    whole, _, _ = sample(head).rpartition(b"\n")  # what follows may be cut
    trains = any(_TRAINS.search(text) for text in (head.path.name, whole.decode("utf-8", "replace")))
    raw = list(filter(MAYBE.search, lines)) if _may_train(lines := whole.split(b"\n"), trains) else []
    if len(raw) < _FEWEST_EPOCHS:
        return Plan()
    windows = (raw[:MOST_LINES], raw[-MOST_LINES:])[: 1 + (len(raw) > MOST_LINES)]
    return next((plan for window in windows if (plan := _plan_of(window, trains)).is_log), Plan())


def _may_train(lines: Sequence[bytes], trains: bool) -> bool:
    """Whether lines of any shape tell what a training is judged by, count steps, or are of a table."""
    shapes = _DIGITS.sub(b"0", b"\n".join(lines)).split(b"\n")
    first = dict(zip(reversed(shapes), reversed(lines), strict=True))
    texts = (text_of(line) for shape, line in first.items() if MAYBE.search(shape))
    return len(lines) >= _FEWEST_EPOCHS and any(
        may_tell(text[begin(text)[1] :].strip(), bars=trains) for text in texts
    )


def _plan_of(raw: Sequence[bytes], trains: bool) -> Plan:
    lines = (Line(number, text_of(line)) for number, line in enumerate(raw, 1))
    all_records = [record for record in records(lines) if not record.form.event]
    training = [record for record in all_records if record.is_training]
    phases = any(not record.evaluation for record in training)
    counters = _counters(all_records)
    twofold = frozenset(key for key, pairs in counters.items() if _is_twofold(pairs))
    plan = Plan(True, frozenset(counters), phases=phases, twofold=twofold)
    if _repeats(all_records, Course(plan), trains):
        return plan
    uncounted = not counters and not any(record.epoch for record in all_records)
    return Plan(uncounted and _tells_one(training, trains), by_row=True, phases=phases)


def _counters(all_records: Sequence[Record]) -> dict[str, list[Pair]]:
    """What counts in a log, from the best, with all that it told.

    A better name that comes half as often as another one, or as epochs, beside what a training is judged by
    tells fewer of its rows, and does not count: the other one places what is told with it, too.
    """
    ranks, pairs_of = dict[str, int](), dict[str, list[Pair]]()
    outer, judged = dict[str, list[float]](), Counter[str]()
    for record in all_records:
        for rank, pair in dict.fromkeys(record.counters):
            key = key_of(pair)
            ranks.setdefault(key, rank)
            pairs_of.setdefault(key, []).append(pair)
            outer.setdefault(key, []).append(record.epoch.value if record.epoch else 0.0)
            judged[key] += record.is_training
    bars = _bars_of(all_records)
    alone = {r.epoch.value for r in all_records if r.epoch and r.is_training and not r.counters}
    known = [
        key
        for key in sorted(pairs_of, key=ranks.__getitem__)
        if _counts(ranks[key], pairs_of[key], outer[key])
        and (key in bars or not (bars or alone) or "progress/" not in key)
        and (judged[key] or 2 * len(pairs_of[key]) >= len(alone))
    ]
    most = max((judged[key] for key in known), default=0)
    best = next((i for i, key in enumerate(known) if 2 * len(pairs_of[key]) >= most), 0)
    return {key: pairs_of[key] for key in known[best:]}


def _bars_of(all_records: Iterable[Record]) -> set[str]:
    """The bars that a training draws: those beside which, or after which, it is told how it learns."""
    bars, latest = set[str](), ""
    for record in all_records:
        own = [key_of(pair) for pair in record.pairs if pair.name == "progress"]
        latest = own[-1] if own else latest
        if record.is_training and latest and (own or record.tells_training):
            bars.update(own or [latest])
    return bars


def _counts(rank: int, pairs: Sequence[Pair], outer: Sequence[float]) -> bool:
    """Whether this counts: a few times at least, not the same all the while, and up more often than down.

    ``outer`` are the epochs, or the episodes, in each of which it may begin anew: where it says how long each
    of them was, it only grows from one to the next. Samples and tokens do not begin anew; where they do, they
    tell how many a mean is of.
    """
    values = [int(pair.value) for pair in pairs]
    if len(values) < _FEWEST_POINTS or (len(set(values)) < 2 and not _is_twofold(pairs)):
        return False
    falls = sum(later < before for before, later in pairwise(values))
    within = zip(pairwise(values), pairwise(outer), strict=True)
    rises = sum(later > before for (before, later), (epoch, next_epoch) in within if epoch == next_epoch)
    if pairs[0].name.lower().endswith("s"):  # which may be an amount: the steps of an episode
        rows, epochs = np.arange(len(values)), np.array(outer)
        if goes_up_and_down(Column(np.array(values, float), rows), Column(epochs, rows)):
            return False
    if axis_of(rank) != "step":
        return _RARE_FALLS * falls <= len(values)
    return falls <= 2 * rises + 1 or _is_twofold(pairs)


def _is_twofold(occurrences: Sequence[Pair]) -> bool:
    """Whether what it counts up to is what grows: the batch, behind its epoch."""
    n_values, n_ends = len({pair.value for pair in occurrences}), len({pair.of for pair in occurrences})
    return n_ends > max(_FEWEST_STEPS, n_values) and occurrences[0].name != "progress"


def _repeats(all_records: Iterable[Record], course: Course, trains: bool) -> bool:
    """Whether records of one shape stand at steps that grow.

    Solvers, benchmarks and servers print such ones, too: names that nobody knows will do only where the log
    ``trains`` something by what else it says.
    """
    seen, others = dict[tuple[str, ...], list[int]](), dict[tuple[str, ...], list[int]]()
    for record in all_records:
        step, _ = course.step(record)
        losses = (n for n in record.shape if "loss" in n.lower() or role_of(n) in LOSSES)
        is_loss = any(last_word(n) not in _OF_SOLVERS for n in losses)
        if step is not None and record.is_training and (trains or is_loss or record.epoch):
            steps = seen.setdefault(record.shape, [])
            steps.append(step)
            # less often is enough where it tells the loss of each epoch
            named = record.epoch or (record.counters and record.counters[0][1].name != "progress")
            if len(steps) >= (_FEWEST_EPOCHS if named and is_loss else _FEWEST_LINES) and _grows(steps):
                return True
        elif step is not None and trains and record.measures:  # under names that nobody knows
            unknown = others.setdefault(record.shape, [])
            unknown.append(step)
            if len(unknown) >= _FEWEST_LINES and _grows(unknown):
                return True
    return False


def _tells_one(all_records: Sequence[Record], trains: bool) -> bool:
    """Whether a loss comes again and again, or a score by the clock, or a reward of what ``trains``."""
    losses = [
        pair
        for record in all_records
        for pair in record.pairs
        if "loss" in pair.name.lower()
        or (trains and role_of(pair.name) is Role.OBJECTIVE)
        or (role_of(pair.name) in SCORES and math.isfinite(record.sources[0].time))
    ]
    n_lines = max(Counter(pair.name for pair in losses).values(), default=0)
    return n_lines >= _FEWEST_LINES and len({pair.value for pair in losses}) >= _FEWEST_STEPS


def _grows(steps: list[int]) -> bool:
    rises = sum(later > before for before, later in pairwise(steps))
    falls = sum(later < before for before, later in pairwise(steps))
    return rises >= _FEWEST_STEPS - 1 and rises > 4 * falls


class Course:
    """Where a log is: the step of each of its records, given in their order.

    Only the counters of the ``plan`` count. Where phases are told apart, an evaluation stands where the
    training is; a twofold counter tells the epoch and the batch in it (``Batch 3/100``, where no batch is
    the last).
    """

    def __init__(self, plan: Plan) -> None:
        self.counter, self.axis = "", "step"
        self._plan = plan
        self._rank = _NO_RANK
        self.launch()

    def launch(self) -> None:
        """Begins anew: what another launch tells before its first step is none of the launch before it."""
        self.last: int | None = None
        self._epoch, self._epochs, self._passes, self._epoch_logged = 0.0, Epochs(), False, False
        self._count = Pair("", -1.0)

    @property
    def place(self) -> tuple[int | None, float, float]:
        """The step, and the epoch and the count that it was told by."""
        return self.last, self._epoch, self._count.value

    def is_behind(self, place: tuple[int | None, float, float], *, counted: bool) -> bool:
        """Whether the log is no further than it was, by its steps or by what was ``counted``."""
        step, epoch, count = place
        if counted:
            return self._count.value <= count and (self._passes or self._epoch <= epoch)
        return self.last is None or step is None or self.last <= step

    def state(self) -> Any:
        """Where the log is, as JSON."""
        place = self.counter, self.axis, self._rank, self.last
        return *place, self._epoch, self._epochs.state(), self._passes, self._epoch_logged, self._count

    def restore(self, state: Any) -> None:
        """Goes on from a state."""
        self.counter, self.axis, self._rank, self.last, self._epoch, epochs, *rest, count = state
        self._passes, self._epoch_logged = rest
        self._epochs.restore(epochs)
        self._count = Pair(*count)

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether it holds what counts in this log."""
        plan, epoch = self._plan, record.epoch
        evaluation = plan.phases and bool(record.evaluation)
        if epoch and math.isfinite(epoch.value) and not (evaluation and self.last is not None):
            if not self._epoch_logged and self._count in (pair for _, pair in record.counters):
                self._epochs = Epochs()  # a bar that was drawn before it knew its epoch is drawn again
            self._epoch, self._passes, self._epoch_logged = epoch.value, False, True
        known = False
        for rank, pair in record.counters:
            if key_of(pair) in plan.counters:
                known = True
                if rank <= self._rank and not (evaluation and self.last is not None and self._is_other(pair)):
                    self._count_on(rank, pair, epoch is not None)
                    return self.last, True
        if epoch and self._rank == _NO_RANK and epoch.value == self._epoch // 1:
            self.last, self.axis, self.counter = int(self._epoch), "epoch", epoch.name
            return self.last, len(record.pairs) > 1
        return self.last, known

    def _is_other(self, pair: Pair) -> bool:
        """Whether a pair does not go on from the last count: an evaluation may count its own batches."""
        before = self._count
        return key_of(pair) != key_of(before) or pair.of != before.of or pair.value < before.value

    def _count_on(self, rank: int, pair: Pair, has_epoch: bool) -> None:
        self._rank, self.counter, self.axis = rank, pair.name, axis_of(rank)
        if self._plan.twofold and key_of(pair) in self._plan.twofold:
            self._epoch, pair = pair.value, Pair(pair.name, pair.of)
        if pair.name.lower().endswith("round"):  # of federated learning: epochs are within it
            self.last = int(pair.value)
        else:
            self.last = self._epochs.step(self._pass(pair, has_epoch), int(pair.value), pair.of)
        self._count = pair

    def _pass(self, pair: Pair, has_epoch: bool) -> float:
        """The epoch of a counter; where none is ever told, whole passes over the batches are counted."""
        before = self._count
        if (self._passes or (not has_epoch and not self._epoch)) and before.of and pair.of == before.of:
            self._passes = True
            self._epoch += pair.value < before.value and before.value >= _WHOLE_PASS * before.of
        return self._epoch


def read(path: Path) -> list[Attempt]:
    """An attempt a launch. A name without a known role that came twice at most is left out, and so is a
    reward or return, which an agent is told again and again.

    Where the line with the arguments of the program, which stands before the first step, comes again with
    whatever numbers, another launch has begun; and where a line tells when a training began.

    Raises BadLog where no line with a step holds another number.
    """
    plan = plan_of(Head.of(path))
    form = plan.is_log, sorted(plan.counters), plan.by_row, plan.phases, sorted(plan.twofold)
    course = Course(plan)  # as the plan says: what was read by another one is not gone on with
    # arguments, the row where rows are counted, names told in it, and in one block with what counts
    own = {"arguments": "", "row": 0, "in_row": {}, "in_blocks": {}, "begun": ""}
    log = Log(path, f"{NAME} {form}", course=course, gatherer=Gatherer(), repeats=Repeats(), **own)
    for record, values, step, known in _placed(log, course, plan):
        arguments, begins = log.own["arguments"], step is None or log.own["begun"] == "launch"
        text = record.sources[0].words if begins or arguments else ""
        words = _VALUE.sub("", text) if text and _ARGUMENTS.search(text) else ""
        given = settings(text, anywhere=bool(words)) if words or begins else {}
        words = words and (" ".join([*given][:_TELLING]) or words)
        if step is None:
            log.own["arguments"] = arguments = arguments or words
        if step is not None and words and words == arguments:
            log.launch(config_facts(given or values))
            course.launch()
        elif begins and (given or (values and known)):
            log.settle(given or values)
        elif step is None or not values or not known:
            heading = record.epoch is not None and not values  # the epoch of the lines that follow
            for line in dict.fromkeys(source.line for source in record.sources):
                log.look(line, understood=heading)
        else:
            for source, numbers in record.by_line(values):
                log.add(source.line, step, numbers, time=source.time, who=source.who)
    log.axis = "row" if plan.by_row else course.axis
    for name, (points, _) in list(log.rows.columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) in (Role.OTHER, Role.OBJECTIVE):
            del log.rows.columns[name]
    _once_an_epoch(log)
    return log.attempts()


def _once_an_epoch(log: Log) -> None:
    """Leaves of what is measured once an epoch, and shown by every bar until the next one, its first showing.

    Such a metric changes once in most of the epochs; one that is frozen does not change.
    """
    columns = log.rows.columns
    told, in_rows = next((c for name, c in columns.items() if name.lower() == "epoch"), ((), ()))
    for name in [*filter(is_judged, columns)] if len(told) else ():
        values, rows = (np.array(cells) for cells in columns[name])
        epochs = np.array(told)[np.maximum(np.searchsorted(in_rows, rows, side="right") - 1, 0)]
        ends = np.flatnonzero(np.append(epochs[1:] != epochs[:-1], True))
        same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
        changes = 1 + np.flatnonzero(~same)
        of_epochs = np.searchsorted(ends, changes)
        often = len(ends) >= _FEWEST_STEPS and len(rows) >= _FEWEST_STEPS * len(ends)
        if often and 2 * len(changes) >= len(ends) and (np.diff(of_epochs) > 0).all():
            unchanged = np.setdiff1d(np.arange(1, len(ends)), of_epochs)
            first = np.unique(np.concatenate([[0], changes, ends[unchanged]]))
            columns[name] = array("d", values[first]), array("i", rows[first].tolist())


def _reached(log: Log, course: Course, plan: Plan, record: Record) -> tuple[int | None, bool]:
    """The step of a record, and whether it holds what counts.

    Behind a line that tells of a beginning, a step that does not grow is the first of another launch.
    """
    so_far, begun = log.own, log.own["begun"]
    before = course.place if begun else (None, 0.0, 0.0)
    step, own = (so_far["row"], False) if plan.by_row else course.step(record)
    if not begun or not (own or plan.by_row):
        return step, own
    so_far["begun"] = ""
    if plan.by_row or course.is_behind(before, counted=begun == "launch"):
        log.launch({})
        course.launch()
        return (step, False) if plan.by_row else course.step(record)
    return step, own


def _placed(
    log: Log, course: Course, plan: Plan
) -> Iterator[tuple[Record, dict[str, float], int | None, bool]]:
    """Each record with its values, its step, and whether it belongs to the training; checkpoints are events.

    Where nothing counts, a name that comes again begins the next row.
    """
    so_far = log.own
    for record in records(log.lines(MAYBE), so_far["gatherer"]):
        if record.form.event in BEGINNINGS:
            so_far["begun"], so_far["repeats"] = record.form.event, Repeats()
            continue
        if so_far["repeats"].again(record):
            continue
        if record.form.event:
            at = record.counters[0][1].value if record.counters else None
            log.event(record.sources[0].line, f"checkpoint-{record.form.event}", checkpoint_step=at)
            continue
        step, own = _reached(log, course, plan, record)
        values = record.numbers(course.counter, plan.phases)
        known = own or any(name in log.rows.columns or is_known(name) for name in values)
        if plan.by_row and known:
            begins = not so_far["in_row"].keys().isdisjoint(values)
            so_far["row"] = step = so_far["row"] + begins
            so_far["in_row"] = dict.fromkeys((*values, *(() if begins else so_far["in_row"])))
        elif record.is_block or record.open:  # the log may have ended in the first line of one
            if course.counter in record.shape:
                so_far["in_blocks"].update(dict.fromkeys(record.shape))
            elif record.open and not so_far["in_blocks"].keys().isdisjoint(record.shape):
                log.truncated = True  # what counts its step is still to come
                return
            if known and not own:
                values = {n: value for n, value in values.items() if n in log.rows.columns or is_known(n)}
        yield record, values, step, known
