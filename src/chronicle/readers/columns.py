"""From columns to an attempt: which column counts the steps, which tells the time, the rest are metrics. A
blank cell (also NA, null, None) is "not measured in this row"; a NaN, however it is spelled, is data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.aliases import TIME_NAMES
from chronicle.metrics.arithmetic import any_numbers, median
from chronicle.metrics.names import called
from chronicle.metrics.values import moment
from chronicle.model import Attempt, Fault, Floats, Place, Role, Series, Steps
from chronicle.readers import step_axis
from chronicle.readers.step_axis import NO_COLUMN, Column, column_key
from chronicle.readers.text import clean

if TYPE_CHECKING:
    import pyarrow as pa

BLANK = {"", "na", "n/a", "null", "none", "-", "--"}
NAN = {"nan(ind)", "-nan(ind)", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(snan)", "not a number"}

# A number as NumPy, PyTorch, TensorFlow and JAX print their own.
WRAPPED = re.compile(
    r"\b(?:(?:np|numpy)\.float\d+|(?:tf\.)?tensor|(?:Device)?Array)"
    r"\(\[{0,3}([-+]?(?:(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?|nan|inf))\.?\]{0,3}"
    r"(?:, (?:[^()]|\(\)){0,120})?\)",
    re.IGNORECASE,
)

FLAGS = {"True": 1.0, "False": 0.0}  # as Python writes them into a CSV, and JSON as numbers
_COUNT_OF = re.compile(r"(\d{1,18})\s?/\s?\d{1,18}")  # how far a training is of how far it goes: 12/438

# Columns of what the environments of an agent log of each episode.
REWARD, LENGTH = "episode reward", "episode length"

# What Hugging Face's Trainer logs once, with the means over a whole training; and the fault of its logs.
CLOSING = "train_runtime"
FILTERED_LOSS = "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss"

REPEATED_SHARE = 0.9  # share of the rows that stand twice, where several loggers log the same
_FEWEST_UNWRITTEN, _NEAR_ZERO = 8, 0.05  # zeros, and numbers before them; share of the first number
_UNIX_UNITS = ((1e8, 1e11, 1.0), (1e11, 1e14, 1e3), (1e14, 1e17, 1e6), (1e17, 1e20, 1e9))
_FLUSH_CELLS = 1 << 16
_DECIMAL = ((float, np.float64),)
_WHOLE_AND_DECIMAL = ((int, np.int64), *_DECIMAL)


def number(cell: str) -> float | None:
    """The number in a cell, NaN spelled in any way included; None for a blank or a text."""
    try:
        return float(cell)
    except ValueError:
        if cell[-1:] == ")" and (wrapped := WRAPPED.fullmatch(cell.strip())):
            return number(wrapped[1])
        if cell[-1:] == "]" and cell.lstrip()[:1] == "[":  # of an array or a list of one
            return number(cell.strip("[] \t"))
        return float("nan") if cell.strip().lower() in NAN else None


def comma_number(text: str) -> float | None:
    """The number in a text, in which commas may separate thousands; None where it holds none."""
    return number(text.replace(",", ""))


def numbers(
    cells: Iterable[tuple[str, str]], as_number: Callable[[str], float | None] = comma_number
) -> dict[str, float]:
    """The cells whose text is a number; the last of equal names stays."""
    read = ((name.strip(), as_number(text)) for name, text in cells)
    return {name: value for name, value in read if value is not None}


def as_float(value: float | int) -> float:
    """The value as a float; a whole number that is too large for one is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def text_of(text: str) -> float | str:
    """The number that a text spells, or the text itself."""
    parsed = number(text)
    return clean(text) if parsed is None else parsed


def is_blank(cell: str) -> bool:
    """Whether a cell says that nothing was measured."""
    return cell.strip().lower() in BLANK


class Builder:
    """A column that is being read. ``whole`` keeps whole numbers of 64 bits exact, as steps need it.
    ``irregular`` says whether cells held anything but blanks and numbers as Python spells them."""

    def __init__(self, whole: bool) -> None:
        self.whole, self.irregular, self.n_numbers = whole, False, 0
        self._parts: list[tuple[Steps | range, NDArray[Any]]] = []
        self._rows: list[int] = []  # `list[int]()` takes ten times as long, and columns may be many
        self._values: list[float] = []
        self.texts: dict[int, str] = {}

    def add(self, row: int, cells: Sequence[str]) -> None:
        """Adds the cells of the rows from ``row`` on, as they are written."""
        kinds = _WHOLE_AND_DECIMAL if self.whole else _DECIMAL
        for convert, dtype in kinds if len(cells) > 1 else ():
            with suppress(ValueError, OverflowError):
                self.append(range(row, row + len(cells)), np.fromiter(map(convert, cells), dtype, len(cells)))
                return
        for place, cell in enumerate(cells, row):
            if cell:
                self.put(place, self._value(cell))

    def _value(self, cell: str) -> float | str | None:
        for convert in (int, float) if self.whole else (float,):
            with suppress(ValueError):
                return convert(cell)
        if is_blank(cell):
            return None
        self.irregular, value = True, FLAGS.get(cell.strip(), number(cell.rstrip("% ")))
        return cell.strip() if value is None else value

    def extend(self, rows: Steps | range, values: Sequence[Any], types: Set[type]) -> None:
        """Adds cells as JSON holds them: numbers at once, all others one by one. A range stands for all rows
        in it."""
        if types <= {float, int, bool} and len(values) > 1:
            dtype = np.int64 if self.whole and float not in types else np.float64
            try:
                self.append(rows, np.fromiter(values, dtype, len(values)))
                return
            except OverflowError:  # a whole number of more than 63 bits
                pass
        texts = {value: text_of(value) for value in set(values) if type(value) is str} if str in types else {}
        for row, value in zip(rows, values, strict=True):
            self.put(int(row), texts[value] if type(value) is str else value)

    @property
    def counts(self) -> bool:
        """Whether all numbers so far are whole ones of 64 bits, which are kept as such."""
        self._flush()
        return self.whole and all(values.dtype == np.int64 for _, values in self._parts)

    def take(self, row: int, array: pa.Array) -> None:
        """Adds the numbers of the rows from ``row`` on, which are below all others; a null is a blank cell.
        The numbers are taken as they lie in memory, because pyarrow's own way imports pandas, which takes
        longer."""
        is_valid, cells = array.buffers()
        values = np.frombuffer(cells, array.type.to_pandas_dtype(), len(array))
        rows: Steps | range = range(row, row + len(array))
        if array.null_count:
            bits = np.unpackbits(np.frombuffer(is_valid, np.uint8), bitorder="little")
            filled = np.flatnonzero(bits[: len(array)])
            rows, values = filled + row, values[filled]
        self.append(rows, values)

    def append(self, rows: Steps | range, values: NDArray[Any]) -> None:
        """Adds the numbers of these rows, which are below all others."""
        self._parts.append((rows, values))
        self.n_numbers += len(rows)

    def put(self, row: int, value: float | str | None) -> None:
        """Adds one cell: a number of any size, a text, or None for a blank."""
        if isinstance(value, str) and self.whole and (count := _COUNT_OF.fullmatch(value)):
            value = int(count[1])
        if isinstance(value, str):
            self.texts[row] = value
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

    def _joined(self) -> tuple[Steps | range, NDArray[Any]]:
        """Joins all numbers so far, with their rows, in order; their parts are given up to save memory."""
        self._flush()
        parts, self._parts = self._parts, []
        if not parts:
            return NO_COLUMN.rows, NO_COLUMN.values
        values, at = parts[0][1], 0
        if len(parts) > 1 or not values.flags.writeable:
            values = np.concatenate([values for _, values in parts])
        for span, _ in parts:  # of a table of 100,000 columns this is asked of each
            if not isinstance(span, range) or span.start != at:
                break
            at = span.stop
        else:
            return range(at), values
        rows = np.concatenate([np.asarray(part, np.int64) for part, _ in parts])
        if np.any(rows[1:] < rows[:-1]):
            order = np.argsort(rows, kind="stable")
            values, rows = values[order], rows[order]
        return rows, values

    def finished(self, every: Steps) -> Column:
        """The column: numbers, or text if most cells are text. ``every`` holds the numbers of all rows. It
        can be asked for only once."""
        if len(self.texts) > self.n_numbers:
            rows_of_texts, texts = zip(*sorted(self.texts.items()), strict=True)
            return Column(np.array(texts, dtype=object), np.array(rows_of_texts, np.int64))
        rows, values = self._joined()
        if isinstance(rows, range):
            rows = every if len(rows) == len(every) else every[: len(rows)]
        return Column(values, rows)

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of a log that is read on later: the parts so far, joined. Reading may go on."""
        rows, values = self._joined()
        self._parts = [(rows, values)] if len(values) else []  # an empty one would make whole numbers decimal
        return vars(self)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """Makes columns of flat rows, in the order of their first cells; texts among numbers are left out."""
    builders: dict[str, Builder] = defaultdict(lambda: Builder(whole=True))
    n_rows = 0
    for n_rows, row in enumerate(rows, 1):
        for name, value in row.items():
            builders[name].put(n_rows - 1, value)
    every = np.arange(n_rows)
    return {name: builder.finished(every) for name, builder in builders.items()}


@dataclass(frozen=True, eq=False)
class Table:
    """What was read of one log: columns, facts, faults, and whether its end is cut. ``rows_are`` says what
    its rows are if they are no steps. Its attempt has the name of the file unless it has a ``name``."""

    path: Path
    n_rows: int
    columns: Mapping[str, Column]
    facts: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    truncated: bool = False
    rows_are: str = ""
    name: str = ""

    @classmethod
    def of(cls, path: Path, rows: Sequence[Mapping[str, Any]], **known: Any) -> Table:
        """The table with these flat rows."""
        return cls(path, len(rows), columns_of(rows), **known)


@any_numbers
def attempt_of(table: Table) -> Attempt:
    """Makes an attempt of a table. Metrics keep their order and get their roles later; their steps are those
    that `chronicle.readers.step_axis` finds, or the numbers of the rows on the axis "item". Columns of ISO
    8601 times become the clock, and columns of one text a fact. Raises BadLog if no column holds a number."""
    path, n_rows, columns = table.path, table.n_rows, table.columns
    texts = {name: c for name, c in columns.items() if c.is_text}
    numbers = {name: c for name, c in columns.items() if name not in texts and len(c.rows)}
    axis = step_axis.axis_of(numbers) if not table.rows_are else step_axis.Axis("", "item")
    steps, of_steps, step_faults = _steps_over_epochs(path, axis, n_rows, numbers)
    clock, times = _times(columns, n_rows)
    series = {n: _series(n, c, steps, times) for n, c in numbers.items() if n not in (axis.name, clock)}
    if 2 * np.count_nonzero(steps[1:] == steps[:-1]) >= REPEATED_SHARE * len(steps):
        unrepeated = {name: _without_repeats(s) for name, s in series.items()}
        n_repeated = sum(len(s) for name, s in series.items() if len(unrepeated[name]) < len(s))
        series = unrepeated if 2 * n_repeated >= sum(map(len, series.values())) else series
    if not series:
        raise BadLog(str(path), "holds no numbers", remedy="check that it is the log of a training")
    constant = {k: c.values[0] for k, c in texts.items() if k != clock and len(set(c.values)) == 1}
    facts, faults = {**constant, **of_steps, **table.facts}, (*table.faults, *step_faults)
    if table.rows_are:
        facts["rows"] = f"{table.rows_are}, no steps"
    logged, axes = (series, facts, faults, table.truncated), (axis.counts, called(axis.name))
    return Attempt(table.name or path.name, (str(path),), *logged, *axes)


def _steps_over_epochs(
    path: Path, axis: step_axis.Axis, n_rows: int, columns: Mapping[str, Column]
) -> tuple[Steps, dict[str, Any], tuple[Fault, ...]]:
    """The steps of all rows, which continue if they begin again in each epoch, with facts about them and
    faults."""
    steps, faults = step_axis.steps_of(path, _told(axis.column), n_rows)
    epochs, facts = step_axis.epochs_by_row(axis, steps, columns), dict[str, Any]()
    if axis.counter:
        facts["step_counter"] = axis.counter
    if axis.counts == "step" and (length := step_axis.steps_per_epoch(steps, epochs)):
        steps = step_axis.across_epochs(steps, epochs, length)
        facts["steps_per_epoch"] = length
        if n_wrong := len(epochs.rows) - len(step_axis.whole_epochs(epochs)[0]):
            problem = "epoch is not a whole number, or before the first; taken from the row before"
            faults = (*faults, Fault(Place(str(path)), problem, n_wrong))
    return steps, facts, faults


def _told(counter: Column | None) -> Column | None:
    """A counter without -1 among counts, which stands for the end of an epoch (sentence-transformers)."""
    if counter is None or counter.is_text:
        return counter
    n_ends, n_others = (np.count_nonzero(way) for way in (counter.values == -1, counter.values > 0))
    return counter.where(counter.values != -1) if 1 < n_ends <= n_others else counter


def _series(metric: str, column: Column, steps: Steps, times: Floats) -> Series:
    values = column.values.astype(np.float64, copy=False)
    if step_axis.step_rank(metric) is not None:
        values = values + 0.0  # a counter is never -0.0, however its cells were written
    rows = column.rows
    if len(rows) == len(steps):  # columns with a value in every row share the rest
        return Series(metric, Role.OTHER, steps, values, times, rows=rows)
    return Series(metric, Role.OTHER, steps[rows], values, times[rows], rows=rows)


def _without_repeats(series: Series) -> Series:
    """A series without the values that other processes logged again: nearly every value stands twice at its
    step, or as often as the step does."""
    at_once = series.steps[1:] == series.steps[:-1]
    again = at_once & (series.values[1:] == series.values[:-1])
    twice, in_all = 2 * np.count_nonzero(again), REPEATED_SHARE * np.count_nonzero(at_once)
    repeated = twice >= max(REPEATED_SHARE * len(series), 2 * in_all)
    return series.pick(np.append(True, ~again)) if repeated else series


def _times(columns: Mapping[str, Column], n_rows: int) -> tuple[str, Floats]:
    """The name of the column with the wall clock ("" if there is none), and the time of each row [Unix s]
    (NaN: not known)."""
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
    """Converts a clock in s, ms, µs or ns to Unix seconds; None if the numbers are no dates (1973-5138)."""
    middle = median(values)
    for low, high, per_second in _UNIX_UNITS:
        if low <= middle < high:
            return np.asarray(values / per_second, np.float64)
    return None


def iso_seconds(cells: Sequence[str] | NDArray[Any]) -> Floats | None:
    """Converts ISO 8601 texts to Unix seconds, in UTC if they name no zone; None if most are something
    else."""
    times = np.array([moment(cell, np.nan) for cell in cells], np.float64)
    return times if 2 * np.count_nonzero(~np.isnan(times)) > len(cells) else None


# Rows, and columns; of the first quarter; of the range, from row to row.
_FEWEST_MOVES, _MOST_UNNAMED, _FALLEN, _FAR = 8, 12, 0.8, 0.25
_MOST_APART = 1.5  # times: a loss and the one held out, at the first step that is logged
_EPSILON, _SAME_FACTOR = "epsilon", 1e-3  # rates may be printed with few digits


def names_by_values(table: NDArray[Any], *, of_losses: bool) -> list[str]:
    """Names for the columns of a table that has none, if their values show what they are: the first one
    counts, and of the others one falls as a loss does; one that rises between 0 and 1, or up to 100, is a
    score. In a table ``of_losses``, all that is no whole number is a loss, and nothing need count; the second
    of two is held out if it begins at the level of the first and falls, too. Of three columns of which one is
    how often an agent acts at random, the other one is its reward. Else []. All names tell the place of
    their column, since the values may be something else."""
    begins = np.flatnonzero(table[1:, 0] < table[:-1, 0]) + 1
    if (table[begins, 0] == table[:1, 0]).all():  # of several launches, the longest
        table = max(np.split(table, begins), key=len)
    if len(table) < _FEWEST_MOVES or len(table.T) > _MOST_UNNAMED:
        return []
    gaps = np.diff(table[:, 0])
    counts = bool((table[:, 0] % 1 == 0).all() and (gaps == gaps[0]).all() and gaps[0] > 0)
    kinds = [_kind_by_values(column) for column in table.T[counts:]]
    explores = [_is_exploration(column) for column in table.T[counts:]]
    if counts and len(explores) == 2 and any(explores):
        return ["step", *(f"{_EPSILON if e else 'reward'} (column {n})" for n, e in enumerate(explores, 2))]
    if of_losses and "loss" in kinds and (table[:, counts:] % 1).any(axis=0).all():
        kinds = [kind or "loss" for kind in kinds]
    if (not counts and not (of_losses and all(kinds))) or "loss" not in kinds:
        return []
    if of_losses and kinds == ["loss"] * 2 and begin_alike(*table[0, counts:]):
        kinds[1] = "validation " * bool(table[:, -1].min() < _FALLEN * table[0, -1]) + kinds[1]
    named = [f"{kind} (column {n})" if kind else f"column {n}" for n, kind in enumerate(kinds, 1 + counts)]
    return ["step"] * counts + named


def begin_alike(loss: float, other: float) -> bool:
    """Whether two losses are at about the same level, as where nothing has been learned yet."""
    return loss > 0 and 1 / _MOST_APART <= other / loss <= _MOST_APART


def _is_exploration(values: Floats) -> bool:
    """Whether values are the shares of random actions, which fall by one factor in each row to a last one."""
    if len(values) < _FEWEST_MOVES or not 0 < values.min() < values.max() <= 1:
        return False
    ratios = values[1:] / values[:-1]
    falls = int(np.argmin(ratios < 1)) if (ratios == 1).any() else len(ratios)  # then it stays
    is_even = falls > 1 and bool(np.allclose(ratios[: max(falls - 1, 2)], ratios[0], rtol=_SAME_FACTOR))
    return is_even and bool((ratios[falls:] == 1).all())


def _kind_by_values(values: Floats) -> str:
    """What a column holds by its values: "loss" or "score"; "" for anything else."""
    values = values[np.isfinite(values)]
    if len(values) < _FEWEST_MOVES or not (values % 1).any():
        return ""
    quarters, range_ = [part.mean() for part in np.array_split(values, 4)], np.ptp(values)
    if values.min() < 0 or median(np.abs(np.diff(values))) > _FAR * range_:
        return "other"
    if (
        quarters[0] == max(quarters[:3])
        and quarters[1] > quarters[2]
        and min(quarters) < _FALLEN * quarters[0]
    ):
        return "loss"
    rises = quarters[0] == min(quarters) and quarters[1] < quarters[2] and values.max() <= 100
    return "score" if rises else ""


def in_one_course(table: NDArray[Any]) -> NDArray[Any]:
    """The batches of all epochs as one column, if each row of a wide table begins where the one before ended
    rather than where the first began, and falls below it, as the losses of epochs do; else no rows. The rows
    of several runs begin anew, and those of a landscape rise again."""
    tenth = -(-len(table.T) // 10)
    begins, ends = table[:, :tenth].mean(axis=1), table[:, -tenth:].mean(axis=1)
    go_on = np.abs(begins[1:] - ends[:-1]) < np.abs(begins[1:] - begins[0])
    means = table.mean(axis=1)
    falls = bool(means[-1] < _FALLEN * means[0] and 2 * np.count_nonzero(np.diff(means) < 0) > len(go_on))
    return table.reshape(-1, 1) if len(table) > 1 and falls and go_on.all() else table[:0]


def written_rows(table: NDArray[Any]) -> NDArray[Any]:
    """The rows of an array up to the last one that was written. An array that was allocated for more rows
    ends in zeros, has none before, and the last number before them is not near zero."""
    written = np.flatnonzero(table.any(axis=1))
    n = 1 + int(written[-1]) if len(written) else 0
    if min(n, len(table) - n) < _FEWEST_UNWRITTEN or len(written) < n:
        return table
    first, last = np.abs(table[[0, n - 1], -1])
    return table[:n] if last > _NEAR_ZERO * first else table
