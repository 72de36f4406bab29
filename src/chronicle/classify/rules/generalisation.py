"""Whether what was learned holds for other data: overfitting, and generalisation that comes late.

overfitting
    Sees: a validation loss that turns upwards while the training loss goes on falling.
    Rule: for a tenth of the run or more the validation loss lies above its minimum by 1.5 %, by five errors
    and half as far again as it had risen and come back before (`turned_up`), while the training loss fell,
    and as a multiple of one that is evaluated (`over`); where a held-out score got better, by more than its
    errors fell. Or, where no held-out loss tells, a held-out score lost a third of its gain for good
    (`lost_scores`).
    Blind to: runs without validation.
    False alarm: a run is stopped too early.
    Source: fast.ai; Muennighoff et al. (arXiv:2305.16264) on repeated epochs.

grokking
    Sees: generalisation long after the training was done, or one abrupt and lasting fall of the loss.
    Rule: the held-out score is at half or less when the training score is saturated, and rises five times as
    many steps later (`late_generalisation`); or the loss falls within 3 % of the steps so far by five times
    what as many steps before had gained (`is_abrupt`), and no held-out loss rises by it (`by_heart`).
    Blind to: generalisation that comes slowly.
    False alarm: a finding that people would like to be true.
    Source: Power et al. (arXiv:2201.02177); the sudden fall of a Llama-2 run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from chronicle.classify import measure
from chronicle.classify.kernel import Event, Kind
from chronicle.classify.measure import MEDIAN_ERROR, finite, median, positive, running, scale
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted, overlap
from chronicle.classify.rules.loss_shapes import FAST, RISES, SLOW, typed_findings
from chronicle.classify.rules.resume import learned_anew
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import COURSE_POINTS, AttemptView, View, value_at
from chronicle.metrics.aliases import OF_EVALUATION, OF_TRAINING
from chronicle.metrics.names import LOSSES, is_extreme, name_words
from chronicle.metrics.roles import direction, judged_loss
from chronicle.model import Finding, Floats, Role, Series, Steps

SUDDEN = "grokking"
LASTING = RISES - {FAST}
MOST_TOGETHER = 0.9  # share of the evaluations of a held-out loss at which another loss was measured
SURPRISE_FROM = 0.1  # share of the log, in steps and in points: an earlier fall is no surprise
AT_ONCE_SAMPLES = 2  # a fall that is over so soon is what a cut of the learning rate does
LEAVES_SHARE = 0.25  # of the way up, from which on a held-out score is on it: it may creep before
FEWEST_FOR_CORRELATION = 32  # evaluations of which it can be told whether neighbours are alike
LEAST_SCORE_FALL = 0.05  # of a score's best value: a smaller fall has no practical meaning
LEAST_RISE = 0.05  # of a held-out loss: less is no reason to doubt what was learned
GAIN_LOST_SHARE = 1 / 6  # of what a held-out loss had fallen by, where that is less than a tenth of it
FEWEST_EPOCHS, FEWEST_EVALUATIONS = 3, 6  # with a best one and two after it; whose noise can be told
THIRD = 1 / 3  # of the stretch since the minimum, as in `risen_from_minimum`
RISING_ERRORS = 2.0, 3.0  # of the ranks since the minimum of few evaluations, and of 30 or more


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if (loss := attempt.loss) is not None:
        overfits = list(_overfitting(view, attempt, loss))
        yield from overfits or lost_scores(attempt, loss, view.thresholds)
    elif attempt.objective is not None and attempt.objective.role is Role.SCORE:
        yield from lost_scores(attempt, attempt.objective, view.thresholds)
    elif (few := judged_loss(attempt.series.values(), FEWEST_EPOCHS)) is not None:
        yield from _overfitting(view, attempt, few)
    yield from late_generalisation(view, attempt) or _sudden_improvement(view, attempt)


def _overfitting(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """The first validation loss that shows overfitting."""
    begun_anew = [f.start_step for f in learned_anew(view, attempt)]
    logged = map(each_step_once, attempt.by_role(Role.VALIDATION_LOSS))
    held_out = [s.pick(s.steps >= max(begun_anew)) if begun_anew else s for s in logged]
    asked = [s for s in held_out if measures(s) == measures(loss)] or held_out
    overfitting = (_overfits(view, attempt, loss, validation, held_out) for validation in asked)
    yield from islice(filter(None, overfitting), 1)


def _overfits(
    view: View, attempt: AttemptView, loss: Series, validation: Series, held_out: Sequence[Series]
) -> Finding | None:
    """The finding, if a validation loss rises while the loss of the training falls, and the sum of all that
    are ``held_out`` does not fall either."""
    limits = view.thresholds
    steps, y = positive(validation)
    if validation.metric == loss.metric or len(y) < FEWEST_EPOCHS:
        return None
    low, rise, need = turned_up(view, y)
    fell, scores = y[0] - y[low], attempt.by_role(Role.VALIDATION_SCORE)
    improved = (s for s in scores if gained(s, steps[low], steps[-1]))
    better = [fall_of_errors(s, steps[low], steps[-1]) for s in improved]
    if better and not rise >= fell >= limits.moved:  # then only answers are less sure
        need = max(need, min(max(*better, LEAST_RISE), limits.overfit_few))
    if rise < need or steps[-1] - steps[low] < limits.overfit_late * (steps[-1] - steps[0]):
        return None
    others = (s for s in held_out if s.metric != loss.metric and not measures(validation) < measures(s))
    moved = min(limits.moved, need)
    if _sum_falls([turn(s, steps[low], steps[-1]) for s in others], moved):
        return None
    trained, tested = (turn(s, steps[low], steps[-1], THIRD) for s in (loss, validation))
    if _rises_alike(trained, tested, limits):
        return None
    measured = (turn(s, steps[low], steps[-1]) for s in (loss, *of_training(attempt)))
    gains = [(t.before - t.after, limits.other_t * t.error) for t in filter(None, measured)]
    if not gains or min(gain + unsure for gain, unsure in gains) < moved:
        return None
    same = [s for s in of_training(attempt, Role.LOSS, Role.PART_LOSS) if measures(s) == measures(validation)]
    gaps = (turn(over(validation, s), steps[low], steps[-1]) for s in same if s is not loss)
    if any(gap.after - gap.before + limits.joint_t * gap.error < moved for gap in filter(None, gaps)):
        return None
    gain, least = gains[0][0], f">= {moved:.2g}, or not known by {limits.other_t:g} errors"
    checks = [
        *noted(minimum_step=int(steps[low])),
        at_least("validation over its minimum", rise, "log units", need, "rise_log"),
        Check("training loss fell meanwhile", gain, "log units", least, key="training_fall_log"),
    ]
    at, other = At(attempt, validation, steps[low], steps[-1]), "the training loss had risen as well"
    confidence = 0.5 + 0.5 * measure.confidence_of(rise, need)
    return finding("overfitting", at, checks, 0.3 + rise, confidence, ("divergence-no-spike", other))


def of_training(attempt: AttemptView, *roles: Role) -> list[Series]:
    """The losses, or series of other roles, whose names say that they are of training data, which may be
    evaluated."""
    return [s for s in attempt.by_role(*roles or (Role.LOSS,)) if OF_TRAINING & name_words(s.metric)]


def over(held_out: Series, trained: Series) -> Series:
    """A held-out loss as a multiple of a training loss, where both are measured with the same weights."""
    _, here, there = np.intersect1d(held_out.steps, trained.steps, return_indices=True)
    return replace(held_out.pick(here), values=held_out.values[here] / trained.values[there])


def _rises_alike(trained: Turn | None, held_out: Turn | None, limits: Thresholds) -> bool:
    """Whether the training loss surely rises, too, and the held-out loss by no more than that and errors."""
    if trained is None or held_out is None:
        return False
    rise, apart = trained.after - trained.before, held_out.after - held_out.before
    sure = rise > limits.joint_t * trained.error
    return sure and apart - rise < limits.joint_t * float(np.hypot(held_out.error, trained.error))


def _sum_falls(turns: Sequence[Turn | None], moved: float) -> bool:
    """Whether the sum of held-out losses falls, or of several rises by less than ``moved`` log units: then a
    part alone rises."""
    known = [turn for turn in turns if turn is not None]
    before, after = sum(np.exp([t.before for t in known])), sum(np.exp([t.after for t in known]))
    return bool(after < before * np.exp(moved if len(known) > 1 else 0.0))


def lost_scores(attempt: AttemptView, trained: Series, limits: Thresholds) -> Iterator[Finding]:
    """Held-out scores that lost what they had gained for good, while the training gained."""
    if attempt.first(Role.OBJECTIVE) is not None:  # then it is that which went another way
        return
    for score in map(each_step_once, attempt.by_role(Role.VALIDATION_SCORE)):
        way = measure.ascent(score, measure.FEWEST_POINTS)
        if is_extreme(score.metric) or way is None or not way.collapsed:
            continue
        share = (way.best - way.last) / max(abs(way.best), abs(way.last), 1e-300)
        meanwhile = turn(trained, way.best_step, trained.steps[-1]) if trained.role in LOSSES else None
        if meanwhile is None and not gained(trained, way.best_step, trained.steps[-1]):
            continue  # a score, or a loss some of whose values are zero or less
        held_out = (turn(s, way.best_step, s.steps[-1]) for s in attempt.by_role(Role.VALIDATION_LOSS))
        better = any(t.before - t.after >= LEAST_SCORE_FALL for t in filter(None, held_out))
        measured = (turn(s, way.best_step, s.steps[-1]) for s in of_training(attempt))
        worse = any(t.after - t.before > t.error for t in filter(None, (meanwhile, *measured)))
        before, after, _ = meanwhile or Turn(np.inf, 0.0, 0.0)
        if better or worse or before - after < limits.moved:  # in other ways, or in all, or it stood still
            continue
        checks = [
            at_least("of the score's rise lost", way.lost_share, "share", measure.LOST_SHARE, "lost_share"),
            at_least("fall of the score", way.lost, "errors", measure.FALL_FOR_ALARM_ERRORS),
            at_least("fall of the score", share, "of its best", LEAST_SCORE_FALL, "fall_share"),
            *(noted(training_fall_log=before - after) if meanwhile else ()),
        ]
        at = At(attempt, score, way.best_step, score.steps[-1])
        yield finding("overfitting", at, checks, 0.3 + share, 0.7, ("noisy-healthy", "it had come back"))
        return


def each_step_once(series: Series) -> Series:
    """The series with the mean of all points at a step, which are batches or samples of one evaluation."""
    _, first, counts = np.unique(series.steps, return_index=True, return_counts=True)
    if len(first) == len(series) or (np.diff(series.steps) < 0).any():
        return series
    return replace(series.pick(first), values=np.add.reduceat(series.values, first) / counts)


def measures(series: Series) -> frozenset[str]:
    """The words of a metric that do not say of which data it is: "loss" of "train_loss" and of "val_loss"."""
    return name_words(series.metric) - OF_TRAINING - OF_EVALUATION


def turned_up(view: View, y: Floats) -> tuple[int, float, float]:
    """The sample of the minimum of a validation loss, its rise since then, and the rise that is needed. Wider
    medians know the minimum better, so they see a slow turn in noise; the narrowest that tells places it."""
    n, limits = len(y), view.thresholds
    if n < FEWEST_EVALUATIONS:  # too few for a noise
        after = y[(low := int(np.argmin(y))) :]
        is_turn = len(after) >= FEWEST_EPOCHS and (np.diff(after) > 0).all()
        return low, float(after[-1] - after[0]) if is_turn else 0.0, limits.overfit_few
    width = 3 if n < 30 else 5
    widths = [width << k | 1 for k in range(n.bit_length()) if not k or width << k <= n // 4]
    turns = [(*risen_from_minimum(limits, y, wide), wide) for wide in widths]
    low, rise, need, wide = next((turn for turn in turns if turn[1] >= turn[2]), turns[0])
    first = max(low - wide // 2, 0)
    return first + int(np.argmin(running(y, width)[first : low + wide // 2 + 1])), rise, need


def risen_from_minimum(limits: Thresholds, y: Floats, width: int) -> tuple[int, float, float]:
    """Like `turned_up`, but by running medians of one width and the noise on both sides of the minimum."""
    low = int(np.argmin(smooth := running(y, width)))
    after = y[low + 1 :]
    if len(after) < max(3, limits.overfit_late * (len(y) - 1)):
        return low, 0.0, limits.moved
    fell = float(y[0] - smooth[low])  # little, of a loss with a high floor, of which little can be learned
    least = min(limits.moved, GAIN_LOST_SHARE * fell) if fell >= limits.moved else limits.moved
    noise = scale(np.diff(y[max(low - max(len(after), FEWEST_EVALUATIONS), 0) :], 2)) / np.sqrt(6)
    x, late = np.arange(len(after)), after[-max(len(after) // 3, 3) :]
    off = after - np.polyval(np.polyfit(x, after, 2), x)  # what wanders needs more points to be sure of
    alike = measure.inflation(off, scale(off)) if len(after) >= FEWEST_FOR_CORRELATION else 1.0
    need = limits.join_t * MEDIAN_ERROR * noise * alike * float(np.sqrt(1 / len(late) + 1 / width))
    rising = (measure.rises_by if width == 3 else measure.trend)(y[low:])  # many may be alike
    if rising >= RISING_ERRORS[width > 3]:
        need = min(need, max(need * limits.joint_t / limits.join_t, limits.overfit_few))
    before = smooth[max(low - len(after), 0) : low]
    usual = limits.turn_usual * float(np.max(before - np.minimum.accumulate(before), initial=0.0))
    return low, float(median(late) - smooth[low]), max(least, usual, need)


class Turn(NamedTuple):
    """Levels of a loss (medians) at a step and at the end, and the error of their difference, log units."""

    before: float
    after: float
    error: float


def turn(loss: Series, start: float, end: float, share: float = 0.1) -> Turn | None:
    """The level of a loss around a step and in the last ``share`` of the stretch from it to another, and the
    error of their difference. A loss of zero (data that is known by heart) counts as its lowest value."""
    lowest = np.min(loss.values, initial=np.inf, where=loss.values > 0)
    course = positive(replace(loss, values=np.where(loss.values == 0, lowest, loss.values)))
    before, after = both_ends(*course, start, end, share)
    if not len(before) or not len(after):
        return None
    noise = measure.difference_noise(course[1]) if len(course[1]) >= FEWEST_EVALUATIONS else 0.0  # unknown
    error = MEDIAN_ERROR * noise * (1 / len(before) + 1 / len(after)) ** 0.5
    return Turn(median(before), median(after), error)


def both_ends(
    steps: Floats | Steps, values: Floats, start: float, end: float, share: float = 0.1
) -> tuple[Floats, Floats]:
    """The values around the start of a stretch, and in its last ``share``."""
    near = max(share * (end - start), 1.0)
    return values[np.abs(steps - start) <= near], values[steps >= end - near]


def gained(series: Series, start: float, end: float) -> bool:
    """Whether a series ends a stretch better than it was at its start, or nothing is known of either, and a
    score improves as a whole."""
    known = finite(series)
    before, after = both_ends(known.steps, known.values, start, end)
    improves = series.role in LOSSES or measure.improves(series)
    return improves and not direction(series) * (median(after) - median(before)) <= 0


def fall_of_errors(score: Series, start: float, end: float) -> float:
    """How far a score came nearer to its best possible value (0, 1 or 100), log units; inf where that is not
    known."""
    known = finite(score)
    before, after = (median(part) for part in both_ends(known.steps, known.values, start, end))
    if direction(score) > 0:
        best = 1.0 if known.values.max() <= 1.0 else 100.0
        before, after = best - before, best - after
    return float(np.log(before / after)) if min(before, after) > 0 else np.inf


def evaluated_rises(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Lasting rises of a held-out loss that a training loss measured with it makes too, by half at least, and
    that the judged loss, whose batches may be too noisy or measured with other weights, does not show. A rise
    of that one shows it if it begins soon after its onset, which few evaluations place badly, or before half
    of its height is reached."""
    limits, (first, last) = view.thresholds, view.span
    known = [f for f in typed_findings(view, attempt.loss) if f.pattern in LASTING] if attempt.loss else []
    for held_out in attempt.by_role(Role.VALIDATION_LOSS):
        losses = [*attempt.by_role(Role.LOSS), *of_training(attempt, Role.PART_LOSS)]
        beside = [s for s in losses if np.isin(held_out.steps, s.steps).mean() >= MOST_TOGETHER]
        for rise in typed_findings(view, held_out) if beside else ():
            height, soon = _climb(held_out, rise), rise.start_step + limits.settling * (last - first)
            soon = max(soon, _halfway(held_out, rise))
            shown = any(overlap(rise, other) and other.start_step <= soon for other in known)
            tall = rise.pattern in LASTING and rise.evidence["height_log"] >= limits.bad_end
            agrees = any(_climb(s, rise) >= limits.midway * height for s in beside)
            if tall and height >= limits.turn_clear and agrees and not shown:
                yield rise
        if beside:  # the losses of other held-out sets tell the same
            return


def _halfway(series: Series, rise: Finding) -> float:
    """The first step at which a series is half of the way up from the start of a rise to its peak."""
    steps, y = positive(series)
    up = (steps >= rise.start_step) & (steps <= (rise.peak_step or rise.start_step))
    way = y[up]
    return float(steps[up][np.argmax(way >= (way[0] + way[-1]) / 2)]) if len(way) else rise.start_step


def _climb(series: Series, rise: Finding) -> float:
    """How far a series is above its level before a rise when that is highest, or at the end, if the rise
    neither is over nor comes down; by medians of 3, log units."""
    steps, y = positive(series)
    before = y[: np.searchsorted(steps, rise.start_step)][-3:]
    peak = int(np.searchsorted(steps, rise.peak_step or rise.start_step))
    peak = len(y) - 2 if rise.end_step is None and rise.pattern != SLOW else peak
    return median(y[max(peak - 1, len(before)) : peak + 2]) - median(before) if len(before) else 0.0


def late_generalisation(view: View, attempt: AttemptView) -> list[Finding]:
    """Held-out score (or loss) against the one of training: which was learned when?"""
    train = [s for s in attempt.by_role(Role.SCORE) if len(s) >= 8]
    held = [s for s in attempt.by_role(Role.VALIDATION_SCORE) if len(s) >= 8]
    pairs, limits = [(t, v, 1.0) for t in train for v in held], view.thresholds
    if not pairs and attempt.loss is not None and attempt.validation_loss is not None:
        pairs = [(attempt.loss, attempt.validation_loss, -1.0)]
    for trained, tested, sign in pairs:
        saturated = learned_at(trained, sign, 0.95)
        if trained is tested or saturated is None:
            continue
        late = tested.pick(tested.steps >= saturated)  # what both learned before is no delay
        arrived, leaves = learned_at(late, sign, 0.9), learned_at(late, sign, LEAVES_SHARE)
        if arrived is None or leaves is None or not apart(trained, late, sign):
            continue
        soon = leaves < limits.lag * max(saturated, trained.steps[1])
        waited = leaves - late.steps[0]  # before it was first asked nobody knows
        if soon or waited <= limits.settling * (tested.steps[-1] - tested.steps[0]):
            continue
        delay = at_least("delay", leaves / max(saturated, 1.0), "times", limits.lag, "delay_times")
        checks = [*noted(train_saturated_step=saturated), delay]
        at = At(attempt, tested, leaves, leaves, arrived)
        done = ("lr-decay-drop", "the training had not been done before")
        return [finding(SUDDEN, at, checks, 0.5, 0.9, done)]
    return []


def learned_at(series: Series, sign: float, share: float) -> float | None:
    """The first step at which this share of the way to the best value was made for good, or None."""
    known = finite(series)
    steps, v = known.steps, sign * running(known.values, 3)
    if len(v) < 8 or v.max() - v[0] <= 0:
        return None
    goal = v[0] + share * (v.max() - v[0])
    row = int(np.argmax(v >= goal))
    return float(steps[row]) if median(v[row:]) >= goal else None  # not where single batches reach it


def apart(trained: Series, late: Series, sign: float) -> bool:
    """Whether both went from nothing to nearly all, the held-out one (``late``) since training was done, from
    a held-out loss five times that of the training: with a smaller gap nothing is known by heart."""
    t, v = finite(trained).values, finite(late).values
    if sign > 0:
        return bool(1.0 >= t.max() >= 0.9 and 1.0 >= v.max() >= 0.6 and v[:2].max() <= 0.5)
    known = value_at(trained, late.steps[0]) <= 0.2 * v[:2].min()
    return bool(known and 0 < t.min() <= 0.2 * t[0] and v.min() <= 0.5 * v[:2].min())


def _sudden_improvement(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if (loss := attempt.loss) is None or len(loss) < COURSE_POINTS:
        return
    least = view.thresholds.onset_noise * view.noise(loss)  # of batches of two kinds several may be alike
    for drop in (e for e in view.events(loss) if e.kind is Kind.DROP and abs(e.height) >= least):
        height, end = abs(drop.height), drop.end if drop.end is not None else len(loss) - 1
        if not is_abrupt(view, loss, drop) or by_heart(attempt, loss, *loss.steps[[drop.onset - 1, end]]):
            continue
        fall = at_least("fall", height, "log units", view.thresholds.drop, "drop_log")
        at = At(attempt, loss, loss.steps[drop.onset], loss.steps[drop.peak], loss.steps[end])
        checks, other = [fall, *noted(drop_samples=end - drop.onset)], "the learning rate had fallen there"
        yield finding(SUDDEN, at, checks, height, 0.7, ("lr-decay-drop", other))


def by_heart(attempt: AttemptView, loss: Series, start: float, end: float) -> bool:
    """Whether a held-out loss is no lower after a fall than before it, and a twentieth above its minimum."""
    for held_out in (s for s in attempt.by_role(Role.VALIDATION_LOSS) if s is not loss):
        lowest = held_out.values[held_out.steps <= start].min(initial=np.inf)
        if value_at(held_out, end) >= max((1 + LEAST_RISE) * lowest, value_at(held_out, start)) > 0:
            return True
    return False


def is_abrupt(view: View, loss: Series, drop: Event) -> bool:
    """Whether a fall is short and late in the log, and gained five times what as many steps before had. One
    that is over at once may be a cut of the learning rate, where no rate is logged."""
    steps, y = positive(loss)
    end = drop.end if drop.end is not None else len(loss) - 1
    if end - drop.onset <= AT_ONCE_SAMPLES and view.attempt_of[loss].learning_rate is None:
        return False
    start = float(loss.steps[drop.onset])
    lasted, a = float(loss.steps[end]) - start, int(np.searchsorted(steps, start))
    few = a < max(COURSE_POINTS, SURPRISE_FROM * len(steps))
    if few or start - steps[0] < SURPRISE_FROM * (steps[-1] - steps[0]):
        return False
    gap = median(np.diff(steps[max(a - 32, 0) : a + 1]))
    quick = lasted <= max(view.thresholds.sudden * start, 8 * gap)
    before = int(np.searchsorted(steps, start - lasted))
    gained = median(y[max(before - 4, 0) : before + 1]) - median(y[a - 4 : a])
    return quick and abs(drop.height) >= view.thresholds.sudden_gain * gained


EVALUATED = Rule("evaluated", tuple(sorted(RISES)), Rule.by_attempt(evaluated_rises))
RULE = Rule("learning", ("overfitting", SUDDEN), Rule.by_attempt(find))
