"""Run files of W&B: names old and new, axes, ends, and damage in every place."""

from __future__ import annotations

import math
import random
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.readers.tracker_writers import (
    BLOCK,
    key,
    nested,
    wandb_alert,
    wandb_exit,
    wandb_file,
    wandb_history,
    wandb_log,
    wandb_metric,
    wandb_output,
    wandb_run,
)
from tests.readers.writers import csv_log

from chronicle.errors import BadLog
from chronicle.model import Attempt
from chronicle.readers import read, runs_below
from chronicle.readers.events.tfrecord import fields
from chronicle.readers.find import folder_claims
from chronicle.readers.trackers import wandb
from chronicle.readers.trackers.wandb import ZEROS, Frames, History, named


def read_records(file: Path, *records: bytes) -> Attempt:
    file.write_bytes(wandb_file(records))
    return wandb.read(file)[0]


@pytest.mark.parametrize("old", [True, False], ids=["key", "nested_key"])
def test_names_of_old_and_new_clients(tmp_path: Path, old: bool) -> None:
    row = {"train/loss": 2.5, "text": "hello", "seven": "7", "flag": True, "none": None}
    attempt = read_records(tmp_path / "a.wandb", wandb_history(row, 3, old=old), wandb_exit(0))
    assert {name: s.values.tolist() for name, s in attempt.series.items()} == {
        "train/loss": [2.5],
        "seven": [7.0],
        "flag": [1.0],
    }
    assert attempt.series["train/loss"].steps.tolist() == [3]


def test_nested_names_are_joined_as_wandb_shows_them(tmp_path: Path) -> None:
    row = {("train", "loss"): 2.5, "eval": {"loss": 3.5, "deep": {"acc": 0.5}}, "h": {"_type": "histogram"}}
    attempt = read_records(tmp_path / "a.wandb", wandb_history(row, 0), wandb_exit(0))
    assert {name: s.values.tolist() for name, s in attempt.series.items()} == {
        "train.loss": [2.5],
        "eval.loss": [3.5],
        "eval.deep.acc": [0.5],
    }


def test_the_size_of_a_picture_is_no_metric_however_it_is_logged(tmp_path: Path) -> None:
    picture = {"_type": "image-file", "width": 640, "height": 480, "caption": {"n": 3}}
    apart = {("plots", "map", name): value for name, value in picture.items() if name != "caption"}
    row = {"loss": 2.5, "whole": picture, **apart, ("plots", "mean"): 0.5}
    attempt = read_records(tmp_path / "a.wandb", wandb_history(row, 0), wandb_exit(0))
    assert {*attempt.series} == {"loss", "plots.mean"}


def test_nan_and_infinity_are_data(tmp_path: Path) -> None:
    history = [wandb_history({"loss": v}, i) for i, v in enumerate((1.0, math.nan, math.inf, -math.inf, 0.0))]
    attempt = read_records(tmp_path / "a.wandb", *history, wandb_exit(0))
    np.testing.assert_array_equal(attempt.series["loss"].values, [1.0, math.nan, math.inf, -math.inf, 0.0])


@pytest.mark.parametrize(
    ("logged", "declared", "steps"),
    [
        ({"update_step": 1}, None, [1, 2, 3, 4]),
        ({"train/global_step": 10}, None, [10, 20, 30, 40]),
        ({"my clock": 5}, "my clock", [5, 10, 15, 20]),
        ({"my clock": 5}, None, [0, 4, 8, 12]),
        ({"epoch": 1}, None, [0, 4, 8, 12]),
        ({"consumed_samples": 64}, None, [0, 4, 8, 12]),
        ({"global_step": 0}, None, [0, 4, 8, 12]),
        ({"global_step": 0.5}, None, [0, 4, 8, 12]),
    ],
    ids=str,
)
def test_an_optimizer_step_goes_before_the_count_of_logs(
    tmp_path: Path, logged: dict[str, float], declared: str | None, steps: list[int]
) -> None:
    history = [
        wandb_history({"loss": 1.0 / (i + 1)} | {k: v * (i + 1) for k, v in logged.items()}, 4 * i)
        for i in range(4)
    ]
    metric = [wandb_metric(declared)] if declared else []
    attempt = read_records(tmp_path / "a.wandb", *metric, *history, wandb_exit(0))
    assert attempt.series["loss"].steps.tolist() == steps
    assert "_step" not in attempt.series


def test_a_rare_step_metric_is_no_axis(tmp_path: Path) -> None:
    history = [wandb_history({"loss": 1.0} | ({"eval/step": i} if i > 7 else {}), i) for i in range(10)]
    assert read_records(tmp_path / "a.wandb", *history).series["loss"].steps.tolist() == list(range(10))


def test_the_row_that_sums_up_a_trainer_is_no_point(tmp_path: Path) -> None:
    history = [wandb_history({"train/loss": 3.0 - i, "train/global_step": i + 1}, i) for i in range(3)]
    last = {"train/train_runtime": 60.5, "train/train_loss": 2.0, "train/global_step": 3}
    attempt = read_records(tmp_path / "a.wandb", *history, wandb_history(last, 3), wandb_exit(0))
    assert list(attempt.series) == ["train/loss"]
    assert attempt.facts["summary"] == {"train/train_runtime": 60.5, "train/train_loss": 2.0}


def test_what_a_run_says_of_itself(tmp_path: Path) -> None:
    config = {"lr": 0.1, "model": {"layers": 2, "act": None}, "betas": [0.9, 0.95], "seed": 7, "_wandb": {}}
    run = wandb_run(config=config, project="p", name="n", host="h", commit="abc")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "wandb-metadata.json").write_text(
        '{"gpu": "NVIDIA A100", "gpu_count": 8, "host": "old", "git": {"commit": "old"}, "program": "t.py"}'
    )
    (tmp_path / "a.wandb").write_bytes(wandb_file((run, wandb_history({"loss": 1.0}, 0), wandb_exit(255))))
    (attempt,) = read(tmp_path / "a.wandb")
    assert attempt.facts == {
        "format": "wandb",
        "program": "t.py",
        "host": "h",
        "gpu_type": "NVIDIA A100",
        "gpu_count": 8,
        "git_commit": "abc",
        "run": "a1b2c3d4",
        "project": "p",
        "name": "n",
        "started_at": 1.7e9,
        "exit_code": 255,
        "ended": "killed",
        "seed": 7,
        "config/lr": 0.1,
        "config/model/layers": 2,
        "config/betas": "0.9, 0.95",
        "config/seed": 7,
    }


def test_job_and_nodes_of_slurm(tmp_path: Path) -> None:
    entries = {"job_id": "123", "job_nodelist": "gpu[01-03]", "x": "y"}
    slurm = b"".join(nested(27, nested(1, k.encode()) + nested(2, v.encode())) for k, v in entries.items())
    attempt = read_records(tmp_path / "a.wandb", nested(26, slurm), wandb_history({"loss": 1.0}, 0))
    assert attempt.facts == {"job": "123", "nodes": "gpu[01-03]"}


@pytest.mark.parametrize(
    ("records", "ended", "truncated"),
    [
        ([wandb_exit(0)], "finished", False),
        ([wandb_exit(1)], "crashed", False),
        ([wandb_exit(-9)], "crashed", False),
        ([wandb_exit(255)], "killed", False),
        ([], None, True),
    ],
)
def test_how_a_run_ended(tmp_path: Path, records: list[bytes], ended: str | None, truncated: bool) -> None:
    attempt = read_records(tmp_path / "a.wandb", wandb_history({"loss": 1.0}, 0), *records)
    assert (attempt.facts.get("ended"), attempt.truncated) == (ended, truncated)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("run-20260120_015454-xinacahi", "xinacahi"),
        ("offline-run-20260120_015454-my-run", "my-run"),
        ("run-1", ""),
        ("latest-run", ""),
    ],
)
def test_launches_of_one_run_have_one_key(tmp_path: Path, name: str, key: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert wandb.run_key(folder) == wandb.run_key(folder / "run-x.wandb") == key


def test_a_folder_is_a_run_if_one_file_of_it_was_written(tmp_path: Path) -> None:
    log = tmp_path / "run-a1b2c3d4.wandb"
    log.touch()
    assert not wandb.identify_folder(tmp_path)
    with pytest.raises(BadLog, match="is not the folder of one launch"):
        wandb.read_folder(tmp_path)
    wandb_log(log, {"loss": [(0, 1.0)]})
    assert wandb.identify_folder(tmp_path)
    (attempt,) = wandb.read_folder(tmp_path)
    assert (attempt.name, attempt.sources) == (tmp_path.name, (str(log),))
    wandb_log(tmp_path / "run-second.wandb", {"loss": [(0, 1.0)]})
    assert not wandb.identify_folder(tmp_path)


def test_other_logs_beside_a_run_file_are_not_lost(tmp_path: Path) -> None:
    points = {"loss": [(step, 3.0 - step / 20) for step in range(20)]}
    for name in ("mine", "run-20260101_000000-a1b2c3d4"):
        folder = tmp_path / name
        (folder / "files").mkdir(parents=True)
        (folder / "deep").mkdir()
        wandb_log(folder / "run-a1b2c3d4.wandb", points)
        (folder / "files" / "output.log").write_text("1 GPU\n")
        (folder / "README.md").write_text("3 runs\n")
        assert [reader.NAME for reader in folder_claims(folder)] == ["wandb"]
        csv_log(folder / "deep" / "eval.csv", {"score": [(step, float(step)) for step in range(5)]})
    mine, launch = tmp_path / "mine", tmp_path / "run-20260101_000000-a1b2c3d4"
    assert (folder_claims(mine), [folder_claim.NAME for folder_claim in folder_claims(launch)]) == (
        [],
        ["wandb"],
    )
    assert sorted(folder_claim.name for folder_claim in read(mine)) == ["deep/eval.csv", "run-a1b2c3d4.wandb"]
    (attempt,) = read(launch)
    assert [(fault.where, fault.what) for fault in attempt.faults] == [
        (
            str(launch / "deep" / "eval.csv"),
            "is not read, because it is in the folder of a launch. Remedy: move it beside that folder",
        )
    ]


def test_launches_of_one_run_are_its_attempts(tmp_path: Path) -> None:
    for day, steps in (("01", (0, 10, 20)), ("02", (30, 40)), ("03", (20, 30))):
        folder = tmp_path / "wandb" / f"run-202601{day}_000000-a1b2c3d4"
        folder.mkdir(parents=True)
        points = {"loss": [(step, 3.0 - step / 20) for step in steps]}
        wandb_log(folder / "run-a1b2c3d4.wandb", points, start=1.7e9 + 86400 * int(day))
    other = tmp_path / "wandb" / "run-20260101_000000-other"
    other.mkdir()
    wandb_log(other / "run-other.wandb", {"loss": [(0, 3.0)]})
    died = tmp_path / "wandb" / "run-20260104_000000-a1b2c3d4"
    died.mkdir()
    (died / "run-a1b2c3d4.wandb").touch()
    by_id = {run.run_id: run for run in runs_below(tmp_path)}
    assert list(by_id) == ["wandb/a1b2c3d4", "wandb/other"]
    launches = [attempt for path in by_id["wandb/a1b2c3d4"].paths for attempt in read(path)]
    assert [attempt.series["loss"].steps.tolist() for attempt in launches] == [
        [0, 10, 20],
        [30, 40],
        [20, 30],
    ]
    assert {attempt.facts["run"] for attempt in launches} == {"a1b2c3d4"}


def test_faults_in_the_console_output_whatever_pieces_it_came_in(tmp_path: Path) -> None:
    pieces = ["\r 50%|", "x" * 9000, "\n\x1b[31mCUDA out of ", "memory. Tried to allocate 2.00 GiB", "\n"]
    output = [wandb_output(piece, at=1_700_000_000 + i) for i, piece in enumerate(pieces)]
    output.insert(2, wandb_output("between the pieces\n", stream=1))
    (fault,) = read_records(tmp_path / "a.wandb", wandb_history({"loss": 1.0}, 0), *output).faults
    assert (fault.kind, fault.at_time, fault.where) == (
        "out-of-memory",
        1_700_000_004.0,
        f"{tmp_path}/a.wandb:3",
    )


def test_alerts_preemption_and_dropped_rows_are_told(tmp_path: Path) -> None:
    dropped = "wandb: WARNING Tried to log to step {} that is less than the current step 311. Steps must be\n"
    records = [wandb_output(dropped.format(i)) for i in range(3)]
    records += [wandb_alert("loss", "is NaN"), nested(23, b""), wandb_history({"loss": 1.0}, 311)]
    assert [(f.kind, f.what, f.count) for f in read_records(tmp_path / "a.wandb", *records).faults] == [
        ("alert", "alert (warn): loss: is NaN", 1),
        ("preemption", "marked as about to be preempted", 1),
        ("read", "W&B dropped rows that were logged below the step it was at, 311", 3),
    ]


def test_a_file_without_history_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadLog, match="no metric was logged"):
        read_records(tmp_path / "a.wandb", wandb_run(), wandb_exit(1))


@given(st.lists(st.binary(max_size=3 * BLOCK // 2), max_size=6), st.integers(0, 20))
def test_every_record_comes_back(records: list[bytes], lead: int) -> None:
    records = [bytes(BLOCK - 7 - 7 - lead), *records]  # so that the next header meets the end of a block
    frames = Frames(BytesIO(wandb_file(records)))
    assert list(frames) == records
    assert (frames.damage, frames.truncated) == ([], False)


@pytest.mark.slow
def test_a_flipped_byte_costs_one_record_or_the_rest_of_its_block() -> None:
    records = [f"record {i} ".encode() * 9 for i in range(2000)]
    whole, random_ = wandb_file(records), random.Random(0)
    for _ in range(200):
        at = random_.randrange(7, len(whole))
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random_.randrange(8)
        frames = Frames(BytesIO(bytes(damaged)))
        kept = list(frames)
        assert set(kept) < set(records)
        assert sum(map(len, set(records) - set(kept))) <= BLOCK + 200
        assert frames.damage or frames.truncated


def test_a_damaged_payload_costs_that_record_alone() -> None:
    records = [f"record {i} ".encode() for i in range(5)]
    damaged = bytearray(wandb_file(records))
    damaged[7 + 16 + 7 + 3] ^= 1
    frames = Frames(BytesIO(bytes(damaged)))
    assert list(frames) == [records[0], *records[2:]]
    assert frames.damage == [(23, "a record is damaged; skipped")]


@pytest.mark.parametrize("n_zeros", [7, 5000, 3 * BLOCK])
def test_zeros_between_records_are_damage_and_zeros_at_the_end_are_not(n_zeros: int) -> None:
    begun = wandb_file([b"one"])
    frames = Frames(BytesIO(begun + bytes(n_zeros)))
    assert (list(frames), frames.damage, frames.truncated) == ([b"one"], [], True)
    zeros = bytes(-len(begun) % BLOCK + 2 * BLOCK)
    frames = Frames(BytesIO(begun + zeros + wandb_file([b"two"])[7:]))
    assert list(frames) == [b"one", b"two"]
    assert (frames.damage, frames.truncated) == ([(len(begun), ZEROS)], False)


def test_zeros_after_the_end_are_a_log_that_is_written(tmp_path: Path) -> None:
    log = tmp_path / "a.wandb"
    wandb_log(log, {"loss": [(0, 1.0), (1, 0.5)]})
    log.write_bytes(log.read_bytes() + bytes(5000))
    attempt = read(log)[0]
    assert attempt.series["loss"].values.tolist() == [1.0, 0.5]
    assert attempt.truncated
    assert attempt.faults == ()


PIECES = [key(n, k) for n in (1, 2, 3, 4, 10, 13, 16, 17, 18, 26) for k in (0, 2)] + [
    b"\x04loss",
    b"\x03NaN",
    b"\x82\x01",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=9)), max_size=12), st.integers(0, 30))
def test_any_record_is_taken_or_counted(pieces: list[bytes], kind: int) -> None:
    record = b"".join(pieces)
    with tempfile.TemporaryDirectory() as folder:
        good = wandb_history({"loss": 1.0}, 0)
        attempt = read_records(Path(folder, "a.wandb"), good, record, nested(kind + 1, record), wandb_exit(0))
    assert attempt.series["loss"].values[0] == 1.0
    assert all(fault.what.endswith("skipped") or fault.kind != "read" for fault in attempt.faults)


@given(st.binary(max_size=300), st.integers(0, 40))
def test_any_bytes_are_framed(content: bytes, n_zeros: int) -> None:
    frames = Frames(BytesIO(wandb_file([b"one"]) + bytes(n_zeros) + content))
    assert next(iter(list(frames))) == b"one"


VALUES = st.one_of(
    st.floats(), st.integers(-(2**70), 2**70), st.booleans(), st.none(), st.text(max_size=3), st.just("7.5"),
    st.just({"a": 1.5, "b": {"c": "x"}}), st.lists(st.integers(), max_size=2), st.just("long" * 40),
)  # fmt: skip
KEYS = st.one_of(
    st.sampled_from(["loss", "a", "_timestamp", "\x82\x01", "x" * 126, "x" * 300]), st.text(max_size=3)
)
ROWS = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=6)


@given(
    ROWS, st.booleans(), st.lists(st.sampled_from([0, 1, 127, 128, 2**53 + 1, 2**62]), min_size=6, max_size=6)
)
def test_known_items_are_read_as_any_item_is(rows: list[dict[str, Any]], old: bool, steps: list[int]) -> None:
    quick, obvious = History(), History()
    obvious._named = named  # type: ignore[method-assign]
    for row, step in zip(rows, steps, strict=False):
        (message,) = (value for n, _, value in fields(wandb_history(row, step, old=old)) if n == 2)
        quick.add(message)
        obvious.add(message)
    assert list(quick.columns()) == list(obvious.columns())
    for name, column in obvious.columns().items():
        np.testing.assert_array_equal(quick.columns()[name].values, column.values)
        np.testing.assert_array_equal(quick.columns()[name].rows, column.rows)
