"""What has failed and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import patterns
from tests.curves.runs import all_fail, repeat_data
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.measure import levels_apart
from chronicle.model import Attempt, Floats, Role, Series
from chronicle.timeline import stitch


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_replays_that_end_are_no_deaths(seed: int) -> None:
    """Each attempt ends above its own minimum, which was a falsely low one."""
    shown = patterns(repeat_data(seed, 3, 12))
    assert "repeat-data" in shown and "failed-run" not in shown


@pytest.mark.parametrize("seed", few(range(4), 2))
def test_attempts_that_all_diverge_have_failed(seed: int) -> None:
    assert "failed-run" in patterns(all_fail(seed))


@pytest.mark.parametrize(("left", "failed"), [(0.1, False), (1.0, True)])
def test_attempts_that_end_a_little_above_after_a_spike_have_not_all_failed(
    left: float, failed: bool
) -> None:
    """Each falls from 60 to 1, jumps to 20, and keeps a tenth of that in logarithms, or all of it."""
    k, launches = np.arange(600), []
    for n, noise in enumerate(0.01 * np.random.default_rng(7).standard_normal((3, 600))):
        spike = np.log(20) * np.where(k < 540, 0.0, np.maximum(np.exp(-(k - 540) / 8), left))
        loss = np.exp(np.log(60) * np.exp(-k / 20) + spike + noise)
        series = Series("loss", Role.LOSS, k, loss, np.full(600, np.nan))
        launches.append(Attempt(f"{n}.log", (), {"loss": series}))
    assert ("failed-run" in classify(stitch(launches)).patterns) is failed


def shown_by(first_step: int = 1, **columns: Floats) -> set[str]:
    """What is found in columns by step."""
    steps = first_step + np.arange(len(next(iter(columns.values()))))
    return set(
        classify({name.replace("__", "/"): (steps, values) for name, values in columns.items()}).patterns
    )


def chance(n: int, seed: int = 0) -> Floats:
    """A loss of two classes that stays at chance."""
    return np.log(2) + 2e-4 * np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("first_step", [0, 1])
@pytest.mark.parametrize("n", [16, 24, 40, 200])
def test_a_flat_loss_has_failed_also_where_epochs_are_counted_from_one(n: int, first_step: int) -> None:
    assert "failed-run" in shown_by(first_step, loss=chance(n))


@pytest.mark.parametrize(("epoch", "has_failed"), [(0, True), (1, True), (10, False), (51, False)])
def test_a_flat_loss_has_failed_only_where_its_epochs_begin_early(epoch: int, has_failed: bool) -> None:
    """Steps count the batches of a launch that went on from the checkpoint of an epoch."""
    epochs = epoch + np.arange(40) // 2
    assert ("failed-run" in shown_by(loss=chance(40), epoch=epochs.astype(float))) is has_failed


def test_what_is_learned_while_no_score_moves_is_nothing() -> None:
    """The outputs find their scale in the first epoch, and the AUC stays at one half."""
    loss, auc = chance(40), 0.5 + 3e-4 * np.random.default_rng(1).random(40)
    loss[:2] = 0.79, 0.70
    assert "failed-run" in shown_by(loss=loss, auc=auc)
    assert "failed-run" not in shown_by(loss=1.3 * loss)  # no level of guessing, and no score that says so
    assert "failed-run" not in shown_by(loss=loss, auc=auc + np.linspace(0, 0.2, 40))


@pytest.mark.parametrize("n", [8, 28])
def test_scores_that_move_by_nothing_or_for_one_point_are_those_of_guessing(n: int) -> None:
    loss, noise = chance(n), np.random.default_rng(1).random(n)
    loss[0] = 0.72
    lone = np.where(np.arange(n) == n - 1, 0.25, 0.01 * noise)
    assert "failed-run" in shown_by(loss=loss, auc=0.5 + np.linspace(0, 2e-3, n), accuracy=lone)
    assert "failed-run" not in shown_by(loss=loss, auc=0.5 + np.linspace(0, 0.2, n))
    assert ("failed-run" in shown_by(loss=0.9 * loss, auc=0.5 + 1e-3 * noise)) is (n >= 16)


def test_what_falls_below_guessing_step_by_step_while_a_score_rises_does_not_guess() -> None:
    """A tiny model of which every fiftieth epoch is told: 2.12 to 2.06, near the logarithm of eight."""
    loss, accuracy = np.linspace(2.11, 2.05, 10), np.linspace(0.17, 0.2, 10)
    accuracy[-1] -= 0.008
    guessed = 0.125 + 0.004 * (np.arange(10) % 2)
    assert "failed-run" not in shown_by(loss=loss, accuracy=accuracy)
    assert "failed-run" in shown_by(loss=loss, accuracy=guessed)
    assert "failed-run" in shown_by(loss=3 * chance(10), accuracy=guessed)


@pytest.mark.parametrize(("dice", "failed"), [(0.88, False), (0.2, True)])
def test_what_is_right_in_most_cases_does_not_guess(dice: float, failed: bool) -> None:
    """Ten epochs of fine-tuning, whose loss is near the logarithm of eight by chance."""
    wander = np.array([4, 1, -2, 2, -3, 0, 3, -1, -4, 1]) / 100
    scores = {"dice": dice + wander / 10, "accuracy": dice + 0.1 - wander / 10}
    assert ("failed-run" in shown_by(loss=2.09 + wander, **scores)) is failed


def test_a_loss_that_stays_is_no_failure_where_another_falls() -> None:
    assert "failed-run" in shown_by(loss=chance(40), val_loss=chance(40, 1))
    assert "failed-run" not in shown_by(loss=chance(40), val_loss=chance(40, 1) * np.linspace(1, 0.5, 40))


@pytest.mark.parametrize(("classes_fall", "failed"), [(0.0, True), (1.2, False)])
def test_a_part_at_a_level_of_guessing_is_no_failure_where_another_part_falls(
    classes_fall: float, failed: bool
) -> None:
    """A detector: the loss of its boxes scatters round the logarithm of two, and its scores come from
    elsewhere; what it learns shows in the loss of its classes."""
    noise = np.random.default_rng(1).standard_normal((3, 30))
    boxes = np.log(2) * np.exp(0.2 * noise[0])
    classes = np.exp(1 - classes_fall * np.linspace(0, 1, 30) + 0.1 * noise[1])
    columns = {"train__box_loss": boxes, "train__cls_loss": classes, "metrics__mAP50": 0.7 + 0.01 * noise[2]}
    assert ("failed-run" in shown_by(**columns)) is failed


@pytest.mark.parametrize("points", [30, 200])
@pytest.mark.parametrize("large", [100.0, 1000.0])
def test_a_loss_with_a_large_constant_part_learns_as_one_without(large: float, points: int) -> None:
    """A likelihood of 1,008 that falls to 995: a power law in its own unit, 1 % of its logarithm."""
    noise = 0.01 * np.random.default_rng(0).standard_normal(points)
    falls = 13 * (1 + np.linspace(0, 20, points)) ** -0.7 + noise
    assert "failed-run" not in shown_by(loss=large + falls)
    assert "failed-run" in shown_by(loss=100 * large + falls)


@pytest.mark.parametrize(("level", "failed"), [(0.6931, True), (0.64, False), (9.7041, True), (9.4, False)])
def test_what_creeps_below_the_loss_of_guessing_has_learned_nothing(level: float, failed: bool) -> None:
    """A classifier of two classes at 0.693 to 0.688: the constant part is the logarithm of two; and a
    language model at that of its 16,384 tokens."""
    creeps = level * (
        1 - 0.008 * np.linspace(0, 1, 130) + 0.002 * np.random.default_rng(0).standard_normal(130)
    )
    assert ("failed-run" in shown_by(loss=creeps)) is failed


def test_a_reward_that_rises_within_its_first_block_has_not_failed() -> None:
    """What is learned in the first samples of a long log stands in the first median already."""
    noise = np.random.default_rng(0).standard_normal(1500)
    reward = 0.6 - 0.5 * np.exp(-np.arange(1500) / 5.0)
    assert "failed-run" not in shown_by(reward=reward) | shown_by(reward=reward + 0.01 * noise)
    assert shown_by(reward=0.6 + 0.01 * noise) == {"plateau"}  # it may be all there is
    assert shown_by(reward=-0.6 + 0.01 * noise) == {"failed-run"}


@pytest.mark.parametrize("n", [8, 13, 40])
@pytest.mark.parametrize("value", [0.0, -6e-20, 0.6931])
def test_a_log_of_one_value_is_frozen_however_short(n: int, value: float) -> None:
    assert "frozen-metric" in shown_by(loss=np.full(n, value))
    assert "frozen-metric" not in shown_by(loss=np.r_[value + 1, np.full(n - 1, value)][:20])


def around(level: float, n: int, spread: float, seed: int = 2) -> Floats:
    """A loss that is noise around one level."""
    return level * np.exp(spread * np.random.default_rng(seed).standard_normal(n))


@pytest.mark.parametrize(("n", "spread"), [(20, 0.05), (60, 0.2), (400, 0.1)])
def test_a_loss_that_is_noise_around_one_level_has_learned_nothing(n: int, spread: float) -> None:
    judged = classify({"loss": around(1.0, n, spread)})
    assert (judged.verdict, judged.patterns) == ("worrying", ("plateau",))


@pytest.mark.parametrize(("first", "named"), [(21, "plateau"), (200, "near-perfect")])
def test_a_flat_loss_of_which_the_first_steps_are_not_logged_is_a_plateau(first: int, named: str) -> None:
    assert classify({"loss": (first + np.arange(479), around(2.335, 479, 0.023))}).patterns == (named,)


@pytest.mark.parametrize(("n", "named"), [(19, ()), (190, ("plateau",))])
def test_few_losses_of_which_none_could_show_a_fall_are_no_plateau(n: int, named: tuple[str, ...]) -> None:
    """Nineteen batches of a quarter more or less could hide that their loss falls by a tenth."""
    judged = classify({"loss": around(1.0, n, 0.25)})
    assert (judged.verdict, judged.patterns) == ("worrying" if named else "unexpected", named)


def test_a_loss_that_falls_within_its_noise_over_many_points_has_learned() -> None:
    falling = np.exp(-0.1 * np.arange(400) / 400)
    assert classify({"loss": around(1.0, 400, 0.1) * falling}).patterns == ("noisy-healthy",)


def test_noise_is_no_plateau_where_a_held_out_loss_or_a_score_gets_better() -> None:
    t, loss = np.arange(60) / 60, around(1.0, 60, 0.2)
    assert classify({"train_loss": loss, "val_loss": 2 * np.exp(-t)}).patterns == ("noisy-healthy",)
    assert classify({"loss": loss, "val_accuracy": 0.9 - 0.6 * np.exp(-5 * t)}).patterns == ("noisy-healthy",)
    steps, val = np.arange(0, 60, 7), 1.067 + 0.012 * np.exp(-np.arange(9) / 2)
    for held_out, found in ((val, ()), (np.sort(val), ("plateau",))):  # by a hundredth, which is not healthy
        both = {"loss": (np.arange(60), loss), "val_loss": (steps, held_out)}
        assert classify(both).patterns == found  # lower at each of its few evaluations, or higher


def test_a_fall_within_the_noise_of_batches_is_no_learning() -> None:
    """The mean of each epoch falls from 0.7061 to 0.7047 while two batches differ by a third."""
    epochs, batches = 0.7047 + 0.0014 * np.exp(-np.arange(50) / 9), around(0.72, 150, 0.35)
    judged = classify({"train_loss_step": batches, "train_loss_epoch": (3 * np.arange(50), epochs)})
    assert (judged.verdict, judged.patterns) == ("unexpected", ())
    assert judged.because.startswith("Cannot tell: the loss fell by less than 3 %")


@pytest.mark.parametrize(("right", "worries"), [(1.0, False), (0.7, True)])
def test_what_is_always_right_neither_stands_still_nor_rises(right: float, worries: bool) -> None:
    """The loss at the end of each of thirty tasks, of which the first may have been learned the best."""
    accuracy = right - 1e-3 * (np.arange(30) % 7 == 5)
    risen = np.r_[5e-5, around(0.002, 29, 0.3, 3)]
    assert ("plateau" in shown_by(loss=around(0.002, 30, 0.15), acc=accuracy)) is worries
    assert ("divergence-no-spike" in shown_by(loss=risen, acc=accuracy)) is worries


@pytest.mark.parametrize(("begun", "found"), [(49, True), (490, False)])
def test_a_log_that_grows_denser_begins_at_the_distance_of_its_first_values(begun: int, found: bool) -> None:
    """Every fiftieth step at first, as Lightning logs, then each: a loss that stands still from the start."""
    steps = np.r_[begun + 50 * np.arange(10), begun + 500 + np.arange(1500)]
    still = classify({"loss": (steps, around(2.2, len(steps), 0.1))})
    assert ("plateau" in still.patterns) is found


def test_nobody_can_tell_by_the_losses_of_agents_and_players_that_stand_still() -> None:
    total, part = around(1.0, 60, 0.2), around(2.0, 60, 0.2, 1)
    for others in ("value_loss", "policy_loss"), ("loss_G", "loss_D"):
        judged = classify({"total_loss": total, **dict.fromkeys(others, part)})
        assert (judged.verdict, judged.patterns) == ("unexpected", ())
        assert judged.because == "Cannot tell: the loss moved by no more than its own noise."


@pytest.mark.parametrize("n", [16, 20, 24, 60])
def test_a_smooth_course_is_not_noise_around_a_level(n: int) -> None:
    noise, t = 0.02 * np.random.default_rng(n).standard_normal(n - 2), np.linspace(-1, 1, n)
    falls = np.linspace(3, 2, n), 2 + np.exp(-np.arange(n) / 3), 2 + np.abs(t), 3 - np.abs(t)
    for loss in (*falls, np.r_[3.0, 2.5, 2.0 * np.exp(noise)]):
        assert "noise" not in classify({"loss": loss}).because
        assert not [f for f in classify({"loss": loss}).findings if "still_errors" in f.evidence]


@pytest.mark.parametrize("n", [16, 61, 400])
def test_levels_of_eighths_are_compared_as_kruskal_and_wallis_do(n: int) -> None:
    values = np.random.default_rng(n).integers(0, 30, n).astype(float)
    ranks = [(np.sum(values < v) + np.sum(values <= v) + 1) / 2 for v in values]
    h, start = 0.0, 0
    for k in range(8):
        size = n // 8 + (k < n % 8)
        h += size * (sum(ranks[start : start + size]) / size - (n + 1) / 2) ** 2
        start += size
    assert levels_apart(values) == pytest.approx(12 * h / (n * (n + 1)))


def test_a_loss_of_noise_beside_a_part_that_is_learned_is_no_plateau() -> None:
    noise = np.random.default_rng(3).standard_normal((2, 104))
    language = 2.5 * np.exp(0.25 * noise[0])
    part = 2.3 * np.exp(-np.arange(104) / 30 + 0.2 * noise[1])
    alone, beside = (
        classify(columns) for columns in ({"lm_loss": language}, {"lm_loss": language, "ae_loss": part})
    )
    assert ("plateau" in alone.patterns, "plateau" in beside.patterns) == (True, False)


def test_a_score_that_is_one_value_in_all_evaluations_tells_a_collapse() -> None:
    """Speech: the loss comes down to that of saying nothing within three rows, and every word is wrong."""
    steps, noise = np.arange(100, 3100, 100), np.random.default_rng(4).standard_normal(30)
    loss = 1.6 + 30 * np.exp(-np.arange(30) / 0.5) * (np.arange(30) < 2)
    columns = {"loss": (steps, loss * np.exp(0.005 * noise)), "eval_wer": (steps[4::5], np.ones(6))}
    assert classify(columns).patterns == ("failed-run",)
    better = {**columns, "eval_wer": (steps[4::5], np.linspace(1.0, 0.4, 6))}
    assert "failed-run" not in classify(better).patterns


def test_a_launch_that_was_stopped_before_anything_is_learned_has_not_failed() -> None:
    """In its warm-up a run learns nothing for thirty rows; the next launch shows how it goes on."""
    step, noise = np.arange(600), 2e-4 * np.random.default_rng(2).standard_normal(600)
    loss = np.where(step < 40, 6.93, 4 + 2.93 * np.exp(-(step - 40) / 150)) * np.exp(noise)
    whole, short = (
        Attempt(
            f"{n}",
            (f"{n}",),
            {"loss": Series("loss", Role.LOSS, step[:n], (loss + 1e-5 * n)[:n], np.full(n, np.nan))},
        )
        for n in (600, 30)
    )
    assert "failed-run" in classify(stitch([short])).patterns
    both = classify(stitch([short, whole], order=["30", "600"]))
    assert both.verdict == "good" and "failed-run" not in both.patterns


@pytest.mark.parametrize("n_first", [10, 40])
@pytest.mark.parametrize(("begins", "failed"), [(0.52, False), (2.1, True)])
def test_an_attempt_that_begins_where_the_one_before_had_got_to_has_not_failed(
    begins: float, failed: bool, n_first: int
) -> None:
    """Weights that were kept are trained on, at their floor, and the epochs are counted from zero again;
    new weights would begin where the first ones began. Ten epochs of a head show as well that it learned."""
    epochs = np.arange(40)
    first, again = 0.5 + 1.5 * np.exp(-epochs[:n_first] / n_first * 10), begins - 1e-4 * epochs / 40
    launches = [
        Attempt(
            name, (name,), {"loss": Series("loss", Role.LOSS, epochs[: len(y)], y, np.full(len(y), np.nan))}
        )
        for name, y in (("1", first), ("2", again))
    ]
    shown = classify(stitch(launches, order=["1", "2"])).patterns
    assert ("failed-run" in shown) is failed


def test_a_run_whose_loss_hardly_falls_is_not_called_healthy() -> None:
    """A squared error at the variance of its targets: smooth, and 1.2 % lower at the end. That is no failure
    for certain, since the rest may be noise of the targets."""
    loss = 0.25 + 0.003 * np.exp(-np.arange(140) / 30)
    diagnosis = classify({"train_loss": loss})
    assert (diagnosis.verdict, diagnosis.patterns) == ("unexpected", ())
    assert diagnosis.because == (
        "Cannot tell: the loss fell by less than 3 % in all, and nothing else that was logged got better."
    )
    score = 0.5 + 0.4 * (1 - np.exp(-np.arange(140) / 30))
    assert classify({"train_loss": loss, "accuracy": score}).verdict == "good"


@pytest.mark.parametrize(("name", "verdict"), [("loss", "unexpected"), ("td_loss", "good")])
def test_a_loss_that_ends_above_its_start_is_not_called_healthy(name: str, verdict: str) -> None:
    """It rises to four times its first values within six rows, and wanders there: no learning. The error of
    the values of an agent may."""
    noise = np.random.default_rng(1).standard_normal(100)
    loss = np.where(np.arange(100) < 6, 0.008, 0.03) * np.exp(0.25 * noise)
    diagnosis = classify({name: loss})
    assert (diagnosis.verdict, "near-perfect" in diagnosis.patterns) == (verdict, False)


@pytest.mark.parametrize("n_epochs", [8, 12])
def test_a_few_epochs_whose_loss_hardly_falls_are_not_called_good(n_epochs: int) -> None:
    epochs = np.arange(1, n_epochs + 1)
    still = classify({"val_loss": (epochs, 11.86 - 0.01 * epochs / n_epochs)})
    fallen = classify({"val_loss": (epochs, 11.86 * 0.9 ** (epochs / n_epochs))})
    assert (still.verdict, fallen.verdict) == ("unexpected", "good")


@pytest.mark.parametrize(("first", "bad"), [(1.64, True), (8.0, False)])
def test_few_points_at_twice_the_first_are_a_divergence(first: float, bad: bool) -> None:
    """A rate that is far too high: after one step the model guesses, and learns nothing more."""
    loss = np.array([first, 11.81, 11.6, *[10.37] * 7])
    diagnosis = classify({"loss": (np.arange(1, 11), loss)})
    assert (diagnosis.verdict, diagnosis.patterns) == (
        ("bad", ("divergence-no-spike",)) if bad else ("unexpected", ())
    )


@pytest.mark.parametrize("n_points", [15, 25, 30, 40, 47])
@pytest.mark.parametrize("turns_at", [0.3, 0.5, 0.7])
def test_a_short_loss_that_turns_and_triples_is_a_divergence(n_points: int, turns_at: float) -> None:
    """The rise begins before or while the kernel learns what is usual. One that comes down again is none."""
    row = np.arange(n_points)
    turn = int(turns_at * n_points)
    share = (row - turn).clip(0) / (0.7 * (n_points - turn))
    noise = np.exp(0.03 * np.random.default_rng(n_points).standard_normal(n_points))
    fallen = 2.5 * (row + 2.0) ** -0.4
    level = np.where(row < turn, fallen, fallen[turn])
    diverged = classify({"loss": (row, level * 3.5 ** share.clip(0, 1) * noise)})
    assert (diverged.verdict, "divergence-no-spike" in diverged.patterns) == ("bad", True)
    bump = np.exp(-(((row - turn - 2) / 1.5) ** 2))
    back = classify({"loss": (row, level * 3.5**bump * noise)})
    assert "divergence-no-spike" not in back.patterns


@pytest.mark.parametrize(
    ("beside", "risen"),
    [
        ({}, True),
        ({"accuracy": np.linspace(0.1, 0.9, 100)}, False),  # what the loss means has changed
        ({"discriminator_loss": np.full(100, 0.7)}, False),  # that of a generator may rise
    ],
    ids=["alone", "a score that gets better", "of a game"],
)
def test_a_loss_that_ends_above_its_start_is_not_healthy(beside: dict[str, np.ndarray], risen: bool) -> None:
    """It leaves its start too soon for a trend before it, in noise of half its value."""
    noise = 0.5 * np.random.default_rng(3).standard_normal(100)
    loss = 0.05 * np.exp(np.where(np.arange(100) < 11, 0.0, 1.2) + noise)
    diagnosis = classify({"loss": loss, **beside})
    assert ("divergence-no-spike" in diagnosis.patterns) == risen
    assert ("noisy-healthy" in diagnosis.patterns) == (not risen)


@pytest.mark.parametrize(("rise_log", "verdict"), [(0.25, "worrying"), (0.9, "bad")])
def test_a_rise_over_the_start_within_the_noise_of_single_samples_is_not_bad(
    rise_log: float, verdict: str
) -> None:
    """The loss of a Q-learner, for example, grows with the values that it learns."""
    noise = 0.4 * np.random.default_rng(3).standard_normal(1000)
    loss = 0.05 * np.exp(np.where(np.arange(1000) < 101, 0.0, rise_log) + noise)
    diagnosis = classify({"loss": loss})
    assert (diagnosis.verdict, "divergence-no-spike" in diagnosis.patterns) == (verdict, True)


@pytest.mark.parametrize(("rise_log", "found"), [(0.25, False), (1.4, True)])
def test_nobody_sees_a_rise_over_the_start_that_is_less_than_wild_noise(rise_log: float, found: bool) -> None:
    """Ten thousand values tell it, but each is at twice or half of the one before."""
    noise = 1.0 * np.random.default_rng(3).standard_normal(10_000)
    loss = 1e-3 * np.exp(np.where(np.arange(10_000) < 1260, 0.0, rise_log) + noise)
    assert ("divergence-no-spike" in classify({"loss": loss}).patterns) == found


@pytest.mark.parametrize(
    ("risen_log", "parts", "up"),
    [
        (0.12, {}, True),
        (0.0, {}, False),
        (0.12, {"loss_kl": 1.0 + np.arange(120) / 60}, False),  # a part may have been switched on
    ],
    ids=["both rise", "neither", "a part is logged"],
)
def test_a_loss_that_turns_up_early_with_its_held_out_loss_has_diverged(
    risen_log: float, parts: dict[str, Floats], up: bool
) -> None:
    """The turn comes within the first eighth, too soon for a trend, and the loss wanders after it."""
    n = np.arange(120)
    level = 6.2 * np.exp(0.6 * np.exp(-n / 3) + risen_log * np.clip((n - 14) / 20, 0, 1) - n / 8000)
    level *= np.exp(0.02 * np.sin(n / 9) * (n > 14))
    train, held_out = (
        level * np.exp(s * np.random.default_rng(5).standard_normal(120)) for s in (0.03, 0.005)
    )
    assert ("divergence-no-spike" in shown_by(train_loss=train, val_loss=held_out, **parts)) == up


@pytest.mark.parametrize("end, lost", [(-3e9, True), (-2e4, False), (0.01, False)])
def test_a_loss_that_runs_away_below_zero_has_diverged(end: float, lost: bool) -> None:
    """A part has no lower bound, and the sum that is trained stands for nothing else any more."""
    t = np.linspace(0, 1, 400)
    loss = 2.0 * np.exp(-60 * t) + np.sign(end) * (np.abs(end) ** t - 1) * (t > 0.05)
    loss *= np.exp(0.02 * np.random.default_rng(5).standard_normal(400))
    diagnosis = classify({"total_loss": loss})
    assert ("divergence-no-spike" in diagnosis.patterns) == lost
    assert (diagnosis.verdict == "bad") == lost
    agents = classify({"actor_loss": loss, "critic_loss": 1 / (1 + t)})  # where returns may be of any size
    assert "divergence-no-spike" not in agents.patterns


@pytest.mark.parametrize(("bends", "lost"), [(1.0, True), (2.0, True), (0.2, False)])
def test_a_loss_below_zero_that_falls_on_as_fast_has_diverged(bends: float, lost: bool) -> None:
    """The cross-entropy of targets above 1 falls with the logits; a density levels off at its data."""
    t = np.arange(1, 31) / 30
    diagnosis = classify({"loss": -6.5e7 * t**bends, "val_loss": -6.4e7 * t**bends})
    assert ("divergence-no-spike" in diagnosis.patterns) == (diagnosis.verdict == "bad") == lost
