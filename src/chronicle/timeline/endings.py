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
