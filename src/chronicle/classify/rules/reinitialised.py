"""Weights that know nothing again.

reinitialised
    Sees: new weights under an old step count.
    Rule: the loss is back at the very first level of the run (within a fifth of what was learned), at once
    and no higher, and the tenths of the way down take as long as the first time (median, within a factor of
    1.6). At a join, time may also be counted in steps times the learning rate: without the warm-up of the
    first time it is learned faster.
    Blind to: logs that do not begin with the run, and learning too fast for them.
    False alarm: a spike taller than all others, rarely.
    Source: AlgoPerf logs with a scheduled re-initialisation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.joins import LEAST, learned_before
from chronicle.classify.measure import positive, running, wiggle
from chronicle.classify.report import At, Rule, at_least, finding, noted, renamed
from chronicle.classify.rules.loss_shapes import RISES, typed_findings
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats

LEARNED = 0.3  # [log units] less than this is no learning that could be lost
SAME_PACE = 1.6  # factor between the times of both courses; a return from a spike is several times faster
RESOLVED = 6  # [samples] of the first course, until nine tenths are learned


def find(view: View, attempt: AttemptView) -> tuple[Finding, ...]:
    """The findings of one attempt, looked for once."""
    return view.once(("reinitialised", attempt.index), lambda: tuple(_learned_anew(view, attempt)))


def _learned_anew(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Places where the loss is back at its very first level and learns the same way again."""
    first = view.attempts[0].loss
    if attempt.loss is None or first is None:
        return
    steps, y = positive(attempt.loss)
    start, early = positive(first)
    if min(len(early), len(y)) < 2 * LEAST or start[0] > 0.05 * max(start[-1], steps[-1]):
        return
    soon = start[0] + 2 * LEAST * step_gap(first)
    if attempt.index and steps[0] > soon:
        learned = learned_before(view, attempt)
        times = [(start, steps), (clock(view.attempts[0], start), clock(attempt, steps))]
        if any(same_course(view, (once, early), (again, y), learned) for once, again in times):
            at = At(attempt, attempt.loss, steps[0], steps[0])
            yield lost_weights(view, at, None, early[0], learned, y[0])
            return
    for shape in typed_findings(view, attempt.loss):
        if shape.pattern not in RISES or shape.start_step <= soon:
            continue
        before = y[steps < shape.start_step][-LEAST:]
        onset = int(np.searchsorted(steps, shape.start_step))
        learned = float(np.median(before)) if len(before) else np.inf
        if len(before) < LEAST or worse_than_new(view, early, y[onset:], learned):
            continue
        for a in range(max(onset - 2, 1), min(onset + 4, len(y))):
            at_once = y[a - 1] - learned <= 0.5 * (y[a] - learned)
            if at_once and same_course(view, (start, early), (steps[a:], y[a:]), learned):
                at = At(attempt, attempt.loss, steps[a], steps[a])
                yield lost_weights(view, at, shape, early[0], learned, y[a])
                break


def clock(attempt: AttemptView, steps: Floats) -> Floats:
    """Time by which learning is counted: steps, each weighted by the learning rate over the usual one."""
    rate = attempt.learning_rate
    ok = np.isfinite(rate.values) & (rate.values >= 0) if rate is not None else np.zeros(1, bool)
    if rate is None or ok.sum() < 2 * LEAST or not rate.values[ok].max() > 0:
        return steps
    usual = float(np.quantile(rate.values[ok], 0.9))  # not the highest: that may be what went wrong
    share = np.interp(steps, rate.steps[ok], rate.values[ok] / max(usual, 1e-30))
    counted: Floats = np.cumsum(share * np.diff(steps, prepend=steps[0])) + steps[0]
    return counted


def worse_than_new(view: View, early: Floats, y: Floats, learned: float) -> bool:
    """Whether the loss is far over the first level: weights that are worse than untrained are not new."""
    level = float(np.median(early[:2]))
    near = view.thresholds.first_level / 3 * (level - learned) + 3 * wiggle(early[: 4 * LEAST])
    return bool(np.max(running(y[: 4 * LEAST], 3)) > level + near)


def same_course(
    view: View, first: tuple[Floats, Floats], again: tuple[Floats, Floats], learned: float
) -> bool:
    """Whether the loss is back at its first level, and learns as fast as the first time."""
    (start, early), (steps, y) = first, again
    level = float(np.median(early[:2]))
    to_learn = level - learned
    near = 1.5 * view.thresholds.first_level * to_learn
    if to_learn < LEARNED or not len(y) or abs(float(np.median(y[:2])) - level) > near:
        return False
    tenths = level - to_learn * np.arange(1, 10) / 10
    once, twice = passed(start, early, tenths), passed(steps, y, tenths)
    gaps = np.diff(start)
    gap = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else 1.0
    if not once[-1] >= RESOLVED * gap:
        return False  # learned within a few samples: any return from a spike looks like that
    over = float(steps[-1] - steps[0])
    seen = (once + gap) * SAME_PACE <= over
    if seen.sum() < 4:
        return False
    pace = float(np.median((twice[seen] + gap) / (once[seen] + gap)))
    return 1 / SAME_PACE <= pace <= SAME_PACE


def passed(steps: Floats, y: Floats, levels: Floats) -> Floats:
    """Steps until the running median of 3 is first at or below each level (inf: never)."""
    calm = running(y, 3)
    return np.array([steps[np.argmax(calm <= v)] - steps[0] if calm.min() <= v else np.inf for v in levels])


def lost_weights(
    view: View, at: At, shape: Finding | None, first_log: float, learned_log: float, level_log: float
) -> Finding:
    """The finding, in the place of the shape that the kernel saw there if it saw one."""
    lost = (level_log - learned_log) / max(first_log - learned_log, 1e-9)
    least = 1 - 1.5 * view.thresholds.first_level
    checks = [
        *noted(first_level_log=first_log),
        at_least("of what was learned, lost at once", lost, "share", least, "lost_share"),
    ]
    why = "it had come back faster than it once learned"
    if shape is not None:
        return renamed(shape, "reinitialised", checks, why=why)
    runner_up = ("resume-spike", why)
    return finding("reinitialised", at, checks, severity=0.8, confidence=0.85, runner_up=runner_up)


RULE = Rule.of_attempts("reinitialised", ("reinitialised",), find, replaces=RISES)
