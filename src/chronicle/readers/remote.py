"""Fetches logs at an address, by fsspec or by the client of a tracker, into a local mirror to be read there.

An object is fetched if its name or its first bytes say that it may be a log. The etag, size and time of every
object are remembered, logs or not; while these do not change, it is not requested again. A run on the server
of a tracker becomes a folder with a log of JSON lines: its configuration, then its points in order of time.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin

from chronicle.errors import ChronicleError, LogError, MissingExtra, NothingToRead, UsageError
from chronicle.metrics.values import distinct_names
from chronicle.readers.facts import surroundings
from chronicle.readers.find import is_log, log_like
from chronicle.readers.text import PARQUET_STARTS, SQLITE_STARTS, Head
from chronicle.readers.trackers import typed
from chronicle.readers.trackers.mlflow import SYSTEM, about, dataset_names
from chronicle.workspace.config import Confines, may_redirect
from chronicle.workspace.folders import cache, mirror_of, safe_path
from chronicle.workspace.locks import scratch

MOST_RUNS = 1000  # at one address
LOG = "points.jsonl"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A run as a client returns it: ``config`` and ``facts`` under chronicle's names, and rows of numbers. A
    row has a step and a time [Unix s] under names that the reader of tables knows."""

    run_id: str
    name: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any]
    rows: Iterable[Row]


def of_tracker(address: str, mirror: Path) -> Path:
    """Fetches the runs at an address with a tracker's client into ``mirror``, which is returned. Raises as
    `fetch`, and whatever the client raises."""
    scheme, _, place = address.partition("://")
    client = CLIENTS[scheme]
    parts = re.fullmatch(client.place, place)
    if parts is None:
        raise UsageError(f"{address}: names no run", remedy=f"write {client.form}")
    try:
        asked = {name: unquote(part or "") for name, part in parts.groupdict().items()}
        runs = list(islice(client.runs(scheme, asked), MOST_RUNS + 1))
    except ImportError:
        raise MissingExtra(f"reading {address}", client.package, client.package) from None
    if len(runs) > MOST_RUNS:
        raise LogError(address, f"holds more than {MOST_RUNS:,} runs", remedy="name one of them")
    if not runs:
        raise NothingToRead(f"{address}: no run with a metric")
    names = distinct_names((run.run_id, run.name) for run in runs)
    kept = {mirror / safe_path(names[run.run_id, run.name].replace("/", "-")) / LOG: run for run in runs}
    for old in sorted(mirror.rglob("*"), reverse=True):  # also files of addresses above or below this one
        if old.is_dir() and not any(old.iterdir()):
            old.rmdir()
        elif old.is_file() and old not in kept:
            old.unlink()
    for file, run in kept.items():
        _write(file, run)
    return mirror


def _write(file: Path, run: Run) -> None:
    """Writes the log of a run. A file that has the same content already is left alone, and keeps its time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with scratch(file.parent) as folder:
        new = folder / LOG
        facts = {name: value for name, value in run.facts.items() if value not in (None, "")}
        with new.open("w", encoding="utf-8") as log:
            rows = chain([{"config": run.config, **facts}], run.rows)
            log.writelines(json.dumps(row, default=str) + "\n" for row in rows)
        if not file.is_file() or file.read_bytes() != new.read_bytes():
            new.replace(file)


def _mlflow(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from mlflow import MlflowClient

    os.environ.setdefault("MLFLOW_ALLOW_HTTP_REDIRECTS", "false")  # no server sends the client elsewhere
    client = MlflowClient(f"{scheme.partition('+')[2]}://{place['server']}")
    runs = [client.get_run(place["run"])] if place["run"] else _runs_of_mlflow(client, place["experiment"])
    for run in runs:
        info, data = run.info, run.data
        metrics = [metric for metric in data.metrics if not metric.startswith(SYSTEM)]
        points = [point for metric in metrics for point in client.get_metric_history(info.run_id, metric)]
        points.sort(key=lambda point: point.timestamp)
        rows = [{"step": p.step, "timestamp": p.timestamp / 1000, p.key: p.value} for p in points]
        known = {"name": info.run_name, "status": info.status, "start_time": info.start_time}
        datasets = [used.dataset for used in run.inputs.dataset_inputs] if run.inputs else []
        facts = {**about(known, data.tags), "dataset": dataset_names((d.name, d.digest) for d in datasets)}
        if rows:
            params = {name: typed(value) for name, value in data.params.items()}
            yield Run(info.run_id, info.run_name or info.run_id, params, facts, rows)


def _runs_of_mlflow(client: Any, experiment: str) -> Iterator[Any]:
    """Yields the runs of an experiment, given by its name or its id, one page after the other."""
    named = client.get_experiment_by_name(experiment)
    ids = [named.experiment_id if named else experiment]
    page = client.search_runs(ids)
    yield from page
    while page.token:
        page = client.search_runs(ids, page_token=page.token)
        yield from page


_STATES = {"finished": "finished", "failed": "crashed", "crashed": "crashed", "killed": "killed"}


def _wandb(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from wandb import Api

    project = f"{place['entity']}/{place['project']}"
    api = Api()
    for run in [api.run(f"{project}/{place['run']}")] if place["run"] else api.runs(project):
        facts = {**surroundings(run.metadata or {}), "git_commit": run.commit, "project": place["project"]}
        facts |= {"name": run.name, "ended": _STATES.get(run.state)}
        config = {name: value for name, value in run.config.items() if not name.startswith("_")}
        history = run.scan_history()
        rows = ({n: v for n, v in row.items() if v is not None and n != "_runtime"} for row in history)
        yield Run(run.id, run.name or run.id, config, facts, rows)


def _trackio(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from trackio.remote_client import RemoteClient

    web = scheme.partition("+")[2]
    client, project = RemoteClient(f"{web}://{place['server']}" if web else place["server"]), place["project"]
    configs = client.predict(project, api_name="/get_run_configs")
    for run in client.predict(project, api_name="/get_runs_for_project"):
        run_id, name = str(run["id"] or run["name"]), str(run["name"])
        if place["run"] not in ("", run_id, name):
            continue
        asked = [{"run": name, "run_id": run["id"]}]
        # With `scalar_only`, the False here, numbers that are not finite would be left out instead of null.
        (batch,) = client.predict(project, asked, 1 << 31, False, api_name="/get_logs_batch")
        rows = ({name: math.nan if v is None else v for name, v in row.items()} for row in batch["logs"])
        config = configs.get(run_id) or configs.get(name) or {}
        config = {key: value for key, value in config.items() if not key.startswith("_")}
        yield Run(run_id, name, config, {"name": name, "project": project}, rows)


_AIM_OWN = "__system"  # what Aim itself logs about machine and environment


def _aim(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from aim import Repo

    with scratch() as copy:
        # A copy, because only a repository that is opened for writing shows runs that are not closed yet.
        if place["path"]:
            shutil.copytree(Path(place["path"]) / ".aim", copy / ".aim")
        repo = Repo(str(copy) if place["path"] else f"aim://{place['server']}")
        for run_hash in [place["run"]] if place["run"] else repo.list_all_runs():
            yield _of_aim(repo, run_hash)


def _of_aim(repo: Any, run_hash: str) -> Run:
    from aim import Run as Tracked

    run = Tracked(run_hash, repo=repo, system_tracking_interval=None, log_system_params=False)
    rows: list[dict[str, Any]] = []
    for metric in run.metrics():
        if metric.name.startswith(_AIM_OWN):
            continue
        name = "/".join([*map(str, metric.context.to_dict().values()), metric.name])
        steps, (values, _, times) = metric.data.items_list()
        rows += [{"step": s, "timestamp": t, name: v} for s, v, t in zip(steps, values, times, strict=True)]
    rows.sort(key=lambda row: float(row["timestamp"]))
    config, params = dict[str, Any](), run.get(..., {}) or {}
    for name, value in params.items():
        if not name.startswith(_AIM_OWN):
            config |= value if isinstance(value, Mapping) else {name: value}
    own = params.get("__system_params", {})  # these include all environment variables, which are not copied
    git = own.get("git_info", {})
    facts = {"name": run.name, "experiment": run.experiment, "started_at": run.creation_time}
    facts |= {"git_branch": git.get("branch"), "git_remote": git.get("remote_origin_url")}
    facts |= {"git_commit": git.get("commit", {}).get("hash"), "command": " ".join(own.get("arguments", ()))}
    return Run(run_hash, run.name or run_hash, config, facts, rows)


@dataclass(frozen=True)
class Client:
    """The client of a tracker: its package, the pattern of what follows the scheme of an address, the same
    ``form`` in words, and a function that yields the runs."""

    package: str
    place: str
    form: str
    runs: Callable[[str, Mapping[str, str]], Iterator[Run]]


_MLFLOW = r"(?P<server>[^#]+?)/(?:#/)?experiments/(?P<experiment>[^/]+)(?:/runs)?(?:/(?P<run>\w+))?/?"
_WANDB = r"(?P<entity>[^/]+)/(?P<project>[^/]+)(?:/runs)?(?:/(?P<run>[^/]+))?/?"
_SPACE = r"(?P<server>[^/]+/[^/]+)/(?P<project>[^/]+)(?:/(?P<run>[^/]+))?/?"
_SERVER = r"(?P<server>[^/]+)/(?P<project>[^/]+)(?:/(?P<run>[^/]+))?/?"
_AIM = r"(?:(?P<server>[^/]+)(?:/(?P<run>[0-9a-f]+))?|(?P<path>/.+))/?"
_ONE = "behind it for one"
_OF_MLFLOW = Client("mlflow", _MLFLOW, f"mlflow+https://host/experiments/ID, and /runs/ID {_ONE}", _mlflow)
_OF_TRACKIO = Client("trackio", _SERVER, f"trackio+https://host/project, and /run {_ONE}", _trackio)
CLIENTS = {
    **dict.fromkeys(("mlflow+http", "mlflow+https"), _OF_MLFLOW),
    "wandb": Client("wandb", _WANDB, f"wandb://entity/project, and /run {_ONE}", _wandb),
    "trackio": Client("trackio", _SPACE, f"trackio://owner/space/project, and /run {_ONE}", _trackio),
    **dict.fromkeys(("trackio+http", "trackio+https"), _OF_TRACKIO),
    "aim": Client("aim", _AIM, "aim://host:port or aim:///folder", _aim),
}

LIMIT = "CHRONICLE_FETCH_LIMIT_GB"  # environment variable: how much is fetched from one address at most
LIMIT_GB = 32.0
MOST_OBJECTS = 200_000
BEGIN_BYTES = 1 << 16  # bytes by which the format of an object is recognised
TEXT_BYTES = 1 << 24  # the largest text that may belong to a log
THREADS = 8

# By scheme: the extra of chronicle and the package that read such addresses.
EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), ("s3", "s3fs")),
    **dict.fromkeys(("gs", "gcs"), ("gs", "gcsfs")),
    **dict.fromkeys(("http", "https"), ("http", "aiohttp")),
    "hf": ("hf", "huggingface_hub"),
}
_STORES = (SQLITE_STARTS, PARQUET_STARTS)  # whether these are logs cannot be told from their first bytes
_TIMES = ("LastModified", "mtime", "last_modified", "updated", "created")
_TAGS = ("ETag", "etag", "md5Hash", "oid", "blob_id", "xet_hash")

Info = Mapping[str, Any]  # what a file system says about an object
Index = dict[str, list[Any]]  # name: [etag, size, time, whether it was fetched]


def fetch(address: str, confines: Confines | None = None) -> Path:
    """Updates and returns the mirror of an address: a file or a folder. ``confines`` say where a server may
    redirect to. Raises LogError if the address cannot be fetched or holds too much, NothingToRead if it does
    not exist, MissingExtra without the package for it, and UsageError if it names no place."""
    scheme, _, place = address.partition("://")
    if not place.strip("/"):
        raise UsageError(
            f"{address}: names no place", remedy="write the whole address, as in s3://bucket/run"
        )
    address = address.rstrip("/")
    refused: list[str] = []
    # Destructors of a client that failed may raise, too: Python would print these errors.
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        if scheme in CLIENTS:
            return of_tracker(address, mirror_of(address))
        return _synchronised(_file_system(address, confines, refused), address)
    except ChronicleError:
        raise
    except Exception as err:  # every library has its own kinds
        missing = isinstance(err, FileNotFoundError) and not refused
        failed = f"cannot be fetched ({type(err).__name__}: {str(err)[:200]})"
        problem = "no such file or folder" if missing else next(iter(refused), failed)
    finally:
        sys.unraisablehook = hook
    remedy = "" if refused else "check address and access"
    raise (NothingToRead if missing else LogError)(address, problem, remedy=remedy)


def _synchronised(files: Any, address: str) -> Path:
    """Updates the mirror of an address: changed objects are fetched, and those that are gone are removed."""
    mirror = mirror_of(address)
    memory = cache() / "index" / f"{hashlib.sha256(address.encode()).hexdigest()}.json"
    files.invalidate_cache()
    objects = dict(_objects(files, address))
    old, new = _recall(memory), {name: _mark(info) for name, info in objects.items()}
    places = _places(mirror, old.keys() | new.keys())
    changed = {name for name, mark in new.items() if old.get(name, [])[:3] != mark}
    to_check = [name for name in new if name in changed or (old[name][3] and not places[name].is_file())]
    with ThreadPoolExecutor(THREADS) as threads:
        checks = threads.map(lambda name: _wanted(files, name, objects[name]), to_check)
        wanted = dict(zip(to_check, checks, strict=True))
        taken = [name for name, take in wanted.items() if take]
        if (total := sum(new[name][1] for name in taken)) > float(os.environ.get(LIMIT) or LIMIT_GB) * 1e9:
            remedy = f"name a folder further down, or set {LIMIT}"
            raise LogError(address, f"holds {total / 1e9:.1f} GB of new logs", remedy=remedy)
        for name in old.keys() - new.keys():
            places[name].unlink(missing_ok=True)
        list(threads.map(lambda name: _get(files, objects[name], places[name]), taken))
    index = {name: [*mark, wanted.get(name, (old.get(name) or [0])[-1])] for name, mark in new.items()}
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text(json.dumps(index), "utf-8")
    return mirror


def _file_system(address: str, confines: Confines | None, refused: list[str]) -> Any:
    scheme = address.partition("://")[0]
    try:
        import fsspec

        if scheme in ("http", "https"):
            watched = {"trace_configs": [_watched(address, confines, refused)]}
            return fsspec.filesystem(scheme, client_kwargs=watched, skip_instance_cache=True)
        return fsspec.filesystem(scheme)
    except (ImportError, TypeError, ValueError) as err:  # the latter two if an address alone is not enough
        if scheme in EXTRAS and isinstance(err, ImportError):
            raise MissingExtra(f"reading {address}", *EXTRAS[scheme]) from None
        known = ", ".join(f"{name}://" for name in (*EXTRAS, *CLIENTS))
        remedy = f"download it and name the files, or give an address of {known}"
        raise UsageError(f"{address}: nothing reads {scheme}://", remedy=remedy) from None


def _watched(address: str, confines: Confines | None, refused: list[str]) -> Any:
    """Ends a fetch that is redirected to a forbidden address; the reason, which fsspec hides, is put into
    ``refused``."""
    from aiohttp import TraceConfig

    async def redirected(session: Any, context: Any, params: Any) -> None:
        target = urljoin(str(params.url), params.response.headers.get("Location", ""))
        if not may_redirect(address, target, confines):
            remedy = "name that address itself, or allow it in chronicle.toml"
            refused.append(f"the server redirects to {target}, which is not allowed. Remedy: {remedy}")
            raise PermissionError(refused[0])

    trace = TraceConfig()
    trace.on_request_redirect.append(redirected)
    return trace


def _objects(files: Any, address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name below the address ("" if the address itself is an object) and the info of each object."""
    root = files._strip_protocol(address)
    info = files.info(root)
    if info["type"] != "directory":
        yield "", info
        return
    count = 0
    for folder, folders, objects in files.walk(root, detail=True):
        for name in [name for name in folders if name.startswith(".")]:
            del folders[name]
        count += len(objects)
        if count > MOST_OBJECTS:
            remedy = "name a folder further down"
            raise LogError(address, f"holds more than {MOST_OBJECTS:,} objects", remedy=remedy)
        for name, info in objects.items():
            if name and not name.startswith("."):
                yield f"{folder.removeprefix(root).strip('/')}/{name}".lstrip("/"), info
    if not count:
        raise FileNotFoundError


def _mark(info: Info) -> list[Any]:
    tag, time = (next((info[key] for key in keys if info.get(key)), "") for keys in (_TAGS, _TIMES))
    return [str(tag), int(info.get("size") or 0), str(time)]


def _wanted(files: Any, name: str, info: Info) -> bool:
    """Whether an object may be a log, or part of a folder that is a log."""
    if not name or log_like(Path(safe_path(name).name)):
        return True
    with scratch() as folder:
        begin = folder / safe_path(name).name
        begin.write_bytes(_begin(files, info["name"]) if info.get("size") else b"")
        start = Head.of(begin).start
        text = b"\0" not in start and int(info.get("size") or 0) <= TEXT_BYTES
        return text or start.startswith(_STORES) or is_log(begin)


def _begin(files: Any, name: str) -> bytes:
    """The first bytes of an object. No more are fetched, since it may be a checkpoint of gigabytes."""
    if files.async_impl:
        return bytes(files.cat_file(name, start=0, end=BEGIN_BYTES))
    with files.open(name, "rb", cache_type="none") as file:  # cat_file would read megabytes ahead
        return bytes(file.read(BEGIN_BYTES))


def _get(files: Any, info: Info, place: Path) -> None:
    """Fetches an object in one step, so that a mirror only holds whole ones. What is in its way is
    removed."""
    for above in reversed(place.parents):
        if above.is_file():
            above.unlink()
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch(place.parent) as folder:
        part = folder / "part"
        files.get_file(info["name"], str(part))
        time = next((info[key] for key in _TIMES if isinstance(info.get(key), datetime)), None)
        if time:  # a new mirror of the same objects has the same times
            os.utime(part, (time.timestamp(), time.timestamp()))
        part.replace(place)


def _places(mirror: Path, names: Iterable[str]) -> dict[str, Path]:
    """The paths of objects in the mirror. An object with the name of a folder is renamed, as no disk holds
    both."""
    names = list(names)
    folders = {name[:at] for name in names for at, sign in enumerate(name) if sign == "/"}
    kept = {name: f"{name}:object" if name in folders else name for name in names}
    return {name: mirror / safe_path(kept[name]) if name else mirror for name in names}


def _recall(memory: Path) -> Index:
    with suppress(OSError, ValueError, AttributeError):
        known = json.loads(memory.read_text("utf-8"))
        return {k: v for k, v in known.items() if isinstance(v, list) and len(v) == 4}
    return {}
