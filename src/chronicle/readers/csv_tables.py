"""CSV and TSV: one row a logged step, blank where nothing was measured; or long, one row a value.

A blank cell (also NA, null, None) is "not measured in this row"; a spelled nan is data. A table of several
runs gives an attempt a run.

The folder of DVCLive is a log of such tables: a TSV for each metric, whose path below the folder of metrics
is its name. Versions from 2 on write `plots/metrics/**/x.tsv`, version 1 `plots/scalars` or `scalars`, with a
column `timestamp` before the step.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place, Series
from chronicle.readers.columns import (
    BLANK,
    Builder,
    attempt_of,
    column_key,
    counts_steps,
    is_blank,
    number,
)
from chronicle.readers.runs_in_table import (
    EXTREMES,
    RUN_NAMES,
    attempts_of,
    is_metric,
    loss_of,
    names_of,
    runs_of,
)
from chronicle.readers.text import Faults, Head, Line, blocks, clean, head_lines, numbered_lines

NAME = "csv"
SUFFIXES = (".csv", ".tsv")

_OF_PANDAS = ["0"]  # the header of a list that pandas wrote
DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv

PANDAS_FROM = 8_000_000  # bytes: smaller files are read before pandas is imported
FEW_BYTES = 1 << 18  # of a long file that are read line by line where something in them is odd
CHUNK_CELLS = 1 << 20
LONG_LINE = 100_000  # characters; longer ones are left to the csv module and its limit of a field
LOOKED_AT = 50  # lines before a last row without an end, which tell how its last cell is written
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{mark}\d+(?:[eE][+-]?\d+)?") for mark in (",", r"\."))
_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE][+-]?(\d+))?")

_BLANKS = sorted({spelled for word in BLANK for spelled in (word, word.upper(), word.title())})
_QUOTES = "'\""

METRIC_FOLDERS = ("plots/metrics", "plots/scalars", "scalars")
PARAMETERS = "params.yaml"
MOST_FILES, MOST_PARAMETERS = 10_000, 1000


# --- which files are tables ---


def identify(head: Head) -> bool:
    """A line of names, and below it rows of as many cells, most of them numbers or blank.

    Names that are numbers, and rows that do not fit, are only forgiven where a name counts steps, or the file
    is named after a loss; then the line of names may be missing too.
    """
    header, *body = _begin(head.lines) or [[]]
    numeric = [number(cell) is not None for cell in header]
    if not header or (all(numeric) and header != _OF_PANDAS):
        return bool(names_of(head.path, [header, *body]))
    if len(header) == 1:
        return is_metric(head.path, header[0], [cell for row in body for cell in row])
    shares = [_share_of_numbers(row) if len(row) == len(header) else 0.0 for row in body]
    if any(map(counts_steps, header)):
        return not body or max(shares) >= 0.5
    return (not any(numeric) or bool(loss_of(head.path))) and (
        2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)
    )


def _begin(start: Sequence[str]) -> list[list[str]]:
    """The cells of the first lines; [] where they are no lines of a table."""
    lines = [line for line in start if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[" or any(c < " " and c != "\t" for c in lines[0]):
        return []
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return []
    delimiter = delimiter_of(lines[0])
    if has_decimal_commas(even[1:], delimiter):
        even[1:] = [line.replace(",", ".") for line in even[1:]]
    return list(csv.reader(even, delimiter=delimiter))


def _share_of_numbers(row: Sequence[str]) -> float:
    """Which part of the cells are numbers or blank; 0 where none is a number."""
    numbers = sum(number(cell) is not None for cell in row)
    return (numbers + sum(map(is_blank, row))) / len(row) if numbers else 0.0


def lacks(path: Path) -> str:
    """What a table of numbers lacks to be read; "" for what is no such table."""
    rows = _begin(head_lines(path))
    blanks = all(len(row) == 1 < len(row[0].split()) for row in rows)
    rows = [row[0].split() for row in rows] if blanks else rows
    if not rows or any(number(cell) is None for row in rows for cell in row):
        return ""
    parted = "part them by commas, and " if blanks else ""
    names = "`loss`, or name the file after it (`val_loss.csv`)" if len(rows[0]) == 1 else "`step,loss`"
    names += f" and so on for all {len(rows[0])} columns" if len(rows[0]) > 2 else ""
    return (
        f"holds numbers without names. Remedy: {parted}write their names into a first line, such as {names}"
    )


def read(path: Path) -> list[Attempt]:
    """All attempts of the file (more than one only for a table of several runs).

    Raises:
        BadLog: nothing but a header, or no number in it.
    """
    rows = _begin(head_lines(path))
    table = Table(path, [] if rows[:1] == [_OF_PANDAS] else names_of(path, rows))
    if sorted(map(column_key, table.names)) == DOWNLOADED:
        value = next(name for name in table.names if column_key(name) == "value")
        table.columns[path.stem.partition("-tag-")[2] or path.stem] = table.columns.pop(value)
    if not table.n_rows:
        raise BadLog(str(path), "has a header and no rows. Remedy: remove it, or wait until it is written to")
    return attempts_of(path, table.n_rows, table.columns, faults=table.faults, truncated=table.truncated)


def runs(path: Path) -> list[str]:
    """The runs of a table of several, as the fact "run" of their attempts calls them; [] for any other.

    The rows are only read where a column names runs.

    Raises:
        BadLog: the header cannot be read.
    """
    header = next((line for line in head_lines(path) if line.strip()), "")
    cells = csv.reader([header], delimiter=delimiter_of(header)) if header.count('"') % 2 == 0 else ()
    names: list[str] = next(iter(cells), [])
    several = {*map(column_key, names)} & {*RUN_NAMES} or any(n.strip().endswith(EXTREMES) for n in names)
    if not several and not (loss_of(path) and len(names) > 2):
        return []
    return [run for run in runs_of(path, Table(path).columns) if run]


# --- the cells of a file ---


class Table:
    """A file of cells, parsed: numeric columns, text columns, and what could not be used.

    ``names`` are those of the columns where the file has no header. A file is read line by line, with care;
    the blocks of a long one by pandas, as far as they hold whole rows of plain cells and nothing else.
    """

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        self.path, self.n_rows, self.truncated = path, 0, False
        self._faults, self._n_lines = Faults(path), 0
        self._last = deque[str](maxlen=LOOKED_AT)
        begin = [line for line in head_lines(path) if line.strip()]
        parts = blocks(path)
        lines: Iterator[Line] = iter(())
        header = begin[0] if names else ""
        while not header and (block := next(parts, b"")):
            lines = dropwhile(lambda line: not line[1].strip(), self._lines(block))
            header = next(lines, (0, "", True))[1]
        self.delimiter = delimiter_of(header)
        self.names = list(names) or header_names(self._header(header))
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
        if unfinished and (self._is_cut(line, row) if not wrong else "open" in wrong or len(row) < width):
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
        """Whether a last line without an end may have lost some of its last cell."""
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
    """Whether a cell without an end is written as the cells above it all are: decimals, exponent, digits."""
    shapes = [match.groups() for text in above if (match := _NUMBER.fullmatch(text.strip()))]
    match = _NUMBER.fullmatch(cell.strip())
    if match is None or len(shapes) < 2:
        return cell.strip().lower() in ("nan", "inf", "-inf")
    sizes = {(len(decimals or ""), len(exponent or "")) for _, decimals, exponent in shapes}
    digits, decimals, exponent = (len(part or "") for part in match.groups())
    longest = max(len(whole) for whole, _, _ in shapes)
    return sizes == {(decimals, exponent)} and (decimals + exponent > 0 or digits >= longest)


# --- DVCLive ---


def identify_folder(path: Path) -> bool:
    """Whether the folder has a place for metrics, and the first file in it counts steps for its own name."""
    _, file = next(_metric_files(path), (path, None))
    if file is None:
        return False
    names = next((line.split("\t") for line in head_lines(file) if line.strip()), [])
    return 2 <= len(names) <= 3 and {"step", file.stem} <= set(map(str.strip, names))


def read_folder(path: Path) -> list[Attempt]:
    """One attempt of all metrics; a file that holds no number is a fault.

    Raises:
        BadLog: no file holds a number.
    """
    series, faults, truncated = dict[str, Series](), list[Fault](), False
    for folder, file in _metric_files(path):
        try:
            metric = _metric(file)
        except BadLog as problem:
            faults.append(Fault(Place(str(file)), problem.problem))
            continue
        name = clean(file.relative_to(folder).with_suffix("").as_posix())
        series[name] = replace(next(iter(metric.series.values())), metric=name)
        faults += metric.faults
        truncated |= metric.truncated
    if not series:
        raise BadLog(str(path), "holds no numbers. Remedy: check that it is the folder of a training")
    facts = {"framework": "dvclive", **_parameters(path / PARAMETERS)}
    return [Attempt(path.name, (str(path),), series, facts, tuple(faults), truncated, "step")]


def _metric_files(path: Path) -> Iterator[tuple[Path, Path]]:
    """The first folder for metrics that holds any, and each file in it, in order of their names."""
    for folder in (path / name for name in METRIC_FOLDERS):
        tables = folder.rglob("*.tsv") if folder.is_dir() else ()
        files = sorted(file for file in tables if file.is_file())[:MOST_FILES]
        if files:
            yield from ((folder, file) for file in files)
            return


def _metric(file: Path) -> Attempt:
    """The column of a file that is neither step nor clock."""
    table = Table(file)
    column = next((name for name in reversed(table.names) if not counts_steps(name)), "")
    wanted = {n: c for n, c in table.columns.items() if n == column or n in ("step", "timestamp")}
    return attempt_of(file, table.n_rows, wanted, faults=table.faults, truncated=table.truncated)


def _parameters(file: Path) -> dict[str, Any]:
    """What `log_params` wrote, one name and value a line; lists and nested tables are left out."""
    lines = head_lines(file) if file.is_file() else []
    pairs = [line.partition(": ") for line in lines if line[:1].strip() and not line.startswith(("#", "-"))]
    texts = {
        f"config/{clean(name.strip(_QUOTES))}": text.strip().strip(_QUOTES)
        for name, colon, text in pairs
        if colon
    }
    values = {name: number(text) for name, text in texts.items()}
    known = {n: clean(text) if values[n] is None else values[n] for n, text in texts.items() if text}
    return dict(list(known.items())[:MOST_PARAMETERS])
