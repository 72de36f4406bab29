"""Where a step goes back or stays without a restart, with what speaks for it.

Of the five causes two make a join, which carries its own evidence. The other three change no course, and are
told here: rows out of order, repeated steps, trainings of their own over the same steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chronicle.model import Attempt, Series, StepBack
from chronicle.timeline.clock import Course, clock, common, process
from chronicle.timeline.joins import compared


def disorder(logged: Attempt, happened: Attempt, cuts: int) -> StepBack | None:
    """Rows of a log that were out of order; ``happened`` is the log in the order of its wall clock, which was
    then cut at so many places."""
    before, after = clock(logged), clock(happened)
    if before is None or after is None:
        return None
    falls = _falls(before)
    if not falls or falls <= cuts:
        return None
    mended = falls - _falls(after)
    evidence: dict[str, Any] = {"rows": len(before), "falls": falls, "cuts": cuts}
    if mended > 0:
        evidence["mended_by_wall_clock"] = mended
    else:
        place = np.argsort(before.steps, kind="stable")
        evidence["farthest_rows"] = int(np.abs(place - np.arange(len(place))).max()) if not cuts else None
    return StepBack("disorder", (logged.name,), falls - cuts, evidence)


def repeats(attempt: Attempt) -> StepBack | None:
    """Rows of an attempt whose step is that of the row before."""
    ticks = clock(attempt)
    if ticks is None:
        return None
    again = ticks.steps[1:] == ticks.steps[:-1]
    count = int(np.count_nonzero(again))
    if not count:
        return None
    a, b = ticks.values[1:][again], ticks.values[:-1][again]
    equal = int(np.count_nonzero((a == b) | (np.isnan(a) & np.isnan(b))))
    return StepBack("repeats", (attempt.name,), count, {"rows": len(ticks), "equal_values": equal})


def apart(before: Course, after: Course, because: str) -> StepBack:
    """Two trainings over the same steps, and why they are two: a key of `trainings.APART`."""
    evidence: dict[str, Any] = {"because": because, "ends_apart_steps": abs(before.last - after.last)}
    shared_s = np.minimum(before.ended, after.ended) - np.maximum(before.started, after.started)
    if np.isfinite(shared_s):
        evidence["together_s"] = max(float(shared_s), 0.0)
    writers = [process(c.attempt) for c in (before, after)]
    if all(writers):
        evidence["same_process"] = writers[0] == writers[1]
    pair = compared(before, after)
    i, j = common(*pair) if pair else (np.empty(0, int), np.empty(0, int))
    if pair and len(i):
        a, b = pair[0].values[i], pair[1].values[j]
        ok = np.isfinite(a) & np.isfinite(b) & ((a != 0) | (b != 0))
        with np.errstate(over="ignore"):  # values may be as large as floats get
            off = np.abs(a[ok] - b[ok]) / np.maximum(np.abs(a[ok]), np.abs(b[ok]))
        if len(off):
            evidence["common_samples"] = len(off)
            evidence["values_apart_share"] = float(np.median(off))
    return StepBack("seeds", (before.name, after.name), 1, evidence)


def _falls(series: Series) -> int:
    return int(np.count_nonzero(series.steps[1:] < series.steps[:-1]))
