"""The same numbers in each dialect of a table are the same attempts."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples

from chronicle.readers import read

Cell = float | int | str | None
Columns = Mapping[str, Sequence[Cell]]


def rows_of(columns: Columns) -> list[dict[str, Cell]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def delimited(columns: Columns, delimiter: str, point: str = ".") -> str:
    def spelled(cell: Cell) -> str:
        text = "" if cell is None else cell if isinstance(cell, str) else repr(cell)
        return text.replace(".", point) if isinstance(cell, float) else text

    rows = [columns, *(map(spelled, row.values()) for row in rows_of(columns))]
    return "".join(delimiter.join(row) + "\n" for row in rows)


def parquet(columns: Columns) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({name: pa.array(cells) for name, cells in columns.items()}), sink)
    return bytes(sink.getvalue().to_pybytes())


OF_TEXTS = {
    "a.csv": lambda columns: delimited(columns, ",").encode(),
    "a.tsv": lambda columns: delimited(columns, "\t").encode(),
    "b.csv": lambda columns: delimited(columns, ";", ",").encode(),
    "a.jsonl": lambda columns: "".join(json.dumps(row) + "\n" for row in rows_of(columns)).encode(),
    "b.jsonl": lambda columns: b"".join(
        json.dumps({name: cell for name, cell in row.items() if cell is not None}).encode() + b"\n"
        for row in rows_of(columns)
    ),
    "a.json": lambda columns: json.dumps({"log": rows_of(columns)}).encode(),
    "a.parquet": parquet,
}
OF_NUMBERS = OF_TEXTS | {"b.json": lambda columns: json.dumps(columns).encode()}


def attempts(file: Path) -> Any:
    """All that is read, but for names of files; bit for bit."""
    return [
        (
            attempt.name.partition(":")[2],
            attempt.axis,
            attempt.truncated,
            [fault.what for fault in attempt.faults],
            {name: value for name, value in attempt.facts.items() if name != "format"},
            {
                name: (s.role, s.steps.tolist(), s.values.tobytes(), s.times.tobytes())
                for name, s in attempt.series.items()
            },
        )
        for attempt in read(file)
    ]


def assert_same(columns: Columns, dialects: Mapping[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        by_name = {}
        for name, written in dialects.items():
            file = Path(folder) / name
            file.write_bytes(written(columns))
            by_name[name] = attempts(file)
    assert by_name == dict.fromkeys(by_name, by_name["a.csv"])


METRICS = ("loss", "val_loss", "train/grad_norm", "lr", "tokens", "accuracy", "note")
sane = st.floats(0.5, 9.5)
value = st.one_of(st.floats(allow_nan=False), st.sampled_from([math.nan, math.inf, -0.0]), sane, sane, sane)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[Cell]]:
    """A counter, a loss and other metrics, with blanks; perhaps several runs or launches, and a clock."""
    n_rows = draw(st.integers(8, 14))
    stride = draw(st.sampled_from([1, 10, 2**53 + 1]))
    length = draw(st.sampled_from([4, n_rows]))  # of a launch
    steps = [stride * (row % length + 1) for row in range(n_rows)]
    columns: dict[str, list[Cell]] = {draw(st.sampled_from(["step", "iteration", "Epoch"])): [*steps]}
    if draw(st.booleans()):
        columns["timestamp"] = [1.7e9 + 0.5 * row for row in range(n_rows)]
    if draw(st.booleans()):
        columns["run"] = [row % 2 for row in range(n_rows)]
    for name in draw(st.lists(st.sampled_from(METRICS), min_size=1, unique=True)):
        cells = [None if draw(st.integers(0, 3)) == 0 else draw(value) for _ in range(n_rows)]
        columns[name] = [0.5 if not row else cell for row, cell in enumerate(cells)]
    columns["loss"] = [draw(value) for _ in range(n_rows)]
    return columns


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(tables())
def test_the_same_numbers_are_the_same_attempts(columns: Columns) -> None:
    assert_same(columns, OF_NUMBERS)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(tables(), st.data())
def test_the_same_texts_are_the_same_attempts(columns: Columns, data: st.DataObject) -> None:
    n_rows = len(columns["loss"])
    names = data.draw(st.lists(st.sampled_from(["mode", "run", "date"]), unique=True))
    words = {"mode": ("train", "val"), "run": ("a", "b")}
    texts = {name: [pair[row % 2] for row in range(n_rows)] for name, pair in words.items()}
    texts["date"] = [f"2024-05-01T12:00:{row:02}Z" for row in range(n_rows)]
    assert_same({**columns, **{name: texts[name] for name in names}}, OF_TEXTS)
