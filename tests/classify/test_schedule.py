"""Learning rate, batch size and epochs: what they explain, and a schedule that was lost."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import KINDS, diagnosis, findings, near, patterns
from tests.curves import Curve, Run
from tests.curves.runs import lr_not_restored, training, with_schedule
from tests.curves.series import batch_size, epochs, learning_rate
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.rules.schedule import MOST_CHANGES, cliffs, decay_begins
from chronicle.classify.thresholds import DEFAULTS
from chronicle.model import Role, Series


@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("gain", [8, 30])
def test_a_fall_with_the_learning_rate_is_explained_by_it(kind: str, gain: float) -> None:
    run = learning_rate(Curve(3, **KINDS[kind]), drops=(0.4, 0.7), gain=gain).run()
    assert near(run, "lr-decay-drop", 20 * KINDS[kind].get("every", 1))
    assert patterns(run) == {"lr-decay-drop"} and diagnosis(run).verdict == "good"


@pytest.mark.parametrize(("n_falls", "told"), [(MOST_CHANGES, MOST_CHANGES), (MOST_CHANGES + 1, 0)])
def test_a_rate_that_falls_again_and_again_has_no_planned_steps(n_falls: int, told: int) -> None:
    assert cliffs(rate_of(np.tile([1.0, 1.0, 0.1, 0.1], n_falls)), 2.0) == [4.0 * k + 2 for k in range(told)]


def rate_of(values: np.ndarray) -> Series:
    return Series("lr", Role.LEARNING_RATE, np.arange(len(values)), values, np.full(len(values), np.nan))


@pytest.mark.parametrize(("first", "begins"), [(0.95, [39.0]), (0.4, [])])
def test_a_decay_begins_without_a_step(first: float, begins: list[float]) -> None:
    """A rate that falls far at once has stepped down there."""
    rate = np.r_[np.ones(40), np.linspace(first, 0.1, 20)]
    assert decay_begins(rate_of(rate), DEFAULTS) == begins


def test_the_same_fall_without_the_learning_rate_is_sudden() -> None:
    curve = learning_rate(Curve(3), drops=(0.5,), gain=30)
    del curve.extra["lr"]
    assert patterns(curve.run()) == {"grokking"}


@pytest.mark.parametrize("kind", ["constant", "cosine"])
def test_smooth_schedules_make_no_finding(kind: str) -> None:
    for seed in range(3):
        assert patterns(learning_rate(Curve(seed), kind).run()) == set()


def test_a_linear_decay_that_bends_the_loss_down() -> None:
    curve = learning_rate(Curve(8), "wsd")
    curve.lift[1600:] -= 0.12 * (curve.steps[1600:] - 1600) / 400
    assert patterns(curve.run()) == {"lr-decay-drop"}


@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("gain", [0, 25])
def test_a_batch_that_grows_explains_calm_and_steps(kind: str, gain: float) -> None:
    run = batch_size(Curve(4, **KINDS[kind]), gain=gain).run()
    assert patterns(run) == {"batch-ramp"} and diagnosis(run).verdict == "good"
    ramp = findings(run, "batch-ramp")[0]
    assert ramp.evidence["batch_factor"] == 8
    assert ramp.evidence["noise_factor"] == pytest.approx(8**-0.5, abs=0.2)


def test_a_batch_size_that_changes_nothing_in_the_loss_is_no_finding() -> None:
    curve = batch_size(Curve(5), gain=0)
    curve.spread[:] = curve.scale
    assert patterns(curve.run()) == set()


@pytest.mark.parametrize("kind", few(KINDS, 2))
def test_a_step_down_at_an_epoch_edge_is_a_shift_and_no_miracle(kind: str) -> None:
    run = epochs(Curve(6, **KINDS[kind]), 3, gain=15).run()
    assert patterns(run) == {"level-shift"}
    shifts = findings(run, "level-shift")
    assert [f.evidence["epoch"] for f in shifts] == [1, 2]
    assert patterns(epochs(Curve(6, **KINDS[kind]), 3).run()) == set()


# ---- not restored ------------------------------------------------------------------------------------


HOW = {"warmup": "warms up again", "half": "is lower", "cosine": "is higher"}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("every", [1, 25])
def test_a_learning_rate_that_was_not_restored(how: str, every: int) -> None:
    run = lr_not_restored(1, how, every=every)
    lost_rates = findings(run, "lr-not-restored")
    assert (lost_rates[0].attempt, lost_rates[0].metric) == ("attempt-2", "lr")
    assert lost_rates[0].evidence["how"] == HOW[how] and "lr-not-restored" in patterns(run)


@pytest.mark.parametrize("every", [1, 25])
def test_a_schedule_that_goes_on_is_restored(every: int) -> None:
    for seed in range(3):
        assert patterns(with_schedule(seed, every=every)) == set()


def test_a_coarse_schedule_that_bends_is_restored() -> None:
    """A cosine that is told once an epoch lies off the line that carries its last values on."""

    def change(c: Curve, k: int) -> None:
        c.log("lr", Role.LEARNING_RATE, 0.05 * (0.55 + 0.45 * np.cos(np.pi * (c.steps - 2) / 22)))

    assert "lr-not-restored" not in patterns(training(2, ((0, 18), (18, 24)), change))


def test_a_lower_rate_after_a_rollback_is_the_usual_remedy() -> None:
    def change(c: Curve, k: int) -> None:
        learning_rate(c, "constant", peak=3e-4 * 0.5**k, warmup=0.0)

    assert "lr-not-restored" not in patterns(training(2, ((0, 1000), (800, 1600)), change))
    assert "lr-not-restored" in patterns(training(2, ((0, 1000), (1000, 1600)), change))


def appended(pause_s: float, factor: float, height: float = 10.0) -> Run:
    """One log to which a second process appended, with another learning rate."""
    curve = learning_rate(Curve(9), "cosine")  # from one constant rate down to another, a schedule goes too
    rate = curve.extra["lr"][1]
    rate[1000:] *= factor
    curve.seconds = curve.seconds + pause_s * (curve.steps >= 1000)
    curve.lift += height * curve.scale * curve.pulse(1000, 1, 30)
    return curve.run()


@pytest.mark.parametrize("factor", [0.5, 7.0])
def test_a_process_that_took_over_in_the_same_log(factor: float) -> None:
    run = appended(4000.0, factor)
    (lost,) = findings(run, "lr-not-restored")
    assert lost.start_step == 1000 and lost.evidence["lr_factor"] == pytest.approx(factor, rel=0.01)
    assert [f.start_step for f in findings(run, "resume-spike")] == [pytest.approx(1000, abs=8)]


def test_a_rate_that_came_back_too_high_lets_a_rise_be_expected() -> None:
    """1.8 noise scales: 4.7 standard errors, less than the 5 that any other join would need."""
    assert "resume-spike" in patterns(appended(4000.0, 7.0, height=1.8))
    assert "resume-spike" not in patterns(appended(4000.0, 0.5, height=1.8))


def test_a_learning_rate_that_jumps_while_the_process_runs_on_is_planned() -> None:
    assert {"lr-not-restored", "resume-spike"}.isdisjoint(patterns(appended(0.0, 7.0)))
    assert {"lr-not-restored", "resume-spike"}.isdisjoint(patterns(appended(4000.0, 1.0)))


@pytest.mark.parametrize(("lasts", "shows"), [(4, False), (28, True)])
def test_a_step_of_an_epoch_shows_between_whole_epochs(lasts: int, shows: bool) -> None:
    """The first means after each edge are 3 % lower: whole epochs differ, or their beginnings alone."""
    n, r = 28 * 12, np.random.default_rng(5)
    epoch, place = np.divmod(np.arange(n), 28)
    level = np.where(place < lasts, -0.03 * (epoch > 0), 0.0) if not shows else -0.03 * epoch
    loss = 3.0 * np.exp(level + 0.004 * r.standard_normal(n))
    patterns_ = classify({"epoch": np.arange(n) / 28, "loss": loss}).patterns
    assert ("level-shift" in patterns_) is shows


@pytest.mark.parametrize("stairs", [24, 2])
def test_one_of_many_epochs_that_seems_to_begin_lower_is_chance(stairs: int) -> None:
    """23 epochs of 17 samples: stairs have a step where most of them begin."""
    at, noise = np.arange(408), np.random.default_rng(3).standard_normal(408)
    epoch = at // 17
    loss = 70 * np.exp(-0.05 * np.minimum(epoch, stairs) + 0.006 * noise)
    assert ("level-shift" in classify({"epoch": epoch, "Cost": loss}).patterns) is (stairs == 24)


def test_what_rounding_makes_is_no_step_of_an_epoch() -> None:
    """A loss that is down to its last digits: 0.0005, 0.0004, 0.0003, each for an epoch and more."""
    steps = np.arange(25, 3101, 25)
    loss = 0.3 * np.exp(-steps / 300) + 2e-4 + 2e-4 * (3100 - steps) / 3100
    columns = {"epoch": (steps, steps / 131), "loss": (steps, loss)}
    assert "level-shift" not in classify(columns).patterns
    assert "level-shift" not in classify({**columns, "loss": (steps, np.round(loss, 4))}).patterns


@pytest.mark.parametrize("rows", [30, 15])
def test_three_points_an_epoch_show_no_step_of_an_epoch(rows: int) -> None:
    """Whatever such a loss does, it does where an epoch begins."""
    at = np.arange(rows)
    loss = np.where(at < 0.4 * rows, 0.095, 0.045) * np.exp(
        0.1 * np.random.default_rng(1).standard_normal(rows)
    )
    assert "level-shift" not in classify({"train_loss": loss, "epoch": np.floor(at / 3)}).patterns


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_of_the_rate_explains_a_fall_in_a_log_of_45_epochs(seed: int) -> None:
    epoch, cut = np.arange(1, 46), np.arange(1, 46) >= 31
    loss = (0.83 + 0.15 * np.exp(-epoch / 12)) * (1 - 0.03 * cut)
    loss *= np.exp(0.001 * np.random.default_rng(seed).standard_normal(45))
    rate = np.where(cut, 0.001, 0.01)
    assert "lr-decay-drop" in classify({"loss": (epoch, loss), "lr": (epoch, rate)}).patterns
    calm = loss / (1 - 0.03 * cut)
    assert "lr-decay-drop" not in classify({"loss": (epoch, calm), "lr": (epoch, rate)}).patterns
