"""Figures of a long run against plain matplotlib, which gets every point: side by side, in turns.

    python -m benchmarks.figures [--points 1000000] [--rounds 3] [--write]

Both write figures of one size with the same curves. Plain matplotlib has its defaults (which simplify
paths); ours are what `chronicle build` writes, from the tracks to the bytes on disk. CPU time, best round.
`--write` puts the table into docs/speed.md.
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

from benchmarks.page import arguments, markdown, show
from chronicle.figures.layout import scene, whole, zoom
from chronicle.figures.style import DPI, NARROW, TOKENS, WIDE, save, theme
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series, Timeline, Verdict
from chronicle.timeline import stitch

GOAL = 0.4


def long_run(points: int) -> tuple[Timeline, Diagnosis]:
    """Loss, gradient norm and learning rate, and a finding over half of the run: a zoom has all points."""
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
    """Plain matplotlib: a panel a metric, all points."""
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
    """Name, seconds of plain matplotlib and of ours, for single files and for those of a whole run."""
    timeline, told = long_run(points)

    def ours(themes: list[str], widths: list[int], zoomed: bool) -> None:
        run = scene(timeline, told)
        assert run is not None
        for width in widths:
            plan = zoom(run, run.findings[0], width) if zoomed else whole(run, width)
            for name in themes:
                with theme(TOKENS[name]):
                    save(plan.paint(TOKENS[name]), folder / "ours.webp")

    def plain(times: int, widths: list[int], heights: list[float]) -> None:
        for width in widths * times:
            plainly(timeline, folder / "plain.png", width, heights)

    cases: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "whole run, one file": (lambda: plain(1, [WIDE], [250]), lambda: ours(["light"], [WIDE], False)),
        "whole run, its four files": (
            lambda: plain(2, [WIDE, NARROW], [250]),
            lambda: ours(["light", "dark"], [WIDE, NARROW], False),
        ),
        "zoom with three panels, one file": (
            lambda: plain(1, [WIDE], [150, 92, 92]),
            lambda: ours(["light"], [WIDE], True),
        ),
        "both with their eight files": (
            lambda: (plain(2, [WIDE, NARROW], [250]), plain(2, [WIDE, NARROW], [150, 92, 92]))[0],
            lambda: (ours([*TOKENS], [WIDE, NARROW], False), ours([*TOKENS], [WIDE, NARROW], True))[0],
        ),
    }
    ours(["light"], [NARROW], False)  # fonts are loaded once
    plain(1, [NARROW], [250])
    return [
        (
            name,
            *(min(times) for times in zip(*[(seconds(a), seconds(b)) for _ in range(rounds)], strict=True)),
        )
        for name, (a, b) in cases.items()
    ]


def main() -> None:
    """Measures and prints; writes on request."""
    parser = arguments(__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(given.points, given.rounds, Path(folder))
    cells = [(name, f"{a:.2f} s", f"{b:.2f} s", b / a) for name, a, b in rows]
    goal = (
        f"{given.points:,} points a metric; CPU time. Goal: {GOAL} for the figures of a run (the last row)."
    )
    table = markdown(["", "plain matplotlib", "chronicle", "ratio"], cells)
    show("figures", f"{table}\n\n{goal}", given.write)


if __name__ == "__main__":
    main()
