"""U-turn at the end of a log: too late or too slow to have added up in the kernel.

Sees: a loss that ends above its own earlier minimum, on some scale of averaging.
Rule: with block medians of 8, 16, ... samples (the log cut into 6 to 64 blocks), the last three blocks lie
above the lowest, the last by 1 %, by one noise scale, by half as much again as the loss had ever risen and
come back; and either by 3 % and six standard errors, or six blocks and more since the turn together by four.
The error is that of blocks twice as long as well, so that neighbours that say the same count once.
Stretches of findings that are over are left out, and nothing else is open.
Blind to: series that cross zero, and logs of fewer than 48 points.
False alarm: as divergence. Source: 104B tr8 experiments 7 to 10, where a rise of 1 to 3 % came before the
end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.loss_shapes import NO_SPIKE, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, log_values
from chronicle.model import Finding, Floats, Series, Steps

FEWEST = 48  # points of a log that can be cut into blocks


@dataclass(frozen=True)
class Turn:
    """Where the loss turned and how far it rose, log units; ``block`` in samples."""

    start: int
    rise: float
    errors: float
    block: int


def find(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits = view.thresholds
    if any(f.end_step is None for f in typed_findings(view, loss)):
        return
    turn = risen(view, loss)
    if turn is None:
        return
    enough = f">= {limits.turn_t:g}, or {limits.turn_joint_t:g} together"
    yield finding(
        NO_SPIKE,
        At(attempt, loss, turn.start, loss.steps[-1]),
        [
            at_least("end over the minimum", turn.rise, "log units", limits.turn_rise, "rise_log"),
            Check("end over the minimum", turn.errors, "standard errors", enough),
            *noted(residual_log=turn.rise, block_samples=turn.block),
        ],
        severity=0.7 + min(turn.rise, 0.3),
        confidence=0.5 + 0.5 * (1.0 - limits.turn_t / max(turn.errors, limits.turn_t)),
        runner_up=("plateau", "the level had stood still instead of rising"),
    )


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
        spread(medians), np.sqrt(2) * spread(block_medians(y, 2 * block)), 1.25 * noise / np.sqrt(block)
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
    medians: Floats = np.median(y[len(y) - count * block :].reshape(count, block), axis=1)
    return medians


def spread(values: Floats) -> float:
    """Robust scale of values from differences of neighbours, in which a trend does not count."""
    between = np.diff(values)
    return 1.4826 * float(np.median(np.abs(between - np.median(between)))) / float(np.sqrt(2))


RULE = Rule.of_losses("late-rise", (NO_SPIKE,), find)
