"""What the stores of trackers have in common: safe access to databases, and runs that are logged by points.

A database may be hostile: its schema may hold views, triggers, virtual tables and generated columns that
compute, and its pages may refer to each other in circles. Only plain columns of plain tables are read, each
table once, in the order of its rows, and never more than the file can hold.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place, Role, Series, Steps
from chronicle.readers.columns import CLOSING, Table, attempt_of, number
from chronicle.readers.facts import config_facts
from chronicle.readers.step_axis import axis_by_name, counted_by
from chronicle.readers.text import SQLITE_STARTS, Head
from chronicle.workspace.locks import scratch

AXIS = "global_step"
_FEW = 3  # values of the tests after a training, which are logged without a step
_Points = tuple["array[int]", "array[float]", "array[float]"]  # steps, values, times of a metric
NOTHING = "no run logged a metric. Remedy: name the store that the training wrote to"


def only_file(folder: Path, pattern: str, identify: Callable[[Head], bool]) -> Path | None:
    """The only file of a folder that matches ``pattern``, if it has the format: the folder is a launch."""
    with suppress(OSError):
        files = [file for file in folder.glob(pattern) if file.is_file()]
        return files[0] if len(files) == 1 and identify(Head.of(files[0])) else None
    return None


def read_launch(folder: Path, file: Path | None, read: Callable[[Path], list[Attempt]]) -> list[Attempt]:
    """The attempt in the file of a launch (see `only_file`), named after the folder. Raises BadLog."""
    if file is None:
        raise BadLog(str(folder), "is not the folder of one launch", remedy="name another folder")
    return [replace(attempt, name=folder.name) for attempt in read(file)]


def attempt_of_calls(table: Table, declared: Collection[str] = ()) -> Attempt:
    """An attempt from rows that are calls of a tracker, which `_step` counts independently of the trainer.
    The axis is chosen as for any table, among columns with values in half of the rows and with ``declared``
    step metrics first; without one it is `_step`."""
    columns, facts = table.columns, table.facts
    half = len(columns["_step"].rows) / 2
    filled = {name: c for name, c in columns.items() if not c.is_text and len(c.rows) >= half}
    axis = axis_by_name({n: c for n, c in filled.items() if counted_by(n) in ("", "step")}, declared)
    others = {name: column for name, column in columns.items() if name not in ("_step", axis.name, AXIS)}
    if axis.counter:
        facts = {"step_counter": axis.counter, **facts}
    on_axis = {AXIS: axis.column or columns["_step"], **others}
    return without_summary(attempt_of(replace(table, columns=on_axis, facts=facts)))


def without_summary(attempt: Attempt) -> Attempt:
    """The attempt with what was only logged together with a `train_runtime` in the fact "summary"."""
    closing = (_moments(series) for name, series in attempt.series.items() if name.endswith(CLOSING))
    moments = set[tuple[int, float]]().union(*closing)
    short = [name for name, s in attempt.series.items() if 0 < len(s) <= len(moments)]
    kept = {n: s for n, s in attempt.series.items() if n not in short or _moments(s) - moments}
    if not kept or len(kept) == len(attempt.series):
        return attempt
    summary = {name: float(s.values[-1]) for name, s in attempt.series.items() if name not in kept}
    return replace(attempt, series=kept, facts={**attempt.facts, "summary": summary})


def _moments(series: Series) -> set[tuple[int, float]]:
    times = np.where(np.isnan(series.times), -1.0, series.times)
    return set(zip(series.steps.tolist(), times.tolist(), strict=True))


@dataclass
class PointLog:
    """A run under construction: its facts, its parameters, and its metrics point by point. Metrics whose
    names begin with ``system`` are left out: the tracker measures them on the machine."""

    facts: dict[str, Any]
    system: str
    metrics: dict[str, _Points] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    broken: int = 0
    _counted: set[str] = field(default_factory=set)

    def point(self, metric: str, step: Any, value: Any, time_s: Any) -> None:
        """Adds a point. One that is not a number is only counted. Without a step, the points are numbered."""
        if metric.startswith(self.system):
            return
        if metric not in self.metrics:
            self.metrics[metric] = array("q"), array("d"), array("d")
        steps, values, times = self.metrics[metric]
        if step is None:
            self._counted.add(metric)
            step = len(steps)
        try:
            value, time_s = float(value), float(time_s)
            steps.append(int(step))  # raises where it has more than 64 bits
        except (TypeError, ValueError, OverflowError):
            self.broken += 1
        else:
            values.append(value)
            times.append(time_s)

    def attempt(self, path: Path, name: str, faults: Iterable[Fault], truncated: bool) -> Attempt:
        """The run; its axis is "row" if each metric has one step only. Raises BadLog without a point."""
        logged = {metric: points for metric, points in self.metrics.items() if points[0]}
        if not logged:
            raise BadLog(str(path), NOTHING)
        several = any(len(steps) > 1 for steps, _, _ in logged.values())
        stated = (steps for metric, (steps, _, _) in logged.items() if metric not in self._counted)
        axis = "row" if several and not any(map(np.ptp, stated)) else "step"
        series = {}
        for metric, points in logged.items():
            steps, values, times = map(np.array, points)
            steps = np.arange(len(steps), dtype=np.int64) if axis == "row" else _with_last_step(steps)
            series[metric] = Series(metric, Role.OTHER, steps, values, times)
        faults = [*faults]
        if self.broken:
            faults.append(Fault(Place(str(path)), "point is not a number; skipped", self.broken))
        facts = {**self.facts, **config_facts(self.params)}
        attempt = Attempt(name, (str(path),), series, facts, tuple(faults), truncated, axis)
        return without_summary(attempt)


def _with_last_step(steps: Steps) -> Steps:
    """The steps of a metric; a few 0 at its end are replaced by the step before, since MLflow stores 0 where
    no step is given."""
    given = np.flatnonzero(steps)
    n = int(given[-1]) + 1 if len(given) else len(steps)
    return np.append(steps[:n], np.full(len(steps) - n, steps[n - 1])) if len(steps) - n <= _FEW else steps


def typed(text: str) -> str | int | float:
    """A parameter that a tracker stores as text, as a number if it spells one."""
    value = int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else number(text)
    return text if value is None else value


def seconds(time_ms: Any) -> float | None:
    """Milliseconds (a number or a text) in seconds; None for anything else."""
    try:
        return float(time_ms) / 1000
    except (TypeError, ValueError):
        return None


MAX_CELL = 1 << 24  # bytes, also of a message in a file
MAX_WAIT_S = 60.0  # for a batch of rows
BATCH_ROWS, MAX_TABLES = 10_000, 1000

_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_INSTRUCTIONS = 100_000  # of SQLite's virtual machine between two checks of the deadline
_DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)


@dataclass
class Store:
    """An open database: the columns of each plain table, and a fault for each table that is not complete."""

    path: Path
    connection: sqlite3.Connection
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    deadline: float = 0.0

    def rows(self, table: str, wanted: Sequence[str], *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
        """The ``wanted`` columns of all rows, in the order of the table; None for a missing column. At damage
        the rows end with a fault; if ``strict``, `opened` raises BadLog."""
        has = self.tables.get(table)
        if not has:
            return
        select = ", ".join(_quoted(column) if column in has else "NULL" for column in wanted)
        room = 2 * self.path.stat().st_size + 4096  # bytes that rows can take, if no page is read twice
        try:
            yield from self.rows_within(f"SELECT {select} FROM {_quoted(table)} NOT INDEXED", room)
        except _DAMAGE as err:
            if strict:
                raise
            problem = f"table {table!r} is damaged ({_reason(err)}); the rows before that are kept"
            self.faults.append(Fault(Place(str(self.path)), problem))

    def rows_within(self, query: str, room: int) -> Iterator[tuple[Any, ...]]:
        """The rows of a query. Raises sqlite3.DatabaseError if their texts take more than ``room`` bytes."""
        self.renew_deadline()
        for n_rows, row in enumerate(self.connection.execute(query)):
            room -= 1 + sum(len(cell) for cell in row if type(cell) is str or type(cell) is bytes)
            if room < 0:
                raise sqlite3.DatabaseError("more rows than the file can hold")
            if not n_rows % BATCH_ROWS:
                self.renew_deadline()
            yield row

    def renew_deadline(self) -> None:
        """Gives a query another MAX_WAIT_S seconds, after which it raises sqlite3.Error."""
        self.deadline = monotonic() + MAX_WAIT_S


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The database, read-only; a copy if a `-wal` file must be merged. Raises BadLog if it is damaged."""
    wal = path.with_name(path.name + "-wal")
    has_wal, page_bytes = wal.is_file() and wal.stat().st_size, _page_bytes_if_cut(path)
    with ExitStack() as stack:
        file, mode = path, "mode=rw" if has_wal else "mode=ro&immutable=1"
        if has_wal or page_bytes:
            file = stack.enter_context(scratch()) / "copy"
            shutil.copyfile(path, file)
        if has_wal:
            shutil.copyfile(wal, file.with_name("copy-wal"))
        elif page_bytes:  # SQLite would read the missing part of a page as zeros
            os.truncate(file, path.stat().st_size // page_bytes * page_bytes)
        try:
            yield _store(path, stack.enter_context(closing(_connected(file, mode))))
        except _DAMAGE as err:
            problem = f"is a damaged database ({_reason(err)}). Remedy: restore it from a copy"
            raise BadLog(str(path), problem) from err


def tables_of(path: Path) -> dict[str, tuple[str, ...]]:
    """The columns of each plain table of an SQLite file; {} for any other file, or a damaged one."""
    if Head.of(path).start.startswith(SQLITE_STARTS):
        with suppress(BadLog), opened(path) as store:
            return store.tables
    return {}


def _reason(err: Exception) -> str:
    if isinstance(err, UnicodeDecodeError):  # Python decodes SQLite's own messages, which quote the database
        return "malformed schema"
    # SQLite's binding raises MemoryError for a page that asks for more memory than allowed.
    return "a damaged page asks for too much memory" if isinstance(err, MemoryError) else str(err)


def _connected(file: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(file.resolve()))}?{mode}", uri=True)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _store(path: Path, connection: sqlite3.Connection) -> Store:
    store = Store(path, connection)
    connection.set_progress_handler(lambda: int(monotonic() > store.deadline), _INSTRUCTIONS)
    store.renew_deadline()
    listed = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    for name, sql in listed.fetchmany(MAX_TABLES):
        if isinstance(name, str) and isinstance(sql, str) and _PLAIN_TABLE.match(sql):
            columns = connection.execute(f"PRAGMA table_xinfo({_quoted(name)})")
            # A hidden column is generated by an expression, which is not evaluated.
            store.tables[name] = tuple(column for _, column, _, _, _, _, hidden in columns if not hidden)
    if _page_bytes_if_cut(path):
        store.faults.append(Fault(Place(str(path)), "is shorter than its header says; the end is missing"))
    return store


def _page_bytes_if_cut(path: Path) -> int:
    """The size of a page, if the file has fewer pages than its header says; 0 for a complete file."""
    start = Head.of(path).start
    page_size, n_pages = int.from_bytes(start[16:18], "big"), int.from_bytes(start[28:32], "big")
    has_count = start[24:28] == start[92:96]  # otherwise an old version of SQLite left the count outdated
    page_bytes = 65536 if page_size == 1 else page_size
    return page_bytes if has_count and path.stat().st_size < n_pages * page_bytes else 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
