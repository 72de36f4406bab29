"""Classifies each case once and compares the result with its label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.curves.cases import Case
from chronicle.build.entry import diagnosis_json
from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.score import CaseResult, judge, match
from chronicle.score.labels import Label

HEALTHY = frozenset({"near-perfect", "noisy-healthy"})


@dataclass(frozen=True)
class Placed:
    """The placement of an event that was found: the found onset minus the true onset, in samples; and how
    much of the height, in noise scales, had been reached at the found onset (0: it is not late)."""

    pattern: str
    off_samples: int
    late_scales: float


@dataclass(frozen=True)
class Judged:
    """The result for one generated case."""

    kind: str
    ground: str
    height: float
    result: CaseResult
    placed: tuple[Placed, ...]
    findings: tuple[Mapping[str, Any], ...]
    label: Label

    @property
    def found(self) -> bool:
        """Whether every event that had to be found was found, under any name."""
        return all(e.is_found for e in self.result.asked)

    @property
    def strict(self) -> bool:
        """Whether every event was found under its main name."""
        return all(e.found_as == e.pattern for e in self.result.asked)


def judged(cases: Iterable[Case], thresholds: Thresholds = DEFAULTS) -> Iterator[Judged]:
    """Every case, classified and compared with its label."""
    for case in cases:
        diagnosis = diagnosis_json(case.kind, classify(case.attempts, thresholds))
        # "nothing is wrong" is a finding of the whole run, and finds no event
        findings = tuple(f for f in diagnosis["findings"] if f["pattern"] not in HEALTHY)
        diagnosis = {**diagnosis, "findings": findings}
        yield Judged(
            case.kind,
            case.ground,
            case.height,
            judge(case.label, diagnosis),
            tuple(placed(case, findings)),
            findings,
            case.label,
        )


def placed(case: Case, findings: tuple[Mapping[str, Any], ...]) -> Iterator[Placed]:
    """The placement of every event that was found, in runs of one attempt."""
    if len(case.attempts) > 1 or case.run.lift_scales is None:
        return
    steps, lift = case.attempts[0].series["loss"].steps, np.abs(case.run.lift_scales)
    for i, j in match(case.label, findings).items():
        event = case.label.events[i]
        true = int(np.searchsorted(steps, event.start_step))
        seen = int(np.searchsorted(steps, findings[j]["start_step"]))
        late = float(lift[true:seen].max()) if seen > true else 0.0
        yield Placed(event.pattern, seen - true, late)
