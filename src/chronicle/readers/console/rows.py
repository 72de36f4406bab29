"""Rows of numbers under construction: what a console log said at a step, until it is an attempt.

Columns are arrays of eight bytes a number, whatever the length of the log. Metrics that stand in every row
share their steps and times.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np

from chronicle.model import Floats, Role, Series, Steps
from chronicle.readers.text import clean

Column = tuple["array[float]", "array[int]"]  # values, and the rows they stand in


class Rows:
    """Points by row: each row has a step and a time, and a value for some of the metrics."""

    def __init__(self) -> None:
        self.steps, self.times = array("q"), array("d")
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self.steps)

    def add(self, step: int, values: Mapping[str, float], time: float) -> None:
        """One row. Raises OverflowError where the step does not fit 64 bits."""
        row = len(self.steps)
        self.steps.append(step)
        self.times.append(time)
        for name, value in values.items():
            column = self._column(name)
            column[0].append(value)
            column[1].append(row)

    def extend(self, steps: Steps, columns: Mapping[str, Floats], times: Floats) -> None:
        """Many rows at once, each with a value for every column."""
        rows = np.arange(len(self.steps), len(self.steps) + len(steps))
        self.steps.frombytes(steps.astype(np.int64).tobytes())
        self.times.frombytes(times.astype(np.float64).tobytes())
        for name, values in columns.items():
            column = self._column(name)
            column[0].frombytes(values.astype(np.float64).tobytes())
            column[1].frombytes(rows.tobytes())

    def last_time(self) -> float:
        """Unix seconds of the last row; NaN where it has none."""
        return self.times[-1] if self.times else float("nan")

    def series(self, units: Mapping[str, str] | None = None) -> dict[str, Series]:
        """All metrics in the order in which they first came; roles are given later."""
        steps, times = np.array(self.steps, np.int64), np.array(self.times, np.float64)
        shared: dict[bytes, tuple[Steps, Floats]] = {}
        series = {}
        for name, (values, at) in self._columns.items():
            rows = np.frombuffer(at, np.int64)
            key = b"" if len(rows) == len(steps) else at.tobytes()
            if key not in shared:
                shared[key] = (steps[rows], times[rows]) if key else (steps, times)
            series[name] = Series(
                name, Role.OTHER, shared[key][0], np.array(values, np.float64), shared[key][1],
                (units or {}).get(name),
            )  # fmt: skip
        return series

    def _column(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            column = self._columns.setdefault(clean(name), (array("d"), array("q")))
        return column
