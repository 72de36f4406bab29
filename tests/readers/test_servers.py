"""Runs on the servers of trackers: what their clients answer, and the logs that become of it.

The clients are not installed with the tests. Each is stood for by a class with the calls that are made of it;
the shape of the answers follows the source of Trackio 0.43 and Aim 3.29 and what is known of MLflow's and
W&B's interfaces. None of it was recorded from a server.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from chronicle.build.runs import runs
from chronicle.cli import cli
from chronicle.errors import ConfigError, LogError, MissingExtra, NothingToRead, UsageError
from chronicle.model import Attempt
from chronicle.readers import read
from chronicle.workspace.confines import Confines

LOSSES = [2.5, 2.25, math.nan]
BEGUN = 1_700_000_000.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONICLE_CACHE", str(tmp_path / "cache"))


def install(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """A module of this name with this content."""
    module = ModuleType(name)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)


class Page(list[Any]):
    """A page of MLflow's answers, with the token of the next one."""

    def __init__(self, runs: list[Any], token: str | None) -> None:
        super().__init__(runs)
        self.token = token


class Mlflow:
    """An MLflow server with two runs of one experiment, on two pages."""

    def __init__(self, uri: str) -> None:
        assert uri == "https://tracker.example/team"

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id="7") if name == "toy runs" else None

    def search_runs(self, experiments: list[str], page_token: str | None = None) -> Page:
        if experiments != ["7"]:
            raise ConnectionError(f"no experiment {experiments}")
        return Page([self.get_run("b")], None) if page_token else Page([self.get_run("a")], "next")

    def get_run(self, run_id: str) -> Any:
        dataset = SimpleNamespace(dataset=SimpleNamespace(name="moons", digest="1f"))
        return SimpleNamespace(
            info=SimpleNamespace(run_id=run_id, run_name=f"tower-{run_id}", status="FAILED", start_time=1),
            data=SimpleNamespace(
                metrics={"train/loss": math.nan, "system/cpu": 1.0},
                params={"lr": "0.1", "seed": "7"},
                tags={"mlflow.source.git.commit": "0f0f"},
            ),
            inputs=SimpleNamespace(dataset_inputs=[dataset]),
        )

    def get_metric_history(self, run_id: str, metric: str) -> list[Any]:
        assert metric == "train/loss"
        return [
            SimpleNamespace(key=metric, step=10 * k, value=value, timestamp=int(1000 * (BEGUN + k)))
            for k, value in enumerate(LOSSES)
        ]


class Wandb:
    """W&B's server with one run."""

    def runs(self, project: str) -> list[Any]:
        return [self.run(f"{project}/a1")]

    def run(self, path: str) -> Any:
        assert path == "team/toy/a1"
        rows = [
            {"_step": k, "_timestamp": BEGUN + k, "_runtime": k, "train/loss": value, "val/loss": None}
            for k, value in enumerate([*LOSSES[:2], "NaN"])
        ]
        return SimpleNamespace(
            id="a1",
            name="tower",
            state="crashed",
            commit="0f0f",
            config={"lr": 0.1, "seed": 7, "_wandb": {}},
            metadata={"host": "node-3"},
            scan_history=lambda: iter(rows),
        )


class Trackio:
    """A Space of Trackio with one run."""

    def __init__(self, server: str) -> None:
        assert server in ("team/space", "http://127.0.0.1:7860")

    def predict(self, project: str, *asked: Any, api_name: str) -> Any:
        assert project == "toy"
        if api_name == "/get_run_configs":
            return {"f00d": {"lr": 0.1, "seed": 7, "_Username": "me"}}
        if api_name == "/get_runs_for_project":
            return [{"id": "f00d", "name": "tower"}]
        assert (api_name, asked[0]) == ("/get_logs_batch", [{"run": "tower", "run_id": "f00d"}])
        rows = [
            {"train/loss": value, "timestamp": f"2023-11-14T22:13:2{k}+00:00", "step": k}
            for k, value in enumerate(LOSSES)
        ]
        return [{"run": "tower", "run_id": "f00d", "logs": rows}]


class AimRun:
    """A run of Aim with one metric in a context."""

    def __init__(self, run_hash: str, **how: Any) -> None:
        assert run_hash == "c0ffee"
        self.name, self.experiment, self.creation_time = "tower", "toy", BEGUN

    def get(self, key: Any, otherwise: Any) -> Any:
        return {"hparams": {"lr": 0.1, "seed": 7}}

    def metrics(self) -> list[Any]:
        data = SimpleNamespace(
            items_list=lambda: ([0, 1, 2], [LOSSES, [0.0] * 3, [BEGUN, BEGUN + 1, BEGUN + 2]])
        )
        context = SimpleNamespace(to_dict=lambda: {"subset": "train"})
        return [SimpleNamespace(name="loss", context=context, data=data)]


class AimRepo:
    """A repository of Aim with one run."""

    def __init__(self, path: str) -> None:
        assert path == "aim://127.0.0.1:53800" or (Path(path) / ".aim").is_dir()

    def list_all_runs(self) -> list[str]:
        return ["c0ffee"]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """All clients, with a server each."""
    install(monkeypatch, "mlflow", MlflowClient=Mlflow)
    install(monkeypatch, "wandb", Api=Wandb)
    install(monkeypatch, "trackio")
    install(monkeypatch, "trackio.remote_client", RemoteClient=Trackio)
    install(monkeypatch, "aim", Repo=AimRepo, Run=AimRun)


def loss(attempt: Attempt) -> tuple[list[int], list[float], list[float]]:
    series = attempt.series["train/loss"]
    return series.steps.tolist(), series.values[:2].tolist(), (series.times - BEGUN).tolist()


@pytest.mark.usefixtures("clients")
@pytest.mark.parametrize(
    ("address", "steps", "facts"),
    [
        (
            "mlflow+https://tracker.example/team/#/experiments/7/runs/a",
            [0, 10, 20],
            {"name": "tower-a", "ended": "crashed", "git_commit": "0f0f", "dataset": "moons (1f)"},
        ),
        ("wandb://team/toy/runs/a1", [0, 1, 2], {"name": "tower", "ended": "crashed", "host": "node-3"}),
        ("trackio://team/space/toy/tower", [0, 1, 2], {"name": "tower", "project": "toy"}),
        ("trackio+http://127.0.0.1:7860/toy", [0, 1, 2], {"name": "tower", "project": "toy"}),
        ("aim://127.0.0.1:53800", [0, 1, 2], {"name": "tower", "experiment": "toy"}),
    ],
)
def test_a_run_is_read_as_a_log_of_its_points(address: str, steps: list[int], facts: dict[str, Any]) -> None:
    (attempt,) = read(address)
    assert loss(attempt) == (steps, LOSSES[:2], [0.0, 1.0, 2.0])
    assert math.isnan(attempt.series["train/loss"].values[2])
    assert list(attempt.series) == ["train/loss"]
    wanted = {"config/lr": 0.1, "seed": 7, **facts}
    assert {name: attempt.facts.get(name) for name in wanted} == wanted
    assert attempt.sources[0].startswith(address)


@pytest.mark.usefixtures("clients")
def test_an_experiment_gives_each_of_its_runs() -> None:
    found = runs("mlflow+https://tracker.example/team/experiments/toy%20runs")
    assert [run.run_id for run in found] == ["tower-a", "tower-b"]
    assert [len(run.timeline().series["train/loss"]) for run in found] == [3, 3]


@pytest.mark.usefixtures("clients")
def test_a_folder_of_aim_is_read_from_a_copy(tmp_path: Path) -> None:
    (tmp_path / ".aim").mkdir()
    (attempt,) = read(f"aim://{tmp_path}")
    assert loss(attempt)[0] == [0, 1, 2]


@pytest.mark.usefixtures("clients")
def test_what_a_server_no_longer_has_goes_from_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "mlflow+https://tracker.example/team/experiments/7"
    assert len(runs(address)) == 2
    monkeypatch.setattr(Mlflow, "search_runs", lambda self, experiments: Page([self.get_run("b")], None))
    (attempt,) = read(address)
    assert attempt.facts["name"] == "tower-b"


@pytest.mark.usefixtures("clients")
@pytest.mark.parametrize(
    ("address", "error", "what"),
    [
        (
            "wandb://team",
            UsageError,
            "wandb://team: names no run. Remedy: write wandb://entity/project, and /run behind it for one",
        ),
        (
            "mlflow+https://tracker.example/team/experiments/8",
            LogError,
            "cannot be fetched (ConnectionError: no experiment ['8']). Remedy: check address and access",
        ),
        ("trackio://team/space/toy/other", NothingToRead, "no run with a metric"),
    ],
)
def test_what_is_said_of_a_server_that_gives_nothing(address: str, error: type, what: str) -> None:
    with pytest.raises(error, match=f"^.*{what.replace('(', '.').replace(')', '.').replace('[', '.')}$"):
        read(address)


def test_a_client_that_is_not_installed_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra) as told:
        read("wandb://team/toy")
    assert str(told.value) == (
        "reading wandb://team/toy needs the package 'wandb', which is not installed. "
        "Remedy: pip install 'training-chronicle[wandb]'"
    )


def test_a_workspace_asks_only_servers_that_it_allows(tmp_path: Path) -> None:
    address = "wandb://team/toy"
    with pytest.raises(ConfigError, match="wandb://team/toy may not be fetched"):
        Confines(tmp_path).require_address(address, "run.toml")
    assert Confines(tmp_path, ("wandb://team",)).require_address(address, "run.toml") == address


@pytest.mark.usefixtures("clients")
def test_the_command_takes_the_address_of_a_server() -> None:
    made = CliRunner().invoke(cli, ["classify", "trackio://team/space/toy"])
    assert made.exit_code == 0, made.output
