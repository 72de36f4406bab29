"""What became of each attempt: how its process ended, as far as logs tell, and what came after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chronicle.model import Attempt, Join, JoinKind, Timeline
from chronicle.timeline.clock import clock
from chronicle.timeline.faults import ended_by

HOWS = ("finished", "crashed", "killed", "aborted")  # what logs say of an end, see facts["ended"]
DIED = ("crashed", "killed", "aborted", "in NaN")
_THEN = {
    JoinKind.RESUME: "resumed",
    JoinKind.ROLLBACK: "rolled back",
    JoinKind.RELAUNCH: "started again",
}


@dataclass(frozen=True)
class Ending:
    """The end of an attempt.

    ``how``: one of `HOWS`, "in NaN" where its last loss is not finite, the fault that ended it ("node
    failure"), "cut off" where its last record is cut, "" where nothing tells. ``then``: "resumed",
    "rolled back", "started again" (``join`` is the join that did it), "given up" (a later attempt went on
    from an earlier one), "latest" of its training, "apart" (no join leads here or on), or "empty".
    """

    attempt: int
    how: str
    then: str
    join: Join | None = None


def endings(timeline: Timeline) -> tuple[Ending, ...]:
    """One for each attempt, in their order."""
    after = {join.before: join for join in timeline.joins}  # of several the latest
    joined = {join.after for join in timeline.joins}
    return tuple(
        Ending(
            k,
            how_ended(attempt, ended_by(timeline, k)),
            _then(timeline, k, after.get(k), k in joined),
            after.get(k),
        )
        for k, attempt in enumerate(timeline.attempts)
    )


def _then(timeline: Timeline, k: int, join: Join | None, joined: bool) -> str:
    if clock(timeline.attempts[k]) is None:
        return "empty"
    if join is not None:
        return _THEN[join.kind]
    if not joined:
        return "apart" if len(timeline.attempts) > 1 else "latest"
    return (
        "latest" if any((t.live & (t.attempt == k)).any() for t in timeline.series.values()) else "given up"
    )


def how_ended(attempt: Attempt, fault: str = "") -> str:
    """How the process ended, by its facts, its last loss, a fault beside it or its last record."""
    stated = attempt.facts.get("ended")
    ticks = clock(attempt)
    if stated in HOWS:
        return str(stated)
    if ticks is not None and not np.isfinite(ticks.values[-1]):
        return "in NaN"
    return fault or ("cut off" if attempt.truncated else "")
