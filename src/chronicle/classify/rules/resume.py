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

reinitialised
    Sees: new weights under an old step count.
    Rule: the loss is back at the very first level of the run (within a fifth of what was learned), at once
    and no higher, and the tenths of the way down take as long as the first time (median, within a factor of 1.6).
    At a join time may also be counted in steps times the learning rate: without the warm-up of the first
    time it is learned faster. Blind to: logs that do not begin with the run, and learning too fast for them.
    False alarm: a spike taller than all others, rarely.
    Source: AlgoPerf logs with a scheduled re-initialisation.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.joins import LEAST, Resume, learned_before, resumes, seams
from chronicle.classify.measure import Excess, at_least, departure, positive, running, sure, wiggle
from chronicle.classify.report import found, renamed
from chronicle.classify.rules import restored
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats

PATTERNS = ("resume-spike", "reinitialised")
SPIKES = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery")
REPLACES = (*SPIKES, "level-shift", "divergence-after-spike", "divergence-no-spike")
AT_ONCE = 8  # [samples] a spike this soon after the join belongs to it
LEARNED = 0.3  # [log units] less than this is no learning that could be lost
SAME_PACE = 1.6  # factor between the times of both courses; a return from a spike is several times faster
RESOLVED = 6  # [samples] of the first course, until nine tenths are learned


def find(view: View) -> Iterator[Finding]:
    again: list[Resume] = []
    for attempt in view.attempts:
        new = list(anew(view, attempt))
        yield from new
        again += [] if new else resumes(view, attempt)[:1]
        for step, factor in seams(attempt):
            yield from seam_spike(view, attempt, step, factor)
    starts = [(join, highest(join)) for join in again]
    several = [e.t for _, e in starts if e.t >= view.thresholds.joint_t]
    together = sum(several) / max(len(several), 1) ** 0.5
    for join, start in starts:
        yield from join_spike(view, join, start, together)


def highest(join: Resume) -> Excess:
    """The surest excess of the first samples."""
    return max((join.over(0, m) for m in (4, 8, 16, 32)), key=lambda e: e.t)


def join_spike(view: View, join: Resume, start: Excess, together: float) -> Iterator[Finding]:
    """The excess of the first samples, or the spike that the kernel saw there."""
    limits = view.thresholds
    t = together if start.t >= limits.joint_t else start.t
    raised = any(f.evidence["lr_factor"] > 1 for f in restored.not_restored(view, join.attempt))
    least = limits.joint_t if raised else limits.join_t
    tests = [
        at_least("first samples over the earlier attempt, all joins", t, "standard errors", least),
        at_least("height", start.height, "log units", limits.join_rise),
    ]
    evidence = {"join_height_log": start.height, "after": join.parent.name}
    why = "it had begun later than a few samples after the join"
    soon = join.steps[min(AT_ONCE, len(join.steps) - 1)]
    for shape in view.findings(join.loss):
        if shape.pattern in SPIKES and shape.start_step <= soon:
            yield renamed(shape, "resume-spike", why=why, evidence=evidence, criteria=tests)
            return
    end = returned(join.off, 0.5 * start.height)
    if not all(x.met for x in tests) or end is None:
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


def seam_spike(view: View, attempt: AttemptView, step: float, factor: float) -> Iterator[Finding]:
    """The same at a place inside one log where another process took over with ``factor`` times the learning
    rate."""
    loss = attempt.loss
    if loss is None:
        return
    gap, limits = step_gap(loss), view.thresholds
    best = max((departure(loss, step, step + m * gap) for m in (4, 8, 16, 32)), key=lambda e: e.t)
    least = limits.joint_t if factor > 1 else limits.known_t
    tests = [
        at_least("first samples over the line before", best.t, "standard errors", least),
        at_least("height", best.height, "log units", limits.join_rise),
    ]
    evidence = {"join_height_log": best.height}
    why = "the process had not been another one from there on"
    for shape in view.findings(loss):
        if shape.pattern in REPLACES and abs(shape.start_step - step) <= AT_ONCE * gap:
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
    below = np.median(np.lib.stride_tricks.sliding_window_view(off, LEAST), axis=-1)[1:] < level
    return int(np.argmax(below)) + 1 if below.any() else None


# ---- from the beginning --------------------------------------------------------------------------


def anew(view: View, attempt: AttemptView) -> Iterator[Finding]:
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
            yield told(view, attempt, None, steps[0], early[0], learned, y[0])
            return
    shapes = [f for f in view.findings(attempt.loss) if f.pattern in REPLACES and f.start_step > soon]
    for shape in shapes:
        before = y[steps < shape.start_step][-LEAST:]
        onset = int(np.searchsorted(steps, shape.start_step))
        learned = float(np.median(before)) if len(before) else np.inf
        if len(before) < LEAST or worse_than_new(view, early, y[onset:], learned):
            continue
        for a in range(max(onset - 2, 1), min(onset + 4, len(y))):
            at_once = y[a - 1] - learned <= 0.5 * (y[a] - learned)
            if at_once and same_course(view, (start, early), (steps[a:], y[a:]), learned):
                yield told(view, attempt, shape, steps[a], early[0], learned, y[a])
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


def told(
    view: View,
    attempt: AttemptView,
    shape: Finding | None,
    step: float,
    first_log: float,
    learned_log: float,
    level_log: float,
) -> Finding:
    """The finding, in the place of the shape that the kernel saw there if it saw one."""
    lost = (level_log - learned_log) / max(first_log - learned_log, 1e-9)
    least = 1 - 1.5 * view.thresholds.first_level
    tests = [at_least("of what was learned, lost at once", lost, "share", least)]
    evidence = {"first_level_log": first_log, "lost_share": lost}
    why = "it had come back faster than it once learned"
    if shape is not None:
        return renamed(shape, "reinitialised", why=why, evidence=evidence, criteria=tests)
    return found(
        "reinitialised",
        attempt,
        attempt.loss,
        (step, step, None),
        severity=0.8,
        confidence=0.85,
        evidence=evidence,
        criteria=tests,
        runner_up=("resume-spike", why),
    )
