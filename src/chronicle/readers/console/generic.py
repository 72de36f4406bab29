"""The reader of any text log that repeats lines of names and numbers: ``step 5 | loss: 2.5 | lr 1e-4``.

It takes what no other reader knows, if `plan` finds that it is the log of a training. Here a record becomes a
row, a setting, an event or the beginning of a launch. Steps that restart in a later epoch continue. Records
without a counter belong to the last step; before the first step they are settings (``config/lr``).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chronicle.metrics.names import role_of
from chronicle.model import Attempt, Role
from chronicle.readers.console.chunks import PossibleRecord
from chronicle.readers.console.counting import Course, Plan, Repeats
from chronicle.readers.console.line_records import LAUNCH, LOADED, REPEATED, RESUMED, TRIAL, Gatherer, Record
from chronicle.readers.console.line_shapes import Form, Learned, Shapes
from chronicle.readers.console.log import Column, Line, Log
from chronicle.readers.console.pairs import PROGRESS, axis_of, is_judged, is_known, last_word, settings
from chronicle.readers.console.plan import plan_of, shapes_of
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.step_axis import once_an_epoch
from chronicle.readers.text import Head

NAME = "key-value"

_FEWEST_POINTS = 3  # of a metric without a role
_MOST_TRIES = 16  # places in a block of lines at which reading in a batch is tried in vain
_ARGUMENTS = re.compile(r"(?i)\b(?:arg(?:ument)?s|config\w*|h(?:yper-?)?param\w*|namespace|seed)\b")
_VALUE = re.compile(r"(?<![-+.\w])[-+.\w]*\d[-+.\w]*")
_FIRST_NAMES = 3  # names of arguments by which a line of them is recognised
_GENERATIONS, _FITNESS = {"gen", "generation", "generations"}, {"best", "avg", "average", "mean", "max"}


def identify(head: Head) -> bool:
    """Whether the text is the log of a training."""
    return plan_of(head).is_log


def read(path: Path) -> list[Attempt]:
    """An attempt for each launch: one begins where a line announces or resumes it, or where the arguments of
    the program are printed again, with whatever values. A metric without a role, or a reward, that occurred
    twice at most is left out. Raises BadLog where no line with a step holds another number."""
    head = Head.of(path)
    plan = plan_of(head)
    course = Course(plan)
    # What another plan has read is not continued.
    names = map(sorted, (plan.counters, plan.twofold, plan.stages))
    form = plan.is_log, plan.by_row, plan.row_counter, plan.phases, plan.outer, *names
    gatherer = Gatherer(shapes_of(head))
    log = Log(path, f"{NAME} {form}", course=course, gatherer=gatherer, repeats=Repeats(), **_first_state())
    for placed in _placed_records(log, course, plan):
        if not _take_settings(log, course, placed):
            _take_row(log, placed)
    log.axis = course.axis
    if plan.of_items:
        log.axis = "item"
        log.fact("rows", "results of the trials of a search, no steps")
    elif plan.by_row and not plan.row_counter:
        log.axis = "row"
    _separate_uncounted(log.rows.columns, log.state["uncounted"])
    for name, (points, _) in list(log.rows.columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) in (Role.OTHER, Role.OBJECTIVE):
            del log.rows.columns[name]
    once_an_epoch(log.rows.columns, [*filter(is_judged, log.rows.columns)])
    if last_word(course.counter) in _GENERATIONS:  # whose best and mean individuals are the objective
        fitness = [name for name in log.rows.columns if last_word(name) in _FITNESS]
        log.rows.roles |= dict.fromkeys(fitness, Role.OBJECTIVE)
    return log.attempts()


def read_line(log: Log, line: Line) -> None:
    """Reads a line that the trainer of a known format did not print: a step with a metric that is judged."""
    record = next(Gatherer().records([line]), None)
    rank, step = record.counters[0] if record and record.counters else (0, None)
    if record is None or step is None or axis_of(rank) != "step" or step.name == PROGRESS:
        log.look_for_fault(line)
        return
    values = record.numbers(step.name, phases=True)
    if not any(map(is_judged, values)) or not log.add(line, int(step.value), values):
        log.look_for_fault(line)


def _first_state() -> dict[str, Any]:
    """What is remembered between records, beside the course of the log, its open block and its repeats."""
    return {
        "arguments": "",  # how the line with the arguments of the program is recognised
        "row": 0, "in_row": {},  # if rows are counted: the last one, and the names that stand in it
        "in_blocks": {},  # names that stand in a block with what counts
        "is_heading": False,  # whether the last count stood alone in its line, above what belongs to it
        "uncounted": {},  # see `_separate_uncounted`
        "begun": "", "resumed": False,  # the event of a launch that may have begun; whether one resumed
        "named_trial": "", "trial": "",  # the training named last, and the one to which the rows belong
    }  # fmt: skip


class Placed(NamedTuple):
    """A record with its values and its step, and whether it belongs to the training and counts itself."""

    record: Record
    values: dict[str, float]
    step: int | None
    is_known: bool
    is_counted: bool


# --- from records to places ---


def _placed_records(log: Log, course: Course, plan: Plan) -> Iterator[Placed]:
    """Each record at its step."""
    state = log.state
    for record in _new_records(log, course, plan):
        step, counted = _step_of(log, course, plan, record)
        values = record.numbers(course.counter, plan.phases)
        if plan.by_row:
            yield _in_row(log, plan, record, values, step)
            continue
        if step is not None:
            values = state["repeats"].without_repeated(record, step, values)
        known = counted or _any_known(log, values)
        state["is_heading"] = not values if counted else state["is_heading"]
        if record.is_block or record.is_open:  # the log may have ended after the first line of a block
            if course.counter in record.shape:
                state["in_blocks"].update(dict.fromkeys(record.shape))
            elif record.is_open and not state["in_blocks"].keys().isdisjoint(record.shape):
                log.truncated = True  # the counter of the block is still to come
                return
            if known and not counted and not state["is_heading"]:
                values = {n: value for n, value in values.items() if _any_known(log, (n,))}
        yield Placed(record, values, step, known, counted)


def _new_records(log: Log, course: Course, plan: Plan) -> Iterator[Record]:
    """The records that say something new. Where a launch may begin is noted, and checkpoints are events."""
    lines = log.lines(PossibleRecord, Batches(log, course, plan))
    for record in log.state["gatherer"].records(lines):
        event = record.form.event
        if event in (LAUNCH, REPEATED, TRIAL):
            _note_beginning(log.state, record.form)
            course.announce_launch()
            continue
        if course.is_unnamed_evaluation(record):
            record.evaluation = record.evaluation or "eval"
        if log.state["repeats"].is_repeat(record):
            continue
        if not event:
            yield record
            continue
        log.state["resumed"] |= event == RESUMED  # who says from where it resumes is another process
        if record.shape:
            at = record.counters[0][1].value if record.counters else None
            what = LOADED if event == RESUMED else event
            log.event(record.sources[0].line, f"checkpoint-{what}", checkpoint_step=at)


def _note_beginning(state: dict[str, Any], form: Form) -> None:
    """Notes that a launch, or one of several trainings, begins if the next count does not continue."""
    begun, state["repeats"] = form.event, Repeats()
    if begun == TRIAL:
        begun = state["begun"] or (REPEATED if form.trial == state["trial"] else "")
        state["named_trial"] = form.trial
    state["begun"] = begun


def _step_of(log: Log, course: Course, plan: Plan, record: Record) -> tuple[int | None, bool]:
    """The step of a record, and whether it counts. After a line that announces a launch, a step that does not
    grow is the first of another launch; after one that resumes, any step is."""
    state, begun, resumed = log.state, log.state["begun"], log.state["resumed"]
    state["named_trial"] = named = record.form.trial or state["named_trial"]
    other_trial = named != state["trial"]
    other_stage = bool(plan.stages) and course.begins_stage(record)
    may_begin = begun or other_trial or other_stage
    before = course.position
    step, counts = (state["row"], False) if plan.by_row else course.step(record)
    if not (may_begin or resumed) or not (counts or plan.by_row):
        return step, counts
    state |= {"begun": "", "resumed": False, "trial": named}
    trial = {"trial": named} if named else {}
    if resumed:
        log.launch(trial)
    is_first = plan.by_row or other_stage or not len(log.rows)
    if may_begin and (is_first or course.is_behind(before, counted=other_trial or begun == LAUNCH)):
        log.launch(trial)
        course.launch()
        state |= {"row": 0, "in_row": {}} if other_trial else {}
        return (state["row"], False) if plan.by_row else course.step(record)
    return step, counts


def _in_row(log: Log, plan: Plan, record: Record, values: dict[str, float], step: int | None) -> Placed:
    """A record where no name counts: a metric that occurs again begins the next row."""
    state, known = log.state, _any_known(log, values)
    if known:
        begins = not state["in_row"].keys().isdisjoint(values)
        state["row"] = step = state["row"] + begins
        state["in_row"] = dict.fromkeys((*values, *(() if begins else state["in_row"])))
        if plan.row_counter in values:
            state["row"] = step = int(values.pop(plan.row_counter))
    return Placed(record, values, step, known, True)


def _any_known(log: Log, names: Iterable[str]) -> bool:
    return any(name in log.rows.columns or is_known(name) for name in names)


# --- what becomes of them ---


def _take_settings(log: Log, course: Course, placed: Placed) -> bool:
    """Keeps the arguments of a program that a record tells; False if it tells none. Known names are arguments
    before the first step and after the announcement of a launch. The same ones again begin a launch."""
    record, values, step, begun = placed.record, placed.values, placed.step, log.state["begun"]
    arguments, at_start = log.state["arguments"], step is None or begun == LAUNCH
    at_start |= bool(begun and not placed.is_counted and log.rows.columns.keys().isdisjoint(values))
    text = record.sources[0].words if at_start or arguments else ""
    words = _VALUE.sub("", text) if text and _ARGUMENTS.search(text) else ""
    given = settings(text, anywhere=bool(words)) if words or at_start else {}
    words = words and (" ".join([*given][:_FIRST_NAMES]) or words)
    if step is None:
        log.state["arguments"] = arguments = arguments or words
    if step is not None and words and words == arguments:
        log.launch(config_facts(given or values))
        course.launch()
        return True
    if at_start and (given or (values and placed.is_known)):
        log.add_settings(given or values)
        return True
    return False


def _take_row(log: Log, placed: Placed) -> None:
    """Adds a record to the rows, or looks for a fault of the machine in its lines."""
    record, values, step = placed.record, placed.values, placed.step
    if step is None or not values or not placed.is_known:
        is_heading = record.epoch is not None and not values  # the epoch of the lines that follow
        for line in dict.fromkeys(source.line for source in record.sources):
            log.look_for_fault(line, understood=is_heading)
        return
    for source, numbers in record.by_line(values):
        added = log.add(source.line, step, numbers, time=source.time, who=source.who)
        if added and not placed.is_counted:
            counters = [record.epoch] if record.epoch else [pair for _, pair in record.counters]
            label = next((pair.name for pair in counters if pair.name != PROGRESS), "summary")
            for name in numbers:
                log.state["uncounted"].setdefault(name, {})[len(log.rows) - 1] = label


def _separate_uncounted(columns: dict[str, Column], uncounted: Mapping[str, Mapping[int, str]]) -> None:
    """Separates a metric that stands beside what counts from one of the same name that does not: the mean of
    an epoch becomes `epoch/loss`, what has no count at all `summary/loss`. That is done if at least as many
    values have a count as have none. ``uncounted``: by metric and row, what the line names instead."""
    for name, labels in uncounted.items():
        values, rows = map(np.array, columns.get(name, ((), ())))
        without_count = np.isin(rows, list(labels))
        n_without = int(without_count.sum())
        if name in labels.values() or not 0 < n_without <= len(rows) - n_without:
            continue
        groups = {name: ~without_count}
        for label in dict.fromkeys(labels.values()):
            groups[f"{label}/{name}"] = np.isin(rows, [row for row, of in labels.items() if of == label])
        for group, of_group in groups.items():
            columns[group] = array("d", values[of_group]), array("i", rows[of_group].tolist())


# --- many lines at once ---


class Batches:
    """Reads lines that differ in their numbers alone at once, as long as the training only goes on."""

    def __init__(self, log: Log, course: Course, plan: Plan) -> None:
        self._log, self._course, self._plan = log, course, plan
        self._tries_left = 0
        self._learned: Learned | None = None
        self._shapes: Shapes | None = None

    def matches(self, lines: Sequence[bytes]) -> list[re.Match[bytes] | None]:
        """The lines of the shape that most of them have, if these count the steps of a training, hold more
        than that, and hold each name once."""
        self._shapes, self._tries_left = self._log.state["gatherer"].shapes, _MOST_TRIES
        self._learned = learned = None if self._plan.by_row else self._shapes.common(lines)
        if learned is None or b"<" in learned.pattern.pattern:  # the line of a bar may be redrawn
            return [None] * len(lines)
        form = learned.reading.form
        is_aside = form.event or (form.evaluation and self._plan.phases)
        is_plain = not is_aside and 0 < form.n_counters < len(form.names) == len(set(form.names))
        return list(map(learned.match, lines)) if is_plain else [None] * len(lines)

    def read(self, matches: Sequence[re.Match[bytes]], numbers: Sequence[int]) -> int:
        """Reads the first of these lines, as many as possible, and returns how many."""
        log, learned, state = self._log, self._learned, self._log.state
        if learned is None or not self._tries_left:
            return 0
        reading, gatherer, repeats = learned.reading, state["gatherer"], state["repeats"]
        places = reading.form.kept.get(self._course.counter)
        may_begin = state["begun"] or state["resumed"]
        may_begin = may_begin or (reading.form.trial or state["named_trial"]) != state["trial"]
        if may_begin or not places or gatherer.is_open or gatherer.shapes is not self._shapes:
            return 0
        if not repeats.goes_on(reading) or not log.leads(places, reading.who):
            return 0
        values, ends = learned.columns(matches)
        steps = self._course.go_on(reading.form, values, ends)
        if n := len(steps):
            all_values = [values.get(i, np.full(n, same))[:n] for i, same in enumerate(reading.values)]
            times = np.array([learned.time(match.string) for match in matches[:n]])
            columns = {name: all_values[place] for name, place in places.items()}
            log.extend(np.array(numbers[:n]), steps, columns, times, reading.who)
            count = self._course.position.at_count
            repeats.pass_on([float(column[-1]) for column in all_values], int(steps[-1]), count)
        self._tries_left -= not n
        return n
