"""Training loops that print in styles thrown together by chance: what they printed is what is read.

A style says how a loop counts, what it calls things, what stands between and around them, and how it
evaluates. The losses, their steps and the evaluations that a loop prints are known, and so is the rule that
places them: batches continue over epochs, and an evaluation stands at the last batch before it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.depth import few

from chronicle.model import Role, Series
from chronicle.readers import read

LOOPS = few(range(600), 60)
CHOICES = {
    "counts": ("epoch and batch", "epoch and step", "epoch", "step", "heading and batch"),
    "sign": (": ", "=", " = ", ":", " "),
    "between": (", ", " | ", " - ", "\t", "; "),
    "front": ("", "[INFO] ", "INFO: ", "[rank0]: ", "2025-03-04 10:00:00,123 - train - INFO - "),
    "around": ("{} {}", "{} [{}]", "{} ({})", "{}: {}"),
    "epoch": ("Epoch", "epoch", "Ep", "EPOCH"),
    "batch": ("Batch", "Step", "Iter", "iteration", "it"),
    "step": ("Step", "step", "Iteration", "global_step"),
    "loss": ("loss", "Loss", "train_loss", "Train Loss", "training loss", "Train/Loss"),
    "validation": ("val_loss", "valid loss", "Test Loss", "Validation loss", "eval/loss"),
    "evaluates": ("never", "on a line", "under a heading", "in batches"),
    "numbers": ("{:.3f}", "{:.4f}", "{:.6f}"),
    "first": (0, 1),
    "first epoch": (0, 1),
    "names end": (True, False),
    "counts behind": (True, False, False),
    "n epochs": (4, 9),
    "n batches": (4, 11),
    "says more": ("nothing", "a rate and a time", "a mean of each epoch", "a checkpoint"),
}


@dataclass
class Loop:
    """What a loop printed, and what is to be read of it: (step, value) of each loss and evaluation."""

    style: dict
    lines: list[str] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)
    evaluations: list[tuple[int, float]] = field(default_factory=list)

    def say(self, *parts: str) -> None:
        self.lines.append(self.style["front"] + self.style["between"].join(parts))

    def pair(self, name: str, value: float) -> str:
        return f"{name}{self.style['sign']}{self.style['numbers'].format(value)}"

    def count(self, word: str, number: int, end: int) -> str:
        return self.style["around"].format(word, f"{number}/{end}" if self.style["names end"] else number)


def loop(chance: random.Random) -> Loop:
    style = {name: chance.choice(choices) for name, choices in CHOICES.items()}
    printed = Loop(style)
    for epoch in range(style["n epochs"]):
        train(printed, epoch, chance)
        evaluate(printed, epoch)
    return printed


def train(printed: Loop, epoch: int, chance: random.Random) -> None:
    style, n_batches = printed.style, printed.style["n batches"]
    of_epoch = printed.count(style["epoch"], epoch + style["first epoch"], style["n epochs"])
    if style["counts"] == "heading and batch":
        printed.say(of_epoch)
    for batch in range(n_batches) if style["counts"] != "epoch" else [n_batches - 1]:
        done = epoch * n_batches + batch
        at = epoch + style["first epoch"] if style["counts"] == "epoch" else done + style["first"]
        of_batch = printed.count(style["batch"], batch + style["first"], n_batches)
        of_step = printed.count(style["step"], at, style["n epochs"] * n_batches)
        counts = {
            "epoch and batch": [of_epoch, of_batch],
            "epoch and step": [of_epoch, style["around"].format(style["step"], at)],
            "epoch": [of_epoch],
            "step": [of_step],
            "heading and batch": [of_batch],
        }[style["counts"]]
        loss = round(2.5 * (done + 5) ** -0.25 + chance.gauss(0, 0.02), 3)
        says = [printed.pair(style["loss"], loss)]
        if style["says more"] == "a rate and a time":
            says += [printed.pair("lr", 0.01), f"time{style['sign']}0.52s"]
        printed.say(*(says + counts if style["counts behind"] else counts + says))
        printed.losses.append((at, loss))
    if style["says more"] == "a mean of each epoch" and "batch" in style["counts"]:
        printed.say(f"{style['epoch']} {epoch + style['first epoch']} average loss: 1.2345")
    if style["says more"] == "a checkpoint":
        printed.say(f"Saved checkpoint to out/model_{epoch}.pt")


def evaluate(printed: Loop, epoch: int) -> None:
    style, at, loss = printed.style, printed.losses[-1][0], 2.2 - epoch / 8
    of_epoch = printed.count(style["epoch"], epoch + style["first epoch"], style["n epochs"])
    batches = [[]]
    if style["evaluates"] == "never" or (
        style["evaluates"] == "in batches" and "batch" not in style["counts"]
    ):
        return
    if style["evaluates"] == "under a heading":
        printed.say("Evaluating...")
    if style["evaluates"] == "in batches":
        named = [of_epoch] if style["counts"] == "epoch and batch" else []
        batches = [[*named, printed.count(style["batch"], n + style["first"], 3)] for n in range(3)]
    for n, counts in enumerate(batches):
        printed.say(*counts, printed.pair(style["validation"], loss + n / 10))
        printed.evaluations.append((at, round(loss + n / 10, 3)))


def with_values(series: dict[str, Series], points: list[tuple[int, float]]) -> Series:
    values = [value for _, value in points]
    return next(s for s in series.values() if [round(float(v), 3) for v in s.values] == values)


@pytest.mark.parametrize("seed", LOOPS)
def test_what_a_loop_printed_is_read(seed: int, tmp_path: Path) -> None:
    printed = loop(random.Random(seed))
    log = tmp_path / "train.log"
    log.write_text("\n".join(printed.lines) + "\n")
    (attempt,) = read(log)
    losses = with_values(attempt.series, printed.losses)
    assert losses.role is Role.LOSS
    assert losses.steps.tolist() == [step for step, _ in printed.losses]
    if printed.evaluations:
        evaluations = with_values(attempt.series, printed.evaluations)
        assert evaluations.role is Role.VALIDATION_LOSS
        assert evaluations.steps.tolist() == [step for step, _ in printed.evaluations]


# What programs that launch others, or collect what they print, put in front of each line.
LAUNCHERS = {
    "docker compose": "trainer-1  | {}",
    "mpirun --tag-output": "[1,0]<stdout>:{}",
    "srun --label": "0: {}",
    "Ray before 1.0": "(pid=12345) {}",
    "Ray": "(TrainWorker pid=12345, ip=10.0.0.1) {}",
    "Kubernetes": "2025-11-30T10:00:{s:02}.123456789Z stdout F {}",
    "kubectl logs --timestamps": "2025-11-30T10:00:{s:02}.123456789Z {}",
    "journald": "Nov 30 10:00:{s:02} node1 python[1234]: {}",
    "syslog": "Nov 30 10:00:{s:02} {}",
    "torchrun": "[default0]:{}",
    "a rank": "[rank0]: {}",
}


def of_trainer(n_steps: int = 40) -> list[str]:
    """The console of Hugging Face's Trainer, whose steps only its bar names."""
    lines = list[str]()
    for step in range(10, n_steps + 1, 10):
        lines.append(f" {100 * step // n_steps}%|###   | {step}/{n_steps} [00:10<00:30,  1.00s/it]")
        lines.append(f"{{'loss': {3 - step / 40:.4f}, 'learning_rate': 0.001, 'epoch': {step / 100}}}")
    return lines


def points(path: Path) -> list[dict[str, tuple[Role, list[int], list[float]]]]:
    return [
        {name: (s.role, s.steps.tolist(), s.values.tolist()) for name, s in attempt.series.items()}
        for attempt in read(path)
    ]


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("program", ["trainer", "seeds", *few(range(100), 5)])
def test_what_a_launcher_puts_in_front_of_each_line_changes_nothing(
    program: str | int, launcher: str, tmp_path: Path
) -> None:
    headings = (f"===== seed {n} =====\n" + "".join(of_epochs(n)) for n in (1, 2, 3))
    lines = {"trainer": of_trainer(), "seeds": "".join(headings).splitlines()}.get(str(program))
    lines = lines or loop(random.Random(program)).lines
    (plain := tmp_path / "plain.log").write_text("\n".join(lines) + "\n")
    launched = (LAUNCHERS[launcher].format(line, s=n % 60) for n, line in enumerate(lines))
    (with_launcher := tmp_path / "launched.log").write_text("\n".join(launched) + "\n")
    assert points(with_launcher) == points(plain) != []


def of_epochs(seed: int) -> list[str]:
    return [f"epoch {n:03d} loss {2 - n / 10 + seed / 50:.3f}\n" for n in range(1, 9)]
