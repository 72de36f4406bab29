"""Several runs in one table: by a column that names them, or by names of columns; and long tables made wide.

Columns come and go as `chronicle.readers.tables.Column`; all work is by whole columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault
from chronicle.readers import tables
from chronicle.readers.file_names import by_file
from chronicle.readers.phases import told_apart
from chronicle.readers.tables import Column, plain

METRIC_NAMES = ("metric", "tag", "name", "metric_name", "key", "variable")
VALUE_NAMES = ("value", "metric_value", "scalar")
ID_NAMES, RUN_NAMES = ("run_id", "run_uuid"), ("run", "run_name", "run_id", "run_uuid")
EXTREMES = ("__MIN", "__MAX")  # columns beside each metric in a W&B export, whose names begin with the run

Columns = Mapping[str, Column]


def runs_of(path: Path, columns: Columns) -> dict[str, dict[str, Column]]:
    """Columns by run, in the order in which the runs first come; one run called "" where none is named.

    A column of run ids or names tells runs apart, what a W&B export puts before its metrics, and columns of
    which only the name of the file says that they are losses; a column of metrics beside one of values is a
    long table.
    """
    named = {plain(name): name for name in columns}
    keys = [named[name] for name in dict.fromkeys((*ID_NAMES, *RUN_NAMES)) if name in named]
    keys = [name for name in keys if _tells_apart(columns[name])]
    metric, value = (_first(named, names) for names in (METRIC_NAMES, VALUE_NAMES))
    is_long = (
        bool(metric and value)
        and columns[metric].values.dtype == object
        and columns[value].values.dtype != object
    )
    runs = _split(columns, keys) if keys else _exported(columns)
    if is_long:
        return {run: _widened(made, metric, value) for run, made in runs.items()}
    return by_file(path, columns) if list(runs) == [""] else runs


def _tells_apart(column: Column) -> bool:
    """Whether the cells name runs: texts, or whole numbers (seeds) that come again and again."""
    values = column.values
    if values.dtype == object or not len(values):
        return bool(len(values))
    whole = np.isfinite(values).all() and np.all(values == np.floor(values))
    return bool(whole) and 2 * len(np.unique(values)) <= len(values) + 1


def _exported(columns: Columns) -> dict[str, dict[str, Column]]:
    """Columns by run: those of a W&B export are named ``<run> - <metric>``, with __MIN and __MAX beside."""
    kept = {name: c for name, c in columns.items() if not name.endswith(EXTREMES)}
    if len(kept) == len(columns):
        return {"": kept}
    runs: dict[str, dict[str, Column]] = {}
    shared = {name: c for name, c in kept.items() if " - " not in name}
    for name, column in kept.items():
        run, dash, metric = name.rpartition(" - ")
        if dash:
            runs.setdefault(run, dict(shared))[metric] = column
    return runs or {"": kept}


def attempts_of(
    path: Path,
    n_rows: int,
    columns: Columns,
    *,
    facts: Mapping[str, Any] | None = None,
    faults: Sequence[Fault] = (),
    truncated: bool = False,
) -> list[Attempt]:
    """An attempt for each run of a table that holds a number, called `<file>: <run>` where there are several.

    Raises:
        BadLog: no run holds a number.
    """
    by_run = runs_of(path, columns)
    attempts, problems = list[Attempt](), list[BadLog]()
    for run, made in by_run.items():
        try:
            attempts.append(
                tables.attempt(
                    path,
                    n_rows,
                    told_apart(made),
                    name=f"{path.name}: {run}" if len(by_run) > 1 else "",
                    facts={"run": run, **(facts or {})} if run else facts,
                    faults=faults,
                    truncated=truncated,
                )
            )
        except BadLog as problem:
            problems.append(problem)
    if not attempts:
        raise problems[0]
    return attempts


def _first(named: Mapping[str, str], names: Sequence[str]) -> str:
    return next((named[name] for name in names if name in named), "")


def _split(columns: Columns, keys: Sequence[str]) -> dict[str, dict[str, Column]]:
    """The other columns by run: where an id stands beside a name, runs of one name are told apart by it."""
    n_rows = 1 + max(int(c.rows.max(initial=-1)) for c in columns.values())
    codes, ids = _codes(columns[keys[0]], n_rows)
    labels = ids
    if len(keys) > 1:
        names = dict(zip(columns[keys[-1]].rows.tolist(), columns[keys[-1]].values.tolist(), strict=True))
        first = {int(code): row for row, code in zip(*_firsts(codes), strict=True)}
        given = [str(names.get(first.get(i, -1), one)) for i, one in enumerate(ids)]
        shared = Counter(given)
        labels = [n if shared[n] == 1 else f"{n} {i[:8]}" for n, i in zip(given, ids, strict=True)]
    codes[codes < 0] = len(labels)  # rows that name no run
    labels = [*labels, ""]
    kept = {name: column for name, column in columns.items() if name not in keys}
    parts = {name: _parts(column, codes, len(labels)) for name, column in kept.items()}
    by_run = {
        label: {name: made[i] for name, made in parts.items() if len(made[i].rows)}
        for i, label in enumerate(labels)
    }
    return {label: made for label, made in by_run.items() if label or made}


def _firsts(codes: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    values, rows = np.unique(codes, return_index=True)
    return rows.tolist(), values.tolist()


def _codes(column: Column, n_rows: int) -> tuple[NDArray[np.int64], list[str]]:
    """By row, the number of the text that stands there (-1 for none), and the texts in order."""
    order: dict[Any, int] = {}
    cells = column.values if column.values.dtype == object else column.values.astype(np.int64)
    found = [order.setdefault(cell, len(order)) for cell in cells.tolist()]
    codes = np.full(n_rows, -1, np.int64)
    codes[column.rows] = found
    return codes, [str(text) for text in order]


def _parts(column: Column, codes: NDArray[np.int64], n_parts: int) -> list[Column]:
    """The column cut by the code of its rows, each part in the order of the rows."""
    code = codes[column.rows]
    order = np.argsort(code, kind="stable")
    cuts = np.searchsorted(code[order], np.arange(n_parts + 1))
    return [
        Column(column.values[at], column.rows[at]) for at in (order[low:high] for low, high in pairwise(cuts))
    ]


def _widened(columns: Columns, metric: str, value: str) -> dict[str, Column]:
    """A long table as a wide one: a column for each name in its column ``metric``."""
    if metric not in columns or value not in columns:
        return dict(columns)
    n_rows = 1 + max(int(c.rows.max(initial=-1)) for c in columns.values())
    codes, names = _codes(columns[metric], n_rows)
    made = dict(zip(names, _parts(columns[value], codes, len(names)), strict=True))
    return {name: c for name, c in columns.items() if name not in (metric, value)} | made
