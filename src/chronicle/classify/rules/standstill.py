"""Runs that stand still: from the start, from some place on, up to some place; or that have to climb back.

What the course of a run was is a competition of five explanations (chronicle/classify/hypotheses.py): never,
healthy, stopped, waits, climbs. A name is given where one leads by 10 nats, and what it says is large enough
to matter; "healthy" wins like any other.

failed-run (at chance)
    Sees: a loss that is that of a model which knows the number of classes and nothing else.
    Rule: from an eighth of the log on the best explanation changes by less than 1.5 %, the median is within
    0.6 % (or three errors) of the logarithm of a usual number of classes, batches differ by 3 % at most (what
    knows nothing loses as much on every batch), and no score moves.
    Blind to: class numbers that are not in the list, and classes that differ in size.
    False alarm: a run that has converged to such a value by chance, one in twelve of those that stand still.
    Source: the field (runs at chance to the end that were called near-perfect).

plateau
    Sees: a loss that stands still while the plan goes on.
    Rule: "stopped" at a place that leaves a quarter of the log or more; where it leaves seven eighths, no
    change since is enough, for a fast fall to a floor is the same curve. The loss has not fallen to a fifth
    of its first value (what has, has converged), no other loss or score moves on, no event follows. A
    learning rate that falls by 1.3 around the place, or is under a tenth of its highest there, explains it.
    Or: "waits", with a tenth of the log or more before the fall, and nine tenths of the fall after the place:
    nothing was learned until something was changed. A fall that is over within a tenth of the log is a
    sudden improvement instead (grokking).
    Or: the learning rate is at nothing (1 % of its highest value) for the last quarter of the log or more,
    and the loss falls by less than 1.5 % (or three errors) there: trained for nothing.
    Blind to: smooth convergence. False alarm: a search for frozen parameters in a run that has converged.
    Source: IDEFICS 15 k to 26 k; BloombergGPT v0.

spike-slow-recovery (a climb from the first step on)
    Sees: a model that was trained before and is worse at once; it needs much of the log to come back.
    Rule: "climbs" leads, by 1.5 % and three noise scales at least, from a level that is not that of guessing,
    and half of the way back or more is made.
    Blind to: climbs of which the first samples are not logged. False alarm: a slow warm-up is named.
    Source: the field (warm starts whose optimizer begins anew).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.detect import Kind
from chronicle.classify.hypotheses import CLIMBS, HEALTHY, NEVER, STOPPED, WAITS, Contest, compete
from chronicle.classify.measure import MEDIAN_ERROR, positive, running, wiggle
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted
from chronicle.classify.rules.learning import abrupt
from chronicle.classify.rules.loss_shapes import NO_SPIKE, RISES, SLOW
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Floats, Role, Series

FAILED, PLATEAU, SUDDEN = "failed-run", "plateau", "grokking"
LEAST, FLAT_LEAST = 64, 16  # [samples] of a loss that has a course; in which a calm one can be told to stay
EARLY = 0.12  # share of the log in which a start may fall however it likes
WAITED = 0.15  # share of the log that is no warm-up
NONE = 0.1  # share of a fall that is none, and of the log in which an abrupt one is over
ABRUPT = 0.8  # of a fall that is over soon
LEAD = 10.0  # [nats] 1 in 20,000 for equal beliefs; fits of real losses differ by 5 for no reason
FAR_LEAD = 25.0  # [nats] for a name that people would like to be true
FEW = 8  # samples in a third of a stretch
SMALL = 3.0  # [nats] by which an equal curve may be less likely for its free parameter
CONVERGED = 1.5  # [log units] a fifth of the first value: to stand still there is its right
CLASSES = (2, 3, 4, 5, 8, 10, 20, 50, 100, 200, 256, 1000, 32000, 50257, 50304)
CHANCE = 0.006  # of the logarithm of a number of classes: label noise and weight decay add less
SMOOTH = ("near-perfect", "the curve had bent smoothly, as converging ones do")
OTHERS = (Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE, Role.VALIDATION_LOSS, Role.LOSS)


def find(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    told = idle(view, attempt, loss)
    contest = None if told else course_of(view, loss)
    if contest is not None:
        tries = (at_chance, waits, stops)
        told = next((found for rule in tries if (found := rule(view, attempt, loss, contest))), [])
    yield from told


def course_of(view: View, loss: Series) -> Contest | None:
    """The competition over a loss, held once a run; None for a short log."""
    steps, y = positive(loss)
    return view.once(("contest", loss), lambda: compete(steps, y) if len(y) >= LEAST else None)


def settled(contest: Contest, after: float, moved: float) -> bool:
    """Whether the best course of learning changes by next to nothing after a share of the log."""
    names = [name for name in (NEVER, HEALTHY, STOPPED) if name in contest.told]
    best = max((contest.told[name] for name in names), key=lambda told: told.score)
    first = contest.steps[0] + after * (contest.steps[-1] - contest.steps[0])
    return float(np.ptp(best.curve[contest.steps >= first])) < moved


def fall_of(y: Floats) -> float:
    """From the first two samples to the last tenth, log units."""
    return float(np.mean(y[:2]) - np.median(y[-max(len(y) // 10, 6) :]))


# ---- at chance -----------------------------------------------------------------------------------------


def at_chance(view: View, attempt: AttemptView, loss: Series, contest: Contest) -> list[Finding]:
    """A loss that is that of guessing, and stays there."""
    steps, y = positive(loss)
    late = steps >= steps[0] + EARLY * (steps[-1] - steps[0])
    rest = y[late]
    if len(rest) < LEAST // 2 or not settled(contest, EARLY, view.thresholds.moved):
        return []
    if still(steps[late], rest, view.thresholds) is None or moves_on(attempt, loss, float(steps[0])):
        return []
    level, error = float(np.exp(np.median(rest))), MEDIAN_ERROR * view.noise(loss) / len(rest) ** 0.5
    if view.noise(loss) > view.thresholds.knowing:
        return []
    (classes, off), most = guessing(level), max(CHANCE, view.thresholds.single_t * error)
    if off > most:
        return []
    checks = [
        *noted(classes=classes, level_loss=level),
        Check("off the logarithm of that number", off, "share", f"<= {most:.3g}"),
        Check("change of the course since", 0, "log units", f"< {view.thresholds.moved:g}"),
    ]
    chance = (PLATEAU, "the level were not that of guessing")
    at = At(attempt, loss, steps[0])
    return [finding(FAILED, at, checks, severity=0.9, confidence=0.8, runner_up=chance)]


def guessing(level: float) -> tuple[int, float]:
    """The number of classes among which guessing gives a loss the nearest to this, and how far off it is."""
    classes = min(CLASSES, key=lambda k: abs(level / np.log(k) - 1))
    return classes, abs(level / float(np.log(classes)) - 1)


def moves_on(attempt: AttemptView, loss: Series, since: float) -> bool:
    """Whether any score, objective or other loss gets better or worse after a step."""
    parts = ((s, s.values[np.isfinite(s.values) & (s.steps >= since)]) for s in attempt.by_role(*OTHERS))
    return any(s is not loss and len(v) >= 8 and moved(v) for s, v in parts)


def moved(v: Floats) -> bool:
    """Whether eighths of a series differ by a fiftieth of it and by three times what neighbours differ by."""
    eighths = np.array([np.median(part) for part in np.array_split(v, 8)])
    usual = 3 * float(np.median(np.abs(np.diff(v)))) / max(len(v) / 8, 1) ** 0.5
    return bool(np.ptp(eighths) > max(usual, 0.02 * float(np.max(np.abs(v)))))


# ---- stopped -------------------------------------------------------------------------------------------


def stops(view: View, attempt: AttemptView, loss: Series, contest: Contest) -> list[Finding]:
    """Learning that stopped at some place and was not done."""
    if STOPPED not in contest.told:
        return []
    limits, (steps, y) = view.thresholds, positive(loss)
    start, lead, place = contest.step(STOPPED), contest.lead(STOPPED), contest.told[STOPPED].at
    soon = place <= EARLY and settled(contest, EARLY, limits.moved) and lead >= -SMALL
    if (not soon and lead < LEAD) or place > 1 - limits.lasting or fall_of(y) >= CONVERGED:
        return []
    rest = y[steps >= start]
    if contest.winner in (CLIMBS, WAITS) and contest.lead(contest.winner, (STOPPED,)) >= LEAD:
        return []
    since = still(steps[steps >= start], rest, limits)
    if since is None or _lr_comes_down(attempt, limits, start, steps[-1]) or moves_on(attempt, loss, start):
        return []
    later = [e for e in view.events(loss) if e.onset > np.searchsorted(loss.steps, start)]
    if any(e.kind in (Kind.OPEN, Kind.DROP) for e in later):
        return []
    checks = [
        Check("stopped, against healthy", lead, "nats", f">= {LEAD:g}, or no change since", key="lead_nats"),
        since,
        Check("lasts for", 1 - place, "share of the log", f">= {limits.lasting:g}"),
    ]
    at = At(attempt, loss, start)
    return [finding(PLATEAU, at, checks, severity=0.4, confidence=0.7, runner_up=SMOOTH)]


def still(steps: Floats, rest: Floats, limits: Thresholds) -> Check | None:
    """The check that a stretch does not fall from the first third of its steps to the last, None if it does
    or nobody can tell: rows may be dense first."""
    third = (steps[-1] - steps[0]) / 3
    first, last = rest[steps <= steps[0] + third], rest[steps >= steps[-1] - third]
    return fallen(rest, first, last, limits) if min(len(first), len(last)) >= FEW else None


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
    if len(rest) < LEAST or fall_of(y) >= CONVERGED:
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


def _lr_comes_down(attempt: AttemptView, limits: Thresholds, start: float, end: float) -> bool:
    rate = attempt.learning_rate
    if rate is None:
        return False
    ok = np.isfinite(rate.values)
    steps, values = rate.steps[ok], rate.values[ok]
    seen = values[(steps >= 0.9 * start) & (steps <= start + 0.1 * (end - start))]
    falls = len(seen) > 1 and bool(seen[0] > limits.lr_falls * seen[-1])
    return falls or (len(seen) > 0 and bool(seen[-1] < limits.lr_low * values.max()))


# ---- waits, and falls ----------------------------------------------------------------------------------


def waits(view: View, attempt: AttemptView, loss: Series, contest: Contest) -> list[Finding]:
    """Nothing is learned up to a place; then something is."""
    lead = contest.lead(WAITS, (HEALTHY, STOPPED))
    if lead < LEAD or contest.winner != WAITS or contest.told[WAITS].at < WAITED:
        return []
    limits, (steps, y) = view.thresholds, positive(loss)
    place, span = contest.step(WAITS), steps[-1] - steps[0]
    before, after = y[steps < place], y[steps >= place]
    if min(len(before), len(after)) < FLAT_LEAST:
        return []
    third, fall = len(before) // 3, float(np.median(before) - np.median(y[-max(len(y) // 10, 6) :]))
    learned = float(np.median(before[:third]) - np.median(before[-third:]))
    if abs(learned) >= NONE * fall or fall < limits.drop:
        return []
    half = float(np.median(before)) - limits.midway * fall
    smooth = running(y, 5)
    i = int(np.argmax((smooth < half) & (steps >= place - NONE * span)))
    soon = y[(steps >= steps[i] + 0.02 * span) & (steps < steps[i] + NONE * span)]
    at_once = len(soon) > 0 and float(np.median(before) - np.median(soon)) > ABRUPT * fall
    checks = [at_least("waits, against healthy and stopped", lead, "nats", LEAD, "lead_nats")]
    if at_once:
        if lead < FAR_LEAD or any(e.kind is Kind.DROP and abrupt(view, loss, e) for e in view.events(loss)):
            return []
        checks = [*checks, at_least("fall", fall, "log units", limits.drop, "drop_log")]
        slow = (PLATEAU, "it had gone on falling for a tenth of the log")
        at = At(attempt, loss, steps[i], steps[i], steps[i])
        return [finding(SUDDEN, at, checks, severity=fall, confidence=0.7, runner_up=slow)]
    checks = [
        *checks,
        Check("learned before", learned / fall, "share of the fall", f"< {NONE:g}"),
        *noted(waited_share=contest.told[WAITS].at),
    ]
    at = At(attempt, loss, steps[0], None, place)
    other = (SUDDEN, "the fall had been over at once")
    return [finding(PLATEAU, at, checks, severity=0.4, confidence=0.7, runner_up=other)]


# ---- climbs, and comes back ----------------------------------------------------------------------------


def climbs(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
    """Worse from the first step on, and back much later at its first level, not that of guessing."""
    contest = course_of(view, loss)
    lead = -np.inf if contest is None else contest.lead(CLIMBS, (HEALTHY, STOPPED, WAITS, NEVER))
    if contest is None or lead < LEAD:
        return []
    limits, curve = view.thresholds, contest.told[CLIMBS].curve
    if guessing(float(np.exp(curve[0])))[1] <= limits.moved:
        return []
    peak = int(np.argmax(curve))
    height = float(curve[peak] - curve[0])
    back = np.flatnonzero(curve[peak:] <= curve[0] + limits.moved)
    if height < max(limits.moved, 3 * view.noise(loss)) or curve[-1] - curve[0] > limits.midway * height:
        return []
    last = contest.steps[peak + back[0] if len(back) else -1]
    share = float((last - contest.steps[0]) / (contest.steps[-1] - contest.steps[0]))
    if share < WAITED:
        return []
    checks = [
        at_least("climbs, against every other course", lead, "nats", LEAD, "lead_nats"),
        at_least("height over the first level", height, "log units", limits.moved, "height_log"),
        at_least("until it is back", share, "share of the log", WAITED, "back_share"),
    ]
    at = At(attempt, loss, contest.steps[0], contest.steps[peak], last if len(back) else None)
    ramp = (NO_SPIKE, "it had not come back to its first level")
    return [finding(SLOW, at, checks, severity=0.3 + height, confidence=0.7, runner_up=ramp)]


RULE = Rule.of_losses("standstill", (FAILED, PLATEAU, SUDDEN), find, replaces=frozenset({FAILED}))
CLIMB = Rule.of_losses("climb", (SLOW,), climbs, covers=RISES | {FAILED})
