"""Tables whose rows say whether they are of the training or of an evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.logs import attempt_of, points

from chronicle.readers import read


def test_an_evaluation_that_counts_its_own_batches_stands_where_the_training_is(tmp_path: Path) -> None:
    rows = []
    for epoch in (1, 2, 3):
        rows += [{"mode": "train", "epoch": epoch, "iter": n, "loss": 3 - epoch / 2} for n in (50, 100)]
        rows.append({"mode": "val", "epoch": epoch, "iter": 625, "loss": 2.5, "mAP": epoch / 8})
    attempt = attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.log.json")
    assert attempt.facts["steps_per_epoch"] == 100
    assert points(attempt) == {
        "epoch": [(50, 1), (100, 1), (100, 1), (150, 2), (200, 2), (200, 2), (250, 3), (300, 3), (300, 3)],
        "loss": [(50, 2.5), (100, 2.5), (150, 2.0), (200, 2.0), (250, 1.5), (300, 1.5)],
        "val/loss": [(100, 2.5), (200, 2.5), (300, 2.5)],
        "val/mAP": [(100, 0.125), (200, 0.25), (300, 0.375)],
    }


def test_an_evaluation_may_tell_where_the_epoch_ended(tmp_path: Path) -> None:
    rows = []
    for epoch in (1, 2):
        rows += [{"mode": "train", "epoch": epoch, "iter": n, "loss": 2.5} for n in (50, 100)]
        rows.append({"mode": "val", "epoch": epoch, "iter": 120, "mAP": 0.5})
    attempt = attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.log.json")
    assert attempt.facts["steps_per_epoch"] == 120
    assert points(attempt)["loss"] == [(50, 2.5), (100, 2.5), (170, 2.5), (220, 2.5)]
    assert points(attempt)["val/mAP"] == [(120, 0.5), (240, 0.5)]


def test_an_epoch_is_the_same_in_both_phases(tmp_path: Path) -> None:
    lines = [f"{epoch},{of},{loss}" for epoch in (1, 2) for of, loss in (("train", 2.5), ("Val", 1.5))]
    attempt = attempt_of(tmp_path, "\n".join(["epoch,phase,loss", *lines]) + "\n", "log.csv")
    assert points(attempt) == {"loss": [(1, 2.5), (2, 2.5)], "val/loss": [(1, 1.5), (2, 1.5)]}


@pytest.mark.parametrize("words", [("train", "train"), ("fast", "slow"), ("val", "val"), ("train", "rest")])
def test_other_words_tell_nothing_apart(tmp_path: Path, words: tuple[str, str]) -> None:
    lines = [f"{step},{words[step % 2]},2.5" for step in range(4)]
    attempt = attempt_of(tmp_path, "\n".join(["step,mode,loss", *lines]) + "\n", "log.csv")
    assert points(attempt) == {"loss": [(step, 2.5) for step in range(4)]}


def test_a_word_that_names_no_phase_costs_its_own_row(tmp_path: Path) -> None:
    rows = []
    for epoch in (1, 2, 3):
        rows.append({"mode": "train" if epoch != 2 else "brain", "epoch": epoch, "loss": 2.5})
        rows.append({"mode": "val", "epoch": epoch, "mAP": 0.5})
    attempt = attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.log.json")
    by_metric = points(attempt)
    assert by_metric["loss"] == [(1, 2.5), (3, 2.5)]
    assert by_metric["brain/loss"] == [(2, 2.5)]
    assert by_metric["val/mAP"] == [(1, 0.5), (2, 0.5), (3, 0.5)]


@pytest.mark.parametrize("by_epoch", [True, False])
def test_rows_of_another_table_are_no_samples_of_the_training(tmp_path: Path, by_epoch: bool) -> None:
    rows = []
    for epoch in (1, 2, 3):
        for step in (10 * epoch, 10 * epoch + 10):
            rows.append({"lr": 0.1, "loss": 2.5, "time": 0.5, "epoch": epoch, "iter": step, "step": step})
        rows.append({"coco/AP": 0.25, "time": 9.5, "step": epoch if by_epoch else 10 * epoch + 10})
    attempt = attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "scalars.json")
    by_metric = points(attempt)
    assert by_metric["time"] == [(10, 0.5), (20, 0.5), (20, 0.5), (30, 0.5), (30, 0.5), (40, 0.5)]
    assert by_metric["val/time"] == [(20, 9.5), (30, 9.5), (40, 9.5)]
    assert by_metric["coco/AP"] == [(20, 0.25), (30, 0.25), (40, 0.25)]


@pytest.mark.parametrize(("other", "metrics"), [("train", {"val/loss"}), ("run", {"loss"})])
def test_the_file_of_the_evaluation_beside_that_of_the_training(
    other: str, metrics: set[str], tmp_path: Path
) -> None:
    for name in (other, "val"):
        rows = ({"step": step, "loss": 3 - step / 8, "val_acc": step / 8} for step in range(8))
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (attempt,) = read(tmp_path / "val.jsonl")
    assert set(attempt.series) == metrics | {"val_acc"}
    (attempt,) = read(tmp_path / f"{other}.jsonl")
    assert set(attempt.series) == {"loss", "val_acc"}


def test_texts_in_columns_of_counters_are_no_counters(tmp_path: Path) -> None:
    rows = [{"step": "one", "iter": "one", "loss": 2.5}, {"step": "two", "iter": "two", "loss": 2.0}] * 3
    rows.append({"step": "three", "time": 1.0})
    attempt = attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "log.jsonl")
    assert points(attempt)["loss"] == [(row, 2.5 - 0.5 * (row % 2)) for row in range(6)]


@pytest.mark.parametrize(("flag", "of_training"), [("is_validation", "False"), ("is_train", "1")])
def test_a_flag_tells_the_rows_of_the_evaluation(tmp_path: Path, flag: str, of_training: str) -> None:
    other = {"False": "True", "1": "0"}[of_training]
    rows = [(n, {True: other, False: of_training}[n % 3 == 0], 3 - n / 8) for n in range(1, 10)]
    text = f"step\t{flag}\tloss\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows)
    of_both = points(attempt_of(tmp_path, text, "log.tsv"))
    name = "validation" if flag == "is_validation" else "val"
    assert of_both == {
        "loss": [(n, 3 - n / 8) for n in range(1, 10) if n % 3],
        f"{name}/loss": [(n, 3 - n / 8) for n in (3, 6, 9)],
    }


def test_any_column_that_holds_nothing_but_phases_tells_them(tmp_path: Path) -> None:
    rows = [{"event": "train_step", "step": n, "loss": 4 - n / 4} for n in range(10)]
    rows[5:5] = [{"event": "eval", "step": 4, "loss": 3.5}]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (attempt,) = read(file)
    assert points(attempt) == {"loss": [(n, 4 - n / 4) for n in range(10)], "eval/loss": [(4, 3.5)]}
    file.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, {"event": "checkpoint", "step": 9, "loss": 1.0}])
    )
    assert len(read(file)[0].series["loss"]) == 12
