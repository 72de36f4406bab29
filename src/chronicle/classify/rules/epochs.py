"""Steps that an epoch makes.

level-shift (epoch edge)
    Sees: a step down where an epoch begins: samples are read the second time.
    Rule: within 3 samples of a whole epoch the loss steps down by 4.5 standard errors and 1.5 %, and by more
    than two neighbours may differ once they are rounded. Where the learning rate or the batch size changes at
    the same step, that explains it (see schedule).
    Blind to: epochs that are not logged. False alarm: none that costs anything, it does not worry.
    Source: fast.ai, "learning jumps" (2023).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.measure import Excess, grain, positive, step_at
from chronicle.classify.rules.schedule import EDGES, LEAST, Change, explained
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Role

PATTERNS = ("level-shift",)
REPLACES = ("grokking", "level-shift")


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        first: dict[int, Finding] = {}  # a long fall over several edges is one
        for edge in epoch_edges(view, attempt):
            first.setdefault(edge.start_step, edge)
        yield from first.values()


def epoch_edges(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Steps down of the loss at whole epochs."""
    loss, epoch = attempt.loss, attempt.first(Role.EPOCH, LEAST)
    if loss is None or epoch is None:
        return
    steps, y = positive(loss)
    known = np.where(np.isfinite(epoch.values), epoch.values, np.nan)
    whole = np.floor(np.interp(steps, epoch.steps, known) + 1e-6) if len(steps) else np.empty(0)
    edges = np.flatnonzero(np.diff(whole) == 1) + 1
    if not 1 <= len(edges) <= EDGES:
        return
    rounding = grain(y)
    half = max(len(steps) // (2 * (len(edges) + 1)), 4)
    for i in edges:
        tries = [step_at(steps, y, int(i) + d, min(half, 64), 1) for d in (0, 1, 2) if i + d < len(y)]
        fall = min(tries, key=lambda e: e.t, default=Excess(0.0, 0.0))
        least = max(view.thresholds.moved, 2 * rounding[i])
        if fall.t <= -view.thresholds.known_t and fall.height <= -least:
            yield explained(
                view, attempt, Change("level-shift", float(steps[i]), fall, {"epoch": float(whole[i])})
            )
