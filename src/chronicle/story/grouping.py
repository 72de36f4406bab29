"""What several series or rules saw of one happening: findings in groups, numbered in the order they begin.

Two findings are of one happening where they lie in one attempt and their onsets are no further apart than
the log tells apart, or where both speak of the loss and one began before the other was over. A finding that
is not over counts up to its peak only: what comes long after is a consequence, and a happening of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chronicle.classify.patterns import BY_ID, Trait, having
from chronicle.metrics.counters import median_gap
from chronicle.metrics.roles import shown_metric
from chronicle.model import VERDICTS, Diagnosis, Finding, Timeline, Verdict

RISES = having(Trait.SPIKE | Trait.DIVERGES) | {"multi-dataset-spike", "resume-spike", "level-shift"}
"""Patterns that are a rise of the loss: of one happening the gravest name of it is told."""
_OF_LOSS = RISES | {"resume-ratio-skew", "grad-norm-precursor", "loss-scale-collapse", "lr-not-restored"}
_ALONE = having(Trait.CALM | Trait.PROPERTY) | {"failed-run", "rising-spike-rate", "plateau", "overfitting"}
_NEAR_GAPS = 2  # logged samples that two onsets of one happening may be apart


@dataclass(frozen=True)
class Happening:
    """One group: its number, the finding that names it, over the steps of all, and all of its findings."""

    number: int
    lead: Finding
    parts: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return BY_ID[self.lead.pattern].verdict


def happenings(timeline: Timeline, diagnosis: Diagnosis) -> list[Happening]:
    """The findings of a diagnosis in groups, in the order they begin, counted from 1."""
    near = _NEAR_GAPS * sample_gap(timeline)
    groups: list[list[Finding]] = []
    for finding in sorted(diagnosis.findings, key=_place):
        home = next((g for g in groups if any(_one(finding, other, near) for other in g)), None)
        groups.append([finding]) if home is None else home.append(finding)
    told = [(_lead(group), tuple(group)) for group in groups]
    told.sort(key=lambda item: _place(item[0]))
    return [Happening(number, lead, parts) for number, (lead, parts) in enumerate(told, 1)]


def ranked(groups: Sequence[Happening], verdict: Verdict) -> list[Happening]:
    """Those first that make the verdict, then by their own verdict and severity."""

    rank = {one.number: (one.verdict is verdict, one.verdict.rank, one.lead.severity) for one in groups}
    return sorted(groups, key=lambda one: (*rank[one.number], -one.number), reverse=True)


def sample_gap(timeline: Timeline) -> float:
    """Steps from one logged sample of the loss to the next, as the run mostly logged it; 1 where unknown."""
    loss = shown_metric(timeline.series.values())
    return median_gap(loss.steps) if loss is not None else 1.0


def _one(a: Finding, b: Finding, near: float) -> bool:
    if {a.pattern, b.pattern} & _ALONE or (a.attempt and b.attempt and a.attempt != b.attempt):
        return False
    if abs(a.start_step - b.start_step) <= near:
        return True
    return {a.pattern, b.pattern} <= _OF_LOSS and max(a.start_step, b.start_step) <= min(_until(a), _until(b))


def _until(finding: Finding) -> int:
    last = finding.peak_step if finding.end_step is None else finding.end_step
    return finding.start_step if last is None else max(last, finding.start_step)


def _lead(group: Sequence[Finding]) -> Finding:
    """The gravest name of a group, over the steps of all that are rises or have that name."""
    first = max(group, key=lambda f: (BY_ID[f.pattern].verdict.rank, f.severity, f.metric is None))
    same = [f for f in group if f.pattern == first.pattern or {f.pattern, first.pattern} <= RISES]
    ends = [f.end_step for f in same if f.end_step is not None]
    end = max(ends) if len(ends) == len(same) else None
    return replace(first, start_step=min(f.start_step for f in same), end_step=end)


def _place(finding: Finding) -> tuple[int, int, str, str]:
    verdict = VERDICTS.index(BY_ID[finding.pattern].verdict)
    return finding.start_step, verdict, finding.pattern, finding.metric or ""
