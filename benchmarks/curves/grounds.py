"""Healthy courses that an event can be put into: kinds of noise, of sampling, of values and of length.

One property is varied at a time, so that a table by ground says which property hurts; "mixed" draws all of
them. Every course keeps the meaning of a height: one noise scale is the spread of one logged point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.curves.curve import Curve, Floats, Steps, autocorrelated
from benchmarks.curves.residuals import shipped

POINTS = 2000


@dataclass(frozen=True)
class Ground:
    """A kind of healthy course. ``factor`` is the property in which it differs from the plain one."""

    name: str
    factor: str
    make: Callable[[int], Curve]


def _noise(seed: int, draw: Callable[[np.random.Generator, int], Floats], **kind: float) -> Curve:
    """A plain course whose noise is drawn anew."""
    c = Curve(seed, POINTS, **kind)  # type: ignore[arg-type]
    c.noise = draw(c.rng, c.n)
    return c


def _volatile(rng: np.random.Generator, n: int) -> Floats:
    """Noise whose scale wanders by a factor of about two, over some hundred samples."""
    wander = autocorrelated(rng, n, 0.995, 50.0)
    return autocorrelated(rng, n, 0.3, 8.0) * np.exp(0.35 * wander)


def _two_valued(rng: np.random.Generator, n: int) -> Floats:
    """From point to point in one of two bands, as where workers log in turn."""
    return np.where(rng.random(n) < 0.5, -0.95, 0.95) + 0.3 * rng.standard_normal(n)


def _hard_batches(rng: np.random.Generator, n: int) -> Floats:
    """One sample in 300 stands 4 to 8 scales up and is forgotten at the next."""
    up = rng.uniform(4, 8, n) * (rng.random(n) < 1 / 300)
    return autocorrelated(rng, n, 0.3, 8.0) + up


def _real(rng: np.random.Generator, n: int) -> Floats:
    """Blocks of the residuals of real healthy runs, one run a course."""
    return shipped(int(rng.integers(1 << 30))).draw(rng, n)


def _at(seed: int, steps: Steps, every: int = 1) -> Curve:
    return Curve(seed, len(steps), every=every, steps=steps.astype(np.int64))


def dense_then_sparse() -> Steps:
    """Every step up to 500, then every hundredth."""
    return np.concatenate([np.arange(500), 500 + 100 * np.arange(POINTS - 500)])


def log_spaced() -> Steps:
    """Rows of an evaluation at steps that grow by a constant factor."""
    return np.unique(np.geomspace(10, 2e5, 160).astype(np.int64))


def _crossing(seed: int) -> Curve:
    """A reward-like loss that falls through zero; its noise is additive."""
    c = Curve(seed, POINTS)
    c.render = lambda trend, off: 0.3 * (trend - trend[len(trend) // 3]) + 0.03 * off / c.scale
    return c


def _decimals(c: Curve, digits: int) -> Curve:
    c.after.append(lambda v: np.round(v, digits))
    return c


def _bfloat16(c: Curve) -> Curve:
    c.quantise(8)
    c.events.clear()  # a property of the log, asked for elsewhere
    return c


def _mixed(seed: int) -> Curve:
    """Length, spacing, noise, tail and decay drawn at random."""
    rng = np.random.default_rng(seed + 77)
    return Curve(
        seed,
        int(np.exp(rng.uniform(np.log(300), np.log(5000)))),
        every=int(rng.choice([1, 1, 5, 10, 50, 100, 500])),
        noise=float(np.exp(rng.uniform(np.log(0.004), np.log(0.06)))),
        rho=float(rng.uniform(0, 0.6)),
        df=float(rng.choice([4.0, 6.0, 8.0, 30.0])),
        floor=float(np.exp(rng.uniform(np.log(0.05), np.log(3)))),
        decay=float(rng.uniform(0.3, 0.7)),
        uneven=float(rng.choice([0.0, 0.0, 0.5])),
    )


_TABLE: tuple[tuple[str, str, Callable[[int], Curve]], ...] = (
    ("plain", "plain", Curve),
    ("white", "noise", lambda s: _noise(s, lambda rng, n: rng.standard_normal(n))),
    ("autocorrelated", "noise", lambda s: Curve(s, rho=0.6)),
    ("heavy tails", "noise", lambda s: Curve(s, df=3.0)),
    ("quiet", "noise", lambda s: Curve(s, noise=0.004)),
    ("loud", "noise", lambda s: Curve(s, noise=0.05)),
    ("volatile", "noise", lambda s: _noise(s, _volatile)),
    ("two-valued", "noise", lambda s: _noise(s, _two_valued)),
    ("hard batches", "noise", lambda s: _noise(s, _hard_batches)),
    ("real residuals", "noise", lambda s: _noise(s, _real)),
    ("every 10th", "sampling", lambda s: Curve(s, every=10)),
    ("every 100th", "sampling", lambda s: Curve(s, 1000, every=100)),
    ("every 700th", "sampling", lambda s: Curve(s, 400, every=700)),
    ("uneven", "sampling", lambda s: Curve(s, 1000, every=20, uneven=0.6)),
    ("dense, then 100th", "sampling", lambda s: _at(s, dense_then_sparse())),
    ("log-spaced", "sampling", lambda s: _at(s, log_spaced(), 10)),
    ("tokens", "sampling", lambda s: Curve(s, 1500, every=1 << 22)),
    ("samples", "sampling", lambda s: Curve(s, 1500, every=512)),
    ("small", "values", lambda s: Curve(s, floor=0.02, gain=0.6)),
    ("near zero", "values", lambda s: Curve(s, floor=1e-5, gain=2.0, decay=1.2)),
    ("crossing zero", "values", _crossing),
    ("bfloat16", "values", lambda s: _bfloat16(Curve(s, noise=0.02))),
    ("4 decimals", "values", lambda s: _decimals(Curve(s, floor=0.02, gain=0.6), 4)),
    ("steep", "values", lambda s: Curve(s, decay=0.7, gain=12)),
    ("16 points", "length", lambda s: Curve(s, 16, every=100)),
    ("40 points", "length", lambda s: Curve(s, 40, every=100)),
    ("120 points", "length", lambda s: Curve(s, 120, every=100)),
    ("20,000 points", "length", lambda s: Curve(s, 20_000)),
    ("1,000,000 points", "length", lambda s: Curve(s, 1_000_000)),
    ("mixed", "mixed", _mixed),
)
GROUNDS = {name: Ground(name, factor, make) for name, factor, make in _TABLE}
