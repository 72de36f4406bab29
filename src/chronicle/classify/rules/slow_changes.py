"""Rises and steps that the kernel cannot date: at the very end of a log, and in its first samples.

divergence-no-spike (a slow turn upwards at the end of a log)
    Sees: a loss that ends above its own earlier minimum.
    Rule: in medians of blocks of 8, 16, 32 … samples, the last three blocks lie above the lowest one, and the
    last by 1 % and more than chance (`last_block` has the tests) and by half as much again as the loss had
    ever risen and come back.
    Blind to: losses that cross zero, and logs of fewer than 48 points.
    False alarm: a healthy run is stopped, the most expensive mistake of all.
    Source: 104B experiments 7 to 10 (tr8), where a rise of 1 to 3 % came before the end.

level-shift (within the first eight samples)
    Sees: a step up so early that the kernel has no level to compare with.
    Rule: all values before the step lie below all values after it, by half of the step or more, and the step
    is 10 % and six noise scales or more. The very first value of a run is a guess and no level.
    Blind to: steps down.
    False alarm: somebody looks for a change of data that did not happen.
    Source: the field: resumed logs that begin with other weights, and second terms of a loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from chronicle.classify.course import came_back
from chronicle.classify.measure import (
    log_values,
    median,
    positive,
    row_medians,
    wiggle,
)
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.loss_shapes import BEFORE, NO_SPIKE, RISES, SHIFT, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, kept
from chronicle.model import Finding, Floats, Series, Steps

FEWEST = 48  # points of a log that can be cut into blocks


class Turn(NamedTuple):
    """Where the loss turned and how far it rose, log units; ``block`` in samples."""

    start: int
    rise: float
    errors: float
    block: int


def _find_turn(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits = view.thresholds
    if any(f.end_step is None for f in typed_findings(view, loss)):
        return
    turn, (steps, y) = risen(view, loss), positive(loss)
    if turn is None:
        return
    if came_back(steps, y, int(np.searchsorted(steps, turn.start)), turn.rise, limits) is not None:
        return
    enough = f">= {limits.turn_t:g}, or {limits.turn_joint_t:g} together"
    checks = [
        at_least("end over the minimum", turn.rise, "log units", limits.turn_rise, "rise_log"),
        Check("end over the minimum", turn.errors, "standard errors", enough),
        *noted(residual_log=turn.rise, block_samples=turn.block),
    ]
    at, severity = At(attempt, loss, turn.start, loss.steps[-1]), 0.7 + min(turn.rise, 0.3)
    confidence = 0.5 + 0.5 * (1.0 - limits.turn_t / max(turn.errors, limits.turn_t))
    flat = ("plateau", "the level had stood still instead of rising")
    yield finding(NO_SPIKE, at, checks, severity, confidence, flat)


@kept
def risen(view: View, loss: Series) -> Turn | None:
    """The first scale on which the loss ends above its minimum, or None."""
    y = log_values(loss)
    finite = np.isfinite(y)
    if finite.sum() < 0.98 * np.isfinite(loss.values).sum():
        return None
    for f in typed_findings(view, loss):
        if f.end_step is not None and f.end_step < loss.steps[-1]:
            finite &= (loss.steps < f.start_step) | (loss.steps > f.end_step)
    if finite.sum() < FEWEST:
        return None
    steps, y, noise = loss.steps[finite], y[finite], view.noise(loss)
    blocks = (8 << k for k in range(64) if 8 << k <= len(y) // 6)
    turns = (last_block(view.thresholds, steps, y, block, noise) for block in blocks)
    return next((turn for turn in turns if turn is not None), None)


def last_block(limits: Thresholds, steps: Steps, y: Floats, block: int, noise: float) -> Turn | None:
    """The test on one scale: is the end above the minimum by more than chance and than ever before?"""
    medians = block_medians(y, block)
    count, low = len(medians), int(np.argmin(medians))
    rise = float(medians[-1] - medians[low])
    over = medians - np.minimum.accumulate(medians)
    usual = float(np.max(over[2 : low + 1], initial=0.0))
    if not 2 <= low <= count - 4 or (medians[-3:] - medians[low]).min() <= 0.3 * rise:
        return None
    if rise < max(limits.turn_rise, noise, limits.turn_usual * usual):
        return None
    error = max(
        wiggle(medians), np.sqrt(2) * wiggle(block_medians(y, 2 * block)), 1.25 * noise / np.sqrt(block)
    )
    up = low + int(np.flatnonzero(medians[low:] > medians[low] + 0.15 * rise)[0])
    since = min(count - up, up)
    apart = float(np.mean(medians[up:]) - np.mean(medians[up - since : up]))
    together = apart / (error * float(np.sqrt(2 / since))) if since >= 6 else 0.0
    if not (rise >= max(limits.turn_clear, limits.turn_t * error) or together >= limits.turn_joint_t):
        return None
    return Turn(int(steps[len(y) - (count - up) * block]), rise, max(rise / error, together), block)


def block_medians(y: Floats, block: int) -> Floats:
    """Medians of the last (at most 64) blocks of so many samples."""
    count = min(len(y) // block, 64)
    return row_medians(y[len(y) - count * block :].reshape(count, block))


def _first_step(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """A step within the first samples: what comes before it and what comes after it do not overlap."""
    (steps, y), limits = positive(loss), view.thresholds
    least = max(limits.bad_end, limits.turn_t * wiggle(y))
    anew = not attempt.index and len(y) > 0 and steps[0] <= 0.02 * steps[-1]  # its first value is a guess
    for i in range(1 + anew, BEFORE + 1) if len(loss) == len(y) >= 2 * BEFORE else ():
        height, apart = median(y[i:]) - median(y[:i]), float(y[i:].min() - y[:i].max())
        if height >= least and apart >= limits.midway * height:
            checks = [
                at_least("level since over the level before", height, "log units", least, "residual_log"),
                at_least("lowest since over the highest before", apart / height, "of that", limits.midway),
            ]
            at, back = At(attempt, loss, loss.steps[i]), ("spike-slow-recovery", "it had come back")
            yield finding(SHIFT, at, checks, 0.3 + height, 0.8, back)
            return


TURN = Rule.of_losses("late-rise", (NO_SPIKE,), _find_turn)
FIRST = Rule.of_losses("first-step", (SHIFT,), _first_step, covers=RISES)
