"""How one attempt follows another: resume, rollback, relaunch, or not at all (another seed)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronicle.model import Attempt, Join, JoinKind, Role, Series
from chronicle.timeline.clock import clock, ran, span, step_gap

_SEAM_SAMPLES = 5  # levels at a seam are medians of so many samples
_SAME_END = 0.02  # share of the length within which two trainings end at the same step
_BESIDE = 0.5  # share of the shorter one's wall clock in which both ran


@dataclass(frozen=True)
class _Ran:
    """An attempt with what the rules ask of it."""

    index: int
    attempt: Attempt
    first: int
    last: int
    clock: Series


def relate(attempts: Sequence[Attempt], relation: str | None) -> tuple[list[int], list[Join], list[str]]:
    """The lineage (number of the training) of each attempt, the joins inside lineages, and the doubts."""
    lineage = [0] * len(attempts)
    joins: list[Join] = []
    doubts: list[str] = []
    before: _Ran | None = None
    current, lineage_first = 0, None
    for index, attempt in enumerate(attempts):
        after = _look(index, attempt)
        if after is not None and before is not None:
            root = lineage_first or before
            if _is_seed(root, before, after, relation):
                current, lineage_first = current + 1, after
                if relation is None:
                    doubts.append(_seed_doubt(before, after))
            else:
                joins.append(_join(root, before, after))
                doubts += _join_doubts(joins[-1], before, after, relation)
        lineage[index] = current
        lineage_first = lineage_first or after
        before = after or before
    return lineage, joins, doubts


def _look(index: int, attempt: Attempt) -> _Ran | None:
    steps, ticks = span(attempt), clock(attempt)
    return None if steps is None or ticks is None else _Ran(index, attempt, *steps, ticks)


def _is_seed(root: _Ran, before: _Ran, after: _Ran, relation: str | None) -> bool:
    """Whether ``after`` is a training of its own over the same steps."""
    if relation == "attempts" or after.first >= before.last:
        return False
    if relation == "seeds" or _side_by_side(before.attempt, after.attempt):
        return True
    return _at_the_start(root, after) and _end_together(before, after) and not _continues(root, before, after)


def _at_the_start(root: _Ran, after: _Ran) -> bool:
    """Whether the step is back where the training began: at its first steps, which are near zero."""
    gap = 2 * max(_first_gap(root.clock), _first_gap(after.clock))
    return after.first - root.first <= gap and root.first <= gap


def _first_gap(series: Series) -> float:
    return (
        step_gap(series)
        if len(series) < 16
        else max(1.0, float(series.steps[8]) - float(series.steps[0])) / 8
    )


def _end_together(a: _Ran, b: _Ran) -> bool:
    return abs(a.last - b.last) <= max(
        step_gap(a.clock), _SAME_END * (max(a.last, b.last) - min(a.first, b.first))
    )


def _side_by_side(a: Attempt, b: Attempt) -> bool:
    """Whether both processes ran at the same time."""
    s, t = ran(a), ran(b)
    if s is None or t is None:
        return False
    shorter = min(s[1] - s[0], t[1] - t[0])
    return shorter > 0 and min(s[1], t[1]) - max(s[0], t[0]) > _BESIDE * shorter


def _continues(root: _Ran, before: _Ran, after: _Ran) -> bool:
    """Whether the loss of a start at the first step goes on from the end, not from the initial level."""
    initial, end, now = _head(root.clock), _tail(before.clock), _head(after.clock)
    return bool(abs(now - end) < 0.25 * abs(now - initial))


def _head(series: Series) -> float:
    return _median(series.values[:_SEAM_SAMPLES])


def _tail(series: Series) -> float:
    return _median(series.values[-_SEAM_SAMPLES:])


def _median(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _join(root: _Ran, before: _Ran, after: _Ran) -> Join:
    kind = (
        JoinKind.RESUME
        if after.first >= before.last
        else JoinKind.RELAUNCH
        if _at_the_start(root, after)
        else JoinKind.ROLLBACK
    )
    ended, started = ran(before.attempt), ran(after.attempt)
    return Join(
        kind=kind,
        before=before.index,
        after=after.index,
        from_step=before.last,
        to_step=after.first,
        discarded_steps=max(0, before.last - after.first),
        gap_s=started[0] - ended[1] if started and ended else None,
        at_time=started[0] if started else None,
        evidence=_evidence(before, after),
    )


def _evidence(before: _Ran, after: _Ran) -> dict[str, Any]:
    """Loss and learning rate on both sides of the seam, at equal steps where there are any."""
    told: dict[str, Any] = {"metric": after.clock.metric}
    seam = _seam(before.clock, after.clock)
    if seam is not None:
        told["loss_before"], told["loss_after"], told["common_samples"] = seam
    rates = [next(iter(r.attempt.by_role(Role.LEARNING_RATE)), None) for r in (before, after)]
    if rates[0] is not None and rates[1] is not None and (lr := _seam(rates[0], rates[1])) is not None:
        told["lr_before"], told["lr_after"] = lr[0], lr[1]
        if lr[0]:
            told["lr_ratio"] = lr[1] / lr[0]
    return told


def _seam(a: Series, b: Series) -> tuple[float, float, int] | None:
    """Medians of both series at the first steps they share, else of the last and the first samples."""
    steps, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    if len(steps):
        i, j = i[:_SEAM_SAMPLES], j[:_SEAM_SAMPLES]
        pair = (_median(a.values[i]), _median(b.values[j]))
    else:
        # A branch may start between two logged steps: compare with the last samples before its start.
        upto = a.values[a.steps <= b.steps[0]] if len(a) and len(b) else a.values
        pair = (_median(upto[-_SEAM_SAMPLES:]), _head(b))
    return None if np.isnan(pair).any() else (*pair, len(steps))


def _seed_doubt(before: _Ran, after: _Ran) -> str:
    why = "ran at the same time" if _side_by_side(before.attempt, after.attempt) else "end at the same step"
    return (
        f"{before.attempt.name} and {after.attempt.name} begin over the same steps and {why}: taken as "
        f'separate trainings, both live. `relation = "attempts"` in run.toml joins them.'
    )


def _join_doubts(join: Join, before: _Ran, after: _Ran, relation: str | None) -> list[str]:
    if relation is None and join.kind is JoinKind.RELAUNCH:
        return [
            f"{after.attempt.name} starts again from step {after.first}: taken as a relaunch that replaces "
            f'{before.attempt.name}. `relation = "seeds"` in run.toml keeps both.'
        ]
    return []
