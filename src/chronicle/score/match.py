"""One case: a diagnosis held against the label of its run.

A finding matches an event if its onset lies within the event's tolerance, in the same attempt and on the
right kind of series; the type does not matter for that, and is counted apart. Matches are one to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from chronicle.classify.patterns import Trait, having
from chronicle.score.labels import Event, Label

Diagnosis = Mapping[str, Any]  # the object that `chronicle classify --json` prints
Finding = Mapping[str, Any]

ALARMS = having(Trait.ALARM)
COUNTED = having(Trait.ALARM | Trait.COUNTED)  # an unmatched finding of these is a false positive
ACROSS_SERIES = having(Trait.ACROSS)


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
        false_positives=tuple(_false_positives(label, findings, set(matches.values()))),
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
            if distance > event.tolerance_steps or not _same_attempt(label, event, finding):
                continue
            if not _same_series(label, event, finding):
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


def _false_positives(label: Label, findings: Sequence[Finding], matched: set[int]) -> Iterator[FalsePositive]:
    for j, finding in enumerate(findings):
        if j in matched or finding.get("pattern") not in COUNTED:
            continue
        series, step = finding.get("series"), finding["start_step"]
        side_series = series is not None and label.main_series and series not in label.main_series
        windows = (e.window for e in label.masking if _same_attempt(label, e, finding))
        if not side_series and not any(first <= step <= last for first, last in windows):
            yield FalsePositive(finding["pattern"], step)


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
