"""JSON lines: one object a logged step, or a list of several, flattened with "/". Lines without a number are
facts. Numbers in strings (fairseq) are numbers, null is not measured. All readers of JSON share what is here.

``trainer_state.json`` of Hugging Face holds such objects in the list of one key, ``log_history``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, compress, islice, repeat
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import Any

import numpy as np
import orjson

from chronicle.errors import BadLog
from chronicle.metrics.aliases import RUN_NAMES
from chronicle.metrics.names import A_LOSS, JUDGED, LOSSES, plain, role_of
from chronicle.metrics.values import grouped
from chronicle.model import Attempt, Fault, Place, Role, Steps
from chronicle.readers.columns import CLOSING, FILTERED_LOSS, Builder, Table, attempt_of, text_of
from chronicle.readers.facts import MAX_DEPTH, MAX_LIST, below_config, config_facts, named_facts
from chronicle.readers.items import may_hold_runs
from chronicle.readers.read_on import read_lines
from chronicle.readers.runs_in_table import attempts_of, names_of_runs
from chronicle.readers.step_axis import counts_steps, is_counter
from chronicle.readers.text import JSON, SMALL_BYTES, Faults, Head, clean, from_json, json_or_none

LONGEST_FIRST = 1 << 18  # characters of a first line that holds the whole configuration
MOST_EMPTY = 100  # lines before the first that says something
MAX_EVENTS = 1000
FEWEST_LOST = 3  # records in which a loss is null
_OBJECT, _EMPTY, _LIST = (re.compile(p) for p in (r'\{\s*"', r"\{\s*\}", r'\[\s*\{\s*"'))
_SEPARATORS = re.compile(r"[\s,]*")
_BLANK = " \t\r\n\0"

Row = dict[str, Any]
# What a training is about: a row of these is one of its log, and no configuration.


def identify(head: Head) -> bool:
    """Whether the first line that is not empty is a whole JSON object, with another line below it. A single
    line, or a very long first one, is only enough with a suffix of JSON lines, since any document may look
    like that."""
    first, second = _begin(head) if "".join(head.lines).lstrip()[:1] in ("{", "[") else ("", "")
    by_suffix = head.path.suffix.lower() in (".jsonl", ".ndjson")
    if not (second or by_suffix):
        return False
    if _LIST.match(first):  # of what was logged since the line before
        return by_suffix or (_LIST.match(second) is not None and bool(next(whole_entries(first), None)))
    if not _OBJECT.match(first) or '"log_history"' in first:
        return False
    if (value := json_or_none(first)) is None:
        return by_suffix and (not second or len(first) == LONGEST_FIRST)
    return isinstance(value, dict)


@lru_cache(maxsize=1)
def _begin(head: Head) -> tuple[str, str]:
    """The first two lines that are neither blank nor an empty object; "" for each that is missing."""
    with head.opened() as file:
        lines = map(str.strip, islice(iter(lambda: file.readline(LONGEST_FIRST), ""), MOST_EMPTY))
        filled = (line for line in lines if line and not _EMPTY.fullmatch(line))
        return next(filled, ""), next(filled, "")


def read(path: Path) -> list[Attempt]:
    """Reads an attempt for each run, with a row for each line that has a step. Lines before the first row are
    facts. A later line without a step belongs to the step before if it has a metric, and is an event
    otherwise. If no line has a step, those with a known metric are the rows, or else all. Raises BadLog if no
    line contains a number."""
    return attempts_of(JsonLog(path).table())


def runs(path: Path) -> list[str]:
    """The runs that a key of the lines names (the fact "run"); none if none of the first lines has the
    key."""
    head = Head.of(path)
    named = any(f'"{name}":' in line for line in head.lines for name in RUN_NAMES)
    rows = [json_or_none(line) for line in (*head.lines[:2], head.last_line)]
    are_rows = all(isinstance(row, dict) for row in rows)
    if not named and not (are_rows and len(head.lines) > 1 and may_hold_runs(*rows)):
        return []
    return names_of_runs(JsonLog(path).table())


class JsonLog:
    """A file of JSON lines that is being read: its columns, and the lines that are no rows."""

    FRESH = ("path", "truncated")

    def __init__(self, path: Path) -> None:
        self.path, self.n_rows, self.truncated, self._n_lines = path, 0, False, 0
        self._builders: dict[str, Builder] = {}
        self._early, self._events, self._faults = list[Row](), list[Row](), Faults(path)
        read_lines(path, "jsonl", self, SMALL_BYTES)

    def take(self, block: bytes) -> None:
        records, lines = _objects(block), list[bytes]()
        if not records:
            records = [*map(_record, lines := block.splitlines())]
        numbers: Sequence[int] = range(self._n_lines + 1, self._n_lines + len(records) + 1)
        self._n_lines += len(records)
        cut_line = 0 if block.endswith((b"\n", b"\r")) else self._n_lines
        if any(line.startswith(b"[") for line in lines):
            of_lines = map(self._entries, numbers, lines, records, repeat(cut_line))
            numbers, records = zip(*chain.from_iterable(of_lines), strict=True)
        self._read(records, numbers, cut_line)

    @property
    def can_be_left(self) -> bool:
        """Whether reading may go on from here later: not while many lines wait for the first that counts."""
        return len(self._early) <= MAX_EVENTS

    def table(self) -> Table:
        """What was read. It can be asked for once: this uses up what the columns are made of."""
        every = np.arange(self.n_rows)
        columns = {name: builder.finished(every) for name, builder in self._builders.items()}
        table = Table(self.path, self.n_rows, columns)
        if not self.n_rows:
            self._early, rows, self._events = without_steps(self._early)
            table = Table.of(self.path, rows)
        facts: dict[str, Any] = named_facts(item for row in self._early for item in row.items())
        if self._events:
            facts["events"] = self._events[:MAX_EVENTS]
        return replace(table, facts=facts, faults=self._faults.all(), truncated=self.truncated)

    def _entries(self, line_number: int, line: bytes, record: Any, cut_line: int) -> list[tuple[int, Any]]:
        """The objects of a list in a line, with its number; the record itself where it is none."""
        entries = record if type(record) is list else [*whole_entries(line.decode("utf-8", "replace"))]
        if not entries or not all(isinstance(entry, dict) for entry in entries):
            return [(line_number, record)]
        if type(record) is not list:
            self._damaged("list is damaged; what follows in the line is left out", line_number, cut_line)
        return [(line_number, entry) for entry in entries]

    def _damaged(self, problem: str, line_number: int, cut_line: int) -> None:
        if line_number == cut_line:
            self.truncated = True
        else:
            self._faults.add(problem, line=line_number)

    def _read(self, records: Sequence[Any], numbers: Sequence[int], cut_line: int) -> None:
        """Reads the records of a block: records with the same keys together, column by column, all others one
        by one."""
        shapes = _shapes(records, is_counted if self.n_rows else _places)
        passed_over = list[int]()
        have_one_shape = any(len(lines) == len(records) for lines, _ in shapes)
        alone = set(range(0 if have_one_shape else len(records))).difference(*(lines for lines, _ in shapes))
        for i in sorted(alone):
            place = self.n_rows + i - len(passed_over)
            if records[i] is _NO_JSON:
                self._damaged("line is not JSON; skipped", numbers[i], cut_line)
            elif not isinstance(records[i], dict):
                self._faults.add("line is not a JSON object; skipped", line=numbers[i])
            elif row := self._row(records[i], place):
                shapes.append(([i], {name: ([value], {type(value)}) for name, value in row.items()}))
                continue
            passed_over.append(i)
        for lines, columns in sorted(shapes, key=lambda shape: shape[0][0]):  # in the order of the names
            rows: Steps | range = range(self.n_rows, self.n_rows + len(records))
            if len(lines) < len(records):
                at = np.array(lines)
                rows = at + (self.n_rows - np.searchsorted(passed_over, at))
            for name, (cells, types) in columns.items():
                if name not in self._builders:
                    self._builders[name] = Builder(counts_steps(name))
                self._builders[name].extend(rows, cells, types)
        self.n_rows += len(records) - len(passed_over)

    def _row(self, record: Row, place: int) -> Row:
        """The cells of a record that is row ``place``; {} for one that is no row."""
        row = dict(cells_of(record))
        known = {name: value for name, value in row.items() if value is not None}
        if any(map(_places, known)) or (place and any(map(is_counted, known))) or _measures(known):
            return row
        if known and not place:
            self._early.append(known)
        elif known and len(self._events) < MAX_EVENTS:
            self._events.append({"row": place, **known})
        return {}


def tells_of_training(name: str) -> bool:
    """Whether a metric of this name is a loss or a part of one, a score or a reward."""
    role = role_of(name)
    return role in JUDGED or role is Role.PART_LOSS


def _measures(row: Row) -> bool:
    """Whether a line before the first step has a loss or a score beside what may count."""
    measured = (isinstance(value, float) and tells_of_training(name) for name, value in row.items())
    return any(map(is_counter, row)) and any(measured)


_Cells = tuple[Sequence[Any], Set[type]]  # of a column, and their types
# Records with the same keys in the same order, all of them rows: numbers of their lines, and columns.
_Shape = tuple[Sequence[int], dict[str, _Cells]]
_NO_JSON = object()
_LINE_END, _BRACE = b"\n{"


def _objects(block: bytes) -> Sequence[Any]:
    """The objects of a block that consists of objects alone, parsed as one list, which is faster; else
    none."""
    if not block.startswith(b"{") or not block.endswith(b"}\n") or b"\r" in block:
        return ()
    characters = np.frombuffer(block, np.uint8)  # to count two of them in bytes takes three times as long
    ends = np.flatnonzero(characters == _LINE_END)
    if (characters[ends[:-1] + 1] == _BRACE).all():
        with suppress(orjson.JSONDecodeError):
            records = orjson.loads(b"[%b]" % block[:-1].replace(b"\n", b","))
            return records if len(records) == len(ends) and set(map(type, records)) == {dict} else ()
    return ()


def _record(line: bytes) -> Any:
    """The value on a line: {} if it is blank, _NO_JSON if it is not valid."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        return from_json(text) if text.strip() else {}  # which reads NaN and Infinity, too
    return _NO_JSON


def _shapes(records: Sequence[Any], counts: Callable[[str], bool]) -> list[_Shape]:
    """Groups the objects among the records by their keys, if all objects of a group are certainly rows, by a
    key that ``counts``."""
    keys = [tuple(record) if type(record) is dict else () for record in records]
    by_keys: Mapping[tuple[str, ...], Sequence[int]] = {key: range(len(keys)) for key in keys[:1]}
    if len(set(keys)) > 1:
        by_keys = grouped(range(len(keys)), keys.__getitem__)
    shapes = list[_Shape]()
    for key, lines in by_keys.items():
        own = records if len(lines) == len(records) else [records[i] for i in lines]
        columns = _flat_columns(key, own) if key else {}
        if any(counts(name) and NoneType not in types for name, (_, types) in columns.items()):
            shapes.append((lines, columns))
    return shapes


def _flat_columns(
    keys: Sequence[str], records: Sequence[Row], prefix: str = "", depth: int = 0
) -> dict[str, _Cells]:
    """The columns of records with the same keys, named as by `cells_of`; {} for records that only `cells_of`
    can read: with lists, objects of several shapes, or names that two paths share."""
    columns, n_columns = dict[str, _Cells](), 0
    for key, values in zip(keys, zip(*map(dict.values, records), strict=True), strict=True):
        name, types = prefix + clean(key), set(map(type, values))
        inner: dict[str, _Cells] = {name: (values, types)}
        if dict in types:
            shapes = set(map(tuple, values)) if types == {dict} and depth < MAX_DEPTH else set()
            inner = _flat_columns(shapes.pop(), values, f"{name}/", depth + 1) if len(shapes) == 1 else {}
        if not inner or list in types:
            return {}
        columns |= inner
        n_columns += len(inner)
    return columns if len(columns) == n_columns else {}


# --- what readers of JSON share ---


def cells_of(record: Row, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float | int | str | None]]:
    """Yields the cells of a nested object: the name (keys joined with "/"), and a number, a text or None for
    null."""
    for name, value in record.items():
        key, kind = clean(name), type(value)
        if kind is float or kind is int or value is None:
            yield prefix + key, value
        elif kind is str:
            yield prefix + key, text_of(value)
        elif kind is bool:
            yield prefix + key, int(value)
        elif kind is dict and depth < MAX_DEPTH:
            yield from cells_of(value, f"{prefix}{key}/", depth + 1)
        elif kind is list and len(value) <= MAX_LIST and depth < MAX_DEPTH:
            named = {key: value[0]} if len(value) == 1 else {f"{key}/{i}": v for i, v in enumerate(value)}
            yield from cells_of(named, prefix, depth + 1)


def without_steps(rows: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The facts, rows and events of a log in which nothing counts steps."""
    is_row = [any(map(is_counted, row)) for row in rows]
    if not any(is_row):
        return ([], rows, []) if len(rows) > 1 else (rows, [], [])
    n_rows = np.cumsum(is_row).tolist()
    events = [{"row": n, **row} for row, n, own in zip(rows, n_rows, is_row, strict=True) if n and not own]
    return rows[: is_row.index(True)], [*compress(rows, is_row)], events


@lru_cache(maxsize=1 << 16)
def _places(name: str) -> bool:
    """Whether a value of this name makes its line a row: it counts steps, and is no setting."""
    return counts_steps(name) and not below_config(name)


@lru_cache(maxsize=1 << 16)
def is_counted(name: str) -> bool:
    """Whether a value of this name makes its line a row among others: it counts steps, or is a known
    metric."""
    is_metric = not name.startswith("_") and role_of(name) is not Role.OTHER
    return not below_config(name) and (counts_steps(name) or is_metric)


def flat(record: Row) -> Iterator[tuple[str, float | int | str]]:
    """Yields the numbers and texts of a nested object, named by their keys joined with "/"; null is left
    out."""
    return ((name, value) for name, value in cells_of(record) if value is not None)


def flat_rows(records: Sequence[Row]) -> list[Row]:
    """The records of a list, each flattened. JavaScript and pandas write NaN as null: a loss is NaN if it is
    null in the last records, three or more, and these contain nothing else but counters."""
    rows = [dict(flat(record)) for record in records]
    n_measured = next((n for n in range(len(rows), 0, -1) if not all(map(is_counter, rows[n - 1]))), 0)
    if len(rows) - n_measured >= FEWEST_LOST:
        for row, record in zip(rows[n_measured:], records[n_measured:], strict=True):
            lost = (name for name, cell in cells_of(record) if cell is None and role_of(name) in LOSSES)
            row |= dict.fromkeys(lost, math.nan)
    return rows


def whole_entries(text: str, at: int = 0) -> Iterator[Any]:
    """The entries of the list that begins with the bracket at ``at``, up to its end or to where it is cut."""
    at = at + 1 if text[at : at + 1] == "[" else 0
    while at and (start := _SEPARATORS.match(text, at)):
        try:
            entry, at = JSON.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            return
        yield entry


def parsed(head: Head) -> tuple[Any, bool]:
    """The first JSON value of a file, and whether anything but blanks follows it. Raises what `from_json`
    raises."""
    with head.opened() as file:
        text = file.read()
    value, end = JSON.raw_decode(text, len(text) - len(text.lstrip(_BLANK)))
    return value, bool(text[end:].strip(_BLANK))


def is_bare(row: Row) -> bool:
    """Whether a row without a counter contains only numbers, one of which is a loss and none an id."""
    names = [*map(plain, row)]
    numeric = all(isinstance(cell, int | float | None) for cell in row.values())
    counted = any(name.split()[-1:] in (["id"], ["idx"], ["index"]) for name in names)
    return numeric and not counted and any(map(A_LOSS.search, names))


def whole_document(
    path: Path, parse: Callable[[Head], tuple[Any, bool]] = parsed
) -> tuple[Any, tuple[Fault, ...]]:
    """The document in a file, and a fault for what follows it. Raises BadLog if it is cut or damaged."""
    try:
        value, more = parse(Head.of(path))
    except (ValueError, RecursionError) as err:
        raise BadLog(str(path), f"is not a complete JSON document ({err})", remedy="fetch it again") from err
    return value, (Fault(Place(str(path)), "something follows the document; left out"),) if more else ()


# --- the state of Hugging Face's Trainer ---
# Keys of the state that hold arguments of the training.
CONFIG = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")

_HISTORY = '"log_history"'


def is_state(head: Head) -> bool:
    """Whether a file is a JSON object with a log_history, as a Trainer stores it."""
    start = "\n".join(head.lines).lstrip()
    return start.startswith("{") and _HISTORY in start


def read_state(path: Path) -> list[Attempt]:
    """Reads one attempt. The last entry (train_runtime, ...) sums the training up and is a fact. A loss of
    0.0 with a gradient norm that is not finite was NaN before the Trainer replaced it; a fault says so.
    Raises BadLog if there is no entry."""
    with Head.of(path).opened() as file:
        text = file.read()
    state = json_or_none(text)
    truncated = state is None
    if truncated:  # then only the whole entries of the log
        state = {"log_history": list(whole_entries(text, text.find("[", text.find(_HISTORY))))}
    state = state if isinstance(state, dict) else {}
    history, trial = state.pop("log_history", None), state.get("trial_params")
    scalars: dict[str, Any] = {k: value for k, value in state.items() if isinstance(value, str | int | float)}
    config: dict[str, Any] = {key: scalars.pop(key) for key in CONFIG if key in scalars}
    facts = scalars | config_facts(config | (trial if isinstance(trial, dict) else {}))
    rows = list[Row]()
    for entry in history if isinstance(history, list) else []:
        row = dict(flat(entry)) if isinstance(entry, dict) else {}
        if CLOSING in row:
            facts |= {"summary": row, "ended": "finished"}
        elif row:
            facts.pop("ended", None)  # a training that went on after its end
            rows.append(row)
    if scalars.get("global_step", 0) == config.get("max_steps", -1):
        facts["ended"] = "finished"
    if not rows:
        raise BadLog(str(path), "has an empty log_history", remedy="check logging_steps of the Trainer")
    norms = [row.get("grad_norm") for row in rows if row.get("loss") == 0.0]
    n_replaced = sum(isinstance(norm, int | float) and not math.isfinite(norm) for norm in norms)
    faults = [Fault(Place(str(path)), FILTERED_LOSS, n_replaced)] if n_replaced else []
    return [attempt_of(Table.of(path, rows, facts=facts, faults=faults, truncated=truncated))]


BY_NAME = {"trainer_state.json": SimpleNamespace(identify=is_state, read=read_state)}
