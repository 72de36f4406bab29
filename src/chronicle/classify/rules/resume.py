"""What a resume lost: an attempt against the ones before it.

resume-spike
    Sees: a loss that is too high in the first samples of an attempt and comes back.
    Rule: the median of the first 4, 8, 16 or 32 samples lies 5 standard errors and 1.5 % over the line of the
    earlier attempt, and the excess at least halves later; or 3 standard errors at each of several joins, 5
    together, or 3 where the learning rate came back too high: then a rise is what must be expected. A spike
    that the kernel sees within the first 8 samples of a join is one as well. So is a rise inside one log
    where, after a pause, the learning rate is another one.
    Blind to: lost optimizer state that the loss does not show. False alarm: a search for lost state.
    Source: 104B experiments 6 and 7, IDEFICS 2023-05-19.

level-shift (at a join)
    Sees: the same excess where it stays.
    Rule: it never halves, and all samples that the line reaches are over it by 5 standard errors and 2.5 %.
    Blind to: what a changed configuration was meant to do. False alarm: the change was planned.

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

from chronicle.classify.measure import Excess, departure, medians, sure
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted, renamed
from chronicle.classify.resumed import FIRST, LEAST, Resume, resumes, seams
from chronicle.classify.rules import reinitialised
from chronicle.classify.rules.loss_shapes import RISES, SHIFT, SPIKES, typed_findings
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.counters import step_gap
from chronicle.model import Finding, Floats, JoinKind, Series
from chronicle.timeline.joins import expected

SPIKE, NOT_RESTORED = "resume-spike", "lr-not-restored"


def find(view: View) -> Iterator[Finding]:
    first_joins: list[Resume] = []
    for attempt in view.attempts:
        if not reinitialised.find(view, attempt):
            first_joins += resumes(view, attempt)[:1]
        for step, factor in seams(attempt, view.thresholds):
            yield from seam_spike(view, attempt, step, factor)
    starts = [(join, highest(join)) for join in first_joins]
    several = [e.t for _, e in starts if e.t >= view.thresholds.joint_t]
    together = sum(several) / max(len(several), 1) ** 0.5
    for join, start in starts:
        yield from join_spike(view, join, start, together)


def highest(join: Resume) -> Excess:
    """The surest excess of the first samples."""
    return max((join.over(0, m) for m in FIRST), key=lambda e: e.t)


def join_spike(view: View, join: Resume, start: Excess, together: float) -> Iterator[Finding]:
    """The excess of the first samples, or the spike that the kernel saw there."""
    limits = view.thresholds
    t = together if start.t >= limits.joint_t else start.t
    raised = any(f.evidence["lr_factor"] > 1 for f in not_restored(view, join.attempt))
    least = limits.joint_t if raised else limits.join_t
    checks = [
        at_least("first samples over the earlier attempt, all joins", t, "standard errors", least),
        at_least("height", start.height, "log units", limits.moved, "join_height_log"),
        *noted(after=join.parent.name),
    ]
    soon = join.steps[min(int(limits.same_time), len(join.steps) - 1)]
    for shape in typed_findings(view, join.loss):
        if shape.pattern in SPIKES and shape.start_step <= soon:
            why = "it had begun later than a few samples after the join"
            yield renamed(shape, SPIKE, checks, why=why)
            return
    if not all(c.met for c in checks):
        return
    end = returned(join.off, limits.midway * start.height)
    if end is None:
        yield from stays_up(view, join, checks)
        return
    peak = int(np.argmax(join.off[: max(end, 1)]))
    lasted = join.steps[end] - join.steps[0]
    yield finding(
        SPIKE,
        At(join.attempt, join.loss, join.steps[0], join.steps[peak], join.steps[end]),
        [*checks, *noted(height_log=join.off[peak], recovery_steps=lasted)],
        severity=0.2 + start.height,
        confidence=sure(t, limits.join_t),
        runner_up=(SHIFT, "it had not come down again"),
    )


def stays_up(view: View, join: Resume, checks: list[Check]) -> Iterator[Finding]:
    """An attempt that begins higher than the one before it went, and stays there while its line reaches."""
    over, limits = join.over(0, join.reach), view.thresholds
    lasting = [
        at_least("all samples over the earlier attempt", over.t, "standard errors", limits.join_t),
        at_least("height of all", over.height, "log units", limits.rise, "step_log"),
    ]
    if all(c.met for c in lasting):
        yield finding(
            SHIFT,
            At(join.attempt, join.loss, join.steps[0]),
            [*checks, *lasting],
            severity=0.3 + over.height,
            confidence=sure(over.t, limits.join_t),
            runner_up=(SPIKE, "it had come down again"),
        )


def seam_spike(view: View, attempt: AttemptView, step: float, factor: float) -> Iterator[Finding]:
    """The same at a place inside one log where another process took over with ``factor`` times the learning
    rate."""
    loss = attempt.loss
    if loss is None:
        return
    gap, limits = step_gap(loss), view.thresholds
    best = max((departure(loss, step, step + m * gap) for m in FIRST), key=lambda e: e.t)
    least = limits.joint_t if factor > 1 else limits.known_t
    checks = [
        at_least("first samples over the line before", best.t, "standard errors", least),
        at_least("height", best.height, "log units", limits.moved, "join_height_log"),
    ]
    why = "the process had not been another one from there on"
    for shape in typed_findings(view, loss):
        if shape.pattern in RISES and abs(shape.start_step - step) <= limits.same_time * gap:
            yield renamed(shape, SPIKE, checks, why=why)
            return
    if all(c.met for c in checks):
        yield finding(
            SPIKE,
            At(attempt, loss, step, step),
            [*checks, *noted(height_log=best.height)],
            severity=0.2 + best.height,
            confidence=sure(best.t, limits.known_t),
            runner_up=(SHIFT, why),
        )


def returned(off: Floats, level: float) -> int | None:
    """The first sample after which the median of 8 is below a level."""
    below = medians(off, LEAST)[1:] < level
    return int(np.argmax(below)) + 1 if below.any() else None


# ---- the schedule ------------------------------------------------------------------------------------


def restored(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """The learning rate where another process took over, at a join or inside one log."""
    yield from not_restored(view, attempt)
    for step, factor in seams(attempt, view.thresholds):
        yield other_rate(view, attempt, step, factor, "is higher" if factor > 1 else "is lower", 0.7)


def not_restored(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """The learning rate at the start of an attempt against what it should have been."""
    join = view.join_into.get(attempt.index)
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
    confidence = 0.95 if warms else 0.7 if factor > 1 else 0.5
    yield other_rate(view, attempt, rate.steps[0], factor, how, confidence)


def other_rate(
    view: View, attempt: AttemptView, step: float, factor: float, how: str, confidence: float
) -> Finding:
    """The finding; ``factor`` is the learning rate found over the one expected."""
    least = view.thresholds.lr_differs
    return finding(
        NOT_RESTORED,
        At(attempt, attempt.learning_rate, step, step),
        [
            *noted(lr_factor=factor, how=how),
            at_least("off the rate that was expected", abs(factor - 1), "share", least),
        ],
        severity=min(abs(np.log(max(factor, 1e-3))), 1.0),
        confidence=confidence,
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
    high = top >= 2 and head[top] >= factor * max(head[0], 0.0)
    return bool(high and np.all(np.diff(head[: top + 1]) >= -1e-12))


RESUME = Rule("resume", (SPIKE, SHIFT), find, replaces=RISES)
RESTORED = Rule.of_attempts("restored", (NOT_RESTORED,), restored)
