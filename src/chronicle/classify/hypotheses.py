"""What the course of a whole run was: five explanations compete for at most 256 medians of its loss.

    never     c
    healthy   E + A phi(t); or cooled towards the end: E + A phi(t) - D t^3
    stopped   E + A phi(min(t, T))
    waits     E + A phi(max(t - T, 0))
    climbs    E + A exp(-t / a) - B exp(-t / b), a at least three times b

phi are the laws of `course.shapes`, t the share of the steps of the log; A, B, D > 0. All are fitted in the
unit of the loss with weights 1/L^2. The score of each is the likelihood of its best member under Student-t
errors, less half a log of the number of medians (in effect) for every free parameter, in nats. Neighbours
that the best explanation leaves alike count once: what no law fits makes all of them less sure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from chronicle.classify.course import FEWEST, MISFIT, NU, ROUNDS, Laws, in_units, medians_of, shapes
from chronicle.classify.measure import MEDIAN_ERROR, running, wiggle
from chronicle.model import Floats

MOST = 256  # medians: more cost time and change no winner
TIMES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.33, 0.42, 0.5, 0.6, 0.7, 0.8)  # places of T
TAUS = (0.004, 0.012, 0.04, 0.12, 0.4, 1.2)
# Some thousand curves are tried: a third of the laws tells the families apart, in 20 ms.
COARSE = Laws((0.001, 0.01, 0.1, 1.0), (0.15, 0.4, 0.8, 1.6), TAUS)
APART = 3.0  # [times] a climb is faster than what it comes back by, or the two are one
NEVER, HEALTHY, STOPPED, WAITS, CLIMBS = "never", "healthy", "stopped", "waits", "climbs"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The best member of one family: ``score`` in nats, ``at`` the share of the log where T is (0: none)."""

    score: float
    at: float
    curve: Floats  # at the medians, log units
    parameters: int


@dataclass(frozen=True, eq=False)
class Contest:
    """The medians of a loss (steps, log units) and what each family makes of them."""

    steps: Floats
    level: Floats
    told: Mapping[str, Explanation]

    @property
    def winner(self) -> str:
        return max(self.told, key=lambda name: self.told[name].score)

    def lead(self, name: str, over: tuple[str, ...] = (HEALTHY,)) -> float:
        """By how many nats one explanation leads the best of others, among them always "never", which fits
        everything somehow (minus infinity if it fits nothing)."""
        if name not in self.told:
            return -np.inf
        return self.told[name].score - max(self.told[o].score for o in (NEVER, *over) if o in self.told)

    def step(self, name: str) -> float:
        """The step at which T of an explanation is."""
        return float(self.steps[0] + self.told[name].at * (self.steps[-1] - self.steps[0]))


def compete(steps: Floats, y: Floats) -> Contest | None:
    """The competition over log values; None where there is too little."""
    x, level, samples = medians_of(steps, y, MOST)
    if len(level) < 2 * FEWEST or x[-1] <= x[0]:
        return None
    noise = max(wiggle(y), 1e-6)
    if len(y) <= MOST:  # single samples: a lone outlier is drawn towards its neighbours
        base = running(level, 5)
        level = base + np.clip(level - base, -4 * noise, 4 * noise)
    error = np.sqrt(noise**2 * MEDIAN_ERROR**2 / samples + MISFIT**2)
    value, t = in_units(level), (x - x[0]) / (x[-1] - x[0])
    fits = [(family.name, likeliest(value, error, family)) for family in families(t)]
    found = [(name, fit) for name, fit in fits if fit is not None]
    best = max((fit for _, fit in found), key=lambda fit: fit.score)
    count = effective((value - best.curve) / value / error)
    told: dict[str, Explanation] = {}
    for name, fit in found:
        score = count * fit.score - 0.5 * fit.parameters * float(np.log(count))
        if name not in told or score > told[name].score:
            told[name] = replace(fit, score=score, curve=np.log(fit.curve) + level.max())
    return Contest(x, level, told)


class Family(NamedTuple):
    """The members of one explanation: ``columns`` (member, place) beside the floor, each of positive weight,
    T of each member, and the free parameters, the scale among them."""

    name: str
    columns: tuple[Floats, ...]
    places: Floats
    parameters: int


def families(t: Floats) -> Iterator[Family]:
    """All explanations, at these shares of the steps."""
    phi = shapes(t, COARSE)
    none, times = np.zeros(len(phi)), np.repeat(TIMES, len(phi))
    yield Family(NEVER, (), np.zeros(1), 2)
    yield Family(HEALTHY, (phi,), none, 5)
    yield Family(HEALTHY, (phi, np.tile(-(t**3), (len(phi), 1))), none, 6)
    stopped = np.concatenate([shapes(np.minimum(t, at), COARSE) for at in TIMES])
    yield Family(STOPPED, (stopped,), times, 6)
    waits = np.concatenate([shapes(np.maximum(t - at, 0.0), COARSE) for at in TIMES])
    yield Family(WAITS, (waits,), times, 6)
    pairs = np.array([(a, b) for a in TAUS for b in TAUS if a >= APART * b])
    slow, fast = np.exp(-t / pairs[:, :1]), np.exp(-t / pairs[:, 1:])
    yield Family(CLIMBS, (slow, -fast), np.zeros(len(pairs)), 6)


def likeliest(value: Floats, error: Floats, family: Family) -> Explanation | None:
    """The member that fits best, its score the mean log likelihood of a median; None if none has the right
    signs."""
    weight, columns = 1 / (error * value) ** 2, family.columns
    members = len(columns[0]) if columns else 1
    design = np.stack([np.ones((members, len(value))), *columns], axis=2)
    normal = np.einsum("mnp,n,mnq->mpq", design, weight, design, optimize=True)
    ridge = 1e-10 * np.einsum("mpp->mp", normal)[:, :, None] * np.eye(design.shape[2])
    right = np.einsum("mnp,n->mp", design, weight * value)
    found = np.linalg.solve(normal + ridge, right[..., None])[..., 0]
    curves: Floats = np.einsum("mnp,mp->mn", design, found)
    off = (value - curves) / (value * error)
    ok = np.logical_and((found[:, 1:] > 0).all(axis=1), (curves > 0).all(axis=1))
    cost = np.where(ok, (off**2).sum(axis=1), np.inf)
    m = int(np.argmin(cost))
    if not ok[m]:
        return None
    return Explanation(student(off[m]), float(family.places[m]), curves[m], family.parameters)


def student(z: Floats) -> float:
    """Mean log likelihood of residuals under Student-t errors of their own scale."""
    scale = max(float(np.sqrt(np.mean(z**2))), 1e-9)
    for _ in range(ROUNDS):
        weight = (NU + 1) / (NU + (z / scale) ** 2)
        scale = max(float(np.sqrt(np.mean(weight * z**2))), 1e-9)
    return float(np.mean(-np.log(scale) - 0.5 * (NU + 1) * np.log1p((z / scale) ** 2 / NU)))


def effective(z: Floats) -> float:
    """How many medians there are in effect, given residuals."""
    z = np.clip(z / max(float(np.std(z)), 1e-9), -3, 3)
    rho = min(max(float(z[1:] @ z[:-1]) / max(float(z @ z), 1e-9), 0.0), 0.9)
    return max(len(z) * (1 - rho) / (1 + rho), 8.0)
