"""The cells of a CSV or TSV file. Blocks of whole rows of plain cells are read in one go, all others line by
line, with care. Lines that begin with "#" before the header are comments."""

from __future__ import annotations

import csv
import math
import re
import sys
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, compress, dropwhile, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from chronicle.errors import BadLog
from chronicle.metrics.aliases import in_english
from chronicle.metrics.names import without_numbers
from chronicle.model import Fault, Floats, Place
from chronicle.readers.columns import BLANK, FLAGS, Builder, Table, is_blank, number
from chronicle.readers.read_on import read_lines
from chronicle.readers.runs_in_table import places_rows
from chronicle.readers.step_axis import counts_steps, step_rank
from chronicle.readers.text import SMALL_BYTES, Faults, Head, Line, numbered_lines

if TYPE_CHECKING:
    import pyarrow as pa

LONG_LINE = 100_000  # characters; longer ones are left to the csv module and its limit of a field
BLOCK_BYTES, FEWEST_ROWS = 1 << 23, 8  # of a block, at least
PART_BYTES = 1 << 20  # of a block that pyarrow reads at once, or that is read line by line
_MOST_CHARACTERS = 10_000  # of a line
_FEW = 6  # lines that show how all are written
_MOST_ABOVE, _FEWEST_BELOW = 64, 3  # lines above a header, and rows below it
LOOKED_AT = 50  # lines before a last row without an end, which tell how its last cell is written
_ALL_DIGITS = 15  # that a number of 64 bits tells for certain
_COMMA, _POINT = (re.compile(rf"[+-]?\d+{mark}\d+(?:[eE][+-]?\d+)?") for mark in (",", r"\."))
_WIDER = "row has more cells than the header; those without a name are left out"
_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE][+-]?(\d+))?")

# What pyarrow and Python read differently: quotes, bytes that end a line, numbers in base 16, nan(...).
_ODD = (b'"', b"\0", b"\r", b"0x", b"0X", b"n(", b"N(")
_BLANKS = [spell(word) for word in BLANK for spell in (str.lower, str.upper, str.title)]
_DIGITS = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f]")


class Cells:
    """The columns of a file of cells, called ``names`` if it has no header, and what could not be used."""

    FRESH = ("path", "truncated", "comments", "_begin", "_given", "_part_bytes")

    def __init__(self, path: Path, names: Sequence[str] = ()) -> None:
        self.path, self.n_rows, self.truncated = path, 0, False
        self._faults, self._n_lines, self._n_wider = Faults(path), 0, 0
        self._last, self._fitting = deque[str](maxlen=LOOKED_AT), list[str]()
        head = Head.of(path)
        self.comments, self._begin = beginning(head.lines)
        self._given, self.names, self._builders = list(names), list(names), list[Builder]()
        rows_bytes = 0
        if head.size > PART_BYTES:
            with head.opened() as file:  # of a wide table some rows at once, too
                rows_bytes = FEWEST_ROWS * len(file.readline(BLOCK_BYTES))
        self._part_bytes = max(PART_BYTES, rows_bytes)
        read_lines(path, "csv", self, max(BLOCK_BYTES, rows_bytes))
        every = np.arange(self.n_rows)
        columns = {n: b.finished(every) for n, b in zip(self.names, self._builders, strict=True) if n}
        self.table = Table(path, self.n_rows, columns, {}, self._all_faults(), self.truncated)

    def take(self, block: bytes) -> None:
        if self._builders and self._read_plain(block):
            return
        if self._part_bytes < len(block) > (half := block.find(b"\n", len(block) // 2) + 1) > 0:
            self.take(block[:half])
            self.take(block[half:])
            return
        lines = numbered_lines(block, self._n_lines)
        if not self._builders:
            lines = dropwhile(lambda line: not line[1].strip() or line[1] in self.comments, lines)
            header = self._begin[0] if self._given else ""
            if not self._given:
                self._n_lines, header, _ = next(lines, (self._n_lines, "", True))
            if not header:
                return
            self._take_header(header)
        self.add_lines(lines)

    def _take_header(self, header: str) -> None:
        """Names the columns by the first line, unless their names are given. Raises BadLog."""
        self.delimiter = delimiter_of(header)
        header = (header.lstrip("# ") or header).replace("\t,", "\t")
        try:
            self.names = self._given or header_names(*cells_of([header], self.delimiter))
        except csv.Error as err:
            raise BadLog(str(self.path), f"has a header that cannot be read ({err})") from err
        self._spelling = spelling_of(self._begin[not self._given :], self.delimiter, len(self.names))
        self._builders = [Builder(whole=step_rank(name) is not None) for name in self.names]

    @property
    def can_be_left(self) -> bool:
        """Whether it may be read on from here: behind the header."""
        return bool(self._builders)

    def _all_faults(self) -> list[Fault]:
        faults, place = self._faults.all(), Place(str(self.path))
        faults += [Fault(place, _WIDER, self._n_wider)] if self._n_wider else []
        for name, builder in zip(self.names, self._builders, strict=True):
            if 0 < len(builder.texts) <= builder.n_numbers:
                faults.append(Fault(place, f"text in column {name!r}; left out", len(builder.texts)))
        return faults

    # line by line

    def add_lines(self, lines: Iterable[Line]) -> None:
        rows: list[list[str]] = []
        for self._n_lines, line, unfinished in lines:
            line = " ".join(line.split()) if self.delimiter == " " else line.replace(*self._spelling)
            rows += self._rows(self._n_lines, line, unfinished)
            self._last.append(line)
        if (columns := self._numbers(rows)) is None:
            for builder, *cells in zip(self._builders, *rows, strict=False) if rows else ():
                builder.add(self.n_rows, cells)
        else:
            span = range(self.n_rows, self.n_rows + len(rows))
            for place, builder in enumerate(self._builders):
                if builder.whole:
                    builder.add(self.n_rows, [row[place] for row in rows])
                else:
                    builder.append(span, columns[place])
        self.n_rows += len(rows)

    def _numbers(self, rows: Sequence[Sequence[str]]) -> Floats | None:
        """The columns of rows in which every cell is a number, if there are more columns than rows, each of
        which would take longer than its cells; None for any others."""
        if not 1 < len(rows) < len(self.names) or {*map(len, rows)} != {len(self.names)}:
            return None
        try:
            cells = np.fromiter(map(float, chain.from_iterable(rows)), np.float64, len(rows) * len(rows[0]))
        except ValueError:
            return None
        return cells.reshape(len(rows), -1).T.copy()

    def _rows(self, line_number: int, line: str, unfinished: bool) -> list[list[str]]:
        """The row in a line, and one above that it explains; none if it is blank, bad, cut or a header."""
        if not line.strip():
            self.truncated |= unfinished  # the padding of a row that was cut
            return []
        width = len(self.names)
        row, wrong = self._cells(line)
        if not (wrong or unfinished or any(self.names[len(row) :])):
            row = row + [""] * (width - len(row))  # a mark is lost at the end, where no name stands
        if not wrong and len(row) != width and (len(row) < width or any(row[width:])):
            if (len(row) > width or not unfinished) and (others := self._of_other_width(line_number, row)):
                return others
            wrong = f"has {len(row)} cells where the header has {width}"
        if unfinished and not wrong and self._is_cut(line, row):
            self.truncated = True
            return [] if width == 1 or places_rows(self.names[-1]) else [[*row[: width - 1], ""]]
        if unfinished and wrong and ("open" in wrong or len(row) < width):
            self.truncated = True
        elif wrong:
            self._faults.add(f"line {wrong}; skipped", line=line_number)
        elif row[0].strip() != self.names[0] or header_names(row) != self.names:
            self._fitting = row
            return [row]
        return []

    def _of_other_width(self, line_number: int, row: list[str]) -> list[list[str]]:
        """A row with more or fewer cells than the header, and the one above, if that was the first as wide: a
        launch that logs more columns goes on under the old header, or what comes last is told once. A single
        one is damage: two rows in one line, or a part of one."""
        before, above = ([*self._cells(line)[0]] for line in ["", "", *self._last][-2:])
        first, second = (self._under_header(cells) for cells in (above, row))
        if len(above) != len(row) or not first or not second:
            return []
        candidates = [second] if len(before) == len(row) else [first, second]
        self._n_wider += len(candidates) * (len(row) > len(self.names))
        if len(candidates) > 1 and self._faults and self._faults[-1].place.line == line_number - 1:
            self._faults.pop()
        return candidates

    def _under_header(self, row: list[str]) -> list[str]:
        """The cells of a wider row that the header names: all but numbers behind them, or before the texts at
        the end; or those of a shorter one, and blanks. [] where a text stands in place of a number, or no row
        fitted so far."""
        texts = list(map(_is_text, self._fitting))
        if 1 < len(row) < len(self.names):
            fits = list(map(_is_text, row)) == texts[: len(row)]
            return row + [""] * (len(self.names) - len(row)) if fits else []
        n_last = next((n for n, text in enumerate(reversed(texts)) if not text), 0)
        named = [*row[: len(texts) - n_last], *row[len(row) - n_last :]]
        new = row[len(texts) - n_last : len(row) - n_last]
        return named if list(map(_is_text, named)) == texts and not any(map(_is_text, new)) else []

    def _cells(self, line: str) -> tuple[list[str], str]:
        if '"' not in line and len(line) < LONG_LINE:
            return line.split(self.delimiter), ""
        if line.count('"') % 2:
            return [], "has an open quote"
        try:
            return next(csv.reader([line], delimiter=self.delimiter)), ""
        except csv.Error as err:
            return [""] * len(self.names), f"cannot be read ({err})"

    def _is_cut(self, line: str, row: list[str]) -> bool:
        """Whether a last line without an end may have lost some of its last cell; those before are whole."""
        above = [line.rpartition(self.delimiter)[2].strip('"') for line in self._last]
        return not line.endswith('"') and not looks_whole(row[len(self.names) - 1], above)

    # block by block

    def _read_plain(self, block: bytes) -> bool:
        """Reads a block of whole rows in one go; False, and nothing is read, where a line needs a look: a
        cell is neither blank nor a number that pyarrow and Python spell alike, but for columns that held
        texts before. A small block is not worth the import of pyarrow."""
        if not block.endswith(b"\n") or (len(block) < SMALL_BYTES and "pyarrow" not in sys.modules):
            return False
        old, new = (text.encode() for text in self._spelling)
        block = block.replace(old, new)
        block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        longest = int(np.diff(ends, prepend=-1).max())
        odd = any(text[-1:] in block and text in block for text in _ODD)  # one byte is found much faster
        plain = (name for name, b in zip(self.names, self._builders, strict=True) if not b.irregular)
        # a header that comes again is known by a name above numbers
        tells_header = any(not is_blank(name) and number(name) is None for name in plain)
        if odd or longest > LONG_LINE or not tells_header or self.delimiter == " ":
            return False
        columns = self._columns(block)
        if columns is None:
            return False
        for builder, column in zip(self._builders, columns, strict=True):
            row = self.n_rows
            for part in column.chunks:
                if builder.irregular:
                    builder.add(row, part.to_pylist())
                else:
                    builder.take(row, part)
                row += len(part)
        self.n_rows += len(columns[0])
        self._n_lines += len(ends)
        self._last.extend(block[-LOOKED_AT * longest :].decode("utf-8", "replace").split("\n")[:-1])
        self._fitting = self._last[-1].split(self.delimiter)
        return True

    def _columns(self, block: bytes) -> list[pa.ChunkedArray] | None:
        """The columns of a block of rows; None where a cell is something else."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        kinds = [pa.int64() if builder.counts else pa.float64() for builder in self._builders]
        for place, builder in enumerate(self._builders):
            if builder.irregular:
                kinds[place] = pa.string()
        names = list(map(str, range(len(kinds))))
        try:
            table = arrow.read_csv(
                pa.BufferReader(block),
                # no threads: where cores are busy, one process in thirty that ends as they begin is aborted
                arrow.ReadOptions(use_threads=False, block_size=len(block), column_names=names),
                arrow.ParseOptions(delimiter=self.delimiter, quote_char=False),
                arrow.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=_BLANKS),
            )
        except pa.ArrowInvalid:
            return None
        numeric = [column for column, kind in zip(table.columns, kinds, strict=True) if kind != pa.string()]
        if self.delimiter == "\t" and all(column.null_count for column in numeric):
            return None  # there may be lines of tabs alone, which are no rows
        return list(table.columns)


def _is_text(cell: str) -> bool:
    return number(cell) is None and not is_blank(cell)


def beginning(start: Sequence[str]) -> tuple[list[str], list[str]]:
    """The comments before a header, and the lines from it on, without blank ones. A line with "#" in front is
    a header where the row below has none, and has as many cells, most of them numbers."""
    lines = [line for line in start if line.strip()]
    if n_above := _n_above(lines[:_MOST_ABOVE]):
        return lines[:n_above], lines[n_above:]
    for comments, (line, below) in enumerate(pairwise(lines)):
        cells = below.split(delimiter_of(line)) if line[0] == "#" else []
        numbers = 0 if below[0] == "#" else sum(number(cell) is not None for cell in cells)
        if not cells or (line.count(delimiter_of(line)) + 1 == len(cells) <= 2 * numbers):
            return lines[:comments], lines[comments:]
    return lines[:-1], lines[-1:]


def _n_above(lines: Sequence[str]) -> int:
    """How many lines stand above the header of a table, such as the arguments of a program: all before the
    names above the first row, three of which have as many cells as there are names, one that counts steps."""
    mark = delimiter_of(lines[-1]) if len(lines) > _FEWEST_BELOW else " "
    if mark == " " or number(lines[-1].partition(mark)[0]) is None:
        return 0
    n = [number(line.partition(mark)[0]) is not None for line in lines].index(True) - 1
    header, *rows = [line.split(mark) for line in lines[max(n, 0) : n + 1 + _FEWEST_BELOW]]
    are_rows = len(header) > 1 and {*map(len, rows)} == {len(header)}
    are_rows &= len(rows) == _FEWEST_BELOW and all(number(row[0]) is not None for row in rows)
    return n if n > 0 and are_rows and all(map(_is_text, header)) and any(map(counts_steps, header)) else 0


_BARS = re.compile(r"[^|,;\s]+(?:\|[^|,;\s]+)+\s*")
_COUNTER = r"(?i:(?:epoch|step|iter(?:ation)?) ?)"
_COUNTED = re.compile(rf"{_COUNTER}?\d+: ?[+-]?\.?\d[\d.eE+-]*\s*")
_IN_BLANKS = re.compile(r" *[+-]?\.?\d[\d.eE+-]*(?: +[+-]?(?:\.?\d[\d.eE+-]*|nan|inf))+\s*")


def spelling_of(lines: Sequence[str], delimiter: str, n_names: int) -> tuple[str, str]:
    """What the cells of these lines have, and what it stands for: a comma for a point, or behind a tab; and a
    separator more than there are names, where each line has it twice in one place; and the name of what
    counts, in front of each count."""
    begun = {line.partition(2 * delimiter)[0].count(delimiter) for line in lines[:_FEW]}
    widths = {(line.count(delimiter), line.count(2 * delimiter)) for line in lines[:_FEW]}
    if widths == {(n_names, 1)} and len(begun) == 1 < len(lines):
        return 2 * delimiter, delimiter
    if delimiter in ":," and (counter := re.match(rf"{_COUNTER}(?=\d+{delimiter})", next(iter(lines), ""))):
        return counter[0], ""
    if delimiter == ",":
        return "", ""
    if delimiter == "\t" and any("\t," in line for line in lines):
        return "\t,", "\t"
    cells = [cell.strip().strip('"') for line in lines for cell in line.split(delimiter)]
    commas = any(map(_COMMA.fullmatch, cells)) and not any(map(_POINT.fullmatch, cells))
    return (",", ".") if commas else ("", "")


@lru_cache(maxsize=1)
def first_rows(head: Head) -> list[list[str]]:
    """The cells of the header and of the first rows; [] where these are no lines of a table."""
    _, lines = beginning(head.lines)
    if not lines or lines[0].lstrip()[:1] in "{[" or _CONTROL.search(lines[0]):
        return []
    lines[0] = lines[0].lstrip("# ") or lines[0]
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return []
    delimiter = delimiter_of(lines[0])
    spelling = spelling_of(even[1:], delimiter, 1 + even[0].count(delimiter))
    header = even[0].replace(*spelling) if delimiter in ":," else even[0].replace("\t,", "\t")
    rows = list(cells_of([header, *(line.replace(*spelling) for line in even[1:])], delimiter))
    complete = rows[: max(len(rows) - 1, 1)]  # the last one may be cut
    if all(len(row) > 1 and not row[-1].strip() for row in complete):  # each line ends with a comma
        rows = [row[: len(complete[0]) - 1] for row in rows]
    return rows


def cells_of(lines: Iterable[str], delimiter: str) -> Iterable[list[str]]:
    """The cells of lines with one separator; those between blanks may be padded."""
    if delimiter == " ":
        return map(str.split, lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


@lru_cache(maxsize=2)  # the same header is asked about five times
def delimiter_of(header: str) -> str:
    """The separator of a header: of tab, semicolon and comma that which parts most names, or bars alone; of
    a row that is a count and a number, `10: 0.5` or `epoch 10:0.5`, the colon; of numbers with nothing else
    between them, the blank."""
    if _COUNTED.fullmatch(header):
        return ":"
    if _IN_BLANKS.fullmatch(header):
        return " "
    if _BARS.fullmatch(header):
        return "|"
    return max("\t,;", key=lambda mark: (sum(map(bool, header.split(mark))), header.count(mark)))


def names_its_rows(start: Sequence[str]) -> bool:
    """Whether these are rows of a whole table, and each has a word in the same column: ids and labels, or
    texts; or lines of a text without any number. ``start`` are the first lines of a file."""
    _, lines = beginning([line[:_MOST_CHARACTERS] for line in start[:_FEW]])
    header, *body = cells_of(lines, delimiter_of(lines[0])) if lines else [[]]
    if len(header) <= 1:
        return len(body) > 1 and all(number(cell) is None for row in body for cell in row)
    columns = zip(*body, strict=False) if {*map(len, body)} == {len(header)} else ()
    return any(all(cell and number(cell) is None for cell in cells) for cells in columns)


def header_names(cells: Sequence[str]) -> list[str]:
    """Names of the columns, stripped; a name that comes again gets its number."""
    names = list(map(str.strip, cells))
    alike = "\n".join({*without_numbers("\n".join(names)).split("\n")})  # of 100,000 names a few
    if in_english(alike) is not alike:  # "Epoche" of a table that was made in German
        in_other_words = ((name, in_english(name)) for name in names)
        names = [english if counts_steps(english) else name for name, english in in_other_words]
    if len({*names}) == len(names):
        return names
    seen = Counter[str]()
    for column, name in enumerate(names):
        seen[name] += 1
        names[column] = f"{name} ({seen[name]})" if name and seen[name] > 1 else name
    return names


def looks_whole(cell: str, above: Sequence[str]) -> bool:
    """Whether a cell without an end is written as the cells above it: a number has as many decimals as any of
    them and digits of an exponent as all, a text is one of them and the beginning of none. Whoever writes 2.5
    beside 2.25, or a name for the first time, may be in the middle."""
    cell, above = cell.strip(), list(map(str.strip, above))
    if not (match := _NUMBER.fullmatch(cell)):
        longer = any(text != cell and text.startswith(cell) for text in above)
        return cell.lower() in ("nan", "inf", "-inf") or (cell != "" and cell in above and not longer)
    numbers = [number.groups("") for text in above if (number := _NUMBER.fullmatch(text))]
    if len(numbers) < 2:
        return False
    whole, decimals, exponent = match.groups("")
    wholes, all_decimals, exponents = zip(*numbers, strict=True)
    exact = len((whole + decimals).lstrip("0")) >= _ALL_DIGITS  # a double has no more digits to come
    if exact and decimals and whole in wholes and not any(exponents):
        return True
    if {*map(len, exponents)} != {len(exponent)} or len(decimals) < max(map(len, all_decimals)):
        return False
    return bool(decimals or exponent) or len(whole) >= max(map(len, wholes))


def repeats_names(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether each row names its own numbers, as in `Step, 1, Loss 0.5`."""
    if not any(map(_DIGITS.search, header)):
        return False
    first, *others = ([_DIGITS.sub("0", cell) for cell in row] for row in (header, *body))
    return any(row != header and shape == first for row, shape in zip(body, others, strict=True))


def share_of_numbers(row: Sequence[str], apart: Sequence[bool]) -> float:
    """The share of numbers and blanks among cells other than texts ``apart``; 0 for cells without a
    number."""
    numbers = sum(number(cell) is not None for cell in row)
    filled = numbers + sum(map(is_blank, row))
    left_out = sum(number(cell) is None and not is_blank(cell) for cell in compress(row, apart))
    return filled / (len(row) - left_out) if numbers else 0.0


def rows_of_numbers(lines: Sequence[str]) -> list[list[float]]:
    """The rows of a table in which each cell is a number, a flag or blank; [] for any other lines, and for
    rows of several widths."""
    lines = [line for line in lines if line.strip()]
    rows = cells_of(lines, delimiter_of(lines[0])) if lines else []
    read = [[math.nan if is_blank(cell) else FLAGS.get(cell, number(cell)) for cell in row] for row in rows]
    is_whole = len({*map(len, read)}) == 1 and not any(None in row for row in read)
    return [[cell for cell in row if cell is not None] for row in read] if is_whole else []
