"""Runs on the server of a tracker, asked of the tracker's own client.

Each run becomes a log of JSON lines in the mirror of its address, a folder a run: what it was started with
on the first line, then its points in the order of their times. So all that is known of other logs holds for
them: roles, several counters, launches that append to one run.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from chronicle.errors import LogError, MissingExtra, NothingToRead, UsageError
from chronicle.readers.side_files import surroundings
from chronicle.readers.trackers import names_of, typed
from chronicle.readers.trackers.mlflow import SYSTEM, about, listed
from chronicle.workspace.folders import spelled
from chronicle.workspace.locks import scratch

MOST_RUNS = 1000  # of one address
LOG = "points.jsonl"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A run as a client tells it: ``config`` and ``facts`` under chronicle's names, and rows of numbers.

    A row has a step and a time [Unix s] under a name by which tables are known to have them.
    """

    run_id: str
    name: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any]
    rows: Iterable[Row]


def fetch(address: str, mirror: Path) -> Path:
    """Asks a client for the runs behind an address and keeps them in its mirror, which is given.

    Raises:
        UsageError: the address names no place that the client knows how to ask for.
        MissingExtra: the client is not installed.
        NothingToRead: there is no run.
        LogError: there are more runs than are asked for at once.
        Exception: whatever the client raises where its server refuses or is not there.
    """
    scheme, _, place = address.partition("://")
    client = CLIENTS[scheme]
    parts = client.place.fullmatch(place)
    if parts is None:
        raise UsageError(f"{address}: names no run. Remedy: write {client.form}")
    try:
        asked = {name: unquote(part or "") for name, part in parts.groupdict().items()}
        runs = list(islice(client.runs(scheme, asked), MOST_RUNS + 1))
    except ImportError:
        raise MissingExtra(f"reading {address}", client.package, client.package) from None
    if len(runs) > MOST_RUNS:
        raise LogError(address, f"holds more than {MOST_RUNS:,} runs. Remedy: name one of them")
    if not runs:
        raise NothingToRead(f"{address}: no run with a metric")
    names = names_of((run.run_id, run.name) for run in runs)
    kept = {mirror / spelled(names[run.run_id, run.name].replace("/", "-")) / LOG: run for run in runs}
    for old in sorted(mirror.rglob("*"), reverse=True):  # also what an address above or below this one kept
        if old.is_dir() and not any(old.iterdir()):
            old.rmdir()
        elif old.is_file() and old not in kept:
            old.unlink()
    for file, run in kept.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file, run)
    return mirror


def _write(file: Path, run: Run) -> None:
    """Writes the log of a run, in place of one that differs; equal bytes keep the time of the file."""
    with scratch(file.parent) as folder:
        new = folder / LOG
        with new.open("w", encoding="utf-8") as log:
            facts = {name: value for name, value in run.facts.items() if value not in (None, "")}
            for row in ({"config": run.config, **facts}, *run.rows):
                log.write(json.dumps(row, default=str) + "\n")
        if not file.is_file() or file.read_bytes() != new.read_bytes():
            new.replace(file)


# --- MLflow ---


def _mlflow(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from mlflow import MlflowClient

    os.environ.setdefault("MLFLOW_ALLOW_HTTP_REDIRECTS", "false")  # no server may send the client elsewhere
    client = MlflowClient(f"{scheme.partition('+')[2]}://{place['server']}")
    if place["run"]:
        runs: Iterable[Any] = [client.get_run(place["run"])]
    else:
        named = client.get_experiment_by_name(place["experiment"])
        runs = _pages(client, named.experiment_id if named else place["experiment"])
    for run in runs:
        info, data = run.info, run.data
        metrics = [metric for metric in data.metrics if not metric.startswith(SYSTEM)]
        points = [point for metric in metrics for point in client.get_metric_history(info.run_id, metric)]
        points.sort(key=lambda point: point.timestamp)
        rows = [{"step": p.step, "timestamp": p.timestamp / 1000, p.key: p.value} for p in points]
        known = {"name": info.run_name, "status": info.status, "start_time": info.start_time}
        datasets = [used.dataset for used in run.inputs.dataset_inputs] if run.inputs else []
        facts = {**about(known, data.tags), "dataset": listed((d.name, d.digest) for d in datasets)}
        if rows:
            params = {name: typed(value) for name, value in data.params.items()}
            yield Run(info.run_id, info.run_name or info.run_id, params, facts, rows)


def _pages(client: Any, experiment: str) -> Iterator[Any]:
    page = client.search_runs([experiment])
    yield from page
    while page.token:
        page = client.search_runs([experiment], page_token=page.token)
        yield from page


# --- Weights & Biases ---

_STATES = {"finished": "finished", "failed": "crashed", "crashed": "crashed", "killed": "killed"}


def _wandb(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from wandb import Api

    project = f"{place['entity']}/{place['project']}"
    api = Api()
    for run in [api.run(f"{project}/{place['run']}")] if place["run"] else api.runs(project):
        facts = {**surroundings(run.metadata or {}), "git_commit": run.commit, "project": place["project"]}
        facts |= {"name": run.name, "ended": _STATES.get(run.state)}
        config = {name: value for name, value in run.config.items() if not name.startswith("_")}
        rows = (
            {name: value for name, value in row.items() if value is not None and name != "_runtime"}
            for row in run.scan_history()
        )
        yield Run(run.id, run.name or run.id, config, facts, rows)


# --- Trackio ---


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
        # without `scalar_only` a number that is not finite is null; with it, left out
        (batch,) = client.predict(project, asked, 1 << 31, False, api_name="/get_logs_batch")
        rows = ({name: math.nan if v is None else v for name, v in row.items()} for row in batch["logs"])
        config = configs.get(run_id) or configs.get(name) or {}
        config = {key: value for key, value in config.items() if not key.startswith("_")}
        yield Run(run_id, name, config, {"name": name, "project": project}, rows)


# --- Aim ---

_AIM_OWN = "__system"  # what Aim itself tells of machine and environment


def _aim(scheme: str, place: Mapping[str, str]) -> Iterator[Run]:
    from aim import Repo

    with scratch() as copy:
        if place["path"]:  # it is opened for writing, or what no client has closed yet is not seen
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
    config: dict[str, Any] = {}
    params = run.get(..., {}) or {}
    for name, value in params.items():
        if not name.startswith(_AIM_OWN):
            config |= value if isinstance(value, Mapping) else {name: value}
    own = params.get("__system_params", {})  # among it are all variables of the environment, which stay there
    git = own.get("git_info", {})
    facts = {"name": run.name, "experiment": run.experiment, "started_at": run.creation_time}
    facts |= {"git_branch": git.get("branch"), "git_remote": git.get("remote_origin_url")}
    facts |= {"git_commit": git.get("commit", {}).get("hash"), "command": " ".join(own.get("arguments", ()))}
    return Run(run_hash, run.name or run_hash, config, facts, rows)


# --- all of them ---


@dataclass(frozen=True)
class Client:
    """What asks a server: the package, which is also the name of its extra; what stands behind the scheme of
    an address, as an expression and in words; and the runs there."""

    package: str
    place: re.Pattern[str]
    form: str
    runs: Callable[[str, Mapping[str, str]], Iterator[Run]]


_MLFLOW = re.compile(
    r"(?P<server>[^#]+?)/(?:#/)?experiments/(?P<experiment>[^/]+)(?:/runs)?(?:/(?P<run>\w+))?/?"
)
_WANDB = re.compile(r"(?P<entity>[^/]+)/(?P<project>[^/]+)(?:/runs)?(?:/(?P<run>[^/]+))?/?")
_SPACE = re.compile(r"(?P<server>[^/]+/[^/]+)/(?P<project>[^/]+)(?:/(?P<run>[^/]+))?/?")
_SERVER = re.compile(r"(?P<server>[^/]+)/(?P<project>[^/]+)(?:/(?P<run>[^/]+))?/?")
_AIM = re.compile(r"(?:(?P<server>[^/]+)(?:/(?P<run>[0-9a-f]+))?|(?P<path>/.+))/?")
CLIENTS = {
    **dict.fromkeys(
        ("mlflow+http", "mlflow+https"),
        Client(
            "mlflow", _MLFLOW, "mlflow+https://host/experiments/ID, and /runs/ID behind it for one", _mlflow
        ),
    ),
    "wandb": Client("wandb", _WANDB, "wandb://entity/project, and /run behind it for one", _wandb),
    "trackio": Client(
        "trackio", _SPACE, "trackio://owner/space/project, and /run behind it for one", _trackio
    ),
    **dict.fromkeys(
        ("trackio+http", "trackio+https"),
        Client("trackio", _SERVER, "trackio+https://host/project, and /run behind it for one", _trackio),
    ),
    "aim": Client("aim", _AIM, "aim://host:port or aim:///folder", _aim),
}
