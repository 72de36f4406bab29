"""The run as a whole: plateau, overfitting, improvement that nobody expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.classify.asking import KINDS, diagnosis, findings, patterns
from tests.curves import Curve
from tests.curves.series import learning_rate, validation
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.rules.generalisation import turned_up
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import look
from chronicle.model import Role, Series
from chronicle.timeline import stitch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0.25, 0.4])
def test_learning_that_stops_is_a_plateau(kind: str, at: float) -> None:
    curve = Curve(3, **KINDS[kind]).flat(at)
    (finding,) = findings(curve.run(), "plateau")
    assert finding.start_step == pytest.approx(curve.events[0].start_step, rel=0.3)


@pytest.mark.parametrize("decay", [0.2, 0.4, 0.8, 1.5])
@pytest.mark.parametrize("kind", few(KINDS, 2))
def test_converging_smoothly_is_none(decay: float, kind: str) -> None:
    for seed in few(range(3), 2):
        assert patterns(Curve(seed, decay=decay, **KINDS[kind]).run()) == set()


def test_standing_still_at_a_learning_rate_that_has_come_down_is_none() -> None:
    curve = learning_rate(Curve(2).flat(0.5), drops=(0.5,), gain=0)
    assert "plateau" not in patterns(curve.run())


@pytest.mark.parametrize("every", [20, 60, 150])
@pytest.mark.parametrize("at", [0.2, 0.6])
def test_validation_that_turns_while_training_goes_on(every: int, at: float) -> None:
    run = validation(Curve(4), every=every, overfit_at=at, height=25).run()
    (finding,) = findings(run, "overfitting")
    assert finding.metric == "val_loss" and finding.end_step is None
    assert finding.evidence["minimum_step"] == pytest.approx(2000 * at, abs=max(3 * every, 300))


@pytest.mark.parametrize("every", [20, 150, 300])
@pytest.mark.parametrize("noise", [0.004, 0.03])
def test_noisy_validation_does_not_overfit(every: int, noise: float) -> None:
    for seed in few(range(4), 2):
        assert patterns(validation(Curve(seed), every=every, noise=noise).run()) == set()


@pytest.mark.parametrize(("height", "overfits"), [(0.17, False), (0.145, True)])
def test_a_dip_of_validation_that_goes_up_and_down_as_far_is_no_turn(height: float, overfits: bool) -> None:
    """Before its minimum it comes down from a hill as high as the rise that follows, or slowly."""
    at, level = (0, 60, 225, 245, 265, 275, 300), (0.5, 0.15, 0.15, height, 0.118, 0.135, 0.137)
    noise = np.random.default_rng(3).normal(0, 0.01, 300)
    held_out = np.exp(np.interp(np.arange(300), at, np.log(level)) + noise)
    loss = 0.2 * np.exp(-np.arange(300) / 200)
    assert ("overfitting" in classify({"train_loss": loss, "val_loss": held_out}).patterns) is overfits


@pytest.mark.parametrize(("lost", "overfits"), [(0.3, True), (0.1, False)])
def test_of_a_loss_with_a_high_floor_what_was_gained_is_the_measure(lost: float, overfits: bool) -> None:
    """Nearly all of the loss can never be learned; of the rest a share is lost again."""
    t = np.linspace(0, 1, 400)
    gained = 1 - np.exp(-t / 0.03)
    held_out = 9.2 - 0.25 * gained * (1 - lost * np.maximum(t - 0.1, 0) / 0.9)
    loss = 9.2 - 0.25 * gained - 0.06 * t
    assert ("overfitting" in classify({"train_loss": loss, "val_loss": held_out}).patterns) is overfits


@pytest.mark.parametrize(
    ("evaluations", "overfits"),
    [
        ((2.0, 2.2, 2.4), True),
        ((2.0, 2.05, 2.1), False),
        ((2.2, 2.0, 2.4), False),
        ((2.0, 2.4), False),
        ((2.2, 2.0, 2.2, 2.4, 2.9), True),
        ((2.2, 2.0, 2.4, 2.3, 2.9), False),
    ],
)
def test_few_evaluations_have_to_be_worse_each_time_after_the_best(
    evaluations: tuple[float, ...], overfits: bool
) -> None:
    run = Curve(2).run()
    (attempt,) = run.attempts
    steps = np.linspace(600, 1900, len(evaluations)).astype(np.int64)
    held_out = Series(
        "val_loss", Role.VALIDATION_LOSS, steps, np.array(evaluations), np.full(len(steps), np.nan)
    )
    d = classify(stitch([replace(attempt, series={**attempt.series, "val_loss": held_out})]))
    assert ("overfitting" in d.patterns) is overfits


def test_a_training_of_five_epochs_can_overfit() -> None:
    trained = np.array([2.0, 1.5, 1.2, 1.0, 0.8])
    assert classify({"train_loss": trained, "val_loss": np.array([1.8, 1.4, 1.6, 1.9, 2.4])}).patterns == (
        "overfitting",
    )
    assert not classify({"train_loss": trained, "val_loss": np.array([1.8, 1.4, 1.5, 1.45, 2.4])}).patterns
    assert not classify(
        {"train_loss": trained[::-1], "val_loss": np.array([1.8, 1.4, 1.6, 1.9, 2.4])}
    ).patterns


@pytest.mark.parametrize(
    ("trained", "found"),
    [
        ((0.50, 0.63, 0.62), ()),
        ((0.50, 0.40, 0.41), ("overfitting",)),
        ((0.50, 0.38, 0.53, 0.51, 0.52), ()),
    ],
)
def test_a_training_loss_of_few_values_that_rose_is_not_excused_by_noise(
    trained: tuple[float, ...], found: tuple[str, ...]
) -> None:
    """Three values that jump seem noisy, but no noise is known by them: what they say is all there is."""
    held_out = np.linspace(0.30, 0.40, len(trained))
    assert classify({"train_loss": np.array(trained), "val_loss": held_out}).patterns == found


@pytest.mark.parametrize(
    ("held_out", "overfits"),
    [
        ((0.32, 0.31, 0.33, 0.29, 0.27, 0.28, 0.33, 0.34, 0.41, 0.38), True),
        ((0.32, 0.31, 0.33, 0.29, 0.27, 0.38, 0.33, 0.41, 0.28, 0.34), False),  # in no order
        ((0.32, 0.31, 0.33, 0.29, 0.27, 0.27, 0.28, 0.29, 0.30, 0.28), False),  # by less than 15 %
    ],
)
def test_of_ten_epochs_a_rise_in_their_order_is_enough(held_out: tuple[float, ...], overfits: bool) -> None:
    """The noise is too much for five errors where no order counts."""
    trained = 0.4 * 0.85 ** np.arange(10)
    patterns = classify({"train_loss": trained, "val_loss": np.array(held_out)}).patterns
    assert ("overfitting" in patterns) is overfits


def beside_evaluations(metric: str, role: Role, steps: np.ndarray, values: np.ndarray) -> set[str]:
    (attempt,) = Curve(2).run().attempts
    held_out = Series(metric, role, steps.astype(np.int64), values, np.full(len(steps), np.nan))
    return set(classify(stitch([replace(attempt, series={**attempt.series, metric: held_out})])).patterns)


@pytest.mark.parametrize(("grows", "overfits"), [(0.45, True), (0.0, False)])
@pytest.mark.parametrize("seed", range(4))
def test_a_rise_in_order_is_enough_in_heavy_noise_too(seed: int, grows: float, overfits: bool) -> None:
    """Forty epochs of which one differs from the next by a third, as of a segmentation of few images."""
    t, noise = np.arange(40), np.random.default_rng(seed).standard_normal(40)
    held_out = (0.5 + 0.5 * np.exp(-t / 2)) * np.exp(grows * np.maximum(t - 6, 0) / 17 + 0.3 * noise)
    judged = classify({"epoch": t, "loss": np.exp(-t / 15), "val_loss": held_out})
    assert ("overfitting" in judged.patterns) is overfits


def test_a_loss_that_reaches_zero_has_learned_by_heart() -> None:
    """Single precision knows no smaller one, and comes away from zero now and then."""
    n = np.arange(200)
    loss = np.where(n % 3, 0.0, 1e-6) + 4 * np.exp(-n / 2)
    loss[loss < 1e-7] = 0.0
    held_out = 4.0 + 40 * (1 - np.exp(-n / 100))
    assert "overfitting" in classify({"train_loss": loss, "val_loss": held_out}).patterns


def test_the_batches_of_a_single_evaluation_are_no_course() -> None:
    rising = np.linspace(1.2, 1.5, 32) + 0.01 * np.sin(np.arange(32))
    assert "overfitting" not in beside_evaluations(
        "val/loss", Role.VALIDATION_LOSS, np.full(32, 1990), rising
    )
    assert "overfitting" in beside_evaluations(
        "val/loss", Role.VALIDATION_LOSS, np.linspace(100, 1990, 32), rising
    )


def test_the_samples_of_each_evaluation_are_told_by_their_mean() -> None:
    samples = np.r_[
        np.full(40, 0.05), np.linspace(0.9, 0.1, 40)
    ]  # the last of the second one are the hardest
    steps = np.repeat(np.array([400, 1900]), 40)
    samples += 0.01 * np.sin(7 * np.arange(80))
    assert "overfitting" not in beside_evaluations("test/Dice", Role.VALIDATION_SCORE, steps, samples)


@pytest.mark.parametrize("noise", [0.03, 0.2])
@pytest.mark.parametrize("count", [6, 10, 16, 40])
def test_flat_noisy_evaluations_overfit_in_few_of_a_hundred(count: int, noise: float) -> None:
    rng, view = np.random.default_rng(count), look(stitch(Curve(1).run().attempts), DEFAULTS)
    called = 0
    for _ in range(400):
        _, rise, need = turned_up(view, noise * rng.standard_normal(count))
        called += rise >= need
    assert called / 400 <= {6: 0.04, 10: 0.02, 16: 0.01, 40: 0.005}[count]


def test_held_out_scores_speak_before_the_held_out_loss_of_late_generalisation() -> None:
    """The validation loss falls to a half long after training was done; the accuracy beside it says no."""
    n = np.arange(400)
    loss, held = 4.0 * np.exp(-n / 8) + 0.01, np.where(n < 300, 5.0, 1.5)
    accuracy, held_accuracy = 1 - np.exp(-n / 8), np.full(400, 0.1)
    silent = {"train_loss": loss, "val_loss": held}
    assert "grokking" in classify(silent).patterns
    scored = {**silent, "train_accuracy": accuracy, "val_accuracy": held_accuracy}
    assert "grokking" not in classify(scored).patterns


def test_both_losses_rising_is_divergence_and_not_overfitting() -> None:
    curve = Curve(5).diverge(0.5, 60)
    curve.log("val_loss", Role.VALIDATION_LOSS, np.exp(curve.trend + curve.lift + 0.05), every=50)
    assert patterns(curve.run()) == {"divergence-no-spike"}


@pytest.mark.parametrize(("together", "overfits"), [(0.9, False), (0.0, True)])
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_losses_that_rise_together_do_not_overfit(together: float, overfits: bool, seed: int) -> None:
    """Both scatter, and only the last values of the training lie below what it was before."""
    rng, epochs = np.random.default_rng(seed), np.arange(200)
    trend, rise = 4 * np.exp(-epochs / 25) - 4, 0.4 * (epochs >= 170)
    loss = trend + together * rise + 0.12 * rng.standard_normal(200)
    loss[-4:] -= 0.5 * (together > 0)
    held_out = trend + rise + 0.12 * rng.standard_normal(200)
    found = classify({"loss": np.exp(loss), "val_loss": np.exp(held_out)}).patterns
    assert ("overfitting" in found) is overfits


@pytest.mark.parametrize("kind", KINDS)
def test_an_abrupt_lasting_fall_is_sudden_improvement(kind: str) -> None:
    curve = Curve(7, **KINDS[kind])
    run = curve.improve(0.5, 0.4 / curve.scale, width=6).run()
    (finding,) = findings(run, "grokking")
    assert abs(finding.start_step - run.events[0].start_step) <= 12 * curve.every
    assert diagnosis(run).verdict == "unexpected"


@pytest.mark.parametrize("fall", [3, 30, 200])
def test_the_return_from_a_spike_is_no_improvement(fall: float) -> None:
    for height in (20, 60):
        assert "grokking" not in patterns(Curve(8).spike(0.4, height, fall=fall).run())


def test_learning_fast_at_the_start_is_no_improvement_whatever_the_cadence() -> None:
    """Every step is logged at first, then every 50th: the fall is fast in samples, not in steps."""
    curve = Curve(9, 6000, decay=0.6)
    keep = np.concatenate([np.arange(100), np.arange(100, 6000, 50)])
    attempt = curve.attempt()
    thin = {
        m: replace(s, steps=s.steps[keep], values=s.values[keep], times=s.times[keep])
        for m, s in attempt.series.items()
    }
    run = curve.run()
    run.attempts = [replace(attempt, series=thin)]
    assert patterns(run) == set()


@pytest.mark.parametrize("points", [20, 60, 400])
def test_generalisation_long_after_training_is_grokking(points: int) -> None:
    x = np.arange(points) / points
    curve = Curve(1, points, every=100)
    curve.log("train_acc", Role.SCORE, np.clip(0.02 + x / 0.06, 0, 1))
    curve.log("val_acc", Role.VALIDATION_SCORE, 0.02 + 0.97 / (1 + np.exp(-(x - 0.7) / 0.03)))
    (finding,) = findings(curve.run(), "grokking")
    assert finding.metric == "val_acc" and finding.evidence["delay_times"] >= 5


def test_single_batches_that_are_all_right_are_no_training_that_was_learned() -> None:
    """The recall of batches of eight: some are 1 early on, and as many later."""
    rng, steps = np.random.default_rng(3), np.arange(1000)
    batches = np.round(np.clip(0.5 + 0.35 * rng.standard_normal(1000), 0, 1) * 4) / 4
    batches[0] = 0.0
    held = np.interp(steps, [0, 300, 400, 999], [0.4, 0.4, 0.65, 0.65])
    assert "grokking" not in classify({"train_recall": batches, "val_recall": held}).patterns
    learned = np.clip(steps / 40, 0, 1)
    assert "grokking" in classify({"train_recall": learned, "val_recall": held}).patterns


def test_an_evaluation_that_is_logged_until_the_next_one_is_one_value() -> None:
    """Of ten equal values nine tell nothing of the noise, and the lowest of all is no minimum."""
    rng, n = np.random.default_rng(8), np.arange(1200)
    loss = 0.01 + 0.03 * np.exp(-n / 300) + 0.0004 * rng.standard_normal(1200)
    each = 0.006 + 0.03 * np.exp(-n[::10] / 150) + 0.0007 * rng.standard_normal(120)
    each[-45] = 0.0045
    run = {"train_loss": loss, "val_loss": np.repeat(each, 10)}
    assert classify(run).patterns == classify({"train_loss": loss, "val_loss": (n[::10], each)}).patterns
    assert "overfitting" not in classify(run).patterns
    turned = each + np.maximum(np.arange(120) - 60, 0) * 0.0001
    assert "overfitting" in classify({"train_loss": loss, "val_loss": np.repeat(turned, 10)}).patterns


def test_a_test_that_is_first_asked_when_training_is_done_has_no_delay() -> None:
    """A hundred values of the last step, of which some are better."""
    steps, noise = np.arange(1000), np.random.default_rng(1).random(100)
    logged = {"train_acc": (steps, np.clip(0.02 + steps / 60, 0, 1))}
    held = np.full(100, 999), np.r_[0.3, 0.3, 0.3 + 0.5 * noise[2:]]
    assert "grokking" not in classify({**logged, "test_acc": held}).patterns


def test_what_is_no_share_of_answers_does_not_grok() -> None:
    """Returns come from below a half to above nine tenths as they like."""
    steps = np.arange(1000)
    late = np.interp(steps, [0, 600, 700, 999], [0.1, 0.1, 0.9, 0.9])
    for scale, groks in ((1.0, True), (30.0, False)):
        held = np.where(late > 0.1, scale * late, late)
        logged = {"train_acc": (steps, np.clip(0.02 + steps / 60, 0, 1)), "test_acc": (steps, held)}
        assert ("grokking" in classify(logged).patterns) is groks


@pytest.mark.parametrize("seed", range(3))
def test_what_is_generalised_at_once_hides_no_late_generalisation(seed: int) -> None:
    """A third of the held-out answers are easy; the training loss is thrown up again and again."""
    x, r = np.arange(120) / 120, np.random.default_rng(seed)
    late = 0.33 + 0.1 * x + 0.56 / (1 + np.exp(-(x - 0.7) / 0.04))
    columns = {
        "train_loss": np.where(x < 0.01, 4.6, 1e-6)
        * np.exp(2 * r.standard_normal(120) + 8 * (r.random(120) < 0.1)),
        "train_acc": np.where(x < 0.01, 0.01, 1.0),
        "test_acc": np.where(x < 0.01, 0.01, late + 0.003 * r.standard_normal(120)),
    }
    steps = 100 * np.arange(120)
    groks = [
        f for f in classify({m: (steps, v) for m, v in columns.items()}).findings if f.pattern == "grokking"
    ]
    assert [f.metric for f in groks] == ["test_acc"] and 5500 <= groks[0].start_step <= 9000


def test_a_held_out_loss_that_is_only_rough_since_training_is_done_does_not_grok() -> None:
    held = [0.049, 0.039, 0.076, 0.037, 0.035, 0.028, 0.027, 0.0268, 0.0259, 0.0258]
    steps, later = np.arange(9, 540, 10), np.arange(53, 540, 54)
    loss = np.where(steps < 30, 0.6, 0.02) * np.exp(
        0.2 * np.random.default_rng(0).standard_normal(len(steps))
    )
    judged = classify({"train_loss": (steps, loss), "val_loss": (later, np.array(held[: len(later)]))})
    assert "grokking" not in judged.patterns


@pytest.mark.parametrize(("held_out", "groks"), [(5.0, True), (0.01, False)])
def test_a_held_out_loss_that_goes_along_with_the_training_does_not_grok(
    held_out: float, groks: bool
) -> None:
    """Nearly all of the fall of a training loss is over at once; the rest goes on in both for decades."""
    steps, later = np.arange(50, 40_000, 50), np.arange(3000, 40_000, 3000)
    train = 0.4 * np.exp(-steps / 150) + 0.005 * np.exp(-steps / 12_000)
    val = held_out * np.exp(-np.maximum(later - 15_000, 0) / 12_000)
    judged = classify({"train_loss": (steps, train), "val_loss": (later, val)})
    assert ("grokking" in judged.patterns) is groks


@pytest.mark.parametrize("late", [0.06, 0.15])
def test_held_out_scores_that_follow_training_are_learning(late: float) -> None:
    x = np.arange(400) / 400
    curve = Curve(2, 400, every=10)
    curve.log("train_acc", Role.SCORE, np.clip(0.02 + x / 0.06, 0, 1))
    curve.log("val_acc", Role.VALIDATION_SCORE, np.clip(0.02 + 0.9 * x / late, 0, 0.95))
    assert "grokking" not in patterns(curve.run())


def test_a_loss_below_zero_without_a_learning_rate_at_its_end_is_judged() -> None:
    """No course over log(step) can be told there, so no plateau either."""
    falls = -np.linspace(1, 5, 400) + 0.01 * np.random.default_rng(0).standard_normal(400)
    rate = np.where(np.arange(400) < 200, 1e-3, 0.0)
    assert "plateau" not in classify({"loss": falls, "learning_rate": rate}).patterns


def turning(seed: int, count: int = 48) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and a validation loss that falls for a third of them and then rises by 0.5 log units."""
    t, noise = np.linspace(0, 1, count), np.random.default_rng(seed).standard_normal(count)
    return t, np.exp(0.8 * np.exp(-t / 0.08) + 0.7 * np.maximum(t - 0.3, 0) + 0.02 * noise)


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_the_training_hides_no_turn_of_the_validation(seed: int) -> None:
    t, held = turning(seed)
    loss = np.exp(0.5 * np.exp(-t / 0.1) + 1.5 * np.random.default_rng(seed + 9).standard_normal(len(t)))
    assert "overfitting" in classify({"Cost": loss, "val_loss": held}).patterns


def test_only_a_loss_that_says_it_is_of_the_training_can_deny_overfitting() -> None:
    t, held = turning(0)
    columns = {"loss": 2 * np.exp(-4 * t), "val_loss": held}
    assert "overfitting" in classify({**columns, "Loss": 1.02 * held}).patterns
    assert "overfitting" not in classify({**columns, "train/loss": 1.02 * held}).patterns


@pytest.mark.parametrize("end", ["falls", "rises"])
def test_a_score_that_ends_at_its_best_asks_for_more_than_a_slight_rise(end: str) -> None:
    t = np.linspace(0, 1, 60)
    held = np.exp(0.8 * np.exp(-t / 0.08) + 0.12 * np.maximum(t - 0.3, 0))
    score = 0.9 * (1 - np.exp(-t / 0.3)) if end == "rises" else 0.9 - 0.3 * np.abs(t - 0.3)
    columns = {"loss": 2 * np.exp(-4 * t), "val_loss": held, "val_acc": score}
    assert ("overfitting" in classify(columns).patterns) is (end == "falls")


def test_a_score_that_stays_since_the_held_out_loss_turned_excuses_no_rise() -> None:
    """What it gained before then it would have without the rest of the training."""
    t = np.linspace(0, 1, 150)
    held = np.exp(0.8 * np.exp(-t / 0.05) + 0.12 * np.maximum(t - 0.2, 0))
    stays, gains = 0.9 * (1 - np.exp(-t / 0.02)) - 1e-4 * t, 0.9 * (1 - np.exp(-t / 0.3))
    named = [
        classify({"loss": 2 * np.exp(-4 * t), "val_loss": held, "val_acc": s}).patterns
        for s in (stays, gains)
    ]
    assert ["overfitting" in patterns_ for patterns_ in named] == [True, False]


def test_a_score_that_is_lost_while_the_held_out_loss_falls_is_one_of_several_goals() -> None:
    t = np.linspace(0, 1, 200)
    falls = 2.0 * np.exp(-t)
    assert "overfitting" not in score_beside(rising=False, val_loss=falls)
    assert "overfitting" in score_beside(rising=False, val_loss=np.full(200, 2.0))


@pytest.mark.parametrize("rate", [True, False])
def test_falls_that_are_over_at_once_may_be_cuts_of_a_rate_that_is_not_logged(rate: bool) -> None:
    t, noise = np.arange(300), np.random.default_rng(2).standard_normal(300)
    loss = np.exp(-0.35 * (t >= 150) - 0.2 * np.log1p(t)) * np.exp(0.01 * noise)
    columns = {"train_loss": loss, **({"learning_rate": np.full(300, 1e-3)} if rate else {})}
    assert ("grokking" in classify(columns).patterns) is rate


@pytest.mark.parametrize(("held_out", "sudden"), [(3.0, False), (-1.0, True)])
def test_what_is_learned_by_heart_is_no_sudden_improvement(held_out: float, sudden: bool) -> None:
    """Labels at random: the training loss falls by a factor within a few steps, and the other one rises."""
    k, noise = np.arange(500), np.random.default_rng(0).standard_normal((2, 500))
    known = np.clip((k - 150) / 6, 0, 1)
    loss = (2.0 - 1e-3 * k) * np.exp(-4 * known + 0.01 * noise[0])
    other = 2.3 * np.exp(0.4 * held_out * known + 0.01 * noise[1])
    judged = classify({"train_loss": loss, "val_loss": (k[::5], other[::5]), "lr": np.full(500, 0.1)})
    assert ("grokking" in judged.patterns) is sudden


@pytest.mark.parametrize(("after", "sudden"), [(2.4, False), (1.2, True)])
def test_a_fall_of_the_training_loss_after_overfitting_is_no_sudden_improvement(
    after: float, sudden: bool
) -> None:
    """The held-out loss has risen to 2.4, and is evaluated too seldom to rise further within the fall."""
    k, noise = np.arange(500), np.random.default_rng(0).standard_normal(500)
    loss = (2.0 - 1e-3 * k) * np.exp(-2 * (k > 300) + 0.01 * noise)
    at = np.arange(0, 500, 50)
    other = np.where(at <= 300, np.interp(at, [0, 100, 250], [2.3, 1.0, 2.4]), after)
    judged = classify({"train_loss": loss, "val_loss": (at, other), "lr": np.full(500, 0.1)})
    assert ("grokking" in judged.patterns) is sudden


def test_a_part_of_the_validation_that_rises_while_the_others_fall_is_no_overfitting() -> None:
    t, held = turning(1)
    columns = {"train/loss": 2 * np.exp(-4 * t), "val/obj_loss": held}
    assert "overfitting" in classify(columns).patterns
    assert "overfitting" not in classify({**columns, "val/box_loss": 3 * np.exp(-3 * t)}).patterns


def test_a_small_part_that_rises_is_weighed_in_the_unit_of_the_sum() -> None:
    """A detector of objects whose objectness loss, a fortieth of the whole, rises more than others fall."""
    t, held = turning(1)
    columns = {
        "train/obj_loss": 2 * np.exp(-4 * t),
        "val/obj_loss": held,
        "train/box_loss": 3 * np.exp(-3 * t),
    }
    assert "overfitting" in classify({**columns, "val/box_loss": np.full_like(t, 3.0)}).patterns
    assert "overfitting" not in classify({**columns, "val/box_loss": 40 * np.exp(-0.3 * t)}).patterns
    assert "overfitting" not in classify({**columns, "val/box_loss": np.full_like(t, 100.0)}).patterns


def test_of_several_validation_losses_the_one_named_as_the_training_loss_is_the_whole() -> None:
    """A detector of objects: its class loss turns, its whole loss does not."""
    t, held = turning(1)
    whole = 8 * np.exp(-0.3 * t)
    columns = {"train_loss": 20 * np.exp(-t), "test_loss_ce": held, "test_loss_box": np.full_like(t, 0.3)}
    assert "overfitting" in classify(columns).patterns
    assert "overfitting" not in classify({**columns, "test_loss": whole}).patterns
    assert "overfitting" in classify({**columns, "test_loss": held, "test_loss_box": whole}).patterns


def score_beside(rising: bool, lowest: float = 0.0, **more: np.ndarray) -> set[str]:
    """What is seen of a held-out score that loses most of what it gained, beside a loss that goes on. A loss
    below ``lowest`` is told as zero."""
    t, noise = np.arange(200) / 200, np.random.default_rng(3).standard_normal((2, 200))
    score = 0.8 - 0.5 * np.exp(-t / 0.06) - 0.5 * np.maximum(t - 0.3, 0) + 0.008 * noise[0]
    loss = (1.0 + t if rising else 2.0 * np.exp(-2 * t)) * np.exp(0.02 * noise[1])
    loss = np.where(loss < lowest, 0.0, loss)
    return set(classify({"train_loss": loss, "val_accuracy": score, **more}).patterns)


def test_a_held_out_score_that_is_lost_is_overfitting_where_the_training_goes_on() -> None:
    assert "overfitting" in score_beside(rising=False)
    assert "overfitting" not in score_beside(rising=True)  # then the model is worse in all ways
    assert "overfitting" in score_beside(rising=False, lowest=0.4)
    assert "overfitting" not in score_beside(rising=True, lowest=1.1)
    reward = np.linspace(0, 5, 200) + 0.1 * np.random.default_rng(4).standard_normal(200)
    assert score_beside(rising=False, reward=reward) & {"overfitting", "reward-hacking"} == {"reward-hacking"}


def test_no_score_is_asked_where_the_held_out_loss_tells() -> None:
    held_out = 2.0 * np.exp(-2 * np.arange(200) / 200)
    named = classify({"train_loss": held_out, "val_loss": held_out}).not_assessed
    assert "overfitting" not in {n.pattern for n in named}
    scores = classify({"train_loss": held_out, "val_accuracy": 1 - held_out / 3}).not_assessed
    assert "overfitting" not in {n.pattern for n in scores}


def test_a_loss_that_bends_downward_from_its_start_on_waits_for_nothing() -> None:
    """A language model at a rate that warms up: an S from 10.9 to 6.1, 2 % of it while it seems to wait."""
    t, noise = np.arange(1300) / 1300, np.random.default_rng(0).standard_normal(1300)
    bends = 6.1 + 4.8 / (1 + np.exp((t - 0.27) / 0.05)) * (1 - 0.12 * t)
    waits = np.where(t < 0.25, 10.9, 6.1 + 4.8 * np.exp(-(t - 0.25) / 0.15))
    shown = [classify({"loss": loss * np.exp(0.01 * noise)}).patterns for loss in (bends, waits)]
    assert shown == [("near-perfect",), ("plateau",)]


@pytest.mark.parametrize("seed", range(4))
def test_the_fall_back_from_a_spike_is_no_sudden_improvement(seed: int) -> None:
    """The samples of a spike are no level from which a loss falls later."""
    steps = np.arange(228) * 3200
    noise = np.random.default_rng(seed).normal(0, 0.03, 228)
    loss = (
        2.3 * np.exp(-steps / 160_000)
        + 0.15
        + noise
        + np.where((steps > 332_000) & (steps < 346_000), 2.5, 0)
    )
    assert "grokking" not in classify({"loss": loss}).patterns


@pytest.mark.parametrize(("end", "overfits"), [(0.35, True), (0.7, False)])
def test_a_held_out_score_that_is_lost_while_that_of_the_training_rises_is_overfitting(
    end: float, overfits: bool
) -> None:
    """No loss is logged. Where both scores fall, what is trained for is lost, which is another finding."""
    noise = 0.01 * np.random.default_rng(6).standard_normal((2, 60))
    n = np.arange(60)
    train, held = 1 - 0.6 * np.exp(-n / 12) + noise[0], np.interp(n, [0, 15, 30, 59], [0.5, 0.7, end, end])
    assert ("overfitting" in classify({"train_acc": train, "test_acc": held + noise[1]}).patterns) == overfits
    assert "overfitting" not in classify({"train_acc": held + noise[0], "test_acc": held + noise[1]}).patterns


@pytest.mark.parametrize(
    ("first", "score", "overfits"),
    [(2.75, 0.45, True), (4.0, 0.45, False), (2.51, 0.45, False), (4.0, 0.37, True)],
    ids=["all of its gain is lost", "most is kept", "it had nothing to gain", "the score gains little"],
)
def test_a_held_out_loss_rises_more_than_answers_that_are_only_less_sure(
    first: float, score: float, overfits: bool
) -> None:
    """It rises from 2.5 to 2.8, by 0.11 log units, over 87 of 100 epochs, while the held-out score goes up
    from 0.34: to 0.45, so that the errors fall by 0.18, or to 0.37, so that they fall by 0.05."""
    epochs = np.arange(100)
    noise = 1 + 0.01 * np.random.default_rng(5).standard_normal(100)
    logged = {
        "train_loss": 1.6 + 1.2 * np.exp(-epochs / 25),
        "val_loss": np.interp(epochs, [0, 13, 99], [first, 2.5, 2.8]) * noise,
        "val_accuracy": np.interp(epochs, [0, 13, 99], [0.28, 0.34, score]) * noise,
    }
    found = classify({name: (epochs, values) for name, values in logged.items()}).patterns
    assert ("overfitting" in found) is overfits


@pytest.mark.parametrize(("trained", "overfits"), [(0.4, True), (1.0, False)])
def test_a_held_out_score_is_lost_to_overfitting_only_while_the_training_loss_falls(
    trained: float, overfits: bool
) -> None:
    """A model that learns nothing more, or whose evaluated training loss rises too, has other trouble."""
    n, noise = np.arange(80), 0.004 * np.random.default_rng(3).standard_normal((3, 80))
    loss = np.interp(n, [0, 20, 79], [3.0, 1.0, trained]) * (1 + noise[0])
    score = np.interp(n, [0, 20, 40, 79], [0.1, 0.6, 0.3, 0.3]) + noise[1]
    logged = {"loss": loss, "val_accuracy": score}
    assert ("overfitting" in classify(logged).patterns) is overfits
    evaluated = np.interp(n, [0, 20, 79], [3.0, 1.1, 2.5]) * (1 + noise[2])
    assert "overfitting" not in classify({**logged, "train/loss": evaluated}).patterns


def test_overfitting_is_told_by_the_weights_that_are_trained_now() -> None:
    """Both halves learn from the start. That the second one ends above the first is no rise."""
    t, noise = np.tile(np.arange(600) / 600, 2), np.random.default_rng(4).standard_normal((2, 1200))
    worse = np.repeat([1.0, 1.25], 600)
    loss = (0.3 + 6 * np.exp(-8 * t)) * np.exp(0.02 * noise[0])
    held_out = (1 + 5.3 * np.exp(-10 * t)) * worse * np.exp(0.01 * noise[1])
    judged = classify({"loss": loss, "val_loss": held_out})
    assert "reinitialised" in judged.patterns and "overfitting" not in judged.patterns
