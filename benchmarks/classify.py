"""Classifying one loss: batch and stream, with numba and without, side by side.

    python -m benchmarks.classify [--points 1000000] [--write]

CPU time of the kernel on a curve with events (after a first call, so that compiling is not in it). Shows that
ten times the points take about ten times as long, and holds both engines to the same bits. `--write` puts
the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.page import put
from chronicle.classify import DEFAULTS, Monitor, classify
from chronicle.classify.detect import Detector
from chronicle.classify.kernel import compiled
from chronicle.classify.kernel import step as plain
from chronicle.model import Floats

BATCH_GOAL_S, STREAM_GOAL_US, PLAIN_GOAL_US = 1.0, 5.0, 100.0
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


def stream_us(values: Floats, engine: object) -> float:
    """Microseconds a value, one call each."""
    detector, numbers = Detector(DEFAULTS, engine=engine), values.tolist()
    start = time.process_time()
    for value in numbers:
        detector.update(value)
    return (time.process_time() - start) / len(numbers) * 1e6


def monitor_us(values: Floats, compile: bool) -> float:
    """Microseconds a step of `Monitor.update` with one loss: the kernel and the bookkeeping."""
    monitor, numbers = Monitor(compile=compile), values.tolist()
    start = time.process_time()
    for step, value in enumerate(numbers):
        monitor.update(step, {"loss": value})
    return (time.process_time() - start) / len(numbers) * 1e6


def rows(points: int) -> list[tuple[str, float, float, str]]:
    """(what, with numba, without, unit) of every measurement."""
    fast, many, few = compiled.compiled(), curve(points), curve(points // PLAIN_SHARE)
    batch_s(many[:100], fast)
    same = [Detector(DEFAULTS, engine=e) for e in (fast, plain)]
    assert len({str([*d.extend(few), *d.finish()]) for d in same}) == 1, "the engines differ"
    start = time.process_time()
    classify({"loss": many})
    whole = time.process_time() - start
    per_point = batch_s(few, plain) / len(few)
    return [
        (f"batch, {points:,} points", batch_s(many, fast), per_point * points, "s"),
        (f"batch, {10 * points:,} points", batch_s(curve(10 * points), fast), 10 * per_point * points, "s"),
        (f"a whole diagnosis, {points:,} points", whole, float("nan"), "s"),
        ("stream, a value", stream_us(few, fast), stream_us(few[: len(few) // 4], plain), "µs"),
        ("Monitor.update, a step", monitor_us(few, True), monitor_us(few[: len(few) // 4], False), "µs"),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=1_000_000)
    options.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    given = options.parse_args()
    lines = ["| | with numba | without | unit |", "| --- | ---: | ---: | --- |"]
    for what, fast, slow, unit in rows(given.points):
        lines.append(f"| {what} | {_cell(fast)} | {_cell(slow)} | {unit} |")
    lines.append("")
    lines.append(
        f"Goals: {BATCH_GOAL_S:g} s for 1,000,000 points, {STREAM_GOAL_US:g} µs a value with numba and "
        f"{PLAIN_GOAL_US:g} µs without. Both give the same bits. CPU time; without numba the "
        "batch is timed on a part."
    )
    text = "\n".join(lines)
    print(text)
    if given.write:
        put("classify", "python -m benchmarks.classify", text)


def _cell(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.3g}"


if __name__ == "__main__":
    main()
