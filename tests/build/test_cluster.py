"""A dask cluster of the user's own: all comes back, and a killed worker costs nothing but its time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.build.tasks import double, killed_at_seven, lost
from tests.logs import healthy

from chronicle.build import build, make_entries, places
from chronicle.build.sources import expand
from chronicle.build.workers import on_cluster
from chronicle.errors import UsageError
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import Workspace, init

if TYPE_CHECKING:  # each process of the tests would import it, and one of them has these
    from distributed import LocalCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A cluster of two workers, which gives up what has killed one of them twice.

    A worker may take as long as it takes to begin: by default the cluster goes without one that has not come
    back within 15 s, on a busy machine without all of them, and then waits for ever. A worker has one item at
    a time: one that only waited behind what kills would be given up with it, or not, as they are timed. Any
    free port serves its status: on the default one another cluster may listen.
    """
    import dask
    from distributed import LocalCluster

    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
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
def test_what_killed_workers_had_begun_is_begun_again(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are killed as soon as one item is done; what passed from the first to the second outlives both."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 2)
    results, killed = on_cluster(double, range(20), str(cluster.scheduler_address), lost), []
    done = [next(results)]
    for worker in cluster.workers.values():
        killed.append(worker.process.pid)
        os.kill(killed[-1], signal.SIGKILL)
    assert sorted([*done, *results]) == [2 * n for n in range(20)]
    assert len(killed) == 2


@pytest.mark.slow
def test_a_cluster_makes_entries_of_runs_named_by_relative_paths(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        Path(f"run-{number}").mkdir()
        healthy(Path(f"run-{number}/log.csv"), seed=number)
    runs, kept, seen = expand([Path("run-0"), Path("run-1")]), Path("kept"), []
    made = make_entries(runs, WorkspaceConfig(), kept, 1, lambda outcome, n: seen.append(n), scheduler)
    assert [(outcome.problems, outcome.entry.run_id) for outcome in made if outcome.entry] == [
        ((), "run-0"),
        ((), "run-1"),
    ]
    assert all(Path(f"kept/run-{number}/entry.json").is_file() for number in range(2))
    again = make_entries(runs, WorkspaceConfig(), kept, 1, lambda outcome, n: seen.append(n), "nobody:1")
    assert [outcome.cached for outcome in again] == [True, True]
    assert seen == [2, 2, 2, 2]


@pytest.mark.slow
def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    init(tmp_path)
    (tmp_path / "runs" / "a").mkdir()
    healthy(tmp_path / "runs" / "a" / "log.csv")
    workspace = Workspace(tmp_path)
    with pytest.raises(UsageError, match="--dask no-scheme://x: no scheduler answers"):
        build(workspace, workspace.runs(), places(workspace, None), dask="no-scheme://x")
