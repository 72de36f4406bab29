"""Tables in binary files, which lie beside data of the same formats: a file that names no metric is no log.

Parquet holds logged values, wide or long, of one run or several: a null means "not measured in this row", a
NaN is data. A column counts steps, and one is a known metric. NumPy's files hold one array, named by its file
(`loss.npy`), or several (`log.npz`), as of stable-baselines3. A pickle of lists, dictionaries, numbers and
texts is read as a JSON document of them, arrays and numbers of NumPy included: what makes these is ours. One
that names any other class or function is not opened. A file of NumPy with one array of objects is a pickle.
"""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from itertools import islice
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics.aliases import METRIC_NAMES, OF_PHASES, OF_TRAINING, RUN_NAMES, VALUE_NAMES
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.names import name_words, names_a_loss, role_of
from chronicle.model import Attempt, Fault, Place, Role
from chronicle.readers import json_documents
from chronicle.readers.columns import Table, in_one_course, names_by_values, written_rows
from chronicle.readers.csv_tables import names_of
from chronicle.readers.items import LARGEST_GRID
from chronicle.readers.json_documents import MIN_CELLS, fewest_cells, rows_of_columns
from chronicle.readers.packed import zip_members
from chronicle.readers.runs_in_table import TableReader, attempts_of, names_of_runs, places_rows
from chronicle.readers.step_axis import Column, column_key, counted_by, counts_steps
from chronicle.readers.text import NPY_STARTS, PARQUET_STARTS, ZIP_STARTS, Head, clean
from chronicle.readers.trackers.offline import is_trackio

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 16
MOST_CELLS, MOST_CELLS_PER_BYTE = 10_000_000, 100  # a small file may claim any number of rows
_CUT = "is a Parquet file without its end. Remedy: wait until it is written, or fetch it again"
NUMBERS, TEXT = ("BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE"), "BYTE_ARRAY"  # physical types


def identify(head: Head) -> bool:
    """Whether a Parquet file has a column that counts steps, and one with a known metric or named values. An
    export that Trackio keeps next to its database is skipped, because it holds the same runs."""
    store = head.path.with_suffix(".db")
    if not head.start.startswith(PARQUET_STARTS) or (store.is_file() and is_trackio(Head.of(store))):
        return False
    kinds = _kinds(head.path)
    numeric = [name for name, kind in kinds.items() if kind in NUMBERS]
    texts = {column_key(name) for name, kind in kinds.items() if kind == TEXT}
    counting = [name for name in numeric if counted_by(name) in ("step", "epoch")]
    is_long = not texts.isdisjoint(METRIC_NAMES) and any(column_key(n) in VALUE_NAMES for n in numeric)
    known = (role_of(name) is not Role.OTHER for name in numeric if name not in counting)
    return bool(counting) and (is_long or any(known))


def lacks(path: Path) -> str:
    """What a Parquet file lacks if its end, which is written last, is missing; "" for any other file."""
    if not Head.of(path).start.startswith(PARQUET_STARTS):
        return ""
    with path.open("rb") as file:
        file.seek(-len(PARQUET_STARTS), 2)
        return "" if file.read() == PARQUET_STARTS else _CUT


def _damage() -> tuple[type[Exception], ...]:
    """The exceptions that a damaged Parquet file raises."""
    from pyarrow import ArrowException  # here and below, because the import takes longer than most logs do

    return ArrowException, OSError, ValueError


def _kinds(path: Path) -> dict[str, str]:
    """The physical types of all columns that are not lists, by name (joined with "." from the outermost
    struct on), from the footer; {} if it is damaged."""
    import pyarrow.parquet as pq

    with path.open("rb") as file, suppress(*_damage()):
        schema = pq.ParquetFile(file).schema
        columns = (schema.column(i) for i in range(len(schema)))
        return {clean(c.path): c.physical_type for c in columns if not c.max_repetition_level}
    return {}


def runs(path: Path) -> list[str]:
    """The names of the runs in the table (the fact "run" of their attempts). Raises BadLog as `read`."""
    if not (keys := [name for name in _kinds(path) if column_key(name) in RUN_NAMES]):
        return []
    table = _table(path, keys)
    if table.n_rows <= LARGEST_GRID:  # it may hold one result of each run
        return [attempt.facts["run"] for attempt in read(path) if "run" in attempt.facts]
    return names_of_runs(table)


def read(path: Path) -> list[Attempt]:
    """One attempt for each run, from the columns of numbers and from texts that give a row its run, metric or
    time. Raises BadLog if the whole file is damaged, or holds no number."""
    kinds = _kinds(path).items()
    wanted = [name for name, kind in kinds if kind in NUMBERS or (kind == TEXT and places_rows(name))]
    table = _table(path, wanted)
    if not table.n_rows:
        raise BadLog(str(path), "has no rows", remedy="remove it, or wait until it is written to")
    return attempts_of(table)


def _table(path: Path, wanted: list[str]) -> Table:
    """Reads the wanted columns, and a fault for each damaged row group. Raises BadLog if nothing can be
    read."""
    import pyarrow.parquet as pq

    columns, faults, first_row = defaultdict[str, list[Column]](list), list[Fault](), 0
    try:
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:  # pyarrow opens no names but UTF-8
            n_rows, n_groups = file.metadata.num_rows, file.num_row_groups
            n_cells, size = n_rows * len(wanted), path.stat().st_size
            if n_cells > max(MOST_CELLS, MOST_CELLS_PER_BYTE * size):
                raise ValueError(f"{n_cells} cells in {size} bytes")
            for group in range(n_groups):
                try:
                    for name, cells in _cells_of_group(file, group, wanted, first_row):
                        columns[name].append(cells)
                except _damage() as err:
                    problem = f"row group {group} is damaged ({_short(err)}); what follows in it is left out"
                    faults.append(Fault(Place(str(path)), problem))
                first_row += file.metadata.row_group(group).num_rows
    except _damage() as err:
        raise BadLog(str(path), f"is damaged ({_short(err)})", remedy="fetch it again") from err
    if n_rows and not columns:
        raise BadLog(str(path), f"is damaged ({n_groups} row groups)", remedy="fetch it again")
    return Table(path, n_rows, {name: _joined(parts) for name, parts in columns.items()}, faults=faults)


def _cells_of_group(file: Any, group: int, wanted: list[str], row: int) -> Iterator[tuple[str, Column]]:
    """Yields the cells of a row group that begins at ``row``, a batch after the other, with their names."""
    for batch in file.iter_batches(BATCH_ROWS, [group], wanted, use_threads=False):
        yield from _cells(batch, row).items()
        row += batch.num_rows


def _joined(parts: list[Column]) -> Column:
    return Column(np.concatenate([p.values for p in parts]), np.concatenate([p.rows for p in parts]))


def _short(err: Exception) -> str:
    return str(err).partition("\n")[0][:200]


def _cells(batch: pa.RecordBatch, first_row: int) -> dict[str, Column]:
    """The cells of all columns; structs become one column for each field."""
    import pyarrow as pa

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


# --- NumPy ---
_ROWS, _MOST_BESIDE, _WIDEST = 7, 100, 3  # all over a table; arrays in the folder of one; columns
_HEADER_BYTES, _MOST_BYTES = 20_000, 16 * MOST_CELLS
_EVALUATIONS = ("timesteps", "results", "ep_lengths", "successes")  # of stable-baselines3
_INSTEAD = "numpy.savez('log.npz', step=steps, loss=losses) writes what is read"
_OBJECTS = f"holds Python objects, which may run any code and are not opened. Remedy: {_INSTEAD}"
_UNNAMED = f"holds no column of {MIN_CELLS} numbers or more that is named after a metric. Remedy: {_INSTEAD}"


class Form(NamedTuple):
    """What the header of an array states; ``by_columns``: the numbers of a column lie beside each other."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """The rows of a table; a single one is a column that lies on its side. 0 for what is no table."""
        is_table = self.dtype.kind in "biuf" and len(self.shape) < 3 and min(self.shape, default=0) > 0
        if not is_table or prod(self.shape) > MOST_CELLS:
            return 0
        return max(self.shape) if 1 in self.shape else self.shape[0]

    @property
    def width(self) -> int:
        """The numbers in a row."""
        return prod(self.shape) // self.n_rows if self.n_rows else 0


def identify_numpy(head: Head) -> bool:
    """Whether one of several arrays, or the file of a single one, is named after a metric. Arrays of objects
    count too, so that an error can say why they are not read."""
    try:
        return _is_numpy(head) and bool(_table_of_arrays(head.path).columns)
    except BadLog:
        return not identify_pickle(head)


def _is_numpy(head: Head) -> bool:
    if not head.start.startswith(ZIP_STARTS):
        return head.start.startswith(NPY_STARTS)
    return head.start[30 : 30 + int.from_bytes(head.start[26:28], "little")].endswith(b".npy")


def lacks_numpy(path: Path) -> str:
    """What is missing from a file of NumPy so that it can be read; "" for any other file."""
    if not _is_numpy(Head.of(path)):
        return ""
    return _OBJECTS if any(form.dtype.hasobject for form in _forms(path).values()) else _UNNAMED


def read_numpy(path: Path) -> list[Attempt]:
    """Reads the attempts in arrays. Raises BadLog if losses are objects, or if no number is left."""
    attempts = attempts_of(table := _table_of_arrays(path))
    if table.columns.keys() >= {*_EVALUATIONS[:2]} and (results := attempts[0].series.get("results")):
        series = {**attempts[0].series, "results": replace(results, role=Role.OBJECTIVE)}
        return [replace(attempts[0], series=series)]
    return attempts


@any_numbers
def _table_of_arrays(path: Path) -> Table:
    """Reads the columns in the arrays of a file (none if it is no log), and a fault for each damaged array.
    Raises BadLog if all losses are objects."""
    forms = _forms(path)
    losses = [form.dtype.hasobject for name, form in forms.items() if names_a_loss(name)]
    if losses and all(losses):
        raise BadLog(str(path), _OBJECTS)
    chosen = _chosen(path, forms)
    tables, faults, is_cut = _tables(path, chosen) if chosen else ({}, [], False)
    known: dict[str, Any] = {"faults": faults, "truncated": is_cut}
    if [*forms] == [path.stem]:
        table = tables.get(path.stem, np.empty((0, 1)))
        table = written_rows(table) if len(table.T) <= _WIDEST else in_one_course(table)
        names = names_of(path, [list(map(str, row)) for row in table[:: 1 + len(table) // _ROWS].tolist()])
        names = names or names_by_values(table, of_losses=names_a_loss(path.stem))
        columns = {name: Column(table[:, at], np.arange(len(table))) for at, name in enumerate(names)}
        return Table(path, len(table), columns, **known)
    cells = {name: table.mean(axis=1) if len(table.T) > 1 else table[:, 0] for name, table in tables.items()}
    rewarded = "results" in cells or Role.OBJECTIVE in map(role_of, cells)
    if not rewarded and not any((values % 1).any() for values in cells.values()):
        return Table(path, 0, {}, **known)  # numbers of a class, or of samples
    if len({form.n_rows for form in chosen.values()}) == 1:
        columns = {name: Column(values, np.arange(len(values))) for name, values in cells.items()}
        return Table(path, max(map(len, cells.values())), columns, **known)
    padded = {n: [*v.tolist(), *[None] * (chosen[n].n_rows - len(v))] for n, v in cells.items()}
    return Table.of(path, rows_of_columns(padded, "", {}), **known)


def _chosen(path: Path, forms: Mapping[str, Form]) -> dict[str, Form]:
    """The arrays that are columns of a log, judged by names and forms alone: metrics, and arrays that count
    steps or are as long as a metric; {} if there is none. Rewards and scores beside rows of many numbers are
    those of samples."""
    tables = {name: form for name, form in forms.items() if form.n_rows >= fewest_cells(forms)}
    if tables.keys() >= {*_EVALUATIONS[:2]}:
        return {n: tables[n] for n in _EVALUATIONS if n in tables}
    is_alone = [*forms] == [path.stem]
    of_losses = _says_more(path.stem) and names_a_loss(path.stem)
    widest = (MOST_CELLS if of_losses else _WIDEST) if is_alone else 1
    columns = {name: form for name, form in tables.items() if form.width <= widest}
    counted = any(map(counts_steps, columns))
    named = (name for name in columns if of_losses or _says_more(name))
    metrics = [name for name in named if is_alone or _names_metric(name, counted=counted)]
    if not any(map(names_a_loss, metrics)):
        metrics = [name for name in metrics if role_of(name) is not Role.OTHER]
        files = islice(path.parent.glob("*.npy"), _MOST_BESIDE if is_alone and metrics else 0)
        beside = [*forms.values(), *(form for file in files for form in _forms(file).values())]
        wide = {form.shape[0] for form in beside if prod(form.shape) > max(form.shape, default=1)}
        metrics = [name for name in metrics if columns[name].n_rows not in wide]
    lengths = {columns[name].n_rows for name in metrics}
    return {n: form for n, form in columns.items() if lengths and (form.n_rows in lengths or counts_steps(n))}


def _says_more(name: str) -> bool:
    """Whether a name is more than a single letter, as variables have it, or a word for a part of the data."""
    return len(name) > 1 and not name_words(name) <= OF_PHASES


def _names_metric(name: str, *, counted: bool) -> bool:
    """Whether one of several arrays is a metric by its name. Scores are those of samples unless something is
    ``counted`` beside them, or they are said to be of the training."""
    role = role_of(name)
    if role in (Role.SCORE, Role.VALIDATION_SCORE):
        return counted or not OF_TRAINING.isdisjoint(name_words(name))
    return names_a_loss(name) or role is Role.OBJECTIVE


def _forms(path: Path) -> dict[str, Form]:
    """The forms of all arrays whose headers are whole."""
    forms = dict[str, Form]()
    for name, content, _ in _arrays(path):
        with suppress(Exception):  # NumPy raises many kinds
            forms[name] = _form_of(BytesIO(content))
    return forms


def _tables(path: Path, chosen: Mapping[str, Form]) -> tuple[dict[str, NDArray[Any]], list[Fault], bool]:
    """The whole rows of the arrays, a fault for each damaged one, and whether the file is cut."""
    tables, faults = dict[str, NDArray[Any]](), list[Fault]()
    is_cut = Head.of(path).start.startswith(ZIP_STARTS) and not zipfile.is_zipfile(path)
    for name, content, is_right in _arrays(path, chosen):
        problem = "" if is_right is not False else "its checksum is wrong: some of its numbers may be, too"
        try:
            form = _form_of(stream := BytesIO(content))
            if name in chosen:
                tables[name] = _rows(stream.read(), form)
                is_cut |= is_right is None and len(tables[name]) < form.n_rows
        except Exception:
            problem = "no header of an array"
        if problem:
            faults.append(Fault(Place(str(path)), f"the array {name} is damaged ({problem})"))
    return tables, faults, is_cut


def _arrays(path: Path, wanted: Collection[str] = ()) -> Iterator[tuple[str, bytes, bool | None]]:
    """Yields the name of each array in a file, its bytes (only those of its header if it is not ``wanted``),
    and whether their checksum is right (None if that is unknown, or if the array is cut). An array that is
    alone has the name of its file, and so has one whose own name in an archive says nothing."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(NPY_STARTS)) == NPY_STARTS:
            file.seek(0)
            yield path.stem, file.read(_MOST_BYTES if path.stem in wanted else _HEADER_BYTES), None
            return
        for member in zip_members(file, size):
            if member.name.endswith(".npy"):
                own = clean(member.name.removesuffix(".npy"))
                is_silent = member.is_only and role_of(own) is Role.OTHER is not role_of(path.stem)
                own = path.stem if member.name == "arr_0.npy" or is_silent else own
                content = member.content(file, path, _MOST_BYTES if own in wanted else _HEADER_BYTES)
                is_known = own in wanted and member.end <= size
                yield own, content, zlib.crc32(content) == member.checksum if is_known else None


def _form_of(stream: BytesIO) -> Form:
    """Reads the header of an array, behind which its numbers begin. In a table of numbers that are arrays of
    one number each, as some rewards are, the axis of these is left out. Raises what NumPy raises."""
    read_header = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings(action="ignore"):  # that the file was written by Python 2
        shape, by_columns, dtype = read_header(stream)
    of_one = len(shape) == 3 and shape[2] == 1 < min(shape[:2])
    return Form(shape[:2] if of_one else shape, by_columns, dtype)


def _rows(content: bytes, form: Form) -> NDArray[Any]:
    """The whole rows of a table, as int64 or float64; none if the table is stored by columns and is cut."""
    n_rows, by_columns = min(len(content) // (form.dtype.itemsize * form.width), form.n_rows), form.by_columns
    n_rows *= not (by_columns and form.width > 1) or n_rows == form.n_rows
    numbers = np.frombuffer(content, form.dtype, n_rows * form.width)
    table = numbers.reshape(n_rows, form.width, order="F" if by_columns else "C")
    is_whole = form.dtype.kind in "bi" or (form.dtype.kind == "u" and form.dtype.itemsize < 8)
    return table.astype(np.int64 if is_whole else np.float64)


# --- pickles ---
_MOST_PICKLE_BYTES = 1 << 22  # some 400,000 numbers
_NO_PLAIN = (
    "is a pickle, and holds objects, which may run any code, or no plain lists that are named after metrics"
)
_NO_PLAIN += ". Remedy: load it where it was made, and save its history with json.dump"


def identify_pickle(head: Head) -> bool:
    """Whether a small pickle of plain values holds a training. Raises OSError, and no other error."""
    with suppress(BadLog):
        small = head.size <= _MOST_PICKLE_BYTES
        return small and json_documents.holds_training(_unpickled(head.path), head.path)
    return False


def lacks_pickle(path: Path) -> str:
    """What is missing from a pickle so that it can be read; "" for any other file."""
    return _NO_PLAIN if b"\x80\2" <= Head.of(path).start[:2] <= b"\x80\5" else ""


def _table_of_pickle(path: Path) -> Table:
    """The table in a pickle, as in a JSON document with the same values. Raises BadLog if it is cut or
    damaged, or if it holds more than plain values."""
    return json_documents.table_in(path, _unpickled(path))


def _unpickled(path: Path) -> Any:
    stream = BytesIO(content := path.read_bytes())
    try:
        if content.startswith(NPY_STARTS) and not _form_of(stream).dtype.hasobject:
            raise ValueError("an array of numbers")
        return _plain(_unpickler(stream).load(), [len(content)])
    except Exception as err:  # bytes that are no pickle may raise anything
        raise BadLog(str(path), f"is not a complete, plain pickle ({err})", remedy="fetch it again") from err


def _unpickler(stream: BytesIO) -> Any:
    """An unpickler that executes no code of the file. It is the implementation in Python, which keeps
    numbered values in a dictionary: the compiled one reserves memory for any number that a file may name, as
    both do for arrays of bytes."""
    known = _stand_ins()

    def find_class(_: Any, module: str, name: str) -> Any:
        return known[module, name]  # a KeyError ends the reading

    def load_bytes(of: Any) -> None:
        of.append(of.read(int.from_bytes(of.read(8), "little")))

    dispatch = {**pickle._Unpickler.dispatch, pickle.BYTEARRAY8[0]: load_bytes}
    own: Any = type("_", (pickle._Unpickler,), {"find_class": find_class, "dispatch": dispatch})
    return own(stream)


def _stand_ins() -> dict[tuple[str, str], Any]:
    """Classes and functions of our own for everything that a pickle may name. They are made anew for each
    file, because it may change them."""

    class Numbers:
        """An array of numbers or objects, or the type of what is in it, as their states tell."""

        def __init__(self, kind: str = "", *_: Any) -> None:
            self.kind, self.cells = kind, list[Any]()

        def filled(self, content: Any, dtype: Any, shape: tuple[int, ...]) -> Numbers:
            values = content if isinstance(content, list) else values_of(dtype, content)
            self.cells = []  # of more dimensions: no column
            if len(shape) < 2:
                self.cells = values if shape else values[0]
            return self

        def __setstate__(self, state: tuple[Any, ...]) -> None:
            if self.kind:  # a type
                self.kind = f"{state[1]}{self.kind}".replace("|", "")
            else:
                self.filled(state[4], state[2], state[1])

    def values_of(dtype: Any, content: bytes) -> list[Any]:
        is_number = re.fullmatch("[<>=]?[biuf][1248]", dtype.kind)
        return [*np.frombuffer(content, dtype.kind).tolist()] if is_number else []

    known: dict[tuple[str, str], Any] = {("_codecs", "encode"): lambda text, _: text.encode("latin1")}
    known |= {("collections", name): lambda *_: {} for name in ("defaultdict", "OrderedDict")}
    known |= {("numpy", name): Numbers for name in ("dtype", "ndarray")}
    known |= {(module, "list"): list for module in ("builtins", "__builtin__")}
    for core in ("numpy.core", "numpy._core"):
        known[f"{core}.multiarray", "scalar"] = lambda dtype, content: values_of(dtype, content)[0]
        known[f"{core}.multiarray", "_reconstruct"] = lambda *_: Numbers()
        known[f"{core}.numeric", "_frombuffer"] = lambda *of_array: Numbers().filled(*of_array[:3])
    return known


def _plain(value: Any, left: list[int]) -> Any:
    """Converts a value into the types of JSON. Raises ValueError after ``left`` values, since shared values
    may be repeated without end."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("values are shared too often")
    value = getattr(value, "cells", value)
    if isinstance(value, dict):
        return {str(key): _plain(inner, left) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, left) for inner in value]
    return value if isinstance(value, str | int | float | None) else None


_PICKLED = TableReader(identify_pickle, _table_of_pickle)
BY_NAME = {
    "numpy": SimpleNamespace(identify=identify_numpy, read=read_numpy, lacks=lacks_numpy),
    "pickle": SimpleNamespace(
        identify=identify_pickle, read=_PICKLED.read, runs=_PICKLED.runs, lacks=lacks_pickle
    ),
}
