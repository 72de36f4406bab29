"""The command `python -m benchmarks.clients`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.clients.catalogue import CLIENTS, ENVIRONMENTS, Client
from benchmarks.clients.truth import written

ROOT = Path(os.environ.get("CHRONICLE_CLIENTS", "build/clients")).resolve()
REPOSITORY = Path(__file__).parents[2]
# What keeps clients from calling home.
QUIET = {"WANDB_SILENT": "true", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
QUIET |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "AIM_UI_TELEMETRY_ENABLED": "0"}
QUIET |= {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "PYTHONUNBUFFERED": "1"}
QUIET |= {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}  # checkpoints of our own
LIMIT_S = 300  # a launch takes seconds
BETWEEN_S = 3.0  # from one launch to the next: no scheduler is faster


def install(names: list[str]) -> None:
    """Makes the environments of the clients."""
    for group in sorted({CLIENTS[name].environment for name in names}):
        folder = ROOT / f"venv-{group}"
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for packages in ENVIRONMENTS[group]:
            subprocess.run([str(folder / "bin/pip"), "install", "-q", *packages.split()], check=False)


def run(names: list[str]) -> None:
    """Runs each client, launch by launch, and writes its truth. Reports a client that fails."""
    for name in names:
        folder = ROOT / "logs" / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "log").mkdir(parents=True)
        failed = next((n for n in range(CLIENTS[name].launches) if not _launched(name, n, folder)), None)
        if failed is None:
            _truth(name, CLIENTS[name], folder)
        print(f"{name}: {'done' if failed is None else f'launch {failed} failed, see {folder}/console.txt'}")


def _launched(name: str, number: int, folder: Path) -> bool:
    if number:
        time.sleep(BETWEEN_S)
    python = ROOT / f"venv-{CLIENTS[name].environment}/bin/python"
    worker = [str(python), "-m", "benchmarks.clients.worker", name, str(number), str(folder)]
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(REPOSITORY), "HOME": str(folder / "home")}
    (folder / "home").mkdir(exist_ok=True)
    with (folder / "console.txt").open("a") as console:
        try:
            subprocess.run(
                worker,
                env=environment,
                stdout=console,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as err:
            print(err, file=console)
    return (folder / f"launch-{number}.json").exists()


def _truth(name: str, client: Client, folder: Path) -> None:
    launches: list[dict[str, Any]] = []
    for number in range(client.launches):
        part = folder / f"launch-{number}.json"
        launches.append(json.loads(part.read_text()))
        part.unlink()
    if client.keeps_live_only:
        launches = [
            {**launch, "series": _live(launch["series"], launches[n + 1 :])}
            for n, launch in enumerate(launches)
        ]
    written(
        folder / "truth.json",
        client=name,
        versions=launches[0]["versions"],
        exact=client.exact,
        launches=[launch["series"] for launch in launches],
        roles=client.roles,
        joins=client.joins,
        events=client.events,
        facts=client.facts,
    )


def _live(series: dict[str, Any], later: list[dict[str, Any]]) -> dict[str, Any]:
    """The points of a launch that no later one overtook."""
    firsts = [points["steps"][0] for one in later for points in one["series"].values()]
    first = min(firsts, default=1 << 62)
    kept = {name: sum(step < first for step in points["steps"]) for name, points in series.items()}
    return {name: {k: v[: kept[name]] for k, v in points.items()} for name, points in series.items()}


def show(names: list[str], *, write: bool) -> None:
    """Compares all clients that have been run, and prints or writes the matrix."""
    from benchmarks.clients.compare import compared
    from benchmarks.clients.matrix import told, written_page

    for environment in {CLIENTS[name].environment for name in names if CLIENTS[name].opens}:
        packages = [
            str(folder) for folder in (ROOT / f"venv-{environment}").glob("lib/python*/site-packages")
        ]
        sys.path += packages
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [*sys.path[:1], os.environ.get("PYTHONPATH", ""), *packages]
        )
    rows = [
        compared(ROOT / "logs" / name) for name in names if (ROOT / "logs" / name / "truth.json").exists()
    ]
    print(told(rows))
    if write:
        written_page(rows)


def main() -> None:
    """The command."""
    what, *names = sys.argv[1:] or ["help"]
    chosen = [name for name in names if name in CLIENTS] or list(CLIENTS)
    if what == "install":
        install(chosen)
    elif what == "run":
        run(chosen)
    elif what == "table":
        show(chosen, write="--write" in names)
    else:
        print(sys.modules["benchmarks.clients"].__doc__)


if __name__ == "__main__":
    main()
