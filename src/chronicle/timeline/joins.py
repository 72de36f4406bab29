"""What the logs say on both sides of a join."""

from __future__ import annotations

from typing import Any

import numpy as np

from chronicle.model import Floats, Role, Series
from chronicle.timeline.clock import Course, common, process

SEAM_SAMPLES = 5  # the level at a seam is the median of so many samples


def evidence(before: Course, after: Course) -> dict[str, Any]:
    """Loss and learning rate on both sides of the seam, at equal steps where there are any, and the process.

    ``metric`` was compared; ``loss_before`` and ``loss_after`` are in its unit, ``common_samples`` is how
    many steps both attempts logged (0: the last samples of one against the first of the other).
    ``same_process`` compares host and process id, ``same_host`` the host, ``same_run`` and ``same_seed`` what
    the logs state of these, each where both logs name them.
    """
    told: dict[str, Any] = {}
    pair = compared(before, after)
    seam = seam_levels(before, after)
    if pair and seam:
        told = {"metric": pair[1].metric, "loss_before": seam[0], "loss_after": seam[1]}
        told["common_samples"] = seam[2]
    writers = [process(c.attempt) for c in (before, after)]
    if all(writers) and before.attempt.sources != after.attempt.sources:
        told["same_process"] = writers[0] == writers[1]
        told["same_host"] = writers[0][0] == writers[1][0]  # type: ignore[index]
    for name in ("run", "seed"):
        same = agree(before, after, name)
        if same is not None and before.attempt.sources != after.attempt.sources:
            told[f"same_{name}"] = same
    rates = [c.attempt.by_role(Role.LEARNING_RATE) for c in (before, after)]
    lr = _seam(rates[0][0], rates[1][0]) if all(rates) else None
    if lr:
        told["lr_before"], told["lr_after"] = lr[0], lr[1]
        if lr[0]:
            told["lr_ratio"] = lr[1] / lr[0]
    return told


def agree(a: Course, b: Course, name: str) -> bool | None:
    """Whether both logs state the same value of a fact; None where one of them states none."""
    stated = [one.attempt.facts.get(name) for one in (a, b)]
    return None if None in stated else str(stated[0]) == str(stated[1])


def seam_levels(before: Course, after: Course) -> tuple[float, float, int] | None:
    """Loss before and after the seam, and at how many steps both logged it; None if it cannot be compared."""
    pair = compared(before, after)
    return _seam(*pair) if pair else None


def compared(before: Course, after: Course) -> tuple[Series, Series] | None:
    """The clocks of both attempts, or the same metric in both, or None where nothing can be compared."""
    a, b = before.clock, after.clock
    if a.metric in after.attempt.series:
        return a, after.attempt.series[a.metric]
    if b.metric in before.attempt.series:
        return before.attempt.series[b.metric], b
    return (a, b) if a.role is b.role else None


def _seam(a: Series, b: Series) -> tuple[float, float, int] | None:
    """Medians of both at the first steps they share, else of the last and the first samples at the seam."""
    if not len(a) or not len(b):
        return None
    i, j = common(a, b)
    if len(i):
        levels = median(a.values[i[:SEAM_SAMPLES]]), median(b.values[j[:SEAM_SAMPLES]])
    else:
        # The grids of logged steps may differ: then the last samples up to the branch's first step.
        upto = a.values[a.steps <= b.steps[0]]
        levels = median(upto[-SEAM_SAMPLES:]), median(b.values[:SEAM_SAMPLES])
    return None if np.isnan(levels).any() else (*levels, len(i))


def median(values: Floats) -> float:
    """Median of the finite values; NaN where there is none."""
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")
