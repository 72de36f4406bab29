"""The published spike rules on labelled runs, compared with chronicle.

    python -m benchmarks.classifier.peers NAME=DIR … [--write]

Every rule judges the loss that chronicle judges, with its published defaults. Flagged samples that are at
most 8 samples apart are one alarm. An alarm is compared with events by its place only, because these rules
have no names for events. Events and false alarms are counted in the same way as by `chronicle score`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.classifier import page
from benchmarks.classifier.folders import elsewhere
from benchmarks.page import arguments, markdown, replace
from chronicle.build.entry import diagnosis_json
from chronicle.build.produce import runs
from chronicle.classify import classify
from chronicle.errors import ChronicleError
from chronicle.metrics.roles import judged_loss
from chronicle.model import Timeline
from chronicle.score import judge, labelled, load_label, one_answer, total, unlabelled
from chronicle.score.labels import Label
from chronicle.score.presets import PRESETS, Preset

PAGE = page.PAGE.with_name("verdict-measured.md")
HEAD = ("rule", "runs", "events found", "alarms right", "false alarms /100k healthy points")
APART = 8  # [samples] between two flags of one word

Case = tuple[Label, list[Timeline]]


def cases(folder: Path) -> Iterator[Case]:
    """The labelled runs below a folder that can be read."""
    for run in labelled(folder):
        try:
            with unlabelled(run) as copy:
                yield load_label(run), [one.timeline() for one in runs(copy)]
        except ChronicleError:
            continue


def words(preset: Preset, timeline: Timeline) -> Iterator[dict[str, Any]]:
    """The alarms of a rule in a run, in the form of findings."""
    for attempt in timeline.attempts:
        loss = judged_loss(attempt.series.values())
        if loss is None:
            continue
        at = np.flatnonzero(preset.flags(loss.values))
        for i in at[np.diff(at, prepend=-APART - 1) > APART]:
            step = int(loss.steps[i])
            place = {"series": loss.metric, "attempt": attempt.name, "start_step": step}
            yield {"pattern": "spike-fast-recovery", **place}


def rows(known: Iterable[Case]) -> Iterator[tuple[Any, ...]]:
    """One row for each rule, and one for chronicle."""
    given = list(known)
    for preset in PRESETS.values():
        said = [{"findings": [w for t in timelines for w in words(preset, t)]} for _, timelines in given]
        yield row(preset.name, given, said)
    said = [one_answer([diagnosis_json("run", classify(t)) for t in timelines]) for _, timelines in given]
    yield row("chronicle", given, said)


def row(name: str, given: list[Case], said: list[dict[str, Any]]) -> tuple[Any, ...]:
    t = total([judge(label, answer) for (label, _), answer in zip(given, said, strict=True)]).events
    found = f"{t['found']} of {t['events']}"
    return name, len(given), found, t["precision"], t["false_alarms_per_100k"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=DIR")
    given = parser.parse_args()
    tables = [f"{name}:\n\n{markdown(HEAD, rows(cases(at)))}" for name, at in elsewhere(given.sets).items()]
    text = "\n\n".join(tables)
    print(text)
    if given.write:
        replace("peers", f"\n{text}\n\n", PAGE)


if __name__ == "__main__":
    main()
