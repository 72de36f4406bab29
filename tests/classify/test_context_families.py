"""Families like the tiny trainings of lab/, at other amplitudes, lengths and seeds, and their look-alikes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import findings, patterns
from tests.curves import Curve, Run
from tests.curves.runs import training
from tests.curves.series import batch_size, throughput
from tests.depth import few

from chronicle.model import Role

SEEDS = few(range(3), 1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("first", "then"), [(0.1, 0.35), (0.15, 0.5), (0.05, 0.3)])
def test_a_drop_of_the_speed_that_deepens_starts_where_it_is_half_as_deep(
    seed: int, first: float, then: float
) -> None:
    curve = throughput(Curve(seed, 1200), noise=0.05)
    role, speed, dataset = curve.extra["tokens_per_second"]
    speed[540:600] *= 1 - first
    speed[600:] *= 1 - then
    curve.extra = {"tokens_per_second": (role, speed, dataset)}
    (drop,) = findings(curve.run(), "throughput-drop")
    assert abs(drop.start_step - 600) <= 8 and drop.end_step is None


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("length", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("gain", [6, 15])
def test_a_smooth_fall_while_the_rate_decays(seed: int, length: float, gain: float) -> None:
    def run(gain: float) -> Run:
        curve = Curve(seed, 1000, noise=0.02)
        share = np.clip((np.arange(curve.n) / curve.n - (1 - length)) / length, 0, 1)
        curve.log("lr", Role.LEARNING_RATE, 3e-4 * (1 - share))
        curve.lift -= gain * curve.scale * share
        return curve.run()

    assert patterns(run(gain)) == {"lr-decay-drop"}
    assert patterns(run(0)) == set()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("stop", [0.4, 0.6])
def test_training_on_without_a_learning_rate_is_a_plateau(seed: int, stop: float) -> None:
    curve = Curve(seed, 900, noise=0.02).flat(stop)
    curve.log("lr", Role.LEARNING_RATE, 3e-4 * np.clip((stop - np.arange(900) / 900) / 0.1, 0, 1))
    (plateau,) = findings(curve.run(), "plateau")
    assert abs(plateau.start_step - stop * 900) <= 10


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ramp_is_seen_by_calm_alone_and_not_where_the_noise_stays(seed: int) -> None:
    curve = batch_size(Curve(seed, 1000, noise=0.03), ramp=(0.25, 0.5, 0.75), gain=0)
    assert patterns(curve.run()) == {"batch-ramp"}
    curve.spread[:] = curve.scale
    assert patterns(curve.run()) == set()


def mixed(seed: int, skew: float, sources_rise: bool, points: int = 400) -> Run:
    """Attempts with two sources; at each join the share of one starts at ``skew`` of what it was."""

    def change(c: Curve, k: int) -> None:
        off = c.pulse(0, 1, 25) if k else np.zeros(c.n)
        share = np.clip(0.5 * (1 - (1 - skew) * off) + c.own_noise(0.08), 0, 1)
        bump = 0.15 * off
        for name, level in (("story", 0.2), ("sums", -0.2)):
            rise = bump if sources_rise else 0.0
            values = np.exp(c.trend + level + rise + c.own_noise(0.02))
            c.log(f"loss/{name}", Role.DATASET_LOSS, values, dataset=name)
        c.lift += bump
        c.log("ratio/sums", Role.RATIO, share)

    return training(seed, tuple((points * k, points * (k + 1)) for k in range(3)), change, noise=0.02)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("skew", [0.0, 0.3, 1.9])
def test_a_mixture_that_is_off_from_the_first_sample_of_an_attempt(seed: int, skew: float) -> None:
    assert len(findings(mixed(seed, skew, False), "resume-ratio-skew")) == 2
    assert "resume-ratio-skew" not in patterns(mixed(seed, skew, True))
    assert "resume-ratio-skew" not in patterns(mixed(seed, 1.0, False))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warm", [30, 80])
def test_new_weights_without_the_warm_up_of_the_first_time(seed: int, warm: int) -> None:
    def change(c: Curve, k: int) -> None:
        rate = np.minimum(1, (np.arange(c.n) + 1) / warm) if k == 0 else np.ones(c.n)
        c.trend = np.log(1.5 + 7.0 * (1 + np.cumsum(rate) / 20.0) ** -0.8)
        c.spread[:] = c.scale
        c.log("lr", Role.LEARNING_RATE, 1e-3 * rate)

    assert "reinitialised" in patterns(training(seed, ((0, 600), (600, 1200)), change))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("over", [1.1, 1.3])
def test_a_kick_to_above_the_first_level_is_a_spike(seed: int, over: float) -> None:
    curve = Curve(seed, 1500, noise=0.02)
    to_the_top = float(curve.trend[0] - curve.trend[750])
    curve.lift += over * to_the_top * curve.pulse(750, 1, 30, residue=0.15)
    assert "reinitialised" not in patterns(curve.run())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("height", [0.15, 0.3])
def test_a_replay_after_a_replay_is_held_against_the_honest_line(seed: int, height: float) -> None:
    """Rolled back to the end of the first replay: the attempt before was falsely low at the join."""

    def change(c: Curve, k: int) -> None:
        if k:
            low = height * k * np.minimum(1.0, 0.3 + (np.arange(c.n) + 1) / 160)
            c.lift -= np.where(np.arange(c.n) < 160, low, 0.0)

    run = training(seed, ((0, 420), (400, 660), (560, 860)), change, noise=0.025)
    assert [f.start_step for f in findings(run, "repeat-data")] == [
        pytest.approx(s, abs=8) for s in (560, 720)
    ]
