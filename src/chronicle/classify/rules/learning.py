"""The course of learning: it turns into memorising, or comes when nobody expects it.

overfitting
    Sees: validation loss that turns upward while training loss goes on falling.
    Rule: the minimum of the validation loss (of running medians) lies before nine tenths of the run; the
    median of the last third of what follows it (three points or more) is 1.5 % and five standard errors
    above it; the training loss is lower than it was then, by 1.5 % or more, and no other loss of the training
    (an evaluation on its data) is higher by as much. Of three to five evaluations each is worse than the one
    before, by 15 % in all.
    Blind to: runs without validation. False alarm: a run is stopped too early.
    Source: fast.ai; Muennighoff et al. 2305.16264 (epochs).

grokking
    Sees: generalisation long after training is done; or an abrupt and lasting fall that nothing explains.
    Rule: the held-out score (where no scores are logged, the loss) is at half or less when the training one
    is saturated, and a quarter of the rest of its way comes after five times as many steps or more, and after
    a twentieth of the log. For a single loss: the kernel's drop took less than 3 % of the steps so far,
    gained five times what the same time before had gained, and begins after the first tenth of the log, in
    steps and in points.
    Blind to: slow generalisation. False alarm: a finding that people would like to be true.
    Source: Power et al. 2201.02177; the sudden fall of a Llama-2 run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import MEDIAN_ERROR, fit, positive, running, scale, sure
from chronicle.classify.report import At, Rule, at_least, finding, noted
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Floats, Role, Series

LEAST = 64  # [samples] of a loss in which a sudden drop can be told
EARLY = 0.1  # share of a log, and of the samples before a fall
LEAVES = 0.25  # share of the way from which on a held-out score is on it: it may creep before
FEW = 6  # evaluations of which a noise can be told


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if attempt.loss is not None:
        yield from _overfitting(view, attempt, attempt.loss)
    yield from late_generalisation(view, attempt) or _sudden_improvement(view, attempt)


def _overfitting(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits = view.thresholds
    for validation in attempt.by_role(Role.VALIDATION_LOSS):
        steps, y = positive(validation)
        if validation is loss or len(y) < 3:
            continue
        low, rise, need = turned_up(view, y)
        if rise < need or steps[-1] - steps[low] < limits.overfit_late * (steps[-1] - steps[0]):
            continue
        gains = [train_gain(s, steps[low], steps[-1]) for s in attempt.by_role(Role.LOSS)]
        gain = train_gain(loss, steps[low], steps[-1])
        if gain is None or gain < limits.moved or min(g for g in gains if g is not None) < -limits.moved:
            continue
        checks = [
            *noted(minimum_step=int(steps[low])),
            at_least("validation over its minimum", rise, "log units", need, "rise_log"),
            at_least("training loss fell meanwhile", gain, "log units", limits.moved, "training_fall_log"),
        ]
        at, other = At(attempt, validation, steps[low], steps[-1]), "the training loss had risen as well"
        confidence = 0.5 + 0.5 * sure(rise, need)
        yield finding("overfitting", at, checks, 0.3 + rise, confidence, ("divergence-no-spike", other))
        return


def turned_up(view: View, y: Floats) -> tuple[int, float, float]:
    """Of a validation loss: the sample of its minimum, the rise since, and the rise that is needed."""
    least = view.thresholds.moved
    if len(y) < FEW:
        worse = bool(np.all(np.diff(y) > 0))  # too few for a noise: any three are in this order once in six
        return 0, float(y[-1] - y[0]) if worse else 0.0, view.thresholds.overfit_few
    smooth = running(y, 3 if len(y) < 30 else 5)
    low = int(np.argmin(smooth))
    after = y[low + 1 :]
    if len(after) < 3:
        return low, 0.0, least
    late = after[-max(len(after) // 3, 3) :]
    noise = scale(np.diff(y, 2)) / np.sqrt(6)
    error = MEDIAN_ERROR * noise * float(np.sqrt(1 / len(late) + 1 / 3))
    return low, float(np.median(late) - smooth[low]), max(least, view.thresholds.join_t * error)


def train_gain(loss: Series, start: float, end: float) -> float | None:
    """How much the training loss fell between two steps (medians around them), log units."""
    steps, y = positive(loss)
    near = max(0.1 * (end - start), 1.0)
    before, after = y[np.abs(steps - start) <= near], y[steps >= end - near]
    return float(np.median(before) - np.median(after)) if len(before) and len(after) else None


def late_generalisation(view: View, attempt: AttemptView) -> list[Finding]:
    """Held-out score (or loss) against the one of training: which was learned when?"""
    train = [s for s in attempt.by_role(Role.SCORE) if len(s) >= 8]
    held = [s for s in attempt.by_role(Role.VALIDATION_SCORE) if len(s) >= 8]
    pairs, limits = [(t, v, 1.0) for t in train for v in held], view.thresholds
    if not pairs and attempt.loss is not None and attempt.validation_loss is not None:
        pairs.append((attempt.loss, attempt.validation_loss, -1.0))
    for trained, tested, sign in pairs:
        saturated = learned_at(trained, sign, 0.95)
        if trained is tested or saturated is None:
            continue
        late = tested.pick(tested.steps >= saturated)  # what both learned before is no delay
        arrived, leaves = learned_at(late, sign, 0.9), learned_at(late, sign, LEAVES)
        if arrived is None or leaves is None or not apart(trained, late, sign):
            continue
        soon = leaves < limits.lag * max(saturated, float(trained.steps[1]))
        if soon or leaves - saturated < limits.settling * float(tested.steps[-1] - tested.steps[0]):
            continue
        checks = [
            *noted(train_saturated_step=saturated),
            at_least("delay", leaves / max(saturated, 1.0), "times", limits.lag, "delay_times"),
        ]
        at = At(attempt, tested, leaves, leaves, arrived)
        done = ("lr-decay-drop", "the training had not been done before")
        return [finding("grokking", at, checks, 0.5, 0.9, done)]
    return []


def learned_at(series: Series, sign: float, share: float) -> float | None:
    """The first step at which this share of the way from the first to the best value was made for good."""
    ok = np.isfinite(series.values)
    steps, v = series.steps[ok], sign * running(series.values[ok], 3)
    if len(v) < 8 or v.max() - v[0] <= 0:
        return None
    goal = v[0] + share * (v.max() - v[0])
    return float(steps[int(np.argmax(v >= goal))])


def apart(trained: Series, late: Series, sign: float) -> bool:
    """Whether both went from nothing to nearly all, the held-out one (``late``) since training was done.

    Scores from below 0.5 to above 0.9 (held-out: 0.6); losses to a fifth (held-out: to a half) of the first.
    """
    t, v = (s.values[np.isfinite(s.values)] for s in (trained, late))
    if sign > 0:
        return bool(t.max() >= 0.9 and v.max() >= 0.6 and v[:2].max() <= 0.5)
    return bool(t.min() > 0 and t.min() <= 0.2 * t[0] and v.min() <= 0.5 * v[:2].min())


def _sudden_improvement(view: View, attempt: AttemptView) -> Iterator[Finding]:
    loss = attempt.loss
    if loss is None or len(loss) < LEAST:
        return
    for drop in view.events(loss):
        if drop.kind is not Kind.DROP or not abrupt(view, loss, drop) or not lasts(loss, drop):
            continue
        height, end = abs(drop.height), drop.end if drop.end is not None else len(loss) - 1
        fall = at_least("fall", height, "log units", view.thresholds.drop, "drop_log")
        at = At(attempt, loss, loss.steps[drop.onset], loss.steps[drop.peak], loss.steps[end])
        checks, other = [fall, *noted(drop_samples=end - drop.onset)], "the learning rate had fallen there"
        yield finding("grokking", at, checks, height, 0.7, ("lr-decay-drop", other))


def abrupt(view: View, loss: Series, drop: Event) -> bool:
    """Whether it took 3 % of all steps so far (or 8 samples as they were logged before it), after the first
    tenth of the log, and gained five times what as many steps before had gained.

    Rows may be dense first and sparse later: a tenth of the points can be a thousandth of the steps.
    """
    steps, y = positive(loss)
    start = float(loss.steps[drop.onset])
    lasted = float(loss.steps[drop.end if drop.end is not None else -1]) - start
    a = int(np.searchsorted(steps, start))
    if a < max(LEAST, EARLY * len(steps)) or start - steps[0] < EARLY * (steps[-1] - steps[0]):
        return False
    gap = float(np.median(np.diff(steps[max(a - 32, 0) : a + 1])))
    quick = lasted <= max(view.thresholds.sudden * start, 8 * gap)
    before = int(np.searchsorted(steps, start - lasted))
    gained = float(np.median(y[max(before - 4, 0) : before + 1]) - np.median(y[a - 4 : a]))
    return quick and abs(drop.height) >= view.thresholds.sudden_gain * gained


def lasts(loss: Series, drop: Event) -> bool:
    """Whether at least half of the fall is kept until the end of the log, against the line before it."""
    (steps, y), before = positive(loss), slice(max(drop.onset - LEAST, 0), drop.onset)
    line, after = fit(steps[before], y[before]), y[drop.onset :]
    late = after[-max(len(after) // 2, 4) :]
    return line is not None and bool(np.median(late) <= line.level - 0.5 * abs(drop.height))


RULE = Rule.of_attempts("learning", ("overfitting", "grokking"), find)
