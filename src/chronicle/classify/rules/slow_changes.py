"""Turns and steps of the level that only averages show.

divergence-no-spike (a turn at the end of a log, too late or too slow for the kernel)
    Sees: a loss that ends above its own earlier minimum, on some scale of averaging.
    Rule: of the medians of blocks of 8, 16, ... samples the last three lie above the lowest, by 1 %, by one
    noise scale, half as far again as the loss had ever risen and come back, and by six standard errors, or by
    four together or in order (`last_block`). Stretches of findings that are over are left out.
    Blind to: series that cross zero, and logs of fewer than 48 points.
    False alarm: as divergence. Source: 104B tr8 experiments 7 to 10, which rose by 1 to 3 % before the end.

level-shift (up or down by about one noise scale)
    Sees: a step of the level that single samples hide, up or down, at any place of a log.
    Rule: over windows of 64 to 512 samples on either side, two parabolas in the sample index share slope and
    curvature but not the level: the step between them is 6.5 standard errors (`steps_of`), 0.7 noise scales
    and 0.5 % or more, it stays (`stays`), and no change of slope fits better (`is_kink`).
    Blind to: logs of fewer than 256 samples, steps in the first 192 and the last 64, what is already an
    event there, places where the log changes its cadence, and falls where no learning rate is logged. What
    was planned (learning rate, batch size, epoch) is no shift.
    False alarm: a search for a change of data. Source: shards of published 124M runs; Marin data shifts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from chronicle.classify import measure
from chronicle.classify.course import LEVEL_SAMPLES, came_back
from chronicle.classify.kernel import Kind
from chronicle.classify.measure import clipped_difference_noise, difference_noise, median, positive, scale
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.loss_shapes import NO_SPIKE, SHIFT, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, is_back_held_out, kept
from chronicle.model import Finding, Floats, Role, Series

STEP_WINDOWS = (64, 128, 256, 512)  # samples on either side of a step
MOST_SAMPLES = 4096  # that are searched; a longer log is reduced to means of blocks
PASSING = (Kind.BACK, Kind.LONE)
EARLY_WINDOWS = 3  # at the start of a log, in which a power law bends too much for a parabola
KINK_PLACES = np.linspace(-0.75, 0.75, 13)  # in windows from the step, where a slope may change instead
FEWEST_POINTS = 48  # of a log that can be cut into blocks


class LateRise(NamedTuple):
    """The step at which a loss turned, how far it rose in log units, and the samples of a block."""

    start: int
    rise: float
    errors: float
    block: int


def _find_turn(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    is_open = any(f.end_step is None for f in typed_findings(view, loss))
    if is_open or (turn := late_turn(view, loss)) is None:
        return
    (steps, y), limits = positive(loss), view.thresholds
    if came_back(steps, y, int(np.searchsorted(steps, turn.start)), turn.rise, limits) is not None:
        return
    if is_back_held_out(attempt, turn.start, limits.back_cap, (turn.start + steps[-1]) / 2):
        return  # the data changed, or the batches are too noisy to show that it is over
    enough = f">= {limits.turn_t:g}, or {limits.turn_joint_t:g} together"
    checks = [
        at_least("end over the minimum", turn.rise, "log units", limits.turn_rise, "rise_log"),
        Check("end over the minimum", turn.errors, "standard errors", enough),
        *noted(residual_log=turn.rise, block_samples=turn.block),
        *noted(end_share=np.exp(median(y[-LEVEL_SAMPLES:]) - y[:2].mean())),
    ]
    at, severity = At(attempt, loss, turn.start, loss.steps[-1]), 0.7 + min(turn.rise, 0.3)
    confidence = 0.5 + 0.5 * (1.0 - limits.turn_t / max(turn.errors, limits.turn_t))
    flat = ("plateau", "the level had stood still instead of rising")
    yield finding(NO_SPIKE, at, checks, severity, confidence, flat)


@kept
def late_turn(view: View, loss: Series) -> LateRise | None:
    """The late rise of a loss, on the first scale of averaging that shows one."""
    (steps, y), noise = positive(loss), view.noise(loss)
    for f in typed_findings(view, loss):
        if f.end_step is not None and f.end_step < loss.steps[-1]:
            rest = (steps < f.start_step) | (steps > f.end_step)
            steps, y = steps[rest], y[rest]
    if len(y) < FEWEST_POINTS:
        return None
    blocks = (8 << k for k in range(64) if 8 << k <= len(y) // 6)
    return next(filter(None, (last_block(view.thresholds, steps, y, block, noise) for block in blocks)), None)


def last_block(limits: Thresholds, steps: Floats, y: Floats, block: int, noise: float) -> LateRise | None:
    """The test on one scale: whether the end is above the minimum, further than by chance and than before."""
    medians = block_medians(y, block)
    count, low = len(medians), int(np.argmin(medians))
    rise = float(medians[-1] - medians[low])
    over = medians - np.minimum.accumulate(medians)
    usual = float(np.max(over[2 : low + 1], initial=0.0))
    least = max(limits.turn_rise, noise, limits.turn_usual * usual)
    if not 1 <= low <= count - 4 or rise < least or (medians[-3:] - medians[low]).min() <= 0.3 * rise:
        return None
    alike = np.sqrt(2) * difference_noise(block_medians(y, 2 * block))  # neighbours count once
    error = max(difference_noise(medians), alike, measure.MEDIAN_ERROR * noise / np.sqrt(block))
    up = low + int(np.flatnonzero(medians[low:] > medians[low] + 0.15 * rise)[0])
    since = min(count - up, up)
    apart = float(np.mean(medians[up:]) - np.mean(medians[up - since : up]))
    before = y[: len(y) - (count - 1 - low) * block]  # the whole log up to the minimum
    sums = np.cumsum(np.r_[0.0, block_medians(before, block, len(before))])
    levels = (sums[since:] - sums[:-since]) / since
    if 0 < apart < limits.turn_usual * np.max(levels[since:] - levels[:-since], initial=0.0):
        return None
    together = apart / (error * float(np.sqrt(2 / since))) if since >= 6 else 0.0
    in_order = measure.trend(medians[low:]) >= measure.TREND_ERRORS  # each block higher than the last
    need = limits.turn_joint_t if in_order else limits.turn_t
    if rise < max(limits.turn_clear, need * error) and together < limits.turn_joint_t:
        return None
    return LateRise(int(steps[len(y) - (count - up) * block]), rise, max(rise / error, together), block)


def block_medians(y: Floats, block: int, most: int = 64) -> Floats:
    """Medians of the last (at most 64, or ``most``) blocks of so many samples."""
    count = min(len(y) // block, most)
    return measure.row_medians(y[len(y) - count * block :].reshape(count, block))


class Step(NamedTuple):
    """A step at sample ``at`` of the (perhaps averaged) log: height in log units, evidence in errors."""

    at: int
    height: float
    t: float
    window: int


def _find_shifts(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    steps, y = positive(loss)
    if len(y) < 4 * STEP_WINDOWS[0]:
        return
    block, limits = max(len(y) // MOST_SAMPLES, 1), view.thresholds
    y = _averages(y, block)
    steps, noise = steps[: len(y) * block : block], max(clipped_difference_noise(y), 1e-4)
    least = max(limits.step_least, limits.step_noise * noise)
    for step in clear_steps(y, noise, least, limits):
        at, reach = float(steps[step.at]), float(steps[step.at] - steps[max(step.at - step.window // 2, 0)])
        known = near_event(view, loss, at, reach, EARLY_WINDOWS * step.window * block)
        gaps = np.array_split(np.diff(steps[step.at - step.window : step.at + step.window + 1]), 16)
        usual = [*map(median, gaps)]  # where the cadence changes, or did so before, the trend bends
        bends = max(usual) > 2 * min(usual) or at < EARLY_WINDOWS * step.window * usual[8]
        if known or bends or _planned(attempt, at, 2 * reach, step.height):
            continue
        checks = [
            *noted(step_log=step.height, noise_log=noise, window_samples=step.window * block),
            at_least("step of the level", abs(step.t), "standard errors", limits.step_t),
            at_least("step of the level", abs(step.height), "log units", least),
        ]
        planned = ("lr-decay-drop", "the learning rate or an epoch had changed there")
        other = ("spike-slow-recovery", "it had come back") if step.height > 0 else planned
        confidence = measure.confidence_of(step.t, limits.step_t)
        yield finding(SHIFT, At(attempt, loss, at), checks, 0.3 + abs(step.height), confidence, other)


def _averages(y: Floats, block: int) -> Floats:
    return np.asarray(y[: len(y) // block * block].reshape(-1, block).mean(axis=1))


def clear_steps(y: Floats, noise: float, least: float, limits: Thresholds) -> Iterator[Step]:
    """Steps of at least ``least`` log units that pass the limits, the surest first, a window apart."""
    level = measure.running(y, 15)
    calm = level + np.clip(y - level, -3 * noise, 3 * noise)
    tried = [s for w in STEP_WINDOWS if len(y) >= 4 * w for s in steps_of(calm, w, noise, limits.step_t)]
    chosen: list[Step] = []
    for step in sorted(tried, key=lambda s: -abs(s.t)):
        if abs(step.t) < limits.step_t:
            return
        near = any(abs(step.at - k.at) < max(step.window, k.window) for k in chosen)
        if not near and abs(step.height) >= least and stays(calm, step) and not is_kink(calm, step):
            chosen.append(step)
            yield step._replace(at=locate(calm, step))


def locate(y: Floats, step: Step) -> int:
    """The sample of a step by the shortest window: a long one detects a step, a short one locates it."""
    first, short = step.at - step.window // 2, STEP_WINDOWS[0]
    part = y[max(first - short, 0) : step.at + step.window // 2 + short]
    heights = np.correlate(part, step_weights(short), "valid") * np.sign(step.height)
    return max(first - short, 0) + short + int(np.argmax(heights))


def steps_of(y: Floats, window: int, noise: float, least_t: float) -> Iterator[Step]:
    """The step at every place where it is largest around, if it is as sure as ``least_t``."""
    weights = step_weights(window)
    heights = np.correlate(y, weights, "valid")
    usual = scale(heights) if len(heights) >= 8 * window else 0.0
    white = noise * float(np.sqrt(np.sum(weights**2)))
    means = _averages(y, window // 8)
    # the error of a step relative to that of the mean of a sixteenth of both windows
    of_means = float(np.sqrt(np.sum(weights.reshape(16, -1).sum(axis=1) ** 2)))
    broad = scale(np.diff(means)) / 2**0.5 * of_means
    half, first = window // 2, (EARLY_WINDOWS - 1) * window
    for i in range(first, len(heights), half):
        j = i + int(np.argmax(np.abs(heights[i : i + half])))
        height, error = float(heights[j]), max(usual, white, broad)
        if abs(height) >= least_t * error and j > first:  # else a flank of what lies too early to be judged
            # from noise that is slower than samples, without the difference of means across the step
            apart = np.delete(np.diff(y[j : j + 2 * window].reshape(16, -1).mean(axis=1)), 7)
            error = max(error, scale(apart) / 2**0.5 * of_means)
            yield Step(j + window, height, height / error, window)


@cache
def step_weights(window: int) -> Floats:
    """Weights whose sum is the step in the middle, by least squares, whatever the slope and the bend."""
    return np.asarray(np.linalg.pinv(design(window))[3])


def design(window: int) -> Floats:
    """Level, slope, bend and step in 2 * window samples, as columns."""
    u = (np.arange(2 * window) - window + 0.5) / window
    return np.stack([np.ones_like(u), u, u**2, (u > 0).astype(float)], axis=1)


def stays(y: Floats, step: Step) -> bool:
    """Whether the outer halves of both windows differ by half of the step or more, the same way."""
    at, w, half = step.at, step.window, step.window // 2
    near, before, after = (median(y[at + a : at + b]) for a, b in ((-half, 0), (-w, -half), (half, w)))
    if step.height <= 0:
        return bool(after - before <= 0.5 * step.height)
    fall = 2 * min(near - before, 0.0)  # which goes on for as long as it was seen
    return bool(after - (before + fall) >= 0.5 * step.height)


def is_kink(y: Floats, step: Step) -> bool:
    """Whether a change of the slope fits both windows better than a step."""
    part, stepping = y[step.at - step.window : step.at + step.window], design(step.window)
    kinks = (np.column_stack([stepping[:, :3], np.maximum(stepping[:, 1] - at, 0.0)]) for at in KINK_PLACES)
    stepped, *bent = (np.linalg.lstsq(columns, part)[1].item() for columns in (stepping, *kinks))
    return bool(min(bent) < stepped)


def near_event(view: View, loss: Series, at: float, reach: float, bends: int) -> bool:
    """Whether a step belongs to an event, which reaches as far again, or bends the loss after it."""
    for event in view.events(loss):
        end, passing = len(loss) - 1 if event.end is None else event.end, event.kind in PASSING
        end += end - event.onset if passing else 0
        if event.height >= view.thresholds.spike_height and (passing or event.kind is Kind.OPEN):
            end = max(end, event.onset + bends)
        if loss.steps[event.onset] - reach <= at <= loss.steps[min(end, len(loss) - 1)] + reach:
            return True
    return False


def _planned(attempt: AttemptView, at: float, reach: float, height: float) -> bool:
    """Whether a setting changed there; without a logged rate, every fall may be a cut of it."""
    if height < 0 and attempt.learning_rate is None:
        return True
    for series in attempt.by_role(Role.LEARNING_RATE, Role.BATCH_SIZE, Role.EPOCH):
        near = series.values[np.isfinite(series.values) & (np.abs(series.steps - at) <= reach)]
        low, high = near.min(initial=np.inf), near.max(initial=-np.inf)
        if np.floor(high) > np.floor(low) if series.role is Role.EPOCH else high > 1.15 * low:
            return True
    return False


TURN = Rule("late-rise", (NO_SPIKE,), Rule.by_loss(_find_turn))
STEPS = Rule("small-shifts", (SHIFT,), Rule.by_loss(_find_shifts))
