"""One log that holds several attempts, cut apart where its step goes back for good.

A step goes back for five reasons. Rows out of order and repeated steps are put in order here; a rollback,
a relaunch and another seed begin an attempt of their own, and `joins` tells which of them it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Series, Steps
from chronicle.timeline.clock import PART, clock

Index = NDArray[np.intp]

_SHORT_SAMPLES = 3  # a row this far from its place is out of order, not trained again
_SHUFFLED = 0.25  # share of rows whose step goes back in a log that has no order at all
_RARE = 0.02  # share of rows up to which short returns are restarts; above it ranks write one log together
_SAME = 2e-3  # relative difference up to which two values are one value, rounded differently


def split(attempt: Attempt) -> list[Attempt]:
    """The attempts in one log, each with its rows in the order of its steps.

    One attempt keeps its name; several are called ``name#1``, ``name#2`` in the order of the rows.
    """
    ticks = clock(attempt)
    if ticks is None:
        return [attempt]
    ordered = {m: _by_wall_clock(s) for m, s in attempt.series.items()}
    ticks = ordered[ticks.metric]
    cuts = starts(ticks) if not PART.search(attempt.name) else []
    if not cuts:
        return [replace(attempt, series={m: by_step(s) for m, s in ordered.items()})]
    pieces = {m: belongs(s, ticks, cuts) for m, s in ordered.items()}
    last = len(cuts)
    return [
        replace(
            attempt,
            name=f"{attempt.name}#{k + 1}",
            series={
                m: by_step(pick(s, pieces[m] == k)) for m, s in ordered.items() if (pieces[m] == k).any()
            },
            faults=attempt.faults if k == last else (),
            truncated=attempt.truncated and k == last,
        )
        for k in range(last + 1)
    ]


def pick(series: Series, rows: NDArray[np.bool_] | Index) -> Series:
    """Some rows of a series."""
    return replace(series, steps=series.steps[rows], values=series.values[rows], times=series.times[rows])


def by_step(series: Series) -> Series:
    """Rows in the order of their steps; equal steps are sub-samples and keep the order of the log."""
    if not len(falls(series.steps)):
        return series
    return pick(series, np.argsort(series.steps, kind="stable"))


def falls(steps: Steps) -> Index:
    """Rows whose step is lower than the row before. Compares, never subtracts: steps may be 2**63 - 1."""
    return np.flatnonzero(steps[1:] < steps[:-1]) + 1


def _by_wall_clock(series: Series) -> Series:
    """Rows in the order they happened, where that and not the order of the file makes the steps grow."""
    if not len(falls(series.steps)) or not np.isfinite(series.times).all():
        return series
    happened = pick(series, np.argsort(series.times, kind="stable"))
    # Two trainings at the same time would interleave into repeated steps: those stay as they were written.
    return happened if _not_growing(happened.steps) < _not_growing(series.steps) else series


def _not_growing(steps: Steps) -> int:
    return int(np.count_nonzero(steps[1:] <= steps[:-1]))


def starts(series: Series) -> list[int]:
    """Rows of the clock at which a new attempt begins (never row 0)."""
    steps = series.steps
    down = falls(steps)
    if not len(down) or len(down) > max(2, _SHUFFLED * len(steps)):
        return []
    cuts: list[int] = []
    short: list[int] = []
    for row, end in zip(down, [*down[1:], len(steps)], strict=True):
        begin = cuts[-1] if cuts else 0
        kind = _kind_of_fall(series, begin, int(row), int(end))
        if kind == "start":
            cuts.append(int(row))
        elif kind == "short":
            short.append(int(row))
    if len(short) <= max(3, _RARE * len(steps)):
        cuts = sorted({*cuts, *short})
    return [] if _blocks_out_of_order(steps, cuts) else cuts


def _kind_of_fall(series: Series, begin: int, row: int, end: int) -> str:
    """What the fall at ``row`` is, in the attempt since ``begin`` and before the next fall at ``end``:
    "start" of an attempt, a "short" return (a start if those are rare), or "disorder"."""
    steps, values = series.steps, series.values
    top = steps[begin:row].max()
    overtaken = int(np.count_nonzero(steps[begin:row] >= steps[row]))
    again = steps[row:end]
    back = int(np.argmax(again > top)) if (again > top).any() else len(again)
    stray = back < len(again) and back <= _SHORT_SAMPLES  # a few late rows, then on from the top
    if overtaken > _SHORT_SAMPLES and not stray:
        return "start"
    old = {
        int(s): float(v) for s, v in zip(steps[begin:row], values[begin:row], strict=True) if s >= steps[row]
    }
    told = [
        (old[int(s)], float(v)) for s, v in zip(again[:back], values[row:end], strict=False) if int(s) in old
    ]
    return "short" if any(not same(a, b) for a, b in told) else "disorder"


def same(a: float | Floats, b: float | Floats) -> NDArray[np.bool_] | np.bool_:
    """Whether two values are one value, as far as the rounding of logs goes; NaN is NaN."""
    return np.isclose(a, b, rtol=_SAME, atol=0.0, equal_nan=True)


def _blocks_out_of_order(steps: Steps, cuts: list[int]) -> bool:
    """Whether the pieces cover separate steps: one attempt whose blocks of rows were put together wrongly."""
    if not cuts:
        return False
    ranges = sorted((int(p.min()), int(p.max())) for p in np.split(steps, cuts))
    return all(a[1] < b[0] for a, b in itertools.pairwise(ranges))


def belongs(series: Series, ticks: Series, cuts: list[int]) -> Index:
    """For each row of any series the number of the piece it belongs to, given the clock's cuts."""
    if len(series) == len(ticks) and np.array_equal(series.steps, ticks.steps):
        return np.searchsorted(cuts, np.arange(len(series)), side="right")
    if np.isfinite(series.times).all() and np.isfinite(ticks.times).all():
        # Half way through the pause: what is logged before the first step of an attempt is of that attempt.
        seams = [(ticks.times[c - 1] + ticks.times[c]) / 2 for c in cuts]
        if all(a < b for a, b in itertools.pairwise(seams)):
            return np.searchsorted(seams, series.times, side="right")
    return np.fromiter(_by_own_falls(series.steps, ticks.steps, cuts), np.intp, len(series))


def _by_own_falls(steps: Steps, ticks: Steps, cuts: list[int]) -> Iterator[int]:
    """Walks a series that has a cadence of its own and no times: on to the next piece where its own step
    goes back, or where the piece at hand never got that far."""
    pieces = [(int(p.min()), int(p.max())) for p in np.split(ticks, cuts)]
    resampled = _not_growing(steps) > 2 * len(cuts)  # equal steps are the habit of this series
    k, before = 0, None
    for step in steps.tolist():
        back = before is not None and (step < before or (step == before and not resampled))
        beyond = step > pieces[k][1] and any(lo <= step <= hi for lo, hi in pieces[k + 1 :])
        if k < len(cuts) and (beyond or (back and any(step <= hi for _, hi in pieces[k + 1 :]))):
            k += 1
            while k < len(cuts) and step > pieces[k][1]:
                k += 1
        before = step
        yield k
