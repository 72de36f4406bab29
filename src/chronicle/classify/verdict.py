"""From findings to a diagnosis: explanations, the verdict with its reason, and what could not be assessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from chronicle.classify.course import LEVEL_SAMPLES, WARM_UP_SHARE
from chronicle.classify.kernel.step import SINGLE_PRECISION
from chronicle.classify.measure import FEWEST_POINTS, can_resolve, improves, median, positive, rises, trend
from chronicle.classify.patterns import BY_ID, ODD_ONES, PATTERNS, Pattern, Trait, having
from chronicle.classify.report import calibrated, numbered, overlap
from chronicle.classify.resumed import judged, validation_stays
from chronicle.classify.rules import RULES, loss_shapes, schedule, whole_run
from chronicle.classify.rules.datasets import DATASET_SPIKE
from chronicle.classify.rules.loss_shapes import BUMPS, FAST, NO_SPIKE, RISES, SHIFT, SLOW
from chronicle.classify.rules.objectives import FAILED, HACKING
from chronicle.classify.rules.standstill import CONVERGED_LOG, fall_from
from chronicle.classify.view import AttemptView, View
from chronicle.metrics import aliases, names
from chronicle.metrics.arithmetic import any_numbers, finite_of
from chronicle.metrics.names import LOSSES, MIN_POINTS, is_of_opponent, loss_words, name_words
from chronicle.metrics.roles import SCORES
from chronicle.metrics.values import axis_named, count, plainly, plural, share
from chronicle.model import Diagnosis, Finding, Floats, NotAssessed, Role, Series, Verdict
from chronicle.timeline.courses import one_of_each
from chronicle.timeline.joins import FAULTS, last_ending

SLOWER, EXPLAINED, WARNING = "throughput-drop", "explained_by", "grad-norm-precursor"
COURSES = {"plateau", "grokking", FAILED}  # of one player of a game
LONGER_TIMES = 10  # the points of an attempt: one that has so many more represents the run
PASSING_NAN_SHARE = 0.05  # of the samples since the first NaN: a run that loses more does not go on
DONE_SHARE = 1e-3  # of the highest learning rate: no schedule goes so low before its end
OF_START_SHARE = 0.01  # of the steps: a rise that is over by then is of the start, however high it is
MOVES_ALONG = 0.9  # correlation of the moves of a loss with those of the part that is most of it
WILD_FALL_SCALES = 6.0  # of a wild loss: two first values are not so far above its end by chance
WHOLE_RUN, PROPERTIES = having(Trait.WHOLE_RUN), having(Trait.PROPERTY)


@any_numbers
def diagnose(view: View) -> Diagnosis:
    """The diagnosis of a run. Every rule is applied once; the live course decides the verdict."""
    explained = ((f, explanation(view, f)) for f in collect(view))  # an explained finding is kept
    findings = [replace(f, evidence={**f.evidence, EXPLAINED: why}) if why else f for f, why in explained]
    live = [f for f in findings if is_live(view, f)]
    ending = last_ending(view.timeline)
    how = ending.how if ending is not None else ""
    verdict = _judge(view, live)
    if how in FAULTS and _needs_attention(view, verdict, live):
        verdict = Verdict.WORRYING
    if verdict is Verdict.GOOD:
        findings += whole_run.healthy(view, [f for f in live if f.pattern not in PROPERTIES])
    findings = [calibrated(f) for f in numbered(findings, "~")]
    findings.sort(key=lambda f: (-f.severity, f.start_step, f.pattern, f.metric or "", f.attempt or ""))
    patterns = tuple(sorted({f.pattern for f in findings}))
    unnamed = ((p.id, lacking(view, p)) for p in PATTERNS if p.id not in patterns)
    missing = tuple(NotAssessed(pattern, roles) for pattern, roles in unnamed if roles)
    reason = because(view, verdict, [f for f in findings if f.pattern in WHOLE_RUN or is_live(view, f)], how)
    return Diagnosis(verdict, patterns, tuple(findings), judged(view, findings), missing, reason)


def _needs_attention(view: View, verdict: Verdict, live: Sequence[Finding]) -> bool:
    """Whether a fault that ended a run is worth a look: its course was without trouble, as far as that can be
    told, and its schedule had not come to its end."""
    is_unsure = verdict is Verdict.UNEXPECTED and not live
    if verdict is not Verdict.GOOD and not (is_unsure and any(a.loss or a.objective for a in view.attempts)):
        return False
    rate = view.attempts[-1].first(Role.LEARNING_RATE, MIN_POINTS)
    return rate is None or not has_idle_rate(rate, rate.steps[-1], DONE_SHARE)


def collect(view: View) -> list[Finding]:
    """Findings of all rules in their order; a rule takes the place of the shapes that it explains."""
    findings: list[Finding] = []
    for rule in RULES:
        new = list(rule.find(view))
        findings = [*rule.unexplained(findings, new), *new]
    low = view.thresholds.spike_height
    counts = (f for f in findings if not (start_up(view, f) or part_of_game(view, f)))
    return [f for f in counts if not schedule.at_restart(view, f, low)]


def start_up(view: View, finding: Finding) -> bool:
    """Whether a rise begins before the loss has a level and is over soon, or stays in a part of the loss
    alone, which finds its level. What rises to twice the trend, and above the first values, stands out."""
    (first, last), limits = view.span, view.thresholds
    settled, waited = (first + share * (last - first) for share in (limits.settling, WARM_UP_SHARE))
    if finding.end_step is None:
        return finding.start_step <= waited and part_alone(view, finding)
    tall = finding.evidence.get("height_log", 0.0) >= limits.twice
    stands_out = tall and above_first(view, finding)
    soon = first + OF_START_SHARE * (last - first)
    latest, spikes = soon if stands_out else settled if tall else waited, (FAST, SLOW, DATASET_SPIKE)
    return finding.pattern in spikes and finding.start_step <= settled and finding.end_step <= latest


def above_first(view: View, finding: Finding) -> bool:
    """Whether a rise peaks above the first values of its series, and is none of them."""
    series = view.attempts[0].series.get(finding.metric or "")
    if series is None:
        return False
    first = finite_of(series.values[series.steps < finding.start_step])[:LEVEL_SAMPLES]
    return len(first) == LEVEL_SAMPLES and bool(finding.evidence.get("peak_loss", 0.0) > first.max())


def part_of_game(view: View, finding: Finding) -> bool:
    """Whether a finding only shows that the other of two competing networks (GAN) learns. Its rise counts
    where the other has won (its loss is at a fifth, and below this one), or rises by half as much or more."""
    losses = [s for a in view.named(finding.attempt) for s in a.by_role(Role.LOSS, Role.PART_LOSS)]
    mine = [s for s in losses if s.metric == finding.metric]
    others = [s for s in losses if mine and is_of_opponent(s.metric) != is_of_opponent(mine[0].metric)]
    if finding.pattern not in RISES:
        return bool(others) and finding.pattern in COURSES
    limits, moved = view.thresholds, [(s, *moved_by(s, finding)) for s in others]
    my_way, my_level = next((moved_by(s, finding) for s in mine), (0.0, 0.0))
    # printed with few decimals, the loss of who has won is zero
    won = (way <= -CONVERGED_LOG and level < my_level and (s.values >= 0).all() for s, way, level in moved)
    farthest = max((way for _, way, _ in moved), default=0.0)
    return bool(others) and not any(won) and farthest < max(limits.midway * my_way, limits.bad_end)


def moved_by(series: Series, finding: Finding) -> tuple[float, float]:
    """By how many log units a series differs in size during a finding from before it, and its level then."""
    ok = np.isfinite(series.values) & (series.values != 0)
    steps, size = series.steps[ok], np.log(np.abs(series.values[ok]))
    end = np.inf if finding.end_step is None else finding.end_step
    during = size[(steps >= finding.start_step) & (steps <= end)]
    before = size[steps < finding.start_step][-max(len(during), 8) :]
    during = during if finding.end_step is not None else during[len(during) // 2 :]
    if not len(during) or not len(before):
        return 0.0, 0.0
    return median(during) - median(before), median(during)


def is_live(view: View, finding: Finding) -> bool:
    """Whether a finding lies on the live course, not in a branch that a later attempt overtook."""
    if finding.attempt is None:
        return finding.pattern == FAILED or any(a.is_live(finding.start_step) for a in view.attempts)
    return any(a.is_live(finding.start_step) for a in view.named(finding.attempt))


def _judge(view: View, live: Sequence[Finding]) -> Verdict:
    odd = any(f.pattern in ODD_ONES for f in live)
    # an event that explains the run also explains the level at which it left the loss
    verdicts = {verdict_of(view, f) for f in live if not (odd and f.pattern == SHIFT)}
    if Verdict.BAD in verdicts:
        return Verdict.BAD
    if odd:
        return Verdict.UNEXPECTED
    if Verdict.WORRYING in verdicts or too_many_spikes(view, live):
        return Verdict.WORRYING
    unclear = not view.losses or wild(view) or whole_run.stands_still(view) is not None
    unknown = (unclear and gains(view) is None) or (bool(view.losses) and whole_run.hardly_learns(view))
    return Verdict.UNEXPECTED if unknown else Verdict.GOOD


def wild(view: View) -> bool:
    """Whether every positive loss varies by a factor from sample to sample, and fell by no more than that."""
    losses = [s for s in view.losses if (finite_of(s.values) > 0).all()]
    noises, least = [(s, view.noise(s)) for s in losses], view.thresholds.wild
    return bool(losses) and all(noise > least and not fell_far(s, noise) for s, noise in noises)


def fell_far(loss: Series, noise: float) -> bool:
    """Whether a loss ends at a fifth of its first values and six noise scales below, or its ranks fall."""
    y = positive(loss)[1]
    if len(y) < FEWEST_POINTS:
        return False
    fell = trend(y) <= -whole_run.RISEN_ERRORS and median(y[-(len(y) // 8) :]) < median(y)
    return fell or fall_from(float(np.mean(y[:2])), y) >= max(WILD_FALL_SCALES * noise, CONVERGED_LOG)


def gains(view: View) -> Series | None:
    """The first score, objective or loss, even one of too few points to be judged, that gets better. Where no
    loss falls, scores of the training do not count beside those that are held out."""
    most = max((len(a.objective or ()) for a in view.attempts), default=0)
    of_attempts = (a.attempt.series.values() for a in view.attempts if a.objective is None)
    losses = [s for logged in of_attempts for s in logged if s.role in LOSSES]
    fallen = [s for s in losses if falls(s.values)]
    for attempt in (a for a in view.attempts if most <= LONGER_TIMES * len(a.objective or ())):
        scores = attempt.by_role(Role.OBJECTIVE, *(SCORES if attempt.in_time else ()))
        held_out = [] if fallen or not losses else [s for s in scores if s.role is Role.VALIDATION_SCORE]
        scores = held_out or scores
        measured = [s for s in scores if "best" not in name_words(s.metric)]  # the best so far can only rise
        if better := next(filter(improves, measured or scores), None):
            return better
    return fallen[0] if fallen else None


def falls(losses: Floats) -> bool:
    """Whether losses fall; of many, the medians of eighths do, since noise may exceed the gain."""
    parts = np.array_split(losses, 8) if len(losses) >= FEWEST_POINTS else losses[:, None]
    return rises(-np.array([median(finite_of(part)) for part in parts]))


def verdict_of(view: View, finding: Finding) -> Verdict:
    """The verdict of the pattern, unless the evidence of the finding shows that less, or more, was lost."""
    evidence, limits = finding.evidence, view.thresholds
    if EXPLAINED in evidence or finding.pattern == WARNING:  # what it warns of decides
        return Verdict.GOOD
    if finding.pattern == SHIFT:
        return _verdict_of_shift(view, finding)
    if finding.pattern == loss_shapes.NAN:
        return _verdict_of_nan(view, finding)
    is_trifle = 0.0 <= float(evidence.get("end_share", 1.0)) <= limits.trifle
    if finding.pattern == loss_shapes.NOT_FULLY:
        is_high = float(evidence.get("residual_log", 0.0)) >= limits.bad_end
        return Verdict.BAD if is_high and not is_trifle else Verdict.WORRYING
    if finding.pattern in (NO_SPIKE, loss_shapes.AFTER):
        return Verdict.WORRYING if is_trifle or _is_small(view, finding) else Verdict.BAD
    return BY_ID[finding.pattern].verdict


def _verdict_of_shift(view: View, finding: Finding) -> Verdict:
    """A fall is good. A rise that costs much for good is bad, unless the validation loss rose by less than a
    third as much: then the training data are the cause."""
    evidence, limits = finding.evidence, view.thresholds
    if "epoch" in evidence or evidence.get("step_log", 0.0) < 0:
        return Verdict.GOOD
    left = float(evidence.get("residual_log", 0.0))
    if left < limits.bad_end or not _lasts(view, finding, limits.for_good):
        return BY_ID[SHIFT].verdict
    stays = (validation_stays(a, finding.start_step, left / 3) for a in view.attempts)
    return Verdict.WORRYING if next((t for t in stays if t is not None), False) else Verdict.BAD


def _verdict_of_nan(view: View, finding: Finding) -> Verdict:
    """NaN that passes is worrying: NaN weights would stay NaN, so these steps were skipped."""
    few = finding.evidence.get("absent_share", 1.0) <= PASSING_NAN_SHARE
    passes = finding.end_step is not None and (few or all(s.metric != finding.metric for s in view.losses))
    return Verdict.WORRYING if passes else BY_ID[loss_shapes.NAN].verdict


def _is_small(view: View, finding: Finding) -> bool:
    """Whether a divergence lost little, or is that of a policy, which makes its own data: a better one may
    have a higher loss."""
    evidence, limits = finding.evidence, view.thresholds
    of_judged = [loss for loss in view.losses if loss.metric == finding.metric]
    is_held_out = any(loss.role is Role.VALIDATION_LOSS for loss in of_judged)
    lost_little = float(evidence.get("lost_share", 1.0)) <= limits.lost
    rose_little = float(evidence.get("risen_log", np.inf)) <= evidence.get("noise_log", 0.0)
    is_low = is_held_out and float(evidence.get("residual_log", 0.0)) < limits.twice
    of_policy = bool(of_judged) and any(a.first(Role.POLICY_ENTROPY) is not None for a in view.attempts)
    return lost_little or rose_little or is_low or of_policy


def explanation(view: View, finding: Finding) -> str:
    """Why a finding does not count in the verdict: the first of its reasons (docs/classifier.md), or ""."""
    return next(_reasons(view, view.named(finding.attempt), finding), "")


def _reasons(view: View, attempts: Sequence[AttemptView], finding: Finding) -> Iterator[str]:
    if finding.pattern == SLOWER:
        yield from _slow_without_harm(view, attempts, finding)
    if part_alone(view, finding):
        yield "the loss that decides the verdict did not rise with it"
    logged = {name for attempt in attempts for name in attempt.series}
    if finding.pattern in (NO_SPIKE, HACKING) and names.is_of_self_play(finding.metric or "", logged):
        yield "the opponents it plays against get better too"
    if finding.pattern == NO_SPIKE:
        rates = (a.learning_rate for a in attempts if a.learning_rate is not None)
        if any(has_idle_rate(rate, finding.start_step, view.thresholds.lr_low) for rate in rates):
            yield "the learning rate was nearly zero, so the data caused it"
        if any(schedule.within_epoch(view, attempt, finding) for attempt in attempts):
            yield "it lies within an epoch that had begun with a larger step down"
    yield from _negligible(view, attempts, finding)
    for attempt in attempts:
        yield from _planned(attempt, finding)
    is_over = finding.pattern in (FAST, SLOW) and finding.end_step is not None
    if is_over and schedule.at_restart(view, finding, np.inf):
        yield "the schedule of the learning rate started again there"


def _slow_without_harm(view: View, attempts: Sequence[AttemptView], finding: Finding) -> Iterator[str]:
    first, last = view.span
    if any(map(plays, attempts)):
        yield "the speed depends on the environment"
    if last > first and not _lasts(view, finding, view.thresholds.lasting):
        yield "the run went on learning"
    if float(finding.evidence.get("still_slowing_share", 0.0)) >= view.thresholds.midway:
        yield "a step takes longer and longer until the log ends"


def _negligible(view: View, attempts: Sequence[AttemptView], finding: Finding) -> Iterator[str]:
    """Why the height of a rise says nothing beside the first values of the loss."""
    firsts = [median(loss.values[:2]) for loss in view.losses[:1] if loss.metric == finding.metric]
    peak = float(finding.evidence.get("peak_loss", np.inf))
    if finding.pattern in BUMPS and any(0 < peak <= view.thresholds.trifle * first for first in firsts):
        yield "the loss stayed below a twentieth of its first value"
    risen = (s for a in attempts for s in a.by_role(*LOSSES) if s.metric == finding.metric)
    sizes = (np.abs(s.values[s.steps >= finding.start_step]) for s in risen)
    highest = [finite_of(size).max(initial=0.0) for size in sizes]
    are_lost = any(high <= SINGLE_PRECISION * first for high in highest for first in firsts)
    if finding.pattern in RISES and are_lost:
        yield "the loss stayed below what 32 bits can tell from nothing beside its first value"


def plays(attempt: AttemptView) -> bool:
    """Whether an agent makes its own data: it logs a reward, or losses of a policy and its values."""
    of_agents = [s for s in attempt.by_role(Role.PART_LOSS) if aliases.OF_PPO & loss_words(s.metric)]
    return attempt.first(Role.OBJECTIVE) is not None or len(of_agents) > 1


def part_alone(view: View, finding: Finding) -> bool:
    """Whether it is a rise of data sets or parts, during which the judged loss does not rise."""
    attempt = next((a for a in view.named(finding.attempt) if a.loss is not None), None)
    if attempt is None or attempt.loss is None:
        return False
    is_part = finding.pattern in RISES and finding.metric in {s.metric for s in attempt.dataset_losses}
    rises = (f for f in loss_shapes.typed_findings(view, attempt.loss) if f.pattern in RISES)
    return (is_part or finding.pattern == DATASET_SPIKE) and not any(overlap(f, finding) for f in rises)


def weighed_anew(attempt: AttemptView, finding: Finding) -> bool:
    """Whether the judged loss rises, but no part by half as much: a sum with fixed weights cannot. Most of
    the loss must be one of these parts, with which it moved: what is not logged might rise otherwise."""
    loss = attempt.loss
    if loss is None or finding.metric != loss.metric or finding.pattern not in RISES:
        return False
    logged, before = attempt.by_role(Role.PART_LOSS, Role.DATASET_LOSS), loss.steps < finding.start_step
    parts = [s for s in logged if s.has_steps_of(loss)]
    are_positive = all((s.values >= 0).all() for s in (loss, *parts))
    if len(parts) < 2 or before.sum() < LEVEL_SAMPLES or not are_positive:
        return False
    rise, highest = moved_by(loss, finding)[0], max(moved_by(s, finding)[0] for s in parts)
    return highest < 0.5 * rise and any(is_most_of(loss.values[before], s.values[before]) for s in parts)


def is_most_of(whole: Floats, part: Floats) -> bool:
    """Whether a part is more than half of a loss, and moves with it from sample to sample."""
    moves = np.diff(whole), np.diff(part)
    is_large = median(whole) < 2 * median(part) <= 2.1 * median(whole)
    return is_large and all(map(np.any, moves)) and bool(np.corrcoef(*moves)[0, 1] >= MOVES_ALONG)


def has_idle_rate(rate: Series, since: int, share: float) -> bool:
    """Whether a learning rate is at most this share of its highest value ever since a step."""
    late = (values := np.nan_to_num(rate.values))[rate.steps >= since]
    return len(late) > 0 and bool(late.max() <= share * values.max()) and can_resolve(values, share)


def _planned(attempt: AttemptView, finding: Finding) -> Iterator[str]:
    """What was changed on purpose where a rise begins: a part of the loss, or its weight, that is zero before
    it and never after it; or a setting, such as a sequence length, that changes there and rarely again."""
    jumps = _jumps(attempt.loss, finding)
    weights = (s for s in attempt.by_role(Role.OTHER) if aliases.OF_WEIGHTS & name_words(s.metric))
    parts = (*attempt.by_role(*LOSSES, Role.PART_LOSS), *weights)
    for series in parts if finding.pattern == SHIFT or jumps else ():
        off, begins = series.values == 0, int(np.searchsorted(series.steps, finding.start_step))
        if 1 < begins < len(off) and off[:begins].all() and not off[begins:].any():
            yield f"{series.metric} was switched on"
    if weighed_anew(attempt, finding):
        yield "no logged part of the loss rose with it, so their weights changed"
    goes_on = finding.pattern in BUMPS or (jumps and _learns_on(attempt.loss, finding))
    for setting in schedule.set_anew(attempt, finding.start_step) if goes_on else ():
        yield f"{setting} was set anew"


def _learns_on(loss: Series | None, finding: Finding) -> bool:
    """Whether a loss has come down by half of its rise when the log ends."""
    before, peak = (float(finding.evidence.get(f"{name}_loss", 0.0)) for name in ("before", "peak"))
    end = median(finite_of(loss.values)[-LEVEL_SAMPLES:]) if loss is not None else np.inf
    return end > 0 and end * end <= before * peak


def _jumps(loss: Series | None, finding: Finding) -> bool:
    """Whether the judged loss has risen by half of its rise at once, and does not go on climbing."""
    if loss is None or loss.metric != finding.metric or finding.pattern not in RISES:
        return False
    steps, y = positive(loss)
    before, after = y[steps < finding.start_step][-LEVEL_SAMPLES:], y[steps >= finding.start_step]
    level, soon = median(before), median(after[: 2 * LEVEL_SAMPLES])
    return bool(len(before) and len(after) and soon - level >= 0.5 * (after.max() - level) > 0)


def _lasts(view: View, finding: Finding, share: float) -> bool:
    first, last = view.span
    return finding.end_step is None and last - finding.start_step >= share * (last - first)


def _fast_spikes(view: View, live: Sequence[Finding]) -> list[Finding]:
    metrics = {loss.metric for loss in view.losses}
    return [f for f in live if f.pattern == FAST and f.metric in metrics and EXPLAINED not in f.evidence]


def too_many_spikes(view: View, live: Sequence[Finding]) -> bool:
    """Whether fast spikes, three at least, take a larger share of the run than in a good one."""
    spikes = _fast_spikes(view, live)
    lost, (first, last) = sum(f.end_step - f.start_step for f in spikes if f.end_step is not None), view.span
    return len(spikes) >= 3 and lost > view.thresholds.spike_share * max(last - first, 1)


def lacking(view: View, pattern: Pattern) -> tuple[str, ...]:
    """What a pattern lacks: roles, `8-points-of-<role>` for those with fewer points, and "attempts"."""
    instead = bool(pattern.instead) and logged(view, pattern.instead)
    roles = [role for role in pattern.needs if not (instead or logged(view, role))]
    short = {role for role in roles if 0 < view.most_points[role] < MIN_POINTS}
    wanted = tuple(f"{MIN_POINTS}-points-of-{role}" if role in short else str(role) for role in roles)
    return (*wanted, "attempts") if len(view.attempts) < pattern.needs_attempts else wanted


def logged(view: View, role: str) -> bool:
    """Whether any attempt logged enough points of this role, or "times"."""
    if role == "times":
        series = [s for a in view.attempts for s in one_of_each(a.series.values())]
        return any(np.count_nonzero(np.isfinite(s.times)) >= MIN_POINTS for s in series)
    return bool(view.losses) if role is Role.LOSS else view.most_points[Role(role)] >= MIN_POINTS


def because(view: View, verdict: Verdict, live: Sequence[Finding], how: str) -> str:
    """One sentence: which finding, or which absence of findings, makes the verdict; ``how`` the run ended."""
    if verdict is Verdict.GOOD:
        return _because_good(view, live, how)
    odd = verdict is Verdict.UNEXPECTED
    guilty = [f for f in live if (f.pattern in ODD_ONES if odd else verdict_of(view, f) is verdict)]
    if guilty:
        first, more = guilty[0], f", and {len(guilty) - 1} more" if len(guilty) > 1 else ""
        what = BY_ID[first.pattern].title + (f" in {first.metric}" if first.metric else "")
        where = axis_named({a.attempt.noun for a in view.attempts}).place(first.start_step)
        return f"{verdict.title()}: {what} from {where}{more}."
    if verdict is not Verdict.WORRYING:
        return _because_unknown(view)
    if too_many_spikes(view, live):
        most, number = share(view.thresholds.spike_share), count(len(_fast_spikes(view, live)))
        return f"Worrying: {number} fast spikes together lasted for more than {most} of the run."
    return f"Worrying: a fault ended the run ({how}); nothing worrying was found before it."


def _because_good(view: View, live: Sequence[Finding], how: str) -> str:
    losses = view.losses
    if not losses and (better := gains(view)) is not None:
        first, last = better.values[np.flatnonzero(np.isfinite(better.values))[[0, -1]]].tolist()
        is_seen = last < first if better.role in LOSSES else last > first
        course = f", from {plainly(first)} to {plainly(last)}," if is_seen else ""
        return f"Good: {better.metric} got better{course} and kept what it gained."
    back, points = sum(f.pattern == FAST for f in live), sum(map(len, losses))
    spikes = f"{plural(back, 'spike')} came back fast" if back else "nothing stood out"
    if points < FEWEST_POINTS:
        return f"Good so far: {spikes} in {points} points, which are too few to call a run healthy."
    until = f" until it was stopped ({how})" if how not in ("", "finished", "cut off") else ""
    return f"Good{until}: {spikes}, and nothing worrying was found on the live course."


def _because_unknown(view: View) -> str:
    if wild(view):
        return "Cannot tell: the loss differs by a factor of two from sample to sample."
    if view.losses:
        little = "fell by less than 3 % in all, and nothing else that was logged got better"
        is_still = whole_run.stands_still(view) is not None
        return f"Cannot tell: the loss {'moved by no more than its own noise' if is_still else little}."
    items = [a.attempt.facts["rows"] for a in view.attempts if a.attempt.axis == "item"]
    if items:
        remedy = "If they are steps, name the loss with `roles` in run.toml."
        return f"Cannot tell: the rows of the log are {items[0]} of a training. {remedy}"
    if flat := next((a.objective for a in view.attempts if a.objective is not None), None):
        return f"Cannot tell: {flat.metric} shows no clear gain, and no loss was logged that could be judged."
    return "Cannot tell: no loss, reward or score was logged with enough points to be judged."
