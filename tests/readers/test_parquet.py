"""Parquet: which files are logs, every type of column, several runs, and damage."""

from __future__ import annotations

import math
import os
import random
import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs import points
from tests.readers.tracker_writers import trackio_log

from chronicle.errors import BadLog, UnknownFormat
from chronicle.readers import binary_tables, read
from chronicle.readers.columns import Table
from chronicle.readers.runs_in_table import runs_of
from chronicle.readers.step_axis import Column
from chronicle.readers.text import Head


def write(file: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), file, **options)
    return file


@pytest.mark.parametrize(
    "options", [{}, {"compression": "zstd"}, {"version": "1.0"}, {"use_dictionary": False}], ids=str
)
def test_a_wide_table(tmp_path: Path, options: dict[str, Any]) -> None:
    columns = {
        "step": [10, 20, 30],
        "loss": [3.0, None, math.nan],
        "val/loss": [None, 2.5, None],
        "text": ["a"] * 3,
    }
    (attempt,) = read(write(tmp_path / "a.parquet", columns, **options))
    assert attempt.series["loss"].steps.tolist() == [10, 30]
    np.testing.assert_array_equal(attempt.series["loss"].values, [3.0, math.nan])
    assert points(attempt)["val/loss"] == [(20, 2.5)]
    assert sorted(attempt.series) == ["loss", "val/loss"]


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([1, 2, None], pa.int8()),
        pa.array([1, 2, None], pa.uint64()),
        pa.array([1, 2, None], pa.float16()),
        pa.array([1, 2, None], pa.float32()),
        pa.array([Decimal(1), Decimal(2), None], pa.decimal128(5, 2)),
        pa.array([1, 2, None], pa.duration("s")),
        pa.array([1000, 2000, None], pa.duration("ms")),
        pa.array([1, 2, None]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type),
)
def test_every_type_of_number(cells: pa.Array, tmp_path: Path) -> None:
    (attempt,) = read(write(tmp_path / "a.parquet", {"step": [5, 6, 7], "loss": [0.5] * 3, "x": cells}))
    # decimals and half floats are bytes to Parquet: what is no number there is left out
    assert points(attempt).get("x", [(5, 1.0), (6, 2.0)]) == [(5, 1.0), (6, 2.0)]


@pytest.mark.parametrize(
    "clock",
    [
        pa.array([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC)]),
        pa.array([1704067200 * 10**9, 1704067201 * 10**9], pa.timestamp("ns")),
        pa.array(["2024-01-01T00:00:00+00:00", "2024-01-01T00:00:01+00:00"]),
        pa.array([1704067200.0, 1704067201.0]),
        pa.array([1704067200000, 1704067201000]),
    ],
    ids=lambda clock: str(clock.type),
)
def test_every_clock(clock: pa.Array, tmp_path: Path) -> None:
    (attempt,) = read(
        write(tmp_path / "a.parquet", {"step": [1, 2], "loss": [0.5, 0.25], "timestamp": clock})
    )
    assert attempt.series["loss"].times.tolist() == [1704067200.0, 1704067201.0]


def test_structs_are_joined_with_dots_and_dots_are_names(tmp_path: Path) -> None:
    columns = {
        "step": [1, 2],
        "train.loss": [3.0, 2.0],
        "eval": [{"loss": 4.0, "by": {"code": 5.0}}, {"loss": 3.5, "by": None}],
        "losses": [[1.0], [2.0]],
    }
    (attempt,) = read(write(tmp_path / "a.parquet", columns))
    assert points(attempt) == {
        "train.loss": [(1, 3.0), (2, 2.0)],
        "eval.loss": [(1, 4.0), (2, 3.5)],
        "eval.by.code": [(1, 5.0)],
    }


def test_steps_are_exact_to_64_bits(tmp_path: Path) -> None:
    steps = [2**62 + 1, 2**62 + 3]
    (attempt,) = read(write(tmp_path / "a.parquet", {"step": steps, "loss": [1.0, 2.0]}))
    assert attempt.series["loss"].steps.tolist() == steps


def test_a_long_table_of_several_runs(tmp_path: Path) -> None:
    columns = {
        "run": ["a", "a", "b", "a", "b"],
        "metric": ["loss", "lr", "loss", "loss", "lr"],
        "value": [3.0, 0.1, 4.0, 2.0, 0.2],
        "step": [1, 1, 1, 2, 2],
    }
    file = write(tmp_path / "a.parquet", columns)
    attempts = read(file)
    assert [attempt.name for attempt in attempts] == ["a.parquet: a", "a.parquet: b"]
    assert [points(attempt) for attempt in attempts] == [
        {"loss": [(1, 3.0), (2, 2.0)], "lr": [(1, 0.1)]},
        {"loss": [(1, 4.0)], "lr": [(2, 0.2)]},
    ]
    assert binary_tables.runs(file) == [attempt.facts["run"] for attempt in attempts] == ["a", "b"]


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", {"step": [1], "loss": [0.5]})
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    file.rename(odd)
    assert points(read(odd)[0]) == {"loss": [(1, 0.5)]}


def test_a_run_without_a_number_is_left_out(tmp_path: Path) -> None:
    columns = {"run": ["a", "b", "a"], "step": [1, 1, 2], "loss": [3.0, None, 2.0]}
    (attempt,) = binary_tables.read(write(tmp_path / "a.parquet", columns))
    assert (attempt.facts, points(attempt)) == ({"run": "a"}, {"loss": [(1, 3.0), (2, 2.0)]})


def test_a_wide_table_of_several_runs_that_share_a_name(tmp_path: Path) -> None:
    columns = {
        "run_id": ["11111111aa", "22222222bb", "11111111aa", "33333333cc"],
        "run_name": ["same", "same", "same", "other"],
        "step": [1, 1, 2, 1],
        "loss": [3.0, 4.0, 2.0, 5.0],
    }
    file = write(tmp_path / "a.parquet", columns)
    attempts = binary_tables.read(file)
    assert (
        binary_tables.runs(file)
        == [attempt.facts["run"] for attempt in attempts]
        == ["same 11111111", "same 22222222", "other"]
    )
    assert [points(attempt)["loss"] for attempt in attempts] == [[(1, 3.0), (2, 2.0)], [(1, 4.0)], [(1, 5.0)]]


def test_runs_of_against_the_obvious_way() -> None:
    random_ = random.Random(0)
    for _ in range(50):
        n_rows = random_.randrange(1, 40)
        rows = [
            {"run": random_.choice("abc"), "metric": random_.choice("xyz"), "value": float(i), "step": i}
            for i in range(n_rows)
        ]
        obvious: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            obvious.setdefault(row["run"], {}).setdefault(row["metric"], []).append(row["value"])
        at = np.arange(n_rows)
        columns = {
            name: Column(
                np.array([row[name] for row in rows], object if name in ("run", "metric") else None), at
            )
            for name in rows[0]
        }
        by_run = runs_of(Table(Path("log.parquet"), n_rows, columns))
        assert list(by_run) == list(obvious)
        assert {
            run: {name: c.values.tolist() for name, c in made.items() if name != "step" and len(c.rows)}
            for run, made in by_run.items()
        } == obvious


@pytest.mark.parametrize(
    "columns",
    [
        {"text": ["a"], "tokens": [3], "language_score": [0.9]},
        {"step": [1], "text": ["a"]},
        {"id": [1], "loss": [0.5]},
        {"step": [1], "loss": [[0.5]]},
    ],
    ids=str,
)
def test_data_are_no_log(columns: dict[str, Any], tmp_path: Path) -> None:
    assert not binary_tables.identify(Head.of(write(tmp_path / "a.parquet", columns)))


def test_what_trackio_exports_beside_its_database_is_passed_over(tmp_path: Path) -> None:
    file = write(tmp_path / "lm.parquet", {"run_name": ["a"], "step": [1], "loss": [0.5]})
    (tmp_path / "lm.db").write_text("another database")
    assert binary_tables.identify(Head.of(file))
    (tmp_path / "lm.db").unlink()
    trackio_log(tmp_path / "lm.db", {"loss": [(1, 0.5)]})
    assert not binary_tables.identify(Head.of(file))


@given(st.data())
def test_a_footer_of_any_bytes_is_refused(data: st.DataObject) -> None:
    parts = st.lists(
        st.sampled_from([b"\x19", b"\x4c", b"\x15", b"\x48", b"\x04loss", b"\x04step", b"\xff" * 10])
    )
    footer = data.draw(st.one_of(st.binary(max_size=200), parts.map(b"".join)))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"PAR1" + bytes(8) + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        file.flush()
        assert not binary_tables.identify(Head.of(Path(file.name)))


def test_a_damaged_row_group_costs_its_own_rows(tmp_path: Path) -> None:
    columns = {"step": list(range(3000)), "loss": [1.0 / (i + 1) for i in range(3000)]}
    file = write(tmp_path / "a.parquet", columns, row_group_size=1000, compression="zstd")
    start = pq.ParquetFile(file).metadata.row_group(1).column(1).data_page_offset
    content = bytearray(file.read_bytes())
    content[start : start + 200] = bytes(200)
    file.write_bytes(content)
    (attempt,) = read(file)
    assert [fault.what.partition(" (")[0] for fault in attempt.faults] == ["row group 1 is damaged"]
    assert points(attempt)["loss"] == [(i, 1.0 / (i + 1)) for i in range(3000) if not 1000 <= i < 2000]


def test_more_rows_than_a_file_can_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.parquet", {"step": [1] * 100_000, "loss": [0.5] * 100_000})
    monkeypatch.setattr(binary_tables, "MOST_CELLS", 1000)
    monkeypatch.setattr(binary_tables, "MOST_CELLS_PER_BYTE", 1)
    with pytest.raises(BadLog, match=r"200000 cells in \d+ bytes"):
        read(file)


def test_a_table_without_rows(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.parquet", {"step": pa.array([], pa.int64()), "loss": pa.array([], pa.float64())}
    )
    with pytest.raises(BadLog, match="has no rows"):
        read(file)


def test_a_file_without_its_end_is_told_as_one(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    pq.write_table(pa.table({"step": range(20), "loss": [2.0] * 20}), file)
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UnknownFormat, match=r"is a Parquet file without its end\. Remedy: wait"):
        read(file)
