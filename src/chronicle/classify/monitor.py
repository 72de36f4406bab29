"""The classifier inside a training loop: one call a step, the same kernel, the same diagnosis at the end."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from chronicle.classify.detect import Detector, Event
from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.kernel.compiled import compiled
from chronicle.classify.rules.shape import Shape
from chronicle.classify.rules.shapes import named
from chronicle.classify.thresholds import DEFAULTS, Thresholds
from chronicle.classify.verdict import diagnose
from chronicle.classify.view import look
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series
from chronicle.roles import assign
from chronicle.timeline import stitch

JUDGED = (Role.LOSS, Role.DATASET_LOSS)


@dataclass
class Column:
    """What one metric has logged so far (24 bytes a value), and its detector if it is a loss."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))
    detector: Detector | None = None
    opened: tuple[float, ...] = (0.0, 0.0, 0.0)


class Monitor:
    """Streaming classifier: `update` at every logged step, `finish` for the diagnosis.

    The kernel's memory does not grow with the run; the columns that `finish` needs (the rules across series
    look back) grow by 24 bytes a value. Provisional findings say what the finding would be if the log ended
    now.
    """

    def __init__(self, thresholds: Thresholds = DEFAULTS, *, compile: bool = False) -> None:
        """``compile`` uses numba now: half a minute once on a machine, then 3 µs a value instead of 20."""
        self.thresholds = thresholds
        self._engine = compiled() if compile else plain
        self._columns: dict[str, Column] = {}
        self._roles: dict[str, Series] = {}

    def update(self, step: int, metrics: Mapping[str, float], time: float | None = None) -> list[Finding]:
        """Take the values logged at a step. Returns findings that opened, closed or ended in NaN just now."""
        found: list[Finding] = []
        for metric, value in metrics.items():
            column = self._column(metric)
            column.steps.append(int(step))
            column.values.append(float(value))
            column.times.append(float("nan") if time is None else float(time))
            if column.detector is not None:
                found += self._provisional(metric, column, column.detector)
        return found

    def finish(self) -> Diagnosis:
        """The diagnosis of all that was logged: the same as `classify` gives for the same data."""
        return diagnose(look(stitch([self._attempt()]), self.thresholds))

    def _column(self, metric: str) -> Column:
        """The column of a metric; a new metric decides anew what every metric is."""
        if metric not in self._columns:
            self._columns[metric] = Column()
            empty = {name: _series(name, Column()) for name in self._columns}
            self._roles = assign(empty)
        column = self._columns[metric]
        if column.detector is None and self._roles[metric].role in JUDGED:
            column.detector = Detector(self.thresholds, engine=self._engine)
            column.detector.extend(np.array(column.values))
        return column

    def _provisional(self, metric: str, column: Column, detector: Detector) -> list[Finding]:
        if len(column.steps) <= at.WARM:
            detector.sparse(column.steps)
        closed = detector.update(column.values[-1])
        opened = detector.opened()
        if opened != column.opened:
            column.opened = opened
            closed += [e for e in copy.deepcopy(detector).finish() if e.end is None]
        if not closed:
            return []
        return self._findings(metric, closed)

    def _findings(self, metric: str, events: list[Event]) -> list[Finding]:
        """Events as findings of the log so far."""
        view = look(stitch([self._attempt((metric,))]), self.thresholds)
        attempt = view.attempts[0]
        series = attempt.series[metric]
        return [f for e in events for f in named(Shape(e, series, attempt, self.thresholds))]

    def _attempt(self, metrics: tuple[str, ...] | None = None) -> Attempt:
        """All columns, or some, as an attempt."""
        names = self._columns if metrics is None else metrics
        series = {n: _series(n, self._columns[n], self._roles[n]) for n in names}
        return Attempt("monitor", (), series if metrics else assign(series))


def _series(metric: str, column: Column, like: Series | None = None) -> Series:
    """A column as a series, with the role of ``like``."""
    role, unit, dataset = (like.role, like.unit, like.dataset) if like else (Role.OTHER, None, "")
    arrays = np.array(column.steps, np.int64), np.array(column.values, float), np.array(column.times, float)
    return Series(metric, role, *arrays, unit, dataset)
