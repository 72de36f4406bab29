"""What is not the same on both sides of a join: what was planned, how far the data were read, the process.

Series are compared at the first step that both logged. Where there is none (a plain resume) the earlier
one is extended along its last samples to the first step of the later one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from chronicle.model import Attempt, Change, Role, Series
from chronicle.timeline.clock import Course, common

_TREND_SAMPLES = 6  # so many last samples extend a series beyond its end
_EQUAL_STEP, _EXTENDED = 0.01, 0.05  # relative difference that counts: logged at one step, or extended to it
_MOST_FACTS, _LONGEST = 100, 200  # changed facts of a join, and characters of one: the rest is in the logs
_PLANNED = {Role.LEARNING_RATE: "learning rate", Role.BATCH_SIZE: "batch size"}
_CURSORS = {
    Role.SAMPLES: ("samples read", "samples"),
    Role.TOKENS: ("tokens read", "tokens"),
    Role.EPOCH: ("epochs read", "epochs"),
}
_EVERY_PROCESS_DIFFERS = frozenset({"run", "pid", "started_at", "exit_code", "ended", "format"})
_UNITS = {"world_size": "processes", "nodes": "nodes", "gpu_count": "accelerators"}


def changes(before: Course, after: Course) -> tuple[Change, ...]:
    """All that differs: learning rate and batch size, the place in the data, facts of the two processes."""
    with np.errstate(over="ignore", invalid="ignore"):  # logged values may be as large as floats get
        return (*_planned(before, after), *_cursor(before, after), *_facts(before.attempt, after.attempt))


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
            if was is not None and _apart(was, now) > (_EQUAL_STEP if logged else _EXTENDED):
                yield Change(quantity, was, now, new.unit, step)


def _cursor(before: Course, after: Course) -> Iterator[Change]:
    """Counters of data: they should go on where the earlier attempt was at this step, to one logged point."""
    for role, (quantity, unit) in _CURSORS.items():
        for old, new in pairs(before.attempt, after.attempt, role):
            was, now, step, _ = _both(old, new)
            strides = [np.diff(s.values[np.isfinite(s.values)]) for s in (old, new)]
            if was is None or any((d < 0).any() or not len(d) for d in strides):
                continue  # it is no counter
            if abs(now - was) > max(float(np.median(d)) for d in strides):
                yield Change(quantity, was, now, new.unit or unit, step)


def _facts(before: Attempt, after: Attempt) -> Iterator[Change]:
    """Facts that both state and that differ, and hyperparameters that only one of two configurations has."""
    old, new = before.facts, after.facts
    configured = all(any(name.startswith("config/") for name in facts) for facts in (old, new))
    names = [n for n in (*old, *(n for n in new if n not in old)) if n not in _EVERY_PROCESS_DIFFERS]
    differ = (
        Change(
            name.replace("_", " ") if "/" not in name else name,
            *told,
            None if any(isinstance(value, str) for value in told) else _UNITS.get(name),  # hosts have names
        )
        for name in sorted(names, key=lambda n: "/" in n)
        if (name in old and name in new) or (configured and name.startswith("config/"))
        if (told := (_short(old.get(name)), _short(new.get(name))))
        if not _equal(*told)
    )
    yield from islice(differ, _MOST_FACTS)


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


def _apart(a: float, b: float) -> float:
    return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


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
