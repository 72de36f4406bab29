"""A console log on its way to an attempt: its lines, what they said, and what broke beside them. The package
`chronicle.readers.console` shows how a format uses it.

Every line that is no record is shown to `machine.Faults`, so that each console log's machine faults (Xid,
NCCL, out of memory, SIGTERM, ...) are found beside its curves, at the step of the record before them.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Floats, Role, Series, Steps
from chronicle.readers.console import chunks, machine
from chronicle.readers.console.chunks import CHUNK_BYTES, NAN, Chunk, begin, time_in
from chronicle.readers.console.pairs import scalar
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.read_on import opened
from chronicle.readers.text import Faults, clean, json_or_none

MAX_EVENTS = MAX_FACTS = 1000
SETTING = rb" \.{3,} "  # finds a line that may hold a setting, as Megatron and DeepSpeed print all of theirs
_ARGUMENT = re.compile(r"(?:^|[\s\]:])(?P<name>\w{1,80}) \.{3,} (?P<value>\S.*)$")
_LAST_DIGITS = re.compile(r"(?P<point>\.|\de[-+])?(?P<digits>\d+)$", re.IGNORECASE | re.ASCII)
_DIGITS = re.compile(r"[0-9]+")
_COMPARED = 64  # lines before a last one without an end
_IN_STEP = 4  # records by which ranks run ahead of each other
_FEWEST_AT_ONCE = 8  # lines that are worth it
_FEWEST_A_TRIAL = 3  # rows on average
_AT_ONCE = 512  # lines that are searched for words of faults together


_WATCHING: ContextVar[list[Log] | None] = ContextVar("watching", default=None)


@contextmanager
def watched() -> Iterator[list[Log]]:
    """The logs that are read meanwhile, for `chronicle doctor`. Each keeps all of its columns, the numbers of
    the lines that its format was shown (``record_lines``) and of those that were no record (``looked_at``). A
    context, as `read` makes its logs far below the command."""
    logs = list[Log]()
    token = _WATCHING.set(logs)
    try:
        yield logs
    finally:
        _WATCHING.reset(token)


class Line(NamedTuple):
    """One line: its number in the file from 1, its text, and whether its end is missing."""

    number: int
    text: str
    unfinished: bool = False

    @property
    def prefix(self) -> chunks.Prefix:
        """The line without rank, clock and logger, which are in it too."""
        return chunks.split(self.text)


class Source(NamedTuple):
    """Where a number stands: the line, who printed it ("" unknown), Unix seconds (NaN unknown), its words."""

    line: Line
    who: str
    time: float
    at: int = 0

    @classmethod
    def of(cls, line: Line) -> Source:
        who, at = begin(line.text)
        return cls(line, who, time_in(line.text[:at]), at)

    @property
    def words(self) -> str:
        return self.line.text[self.at :].strip()


class AtOnce(Protocol):
    """What reads many lines together, where they are alike."""

    def alike(self, lines: Sequence[bytes]) -> list[re.Match[bytes] | None]:
        """Which of these lines may be read so, and what was found in them."""

    def read(self, matches: Sequence[re.Match[bytes]], numbers: Sequence[int]) -> int:
        """Reads the first of these lines; how many."""


def _read(at_once: AtOnce, alike: Sequence[re.Match[bytes] | None], numbers: Sequence[int]) -> int:
    """How many of the first lines could be read, of which more are tried each time."""
    n, size = 0, _FEWEST_AT_ONCE
    while len(some := [match for match in takewhile(bool, alike[n : n + size]) if match]) >= _FEWEST_AT_ONCE:
        n_read = at_once.read(some, numbers[n : n + len(some)])
        n, size = n + n_read, 8 * size
        if n_read < len(some):
            break
    return n


class Log:
    """What was read so far. ``step`` and ``time`` are those of the last record; ``truncated``: the last line
    has no end. A format fills ``facts`` and ``events``, and says with ``axis`` what the steps count. One that
    names its ``form`` is read on from where a log was left; what else it knows is in ``own``."""

    FRESH = ("path", "truncated", "n_lines", "_form", "_watched", "record_lines", "looked_at")

    def __init__(self, path: Path, form: str = "", **own: Any) -> None:
        self.path, self._form, self.own = path, form, own
        self.rows = Rows()
        self.step: int | None = None
        self.time = NAN
        self.truncated, self.n_lines, self._next = False, 0, 1
        self.axis = "step"
        self.facts, self._settings = dict[str, Any](), dict[str, Any]()
        self.events: list[dict[str, Any]] = []
        self.machine = machine.Faults(path)
        self.record_lines, self.looked_at = array("q"), array("q")
        self._watched = _WATCHING.get()
        if self._watched is not None:
            self._watched.append(self)
        self._latest: list[str] = []  # lines, at the end of what was read
        self._launches = [(0, dict[str, Any]())]  # first row of each, and facts of its own
        self._faults, self._places = Faults(path), dict[str, int]()
        self._strange: dict[str, tuple[int, int]] = {}  # the first line of a field, and how many there are
        self._leading_ranks: dict[frozenset[str], tuple[str, deque[int]]] = {}

    def chunks(self) -> Iterator[Chunk]:
        """The log in chunks. A last line without an end counts as whole where lines before it were written as
        it is: with the same words, and as many decimals where it ends with a number."""
        with opened(self.path, self._form) as source:
            source.restore(self)
            for chunk in chunks.chunks_from(source, self._next, CHUNK_BYTES):
                lines = list(map(text_of, chunk.data.rsplit(b"\n", _COMPARED)[-_COMPARED:]))
                if chunk.unfinished:
                    words, decimals = _kind(lines[-1])
                    alike = [n for others, n in map(_kind, self._latest) if others == words]
                    whole = len(alike) > 1 and decimals >= 0 and {*alike} == {decimals}
                    chunk = replace(chunk, unfinished=not whole)
                self._latest = lines
                if chunk.cut:
                    what = "the line is longer than 1 MB; what follows its first MB was ignored"
                    self.fault(chunk.numbers[0], what)
                self.truncated, self.n_lines = chunk.unfinished, chunk.numbers[-1]
                self._next = chunk.following
                yield chunk
                if source.is_last(chunk.mark, CHUNK_BYTES):
                    source.keep(chunk.mark, self)

    def lines(self, record: re.Pattern[bytes], at_once: AtOnce | None = None) -> Iterator[Line]:
        """The lines with a ``record`` that ``at_once`` does not read; faults are looked for in all others."""
        for chunk in self.chunks():
            yield from self.among(chunk.lines, chunk.numbers, record, chunk.unfinished, at_once=at_once)

    def among(
        self,
        lines: Sequence[bytes],
        numbers: Sequence[int],
        record: re.Pattern[bytes],
        unfinished: bool,
        reached: Mapping[int, tuple[int, float]] | None = None,
        at_once: AtOnce | None = None,
    ) -> Iterator[Line]:
        """As `lines`, of some lines with these numbers. ``unfinished``: the last one has no end. ``reached``:
        step and time of what was recorded elsewhere right before a line, by its number."""
        last = len(lines) - 1 if unfinished else -1
        for start in range(0, len(lines), _AT_ONCE):
            some = lines[start : start + _AT_ONCE]
            alike = at_once.alike(some) if at_once else [None] * len(some)
            matches = [match or record.search(raw) for raw, match in zip(some, alike, strict=True)]
            others = b"\n".join(raw for raw, match in zip(some, matches, strict=True) if not match)
            worth, read_to = self.machine.worth_a_look(others), start
            if last == start + len(some) - 1:
                alike[-1] = None
            for index, (raw, match) in enumerate(zip(some, matches, strict=True), start):
                if at_once and index >= read_to and alike[index - start]:
                    ahead = numbers[index : start + _AT_ONCE]
                    read_to = index + _read(at_once, alike[index - start :], ahead)
                if index < read_to:
                    continue
                number = numbers[index]
                if reached and number in reached:
                    self.step, self.time = reached[number]
                if match:
                    if self._watched is not None:
                        self.record_lines.append(number)
                    yield Line(number, text_of(raw), index == last)
                elif worth and raw:
                    self.machine.look(number, text_of(raw), step=self.step, time=self.time)

    def is_leading_rank(self, names: Iterable[str], who: str) -> bool:
        """Whether what a rank says under these names is kept whatever others said."""
        return not who or self._leading_ranks.get(frozenset(names), ("",))[0] == who

    def extend(
        self, lines: Steps, steps: Steps, columns: Mapping[str, Floats], times: Floats, who: str = ""
    ) -> None:
        """Many records of a rank that tells its steps first, as `add` keeps each of them."""
        if who:
            self._leading_ranks[frozenset(columns)][1].extend(steps.tolist())
        if self._watched is not None:
            self.record_lines.extend(lines.tolist())
        self.rows.extend(lines, steps, columns, times)
        known = times[np.isfinite(times)]
        self.step, self.time = int(steps[-1]), float(known[-1]) if len(known) else self.time

    def add(
        self, line: Line, step: int, values: Mapping[str, float], *, time: float | None = None, who: str = ""
    ) -> bool:
        """One record; False where it is left out: a line without its end, or a rank (``who``) that repeats
        what another has just said of a step. ``time`` is that of the line's clock unless given."""
        if line.unfinished or (who and self._repeats_a_rank(step, frozenset(values), who)):
            return False
        time = time_in(line.text) if time is None else time
        try:
            self.rows.add(line.number, step, values, time)
        except OverflowError:
            self.fault(line.number, "the step does not fit into 64 bits; the line was skipped")
            return False
        self.step, self.time = step, time if time == time else self.time
        return True

    def take(self, rows: Rows) -> None:
        """Records that waited for their steps."""
        self.rows.join(rows)
        if len(rows):
            self.step = rows.steps[-1]
            self.time = next((time for time in reversed(rows.times) if time == time), self.time)

    def _repeats_a_rank(self, step: int, names: frozenset[str], who: str) -> bool:
        first, latest = self._leading_ranks.setdefault(names, (who, deque(maxlen=_IN_STEP)))
        if who != first and step in latest:
            return True
        self._leading_ranks[names] = (who, latest)
        latest.append(step)
        return False

    def look(self, line: Line, *, understood: bool = False) -> None:
        """Looks for a fault of the machine in a line that turned out to be no record."""
        if self._watched is not None and not understood:
            self.looked_at.append(line.number)
        self.machine.look(line.number, line.text, step=self.step, time=self.time)

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Settings of the program, which become facts as ``config/...``; the first value of a name stays."""
        for name, value in settings.items():
            self._settings.setdefault(name, value)

    def is_setting(self, line: Line) -> bool:
        """Keeps ``name ........ value``; False where a line holds none."""
        if match := _ARGUMENT.search(line.text):
            self.settle({match["name"]: scalar(match["value"])})
        return match is not None

    def event(self, line: Line, what: str, **more: Any) -> None:
        """Something that happened at a line: a checkpoint, an evaluation, an overflow (fact "events")."""
        if len(self.events) < MAX_EVENTS:
            at = {"event": what, "line": line.number, "step": self.step, "time": time_in(line.text), **more}
            self.events.append({key: cell for key, cell in at.items() if cell is not None and cell == cell})

    def fact(self, name: str, value: Any) -> None:
        """A fact of the run; the first value stays, and there is a limit to their number."""
        if len(self.facts) < MAX_FACTS:
            self.facts.setdefault(clean(name), clean(value) if isinstance(value, str) else value)

    def fault(self, number: int, what: str, count: int = 1) -> None:
        """A line that could not be used. The first of a kind is named, the others are counted."""
        at = self._places.setdefault(what, len(self._faults))
        if at == len(self._faults):
            self._faults.add(what, line=number)
            count -= 1
        if count and at < len(self._faults):
            self._faults[at] = replace(self._faults[at], count=self._faults[at].count + count)

    def strange(self, line: Line, name: str) -> None:
        """A field that holds no number. That is a fault where it holds one in other lines."""
        number, count = self._strange.get(name, (line.number, 0))
        self._strange[name] = number, count + 1

    def json(self, line: Line, text: str) -> dict[str, Any]:
        """The JSON object of a line; {} where it is none, which is a fault of a whole line."""
        record = json_or_none(text)
        if not isinstance(record, dict) and not line.unfinished:
            self.fault(line.number, "the record is not valid JSON; the line was skipped")
        return record if isinstance(record, dict) else {}

    def listed(self) -> tuple[Fault, ...]:
        """What could not be used, then the faults of machines."""
        near = self.rows.times[-1] if self.rows.times else NAN
        return (*self._faults.all(), *self.machine.listed(near))

    def launch(self, facts: Mapping[str, Any]) -> None:
        """What follows was written by another launch: an attempt of its own, with ``facts`` of its own."""
        if len(self.rows) > self._launches[-1][0]:
            self._launches.append((len(self.rows), {}))
        self._launches[-1][1].update(facts)

    def attempts(self) -> list[Attempt]:
        """An attempt a launch, `log#1`, `log#2` where there are several, the last with the log's end."""
        spans = pairwise([*(first for first, _ in self._launches), len(self.rows)])
        several = self._launches[1:]
        parts = [self.rows.series(keep=True, among=span) for span in spans] if several else []
        launches = [(part, facts) for part, (_, facts) in zip(parts, self._launches, strict=False) if part]
        n_rows, trials = len(self.rows), any("trial" in facts for _, facts in launches)
        whole = self.attempt()
        # The trials of a search of which each tells its result, and no more, are the rows of one attempt.
        if len(launches) < 2 or (trials and n_rows < _FEWEST_A_TRIAL * len(launches)):
            return [whole]
        early = replace(whole, faults=(), truncated=False)
        named = []
        for n, (part, facts) in enumerate(launches, 1):
            log = whole if n == len(launches) else early
            named.append(replace(log, name=f"{log.name}#{n}", series=part, facts={**log.facts, **facts}))
        return named

    def attempt(self) -> Attempt:
        """All that was read. Raises BadLog where no record holds a number."""
        for field, (number, count) in self._strange.items():
            if field in self.rows.columns:
                self.fault(number, f"the field {clean(field)!r} is not a number; it was left out", count)
        series = self.rows.series(keep=self._watched is not None)
        if not series:
            raise BadLog(str(self.path), "holds no numbers. Remedy: check that it is the log of a training")
        facts = {**self.machine.facts, **self.facts, **config_facts(self._settings)}
        facts |= {"events": self.events} if self.events else {}
        sources = (str(self.path),)
        return Attempt(self.path.name, sources, series, facts, self.listed(), self.truncated, self.axis)


def _kind(text: str) -> tuple[str, int]:
    """The words of a line without its digits, and how many decimals it ends with. That is 0 where it does not
    end with a number, and -1 where that is a whole one, which may go on."""
    last = _LAST_DIGITS.search(text)
    decimals = len(last["digits"]) if last and last["point"] else -1 if last else 0
    return _DIGITS.sub("0", text), decimals


def text_of(raw: bytes) -> str:
    """The text of a line; bytes that are no UTF-8 become question marks of Unicode."""
    return raw.decode("utf-8", "replace")


Column = tuple["array[float]", "array[int]"]  # values, and the rows they stand in


class Rows:
    """Points by row: each row has a line, a step and a time, and a value for some of the metrics. ``units``
    and ``roles`` are those that no name tells."""

    FRESH = ("roles",)

    def __init__(self) -> None:
        self.lines, self.steps, self.times = array("q"), array("q"), array("d")
        self.columns: dict[str, Column] = {}
        self.units, self.roles = dict[str, str](), dict[str, Role]()

    def __len__(self) -> int:
        return len(self.steps)

    def add(self, line: int, step: int, values: Mapping[str, float], time: float) -> None:
        """One row. Raises OverflowError where the step does not fit 64 bits."""
        row = len(self.steps)
        self.steps.append(step)
        self.lines.append(line)
        self.times.append(time)
        columns = self.columns
        for name, value in values.items():
            numbers, rows = columns.get(name) or self._column(name)
            numbers.append(value)
            rows.append(row)

    def extend(self, lines: Steps, steps: Steps, columns: Mapping[str, Floats], times: Floats) -> None:
        rows = np.arange(len(self.steps), len(self.steps) + len(steps))
        for name, values in columns.items():
            self.fill(name, rows, values)
        _append(self.lines, lines)
        _append(self.steps, steps)
        _append(self.times, times)

    def join(self, other: Rows) -> None:
        """All rows of another one, behind those that are here."""
        n_before = len(self.steps)
        for name, (values, at) in other.columns.items():
            self.fill(name, np.array(at, np.int64) + n_before, np.array(values))
        self.lines += other.lines
        self.steps += other.steps
        self.times += other.times

    def without_repeats(self) -> Rows:
        """The rows, but for those with the step and the values of the row before."""
        steps = np.array(self.steps)
        alike = steps[1:] == steps[:-1]
        for name, (_, at) in self.columns.items() if alike.any() else ():
            values, filled = self.column(name), np.isin(np.arange(len(steps)), np.array(at))
            both_nan = np.isnan(values[1:]) & np.isnan(values[:-1])
            alike &= (filled[1:] == filled[:-1]) & ((values[1:] == values[:-1]) | both_nan)
        if not alike.any():
            return self
        kept, rows = np.concatenate([[True], ~alike]), Rows()
        number = np.cumsum(kept) - 1
        for name, (of_rows, at) in self.columns.items():
            there = np.array(at, np.int64)
            inside = kept[there]
            rows.fill(name, number[there[inside]], np.array(of_rows)[inside])
        for to, column in ((rows.lines, self.lines), (rows.steps, self.steps), (rows.times, self.times)):
            _append(to, np.array(column)[kept])
        return rows

    def column(self, name: str) -> Floats:
        """A metric in every row, NaN where it has none."""
        values, at = self.columns.get(name, ((), ()))
        whole = np.full(len(self), np.nan)
        whole[np.array(at, np.int64)] = values
        return whole

    def fill(self, name: str, rows: Steps, values: Floats) -> None:
        if len(rows):
            numbers, at = self._column(name)
            _append(numbers, values)
            _append(at, rows)

    def series(self, *, keep: bool = False, among: tuple[int, int] | None = None) -> dict[str, Series]:
        """All metrics, each in the order of the log; roles are given later. ``among``: the first row to look
        at, and the one to end before. The columns are used up, unless they are to be kept."""
        lines, steps, times = np.array(self.lines), np.array(self.steps), np.array(self.times)
        shared: dict[bytes, tuple[Steps, Floats]] = {}
        series = {}
        for name in list(self.columns):
            values, at = self.columns[name] if keep else self.columns.pop(name)
            numbers, rows = np.frombuffer(values), np.frombuffer(at, np.int32)
            if among is not None:
                inside = (rows >= among[0]) & (rows < among[1])
                if not inside.any():
                    continue
                numbers, rows = numbers[inside], rows[inside]
            order = lines[rows]
            if np.any(order[1:] < order[:-1]):
                by_line = np.argsort(order, kind="stable")
                numbers, rows = numbers[by_line], rows[by_line]
            key = rows.tobytes()
            if key not in shared:
                shared[key] = steps[rows].astype(np.int64), times[rows].astype(np.float64)
            role, unit = self.roles.get(name, Role.OTHER), self.units.get(name) or None
            series[name] = Series(name, role, shared[key][0], numbers, shared[key][1], unit)
        return series

    def _column(self, name: str) -> Column:
        return self.columns.get(name) or self.columns.setdefault(clean(name), (array("d"), array("i")))


def _append(to: array[Any], numbers: NDArray[Any]) -> None:
    to.frombytes(np.ascontiguousarray(numbers, to.typecode).tobytes())
