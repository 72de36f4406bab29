"""The speed of a run, independent of how well it learns.

throughput-drop
    Sees: a lasting fall of the throughput, or rise of the time that a step takes.
    Rule: for 50 steps and 8 samples or more, the speed (by step times, if logged) is 3 % below the median
    before, and would be if one unit of its last decimal were rounding, at one batch size. It begins half way
    down and ends half way back. Four drops or more at multiples of one number of steps are evaluations. A
    logged setting that changes where it begins, as a sequence length, explains it; a number of machines not.
    Blind to: a run that is slow from its first step; and tables without a counter in which nothing is judged.
    False alarm: a search for a slow node that does not exist.
    Source: BLOOM 2022-04-28 (105.2 to 111.1 s a step: one GPU), SmolLM3's alarm band.

hang
    Sees: a run that stopped for a while and went on.
    Rule: between two logged points pass 20 times the usual time and five minutes (or, in a short run, ten
    seconds and more than all the rest took), and at most one other pause of the run is a tenth as long, as
    those of evaluations and checkpoints are (`ends_or_evaluates`). The first 8 points are the start-up.
    Blind to: a hang that ends the attempt; and the same tables.
    False alarm: one long evaluation.
    Source: BLOOM 2022-04-30 (a deadlock in evaluation, 18 hours).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from chronicle.classify.kernel import Event, Kind
from chronicle.classify.measure import last_decimal, median, medians, positive
from chronicle.classify.report import At, Check, Rule, at_least, finding, noted, overlap, stands
from chronicle.classify.rules.schedule import set_anew
from chronicle.classify.view import AttemptView, View, value_at
from chronicle.metrics.aliases import OF_MACHINES, OF_MEMORY
from chronicle.model import Finding, Floats, Role, Series

SPEED_SAMPLES = 32  # the fewest that have a level of the speed
SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "min": 60.0}
SAME_PAUSE_SHARE = 0.1  # of the length of a pause: another one as long is of the same kind
ROUNDED_UNITS = 0.99  # of the last decimal: half of it for either level may be rounding
FEWEST_AGAIN = 3  # times the same number of steps between slow stretches
USUAL_SAMPLES = 256  # before a drop, whose median is the usual speed


def find(view: View, attempt: AttemptView) -> Iterator[Finding]:
    if attempt.attempt.axis == "item" or not (attempt.loss or attempt.objective or attempt.in_time):
        return  # rows are items, or whatever a table without a counter holds: the times of no training
    seen: list[Finding] = []
    speeds = [s for s in attempt.by_role(Role.STEP_TIME, Role.THROUGHPUT) if len(s) >= SPEED_SAMPLES]
    # a throughput may be a mean, which an evaluation in it pulls down, or the work of a step may change
    for series in [s for s in speeds if s.role is Role.STEP_TIME] or speeds:
        sign = -1.0 if series.role is Role.THROUGHPUT else 1.0
        for event in view.events(series, sign):
            if event.kind in (Kind.BACK, Kind.OPEN):
                drops = filter(stands, _drop(view, attempt, series, sign, event))
                seen += [f for f in drops if not any(overlap(f, other) for other in seen)]
    gaps = np.diff(sorted(f.start_step for f in seen if f.end_step is not None))
    evaluates = len(gaps) >= FEWEST_AGAIN and gaps.min() > 0 and not (gaps % gaps.min()).any()
    yield from (f for f in seen if f.end_step is None or not evaluates)
    yield from hangs(view, attempt)


def _drop(view: View, attempt: AttemptView, series: Series, sign: float, event: Event) -> Iterator[Finding]:
    limits, (steps, y) = view.thresholds, positive(series)
    a, least = int(np.searchsorted(steps, series.steps[event.onset])), int(limits.slow_samples)
    before = y[max(a - USUAL_SAMPLES, 0) : a]
    if min(len(before), len(y) - a) < limits.slow_samples:
        return
    usual_log = median(before)
    slower = sign * (y[a:] - usual_log)
    b = slow_until(slower, least, limits.midway) + a
    a += slow_from(slower[: b - a], least, limits.midway)
    lasts, share = steps[b - 1] - steps[a], 1 - float(np.exp(-sign * median(y[a:b] - usual_log)))
    slow_log = median(y[a:b])
    usual, slow = float(np.exp(usual_log)), float(np.exp(slow_log))
    rounding = ROUNDED_UNITS * last_decimal(series.values)
    if abs(usual - slow) - rounding < limits.slower * max(usual, slow):
        return
    around = steps[max(a - int(limits.same_time), 0)], steps[min(a + int(limits.same_time), b - 1)]
    if not _is_same_work(attempt, around, limits.slower):
        return
    checks = [
        at_least("fall of the speed", share, "share", limits.slower, "slower_share"),
        at_least("lasted", lasts, "steps", limits.slow_steps, "slow_steps"),
        at_least("lasted", b - a, "samples", limits.slow_samples),
        *noted(lost_steps=share * lasts),
    ]
    if b == len(y):
        first, last = (median(part) for part in np.array_split(y[a:b], 3)[::2])
        checks += noted(still_slowing_share=(last - first) / (slow_log - usual_log))
    if setting := next(set_anew(attempt, steps[a], OF_MEMORY | OF_MACHINES), ""):
        checks += noted(explained_by=f"{setting} was set anew")
    end, peak = steps[b] if b < len(steps) else None, steps[a + int(np.argmax(sign * y[a:b]))]
    hang = ("hang", "a single step had taken as long as all of these")
    yield finding("throughput-drop", At(attempt, series, steps[a], peak, end), checks, share, 0.9, hang)


def _is_same_work(attempt: AttemptView, steps: Iterable[float], tolerance: float) -> bool:
    """Whether the batch has the same size at two steps, but for this share of it; also if none is logged."""
    sizes = attempt.first(Role.BATCH_SIZE)
    before, after = (value_at(sizes, step) if sizes is not None else 1.0 for step in steps)
    return bool(np.isclose(before, after, rtol=tolerance))


def slow_until(slower: Floats, least: int, midway: float) -> int:
    """Samples until the speed (a median of ``least``) is half-way back from its slowest level so far."""
    level = medians(slower, least)
    usual, start = median(slower[:least]), least
    while start < len(level):
        stop = min(2 * start, len(level))
        back = np.flatnonzero(level[start:stop] < midway * usual)
        if len(back):
            return start + int(back[0])
        usual, start = max(usual, median(slower[:stop])), stop
    return len(slower)


def slow_from(slower: Floats, least: int, midway: float) -> int:
    """The sample from which on a slow stretch is at least half as slow as its median."""
    half, level = midway * median(slower), medians(slower, min(least, len(slower)))
    not_yet = np.flatnonzero(level[: len(level) // 2 + 1] < half)
    first = int(not_yet[-1]) + 1 if len(not_yet) else 0
    return first + int(np.argmax(slower[first:] >= half))


def hangs(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """Pauses by the wall clock, or by the logged step time if there is no clock."""
    series = attempt.loss or next(iter(attempt.series.values()), None)
    if series is not None and len(series) >= SPEED_SAMPLES // 2 and np.isfinite(series.times).all():
        steps = np.diff(series.steps.astype(float))
        yield from standstill(view, attempt, series, np.diff(series.times), steps, 1.0)
        return
    for times in attempt.by_role(Role.STEP_TIME):
        unit = SECONDS.get((times.unit or "").lower())
        if len(times) >= SPEED_SAMPLES // 2:
            yield from standstill(view, attempt, times, times.values[1:], np.ones(len(times) - 1), unit)


def standstill(
    view: View, attempt: AttemptView, series: Series, gaps: Floats, steps: Floats, unit_s: float | None
) -> Iterator[Finding]:
    """Gaps far beyond the usual time a step; ``unit_s``: seconds in one unit of ``gaps`` (None: unknown)."""
    limits = view.thresholds
    ok = np.isfinite(gaps) & (gaps > 0) & (steps > 0)
    if ok.sum() < SPEED_SAMPLES // 2:
        return
    usual, least = median(gaps[ok]), limits.hang_unknown * median(gaps[ok])
    if unit_s:  # in a short run, a pause that took longer than all the rest counts as well
        rest = max(float(gaps[ok].sum() - gaps[ok].max()), limits.hang_short / unit_s)
        least = max(limits.hang_times * usual, min(limits.hang_s / unit_s, rest))
    long = np.flatnonzero(ok & (gaps >= least))
    for i in long[long >= limits.slow_samples]:
        places = series.steps[:-1][ok & (gaps >= SAME_PAUSE_SHARE * gaps[i])]
        begins = (0, series.steps[0])  # a resumed process may count its pauses from where it began
        again = len(places) == 2 and any(abs(places[1] - 2 * places[0] + b) <= steps[i] for b in begins)
        if len(places) > 2 or again or gaps[i] < limits.hang_times * usual * steps[i] / median(steps[ok]):
            continue
        if ends_or_evaluates(attempt, *series.steps[[0, i, i + 1, -1]].tolist()):
            continue
        others = pauses_elsewhere(view, attempt, series, SAME_PAUSE_SHARE * gaps[i])
        if len(places) + others > 2:
            continue
        times, limit = gaps[i] / usual, f">= {least / usual:.3g}"
        checks = [
            *(noted(gap_s=gaps[i] * unit_s) if unit_s else noted(gap_times_median=times)),
            Check("time to the next point", times, "times the median", limit),
            Check("other pauses a tenth as long", len(places) - 1 + others, "pauses", "<= 1"),
        ]
        at = At(attempt, series, series.steps[i], series.steps[i + 1], series.steps[i + 1])
        slow = ("throughput-drop", "the steps after it were slow as well")
        yield finding("hang", at, checks, 0.5, 0.8 if unit_s else 0.5, slow)


def ends_or_evaluates(attempt: AttemptView, start: int, last: int, first: int, end: int) -> bool:
    """Whether the only epoch that ends between the steps ``start`` and ``end`` of a log, or the only place
    there at which something held out is logged, lies between the steps ``last`` and ``first``."""
    epochs = (s.steps[1:][np.diff(np.ceil(s.values)) > 0] for s in attempt.by_role(Role.EPOCH))
    held_out = (s.steps for s in attempt.by_role(Role.VALIDATION_LOSS, Role.VALIDATION_SCORE))
    inside = (np.unique(at[(at > start) & (at < end)]) for at in (*epochs, *held_out))
    return any(len(at) == 1 and last <= at[0] <= first for at in inside)


def pauses_elsewhere(view: View, attempt: AttemptView, series: Series, least: float) -> int:
    """How many pauses of other attempts are as long, without their start-up; counted up to two."""
    others = (a.series.get(series.metric) for a in view.attempts if a is not attempt)
    timed, begin = series.role is Role.STEP_TIME, int(view.thresholds.slow_samples)
    gaps = (log.values[1:] if timed else np.diff(log.times) for log in others if log is not None)
    return len([*islice((at for waited in gaps for at in np.flatnonzero(waited[begin:] >= least)), 2)])


RULE = Rule("speed", ("throughput-drop", "hang"), Rule.by_attempt(find))
