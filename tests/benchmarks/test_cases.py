"""The labelled cases keep their word: seeded, their truth where the label says, healthy where none is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.classifier import tables
from benchmarks.classifier.judging import judged
from benchmarks.curves.cases import Case, confounded, contexts, healthy, injected, shaped
from benchmarks.curves.confounders import CONFOUNDERS
from benchmarks.curves.grounds import GROUNDS
from benchmarks.curves.kinds import CONTEXT, SHAPES
from benchmarks.curves.residuals import residuals, shipped
from benchmarks.curves.write import write

from chronicle.classify.patterns import BY_ID
from chronicle.cli.commands import predict
from chronicle.model import Verdict
from chronicle.score import score_folder
from chronicle.score.labels import Event, Label

KINDS = {kind.name: kind for kind in SHAPES}


def losses(case: Case) -> list[np.ndarray]:
    return [a.series["loss"].values for a in case.attempts]


def same(a: Case, b: Case) -> bool:
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(losses(a), losses(b), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_course_follows_from_its_seed(ground: str) -> None:
    first, again, other = (next(iter(healthy([s], [ground]))) for s in (1, 1, 2))
    assert same(first, again)
    assert not any(np.array_equal(x[:16], y[:16]) for x, y in zip(losses(first), losses(other), strict=True))
    loss = first.attempts[0].series["loss"]
    assert np.isfinite(loss.values).all() and (np.diff(loss.steps) > 0).all()
    assert first.label.events == () and first.label.steps_healthy == len(loss)


@pytest.mark.parametrize("ground", [n for n, g in GROUNDS.items() if g.factor in ("plain", "noise")])
def test_one_noise_scale_is_the_spread_of_a_point(ground: str) -> None:
    curves = [GROUNDS[ground].make(s) for s in range(6)]
    spread = [np.std(np.clip(c.noise, -4, 4)) for c in curves]
    assert np.median(spread) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_is_where_its_label_says_and_as_high_as_it_was_asked_for(kind: str) -> None:
    height = min(max(20.0, KINDS[kind].least), KINDS[kind].most)
    case = shaped(KINDS[kind], "every 10th", height, 4)
    assert case is not None and case.run.lift_scales is not None
    steps, lift = case.attempts[0].series["loss"].steps, np.abs(case.run.lift_scales)
    first = case.run.events[0]
    assert (lift[steps < first.start_step] == 0).all()
    assert lift[steps >= first.start_step].max() >= 0.99 * height
    for event in case.label.events:
        assert event.start_step in steps and event.tolerance_steps < 0.35 * steps[-1]
    peak = case.label.events[0].peak_step
    half = 0.5 if kind == "sudden improvement" else 0.99  # a fall is labelled where it is steepest
    assert peak is not None and lift[steps <= peak].max() >= half * height


@pytest.mark.parametrize("kind", KINDS)
def test_a_higher_event_is_the_same_event(kind: str) -> None:
    low, high = KINDS[kind].least or 5.0, min(KINDS[kind].most, 40.0)
    ground = "every 10th"
    a, b = (shaped(KINDS[kind], ground, h, 2) for h in (low, high))
    assert a is not None and b is not None and high > low
    assert [e.pattern for e in a.run.events] == [e.pattern for e in b.run.events]
    assert a.run.lift_scales is not None and b.run.lift_scales is not None
    assert np.abs(a.run.lift_scales).max() / low == pytest.approx(
        np.abs(b.run.lift_scales).max() / high, rel=0.6
    )


def test_every_label_uses_the_words_of_the_project() -> None:
    cases = [*contexts([3]), *confounded([3]), *injected([3], heights=(20.0,), grounds=("plain", "mixed"))]
    assert {c.kind for c in cases} >= {*CONTEXT, *CONFOUNDERS}
    for case in cases:
        label = case.label
        named = [p for entry in label.required for p in entry.split("|")] + list(label.forbidden)
        assert set(named) <= set(BY_ID)
        assert not {p for entry in label.required for p in entry.split("|")} & set(label.forbidden)
        assert {label.verdict, *label.verdict_also_ok} <= {str(v) for v in Verdict}
        assert label.files == len(case.attempts)


def test_healthy_points_are_those_outside_events() -> None:
    case = shaped(KINDS["level shift"], "plain", 8.0, 0)
    assert case is not None
    window = 2 * 16 + 1  # a step is judged again once it is over
    assert case.label.steps_healthy == 2000 - window


def test_residuals_come_from_healthy_stretches_in_noise_scales() -> None:
    rng = np.random.default_rng(0)
    y = np.exp(0.02 * rng.standard_normal(1000) + 1.0)
    y[500:600] *= 2
    label = Label(
        "x", "good", main_series=("loss",), events=(Event("spike-slow-recovery", 500, 5, None, 600),)
    )
    calm = residuals("x", np.arange(1000.0), y, label)
    assert calm is not None and calm.noise_log == pytest.approx(0.02, rel=0.1)
    assert np.abs(calm.values).max() < 6  # nothing of the event
    drawn = calm.draw(np.random.default_rng(1), 300)
    assert len(drawn) == 300 and set(drawn) <= set(calm.values)
    assert (drawn == calm.draw(np.random.default_rng(1), 300)).all()


def test_the_noise_of_this_repository_has_several_sources() -> None:
    assert len({shipped(i).source for i in range(100)}) >= 10


def test_a_judged_case_knows_how_far_off_and_how_late_a_finding_is() -> None:
    case = shaped(KINDS["level shift"], "plain", 20.0, 0)
    assert case is not None
    (row,) = judged([case])
    assert row.found and row.strict and row.result.passed
    (placed,) = row.placed
    assert (placed.off_samples, placed.late_scales) == (0, 0.0)


def test_the_healthy_finding_of_a_run_finds_no_event() -> None:
    case = shaped(KINDS["fast spike"], "plain", 0.5, 0)
    assert case is not None
    (row,) = judged([case])
    assert not row.found and row.findings == ()


def test_tables() -> None:
    rows = [*judged(c for h in (0.5, 50.0) if (c := shaped(KINDS["level shift"], "plain", h, 0)))]
    assert tables.by_height(rows, lambda r: r.found).splitlines() == [
        "| event | 0.5 | 50 | events |",
        "| --- | ---: | ---: | ---: |",
        "| level shift | 0.00 | 1.00 | 2 |",
        "| all | 0.00 | 1.00 | 2 |",
    ]
    assert tables.confusion(rows).splitlines()[-1] == "| level shift | 1.00 |  |"
    assert tables.rate(rows) == 0.0


@pytest.mark.slow
def test_cases_on_disk_are_scored_as_in_memory(tmp_path: Path) -> None:
    chosen = ("NaN", "resume spikes", "overfitting", "ratio skew")
    cases = [c for c in contexts([0]) if c.kind in chosen]
    for case in cases:
        write(case, tmp_path)
    there = {r.id: r for r in score_folder(tmp_path, predict).cases}
    here = {row.kind: row.result for row in judged(cases)}
    assert len(there) == len(here) == 4
    for kind, result in here.items():
        on_disk = next(r for name, r in there.items() if name.startswith(kind.lower().replace(" ", "-")))
        assert on_disk.verdict == result.verdict and on_disk.events == result.events
        assert on_disk.healthy_points == result.healthy_points
