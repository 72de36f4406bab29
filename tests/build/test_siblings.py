"""Folders side by side that are attempts of one training, and those that only look like it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.readers.writers import csv_log, event_log, json_log
from tests.work import n_calls

from chronicle.build.produce import Run
from chronicle.build.sources import expand


def points(steps: range, seed: int = 0, metric: str = "loss") -> dict[str, list[tuple[int, float]]]:
    """A loss that falls with the step, and its learning rate."""
    noise = np.random.default_rng(seed).standard_normal(len(steps))
    loss = [
        (step, 1 + 2 * float(np.exp(-step / 300) + 0.02 * z)) for step, z in zip(steps, noise, strict=True)
    ]
    return {metric: loss, "lr": [(step, 1e-3) for step in steps]}


def runs(root: Path, folders: dict[str, dict[str, list[tuple[int, float]]]]) -> dict[str, list[str]]:
    """The runs of these folders, each with a CSV, by id with the folders they are made of."""
    for name, logged in folders.items():
        (root / name).mkdir(parents=True)
        csv_log(root / name / "metrics.csv", logged)
    return {run.run_id: [log.name for log in run.logs] for run in expand([root])}


FROM_0, FROM_400, BACK = range(0, 400, 2), range(400, 800, 2), range(300, 900, 2)


@pytest.mark.parametrize(
    "names",
    [
        ("train_a", "train_a_resume1"), ("train_a", "train_a.1"), ("exp", "exp_restart_from_400"),
        ("exp", "exp-continued"), ("lr0.1", "lr0.1_rerun"), ("exp_resume1", "exp_resume2"),
        ("PPO_1", "PPO_2"), ("run1", "run2"), ("20261122_073444", "20261122_080112"),
        ("May04_12-00-00_h", "May05_09-00-00_h"),
        ("exp-2026-11-22-07-34-lm", "exp-2026-11-22-09-00-lm"),
        ("offline-0f" + "3a" * 15, "offline-b7" + "3a" * 15),
    ],
)  # fmt: skip
@pytest.mark.parametrize("later", [FROM_400, BACK], ids=["resume", "rollback"])
def test_steps_that_go_on_make_one_training(names: tuple[str, str], later: range, tmp_path: Path) -> None:
    made = runs(tmp_path, {names[0]: points(FROM_0), names[1]: points(later, 1), "other": points(FROM_0, 2)})
    assert made == {names[0]: [*names], "other": ["other"]}


@pytest.mark.parametrize(("name", "n_runs"), [("tower", 1), ("bridge", 2)])
def test_launches_under_two_names_are_two_runs(name: str, n_runs: int, tmp_path: Path) -> None:
    for launch, (called, steps) in enumerate([("tower", FROM_0), (name, FROM_400)]):
        folder = tmp_path / f"task-{launch}{'c5' * 16}"
        folder.mkdir()
        csv_log(folder / "metrics.csv", points(steps))
        (folder / "task.json").write_text(f'{{"name": "{called}"}}')
    assert len(expand([tmp_path])) == n_runs


def test_three_launches_are_stitched_into_one_course(tmp_path: Path) -> None:
    parts = {"a": range(0, 400, 2), "a_resume": range(300, 700, 2), "a_resume2": range(700, 900, 2)}
    runs(tmp_path, {name: points(steps, 3) for name, steps in parts.items()} | {"b": points(FROM_0)})
    (run, _) = expand([tmp_path])
    timeline, _, problems = Run(run).diagnose()
    assert [attempt.name for attempt in timeline.attempts] == [f"{name}/metrics.csv" for name in parts]
    assert [(join.kind, join.to_step) for join in timeline.joins] == [("rollback", 300), ("resume", 700)]
    assert problems == []


@pytest.mark.parametrize(
    "folders",
    [
        {"lr0.1": points(FROM_0), "lr0.2": points(FROM_0, 1)},  # two runs of a sweep
        {"a": points(FROM_0), "a_restart": points(FROM_0, 1)},  # once more from nothing
        {"a": points(FROM_0), "a_resume": points(FROM_400, 1, "accuracy") | {"lr": []}},  # another metric
        {
            "a": points(FROM_0),
            "a_resume": points(range(4000, 4400, 2), 1),
        },  # steps that nobody logged between
        {"a": points(FROM_0), "b": points(FROM_400, 1)},  # nothing in the names
        {"f_1": points(FROM_400), "f_2": points(FROM_400, 1), "f_3": points(range(400, 900, 2), 2)},  # trials
    ],
)
def test_names_alone_join_nothing(
    folders: dict[str, dict[str, list[tuple[int, float]]]], tmp_path: Path
) -> None:
    assert runs(tmp_path, folders) == {name: [name] for name in folders}


def test_processes_that_ran_at_one_time_stay_apart(tmp_path: Path) -> None:
    for name, steps, wall_time in (("a", FROM_0, 1.7e9), ("a_resume", BACK, 1.7e9 - 250)):
        (tmp_path / name).mkdir()
        event_log(tmp_path / name / "events.out.tfevents.1", points(steps), wall_time=wall_time)
    assert [run.run_id for run in expand([tmp_path])] == ["a", "a_resume"]


def test_a_log_that_cannot_be_read_is_a_run_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "a_resume"):
        (tmp_path / name).mkdir()
    json_log(tmp_path / "a" / "log.jsonl", points(FROM_0))
    (tmp_path / "a_resume" / "log.jsonl").write_text("")
    assert [run.run_id for run in expand([tmp_path])] == ["a", "a_resume"]


def printed(path: Path, logged: dict[str, list[tuple[int, float]]]) -> None:
    """What a loop prints of the same numbers, rounded."""
    lines = zip(*logged.values(), strict=True)
    text = (f"step {step}: " + " ".join(f"{m}={v:.4g}" for m, (_, v) in zip(logged, row, strict=True))
            for row in lines for step in [row[0][0]])  # fmt: skip
    path.write_text("\n".join(text) + "\n")


@pytest.mark.parametrize(
    ("seed", "made"),
    [(0, [["train.log", "exp"]]), (1, [["train.log"], ["exp"]])],
    ids=["same values", "another seed"],
)
def test_a_console_beside_the_folder_of_a_logger_is_of_the_same_run_if_its_values_are(
    seed: int, made: list[list[str]], tmp_path: Path
) -> None:
    exp = tmp_path / "project/out/exp"
    exp.mkdir(parents=True)
    csv_log(exp / "metrics.csv", points(FROM_0))
    printed(tmp_path / "project/train.log", points(FROM_0, seed))
    assert [[log.name for log in run.logs] for run in expand([tmp_path / "project"])] == made


@pytest.mark.parametrize(
    ("seed", "made"),
    [(0, [["nohup.out", "bpr"]]), (1, [["bpr"], ["nohup.out"]])],
    ids=["same values", "another seed"],
)
def test_a_console_and_the_file_of_its_logger_are_one_run(
    seed: int, made: list[list[str]], tmp_path: Path
) -> None:
    (tmp_path / "bpr").mkdir()
    printed(tmp_path / "nohup.out", points(FROM_0))
    printed(tmp_path / "bpr/model.log", points(FROM_0, seed))
    assert sorted([log.name for log in run.logs] for run in expand([tmp_path])) == made


def test_two_trackers_of_one_process_tell_one_run(tmp_path: Path) -> None:
    for folder, write in (("events", event_log), ("lines", json_log)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / f"a.{'jsonl' if write is json_log else 'tfevents.1'}", points(FROM_0))
    (run,) = expand([tmp_path])
    timeline, _, problems = Run(run).diagnose()
    assert (len(timeline.attempts), problems) == (1, [])


@pytest.mark.parametrize("seed", [0, 1], ids=["same values", "another seed"])
def test_what_was_read_to_tell_runs_apart_is_not_read_again(seed: int, tmp_path: Path) -> None:
    (tmp_path / "exp").mkdir()
    csv_log(tmp_path / "exp/metrics.csv", points(FROM_0))
    printed(tmp_path / "train.log", points(FROM_0, seed))
    for run in expand([tmp_path]):
        anew = replace(run, readings={})
        read, again = (Run(folder).read() for folder in (run, anew))
        assert repr(read) == repr(again)
        calls, calls_anew = (n_calls(lambda folder=folder: Run(folder).read()) for folder in (run, anew))
        assert 4 * calls < calls_anew


def test_a_run_of_a_store_is_not_put_together_with_a_log_of_the_same_values(tmp_path: Path) -> None:
    loss = dict(points(FROM_0)["loss"])
    rows = [
        f"{name},{step},{value + shift}\n"
        for name, shift in (("a", 0), ("b", 1))
        for step, value in loss.items()
    ]
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "both.csv").write_text("run,step,loss\n" + "".join(rows))
    json_log(tmp_path / "lines.jsonl", points(FROM_0))
    diagnosed = [Run(run).diagnose() for run in expand([tmp_path])]
    assert [(len(timeline.attempts), problems) for timeline, _, problems in diagnosed] == [(1, [])] * 3


def test_two_folders_of_one_format_are_two_runs_whatever_their_values(tmp_path: Path) -> None:
    assert len(runs(tmp_path, {"east": points(FROM_0), "west": points(FROM_0)})) == 2
