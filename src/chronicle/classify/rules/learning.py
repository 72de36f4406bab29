"""The course of learning: learning that stops, turns into memorising, or comes when nobody expects it.

plateau
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

overfitting
    Sees: validation loss that turns upward while training loss goes on falling.
    Rule: the minimum of the validation loss (of running medians) lies before nine tenths of the run; the
    median of the last third of what follows it (three points or more) is 1.5 % and five standard errors
    above it; the training loss is lower than it was then, by 1.5 % or more. Of three to five evaluations each
    is worse than the one before, by 15 % in all.
    Blind to: runs without validation. False alarm: a run is stopped too early.
    Source: fast.ai; Muennighoff et al. 2305.16264 (epochs).

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
from chronicle.classify.measure import MEDIAN_ERROR, fit, log_step, positive, running, scale, sure, wiggle
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.counters import step_gap
from chronicle.model import Finding, Floats, Role, Series

KNEES = 24  # places at which a knee is tried
FLAT_LEAST = 16  # [samples] in which a loss that stays where it is can be told
LEAST = 64  # [samples] of a loss in which a knee or a sudden drop can be told
BINS = 48  # of log step, in which a knee is looked for
SPAN = 4.0  # [times the first step] a shorter log has no course over log(step)
FEW = 6  # evaluations of which a noise can be told
CONVERGED = ("near-perfect", "the curve had bent smoothly, as converging ones do")
FELL = ("near-perfect", "the loss had fallen while the steps doubled")


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if attempt.loss is not None:
        flat = idle(view, attempt, attempt.loss) or unmoved(view, attempt, attempt.loss)
        yield from flat or _knee(view, attempt, attempt.loss)
        yield from _overfitting(view, attempt, attempt.loss)
    yield from late_generalisation(view, attempt) or _sudden_improvement(view, attempt)


# ---- plateau -----------------------------------------------------------------------------------------


def _knee(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    steps, y = positive(loss)
    if len(y) < LEAST or steps[-1] < SPAN * max(steps[0], 1.0):
        return
    limits = view.thresholds
    best = bend(*binned(steps, y, limits.settling))
    if best is None or best[1] < limits.flat_t:
        return
    place, t, before, after = best
    start = float(np.exp(place))
    if before >= 0 or abs(after) > abs(before) * limits.flat_share:
        return
    lasts = (steps[-1] - start) / (steps[-1] - steps[0])
    if lasts < limits.lasting or _lr_comes_down(attempt, limits, start, steps[-1]):
        return
    later = [e for e in view.events(loss) if e.onset > np.searchsorted(loss.steps, start)]
    if any(e.kind in (Kind.OPEN, Kind.DROP) for e in later):
        return
    checks = [
        *noted(slope_before_log_per_log_step=before, slope_after_log_per_log_step=after),
        Check("knee against a smooth bend", t, "standard errors", f">= {limits.flat_t:g}"),
        Check("slope after over before", after / before, "share", f"<= {limits.flat_share:g}"),
        Check("lasts for", lasts, "share of the log", f">= {limits.lasting:g}"),
    ]
    at = At(attempt, loss, start)
    confidence = 0.8 * sure(t, limits.flat_t)
    yield finding("plateau", at, checks, severity=0.4, confidence=confidence, runner_up=CONVERGED)


def unmoved(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
    """A calm loss that gains nothing while the steps double, in a log that does not begin with the run."""
    limits = view.thresholds
    steps, y = positive(loss)
    if len(y) < FLAT_LEAST or steps[-1] < limits.longer * max(steps[0], 1.0):
        return []
    third, noise = len(y) // 3, view.noise(loss)
    if steps[0] <= step_gap(loss) or noise > limits.knowing or view.events(loss):
        return []
    fall = fallen(y, y[:third], y[-third:], limits)
    if fall is None or float(np.ptp(y)) >= limits.learned:
        return []
    doubled = at_least("last step over the first", steps[-1] / max(steps[0], 1.0), "times", limits.longer)
    checks = [fall, *noted(noise_log=noise), doubled]
    at = At(attempt, loss, steps[0])
    return [finding("plateau", at, checks, severity=0.4, confidence=0.7, runner_up=FELL)]


def idle(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
    """A flat end of the log that is trained with a learning rate of nothing."""
    rate, limits = attempt.learning_rate, view.thresholds
    if rate is None or len(rate) < LEAST:
        return []
    steps, y = positive(loss)
    highest = float(np.max(rate.values, where=np.isfinite(rate.values), initial=0.0))
    works = np.flatnonzero(~(rate.values <= limits.idle * highest))
    if highest <= 0 or not len(works) or works[-1] + 1 == len(rate):
        return []
    start = float(rate.steps[works[-1] + 1])
    rest = y[steps >= start]
    if len(rest) < LEAST:
        return []
    lasts = (steps[-1] - start) / (steps[-1] - steps[0])
    fall = fallen(rest, rest[: len(rest) // 2], rest[len(rest) // 2 :], limits)
    if lasts < limits.lasting or fall is None:
        return []
    checks = [
        *noted(learning_rate_share=float(rate.values[-1]) / highest),
        Check("learning rate at nothing for", lasts, "share of the log", f">= {limits.lasting:g}"),
        fall,
    ]
    ended = ("lr-decay-drop", "the log had ended where the learning rate did")
    at = At(attempt, loss, start)
    return [finding("plateau", at, checks, severity=0.4, confidence=0.9, runner_up=ended)]


def fallen(y: Floats, first: Floats, last: Floats, limits: Thresholds) -> Check | None:
    """The check that the loss fell by next to nothing between two stretches of a log, None if it did fall."""
    fall = float(np.median(first) - np.median(last))
    error = MEDIAN_ERROR * wiggle(y) * (2 / max(len(first), 1)) ** 0.5
    if abs(fall) >= max(limits.moved, limits.single_t * error):
        return None
    return Check("fall of the loss meanwhile", fall, "log units", f"< {limits.moved:g}", key="fall_log")


def binned(steps: Floats, y: Floats, settling: float) -> tuple[Floats, Floats, float]:
    """Medians in equal bins of log step, the share ``settling`` of the log left out, and the error of one."""
    x = log_step(steps)
    edges = np.linspace(
        np.log(max(steps[0] + settling * (steps[-1] - steps[0]), 1.0)), x[-1] + 1e-9, BINS + 1
    )
    where = np.digitize(x, edges) - 1
    filled = [k for k in range(BINS) if np.sum(where == k) >= 3]
    centres = np.array([np.median(x[where == k]) for k in filled])
    values = np.array([np.median(y[where == k]) for k in filled])
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


def _lr_comes_down(attempt: AttemptView, limits: Thresholds, start: float, end: float) -> bool:
    rate = attempt.learning_rate
    if rate is None:
        return False
    ok = np.isfinite(rate.values)
    steps, values = rate.steps[ok], rate.values[ok]
    seen = values[(steps >= 0.9 * start) & (steps <= start + 0.1 * (end - start))]
    falls = len(seen) > 1 and bool(seen[0] > limits.lr_falls * seen[-1])
    return falls or (len(seen) > 0 and bool(seen[-1] < limits.lr_low * values.max()))


# ---- overfitting -------------------------------------------------------------------------------------


def _overfitting(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits = view.thresholds
    for validation in attempt.by_role(Role.VALIDATION_LOSS):
        steps, y = positive(validation)
        if validation is loss or len(y) < 3:
            continue
        low, rise, need = turned_up(view, y)
        if rise < need or steps[-1] - steps[low] < limits.overfit_late * (steps[-1] - steps[0]):
            continue
        gain = train_gain(loss, steps[low], steps[-1])
        if gain is None or gain < limits.moved:
            continue
        checks = [
            *noted(minimum_step=int(steps[low])),
            Check("validation over its minimum", rise, "log units", f">= {need:.3g}", key="rise_log"),
            at_least("training loss fell meanwhile", gain, "log units", limits.moved, "training_fall_log"),
        ]
        at = At(attempt, validation, steps[low], steps[-1])
        confidence = 0.5 + 0.5 * sure(rise, need)
        rises = ("divergence-no-spike", "the training loss had risen as well")
        yield finding("overfitting", at, checks, severity=0.3 + rise, confidence=confidence, runner_up=rises)
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
    around_start = y[np.abs(steps - start) <= near]
    at_end = y[steps >= end - near]
    if not len(around_start) or not len(at_end):
        return None
    return float(np.median(around_start) - np.median(at_end))


# ---- improvement that nobody expected ------------------------------------------------------------------


def late_generalisation(view: View, attempt: AttemptView) -> list[Finding]:
    """Held-out score (or loss) against the one of training: which was learned when?"""
    train = [s for s in attempt.by_role(Role.SCORE) if len(s) >= 8]
    held = [s for s in attempt.by_role(Role.VALIDATION_SCORE) if len(s) >= 8]
    pairs = [(t, v, 1.0) for t in train for v in held]
    if not pairs and attempt.loss is not None and attempt.validation_loss is not None:
        pairs.append((attempt.loss, attempt.validation_loss, -1.0))
    for trained, tested, sign in pairs:
        saturated = learned_at(trained, sign, 0.95)
        arrived, leaves = learned_at(tested, sign, 0.9), learned_at(tested, sign, 0.1)
        if trained is tested or saturated is None or arrived is None or leaves is None:
            continue
        soon = leaves < view.thresholds.lag * max(saturated, float(trained.steps[1]))
        if soon or not apart(trained, tested, sign):
            continue
        delay = leaves / max(saturated, 1.0)
        checks = [
            *noted(train_saturated_step=saturated),
            at_least("delay", delay, "times", view.thresholds.lag, "delay_times"),
        ]
        at = At(attempt, tested, leaves, leaves, arrived)
        done = ("lr-decay-drop", "the training had not been done before")
        return [finding("grokking", at, checks, severity=0.5, confidence=0.9, runner_up=done)]
    return []


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


def _sudden_improvement(view: View, attempt: AttemptView) -> Iterator[Finding]:
    loss = attempt.loss
    if loss is None or len(loss) < LEAST:
        return
    for drop in view.events(loss):
        if drop.kind is not Kind.DROP or not abrupt(view, loss, drop) or not lasts(loss, drop):
            continue
        height, end = abs(drop.height), drop.end if drop.end is not None else len(loss) - 1
        fall = at_least("fall", height, "log units", view.thresholds.drop, "drop_log")
        checks = [fall, *noted(drop_samples=end - drop.onset)]
        at = At(attempt, loss, loss.steps[drop.onset], loss.steps[drop.peak], loss.steps[end])
        runner_up = ("lr-decay-drop", "the learning rate had fallen there")
        yield finding("grokking", at, checks, severity=height, confidence=0.7, runner_up=runner_up)


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


RULE = Rule.of_attempts("learning", ("plateau", "overfitting", "grokking"), find)
