"""Any text log that repeats lines of names and numbers with a counter: ``step 5 | loss: 2.5 | lr 1e-4``.

Only what no other reader knows is read so, and only where the same record comes again and again with a
counter that grows: the best step name in it (`aliases.STEP_NAMES`), else a batch of an epoch, else ``12/100``
without a name. Steps that begin again in a later epoch go on counting. Records without a counter belong to
the last step, or are facts (``config/lr``) before the first. Where nothing counts, but a loss is told again
and again, the rows are counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.metrics.names import LOSSES, role_of
from chronicle.metrics.roles import SCORES
from chronicle.model import Attempt, Floats, Role, Steps
from chronicle.readers.console.chunks import MAYBE, may_be_log, sample
from chronicle.readers.console.line_records import (
    BEGINNINGS,
    FEWEST_EPOCHS,
    RESUMED,
    TRIAL,
    Gatherer,
    Record,
    Repeats,
    bars_of,
    is_stage,
    may_train,
    records,
)
from chronicle.readers.console.line_shapes import Form, Learned, Shapes
from chronicle.readers.console.log import Line, Log, text_of
from chronicle.readers.console.pairs import (
    FEWEST_STEPS,
    Epochs,
    Pair,
    axis_of,
    grows,
    is_judged,
    is_known,
    is_twofold,
    key_of,
    last_word,
    settings,
)
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.step_axis import Column, goes_up_and_down, once_an_epoch
from chronicle.readers.text import Head

NAME = "key-value"

_FEWEST_LINES, MOST_LINES, _FEWEST_POINTS = 8, 6000, 3
_RARE_FALLS = 20  # records between restarts at which samples or tokens begin again
_NO_RANK = 1 << 30
_MOST_TRIES = 16  # places among the lines that are looked at together, where they may be read at once
_MOST_COUNTED = 2.0**53
_NO_STEPS = np.empty(0, np.int64)
_ARGUMENTS = re.compile(r"(?i)\b(?:arg(?:ument)?s|config\w*|h(?:yper-?)?param\w*|namespace|seed)\b")
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
    """What a look at a log says of it. ``phases``: a word beside the names tells evaluations apart;
    ``twofold``: counters that tell an epoch and a batch in it."""

    is_log: bool = False
    counters: frozenset[str] = frozenset()
    by_row: bool = False
    phases: bool = False
    twofold: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()


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
    if not may_train(lines := whole.split(b"\n"), bars=True):
        return Plan()
    trains = any(_TRAINS.search(text) for text in (head.path.name, whole.decode("utf-8", "replace")))
    raw = list(filter(MAYBE.search, lines)) if trains or may_train(lines, bars=False) else []
    windows = (raw[:MOST_LINES], raw[-MOST_LINES:])[: 1 + (len(raw) > MOST_LINES)]
    plans = (_plan_of(window, trains, _shapes_of(head)) for window in windows)
    return next((plan for plan in plans if plan.is_log), Plan())


@lru_cache(maxsize=1)
def _shapes_of(head: Head) -> Shapes:
    """The shapes of lines that a look at a log has learned, for the reading of it."""
    return Gatherer().shapes


def _plan_of(raw: Sequence[bytes], trains: bool, shapes: Shapes) -> Plan:
    lines = (Line(number, text_of(line)) for number, line in enumerate(raw, 1))
    all_records = [record for record in records(lines, Gatherer(shapes)) if not record.form.event]
    training = [record for record in all_records if record.is_training]
    phases = any(not record.evaluation for record in training)
    counters, stages = _counters(all_records)
    twofold = frozenset(key for key, pairs in counters.items() if is_twofold(pairs))
    plan = Plan(True, frozenset(counters), phases=phases, twofold=twofold, stages=frozenset(stages))
    if _repeats(all_records, Course(plan), trains):
        return plan
    uncounted = not counters and not any(record.epoch for record in all_records)
    return Plan(uncounted and _tells_one(training, trains), by_row=True, phases=phases)


def _counters(all_records: Sequence[Record]) -> tuple[dict[str, list[Pair]], list[str]]:
    """What counts in a log, the best first, with all its values, and which of it counts another stage. A
    better name does not count if it comes half as often, beside what a training is judged by, as another one
    or epochs: that places more rows."""
    ranks, pairs_of = dict[str, int](), dict[str, list[Pair]]()
    outer, judged = dict[str, list[float]](), Counter[str]()
    for record in all_records:
        for rank, pair in dict.fromkeys(record.counters):
            key = key_of(pair)
            ranks.setdefault(key, rank)
            pairs_of.setdefault(key, []).append(pair)
            outer.setdefault(key, []).append(record.epoch.value // 1 if record.epoch else 0.0)
            judged[key] += record.is_training
    bars = bars_of(all_records)
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
    stages = [key for key in known[:best] if judged[key] and is_stage(key, {*known[best:]}, all_records)]
    return {key: pairs_of[key] for key in (*stages, *known[best:])}, stages


def _counts(rank: int, pairs: Sequence[Pair], outer: Sequence[float]) -> bool:
    """Whether this counts: several values, not all the same, that rise more often than they fall, except
    where an epoch or episode (``outer``) begins anew. Samples and tokens never begin anew; where they do,
    they say how many a mean is of."""
    values = [int(pair.value) for pair in pairs]
    if len(values) < _FEWEST_POINTS or (len(set(values)) < 2 and not is_twofold(pairs)):
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
    return falls <= 2 * rises + 1 or is_twofold(pairs)


def _repeats(all_records: Iterable[Record], course: Course, trains: bool) -> bool:
    """Whether records of one shape stand at steps that grow. Solvers, benchmarks and servers print such
    records too: unknown names count only where the log ``trains`` something."""
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
            if len(steps) >= (FEWEST_EPOCHS if named and is_loss else _FEWEST_LINES) and grows(steps):
                return True
        elif step is not None and trains and record.measures:  # under names that nobody knows
            unknown = others.setdefault(record.shape, [])
            unknown.append(step)
            if len(unknown) >= _FEWEST_LINES and grows(unknown):
                return True
    return False


def _tells_one(all_records: Sequence[Record], trains: bool) -> bool:
    """Whether a loss comes again and again, or a score by the clock, or a reward of what ``trains``."""
    losses = list[Pair]()
    for record in all_records:
        telling = {Role.OBJECTIVE} if trains else set[Role]()
        telling |= {*SCORES} if math.isfinite(record.sources[0].time) else set()
        losses += [p for p in record.pairs if "loss" in p.name.lower() or role_of(p.name) in telling]
    n_lines = max(Counter(pair.name for pair in losses).values(), default=0)
    return n_lines >= _FEWEST_LINES and len({pair.value for pair in losses}) >= FEWEST_STEPS


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

    def is_left(self, record: Record) -> bool:
        """Whether a record is of another stage, which is counted by a name of its own."""
        own = {key_of(pair) for _, pair in record.counters} & self._plan.counters
        now = self.counter.lower()
        if not (own and now) or now in own or not self._plan.stages & {now, *own}:
            return False
        self._rank = _NO_RANK
        return True

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

    def go_on(self, form: Form, values: Mapping[int, Floats], ends: Mapping[int, Steps]) -> Steps:
        """The steps of the first of many records of a form, as long as they only count on."""
        of = {place: int(ends[place][0]) if place in ends else 0 for _, place, _ in form.ranked}
        keys = {place: key_of(Pair(name, 0.0, of[place])) for _, place, name in form.ranked}
        counting = ((rank, place) for rank, place, _ in form.ranked if keys[place] in self._plan.counters)
        rank, at = next((best for best in counting if best[0] <= self._rank), (_NO_RANK, -1))
        before, others = self._count, [values.get(place) for place in (*of, *[form.epoch][form.epoch < 0 :])]
        if rank != self._rank or at < 0 or any(column is None for column in others):
            return _NO_STEPS
        is_other = (form.names[at], of[at]) != (before.name, before.of) or keys[at] in self._plan.twofold
        if is_other or not self._epochs.is_at(self._epoch) or before.name.lower().endswith("round"):
            return _NO_STEPS
        counts = values[at]
        goes_on = counts > np.append(before.value, counts[:-1])
        for place, end in of.items():
            goes_on &= (values[place] % 1 == 0) & (values[place] >= 0) & (values[place] < _MOST_COUNTED)
            goes_on &= ends[place] == end if place in ends else True
        if form.epoch >= 0:
            goes_on &= (values[form.epoch] == self._epoch) & self._epoch_logged
        n = len(counts) if goes_on.all() else int(goes_on.argmin())
        if not n:
            return _NO_STEPS
        steps = self._epochs.go_on(counts[:n].astype(np.int64))
        self.last, self._count = int(steps[-1]), before._replace(value=float(counts[n - 1]))
        self._passes = form.epoch < 0 and (self._passes or (before.of > 0 and not self._epoch))
        return steps

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


class Stretches:
    """Reads at once the lines that differ in their numbers alone, as long as the training only goes on."""

    def __init__(self, log: Log, course: Course, plan: Plan) -> None:
        self._log, self._course, self._plan = log, course, plan
        self._tries = 0
        self._learned: Learned | None = None
        self._shapes: Shapes | None = None

    def alike(self, lines: Sequence[bytes]) -> list[re.Match[bytes] | None]:
        """The lines of the shape that most of them have, where each of these is a record that counts."""
        self._shapes, self._tries = self._log.own["gatherer"].shapes, _MOST_TRIES
        self._learned = learned = None if self._plan.by_row else self._shapes.common(lines)
        if learned is None or b"<" in learned.pattern.pattern:
            return [None] * len(lines)
        form = learned.reading.form
        others = form.event or (form.evaluation and self._plan.phases)
        # its records tell the steps of a training, and more than these, each once
        is_plain = not others and 0 < form.n_counters < len(form.names) == len(set(form.names))
        return list(map(learned.match, lines)) if is_plain else [None] * len(lines)

    def read(self, matches: Sequence[re.Match[bytes]], numbers: Sequence[int]) -> int:
        """Reads the first of these lines, as long as they can be read so; how many there are."""
        log, learned, so_far = self._log, self._learned, self._log.own
        if learned is None or not self._tries:
            return 0
        told = learned.reading
        gatherer, repeats = so_far["gatherer"], so_far["repeats"]
        places = told.form.kept.get(self._course.counter)
        begins = so_far["begun"] or so_far["resumed"]
        begins = begins or (told.form.trial or so_far["named"]) != so_far["trial"]
        if begins or not places or gatherer.is_open or gatherer.shapes is not self._shapes:
            return 0
        if not repeats.goes_on(told, told.form.n_counters) or not log.tells_first(places, told.who):
            return 0
        if so_far["arguments"] and _ARGUMENTS.search(text_of(matches[0].string)):
            return 0
        values, ends = learned.columns(matches)
        steps = self._course.go_on(told.form, values, ends)
        if n := len(steps):
            all_values = [values.get(i, np.full(n, same))[:n] for i, same in enumerate(told.values)]
            times = np.array([learned.time(match.string) for match in matches[:n]])
            columns = {name: all_values[place] for name, place in places.items()}
            log.extend(np.array(numbers[:n]), steps, columns, times, told.who)
            repeats.pass_on([float(column[-1]) for column in all_values])
        self._tries -= not n
        return n


def read(path: Path) -> list[Attempt]:
    """An attempt a launch: one begins where a line announces or resumes it, or where the line with the
    arguments of the program comes again, with whatever numbers. A name without a role that came twice at most
    is left out, and so is a reward. Raises BadLog where no line with a step holds another number."""
    head = Head.of(path)
    plan, gatherer = plan_of(head), Gatherer(_shapes_of(head))
    names = map(sorted, (plan.counters, plan.twofold, plan.stages))
    form = plan.is_log, plan.by_row, plan.phases, *names
    course = Course(plan)  # as the plan says: what was read by another one is not gone on with
    # arguments, the row where rows are counted, names told in it, and in one block with what counts
    own = {"arguments": "", "row": 0, "in_row": {}, "in_blocks": {}, "begun": "", "resumed": False}
    own |= {"named": "", "trial": ""}  # the training that was named last, and the one that the rows are of
    log = Log(path, f"{NAME} {form}", course=course, gatherer=gatherer, repeats=Repeats(), **own)
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
    once_an_epoch(log.rows.columns, [*filter(is_judged, log.rows.columns)])
    return log.attempts()


def _reached(log: Log, course: Course, plan: Plan, record: Record) -> tuple[int | None, bool]:
    """The step of a record, and whether it holds what counts. Behind a line that announces a launch, a step
    that does not grow is the first of another one; behind one that resumes, any step is."""
    so_far, begun, resumed = log.own, log.own["begun"], log.own["resumed"]
    so_far["named"] = named = record.form.trial or so_far["named"]
    other, left = named != so_far["trial"], bool(plan.stages) and course.is_left(record)
    begins = begun or other or left
    before = course.place if begins else (None, 0.0, 0.0)
    step, own = (so_far["row"], False) if plan.by_row else course.step(record)
    if not (begins or resumed) or not (own or plan.by_row):
        return step, own
    so_far |= {"begun": "", "resumed": False, "trial": named}
    trial = {"trial": named} if named else {}
    if resumed:
        log.launch(trial)
    first = plan.by_row or left or not len(log.rows)
    if begins and (first or course.is_behind(before, counted=other or begun == "launch")):
        log.launch(trial)
        course.launch()
        so_far |= {"row": 0, "in_row": {}} if other else {}
        return (so_far["row"], False) if plan.by_row else course.step(record)
    return step, own


def _begin(so_far: dict[str, Any], form: Form) -> None:
    """Notes that a launch or a training of several begins, where what follows does not go on counting."""
    begun, so_far["repeats"] = form.event, Repeats()
    if begun == TRIAL:
        begun = so_far["begun"] or "again" * (form.trial == so_far["trial"])
        so_far["named"] = form.trial
    so_far["begun"] = begun


def _happen(log: Log, record: Record) -> None:
    """Notes that a checkpoint was saved or loaded; who tells from where it goes on is another process."""
    log.own["resumed"] |= record.form.event == RESUMED
    if record.shape:
        at = record.counters[0][1].value if record.counters else None
        what = record.form.event.replace(RESUMED, "loaded")
        log.event(record.sources[0].line, f"checkpoint-{what}", checkpoint_step=at)


def _placed(
    log: Log, course: Course, plan: Plan
) -> Iterator[tuple[Record, dict[str, float], int | None, bool]]:
    """Each record with its values, its step, and whether it belongs to the training; checkpoints become
    events. Where nothing counts, a name that comes again begins the next row."""
    so_far = log.own
    for record in records(log.lines(MAYBE, Stretches(log, course, plan)), so_far["gatherer"]):
        if record.form.event in (*BEGINNINGS, TRIAL):
            _begin(so_far, record.form)
            continue
        if so_far["repeats"].again(record):
            continue
        if record.form.event:
            _happen(log, record)
            continue
        step, own = _reached(log, course, plan, record)
        values = record.numbers(course.counter, plan.phases)
        values = values if own or plan.by_row else log.without_amounts(values)
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
