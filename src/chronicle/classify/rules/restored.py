"""A schedule that was lost in a resume.

lr-not-restored
    Sees: a learning rate that is another one after a resume.
    Rule: the first values of the attempt differ by 5 % from the earlier attempt's at equal steps (or from the
    extension of its last values). A lower one after a rollback is a team's usual remedy and no finding,
    unless it warms up again.
    Inside one log: it jumps by 1.3 or more after a pause of ten times the usual step.
    Blind to: a schedule that differs later only. False alarm: a change that somebody made on purpose.
    Source: IDEFICS experiments 9 and 10 (a stray file made the loader skip the scheduler).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.report import at_least, found
from chronicle.classify.resumed import seams
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, JoinKind, Series
from chronicle.timeline.changes import expected

PATTERNS = ("lr-not-restored",)


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from not_restored(view, attempt)
        for step, factor in seams(attempt, view.thresholds):
            yield told(view, attempt, step, factor, "is higher" if factor > 1 else "is lower", 0.7)


def not_restored(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """The learning rate at the start of an attempt against what it should have been."""
    join = view.join_before(attempt)
    rate, limits = attempt.learning_rate, view.thresholds
    if join is None or join.kind is JoinKind.RELAUNCH or rate is None:
        return
    reach = float(rate.steps[0]) - limits.join_gap * max(step_gap(rate), 1.0)
    earlier = [a for a in view.attempts[: attempt.index] if covers(a, rate, reach)]
    rates = [e for a in earlier if (e := expected_rate(a.learning_rate, rate)) is not None]
    now = float(np.median(rate.values[:3]))
    if not rates or not np.isfinite(now):
        return
    before = min(rates, key=lambda e: abs(np.log(max(now, 1e-30) / e)))
    factor = now / before
    warms = warms_up(rate, limits.lr_falls) and factor < 1 / limits.lr_falls
    if abs(factor - 1) <= limits.lr_differs:
        return
    if factor < 1 and not warms and join.kind is JoinKind.ROLLBACK:
        return
    how = "warms up again" if warms else "is higher" if factor > 1 else "is lower"
    yield told(view, attempt, rate.steps[0], factor, how, 0.95 if warms else 0.7 if factor > 1 else 0.5)


def told(
    view: View, attempt: AttemptView, step: float, factor: float, how: str, confidence: float
) -> Finding:
    """The finding; ``factor`` is the learning rate found over the one expected."""
    share = abs(factor - 1)
    return found(
        "lr-not-restored",
        attempt,
        attempt.learning_rate,
        (step, step, None),
        severity=min(abs(np.log(max(factor, 1e-3))), 1.0),
        confidence=confidence,
        evidence={"lr_factor": factor, "how": how},
        criteria=[at_least("off the rate that was expected", share, "share", view.thresholds.lr_differs)],
        runner_up=("lr-decay-drop", "somebody had changed it on purpose"),
    )


def covers(attempt: AttemptView, rate: Series, reach_step: float) -> bool:
    """Whether an earlier attempt logged its learning rate before this one begins, up to a step."""
    old = attempt.learning_rate
    if old is None or len(old) < 4:
        return False
    return bool(old.steps[0] < rate.steps[0] and old.steps[-1] >= reach_step)


def expected_rate(old: Series | None, rate: Series) -> float | None:
    """The earlier attempt's learning rate where this one begins: logged, or its last values extended."""
    rate_then = None if old is None else expected(old, float(rate.steps[min(1, len(rate) - 1)]))
    return rate_then if rate_then is not None and rate_then > 0 else None


def warms_up(rate: Series, factor: float) -> bool:
    """Whether the values rise through the first samples to ``factor`` times the first one or more."""
    head = rate.values[: max(8, len(rate) // 4)]
    head = head[np.isfinite(head)]
    top = int(np.argmax(head)) if len(head) else 0
    return (
        top >= 2
        and bool(head[top] >= factor * max(head[0], 0.0))
        and bool(np.all(np.diff(head[: top + 1]) >= -1e-12))
    )
