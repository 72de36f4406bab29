"""Rises in short logs and in log-spaced rows: found over the line before them, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import HEALTHY
from tests.curves import Curve

from chronicle.classify import Monitor, classify
from chronicle.model import Floats, Steps

SHIFTS = {"level-shift", "spike-no-full-recovery", "spike-slow-recovery", "divergence-no-spike"}


def rows(points: int = 160) -> Steps:
    """Rows of an evaluation at steps that grow by a constant factor."""
    return np.unique(np.geomspace(10, 2e5, points).astype(np.int64))


def log_spaced(seed: int) -> Curve:
    steps = rows()
    return Curve(seed, len(steps), every=10, steps=steps)


def short(seed: int, points: int = 120) -> Curve:
    return Curve(seed, points, every=100)


def named(steps: Steps, loss: Floats) -> set[str]:
    return set(classify({"loss": (steps, loss)}).patterns) - HEALTHY


@pytest.mark.parametrize("make", [log_spaced, short])
def test_a_shift_that_the_course_hides_is_found_where_it_is(make: type[Curve]) -> None:
    found = 0
    for seed in range(10):
        c = make(seed).shift(0.6, 16)
        said = [f for f in classify(c.run().attempts).findings if f.pattern not in HEALTHY]
        place = [int(np.searchsorted(c.steps, f.start_step)) - c.i(0.6) for f in said]
        found += len(said) == 1 and abs(place[0]) <= 2 and said[0].pattern in SHIFTS
    assert found >= 8


@pytest.mark.slow
@pytest.mark.parametrize("points", [16, 24, 40, 80, 120, 200, 256])
def test_short_healthy_logs_raise_no_alarm(points: int) -> None:
    for seed in range(15):
        assert named(*course(short(seed, points))) == set()


@pytest.mark.slow
def test_healthy_rows_at_log_spaced_steps_raise_no_alarm() -> None:
    for seed in range(30):
        assert named(*course(log_spaced(seed))) == set()


def course(c: Curve) -> tuple[Steps, Floats]:
    return c.steps, c.loss


@pytest.mark.parametrize("seed", range(10))
def test_an_elbow_leaves_its_line_without_rising(seed: int) -> None:
    """A steep fall that ends at once: the line before it goes on down, and the loss stands still."""
    x = np.linspace(0, 1, 120)
    noise = 0.005 * np.random.default_rng(seed).standard_normal(120)
    assert named(100 + 10 * np.arange(120), np.exp(2 - 1.5 * np.minimum(x, 0.4) + noise)) <= {"plateau"}


@pytest.mark.parametrize("digits", [1, 2])
def test_rounding_is_no_rise(digits: int) -> None:
    for seed in range(10):
        steps, loss = course(short(seed))
        assert named(steps, np.round(loss, digits)) <= {"quantised-loss", "level-shift", "frozen-metric"}


def test_a_spike_of_one_row_counts_where_few_steps_are_logged() -> None:
    for seed in range(5):
        c = log_spaced(seed)
        c.lift[110] += 25 * c.scale
        assert "spike-fast-recovery" in named(*course(c))


def test_a_rise_into_nan_is_open() -> None:
    c = short(3)
    c.lift[70:] += 20 * c.scale
    c.raw |= dict.fromkeys(range(82, 120), np.nan)
    assert {"nan-inf", "divergence-no-spike"} <= named(*course(c))


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e8])
def test_the_unit_of_a_loss_does_not_matter(factor: float) -> None:
    steps, loss = course(log_spaced(4).shift(0.6, 12))
    assert named(steps, loss) == named(steps, factor * loss) != set()


@pytest.mark.slow
@pytest.mark.parametrize("make", [log_spaced, short])
def test_what_is_taller_is_found_as_well(make: type[Curve]) -> None:
    for seed in range(5):
        seen = [bool(named(*course(make(seed).shift(0.6, h)))) for h in (3, 6, 9, 12, 16, 24, 40, 80)]
        assert seen == sorted(seen)


@pytest.mark.parametrize("make", [log_spaced, short])
def test_a_monitor_says_the_same(make: type[Curve]) -> None:
    c = make(1).shift(0.6, 12)
    monitor = Monitor()
    for step, value in zip(c.steps.tolist(), c.loss.tolist(), strict=True):
        monitor.update(step, {"loss": value})
    ours, theirs = monitor.finish().findings, classify(c.run().attempts).findings
    assert [(f.id, f.pattern, f.evidence) for f in ours] == [(f.id, f.pattern, f.evidence) for f in theirs]
