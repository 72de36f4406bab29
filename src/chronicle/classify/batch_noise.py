"""Whether two stretches of a training read the same data: their noise, compared pair by pair.

Much of the noise of a training loss is the batch: an easy one is easy for every model of that run. So where
two stretches read the same batches in the same order, what is left of the loss when its trend is taken out
goes up and down together, and where they do not it does not, whatever the trend does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from chronicle.classify.measure import median, positive
from chronicle.classify.report import Check, at_least, noted
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, kept
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


@kept
def noise_of(view: View, loss: Series) -> Noise | None:
    """The noise of a loss, worked out once a run."""
    return noise(loss)


def noise(loss: Series) -> Noise | None:
    """The noise of a loss; None if it is too short, on no grid of steps, or without any noise."""
    steps, y = positive(loss)
    steps, y = steps[:_LONGEST], y[:_LONGEST]
    apart = np.diff(steps)
    if len(y) < LEAST_PAIRS or not (apart > 0).any():
        return None
    gap = max(int(median(apart[apart > 0])), 1)
    place, once = np.unique(np.round(steps / gap).astype(np.int64), return_index=True)
    y = y[once]
    window = np.ones(min(_TREND_SAMPLES, len(y)))  # shorter at both ends
    left = y - np.convolve(y, window, "same") / np.convolve(np.ones(len(y)), window, "same")
    scale = 1.4826 * median(np.abs(left - median(left)))
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
    return _surest(_correlated(old, new, round(lag_steps / new.gap), None, limits.alike_share, limits.join_t))


def period(stretch: Noise, limits: Thresholds) -> Pairing | None:
    """The distance at which an attempt reads its own data again, in its first 64, 128, … samples; or None."""

    def candidates() -> Iterator[Pairing]:
        for n in _doubling(len(stretch.values)):
            size = 1 << int(2 * n - 1).bit_length()
            power = np.fft.irfft(np.abs(np.fft.rfft(stretch.values[:n], size)) ** 2, size)[: n - LEAST_PAIRS]
            if len(power) > _MEMORY + 1:
                lag = _MEMORY + 1 + int(np.argmax(power[_MEMORY + 1 :]))
                by_chance = float(np.sqrt(2 * np.log(len(power))))  # the highest of so many lags
                needed_t = limits.single_t + by_chance
                yield from _correlated(stretch, stretch, lag, n - lag, limits.alike_share, needed_t)

    return _surest(candidates())


def _surest(pairings: Iterable[Pairing]) -> Pairing | None:
    return max(pairings, key=lambda p: p.t, default=None)


def _doubling(samples: int) -> list[int]:
    sizes = [FIRST_SAMPLES << k for k in range(32) if FIRST_SAMPLES << k < samples]
    return [*sizes, samples] if samples >= LEAST_PAIRS else []


def _correlated(
    old: Noise, new: Noise, lag: int, pairs: int | None, least_share: float, needed_t: float
) -> Iterator[Pairing]:
    """Noise and, ``lag`` places before it, other noise, where both were logged: the correlation of the first
    64, 128, … places, or of so many, by Fisher's z, without those that are too low or not sure enough."""
    first = max(old.first + lag, new.first)
    stop = min(old.first + len(old.values) + lag, new.first + len(new.values))
    before = old.values[first - lag - old.first : stop - lag - old.first]
    after = new.values[first - new.first : stop - new.first]
    for n in _doubling(len(before)) if pairs is None else [pairs]:
        a, b = before[:n], after[:n]
        both = (a != 0) & (b != 0)
        count, power = int(both.sum()), float(np.sqrt((a[both] ** 2).sum() * (b[both] ** 2).sum()))
        share = float(a @ b) / power if power else 0.0
        if count < LEAST_PAIRS or not share >= least_share:
            continue
        # noise is like its neighbours, so chance correlations are wider than 1/sqrt(n)
        own, other = (
            np.array([float(v[k:] @ v[: n - k]) for k in range(1, _MEMORY)]) / float(v @ v) for v in (a, b)
        )
        wider = max(1.0, 1.0 + 2.0 * float(own @ other))
        t = float(np.arctanh(min(share, _SURE)) * np.sqrt(max(count / wider - 3, 0)))
        if t >= needed_t:
            agreed = np.cumsum(before * after - 0.5 * float((a * b)[both].mean()))  # falls where they part
            last = first + int(np.argmax(agreed))
            yield Pairing(lag * new.gap, share, t, count, last * new.gap)


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

    def checks(self, limits: Thresholds) -> list[Check]:
        """How alike the noise is, how far back the data lie, how often they are read; and the test passed."""
        pairing, name = self.pairing, "noise like that of data read before"
        passes = {"passes": self.passes, "pass_fall_log": self.fall_log}
        return [
            *noted(noise_alike_share=pairing.share, data_lag_steps=pairing.lag_steps),
            *noted(last_replayed_step=pairing.last_step, **({} if self.fall_log is None else passes)),
            at_least(name, pairing.t, "standard errors", limits.join_t),
        ]


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
        stretch = noise_of(view, loss) if loss is not None and loss.role is Role.LOSS else None
        if loss is not None and stretch is not None:
            candidates = [
                *_from_the_start(attempt, earlier, stretch, view.thresholds),
                *(_over_and_over(attempt, loss, earlier[0][1], stretch, view.thresholds) if earlier else ()),
            ]
            if candidates:
                proofs[attempt.index] = max(candidates, key=lambda p: p.pairing.t)
            earlier.append((attempt, stretch))
    return proofs


def _from_the_start(
    attempt: AttemptView, earlier: Sequence[tuple[AttemptView, Noise]], stretch: Noise, limits: Thresholds
) -> Iterator[Reread]:
    for parent, old in earlier[-_EARLIER:]:
        lag = (stretch.first - old.first) * stretch.gap
        # the next epoch in the same order is as it was meant
        pairing = alike(old, stretch, lag, limits) if lag > 0 and not _whole_epochs(parent, attempt) else None
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
    attempt: AttemptView, loss: Series, first: Noise, stretch: Noise, limits: Thresholds
) -> Iterator[Reread]:
    """One stretch that is read more than once, which the ``first`` attempt, resumed from nothing, did not."""
    own = period(stretch, limits)
    if own is None or len(first.values) < own.lag_steps // stretch.gap + 2 * LEAST_PAIRS:
        return
    if alike(first, first, own.lag_steps, limits) is None:
        steps, y = positive(loss)
        starts = np.arange(steps[0], own.last_step + 1, own.lag_steps)
        cuts = np.searchsorted(steps, [*starts, starts[-1] + own.lag_steps])
        passes = (
            y[a:b] for a, b in pairwise(cuts[: np.sum(starts + own.lag_steps // 2 <= own.last_step) + 1])
        )
        levels = [median(part) for part in passes if len(part)]
        falls = [a - b for a, b in pairwise(levels)]
        yield Reread(attempt.name, own, len(levels), float(np.mean(falls)) if falls else None)
