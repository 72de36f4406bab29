"""Laws of every family of rules: whatever is logged, they answer and keep their word."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from tests.curves import Curve
from tests.curves.runs import HEALTHY, all_fail, reinitialised, repeat_data, resume_spikes
from tests.curves.series import (
    batch_size,
    epochs,
    grad_norm,
    learning_rate,
    logits,
    loss_scale,
    ratio,
    throughput,
    validation,
)
from tests.curves.series import datasets as with_datasets
from tests.depth import few

from chronicle.classify.patterns import BY_ID
from chronicle.classify.rules import RULES
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import View, look
from chronicle.model import Attempt, Role, Series
from chronicle.timeline import stitch

FAMILIES = {rule.name: rule for rule in RULES}
LOSSES = {Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS}  # any of them is judged where it is alone
RNG = np.random.default_rng(0)
ODD_VALUES = {
    "empty": np.empty(0),
    "one": np.array([2.0]),
    "two": np.array([2.0, 1.9]),
    "constant": np.full(300, 2.5),
    "zeros": np.zeros(300),
    "negative": -np.linspace(1, 5, 300),
    "crossing zero": RNG.normal(size=300),
    "all nan": np.full(300, np.nan),
    "half nan": np.where(np.arange(300) % 2, np.nan, 2.0),
    "ends in nan": np.where(np.arange(300) > 150, np.nan, np.linspace(3, 2, 300)),
    "inf": np.where(np.arange(300) == 100, np.inf, np.linspace(3, 2, 300)),
    "huge": np.exp(RNG.normal(0, 200, 300)),
    "tiny": np.full(300, 5e-324),
}


def everything(values: np.ndarray, name: str = "a", first: int = 0) -> Attempt:
    """An attempt in which every role has these values."""
    steps = np.arange(first, first + len(values), dtype=np.int64)
    times = 1.7e9 + 1.0 * steps
    names = [(str(role), role) for role in Role] + [
        ("loss/b", Role.DATASET_LOSS),
        ("loss/c", Role.DATASET_LOSS),
    ]
    return Attempt(name, (name,), {m: Series(m, r, steps, values, times, dataset=m) for m, r in names})


def view_of(*attempts: Attempt) -> View:
    return look(stitch(list(attempts)), DEFAULTS)


def full(seed: int) -> Attempt:
    """A run with a series of every role, and spikes in it."""
    c = batch_size(epochs(learning_rate(Curve(seed, 600).spike(0.4, 20).spike(0.7, 30), drops=(0.55,))))
    c = throughput(
        loss_scale(logits(validation(grad_norm(with_datasets(ratio(c)), lead=4)))), (0.5, 0.2, 0.1)
    )
    return c.attempt()


@functools.cache
def odd_views(values: str) -> list[View]:
    """Runs in which every series has these values, of one attempt and of two."""
    v = ODD_VALUES[values]
    both = [everything(v), everything(v[::-1].copy(), "b", len(v) // 2)]
    return [view_of(everything(v)), *([view_of(*both)] if len(v) > 2 else [])]


@functools.cache
def good_views() -> list[tuple[tuple[Attempt, ...], View]]:
    """Runs of several kinds, with what was logged in them."""
    runs = [(full(k),) for k in range(3)]
    runs += [tuple(make(2).attempts) for make in (resume_spikes, repeat_data, reinitialised, all_fail)]
    return [(attempts, view_of(*attempts)) for attempts in runs]


@pytest.mark.parametrize("values", ODD_VALUES)
@np.errstate(all="ignore")  # as in a whole diagnosis
def test_odd_values_in_every_series_at_once_never_raise(values: str) -> None:
    for view in odd_views(values):
        for name, family in FAMILIES.items():
            assert {f.pattern for f in family.find(view)} <= set(family.patterns), name


@pytest.mark.slow
@pytest.mark.parametrize("values", ODD_VALUES)
def test_one_odd_series_beside_good_ones_never_raises(values: str) -> None:
    good = full(1)
    for metric, s in few(good.series.items(), 3):
        v = np.resize(ODD_VALUES[values], len(s)) if len(ODD_VALUES[values]) else np.empty(0)
        odd = Series(metric, s.role, s.steps[: len(v)], v, s.times[: len(v)], dataset=s.dataset)
        view = view_of(Attempt(good.name, good.sources, {**good.series, metric: odd}))
        assert all(f.pattern in BY_ID for m in FAMILIES.values() for f in m.find(view))


@pytest.mark.parametrize("family", FAMILIES)
def test_findings_are_declared_lie_in_the_log_and_name_what_they_compared(family: str) -> None:
    for attempts, view in good_views():
        steps = np.concatenate([s.steps for a in attempts for s in a.series.values()])
        for f in FAMILIES[family].find(view):
            assert f.pattern in FAMILIES[family].patterns and f.pattern in BY_ID
            ends = [s for s in (f.start_step, f.peak_step, f.end_step) if s is not None]
            assert all(steps.min() <= s <= steps.max() for s in ends) and ends[0] == min(ends)
            assert 0 <= f.severity <= 1 and 0 < f.confidence <= 1
            assert f.criteria and f.evidence, f.pattern
            assert all(c.met is not False for c in f.criteria), f.pattern


@pytest.mark.parametrize("family", FAMILIES)
def test_without_its_series_a_family_says_nothing(family: str) -> None:
    needed = {r for p in FAMILIES[family].patterns for r in BY_ID[p].needs} | {Role.STEP_TIME}
    needed |= LOSSES if Role.LOSS in needed else set()
    good = full(3)
    others = {m: s for m, s in good.series.items() if s.role not in needed}
    bare = {m: Series(m, s.role, s.steps, s.values, s.times * np.nan) for m, s in others.items()}
    assert list(FAMILIES[family].find(view_of(Attempt("a", ("a",), bare)))) == []


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_runs_have_no_finding_of_any_family(kind: str) -> None:
    for seed in (21, 22):
        view = view_of(*HEALTHY[kind](seed).attempts)
        assert [f.pattern for m in FAMILIES.values() for f in m.find(view)] == []


@pytest.mark.parametrize("factor", [1e-3, 50.0])
def test_the_unit_of_the_loss_does_not_matter(factor: float) -> None:
    """Losses in bits or nats, summed or averaged: the same findings at the same steps."""

    def scaled(a: Attempt) -> Attempt:
        unit = {m: factor if s.role in LOSSES else 1.0 for m, s in a.series.items()}
        series = {m: replace(s, values=s.values * unit[m]) for m, s in a.series.items()}
        return Attempt(a.name, a.sources, series)

    for attempts in ([full(4)], repeat_data(2).attempts, resume_spikes(2).attempts):
        seen = [
            [(f.pattern, f.start_step, f.end_step) for m in FAMILIES.values() for f in m.find(view)]
            for view in (view_of(*attempts), view_of(*(scaled(a) for a in attempts)))
        ]
        assert seen[0] == seen[1] and seen[0]
