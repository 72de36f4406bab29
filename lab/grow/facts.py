"""What is known of a grown training when it is labelled: its logs, its twin on the same steps, its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.faults import Fault, Kind
from lab.grow.logs import name_in
from lab.grow.measure import Floats, Shape, lift, noise, shape
from lab.grow.plan import Recipe

Row = dict[str, float]
Event = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """Faults of one kind that follow each other without a gap: one cause, from ``at`` to before ``end``."""

    kind: Kind
    at: int
    end: int
    amount: float
    source: str = ""
    even: bool = True  # of one amount throughout

    def lasts(self, steps: int) -> bool:
        """Whether it is still there at the end of a training of so many steps."""
        return self.end >= steps


def spans(faults: Sequence[Fault]) -> list[Span]:
    """The faults in order, those that touch joined."""
    found: list[Span] = []
    for f in sorted(faults, key=lambda f: (f.at, f.kind)):
        if found and found[-1].kind is f.kind and f.at <= found[-1].end:
            last = found[-1]
            even = last.even and f.amount == last.amount
            found[-1] = Span(f.kind, last.at, f.at + f.steps, f.amount, f.source, even)
        else:
            found.append(Span(f.kind, f.at, f.at + f.steps, f.amount, f.source))
    return found


@dataclass(frozen=True, eq=False)
class AttemptLog:
    """One log: its id as readers give it ("" where there is one alone), and its rows."""

    name: str
    rows: Sequence[Row]
    twin_rows: dict[int, Row]

    @cached_property
    def steps(self) -> Floats:
        return np.array([row["step"] for row in self.rows], float)

    def series(self, name: str) -> Floats:
        """A series on the logged steps; NaN where it was not logged."""
        return np.array([row.get(name, np.nan) for row in self.rows], float)

    def twin(self, name: str) -> Floats:
        """The same of the twin; NaN where there is none."""
        return np.array([self.twin_rows.get(int(s), {}).get(name, np.nan) for s in self.steps], float)

    @cached_property
    def up(self) -> Floats:
        """How far the loss is above that of the twin, log units."""
        return lift(self.series("loss"), self.twin("loss"))

    def where(self, name: str) -> tuple[Floats, Floats]:
        """Steps and values of a series where it was logged."""
        values = self.series(name)
        there = np.array([name in row for row in self.rows], bool)
        return self.steps[there], values[there]

    def index(self, step: float) -> int:
        """The first logged point at or after a step."""
        return int(np.searchsorted(self.steps, step))


@dataclass(eq=False)
class Case:
    """A training under judgement, and what was found so far."""

    recipe: Recipe
    logs: Sequence[AttemptLog]
    events: list[Event] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)

    @cached_property
    def spans(self) -> list[Span]:
        return spans(self.recipe.faults)

    @cached_property
    def noise(self) -> float:
        """Noise scale of the loss: that of the twin where there is one, else of the run."""
        log = self.logs[0]
        twin = log.twin("loss")
        return noise(twin if np.isfinite(twin).sum() > 16 else log.series("loss"))

    @property
    def gap(self) -> float:
        """Steps between two logged points."""
        return float(np.median(np.diff(self.logs[0].steps)))

    def shape(self, log: AttemptLog, at: float, until: float = np.inf, *, down: bool = False) -> Shape | None:
        """What the loss does from a step on, against the twin."""
        first, stop = log.index(at), log.index(until)
        return shape(-log.up if down else log.up, first, stop, self.noise) if first < stop else None

    def spelled(self, metric: str) -> str:
        """A metric as the log spells it."""
        return name_in(self.recipe.log.format, metric)

    def event(
        self,
        log: AttemptLog,
        pattern: str,
        at: float,
        *also: str,
        metric: str = "loss",
        sure: bool = True,
        **more: Any,
    ) -> None:
        """Adds an event of a metric ("": of none). One that is not sure need not be found; its tolerance is
        eight logged points unless said otherwise."""
        event = {"pattern": pattern, "also_ok": list(also), "series": metric and self.spelled(metric)}
        event |= {"start_step": float(at), "tolerance_steps": 8 * self.gap, "attempt": log.name, **more}
        event |= {} if sure else {"optional": True}
        self.events.append({k: v for k, v in event.items() if v not in (None, [], "")})

    def require(self, *names: str) -> None:
        """One of the names must be found."""
        entry = "|".join(names)
        if entry not in self.required:
            self.required.append(entry)


def step_of(log: AttemptLog, index: int | None) -> float | None:
    """The step of an index of a log."""
    return None if index is None else float(log.steps[index])


def finite(values: NDArray[Any]) -> Floats:
    """The finite values alone."""
    return np.asarray(values[np.isfinite(values)], float)
