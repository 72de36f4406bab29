"""What a million samples look like on some hundred pixel columns: minimum, median and maximum of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chronicle.model import Floats


@dataclass(frozen=True, eq=False)
class Envelope:
    """One entry a column that holds a sample: its centre on the step axis, and minimum, median, maximum.

    A column whose samples are all NaN or Inf has NaN: the line breaks there. Columns without a sample are
    left out, so that the line goes on over steps that were never logged.
    """

    centre: Floats
    low: Floats
    mid: Floats
    high: Floats


def envelope(steps: Floats, values: Floats, first: float, last: float, columns: int) -> Envelope:
    """Min, median and max of each of ``columns`` equal parts of [first, last].

    Args:
        steps: ascending float64[n], n >= 1; those outside of [first, last] count to the outer columns.
        values: float64[n]; what is not finite is left out.
        first, last: the ends of the axis, first < last. One grid for all curves of a panel, else a short
            attempt would look thicker than a long one.
    """
    column = np.clip((steps - first) * (columns / (last - first)), 0, columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    finite = np.where(np.isfinite(values), values, np.nan)
    return Envelope(
        centre=np.asarray(first + (column[starts] + 0.5) * ((last - first) / columns), np.float64),
        low=np.fmin.reduceat(finite, starts),
        mid=_medians(finite, starts),
        high=np.fmax.reduceat(finite, starts),
    )


def _medians(values: Floats, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    some_nan = bool(np.isnan(values).any())
    mids = np.full(len(starts), np.nan)
    for i, part in enumerate(np.split(values, starts[1:])):
        known = part[~np.isnan(part)] if some_nan else part
        if half := len(known) // 2:
            if len(known) % 2:
                mids[i] = np.partition(known, half)[half]
            else:
                ordered = np.partition(known, (half - 1, half))
                mids[i] = (ordered[half - 1] + ordered[half]) / 2
        elif len(known):
            mids[i] = known[0]
    return mids
