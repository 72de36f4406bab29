"""MLflow: its file store (`mlruns/<experiment>/<run>/`) and its SQLite store (`mlflow.db`, `mlruns.db`).

A database holds many runs: each becomes an attempt with the fact "run". A run in the file store has a
meta.yaml and a file for each metric, parameter and tag; slashes in their names make subfolders. A file of a
metric that was copied without its run is read, too.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.metrics.values import distinct_names, gathered
from chronicle.model import Attempt, Fault, Place
from chronicle.readers import trackers
from chronicle.readers.facts import MAX_TEXT
from chronicle.readers.json_lines import tells_of_training
from chronicle.readers.text import SQLITE_STARTS, Head, Lines, clean
from chronicle.readers.trackers import PointLog, Store, typed

_INFINITE = {sign * sys.float_info.max: sign * math.inf for sign in (1, -1)}  # as the database stores it
MAX_FILES = 10_000  # metrics, parameters or tags of one run
_POINT = re.compile(r"1\d{12} [-+.\w]+ -?\d+")  # of a metric, in the milliseconds of these decades
SYSTEM = "system/"  # metrics of the machine, which MLflow logs with a step of their own

_TABLES = {"experiments", "runs", "metrics", "params", "tags"}
_RUN = ("run_uuid", "name", "status", "start_time", "source_version", "experiment_id", "lifecycle_stage")
# The status of a run by its name (SQLite) and its number (meta.yaml); that of a running one is not listed.
_ENDED = {"FINISHED": "finished", "FAILED": "crashed", "KILLED": "killed"}
_ENDED |= {"3": "finished", "4": "crashed", "5": "killed"}
_TAGS = {
    "mlflow.source.git.commit": "git_commit",
    "mlflow.source.git.branch": "git_branch",
    "mlflow.source.git.repoURL": "git_remote",
    "mlflow.source.name": "program",
    "mlflow.runName": "name",
    "mlflow.parentRunId": "parent_run",
    "mlflow.user": "user",
    "mlflow.note.content": "notes",
}


def identify(head: Head) -> bool:
    """Whether a file is an SQLite database with the tables of MLflow, or the points of a metric."""
    if _is_database(head.path):
        return trackers.tables_of(head.path).keys() >= _TABLES
    return len(head.lines) > 1 and all(map(_POINT.fullmatch, head.lines[:-1]))


def lacks(path: Path) -> str:
    """How the database of a program becomes readable; "" for any other file."""
    if not (tables := trackers.tables_of(path)):
        return ""
    told = (name for name, columns in tables.items() if any(map(tells_of_training, (name, *columns))))
    name = next(told, next(iter(tables)))
    export = f"sqlite3 -header -csv {path.name} 'select * from {name}' > {name}.csv"
    return f"is an SQLite database of no tracker that is known. Remedy: export its metrics (`{export}`)"


def _is_database(path: Path) -> bool:
    return Head.of(path).start.startswith(SQLITE_STARTS)


def runs(path: Path) -> list[str]:
    """The names (the fact "run") of all runs in a database that logged something."""
    if not _is_database(path):
        return []
    with trackers.opened(path) as store:
        logged = {uuid for (uuid,) in store.rows("metrics", ["run_uuid"])}
        return [run.facts["run"] for uuid, run in _runs(store).items() if uuid in logged]


def read(path: Path) -> list[Attempt]:
    """One attempt for each run that logged a metric and was not deleted. Raises BadLog if there is none."""
    if not _is_database(path):
        own = (at for at in path.parents if at.name == "metrics" and (at.parent / "meta.yaml").is_file())
        run, folder = PointLog({}, SYSTEM), next(own, path.parent)
        truncated = _read_metric(run, clean(path.relative_to(folder).as_posix()), path)
        return [run.attempt(path, path.name, (), truncated)]
    with trackers.opened(path) as store:
        by_id = _runs(store)
        columns = ("run_uuid", "key", "step", "value", "timestamp", "is_nan")
        for uuid, key, step, value, time_ms, is_nan in store.rows("metrics", columns):
            if uuid in by_id:
                value = math.nan if is_nan else _INFINITE.get(value, value)
                by_id[uuid].point(str(key), step, value, trackers.seconds(time_ms))
        for uuid, key, value in store.rows("params", ("run_uuid", "key", "value")):
            if uuid in by_id:
                by_id[uuid].params[str(key)] = typed(str(value))
        logged = [run for run in by_id.values() if any(points[0] for points in run.metrics.values())]
        name, known = path.name, (store.faults, bool(store.faults))
        attempts = [run.attempt(path, f"{name}: {run.facts['run']}", *known) for run in logged]
    if not attempts:
        raise BadLog(str(path), trackers.NOTHING)
    return attempts


def identify_folder(path: Path) -> bool:
    """Whether a folder is a run in the file store: its meta.yaml names a run, and it has metrics."""
    return (path / "metrics").is_dir() and bool(_meta(path).keys() & {"run_id", "run_uuid"})


def read_folder(path: Path) -> list[Attempt]:
    """The attempt in a folder of the file store. Raises BadLog if it logged no metric."""
    meta, tags = _meta(path), dict(_texts(path / "tags"))
    facts = {"run": meta.get("run_id") or meta.get("run_uuid", "")}
    facts |= about({**meta, "name": meta.get("run_name", "")}, tags)
    inputs = [_meta(file.parent) for name, file in _files(path / "inputs") if name.endswith("meta.yaml")]
    sources = (_meta(path.parent / "datasets" / Path(used.get("source_id", "")).name) for used in inputs)
    used = dataset_names((dataset.get("name", ""), dataset.get("digest", "")) for dataset in sources)
    own = {"experiment": _meta(path.parent).get("name"), "dataset": used}
    facts |= {name: value for name, value in own.items() if value}
    run, faults, truncated = PointLog(facts, SYSTEM), list[Fault](), False
    run.params |= {key: typed(text) for key, text in _texts(path / "params")}
    for name, file in _files(path / "metrics"):
        try:
            truncated |= _read_metric(run, name, file)
        except OSError as err:
            faults.append(Fault(Place(str(file)), f"cannot be read ({err.strerror})"))
    return [run.attempt(path, path.name, faults, truncated)]


def about(run: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
    """Facts of a run: from its row or meta.yaml (name, status, start_time in ms), and from its tags."""
    facts: dict[str, Any] = {_TAGS[key]: value for key, value in tags.items() if key in _TAGS}
    facts |= {f"tag/{key}": value for key, value in tags.items() if not key.startswith("mlflow.")}
    if run.get("name"):
        facts["name"] = str(run["name"])
    if ended := _ENDED.get(str(run.get("status"))):
        facts["ended"] = ended
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        facts["started_at"] = int(run["start_time"]) / 1000
    return facts


def _runs(store: Store) -> dict[str, PointLog]:
    tags: dict[str, dict[str, str]] = {}
    for uuid, key, value in store.rows("tags", ("run_uuid", "key", "value")):
        tags.setdefault(uuid, {})[str(key)] = str(value)
    datasets = _datasets_of(store)
    experiments = dict(store.rows("experiments", ("experiment_id", "name")))
    facts: dict[str, dict[str, Any]] = {}
    for cells in store.rows("runs", _RUN, strict=True):
        row = dict(zip(_RUN, cells, strict=True))
        if row["lifecycle_stage"] == "deleted":
            continue
        uuid, of_experiment = str(row["run_uuid"]), experiments.get(row["experiment_id"])
        stored = {"experiment": of_experiment, "git_commit": row["source_version"]}
        stored["dataset"] = dataset_names(datasets.get(uuid, ()))
        own = {name: str(value) for name, value in stored.items() if value}
        facts[uuid] = {"name": uuid, **about(row, tags.get(row["run_uuid"], {})), **own}
    names = distinct_names((uuid, run["name"]) for uuid, run in facts.items())
    return {uuid: PointLog({"run": names[uuid, run["name"]], **run}, SYSTEM) for uuid, run in facts.items()}


def _datasets_of(store: Store) -> dict[str, list[tuple[Any, Any]]]:
    """(name, digest) of the data sets that were logged as inputs, by run."""
    columns = ("dataset_uuid", "name", "digest")
    named = {uuid: (name, digest) for uuid, name, digest in store.rows("datasets", columns)}
    inputs = store.rows("inputs", ("source_id", "destination_id"))
    return gathered((str(run), named[source]) for source, run in inputs if source in named)


def dataset_names(datasets: Iterable[tuple[Any, Any]]) -> str:
    """The distinct data sets in one text: name (digest)."""
    named = dict.fromkeys(f"{name} ({digest})" if digest else str(name) for name, digest in datasets if name)
    return clean(", ".join(named))[:MAX_TEXT]


def _meta(folder: Path) -> dict[str, str]:
    """The pairs `key: value` of meta.yaml, without quotes; {} without the file."""
    try:
        lines = Head.of(folder / "meta.yaml").lines
    except OSError:
        return {}
    pairs = (line.partition(": ") for line in lines)
    return {key: clean(value.strip().strip("'\"")) for key, _, value in pairs if value}


def _read_metric(run: PointLog, name: str, file: Path) -> bool:
    """Adds all complete lines (`milliseconds value step`); whether the last is cut. Raises OSError."""
    lines = Lines(file)
    for line in lines:
        cells = line.split()
        if lines.unfinished:
            return True
        if len(cells) >= 3:
            run.point(name, cells[2], cells[1], trackers.seconds(cells[0]))
        elif cells:
            run.broken += 1
    return False


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for name, file in _files(folder):
        with suppress(OSError), file.open(encoding="utf-8", errors="replace") as text:
            yield name, clean(text.read(MAX_TEXT))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """(name, file) of all regular files below a folder, sorted by path; links are not followed."""
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    for path in sorted(islice(files, MAX_FILES), key=lambda path: (path.parent, path.name)):
        if not path.is_symlink() and path.is_file():
            yield clean(path.relative_to(folder).as_posix()), path
