"""Joins: the evidence on both sides, what changed there and what it cost; and how each attempt ended.

Series are compared at the first steps that both attempts logged. Where there are none, as in a plain resume,
the earlier series is extrapolated from its last samples to the step at which the later one begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from chronicle import model
from chronicle.metrics.aliases import has_year, in_year_of
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.names import COUNTERS
from chronicle.model import Attempt, Fault, Floats, Join, JoinKind, Role, Series, StepBack, Timeline, Track
from chronicle.timeline import relation
from chronicle.timeline.courses import Course, clock, distinct_in, one_of_each, step_ends, wall_clock
from chronicle.timeline.relation import Pair, Relation, at_common_steps, both_finite

# Costs of discarded pieces, and the role of the series that counts each; None is the wall clock.
COSTS = {"discarded_s": None, "discarded_tokens": Role.TOKENS, "discarded_samples": Role.SAMPLES}
KINDS = {
    Relation.CONTINUES: JoinKind.RESUME, Relation.OVERTAKES: JoinKind.ROLLBACK,
    Relation.ANEW: JoinKind.RELAUNCH,
}  # fmt: skip
_TREND_SAMPLES = 6  # a series is extrapolated from this many last samples
_CHANGE_AT_EQUAL_STEP = 0.01  # relative difference that is a change, where both logged the same step
_CHANGE_EXTRAPOLATED = 0.05  # the same, where the earlier value had to be extrapolated
JUMP_SAMPLES = 8  # on either side of a jump of the learning rate, among which it stands alone
_LEAST_JUMP_LOG = 0.05  # [log units] schedules move by less between two logged points
_SAME_FACTOR_LOG = 0.001  # [log units] within which two factors of a schedule are the same
_CYCLE_END_SHARE = 0.1  # of its highest rate: WSD and cosine cycles end at 0 to a tenth
_MOST_CHANGED_FACTS = 100  # of a join: the others are in the logs
_LONGEST_FACT = 200  # characters
_QUANTITIES = {  # what is compared, and its unit where the log declares none
    Role.LEARNING_RATE: ("learning rate", None), Role.BATCH_SIZE: ("batch size", None),
    Role.SAMPLES: ("samples read", "samples"), Role.TOKENS: ("tokens read", "tokens"),
    Role.EPOCH: ("epochs read", "epochs"),
}  # fmt: skip
_OF_EACH_PROCESS = {
    "run", "pid", "started_at", "exit_code", "ended", "events", "format", "summary", "step_counter",
}  # fmt: skip
_UNITS = {"world_size": "processes", "nodes": "nodes", "gpu_count": "accelerators"}


def join_of(pair: Pair, discarded: int, lost: Mapping[str, float]) -> Join:
    """The join of two attempts; ``lost`` is the further cost of the discarded steps, see `costs`."""
    before, after = pair.before, pair.after
    gap_s = after.started - before.ended
    facts = islice(_changed_facts(before.attempt.facts, after.attempt.facts), _MOST_CHANGED_FACTS)
    return Join(
        KINDS[pair.course], before=before.index, after=after.index, from_step=before.last,
        to_step=after.first, discarded_steps=discarded, gap_s=None if math.isnan(gap_s) else gap_s,
        at_time=None if math.isnan(after.started) else after.started,
        evidence={**_evidence(pair), **lost}, changes=(*_changed_quantities(pair), *facts),
    )  # fmt: skip


def _evidence(pair: Pair) -> dict[str, Any]:
    """Loss and learning rate on both sides of the seam, compared at the ``common_samples`` that both logged
    (0: the last samples of one with the first of the other), in the unit of ``metric``; and whether process,
    host, run and seed are the same, where both logs name them."""
    evidence: dict[str, Any] = {}
    if pair.compared and pair.seam:
        evidence["metric"] = pair.compared[1].metric
        evidence["loss_before"], evidence["loss_after"], evidence["common_samples"] = pair.seam
    before, after = pair.before.attempt, pair.after.attempt
    if before.sources != after.sources:
        evidence["same_process"] = pair.same_writer()
        evidence["same_host"] = pair.same_writer(host_only=True)
        evidence |= {f"same_{name}": pair.same_fact(name) for name in ("run", "seed")}
    rates = [attempt.by_role(Role.LEARNING_RATE) for attempt in (before, after)]
    if lr := relation.levels_at_seam(rates[0][0], rates[1][0]) if all(rates) else None:
        evidence |= {"lr_before": lr[0], "lr_after": lr[1], "lr_ratio": lr[1] / lr[0] if lr[0] else None}
    return {name: value for name, value in evidence.items() if value is not None}


def expected_at(old: Series, step: float) -> float | None:
    """The value that a series leads one to expect at a step: interpolated, and beyond its end along its
    trend; None without samples."""
    ok = np.isfinite(old.values)
    steps, values = old.steps[ok].astype(float), old.values[ok]
    if not len(values):
        return None
    if step <= steps[-1] or len(values) < 4:
        return float(np.interp(step, steps, values))
    x, y = steps[-_TREND_SAMPLES:] - steps[-1], values[-_TREND_SAMPLES:]
    spread = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * y).sum() / spread if spread else 0.0
    return float(y.mean() + slope * (step - steps[-1] - x.mean()))


def bend_allowance(old: Series, step: float) -> float:
    """How far a value may lie from `expected_at` although nothing changed, since a schedule bends: beyond the
    end of the series half of its usual move from sample to sample, else 0."""
    steps, values = old.steps[np.isfinite(old.values)], finite_of(old.values)
    if len(values) < 2 or step <= steps[-1]:
        return 0.0
    return 0.5 * relation.finite_median(np.abs(np.diff(values[-_TREND_SAMPLES:])))


def planned(rates: Floats, i: int) -> bool:
    """Whether a schedule jumps so after sample ``i``: to a constant rate, from a cycle's end, or again."""
    moved = np.diff(np.log(rates))
    beside = np.r_[moved[max(i - JUMP_SAMPLES, 0) : i], moved[i + 1 : i + 1 + JUMP_SAMPLES]]
    cut = moved[i] < 0 and bool((np.abs(beside) <= _SAME_FACTOR_LOG).all())
    finished = moved[i] > 0 and rates[i] <= _CYCLE_END_SHARE * np.nanmax(rates[: i + 1])
    return bool(cut or finished) or jumps_again(rates, i)


def jumps_again(rates: Floats, i: int) -> bool:
    """Whether the rate jumps elsewhere too by the factor after sample ``i``, or up to the same rate."""
    level = np.log(rates)
    moved = np.diff(level)
    again = np.abs(moved - moved[i]) <= _SAME_FACTOR_LOG
    if moved[i] > 0:
        from_rest = np.r_[np.inf, moved[:-1]] <= _SAME_FACTOR_LOG
        as_high = np.abs(level[1:] - level[i + 1]) <= _SAME_FACTOR_LOG
        again |= from_rest & as_high & (moved > moved[i] / 4)
    return bool(abs(moved[i]) > _LEAST_JUMP_LOG and np.count_nonzero(again) > 1)


def _changed_quantities(pair: Pair) -> Iterator[model.Change]:
    """Changes of scheduled quantities and of counters of data, compared at equal steps."""
    for role, (quantity, unit) in _QUANTITIES.items():
        for old, new in relation.pairs_of_role(pair.before.attempt, pair.after.attempt, role):
            was, now, step, logged = _values_at_join(old, new)
            if was is None or was == now:
                continue
            if role in COUNTERS:
                strides = [np.diff(finite_of(s.values)) for s in (old, new)]
                if any((d < 0).any() or not len(d) for d in strides):
                    continue  # what falls is no counter
                # One logged point may be missing. A counter of whole epochs keeps its value for many points.
                least = max(relation.finite_median(d[d > 0] if (d > 0).any() else d) for d in strides)
            else:
                least = (_CHANGE_AT_EQUAL_STEP if logged else _CHANGE_EXTRAPOLATED) * max(abs(was), abs(now))
                least = max(least, bend_allowance(old, step))
            if abs(was - now) > least:
                yield model.Change(quantity, was, now, new.unit or unit, step)


def _changed_facts(old: model.Facts, new: model.Facts) -> Iterator[model.Change]:
    """Facts of which both state another value, and hyperparameters that only one configuration has."""
    configured = all(any(name.startswith("config/") for name in facts) for facts in (old, new))
    names = [name for name in {**old, **new} if name not in _OF_EACH_PROCESS]
    for name in sorted(names, key=lambda n: "/" in n):
        if (name in old and name in new) or (configured and name.startswith("config/")):
            values = (old.get(name), new.get(name))
            was, now = (v if isinstance(v, int | float | None) else str(v)[:_LONGEST_FACT] for v in values)
            if not _equal(was, now):
                # A number of nodes has a unit; the names of nodes have none.
                unit = None if isinstance(was, str) or isinstance(now, str) else _UNITS.get(name)
                yield model.Change(name if "/" in name else name.replace("_", " "), was, now, unit)


def _values_at_join(old: Series, new: Series) -> tuple[float | None, float, int, bool]:
    """The old value, the new value, their step, and whether both logged it: the first common step, else the
    first step of the new series."""
    a, b = at_common_steps(old, new)
    if len(common := np.flatnonzero(both_finite(a, b))):
        k = common[0]
        return float(a.values[k]), float(b.values[k]), int(b.steps[k]), True
    if len(known := np.flatnonzero(np.isfinite(new.values))):
        k = known[0]
        return expected_at(old, int(new.steps[k])), float(new.values[k]), int(new.steps[k]), False
    return None, math.nan, 0, False


def _equal(a: Any, b: Any) -> bool:
    """Whether two facts are equal, also where one is a text that spells a number: "1e-4" and 0.0001."""
    if str(a) == str(b):
        return True
    try:
        return not isinstance(a, bool) and not isinstance(b, bool) and float(a) == float(b)
    except (TypeError, ValueError):
        return False


def separate_training(pair: Pair, because: str) -> StepBack:
    """A step back that begins a separate training; ``because`` is a key of `trainings.APART_REASONS`."""
    before, after = pair.before, pair.after
    evidence: dict[str, Any] = {"because": because, "ends_apart_steps": abs(before.last - after.last)}
    if np.isfinite(shared_s := relation.together_s(before, after)):
        evidence["together_s"] = max(float(shared_s), 0.0)
    if (same_process := pair.same_writer()) is not None:
        evidence["same_process"] = same_process
    if pair.compared:
        a, b = at_common_steps(*pair.compared)
        ok = both_finite(a, b) & ((a.values != 0) | (b.values != 0))
        x, y = a.values[ok], b.values[ok]
        off = np.abs(x - y) / np.maximum(np.abs(x), np.abs(y))
        if len(off):
            evidence |= {"common_samples": len(off), "values_apart_share": relation.finite_median(off)}
    return StepBack("seeds", (before.name, after.name), 1, evidence)


class Piece(NamedTuple):
    """The steps of an attempt from ``first`` up to, but without, ``bound`` (None: to its end)."""

    course: Course
    first: int
    bound: int | None

    def __bool__(self) -> bool:
        return self.first <= self.course.last and (self.bound is None or self.bound > self.first)


def costs(pieces: Iterable[Piece]) -> dict[str, float]:
    """Wall clock [s], tokens and samples of discarded pieces, as far as every piece logged them."""
    pieces = [piece for piece in pieces if piece]
    totals: dict[str, float] = {}
    for name, role in COSTS.items():
        used = [_used_by_piece(piece, role) for piece in pieces]
        logged = [amount for amount in used if amount is not None]
        if logged and len(logged) == len(used) and np.isfinite(sum(logged)):
            totals[name] = sum(logged)
    return totals


def _used_by_piece(piece: Piece, role: Role | None) -> float | None:
    """By how much the wall clock or a counter grew since the last reading before the piece, else since its
    first reading; None where it was not logged."""
    if not (counters := [piece.course.clock] if role is None else piece.course.attempt.by_role(role)):
        return None
    series = max(counters, key=len)
    reading = series.times if role is None else series.values
    ok = np.isfinite(reading)
    steps, reading = series.steps[ok], reading[ok]
    if role is not None and (np.diff(reading) < 0).any():
        return None  # what falls is no counter
    a = int(np.searchsorted(steps, piece.first))
    b = len(steps) if piece.bound is None else int(np.searchsorted(steps, piece.bound))
    return float(reading[b - 1] - reading[max(a - 1, 0)]) if a < b else None


LOGGED_ENDINGS = ("finished", "crashed", "killed", "aborted")  # values of the fact "ended"
ENDED_BADLY = ("crashed", "killed", "aborted", "in NaN")
MACHINE_LOG = "machine-log"  # the format of logs that hold faults and no curves
_BEFORE_END_S = 60.0  # a fault may precede the last record by this: clocks differ, records are written late
# Kinds of faults that end a process, and the words for it; of several kinds the first one is given.
_ENDS = {
    "preemption": "preempted", "time-limit": "time limit", "node": "node failure",
    "loss-scale": "loss scale gave up", "out-of-memory": "out of memory", "xid": "GPU failed",
    "gpu": "GPU failed", "pcie": "GPU failed",
    "ecc": "memory error", "disk": "no storage", "cuda": "CUDA error", "nccl": "NCCL error",
    "cancelled": "cancelled", "exception": "crashed", "signal": "killed", "exit": "crashed",
}  # fmt: skip
_BY_ORDER = {"preempted", "time limit", "cancelled", "killed"}  # people or schedulers ended it: no fault
STOPS = {kind for kind, word in _ENDS.items() if word in _BY_ORDER - {"killed"}}  # a signal may be a crash
FAULTS = {"crashed", "aborted", *_ENDS.values()} - _BY_ORDER
_CRASH_SIGNALS = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")  # errors of the process itself
AROUND_S = 3600.0  # a host's log spans months: only faults this close to the run's time may belong to the run
_VERBS = {JoinKind.RESUME: "resumed", JoinKind.ROLLBACK: "rolled back", JoinKind.RELAUNCH: "started again"}


class Ending(NamedTuple):
    """How an attempt ended, and what followed. ``how`` is one of `LOGGED_ENDINGS`, "in NaN", the fault that
    ended it ("node failure"), "cut off" where its last record is incomplete, or "". ``then`` is "resumed",
    "rolled back" or "started again" (by ``join``), "given up" (a later attempt continued an earlier one),
    "latest", "evaluation", "apart" (a training without joins beside others), or "empty" (nothing was
    logged)."""

    attempt: int
    how: str
    then: str
    join: Join | None = None


def endings(timeline: Timeline) -> tuple[Ending, ...]:
    """The endings of all attempts, in their order."""
    next_join = {join.before: join for join in timeline.joins}  # if there are several, the latest
    joined = {join.after for join in timeline.joins}
    with_live_points: set[int] = set()
    for track in distinct_in(timeline):
        with_live_points.update(np.flatnonzero(np.bincount(track.attempt[track.live])).tolist())
    evaluations = names_of_evaluations(timeline)
    alone = "apart" if len(timeline.attempts) > len(evaluations) + 1 else "latest"

    def then(k: int, attempt: Attempt) -> str:
        if clock(attempt) is None:
            return "empty"
        if k in next_join:
            return _VERBS[next_join[k].kind]
        if k not in joined:
            return "evaluation" if attempt.name in evaluations else alone
        return "latest" if k in with_live_points else "given up"

    ends = enumerate(zip(timeline.attempts, ended_by(timeline), strict=True))
    return tuple(Ending(k, how_ended(a, fault), then(k, a), next_join.get(k)) for k, (a, fault) in ends)


def names_of_evaluations(timeline: Timeline) -> set[str]:
    """Names of the attempts that evaluate another one and train nothing."""
    return {b.attempts[-1] for b in timeline.step_backs if b.evidence.get("because") == "evaluation"}


def last_ending(timeline: Timeline) -> Ending | None:
    """How the run ended: the ending of its latest attempt; None where nothing was logged."""
    not_empty = [ending for ending in endings(timeline) if ending.then != "empty"]
    latest = [ending for ending in not_empty if ending.then == "latest"] or not_empty
    return latest[-1] if latest else None


def how_ended(attempt: Attempt, fault: str = "") -> str:
    """How a process ended: by its log, else a last loss of NaN, ``fault``, or a cut off record; else ""."""
    if (stated := attempt.facts.get("ended")) in LOGGED_ENDINGS:
        return str(stated)
    if (ticks := clock(attempt)) is not None and not np.isfinite(ticks.values[-1]):
        return "in NaN"
    return fault or ("cut off" if attempt.truncated else "")


def without_machines(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """The attempts, and the machine logs among them. The facts of a job's machine log are added to the
    attempt that ran at its time. Where there are only machine logs, they are returned as the attempts."""
    machines = [log for log in attempts if not log.series and log.facts.get("format") == MACHINE_LOG]
    if not (trained := [log for log in attempts if log not in machines]) or not machines:
        return list(attempts), []
    spans = [wall_clock(log) for log in trained]
    known = [k for k, (first, _) in enumerate(spans) if math.isfinite(first)]
    for machine in filter(_of_job, machines):
        moments = [fault.at_time for fault in machine.faults if math.isfinite(fault.at_time)]
        facts = {name: value for name, value in machine.facts.items() if name in ("nodes", "job")}
        if len(trained) > 1 and not (known and moments):
            continue  # it may belong to any attempt
        last = max(moments, default=0.0)  # it belongs to the attempt that ran then, or next to that time
        at = min(known, key=lambda k: max(spans[k][0] - last, last - spans[k][1], 0.0), default=0)
        trained[at] = replace(trained[at], facts={**facts, **trained[at].facts})
    return trained, machines


def faults_in_order(logs: Iterable[Attempt], series: Mapping[str, Track]) -> tuple[Fault, ...]:
    """All faults except those of reading, in order. A fault without a step gets the last step that was logged
    before its time. Of a host's log, faults more than an hour before or after the run are left out."""
    times, steps = np.empty(0), np.empty(0, np.int64)
    longest = max(one_of_each(series.values()), key=lambda t: np.isfinite(t.times).sum(), default=None)
    if longest is not None:
        known = np.flatnonzero(np.isfinite(longest.times))
        order = known[np.argsort(longest.times[known], kind="stable")]
        times, steps = longest.times[order], longest.steps[order]
    first, last = (times[0], times[-1]) if len(times) else (math.nan, math.nan)
    faults: dict[Fault, None] = {}
    for log in logs:
        for fault in log.faults:
            if not has_year(fault.at_time):  # the year that brings it nearest to the end of the run
                fault = replace(fault, at_time=in_year_of(fault.at_time, last))
            # Both comparisons are false where a time is NaN: an unknown time is not outside.
            outside = fault.at_time < first - AROUND_S or fault.at_time > last + AROUND_S
            row = int(np.searchsorted(times, fault.at_time, side="right")) - 1
            if fault.at_step is None and math.isfinite(fault.at_time) and row >= 0:
                fault = replace(fault, at_step=int(steps[row]))
            if fault.kind != "read" and (_of_job(log) or not outside):
                faults[fault] = None
    return tuple(sorted(faults, key=_sort_key))


def ended_by(timeline: Timeline) -> list[str]:
    """The fault that ended each attempt, such as "node failure", else "". Faults count from a minute before
    the attempt's last record up to the first record of the next attempt; without times, those that its own
    log has after its last step, if there is one for each that ended there."""
    if not timeline.faults:
        return [""] * len(timeline.attempts)
    spans = [wall_clock(attempt) for attempt in timeline.attempts]
    starts = np.sort([first for first, _ in spans])  # unknown starts are NaN and come last
    ends = (step_ends(distinct_in(attempt)) or (0, -1) for attempt in timeline.attempts)
    places = [(attempt.sources, last) for attempt, (_, last) in zip(timeline.attempts, ends, strict=True)]
    words = []
    for (sources, last_step), (_, ended) in zip(places, spans, strict=True):
        if math.isnan(ended):
            own = (fault for fault in timeline.faults if fault.place.source.startswith(sources))
            around = [fault for fault in own if fault.at_step == last_step]
            if sum(fault.count for fault in around) < places.count((sources, last_step)):
                around = []  # it may have ended any of them
        else:
            until = min(starts[starts > ended], default=math.inf)
            around = [fault for fault in timeline.faults if ended - _BEFORE_END_S <= fault.at_time <= until]
        words.append(_word_of_end(around))
    return words


def _word_of_end(faults: Iterable[Fault]) -> str:
    """The first of the `_ENDS` that one of these faults, logged around the end of an attempt, stands for; ""
    for none."""

    def kind(fault: Fault) -> str:
        is_crash = fault.kind == "signal" and any(signal in fault.what for signal in _CRASH_SIGNALS)
        return "exit" if is_crash else fault.kind

    kinds = set(map(kind, faults))
    return next((word for kind_of_end, word in _ENDS.items() if kind_of_end in kinds), "")


def _of_job(machine: Attempt) -> bool:
    return machine.facts.get("log_of") != "host"


def _sort_key(fault: Fault) -> tuple[bool, float, float, str, int, str]:
    step = math.inf if fault.at_step is None else float(fault.at_step)
    timeless = not math.isfinite(fault.at_time)
    place = fault.place
    return timeless, step if timeless else fault.at_time, step, place.source, place.line or 0, fault.what
