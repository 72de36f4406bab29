"""What a resume lost: weights, optimizer state, learning rate, or the position in the data.

reinitialised
    Sees: new weights under an old step count.
    Rule: the loss is back at the very first level of the run, at once and no higher, and then takes about as
    long for the way down as the first time, in steps or in steps weighted by the learning rate, and does not
    get ever faster (`same_course`).
    Blind to: logs that do not begin with the run, and learning too fast for them.
    False alarm: a spike taller than all others, rarely.
    Source: AlgoPerf logs with a scheduled re-initialisation.

resume-spike
    Sees: a loss that is too high in the first samples of an attempt and comes back.
    Rule: the median of the first 4, 8, 16 or 32 samples lies 5 standard errors and 1.5 % over the line of the
    earlier attempt (3 errors where several joins do, or where the learning rate came back too high), and also
    over what that logged at the same steps, if it was calm; and half of the excess is gone later.
    Blind to: lost optimizer state that the loss does not show.
    False alarm: a search for state that was not lost.
    Source: 104B experiments 6 and 7, IDEFICS 2023-05-19.

level-shift (at a join)
    Sees: a loss that is too high from the first samples of an attempt on, and stays so.
    Rule: as a resume spike, but half of the excess never goes, and all samples that the line reaches lie over
    it by 5 standard errors and 2.5 %.
    Blind to: what a changed configuration was meant to do.
    False alarm: the change was planned.
    Source: the same logs, where the excess stayed.

lr-not-restored
    Sees: a learning rate that differs after a resume.
    Rule: the first values of an attempt differ by 5 % from those of the earlier one at equal steps, or from
    its last ones carried on (then also by half of what it moves from sample to sample); and neither a
    rollback to a lower rate nor the schedule explains that.
    Blind to: a schedule that differs later only.
    False alarm: a change that was made on purpose.
    Source: IDEFICS experiments 9 and 10 (a stray file made the loader skip the scheduler).

repeat-data
    Sees: a loss that is falsely low after a resume, until new data come.
    Rule: the loss lies under the earlier attempt's line by half of a later jump up, and is on that line after
    the jump; validation, where it is logged, does not jump.
    Blind to: replays in another order, which make no jump, and logs that begin after the resume.
    False alarm: the data cursor is checked for nothing.
    Source: Lightning #18780 (Llama-2 run: 0.13 and 0.25 nats too low for 250 steps each).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from chronicle.classify import measure, resumed
from chronicle.classify.measure import MEDIAN_ERROR, Excess, confidence_of, median, medians, positive, running
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted, renamed, stands
from chronicle.classify.resumed import JOIN_SAMPLES, Resume, resumes
from chronicle.classify.rules.loss_shapes import RISES, SHIFT, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, kept
from chronicle.metrics.aliases import median_gap, step_gap
from chronicle.metrics.arithmetic import finite_of
from chronicle.model import Finding, Floats, JoinKind, Role, Series
from chronicle.timeline.joins import bend_allowance, expected_at, jumps_again

NEW_WEIGHTS, RESUME_SPIKE, NOT_RESTORED = "reinitialised", "resume-spike", "lr-not-restored"
LEAST_LEARNED_LOG = 0.3  # [log units] less is no learning that could be lost
SAME_PACE_TIMES = 1.6  # both courses take as long within this; a return from a spike is far faster
NEW_PACE_TIMES = 3.3  # within this with new settings, where the level is the first one, within a tenth
SAME_LEVEL_SHARE = 0.1  # of what had been learned
RESOLVED_SAMPLES = 6  # the fewest in which the first course learns nine tenths


@kept
def learned_anew(view: View, attempt: AttemptView) -> list[Finding]:
    """Places where the loss is back at its very first level and learns in the same way again."""
    first, loss = view.attempts[0].loss, attempt.loss
    if loss is None or first is None:
        return []
    (steps, y), (start, early) = positive(loss), positive(first)
    if min(len(early), len(y)) < 2 * JOIN_SAMPLES or start[0] > 0.05 * max(start[-1], steps[-1]):
        return []
    soon = start[0] + 2 * JOIN_SAMPLES * step_gap(first)
    later, learned = attempt.index and steps[0] > soon, float(resumed.learned_before(view)[attempt.index])
    if later and (from_the_join := untrained(view, attempt, (0,), learned)):
        return from_the_join
    rises = (f for f in typed_findings(view, loss) if f.pattern in RISES and f.start_step > soon)
    return [f for shape in rises for f in _from_the_rise(view, attempt, early, shape)]


def _from_the_rise(view: View, attempt: AttemptView, early: Floats, shape: Finding) -> list[Finding]:
    """A rise inside one log after which the model is untrained, as in its ``early`` values."""
    steps, y = positive(attempt.series[shape.metric or ""])
    onset = int(np.searchsorted(steps, shape.start_step))
    learned, level = median(y[:onset][-JOIN_SAMPLES:]), median(early[:2])
    noise = 3 * measure.difference_noise(early[: 4 * JOIN_SAMPLES])
    highest = level + (view.thresholds.first_level / 3 * (level - learned) + noise)
    if onset < JOIN_SAMPLES or np.max(running(y[onset:][: 4 * JOIN_SAMPLES], 3)) > highest:
        return []  # worse than an untrained model
    if parts_stay(attempt, shape.start_step):
        return []
    near = range(onset - 2, min(onset + 4, len(y)))
    at_once = (a for a in near if y[a - 1] - learned <= 0.5 * (y[a] - learned))
    return untrained(view, attempt, at_once, learned, shape)


def parts_stay(attempt: AttemptView, start: float) -> bool:
    """Whether parts of the loss are logged that were above zero before a step, and none of them has risen by
    half of what it had fallen: then something was added to the loss."""
    courses = map(positive, attempt.by_role(Role.PART_LOSS))
    parts = ((y[steps < start], y[steps >= start]) for steps, y in courses)
    ends = [(b[:2], b[-JOIN_SAMPLES:], after[:2]) for b, after in parts if len(b) >= JOIN_SAMPLES]
    levels = [tuple(map(median, end)) for end in ends]
    return bool(levels) and all(2 * (then - learned) < first - learned for first, learned, then in levels)


def untrained(
    view: View, attempt: AttemptView, places: Iterable[int], learned: float, shape: Finding | None = None
) -> list[Finding]:
    """The first of some samples from which on a model that had ``learned`` is untrained, as a finding."""
    first, loss = view.attempts[0].loss, attempt.loss
    assert first is not None and loss is not None
    (start, early), (steps, y) = positive(first), positive(loss)
    times = (start, steps), (clock(view.attempts[0], start), clock(attempt, steps))
    least, why = 1 - 1.5 * view.thresholds.first_level, "it had come back faster than it once learned"
    for a in places:
        courses = (((once, early), (again[a:], y[a:])) for once, again in times)
        if any(same_course(view, *course, learned) for course in courses):
            lost = (y[a] - learned) / max(early[0] - learned, 1e-9)
            gone = at_least("of what was learned, lost at once", lost, "share", least, "lost_share")
            checks, at = [*noted(first_level_log=early[0]), gone], At(attempt, loss, steps[a], steps[a])
            alone = finding(NEW_WEIGHTS, at, checks, 0.8, 0.85, (RESUME_SPIKE, why))
            anew = alone if shape is None else renamed(shape, NEW_WEIGHTS, checks, why=why)
            if stands(anew):
                return [anew]
    return []


def clock(attempt: AttemptView, steps: Floats) -> Floats:
    """Steps weighted by the learning rate relative to the usual one, as a time scale of learning."""
    rate = attempt.learning_rate
    ok = np.isfinite(rate.values) & (rate.values >= 0) if rate is not None else np.zeros(1, bool)
    if rate is None or ok.sum() < 2 * JOIN_SAMPLES or not rate.values[ok].max() > 0:
        return steps
    usual = float(np.quantile(rate.values[ok], 0.9))  # not the highest, which may be the fault
    share = np.interp(steps, rate.steps[ok], rate.values[ok] / max(usual, 1e-30))
    return np.asarray(np.cumsum(share * np.diff(steps, prepend=steps[0])) + steps[0])


def same_course(
    view: View, first: tuple[Floats, Floats], again: tuple[Floats, Floats], learned: float
) -> bool:
    """Whether the loss is back at its first level, and learns as fast as the first time."""
    (start, early), (steps, y), level = first, again, median(first[1][:2])
    near = 1.5 * view.thresholds.first_level * (to_learn := level - learned)
    off = abs(median(y[:2]) - level)
    if to_learn < LEAST_LEARNED_LOG or off > near:
        return False
    most = NEW_PACE_TIMES if off <= SAME_LEVEL_SHARE * to_learn else SAME_PACE_TIMES
    tenths, gap = level - to_learn * np.arange(1, 10) / 10, median_gap(start)
    once, twice = passed(start, early, tenths), passed(steps, y, tenths)
    if not once[-1] >= RESOLVED_SAMPLES * gap:
        return False  # so fast that every return from a spike looks alike
    seen = ((once + gap) * most <= steps[-1] - steps[0]) | np.isfinite(twice)
    paces = (twice[seen] + gap) / (once[seen] + gap)
    usual = median(paces)  # a return from a spike is ever faster, or ends above
    return all(1 / most <= pace <= most for pace in (usual, *paces[-3:])) and paces[-1] >= 0.5 * usual


def passed(steps: Floats, y: Floats, levels: Floats) -> Floats:
    """Steps until the running median of 3 first reaches each level (inf: never)."""
    calm = running(y, 3)
    return np.array([steps[np.argmax(calm <= v)] - steps[0] if calm.min() <= v else np.inf for v in levels])


def find(view: View) -> Iterator[Finding]:
    first_joins: list[Resume] = []
    for attempt in view.attempts:
        if not learned_anew(view, attempt):
            first_joins += resumes(view, attempt)[:1]
    starts = [(join, max(join.beginnings(), key=lambda e: e.t)) for join in first_joins]
    several = [e.t for _, e in starts if e.t >= view.thresholds.joint_t]
    together = sum(several) / max(len(several), 1) ** 0.5
    for join, start in starts:
        yield from _join_spike(view, join, start, together)


def _join_spike(view: View, join: Resume, start: Excess, together: float) -> Iterator[Finding]:
    limits = view.thresholds
    t = together if start.t >= limits.joint_t else start.t
    raised = any(f.evidence["lr_factor"] > 1 for f in _not_restored(view, join.attempt))
    least = limits.joint_t if raised else limits.join_t
    checks = [
        at_least("first samples over the earlier attempt, all joins", t, "standard errors", least),
        at_least("height", start.height, "log units", limits.moved, "join_height_log"),
        *noted(after=join.parent.name),
    ]
    assert join.parent.loss is not None
    rose = (f for f in typed_findings(view, join.parent.loss) if f.pattern in RISES)
    was_calm = not any(f.end_step is None or f.end_step >= join.steps[0] for f in rose)
    if was_calm and (again := join.over_the_parent()) is not None:
        least = limits.midway * start.height
        checks.append(at_least("over what it logged at the same steps", again, "log units", least))
    if not all(c.met for c in checks):
        return
    back = medians(join.off, JOIN_SAMPLES)[1:] < limits.midway * start.height
    if not back.any():  # it stays up as far as the line of the earlier attempt is trusted
        over, higher = join.over(0, join.reach), (RESUME_SPIKE, "it had come down again")
        clear = at_least("all samples over the earlier attempt", over.t, "standard errors", limits.join_t)
        checks += [clear, at_least("height of all", over.height, "log units", limits.rise, "step_log")]
        at, confidence = At(join.attempt, join.loss, join.steps[0]), confidence_of(over.t, limits.join_t)
        yield finding(SHIFT, at, checks, 0.3 + over.height, confidence, higher)
        return
    peak = int(np.argmax(join.off[: (end := int(np.argmax(back)) + 1)]))
    checks += noted(height_log=join.off[peak], recovery_steps=join.steps[end] - join.steps[0])
    at = At(join.attempt, join.loss, join.steps[0], join.steps[peak], join.steps[end])
    stays = (SHIFT, "it had not come down again")
    yield finding(RESUME_SPIKE, at, checks, 0.2 + start.height, confidence_of(t, limits.join_t), stays)


def _not_restored(view: View, attempt: AttemptView) -> Iterator[Finding]:
    join, rate, limits = view.join_into.get(attempt.index), attempt.learning_rate, view.thresholds
    if join is None or join.kind is JoinKind.RELAUNCH or rate is None:
        return
    reach = float(rate.steps[0]) - limits.join_gap * max(step_gap(rate), 1.0)
    old = [r for a in view.attempts[: attempt.index] if (r := a.learning_rate) is not None and len(r) >= 4]
    old = [r for r in old if r.steps[0] < rate.steps[0] and r.steps[-1] >= reach]
    begins = float(rate.steps[:2][-1])
    carried = [(expected_at(r, begins), bend_allowance(r, begins)) for r in old]
    rates = [(then, bend) for then, bend in carried if then is not None and then > 0]
    now = median(rate.values[:3])
    if not rates or not np.isfinite(now):
        return
    then, bend = min(rates, key=lambda rate: abs(np.log(max(now, 1e-30) / rate[0])))
    factor = now / then if abs(now - then) > bend else 1.0
    warms = warms_up(rate, limits.lr_falls) and factor < 1 / limits.lr_falls
    lowered = factor < 1 and not warms and join.kind is JoinKind.ROLLBACK
    before = (r.values[r.steps < rate.steps[0]] for r in old)
    goes_on = any(jumps_again(np.r_[values, rate.values], len(values) - 1) for values in before)
    if lowered or abs(factor - 1) <= limits.lr_differs or goes_on:  # the schedule jumps so elsewhere, too
        return
    how, confidence = ("is higher", 0.7) if factor > 1 else ("is lower", 0.5)
    if warms:
        how, confidence = "warms up again", 0.95
    differs = at_least("off the rate that was expected", abs(factor - 1), "share", limits.lr_differs)
    checks, at = [*noted(lr_factor=factor, how=how), differs], At(attempt, rate, rate.steps[0], rate.steps[0])
    severity, changed = min(abs(np.log(max(factor, 1e-3))), 1.0), "somebody had changed it on purpose"
    yield finding(NOT_RESTORED, at, checks, severity, confidence, ("lr-decay-drop", changed))


def warms_up(rate: Series, factor: float) -> bool:
    """Whether the values rise through the first samples to ``factor`` times the first one or more."""
    head = rate.values[: max(8, len(rate) // 4)]
    head = finite_of(head)
    top = int(np.argmax(head))
    return top >= 2 and head[top] >= factor * head[0] and bool(np.all(np.diff(head[: top + 1]) >= -1e-12))


REINITIALISED = Rule("reinitialised", (NEW_WEIGHTS,), Rule.by_attempt(learned_anew), replaces=RISES)
RESUME = Rule("resume", (RESUME_SPIKE, SHIFT), find, replaces=RISES)
RESTORED = Rule("restored", (NOT_RESTORED,), Rule.by_attempt(_not_restored))

REPEATED_DATA = "repeat-data"
REPLACED = RISES | {RESUME_SPIKE}
JUMP_WINDOWS = (8, 16, 32, 64)  # samples on either side of a jump
MOST_PLACES = 4096  # at which a jump is tried; a longer attempt is reduced to medians of blocks


def replays(view: View) -> Iterator[Finding]:
    """Stretches of data that had been read before, one finding for each attempt that has one."""
    honest: dict[str, tuple[Resume, float]] = {}  # of replays: their join and the step at which they end
    for attempt in view.attempts:
        joins = resumes(view, attempt)
        jumps = ((join, jump(join, view.thresholds)) for join in (*joins, *later_joins(joins, honest)))
        ends = ((f, join, at[0]) for join, at in jumps if at for f in new_data(view, join, *at))
        for replay, join, last in islice(ends, 1):
            honest[attempt.name] = join, float(join.steps[last])
            yield replay


def later_joins(joins: list[Resume], honest: dict[str, tuple[Resume, float]]) -> Iterator[Resume]:
    """Joins into an attempt that was still replaying, compared with the line of the attempt before that."""
    for join in joins:
        earlier, end = honest.get(join.parent.name, (None, 0.0))
        if earlier is not None and join.steps[0] <= end + JOIN_SAMPLES * step_gap(join.loss):
            y = join.off + join.line.at(join.steps)
            yield replace(join, parent=earlier.parent, line=earlier.line, off=y - earlier.line.at(join.steps))


def jump(join: Resume, limits: Thresholds) -> tuple[int, int] | None:
    """The sample of the surest step up and the size of its window; None if there is no step."""
    n = min(len(join.off), join.reach)
    block = max(n // MOST_PLACES, 1)
    level = measure.row_medians(join.off[: n // block * block].reshape(-1, block))
    error = MEDIAN_ERROR * join.line.noise * join.line.inflation / block**0.5
    best, near, window = 0.0, 0, 0
    for w in (w for w in JUMP_WINDOWS if len(level) >= 2 * w):
        middle = medians(level, w)
        sure = (middle[w:] - middle[:-w]) / (error * (2 / w) ** 0.5)
        if sure.max() > best:
            best, near, window = float(sure.max()), (int(np.argmax(sure)) + w) * block, w * block
    if best < limits.join_t:
        return None
    around = range(max(near - window // 2, JOIN_SAMPLES), min(near + window // 2, n - JOIN_SAMPLES) + 1)
    at = max(around, key=lambda i: _rise(join, i, JOIN_SAMPLES), default=near)
    clear = _rise(join, at, JOIN_SAMPLES) >= limits.midway * _rise(join, near, window) > 0
    return (at, window) if clear else None


def _rise(join: Resume, i: int, window_samples: int) -> float:
    after, before = join.off[i : i + window_samples], join.off[max(i - window_samples, 0) : i]
    return median(after) - median(before)


def new_data(view: View, join: Resume, at: int, window: int) -> Iterator[Finding]:
    """The jump at which a replay ends, if the loss was too low before it and is right after it."""
    limits, height = view.thresholds, _rise(join, at, window)
    half = limits.midway * height
    stays = resumed.validation_stays(join.attempt, join.steps[at], half)
    before, after = join.over(max(at - window, 0), at), join.over(at + 1, min(at + 1 + window, join.reach))
    surest = -min(before.t, join.over(0, min(window, at)).t)  # the line is uncertain far from the join
    checks = [
        at_least("jump", height, "log units", limits.moved, "jump_log"),
        at_least("under the line before it", -before.height, "log units", half, "low_log"),
        at_least("under the line, then or at the join", surest, "standard errors", limits.known_t),
        at_most("off the line after it", abs(after.height), "log units", half),
        Check("validation loss", None, "", "does not jump", stays),
        *noted(low_start_step=int(join.steps[0]), replayed_steps=int(join.steps[at] - join.steps[0])),
        *noted(after=join.parent.name),
    ]
    if any(c.met is False for c in checks):
        return
    why, shape = "the loss had not been too low since the join", shape_near(view, join, at, window)
    place = At(join.attempt, join.loss, join.steps[at], join.steps[at], join.steps[at])
    alone = finding(REPEATED_DATA, place, checks, 0.5 + height, 0.9, (SHIFT, why))
    if shape is not None:  # the replay takes the place of the finding of its jump to new data
        start = shape.start_step
        alone = replace(renamed(shape, REPEATED_DATA, checks, why=why), peak_step=start, end_step=start)
    yield alone


def shape_near(view: View, join: Resume, at: int, window: int) -> Finding | None:
    """The finding that the shape of the jump alone gave: a spike, a shift or a divergence."""
    shapes = [f for f in typed_findings(view, join.loss) if f.pattern in RISES]
    away = {f.start_step: abs(int(np.searchsorted(join.steps, f.start_step)) - at) for f in shapes}
    near = [f for f in shapes if away[f.start_step] <= max(window // 2, JOIN_SAMPLES)]
    return min(near, key=lambda f: away[f.start_step], default=None)


REPEATED = Rule("repeated-data", (REPEATED_DATA,), replays, replaces=REPLACED)
