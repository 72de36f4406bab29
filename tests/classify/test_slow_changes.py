"""Level shifts that only averaging shows, restarts of the schedule, and runs that forget or log no loss."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import diagnosis, findings, patterns
from tests.curves import Curve
from tests.curves.series import learning_rate

from chronicle.classify import classify
from chronicle.classify.rules.slow_changes import design, step_weights
from chronicle.model import Role


def logged(course: Curve) -> Curve:
    """The course with a learning rate that stays."""
    return course.log("lr", Role.LEARNING_RATE, np.full(course.n, 1e-3))


@pytest.mark.parametrize("scales", [3.0, -3.0, -5.0])
def test_steps_of_a_few_noise_scales_are_found_where_they_are(scales: float) -> None:
    courses = (logged(Curve(seed, 3000).shift(0.5, scales)) for seed in range(8))
    by_seed = [findings(course.run(), "level-shift") for course in courses]
    right = [f for f, *more in filter(None, by_seed) if not more and abs(f.start_step - 1500) <= 16]
    assert len(right) >= 4
    steps = [f.evidence["step_log"] for f in right if "step_log" in f.evidence]
    assert np.median(steps) == pytest.approx(0.01 * scales, rel=0.15)


@pytest.mark.parametrize("seed", range(6))
def test_a_trend_a_bend_and_slow_noise_are_no_step(seed: int) -> None:
    assert patterns(Curve(seed, 3000).run()) == set()
    assert patterns(Curve(seed, 3000, rho=0.8).run()) == set()


@pytest.mark.parametrize("seed", range(6))
def test_the_end_of_a_straight_fall_is_no_step(seed: int) -> None:
    """A loss that falls from 10 to 5 and then stands still; it rises nowhere."""
    steps = np.arange(3000)
    loss = 5 + 5 * np.maximum(1 - steps / 600, 0) + 0.03 * np.random.default_rng(seed).standard_normal(3000)
    assert set(classify({"loss": (steps, loss)}).patterns) == {"plateau"}


@pytest.mark.parametrize("seed", range(3))
def test_a_disturbance_that_a_falling_loss_comes_back_from_is_no_step(seed: int) -> None:
    """A loss whose fall had slowed down is disturbed for 60 epochs, and then falls on below all before."""
    at, places = np.arange(1000), [0, 200, 600, 700, 740, 780, 840, 900, 1000]
    level = np.interp(at, places, np.log([5.5, 5.0, 4.0, 0.04, 0.02, 0.0147, 0.0105, 0.0101, 0.006]))
    disturbed = np.where((at >= 842) & (at < 900), 0.8 * (900 - at) / 58, 0.0)
    noise = np.where((at > 200) & (at < 600), 0.6, 0.05) * np.random.default_rng(seed).standard_normal(1000)
    judged = classify({"loss": np.exp(level + disturbed + noise)})
    assert (judged.verdict, "level-shift" in judged.patterns) == ("good", False)


@pytest.mark.parametrize("n_samples", [40, 200])
@pytest.mark.parametrize("before", [1, 4, 8])
def test_a_loss_that_jumps_within_its_first_samples_is_bad(before: int, n_samples: int) -> None:
    """Before the kernel has a level: a second term begins, or a resume brought other weights."""
    noise = np.random.default_rng(before).standard_normal(n_samples)
    low, high = 0.1 * 0.9 ** np.arange(n_samples), 0.7 - 0.02 * np.arange(n_samples) / n_samples
    loss = np.where(np.arange(n_samples) < before, low, high) * np.exp(0.005 * noise)
    assert classify({"loss": (np.arange(1, n_samples + 1), loss)}).verdict == "bad"


def test_a_start_that_the_rest_comes_back_to_is_no_step() -> None:
    loss = np.r_[[0.3, 0.3], np.geomspace(0.9, 0.2, 40)]
    assert "level-shift" not in classify({"loss": loss}).patterns


def test_a_step_at_a_change_of_the_learning_rate_was_planned() -> None:
    curve = Curve(1, 3000).shift(0.5, -3)
    rate = np.where(np.arange(3000) < 1500, 3e-4, 1e-4)
    assert "level-shift" not in patterns(curve.log("lr", Role.LEARNING_RATE, rate).run())


def test_the_kernel_is_least_squares() -> None:
    """Its twin: the step in the solution of the normal equations, for a random stretch."""
    y = np.random.default_rng(0).standard_normal(128)
    solved = np.linalg.lstsq(design(64), y, rcond=None)[0]
    assert step_weights(64) @ y == pytest.approx(solved[3])
    assert step_weights(64) @ np.ones(128) == pytest.approx(0, abs=1e-12)
    assert step_weights(64) @ (np.arange(128.0) ** 2) == pytest.approx(0, abs=1e-8)


def test_a_restart_of_the_schedule_explains_a_small_rise_only() -> None:
    phase = (np.arange(3000) % 1000) / 1000
    rate = 3e-4 * np.maximum(0.5 * (1 + np.cos(np.pi * phase)), 0.01)
    small, tall = Curve(3, 3000), Curve(3, 3000).spike(1 / 3, 60, rise=2, fall=20)
    small.lift += 6 * small.scale * (rate / 3e-4 - 0.5)
    assert patterns(small.log("lr", Role.LEARNING_RATE, rate).run()) == set()
    assert patterns(tall.log("lr", Role.LEARNING_RATE, rate).run()) != set()
    assert "spike-fast-recovery" in patterns(learning_rate(Curve(3, 3000).spike(0.5, 20)).run())


def test_a_run_that_forgets_everything_has_failed() -> None:
    steps = np.arange(400)
    noise = 0.002 * np.random.default_rng(0).standard_normal(400)
    loss = np.where(steps < 200, 4.1 * (1 + steps / 5) ** -0.05, 4.1) * np.exp(noise)
    judged = classify({"loss": (steps, loss)})
    assert (judged.verdict, "failed-run" in judged.patterns) == ("bad", True)


def test_noisy_fine_tuning_at_its_floor_has_not_failed() -> None:
    for seed in range(5):
        loss = 1.1 * np.exp(0.08 * np.random.default_rng(seed).standard_normal(300))
        slowly = loss * np.exp(-0.0003 * np.arange(300))
        assert "failed-run" not in classify({"loss": (np.arange(300), loss)}).patterns
        assert classify({"loss": (np.arange(300), slowly)}).verdict == "good"


def test_a_loss_that_nobody_can_read_is_not_called_healthy() -> None:
    loss = np.exp(1.5 * np.random.default_rng(0).standard_normal(300))
    judged = classify({"loss": (np.arange(300), loss)})
    assert (judged.verdict, judged.patterns) == ("unexpected", ())
    assert judged.because == "Cannot tell: the loss differs by a factor of two from sample to sample."


@pytest.mark.parametrize("half_life", [0.02, 0.3])
def test_noise_that_hides_single_samples_does_not_hide_what_is_learned(half_life: float) -> None:
    noise = np.exp(0.9 * np.random.default_rng(1).standard_normal(2000))
    loss = (0.5 + 20 * 0.5 ** (np.arange(2000) / 2000 / half_life)) * noise
    assert classify({"loss": loss}).verdict == "good"
    assert classify({"loss": 0.5 * noise}).verdict == "unexpected"


def test_a_loss_of_few_points_that_falls_is_evidence_of_learning() -> None:
    falls = classify({"train_loss": [82.47, 37.89, 34.70, 34.71, 34.92, 34.70]})
    assert (falls.verdict, falls.because) == (
        "good",
        "Good: train_loss got better, from 82.47 to 34.70, and kept what it gained.",
    )
    assert classify({"train_loss": [34.7, 36.2, 34.1, 35.9, 36.5, 35.0]}).verdict == "unexpected"


def test_without_a_loss_scores_can_speak() -> None:
    steps = np.arange(10)
    risen = classify({"eval_accuracy": (steps, 1 - 0.9 * 0.5**steps)})
    assert risen.because == "Good: eval_accuracy got better, from 0.100 to 0.998, and kept what it gained."
    fallen = classify({"eval_accuracy": (steps, 0.5 + 0.1 * np.sin(steps))})
    assert (fallen.verdict, fallen.because) == (
        "unexpected",
        "Cannot tell: eval_accuracy shows no clear gain, and no loss was logged that could be judged.",
    )


def test_diagnosis_of_a_shift_says_its_step() -> None:
    shifted = diagnosis(Curve(0, 3000).shift(0.5, 6).run())
    assert shifted.because.startswith("Worrying: Level shift in loss from step 1")


def test_a_step_down_is_named_where_the_learning_rate_stayed_and_worries_nobody() -> None:
    """Where the log does not tell the rate, a step down is most likely a cut of it."""
    shifted = diagnosis(logged(Curve(0, 3000).shift(0.5, -3)).run())
    assert (shifted.verdict, "level-shift" in shifted.patterns) == ("good", True)
    assert patterns(Curve(0, 3000).shift(0.5, -3).run()) == set()


def test_a_slow_rise_from_a_minimum_early_in_the_log_diverges() -> None:
    """Self-play: learned in the first tenth, and worse by a seventh at the end."""
    at, noise = np.arange(100), np.random.default_rng(1).standard_normal(100)
    loss = (1.15 + 4 * np.exp(-at / 1.5)) * np.exp(0.16 * np.maximum(at - 13, 0) / 86 + 0.004 * noise)
    assert "divergence-no-spike" in classify({"total_loss": loss}).patterns


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swings", [True, False])
def test_a_rise_as_the_loss_had_come_back_from_long_before_is_no_turn(swings: bool, seed: int) -> None:
    """Noise levels that are drawn: the loss swings by a factor of two all along. The first rise is a turn."""
    at, noise = np.arange(6240), 0.2 * np.random.default_rng(seed).standard_normal(6240)
    swing = 0.9 * np.maximum(np.sin(2 * np.pi * (at - 500) / 700), 0.0) ** 2
    course = 3 * np.exp(-at / 40) + np.where(swings | (at > 5900), swing, 0.0)
    turned = "divergence-no-spike" in classify({"loss": 0.03 * np.exp(course + noise)}).patterns
    assert turned is not swings


@pytest.mark.parametrize("seed", [0, 3])
def test_a_slow_rise_in_noise_is_told_by_its_order(seed: int) -> None:
    """Labels get noisier for three quarters of the log: each block lies over the last, none by much."""
    at, noise = np.arange(2000), 0.1 * np.random.default_rng(seed).standard_normal(2000)
    level = 0.42 + 0.55 * np.exp(-at / 170) + 0.13 * np.maximum(at - 500, 0) / 1500
    assert "divergence-no-spike" in classify({"loss": np.exp(level + noise)}).patterns
    assert set(classify({"loss": np.exp(np.minimum.accumulate(level) + noise)}).patterns) <= {
        "noisy-healthy",
        "plateau",
    }
