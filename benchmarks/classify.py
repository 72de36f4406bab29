"""Classifies one loss: in a batch and as a stream, with numba and without.

    python -m benchmarks.classify [--points 1000000] [--attempts 1000] [--write]

Measured is the CPU time of the kernel on a curve with events, after a first call so that compilation is not
included; the best of three. The benchmark shows that ten times the points or attempts take about ten times as
long, that the memory of a Monitor does not grow, and that both engines give the same bits. The cost of an
import is that of a new process with one thread for linear algebra. `--write` puts the table into
docs/speed-measured.md.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, count, markdown, show
from chronicle.classify import DEFAULTS, Monitor, classify, kernel
from chronicle.classify.kernel import Detector
from chronicle.classify.kernel import step as plain
from chronicle.model import Attempt, Floats, Role, Series
from chronicle.timeline import stitch

BATCH_GOAL_S, STREAM_GOAL_US, PLAIN_GOAL_US, IMPORT_GOAL_S = 0.5, 5.0, 100.0, 0.2
ATTEMPT_POINTS = 1000
SHORT = (100, 1000)  # points of short logs; before the compiled kernel is in this process
PLAIN_SHARE = 20  # the plain kernel is timed on a twentieth of the points


def curve(points: int) -> Floats:
    """A power law with noise, a spike every 50,000 samples, and a level shift in the middle."""
    rng, t = np.random.default_rng(0), np.arange(points)
    loss = (2 + 8 * ((t + 50) / 50) ** -0.4) * np.exp(0.01 * rng.standard_normal(points))
    loss *= 1 + 0.8 * np.exp(-(t % 50_000) / 20) * (t >= 50_000)
    return loss * np.where(t >= points // 2, 1.06, 1.0)


def batch_s(values: Floats, engine: object) -> float:
    """Seconds for the kernel over all values."""
    start = time.process_time()
    detector = Detector(DEFAULTS, engine=engine)
    detector.extend(values)
    detector.finish()
    return time.process_time() - start


def whole_s(values: Floats) -> float:
    """Seconds for a whole diagnosis of one loss."""
    start = time.process_time()
    classify({"loss": values})
    return time.process_time() - start


def stream_us(values: Floats, engine: object) -> float:
    """Microseconds for each value, with one call for each."""
    detector, numbers = Detector(DEFAULTS, engine=engine), values.tolist()
    start = time.process_time()
    for value in numbers:
        detector.update(value)
    return (time.process_time() - start) / len(numbers) * 1e6


def monitor_us(values: Floats, compile: bool) -> float:
    """Microseconds for a step of `Monitor.update` with one loss: the kernel and the bookkeeping."""
    monitor, numbers = Monitor(compile=compile), values.tolist()
    start = time.process_time()
    for step, value in enumerate(numbers):
        monitor.update(step, {"loss": value})
    return (time.process_time() - start) / len(numbers) * 1e6


def rollbacks(attempts: int) -> list[Attempt]:
    """A run that repeatedly goes back by half an attempt, each time with a spike after it."""
    hop, steps = ATTEMPT_POINTS // 2, np.arange(ATTEMPT_POINTS)
    whole, spike = curve(hop * (attempts + 1)), 1 + 0.5 * np.exp(-steps / 15.0)
    made = []
    for k in range(attempts):
        values, times = (
            whole[k * hop : k * hop + ATTEMPT_POINTS] * spike,
            2000.0 * k + steps.astype(np.float64),
        )
        series = Series("loss", Role.LOSS, k * hop + steps, values, times)
        made.append(Attempt(f"attempt-{k:04d}", (), {"loss": series}))
    return made


def diagnosis_s(attempts: int) -> float:
    """Seconds to stitch and classify a run of this number of attempts."""
    made, start = rollbacks(attempts), time.process_time()
    classify(stitch(made))
    return time.process_time() - start


def short_ms(points: int) -> float:
    """Milliseconds for a whole diagnosis of one short log, by the plain kernel: the mean of twenty."""
    made = [stitch({"loss": curve(points + k)}) for k in range(20)]
    start = time.process_time()
    for timeline in made:
        classify(timeline)
    return (time.process_time() - start) / len(made) * 1e3


def monitor_growth_kib(steps: int) -> float:
    """By how many KiB a process grows while a Monitor goes from a tenth of the steps to all of them."""
    monitor, before = Monitor(compile=True), 0
    for step in range(steps):
        monitor.update(
            step, {"loss": 2.0 + 8.0 / (step + 50) ** 0.4 + 0.01 * (step * 2654435761 % 997) / 997}
        )
        if step == steps // 10:
            before = resident_kib()
    return float(resident_kib() - before)


def resident_kib() -> int:
    """Memory of this process, KiB."""
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def import_s(package: str) -> float:
    """CPU seconds of a new interpreter that imports a package, from start to end; the least of twenty."""
    command, spent = [sys.executable, "-c", f"import {package}"], [0.0]
    for _ in range(20):
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        spent.append(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))
    return min(b - a for a, b in pairwise(spent))


def best(measure: Callable[[], float]) -> float:
    """The least of three measurements, because other work of the machine only adds time."""
    return min(measure() for _ in range(3))


def rows(points: int, attempts: int) -> list[tuple[str, float, float, str]]:
    """(what, with numba, without, unit) of every measurement."""
    short = [
        (f"a whole diagnosis, {n:,} points", float("nan"), best(lambda n=n: short_ms(n)), "ms") for n in SHORT
    ]
    fast, many, few = kernel.compiled(), curve(points), curve(points // PLAIN_SHARE)
    batch_s(many[:100], fast)
    same = [Detector(DEFAULTS, engine=e) for e in (fast, plain)]
    assert len({str([*d.extend(few), *d.finish()]) for d in same}) == 1, "the engines differ"
    per_point = best(lambda: batch_s(few, plain)) / len(few)
    tenfold, some, none = curve(10 * points), few[: len(few) // 4], float("nan")
    return [
        *short,
        (f"batch, {points:,} points", best(lambda: batch_s(many, fast)), per_point * points, "s"),
        (f"batch, {10 * points:,} points", batch_s(tenfold, fast), 10 * per_point * points, "s"),
        (f"a whole diagnosis, {points:,} points", best(lambda: whole_s(many)), none, "s"),
        *(
            (f"a whole diagnosis, {n:,} attempts of {ATTEMPT_POINTS:,} points", diagnosis_s(n), none, "s")
            for n in (attempts // 10, attempts)
        ),
        ("stream, a value", best(lambda: stream_us(few, fast)), best(lambda: stream_us(some, plain)), "µs"),
        (
            "Monitor.update, a step",
            best(lambda: monitor_us(few, True)),
            best(lambda: monitor_us(some, False)),
            "µs",
        ),
        (
            f"Monitor from {points // 10:,} to {points:,} steps grows by",
            monitor_growth_kib(points),
            none,
            "KiB",
        ),
        ("a process that imports numpy", import_s("numpy"), none, "s"),
        ("a process that imports chronicle.classify", import_s("chronicle.classify"), none, "s"),
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--points", type=count, default=1_000_000)
    parser.add_argument("--attempts", type=count, default=1000)
    given = parser.parse_args()
    cells = [
        (what, _cell(fast), _cell(slow), unit)
        for what, fast, slow, unit in rows(given.points, given.attempts)
    ]
    goals = (
        f"Goals: {BATCH_GOAL_S:g} s for 1,000,000 points, {STREAM_GOAL_US:g} µs a value with numba and "
        f"{PLAIN_GOAL_US:g} µs without, {IMPORT_GOAL_S:g} s for the import. Both give the same bits. CPU "
        "time; without numba the batch is timed on a part."
    )
    table = markdown(["", "with numba", "without", "unit"], cells)
    show("classify", f"{table}\n\n{goals}", given.write)


def _cell(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.3g}"


if __name__ == "__main__":
    main()
