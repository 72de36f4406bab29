"""What all formats of console text share: a log on its way from lines to attempts.

The package `chronicle.readers.console` shows how a format uses it. Every line that is no record is shown to
`machine.MachineFaults`, so that faults of machines are found beside the curves, at the step of the record
before.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.arithmetic import equal, finite_of
from chronicle.model import Attempt, Fault, Floats, Place, Role, Series, Steps
from chronicle.readers.console import chunks, machine
from chronicle.readers.console.chunks import CHUNK_BYTES, NAN, Chunk, Line, text_of, time_in, words_start
from chronicle.readers.console.text_tables import listed_settings
from chronicle.readers.facts import config_facts, scalar
from chronicle.readers.read_on import opened
from chronicle.readers.text import Head, clean, json_or_none

Column = tuple["array[float]", "array[int]"]  # values, and the rows in which they stand
Cells = tuple[Floats, NDArray[np.int32]]  # the same of a column to which nothing is added


class Rows:
    """Rows of a line, a step, a time and values of metrics, of which some have ``units`` and ``roles``."""

    FRESH = ("roles",)

    def __init__(self) -> None:
        self.lines, self.steps, self.times = array("q"), array("q"), array("d")
        self.columns: dict[str, Column] = {}
        self.units, self.roles = dict[str, str](), dict[str, Role]()

    def __len__(self) -> int:
        return len(self.steps)

    def add(self, line: int, step: int, values: Mapping[str, float], time: float) -> None:
        """Adds one row. Raises OverflowError where the step does not fit into 64 bits."""
        row = len(self.steps)
        self.steps.append(step)
        self.lines.append(line)
        self.times.append(time)
        columns = self.columns
        for name, value in values.items():
            numbers, rows = columns.get(name) or self._column(name)
            numbers.append(value)
            rows.append(row)

    def replace(self, row: int, line: int, values: Mapping[str, float], time: float) -> None:
        """Other values of the metrics of a row; only the last one gets their line and time, as rows are in
        the order of lines."""
        if row == len(self) - 1:
            self.lines[row], self.times[row] = line, time
        for name, value in values.items():
            numbers, rows = self._column(name)
            at = bisect_left(rows, row)
            if rows[at : at + 1].tolist() == [row]:
                numbers[at] = value

    def take_back(self, names: Iterable[str]) -> None:
        """Leaves out what the last row says of these metrics."""
        for numbers, rows in map(self._column, names):
            if rows and rows[-1] == len(self) - 1:
                del numbers[-1], rows[-1]

    def extend(self, lines: Steps, steps: Steps, columns: Mapping[str, Floats], times: Floats) -> None:
        """Adds many rows, all of which hold the same metrics."""
        rows = np.arange(len(self.steps), len(self.steps) + len(steps))
        for name, values in columns.items():
            self.fill(name, rows, values)
        _append(self.lines, lines)
        _append(self.steps, steps)
        _append(self.times, times)

    def column(self, name: str) -> Floats:
        """A metric in every row, NaN where it has no value."""
        values, at = self.columns.get(name, ((), ()))
        by_row = np.full(len(self), np.nan)
        by_row[np.array(at, np.int64)] = values
        return by_row

    def cells(self) -> dict[str, Cells]:
        """All metrics as they are, in arrays that share their memory."""
        return {n: (np.frombuffer(c[0]), np.frombuffer(c[1], np.int32)) for n, c in self.columns.items()}

    def replace_cells(self, columns: Mapping[str, Cells]) -> None:
        """Other metrics in the place of all so far."""
        self.columns = {}
        for name, (values, rows) in columns.items():
            self.fill(name, rows, values)

    def fill(self, name: str, rows: NDArray[Any], values: Floats) -> None:
        """Adds values of one metric in rows that exist, or that are about to be added."""
        if len(rows):
            numbers, at = self._column(name)
            _append(numbers, values)
            _append(at, rows)

    def series(self, *, keep: bool = False, span: tuple[int, int] | None = None) -> dict[str, Series]:
        """All metrics, each in the order of the log; their roles are assigned later. ``span`` limits the rows
        to [first, last). The columns are used up unless they are to be kept."""
        lines, steps, times = np.array(self.lines), np.array(self.steps), np.array(self.times)
        shared: dict[bytes, tuple[Steps, Floats, Steps]] = {}  # most metrics stand in the same rows
        series = {}
        for name in list(self.columns):
            values, at = self.columns[name] if keep else self.columns.pop(name)
            numbers, rows = np.frombuffer(values), np.frombuffer(at, np.int32)
            if span is not None:
                inside = (rows >= span[0]) & (rows < span[1])
                if not inside.any():
                    continue
                numbers, rows = numbers[inside], rows[inside]
            order = lines[rows]
            if np.any(order[1:] < order[:-1]):
                by_line = np.argsort(order, kind="stable")
                numbers, rows = numbers[by_line], rows[by_line]
            key = rows.tobytes()
            if key not in shared:
                at_lines = lines[rows].astype(np.int64)
                shared[key] = steps[rows].astype(np.int64), times[rows].astype(np.float64), at_lines
            role, unit = self.roles.get(name, Role.OTHER), self.units.get(name) or None
            own_steps, own_times, at_lines = shared[key]
            series[name] = Series(name, role, own_steps, numbers, own_times, unit, rows=at_lines)
        return series

    def _column(self, name: str) -> Column:
        return self.columns.get(name) or self.columns.setdefault(clean(name), (array("d"), array("i")))


def leave_first_of_epoch(columns: dict[str, Cells], names: Iterable[str]) -> None:
    """Leaves the first showing of metrics that are measured once an epoch and shown by every bar until the
    next one: of these ``names`` those that change once in most of the epochs. A frozen one does not
    change."""
    epoch_values, in_rows = next((c for name, c in columns.items() if name.lower() == "epoch"), ((), ()))
    for name in names if len(epoch_values) else ():
        values, rows = columns[name]
        epochs = np.array(epoch_values)[np.maximum(np.searchsorted(in_rows, rows, side="right") - 1, 0)]
        ends = np.flatnonzero(np.append(epochs[1:] != epochs[:-1], True))
        changes = 1 + np.flatnonzero(~equal(values[1:], values[:-1]))
        of_epochs = np.searchsorted(ends, changes)
        often = len(ends) >= _FEWEST_EPOCHS and len(rows) >= _FEWEST_EPOCHS * len(ends)
        if often and 2 * len(changes) >= len(ends) and (np.diff(of_epochs) > 0).all():
            unchanged = np.setdiff1d(np.arange(1, len(ends)), of_epochs)
            first = np.unique(np.concatenate([[0], changes, ends[unchanged]]))
            columns[name] = values[first], rows[first]


def _append(to: array[Any], numbers: NDArray[Any]) -> None:
    to.frombytes(np.ascontiguousarray(numbers, to.typecode).tobytes())


MAX_EVENTS = MAX_FACTS = 1000
SETTING = rb" \.{3,} "  # finds a line that may hold a setting, as Megatron and DeepSpeed print all of theirs
_SETTING = re.compile(r"(?:^|[\s\]:])(?P<name>\w{1,80}) \.{3,} (?P<value>\S.*)$")
_DECIMALS = re.compile(r"(?:\.|\de[-+])\d+$", re.IGNORECASE | re.ASCII)  # or an exponent, at the end
_DIGITS = re.compile(r"[0-9]+")
_LINES_COMPARED = 64  # with a last line that has no end
_STEPS_APART = 4  # records by which one rank may be ahead of another
_SMALLEST_BATCH = 8  # lines that are worth reading together
_ROWS_A_LAUNCH = 3  # on average, at least, where a heading alone tells one
_FEWEST_EPOCHS = 4  # and rows in each, for a metric that is measured once an epoch
_BLOCK_LINES = 512  # searched together for the words of faults

_WATCHING: ContextVar[list[Log] | None] = ContextVar("watching", default=None)


@contextmanager
def watched() -> Iterator[list[Log]]:
    """The logs that are read within, for `chronicle doctor`. Each keeps all of its columns, the numbers of
    the lines that its format was shown (``record_lines``) and of those that are no record (``looked_at``)."""
    logs = list[Log]()
    token = _WATCHING.set(logs)
    try:
        yield logs
    finally:
        _WATCHING.reset(token)


class _Ranks:
    """Which of the ranks that print the same metrics is read: the ``leader``, as long as it goes on printing.
    A step that another one prints first stands until the leader prints it. ``recent``: the last steps, with
    the row of each and whether the leader told it; if it told none, the next rank with a new step leads."""

    def __init__(self, leader: str) -> None:
        self.leader, self.recent = leader, dict[int, tuple[int, bool]]()

    def tell(self, who: str, steps: Sequence[int], row: int) -> None:
        """New steps of a rank, in rows from ``row`` on."""
        if len(self.recent) == _STEPS_APART and not any(by_leader for _, by_leader in self.recent.values()):
            self.leader = who
        self.recent |= {step: (row + i, who == self.leader) for i, step in enumerate(steps)}
        self.recent = dict([*self.recent.items()][-_STEPS_APART:])


Finder = re.Pattern[bytes] | type[chunks.PossibleRecord]  # of the lines that may be records


def _read_batches(batch: Any, matches: Sequence[re.Match[bytes] | None], numbers: Sequence[int]) -> int:
    """How many of the first lines could be read in batches, each of which is larger than the one before."""
    n_read, size = 0, _SMALLEST_BATCH
    while True:
        some = [match for match in takewhile(bool, matches[n_read : n_read + size]) if match]
        if len(some) < _SMALLEST_BATCH:
            return n_read
        n_more = int(batch.read(some, numbers[n_read : n_read + len(some)]))
        n_read, size = n_read + n_more, 8 * size
        if n_more < len(some):
            return n_read


class Log:
    """What was read so far. ``step`` and ``time`` are those of the last record; ``truncated``: the last line
    has no end. A format fills ``facts`` and ``events``, and sets ``axis`` to what its steps count. If it
    names its ``form``, a file that has grown is read on; ``state`` is what it must remember for that."""

    FRESH = ("path", "truncated", "n_lines", "_form", "_watched", "record_lines", "looked_at")

    def __init__(self, path: Path, form: str = "", **state: Any) -> None:
        self.path, self._form, self.state = path, form, state
        self.rows = Rows()
        self.step: int | None = None
        self.time = NAN
        self.truncated, self.n_lines, self._next_number = False, 0, 1
        self.axis, self.called = "step", ""
        self.facts, self._settings = dict[str, Any](), dict[str, Any]()
        self.events: list[dict[str, Any]] = []
        self.machine = machine.MachineFaults(path)
        self.record_lines, self.looked_at = array("q"), array("q")
        self._watched = _WATCHING.get()
        if self._watched is not None:
            self._watched.append(self)
        self._last_lines: list[str] = []
        self._launches = [(0, dict[str, Any]())]  # the first row of each, and facts of its own
        self._faults = dict[str, Fault]()  # by what could not be used
        self._not_numbers = dict[str, tuple[int, int]]()  # the first line of a field, how many there are
        self._ranks: dict[frozenset[str], _Ranks] = {}  # that print the same metrics
        lines = map(text_of, chunks.sample(Head.of(path)).split(b"\n"))
        self.add_settings(listed_settings(line[words_start(line)[1] :] for line in lines))

    def chunks(self) -> Iterator[Chunk]:
        """The log in chunks. A last line without an end counts as whole if earlier lines say so."""
        with opened(self.path, self._form) as source:
            source.restore(self)
            for chunk in chunks.chunks_from(source, self._next_number, CHUNK_BYTES):
                lines = list(map(text_of, chunk.data.rsplit(b"\n", _LINES_COMPARED)[-_LINES_COMPARED:]))
                if chunk.unfinished:
                    chunk = replace(chunk, unfinished=not _is_written_out(lines[-1], self._last_lines))
                self._last_lines = lines
                if chunk.n_cut:
                    what = "the line is longer than 1 MB; what follows its first MB was ignored"
                    self.fault(chunk.numbers[0], what)
                if chunk.n_torn:
                    what = "the line has zeros inside, where the file was never written; it was left out"
                    self.fault(chunk.numbers[0], what, chunk.n_torn)
                self.truncated, self.n_lines = chunk.unfinished, chunk.numbers[-1]
                self._next_number = chunk.next_number
                yield chunk
                if source.is_last(chunk.mark, CHUNK_BYTES):
                    source.keep(chunk.mark, self)

    def lines(self, record: Finder, batch: Any = None) -> Iterator[Line]:
        """The lines with a ``record``, except those that a ``batch`` (`generic.LogReader`) reads at once. The
        other lines are searched for faults of machines."""
        for chunk in self.chunks():
            yield from self.lines_in(chunk, record, batch)

    def lines_in(
        self, chunk: Chunk, record: Finder, batch: Any = None, reached: Mapping[int, tuple[int, float]] = {}
    ) -> Iterator[Line]:
        """Yields the lines of a chunk, as `lines` does of all. ``reached`` has the step and the time of
        records that were read before, by the numbers of their lines."""
        lines, numbers = chunk.lines, chunk.numbers
        last = len(lines) - 1 if chunk.unfinished else -1
        for start in range(0, len(lines), _BLOCK_LINES):
            block = lines[start : start + _BLOCK_LINES]
            in_batch = batch.matches(block) if batch else [None] * len(block)
            records = [match or record.search(raw) for raw, match in zip(block, in_batch, strict=True)]
            others = b"\n".join(raw for raw, is_record in zip(block, records, strict=True) if not is_record)
            may_hold_fault, read_to = self.machine.worth_a_look(others), start
            if last == start + len(block) - 1:
                in_batch[-1] = None
            for index, (raw, is_record) in enumerate(zip(block, records, strict=True), start):
                if batch and index >= read_to and in_batch[index - start]:
                    ahead = numbers[index : start + _BLOCK_LINES]
                    read_to = index + _read_batches(batch, in_batch[index - start :], ahead)
                if index < read_to:
                    continue
                number = numbers[index]
                if number in reached:
                    self.step, self.time = reached[number]
                if is_record:
                    if self._watched is not None:
                        self.record_lines.append(number)
                    yield Line(number, text_of(raw), index == last)
                elif may_hold_fault and raw:
                    self.machine.look(number, text_of(raw), step=self.step, time=self.time)

    def look_for_fault(self, line: Line, *, understood: bool = False) -> None:
        """Looks for a fault of the machine in a line that turned out to be no record."""
        if self._watched is not None and not understood:
            self.looked_at.append(line.number)
        self.machine.look(line.number, line.text, step=self.step, time=self.time)

    def add(self, line: Line, step: int, values: Mapping[str, float]) -> bool:
        """One record, at the time of its line. False if it is no further row: the line has no end, or another
        rank has just told the step, see `_Ranks`."""
        if line.unfinished:
            return False
        time, who = time_in(line.text) if line.time is None else line.time, line.who
        if who:
            ranks = self._ranks.setdefault(frozenset(values), _Ranks(who))
            row, by_leader = ranks.recent.get(step, (-1, True))
            if who != ranks.leader and row >= 0:
                return False
            if who == ranks.leader and not by_leader:
                self.rows.replace(row, line.number, values, time)
                ranks.recent[step] = row, True
                return False
            ranks.tell(who, [step], len(self.rows))
        try:
            self.rows.add(line.number, step, values, time)
        except OverflowError:
            self.fault(line.number, "the step does not fit into 64 bits; the line was skipped")
            return False
        self.step, self.time = step, time if time == time else self.time
        return True

    def extend(
        self, lines: Steps, steps: Steps, columns: Mapping[str, Floats], times: Floats, who: str = ""
    ) -> None:
        """Adds many records at once, of a rank that `leads`."""
        if who:
            self._ranks[frozenset(columns)].tell(who, steps.tolist(), len(self.rows))
        if self._watched is not None:
            self.record_lines.extend(lines.tolist())
        self.rows.extend(lines, steps, columns, times)
        known = finite_of(times)
        self.step, self.time = int(steps[-1]), float(known[-1]) if len(known) else self.time

    def leads(self, names: Iterable[str], who: str) -> bool:
        """Whether what a rank says under these names is kept, whatever other ranks say."""
        return not who or self._ranks.get(frozenset(names), _Ranks("")).leader == who

    def add_settings(self, settings: Mapping[str, Any]) -> None:
        """Settings of the program, which become facts as ``config/...``; the first value of a name stays."""
        for name, value in settings.items():
            self._settings.setdefault(name, value)

    def take_setting(self, line: Line) -> bool:
        """Keeps ``name ........ value``; False where a line holds none."""
        if match := _SETTING.search(line.text):
            self.add_settings({match["name"]: scalar(match["value"])})
        return match is not None

    def event(self, line: Line, what: str, **more: Any) -> None:
        """Something that happened at a line: a checkpoint, an evaluation, an overflow (fact "events")."""
        if len(self.events) < MAX_EVENTS:
            at = {"event": what, "line": line.number, "step": self.step, "time": time_in(line.text), **more}
            self.events.append({key: cell for key, cell in at.items() if cell is not None and cell == cell})

    def fact(self, name: str, value: Any) -> None:
        """A fact of the run; the first value stays, and their number is limited."""
        if len(self.facts) < MAX_FACTS:
            self.facts.setdefault(clean(name), clean(value) if isinstance(value, str) else value)

    def fault(self, number: int, what: str, count: int = 1) -> None:
        """A line that could not be used. The first of a kind is named, the others are counted."""
        first = self._faults.get(what, Fault(Place(str(self.path), line=number), what, 0))
        self._faults[what] = replace(first, count=first.count + count)

    def not_a_number(self, line: Line, name: str) -> None:
        """A field that holds no number, which is a fault if it holds one in other lines."""
        number, count = self._not_numbers.get(name, (line.number, 0))
        self._not_numbers[name] = number, count + 1

    def json(self, line: Line, text: str) -> dict[str, Any]:
        """The JSON object of a line; {} if it is none, which is a fault of a whole line."""
        record = json_or_none(text)
        if not isinstance(record, dict) and not line.unfinished:
            self.fault(line.number, "the record is not valid JSON; the line was skipped")
        return record if isinstance(record, dict) else {}

    def faults(self) -> tuple[Fault, ...]:
        """What could not be used, then the faults of machines."""
        near = self.rows.times[-1] if self.rows.times else NAN
        return (*self._faults.values(), *self.machine.faults(near))

    def launch(self, facts: Mapping[str, Any]) -> None:
        """What follows was written by another launch: an attempt of its own, with ``facts`` of its own."""
        if len(self.rows) > self._launches[-1][0]:
            self._launches.append((len(self.rows), {}))
        self._launches[-1][1].update(facts)

    def attempts(self) -> list[Attempt]:
        """An attempt for each launch: `log#1`, `log#2` where there are several, the last with the log's end.
        The trials of a search that say no more than their results are the rows of a single attempt, and so
        are rows that nothing counts, each under the same headings."""
        spans = [*pairwise([*(first for first, _ in self._launches), len(self.rows)])]
        parts = [self.rows.series(keep=True, span=span) for span in spans] if self._launches[1:] else []
        launches = [(part, facts) for part, (_, facts) in zip(parts, self._launches, strict=False) if part]
        may_be_rows = self.axis == "row" or any("trial" in facts for _, facts in launches)
        n_rows = sum(len({*self.rows.steps[first:last]}) for first, last in spans)
        whole = self.attempt()
        if len(launches) < 2 or (may_be_rows and n_rows < _ROWS_A_LAUNCH * len(launches)):
            return [whole]
        early = replace(whole, faults=(), truncated=False)
        named = []
        for n, (part, facts) in enumerate(launches, 1):
            base = whole if n == len(launches) else early
            named.append(replace(base, name=f"{base.name}#{n}", series=part, facts={**base.facts, **facts}))
        return named

    def attempt(self) -> Attempt:
        """All that was read, as one attempt. Raises BadLog where no record holds a number."""
        for field, (number, count) in self._not_numbers.items():
            if field in self.rows.columns:
                self.fault(number, f"the field {clean(field)!r} is not a number; it was left out", count)
        series = self.rows.series(keep=self._watched is not None)
        if not series:
            raise BadLog(str(self.path), "holds no numbers", remedy="check that it is the log of a training")
        facts = {**self.machine.facts, **self.facts, **config_facts(self._settings)}
        facts |= {"events": self.events} if self.events else {}
        sources = (str(self.path),)
        axis, called = self.axis, self.called
        return Attempt(self.path.name, sources, series, facts, self.faults(), self.truncated, axis, called)


def _is_written_out(line: str, before: Iterable[str]) -> bool:
    """Whether a line without an end is whole, by the lines ``before``: two or more have its words, and end
    with as many digits. A whole number may still go on, unless those at their ends rise and fall."""
    words = _DIGITS.sub("0", line)
    alike = (text for text in (*before, line) if _DIGITS.sub("0", text) == words)
    *ends, last = (text[len(text.rstrip("0123456789")) :] for text in alike)
    moves = {later > earlier for earlier, later in pairwise(ends) if earlier != later}
    has_all = not last or len(moves) > 1 or _DECIMALS.search(line) is not None
    return has_all and len(ends) > 1 and {*map(len, ends)} == {len(last)}
