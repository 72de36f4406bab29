"""How learning goes on: it stops, starts late, climbs back, turns into memorising, or succeeds suddenly.

Five explanations of the course of a loss compete (chronicle/classify/course.py): never, healthy, stopped,
waits, climbs. A pattern is named only where its explanation leads the others by 10 nats.

plateau
    Sees: a loss that stands still while the training goes on.
    Rule: from some step on, for a quarter of the log or more, the loss changes by less than 1.5 %, while no
    other loss or score moves and no fall of the learning rate explains it; or it does so for the first 15 %
    of the log, and then falls (`waits`); or it does so at the end, where the learning rate is below 1 % of
    its highest value (`idle`).
    Blind to: convergence: a loss that has fallen to a fifth of its first value may stand still.
    False alarm: somebody looks for frozen parameters in a run that has converged.
    Source: IDEFICS 15 k to 26 k; BloombergGPT v0.

failed-run (at the loss of guessing)
    Sees: a model that knows how many classes there are and nothing else.
    Rule: a plateau from an eighth of the log on at the latest, whose level is the logarithm of a usual number
    of classes (within 0.6 %), with batches that differ by 3 % at most.
    Blind to: other numbers of classes, and classes that differ in size.
    False alarm: a run that converged to such a value by chance: one in twelve of those that stand still.
    Source: the field: runs at chance level to the end, which looked calm.

spike-slow-recovery (a climb from the first step on)
    Sees: a model that was trained before, is worse at once, and needs much of the log to come back.
    Rule: the loss climbs by 1.5 % and three noise scales from a first level that is not that of guessing, and
    makes half of the way back or more; a loss that explodes (to twice its first level) counts as well.
    Blind to: climbs whose first samples are not logged.
    False alarm: a slow warm-up is named.
    Source: the field: warm starts whose optimizer begins anew.

overfitting
    Sees: a validation loss that turns upwards while the training loss goes on falling.
    Rule: the validation loss ends 1.5 % and five standard errors above its minimum, which lies before the
    last tenth of the run, and the training loss fell by 1.5 % meanwhile or is too noisy to tell; or, where no
    held-out loss tells, a held-out score lost a third of its gain for good (`lost_scores`).
    Blind to: runs without validation.
    False alarm: a run is stopped too early.
    Source: fast.ai; Muennighoff et al. (arXiv:2305.16264) on repeated epochs.

grokking
    Sees: generalisation long after the training was done, or one abrupt and lasting fall of the loss.
    Rule: the held-out score is at half or less when the training score is saturated, and rises five times as
    many steps later (`late_generalisation`); or the loss falls within 3 % of the steps so far by five times
    what as many steps before had gained (`abrupt`).
    Blind to: generalisation that comes slowly.
    False alarm: a finding that people would like to be true.
    Source: Power et al. (arXiv:2201.02177); the sudden fall of a Llama-2 run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from chronicle.classify.course import CLIMBS, HEALTHY, LEAD, STOPPED, WAITS, Contest, in_doubt
from chronicle.classify.kernel import Event, Kind
from chronicle.classify.measure import (
    MEDIAN_ERROR,
    finite,
    inflation,
    median,
    positive,
    running,
    scale,
    sure,
    told_below,
    wiggle,
)
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted
from chronicle.classify.rules.loss_shapes import NO_SPIKE, RISES, SLOW
from chronicle.classify.rules.whole_run import CHANCE, FAR, FEWEST, LOST, ascent, guessing, improves
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import COURSE, AttemptView, View, kept
from chronicle.metrics.aliases import OF_EVALUATION, OF_TRAINING
from chronicle.metrics.names import is_extreme, plain
from chronicle.metrics.roles import direction
from chronicle.model import Finding, Floats, Role, Series

FAILED, PLATEAU, SUDDEN = "failed-run", "plateau", "grokking"
FLAT_LEAST = 16  # samples in which a calm loss can be told to stay
FIRST = 0.1  # share of a log, and of the samples before a fall, in which a drop is no surprise
EARLY = 0.12  # share of the log in which a start may fall however it likes
WAITED = 0.15  # share of the log that is no warm-up
NONE = 0.1  # share of a fall that is none, and of the log in which an abrupt one is over
ABRUPT = 0.8  # of a fall that is over soon
AT_ONCE = 2  # samples, after which such a fall is no learning
FAR_LEAD = 25.0  # [nats] for a name that people would like to be true
FEW = 8  # samples in a third of a stretch, and of another series since
SMALL = 3.0  # [nats] by which an equal curve may be less likely for its free parameter
CONVERGED = 1.5  # [log units] a fifth of the first value: to stand still there is its right
SMOOTH = ("near-perfect", "the curve had bent smoothly, as converging ones do")
OTHERS = (Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE, Role.VALIDATION_LOSS, Role.LOSS)
LEAVES = 0.25  # share of the way from which on a held-out score is on it: it may creep before
ALIKE = 32  # evaluations of which it can be told whether neighbours are alike
LEAST_FALL = 0.05  # of a score's best value: less is a matter of taste
EVALUATIONS = 6  # evaluations of which a noise can be told


def stands_still(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """The first of the ways to stand still that a loss shows."""
    standstill = idle(view, attempt, loss)
    if standstill is None and (contest := course_of(view, loss)) is not None:
        standstill = waits(view, attempt, loss, contest) or stops(view, attempt, loss, contest)
    yield from filter(None, [standstill])


@kept
def course_of(view: View, loss: Series) -> Contest | None:
    """The competition over a loss; None for a short log, and where it only descends."""
    return view.contest(loss) if in_doubt(*positive(loss), view.thresholds) else None


def end_of(y: Floats) -> float:
    """The level of the last tenth, log units."""
    return median(y[-max(len(y) // 10, 6) :])


def fall_of(y: Floats) -> float:
    """From the first two samples to the last tenth, log units."""
    return float(np.mean(y[:2])) - end_of(y)


def moved(v: Floats) -> bool:
    """Whether eighths of a series differ by a fiftieth of it, and by more than noise does (5.5 errors)."""
    eighths = np.array([median(part) for part in np.array_split(v, 8)])
    usual = 5.5 * MEDIAN_ERROR * wiggle(v) / max(len(v) / 8, 1) ** 0.5
    return bool(np.ptp(eighths) > max(usual, 0.02 * float(np.max(np.abs(v)))))


def stops(view: View, attempt: AttemptView, loss: Series, contest: Contest) -> Finding | None:
    """Learning that stopped at some place and was not done."""
    if STOPPED not in contest.explanations:
        return None
    limits, (steps, y) = view.thresholds, positive(loss)
    start, lead, place = contest.step(STOPPED), contest.lead(STOPPED), contest.explanations[STOPPED].at
    soon = place <= EARLY and contest.change_after(EARLY) < limits.moved and lead >= -SMALL
    if (not soon and lead < LEAD) or place > 1 - limits.lasting or fall_of(y) >= CONVERGED:
        return None
    if contest.winner in (CLIMBS, WAITS) and contest.lead(contest.winner, (STOPPED,)) >= LEAD:
        return None
    rest, third = y[steps >= start], (steps[-1] - start) / 3  # in steps: rows may be dense first
    first, last = y[(steps >= start) & (steps <= start + third)], y[steps >= steps[-1] - third]
    since = fallen(rest, first, last, limits) if min(len(first), len(last)) >= FEW else None
    if since is None or _lr_comes_down(attempt, limits, start, steps[-1]):
        return None
    others = (finite(s.pick(s.steps >= start)).values for s in attempt.by_role(*OTHERS) if s is not loss)
    if any(len(values) >= FEW and moved(values) for values in others):
        return None
    later = [e for e in view.events(loss) if e.onset > np.searchsorted(loss.steps, start)]
    if any(e.kind in (Kind.OPEN, Kind.DROP) for e in later):
        return None
    checks = [
        Check("stopped, against healthy", lead, "nats", f">= {LEAD:g}, or no change since", key="lead_nats"),
        since,
        Check("lasts for", 1 - place, "share of the log", f">= {limits.lasting:g}"),
    ]
    classes, off = guessing(median(rest))
    if not soon or off > CHANCE or view.noise(loss) > limits.knowing:
        return finding(PLATEAU, At(attempt, loss, start), checks, 0.4, 0.7, SMOOTH)
    named = at_most("off the logarithm of that number", off, "share", CHANCE)
    checks += [*noted(classes=classes, level_loss=float(np.exp(median(rest)))), named]
    chance = (PLATEAU, "the level were not that of guessing")
    return finding(FAILED, At(attempt, loss, steps[0]), checks, 0.9, 0.8, chance)


def idle(view: View, attempt: AttemptView, loss: Series) -> Finding | None:
    """A flat end of the log that is trained with a learning rate of nothing."""
    rate, limits = attempt.learning_rate, view.thresholds
    if rate is None or len(rate) < COURSE or not told_below(rate.values, limits.idle):
        return None
    highest = float(np.max(rate.values, where=np.isfinite(rate.values), initial=0.0))
    works = np.flatnonzero(~(rate.values <= limits.idle * highest))
    if highest <= 0 or not len(works) or works[-1] + 1 == len(rate):
        return None
    last, then = float(rate.values[works[-1]]), rate.values[works[-1] + 1 :]
    if then[0] > 0 and (then == then[0]).all() and last >= limits.lr_falls * then[0]:
        return None  # a phase of a schedule in steps, of which the last is the smallest
    (steps, y), start = positive(loss), float(rate.steps[works[-1] + 1])
    rest = y[steps >= start]
    if len(rest) < COURSE or fall_of(y) >= CONVERGED:
        return None
    lasts, half = (steps[-1] - start) / (steps[-1] - steps[0]), len(rest) // 2
    fall = fallen(rest, rest[:half], rest[half:], limits)
    if lasts < limits.lasting or fall is None:
        return None
    checks = [
        *noted(learning_rate_share=float(rate.values[-1]) / highest),
        Check("learning rate at nothing for", lasts, "share of the log", f">= {limits.lasting:g}"),
        fall,
    ]
    ended = ("lr-decay-drop", "the log had ended where the learning rate did")
    return finding(PLATEAU, At(attempt, loss, start), checks, 0.4, 0.9, ended)


def fallen(y: Floats, first: Floats, last: Floats, limits: Thresholds) -> Check | None:
    """The check that the loss hardly fell between two stretches; None if it fell, or noise may hide it."""
    fall = median(first) - median(last)
    error = MEDIAN_ERROR * wiggle(y) * (2 / max(len(first), 1)) ** 0.5
    if max(abs(fall), error) >= limits.moved:
        return None
    return Check("fall of the loss meanwhile", fall, "log units", f"< {limits.moved:g}", key="fall_log")


def _lr_comes_down(attempt: AttemptView, limits: Thresholds, start: float, end: float) -> bool:
    rate = attempt.learning_rate
    if rate is None:
        return False
    steps, values = finite(rate).steps, finite(rate).values
    seen = values[(steps >= 0.9 * start) & (steps <= start + 0.1 * (end - start))]
    falls = len(seen) > 1 and bool(seen[0] > limits.lr_falls * seen[-1])
    return falls or (len(seen) > 0 and bool(seen[-1] < limits.lr_low * values.max()))


def waits(view: View, attempt: AttemptView, loss: Series, contest: Contest) -> Finding | None:
    """Nothing is learned up to a place; then something is."""
    lead = contest.lead(WAITS, (HEALTHY, STOPPED))
    if lead < LEAD or contest.winner != WAITS or contest.explanations[WAITS].at < WAITED:
        return None
    limits, (steps, y) = view.thresholds, positive(loss)
    place, span = contest.step(WAITS), steps[-1] - steps[0]
    before = y[steps < place]
    if min(len(before), len(y) - len(before)) < FLAT_LEAST:
        return None
    level, third = median(before), len(before) // 3
    fall = level - end_of(y)
    learned = median(before[:third]) - median(before[-third:])
    if abs(learned) >= NONE * fall or fall < limits.drop:
        return None
    fallen_half = running(y, 5) < level - limits.midway * fall
    i = int(np.argmax(fallen_half & (steps >= place - NONE * span)))
    soon = y[(steps >= steps[i] + 0.02 * span) & (steps < steps[i] + NONE * span)]
    checks = [at_least("waits, against healthy and stopped", lead, "nats", LEAD, "lead_nats")]
    if len(soon) and level - median(soon) > ABRUPT * fall:
        if lead < FAR_LEAD or any(e.kind is Kind.DROP and abrupt(view, loss, e) for e in view.events(loss)):
            return None
        checks = [*checks, at_least("fall", fall, "log units", limits.drop, "drop_log")]
        slow = (PLATEAU, "it had gone on falling for a tenth of the log")
        return finding(SUDDEN, At(attempt, loss, steps[i], steps[i], steps[i]), checks, fall, 0.7, slow)
    flat = fallen(before, before[:third], before[-third:], limits)
    if flat is None:  # an S bends from its start on
        return None
    checks = [*checks, flat, *noted(waited_share=contest.explanations[WAITS].at)]
    at_once = (SUDDEN, "the fall had been over at once")
    return finding(PLATEAU, At(attempt, loss, steps[0], None, place), checks, 0.4, 0.7, at_once)


def climbs(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """Worse from the first step on, and back much later at its first level, not that of guessing."""
    contest = course_of(view, loss)
    if contest is None:
        return
    limits, steps, lead = view.thresholds, contest.steps, contest.lead(CLIMBS, (HEALTHY, STOPPED, WAITS))
    if lead >= LEAD:
        curve, least, lasts = contest.explanations[CLIMBS].curve, 0.0, WAITED
    else:  # a loss that explodes follows no law: then medians, a factor of two and a quarter of the log
        curve, least, lasts = running(contest.level, 5), limits.twice, limits.lasting
    peak = int(np.argmax(curve))
    height, left = float(curve[peak] - curve[0]), curve[-1] - curve[0]
    low = height < max(3 * view.noise(loss), least) or left > limits.midway * height
    low |= bool(curve[: peak + 1].min() < curve[0] - limits.dip * height)  # it had learned first
    if low or guessing(float(curve[0]))[1] <= limits.moved:
        return
    back = np.flatnonzero(curve[peak:] <= curve[0] + limits.moved)
    last = steps[peak + back[0] if len(back) else -1]
    share = float((last - steps[0]) / (steps[-1] - steps[0]))
    checks = [
        *([] if least else [at_least("climbs, against every other course", lead, "nats", LEAD, "lead_nats")]),
        at_least("height over the first level", height, "log units", limits.moved, "height_log"),
        at_least("until it is back", share, "share of the log", lasts, "back_share"),
    ]
    at = At(attempt, loss, steps[0], steps[peak], last if len(back) else None)
    yield finding(SLOW, at, checks, 0.3 + height, 0.7, (NO_SPIKE, "it had not come back to its first level"))


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if attempt.loss is not None:
        yield from list(_overfitting(view, attempt, attempt.loss)) or lost_scores(attempt, attempt.loss)
    yield from late_generalisation(view, attempt) or _sudden_improvement(view, attempt)


def _overfitting(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits, held_out = view.thresholds, attempt.by_role(Role.VALIDATION_LOSS)
    scores = attempt.by_role(Role.VALIDATION_SCORE)
    whole = [s for s in held_out if measures(s) == measures(loss)]
    for validation in whole or held_out:
        steps, y = positive(validation)
        if validation is loss or len(y) < 3:
            continue
        low, rise, need = turned_up(view, y)
        better = any(gained(s, steps[low], steps[-1]) for s in scores)  # then only answers are less sure
        need = max(need, limits.overfit_few) if better else need
        if rise < need or steps[-1] - steps[low] < limits.overfit_late * (steps[-1] - steps[0]):
            continue
        beside = (s for s in held_out if s is not loss and not measures(validation) < measures(s))
        turns = filter(None, (turn(s, steps[low], steps[-1]) for s in beside))
        if sum(np.exp(part.after) - np.exp(part.before) for part in turns) < 0:
            continue  # a part, and the sum of all goes on
        named = (s for s in attempt.by_role(Role.LOSS) if OF_TRAINING & set(plain(s.metric).split()))
        measured = (turn(s, steps[low], steps[-1]) for s in (loss, *named))
        gains = [(t.before - t.after, limits.other_t * t.error) for t in filter(None, measured)]
        if not gains or min(gain + unsure for gain, unsure in gains) < limits.moved:
            continue
        gain = gains[0][0]
        least = f">= {limits.moved:g}, or not known by {limits.other_t:g} errors"
        checks = [
            *noted(minimum_step=int(steps[low])),
            at_least("validation over its minimum", rise, "log units", need, "rise_log"),
            Check("training loss fell meanwhile", gain, "log units", least, key="training_fall_log"),
        ]
        at, other = At(attempt, validation, steps[low], steps[-1]), "the training loss had risen as well"
        confidence = 0.5 + 0.5 * sure(rise, need)
        yield finding("overfitting", at, checks, 0.3 + rise, confidence, ("divergence-no-spike", other))
        return


def lost_scores(attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """Held-out scores that lost a third of what they had gained, and a twentieth of their size, for good."""
    rewarded = attempt.first(Role.OBJECTIVE) is not None  # then it is that which went another way
    for score in attempt.by_role(Role.VALIDATION_SCORE) if not rewarded else ():
        way = ascent(score, FEWEST)
        if is_extreme(score.metric) or way is None or not way.collapsed:
            continue
        share = (way.best - way.last) / max(abs(way.best), abs(way.last), 1e-300)
        meanwhile = turn(loss, way.best_step, float(loss.steps[-1])) or Turn(0.0, 0.0, 0.0)
        gain = meanwhile.before - meanwhile.after
        if gain < -meanwhile.error:  # then the model is worse in all ways
            continue
        held_out = (turn(s, way.best_step, s.steps[-1]) for s in attempt.by_role(Role.VALIDATION_LOSS))
        if any(t.before - t.after >= LEAST_FALL for t in filter(None, held_out)):
            continue  # and here it is better at what it is trained for
        checks = [
            at_least("of the score's rise lost", way.lost_share, "share", LOST, "lost_share"),
            at_least("fall of the score", way.lost, "errors", FAR),
            at_least("fall of the score", share, "of its best", LEAST_FALL, "fall_share"),
            *noted(training_fall_log=gain),
        ]
        at = At(attempt, score, way.best_step, score.steps[-1])
        yield finding("overfitting", at, checks, 0.3 + share, 0.7, ("noisy-healthy", "it had come back"))
        return


def measures(series: Series) -> frozenset[str]:
    """The words of a metric that do not say of which data it is: "loss" of "train_loss" and of "val_loss"."""
    return frozenset(plain(series.metric).split()) - OF_TRAINING - OF_EVALUATION


def turned_up(view: View, y: Floats) -> tuple[int, float, float]:
    """Of a validation loss: the sample of its minimum, the rise since, and the rise that is needed.

    Wider medians know the minimum better, so they see a slow turn in noise; the narrowest that tells
    places it.
    """
    n, limits = len(y), view.thresholds
    if n < EVALUATIONS:
        worse = bool(np.all(np.diff(y) > 0))  # too few for a noise: any three are in this order once in six
        return 0, float(y[-1] - y[0]) if worse else 0.0, limits.overfit_few
    width = 3 if n < 30 else 5
    widths = (width << k for k in range(n.bit_length()) if not k or width << k <= n // 4)
    turns = [risen_from_minimum(limits, y, width | 1) for width in widths]
    return next((turn for turn in turns if turn[1] >= turn[2]), turns[0])


def risen_from_minimum(limits: Thresholds, y: Floats, width: int) -> tuple[int, float, float]:
    """As `turned_up`, by running medians of one width. The noise is that of the time since the minimum and of
    as long before it: before a cut of the rate it may be another."""
    smooth = running(y, width)
    low = int(np.argmin(smooth))
    after = y[low + 1 :]
    if len(after) < max(3, limits.overfit_late * (len(y) - 1)):
        return low, 0.0, limits.moved
    late = after[-max(len(after) // 3, 3) :]
    noise = scale(np.diff(y[max(low - max(len(after), EVALUATIONS), 0) :], 2)) / np.sqrt(6)
    x = np.arange(len(after))
    off = after - np.polyval(np.polyfit(x, after, 2), x)  # what wanders needs more points to be sure of
    alike = inflation(off, scale(off)) if len(after) >= ALIKE else 1.0
    error = MEDIAN_ERROR * noise * alike * float(np.sqrt(1 / len(late) + 1 / width))
    return low, float(median(late) - smooth[low]), max(limits.moved, limits.join_t * error)


class Turn(NamedTuple):
    """Levels of a loss (medians) at a step and at the end, and the error of their difference, log units."""

    before: float
    after: float
    error: float


def turn(loss: Series, start: float, end: float) -> Turn | None:
    """What a loss did between two steps."""
    steps, y = positive(loss)
    near = max(0.1 * (end - start), 1.0)
    before, after = y[np.abs(steps - start) <= near], y[steps >= end - near]
    if not len(before) or not len(after):
        return None
    error = MEDIAN_ERROR * wiggle(y) * (1 / len(before) + 1 / len(after)) ** 0.5
    return Turn(median(before), median(after), error)


def gained(score: Series, start: float, end: float) -> bool:
    """Whether a score improves as a whole, and ends a stretch better than it was at its start."""
    known, near = finite(score), max(0.1 * (end - start), 1.0)
    v = direction(score) * known.values
    before, after = v[np.abs(known.steps - start) <= near], v[known.steps >= end - near]
    return improves(score) and not (len(before) and len(after) and median(after) <= median(before))


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
        waited = leaves - float(late.steps[0])  # before it was first asked nobody knows
        if soon or waited <= limits.settling * float(tested.steps[-1] - tested.steps[0]):
            continue
        checks = [
            *noted(train_saturated_step=saturated),
            at_least("delay", leaves / max(saturated, 1.0), "times", limits.lag, "delay_times"),
        ]
        at = At(attempt, tested, leaves, leaves, arrived)
        done = ("lr-decay-drop", "the training had not been done before")
        return [finding(SUDDEN, at, checks, 0.5, 0.9, done)]
    return []


def learned_at(series: Series, sign: float, share: float) -> float | None:
    """The first step at which this share of the way from the first to the best value was made for good."""
    known = finite(series)
    steps, v = known.steps, sign * running(known.values, 3)
    if len(v) < 8 or v.max() - v[0] <= 0:
        return None
    goal = v[0] + share * (v.max() - v[0])
    return float(steps[int(np.argmax(v >= goal))])


def apart(trained: Series, late: Series, sign: float) -> bool:
    """Whether both went from nothing to nearly all, the held-out one (``late``) since training was done:
    scores of 1 at most to above 0.9 (held-out: 0.6), losses to a fifth (held-out: a half)."""
    t, v = finite(trained).values, finite(late).values
    if sign > 0:
        return bool(1.0 >= t.max() >= 0.9 and 1.0 >= v.max() >= 0.6 and v[:2].max() <= 0.5)
    return bool(t.min() > 0 and t.min() <= 0.2 * t[0] and v.min() <= 0.5 * v[:2].min())


def _sudden_improvement(view: View, attempt: AttemptView) -> Iterator[Finding]:
    loss = attempt.loss
    if loss is None or len(loss) < COURSE:
        return
    for drop in view.events(loss):
        if drop.kind is not Kind.DROP or not abrupt(view, loss, drop):
            continue
        height, end = abs(drop.height), drop.end if drop.end is not None else len(loss) - 1
        fall = at_least("fall", height, "log units", view.thresholds.drop, "drop_log")
        at = At(attempt, loss, loss.steps[drop.onset], loss.steps[drop.peak], loss.steps[end])
        checks, other = [fall, *noted(drop_samples=end - drop.onset)], "the learning rate had fallen there"
        yield finding(SUDDEN, at, checks, height, 0.7, ("lr-decay-drop", other))


def abrupt(view: View, loss: Series, drop: Event) -> bool:
    """Whether it took 3 % of all steps so far (or 8 samples as they were logged before it), after the first
    tenth of the log in steps and points, and gained five times what as many steps before had gained. What is
    over at once is what a cut of the learning rate does: where no rate is logged nobody can tell."""
    steps, y = positive(loss)
    at_once = drop.end is not None and drop.end - drop.onset <= AT_ONCE
    if at_once and view.attempt_of[loss].learning_rate is None:
        return False
    start = float(loss.steps[drop.onset])
    lasted = float(loss.steps[drop.end if drop.end is not None else -1]) - start
    a = int(np.searchsorted(steps, start))
    if a < max(COURSE, FIRST * len(steps)) or start - steps[0] < FIRST * (steps[-1] - steps[0]):
        return False
    gap = median(np.diff(steps[max(a - 32, 0) : a + 1]))
    quick = lasted <= max(view.thresholds.sudden * start, 8 * gap)
    before = int(np.searchsorted(steps, start - lasted))
    gained = median(y[max(before - 4, 0) : before + 1]) - median(y[a - 4 : a])
    return quick and abs(drop.height) >= view.thresholds.sudden_gain * gained


STANDSTILL = Rule.of_losses(
    "standstill", (FAILED, PLATEAU, SUDDEN), stands_still, replaces=frozenset({FAILED})
)
CLIMB = Rule.of_losses("climb", (SLOW,), climbs, covers=RISES | {FAILED})
RULE = Rule.of_attempts("learning", ("overfitting", "grokking"), find)
