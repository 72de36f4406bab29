"""One attempt: a healthy curve, events injected into it, and the series that are logged beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Role, Series

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]
START_TIME = 1.7e9  # [s] of every first attempt


@dataclass(frozen=True)
class Event:
    """The label of one injected event.

    ``height_scales`` is in noise scales of the series at that place; an onset counts as found within
    ``tolerance_samples``; ``also_ok`` are other right names for it; ``optional``: it need not be found;
    ``planned``: it has to be found, and makes no run worse.
    """

    pattern: str
    start_step: int
    peak_step: int | None = None
    end_step: int | None = None
    metric: str = "loss"
    height_scales: float = 0.0
    tolerance_samples: int = 16
    also_ok: tuple[str, ...] = ()
    optional: bool = False
    planned: bool = False


@dataclass
class Run:
    """What a reader would give for one training, and what is known about it.

    ``lift_scales`` is what was injected into the loss, in noise scales, at each point (of one attempt).
    """

    attempts: list[Attempt]
    events: list[Event] = field(default_factory=list)
    lift_scales: Floats | None = None

    def patterns(self) -> set[str]:
        return {e.pattern for e in self.events}


def autocorrelated(rng: np.random.Generator, n: int, rho: float, df: float) -> Floats:
    """AR(1) noise of unit variance with Student-t innovations (df > 2; smaller = heavier tails)."""
    e: Floats = rng.standard_t(df, n) * np.sqrt((df - 2) / df * (1 - rho * rho))
    last = 0.0
    for i, x in enumerate(e.tolist() if rho else ()):
        e[i] = last = x + rho * last
    return e


def scaled(base: float, seed: int, low: float = 0.7, high: float = 1.4) -> float:
    """``base`` times a factor that depends on the seed only: so that examples of one kind differ."""
    return base * float(np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high))))


class Curve:
    """The log of one attempt. Positions ``at`` are shares of the points (0..1); lengths are in samples.

    ``noise`` is the one-sample noise scale in log units once the start is over, ``every`` the steps between
    two logged points, ``uneven`` the share by which that varies (``steps``: the logged steps themselves),
    ``decay`` the exponent of the power law.
    """

    def __init__(
        self,
        seed: int = 0,
        points: int = 2000,
        *,
        every: int = 1,
        first_step: int = 0,
        noise: float = 0.01,
        rho: float = 0.3,
        df: float = 8.0,
        uneven: float = 0.0,
        floor: float = 1.8,
        gain: float = 7.0,
        decay: float = 0.4,
        steps: Steps | None = None,
    ) -> None:
        self.rng = rng = np.random.default_rng(seed)
        gaps = np.maximum(1, np.rint(every * (1 + uneven * rng.uniform(-1, 1, points)))).astype(np.int64)
        self.steps = first_step + np.cumsum(gaps) - gaps[0] if steps is None else steps
        self.n, self.every, self.scale = points, every, noise
        t = self.steps.astype(float)
        self.trend = np.log(floor + gain * (1 + t / (20.0 * every)) ** -decay)
        self.spread = noise * (1 + 1.5 * np.exp(-(t - t[0]) / (30.0 * every))) * np.ones(points)
        self.noise = autocorrelated(rng, points, rho, df)
        self.lift = np.zeros(points)  # [log units] everything injected into the loss
        self.raw: dict[int, float] = {}  # values that no formula makes: NaN, Inf, zero
        self.extra: dict[str, tuple[Role, Floats, str]] = {}
        self.rows: dict[str, NDArray[np.int64]] = {}  # series that are logged at some points only
        self.events: list[Event] = []
        self.render: Callable[[Floats, Floats], Floats] = lambda trend, off: np.exp(trend + off)
        self.after: list[Callable[[Floats], Floats]] = []  # what the logger does to the finished loss
        self.seconds = t - t[0]  # one second a step until `throughput` says otherwise
        self.name = "attempt-1"

    # ---- helpers ---------------------------------------------------------------------------------

    def i(self, at: float) -> int:
        """The sample at a share of the log."""
        return int(np.clip(round(at * self.n), 0, self.n - 1))

    def gap(self, a: int) -> float:
        """Steps between two logged points near sample ``a``."""
        return float(np.median(np.diff(self.steps[max(a - 8, 0) : a + 9])))

    def label(self, pattern: str, a: int, peak: int | None, b: int | None, **more: object) -> Self:
        step = [None if k is None else int(self.steps[min(max(k, 0), self.n - 1)]) for k in (a, peak, b)]
        self.events.append(Event(pattern, step[0] or 0, step[1], step[2], **more))  # type: ignore[arg-type]
        return self

    def pulse(self, a: int, rise: int, fall: float, residue: float = 0.0) -> Floats:
        """Shape of a spike: 0 before sample ``a``, up to 1 in ``rise`` samples, back to ``residue``."""
        k = np.arange(self.n) - a
        back = (1 - residue) * np.exp(-np.maximum(k - rise + 1, 0) / max(fall, 1e-9)) + residue
        return np.where(k < 0, 0.0, np.where(k < rise, (k + 1) / rise, back))

    @property
    def loss(self) -> Floats:
        """The loss as logged."""
        v = self.render(self.trend, self.lift + self.spread * self.noise)
        for f in self.after:
            v = f(v)
        for k, x in self.raw.items():
            v[k] = x
        return v

    # ---- events in the loss ----------------------------------------------------------------------

    def spike(
        self, at: float, height: float = 15, rise: int = 2, fall: float = 8, residue: float = 0
    ) -> Self:
        """Up within ``rise`` samples, back with time constant ``fall``; ``residue`` (share) stays."""
        a, end = self.i(at), int(self.i(at) + rise + 3 * fall)
        self.lift += height * self.scale * self.pulse(a, rise, fall, residue)
        kind = "fast" if 3 * fall * self.every <= 150 or 3 * fall <= 10 else "slow"
        name = "spike-no-full-recovery" if residue else f"spike-{kind}-recovery"
        return self.label(name, a, a + rise - 1, None if residue else end, height_scales=height)

    def shift(self, at: float, height: float) -> Self:
        """A lasting step of the level, up or (negative) down."""
        a = self.i(at)
        self.lift[a:] += height * self.scale
        return self.label("level-shift", a, a, None, height_scales=height)

    def diverge(self, at: float, height: float = 40, grow: float = 0.3, spike: float = 0.0) -> Self:
        """Rises for good: ``height`` scales after a share ``grow`` of the log, on half of a ``spike``."""
        a = self.i(at)
        k = np.maximum(np.arange(self.n) - a, 0)
        self.lift += height * self.scale * k / (grow * self.n) + spike * self.scale * self.pulse(a, 2, 6, 0.5)
        return self.label(
            "divergence-after-spike" if spike else "divergence-no-spike",
            a,
            self.n - 1,
            None,
            height_scales=height,
            tolerance_samples=16 if spike else max(16, round(0.2 * grow * self.n)),
        )

    def improve(self, at: float, height: float, width: int = 20) -> Self:
        """An abrupt and lasting fall that nothing explains."""
        a = self.i(at)
        self.lift -= height * self.scale * np.clip((np.arange(self.n) - a) / width, 0, 1)
        return self.label("grokking", a, a + width // 2, a + width, height_scales=-height)

    def nan(self, at: float, length: int = 1, value: float = np.nan) -> Self:
        a = self.i(at)
        self.raw |= dict.fromkeys(range(a, min(a + length, self.n)), value)
        return self.label("nan-inf", a, a, min(a + length, self.n) - 1)

    def freeze(self, at: float, length: int) -> Self:
        a = self.i(at)
        held = float(self.loss[a])
        self.raw |= dict.fromkeys(range(a, min(a + length, self.n)), held)
        return self.label("frozen-metric", a, None, min(a + length, self.n) - 1)

    def flat(self, at: float) -> Self:
        """Learning stops: the trend stays where it is (a plateau)."""
        a = self.i(at)
        self.trend[a:] = self.trend[a]
        return self.label("plateau", a, None, None)

    def quantise(self, bits: int = 8) -> Self:
        """The logger rounds the loss to ``bits`` significant bits (8 = bfloat16)."""

        def round_off(v: Floats) -> Floats:
            unit = 2.0 ** (np.floor(np.log2(np.maximum(v, 1e-30))) - bits + 1)
            return np.rint(v / unit) * unit

        self.after.append(round_off)
        return self.label("quantised-loss", 0, None, None)

    # ---- other series ----------------------------------------------------------------------------

    def log(self, metric: str, role: Role, values: Floats, dataset: str = "", every: int = 1) -> Self:
        """Any series of one value a point; ``every`` n-th point only."""
        self.extra[metric] = (role, np.asarray(values, float), dataset)
        self.rows[metric] = np.arange(0, self.n, every)
        return self

    def own_noise(self, scale: float) -> Floats:
        return scale * autocorrelated(self.rng, self.n, 0.2, 8.0)

    def attempt(
        self, name: str = "", start: int = 0, stop: int | None = None, time: float = START_TIME
    ) -> Attempt:
        """The points ``start`` to ``stop`` as one attempt, as a reader would give them."""
        cut = slice(start, self.n if stop is None else stop)
        times = time + self.seconds[cut] - self.seconds[cut][0]
        series = {"loss": Series("loss", Role.LOSS, self.steps[cut], self.loss[cut], times)}
        for metric, (role, values, dataset) in self.extra.items():
            keep = self.rows[metric][(self.rows[metric] >= cut.start) & (self.rows[metric] < cut.stop)]
            at = keep - cut.start
            series[metric] = Series(metric, role, self.steps[keep], values[keep], times[at], dataset=dataset)
        return Attempt(name or self.name, (name or self.name,), series)

    def run(self) -> Run:
        return Run([self.attempt()], list(self.events), self.lift / self.scale)


def attempts_of(parts: Iterable[tuple[str, Mapping[str, Series]]]) -> list[Attempt]:
    """Attempts from finished series, for tests that need something odd."""
    return [Attempt(name, (name,), dict(series)) for name, series in parts]
