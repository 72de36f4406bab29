"""Whether two stretches of a training read the same data: their noise, compared pair by pair.

Much of the noise of a training loss is the batch: an easy one is easy for every model of that run. So where
two stretches read the same batches in the same order, what is left of the loss when its trend is taken out
goes up and down together, and where they do not it does not, whatever the trend does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chronicle.classify.measure import positive
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Floats, Series

LEAST_PAIRS = 16
FIRST_SAMPLES = 64  # of an attempt, in which a period is looked for; then twice as many, and so on
_TREND_SAMPLES = 15  # a running mean of so many is what the model learns; what is left is noise
_CLIP = 3.0  # scales: no single spike makes a correlation
_LONGEST = 1 << 16  # samples of an attempt that are looked at
_SURE = 0.999  # correlation: z grows without bound towards 1
_MEMORY = 8  # samples over which smoothed noise is like itself


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of a loss, in scales, by place: step = (``first`` + place) * ``gap``. 0: nothing logged."""

    first: int
    gap: int
    values: Floats


@dataclass(frozen=True)
class Pairing:
    """A stretch reads at step s what was read at step s - ``lag_steps``.

    ``share`` is the correlation of the noise over ``pairs`` samples, ``t`` its standard errors from none;
    ``last_step`` is where it ends.
    """

    lag_steps: int
    share: float
    t: float
    pairs: int
    last_step: int


def noise(loss: Series) -> Noise | None:
    """The noise of a loss; None if it is too short, on no grid of steps, or without any noise."""
    steps, y = positive(loss)
    steps, y = steps[:_LONGEST], y[:_LONGEST]
    apart = np.diff(steps)
    if len(y) < LEAST_PAIRS or not (apart > 0).any():
        return None
    gap = max(int(np.median(apart[apart > 0])), 1)
    place, once = np.unique(np.round(steps / gap).astype(np.int64), return_index=True)
    left = y[once] - _running_mean(y[once])
    scale = 1.4826 * float(np.median(np.abs(left - np.median(left))))
    if not scale > 0 or place[-1] - place[0] > 4 * _LONGEST:
        return None
    values = np.zeros(int(place[-1] - place[0]) + 1)
    values[place - place[0]] = np.clip(left / scale, -_CLIP, _CLIP)
    return Noise(int(place[0]), gap, values)


def alike(old: Noise, new: Noise, lag_steps: int, limits: Thresholds) -> Pairing | None:
    """Whether the later one reads what the earlier one read ``lag_steps`` before; None if it does not.

    The later one may end it at any place: its first 64 pairs are looked at, then twice as many, and so on.
    """
    if old.gap != new.gap:
        return None
    lag = round(lag_steps / new.gap)
    a, b = (
        max(old.first + lag, new.first),
        min(old.first + len(old.values) + lag, new.first + len(new.values)),
    )
    x, y = old.values[a - lag - old.first : b - lag - old.first], new.values[a - new.first : b - new.first]
    both = _Both(x, y, a, lag, new.gap)
    found = [p for n in _windows(len(x)) if (p := both.alike(n, limits.alike_share, limits.join_t))]
    return max(found, key=lambda p: p.t, default=None)


def period(one: Noise, limits: Thresholds) -> Pairing | None:
    """The distance at which an attempt reads its own data again, in its first 64, 128, … samples; or None."""
    found = []
    for n in _windows(len(one.values)):
        x = one.values[:n]
        size = 1 << int(2 * n - 1).bit_length()
        power = np.fft.irfft(np.abs(np.fft.rfft(x, size)) ** 2, size)[: n - LEAST_PAIRS]
        if len(power) <= _MEMORY + 1:
            continue
        lag = _MEMORY + 1 + int(np.argmax(power[_MEMORY + 1 :]))
        by_chance = float(np.sqrt(2 * np.log(len(power))))  # the highest of so many lags
        both = _Both(one.values[:-lag], one.values[lag:], one.first + lag, lag, one.gap)
        pairing = both.alike(n - lag, limits.alike_share, limits.single_t + by_chance)
        found += [pairing] if pairing else []
    return max(found, key=lambda p: p.t, default=None)


def _windows(samples: int) -> list[int]:
    sizes = [FIRST_SAMPLES << k for k in range(32) if FIRST_SAMPLES << k < samples]
    return [*sizes, samples] if samples >= LEAST_PAIRS else []


@dataclass(frozen=True, eq=False)
class _Both:
    """Noise and, ``lag`` places before it, other noise; ``first`` is the place of the later one's first."""

    old: Floats
    new: Floats
    first: int
    lag: int
    gap: int

    def alike(self, n: int, least_share: float, needed_t: float) -> Pairing | None:
        """Correlation of the first ``n`` pairs by Fisher's z; None if it is too low, or not sure enough."""
        a, b = self.old[:n], self.new[:n]
        both = (a != 0) & (b != 0)
        pairs, power = int(both.sum()), float(np.sqrt((a[both] ** 2).sum() * (b[both] ** 2).sum()))
        share = float(a @ b) / power if power else 0.0
        if pairs < LEAST_PAIRS or not share >= least_share:
            return None
        t = float(np.arctanh(min(share, _SURE)) * np.sqrt(max(pairs / _inflation(a, b) - 3, 0)))
        if t < needed_t:
            return None
        agreed = np.cumsum(self.old * self.new - 0.5 * float((a * b)[both].mean()))  # falls where they part
        return Pairing(self.lag * self.gap, share, t, pairs, (self.first + int(np.argmax(agreed))) * self.gap)


def _running_mean(y: Floats) -> Floats:
    """Centred, over fewer samples at the ends."""
    window = np.ones(min(_TREND_SAMPLES, len(y)))
    mean: Floats = np.convolve(y, window, "same") / np.convolve(np.ones(len(y)), window, "same")
    return mean


def _inflation(x: Floats, y: Floats) -> float:
    """How much wider chance correlations are than 1/sqrt(n), because noise is like its neighbours."""

    def own(v: Floats) -> Floats:
        return np.array([float(v[k:] @ v[: len(v) - k]) for k in range(1, _MEMORY)]) / float(v @ v)

    return max(1.0, 1.0 + 2.0 * float(own(x) @ own(y)))
