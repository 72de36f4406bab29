"""The words of chronicle as types: what readers give, what the timeline holds, what a diagnosis says.

Every type is a frozen dataclass of plain values and numpy arrays. Nothing here reads a file,
draws or decides; every other module takes these types and returns these types.

Conventions: steps are int64, values float64 (NaN and inf are data), times are Unix seconds UTC as
float64 with NaN where the log has no time. Names that end in ``_samples`` count logged points,
names that end in ``_steps`` are differences on the step axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from chronicle.logged import Attempt as Attempt
from chronicle.logged import Facts as Facts
from chronicle.logged import Fault as Fault
from chronicle.logged import Floats as Floats
from chronicle.logged import Role as Role
from chronicle.logged import Series as Series
from chronicle.logged import Steps as Steps
from chronicle.stitched import Change as Change
from chronicle.stitched import Join as Join
from chronicle.stitched import JoinKind as JoinKind
from chronicle.stitched import StepBack as StepBack
from chronicle.stitched import Timeline as Timeline
from chronicle.stitched import Track as Track


class Verdict(StrEnum):
    """The judgement over a run or a pattern, in the words of the field's own gallery."""

    GOOD = "good"
    UNEXPECTED = "unexpected"
    WORRYING = "worrying"
    BAD = "bad"

    @property
    def rank(self) -> int:
        """How much attention it asks for: good 0, unexpected 1, worrying 2, bad 3 (`--fail-on`)."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Finding:
    """One occurrence of a pattern, with its evidence.

    ``metric`` and ``attempt`` (name) are None where the finding speaks of several. ``end_step`` is None
    while it is not over. ``severity`` (0..1) is how much it costs the run, ``confidence`` (0..1) how sure
    the classifier is. Keys of ``evidence`` end in their unit: ``height_nats``, ``recovery_steps``, ``gap_s``.
    ``criteria`` are the tests the rule made, ``runner_up`` the pattern it would be otherwise, and
    ``runner_up_if`` what would change the answer. ``id`` stays the same while a finding is revised: an open
    spike and the divergence it turns into are one finding.
    """

    pattern: str
    metric: str | None
    attempt: str | None
    start_step: int
    peak_step: int | None
    end_step: int | None
    severity: float
    confidence: float
    evidence: Facts = field(default_factory=dict)
    criteria: tuple[Criterion, ...] = ()
    runner_up: str | None = None
    runner_up_if: str = ""
    id: str = ""


@dataclass(frozen=True)
class Criterion:
    """One test of a rule: what was measured, against what, and whether it holds (None: not assessed)."""

    name: str
    value: float | None
    unit: str
    threshold: str
    met: bool | None


@dataclass(frozen=True)
class NotAssessed:
    """A pattern that could not be judged, and the roles whose series were not logged."""

    pattern: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What the classifier says of a run. ``patterns`` are sorted ids; findings are in order of severity.

    ``because`` is one sentence: which finding or absence of findings makes the verdict.
    """

    verdict: Verdict
    patterns: tuple[str, ...]
    findings: tuple[Finding, ...]
    joins: tuple[Join, ...]
    not_assessed: tuple[NotAssessed, ...]
    because: str = ""


@dataclass(frozen=True)
class MachineFault:
    """A fault beside the curves as it is published: one `Fault` of Timeline.faults.

    ``kind`` is one of `chronicle.readers.console.fault_kinds`, ``host`` empty where the log names none,
    ``step`` None where neither log nor time tell it, ``time`` ISO 8601 in UTC (empty: not known), ``count``
    how often it was told, ``where`` file and line.
    """

    kind: str
    what: str
    host: str
    step: int | None
    time: str
    count: int
    where: str


@dataclass(frozen=True)
class Comparison:
    """What one published rule (a preset) flags in one series of one attempt, beside chronicle's findings.

    ``samples`` is the length of the series. ``flagged_steps`` are the steps of the flagged samples,
    ``outside_steps`` those of them that lie in no finding; ``seen`` and ``missed`` are the ids of the
    findings in the series with and without a flagged sample.
    """

    preset: str
    metric: str
    attempt: str
    samples: int
    flagged_steps: tuple[int, ...]
    outside_steps: tuple[int, ...]
    seen: tuple[str, ...]
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """One row of a facts table. ``value`` None is shown as "not logged", ``unit`` None as not declared."""

    quantity: str
    value: Any
    unit: str | None
    how: str


@dataclass(frozen=True)
class Note:
    """What somebody of the team wrote about a run; plain text, never interpreted."""

    text: str
    at_time: str = ""
    kind: str = ""
    step: int | None = None
    author: str = ""


@dataclass(frozen=True)
class Figure:
    """One drawn figure: files by theme and width, with their size in CSS pixels.

    ``name`` is "whole", "finding-1", ...; ``files`` maps "light", "dark", "light-narrow", "dark-narrow"
    (or "any" for a thumbnail) to (path relative to the entry's folder, width_px, height_px).
    """

    name: str
    files: Mapping[str, tuple[str, int, int]]
    alt: str
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Entry:
    """What chronicle knows of one run: the durable product; every page derives from it."""

    schema: str
    run_id: str
    title: str
    verdict: Verdict
    headline: str
    diagnosis: Diagnosis
    facts: tuple[Fact, ...]
    costs: tuple[Fact, ...]
    notes: tuple[Note, ...]
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...]
    about: Facts  # run.toml's own words: project, source, licence, quote, tags, synthetic ...
    attempts: tuple[Facts, ...]  # name, sources, first_step, last_step, points, started, ended, truncated
    metrics: tuple[Facts, ...]  # metric, role, unit, points, first_step, last_step
    inputs_sha256: str
    classifier_version: str
    faults: tuple[MachineFault, ...] = ()
