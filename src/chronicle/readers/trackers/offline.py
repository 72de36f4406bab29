"""The files in which clients of trackers store a run without a server, as rows of one table.

Each file is a sequence of messages (points, parameters, facts of the run) in JSON lines, in protobuf, in a
database, or in a whole document. The database of Trackio holds several runs.
"""

from __future__ import annotations

import json
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from chronicle.errors import BadLog
from chronicle.metrics.values import distinct_names, gathered, moment
from chronicle.model import Attempt, Fault, Place
from chronicle.readers import trackers
from chronicle.readers.columns import Table, as_float
from chronicle.readers.events.tfrecord import (
    BYTES,
    FIXED64,
    VARINT,
    decoded,
    fields,
    last_of,
    messages,
    signed,
    texts,
)
from chronicle.readers.facts import config_facts
from chronicle.readers.json_lines import Row, flat, whole_document
from chronicle.readers.packed import most_unpacked, too_large
from chronicle.readers.text import SQLITE_STARTS, ZIP_STARTS, Faults, Head, clean, json_or_none
from chronicle.readers.trackers import MAX_CELL, PointLog, Store, only_file, opened, tables_of, typed
from chronicle.readers.trackers.wandb import faults_of_records, seconds_of


@dataclass(frozen=True)
class Offline:
    """The format of one client: a file of messages, or a folder for each launch with one such ``file``.
    ``begins`` and ``mine`` recognise its files; ``fill`` adds all messages to the log of points and returns
    whether the file is cut. Names of metrics of the machine begin with ``system``; ``key`` matches the names
    of files or folders, and its group is what the launches of one run share."""

    NAME: str
    system: str
    begins: re.Pattern[bytes]
    fill: Callable[[Path, PointLog, Faults], bool]
    key: re.Pattern[str] = re.compile("(?!)")
    mine: Callable[[Path], bool] = Path.is_file
    file: str = ""

    def identify(self, head: Head) -> bool:
        return self.begins.match(head.start) is not None and self.mine(head.path)

    def read(self, path: Path) -> list[Attempt]:
        """The attempt in a file of messages. Raises BadLog if no message holds a point."""
        log, faults = PointLog({}, self.system), Faults(path)
        truncated = self.fill(path, log, faults)
        if key := self.run_key(path):
            log.facts.setdefault("run", key)
        return [log.attempt(path, path.name, faults.all("more messages are damaged; skipped"), truncated)]

    def run_key(self, path: Path) -> str:
        """The part of the name that all launches of a run share; "" for any other path."""
        if not any(map(self.key.fullmatch, (path.name, path.parent.name))):
            return ""  # for most logs, without access to the file system
        folder = path if path.is_dir() else path.parent
        name = self.key.fullmatch(folder.name if self.file else path.name)
        return name["key"] if name and (not self.file or only_file(folder, self.file, self.identify)) else ""


class OfflineFolder(Offline):
    """The format of a client that stores each launch in a folder."""

    def identify_folder(self, path: Path) -> bool:
        return only_file(path, self.file, self.identify) is not None

    def read_folder(self, path: Path) -> list[Attempt]:
        return trackers.read_launch(path, only_file(path, self.file, self.identify), self.read)


def _taken(file: IO[bytes], take: Callable[[Row], None], faults: Faults) -> bool:
    """Calls ``take`` with each object on a line, or in a list on it; returns whether the last line is cut."""
    with file:
        for number, line in enumerate(iter(partial(file.readline, MAX_CELL), b""), 1):
            content = json_or_none(line)
            messages = content if isinstance(content, list) else [content]
            if messages and all(isinstance(message, dict) for message in messages):
                for message in messages:
                    take(message)
            elif not line.endswith(b"\n") and len(line) < MAX_CELL:
                return True
            elif messages:
                faults.add("message is not a JSON object; skipped", line=number)
    return False


def _object(value: Any) -> Row:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# --- Neptune: {"obj": {"type": "LogFloats", "path": ["train", "loss"], "values": [...]}, ...} ---
_NEPTUNE_FACTS = {"sys/name": "name", "sys/hostname": "host", "sys/custom_run_id": "run"}
_NEPTUNE_FACTS |= {"source_code/git/commit_id": "git_commit", "source_code/entrypoint": "program"}
_NEPTUNE_OWN = ("sys/", "source_code/", "monitoring/")


def _fill_neptune(path: Path, log: PointLog, faults: Faults) -> bool:
    return _taken(path.open("rb"), partial(_neptune_message, log), faults)


def _neptune_message(log: PointLog, message: Row) -> None:
    operation = _object(message.get("obj"))
    parts = operation.get("path")
    name = clean("/".join(map(str, parts))) if isinstance(parts, list) else ""
    kind, points = str(operation.get("type")), operation.get("values")
    if kind == "LogFloats":
        for point in map(_object, _list(points)):
            log.point(name, point.get("step"), point.get("value"), point.get("ts"))
    elif kind.startswith("Assign") and isinstance(operation.get("value"), str | int | float):
        value = operation["value"]
        if name in _NEPTUNE_FACTS:
            log.facts[_NEPTUNE_FACTS[name]] = value
        elif not name.startswith(_NEPTUNE_OWN):
            log.params[name.removeprefix("parameters/")] = value


# --- Neptune's newer client: protobuf messages in a database ---
_SNAPSHOT, _STEP, _TIME, _ASSIGN, _APPEND = 0, 1, 2, 4, 8
_MICRO = 1_000_000  # parts of a step


def _is_neptune_database(path: Path) -> bool:
    columns = tables_of(path)
    return "operation" in columns.get("run_operations", ()) and "run_id" in columns.get("metadata", ())


def _fill_neptune_database(path: Path, log: PointLog, faults: Faults) -> bool:
    with opened(path) as store:
        for project, run_id in store.rows("metadata", ("project", "run_id")):
            log.facts |= {"project": str(project), "run": str(run_id)}
        for kind, operation in store.rows("run_operations", ("operation_type", "operation")):
            if kind == _SNAPSHOT and isinstance(operation, bytes):
                try:
                    _neptune_snapshot(operation, log)
                except (ValueError, struct.error):
                    faults.add("operation is not a protobuf message; skipped")
        faults.extend(store.faults)
    return bool(store.faults)


def _neptune_snapshot(operation: bytes, log: PointLog) -> None:
    values = last_of(operation, BYTES)
    parts = last_of(values.get(_STEP, b""), VARINT)
    step = parts.get(1, 0) + parts.get(2, 0) / _MICRO if _STEP in values else None
    time_s = seconds_of(values[_TIME]) if _TIME in values else math.nan
    for name, value in map(_entry, messages(operation, _ASSIGN)):
        if isinstance(value, str | int | float) and not name.startswith(_NEPTUNE_OWN):
            log.params[name] = value
    for name, value in map(_entry, messages(operation, _APPEND)):
        log.point(name, step, value, time_s)


def _entry(entry: bytes) -> tuple[str, Any]:
    """The key and the value of an entry of a map: float64, int64, bool or string."""
    cells = last_of(entry, BYTES)
    name = decoded(cells.get(1, b""))
    for n, kind, content in fields(cells.get(2, b"")):
        if (n, kind) == (1, FIXED64):
            return name, struct.unpack("<d", content)[0]
        if kind == VARINT:
            return name, signed(content)
        if (n, kind) == (6, BYTES):
            return name, decoded(content)
    return name, None


# --- Comet: an archive of experiment.json and messages.json ---
_COMET_FACTS = {"hostname": "host", "gpu_static_info_list": "gpus", "python_version_verbose": "python"}
_COMET_OWN, _DURATION = "sys.", "process duration"

# Errors of a member that is damaged, cut, encrypted or compressed in an unknown way, or is invalid JSON.
_ZIP_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(KeyError, ValueError, RuntimeError),
)


def _is_comet(path: Path) -> bool:
    with suppress(*_ZIP_DAMAGE, OSError), zipfile.ZipFile(path) as archive:
        return {"experiment.json", "messages.json"} <= set(archive.namelist())
    return False


def _fill_comet(path: Path, log: PointLog, faults: Faults) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [archive.getinfo(name) for name in ("experiment.json", "messages.json")]
            if sum(member.file_size for member in members) > most_unpacked(path):
                raise too_large(path)
            experiment = _object(json.loads(archive.read("experiment.json")))
            log.facts |= {"run": str(experiment.get("offline_id", ""))}
            log.facts |= {"project": experiment["project_name"]} if experiment.get("project_name") else {}
            return _taken(archive.open("messages.json"), partial(_comet_message, log), faults)
    except _ZIP_DAMAGE as err:
        faults.add(f"the archive is damaged ({err}); read up to there")
        return True


def _comet_message(log: PointLog, message: Row) -> None:
    payload = _object(message.get("payload"))
    if metric := _object(payload.get("metric")):
        name, time_s = clean(str(metric.get("metricName"))), trackers.seconds(payload.get("local_timestamp"))
        if name != _DURATION and metric.get("metricValue") is not None:
            log.point(name, metric.get("step"), metric["metricValue"], time_s)
    elif param := _object(payload.get("param")):
        value, by_user = param.get("paramValue"), param.get("source") not in ("cli", "auto-logged")
        if by_user and isinstance(value, str | int | float):
            plain = typed(clean(value)) if isinstance(value, str) else value
            log.params[clean(str(param.get("paramName")))] = plain
    elif payload.get("key") == "Name":
        log.facts["name"] = clean(str(payload.get("value")))
    elif message.get("type") == "system_details":
        texts = ((fact, payload.get(key)) for key, fact in _COMET_FACTS.items())
        log.facts |= {fact: text for fact, text in texts if isinstance(text, str)}


# --- SwanLab: protobuf messages in LevelDB's log format ---
_SWANLAB = re.compile(rb":SWL\xd6\xe1\x02")  # identifier, 0xE1D6, version 2
_START, _SCALAR, _FINISH = 10, 13, 11
_SWANLAB_RUN = {1: "project", 2: "workspace", 4: "name", 7: "group", 8: "job_type", 10: "run"}
_SWANLAB_ENDED = {1: "finished", 2: "crashed", 3: "killed"}


def _fill_swanlab(path: Path, log: PointLog, faults: Faults) -> bool:
    damaged, is_cut = faults_of_records(path, partial(_swanlab_record, log))
    faults.extend(damaged)
    return is_cut or "ended" not in log.facts


def _swanlab_record(log: PointLog, record: bytes) -> None:
    for n, content in ((n, content) for n, kind, content in fields(record) if kind == BYTES):
        if n == _SCALAR:
            cells, step = last_of(content, BYTES), signed(last_of(content, VARINT).get(2, 0))
            time_s = seconds_of(cells[4]) if 4 in cells else math.nan
            numbers = (cell for _, kind, cell in fields(cells.get(5, b"")) if kind == FIXED64)
            value = struct.unpack("<d", next(numbers, bytes(8)))[0]  # protobuf omits zeros
            log.point(decoded(cells.get(1, b"")), step, value, time_s)
        elif n == _START:
            log.facts |= texts(content, _SWANLAB_RUN)
        elif n == _FINISH and (state := last_of(content, VARINT).get(1, 0)) in _SWANLAB_ENDED:
            log.facts["ended"] = _SWANLAB_ENDED[state]


# --- Sacred: metrics.json, config.json and run.json in a folder ---
_SACRED = re.compile(rb'\{\s*"[^"\n]{1,500}":\s*\{\s*"steps":\s*\[[-\d,.\s]*\]?')


def _fill_sacred(path: Path, log: PointLog, faults: Faults) -> bool:
    for name, columns in _object(whole_document(path)[0]).items():
        cells = map(columns.get, ("steps", "values", "timestamps"))
        for step, value, time in zip(*map(_list, cells), strict=False):
            value = value.get("value") if isinstance(value, dict) else value  # numpy's numbers are objects
            log.point(clean(name), step, value, moment(str(time), math.nan))
    return False


# --- ClearML: metrics.jsonl in a folder, a list of points on each line ---
_CLEARML = re.compile(rb'\[\{"timestamp": \d+, "type": "training_')
_REPLACED = re.compile(rb"(?:NaN|Inf) value encountered\. Reporting it as '([^']+)'")


def _fill_clearml(path: Path, log: PointLog, faults: Faults) -> bool:
    since_ms, replaced = _replaced(path.with_name("log.jsonl"))
    real = set[str]()  # metrics that had this value before it replaced NaN

    def take(message: Row) -> None:
        if message.get("type") != "training_stats_scalar":
            return
        name = clean(f"{message.get('metric')}/{message.get('variant')}")
        value, time_ms = message.get("value"), message.get("timestamp")
        time_s = time_ms / 1000 if isinstance(time_ms, int | float) else math.nan
        if value == replaced and 1000 * time_s < since_ms:
            real.add(name)
        is_nan = value == replaced and 1000 * time_s >= since_ms and name not in real
        log.point(name, message.get("iter"), math.nan if is_nan else value, time_s)

    return _taken(path.open("rb"), take, faults)


def _replaced(console: Path) -> tuple[float, float]:
    """The time [Unix ms] from which the client writes another number in place of NaN, as its console output
    says, and this number; (infinity, NaN) if it never did."""
    with suppress(OSError, ValueError), console.open("rb") as file:
        for line in iter(partial(file.readline, MAX_CELL), b""):
            if replacement := _REPLACED.search(line):
                return float(json.loads(line)[0].get("timestamp", math.inf)), float(replacement[1])
    return math.inf, math.nan


# --- CatBoost: catboost_training.json in the folder of a training; the other files there are copies of it ---
_CATBOOST = re.compile(rb'\{\s*"meta":\s*\{[^{}]*"(?:test_sets|learn_sets|test_metrics|launch_mode)":')


def _fill_catboost(path: Path, log: PointLog, faults: Faults) -> bool:
    content, more = whole_document(path)
    document = _object(content)
    meta, rows = _object(document.get("meta")), document.get("iterations")
    columns = list[tuple[str, str, int]]()
    for kind in ("learn", "test"):
        names = [_object(metric).get("name") for metric in _list(meta.get(f"{kind}_metrics"))]
        for part in filter(lambda part: isinstance(part, str), _list(meta.get(f"{kind}_sets"))):
            columns += [(part, f"{part}/{name}", place) for place, name in enumerate(names)]
    for row in map(_object, _list(rows)):
        for part, name, place in columns:
            if place < len(values := _list(row.get(part))):
                log.point(clean(name), row.get("iteration"), values[place], math.nan)
    return bool(more)


# --- Trackio: the SQLite database of a project, `<project>.db`, with all its runs ---
_OF_TRACKIO = {"run_name", "step", "timestamp", "metrics"}


def is_trackio(head: Head) -> bool:
    """Whether a file is an SQLite database with the tables of Trackio."""
    columns = tables_of(head.path)
    return "configs" in columns and set(columns.get("metrics", ())) >= _OF_TRACKIO


def _trackio_runs(path: Path) -> list[str]:
    """The names (the fact "run") of all runs in the database."""
    with opened(path) as store:
        return list(distinct_names(store.rows("metrics", ("run_id", "run_name"))).values())


def _read_trackio(path: Path) -> list[Attempt]:
    """One attempt for each run. Raises BadLog if there is none, or the whole database is damaged."""
    with opened(path) as store:
        rows, broken = defaultdict[tuple[Any, Any], list[Row]](list), Counter[tuple[Any, Any]]()
        columns = ("run_id", "run_name", "step", "timestamp", "metrics")
        for run_id, run_name, step, timestamp, text in store.rows("metrics", columns):
            cells = json_or_none(text)
            if not isinstance(cells, dict) or not isinstance(step, int):
                broken[run_id, run_name] += 1
                continue
            rows[run_id, run_name].append({**dict(flat(cells)), "_step": step, "_timestamp": str(timestamp)})
        kept = store.rows("configs", ("run_id", "run_name", "config"))
        configs = {(run_id, name): json_or_none(config) for run_id, name, config in kept}
        alerts = gathered(_trackio_alerts(path, store))
        attempts = []
        for key, name in distinct_names(rows).items():
            faults = [*store.faults, *alerts.get(key, ())]
            if broken[key]:
                faults.append(Fault(Place(str(path)), "row is not a JSON object; skipped", broken[key]))
            # Trackio itself adds `_Username`, `_Created` and the like.
            config = {name: v for name, v in _object(configs.get(key)).items() if not name.startswith("_")}
            with suppress(BadLog):  # raised for a run that logged only texts and media
                facts = {"run": name, "project": path.stem, **config_facts(config)}
                table = Table.of(path, rows[key], facts=facts, faults=faults, name=f"{path.name}: {name}")
                attempts.append(trackers.attempt_of_calls(replace(table, truncated=bool(store.faults))))
    if not attempts:
        raise BadLog(str(path), trackers.NOTHING)
    return attempts


def _trackio_alerts(path: Path, store: Store) -> Iterator[tuple[tuple[Any, Any], Fault]]:
    """The alerts that trainings sent with `trackio.alert`, each with its run."""
    columns = ("run_id", "run_name", "timestamp", "level", "title", "text", "step")
    for run_id, run_name, timestamp, level, title, text, step in store.rows("alerts", columns):
        alert = f"alert ({level}): {title}" + (f": {text}" if text else "")
        at_time, at_step = moment(str(timestamp), math.nan), step if isinstance(step, int) else None
        fault = Fault(Place(str(path)), alert[:500], at_time=at_time, kind="alert", at_step=at_step)
        yield (run_id, run_name), fault


# --- golden values of Megatron-LM's functional tests: not of a tracker, but a similar document of metrics ---
_GOLDEN = re.compile(rb'(?s)\s*\{(?=.*"start_step")(?=.*"step_interval")(?=.*"values")')


def _fill_golden(path: Path, log: PointLog, faults: Faults) -> bool:
    """Adds values that are keyed by step, or (in old files) at equal intervals; "nan" means no value."""
    document, more = whole_document(path)
    for metric, golden in _object(document).items():
        values, start, interval = map(_object(golden).get, ("values", "start_step", "step_interval"))
        if isinstance(values, list) and isinstance(start, int) and isinstance(interval, int):
            values = {str(start + place * interval): value for place, value in enumerate(values)}
        for step, value in _object(values).items():
            if type(value) in (float, int) and step.lstrip("-").isdecimal() and len(step) < 19:
                log.point(clean(metric), step, as_float(value), math.nan)
    faults.extend(more)
    return False


# --- all of them ---
# fmt: off
_ROWS = (
    OfflineFolder("swanlab", "__swanlab__", _SWANLAB, _fill_swanlab,
        re.compile(r"(?:run-)?\d{8}_\d{6}-(?P<key>\w+)"), file="*.swanlab"),
    OfflineFolder("neptune", "monitoring/", re.compile(rb'\{"obj": \{"type": "'), _fill_neptune,
        re.compile(r"run__(?P<key>[^_]+)__.+"), file="data-1.log"),
    OfflineFolder("neptune-scale", "runtime/", re.compile(SQLITE_STARTS), _fill_neptune_database,
        re.compile(r"(?P<key>.+)_\d{16,20}"), mine=_is_neptune_database, file="run_operations.sqlite3"),
    Offline("comet", _COMET_OWN, re.compile(ZIP_STARTS), _fill_comet,
        re.compile(r"(?P<key>[0-9a-f]{32})(?:-\w+)?\.zip"), mine=_is_comet),
    OfflineFolder("clearml", ":monitor:", _CLEARML, _fill_clearml, file="metrics.jsonl"),
    OfflineFolder("sacred", "\0", _SACRED, _fill_sacred, file="metrics.json"),
    Offline("megatron-golden", "\0", _GOLDEN, _fill_golden),
    OfflineFolder("catboost", "\0", _CATBOOST, _fill_catboost, file="catboost_training.json"),
)
# fmt: on
_TRACKIO = SimpleNamespace(identify=is_trackio, runs=_trackio_runs, read=_read_trackio)
BY_NAME = {"trackio": _TRACKIO, **{row.NAME: row for row in _ROWS}}
