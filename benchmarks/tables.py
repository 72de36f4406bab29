"""Reads tables with chronicle, pandas, polars, pyarrow and orjson, in new processes and within one.

    python -m benchmarks.tables [--sizes 1 15 22 200] [--write]

CSV and JSON lines with ten columns in every row, and for the largest size also with a hundred columns of
which each row has a few. Each reader runs in new interpreters. The time of the first read includes the
process with all imports; the time of the second is that of reading alone. Values are compared with `float`
bit for bit. orjson makes no columns; its time is the least that parsing the lines costs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, count, markdown, show
from chronicle.readers import read

GOAL = 1.6
SIZES_MB = (1, 15, 22, 200)
ROW_BYTES = {False: 180, True: 225}  # of a row with all columns, and of a sparse one
COLUMNS, SPARSE_COLUMNS = 10, 100
REPEATS = 3
HEAD = ("table", "reader", "process, wall", "process, CPU", "reading, wall", "reading, CPU", "peak memory")
CODE = """
import resource, time
start = time.perf_counter()
{imports}
read = lambda: {read}
read()
first = time.perf_counter()
cpu = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
read()
second = time.perf_counter()
usage = resource.getrusage(resource.RUSAGE_SELF)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(first - start, cpu, second - first, sum(usage[:2]) - cpu, int(peak.split()[1]) / 1024)
"""
ORJSON = "[orjson.loads(line) for line in open({!r}, 'rb')]"
READERS = {
    "chronicle": ("import chronicle", {"csv": "chronicle.read({!r})", "jsonl": "chronicle.read({!r})"}),
    "pandas": ("import pandas", {"csv": "pandas.read_csv({!r})"}),  # JSON lines take it ten times as long
    "orjson": ("import orjson", {"jsonl": ORJSON}),
    "polars": ("import polars", {"csv": "polars.read_csv({!r})", "jsonl": "polars.read_ndjson({!r})"}),
    "pyarrow": (
        "import pyarrow.csv, pyarrow.json",
        {"csv": "pyarrow.csv.read_csv({!r})", "jsonl": "pyarrow.json.read_json({!r})"},
    ),
}


def rows(n_rows: int, *, sparse: bool) -> Iterator[dict[str, float]]:
    """What a logger writes: a step and a number of metrics with all their digits."""
    random = np.random.default_rng(0)
    names = [f"train/metric_{i}" for i in range(SPARSE_COLUMNS if sparse else COLUMNS - 1)]
    for step in range(n_rows):
        found = range(step % 9, len(names), 9) if sparse else range(len(names))
        values = random.normal(2, 0.1, len(found)).tolist()
        yield {"step": step, **{names[i]: value for i, value in zip(found, values, strict=True)}}


def write(file: Path, n_rows: int, *, sparse: bool) -> None:
    """The rows as CSV or JSON lines."""
    names = ["step"] + [f"train/metric_{i}" for i in range(SPARSE_COLUMNS if sparse else COLUMNS - 1)]
    with file.open("w", encoding="utf-8") as out:
        if file.suffix == ".csv":
            out.write(",".join(names) + "\n")
            for row in rows(n_rows, sparse=sparse):
                out.write(",".join(repr(row[name]) if name in row else "" for name in names) + "\n")
        else:
            out.writelines(json.dumps(row) + "\n" for row in rows(n_rows, sparse=sparse))


def equal(file: Path, n_rows: int, *, sparse: bool) -> bool:
    """Whether the values that are read are those that were written, bit for bit."""
    points: dict[str, list[tuple[int, float]]] = {}
    for row in rows(n_rows, sparse=sparse):
        for name, value in row.items():
            if name != "step":
                points.setdefault(name, []).append((int(row["step"]), value))
    series = read(file)[0].series
    return {
        name: list(zip(s.steps.tolist(), s.values.tolist(), strict=True)) for name, s in series.items()
    } == points


def measured(reader: str, file: Path) -> list[float]:
    """Wall and CPU seconds of a process with one read, then of a second read, and peak MiB; the best of some.
    Bytecode is kept beside the file, as for an installed package."""
    imports, calls = READERS[reader]
    code = CODE.format(imports=imports, read=calls[file.suffix[1:]].format(str(file)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment |= {"PYTHONPYCACHEPREFIX": str(file.parent / "byte-code")}
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, check=True, env=environment) for _ in range(REPEATS)]
    return [min(map(float, column)) for column in zip(*(r.stdout.split() for r in runs), strict=True)]


def measure(sizes_mb: list[int], folder: Path) -> Iterator[tuple[str, ...]]:
    """The rows of the table."""
    for suffix in ("csv", "jsonl"):
        for size, sparse in [*((size, False) for size in sizes_mb), (max(sizes_mb), True)]:
            file, n_rows = folder / f"log.{suffix}", size * 1_000_000 // ROW_BYTES[sparse]
            write(file, n_rows, sparse=sparse)
            assert equal(file, n_rows, sparse=sparse), f"values of {file.name} differ"
            seconds = {name: measured(name, file) for name, (_, calls) in READERS.items() if suffix in calls}
            size_mb = file.stat().st_size / 1e6
            kind = f"{suffix}, {size_mb:.0f} MB, {SPARSE_COLUMNS + 1 if sparse else COLUMNS} columns"
            peers = [seconds[name] for name in seconds if name not in ("chronicle", "orjson")]
            for reader, (*times, peak) in seconds.items():
                ratios = [""] * 4
                if reader == "chronicle":
                    ratios = [f" ({times[i] / min(peer[i] for peer in peers):.2f})" for i in range(4)]
                cells = (f"{s:.2f} s{ratio}" for s, ratio in zip(times, ratios, strict=True))
                yield kind, reader, *cells, f"{peak:.0f} MiB"


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", type=count, nargs="+", default=SIZES_MB, help="of the files [MB]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = markdown(HEAD, measure(given.sizes, Path(folder)), text_columns=2)
    goal = (
        f"In brackets: times the fastest of pandas, polars and pyarrow (goal: {GOAL}). All values equal bit "
        "for bit."
    )
    show("tables", f"{table}\n\n{goal}", given.write)


if __name__ == "__main__":
    main()
