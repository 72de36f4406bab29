"""Events by name: each puts one event into a healthy course and writes its label.

A kind takes a course, a height in noise scales and a random generator that chooses place and duration. What
is fast, slow or lost is decided here by the definitions of the guide, with a margin around their limits, so
that the label is no matter of opinion. `SHAPES` scale with the height; `CONTEXT` needs other series or
attempts and has a height of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.curves import runs, series
from benchmarks.curves.curve import Curve, Run
from chronicle.model import Role

Generator = np.random.Generator
BACK = float(np.log(1 / 0.15))  # time constants until 15 % of a height is left


@dataclass(frozen=True)
class Kind:
    """An event by name. ``points``: fewest samples of a course that can hold it; ``sparse_only``: one sample
    is no event where every step is logged; ``least`` and ``most``: heights at which the name is right."""

    name: str
    inject: Callable[[Curve, float, Generator], Curve]
    points: int = 100
    sparse_only: bool = False
    least: float = 0.0
    most: float = np.inf

    def fits(self, c: Curve, height: float) -> bool:
        """Whether such an event of this height can be told in this course."""
        dense = self.sparse_only and c.every < 5
        return c.n >= self.points and not dense and self.least <= height <= self.most


def _fast(c: Curve, height: float, rng: Generator) -> Curve:
    at = rng.uniform(0.3, 0.8)
    most = min(max(100 / c.gap(c.i(at)), 6.0), 60.0, c.n / 8)
    rise = int(rng.integers(1, 4))
    fall = max(rng.uniform(2.0, most) - rise, 1.0) / BACK
    return _spike(c, at, height, rise, fall, "spike-fast-recovery")


def _one_sample(c: Curve, height: float, rng: Generator) -> Curve:
    a = c.i(rng.uniform(0.3, 0.8))
    c.lift[a] += height * c.scale
    return c.label("spike-fast-recovery", a, a, a + 1, height_scales=height, tolerance_samples=3)


def _slow(c: Curve, height: float, rng: Generator) -> Curve:
    at = rng.uniform(0.3, 0.5)
    by_eye = 0.06 * c.n  # six times the share of the run that counts as fast by eye
    least = max(300.0 / c.gap(c.i(at)), 20.0, by_eye)
    fall = min(rng.uniform(1.0, 1.6) * least, 0.25 * c.n) / BACK
    return _spike(c, at, height, int(rng.integers(1, 6)), fall, "spike-slow-recovery")


def _spike(c: Curve, at: float, height: float, rise: int, fall: float, name: str) -> Curve:
    a = c.i(at)
    c.lift += height * c.scale * c.pulse(a, rise, fall)
    return c.label(name, a, a + rise - 1, round(a + rise + 3 * fall), height_scales=height)


def _residue(c: Curve, height: float, rng: Generator) -> Curve:
    a, left = c.i(rng.uniform(0.5, 0.75)), rng.uniform(0.25, 0.45)
    c.lift += height * c.scale * c.pulse(a, 2, rng.uniform(3, 0.04 * c.n + 3), left)
    return c.label("spike-no-full-recovery", a, a + 1, None, height_scales=height)


def _jump_diverges(c: Curve, height: float, rng: Generator) -> Curve:
    a = c.i(rng.uniform(0.5, 0.8))
    k = np.maximum(np.arange(c.n) - a, 0) / (c.n - a)
    c.lift += height * c.scale * (c.pulse(a, 2, rng.uniform(3, 12), 0.5) + rng.uniform(0.6, 1.5) * k)
    also = ("divergence-no-spike",)  # half of it comes back, and then it grows
    return c.label("divergence-after-spike", a, c.n - 1, None, height_scales=height, also_ok=also)


def _into_nan(c: Curve, height: float, rng: Generator) -> Curve:
    a = c.i(rng.uniform(0.5, 0.8))
    c.lift += height * c.scale * c.pulse(a, 2, 1e9)
    c.raw |= dict.fromkeys(range(a + 12, c.n), np.nan)
    also = ("divergence-after-spike",)  # it jumps, and nothing comes back
    c.label("divergence-no-spike", a, a + 11, None, height_scales=height, also_ok=also)
    return c.label("nan-inf", a + 12, a + 12, None, tolerance_samples=4)


def _ramp(c: Curve, height: float, rng: Generator) -> Curve:
    """Leaves its course within some tens of samples, then goes on more slowly."""
    a, width = c.i(rng.uniform(0.5, 0.75)), int(rng.uniform(40, 100) * min(c.n / 2000, 1.0)) + 20
    k = np.maximum(np.arange(c.n) - a, 0)
    c.lift += height * c.scale * (np.minimum(k / width, 1.0) + 0.5 * k / (c.n - a))
    return c.label(
        "divergence-no-spike", a, c.n - 1, None, height_scales=height, tolerance_samples=max(width // 2, 16)
    )


def _u_turn(c: Curve, height: float, rng: Generator) -> Curve:
    """Turns upwards and goes on to the end: slow, so its onset is known roughly."""
    a = c.i(rng.uniform(0.6, 0.8))
    k = np.maximum(np.arange(c.n) - a, 0) / (c.n - a)
    c.trend[a:] = c.trend[a]
    c.lift += height * c.scale * k**1.5
    wide = max(3 * (c.n - a) // 4, 16)
    return c.label("divergence-no-spike", a, c.n - 1, None, height_scales=height, tolerance_samples=wide)


def _shift(c: Curve, height: float, rng: Generator) -> Curve:
    return c.shift(rng.uniform(0.4, 0.75), height)


def _shift_down(c: Curve, height: float, rng: Generator) -> Curve:
    """Small steps down only: a tall one is a sudden improvement. The log tells that the rate did not fall."""
    c.shift(rng.uniform(0.4, 0.75), -height).log("lr", Role.LEARNING_RATE, np.full(c.n, 1e-3))
    c.events[-1] = replace(c.events[-1], also_ok=("grokking",))
    return c


def _improve(c: Curve, height: float, rng: Generator) -> Curve:
    return c.improve(rng.uniform(0.4, 0.7), height, int(rng.integers(4, 30)))


def _two_spikes(c: Curve, height: float, rng: Generator) -> Curve:
    for at in (0.35, 0.7):
        _spike(c, at + rng.uniform(-0.05, 0.05), height, 2, 3.0 / BACK, "spike-fast-recovery")
    return c


SHAPES = (
    Kind("fast spike", _fast),
    Kind("one-sample spike", _one_sample, 30, sparse_only=True),
    Kind("slow spike", _slow, 300),
    Kind("spike with residue", _residue),
    Kind("divergence after spike", _jump_diverges),
    Kind("jump into NaN", _into_nan),
    Kind("divergence, ramp", _ramp, 150),
    Kind("divergence, U-turn", _u_turn, 100),
    Kind("level shift", _shift),
    Kind("level shift down", _shift_down, most=8.0),
    Kind("sudden improvement", _improve, 300, least=20.0),
    Kind("two fast spikes", _two_spikes, 150),
)


def _zero_tail(c: Curve, rng: Generator) -> Curve:
    a = c.i(rng.uniform(0.5, 0.8))
    series.grad_norm(c)
    c.extra["grad_norm"][1][a:] = np.nan
    c.raw |= dict.fromkeys(range(a, c.n), 0.0)
    return c.label("nan-inf", a, a, None, tolerance_samples=2)


def _some_spikes(c: Curve, rng: Generator) -> Curve:
    for at in (0.2, 0.35, 0.5, 0.65, 0.8):
        _spike(c, at + rng.uniform(-0.03, 0.03), 20, 2, 3.0, "spike-fast-recovery")
    return c


def _rising_rate(c: Curve, rng: Generator) -> Curve:
    for at in (0.25, 0.5, 0.65, 0.75, 0.82, 0.88, 0.92, 0.95):
        _spike(c, at, 20, 2, 3.0, "spike-fast-recovery")
    return c.label("rising-spike-rate", c.i(0.25), None, None, tolerance_samples=c.n)


def _never_learned(c: Curve, rng: Generator) -> Curve:
    c.trend[:] = np.log(9.2)
    return c.label("failed-run", 0, None, None, tolerance_samples=c.n)


def _flat(c: Curve, rng: Generator) -> Curve:
    c.flat(0.3)
    c.events[-1] = replace(c.events[-1], tolerance_samples=c.n // 4)
    return c


def _nan(value: float, length: int) -> Callable[[int, Generator], Run]:
    return lambda s, rng: Curve(s).nan(rng.uniform(0.2, 0.9), length, value).run()


def _epoch_edges(c: Curve, height: float) -> Curve:
    """Samples are read again: at each epoch the loss steps down."""
    series.epochs(c, 3, gain=height)
    for at in (1 / 3, 2 / 3):
        c.label("level-shift", c.i(at), c.i(at), None, planned=True)
    return c


def _data_sets(c: Curve, spiking: tuple[str, ...] | None) -> Run:
    """A spike of all data sets or of some: one event, which has two right names."""
    run = series.datasets(c, spiking=spiking).run()
    run.events = [
        replace(e, also_ok=("spike-fast-recovery",)) for e in run.events if e.pattern == "multi-dataset-spike"
    ]
    return run


# Kinds that need context and have a height: the smallest that is seen can be asked for.
SCALED: dict[str, Callable[[int, Generator, float], Run]] = {
    "resume spikes": lambda s, rng, h: runs.resume_spikes(s, h, rng.uniform(8, 25)),
    "repeated data": lambda s, rng, h: runs.repeat_data(s, 2, h, int(rng.integers(200, 350))),
    "data sets together": lambda s, rng, h: _data_sets(_fast(Curve(s), h, rng), None),
    "data set alone": lambda s, rng, h: _data_sets(_fast(Curve(s), 3 * h, rng), ("code",)),
    "ratio skew": lambda s, rng, h: series.ratio(Curve(s), height=h).run(),
    "overfitting": lambda s, rng, h: series.validation(Curve(s), 25, rng.uniform(0.4, 0.6), h).run(),
    "throughput drop": lambda s, rng, h: series.throughput(
        Curve(s), (rng.uniform(0.3, 0.6), 0.2, 1 - float(np.exp(-0.008 * h)))
    ).run(),
    "lr decay drop": lambda s, rng, h: series.learning_rate(Curve(s), drops=(0.5,), gain=h).run(),
    "epoch edges": lambda s, rng, h: _epoch_edges(Curve(s), h).run(),
    "every attempt fails": lambda s, rng, h: runs.all_fail(s, height=h),
}

CONTEXT: dict[str, Callable[[int, Generator], Run]] = {
    "NaN": _nan(np.nan, 1),
    "NaN to the end": _nan(np.nan, 10_000),
    "Inf": _nan(np.inf, 3),
    "zero tail that hides NaN": lambda s, rng: _zero_tail(Curve(s), rng).run(),
    "frozen": lambda s, rng: Curve(s).freeze(rng.uniform(0.3, 0.7), int(rng.integers(60, 300))).run(),
    "plateau": lambda s, rng: _flat(series.learning_rate(Curve(s, gain=12, decay=0.5), "cosine"), rng).run(),
    "overfitting": lambda s, rng: series.validation(Curve(s), 25, rng.uniform(0.4, 0.6), 25).run(),
    "data sets together": lambda s, rng: _data_sets(_fast(Curve(s), 15.0, rng), None),
    "data set alone": lambda s, rng: _data_sets(_fast(Curve(s), 30.0, rng), ("code",)),
    "gradient norm leads": lambda s, rng: series.grad_norm(
        _some_spikes(Curve(s), rng), lead=int(rng.integers(3, 20))
    ).run(),
    "rising spike rate": lambda s, rng: _rising_rate(Curve(s, 4000), rng).run(),
    "ratio skew": lambda s, rng: series.ratio(Curve(s)).run(),
    "throughput drop": lambda s, rng: series.throughput(
        Curve(s), (rng.uniform(0.3, 0.6), 0.2, rng.uniform(0.06, 0.3))
    ).run(),
    "hang": lambda s, rng: series.throughput(Curve(s), hang_s=3000.0).run(),
    "loss-scale collapse": lambda s, rng: series.loss_scale(Curve(s), rng.uniform(0.5, 0.9)).run(),
    "attention logits": lambda s, rng: series.logits(Curve(s), attention_end=400.0).run(),
    "output logits": lambda s, rng: series.logits(Curve(s), output_drift=9.0).run(),
    "length explosion": lambda s, rng: series.answers(Curve(s), rng.uniform(3, 9)).run(),
    "reward hacking": lambda s, rng: series.judged(Curve(s), rng.uniform(0.15, 0.5)).run(),
    "KL blow-up": lambda s, rng: series.fled(Curve(s), rng.uniform(0.4, 0.7)).run(),
    "clipping at every step": lambda s, rng: series.clipped(Curve(s), rng.uniform(0.98, 1.0)).run(),
    "router collapse": lambda s, rng: series.experts(Curve(s), int(rng.integers(3, 7))).run(),
    "entropy collapse": lambda s, rng: series.agent(Curve(s), rng.uniform(0.3, 0.8)).run(),
    "never learned": lambda s, rng: _never_learned(Curve(s), rng).run(),
    "every attempt fails": lambda s, rng: runs.all_fail(s),
    "resume spikes": lambda s, rng: runs.resume_spikes(s, rng.uniform(8, 25)),
    "learning rate lost": lambda s, rng: runs.lr_not_restored(
        s, str(rng.choice(["warmup", "half", "cosine"]))
    ),
    "repeated data": lambda s, rng: runs.repeat_data(s, int(rng.integers(1, 4)), rng.uniform(6, 15)),
    "repeated data, no overlap": lambda s, rng: runs.repeat_data(s, 2, rng.uniform(6, 15), overlap=False),
    "re-initialised": lambda s, rng: runs.reinitialised(s, bool(rng.integers(2))),
    "bfloat16 log": lambda s, rng: Curve(s).quantise(8).run(),
    "lr decay drop": lambda s, rng: series.learning_rate(Curve(s), drops=(0.4, 0.7), gain=15).run(),
    "batch ramp": lambda s, rng: series.batch_size(Curve(s)).run(),
    "epoch edges": lambda s, rng: _epoch_edges(Curve(s), rng.uniform(4, 8)).run(),
}
