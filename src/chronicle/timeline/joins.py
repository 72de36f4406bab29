"""What a join carries: what the logs say on both sides of it, what changed there, and what it cost.

Two trainings beside each other carry what tells them apart.

Series are compared at the first steps that both logged. Where there is none (a plain resume) the earlier one
is extended along its last samples to the first step of the later one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from chronicle.model import Attempt, Change, Facts, Floats, Join, JoinKind, Role, Series, StepBack
from chronicle.timeline.courses import Course, common, process

# What overtaken pieces cost, by the role of the series that counts it; None is the wall clock.
COSTS = {"discarded_s": None, "discarded_tokens": Role.TOKENS, "discarded_samples": Role.SAMPLES}
SEAM_SAMPLES = 5  # the level at a seam is the median of so many samples
_TREND_SAMPLES = 6  # so many last samples extend a series beyond its end
_EQUAL_STEP, _EXTENDED = 0.01, 0.05  # relative difference that counts: logged at one step, or extended to it
_MOST_FACTS, _LONGEST = 100, 200  # changed facts of a join, and characters of one: the rest is in the logs
_PLANNED = {Role.LEARNING_RATE: "learning rate", Role.BATCH_SIZE: "batch size"}
_CURSORS = {
    Role.SAMPLES: ("samples read", "samples"),
    Role.TOKENS: ("tokens read", "tokens"),
    Role.EPOCH: ("epochs read", "epochs"),
}
_EVERY_PROCESS_DIFFERS = frozenset(
    {"run", "pid", "started_at", "exit_code", "ended", "format", "summary", "step_counter"}
)
_UNITS = {"world_size": "processes", "nodes": "nodes", "gpu_count": "accelerators"}


def join_of(kind: JoinKind, before: Course, after: Course, discarded: int, lost: Mapping[str, float]) -> Join:
    """The join of two attempts; ``lost`` is what it cost beside the discarded steps, see `costs`."""
    gap_s = after.started - before.ended
    return Join(
        kind=kind,
        before=before.index,
        after=after.index,
        from_step=before.last,
        to_step=after.first,
        discarded_steps=discarded,
        gap_s=None if math.isnan(gap_s) else gap_s,
        at_time=None if math.isnan(after.started) else after.started,
        evidence={**_evidence(before, after), **lost},
        changes=_changes(before, after),
    )


def _evidence(before: Course, after: Course) -> dict[str, Any]:
    """Loss and learning rate on both sides of the seam, at equal steps where there are any, and the process.

    ``metric`` was compared; ``loss_before`` and ``loss_after`` are in its unit, ``common_samples`` is how
    many steps both attempts logged (0: the last samples of one against the first of the other).
    ``same_process`` compares host and process id, ``same_host`` the host, ``same_run`` and ``same_seed`` what
    the logs state of these, each where both logs name them.
    """
    says: dict[str, Any] = {}
    pair, seam = compared(before, after), seam_levels(before, after)
    if pair and seam:
        says |= {"metric": pair[1].metric, "loss_before": seam[0], "loss_after": seam[1]}
        says["common_samples"] = seam[2]
    if before.attempt.sources != after.attempt.sources:
        old, new = process(before.attempt), process(after.attempt)
        if old and new:
            says |= {"same_process": old == new, "same_host": old[0] == new[0]}
        for name in ("run", "seed"):
            same = agree(before, after, name)
            says |= {} if same is None else {f"same_{name}": same}
    rates = [c.attempt.by_role(Role.LEARNING_RATE) for c in (before, after)]
    lr = _seam(rates[0][0], rates[1][0]) if all(rates) else None
    if lr:
        says |= {"lr_before": lr[0], "lr_after": lr[1]}
        says |= {"lr_ratio": lr[1] / lr[0]} if lr[0] else {}
    return says


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


def _changes(before: Course, after: Course) -> tuple[Change, ...]:
    """All that differs: learning rate and batch size, the place in the data, facts of the two processes."""
    with np.errstate(over="ignore", invalid="ignore"):  # logged values may be as large as floats get
        facts = islice(_facts(before.attempt.facts, after.attempt.facts), _MOST_FACTS)
        return (*_planned(before, after), *_cursor(before, after), *facts)


def expected(old: Series, step: float) -> float | None:
    """What a series says at a step: between its samples a straight line, beyond its end the line of its last
    ones. None where it has no finite sample."""
    ok = np.isfinite(old.values)
    steps, values = old.steps[ok].astype(float), old.values[ok]
    if not len(values):
        return None
    if step <= steps[-1] or len(values) < 4:
        return float(np.interp(step, steps, values))
    x, y = steps[-_TREND_SAMPLES:] - steps[-1], values[-_TREND_SAMPLES:]
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * y).sum()) / spread if spread else 0.0
    return float(y.mean() + slope * (step - steps[-1] - x.mean()))


def _planned(before: Course, after: Course) -> Iterator[Change]:
    for role, quantity in _PLANNED.items():
        for old, new in pairs(before.attempt, after.attempt, role):
            was, now, step, logged = _both(old, new)
            least = _EQUAL_STEP if logged else _EXTENDED
            if was is not None and was != now and abs(was - now) / max(abs(was), abs(now)) > least:
                yield Change(quantity, was, now, new.unit, step)


def _cursor(before: Course, after: Course) -> Iterator[Change]:
    """Counters of data: they should go on where the earlier attempt was at this step, to one logged point."""
    for role, (quantity, unit) in _CURSORS.items():
        for old, new in pairs(before.attempt, after.attempt, role):
            was, now, step, _ = _both(old, new)
            strides = [np.diff(s.values[np.isfinite(s.values)]) for s in (old, new)]
            if was is None or any((d < 0).any() or not len(d) for d in strides):
                continue  # it is no counter
            strides = [d[d > 0] if (d > 0).any() else d for d in strides]  # whole epochs stay for many points
            if abs(now - was) > max(float(np.median(d)) for d in strides):
                yield Change(quantity, was, now, new.unit or unit, step)


def _facts(old: Facts, new: Facts) -> Iterator[Change]:
    """Facts that both state and that differ, and hyperparameters that only one of two configurations has."""
    configured = all(any(name.startswith("config/") for name in facts) for facts in (old, new))
    names = [name for name in {**old, **new} if name not in _EVERY_PROCESS_DIFFERS]
    for name in sorted(names, key=lambda n: "/" in n):
        if (name in old and name in new) or (configured and name.startswith("config/")):
            was, now = _short(old.get(name)), _short(new.get(name))
            if not _equal(was, now):
                # A name of a host has no unit, though a number of nodes has one.
                unit = None if isinstance(was, str) or isinstance(now, str) else _UNITS.get(name)
                yield Change(name if "/" in name else name.replace("_", " "), was, now, unit)


def pairs(before: Attempt, after: Attempt, role: Role) -> Iterator[tuple[Series, Series]]:
    """The first series of a role that both have under one name, else the first of either."""
    old, new = ([s for s in a.by_role(role) if len(s)] for a in (before, after))
    if old and new:
        named = {s.metric: s for s in new}
        yield next(((s, named[s.metric]) for s in old if s.metric in named), (old[0], new[0]))


def _both(old: Series, new: Series) -> tuple[float | None, float, int, bool]:
    """Both values at the first common step (``logged`` true), else at the later one's first step."""
    i, j = common(old, new)
    ok = np.isfinite(old.values[i]) & np.isfinite(new.values[j])
    if ok.any():
        a, b = int(i[ok][0]), int(j[ok][0])
        return float(old.values[a]), float(new.values[b]), int(new.steps[b]), True
    finite = np.flatnonzero(np.isfinite(new.values))
    if not len(finite):
        return None, math.nan, 0, False
    step, now = int(new.steps[finite[0]]), float(new.values[finite[0]])
    return expected(old, step), now, step, False


def _short(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else str(value)[:_LONGEST]


def _equal(a: Any, b: Any) -> bool:
    """``1e-4`` as text and 0.0001 as a number are one value."""
    if str(a) == str(b):
        return True
    try:
        return not isinstance(a, bool) and not isinstance(b, bool) and float(a) == float(b)
    except (TypeError, ValueError):
        return False


def training_beside(before: Course, after: Course, because: str) -> StepBack:
    """Two trainings over the same steps, and why they are two: a key of `trainings.APART`."""
    evidence: dict[str, Any] = {"because": because, "ends_apart_steps": abs(before.last - after.last)}
    shared_s = np.minimum(before.ended, after.ended) - np.maximum(before.started, after.started)
    if np.isfinite(shared_s):
        evidence["together_s"] = max(float(shared_s), 0.0)
    writers = [process(c.attempt) for c in (before, after)]
    if all(writers):
        evidence["same_process"] = writers[0] == writers[1]
    if pair := compared(before, after):
        i, j = common(*pair)
        a, b = pair[0].values[i], pair[1].values[j]
        ok = np.isfinite(a) & np.isfinite(b) & ((a != 0) | (b != 0))
        with np.errstate(over="ignore"):  # values may be as large as floats get
            off = np.abs(a[ok] - b[ok]) / np.maximum(np.abs(a[ok]), np.abs(b[ok]))
        if len(off):
            evidence |= {"common_samples": len(off), "values_apart_share": float(np.median(off))}
    return StepBack("seeds", (before.name, after.name), 1, evidence)


@dataclass(frozen=True)
class Piece:
    """The steps of an attempt from ``first`` on, and below ``bound`` (None: to its end)."""

    course: Course
    first: int
    bound: int | None

    def __bool__(self) -> bool:
        return self.first <= self.course.last and (self.bound is None or self.bound > self.first)


def costs(pieces: Iterable[Piece]) -> dict[str, float]:
    """Wall clock [s], tokens and samples of overtaken pieces; a key is there where every piece logged it."""
    pieces = [piece for piece in pieces if piece]
    totals: dict[str, float] = {}
    with np.errstate(over="ignore"):
        for name, role in COSTS.items():
            used = [_used(piece, role) for piece in pieces]
            known = [amount for amount in used if amount is not None]
            if known and len(known) == len(used) and np.isfinite(sum(known)):
                totals[name] = sum(known)
    return totals


def _used(piece: Piece, role: Role | None) -> float | None:
    """How far the wall clock or a counter went on, from the last reading before the piece, else its first."""
    series, reading = piece.course.clock, piece.course.clock.times
    if role is not None:
        counters = piece.course.attempt.by_role(role)
        if not counters:
            return None
        series = max(counters, key=len)
        reading = series.values
    ok = np.isfinite(reading)
    steps, reading = series.steps[ok], reading[ok]
    if role is not None and (np.diff(reading) < 0).any():
        return None  # it is no counter
    a = int(np.searchsorted(steps, piece.first))
    b = len(steps) if piece.bound is None else int(np.searchsorted(steps, piece.bound))
    return float(reading[b - 1] - reading[max(a - 1, 0)]) if a < b else None
