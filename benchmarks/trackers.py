"""A run with rollbacks as three tools keep it: TensorBoard, W&B (by its documented rule), and chronicle.

    python -m benchmarks.trackers [--run runs/lab-repeat-data] [--metric train/loss] [--write]

The points of TensorBoard come from its own EventAccumulator: once from the event files in one folder as they
are, and once with the record that a writer leaves if it is told where it resumes (`purge_step`). W&B needs
its service and is not run; its documented rule is applied: a step that does not increase is ignored.
`--write` puts the picture into docs/pictures and the table into docs/trackers.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

import chronicle
from benchmarks.page import arguments, markdown, show
from benchmarks.pictures import pt, save, sheet, theme
from chronicle.figures.scales import segments
from chronicle.figures.sheet import LIGHT
from chronicle.model import Floats, Steps, Timeline
from chronicle.timeline import live

DOCS = Path(__file__).parent.parent / "docs"
WIDTH, PANEL, GAP, LEFT, RIGHT = 900, 118, 36, 54, 22

Points = tuple[Steps, Floats]


def as_logged(timeline: Timeline, metric: str) -> Points:
    """Every point in the order in which it was written."""
    track = timeline.series[metric]
    return track.steps, track.values


def tensorboard(files: Sequence[Path], metric: str, purge_steps: Sequence[int] = ()) -> Points:
    """What EventAccumulator keeps of event files in one folder. ``purge_steps`` are the steps from which each
    file but the first resumed; without them a writer records nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for k, file in enumerate(files):
            writer = EventFileWriter(folder, filename_suffix=f".{k}")
            if k and purge_steps:
                start = SessionLog(status=SessionLog.START)
                writer.add_event(Event(step=purge_steps[k - 1], session_log=start))
            for event in LegacyEventFileLoader(str(file)).Load():
                if event.HasField("summary"):
                    writer.add_event(event)
            writer.close()
        kept = EventAccumulator(folder, size_guidance={"scalars": 0}).Reload().Scalars(metric)
    return np.array([e.step for e in kept], np.int64), np.array([e.value for e in kept])


def wandb(steps: Steps, values: Floats) -> Points:
    """What a resumed W&B run records: only points beyond the highest step so far."""
    before = np.maximum.accumulate(np.concatenate([[np.iinfo(np.int64).min], steps[:-1]]))
    kept = steps > before
    return steps[kept], values[kept]


def overtaken(timeline: Timeline, metric: str, points: Points) -> tuple[int, int]:
    """Of the points that are kept: how many were overtaken, and how many points of the live course are
    missing."""
    true = dict(zip(*(column.tolist() for column in live(timeline.series[metric])), strict=True))
    kept = zip(points[0].tolist(), points[1].tolist(), strict=True)
    alive = [s in true and bool(np.isclose(true[s], v, rtol=1e-5)) for s, v in kept]
    return alive.count(False), len(true) - alive.count(True)


def table(timeline: Timeline, metric: str, kept: dict[str, Points]) -> str:
    """One row for each tool."""
    rows = []
    for tool, points in kept.items():
        dead, lost = overtaken(timeline, metric, points)
        said = f"{dead}, drawn as such" if tool == "chronicle" else f"{dead}"
        rows.append((tool, len(points[0]), said, lost))
    return markdown(["tool", "points kept", "of these overtaken", "live points lost"], rows)


def picture(timeline: Timeline, metric: str, kept: dict[str, Points], file: Path) -> None:
    """All of them below each other over one axis."""
    height, t = len(kept) * (PANEL + GAP) + 40, LIGHT
    with theme():
        figure = sheet(WIDTH, height)
        all_steps, all_values = as_logged(timeline, metric)
        finite = all_values[np.isfinite(all_values)]
        for k, (tool, (steps, values)) in enumerate(kept.items()):
            bottom = height - (k + 1) * (PANEL + GAP)
            box = (LEFT / WIDTH, bottom / height, (WIDTH - LEFT - RIGHT) / WIDTH, PANEL / height)
            ax = figure.add_axes(box)
            ax.set_xlim(all_steps.min(), all_steps.max())
            ax.set_ylim(finite.min() - 0.05, np.quantile(finite, 0.97))
            parts = segments(timeline.series[metric]) if tool == "chronicle" else [None]
            for part in parts:
                x, y = (steps, values) if part is None else (part.steps, part.values)
                alive = part is None or part.live
                style = {"ls": "-" if alive else (0, (3.2, 2.2)), "color": t["live" if alive else "dead"]}
                ax.plot(x, y, lw=pt(1.4), **style)
            for join in timeline.joins:
                ax.axvline(join.to_step, color=t["ink2"], lw=pt(1), ls=(0, (1, 2.2)))
            ax.set_title(tool, loc="left", fontsize=pt(12.5), color=t["ink"])
            ax.tick_params(colors=t["ink2"], labelsize=pt(11), labelbottom=k == len(kept) - 1)
            for side, spine in ax.spines.items():
                spine.set_visible(side in ("left", "bottom"))
                spine.set_color(t["line"])
        save(figure, file)


def main() -> None:
    """Reads the run in three ways, prints the table, and writes it with the picture if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--run", type=Path, default=DOCS.parent / "runs" / "lab-repeat-data")
    parser.add_argument("--metric", default="train/loss")
    given = parser.parse_args()
    timeline = chronicle.stitch(chronicle.read(given.run))
    files = [Path(source) for attempt in timeline.attempts for source in attempt.sources]
    steps, values = as_logged(timeline, given.metric)
    kept = {
        "TensorBoard, one folder": tensorboard(files, given.metric),
        "TensorBoard, with purge_step": tensorboard(files, given.metric, [j.to_step for j in timeline.joins]),
        "W&B, resumed run": wandb(steps, values),
        "chronicle": (steps, values),
    }
    show("trackers", table(timeline, given.metric, kept), given.write, DOCS / "trackers.md")
    if given.write:
        picture(timeline, given.metric, kept, DOCS / "pictures" / "trackers.webp")


if __name__ == "__main__":
    main()
