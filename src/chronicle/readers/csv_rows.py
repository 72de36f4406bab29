"""The rows of a CSV file, parsed into columns: compiled where the file is long, and line by line elsewhere.

Lines that the kernel does not know (quotes inside cells, another number of cells, a cell that is no plain
number) are read here, one by one, with their right line numbers; the result is the same bit for bit.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Fault, Place
from chronicle.readers import tables
from chronicle.readers.blocks import Cells, engine_for, last_lines, room, scanned, sort, split
from chronicle.readers.cells import Builder, header_names, looks_whole
from chronicle.readers.text import Line, Lines, head_lines, numbered

CHUNK_CELLS = 1 << 20
MOST_FAULTS = 100  # lines that are listed one by one; the rest is one line with a count
LONG_LINE = 100_000  # characters; longer ones are left to the csv module and its limit of a field
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{mark}\d+(?:[eE][+-]?\d+)?") for mark in (",", r"\."))
LOOKED_AT = 50  # lines before a last row without an end, which tell how its last cell is written


class Table:
    """A file of cells, parsed: numeric columns, text columns, and what could not be used.

    ``names`` are those of the columns where the file has no header.
    """

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        self.path, self.n_rows, self.truncated = path, 0, False
        self._faults, self._n_more = list[Fault](), 0
        self._last = deque[str](maxlen=LOOKED_AT)
        lines = numbered(Lines(path))
        begin = [line for line in head_lines(path) if line.strip()]
        header = (
            (0, begin[0], True) if names else next((one for one in lines if one[1].strip()), (1, "", True))
        )
        self.delimiter = delimiter_of(header[1])
        self.names = list(names) or header_names(self._header(header[1]))
        self._comma = has_decimal_commas(begin[not names :], self.delimiter)
        self._builders = [Builder(whole=tables.step_rank(name) is not None) for name in self.names]
        engine = engine_for(path)
        start = _after(path, header[0]) if engine and self.names and not names else None
        if engine and start is not None:
            self._read_blocks(engine, start, header[0])
        else:
            self._read_lines(lines)
        every = np.arange(self.n_rows)
        self.columns = {n: b.column(every) for n, b in zip(self.names, self._builders, strict=True) if n}

    @property
    def faults(self) -> list[Fault]:
        """What was wrong with lines and cells."""
        more = (
            [Fault(Place(str(self.path)), "more lines are damaged; skipped", self._n_more)]
            if self._n_more
            else []
        )
        texts = [
            Fault(Place(str(self.path)), f"text in column {name!r}; left out", builder.n_texts)
            for name, builder in zip(self.names, self._builders, strict=True)
            if 0 < builder.n_texts <= builder.n_numbers
        ]
        return self._faults + more + texts

    def _header(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error as err:
            raise BadLog(str(self.path), f"has a header that cannot be read ({err})") from err

    # --- line by line ---

    def _read_lines(self, lines: Iterable[Line]) -> None:
        chunk: list[list[str]] = []
        for number, line, unfinished in lines:
            line = line.replace(",", ".") if self._comma else line
            row = self._row(number, line, unfinished)
            if row is not None:
                chunk.append(row)
                if len(chunk) * len(self.names) >= CHUNK_CELLS:
                    self._add(chunk)
                    chunk = []
            self._last.append(line)
        self._add(chunk)

    def _add(self, chunk: list[list[str]]) -> None:
        for builder, cells in zip(self._builders, zip(*chunk, strict=False), strict=False):
            builder.add(self.n_rows, cells)
        self.n_rows += len(chunk)

    def _row(self, number: int, line: str, unfinished: bool) -> list[str] | None:
        """The cells of a line; None for one that is blank, bad, cut, or repeats the header."""
        if not line.strip():
            self.truncated |= unfinished  # the padding of a row that was cut
            return None
        width = len(self.names)
        row, wrong = self._cells(line)
        if not wrong and len(row) != width and (len(row) < width or any(row[width:])):
            wrong = f"has {len(row)} cells where the header has {width}"
        if unfinished and (self._is_cut(line, row) if not wrong else "open" in wrong or len(row) < width):
            self.truncated = True
        elif wrong:
            self._bad(number, wrong)
        elif row[0].strip() != self.names[0] or header_names(row) != self.names:
            return row
        return None

    def _cells(self, line: str) -> tuple[list[str], str]:
        """The cells of a line, and what is wrong with it."""
        if '"' not in line and len(line) < LONG_LINE:
            return line.split(self.delimiter), ""
        if line.count('"') % 2:
            return [], "has an open quote"
        try:
            return next(csv.reader([line], delimiter=self.delimiter)), ""
        except csv.Error as err:
            return [""] * len(self.names), f"cannot be read ({err})"

    def _is_cut(self, line: str, row: list[str]) -> bool:
        """Whether a last line without an end may have lost some of its last cell."""
        above = [line.rpartition(self.delimiter)[2].strip('"') for line in self._last]
        return not line.endswith('"') and not looks_whole(row[len(self.names) - 1], above)

    def _bad(self, number: int, what: str) -> None:
        if len(self._faults) < MOST_FAULTS:
            self._faults.append(Fault(Place(str(self.path), line=number), f"line {what}; skipped"))
        else:
            self._n_more += 1

    # --- block by block ---

    def _read_blocks(self, engine: SimpleNamespace, start: int, n_lines: int) -> None:
        whole = np.array([builder.whole for builder in self._builders])
        first = np.frombuffer(self.names[0].encode(), np.uint8)
        known = partial(scan_block, engine, ord(self.delimiter), whole, first)
        scan = (lambda block: known(block.replace(b",", b"."))) if self._comma else known
        for found in scanned(self.path, start, lambda: scan):
            if isinstance(found, bytes):
                self._read_lines(split(found, n_lines))
                continue
            self._take(found, n_lines)
            n_lines += found.n_lines
            self._last.extend(last_lines(found.block, LOOKED_AT))

    def _take(self, cells: Cells, n_lines: int) -> None:
        """Adds the rows of a block, which begins after ``n_lines`` lines."""
        read = [self._odd_row(cells, n_lines, line) for line in cells.odd]
        refused = [row for row, found in read if not found]
        n_kept = cells.n_rows - len(refused)
        if not self.n_rows:
            for builder in self._builders:
                builder.begin.expected = int(1.05 * n_kept * self.path.stat().st_size / len(cells.block))
        for number, rows, bits in cells.numbers():
            kind, column = divmod(number, len(self.names))
            self._builders[column].add_bits(kind, cells.places(rows, refused, self.n_rows), bits, cells.text)
        for row, found in read:
            place = self.n_rows + row - bisect_left(refused, row)
            for builder, cell in zip(self._builders, found, strict=False):
                if cell:
                    builder.put(place, cell)
        self.n_rows += n_kept

    def _odd_row(self, cells: Cells, n_lines: int, line: list[int]) -> tuple[int, list[str]]:
        """The row of a line that the kernel left out, and its cells; [] for one that is none."""
        text = cells.block[line[0] : line[1]].decode("utf-8", "replace")
        return line[3], self._row(n_lines + line[2] + 1, text, unfinished=False) or []


def scan_block(engine: SimpleNamespace, delimiter: int, whole: Any, first: Any, block: bytes) -> Cells:
    """What the kernel finds in a block of whole lines."""
    *cells, odd = room(block)
    buffer = np.frombuffer(block, np.uint8)
    n, n_rows, n_odd, n_lines = engine.csv_scan(buffer, delimiter, whole, first, *cells, odd)
    bins, rows, bits, _ = cells
    sorted_ = sort(engine, 3 * len(whole), bins[:n], rows[:n], bits[:n])
    return Cells(block, n_rows, n_lines, *sorted_, odd[:n_odd].tolist())


def has_decimal_commas(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the cells of these lines have a comma where others have a point."""
    if delimiter == ",":
        return False
    cells = [cell.strip().strip('"') for line in lines for cell in line.split(delimiter)]
    return any(map(_COMMA.fullmatch, cells)) and not any(map(_POINT.fullmatch, cells))


def delimiter_of(header: str) -> str:
    """The separator of a header line: the most frequent of comma, tab and semicolon."""
    return max(",\t;", key=header.count)


def _after(path: Path, n_lines: int) -> int | None:
    """The byte after so many lines; None where lines end in a lone carriage return."""
    with path.open("rb") as file:
        lines = [file.readline() for _ in range(n_lines)]
        return None if any(b"\r" in line.removesuffix(b"\r\n") for line in lines) else file.tell()
