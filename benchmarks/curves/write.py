"""Writes generated cases as labelled runs on disk: logs that any tool reads, and the label beside them.

python -m benchmarks.curves.write DIR [--seed 0] [--heights 8,20] [--grounds plain,mixed]
chronicle score FOLDER
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves.cases import SOME_GROUNDS, Case, confounded, contexts, healthy, injected
from chronicle.model import Attempt
from chronicle.score.labels import Label


def write(case: Case, folder: Path) -> Path:
    """The folder of one run: a CSV file an attempt, run.toml with the role of each metric, and label.json."""
    name = "".join(c if c.isalnum() else "-" for c in case.label.id.lower())
    run = folder / "-".join(filter(None, name.split("-")))
    run.mkdir(parents=True)
    for attempt in case.attempts:
        (run / f"{attempt.name}.csv").write_text("\n".join(rows(attempt)) + "\n", "utf-8")
    roles = {f"^{re.escape(s.metric)}$": str(s.role) for a in case.attempts for s in a.series.values()}
    lines = ["synthetic = true", "[roles]", *(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in roles.items())]
    (run / "run.toml").write_text("\n".join(lines) + "\n", "utf-8")
    (run / "label.json").write_text(json.dumps(as_json(case.label), indent=1), "utf-8")
    return run


def rows(attempt: Attempt) -> Iterator[str]:
    """One row a step; an empty cell was not logged, nan and inf were."""
    steps = np.unique(np.concatenate([s.steps for s in attempt.series.values()]))
    cells = {name: [""] * len(steps) for name in attempt.series}
    times = [""] * len(steps)
    for name, series in attempt.series.items():
        places = np.searchsorted(steps, series.steps)
        for place, value, time in zip(places, series.values.tolist(), series.times.tolist(), strict=True):
            cells[name][place], times[place] = repr(value), f"{time:.3f}"
    yield ",".join(["step", "timestamp", *cells])
    for step, *row in zip(steps.tolist(), times, *cells.values(), strict=True):
        yield ",".join([str(step), *row])


def as_json(label: Label) -> dict[str, Any]:
    """The label as its file says it."""
    named = ("verdict", "verdict_also_ok", "required", "allowed", "forbidden", "main_series", "steps_healthy")
    events = [{k: v for k, v in vars(e).items() if v is not None} for e in label.events]
    return {name: getattr(label, name) for name in named} | {"events": events}


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.curves.write", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--heights", default="5,8,20", help="heights of the events, in noise scales")
    parser.add_argument("--grounds", default=",".join(SOME_GROUNDS), help="names of the courses")
    options = parser.parse_args()
    seeds, grounds = [options.seed], options.grounds.split(",")
    heights = [float(h) for h in options.heights.split(",")]
    events = injected(seeds, heights, grounds)
    made = [
        write(case, options.folder)
        for case in chain(events, healthy(seeds, grounds), contexts(seeds), confounded(seeds))
    ]
    print(f"{len(made)} labelled runs in {options.folder}")


if __name__ == "__main__":
    main()
