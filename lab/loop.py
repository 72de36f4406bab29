"""The training loop: one attempt after the other, each from the checkpoint it resumes, faults included."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.faults import Kind, active, corrupted, learning_rate, lost, of_attempt, replayed, second_share
from lab.logs import Log
from lab.model import TinyGPT, losses
from lab.recipe import Recipe
from lab.scale import LossScale
from lab.text import Bytes, Stream, story, sums

CONTEXT = 64
CLOCK_START = 1_790_000_000.0  # [s] Unix time of the first step, where the clock is simulated
VALIDATE_EVERY, VALIDATION_ROWS = 50, 64
SOURCES = ("story", "sums")


def train(recipe: Recipe, open_log: Callable[[int], Log]) -> int:
    """Trains every attempt of a recipe into a log of its own; returns the number of parameters."""
    trainer = Trainer(recipe)
    resumed_at = {attempt.start for attempt in recipe.attempts}
    checkpoints = {}
    for number, attempt in enumerate(recipe.attempts):
        trainer.faults = of_attempt(recipe.faults, attempt.start)
        if number:
            trainer.restore(checkpoints[attempt.start], lost(recipe.faults, attempt.start))
        log = open_log(number)
        for step in range(attempt.start, attempt.stop):
            if step in resumed_at:
                checkpoints[step] = trainer.checkpoint()
            log.write(step, trainer.step(step))
        if attempt.stop in resumed_at:
            checkpoints[attempt.stop] = trainer.checkpoint()
        log.close()
    return sum(p.numel() for p in trainer.model.parameters())


class Trainer:
    """Model, optimizer and loaders of one training, and the step that moves them on."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.faults = recipe, recipe.faults
        torch.manual_seed(recipe.seed)
        self.rng = np.random.default_rng(recipe.seed)
        self.scale = LossScale() if recipe.fp16 else None
        texts = (story, sums) if recipe.sums_share else (story,)
        rows = recipe.unique_rows or recipe.rows
        held_out = VALIDATION_ROWS // len(texts)
        self.streams, validation = [], []
        for number, text in enumerate(texts):
            whole = text((rows + held_out) * (CONTEXT + 1), recipe.seed + number)
            cut = held_out * (CONTEXT + 1)
            validation.append(whole[:cut].reshape(held_out, -1))
            self.streams.append(Stream(whole[cut:], CONTEXT + 1, recipe.seed))
        self.validation = _tokens(np.concatenate(validation))
        self.logged_loss, self.clock = math.nan, CLOCK_START
        self.renew_weights()
        self.renew_optimizer()

    def renew_weights(self) -> None:
        """New weights: the start of a training, or a resume that lost them."""
        r = self.recipe
        self.model = TinyGPT(r.width, r.layers, context=CONTEXT, qk_norm=r.qk_norm, layer_norm=r.layer_norm)

    def renew_optimizer(self) -> None:
        """A new optimizer, its moments zero."""
        betas = (0.9, self.recipe.beta2)
        parameters = self.model.parameters()
        self.optimizer = torch.optim.AdamW(parameters, betas=betas, weight_decay=0.0)

    def checkpoint(self) -> dict[str, Any]:
        """All that a faultless resume needs."""
        parts = (self.model.state_dict(), self.optimizer.state_dict(), self.rng)
        model, optimizer, rng = copy.deepcopy(parts)
        cursors = [stream.cursor for stream in self.streams]
        return {"model": model, "optimizer": optimizer, "rng": rng, "cursors": cursors}

    def restore(self, checkpoint: dict[str, Any], missing: set[Kind]) -> None:
        """Goes back to a checkpoint, but for what is ``missing``."""
        saved = copy.deepcopy(checkpoint)
        self.rng = saved["rng"]
        for stream, cursor in zip(self.streams, saved["cursors"], strict=True):
            stream.cursor = cursor
        self.renew_weights()
        if Kind.WEIGHTS_LOST not in missing:
            self.model.load_state_dict(saved["model"])
        self.renew_optimizer()
        if not missing & {Kind.WEIGHTS_LOST, Kind.OPTIMIZER_LOST}:
            self.optimizer.load_state_dict(saved["optimizer"])

    def step(self, step: int) -> dict[str, float]:
        """One step; returns what it logs."""
        started = time.process_time()  # what others do on the machine is not our subject
        r = self.recipe
        batch, of_second = self.batch(step)
        rate = learning_rate(r.schedule, self.faults, step)
        by_row = losses(self.model, batch)
        loss = by_row.mean() * (math.nan if active(self.faults, Kind.NAN, step) else 1.0)
        grad_norm = self.update(loss, rate)
        if slow := active(self.faults, Kind.SLOW, step):
            for _ in range(int(slow.amount)):
                losses(self.model, batch)
        shown = float(loss.detach())
        if not active(self.faults, Kind.STALE_LOG, step):
            self.logged_loss = round(shown, r.logs_decimals) if r.logs_decimals else shown
        values = {"loss": self.logged_loss, "grad_norm": grad_norm, "lr": rate}
        values |= by_source(by_row.detach(), of_second) if r.sums_share else {}
        values |= self.probes(len(batch), step)
        if r.logs_throughput:
            values["tokens_per_second"] = len(batch) * CONTEXT / (time.process_time() - started)
        if step % VALIDATE_EVERY == 0:
            with torch.no_grad():
                values["val_loss"] = float(losses(self.model, self.validation).mean())
        if r.step_seconds:
            hang = active(self.faults, Kind.HANG, step)
            self.clock += r.step_seconds + (hang.amount if hang else 0.0)
            values["time"] = self.clock
        return values

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """The rows of a step, int64[batch, context + 1], and which of them are of the second source."""
        r = self.recipe
        count = r.batch_at(step)
        share = second_share(r.sums_share, self.faults, step)
        second = int(self.rng.binomial(count, share)) if share else 0
        parts = []
        for stream, name, n in zip(self.streams, SOURCES, (count - second, second), strict=False):
            start = replayed(self.faults, step, stream.cursor, count)
            rows = stream.take(n) if start is None else stream.at(start, n)
            parts.append(corrupted(rows, name, self.faults, step, self.rng))
        return _tokens(np.concatenate(parts)), torch.arange(count) >= count - second

    def update(self, loss: Tensor, rate: float) -> float:
        """One step of the optimizer, unless the loss scale makes it skip; the norm before clipping."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        gradients = [p.grad for p in self.model.parameters()]
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip))
        largest = max(float(g.abs().max()) for g in gradients)
        if self.scale is None or self.scale.fits(largest):
            self.optimizer.step()
        return norm

    def probes(self, batch_size: int, step: int) -> dict[str, float]:
        """What only some recipes log."""
        r = self.recipe
        values: dict[str, float] = {}
        if r.logs_attention:
            values["max_attention_logit"] = self.model.max_attention_logit
        if self.scale:
            values["loss_scale"] = self.scale.scale
        if r.batch_ramp:
            values["batch_size"] = batch_size
        if r.unique_rows:
            values["epoch"] = (step + 1) * batch_size / r.unique_rows
        return values


def by_source(by_row: Tensor, of_second: Tensor) -> dict[str, float]:
    """Loss by source, and the share of the second one."""
    masks = zip(SOURCES, (~of_second, of_second), strict=True)
    parts = {f"loss/{name}": float(by_row[mask].mean()) for name, mask in masks if mask.any()}
    return parts | {"ratio/sums": float(of_second.float().mean())}


def _tokens(rows: Bytes) -> Tensor:
    return torch.from_numpy(rows.astype(np.int64))
