"""The rows of a file of JSON lines, as columns: compiled where the file is long, else line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from chronicle.metrics.roles import role_of
from chronicle.model import Attempt, Fault, Place, Role
from chronicle.readers import tables
from chronicle.readers.blocks import Cells, Scan, scanned, split
from chronicle.readers.cells import Builder, number
from chronicle.readers.hyperparameters import below_config, named_facts
from chronicle.readers.json_shapes import Shapes, scan_block
from chronicle.readers.runs_in_table import attempts_of
from chronicle.readers.tables import Column
from chronicle.readers.text import Line, clean

MAX_EVENTS, MAX_DEPTH, MAX_LIST = 1000, 8, 16
MOST_FAULTS = 100  # lines that are listed one by one; the rest is one line with a count
HEAD_BYTES = 1 << 16  # read with care, to learn from
_MARK = b"\xef\xbb\xbf"

Row = dict[str, Any]


class JsonLog:
    """A file of JSON lines under way: its columns, and the lines that are no rows."""

    def __init__(self, path: Path) -> None:
        self.path, self.n_rows, self.truncated = path, 0, False
        self._builders: dict[str, Builder] = {}
        self._early, self._events, self._faults, self._n_more = list[Row](), list[Row](), list[Fault](), 0
        self._shapes = Shapes()

    def attempts(self) -> list[Attempt]:
        """What was read, an attempt a run. Raises BadLog where no line holds a number."""
        if not self.n_rows:
            self._early, rows, self._events = without_steps(self._early)
            for row in rows:
                self._add(self.n_rows, row)
                self.n_rows += 1
        facts: dict[str, Any] = named_facts(item for row in self._early for item in row.items())
        if self._events:
            facts["events"] = self._events[:MAX_EVENTS]
        if self._n_more:
            self._faults.append(Fault(Place(str(self.path)), "more lines are damaged; skipped", self._n_more))
        return attempts_of(
            self.path,
            self.n_rows,
            self.columns(),
            facts=facts,
            faults=self._faults,
            truncated=self.truncated,
        )

    def columns(self) -> dict[str, Column]:
        """All columns that were read."""
        every = np.arange(self.n_rows)
        return {name: builder.column(every) for name, builder in self._builders.items()}

    def read_lines(self, lines: Iterable[Line]) -> None:
        """Reads lines with care."""
        for number_, text, unfinished in lines:
            self.n_rows += self._line(number_, text, unfinished, self.n_rows)

    def read_blocks(self, engine: SimpleNamespace) -> None:
        """Reads the whole file, all but its head and odd lines by compiled code."""
        with self.path.open("rb") as file:
            start = len(_MARK) if file.read(len(_MARK)) == _MARK else 0
            file.seek(start)
            head = file.read(HEAD_BYTES)
        head = head[: head.rfind(b"\n") + 1]
        self.read_lines(split(head, 0))
        n_lines = sum(1 for _ in split(head, 0))
        for found in scanned(self.path, start + len(head), partial(self._scan, engine)):
            if isinstance(found, bytes):
                self.read_lines(split(found, n_lines))
            else:
                self._take(found, n_lines)
                n_lines += found.n_lines

    def _scan(self, engine: SimpleNamespace) -> Scan:
        """How a block is scanned, as far as lines are known by now."""
        names = list(self._shapes.columns)
        keeps = np.array([counts_steps(name) for name in names], bool)
        counts = np.array([is_counted(name) for name in names], bool)
        return partial(scan_block, engine, self._shapes.tables(), keeps, counts)

    def _take(self, cells: Cells, n_lines: int) -> None:
        """Adds the rows of a block, which begins after ``n_lines`` lines."""
        refused = list[int]()
        for builder in self._builders.values():
            builder.settle()
        for begin, end, line, row in cells.odd:
            text = cells.block[begin:end].decode("utf-8", "replace")
            if not self._line(n_lines + line + 1, text, False, self.n_rows + row - len(refused)):
                refused.append(row)
        names, n_columns = list(self._shapes.columns), len(cells.stops) // 3
        expected = int(1.05 * cells.n_rows * self.path.stat().st_size / len(cells.block))
        for bin_, rows, bits in cells.numbers():
            kind, column = divmod(bin_, n_columns)
            builder = self._builders[names[column]]
            builder.begin.expected = builder.begin.expected or expected
            builder.add_bits(kind, cells.places(rows, refused, self.n_rows), bits, cells.text)
        self.n_rows += cells.n_rows - len(refused)

    def _line(self, number_: int, text: str, unfinished: bool, place: int) -> bool:
        """Reads a line that is row ``place`` if it is one; whether it is."""
        if not text.strip():
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            self.truncated |= unfinished
            if not unfinished:
                self._bad(number_, "line is no JSON; skipped")
            return False
        if not isinstance(record, dict):
            self._bad(number_, "line is no JSON object; skipped")
            return False
        row = dict(cells_of(record))
        known = {name: value for name, value in row.items() if value is not None}
        if any(map(counts_steps, known)) or (place and any(map(is_counted, known))):
            self._add(place, row)
            self._shapes.learn(text)
            return True
        if not known:
            return False
        if not place:
            self._early.append(known)
        elif len(self._events) < MAX_EVENTS:
            self._events.append({"row": place, **known})
        return False

    def _add(self, place: int, row: Row) -> None:
        for name, value in row.items():
            if name not in self._builders:
                self._builders[name] = Builder(counts_steps(name), text_of)
            if isinstance(value, str):
                self._builders[name].texts[place] = value
            elif value is not None:
                self._builders[name].put_number(place, value)

    def _bad(self, number_: int, what: str) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(Fault(Place(str(self.path), line=number_), what))
        else:
            self._n_more += 1


def cells_of(
    record: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, float | int | str | None]]:
    """(name, number, text or None for null) of a nested object, names joined with "/"."""
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


def text_of(text: str) -> float | str:
    """A text, or the number that it spells."""
    parsed = number(text)
    return clean(text) if parsed is None else parsed


def without_steps(found: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """Facts, rows and events of a log in which nothing counts steps."""
    metric = [any(map(is_counted, row)) for row in found]
    if not any(metric):
        return ([], found, []) if len(found) > 1 else (found, [], [])
    first = metric.index(True)
    rows = [row for row, is_row in zip(found, metric, strict=True) if is_row]
    n_rows = np.cumsum(metric).tolist()
    events = [
        {"row": n, **row} for row, n, is_row in zip(found, n_rows, metric, strict=True) if n and not is_row
    ]
    return found[:first], rows, events


def counts_steps(name: str) -> bool:
    """Whether a value of this name counts steps."""
    return tables.step_rank(name) is not None


@lru_cache(maxsize=1 << 16)
def is_counted(name: str) -> bool:
    """Whether a value of this name makes a line a row among others: it counts steps, or is a known metric."""
    if counts_steps(name):
        return True
    return not name.startswith("_") and role_of(name) is not Role.OTHER and not below_config(name)
