"""The cost of an update of a live log: its run is continued, and read again completely.

    python -m benchmarks.live [--points 1000000] [--write]

A log of each kind is read, and then grows twice by as much as 1,000 points. Each time its run is made as
`chronicle serve` makes it, in one process, with what was kept before; then once more from the complete log.
Both give the same entry. The CPU time is that of the second update. `--write` puts the table into
docs/speed-measured.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import console, event_files, tables
from benchmarks.page import arguments, count, markdown, show

GOAL_S = 0.2  # of reading
HEAD = (
    *("log", "MB", "reading it whole", "reading it on", "hashing it", "stitching, classifying"),
    *("story, entry, data", "drawing", "a look in all", "and with all read", "kept, MB"),
)
NAMES = {
    "metrics.csv": "CSV",
    "metrics.jsonl": "JSON lines",
    "events.out.tfevents.1700000000": "event file",
    "megatron.out": "console, Megatron",
    "any.out": "console, of no known format",
}
WRITERS: dict[str, Callable[[Path, int], None]] = {
    "metrics.csv": lambda file, points: tables.write(file, points // 9, sparse=False),
    "metrics.jsonl": lambda file, points: tables.write(file, points // 9, sparse=False),
    "events.out.tfevents.1700000000": lambda file, points: event_files.write(file, points, "simple_value"),
    "megatron.out": lambda file, points: console.write(file, points // 12),
    "any.out": lambda file, points: console.write_any(file, points // 4),
}
# Prints the CPU times [ms] of the stages of a look, of one with all read, and the bytes of what is kept.
CODE = """
import sys, time
from importlib import import_module
from pathlib import Path
from chronicle.build.sources import expand
from chronicle.readers.read_on import kept_in
from chronicle.workspace.config import WorkspaceConfig

produce = import_module("chronicle.build.produce")
spent = {}

def timed(module, name):
    call = getattr(module, name)
    def measured(*args, **options):
        start = time.process_time()
        result = call(*args, **options)
        spent[name] = spent.get(name, 0.0) + time.process_time() - start
        return result
    setattr(module, name, measured)

for module, name in ((produce, "fingerprint"), (produce.Run, "read"), (produce.Run, "diagnose")):
    timed(module, name)
timed(produce, "produce")
timed(import_module("chronicle.figures"), "draw")

def looked(run, folder):
    spent.clear()
    product = produce.Product(run, WorkspaceConfig(), folder)
    start = time.process_time()
    assert product.cached() is None
    made = produce.produce(product)
    assert made.entry and not made.problems, made
    hashed, read, drawn = (spent[name] for name in ("fingerprint", "read", "draw"))
    judged, whole = spent["diagnose"] - read, time.process_time() - start
    told = whole - hashed - read - judged - drawn
    return (read, hashed, judged, told, drawn, whole), (folder / "entry.json").read_bytes()

log, root, n_bytes = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
content, made = log.read_bytes(), []
on, whole = (root / place / "build" / "entries" / "run" for place in ("on", "whole"))
for folder in (on, whole):
    folder.mkdir(parents=True)
for look, folder in enumerate((None, on, on, whole)):
    log.write_bytes(content[: len(content) - max(0, 2 - look) * n_bytes])
    (run,) = expand([log])
    if folder:
        made.append(looked(run, folder))
    else:
        with kept_in(on.parent.with_name("read-on"), produce.code_sha256()):
            produce.Run(run).read()
assert made[1][1] == made[2][1], "another entry"
stages = (*made[1][0], made[2][0][0], made[2][0][-1])
kept = sum(file.stat().st_size for file in (root / "on" / "build" / "read-on").glob("*"))
print(*(round(1000 * stage) for stage in stages), kept)
"""


def logs(root: Path, n_points: int) -> Iterator[Path]:
    """A log of each kind with this number of points."""
    for name, write in WRITERS.items():
        write(root / name, n_points)
        yield root / name


def row(log: Path, n_points: int) -> list[object]:
    """The measurements of one log."""
    size = log.stat().st_size
    with tempfile.TemporaryDirectory() as root:
        command = [sys.executable, "-c", CODE, str(log), root, str(size * 1000 // n_points)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
    *spent_ms, kept = map(int, ran.stdout.split())
    on, hashed, judged, told, drawn, look, whole, whole_look = (ms / 1000 for ms in spent_ms)
    seconds = [f"{s:.2f} s" for s in (whole, on, hashed, judged, told, drawn, look, whole_look)]
    return [NAMES[log.name], f"{size / 1e6:.0f}", *seconds, f"{kept / 1e6:.0f}"]


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=count, default=1_000_000, help="points of each log")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        rows = [row(log, options.points) for log in logs(Path(root), options.points)]
    goal = f"CPU time; goal of reading on: {GOAL_S} s. The same entries, byte for byte."
    show("live", f"{markdown(HEAD, rows)}\n\n{goal}", options.write)


if __name__ == "__main__":
    main()
