"""Where a text log is: launches, evaluations and counts that no word of it announces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.logs import log_of as log
from tests.logs import spans as steps

from chronicle.metrics.roles import assign
from chronicle.readers import read
from chronicle.timeline import stitch


def test_nanogpt_begins_anew_where_it_does_not_know_its_rate_of_work(tmp_path: Path) -> None:
    def process(first: int, end: int) -> str:
        rates = (-100.0 if n < first + 5 else 20.5 for n in range(first, end))
        rows = (
            f"iter {n}: loss {3 - n / 100:.4f}, time 70.01ms, mfu {r:.2f}%\n"
            for n, r in zip(range(first, end), rates, strict=True)
        )
        return f"step {first}: train loss {3 - first / 100:.4f}, val loss 3.0000\n" + "".join(rows)

    attempts = read(log(tmp_path, process(0, 41) + process(40, 81) + process(80, 100)))
    spans = {"train.log#1": (41, 0, 40), "train.log#2": (41, 40, 80), "train.log#3": (20, 80, 99)}
    assert steps(attempts, "loss") == spans


def test_a_launch_that_goes_on_in_a_later_epoch_counts_from_there(tmp_path: Path) -> None:
    arguments = "args: seed=7 lr=0.05 dataset=moons\n"

    def epochs(first: int, end: int) -> str:
        return "".join(
            f"[Train][Epoch {e}/9][Iter: {i}/40] loss: {3 - (40 * e + i) / 400:.4f}\n"
            for e in range(first, end)
            for i in range(0, 40, 10)
        )

    attempts = read(log(tmp_path, arguments + epochs(1, 6) + arguments + epochs(5, 10)))
    assert steps(attempts, "loss") == {"train.log#1": (20, 0, 190), "train.log#2": (20, 160, 350)}
    assert [(join.kind, join.to_step) for join in stitch(attempts).joins] == [("rollback", 160)]


def test_a_count_towards_another_end_without_its_epoch_is_an_evaluation(tmp_path: Path) -> None:
    text = "".join(
        "".join(
            f"epoch: {e}/8 iter: {i}/60 loss: {2 - e / 8 - i / 600:.4f}({2 - e / 9:.4f})\n"
            for i in range(1, 60, 10)
        )
        + "".join(f"iter: {i}/12 loss: {3 - e / 8 - i / 600:.4f}({3 - e / 9:.4f})\n" for i in range(1, 13))
        for e in range(1, 9)
    )
    (attempt,) = read(log(tmp_path, text))
    assert steps([attempt], "loss") == {"train.log": (48, 1, 471)}
    assert {"eval/loss"} == {name for name in attempt.series if "eval" in name}


def test_a_name_that_rarely_counts_leaves_the_counting_to_the_one_that_does(tmp_path: Path) -> None:
    """Though it is the better name: no line with a loss holds either of them."""
    text = "".join(
        f"19:53:31, batch i:{n}, length:{20 + n % 7}\nkl:0.0{n % 9}1,loss:{5 - n / 50:.4f},entropy:4.3\n"
        + (f"current self-play batch: {n}\n" if n % 20 == 0 else "")
        for n in range(1, 121)
    )
    (attempt,) = read(log(tmp_path, text))
    assert steps([attempt], "loss") == {"train.log": (120, 1, 120)}


def test_losses_that_a_script_tells_between_the_lines_of_its_engine(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch {n // 100}, Loss: {1 / (1 + n / 100):.6f}, Positive Score: 0.5, N_POS:0|N_NEG:0\n"
        + (
            f"[2025-04-09 20:17:{n // 10:02},762] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, "
            "skipped=0, lr=[1e-06, 1e-06], mom=[(0.9, 0.99), (0.9, 0.99)]\n"
            if n % 10 == 0
            else ""
        )
        for n in range(1, 201)
    )
    (attempt,) = read(log(tmp_path, text))
    assert len(attempt.series["Loss"].steps) == 200
    assert attempt.series["lr"].steps.tolist() == list(range(10, 201, 10))


def test_a_bar_that_is_drawn_empty_before_it_is_given_the_next_epoch(tmp_path: Path) -> None:
    """As Lightning's bar is, with the numbers of the epoch that is over."""

    def bar(epoch: int, n: int, more: str) -> str:
        clock = f"[00:0{n % 10}<00:01,  3.47it/s, v_num=4{more}]"
        return f"Epoch {epoch}: {100 * n // 28:3}%|####| {n}/28 {clock}\r"

    text, more = "", ""
    for epoch in range(12):
        text += "".join(bar(epoch, n, more) * 2 for n in range(29))
        validation = f", val_loss={0.7 + epoch / 10:.3f}"
        more = f"{validation}, train_loss={2.2 - epoch / 10:.3f}"
        text += bar(epoch, 28, validation) + "\n" + bar(epoch, 0, more)
    (attempt,) = read(log(tmp_path, text))
    assert attempt.series["train_loss"].steps.tolist() == [28 * n for n in range(1, 13)]
    assert len(stitch([attempt]).attempts) == 1


def _bar_of_lightning(losses: Sequence[float], n_batches: int = 1) -> str:
    """Each batch is drawn when it is over, and again with its loss; the last one also with the mean of its
    epoch, after the bar of an evaluation in every fourth epoch; then the bar is drawn empty."""
    text, mean = "", ""
    for epoch in range(len(losses) // n_batches):
        step = ""
        for n in range(n_batches + 1):
            clock = f"Epoch {epoch}: {100 * n // n_batches:3}%|###| {n}/{n_batches} [00:01<00:00,  1.12it/s"
            text += f"\r{clock}, v_num=0{step}{mean}]"
            if n:
                step = f", train_loss_step={losses[epoch * n_batches + n - 1]:.3f}"
                text += f"\r{clock}, v_num=0{step}{mean}]"
        if epoch % 4 == 3:
            bar = "Validation DataLoader 0: 100%|###| 1/1 [00:00<00:00, 31.23it/s]"
            text += f"\n\rValidation: |   | 0/? [00:00<?, ?it/s]\r{bar}\n"
            text += f"\r{clock}, v_num=0{step}{mean}]"
        mean = f", train_loss_epoch={sum(losses[epoch * n_batches :][:n_batches]) / n_batches:.3f}"
        text += f"\r{clock}, v_num=0{step}{mean}]"
        text += f"\rEpoch {epoch}:   0%|   | 0/{n_batches} [00:00<?, ?it/s, v_num=0{step}{mean}]"
    return text + "\n"


@pytest.mark.parametrize("n_batches", [1, 3])
def test_what_a_bar_shows_counts_once_with_its_newest_number(n_batches: int, tmp_path: Path) -> None:
    """Also where the numbers of an epoch are those of the epoch before, so that its bar tells nothing new."""
    n_epochs, same = 24, slice(10 * n_batches, 12 * n_batches)
    losses = [round(3 / (n + 1) + n % 3 / 8, 3) for n in range(n_epochs * n_batches)]
    losses[same] = [losses[same.start - 1]] * 2 * n_batches
    (attempt,) = read(log(tmp_path, _bar_of_lightning(losses, n_batches)))
    means = {
        n + n_batches: round(sum(losses[n:][:n_batches]) / n_batches, 3)
        for n in range(0, len(losses), n_batches)
    }
    expected = {"train_loss_step": dict(enumerate(losses, 1)), "train_loss_epoch": means}
    for metric, values in expected.items():
        series = attempt.series[metric]
        assert len(set(series.steps.tolist())) == len(series.steps)
        shown = dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))
        assert shown.items() <= values.items()
        assert len(shown) > len(values) - 2 * n_batches - 2
        assert max(shown) == len(losses)


def test_what_a_bar_shows_may_be_infinite(tmp_path: Path) -> None:
    losses = [*(round(3 / (n + 1), 3) for n in range(48)), *[float("inf")] * 24]
    (attempt,) = read(log(tmp_path, _bar_of_lightning(losses, 3)))
    series = attempt.series["train_loss_step"]
    assert np.isinf(series.values[-4:]).all() and max(series.steps) == len(losses)


@pytest.mark.parametrize(("n_given", "expected"), [(1, [*range(40)]), (2, None)])
def test_numbers_that_a_bar_is_given_before_it_counts_on_are_of_a_step_each(
    n_given: int, expected: list[int] | None, tmp_path: Path
) -> None:
    """`set_description` at each step draws the bar with its last count, which is told ten times a second. If
    two numbers are given at each step, the bar shows more of them than it then counts on."""
    text, count, pace = "", 0, [1, 5, 5, 4, 6, 5, 4, 5, 3, 2]
    ends = [sum(pace[: n + 1]) for n in range(len(pace))]
    for n in range(40):
        given = [f"loss: {3 / (n + 1) + k / 7:.4f} | reg: 0.00" for k in range(n_given)]
        for shown in given:
            text += f"| {shown} | :  {count}%|# | {count}/40 [00:02<01:36,  2.47s/it]\r"
        if n + 1 in ends:
            count = n + 1
            text += f"| {given[-1]} | :  {count}%|# | {count}/40 [00:02<01:36,  2.47s/it]\r"
    (attempt,) = read(log(tmp_path, text + "\n"))
    steps = attempt.series["loss"].steps.tolist()
    assert steps == expected or (expected is None and {*steps} <= {0, *ends})


def test_a_bar_whose_numbers_are_filled_up_to_five_signs_shows_nan(tmp_path: Path) -> None:
    shown = [*(f"{3 / n:.3f}" for n in range(1, 20)), "inf.0", "-inf.", *["nan.0"] * 9]
    text = "".join(
        f"\rEpoch 0: {n:3}%|###| {n}/30 [00:01<00:00, {n}.12it/s, v_num=1, train_loss={loss}, acc=0.500]"
        for n, loss in enumerate(shown, 1)
    )
    (attempt,) = read(log(tmp_path, text + "\n"))
    loss = attempt.series["train_loss"]
    assert loss.steps.tolist()[:22] == [*range(1, 23)]
    assert [str(value) for value in loss.values[18:22]] == ["0.158", "inf", "-inf", "nan"]


def test_numbers_that_are_filled_up_to_eight_signs_show_nan(tmp_path: Path) -> None:
    text = "".join(
        f"ppocr INFO: epoch: [1/9], global_step: {n}, lr: 0.000013, loss: {loss}, avg_samples: 15.0\n"
        for n, loss in enumerate(["2.500000", "nanxxx", "-infxx", "infxxx", "2.250000"])
    )
    (attempt,) = read(log(tmp_path, text))
    assert [str(value) for value in attempt.series["loss"].values] == ["2.5", "nan", "-inf", "inf", "2.25"]


def test_rows_whose_bars_a_terminal_cut_before_they_were_full(tmp_path: Path) -> None:
    """The last row of an epoch is its value, once the next epoch has begun."""

    def row(epoch: int, loss: float, bar: str) -> str:
        return f"{epoch:7}/40      8.29G      {loss:.3f}      1.725      1.289        873        640:{bar}\n"

    head = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
    text = head
    for epoch in range(1, 13):
        text += row(epoch, 3 - epoch / 10 + 0.05, "") + row(epoch, 3 - epoch / 10, "" if epoch < 9 else " 1")
    (attempt,) = read(log(tmp_path, text + row(13, 1.6, "")))
    loss = attempt.series["box_loss"]
    assert dict(zip(loss.steps.tolist(), loss.values.round(3), strict=True)) == {
        epoch: round(3 - epoch / 10, 3) for epoch in range(1, 13)
    }


def test_the_results_of_detectron2_stand_under_their_names(tmp_path: Path) -> None:
    text = ""
    for n in range(1, 13):
        start = "[06/07 02:05:36] d2.evaluation.testing INFO: copypaste:"
        events = "[06/07 02:05:30] d2.utils.events INFO:  eta: 0:10:22"
        text += f"{events}  iter: {100 * n}  total_loss: {9 / n:.3f}\n"
        for task, first in (("bbox", 20), ("segm", 10)):
            text += f"{start} Task: {task}\n{start} AP,AP50\n{start} {first + n}.5000,{2 * first + n}.2500\n"
    (attempt,) = read(log(tmp_path, text))
    ends = {name: (len(s), s.steps[-1], s.values[-1]) for name, s in attempt.series.items() if "AP" in name}
    assert ends == {
        "val/bbox/AP": (12, 1200, 32.5),
        "val/bbox/AP50": (12, 1200, 52.25),
        "val/segm/AP": (12, 1200, 22.5),
        "val/segm/AP50": (12, 1200, 32.25),
    }


def test_a_heading_of_an_evaluation_may_count(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 13):
        text += f"Epoch[{epoch}] done. Loss: {9 / epoch:.3f}, Acc: {70 + epoch}.5%\n"
        text += f"Validation Results - Epoch: {epoch}\nmAP: {40 + epoch}.1%\n"
        text += f"CMC curve, Rank-1  : {50 + epoch}.5%\n"
    (attempt,) = read(log(tmp_path, text))
    assert {n: (s.role.value, len(s)) for n, s in assign(attempt.series).items()} == {
        "Loss": ("loss", 12),
        "Acc": ("score", 12),
        "validation/mAP": ("validation-score", 12),
        "validation/Rank-1": ("validation-score", 12),
    }


def test_a_bar_of_an_evaluation_is_no_heading(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 13):
        text += f"Epoch [{epoch}/20]\n"
        bars = (
            f"{what}:  50%|##  | {n}/4 [00:01<00:01]\n"
            for what in ("Training", "Validation")
            for n in range(5)
        )
        text += "".join(bars) + f"Loss: {9 / epoch:.3f}\nVal Loss: {10 / epoch:.3f}\n"
    (attempt,) = read(log(tmp_path, text))
    assert {n: (s.role.value, len(s)) for n, s in assign(attempt.series).items()} == {
        "Epoch": ("epoch", 12),
        "Loss": ("loss", 12),
        "Val Loss": ("validation-loss", 12),
    }


def test_a_word_in_the_name_of_a_loss_is_said_of_what_follows_it(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch [{n}]/[39] \t {phase} Phase Loss: {9 / (n + 1):.4f} \t Accuracy: 0.{50 + n}\n"
        for n in range(12)
        for phase in ("Training", "Validation")
    )
    (attempt,) = read(log(tmp_path, text))
    assert {n: (s.role.value, len(s)) for n, s in assign(attempt.series).items()} == {
        "Training Phase Loss": ("loss", 12),
        "Accuracy": ("score", 12),
        "Validation Phase Loss": ("validation-loss", 12),
        "validation/Accuracy": ("validation-score", 12),
    }


@pytest.mark.parametrize("distance", [1, 5])
def test_lines_of_a_trainer_that_a_buffer_held_back_are_as_far_apart_as_all_are(
    tmp_path: Path, distance: int
) -> None:
    """Eight lines come at once, behind the bar of the last of them; epochs are rounded to hundredths."""
    n_steps, text, held_back = 40 * distance, "", ""
    for n in range(1, n_steps + 1):
        bar = f"{100 * n // n_steps:3}%|#    | {n}/{n_steps} [00:{n % 60:02}<01:10,  1.50s/it]\n"
        if n % distance == 0:
            held_back += f"{{'loss': {2 - n / 1024:.4f}, 'learning_rate': 1e-05, 'epoch': {n / 290:.2f}}}\n"
        full = held_back.count("\n") == 8
        text += bar + (held_back + bar if full else "")
        held_back = "" if full else held_back
    (attempt,) = read(log(tmp_path, text))
    assert attempt.series["loss"].steps.tolist() == [distance * n for n in range(1, 41)]


@pytest.mark.parametrize("loss", ["loss", "embedding_loss"])
def test_lines_of_a_trainer_that_stand_at_its_end_are_as_far_apart_as_all_are(
    loss: str, tmp_path: Path
) -> None:
    """Three lines of 50 steps behind the last of 175 bars, whose epochs are rounded to hundredths."""
    text = "".join(f"{100 * n // 175:3}%|#    | {n}/175 [00:10<01:10,  1.50s/it]\n" for n in range(176))
    text += "".join(f"{{'{loss}': {9 - n / 50}, 'epoch': {n / 176:.2f}}}\n" for n in (50, 100, 150))
    (attempt,) = read(log(tmp_path, text + "{'train_runtime': 9.5, 'epoch': 1.0}\n"))
    assert attempt.series[loss].steps.tolist() == [50, 100, 150]


def test_a_launch_with_another_number_of_batches_counts_them(tmp_path: Path) -> None:
    """The third begins in epoch 3 and then anew; its epoch 0 is where that of the others was."""

    def launch(n_batches: int, epochs: Sequence[int]) -> str:
        settings = f"batch_size={4000 // n_batches}, beta=0.999, cuda=True, lr=0.1"
        return f"Configurations: Namespace({settings})\n" + "".join(
            f"Epoch: [{epoch}][{n}/{n_batches}]\tTime 0.5 (0.5)\tLoss {9 / (epoch + n / 100 + 1):.4f}\n"
            for epoch in epochs
            for n in range(0, n_batches, 10)
        )

    text = launch(500, range(9)) + launch(200, range(3)) + launch(200, [3, 4, 0, 1])
    first, second, third = (attempt.series["Loss"].steps.tolist() for attempt in read(log(tmp_path, text)))
    assert (first, second) == ([*range(0, 4500, 10)], [*range(0, 600, 10)])
    assert third == [*range(600, 1000, 10), *range(0, 400, 10)]


@pytest.mark.parametrize(
    "record",
    [
        "┌ Info: train\n│   i = {n}\n└   loss = {loss}\n",
        "┌ Info: Epoch {n}\n└   loss = {loss}f0\n",
        "[ Info: Epoch {n}\nloss(X, Y) = {loss}f0\n",
        "[ Info: Epoch {n} lr:0.01 Training Loss: {loss}\n",
    ],
)
def test_what_julia_logs_in_a_block_belongs_together(record: str, tmp_path: Path) -> None:
    losses = [round(3 / n, 7) for n in range(1, 13)]
    rows = (record.format(n=n, loss=loss) for n, loss in enumerate(losses, 1))
    (attempt,) = read(log(tmp_path, "".join(rows)))
    (loss,) = (series for series in attempt.series.values() if series.role == "loss")
    assert loss.steps.tolist() == [*range(1, 13)] and loss.values.tolist() == losses


def test_the_right_answers_of_each_epoch_are_its_score(tmp_path: Path) -> None:
    """As the program of Nielsen's book prints them, which logs nothing else."""
    text = "".join(f"Epoch {n} : {9000 + 50 * n - n % 3 * 20} / 10000\n" for n in range(12))
    (attempt,) = read(log(tmp_path, text))
    assert steps([attempt], "correct") == {"train.log": (12, 0, 11)}
    assert attempt.axis == "epoch" and attempt.series["correct"].role == "score"
