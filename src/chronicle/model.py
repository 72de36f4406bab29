"""The words of chronicle as types: what logs say, what the timeline holds, what a diagnosis says.

Every type is a frozen dataclass of plain values and numpy arrays; nothing here reads, draws or decides.

Conventions: steps are int64, values float64 (NaN and inf are data), times are Unix seconds UTC as float64 or
NaN. Names in ``_samples`` count logged points, names in ``_steps`` are differences of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Steps = NDArray[np.int64]
Floats = NDArray[np.float64]
Facts = Mapping[str, Any]
COLUMNS = ("run", "attempt", "metric", "role", "live", "step", "value", "time")  # of points in long form


class Role(StrEnum):
    """What a metric is, whatever it is called in the log."""

    LOSS = "loss"
    PART_LOSS = "part-loss"  # of a total, or beside an objective: explains, and is not judged itself
    OBJECTIVE = "objective"  # what an agent is trained for: a reward, a return; it rises
    DATASET_LOSS = "dataset-loss"
    VALIDATION_LOSS = "validation-loss"
    GRAD_NORM = "grad-norm"
    LEARNING_RATE = "learning-rate"
    THROUGHPUT = "throughput"
    STEP_TIME = "step-time"
    LOSS_SCALE = "loss-scale"
    RATIO = "ratio"
    ATTENTION_LOGIT = "attention-logit"
    OUTPUT_LOGIT = "output-logit"
    POLICY_ENTROPY = "policy-entropy"  # of an agent; trainers log it with either sign
    POLICY_KL = "policy-kl"  # divergence of an agent from its reference
    ANSWER_LENGTH = "answer-length"
    EXPERT_LOAD = "expert-load"  # of one expert, or the largest as a multiple of the mean
    TOKENS = "tokens"
    SAMPLES = "samples"
    BATCH_SIZE = "batch-size"
    EPOCH = "epoch"
    SCORE = "score"
    VALIDATION_SCORE = "validation-score"
    CLIPPED_SHARE = "clipped-share"  # of the steps whose gradient was clipped, up to 1 or to 100
    UPDATE_NORM = "update-norm"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Series:
    """One metric as logged by one attempt: three arrays of one length, in the order of the log. ``unit`` is
    None where nobody declared one (pages then say "unit not declared"). ``dataset`` names the data set of a
    DATASET_LOSS, and is empty for every other role."""

    metric: str
    role: Role
    steps: Steps
    values: Floats
    times: Floats
    unit: str | None = None
    dataset: str = ""

    def __post_init__(self) -> None:
        if not len(self.steps) == len(self.values) == len(self.times):
            raise ValueError(f"series {self.metric!r}: steps, values and times differ in length")

    def __len__(self) -> int:
        return len(self.steps)

    def pick(self, rows: Any) -> Self:
        """The series with some of its rows only."""
        arrays = {name: column[rows] for name, column in vars(self).items() if isinstance(column, np.ndarray)}
        return replace(self, **arrays)


@dataclass(frozen=True)
class Place:
    """A place in a log: the file, and the line (from 1) or the byte (from 0) where one is known."""

    source: str
    line: int | None = None
    byte: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.source}:{self.line}"
        return self.source if self.byte is None else f"{self.source}@{self.byte}"


@dataclass(frozen=True)
class Fault:
    """One thing in a log that could not be used, or that speaks of a fault of the machine.

    ``place`` says where it stands; ``what`` says what is wrong and what became of it; ``count`` is how many
    records it stands for. ``kind`` is "read" for what could not be used, else what failed beside the curves:
    "xid", "nccl", "out-of-memory", "preemption", ... (`KINDS` of `chronicle.readers.console.machine`);
    those have the ``host`` where the log names one, and the step the log was at.
    """

    place: Place
    what: str
    count: int = 1
    at_time: float = float("nan")
    kind: str = "read"
    host: str = ""
    at_step: int | None = None

    @property
    def where(self) -> str:
        """The place as text: ``file``, ``file:line`` or ``file@byte``."""
        return str(self.place)


def relocated(fault: Fault, published: Callable[[str], str]) -> Fault:
    """The fault with its file under another name: that of an archive, of an address, or within its run."""
    return replace(fault, place=replace(fault.place, source=published(fault.place.source)))


@dataclass(frozen=True, eq=False)
class Attempt:
    """What one log says, whole: one uninterrupted process of a run.

    ``name`` is the path of the log relative to what was read; ``sources`` are the files it came from.
    ``axis`` is what ``steps`` count: "step", "epoch", "sample", "token", "row" (none was logged) or "item"
    (rows of results: no course). ``truncated``: the last record is cut (a live log, a killed process).
    """

    name: str
    sources: tuple[str, ...]
    series: Mapping[str, Series]
    facts: Facts = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    truncated: bool = False
    axis: str = "step"

    def by_role(self, role: Role) -> list[Series]:
        return [s for s in self.series.values() if s.role is role]


class JoinKind(StrEnum):
    """How one attempt follows another."""

    RESUME = "resume"  # the step goes on
    ROLLBACK = "rollback"  # the step goes back: what was overtaken is dead
    RELAUNCH = "relaunch"  # the step goes back to the very start


@dataclass(frozen=True)
class Change:
    """One quantity that is not the same before and after a join. ``before`` and ``after`` are what both
    attempts say of it (None: nothing), ``unit`` is None where nobody declared one, ``at_step`` is where both
    were compared (None: facts of a whole process)."""

    quantity: str
    before: Any
    after: Any
    unit: str | None = None
    at_step: int | None = None


@dataclass(frozen=True)
class Join:
    """Where attempt ``after`` (an index into Timeline.attempts) takes over from attempt ``before``.

    ``from_step`` is the last step of the earlier attempt, ``to_step`` the first of the later one;
    ``discarded_steps`` were trained and then overtaken; ``gap_s`` is the wall clock between (None: no times);
    ``evidence`` says why these two were joined and what it cost, ``changes`` what is not the same in both.
    """

    kind: JoinKind
    before: int
    after: int
    from_step: int
    to_step: int
    discarded_steps: int
    gap_s: float | None = None
    at_time: float | None = None
    evidence: Facts = field(default_factory=dict)
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, eq=False)
class Track(Series):
    """One metric over all attempts: the points of every attempt one after the other. ``attempt`` (int32[n])
    is the index of the attempt a point comes from; ``live`` (bool[n]) is False for points that a later
    attempt overtook."""

    attempt: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    live: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(frozen=True)
class StepBack:
    """Where the step goes back or stays, and no restart is the cause; restarts are joins.

    ``cause``: "disorder" (rows out of order), "repeats" (a step logged again), or "seeds" (trainings of their
    own). ``attempts`` are the names concerned, ``count`` is rows, or 1 for two trainings; ``evidence`` says
    what speaks for it, by step, wall clock, process and values.
    """

    cause: str
    attempts: tuple[str, ...]
    count: int
    evidence: Facts = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Timeline:
    """One training from its first launch to its end: attempts in order, joins, stitched tracks.

    ``copies`` are attempts that hold the same values at the same steps as another one (one run logged
    in two formats); they are named here and judged once. ``doubts`` say in a sentence each what the
    stitching could not decide, and which key of run.toml decides it. ``faults`` are those beside the curves
    (every kind but "read"), dated and placed at a step where time or log tell it, in the order they happened.
    ``step_backs`` are the places where the step goes back or stays for another reason than a restart.
    """

    run_id: str
    attempts: tuple[Attempt, ...]
    joins: tuple[Join, ...]
    series: Mapping[str, Track]
    copies: tuple[Attempt, ...] = ()
    doubts: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    step_backs: tuple[StepBack, ...] = ()

    def by_role(self, role: Role) -> list[Track]:
        return [s for s in self.series.values() if s.role is role]

    def frame(self) -> pd.DataFrame:
        """Long form, one row a point: run, attempt (name), metric, role, live, step, value, time (UTC)."""
        import pandas as pd

        names = np.array([a.name for a in self.attempts], dtype=object)
        tables = []
        for t in filter(len, self.series.values()):
            times = pd.to_datetime(t.times, unit="s", utc=True)
            row = (self.run_id, names[t.attempt], t.metric, t.role.value, t.live, t.steps, t.values, times)
            tables.append(pd.DataFrame(dict(zip(COLUMNS, row, strict=True))))
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(dict.fromkeys(COLUMNS, ()))


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


VERDICTS = (Verdict.GOOD, Verdict.WORRYING, Verdict.BAD, Verdict.UNEXPECTED)  # as tables show them


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
    ``because`` is one sentence: which finding or absence of findings makes the verdict."""

    verdict: Verdict
    patterns: tuple[str, ...]
    findings: tuple[Finding, ...]
    joins: tuple[Join, ...]
    not_assessed: tuple[NotAssessed, ...]
    because: str = ""


@dataclass(frozen=True)
class MachineFault:
    """A fault beside the curves as it is published: one `Fault` of Timeline.faults.

    ``kind`` is one of `chronicle.readers.console.machine.KINDS`, ``host`` empty where the log names none,
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
    """What somebody wrote about a run, plain text; ``event`` is the id of the event it names, if it does."""

    text: str
    at_time: str = ""
    kind: str = ""
    step: int | None = None
    author: str = ""
    event: str = ""


class EventKind(StrEnum):
    """What kind of thing happened. At one step they stand in this order: what may be a cause comes first."""

    LAUNCH = "launch"
    RESUME = "resume"
    ROLLBACK = "rollback"
    RELAUNCH = "relaunch"
    SCHEDULE = "schedule change"
    BATCH = "batch change"
    FAULT = "fault"
    FINDING = "finding"
    NOTE = "note"
    DECISION = "decision"
    REVIEW = "review"
    END = "end"


@dataclass(frozen=True)
class Quantity:
    """One number of an event; ``words`` is how every surface writes it."""

    name: str
    value: float | None
    words: str


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run, measured and put into words once (`chronicle.story`).

    ``id`` survives a new build and small moves of a detection; ``also`` are ids that lead here as well.
    ``mark`` is the number of a finding or the letter of a join, as figures show it. ``title`` names it,
    ``sentence`` tells it, ``short`` is the sentence for a card, ``ending`` says how it ended. ``step`` and
    ``end_step`` count what the log counts (None: not known, or not over); ``time`` is ISO 8601, of a day
    alone where no more is known, or empty. ``verdict`` and ``patterns`` are those of a finding, ``parts``
    the ids of all findings that saw it, ``live`` is False on a branch that was discarded. ``causes`` are what
    this run shows shortly before it, the nearest first, ``signs`` what is true around it (absent: nobody can
    tell; `chronicle.story.signs`). ``of`` is the event of a note, ``who`` its author, or the host of a fault.
    """

    id: str
    kind: EventKind
    title: str
    sentence: str
    short: str = ""
    mark: str = ""
    step: int | None = None
    end_step: int | None = None
    tokens: float | None = None
    time: str = ""
    elapsed_s: float | None = None
    duration_s: float | None = None
    attempt: str = ""
    live: bool = True
    verdict: Verdict | None = None
    severity: float = 0.0
    numbers: tuple[Quantity, ...] = ()
    ending: str = ""
    causes: tuple[str, ...] = ()
    signs: Mapping[str, bool] = field(default_factory=dict)
    patterns: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    of: str = ""
    who: str = ""
    also: tuple[str, ...] = ()

    def shows(self, patterns: Collection[str]) -> bool:
        """Whether it shows one of these patterns."""
        return any(pattern in patterns for pattern in self.patterns)


@dataclass(frozen=True)
class Figure:
    """One drawn figure, for both themes: "whole", "finding-1", ... ``files`` maps "wide" and "narrow", or
    "any", to (path in the entry's folder, width_px, height_px)."""

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
    verdict: Verdict  # of the last review; without one that of the diagnosis
    badge: str  # the verdict, or "cannot tell" where nothing could be judged
    headline: str
    story: tuple[str, ...]  # paragraphs: what happened in sequence, what decides, what is open
    events: tuple[Event, ...]  # in the order of steps
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
