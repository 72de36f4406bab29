"""Running means that begin again: what is printed while a mean settles is no sample.

A progress bar shows the mean since the epoch began, so the loss comes as saw teeth: a sample stands at the
start of each tooth, and the nth of it moves the mean by a share of 1/n only. Only the last value of a tooth
is a measurement, the mean of the epoch. The rows stay in the log; the rules do not look at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics.roles import LOSSES
from chronicle.model import Role, Series

_MEASURED = (*LOSSES, Role.SCORE, Role.VALIDATION_SCORE)
_LEAST, _TEETH = 6, 3  # [samples] of a tooth that is asked, and so many of those
_STEEPEST = -0.6  # exponent by which bends fall from sample to sample, at least: -1 of a mean, 0 of samples
_MOST = 64  # [samples] of a tooth by which its bends are told
_SURE = 4.0  # [standard errors] by which it is not that of samples
_SPREAD = 1.11  # [log units] spread of the log of what is as large as Gaussian noise by chance
_RESET = 3.0  # [times] the last moves of a tooth is the way to the next one
_WHOLE = 0.9  # of the usual length, for a last tooth that has settled

Index = NDArray[np.intp]


def settled(series: Mapping[str, Series]) -> dict[str, Series]:
    """The series, of running means that begin again with each epoch or step only what they came to."""
    epoch = max((s for s in series.values() if s.role is Role.EPOCH), key=len, default=None)
    return {m: _settled(s, epoch) if s.role in _MEASURED else s for m, s in series.items()}


def _settled(series: Series, epoch: Series | None) -> Series:
    for begins in _begins(series, epoch):
        lengths = np.diff(np.append(begins, len(series)))
        if np.count_nonzero(lengths >= _LEAST) >= _TEETH and _is_running_mean(series, begins):
            ends = np.append(begins[1:], len(series)) - 1
            return series.pick(ends if lengths[-1] >= _WHOLE * np.median(lengths[:-1]) else ends[:-1])
    return series


def _begins(series: Series, epoch: Series | None) -> Iterator[Index]:
    """Where teeth may begin, the first sample among them: where the step grows after it stood, or the epoch
    is another one. An epoch that is told once may be told at its end or at its start."""
    steps = series.steps
    if np.count_nonzero(np.diff(steps)) < 0.5 * len(steps):
        yield np.append(0, np.flatnonzero(np.diff(steps)) + 1)
    elif epoch is not None and len(epoch) > 1:
        known = np.flatnonzero(np.isfinite(epoch.values))
        whole, at = np.floor(epoch.values[known] + 1e-6), epoch.steps[known]
        edges = np.flatnonzero(np.diff(whole)) + 1
        told_first, told_last = (
            np.searchsorted(steps, at[edges]),
            np.searchsorted(steps, at[edges - 1], "right"),
        )
        for rows in (told_first, told_last):
            yield np.unique(np.append(0, rows[rows < len(steps)]))


def _is_running_mean(series: Series, begins: Index) -> bool:
    """Whether it bends less and less as a mean does, tooth after tooth, and the next tooth is far from it.

    A bend is a second difference, in which what is learned meanwhile does not count; those that rounding
    hides, from the nth sample of a tooth on, tell nothing.
    """
    values, lengths = series.values, np.diff(np.append(begins, len(series)))
    nth = np.arange(len(values)) - np.repeat(begins, lengths) + 1  # sample of its tooth, from 1
    with np.errstate(invalid="ignore", over="ignore"):  # logged values may be as large as floats get
        move = np.diff(values, prepend=np.nan)
        bend = np.abs(np.diff(move, prepend=np.nan))
        ok = np.isfinite(bend) & (nth > 2) & np.repeat(lengths >= _LEAST, lengths)
        grain = np.diff(np.unique(values[np.isfinite(values)])).min(initial=np.inf)
        parts = (bend[ok & (nth == n)] for n in range(3, min(int(nth.max()), _MOST) + 1))
        typical = [float(np.median(part)) if len(part) else 0.0 for part in parts]
        hidden = 3 + next((k for k, size in enumerate(typical) if not size > grain), len(typical))
        ok &= nth < hidden
        late = np.abs(move[np.repeat(lengths >= _LEAST, lengths) & (2 * nth > np.repeat(lengths, lengths))])
        reset = np.abs(move[begins[1:]])
    if hidden < _LEAST or not np.isfinite(reset).any() or not np.isfinite(late).any():
        return False
    x, y = np.log(nth[ok]), np.log(np.maximum(bend[ok], 0.5 * grain))
    width = float(((x - x.mean()) ** 2).sum())
    exponent = float(((x - x.mean()) * y).sum()) / width
    far = np.nanmedian(reset) >= _RESET * np.nanmedian(late)
    return bool(far and exponent <= min(_STEEPEST, -_SURE * _SPREAD / width**0.5))
