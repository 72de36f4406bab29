"""Rows of numbers under construction: what a console log said at a step, until it is an attempt.

Columns are arrays of eight bytes a number, whatever the length of the log. Metrics that stand in every row
share their steps and times. Rows may be added in any order: each knows its line.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Floats, Role, Series, Steps
from chronicle.readers.text import clean

Column = tuple["array[float]", "array[int]"]  # values, and the rows they stand in


class Rows:
    """Points by row: each row has a line, a step and a time, and a value for some of the metrics."""

    def __init__(self) -> None:
        self.lines, self.steps, self.times = array("q"), array("q"), array("d")
        self.columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.steps)

    def add(self, line: int, step: int, values: Mapping[str, float], time: float) -> None:
        """One row. Raises OverflowError where the step does not fit 64 bits."""
        row = len(self.steps)
        self.steps.append(step)
        self.lines.append(line)
        self.times.append(time)
        for name, value in values.items():
            column = self._column(name)
            column[0].append(value)
            column[1].append(row)

    def extend(self, lines: Steps, steps: Steps, columns: Mapping[str, Floats], times: Floats) -> None:
        """Many rows at once, each with a value for every column."""
        rows = np.arange(len(self.steps), len(self.steps) + len(steps))
        _append(self.lines, lines, np.int64)
        _append(self.steps, steps, np.int64)
        _append(self.times, times, np.float64)
        for name, values in columns.items():
            column = self._column(name)
            _append(column[0], values, np.float64)
            _append(column[1], rows, np.int32)

    def fill(self, name: str, rows: Steps, value: float) -> None:
        """Gives rows that have no value for a metric this one."""
        if len(rows):
            column = self._column(name)
            _append(column[0], np.full(len(rows), value), np.float64)
            _append(column[1], rows, np.int32)

    def last_time(self) -> float:
        """Unix seconds of the last row; NaN where it has none."""
        return self.times[-1] if self.times else float("nan")

    def series(self, units: Mapping[str, str] | None = None, *, keep: bool = False) -> dict[str, Series]:
        """All metrics, each in the order of the log; roles are given later.

        The columns are used up, unless they are to be kept.
        """
        lines, steps, times = np.array(self.lines), np.array(self.steps), np.array(self.times)
        shared: dict[bytes, tuple[Steps, Floats]] = {}
        series = {}
        for name in list(self.columns):
            values, at = self.columns[name] if keep else self.columns.pop(name)
            numbers, rows = np.frombuffer(values), np.frombuffer(at, np.int32)
            order = lines[rows]
            if np.any(order[1:] < order[:-1]):
                by_line = np.argsort(order, kind="stable")
                numbers, rows = numbers[by_line], rows[by_line]
            key = rows.tobytes()
            if key not in shared:
                shared[key] = steps[rows].astype(np.int64), times[rows].astype(np.float64)
            unit = (units or {}).get(name)
            series[name] = Series(name, Role.OTHER, shared[key][0], numbers, shared[key][1], unit)
        return series

    def _column(self, name: str) -> Column:
        column = self.columns.get(name)
        if column is None:
            column = self.columns.setdefault(clean(name), (array("d"), array("i")))
        return column


def _append(to: array[Any], numbers: NDArray[Any], kind: type[np.generic]) -> None:
    to.frombytes(np.ascontiguousarray(numbers, kind).tobytes())
