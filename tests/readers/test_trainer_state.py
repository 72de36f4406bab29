"""The state of a Hugging Face Trainer: what sums up, what it was started with, and its copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chronicle.errors import BadLog
from chronicle.readers import read
from chronicle.timeline import stitch

LOGS: list[dict[str, Any]] = [{"step": 5 * i, "loss": 3.0 - i / 4, "epoch": i / 10} for i in range(1, 5)]
END = {"step": 20, "train_loss": 2.5, "train_runtime": 60.5}


def state(file: Path, history: list[dict[str, Any]], **more: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**more, "log_history": history}, indent=1))
    return file


def test_the_entry_that_sums_up_is_a_fact_and_an_end(tmp_path: Path) -> None:
    (attempt,) = read(state(tmp_path / "trainer_state.json", [*LOGS, END], global_step=20))
    assert attempt.series["loss"].steps.tolist() == [5, 10, 15, 20]
    assert "train_loss" not in attempt.series
    assert attempt.facts["summary"] == END
    assert attempt.facts["ended"] == "finished"


def test_a_training_that_went_on_has_not_ended(tmp_path: Path) -> None:
    more = [{"step": 25, "loss": 1.5}, {"step": 30, "loss": 1.25}]
    (attempt,) = read(state(tmp_path / "trainer_state.json", [*LOGS, END, *more]))
    assert attempt.series["loss"].steps.tolist() == [5, 10, 15, 20, 25, 30]
    assert "ended" not in attempt.facts


def test_what_it_was_started_with(tmp_path: Path) -> None:
    settings = {
        "max_steps": 20,
        "train_batch_size": 8,
        "trial_params": {"seed": 4, "lr": 0.1},
        "total_flos": 1.5,
    }
    (attempt,) = read(state(tmp_path / "trainer_state.json", LOGS, **settings, best_metric=None))
    assert attempt.facts == {
        "format": "trainer_state.json",
        "total_flos": 1.5,
        "seed": 4,
        "config/max_steps": 20,
        "config/train_batch_size": 8,
        "config/seed": 4,
        "config/lr": 0.1,
    }


def test_of_states_that_repeat_each_other_the_furthest_is_read(tmp_path: Path) -> None:
    for folder, n in (("checkpoint-5", 1), ("checkpoint-20", 4), ("checkpoint-10", 2), (".", 3)):
        state(tmp_path / folder / "trainer_state.json", LOGS[:n], global_step=5 * n)
    (attempt,) = read(tmp_path)
    assert attempt.name == "checkpoint-20/trainer_state.json"
    assert attempt.series["loss"].steps.tolist() == [5, 10, 15, 20]


def test_the_state_of_a_branch_that_was_left_is_read_too(tmp_path: Path) -> None:
    later = [*LOGS[:2], *({"step": 5 * i, "loss": 2.875 - i / 4} for i in range(3, 6))]
    for n, history in ((2, LOGS), (4, LOGS), (5, later)):
        state(tmp_path / f"checkpoint-{5 * n}" / "trainer_state.json", history[:n], global_step=5 * n)
    left, kept = read(tmp_path)
    assert (left.name, kept.name) == ("checkpoint-20/trainer_state.json", "checkpoint-25/trainer_state.json")
    assert left.series["loss"].steps.tolist() == [5, 10, 15, 20]
    assert kept.series["loss"].steps.tolist() == [15, 20, 25]
    assert kept.series["loss"].values.tolist() == [2.125, 1.875, 1.625]
    (join,) = stitch([left, kept]).joins
    assert (join.kind.value, join.from_step, join.to_step) == ("rollback", 20, 15)


def test_two_trainings_that_ended_in_the_same_folder_are_both_live(tmp_path: Path) -> None:
    short = [{"step": 5 * i, "loss": 4.0 - i / 2} for i in range(1, 4)]
    for history in (short, LOGS):
        last = 5 * len(history)
        state(
            tmp_path / f"checkpoint-{last}" / "trainer_state.json", history, global_step=last, max_steps=last
        )
    attempts = read(tmp_path)
    assert [attempt.series["loss"].steps.tolist() for attempt in attempts] == [[5, 10, 15], [5, 10, 15, 20]]
    assert [attempt.facts["ended"] for attempt in attempts] == ["finished", "finished"]
    assert stitch(attempts).series["loss"].live.all()


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        *((empty, "has an empty log_history") for empty in ([], None, 7, {}, [1, 2], [END])),
        ([{"note": "x"}], "holds no numbers"),
    ],
    ids=str,
)
def test_a_state_without_a_point(history: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadLog, match=rf"{reason}.*Remedy"):
        read(state(tmp_path / "trainer_state.json", history))
