"""Laws over every pattern of the list, each in a generated run that shows it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.classifier.judging import judged
from benchmarks.curves import Curve, Run
from benchmarks.curves.cases import Case, contexts, shaped
from benchmarks.curves.kinds import SCALED, SHAPES, Kind
from tests.depth import few

from chronicle.classify import Monitor, classify
from chronicle.classify.patterns import BY_ID
from chronicle.classify.rules import RULES
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series
from chronicle.timeline import stitch

LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
CASES = [*filter(None, (shaped(kind, "plain", 20.0, 1) for kind in SHAPES)), *contexts([1])]
RUNS = {case.kind: case.run for case in CASES} | {"noisy": Curve(1, noise=0.08).run()}
HEIGHTS = few((3.0, 8.0, 20.0, 50.0), 2)

each_run = pytest.mark.parametrize("name", RUNS)
some_runs = pytest.mark.parametrize("name", few(RUNS, 10))


def diagnosed(attempts: Sequence[Attempt]) -> Diagnosis:
    return classify(stitch(attempts))


def changed(attempts: Iterable[Attempt], change: Callable[[Series], Series]) -> list[Attempt]:
    """The attempts with each of their series changed."""
    return [replace(a, series={m: change(s) for m, s in a.series.items()}) for a in attempts]


@cache
def diagnosis_of(name: str) -> Diagnosis:
    """What is said of a run as it was generated."""
    return diagnosed(RUNS[name].attempts)


@pytest.mark.slow
def test_every_pattern_is_shown() -> None:
    assert {p for name in RUNS for p in diagnosis_of(name).patterns} == set(BY_ID)


@each_run
def test_a_finding_is_made_of_plain_values(name: str) -> None:
    assert json.dumps([[f.evidence, [vars(c) for c in f.criteria]] for f in diagnosis_of(name).findings])


@each_run
def test_no_criterion_speaks_against_the_finding_it_belongs_to(name: str) -> None:
    """What is necessary holds; what only tells two shapes apart says on which side it lies."""
    assert [
        (f.pattern, c.name) for f in diagnosis_of(name).findings for c in f.criteria if c.met is False
    ] == []


@each_run
def test_what_the_context_explains_is_not_said_twice(name: str) -> None:
    places = {(f.pattern, f.metric, f.attempt, f.start_step) for f in diagnosis_of(name).findings}
    for number, rule in enumerate(RULES):
        earlier = {p for other in RULES[:number] for p in other.patterns} & rule.replaces
        explained = {s[1:] for s in places if s[0] in {*rule.patterns} - earlier}
        assert not {s for s in places if s[0] in earlier and s[1:] in explained}


@pytest.mark.slow
@some_runs
@pytest.mark.parametrize("factor", [1 / 64, 32.0])
def test_the_unit_of_the_losses_does_not_matter(name: str, factor: float) -> None:
    """A power of two: quantised values stay so."""

    def in_other_unit(s: Series) -> Series:
        return replace(s, values=s.values * factor) if s.role in LOSSES else s

    before, after = diagnosis_of(name), diagnosed(changed(RUNS[name].attempts, in_other_unit))
    assert (before.verdict, *map(place, before.findings)) == (after.verdict, *map(place, after.findings))


def place(f: Finding) -> tuple[object, ...]:
    return f.pattern, f.metric, f.attempt, f.start_step, f.end_step


def log(name: str, attempt: Attempt) -> Attempt:
    """An attempt as a monitor sees it: no times, roles by name, metrics in the order of their first steps."""
    by_start = sorted(attempt.series.values(), key=lambda s: s.steps[0])
    series = {
        s.metric: Series(s.metric, Role.OTHER, s.steps, s.values, np.full(len(s), np.nan)) for s in by_start
    }
    return Attempt(name, ("monitor",), assign(series))


def watched(attempts: Sequence[Attempt], saved_every: int) -> tuple[list[Finding], Diagnosis]:
    """All that a monitor says, saved and restored at every n-th step on its way."""
    monitor, reported, steps = Monitor(compile=True), [], 0
    for number, attempt in enumerate(attempts):
        rows: dict[int, dict[str, float]] = {}
        for name, series in attempt.series.items():
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                rows.setdefault(step, {})[name] = value
        if number:
            monitor.rewind(min(rows) - 1)
        for step in sorted(rows):
            steps += 1
            if steps % saved_every == 0:
                state = pickle.loads(pickle.dumps(monitor.state_dict()))
                monitor = Monitor(compile=True)
                monitor.load_state_dict(state)
            reported += monitor.update(step, rows[step])
    return reported, monitor.finish()


@pytest.mark.slow
@some_runs
def test_the_stream_says_what_the_batch_says_wherever_it_was_interrupted(name: str) -> None:
    attempts: list[Attempt] = []
    for a in RUNS[name].attempts:  # those that a monitor can tell apart: it knows of no resume but a rewind
        if not attempts or a.series["loss"].steps[0] <= attempts[-1].series["loss"].steps[-1]:
            attempts.append(a)
    logs = [log(f"monitor#{k + 1}" if k else "monitor", a) for k, a in enumerate(attempts)]
    several = {"order": [a.name for a in logs], "relation": "attempts"} if len(logs) > 1 else {}
    straight, interrupted = watched(logs, 10**9), watched(logs, 613)
    assert straight == interrupted
    assert straight[1] == classify(stitch(logs, **several))


@pytest.mark.slow
@some_runs
@pytest.mark.parametrize("odd", ["nan", "inf", "one sample"])
def test_an_odd_end_of_any_series_never_raises(name: str, odd: str) -> None:
    """The second half of the losses, then of all other series, is odd."""
    for of_losses in (True, False):
        spoil = lambda s, it=of_losses: spoilt(s, odd) if (s.role in LOSSES) is it else s  # noqa: E731
        assert set(diagnosed(changed(RUNS[name].attempts, spoil)).patterns) <= set(BY_ID)


def spoilt(s: Series, odd: str) -> Series:
    if odd == "one sample":
        return replace(s, steps=s.steps[:1], values=s.values[:1], times=s.times[:1])
    late = np.arange(len(s)) >= len(s) // 2
    return replace(s, values=np.where(late, float(odd), s.values))


def seen_from(runs: Iterable[tuple[float, Run]], name: str) -> list[bool]:
    """Whether the events are found, by height."""
    return [row.found for h, run in runs for row in judged([Case(name, "plain", h, 1, run)])]


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.name)
def test_a_larger_shape_is_seen_as_well(kind: Kind) -> None:
    course = Curve(1, every=10 if kind.sparse_only else 1)
    heights = [h for h in HEIGHTS if kind.fits(course, h)]
    runs = [
        (h, kind.inject(Curve(1, every=course.every), h, np.random.default_rng(1)).run()) for h in heights
    ]
    seen = seen_from(runs, kind.name)
    assert seen == sorted(seen) and seen[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALED)
def test_a_larger_event_that_needs_its_context_is_seen_as_well(name: str) -> None:
    seen = seen_from([(h, SCALED[name](1, np.random.default_rng(1), h)) for h in HEIGHTS], name)
    assert seen == sorted(seen) and seen[-1]
