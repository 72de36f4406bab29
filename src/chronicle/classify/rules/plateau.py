"""Plateau: learning that stops before its time.

Sees: a loss that stands still while the plan goes on.
Rule: log(loss) over log(step) has a knee, better than any smooth bend by 6 standard errors; the slope
after it is a tenth of the slope before or less, and lasts for a quarter of the log or more. A learning
rate that falls by 1.3 around the knee, or is under a tenth of its highest there, explains it.
Or: the learning rate is at nothing (1 % of its highest value) for the last quarter of the log or more,
and the loss falls by less than 1.5 % (or three errors) there: trained for nothing.
Or: the loss falls by less than that from the first third to the last of a log over which the steps
double, and batches differ by 3 % at most, as they do where nothing is known of them.
Blind to: smooth convergence. False alarm: a search for frozen parameters in a run that has converged.
Source: IDEFICS 15 k to 26 k; BloombergGPT v0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Kind
from chronicle.classify.measure import MEDIAN_ERROR, log_step, positive, scale, sure, wiggle
from chronicle.classify.report import at_least, criterion, found
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats

PATTERNS = ("plateau",)
KNEES = 24  # places at which a knee is tried
FLAT_LEAST = 16  # [samples] in which a loss that stays where it is can be told
LEAST = 64  # [samples] of a loss in which a knee can be told
BINS = 48  # of log step, in which a knee is looked for
SPAN = 4.0  # [times the first step] a shorter log has no course over log(step)


def find(view: View) -> Iterator[Finding]:
    for attempt in view.attempts:
        yield from idle(view, attempt) or flat(view, attempt) or plateau(view, attempt)


def plateau(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """A knee in log(loss) over log(step), after which hardly anything is learned."""
    loss = attempt.loss
    if loss is None:
        return
    steps, y = positive(loss)
    if len(y) < LEAST or steps[-1] < SPAN * max(steps[0], 1.0):
        return
    limits = view.thresholds
    knee = bend(*binned(steps, y, limits.settling))
    if knee is None or knee[1] < limits.flat_t:
        return
    place, t, before, after = knee
    start = float(np.exp(place))
    if before >= 0 or abs(after) > abs(before) * limits.flat_share:
        return
    lasts = (steps[-1] - start) / (steps[-1] - steps[0])
    if lasts < limits.lasting or lr_comes_down(attempt, limits, start, steps[-1]):
        return
    if any(
        e.onset > np.searchsorted(loss.steps, start)
        for e in view.events(loss)
        if e.kind in (Kind.OPEN, Kind.DROP)
    ):
        return
    yield found(
        "plateau",
        attempt,
        loss,
        (start, None, None),
        severity=0.4,
        confidence=0.8 * sure(t, limits.flat_t),
        evidence={"slope_before_log_per_log_step": before, "slope_after_log_per_log_step": after},
        criteria=[
            criterion("knee against a smooth bend", t, "standard errors", f">= {limits.flat_t:g}", True),
            criterion("slope after over before", after / before, "share", f"<= {limits.flat_share:g}", True),
            criterion("lasts for", lasts, "share of the log", f">= {limits.lasting:g}", True),
        ],
        runner_up=("near-perfect", "the curve had bent smoothly, as converging ones do"),
    )


def flat(view: View, attempt: AttemptView) -> list[Finding]:
    """A calm loss that gains nothing while the steps double, in a log that does not begin with the run."""
    loss, limits = attempt.loss, view.thresholds
    steps, y = positive(loss) if loss is not None else (np.empty(0), np.empty(0))
    if loss is None or len(y) < FLAT_LEAST or steps[-1] < limits.longer * max(steps[0], 1.0):
        return []
    third, noise = len(y) // 3, view.noise(loss)
    fall = float(np.median(y[:third]) - np.median(y[-third:]))
    error = MEDIAN_ERROR * wiggle(y) * (2 / third) ** 0.5
    if steps[0] <= step_gap(loss) or noise > limits.knowing or view.events(loss):
        return []
    if abs(fall) >= max(limits.moved, limits.single_t * error) or float(np.ptp(y)) >= limits.learned:
        return []
    return [
        found(
            "plateau",
            attempt,
            loss,
            (steps[0], None, None),
            severity=0.4,
            confidence=0.7,
            evidence={"fall_log": fall, "noise_log": noise},
            criteria=[
                criterion("fall of the loss meanwhile", fall, "log units", f"< {limits.moved:g}", True),
                at_least("last step over the first", steps[-1] / max(steps[0], 1.0), "times", limits.longer),
            ],
            runner_up=("near-perfect", "the loss had fallen while the steps doubled"),
        )
    ]


def idle(view: View, attempt: AttemptView) -> list[Finding]:
    """A flat end of the log that is trained with a learning rate of nothing."""
    loss, rate, limits = attempt.loss, attempt.learning_rate, view.thresholds
    if loss is None or rate is None or len(rate) < LEAST:
        return []
    steps, y = positive(loss)
    highest = float(np.max(rate.values, where=np.isfinite(rate.values), initial=0.0))
    works = np.flatnonzero(~(rate.values <= limits.idle * highest))
    if highest <= 0 or not len(works) or works[-1] + 1 == len(rate):
        return []
    start = float(rate.steps[works[-1] + 1])
    rest = y[steps >= start]
    lasts = (steps[-1] - start) / (steps[-1] - steps[0])
    if len(rest) < LEAST or lasts < limits.lasting:
        return []
    half = len(rest) // 2
    fall = float(np.median(rest[:half]) - np.median(rest[half:]))
    error = MEDIAN_ERROR * wiggle(rest) * (2 / max(half, 1)) ** 0.5
    if abs(fall) >= max(limits.moved, limits.single_t * error):
        return []
    tests = [
        criterion("learning rate at nothing for", lasts, "share of the log", f">= {limits.lasting:g}", True),
        criterion("fall of the loss meanwhile", fall, "log units", f"< {limits.moved:g}", True),
    ]
    evidence = {"learning_rate_share": float(rate.values[-1]) / highest, "fall_log": fall}
    why = "the log had ended where the learning rate did"
    return [
        found(
            "plateau",
            attempt,
            loss,
            (start, None, None),
            severity=0.4,
            confidence=0.9,
            evidence=evidence,
            criteria=tests,
            runner_up=("lr-decay-drop", why),
        )
    ]


def binned(steps: Floats, y: Floats, settling: float) -> tuple[Floats, Floats, float]:
    """Medians in equal bins of log step, the share ``settling`` of the log left out, and the error of one."""
    x = log_step(steps)
    edges = np.linspace(
        np.log(max(steps[0] + settling * (steps[-1] - steps[0]), 1.0)), x[-1] + 1e-9, BINS + 1
    )
    where = np.digitize(x, edges) - 1
    kept = [k for k in range(BINS) if np.sum(where == k) >= 3]
    centres = np.array([np.median(x[where == k]) for k in kept])
    values = np.array([np.median(y[where == k]) for k in kept])
    second = np.diff(values, 2) if len(values) > 4 else np.zeros(1)
    return centres, values, max(scale(second) / np.sqrt(6), 2e-4)


def bend(x: Floats, y: Floats, error: float) -> tuple[float, float, float, float] | None:
    """The best knee of two straight lines: (place, t against a parabola, slope before, slope after)."""
    n = len(x)
    if n < 16:
        return None
    parabola = float(np.sum((y - np.polyval(np.polyfit(x - x.mean(), y, 2), x - x.mean())) ** 2))
    best: tuple[float, float, float, float] | None = None
    for place in np.linspace(x[4], x[-5], KNEES):
        design = np.stack([np.ones(n), x - place, np.maximum(x - place, 0)], axis=1)
        coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
        left = float(np.sum((y - design @ coefficients) ** 2))
        t = float(np.sqrt(max(parabola - left, 0.0)) / error)
        if best is None or t > best[1]:
            before, change = float(coefficients[1]), float(coefficients[2])
            best = (float(place), t, before, before + change)
    return best


def lr_comes_down(attempt: AttemptView, limits: Thresholds, start: float, end: float) -> bool:
    """Whether the learning rate fell around the knee, or was low there already."""
    rate = attempt.learning_rate
    if rate is None:
        return False
    ok = np.isfinite(rate.values)
    steps, values = rate.steps[ok], rate.values[ok]
    seen = values[(steps >= 0.9 * start) & (steps <= start + 0.1 * (end - start))]
    falls = len(seen) > 1 and bool(seen[0] > limits.lr_falls * seen[-1])
    return falls or (len(seen) > 0 and bool(seen[-1] < limits.lr_low * values.max()))
