"""Very large numbers: attempts of a run, files that are no logs, columns of a table.

    python -m benchmarks.many [--share 1.0] [--against SRC] [--write]

CPU time (the best of three) and memory of the whole command, including the start of Python. `--share` makes
only this share of each. `--against` measures another version in turn with this one, whose `src` folder is
named: seconds differ between machines, ratios hardly. The goals were set for a machine on which version
b001e29 takes 24.7, 11.6 and 12.5 s, so that they are shares of what it takes, too. `--write` puts the table
into docs/speed-measured.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import chronicle
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
# What is made, how many, the words of the command before the folder, the goal, and what b001e29 took [s].
CASES: dict[str, tuple[Callable[[Path, int], None], int, list[str], float, float]] = {
    "attempts, `chronicle classify`": (attempts, 5_000, ["-m", "chronicle", "classify"], 8, 24.7),
    "files that are no logs, `chronicle doctor`": (no_logs, 10_000, ["-m", "chronicle", "doctor"], 2, 11.6),
    "columns of a CSV, `chronicle.read`": (columns, 100_000, ["-c", READ], 3, 12.5),
}
HEAD = ["", "CPU time", "goal", "memory"]
AGAINST = ["b001e29", "ratio", "goal"]


def rows(share: float, against: Path | None = None) -> Iterator[tuple[str, ...]]:
    """The cost of each case and its goal, and both as shares of the other version's cost."""
    versions = [Path(chronicle.__file__).parent.parent, *([against] if against else [])]
    with tempfile.TemporaryDirectory() as temporary:
        bytecode = Path(temporary) / "bytecode"
        for name, (make, number, words, goal_s, before_s) in CASES.items():
            (folder := Path(temporary) / make.__name__ / "run").mkdir(parents=True)
            make(folder, n := max(int(share * number), 2))
            costs = [[cost([*words, str(folder)], src, bytecode) for src in versions] for _ in range(TRIES)]
            (cpu_s, peak_kib), *other = map(min, zip(*costs, strict=True))
            row = (f"{n:,} {name}", f"{cpu_s:.1f} s", f"≤ {goal_s:g} s", f"{peak_kib / 1024:.0f} MiB")
            ratios = ((f"{s:.1f} s", f"{cpu_s / s:.2f}", f"≤ {goal_s / before_s:.2f}") for s, _ in other)
            yield row + next(ratios, ())


def packages(text: str) -> Path:
    """A folder with another chronicle, as an option: from any other one Python would take this chronicle."""
    if (Path(text) / "chronicle" / "__init__.py").is_file():
        return Path(text).resolve()
    remedy = "name the `src` folder of a checkout of the other version"
    raise argparse.ArgumentTypeError(f"{text} holds no package chronicle. Remedy: {remedy}")


def cost(words: Sequence[str], src: Path, bytecode: Path) -> tuple[float, float]:
    """CPU time [s] and peak memory [KiB] of a command of Python with the packages in ``src``. The folder
    ``bytecode`` keeps what Python has compiled for the next call."""
    command = [sys.executable, "-c", COST, sys.executable, *words]
    environment = {**os.environ, "PYTHONPATH": str(src), "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled but once
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    cpu_s, peak_kib = map(float, done.stdout.split())
    return cpu_s, peak_kib


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the full numbers")
    parser.add_argument("--against", type=packages, metavar="SRC", help="`src` of the version b001e29")
    given = parser.parse_args()
    head = HEAD + AGAINST * (given.against is not None)
    show("many", markdown(head, rows(given.share, given.against)), given.write)
