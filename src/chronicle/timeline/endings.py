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
    alive = {k for track in timeline.series.values() for k in np.unique(track.attempt[track.live]).tolist()}
    then = (  # what is said last holds
        dict.fromkeys(range(len(timeline.attempts)), "given up")
        | dict.fromkeys(alive, "latest")
        | _without_joins(timeline)
        | {k: _THEN[join.kind] for k, join in after.items()}
        | {k: "empty" for k, attempt in enumerate(timeline.attempts) if clock(attempt) is None}
    )
    return tuple(
        Ending(k, how_ended(attempt, fault), then[k], after.get(k))
        for k, (attempt, fault) in enumerate(zip(timeline.attempts, ended_by(timeline), strict=True))
    )


def _without_joins(timeline: Timeline) -> dict[int, str]:
    """What the attempts are that no join leads to."""
    judged = {b.attempts[-1] for b in timeline.step_backs if b.evidence.get("because") == "evaluation"}
    several = len(timeline.attempts) > len(judged) + 1
    joined = {join.after for join in timeline.joins}
    return {
        k: "evaluation" if attempt.name in judged else "apart" if several else "latest"
        for k, attempt in enumerate(timeline.attempts)
        if k not in joined
    }


def how_ended(attempt: Attempt, fault: str = "") -> str:
    """How the process ended, by its facts, its last loss, a fault beside it or its last record."""
    stated = attempt.facts.get("ended")
    ticks = clock(attempt)
    if stated in HOWS:
        return str(stated)
    if ticks is not None and not np.isfinite(ticks.values[-1]):
        return "in NaN"
    return fault or ("cut off" if attempt.truncated else "")


def beside(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """Attempts, and the machine logs beside them, whose facts go to the attempts that ran at the time.

    Where there is nothing but machine logs they are attempts themselves.
    """
    machines = [one for one in attempts if not one.series and one.facts.get("format") == MACHINE_LOG]
    trained = [one for one in attempts if one not in machines]
    if not trained or not machines:
        return list(attempts), []
    spans = [wall_clock(one) for one in trained]
    for machine in machines:
        moments = [fault.at_time for fault in machine.faults if math.isfinite(fault.at_time)]
        at = _nearest(spans, moments)
        if at is not None and _of_job(machine):
            facts = {name: value for name, value in machine.facts.items() if name in ("nodes", "job")}
            trained[at] = replace(trained[at], facts={**facts, **trained[at].facts})
    return trained, machines


def happened(
    attempts: Iterable[Attempt], machines: Iterable[Attempt], series: Mapping[str, Track]
) -> tuple[Fault, ...]:
    """All faults but those of reading, in the order they happened.

    A fault without a step stands at the last step that was logged before its time. Of the log of a host only
    what it says from an hour before the run to an hour after it is taken, where both have times.
    """
    clock, steps = _clock(series.values())
    first, last = (clock[0], clock[-1]) if len(clock) else (math.nan, math.nan)
    faults = [fault for one in attempts for fault in one.faults if fault.kind != "read"]
    near = [_dated(fault, last) for fault in faults]
    for machine in machines:
        dated = [_dated(fault, last) for fault in machine.faults if fault.kind != "read"]
        around = (first - AROUND_S, last + AROUND_S)
        # A time that is not known is not outside.
        near += [f for f in dated if _of_job(machine) or not (f.at_time < around[0] or f.at_time > around[1])]
    placed = [_placed(fault, clock, steps) for fault in near]
    return tuple(sorted(dict.fromkeys(placed), key=_order))


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
            kinds = {fault.kind for fault in own if fault.at_step == last}
        else:
            until = min(starts[starts > ended], default=math.inf)
            around = (fault for fault in timeline.faults if ended - _BEFORE_END_S <= fault.at_time <= until)
            kinds = {fault.kind for fault in around}
        words.append(next((word for kind, word in _ENDS.items() if kind in kinds), ""))
    return words


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


def _dated(fault: Fault, near: float) -> Fault:
    """The fault with its time in the year that brings it next to ``near``."""
    return fault if has_year(fault.at_time) else replace(fault, at_time=in_year_of(fault.at_time, near))


def _nearest(spans: Sequence[tuple[float, float]], moments: Sequence[float]) -> int | None:
    """Which of the spans the moments are in or nearest to; None where several may be meant."""
    if len(spans) == 1:
        return 0
    known = [i for i, (first, _) in enumerate(spans) if math.isfinite(first)]
    if not known or not moments:
        return None
    last = max(moments)
    return min(known, key=lambda i: max(spans[i][0] - last, last - spans[i][1], 0.0))
