"""A site of many runs: the build against a plain `mkdocs build` of the same Markdown, side by side.

    python -m benchmarks.site [--runs 1000] [--write]

Distinct logs are made, read, classified and drawn once each; the other runs are copies of them, with their
entries in the cache, so that what is timed is the reduce step: all entries to all pages to the site.
`--write` puts the table into docs/speed.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, markdown, show

DISTINCT = 20


def log(file: Path, seed: int) -> None:
    """A short healthy log with a gradient norm; every third one has a spike."""
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


def seconds(command: list[str], work: Path) -> float:
    start = time.perf_counter()
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=work, capture_output=True, check=True, env=environment)
    return time.perf_counter() - start


def copy_runs(work: Path, number: int) -> None:
    """``number`` runs in all: each copy has its own id, and the entry of its original in the cache."""
    for i in range(DISTINCT, number):
        source, run = f"run-{i % DISTINCT:04}", f"run-{i:04}"
        shutil.copytree(work / "runs" / source, work / "runs" / run)
        entries = work / "build" / "entries"
        shutil.copytree(entries / source, entries / run, copy_function=os.link)
        (entries / run / "entry.json").unlink()
        entry = json.loads((entries / source / "entry.json").read_text("utf-8"))
        entry.update(run_id=run, title=run)
        (entries / run / "entry.json").write_text(json.dumps(entry), "utf-8")


def measure(runs: int, work: Path) -> list[tuple[str, str, str]]:
    chronicle(work, "init", ".")
    for i in range(DISTINCT):
        folder = work / "runs" / f"run-{i:04}"
        folder.mkdir(parents=True)
        log(folder / "log.csv", i)
    chronicle(work, "build", "--quiet")
    index_before = index_bytes(work)
    copy_runs(work, runs)
    chronicle(work, "build", "--quiet")
    ours, plain = [], []
    for _ in range(3):  # alternating, so that a busy machine is busy for both
        ours.append(seconds([sys.executable, "-m", "chronicle", "build", "--quiet"], work))
        plain.append(
            seconds([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", "plain"], work)
        )
    pages = sorted((work / "build" / "site").rglob("*.html"), key=lambda p: p.stat().st_size)
    extra = (index_bytes(work) - index_before) / (runs - DISTINCT)
    folder = work / "runs" / "one-more"
    folder.mkdir()
    log(folder / "log.csv", 999)
    said = chronicle(work, "build", "--verbose").stderr
    read = re.findall(r"^(\S+): read$", said, re.M)
    largest = pages[-1]
    return [
        ("chronicle build, nothing changed", f"{min(ours):.1f} s", ""),
        ("plain mkdocs build of the same Markdown", f"{min(plain):.1f} s", ""),
        ("ratio", f"{min(ours) / min(plain):.2f}", "≤ 1.3"),
        ("largest page", f"{largest.stat().st_size / 1000:.0f} KB ({largest.name})", "≤ 100 KB"),
        ("search index a run", f"{extra / 1000:.2f} KB", "≤ 0.5 KB"),
        ("read again after one new run", ", ".join(read), "that one alone"),
    ]


def index_bytes(work: Path) -> int:
    return (work / "build" / "site" / "assets" / "search-runs.js").stat().st_size


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.runs, Path(folder))
    show("site", markdown([f"{given.runs} runs", "measured", "goal"], rows), given.write)


if __name__ == "__main__":
    main()
