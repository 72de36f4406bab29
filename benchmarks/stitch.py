"""A run of many attempts: does the time grow with their number, or with the number of their pairs?

    python -m benchmarks.stitch [--attempts 100 1000] [--points 1000] [--write]

CPU time of `stitch` and of `classify` for the histories that a run of many logs may have; the best of three.
The goal is 8 s for both at 5,000 attempts. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.page import arguments, count, markdown, show
from chronicle.classify import classify
from chronicle.model import Attempt, Role, Series
from chronicle.timeline import stitch

# First step in units of an attempt's length, and launch in units of its time, of attempt number k.
HISTORIES: dict[str, Callable[[int], tuple[float, float]]] = {
    "resumes": lambda k: (k, 2 * k),
    "rollbacks by half an attempt": lambda k: (k / 2, 2 * k),
    "a crash loop from one checkpoint": lambda k: (5, 2 * k),
    "seeds, one after the other": lambda k: (0, 2 * k),
    "seeds, all at a time": lambda k: (0, k / 1e6),
    "seeds, without wall clock": lambda k: (0, np.nan),
}


def attempts(history: str, number: int, points: int) -> Iterator[Attempt]:
    """Logs of one loss each, with one second between steps."""
    rng = np.random.default_rng(0)
    for k in range(number):
        first, launched = HISTORIES[history](k)
        steps = int(first * points) + np.arange(points)
        loss = 2 + 8 * (steps + 50.0) ** -0.4 + 0.02 * rng.standard_normal(points)
        series = Series("loss", Role.LOSS, steps, loss, launched * points + np.arange(points))
        yield Attempt(f"attempt-{k:05d}", (f"attempt-{k:05d}",), {"loss": series})


def seconds(history: str, number: int, points: int) -> str:
    """CPU time of stitching and of judging; the best of three."""
    spent = []
    for _ in range(3):
        made, start = list(attempts(history, number, points)), time.process_time()
        timeline, stitched = stitch(made), time.process_time()
        classify(timeline)
        spent.append((stitched - start, time.process_time() - stitched))
    return " + ".join(f"{min(stage):.2f} s" for stage in zip(*spent, strict=True))


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--attempts", type=count, nargs="+", default=[100, 1000])
    parser.add_argument("--points", type=count, default=1000, help="points of each attempt")
    options = parser.parse_args()
    head = ("", *(f"{number:,} attempts of {options.points:,} points" for number in options.attempts))
    rows = [(name, *(seconds(name, n, options.points) for n in options.attempts)) for name in HISTORIES]
    show("stitch", markdown(head, rows), options.write)


if __name__ == "__main__":
    main()
