"""The classifier inside a training loop: one call a step, the same kernel, the same diagnosis at the end."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.classify.detect import Detector, Event
from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.kernel.compiled import compiled
from chronicle.classify.spool import ROW, Column, Rows, Spool
from chronicle.classify.thresholds import DEFAULTS, Thresholds
from chronicle.errors import UsageError
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series

JUDGED = (Role.LOSS, Role.DATASET_LOSS)
STATE = "chronicle/monitor/1"
AGAIN = 1.5  # an open event is looked at again when it has gone on for this many times as long

State = dict[str, Any]


@dataclass
class Watched:
    """One metric of the present attempt: what it logged, and if it is a loss its detector.

    ``opened`` is the detector's word on what is open, ``again`` the sample at which that is named anew, and
    ``said`` the pattern last said of each open event, by its id.
    """

    column: Column
    detector: Detector | None = None
    opened: tuple[float, ...] = (0.0, 0.0, 0.0)
    again: int = 0
    said: dict[str, str] = field(default_factory=dict)


class Monitor:
    """Streaming classifier: `update` at every logged step, `finish` for the diagnosis.

        monitor = Monitor()
        for finding in monitor.update(step, {"loss": loss, "grad_norm": norm}):
            print(finding.pattern, finding.id)

    Memory does not grow with the run: the kernel's is constant, and what `finish` needs (the rules across
    series look back) stands on disk, 24 bytes a value, in ``folder`` or in a temporary one. Provisional
    findings say what the finding would be if the log ended now; a revised one keeps its ``id``.
    """

    def __init__(
        self, thresholds: Thresholds = DEFAULTS, *, compile: bool = False, folder: str | Path | None = None
    ) -> None:
        """``compile`` uses numba now: half a minute once on a machine, then 3 µs a value instead of 20."""
        self.thresholds = thresholds
        self._engine = compiled() if compile else plain
        self._spool = Spool(Path(folder) if folder else None)
        self._attempts: list[dict[str, Watched]] = [{}]
        self._roles: dict[str, Series] = {}

    def update(self, step: int, metrics: Mapping[str, float], time: float | None = None) -> list[Finding]:
        """Take the values logged at a step. Returns findings that opened, changed or closed just now."""
        found: list[Finding] = []
        step, at_time = int(step), float("nan") if time is None else float(time)
        for metric, value in metrics.items():
            watched, value = self._watched(metric), float(value)
            watched.column.append(step, value, at_time)
            if watched.detector is not None:
                found += self._provisional(metric, watched, watched.detector, value)
        return found

    def rewind(self, step: int) -> None:
        """The training goes back to the checkpoint of ``step``: what was logged after it is overtaken.

        What follows is a new attempt, as if another process had written its log.

        Raises:
            UsageError: nothing was logged after that step, so there is nothing to go back from.
        """
        last = max(
            (int(w.column.rows()["step"].max()) for w in self._now.values() if len(w.column)), default=None
        )
        if last is None or step > last:
            raise UsageError(f"rewind({step}): the last logged step is {last}; a rewind goes back")
        self._attempts.append({})

    def finish(self) -> Diagnosis:
        """The diagnosis of all that was logged: the same as `classify` gives for the same data."""
        from chronicle.classify import classify
        from chronicle.timeline import stitch

        attempts = [self._attempt(k) for k in range(len(self._attempts))]
        if len(attempts) == 1:
            return classify(attempts, self.thresholds)
        order = [attempt.name for attempt in attempts]
        return classify(stitch(attempts, order=order, relation="attempts"), self.thresholds)

    def state_dict(self) -> State:
        """All of it, in plain values and bytes, to be kept in a checkpoint (24 bytes a value)."""
        return {
            "schema": STATE,
            "thresholds": asdict(self.thresholds),
            "attempts": [{m: _saved(w) for m, w in attempt.items()} for attempt in self._attempts],
        }

    def load_state_dict(self, state: State) -> None:
        """Go on from what `state_dict` gave, bit for bit, in this process or another, with numba or without.

        Raises:
            UsageError: it is the state of something else, or was made with other thresholds.
        """
        if state.get("schema") != STATE:
            raise UsageError(
                f"this is no state of a Monitor: schema is {state.get('schema')!r}, not {STATE!r}"
            )
        if state["thresholds"] != asdict(self.thresholds):
            raise UsageError("the state was made with other thresholds. Remedy: give them to Monitor()")
        self._attempts = [
            {m: self._restored(saved) for m, saved in attempt.items()} for attempt in state["attempts"]
        ]
        self._roles = assign({m: _series(m, np.empty(0, ROW)) for m in self._now})

    @property
    def _now(self) -> dict[str, Watched]:
        return self._attempts[-1]

    def _watched(self, metric: str) -> Watched:
        """The metric in the present attempt; a new metric decides anew what every metric is."""
        watched = self._attempts[-1].get(metric)
        if watched is None:
            watched = self._now[metric] = Watched(self._spool.column())
            self._roles = assign({name: _series(name, np.empty(0, ROW)) for name in self._now})
        if watched.detector is None and self._roles[metric].role in JUDGED:
            watched.detector = Detector(self.thresholds, engine=self._engine)
            watched.detector.extend(watched.column.rows()["value"])
        return watched

    def _provisional(self, metric: str, watched: Watched, detector: Detector, value: float) -> list[Finding]:
        n = len(watched.column)
        if n <= at.WARM:
            detector.sparse(watched.column.rows()["step"])
        events = detector.update(value)
        opened = detector.opened()
        if opened != watched.opened or (any(opened) and n >= watched.again):
            watched.opened, watched.again = opened, n + at.WARM
            still = [e for e in copy.deepcopy(detector).finish() if e.end is None]
            since = min((e.opened for e in still), default=n)
            watched.again = max(watched.again, int(since + AGAIN * (n - since)))
            events += still
        return list(self._news(metric, watched, events)) if events else []

    def _news(self, metric: str, watched: Watched, events: list[Event]) -> list[Finding]:
        """Events as findings of the log so far, without those that say what was said before."""
        from chronicle.classify.rules.loss_shapes import provisional

        series = _series(metric, watched.column.rows(), self._roles[metric])
        index = len(self._attempts) - 1
        found = provisional(events, series, index, _name(index), self.thresholds)
        news = [f for f in found if f.end_step is not None or watched.said.get(f.id) != f.pattern]
        for finding in news:
            watched.said[finding.id] = finding.pattern
            if finding.end_step is not None:
                del watched.said[finding.id]
        return news

    def _attempt(self, index: int) -> Attempt:
        """All columns of an attempt."""
        columns = self._attempts[index]
        return Attempt(
            _name(index), ("monitor",), assign({n: _series(n, w.column.rows()) for n, w in columns.items()})
        )

    def _restored(self, saved: State) -> Watched:
        watched = Watched(
            self._spool.column(), None, tuple(saved["opened"]), saved["again"], dict(saved["said"])
        )
        watched.column.extend(np.frombuffer(saved["rows"], ROW))
        if saved["detector"] is not None:
            watched.detector = Detector(self.thresholds, engine=self._engine)
            watched.detector.load(saved["detector"])
        return watched


def _saved(watched: Watched) -> State:
    return {
        "rows": watched.column.rows().tobytes(),
        "detector": None if watched.detector is None else watched.detector.save(),
        "opened": list(watched.opened),
        "again": watched.again,
        "said": dict(watched.said),
    }


def _name(index: int) -> str:
    return "monitor" if index == 0 else f"monitor#{index + 1}"


def _series(metric: str, rows: Rows, like: Series | None = None) -> Series:
    """Rows as a series, with the role of ``like``."""
    role, unit, dataset = (like.role, like.unit, like.dataset) if like else (Role.OTHER, None, "")
    return Series(metric, role, rows["step"], rows["value"], rows["time"], unit, dataset)
