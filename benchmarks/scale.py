"""Does time stay linear, and is memory bounded by the largest run? From 1e6 points to 1e8.

    python -m benchmarks.scale [--points 1000000] [--runs 1 10 100] [--files 1 10] [--write]

Event files of ten tags, four of which are judged. First many runs (links to one file: the disk holds it
once), read, stitched and classified one after the other in one process; then one run of many files that go
on from each other. `--write` puts the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.event_files import TAGS, measured, write
from benchmarks.page import put

CODE = """
import time
from pathlib import Path
from chronicle.classify import classify
from chronicle.config import WorkspaceConfig
from chronicle.produce import read_run
from chronicle.sources import expand
from chronicle.timeline import stitch
points, spent = 0, [0.0, 0.0]
for run in expand([Path({!r})]):
    start = time.perf_counter()
    attempts, problems = read_run(run, WorkspaceConfig())
    read = time.perf_counter()
    classify(stitch(attempts, run_id=run.run_id))
    spent = [spent[0] + read - start, spent[1] + time.perf_counter() - read]
    points += sum(len(s) for one in attempts for s in one.series.values())
    attempts = None
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(points, int(peak) // 1024, *(round(1000 * s) for s in spent))
"""


def many_runs(root: Path, n_runs: int, n_points: int) -> Path:
    """A folder of runs of one file each."""
    folder, file = root / f"runs-{n_runs}", root / "events.out.tfevents.1"
    if not file.exists():
        write(file, n_points, "simple_value")
    for number in range(n_runs):
        run = folder / f"case-{chr(97 + number // 26)}{chr(97 + number % 26)}"
        run.mkdir(parents=True)
        os.link(file, run / file.name)
    return folder


def one_run(root: Path, n_files: int, n_points: int) -> Path:
    """A folder of the files of one run."""
    folder = root / f"files-{n_files}"
    folder.mkdir()
    for number in range(n_files):
        first = number * n_points // len(TAGS)
        write(folder / f"events.out.tfevents.{1000 + number}", n_points, "simple_value", first)
    return folder


def row(what: str, folder: Path) -> str:
    """What a process takes that reads, stitches and classifies all that is in the folder."""
    cost = measured("-c", CODE.format(str(folder)))
    peak_mib, read_ms, judge_ms = cost.printed
    return (
        f"| {what} | {cost.points:,} | {read_ms / 1000:.1f} s | {judge_ms / 1000:.1f} s "
        f"| {(read_ms + judge_ms) * 1000 / cost.points:.2f} s | {peak_mib} MiB |"
    )


def measure(n_points: int, runs: list[int], files: list[int]) -> Iterator[str]:
    """The rows of the table."""
    yield "| what | points | reading | stitching and classifying | a million points | peak memory |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for n_runs in runs:
        with tempfile.TemporaryDirectory() as root:
            yield row(f"runs of one file: {n_runs}", many_runs(Path(root), n_runs, n_points))
    for n_files in files:
        with tempfile.TemporaryDirectory() as root:
            yield row(f"files of one run: {n_files}", one_run(Path(root), n_files, n_points))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=1_000_000, help="points a file")
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--files", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args()
    table = "\n".join([*measure(options.points, options.runs, options.files)])
    print(table)
    if options.write:
        put("scale", "python -m benchmarks.scale", table)


if __name__ == "__main__":
    main()
