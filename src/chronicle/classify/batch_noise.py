"""Whether two stretches of a training read the same data: their noise, compared pair by pair.

Much of the noise of a training loss is the batch: an easy one is easy for every model of that run. So where
two stretches read the same batches in the same order, what is left of the loss when its trend is taken out
goes up and down together, and where they do not it does not, whatever the trend does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from chronicle.classify.measure import positive
from chronicle.classify.report import Check, at_least
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.model import Floats, Role, Series

LEAST_PAIRS = 16
FIRST_SAMPLES = 64  # of an attempt, in which a period is looked for; then twice as many, and so on
_TREND_SAMPLES = 15  # a running mean of so many is what the model learns; what is left is noise
_CLIP = 3.0  # scales: no single spike makes a correlation
_LONGEST = 1 << 16  # samples of an attempt that are looked at
_SURE = 0.999  # correlation: z grows without bound towards 1
_MEMORY = 8  # samples over which smoothed noise is like itself
_EPOCH = 0.02  # of an epoch: the first point of one is logged a little after it began
_EARLIER = 8  # attempts back that are compared: a loader starts again where a process started


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
    y = y[once]
    window = np.ones(min(_TREND_SAMPLES, len(y)))  # shorter at both ends
    left = y - np.convolve(y, window, "same") / np.convolve(np.ones(len(y)), window, "same")
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
    pairs = _Pairs.of(old, new, round(lag_steps / new.gap))
    sizes = _doubling(len(pairs.old))
    return _surest(pairs.correlated(n, limits.alike_share, limits.join_t) for n in sizes)


def period(stretch: Noise, limits: Thresholds) -> Pairing | None:
    """The distance at which an attempt reads its own data again, in its first 64, 128, … samples; or None."""

    def candidates() -> Iterator[Pairing | None]:
        for n in _doubling(len(stretch.values)):
            size = 1 << int(2 * n - 1).bit_length()
            power = np.fft.irfft(np.abs(np.fft.rfft(stretch.values[:n], size)) ** 2, size)[: n - LEAST_PAIRS]
            if len(power) > _MEMORY + 1:
                lag = _MEMORY + 1 + int(np.argmax(power[_MEMORY + 1 :]))
                by_chance = float(np.sqrt(2 * np.log(len(power))))  # the highest of so many lags
                pairs = _Pairs.of(stretch, stretch, lag)
                yield pairs.correlated(n - lag, limits.alike_share, limits.single_t + by_chance)

    return _surest(candidates())


def _surest(pairings: Iterable[Pairing | None]) -> Pairing | None:
    return max((p for p in pairings if p), key=lambda p: p.t, default=None)


def _doubling(samples: int) -> list[int]:
    sizes = [FIRST_SAMPLES << k for k in range(32) if FIRST_SAMPLES << k < samples]
    return [*sizes, samples] if samples >= LEAST_PAIRS else []


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Noise and, ``lag`` places before it, other noise; ``first`` is the place of the later one's first."""

    old: Floats
    new: Floats
    first: int
    lag: int
    gap: int

    @classmethod
    def of(cls, old: Noise, new: Noise, lag: int) -> _Pairs:
        """Where both were logged."""
        first = max(old.first + lag, new.first)
        stop = min(old.first + len(old.values) + lag, new.first + len(new.values))
        before = old.values[first - lag - old.first : stop - lag - old.first]
        return cls(before, new.values[first - new.first : stop - new.first], first, lag, new.gap)

    def correlated(self, n: int, least_share: float, needed_t: float) -> Pairing | None:
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


def _inflation(x: Floats, y: Floats) -> float:
    """How much wider chance correlations are than 1/sqrt(n), because noise is like its neighbours."""

    def own(v: Floats) -> Floats:
        return np.array([float(v[k:] @ v[: len(v) - k]) for k in range(1, _MEMORY)]) / float(v @ v)

    return max(1.0, 1.0 + 2.0 * float(own(x) @ own(y)))


@dataclass(frozen=True)
class Reread:
    """From the first step of an attempt to ``pairing.last_step`` it reads what was read before.

    ``passes`` is how often it reads the same stretch, ``fall_log`` by how much the loss falls from one pass
    to the next (None for a single one), ``of`` the attempt that read it first.
    """

    of: str
    pairing: Pairing
    passes: int = 1
    fall_log: float | None = None

    def evidence(self) -> dict[str, Any]:
        """For a finding: how alike the noise is, how far back the data lie, how often they are read."""
        repeated = {} if self.fall_log is None else {"passes": self.passes, "pass_fall_log": self.fall_log}
        return {
            "noise_alike_share": self.pairing.share,
            "data_lag_steps": self.pairing.lag_steps,
            "last_replayed_step": self.pairing.last_step,
            **repeated,
        }

    def criterion(self, limits: Thresholds) -> Check:
        """The test that was passed."""
        name = "noise like that of data read before"
        return at_least(name, self.pairing.t, "standard errors", limits.join_t)


def rereads(view: View) -> Mapping[int, Reread]:
    """The attempts, by index, that read data again, with the proof.

    Either from where an earlier attempt began to read (the cursor was lost), or one stretch over and over
    (a loader that starts its shard anew), as no attempt before did: small data sets are read in the same
    order in every epoch of many a healthy run.
    """
    proofs: dict[int, Reread] = {}
    earlier: list[tuple[AttemptView, Noise]] = []
    for attempt in view.attempts:
        loss = attempt.loss
        stretch = noise(loss) if loss is not None and loss.role is Role.LOSS else None
        if stretch is None:
            continue
        candidates = [
            *_from_the_start(attempt, earlier, stretch, view.thresholds),
            *_over_and_over(attempt, earlier, stretch, view.thresholds),
        ]
        if candidates:
            proofs[attempt.index] = max(candidates, key=lambda p: p.pairing.t)
        earlier.append((attempt, stretch))
    return proofs


def _from_the_start(
    attempt: AttemptView, earlier: Sequence[tuple[AttemptView, Noise]], stretch: Noise, limits: Thresholds
) -> Iterator[Reread]:
    for parent, old in earlier[-_EARLIER:]:
        if _whole_epochs(parent, attempt):
            continue  # the next epoch in the same order, as it was meant
        lag = (stretch.first - old.first) * stretch.gap
        pairing = alike(old, stretch, lag, limits) if lag > 0 else None
        usual = period(old, limits) if pairing else None
        if pairing and (usual is None or lag % usual.lag_steps):
            yield Reread(parent.name, pairing)


def _whole_epochs(parent: AttemptView, attempt: AttemptView) -> bool:
    """Whether the later attempt begins a whole number of epochs after the earlier one, by their own count."""
    before, after = parent.first(Role.EPOCH), attempt.first(Role.EPOCH)
    if before is None or after is None:
        return False
    apart = float(after.values[0] - before.values[0])
    return round(apart) >= 1 and abs(apart - round(apart)) <= _EPOCH if np.isfinite(apart) else False


def _over_and_over(
    attempt: AttemptView, earlier: Sequence[tuple[AttemptView, Noise]], stretch: Noise, limits: Thresholds
) -> Iterator[Reread]:
    own = period(stretch, limits) if earlier else None
    if own is None:
        return
    first = earlier[0][1]  # what is usual for this run: its first attempt has resumed from nothing
    able = len(first.values) >= own.lag_steps // stretch.gap + 2 * LEAST_PAIRS
    if able and alike(first, first, own.lag_steps, limits) is None:
        levels = _pass_levels(attempt, own)
        falls = [a - b for a, b in pairwise(levels)]
        yield Reread(attempt.name, own, len(levels), float(np.mean(falls)) if falls else None)


def _pass_levels(attempt: AttemptView, own: Pairing) -> list[float]:
    """Median log loss of each pass, of which at least half was read."""
    assert attempt.loss is not None
    steps, y = positive(attempt.loss)
    starts = np.arange(steps[0], own.last_step + 1, own.lag_steps)
    cuts = np.searchsorted(steps, [*starts, starts[-1] + own.lag_steps])
    read = [k for k in range(len(starts)) if starts[k] + own.lag_steps // 2 <= own.last_step]
    return [float(np.median(y[cuts[k] : cuts[k + 1]])) for k in read if cuts[k + 1] > cuts[k]]
