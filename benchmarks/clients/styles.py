"""Loops that print what they log, in the forms in which people and their assistants write them.

Each tells the record what it printed, under the names that it printed. The numbers are those of `training`;
an epoch is EVERY steps.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.clients.training import CONFIG, EVERY, GRAD_NORM, LAUNCHES, LOSS, LR, STEPS, VAL_LOSS, points
from benchmarks.clients.truth import Record

N_EPOCHS = STEPS // EVERY


@dataclass(frozen=True)
class Epoch:
    """What is told of an epoch, counted from 0."""

    number: int
    train_loss: float
    val_loss: float
    accuracy: float
    rate: float


def epochs(launch: int) -> Iterator[Epoch]:
    """The epochs of a launch; a part of one is not told."""
    losses: list[float] = []
    for step, values in points(launch):
        losses.append(values[LOSS])
        if VAL_LOSS in values:
            number, accuracy = step // EVERY, 40 + 50 * (1 - np.exp(-step / 80))
            yield Epoch(number, float(np.mean(losses)), values[VAL_LOSS], float(accuracy), values[LR])
            losses = []


Printer = Callable[[TextIO, int, Record], None]


def _printing(file: str) -> Callable[[Printer], Callable[[Path, int, Record], None]]:
    """Each launch goes to the end of a file, or with {} in its name to a file of its own."""

    def printing(style: Printer) -> Callable[[Path, int, Record], None]:
        @wraps(style)
        def launched(log: Path, launch: int, record: Record) -> None:
            with (log / file.format(launch)).open("a") as out:
                style(out, launch, record)

        return launched

    return printing


@_printing("train.log")
def pipes(out: TextIO, launch: int, record: Record) -> None:
    """llm.c and its many children: `step 12/240 | loss 2.1 | norm 0.5 | lr 1e-3 | 20.1 ms | 1600 tok/s`."""
    for key, value in CONFIG.items():
        print(f"| {key:<20} | {value:<30} |", file=out)
    for step, values in points(launch):
        told = {"loss": values[LOSS], "norm": values[GRAD_NORM], "lr": values[LR]}
        record.add(step, told)
        print(
            f"step {step:5d}/{STEPS} | loss {told['loss']:.6f} | norm {told['norm']:.4f} | "
            f"lr {told['lr']:.2e} | {20 + step % 7:.2f} ms | {1600 - step % 7 * 10} tok/s",
            file=out,
        )
        if VAL_LOSS in values:
            record.add(step, {"val loss": values[VAL_LOSS]})
            print(f"step {step:5d} | val loss {values[VAL_LOSS]:.6f}", file=out)


@_printing("train.log")
def iters(out: TextIO, launch: int, record: Record) -> None:
    """nanoGPT: `iter 12: loss 2.1, time 20.10ms, mfu 3.10%` between `step 10: train loss …, val loss …`."""
    for key, value in CONFIG.items():
        print(f"Overriding: {key} = {value}", file=out)
    print(
        f"tokens per iteration will be: {32 * 8:,}\nnum decayed parameter tensors: 2, with 144 parameters",
        file=out,
    )
    if launch:
        print("Resuming training from out", file=out)
    for step, values in points(launch):
        record.add(step, {"loss": values[LOSS]})
        if VAL_LOSS in values:
            told = {"train loss": values[LOSS], "val loss": values[VAL_LOSS]}
            print(
                f"step {step}: train loss {told['train loss']:.4f}, val loss {told['val loss']:.4f}", file=out
            )
            print("saving checkpoint to out", file=out)
        print(
            f"iter {step}: loss {values[LOSS]:.4f}, time {20 + step % 7:.2f}ms, mfu 3.{step % 7}0%", file=out
        )


@_printing("train.log")
def epochs_of_steps(out: TextIO, launch: int, record: Record) -> None:
    """Tutorials: `Epoch [1/24], Step [1/10], Loss: 2.1043`."""
    for step, values in points(launch):
        record.add(step + 1, {"Loss": values[LOSS]})
        epoch, inside = divmod(step, EVERY)
        print(
            f"Epoch [{epoch + 1}/{N_EPOCHS}], Step [{inside + 1}/{EVERY}], Loss: {values[LOSS]:.4f}", file=out
        )


@_printing("train.log")
def examples(out: TextIO, launch: int, record: Record) -> None:
    """PyTorch's first example: `Train Epoch: 1 [320/9600 (3%)]\\tLoss: 2.1043`, and a line for the tests."""
    from argparse import Namespace

    print(Namespace(**CONFIG), file=out)
    for step, values in points(launch):
        epoch, inside = divmod(step, EVERY)
        record.add(step * 32, {"Loss": values[LOSS]})  # it counts samples
        done = f"[{inside * 32}/{EVERY * 32} ({100 * inside / EVERY:.0f}%)]"
        print(f"Train Epoch: {epoch + 1} {done}\tLoss: {values[LOSS]:.6f}", file=out)
        if VAL_LOSS in values:
            told = f"Average loss: {values[VAL_LOSS]:.4f}, Accuracy: {9000 + step}/10000 ({90 + step // 99}%)"
            print(f"\nTest set: {told}\n", file=out)


@_printing("train.log")
def meters(out: TextIO, launch: int, record: Record) -> None:
    """ImageNet's example: `Epoch: [0][ 1/10]\\tTime  0.021 ( 0.022)\\tLoss 2.1043e+00 (2.2043e+00)`."""
    losses: list[float] = []
    for step, values in points(launch):
        epoch, inside = divmod(step, EVERY)
        losses = [*losses, values[LOSS]] if inside else [values[LOSS]]
        record.add(step + 1, {"Loss": values[LOSS]})
        time_s = 0.02 + step % 7 / 1000
        print(
            f"Epoch: [{epoch}][{inside + 1:2d}/{EVERY}]\tTime {time_s:6.3f} ({0.023:6.3f})\t"
            f"Data {0.001:6.3f} ({0.002:6.3f})\tLoss {values[LOSS]:.4e} ({np.mean(losses):.4e})\t"
            f"Acc@1 {40 + step / 8:6.2f} ({40 + step / 9:6.2f})",
            file=out,
        )
        if VAL_LOSS in values:
            print(f" *   Acc@1 {41 + step / 8:.3f} Acc@5 {80 + step / 20:.3f}", file=out)


@_printing("train.log")
def epoch_lines(out: TextIO, launch: int, record: Record) -> None:
    """Assistants: rules of signs, a table of the configuration, and a line an epoch with marks."""
    print("=" * 60 + "\n🚀 Starting training\n" + "=" * 60, file=out)
    for key, value in CONFIG.items():
        print(f"  {key.replace('_', ' ').title():<20}: {value}", file=out)
    print("=" * 60, file=out)
    best = float("inf")
    for epoch in epochs(launch):
        told = {"Train Loss": epoch.train_loss, "Val Loss": epoch.val_loss, "Val Acc": epoch.accuracy}
        record.add(epoch.number + 1, told)
        print(
            f"Epoch {epoch.number + 1:3d}/{N_EPOCHS} | Train Loss: {epoch.train_loss:.4f} | "
            f"Val Loss: {epoch.val_loss:.4f} | Val Acc: {epoch.accuracy:.2f}% | "
            f"LR: {epoch.rate:.2e} | Time: 0.2s",
            file=out,
        )
        if epoch.val_loss < best:
            best = epoch.val_loss
            print(f"  ✓ New best model saved (val_loss: {best:.4f})", file=out)
    print(f"\n✅ Training complete! Best validation loss: {best:.4f}", file=out)


@_printing("train.log")
def epoch_blocks(out: TextIO, launch: int, record: Record) -> None:
    """PyTorch's quick start and many homeworks: a heading an epoch, and its numbers on lines of their own."""
    for epoch in epochs(launch):
        record.add(epoch.number + 1, {"Train Loss": epoch.train_loss, "Val Loss": epoch.val_loss})
        print(f"Epoch {epoch.number + 1}/{N_EPOCHS}\n{'-' * 10}", file=out)
        print(f"Train Loss: {epoch.train_loss:.4f} Acc: {epoch.accuracy / 100:.4f}", file=out)
        print(f"Val Loss: {epoch.val_loss:.4f} Acc: {epoch.accuracy / 101:.4f}\n", file=out)


@_printing("train-{}.log")
def with_logging(out: TextIO, launch: int, record: Record) -> None:
    """The logging of Python, as `basicConfig` is mostly set: a clock to the millisecond, name and level."""
    logger = _logger(out, "%(asctime)s - %(name)s - %(levelname)s - %(message)s")
    logger.info("Configuration:")
    for key, value in CONFIG.items():
        logger.info("  %s: %s", key, value)
    if launch:
        logger.info("Resumed from checkpoint at step %d", LAUNCHES[launch].begin)
    for step, values in points(launch):
        record.add(step, {"loss": values[LOSS], "lr": values[LR], "grad_norm": values[GRAD_NORM]})
        logger.info(
            "Step %d/%d: loss=%.4f, lr=%.6f, grad_norm=%.3f, throughput=%.1f samples/s",
            step,
            STEPS,
            values[LOSS],
            values[LR],
            values[GRAD_NORM],
            1600 - step % 7,
        )
        if VAL_LOSS in values:
            record.add(step, {"val_loss": values[VAL_LOSS]})
            logger.info("Evaluation at step %d: val_loss=%.4f", step, values[VAL_LOSS])
            logger.info("Saved checkpoint to checkpoints/step_%d.pt", step)


def _logger(out: TextIO, form: str, datefmt: str | None = None) -> logging.Logger:
    logger = logging.getLogger("train")
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter(form, datefmt))
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
    return logger


@_printing("train-{}.log")
def dicts(out: TextIO, launch: int, record: Record) -> None:
    """Metrics as a dictionary in a logged line."""
    logger = _logger(out, "[%(asctime)s][%(levelname)s] %(message)s", "%Y-%m-%d %H:%M:%S")
    logger.info(f"Config: {CONFIG}")
    for step, values in points(launch):
        told = {"loss": round(values[LOSS], 4), "lr": values[LR], "grad_norm": round(values[GRAD_NORM], 4)}
        if VAL_LOSS in values:
            told["val_loss"] = round(values[VAL_LOSS], 4)
        record.add(step, told)
        logger.info(f"step {step}: {told}")


@_printing("train.log")
def json_lines(out: TextIO, launch: int, record: Record) -> None:
    """Structured logging: one JSON document a line, some of them metrics."""

    def say(event: str, **more: Any) -> None:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.123456Z", time.gmtime())
        print(json.dumps({"event": event, "level": "info", "timestamp": moment, **more}), file=out)

    say("config", **CONFIG)
    for step, values in points(launch):
        told = {"loss": values[LOSS], "lr": values[LR], "grad_norm": values[GRAD_NORM]}
        record.add(step, told)
        say("train_step", step=step, epoch=step // EVERY, **told)
        if VAL_LOSS in values:
            record.add(step, {"val_loss": values[VAL_LOSS]})
            say("eval", step=step, val_loss=values[VAL_LOSS])
            say("checkpoint_saved", path=f"checkpoints/step_{step}.pt")


@_printing("train-{}.log")
def loguru(out: TextIO, launch: int, record: Record) -> None:
    from loguru import logger

    logger.remove()
    logger.add(out)
    logger.info("Arguments: {}", CONFIG)
    for step, values in points(launch):
        record.add(step, {"loss": values[LOSS], "lr": values[LR]})
        logger.info(
            f"[{step}/{STEPS}] loss: {values[LOSS]:.4f} | lr: {values[LR]:.3e} | eta: 0:0{step % 7}:12"
        )
        if VAL_LOSS in values:
            record.add(step, {"val_loss": values[VAL_LOSS]})
            logger.success(f"[{step}/{STEPS}] val_loss: {values[VAL_LOSS]:.4f}")


@_printing("train-{}.log")
def rich_log(out: TextIO, launch: int, record: Record) -> None:
    from rich.console import Console
    from rich.logging import RichHandler
    from rich.table import Table

    console = Console(file=out, width=120)
    shown = Table(title="Configuration")
    shown.add_column("Parameter")
    shown.add_column("Value")
    for key, value in CONFIG.items():
        shown.add_row(key, str(value))
    console.print(shown)
    logger = logging.getLogger("rich")
    logger.handlers, logger.propagate = [RichHandler(console=console)], False
    logger.setLevel(logging.INFO)
    for step, values in points(launch):
        record.add(step, {"loss": values[LOSS], "lr": values[LR], "grad_norm": values[GRAD_NORM]})
        logger.info(
            f"step {step} loss {values[LOSS]:.4f} lr {values[LR]:.2e} grad_norm {values[GRAD_NORM]:.3f}"
        )


@_printing("train-{}.log")
def rich_table(out: TextIO, launch: int, record: Record) -> None:
    """A table of the epochs, printed at the end or row by row."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out, width=100)
    table = Table(title="Training results")
    for column in ("Epoch", "Train Loss", "Val Loss", "Val Acc"):
        table.add_column(column, justify="right")
    for epoch in epochs(launch):
        record.add(epoch.number + 1, {"Train Loss": epoch.train_loss, "Val Loss": epoch.val_loss})
        told = (f"{epoch.train_loss:.4f}", f"{epoch.val_loss:.4f}", f"{epoch.accuracy:.2f}%")
        table.add_row(str(epoch.number + 1), *told)
    console.print(table)


@_printing("train.log")
def columns(out: TextIO, launch: int, record: Record) -> None:
    """A heading of column names, a rule, and rows of numbers below it."""
    print(f"{'Step':>8} {'Loss':>10} {'LR':>12} {'GradNorm':>10} {'tok/s':>10}\n{'-' * 54}", file=out)
    for step, values in points(launch):
        record.add(step, {"Loss": values[LOSS], "LR": values[LR], "GradNorm": values[GRAD_NORM]})
        told = f"{step:>8d} {values[LOSS]:>10.4f} {values[LR]:>12.2e} {values[GRAD_NORM]:>10.3f}"
        print(f"{told} {1600 - step % 7:>10,d}", file=out)


@_printing("train-{}.log")
def bars(out: TextIO, launch: int, record: Record) -> None:
    """A bar an epoch with the loss behind it, and a line for the epoch."""
    from tqdm import tqdm

    bar: Any = None
    losses: list[float] = []
    for step, values in points(launch):
        epoch, inside = divmod(step, EVERY)
        if bar is None or not inside:
            bar = tqdm(total=EVERY, desc=f"Epoch {epoch + 1}/{N_EPOCHS}", file=out, mininterval=0)
            losses = []
        losses.append(values[LOSS])
        bar.set_postfix(loss=f"{values[LOSS]:.4f}", lr=f"{values[LR]:.2e}", refresh=False)
        bar.update()
        record.add(step + 1, {"loss": values[LOSS], "lr": values[LR]})
        if VAL_LOSS in values:
            bar.close()
            told = f"Train Loss: {np.mean(losses):.4f}, Val Loss: {values[VAL_LOSS]:.4f}"
            tqdm.write(f"Epoch {epoch + 1}/{N_EPOCHS} - {told}", file=out)


@_printing("train-{}.log")
def no_trainer(out: TextIO, launch: int, record: Record) -> None:
    """The scripts of Hugging Face without a trainer: a banner of arguments, and a bar of all steps."""
    from tqdm import tqdm

    logger = _logger(out, "%(asctime)s - %(levelname)s - %(name)s - %(message)s", "%m/%d/%Y %H:%M:%S")
    logger.info("***** Running training *****")
    for told in ("Num examples = 960", f"Num Epochs = {N_EPOCHS}", f"Total optimization steps = {STEPS}"):
        logger.info(f"  {told}")
    bar = tqdm(total=STEPS, initial=LAUNCHES[launch].begin, file=out, mininterval=0, desc="Steps")
    for step, values in points(launch):
        bar.update(1)
        bar.set_postfix(step_loss=values[LOSS], lr=values[LR])
        record.add(step + 1, {"step_loss": values[LOSS], "lr": values[LR]})
        if VAL_LOSS in values:
            logger.info(
                f"epoch {step // EVERY}: perplexity: {np.exp(values[VAL_LOSS]):.4f} "
                f"eval_loss: {values[VAL_LOSS]:.4f}"
            )


@_printing("train-{}.log")
def absl(out: TextIO, launch: int, record: Record) -> None:
    """JAX with clu: `I1128 10:00:00.123456 140024 logging_writer.py:48] [12] loss=2.1, learning_rate=0.05`"""
    import datetime

    def say(told: str, where: str = "logging_writer.py:48") -> None:
        moment = datetime.datetime.now().strftime("I%m%d %H:%M:%S.%f")
        print(f"{moment} 140024001 {where}] {told}", file=out)

    for key, value in CONFIG.items():
        say(f"Hyperparameters: {key}={value!r}", "train.py:31")
    for step, values in points(launch):
        told = {"loss": values[LOSS], "learning_rate": values[LR], "grad_norm": values[GRAD_NORM]}
        record.add(step, told)
        say(f"[{step}] " + ", ".join(f"{name}={value:.6g}" for name, value in told.items()))
        if VAL_LOSS in values:
            record.add(step, {"eval/loss": values[VAL_LOSS]})
            say(f"[{step}] eval/loss={values[VAL_LOSS]:.6g}")


@_printing("train.log")
def boxes(out: TextIO, launch: int, record: Record) -> None:
    """Steps between box signs, with thousands separated and times in words."""
    print(f"╔{'═' * 58}╗\n║{'Training configuration':^58}║\n╠{'═' * 58}╣", file=out)
    for key, value in CONFIG.items():
        print(f"║ {key:<26}{value!s:>30} ║", file=out)
    print(f"╚{'═' * 58}╝", file=out)
    for step, values in points(launch):
        record.add(step, {"loss": values[LOSS], "grad": values[GRAD_NORM], "lr": values[LR]})
        moment = time.strftime("%H:%M:%S")
        print(
            f"[{moment}] step {step:>6,} │ loss {values[LOSS]:.4f} │ grad {values[GRAD_NORM]:.2f} │ "
            f"lr {values[LR]:.2e} │ {1600 + step:,} tok/s │ 12.{step % 7} GB │ ETA 1h 0{step % 7}m",
            file=out,
        )


@_printing("train.log")
def curly(out: TextIO, launch: int, record: Record) -> None:
    """`print(metrics)` after each epoch, and pprint of the arguments."""
    import pprint

    pprint.pprint(CONFIG, stream=out)
    for epoch in epochs(launch):
        told = {"train_loss": epoch.train_loss, "val_loss": epoch.val_loss, "val_acc": epoch.accuracy}
        record.add(epoch.number, told)
        print({"epoch": epoch.number, **told, "lr": epoch.rate}, file=out)


@_printing("train.log")
def f_equals(out: TextIO, launch: int, record: Record) -> None:
    """f-strings with equals signs: `step=12 loss=2.1043 lr=0.05 val_loss=1.2`."""
    print(" ".join(sys.argv), file=out)
    print("args:", json.dumps(CONFIG, indent=2), file=out)
    for step, values in points(launch):
        loss, lr, norm = values[LOSS], values[LR], values[GRAD_NORM]
        record.add(step, {"loss": loss, "lr": lr, "norm": norm})
        told = f"{step=} {loss=:.4f} {lr=:.3g} {norm=:.3f}"
        if VAL_LOSS in values:
            val_loss = values[VAL_LOSS]
            record.add(step, {"val_loss": val_loss})
            told += f" {val_loss=:.4f}"
        print(told, file=out)
