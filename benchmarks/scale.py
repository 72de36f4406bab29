"""Is the time linear, and the memory bounded by the largest run? From 1e6 points to 1e8.

    python -m benchmarks.scale [--points 1000000] [--runs 1 10 100] [--files 1 10] [--write]

Event files of ten tags, four of which are judged. First many runs (links to one file, which is on disk once),
then one run of many files that continue each other. Each run goes through all stages of `chronicle build`,
one run after the other in one process: it is read, stitched, classified and drawn, and its entry and data are
written. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.event_files import TAGS, measured, write
from benchmarks.page import arguments, count, markdown, show

# Prints points, peak (MiB), and the CPU time (ms) of reading, of all until there is a diagnosis, and of all.
CODE = """
import sys, time
from importlib import import_module
from pathlib import Path
from chronicle.build.sources import expand
from chronicle.workspace.config import WorkspaceConfig

produce = import_module("chronicle.build.produce")

points, spent = 0, {"read": 0.0, "diagnose": 0.0, "produce": 0.0}

def timed(module, name):
    call = getattr(module, name)
    def measured(*args):
        start = time.process_time()
        result = call(*args)
        spent[name] += time.process_time() - start
        return result
    setattr(module, name, measured)

timed(produce.Run, "read")
timed(produce.Run, "diagnose")
timed(produce, "produce")
folder = Path(sys.argv[2])
for run in expand([Path(sys.argv[1])]):
    made = produce.produce(produce.Product(run, WorkspaceConfig(), folder))
    assert made.entry and not made.problems, made
    points += sum(metric["points"] for metric in made.entry.metrics)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
print(points, peak, *(round(1000 * s) for s in spent.values()))
"""
STAGES = ("reading", "stitching, classifying", "drawing, writing", "CPU in all", "wall")
HEAD = ("what", "points", *STAGES, "CPU of 1,000,000 points", "times the row above", "peak memory")


def many_runs(root: Path, n_runs: int, n_points: int) -> Path:
    """A folder of runs of one file each."""
    folder, file = root / "runs", root / "events.out.tfevents.1"
    write(file, n_points, "simple_value")
    for number in range(n_runs):
        run = folder / f"case-{chr(97 + number // 26)}{chr(97 + number % 26)}"
        run.mkdir(parents=True)
        os.link(file, run / file.name)
    return folder


def one_run(root: Path, n_files: int, n_points: int) -> Path:
    """A folder of the files of one run."""
    folder = root / "run"
    folder.mkdir()
    for number in range(n_files):
        first = number * n_points // len(TAGS)
        write(folder / f"events.out.tfevents.{1000 + number}", n_points, "simple_value", first)
    return folder


def row(what: str, folder: Path, root: Path, above: float) -> tuple[float, list[str]]:
    """CPU seconds of a million points, and the row: the cost of a process that builds everything in the
    folder."""
    entry = root / "entry"
    entry.mkdir()
    cost = measured("-c", CODE, str(folder), str(entry))
    peak_mib, *spent_ms = cost.printed
    read_s, judged_s, made_s = (ms / 1000 for ms in spent_ms)
    each = cost.cpu_s / cost.points * 1e6
    stages = (read_s, judged_s - read_s, made_s - judged_s, cost.cpu_s, cost.wall_s, each)
    ratio = f"{each / above:.2f}" if above else ""
    return each, [what, f"{cost.points:,}", *(f"{s:.1f} s" for s in stages), ratio, f"{peak_mib} MiB"]


def measure(n_points: int, runs: list[int], files: list[int]) -> Iterator[list[str]]:
    """The rows of the table."""
    for what, make, numbers in (("runs of one file", many_runs, runs), ("files of one run", one_run, files)):
        above = 0.0
        for number in numbers:
            with tempfile.TemporaryDirectory() as root:
                folder = make(Path(root), number, n_points)
                above, cells = row(f"{what}: {number}", folder, Path(root), above)
            yield cells


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=count, default=1_000_000, help="points of each file")
    parser.add_argument("--runs", type=count, nargs="+", default=[1, 10, 100])
    parser.add_argument("--files", type=count, nargs="+", default=[1, 10])
    options = parser.parse_args()
    rows = measure(options.points, options.runs, options.files)
    show("scale", markdown(HEAD, rows), options.write)


if __name__ == "__main__":
    main()
