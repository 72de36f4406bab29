"""A run of MLflow under construction: points, parameters, and what its store says of it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.readers.columns import number
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.trackers import without_summary

SYSTEM = "system/"  # of MLflow's monitor of the machine, on an axis of its own

# Status of a run by name (SQLite) and by number (meta.yaml); a run that goes on has none.
_ENDED = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "killed"}
_ENDED |= {"3": "finished", "4": "crashed", "5": "killed"}
_TAGS = {
    "mlflow.source.git.commit": "git_commit",
    "mlflow.source.name": "program",
    "mlflow.runName": "name",
    "mlflow.parentRunId": "parent_run",
}


@dataclass
class Points:
    """A metric under construction."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))

    def add(self, step: int, value: float, time_s: float) -> None:
        """Appends a point. Raises OverflowError where the step has more than 64 bits."""
        self.steps.append(step)
        self.values.append(value)
        self.times.append(time_s)

    def series(self, metric: str) -> Series:
        """The finished metric."""
        return Series(metric, Role.OTHER, np.array(self.steps), np.array(self.values), np.array(self.times))


@dataclass
class Run:
    """What a store holds of one run."""

    facts: dict[str, Any]
    metrics: dict[str, Points] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    broken: int = 0

    def point(self, metric: str, step: Any, value: Any, time_ms: Any) -> None:
        """Takes a point; one that is no number is counted."""
        points = self.metrics.get(metric)
        if points is None:
            if metric.startswith(SYSTEM):
                return
            points = self.metrics[metric] = Points()
        try:
            points.add(int(step), float(value), float(time_ms) / 1000)
        except (TypeError, ValueError, OverflowError):
            self.broken += 1

    def attempt(self, path: Path, name: str, faults: Iterable[Fault], truncated: bool) -> Attempt:
        """The run as an attempt. On the axis of rows where all steps of a longer metric are equal."""
        series = {metric: points.series(metric) for metric, points in self.metrics.items() if points.steps}
        axis = "step"
        if not any(np.ptp(s.steps) for s in series.values()) and any(len(s) > 1 for s in series.values()):
            axis = "row"
            series = {
                metric: Series(metric, s.role, np.arange(len(s), dtype=np.int64), s.values, s.times)
                for metric, s in series.items()
            }
        told = [*faults]
        if self.broken:
            told.append(Fault(Place(str(path)), "point is no number; skipped", self.broken))
        facts = {**self.facts, **config_facts({k: _typed(v) for k, v in self.params.items()})}
        return without_summary(
            Attempt(name or path.name, (str(path),), series, facts, tuple(told), truncated, axis)
        )


def _typed(text: str) -> str | int | float:
    """A parameter, which MLflow keeps as text, as the number that it spells."""
    value = number(text)
    if value is None:
        return text
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else value


def about(run: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
    """Facts of a run: from its row or meta.yaml (name, status, start_time in ms), and from its tags."""
    found: dict[str, Any] = {_TAGS[key]: value for key, value in tags.items() if key in _TAGS}
    if run.get("name"):
        found["name"] = str(run["name"])
    ended = _ENDED.get(str(run.get("status")))
    if ended:
        found["ended"] = ended
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        found["started_at"] = int(run["start_time"]) / 1000
    return found
