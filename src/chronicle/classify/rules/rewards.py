"""Failures of an agent that its reward hides: no exploration, swelling answers, a misleading reward.

"The best" below is 1 for a reward that stays within 1 and gets to a quarter of it (answers that are checked),
else the best level of the reward's own past. The limits are ours unless a source is named for them.

entropy-collapse
    Sees: a policy that stops exploring early, while its reward stands well below the best.
    Rule: within the first half of the log the entropy falls to 5 % of its start for good, the reward ends
    a tenth of its range below the best, and has since closed less than a tenth of that distance.
    Blind to: a policy that settles late or before its log begins, and continuous actions, whose entropy
    passes through zero.
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
    Blind to: a policy that drifts while the reward stands. Trainers log the divergence per token or per
    answer, by estimators that differ, so only its growth is asked.
    False alarm: a reward that was given up on purpose.
    Source: trainings with GRPO that were lost so (modelscope/ms-swift issue 6550).

reward-hacking
    Sees: a reward that rises while a score that is not trained on falls.
    Rule: the score loses a third of its gain, by six errors, and since its best level the reward has risen by
    four errors and kept that.
    Blind to: rewards without a second judge, and scores of fewer than 50 values.
    False alarm: a score that was traded for the reward on purpose.
    Source: Gao et al. (arXiv:2210.10760): the gold reward falls where the proxy still rises.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.measure import difference_noise, finite, median
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted
from chronicle.classify.rules.objectives import (
    BLOCKS,
    FALL_FOR_ALARM_ERRORS,
    LOST_SHARE,
    OBJECTIVE_POINTS,
    RISE_BEYOND_CHANCE_ERRORS,
    Ascent,
    ascent,
)
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.names import is_extreme
from chronicle.metrics.roles import direction
from chronicle.model import Finding, Floats, Role, Series

COLLAPSE, EXPLOSION, HACKING = "entropy-collapse", "length-explosion", "reward-hacking"
BLOW_UP, NO_SPIKE = "kl-blow-up", "divergence-no-spike"
GONE_SHARE = 0.05  # of the entropy at the start: less is none
EARLY_SHARE = 0.5  # of the log: a policy that settles later has explored
SHORT_SHARE = 0.1  # of the objective's scale: less below the best is as good as the best
CLOSED_SHARE = 0.1  # of the distance to the best: less is no progress
LEAST_UNIT_REWARD = 0.25  # rewards that never reach this are costs, or have another unit than 1
GROWN_TIMES = 2.0  # a length that it left for good
AWAY_TIMES = 10.0  # the divergence at which the objective turned
_START_SAMPLES = 5  # whose median is the level at the start
_ENTROPY_BLOCKS = 64  # a policy may come back for less than one of them


def in_blocks(series: Series, most: int) -> tuple[Floats, Floats]:
    """The first steps and the medians of blocks, ``most`` at most, of three values or more; empty for few."""
    known = finite(series)
    if len(known) < OBJECTIVE_POINTS:
        return np.zeros(0), np.zeros(0)
    parts = np.array_split(np.arange(len(known)), min(most, len(known) // 3))
    first = known.steps[[part[0] for part in parts]].astype(float)
    return first, np.array([median(known.values[part]) for part in parts])


@np.errstate(over="ignore")  # logged values may be as large, and as small, as floats get
def gone_from(entropy: Series) -> tuple[float, float] | None:
    """The step from which on an entropy is nothing beside its start, and the share left at the end; None if
    it is more, or crosses zero. The sign does not matter: some log it as part of a loss."""
    steps, level = in_blocks(entropy, _ENTROPY_BLOCKS)
    start = median(finite(entropy).values[:_START_SAMPLES])
    if not start or not len(level):
        return None
    shares = level / start
    there = np.flatnonzero(~(shares <= GONE_SHARE))
    first = int(there[-1]) + 1 if len(there) else 0
    if first == len(shares) or shares.min() < -GONE_SHARE:
        return None
    return float(steps[first]), float(shares[-1])


def _since(attempt: AttemptView, step: float) -> tuple[Ascent, Ascent, float, float] | None:
    """The way of the reward since a step and in all, its best level, and its range from there to the worst;
    None for too few values."""
    if (objective := attempt.first(Role.OBJECTIVE)) is None:
        return None
    way, whole = ascent(objective.pick(objective.steps >= step)), ascent(objective)
    if way is None or whole is None:
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
    after, below, closed = (gone[0] - start) / max(end - start, 1.0), missing / scale, way.last - way.first
    little = closed < CLOSED_SHARE * missing
    checks = [
        at_most("entropy at the end", gone[1], "share of its start", GONE_SHARE, "entropy_left_share"),
        at_most("gone after", after, "share of the log", EARLY_SHARE),
        at_least("objective below the best", below, "share of its scale", SHORT_SHARE, "missing_share"),
        Check("of that closed since", closed / missing, "share", f"< {CLOSED_SHARE:g}", little),
        *noted(objective_level=way.last, best_level=best),
    ]
    stuck = ("near-perfect", "no policy could get more than that")
    yield finding(COLLAPSE, At(attempt, entropy, gone[0]), checks, 0.5, 0.75, stuck)


def left_from(length: Series) -> tuple[float, float, float] | None:
    """Of a length: the last step at half its end or less, the level there, and its end; None if never."""
    steps, level = in_blocks(length, BLOCKS)
    end = float(np.mean(level[-2:])) if len(level) else 0.0
    low = np.flatnonzero(level <= end / GROWN_TIMES)
    return (float(steps[low[-1]]), float(level[low[-1]]), end) if len(low) and end > 0 else None


def _exploded(view: View, attempt: AttemptView) -> Iterator[Finding]:
    length = attempt.first(Role.ANSWER_LENGTH)
    if length is None or (left := left_from(length)) is None or (since := _since(attempt, left[0])) is None:
        return
    way, _, best, scale = since
    closed = (way.last - way.first) / (max(best - way.first, SHORT_SHARE * scale) or 1.0)
    times, most = left[2] / left[1] if left[1] > 0 else np.inf, f"< {CLOSED_SHARE:g}"
    checks = [
        at_least("length at the end", times, "times", GROWN_TIMES),
        Check("of the objective's distance closed since", closed, "share", most, closed < CLOSED_SHARE),
        *noted(length_before=left[1], length_now=left[2], objective_level=way.last),
    ]
    paid = ("near-perfect", "the objective had risen with the length")
    yield finding(EXPLOSION, At(attempt, length, left[0]), checks, 0.4, 0.75, paid)


def _ran_away(view: View, attempt: AttemptView) -> Iterator[Finding]:
    divergence, objective = attempt.first(Role.POLICY_KL), attempt.first(Role.OBJECTIVE)
    way = ascent(objective) if objective is not None else None
    if divergence is None or objective is None or way is None or not way.collapsed:
        return
    divergence, known = finite(divergence), finite(objective).values
    values, turn = divergence.values, int(np.searchsorted(divergence.steps, way.best_step, "right"))
    few = len(values) // (2 * BLOCKS)
    if few < _START_SAMPLES or turn < few:
        return
    last = median(known[-few:])
    before, now = median(values[turn - few : turn]), median(values[-few:])
    before = max(before, difference_noise(values[:turn]))
    checks = [
        at_least(
            "divergence since the objective turned", now / before, "times", AWAY_TIMES, "divergence_factor"
        ),
        at_least("of the objective's rise lost", way.lost_share, "share", LOST_SHARE, "lost_share"),
        at_least("fall of the objective", way.lost, "errors", FALL_FOR_ALARM_ERRORS),
        *noted(divergence_before=before, divergence_now=now, best_level=way.best, last_level=last),
    ]
    at = At(attempt, objective, way.best_step, way.best_step)
    yield finding(BLOW_UP, at, checks, 0.9, 0.8, (NO_SPIKE, "the divergence had not grown with it"))


def _hacked(view: View, attempt: AttemptView) -> Iterator[Finding]:
    objective = attempt.first(Role.OBJECTIVE)
    for score in attempt.by_role(Role.VALIDATION_SCORE, Role.SCORE) if objective is not None else ():
        fall = None if is_extreme(score.metric) else ascent(score)
        if objective is None or fall is None or not fall.collapsed:
            continue
        way = ascent(objective.pick(objective.steps >= fall.best_step))
        if way is None or not way.learned or way.gained < RISE_BEYOND_CHANCE_ERRORS:
            continue
        sign = direction(score)
        checks = [
            at_least("of the score's rise lost", fall.lost_share, "share", LOST_SHARE, "lost_share"),
            at_least("fall of the score", fall.lost, "errors", FALL_FOR_ALARM_ERRORS),
            at_least("rise of the objective meanwhile", way.gained, "errors", RISE_BEYOND_CHANCE_ERRORS),
            *noted(best_score=sign * fall.best, last_score=sign * fall.last),
            *noted(objective_then=way.first, objective_now=way.last),
        ]
        agree = ("near-perfect", "the score had risen with the objective")
        at = At(attempt, score, fall.best_step, fall.best_step)
        yield finding(HACKING, at, checks, 0.6, 0.8, agree)
        return


RULES = (
    Rule.of_attempts("exploration", (COLLAPSE,), _collapsed),
    Rule.of_attempts("lengths", (EXPLOSION,), _exploded),
    Rule.of_attempts("divergence", (BLOW_UP,), _ran_away, replaces=frozenset({NO_SPIKE})),
    Rule.of_attempts("judges", (HACKING,), _hacked),
)
