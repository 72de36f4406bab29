"""From columns to an attempt: which column counts the steps, which tells the time, the rest are metrics.

Every reader of rows (CSV, JSON lines, ...) hands its columns to `attempt_of`; what a row without a step, a
step that is no whole number or a clock in milliseconds means is decided here, once. A blank cell (also NA,
null, None) is "not measured in this row"; a NaN, however it is spelled, is data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.counters import EPOCH_NAMES, IN_EPOCH_NAMES, STEP_NAMES, TIME_NAMES
from chronicle.model import Attempt, Fault, Floats, Place, Role, Series, Steps
from chronicle.readers.hyperparameters import as_float

BLANK = {"", "na", "n/a", "null", "none", "-", "--"}
NAN = {"nan(ind)", "-nan(ind)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(snan)", "not a number"}

_RARE = 0.05  # share of cells of a step column that may hold no whole number: damage, not another axis
_RARE_EPOCHS = 0.01  # share of cells of an epoch column that may hold no whole number
_RESTARTING = 0.8  # share of the epochs that begin below the end of the one before
_RANK = {name: rank for rank, (name, _) in enumerate(STEP_NAMES)}
_UNIX_UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6), (1e17, 1e20, 1e9))
_FLUSH_CELLS = 1 << 16

Mask = NDArray[np.bool_]


# --- names ---


def column_key(name: str) -> str:
    """A column name as it is compared: lower case, blanks, dots and dashes as underscores."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


@lru_cache(maxsize=4096)
def step_rank(name: str) -> int | None:
    """How well a name says that the column counts steps (0 is best); None where it does not."""
    whole, last = column_key(name), column_key(re.split(r"[/.]", name)[-1])
    if whole in _RANK:
        return _RANK[whole]
    return len(_RANK) + _RANK[last] if last in _RANK and last != "epoch" else None


def counts_steps(name: str) -> bool:
    """Whether a column of this name counts steps, samples, tokens or epochs."""
    return step_rank(name) is not None


def counted_by(name: str) -> str:
    """What a column of this name counts: step, sample, token or epoch; "" for none that counts."""
    rank = step_rank(name)
    return "" if rank is None else STEP_NAMES[rank % len(STEP_NAMES)][1]


def is_counter(name: str) -> bool:
    """Whether a name is that of a column that counts steps, or may be."""
    return counts_steps(name) or column_key(name) in IN_EPOCH_NAMES + EPOCH_NAMES


# --- cells ---


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column: ``values`` stand in ``rows``; other rows have none. NaN is data.

    ``values`` are int64 where all are whole numbers, float64 where they are numbers, else object (text).
    """

    values: NDArray[Any]
    rows: Steps

    @property
    def is_text(self) -> bool:
        """Whether the cells are texts."""
        return bool(self.values.dtype == object)

    def only(self, rows: Steps) -> Column:
        """The cells that stand in ``rows``."""
        kept = np.isin(self.rows, rows)
        return Column(self.values[kept], self.rows[kept])


_NO_COLUMN = Column(np.empty(0), np.empty(0, np.int64))


def number(cell: str) -> float | None:
    """The number in a cell, NaN spelled in any way included; None for a blank or a text."""
    try:
        return float(cell)
    except ValueError:
        return float("nan") if cell.strip().lower() in NAN else None


def is_blank(cell: str) -> bool:
    """Whether a cell says that nothing was measured."""
    return cell.strip().lower() in BLANK


class Builder:
    """One column under construction. ``whole`` keeps whole numbers of 64 bits exact, as steps need it.

    ``irregular`` says that a column of texts held more than numbers and blanks: a text, a NaN, or, where
    whole numbers are wanted, anything else.
    """

    def __init__(self, whole: bool) -> None:
        self.whole, self.irregular, self.n_numbers = whole, False, 0
        self._parts: list[tuple[Steps | range, NDArray[Any]]] = []
        self._rows, self._values = list[int](), list[float]()
        self._texts: dict[int, str] = {}

    @property
    def n_texts(self) -> int:
        """How many cells are neither number nor blank."""
        return len(self._texts)

    def add(self, row: int, cells: Sequence[str]) -> None:
        """The cells of the rows from ``row`` on, as they are written."""
        for convert, dtype in ((int, np.int64), (float, np.float64))[not self.whole :]:
            try:
                values = np.fromiter(map(convert, cells), dtype, len(cells))
            except (ValueError, OverflowError):
                self.irregular |= self.whole
                continue
            self.irregular |= bool(np.isnan(values).any())
            self.add_numbers(range(row, row + len(cells)), values)
            return
        for place, cell in enumerate(cells, row):
            if cell:
                self.put(place, self._value(cell))

    def _value(self, cell: str) -> float | str | None:
        if self.whole:
            try:
                return int(cell)
            except ValueError:
                pass
        value = number(cell)
        if value is None and is_blank(cell):
            return None
        self.irregular |= value is None or value != value
        return cell.strip() if value is None else value

    def add_numbers(self, rows: Steps | range, values: NDArray[Any]) -> None:
        """Numbers, int64 only in a column that keeps them; a range stands for all its rows."""
        self._parts.append((rows, values))
        self.n_numbers += len(values)

    def put(self, row: int, value: float | str | None) -> None:
        """One cell: a number of any size, a text, or None for a blank."""
        if isinstance(value, str):
            self._texts[row] = value
        elif value is not None:
            if isinstance(value, int) and not (self.whole and -(2**63) <= value < 2**63):
                value = as_float(value)
            self._rows.append(row)
            self._values.append(value)
            self.n_numbers += 1
            if len(self._rows) >= _FLUSH_CELLS:  # as arrays they take a fifth of the memory
                self._flush()

    def _flush(self) -> None:
        if self._rows:
            exact = self.whole and all(isinstance(value, int) for value in self._values)
            values = np.array(self._values, np.int64 if exact else np.float64)
            self._parts.append((np.array(self._rows, np.int64), values))
            self._rows, self._values = [], []

    def finished(self, every: Steps) -> Column:
        """The column, once: numbers, or text where most cells are text. ``every`` is each row there is."""
        self._flush()
        if self.n_texts > self.n_numbers:
            texts = dict(sorted(self._texts.items()))
            cells = np.array(list(texts.values()), dtype=object)
            return Column(cells, np.fromiter(texts, np.int64, len(texts)))
        parts, self._parts = self._parts, []  # given up one column at a time, lest all stand twice in memory
        if not parts:
            return _NO_COLUMN
        values: Any = parts[0][1] if len(parts) == 1 else np.concatenate([values for _, values in parts])
        if len(values) == len(every) and all(isinstance(rows, range) for rows, _ in parts):
            return Column(values, every)
        rows = np.concatenate([np.asarray(rows, np.int64) for rows, _ in parts])
        if np.any(rows[1:] < rows[:-1]):
            order = np.argsort(rows, kind="stable")
            values, rows = values[order], rows[order]
        return Column(values, rows)


# --- attempts ---


def attempt_of(
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
    numbers = {name: c for name, c in columns.items() if not c.is_text and len(c.rows)}
    texts = {name: c for name, c in columns.items() if c.is_text}
    counter, axis = _axis(numbers)
    steps, has_step, step_faults = _steps(path, numbers.get(counter), n_rows)
    epochs = _epochs(numbers)
    if not len(epochs.rows) and column_key(counter) in IN_EPOCH_NAMES:
        epochs = _passes(steps)
    if axis == "step" and (length := steps_per_epoch(steps, has_step, epochs)):
        steps = across_epochs(steps, has_step, epochs, length)
        facts = {"steps_per_epoch": length, **(facts or {})}
    clock, times = _times(columns, n_rows)
    metrics = {name: column for name, column in numbers.items() if name not in (counter, clock)}
    series = {
        name: points for name, c in metrics.items() if len(points := _series(name, c, steps, has_step, times))
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


def _series(metric: str, column: Column, steps: Steps, has_step: Mask, times: Floats) -> Series:
    """A metric at the steps and times of its rows, as far as these have a step."""
    values = column.values.astype(np.float64, copy=False)
    if counts_steps(metric):
        values = values + 0.0  # a counter is never -0.0, however its cells were written
    if len(column.rows) == len(steps) and has_step.all():  # columns with a value in every row share the rest
        return Series(metric, Role.OTHER, steps, values, times)
    known = has_step[column.rows]
    rows = column.rows[known]
    return Series(metric, Role.OTHER, steps[rows], values[known], times[rows])


def _epochs(columns: Mapping[str, Column]) -> Column:
    """The column that counts epochs; an empty one where none does."""
    return next((c for name, c in columns.items() if column_key(name) in EPOCH_NAMES), _NO_COLUMN)


def _passes(steps: Steps) -> Column:
    """How often the steps began anew before each row: the epochs, where none are logged."""
    return Column(np.append(0, np.cumsum(np.diff(steps) < 0)), np.arange(len(steps)))


def _axis(columns: Mapping[str, Column]) -> tuple[str, str]:
    """Name of the column that counts the steps and what it counts; ("", "row") where none does.

    One that may mean other things counts where the values do, and nothing else tells more than the epoch.
    """
    name, axis = _axis_by_name(columns)
    if axis not in ("epoch", "row"):
        return name, axis
    inner = ((IN_EPOCH_NAMES, "step", _epochs(columns)), (EPOCH_NAMES, "epoch", _NO_COLUMN))
    for names, counted, epochs in inner if axis == "row" else inner[:1]:
        for candidate, column in columns.items():
            may_count = column_key(candidate) in names and _is_axis(column.values)
            if may_count and counts_up(column.only(column.rows[_is_whole(column.values)]), epochs):
                return candidate, counted
    return name, axis


def _axis_by_name(columns: Mapping[str, Column]) -> tuple[str, str]:
    """As `_axis`, of the columns that count by their name alone: the best of those that move, or of all."""
    ranked = sorted((rank, name) for name in columns if (rank := step_rank(name)) is not None)
    whole = [name for _, name in ranked if _is_axis(columns[name].values)]
    moving = (name for name in whole if np.ptp(_whole_only(columns[name].values)) > 0)
    name = next(moving, whole[0] if whole else "")
    return name, counted_by(name) or "row"


def _is_axis(values: NDArray[Any]) -> bool:
    """Whether these are whole numbers that fit 64 bits, a rare wrong one and NaN aside."""
    if values.dtype == np.int64:
        return True
    values = values[~np.isnan(values)]
    n_whole = int(np.count_nonzero(_is_whole(values)))
    wrong = len(values) - n_whole
    return n_whole > 0 and wrong <= max(1.0, _RARE * len(values)) and n_whole >= 4 * wrong


def _is_whole(values: NDArray[Any]) -> Mask:
    """Which are whole numbers that fit 64 bits."""
    if values.dtype == np.int64:
        return np.ones(len(values), bool)
    with np.errstate(invalid="ignore"):
        return np.asarray((values == np.floor(values)) & (np.abs(values) < 2.0**63))


def _whole_only(values: NDArray[Any]) -> NDArray[Any]:
    return values[_is_whole(values)]


def _steps(path: Path, column: Column | None, n_rows: int) -> tuple[Steps, Mask, tuple[Fault, ...]]:
    """Steps of all rows, which rows have one, and what was wrong."""
    if column is None:
        return np.arange(n_rows, dtype=np.int64), np.ones(n_rows, bool), ()
    whole = _is_whole(column.values)
    broken = int(np.count_nonzero(~whole))
    source = np.full(n_rows, -1)
    source[column.rows[whole]] = np.flatnonzero(whole)
    source = np.maximum.accumulate(source)
    steps = np.where(whole, column.values, 0).astype(np.int64)[source]
    what = "step is no whole number; taken from the row before"
    return steps, source >= 0, (Fault(Place(str(path)), what, broken),) if broken else ()


# --- steps that begin anew in each epoch ---


def steps_per_epoch(steps: Steps, has_step: Mask, epochs: Column) -> int | None:
    """Length of an epoch, where steps begin anew whenever the epoch goes up; None where they go on.

    ``steps`` and ``has_step`` are by row. The length is the highest step of an epoch, the most frequent of
    those that are over (a single wrong step moves no other); where steps count from 0, one distance between
    two logged steps more.
    """
    rows, epoch = _whole_epochs(epochs, has_step)
    if len(rows) < 2:
        return None
    step, up = steps[rows], np.diff(epoch) > 0
    begins = np.append(0, np.flatnonzero(up) + 1)
    highest, lowest = np.maximum.reduceat(step, begins), np.minimum.reduceat(step, begins)
    if len(begins) < 2 or np.mean(lowest[1:] < highest[:-1]) < _RESTARTING:
        return None
    usual, _ = Counter(highest[:-1].tolist()).most_common(1)[0]  # the last epoch may not be over
    forward = np.diff(step)
    within = forward[~up & (forward > 0)]
    interval = int(np.median(within)) if len(within) else 1
    return int(usual) + (interval if np.median(lowest) <= 0 else 0)


def across_epochs(steps: Steps, has_step: Mask, epochs: Column, length: int) -> Steps:
    """The steps of all rows counted over all epochs of ``length`` steps; epochs count from 0 or from 1.

    A row without an epoch belongs to the epoch of the row before it.
    """
    rows, epoch = _whole_epochs(epochs, has_step)
    known = np.full(len(steps), -1)
    known[rows] = np.arange(len(rows))
    latest = np.maximum(np.maximum.accumulate(known), 0)
    done = epoch[latest] - min(int(epoch[0]), 1)
    with np.errstate(over="ignore"):
        return np.asarray(steps + length * np.where(has_step, done, 0), np.int64)


def counts_up(counter: Column, epochs: Column) -> bool:
    """Whether the values of a column count: they grow, and begin anew only with an epoch.

    Without epochs they begin anew where they began. A single value may always count.
    """
    values = counter.values
    if len(values) < 2:
        return len(values) == 1
    with np.errstate(over="ignore", invalid="ignore"):
        forward, up = np.diff(values), np.diff(_epoch_at(counter.rows, epochs)) > 0
    rises, falls, stays = (np.count_nonzero(way & ~up) for way in (forward > 0, forward < 0, forward == 0))
    if stays >= rises:
        return False
    if not len(epochs.rows):
        begin = values[0] + np.median(forward[forward > 0])
        return bool(rises >= 2 * falls and np.all(values[1:][forward < 0] <= begin))
    anew = np.mean(forward[up] <= 0) if up.any() else 0.0
    by_epoch = anew >= _RESTARTING and np.array_equal(epochs.values, np.floor(epochs.values))
    return bool(4 * falls <= rises and (anew == 0 or by_epoch))


def _epoch_at(rows: Steps, epochs: Column) -> NDArray[Any]:
    """The epoch of each row, that of the row before where it tells none; all 0 without epochs."""
    if not len(epochs.rows):
        return np.zeros(len(rows))
    latest = np.maximum(np.searchsorted(epochs.rows, rows, side="right") - 1, 0)
    return np.asarray(np.floor(epochs.values[latest]))


def _whole_epochs(epochs: Column, has_step: Mask) -> tuple[Steps, Steps]:
    """Rows that have a step and a whole, small epoch, and that epoch; none where others are not rare."""
    kept = has_step[epochs.rows]
    rows, values = epochs.rows[kept], epochs.values[kept]
    with np.errstate(invalid="ignore"):
        fits = (np.abs(values) < 1 << 31) & (values == np.floor(values))
    wrong = np.count_nonzero(~fits)
    if wrong > max(1.0, _RARE_EPOCHS * len(values)) or 4 * wrong > len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return rows[fits], values[fits].astype(np.int64)


# --- clocks ---


def _times(columns: Mapping[str, Column], n_rows: int) -> tuple[str, Floats]:
    """Name of the wall-clock column ("" without one) and Unix seconds of all rows, NaN where unknown."""
    times = np.full(n_rows, np.nan)
    by_key = {column_key(name): name for name in reversed(list(columns))}
    for name in [by_key[key] for key in TIME_NAMES if key in by_key]:
        column = columns[name]
        seconds = (iso_seconds if column.is_text else unix)(column.values)
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
