"""Rows whose numbers have no names beside them: published orders of columns, and names that stand above."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.logs import points, read_text

from chronicle.errors import UnknownFormat
from chronicle.readers import read

EPOCHS = range(9)
PREFIX = "2025-01-02 10:00:{i:02},123\t44k\tINFO\t"


def falls(first: float, *, every: int = 1) -> list[tuple[int, float]]:
    """A number that loses a half at each of the nine steps."""
    return [(every * i, first - i / 2) for i in EPOCHS]


def written(line: str) -> str:
    """The line for each epoch: {i} counts, {s} counts in twenties, a to f fall from 20, 19, ..., 15."""
    letters = {letter: 20.0 - k for k, letter in enumerate("abcdef")}
    return "".join(
        line.format(i=i, s=20 * i, rate=1e-4 * 0.99**i, **{k: v - i / 2 for k, v in letters.items()})
        for i in EPOCHS
    )


FIVE = {"loss_disc": 20.0, "loss_gen": 19.0, "loss_fm": 18.0, "loss_mel": 17.0, "loss_kl": 16.0}
SIX = {**FIVE, "loss_dur": 16.0, "loss_kl": 15.0}
HEADING = PREFIX + "Train Epoch: {i} [0%]\n" + PREFIX


@pytest.mark.parametrize(
    ("line", "losses"),
    {
        HEADING + "[{a}, {b}, {c}, {d}, {e}, {s}, {rate!r}]\n": FIVE,  # so-vits-svc
        HEADING + "[{a}, {b}, {c}, {d}, {e}, {f}, {s}, {rate!r}]\n": SIX,  # VITS
        HEADING + "Losses: [{a}, {b}, {c}, {d}, {e}], step: {s}, lr: {rate!r}\n": FIVE,  # so-vits-svc 4.1
        HEADING + "[{s}, {rate!r}]\n" + PREFIX + "loss_disc={a:.3f}, loss_gen={b:.3f}\n": {  # RVC
            "loss_disc": 20.0,
            "loss_gen": 19.0,
        },
    }.items(),
)
def test_the_lists_of_vits_have_the_names_of_its_source(
    line: str, losses: dict[str, float], tmp_path: Path
) -> None:
    attempt = read_text(tmp_path, written(line))
    of_losses = {name: series for name, series in points(attempt).items() if name.startswith("loss")}
    assert of_losses == {name: falls(first, every=20) for name, first in losses.items()}
    assert attempt.series["lr"].role == "learning-rate"
    assert attempt.series["lr"].steps.tolist() == [20 * i for i in EPOCHS]


def of_yolo(parts: int) -> str:
    """Rows of results.txt: so many parts that fall, their sum, boxes and pixels, and seven columns."""
    rows = []
    for i in EPOCHS:
        losses = [(k + 1) / (i + 1) for k in range(parts)]
        cells = [f"{v:10.4g}" for v in (*losses, sum(losses), 12, 640, 0.5, 0.25, 0, 0, 1, 2, 3)]
        rows.append(f"{f'{i}/8':>10}{'1.49G':>10}{''.join(cells)}\n")
    return "".join(rows)


def test_results_of_yolo_are_named_as_in_the_tables_of_its_successors(tmp_path: Path) -> None:
    attempt = read_text(tmp_path, of_yolo(3))
    assert {name: series.values[0] for name, series in attempt.series.items()} == {
        "train/box_loss": 1, "train/obj_loss": 2, "train/cls_loss": 3, "train/loss": 6,
        "metrics/precision": 0.5, "metrics/recall": 0.25, "metrics/mAP_0.5": 0, "metrics/mAP_0.5-0.95": 0,
        "val/box_loss": 1, "val/obj_loss": 2, "val/cls_loss": 3,
    }  # fmt: skip
    assert attempt.axis == "epoch"


def test_of_a_fork_of_yolo_the_sum_is_the_loss_and_the_rest_is_called_by_its_place(tmp_path: Path) -> None:
    attempt = read_text(tmp_path, of_yolo(5))
    assert {name: (series.values[0], series.role.value) for name, series in attempt.series.items()} == {
        **{f"train/loss_{k}": (k, "loss") for k in range(1, 6)},
        "train/loss": (15, "loss"),
        **{
            f"column {k}": (v, "other")
            for k, v in zip(range(11, 18), (0.5, 0.25, 0, 0, 1, 2, 3), strict=True)
        },
    }


def of_rwkv(i: int, loss: float) -> str:
    return f"{i} {loss:.6f} {math.exp(loss):.4f} 0.00001000 2025-05-27 10:59:{i:02}.237880 {i}\n"


def test_the_log_of_rwkv_holds_all_of_its_launches(tmp_path: Path) -> None:
    arguments = "{{'load_model': 'a.pth', 'lr_init': 1e-05, 'adam': {{'beta1': 0.9}}, 'epoch_save': 5}}\n"
    head = "NEW RUN 2025-05-27-10-5{}-57\n" + arguments
    rows = [of_rwkv(i, 2.5 - i / 4) for i in range(6)]
    (tmp_path / "train_log.txt").write_text("".join(head.format(n) + "".join(rows) for n in range(3)))
    attempts = read(tmp_path / "train_log.txt")
    assert [points(attempt)["loss"] for attempt in attempts] == 3 * [[(i, 2.5 - i / 4) for i in range(6)]]
    assert [sorted(attempt.series) for attempt in attempts] == 3 * [["loss", "lr", "ppl"]]


# --- what is no log ---

NO_LOGS = {
    "a matrix": "".join(f"0.{i}1 0.{i}2 0.{i}3 0.{i}4 0.{i}5 0.{i}6 0.{i}7\n" for i in range(10, 40)),
    "lists": "".join(f"[0.{i}1, 0.{i}2, 0.{i}3, 0.{i}4, 0.{i}5, {i}, 0.{i}7]\n" for i in range(10, 40)),
    "pairs": "".join(f"[{i}, 0.{i}]\n" for i in range(10, 40)),
    "whole lists": "".join(f"[{i}, {i + 1}, {i + 2}]\n" for i in range(10, 40)),
    "boxes": "".join(f"{i % 3} 0.{i}1 0.{i}2 0.{i}3 0.{i}4\n" for i in range(10, 40)),
    "coordinates": "".join(f"{i} {i}.1 {i}.2 {i}.3\n" for i in range(10, 40)),
    "prices": "".join(f"{i} 1.{i} 2.{i} 3.{i} 2024-01-{i} 10:00:00 {i}\n" for i in range(10, 29)),
    "disks": "".join(
        f"{i}/60 1.{i}G 0.{i}1 0.{i}2 0.{i}3 0.{i}4 {i} 2 0.1 0.2 0.3 0.4\n" for i in range(10, 40)
    ),
    "words": "".join(f"word{i} 0.{i}1 0.{i}2 0.{i}3\n" for i in range(10, 40)),
    "checkpoints": "".join(f"model_{i}.pt 0.{i}\n" for i in range(10, 40)),
    "a spreadsheet": " |--- NORTH ---|--- SOUTH ---|\nname | sales cost | sales cost\n"
    + "".join(f"item{i} | 1.{i} 2.{i} | 3.{i} 4.{i}\n" for i in range(10, 40)),
    "a spreadsheet that counts": " |--- NORTH ---|--- SOUTH ---|\nrow | sales cost | sales cost\n"
    + "".join(f"{i} | 1.{i} 2.{i} | 3.{i} 4.{i}\n" for i in range(10, 40)),
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_numbers_that_no_order_explains_are_no_log(name: str, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(NO_LOGS[name])
    with pytest.raises(UnknownFormat):
        read(tmp_path / "data.txt")


def test_names_and_cells_in_tuples_are_columns(tmp_path: Path) -> None:
    """As SASRec writes the scores of its evaluations."""
    text = "epoch (val_ndcg, val_hr) (test_ndcg, test_hr)\n"
    text += "".join(f"{20 * (i + 1)} ({i / 16}, {i / 10}) ({i / 32}, {i / 20})\n" for i in EPOCHS)
    attempt = read_text(tmp_path, text)
    assert points(attempt) == {
        name: [(20 * (i + 1), i / part) for i in EPOCHS]
        for name, part in {"val_ndcg": 16, "val_hr": 10, "test_ndcg": 32, "test_hr": 20}.items()
    }
