"""A site of many runs: the cost of a build after one run changed, after nothing changed, and from nothing.

    python -m benchmarks.site [--runs 3000] [--write]

Distinct logs are made, read, classified and drawn once each. The other runs are copies of them, with their
entries in the store, so that only the reduce step is measured: from all entries to all pages to the site. The
site after one changed run is compared, file by file, with that of a build without any previous one. `--write`
puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.page import of_runs
from chronicle.build.produce import Product
from chronicle.build.store import ENTRY, ROW, manifest, note_kept
from chronicle.workspace.folders import Workspace, run_in

DISTINCT = 20
COST = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss)
"""


def log(file: Path, seed: int) -> None:
    """A short healthy log with a gradient norm; every third log has a spike."""
    random = np.random.default_rng(seed)
    steps = np.arange(10, 6010, 10)
    loss = 1.8 + 4 * steps**-0.35 + random.normal(0, 0.01, len(steps))
    if seed % 3 == 0:
        loss[300:306] += np.linspace(0.8, 0.1, 6)
    norm = np.exp(random.normal(-1, 0.1, len(steps)))
    rows = (f"{s},{v:.5f},{g:.4f}\n" for s, v, g in zip(steps, loss, norm, strict=True))
    file.write_text("step,train/loss,grad_norm\n" + "".join(rows), "utf-8")


def chronicle(work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chronicle", *arguments]
    return subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)


class Cost(NamedTuple):
    """CPU and wall time of a command with all its children, and the memory of its largest process."""

    cpu_s: float
    wall_s: float
    peak_mib: int

    def __str__(self) -> str:
        return f"{self.cpu_s:.1f} s CPU, {self.wall_s:.1f} s wall, {self.peak_mib} MiB"


def cost(command: list[str], work: Path) -> Cost:
    """The cost of a command, measured in a process that starts nothing else."""
    printed = subprocess.run(
        [sys.executable, "-c", COST, *command], cwd=work, capture_output=True, text=True, check=True
    )
    cpu_s, wall_s, peak_kib = map(float, printed.stdout.split())
    return Cost(cpu_s, wall_s, round(peak_kib / 1024))


def build(work: Path, *options: str) -> Cost:
    return cost([sys.executable, "-m", "chronicle", "build", "--quiet", *options], work)


def copy_runs(work: Path, number: int) -> None:
    """Copies runs until there are ``number``. Each copy has its own id, and in the store the entry of its
    original."""
    workspace = Workspace.find(work)
    assert workspace
    for i in range(DISTINCT, number):
        source, run = (work / "build" / "entries" / f"run-{n:05}" for n in (i % DISTINCT, i))
        shutil.copytree(work / "runs" / source.name, work / "runs" / run.name)
        run.mkdir()
        own = {"run_id": run.name, "title": run.name}
        entry, row = (json.loads((source / name).read_bytes()) for name in (ENTRY, ROW))
        for name, value in ((ENTRY, {**entry, **own}), (ROW, {**row, "entry": {**row["entry"], **own}})):
            (run / name).write_text(json.dumps(value, ensure_ascii=False), "utf-8")
        for name in manifest(source)[1].keys() - {ENTRY, ROW}:
            os.link(source / name, run / name)
        product = Product(run_in(work / "runs" / run.name, workspace.confines), workspace.config, run)
        note_kept(run, product.key(), manifest(source)[1])


def contents(folder: Path) -> dict[str, str]:
    """The files of a site, each by a hash of its bytes."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def measure(runs: int, work: Path) -> list[tuple[str, str, str]]:
    chronicle(work, "init", ".")
    for i in range(DISTINCT):
        folder = work / "runs" / f"run-{i:05}"
        folder.mkdir(parents=True)
        log(folder / "log.csv", i)
    chronicle(work, "build", "--quiet")
    copy_runs(work, runs)
    site = work / "build" / "site"
    first = build(work)
    (work / "runs" / "run-00003" / "notes.md").write_text("Seen before.\n")
    one = build(work)
    part, unchanged = contents(site), build(work)
    (work / "build" / "made.json").unlink()
    whole = build(work)
    anew = contents(site)
    differing = [name for name in part.keys() | anew.keys() if part.get(name) != anew.get(name)]
    index = next(site.glob("assets/search-runs.js"), None)
    largest = max(site.rglob("*.html"), key=lambda page: page.stat().st_size)
    return [
        ("one run changed", str(one), "≤ 5 s CPU and wall, ≤ 350 MiB"),
        ("nothing changed", str(unchanged), ""),
        ("all pages, entries in the store", str(whole), ""),
        ("the first build of the site", str(first), ""),
        ("files that differ between one run changed and all pages", str(len(differing)), "0"),
        ("largest page", f"{largest.stat().st_size / 1000:.0f} KB ({largest.name})", "≤ 100 KB"),
        ("search index a run", f"{index.stat().st_size / runs / 1000:.2f} KB" if index else "none", ""),
    ]


if __name__ == "__main__":
    of_runs("site", __doc__, measure)
