"""One case: a diagnosis held against the label of its run.

A finding matches an event if its onset lies within the event's tolerance, in the same attempt and on the
right kind of series; the type does not matter for that, and is counted apart. Matches are one to one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from chronicle.score.labels import Event, Label

Diagnosis = Mapping[str, Any]  # the object that `chronicle classify --json` prints
Finding = Mapping[str, Any]

# Somebody would be called for these.
ALARMS = frozenset(
    {"spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery", "divergence-after-spike"}
    | {"divergence-no-spike", "level-shift", "nan-inf", "multi-dataset-spike", "resume-spike"}
    | {"resume-ratio-skew", "repeat-data"}
)
# An unmatched finding of these is a false positive.
COUNTED = ALARMS | {"grokking", "reinitialised", "frozen-metric", "loss-scale-collapse"}
# These speak of several series or of the whole run: with the right type, any series matches.
ACROSS_SERIES = frozenset(
    {"multi-dataset-spike", "resume-spike", "resume-ratio-skew", "repeat-data", "overfitting", "grokking"}
    | {"reinitialised", "hang", "throughput-drop", "lr-not-restored", "lr-decay-drop", "plateau"}
    | {"failed-run", "frozen-metric", "nan-inf", "rising-spike-rate", "batch-ramp", "loss-scale-collapse"}
)


@dataclass(frozen=True)
class EventResult:
    """What became of one labelled event. ``found_as`` is the pattern it was found as, None: missed."""

    pattern: str
    start_step: float
    optional: bool
    found_as: str | None
    typed: bool

    @property
    def found(self) -> bool:
        return self.found_as is not None

    @property
    def strict(self) -> bool:
        """Found under its main name."""
        return self.found_as == self.pattern


@dataclass(frozen=True)
class FalsePositive:
    """A finding that no label knows, on a healthy stretch of a main series."""

    pattern: str
    start_step: float

    @property
    def alarm(self) -> bool:
        return self.pattern in ALARMS


@dataclass(frozen=True)
class CaseResult:
    """How one case came out. ``extra``: patterns that are neither required, allowed nor forbidden."""

    id: str
    want: str
    verdict: str | None
    verdict_ok: bool
    found: tuple[str, ...]
    missing: tuple[str, ...]
    forbidden: tuple[str, ...]
    extra: tuple[str, ...]
    events: tuple[EventResult, ...]
    false_positives: tuple[FalsePositive, ...]
    healthy_points: int
    seed_picture: str | None = None
    error: str = ""

    @property
    def passed(self) -> bool:
        """The verdict is accepted, every required pattern found, and nothing forbidden named."""
        return self.verdict_ok and not self.missing and not self.forbidden

    @property
    def asked(self) -> tuple[EventResult, ...]:
        """The events that had to be found."""
        return tuple(e for e in self.events if not e.optional)


def judge(label: Label, diagnosis: Diagnosis, error: str = "") -> CaseResult:
    """Holds a diagnosis against a label. An empty diagnosis is a miss of everything."""
    findings = [f for f in diagnosis.get("findings", ()) if _is_number(f.get("start_step"))]
    named = diagnosis.get("patterns")
    patterns = set(named) if isinstance(named, list | tuple) else {f.get("pattern") for f in findings}
    options = {entry: set(entry.split("|")) for entry in label.required}
    missing = tuple(entry for entry in label.required if not options[entry] & patterns)
    known = set().union(*options.values(), label.allowed, label.forbidden)
    matches = match(label, findings)
    verdict = diagnosis.get("verdict")
    return CaseResult(
        id=label.id,
        want=label.verdict,
        verdict=verdict,
        verdict_ok=verdict in (label.verdict, *label.verdict_also_ok),
        found=tuple(entry for entry in label.required if entry not in missing),
        missing=missing,
        forbidden=tuple(sorted(patterns & set(label.forbidden))),
        extra=tuple(sorted(p for p in patterns - known if p)),
        events=tuple(_event_result(e, matches.get(i), findings) for i, e in enumerate(label.events)),
        false_positives=_false_positives(label, findings, set(matches.values())),
        healthy_points=label.steps_healthy,
        seed_picture=label.seed_picture,
        error=error,
    )


def match(label: Label, findings: Sequence[Finding]) -> dict[int, int]:
    """One finding at most for each event: indices of events to indices of findings.

    The right type goes first, then required before optional events, then the nearer onset.
    """
    candidates = []
    for i, event in enumerate(label.events):
        for j, finding in enumerate(findings):
            distance = abs(finding["start_step"] - event.start_step)
            if distance > event.tolerance_steps or not _same_place(label, event, finding):
                continue
            pattern = finding.get("pattern")
            tolerances = distance / max(event.tolerance_steps, 1e-9)
            rank = (pattern not in event.names, pattern != event.pattern, event.optional, tolerances)
            candidates.append((rank, i, j))
    matches: dict[int, int] = {}
    for _, i, j in sorted(candidates):
        if i not in matches and j not in matches.values():
            matches[i] = j
    return matches


def _event_result(event: Event, index: int | None, findings: Sequence[Finding]) -> EventResult:
    found_as = None if index is None else str(findings[index].get("pattern"))
    return EventResult(event.pattern, event.start_step, event.optional, found_as, found_as in event.names)


def _false_positives(
    label: Label, findings: Sequence[Finding], matched: set[int]
) -> tuple[FalsePositive, ...]:
    return tuple(
        FalsePositive(finding["pattern"], finding["start_step"])
        for j, finding in enumerate(findings)
        if j not in matched
        and finding.get("pattern") in COUNTED
        and _on_main_series(label, finding)
        and not any(_inside(label, event, finding) for event in label.masking)
    )


def _on_main_series(label: Label, finding: Finding) -> bool:
    series = finding.get("series")
    return series is None or not label.main_series or series in label.main_series


def _inside(label: Label, event: Event, finding: Finding) -> bool:
    first, last = event.window
    return first <= finding["start_step"] <= last and _same_attempt(label, event, finding)


def _same_place(label: Label, event: Event, finding: Finding) -> bool:
    return _same_attempt(label, event, finding) and _same_series(label, event, finding)


def _same_attempt(label: Label, event: Event, finding: Finding) -> bool:
    """Whether both speak of the same log; always, where the run has only one."""
    if label.files <= 1:
        return True
    wanted, named = _spellings(event.attempt), _spellings(finding.get("attempt"))
    return not wanted or not named or bool(wanted & named)


def _spellings(attempt: str | None) -> set[str]:
    """The ways to name an attempt: its path, its file, the file without ending, its folder."""
    if attempt is None:
        return set()
    path = PurePosixPath(str(attempt).replace("\\", "/").strip("/"))
    return {str(path), path.name, path.name.rsplit(".", 1)[0]} | ({path.parent.name} - {""})


def _same_series(label: Label, event: Event, finding: Finding) -> bool:
    """Another main series than the event's is another thing; side series are not told apart."""
    wanted, named, pattern = event.series, finding.get("series"), finding.get("pattern")
    if wanted is None or named is None or wanted == named:
        return True
    if {pattern, event.pattern} & ACROSS_SERIES and pattern in event.names:
        return True
    return named not in label.main_series


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)
