"""A run whose points come one by one, each metric with steps and times of its own.

That is how the stores of MLflow, Neptune, Comet, SwanLab and Sacred have them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.readers.columns import number
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.trackers import without_summary

_Points = tuple["array[int]", "array[float]", "array[float]"]  # steps, values, times of a metric


@dataclass
class PointLog:
    """A run under construction: its facts, its parameters, and its metrics point by point.

    Metrics below ``system`` are left out: they are of the tracker's monitor of the machine, on an axis of
    its own.
    """

    facts: dict[str, Any]
    system: str
    metrics: dict[str, _Points] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    broken: int = 0
    _counted: set[str] = field(default_factory=set)

    def point(self, metric: str, step: Any, value: Any, time_s: Any) -> None:
        """Takes a point; one that is no number is counted. Without a step, the calls of a metric count."""
        if metric.startswith(self.system):
            return
        if metric not in self.metrics:
            self.metrics[metric] = array("q"), array("d"), array("d")
        steps, values, times = self.metrics[metric]
        if step is None:
            self._counted.add(metric)
            step = len(steps)
        try:
            value, time_s = float(value), float(time_s)
            steps.append(int(step))  # raises where it has more than 64 bits
        except (TypeError, ValueError, OverflowError):
            self.broken += 1
        else:
            values.append(value)
            times.append(time_s)

    def attempt(self, path: Path, name: str, faults: Iterable[Fault], truncated: bool) -> Attempt:
        """The run as an attempt. On the axis of rows where no step tells points of a metric apart."""
        logged = {metric: points for metric, points in self.metrics.items() if points[0]}
        several = any(len(steps) > 1 for steps, _, _ in logged.values())
        equal = not any(
            np.ptp(steps) for metric, (steps, _, _) in logged.items() if metric not in self._counted
        )
        axis = "row" if equal and several else "step"
        series = {}
        for metric, points in logged.items():
            steps, values, times = map(np.array, points)
            steps = np.arange(len(steps), dtype=np.int64) if axis == "row" else steps
            series[metric] = Series(metric, Role.OTHER, steps, values, times)
        faults = [*faults]
        if self.broken:
            faults.append(Fault(Place(str(path)), "point is no number; skipped", self.broken))
        facts = {**self.facts, **config_facts(self.params)}
        attempt = Attempt(name or path.name, (str(path),), series, facts, tuple(faults), truncated, axis)
        return without_summary(attempt)


def typed(text: str) -> str | int | float:
    """A parameter that a tracker keeps as text, as the number that it spells."""
    value = number(text)
    if value is None:
        return text
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else value
