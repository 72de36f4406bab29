"""What stitching makes of attempts, as types: joins and what changed at them, tracks, and the timeline.

The words of `chronicle.timeline`, between those of the readers (`chronicle.logged`) and those of a diagnosis
(`chronicle.model`, which gives them on: import them from there).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chronicle.logged import Attempt, Facts, Fault, Role, Series

if TYPE_CHECKING:
    import pandas as pd


class JoinKind(StrEnum):
    """How one attempt follows another."""

    RESUME = "resume"  # the step goes on
    ROLLBACK = "rollback"  # the step goes back: what was overtaken is dead
    RELAUNCH = "relaunch"  # the step goes back to the very start


@dataclass(frozen=True)
class Change:
    """One quantity that is not the same before and after a join.

    ``before`` and ``after`` are what both attempts say of it (None: that one says nothing), ``unit`` is None
    where nobody declared one, ``at_step`` is the step at which both were compared (None: facts of a process,
    which hold for the whole of it).
    """

    quantity: str
    before: Any
    after: Any
    unit: str | None = None
    at_step: int | None = None


@dataclass(frozen=True)
class Join:
    """Where attempt ``after`` (an index into Timeline.attempts) takes over from attempt ``before``.

    ``from_step`` is the last step of the earlier attempt, ``to_step`` the first of the later one;
    ``discarded_steps`` were trained and then overtaken; ``gap_s`` is the wall clock between the two
    (None where the log has no times); ``evidence`` says why these two were joined and what it cost, and
    ``changes`` what is not the same on both sides.
    """

    kind: JoinKind
    before: int
    after: int
    from_step: int
    to_step: int
    discarded_steps: int
    gap_s: float | None = None
    at_time: float | None = None
    evidence: Facts = field(default_factory=dict)
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, eq=False)
class Track(Series):
    """One metric over all attempts: the points of every attempt one after the other.

    ``attempt`` (int32[n]) is the index of the attempt a point comes from; ``live`` (bool[n]) is False
    for points that a later attempt overtook.
    """

    attempt: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    live: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(frozen=True)
class StepBack:
    """Where the step goes back or stays, and no restart is the cause; restarts are joins.

    ``cause``: "disorder" (rows out of order), "repeats" (a step logged again), or "seeds" (trainings of their
    own). ``attempts`` are the names concerned, ``count`` is rows, or 1 for two trainings; ``evidence`` says
    what speaks for it, by step, wall clock, process and values.
    """

    cause: str
    attempts: tuple[str, ...]
    count: int
    evidence: Facts = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Timeline:
    """One training from its first launch to its end: attempts in order, joins, stitched tracks.

    ``copies`` are attempts that hold the same values at the same steps as another one (one run logged
    in two formats); they are named here and judged once. ``doubts`` say in a sentence each what the
    stitching could not decide, and which key of run.toml decides it. ``faults`` are those beside the curves
    (every kind but "read"), dated and placed at a step where time or log tell it, in the order they happened.
    ``step_backs`` are the places where the step goes back or stays for another reason than a restart.
    """

    run_id: str
    attempts: tuple[Attempt, ...]
    joins: tuple[Join, ...]
    series: Mapping[str, Track]
    copies: tuple[Attempt, ...] = ()
    doubts: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    step_backs: tuple[StepBack, ...] = ()

    def by_role(self, role: Role) -> list[Track]:
        """All tracks of a role, in the order of the log."""
        return [s for s in self.series.values() if s.role is role]

    def frame(self) -> pd.DataFrame:
        """Long form, one row a point: metric, role, attempt, live, step, value, time (UTC)."""
        from chronicle.timeline import frame

        return frame(self)
