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
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from chronicle.classify.measure import Excess, departure, medians, sure
from chronicle.classify.report import at_least, found, renamed
from chronicle.classify.resumed import FIRST, LEAST, Resume, resumes, seams
from chronicle.classify.rules import anew, restored
from chronicle.classify.rules.spikes import PATTERNS as SPIKES
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Criterion, Finding, Floats

PATTERNS = ("resume-spike", "level-shift")
REPLACES = (*SPIKES, "level-shift", "divergence-after-spike", "divergence-no-spike")


def find(view: View) -> Iterator[Finding]:
    again: list[Resume] = []
    for attempt in view.attempts:
        if not anew.told_anew(view, attempt):
            again += resumes(view, attempt)[:1]
        for step, factor in seams(attempt, view.thresholds):
            yield from seam_spike(view, attempt, step, factor)
    starts = [(join, highest(join)) for join in again]
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
    raised = any(f.evidence["lr_factor"] > 1 for f in restored.not_restored(view, join.attempt))
    least = limits.joint_t if raised else limits.join_t
    tests = [
        at_least("first samples over the earlier attempt, all joins", t, "standard errors", least),
        at_least("height", start.height, "log units", limits.moved),
    ]
    evidence = {"join_height_log": start.height, "after": join.parent.name}
    why = "it had begun later than a few samples after the join"
    soon = join.steps[min(int(limits.same_time), len(join.steps) - 1)]
    for shape in view.findings(join.loss):
        if shape.pattern in SPIKES and shape.start_step <= soon:
            yield renamed(shape, "resume-spike", why=why, evidence=evidence, criteria=tests)
            return
    if not all(x.met for x in tests):
        return
    end = returned(join.off, limits.midway * start.height)
    if end is None:
        yield from stays_up(view, join, tests, evidence)
        return
    peak = int(np.argmax(join.off[: max(end, 1)]))
    yield found(
        "resume-spike",
        join.attempt,
        join.loss,
        (join.steps[0], join.steps[peak], join.steps[end]),
        severity=0.2 + start.height,
        confidence=sure(t, limits.join_t),
        evidence={
            **evidence,
            "height_log": join.off[peak],
            "recovery_steps": join.steps[end] - join.steps[0],
        },
        criteria=tests,
        runner_up=("level-shift", "it had not come down again"),
    )


def stays_up(view: View, join: Resume, tests: list[Criterion], evidence: dict[str, Any]) -> Iterator[Finding]:
    """An attempt that begins higher than the one before it went, and stays there while its line reaches."""
    over = join.over(0, join.reach)
    lasting = [
        at_least("all samples over the earlier attempt", over.t, "standard errors", view.thresholds.join_t),
        at_least("height of all", over.height, "log units", view.thresholds.rise),
    ]
    if all(t.met for t in lasting):
        yield found(
            "level-shift",
            join.attempt,
            join.loss,
            (join.steps[0], None, None),
            severity=0.3 + over.height,
            confidence=sure(over.t, view.thresholds.join_t),
            evidence={**evidence, "step_log": over.height},
            criteria=[*tests, *lasting],
            runner_up=("resume-spike", "it had come down again"),
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
    tests = [
        at_least("first samples over the line before", best.t, "standard errors", least),
        at_least("height", best.height, "log units", limits.moved),
    ]
    evidence = {"join_height_log": best.height}
    why = "the process had not been another one from there on"
    for shape in view.findings(loss):
        if shape.pattern in REPLACES and abs(shape.start_step - step) <= limits.same_time * gap:
            yield renamed(shape, "resume-spike", why=why, evidence=evidence, criteria=tests)
            return
    if all(t.met for t in tests):
        yield found(
            "resume-spike",
            attempt,
            loss,
            (step, step, None),
            severity=0.2 + best.height,
            confidence=sure(best.t, limits.known_t),
            evidence={**evidence, "height_log": best.height},
            criteria=tests,
            runner_up=("level-shift", why),
        )


def returned(off: Floats, level: float) -> int | None:
    """The first sample after which the median of 8 is below a level."""
    below = medians(off, LEAST)[1:] < level
    return int(np.argmax(below)) + 1 if below.any() else None
