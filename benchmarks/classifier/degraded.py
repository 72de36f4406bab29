"""The same run with a worse log: does its diagnosis stay, become less specific, or become wrong?

    python -m benchmarks.classifier.degraded [--also NAME=DIR] [--write]

A copy of a log contains only the loss, or every tenth point, or eight significant bits, or a running mean. A
pattern that the copy does not show any more may be missing. A grave pattern that neither the complete log
shows nor the label contains must not appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.classifier import folders, page
from benchmarks.page import arguments, markdown
from chronicle.build.produce import Run
from chronicle.build.sources import expand
from chronicle.classify import classify
from chronicle.classify.patterns import BY_ID
from chronicle.errors import ChronicleError
from chronicle.model import Attempt, Diagnosis, Floats, Role, Series, Timeline, Verdict
from chronicle.score import labelled, load_label, unlabelled
from chronicle.score.labels import Label
from chronicle.timeline import stitch
from chronicle.workspace.folders import RunFolder

LOSSES = (Role.LOSS, Role.VALIDATION_LOSS)
EVERY = 10
FEWEST = 16  # points that are left to a thinned series, or it stays whole
SMOOTHING = 0.9  # weight of the past in the running mean
# The copy is said to be logged coarsely, and is.
OF_THE_LOG = frozenset({"quantised-loss"})
# One event may be called by another name of these where less of it is logged.
AKIN = (
    {"spike-fast-recovery", "spike-slow-recovery", "resume-spike", "multi-dataset-spike"},
    {"spike-slow-recovery", "spike-no-full-recovery", "level-shift"},
    {"divergence-after-spike", "divergence-no-spike", "spike-no-full-recovery", "nan-inf", "failed-run"},
    {"repeat-data", "level-shift"},  # the step is there; what explains it was in the other points or series
    {"batch-ramp", "level-shift"},
    {"nan-inf", "frozen-metric"},  # zeros that stand for NaN: only the gradient norm can tell
)


def each_series(change: Callable[[Series], Series | None]) -> Callable[[Attempt], Attempt]:
    """Applies a change to each series of an attempt; a change that returns None removes the series."""

    def changed(attempt: Attempt) -> Attempt:
        made = {name: change(s) for name, s in attempt.series.items()}
        return replace(attempt, series={name: s for name, s in made.items() if s is not None})

    return changed


def loss_only(series: Series) -> Series | None:
    return series if series.role in LOSSES else None


def every_tenth(series: Series) -> Series:
    if len(series) < EVERY * FEWEST:
        return series
    cut = slice(0, None, EVERY)
    return replace(series, steps=series.steps[cut], values=series.values[cut], times=series.times[cut])


def bfloat16(series: Series) -> Series:
    """Losses rounded to eight significant bits."""
    if series.role not in (*LOSSES, Role.DATASET_LOSS):
        return series
    size = np.floor(np.log2(np.maximum(np.abs(series.values), 1e-30)))
    with np.errstate(invalid="ignore"):
        unit = 2.0 ** (np.where(np.isfinite(size), size, 0.0) - 7)
        return replace(series, values=np.rint(series.values / unit) * unit)


def smoothed(series: Series) -> Series:
    """Losses as a running mean. NaN and infinity are kept in place and are not part of any mean."""
    if series.role not in (*LOSSES, Role.DATASET_LOSS):
        return series
    return replace(series, values=running_mean(series.values))


def running_mean(values: Floats) -> Floats:
    out, mean = values.copy(), float("nan")
    for i, value in enumerate(values.tolist()):
        if np.isfinite(value):
            mean = value if np.isnan(mean) else SMOOTHING * mean + (1 - SMOOTHING) * value
            out[i] = mean
    return out


COPIES: Mapping[str, Callable[[Attempt], Attempt]] = {
    "loss only": each_series(loss_only),
    "every 10th point": each_series(every_tenth),
    "rounded to bfloat16": each_series(bfloat16),
    "smoothed": each_series(smoothed),
}


@dataclass(frozen=True)
class Answer:
    """The diagnosis of one copy of one run: whether the verdict is the same, which patterns are missing, and
    which grave patterns are wrong."""

    run: str
    copy: str
    before: Verdict
    after: Verdict
    unsaid: frozenset[str]
    other: frozenset[str]


def answers(run: str, timeline: Timeline, label: Label | None = None) -> Iterator[Answer]:
    """The diagnoses of all copies of a run."""
    whole = classify(timeline)
    for name, change in COPIES.items():
        copy = stitch([change(a) for a in timeline.attempts], run_id=timeline.run_id)
        yield compare(run, name, whole, classify(copy), label)


def compare(run: str, copy: str, whole: Diagnosis, part: Diagnosis, label: Label | None) -> Answer:
    """What is missing in the diagnosis of a copy, and what is wrong in it."""
    known = set(whole.patterns) | OF_THE_LOG
    if label is not None:
        known |= {p for entry in (*label.required, *label.allowed) for p in entry.split("|")}
    known |= {p for group in AKIN if group & set(whole.patterns) for p in group}
    return Answer(
        run,
        copy,
        whole.verdict,
        part.verdict,
        frozenset(p for p in set(whole.patterns) - set(part.patterns) if grave(p)),
        frozenset(p for p in set(part.patterns) - known if grave(p)),
    )


def grave(pattern: str) -> bool:
    """Whether the pattern would cause somebody to act."""
    return BY_ID[pattern].verdict is not Verdict.GOOD and pattern not in OF_THE_LOG


def of_folder(folder: Path) -> Iterator[Answer]:
    """The diagnoses of all copies of every labelled run that can be read."""
    for run in labelled(folder):
        try:
            with unlabelled(run) as copy:
                found = expand([copy])
                timelines = [_timeline(r) for r in found]
        except ChronicleError:
            continue
        for timeline in timelines:
            yield from answers(run.name, timeline, load_label(run))


def _timeline(run: RunFolder) -> Timeline:
    attempts, _ = Run(run).read()
    return stitch(attempts, run_id=run.run_id, relation=run.config.relation or None)


def table(sets: Mapping[str, list[Answer]]) -> str:
    """One row for each set and copy."""
    rows: list[list[object]] = []
    for name, given in sets.items():
        for copy in COPIES:
            mine = [a for a in given if a.copy == copy]
            if mine:
                milder = [a for a in mine if a.after.rank < a.before.rank and not a.other]
                graver = [a for a in mine if a.after.rank > a.before.rank and not a.other]
                same = len(mine) - len(milder) - len(graver) - sum(bool(a.other) for a in mine)
                words = sorted({p for a in mine for p in a.other})
                cells = (same, len(milder), len(graver), sum(bool(a.other) for a in mine))
                rows.append([name, copy, len(mine), *cells, ", ".join(words)])
    head = ["set", "copy", "runs", "same verdict", "milder", "graver", "another grave pattern", "which"]
    return markdown(head, rows)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR", help="more labelled runs")
    parser.add_argument("--show", action="store_true", help="print the runs with a wrong grave pattern")
    options = parser.parse_args()
    sets = {name: list(of_folder(folder)) for name, folder in folders.known(options.also).items()}
    text = table(sets)
    print(text)
    shown = [a for name, given in sets.items() for a in given if a.other and name != "lab, hold"]
    for answer in shown if options.show else ():
        print(f"{answer.run}, {answer.copy}: {answer.after} for {answer.before}; {sorted(answer.other)}")
    if options.write:
        page.put({"degraded": text})


if __name__ == "__main__":
    main()
