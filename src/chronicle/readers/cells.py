"""Cells of a table: what a text says as a number, and columns made of them.

A blank cell (also NA, null, None) is "not measured in this row"; a NaN, however it is spelled, is data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Steps
from chronicle.readers.growing import Growing
from chronicle.readers.tables import Column

BLANK = {"", "na", "n/a", "null", "none", "-", "--"}
NAN = {"nan(ind)", "-nan(ind)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(snan)", "not a number"}
_NUMBER = re.compile(r"[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE][+-]?(\d+))?")


def number(cell: str) -> float | None:
    """The number in a cell, NaN spelled in any way included; None for a blank or a text."""
    try:
        return float(cell)
    except ValueError:
        return float("nan") if cell.strip().lower() in NAN else None


def share_of_numbers(row: Sequence[str]) -> float:
    """Which part of the cells are numbers or blank; 0 where none is a number."""
    numbers = sum(number(cell) is not None for cell in row)
    blanks = sum(cell.strip().lower() in BLANK for cell in row)
    return (numbers + blanks) / len(row) if numbers else 0.0


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
    mine = _NUMBER.fullmatch(cell.strip())
    if mine is None or len(shapes) < 2:
        return cell.strip().lower() in ("nan", "inf", "-inf")
    sizes = {(len(decimals or ""), len(exponent or "")) for _, decimals, exponent in shapes}
    digits, decimals, exponent = (len(part or "") for part in mine.groups())
    longest = max(len(whole) for whole, _, _ in shapes)
    return sizes == {(decimals, exponent)} and (decimals + exponent > 0 or digits >= longest)


class Builder:
    """One column under construction. ``whole``: keep whole numbers exact (a column that may count steps).

    ``as_cell`` says what a text is: a number, None for a blank, else the text.
    """

    def __init__(self, whole: bool, as_cell: Callable[[str], float | str | None] | None = None) -> None:
        self.whole, self.as_cell = whole, as_cell or cell_of
        self.begin = Growing()
        self.parts: list[tuple[Steps | range, NDArray[Any]]] = []
        self.single: tuple[list[int], list[float]] = ([], [])
        self.texts: dict[int, str] = {}

    @property
    def n_texts(self) -> int:
        """How many cells are neither number nor blank."""
        return len(self.texts)

    @property
    def n_numbers(self) -> int:
        """How many cells are numbers."""
        return self.begin.size + sum(len(values) for _, values in self.parts) + len(self.single[0])

    def add(self, row: int, cells: Sequence[str]) -> None:
        """The cells of the rows from ``row`` on."""
        for convert, dtype in ((int, np.int64), (float, np.float64))[not self.whole :]:
            try:
                values = np.fromiter(map(convert, cells), dtype, len(cells))
            except (ValueError, OverflowError):
                continue
            self.add_numbers(range(row, row + len(cells)), values)
            return
        for place, cell in enumerate(cells, row):
            if cell:
                self.put(place, cell)

    def add_numbers(self, rows: Steps | range, values: NDArray[Any]) -> None:
        """Numbers, int64 only in a column that keeps them; a range stands for all its rows."""
        if isinstance(rows, range) and rows.start == self.begin.size and self.begin.takes(values):
            self.begin.extend(values)
        else:
            self.parts.append((rows, values))

    def add_bits(
        self, kind: int, rows: Steps | range, bits: NDArray[np.uint64], text: Callable[[int], str]
    ) -> None:
        """What a kernel found: doubles (0), integers (1) or texts (2), at places that ``text`` reads."""
        if kind < 2:
            self.add_numbers(rows, bits.view((np.float64, np.int64)[kind]))
            return
        for row, place in zip(rows, bits.tolist(), strict=True):
            self.put(int(row), text(place))

    def put_number(self, row: int, value: float) -> None:
        """One number, of any size."""
        if isinstance(value, int) and not (self.whole and -(2**63) <= value < 2**63):
            value = float(str(value))
        self.single[0].append(row)
        self.single[1].append(value)

    def settle(self) -> None:
        """Moves single numbers that continue the beginning of the column there."""
        rows, values = self.single
        if rows and rows[0] == self.begin.size and rows[-1] == rows[0] + len(rows) - 1:
            made = np.array(values, self._type_of(values))
            if self.begin.takes(made):
                self.begin.extend(made)
                self.single = ([], [])

    def _type_of(self, values: list[float]) -> type[np.int64 | np.float64]:
        return np.int64 if self.whole and all(isinstance(value, int) for value in values) else np.float64

    def put(self, row: int, cell: str) -> None:
        """One cell, whatever it holds."""
        value: float | str | None
        try:
            value = _whole(cell) if self.whole and self.as_cell is cell_of else self.as_cell(cell)
        except ValueError:
            value = self.as_cell(cell)
        if isinstance(value, str):
            self.texts[row] = value
        elif value is not None:
            self.single[0].append(row)
            self.single[1].append(value)

    def column(self, every: Steps) -> Column:
        """The finished column: numbers, or text where most cells are text. ``every`` row there is."""
        if self.n_texts > self.n_numbers:
            texts = dict(sorted(self.texts.items()))
            cells = np.array(list(texts.values()), dtype=object)
            return Column(cells, np.fromiter(texts, np.int64, len(texts)))
        parts = self._all_parts()
        if not parts:
            return Column(np.empty(0), np.empty(0, np.int64))
        values: Any = parts[0][1] if len(parts) == 1 else np.concatenate([values for _, values in parts])
        if self.whole and values.dtype != np.int64:
            values = values + 0.0  # no step is -0.0, however its cell was read
        if len(values) == len(every) and all(isinstance(rows, range) for rows, _ in parts):
            return Column(values, every)
        rows = np.concatenate([np.asarray(rows, np.int64) for rows, _ in parts])
        if np.any(rows[1:] < rows[:-1]):
            order = np.argsort(rows, kind="stable")
            values, rows = values[order], rows[order]
        return Column(values, rows)

    def _all_parts(self) -> list[tuple[Steps | range, NDArray[Any]]]:
        parts = list(self.parts)
        if self.begin.size:
            parts.insert(0, (range(self.begin.size), self.begin.values))
        rows, values = self.single
        if rows:
            parts.append((np.array(rows, np.int64), np.array(values, self._type_of(values))))
        return parts


def cell_of(cell: str) -> float | str | None:
    """What a cell of a table holds: a number, None for a blank, else a text."""
    value = number(cell)
    if value is not None:
        return value
    return None if cell.strip().lower() in BLANK else cell.strip()


def _whole(cell: str) -> int:
    """A whole number of 64 bits. Raises ValueError."""
    value = int(cell)
    if not -(2**63) <= value < 2**63:
        raise ValueError(cell)
    return value
