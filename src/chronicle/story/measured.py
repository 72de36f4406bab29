"""What sentences stand on: findings in groups, and the numbers of each, measured once against one baseline.

Two findings are of one happening where they lie in one attempt and their onsets are no further apart than
the log tells apart, or where both speak of the loss and one began before the other was over. A finding that
is not over counts up to its peak only: what comes long after is a consequence, and a happening of its own.
Of a divergence that kept most of its height a later one is no consequence: it goes on.

The baseline of a rise is the level before it: the lower of the median before its onset and the one at its
onset, so that a rise at the foot of an older fall is not told as a fall. A peak that a picture cuts off, or
that ends in NaN, is a lower bound. A duration is never told finer than the log or the picture is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chronicle.classify.patterns import BY_ID, Trait, having
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import AttemptView, look
from chronicle.metrics.aliases import median_gap
from chronicle.metrics.names import LOSSES
from chronicle.metrics.roles import shown_metric
from chronicle.metrics.values import count, ordinal, percent, plainly, rounded
from chronicle.model import VERDICTS, Finding, Quantity, Role, Verdict
from chronicle.timeline.courses import distinct_in
from chronicle.timeline.trainings import numbers_of
from chronicle.workspace.config import RunConfig

if TYPE_CHECKING:
    from chronicle.model import Diagnosis, Floats, Steps, Timeline, Track

BEFORE = 8  # samples whose median is the level before a happening, as the classifier has it
_AT_ONSET = 3
_CUT_SAMPLES = 3  # NaN this soon after a peak: nobody knows how high it went
_SAME_SHARE = 0.005  # of the height of a picture: a peak this near to its upper edge is cut off by it
_ROUGHLY = 5  # samples: of a shorter duration only its bound is told
_EXACTLY = 1.5  # steps between samples up to which a duration is told as it is
_NAMES = {
    Role.LOSS: "the loss",
    Role.VALIDATION_LOSS: "the validation loss",
    Role.GRAD_NORM: "the gradient norm",
    Role.LEARNING_RATE: "the learning rate",
    Role.THROUGHPUT: "the throughput",
    Role.STEP_TIME: "the time a step takes",
    Role.LOSS_SCALE: "the loss scale",
    Role.VALIDATION_SCORE: "the validation score",
    Role.SCORE: "the training score",
    Role.OBJECTIVE: "the objective",
}
RISES = having(Trait.SPIKE | Trait.DIVERGES) | {"multi-dataset-spike", "resume-spike", "level-shift"}
"""Patterns that are a rise of the loss: of one happening the gravest name of it is told."""
DIVERGES = having(Trait.DIVERGES)
OVERALL = having(Trait.CALM | Trait.PROPERTY)  # speak of the log or of all of the course, not of an event
_OF_LOSS = RISES | {"resume-ratio-skew", "grad-norm-precursor", "loss-scale-collapse", "lr-not-restored"}
_ALONE = OVERALL | {"failed-run", "rising-spike-rate", "plateau", "overfitting"}
_NEAR_GAPS = 2  # logged samples that two onsets of one happening may be apart


@dataclass(frozen=True)
class Axis:
    """What the steps of a log count: ``step``, ``epoch``, or in the plural ``million tokens``."""

    noun: str = "step"

    @property
    def unit(self) -> str:
        """The plural: ``steps``."""
        return self.noun if self.noun.endswith("s") else f"{self.noun}s"

    def place(self, *at: float) -> str:
        """``step 7 005``, ``steps 7 005 to 8 960``; ``15 689 to 16 002 million tokens``."""
        ends, noun = " to ".join(map(count, at)), self.noun
        return f"{ends} {noun}" if noun.endswith("s") else f"{noun}{'s' * (len(at) > 1)} {ends}"

    def way(self, first: int, last: int) -> str:
        """``step 400 to step 361``; ``6 587 to 3 476 million tokens``."""
        start = count(first) if self.noun.endswith("s") else self.place(first)
        return f"{start} to {self.place(last)}"

    def span(self, number: float) -> str:
        """``240 steps``, ``1 step``, ``145 million tokens``."""
        digits = count(number)
        return f"{digits} {self.noun}" + ("" if self.noun.endswith("s") or digits == "1" else "s")

    def rough_span(self, number: float) -> str:
        """The same to two digits: ``170 steps``."""
        return self.span(float(f"{number:.2g}"))

    def lost(self, number: float) -> str:
        """``39 steps were discarded``, ``1 epoch was discarded``."""
        return f"{self.span(number)} {'was' if number == 1 else 'were'} discarded"


class Rise(NamedTuple):
    """From the level before to the highest value (of an objective the lowest); ``least`` where the true peak
    is not known. ``unit`` is the declared one with a space before it."""

    before: float
    peak: float
    least: bool
    unit: str

    @property
    def short(self) -> str:
        return f"{plainly(self.before)} → {'≥ ' * self.least}{plainly(self.peak)}{self.unit}"


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as its sentences need it."""

    timeline: Timeline
    diagnosis: Diagnosis
    config: RunConfig = RunConfig()

    @cached_property
    def axis(self) -> Axis:
        return axis_of(self.timeline)

    @cached_property
    def gap(self) -> float:
        """Steps from one logged sample to the next."""
        return sample_gap(self.timeline)

    @cached_property
    def views(self) -> Sequence[AttemptView]:
        return look(self.timeline, DEFAULTS).attempts

    @cached_property
    def loss(self) -> Track | None:
        return shown_metric(self.timeline.series.values())

    def index(self, attempt: str | None) -> int | None:
        """The place of an attempt of a name; that of the only one for None."""
        if attempt is None:
            return 0 if len(self.views) == 1 else None
        return self._index_of.get(attempt)

    @cached_property
    def _index_of(self) -> Mapping[str, int]:
        return {view.name: view.index for view in reversed(self.views)}

    @cached_property
    def training_of(self) -> Sequence[int]:
        """Of each attempt the number of its training, from 1; see `numbers_of`."""
        return numbers_of(self.timeline)

    @cached_property
    def n_trainings(self) -> int:
        return max(self.training_of, default=0)

    def training(self, attempt: str | None) -> str:
        """Which training an attempt is of, ``the third of 13 trainings``; "" where there is but one."""
        at = self.index(attempt)
        number = 0 if at is None else self.training_of[at]
        several = number and self.n_trainings > 1
        return f"the {ordinal(number)} of {count(self.n_trainings)} trainings" if several else ""

    def in_training(self, attempt: str | None, sentence: str) -> str:
        """A sentence about an attempt that says of which of several trainings it is: ``In fold 1, the second
        of 5 trainings, the loss ..``."""
        if not (where := self.training(attempt)):
            return sentence
        trial = self.timeline.attempts[self._index_of[attempt or ""]].facts.get("trial")
        where = f"{trial}, {where}," if trial else where
        return f"In {where} {sentence[:1].lower()}{sentence[1:]}"

    def is_live(self, attempt: str | None, step: int) -> bool:
        """Whether a step of an attempt (None: of any) lies on the course that the run kept."""
        at = self.index(attempt)
        return any(view.is_live(step) for view in (self.views if at is None else self.views[at : at + 1]))

    def name(self, metric: str | None) -> str:
        """A metric in words where it is the only one of its kind, ``the loss of pmd``, else as logged."""
        track = self.timeline.series.get(metric or "") or self.loss
        if track is None:
            return "the loss"
        if track.role is Role.DATASET_LOSS and track.dataset:
            return f"the loss of {track.dataset}"
        if track.role not in _NAMES:
            return f"the metric {track.metric}"
        alone = len(self.timeline.by_role(track.role)) == 1 or track is self.loss
        return _NAMES[track.role] if alone else f"{_NAMES[track.role]} ({track.metric})"

    @cached_property
    def edge(self) -> float:
        return picture_edge(self.timeline, self.config)


def picture_edge(timeline: Timeline, config: RunConfig) -> float:
    """From where on the picture that a loss was read from may have cut it off; infinite for any other log."""
    losses = [track for track in timeline.series.values() if track.role in LOSSES]
    if config.data != "digitised picture" or not losses:
        return math.inf
    known = np.concatenate([track.values[np.isfinite(track.values)] for track in losses])
    edge = float(known.max() - _SAME_SHARE * (known.max() - known.min())) if len(known) else math.inf
    return edge if np.count_nonzero(known >= edge) > 1 else math.inf


def came_to(values: Floats) -> float:
    """The level at the end, by the last eighth of the values, eight of them at most; NaN where it is none."""
    last = values[-max(1, min(BEFORE, len(values) // BEFORE)) :]
    return float(np.median(last)) if len(last) else math.nan


def is_cut(values: Floats, top: int, edge: float) -> bool:
    """Whether a peak runs into NaN, or into the upper edge of the picture that the log was read from."""
    return not np.isfinite(values[top + 1 : top + 1 + _CUT_SAMPLES]).all() or bool(values[top] >= edge)


def axis_of(timeline: Timeline) -> Axis:
    """What the steps of a timeline count; steps where its attempts do not agree."""
    return axis_named({attempt.axis for attempt in timeline.attempts})


def axis_named(nouns: Collection[str]) -> Axis:
    """The axis of attempts whose steps count this, each noun once."""
    return Axis(*nouns) if len(nouns) == 1 else Axis()


def evident(finding: Finding, key: str) -> float:
    """A number of a finding's evidence; NaN where it has none of this name."""
    value = finding.evidence.get(key)
    return float(value) if isinstance(value, int | float) else math.nan


@dataclass(frozen=True, eq=False)
class Teller:
    """A finding with all that its sentence may ask for."""

    run: RunView
    finding: Finding
    numbers: list[Quantity] = field(default_factory=list)
    metric: str = ""  # another one than the finding's own

    @property
    def what(self) -> str:
        return self.run.name(self.finding.metric)

    @property
    def unit(self) -> str:
        """The declared unit with a space before it; empty where none was declared."""
        return f" {self.track.unit}" if self.track is not None and self.track.unit else ""

    @property
    def start(self) -> str:
        return self.run.axis.place(self.finding.start_step)

    @property
    def span(self) -> str:
        """The steps of the finding: ``steps 250 to 750``."""
        return self.run.axis.place(self.finding.start_step, self.finding.end_step or self.finding.start_step)

    @property
    def course(self) -> str:
        """From where to where: ``over steps 250 to 750``, ``from step 250 on``."""
        return f"from {self.start} on" if self.finding.end_step is None else f"over {self.span}"

    @property
    def onset(self) -> str:
        """Where it starts: ``step 500``; where an attempt begins with it ``the restart at step 500``."""
        at, start = self.run.index(self.finding.attempt), self.finding.start_step
        begins = any(j.after == at and j.to_step == start for j in self.run.timeline.joins)
        return f"the restart at {self.start}" if begins else self.start

    def has(self, key: str) -> bool:
        """Whether the evidence holds a finite number of this name."""
        return math.isfinite(evident(self.finding, key))

    def value(self, key: str, default: float = math.nan) -> float:
        return evident(self.finding, key) if self.has(key) else default

    def number(self, name: str, value: float, form: Callable[[float], str]) -> str:
        """Keeps a number with its words, and gives the words."""
        self.numbers.append(Quantity(name, value, form(value)))
        return self.numbers[-1].words

    def say(self, name: str, key: str, form: Callable[[float], str]) -> str:
        """The same of a number of the evidence."""
        return self.number(name, self.value(key), form)

    @cached_property
    def track(self) -> Track | None:
        """The track that the finding is measured on: its own, else the loss."""
        return self.run.timeline.series.get(self.metric or self.finding.metric or "") or self.run.loss

    @property
    def falls(self) -> bool:
        """Whether its metric is one that ought to rise: then what a loss does upwards is a fall."""
        rising = (Role.OBJECTIVE, Role.SCORE, Role.VALIDATION_SCORE)
        return self.track is not None and self.track.role in rising

    @cached_property
    def samples(self) -> tuple[Steps, Floats]:
        """Steps and values of its metric in its attempt (of several: on the live course)."""
        track, at = self.track, self.run.index(self.finding.attempt)
        if track is None:
            return np.empty(0, np.int64), np.empty(0)
        rows = track.live if at is None else track.attempt == at
        return track.steps[rows], track.values[rows]

    def _earlier(self) -> Floats:
        """Values before the finding: in its attempt, where that begins with it in the one before."""
        track, at, start = self.track, self.run.index(self.finding.attempt), self.finding.start_step
        steps, values = self.samples
        earlier = values[steps < start]
        join = next((j for j in self.run.timeline.joins if j.after == at), None)
        if not len(earlier) and track is not None and join is not None:
            earlier = track.values[(track.attempt == join.before) & (track.steps < start)]
        return np.asarray(earlier[np.isfinite(earlier)][-BEFORE:], np.float64)

    @property
    def until(self) -> float:
        """Where the finding ends; of one that is not over where the next one in its series begins."""
        finding = self.finding
        if finding.end_step is not None:
            return finding.end_step
        series = finding.metric, finding.attempt
        alike = [other for other in self.run.diagnosis.findings if (other.metric, other.attempt) == series]
        later = [other for other in alike if other.start_step > finding.start_step]
        next_steps = (other.start_step for other in later if not _goes_on(finding, other))
        return min(next_steps, default=math.inf) - 1

    @cached_property
    def rise(self) -> Rise | None:
        """The rise of the loss; None where there is nothing before it, or where nothing rises."""
        sign = -1.0 if self.falls else 1.0
        steps, values = self.samples[0], sign * self.samples[1]
        inside = (steps >= self.finding.start_step) & (steps <= self.until)
        before, rows = sign * self._earlier(), np.flatnonzero(np.isfinite(values) & inside)
        if not len(before) or not len(rows):
            return None
        top = int(rows[np.argmax(values[rows])])
        onset = values[rows[rows < top]][:_AT_ONSET]
        base = min(float(np.median(part)) for part in (before, onset) if len(part))
        if (peak := float(values[top])) <= base:
            return None
        return Rise(sign * base, sign * peak, is_cut(sign * values, top, self.run.edge), self.unit)

    def lasted(self) -> str:
        """How long the finding took: ``within one logged sample``, ``after at most 700 steps``."""
        start, end, span = self.finding.start_step, self.finding.end_step, self.run.axis.span
        if end is None:
            return ""
        steps, drawn = self.samples[0], self.run.config.resolution
        low, high = np.searchsorted(steps, [start, end or start])
        # The finest duration that can be told, in steps.
        least = max(median_gap(steps[max(low - BEFORE, 0) : high + BEFORE]), drawn)
        if least <= _EXACTLY:
            return f"after {span(max(end - start, 1))}"
        if end - start <= least and not drawn:
            return f"within one logged sample ({span(least)})"
        if end - start < _ROUGHLY * least:
            return f"after at most {span(rounded(end - start + least))}"
        return f"after about {span(rounded(end - start))}"

    def from_to(self, rise: Rise) -> str:
        """``from 2.22 to 4.1``; keeps the two numbers."""
        before, peak = plainly(rise.before), f"{'at least ' * rise.least}{plainly(rise.peak)}{rise.unit}"
        self.numbers.append(Quantity("before", rise.before, f"{before}{rise.unit}"))
        return f"from {before} to {self.number('peak', rise.peak, lambda value: peak)}"

    def risen(self, verb: str) -> tuple[str, str]:
        """``rose from 2.22 to 4.1 at step 31 200``, and the short form of it."""
        rise, at = self.rise, self.start
        if rise is not None:
            return f"{verb} {self.from_to(rise)} at {self.onset}", f"{rise.short} at {at}"
        if self.has("height_log"):
            over = self.say("height", "height_log", percent)
            return f"stood {over} above its course at {self.onset}", f"{over} above its course at {at}"
        return f"{verb} at {self.onset}", f"from {at}"

    @property
    def close(self) -> str:
        """When it was last seen of a finding that was not over: ``when the log ended``, ``by step 700``."""
        until, at = self.until, self.run.index(self.finding.attempt)
        if math.isfinite(until):
            return f"by {self.run.axis.place(until)}"
        if at is None or at == len(self.run.views) - 1:
            return "when the log ended"
        goes_on = self.run.n_trainings < 2 or any(j.before == at for j in self.run.timeline.joins)
        return f"when the {'attempt' if goes_on else 'training'} ended"

    def ended(self, back: str = "back") -> tuple[str, str]:
        """How a rise ended: ``was back after 240 steps``."""
        if lasted := self.lasted():
            return f"was back {lasted}", f"back {lasted}"
        return f"had not come {back} {self.close}", f"not over {self.close}"


class Happening(NamedTuple):
    """One group: its number, the finding that names it, over the steps of all, and all of its findings."""

    number: int
    lead: Finding
    parts: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """That of its pattern; what something explains does not count against a run."""
        return Verdict.GOOD if self.lead.evidence.get("explained_by") else BY_ID[self.lead.pattern].verdict


def happenings(timeline: Timeline, diagnosis: Diagnosis) -> list[Happening]:
    """The findings of a diagnosis in groups, counted from 1 in the order they are told in."""
    near, owner = _NEAR_GAPS * sample_gap(timeline), owners(timeline)
    groups: list[list[Finding]] = []
    for finding in sorted(diagnosis.findings, key=_place):
        home = next((g for g in groups if any(_is_one_happening(finding, other, near) for other in g)), None)
        groups.append([finding]) if home is None else home.append(finding)
    named = [(_lead(group), tuple(group)) for group in groups]
    named.sort(key=lambda item: (owner(item[0].attempt, item[0].start_step), _place(item[0])))
    return [Happening(number, lead, parts) for number, (lead, parts) in enumerate(named, 1)]


def owners(timeline: Timeline) -> Callable[[str | None, float], int]:
    """Says to which attempt a step belongs: to the one of a name, else to the last that begins by then."""
    place_of = {attempt.name: k for k, attempt in reversed([*enumerate(timeline.attempts)])}
    series = map(distinct_in, timeline.attempts)
    begins = [min((s.steps.min() for s in every if len(s)), default=math.inf) for every in series]

    def owner(attempt: str | None, step: float) -> int:
        if (place := place_of.get(attempt or "")) is not None:
            return place
        return next((k for k in reversed(range(len(begins))) if begins[k] <= step), 0)

    return owner


def ranked(groups: Sequence[Happening], verdict: Verdict) -> list[Happening]:
    """Those first that make the verdict, then by their own verdict and severity."""
    in_order = sorted(groups, key=lambda g: g.number)
    return sorted(in_order, key=lambda g: (g.verdict is not verdict, -g.verdict.rank, -g.lead.severity))


def sample_gap(timeline: Timeline) -> float:
    """Steps from one logged sample of the loss to the next, as the run mostly logged it; 1 where unknown."""
    loss = shown_metric(timeline.series.values())
    return median_gap(loss.steps) if loss is not None else 1.0


def _is_one_happening(a: Finding, b: Finding, near: float) -> bool:
    if {a.pattern, b.pattern} & _ALONE or (a.attempt and b.attempt and a.attempt != b.attempt):
        return False
    if abs(_onset(a) - _onset(b)) <= near or _goes_on(*sorted((a, b), key=lambda f: f.start_step)):
        return True
    return {a.pattern, b.pattern} <= _OF_LOSS and max(_onset(a), _onset(b)) <= min(_until(a), _until(b))


def _onset(finding: Finding) -> float:
    """Where it began; of what comes before a rise of the loss, where that one did."""
    rise = evident(finding, "loss_start_step")
    return rise if math.isfinite(rise) else finding.start_step


def _goes_on(first: Finding, later: Finding) -> bool:
    """Whether a later divergence is the same one: of the first, which never ended, most was left."""
    left, height = evident(first, "residual_log"), evident(first, "height_log")
    diverge = {first.pattern, later.pattern} <= DIVERGES and first.metric == later.metric
    return diverge and first.end_step is None and left >= height / 2


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
