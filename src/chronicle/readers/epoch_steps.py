"""Steps that count within an epoch (`iter` of MMDetection): made to count on, over all epochs.

A column whose name may mean other things too (`batch` is also a size) is a counter where it behaves as one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Steps

if TYPE_CHECKING:
    from chronicle.readers.tables import Column

RARE = 0.01  # share of cells that may be wrong
RESTARTING = 0.8  # share of the epochs that begin below the end of the one before


def steps_per_epoch(steps: Steps, has_step: NDArray[np.bool_], epochs: Column) -> int | None:
    """Length of an epoch, where steps begin anew whenever the epoch goes up; None where they go on.

    ``steps`` and ``has_step`` are by row. The length is the highest step of an epoch, the most frequent of
    those that are over (a single wrong step moves no other); where steps count from 0, one distance between
    two logged steps more.
    """
    rows, epoch = _whole(epochs, has_step)
    if len(rows) < 2:
        return None
    step, up = steps[rows], np.diff(epoch) > 0
    begins = np.append(0, np.flatnonzero(up) + 1)
    highest, lowest = np.maximum.reduceat(step, begins), np.minimum.reduceat(step, begins)
    if len(begins) < 2 or np.mean(lowest[1:] < highest[:-1]) < RESTARTING:
        return None
    usual, _ = Counter(highest[:-1].tolist()).most_common(1)[0]  # the last epoch may not be over
    forward = np.diff(step)
    within = forward[~up & (forward > 0)]
    interval = int(np.median(within)) if len(within) else 1
    return int(usual) + (interval if np.median(lowest) <= 0 else 0)


def across_epochs(steps: Steps, has_step: NDArray[np.bool_], epochs: Column, length: int) -> Steps:
    """The steps of all rows counted over all epochs of ``length`` steps; epochs count from 0 or from 1.

    A row without an epoch belongs to the epoch of the row before it.
    """
    rows, epoch = _whole(epochs, has_step)
    known = np.full(len(steps), -1)
    known[rows] = np.arange(len(rows))
    latest = np.maximum(np.maximum.accumulate(known), 0)
    done = epoch[latest] - min(int(epoch[0]), 1)
    with np.errstate(over="ignore"):
        return np.asarray(steps + length * np.where(has_step, done, 0), np.int64)


def counts_up(counter: Column, epochs: Column) -> bool:
    """Whether the values of a column count: they grow, and begin anew only with an epoch.

    Without epochs they begin anew where they began. A single value may always count.
    """
    values = counter.values
    if len(values) < 2:
        return len(values) == 1
    with np.errstate(over="ignore", invalid="ignore"):
        forward, up = np.diff(values), np.diff(_at(counter.rows, epochs)) > 0
    rises, falls, stays = (np.count_nonzero(one & ~up) for one in (forward > 0, forward < 0, forward == 0))
    if stays >= rises:
        return False
    if not len(epochs.rows):
        begin = values[0] + np.median(forward[forward > 0])
        return bool(rises >= 2 * falls and np.all(values[1:][forward < 0] <= begin))
    anew = np.mean(forward[up] <= 0) if up.any() else 0.0
    by_epoch = anew >= RESTARTING and np.array_equal(epochs.values, np.floor(epochs.values))
    return bool(4 * falls <= rises and (anew == 0 or by_epoch))


def _at(rows: Steps, epochs: Column) -> NDArray[Any]:
    """The epoch of each row, that of the row before where it tells none; all 0 without epochs."""
    if not len(epochs.rows):
        return np.zeros(len(rows))
    latest = np.maximum(np.searchsorted(epochs.rows, rows, side="right") - 1, 0)
    return np.asarray(np.floor(epochs.values[latest]))


def _whole(epochs: Column, has_step: NDArray[np.bool_]) -> tuple[Steps, Steps]:
    """Rows that have a step and a whole, small epoch, and that epoch; none where others are not rare."""
    kept = has_step[epochs.rows]
    rows, values = epochs.rows[kept], epochs.values[kept]
    with np.errstate(invalid="ignore"):
        fits = (np.abs(values) < 1 << 31) & (values == np.floor(values))
    if np.count_nonzero(~fits) > max(1.0, RARE * len(values)) or 4 * np.count_nonzero(~fits) > len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return rows[fits], values[fits].astype(np.int64)
