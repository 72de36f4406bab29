"""The cells of a CSV or TSV file: its header, its rows, and what could not be used.

A short file is read line by line, with care; of a long one, from 8 MB, pandas reads the blocks that hold
whole rows of plain cells. Lines that begin with "#" before the header are comments.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Fault, Place
from chronicle.readers.columns import BLANK, Builder, counts_steps, is_blank, number
from chronicle.readers.runs_in_table import places_rows
from chronicle.readers.text import Faults, Line, blocks, head_lines, numbered_lines

PANDAS_FROM = 8_000_000  # bytes: smaller files are read before pandas is imported
FEW_BYTES = 1 << 18  # of a long file that are read line by line where something in them is odd
CHUNK_CELLS = 1 << 20
LONG_LINE = 100_000  # characters; longer ones are left to the csv module and its limit of a field
LOOKED_AT = 50  # lines before a last row without an end, which tell how its last cell is written
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{mark}\d+(?:[eE][+-]?\d+)?") for mark in (",", r"\."))
_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE][+-]?(\d+))?")

_BLANKS = sorted({spelled for word in BLANK for spelled in (word, word.upper(), word.title())})


class Table:
    """A file of cells, parsed: numeric columns, text columns, and what could not be used.

    ``names`` are those of the columns where the file has no header; ``comments`` stand before it. A file is
    read line by line, with care; the blocks of a long one by pandas, as far as they hold whole rows of plain
    cells and nothing else.
    """

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        self.path, self.n_rows, self.truncated = path, 0, False
        self._faults, self._n_lines = Faults(path), 0
        self._last = deque[str](maxlen=LOOKED_AT)
        self.comments, begin = beginning(head_lines(path))
        parts, header = blocks(path), begin[0] if names else ""
        lines: Iterator[Line] = iter(())
        while block := next(parts, b""):
            lines = dropwhile(self._is_before, self._lines(block))
            if header or (header := next(lines, (0, "", True))[1]):
                break
        self.delimiter = delimiter_of(header)
        self.names = list(names) or header_names(self._header(header.lstrip("# ") or header))
        self._comma = has_decimal_commas(begin[not names :], self.delimiter)
        self._builders = [Builder(whole=counts_steps(name)) for name in self.names]
        self._read_lines(lines)
        is_long = path.stat().st_size >= PANDAS_FROM
        for block in parts:
            self._read_block(block, as_a_whole=is_long)
        every = np.arange(self.n_rows)
        self.columns = {n: b.finished(every) for n, b in zip(self.names, self._builders, strict=True) if n}

    @property
    def faults(self) -> list[Fault]:
        """What was wrong with lines and cells."""
        texts = [
            Fault(Place(str(self.path)), f"text in column {name!r}; left out", builder.n_texts)
            for name, builder in zip(self.names, self._builders, strict=True)
            if 0 < builder.n_texts <= builder.n_numbers
        ]
        return self._faults.all() + texts

    def _header(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error as err:
            raise BadLog(str(self.path), f"has a header that cannot be read ({err})") from err

    def _is_before(self, line: Line) -> bool:
        return not line[1].strip() or line[1] in self.comments

    # line by line

    def _lines(self, block: bytes) -> Iterator[Line]:
        for line in numbered_lines(block, self._n_lines):
            self._n_lines = line[0]
            yield line

    def _read_lines(self, lines: Iterable[Line]) -> None:
        chunk: list[list[str]] = []
        for line_number, line, unfinished in lines:
            line = line.replace(",", ".") if self._comma else line
            row = self._row(line_number, line, unfinished)
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

    def _row(self, line_number: int, line: str, unfinished: bool) -> list[str] | None:
        """The cells of a line; None for one that is blank, bad, cut, or repeats the header."""
        if not line.strip():
            self.truncated |= unfinished  # the padding of a row that was cut
            return None
        width = len(self.names)
        row, wrong = self._cells(line)
        if not wrong and len(row) != width and (len(row) < width or any(row[width:])):
            wrong = f"has {len(row)} cells where the header has {width}"
        if unfinished and not wrong and self._is_cut(line, row):
            self.truncated = True
            return None if width == 1 or places_rows(self.names[-1]) else [*row[: width - 1], ""]
        if unfinished and wrong and ("open" in wrong or len(row) < width):
            self.truncated = True
        elif wrong:
            self._faults.add(f"line {wrong}; skipped", line=line_number)
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
        """Whether a last line without an end may have lost some of its last cell.

        The cells before it have a separator behind them, so they are whole wherever the writing stopped, and
        the row is read without its last cell; but for one that says where the row belongs.
        """
        above = [line.rpartition(self.delimiter)[2].strip('"') for line in self._last]
        return not line.endswith('"') and not looks_whole(row[len(self.names) - 1], above)

    # block by block

    def _read_block(self, block: bytes, *, as_a_whole: bool) -> None:
        """Reads a block ``as_a_whole`` or, where that fails, its halves, and what is small line by line."""
        if as_a_whole and self._read_plain(block):
            return
        middle = block.find(b"\n", len(block) // 2) + 1
        if not as_a_whole or len(block) <= FEW_BYTES or middle in (0, len(block)):
            self._read_lines(self._lines(block))
        else:
            self._read_block(block[:middle], as_a_whole=True)
            self._read_block(block[middle:], as_a_whole=True)

    def _read_plain(self, block: bytes) -> bool:
        """Reads a block of whole rows of plain cells with pandas; False, and nothing is read, for any other.

        Columns that held texts or NaN before are taken as they are written, and read as in single lines.
        """
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n")
        if self._comma:
            block = block.replace(b",", b".")
        raw = [builder.irregular for builder in self._builders]
        if not self._has_plain_lines(block) or not self._no_header_fits(raw):
            return False
        n_rows = block.count(b"\n")
        columns = self._parsed(block, raw)
        if not columns or len(columns[0]) != n_rows:
            return False
        full = [not is_raw and not np.isnan(cells).any() for cells, is_raw in zip(columns, raw, strict=True)]
        if not any(full) and (self.delimiter == "\t" or len(columns) == 1):
            return False  # a line of nothing but blanks may be among them
        if not full[-1] and block.count(self.delimiter.encode()) != n_rows * (len(full) - 1):
            return False  # pandas fills up lines of too few cells
        for builder, cells, is_raw, is_full in zip(self._builders, columns, raw, full, strict=True):
            if is_raw:
                builder.add(self.n_rows, cells)
            elif is_full:
                builder.add_numbers(range(self.n_rows, self.n_rows + n_rows), cells)
            else:
                rows = np.flatnonzero(~np.isnan(cells))
                builder.add_numbers(rows + self.n_rows, cells[rows])
        self.n_rows += n_rows
        self._n_lines += n_rows
        latest = block.rsplit(b"\n", LOOKED_AT + 1)[-LOOKED_AT - 1 : -1]
        self._last.extend(line.decode("utf-8", "replace") for line in latest)
        return True

    def _no_header_fits(self, raw: Sequence[bool]) -> bool:
        """Whether a name stands above numbers, so that no row of them can repeat the header."""
        named = zip(self.names, raw, strict=True)
        return any(not (is_raw or is_blank(name)) and number(name) is None for name, is_raw in named)

    def _has_plain_lines(self, block: bytes) -> bool:
        """Whether all lines are short and end, without quotes, and the first has a cell for each name.

        Pandas refuses lines of too many cells, but for the first.
        """
        window = LONG_LINE // 2
        n_first = block.count(self.delimiter.encode(), 0, block.index(b"\n")) + 1 if b"\n" in block else 0
        return (
            block.endswith(b"\n")
            and not any(odd in block for odd in (b'"', b"\0", b"\r"))
            and n_first == len(self.names)
            and all(block.find(b"\n", at, at + window) >= 0 for at in range(0, len(block) - window, window))
        )

    def _parsed(self, block: bytes, raw: Sequence[bool]) -> list[Any]:
        """The columns of a block: those that are ``raw`` as texts, others as numbers and NaN for blanks.

        [] where one of the others holds more than numbers and blanks.
        """
        import pandas as pd

        numeric = [i for i, is_raw in enumerate(raw) if not is_raw]
        options: dict[str, Any] = {
            "sep": self.delimiter,
            "header": None,
            "names": range(len(raw)),
            "index_col": False,
            "dtype": {i: object for i, is_raw in enumerate(raw) if is_raw},
            "na_values": dict.fromkeys(numeric, _BLANKS) if any(raw) else _BLANKS,
            "keep_default_na": False,
            "skipinitialspace": True,
            "quoting": csv.QUOTE_NONE,
            "low_memory": False,
            "encoding_errors": "replace",
        }
        if _version(pd.__version__) < (3, 1):  # later ones do so anyway, and warn of the option
            options["float_precision"] = "round_trip"
        try:
            frame: Any = pd.read_csv(io.BytesIO(block), **options)
        except (ValueError, OverflowError):
            return []
        columns = [frame[i].to_numpy() for i in range(len(raw))]
        for i in numeric:
            whole = self._builders[i].whole
            if not self._are_numbers(columns[i], block, whole=whole):
                return []
            dtype = np.int64 if whole and columns[i].dtype.kind == "i" else np.float64
            columns[i] = np.array(columns[i], dtype)  # a copy: of several in one array none could be given up
        return columns

    def _are_numbers(self, values: Any, block: bytes, *, whole: bool) -> bool:
        """Whether a column holds the numbers that are written, and NaN only for blanks.

        Where a column of whole numbers has a blank, pandas loses digits; and a zero may have lost its sign.
        """
        if values.dtype.kind not in "if":
            return False
        if whole:
            return not np.isnan(values).any()
        zeros = (b"-0" + end for end in (self.delimiter.encode(), b"\n", b" "))
        return bool(values.all()) or not any(zero in block for zero in zeros)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def beginning(start: Sequence[str]) -> tuple[list[str], list[str]]:
    """The comments before a header, and the lines from it on, without blank ones.

    A line that begins with "#" is a header where the row below it has as many cells, most of them numbers.
    """
    lines = [line for line in start if line.strip()]
    comments = 0
    while comments < len(lines) - 1 and _is_comment(*lines[comments : comments + 2]):
        comments += 1
    return lines[:comments], lines[comments:]


def _is_comment(line: str, below: str) -> bool:
    delimiter = delimiter_of(line)
    cells = below.split(delimiter)
    numbers = sum(number(cell) is not None for cell in cells)
    return line.startswith("#") and (line.count(delimiter) + 1 != len(cells) or 2 * numbers < len(cells))


def has_decimal_commas(lines: Sequence[str], delimiter: str) -> bool:
    """Whether the cells of these lines have a comma where others have a point."""
    if delimiter == ",":
        return False
    cells = [cell.strip().strip('"') for line in lines for cell in line.split(delimiter)]
    return any(map(_COMMA.fullmatch, cells)) and not any(map(_POINT.fullmatch, cells))


def delimiter_of(header: str) -> str:
    """The separator of a header line: the most frequent of comma, tab and semicolon."""
    return max(",\t;", key=header.count)


def header_names(cells: Sequence[str]) -> list[str]:
    """Names of the columns, stripped; a name that comes again gets its number."""
    seen: Counter[str] = Counter()
    names = []
    for cell in map(str.strip, cells):
        seen[cell] += 1
        names.append(f"{cell} ({seen[cell]})" if cell and seen[cell] > 1 else cell)
    return names


def looks_whole(cell: str, above: Sequence[str]) -> bool:
    """Whether a cell without an end is written as the cells above it.

    A number has as many decimals and digits of an exponent as all of them, a text is one of them and the
    beginning of none: whoever writes 2.5 beside 2.25, or a name for the first time, may be in the middle.
    """
    cell, above = cell.strip(), list(map(str.strip, above))
    match = _NUMBER.fullmatch(cell)
    if match is None:
        longer = any(text != cell and text.startswith(cell) for text in above)
        return cell.lower() in ("nan", "inf", "-inf") or (cell != "" and cell in above and not longer)
    shapes = [shape.groups() for text in above if (shape := _NUMBER.fullmatch(text))]
    if len(shapes) < 2:
        return False
    sizes = {(len(decimals or ""), len(exponent or "")) for _, decimals, exponent in shapes}
    digits, decimals, exponent = (len(part or "") for part in match.groups())
    longest = max(len(whole) for whole, _, _ in shapes)
    return sizes == {(decimals, exponent)} and (decimals + exponent > 0 or digits >= longest)
