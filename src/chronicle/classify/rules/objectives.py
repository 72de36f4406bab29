"""How the objective of a run went: the reward or return of an agent or, where neither is logged, a score.

Where an agent logs a reward, its losses may rise while it gets better, so the reward is judged instead. It
has no unit, so all is measured in the standard error of the level of one block of it (`Ascent`).

divergence-no-spike (of an objective)
    Sees: an objective that loses what it had gained.
    Rule: it ends at least a third of the way down from its best level to its first, by six errors and further
    than it had ever fallen and come back (`Ascent`); or it falls so far in its last values (`last_fall`); or,
    where the objective tells nothing, a score only falls and ends a third below its first value.
    Blind to: a slow collapse in the last eighth of the log.
    False alarm: a task that is made harder on the way, or the first episodes of a mean of unknown window.
    Source: no published rule; the limits were set on generated rewards (benchmarks/curves/families.py).

spike-slow-recovery (of an objective)
    Sees: an agent that forgets what it could do, and learns it again.
    Rule: after it had risen the objective stands for an eighth of the log or longer below its first level, by
    six errors and as far as it had risen, and ends nearer to its best level before than to its lowest.
    Blind to: a slump that does not reach the first level, and shorter ones.
    False alarm: a task that was made harder for a while.
    Source: as above.

failed-run, plateau (of a reward)
    Sees: a reward that never rises.
    Rule: of 50 values or more, 100 if each is of one episode, no sixteenth of the log lies four errors above
    the first level and there is no trend of three errors. It is a plateau where that may be all there is
    (`_never_rose`), and nothing where something else tells of learning (`_may_have_failed`).
    Blind to: an agent that had learned before its log begins.
    False alarm: a task that needs more training than it got.
    Source: as above.

Then failures of an agent that its reward hides. "The best" below is 1 for a reward that stays within 1 and
gets to a quarter of it (answers that are checked), else its own best level. The limits are mostly ours.

entropy-collapse
    Sees: a policy that stops exploring early, while its reward stands well below the best.
    Rule: within the first half of the log the entropy falls to 5 % of its start for good, the reward ends
    a tenth of its range below the best, and has since closed less than a tenth of that distance.
    Blind to: a policy that settles late or before its log begins, and an entropy that passes through zero.
    False alarm: a reward within 1 of which no policy could get nine tenths.
    Source: DAPO (arXiv:2503.14476) 3.1; Cui et al. (arXiv:2505.22617): entropy that is used up ends progress.

length-explosion
    Sees: answers that get longer while the reward gains nothing by it.
    Rule: the mean length ends at twice a level that it left for good, and since then the reward closed less
    than a tenth of its distance to the best.
    Blind to: lengths that grow with the reward first and part from it by less than a doubling.
    False alarm: harder questions by plan, which need longer answers for the same reward.
    Source: Liu et al. (arXiv:2503.20783): a loss divided by the length of its answer lets wrong ones grow.

kl-blow-up
    Sees: a policy that runs away from its reference and loses its reward.
    Rule: the reward falls for good, and the divergence ends at ten times what it was when that began.
    Blind to: a policy that drifts while the reward stands. Estimators differ, so only the growth counts.
    False alarm: a reward that was given up on purpose.
    Source: trainings with GRPO that were lost so (modelscope/ms-swift issue 6550).

reward-hacking
    Sees: a reward that rises while a score that is not trained on falls.
    Rule: the score loses a third of its gain, by six errors, ends no nearer to its best level than to its
    lowest since, and since its best level the reward has risen by four errors and kept that. A score of the
    training itself must have risen first: a penalty that is logged beside the reward only falls.
    Blind to: rewards without a second judge, and scores of fewer than 16 values (50 of the training itself).
    False alarm: a score that was traded for the reward on purpose.
    Source: Gao et al. (arXiv:2210.10760): the gold reward falls where the proxy still rises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from chronicle.classify import measure
from chronicle.classify.measure import FALL_FOR_ALARM_ERRORS, LOST_SHARE, Ascent, ascent, finite, median
from chronicle.classify.report import At, Check, Rule, at_least, at_most, below, finding, noted, stands
from chronicle.classify.rules.loss_shapes import AFTER, NO_SPIKE, SLOW
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.aliases import OF_LENGTHS, OF_RANDOM_ACTIONS, OF_SELF_PLAY, PUT_TOGETHER, step_gap
from chronicle.metrics.names import WINDOW_EPISODES, is_extreme, is_of_one_episode, name_words, of_full_window
from chronicle.metrics.roles import SCORES, direction
from chronicle.model import Finding, Floats, Role, Series

FAILED, PLATEAU = "failed-run", "plateau"
DONE_SCORE = 0.99  # of 1
TREND_IN_DOUBT_ERRORS = 1.0  # the same where the log begins after the run: it may have risen before
RANDOM_SHARE = 0.5  # of the actions: an agent that does more by chance hardly shows what it learned
LEFT_SHARE = 0.1  # of the fall of an objective, by which it has left its best level
LAST_VALUES = 4  # in which a fall at the end of the log is searched for
TIMES_ANY_OTHER = 2.0  # such a fall is farther than all others by this factor


def judged_objective(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """An objective that lost what it had gained, or never gained anything."""
    way = None if (series := attempt.objective) is None else ascent(series, measure.FEWEST_POINTS)
    if series is not None and way is not None and way.collapsed:  # a mean of few episodes is no level yet
        way = ascent(series := of_full_window(series, attempt.series), measure.FEWEST_POINTS)
    if series is None or way is None or measure.is_perfect(series, way):
        return
    if way.collapsed:
        checks = [
            *_levels(series, way.first, way.best, way.last),
            at_least("fall from the best level", way.lost, "errors", FALL_FOR_ALARM_ERRORS),
            at_least("of the rise to it lost at the end", way.lost_share, "share", LOST_SHARE, "lost_share"),
        ]
        start = turned_at(series, way)
        at = At(attempt, series, start, start)
        yield finding(NO_SPIKE, at, checks, 0.9, 0.8, (AFTER, "it had begun with a jump"))
    elif at_end := [*filter(stands, (*last_fall(attempt, series, way), *slump(attempt, series, way)))]:
        yield at_end[0]
    elif not way.learned and (fallen := [s for s in attempt.by_role(*SCORES) if fell(attempt, s, series)]):
        yield _fallen_score(attempt, fallen[0])
    elif _may_have_failed(view, attempt, series) and not is_done(attempt, series.steps[0]):
        yield _never_rose(attempt, series, way)


def turned_at(series: Series, way: Ascent) -> float:
    """The step at which an objective left its best level for good: by a tenth of its fall, and by more than a
    running median is unsure."""
    known, width = finite(series), max(len(series) // (2 * measure.BLOCKS), 1) | 1
    v = direction(series) * known.values
    unsure = 2 * measure.MEDIAN_ERROR * measure.difference_noise(v) / width**0.5
    left = way.best - max(LEFT_SHARE * (way.best - way.last), unsure)
    above = np.flatnonzero(measure.running(v, width) >= left)
    left_at = known.steps[min(above[-1] + 1, len(known) - 1)] if len(above) else way.best_step
    return max(float(left_at), way.best_step)


def _levels(series: Series, first: float, best: float, last: float) -> tuple[Check, ...]:
    """Levels as evidence, in the direction in which they were logged."""
    sign = direction(series)
    return noted(first_level=sign * first, best_level=sign * best, last_level=sign * last)


def _fallen_score(attempt: AttemptView, score: Series) -> Finding:
    share = abs((v := finite(score).values)[0] - v[-1]) / max(abs(v[0]), 1e-300)
    fall = at_least("fall of the score, to the end", share, "of its first value", LOST_SHARE, "lost_share")
    checks = [fall, *noted(first_level=v[0], best_level=v[0], last_level=v[-1])]
    at = At(attempt, score, score.steps[0], score.steps[0])
    return finding(NO_SPIKE, at, checks, 0.9, 0.7, (PLATEAU, "the score had kept its first level"))


def _never_rose(attempt: AttemptView, series: Series, way: Ascent) -> Finding:
    """A failed run, or a plateau where the reward may be all there is, or is that of a game won at times."""
    v, began_before = finite(series).values, measure.begins_late(series.steps)
    # an agent that acts at random for a while may be told of from the second evaluation on
    unseen = measure.begins_late(series.steps, 2 * step_gap(series))
    most = TREND_IN_DOUBT_ERRORS if unseen else measure.TREND_ERRORS
    won = 1 < len(np.unique(v)) <= measure.FEW_LEVELS and float(np.mean(v == v.max())) > measure.RARE_SHARE
    unsure = began_before or won or np.quantile(v, measure.RARE_SHARE) > 0
    checks = [
        *_levels(series, way.first, way.best, way.last),
        below("best level over the first", way.gained, "errors", measure.RISE_BEYOND_CHANCE_ERRORS),
        below("trend of the whole course", way.trend, "errors", most),
    ]
    other = (FAILED, "it had been nothing or a cost throughout") if unsure else (PLATEAU, "it had risen")
    pattern, severity = (PLATEAU, 0.4) if unsure else (FAILED, 0.9)
    return finding(pattern, At(attempt, series, series.steps[0]), checks, severity, 0.8, other)


def last_fall(attempt: AttemptView, series: Series, way: Ascent) -> Iterator[Finding]:
    """A fall just before the log ends, which no block can tell, twice as far as any other one."""
    known = finite(series)
    moves = np.diff(v := direction(series) * known.values)
    i = int(np.argmin(moves))
    at_the_end = len(v) - LAST_VALUES <= i + 1 <= len(v) - 2  # with two low values at least
    if len(v) < measure.OBJECTIVE_POINTS or not at_the_end:
        return
    before, after = median(v[i - 2 : i + 1]), float(v[i + 1 :].max())
    usual, gained = -float(np.delete(moves, i).min()), before - way.first
    times, share = -moves[i] / max(usual, 1e-300), (before - after) / max(gained, 1e-300)
    checks = [
        at_least("fall at the end, over any other one", times, "times", TIMES_ANY_OTHER),
        at_least("of the rise to it lost", share, "share", LOST_SHARE, "lost_share"),
        *_levels(series, way.first, before, after),
    ]
    if gained > 0:
        at = At(attempt, series, known.steps[i + 1], known.steps[i])
        yield finding(NO_SPIKE, at, checks, 0.9, 0.6, ("noisy-healthy", "it had come back"))


def slump(attempt: AttemptView, series: Series, way: Ascent) -> Iterator[Finding]:
    """A stretch below the first level, after a higher one and before the end."""
    known, levels, n = finite(series), way.levels, len(way.levels)
    steps, low = np.array_split(known.steps, n), int(np.argmin(levels))
    least = max(FALL_FOR_ALARM_ERRORS * way.error, measure.LEAST_RISE * abs(way.first))
    best = int(np.argmax(levels[: low + 1]))
    under = np.flatnonzero((levels < way.first - least) & (np.arange(n) > best))
    if low == best or len(known) < measure.OBJECTIVE_POINTS or len(under) < n // 8 or under[-1] == n - 1:
        return
    depth, made_up = way.first - levels[low], (way.last - levels[low]) / (levels[best] - levels[low])
    if depth < measure.difference_noise(known.values) and levels[under[0] : under[-1]].max() > way.first:
        return  # it came back and went down again, by less than single values differ: it wanders
    if best == 0 and way.last - levels[0] >= depth / 2:
        return  # it could do little at the start, tried other things that were worse, and learned far more
    risen = max(levels[best] - way.first, 0.0)
    checks = [
        at_least("below the first level", depth / way.error, "errors", FALL_FOR_ALARM_ERRORS),
        at_least("that depth, against the rise before it", depth, "of its unit", risen),
        at_least("made up for at the end", made_up, "share", 0.5),
        *_levels(series, way.first, levels[best], way.last),
    ]
    at = At(attempt, series, steps[best + 1][0], steps[low][0], steps[under[-1] + 1][0])
    yield finding(SLOW, at, checks, 0.4, 0.7, (NO_SPIKE, "it had not come back"))


def fell(attempt: AttemptView, score: Series, objective: Series) -> bool:
    """Whether a score of 16 values or more, in rows in order, only got worse, and is not of games against
    itself, no mean of the objective so far, first of few episodes, and no sum of one that is a cost."""
    words, own = (name_words(s.metric) - PUT_TOGETHER for s in (score, objective))
    known, so_far = finite(score), replace(objective, values=np.cumsum(objective.values))
    is_own = attempt.in_time and words != own and not words & OF_SELF_PLAY and not goes_along(score, so_far)
    return is_own and len(known) >= measure.FEWEST_POINTS and measure.rises(-direction(score) * known.values)


def _may_have_failed(view: View, attempt: AttemptView, series: Series) -> bool:
    """Whether a series that does not rise tells that nothing was learned: no score above 0, no few values
    that differ, none above 0 to the end or of one episode, no attempt that explored, after which a later one
    learned, or whose evaluations, or best members, got better."""
    values = finite(series).values
    enough = WINDOW_EPISODES if is_of_one_episode(series.metric) else measure.OBJECTIVE_POINTS
    same, few = values.min() == values.max(), len(values) < enough
    if series.role is not Role.OBJECTIVE and (few or values.any() or direction(series) < 0):
        return False
    if values[0] > 0 or _is_of_one_episode(attempt, series) if same else few:
        return False
    rated = attempt.by_role(*SCORES)
    others = (s for s in rated if s.role is not Role.SCORE or "fitness" in name_words(s.metric))
    if any(map(_gets_better, others)) or _still_explores(attempt):
        return False
    later = filter(None, (a.objective for a in view.attempts[attempt.index + 1 :]))
    return not any(map(measure.improves, later))


def _is_of_one_episode(attempt: AttemptView, reward: Series) -> bool:
    """Whether an episode takes more steps than came since the first of its rewards, so that none ended."""
    named = (s for name, s in attempt.series.items() if OF_LENGTHS.issubset(name_words(name)))
    at = reward.steps
    return any(len(v := finite(s).values) and at[0] >= v.max() and v.min() > at[-1] - at[0] for s in named)


def _still_explores(attempt: AttemptView) -> bool:
    """Whether the share of random actions came down and is still most of them at the end."""
    named = (s for name, s in attempt.series.items() if OF_RANDOM_ACTIONS & name_words(name))
    return any(len(v := finite(s).values) and 1.0 >= v[0] > v[-1] >= RANDOM_SHARE for s in named)


def _gets_better(evaluated: Series) -> bool:
    """Whether evaluations end better than they began, or late ones are better than early ones."""
    v = direction(evaluated) * finite(evaluated).values
    later = len(v) >= measure.FEWEST_POINTS and measure.rises_by(v) >= measure.TREND_ERRORS
    return later or measure.improves(evaluated)


def is_done(attempt: AttemptView, start: float) -> bool:
    """Whether every score is within a hundredth of 1, or of 100, since a step: nothing is left to learn."""
    scores = [finite(s.pick(s.steps >= start)).values for s in attempt.by_role(*SCORES)]
    known = [values / (100.0 if values.max() > 1.0 else 1.0) for values in scores if len(values)]
    return bool(known) and all(DONE_SCORE <= median(values) <= 1.0 for values in known)


RULE = Rule("objectives", (FAILED, NO_SPIKE, PLATEAU, SLOW), Rule.by_attempt(judged_objective))

COLLAPSE, EXPLOSION, HACKING, BLOW_UP = "entropy-collapse", "length-explosion", "reward-hacking", "kl-blow-up"
GONE_SHARE = 0.05  # of the entropy at the start: less is none
EARLY_SHARE = 0.5  # of the log: a policy that settles later has explored
SHORT_SHARE = 0.1  # of the objective's scale: less below the best is as good as the best
CLOSED_SHARE = 0.1  # of the distance to the best: less is no progress
LEAST_UNIT_REWARD = 0.25  # rewards that never reach this are costs, or have another unit than 1
GROWN_TIMES = 2.0  # a length that it left for good
AWAY_TIMES = 10.0  # the divergence at which the objective turned
SAME_CORRELATION = 0.99  # of a score with the reward: it is told twice
_START_SAMPLES = 5  # whose median is the level at the start
_ENTROPY_BLOCKS = 64  # a policy may come back for less than one of them


def in_blocks(series: Series, most: int, fewest: int = measure.OBJECTIVE_POINTS) -> tuple[Floats, Floats]:
    """The first steps and the medians of blocks, ``most`` at most, of three values or more; empty for less
    than the ``fewest`` values."""
    known = finite(series)
    if len(known) < fewest:
        return np.zeros(0), np.zeros(0)
    parts = np.array_split(np.arange(len(known)), min(most, len(known) // 3))
    first = known.steps[[part[0] for part in parts]].astype(float)
    return first, np.array([median(known.values[part]) for part in parts])


def gone_from(entropy: Series) -> tuple[float, float] | None:
    """From which step on an entropy is nothing beside its start, and the share left; None if it never is."""
    steps, level = in_blocks(entropy, _ENTROPY_BLOCKS)
    if not len(level) or not (start := median(finite(entropy).values[:_START_SAMPLES])):
        return None
    shares = level / start
    there = np.flatnonzero(~(shares <= GONE_SHARE))
    first = int(there[-1]) + 1 if len(there) else 0
    if first == len(shares) or shares.min() < -1e-6:  # as of a density: no share says what is left
        return None
    return float(steps[first]), float(shares[-1])


def _since(attempt: AttemptView, step: float) -> tuple[Ascent, Ascent, float, float] | None:
    """The way of the reward since a step and in all, its best level and its range; None for few values."""
    if (objective := attempt.first(Role.OBJECTIVE)) is None or (whole := ascent(objective)) is None:
        return None
    if (way := ascent(objective.pick(objective.steps >= step))) is None:
        return None
    values = finite(objective).values
    if values.min() >= -1.0 and LEAST_UNIT_REWARD <= values.max() <= 1.0:
        return way, whole, 1.0, 2.0 if values.min() < 0 else 1.0
    return way, whole, whole.best, whole.best - min(way.last, median(values[:_START_SAMPLES]))


def _collapsed(view: View, attempt: AttemptView) -> Iterator[Finding]:
    entropy = attempt.first(Role.POLICY_ENTROPY)
    if entropy is None or (gone := gone_from(entropy)) is None or (since := _since(attempt, gone[0])) is None:
        return
    way, whole, best, scale = since
    missing, (start, end) = best - way.last, (float(entropy.steps[0]), float(entropy.steps[-1]))
    if missing <= 0 or (best != 1.0 and whole.lost < FALL_FOR_ALARM_ERRORS):
        return
    after, short, closed = (gone[0] - start) / max(end - start, 1.0), missing / scale, way.last - way.first
    checks = [
        at_most("entropy at the end", gone[1], "share of its start", GONE_SHARE, "entropy_left_share"),
        at_most("gone after", after, "share of the log", EARLY_SHARE),
        at_least("objective below the best", short, "share of its scale", SHORT_SHARE, "missing_share"),
        below("of that closed since", closed / missing, "share", CLOSED_SHARE),
        *noted(objective_level=way.last, best_level=best, gone_share=GONE_SHARE),
    ]
    stuck = ("near-perfect", "no policy could get more than that")
    yield finding(COLLAPSE, At(attempt, entropy, gone[0]), checks, 0.5, 0.75, stuck)


def left_from(length: Series) -> tuple[float, float, float] | None:
    """The last step at which a length was at most half of its final level, the level there, and the final
    level; None if it was never so short."""
    steps, level = in_blocks(length, measure.BLOCKS)
    end = float(np.mean(level[-2:])) if len(level) else 0.0
    low = np.flatnonzero(level <= end / GROWN_TIMES)
    return (float(steps[low[-1]]), float(level[low[-1]]), end) if len(low) and end > 0 else None


def _exploded(view: View, attempt: AttemptView) -> Iterator[Finding]:
    length = attempt.first(Role.ANSWER_LENGTH)
    if length is None or (left := left_from(length)) is None or (since := _since(attempt, left[0])) is None:
        return
    way, _, best, scale = since
    closed = (way.last - way.first) / (max(best - way.first, SHORT_SHARE * scale) or 1.0)
    times = left[2] / left[1] if left[1] > 0 else np.inf
    checks = [
        at_least("length at the end", times, "times", GROWN_TIMES),
        below("of the objective's distance closed since", closed, "share", CLOSED_SHARE),
        *noted(length_before=left[1], length_now=left[2], objective_level=way.last),
    ]
    paid = ("near-perfect", "the objective had risen with the length")
    yield finding(EXPLOSION, At(attempt, length, left[0]), checks, 0.4, 0.75, paid)


def _ran_away(view: View, attempt: AttemptView) -> Iterator[Finding]:
    divergence, objective = attempt.first(Role.POLICY_KL), attempt.first(Role.OBJECTIVE)
    if divergence is None or objective is None or not ((way := ascent(objective)) and way.collapsed):
        return
    steps, values = finite(divergence).steps, finite(divergence).values
    turn, few = int(np.searchsorted(steps, way.best_step, "right")), len(values) // (2 * measure.BLOCKS)
    if few < _START_SAMPLES or turn < few:
        return
    last, now = median(finite(objective).values[-few:]), median(values[-few:])
    before = max(median(values[turn - few : turn]), measure.difference_noise(values[:turn]))
    grown, since = now / before, "divergence since the objective turned"
    checks = [
        at_least(since, grown, "times", AWAY_TIMES, "divergence_factor"),
        at_least("of the objective's rise lost", way.lost_share, "share", LOST_SHARE, "lost_share"),
        at_least("fall of the objective", way.lost, "errors", FALL_FOR_ALARM_ERRORS),
        *noted(divergence_before=before, divergence_now=now, best_level=way.best, last_level=last),
    ]
    start = turned_at(objective, way)
    at = At(attempt, objective, start, start)
    yield finding(BLOW_UP, at, checks, 0.9, 0.8, (NO_SPIKE, "the divergence had not grown with it"))


def goes_along(score: Series, objective: Series) -> bool:
    """Whether a score is the objective in another unit, as the reward of a step is: it is no second judge."""
    if not score.has_steps_of(objective):
        return False
    v, w = score.values, objective.values
    moves = bool(np.isfinite(v + w).all()) and float(np.ptp(v)) > 0 and float(np.ptp(w)) > 0
    return moves and bool(np.corrcoef(v, w)[0, 1] >= SAME_CORRELATION)


def _hacked(view: View, attempt: AttemptView) -> Iterator[Finding]:
    objective, least = attempt.first(Role.OBJECTIVE), measure.RISE_BEYOND_CHANCE_ERRORS
    if objective is None:
        return
    for score in attempt.by_role(Role.VALIDATION_SCORE, Role.SCORE):
        held_out = score.role is Role.VALIDATION_SCORE
        fewest = measure.FEWEST_POINTS if held_out else measure.OBJECTIVE_POINTS
        fall = None if is_extreme(score.metric) or goes_along(score, objective) else ascent(score, fewest)
        if fall is None or (fall.best_step <= score.steps[0] and not held_out):
            continue
        way = ascent(objective.pick(objective.steps >= fall.best_step)) if fall.collapsed else None
        if way is None or not way.learned or way.gained < least or way.last <= way.first:
            continue
        sign = direction(score)
        steps, levels = in_blocks(score, measure.BLOCKS, fewest)
        if fall.last - (sign * levels)[steps >= fall.best_step].min() > fall.best - fall.last:
            continue  # it swings: it has come back from a deeper fall
        checks = [
            at_least("of the score's rise lost", fall.lost_share, "share", LOST_SHARE, "lost_share"),
            at_least("fall of the score", fall.lost, "errors", FALL_FOR_ALARM_ERRORS),
            at_least("rise of the objective meanwhile", way.gained, "errors", least),
            *noted(best_score=sign * fall.best, last_score=sign * fall.last),
            *noted(objective_then=way.first, objective_now=way.last),
        ]
        agree = ("near-perfect", "the score had risen with the objective")
        yield finding(HACKING, At(attempt, score, fall.best_step, fall.best_step), checks, 0.6, 0.8, agree)
        return


REWARDS = (
    Rule("exploration", (COLLAPSE,), Rule.by_attempt(_collapsed)),
    Rule("lengths", (EXPLOSION,), Rule.by_attempt(_exploded)),
    Rule("divergence", (BLOW_UP,), Rule.by_attempt(_ran_away), replaces=frozenset({NO_SPIKE})),
    Rule("judges", (HACKING,), Rule.by_attempt(_hacked)),
)
