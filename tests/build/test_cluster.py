"""A dask cluster of the user's own: all comes back, and a killed worker costs nothing but its time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster
from tests.build.tasks import double, killed_at_seven, lost
from tests.cli.test_cli import healthy, plain_engine

from chronicle.build import build, make_entries, places
from chronicle.build.produce import Outcome
from chronicle.build.sources import expand
from chronicle.build.workers import on_cluster
from chronicle.errors import UsageError
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import Workspace, init


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A cluster of two workers, which gives up what has killed one of them twice.

    A worker may take as long as it takes to begin: by default the cluster goes without one that has not come
    back within 15 s, on a busy machine without all of them, and then waits for ever. A worker has one item at
    a time: one that only waited behind what kills would be given up with it, or not, as they are timed.
    """
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.scheduler.worker-saturation": 1.0,
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with dask.config.set(settings), LocalCluster(**local) as cluster:
        yield cluster


@pytest.fixture
def scheduler(cluster: LocalCluster) -> str:
    """Its address."""
    return str(cluster.scheduler_address)


@pytest.mark.slow
def test_what_kills_every_worker_of_a_cluster_is_lost_alone(scheduler: str) -> None:
    done = on_cluster(killed_at_seven, range(10), scheduler, lost)
    assert sorted(done) == [-7, *(2 * n for n in range(10) if n != 7)]


@pytest.mark.slow
def test_a_cluster_makes_entries_of_runs_named_by_relative_paths(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    healthy(Path("run/log.csv"))
    runs, kept, seen = expand([Path("run")]), Path("kept"), []
    made = make_entries(runs, WorkspaceConfig(), kept, 1, lambda outcome, n: seen.append(n), scheduler)
    assert [outcome.problems for outcome in made] == [()]
    assert Path("kept/run/entry.json").is_file()
    again = make_entries(runs, WorkspaceConfig(), kept, 1, lambda outcome, n: seen.append(n), "nobody:1")
    assert [outcome.cached for outcome in again] == [True]
    assert seen == [1, 1]


@pytest.mark.slow
def test_a_build_whose_workers_are_killed_ends_complete(cluster: LocalCluster, tmp_path: Path) -> None:
    """Both are killed as soon as one run is done: what they had begun is begun again."""
    init(tmp_path)
    plain_engine(tmp_path)
    for number in range(4):
        (tmp_path / "runs" / f"run-{number}").mkdir()
        healthy(tmp_path / "runs" / f"run-{number}" / "log.csv", seed=number)
    killed: list[int] = []

    def kill(outcome: Outcome, total: int) -> None:
        if not killed:
            killed.extend(worker.process.pid for worker in cluster.workers.values())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    workspace = Workspace(tmp_path)
    runs = workspace.runs()
    report = build(workspace, runs, places(workspace, None), dask=cluster.scheduler_address, progress=kill)
    assert (len(killed), report.unreadable) == (2, [])
    site = tmp_path / "build" / "site" / "runs"
    assert all((site / run.run_id / "index.html").is_file() for run in runs)
    assert [entry.run_id for entry in report.entries] == [run.run_id for run in runs]


@pytest.mark.slow
def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="--dask no-scheme://x: no scheduler answers"):
        next(on_cluster(double, [1], "no-scheme://x", lost))
