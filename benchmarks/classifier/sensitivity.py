"""How much each threshold matters: the same cases with each threshold 30 % lower and higher.

    python -m benchmarks.classifier.sensitivity [--quick] [--write]

Of a probability the exponent is changed. A threshold that changes nothing can be removed; one that changes
much at 30 % needs a better reason than a round number. The specimens are included, as cases passed. A case is
classified again only for thresholds that were used in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.classifier import folders, page, tables
from benchmarks.classifier.judging import Judged, judged
from benchmarks.curves.cases import Case, confounded, contexts, healthy, injected
from benchmarks.page import arguments, markdown
from chronicle.build.entry import diagnosis_json
from chronicle.build.produce import Run
from chronicle.build.sources import expand
from chronicle.classify import DEFAULTS, Thresholds, classify, kernel
from chronicle.errors import ChronicleError
from chronicle.model import Timeline
from chronicle.score import judge, labelled, load_label, one_answer, unlabelled
from chronicle.score.labels import Label
from chronicle.timeline import stitch

FACTORS = (0.7, 1.3)
SEED = 700
NAMES = tuple(field.name for field in fields(DEFAULTS))
SAID = ("Nothing moves with", "No case asks for")

Trial = Callable[[Thresholds], Any]  # a case, a `Judged` or whether it passed
Known = tuple[Any, frozenset[str]]  # the outcome with the defaults, and what it depends on


@dataclass(frozen=True)
class Numbers:
    """What is measured with one set of thresholds: shares of events found and rightly named, of context
    kinds passed, false alarms per 100,000 healthy points, specimens passed."""

    recall: float
    strict: float
    context: float
    alarms: float
    specimens: int

    def moved(self, base: Numbers) -> bool:
        """Whether anything differs by more than one percentage point, one false alarm, or one specimen."""
        shares = ("recall", "strict", "context")
        far = any(abs(getattr(self, n) - getattr(base, n)) >= 0.01 for n in shares)
        return far or self.specimens != base.specimens or abs(self.alarms - base.alarms) >= 0.5


class Watched(Thresholds):
    """The defaults, which record the names that are read: a threshold that no rule has read cannot change
    anything."""

    asked: ClassVar[set[str]] = set()

    def __getattribute__(self, name: str) -> Any:
        if name in NAMES:
            Watched.asked.add(name)
        return super().__getattribute__(name)


def watched(trial: Trial) -> tuple[Any, frozenset[str]]:
    """The result with the defaults, and the thresholds that were used for it."""
    Watched.asked.clear()
    return trial(Watched()), frozenset(Watched.asked)


def numbers(outcomes: Mapping[str, Sequence[Any]]) -> Numbers:
    """The numbers from the results of all trials."""
    return Numbers(
        tables.mean(r.found for r in outcomes["events"]),
        tables.mean(r.strict for r in outcomes["events"]),
        tables.mean(r.result.passed for r in outcomes["contexts"]),
        tables.rate(outcomes["quiet"]),
        sum(outcomes["specimens"]),
    )


def trials(quick: bool) -> dict[str, list[Trial]]:
    """Events of 8 and 20 scales, context kinds, healthy courses, and the specimens, each made once."""
    grounds = ("plain", "real residuals", "every 100th", "mixed")
    seeds = range(SEED, SEED + (1 if quick else 3))
    kinds = {
        "events": injected(seeds, (5.0, 8.0, 20.0), grounds),
        "contexts": contexts(seeds),
        "quiet": [*healthy(seeds), *healthy(range(SEED, SEED + 50), ["real residuals"]), *confounded(seeds)],
    }
    made: dict[str, list[Trial]] = {kind: [partial(_judged, c) for c in some] for kind, some in kinds.items()}
    return made | {"specimens": [partial(_passes, *specimen) for specimen in _specimens(folders.SPECIMENS)]}


def _judged(case: Case, thresholds: Thresholds) -> Judged:
    return next(judged([case], thresholds))


def _passes(label: Label, timelines: Sequence[Timeline], thresholds: Thresholds) -> bool:
    said = [diagnosis_json("run", classify(t, thresholds)) for t in timelines]
    return judge(label, one_answer(said)).passed


def _specimens(folder: Path) -> list[tuple[Label, list[Timeline]]]:
    found = []
    for run in labelled(folder):
        try:
            with unlabelled(run) as copy:
                timelines = [stitch(Run(r).read()[0], order=r.config.order or None) for r in expand([copy])]
        except ChronicleError:
            continue
        found.append((load_label(run), timelines))
    return found


def changed(name: str, factor: float) -> Thresholds:
    """One threshold 30 % lower or higher; of a probability the exponent."""
    value = float(getattr(DEFAULTS, name))
    probable = next(f for f in fields(DEFAULTS) if f.name == name).metadata["unit"].startswith("probability")
    return replace(DEFAULTS, **{name: value**factor if probable and value < 0.05 else value * factor})


def table(given: Mapping[str, Sequence[Trial]]) -> str:
    """One row for each threshold that changes something, and one line about those that change nothing."""
    known = {kind: [watched(trial) for trial in some] for kind, some in given.items()}
    base = numbers({kind: [outcome for outcome, _ in some] for kind, some in known.items()})
    rows, still, unasked = [["(defaults)", *_cells(base), *_cells(base)]], [], []
    for name in NAMES:
        low, high = (numbers(again(given, known, name, factor)) for factor in FACTORS)
        if low.moved(base) or high.moved(base):
            rows.append([f"`{name}`", *_cells(low), *_cells(high)])
        elif any(name in asked for some in known.values() for _, asked in some):
            still.append(f"`{name}`")
        else:
            unasked.append(f"`{name}`")
    what = ["recall", "strict", "context", "FA/100k", "specimens"]
    head = ["threshold", *(f"{w} × {f:g}" for f in FACTORS for w in what)]
    said = [
        f"{words} {', '.join(names)}." for words, names in zip(SAID, (still, unasked), strict=True) if names
    ]
    return "\n\n".join([markdown(head, rows), *said])


def again(
    given: Mapping[str, Sequence[Trial]], known: Mapping[str, Sequence[Known]], name: str, factor: float
) -> dict[str, list[Any]]:
    """The results with one threshold changed: cases that use it are classified again."""
    thresholds = changed(name, factor)
    return {
        kind: [
            trial(thresholds) if name in asked else outcome
            for trial, (outcome, asked) in zip(some, known[kind], strict=True)
        ]
        for kind, some in given.items()
    }


def _cells(n: Numbers) -> list[object]:
    return [n.recall, n.strict, n.context, n.alarms, n.specimens]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the cases")
    options = parser.parse_args()
    kernel.compiled()
    text = table(trials(options.quick))
    print(text)
    if options.write:
        page.put({"sensitivity": text})


if __name__ == "__main__":
    main()
