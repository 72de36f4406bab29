"""The classifier inside a training loop: one call a step, the same kernel, the same diagnosis at the end."""

from __future__ import annotations

import itertools
import shutil
import struct
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.classify.kernel import Detector, Event, compiled
from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.thresholds import DEFAULTS, Thresholds
from chronicle.errors import UsageError
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series

JUDGED = (Role.LOSS, Role.DATASET_LOSS)
STATE = "chronicle/monitor/3"
AGAIN_TIMES = 1.5  # as long: then an open event is classified again
ROW = np.dtype([("step", "<i8"), ("value", "<f8"), ("time", "<f8")])
ROWS_IN_MEMORY = 4096  # of a column; older ones are on disk
_PACKED = struct.Struct("<qdd")  # the same row; packing one costs a quarter of assigning it to an array

State = dict[str, Any]
Rows = NDArray[np.void]


@dataclass
class Watched:
    """One metric of the present attempt: what it logged, and if it is a loss its detector."""

    column: Column
    detector: Detector | None = None
    opened: tuple[float, ...] = (0.0, 0.0, 0.0)  # what the detector holds open, see `Detector.opened`
    again: int = 0  # the sample at which open events are classified again
    named: dict[str, str] = field(default_factory=dict)  # the last pattern of each open event, by its id
    zeros: int = 0  # samples before there is a loss, which the detector does not see

    def save(self) -> State:
        detector = None if self.detector is None else self.detector.save()
        waiting = {"opened": list(self.opened), "again": self.again, "named": dict(self.named)}
        return {"rows": self.column.rows().tobytes(), "zeros": self.zeros, "detector": detector, **waiting}


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
        """``compile`` uses numba: it takes half a minute once on a machine, then 3 µs a value instead of
        20."""
        self.thresholds = thresholds
        self._engine = compiled() if compile else plain
        self._folder = Path(folder or tempfile.mkdtemp(prefix="chronicle-monitor-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        if not folder:
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._numbers = itertools.count(1)
        self._attempts: list[dict[str, Watched]] = [{}]
        self._roles: dict[str, Series] = {}

    def update(self, step: int, metrics: Mapping[str, float], time: float | None = None) -> list[Finding]:
        """Takes the values logged at a step. Returns findings that opened, changed or closed just now."""
        findings: list[Finding] = []
        step, at_time = int(step), float("nan") if time is None else float(time)
        for metric, value in metrics.items():
            value = float(value)
            watched = self._watched(metric, value)
            watched.column.append(step, value, at_time)
            if watched.detector is not None:
                findings += self._provisional(metric, watched, watched.detector, value)
        return findings

    def rewind(self, step: int) -> None:
        """The training goes back to the checkpoint of ``step``: what was logged after it is overtaken.

        What follows is a new attempt, as if another process had written its log.

        Raises:
            UsageError: nothing was logged after that step, so there is nothing to go back from.
        """
        logged = (w.column.rows()["step"] for w in self._attempts[-1].values())
        last = max((int(steps.max()) for steps in logged), default=None)
        if last is None or step > last:
            raise UsageError(f"rewind({step}): the last logged step is {last}; a rewind goes back")
        self._attempts.append({})

    def finish(self) -> Diagnosis:
        """The diagnosis of all that was logged: the same as `classify` gives for the same data."""
        from chronicle.classify.verdict import diagnose
        from chronicle.classify.view import look
        from chronicle.timeline import stitch

        attempts = []
        for k, watched in enumerate(self._attempts):
            series = {metric: _series(metric, w.column.rows()) for metric, w in watched.items()}
            attempts.append(Attempt(_name(k), ("monitor",), assign(series)))
        order = [attempt.name for attempt in attempts]
        several = len(attempts) > 1  # a single one may hold a step that goes back, so it is read as any log
        timeline = stitch(attempts, order=order, relation="attempts") if several else stitch(attempts)
        return diagnose(look(timeline, self.thresholds))

    def state_dict(self) -> State:
        """The whole state, in plain values and bytes, to be kept in a checkpoint (24 bytes a value)."""
        attempts = [{m: w.save() for m, w in attempt.items()} for attempt in self._attempts]
        return {"schema": STATE, "thresholds": asdict(self.thresholds), "attempts": attempts}

    def load_state_dict(self, state: State) -> None:
        """Go on from what `state_dict` gave, bit for bit, in this process or another, with numba or without.

        Raises:
            UsageError: it is the state of something else, or was made with other thresholds.
        """
        if (schema := state.get("schema")) != STATE:
            raise UsageError(f"this is not a state of a Monitor: schema is {schema!r}, not {STATE!r}")
        if state["thresholds"] != asdict(self.thresholds):
            raise UsageError("the state was made with other thresholds", remedy="pass them to Monitor()")
        self._attempts = [
            {m: self._restored(saved) for m, saved in attempt.items()} for attempt in state["attempts"]
        ]
        self._assign_roles()

    def _watched(self, metric: str, value: float) -> Watched:
        """The metric in the present attempt; when a new one appears, all roles are assigned again."""
        watched = self._attempts[-1].get(metric)
        if watched is None:
            watched = self._attempts[-1][metric] = Watched(self._column())
            self._assign_roles()
        if watched.detector is None and value != 0 and self._roles[metric].role in JUDGED:
            logged = watched.column.rows()["value"]
            watched.zeros = int(np.argmax(np.append(logged, value) != 0))
            watched.detector = Detector(self.thresholds, engine=self._engine)
            watched.detector.extend(logged[watched.zeros :])
        return watched

    def _assign_roles(self) -> None:
        self._roles = assign({name: _series(name, np.empty(0, ROW)) for name in self._attempts[-1]})

    def _provisional(self, metric: str, watched: Watched, detector: Detector, value: float) -> list[Finding]:
        n = len(watched.column) - watched.zeros
        if n <= at.WARM:
            detector.sparse(watched.column.rows()["step"][watched.zeros :])
        events = detector.update(value)
        opened = detector.opened()
        if opened != watched.opened or (any(opened) and n >= watched.again):
            twin = Detector(self.thresholds, engine=self._engine)
            twin.load(detector.save())
            still_open = twin.finish()
            since = min((e.opened for e in still_open), default=n)
            again = max(n + at.WARM, int(since + AGAIN_TIMES * (n - since)))
            watched.opened, watched.again, events = opened, again, events + still_open
        return list(self._news(metric, watched, events)) if events else []

    def _news(self, metric: str, watched: Watched, events: list[Event]) -> list[Finding]:
        """Events as findings of the log so far, without those that were reported before."""
        from chronicle.classify.rules.loss_shapes import provisional

        series = _series(metric, watched.column.rows()[watched.zeros :], self._roles[metric])
        index = len(self._attempts) - 1
        findings = provisional(events, series, index, _name(index), self.thresholds)
        news = [f for f in findings if f.end_step is not None or watched.named.get(f.id) != f.pattern]
        for finding in news:
            watched.named.pop(finding.id, None)
            if finding.end_step is None:
                watched.named[finding.id] = finding.pattern
        return news

    def _column(self) -> Column:
        """A new, empty column. Its file is named by number: names of metrics never reach the disk."""
        return Column(self._folder / f"column-{next(self._numbers)}.bin")

    def _restored(self, saved: State) -> Watched:
        opened, named = tuple(saved["opened"]), dict(saved["named"])
        watched = Watched(self._column(), None, opened, saved["again"], named, saved.get("zeros", 0))
        watched.column.extend(np.frombuffer(saved["rows"], ROW))
        if saved["detector"] is not None:
            watched.detector = Detector(self.thresholds, engine=self._engine)
            watched.detector.load(saved["detector"])
        return watched


def _name(index: int) -> str:
    return "monitor" if index == 0 else f"monitor#{index + 1}"


def _series(metric: str, rows: Rows, like: Series | None = None) -> Series:
    role, unit, dataset = (like.role, like.unit, like.dataset) if like else (Role.OTHER, None, "")
    return Series(metric, role, rows["step"], rows["value"], rows["time"], unit, dataset)


class Column:
    """Rows of (step, value, time) that only grow; the older ones are in a file, which begins empty."""

    def __init__(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        self._file, self._spilled = file, 0
        self._kept, self._used = bytearray(ROWS_IN_MEMORY * ROW.itemsize), 0

    def __len__(self) -> int:
        return self._spilled + self._used

    def append(self, step: int, value: float, time: float) -> None:
        if self._used == ROWS_IN_MEMORY:
            self._spill()
        _PACKED.pack_into(self._kept, self._used * ROW.itemsize, step, value, time)
        self._used += 1

    def extend(self, rows: Rows) -> None:
        self._spill()
        with self._file.open("ab") as file:
            file.write(rows.astype(ROW).tobytes())
        self._spilled += len(rows)

    def rows(self) -> Rows:
        if not self._spilled:
            return np.frombuffer(bytes(self._kept), ROW, self._used)
        self._spill()
        return np.memmap(self._file, ROW, "r", shape=(self._spilled,))

    def _spill(self) -> None:
        if self._used:
            with self._file.open("ab") as file:
                file.write(self._kept[: self._used * ROW.itemsize])
            self._spilled, self._used = self._spilled + self._used, 0
