"""Cells of a table: what a text says as a number, and columns made of them.

A blank cell (also NA, null, None) is "not measured in this row"; a NaN, however it is spelled, is data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Steps
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
        rows, values = list[int](), list[float]()
        for row, cell in enumerate(cells):
            if not cell:
                continue
            value = number(cell)
            if value is not None:
                rows.append(row)
                values.append(value)
            elif cell.strip().lower() not in BLANK:
                self.texts[self.n_rows + row] = cell.strip()
        return np.array(values, dtype=np.float64), np.array(rows, dtype=np.int64)
