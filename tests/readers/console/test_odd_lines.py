"""Lines of real logs that were once misread: counters under unusual names, bars glued to lines, tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.logs import points_of as points
from tests.logs import read_text as read

from chronicle.metrics.roles import assign


@pytest.mark.parametrize("prefix", ["", "(TaskRunner pid=4120) "])
def test_a_counter_before_a_dash_is_no_place_in_a_program(prefix: str, tmp_path: Path) -> None:
    lines = [f"{prefix}step:{step} - loss:{9 / step:.4f} - lr:0.1\n" for step in range(10, 30)]
    attempt = read(tmp_path, "".join(lines))
    assert points(attempt, "loss")[:2] == [(10, 0.9), (11, 0.8182)]


@pytest.mark.parametrize(
    ("record", "after"), [("Epoch {} loss: {:.3f}", ""), ("train: {} @ loss: {:.3f} lr: 0.1", " ")]
)
def test_records_of_a_program_that_writes_no_line_ends(record: str, after: str, tmp_path: Path) -> None:
    losses = [2 + 1 / n for n in range(1, 81)]
    text = after.join(record.format(n, loss) for n, loss in enumerate(losses, 1))
    attempt = read(tmp_path, text)
    assert attempt.truncated
    assert attempt.series["loss"].values.tolist()[:78] == [round(loss, 3) for loss in losses[:78]]


def test_a_number_of_a_rank_leaves_the_next_name_alone(tmp_path: Path) -> None:
    attempt = read(tmp_path, "".join(f"step {step} rank 1 loss {9 - step / 8}\n" for step in range(20)))
    assert points(attempt, "loss")[:2] == [(0, 9.0), (1, 8.875)]


def test_whatever_rises_where_the_steps_restart_counts_epochs(tmp_path: Path) -> None:
    lines = [
        f"cycle={cycle} step={step:4d} loss={3 - cycle / 8}\n"
        for cycle in (1, 2, 3)
        for step in range(0, 100, 25)
    ]
    attempt = read(tmp_path, "".join(lines))
    assert [step for step, _ in points(attempt, "loss")] == list(range(0, 300, 25))
    assert [value for _, value in points(attempt, "cycle")] == [1.0] * 4 + [2.0] * 4 + [3.0] * 4


def test_two_counters_under_one_label_are_told_apart(tmp_path: Path) -> None:
    lines = [
        f"Epoch and iter {epoch} {step} Loss {5 - epoch / 4}\n"
        for epoch in range(3)
        for step in range(0, 60, 10)
    ]
    attempt = read(tmp_path, "".join(lines))
    assert [step for step, _ in points(attempt, "Loss")] == list(range(0, 180, 10))


@pytest.mark.parametrize(
    "line",
    [
        "  [{n:8d} eps] reward={reward}+/-0.650  length=52.9\n",
        "[{n} steps]: reward: {reward}\n",
        "{n} episodes: reward {reward}\n",
    ],
)
def test_how_many_steps_were_made_may_stand_before_their_name(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=1000 * (i + 1), reward=i / 4) for i in range(9))
    assert points(read(tmp_path, text), "reward") == [(1000 * (i + 1), i / 4) for i in range(9)]


def test_a_table_with_blanks_within_its_borders_after_a_bar_that_stands_still(tmp_path: Path) -> None:
    head = "  Ep │  TrainLoss   Tr_MSE │   ValLoss │       LR   Time       ETA\n" + "─" * 60 + "\n"
    rows = [
        f"  {epoch:2d} │   {1 / epoch:.6f} 0.04{epoch:02d} │  0.3{epoch:02d}000 │  1.0e-05   289s      1.5h\n"
        for epoch in range(1, 13)
    ]
    bar = "".join(f"  {n}/900  (138 img/s  ETA 13s)\n" for n in range(100, 1000, 100))
    attempt = read(tmp_path, bar + head + "  ↳ new best val MSE\n".join(rows))
    assert points(attempt, "TrainLoss")[:2] == [(1, 1.0), (2, 0.5)]
    assert points(attempt, "Tr_MSE")[-1] == (12, 0.0412)
    assert points(attempt, "ValLoss")[-1] == (12, 0.312)
    assert points(attempt, "Time")[0] == (1, 289.0)
    assert attempt.axis == "epoch"


def test_rewards_that_stay_zero_are_read_where_a_number_only_grows(tmp_path: Path) -> None:
    lines = [
        f"2023-04-24 11:04:{n:02d},787 win_perc=0.0 reward_avg=0.0 global_t={960 * n}\n" for n in range(12)
    ]
    attempt = read(tmp_path, "".join(lines))
    assert points(attempt, "reward_avg") == [(960 * n, 0.0) for n in range(12)]


def test_a_console_log_that_is_called_csv_is_read_as_one(tmp_path: Path) -> None:
    lines = [f"Episode {n}, Last State: [ {n % 7}. 10.  3.], Reward: {284.5 - n}\n" for n in range(1, 40)]
    attempt = read(tmp_path, "".join(lines), "episode_rewards.csv")
    assert points(attempt, "Reward")[:2] == [(1, 283.5), (2, 282.5)]


@pytest.mark.parametrize("unit", ["s/it", "epoch/s"])
def test_a_line_behind_a_bar_without_a_line_end_is_a_line_of_its_own(unit: str, tmp_path: Path) -> None:
    parts = []
    for epoch in range(1, 21):
        parts.append(f"\r  {epoch}%|▏   | {epoch + 170}/1000 [01:{epoch:02d}<02:10, 35.3{unit}]")
        parts.append(f"Epoch {epoch}: Validation Accuracy: {epoch + 0.25}%\n")
    attempt = read(tmp_path, "".join(parts))
    assert points(attempt, "Validation Accuracy") == [(epoch, epoch + 0.25) for epoch in range(1, 21)]


def test_a_bar_that_is_drawn_empty_and_full_alone_counts_no_steps(tmp_path: Path) -> None:
    """As RecBole's bars of epochs that take less than a tenth of a second; the lines below them count."""
    text = ""
    for epoch in range(12):
        for name, end in (("Train", 10), ("Evaluate", 1)):
            of, told = (f"{epoch:5}", "training") if end > 1 else ("", "evaluating")
            text += f"{name}{of}:   0%|     | 0/{end} [00:00<?, ?it/s]\r"
            text += f"{name}{of}: 100%|#####| {end}/{end} [00:00<00:00, 728.9{epoch}it/s]\n"
            value = f"train loss: {7 - epoch / 8}" if end > 1 else f"valid_score: {0.5 + epoch / 64}"
            text += f"30 Nov 00:07    INFO  epoch {epoch} {told} [time: 0.01s, {value}]\n"
    attempt = read(tmp_path, text)
    assert points(attempt, "train loss") == [(epoch, 7 - epoch / 8) for epoch in range(12)]
    assert points(attempt, "valid_score") == [(epoch, 0.5 + epoch / 64) for epoch in range(12)]


@pytest.mark.parametrize("length", [20, 40, 80])
def test_a_loop_within_an_epoch_that_is_announced_is_its_evaluation(length: int, tmp_path: Path) -> None:
    """As of a model of Paddle, whose evaluation has as many batches as the training, or more."""
    text, ends = "", range(length // 4, length + 1, length // 4)
    for epoch in range(1, 7):
        text += f"Epoch {epoch}/6\n"
        text += "".join(
            f"step {n:2}/40 - loss: {3 / epoch + n / 512:.4f} - 2ms/step\n" for n in (10, 20, 30, 40)
        )
        text += "Eval begin...\n"
        text += "".join(f"step {n:2}/{length} - loss: {2 / epoch + n / 512:.4f} - 2ms/step\n" for n in ends)
        text += "Eval samples: 960\n"
    attempt = read(tmp_path, text)
    assert [step for step, _ in points(attempt, "loss")] == list(range(10, 241, 10))
    assert [step for step, _ in points(attempt, "eval/loss")] == [40 * n for n in range(1, 7) for _ in ends]


def test_a_shorter_loop_within_an_epoch_is_its_evaluation(tmp_path: Path) -> None:
    lines = []
    for epoch in range(1, 5):
        lines.append(f"Epoch {epoch}/4\n")
        lines += [f"step {step}/40 - loss: {3 / epoch + 1 / step:.4f}\n" for step in (10, 20, 30, 40)]
        lines += [
            "Eval begin...\n",
            f"step 10/20 - loss: {4 / epoch:.4f}\n",
            f"step 20/20 - loss: {5 / epoch:.4f}\n",
        ]
    attempt = read(tmp_path, "".join(lines))
    assert [step for step, _ in points(attempt, "loss")] == list(range(10, 170, 10))
    assert points(attempt, "eval/loss")[:3] == [(40, 4.0), (40, 5.0), (80, 2.0)]


def test_four_epochs_with_a_loss_are_enough(tmp_path: Path) -> None:
    attempt = read(
        tmp_path, "".join(f"Epoch {epoch}: val_loss=0.{9 - epoch}, val_acc=0.5\n" for epoch in range(4))
    )
    assert points(attempt, "val_loss") == [(0, 0.9), (1, 0.8), (2, 0.7), (3, 0.6)]


def test_counts_that_are_told_in_thousands_go_on_as_those_before_them(tmp_path: Path) -> None:
    """LeRobot's `step:2K`: from 1,000 on, several records have the same count."""
    counts = [200 * n for n in range(1, 80)]
    told = [str(n) if n < 1000 else f"{n / 1000:.0f}K" for n in counts]
    lines = [f"step:{text} smpl:{text} loss:{3 / (k + 1):.5f} lr:1.0e-05" for k, text in enumerate(told)]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    assert [step for step, _ in points(attempt, "loss")] == counts


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ("tokens: {:.2f}B / 100.00B |", [250_000_000 * n for n in range(20)]),
        ("tokens={:.1f}M", [4_200_000 * n for n in range(1, 61)]),
        ("step {:.1f}k |", [100 * n for n in range(1, 41)]),
    ],
)
def test_counts_in_units_have_the_decimals_that_are_told(
    told: str, counts: list[int], tmp_path: Path
) -> None:
    size = {"B": 10**9, "M": 10**6, "k": 10**3}[told[told.index("}") + 1]]
    lines = [f"{told.format(count / size)} loss {3 / (k + 1):.5f}" for k, count in enumerate(counts)]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    assert [step for step, _ in points(attempt, "loss")] == counts


def test_memory_is_no_count_in_millions(tmp_path: Path) -> None:
    lines = [f"iter: {n} loss: {3 / (n + 1):.3f} max_mem: {300 + n}M" for n in range(20)]
    assert set(read(tmp_path, "\n".join(lines) + "\n").series) == {"loss"}


def test_the_parts_of_a_loss_in_a_dictionary_are_named_after_it(tmp_path: Path) -> None:
    """spaCy's, with the number of sentences on a line of its own."""
    lines = [f"Losses {{'parser': {900 / (n + 1):.3f}}}\nnumber of phrases {470 + n % 3}" for n in range(20)]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    roles = {name: series.role.value for name, series in assign(attempt.series).items()}
    assert roles == {"Losses/parser": "loss"}


def test_dictionaries_of_python_are_a_log_whatever_the_file_is_called(tmp_path: Path) -> None:
    lines = [f"{{'loss': {3 / (n + 1):.3f}, 'learning_rate': 0.1, 'epoch': {n / 10}}}" for n in range(20)]
    assert len(points(read(tmp_path, "\n".join(lines) + "\n", "loss.jsonl"), "loss")) == 20


@pytest.mark.parametrize("is_doubled", [True, False])
def test_a_record_that_a_callback_prints_again_counts_once(is_doubled: bool, tmp_path: Path) -> None:
    """It tells all decimals of the epoch, the Trainer two. Only a log whose first record stands twice is
    such a log: elsewhere equal records are records."""
    epochs = [0.0000125, 0.111, 0.222, 0.333]
    lines = [f"{{'loss': {4 - n}.5, 'grad_norm': nan, 'epoch': {epoch}}}" for n, epoch in enumerate(epochs)]
    again = [
        f"{{'loss': {4 - n}.5, 'grad_norm': nan, 'epoch': {epoch:.2f}}}" for n, epoch in enumerate(epochs)
    ]
    both = [line for pair in zip(lines, again, strict=True) for line in pair]
    attempt = read(tmp_path, "\n".join(both if is_doubled else [*lines, again[-1]]) + "\n")
    once = [(1, 4.5), (2, 3.5), (3, 2.5), (4, 1.5)]
    assert points(attempt, "loss") == (once if is_doubled else [*once, (5, 1.5)])


def test_a_launch_after_another_begins_near_its_first_epoch(tmp_path: Path) -> None:
    epochs = [0.0000166, 0.01, 0.02, 0.0000229, 0.01]
    lines = [f"{{'loss': {9 - n}.5, 'epoch': {epoch}}}" for n, epoch in enumerate(epochs)]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    assert [step for step, _ in points(attempt, "loss")] == [1, 2, 3, 1, 2]


def test_what_a_callback_rounds_before_the_trainer_prints_it_counts_once(tmp_path: Path) -> None:
    text = "".join(
        f"callbacks - {{'loss': {4 - n / 4:.4f}, 'learning_rate': 4.999{n}e-05, 'epoch': 0.0{n}}}\n"
        f"{{'loss': {4 - n / 4}, 'grad_norm': {n}.5, 'learning_rate': 4.999{n}23e-05, 'epoch': 0.0{n}}}\n"
        for n in range(1, 6)
    )
    attempt = read(tmp_path, text)
    assert points(attempt, "loss") == [(n, 4 - n / 4) for n in range(1, 6)]
    assert points(attempt, "grad_norm") == [(n, n + 0.5) for n in range(1, 6)]
    assert points(attempt, "learning_rate") == [(n, float(f"4.999{n}e-05")) for n in range(1, 6)]


def test_a_loop_of_its_own_is_read_though_the_trainer_evaluates(tmp_path: Path) -> None:
    lines = [f"loss: {3 / (n + 1):.3f}, grad_norm: 1.5" for n in range(20)]
    lines.append("{'eval_loss': 0.5, 'eval_runtime': 3.0, 'epoch': 3.0}")
    assert len(points(read(tmp_path, "\n".join(lines) + "\n"), "loss")) == 20


def test_a_bar_that_is_full_wherever_an_epoch_is_told_does_not_count(tmp_path: Path) -> None:
    """The last bar before each line is that of the test set."""
    lines = []
    for epoch in range(8):
        lines += [f"Batch progress: {n / 1.5:.2f}% [{n}/150]" for n in (50, 100, 150)]
        lines += [f"test progress: {n / 3.5:.2f}% [{n}/350]" for n in (50, 100, 350)]
        lines += [f"epoch: {epoch} train loss: {3 / (epoch + 1):.3f} test loss: {4 / (epoch + 1):.3f}"]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    assert [step for step, _ in points(attempt, "train loss")] == [*range(8)]


def test_keys_that_were_pressed_before_a_line_belong_to_no_word(tmp_path: Path) -> None:
    lines = [f"{'^[[A' * (n == 6)}step {n:05}/20 | loss: {3 / (n + 1):.3f}" for n in range(20)]
    assert len(points(read(tmp_path, "\n".join(lines) + "\n"), "loss")) == 20


def test_a_duration_is_no_counter_and_the_shorter_bar_of_an_epoch_is_its_evaluation(tmp_path: Path) -> None:
    """Only the full bars of each epoch are in the log, whose `Step: 83ms` counts nothing."""
    lines = []
    for epoch in range(8):
        lines += [f"Epoch: {epoch}"]
        for n, loss in ((391, 3.0), (100, 4.0)):
            told = f"Loss: {loss / (epoch + 1):.3f} | Acc: 9{epoch}% (71/80)"
            lines += [f" [==== {n}/{n} ===>]  Step: 8{epoch}ms | {told}"]
    attempt = read(tmp_path, "\n".join(lines) + "\n")
    assert points(attempt, "Loss") == [(n, round(3 / (n + 1), 3)) for n in range(8)]
    assert points(attempt, "eval/Loss") == [(n, round(4 / (n + 1), 3)) for n in range(8)]
    assert points(attempt, "Step time")[:2] == [(0, 80.0), (1, 81.0)]


def test_if_a_share_does_not_grow_the_epochs_count(tmp_path: Path) -> None:
    lines = [
        f"[0051][Epoch {n:02}/50] Epsilon:0.9 #Expl.:{200 + 7 * n % 40}/243 Loss:{60 / n:.5f}"
        for n in range(1, 20)
    ]
    assert [step for step, _ in points(read(tmp_path, "\n".join(lines) + "\n"), "Loss")] == [*range(1, 20)]


def test_a_number_before_what_it_counts(tmp_path: Path) -> None:
    lines = [
        f"[rl.train][INFO] - eval @ {1000 * n} steps: val_cost={9 / n:.4f} soc=0.35" for n in range(1, 12)
    ]
    assert points(read(tmp_path, "\n".join(lines) + "\n"), "val_cost")[:2] == [(1000, 9.0), (2000, 4.5)]


@pytest.mark.parametrize(
    "window",
    [
        "for last 200 batches",
        "over the past 100 episodes",
        "(last 100 episodes)",
        "of the last 50 steps",
        "per 100 training steps",
    ],
)
def test_the_window_of_a_mean_is_not_its_value(window: str, tmp_path: Path) -> None:
    lines = [f"step {n} Average loss {window}: {9 / n:.4f}" for n in range(1, 12)]
    assert points(read(tmp_path, "\n".join(lines) + "\n"), "Average loss")[:2] == [(1, 9.0), (2, 4.5)]


def test_names_that_are_losses_beside_each_other_alone_are_read(tmp_path: Path) -> None:
    """A loss that is told once, at the end, takes nothing away from `Train` and `Test`."""
    lines = [f"Iteration {50 * i}: Train {4 - i / 8} | Test {4.5 - i / 8} | 0.5m\n" for i in range(12)]
    attempt = read(tmp_path, "".join([*lines, "Final step loss: 2.25\n"]))
    told = {name: series.role.value for name, series in assign(attempt.series).items()}
    assert (told["Train"], told["Test"]) == ("loss", "validation-loss")
    assert points(attempt, "Train")[:2] == [(0, 4.0), (50, 3.875)]
    lines = [f"Epoch [{i}/40] Recon: {1 / i:.3f} | KL: {40 / i:.2f} (w=0.1)\n" for i in range(1, 21)]
    attempt = read(tmp_path, "".join(lines))
    assert points(attempt, "Recon")[:2] == [(1, 1.0), (2, 0.5)]


def test_notes_in_the_last_column_of_a_table_are_of_no_word_or_of_several(tmp_path: Path) -> None:
    notes = {3: "100% vs random", 5: "restarted", 6: "12 new games"}
    lines = ["Self-play — training history\n\n", "Iter  W    Time     Loss    Notes\n", "----  ---  ----\n"]
    lines += [f"{i:4d}  {90 + i}  {i / 2}s  {3 - i / 8:.4f}  {notes.get(i, '')}\n" for i in range(1, 13)]
    attempt = read(tmp_path, "".join(lines), "history.txt")
    assert points(attempt, "Loss") == [(i, 3 - i / 8) for i in range(1, 13)]
    assert points(attempt, "W")[-1] == (12, 102.0)
