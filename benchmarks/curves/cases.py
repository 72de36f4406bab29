"""Labelled cases: an event of a kind and a height in a course, or a healthy run, with the label to judge by.

    for case in injected(seeds=range(2)):
        judge(case.label, diagnosis_json("run", classify(case.attempts)))

Everything follows from the seed and the names: the same call gives the same bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from benchmarks.curves.confounders import CONFOUNDERS
from benchmarks.curves.curve import Event, Run
from benchmarks.curves.grounds import GROUNDS
from benchmarks.curves.kinds import CONTEXT, SCALED, SHAPES, Kind
from chronicle.classify.patterns import BY_ID
from chronicle.model import Attempt, Verdict
from chronicle.score.labels import Event as Labelled
from chronicle.score.labels import Label

HEIGHTS = (3.0, 5.0, 8.0, 12.0, 20.0, 50.0)
SOME_GROUNDS = ("plain", "autocorrelated", "heavy tails", "every 100th", "real residuals", "mixed")
LONGEST = "1,000,000 points"
USUAL = tuple(name for name in GROUNDS if name != LONGEST)
# Nobody may say these of a run in which they did not happen.
STRONG = (
    "failed-run", "frozen-metric", "grokking", "hang", "loss-scale-collapse", "nan-inf", "overfitting",
    "reinitialised", "repeat-data",
)  # fmt: skip
# Right, or no harm, beside any other answer: properties of the log, and what a series explains.
HARMLESS = (
    "quantised-loss", "near-perfect", "noisy-healthy", "lr-decay-drop", "batch-ramp", "rising-spike-rate",
    "grad-norm-precursor",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Case:
    """One labelled run. ``kind`` is the event's, or the confounder's, or "healthy"; ``height`` in noise
    scales (0 where the kind has its own); ``ground`` the course it was put into."""

    kind: str
    ground: str
    height: float
    seed: int
    run: Run

    @property
    def attempts(self) -> list[Attempt]:
        return self.run.attempts

    @cached_property
    def label(self) -> Label:
        """What is right for the run, as `chronicle score` judges it."""
        events = tuple(_labelled(self.run, e) for e in self.run.events)
        verdicts = accepted(self.run.events)
        required = dict.fromkeys("|".join(e.names) for e in events if not e.optional)
        named = {name for e in events for name in e.names}
        label = Label(
            id=f"{self.kind}, {self.ground}, {self.height:g}, {self.seed}",
            verdict=verdicts[0],
            verdict_also_ok=verdicts[1:],
            required=tuple(required) or ("near-perfect|noisy-healthy",),
            allowed=HARMLESS,
            forbidden=tuple(p for p in STRONG if p not in named),
            main_series=("loss",),
            events=events,
            files=len(self.run.attempts),
        )
        return _with_healthy_points(label, self.run)


def injected(
    seeds: Iterable[int],
    heights: Iterable[float] = HEIGHTS,
    grounds: Iterable[str] = USUAL,
) -> Iterator[Case]:
    """Every kind of shape at every height in every course that can hold it."""
    heights, grounds = tuple(heights), tuple(grounds)
    for seed in seeds:
        for ground in grounds:
            for kind in SHAPES:
                for height in heights:
                    case = shaped(kind, ground, height, seed)
                    if case is not None:
                        yield case


def shaped(kind: Kind, ground: str, height: float, seed: int) -> Case | None:
    """One event in one course; None where the course is too short for it, or logs too densely."""
    key = zlib.crc32(f"{kind.name}/{ground}/{height:g}".encode())
    curve = GROUNDS[ground].make(seed * 1_000_003 + key % 1_000_003)
    if not kind.fits(curve, height):
        return None
    run = kind.inject(curve, height, np.random.default_rng([seed, key])).run()
    return Case(kind.name, ground, height, seed, run)


def contexts(seeds: Iterable[int]) -> Iterator[Case]:
    """Every kind that needs other series, other attempts, or the whole run."""
    for seed in seeds:
        for name, make in CONTEXT.items():
            rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
            yield Case(name, "plain", 0.0, seed, make(seed * 7919 + 11, rng))


def scaled(seeds: Iterable[int], heights: Iterable[float] = HEIGHTS) -> Iterator[Case]:
    """Kinds that need context and have a height, at every height."""
    for seed in seeds:
        for name, make in SCALED.items():
            for height in heights:
                rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
                yield Case(name, "plain", height, seed, make(seed * 7919 + 13, rng, height))


def healthy(seeds: Iterable[int], grounds: Iterable[str] = USUAL) -> Iterator[Case]:
    """Courses without an event."""
    for seed in seeds:
        for ground in grounds:
            yield Case("healthy", ground, 0.0, seed, GROUNDS[ground].make(seed * 9973 + 5).run())


def confounded(seeds: Iterable[int]) -> Iterator[Case]:
    """Healthy runs that look like trouble."""
    for seed in seeds:
        for name, make in CONFOUNDERS.items():
            yield Case(name, "confounder", 0.0, seed, make(seed * 6661 + 3))


def accepted(events: Iterable[Event]) -> tuple[str, ...]:
    """The verdict that the gravest event makes, first, and others that nobody could call wrong."""
    events = [e for e in events if not e.planned]
    made = [BY_ID[e.pattern].verdict for e in events if e.pattern != "quantised-loss"]
    order = (Verdict.BAD, Verdict.UNEXPECTED, Verdict.WORRYING, Verdict.GOOD)
    first = next((v for v in order if v in made), Verdict.GOOD)
    names = {e.pattern for e in events}
    also: set[Verdict] = set()
    if names & {"spike-no-full-recovery", "level-shift"}:
        also |= {Verdict.BAD, Verdict.WORRYING, Verdict.UNEXPECTED}
    if len([e for e in events if e.pattern == "spike-fast-recovery"]) > 1:
        also |= {Verdict.WORRYING}
    if "quantised-loss" in names:
        also |= {Verdict.UNEXPECTED}
    return (str(first), *sorted(str(v) for v in also - {first}))


def _labelled(run: Run, event: Event) -> Labelled:
    """An event as score/ understands it: its tolerance in steps of the log at that place."""
    steps = np.unique(np.concatenate([a.series["loss"].steps for a in run.attempts]))
    at = int(np.searchsorted(steps, event.start_step))
    near = steps[[max(at - event.tolerance_samples, 0), min(at + event.tolerance_samples, len(steps) - 1)]]
    return Labelled(
        pattern=event.pattern,
        start_step=event.start_step,
        tolerance_steps=float(np.abs(near - event.start_step).max()),
        peak_step=event.peak_step,
        end_step=event.end_step,
        also_ok=event.also_ok,
        optional=event.optional,
        series=event.metric,
    )


def _with_healthy_points(label: Label, run: Run) -> Label:
    """The label with the number of finite points of the loss outside every event."""

    points = 0
    for attempt in run.attempts:
        loss = attempt.series["loss"]
        free = np.isfinite(loss.values)
        for event in label.masking:
            first, last = event.window
            free &= (loss.steps < first) | (loss.steps > last)
        points += int(free.sum())
    return replace(label, steps_healthy=points)
