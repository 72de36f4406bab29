"""The numbers that were read from a log, as columns: the last stage before an attempt."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Floats, Role, Series, Steps
from chronicle.readers.text import clean

Column = tuple["array[float]", "array[int]"]  # values, and the rows in which they stand


class Rows:
    """Each row has a line, a step and a time, and a value for some of the metrics. ``units`` and ``roles``
    are those of metrics whose name does not tell them."""

    FRESH = ("roles",)

    def __init__(self) -> None:
        self.lines, self.steps, self.times = array("q"), array("q"), array("d")
        self.columns: dict[str, Column] = {}
        self.units, self.roles = dict[str, str](), dict[str, Role]()

    def __len__(self) -> int:
        return len(self.steps)

    def add(self, line: int, step: int, values: Mapping[str, float], time: float) -> None:
        """One row. Raises OverflowError where the step does not fit into 64 bits."""
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
        """Many rows, all of which hold the same metrics."""
        rows = np.arange(len(self.steps), len(self.steps) + len(steps))
        for name, values in columns.items():
            self.fill(name, rows, values)
        _append(self.lines, lines)
        _append(self.steps, steps)
        _append(self.times, times)

    def join(self, other: Rows) -> None:
        """All rows of another table, after those that are here."""
        n_before = len(self.steps)
        for name, (values, at) in other.columns.items():
            self.fill(name, np.array(at, np.int64) + n_before, np.array(values))
        self.lines += other.lines
        self.steps += other.steps
        self.times += other.times

    def without_repeats(self) -> Rows:
        """The rows, without those that have the step and the values of the row before."""
        steps = np.array(self.steps)
        equal = steps[1:] == steps[:-1]
        for name, (_, at) in self.columns.items() if equal.any() else ():
            values, filled = self.column(name), np.isin(np.arange(len(steps)), np.array(at))
            both_nan = np.isnan(values[1:]) & np.isnan(values[:-1])
            equal &= (filled[1:] == filled[:-1]) & ((values[1:] == values[:-1]) | both_nan)
        if not equal.any():
            return self
        kept, rows = np.concatenate([[True], ~equal]), Rows()
        new_row = np.cumsum(kept) - 1
        for name, (numbers, at) in self.columns.items():
            old_rows = np.array(at, np.int64)
            inside = kept[old_rows]
            rows.fill(name, new_row[old_rows[inside]], np.array(numbers)[inside])
        for to, column in ((rows.lines, self.lines), (rows.steps, self.steps), (rows.times, self.times)):
            _append(to, np.array(column)[kept])
        return rows

    def column(self, name: str) -> Floats:
        """A metric in every row, NaN where it has no value."""
        values, at = self.columns.get(name, ((), ()))
        whole = np.full(len(self), np.nan)
        whole[np.array(at, np.int64)] = values
        return whole

    def fill(self, name: str, rows: Steps, values: Floats) -> None:
        """Values of one metric in rows that exist, or that are about to be added."""
        if len(rows):
            numbers, at = self._column(name)
            _append(numbers, values)
            _append(at, rows)

    def series(self, *, keep: bool = False, span: tuple[int, int] | None = None) -> dict[str, Series]:
        """All metrics, each in the order of the log; their roles are assigned later. ``span`` limits the rows
        to [first, last). The columns are used up unless they are to be kept."""
        lines, steps, times = np.array(self.lines), np.array(self.steps), np.array(self.times)
        shared: dict[bytes, tuple[Steps, Floats]] = {}  # most metrics stand in the same rows
        series = {}
        for name in list(self.columns):
            values, at = self.columns[name] if keep else self.columns.pop(name)
            numbers, rows = np.frombuffer(values), np.frombuffer(at, np.int32)
            if span is not None:
                inside = (rows >= span[0]) & (rows < span[1])
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
