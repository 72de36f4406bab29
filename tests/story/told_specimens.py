"""The specimens of runs/, each read, judged and told once for all tests of the story."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chronicle.build.entry import make_entry
from chronicle.build.produce import Run
from chronicle.build.sources import spread
from chronicle.model import Diagnosis, Entry, Timeline
from chronicle.story import Story, tell
from chronicle.workspace.config import RunConfig
from chronicle.workspace.folders import run_in

RUNS = Path(__file__).parents[2] / "runs"
NAMES = sorted(folder.name for folder in RUNS.iterdir() if folder.is_dir())


@dataclass(frozen=True, eq=False)
class Specimen:
    timeline: Timeline
    diagnosis: Diagnosis
    config: RunConfig
    story: Story
    entry: Entry


@cache
def specimen(name: str) -> Specimen:
    """The first run in a folder of runs/."""
    run = next(iter(spread([run_in(RUNS / name)])))
    timeline, diagnosis, _ = Run(run).diagnose()
    story = tell(timeline, diagnosis, run.config, run.notes)
    entry = make_entry(run.run_id, timeline, diagnosis, run.config, story=story, notes=run.notes)
    return Specimen(timeline, diagnosis, run.config, story, entry)


def sentence_of(name: str, mark: str) -> str:
    """The sentence of the event that figures of a specimen mark so."""
    return next(event.sentence for event in specimen(name).story.events if event.mark == mark)
