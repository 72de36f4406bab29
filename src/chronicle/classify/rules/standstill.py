"""How learning stops, starts late, or begins with a climb.

Five explanations of the course of a loss compete (chronicle/classify/course.py): never, healthy, stopped,
waits, climbs. A pattern is named only where its explanation leads the others by 10 nats.

plateau
    Sees: a loss that stands still while the training goes on.
    Rule: from some step on, for a quarter of the log or more, the loss changes by less than 1.5 %, while no
    other loss or score moves and no fall of the learning rate explains it; or it does so for the first 15 %
    of the log, and then falls (`waits`); or at the end, below 1 % of the highest learning rate (`idle`).
    Blind to: convergence: a loss at a fifth of its first value, or beside scores that are all at their best.
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
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from chronicle.classify import measure
from chronicle.classify.course import CLIMBS, LEAD_NATS, STOPPED, WAITS, WARM_UP_SHARE, Contest, may_deviate
from chronicle.classify.kernel import Kind
from chronicle.classify.measure import MEDIAN_ERROR, difference_noise, finite, median, positive, running
from chronicle.classify.report import At, Check, Rule, at_least, at_most, below, finding, noted
from chronicle.classify.rules.generalisation import SUDDEN, is_abrupt
from chronicle.classify.rules.loss_shapes import NO_SPIKE, RISES, SLOW
from chronicle.classify.rules.objectives import FAILED, PLATEAU, is_done
from chronicle.classify.rules.whole_run import OFF_GUESSING, guessing
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import COURSE_POINTS, AttemptView, View, kept, value_at
from chronicle.metrics.names import LOSSES
from chronicle.metrics.roles import SCORES
from chronicle.model import Finding, Floats, Role, Series

FEWEST_FLAT_POINTS = 16  # in which a calm loss can be told to stay
START_SHARE = 0.12  # of the log, in which a loss may fall in any way before it stands still
NO_FALL_SHARE = 0.1  # of a later fall: a loss that fell by less had not begun to learn
AT_ONCE_SHARE = 0.1  # of the log, in which a sudden fall is over
MOST_OF_FALL = 0.8  # share of a fall that must lie there
SURPRISE_LEAD_NATS = 25.0  # for a name that people would like to be true
FEWEST_IN_STRETCH = 8  # points in a third of a stretch, and of another series since it began
ONE_PARAMETER_NATS = 3.0  # by which an equal curve is less likely for its additional parameter
CONVERGED_LOG = 1.5  # [log units] a loss that has fallen to a fifth of its first value may stand still
CONVERGES = ("near-perfect", "the curve had bent smoothly, as converging ones do")
OTHER_ROLES = (*SCORES, Role.OBJECTIVE, *LOSSES)


def stands_still(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """The first of the ways to stand still that a loss shows."""
    return islice(filter(None, (way(view, attempt, loss) for way in (idle, waits, stops))), 1)


@kept
def course_of(view: View, loss: Series) -> Contest | None:
    """The competition over a loss; None for a short log, and where it only descends."""
    return view.contest(loss) if may_deviate(*positive(loss), view.thresholds) else None


def fall_from(level: float, y: Floats) -> float:
    """How far the last tenth lies below a level, log units."""
    return level - median(y[-max(len(y) // 10, 6) :])


def is_converged(y: Floats) -> bool:
    """Whether a loss came down so far that it may stand still."""
    return fall_from(float(np.max(y[:2])), y) >= CONVERGED_LOG


def moved(v: Floats) -> bool:
    """Whether eighths of a series differ by a fiftieth of it, and by more than noise does (5.5 errors)."""
    eighths = np.array([median(part) for part in np.array_split(v, 8)])
    usual = 5.5 * MEDIAN_ERROR * difference_noise(v) / max(len(v) / 8, 1) ** 0.5
    return bool(np.ptp(eighths) > max(usual, 0.02 * float(np.max(np.abs(v)))))


def creeps(series: Series, limits: Thresholds) -> bool:
    """Whether a held-out loss, of which more samples make less noise, falls meanwhile, slowly but surely."""
    y = positive(series)[1]
    if series.role is not Role.VALIDATION_LOSS or len(y) < 2 * FEWEST_IN_STRETCH:
        return False
    falls = median(y[: len(y) // 4]) - median(y[-(len(y) // 4) :]) >= limits.step_least
    return falls and min(map(measure.trend, (y, y[len(y) // 2 :]))) <= -measure.TREND_ERRORS


def stops(view: View, attempt: AttemptView, loss: Series) -> Finding | None:
    """Learning that stopped at some place and was not done."""
    contest = course_of(view, loss)
    if contest is None or STOPPED not in contest.explanations:
        return None
    limits, lead, place = view.thresholds, contest.lead(STOPPED), contest.explanations[STOPPED].at
    no_change = contest.change_after(START_SHARE) < limits.moved and lead >= -ONE_PARAMETER_NATS
    soon = place <= START_SHARE and no_change
    if (not soon and lead < LEAD_NATS) or place > 1 - limits.lasting:
        return None
    start, (steps, y) = contest.step(STOPPED), positive(loss)
    if _is_done_or_climbs(view, loss, contest) or _schedule_explains(attempt, loss, start, limits):
        return None
    rest, third = y[steps >= start], (steps[-1] - start) / 3  # in steps: rows may be dense first
    first, last = y[(steps >= start) & (steps <= start + third)], y[steps >= steps[-1] - third]
    since = fallen(rest, first, last, limits) if min(len(first), len(last)) >= FEWEST_IN_STRETCH else None
    if since is None or _goes_on_elsewhere(view, attempt, loss, start):
        return None
    enough = f">= {LEAD_NATS:g}, or no change since"
    checks = [
        Check("stopped, against healthy", lead, "nats", enough, key="lead_nats"),
        since,
        Check("lasts for", 1 - place, "share of the log", f">= {limits.lasting:g}"),
    ]
    classes, off = guessing(median(rest))
    if not soon or off > OFF_GUESSING or view.noise(loss) > limits.knowing:
        return finding(PLATEAU, At(attempt, loss, start), checks, 0.4, 0.7, CONVERGES)
    named = at_most("off the logarithm of that number", off, "share", OFF_GUESSING)
    checks += [*noted(classes=classes, level_loss=float(np.exp(median(rest)))), named]
    chance = (PLATEAU, "the level were not that of guessing")
    return finding(FAILED, At(attempt, loss, steps[0]), checks, 0.9, 0.8, chance)


def _is_done_or_climbs(view: View, loss: Series, contest: Contest) -> bool:
    """Whether a loss may stand still, as it came down far, or follows another course. One that is held out
    may do so after any fall: the training loss, which is not logged, may go on falling."""
    y = positive(loss)[1]
    if is_converged(y):
        return True
    if loss.role is Role.VALIDATION_LOSS and fall_from(float(y[0]), y) >= view.thresholds.drop:
        return True
    return contest.winner in (CLIMBS, WAITS) and contest.lead(contest.winner) >= LEAD_NATS


def _schedule_explains(attempt: AttemptView, loss: Series, start: float, limits: Thresholds) -> bool:
    """Whether the learning rate came down where a loss stands still; or, if it had learned, from half of its
    highest value or more to nothing since. Where a rate is too high, or a minimum sharp, that lowers it."""
    rate, (steps, y) = attempt.learning_rate and finite(attempt.learning_rate), positive(loss)
    if not rate:
        return False
    near = rate.values[(rate.steps >= 0.9 * start) & (rate.steps <= start + 0.1 * (steps[-1] - start))]
    least = limits.lr_low * (highest := rate.values.max())
    if len(near) and (near[0] > limits.lr_falls * near[-1] or near[-1] < least):
        return True
    has_learned = fall_from(float(np.max(y[:2])), y) >= limits.drop
    return has_learned and value_at(rate, start) >= 0.5 * highest > 0 and bool(rate.values[-1] <= least)


def _goes_on_elsewhere(view: View, attempt: AttemptView, loss: Series, start: float) -> bool:
    """Whether something else changed since a loss stands still: the training was done, another loss or score
    moves, or the loss itself drops or has an event that is still open."""
    if is_done(attempt, start):
        return True
    others = (finite(s.pick(s.steps >= start)) for s in attempt.by_role(*OTHER_ROLES) if s is not loss)
    if any(len(s) >= FEWEST_IN_STRETCH and (moved(s.values) or creeps(s, view.thresholds)) for s in others):
        return True
    began = np.searchsorted(loss.steps, start)
    return any(e.onset > began and e.kind in (Kind.OPEN, Kind.DROP) for e in view.events(loss))


def idle(view: View, attempt: AttemptView, loss: Series) -> Finding | None:
    """A flat end of the log that is trained with a learning rate of nothing."""
    rate, limits = attempt.learning_rate, view.thresholds
    if rate is None or len(rate) < COURSE_POINTS or not measure.can_resolve(rate.values, limits.idle):
        return None
    highest = float(np.max(rate.values, where=np.isfinite(rate.values), initial=0.0))
    works = np.flatnonzero(~(rate.values <= limits.idle * highest))
    if not len(works) or works[-1] + 1 == len(rate):
        return None
    last, then = float(rate.values[works[-1]]), rate.values[works[-1] + 1 :]
    if then[0] > 0 and (then == then[0]).all() and last >= limits.lr_falls * then[0]:
        return None  # a phase of a schedule in steps, of which the last is the smallest
    (steps, y), start = positive(loss), float(rate.steps[works[-1] + 1])
    rest = y[steps >= start]
    if len(rest) < COURSE_POINTS or is_converged(y):
        return None
    lasts, half = (steps[-1] - start) / (steps[-1] - steps[0]), len(rest) // 2
    if lasts < limits.lasting or (fall := fallen(rest, rest[:half], rest[half:], limits, False)) is None:
        return None
    checks = [
        *noted(learning_rate_share=float(rate.values[-1]) / highest),
        Check("learning rate at nothing for", lasts, "share of the log", f">= {limits.lasting:g}"),
        fall,
    ]
    ended = ("lr-decay-drop", "the log had ended where the learning rate did")
    return finding(PLATEAU, At(attempt, loss, start), checks, 0.4, 0.9, ended)


def fallen(y: Floats, first: Floats, last: Floats, limits: Thresholds, may_hide: bool = True) -> Check | None:
    """The check that a loss hardly fell between two stretches; None if it fell, or noise ``may_hide`` it."""
    fall = median(first) - median(last)
    error = MEDIAN_ERROR * difference_noise(y) * (2 / max(len(first), 1)) ** 0.5
    most = limits.moved if may_hide else max(limits.moved, 2 * error)
    if max(abs(fall), error * may_hide) >= most:
        return None
    return below("fall of the loss meanwhile", fall, "log units", most, "fall_log")


def waits(view: View, attempt: AttemptView, loss: Series) -> Finding | None:
    """Nothing is learned up to a place; then something is."""
    contest = course_of(view, loss)
    if contest is None or contest.winner != WAITS:
        return None
    if (lead := contest.lead(WAITS)) < LEAD_NATS:
        return None
    limits, (steps, y), place = view.thresholds, positive(loss), contest.step(WAITS)
    rate, span = attempt.learning_rate, steps[-1] - steps[0]
    works = steps if rate is None else rate.steps[rate.values > limits.idle * rate.values.max()]
    start = max([steps[0], *works[:1]])  # before it, steps were skipped, or made with a rate of nothing
    before = y[steps < place]
    is_short = min(len(before), len(y) - len(before)) < FEWEST_FLAT_POINTS
    if is_short or place - start < WARM_UP_SHARE * (steps[-1] - start):
        return None
    level, third = median(before), len(before) // 3
    fall, learned = fall_from(level, y), median(before[:third]) - median(before[-third:])
    if abs(learned) >= NO_FALL_SHARE * fall or fall < limits.drop:
        return None
    fallen_half = running(y, 5) < level - limits.midway * fall
    i = int(np.argmax(fallen_half & (steps >= place - AT_ONCE_SHARE * span)))
    soon = y[(steps >= steps[i] + 0.02 * span) & (steps < steps[i] + AT_ONCE_SHARE * span)]
    against = at_least("waits, against healthy and stopped", lead, "nats", LEAD_NATS, "lead_nats")
    if len(soon) and level - median(soon) > MOST_OF_FALL * fall:
        drops = (e for e in view.events(loss) if e.kind is Kind.DROP)
        if lead < SURPRISE_LEAD_NATS or any(is_abrupt(view, loss, drop) for drop in drops):
            return None
        checks = [against, at_least("fall", fall, "log units", limits.drop, "drop_log")]
        slow = (PLATEAU, "it had gone on falling for a tenth of the log")
        return finding(SUDDEN, At(attempt, loss, steps[i], steps[i], steps[i]), checks, fall, 0.7, slow)
    flat = fallen(before, before[:third], before[-third:], limits)
    if flat is None:  # an S bends from its start on
        return None
    checks = [against, flat, *noted(waited_share=contest.explanations[WAITS].at)]
    at_once = (SUDDEN, "the fall had been over at once")
    return finding(PLATEAU, At(attempt, loss, steps[0], None, place), checks, 0.4, 0.7, at_once)


def climbs(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """Worse from the first step on, and back much later at its first level, not that of guessing."""
    if (contest := course_of(view, loss)) is None:
        return
    limits, steps, lead = view.thresholds, contest.steps, contest.lead(CLIMBS)
    smooth = running(contest.level, 5)
    if lead >= LEAD_NATS:
        curve, least, lasts = contest.explanations[CLIMBS].curve, 0.0, WARM_UP_SHARE
    else:  # a loss that explodes follows no law: then medians, a factor of two and a quarter of the log
        curve, least, lasts = smooth, limits.twice, limits.lasting
    peak = int(np.argmax(curve))
    height, left = float(curve[peak] - curve[0]), curve[-1] - curve[0]
    low = height < max(3 * view.noise(loss), least) or left > limits.midway * height
    learned = max(curve[0], positive(loss)[1][0]) - smooth[: peak + 1].min()  # before it climbed
    low |= bool(learned > min(limits.dip * height, limits.twice))
    if low or guessing(float(curve[0]))[1] <= limits.moved:
        return
    back = np.flatnonzero(curve[peak:] <= curve[0] + limits.moved)
    last = steps[peak + back[0] if len(back) else -1]
    ends = [float(s.steps[-1]) for s in attempt.by_role(*LOSSES)]  # batches may be logged at first only
    share = float((last - steps[0]) / (max(ends) - steps[0]))
    against = at_least("climbs, against every other course", lead, "nats", LEAD_NATS, "lead_nats")
    checks = [
        *([] if least else [against]),
        at_least("height over the first level", height, "log units", limits.moved, "height_log"),
        at_least("until it is back", share, "share of the log", lasts, "back_share"),
    ]
    at = At(attempt, loss, steps[0], steps[peak], last if len(back) else None)
    yield finding(SLOW, at, checks, 0.3 + height, 0.7, (NO_SPIKE, "it had not come back to its first level"))


STILL = (FAILED, PLATEAU, SUDDEN)
STANDSTILL = Rule("standstill", STILL, Rule.by_loss(stands_still), replaces=frozenset({FAILED}))
CLIMB = Rule("climb", (SLOW,), Rule.by_loss(climbs), covers=RISES | {FAILED})
