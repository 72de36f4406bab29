"""Finds the evidence around an event: what came shortly before it, and signs of a cause.

A sign holds, does not, or is unknown if its series was not logged; `pages.gallery` ranks causes by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property, partialmethod
from itertools import groupby
from operator import itemgetter
from typing import Self

import numpy as np

from chronicle.classify.course import LEVEL_SAMPLES
from chronicle.classify.view import AttemptView, value_at
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.roles import SCORES
from chronicle.metrics.values import grouped, listed
from chronicle.model import Event, EventKind, Floats, Role, Series
from chronicle.story.measured import ENDS, OVERALL, RunView
from chronicle.story.sentences import noun
from chronicle.timeline.courses import step_ends

_NO_CAUSE = OVERALL | {"rising-spike-rate"}
_TOGETHER_SAMPLES = 8  # two things that are no further apart may belong to one event
_USUAL_SAMPLES = 50  # so many samples before an event show what was usual
CAUSE_SAMPLES = 50  # something that happened at most so long before an event may have caused it
_RESTART_SAMPLES = 300  # for so long after a restart, the restart may be the cause
_YOUNG_STEPS = 20_000  # all known instabilities of initial weights came earlier
_JUMP_FACTOR = 3.0  # of the usual gradient norm, or of the second largest rise among the data sets
_START_SHARE = 0.05  # of the way to an event: a log that begins later does not contain the start
_RATE_RISE_FACTOR = 1.2  # after its warm-up, a schedule rises by less within so few samples
_IDLE_RATE_SHARE = 0.05  # of the highest learning rate: a lower rate changes the weights hardly at all
_STILL_SHARE = 1 / 3  # of the change of the training loss: validation that changed by less stood still


class EventContext:
    """An event with all events of its run and its attempt. A method with the name of a `Sign` says whether
    that sign holds; None if the series that it needs was not logged."""

    def __init__(self, run: RunView, event: Event, events: Sequence[Event], view: AttemptView) -> None:
        self.run, self.event, self.events, self.view = run, event, events, view
        self.step = event.step or 0
        self.first_step = (step_ends(view.series.values()) or (self.step, 0))[0]
        # Whether the log contains the beginning of the training; a picture of it may begin a little later.
        self.has_start = view.index == 0 and self.first_step <= max(2 * run.gap, _START_SHARE * self.step)

    @cached_property
    def shortly_before(self) -> list[tuple[int, Event]]:
        """Earlier events within the window of causes, the nearest first, with their distance in steps."""
        if self.event.shows(OVERALL):
            return []
        others = (o for o in self.events if o.title != self.event.title and not o.shows(_NO_CAUSE))
        before = ((self.step - o.step, o) for o in others if o.step is not None)
        before = (pair for pair in before if pair[1].attempt in ("", self.event.attempt))
        near = (pair for pair in before if 0 <= pair[0] <= self.run.as_steps(CAUSE_SAMPLES))
        causes = (pair for pair in near if pair[1].kind not in ENDS)
        return sorted(causes, key=itemgetter(0))

    def causes(self) -> tuple[str, ...]:
        """``40 steps after the batch change``; of several events of one name only the nearest."""
        words, named = [], set[str]()
        for before, others in groupby(self.shortly_before, itemgetter(0)):
            when = f"{self.run.axis.span(before)} after" if before else "together with"
            names = dict.fromkeys(f"the {name}" for name in _names(other for _, other in others))
            if new := [name for name in names if name not in named]:
                words.append(f"{when} {listed(new)}")
            named.update(new)
        return tuple(words)

    def values_before(self, series: Series | None, samples: int = _USUAL_SAMPLES) -> Floats:
        known: Floats = np.empty(0)
        if series is None:
            return known
        end = start = int(np.searchsorted(series.steps, self.step))
        while len(known) < samples and start:
            start = max(2 * start - end - 4 * samples, 0)
            known = series.values[start:end]
            known = finite_of(known)
        return known[-samples:]

    def values_from(self, series: Series | None, samples: int = _TOGETHER_SAMPLES) -> Floats:
        if series is None:
            return np.empty(0)
        start = int(np.searchsorted(series.steps, self.step))
        if self.event.end_step is not None:
            last = max(self.event.end_step, self.step + self.run.as_steps(2))
            samples = min(samples, int(np.searchsorted(series.steps, last, side="right")) - start)
        return series.values[start : start + samples]

    def was_found(self, role: Role, pattern: str) -> bool | None:
        if self.view.first(role) is None:
            return None
        findings = (f for f in self.run.diagnosis.findings if f.pattern == pattern)
        return any(f.start_step <= self.step and f.attempt in (None, self.view.name) for f in findings)

    def is_near(self, *kinds: EventKind, samples: int = _TOGETHER_SAMPLES) -> bool:
        around = self.run.as_steps(samples)
        steps = [o.step for o in self.events if o.kind in kinds and o.step is not None]
        return any(abs(self.step - step) <= around for step in steps)

    def resumed(self, samples: int = _TOGETHER_SAMPLES) -> bool:
        return not self.has_start and self.step - self.first_step <= self.run.as_steps(samples)

    def every_resume(self) -> bool | None:
        if len(self.run.diagnosis.joins) < 2 or not self.resumed():
            return None
        alike = [o for o in self.events if o.kind is EventKind.FINDING and o.title == self.event.title]
        return len({o.attempt for o in alike}) > 1

    def first_sample(self) -> bool | None:
        values = self.values_from(self.view.loss, 2 * _TOGETHER_SAMPLES)
        values = finite_of(values)
        has_samples = self.run.config.data != "digitised picture" and len(values) > 1
        return bool(np.argmax(values) == 0) if has_samples and self.resumed() else None

    def calm_before(self) -> bool:
        findings = (o for o in self.events if o.kind is EventKind.FINDING and o.attempt == self.event.attempt)
        lasting = (o.step for o in findings if o.end_step is None and o.ending)
        return not self.shortly_before and not any(step is not None and step < self.step for step in lasting)

    def rate_rose(self) -> bool | None:
        rate = self.view.learning_rate
        earlier = self.values_before(rate)
        if rate is None or len(earlier) < LEVEL_SAMPLES:
            return None
        now = max(value_at(rate, self.step), float(earlier[-_TOGETHER_SAMPLES:].max()))
        usual = np.median(earlier[:-LEVEL_SAMPLES] if len(earlier) > LEVEL_SAMPLES else earlier)
        return now > _RATE_RISE_FACTOR * float(usual)

    def rate_zero(self) -> bool | None:
        rate = self.view.learning_rate
        values = self.values_from(rate)
        if rate is None or not np.isfinite(values).any():
            return None
        usual = float(np.quantile(finite_of(rate.values), 0.9))
        return float(np.median(values)) <= _IDLE_RATE_SHARE * usual

    def gradient(self, led: bool) -> bool | None:
        norm = self.view.grad_norm
        earlier = self.values_before(norm)
        if len(earlier) < 2 * LEVEL_SAMPLES:
            return None
        usual = _JUMP_FACTOR * float(np.median(earlier[:-LEVEL_SAMPLES]))
        leads = float(earlier[-LEVEL_SAMPLES:].max()) >= usual or "grad-norm-precursor" in self.event.patterns
        now = self.values_from(norm, 3)
        jumps = bool(len(now)) and bool((now >= usual).any() or np.isnan(now).any())
        return leads if led else jumps and not leads

    def above_start(self) -> bool | None:
        loss = self.view.loss
        if loss is None or not self.has_start or not len(values := self.values_from(loss, _USUAL_SAMPLES)):
            return None
        first = loss.values[:LEVEL_SAMPLES]
        return bool(np.fmax.reduce(values, initial=-np.inf) > np.fmax.reduce(first, initial=-np.inf))

    def one_source(self) -> bool | None:
        rises = []
        for series in self.view.dataset_losses:
            earlier, now = self.values_before(series, LEVEL_SAMPLES), self.values_from(series, _USUAL_SAMPLES)
            if len(earlier) and np.isfinite(now).any() and earlier.min() > 0:
                rises.append(float(np.log(np.nanmax(now) / np.median(earlier))))
        if len(rises) < 2:
            return None
        *_, second, first = sorted(rises)
        return first > _JUMP_FACTOR * max(second, 0.0)

    def scale_led(self) -> bool | None:
        earlier = self.values_before(self.view.first(Role.LOSS_SCALE))
        return float(earlier[-1]) <= float(earlier.max()) / 4 if len(earlier) else None

    def epoch_ended(self) -> bool | None:
        if (epoch := self.view.first(Role.EPOCH)) is None:
            return None
        ends = [value_at(epoch, self.step + side * self.run.as_steps(2)) for side in (-1, 1)]
        return bool(np.floor(ends[1]) > np.floor(ends[0]))

    def validation_still(self) -> bool | None:
        kept, loss = self.view.validation_loss, self.view.loss
        if kept is None or loss is None:
            return None
        sides = (kept, 2), (loss, 2 * LEVEL_SAMPLES)
        pairs = [(self.values_before(*side), self.values_from(*side)) for side in sides]
        if any(not len(a) or not np.isfinite(b).any() or min(a.min(), np.nanmin(b)) <= 0 for a, b in pairs):
            return None
        moved = [abs(float(np.log(np.nanmedian(b) / np.median(a)))) for a, b in pairs]
        return moved[0] < _STILL_SHARE * moved[1]

    def others_move(self) -> bool | None:
        loss = self.view.loss
        if "frozen-metric" not in self.event.patterns:
            return None
        others = [s for s in self.view.series.values() if s is not loss and s.role is not Role.LEARNING_RATE]
        return any(len(np.unique(self.values_from(s))) > 2 for s in others) if others else None

    def decimal(self) -> bool | None:
        if "quantised-loss" not in self.event.patterns or self.view.loss is None:
            return None
        values = np.unique(finite_of(self.view.loss.values))
        power = np.log10(np.diff(values).min())
        return bool(abs(power - round(power)) < 0.01)

    def seen_in(self, *roles: Role) -> bool:
        findings = [f for f in self.run.diagnosis.findings if f.id in self.event.parts]
        tracks = [self.run.timeline.series.get(f.metric or "") for f in findings]
        return any(track is not None and track.role in roles for track in tracks)

    def learned_before(self) -> bool | None:
        grokking = "grokking" in self.event.patterns
        return self.seen_in(Role.VALIDATION_SCORE, Role.VALIDATION_LOSS) if grokking else None

    def fault_near(self) -> bool | None:
        return self.is_near(EventKind.FAULT, samples=_USUAL_SAMPLES) if self.run.timeline.faults else None

    def batch_changed(self) -> bool | None:
        return None if self.view.first(Role.BATCH_SIZE) is None else self.is_near(EventKind.BATCH)

    def gradient_nan(self) -> bool | None:
        norm = self.view.grad_norm
        return None if norm is None else bool(np.isnan(self.values_from(norm)).any())

    def objective(self) -> bool:
        of_agent = self.view.first(Role.OBJECTIVE) is not None  # whose scores are told by its rewards
        return self.seen_in(Role.OBJECTIVE) or (of_agent and self.seen_in(*SCORES))

    def rate_unknown(self) -> bool:
        return self.view.learning_rate is None

    def young(self) -> bool:
        return self.has_start and self.step <= _YOUNG_STEPS

    after_resume = partialmethod(resumed, _RESTART_SAMPLES)
    rate_lost = partialmethod(was_found, Role.LEARNING_RATE, "lr-not-restored")
    logits_grew = partialmethod(was_found, Role.ATTENTION_LOGIT, "attention-logit-growth")
    output_drifted = partialmethod(was_found, Role.OUTPUT_LOGIT, "output-logit-drift")
    gradient_led = partialmethod(gradient, led=True)
    gradient_jumped = partialmethod(gradient, led=False)


def _names(events: Iterable[Event]) -> Iterator[str]:
    """The names of events at one step; several faults have one name."""
    by_kind = grouped(events, lambda event: event.kind is EventKind.FAULT)
    faults = by_kind.get(True, [])
    yield from map(event_name, by_kind.get(False, []))
    if len({event.title for event in faults}) == 1:
        yield event_name(faults[0])
    elif faults:
        kinds = (kind for event in faults for kind in event.title.partition(": ")[2].split(", "))
        yield f"faults ({', '.join(dict.fromkeys(kinds))})"


def event_name(event: Event) -> str:
    """An event inside a sentence: ``level shift``, ``rollback B``, ``fault (NCCL)``."""
    if event.patterns:
        return noun(event.patterns[0])
    title, _, kind = event.title.partition(": ")
    return f"{title.lower()}{f' ({kind})' if kind else ''}{f' {event.mark}' if event.mark else ''}"


class Sign(StrEnum):
    """Something that may be true around an event, as the method of `EventContext` with its name says. The
    words for it are ``holds`` if it is true and ``fails`` if not; ``needs`` names the series it needs."""

    holds: str
    fails: str
    needs: str

    def __new__(cls, word: str, holds: str, fails: str, needs: str = "") -> Self:
        sign = str.__new__(cls, word)
        sign._value_, sign.holds, sign.fails, sign.needs = word, holds, fails, needs
        return sign

    # fmt: off
    RESUMED = "resumed", "it begins at a restart", "it begins at no restart"
    AFTER_RESUME = "after-resume", "a restart shortly before", "no restart shortly before"
    EVERY_RESUME = "every-resume", "it comes at several restarts", "it came at one restart alone"
    FIRST_SAMPLE = "first-sample", "highest in the first sample", "it grows after the first sample"
    RATE_ROSE = "rate-rose", "the learning rate rose", "the learning rate did not rise", "learning rate"
    RATE_LOST = "rate-lost", "the rate was not restored", "the rate was restored", "learning rate"
    RATE_UNKNOWN = "rate-unknown", "the learning rate is not logged", \
        "the learning rate is logged, and did not fall"
    RATE_ZERO = "rate-zero", "the learning rate is nearly zero", "the rate is not zero", "learning rate"
    GRADIENT_LED = "gradient-led", "the gradient norm rose first", "the gradient norm did not lead", \
        "gradient norm"
    GRADIENT_JUMPED = "gradient-jumped", "the gradient norm jumped in the same step", \
        "the gradient norm did not jump with it", "gradient norm"
    GRADIENT_NAN = "gradient-nan", "the gradient norm is NaN", "the gradient norm is a number", \
        "gradient norm"
    ABOVE_START = "above-start", "worse than an untrained model", \
        "not above the loss of an untrained model", "the first steps"
    CALM_BEFORE = "calm-before", "nothing else shortly before", "other events shortly before"
    ONE_SOURCE = "one-source", "one data set alone or far ahead", "all data sets alike", "loss by data set"
    SCALE_LED = "scale-led", "the loss scale fell first", "the loss scale did not fall before", "loss scale"
    LOGITS_GREW = "logits-grew", "attention logits grew", "attention logits did not grow", "attention logits"
    OUTPUT_DRIFTED = "output-drifted", "the output logits drifted", "the output logits did not drift", "log Z"
    FAULT_NEAR = "fault-near", "a fault of a machine nearby", "no fault of a machine nearby", "machine logs"
    BATCH_CHANGED = "batch-changed", "the batch changed there", "the batch did not change", "batch size"
    YOUNG = "young", "in the first 20 000 steps of a run from the start", "far from the start of the run"
    EPOCH_ENDED = "epoch-ended", "an epoch ended there", "no epoch ended there", "epoch"
    VALIDATION_STILL = "validation-still", "validation did not move", "validation moved with it", \
        "validation loss"
    OTHERS_MOVE = "others-move", "other series go on", "no other series goes on", "another series"
    DECIMAL = "decimal", "rounded to a decimal place", "not rounded to a decimal place"
    LEARNED_BEFORE = "learned-before", "the training data had been learned before", \
        "the training loss itself fell"
    OBJECTIVE = "objective", "it is a reward that was lost or never earned", "it is a loss"
    # fmt: on


def around(run: RunView, event: Event, others: Sequence[Event]) -> Event:
    """A finding with what came shortly before it and the known signs; any other event unchanged."""
    at = run.index(event.attempt)
    if event.kind is not EventKind.FINDING or event.step is None or not run.views:
        return event
    context = EventContext(run, event, others, run.views[at or 0])
    answers = {sign.value: getattr(context, sign.value.replace("-", "_"))() for sign in Sign}
    signs = {word: bool(answer) for word, answer in answers.items() if answer is not None}
    return replace(event, causes=context.causes(), signs=signs)
