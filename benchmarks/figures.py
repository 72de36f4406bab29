"""Draws the figures of the specimens, and those of a long run in comparison with plain matplotlib.

    python -m benchmarks.figures [--runs runs] [--points 1000000] [--rounds 3] [--write]

Ours are what `chronicle build` writes, from the tracks to the bytes on disk, for both themes. Plain
matplotlib draws the same curves of the long run with its defaults (which simplify paths), as a PNG for each
theme and width. Measured is CPU time, for the long run the best round. `--write` puts the tables into
docs/speed-measured.md.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.page import arguments, count, markdown, show
from benchmarks.pictures import DPI
from chronicle.build.produce import Run
from chronicle.build.sources import spread
from chronicle.figures import draw
from chronicle.figures.layout import Scene, whole_plan, zoom_plan
from chronicle.figures.sheet import NARROW, WIDE
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series, Timeline, Verdict
from chronicle.story import tell
from chronicle.timeline import stitch
from chronicle.workspace.folders import run_in

GOAL = 0.25


def specimens(runs: Path, folder: Path) -> list[tuple[object, ...]]:
    """One row: runs, figures, CPU seconds a run, of the slowest one, kilobytes a run, of the largest file."""
    spent: list[float] = []
    figures = 0
    for run in spread([run_in(path) for path in sorted(runs.iterdir()) if path.is_dir()]):
        timeline, diagnosis, _ = Run(run).diagnose()
        events = tell(timeline, diagnosis, run.config, run.notes).events
        out = folder / run.run_id
        out.mkdir()
        begun = time.process_time()
        figures += len(draw(timeline, diagnosis, out, events, title=run.run_id))
        spent.append(time.process_time() - begun)
    sizes = [file.stat().st_size for file in folder.rglob("*.svg")]
    row = (len(spent), figures, sum(spent) / len(spent), max(spent))
    return [(*row, f"{sum(sizes) / len(spent) / 1e3:.0f}", f"{max(sizes) / 1e3:.0f}")]


def long_run(points: int) -> tuple[Timeline, Diagnosis]:
    """Loss, gradient norm and learning rate, with a finding over half of the run, so that a zoom has all
    points."""
    random = np.random.default_rng(0)
    steps = np.arange(points)
    loss = 2 + 2 * np.exp(-steps / (points / 5)) + random.normal(0, 0.03, points)
    norm = np.exp(random.normal(-1, 0.2, points))
    told = Finding("level-shift", "loss", None, points // 4, None, 3 * points // 4, 0.5, 0.9)
    empty = np.full(points, np.nan)
    made = [
        Series("loss", Role.LOSS, steps, loss, empty),
        Series("grad_norm", Role.GRAD_NORM, steps, norm, empty),
        Series("lr", Role.LEARNING_RATE, steps, 3e-4 * (1 - steps / points), empty),
    ]
    timeline = stitch([Attempt("log", ("log",), {s.metric: s for s in made})])
    return timeline, Diagnosis(Verdict.WORRYING, ("level-shift",), (told,), (), ())


def plainly(timeline: Timeline, file: Path, width: float, heights: list[float]) -> None:
    """Plain matplotlib: a panel for each metric, with all points."""
    with matplotlib.style.context("default"):
        figure = Figure(figsize=(width / 96, (sum(heights) + 130) / 96), dpi=DPI)
        FigureCanvasAgg(figure)
        tracks = list(timeline.series.values())[: len(heights)]
        panels = figure.subplots(len(heights), sharex=True, squeeze=False)[:, 0]
        for ax, track in zip(panels, tracks, strict=True):
            ax.plot(track.steps, track.values)
            ax.set_ylabel(track.metric)
        figure.savefig(file)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def compare(points: int, rounds: int, folder: Path) -> list[tuple[str, float, float]]:
    """Name, seconds of plain matplotlib, and seconds of ours: a figure for two themes and two widths."""
    timeline, told = long_run(points)

    def ours(zoomed: bool) -> None:
        run = Scene(timeline, told)
        assert run.panels
        for width in (WIDE, NARROW):
            plan = zoom_plan(run, run.findings[0], width) if zoomed else whole_plan(run, width)
            (folder / "ours.svg").write_bytes(plan.paint().svg())

    def plain(heights: list[float]) -> None:
        for width in (WIDE, NARROW, WIDE, NARROW):
            plainly(timeline, folder / "plain.png", width, heights)

    cases: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "whole run": (lambda: plain([250]), lambda: ours(False)),
        "zoom with three panels": (lambda: plain([150, 92, 92]), lambda: ours(True)),
    }
    ours(False)  # fonts are loaded once
    rows = []
    for name, both in cases.items():
        theirs, own = (min(seconds(work) for _ in range(rounds)) for work in both)
        rows.append((name, theirs, own))
    return rows


def main() -> None:
    """Measures and prints the tables; writes them on request."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=Path, default=Path(__file__).parent.parent / "runs")
    parser.add_argument("--points", type=count, default=1_000_000)
    parser.add_argument("--rounds", type=count, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        drawn = specimens(given.runs, Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(given.points, given.rounds, Path(folder))
    head = ["runs", "figures", "CPU s a run", "slowest run", "KB a run", "largest file, KB"]
    cells = [(name, f"{a:.2f} s", f"{b:.2f} s", b / a) for name, a, b in rows]
    tables = [markdown(head, drawn, 0), markdown(["", "plain matplotlib", "chronicle", "ratio"], cells)]
    goal = f"{given.points:,} points a metric in the second table; CPU time. Goal: {GOAL} s a run."
    show("figures", "\n\n".join([*tables, goal]), given.write)


if __name__ == "__main__":
    main()
