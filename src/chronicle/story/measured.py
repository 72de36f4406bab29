"""Groups findings into events, and measures the numbers of each event against one baseline.

Two findings are one event if their onsets in one attempt are no further apart than the log can tell, or if
both are about the loss and one began before the other was over (or before its peak, if it is not over). The
baseline of a rise is the lower of two medians, before and at its onset. A peak that is cut off by a picture,
or that ends in NaN, is a lower bound. A duration is never more precise than the log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from chronicle.classify.course import LEVEL_SAMPLES
from chronicle.classify.measure import FEWEST_POINTS
from chronicle.classify.patterns import BY_ID, DIVERGENCES, ODD_ONES, Trait, having
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import look
from chronicle.metrics.aliases import median_gap
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.by_values import measurements
from chronicle.metrics.names import LOSSES, role_of
from chronicle.metrics.roles import direction, shown_metric
from chronicle.metrics.values import count, grouped, ordinal, plainly, rounded
from chronicle.model import (
    VERDICTS,
    Diagnosis,
    EventKind,
    Finding,
    Floats,
    JoinKind,
    Quantity,
    Role,
    Steps,
    Timeline,
    Track,
    Verdict,
)
from chronicle.timeline.axes import axis_of
from chronicle.timeline.courses import distinct_in, step_ends
from chronicle.timeline.trainings import numbers_of
from chronicle.workspace.config import RunConfig

AT_ONSET = 3  # samples whose median is the level at the onset
_CUT_SAMPLES = 3  # if a NaN follows a peak within so many samples, the true height is unknown
_EDGE_SHARE = 0.005  # of the height of a picture: a peak so near to its upper edge is cut off by it
_ROUGH_SAMPLES = 5  # of a duration of fewer samples only an upper bound is given
_SCATTER_SAMPLES = 32  # before a rise, whose differences say what noise is
# The highest of many samples of noise stands less than so many scales above their level: a peak that stands
# further above the samples around it is no noise. A height is not made rougher for less than a share of it.
_OF_NOISE_SCALES, _NOTICED_SHARE = 6.0, 0.05
_EXACT_GAP_STEPS = 1.5  # up to this gap between samples a duration is given exactly
_OWN_NAMES = "loss validation-loss learning-rate throughput loss-scale validation-score objective"
_NAMES = {Role(name): f"the {name.replace('-', ' ')}" for name in _OWN_NAMES.split()}
_NAMES |= {Role.GRAD_NORM: "the gradient norm", Role.STEP_TIME: "the time a step takes"}
_NAMES |= {Role.SCORE: "the training score"}
BY_PEOPLE = (EventKind.NOTE, EventKind.DECISION, EventKind.REVIEW)  # written by people, not by a log
JOINS = tuple(EventKind(kind.value) for kind in JoinKind)
CHANGES = (EventKind.SCHEDULE, EventKind.BATCH)
ENDS = (EventKind.LAUNCH, EventKind.END)  # where the log begins and ends
_OUGHT_TO_RISE = (Role.OBJECTIVE, Role.SCORE, Role.VALIDATION_SCORE)
RISES = having(Trait.SPIKE | Trait.DIVERGES) | {"multi-dataset-spike", "resume-spike", "level-shift"}
"""Patterns that are a rise of the loss. An event that shows several of them has the name of the gravest."""
CALM = having(Trait.CALM)
# patterns of the course of the whole run, without a step of their own
COURSE = having(Trait.WHOLE_RUN) - ODD_ONES
OVERALL = having(Trait.CALM | Trait.PROPERTY)  # patterns of the log or the whole course, which are no event
_ABOUT_LOSS = RISES | {"resume-ratio-skew", "grad-norm-precursor", "loss-scale-collapse", "lr-not-restored"}
_NEVER_GROUPED = OVERALL | {"failed-run", "rising-spike-rate", "plateau", "overfitting"}
_ONSETS_APART_SAMPLES = 2  # the onsets of two findings of one event are at most so many samples apart


def named_patterns(patterns: Sequence[str]) -> list[str]:
    """Of the patterns of an event those by which it is named: the first one, and others that are no rise of
    the loss if that is one."""
    return [p for p in patterns if p == patterns[0] or not {p, patterns[0]} <= RISES]


class Rise(NamedTuple):
    """From the level before to the highest value (for a metric that should rise: to the lowest), or, if this
    is only the highest of noise, to the level around it (``about``). ``least`` says that the true peak may be
    higher. ``unit`` is the declared unit after a space, or empty. ``at_step`` is the step of the peak."""

    before: float
    peak: float
    least: bool
    unit: str
    at_step: int
    about: bool = False

    @property
    def short(self) -> str:
        return f"{plainly(self.before)} → {'≥ ' * self.least}{plainly(self.peak)}{self.unit}"


class RunView:
    """A run with what its sentences need. ``gap`` is the number of steps between two logged samples,
    ``training_of`` the number of the training of each attempt (from 1), and ``edge`` that of
    `picture_edge`."""

    def __init__(self, timeline: Timeline, diagnosis: Diagnosis, config: RunConfig | None = None) -> None:
        self.timeline, self.diagnosis, self.config = timeline, diagnosis, config or RunConfig()
        self.axis, self.gap = axis_of(timeline), sample_gap(timeline)
        self.loss = shown_metric(timeline.series.values())
        self.views = look(timeline, DEFAULTS).attempts
        self.training_of = numbers_of(timeline)
        self.n_trainings = max(self.training_of, default=0)
        self.edge = picture_edge(timeline, self.config)

    def as_steps(self, samples: int) -> float:
        """How many steps so many logged samples span."""
        return samples * max(self.gap, 1.0)

    def index(self, attempt: str | None) -> int | None:
        """The index of the attempt of this name; without a name that of the only attempt, if it is alone."""
        if not attempt:
            return 0 if len(self.views) == 1 else None
        return self.timeline.index_of.get(attempt)

    def training(self, attempt: str | None) -> str:
        """The training of an attempt, ``the third of 13 trainings``; empty if there is only one training."""
        at = self.index(attempt)
        number = 0 if at is None or self.n_trainings < 2 else self.training_of[at]
        return f"the {ordinal(number)} of {count(self.n_trainings)} trainings" if number else ""

    def in_training(self, attempt: str | None, sentence: str) -> str:
        """The sentence, after the training of the attempt if there are several."""
        if not (where := self.training(attempt)):
            return sentence
        trial = self.timeline.attempts[self.timeline.index_of[attempt or ""]].facts.get("trial")
        where = f"{trial}, {where}," if trial else where
        return f"In {where} {sentence[:1].lower()}{sentence[1:]}"

    def is_live(self, attempt: str | None, step: int) -> bool:
        """Whether a step of an attempt (None: of any) lies on the course that the run kept."""
        at = self.index(attempt)
        return any(view.is_live(step) for view in (self.views if at is None else self.views[at : at + 1]))

    def name(self, metric: str | None) -> str:
        """A metric in words: ``the loss``, ``the loss of pmd``; with its logged name if that is ambiguous."""
        if (track := self.timeline.series.get(metric or "") or self.loss) is None:
            return "the loss"
        if track.role is Role.DATASET_LOSS and track.dataset:
            return f"the loss of {track.dataset}"
        if track.role not in _NAMES:
            return f"the metric {track.metric}"
        alone = track is self.loss or all(map(track.is_curve_of, self.timeline.by_role(track.role)))
        if track.role is Role.LOSS and role_of(track.metric) is not Role.LOSS:  # one of several parts?
            alone &= len([*self.timeline.by_role(Role.LOSS), *self.timeline.by_role(Role.PART_LOSS)]) < 2
        return _NAMES[track.role] if alone else f"{_NAMES[track.role]} ({track.metric})"

    def course(self) -> str:
        """The course of the judged metric, for the card of a single training in which nothing was found:
        ``loss 2.31 → 0.45 in 8 points, too few to be judged; ``."""
        if self.loss is None:
            return "no loss or reward to judge, "
        values = self.loss.values[self.loss.live & np.isfinite(self.loss.values)]
        values = measurements(values, self.loss.role)[1]
        if self.n_trainings > 1 or len(values) < 2:
            return ""
        first, last, unit = plainly(float(values[0])), plainly(float(values[-1])), self.loss.unit or ""
        few = f" in {len(values)} points" if len(values) < FEWEST_POINTS else ""
        few += ", too few to be judged" if few and self.loss.role in LOSSES else ""
        name = self.name(None).removeprefix("the ").removeprefix("metric ")
        return f"{name} {first} → {f'{last} {unit}'.rstrip()}{few}; "


def picture_edge(timeline: Timeline, config: RunConfig) -> float:
    """The value from which on a digitised picture may cut off the loss; infinite for any other log."""
    known = finite_values(track.values for track in timeline.series.values() if track.role in LOSSES)
    if config.data != "digitised picture" or not len(known):
        return math.inf
    edge = float(known.max() - _EDGE_SHARE * (known.max() - known.min()))
    return edge if np.count_nonzero(known >= edge) > 1 else math.inf


def finite_values(arrays: Iterable[Floats]) -> Floats:
    """All finite values of some arrays, one array after the other."""
    values: Floats = np.concatenate([np.empty(0), *arrays])
    return finite_of(values)


def final_level(values: Floats) -> float:
    """The median of the last eighth of the values, at most of eight values; NaN without any value."""
    last = values[-max(1, min(LEVEL_SAMPLES, len(values) // 8)) :]
    return float(np.median(last)) if len(last) else math.nan


def level_of_noise(values: Floats, base: float, earlier: Floats) -> float | None:
    """The level around the highest of some values, if this is no peak: it stands above its level by more than
    a rounding, but no further than noise (that of the ``earlier`` values), nor than half of its height."""
    top = int(values.argmax())
    around = values[max(top - LEVEL_SAMPLES // 2, 0) :][:LEVEL_SAMPLES]
    if min(len(around), len(earlier)) < LEVEL_SAMPLES:
        return None
    level, height = float(np.median(around)), float(values[top]) - base
    scatter = float(np.median(np.abs(np.diff(earlier[-_SCATTER_SAMPLES:]))))
    above, most = float(values[top]) - level, min(_OF_NOISE_SCALES * scatter, height / 2)
    return level if _NOTICED_SHARE * height < above < most else None


class Course(NamedTuple):
    """The live course of a metric: first and last value, the best, its step, and which extreme that is."""

    first: float
    last: float
    best: float
    best_step: int
    extreme: str


def course_of(track: Track) -> Course | None:
    """The course of a metric; None if no value counts."""
    shown = np.flatnonzero(track.live & np.isfinite(track.values))
    measured, values = measurements(track.values[shown], track.role)
    if not len(values):
        return None
    rises = direction(track) > 0
    row = int(np.argmax(values) if rises else np.argmin(values))
    first, last, best = values[[0, -1, row]].tolist()
    return Course(first, last, best, int(track.steps[shown[measured]][row]), "highest" if rises else "lowest")


def is_cut_off(values: Floats, top: int, edge: float) -> bool:
    """Whether the peak at index ``top`` runs into NaN or into the upper edge of a digitised picture."""
    return not np.isfinite(values[top + 1 : top + 1 + _CUT_SAMPLES]).all() or bool(values[top] >= edge)


def evidence_number(finding: Finding, key: str) -> float:
    """A number of a finding's evidence; NaN if the evidence has no number of this name."""
    value = finding.evidence.get(key)
    return float(value) if isinstance(value, int | float) else math.nan


class FindingView:
    """A finding with what its sentence needs. ``track`` is the metric on which it is measured, in the attempt
    ``at`` (None: several). ``falls``: the metric should rise, so that a fall of it is what a rise is for a
    loss. ``numbers`` collects the numbers that the sentence names."""

    def __init__(
        self, run: RunView, finding: Finding, numbers: list[Quantity] | None = None, metric: str = ""
    ) -> None:
        self.run, self.finding, self.at = run, finding, run.index(finding.attempt)
        self.numbers = [] if numbers is None else numbers
        self.metric = metric
        self.track = run.timeline.series.get(metric or finding.metric or "") or run.loss
        self.unit = f" {self.track.unit}" if self.track is not None and self.track.unit else ""
        self.falls = self.track is not None and self.track.role in _OUGHT_TO_RISE
        self.what = run.name(finding.metric)  # the metric in words
        self.start = run.axis.place(finding.start_step)  # ``step 250``
        self.join = next((join for join in run.timeline.joins if join.after == self.at), None)
        begins = self.join is not None and self.join.to_step == finding.start_step
        self.onset = f"the restart at {self.start}" if begins else self.start
        self.span = run.axis.place(finding.start_step, finding.end_step or finding.start_step)
        self.course = f"from {self.start} on" if finding.end_step is None else f"over {self.span}"

    def is_measured(self, key: str) -> bool:
        return math.isfinite(evidence_number(self.finding, key))

    def value(self, key: str, default: float = math.nan) -> float:
        return evidence_number(self.finding, key) if self.is_measured(key) else default

    def number_words(self, name: str, value: float, form: Callable[[float], str]) -> str:
        """Keeps a number together with its words, and returns the words."""
        self.numbers.append(Quantity(name, value, form(value)))
        return self.numbers[-1].words

    @cached_property
    def samples(self) -> tuple[Steps, Floats]:
        """Steps and values of its metric in its attempt (in several attempts: on the live course)."""
        if (track := self.track) is None:
            return np.empty(0, np.int64), np.empty(0)
        rows = track.live if self.at is None else track.attempt == self.at
        measured, values = measurements(track.values[rows], track.role)
        return track.steps[rows][measured], values

    @property
    def last_step(self) -> float:
        """The last step; for a finding that is not over, the step before the next finding in its series."""
        finding = self.finding
        if finding.end_step is not None:
            return finding.end_step
        series = finding.metric, finding.attempt
        alike = (other for other in self.run.diagnosis.findings if (other.metric, other.attempt) == series)
        later = (other for other in alike if other.start_step > finding.start_step)
        return min((f.start_step for f in later if not _is_same_divergence(finding, f)), default=math.inf) - 1

    @cached_property
    def rise(self) -> Rise | None:
        """The rise of the metric; None if nothing rises."""
        sign = -1.0 if self.falls else 1.0
        start, steps, values = self.finding.start_step, self.samples[0], sign * self.samples[1]
        rows = np.flatnonzero(np.isfinite(values) & (steps >= start) & (steps <= self.last_step))
        before, track, join = values[steps < start], self.track, self.join
        if not len(before) and track is not None and join is not None:  # its attempt begins with it
            before = sign * track.values[(track.attempt == join.before) & (track.steps < start)]
        earlier = finite_of(before)
        before = earlier[-LEVEL_SAMPLES:]
        if not len(rows):
            return None
        before = before if len(before) else values[rows[:1]]  # the log begins with it
        top = int(rows[np.argmax(values[rows])])
        onset = values[rows[rows < top]][:AT_ONSET]
        base = min(float(np.median(part)) for part in (before, onset) if len(part))
        if (peak := float(values[top])) <= base:
            return None
        cut = is_cut_off(sign * values, top, self.run.edge)
        level = None if cut else level_of_noise(values[rows], base, earlier)
        peak, about = (peak, False) if level is None else (level, True)
        return Rise(sign * base, sign * peak, cut, self.unit, int(steps[top]), about)

    def gone(self, levels: Floats | float) -> Floats:
        """How much of the rise is gone at levels: 0 at the peak, 1 at the level before; NaN without a rise.
        It is measured by logarithms if they exist."""
        rise = self.rise or Rise(math.nan, math.nan, False, "", 0)
        measured = np.array([rise.before, rise.peak, *np.ravel(levels)])
        measured = np.log(measured) if not self.falls and measured.min() > 0 else measured
        return np.asarray((measured[1] - measured[2:]) / (measured[1] - measured[0]))

    @cached_property
    def later(self) -> tuple[Steps, Floats]:
        """The finite samples between the peak of the rise and the last step."""
        steps, values = self.samples
        begin = self.finding.start_step if self.rise is None else self.rise.at_step
        rows = np.isfinite(values) & (steps > begin) & (steps <= self.last_step)
        return steps[rows], values[rows]

    def came_down(self, share: float = 0.0) -> bool:
        """Whether more than a share of the rise was gone in the last samples after its peak."""
        return self.rise is None or bool(self.gone(final_level(self.later[1]))[0] > share)

    def lasted(self) -> str:
        """How long the finding took: ``within one logged sample``, ``after at most 700 steps``."""
        start, end, span = self.finding.start_step, self.finding.end_step, self.run.axis.span
        if end is None:
            return ""
        steps, drawn = self.samples[0], self.run.config.resolution
        low, high = np.searchsorted(steps, [start, end or start])
        # In steps, the shortest duration that the log or the picture can resolve.
        least = max(median_gap(steps[max(low - LEVEL_SAMPLES, 0) : high + LEVEL_SAMPLES]), drawn)
        if least <= _EXACT_GAP_STEPS:
            return f"after {span(max(end - start, 1))}"
        if end - start <= least and not drawn:
            return f"within one logged sample ({span(least)})"
        if end - start < _ROUGH_SAMPLES * least:
            return f"after at most {span(rounded(end - start + least))}"
        return f"after about {span(rounded(end - start))}"

    def from_to(self, rise: Rise) -> str:
        """``from 2.22 to 4.1``; keeps the two numbers."""
        before, roughly = plainly(rise.before), "at least " * rise.least + "about " * rise.about
        self.numbers.append(Quantity("before", rise.before, f"{before}{rise.unit}"))
        peak = self.number_words("peak", rise.peak, lambda value: f"{roughly}{plainly(value)}{rise.unit}")
        return f"from {before} to {peak}"

    @property
    def climb(self) -> str:
        """From the start to the peak: ``over steps 614 to 645``, ``at step 614``."""
        start, peak = self.finding.start_step, self.finding.peak_step
        top = peak if self.rise is None else self.rise.at_step
        return f"at {self.start}" if top in (None, start) else f"over {self.run.axis.place(start, top)}"

    @property
    def at_peak(self) -> str:
        """The step of the peak: ``at step 641``; ``there``, if it is the start."""
        peak, start = self.finding.peak_step, self.finding.start_step
        return "there" if peak in (None, start) else f"at {self.run.axis.place(peak)}"

    @property
    def last_seen(self) -> str:
        """When a finding that is not over was last seen: ``when the log ended``, ``by step 700``."""
        if math.isfinite(self.last_step):
            return f"by {self.run.axis.place(self.last_step)}"
        if self.at is None or self.at == len(self.run.views) - 1:
            return "when the log ended"
        goes_on = self.run.n_trainings < 2 or any(j.before == self.at for j in self.run.timeline.joins)
        return f"when the {'attempt' if goes_on else 'training'} ended"

    def named(self, short: str) -> str:
        """A short form, with the name of the metric in front if it is not the judged one."""
        if self.track is None or self.track is self.run.loss:
            return short
        return f"{self.run.name(self.track.metric).removeprefix('the ')}: {short}"

    def ended(self, back: str = "back") -> tuple[str, str]:
        """How a rise ended: ``was back after 240 steps``."""
        if lasted := self.lasted():
            return f"was back {lasted}", f"back {lasted}"
        return f"had not come {back} {self.last_seen}", f"not over {self.last_seen}"


class FindingGroup(NamedTuple):
    """The findings of one event: its number, its findings (``parts``), and the gravest of them, which names
    the event (``lead``, with the steps of all findings of its name)."""

    number: int
    lead: Finding
    parts: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict of its pattern; good if something explains the event."""
        return Verdict.GOOD if self.lead.evidence.get("explained_by") else BY_ID[self.lead.pattern].verdict

    @property
    def representatives(self) -> list[Finding]:
        """The findings of which its sentences tell: the lead and the gravest one of each other family."""
        gravest_first = sorted(self.parts, key=attrgetter("severity", "start_step"), reverse=True)
        by_family = grouped(gravest_first, lambda part: family(part.pattern))
        own = family(self.lead.pattern)
        return [self.lead, *(same[0] for name, same in by_family.items() if name != own)]


def family(pattern: str) -> str:
    """The name of a pattern in ids: one for all rises of the loss, as it may change while the log grows."""
    return "rise" if pattern in RISES else pattern


def finding_groups(timeline: Timeline, diagnosis: Diagnosis) -> list[FindingGroup]:
    """The findings of a diagnosis in groups, numbered from 1 in the order of attempts and steps."""
    near, owner = _ONSETS_APART_SAMPLES * sample_gap(timeline), owners(timeline)
    groups: list[list[Finding]] = []
    for finding in sorted(diagnosis.findings, key=_order):
        same = (g for g in groups if any(_are_one_event(finding, other, near) for other in g))
        if (group := next(same, None)) is None:
            groups.append(group := [])
        group.append(finding)
    judged = shown_metric(timeline.series.values())
    named = [(_gravest(group, judged.metric if judged else ""), tuple(group)) for group in groups]
    named.sort(key=lambda item: (owner(item[0].attempt, item[0].start_step), _order(item[0])))
    return [FindingGroup(number, lead, parts) for number, (lead, parts) in enumerate(named, 1)]


def owners(timeline: Timeline) -> Callable[[str | None, float], int]:
    """A function from a name and a step to the index of the attempt, or of the last one begun by then."""
    ends = [step_ends(distinct_in(attempt)) for attempt in timeline.attempts]
    begins = [first_and_last[0] if first_and_last else math.inf for first_and_last in ends]

    def owner(attempt: str | None, step: float) -> int:
        if (place := timeline.index_of.get(attempt or "")) is not None:
            return place
        return next((k for k in reversed(range(len(begins))) if begins[k] <= step), 0)

    return owner


def sample_gap(timeline: Timeline) -> float:
    """The median number of steps between two logged samples of the loss; 1 if no loss was logged."""
    loss = shown_metric(timeline.series.values())
    return median_gap(loss.steps) if loss is not None else 1.0


def _are_one_event(a: Finding, b: Finding, near: float) -> bool:
    if {a.pattern, b.pattern} & _NEVER_GROUPED or (a.attempt and b.attempt and a.attempt != b.attempt):
        return False
    onsets, in_order = (_onset_step(a), _onset_step(b)), sorted((a, b), key=lambda f: f.start_step)
    if max(onsets) - min(onsets) <= near or _is_same_divergence(*in_order):
        return True
    return {a.pattern, b.pattern} <= _ABOUT_LOSS and max(onsets) <= min(_last_step(a), _last_step(b))


def _onset_step(finding: Finding) -> float:
    """The first step of a finding, or of the rise of the loss that it precedes."""
    rise = evidence_number(finding, "loss_start_step")
    return rise if math.isfinite(rise) else finding.start_step


def _is_same_divergence(first: Finding, later: Finding) -> bool:
    """Whether ``later`` continues the divergence ``first``, which never ended and kept half of its height."""
    left, height = evidence_number(first, "residual_log"), evidence_number(first, "height_log")
    diverge = {first.pattern, later.pattern} <= DIVERGENCES and first.metric == later.metric
    return diverge and first.end_step is None and left >= height / 2


def _last_step(finding: Finding) -> int:
    last = finding.peak_step if finding.end_step is None else finding.end_step
    return finding.start_step if last is None else max(last, finding.start_step)


def _gravest(group: Sequence[Finding], judged: str) -> Finding:
    """The gravest finding of a group, with the steps of all findings of its pattern (or of all rises). If the
    judged metric shows the same, this is the one that people know, and not a data set that rose further."""
    first = max(group, key=lambda f: (BY_ID[f.pattern].verdict.rank, f.severity, f.metric is None))
    own = [f for f in group if first.metric and (f.pattern, f.metric) == (first.pattern, judged)]
    first = max(own, key=attrgetter("severity"), default=first)
    same = [f for f in group if f.pattern == first.pattern or {f.pattern, first.pattern} <= RISES]
    ends = [f.end_step for f in same if f.end_step is not None]
    end = max(ends) if len(ends) == len(same) else None
    return replace(first, start_step=min(f.start_step for f in same), end_step=end)


def _order(finding: Finding) -> tuple[int, int, str, str]:
    verdict = VERDICTS.index(BY_ID[finding.pattern].verdict)
    return finding.start_step, verdict, finding.pattern, finding.metric or ""
