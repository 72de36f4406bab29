"""Medians to the bit what `numpy.median` gives, in a fraction of its time.

Rules take hundreds of medians of short rows an attempt, where numpy's is nearly all arrangement. A short row
is sorted faster than it is divided.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SORTED = 256  # samples of a row up to which sorting it whole is faster
AT_ONCE = 1 << 14  # windows that are sorted together


def median(values: NDArray[Any]) -> float:
    """The median of a row; NaN where one is among them, or where there is none at all."""
    n = len(values)
    if not n:
        return float("nan")
    half = n // 2
    row = values.copy()
    if n <= SORTED:
        row.sort()
    else:
        row.partition((half, n - 1) if n % 2 else (half - 1, half, n - 1))
    if row[-1] != row[-1]:
        return float("nan")  # NaN is sorted to the end
    return float(row[half] if n % 2 else (row[half - 1] + row[half]) / 2)


def medians(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """The median of each ``window`` samples in a row, one less than that fewer than there are samples."""
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    middle = np.empty(len(windows))
    for first in range(0, len(windows), AT_ONCE):
        rows = np.sort(windows[first : first + AT_ONCE], axis=-1)
        low, high = rows[:, (window - 1) // 2], rows[:, window // 2]
        half = low if window % 2 else (low + high) / 2
        middle[first : first + AT_ONCE] = np.where(np.isnan(rows[:, -1]), np.nan, half)
    return middle
