"""Steps that count within an epoch (`iter` of MMDetection): made to count on, over all epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Steps

if TYPE_CHECKING:
    from chronicle.readers.tables import Column

RESTARTING = 0.8  # share of the epochs at whose beginning the step goes back


def steps_per_epoch(steps: Steps, has_step: NDArray[np.bool_], epochs: Column) -> int | None:
    """Length of an epoch, where the step goes back whenever the epoch goes up; None where it goes on.

    ``steps`` and ``has_step`` are by row. The length is the highest step of an epoch; where steps count from
    0, one distance between two logged steps more.
    """
    rows, epoch = _whole(epochs, has_step)
    if len(rows) < 2:
        return None
    step = steps[rows]
    up, forward = np.diff(epoch) > 0, np.diff(step)
    if not up.any() or np.count_nonzero(up & (forward < 0)) < RESTARTING * np.count_nonzero(up):
        return None
    within = forward[~up & (forward > 0)]
    interval = int(np.median(within)) if len(within) else 1
    return int(step.max()) + (interval if step.min() <= 0 else 0)


def across_epochs(steps: Steps, has_step: NDArray[np.bool_], epochs: Column, length: int) -> Steps:
    """The steps of all rows counted over all epochs of ``length`` steps; epochs count from 0 or from 1.

    A row without an epoch belongs to the epoch of the row before it.
    """
    rows, epoch = _whole(epochs, has_step)
    known = np.full(len(steps), -1)
    known[rows] = np.arange(len(rows))
    latest = np.maximum(np.maximum.accumulate(known), 0)
    done = epoch[latest] - min(int(epoch.min()), 1)
    with np.errstate(over="ignore"):
        return np.asarray(steps + length * np.where(has_step, done, 0), np.int64)


def _whole(epochs: Column, has_step: NDArray[np.bool_]) -> tuple[Steps, Steps]:
    """Rows that have a step and a whole, small epoch, and that epoch; none where any epoch is a fraction."""
    kept = has_step[epochs.rows]
    rows, values = epochs.rows[kept], epochs.values[kept]
    fits = np.isfinite(values) & (np.abs(np.nan_to_num(values)) < 1 << 31)
    if not fits.all() or np.any(values != np.floor(values)):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return rows, values.astype(np.int64)
