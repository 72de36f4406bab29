"""What a whole run was: failed, healthy, or a loss that never moved.

failed-run (a loss that was never learned)
    Sees: a loss that stays where its first values were.
    Rule: no eighth of the log has a median 3 % below the first two values, nothing else improves, and batches
    differ by 3 % at most, since who knows nothing loses as much on every batch (`_never_learned`); or the
    loss is that of guessing (`_guesses`). It does not go on from elsewhere, and no other attempt learned
    where it ends (`learned_elsewhere`). What was learned and lost at one step counts too (`forgot`).
    Blind to: a run that learned a little and then stopped, which is a plateau.
    False alarm: fine-tuning in large batches that starts at its floor.
    Source: AlgoPerf logs of runs that never left the first level.

failed-run (every attempt ends badly)
    Sees: a training that was started again and again and never came through.
    Rule: three attempts or more, of which three quarters end in NaN or 3 % above their own minimum, other
    than after a spike that came back for the most part.
    Blind to: attempts of fewer than 16 points.
    False alarm: attempts that were stopped on purpose just after a spike.
    Source: BigScience tr8 (104B): attempts that ended alike, and its lessons learned.

near-perfect, noisy-healthy
    Sees: runs in which nothing worrying was found on the live course.
    Rule: 16 points or more of a loss, or of a reward that improves, and no live finding but fast spikes (on
    1 % of the steps at most), falls that the schedule explains, and properties of the log; with a noise of
    single samples above 5 % the run is noisy-healthy, else near-perfect.
    Blind to: a model that is worse than its loss says; only evaluations show that (see not_assessed).
    False alarm: a bad run is called good, so every doubt of another rule comes first.
    Source: BLOOM-176B and Llama 3 logs (near-perfect); RL and small-batch logs (noisy).

plateau (a loss that never moved)
    Sees: a loss that is noise around one level from the first step to the last.
    Rule: the log starts with the run; in every attempt the live loss, 16 points or more, has no trend, no
    eighth of its own level and no neighbours that are alike (`moves`), and nothing else gets better. Losses
    of agents, of two players and round zero stand still in a good run, too: there nothing is found, and the
    run is not called healthy.
    Blind to: learning smaller than the noise of the log, and a log whose noise could hide a fall by a tenth.
    False alarm: a short log in small batches of what had been learned before.
    Source: Kruskal and Wallis, "Use of ranks in one-criterion variance analysis" (1952).

divergence-no-spike (a loss that ends above where it began)
    Sees: a run that leaves its start upwards and stays there, even where the rise comes too soon for a trend.
    Rule: the log starts with the run, and the second half of the loss lies a tenth above its first eighth
    (`ends_above_start`), or the end of a short one at twice its lowest level (`ends_twice_as_high`), while
    nothing else gets better; or it rises from the minimum of its held-out loss on (`risen_with_held_out`); or
    it has no lower bound and runs away below zero (`runs_below_zero`). Losses of agents and two players may
    rise. A rise within the noise is worrying, any other is bad.
    Blind to: a rise by less than a tenth without a held-out loss.
    False alarm: data that get harder by a curriculum that is not logged.
    Source: Mann and Whitney (1947), whose test of ranks it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from chronicle.classify import measure
from chronicle.classify.course import HEALTHY, LEAD_NATS
from chronicle.classify.kernel.step import SINGLE_PRECISION
from chronicle.classify.measure import FEWEST_POINTS, begins_late, difference_noise, finite, median, positive
from chronicle.classify.report import At, Check, Rule, at_least, at_most, below, finding, noted, side, stands
from chronicle.classify.rules import resume, slow_changes
from chronicle.classify.rules.generalisation import each_step_once, gained, measures, turn, turned_up
from chronicle.classify.rules.loss_shapes import NAN, NO_SPIKE, NOT_FULLY, RISES, SHIFT, typed_findings
from chronicle.classify.rules.objectives import FAILED, PLATEAU, is_done
from chronicle.classify.view import AttemptView, View, is_back_held_out, kept
from chronicle.metrics.aliases import OF_AGENTS, step_gap
from chronicle.metrics.names import LOSSES, MIN_POINTS, is_of_opponent, loss_words
from chronicle.metrics.roles import SCORES, direction
from chronicle.model import Finding, Floats, Role, Series

PERFECT, NOISY = "near-perfect", "noisy-healthy"
FEWEST_ATTEMPTS = 3  # of which most must end badly
USUAL_TOKENS = 16384, 32000, 50257, 50304, 65536, 128256, 151936  # of a language model
USUAL_CLASSES = 2, 3, 4, 5, 8, 10, 20, 50, 100, 200, 256, 1000, *USUAL_TOKENS
KNOWING_SCORE = 0.75  # which no guess among classes of one size has; among others it costs less
OFF_GUESSING = 0.006  # share of the logarithm of the classes that label noise and weight decay may add
STEADY_ERRORS = 2.0  # of the rank correlation with time: more for one in fifty that stand still
CONSTANT_SCORE_POINTS = 5  # values of a score that are all the same, which tell that nothing is learned
CHANCE_FALL_SCALES = 3.0  # noise scales of the lowest of eight medians below two samples: 1 in 100
STILL_ERRORS = 1.28  # of the rank correlation with time: more for one in five losses that stand still
SMOOTH_RATIO = 1.0  # of squares of steps to squares about the mean (von Neumann): 2 for white noise
FEWEST_RISEN_POINTS = 32  # so that there are four samples in the first eighth
FEWEST_RISEN, CLEAR_SCALES = 4, 4.0  # samples at the end of a short loss, and noise scales by which it rises
RISEN_LOG = 0.1  # log units of the second half of a loss over its first eighth: 10 %
RISEN_ERRORS = 3.5  # of the ranks of the two: more for one in 4,000 losses that stand still
LOST_TIMES = 1 / SINGLE_PRECISION  # a value: 32 bits lose it beside what is so many times it
EQUAL_LEVELS_CHI2 = 18.48  # of eight levels: more for one in a hundred losses that stand still


def find(view: View) -> Iterable[Finding]:
    """At most one finding of the whole run, or one of each attempt that never learned."""
    never: list[Finding] = []
    for attempt, loss in ((a, a.loss) for a in view.attempts if a.loss is not None):
        lost = list(_never_learned(view, attempt, loss)) or list(forgot(view, attempt, loss))
        never += [] if lost and learned_elsewhere(view, attempt, loss) else lost
    rules = unmoved, runs_below_zero, ends_above_start, risen_with_held_out
    moved = (f for rule in rules if not is_game(view) and (f := list(rule(view))))
    return list(_every_attempt_dies(view)) or never or next(moved, [])


def _never_learned(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    limits, noise, (steps, y) = view.thresholds, view.noise(loss), positive(loss)
    rated = ((s, bool((s.values == s.values[0]).all())) for s in attempt.by_role(*SCORES))
    scores = [s for s, same in rated if len(s) >= (CONSTANT_SCORE_POINTS if same else MIN_POINTS)]
    guesses = len(y) >= MIN_POINTS and _guesses(y[2:], scores)
    is_whole = len(y) >= FEWEST_POINTS and not attempt.attempt.facts.get("resumed")
    if not guesses and not (is_whole and noise <= limits.knowing):
        return
    epochs = [np.unique(s.values) for s in attempt.by_role(Role.EPOCH)]
    begins_in_epoch = any(begins_late(e, max(np.ptp(e[:2]), 1)) for e in epochs)
    if begins_in_epoch or begins_late(steps, step_gap(loss)):  # steps may count this launch alone
        return
    gain = learned(y[2:] if scores else y)  # before any score moves, the scale of the outputs is learned
    least = max(limits.learned, CHANCE_FALL_SCALES * noise if guesses else 0.0)
    others = [positive(s)[1] for s in attempt.by_role(Role.LOSS, Role.VALIDATION_LOSS) if s is not loss]
    elsewhere = any(learned(other) >= least for other in others if len(other) >= FEWEST_POINTS)
    parts_fall = any(falls(part, measure.TREND_ERRORS) for part in attempt.by_role(Role.PART_LOSS))
    if gain >= least or elsewhere or parts_fall or any(map(measure.improves, scores)):
        return
    contest = view.contest(loss) if gain >= limits.step_least else None
    is_law = contest is not None and contest.lead(HEALTHY) >= LEAD_NATS
    if is_law and not is_guessing(y[2:]):
        return  # a large constant part, other than that of guessing, keeps the logarithm from moving
    checks = [
        below("lowest eighth below the start", gain, "log units", least, "gained_log"),
        *([] if guesses else [at_most("one-sample noise", noise, "log units", limits.knowing)]),
        *noted(points_samples=len(y)),
    ]
    fell, confidence = "the loss had fallen first and then stood still", 0.6 + 0.3 * min(1.0, len(y) / 200)
    yield finding(FAILED, At(attempt, loss, steps[0]), checks, 0.9, confidence, (PLATEAU, fell))


def _guesses(y: Floats, scores: Sequence[Series]) -> bool:
    """Whether a loss is that of guessing. Scores that stay show this from fewer points, and where batches
    differ; scores that know, or that rise while the loss falls below it, show that it is not."""
    if all(direction(s) > 0 and KNOWING_SCORE <= median(finite(s).values) <= 1 for s in scores):
        return False
    rise = (measure.rises_by(direction(s) * finite(s).values) for s in scores)
    ends_below = bool(median(y[-(len(y) // 4) :]) < np.log(np.log(guessing(median(y))[0])))
    falls_below = ends_below and measure.rises_by(y) <= -STEADY_ERRORS
    return is_guessing(y) and not (falls_below and any(by >= STEADY_ERRORS for by in rise))


def learned_elsewhere(view: View, attempt: AttemptView, loss: Series) -> bool:
    """Whether a loss twice as long had fallen as little where this one ended, and then was learned; or an
    earlier attempt had learned, and this one begins nearer to where that came to than to where it began."""
    least, end, first = view.thresholds.learned, loss.steps[-1], positive(loss)[1][:2]
    courses = _learned_courses(view)
    starts = (y[: np.searchsorted(steps, end, "right")] for _, steps, y in courses if steps[-1] >= 2 * end)
    before = (y[:2].mean() - learned(y) / 2 for index, _, y in courses if index < attempt.index)
    return any(first.mean() < y for y in before) or any(len(y) and y[0] - y.min() < least for y in starts)


@kept
def _learned_courses(view: View) -> list[tuple[int, Floats, Floats]]:
    """Index, steps and log values of each attempt whose loss was learned."""
    judged = ((a, a.loss) for a in view.attempts if a.loss is not None and len(a.loss) >= MIN_POINTS)
    known = ((a.index, *positive(loss)) for a, loss in judged)
    return [course for course in known if len(course[2]) and learned(course[2]) >= view.thresholds.learned]


def learned(y: Floats) -> float:
    """How far the lowest eighth of log values lies below the first two."""
    size, rest = divmod(len(y), 8)
    ends = [size * k + min(k, rest) for k in range(9)]  # as `numpy.array_split` does, in a third of its time
    return measure.mean(y[:2]) - min(median(y[a:b]) for a, b in pairwise(ends))


def guessing(log_level: float) -> tuple[int, float]:
    """The number of classes among which guessing gives a loss the nearest to this, and how far off it is."""
    level = float(np.exp(min(log_level, 700.0)))
    classes = min(USUAL_CLASSES, key=lambda k: abs(level / np.log(k) - 1))
    return classes, abs(level / float(np.log(classes)) - 1)


def is_guessing(y: Floats) -> bool:
    """Whether the level of log values is that of guessing, as exactly as noise lets it be known."""
    error = measure.MEDIAN_ERROR * difference_noise(y) / len(y) ** 0.5
    return bool(guessing(median(y))[1] <= OFF_GUESSING + min(2 * error, OFF_GUESSING))


def forgot(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """A step up to the first level, after which nothing is learned again."""
    limits, (steps, y) = view.thresholds, positive(loss)
    if not len(y) or begins_late(steps):
        return
    for shift in (f for f in typed_findings(view, loss) if f.pattern == SHIFT):
        first, after = float(np.mean(y[:2])), y[steps >= shift.start_step]
        gained = first - median(y[steps < shift.start_step][-FEWEST_POINTS:])
        left = first - median(after[-FEWEST_POINTS:])
        if len(after) < 2 * FEWEST_POINTS or gained < limits.learned:
            continue
        checks = [
            at_least("learned before the step", gained, "log units", limits.learned, "learned_log"),
            at_most("of that left at the end", left / gained, "share", limits.first_level),
            at_most("spread at the end", float(np.std(after[-FEWEST_POINTS:])), "log units", limits.knowing),
            *noted(left_log=left),
        ]
        lower = (SHIFT, "the new level had been below the first one")
        yield finding(FAILED, At(attempt, loss, shift.start_step), checks, 0.9, 0.8, lower)


def unmoved(view: View) -> Iterator[Finding]:
    """A loss that moved by no more than its own noise."""
    if (still := stands_still(view)) is None:
        return
    (attempt, loss, trend_errors, apart), y = still, positive(still[1])[1]
    error = measure.MEDIAN_ERROR * difference_noise(y) * (8 / max(len(y), 1)) ** 0.5  # of two quarters
    hidden = view.noise(loss) > view.thresholds.wild or error >= RISEN_LOG
    if not len(y) or hidden or is_done(attempt, loss.steps[0]):
        return
    fall = learned(y) / max(difference_noise(y), 1e-12)
    checks = [
        at_most("trend of the whole course", abs(trend_errors), "errors", STILL_ERRORS, "still_errors"),
        at_most("fall from the first values", fall, "noise scales", CHANCE_FALL_SCALES),
        at_most("levels of eighths apart", apart, "chi-squared", EQUAL_LEVELS_CHI2),
        *noted(points_samples=len(loss)),
    ]
    at, other = At(attempt, loss, loss.steps[0]), (FAILED, "its batches had differed by less")
    yield finding(PLATEAU, at, checks, 0.4, 0.7, other)


def is_game(view: View) -> bool:
    """Whether losses of agents or of players are logged, which may rise while all is well."""
    return any(is_of_opponent(n) or OF_AGENTS & loss_words(n) for a in view.attempts for n in a.series)


def live_losses(view: View) -> list[tuple[AttemptView, Series]]:
    """The judged losses of the attempts that are not overtaken as a whole."""
    return [(a, a.loss) for a in view.attempts if a.live_until is not None and a.loss is not None]


def runs_below_zero(view: View) -> Iterator[Finding]:
    """A loss without a lower bound that runs away: what it was at first is nothing beside what it is."""
    for attempt, known in ((attempt, finite(loss)) for attempt, loss in live_losses(view)):
        if len(known) < FEWEST_POINTS or begins_late(known.steps, step_gap(known)):
            continue
        v, (start, middle) = known.values, known.values[[0, len(known) // 2]].tolist()
        first, last = float(np.abs(v[:MIN_POINTS]).max()), median(v[-MIN_POINTS:])
        # no density, which levels off, falls as far in its second half: then one nat is the measure
        levels_off = middle - last < 0.5 * (start - middle) or MIN_POINTS * abs(start) > -last
        first = first if levels_off else min(first, 1.0)
        if (times := -last / max(first, 1e-300)) >= LOST_TIMES:
            left = int(np.flatnonzero(np.append(0.0, v[:-1]) >= -first)[-1])
            lost = at_least("below zero, over the first values or a nat", times, "times", LOST_TIMES)
            checks, at = [lost, *noted(first_level=first, last_level=last)], known.steps[left]
            other = (PERFECT, "a loss with a lower bound could fall so far")
            yield finding(NO_SPIKE, At(attempt, known, at), checks, 0.9, 0.8, other)


def ends_above_start(view: View) -> Iterator[Finding]:
    """A loss whose second half lies above its first eighth, where nothing else gets better."""
    others = (s for a in view.attempts for s in a.by_role(*LOSSES, Role.PART_LOSS) if s is not a.loss)
    if _gets_better(view) or any(falls(s, measure.TREND_ERRORS) for s in others):
        return
    for attempt, loss in live_losses(view):
        (steps, y), noise = positive(loss), view.noise(loss)
        if not len(y) or begins_late(steps, step_gap(loss)) or is_done(attempt, steps[0]):
            continue
        if (twice := list(ends_twice_as_high(view, attempt, loss))) or len(y) < FEWEST_RISEN_POINTS:
            yield from twice
            continue
        first, later = y[: len(y) // 8], y[len(y) // 2 :]
        order, n = measure.ranks(np.r_[first, later]), len(first) + len(later)
        error = ((n + 1) * len(later) / (12 * len(first))) ** 0.5
        rise, rank_errors = median(later) - median(first), ((n + 1) / 2 - order[: len(first)].mean()) / error
        hidden = noise > max(rise, view.thresholds.wild)
        if hidden or rise < RISEN_LOG or rank_errors < RISEN_ERRORS or _is_up(view, loss):
            continue
        most, level = view.thresholds.back_cap, float(np.exp(median(first)))
        if is_back_held_out(attempt, steps[len(first)], most, steps[-1], level=level):
            continue  # the run goes on after the last sample
        checks = [
            at_least("second half over the first eighth", rise, "log units", RISEN_LOG, "risen_log"),
            at_least("their ranks apart", float(rank_errors), "errors", RISEN_ERRORS),
            *noted(noise_log=noise),
        ]
        at, other = At(attempt, loss, steps[len(first)]), (SHIFT, "the loss had been learned before")
        yield finding(NO_SPIKE, at, checks, 0.7, 0.8, other)


def risen_with_held_out(view: View) -> Iterator[Finding]:
    """A loss that rises from the minimum of its held-out loss on, too soon for a trend to show it."""
    limits = view.thresholds
    for attempt, loss in live_losses(view):
        if attempt.by_role(Role.PART_LOSS) or _is_up(view, loss):
            continue
        for validation in map(each_step_once, attempt.by_role(Role.VALIDATION_LOSS)):
            steps, y = positive(validation)
            if len(y) < FEWEST_POINTS or measures(validation) != measures(loss):
                continue
            low, rise, need = turned_up(view, y)
            start, end, need = steps[low], steps[-1], max(need, limits.turn_clear)
            meanwhile = turn(loss, start, end)
            is_late = end - start < limits.lasting * (end - steps[0])
            better = any(gained(s, start, end) for s in attempt.by_role(Role.OBJECTIVE, *SCORES))
            if meanwhile is None or is_late or better or rise < need:
                continue
            risen = meanwhile.after - meanwhile.before
            if risen < (least := max(limits.turn_clear, limits.other_t * meanwhile.error)):
                continue
            checks = [
                at_least("validation over its minimum", rise, "log units", need, "validation_rise_log"),
                at_least("end over the minimum", risen, "log units", least, "rise_log"),
                *noted(residual_log=risen),
            ]
            other = ("overfitting", "the training loss had gone on falling")
            yield finding(NO_SPIKE, At(attempt, loss, start), checks, 0.7, 0.8, other)
            return


def _is_up(view: View, loss: Series) -> bool:
    """Whether another rule has found that a loss ends above what it was."""
    still_open = (f.pattern in RISES and f.end_step is None for f in typed_findings(view, loss))
    return any(still_open) or slow_changes.late_turn(view, loss) is not None


def ends_twice_as_high(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """A short loss whose end lies at twice its lowest level or above, and does not come down."""
    limits, noise, (steps, y) = view.thresholds, view.noise(loss), positive(loss)
    if not MIN_POINTS <= len(y) < slow_changes.FEWEST_POINTS or _is_up(view, loss):
        return
    levels = np.r_[y[:1], measure.running(y, 3)[1:-1]]
    low = int(np.argmin(levels))
    end = y[-max((len(y) - low) // 3, FEWEST_RISEN) :]
    if median(y[-3:]) < median(end) - max(limits.moved, noise):
        return
    lowest, rise = float(end.min() - levels[low]), median(end) - float(levels[low])
    tall = at_least("lowest value at the end over the minimum", lowest, "log units", limits.twice)
    clear = at_least("end over the minimum", rise / max(noise, 1e-9), "noise scales", CLEAR_SCALES)
    at, other = At(attempt, loss, steps[low + 1]), (SHIFT, "the loss had been learned before")
    checks = [tall, clear, *noted(risen_log=rise, noise_log=noise)]
    yield from filter(stands, [finding(NO_SPIKE, at, checks, 0.7, 0.7, other)])


@kept
def stands_still(view: View) -> tuple[AttemptView, Series, float, float] | None:
    """The longest loss of a run in which nothing moved, the trend of all in errors, and chi-squared."""
    # the logarithms or, of a loss that takes both signs, the values as they are
    levels = ((a, loss, positive(loss)[1], finite(loss).values) for a, loss in live_losses(view))
    long = [(a, loss, y if len(y) else v) for a, loss, y, v in levels if len(loss) >= FEWEST_POINTS]
    if not long:
        return None
    first = long[0][1]  # what is logged ever more often begins at the distance of its first values
    start = view.thresholds.settling * view.span[1]  # of which every log may miss as much
    if begins_late(view.span, max(start, step_gap(first), *np.diff(first.steps[:2]))):
        return None
    whole = np.concatenate(losses := [y for *_, y in long])
    if len(whole) < FEWEST_POINTS or any(moves(y) for y in (whole, *losses) if len(y) >= FEWEST_POINTS):
        return None
    judged = {loss for _, loss, _ in long}
    others = (s for s in view.by_role(Role.LOSS, Role.VALIDATION_LOSS) if s not in judged)
    parts = view.by_role(Role.PART_LOSS)
    fall = any(falls(s, STILL_ERRORS) for s in others) or any(falls(s, measure.TREND_ERRORS) for s in parts)
    if fall or _gets_better(view):
        return None
    attempt, loss, _ = max(long, key=lambda row: len(row[1]))
    return attempt, loss, measure.rises_by(whole), measure.levels_apart(whole)


def _gets_better(view: View) -> bool:
    return any(measure.improves(s) for s in view.by_role(Role.OBJECTIVE, *SCORES))


def hardly_learns(view: View) -> bool:
    """Whether every loss fell by less than counts as learning and nothing got better: no success."""
    if begins_late(view.span, max(map(step_gap, view.losses), default=0.0)) or _gets_better(view):
        return False
    losses = view.by_role(*LOSSES)
    judged = [(learned(y), y) for _, y in map(positive, losses) if len(y) >= MIN_POINTS]
    if any(fall >= view.thresholds.learned and moves(y) for fall, y in judged):
        return False
    return any(fall >= 0 or not moves(y) for fall, y in judged) if is_game(view) else len(judged) > 0


def moves(y: Floats) -> bool:
    """Whether log values go up or down, have levels of their own in eighths, or keep to their neighbours."""
    fell = learned(y) > CHANCE_FALL_SCALES * difference_noise(y)
    smooth = float(np.sum(np.diff(y) ** 2)) < SMOOTH_RATIO * float(np.sum((y - y.mean()) ** 2))
    if fell or smooth:  # which most losses did, and ranks take longer
        return True
    return abs(measure.rises_by(y)) > STILL_ERRORS or measure.levels_apart(y) > EQUAL_LEVELS_CHI2


def falls(loss: Series, least_errors: float) -> bool:
    """Whether a loss of 16 values or more goes down with time, or one of eight or more at every value."""
    y = positive(loss)[1]
    always = len(y) >= MIN_POINTS and bool((np.diff(y) < 0).all())
    return always or (len(y) >= FEWEST_POINTS and measure.rises_by(y) < -least_errors)


def _every_attempt_dies(view: View) -> Iterator[Finding]:
    long = [(a, a.loss) for a in view.attempts if a.loss is not None and len(a.loss) >= FEWEST_POINTS]
    if len(long) < FEWEST_ATTEMPTS:
        return
    dead, least = [(a, loss) for a, loss in long if _dies(view, loss)], view.thresholds.dying
    if len(dead) >= least * len(long):  # back on the line of the data that are new: alive
        replays = {f.attempt for f in resume.replays(view)}
        dead = [(a, loss) for a, loss in dead if a.name not in replays]
    share = len(dead) / len(long)
    if share < least:
        return
    checks = [
        Check("attempts", len(long), "attempts", f">= {FEWEST_ATTEMPTS}", key="attempts"),
        Check("of them ending risen or in NaN", share, "share", f">= {least}"),
        *noted(died=len(dead)),
    ]
    at = At(None, dead[0][1], min(int(loss.steps[0]) for _, loss in dead))
    yield finding(FAILED, at, checks, 1.0, 0.6 + 0.4 * share, (NO_SPIKE, "one attempt had come through"))


def _dies(view: View, loss: Series) -> bool:
    still_open, least = [f for f in typed_findings(view, loss) if f.end_step is None], view.thresholds.learned
    risen = [f for f in still_open if f.pattern == NAN or f.evidence.get("residual_log", 0.0) >= least]
    if any(f.pattern == NOT_FULLY for f in risen):
        return any(f.pattern != NOT_FULLY for f in risen)
    return len(risen) > 0 or slow_changes.late_turn(view, loss) is not None


def healthy(view: View, harmless: Sequence[Finding]) -> Iterator[Finding]:
    """One finding for a run without trouble; ``harmless`` are the findings on its live course."""
    objectives = ((a, a.objective) for a in view.attempts if a.live_until is not None)
    judged = live_losses(view) + [(a, s) for a, s in objectives if s is not None and measure.improves(s)]
    if (points := sum(len(loss) for _, loss in judged)) < FEWEST_POINTS:
        return
    attempt, loss = max(judged, key=lambda pair: len(pair[1]))
    noise, most = median(np.array([view.noise(s) for _, s in judged])), view.thresholds.noisy
    steps, noisy = np.concatenate([s.steps for _, s in judged]), noise > most
    checks = [
        Check("live findings worse than good", 0, "findings", "0"),
        side("one-sample noise", noise, "log units", noisy, (f"> {most}", f"<= {most}"), "noise_log"),
        Check("points of the judged metric", points, "samples", f">= {FEWEST_POINTS}", key="points_samples"),
        *noted(harmless_findings=len(harmless)),
    ]
    at = At(attempt if len(judged) == 1 else None, loss, steps.min(), None, steps.max())
    pattern, other, where = (NOISY, PERFECT, "below") if noisy else (PERFECT, NOISY, "above")
    runner_up = (other, f"the noise were {where} {most}")
    yield finding(pattern, at, checks, 0.0, 0.5 + 0.5 * min(1.0, points / 1000), runner_up)


RULE = Rule("failed", (FAILED, PLATEAU, NO_SPIKE), find)
