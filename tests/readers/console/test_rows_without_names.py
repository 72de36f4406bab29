"""Rows whose numbers have no names beside them: published orders of columns, and names that stand above."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.logs import Points, points, read_text

from chronicle.errors import UnknownFormat
from chronicle.model import Attempt
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


# --- names that stand above ---

HEAD = """** start training here! **
                     |---------- VALID-----|---- TRAIN/BATCH ----------------
rate     iter  epoch | dice   loss         | loss           | time
----------------------------------------------------------------------------
0.00e+0   00000000*   0.00 | 0.046  0.667  | 0.000  0.000   |  0 hr 00 min
"""


def in_groups(n: int) -> str:
    """A log of a table in groups, of n rows behind that of step 0."""
    row = "5.00e-5   {i:08}*   {i:.2f} | 0.5  {loss:.3f}  | {other:.3f}  0.250   |  0 hr {i:02} min\n"
    return HEAD + "".join(row.format(i=i, loss=1 / i, other=2 / i) for i in range(1, n + 1))


def table(attempt: Attempt) -> Points:
    return {name: values[:2] for name, values in points(attempt).items()}


def test_a_table_under_two_lines_of_names_is_read_by_group(tmp_path: Path) -> None:
    """What was not yet measured stands as zeros before the first step, and is no sample."""
    attempt = read_text(tmp_path, in_groups(9))
    assert table(attempt) == {
        "learning rate": [(0, 0.0), (1, 5e-05)],
        "epoch": [(0, 0.0), (1, 1.0)],
        "VALID dice": [(0, 0.046), (1, 0.5)],
        "VALID loss": [(0, 0.667), (1, 1.0)],
        "TRAIN loss": [(1, 2.0), (2, 1.0)],
        "TRAIN loss (2)": [(1, 0.25), (2, 0.25)],
    }
    roles = [attempt.series[name].role.value for name in ("VALID dice", "VALID loss", "TRAIN loss")]
    assert roles == ["validation-score", "validation-loss", "loss"]


def test_a_row_in_groups_may_lack_the_last_border_of_its_header(tmp_path: Path) -> None:
    """Its last group may have no name, and no bar ends its rows."""
    head = (
        "     |----- VALID -----|----- TRAIN -----|---Accuracy---|--------|\n"
        "lr    iter   epoch | loss  top-1 | loss  top-1 |  Current Best | time   |\n"
    )
    row = "0.0001  {i}.0  {i}.0 | 0.5  {a:.3f} | {b:.3f}  75.0  |   80.5   |  0 hr 06 min\n"
    rows = "".join(row.format(i=i, a=50 + i, b=1 / i) for i in range(1, 9))
    read = table(read_text(tmp_path, head + "-" * 40 + "\n" + rows))
    assert read["TRAIN loss"] == [(1, 1.0), (2, 0.5)]
    assert read["VALID top-1"] == [(1, 51.0), (2, 52.0)]


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


def test_rows_of_nep_are_named_as_its_documentation_names_them(tmp_path: Path) -> None:
    """The `loss.out` of a neuroevolution potential: a row every hundred generations."""
    cells = "{loss:.5f} 0.02000 0.03000 0.25000 0.50000 1.00000 0.30000 0.40000 0.75000"
    text = "".join(f"{100 * (i + 1):<8}{cells.format(loss=9 - i / 2)}\n" for i in EPOCHS)
    attempt = read_text(tmp_path, text)
    assert points(attempt)["loss"] == [(100 * (i + 1), 9 - i / 2) for i in EPOCHS]
    assert attempt.series["loss"].role == "loss"
    assert {name: series.values[0] for name, series in attempt.series.items() if name != "loss"} == {
        "l1_regularization_loss": 0.02,
        "l2_regularization_loss": 0.03,
        "train/rmse_energy": 0.25,
        "train/rmse_force": 0.5,
        "train/rmse_virial": 1.0,
        "test/rmse_energy": 0.3,
        "test/rmse_force": 0.4,
        "test/rmse_virial": 0.75,
    }


@pytest.mark.parametrize(("every", "first"), [(50, 9.0), (100, 0.04)])
def test_ten_numbers_that_nep_cannot_have_written_stay_without_names(
    every: int, first: float, tmp_path: Path
) -> None:
    """Of other generations than hundreds, or with a loss that is less than its own terms."""
    cells = f"{first:.5f} 0.02000 0.03000 0.25000 0.50000 1.00000 0.30000 0.40000 0.75000"
    text = "".join(f"{every * (i + 1)} {cells}\n" for i in EPOCHS)
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read_text(tmp_path, text)


def test_names_and_cells_in_tuples_are_columns(tmp_path: Path) -> None:
    """As SASRec writes the scores of its evaluations."""
    text = "epoch (val_ndcg, val_hr) (test_ndcg, test_hr)\n"
    text += "".join(f"{20 * (i + 1)} ({i / 16}, {i / 10}) ({i / 32}, {i / 20})\n" for i in EPOCHS)
    attempt = read_text(tmp_path, text)
    assert points(attempt) == {
        name: [(20 * (i + 1), i / part) for i in EPOCHS]
        for name, part in {"val_ndcg": 16, "val_hr": 10, "test_ndcg": 32, "test_hr": 20}.items()
    }
