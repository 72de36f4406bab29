"""What a run's own evidence says around an event: signs that speak for one cause of it and against another.

Each is asked of the log alone. It holds, it does not, or nobody can tell, since what it needs was not logged;
`Event.signs` has the first two. The causes of a pattern name the signs that they need (gallery/<verdict>/),
and `chronicle.pages.advice` ranks them by what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from chronicle.classify.view import AttemptView, value_at
from chronicle.model import Event, EventKind, Floats, Role, Series
from chronicle.story.measured import BEFORE, Ground

_WITH = 8  # samples: so much may lie between two sides of one happening
_AROUND = 50  # samples before an event that tell what was usual
_LATER = 300  # samples after a restart in which it may still be the cause
_YOUNG = 20_000  # steps: instabilities of initial weights were all met before
_JUMPS = 3.0  # times the usual: a gradient norm this large, or one source this far ahead of the others
_BEGINS = 0.05  # of the way to an event: a log that begins later does not hold the start
_ROSE = 1.2  # times: a schedule moves by less in so few samples, but for its warm-up
_IDLE = 0.05  # of the highest rate
_SHARE = 1 / 3  # of what training did: validation that moved less did not move with it


class Sign(StrEnum):
    """What may be true of an event's surroundings."""

    RESUMED = "resumed"
    AFTER_RESUME = "after-resume"
    EVERY_RESUME = "every-resume"
    FIRST_SAMPLE = "first-sample"
    RATE_ROSE = "rate-rose"
    RATE_LOST = "rate-lost"
    RATE_ZERO = "rate-zero"
    GRADIENT_LED = "gradient-led"
    GRADIENT_JUMPED = "gradient-jumped"
    GRADIENT_NAN = "gradient-nan"
    ABOVE_START = "above-start"
    CALM_BEFORE = "calm-before"
    ONE_SOURCE = "one-source"
    SCALE_LED = "scale-led"
    LOGITS_GREW = "logits-grew"
    OUTPUT_DRIFTED = "output-drifted"
    FAULT_NEAR = "fault-near"
    BATCH_CHANGED = "batch-changed"
    YOUNG = "young"
    EPOCH_ENDED = "epoch-ended"
    VALIDATION_STILL = "validation-still"
    OTHERS_MOVE = "others-move"
    DECIMAL = "decimal"
    LEARNED_BEFORE = "learned-before"


WORDS: dict[Sign, tuple[str, str, str]] = {
    Sign.RESUMED: ("it begins at a restart", "it begins at no restart", ""),
    Sign.AFTER_RESUME: ("a restart shortly before", "no restart shortly before", ""),
    Sign.EVERY_RESUME: ("it comes at several restarts", "it came at one restart alone", ""),
    Sign.FIRST_SAMPLE: ("highest in the first sample", "it grows after the first sample", ""),
    Sign.RATE_ROSE: ("the learning rate rose", "the learning rate did not rise", "learning rate"),
    Sign.RATE_LOST: ("the rate was not restored", "the rate was restored", "learning rate"),
    Sign.RATE_ZERO: ("the learning rate is as good as zero", "the rate is not zero", "learning rate"),
    Sign.GRADIENT_LED: ("the gradient norm rose first", "the gradient norm did not lead", "gradient norm"),
    Sign.GRADIENT_JUMPED: (
        "the gradient norm jumped in the same step", "the gradient norm did not jump with it",
        "gradient norm",
    ),
    Sign.GRADIENT_NAN: ("the gradient norm is NaN", "the gradient norm is a number", "gradient norm"),
    Sign.ABOVE_START: (
        "worse than an untrained model", "not above the loss of an untrained model", "the first steps",
    ),
    Sign.CALM_BEFORE: ("nothing else shortly before", "other events shortly before", ""),
    Sign.ONE_SOURCE: ("one data set alone or far ahead", "all data sets alike", "loss by data set"),
    Sign.SCALE_LED: ("the loss scale fell first", "the loss scale did not fall before", "loss scale"),
    Sign.LOGITS_GREW: ("attention logits grew", "attention logits did not grow", "attention logits"),
    Sign.OUTPUT_DRIFTED: ("the output logits drifted", "the output logits did not drift", "log Z"),
    Sign.FAULT_NEAR: ("a fault of a machine nearby", "no fault of a machine nearby", "machine logs"),
    Sign.BATCH_CHANGED: ("the batch changed there", "the batch did not change", "batch size"),
    Sign.YOUNG: ("in the first 20 000 steps of a run from the start", "far from the start of the run", ""),
    Sign.EPOCH_ENDED: ("an epoch ended there", "no epoch ended there", "epoch"),
    Sign.VALIDATION_STILL: ("validation did not move", "validation moved with it", "validation loss"),
    Sign.OTHERS_MOVE: ("other series go on", "no other series goes on", "another series"),
    Sign.DECIMAL: ("steps of a decimal", "steps of no decimal", ""),
    Sign.LEARNED_BEFORE: ("the training data had been learned before", "the training loss itself fell", ""),
}  # fmt: skip
"""How each sign is said where it holds, where it does not, and what was not logged where nobody can tell."""


def signs(ground: Ground, event: Event, others: Sequence[Event]) -> dict[str, bool]:
    """The signs around a finding that the log can tell; none for any other event."""
    at = ground.index(event.attempt or None)
    if event.kind is not EventKind.FINDING or event.step is None or not ground.views:
        return {}
    scene = Scene(ground, event, others, ground.views[at or 0])
    found = {sign: ask(scene) for sign, ask in _ASKED.items()}
    return {sign.value: bool(holds) for sign, holds in found.items() if holds is not None}


@dataclass(frozen=True, eq=False)
class Scene:
    """An event, the others of its run, and the attempt it lies in."""

    ground: Ground
    event: Event
    others: Sequence[Event]
    view: AttemptView

    @cached_property
    def step(self) -> int:
        assert self.event.step is not None
        return self.event.step

    @cached_property
    def begun(self) -> int:
        """The first step of the attempt."""
        return min((int(s.steps[0]) for s in self.view.series.values() if len(s)), default=self.step)

    @cached_property
    def from_start(self) -> bool:
        """Whether the log holds the beginning of the training, as far as a picture of it tells."""
        return self.view.index == 0 and self.begun <= max(2 * self.ground.gap, _BEGINS * self.step)

    def near(self, samples: int) -> float:
        return samples * max(self.ground.gap, 1.0)

    def before(self, series: Series, samples: int = _AROUND) -> Floats:
        """The last finite values before the event."""
        end = start = int(np.searchsorted(series.steps, self.step))
        known: Floats = np.empty(0)
        while len(known) < samples and start:
            start = max(2 * start - end - 4 * samples, 0)
            known = series.values[start:end]
            known = known[np.isfinite(known)]
        return known[-samples:]

    def since(self, series: Series, samples: int = _WITH) -> Floats:
        """The first values from the event on, as far as it lasts."""
        start = int(np.searchsorted(series.steps, self.step))
        if self.event.end_step is not None:
            last = max(self.event.end_step, self.step + self.near(2))
            samples = min(samples, int(np.searchsorted(series.steps, last, side="right")) - start)
        return series.values[start : start + samples]

    def logged(self, role: Role) -> Series | None:
        return self.view.first(role)

    def has(self, role: Role, pattern: str) -> bool | None:
        """Whether a finding of a pattern lies at or before the event; None where its series is missing."""
        if self.logged(role) is None:
            return None
        found = (f for f in self.ground.diagnosis.findings if f.pattern == pattern)
        return any(f.start_step <= self.step and f.attempt in (None, self.view.name) for f in found)

    def is_near(self, *kinds: EventKind, samples: int = _WITH) -> bool:
        around = self.near(samples)
        steps = [o.step for o in self.others if o.kind in kinds and o.step is not None]
        return any(abs(self.step - step) <= around for step in steps)


def _resumed(scene: Scene, samples: int = _WITH) -> bool:
    return not scene.from_start and scene.step - scene.begun <= scene.near(samples)


def _every_resume(scene: Scene) -> bool | None:
    if len(scene.ground.diagnosis.joins) < 2 or not _resumed(scene):
        return None
    alike = [o for o in scene.others if o.kind is EventKind.FINDING and o.title == scene.event.title]
    return len({o.attempt for o in alike}) > 1


def _first_sample(scene: Scene) -> bool | None:
    if scene.ground.config.data == "digitised picture":  # a line has no first sample
        return None
    values = scene.since(scene.view.loss, 2 * _WITH) if scene.view.loss is not None else np.empty(0)
    values = values[np.isfinite(values)]
    return bool(np.argmax(values) == 0) if len(values) > 1 and _resumed(scene) else None


def _calm_before(scene: Scene) -> bool:
    """Whether nothing came shortly before, and nothing that came earlier still lasts."""
    lasting = (
        o
        for o in scene.others
        if o.kind is EventKind.FINDING
        and o.end_step is None
        and o.ending
        and o.attempt == scene.event.attempt
    )
    return not scene.event.causes and not any(o.step is not None and o.step < scene.step for o in lasting)


def _rate_rose(scene: Scene) -> bool | None:
    rate = scene.view.learning_rate
    earlier = scene.before(rate) if rate is not None else np.empty(0)
    if rate is None or len(earlier) < BEFORE:
        return None
    now = max(value_at(rate, scene.step), float(earlier[-_WITH:].max()))
    return now > _ROSE * float(np.median(earlier[:-BEFORE] if len(earlier) > BEFORE else earlier))


def _rate_zero(scene: Scene) -> bool | None:
    rate = scene.view.learning_rate
    values = scene.since(rate) if rate is not None else np.empty(0)
    if rate is None or not len(values):
        return None
    some = rate.values[:: 1 + len(rate) // 1000]
    return float(np.median(values)) <= _IDLE * float(np.nanquantile(some, 0.9))


def _gradient(scene: Scene, led: bool) -> bool | None:
    norm = scene.view.grad_norm
    earlier = scene.before(norm) if norm is not None else np.empty(0)
    if norm is None or len(earlier) < 2 * BEFORE:
        return None
    usual = _JUMPS * float(np.median(earlier[:-BEFORE]))
    leads = float(earlier[-BEFORE:].max()) >= usual or "grad-norm-precursor" in scene.event.patterns
    now = scene.since(norm, 3)
    jumps = bool(len(now)) and bool((now >= usual).any() or np.isnan(now).any())
    return leads if led else jumps and not leads


def _gradient_nan(scene: Scene) -> bool | None:
    norm = scene.view.grad_norm
    return None if norm is None else bool(np.isnan(scene.since(norm)).any())


def _above_start(scene: Scene) -> bool | None:
    loss = scene.view.loss
    if loss is None or not scene.from_start or not len(values := scene.since(loss, _AROUND)):
        return None
    first = loss.values[:BEFORE]
    return bool(np.fmax.reduce(values, initial=-np.inf) > np.fmax.reduce(first, initial=-np.inf))


def _one_source(scene: Scene) -> bool | None:
    rises = []
    for series in scene.view.dataset_losses:
        earlier, now = scene.before(series, BEFORE), scene.since(series, _AROUND)
        if len(earlier) and np.isfinite(now).any() and earlier.min() > 0:
            rises.append(float(np.log(np.nanmax(now) / np.median(earlier))))
    if len(rises) < 2:
        return None
    *_, second, first = sorted(rises)
    return first > _JUMPS * max(second, 0.0)


def _scale_led(scene: Scene) -> bool | None:
    scale = scene.logged(Role.LOSS_SCALE)
    earlier = scene.before(scale) if scale is not None else np.empty(0)
    return float(earlier[-1]) <= float(earlier.max()) / 4 if len(earlier) else None


def _epoch_ended(scene: Scene) -> bool | None:
    epoch = scene.logged(Role.EPOCH)
    if epoch is None:
        return None
    ends = [value_at(epoch, scene.step + side * scene.near(2)) for side in (-1, 1)]
    return bool(np.floor(ends[1]) > np.floor(ends[0]))


def _validation_still(scene: Scene) -> bool | None:
    """By two evaluations on either side of the event; the loss by as many samples as tell its level."""
    kept, loss = scene.view.validation_loss, scene.view.loss
    if kept is None or loss is None:
        return None
    pairs = [
        (scene.before(series, n), scene.since(series, n)) for series, n in ((kept, 2), (loss, 2 * BEFORE))
    ]
    if any(not len(a) or not np.isfinite(b).any() or a.min() <= 0 for a, b in pairs):
        return None
    moved = [abs(float(np.log(np.nanmedian(b) / np.median(a)))) for a, b in pairs]
    return moved[0] < _SHARE * moved[1]


def _others_move(scene: Scene) -> bool | None:
    loss = scene.view.loss
    if "frozen-metric" not in scene.event.patterns:
        return None
    others = [s for s in scene.view.series.values() if s is not loss and s.role is not Role.LEARNING_RATE]
    return any(len(np.unique(scene.since(s))) > 2 for s in others) if others else None


def _decimal(scene: Scene) -> bool | None:
    if "quantised-loss" not in scene.event.patterns or scene.view.loss is None:
        return None
    values = np.unique(scene.view.loss.values[np.isfinite(scene.view.loss.values)])
    power = np.log10(np.diff(values).min())
    return bool(abs(power - round(power)) < 0.01)


def _learned_before(scene: Scene) -> bool | None:
    if "grokking" not in scene.event.patterns:
        return None
    found = [f for f in scene.ground.diagnosis.findings if f.id in scene.event.parts]
    tracks = [scene.ground.timeline.series.get(f.metric or "") for f in found]
    return any(t is not None and t.role in (Role.VALIDATION_SCORE, Role.VALIDATION_LOSS) for t in tracks)


def _batch_changed(scene: Scene) -> bool | None:
    return None if scene.logged(Role.BATCH_SIZE) is None else scene.is_near(EventKind.BATCH)


def _fault_near(scene: Scene) -> bool | None:
    return scene.is_near(EventKind.FAULT, samples=_AROUND) if scene.ground.timeline.faults else None


_ASKED: dict[Sign, Callable[[Scene], bool | None]] = {
    Sign.RESUMED: _resumed,
    Sign.AFTER_RESUME: lambda scene: _resumed(scene, _LATER),
    Sign.EVERY_RESUME: _every_resume,
    Sign.FIRST_SAMPLE: _first_sample,
    Sign.RATE_ROSE: _rate_rose,
    Sign.RATE_LOST: lambda scene: scene.has(Role.LEARNING_RATE, "lr-not-restored"),
    Sign.RATE_ZERO: _rate_zero,
    Sign.GRADIENT_LED: lambda scene: _gradient(scene, led=True),
    Sign.GRADIENT_JUMPED: lambda scene: _gradient(scene, led=False),
    Sign.GRADIENT_NAN: _gradient_nan,
    Sign.ABOVE_START: _above_start,
    Sign.CALM_BEFORE: _calm_before,
    Sign.ONE_SOURCE: _one_source,
    Sign.SCALE_LED: _scale_led,
    Sign.LOGITS_GREW: lambda scene: scene.has(Role.ATTENTION_LOGIT, "attention-logit-growth"),
    Sign.OUTPUT_DRIFTED: lambda scene: scene.has(Role.OUTPUT_LOGIT, "output-logit-drift"),
    Sign.FAULT_NEAR: _fault_near,
    Sign.BATCH_CHANGED: _batch_changed,
    Sign.YOUNG: lambda scene: scene.from_start and scene.step <= _YOUNG,
    Sign.EPOCH_ENDED: _epoch_ended,
    Sign.VALIDATION_STILL: _validation_still,
    Sign.OTHERS_MOVE: _others_move,
    Sign.DECIMAL: _decimal,
    Sign.LEARNED_BEFORE: _learned_before,
}
