"""From a timeline and its diagnosis to the entry, with the sentence that stands on top of its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from chronicle.build.facts import (
    attempt_row,
    costs,
    facts,
    faults_told,
    machine_faults,
    metric_row,
)
from chronicle.build.schema import ENTRY
from chronicle.classify.numbering import gravest
from chronicle.classify.patterns import BY_ID, Trait
from chronicle.classify.restarts import outcome
from chronicle.metrics.judged import shown_loss
from chronicle.metrics.values import count, level, plural
from chronicle.model import Diagnosis, Entry, Figure, Finding, JoinKind, Note, Timeline
from chronicle.timeline.endings import endings
from chronicle.workspace.config import RunConfig

_BEFORE_SAMPLES = 20  # what "before" means in "went from … to …": the median of so many samples


def make_entry(
    run_id: str,
    timeline: Timeline,
    diagnosis: Diagnosis,
    config: RunConfig,
    *,
    notes: Sequence[Note] = (),
    figures: Sequence[Figure] = (),
    warnings: Sequence[str] = (),
    inputs_sha256: str = "",
    classifier_version: str = "",
) -> Entry:
    """The entry of a run. Pure: the same arguments give the same entry."""
    return Entry(
        schema=ENTRY,
        run_id=run_id,
        title=config.title or run_id,
        verdict=diagnosis.verdict,
        headline=headline(timeline, diagnosis),
        diagnosis=diagnosis,
        facts=tuple(facts(timeline, config)),
        costs=tuple(costs(timeline, config)),
        notes=tuple(notes),
        figures=tuple(figures),
        warnings=(*warnings, *timeline.doubts, *faults_told(timeline)),
        about=_about(config),
        attempts=_attempts(replace(timeline, joins=diagnosis.joins)),
        metrics=tuple(metric_row(t) for t in timeline.series.values()),
        inputs_sha256=inputs_sha256,
        classifier_version=classifier_version,
        faults=machine_faults(timeline),
    )


def _attempts(timeline: Timeline) -> tuple[Mapping[str, Any], ...]:
    """The attempts table; of several attempts also what became of each."""
    rows = [attempt_row(a) for a in timeline.attempts]
    if len(rows) == 1:
        return tuple(rows)
    return tuple({**row, "outcome": outcome(end)} for row, end in zip(rows, endings(timeline), strict=True))


def headline(timeline: Timeline, diagnosis: Diagnosis) -> str:
    """One or two sentences with numbers, units and steps: what happened, and what the restarts cost."""
    ranked = gravest(diagnosis)
    said = f"{told(timeline, ranked[0][1])}." if ranked else f"{diagnosis.because.rstrip('.')}."
    joins = _joins_told(timeline)
    return f"{said} {joins}".strip()


def told(timeline: Timeline, finding: Finding) -> str:
    """A finding in half a sentence: ``train/loss went 2.26 → 4.17 nats/token at step 58 897, …``."""
    title = BY_ID[finding.pattern].title
    start = f"step {count(finding.start_step)}"
    measured = _before_and_peak(timeline, finding)
    if Trait.CALM in BY_ID[finding.pattern].traits:
        return _course_told(timeline, finding, title)
    if measured is None:
        return f"{title} from {start}" + _end_told(finding)
    before, peak, unit = measured
    went = f"{finding.metric} went {level(before)} → {level(peak)} {unit} at {start}"
    return f"{title}: {went}{_end_told(finding)}"


def _before_and_peak(timeline: Timeline, finding: Finding) -> tuple[float, float, str] | None:
    track = timeline.series.get(finding.metric or "")
    if track is None or finding.peak_step is None:
        return None
    mine = np.isfinite(track.values)
    names = [a.name for a in timeline.attempts]
    if finding.attempt in names:
        mine &= track.attempt == names.index(finding.attempt)
    steps, values = track.steps[mine], track.values[mine]
    before = values[steps < finding.start_step][-_BEFORE_SAMPLES:]
    at = values[steps == finding.peak_step]
    if not len(before) or not len(at):
        return None
    return float(np.median(before)), float(at.max()), track.unit or "(unit not declared)"


def _end_told(finding: Finding) -> str:
    if finding.end_step is None:
        return ", not over when the log ends"
    if finding.end_step <= finding.start_step:
        return ""
    return f", over after {count(finding.end_step - finding.start_step)} steps"


def _course_told(timeline: Timeline, finding: Finding, title: str) -> str:
    track = timeline.series.get(finding.metric or "") or shown_loss(timeline.series.values())
    if track is None or not len(track):
        return title
    span = f"steps {count(track.steps.min())} to {count(track.steps.max())}"
    points = f"{count(int(track.live.sum()))} points of {track.metric}"
    return f"{title}: {points}, {span}, without a lasting disturbance"


def _joins_told(timeline: Timeline) -> str:
    joins = timeline.joins
    if not joins:
        return ""
    kinds = [
        plural(sum(j.kind is k for j in joins), k.value) for k in JoinKind if any(j.kind is k for j in joins)
    ]
    lost = sum(j.discarded_steps for j in joins)
    told = f"{plural(len(timeline.attempts), 'attempt')}, {', '.join(kinds)}"
    return told + (f", {count(lost)} steps discarded." if lost else ".")


def _about(config: RunConfig) -> Mapping[str, Any]:
    """What run.toml says in words; keys left at their default are left out."""
    told = {k: v for k, v in asdict(config).items() if k not in ("facts", "roles", "units")}
    return {k: v for k, v in told.items() if v not in ("", [], 0, False)}
