"""Parquet tables of logged values, wide or long, of one run or several: a null means "not measured in this
row", a NaN is data. A file is a log only if a column counts steps and one is a known metric, else a data set.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.names import role_of
from chronicle.model import Attempt, Fault, Place, Role
from chronicle.readers import runs_in_table
from chronicle.readers.step_axis import Column, column_key, counted_by
from chronicle.readers.text import Head, clean
from chronicle.readers.trackers.offline import is_trackio

MAGIC = b"PAR1"
BATCH_ROWS = 1 << 16
MOST_CELLS, MOST_CELLS_PER_BYTE = 10_000_000, 100  # a small file may claim any number of rows
_DAMAGE = (pa.ArrowException, OSError, ValueError)
NUMBERS, TEXT = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE"), "BYTE_ARRAY"  # physical types


def identify(head: Head) -> bool:
    """Whether a Parquet file has a column that counts steps, and one with a known metric or named values. An
    export that Trackio keeps next to its database is skipped, because it holds the same runs."""
    store = head.path.with_suffix(".db")
    if not head.start.startswith(MAGIC) or (store.is_file() and is_trackio(Head.of(store))):
        return False
    kinds = _kinds(head.path)
    numeric = [name for name, kind in kinds.items() if kind in NUMBERS]
    texts = {column_key(name) for name, kind in kinds.items() if kind == TEXT}
    counting = [name for name in numeric if counted_by(name) in ("step", "epoch")]
    has_values = any(column_key(name) in runs_in_table.VALUE_NAMES for name in numeric)
    is_long = has_values and not texts.isdisjoint(runs_in_table.METRIC_NAMES)
    is_known = any(role_of(name) is not Role.OTHER for name in numeric if name not in counting)
    return bool(counting) and (is_long or is_known)


def _kinds(path: Path) -> dict[str, str]:
    """The physical types of all columns that are not lists, by name (joined with "." from the outermost
    struct on), from the footer; {} if it is damaged."""
    with path.open("rb") as file, suppress(*_DAMAGE):
        schema = pq.ParquetFile(file).schema
        columns = (schema.column(i) for i in range(len(schema)))
        return {clean(c.path): c.physical_type for c in columns if not c.max_repetition_level}
    return {}


def runs(path: Path) -> list[str]:
    """The names of the runs in the table (the fact "run" of their attempts). Raises BadLog as `read`."""
    keys = [name for name in _kinds(path) if column_key(name) in runs_in_table.RUN_NAMES]
    columns, n_rows, _ = _columns(path, keys) if keys else ({}, 0, [])
    if columns and n_rows <= runs_in_table.LARGEST_GRID:  # it may hold one result of each run
        return [attempt.facts["run"] for attempt in read(path) if "run" in attempt.facts]
    return [run for run in runs_in_table.runs_of(path, columns) if run] if columns else []


def read(path: Path) -> list[Attempt]:
    """One attempt for each run, from the columns of numbers and from texts that give a row its run, metric or
    time. Raises BadLog if the whole file is damaged, or holds no number."""
    places, kinds = runs_in_table.places_rows, _kinds(path).items()
    wanted = [name for name, kind in kinds if kind in NUMBERS or (kind == TEXT and places(name))]
    columns, n_rows, faults = _columns(path, wanted)
    if not n_rows:
        raise BadLog(str(path), "has no rows. Remedy: remove it, or wait until it is written to")
    return runs_in_table.attempts_of(path, n_rows, columns, faults=faults)


def _columns(path: Path, wanted: list[str]) -> tuple[dict[str, Column], int, list[Fault]]:
    """The wanted columns, the number of rows, and a fault for each damaged row group. Raises BadLog."""
    columns, faults, first_row = defaultdict[str, list[Column]](list), list[Fault](), 0
    try:
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:  # pyarrow opens no names but UTF-8
            n_rows, n_groups = file.metadata.num_rows, file.num_row_groups
            n_cells, size = n_rows * len(wanted), path.stat().st_size
            if n_cells > max(MOST_CELLS, MOST_CELLS_PER_BYTE * size):
                raise ValueError(f"{n_cells} cells in {size} bytes")
            for group in range(n_groups):
                row = first_row
                try:
                    for batch in file.iter_batches(BATCH_ROWS, [group], wanted, use_threads=False):
                        for name, cells in _cells(batch, row).items():
                            columns[name].append(cells)
                        row += batch.num_rows
                except _DAMAGE as err:
                    problem = f"row group {group} is damaged ({_short(err)}); what follows in it is left out"
                    faults.append(Fault(Place(str(path)), problem))
                first_row += file.metadata.row_group(group).num_rows
    except _DAMAGE as err:
        raise BadLog(str(path), f"is damaged ({_short(err)}). Remedy: fetch it again") from err
    if n_rows and not columns:
        raise BadLog(str(path), f"is damaged ({n_groups} row groups). Remedy: fetch it again")
    return {name: _joined(parts) for name, parts in columns.items()}, n_rows, faults


def _joined(parts: list[Column]) -> Column:
    return Column(np.concatenate([p.values for p in parts]), np.concatenate([p.rows for p in parts]))


def _short(err: Exception) -> str:
    return str(err).partition("\n")[0][:200]


def _cells(batch: pa.RecordBatch, first_row: int) -> dict[str, Column]:
    """The cells of all columns; structs become one column for each field."""
    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array = column.combine_chunks()
        rows = np.flatnonzero(np.asarray(array.is_valid())) + first_row
        columns[name] = Column(_values(array.drop_null()), rows)
    return columns


def _values(array: pa.Array) -> NDArray[Any]:
    """The values as int64, float64 or text; timestamps as Unix seconds, durations as seconds."""
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return np.asarray(array.cast(pa.int64()), np.float64) / per_second
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
        return np.asarray(array.cast(pa.int64()), np.int64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(array.cast(pa.float64()), np.float64)
    return np.asarray(array.cast(pa.string()).to_pylist(), object)
