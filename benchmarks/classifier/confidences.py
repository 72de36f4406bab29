"""How often a finding was right, by the confidence of its rule: counted, made isotonic, cross-validated.

A finding is right if it is matched to a labelled event of which it has a right name, or if its pattern
describes the whole run and the label requires it. Findings inside an event that is matched by another
finding, and properties that the label allows, are not counted, because the label does not say whether they
are right. "healthy" is not counted either, because its share depends on how many of the runs are healthy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.classifier import folders, tables
from benchmarks.classifier.judging import HEALTHY
from benchmarks.curves.cases import Case, confounded, contexts, healthy, injected
from benchmarks.curves.grounds import GROUNDS
from benchmarks.page import markdown
from chronicle.build.entry import diagnosis_json
from chronicle.classify import classify
from chronicle.classify.report import looked_up
from chronicle.cli.commands import predict
from chronicle.score import labelled, load_label, match
from chronicle.score.labels import Label

Knot = tuple[float, float]
Table = dict[str, tuple[Knot, ...]]
FEWEST = 60  # findings of a pattern: fewer are not counted on their own
BINS = 8
PRIOR = 2.0  # findings, half of them right: no bin is ever sure
SEED = 300


@dataclass(frozen=True)
class Said:
    """One finding: its source, the confidence of its rule, and whether it was right."""

    source: str
    pattern: str
    evidence: float
    right: bool


def collect(quick: bool) -> list[Said]:
    """Findings in generated runs of every kind, in the lab's trainings for development, and in specimens."""
    said: list[Said] = []
    for case in generated(1 if quick else 3):
        diagnosis = diagnosis_json(case.kind, classify(case.attempts))
        said += judged(origin(case), case.label, diagnosis)
    sets = {"specimens": folders.SPECIMENS, "lab": folders.lab("develop")}
    for name, folder in sets.items():
        for run in labelled(folder) if folder else ():
            said += judged(name, load_label(run), predict(run))
    return said


def generated(seeds: int) -> Iterator[Case]:
    """Events of every height in every course, kinds that need context, look-alikes and healthy courses."""
    span = range(SEED, SEED + seeds)
    yield from injected(span)
    yield from contexts(range(SEED, SEED + 10 * seeds))
    yield from confounded(range(SEED, SEED + 10 * seeds))
    yield from healthy(range(SEED, SEED + 10 * seeds))


def origin(case: Case) -> str:
    """The source of a generated case: the property in which its course differs."""
    if case.ground in GROUNDS:
        factor = GROUNDS[case.ground].factor
        return f"generated, {factor}" if case.height or case.kind == "healthy" else "generated, context"
    return "generated, look-alikes"


def judged(source: str, label: Label, diagnosis: Mapping[str, Any]) -> Iterator[Said]:
    """Which findings of a diagnosis are right, as far as the label says so."""
    findings = [f for f in diagnosis["findings"] if f["pattern"] not in HEALTHY]
    matches = {j: label.events[i] for i, j in match(label, findings).items()}
    asked = {p for entry in label.required for p in entry.split("|")}
    for j, finding in enumerate(findings):
        pattern, event = finding["pattern"], matches.get(j)
        if event is not None and not event.optional:
            right = pattern in event.names or pattern in asked
        elif pattern in asked:
            right = True
        elif pattern in label.allowed or event is not None or _inside(label, finding):
            continue
        else:
            right = False
        yield Said(source, pattern, float(finding["confidence"]), right)


def _inside(label: Label, finding: Mapping[str, Any]) -> bool:
    windows = [e.window for e in label.masking]
    return any(first <= finding["start_step"] <= last for first, last in windows)


def table(said: Iterable[Said]) -> Table:
    """The knots of every pattern that was found often enough."""
    groups: dict[str, list[Said]] = defaultdict(list)
    for s in said:
        groups[s.pattern].append(s)
    return {p: knots(group) for p, group in groups.items() if len(group) >= FEWEST}


def knots(said: Sequence[Said]) -> tuple[Knot, ...]:
    """Mean evidence and share of right findings in bins of equal count, pooled until the shares rise
    (isotonic regression). The first knot is at the least evidence."""
    ordered = sorted(said, key=lambda s: s.evidence)
    pools: list[list[Said]] = []
    for part in np.array_split(np.arange(len(ordered)), min(BINS, len(ordered) // 15)):
        pools.append([ordered[i] for i in part])
        while len(pools) > 1 and (
            share(pools[-2]) >= share(pools[-1]) or mean_evidence(pools[-1]) - mean_evidence(pools[-2]) < 1e-3
        ):
            last = pools.pop()
            pools[-1] += last
    at = [ordered[0].evidence, *(mean_evidence(p) for p in pools[1:])]
    return tuple((round(x, 3), round(share(p), 3)) for x, p in zip(at, pools, strict=True))


def share(said: Sequence[Said]) -> float:
    """The share that was right, shrunk towards one half."""
    return (sum(s.right for s in said) + PRIOR / 2) / (len(said) + PRIOR)


def mean_evidence(said: Sequence[Said]) -> float:
    return float(np.mean([s.evidence for s in said]))


def predicted(said: Iterable[Said], counted: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The calibrated confidence of each finding."""
    out = []
    for s in said:
        at = counted.get(s.pattern)
        out.append(looked_up(at, s.evidence) if at else s.evidence)
    return np.array(out)


def cross_validated(said: Sequence[Said]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The confidence of each finding, by a table that was made without the source of the finding."""
    out = np.zeros(len(said))
    for source in {s.source for s in said}:
        mine = np.array([s.source == source for s in said])
        counted = table(s for s in said if s.source != source)
        out[mine] = predicted([s for s in said if s.source == source], counted)
    return out


def brier(given: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """The mean squared difference between confidence and outcome. 0 is perfect; a constant confidence p equal
    to the base rate gives p (1 - p)."""
    return float(np.mean((given - right) ** 2))


def tables_of(said: Sequence[Said]) -> dict[str, str]:
    """Brier scores by source, and the shares by pattern."""
    right = np.array([s.right for s in said], float)
    raw = np.array([s.evidence for s in said])
    out = cross_validated(said)
    rows: list[list[object]] = []
    for source in [*sorted({s.source for s in said}), None]:
        mine = np.array([source in (None, s.source) for s in said])
        base = float(right[mine].mean())
        cells = (base, base * (1 - base), brier(raw[mine], right[mine]), brier(out[mine], right[mine]))
        rows.append([source or "all", int(mine.sum()), *cells])
    head = ["source", "findings", "right", "Brier, base rate", "as the rule said", "calibrated without it"]
    counted = table(said)
    patterns = [
        [f"`{p}`", len(group), tables.mean(s.right for s in group), spread(counted.get(p))]
        for p, group in sorted(by_pattern(said).items())
    ]
    return {
        "brier": markdown(head, rows),
        "confidences": markdown(["pattern", "findings", "right", "confidence from – to"], patterns),
    }


def by_pattern(said: Iterable[Said]) -> dict[str, list[Said]]:
    """Findings by pattern."""
    groups: dict[str, list[Said]] = defaultdict(list)
    for s in said:
        groups[s.pattern].append(s)
    return groups


def spread(at: Sequence[Knot] | None) -> str:
    """The least and the highest confidence of a pattern."""
    return f"{at[0][1]:.2f} – {at[-1][1]:.2f}" if at else "as its rule said"


def reliability(said: Sequence[Said], given: np.ndarray[Any, Any]) -> list[tuple[float, float, int]]:
    """(mean confidence, share right, findings) of ten bins of equal width that hold 10 findings or more."""
    right = np.array([s.right for s in said], float)
    place = np.minimum((given * 10).astype(int), 9)
    return [
        (float(given[place == b].mean()), float(right[place == b].mean()), int((place == b).sum()))
        for b in range(10)
        if (place == b).sum() >= 10
    ]
