"""Improvement that nobody expected.

grokking
    Sees: generalisation long after training is done; or an abrupt and lasting fall that nothing explains.
    Rule: the held-out score (where no scores are logged, the loss) is near chance when the training one is
    saturated, and arrives after five times as many steps or more. For a single loss: the kernel's drop took
    less than 3 % of the steps so far, gained five times what the same time before had gained, and begins
    after the first tenth of the log.
    Blind to: slow generalisation. False alarm: a finding that people would like to be true.
    Source: Power et al. 2201.02177; the sudden fall of a Llama-2 run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import fit, positive, running
from chronicle.classify.report import at_least, found
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Role, Series

PATTERNS = ("grokking",)
LEAST = 64  # [samples] of a loss in which a sudden drop can be told


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        late = list(late_generalisation(view, attempt))
        yield from late or sudden_improvement(view, attempt)


def late_generalisation(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Held-out score (or loss) against the one of training: which was learned when?"""
    train = [s for s in attempt.by_role(Role.SCORE) if len(s) >= 8]
    held = [s for s in attempt.by_role(Role.VALIDATION_SCORE) if len(s) >= 8]
    pairs = [(t, v, 1.0) for t in train for v in held]
    if not pairs and attempt.loss is not None and attempt.validation_loss is not None:
        pairs.append((attempt.loss, attempt.validation_loss, -1.0))
    for trained, tested, sign in pairs:
        if trained is tested:
            continue
        times = learned_at(trained, sign, 0.95), learned_at(tested, sign, 0.9), learned_at(tested, sign, 0.1)
        if None in times:
            continue
        saturated, arrived, leaves = (float(t) for t in times if t is not None)
        if leaves < view.thresholds.lag * max(saturated, float(trained.steps[1])) or not apart(
            trained, tested, sign
        ):
            continue
        yield found(
            "grokking",
            attempt,
            tested,
            (leaves, leaves, arrived),
            severity=0.5,
            confidence=0.9,
            evidence={"train_saturated_step": saturated, "delay_times": leaves / max(saturated, 1.0)},
            criteria=[at_least("delay", leaves / max(saturated, 1.0), "times", view.thresholds.lag)],
            runner_up=("lr-decay-drop", "the training had not been done before"),
        )  # fmt: skip
        return


def learned_at(series: Series, sign: float, share: float) -> float | None:
    """The first step at which this share of the way from the first to the best value was made for good."""
    ok = np.isfinite(series.values)
    steps, v = series.steps[ok], sign * running(series.values[ok], 3)
    if len(v) < 8 or v.max() - v[0] <= 0:
        return None
    goal = v[0] + share * (v.max() - v[0])
    return float(steps[int(np.argmax(v >= goal))])


def apart(trained: Series, tested: Series, sign: float) -> bool:
    """Whether both went from nothing to nearly all.

    Scores from below 0.5 to above 0.9 (held-out: 0.6); losses to a fifth of the first value (held-out: to a
    half of the highest).
    """
    t, v = (s.values[np.isfinite(s.values)] for s in (trained, tested))
    if sign > 0:
        return bool(t.max() >= 0.9 and v.max() >= 0.6 and v[:2].max() <= 0.5)
    return bool(t.min() > 0 and t.min() <= 0.2 * t[0] and v.min() <= 0.5 * v.max())


def sudden_improvement(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """An abrupt and lasting fall of the loss."""
    loss = attempt.loss
    if loss is None or len(loss) < LEAST:
        return
    for drop in view.events(loss):
        if drop.kind is not Kind.DROP or not abrupt(view, loss, drop) or not lasts(loss, drop):
            continue
        height = abs(drop.height)
        end = drop.end if drop.end is not None else len(loss) - 1
        yield found(
            "grokking",
            attempt,
            loss,
            (loss.steps[drop.onset], loss.steps[drop.peak], loss.steps[end]),
            severity=height,
            confidence=0.7,
            evidence={
                "drop_log": height,
                "drop_samples": end - drop.onset,
            },
            criteria=[at_least("fall", height, "log units", view.thresholds.drop)],
            runner_up=("lr-decay-drop", "the learning rate had fallen there"),
        )


def abrupt(view: View, loss: Series, drop: Event) -> bool:
    """Whether it took 3 % of all steps so far (or 8 samples as they were logged before it), after the first
    tenth of the log, and gained five times what as many steps before had gained."""
    steps, y = positive(loss)
    start = float(loss.steps[drop.onset])
    lasted = float(loss.steps[drop.end if drop.end is not None else -1]) - start
    a = int(np.searchsorted(steps, start))
    if a < max(LEAST, 0.1 * len(steps)):
        return False
    gap = float(np.median(np.diff(steps[max(a - 32, 0) : a + 1])))
    quick = lasted <= max(view.thresholds.sudden * start, 8 * gap)
    before = int(np.searchsorted(steps, start - lasted))
    gained = float(np.median(y[max(before - 4, 0) : before + 1]) - np.median(y[a - 4 : a]))
    return quick and abs(drop.height) >= view.thresholds.sudden_gain * gained


def lasts(loss: Series, drop: Event) -> bool:
    """Whether at least half of the fall is kept until the end of the log, against the line before it."""
    steps, y = positive(loss)
    line = fit(steps[max(drop.onset - LEAST, 0) : drop.onset], y[max(drop.onset - LEAST, 0) : drop.onset])
    after = y[drop.onset :][-max(len(y[drop.onset :]) // 2, 4) :]
    return line is not None and bool(np.median(after) <= line.level - 0.5 * abs(drop.height))
