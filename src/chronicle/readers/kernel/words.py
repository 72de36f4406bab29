"""Bytes as words of 64 bits. They are unsigned: a place that is one cannot wrap, and is not tested."""

from __future__ import annotations

from typing import Any

import numpy as np

_U = np.uint64
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (_U(i) for i in range(8))
B1, B2, B3, B4, B5, B6, B7, B8 = (_U(8 * i) for i in range(1, 9))  # bits of so many bytes


def eight_bytes(buffer: Any, at: int) -> Any:
    """The eight bytes at ``at`` as a word, the first lowest: one load, as unsigned places never wrap."""
    i = np.uint64(at)
    low = np.uint64(buffer[i]) | np.uint64(buffer[i + ONE]) << B1
    low |= np.uint64(buffer[i + TWO]) << B2 | np.uint64(buffer[i + THREE]) << B3
    low |= np.uint64(buffer[i + FOUR]) << B4 | np.uint64(buffer[i + FIVE]) << B5
    return low | np.uint64(buffer[i + SIX]) << B6 | np.uint64(buffer[i + SEVEN]) << B7


def four_bytes(buffer: Any, at: int) -> Any:
    """The four bytes at ``at`` as a word, the first lowest."""
    i = np.uint64(at)
    low = np.uint64(buffer[i]) | np.uint64(buffer[i + ONE]) << B1
    return low | np.uint64(buffer[i + TWO]) << B2 | np.uint64(buffer[i + THREE]) << B3
