"""What a whole run was: failed, or healthy; and how the reward of an agent went.

failed-run (a loss that was never learned)
    Sees: a loss that stays where its first values were.
    Rule: no eighth of the log has a median 3 % below the first two values, no other loss and no score
    improves, no learning law explains the curve better than a constant, and batches differ by 3 % at most,
    since a model that knows nothing loses about as much on every batch (`_never_learned`); and no attempt
    twice as long shows that this one was only stopped too early (`cut_short`). What was learned and lost
    again at one step counts as well (`forgot`).
    Blind to: a run that learned a little and then stopped, which is a plateau.
    False alarm: fine-tuning in large batches that starts at its floor.
    Source: AlgoPerf logs of runs that never left the first level.

failed-run (every attempt ends badly)
    Sees: a training that was started again and again and never came through.
    Rule: three attempts or more, of which three quarters end in NaN or 3 % above their own minimum.
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
    Rule: the log starts with the run; the live loss, 16 points or more, neither rises nor falls with time
    (its ranks, by 1.28 errors), its lowest eighth lies within three noise scales of its first two values, the
    mean ranks of its eighths differ by no more than chance allows (Kruskal-Wallis, one in a hundred), and
    neighbours are no more alike than other values (von Neumann), in every attempt and over all of them; and
    no other loss, no score and no reward gets better. The losses of agents and of two players stand still in
    a good run, too: there nothing is found, and the run is not called healthy.
    Blind to: learning that is smaller than the noise of the whole log.
    False alarm: a short log in small batches of what had been learned before.
    Source: Kruskal and Wallis, "Use of ranks in one-criterion variance analysis" (1952).

failed-run, plateau, divergence-no-spike (of a reward)
    Sees: a reward, a return or, where neither is logged, a score that never rises, or that loses its gain.
    Where an agent logs a reward, its losses may rise while it gets better, so the reward is judged instead.
    Rule: a reward of 50 points or more fails if no sixteenth of the log lies four errors above the first
    level and it does not rise with time either; one that is above nothing in all but a twentieth of its
    values may be all there is, and is a plateau, as in a log that begins after the run. It diverges if it
    ends at least a third of the way down from its best level to its first, further than it had ever fallen
    and come back, by six errors and what the highest of its like blocks has by chance (`Ascent`); or if it
    loses a third of its gain in the last four values, by a fall twice as far as any other; or, where it
    tells nothing, if a score only falls and ends a third below its first value.
    Blind to: an agent that had learned before its log begins, and a slow collapse in the last eighth of it.
    False alarm: a task that is made harder on the way, or the first episodes of a running mean.
    Source: no published rule; the limits were set on generated rewards (benchmarks/curves/families.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronicle.classify.measure import (
    MEDIAN_ERROR,
    finite,
    levels_apart,
    median,
    positive,
    rises_by,
    scale,
    trend,
    wiggle,
)
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted, side, stands
from chronicle.classify.rules import resume, slow_changes
from chronicle.classify.rules.loss_shapes import AFTER, NAN, NO_SPIKE, SHIFT, typed_findings
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import OF_AGENTS, step_gap
from chronicle.metrics.names import is_of_opponent, plain, words_of
from chronicle.metrics.roles import MIN_POINTS, SCORES, direction
from chronicle.model import Finding, Floats, Role, Series

FAILED, PLATEAU, PERFECT, NOISY = "failed-run", "plateau", "near-perfect", "noisy-healthy"
FEWEST = 16  # points of an attempt that is long enough to have learned, and of a run to be called healthy
ATTEMPTS = 3
CLASSES = (2, 3, 4, 5, 8, 10, 20, 50, 100, 200, 256, 1000, 32000, 50257, 50304)
FLUKE = 3.0  # [noise scales] from two first samples to the lowest of eight medians: once in 100 by chance
CHANCE = 0.006  # of the logarithm of a number of classes: label noise and weight decay add less
MOVES, MOST = 0.01, 0.5  # of a score's size, that is a rise; and of a rise, that stays without its last value
LOST = 1 / 3  # share of what was gained: more is no dip
BLOCKS = 16  # of a log: an eighth of it are two, as at the start of a loss
OBJECTIVE = 50  # points of an objective, three a block
REPEATED = 5  # values of a score, all the same
RARE = 0.05  # share of the values of a reward, and of the highest value of a score
LEVELS = 8  # values, of which a reward takes no other one: wins and losses
STARTS = 3  # values of which a level is known
CEILING = 0.9  # of what can be had, from the first level on: nothing is left to learn
RISES, FAR = 4.0, 6.0  # [errors] what is no chance among sixteen blocks, and what is worth an alarm
TREND = 3.0  # [errors] of the rank correlation with time: not by chance, nor in one of fifty random walks
STILL = 1.28  # [errors] of the rank correlation of a loss with time: more for one in five that stands still
SMOOTH = 1.0  # squares of steps over squares about the mean: 2 for what is drawn alike, less in one of 50
ALIKE = 18.48  # chi-squared of eight levels: more for one loss in a hundred that stands still
LAST, TALLEST = 4, 2.0  # values of an objective at the end of a log, and how much farther it falls there
DOUBT = 1.0  # [errors] of that correlation: more may be learning, where the log begins after the run


def find(view: View) -> Iterable[Finding]:
    """At most one finding of the whole run, or one of each attempt that never learned."""
    judged = ((a, a.loss) for a in view.attempts if a.loss is not None)
    lost = ((loss, f) for a, loss in judged for f in _never_learned(view, a, loss) or forgot(view, a, loss))
    never = (f for loss, f in lost if not cut_short(view, loss))
    return list(_every_attempt_dies(view)) or list(never) or list(unmoved(view))


def _never_learned(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
    limits, noise, (steps, y) = view.thresholds, view.noise(loss), positive(loss)
    rated = attempt.by_role(*SCORES)
    scores = [s for s in rated if len(s) >= (REPEATED if (s.values == s.values[:1]).all() else MIN_POINTS)]
    # scores that stay tell the loss of guessing from fewer points, and where batches differ
    guesses = len(scores) > 0 and len(y) >= MIN_POINTS and guessed(y[2:])
    known = guesses or (len(y) >= FEWEST and noise <= limits.knowing)
    if not known or steps[0] > max(0.02 * steps[-1], step_gap(loss)):
        return []
    # what is learned before any score moves is the scale of the outputs, by the first samples
    gain, unsure = learned(y[2:] if scores else y), FLUKE * noise if guesses else 0.0
    others = [positive(s)[1] for s in attempt.by_role(Role.LOSS, Role.VALIDATION_LOSS) if s is not loss]
    least = max(limits.learned, unsure)
    elsewhere = any(learned(part) >= least for part in others if len(part) >= FEWEST)
    if gain >= least or elsewhere or any(map(improves, scores)):
        return []
    contest = view.contest(loss) if gain >= limits.step_least else None
    if contest is not None and contest.learns and not guessed(y[2:]):
        return []  # a large constant part, other than that of guessing, keeps the logarithm from moving
    checks = [
        Check("lowest eighth below the start", gain, "log units", f"< {least:.3g}", key="gained_log"),
        *([] if guesses else [at_most("one-sample noise", noise, "log units", limits.knowing)]),
        *noted(points_samples=len(y)),
    ]
    fell, confidence = "the loss had fallen first and then stood still", 0.6 + 0.3 * min(1.0, len(y) / 200)
    return [finding(FAILED, At(attempt, loss, steps[0]), checks, 0.9, confidence, (PLATEAU, fell))]


def cut_short(view: View, loss: Series) -> bool:
    """Whether a loss twice as long had fallen as little where this one ended, and then was learned."""
    least, end = view.thresholds.learned, loss.steps[-1]
    losses = (positive(a.loss) for a in view.attempts if a.loss is not None and len(a.loss) >= FEWEST)
    courses = view.once(("learned",), lambda: [c for c in losses if len(c[1]) and learned(c[1]) >= least])
    starts = (y[: np.searchsorted(steps, end, "right")] for steps, y in courses if steps[-1] >= 2 * end)
    return any(len(y) and y[0] - y.min() < least for y in starts)


def learned(y: Floats) -> float:
    """How far the lowest eighth of log values lies below the first two."""
    return float(np.mean(y[:2])) - min(median(part) for part in np.array_split(y, 8))


def guessing(log_level: float) -> tuple[int, float]:
    """The number of classes among which guessing gives a loss the nearest to this, and how far off it is."""
    level = float(np.exp(min(log_level, 700.0)))
    classes = min(CLASSES, key=lambda k: abs(level / np.log(k) - 1))
    return classes, abs(level / float(np.log(classes)) - 1)


def guessed(y: Floats) -> bool:
    """Whether the level of log values is that of guessing, as exactly as noise lets it be known."""
    error = MEDIAN_ERROR * wiggle(y) / len(y) ** 0.5
    return bool(guessing(median(y))[1] <= CHANCE + min(2 * error, CHANCE))


def improves(series: Series) -> bool:
    """Whether a score or a reward ends better than it began, by its `ascent` or, of few values, `rises`."""
    way = ascent(series, FEWEST)
    if way is None:
        return rises(direction(series) * series.values)
    if series.role is Role.OBJECTIVE:
        return way.learned or at_its_best(series, way) or _at_a_ceiling(series)
    is_nothing = 0 <= way.last < RARE * float(finite(series).values.max())  # but for a few
    least = MOVES * max(abs(way.best), abs(way.first))
    return way.learned and not is_nothing and way.best - way.first >= least


def _at_a_ceiling(reward: Series) -> bool:
    """Whether a reward rose and its later half stays at nine tenths of what it gained, as where a task is
    solved within the first points: its blocks hold the whole rise, and seem noisy."""
    v = finite(reward).values
    return rises(v) and median(v[len(v) // 2 :]) - v[0] >= CEILING * (v.max() - v[0])


def rises(values: Floats) -> bool:
    """Whether four values or more end near the best, which is above the first by three times what neighbours
    differ by (median), and by more than next to nothing of the largest; of eight, not the last one alone."""
    v = values[np.isfinite(values)]
    if len(v) < 4:
        return False
    gain, last = float(v.max() - v[0]), float(v[-1] - v[0])
    alone = len(v) >= MIN_POINTS and median(v[-3:]) - v[0] < MOST * gain
    usual = 3 * median(np.abs(np.diff(v[len(v) // 2 :])))
    return last >= 0.9 * gain > 0 and not alone and gain >= max(usual, MOVES * float(np.abs(v).max()))


def forgot(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """A step up to the first level, after which nothing is learned again."""
    limits, (steps, y) = view.thresholds, positive(loss)
    if not len(y) or steps[0] > 0.02 * steps[-1]:
        return
    for shift in (f for f in typed_findings(view, loss) if f.pattern == SHIFT):
        first, after = float(np.mean(y[:2])), y[steps >= shift.start_step]
        gained = first - median(y[steps < shift.start_step][-FEWEST:])
        left = first - median(after[-FEWEST:])
        if len(after) < 2 * FEWEST or gained < limits.learned:
            continue
        checks = [
            at_least("learned before the step", gained, "log units", limits.learned, "learned_log"),
            at_most("of that left at the end", left / gained, "share", limits.first_level),
            at_most("spread at the end", float(np.std(after[-FEWEST:])), "log units", limits.knowing),
            *noted(left_log=left),
        ]
        below = (SHIFT, "the new level had been below the first one")
        yield finding(FAILED, At(attempt, loss, shift.start_step), checks, 0.9, 0.8, below)


def unmoved(view: View) -> Iterator[Finding]:
    """A loss that moved by no more than its own noise, where that is no loss of an agent or a player."""
    still = stands_still(view)
    if still is None:
        return
    (attempt, loss, trend_errors, apart), y = still, positive(still[1])[1]
    names = {name for a in view.attempts for name in a.series}
    if view.noise(loss) > view.thresholds.wild or any(
        is_of_opponent(n) or OF_AGENTS & set(words_of(plain(n))) for n in names
    ):
        return
    checks = [
        at_most("trend of the whole course", abs(trend_errors), "errors", STILL, "still_errors"),
        at_most("fall from the first values", learned(y) / max(wiggle(y), 1e-12), "noise scales", FLUKE),
        at_most("levels of eighths apart", apart, "chi-squared", ALIKE),
        *noted(points_samples=len(loss)),
    ]
    at, other = At(attempt, loss, loss.steps[0]), (FAILED, "its batches had differed by less")
    yield finding(PLATEAU, at, checks, 0.4, 0.7, other)


def stands_still(view: View) -> tuple[AttemptView, Series, float, float] | None:
    """The longest loss of a run in which none moved and nothing else got better, the trend of all of them in
    errors, and how far the levels of their eighths are apart, chi-squared."""
    return view.once(("stands still",), lambda: _stands_still(view))


def _stands_still(view: View) -> tuple[AttemptView, Series, float, float] | None:
    live = [(a, a.loss) for a in view.attempts if a.live_until is not None and a.loss is not None]
    long = [(a, loss, positive(loss)[1]) for a, loss in live if len(loss) >= FEWEST]
    if not long or view.span[0] > max(0.02 * view.span[1], step_gap(long[0][1])):
        return None
    whole = np.concatenate([y for *_, y in long])
    if len(whole) < FEWEST or any(moves(y) for y in (whole, *(y for *_, y in long)) if len(y) >= FEWEST):
        return None
    judged = {loss for _, loss, _ in long}
    others = [s for a in view.attempts for s in a.by_role(Role.LOSS, Role.VALIDATION_LOSS) if s not in judged]
    parts = [s for a in view.attempts for s in a.by_role(Role.PART_LOSS)]
    better = (s for a in view.attempts for s in a.by_role(Role.OBJECTIVE, *SCORES))
    if any(falls(positive(s)[1]) for s in others) or any(falls(positive(s)[1], TREND) for s in parts):
        return None
    if any(map(improves, better)):
        return None
    attempt, loss, _ = max(long, key=lambda row: len(row[1]))
    return attempt, loss, rises_by(whole), levels_apart(whole)


def moves(y: Floats) -> bool:
    """Whether log values go up or down with time, fall from the first ones, have levels of their own in
    eighths, or keep closer to their neighbours than to their mean (von Neumann)."""
    fell = learned(y) > FLUKE * wiggle(y)
    smooth = float(np.sum(np.diff(y) ** 2)) < SMOOTH * float(np.sum((y - y.mean()) ** 2))
    return fell or smooth or abs(rises_by(y)) > STILL or levels_apart(y) > ALIKE


def falls(y: Floats, least: float = STILL) -> bool:
    """Whether log values, 16 or more, go down with time, by ``least`` errors."""
    return len(y) >= FEWEST and rises_by(y) < -least


def _every_attempt_dies(view: View) -> Iterator[Finding]:
    long = [(a, a.loss) for a in view.attempts if a.loss is not None and len(a.loss) >= FEWEST]
    if len(long) < ATTEMPTS:
        return
    dead, least = [(a, loss) for a, loss in long if _dies(view, loss)], view.thresholds.dying
    if len(dead) >= least * len(long):  # back on the line of the data that are new: alive
        replays = {f.attempt for f in resume.replays(view)}
        dead = [(a, loss) for a, loss in dead if a.name not in replays]
    share = len(dead) / len(long)
    if share < least:
        return
    checks = [
        Check("attempts", len(long), "attempts", f">= {ATTEMPTS}", key="attempts"),
        Check("of them ending risen or in NaN", share, "share", f">= {least}"),
        *noted(died=len(dead)),
    ]
    at = At(None, dead[0][1], min(int(loss.steps[0]) for _, loss in dead))
    through = (NO_SPIKE, "one attempt had come through")
    yield finding(FAILED, at, checks, 1.0, 0.6 + 0.4 * share, through)


def _dies(view: View, loss: Series) -> bool:
    still_open = [f for f in typed_findings(view, loss) if f.end_step is None]
    least = view.thresholds.learned
    up = any(f.pattern == NAN or f.evidence.get("residual_log", 0.0) >= least for f in still_open)
    return up or slow_changes.risen(view, loss) is not None


def healthy(view: View, harmless: Sequence[Finding]) -> Iterator[Finding]:
    """One finding for a run without trouble; ``harmless`` are the findings on its live course."""
    live_on = [a for a in view.attempts if a.live_until is not None]
    objectives = [(a, a.objective) for a in live_on if a.objective is not None and improves(a.objective)]
    judged = [(a, a.loss) for a in live_on if a.loss is not None] + objectives
    points = sum(len(loss) for _, loss in judged)
    if points < FEWEST:
        return
    attempt, loss = max(judged, key=lambda pair: len(pair[1]))
    noise, most = median(np.array([view.noise(s) for _, s in judged])), view.thresholds.noisy
    steps, noisy = np.concatenate([s.steps for _, s in judged]), noise > most
    checks = [
        Check("live findings that worry", 0, "findings", "0"),
        side("one-sample noise", noise, "log units", noisy, (f"> {most}", f"<= {most}"), "noise_log"),
        Check("points of what is judged", points, "samples", f">= {FEWEST}", key="points_samples"),
        *noted(harmless_findings=len(harmless)),
    ]
    at = At(attempt if len(judged) == 1 else None, loss, steps.min(), None, steps.max())
    pattern, other, where = (NOISY, PERFECT, "below") if noisy else (PERFECT, NOISY, "above")
    confidence = 0.5 + 0.5 * min(1.0, points / 1000)
    yield finding(pattern, at, checks, 0.0, confidence, (other, f"the noise were {where} {most}"))


@dataclass(frozen=True)
class Ascent:
    """Levels of an objective in its own unit: of the first and last two blocks and the best one, at a step.

    In errors of one block: ``gained`` is what it rose by at its best, ``lost`` what the end lies below the
    best before it, ``swung`` the deepest fall that it had come back from. ``trend`` is the way of the whole.
    """

    first: float
    best: float
    last: float
    best_step: float
    gained: float
    lost: float
    swung: float
    trend: float

    @property
    def collapsed(self) -> bool:
        """Whether a good part of what it had gained is lost, or of what it had from the first values on."""
        least = max(LOST * self.gained, self.swung, FAR)
        return self.lost > least and max(self.gained, self.lost - self.gained) >= FAR

    @property
    def lost_share(self) -> float:
        return self.lost / max(self.gained, RISES)

    @property
    def learned(self) -> bool:
        """Whether it ends above its start by more than chance, and most of what it gained is there."""
        kept = self.gained - self.lost >= RISES or self.trend >= TREND
        return kept and not self.collapsed


@np.errstate(over="ignore", invalid="ignore")  # logged values may be as large as floats get
def ascent(series: Series, fewest: int = OBJECTIVE) -> Ascent | None:
    """The way of an objective, or of a score, turned over if less is better; None for fewer points."""
    known = finite(series)
    steps, v = known.steps.astype(float), direction(series) * known.values
    if len(v) < fewest:
        return None
    parts = np.array_split(v, min(BLOCKS, len(v) // 3))
    quarters, size = np.array_split(v, min(4 * len(parts), len(v))), len(parts[-1]) ** 0.5
    inside = max(MEDIAN_ERROR * wiggle(v) / size, 1e-9 * float(np.abs(v).max()))
    if not median(np.abs(np.diff(v))):  # most are the same, and medians do not know what the rest may do
        inside = max(inside, MEDIAN_ERROR * float(np.std(v)) / size)
    course = trend(v)
    # an agent may learn within the first block: of fewer values a level is known less well
    starts = [STARTS << k for k in range(16) if STARTS << k <= len(parts[0])] or [STARTS]

    def apart(level: Callable[[Floats], Any], spread: Callable[[Floats], Any]) -> float:
        # neighbours within a block may be alike, so quarters of blocks say how much levels differ
        return float(spread(np.diff([level(p) for p in quarters]))) / 2**1.5

    def way(level: Callable[[Floats], Any], error: float) -> Ascent:
        levels, eighth = np.array([level(p) for p in parts]), max(len(parts) // 8, 1)
        first, last = float(levels[:eighth].mean()), float(levels[-eighth:].mean())
        best, before = float(levels.max()), levels[:-eighth]  # what is reached as the log ends is not lost
        at = int(np.flatnonzero(~(before < before.max() - RISES * error))[-1])  # all before may be the best
        start = np.array_split(steps, len(parts))[at][0]
        sag = float(np.max((np.maximum.accumulate(levels) - levels)[:at], initial=0.0))
        peers = int(np.sum(before >= before.max() - RISES * error))  # one of them is the highest by chance
        lost = max(float(before.max() - last) / error - math.sqrt(2 * math.log(max(peers, 1))), 0.0)
        sure = (level(v[:k]) + RISES * error * (len(parts[0]) / k) ** 0.5 for k in starts)
        gained = (best - min(first, *sure)) / error
        return Ascent(first, best, last, start, gained, lost, sag / error, course)

    # a few tall values say nothing to a median, and all to a mean: an agent learned if one of both rose
    ways = []
    if len(v) < OBJECTIVE or len(np.unique(v)) > LEVELS:  # the median of wins and losses is one of them
        ways.append(way(median, max(inside, min(apart(np.mean, scale), apart(median, scale)))))
    if len(v) >= OBJECTIVE and (not ways or series.role is Role.OBJECTIVE):  # a mean of a few is that of one
        ways.append(way(np.mean, max(inside, apart(np.mean, np.std))))
    return max(ways, key=lambda w: (w.learned, w.gained))


def at_its_best(series: Series, way: Ascent) -> bool:
    """Whether a reward within 1 has nine tenths at its first and its last level: nothing is left to learn."""
    values = finite(series).values
    return bool(0.0 <= values.min() < values.max() <= 1.0 and min(way.first, way.last) >= CEILING)


def judged_objective(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """An objective that lost what it had gained, or never gained anything."""
    series = attempt.objective
    way = ascent(series, FEWEST) if series is not None else None
    if series is None or way is None or at_its_best(series, way):
        return
    sign = direction(series)
    measured = noted(first_level=sign * way.first, best_level=sign * way.best, last_level=sign * way.last)
    if way.collapsed:
        checks = [
            *measured,
            at_least("fall from the best level", way.lost, "errors", FAR),
            at_least("of the rise to it lost at the end", way.lost_share, "share", LOST, "lost_share"),
        ]
        at = At(attempt, series, way.best_step, way.best_step)
        yield finding(NO_SPIKE, at, checks, 0.9, 0.8, (AFTER, "it had begun with a jump"))
    elif (at_end := last_fall(attempt, series, way)) is not None:
        yield at_end
    elif not way.learned and (fallen := next(filter(fell, attempt.by_role(*SCORES)), None)) is not None:
        v = finite(fallen).values
        share = abs(v[0] - v[-1]) / max(abs(v[0]), 1e-300)
        lost = at_least("fall of the score, to the end", share, "of its first value", LOST, "lost_share")
        checks = [lost, *noted(first_level=v[0], best_level=v[0], last_level=v[-1])]
        at = At(attempt, fallen, fallen.steps[0], fallen.steps[0])
        yield finding(NO_SPIKE, at, checks, 0.9, 0.7, (PLATEAU, "the score had kept its first level"))
    elif _says_enough(view, attempt, series):
        later = series.steps[0] > 0.02 * series.steps[-1]  # it may have risen before: then it must be surer
        most = DOUBT if later else TREND
        # what is nearly always above nothing may be all there is, and so may a game that is won now and then
        v = finite(series).values
        won = 1 < len(np.unique(v)) <= LEVELS and float(np.mean(v == v.max())) > RARE
        unsure = later or won or float(np.quantile(v, RARE)) > 0
        checks = [
            *measured,
            Check("best level over the first", way.gained, "errors", f"< {RISES:g}", way.gained < RISES),
            Check("trend of the whole course", way.trend, "errors", f"< {most:g}", way.trend < most),
        ]
        other = (FAILED, "it had been nothing or a cost throughout") if unsure else (PLATEAU, "it had risen")
        pattern, severity = (PLATEAU, 0.4) if unsure else (FAILED, 0.9)
        yield finding(pattern, At(attempt, series, series.steps[0]), checks, severity, 0.8, other)


def last_fall(attempt: AttemptView, series: Series, way: Ascent) -> Finding | None:
    """A fall of the objective just before the log ends, which no block of it can tell: there is one test at
    the end, not one a sample, so a fall that is twice as far as any other one is enough."""
    known, sign = finite(series), direction(series)
    moves = np.diff(v := sign * known.values)
    i = int(np.argmin(moves))
    if len(v) < OBJECTIVE or not len(v) - LAST <= i + 1 <= len(v) - 2:  # two values at the least tell of it
        return None
    before, after = median(v[i - 2 : i + 1]), float(v[i + 1 :].max())
    usual, gained, lost = -float(np.delete(moves, i).min()), before - way.first, before - after
    checks = [
        at_least("fall at the end, over any other one", -moves[i] / max(usual, 1e-300), "times", TALLEST),
        at_least("of the rise to it lost", lost / max(gained, 1e-300), "share", LOST, "lost_share"),
        *noted(first_level=sign * way.first, best_level=sign * before, last_level=sign * after),
    ]
    at, back = At(attempt, series, known.steps[i + 1], known.steps[i]), ("noisy-healthy", "it had come back")
    fall = finding(NO_SPIKE, at, checks, 0.9, 0.6, back)
    return fall if gained > 0 and stands(fall) else None


def fell(score: Series) -> bool:
    """Whether a score of 16 values or more only got worse, as surely as one of few values gets better."""
    values = direction(score) * finite(score).values
    return len(values) >= FEWEST and rises(-values)


def _says_enough(view: View, attempt: AttemptView, series: Series) -> bool:
    """Whether a reward that does not rise says that nothing was learned: not one of fewer than 50 points that
    differ, one value to the end that is more than nothing, an attempt that was begun anew and learned, nor a
    score."""
    values = finite(series).values
    same = values.min() == values.max()
    if series.role is not Role.OBJECTIVE or (values[0] > 0 if same else len(values) < OBJECTIVE):
        return False
    later = (a.objective for a in view.attempts[attempt.index + 1 :])
    return not any(s is not None and improves(s) for s in later)


RULE = Rule("failed", (FAILED, PLATEAU), find)
OBJECTIVES = Rule.of_attempts("objectives", (FAILED, NO_SPIKE, PLATEAU), judged_objective)
HEALTHY = (PERFECT, NOISY)
