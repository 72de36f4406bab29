"""The data types of chronicle: the content of logs, timelines, diagnoses, and entries of the site.

Steps are int64, values float64 (NaN and inf are data), times are Unix seconds UTC as float64 or NaN. Names in
``_samples`` count logged points, names in ``_steps`` are differences of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Steps = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Facts = Mapping[str, Any]
COLUMNS = ("run", "attempt", "metric", "role", "live", "step", "value", "time")  # of points in long form

K = TypeVar("K")
T = TypeVar("T")


def cached_by_object(ask: Callable[[K], T]) -> Callable[[K], T]:
    """Caches what a function tells of an object, such as a series or an attempt, for as long as that exists:
    a dozen rules ask for it, and a run may hold thousands of them."""
    known = WeakKeyDictionary[K, T]()

    @wraps(ask)
    def asked(of: K) -> T:
        try:
            return known[of]
        except KeyError:
            known[of] = answer = ask(of)
            return answer

    return asked


class Role(StrEnum):
    """The meaning of a metric, independent of its name in the log."""

    LOSS = "loss"
    PART_LOSS = "part-loss"  # part of a total, or logged with an objective: it explains, and is not judged
    OBJECTIVE = "objective"  # what an agent is trained to increase: a reward, a return
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


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Series:
    """One metric as logged by one attempt: arrays of one length, in the order of the log. ``unit`` is None if
    the log declares none, ``dataset`` that of a DATASET_LOSS, ``rows`` are those of a table, or lines."""

    metric: str
    role: Role
    steps: Steps
    values: Floats
    times: Floats
    unit: str | None = None
    dataset: str = ""
    rows: Steps | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not len(self.steps) == len(self.values) == len(self.times):
            raise ValueError(f"series {self.metric!r}: steps, values and times differ in length")

    def __len__(self) -> int:
        return len(self.steps)

    def has_steps_of(self, other: Series) -> bool:
        """Whether two metrics were logged at the same steps."""
        return self.steps is other.steps or np.array_equal(self.steps, other.steps)

    def is_curve_of(self, other: Series) -> bool:
        """Whether two metrics have the same values at the same steps, as one that is logged by two names."""
        return self.has_steps_of(other) and np.array_equal(self.values, other.values, equal_nan=True)

    def pick(self, rows: Any) -> Self:
        """The series with only these rows."""
        fields = ((n, getattr(self, n)) for n in self.__dataclass_fields__)  # thrice as fast as `replace`
        return type(self)(**{name: v[rows] if isinstance(v, np.ndarray) else v for name, v in fields})


@dataclass(frozen=True)
class Place:
    """A place in a log: the file, and the line (from 1) or the byte (from 0) if it is known."""

    source: str
    line: int | None = None
    byte: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.source}:{self.line}"
        return self.source if self.byte is None else f"{self.source}@{self.byte}"


@dataclass(frozen=True)
class Fault:
    """Something in a log that could not be read (``kind`` "read"), or a fault of the machine that a log
    reports: one of `chronicle.readers.console.machine.KINDS`, with the ``host`` if the log names it, and the
    step that it had reached. ``count`` is the number of records concerned."""

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
    """The fault with its file under the name that is published."""
    return replace(fault, place=replace(fault.place, source=published(fault.place.source)))


@dataclass(frozen=True, eq=False)
class Attempt:
    """One uninterrupted process of a run: the content of one log, or of a part of it.

    ``name`` is the path of the log relative to what was read. ``axis`` is what steps count: "step", "epoch",
    "sample", "token", "row" (no step was logged) or "item" (rows of results, which have no order). ``called``
    is what the log calls a step, if that is another word: "episode". ``truncated``: the last record is cut.
    """

    name: str
    sources: tuple[str, ...]
    series: Mapping[str, Series]
    facts: Facts = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    truncated: bool = False
    axis: str = "step"
    called: str = ""

    @property
    def noun(self) -> str:
        return (self.axis == "step" and self.called) or self.axis

    def by_role(self, role: Role) -> list[Series]:
        return [s for s in self.series.values() if s.role is role]


class JoinKind(StrEnum):
    """How one attempt follows another."""

    RESUME = "resume"  # the step goes on
    ROLLBACK = "rollback"  # the step goes back: the points after it are discarded
    RELAUNCH = "relaunch"  # the step goes back to the start: all points before are discarded


@dataclass(frozen=True)
class Change:
    """One quantity that differs before and after a join (None: not logged). The values were compared at
    ``at_step`` (None: facts of a whole process)."""

    quantity: str
    before: Any
    after: Any
    unit: str | None = None
    at_step: int | None = None


@dataclass(frozen=True)
class Join:
    """Where attempt ``after`` (an index into Timeline.attempts) takes over from attempt ``before``.

    ``from_step`` is the last step of the earlier attempt, ``to_step`` the first of the later one;
    ``discarded_steps`` were trained and then overtaken; ``gap_s`` is the wall clock between (None: no times).
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


@dataclass(frozen=True, eq=False, slots=True)
class Track(Series):
    """One metric over all attempts, concatenated. ``attempt`` is the index of the attempt that a point comes
    from; ``live`` is False for points that a later attempt overtook."""

    attempt: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    live: Mask = field(default_factory=lambda: np.empty(0, np.bool_))

    def rows_of(self, attempt: int) -> slice:
        """The rows of an attempt, which stand together."""
        # int32 as in the array: numpy would convert the whole array to the type of a larger integer
        return slice(*np.searchsorted(self.attempt, np.array([attempt, attempt + 1], np.int32)).tolist())


@dataclass(frozen=True)
class StepBack:
    """Where the step goes back or stays without a restart. ``cause``: "disorder" (rows out of order),
    "repeats" (a step logged again), or "seeds" (separate trainings). ``count`` is the number of rows, or 1
    for two trainings."""

    cause: str
    attempts: tuple[str, ...]
    count: int
    evidence: Facts = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Timeline:
    """One training from its first launch to its end: attempts in order, joins, stitched tracks.

    ``copies`` are attempts with the values of another one (one run logged in two formats), which are not
    judged again. ``doubts`` are sentences that say what the stitching could not decide, and which key of
    run.toml decides it. ``faults`` are those of the machine in the order they happened.
    """

    run_id: str
    attempts: tuple[Attempt, ...]
    joins: tuple[Join, ...]
    series: Mapping[str, Track]
    copies: tuple[Attempt, ...] = ()
    doubts: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    step_backs: tuple[StepBack, ...] = ()

    @cached_property
    def index_of(self) -> Mapping[str, int]:
        """The index of each attempt by its name; if several have the same name, that of the first."""
        return {attempt.name: index for index, attempt in reversed([*enumerate(self.attempts)])}

    def by_role(self, role: Role) -> list[Track]:
        return [s for s in self.series.values() if s.role is role]

    def frame(self) -> pd.DataFrame:
        """Long form, one row per point: run, attempt (name), metric, role, live, step, value, time (UTC)."""
        import pandas as pd

        names = np.array([a.name for a in self.attempts], dtype=object)
        tables = []
        for t in filter(len, self.series.values()):
            times = pd.to_datetime(t.times, unit="s", utc=True)
            row = (self.run_id, names[t.attempt], t.metric, t.role.value, t.live, t.steps, t.values, times)
            tables.append(pd.DataFrame(dict(zip(COLUMNS, row, strict=True))))
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(dict.fromkeys(COLUMNS, ()))


class Verdict(StrEnum):
    """The judgement of a run or a pattern."""

    GOOD = "good"
    UNEXPECTED = "unexpected"
    WORRYING = "worrying"
    BAD = "bad"

    @property
    def rank(self) -> int:
        """How much attention it needs: good 0, unexpected 1, worrying 2, bad 3 (`--fail-on`)."""
        return list(Verdict).index(self)


VERDICTS = (Verdict.GOOD, Verdict.WORRYING, Verdict.BAD, Verdict.UNEXPECTED)  # as tables show them


@dataclass(frozen=True)
class Finding:
    """One occurrence of a pattern, with its evidence.

    ``metric`` and ``attempt`` (name) are None if the finding is about several. ``end_step`` is None until it
    is over. ``severity`` (0..1) is its cost for the run, ``confidence`` (0..1) how sure the classifier is.
    Keys of ``evidence`` end in their unit: ``height_nats``, ``recovery_steps``, ``gap_s``. ``runner_up`` is
    the next likely pattern, and ``runner_up_if`` what would decide for it. ``id`` stays the same while a
    finding is revised: an open spike and the divergence it turns into are one.
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
    """The result of the classifier for a run. ``patterns`` are sorted ids; findings are in order of severity.
    ``because`` is a sentence that names what decides the verdict."""

    verdict: Verdict
    patterns: tuple[str, ...]
    findings: tuple[Finding, ...]
    joins: tuple[Join, ...]
    not_assessed: tuple[NotAssessed, ...]
    because: str = ""


@dataclass(frozen=True)
class MachineFault:
    """A `Fault` of Timeline.faults as it is published: ``time`` is ISO 8601 in UTC (empty: not known),
    ``count`` how often it was logged, ``where`` file and line."""

    kind: str
    what: str
    host: str
    step: int | None
    time: str
    count: int
    where: str


@dataclass(frozen=True)
class Fact:
    """One row of a table of facts. ``value`` None is shown as "not logged", ``unit`` None as not declared."""

    quantity: str
    value: Any
    unit: str | None
    how: str


@dataclass(frozen=True)
class Note:
    """A note about a run, as plain text. ``event`` is the id of the event that it names, if any, and ``run``
    that of the run which it is about, if its file is that of several runs."""

    text: str
    at_time: str = ""
    kind: str = ""
    step: int | None = None
    author: str = ""
    event: str = ""
    run: str = ""


class EventKind(StrEnum):
    """The kind of an event. Events of one step are sorted in this order: possible causes come first."""

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
    """One number of an event; ``words`` is how pages and the command line write it."""

    name: str
    value: float | None
    words: str


@dataclass(frozen=True)
class Event:
    """An event of a run, measured and put into words once (`chronicle.story`).

    ``id`` survives a new build and small moves of a detection; ``also`` are former ids that lead here.
    ``mark`` is the number of a finding or the letter of a join in figures. ``short`` is the sentence for a
    card, ``ending`` says how it ended. Steps are counted as in the log (None: not known, or not over);
    ``time`` is ISO 8601, only a date, or empty. ``parts`` are the ids of all findings of this event, ``live``
    is False on a discarded branch. ``causes`` are events shortly before it that may explain it, the nearest
    first; ``signs`` are statements that hold around it (absent: not known; `chronicle.story.signs`). ``of``
    is the event of a note, ``who`` its author, or the host of a fault.
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
        return any(pattern in patterns for pattern in self.patterns)


@dataclass(frozen=True)
class Figure:
    """One figure, drawn for both themes: "whole", "finding-1", ... ``files`` maps "wide" and "narrow", or
    "any", to (path in the entry's folder, width_px, height_px)."""

    name: str
    files: Mapping[str, tuple[str, int, int]]
    alt: str
    caption: str = ""


@dataclass(frozen=True, eq=False)
class Entry:
    """Everything that chronicle knows about one run: it is stored, and every page is made from it."""

    schema: str
    run_id: str
    title: str
    verdict: Verdict  # of the last review, else of the diagnosis
    badge: str  # the verdict, or "cannot tell" if nothing could be judged
    headline: str
    story: tuple[str, ...]  # paragraphs: the sequence of events, what decides the verdict, open questions
    events: tuple[Event, ...]  # in the order of steps
    diagnosis: Diagnosis
    facts: tuple[Fact, ...]
    costs: tuple[Fact, ...]
    notes: tuple[Note, ...]
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...]
    about: Facts  # from run.toml: project, source, licence, quote, tags, synthetic ...
    attempts: tuple[Facts, ...]  # name, sources, first_step, last_step, points, started, ended, truncated
    metrics: tuple[Facts, ...]  # metric, role, unit, points, first_step, last_step
    inputs_sha256: str
    classifier_version: str
    faults: tuple[MachineFault, ...] = ()
