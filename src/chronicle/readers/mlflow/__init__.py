"""MLflow: its file store (`mlruns/<experiment>/<run>/`) and its SQLite store (`mlflow.db`, `mlruns.db`).

A database holds many runs: each is an attempt with the fact "run". The package mlflow is not needed.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt
from chronicle.readers.mlflow.files import is_run, run_of
from chronicle.readers.mlflow.run import Run, about
from chronicle.readers.sqlite_store import Store, opened, tables_of
from chronicle.readers.text import Head

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
