"""Steps that count within an epoch, against the obvious way of counting on."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from chronicle.readers import read
from chronicle.readers.step_axis import Column, across_epochs, counts_up, steps_per_epoch


def made(steps: list[int], epochs: list[float]) -> tuple[int | None, list[int]]:
    """(length of an epoch, steps over all epochs) of rows that all have both."""
    column = Column(np.array(epochs), np.arange(len(epochs)))
    length = steps_per_epoch(np.array(steps), column)
    if length is None:
        return None, steps
    return length, across_epochs(np.array(steps), column, length).tolist()


@pytest.mark.parametrize("first_epoch", [0, 1])
@pytest.mark.parametrize("first_step", [0, 1, 50])
def test_counts_on_over_epochs(first_epoch: int, first_step: int) -> None:
    random_ = random.Random(first_epoch + first_step)
    for _ in range(50):
        interval = max(first_step, random_.randrange(1, 9))
        per_epoch, n_epochs = random_.randrange(2, 9), random_.randrange(2, 6)
        start = first_step if first_step != 50 else interval
        within = [start + interval * k for k in range(per_epoch)]
        steps = [step for _ in range(n_epochs) for step in within]
        epochs = [float(first_epoch + e) for e in range(n_epochs) for _ in within]
        length = within[-1] + (interval if start == 0 else 0)
        assert made(steps, epochs) == (length, [s + e * length for e in range(n_epochs) for s in within])


@pytest.mark.parametrize(
    ("steps", "epochs"),
    [
        ([0, 10, 20, 30], [0, 0, 1, 1]),  # counts on by itself
        ([0, 10, 0, 10], [0, 0, 0, 0]),  # two launches
        ([0, 10, 20, 30, 20, 30, 40], [0, 0, 1, 1, 1, 1, 2]),  # a rollback
        ([0, 10, 0, 10], [0.0, 0.5, 1.0, 1.5]),  # a share of the data
        ([0, 10, 20, 5, 30, 40, 50], [0, 1, 2, 2, 3, 4, 5]),  # an evaluation out of order
        ([5], [1]),
        ([5, 6], [float("nan"), 1]),
    ],
    ids=str,
)
def test_any_other_step_is_left_alone(steps: list[int], epochs: list[float]) -> None:
    assert made(steps, epochs) == (None, steps)


@pytest.mark.parametrize(
    ("values", "epochs", "counts"),
    [
        ([10, 20, 30, 10, 20, 30], [1, 1, 1, 2, 2, 2], True),
        ([10, 20, 30, 40, 50, 60], [1, 1, 1, 2, 2, 2], True),  # over all epochs
        ([10, 20, 30, 5, 15, 25], [], True),
        ([10, 20, 30, 28, 29, 30], [], False),  # goes back to where nothing began
        ([10, 20, 30, 10, 20, 30], [1] * 6, True),  # a second launch
        ([30, 10, 20, 15, 5, 9], [1] * 6, False),
        ([10, 20, 10, 20, 21, 22], [1, 1, 2, 2, 3, 3], False),  # begins anew with one epoch of two
        ([10, 20, 30, 40], [0.2, 0.4, 1.1, 1.3], True),
        ([10, 20, 10, 20], [0.2, 0.4, 1.1, 1.3], False),  # no whole epochs to count it on by
        ([64, 64, 32, 64, 64, 32], [1, 1, 1, 2, 2, 2], False),
        ([16, 16, 32, 32, 64, 64], [1, 1, 2, 2, 3, 3], False),  # a size that grows
        ([float("inf"), float("-inf"), float("inf")], [float("nan"), float("inf"), 1], False),
        ([7], [], True),
        ([], [], False),
    ],
    ids=str,
)
def test_what_counts_up(values: list[float], epochs: list[float], counts: bool) -> None:
    counter = Column(np.array(values), np.arange(len(values)))
    assert counts_up(counter, Column(np.array(epochs), np.arange(len(epochs)))) == counts


def test_a_resume_from_the_beginning_of_an_epoch_goes_back(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    at = [(e, i) for e in (1, 2, 3) for i in (1, 2, 3, 4)] + [(3, i) for i in (1, 2, 3, 4)] + [(4, 1)]
    log.write_text("".join(json.dumps({"epoch": e, "iter": i, "loss": 1.0}) + "\n" for e, i in at))
    (attempt,) = read(log)
    assert attempt.series["loss"].steps.tolist() == [*range(1, 13), 9, 10, 11, 12, 13]
    assert attempt.facts["steps_per_epoch"] == 4


def test_rows_without_an_epoch_belong_to_the_epoch_before() -> None:
    steps = np.array([1, 2, 3, 1, 2, 3])
    epochs = Column(np.array([0.0, 1.0]), np.array([0, 3]))
    assert steps_per_epoch(steps, epochs) is None  # no two epochs of rows: the step stays at 1
    assert across_epochs(steps, epochs, 3).tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("steps", "epochs"),
    [
        ([50, 176, 50, 100, 176, 50, 100], [1, 1, 2, 1, 2, 3, 3]),  # a wrong epoch
        ([50, 176, 50, 100, 150, 176], [1, 1, 2, 3, 3, 3]),  # the second one lost its end
    ],
    ids=["wrong", "lost"],
)
def test_what_comes_later_moves_no_step_of_what_came_before(steps: list[int], epochs: list[float]) -> None:
    assert made(steps[:3], epochs[:3]) == (176, [50, 176, 226])
    length, counted = made(steps, epochs)
    assert (length, counted[:3]) == (176, [50, 176, 226])


@pytest.mark.parametrize(
    ("schedule", "last"),
    [("over all", 59), ("anew", 19), ("none", 19), ("lower from the start", 19)],
)
def test_steps_that_begin_anew_go_on_where_the_learning_rate_does(
    schedule: str, last: int, tmp_path: Path
) -> None:
    """Three epochs of twenty steps; or three launches, each with its own schedule, or with none."""
    rows = np.arange(60)
    rate = {
        "over all": np.minimum(rows / 8, (60 - rows) / 52) * 1e-3,
        "anew": np.minimum(rows % 20 / 8, (20 - rows % 20) / 12) * 1e-3,
        "none": np.full(60, 1e-3),
        "lower from the start": 1e-3 * 0.5 ** (rows // 20),
    }[schedule]
    lines = [f"{n % 20},{5 - n / 20:.3f},{lr:.8f}" for n, lr in zip(rows, rate, strict=True)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["step,loss,lr", *lines]) + "\n")
    (attempt,) = read(log)
    assert attempt.series["loss"].steps[-1] == last


@pytest.mark.parametrize("wrong", [0, -3])
@pytest.mark.parametrize("at", range(4, 9))
def test_a_single_row_before_the_first_epoch_moves_no_other(wrong: int, at: int) -> None:
    steps, epochs = [50, 100, 176] * 3, [1.0, 1, 1, 2, 2, 2, 3, 3, 3]
    epochs[at] = wrong
    length, counted = made(steps, epochs)
    right = [50, 100, 176, 226, 276, 352, 402, 452, 528]
    assert length == 176
    assert counted[:at] + counted[at + 1 :] == right[:at] + right[at + 1 :]
    assert counted[at] == steps[at] + 176 * (int(epochs[at - 1]) - 1)  # the epoch of the row before


def test_a_training_that_began_again_before_the_first_epoch_goes_back() -> None:
    steps, epochs = [50, 100, 176] * 4, [2.0, 2, 2, 3, 3, 3, 1, 1, 1, 2, 2, 2]
    assert made(steps, epochs) == (176, [226, 276, 352, 402, 452, 528, 50, 100, 176, 226, 276, 352])


def test_an_epoch_that_is_taken_from_the_row_before_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    at = [(e, i) for e in (1, 2, 3) for i in (50, 100, 176)]
    at[6] = (0, 50)
    log.write_text("".join(json.dumps({"epoch": e, "iter": i, "loss": 1.0}) + "\n" for e, i in at))
    (attempt,) = read(log)
    assert [(fault.what, fault.count) for fault in attempt.faults] == [
        ("epoch is not a whole number, or before the first; taken from the row before", 1)
    ]


def test_a_step_of_minus_one_is_the_end_of_an_epoch(tmp_path: Path) -> None:
    """As sentence-transformers writes its evaluations."""
    rows = [f"{k // 4},{-1 if k % 4 == 3 else 100 * (k % 4 + 1)},{k / 20}\n" for k in range(16)]
    (tmp_path / "similarity_results.csv").write_text("epoch,steps,cosine_pearson\n" + "".join(rows))
    (attempt,) = read(tmp_path / "similarity_results.csv")
    score = attempt.series["cosine_pearson"]
    assert score.values.tolist() == [k / 20 for k in range(16)]
    assert score.steps.tolist()[:5] == [100, 200, 300, 300, 400]
