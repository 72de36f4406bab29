"""What stores of trackers have in common: names of runs, a counter of calls for an axis, rows that sum up,
and runs whose points come one by one (`PointLog`): those of MLflow, Neptune, Comet, SwanLab and Sacred."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.readers.columns import Column, counted_by, number
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.step_axis import axis_by_name
from chronicle.readers.text import Head

CLOSING = "train_runtime"
AXIS = "global_step"
_Points = tuple["array[int]", "array[float]", "array[float]"]  # steps, values, times of a metric
NOTHING = "no run logged a metric. Remedy: name the store that the training wrote to"


def names_of(runs: Iterable[tuple[Any, Any]]) -> dict[tuple[Any, Any], str]:
    """What to call each (id, name), in order: its name, and a part of its id where two share it."""
    distinct = list(dict.fromkeys(runs))
    shared = Counter(name for _, name in distinct)
    return {
        (run_id, name): str(name) if shared[name] == 1 else f"{name} {str(run_id)[:8]}"
        for run_id, name in distinct
    }


def only_file(folder: Path, pattern: str, identify: Callable[[Head], bool]) -> Path | None:
    """The one file of a folder with such a name, if it is of that format: then the folder is one launch."""
    try:
        files = [file for file in folder.glob(pattern) if file.is_file()]
        return files[0] if len(files) == 1 and identify(Head.of(files[0])) else None
    except OSError:
        return None


def on_one_axis(
    columns: Mapping[str, Column], counter: str, declared: Collection[str] = ()
) -> tuple[dict[str, Column], dict[str, str]]:
    """The columns with one that counts steps, named AXIS, and the fact which one it is, if there are several.

    It is the axis of any table, among those that are there in half of the rows, and what was ``declared`` as
    step metric goes first. Trackers count calls of `log` by their ``counter``: one for each micro-batch,
    evaluation or logged line, whatever the trainer does. Where the trainer's steps are blank for long, the
    calls tell them.
    """
    half = len(columns[counter].rows) / 2
    there = {name: c for name, c in columns.items() if not c.is_text and len(c.rows) >= half}
    axis = axis_by_name({n: c for n, c in there.items() if counted_by(n) in ("", "step")}, declared)
    others = {name: column for name, column in columns.items() if name not in (counter, axis.name, AXIS)}
    facts = {"step_counter": axis.counter} if axis.counter else {}
    return {AXIS: axis.column or columns[counter], **others}, facts


def without_summary(attempt: Attempt) -> Attempt:
    """The attempt without the series that were only logged together with a `train_runtime`.

    Among them is the mean loss of the training, under a name that looks like the loss of a step. They
    become the fact "summary".
    """
    closings = [s for name, s in attempt.series.items() if name.endswith(CLOSING)]
    if not closings:
        return attempt
    moments = {moment for series in closings for moment in _moments(series)}
    short = {name: s for name, s in attempt.series.items() if 0 < len(s) <= len(moments)}
    summed = {name: s for name, s in short.items() if _moments(s) <= moments}
    if len(summed) == len(attempt.series):
        return attempt
    series = {name: s for name, s in attempt.series.items() if name not in summed}
    summary = {name: float(s.values[-1]) for name, s in summed.items()}
    return replace(attempt, series=series, facts={**attempt.facts, "summary": summary})


def _moments(series: Series) -> set[tuple[int, float]]:
    times = np.where(np.isnan(series.times), -1.0, series.times)
    return set(zip(series.steps.tolist(), times.tolist(), strict=True))


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


def seconds(time_ms: Any) -> float | None:
    """Milliseconds, also as a text, in seconds; None for what is no number."""
    try:
        return float(time_ms) / 1000
    except (TypeError, ValueError):
        return None
