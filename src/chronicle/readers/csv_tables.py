"""CSV and TSV: one row a logged step, blank where nothing was measured; or long, one row a value.

A blank cell (also NA, null, None) is "not measured in this row"; a spelled nan is data. One CSV that
W&B exported for several runs gives an attempt a run.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Steps
from chronicle.readers import tables
from chronicle.readers.tables import Column
from chronicle.readers.text import Lines, head_lines

NAME = "csv"
SUFFIXES = (".csv", ".tsv")

CHUNK_ROWS = 1 << 16
BLANK = {"", "na", "n/a", "null", "none", "-", "--"}
NAN = {"nan(ind)", "-nan(ind)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(snan)", "not a number"}
METRIC_NAMES = ("metric", "tag", "name", "metric_name", "key", "variable")
VALUE_NAMES = ("value", "metric_value", "scalar")
DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv
RUN_NAMES = ("run", "run_id", "run_name")


def identify(path: Path) -> bool:
    """A line of names, and below it rows of as many cells, most of them numbers or blank.

    Names that are numbers, and rows that do not fit, are only forgiven where a name counts steps.
    """
    lines = [line for line in head_lines(path) if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[" or any(c < " " and c != "\t" for c in lines[0]):
        return False
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return False
    header, *body = csv.reader(even, delimiter=delimiter_of(lines[0]))
    numeric = [number(cell) is not None for cell in header]
    if len(header) < 2 or all(numeric):
        return False
    shares = [_share_of_numbers(row) if len(row) == len(header) else 0.0 for row in body]
    if any(tables.step_rank(name) is not None for name in header):
        return not body or max(shares) >= 0.5
    return not any(numeric) and 2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)


def delimiter_of(header: str) -> str:
    """The separator of a header line: the most frequent of comma, tab and semicolon."""
    return max(",\t;", key=header.count)


def read(path: Path) -> list[Attempt]:
    """All attempts of the file (more than one only for a table of several runs).

    Raises:
        BadLog: nothing but a header, or no number in it.
    """
    table = _Table(path)
    if sorted(map(tables.plain, table.names)) == DOWNLOADED:
        table.columns[path.stem.partition("-tag-")[2] or path.stem] = table.columns.pop("Value")
    if not table.n_rows:
        raise BadLog(str(path), "has a header and no rows. Remedy: remove it, or wait until it is written to")
    if long := _long_columns(table.names):
        return _read_long(table, *long)
    return [table.attempt(columns, run) for run, columns in _by_run(table.columns).items()]


class _Table:
    """A file of cells, parsed: numeric columns, text columns, and what could not be used."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, Lines(path)
        self.faults: list[Fault] = []
        self.n_rows, self.truncated = 0, False
        rows = self._rows()
        self.names = header_names(next(rows))
        builders = [_Builder(whole=tables.step_rank(name) is not None) for name in self.names]
        body = (row for row in rows if self._fits(row))
        while chunk := list(islice(body, CHUNK_ROWS)):
            self._drop_cut_row(chunk)
            self.n_rows += len(chunk)
            for builder, cells in zip(builders, zip(*chunk, strict=False), strict=False):
                builder.add(cells)
        self.columns = {name: b.column() for name, b in zip(self.names, builders, strict=True) if name}
        for name, builder in zip(self.names, builders, strict=True):
            if 0 < builder.n_texts <= builder.n_numbers:
                self.faults.append(Fault(str(path), f"text in column {name!r}; left out", builder.n_texts))

    def attempt(self, columns: Mapping[str, Column], run: str = "") -> Attempt:
        """One attempt of the table, from these columns."""
        name = f"{self.path.name}: {run}" if run else ""
        return tables.attempt(
            self.path, self.n_rows, columns, name=name, faults=self.faults, truncated=self.truncated
        )

    def _rows(self) -> Iterator[list[str]]:
        lines = iter(self.lines)
        header = next((line for line in lines if line.strip()), "")
        delimiter = delimiter_of(header)
        yield next(csv.reader([header], delimiter=delimiter), [])
        yield from csv.reader(self._even_quotes(lines), delimiter=delimiter)

    def _even_quotes(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines without those that would swallow what follows: an open quote costs its line only."""
        for line in lines:
            if line.count('"') % 2 == 0:
                self.tail = line
                if line.strip():
                    yield line
            elif self.lines.unfinished:
                self.truncated = True
            else:
                self._bad("has an open quote")

    def _fits(self, row: list[str]) -> bool:
        width = len(self.names)
        if len(row) == width or (len(row) > width and not any(row[width:])):
            return row[0].strip() != self.names[0] or header_names(row) != self.names
        if self.lines.unfinished and len(row) < width:
            self.truncated = True
        else:
            self._bad(f"has {len(row)} cells where the header has {width}")
        return False

    def _bad(self, what: str) -> None:
        self.faults.append(Fault(f"{self.path}:{self.lines.number}", f"line {what}; skipped"))

    def _drop_cut_row(self, chunk: list[list[str]]) -> None:
        """Leaves out the last row of a file without a last line end, unless its last cell is surely whole."""
        if not self.lines.unfinished or self.truncated or self.tail.endswith('"'):
            return
        if not looks_whole(chunk[-1][-1], [row[-1] for row in chunk[-50:-1]]):
            self.truncated = bool(chunk.pop())


def looks_whole(cell: str, above: Sequence[str]) -> bool:
    """Whether a cell without an end is written as the cells above it all are: decimals, exponent, digits."""
    shapes = [match.groups() for text in above if (match := _NUMBER.fullmatch(text.strip()))]
    mine = _NUMBER.fullmatch(cell.strip())
    if mine is None or len(shapes) < 2:
        return cell.strip().lower() in ("nan", "inf", "-inf")
    sizes = {(len(decimals or ""), len(exponent or "")) for _, decimals, exponent in shapes}
    digits, decimals, exponent = (len(part or "") for part in mine.groups())
    longest = max(len(whole) for whole, _, _ in shapes)
    return sizes == {(decimals, exponent)} and (decimals + exponent > 0 or digits >= longest)


_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE][+-]?(\d+))?")


class _Builder:
    """One column under construction. ``whole``: keep whole numbers exact (a column that may count steps)."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.values: list[NDArray[Any]] = []
        self.rows: list[Steps] = []
        self.texts: dict[int, str] = {}
        self.n_rows = self.n_numbers = 0

    @property
    def n_texts(self) -> int:
        """How many cells are neither number nor blank."""
        return len(self.texts)

    def add(self, cells: Sequence[str]) -> None:
        """Appends a chunk of cells."""
        values, rows = self._parse(cells)
        self.values.append(values)
        self.rows.append(rows + self.n_rows)
        self.n_rows += len(cells)
        self.n_numbers += len(rows)

    def column(self) -> Column:
        """The finished column: numbers, or text where most cells are text."""
        if self.n_texts > self.n_numbers:
            cells = np.array(list(self.texts.values()), dtype=object)
            return Column(cells, np.fromiter(self.texts, np.int64, len(self.texts)))
        if not self.values:
            return Column(np.empty(0), np.empty(0, np.int64))
        return Column(np.concatenate(self.values), np.concatenate(self.rows))

    def _parse(self, cells: Sequence[str]) -> tuple[NDArray[Any], Steps]:
        for convert, dtype in ((int, np.int64), (float, np.float64))[not self.whole :]:
            try:
                return np.fromiter(map(convert, cells), dtype, len(cells)), np.arange(len(cells))
            except (ValueError, OverflowError):
                continue
        numbers = [number(cell) for cell in cells]
        for row, cell in enumerate(cells):
            if numbers[row] is None and cell.strip().lower() not in BLANK:
                self.texts[self.n_rows + row] = cell.strip()
        rows = np.array([row for row, n in enumerate(numbers) if n is not None], dtype=np.int64)
        return np.array([n for n in numbers if n is not None], dtype=np.float64), rows


def number(cell: str) -> float | None:
    """The number in a cell, NaN spelled in any way included; None for a blank or a text."""
    try:
        return float(cell)
    except ValueError:
        return float("nan") if cell.strip().lower() in NAN else None


def header_names(cells: Sequence[str]) -> list[str]:
    """Names of the columns, stripped; a name that comes again gets its number."""
    seen: Counter[str] = Counter()
    names = []
    for cell in map(str.strip, cells):
        seen[cell] += 1
        names.append(f"{cell} ({seen[cell]})" if cell and seen[cell] > 1 else cell)
    return names


def _share_of_numbers(row: Sequence[str]) -> float:
    """Which part of the cells are numbers or blank; 0 where none is a number."""
    numbers = sum(number(cell) is not None for cell in row)
    blanks = sum(cell.strip().lower() in BLANK for cell in row)
    return (numbers + blanks) / len(row) if numbers else 0.0


def _by_run(columns: Mapping[str, Column]) -> dict[str, dict[str, Column]]:
    """Columns by run: those of a W&B export are named ``<run> - <metric>``, with __MIN and __MAX beside."""
    kept = {name: c for name, c in columns.items() if not name.endswith(("__MIN", "__MAX"))}
    if len(kept) == len(columns):
        return {"": kept}
    runs: dict[str, dict[str, Column]] = {}
    shared = {name: c for name, c in kept.items() if " - " not in name}
    for name, column in kept.items():
        run, dash, metric = name.rpartition(" - ")
        if dash:
            runs.setdefault(run, dict(shared))[metric] = column
    return runs if len(runs) > 1 else {"": next(iter(runs.values()), kept)}


def _long_columns(names: Sequence[str]) -> tuple[str, str, str] | None:
    """Names of the metric, value and run columns of a long table ("" without runs); None for a wide one."""
    found = {tables.plain(name): name for name in names}
    metric = next((found[n] for n in METRIC_NAMES if n in found), None)
    value = next((found[n] for n in VALUE_NAMES if n in found), None)
    run = next((found[n] for n in RUN_NAMES if n in found), "")
    return (metric, value, run) if metric and value else None


def _read_long(table: _Table, metric: str, value: str, run: str) -> list[Attempt]:
    """One row a value: a column for each name in ``metric``, an attempt for each name in ``run``."""
    tags, values = table.columns[metric], table.columns[value]
    if tags.values.dtype != object or values.values.dtype == object:
        return [table.attempt(table.columns)]
    runs = table.columns.get(run, Column(np.empty(0, object), np.empty(0, np.int64)))
    run_of_row = dict(zip(runs.rows.tolist(), map(str, runs.values), strict=True))
    tag_of_row = dict(zip(tags.rows.tolist(), tags.values, strict=True))
    places: dict[str, dict[str, list[int]]] = {}
    for place, row in enumerate(values.rows.tolist()):
        places.setdefault(run_of_row.get(row, ""), {}).setdefault(tag_of_row.get(row, ""), []).append(place)
    attempts = []
    for one, by_tag in places.items():
        mine = {tag: Column(values.values[at], values.rows[at]) for tag, at in by_tag.items() if tag}
        shared = {k: c for k, c in table.columns.items() if k not in (metric, value, run)}
        attempts.append(table.attempt({**_rows_only(shared, mine), **mine}, one if len(places) > 1 else ""))
    return attempts


def _rows_only(shared: Mapping[str, Column], mine: Mapping[str, Column]) -> dict[str, Column]:
    """The shared columns, cut to the rows that one attempt has."""
    rows = np.concatenate([column.rows for column in mine.values()])
    cut = {name: np.isin(column.rows, rows) for name, column in shared.items()}
    return {name: Column(c.values[cut[name]], c.rows[cut[name]]) for name, c in shared.items()}
