"""Files beside a log that hold facts: what each tells, of which attempt, and that none is taken for a log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.readers.test_event_files import plugin
from tests.readers.writers import csv_log, event, event_log, field, frame, summary
from tests.work import n_calls

from chronicle.build.produce import runs
from chronicle.build.sources import expand
from chronicle.model import Attempt
from chronicle.readers import read, read_all, runs_below
from chronicle.readers.facts import SIDE_FILES, is_side_file, side_facts

LOGS = Path(__file__).parent / "logs"
POINTS = {"loss": [(step, 3.0 - step / 10) for step in range(12)]}


def read_beside(folder: Path, **files: Any) -> Attempt:
    """The one attempt of a folder with a log and these files (`__` is a slash, `_dot_` a dot)."""
    folder.mkdir(parents=True, exist_ok=True)
    csv_log(folder / "metrics.csv", POINTS)
    for name, content in files.items():
        write(folder / name.replace("__", "/").replace("_dot_", "."), content)
    reading = read_all(folder)
    assert reading.problems == ()
    (attempt,) = reading.attempts
    return attempt


def write(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def facts(attempt: Attempt) -> dict[str, Any]:
    return {name: value for name, value in attempt.facts.items() if name != "format"}


def test_settings_become_the_configuration(tmp_path: Path) -> None:
    settings = {"seed": 3, "config/seed": 3, "config/lr": 0.1, "config/model/width": 16}
    as_yaml, as_json = (
        "seed: 3\nlr: 0.1\nmodel:\n  width: 16\n",
        {"seed": 3, "lr": 0.1, "model": {"width": 16}},
    )
    for name in ("hparams.yaml", "args.yaml", ".hydra/config.yaml", "config.yaml"):
        folder = tmp_path / name.replace("/", "-")
        write(folder / name, as_yaml)
        assert facts(read_beside(folder)) == settings
    for name in ("params.json", "config.json", "hparams.json"):
        write(tmp_path / name[:-5] / name, as_json)
        assert facts(read_beside(tmp_path / name[:-5])) == settings


def test_settings_that_a_client_keeps_with_a_description(tmp_path: Path) -> None:
    text = "_wandb:\n  value:\n    cli_version: 0.1\nlr:\n  desc: null\n  value: 0.1\n"
    text += "name:\n  desc: ''\n  sort: 1\n  value: x\n"
    assert facts(read_beside(tmp_path, files__config_dot_yaml=text)) == {"config/lr": 0.1, "config/name": "x"}


def test_where_and_how_a_run_was_started(tmp_path: Path) -> None:
    wandb = {
        "host": "node-7",
        "username": "ada",
        "os": "Linux",
        "python": "3.11.7",
        "program": "train.py",
        "args": ["--lr", "0.1"],
        "git": {"remote": "git@example.org:a/b.git", "commit": "abc"},
        "gpu": "NVIDIA A100",
        "gpu_count": 8,
        "cudaVersion": "12.4",
        "startedAt": "2026-01-02T03:04:05",
        "slurm": {"job_id": "77", "job_nodelist": "node-[7-8]"},
    }
    assert facts(_with(tmp_path / "w", "files/wandb-metadata.json", wandb)) == {
        "host": "node-7",
        "user": "ada",
        "os": "Linux",
        "python": "3.11.7",
        "program": "train.py",
        "command": "train.py --lr 0.1",
        "git_commit": "abc",
        "git_remote": "git@example.org:a/b.git",
        "gpu_type": "NVIDIA A100",
        "gpu_count": 8,
        "cuda": "12.4",
        "job": "77",
        "nodes": "node-[7-8]",
        "started_at": 1767323045.0,
    }
    swanlab = {
        "hardware": {"cpu": {"brand": "AMD EPYC"}, "accelerators": [{"name": "RTX 4090"}]},
        "runtime": {
            "os": "Linux-6",
            "hostname": "vm",
            "python_version": "3.11",
            "command": "python t.py --x 1",
        },
        "git": {"remote_url": None, "branch": "main", "commit": "def"},
    }
    assert facts(_with(tmp_path / "s", "files/swanlab-metadata.json", swanlab)) == {
        "host": "vm",
        "os": "Linux-6",
        "python": "3.11",
        "command": "python t.py --x 1",
        "git_commit": "def",
        "git_branch": "main",
        "cpu": "AMD EPYC",
        "gpu_type": "RTX 4090",
    }


def _with(folder: Path, name: str, content: Any) -> Attempt:
    write(folder / name, content)
    return read_beside(folder)


def test_what_sacred_and_clearml_keep_of_a_run(tmp_path: Path) -> None:
    sacred = {
        "experiment": {
            "name": "toy",
            "mainfile": "toy.py",
            "dependencies": ["numpy==2.1", "torch==2.9"],
            "repositories": [{"url": "https://example.org/r.git", "commit": "abc", "dirty": False}],
        },
        "host": {"hostname": "vm", "os": ["Linux", "Linux-6.1"], "cpu": "EPYC", "python_version": "3.11.7"},
        "command": "main",
        "start_time": "2026-01-02T03:04:05",
        "status": "FAILED",
    }
    assert facts(_with(tmp_path / "sacred", "run.json", sacred)) == {
        "name": "toy",
        "host": "vm",
        "os": "Linux-6.1",
        "python": "3.11.7",
        "program": "toy.py",
        "command": "main",
        "git_commit": "abc",
        "git_remote": "https://example.org/r.git",
        "cpu": "EPYC",
        "started_at": 1767323045.0,
        "ended": "crashed",
        "packages": "torch==2.9, numpy==2.1",
    }
    setting = {"section": "General", "name": "lr", "value": "0.5", "type": "float", "description": ""}
    clearml = {
        "hyperparams": {"General": {"lr": setting}},
        "script": {
            "branch": "main",
            "entry_point": "t.py",
            "version_num": "abc",
            "requirements": {"pip": "numpy==2\n"},
        },
    }
    assert facts(_with(tmp_path / "clearml", "task.json", clearml)) == {
        "command": "t.py",
        "git_commit": "abc",
        "git_branch": "main",
        "config/lr": 0.5,
        "packages": "numpy==2",
    }


def test_packages_with_what_trainings_rest_on_first(tmp_path: Path) -> None:
    text = "aiohttp==3.1\nnumpy==2.0\n# torch==1\n-e git+https://example.org/x\ntorch==2.9.0+cu128\n"
    listed = "torch==2.9.0+cu128, numpy==2.0, aiohttp==3.1"
    assert facts(read_beside(tmp_path, files__requirements_dot_txt=text)) == {"packages": listed}


def test_what_a_log_says_of_itself_wins_and_what_lies_nearer(tmp_path: Path) -> None:
    for folder, lr in (("", 1), ("version_0", 2), ("version_1", 3)):
        write(tmp_path / folder / "hparams.yaml", f"lr: {lr}\n")
    for version in (0, 1, 2):
        (tmp_path / f"version_{version}").mkdir(exist_ok=True)
        csv_log(tmp_path / f"version_{version}" / "metrics.csv", POINTS)
    assert [attempt.facts["config/lr"] for attempt in read(tmp_path)] == [2, 3, 1]


def test_a_log_named_alone_has_the_facts_beside_it(tmp_path: Path) -> None:
    read_beside(tmp_path, hparams_dot_yaml="lr: 0.1\n", _dot_hydra__overrides_dot_yaml="- lr=0.1\n- seed=3\n")
    assert facts(read(tmp_path / "metrics.csv")[0]) == {"overrides": "lr=0.1 seed=3", "config/lr": 0.1}


@pytest.mark.parametrize(
    "content", ["", "{", "[1, 2]", '"a"', "\0\1", "a: [", '{"host": {"gpus": 1}, "status": []}']
)
def test_a_damaged_one_tells_no_more_and_is_no_problem(content: str, tmp_path: Path) -> None:
    names = [name.replace("*", "-1") for row in SIDE_FILES for name in row.names]
    assert all(is_side_file(tmp_path / name) for name in names)
    for name in names:
        write(tmp_path / "run" / name, content)
    assert len(read_beside(tmp_path / "run").series) == 1
    assert [run.run_id for run in runs_below(tmp_path)] == ["run"]


def test_logs_beside_a_log_cost_next_to_nothing(tmp_path: Path) -> None:
    """Of a thousand logs in a folder each is read beside all others."""
    log = tmp_path / "a.csv"
    for k in range(300):
        (tmp_path / f"run-{k}.csv").touch()
    n_calls(lambda: side_facts(log, tmp_path))
    assert n_calls(lambda: side_facts(log, tmp_path)) < 20 * 300


def test_a_folder_of_side_files_is_no_run(tmp_path: Path) -> None:
    """Ray's folder of an experiment: one run a trial, and the states of the search are none."""
    for trial in ("train_1", "train_2"):
        read_beside(tmp_path / "exp" / trial, params_dot_json={"lr": 1})
    write(tmp_path / "exp" / "experiment_state-2026.json", {"trial_data": [["{}", "{}"]]})
    write(tmp_path / "exp" / "basic-variant-state-2026.json", {"n": 1})
    write(tmp_path / "exp" / "debug-internal.log", {"level": "INFO", "loss": 0.5, "step": 3})
    write(tmp_path / "exp" / "logs" / "debug.log", {"level": "INFO", "loss": 0.5, "step": 3})
    write(tmp_path / "exp" / "other.json", {"anything": 1})
    assert [run.run_id for run in expand([tmp_path / "exp"])] == ["train_1", "train_2"]


def test_what_accelerate_writes_is_one_run_with_its_settings() -> None:
    """Real: three launches, each with folders by time for the event file of `add_hparams` and hparams.yml."""
    attempts = read(LOGS / "accelerate")
    assert [
        (len(attempt.series), attempt.facts["config/peak_lr"], attempt.facts["seed"]) for attempt in attempts
    ] == [(4, 0.05, 7)] * 3
    assert [run.run_id for run in expand([LOGS / "accelerate"])] == ["kicked-and-resumed"]


def test_the_configuration_of_accelerate_beside_a_log_is_a_fact(tmp_path: Path) -> None:
    content = "compute_environment: LOCAL_MACHINE\nmixed_precision: bf16\nnum_processes: 8\n"
    (tmp_path / "default_config.yaml").write_text(content)
    by_name = facts(read_beside(tmp_path))
    assert (by_name["world_size"], by_name["config/mixed_precision"]) == (8, "bf16")


def test_settings_go_to_the_launch_that_wrote_them(tmp_path: Path) -> None:
    for launch, begun in enumerate((1_700_000_000, 1_700_000_100)):
        (tmp_path / "run").mkdir(exist_ok=True)
        event_log(tmp_path / "run" / f"events.out.tfevents.{begun}.h.{launch}.0", POINTS, wall_time=begun + 5)
        write(tmp_path / "run" / f"{begun + 50}.25" / "hparams.yml", f"lr: {launch}\n")
    assert [attempt.facts["config/lr"] for attempt in read(tmp_path / "run")] == [0, 1]


def test_settings_go_to_the_process_that_wrote_them(tmp_path: Path) -> None:
    """A callback writes the settings into a file of its own, shortly before that of the training."""
    for launch, begun in enumerate((1_700_000_000, 1_700_000_100)):
        (tmp_path / "train").mkdir(exist_ok=True)
        event_log(tmp_path / "train" / f"events.out.tfevents.{begun + 9}.h.7{launch}.1.v2", POINTS)
        session = field(0x1A, field(0x0A, field(0x0A, b"lr") + field(0x12, b"\x20" + bytes([launch]))))
        settings = summary([("_hparams_/session_start_info", plugin("hparams", session))])
        file = tmp_path / f"events.out.tfevents.{begun}.h.7{launch}.0.v2"
        file.write_bytes(frame(event(1.7e9, 0, b"\x1a\x0dbrain.Event:2")) + frame(event(1.7e9, 0, settings)))
    assert [attempt.facts["config/lr"] for attempt in read(tmp_path)] == [False, True]


def test_results_beside_hyperparameters_are_no_attempt(tmp_path: Path) -> None:
    (tmp_path / "run" / "1700000050.25").mkdir(parents=True)
    event_log(tmp_path / "run" / "events.out.tfevents.1700000000.h.1.0", POINTS)
    event_log(
        tmp_path / "run" / "1700000050.25" / "events.out.tfevents.1700000050.h.1.1", {"loss": [(0, 0.5)]}
    )
    (attempt,) = read(tmp_path / "run")
    assert len(attempt.series["loss"]) == 12
    assert attempt.facts["summary"] == {"loss": 0.5}
    shutil.rmtree(tmp_path / "run" / "1700000050.25")
    assert "summary" not in read(tmp_path / "run")[0].facts


def test_what_catboost_writes_five_times_is_one_run() -> None:
    """Real: JSON, a table a phase, and event files in learn/ and test/, all of one training."""
    (run,) = runs(LOGS / "catboost")
    timeline = run.timeline()
    assert (len(timeline.attempts), timeline.doubts) == (1, ())
    losses = {name: str(track.role) for name, track in timeline.series.items() if "loss" in track.role}
    assert losses == {"learn/RMSE": "loss", "test/RMSE": "validation-loss"}
    assert [len(timeline.series[name]) for name in losses] == [80, 80]
