"""The runs at paths, as Python and the command line get them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.readers.test_stores import project
from tests.readers.writers import csv_log

import chronicle
from chronicle.cli.commands import cli
from chronicle.errors import NotALog, NothingToRead, UsageError

FALLING = {"loss": [(step, 3.0 - step / 10) for step in range(20)]}


def test_a_store_gives_each_of_its_runs_as_the_command_line_does(tmp_path: Path) -> None:
    store = project(tmp_path / "mine.db", ["a", "b", "c"])
    runs = chronicle.runs(store)
    assert [run.run_id[:6] for run in runs] == ["mine-a", "mine-b", "mine-c"]
    assert [run.timeline().run_id for run in runs] == [run.run_id for run in runs]
    assert [[attempt.facts["run"] for attempt in run.timeline().attempts] for run in runs] == [
        ["a"],
        ["b"],
        ["c"],
    ]
    printed = CliRunner().invoke(cli, ["classify", str(store)]).output
    assert [line.split()[0] for line in printed.splitlines() if line.startswith("mine-")] == [
        run.run_id for run in runs
    ]


def test_several_runs_of_one_store_are_not_stitched(tmp_path: Path) -> None:
    store = project(tmp_path / "mine.db", ["a", "b", "c", "d", "e"])
    with pytest.raises(UsageError) as caught:
        chronicle.stitch(chronicle.read(store))
    assert str(caught.value) == (
        f"{store} holds 5 runs ('a', 'b', 'c', 'd', …): stitch one at a time. "
        "chronicle.runs(path) gives each of them"
    )
    only_a = [attempt for attempt in chronicle.read(store) if attempt.facts["run"] == "a"]
    assert len(chronicle.stitch(only_a).attempts) == 1


def test_a_run_is_read_with_what_its_run_toml_says(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    csv_log(folder / "metrics.csv", FALLING)
    (folder / "run.toml").write_text('roles = { loss = "grad-norm" }\n')
    (run,) = chronicle.runs(folder)
    assert run.run_id == "mine"
    assert [str(track.role) for track in run.timeline().series.values()] == ["grad-norm"]
    timeline, diagnosis, problems = run.diagnose()
    assert (timeline.run_id, diagnosis.verdict, problems) == ("mine", "unexpected", [])


def test_files_beside_a_log_are_no_runs_when_all_files_are_named(tmp_path: Path) -> None:
    csv_log(tmp_path / "metrics.csv", FALLING)
    (tmp_path / "config.json").write_text('{"lr": 0.1}')
    (tmp_path / "requirements.txt").write_text("numpy==2.0\n")
    paths = sorted(map(str, tmp_path.iterdir()))
    message = "no log, only files that are read together with a log beside them"
    for command in ("classify", "doctor"):
        ran = CliRunner().invoke(cli, [command, *paths])
        assert (ran.exit_code, ran.stderr) == (0, f"{paths[0]}, {paths[2]}: {message}\n")
    assert [run.run_id for run in chronicle.runs(*paths)] == ["metrics.csv"]
    with pytest.raises(NotALog) as caught:
        chronicle.runs(paths[0])
    assert str(caught.value) == f"{paths[0]}: {message}"


def test_data_that_lie_beside_logs_are_left_out_and_named(tmp_path: Path) -> None:
    """Found in a folder, a table of data alone is no run, and beside a log it is no attempt."""
    (tmp_path / "data").mkdir()
    (tmp_path / "out").mkdir()
    flowers = "".join(f"5.{i},1.{i},{('setosa', 'virginica')[i % 2]}\n" for i in range(9))
    (tmp_path / "data" / "iris.csv").write_text("sepal_length,petal_length,species\n" + flowers)
    (tmp_path / "out" / "predictions.csv").write_text("y_true,y_pred\n0.5,0.25\n0.125,0.75\n0.5,0.5\n")
    csv_log(tmp_path / "out" / "metrics.csv", FALLING)
    ran = CliRunner().invoke(cli, ["classify", str(tmp_path)])
    remark = "no column counts steps, and no metric is recognised. Remedy: name it alone to have it read"
    assert (ran.exit_code, ran.stderr) == (0, f"{tmp_path / 'data'}: {remark}\n")
    assert (
        "In doubt: predictions.csv was left out: no column counts steps, and no metric is recognised"
        in ran.stdout
    )
    (_, out) = chronicle.runs(tmp_path)
    assert [attempt.name for attempt in out.timeline().attempts] == ["metrics.csv"]
    (named,) = chronicle.runs(tmp_path / "data" / "iris.csv")
    assert [attempt.name for attempt in named.timeline().attempts] == ["iris.csv"]


def test_several_paths_and_none(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        csv_log(tmp_path / name / "metrics.csv", FALLING)
    assert [run.run_id for run in chronicle.runs(tmp_path / "one", str(tmp_path / "two"))] == ["one", "two"]
    (tmp_path / "none").mkdir()
    with pytest.raises(NothingToRead):
        chronicle.runs(tmp_path / "none")
    with pytest.raises(UsageError):
        chronicle.runs(tmp_path / "nowhere")
