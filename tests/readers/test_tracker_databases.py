"""MLflow and Trackio: their stores, several runs in one, and databases of strangers."""

from __future__ import annotations

import math
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.readers.test_laws import HOSTILE
from tests.readers.tracker_writers import mlflow_folder, mlflow_log, trackio_log, wandb_log

from chronicle.errors import BadLog, LogError, UnknownFormat
from chronicle.model import Attempt
from chronicle.readers import READERS, read, trackers
from chronicle.readers.text import Head
from chronicle.readers.trackers import mlflow

POINTS = {
    "train/loss": [(10, 3.5), (20, math.nan), (15, 2.5)],
    "grad_norm": [(10, 1.0), (20, math.inf), (15, -math.inf)],
}
Writer = Callable[..., None]
ROWS = {row.NAME: row for row in READERS}
STORES = pytest.mark.parametrize(
    ("reader", "write"),
    [(ROWS["mlflow"], mlflow_log), (ROWS["trackio"], trackio_log)],
    ids=["mlflow", "trackio"],
)


def check(attempt: Attempt) -> None:
    loss, norm = attempt.series["train/loss"], attempt.series["grad_norm"]
    assert loss.steps.tolist() == norm.steps.tolist() == [10, 20, 15]
    np.testing.assert_array_equal(loss.values, [3.5, math.nan, 2.5])
    np.testing.assert_array_equal(norm.values, [1.0, math.inf, -math.inf])
    assert np.all(np.diff(norm.times) == 1.0)
    assert (attempt.axis, attempt.truncated, attempt.faults) == ("step", False, ())


@STORES
def test_all_points_of_a_run(reader: Any, write: Writer, tmp_path: Path) -> None:
    write(tmp_path / "store.db", POINTS)
    (attempt,) = read(tmp_path / "store.db")
    check(attempt)
    assert attempt.facts["format"] == reader.NAME
    assert attempt.facts["run"] == "baseline"


def test_all_points_of_a_folder(tmp_path: Path) -> None:
    mlflow_folder(tmp_path / "0" / "r1", POINTS)
    assert [mlflow.identify_folder(p) for p in (tmp_path, tmp_path / "0", tmp_path / "0" / "r1")] == [
        False,
        False,
        True,
    ]
    (attempt,) = mlflow.read_folder(tmp_path / "0" / "r1")
    check(attempt)
    assert attempt.facts == {"run": "r1", "name": "baseline", "ended": "finished", "started_at": 1.7e9}


def test_a_line_that_is_cut_or_odd_in_a_folder(tmp_path: Path) -> None:
    mlflow_folder(tmp_path / "r1", {"loss": [(1, 0.5), (2, 0.25), (3, 0.125)], "system/gpu": [(0, 1.0)]})
    file = tmp_path / "r1" / "metrics" / "loss"
    file.write_text("1700000000000\n\n" + file.read_text().replace("0.25", "O.25")[:-1] + "0")
    (attempt,) = mlflow.read_folder(tmp_path / "r1")
    assert attempt.series["loss"].steps.tolist() == [1]
    assert attempt.truncated
    assert [(fault.what, fault.count) for fault in attempt.faults] == [("point is not a number; skipped", 2)]
    assert list(attempt.series) == ["loss"]


def test_what_is_logged_without_a_step_at_the_end_stands_at_the_last_one(tmp_path: Path) -> None:
    """MLflow takes 0 for the step of a test after the training, which is not its first value."""
    loss = [(step, 1 / step) for step in range(1, 9)]
    mlflow_folder(tmp_path / "r1", {"loss": [*loss, (0, 0.5), (0, 0.5)], "test_loss": [(0, 0.5)]})
    (attempt,) = mlflow.read_folder(tmp_path / "r1")
    assert attempt.series["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert attempt.series["test_loss"].steps.tolist() == [0]
    mlflow_folder(tmp_path / "r2", {"loss": [*loss, *((0, 1.0 + n) for n in range(4))]})  # a launch
    assert mlflow.read_folder(tmp_path / "r2")[0].series["loss"].steps.tolist()[-4:] == [0, 0, 0, 0]


def test_the_file_of_a_metric_without_its_run(tmp_path: Path) -> None:
    mlflow_folder(tmp_path / "r1", {"train/loss": [(10, 0.5), (20, math.nan), (30, 0.125)]})
    inside = tmp_path / "r1" / "metrics" / "train" / "loss"
    alone = tmp_path / "loss"
    alone.write_text(inside.read_text() + "17000000")
    for file, name in ((inside, "train/loss"), (alone, "loss")):
        (attempt,) = read(file)
        loss = attempt.series[name]
        assert (attempt.facts["format"], attempt.axis) == ("mlflow", "step")
        assert (loss.steps.tolist(), loss.role.value) == ([10, 20, 30], "loss")
        np.testing.assert_array_equal(loss.values, [0.5, math.nan, 0.125])
        assert (np.diff(loss.times).tolist(), attempt.truncated) == ([1.0, 1.0], file == alone)
    alone.write_text("1700000000000 0.5 10 7\n1700000001000 0.25 20 7\n")
    with pytest.raises(LogError):
        read(alone)


@STORES
def test_runs_are_called_by_their_names_where_these_differ(
    reader: Any, write: Writer, tmp_path: Path
) -> None:
    store = tmp_path / "store.db"
    for run, name in (("11111111aa", "same"), ("22222222bb", "same"), ("33333333cc", "other")):
        write(store, {"loss": [(0, 1.0), (1, 0.5)]}, run=run, name=name)
    assert reader.runs(store) == ["same 11111111", "same 22222222", "other"]
    assert [attempt.facts["run"] for attempt in reader.read(store)] == reader.runs(store)
    assert [attempt.name for attempt in reader.read(store)] == [
        f"store.db: {run}" for run in reader.runs(store)
    ]


def test_parameters_tags_and_deleted_runs(tmp_path: Path) -> None:
    store = tmp_path / "mlflow.db"
    mlflow_log(store, POINTS)
    mlflow_log(store, POINTS, run="r2", name="gone")
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE runs SET lifecycle_stage = 'deleted' WHERE run_uuid = 'r2'")
        db.execute("UPDATE runs SET status = 'FAILED'")
        db.executemany(
            "INSERT INTO params VALUES (?, ?, 'r1')", [("lr", "0.1"), ("layers", "12"), ("act", "gelu")]
        )
        db.execute("INSERT INTO tags VALUES ('mlflow.source.git.commit', 'abc', 'r1')")
    (attempt,) = read(store)
    assert attempt.facts == {
        "format": "mlflow",
        "run": "baseline",
        "name": "baseline",
        "git_commit": "abc",
        "ended": "crashed",
        "started_at": 1.7e9,
        "experiment": "tiny-lm",
        "config/lr": 0.1,
        "config/layers": 12,
        "config/act": "gelu",
    }


def test_data_sets_tags_and_who_logged_them(tmp_path: Path) -> None:
    """As the package writes them: inputs name data sets, which lie beside the runs of an experiment."""
    expected = {"dataset": "moons (0c5f1d2e)", "tag/team": "vision", "user": "ada", "git_branch": "main"}
    tags = {
        "team": "vision",
        "mlflow.user": "ada",
        "mlflow.source.git.branch": "main",
        "mlflow.source.type": "LOCAL",
    }
    store = tmp_path / "mlflow.db"
    mlflow_log(store, POINTS)
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("CREATE TABLE datasets (dataset_uuid, experiment_id, name, digest)")
        db.execute(
            "CREATE TABLE inputs (input_uuid, source_type, source_id, destination_type, destination_id)"
        )
        db.execute("INSERT INTO datasets VALUES ('d1', 1, 'moons', '0c5f1d2e')")
        db.execute("INSERT INTO inputs VALUES ('i1', 'DATASET', 'd1', 'RUN', 'r1')")
        db.executemany("INSERT INTO tags VALUES (?, ?, 'r1')", tags.items())
    folder = tmp_path / "mlruns" / "1" / "r1"
    mlflow_folder(folder, POINTS)
    for file, text in {
        folder / "inputs" / "i1" / "meta.yaml": "source_id: d1\nsource_type: DATASET\n",
        folder.parent / "datasets" / "d1" / "meta.yaml": "digest: 0c5f1d2e\nname: moons\n",
        folder.parent / "meta.yaml": "name: tiny-lm\n",
        **{folder / "tags" / name: value for name, value in tags.items()},
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for path in (store, folder):
        (attempt,) = read(path)
        assert expected.items() <= attempt.facts.items()
        assert attempt.facts["experiment"] == "tiny-lm"


def test_where_all_steps_are_equal_the_rows_are_counted(tmp_path: Path) -> None:
    mlflow_log(tmp_path / "mlflow.db", {"loss": [(0, 3.0), (0, 2.0), (0, 1.0)], "final": [(0, 9.0)]})
    (attempt,) = read(tmp_path / "mlflow.db")
    assert attempt.axis == "row"
    assert attempt.series["loss"].steps.tolist() == [0, 1, 2]


def test_an_alert_of_trackio_is_a_fault(tmp_path: Path) -> None:
    trackio_log(tmp_path / "p.db", POINTS)
    with closing(sqlite3.connect(tmp_path / "p.db")) as db, db:
        row = ("r1", "2024-01-01T00:00:05+00:00", "baseline", "loss is NaN", "look", "error", 20)
        db.execute("INSERT INTO alerts VALUES (1, ?, ?, ?, ?, ?, ?, ?)", row)
    (attempt,) = read(tmp_path / "p.db")
    (fault,) = attempt.faults
    assert (fault.kind, fault.what, fault.at_step) == ("alert", "alert (error): loss is NaN: look", 20)
    assert fault.at_time == 1704067205.0
    assert not attempt.truncated
    assert attempt.facts["config/lr"] == 0.1
    assert "config/_Created" not in attempt.facts


def test_the_counter_of_trackio_gives_way_to_an_optimizer_step(tmp_path: Path) -> None:
    trackio_log(tmp_path / "p.db", {"loss": [(0, 3.0), (4, 2.0)], "train/global_step": [(0, 1.0), (4, 2.0)]})
    assert read(tmp_path / "p.db")[0].series["loss"].steps.tolist() == [1, 2]


@STORES
def test_what_is_still_in_the_write_ahead_log_is_read(reader: Any, write: Writer, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    write(store, {"loss": [(0, 1.0)]}, run="r0", name="first")
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("UPDATE metrics SET step = 7")
        db.commit()
        copies = tmp_path / "copies"
        copies.mkdir()
        for file in (store, Path(f"{store}-wal")):
            shutil.copy(file, copies)
    before = {p.name: p.read_bytes() for p in copies.iterdir()}
    assert read(copies / "store.db")[0].series["loss"].steps.tolist() == [7]
    assert {p.name: p.read_bytes() for p in copies.iterdir()} == before


@STORES
def test_a_file_name_that_is_no_text(reader: Any, write: Writer, tmp_path: Path) -> None:
    write(tmp_path / "store.db", POINTS)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd \xff?mode=rw#.db"))
    (tmp_path / "store.db").rename(odd)
    assert reader.identify(Head.of(odd))
    assert [attempt.facts["run"] for attempt in reader.read(odd)] == ["baseline"]


@STORES
def test_a_store_in_a_folder_that_cannot_be_written_to(reader: Any, write: Writer, tmp_path: Path) -> None:
    write(tmp_path / "store.db", POINTS)
    os.chmod(tmp_path, 0o555)
    try:
        assert len(read(tmp_path / "store.db")) == 1
    finally:
        os.chmod(tmp_path, 0o755)


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS key, i AS value, i AS timestamp, 'r1' AS run_uuid, i AS step, 0 AS is_nan FROM n",
        "CREATE VIRTUAL TABLE metrics USING fts5(key, value, timestamp, run_uuid, step, is_nan)",
    ],
    ids=["view", "virtual"],
)
def test_a_table_that_computes_is_none(schema: str, tmp_path: Path) -> None:
    mlflow_log(tmp_path / "mlflow.db", {})
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as db, db:
        db.execute("DROP TABLE metrics")
        db.execute(schema)
    assert not mlflow.identify(Head.of(tmp_path / "mlflow.db"))


def test_a_column_that_computes_is_none(tmp_path: Path) -> None:
    store = tmp_path / "mlflow.db"
    mlflow_log(store, {})
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("DROP TABLE metrics")
        db.execute(
            "CREATE TABLE metrics (key, timestamp, run_uuid, step, is_nan, value AS (zeroblob(1000000000)))"
        )
        db.execute("INSERT INTO metrics VALUES ('loss', 1, 'r1', 1, 0)")
    with pytest.raises(BadLog, match="no run logged a metric"):
        read(store)


def test_a_table_whose_damaged_name_is_no_text_is_left_out(tmp_path: Path) -> None:
    store = tmp_path / "p.db"
    trackio_log(store, {"loss": [(i, 1.0) for i in range(5)]})
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("CREATE TABLE other (key)")
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET name = CAST(name AS BLOB) WHERE name = 'other'")
    (attempt,) = read(store)
    assert attempt.series["loss"].values.tolist() == [1.0] * 5


def test_pages_that_point_in_circles_end(tmp_path: Path) -> None:
    """An interior page whose children are all one page would give rows for ever."""
    store = tmp_path / "p.db"
    trackio_log(store, {"loss": [(i, 1.0) for i in range(60)]})
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA page_size=512")
        db.execute("VACUUM")
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'metrics'").fetchone()
    content = bytearray(store.read_bytes())
    start = (root - 1) * 512
    assert content[start] == 5, "an interior page"
    n_cells = int.from_bytes(content[start + 3 : start + 5], "big")
    for cell in range(n_cells):  # every child is the page itself
        at = start + int.from_bytes(content[start + 12 + 2 * cell : start + 14 + 2 * cell], "big")
        content[at : at + 4] = root.to_bytes(4, "big")
    store.write_bytes(content)
    with pytest.raises(LogError):
        read(store)


def test_more_rows_than_the_file_can_hold_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trackio_log(tmp_path / "p.db", {"loss": [(i, 1.0) for i in range(60)]})
    whole = read(tmp_path / "p.db")[0].series["loss"]
    rows_within = trackers.Store.rows_within
    monkeypatch.setattr(
        trackers.Store, "rows_within", lambda self, query, room: rows_within(self, query, 1500)
    )
    (attempt,) = read(tmp_path / "p.db")
    n_kept = len(attempt.series["loss"])
    assert 0 < n_kept < 60
    assert attempt.series["loss"].values.tolist() == whole.values[:n_kept].tolist()
    assert attempt.truncated
    assert "more rows than the file can hold" in attempt.faults[0].what


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: name[:12])
@pytest.mark.parametrize("write", [wandb_log, mlflow_log, trackio_log])
def test_hostile_names_of_metrics_come_through_unchanged(write: Writer, name: str, tmp_path: Path) -> None:
    write(tmp_path / "log", {name: [(0, 2.5), (7, 1.5)], "loss": [(0, 1.0), (7, 0.5)]})
    series = read(tmp_path / "log")[0].series
    assert series[name].steps.tolist() == [0, 7]
    assert series[name].values.tolist() == [2.5, 1.5]
    assert sorted(series) == sorted([name, "loss"])


def test_the_database_of_a_program_is_told_how_to_become_a_table(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "training.db")) as database:
        database.execute("CREATE TABLE version (number INTEGER)")
        database.execute("CREATE TABLE metrics (epoch INTEGER, policy_loss REAL)")
        database.execute("INSERT INTO metrics VALUES (1, 0.5)")
        database.commit()
    remedy = "`sqlite3 -header -csv training.db 'select * from metrics' > metrics.csv`"
    with pytest.raises(UnknownFormat, match=re.escape(remedy)):
        read(tmp_path / "training.db")
