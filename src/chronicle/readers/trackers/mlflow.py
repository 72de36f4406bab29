"""MLflow: its file store (`mlruns/<experiment>/<run>/`) and its SQLite store (`mlflow.db`, `mlruns.db`).

A database holds many runs: each is an attempt with the fact "run". The package mlflow is not needed.
"""

from __future__ import annotations

import math
import os
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.readers.cells import number
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.text import Head, Lines, clean, head_lines
from chronicle.readers.trackers import without_summary
from chronicle.readers.trackers.sqlite import Store, opened, tables_of

NAME = "mlflow"
SUFFIXES: tuple[str, ...] = ()

LARGEST = 1.7976931348623157e308  # stands for infinity in the database

_TABLES = {"experiments", "runs", "metrics", "params", "tags"}
_NOTHING = "no run logged a metric. Remedy: name the store that the training wrote to"


def identify(head: Head) -> bool:
    """An SQLite database with the tables of MLflow."""
    return tables_of(head.path).keys() >= _TABLES


def identify_folder(path: Path) -> bool:
    """The folder of a run in the file store."""
    return is_run(path)


def runs(path: Path) -> list[str]:
    """The runs of a database that logged something, as the fact "run" of their attempts calls them."""
    with _database(path) as store:
        logged = {uuid for (uuid,) in store.rows("metrics", ["run_uuid"])}
        return [run.facts["run"] for uuid, run in _runs(store).items() if uuid in logged]


def read(path: Path) -> list[Attempt]:
    """An attempt for each run of a database that logged a metric and was not deleted.

    Raises:
        BadLog: there is none, or the list of runs is damaged.
    """
    with _database(path) as store:
        found = _runs(store)
        columns = ("run_uuid", "key", "step", "value", "timestamp", "is_nan")
        for uuid, key, step, value, time_ms, is_nan in store.rows("metrics", columns):
            if uuid in found:
                found[uuid].point(str(key), step, _value(value, is_nan), time_ms)
        for uuid, key, value in store.rows("params", ("run_uuid", "key", "value")):
            if uuid in found:
                found[uuid].params[str(key)] = str(value)
        attempts = [
            run.attempt(path, f"{path.name}: {run.facts['run']}", store.faults, store.truncated)
            for run in found.values()
            if any(points.steps for points in run.metrics.values())
        ]
    if not attempts:
        raise BadLog(str(path), _NOTHING)
    return attempts


def read_folder(path: Path) -> list[Attempt]:
    """The attempt in a folder of the file store.

    Raises:
        BadLog: it logged no metric.
    """
    attempt = run_of(path)
    if not attempt.series:
        raise BadLog(str(path), _NOTHING)
    return [attempt]


@contextmanager
def _database(path: Path) -> Iterator[Store]:
    try:
        with opened(path) as store:
            yield store
    except sqlite3.Error as err:
        raise BadLog(str(path), f"is a damaged database ({err}). Remedy: restore it from a copy") from err


def _runs(store: Store) -> dict[str, Run]:
    """The runs by their id, in the order of their rows; each is called by its name where that is its own."""
    tags: dict[str, dict[str, str]] = {}
    for uuid, key, value in store.rows("tags", ("run_uuid", "key", "value")):
        tags.setdefault(uuid, {})[str(key)] = str(value)
    experiments = dict(store.rows("experiments", ("experiment_id", "name")))
    facts: dict[str, dict[str, Any]] = {}
    columns = (
        "run_uuid",
        "name",
        "status",
        "start_time",
        "source_version",
        "experiment_id",
        "lifecycle_stage",
    )
    for row in store.rows("runs", columns, strict=True):
        run = dict(zip(columns, row, strict=True))
        if run["lifecycle_stage"] != "deleted":
            facts[str(row[0])] = _facts(run, tags.get(row[0], {}), experiments)
    names = Counter(one["name"] for one in facts.values())
    return {
        uuid: Run({"run": one["name"] if names[one["name"]] == 1 else f"{one['name']} {uuid[:8]}", **one})
        for uuid, one in facts.items()
    }


def _facts(run: Mapping[str, Any], tags: Mapping[str, str], experiments: Mapping[Any, Any]) -> dict[str, Any]:
    found = {"name": str(run["run_uuid"]), **about(run, tags)}
    if run["experiment_id"] in experiments:
        found["experiment"] = str(experiments[run["experiment_id"]])
    if run["source_version"]:
        found["git_commit"] = str(run["source_version"])
    return found


def _value(value: Any, is_nan: Any) -> Any:
    if is_nan:
        return math.nan
    return math.copysign(math.inf, value) if isinstance(value, float) and abs(value) == LARGEST else value


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


MAX_FILES = 10_000  # metrics, parameters or tags of one run
MAX_TEXT = 1000


def is_run(folder: Path) -> bool:
    """Whether the folder is a run: its meta.yaml names one, and it has metrics."""
    return (folder / "metrics").is_dir() and bool(meta(folder).keys() & {"run_id", "run_uuid"})


def meta(folder: Path) -> dict[str, str]:
    """The lines `key: value` of meta.yaml, without quotes; {} without the file."""
    try:
        lines = head_lines(folder / "meta.yaml")
    except OSError:
        return {}
    pairs = (line.partition(": ") for line in lines)
    return {key: clean(value.strip().strip("'\"")) for key, _, value in pairs if value}


def run_of(folder: Path) -> Attempt:
    """The run as an attempt; one whose series is empty where it logged nothing."""
    said = meta(folder)
    tags = dict(_texts(folder / "tags"))
    facts = {"run": said.get("run_id") or said.get("run_uuid", ""), **about(_row(said), tags)}
    run = Run(facts, params=dict(_texts(folder / "params")))
    faults, truncated = list[Fault](), False
    for name, file in _named(folder / "metrics"):
        truncated |= _read_metric(run, name, file, faults)
    return run.attempt(folder, folder.name, faults, truncated)


def _row(said: dict[str, str]) -> dict[str, str]:
    return {**said, "name": said.get("run_name", "")}


def _read_metric(run: Run, name: str, file: Path, faults: list[Fault]) -> bool:
    """Takes all whole lines; whether the last one is cut."""
    lines = Lines(file)
    try:
        for line in lines:
            cells = line.split()
            if lines.unfinished:
                return True
            if len(cells) >= 3:
                run.point(name, cells[2], cells[1], cells[0])
            elif cells:
                run.broken += 1
    except OSError as err:
        faults.append(Fault(Place(str(file)), f"cannot be read ({err.strerror})"))
    return False


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for name, file in _named(folder):
        try:
            with file.open(encoding="utf-8", errors="replace") as text:
                yield name, clean(text.read(MAX_TEXT))
        except OSError:
            continue


def _named(folder: Path) -> Iterator[tuple[str, Path]]:
    """(name, file) of all regular files below, in natural order of their paths; links are not followed."""
    n_files = 0
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            n_files += 1
            if n_files > MAX_FILES:
                return
            if not path.is_symlink() and path.is_file():
                yield clean(path.relative_to(folder).as_posix()), path
