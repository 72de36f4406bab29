"""The reader of any text log that repeats lines of names and numbers: ``step 5 | loss: 2.5 | lr 1e-4``.

It takes what no other reader knows, if `plan` finds that it is the log of a training. Here a record becomes a
row, a setting, an event or the beginning of a launch. Steps that restart in a later epoch continue. Records
without a counter belong to the last step; before the first step they are settings (``config/lr``).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from chronicle.metrics.arithmetic import first_showings, is_new
from chronicle.metrics.names import called, role_of
from chronicle.metrics.roles import SCORES
from chronicle.metrics.values import gathered
from chronicle.model import Attempt, Floats, Role, Steps
from chronicle.readers.console import pairs
from chronicle.readers.console.chunks import PossibleRecord
from chronicle.readers.console.counting import LABEL, Counting, Repeats
from chronicle.readers.console.line_records import OF_TRAINING, Gatherer, Record
from chronicle.readers.console.line_shapes import Event, Learned
from chronicle.readers.console.log import Cells, Log, leave_first_of_epoch
from chronicle.readers.console.pairs import IMPROVED, PROGRESS, is_judged, is_known, is_result
from chronicle.readers.console.plan import plan_of, shapes_of
from chronicle.readers.facts import Scalar, arguments_in, config_facts
from chronicle.readers.runs_in_table import held_out_by_file, roles_by_program
from chronicle.readers.text import Head, json_or_none

NAME = "key-value"

_FEWEST_POINTS = 3  # of a metric without a role
_MOSTLY = 0.8  # of the steps of a bar
_MOST_TRIES = 16  # places in a block of lines at which reading in a batch is tried in vain
_ARGUMENTS = re.compile(r"(?i)\b(?:arg(?:ument)?s|config\w*|h(?:yper-?)?param\w*|namespace|seed)\b")
_PARAMETERS = re.compile(r"(?i)\b(?<!best )param(?:eter)?s[:= ]{1,3}\{")  # an optimiser may print its own
_NAMES = re.compile(r"\b([A-Za-z_][\w.-]{0,80})(?:\s?=|[\"']\s?:)")
_VALUE = re.compile(r"(?<![-+.\w])[-+.\w]*\d[-+.\w]*")
_RECENT_ROWS, _PAUSE_TIMES = 64, 10.0  # a process that starts again takes longer than a row
_FIRST_NAMES = 3  # names of arguments by which a line of them is recognised


def identify(head: Head) -> bool:
    """Whether the text is the log of a training, and no JSON document: its lines do not follow each other."""
    if head.n_numbers < _FEWEST_POINTS:
        return False
    is_whole = head.size == len(head.start) and head.start.lstrip()[:1] in (b"{", b"[")
    return not (is_whole and json_or_none(head.start)) and plan_of(head).is_log


def read(path: Path) -> list[Attempt]:
    """Reads an attempt for each launch: one begins where a line announces or resumes it, or where the
    arguments of the program are printed again. A metric without a role, or a reward, is left out if it occurs
    less than three times. Raises BadLog if no line with a step contains another number."""
    reader = LogReader(path)
    reader.read_all()
    log, plan, columns = reader.log, reader.plan, reader.log.rows.cells()
    log.axis, log.called = reader.counting.axis, called(reader.counting.counter)
    if plan.of_items:
        log.axis = "item"
        log.fact("rows", "results of trials or trainings, no steps")
    elif plan.by_row and not plan.row_counter:
        log.axis = "row"
    _separate_uncounted(columns, np.array(log.rows.steps), reader.uncounted)
    for name, (points, _) in list(columns.items()):
        if len(points) < _FEWEST_POINTS and role_of(name) in (Role.OTHER, Role.OBJECTIVE):
            del columns[name]
    leave_first_of_epoch(columns, [*filter(is_judged, columns)])
    if reader.counting.counter == PROGRESS:
        _settle_bars(log, columns)
    _name_improvements(columns)
    columns = held_out_by_file(path, columns)
    log.rows.roles |= roles_by_program(columns, reader.counting.counter)
    log.rows.replace_cells(columns)
    return log.attempts()


def _name_improvements(columns: dict[str, Cells]) -> None:
    """Renames losses that are only logged when they are the best so far: they are the course if no other loss
    is logged, else a repetition. As they can only fall, scores that are logged more often come before
    them."""
    logged = {role_of(name) for name in columns if IMPROVED not in name}
    n_scores = max((len(points) for n, (points, _) in columns.items() if role_of(n) in SCORES), default=0)
    for name in [name for name in columns if IMPROVED in name]:
        points, own = columns.pop(name), name.replace(IMPROVED, "")
        if role_of(own) not in logged:
            is_course = Role.LOSS in logged or len(points[0]) >= n_scores
            columns[own if is_course else f"best {own}"] = points


def _separate_uncounted(
    columns: dict[str, Cells], steps: Steps, uncounted: Mapping[str, Mapping[int, str]]
) -> None:
    """Gives metrics in lines without a count names of their own (`epoch/loss`, `summary/loss`) if as many
    have a count, some at the same steps. ``uncounted`` says by metric and row what the lines name instead,
    ``steps`` are those of all rows."""
    for name in filter(columns.__contains__, uncounted):
        labels, (values, rows) = uncounted[name], columns[name]
        without = np.isin(rows, list(labels))
        are_few = 0 < 2 * np.count_nonzero(without) <= len(rows) and name not in labels.values()
        if are_few and np.isin(steps[rows[without]], steps[rows[~without]]).any():
            columns[name] = values[~without], rows[~without]
            for label, of_label in gathered((label, row) for row, label in labels.items()).items():
                own = np.isin(rows, of_label)
                columns[f"{label}/{name}"] = values[own], rows[own]


def _settle_bars(log: Log, columns: dict[str, Cells]) -> None:
    """Leaves each number that bars show once, at its step."""
    steps = np.array(log.rows.steps)
    results = [name for name in columns if is_result(name) and IMPROVED not in name]
    for name in results:  # shown again until it is given a new number, every so many counts
        values, rows = columns[name]
        if (first := first_showings(values, in_bar=True)) is not None:
            columns[name] = values[first], rows[first]
    if results:
        values, rows = columns[max(results, key=lambda name: len(columns[name][1]))]
        steps[rows] = _without_lag(steps[rows], values)
        log.rows.steps = array("q", steps.tobytes())
    _leave_newest(columns, results, steps)
    for epochs, in_rows in (columns[name] for name in filter(pairs.names_epoch, columns)):
        if len({*(steps[in_rows] - epochs)}) == 1 < len(in_rows):  # the bar's count is named here
            log.axis = "epoch"


def _leave_newest(columns: dict[str, Cells], names: Iterable[str], steps: Steps) -> None:
    """Leaves out what a bar shows again at a count, and what it still shows of the count before, until it is
    given new numbers. ``steps`` are those of all rows."""
    for name in names:
        values, rows = columns[name]
        new = is_new(steps[rows], values)
        values, rows = values[new], rows[new]
        moves, changes = np.diff(steps[rows]) != 0, values[1:] != values[:-1]
        is_old = (moves & ~changes)[:-1] & (~moves & changes)[1:]
        newest = np.concatenate([[True], ~is_old, [True]])[: len(rows)]
        columns[name] = values[newest], rows[newest]


def _without_lag(steps: Steps, values: Floats) -> Steps:
    """The steps of a bar that is given new numbers at each step but counts on only ten times a second, if it
    then counts on by about as many as it was given, and never by fewer."""
    begins, new = np.flatnonzero(np.diff(steps, prepend=-1)), is_new(steps, values)
    n_given, n_steps = np.add.reduceat(new, begins)[:-1], np.diff(steps[begins])
    lags = n_given > 1
    are_few = np.count_nonzero(lags) < _FEWEST_POINTS or n_given[lags].sum() < _MOSTLY * n_steps[lags].sum()
    if are_few or (n_given > n_steps)[lags].any():
        return steps
    rows = np.arange(len(steps))
    group = np.searchsorted(begins, rows, side="right") - 1
    return np.asarray(steps + np.minimum(rows - begins[group], np.append(n_steps, len(steps))[group] - 1))


@dataclass
class _NextLaunch:
    """The launch that may begin at the next count, and why."""

    event: Event = Event.NONE  # that announced it
    resumed: bool = False
    settings: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass
class _RowCount:
    """Where a log is whose rows are counted, as no name counts."""

    row: int = 0
    names: dict[str, None] = field(default_factory=dict)  # in this row
    arguments_row: int = 0  # at which the arguments of the program stood last


class LogReader:
    """Follows a log record by record. Similar lines are read at once while the training only goes on."""

    FRESH = ("log", "plan", "_learned", "_shapes", "_tries_left")

    def __init__(self, path: Path) -> None:
        head = Head.of(path)
        self.plan = plan = plan_of(head)
        self.counting, self._gatherer, self._repeats = Counting(plan), Gatherer(shapes_of(head)), Repeats()
        self._arguments = ""  # the signature of the line with the arguments of the program
        self._count = _RowCount()
        self._in_blocks = dict[str, None]()  # names that stand in a block with what counts
        self._is_heading = False  # whether the last count stood alone in its line, above what belongs to it
        # Whether epochs stand alone in lines above their steps, as the first does; one that waits for them.
        self._has_epochs_above: bool | None = None
        self._epoch_above = dict[str, float]()
        self.uncounted = dict[str, dict[int, str]]()  # see `_separate_uncounted`
        # Of the last line with the means of an evaluation so far: names, batch, and how many rows there were.
        self._running: tuple[Sequence[str], pairs.Pair, int] = (), pairs.Pair("", 0.0), 0
        self._evaluation = ""  # that was announced, until something counts
        self._headed = math.nan  # the epoch in the line before, if that is a heading
        self._announced = False  # whether one was, in this epoch
        self._launch = _NextLaunch()
        self._heading: Record | None = None  # with settings, perhaps of the launch that begins below it
        self._loaded = ""  # what was said of checkpoints that were loaded since something counted
        self._named_trial = self._trial = ""  # the training named last, and the one to which the rows belong
        self._has_counted = False
        # Of the block of lines of which similar ones may be read at once: the commonest form, and all.
        self._learned: Learned | None = None
        self._shapes, self._tries_left = self._gatherer.shapes, 0
        # What another plan has read is not continued.
        form = [sorted(part) if isinstance(part, frozenset) else part for part in vars(plan).values()]
        self.log = Log(path, f"{NAME} {form}", reader=self)

    def read_all(self) -> None:
        """Reads the log to its end, or to a block whose counter is still to come."""
        for record in self._new_records():
            step, counts = self._step_of(record)
            values = record.numbers(self.counting.counter, self.plan.phases)
            if self.plan.by_row:
                is_known = self._any_known(values)
                step, counts = self._row_of(record, values, step, is_known), True
            else:
                if step is not None:
                    values = self._repeats.without_repeated(record, step, values)
                is_known = counts or self._any_known(values, record.evaluation)
                if counts:
                    self._has_counted, self._is_heading = True, not values
                if record.is_block or record.is_open:
                    if self._is_cut_block(record):
                        self.log.truncated = True
                        return
                    if is_known and not counts and not self._is_heading:
                        values = {name: value for name, value in values.items() if self._any_known((name,))}
            values = self._with_epoch_above(record, values, counts)
            if not self._take_settings(record, values, step, is_known, counts):
                self._take_row(record, values, step if is_known else None, counts)

    def _is_cut_block(self, record: Record) -> bool:
        """Whether the log ends in a block, above the counter that such blocks have. Evaluations that
        a heading announced have none. Keeps the names of blocks that have it."""
        if self.counting.counter in record.shape:
            self._in_blocks.update(dict.fromkeys(record.shape))
            return False
        may_be_cut = record.is_open and not record.evaluation
        return may_be_cut and not self._in_blocks.keys().isdisjoint(record.shape)

    def _new_records(self) -> Iterator[Record]:
        """The records that say something new. Where a launch may begin is noted; checkpoints are events."""
        for record in self._gatherer.records(self.log.lines(PossibleRecord, self)):
            event = record.form.event
            if event == Event.EVALUATES:
                self._evaluation, self._announced = record.evaluation, bool(record.evaluation)
                if not self._announced:  # what follows goes on with none
                    self._repeats = Repeats()
                continue
            self._announced &= record.epoch is None
            self._note_heading(record)
            if event in (Event.LAUNCH, Event.REPEATED, Event.TRIAL, Event.SETTINGS):
                self._announce(record)
                continue
            if self.counting.is_unnamed_evaluation(record, announced=self._announced):
                record.evaluation = record.evaluation or "eval"
            record.evaluation = record.evaluation or self._evaluation
            if self._repeats.is_repeat(record):
                continue
            if not event:
                yield record
                continue
            self._launch.resumed |= event == Event.RESUMED  # who says from where is another process
            self._loaded += f" {record.words}" * (event == Event.LOADED)
            if record.shape:
                at = record.counters[0].value if record.counters else None
                what = Event.LOADED if event == Event.RESUMED else event
                self.log.event(record.line, f"checkpoint-{what}", checkpoint_step=at)

    def _note_heading(self, record: Record) -> None:
        """Keeps the evaluation that a heading announces ("Validation results - Epoch: 5") until another line
        counts. The one right below may count the epoch once more, perhaps from 0, if it tells no phase."""
        headed, self._headed = self._headed, math.nan
        if not (record.form.event or record.counters or record.epoch):
            return
        is_heading = record.form.n_counters == len(record.shape) and PROGRESS not in record.shape
        epoch = record.epoch.value if record.epoch and not record.counters else math.nan
        tells_phase = record.measures_evaluations or OF_TRAINING.search(record.words)
        if is_heading or tells_phase or headed - epoch not in (0, 1):
            self._evaluation, self._headed = record.evaluation * is_heading, epoch if is_heading else math.nan

    def _step_of(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, and whether it counts. After a line that announces a launch, a step that does
        not grow is the first of another launch; after one that resumes, any step is."""
        log, counting, plan, launch = self.log, self.counting, self.plan, self._launch
        trial = self._named_trial = record.form.trial or self._named_trial
        is_other_trial = trial != self._trial
        is_other_stage = counting.begins_stage(record, log.rows.steps)
        is_announced = any((launch.event, is_other_trial, is_other_stage, counting.ends_elsewhere(record)))
        position_before = counting.position
        step, counts = self._count_record(record)
        is_epoch = record.epoch is not None and counting.counter == record.epoch.name  # perhaps as a heading
        begins_pass = counting.has_begun_pass(position_before) and self._has_paused(record)
        is_announced |= begins_pass
        goes_on = self._loaded and (launch.event == Event.REPEATED or record.goes_on_from(self._loaded))
        launch.resumed |= bool(goes_on) and self._has_paused(record)
        self._loaded = "" if counts else self._loaded
        is_aside = PROGRESS in record.shape and counting.counter not in ("", *record.shape)
        counts_on = counts and (not is_aside or any(map(is_judged, record.shape)))
        may_begin = (is_announced or launch.resumed) and (counts_on or plan.by_row or is_epoch)
        if not may_begin:
            return step, counts
        facts = ({"trial": trial} if trial else {}) | {**launch.settings}
        if launch.resumed:
            log.launch(facts | {"resumed": True})
            log.facts |= {} if len(log.rows) else {"resumed": True}  # there may be no other launch
        self._launch, self._trial = _NextLaunch(), trial
        is_first = plan.by_row or is_other_stage or not len(log.rows)
        by_count = is_other_trial or begins_pass or launch.event == Event.LAUNCH
        heading, self._heading = self._heading, None
        if is_announced and (is_first or counting.is_behind(position_before, counted=by_count)):
            log.launch(facts)
            counting.launch()
            if is_other_trial:
                self._count = _RowCount(arguments_row=self._count.arguments_row)
            return self._count_record(record)
        if heading is not None:  # no launch has begun, so it says what the training has reached
            values = heading.numbers(counting.counter, plan.phases)
            self._take_row(heading, values, position_before[0] if self._any_known(values) else None, False)
        return step, counts

    def _announce(self, record: Record) -> None:
        """Keeps what a line says of a launch, which begins if the next count does not continue."""
        event, trial = record.form.event, record.form.trial
        self._repeats = Repeats()
        if event in (Event.SETTINGS, Event.TRIAL):
            given = arguments_in(record.words, anywhere=True, fewest=1)
            self._launch.settings = {**self._launch.settings, **config_facts(given)}
        if event == Event.SETTINGS:
            event = self._launch.event or Event.REPEATED
            self._heading = record if len(self.log.rows) else None
            self.log.add_settings({} if self._heading else given)
        elif event == Event.TRIAL:
            event = self._launch.event or (Event.REPEATED if trial == self._trial else Event.NONE)
            self._named_trial = trial
        self._launch.event = event
        self.counting.announce_launch()

    def _count_record(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record in the course of the log, or the row where none counts; whether it counts."""
        return (self._count.row, False) if self.plan.by_row else self.counting.step(record)

    def _has_paused(self, record: Record) -> bool:
        """Whether the longest pause so far lies before a record: no round of a training waits so long."""
        *gaps, pause = [0.0, *np.diff([*self.log.rows.times[-_RECENT_ROWS:], record.time])]
        return len(gaps) > _FEWEST_POINTS and bool(pause > max(_PAUSE_TIMES * np.median(gaps), 2 * max(gaps)))

    def _row_of(
        self, record: Record, values: dict[str, float], step: int | None, is_known: bool
    ) -> int | None:
        """The row of a record where no name counts, None before the first: a metric that occurs again begins
        the next one."""
        if self.plan.row_counter == LABEL and (label := record.line.who).isdecimal():
            values[LABEL] = float(label)
        if not is_known or record.form.words.are_settings:
            return step if len(self.log.rows) else None
        count = self._count
        begins = not count.names.keys().isdisjoint(values)
        count.row += begins
        count.names = dict.fromkeys((*values, *(() if begins else count.names)))
        if self.plan.row_counter in values:
            count.row = int(values.pop(self.plan.row_counter))
        return count.row

    def _any_known(self, names: Iterable[str], evaluation: str = "") -> bool:
        """Whether one of these is the name of a metric, or of what the log has, perhaps of an evaluation."""
        own, has = [name.removeprefix(f"{evaluation}/") for name in names], self.log.rows.columns
        return any(n in has or n in self.plan.beside.below or is_known(n) for n in (*names, *own))

    def _take_settings(
        self, record: Record, values: dict[str, float], step: int | None, is_known: bool, counts: bool
    ) -> bool:
        """Keeps the arguments of a program in a record; False if it has none. Known names are such
        before the first step and after the announcement of a launch. The same again begin a launch."""
        event = self._launch.event
        is_measured = any(name in self.log.rows.columns or is_result(name) for name in values)
        at_start = step is None or event == Event.LAUNCH or bool(event and not counts and not is_measured)
        text = record.words if at_start or self._arguments else ""
        are_parameters = _PARAMETERS.search(text) is not None
        are_arguments = record.form.words.are_settings or are_parameters or _ARGUMENTS.search(text)
        words = _VALUE.sub("", text) if are_arguments else ""
        given = arguments_in(text, anywhere=bool(words)) if words or at_start else {}
        names = _NAMES.findall(text) if given else []  # also of a value that is none yet: `resume=None`
        signature = words and (" ".join(names[:_FIRST_NAMES]) or words)
        if step is None:
            self._arguments = self._arguments or signature
        elif signature and signature == self._arguments:
            self._begin_with_arguments(record, config_facts(given or values), may_begin=are_parameters)
            return True
        if not at_start or not (given or (values and is_known)):
            return False
        self.log.add_settings(given or values)
        return True

    def _begin_with_arguments(self, record: Record, facts: Mapping[str, Scalar], *, may_begin: bool) -> None:
        """Begins a launch where the arguments come again, unless each row repeats its settings. It only
        ``may_begin`` at the next count if these may be those of a trial or the seed of an epoch."""
        is_lone = len(record.shape) == 1 and not (self.plan.by_row or record.form.words.are_settings)
        if may_begin or is_lone:
            self._launch.event, self._launch.settings = self._launch.event or Event.REPEATED, facts
            return
        n_rows = self._count.row - self._count.arguments_row
        self._count.arguments_row = self._count.row
        if not self.plan.by_row or n_rows >= _FEWEST_POINTS:
            self.log.launch(facts)
            self.counting.launch()
            self._count = _RowCount()

    def _with_epoch_above(self, record: Record, values: dict[str, float], counts: bool) -> dict[str, float]:
        """The values of a record. An epoch that stands alone above its steps is a value of the first one; so
        are those of lines of which one stands above each count."""
        epoch, above, leading = record.epoch, self._epoch_above, self.plan.beside.above
        if counts:
            self._epoch_above = {}
            return values if epoch and not leading else {**above, **values}
        if record.shape in leading:
            self._epoch_above = {**above, **values}
            return {}
        if epoch is not None and record.shape == (epoch.name,):
            if self._has_epochs_above is None:
                self._has_epochs_above = not self._has_counted
            if self._has_epochs_above:
                self._epoch_above = {epoch.name: epoch.value}
                return {}
        return values

    def _take_row(self, record: Record, values: dict[str, float], step: int | None, counts: bool) -> None:
        """Adds a record to the rows, or looks for a fault of the machine in its lines."""
        if step is None or not values:
            is_heading = record.epoch is not None and not values  # the epoch of the lines that follow
            for line in record.lines:
                self.log.look_for_fault(line, understood=is_heading)
            return
        if record.running is not None:
            self._replace_running(record.shape, record.running, values)
        for line, numbers in record.by_line(values):
            is_new = self.log.add(line, step, numbers)
            if is_new and not counts:
                counters = [record.epoch] if record.epoch else record.counters
                label = next((pair.name for pair in counters if pair.name != PROGRESS), "summary")
                for name in numbers:
                    self.uncounted.setdefault(name, {})[len(self.log.rows) - 1] = label

    def _replace_running(self, names: Sequence[str], batch: pairs.Pair, values: Mapping[str, float]) -> None:
        """Takes back the means so far of an evaluation, which its next line repeats with one batch more."""
        names_before, batch_before, n_rows = self._running
        is_same = (names_before, batch_before.of, n_rows) == (names, batch.of, len(self.log.rows))
        if is_same and batch.value > batch_before.value:
            self.log.rows.take_back(values)
        self._running = names, batch, len(self.log.rows) + 1

    def matches(self, lines: Sequence[bytes]) -> list[re.Match[bytes] | None]:
        """The lines of the commonest shape, if these count steps, hold more than that, and each name once."""
        self._shapes, self._tries_left = self._gatherer.shapes, _MOST_TRIES
        self._learned = learned = None if self.plan.by_row else self._shapes.common(lines)
        if learned is None or b"<" in learned.pattern.pattern:  # the line of a bar may be redrawn
            return [None] * len(lines)
        form = learned.reading.form
        is_aside = form.event or (form.evaluation and self.plan.phases)
        is_plain = not is_aside and 0 < form.n_counters < len(form.names) == len(set(form.names))
        return list(map(learned.match, lines)) if is_plain else [None] * len(lines)

    def read(self, matches: Sequence[re.Match[bytes]], numbers: Sequence[int]) -> int:
        """Reads the first of these lines, as many as possible, and returns how many."""
        log, learned, gatherer, launch = self.log, self._learned, self._gatherer, self._launch
        if learned is None or not self._tries_left:
            return 0
        reading = learned.reading
        places = reading.form.kept.get(self.counting.counter)
        other_trial = (reading.form.trial or self._named_trial) != self._trial
        if self._evaluation or launch.event or launch.resumed or self._loaded or other_trial:
            return 0
        if self._epoch_above or self._heading or not places or gatherer.is_open:
            return 0
        is_other = gatherer.shapes is not self._shapes or not self._repeats.goes_on(reading)
        if is_other or not log.leads(places, reading.who):
            return 0
        values = learned.columns(matches)
        steps = self.counting.go_on(reading.form, values, reading.ends)
        if n := len(steps):
            all_values = [values.get(i, np.full(n, same))[:n] for i, same in enumerate(reading.values)]
            times = np.array([learned.time(match.string) for match in matches[:n]])
            columns = {name: all_values[place] for name, place in places.items()}
            log.extend(np.array(numbers[:n]), steps, columns, times, reading.who)
            *_, count = self.counting.position
            self._repeats.pass_on([float(column[-1]) for column in all_values], int(steps[-1]), count)
        self._tries_left -= not n
        return n
