"""Runs on the servers of trackers: what their clients answer, and the logs that become of it.

The clients are not installed with the tests. Those of MLflow, Trackio and Aim are stood for by classes that
give the answers of real servers, which `python -m benchmarks.clients.servers` records into
tests/readers/answers: of a run of three launches, with a kick, a rollback, a resume and NaN from step 19 on.
W&B has no server to start here; the shape of its answers follows the source of wandb 0.31
(`wandb.apis.public`).
"""

from __future__ import annotations

import json
import math
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.readers.writers import csv_log

from chronicle.build.produce import runs
from chronicle.cli import cli
from chronicle.errors import ConfigError, LogError, MissingExtra, NothingToRead, UsageError
from chronicle.readers import local, read
from chronicle.workspace.config import Confines

LOSSES = [2.5, 2.25, math.nan]
BEGUN = 1_700_000_000.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHRONICLE_CACHE", str(tmp_path / "cache"))


def install(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """A module of this name with this content."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)


ANSWERS = Path(__file__).parent / "answers"


def answers(client: str) -> Any:
    """What a real server answered its client, objects as such."""

    def made(value: dict[str, Any]) -> Any:
        if value.keys() == {"fields"}:
            return SimpleNamespace(**value["fields"])
        return Page(value["page"], value["token"]) if value.keys() == {"page", "token"} else value

    return json.loads((ANSWERS / f"{client}.json").read_text(), object_hook=made)


class Page(list[Any]):
    """A page of MLflow's answers, with the token of the next one."""

    def __init__(self, runs: list[Any], token: str | None) -> None:
        super().__init__(runs)
        self.token = token


class Mlflow:
    """The client of a server of MLflow with two runs of one experiment, on two pages."""

    def __init__(self, uri: str) -> None:
        assert uri == "https://tracker.example/team"
        self.told = answers("mlflow")

    def get_experiment_by_name(self, name: str) -> Any:
        return self.told["experiment"] if name == "toy" else None

    def search_runs(self, experiments: list[str], page_token: str | None = None) -> Page:
        if experiments != [self.told["experiment"].experiment_id]:
            raise ConnectionError(f"no experiment {experiments}")
        first, second = self.told["pages"]
        return second if page_token and page_token == first.token else first

    def get_run(self, run_id: str) -> Any:
        return next(run for page in self.told["pages"] for run in page if run.info.run_id == run_id)

    def get_metric_history(self, run_id: str, metric: str) -> list[Any]:
        assert not metric.startswith("system/")
        return self.told["histories"][run_id][metric]


def run_of_mlflow(name: str) -> str:
    """The id of a run."""
    return next(r.info.run_id for p in answers("mlflow")["pages"] for r in p if r.info.run_name == name)


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
    """The client of a server of Trackio with one run."""

    def __init__(self, server: str) -> None:
        assert server in ("team/space", "http://127.0.0.1:7860")
        self.told = answers("trackio")

    def predict(self, project: str, *asked: Any, api_name: str) -> Any:
        assert project == "toy"
        if asked:
            (run,) = self.told["/get_runs_for_project"]
            assert asked == ([{"run": run["name"], "run_id": run["id"]}], 1 << 31, False)
        return self.told[api_name]


class AimRun:
    """The run on a server of Aim."""

    def __init__(self, run_hash: str, **how: Any) -> None:
        self.told = answers("aim")[run_hash]
        self.name, self.experiment = self.told["name"], self.told["experiment"]
        self.creation_time = self.told["creation_time"]

    def get(self, key: Any, otherwise: Any) -> Any:
        return self.told["params"]

    def metrics(self) -> list[Any]:
        return [
            SimpleNamespace(
                name=metric["name"],
                context=SimpleNamespace(to_dict=lambda metric=metric: metric["context"]),
                data=SimpleNamespace(items_list=lambda metric=metric: metric["items"]),
            )
            for metric in self.told["metrics"]
        ]


class AimRepo:
    """A repository of Aim with one run."""

    def __init__(self, path: str) -> None:
        assert path == "aim://127.0.0.1:53800" or (Path(path) / ".aim").is_dir()

    def list_all_runs(self) -> list[str]:
        return [run for run, answer in answers("aim").items() if "params" in answer]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """All clients, with a server each."""
    install(monkeypatch, "mlflow", MlflowClient=Mlflow)
    install(monkeypatch, "wandb", Api=Wandb)
    install(monkeypatch, "trackio")
    install(monkeypatch, "trackio.remote_client", RemoteClient=Trackio)
    install(monkeypatch, "aim", Repo=AimRepo, Run=AimRun)


LAUNCHED = [*range(12), *range(10, 18), *range(18, 24)]  # steps, as the three launches log them
METRICS = {"train/loss", "train/learning_rate", "train/grad_norm", "val/loss"}


@pytest.mark.usefixtures("clients")
@pytest.mark.parametrize(
    ("address", "steps", "facts"),
    [
        (
            "mlflow+https://tracker.example/team/#/experiments/1/runs/" + run_of_mlflow("kicked-and-resumed"),
            LAUNCHED,
            {"name": "kicked-and-resumed", "ended": "finished", "tag/dataset": "two-moons-of-numpy"},
        ),
        (
            "trackio://team/space/toy/kicked-and-resumed",
            LAUNCHED,
            {"name": "kicked-and-resumed", "project": "toy"},
        ),
        ("trackio+http://127.0.0.1:7860/toy", LAUNCHED, {"name": "kicked-and-resumed", "project": "toy"}),
        ("aim://127.0.0.1:53800", [*range(24)], {"experiment": "toy"}),  # Aim keeps one value a step
    ],
)
def test_a_run_on_a_real_server_is_read_as_it_was_logged(
    address: str, steps: list[int], facts: dict[str, Any]
) -> None:
    (attempt,) = read(address)
    assert set(attempt.series) == METRICS
    loss = attempt.series["train/loss"]
    assert loss.steps.tolist() == attempt.series["val/loss"].steps.tolist() == steps
    assert loss.values[:2].tolist() == [3.371989530222751, 3.58267760137889]
    assert np.isnan(loss.values).tolist() == [step >= 19 for step in steps]
    assert np.all(np.diff(loss.times) >= 0)  # Trackio's client dates all that it sends at once alike
    wanted = {"config/peak_lr": 0.05, "seed": 7, "dataset": "two-moons-of-numpy", **facts}
    assert {name: attempt.facts.get(name) for name in wanted} == wanted
    assert attempt.sources[0].startswith(address)


@pytest.mark.usefixtures("clients")
@pytest.mark.parametrize(
    ("address", "joins"),
    [
        ("mlflow+https://tracker.example/team/experiments/1", ["rollback", "resume"]),
        ("trackio+http://127.0.0.1:7860/toy", ["rollback", "resume"]),
    ],
)
def test_launches_of_a_run_on_a_server_are_stitched(address: str, joins: list[str]) -> None:
    run = next(run for run in runs(address) if run.run_id == "kicked-and-resumed")
    assert [join.kind.value for join in run.timeline().joins] == joins


@pytest.mark.usefixtures("clients")
def test_a_run_of_wandb_is_read_by_its_documented_answers() -> None:
    (attempt,) = read("wandb://team/toy/runs/a1")
    series = attempt.series["train/loss"]
    assert (list(attempt.series), series.steps.tolist()) == (["train/loss"], [0, 1, 2])
    assert str(series.values.tolist()) == "[2.5, 2.25, nan]"
    assert (series.times - BEGUN).tolist() == [0.0, 1.0, 2.0]
    wanted = {"name": "tower", "ended": "crashed", "host": "node-3", "config/lr": 0.1, "git_commit": "0f0f"}
    assert {name: attempt.facts.get(name) for name in wanted} == wanted


@pytest.mark.usefixtures("clients")
def test_an_experiment_gives_each_of_its_runs() -> None:
    by_id = {run.run_id: run for run in runs("mlflow+https://tracker.example/team/experiments/toy")}
    assert sorted(by_id) == ["kicked-and-resumed", "tower"]
    (attempt,) = by_id["tower"].timeline().attempts
    wanted = {"ended": "crashed", "git_commit": "0f0f", "dataset": "moons (1f)", "config/lr": 0.1}
    assert {name: attempt.facts.get(name) for name in wanted} == wanted
    assert (list(attempt.series), attempt.series["train/loss"].steps.tolist()) == (["train/loss"], [10])


@pytest.mark.usefixtures("clients")
def test_a_folder_of_aim_is_read_from_a_copy(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".aim").mkdir(parents=True)
    for place in (f"aim://{project}", project):
        (attempt,) = read(place)
        assert attempt.series["train/loss"].steps.tolist() == [*range(24)]
    with pytest.raises(LogError, match=r"which only Aim.s own package reads, and not if it is untrusted"):
        local(project, Confines(project, trusted=False))
    csv_log(project / "metrics.csv", {"loss": [(1, 2.0), (2, 1.5)]})
    assert [*read(project)[0].series] == ["loss"]  # a repository beside logs is named by its address


@pytest.mark.usefixtures("clients")
def test_what_aim_tells_of_the_environment_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `log_system_params` it keeps all variables of the environment, passwords too."""
    own = {"env_variables": {"PASSWORD": "hunter2"}, "arguments": ["train.py", "--lr", "0.1"]}
    own["git_info"] = {"branch": "main", "commit": {"hash": "0f0f"}, "remote_origin_url": "git@host:toy"}
    params = {"hparams": {"lr": 0.1}, "__system_params": own}
    monkeypatch.setattr(AimRun, "get", lambda self, key, otherwise: params)
    (attempt,) = read("aim://127.0.0.1:53800")
    assert "hunter2" not in str(attempt.facts)
    wanted = {"git_commit": "0f0f", "git_branch": "main", "git_remote": "git@host:toy", "config/lr": 0.1}
    wanted["command"] = "train.py --lr 0.1"
    assert {name: attempt.facts.get(name) for name in wanted} == wanted


@pytest.mark.usefixtures("clients")
def test_the_address_of_a_project_and_that_of_a_run_in_it_share_no_log() -> None:
    project, run = "trackio+http://127.0.0.1:7860/toy", "trackio+http://127.0.0.1:7860/toy/kicked-and-resumed"
    for address in (project, run, project, run):
        assert [below.run_id for below in runs(address)] == ["kicked-and-resumed"]


@pytest.mark.usefixtures("clients")
def test_what_a_server_no_longer_has_goes_from_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "mlflow+https://tracker.example/team/experiments/1"
    assert len(runs(address)) == 2
    tower = run_of_mlflow("tower")
    monkeypatch.setattr(Mlflow, "search_runs", lambda self, experiments: Page([self.get_run(tower)], None))
    (attempt,) = read(address)
    assert attempt.facts["name"] == "tower"


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
    with pytest.raises(MissingExtra) as caught:
        read("wandb://team/toy")
    assert str(caught.value) == (
        "reading wandb://team/toy needs the package 'wandb', which is not installed. "
        "Remedy: pip install wandb"
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
