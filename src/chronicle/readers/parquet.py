"""Parquet tables of logged values, wide or long, of one run or several. Needs pyarrow: the extra `parquet`.

Row groups are streamed; a null is "not measured in this row", a NaN is data. A file without a column that
counts steps beside one that is a known metric is data, and no log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog, LogError
from chronicle.metrics.roles import role_of
from chronicle.model import Attempt, Fault, Place, Role
from chronicle.readers import tables
from chronicle.readers.parquet_footer import BYTE_ARRAY, NUMBERS, leaves_of
from chronicle.readers.runs_in_table import (
    ID_NAMES,
    METRIC_NAMES,
    RUN_NAMES,
    VALUE_NAMES,
    attempts_of,
    runs_of,
)
from chronicle.readers.tables import STEP_NAMES, TIME_NAMES, Column
from chronicle.readers.text import Head
from chronicle.readers.trackers import trackio

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

NAME = "parquet"
SUFFIXES: tuple[str, ...] = ()

BATCH_ROWS = 1 << 16
MOST_CELLS, CELLS_A_BYTE = 10_000_000, 100  # a file of few bytes may claim any number of rows
TEXTS = {*METRIC_NAMES, *RUN_NAMES, *ID_NAMES, *TIME_NAMES}

_MISSING = "is Parquet, which needs the package 'pyarrow'. Remedy: pip install 'training-chronicle[parquet]'"


def identify(head: Head) -> bool:
    """A Parquet file with a column that counts steps, and one with a known metric or named values.

    What Trackio exports beside its database holds the same runs again, and is passed over.
    """
    if trackio.is_store(head.path.with_suffix(".db")):
        return False
    leaves = [leaf for leaf in leaves_of(head.path) if not leaf.repeated]
    numeric = [leaf.name for leaf in leaves if leaf.kind in NUMBERS]
    texts = {tables.plain(leaf.name) for leaf in leaves if leaf.kind == BYTE_ARRAY}
    counting = [name for name in numeric if _counts(name)]
    is_long = any(name in texts for name in METRIC_NAMES) and any(
        tables.plain(name) in VALUE_NAMES for name in numeric
    )
    return bool(counting) and (
        is_long or any(role_of(name) is not Role.OTHER for name in numeric if name not in counting)
    )


def _counts(name: str) -> bool:
    rank = tables.step_rank(name)
    return rank is not None and STEP_NAMES[rank % len(STEP_NAMES)][1] in ("step", "epoch")


def runs(path: Path) -> list[str]:
    """The runs of the table, as the fact "run" of their attempts calls them; [] where none is named.

    Raises:
        LogError: as `read`.
    """
    keys = [
        leaf.name for leaf in leaves_of(path) if tables.plain(leaf.name) in RUN_NAMES and not leaf.repeated
    ]
    columns, _, _ = _columns(path, keys) if keys else ({}, 0, [])
    return [run for run in runs_of(path, columns) if run] if columns else []


def read(path: Path) -> list[Attempt]:
    """An attempt a run.

    Raises:
        BadLog: the file is damaged from the beginning, or holds no number.
        LogError: pyarrow is not installed.
    """
    columns, n_rows, faults = _columns(path, _wanted(path))
    if not n_rows:
        raise BadLog(str(path), "has no rows. Remedy: remove it, or wait until it is written to")
    return attempts_of(path, n_rows, columns, faults=faults)


def _wanted(path: Path) -> list[str]:
    """The columns of numbers, and those of texts by which rows are told apart or dated."""
    return [
        leaf.name
        for leaf in leaves_of(path)
        if not leaf.repeated
        and (leaf.kind in NUMBERS or (leaf.kind == BYTE_ARRAY and tables.plain(leaf.name) in TEXTS))
    ]


def _columns(path: Path, wanted: list[str]) -> tuple[dict[str, Column], int, list[Fault]]:
    """The wanted columns, the number of rows, and a fault for each row group that is damaged.

    Raises:
        BadLog: the footer or all row groups are damaged.
        LogError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as err:
        raise LogError(str(path), _MISSING) from err
    columns, faults = dict[str, list[Column]](), list[Fault]()
    try:
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:  # names may be no UTF-8
            n_rows, n_groups = file.metadata.num_rows, file.num_row_groups
            _check_size(path, n_rows * len(wanted))
            first_row = 0
            for group in range(n_groups):
                try:
                    _add_group(columns, file, group, wanted, first_row)
                except (pa.ArrowException, OSError, ValueError) as err:
                    what = f"row group {group} is damaged ({_short(err)}); what follows in it is left out"
                    faults.append(Fault(Place(str(path)), what))
                first_row += file.metadata.row_group(group).num_rows
    except (pa.ArrowException, OSError, ValueError) as err:
        raise BadLog(str(path), f"is damaged ({_short(err)}). Remedy: fetch it again") from err
    if n_rows and not columns:
        raise BadLog(str(path), f"is damaged ({n_groups} row groups). Remedy: fetch it again")
    return _built(columns), n_rows, faults


def _add_group(
    columns: dict[str, list[Column]], file: pq.ParquetFile, group: int, wanted: list[str], first_row: int
) -> None:
    for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=wanted, use_threads=False):
        for name, cells in [(name, _cells(array, first_row)) for name, array in _flat(batch)]:
            columns.setdefault(name, []).append(cells)
        first_row += batch.num_rows


def _short(err: Exception) -> str:
    return str(err).partition("\n")[0][:200]


def _built(columns: Mapping[str, list[Column]]) -> dict[str, Column]:
    return {
        name: Column(np.concatenate([p.values for p in parts]), np.concatenate([p.rows for p in parts]))
        for name, parts in columns.items()
    }


def _check_size(path: Path, n_cells: int) -> None:
    size = path.stat().st_size
    if n_cells > max(MOST_CELLS, CELLS_A_BYTE * size):
        raise ValueError(f"{n_cells} cells in {size} bytes")


def _flat(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    """(name, array) of all columns, those of structs one by one."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield name, column.combine_chunks()


def _cells(array: pa.Array, first_row: int) -> Column:
    """A batch of a column without its nulls."""
    rows = np.flatnonzero(np.asarray(array.is_valid())) + first_row
    return Column(_values(array.drop_null()), rows)


def _values(array: pa.Array) -> NDArray[Any]:
    """int64, float64 or text; a moment as Unix seconds, a duration as seconds."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return np.asarray(array.cast(pa.int64()), np.float64) / per_second
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind != pa.uint64()):
        return np.asarray(array.cast(pa.int64()), np.int64)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(array.cast(pa.float64()), np.float64)
    return np.asarray(array.cast(pa.string()).to_pylist(), object)
