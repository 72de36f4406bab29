"""The proof that an attempt reads data again: its noise is that of data which were read before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from chronicle.classify.measure import positive
from chronicle.classify.pairing import LEAST_PAIRS, Noise, Pairing, alike, noise, period
from chronicle.classify.report import Check, at_least
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.model import Role

_EPOCH = 0.02  # of an epoch: the first point of one is logged a little after it began
_EARLIER = 8  # attempts back that are compared: a loader starts again where a process started


@dataclass(frozen=True)
class Reread:
    """From the first step of an attempt to ``pairing.last_step`` it reads what was read before.

    ``passes`` is how often it reads the same stretch, ``fall_log`` by how much the loss falls from one pass
    to the next (None for a single one), ``of`` the attempt that read it first.
    """

    of: str
    pairing: Pairing
    passes: int
    fall_log: float | None

    def evidence(self) -> dict[str, Any]:
        """For a finding: how alike the noise is, how far back the data lie, how often they are read."""
        said: dict[str, Any] = {
            "noise_alike_share": self.pairing.share,
            "data_lag_steps": self.pairing.lag_steps,
            "last_replayed_step": self.pairing.last_step,
        }
        if self.fall_log is not None:
            said |= {"passes": self.passes, "pass_fall_log": self.fall_log}
        return said

    def criterion(self, limits: Thresholds) -> Check:
        """The test that was passed."""
        return at_least(
            "noise like that of data read before", self.pairing.t, "standard errors", limits.join_t
        )


def rereads(view: View) -> Mapping[int, Reread]:
    """The attempts, by index, that read data again, with the proof.

    Either from where an earlier attempt began to read (the cursor was lost), or one stretch over and over
    (a loader that starts its shard anew), as no attempt before did: small data sets are read in the same
    order in every epoch of many a healthy run.
    """
    found: dict[int, Reread] = {}
    honest: list[tuple[AttemptView, Noise]] = []
    for attempt in view.attempts:
        loss = attempt.loss
        one = noise(loss) if loss is not None and loss.role is Role.LOSS else None
        if one is None:
            continue
        limits = view.thresholds
        proofs = [
            *_from_the_start(attempt, honest, one, limits),
            *_over_and_over(attempt, honest, one, limits),
        ]
        if proofs:
            found[attempt.index] = max(proofs, key=lambda p: p.pairing.t)
        honest.append((attempt, one))
    return found


def _from_the_start(
    attempt: AttemptView, earlier: Sequence[tuple[AttemptView, Noise]], one: Noise, limits: Thresholds
) -> list[Reread]:
    proofs = []
    for parent, old in earlier[-_EARLIER:]:
        if _whole_epochs(parent, attempt):
            continue  # the next epoch in the same order, as it was meant
        lag = (one.first - old.first) * one.gap
        pairing = alike(old, one, lag, limits) if lag > 0 else None
        usual = period(old, limits) if pairing else None
        if pairing and (usual is None or lag % usual.lag_steps):
            proofs.append(Reread(parent.name, pairing, 1, None))
    return proofs


def _whole_epochs(parent: AttemptView, attempt: AttemptView) -> bool:
    """Whether the later attempt begins a whole number of epochs after the earlier one, by their own count."""
    counts = [a.first(Role.EPOCH) for a in (parent, attempt)]
    if counts[0] is None or counts[1] is None:
        return False
    apart = float(counts[1].values[0] - counts[0].values[0])
    return round(apart) >= 1 and abs(apart - round(apart)) <= _EPOCH if np.isfinite(apart) else False


def _over_and_over(
    attempt: AttemptView, earlier: Sequence[tuple[AttemptView, Noise]], one: Noise, limits: Thresholds
) -> list[Reread]:
    own = period(one, limits) if earlier else None
    if own is None:
        return []
    first = earlier[0][1]  # what is usual for this run: its first attempt has resumed from nothing
    able = len(first.values) >= own.lag_steps // one.gap + 2 * LEAST_PAIRS
    if not able or alike(first, first, own.lag_steps, limits) is not None:
        return []
    levels = _levels(attempt, own)
    falls = [a - b for a, b in pairwise(levels)]
    return [Reread(attempt.name, own, len(levels), float(np.mean(falls)) if falls else None)]


def _levels(attempt: AttemptView, own: Pairing) -> list[float]:
    """Median log loss of each pass, of which at least half was read."""
    assert attempt.loss is not None
    steps, y = positive(attempt.loss)
    starts = np.arange(steps[0], own.last_step + 1, own.lag_steps)
    cuts = np.searchsorted(steps, [*starts, starts[-1] + own.lag_steps])
    read = [k for k in range(len(starts)) if starts[k] + own.lag_steps // 2 <= own.last_step]
    return [float(np.median(y[cuts[k] : cuts[k + 1]])) for k in read if cuts[k + 1] > cuts[k]]
