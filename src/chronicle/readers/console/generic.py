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
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chronicle.metrics.names import LOSSES, role_of
from chronicle.metrics.roles import SCORES
from chronicle.model import Attempt, Role
from chronicle.readers.console import line_records, pairs
from chronicle.readers.console.chunks import MAYBE, may_be_log, sample
from chronicle.readers.console.counting import Course, Plan, Repeats
from chronicle.readers.console.line_records import Gatherer, Record, bars_of, is_stage, may_train, records
from chronicle.readers.console.line_shapes import Form, Learned, Shapes
from chronicle.readers.console.log import Column as LogColumn
from chronicle.readers.console.log import Line, Log, text_of
from chronicle.readers.console.pairs import Pair, is_judged, is_known, key_of, last_word, settings
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.runs_in_table import names_an_evaluation
from chronicle.readers.step_axis import Column, goes_up_and_down, is_whole, once_an_epoch
from chronicle.readers.text import Head

NAME = "key-value"

_FEWEST_LINES, MOST_LINES, _FEWEST_POINTS = 8, 6000, 3
_FEWEST_STEPS = 4  # by which it is known what counts
_RARE_FALLS = 20  # records between restarts at which samples or tokens begin again
_MOST_TRIES = 16  # places among the lines that are looked at together, where they may be read at once
_ARGUMENTS = re.compile(r"(?i)\b(?:arg(?:ument)?s|config\w*|h(?:yper-?)?param\w*|namespace|seed)\b")
_VALUE = re.compile(r"(?<![-+.\w])[-+.\w]*\d[-+.\w]*")
_GENERATIONS, _FITNESS = {"gen", "generation", "generations"}, {"best", "avg", "average", "mean", "max"}
_FIRST_NAMES = 3  # names of arguments by which a line of them is known again
# The result of a trial of a search: "Trial 5 finished with value: 0.2 and parameters: {"
_RESULT = re.compile(r"(?i)[^\w\n]{0,8}trial\b.{0,200}\bparam(?:eter)?s\b.{0,8}\{")
_OF_SOLVERS = {"objective", "cost", "error", "gap"}  # losses that other programs tell, too
# What a log of a training, and of nothing else that counts and measures, speaks of.
_TRAINS = re.compile(
    r"(?<![a-z])(?:(?:pre)?train|epoch|episod|generation|gen\b|population|fitness|reward|agent|optimi[sz]er|adam|sgd"
    r"|neural|network|layer|likelihood|logprob|learning.rate)",
    re.IGNORECASE,
)


def identify(head: Head) -> bool:
    """Records of one shape, with a metric that is known by its name, at steps that grow."""
    return may_be_log(head) and plan_of(head).is_log


@lru_cache(maxsize=256)
def plan_of(head: Head) -> Plan:
    """How a log is to be read. Raises OSError. Where its first lines tell nothing (an environment, a
    configuration, a list of layers), those at the end of the sample are asked."""
    whole, _, _ = sample(head).rpartition(b"\n")  # what follows may be cut
    if not may_train(lines := whole.split(b"\n"), bars=True):
        return Plan()
    trains = any(_TRAINS.search(text) for text in (head.path.name, whole.decode("utf-8", "replace")))
    raw = list(filter(MAYBE.search, lines)) if trains or may_train(lines, bars=False) else []
    best = Plan()
    for window in (raw[:MOST_LINES], raw[-MOST_LINES:])[: 1 + (len(raw) > MOST_LINES)]:
        plan = _plan_of(window, trains, _shapes_of(head))
        if plan.is_log and not plan.by_row:  # a configuration that comes again may look like rows of losses
            return plan
        best = best if best.is_log else plan
    return best


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
    twofold = frozenset(key for key, pairs_of in counters.items() if _is_twofold(pairs_of))
    plan = Plan(True, frozenset(counters), phases=phases, twofold=twofold, stages=frozenset(stages))
    if _repeats(all_records, Course(plan), trains):
        return plan
    if counters or any(record.epoch for record in all_records):
        return Plan()
    results = sum(bool(_RESULT.match(record.sources[0].words)) for record in all_records)
    if results >= _FEWEST_LINES and 2 * results > len(all_records):  # most lines tell that of a trial
        return Plan(True, by_row=True, of_items=True)
    is_log = _repeats_a_loss(training, trains)
    row_counter = _counter_by_values(training) if is_log else ""
    return Plan(is_log, by_row=True, row_counter=row_counter, phases=phases)


def _counter_by_values(training: Sequence[Record]) -> str:
    """The first name of most records, if its whole numbers only grow; "" otherwise. No other name counts."""
    shape, n_records = Counter(record.shape for record in training).most_common(1)[0]
    values = np.array([record.values[0] for record in training if record.shape == shape])
    counts = n_records >= _FEWEST_LINES and is_whole(values).all() and (np.diff(values) > 0).all()
    return shape[0] if counts and len(shape) > 1 and not is_known(shape[0]) else ""


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
    of_training = [key for key in known if not names_an_evaluation(key)]
    known = of_training or known[: len(known) * (not any(record.epoch for record in all_records))]
    most = max((judged[key] for key in known), default=0) or max((len(pairs_of[k]) for k in known), default=0)
    best = next((i for i, key in enumerate(known) if 2 * len(pairs_of[key]) >= most), 0)
    stages = [key for key in known[:best] if judged[key] and is_stage(key, {*known[best:]}, all_records)]
    return {key: pairs_of[key] for key in (*stages, *known[best:])}, stages


def _counts(rank: int, occurrences: Sequence[Pair], outer: Sequence[float]) -> bool:
    """Whether this counts: several values, not all the same, that rise more often than they fall, except
    where an epoch or episode (``outer``) begins anew. Samples and tokens never begin anew; where they do,
    they say how many a mean is of."""
    values = [int(pair.value) for pair in occurrences]
    if len(values) < _FEWEST_POINTS or (len(set(values)) < 2 and not _is_twofold(occurrences)):
        return False
    falls = sum(later < before for before, later in pairwise(values))
    within = zip(pairwise(values), pairwise(outer), strict=True)
    rises = sum(later > before for (before, later), (epoch, next_epoch) in within if epoch == next_epoch)
    if occurrences[0].name.lower().endswith("s"):  # which may be an amount: the steps of an episode
        rows, epochs = np.arange(len(values)), np.array(outer)
        if goes_up_and_down(Column(np.array(values, float), rows), Column(epochs, rows)):
            return False
    if pairs.axis_of(rank) != "step":
        return _RARE_FALLS * falls <= len(values)
    return falls <= 2 * rises + 1 or _is_twofold(occurrences)


def _grows(steps: list[int], fewest: int) -> bool:
    """Whether these are enough steps that grow a few times, and far more often than they fall."""
    rises = sum(later > before for before, later in pairwise(steps))
    falls = sum(later < before for before, later in pairwise(steps))
    return len(steps) >= fewest and rises >= _FEWEST_STEPS - 1 and rises > 4 * falls


def _is_twofold(occurrences: Sequence[Pair]) -> bool:
    """Whether what it counts up to is what grows: the batch, behind its epoch."""
    n_values, n_ends = len({pair.value for pair in occurrences}), len({pair.of for pair in occurrences})
    return n_ends > max(_FEWEST_STEPS, n_values) and occurrences[0].name != "progress"


def _repeats(all_records: Iterable[Record], course: Course, trains: bool) -> bool:
    """Whether records of one shape stand at steps that grow. Solvers, benchmarks and servers print such
    records too: unknown names count only where the log ``trains`` something."""
    seen, others = dict[tuple[object, ...], list[int]](), dict[tuple[str, ...], list[int]]()
    for record in all_records:
        step, _ = course.step(record)
        losses = (n for n in record.shape if "loss" in n.lower() or role_of(n) in LOSSES)
        is_loss = any(last_word(n) not in _OF_SOLVERS for n in losses)
        if step is not None and record.is_training and (trains or is_loss or record.epoch):
            steps = seen.setdefault((record.shape, record.evaluation), [])
            steps.append(step)
            # less often is enough where it tells the loss of each epoch
            named = record.epoch or (record.counters and record.counters[0][1].name != "progress")
            if _grows(steps, line_records.FEWEST_EPOCHS if named and is_loss else _FEWEST_LINES):
                return True
        elif step is not None and trains and record.measures:  # under names that nobody knows
            unknown = others.setdefault(record.shape, [])
            unknown.append(step)
            if _grows(unknown, _FEWEST_LINES):
                return True
    return False


def _repeats_a_loss(all_records: Sequence[Record], trains: bool) -> bool:
    """Whether a loss comes again and again, or a score by the clock, or a reward of what ``trains``."""
    losses = list[Pair]()
    for record in all_records:
        judged = (Role.OBJECTIVE,) * trains + SCORES * math.isfinite(record.sources[0].time)
        losses += [p for p in record.pairs if "loss" in p.name.lower() or role_of(p.name) in judged]
    n_lines = max(Counter(pair.name for pair in losses).values(), default=0)
    return n_lines >= _FEWEST_LINES and len({pair.value for pair in losses}) >= _FEWEST_STEPS


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
        log, learned, state = self._log, self._learned, self._log.own
        if learned is None or not self._tries:
            return 0
        reading = learned.reading
        gatherer, repeats = state["gatherer"], state["repeats"]
        places = reading.form.kept.get(self._course.counter)
        begins = state["begun"] or state["resumed"]
        begins = begins or (reading.form.trial or state["named"]) != state["trial"]
        if begins or not places or gatherer.is_open or gatherer.shapes is not self._shapes:
            return 0
        if not repeats.goes_on(reading) or not log.is_leading_rank(places, reading.who):
            return 0
        if state["arguments"] and _ARGUMENTS.search(text_of(matches[0].string)):
            return 0
        values, ends = learned.columns(matches)
        steps = self._course.go_on(reading.form, values, ends)
        if n := len(steps):
            all_values = [values.get(i, np.full(n, same))[:n] for i, same in enumerate(reading.values)]
            times = np.array([learned.time(match.string) for match in matches[:n]])
            columns = {name: all_values[place] for name, place in places.items()}
            log.extend(np.array(numbers[:n]), steps, columns, times, reading.who)
            count = self._course.place[2]
            repeats.pass_on([float(column[-1]) for column in all_values], int(steps[-1]), count)
        self._tries -= not n
        return n


def read(path: Path) -> list[Attempt]:
    """An attempt a launch: one begins where a line announces or resumes it, or where the line with the
    arguments of the program comes again, with whatever numbers. A name without a role that came twice at most
    is left out, and so is a reward. Raises BadLog where no line with a step holds another number."""
    head = Head.of(path)
    plan, gatherer = plan_of(head), Gatherer(_shapes_of(head))
    names = map(sorted, (plan.counters, plan.twofold, plan.stages))
    form = plan.is_log, plan.by_row, plan.row_counter, plan.phases, *names
    course = Course(plan)  # as the plan says: what was read by another one is not gone on with
    # arguments, the row where rows are counted, names told in it, and in one block with what counts
    own = {"arguments": "", "row": 0, "in_row": {}, "in_blocks": {}, "begun": "", "resumed": False}
    # see `_set_apart`; whether the last count stands alone in its line, as the heading of what follows
    own |= {"uncounted": {}, "headed": False}
    own |= {"named": "", "trial": ""}  # the training that was named last, and the one that the rows are of
    log = Log(path, f"{NAME} {form}", course=course, gatherer=gatherer, repeats=Repeats(), **own)
    for placed in _placed(log, course, plan):
        if not _take_settings(log, course, placed):
            _take(log, placed)
    log.axis = course.axis
    if plan.of_items:
        log.axis = "item"
        log.fact("rows", "results of the trials of a search, no steps")
    elif plan.by_row and not plan.row_counter:
        log.axis = "row"
    _set_apart(log.rows.columns, log.own["uncounted"])
    for name, (points, _) in list(log.rows.columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) in (Role.OTHER, Role.OBJECTIVE):
            del log.rows.columns[name]
    once_an_epoch(log.rows.columns, [*filter(is_judged, log.rows.columns)])
    if last_word(course.counter) in _GENERATIONS:  # of which the best and the mean are the fitness
        fitness = [name for name in log.rows.columns if last_word(name) in _FITNESS]
        log.rows.roles |= dict.fromkeys(fitness, Role.OBJECTIVE)
    return log.attempts()


def _take_settings(log: Log, course: Course, placed: Placed) -> bool:
    """Keeps the arguments of a program that a record tells; False where it tells none. What has known names
    counts as such before the first step, and behind the line that announces a launch; the same arguments
    told again begin a launch."""
    record, values, step, begun = placed.record, placed.values, placed.step, log.own["begun"]
    arguments, begins = log.own["arguments"], step is None or begun == "launch"
    begins |= bool(begun and not placed.is_counted and log.rows.columns.keys().isdisjoint(values))
    text = record.sources[0].words if begins or arguments else ""
    words = _VALUE.sub("", text) if text and _ARGUMENTS.search(text) else ""
    given = settings(text, anywhere=bool(words)) if words or begins else {}
    words = words and (" ".join([*given][:_FIRST_NAMES]) or words)
    if step is None:
        log.own["arguments"] = arguments = arguments or words
    if step is not None and words and words == arguments:
        log.launch(config_facts(given or values))
        course.launch()
        return True
    if begins and (given or (values and placed.is_known)):
        log.settle(given or values)
        return True
    return False


def _take(log: Log, placed: Placed) -> None:
    """Adds a record to the rows, or looks for a fault of the machine in its lines."""
    record, values, step = placed.record, placed.values, placed.step
    if step is None or not values or not placed.is_known:
        heading = record.epoch is not None and not values  # the epoch of the lines that follow
        for line in dict.fromkeys(source.line for source in record.sources):
            log.look(line, understood=heading)
        return
    for source, numbers in record.by_line(values):
        added = log.add(source.line, step, numbers, time=source.time, who=source.who)
        if added and not placed.is_counted:
            others = [record.epoch] if record.epoch else [pair for _, pair in record.counters]
            label = next((pair.name for pair in others if pair.name != "progress"), "summary")
            for name in numbers:
                log.own["uncounted"].setdefault(name, {})[len(log.rows) - 1] = label


def _set_apart(columns: dict[str, LogColumn], uncounted: Mapping[str, Mapping[int, str]]) -> None:
    """Leaves of a metric that is told with the count at least as often as without what was told with it. The
    rest is another metric: the mean of an epoch is `epoch/loss`, what has no count at all `summary/loss`.
    ``uncounted``: by metric and row, what the line names instead of the count."""
    for name, labels in uncounted.items():
        values, rows = map(np.array, columns.get(name, ((), ())))
        apart = np.isin(rows, list(labels))
        if last_word(name) in pairs.EPOCHS or not 0 < apart.sum() <= (~apart).sum():
            continue
        groups = {name: ~apart}
        for label in dict.fromkeys(labels.values()):
            groups[f"{label}/{name}"] = np.isin(rows, [row for row, of in labels.items() if of == label])
        for group, of_group in groups.items():
            columns[group] = array("d", values[of_group]), array("i", rows[of_group].tolist())


def _step_of(log: Log, course: Course, plan: Plan, record: Record) -> tuple[int | None, bool]:
    """The step of a record, and whether it holds what counts. Behind a line that announces a launch, a step
    that does not grow is the first of another one; behind one that resumes, any step is."""
    state, begun, resumed = log.own, log.own["begun"], log.own["resumed"]
    state["named"] = named = record.form.trial or state["named"]
    other, left = named != state["trial"], bool(plan.stages) and course.is_left(record)
    begins = begun or other or left
    before = course.place if begins else (None, 0.0, 0.0)
    step, own = (state["row"], False) if plan.by_row else course.step(record)
    if not (begins or resumed) or not (own or plan.by_row):
        return step, own
    state |= {"begun": "", "resumed": False, "trial": named}
    trial = {"trial": named} if named else {}
    if resumed:
        log.launch(trial)
    first = plan.by_row or left or not len(log.rows)
    if begins and (first or course.is_behind(before, counted=other or begun == "launch")):
        log.launch(trial)
        course.launch()
        state |= {"row": 0, "in_row": {}} if other else {}
        return (state["row"], False) if plan.by_row else course.step(record)
    return step, own


def _note_beginning(state: dict[str, Any], form: Form) -> None:
    """Notes that a launch or a training of several begins, where what follows does not go on counting."""
    begun, state["repeats"] = form.event, Repeats()
    if begun == line_records.TRIAL:
        begun = state["begun"] or "again" * (form.trial == state["trial"])
        state["named"] = form.trial
    state["begun"] = begun


def _note_checkpoint(log: Log, record: Record) -> None:
    """Notes that a checkpoint was saved or loaded; who tells from where it goes on is another process."""
    log.own["resumed"] |= record.form.event == line_records.RESUMED
    if record.shape:
        at = record.counters[0][1].value if record.counters else None
        what = record.form.event.replace(line_records.RESUMED, "loaded")
        log.event(record.sources[0].line, f"checkpoint-{what}", checkpoint_step=at)


class Placed(NamedTuple):
    """A record with its values and its step, and whether it belongs to the training and tells what counts."""

    record: Record
    values: dict[str, float]
    step: int | None
    is_known: bool
    is_counted: bool


def _placed(log: Log, course: Course, plan: Plan) -> Iterator[Placed]:
    """Each record in its place."""
    state = log.own
    for record in _new_records(log, course, plan):
        step, counted = _step_of(log, course, plan, record)
        values = record.numbers(course.counter, plan.phases)
        if plan.by_row:
            yield _in_row(log, plan, record, values, step)
            continue
        if step is not None:
            values = state["repeats"].without_repeated(record, step, values)
        known = counted or _is_known(log, values)
        state["headed"] = not values if counted else state["headed"]
        if record.is_block or record.open:  # the log may have ended in the first line of one
            if course.counter in record.shape:
                state["in_blocks"].update(dict.fromkeys(record.shape))
            elif record.open and not state["in_blocks"].keys().isdisjoint(record.shape):
                log.truncated = True  # what counts its step is still to come
                return
            if known and not counted and not state["headed"]:
                values = {n: value for n, value in values.items() if _is_known(log, (n,))}
        yield Placed(record, values, step, known, counted)


def _new_records(log: Log, course: Course, plan: Plan) -> Iterator[Record]:
    """The records that tell something new. Where a launch may begin is noted, and checkpoints are events."""
    for record in records(log.lines(MAYBE, Stretches(log, course, plan)), log.own["gatherer"]):
        if record.form.event in (*line_records.BEGINNINGS, line_records.TRIAL):
            _note_beginning(log.own, record.form)
            course.announce()
            continue
        if course.is_aside(record):
            record.evaluation = record.evaluation or "eval"
        if not log.own["repeats"].is_repeat(record):
            if record.form.event:
                _note_checkpoint(log, record)
            else:
                yield record


def _is_known(log: Log, names: Iterable[str]) -> bool:
    return any(name in log.rows.columns or is_known(name) for name in names)


def _in_row(log: Log, plan: Plan, record: Record, values: dict[str, float], step: int | None) -> Placed:
    """A record where no name counts: a metric that comes again begins the next row."""
    state, known = log.own, _is_known(log, values)
    if known:
        begins = not state["in_row"].keys().isdisjoint(values)
        state["row"] = step = state["row"] + begins
        state["in_row"] = dict.fromkeys((*values, *(() if begins else state["in_row"])))
        if plan.row_counter in values:
            state["row"] = step = int(values.pop(plan.row_counter))
    return Placed(record, values, step, known, True)
