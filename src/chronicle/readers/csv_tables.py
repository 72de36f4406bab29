"""CSV and TSV: one row a logged step, blank where nothing was measured; or long, one row a value.

A blank cell (also NA, null, None) is "not measured in this row"; a spelled nan is data. One CSV that
W&B exported for several runs gives an attempt a run.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from chronicle.errors import BadLog
from chronicle.model import Attempt
from chronicle.readers import tables
from chronicle.readers.cells import number, share_of_numbers
from chronicle.readers.csv_rows import Table, delimiter_of
from chronicle.readers.tables import Column
from chronicle.readers.text import head_lines

NAME = "csv"
SUFFIXES = (".csv", ".tsv")

METRIC_NAMES = ("metric", "tag", "name", "metric_name", "key", "variable")
VALUE_NAMES = ("value", "metric_value", "scalar")
DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv
RUN_NAMES = ("run", "run_id", "run_name")


def identify(path: Path) -> bool:
    """A line of names, and below it rows of as many cells, most of them numbers or blank.

    Names that are numbers, and rows that do not fit, are only forgiven where a name counts steps.
    """
    lines = [line for line in head_lines(path) if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[" or any(c < " " and c != "\t" for c in lines[0]):
        return False
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return False
    header, *body = csv.reader(even, delimiter=delimiter_of(lines[0]))
    numeric = [number(cell) is not None for cell in header]
    if len(header) < 2 or all(numeric):
        return False
    shares = [share_of_numbers(row) if len(row) == len(header) else 0.0 for row in body]
    if any(tables.step_rank(name) is not None for name in header):
        return not body or max(shares) >= 0.5
    return not any(numeric) and 2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)


def read(path: Path) -> list[Attempt]:
    """All attempts of the file (more than one only for a table of several runs).

    Raises:
        BadLog: nothing but a header, or no number in it.
    """
    table = Table(path)
    if sorted(map(tables.plain, table.names)) == DOWNLOADED:
        value = next(name for name in table.names if tables.plain(name) == "value")
        table.columns[path.stem.partition("-tag-")[2] or path.stem] = table.columns.pop(value)
    if not table.n_rows:
        raise BadLog(str(path), "has a header and no rows. Remedy: remove it, or wait until it is written to")
    long = _long_columns(table)
    by_run = _pivoted(table.columns, *long) if long else _by_run(table.columns)
    return [_attempt(table, columns, run, alone=len(by_run) == 1) for run, columns in by_run.items()]


def _attempt(table: Table, columns: Mapping[str, Column], run: str, *, alone: bool) -> Attempt:
    """One attempt, of these columns; ``run`` is what the table calls it."""
    return tables.attempt(
        table.path,
        table.n_rows,
        columns,
        name="" if alone else f"{table.path.name}: {run}",
        facts={"run": run} if run else {},
        faults=table.faults,
        truncated=table.truncated,
    )


def _by_run(columns: Mapping[str, Column]) -> dict[str, dict[str, Column]]:
    """Columns by run: those of a W&B export are named ``<run> - <metric>``, with __MIN and __MAX beside."""
    kept = {name: c for name, c in columns.items() if not name.endswith(("__MIN", "__MAX"))}
    if len(kept) == len(columns):
        return {"": kept}
    runs: dict[str, dict[str, Column]] = {}
    shared = {name: c for name, c in kept.items() if " - " not in name}
    for name, column in kept.items():
        run, dash, metric = name.rpartition(" - ")
        if dash:
            runs.setdefault(run, dict(shared))[metric] = column
    return runs or {"": kept}


def _long_columns(table: Table) -> tuple[str, str, str] | None:
    """Names of the metric, value and run columns of a long table ("" without runs); None for a wide one."""
    found = {tables.plain(name): name for name in table.columns}
    metric, value, run = (
        next((found[name] for name in names if name in found), "")
        for names in (METRIC_NAMES, VALUE_NAMES, RUN_NAMES)
    )
    if not metric or not value:
        return None
    text, numbers = table.columns[metric].values, table.columns[value].values
    return (metric, value, run) if text.dtype == object and numbers.dtype != object else None


def _pivoted(
    columns: Mapping[str, Column], metric: str, value: str, run: str
) -> dict[str, dict[str, Column]]:
    """Columns by run from a long table: one for each name in its column ``metric``."""
    metric_of, run_of = (
        dict(zip(columns[name].rows.tolist(), columns[name].values.tolist(), strict=True)) if name else {}
        for name in (metric, run)
    )
    values = columns[value]
    places: dict[str, dict[str, list[int]]] = {}
    for place, row in enumerate(values.rows.tolist()):
        by_metric = places.setdefault(str(run_of.get(row, "")), {})
        by_metric.setdefault(metric_of.get(row, ""), []).append(place)
    pivoted = {}
    for one, by_metric in places.items():
        rows = values.rows[sorted(place for at in by_metric.values() for place in at)]
        kept = {name: c.only(rows) for name, c in columns.items() if name not in (metric, value, run)}
        made = {name: Column(values.values[at], values.rows[at]) for name, at in by_metric.items() if name}
        pivoted[one] = kept | made
    return pivoted
