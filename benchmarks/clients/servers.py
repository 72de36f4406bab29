"""Servers of trackers on this machine: a run with a kick and a resume is logged to each, and they are asked.

    PYTHONPATH=src:. CHRONICLE_CLIENTS_STEPS=24 VENV/bin/python -m benchmarks.clients.servers [NAME ...]

NAME is mlflow, trackio or aim; VENV has them (`pip install mlflow trackio aim`), and what chronicle needs.
What the clients answer to the calls that chronicle makes goes to tests/readers/answers/NAME.json, on which
the tests of `chronicle.readers.remote` stand. An object is kept as {"fields": {...}}, a page of a list as
{"page": [...], "token": "..."}. Nothing is asked of any other machine.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.clients import loops
from benchmarks.clients.training import CONFIG
from benchmarks.clients.truth import Record

REPOSITORY = Path(__file__).parents[2]
ANSWERS = REPOSITORY / "tests" / "readers" / "answers"
MOST_S = 120  # until a server listens
# What is not of the run: who and where on this machine, and what is set in its environment.
_OURS = {"mlflow.user": "someone", "user_id": "someone", "mlflow.source.name": "train.py"}
_OURS |= {"artifact_uri": "mlflow-artifacts:/", "artifact_location": "mlflow-artifacts:/"}


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(port: int, folder: Path, *command: str) -> Iterator[None]:
    """A server of this environment, from when it listens."""
    program = [str(Path(sys.executable).parent / command[0]), *command[1:]]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            program, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        begun = time.monotonic()
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if server.poll() is not None or time.monotonic() - begun > MOST_S:
                raise SystemExit(
                    f"{command[0]} does not listen: {(folder / 'server.log').read_text()[-2000:]}"
                )
            time.sleep(0.2)
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # also what the server has started
        server.wait()


def launched(client: str, folder: Path, address: str = "") -> None:
    """The three launches of the training, each in a process of its own."""
    for number in range(3):
        subprocess.run(
            [sys.executable, "-m", __spec__.name, client, str(number), address], cwd=folder, check=True
        )


def launch(client: str, number: int, address: str) -> None:
    """One launch, in the folder in which the process is."""
    log = Path.cwd()
    calls: dict[str, Callable[[], None]] = {
        "mlflow": lambda: loops._mlflow(address, number, Record()),
        "trackio": lambda: loops.trackio(log, number, Record()),
        "aim": lambda: loops.aim(log, number, Record()),
    }
    calls[client]()


def plain(answer: Any) -> Any:
    """What a client of MLflow answers, as JSON."""
    if isinstance(answer, dict):
        return {key: _OURS.get(key, plain(value)) for key, value in answer.items()}
    if isinstance(answer, list):
        page = [plain(one) for one in answer]
        return {"page": page, "token": answer.token} if hasattr(answer, "token") else page
    return answer if isinstance(answer, str | int | float | None) else {"fields": plain(dict(answer))}


def mlflow(folder: Path) -> dict[str, Any]:
    """Of MLflow's server: two runs of an experiment, on two pages; the second failed and names a data set."""
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    store = ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--workers", "1"]
    with served(port, folder, "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), *store):
        from mlflow import MlflowClient
        from mlflow.entities import Dataset, DatasetInput

        launched("mlflow", folder, uri)
        client = MlflowClient(uri)
        experiment = client.get_experiment_by_name("toy")
        other = client.create_run(experiment.experiment_id, run_name="tower").info.run_id
        client.log_metric(other, "train/loss", 2.5, step=10, timestamp=1_700_000_000_000)
        client.log_metric(other, "system/cpu_utilization_percentage", 3.0, step=0)
        client.log_param(other, "lr", 0.1)
        client.set_tag(other, "mlflow.source.git.commit", "0f0f")
        moons = Dataset(name="moons", digest="1f", source_type="local", source="moons.csv")
        client.log_inputs(other, [DatasetInput(moons, [])])
        client.set_terminated(other, "FAILED")
        first = client.search_runs([experiment.experiment_id], max_results=1)
        second = client.search_runs([experiment.experiment_id], max_results=1, page_token=first.token)
        return {
            "experiment": plain(experiment),
            "pages": [plain(first), plain(second)],
            "histories": {
                run.info.run_id: {
                    metric: plain(client.get_metric_history(run.info.run_id, metric))
                    for metric in run.data.metrics
                }
                for run in (*first, *second)
            },
        }


def trackio(folder: Path) -> dict[str, Any]:
    """Of Trackio's server: what each of its routes answers for the project."""
    launched("trackio", folder)
    os.environ |= {"TRACKIO_DIR": str(folder), "GRADIO_SERVER_PORT": "7860"}
    with served(7860, folder, "trackio", "show", "--project", "toy"):
        from trackio.remote_client import RemoteClient

        client = RemoteClient("http://127.0.0.1:7860")
        (run,) = runs = client.predict("toy", api_name="/get_runs_for_project")
        asked = [{"run": run["name"], "run_id": run["id"]}]
        return {
            "/get_run_configs": client.predict("toy", api_name="/get_run_configs"),
            "/get_runs_for_project": runs,
            "/get_logs_batch": client.predict("toy", asked, 1 << 31, False, api_name="/get_logs_batch"),
        }


def aim(folder: Path) -> dict[str, Any]:
    """Of Aim's server: each run with its parameters and metrics. Names of its environment are left out."""
    launched("aim", folder)
    port = free_port()
    with served(
        port, folder, "aim", "server", "--host", "127.0.0.1", "--port", str(port), "--repo", ".", "-y"
    ):
        from aim import Repo, Run

        repo = Repo(f"aim://127.0.0.1:{port}")
        return {
            server_run: _run_of_aim(Run(server_run, repo=repo, system_tracking_interval=None))
            for server_run in repo.list_all_runs()
        }


def _run_of_aim(run: Any) -> dict[str, Any]:
    return {
        "name": run.name,
        "experiment": run.experiment,
        "creation_time": run.creation_time,
        "params": run.get(..., {}),
        "metrics": [
            {
                "name": metric.name,
                "context": metric.context.to_dict(),
                "items": [
                    list(metric.data.items_list()[0]),
                    [list(column) for column in metric.data.items_list()[1]],
                ],
            }
            for metric in run.metrics()
        ],
    }


def main(names: list[str]) -> None:
    """The command."""
    for name in names or ["mlflow", "trackio", "aim"]:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "log"
            folder.mkdir()
            os.environ |= {"HOME": root, "DO_NOT_TRACK": "1", "AIM_UI_TELEMETRY_ENABLED": "0"}
            os.environ["PYTHONPATH"] = f"{REPOSITORY / 'src'}:{REPOSITORY}"
            answers = {"mlflow": mlflow, "trackio": trackio, "aim": aim}[name](folder)
        ANSWERS.mkdir(exist_ok=True)
        recorded = {"version": version(name), "config": CONFIG, **answers}
        (ANSWERS / f"{name}.json").write_text(json.dumps(recorded, default=float) + "\n")
        print(f"{name} {version(name)}: recorded")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[2].isdigit():
        launch(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        main(sys.argv[1:])
