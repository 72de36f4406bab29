"""The first and the second use of chronicle on a new machine: what does compilation cost at the first use?

    python -m benchmarks.first_use [--points 10000,100000,1000000]

Each log is judged by two processes, one after the other, which begin with an empty cache of compiled code
(NUMBA_CACHE_DIR). Printed are the CPU seconds of both, and the ratio of the first to the second, which should
be at most 1.5.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.classify import curve
from benchmarks.page import arguments, markdown


def used_s(log: Path, cache: Path) -> float:
    """CPU seconds of a process that classifies a log, including its children."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    command = [sys.executable, "-m", "chronicle", "classify", str(log), "--json"]
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, check=True, env=surroundings, stdout=subprocess.DEVNULL)
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--points", default="10000,100000,1000000")
    rows = []
    for points in map(int, parser.parse_args().points.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            log, cache = Path(folder, "log.csv"), Path(folder, "cache")
            log.write_text("step,loss\n" + "".join(f"{i},{v:.6f}\n" for i, v in enumerate(curve(points))))
            first, second = used_s(log, cache), used_s(log, cache)
        rows.append((f"{points:,} points", first, second, first / second))
    print(markdown(["a loss of", "first use, s", "second use, s", "first over second"], rows))


if __name__ == "__main__":
    main()
