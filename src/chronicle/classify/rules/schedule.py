"""Planned changes and their effect on the loss: learning rate, batch size, epochs.

lr-decay-drop
    Sees: a fall of the loss that the learning rate explains.
    Rule: where the learning rate falls by a factor of 1.3, or in the second half of a decay after a constant
    rate, the loss leaves its line downwards by 4.5 standard errors and 1.5 %.
    Blind to: smooth decays from the first step on (cosine).
    False alarm: none that costs anything.
    Source: Marin 8B (train and eval fall in each decay).

batch-ramp
    Sees: steps down, and calmer noise, that a growing batch makes.
    Rule: the batch size grows by a half or more, and the noise of the loss falls by 3 standard errors and by
    a third (in log units) of what averaging predicts; or the loss steps down with the batch size.
    Blind to: ramps that are not logged.
    False alarm: none that costs anything.
    Source: BLOOM (192 to 2048 samples over 20 B tokens).

level-shift (where an epoch begins)
    Sees: a step down where samples are read for the second time.
    Rule: within 3 samples of a whole epoch the loss steps down by 4.5 standard errors and 1.5 %, and half of
    that shows between the medians of both epochs too, beyond what is learned within them (`between`); and at
    half of all epochs it steps down by 1.5 errors or more.
    Blind to: epochs that are not logged, and steps that a change of rate or batch explains.
    False alarm: none that costs anything: a step down is no trouble.
    Source: fast.ai, "learning jumps" (2023).

Warm restarts (no finding)
    Sees: rises of the loss at a planned restart of the schedule (SGDR, cyclic rates, WSD).
    Rule: the learning rate had come down and rises by 1.3 or more within 8 samples of the onset, and the loss
    rises by less than 0.25 log units; such a rise was planned, and is left out. A higher one does not count
    if it is over.
    Blind to: restarts whose learning rate is not logged.
    False alarm: a small spike that a restart caused is left out.
    Source: Loshchilov and Hutter 2017 (arXiv:1608.03983, figure 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np

from chronicle.classify import measure
from chronicle.classify.kernel import Event, Kind
from chronicle.classify.measure import NOISE_FLOOR_LOG, Excess, confidence_of, median, positive, step_at
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted
from chronicle.classify.rules.loss_shapes import BUMPS, SHIFT
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View, index_at
from chronicle.metrics.aliases import OF_MEMORY
from chronicle.metrics.names import name_words
from chronicle.model import Finding, Floats, Role, Series

DROP, RAMP = "lr-decay-drop", "batch-ramp"
EXPLAINED = frozenset({"grokking", SHIFT})
SETTING_SAMPLES = 8  # around a change of a logged setting; and the most changes of a setting
EDGE_SAMPLES = 8  # the fewest of a loss on either side of a planned change
MOST_CHANGES = 24  # epochs or ramps in one log: more are no visible steps
CONSTANT_SHARE = 0.999  # of the highest learning rate: a constant one, as loggers round it
NOISE_SAMPLES = 256  # at most on either side of a ramp, whose noise is compared
NOISE_ERROR_LOG = 0.9  # [log units] standard error of a noise scale from one sample


def _lr_decay_drops(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    rate, limits, (steps, y) = attempt.learning_rate, view.thresholds, positive(loss)
    if rate is None or len(rate) < EDGE_SAMPLES or len(y) < 2 * EDGE_SAMPLES:
        return
    begins = decay_begins(rate, limits)
    for at in [*cliffs(rate, limits.lr_falls), *begins]:
        i = int(np.searchsorted(steps, at))
        if not EDGE_SAMPLES <= i <= len(y) - EDGE_SAMPLES:
            continue
        fall = best_fall(steps, y, i)
        if at in begins:
            fall = min(fall, decay_fall(steps, y, at, rate, limits), key=lambda e: e.t)
        j = index_at(rate, at)
        before, after = float(rate.values[max(j - 2, 0)]), float(rate.values[: j + 3][-1])
        if fall.t <= -limits.known_t and fall.height <= -limits.moved:
            factor = noted(lr_factor=after / before if before > 0 else 1.0)
            yield planned_fall(view, attempt, DROP, at, fall, factor)


def cliffs(rate: Series, factor: float) -> list[float]:
    """Steps at which the learning rate falls by ``factor`` between two logged points, but not to zero."""
    v = rate.values
    falls = np.flatnonzero((v[:-1] > 0) & (v[1:] > 0) & (v[:-1] >= factor * v[1:]))
    runs = falls[np.diff(falls, prepend=-9) > 1]
    return [float(rate.steps[i + 1]) for i in runs] if len(runs) <= MOST_CHANGES else []


def decay_begins(rate: Series, limits: Thresholds) -> list[float]:
    """The step at which a long constant learning rate begins to fall, smoothly, to a third or less."""
    v = rate.values
    if not np.isfinite(v).all() or v.max() <= 0:
        return []
    flat = np.flatnonzero(v >= CONSTANT_SHARE * v.max())
    tail = v[flat[-1] :]
    long = len(tail) >= EDGE_SAMPLES and len(flat) >= limits.lasting * len(v)
    falls = long and tail[-1] <= limits.lr_decayed * v.max() and bool(np.all(np.diff(tail) <= 0))
    return [float(rate.steps[flat[-1]])] if falls and tail[0] < limits.lr_falls * tail[1] else []


def decay_fall(steps: Floats, y: Floats, begin: float, rate: Series, limits: Thresholds) -> Excess:
    """How far the loss is below the line through the last ``horizon`` log steps before a decay in its second
    half, where it bends and does not step. (A power law with a floor bends the other way.)"""
    a, far = np.searchsorted(steps, (begin, begin * np.exp(-limits.horizon))).tolist()
    before = slice(min(far, a - EDGE_SAMPLES), a)
    v = rate.values
    above = np.flatnonzero(v > v[-1] + limits.idle * v.max())
    end = float(rate.steps[above[-1] + 1])  # where the rate reaches its last value
    late = steps >= 0.5 * (begin + end)
    parts = (late & (steps <= stop) for stop in (end, 1.5 * end - 0.5 * begin))  # the gain lasts for a while
    return min((measure.over_line(steps, y, before, part) for part in parts), key=lambda e: e.t)


def best_fall(steps: Floats, y: Floats, i: int) -> Excess:
    """The strongest step down after sample ``i``, of windows of 8 to 64 samples a few samples on."""
    windows = [w for w in (8, 16, 32, 64) if w <= min(i, len(y) - i)]
    tries = [step_at(steps, y, i, w, skip) for w in windows for skip in (2, w // 2)]
    return min(tries, key=lambda e: e.t, default=Excess(0.0, 0.0))


def planned_fall(
    view: View, attempt: AttemptView, pattern: str, step: float, fall: Excess, planned: Sequence[Check]
) -> Finding:
    """A planned change as a finding, at the step of the kernel's fall there, if any, which it replaces."""
    loss, limits = attempt.loss, view.thresholds
    assert loss is not None
    drop = next((e for e in view.events(loss) if e.kind is Kind.DROP and _near(loss, e, step)), None)
    end = loss.steps[drop.end] if drop and drop.end is not None else None
    checks = [
        *planned,
        at_least("fall of the loss there", -fall.t, "standard errors", limits.known_t),
        at_least("fall of the loss there", -fall.height, "log units", limits.moved, "drop_log"),
    ]
    at, sudden = At(attempt, loss, loss.steps[drop.onset] if drop else step, None, end), "grokking"
    confidence = confidence_of(fall.t, limits.known_t)
    return finding(pattern, at, checks, 0.1, confidence, (sudden, "nothing had been changed there"))


def _near(loss: Series, event: Event, at: float) -> bool:
    i = index_at(loss, at)
    return event.onset - EDGE_SAMPLES <= i <= max(event.onset + EDGE_SAMPLES, event.end or 0)


def _batch_ramp(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    (steps, y), limits, size = positive(loss), view.thresholds, attempt.first(Role.BATCH_SIZE)
    if size is None:
        return
    size = size.pick(np.isfinite(size.values) & (size.values > 0))
    if not len(grows := np.flatnonzero(np.diff(size.values) > 0) + 1):
        return
    at, factor = size.steps[grows].astype(float), size.values[grows[-1]] / size.values[grows[0] - 1]
    first, last = np.searchsorted(steps, at[[0, -1]]).tolist()
    if factor < limits.batch_grows or first < EDGE_SAMPLES or len(y) - last < EDGE_SAMPLES:
        return
    young = int(np.searchsorted(steps, 0.25 * at[0]))  # the first steps have another noise
    before, after = y[max(first - NOISE_SAMPLES, young) : first], y[last : last + NOISE_SAMPLES]
    noisy, quiet = (max(measure.clipped_difference_noise(part), NOISE_FLOOR_LOG) for part in (before, after))
    calm = quiet / noisy
    calm_t = -float(np.log(calm)) / (NOISE_ERROR_LOG * (1 / len(before) + 1 / len(after)) ** 0.5)
    few = at.tolist() if len(at) <= MOST_CHANGES else []
    falls = [best_fall(steps, y, int(np.searchsorted(steps, step))) for step in few]
    steepest_t = min((fall.t for fall in falls if fall.height <= -limits.moved), default=0.0)
    calmer = [
        at_most("noise after over before", calm, "factor", factor ** (-0.5 * limits.batch_root)),
        at_least("fall of the noise", calm_t, "standard errors", limits.single_t),
    ]
    steep = at_least(
        "strongest step down with the batch size", -steepest_t, "standard errors", limits.known_t
    )
    held = [check for checks in (calmer, [steep]) if all(c.met for c in checks) for check in checks]
    if not held:
        return
    grown = noted(batch_factor=factor, noise_factor=calm, ramps=len(at))
    yield finding(RAMP, At(attempt, loss, at[0], None, at[-1]), [*grown, *held], 0.1, 0.8)
    for step, fall in zip(few, falls, strict=True):
        if any(e.kind is Kind.DROP and _near(loss, e, step) for e in view.events(loss)):
            yield planned_fall(view, attempt, RAMP, step, fall, grown)


def epoch_edges(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    """Steps down of the loss at whole epochs. A fall over several epochs is one finding."""
    epoch, (steps, y) = attempt.first(Role.EPOCH, EDGE_SAMPLES), positive(loss)
    if epoch is None or not len(steps):
        return
    known = np.where(np.isfinite(epoch.values), epoch.values, np.nan)
    whole = np.floor(np.interp(steps, epoch.steps, known) + 1e-6)
    edges = np.flatnonzero(np.diff(whole) == 1) + 1
    if not 1 <= len(edges) <= MOST_CHANGES or len(steps) < EDGE_SAMPLES * (len(edges) + 1):
        return
    half = max(len(steps) // (2 * (len(edges) + 1)), 4)
    near = [[i + d for d in (0, 1, 2) if i + d < len(y)] for i in edges.tolist()]
    steepest = [min((step_at(steps, y, i, min(half, 64), 1) for i in at), key=lambda e: e.t) for at in near]
    if 2 * sum(fall.t <= -0.5 * view.thresholds.single_t for fall in steepest) < len(edges):
        return  # a staircase has a step at most epochs; one of many is chance
    falls: dict[int, Finding] = {}
    least = max(view.thresholds.moved, view.thresholds.step_noise * view.noise(loss))
    ends = [0, *edges.tolist(), len(y)]
    for n, (i, fall) in enumerate(zip(edges, steepest, strict=True)):
        kept = between(y[ends[n] : i], y[i : ends[n + 2]]) >= -view.thresholds.midway * fall.height
        if kept and fall.t <= -view.thresholds.known_t and fall.height <= -least:
            edge = planned_fall(view, attempt, SHIFT, float(steps[i]), fall, noted(epoch=float(whole[i])))
            falls.setdefault(edge.start_step, edge)
    yield from falls.values()


def within_epoch(view: View, attempt: AttemptView, rise: Finding) -> bool:
    """Whether a loss rises by less than it stepped down at the start of the epoch, as data read again do."""
    loss = attempt.loss if attempt.loss is not None and attempt.loss.metric == rise.metric else None
    falls = epoch_edges(view, attempt, loss) if loss is not None else ()
    before = [fall.evidence["drop_log"] for fall in falls if fall.start_step <= rise.start_step]
    return bool(before) and float(rise.evidence.get("residual_log", np.inf)) < before[-1]


def between(before: Floats, after: Floats) -> float:
    """How far the loss falls between two epochs beyond its fall within them, by their thirds or medians."""
    thirds = np.array_split(before, 3) + np.array_split(after, 3)
    first, second, third, fourth, fifth, sixth = map(median, thirds)
    near = third - fourth - 0.5 * (second - third + fourth - fifth)
    far = median(before) - median(after) - 0.75 * (first - third + fourth - sixth)
    return max(near, far)


def set_anew(attempt: AttemptView, step: float, but: Set[str] = OF_MEMORY) -> Iterator[str]:
    """The logged settings, such as a sequence length, that change around a step, and so rarely that chance
    puts one of twenty steps as near to a change; in a log of few rows within one of them. Those with a word
    of ``but`` in their names do not count."""
    for series in attempt.by_role(Role.OTHER):
        edges = np.flatnonzero(series.values[1:] != series.values[:-1]) + 1
        reach = SETTING_SAMPLES if 20 * SETTING_SAMPLES * len(edges) <= len(series) else 1
        is_rare = len(edges) <= min(SETTING_SAMPLES, len(series) / (20 * reach))
        away = np.abs(edges - np.searchsorted(series.steps, step))
        if is_rare and np.any(away <= reach) and name_words(series.metric).isdisjoint(but):
            yield series.metric


def at_restart(view: View, rise: Finding, below: float) -> bool:
    """Whether a rise, lower than ``below`` log units, begins where the learning rate goes up again."""
    is_low = rise.pattern in BUMPS and rise.evidence.get("height_log", np.inf) < below
    attempt = next(iter(view.named(rise.attempt if is_low else None)), None)
    loss = attempt.series.get(rise.metric or "") if attempt is not None else None
    if attempt is None or loss is None or (rate := attempt.learning_rate) is None:
        return False
    around, factor = int(view.thresholds.same_time), view.thresholds.lr_falls
    i, known = index_at(loss, rise.start_step), measure.finite(rate)
    first, last = loss.steps[max(i - around, 0)], loss.steps[min(i + around, len(loss) - 1)]
    steps, values = known.steps, known.values
    before, near = values[steps < first], values[(steps >= first) & (steps <= last)]
    if not len(before) or not len(near):
        return False
    low = factor * min(float(before[-1]), float(near.min()))
    return bool(before.max() >= low and near.max() >= low and near.max() > before[-1])


EPOCHS = Rule("epochs", (SHIFT,), Rule.by_loss(epoch_edges), replaces=EXPLAINED)
DECAY = Rule("decay", (DROP,), Rule.by_loss(_lr_decay_drops), replaces=EXPLAINED)
BATCH = Rule("batch", (RAMP,), Rule.by_loss(_batch_ramp), replaces=EXPLAINED)
