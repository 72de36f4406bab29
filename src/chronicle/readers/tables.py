"""From columns to an attempt: which column counts the steps, which tells the time, the rest are metrics.

Every reader of rows (CSV, JSON lines, ...) hands its columns to `attempt`; what a row without a step, a
step that is no whole number or a clock in milliseconds means is decided here, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.counters import EPOCH_NAMES as EPOCH_NAMES
from chronicle.metrics.counters import IN_EPOCH_NAMES as IN_EPOCH_NAMES
from chronicle.metrics.counters import STEP_NAMES as STEP_NAMES
from chronicle.metrics.counters import TIME_NAMES as TIME_NAMES
from chronicle.model import Attempt, Fault, Floats, Place, Role, Series, Steps
from chronicle.readers.epoch_steps import across_epochs, counts_up, steps_per_epoch

_RARE = 0.05  # share of cells of a step column that may hold no whole number: damage, not another axis
_RANK = {name: rank for rank, (name, _) in enumerate(STEP_NAMES)}
_UNIX_UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6), (1e17, 1e20, 1e9))


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column: ``values`` stand in ``rows``; other rows have none. NaN is data.

    ``values`` are int64 where all are whole numbers, float64 where they are numbers, else object (text).
    """

    values: NDArray[Any]
    rows: Steps

    def only(self, rows: Steps) -> Column:
        """The cells that stand in ``rows``."""
        kept = np.isin(self.rows, rows)
        return Column(self.values[kept], self.rows[kept])


_NO_COLUMN = Column(np.empty(0), np.empty(0, np.int64))


def plain(name: str) -> str:
    """A column name as it is compared: lower case, blanks, dots and dashes as underscores."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


@lru_cache(maxsize=4096)
def step_rank(name: str) -> int | None:
    """How well a name says that the column counts steps (0 is best); None where it does not."""
    whole, last = plain(name), plain(re.split(r"[/.]", name)[-1])
    if whole in _RANK:
        return _RANK[whole]
    return len(_RANK) + _RANK[last] if last in _RANK and last != "epoch" else None


def is_counter(name: str) -> bool:
    """Whether a name is that of a column that counts steps, or may be."""
    return step_rank(name) is not None or plain(name) in IN_EPOCH_NAMES + EPOCH_NAMES


def attempt(
    path: Path,
    n_rows: int,
    columns: Mapping[str, Column],
    *,
    name: str = "",
    facts: Mapping[str, Any] | None = None,
    faults: Iterable[Fault] = (),
    truncated: bool = False,
) -> Attempt:
    """An attempt from the columns of a table, metrics in their order (roles are given later).

    A row without a step stands at the step of the row before it. Text columns give the clock where they
    hold ISO 8601 times, a fact where they hold one and the same text throughout.

    Raises:
        BadLog: no column holds a number.
    """
    numbers = {name: c for name, c in columns.items() if c.values.dtype != object and len(c.rows)}
    texts = {name: c for name, c in columns.items() if c.values.dtype == object}
    counter, axis = _axis(numbers)
    steps, has_step, step_faults = _steps(path, numbers.get(counter), n_rows)
    epochs = _epochs(numbers)
    if not len(epochs.rows) and plain(counter) in IN_EPOCH_NAMES:
        epochs = _passes(steps)
    if axis == "step" and (length := steps_per_epoch(steps, has_step, epochs)):
        steps = across_epochs(steps, has_step, epochs, length)
        facts = {"steps_per_epoch": length, **(facts or {})}
    clock, times = _times(columns, n_rows)
    metrics = {name: column for name, column in numbers.items() if name not in (counter, clock)}
    series = {
        name: one for name, c in metrics.items() if len(one := _series(name, c, steps, has_step, times))
    }
    if not series:
        raise BadLog(str(path), "holds no numbers. Remedy: check that it is the log of a training")
    constant = {k: c.values[0] for k, c in texts.items() if k != clock and len(set(c.values)) == 1}
    return Attempt(
        name or path.name,
        (str(path),),
        series,
        {**constant, **(facts or {})},
        (*faults, *step_faults),
        truncated,
        axis,
    )


def _series(metric: str, column: Column, steps: Steps, has_step: NDArray[np.bool_], times: Floats) -> Series:
    """A metric at the steps and times of its rows, as far as these have a step."""
    if len(column.rows) == len(steps) and has_step.all():  # columns with a value in every row share the rest
        return Series(metric, Role.OTHER, steps, column.values.astype(np.float64, copy=False), times)
    known = has_step[column.rows]
    rows = column.rows[known]
    return Series(metric, Role.OTHER, steps[rows], column.values[known].astype(np.float64), times[rows])


def _epochs(columns: Mapping[str, Column]) -> Column:
    """The column that counts epochs; an empty one where none does."""
    return next((c for name, c in columns.items() if plain(name) in EPOCH_NAMES), _NO_COLUMN)


def _passes(steps: Steps) -> Column:
    """How often the steps began anew before each row: the epochs, where none are told."""
    return Column(np.append(0, np.cumsum(np.diff(steps) < 0)), np.arange(len(steps)))


def _axis(columns: Mapping[str, Column]) -> tuple[str, str]:
    """Name of the column that counts the steps and what it counts; ("", "row") where none does.

    One that may mean other things counts where the values do, and nothing else tells more than the epoch.
    """
    name, axis = _by_name(columns)
    if axis not in ("epoch", "row"):
        return name, axis
    inner = ((IN_EPOCH_NAMES, "step", _epochs(columns)), (EPOCH_NAMES, "epoch", _NO_COLUMN))
    for names, counted, epochs in inner if axis == "row" else inner[:1]:
        found = {n: c for n, c in columns.items() if plain(n) in names and _counts(c.values)}
        for n, c in found.items():
            if counts_up(c.only(c.rows[_whole(c.values)]), epochs):
                return n, counted
    return name, axis


def _by_name(columns: Mapping[str, Column]) -> tuple[str, str]:
    """As `_axis`, of the columns that count by their name alone."""
    ranked = sorted((rank, name) for name in columns if (rank := step_rank(name)) is not None)
    whole = [(rank, name) for rank, name in ranked if _counts(columns[name].values)]
    growing = [(rank, name) for rank, name in whole if _grows(columns[name].values)]
    for rank, name in growing or whole:
        return name, STEP_NAMES[rank % len(STEP_NAMES)][1]
    return "", "row"


def _counts(values: NDArray[Any]) -> bool:
    """Whether these are whole numbers that fit 64 bits, a rare wrong one and NaN aside."""
    if values.dtype == np.int64:
        return True
    values = values[~np.isnan(values)]
    whole = int(np.count_nonzero(_whole(values)))
    wrong = len(values) - whole
    return whole > 0 and wrong <= max(1.0, _RARE * len(values)) and whole >= 4 * wrong


def _whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which are whole numbers that fit 64 bits."""
    if values.dtype == np.int64:
        return np.ones(len(values), bool)
    with np.errstate(invalid="ignore"):
        return np.asarray((values == np.floor(values)) & (np.abs(values) < 2.0**63))


def _grows(values: NDArray[Any]) -> bool:
    return bool(np.ptp(values[_whole(values)]) > 0)


def _steps(
    path: Path, column: Column | None, n_rows: int
) -> tuple[Steps, NDArray[np.bool_], tuple[Fault, ...]]:
    """Steps of all rows, which rows have one, and what was wrong."""
    if column is None:
        return np.arange(n_rows, dtype=np.int64), np.ones(n_rows, bool), ()
    whole = _whole(column.values)
    broken = int(np.count_nonzero(~whole))
    source = np.full(n_rows, -1)
    source[column.rows[whole]] = np.flatnonzero(whole)
    source = np.maximum.accumulate(source)
    steps = np.where(whole, column.values, 0).astype(np.int64)[source]
    said = "step is no whole number; taken from the row before"
    faults = (Fault(Place(str(path)), said, broken),) if broken else ()
    return steps, source >= 0, faults


def _times(columns: Mapping[str, Column], n_rows: int) -> tuple[str, Floats]:
    """Name of the wall-clock column ("" without one) and Unix seconds of all rows, NaN where unknown."""
    times = np.full(n_rows, np.nan)
    named = {plain(name): name for name in reversed(list(columns))}
    for name in [named[wanted] for wanted in TIME_NAMES if wanted in named]:
        column = columns[name]
        seconds = (iso_seconds if column.values.dtype == object else unix)(column.values)
        if seconds is not None:
            times[column.rows] = seconds
            return name, times
    return "", times


def unix(values: NDArray[Any]) -> Floats | None:
    """Seconds since 1970 from a clock in s, ms, µs or ns; None where the numbers are no dates (1973-5138)."""
    middle = float(np.median(values)) if len(values) else float("nan")
    for low, high, per_second in _UNIX_UNITS:
        if low <= middle < high:
            return np.asarray(values / per_second, np.float64)
    return None


def iso_seconds(cells: Sequence[str] | NDArray[Any]) -> Floats | None:
    """Unix seconds from ISO 8601 texts, UTC where they name no zone; None where most are something else."""
    times = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            moment = datetime.fromisoformat(cell.strip())
            times[row] = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return times if 2 * np.count_nonzero(~np.isnan(times)) > len(cells) else None
