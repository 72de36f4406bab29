"""Reads console logs: of Megatron, compared with one regular expression, and of any trainer.

    python -m benchmarks.console [--lines 400000] [--write]

Writes a log as Megatron-LM prints it, with twelve fields a line, and reads it in a new interpreter with each
reader; every value of a smaller log must be equal bit for bit. Memory is measured at two lengths: only the
columns that are returned grow with the log. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, count, markdown, show

GOAL, GOAL_OF_ANY = 250_000, 60_000  # lines a second a core
ANY_LINE = (
    "2025-04-13 {:02d}:{:02d}:{:02d},123 - INFO - Epoch: {}, step: {}/9000000, train_loss: {:.6f},"
    " lr: {:.3e}, tokens/s: {:.1f}\n"
)
LINE = (
    " [2025-04-13 {:02d}:{:02d}:{:02d}] iteration {:8d}/ 9000000 | consumed samples: {:12d} |"
    " elapsed time per iteration (ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): {:.1f} |"
    " learning rate: {:.6E} | global batch size: {:5d} | lm loss: {:.6E} | loss scale: {:.1f} |"
    " grad norm: {:.3f} | num zeros: {:.1f} | params norm: {:.3f} |"
    " number of skipped iterations: {:3d} | number of nan iterations: {:3d} |\n"
)
MEASURED = """
import resource, sys, time
{imports}
read({small!r})
start = time.process_time()
columns = read({path!r})
cpu_s = time.process_time() - start
points = sum(map(len, columns.values()))
print(cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, points)
"""
OURS = """
import chronicle
def read(path):
    return {name: s.values for name, s in chronicle.read(path)[0].series.items()}
"""
NAIVE = """
import re
field = re.compile(r"([^|:]+): +([^ |]+) +\\|")
def read(path):
    columns = {}
    with open(path) as log:
        for line in log:
            if " iteration " in line and "|" in line:
                for name, value in field.findall(line, line.index("|")):
                    columns.setdefault(name.strip(), []).append(float(value))
    return columns
"""


def write(file: Path, n_lines: int) -> None:
    """A log of this many iterations, with a validation and a checkpoint after each thousandth."""
    random = np.random.default_rng(0)
    with file.open("w") as log:
        for start in range(0, n_lines, 10_000):
            noise = random.normal(0, 0.05, (10_000, 4)).tolist()
            for step, (a, b, c, d) in enumerate(noise[: n_lines - start], start + 1):
                clock = step // 3600 % 24, step // 60 % 60, step % 60
                log.write(
                    LINE.format(
                        *clock, step, step * 1024, 5000 + 900 * a, 140 + b, 3e-4 / step**0.5, 1024,
                        2 + 8 / step**0.3 + c, 1.0, 0.5 + abs(d), 0.0, 1000 + b, 0, 0,
                    )
                )  # fmt: skip
                if step % 1000 == 0:
                    log.write(f" validation loss at iteration {step} | lm loss value: {2 + c:.6E} | \n")
                    log.write(f"  successfully saved checkpoint at iteration {step:7d} to checkpoints\n")


def write_any(file: Path, n_lines: int) -> None:
    """A log of a trainer of no known format, with an evaluation after each thousandth step."""
    noise = np.random.default_rng(0).normal(0, 0.05, n_lines).tolist()
    with file.open("w") as log:
        for step, a in enumerate(noise, 1):
            clock = step // 3600 % 24, step // 60 % 60, step % 60
            loss = 2 + 8 / step**0.3 + a
            log.write(ANY_LINE.format(*clock, step // 1000, step, loss, 3e-4 / step**0.5, 5000 + 900 * a))
            if step % 1000 == 0:
                log.write(f"validation at step {step}: val_loss {loss:.4f}\n")


def measured(imports: str, file: Path, small: Path) -> tuple[float, float, int]:
    """CPU seconds of reading, peak MiB and points, in a new interpreter that has read a small log before."""
    code = MEASURED.format(imports=imports, path=str(file), small=str(small))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    cpu_s, peak_mib, points = ran.stdout.split()
    return float(cpu_s), float(peak_mib), int(points)


def equal(file: Path) -> bool:
    """Whether both readers give the same numbers of the same metrics, bit for bit."""
    spaces: list[dict[str, object]] = [{}, {}]
    for space, code in zip(spaces, (OURS, NAIVE), strict=True):
        exec(code, space)  # the code above, as the fresh interpreters run it
    ours, theirs = (space["read"](str(file)) for space in spaces)  # type: ignore[operator]
    names = [name for name in theirs if len(theirs[name]) > len(theirs["lm loss"]) // 2]
    return all(np.array(theirs[name]).tobytes() == ours[name].tobytes() for name in names)


def measure(n_lines: int, folder: Path) -> str:
    """The table, and what it shows."""
    small, log, long = folder / "small.out", folder / "log.out", folder / "long.out"
    write(small, 5_000)
    assert equal(small), "values differ"
    write(log, n_lines)
    write(long, 4 * n_lines)
    any_small, any_log = folder / "any-small.out", folder / "any.out"
    write_any(any_small, 5_000)
    write_any(any_log, n_lines)
    of_any = min(measured(OURS, any_log, any_small) for _ in range(3))
    naive = measured(NAIVE, log, small)
    ours = min(measured(OURS, log, small) for _ in range(3))
    longer = measured(OURS, long, small)
    rows = [
        (name, f"{lines:,}", f"{cpu_s:.2f} s", f"{lines / cpu_s:,.0f}", f"{peak_mib:.0f} MiB")
        for name, lines, (cpu_s, peak_mib, _) in (
            ("one regular expression", n_lines, naive),
            ("chronicle", n_lines, ours),
            ("chronicle", 4 * n_lines, longer),
            ("chronicle, a log of no known format", n_lines, of_any),
        )
    ]
    a_line = (longer[1] - ours[1]) * 2**20 / (3 * n_lines)
    size = long.stat().st_size / (4 * n_lines)
    return (
        f"{markdown(['reader', 'lines', 'CPU', 'lines a second a core', 'peak memory'], rows)}\n\n"
        f"{naive[0] / ours[0]:.1f} times faster than one regular expression, values equal bit for bit;"
        f" goal: {GOAL:,} lines a second a core, {GOAL_OF_ANY:,} of no known format. A line has"
        f" {size:.0f} bytes in the log and {a_line:.0f} in"
        " memory: its numbers, as they are given back and while they are gathered."
    )


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--lines", type=count, default=400_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        show("console", measure(given.lines, Path(folder)), given.write)


if __name__ == "__main__":
    main()
