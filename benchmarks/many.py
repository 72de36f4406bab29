"""Very large numbers: attempts of a run, files that are no logs, columns of a table.

    python -m benchmarks.many [--share 1.0] [--write]

CPU time (the best of three) and memory of the whole command, including the start of Python. `--share` makes
only this share of each. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, markdown, show

TRIES = 3
COST = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def attempts(folder: Path, number: int) -> None:
    """A run of launches of 20 steps each, every one of which continues where the last one ended."""
    random = np.random.default_rng(0)
    for k in range(number):
        steps = np.arange(20 * k, 20 * k + 20)
        loss = 1.5 + 4 * (steps + 10.0) ** -0.3 + random.normal(0, 0.01, 20)
        times = 1_700_000_000 + 2 * steps[0] + np.arange(20.0)
        rows = (f"{s},{v:.5f},{t}\n" for s, v, t in zip(steps, loss, times, strict=True))
        (folder / f"attempt-{k:05}.csv").write_text("step,loss,time\n" + "".join(rows))


def no_logs(folder: Path, number: int) -> None:
    """Notes, prose, settings, programs, data and bytes, a hundred files in each folder."""
    random = np.random.default_rng(0)
    kinds: list[tuple[str, Callable[[int], bytes]]] = [
        ("note-{}.txt", lambda i: f"This is note number {i}.\nNothing to see here.\n".encode()),
        ("prose_{}.txt", lambda i: b"lorem ipsum dolor sit amet " * 20),
        ("config_{}.yaml", lambda i: f"lr: 0.001\nbatch_size: {i}\nmodel:\n  layers: 12\n".encode()),
        ("module_{}.py", lambda i: b'import os\n\n\ndef add(x):\n    """Add."""\n    return x + 1\n' * 5),
        ("data_{}.json", lambda i: b'{"name": "x", "items": [1, 2, 3], "id": %d}\n' % i),
        ("image_{}.bin", lambda i: random.bytes(2000)),
    ]
    for i in range(number):
        name, content = kinds[i % len(kinds)]
        place = folder / f"part-{i // 100:03}"
        place.mkdir(exist_ok=True)
        (place / name.format(i)).write_bytes(content(i))


def columns(folder: Path, number: int) -> None:
    """A table of ten rows."""
    names = ["step", *(f"layer_{k}/norm" for k in range(number - 1))]
    values = np.random.default_rng(0).random((10, number - 1))
    rows = (",".join([str(i), *map("{:.4f}".format, row)]) for i, row in enumerate(values))
    (folder / "wide.csv").write_text("\n".join([",".join(names), *rows]) + "\n")


READ = "import chronicle, sys; chronicle.read(sys.argv[1])"
# What is made, how many, the words of the command before the folder, and the goal in seconds.
CASES: dict[str, tuple[Callable[[Path, int], None], int, list[str], str]] = {
    "attempts, `chronicle classify`": (attempts, 5_000, ["-m", "chronicle", "classify"], "≤ 8 s"),
    "files that are no logs, `chronicle doctor`": (no_logs, 10_000, ["-m", "chronicle", "doctor"], "≤ 2 s"),
    "columns of a CSV, `chronicle.read`": (columns, 100_000, ["-c", READ], "≤ 3 s"),
}


def rows(share: float) -> Iterator[tuple[str, str, str, str]]:
    """The cost of each case, and its goal."""
    for name, (make, number, words, goal) in CASES.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "run"
            folder.mkdir()
            make(folder, n := max(int(share * number), 2))
            command = [sys.executable, "-c", COST, sys.executable, *words, str(folder)]
            costs = [
                subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(TRIES)
            ]
        cpu_s, peak_kib = min(tuple(map(float, cost.stdout.split())) for cost in costs)
        yield f"{n:,} {name}", f"{cpu_s:.1f} s", goal, f"{peak_kib / 1024:.0f} MiB"


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full numbers")
    given = parser.parse_args()
    show("many", markdown(["", "CPU time", "goal", "memory"], rows(given.share)), given.write)
