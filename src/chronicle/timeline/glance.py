"""A glance at many logs at once: which of them may be copies of another one.

Looking at each pair of hundreds of logs takes long. Here all of them are compared with one at a few of its
steps by one pass over arrays. What is ruled out is no copy for certain; the rest needs a closer look.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from chronicle.model import Floats, Series, Steps
from chronicle.timeline.clock import Course, Index, heads

_FEW = 8  # so many logs are soon looked at one by one
_LEAST_SAMPLES, _STRIDE = 64, 8  # of a long log one sample in so many is compared, of a short one each
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
_AT_ONCE = 1 << 20  # pairs of samples that are compared together


class Glance:
    """Clocks by rank, and which of them are kept so far.

    ``same`` is the relative difference up to which two values are equal, ``off`` the share of the common
    steps at which two copies may differ, ``apart_s`` how far apart their times may be.
    """

    def __init__(self, clocks: Sequence[Series], same: float, off: float, apart_s: float) -> None:
        self._clocks, self._same, self._off, self._apart_s = clocks, same, off, apart_s
        self._kept = np.zeros(len(clocks), bool)
        self._changed = np.zeros(len(clocks), bool)  # has another clock by now
        self._first, self._last = np.zeros((2, len(clocks)), np.int64)
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        self._times = np.array([_times(clock) for clock in clocks]).reshape(-1, 2).T

    def keep(self, rank: int, one: Course) -> None:
        """Keeps a log, or another one in its place."""
        self._changed[rank] = one.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = one.first, one.last, True

    def near(self, one: Course) -> list[int]:
        """Ranks of the logs kept that have steps in the span of another one."""
        at = np.flatnonzero(self._kept & (self._first <= one.last) & (self._last >= one.first))
        return list(at.tolist())

    def alike(self, near: Sequence[int], rank: int) -> list[int]:
        """Those of the logs ``near`` that may be copies of the log of this rank."""
        at, (start, end) = np.array(near, np.intp), self._times[:, rank]
        if len(at) > _FEW:
            starts, ends = self._times[:, at]
            elsewhen = (starts > end + self._apart_s) | (ends < start - self._apart_s)
            at = at[self._changed[at] | ~elsewhen]
        if len(at) > _FEW:
            lengths = np.minimum(self._lengths[at], self._lengths[rank])
            others = self._differing(rank)[at] > self._off * lengths + 1e-6
            begin = int(self._clocks[rank].steps[0])  # who counts from 1 has other values at equal steps
            shifted = (self._begins[at] == begin - 1) | (self._begins[at] == begin + 1)
            at = at[self._changed[at] | shifted | ~others]
        return list(at.tolist())

    @cached_property
    def _heads(self) -> list[Index]:
        return [heads(clock.steps) for clock in self._clocks]

    @cached_property
    def _lengths(self) -> Index:
        return np.array([len(rows) for rows in self._heads])

    @cached_property
    def _points(self) -> tuple[Steps, Floats, Index]:
        """Steps, values and ranks of all logs, in the order of their steps."""
        pairs = list(zip(self._clocks, self._heads, strict=True))
        steps = np.concatenate([clock.steps[rows] for clock, rows in pairs])
        values = np.concatenate([clock.values[rows] for clock, rows in pairs])
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order], np.repeat(np.arange(len(pairs)), self._lengths)[order]

    def _differing(self, rank: int) -> Index:
        """At how many of some steps of a log each of all logs has another value."""
        steps, values, ranks = self._points
        rows = self._heads[rank][:: min(_STRIDE, 1 + len(self._heads[rank]) // _LEAST_SAMPLES)]
        count = np.zeros(len(self._clocks), np.intp)
        for some in np.array_split(rows, len(rows) * len(count) // _AT_ONCE + 1):
            mine = self._clocks[rank].values[some]
            first, end = (np.searchsorted(steps, self._clocks[rank].steps[some], side) for side in _SIDES)
            each = end - first
            at = np.arange(each.sum()) + np.repeat(first - np.cumsum(each) + each, each)
            mine = np.repeat(mine, each)
            with np.errstate(over="ignore", invalid="ignore"):  # values may be as large as floats get
                differ = np.abs(values[at] - mine) > self._same * np.abs(mine)
            count += np.bincount(ranks[at[differ]], minlength=len(count))
        return count


def _times(clock: Series) -> tuple[float, float]:
    """First and last wall clock; NaN where a row has none."""
    return float(clock.times.min()), float(clock.times.max())
