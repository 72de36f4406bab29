"""Records of more than one line, evaluations, and what counts: small logs, with all that is read of each."""

from __future__ import annotations

import pytest
from tests.depth import few
from tests.logs import Points, attempt_of, points, read_text
from tests.work import in_proportion

from chronicle.metrics.roles import assign, judged_loss
from chronicle.model import Role
from chronicle.readers import read
from chronicle.readers.console import generic, plan
from chronicle.readers.find import claims
from chronicle.readers.text import Head

STEPS = range(1, 11)


def repeated(text: str) -> str:
    """The text for steps 1 to 10: {i} is the step, {e} the epoch of two steps, {loss} falls from 4.5."""
    return "".join(text.format(i=i, e=(i + 1) // 2, b=2 - i % 2, loss=5 - i / 2) for i in STEPS)


def steps(*of: int, first: float = 4.5, by: float = -0.5) -> list[tuple[int, float]]:
    return [(step, first + by * n) for n, step in enumerate(of)]


LOSS = steps(*STEPS)
# name -> text, all points, the axis
LOGS: dict[str, tuple[str, Points, str]] = {
    "a block whose counter comes last": (
        repeated("loss: {loss}\naccuracy: 0.5\niteration: {i}\n----------\n"),
        {"loss": LOSS, "accuracy": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "headings of both phases that count the epoch, from 1 above lines from 0": (
        "".join(
            f"== training epoch {i} ==\nEpoch {i - 1} | loss = {5 - i / 2}\ntook 0.1 s\n\n"
            f"== validate epoch {i} ==\nEpoch {i - 1} | loss = {5 - i / 2}\n"
            for i in STEPS
        ),
        {"loss": steps(*range(10)), "validate/loss": steps(*range(10))},
        "epoch",
    ),
    "phases in brackets above their numbers": (
        repeated("Epoch {i}\n[train]\nloss {loss}\n[valid]\nloss {loss}\n"),
        {"loss": LOSS, "valid/loss": LOSS},
        "epoch",
    ),
    "phases between rules, the evaluation first": (
        repeated("Epoch {i}\n==== Evaluation ====\nloss {loss}\n==== Training ====\nloss {loss}\n"),
        {"loss": LOSS, "evaluation/loss": LOSS},
        "epoch",
    ),
    "phases that are announced with dots": (
        repeated("Epoch {i}\nTraining...\nloss {loss}\nValidating...\nloss {loss}\n"),
        {"loss": LOSS, "validating/loss": LOSS},
        "epoch",
    ),
    "blocks under headings and rules, below settings with a learning rate": (
        "{'lr': 0.001, 'width': 256}\n"
        + repeated("EPOCH {i} of 10\n----------\n  Train loss: {loss}\n  Train acc: 0.5\n"),
        {"Train loss": LOSS, "Train acc": steps(*STEPS, first=0.5, by=0)},
        "epoch",
    ),
    "evaluations below which an epoch is named only sometimes": (
        "".join(
            f"Epoch {i} loss: {5 - i / 2}\nval_loss: {5 - i / 2}\n" + f"Epoch {i} took 3.5s\n" * (i % 3 > 0)
            for i in STEPS
        ),
        {"loss": LOSS, "val_loss": LOSS},
        "epoch",
    ),
    "a dictionary of phases that is printed over several lines": (
        repeated(
            "{{'epoch': {i},\n 'train': {{'action_f1': 0.5,\n           'total_loss': {loss}}},\n"
            " 'valid': {{'action_f1': 0.25,\n           'total_loss': {loss}}}}}\nSaving the best\n"
        ),
        {
            "train/action_f1": steps(*STEPS, first=0.5, by=0),
            "train/total_loss": LOSS,
            "valid/action_f1": steps(*STEPS, first=0.25, by=0),
            "valid/total_loss": LOSS,
        },
        "epoch",
    ),
    "an indented line of names that are not known": (
        repeated(
            "[iter {i}/90] loss: {loss}, lr: 0.5\n\t\tfg/bg=(3/9), time cost: 5.5\n"
            "\t\tfirst: 0.5, second: {loss}\nat line 5 of a file, 0.5\n"
        ),
        {
            "loss": LOSS,
            "lr": steps(*STEPS, first=0.5, by=0),
            "first": steps(*STEPS, first=0.5, by=0),
            "second": LOSS,
        },
        "step",
    ),
    "a name that is not known below each count": (
        repeated("It: {i}, Loss: {loss}\nDrift of u: {loss}\nlevel: 3\nwaited 2.5\n"),
        {"Loss": LOSS, "Drift of u": LOSS},
        "step",
    ),
    "losses above the count of the epoch to which they belong": (
        repeated("own loss {loss}, other loss {loss}\nsaved it\nEpoch {i:04d} | Time 0.5 | Loss {loss}\n"),
        {
            "own loss": LOSS,
            "other loss": LOSS,
            "Time": steps(*STEPS, first=0.5, by=0),
            "Loss": LOSS,
        },
        "epoch",
    ),
    "an evaluation above the first count and below each": (
        "val loss: 5.0\n" + repeated("Epoch {i} loss: {loss}\nval loss: {loss}\n")[: -len("val loss: 0.0\n")],
        {"loss": LOSS, "val loss": LOSS[:-1]},
        "epoch",
    ),
    "ends of epochs that are counted from 0": (
        "".join(
            f"Finished batch {i} / 9, loss: {9 - 3 * e - i / 3:.2f}\n" + f"End of epoch {e} / 3\n" * (i == 6)
            for e in range(3)
            for i in (0, 3, 6)
        ),
        {"loss": [(9 * e + i, round(9 - 3 * e - i / 3, 2)) for e in range(3) for i in (0, 3, 6)]},
        "step",
    ),
    "the steps of an episode count nothing": (
        repeated("{i}00/1000: episode: {i}, episode steps: 18{b}, episode reward: {loss}\n"),
        {"episode steps": [(i, 182 - i % 2) for i in STEPS], "episode reward": LOSS},
        "step",
    ),
    "losses that are lists under a header in the first line": (
        "Step      Train loss              Test loss               Test metric\n"
        + repeated("{i}         [{loss}e+00, 1.00e+00]    [{loss}e+00, 2.00e+00]    []  \n"),
        {
            "Train loss": steps(*STEPS, first=5.5),
            "Train loss/1": LOSS,
            "Train loss/2": steps(*STEPS, first=1.0, by=0),
            "Test loss": steps(*STEPS, first=6.5),
            "Test loss/1": LOSS,
            "Test loss/2": steps(*STEPS, first=2.0, by=0),
        },
        "step",
    ),
    "lines of names and numbers that commas part, beside a list": (
        repeated("Round  {i}, Average loss {loss}, Test loss {loss}\nRound {i}, lr: 0.5, [21 28 {i}]\n"),
        {"Average loss": LOSS, "Test loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "lines of a logger and numbers without names that commas part, beside a loss": (
        repeated("INFO:Net, 2025-01-02 18:42:{i:02},331, 0.0464, loss {loss}\n"),
        {"loss": steps(*range(10))},
        "row",
    ),
    "a bound of the log of a probability": (
        repeated("[iteration {i:04d}] ELBO: {loss}\n"),
        {"ELBO": LOSS},
        "step",
    ),
    "losses of the training and the validation in a line": (
        repeated("Epoch {i} | train: loss {loss} | valid: loss {loss}\n"),
        {"loss": LOSS, "valid/loss": LOSS},
        "epoch",
    ),
    "the rounds of Flower's server": (
        repeated("INFO :  [ROUND {i}]\nINFO :  fit progress: ({i}, {loss}, {{'accuracy': 0.5}}, 9.5)\n"),
        {"loss": LOSS, "accuracy": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "the losses of all rounds that Flower's server lists at its end": (
        repeated("INFO :  [ROUND {i}]\nINFO :  aggregate_fit: received 10 results and 0 failures\n")
        + "INFO :  \tHistory (loss, distributed):\n"
        + repeated("INFO :  \t\tround {i}: {loss}\n"),
        {"loss": LOSS},
        "step",
    ),
    "a cost behind a step that is padded": (
        "Training on 4 qubits\n" + repeated("Cost after step {i:5d}:  {loss}\n"),
        {"Cost": LOSS},
        "step",
    ),
    "a cost after each iteration, as courses print it, and nothing else": (
        repeated("Cost after iteration {i}: {loss}\n"),
        {"Cost": LOSS},
        "step",
    ),
    "two rewards behind one name": (
        repeated(
            "Updates {i}, num timesteps {i}00\n Last 10 training episodes: mean/median reward {loss}/1.5\n"
        ),
        {
            "num timesteps": [(i, 100.0 * i) for i in STEPS],
            "mean reward": LOSS,
            "median reward": steps(*STEPS, first=1.5, by=0),
            "Last": steps(*STEPS, first=10.0, by=0),
        },
        "step",
    ),
    "the reward of the first policy of Sample Factory": (
        repeated(
            "[1][77] Samples: {i}. Policy lag: (avg: 0.5)\n[1][77] Avg episode reward: [(0, '{loss}')]\n"
        ),
        {"Avg episode reward": LOSS, "avg": steps(*STEPS, first=0.5, by=0)},
        "sample",
    ),
    "the number of an episode, as minimalRL prints it": (
        repeated("n_episode :{i}, score : {loss}, n_buffer : 2000, eps : 8.0%\n"),
        {"score": LOSS, "n_buffer": steps(*STEPS, first=2000.0, by=0), "eps": steps(*STEPS, first=8.0, by=0)},
        "step",
    ),
    "blocks that begin with an episode behind another whole number, as of FinRL": (
        repeated("=====\nday: 2892, episode: {i}\nbegin_total_asset: 1000.00\ntotal_reward: {loss}\n=====\n"),
        {"total_reward": LOSS, "day": steps(*STEPS, first=2892.0, by=0)},
        "step",
    ),
    "a table of episodes and steps": (
        " Episode    Step    MeanReward                Time\n"
        + repeated("{i:8d}      {i}    {loss:10.3f} 2022-01-01T10:00:00\n"),
        {"MeanReward": LOSS, "Episode": [(i, float(i)) for i in STEPS]},
        "step",
    ),
    "games of an agent": (
        repeated("Game {i} Score {loss} Record: 9.5\n") + "Training stopped\n",
        {"Score": LOSS, "Record": steps(*STEPS, first=9.5, by=0)},
        "step",
    ),
    "a list of rewards behind those of all, as of MADDPG": (
        repeated(
            "steps: {i}, episodes: {i}, mean episode reward: {loss}, agent episode reward: [2, 1.5, 1]\n"
        ),
        {
            "episodes": [(i, float(i)) for i in STEPS],
            "mean episode reward": LOSS,
            "agent episode reward": steps(*STEPS, first=2.0, by=0),
        },
        "step",
    ),
    "episodes and rewards in Portuguese": (
        repeated("Episódio {i}/10 - Recompensa: {loss} - Epsilon: 0.5\n"),
        {"reward": LOSS, "Epsilon": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "episodes and rewards in Korean": (repeated("에피소드: {i} | 보상: {loss}\n"), {"reward": LOSS}, "step"),
    "a block under a counter with a colon, and a first one under none": (
        "Epoch: init\nTrain loss: 9.0\nTest loss: 9.5\n"
        + repeated("Step {i:5d} of 6:\nTrain loss: {loss}\nTest loss: 1.5\n"),
        {"Train loss": LOSS, "Test loss": steps(*STEPS, first=1.5, by=0)},
        "step",
    ),
    "a block whose counter comes first, in lines with a clock": (
        repeated("2025-01-01 10:00:00: Epoch {i}\n2025-01-01 10:00:00: train_loss {loss}\n"),
        {"train_loss": LOSS},
        "epoch",
    ),
    "a block between a counter before and a counter behind it": (
        repeated("Epoch {i}\nLoss = {loss}, GNorm = 0.5\nValidation rmse = 1.5\n"),
        {
            "Loss": LOSS,
            "GNorm": steps(*STEPS, first=0.5, by=0),
            "Validation rmse": steps(*STEPS, first=1.5, by=0),
        },
        "epoch",
    ),
    "a table with the unit of its last column apart": (
        "Epoch    Train Loss   Time    \n" + repeated("{i}        {loss}       0.25    s\n"),
        {"Train Loss": LOSS, "Time": steps(*STEPS, first=0.25, by=0)},
        "epoch",
    ),
    "a header of which one blank parts two names": (
        repeated(
            "  Epoch   gpu_mem       box    labels\n  {i}/10     3.21G   {loss}        25: 100%|####| 4/4\n"
            "  Class     Images     mAP@.5 mAP@.5:.95: 100%|####| 4/4\n"
            "    all        128      0.5      0.25\n"
        ),
        {
            "gpu_mem": steps(*STEPS, first=3.21, by=0),
            "box": LOSS,
            "labels": steps(*STEPS, first=25, by=0),
            "Images": steps(*STEPS, first=128, by=0),
            "mAP@.5": steps(*STEPS, first=0.5, by=0),
            "mAP@.5:.95": steps(*STEPS, first=0.25, by=0),
        },
        "epoch",
    ),
    "a dictionary over several lines": (
        repeated("{{'grad': 1.5,\n 'loss': {loss},\n 'step': {i}}}\n"),
        {"loss": LOSS, "grad": steps(*STEPS, first=1.5, by=0)},
        "step",
    ),
    "lines whose counter is not the best of the log": (
        repeated("steps:{i}/10 [5.0%]\n[{i}] loss = {loss}\n[{i}] l2_grads = 0.5\n"),
        {"loss": LOSS, "l2_grads": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a bar between a name and its number": (
        repeated("Step    {i}: train CrossEntropyLoss |  {loss}\nStep    {i}: eval  Accuracy |  0.5\n"),
        {"train CrossEntropyLoss": LOSS, "eval/Accuracy": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a box of two columns": (
        repeated("| Epoch |  {i} |\n| a/ |  |\n|   loss  | {loss} |\n| b/ |  |\n| loss | 1 |\n-------\n"),
        {"a/loss": LOSS, "b/loss": steps(*STEPS, first=1.0, by=0)},
        "epoch",
    ),
    "a table of columns": (
        "epoch     train_loss  time\n" + repeated("{i}         {loss}         00:3{i}\n"),
        {"train_loss": LOSS},
        "epoch",
    ),
    "a table with borders whose names go on in a second line, with blank cells": (
        "|==========================================================|\n"
        "| Epoch | Iteration |   Time   | Mini-batch | Mini-batch | Validation |\n"
        "|       |           | (hh:mm)  |    Loss    |  Accuracy  |    Loss    |\n"
        "|==========================================================|\n"
        + "".join(
            f"| {(i + 1) // 2} | {i} | 00:1{i % 10} | {5 - i / 2} | 50.5% | {0.25 if i % 5 == 0 else ''} |\n"
            for i in STEPS
        ),
        {
            "Epoch": [(i, (i + 1) // 2) for i in STEPS],
            "Mini-batch Loss": LOSS,
            "Mini-batch Accuracy": steps(*STEPS, first=50.5, by=0),
            "Validation Loss": [(5, 0.25), (10, 0.25)],
        },
        "step",
    ),
    "rounds of gradient boosting that tell a score of held-out data alone": (
        repeated("[{i}]\tvalidation_0-auc:0.5\tvalidation_1-auc:{loss}\n"),
        {"validation_0-auc": steps(*STEPS, first=0.5, by=0), "validation_1-auc": LOSS},
        "step",
    ),
    "rounds of LightGBM that tell a score alone": (
        repeated("[{i}]\tvalid_0's auc: {loss}\tvalid_1's auc: 0.5\n"),
        {"valid_0's auc": LOSS, "valid_1's auc": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a table of columns one blank apart": (
        "# step loss lr\n" + repeated("{i} {loss} 0.5\n"),
        {"loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a header right behind a comment mark": (
        "#epoch loss val_loss\n" + repeated("{i} {loss} 0.5\n"),
        {"loss": LOSS, "val_loss": steps(*STEPS, first=0.5, by=0)},
        "epoch",
    ),
    "a header behind a comment mark, whose names stand further apart, above another comment": (
        "# step   loss     lr\n# nan where there is no force\n" + repeated("{i}  {loss}  0.5\n"),
        {"loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a table of numpy's savetxt, whose names are parted by commas": (
        "# step, loss, grad_norm\n" + repeated("{i}.0e+00 {loss} 0.5\n"),
        {"loss": LOSS, "grad_norm": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "DeepXDE's loss.dat, which names groups of columns": (
        "# step, loss_train, loss_test, metrics_test\n" + repeated("{i} {loss} 0.25 4.625 0.25 0.75\n"),
        {
            "loss_train": [(step, value + 0.25) for step, value in LOSS],
            "loss_test": steps(*STEPS, first=4.875, by=0),
            "loss_train/1": LOSS,
            "loss_train/2": steps(*STEPS, first=0.25, by=0),
            "loss_test/1": steps(*STEPS, first=4.625, by=0),
            "loss_test/2": steps(*STEPS, first=0.25, by=0),
            "metrics_test": steps(*STEPS, first=0.75, by=0),
        },
        "step",
    ),
    "DeepXDE's loss.dat without metrics": (
        "# step, loss_train, loss_test, metrics_test\n" + repeated("{i} {loss} 0.25 4.625 0.25\n"),
        {
            "loss_train": [(step, value + 0.25) for step, value in LOSS],
            "loss_test": steps(*STEPS, first=4.875, by=0),
            "loss_train/1": LOSS,
            "loss_train/2": steps(*STEPS, first=0.25, by=0),
            "loss_test/1": steps(*STEPS, first=4.625, by=0),
            "loss_test/2": steps(*STEPS, first=0.25, by=0),
        },
        "step",
    ),
    "a line of the training below one of the validation, with the same names": (
        repeated("Epoch: {i}\nValidation: f1 0.5 loss {loss}\nTrain: f1 0.75 loss 0.25\n"),
        {
            "validation/f1": steps(*STEPS, first=0.5, by=0),
            "validation/loss": LOSS,
            "f1": steps(*STEPS, first=0.75, by=0),
            "loss": steps(*STEPS, first=0.25, by=0),
        },
        "epoch",
    ),
    "DeepXDE's loss.dat, in which conditions are not tested": (
        "# step, loss_train, loss_test, metrics_test\n" + repeated("{i} {loss} 4.0 0.125 {loss} 0.0 0.0\n"),
        {
            "loss_train": [(step, value + 4.125) for step, value in LOSS],
            "loss_test": LOSS,
            "loss_train/1": LOSS,
            "loss_train/2": steps(*STEPS, first=4.0, by=0),
            "loss_train/3": steps(*STEPS, first=0.125, by=0),
            "loss_test/1": LOSS,
            "loss_test/2": steps(*STEPS, first=0.0, by=0),
            "loss_test/3": steps(*STEPS, first=0.0, by=0),
        },
        "step",
    ),
    "DeepXDE's table, whose cells are lists": (
        "Step      Train loss            Test loss             Test metric\n"
        + repeated("{i}         [{loss}, 2.50e-01]  [4.62e+00, 2.50e-01]  []\n"),
        {
            "Train loss": [(step, value + 0.25) for step, value in LOSS],
            "Test loss": steps(*STEPS, first=4.87, by=0),
            "Train loss/1": LOSS,
            "Train loss/2": steps(*STEPS, first=0.25, by=0),
            "Test loss/1": steps(*STEPS, first=4.62, by=0),
            "Test loss/2": steps(*STEPS, first=0.25, by=0),
        },
        "step",
    ),
    "a table that pandas prints, with its index": (
        "   epoch   loss    lr\n" + repeated("7      {i}  {loss}  0.50\n"),
        {"loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0)},
        "epoch",
    ),
    "a table that a line of nothing but a clock parts": (
        "epoch  train_loss\n" + repeated("{i}  {loss}\n2025-01-01 10:00:00\n"),
        {"train_loss": LOSS},
        "epoch",
    ),
    "a table with borders": (
        "┃ step ┃ loss ┃ lr ┃\n" + repeated("│ {i} │ {loss} │ 1 │\n"),
        {"loss": LOSS, "lr": steps(*STEPS, first=1.0, by=0)},
        "step",
    ),
    "boxes of rich, with their step above them": (
        repeated(
            "ml_log:186 [INFO] \n\x1b[3m     Step {i}     \x1b[0m\n┏━━━━━━━┳━━━━━━━┓\n"
            "┃ \x1b[1mMetric\x1b[0m ┃ Value ┃\n┡━━━━━━━╇━━━━━━━┩\n"
            "│\x1b[36m epoch \x1b[0m│ {e}    │\n│ nll   │ {loss}  │\n│ lr    │ 0.5   │\n└───────┴───────┘\n"
        ),
        {
            "epoch": [(step, (step + 1) // 2) for step in STEPS],
            "nll": LOSS,
            "lr": steps(*STEPS, first=0.5, by=0),
        },
        "step",
    ),
    "boxes with their step and groups within them": (
        repeated(
            "╔═══════╦══════╗\n║ step  ║ {i}  ║\n║ train/ ║      ║\n║ loss  ║ {loss} ║\n╚═══════╩══════╝\n"
        ),
        {"train/loss": LOSS},
        "step",
    ),
    "a table that is drawn again with a bar": (
        repeated(
            "  Epoch  box_loss\n  {i}/10  9.5: 50%|##  | 1/2 [0]\n  {i}/10  {loss}: 100%|####| 2/2 [0]\n"
        ),
        {"box_loss": LOSS},
        "epoch",
    ),
    "an evaluation counts its own batches": (
        repeated("Epoch [{e}] iter {b}/2 loss {loss}\nEvaluating: 2/3 loss 7.0\n"),
        {
            "Epoch": [(step, (step + 1) // 2) for step in STEPS],
            "loss": LOSS,
            "eval/loss": steps(*STEPS, first=7.0, by=0),
        },
        "step",
    ),
    "the name of a metric says what was evaluated, and what is told with it": (
        repeated("Epoch {i}/10\n----------\ntrain Loss: {loss} Acc: 0.5\nval Loss: 9.0 Acc: 0.25\n\n"),
        {
            "train Loss": LOSS,
            "Acc": steps(*STEPS, first=0.5, by=0),
            "val Loss": steps(*STEPS, first=9.0, by=0),
            "val/Acc": steps(*STEPS, first=0.25, by=0),
        },
        "epoch",
    ),
    "all lines are of tests, which then is no phase": (
        repeated("test step {i} loss {loss}\n"),
        {"loss": LOSS},
        "step",
    ),
    "batches that begin again where no epoch is told": (
        "".join(f"loss: {5 - n / 2} | {100 * n % 300 or 300}/300\n" for n in STEPS),
        {"loss": steps(*range(100, 1001, 100))},
        "step",
    ),
    "an epoch and a batch of which nobody knows how many there are": (
        "".join(f"TRAIN Batch {n // 6}/{n % 6 * 100} loss {5 - n / 2}\n" for n in range(1, 11)),
        {"loss": steps(*range(100, 1001, 100))},
        "step",
    ),
    "epochs whose batches count from 1, as ESPnet's ranges of batches do": (
        repeated("{e}epoch:train:1-{b}0batch: iter_time=0.5, loss={loss}\n"),
        {
            "epoch": [(10 * step, (step + 1) // 2) for step in STEPS],
            "iter_time": steps(*range(10, 101, 10), first=0.5, by=0),
            "loss": steps(*range(10, 101, 10)),
        },
        "step",
    ),
    "bars of evaluations that have no name, beside one of the whole training": (
        repeated(
            "{i}0%|#| {i}/10 [0]\nloss: {loss} lr: 0.5\n50%|#| 1/2 [0]\n100%|#| 2/2 [0]\neval_loss: 7.0\n"
        ),
        {"loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0), "eval_loss": steps(*STEPS, first=7.0, by=0)},
        "step",
    ),
    "bars of epochs that tell the loss, and a few lines that count over all of them": (
        "".join(
            f"epoch {n // 5}: 50%|#| {n % 5 + 1}/5 [0, loss={4.5 - n / 2}]\n"
            + (f"global_step={n + 1} eval_loss=7.0\n" if n % 5 == 4 else "")
            for n in range(10)
        ),
        {"epoch": [(n + 1, n // 5) for n in range(10)], "loss": LOSS, "eval_loss": [(5, 7.0), (10, 7.0)]},
        "step",
    ),
    "the same counter in two spellings, one of them seldom": (
        repeated("iter {i}: loss {loss}, lr 0.5\n") + "Iter 10 | Validation loss 7.0\n",
        {"loss": LOSS, "lr": steps(*STEPS, first=0.5, by=0), "Validation loss": [(10, 7.0)]},
        "step",
    ),
    "episodes, each with its length": (
        "".join(f"episode: {n}, step: {5 + 7 * n % 11}, reward: {5 - n / 2}, done: True\n" for n in STEPS),
        {"step": [(n, 5 + 7 * n % 11) for n in STEPS], "reward": LOSS},
        "step",
    ),
    "steps within episodes": (
        repeated("episode: {e}, step: {b}, reward: {loss}, done: False\n"),
        {"episode": [(n, (n + 1) // 2) for n in STEPS], "reward": LOSS},
        "step",
    ),
    "samples that a mean is of count nothing": (
        repeated("Epoch {i} - loss: {loss}, Samples: 5695\n"),
        {"loss": LOSS, "Samples": steps(*STEPS, first=5695.0, by=0)},
        "epoch",
    ),
    "tokens of each text count nothing": (
        "".join(f"Tokens: {4 + n % 5} | Loss: {5 - n / 2}\n" for n in STEPS),
        {"Loss": steps(*range(10)), "Tokens": [(n - 1, 4 + n % 5) for n in STEPS]},
        "row",
    ),
    "other bars beside that of the training": (
        repeated("Loading: 3/5 [00:01]\nTraining: {i}/10 [00:01, loss={loss}]\n"),
        {"loss": LOSS},
        "step",
    ),
    "a few samples that are listed before epochs, and count nothing": (
        "".join(f"[{n}] id=7, start={n * 5}\n" for n in range(5)) * 3
        + "".join(f"Epoch {n}/99 train_loss={5 - n / 2} val_mae=2.5\n" for n in range(1, 41)),
        {"train_loss": steps(*range(1, 41)), "val_mae": steps(*range(1, 41), first=2.5, by=0)},
        "epoch",
    ),
    "a loss beside the best score so far is that of an evaluation": (
        repeated("Epoch: [0/1] Iter:[{i}/10], Loss: {loss}\n")
        + "Loss: 2.5, MeanIU: 0.5, Best_mIoU: 0.75\nLoss: 2.0, MeanIU: 0.5, Best_mIoU: 0.75\n",
        {
            "Epoch": steps(*STEPS, first=0.0, by=0),
            "Loss": LOSS,
            "val/Loss": [(10, 2.5), (10, 2.0)],
            "val/MeanIU": [(10, 0.5), (10, 0.5)],
            "val/Best_mIoU": [(10, 0.75), (10, 0.75)],
        },
        "step",
    ),
    "a counter of one letter": (
        "".join(f"t={120 * n}, r=3.0, loss={5 - n / 2}\n" for n in STEPS),
        {"r": steps(*range(120, 1201, 120), first=3.0, by=0), "loss": steps(*range(120, 1201, 120))},
        "step",
    ),
    "what was said before, said again": (
        repeated("[{i}]\tloss:{loss}\n") + "Early stopping, best iteration is:\n[3]\tloss:3.5\n",
        {"loss": LOSS},
        "step",
    ),
    "a configuration counts nothing": (
        "iterations: 5000\nlr: 0.5\n" + repeated("it: {i} loss: {loss}\n"),
        {"loss": LOSS},
        "step",
    ),
    "words of another language, told one after the other": (
        repeated("第{i}轮\n训练损失：{loss}\n"),
        {"train loss": LOSS},
        "epoch",
    ),
    "the progress of Vowpal Wabbit": (
        "Num weight bits = 18\nlearning rate = 0.5\n"
        "average  since         example        example        current        current  current\n"
        "loss     last          counter         weight          label        predict features\n"
        + repeated("{loss} {loss}          {i}        {i}.0   1.0000   0.5000       10\n"),
        {
            "average loss": LOSS,
            "loss since last": LOSS,
            "example weight": steps(*STEPS, first=1.0, by=1.0),
            "label": steps(*STEPS, first=1.0, by=0),
            "predict": steps(*STEPS, first=0.5, by=0),
            "features": steps(*STEPS, first=10.0, by=0),
        },
        "sample",
    ),
    "the same record from two handlers of a logger, with a padded counter": (
        repeated(
            "INFO:tensorflow:[{i:>5}] | gnorm 0.5 | loss {loss}\n"
            "I0102 10:00:00.000000 12345 train.py:29] [{i:>5}] | gnorm 0.5 | loss {loss}\n"
        ),
        {"gnorm": steps(*STEPS, first=0.5, by=0), "loss": LOSS},
        "step",
    ),
    "a record with a counter, printed twice": (
        repeated("step {i} loss {loss}\nstep {i} loss {loss}\n"),
        {"loss": LOSS},
        "step",
    ),
    "the last step, said again without its counter": (
        repeated("Epoch: {i}, Loss D: {loss}, Loss G: 0.5\n") + "Done.\n  Loss D: 0.0   Loss G: 0.5\n",
        {"Loss D": LOSS, "Loss G": steps(*STEPS, first=0.5, by=0)},
        "epoch",
    ),
    "the summary of an epoch, with fewer digits and without its batch": (
        repeated("{i}/10 epoch {e}.5 loss {loss}12345 lr 0.5\n") + "All done: loss 0.0123 - lr 0.5\n",
        {
            "epoch": [(i, (i + 1) // 2 + 0.5) for i in STEPS],
            "loss": [(i, float(f"{loss}12345")) for i, loss in LOSS],
            "lr": steps(*STEPS, first=0.5, by=0),
        },
        "step",
    ),
    "an evaluation that goes on in a line of its own": (
        repeated(
            "Epoch: [{i}]  [2/3]  lr: 0.5  loss: {loss}\nEpoch: [{i}] Total time: 0:20:03\n"
            "Averaged stats: lr: 0.5  loss: {loss}\nTest:  [3/4]  loss: 7.5\n* Acc@1 0.25 loss 7.0\n"
        ),
        {
            "lr": steps(*STEPS, first=0.5, by=0),
            "loss": LOSS,
            "test/loss": [(i, loss) for i in STEPS for loss in (7.5, 7.0)],
            "test/Acc@1": steps(*STEPS, first=0.25, by=0),
        },
        "epoch",
    ),
    "names that nobody knows, beside a counter that has one": (
        "trained by REINFORCE\n" + repeated("t=000{i}0 | eps=0.2{i} | r={loss} | H=0.5\n"),
        {
            "eps": [(10 * i, float(f"0.2{i}")) for i in STEPS],
            "r": [(10 * i, loss) for i, loss in LOSS],
            "H": [(10 * i, 0.5) for i in STEPS],
        },
        "step",
    ),
    "episodes in each iteration that tell how many steps they took": (
        "training with SAC\n"
        + "".join(
            f"Iter {i}: SR {5 - i / 2}%, Q 12.5\n  Ex 1: Success (R: 9.5, Steps: {n})\n"
            for i, n in zip(STEPS, (74, 73, 118, 180, 532, 1027, 890, 622, 937, 179), strict=True)
        ),
        {"SR": LOSS, "Q": steps(*STEPS, first=12.5, by=0)},
        "step",
    ),
    "scores alone, by the clock": (
        repeated("2025-01-02 10:00:0{b},500 - precision: 0.5, recall: 0.25, fscore: {loss} ||\n"),
        {
            "precision": [(i - 1, 0.5) for i in STEPS],
            "recall": [(i - 1, 0.25) for i in STEPS],
            "fscore": [(i - 1, loss) for i, loss in LOSS],
        },
        "row",
    ),
    "losses that stay the same are all told": (
        repeated("Epoch {e} loss: 0.5\n"),
        {"loss": [(e, 0.5) for e in (1, 1, 2, 2, 3, 3, 4, 4, 5, 5)]},
        "epoch",
    ),
    "an evaluation that is under way, with what the training came to": (
        repeated("[Evaluating] step {i}, train loss {loss}, val loss 1.5\n"),
        {"train loss": LOSS, "val loss": steps(*STEPS, first=1.5, by=0)},
        "step",
    ),
    "scores told in the line of training, and of an evaluation with dots": (
        repeated("step: {i}, score: {loss}, loss: 0.5\nEvaluating...  score: 1.5\n"),
        {"score": LOSS, "loss": steps(*STEPS, first=0.5, by=0), "eval/score": steps(*STEPS, first=1.5, by=0)},
        "step",
    ),
    "places in the source in front, as a name, a level and a module": (
        repeated("2025-01-02 10:00:00,500 | root | INFO | train.py:<module>:21 | [1, {i:>5}] loss: {loss}\n"),
        {"epoch": steps(*STEPS, first=1.0, by=0), "loss": LOSS},
        "step",
    ),
    "bars beside which nothing is told": (
        repeated(
            "epoch {i}:  50%|##  | 2/4 [00:01<00:01, 2.0it/s]\rEpoch {i}: 100%|####| 4/4 [00:02<00:00]\n"
            "Epoch {i}/10, validation loss: {loss}\n"
        ),
        {"validation loss": LOSS},
        "epoch",
    ),
    "the generations of an evolution": (
        repeated("Generation: {i}\nBest fitness: 5.5, average fitness: {loss}\n"),
        {"Best fitness": steps(*STEPS, first=5.5, by=0), "average fitness": LOSS},
        "step",
    ),
    "a metric whose name ends with its step": (
        repeated("Training average loss at step {i}: {loss}\nValid MRR at step {i}: 0.5\n"),
        {"Training average loss": LOSS, "Valid MRR": steps(*STEPS, first=0.5, by=0)},
        "step",
    ),
    "a counter that is cut short": (
        repeated("INFO - _main - Iter.    {i};  Likelihood:    {loss}5 (G-LL: 0.5)\n"),
        {
            "Likelihood": [(i, float(f"{loss}5")) for i, loss in LOSS],
            "G-LL": steps(*STEPS, first=0.5, by=0),
        },
        "step",
    ),
    "a bar whose name is that of the training": (
        repeated("[Train {i}/100] {{'loss_scale': DeviceArray(1.0, dtype=float32), 'train_loss': {loss}}}\n"),
        {"loss_scale": steps(*STEPS, first=1.0, by=0), "train_loss": LOSS},
        "step",
    ),
    "a line behind a bar from which the cursor went back": (
        repeated(
            "Validation: |    | 0/? [00:00<?, ?it/s]\x1b[A[13/09/24 21:52:43] INFO   Epoch {i}: loss {loss}\n"
        ),
        {"loss": LOSS},
        "epoch",
    ),
    "a bar of which only the words beside it say that it is of a training": (
        "Phase 1: Adam\n"
        + repeated("[Adam] Tot:{loss}00e+00 PDE:2.9e-03:  0%|   | {i}/90 [00:00<?, ?it/s]\n"),
        {"Tot": LOSS, "PDE": steps(*STEPS, first=2.9e-3, by=0)},
        "step",
    ),
    "blocks of an evaluation that their first line names": (
        repeated(
            "[03.24.23|09:56:11] Training epoch: {i}\n[03.24.23|09:56:31] \tmean_loss: {loss}\n"
            "[03.24.23|09:56:31] Eval epoch: {i}\n[03.24.23|09:56:31] \tmean_loss: 1.5\n"
        ),
        {"mean_loss": LOSS, "eval/mean_loss": steps(*STEPS, first=1.5, by=0)},
        "epoch",
    ),
    "nothing counts, and an agent is rewarded": (
        repeated("2025-01-02 10:00:00,500 DQN INFO episodic return: {loss}\n"),
        {"episodic return": steps(*range(10))},
        "row",
    ),
    "a program that the policy wrote tells no return of an episode": (
        repeated("step {i}, reward: {loss}\n        return 1\n    return [0, 1]\n"),
        {"reward": LOSS},
        "step",
    ),
    "nothing counts": (
        repeated("--- \nloss: {loss}\ntest loss: 1.5\n"),
        {"loss": steps(*range(10)), "test loss": steps(*range(10), first=1.5, by=0)},
        "row",
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_what_is_read(name, tmp_path):
    text, wanted, axis = LOGS[name]
    attempt = read_text(tmp_path, text)
    assert points(attempt) == wanted
    assert (attempt.facts["format"], attempt.axis) == ("key-value", axis)


def test_a_bar_is_a_sample_only_where_it_is_given_numbers(tmp_path):
    """The bar of ignite over 2 epochs of 8 batches: it is drawn before it knows its epoch, then at each batch
    with the loss of the last one, then with its own, which may be the same."""
    bars, wanted = "[1/8]  0%|          [00:00<?]\n", []
    for epoch in (1, 2):
        for batch in range(1, 9):
            bar, loss = (
                f"Epoch [{epoch}/2]: [{batch}/8] {batch * 12}%|#  ",
                4.0 if batch < 4 else 4.0 - batch / 8,
            )
            before = f", batch loss={wanted[-1][1]}" if wanted else ""
            bars += f"{bar}{before} [00:00<00:01]\n{bar}, batch loss={loss} [00:00<00:01]\n"
            wanted.append((8 * epoch - 8 + batch, loss))
    attempt = read_text(tmp_path, bars.replace("\n", "\r"))
    assert points(attempt)["batch loss"] == wanted


def test_a_bar_that_is_closed_early_is_drawn_once_more_and_told_no_more(tmp_path):
    """tqdm's bar of a training that was killed: drawn at each count with the loss before, then with its own,
    and when it is closed with the mean rate."""
    bars = "".join(
        f"\r 50%|##   | {i}/20 [00:01<00:02, {rate}it/s, loss={loss}]"
        for i in range(1, 11)
        for rate, loss in ((90.5 + i, 3.125 - i / 8), (90.5 + i, 3.0 - i / 8))
    )
    closed = "\r 55%|##   | 11/20 [00:01<00:02, 101.5it/s, loss=1.75]"
    closed += "\r 55%|##   | 11/20 [00:02<00:02, 88.25it/s, loss=1.75]\n"
    attempt = read_text(tmp_path, bars + closed)
    assert points(attempt)["loss"] == [(1, 3.0), *((i, 3.0 - i / 8) for i in range(1, 11))]


@pytest.mark.parametrize("zeros", [0, 5, 8192, 20_000])
def test_a_log_that_was_emptied_while_it_was_written_begins_with_zeros(zeros, tmp_path):
    attempt = read_text(tmp_path, "\0" * zeros + repeated("step {i} | loss {loss}\n"))
    assert points(attempt) == {"loss": LOSS}


@pytest.mark.parametrize(
    "begun", ["loss: 0.25\nsamples: 1100\n", "loss: 0.25\n"], ids=["two lines", "one line"]
)
def test_a_block_without_its_counter_at_the_end_of_a_log_is_told_and_left_out(begun, tmp_path):
    text = repeated("loss: {loss}\nsamples: {i}00\nstep: {i}\n----------\n")
    attempt = read_text(tmp_path, text + begun)
    assert points(attempt)["loss"] == LOSS
    assert attempt.truncated
    assert not read_text(tmp_path, text).truncated


@pytest.mark.parametrize(
    ("line", "cut", "whole"),
    [
        ("step {i} | lr 1e-05 | loss {loss}\n", 1, True),  # of all decimals that lines before have
        ("step {i} | lr 1e-05 | loss {loss}\n", 2, False),
        ("loss {loss} | 5 s | step {i}00\n", 1, False),  # a whole number may go on
        ("step {i} | loss {loss} | took 290{b}\n", 1, True),  # unless as many digits rise and fall
        ("step {i} | loss {loss} | took 290{b}\n", 2, False),
        ("step {i} | loss {loss} | 0.5 s\n", 1, True),
        ("step {i} | loss {loss} | 0.5 s\n", 2, False),
    ],
)
def test_a_last_line_without_an_end_is_whole_where_it_is_written_as_those_before(line, cut, whole, tmp_path):
    attempt = read_text(tmp_path, repeated(line)[:-cut])
    assert (len(points(attempt)["loss"]), attempt.truncated) == (9 + whole, not whole)


SOLVERS = {
    "a linear solver": "iteration {i}: residual = 1.{i}e-03, objective = {loss}, error = 0.{i}\n",
    "a benchmark": "round {i}: latency = {loss} ms, throughput = 900.5 req/s\n",
    "a server": "2025-03-12 10:00:0{b},123 INFO request step={i} size: {loss} duration=0.0{i}s\n",
    "molecular dynamics": "Step {i}  Time: 0.{i}  Newton iterations: 3  Residual: {loss}e-08\n",
    "a table of a solver": "{i}  {loss}  0.5  0.25\n",
}


@pytest.mark.parametrize("name", SOLVERS)
def test_what_only_counts_and_measures_is_no_log_of_a_training(name, tmp_path):
    log = tmp_path / "out.txt"
    head = "Iteration    Objective       Primal Inf.    Dual Inf.\n" if "table" in name else "begun\n"
    log.write_text(head + repeated(SOLVERS[name]) * 2)
    assert claims(log) == []


def test_what_is_told_of_a_checkpoint_is_an_event_and_no_point(tmp_path):
    text = (
        "Resumed from step 400\nLoading checkpoint shards:  33%|###  | 1/3 [00:01<00:02]\n"
        + repeated("step {i} loss {loss}\n")
        + "[src.transfer][INFO] - Checkpoint saved → a/best.pt  (step 500, loss 2.1)\n"
        + "Loading model state of epoch 3, loss 9.5\n"
    )
    attempt = read_text(tmp_path, text)
    assert points(attempt) == {"loss": LOSS}
    assert attempt.facts["events"] == [
        {"event": "checkpoint-loaded", "line": 1, "checkpoint_step": 400},
        {"event": "checkpoint-saved", "line": 13, "step": 10, "checkpoint_step": 500},
        {"event": "checkpoint-loaded", "line": 14, "step": 10},
    ]


def test_what_a_program_says_of_its_arguments_are_facts_of_each_launch(tmp_path):
    launch = "args: Namespace(arch='resnet18', lr={lr}, seed=7)\n" + repeated("step {i} loss {loss}\n")
    (tmp_path / "log.txt").write_text(launch.replace("{lr}", "0.1") + launch.replace("{lr}", "0.2"))
    assert [attempt.facts for attempt in read(tmp_path / "log.txt")] == [
        {"format": "key-value", "seed": 7, "config/arch": "resnet18", "config/lr": lr, "config/seed": 7}
        for lr in (0.1, 0.2)
    ]


@pytest.mark.parametrize(
    "begun",
    ["=== Training Loss (Tue Oct 31 11:4{n}:24 2023) ===", "Finetuning starting on: 09/02/2025, 22:4{n}:54"],
)
def test_a_line_that_tells_when_a_training_began_begins_another_launch(begun, tmp_path):
    text = "".join(begun.format(n=n) + "\n" + repeated("step {i} loss {loss}\n") for n in range(2))
    (tmp_path / "log.txt").write_text(text + "Training finished on: 09/02/2025, 23:41:54\nstep 11 loss 0.5\n")
    assert [points(attempt)["loss"] for attempt in read(tmp_path / "log.txt")] == [LOSS, [*LOSS, (11, 0.5)]]


def test_a_record_that_tells_its_time_is_no_launch(tmp_path):
    text = repeated("Train: [2025-01-02 10:00:0{b}] step {i} loss {loss}\n")
    assert points(read_text(tmp_path, text)) == {"loss": LOSS}


def test_a_configuration_is_a_fact(tmp_path):
    text, _, _ = LOGS["a configuration counts nothing"]
    assert read_text(tmp_path, text).facts["config/lr"] == 0.5


FEWEST = {
    "step {i} loss {loss}\n": 3,
    "epoch {e} batch {b}/2 | step {i} | nll_loss {loss}\n": 3,
    "{i}/10 loss {loss}\n": 4,
    "training: episode {i}, episode reward {loss}\n": 3,
    "training: step {i} val acc {loss}\n": 3,
    "training: episode {i}, speed reward {loss}\n": 8,  # perhaps a part of one
    "training: epoch {e} step {i} tau: {loss}\n": 4,
    "epoch {i} box {loss} obj 0.5 cls 0.5\n": 3,
    "step {i} objective: {loss}\n": 11,  # as solvers print it
}


@pytest.mark.parametrize("line", FEWEST)
def test_few_records_are_a_log_where_they_tell_a_loss_or_a_step_and_its_epoch(line, tmp_path):
    for n in range(2, 11):
        (tmp_path / f"{n}.txt").write_text("".join(repeated(line).splitlines(keepends=True)[:n]))
    read_ones = [n for n in range(2, 11) if generic.identify(Head.of(tmp_path / f"{n}.txt"))]
    assert read_ones == [*range(FEWEST[line], 11)]


NO_LOGS = {
    "notes.txt": "".join(
        f"Training {i} --> lr = 0.0001, weight decay = 0.01, batch size = {i}\n" for i in range(9)
    ),
    "settings.txt": "STEPS=400000\nD_MODEL=128\nloss = 0.5\n" * 9,
    "pictures.txt": "".join(f"Processing {i}/100: PSNR {30 + i}.5 SSIM 0.9{i}\n" for i in range(9)),
    "images.txt": "".join(f"image_{i}: PSNR: {30 + i}.5 dB; SSIM: 0.9{i}\n" for i in range(9)),
    "trials.txt": "".join(f"Trial {i} finished with value 0.{i} and {{'lr': 0.1}}.\n" for i in range(9)),
    "results.txt": "| model | loss |\n|---|---|\n"
    + "".join(f"| {'abcdefghi'[i]} | 0.{i} |\n" for i in range(9)),
    "columns.txt": "".join(f"{i} 0.{i}\n" for i in range(9)),
    "bar.txt": "".join(f"\rTraining:  5%|5 | {i}/300 [47:45<14:48, 533.47step/s]" for i in range(99)),
    "losses.txt": "loss: 2.5\n" * 9,
    "items.txt": "".join(f"[{i}]\tworker-load: 0.{i}\n" for i in range(60)),
    "tests of a reward.txt": "".join(f"Forward speed reward: {i}.5 (speed: {i * 9}.25)\n" for i in range(60)),
}


@pytest.mark.parametrize("name", NO_LOGS)
def test_what_is_no_log(name, tmp_path):
    (tmp_path / name).write_text(NO_LOGS[name])
    assert not generic.identify(Head.of(tmp_path / name))


def test_a_reward_that_nothing_counts_is_that_of_a_whole_task(tmp_path):
    for name in ("Reward", "Episode reward", "Total reward"):
        attempt = read_text(tmp_path, "".join(f"{name}: {i}.5\n" for i in range(60)))
        assert len(next(iter(attempt.series.values()))) == 60


HOSTILE = (
    ("| ", " "), ("|", "a|"), ("| a |", " "), ("epoch  loss", "  a"), ("epoch ", "| "), ("1: ", "2, "),
    (": ", " "), ("Ep. 1 : Up. ", "1"), ("x[", "a=1, "), ("Train: [", "0/3]["), ("1epoch:train:", "1-"),
    ("-", "=- "), ("Progress on:train 1.0it/ ", "postfix: "), ("1epoch results: [train] ", "[valid "),
    ("test ", "evaluating "), ("args: 1 ", "a"), ("args: ", "a=1, "), ("saved ", "checkpoint "),
    ("第", "1轮"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("begin, piece", few(HOSTILE, 5), ids=str)
def test_a_hostile_line_costs_no_square_of_its_length(begin, piece, tmp_path):
    def read_with(length):
        line = begin + piece * (length // len(piece))
        text = repeated("step {i} loss {loss}\n") + line + "\nstep 11 loss 1\n"
        assert len(read_text(tmp_path, text).series["loss"]) == 11

    assert in_proportion(read_with, 200_000)


@pytest.mark.slow
def test_a_log_behind_many_settings_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "MOST_LINES", 600)  # that are looked at from either end
    settings = "".join(f"[05/04 12:00:00] detectron2 INFO: MODEL.X{i}: [0.5, 0.{i}]\n" for i in range(700))
    text = "[05/04 12:10:00] d2.utils.events INFO:  eta: 0:12:34  iter: {step}  total_loss: {loss}\n"
    records = "".join(text.format(step=i, loss=1 + 1 / (i + 1)) for i in range(0, 400, 20))
    attempt = attempt_of(tmp_path, settings + records, "log.txt")
    assert attempt.series["total_loss"].steps.tolist() == [*range(0, 400, 20)]


@pytest.mark.slow
def test_a_configuration_that_each_launch_prints_is_no_course_of_losses(tmp_path, monkeypatch):
    """Names of losses come again and again in it, and what counts stands far behind."""
    monkeypatch.setattr(plan, "MOST_LINES", 300)
    setting = "    MODEL_LOSS_WEIGHT: {:.1f}\n    COST_DICE: 0.{}\n    LAYERS: {}\n"
    settings = "".join(setting.format(i % 5, i % 7, i) for i in range(60))
    text = "[08/30 15:40:41] d2.utils.events INFO:  eta: 0:16:43  iter: {step}  total_loss: {loss}\n"
    records = "".join(text.format(step=i, loss=1 + 1 / (i + 1)) for i in range(19, 800, 20))
    (tmp_path / "log.txt").write_text("training starts\n" + 2 * settings + records)
    (attempt,) = read(tmp_path / "log.txt")
    assert attempt.series["total_loss"].steps.tolist() == [*range(19, 800, 20)]


def test_a_long_line_of_pairs_is_read_to_its_end(tmp_path):
    """As verl prints them, in some 2,400 characters; of a long line of prose the beginning is enough."""
    line = "step:{step} - " + "".join(f"timing_per_token_ms/x{k}:np.float64(0.{k}) - " for k in range(40))
    prose = "The agent said that a reward of 1.5 was enough. " * 40 + "loss: 7.5\n"
    text = "".join(line.format(step=i) + f"actor/pg_loss:{1 / i:.3f}\n{prose}" for i in range(1, 13))
    assert len(line) > 1500
    attempt = read_text(tmp_path, text)
    assert attempt.series["actor/pg_loss"].values.tolist() == [round(1 / i, 3) for i in range(1, 13)]
    assert "loss" not in attempt.series


def test_the_sum_of_many_parts_is_the_loss_of_deepxde(tmp_path):
    """The first of 36 parts rises for a while as the others fall; its rows have some 1,800 characters."""
    rows = [[float(k), *2 * [0.01 * (k in (4, 5, 6)) + 1e-4, *35 * [2.0**-k]]] for k in range(20)]
    lines = (" ".join(f"{value:.18e}" for value in row) for row in rows)
    attempt = read_text(tmp_path, "# step, loss_train, loss_test, metrics_test\n" + "\n".join(lines) + "\n")
    loss = judged_loss(assign(attempt.series).values())
    assert loss is not None and loss.metric == "loss_train"
    assert loss.values.tolist() == pytest.approx([sum(row[1:37]) for row in rows])
    assert max(map(len, attempt.series)) == len("loss_train/36")


def test_the_loss_of_caffe_is_that_of_the_training_beside_an_output_of_its_name(tmp_path):
    """The loss of an iteration is the sum of the weighted outputs of the net, one of which is called loss."""
    line = "Iteration {}, loss = {}\nTrain net output #0: far_loss = {}\nTrain net output #1: loss = {}\n"
    text = "".join(
        line.format(100 * i, 9.0 - i / 4, 2.0 + i % 3, 8.75 - i / 4 - i % 3 / 8) for i in range(12)
    )
    roles = {name: series.role for name, series in assign(read_text(tmp_path, text).series).items()}
    assert roles["loss"] is Role.LOSS
    assert roles["Train net output loss"] is roles["Train net output far_loss"] is Role.PART_LOSS


def test_clients_that_learn_apart_have_curves_of_their_own(tmp_path):
    log = tmp_path / "federated.log"
    line = "[Client {}] Epoch {} - Loss: {:.2f} | val acc: {:.2f}\n"
    log.write_text(
        "".join(line.format(c, e, 2 + c - e / 10, 0.5 + c / 10) for e in range(1, 7) for c in (0, 1))
        + "Epoch 7 - Loss: 1.25\n"
    )
    (attempt,) = read(log)
    assert points(attempt) == {
        "Loss": [(7, 1.25)],
        "Client 0/Loss": [(e, round(2 - e / 10, 2)) for e in range(1, 7)],
        "Client 0/val acc": [(e, 0.5) for e in range(1, 7)],
        "Client 1/Loss": [(e, round(3 - e / 10, 2)) for e in range(1, 7)],
        "Client 1/val acc": [(e, 0.6) for e in range(1, 7)],
    }


def test_clients_are_told_apart_by_the_beginning_of_their_lines(tmp_path):
    log = tmp_path / "federated.log"
    rounds = (
        f"Round {n}/6\n  Client 0: loss {2 - n / 10:.2f}\n  Client 1: loss {3 - n / 10:.2f}\n"
        f"Global test loss: {2.5 - n / 10:.2f}\n"
        for n in range(1, 7)
    )
    log.write_text("".join(rounds))
    (attempt,) = read(log)
    assert points(attempt) == {
        "Client 0/loss": [(n, round(2 - n / 10, 2)) for n in range(1, 7)],
        "Client 1/loss": [(n, round(3 - n / 10, 2)) for n in range(1, 7)],
        "Global test loss": [(n, round(2.5 - n / 10, 2)) for n in range(1, 7)],
    }


def test_what_is_measured_once_an_epoch_is_told_once_where_every_bar_shows_it(tmp_path):
    """Lightning's bar: each batch is drawn twice, with the metrics of the epoch before; its end has its own.

    An epoch without a change is told by its last bar that shows something new. A metric that changes in no
    epoch is frozen, and stays so.
    """

    def told(losses):
        shown, text = "", ""
        for epoch, loss in enumerate(losses):
            head = f"\rEpoch {epoch}:  25%|##  | "
            text += "".join(f"{head}{k}/6 [00:01<00:02, {3.1 + k}it/s{shown}]" * 2 for k in range(1, 7))
            shown = f", v_num=3, train_loss={loss:.3f}, val_acc={1 - loss / 4:.3f}"
            text += f"{head}6/6 [00:01<00:00, 9.5it/s{shown}]{head}0/6 [00:00<?, ?it/s{shown}]"
        return points(read_text(tmp_path, text + "\n"))["train_loss"]

    losses = [2.0, 1.5, 1.25, 1.25, 1.125, 1.0]
    assert told(losses) == list(zip([6, 12, 18, 23, 30, 36], losses, strict=True))
    assert len(told([2.0] * 6)) > 24
