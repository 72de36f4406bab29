"""What a join carries: what the logs say on both sides of it, what changed there, and what it cost; and what
tells two trainings beside each other apart. Series are compared at the first steps that both logged; without
one, as in a plain resume, the earlier one is extended along its last samples to where the later one begins.

And what became of each attempt, with the faults beside the curves that may have ended it: which are of this
run, when they happened, and at which step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from chronicle import model
from chronicle.metrics.aliases import has_year, in_year_of
from chronicle.model import Attempt, Fault, Join, JoinKind, Role, Series, StepBack, Steps, Timeline, Track
from chronicle.timeline import relation
from chronicle.timeline.courses import Course, clock, distinct_in, one_of_each, wall_clock
from chronicle.timeline.relation import (
    COUNTERS,
    Pair,
    Relation,
    at_common_steps,
    both_finite,
    levels_at_seam,
    median,
    pairs_of_role,
)

# What overtaken pieces cost, by the role of the series that counts it; None is the wall clock.
COSTS = {"discarded_s": None, "discarded_tokens": Role.TOKENS, "discarded_samples": Role.SAMPLES}
KINDS = {
    Relation.CONTINUES: JoinKind.RESUME,
    Relation.OVERTAKES: JoinKind.ROLLBACK,
    Relation.ANEW: JoinKind.RELAUNCH,
}
_TREND_SAMPLES = 6  # so many last samples extend a series beyond its end
_EQUAL_STEP, _EXTENDED = 0.01, 0.05  # relative difference that counts: logged at one step, or extended to it
_MOST_FACTS, _LONGEST = 100, 200  # changed facts of a join, and characters of one: the rest is in the logs
_QUANTITIES = {  # what is compared, and its unit where nobody declared one
    Role.LEARNING_RATE: ("learning rate", None),
    Role.BATCH_SIZE: ("batch size", None),
    Role.SAMPLES: ("samples read", "samples"),
    Role.TOKENS: ("tokens read", "tokens"),
    Role.EPOCH: ("epochs read", "epochs"),
}
_EVERY_PROCESS_DIFFERS = frozenset(
    {"run", "pid", "started_at", "exit_code", "ended", "format", "summary", "step_counter"}
)
_UNITS = {"world_size": "processes", "nodes": "nodes", "gpu_count": "accelerators"}


def join_of(two: Pair, discarded: int, lost: Mapping[str, float]) -> Join:
    """The join of two attempts; ``lost`` is what it cost beside the discarded steps, see `costs`."""
    before, after = two.before, two.after
    gap_s = after.started - before.ended
    facts = islice(_facts(before.attempt.facts, after.attempt.facts), _MOST_FACTS)
    return Join(
        kind=KINDS[two.course],
        before=before.index,
        after=after.index,
        from_step=before.last,
        to_step=after.first,
        discarded_steps=discarded,
        gap_s=None if math.isnan(gap_s) else gap_s,
        at_time=None if math.isnan(after.started) else after.started,
        evidence={**_evidence(two), **lost},
        changes=(*_measured(two), *facts),
    )


def _evidence(two: Pair) -> dict[str, Any]:
    """Loss and learning rate on both sides of the seam, at equal steps where there are any
    (``common_samples``; 0: the last samples against the first), in the unit of ``metric``; and whether
    process, host, run and seed are the same, where both logs name them."""
    says: dict[str, Any] = {}
    if two.compared and two.seam:
        says["metric"] = two.compared[1].metric
        says["loss_before"], says["loss_after"], says["common_samples"] = two.seam
    both = (two.before.attempt, two.after.attempt)
    if both[0].sources != both[1].sources:
        says["same_process"], says["same_host"] = two.same_writer(), two.same_writer(host_only=True)
        says |= {f"same_{name}": two.state(name) for name in ("run", "seed")}
    rates = [attempt.by_role(Role.LEARNING_RATE) for attempt in both]
    if lr := levels_at_seam(rates[0][0], rates[1][0]) if all(rates) else None:
        says |= {"lr_before": lr[0], "lr_after": lr[1], "lr_ratio": lr[1] / lr[0] if lr[0] else None}
    return {name: value for name, value in says.items() if value is not None}


def value_at(old: Series, step: float) -> float | None:
    """A series at a step: on the line between its samples, or that of its last ones; None without samples."""
    ok = np.isfinite(old.values)
    steps, values = old.steps[ok].astype(float), old.values[ok]
    if not len(values):
        return None
    if step <= steps[-1] or len(values) < 4:
        return float(np.interp(step, steps, values))
    x, y = steps[-_TREND_SAMPLES:] - steps[-1], values[-_TREND_SAMPLES:]
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * y).sum()) / spread if spread else 0.0
    return float(y.mean() + slope * (step - steps[-1] - x.mean()))


def _measured(two: Pair) -> Iterator[model.Change]:
    """What is planned, and counters of data, which go on where the earlier attempt was at this step."""
    for role, (quantity, unit) in _QUANTITIES.items():
        for old, new in pairs_of_role(two.before.attempt, two.after.attempt, role):
            was, now, step, logged = _values_at_join(old, new)
            if was is None or was == now:
                continue
            if role in COUNTERS:
                strides = [np.diff(s.values[np.isfinite(s.values)]) for s in (old, new)]
                if any((d < 0).any() or not len(d) for d in strides):
                    continue  # it is no counter
                # Whole epochs stay for many points. One logged point may be missing.
                least = max(median(d[d > 0] if (d > 0).any() else d) for d in strides)
            else:
                least = (_EQUAL_STEP if logged else _EXTENDED) * max(abs(was), abs(now))
            if abs(was - now) > least:
                yield model.Change(quantity, was, now, new.unit or unit, step)


def _facts(old: model.Facts, new: model.Facts) -> Iterator[model.Change]:
    """Facts that both state and that differ, and hyperparameters that only one of two configurations has."""
    configured = all(any(name.startswith("config/") for name in facts) for facts in (old, new))
    names = [name for name in {**old, **new} if name not in _EVERY_PROCESS_DIFFERS]
    for name in sorted(names, key=lambda n: "/" in n):
        if (name in old and name in new) or (configured and name.startswith("config/")):
            was, now = map(_plain, (old.get(name), new.get(name)))
            if not _equal(was, now):
                # A name of a host has no unit, though a number of nodes has one.
                unit = None if isinstance(was, str) or isinstance(now, str) else _UNITS.get(name)
                yield model.Change(name if "/" in name else name.replace("_", " "), was, now, unit)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else str(value)[:_LONGEST]


def _values_at_join(old: Series, new: Series) -> tuple[float | None, float, int, bool]:
    """Both values at the first common step (``logged`` true), else at the later one's first step."""
    a, b = at_common_steps(old, new)
    for k in np.flatnonzero(both_finite(a, b))[:1]:
        return float(a.values[k]), float(b.values[k]), int(b.steps[k]), True
    finite = np.flatnonzero(np.isfinite(new.values))
    if not len(finite):
        return None, math.nan, 0, False
    step, now = int(new.steps[finite[0]]), float(new.values[finite[0]])
    return value_at(old, step), now, step, False


def _equal(a: Any, b: Any) -> bool:
    """``1e-4`` as text and 0.0001 as a number are one value."""
    if str(a) == str(b):
        return True
    try:
        return not isinstance(a, bool) and not isinstance(b, bool) and float(a) == float(b)
    except (TypeError, ValueError):
        return False


def training_beside(two: Pair, because: str) -> StepBack:
    """Two trainings over the same steps, and why they are two: a key of `trainings.APART_REASONS`."""
    before, after = two.before, two.after
    evidence: dict[str, Any] = {"because": because, "ends_apart_steps": abs(before.last - after.last)}
    if np.isfinite(shared_s := relation.together_s(before, after)):
        evidence["together_s"] = max(float(shared_s), 0.0)
    if (same_process := two.same_writer()) is not None:
        evidence["same_process"] = same_process
    if two.compared:
        a, b = at_common_steps(*two.compared)
        ok = both_finite(a, b) & ((a.values != 0) | (b.values != 0))
        x, y = a.values[ok], b.values[ok]
        off = np.abs(x - y) / np.maximum(np.abs(x), np.abs(y))
        if len(off):
            evidence |= {"common_samples": len(off), "values_apart_share": median(off)}
    return StepBack("seeds", (before.name, after.name), 1, evidence)


@dataclass(frozen=True)
class Piece:
    """The steps of an attempt from ``first`` on, and below ``bound`` (None: to its end)."""

    course: Course
    first: int
    bound: int | None

    def __bool__(self) -> bool:
        return self.first <= self.course.last and (self.bound is None or self.bound > self.first)


def costs(pieces: Iterable[Piece]) -> dict[str, float]:
    """Wall clock [s], tokens and samples of overtaken pieces; a key is there where every piece logged it."""
    pieces = [piece for piece in pieces if piece]
    totals: dict[str, float] = {}
    for name, role in COSTS.items():
        used = [_used_by_piece(piece, role) for piece in pieces]
        logged = [amount for amount in used if amount is not None]
        if logged and len(logged) == len(used) and np.isfinite(sum(logged)):
            totals[name] = sum(logged)
    return totals


def _used_by_piece(piece: Piece, role: Role | None) -> float | None:
    """How far the wall clock or a counter went on, from the last reading before the piece, else its first."""
    series, reading = piece.course.clock, piece.course.clock.times
    if role is not None:
        counters = piece.course.attempt.by_role(role)
        if not counters:
            return None
        series = max(counters, key=len)
        reading = series.values
    ok = np.isfinite(reading)
    steps, reading = series.steps[ok], reading[ok]
    if role is not None and (np.diff(reading) < 0).any():
        return None  # it is no counter
    a = int(np.searchsorted(steps, piece.first))
    b = len(steps) if piece.bound is None else int(np.searchsorted(steps, piece.bound))
    return float(reading[b - 1] - reading[max(a - 1, 0)]) if a < b else None


LOGGED_ENDINGS = ("finished", "crashed", "killed", "aborted")  # what logs say of an end, see facts["ended"]
ENDED_BADLY = ("crashed", "killed", "aborted", "in NaN")
MACHINE_LOG = "machine-log"  # the format of a log without curves
_BEFORE_END_S = 60.0  # clocks of hosts differ, and a record may be written late
# What ends a process, the most telling first.
_ENDS = {
    "preemption": "preempted", "time-limit": "time limit", "node": "node failure",
    "loss-scale": "loss scale gave up", "out-of-memory": "out of memory", "xid": "GPU failed",
    "gpu": "GPU failed", "pcie": "GPU failed",
    "ecc": "memory error", "disk": "no storage", "cuda": "CUDA error", "nccl": "NCCL error",
    "cancelled": "cancelled", "exception": "crashed", "signal": "killed", "exit": "crashed",
}  # fmt: skip
_BY_ORDER = {"preempted", "time limit", "cancelled", "killed"}  # of people or schedulers: no fault of a run
FAULTS = {"crashed", "aborted", *_ENDS.values()} - _BY_ORDER
_CRASH = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")  # which a process brings upon itself
AROUND_S = 3600.0  # a host's log lasts for months: what it says this long before or after a run may be of it
_VERBS = {JoinKind.RESUME: "resumed", JoinKind.ROLLBACK: "rolled back", JoinKind.RELAUNCH: "started again"}


@dataclass(frozen=True)
class Ending:
    """The end of an attempt. ``how``: a word of `LOGGED_ENDINGS`, "in NaN", the fault that ended it ("node
    failure"), "cut off" where its last record is cut, or "". ``then``: "resumed", "rolled back" or "started
    again" by ``join``, "given up" (a later attempt went on from an earlier one), "latest", "evaluation",
    "apart" (no joins), or "empty"."""

    attempt: int
    how: str
    then: str
    join: Join | None = None


def endings(timeline: Timeline) -> tuple[Ending, ...]:
    """One for each attempt, in their order."""
    after = {join.before: join for join in timeline.joins}  # of several the latest
    joined = {join.after for join in timeline.joins}
    tracks = distinct_in(timeline)
    alive = set().union(*(np.flatnonzero(np.bincount(t.attempt[t.live])).tolist() for t in tracks))
    judged = {b.attempts[-1] for b in timeline.step_backs if b.evidence.get("because") == "evaluation"}
    alone = "apart" if len(timeline.attempts) > len(judged) + 1 else "latest"

    def then(k: int, attempt: Attempt) -> str:
        if clock(attempt) is None:
            return "empty"
        if k in after:
            return _VERBS[after[k].kind]
        if k not in joined:
            return "evaluation" if attempt.name in judged else alone
        return "latest" if k in alive else "given up"

    return tuple(
        Ending(k, how_ended(attempt, fault), then(k, attempt), after.get(k))
        for k, (attempt, fault) in enumerate(zip(timeline.attempts, ended_by(timeline), strict=True))
    )


def last_ending(timeline: Timeline) -> Ending | None:
    """How the run ended: the end of the attempt that is its latest; None where nothing was logged."""
    not_empty = [ending for ending in endings(timeline) if ending.then != "empty"]
    latest = [ending for ending in not_empty if ending.then == "latest"] or not_empty
    return latest[-1] if latest else None


def how_ended(attempt: Attempt, fault: str = "") -> str:
    """How the process ended, by its facts, its last loss, a fault beside it or its last record."""
    stated = attempt.facts.get("ended")
    ticks = clock(attempt)
    if stated in LOGGED_ENDINGS:
        return str(stated)
    if ticks is not None and not np.isfinite(ticks.values[-1]):
        return "in NaN"
    return fault or ("cut off" if attempt.truncated else "")


def without_machines(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """Attempts, and the machine logs beside them, whose facts go to the attempts that ran at the time.

    Where there is nothing but machine logs they are attempts themselves.
    """
    machines = [log for log in attempts if not log.series and log.facts.get("format") == MACHINE_LOG]
    trained = [log for log in attempts if log not in machines]
    if not trained or not machines:
        return list(attempts), []
    spans = [wall_clock(log) for log in trained]
    known = [k for k, (first, _) in enumerate(spans) if math.isfinite(first)]
    for machine in filter(_of_job, machines):
        moments = [fault.at_time for fault in machine.faults if math.isfinite(fault.at_time)]
        facts = {name: value for name, value in machine.facts.items() if name in ("nodes", "job")}
        if len(trained) == 1:
            at = 0
        elif known and moments:  # the one that ran then, or nearest to it
            last = max(moments)
            at = min(known, key=lambda k: max(spans[k][0] - last, last - spans[k][1], 0.0))
        else:
            continue  # any of them may be meant
        trained[at] = replace(trained[at], facts={**facts, **trained[at].facts})
    return trained, machines


def faults_in_order(logs: Iterable[Attempt], series: Mapping[str, Track]) -> tuple[Fault, ...]:
    """All faults but those of reading, in order; one without a step stands at the last step logged before its
    time. Of a host's log only what it says within an hour of the run is taken, where both have times."""
    clock, steps = _clock(series.values())
    first, last = (clock[0], clock[-1]) if len(clock) else (math.nan, math.nan)
    faults: dict[Fault, None] = {}
    for log in logs:
        for fault in log.faults:
            if not has_year(fault.at_time):  # it is the year that brings it next to the end
                fault = replace(fault, at_time=in_year_of(fault.at_time, last))
            outside = fault.at_time < first - AROUND_S or fault.at_time > last + AROUND_S  # not if not known
            if fault.kind != "read" and (_of_job(log) or not outside):
                faults[_placed(fault, clock, steps)] = None
    return tuple(sorted(faults, key=_order))


def ended_by(timeline: Timeline) -> list[str]:
    """What ended each attempt, by the faults around its last record: ``node failure``; "" if none tells.

    Those count that came in the minute before the record or later, up to the next attempt's first one;
    where there are no times, those that its log told after it. The most telling kind is given.
    """
    if not timeline.faults:
        return [""] * len(timeline.attempts)
    spans = [wall_clock(attempt) for attempt in timeline.attempts]
    starts = np.sort([first for first, _ in spans])  # those that are not known are the last
    words = []
    for attempt, (_, ended) in zip(timeline.attempts, spans, strict=True):
        if math.isnan(ended):
            last = max((int(s.steps[-1]) for s in attempt.series.values() if len(s)), default=None)
            own = [f for f in timeline.faults if f.place.source.startswith(attempt.sources)]
            kinds = {_kind(fault) for fault in own if fault.at_step == last}
        else:
            until = min(starts[starts > ended], default=math.inf)
            around = (fault for fault in timeline.faults if ended - _BEFORE_END_S <= fault.at_time <= until)
            kinds = {_kind(fault) for fault in around}
        words.append(next((word for kind, word in _ENDS.items() if kind in kinds), ""))
    return words


def _kind(fault: Fault) -> str:
    crash = fault.kind == "signal" and any(signal in fault.what for signal in _CRASH)
    return "exit" if crash else fault.kind


def _of_job(machine: Attempt) -> bool:
    return machine.facts.get("log_of") != "host"


def _placed(fault: Fault, clock: model.Floats, steps: Steps) -> Fault:
    if fault.at_step is not None or not math.isfinite(fault.at_time) or not len(clock):
        return fault
    row = int(np.searchsorted(clock, fault.at_time, side="right")) - 1
    return replace(fault, at_step=int(steps[row])) if row >= 0 else fault


def _order(fault: Fault) -> tuple[bool, float, float, str, int, str]:
    step = math.inf if fault.at_step is None else float(fault.at_step)
    timeless = not math.isfinite(fault.at_time)
    place = fault.place
    return timeless, step if timeless else fault.at_time, step, place.source, place.line or 0, fault.what


def _clock(tracks: Collection[Track]) -> tuple[model.Floats, Steps]:
    """Times and steps of all points of the longest track that has times, in the order of the time."""
    longest = max(one_of_each(tracks), key=lambda track: np.isfinite(track.times).sum(), default=None)
    if longest is None:
        return np.empty(0), np.empty(0, np.int64)
    known = np.isfinite(longest.times)
    order = np.argsort(longest.times[known], kind="stable")
    return longest.times[known][order], longest.steps[known][order]
