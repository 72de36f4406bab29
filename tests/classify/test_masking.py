"""What happened before must not hide a rise, and batches of two kinds are none."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.model import Finding, Floats


def slow_rises(loss: Floats) -> list[Finding]:
    judged = classify({"loss": (1000 * np.arange(len(loss)), loss)})
    return [f for f in judged.findings if f.pattern == "spike-slow-recovery"]


@pytest.mark.parametrize("seed", range(3))
def test_a_tall_long_spike_is_seen_in_a_run_that_spikes_all_the_time(seed: int) -> None:
    """Forty spikes of some samples each teach the kernel that this loss has excursions, but none as long."""
    random = np.random.default_rng(seed)
    n = np.arange(5600)
    over = 0.9 * np.exp(-n / 2e3)
    for onset in np.sort(random.choice(np.arange(400, 5000), 40, replace=False)):
        since = np.maximum(n - onset, 0.0)
        over += (n >= onset) * random.uniform(0.6, 1.2) * np.exp(-since / random.uniform(3, 12))
    over += (n >= 5140) * 1.6 * np.exp(-np.maximum(n - 5140, 0.0) / 60)
    loss = 0.7 * np.exp(over + 0.11 * random.standard_normal(len(n)))
    assert any(5_130_000 <= f.start_step <= 5_150_000 for f in slow_rises(loss))


@pytest.mark.parametrize("lag", range(4, 22, 3))
def test_a_rise_is_seen_that_begins_while_a_fall_is_judged(lag: int) -> None:
    """After 32 samples a large fall sets new levels, which must not clear the evidence of a rise."""
    random = np.random.default_rng(3)
    n = np.arange(110)
    course = 0.06 * np.exp(-np.minimum(n, 30) / 60) * np.exp(-np.clip(n - 30, 0, 16) / 40)
    loss = course * np.exp(0.6 * np.clip((n - 44 - lag) / 7, 0, 1) + 0.03 * random.standard_normal(len(n)))
    judged = classify({"loss": loss})
    assert any(f.end_step is None and f.severity > 0.3 for f in judged.findings), judged.findings


@pytest.mark.parametrize("share", [0.15, 0.25])
def test_batches_of_two_kinds_are_no_rise(share: float) -> None:
    """With mixup in some of the batches the loss stands at one of two levels, more often for a while."""
    random = np.random.default_rng(5)
    n = np.arange(300)
    often = np.where((n > 120) & (n < 220), share, 0.04)
    mixed = random.uniform(size=len(n)) < often
    loss = (3 + 4 * np.exp(-n / 25)) * np.exp(0.45 * mixed + 0.03 * random.standard_normal(len(n)))
    assert classify({"loss": loss}).verdict == "good"


def test_a_rise_by_powers_of_ten_counts_however_early_it_begins() -> None:
    """The loss falls for six evaluations only, rises sixtyfold, and is back for the rest of the log."""
    random, n = np.random.default_rng(1), np.arange(124)
    over = np.interp(n, [0, 5, 12, 16, 19, 28, 123], [1.2, 0, 1.3, 4.1, 1.5, 0.2, 0.1])
    loss = 2.1 * np.exp(over + 0.15 * random.standard_normal(len(n)))
    (rise,) = (f for f in slow_rises(loss) if f.evidence["height_log"] > 2)
    assert rise.start_step <= 12_000 and 20_000 <= (rise.end_step or 0) <= 40_000


@pytest.mark.parametrize(("n_steps", "told"), [(20_000, False), (2_000, True)])
def test_a_rise_in_the_first_hundredth_of_a_run_is_of_its_start(n_steps: int, told: bool) -> None:
    """Each of the first 100 steps is logged, in which the loss goes up and down, and then every hundredth."""
    steps = np.r_[np.arange(100), np.arange(100, n_steps, n_steps // 200)]
    noise = np.exp(0.02 * np.random.default_rng(6).standard_normal(len(steps)))
    loss = 0.2 + 0.5 * np.exp(-steps / 20) + 4 * np.exp(-(((steps - 60) / 10) ** 2))
    judged = classify({"loss": (steps, loss * noise)})
    assert ("spike-fast-recovery" in judged.patterns) is told


@pytest.mark.parametrize("until", [10_000, 5000])
@pytest.mark.parametrize(("creep", "stands"), [(0.0, True), (0.015, False)])
def test_a_held_out_loss_that_creeps_down_is_no_plateau(creep: float, stands: bool, until: int) -> None:
    """The batches are too noisy to show it."""
    random = np.random.default_rng(2)
    steps, evaluations = np.arange(0, 10_000, 50), np.arange(0, 10_000, 150)
    loss = (0.125 + 0.04 * np.exp(-steps / 150)) * np.exp(0.02 * random.standard_normal(len(steps)))
    fallen = creep * np.minimum(evaluations, until) / until
    held_out = (0.128 + 0.04 * np.exp(-evaluations / 150)) * np.exp(-fallen)
    held_out *= np.exp(0.002 * random.standard_normal(len(evaluations)))
    judged = classify({"loss": (steps, loss), "val_loss": (evaluations, held_out)})
    assert ("plateau" in judged.patterns) is stands


def test_a_loss_that_has_fallen_by_its_second_value_is_done() -> None:
    """Where it is evaluated seldom, the first value alone is that of a model that has learned nothing."""
    n, random = np.arange(80), np.random.default_rng(2)
    loss = np.where(n, 0.125, 0.8) * np.exp(0.01 * random.standard_normal(len(n)))
    assert "plateau" not in classify({"loss": (100 * n, loss)}).patterns


@pytest.mark.parametrize("seed", [32, 56, 135])
def test_batches_of_two_kinds_are_known_by_the_rest_of_a_short_log(seed: int) -> None:
    """Mixup in a third of the batches, by shares of its own, and for 20 samples in more than half of them."""
    random, n = np.random.default_rng(seed), np.arange(190)
    mixed = random.uniform(size=190) < np.where((n > 70) & (n < 92), 0.6, 0.3)
    over = 0.4 * mixed * random.beta(2, 0.8, 190) + 0.02 * random.standard_normal(190)
    loss = np.r_[np.linspace(6.95, 6.9, 100), (3.2 + 3.7 * np.exp(-n / 30)) * np.exp(over)]
    judged = classify({"loss": (np.r_[np.arange(100), 500 * (n + 1)], loss)})
    assert judged.verdict == "good"


def test_what_a_rise_would_be_over_a_steep_start_is_measured_again() -> None:
    """The loss falls to a tenth at once; over the fall that the kernel draws out, its scatter is a rise."""
    steps, random = np.r_[np.arange(100), np.arange(500, 50_000, 500)], np.random.default_rng(23)
    noise = random.standard_normal(len(steps))
    loss = np.where(steps < 100, 0.77 * np.exp(0.002 * noise), 0.055 * np.exp(0.06 * noise))
    assert classify({"loss": (steps, loss)}).verdict == "good"


def test_a_slope_is_no_dip_that_the_next_rise_undoes() -> None:
    """A jump that comes down for 150 samples to its old level, and a lower one after it that stays."""
    n, random = np.arange(640), np.random.default_rng(3)
    course = 0.9 + 4 * np.exp(-n / 12) + 0.6 * np.exp(-n / 180) - 0.06
    first, second = np.interp(n, [429, 431, 590], [0, 0.48, 0]), 0.17 * (n >= 601)
    loss = course * np.exp(first + second + 0.03 * random.standard_normal(640))
    held_out = (0.4 * course * np.exp(first + second))[::15]
    judged = classify({"loss": (100 * n, loss), "val_loss": (100 * n[::15], held_out)})
    rises = {f.pattern: f.start_step // 1000 for f in judged.findings if f.metric == "loss"}
    assert rises == {"spike-slow-recovery": 43, "level-shift": 60}
