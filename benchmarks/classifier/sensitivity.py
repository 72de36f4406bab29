"""How much each threshold matters: the same cases with every one of them 30 % lower and higher.

    python -m benchmarks.classifier.sensitivity [--quick] [--write]

A probability is moved in its exponent. A threshold that moves nothing may go; one that moves much at 30 %
needs a better reason than a round number. The specimens are counted as well, as cases passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from benchmarks.classifier import folders, page, tables
from benchmarks.classifier.judging import judged
from benchmarks.curves.cases import Case, confounded, contexts, healthy, injected
from benchmarks.page import arguments, markdown
from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.classify.kernel import compiled
from chronicle.config import WorkspaceConfig
from chronicle.errors import ChronicleError
from chronicle.model import Timeline
from chronicle.produce import read_run
from chronicle.schema import diagnosis_json
from chronicle.score import Label, judge, labelled, load_label, one_answer, unlabelled
from chronicle.sources import expand
from chronicle.timeline import stitch

FACTORS = (0.7, 1.3)
SEED = 700


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
        """Whether anything differs by more than a point in a hundred, a false alarm, or a specimen."""
        shares = ("recall", "strict", "context")
        far = any(abs(getattr(self, n) - getattr(base, n)) >= 0.01 for n in shares)
        return far or self.specimens != base.specimens or abs(self.alarms - base.alarms) >= 0.5


@dataclass(frozen=True)
class Cases:
    """Everything that is classified again and again, made once."""

    events: Sequence[Case]
    contexts: Sequence[Case]
    quiet: Sequence[Case]
    specimens: Sequence[tuple[Label, Sequence[Timeline]]]

    def measured(self, thresholds: Thresholds) -> Numbers:
        events = list(judged(self.events, thresholds))
        passed = 0
        for label, timelines in self.specimens:
            said = [diagnosis_json("run", classify(t, thresholds)) for t in timelines]
            passed += judge(label, one_answer(said)).passed
        return Numbers(
            tables.mean(r.found for r in events),
            tables.mean(r.strict for r in events),
            tables.mean(r.result.passed for r in judged(self.contexts, thresholds)),
            tables.rate(judged(self.quiet, thresholds)),
            passed,
        )


def cases(quick: bool) -> Cases:
    """Events of 8 and 20 scales, context kinds, healthy courses, and the specimens."""
    grounds = ("plain", "real residuals", "every 100th", "mixed")
    seeds = range(SEED, SEED + (1 if quick else 3))
    return Cases(
        list(injected(seeds, (5.0, 8.0, 20.0), grounds)),
        list(contexts(seeds)),
        [*healthy(seeds), *healthy(range(SEED, SEED + 50), ["real residuals"]), *confounded(seeds)],
        list(_specimens(folders.SPECIMENS)),
    )


def _specimens(folder: Path) -> list[tuple[Label, list[Timeline]]]:
    found = []
    for run in labelled(folder):
        try:
            with unlabelled(run) as copy:
                timelines = [
                    stitch(read_run(r, WorkspaceConfig())[0], order=r.config.order or None)
                    for r in expand([copy])
                ]
        except ChronicleError:
            continue
        found.append((load_label(run), timelines))
    return found


def changed(name: str, factor: float) -> Thresholds:
    """One threshold 30 % lower or higher; a probability in its exponent."""
    value = float(getattr(DEFAULTS, name))
    probable = next(f for f in fields(DEFAULTS) if f.name == name).metadata["unit"].startswith("probability")
    return replace(DEFAULTS, **{name: value**factor if probable and value < 0.05 else value * factor})


def table(given: Cases) -> str:
    """One row a threshold that moves anything, and one line on those that move nothing."""
    base = given.measured(DEFAULTS)
    rows, still = [["(defaults)", *_cells(base), *_cells(base)]], []
    for field in fields(DEFAULTS):
        low, high = (given.measured(changed(field.name, f)) for f in FACTORS)
        if low.moved(base) or high.moved(base):
            rows.append([f"`{field.name}`", *_cells(low), *_cells(high)])
        else:
            still.append(f"`{field.name}`")
    what = ["recall", "strict", "context", "FA/100k", "specimens"]
    head = ["threshold", *(f"{w} × {f:g}" for f in FACTORS for w in what)]
    quiet = ", ".join(still)
    return f"{markdown(head, rows)}\n\nNothing moves with {quiet}."


def _cells(n: Numbers) -> list[object]:
    return [n.recall, n.strict, n.context, n.alarms, n.specimens]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the cases")
    options = parser.parse_args()
    compiled.compiled()
    text = table(cases(options.quick))
    print(text)
    if options.write:
        page.put({"sensitivity": text})


if __name__ == "__main__":
    main()
