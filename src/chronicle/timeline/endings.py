"""What became of each attempt, as far as logs tell, and the faults beside the curves that may have ended it.

Of the faults: which are of this run, when they happened, and at which step the run was then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chronicle.metrics.counters import has_year, in_year_of
from chronicle.model import Attempt, Fault, Floats, Join, JoinKind, Steps, Timeline, Track
from chronicle.timeline.courses import clock, wall_clock

HOWS = ("finished", "crashed", "killed", "aborted")  # what logs say of an end, see facts["ended"]
DIED = ("crashed", "killed", "aborted", "in NaN")
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
_ASKED = {"preempted", "time limit", "cancelled", "killed"}  # by a person or a scheduler: no fault of the run
FAULTS = {"crashed", "aborted", *_ENDS.values()} - _ASKED
_CRASH = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")  # which a process brings upon itself
AROUND_S = 3600.0  # a host's log lasts for months: what it says this long before or after a run may be of it
_THEN = {JoinKind.RESUME: "resumed", JoinKind.ROLLBACK: "rolled back", JoinKind.RELAUNCH: "started again"}


@dataclass(frozen=True)
class Ending:
    """The end of an attempt.

    ``how``: one of `HOWS`, "in NaN" where its last loss is not finite, the fault that ended it ("node
    failure"), "cut off" where its last record is cut, "" where nothing tells. ``then``: "resumed",
    "rolled back", "started again" (``join`` is the join that did it), "given up" (a later attempt went on
    from an earlier one), "latest" of its training, "evaluation", "apart" (a training of its own, without
    joins), or "empty".
    """

    attempt: int
    how: str
    then: str
    join: Join | None = None


def endings(timeline: Timeline) -> tuple[Ending, ...]:
    """One for each attempt, in their order."""
    after = {join.before: join for join in timeline.joins}  # of several the latest
    joined = {join.after for join in timeline.joins}
    alive = {
        k
        for track in timeline.series.values()
        for k in np.flatnonzero(np.bincount(track.attempt[track.live])).tolist()
    }
    judged = {b.attempts[-1] for b in timeline.step_backs if b.evidence.get("because") == "evaluation"}
    alone = "apart" if len(timeline.attempts) > len(judged) + 1 else "latest"

    def then(k: int, attempt: Attempt) -> str:
        if clock(attempt) is None:
            return "empty"
        if k in after:
            return _THEN[after[k].kind]
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
    if stated in HOWS:
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


def happened(logs: Iterable[Attempt], series: Mapping[str, Track]) -> tuple[Fault, ...]:
    """All faults but those of reading, in the order they happened.

    A fault without a step stands at the last step that was logged before its time. Of the log of a host only
    what it says from an hour before the run to an hour after it is taken, where both have times.
    """
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


def _placed(fault: Fault, clock: Floats, steps: Steps) -> Fault:
    if fault.at_step is not None or not math.isfinite(fault.at_time) or not len(clock):
        return fault
    row = int(np.searchsorted(clock, fault.at_time, side="right")) - 1
    return replace(fault, at_step=int(steps[row])) if row >= 0 else fault


def _order(fault: Fault) -> tuple[bool, float, float, str, int, str]:
    """By time, and by step where there is no time; then as in the log."""
    step = math.inf if fault.at_step is None else float(fault.at_step)
    timeless = not math.isfinite(fault.at_time)
    place = fault.place
    return timeless, step if timeless else fault.at_time, step, place.source, place.line or 0, fault.what


def _clock(tracks: Iterable[Track]) -> tuple[Floats, Steps]:
    """Times and steps of all points of the longest track that has times, in the order of the time."""
    longest = max(tracks, key=lambda track: np.isfinite(track.times).sum(), default=None)
    if longest is None:
        return np.empty(0), np.empty(0, np.int64)
    known = np.isfinite(longest.times)
    order = np.argsort(longest.times[known], kind="stable")
    return longest.times[known][order], longest.steps[known][order]
