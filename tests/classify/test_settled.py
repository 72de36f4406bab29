"""Running means that begin again, and what only looks like saw teeth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.classify.plain_loops import SCHEDULES, log

from chronicle.classify import classify
from chronicle.classify.view import settled
from chronicle.model import Floats, Role, Series, Steps

EPOCHS, BATCHES = 8, 100
STEPS = np.arange(EPOCHS * BATCHES)
EPOCH = STEPS // BATCHES
ENDS = np.arange(BATCHES - 1, len(STEPS), BATCHES)


def samples(seed: int, noise: float = 0.2) -> Floats:
    """The losses of single batches."""
    z = np.random.default_rng(seed).standard_normal(len(STEPS))
    return np.asarray((0.4 + 2 * np.exp(-STEPS / 300)) * np.exp(noise * z))


def means(values: Floats, teeth: Steps) -> Floats:
    """The slow obvious way: of each value the mean of those so far in its tooth."""
    same = [values[: i + 1][teeth[: i + 1] == teeth[i]] for i in range(len(values))]
    return np.array([part.mean() for part in same])


def series(values: Floats, steps: Steps = STEPS, role: Role = Role.LOSS) -> Series:
    return Series("x", role, steps, values, np.full(len(steps), np.nan))


def kept(values: Floats, steps: Steps = STEPS, **more: Series) -> list[int]:
    """Indices of the samples that stay."""
    x = Series("x", Role.LOSS, steps, values, np.arange(len(steps), dtype=float))
    return [int(k) for k in settled({"x": x, **more})["x"].times]


def epoch_series(steps: Steps, epoch: Floats) -> Series:
    return series(np.asarray(epoch, float), steps, Role.EPOCH)


EVERY_ROW = epoch_series(STEPS, EPOCH)
AS_IT_GOES = epoch_series(STEPS, STEPS / BATCHES)
AT_THE_END = epoch_series(STEPS[ENDS], EPOCH[ENDS] + 1)
AT_THE_START = epoch_series(STEPS[::BATCHES], EPOCH[::BATCHES])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "epoch", [EVERY_ROW, AS_IT_GOES, AT_THE_END, AT_THE_START], ids=["row", "share", "end", "start"]
)
def test_of_each_epoch_its_mean_stays(epoch: Series, seed: int) -> None:
    assert kept(means(samples(seed), EPOCH), epoch=epoch) == ENDS.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_epochs_that_only_an_evaluation_at_their_ends_tells(seed: int) -> None:
    evaluation = series(np.linspace(2.0, 1.0, EPOCHS), STEPS[ENDS], Role.VALIDATION_LOSS)
    assert kept(means(samples(seed), EPOCH), val=evaluation) == ENDS.tolist()
    assert kept(samples(seed), val=evaluation) == STEPS.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_of_few_long_epochs_the_means_of_parts_stay(seed: int) -> None:
    losses, few = samples(seed), STEPS < 3 * BATCHES
    mean = np.round(means(losses[few], EPOCH[few]), 4)
    epoch = series(EPOCH[few].astype(float), STEPS[few], Role.EPOCH)
    loss = settled({"x": series(mean, STEPS[few]), "epoch": epoch})["x"]
    parts = [part for tooth in np.split(STEPS[few], 3) for part in np.array_split(tooth, 8)]
    assert loss.steps.tolist() == [int(part[-1]) for part in parts]
    assert loss.values == pytest.approx([losses[part].mean() for part in parts], abs=0.002)


@pytest.mark.parametrize("seed", range(4))
def test_epochs_of_one_length_that_nothing_tells(seed: int) -> None:
    """Single samples are left alone, also where each epoch begins higher, as after a restart of the rate."""
    assert kept(means(samples(seed), EPOCH)) == ENDS.tolist()
    assert kept(samples(seed)) == STEPS.tolist()
    assert kept(samples(seed, 0.02) * (1 + np.exp(-(STEPS % BATCHES) / 10))) == STEPS.tolist()


@pytest.mark.parametrize("every", [5, 10])
def test_a_mean_that_is_printed_now_and_then(every: int) -> None:
    values, some = means(samples(1), EPOCH), slice(every - 1, None, every)
    ends = np.arange(BATCHES // every - 1, len(STEPS) // every, BATCHES // every)
    assert kept(values[some], STEPS[some], epoch=epoch_series(STEPS[some], EPOCH[some])) == ends.tolist()


def test_one_step_that_is_printed_while_its_mean_settles() -> None:
    teeth = STEPS // 8
    assert kept(means(samples(2), teeth), teeth) == list(range(7, len(STEPS), 8))


def test_rounded_as_a_bar_prints_it() -> None:
    assert kept(np.round(means(samples(3), EPOCH), 2), epoch=EVERY_ROW) == ENDS.tolist()


def test_a_step_time_of_which_the_mean_is_printed_is_one_value_an_epoch() -> None:
    times = series(means(samples(1), EPOCH), role=Role.STEP_TIME)
    assert settled({"t": times, "epoch": EVERY_ROW})["t"].values.tolist() == times.values[ENDS].tolist()


def test_of_a_mean_since_the_start_what_was_added_between_rows() -> None:
    """A speed that halves for good, and one that a single pause holds up; the slow way is a loop."""
    z = np.random.default_rng(2).standard_normal(400)
    steps = 50 * np.arange(1, 401)
    for change in (np.repeat([1.0, 0.5], 200), 1 - 0.8 * (np.arange(400) == 100)):
        speed = 900 * change * np.exp(0.01 * z)
        times = np.array([(1 / speed[: i + 1]).mean() for i in range(400)])  # so many steps in so much time
        for role, mean, each in ((Role.THROUGHPUT, 1 / times, speed), (Role.STEP_TIME, times, 1 / speed)):
            seen = settled({"v": series(mean, steps, role)})["v"].values
            np.testing.assert_allclose(seen, each, rtol=1e-6)
        mean = 1 / times
        named = classify({"loss": (steps, 3 - steps / 20_000), "throughput": (steps, mean)}).findings
        assert [f.start_step for f in named if f.pattern == "throughput-drop"] == (
            [10_050] if change[-1] < 1 else []
        )


def test_a_mean_since_the_start_may_be_told_after_the_first_step() -> None:
    """Rows at 0, 10, 20, …: the first one is that of a single step, which took twenty times as long."""
    steps = 10 * np.arange(400)
    seconds = 2 * np.exp(0.01 * np.random.default_rng(4).standard_normal(steps[-1] + 1))
    seconds[0] = 40.0
    mean = (seconds.cumsum() / np.arange(1, len(seconds) + 1))[steps]
    seen = settled({"v": series(mean, steps, Role.STEP_TIME)})["v"].values
    between = seconds[1:].reshape(-1, 10).mean(axis=1)
    np.testing.assert_allclose(seen, [40.0, *between], rtol=0.1)


@pytest.mark.parametrize(
    ("name", "patterns"), [("avg_reward", {"noisy-healthy"}), ("reward", {"divergence-no-spike"})]
)
def test_of_a_mean_reward_since_the_start_what_was_added_between_rows(name: str, patterns: set[str]) -> None:
    """The first answers were better by chance, which their mean forgets slowly."""
    r, steps = np.random.default_rng(4), np.arange(200)
    rewards = 1.0 + 0.002 * np.maximum(steps - 100, 0) + 0.1 * r.standard_normal(200)
    rewards[:8] += 0.3
    means = rewards.cumsum() / (steps + 1)
    assert {*classify({name: (steps, means)}).patterns} == patterns


def test_of_a_mean_loss_since_the_start_the_losses_between_rows() -> None:
    """One epoch whose first batches were easy: their mean climbs, and comes back more slowly than it fell."""
    r, steps = np.random.default_rng(2), np.arange(105)
    losses = np.where(steps < 2, 3.5, 4.3 - steps / 80) + 0.25 * r.standard_normal(105)
    means = losses.cumsum() / (steps + 1)
    np.testing.assert_allclose(settled({"x": series(means, steps)})["x"].values, losses)
    assert (
        settled({"x": series(means, steps + 7)})["x"].values.tolist() == means.tolist()
    )  # not since the start
    assert classify({"loss": (steps, means)}).patterns == ("noisy-healthy",)


@pytest.mark.parametrize("seed", range(4))
def test_losses_that_vary_less_and_less_are_left_as_they_are(seed: int) -> None:
    """Those of a training that converges bend less and less, too. As means they would be of losses below 0,
    or of some that lie high and low in turns. Of losses that are below 0 themselves nothing tells it."""
    k, z = np.arange(1, 201), np.random.default_rng(seed).standard_normal(200)
    for losses in (
        np.exp(0.5 * z / k) * 2 / k,
        8 / k - k / 40 + z / k,
        1 + 2 / k + 0.3 * z / k,
        0.5 + 3 * np.exp(-k / 20) + 0.01 * z,
    ):
        assert settled({"x": series(losses, k)})["x"].values.tolist() == losses.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_curve_that_flattens_is_no_mean_unless_its_name_says_so(seed: int) -> None:
    """The error of gradient boosting, whose trees change it less and less. As a mean it would be of losses
    that fall to 370, rise to 500 and stay there, which was called a divergence."""
    k, z = np.arange(590), np.random.default_rng(seed).standard_normal(590)
    error = 526 + 900 * np.exp(-k / 22) + np.cumsum(2 * z / (k + 30))
    for name, is_undone in (("RMSE", False), ("avg_loss", True)):
        curve = replace(series(error, k), metric=name)
        assert (settled({name: curve})[name].values.tolist() != error.tolist()) is is_undone


def test_a_mean_of_the_last_rewards_is_left_as_it_is() -> None:
    rewards = np.random.default_rng(5).standard_normal(400)
    last = np.array([rewards[max(0, i - 50) : i + 1].mean() for i in range(400)])
    mean = series(last, np.arange(400), Role.OBJECTIVE)
    seen = settled({"ep_rew_mean": Series("ep_rew_mean", mean.role, mean.steps, mean.values, mean.times)})
    assert seen["ep_rew_mean"].values.tolist() == last.tolist()


@pytest.mark.parametrize("window", [70, 400])
def test_a_mean_of_the_last_rewards_may_settle_as_the_policy_does(window: int) -> None:
    """Rewards differ less and less, so their mean bends less and less, as one since the start would."""
    n, k = 1800, np.arange(1, 1801)
    level, spread = np.interp(k, [0, 400, n], [-10, 75, 75]), np.interp(k, [0, 400, n], [30, 3, 2])
    total = np.append(0.0, (level + spread * np.random.default_rng(0).standard_normal(n)).cumsum())
    since = np.maximum(k - window, 0)
    assert classify({"ep_rew_mean": (total[k] - total[since]) / (k - since)}).verdict == "good"
    lost = total - 85.0 * np.maximum(np.arange(n + 1) - 900, 0)
    assert classify({"ep_rew_mean": lost[k] / k}).verdict == "bad"


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_each_a_mean_of_their_own_episodes_are_left_as_they_are(seed: int) -> None:
    """A policy that learns fast at first and settles, as the mean of all episodes so far would."""
    k, random = np.arange(1, 101), np.random.default_rng(seed)
    means = 19.0 - 20.0 / k + 2 / k * random.standard_normal(100)
    mean = Series("episode_reward_mean", Role.OBJECTIVE, 1000 * k, means, np.full(100, np.nan))
    assert settled({"m": mean})["m"].values.tolist() == means.tolist()
    assert classify({"episode_reward_mean": (1000 * k, means)}).verdict == "good"


def test_a_mean_reward_of_several_rows_at_each_step_is_left_as_it_is() -> None:
    """Agents of a group that tell their means at the same steps, so that few rows lie between others."""
    means, steps = np.random.default_rng(1).standard_normal(400), np.arange(400) // 10
    told = Series("mean reward", Role.OBJECTIVE, steps, means, np.full(400, np.nan))
    assert settled({"m": told})["m"].values.tolist() == told.values.tolist()


@pytest.mark.parametrize("n_zeros", [1, 3, 60])
@pytest.mark.parametrize("name", ["loss", "val_loss"])
def test_zeros_before_the_first_loss_are_none(n_zeros: int, name: str) -> None:
    """Of a first row before the training, or until there are samples enough; later ones stay."""
    falls = 1.0 + 2.5 * np.exp(-np.arange(400) / 70) + 0.05 * np.random.default_rng(0).standard_normal(400)
    assert classify({name: np.append(np.zeros(n_zeros), falls)}).verdict == "good"
    falls[200:260] = 0.0
    assert "nan-inf" in classify({name: np.append(np.zeros(n_zeros), falls)}).patterns


def test_a_reward_that_is_logged_until_the_next_one_is_one_value() -> None:
    told = np.array([9.0, 9.4, 8.8, 8.2, 7.7, 8.3, 8.6, 9.2, 8.9, 9.3])
    assert classify({"episode_reward": np.repeat(told, 50)}).patterns == ()
    assert (
        "spike-slow-recovery"
        in classify({"episode_reward": np.repeat(told, 50) + 1e-3 * samples(0)[:500]}).patterns
    )


def test_a_mean_speed_of_few_rows_that_evaluations_hold_up_is_no_drop() -> None:
    """Every 100 steps an evaluation takes as long as 30 steps, and its row repeats the step. The first step
    is slower than others."""
    steps = np.sort(np.r_[1, np.arange(10, 450, 10), 100, 200, 300, 400])
    evaluated = np.cumsum(np.diff(steps, prepend=0) == 0)
    seconds = 2 + 5 * steps + 150 * evaluated + 0.05 * np.random.default_rng(3).standard_normal(len(steps))
    judged = classify({"loss": (steps, 3 - steps / 400), "train_speed(iter/s)": (steps, steps / seconds)})
    assert (judged.verdict, judged.patterns) == ("good", ("near-perfect",))


def test_an_epoch_that_is_not_over_has_not_settled() -> None:
    cut, values = slice(0, 750), means(samples(0), EPOCH)
    assert kept(values[cut], STEPS[cut], epoch=epoch_series(STEPS[cut], EPOCH[cut])) == ENDS[:7].tolist()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["batches", "moving average", "micro-batches", "harder by epoch", "smooth"])
def test_samples_stay(kind: str, seed: int) -> None:
    values, steps = samples(seed), STEPS
    if kind == "moving average":
        for i in range(1, len(values)):
            values[i] = 0.9 * values[i - 1] + 0.1 * values[i]
    if kind == "micro-batches":
        steps = STEPS // 8
    if kind == "harder by epoch":
        values = values * (1 + 0.5 * (STEPS % BATCHES) / BATCHES)
    if kind == "smooth":
        values = samples(seed, 1e-4)
    epoch = epoch_series(steps, EPOCH)
    assert kept(values, steps, epoch=epoch) == list(range(len(values)))


@pytest.mark.parametrize(("odd", "settled"), [(np.nan, ENDS), (np.inf, ENDS), (1e308, STEPS), (0.0, ENDS)])
def test_a_mean_that_went_nan_stays_so(odd: float, settled: np.ndarray) -> None:
    values = means(samples(0), EPOCH)
    for at in (650, 700):
        values[at : at + 50] = odd
    assert kept(values, epoch=EVERY_ROW) == settled.tolist()
    values[:] = odd
    assert kept(values, epoch=EVERY_ROW) == STEPS.tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_whose_schedule_begins_again_logs_samples(schedule: str) -> None:
    attempt = log(SCHEDULES[schedule])
    loss = attempt.series["loss"]
    epoch = epoch_series(loss.steps, loss.steps // (5 * 60))
    assert len(settled({**attempt.series, "epoch": epoch})["loss"]) == len(loss)


def test_saw_teeth_are_no_sudden_improvements() -> None:
    running = means(samples(0, 0.3), EPOCH)
    diagnosis = classify({"loss": (STEPS, running), "epoch": (STEPS, EPOCH)})
    assert (diagnosis.verdict, diagnosis.patterns) == ("good", ())
    assert diagnosis.because.startswith("Good so far: nothing stood out in 8 points")


@pytest.mark.parametrize("last", [9, 10])
def test_a_last_row_at_the_step_of_the_one_before_it_is_that_of_a_test(last: int) -> None:
    losses = np.append(0.05 + 0.06 * np.exp(-np.arange(9) / 2), 0.11)
    columns = {"loss": (np.append(np.arange(1, 10), last), losses)}
    assert (classify(columns).verdict == "good") is (last == 9)


def test_steps_farther_apart_than_any_difference_go_up() -> None:
    steps = np.array([-(2**63), *range(15), 2**63 - 1, 2**63 - 1])
    assert kept(np.linspace(2, 1, 18), steps) == [*range(17)]  # the last row belongs to a final test


def test_a_loss_that_is_summed_up_is_judged_by_what_is_added() -> None:
    values = samples(0)
    summed = np.concatenate([values[epoch == EPOCH].cumsum() for epoch in range(EPOCHS)])
    np.testing.assert_allclose(settled({"x": series(summed)})["x"].values, values)
