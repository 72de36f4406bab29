"""Sustained falls, watched beside everything else: nothing is frozen while one is on trial."""

from __future__ import annotations

from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel.events import emit, restart_levels
from chronicle.classify.kernel.layout import Memory
from chronicle.classify.kernel.lookback import drop_samples, mean_of, oldest


def judge_drop(mem: Memory, i: float) -> None:
    """A fall on trial: after 32 samples, or 5 % of the log, is it large, lasting, and a new best level?

    The new best keeps the return of a spike from being called an improvement.
    """
    state, onset = mem.state, mem.state[at.DROP_ONSET]
    if onset < 0.0 or i - onset < max(2.0 * mem.config[at.HOLD], 0.05 * onset):
        return
    state[at.DROP_ONSET] = -1.0
    first = max(onset - 16.0, oldest(i))
    if onset - first < 1.0 or state[at.PENDING] > 0.0 or state[at.ACTIVE] > 0.0:
        return
    before = mean_of(mem.ring, first, onset)
    drop = before - state[at.SHORT]
    if drop >= mem.config[at.DROP] and state[at.SHORT] < state[at.DROP_BEST] - 0.5 * mem.config[at.DROP]:
        report_drop(mem, onset, before, drop, i)
        restart_levels(mem, state[at.SHORT])


def report_drop(mem: Memory, onset: float, before: float, drop: float, i: float) -> None:
    """Report a sustained fall with the time it took."""
    took = drop_samples(mem.ring, onset, i, before, drop)
    row = emit(mem, at.IS_DROP, mem.open[0], onset + took, drop, before)
    row[at.OUT_ONSET] = onset
    row[at.OUT_OPENED] = onset
    row[at.OUT_PEAK] = onset + took
    row[at.OUT_HEIGHT] = drop
    row[at.OUT_SCORE] = drop / mem.levels[0][at.NOISE]
    row[at.OUT_LEVEL] = 0.0
