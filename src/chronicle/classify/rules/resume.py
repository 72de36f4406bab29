"""What a resume lost: an attempt against the ones before it, at equal steps or on their extended line.

resume-spike
    Sees: a loss that is too high in the first samples of an attempt and comes back.
    Rule: the median of the first 4, 8 or 16 samples lies 5 standard errors and 1.5 % over what the earlier
    attempt had at those steps (or over the extension of its line), and the excess at least halves later. A
    spike that the kernel sees within the first 8 samples is one as well.
    Blind to: lost optimizer state that the loss does not show. False alarm: a search for lost state.
    Source: 104B experiments 6 and 7, IDEFICS 2023-05-19.

repeat-data
    Sees: data read twice after a resume: a loss that is falsely low until new data come.
    Rule: before a jump up within a resumed attempt the loss lies under the earlier attempt's line, after it
    on that line again (a half of the jump at most away); both by 5 standard errors. Validation, where logged,
    does not jump. Without a jump: low from the first sample on while validation stays on its line.
    Blind to: replays in another order, which make no jump. False alarm: a data cursor is checked.
    Source: Lightning #18780 (Llama-2 run: 0.13 and 0.25 nats too low for 250 steps).

reinitialised
    Sees: new weights under an old step count.
    Rule: the loss is back at the very first level of the run (within 15 % of what was learned), and falls
    along the same curve as in the beginning for as long as it took to learn 40 % of it.
    Blind to: logs that do not begin with the run. False alarm: a spike taller than all others, rarely.
    Source: MLCommons AlgoPerf logs with a scheduled re-initialisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chronicle.classify.measure import MEDIAN_ERROR, Excess, Line, excess, fit, log_step, positive, sure
from chronicle.classify.report import criterion, found, renamed
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats, Series

PATTERNS = ("resume-spike", "repeat-data", "reinitialised")
SPIKES = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery")
REPLACES = (*SPIKES, "level-shift", "divergence-after-spike", "divergence-no-spike", "grokking")
BEFORE = 64  # [samples] of the earlier attempt that make the line
HORIZON = 0.5  # [log steps] how far a line is trusted beyond its last sample
AT_ONCE = 8  # [samples] a spike this soon after the join belongs to it
LEAST = 8  # [samples] on either side of a join


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        new = list(anew(view, attempt))
        yield from new
        for join in [] if new else joins(view, attempt):
            yield from list(join_spike(view, join)) or replay(view, join)


@dataclass(frozen=True, eq=False)
class Resume:
    """An attempt that goes on from an earlier one, and the line it should have gone on along.

    ``off`` is its log loss less that line; ``reach`` is the number of samples for which the line is trusted.
    """

    attempt: AttemptView
    parent: AttemptView
    loss: Series
    line: Line
    steps: Floats
    off: Floats
    reach: int

    def over(self, a: int, b: int) -> Excess:
        """Median height of the samples ``a`` to ``b`` over the line, and its t."""
        return excess(self.line, self.steps[a:b], self.off[a:b] + self.line.at(self.steps[a:b]))


def joins(view: View, attempt: AttemptView) -> Iterator[Resume]:
    """The attempt against that earlier attempt, and that line of it, which it fits best."""
    loss = attempt.loss
    if loss is None or attempt.index == 0:
        return
    steps, y = positive(loss)
    if len(y) < LEAST:
        return
    own = fit(steps[2 * LEAST : BEFORE + 2 * LEAST], y[2 * LEAST : BEFORE + 2 * LEAST])
    fits = [
        Resume(attempt, parent, loss, wary(line, own), steps, y - line.at(steps), reach(steps))
        for parent in view.attempts[: attempt.index]
        for line in lines(parent, loss, steps)
    ]
    if fits:
        yield min(fits, key=lambda r: abs(r.over(0, LEAST).height))


def wary(line: Line, own: Line | None) -> Line:
    """The line with the larger noise of both attempts: a short stretch is calm by chance now and then."""
    if own is None or own.n < LEAST:
        return line
    return replace(line, noise=max(line.noise, own.noise), inflation=max(line.inflation, own.inflation))


def reach(steps: Floats) -> int:
    """Samples of an attempt for which a line from before is trusted: to 1.65 times the step of the join."""
    x = log_step(steps)
    return max(int(np.searchsorted(x, x[0] + HORIZON)), LEAST)


def lines(parent: AttemptView, loss: Series, steps: Floats) -> Iterator[Line]:
    """Lines of an earlier attempt: to the join and over equal steps, from a short and from a long stretch."""
    if parent.loss is None:
        return
    old_steps, old = positive(parent.loss)
    gap = 12 * max(step_gap(loss), step_gap(parent.loss))
    if len(old) < LEAST or not old_steps[0] + gap < steps[0] <= old_steps[-1] + gap:
        return
    for last in (steps[0], steps[LEAST - 1]):
        b = int(np.searchsorted(old_steps, last))
        long = (
            int(np.searchsorted(log_step(old_steps), log_step(old_steps[b - 1 : b])[0] - HORIZON)) if b else 0
        )
        for a in {max(b - BEFORE, 0), min(max(b - BEFORE, 0), long)}:
            line = fit(old_steps[a:b], old[a:b])
            if line is not None and line.n >= LEAST:
                yield line


# ---- too high ------------------------------------------------------------------------------------


def join_spike(view: View, join: Resume) -> Iterator[Finding]:
    shape = next((f for f in view.findings(join.loss) if f.pattern in SPIKES and soon(join, f)), None)
    limits = view.thresholds
    best = max((join.over(0, m) for m in (4, 8, 16)), key=lambda e: e.t)
    rise = best.t >= limits.join_t and best.height >= limits.join_rise
    tests = [
        criterion(
            "first samples over the earlier attempt", best.t, "standard errors", f">= {limits.join_t:g}", rise
        ),
        criterion(
            "height", best.height, "log units", f">= {limits.join_rise:g}", best.height >= limits.join_rise
        ),
    ]
    evidence = {"join_height_log": best.height, "after": join.parent.name}
    why = "if it had begun later than a few samples after the join"
    if shape is not None:
        yield renamed(shape, "resume-spike", why=why, evidence=evidence, criteria=tests)
        return
    end = returned(join, best.height)
    if not rise or end is None:
        return
    peak = int(np.argmax(join.off[: max(end, 1)]))
    yield found(
        "resume-spike",
        join.attempt,
        join.loss,
        (join.steps[0], join.steps[peak], join.steps[end]),
        severity=best.height,
        confidence=sure(best.t, limits.join_t),
        evidence={
            **evidence,
            "height_log": float(join.off[peak]),
            "recovery_steps": join.steps[end] - join.steps[0],
        },
        criteria=tests,
        runner_up=("level-shift", "if it had not come down again"),
    )


def soon(join: Resume, finding: Finding) -> bool:
    return bool(finding.start_step <= join.steps[min(AT_ONCE, len(join.steps) - 1)])


def returned(join: Resume, height: float) -> int | None:
    """The first sample from which on the median of 8 is below half of the height and stays there."""
    n = len(join.off)
    for i in range(1, n - LEAST + 1):
        if np.median(join.off[i : i + LEAST]) < 0.5 * height:
            return i
    return None


# ---- too low -------------------------------------------------------------------------------------


def replay(view: View, join: Resume) -> Iterator[Finding]:
    limits = view.thresholds
    jump = steepest(join)
    low = join.over(0, 16)
    if jump is not None and ends_replay(view, join, *jump):
        at, height = jump
        yield from replay_ends(view, join, at, height)
    elif low.t <= -limits.join_t and low.height <= -limits.join_fall and validation_stays(join, low.height):
        yield found(
            "repeat-data",
            join.attempt,
            join.loss,
            (join.steps[0], join.steps[0], None),
            severity=-low.height,
            confidence=0.6 * sure(low.t, limits.join_t),
            evidence={"low_log": low.height, "after": join.parent.name},
            criteria=[
                criterion("first samples under the line", -low.t, "errors", f">= {limits.join_t:g}", True),
                criterion("validation loss on its line", None, "", "unmoved", True),
                criterion("jump where new data begin", None, "", "seen", False),
            ],
            runner_up=("level-shift", "if the validation loss had fallen as well"),
        )  # fmt: skip


def steepest(join: Resume) -> tuple[int, float] | None:
    """The sample with the largest step up (medians of up to 16 samples on both sides), and its height."""
    n = min(len(join.off), join.reach)
    best: tuple[float, int, float] | None = None
    for i in range(4, n - 3):
        w = min(16, i, n - i)
        before, after = join.off[i - w : i], join.off[i : i + w]
        height = float(np.median(after) - np.median(before))
        t = height / (MEDIAN_ERROR * join.line.noise * join.line.inflation * np.sqrt(2 / w))
        if best is None or t > best[0]:
            best = (t, i, height)
    return (best[1], best[2]) if best is not None and best[0] >= 5.0 else None


def ends_replay(view: View, join: Resume, at: int, height: float) -> bool:
    """Whether the loss was as far below the line before the jump as it jumps, and is on the line after it."""
    before, after = join.over(max(at - 16, 0), at), join.over(at + 1, min(at + 17, join.reach))
    if height < view.thresholds.join_fall or at + 3 >= join.reach:
        return False
    abrupt = np.median(join.off[at : at + 4]) - np.median(join.off[at - 4 : at]) >= 0.5 * height
    low = before.height <= -0.5 * height and before.t <= -view.thresholds.known_t
    return bool(
        abrupt and low and abs(after.height) <= 0.5 * height and not validation_jumps(join, at, height)
    )


def replay_ends(view: View, join: Resume, at: int, height: float) -> Iterator[Finding]:
    near = [
        f for f in view.findings(join.loss) if f.pattern in REPLACES and abs(nearest(join, f) - at) <= AT_ONCE
    ]
    shape = min(near, key=lambda f: abs(nearest(join, f) - at), default=None)
    low = float(np.median(join.off[max(at - 16, 0) : at]))
    held = int(join.steps[at] - join.steps[0])
    evidence = {
        "low_log": low,
        "jump_log": height,
        "replayed_steps": held,
        "low_start_step": int(join.steps[0]),
        "after": join.parent.name,
    }
    tests = [
        criterion(
            "under the earlier attempt before the jump", -low, "log units", "half of the jump or more", True
        ),
        criterion(
            "away from it after the jump", abs(height + low), "log units", "half of the jump or less", True
        ),
        criterion(
            "validation loss", None, "", "does not jump", True if join.attempt.validation_loss else None
        ),
    ]
    why = "if the loss had not been too low since the join"
    if shape is not None:
        yield renamed(shape, "repeat-data", why=why, evidence=evidence, criteria=tests)
        return
    yield found(
        "repeat-data",
        join.attempt,
        join.loss,
        (join.steps[at], join.steps[at], join.steps[at]),
        severity=height,
        confidence=0.9,
        evidence=evidence,
        criteria=tests,
        runner_up=("level-shift", why),
    )


def nearest(join: Resume, finding: Finding) -> int:
    return int(np.searchsorted(join.steps, finding.start_step))


def validation_jumps(join: Resume, at: int, height: float) -> bool:
    """Whether the validation loss goes up by half of the jump as well (False where it cannot be seen)."""
    validation = join.attempt.validation_loss
    if validation is None or validation is join.loss:
        return False
    steps, y = positive(validation)
    before, after = y[steps < join.steps[at]][-4:], y[steps >= join.steps[at]][:4]
    return bool(len(before) and len(after) and np.median(after) - np.median(before) >= 0.5 * height)


def validation_stays(join: Resume, height: float) -> bool:
    """Whether validation is logged on both sides of the join and moved by less than a third of the loss."""
    here, there = join.attempt.validation_loss, join.parent.validation_loss
    if here is None or there is None or here is join.loss:
        return False
    (steps, y), (old_steps, old) = positive(here), positive(there)
    line = fit(old_steps[old_steps <= join.steps[0]][-BEFORE:], old[old_steps <= join.steps[0]][-BEFORE:])
    near = steps <= join.steps[min(join.reach, len(join.steps)) - 1]
    if line is None or near.sum() < 3:
        return False
    return abs(excess(line, steps[near], y[near]).height) <= abs(height) / 3


# ---- from the beginning --------------------------------------------------------------------------


def anew(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Places where the loss is back at its very first level and learns the same way again."""
    begin = view.attempts[0].loss
    if attempt.loss is None or begin is None:
        return
    steps, y = positive(attempt.loss)
    start, early = positive(begin)
    if len(early) < 16 or start[0] > 0.05 * max(start[-1], steps[-1] if len(steps) else 0):
        return
    if attempt.index and len(y) >= LEAST and steps[0] > start[0] + LEAST * step_gap(begin):
        learned = min(
            (
                float(np.median(positive(a.loss)[1][-LEAST:]))
                for a in view.attempts[: attempt.index]
                if a.loss is not None and len(positive(a.loss)[1])
            ),
            default=early[0],
        )
        if same_course(view, start, early, steps, y, learned):
            yield told(attempt, attempt.loss, None, steps[0], early[0], learned)
            return
    for shape in view.findings(attempt.loss):
        if shape.pattern not in REPLACES or shape.start_step <= start[0] + 16 * step_gap(begin):
            continue
        learned = float(np.median(y[steps < shape.start_step][-LEAST:]))
        for shift in range(-2, 4):
            a = int(np.searchsorted(steps, shape.start_step)) + shift
            if 0 < a < len(y) and same_course(view, start, early, steps[a:], y[a:], learned):
                yield told(attempt, attempt.loss, shape, steps[a], early[0], learned)
                break


def same_course(view: View, start: Floats, early: Floats, steps: Floats, y: Floats, learned: float) -> bool:
    """Whether ``y`` runs like the first samples of the run until 40 % of it is learned again."""
    range_log = float(np.median(early[:2])) - learned
    if range_log < 0.3 or len(y) < 6:
        return False
    half = np.flatnonzero(early <= early[0] - 0.4 * range_log)
    until = float(start[half[0]] - start[0]) if len(half) else np.inf
    m = int(
        np.searchsorted(
            steps - steps[0], max(until, float(start[min(12, len(start) - 1)] - start[0])), side="right"
        )
    )
    if m < 6 or m >= len(y) + 1 or until == np.inf:
        return False
    same = np.interp(steps[:m] - steps[0], start - start[0], early)
    near = view.thresholds.first_level * range_log
    return bool(
        abs(np.median(y[:2]) - np.median(early[:2])) <= 1.5 * near and np.mean(np.abs(y[:m] - same)) <= near
    )


def told(
    attempt: AttemptView, loss: Series, shape: Finding | None, step: float, first_level: float, learned: float
) -> Finding:
    tests = [
        criterion(
            "level, against the first of the run",
            first_level,
            "log units",
            "within 15 % of what was learned",
            True,
        ),
        criterion("course, against the first of the run", None, "", "the same", True),
    ]
    evidence = {"first_level_log": first_level, "lost_log": first_level - learned}
    why = "if it had come back faster than it once learned"
    if shape is not None:
        return renamed(shape, "reinitialised", why=why, evidence=evidence, criteria=tests)
    return found(
        "reinitialised", attempt, loss, (step, step, None), severity=0.8, confidence=0.85, evidence=evidence,
        criteria=tests, runner_up=("resume-spike", why),
    )  # fmt: skip
