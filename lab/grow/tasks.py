"""What the grown trainings learn. Batches are functions of their position, so a cursor is one number. NumPy.

Every task gives ``batch(position, rows, source)`` as (inputs, targets) and ``held_out()`` in the same shape.
``difficulty`` multiplies the noise of a task; what that noise is, each task says.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lab.grow.plan import Plan
from lab.text import story, sums

Array = NDArray[Any]
Batch = tuple[Array, Array]
TEXT_BYTES, HELD_OUT_ROWS = 300_000, 128


class Task(Protocol):
    """A stream of batches. ``symbols`` is the number of classes of the targets, 0 for regression."""

    symbols: int

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch: ...

    def held_out(self) -> Batch: ...


class Text:
    """Bytes of an invented language (source 0) and sums (source 1): the next byte from those before.

    ``difficulty`` above 1: that share of bytes, less 1, is replaced by random ones.
    """

    symbols = 128

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sources = [_text("story", plan.seed), _text("sums", plan.seed)]
        self.held = TEXT_BYTES // 10  # the first bytes of each source are for validation

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        rng = np.random.default_rng([self.plan.seed, source, position])
        text, length = self.sources[source], self.plan.context + 1
        starts = rng.integers(self.held, len(text) - length, rows)
        if self.plan.unique_rows:
            starts = self.held + length * epoch_rows(self.plan, position, rows)
        out = text[starts[:, None] + np.arange(length)]
        wrong = rng.random(out.shape) < difficulty - 1
        out = np.where(wrong, rng.integers(0, 128, out.shape), out).astype(np.int64)
        return out[:, :-1], out[:, 1:]

    def held_out(self) -> Batch:
        length = self.plan.context + 1
        sources = self.sources if self.plan.share else self.sources[:1]
        rows = [s[: HELD_OUT_ROWS // len(sources) * length].reshape(-1, length) for s in sources]
        out = np.concatenate(rows).astype(np.int64)
        return out[:, :-1], out[:, 1:]


class Copy:
    """Random letters, then the same letters again: half of it can only be known by looking back."""

    symbols = 16

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        rng = np.random.default_rng([self.plan.seed, position])
        half = rng.integers(0, self.symbols, (rows, self.plan.context // 2))
        out = np.concatenate([half, half], 1)
        return out[:, :-1], out[:, 1:]

    def held_out(self) -> Batch:
        return self.batch(10**8, HELD_OUT_ROWS)


class Modular:
    """Sums modulo a prime; a part of all pairs is for training, the rest held out."""

    symbols = 59

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        numbers = np.arange(self.symbols)
        pairs = np.stack(np.meshgrid(numbers, numbers), -1).reshape(-1, 2)
        pairs = np.random.default_rng(plan.seed).permutation(pairs)
        cut = plan.unique_rows or len(pairs) // 2
        self.seen, self.unseen = pairs[:cut], pairs[cut:]

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        if rows >= len(self.seen):
            chosen = self.seen
        else:
            rng = np.random.default_rng([self.plan.seed, position])
            chosen = self.seen[rng.integers(0, len(self.seen), rows)]
        return chosen, chosen.sum(1) % self.symbols

    def held_out(self) -> Batch:
        return self.unseen, self.unseen.sum(1) % self.symbols


class Parity:
    """Whether an odd number of three of the inputs (of 24, each 1 or -1) is 1: nothing, then all at once."""

    symbols = 2

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        rng = np.random.default_rng([self.plan.seed, position])
        x = rng.choice([-1.0, 1.0], (rows, 24)).astype(np.float32)
        return x, (x[:, :3].prod(1) > 0).astype(np.int64)

    def held_out(self) -> Batch:
        return self.batch(10**8, HELD_OUT_ROWS)


class Regression:
    """A function of 16 numbers, made of sines. The noise on the target is 0.3 times ``difficulty``."""

    symbols = 0

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.directions = np.random.default_rng(plan.seed).standard_normal((16, 6)) / 4

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        rng = np.random.default_rng([self.plan.seed, position])
        if self.plan.unique_rows:
            rows_of_pool = epoch_rows(self.plan, position, rows)
            x, noise = (a[rows_of_pool] for a in _pool(self.plan.seed, self.plan.unique_rows))
        else:
            x, noise = rng.standard_normal((rows, 16)), rng.standard_normal(rows)
        y = np.sin(x @ self.directions * 2).sum(1) + 0.3 * difficulty * noise
        return x.astype(np.float32), y.astype(np.float32)

    def held_out(self) -> Batch:
        rng = np.random.default_rng([self.plan.seed, 10**8])
        x, noise = rng.standard_normal((HELD_OUT_ROWS, 16)), rng.standard_normal(HELD_OUT_ROWS)
        y = np.sin(x @ self.directions * 2).sum(1) + 0.3 * noise
        return x.astype(np.float32), y.astype(np.float32)


class Vision:
    """Ten smooth pictures of 8 by 8, shifted and under noise of ``difficulty``: which one is it?"""

    symbols = 10

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        raw = np.random.default_rng(plan.seed).standard_normal((10, 8, 8))
        self.pictures = raw + np.roll(raw, 1, 1) + np.roll(raw, 1, 2)

    def batch(self, position: int, rows: int, *, source: int = 0, difficulty: float = 1.0) -> Batch:
        rng = np.random.default_rng([self.plan.seed, position])
        if self.plan.unique_rows:
            seeds = epoch_rows(self.plan, position, rows)
            parts = [self._drawn(np.random.default_rng([self.plan.seed, 7, int(i)]), 1) for i in seeds]
            return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        return self._drawn(rng, rows, difficulty)

    def _drawn(self, rng: np.random.Generator, rows: int, difficulty: float = 1.0) -> Batch:
        y = rng.integers(0, 10, rows)
        shifts = rng.integers(0, 2, rows)
        x = np.stack([np.roll(self.pictures[k], s, 0) for k, s in zip(y, shifts, strict=True)])
        noise = self.plan.difficulty * difficulty * 2.0 * rng.standard_normal(x.shape)
        return (x + noise).reshape(rows, -1).astype(np.float32), y

    def held_out(self) -> Batch:
        return self._drawn(np.random.default_rng([self.plan.seed, 10**8]), HELD_OUT_ROWS)


TASKS: dict[str, type[Any]] = {
    "chars": Text,
    "copy": Copy,
    "modular": Modular,
    "parity": Parity,
    "regression": Regression,
    "vision": Vision,
}


def epoch_rows(plan: Plan, position: int, rows: int) -> NDArray[np.int64]:
    """The rows of a batch from a pool of ``unique_rows``: each once an epoch, in an order of its own."""
    size = plan.unique_rows
    places = np.arange(position * rows, (position + 1) * rows)
    return np.array([_order(plan.seed, size, int(p // size))[p % size] for p in places], dtype=np.int64)


@cache
def _order(seed: int, size: int, epoch: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, size, epoch]).permutation(size)


@cache
def _pool(seed: int, size: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, size])
    return rng.standard_normal((size, 16)), rng.standard_normal(size)


@cache
def _text(name: str, seed: int) -> Array:
    return {"story": story, "sums": sums}[name](TEXT_BYTES, seed)
