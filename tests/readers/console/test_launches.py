"""Several launches in one text log, told by what each of them prints first."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.logs import log_of as log
from tests.logs import spans as steps

from chronicle.classify import classify
from chronicle.readers import read
from chronicle.timeline import stitch
from chronicle.timeline.joins import last_ending

ARGUMENTS = "args: seed=7 lr=0.05 dataset=moons\n"


def lines(first: int, end: int, end_with: str = "") -> str:
    rows = (f"[step {n}/90] loss: {2 - n / 100:.3f}, lr: {1e-3 - n * 1e-6:.3e}\n" for n in range(first, end))
    return "".join(rows) + end_with


@pytest.mark.parametrize(("head", "n"), [("Train for 40 steps on cpu\n", 2), ("Train on 40 batches\n", 1)])
def test_counts_towards_the_steps_of_a_training_are_no_epochs(head: str, n: int, tmp_path: Path) -> None:
    """Where a line says how many steps a training has, the next one begins where they are counted anew."""
    losses = "".join(f"step {n}/40, loss: {2 / n:.4f}\n" for n in range(1, 41))
    attempts = read(log(tmp_path, 2 * (head + losses)))
    spans = {1: {"train.log": (80, 1, 80)}, 2: {f"train.log#{n}": (40, 1, 40) for n in (1, 2)}}
    assert steps(attempts, "loss") == spans[n]
    assert not stitch(attempts).joins


@pytest.mark.parametrize("clock", ["", "2025-01-02 10:00:0{},500 - INFO - "])
def test_the_arguments_told_again_begin_another_launch(clock: str, tmp_path: Path) -> None:
    """Also where the steps only go on, which nothing else in the log shows."""
    parts = [lines(0, 40), lines(30, 60), lines(60, 90)]
    attempts = read(
        log(tmp_path, "".join(clock.format(k) + ARGUMENTS + part for k, part in enumerate(parts)))
    )
    spans = {"train.log#1": (40, 0, 39), "train.log#2": (30, 30, 59), "train.log#3": (30, 60, 89)}
    assert steps(attempts, "loss") == steps(attempts, "lr") == spans
    assert [attempt.facts["config/lr"] for attempt in attempts] == [0.05] * 3
    joins = [(join.kind, join.to_step) for join in stitch(attempts).joins]
    assert joins == [("rollback", 30), ("resume", 60)]


def test_arguments_of_which_few_are_numbers_begin_another_launch_as_well(tmp_path: Path) -> None:
    arguments = "2025-01-02 10:00:00,500 INFO: Namespace(config='a.yaml', distributed=False, local_rank=0)\n"
    attempts = read(log(tmp_path, arguments + lines(0, 40) + arguments + lines(40, 90)))
    assert steps(attempts, "loss") == {"train.log#1": (40, 0, 39), "train.log#2": (50, 40, 89)}


def test_the_settings_told_again_begin_another_launch_where_nothing_counts(tmp_path: Path) -> None:
    text = ""
    for size in (9, 49):
        text += "{'batch_size': 32, 'epochs': 12, 'gpu': 'cpu', 'fine_tune_from': 'old'}\n"
        text += f"Train size: {size}, Valid size: {size}\n"
        text += "".join(f"Validation loss: {8 - n / 64 - size / 4} MAE: {2 - n / 64}\n" for n in range(12))
    attempts = read(log(tmp_path, text))
    assert steps(attempts, "Validation loss") == {"train.log#1": (12, 0, 11), "train.log#2": (12, 0, 11)}


def test_settings_that_each_row_tells_begin_nothing(tmp_path: Path) -> None:
    settings = "{'batch_size': 32, 'epochs': 12, 'gpu': 'cpu', 'fine_tune_from': 'old'}\n"
    text = "".join(f"{settings}Validation loss: {8 - n / 64} MAE: {2 - n / 64}\n" for n in range(12))
    attempts = read(log(tmp_path, text))
    assert steps(attempts, "Validation loss") == {"train.log": (12, 0, 11)}


def test_what_ends_the_log_is_told_of_the_last_launch(tmp_path: Path) -> None:
    text = ARGUMENTS + lines(0, 40) + ARGUMENTS + lines(40, 60, "[step 60/90] loss: 1")
    first, last = read(log(tmp_path, text))
    assert (first.truncated, last.truncated) == (False, True)


def test_a_launch_with_other_arguments_states_its_own(tmp_path: Path) -> None:
    text = ARGUMENTS + lines(0, 40) + ARGUMENTS.replace("0.05", "0.0125") + lines(40, 90)
    (join,) = stitch(read(log(tmp_path, text))).joins
    changes = [(c.quantity, c.before, c.after) for c in join.changes if c.quantity.startswith("config")]
    assert (join.kind, changes) == ("resume", [("config/lr", 0.05, 0.0125)])


@pytest.mark.parametrize("words", ["Training with parameters: ", "Params = "])
def test_a_dictionary_of_parameters_is_of_the_launch_that_follows(words: str, tmp_path: Path) -> None:
    """A search of a grid tells them before each training, and at the end once more the best."""
    grid = (f"{words}{{'dropout': 0.5, 'layers': {n}, 'lr': 0.{n}}}\n" for n in (1, 2, 3))
    best = "Best params: {'dropout': 0.5, 'layers': 2, 'lr': 0.2}\n"
    attempts = read(log(tmp_path, "".join(told + lines(0, 10) for told in grid) + best))
    assert list(steps(attempts, "loss").values()) == [(10, 0, 9)] * 3
    assert [attempt.facts["config/layers"] for attempt in attempts] == [1, 2, 3]
    assert all("layers" not in attempt.series for attempt in attempts)


def test_parameters_that_are_told_in_each_epoch_begin_nothing(tmp_path: Path) -> None:
    told = "Optimizer parameters: {'lr': 0.1, 'betas': 0.9, 'decay': 0.5}\n"
    attempts = read(log(tmp_path, "".join(told + lines(n, n + 10) for n in (0, 10, 20))))
    assert steps(attempts, "loss") == {"train.log": (30, 0, 29)}


def test_what_a_launch_tells_before_its_first_step_is_none_of_the_launch_before(tmp_path: Path) -> None:
    trial = ARGUMENTS + "FPS:15.4, train_loss: inf, recall: 0.5\n"
    first, last = read(log(tmp_path, ARGUMENTS + lines(0, 40) + 3 * trial + ARGUMENTS + lines(40, 60)))
    assert (sorted(first.series), sorted(last.series)) == (["loss", "lr"], ["loss", "lr"])


@pytest.mark.parametrize(
    "between", ["Validation: batches=20, size=5000\n", "config saved to out-3/model.yaml\n"]
)
def test_other_lines_that_come_again_begin_nothing(between: str, tmp_path: Path) -> None:
    attempts = read(log(tmp_path, between + ARGUMENTS + lines(0, 40) + between + lines(40, 90)))
    assert list(steps(attempts, "loss")) == ["train.log"]


@pytest.mark.parametrize(
    "head", ["Training started on cpu...", "2025-01-02 10:00:0{},500 - INFO - ==== Execution Starts ===="]
)
def test_the_head_of_a_log_that_comes_again_begins_another_launch(head: str, tmp_path: Path) -> None:
    """Also where a launch ends behind its first step; one that tells no step is none."""
    parts = [lines(1, 40), lines(1, 2), "", lines(1, 2), lines(1, 30)]
    text = "".join(head.format(k) + "\ndata has 5000 rows\n" + part for k, part in enumerate(parts))
    wanted = {"train.log#1": (39, 1, 39), "train.log#2": (1, 1, 1), "train.log#3": (1, 1, 1)}
    assert steps(read(log(tmp_path, text)), "loss") == wanted | {"train.log#4": (29, 1, 29)}


def test_the_bar_of_an_evaluation_below_a_head_told_again_begins_nothing(tmp_path: Path) -> None:
    """Here the epochs go on, after a bar that shows no metric of the training."""
    head = "dataset summary\nstart index\n"
    bar = "".join(f"Extracting {n}/438, # of instances {60 * n}, time 3.50 sec.\n" for n in range(0, 438, 40))
    rows = [
        "".join(f"epoch {e}/4 batch {n}/165 loss: {9 - e - n / 200:.3f}\n" for n in range(0, 165, 40))
        for e in range(4)
    ]
    attempts = read(log(tmp_path, head + (head + bar).join(rows)))
    assert steps(attempts, "loss") == {"train.log": (20, 0, 655)}


@pytest.mark.parametrize("head", ["Training...\n", "> TRAINING (2022-11-03 10:52:23)\n"])
def test_what_comes_again_in_each_epoch_begins_nothing_where_steps_go_on(head: str, tmp_path: Path) -> None:
    text = "".join(head + lines(10 * epoch, 10 * epoch + 10) for epoch in range(4))
    assert steps(read(log(tmp_path, text)), "loss") == {"train.log": (40, 0, 39)}


RESUMED = (
    "Resuming from ./checkpoints/checkpoint_0000040.pt\nResumed at step 40 (best_val=None, patience=0)\n",
    "2025-01-02 10:00:00,500 - INFO - => Resumed training from latest checkpoint\n",
    ARGUMENTS + "resuming from epoch 3\n",
    "resuming from epoch 3\n" + ARGUMENTS,
    "2025-01-02 10:00:00,500 - mmdet - INFO - load checkpoint from w/epoch_3.pth\n"
    "2025-01-02 10:00:01,500 - mmdet - INFO - resumed epoch 3, iter 40\n",
    "resumed epoch: 3, iter: 40\n",
    "Resuming training runs/detect/train/weights/last.pt from epoch 41 to 90 total epochs\n",
    "Restoring states from the checkpoint path at logs/version_0/checkpoints/last.ckpt\n"
    "Restored all states from the checkpoint at logs/version_0/checkpoints/last.ckpt\n",
    "2025-01-02 10:00:00,500 (trainer:171) INFO: The training was resumed using exp/asr/checkpoint.pth\n",
    "2025-01-02 10:00:00,500 INFO ==============> Resuming form out/swin/ckpt_epoch_39.pth...............\n",
    "Resume checkpoint ./output_dir/checkpoint-39.pth\nWith optim & sched!\n",
    "Continuing from checkpoint: out/last.ckpt.\n",
    "Continuing training from global step 40\n",
    "Restarting from ./models/latest.pt\n",
    "Resume training with (gpu(0),gpu(1)) from epoch 3\n",
)


@pytest.mark.parametrize("sentence", RESUMED)
def test_a_log_that_says_from_where_it_is_resumed_has_another_launch(sentence: str, tmp_path: Path) -> None:
    """One, also where it begins with the arguments as the log did; and none where the log begins so."""
    text = ARGUMENTS + sentence + lines(0, 40) + sentence + lines(40, 90)
    attempts = read(log(tmp_path, text))
    assert steps(attempts, "loss") == {"train.log#1": (40, 0, 39), "train.log#2": (50, 40, 89)}
    assert [(join.kind, join.to_step) for join in stitch(attempts).joins] == [("resume", 40)]


@pytest.mark.parametrize("goes_on", [True, False])
def test_what_goes_on_from_a_checkpoint_may_stand_still_at_once(goes_on: bool, tmp_path: Path) -> None:
    """Fine-tuning that counts its steps anew: it had been learned, whatever it still learns."""
    sentence = "Resuming from out/model_finetuned.pt...\n" if goes_on else "Training from scratch\n"
    rows = [
        f"  step {20 * n:4d}/800  loss {0.538 - 0.00005 * n - 0.0003 * (n % 3):.4f}\n" for n in range(1, 41)
    ]
    patterns = classify(read(log(tmp_path, sentence + "".join(rows)))).patterns
    assert ("failed-run" in patterns) is not goes_on


LOADED = (
    "Restoring states from the checkpoint path at logs/version_0/checkpoints/last.ckpt",
    "=> loaded checkpoint 'out/model.pth.tar' (epoch 40)",
    "loading checkpoint model_latest.model train= True",
    "Restored from ./tf_ckpts/ckpt-40",
    "Successfully loaded the weights of step 40",
    "Checkpoint: loading from checkpoint exp/conformer/3.pt for GPU",
)


def minutes_of(first: int, end: int, hour: int, before: str = "") -> str:
    """A row a minute, with ``before`` in front of each."""
    rows = lines(first, end).splitlines(keepends=True)
    clocks = [f"2025-01-02 {hour:02d}:{n:02d}:00 - INFO - " for n in range(len(rows))]
    return "".join(
        "".join(clock + line for line in (before + row).splitlines(keepends=True))
        for clock, row in zip(clocks, rows, strict=True)
    )


@pytest.mark.parametrize("sentence", LOADED)
def test_a_process_that_loads_a_checkpoint_after_a_pause_is_another_launch(
    sentence: str, tmp_path: Path
) -> None:
    head = f"Using device: cuda\n{sentence}\nStart training\n"
    text = "Start training\n" + minutes_of(0, 40, 10) + minutes_of(40, 41, 12, head) + minutes_of(41, 90, 13)
    attempts = read(log(tmp_path, text))
    assert steps(attempts, "loss") == {"train.log#1": (40, 0, 39), "train.log#2": (50, 40, 89)}
    assert [(join.kind, join.to_step) for join in stitch(attempts).joins] == [("resume", 40)]


@pytest.mark.parametrize(("at", "n"), [(40, 2), (38, 1)])
def test_a_checkpoint_that_the_count_goes_on_from_after_a_pause_begins_a_launch(
    at: int, n: int, tmp_path: Path
) -> None:
    """Without a heading; the best one so far is loaded for an evaluation, which may take as long."""
    loads = f"Checkpoint: loading from checkpoint exp/conformer/{at}.pt for GPU\n"
    text = minutes_of(0, 40, 10) + minutes_of(40, 41, 12, loads) + minutes_of(41, 90, 13)
    spans = {2: {"train.log#1": (40, 0, 39), "train.log#2": (50, 40, 89)}, 1: {"train.log": (90, 0, 89)}}
    assert steps(read(log(tmp_path, text)), "loss") == spans[n]


def test_a_process_that_loads_a_checkpoint_before_its_first_row_begins_the_log(tmp_path: Path) -> None:
    head = f"Start training\n{LOADED[0]}\n"
    text = f"{head}accuracy: 0.5\n{head}{lines(0, 40)}"
    assert steps(read(log(tmp_path, text)), "loss") == {"train.log": (40, 0, 39)}


@pytest.mark.parametrize("before", ["Start training\nLoaded model from out/best.pt\n", "Start training\n"])
def test_rounds_that_begin_so_without_a_pause_are_of_one_launch(before: str, tmp_path: Path) -> None:
    text = minutes_of(0, 60, 10, before) + minutes_of(60, 120, 11, before)
    assert steps(read(log(tmp_path, text)), "loss") == {"train.log": (120, 0, 119)}


def test_nanogpt_that_is_resumed_has_another_launch(tmp_path: Path) -> None:
    rows = [f"iter {n}: loss {2 - n / 100:.4f}, time 12.00ms, mfu 1.00%\n" for n in range(90)]
    sentence = "Resuming training from out-shakespeare\n"
    attempts = read(log(tmp_path, sentence + "".join(rows[:40]) + sentence + "".join(rows[40:])))
    assert steps(attempts, "loss") == {"train.log#1": (40, 0, 39), "train.log#2": (50, 40, 89)}
    assert {attempt.series["time"].unit for attempt in attempts} == {"ms"}


@pytest.mark.parametrize(
    "between",
    [
        "Evaluation is over, resuming training\n",
        "Resuming training after the evaluation\n",
        "resume: from out-3, resume_from_checkpoint=True\n",
        "Usage: --resume-from STEP\n",
        "Continuing training from scratch\nResume from checkpoint: None\nResuming training from scratch\n",
        "Continuing with epoch 4\nWarm restart at epoch 4\nContinue from here?\n",
        "Restoring states from the checkpoint path at best.ckpt\nLoaded model weights from best.ckpt\n",
    ],
)
def test_what_speaks_of_resuming_without_a_place_begins_nothing(between: str, tmp_path: Path) -> None:
    attempts = read(log(tmp_path, ARGUMENTS + lines(0, 40) + between + lines(40, 90)))
    assert list(steps(attempts, "loss")) == ["train.log"]


def epochs(first: int, end: int, at: float = 0.5) -> str:
    rows = (
        f"Epoch: {n}, \tavg train loss: {at - n / 100:.4f}, \tavg validation loss: {at:.4f}\n"
        for n in range(first, end)
    )
    return "".join(rows)


HEADINGS = (
    "------------------------\n      Training fold: {}      \n------------------------\n",
    "==== Fold {}/5 ====\n",
    "==================\n  FOLD {}  —  val: 3441_303\n  train: ['c1', 'c2']\n==================\n",
    "2025-05-03 06:08:54,870 INFO: [Run {}/50] begins\n",
    "--- Trial {} of 20 ---\n",
    "Starting experiment #{}\n",
    "Training with seed {}\n",
    "=====Trial {} params: {{'n_layers': 2, 'K': 3, 'lr': 0.0148, 'batch': 32}}=====\n",
    "Running repeat {}...\n",
)


@pytest.mark.parametrize("heading", HEADINGS)
def test_what_a_heading_numbers_is_a_training_of_its_own(heading: str, tmp_path: Path) -> None:
    """Also one that is begun again under its number."""
    numbers, ends = (1, 2, 3, 3), (8, 6, 5, 4)
    parts = [heading.format(k) + epochs(1, end, 0.5 + k / 50) for k, end in zip(numbers, ends, strict=True)]
    attempts = read(log(tmp_path, "".join(parts)))
    spans = {f"train.log#{k}": (end - 1, 1, end - 1) for k, end in enumerate(ends, 1)}
    assert steps(attempts, "avg train loss") == spans
    timeline = stitch(attempts)
    assert ([str(a.facts["trial"])[-1] for a in attempts], timeline.joins) == (["1", "2", "3", "3"], ())
    assert [b.evidence["because"] for b in timeline.step_backs] == ["trial", "trial", "appended"]


def test_a_bar_that_names_its_fold_is_of_a_training_of_its_own(tmp_path: Path) -> None:
    """Each counts its epochs anew, and all of them the same batches."""
    bars = (
        f"[fold_{fold}] {epoch:03}/006: {25 * n}%|###| {n}/4 [00:0{n}<00:0{4 - n}, "
        f"loss={4 / (epoch + n / 4) + fold:.4f}]\n"
        for fold in range(3)
        for epoch in range(1, 7)
        for n in range(1, 5)
    )
    attempts = read(log(tmp_path, "".join(bars)))
    spans = {name: (span[1], span[2]) for name, span in steps(attempts, "loss").items()}
    assert len(spans) == 3 and len(set(spans.values())) == 1
    assert [a.facts["trial"] for a in attempts] == ["fold 0", "fold 1", "fold 2"]
    assert stitch(attempts).joins == ()


def test_rows_that_name_their_fold_are_of_trainings_of_their_own(tmp_path: Path) -> None:
    rows = (f"Epoch: {n} Fold: {fold} Loss: {2 / n + fold:.4f}\n" for fold in range(3) for n in range(1, 9))
    attempts = read(log(tmp_path, "".join(rows)))
    assert steps(attempts, "Loss") == {f"train.log#{k}": (8, 1, 8) for k in (1, 2, 3)}


@pytest.mark.parametrize(
    "between",
    [
        "Fold: 1 result\nScore: 0.9792\n",
        "Fold 1, k=20: test_map = 0.5211, test_recall = 0.4192\n",
        "Best trial: 3. Best value: 0.51\n",
        "Trial 3 finished with value: 0.51\n",
        "Run 4 tests of 12\n",
        "seed: 42\nbatch_size: 32\n",
    ],
)
def test_what_is_told_of_a_fold_or_trial_that_is_over_begins_nothing(between: str, tmp_path: Path) -> None:
    attempts = read(log(tmp_path, epochs(1, 6) + between + epochs(6, 12) + between))
    assert steps(attempts, "avg train loss") == {"train.log": (11, 1, 11)}


def test_the_bar_of_a_search_counts_no_steps(tmp_path: Path) -> None:
    """As Optuna draws it, beside the epochs of each trial."""
    line = "2025-10-24 13:{t:02d}:{e:02d} - INFO - Trial {t} Epoch {e}/5: train_loss={loss}, val_loss=2.5\n"
    bar = "Best trial: 0. Best value: 1.58705:   2%|2   | {t}/40 [00:48<31:38, 48.67s/it]\r"
    text = "  0%|          | 0/40 [00:00<?, ?it/s]\r"
    for t in range(4):
        text += "".join(line.format(t=t, e=e, loss=3 - e / 4) for e in range(1, 6)) + bar.format(t=t + 1)
    (tmp_path / "log.txt").write_text(text, newline="")
    attempts = read(tmp_path / "log.txt")
    assert [attempt.facts["trial"] for attempt in attempts] == [f"trial {t}" for t in range(4)]
    assert [attempt.series["train_loss"].steps.tolist() for attempt in attempts] == 4 * [[1, 2, 3, 4, 5]]


def test_trials_of_which_each_tells_its_result_alone_are_one_attempt(tmp_path: Path) -> None:
    rows = (f"Trial {k}\ntrain loss: {2 / k:.4f}, lr: {k / 1e4:.5f}\n" for k in range(1, 20))
    assert list(steps(read(log(tmp_path, "".join(rows))), "train loss")) == ["train.log"]


def test_stages_that_are_counted_by_other_names_are_trainings_of_their_own(tmp_path: Path) -> None:
    """A pre-training, and fine-tunings after it in the same log, each up to an end of its own."""
    pre = "".join(
        f"iter {n:5} | train {9 / (n + 20):.4f} | val {9 / (n + 21):.4f}\n" for n in range(0, 4000, 10)
    )
    fine = "".join(
        "".join(
            f"step {n:5}/{end} | train {7 / (n + 9):.4f} | val {7 / (n + 10):.4f} | ep {n / 60:.2f}\n"
            for n in range(0, end, 5)
        )
        for end in (60, 90, 75)
    )
    amounts = "corpus 6,200 tokens (train 5,000 / val 1,200)\n  train 4,978 blocks / val 101 blocks\n"
    parts = (pre[: len(pre) // 8], fine, pre, fine)
    timeline = stitch(read(log(tmp_path, "".join(amounts + part for part in parts))))
    spans = [(len(a.series["train"]), int(a.series["train"].steps[-1])) for a in timeline.attempts]
    assert spans == [(50, 490), (12, 55), (18, 85), (15, 70), (400, 3990), (12, 55), (18, 85), (15, 70)]
    assert timeline.joins == ()


def test_answers_that_are_numbered_in_each_batch_are_no_stage(tmp_path: Path) -> None:
    """GRPO, which shows the four answers of two prompts now and then."""
    text = ""
    for n in range(1, 401):
        text += f"Epoch:[1/1]({n}/9751), Reward: {-2 + n / 400:.4f}, Learning Rate: 3e-07\n"
        if n % 50 == 0:
            text += "".join(f"gen[{k}] BEGIN\ngen[{k}] reward=-{k}.5\n" for k in (0, 1, 2, 3, 0, 1, 2, 3))
    (attempt,) = read(log(tmp_path, text))
    assert steps([attempt], "Reward") == {"train.log": (400, 1, 400)}


def test_how_long_nothing_was_learned_is_no_step(tmp_path: Path) -> None:
    rows = "".join(
        f"Epoch {n}/40\nTrain Loss: {2 / n:.4f}, Train Acc: {n}.5%\nEarly stopping counter: {n % 4}/15\n"
        for n in range(1, 41)
    )
    (attempt,) = read(log(tmp_path, rows))
    assert (attempt.axis, steps([attempt], "Train Loss")) == ("epoch", {"train.log": (40, 1, 40)})


def test_epochs_that_are_headings_begin_the_launch_that_was_announced(tmp_path: Path) -> None:
    text = "===== Training Start =====\nBatch Size: 64, LR: 0.001, Epochs: 9\n\nEpoch 1/9\n"
    for first in (4.5, 3.5):
        text += "===== Training Start =====\nBatch Size: 64, LR: 0.001, Epochs: 9\n\n"
        for epoch in range(1, 10):
            text += f"Epoch {epoch}/9\n  Train Loss: {first - epoch / 8}  Acc: 0.5\n  Val Loss: 3.5\n\n"
    launches = read(log(tmp_path, text))
    losses = [attempt.series["Train Loss"] for attempt in launches]
    assert [series.steps.tolist() for series in losses] == [list(range(1, 10))] * 2
    assert [series.values[0] for series in losses] == [4.375, 3.375]


def test_bars_towards_another_end_are_one_stage_as_long_as_the_end_stays(tmp_path: Path) -> None:
    text = ""
    for end, n_epochs in ((223, 3), (445, 5)):
        for epoch in range(n_epochs):
            for n in range(0, end, 20):
                text += f"Epoch {epoch} [{n}/{end}] Loss: {9 / (n + end * epoch + 9):.4f} (Cls: 0.5)\n"
    launches = read(log(tmp_path, text))
    assert [len(attempt.series["Loss"]) for attempt in launches] == [36, 115]


@pytest.mark.parametrize(("goes_on", "ended"), [(False, "finished"), (True, None)])
def test_what_fails_behind_the_summary_of_the_trainer_ended_no_training(
    tmp_path: Path, goes_on: bool, ended: str | None
) -> None:
    rows = (
        f"{{'loss': {2 - n / 30:.4f}, 'learning_rate': 0.001, 'epoch': {n / 10}}}\n" for n in range(1, 21)
    )
    text = "".join(rows)
    text += "{'train_runtime': 90.5, 'train_loss': 1.65, 'epoch': 2.0}\n"
    text += "{'loss': 1.3, 'learning_rate': 0.001, 'epoch': 2.1}\n" * goes_on
    text += (
        "Traceback (most recent call last):\n  tracker.finish()\nRuntimeError: call init() before finish()\n"
    )
    (attempt,) = read(log(tmp_path, text))
    assert attempt.facts.get("ended") == ended
    assert (ending := last_ending(stitch([attempt]))) and (ending.how == "finished") == (not goes_on)


@pytest.mark.parametrize(("first", "end", "n_launches"), [(20, 40, 2), (20, 20, 1), (15, 40, 2), (21, 40, 1)])
def test_an_epoch_told_again_of_another_number_of_epochs_begins_another_launch(
    first: int, end: int, n_launches: int, tmp_path: Path
) -> None:
    """One that only goes on may be of a run that was made longer; one of as many is a second sample."""
    text = "".join(f"Epoch [{n}/20] - Loss: {2 - n / 40:.3f}\n" for n in range(1, 21))
    text += "".join(f"Epoch [{n}/{end}] - Loss: {9 - n / 10:.3f}\n" for n in range(first, first + 12))
    assert len(read(log(tmp_path, text))) == n_launches


def test_numbers_of_epochs_that_alternate_begin_no_launch_again_and_again(tmp_path: Path) -> None:
    text = "".join(
        f"Epoch [{n}/20] - Loss: {2 - n / 40:.3f}\nEpoch [1/3] - dice: 0.5\n" for n in range(1, 21)
    )
    assert len(read(log(tmp_path, text))) <= 2


def test_an_epoch_that_falls_to_a_rate_of_zero_begins_another_training(tmp_path: Path) -> None:
    """Trainings on data of several sizes, whose first lines lie at several epochs. A resume has a rate."""

    def training(size: int, n: int, first: int = 0) -> str:
        rows = [(3 - 0.05 * k, 1e-4 * k, (10 * k + 1) / size) for k in range(first, n)]
        row = "{{'loss': {:.3f}, 'learning_rate': {:.6f}, 'epoch': {:.4f}}}\n"
        return "".join(row.format(*values) for values in rows)

    path = log(tmp_path, training(900, 12) + training(40, 12) + training(40, 24, 8))
    assert steps(stitch(read(path)).attempts, "loss") == {
        "train.log#1": (12, 1, 12),
        "train.log#2": (28, 1, 28),
    }


@pytest.mark.parametrize("waited_min", [5, 80])
def test_batches_that_begin_again_after_a_long_pause_are_of_another_training(
    waited_min: int, tmp_path: Path
) -> None:
    """Where no epoch is named, whole passes over them are epochs, but none waits so long to begin."""
    minutes = [*range(41), *range(41 + waited_min, 82 + waited_min)]
    clocks = [f"2025-01-02 {9 + at // 60:02d}:{at % 60:02d}:00 - " for at in minutes]
    rows = [f"update {n % 41}/40 loss: {2 - n / 100:.3f}\n" for n in range(82)]
    text = "".join(clock + row for clock, row in zip(clocks, rows, strict=True))
    wanted = {5: {"train.log": (82, 0, 81)}, 80: {f"train.log#{n}": (41, 0, 40) for n in (1, 2)}}
    assert steps(read(log(tmp_path, text)), "loss") == wanted[waited_min]


@pytest.mark.parametrize("resume", ["None", "'ckpt_40.pt'", "['a.pt']"])
def test_arguments_of_which_one_had_no_value_before_are_those_of_the_next_launch(
    resume: str, tmp_path: Path
) -> None:
    head = "Namespace(lr=0.05, batch_size={}, resume={})\n"
    text = head.format(32, "None") + lines(0, 60) + head.format(16, resume) + lines(41, 90)
    first, second = read(log(tmp_path, text))
    assert {*first.series} == {*second.series} == {"loss", "lr"}
    assert steps([first, second], "loss") == {"train.log#1": (60, 0, 59), "train.log#2": (49, 41, 89)}
    assert (first.facts["config/batch_size"], second.facts["config/batch_size"]) == (32, 16)


@pytest.mark.parametrize(
    "heading",
    [
        "### Training with lr={}, batch_size=64",
        "=== lr={}, batch_size=64 ===",
        "Run 3: lr={}, batch_size=64",
        "--- Running experiment: lr = {}, batch_size = 64 ---",
    ],
)
def test_a_heading_of_settings_says_them_of_the_training_below_it(heading: str, tmp_path: Path) -> None:
    epochs = "".join(f"Epoch {n}/12: loss={2 / n:.4f}, acc={0.5 + n / 40}\n" for n in range(1, 13))
    end = "Final accuracy for lr={}, batch_size=64: 0.{}\n\n"
    rates = (0.01, 0.1, 1.0)
    text = "".join(heading.format(rate) + "\n" + epochs + end.format(rate, k) for k, rate in enumerate(rates))
    attempts = read(log(tmp_path, text))
    assert [{*attempt.series} for attempt in attempts] == 3 * [{"loss", "acc", "Final accuracy"}]
    assert [attempt.series["Final accuracy"].values.tolist() for attempt in attempts] == [[0.0], [0.1], [0.2]]
    spans = [(12, 1, 12)] * 3
    assert [*steps(attempts, "loss").values()] == spans
    stated = [(attempt.facts["config/lr"], attempt.facts["config/batch_size"]) for attempt in attempts[1:]]
    assert stated == [(rate, 64) for rate in rates[1:]]


def test_a_heading_of_settings_above_each_epoch_is_a_metric_of_the_same_training(tmp_path: Path) -> None:
    text = "".join(f"Training with lr={0.1 / n:.5f}\nEpoch {n} loss {2 / n:.4f}\n" for n in range(1, 13))
    (attempt,) = read(log(tmp_path, text))
    rates = attempt.series["Training with lr"]
    assert (rates.steps.tolist(), rates.values[0], rates.values[-1]) == ([*range(1, 12)], 0.05, 0.00833)


def test_a_score_that_is_told_for_what_is_no_learning_rate_keeps_its_name(tmp_path: Path) -> None:
    text = "".join(f"Epoch {n} loss {2 / n:.4f}\nAccuracy for k=5: 0.{n}\n" for n in range(1, 10))
    (attempt,) = read(log(tmp_path, text))
    assert {*attempt.series} == {"loss", "Accuracy for k"}
