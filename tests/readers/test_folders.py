"""Folders: which runs there are, which files make their attempts, and what is told when one is bad."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.readers.writers import csv_log, event_log, json_log, trainer_log

from chronicle.build.sources import expand
from chronicle.errors import AmbiguousFormat, LogError, NothingToRead, UnknownFormat, UsageError
from chronicle.metrics.values import natural
from chronicle.model import Role
from chronicle.readers import find, nobody_reads, read, read_all, runs_below
from chronicle.readers.text import Head
from chronicle.timeline import stitch

LOSS = {"loss": [(1, 2.5), (2, 2.25)]}


def make(root: Path, *names: str, wall_time: float = 1.7e9) -> Path:
    """Logs of these names below ``root``, each format by its suffix; later ones begin later."""
    for number, name in enumerate(names):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if "tfevents" in name:
            event_log(file, LOSS, wall_time=wall_time + 1000 * number)
        elif name.endswith(".jsonl"):
            json_log(file, LOSS)
        elif name.endswith("trainer_state.json"):
            trainer_log(file, LOSS)
        else:
            csv_log(file, LOSS)
    return root


def runs(root: Path) -> dict[str, list[str]]:
    """Runs by id, with the paths that stand for them, relative to the root."""
    return {run.run_id: [p.relative_to(root).as_posix() for p in run.paths] for run in runs_below(root)}


RULES = {
    "one file": (["a.csv"], {"root": ["."]}),
    "several event files": (["events.out.tfevents.1", "events.out.tfevents.2"], {"root": ["."]}),
    "numbered files": (["run-1.csv", "run-2.csv", "run-10.csv"], {"root": ["."]}),
    "coloured files of one word": (["run-blue-a.csv", "run-red.csv"], {"root": ["."]}),
    "two formats": (["metrics.csv", "events.out.tfevents.1"], {"root": ["."]}),
    "what a file logs names no run": (["train.csv", "eval.csv", "history.jsonl"], {"root": ["."]}),
    "parts of a loss name no run": (["d_loss.csv", "g_loss.csv", "kl_loss.csv"], {"root": ["."]}),
    "losses of several words name runs": (
        ["adam_loss.csv", "sgd_loss.csv"],
        {"adam": ["adam_loss.csv"], "sgd": ["sgd_loss.csv"]},
    ),
    "first words tell runs apart": (
        ["adam-1.csv", "adam-2.csv", "sgd-1.csv"],
        {"adam": ["adam-1.csv", "adam-2.csv"], "sgd": ["sgd-1.csv"]},
    ),
    "names of one word and different ends are runs": (
        ["llama-7b.log", "llama-13b.log", "llama-13b-resume.log", "fp16.txt", "ppo_progress.csv"],
        {
            "llama-7b": ["llama-7b.log"],
            "llama-13b": ["llama-13b-resume.log", "llama-13b.log"],
            "fp16": ["fp16.txt"],
            "ppo": ["ppo_progress.csv"],
        },
    ),
    "rates, seeds and sizes at the end are runs": (
        ["lr-0.1.csv", "lr-0.01.csv", "ppo_seed1.csv", "ppo_seed2.csv", "vit-b16.csv", "vit-l16.csv"],
        {
            name: [f"{name}.csv"]
            for name in ("lr-0.01", "lr-0.1", "ppo_seed1", "ppo_seed2", "vit-b16", "vit-l16")
        },
    ),
    "what a log holds at the end is no run": (
        ["bert_train.csv", "bert_val.csv", "gpt.train.log", "gpt-4711.out", "gpt-4712.out"],
        {
            "bert": ["bert_train.csv", "bert_val.csv"],
            "gpt": ["gpt-4711.out", "gpt-4712.out", "gpt.train.log"],
        },
    ),
    "a log without a name beside named ones is called as its file": (
        ["adam.csv", "sgd.csv", "slurm.out", "log.yaml", "log.txt", "train.csv"],
        {
            "adam": ["adam.csv"],
            "sgd": ["sgd.csv"],
            "slurm": ["slurm.out"],
            "log": ["log.txt"],
            "train": ["train.csv"],
        },
    ),
    "phases of one training beside named logs are the run of their folder": (
        ["adam.csv", "sgd.csv", "train.csv", "val.csv"],
        {"adam": ["adam.csv"], "sgd": ["sgd.csv"], "root": ["train.csv", "val.csv"]},
    ),
    "the workers of an environment are no runs": (
        ["0.monitor.csv", "1.monitor.csv", "progress.csv", "events.out.tfevents.1"],
        {"root": ["."]},
    ),
    "powers of ten are rates": (
        ["adam-1e-3.csv", "adam-1e-4.csv"],
        {"adam-1e-3": ["adam-1e-3.csv"], "adam-1e-4": ["adam-1e-4.csv"]},
    ),
    "versions": (["version_0/metrics.csv", "version_1/metrics.csv"], {"root": ["."]}),
    "attempts": (["v0/events.out.tfevents.1", "v1/events.out.tfevents.2"], {"root": ["."]}),
    "writers": (["train/events.out.tfevents.1", "validation/events.out.tfevents.1"], {"root": ["."]}),
    "own log and a wrapper": (["metrics.csv", "tensorboard/events.out.tfevents.1"], {"root": ["."]}),
    "lightning": (["lightning_logs/version_0/metrics.csv"], {"root": ["."]}),
    "checkpoints": (["checkpoint-5/trainer_state.json", "checkpoint-10/trainer_state.json"], {"root": ["."]}),
    "trainer": (["trainer_state.json", "runs/May04_12-00-00_host/events.out.tfevents.1"], {"root": ["."]}),
    "states of a trainer in checkpoints alone": (
        ["checkpoint-5/trainer_state.json", "runs/May04_12-00-00_host/events.out.tfevents.1"],
        {"root": ["."]},
    ),
    "many runs": (["a/x.csv", "b/y.jsonl"], {"a": ["a"], "b": ["b"]}),
    "runs in groups": (["g/a/x.csv", "g/b/x.csv", "h/x.csv"], {"g/a": ["g/a"], "g/b": ["g/b"], "h": ["h"]}),
    "runs with attempts": (
        ["a/version_0/metrics.csv", "a/version_1/metrics.csv", "b/metrics.csv"],
        {"a": ["a"], "b": ["b"]},
    ),
    "a folder named as a day is a run": (
        ["runs/May04_12-00-00_h/events.out.tfevents.1", "runs/May05_12-00-00_h/events.out.tfevents.1"],
        {
            "runs/May04_12-00-00_h": ["runs/May04_12-00-00_h"],
            "runs/May05_12-00-00_h": ["runs/May05_12-00-00_h"],
        },
    ),
    "a log above runs": (["summary.csv", "a/x.csv"], {"root": ["summary.csv"], "a": ["a"]}),
    "attempts above runs": (
        ["version_0/metrics.csv", "other/metrics.csv"],
        {"root": ["version_0"], "other": ["other"]},
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, tmp_path: Path) -> None:
    names, expected = RULES[rule]
    assert runs(make(tmp_path / "root", *names)) == expected


def test_a_file_is_a_run(tmp_path: Path) -> None:
    make(tmp_path, "a.csv")
    (run,) = runs_below(tmp_path / "a.csv")
    assert (run.run_id, run.paths) == ("a.csv", (tmp_path / "a.csv",))


def test_a_folder_without_logs_holds_no_run(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert runs_below(tmp_path) == []
    with pytest.raises(NothingToRead, match="no log with a number in it"):
        read(tmp_path)


def test_texts_that_nobody_knows_are_named_with_what_to_do(tmp_path: Path) -> None:
    for number in range(1, 8):
        (tmp_path / f"job-{number}.log").write_text("all is well at 10:00\n" * 3)
    (tmp_path / "train.py").write_text("lr = 3e-4\n")
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    with pytest.raises(NothingToRead) as caught:
        read(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: no log with a number in it. "
        "No reader knows job-1.log, job-2.log, job-3.log, job-4.log, job-5.log and others. "
        "Remedy: `chronicle doctor` on one of them says what it lacks"
    )
    assert "job-5.log and 2 more. " in nobody_reads([f"job-{number}.log" for number in range(1, 8)])
    with pytest.raises(NothingToRead, match=r"no log in .*\. No reader knows job-1\.log, "):
        expand([tmp_path])


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match=r"missing: no such file or folder\. Remedy: check the path"):
        read(tmp_path / "missing")


def test_the_root_of_a_file_system_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        read("/")
    assert str(caught.value) == "/ is the root of a file system. Remedy: name the folder of the runs"


def test_a_folder_of_very_many_files_that_are_no_logs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "_MOST_OTHERS", 8)
    make(tmp_path, "log.csv")
    for number in range(9):
        (tmp_path / f"page-{number}.txt").write_text("words\n")
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert str(caught.value) == (
        f"8 files up to {tmp_path} are not logs. Remedy: name the folder of the runs, or set "
        "CHRONICLE_LOOK_LIMIT to the number that may be skipped"
    )
    monkeypatch.setenv("CHRONICLE_LOOK_LIMIT", "9")
    assert [attempt.name for attempt in read(tmp_path)] == ["log.csv"]


def test_a_link_to_a_folder_around_is_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside.csv")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    make(inner, "log.csv")
    (inner / "up").symlink_to(tmp_path)  # as `cwd` and `root` of a process in /proc
    assert [attempt.name for attempt in read(inner)] == ["log.csv"]


def test_an_empty_file_that_is_named_as_no_log_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "waits").touch()
    monkeypatch.setattr(Head, "of", lambda path: pytest.fail(f"{path} is opened"))
    assert not find.is_log(tmp_path / "waits")


def test_names_are_paths_in_natural_order(tmp_path: Path) -> None:
    make(tmp_path, "run-10.csv", "run-9.csv", "deep/run-1.csv")
    assert [attempt.name for attempt in read(tmp_path)] == ["deep/run-1.csv", "run-9.csv", "run-10.csv"]


def test_of_two_numbers_the_longer_one_comes_last() -> None:
    names = ["a", "run-2", "run-02x", "run-10", "run-" + "9" * 5000, "run-1" + "0" * 5000]
    assert sorted(set(names), key=natural) == names


def test_event_files_are_in_order_of_their_clock(tmp_path: Path) -> None:
    make(tmp_path, "events.out.tfevents.b", "events.out.tfevents.a", "v1/events.out.tfevents.0")
    assert [attempt.name[-1] for attempt in read(tmp_path)] == ["b", "a", "0"]


def test_writers_of_one_process_are_one_attempt(tmp_path: Path) -> None:
    make(tmp_path, "train/x.tfevents", "validation/x.tfevents")
    (attempt,) = read(tmp_path)
    assert attempt.name == "train/x.tfevents"
    assert len(attempt.sources) == 2
    assert {name: s.role for name, s in attempt.series.items()} == {
        "train/loss": Role.LOSS,
        "validation/loss": Role.VALIDATION_LOSS,
    }


def test_a_writer_belongs_to_the_process_that_ran_when_it_began(tmp_path: Path) -> None:
    make(tmp_path, "1.tfevents", "eval/1.tfevents", "2.tfevents", "eval/2.tfevents", "eval/3.tfevents")
    first, second = read(tmp_path)
    assert (first.name, [Path(s).name for s in first.sources]) == ("1.tfevents", ["1.tfevents"] * 2)
    assert (second.name, len(second.sources)) == ("2.tfevents", 3)
    assert list(second.series) == ["loss", "eval/loss", "eval/loss (2)"]


def test_validation_alone_is_an_attempt(tmp_path: Path) -> None:
    (attempt,) = read(make(tmp_path, "validation/x.tfevents"))
    assert list(attempt.series) == ["loss"]


def test_what_is_no_log_is_passed_over(tmp_path: Path) -> None:
    make(tmp_path, "a.csv")
    for name in (
        "README.md",
        ".hidden.csv",
        "run.toml",
        "label.json",
        "notes.md",
        "hparams.yaml",
        "model.pt",
    ):
        (tmp_path / name).write_bytes(b'{"loss": 1}\nstep,loss\n' if name[0] in ".l" else b"a: 1\n")
    (tmp_path / "config.json").write_text('{"hidden_size": 64, "layers": 2}')
    (tmp_path / ".git").mkdir()
    make(tmp_path / ".git", "b.csv")
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["a.csv"]
    assert reading.problems == ()


def test_a_site_that_chronicle_made_is_no_run(tmp_path: Path) -> None:
    make(tmp_path, "a/x.csv", "chronicle-site/runs/a/series.csv", "chronicle-site/other.csv")
    assert list(runs(tmp_path)) == ["a"]


def test_a_file_name_that_is_no_unicode_is_written_out(tmp_path: Path) -> None:
    make(tmp_path, os.fsdecode(b"run-\xff.csv"), "run-\u202e<b>.csv")
    assert [attempt.name for attempt in read(tmp_path)] == ["run-\\udcff.csv", "run-\u202e<b>.csv"]
    for attempt in read(tmp_path):
        assert "".join([attempt.name, *attempt.sources]).encode("utf-8")


def test_a_json_of_unknown_kind_alone_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text('{"lm loss": {"values": {"1": 2.5}}}')
    with pytest.raises(NothingToRead) as nothing:
        read(tmp_path)
    assert str(nothing.value) == (
        f"{tmp_path}: no log with a number in it. No reader knows golden.json. "
        "Remedy: `chronicle doctor` on it says what it lacks"
    )
    with pytest.raises(UnknownFormat) as caught:
        read(tmp_path / "golden.json")
    assert str(caught.value) == (
        f"{tmp_path}/golden.json: no reader knows this format. "
        "Remedy: `chronicle doctor` shows what its lines lack; "
        "convert it to CSV with a column `step`, or write a reader (docs/own-reader.md)"
    )


def test_tables_that_are_named_after_what_they_hold_are_one_attempt(tmp_path: Path) -> None:
    """As d3rlpy writes them: rows of an epoch, a step and a value without names, and of four with names."""
    for n, name in enumerate(("actor_loss", "critic_loss", "td_error", "time_step")):
        rows = (f"{epoch},{100 * epoch},{9.5 / (epoch + n)}\n" for epoch in range(1, 13))
        (tmp_path / f"{name}.csv").write_text("".join(rows))
    for n, part in enumerate(("policy.0.weight_grad", "policy.0.bias_grad", "q_funcs.0.fc.weight_grad")):
        rows = (f"{e},{100 * e},{-1.5 / (e + n)},{2.5 / (e + n)},0.25\n" for e in range(1, 13))
        (tmp_path / f"{part}.csv").write_text("epoch,step,min,max,mean\n" + "".join(rows))
    assert [run.run_id for run in runs_below(tmp_path)] == [tmp_path.name]
    timeline = stitch(read(tmp_path))
    assert len(timeline.attempts) == 1
    assert {"actor_loss", "td_error", "time_step", "q_funcs.0.fc.weight_grad/max"} <= timeline.series.keys()
    assert {tuple(track.steps) for track in timeline.series.values()} == {tuple(range(100, 1300, 100))}


@pytest.mark.parametrize(
    ("table", "problems"),
    [
        ("id\tlabel\n0\taccusation\n1\taidenemy\n2\ttreaties\n", 0),  # as of PyKEEN
        ("smiles,y\nCCO,2.5\nCCN,3.5\nCCC,1.5\n", 0),  # predictions of Chemprop
        ("good nice fine\n - Gold: pos\n - Pred: pos\n", 0),  # predictions of Flair
        ("\x01\x02\n", 1),
    ],
)
def test_a_table_that_names_its_rows_is_no_log_that_cannot_be_read(
    table: str, problems: int, tmp_path: Path
) -> None:
    make(tmp_path, "run/train.csv")
    (tmp_path / "run" / "data.csv").write_text(table)
    reading = read_all(tmp_path)
    assert (len(reading.attempts), len(reading.problems)) == (1, problems)


def test_a_broken_state_is_a_problem_also_beside_a_log(tmp_path: Path) -> None:
    make(tmp_path, "a.csv")
    (tmp_path / "trainer_state.json").write_text("junk")
    assert [p.where for p in read_all(tmp_path).problems] == [str(tmp_path / "trainer_state.json")]


def test_one_bad_log_stops_nothing(tmp_path: Path) -> None:
    make(tmp_path, "a.csv", "c.csv")
    (tmp_path / "b.csv").write_bytes(b"\x00\x01 junk")
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["a.csv", "c.csv"]
    assert [problem.where for problem in reading.problems] == [str(tmp_path / "b.csv")]
    assert len(read(tmp_path)) == 2


def test_pipes_and_sockets_are_told_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "sock.jsonl"))
        reading = read_all(make(tmp_path, "a.csv"))
    assert [attempt.name for attempt in reading.attempts] == ["a.csv"]
    message = "is not a regular file (a pipe, socket or device). Remedy: name a file"
    assert [problem.problem for problem in reading.problems] == [message, message]
    with pytest.raises(LogError, match="is not a regular file"):
        read(tmp_path / "pipe")


def test_nobody_waits_for_a_pipe_beside_a_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    keeps_it_open = os.open(tmp_path / "pipe.csv", os.O_RDWR)
    os.write(keeps_it_open, b"step,loss\n1,2.0\n")
    with pytest.raises(OSError, match="is not a regular file"):
        find.claims(tmp_path / "pipe.csv")
    assert [run.run_id for run in expand([make(tmp_path, "a.csv")])] == ["a", "pipe"]
    os.close(keeps_it_open)


def test_links_are_followed_once_and_told_when_broken(tmp_path: Path) -> None:
    make(tmp_path / "logs", "run/a.csv")
    (tmp_path / "logs" / "again").symlink_to("run")
    (tmp_path / "logs" / "run" / "up").symlink_to("..")
    (tmp_path / "logs" / "gone.csv").symlink_to("nowhere.csv")
    (tmp_path / "logs" / "self.csv").symlink_to("self.csv")
    reading = read_all(tmp_path / "logs")
    assert [attempt.name for attempt in reading.attempts] == ["run/a.csv"]
    assert [problem.problem for problem in reading.problems] == [
        "is a link to nowhere.csv, which does not exist. Remedy: repair or remove the link",
        "is a link that leads to itself. Remedy: repair or remove the link",
    ]


def test_what_may_not_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.csv", "b.csv", "locked/c.csv")
    real_open, real_scandir = Path.open, os.scandir

    def guarded(self: Path, *arguments: object, **options: object) -> object:
        if self.name == "b.csv":
            raise PermissionError(13, "Permission denied")
        return real_open(self, *arguments, **options)  # type: ignore[call-overload]

    def listed(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(Path, "open", guarded)
    monkeypatch.setattr(os, "scandir", listed)
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["a.csv"]
    message = "cannot be read (Permission denied). Remedy: check its permissions"
    assert {Path(p.where).name: p.problem for p in reading.problems} == {"b.csv": message, "locked": message}


class Copycat:
    """Claims what is CSV."""

    NAME, SUFFIXES = "copycat", ()

    def identify(self, head: Head) -> bool:
        return head.path.suffix == ".csv"

    def read(self, path: Path) -> list[object]:
        return []


def test_two_claimants_are_both_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.readers.catalogue.plugins", lambda: ((Copycat(),), ()))
    make(tmp_path, "a.csv", "b.jsonl")
    with pytest.raises(AmbiguousFormat, match="readers 'csv' and 'copycat' both claim it"):
        read(tmp_path / "a.csv")
    assert [attempt.name for attempt in read(tmp_path)] == ["b.jsonl"]


def test_aliases_give_roles(tmp_path: Path) -> None:
    csv_log(tmp_path / "a.csv", {"odd": [(1, 2.0)], "loss": [(1, 2.0)]})
    (attempt,) = read(tmp_path, aliases=[("odd", Role.GRAD_NORM)])
    assert [attempt.series[name].role for name in ("odd", "loss")] == [Role.GRAD_NORM, Role.LOSS]


def test_archives_of_comet_side_by_side_are_attempts_of_the_experiment_of_their_key(tmp_path: Path) -> None:
    archive = (Path(__file__).parent / "examples" / "comet" / "client-3.58.8.zip").read_bytes()
    key, another = "0" * 32, "f" * 32
    for name in (f"{key}.zip", f"{key}-iCJOHP.zip", f"{another}.zip"):
        (tmp_path / name).write_bytes(archive)
    assert runs(tmp_path) == {key: [f"{key}-iCJOHP.zip", f"{key}.zip"], another: [f"{another}.zip"]}


def test_offline_runs_of_neptune_are_found_in_the_hidden_folder_where_it_keeps_them(tmp_path: Path) -> None:
    log = (Path(__file__).parent / "examples" / "neptune" / "client-1.14.0.log").read_bytes()
    folder = tmp_path / ".neptune" / "offline" / "run__43acb7cb-8971__5707__dztx6oef"
    folder.mkdir(parents=True)
    (folder / "data-1.log").write_bytes(log)
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "data-1.log").write_bytes(log)
    assert [run.paths for run in runs_below(tmp_path)] == [(folder.parent,)]
    assert [attempt.name for attempt in read(tmp_path)] == [folder.relative_to(tmp_path).as_posix()]


def test_a_repository_of_aim_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / ".aim" / "meta").mkdir(parents=True)
    with pytest.raises(NothingToRead, match="Remedy: install aim, because only Aim's own"):
        read(tmp_path)


def test_folders_named_after_loggers_and_phases_are_parts_of_one_run(tmp_path: Path) -> None:
    """Lightning with two loggers, MMEngine's and CatBoost's folders of one training."""
    for parts in (("tb/version_0", "csv/version_0"), (".", "vis_data"), ("learn", "test")):
        root = tmp_path / parts[1].partition("/")[0]
        for part in parts:
            (root / part).mkdir(parents=True, exist_ok=True)
        event_log(root / parts[0] / "events.out.tfevents.1700000000.h.1.0", LOSS)
        events = parts[1] == "test"
        name = "events.out.tfevents.1700000000.h.1.1" if events else "metrics.csv"
        (event_log if events else csv_log)(root / parts[1] / name, LOSS)
        assert [run.run_id for run in runs_below(root)] == [root.name]
    assert list(read(tmp_path / "test")[0].series) == ["learn/loss", "test/loss"]


def test_what_catboost_writes_beside_its_document_is_no_attempt_of_its_own(tmp_path: Path) -> None:
    document = Path(__file__).parent / "examples" / "catboost" / "catboost_training.json"
    make(tmp_path, "catboost_info/learn_error.tsv", "catboost_info/learn/events.out.tfevents.1")
    (tmp_path / "catboost_info" / document.name).write_bytes(document.read_bytes())
    (attempt,) = read(tmp_path)
    assert (attempt.name, list(attempt.series)) == ("catboost_info", ["learn/Logloss", "test/Logloss"])


def test_the_beginning_of_a_file_is_read_again_only_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, opened = make(tmp_path, "log.csv") / "log.csv", list[Path]()

    def opener(path: str, flags: int) -> int:
        opened.append(Path(path))
        return os.open(path, flags)

    monkeypatch.setattr("chronicle.readers.text.only_regular", opener)
    first = Head.of(file)
    assert Head.of(file) is first
    assert opened == [file]
    with file.open("a") as log:
        log.write("100,2.5\n")
    assert Head.of(file).start.endswith(b"100,2.5\n")
    assert opened == [file, file]
