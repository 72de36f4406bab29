"""Trains a recipe: every attempt, with its faults, into rows of what was measured at each step."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab.faults import (
    Fault,
    Kind,
    Schedule,
    active,
    learning_rate,
    lost,
    of_attempt,
    second_share,
)
from lab.grow.models import build, optimizer
from lab.grow.plan import Plan
from lab.grow.tasks import TASKS
from lab.loop import SOURCES, by_source
from lab.scale import LossScale

Row = dict[str, float]


def train(
    plan: Plan, faults: Iterable[Fault], attempts: Iterable[tuple[int, int]], series: Iterable[str]
) -> list[list[Row]]:
    """The rows of every attempt, each with its ``step``; ``series`` are the costly ones that are wanted."""
    torch.set_num_threads(1)  # the same sums in the same order, whatever the machine
    trainer = Trainer(plan, tuple(faults), frozenset(series))
    attempts = tuple(attempts)
    starts, rows = {start for start, _ in attempts}, []
    saved: dict[int, dict[str, Any]] = {}
    for number, (start, stop) in enumerate(attempts):
        trainer.faults = of_attempt(tuple(faults), start)
        if number and start:
            trainer.restore(saved[start], lost(trainer.faults, start))
        elif number:  # from the beginning, with another seed
            trainer = Trainer(plan, tuple(faults), frozenset(series), plan.seed + number)
        logged: list[Row] = []
        for step in range(start, stop):
            if step in starts:
                saved[step] = trainer.checkpoint()
            logged.append({"step": step, **trainer.step(step)})
        if stop in starts:
            saved[stop] = trainer.checkpoint()
        rows.append(logged)
    return rows


class Trainer:
    """Model and optimizer of one training, and the step that moves them on."""

    def __init__(
        self, plan: Plan, faults: tuple[Fault, ...], series: frozenset[str], seed: int | None = None
    ) -> None:
        self.plan, self.faults, self.series = plan, faults, series
        self.seed = plan.seed if seed is None else seed
        torch.manual_seed(self.seed)
        self.task = TASKS[plan.task](plan)
        self.schedule = Schedule(plan.lr, plan.steps, plan.schedule, plan.warmup, plan.turn)
        self.scale = LossScale() if plan.fp16 else None
        self.held_out = tuple(map(torch.from_numpy, self.task.held_out()))
        self.model = build(plan, self.task, self.held_out[0].shape[1])
        self.optimizer = optimizer(plan, self.model)
        self.stale = math.nan
        self.skipped = 0

    def checkpoint(self) -> dict[str, Any]:
        """All that a faultless resume needs: batches follow from their position."""
        return copy.deepcopy({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()})

    def restore(self, checkpoint: dict[str, Any], missing: set[Kind]) -> None:
        """Goes back to a checkpoint, but for what is ``missing``."""
        saved = copy.deepcopy(checkpoint)
        if Kind.WEIGHTS_LOST in missing:
            self.model = build(self.plan, self.task, self.held_out[0].shape[1])
        else:
            self.model.load_state_dict(saved["model"])
        self.optimizer = optimizer(self.plan, self.model)
        if not missing & {Kind.WEIGHTS_LOST, Kind.OPTIMIZER_LOST}:
            self.optimizer.load_state_dict(saved["optimizer"])

    def step(self, step: int) -> Row:
        """One step; returns what it measured."""
        self.spoil(step)
        x, y, second = self.batch(step)
        logits, by_row = self.losses(x, y)
        loss = by_row.mean()
        row = {"loss": float(loss.detach())} | (by_source(by_row.detach(), second) if self.plan.share else {})
        if zloss := active(self.faults, Kind.Z_LOSS, step):
            loss = loss + zloss.amount * logits.logsumexp(-1).square().mean()
        if active(self.faults, Kind.NAN, step):
            loss = loss * math.nan
            row["loss"] = math.nan
        rate = learning_rate(self.schedule, self.faults, step)
        skip = active(self.faults, Kind.INF, step) is not None
        row |= {"lr": rate, **self.update(loss, rate, skip=skip)}
        row |= self.probes(logits.detach(), y, len(x))
        if step % (self.plan.validate_every or 10**9) == 0:
            row |= self.validate()
        return self.shown(row, step)

    def shown(self, row: Row, step: int) -> Row:
        """The row as the trainer's log has it, where the log is at fault."""
        if active(self.faults, Kind.INF, step):
            return row | {"loss": math.inf, "grad_norm": math.inf}
        if active(self.faults, Kind.ZERO_LOG, step):
            return row | {"loss": 0.0, "grad_norm": math.nan}
        if active(self.faults, Kind.STALE_LOG, step):
            return row | {"loss": self.stale}
        self.stale = row["loss"]
        return row

    def batch(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and targets of a step, and which rows are of the second source."""
        plan, faults = self.plan, self.faults
        count = next((n for start, n in reversed(plan.batch_ramp) if step >= start), plan.batch)
        mix = active(faults, Kind.MIX, step)
        share = second_share(plan.share, faults, step) * (mix.amount if mix else 1.0)
        rng = np.random.default_rng([self.seed, 3, step])
        second = int(rng.binomial(count, share)) if share else 0
        harder = active(faults, Kind.HARDER, step)
        repeat = active(faults, Kind.REPEAT, step)
        position = (
            step
            if repeat is None
            else repeat.at - int(repeat.amount) + (step - repeat.at) % int(repeat.amount)
        )
        position += self.seed - plan.seed and 10**6  # another seed, another order
        parts = [
            self.task.batch(position, n, source=i, difficulty=harder.amount if harder else 1.0)
            for i, n in enumerate((count - second, second))
            if n
        ]
        x, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        x, y = self.corrupt(x, y, step, rng, len(x) - second)
        return torch.from_numpy(x), torch.from_numpy(y), torch.arange(len(x)) >= count - second

    def corrupt(self, x: Any, y: Any, step: int, rng: np.random.Generator, first: int) -> tuple[Any, Any]:
        """Inputs and targets as the model gets them; faults of one source hit its rows alone."""
        if fault := active(self.faults, Kind.GARBAGE, step):
            rows = slice(0, first) if fault.source == SOURCES[0] else slice(0, len(x))
            if x.dtype == np.int64 and x.shape == y.shape:
                whole = rng.integers(0, self.task.symbols, (len(x), x.shape[1] + 1))
                x[rows], y[rows] = whole[rows, :-1], whole[rows, 1:]
            elif x.dtype == np.int64:
                y = rng.integers(0, self.task.symbols, y.shape)
            else:
                x = (3 * fault.amount * rng.standard_normal(x.shape)).astype(np.float32)
        if fault := active(self.faults, Kind.LABELS, step):
            wrong = rng.random(y.shape) < fault.amount
            y = np.where(wrong, rng.permutation(y.ravel()).reshape(y.shape), y)
        if active(self.faults, Kind.TOKEN, step):
            x, y = np.full_like(x, 92), np.full_like(y, 92)
        return x, y

    def losses(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The output of the model, and the loss of each row."""
        out = self.model(x)
        if self.task.symbols == 0:
            return out, (out[:, 0] - y).square()
        if out.dim() == 3:
            return out, F.cross_entropy(out.transpose(1, 2), y, reduction="none").mean(1)
        return out, F.cross_entropy(out, y, reduction="none")

    def update(self, loss: Tensor, rate: float, *, skip: bool) -> Row:
        """One step of the optimizer, unless it is skipped; the gradient norm is that before clipping."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        parameters = list(self.model.parameters())
        norm = float(nn.utils.clip_grad_norm_(parameters, self.plan.clip or math.inf))
        if self.scale is not None:
            skip |= not self.scale.fits(max(float(p.grad.abs().max()) for p in parameters))
        before = [p.detach().clone() for p in parameters] if "update_norm" in self.series else []
        if not skip:
            self.optimizer.step()
        self.skipped += skip
        row: Row = {"grad_norm": norm}
        if before:
            pairs = zip(parameters, before, strict=True)
            moved = sum(float((p.detach() - q).square().sum()) for p, q in pairs)
            row["update_norm"] = math.sqrt(moved)
        return row

    @torch.no_grad()
    def spoil(self, step: int) -> None:
        """Faults that act on the weights or on the state of the optimizer."""
        if fault := active(self.faults, Kind.WEIGHT_NOISE, step):
            generator = torch.Generator().manual_seed(step)
            for p in self.model.parameters():
                size = float(p.square().mean().sqrt())
                p.add_(torch.randn(p.shape, generator=generator), alpha=fault.amount * size)
        if fault := active(self.faults, Kind.GROWTH, step):
            self.model.head.weight.mul_(fault.amount)
        if fault := active(self.faults, Kind.MOMENTS, step):
            for state in self.optimizer.state.values():
                state["exp_avg_sq"].mul_(fault.amount)

    def probes(self, logits: Tensor, y: Tensor, count: int) -> Row:
        """What only some recipes log."""
        row: Row = {}
        if "log_z" in self.series:
            row["log_z"] = float(logits.logsumexp(-1).mean())
        if "accuracy" in self.series:
            row["train_accuracy"] = float((logits.argmax(-1) == y).float().mean())
        if self.plan.model == "gpt" and "max_attention_logit" in self.series:
            row["max_attention_logit"] = self.model.max_attention_logit
        if self.scale:
            row |= {"loss_scale": self.scale.scale, "skipped": self.skipped}
        if self.plan.batch_ramp:
            row["batch_size"] = count
        return row

    @torch.no_grad()
    def validate(self) -> Row:
        """Loss, and accuracy where wanted, on held-out data."""
        x, y = self.held_out
        logits, by_row = self.losses(x, y)
        row = {"val_loss": float(by_row.mean())}
        if "accuracy" in self.series:
            row["val_accuracy"] = float((logits.argmax(-1) == y).float().mean())
        return row
