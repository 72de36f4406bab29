"""Several runs in one store, folders that are one log, launches of one run: which runs there are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.readers.tracker_writers import wandb_log
from tests.readers.writers import csv_log

from chronicle.build.produce import Run
from chronicle.build.sources import expand, spread
from chronicle.errors import NothingToRead
from chronicle.readers import read_all, read_file, runs_below
from chronicle.workspace.folders import Workspace

LOSS = {"loss": [(1, 2.5), (2, 2.25)]}


def project(file: Path, names: list[str]) -> Path:
    """A database of Trackio with two points a run."""
    with closing(sqlite3.connect(file)) as database:
        database.execute(
            "create table configs (id integer primary key, run_id text, run_name text, config text)"
        )
        database.execute(
            "create table metrics (id integer primary key, run_id text, timestamp text, run_name text, "
            "step integer, metrics text)"
        )
        rows = [
            (
                f"{number:08x}",
                f"2026-01-01T00:00:{step:02d}+00:00",
                name,
                step,
                json.dumps({"loss": 2.0 + number}),
            )
            for number, name in enumerate(names)
            for step in (1, 2)
        ]
        database.executemany(
            "insert into metrics (run_id, timestamp, run_name, step, metrics) values (?, ?, ?, ?, ?)", rows
        )
        database.commit()
    return file


def launch(root: Path, name: str) -> Path:
    """The folder of a launch of W&B."""
    folder = root / name
    folder.mkdir(parents=True)
    wandb_log(folder / f"run-{name[-3:]}.wandb", LOSS)
    (folder / "logs").mkdir()
    csv_log(folder / "logs" / "internal.csv", LOSS)
    return folder


def runs(path: Path) -> dict[str, list[str]]:
    return {run.run_id: [p.name for p in run.paths] for run in runs_below(path)}


def test_a_store_of_two_hundred_runs_is_two_hundred_runs(tmp_path: Path) -> None:
    store = project(tmp_path / "mine.db", [f"trial-{number}" for number in range(200)])
    trials = expand([store])
    assert len(trials) == len({run.run_id for run in trials}) == 200
    assert [run.only for run in trials[:2]] == ["trial-0", "trial-1"]
    for number in (0, 7, 199):
        (attempt,), problems = Run(trials[number]).read()
        assert problems == []
        assert attempt.series["loss"].values.tolist() == [2.0 + number] * 2


def test_the_store_is_read_once_for_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = expand([project(tmp_path / "mine.db", [f"trial-{number}" for number in range(20)])])
    reads = []
    monkeypatch.setattr("chronicle.readers.read_file", lambda path: (reads.append(path), read_file(path))[1])
    for run in trials:
        Run(run).read()
    assert len(reads) == 1


def test_ids_of_runs_in_a_store_are_safe_and_stable(tmp_path: Path) -> None:
    names = ["plain", "../../etc/passwd", "<b>", "x" * 300, "ünï", "a b", "a-b"]
    before = {run.only: run.run_id for run in expand([project(tmp_path / "one.db", names)])}
    assert all(
        set(run_id) <= set("abcdefghijklmnopqrstuvwxyz0123456789-ABCDEF_.") for run_id in before.values()
    )
    assert len(set(before.values())) == len(names)
    (tmp_path / "one.db").unlink()
    after = {run.only: run.run_id for run in expand([project(tmp_path / "one.db", ["new", *names])])}
    assert {name: after[name] for name in names} == before


def test_a_store_of_one_run_is_one_run(tmp_path: Path) -> None:
    project(tmp_path / "one.db", ["alone"])
    assert runs(tmp_path / "one.db") == {"one.db": ["one.db"]}


def test_stores_beside_logs_and_runs(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    csv_log(root / "train.csv", LOSS)
    csv_log(root / "a" / "train.csv", LOSS)
    project(root / "p.db", ["x", "y"])
    assert runs(root) == {"root": ["train.csv"], "p/x": ["p.db"], "p/y": ["p.db"], "a": ["a"]}


def test_a_workspace_gives_each_run_of_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "sweep"
    folder.mkdir(parents=True)
    (tmp_path / "chronicle.toml").touch()
    (folder / "run.toml").write_text('project = "p"\n')
    project(folder / "p.db", ["x", "y"])
    workspace = Workspace.find(tmp_path)
    assert workspace
    trials = list(spread(workspace.runs()))
    assert [(run.only, run.config.project) for run in trials] == [("x", "p"), ("y", "p")]
    (folder / "label.json").write_text('{"id": "p"}\n')
    (folder / "README.md").write_text("A sweep of two.\n")
    (folder / "code").mkdir()
    (folder / "code" / "train.py").write_text("print(1)\n")
    assert [run.only for run in spread(workspace.runs())] == ["x", "y"]
    csv_log(folder / "extra.csv", LOSS)
    assert [run.run_id for run in spread(workspace.runs())][-1] == "sweep"
    assert expand([tmp_path])[-1].logs == (folder / "extra.csv",)


def test_launches_of_one_id_are_one_run(tmp_path: Path) -> None:
    root = tmp_path / "wandb"
    for name in ("run-20260101_000000-abc", "run-20260102_000000-abc", "run-20260103_000000-xyz"):
        launch(root, name)
    (root / "latest-run").symlink_to("run-20260103_000000-xyz")
    (root / "debug.log").write_text("step 1 loss 2.0\n" * 20)
    assert runs(root) == {
        "abc": ["run-20260101_000000-abc", "run-20260102_000000-abc"],
        "xyz": ["run-20260103_000000-xyz"],
    }
    first, _ = expand([root])
    attempts, _ = Run(first).read()
    assert [attempt.name for attempt in attempts] == ["run-20260101_000000-abc", "run-20260102_000000-abc"]


def test_the_id_of_a_run_stays_when_another_one_comes(tmp_path: Path) -> None:
    launch(tmp_path / "wandb", "run-20260101_000000-abc")
    assert runs(tmp_path / "wandb") == {"abc": ["wandb"]}
    launch(tmp_path / "wandb", "run-20260101_000000-xyz")
    assert list(runs(tmp_path / "wandb")) == ["abc", "xyz"]


def test_a_launch_beside_the_log_of_its_own_training_is_part_of_it(tmp_path: Path) -> None:
    csv_log(tmp_path / "train.csv", LOSS)
    launch(tmp_path / "wandb", "run-20260101_000000-abc")
    assert runs(tmp_path) == {tmp_path.name: [tmp_path.name]}
    assert len(read_all(tmp_path).attempts) == 2


def test_a_folder_that_is_one_log_can_be_named_itself(tmp_path: Path) -> None:
    folder = launch(tmp_path, "run-20260101_000000-abc")
    assert runs(folder) == {"abc": [folder.name]}
    (attempt,) = read_all(folder).attempts
    assert (attempt.name, attempt.facts["format"]) == (folder.name, "wandb")


def test_a_run_that_the_store_does_not_have_is_told(tmp_path: Path) -> None:
    store = project(tmp_path / "one.db", ["x", "y"])
    (run, _) = expand([store])
    store.unlink()
    project(store, ["other", "y"])
    with pytest.raises(NothingToRead, match=r"one\.db: no series of numbers"):
        Run(run).read()
