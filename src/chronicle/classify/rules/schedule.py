"""What was planned, and what it does to the loss: learning rate and batch size.

lr-decay-drop
    Sees: a fall of the loss that the learning rate explains.
    Rule: within a few samples of a fall of the learning rate by 1.3 or more, or in the second half of a decay
    after a constant rate, the loss leaves its line downwards by 4.5 standard errors and 1.5 %.
    Blind to: smooth decays from the first step (cosine). False alarm: none that costs anything.
    Source: Marin 8B (train and eval fall in each decay).

batch-ramp
    Sees: steps and calmer noise that a growing batch makes.
    Rule: the batch size grows by a half or more, and the noise of the loss falls by 3 standard errors and by
    a third (in log units) of what one over its root would be; or the loss steps down.
    Blind to: ramps that are not logged. Source: BLOOM (192 to 2048 samples over 20 B tokens).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.measure import FLOOR, Excess, excess, fit, positive, step_at, sure, tremble
from chronicle.classify.report import at_least, at_most, found
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, index_at
from chronicle.model import Finding, Floats, Role, Series

PATTERNS = ("lr-decay-drop", "batch-ramp")
REPLACES = ("grokking", "level-shift")
LEAST = 8  # [samples] of a loss on either side of a planned change
EDGES = 24  # more epochs or ramps than this in one log are no steps that anybody sees
STEADY = 0.999  # share of the highest learning rate: a constant one, as loggers round it
NOISE = 256  # [samples] on either side of a ramp that tell its noise; those of its first quarter do not
ONE_SAMPLE = 0.9  # [log units] standard error of the noise that one sample tells (see measure.tremble)


@dataclass(frozen=True)
class Change:
    """A planned change at a step, and how the loss fell there; ``evidence`` says what was changed."""

    pattern: str
    step: float
    fall: Excess
    evidence: Mapping[str, Any]


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from lr_decay_drops(view, attempt)
        yield from batch_ramp(view, attempt)


# ---- falls that the learning rate explains -----------------------------------------------------------


def lr_decay_drops(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Falls of the loss where the learning rate falls."""
    loss, rate, limits = attempt.loss, attempt.learning_rate, view.thresholds
    if loss is None or rate is None or len(rate) < LEAST:
        return
    steps, y = positive(loss)
    if len(y) < 2 * LEAST:
        return
    begins = decay_begins(rate, limits)
    for at in [*cliffs(rate, limits.lr_falls), *begins]:
        i = int(np.searchsorted(steps, at))
        if not LEAST <= i <= len(y) - LEAST:
            continue
        fall = best_fall(steps, y, i)
        if at in begins:
            slow = decay_fall(steps, y, (at, decay_ends(rate, limits.idle)), limits.horizon)
            fall = min(fall, slow, key=lambda e: e.t)
        if fall.t <= -limits.known_t and fall.height <= -limits.moved:
            yield explained(view, attempt, Change("lr-decay-drop", at, fall, {"lr_factor": around(rate, at)}))


def cliffs(rate: Series, factor: float) -> list[float]:
    """Steps at which the learning rate falls by ``factor`` between two logged points, not to the very end."""
    v = rate.values
    with np.errstate(all="ignore"):
        falls = np.flatnonzero((v[:-1] > 0) & (v[1:] > 0) & (v[:-1] >= factor * v[1:]))
    runs = falls[np.diff(falls, prepend=-9) > 1]
    return [float(rate.steps[i + 1]) for i in runs] if len(runs) <= EDGES else []


def decay_begins(rate: Series, limits: Thresholds) -> list[float]:
    """The step at which a long constant learning rate begins to fall, smoothly, to a third or less."""
    v = rate.values
    if not np.isfinite(v).all() or v.max() <= 0:
        return []
    flat = np.flatnonzero(v >= STEADY * v.max())
    tail = v[flat[-1] :]
    if len(tail) < LEAST or len(flat) < limits.lasting * len(v) or tail[-1] > limits.lr_decayed * v.max():
        return []
    smooth = bool(np.all(np.diff(tail) <= 0)) and tail[0] < limits.lr_falls * tail[1]
    return [float(rate.steps[flat[-1]])] if smooth else []


def decay_ends(rate: Series, share: float) -> float:
    """The first step at which the learning rate is at its last value, within a share of its highest."""
    v = rate.values
    last = np.flatnonzero(v > v[-1] + share * v.max())[-1]
    return float(rate.steps[min(int(last) + 1, len(v) - 1)])


def decay_fall(steps: Floats, y: Floats, decay: tuple[float, float], horizon: float) -> Excess:
    """How far the loss is under its line in the second half of a decay: it bends there, it does not step.

    The line is fitted to the last ``horizon`` log steps before the decay. A power law with a floor bends the
    other way, so a long line makes no fall of its own.
    """
    begin, end = decay
    a = int(np.searchsorted(steps, begin))
    first = min(int(np.searchsorted(steps, begin * np.exp(-horizon))), a - LEAST)
    line = fit(steps[first:a], y[first:a])
    if line is None:
        return Excess(0.0, 0.0)
    middle, more = 0.5 * (begin + end), 0.5 * (end - begin)  # it keeps what it gained for a while
    parts = ((steps >= middle) & (steps <= stop) for stop in (end, end + more))
    return min((excess(line, steps[part], y[part]) for part in parts), key=lambda e: e.t)


def best_fall(steps: Floats, y: Floats, i: int) -> Excess:
    """The strongest step down after sample ``i``, of windows of 8 to 64 samples a few samples on."""
    tries = [
        step_at(steps, y, i, w, skip)
        for w in (8, 16, 32, 64)
        for skip in (2, w // 2)
        if w <= min(i, len(y) - i)
    ]
    return min(tries, key=lambda e: e.t, default=Excess(0.0, 0.0))


def around(rate: Series, at: float) -> float:
    """Learning rate after over before a step."""
    i = index_at(rate, at)
    j = min(i + 2, len(rate) - 1)
    before = float(rate.values[max(i - 2, 0)])
    return float(rate.values[j]) / before if before > 0 else 1.0


def explained(view: View, attempt: AttemptView, change: Change) -> Finding:
    """A planned change as a finding; it takes the step of the kernel's drop there, so that it replaces it."""
    loss, fall, limits = attempt.loss, change.fall, view.thresholds
    assert loss is not None
    drop = next((e for e in view.events(loss) if e.kind is Kind.DROP and near(loss, e, change.step)), None)
    start = int(loss.steps[drop.onset]) if drop else int(change.step)
    return found(
        change.pattern,
        attempt,
        loss,
        (start, None, int(loss.steps[drop.end]) if drop and drop.end is not None else None),
        severity=0.1,
        confidence=sure(fall.t, limits.known_t),
        evidence={**change.evidence, "drop_log": -fall.height},
        criteria=[
            at_least("fall of the loss there", -fall.t, "standard errors", limits.known_t),
            at_least("fall of the loss there", -fall.height, "log units", limits.moved),
        ],
        runner_up=("grokking", "nothing had been changed there"),
    )


def near(loss: Series, event: Event, at: float) -> bool:
    """Whether a step lies within a drop of the loss, or 16 samples around its onset."""
    i = index_at(loss, at)
    return event.onset - LEAST <= i <= max(event.onset + LEAST, event.end or 0)


# ---- batch size --------------------------------------------------------------------------------------


def batch_ramp(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """The whole ramp as one finding, and each drop of the loss that it explains."""
    loss, size = attempt.loss, attempt.first(Role.BATCH_SIZE)
    steps, y = positive(loss) if loss is not None else (np.empty(0), np.empty(0))
    at, factor = ramp(size)
    limits = view.thresholds
    if loss is None or factor < limits.batch_grows:
        return
    a, b = int(np.searchsorted(steps, at[0])), int(np.searchsorted(steps, at[-1]))
    if a < LEAST or len(y) - b < LEAST:
        return
    young = int(np.searchsorted(steps, 0.25 * at[0]))  # the noise of the first steps is another one
    calm, calm_t = quieter(y[max(a - NOISE, young) : a], y[b : b + NOISE])
    few = at if len(at) <= EDGES else at[:0]
    falls = [best_fall(steps, y, int(np.searchsorted(steps, s))) for s in few]
    t = min((e.t for e in falls if e.height <= -limits.moved), default=0.0)
    tests = [
        at_most("noise after over before", calm, "factor", factor ** (-0.5 * limits.batch_root)),
        at_least("fall of the noise", calm_t, "standard errors", limits.single_t),
        at_least("strongest step down with the batch size", -t, "standard errors", limits.known_t),
    ]
    if not (tests[0].met and tests[1].met) and not tests[2].met:
        return
    evidence = {"batch_factor": factor, "noise_factor": calm, "ramps": len(at)}
    where = (at[0], None, at[-1])
    yield found(
        "batch-ramp", attempt, loss, where, severity=0.1, confidence=0.8, evidence=evidence, criteria=tests
    )
    for step, fall in zip(few, falls, strict=True):
        if any(e.kind is Kind.DROP and near(loss, e, float(step)) for e in view.events(loss)):
            yield explained(view, attempt, Change("batch-ramp", float(step), fall, evidence))


def quieter(before: Floats, after: Floats) -> tuple[float, float]:
    """Noise after over noise before, and how many errors it fell by."""
    factor = max(tremble(after), FLOOR) / max(tremble(before), FLOOR)
    return factor, -float(np.log(factor)) / (ONE_SAMPLE * (1 / len(before) + 1 / len(after)) ** 0.5)


def ramp(size: Series | None) -> tuple[Floats, float]:
    """Steps at which the batch grows, and by how much it grows in all."""
    if size is None:
        return np.empty(0), 1.0
    ok = np.isfinite(size.values) & (size.values > 0)
    steps, batch = size.steps[ok].astype(float), size.values[ok]
    grows = np.flatnonzero(np.diff(batch) > 0) + 1
    return steps[grows], float(batch[grows[-1]] / batch[grows[0] - 1]) if len(grows) else 1.0
