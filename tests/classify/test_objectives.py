"""Rewards, and scores where nothing else is logged: what rose, what was lost, and what nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Floats, Role, Series
from chronicle.timeline import stitch

NOISE = np.random.default_rng(11).standard_normal((4, 400))
T = np.linspace(0, 1, 400)
FELL = "divergence-no-spike"


def told(**columns: Floats) -> tuple[str, tuple[str, ...]]:
    """The verdict and the patterns of columns of one log."""
    judged = classify({name.replace("__", "/"): values for name, values in columns.items()})
    return judged.verdict.value, judged.patterns


def test_what_is_reached_as_the_log_ends_is_not_lost() -> None:
    """A return that rises a thousandfold in the last rows: the two last blocks differ, and nothing fell."""
    late = np.where(np.arange(400) < 380, 1.0, 1000.0) + 0.05 * NOISE[0]
    assert told(ep_rew_mean=late)[0] == "good"
    again = np.where((np.arange(400) > 200) & (np.arange(400) < 300), 1000.0, late - 1000.0 * (late > 500))
    assert FELL in told(ep_rew_mean=again)[1]


@pytest.mark.parametrize("unit", [1e-7, 1e-4, 1.0, 1e4])
def test_the_unit_of_a_reward_says_nothing(unit: float) -> None:
    """The returns of a portfolio are ten thousandths, and their gain is as clear as any other."""
    settled = unit * (2 - np.exp(-8 * T[::8]) + 1e-3 * NOISE[0, ::8])
    assert told(ep_rew_mean=settled)[0] == "good"
    assert told(ep_rew_mean=settled[::-1].copy())[0] == "bad"


def test_the_best_so_far_has_no_noise() -> None:
    """A fitness with three levels in sixty generations, each kept. One success at the end is none."""
    best = np.repeat([16.4, 108.7, 223.0], [5, 16, 39])
    assert told(fitness=best)[0] == "good"
    assert told(fitness=np.where(np.arange(60) < 59, 16.4, 223.0))[0] != "good"


def test_what_is_gained_within_the_first_blocks_is_gained() -> None:
    """90 returns: 0 to 1,700 in the first nine of them, and 320 of that lost by the end: a fifth."""
    k = np.arange(90)
    returns = 1700 * np.minimum(k / 9, 1) - 4 * np.maximum(k - 10, 0) + 50 * NOISE[0, :90]
    assert told(Train_Return=returns)[0] == "good"
    assert FELL in told(Train_Return=returns - 10 * np.maximum(k - 10, 0))[1]


def test_a_fall_back_to_the_first_level_that_swings_hide_is_not_called_healthy() -> None:
    """It rises by as much as it falls now and then, and ends where it began: nothing was learned."""
    levels = [118, 104, 93, 102, 101, 111, 106, 118, 119, 106, 100, 94, 105, 96, 101, 108, 110]
    swings = np.interp(np.arange(147), np.linspace(0, 146, 17), levels) + 2.5 * NOISE[0, :147]
    assert told(ep_rew_mean=swings) == ("unexpected", ())


@pytest.mark.parametrize(
    ("value", "answer"),
    [(1.0, ("unexpected", ())), (100.0, ("unexpected", ())), (0.0, ("bad", ("failed-run",)))],
)
def test_a_reward_that_is_the_same_to_the_end_may_be_all_there_is(
    value: float, answer: tuple[str, tuple[str, ...]]
) -> None:
    """One that is nothing, or a cost, was never found."""
    assert told(reward=np.full(100, value)) == answer
    assert told(reward=np.full(100, -200.0)) == ("bad", ("failed-run",))


@pytest.mark.parametrize("n", [25, 200])
def test_a_rate_at_its_ceiling_from_the_first_value_on_has_not_failed(n: int) -> None:
    rate = np.round(np.minimum(0.97 + 0.01 * NOISE[0, :n], 1.0), 2)
    assert told(win_rate=rate) == ("good", ("near-perfect",))
    assert told(win_rate=np.round(rate - 0.02 * np.arange(n) / n, 2))[0] == "good"
    assert told(win_rate=rate - 0.5)[0] == ("unexpected" if n < 50 else "worrying")


def test_where_every_episode_is_a_success_no_reward_has_to_rise() -> None:
    reward = 100 + np.random.default_rng(4).standard_normal(100)
    assert "plateau" in classify({"reward": reward, "success": np.arange(100.0) % 2}).patterns
    assert "plateau" not in classify({"reward": reward, "success": np.ones(100)}).patterns


def test_a_reward_that_no_episode_has_told_yet_is_no_nan() -> None:
    assert told(episode_reward=np.full(45, np.nan)) == ("unexpected", ())
    rises = 100 * T + NOISE[0]
    assert told(episode_reward=np.where(T < 0.1, np.nan, rises))[0] == "good"
    assert told(episode_reward=np.where(T > 0.9, np.nan, rises)) == ("bad", ("nan-inf",))
    evaluated = np.where(T > 0.2, np.nan, rises)
    assert told(episode_reward=rises, eval__mean_reward=evaluated) == ("bad", ("nan-inf",))
    assert told(loss=3 - T + 0.01 * NOISE[1], eval__accuracy=evaluated / 20)[0] == "good"


@pytest.mark.parametrize(("length", "patterns"), [(5000.0, ()), (200.0, ("plateau",))])
def test_the_mean_of_one_episode_tells_nothing(length: float, patterns: tuple[str, ...]) -> None:
    """The first episode ended just before the first row, and none could since then."""
    at, same = np.arange(60) * 64 + 5056, np.ones(60)
    judged = classify({"rollout/ep_rew_mean": (at, -7 * same), "rollout/ep_len_mean": (at, length * same)})
    assert (judged.verdict == "unexpected", judged.patterns) == (not patterns, patterns)


def test_a_score_alone_is_judged_by_its_rise() -> None:
    rises = 0.7 + 0.07 * (1 - np.exp(-5 * T[:49] / T[48])) + 0.004 * NOISE[0, :49]
    assert told(fscore=rises) == ("good", ("near-perfect",))
    assert told(fscore=np.interp(np.arange(49), [0, 10, 25, 48], [0, 0.15, 0.04, 0.04]))[0] == "bad"
    assert told(fscore=0.6 + 0.01 * NOISE[0]) == ("unexpected", ())  # a score is not what is trained for
    assert told(wer=1.2 - rises)[0] == "good"
    assert told(accuracy=np.minimum(1, 0.9999 - 0.0005 * (T > 0.4))) == ("unexpected", ())


def test_rows_of_a_table_that_nothing_counts_are_in_no_order() -> None:
    """Examples, models or thresholds, sorted by whatever: only what agents are rewarded with is a course."""
    steps, times = np.arange(400), np.full(400, np.nan)
    for name, verdict in (("f1", "unexpected"), ("f1 (train set)", "good"), ("reward", "good")):
        series = assign({name: Series(name, Role.OTHER, steps, 0.5 + 0.4 * T + 0.01 * NOISE[0], times)})
        table = Attempt("a", (), series, facts={"format": "csv"}, axis="row")
        assert classify(stitch([table])).verdict == verdict
        assert classify(stitch([replace(table, axis="epoch")])).verdict == "good"


@pytest.mark.parametrize("noise", [0.005, 0.05])
def test_guessing_is_known_where_batches_differ_if_no_score_moves(noise: float) -> None:
    loss, score = np.log(10) * np.exp(noise * NOISE[0]), 0.1 + 0.03 * NOISE[1]
    assert told(loss=loss, accuracy=score)[1] == ("failed-run",)
    assert told(loss=loss, accuracy=score + 0.3 * T)[0] == "good"
    assert ("failed-run" in told(loss=loss)[1]) is (noise < 0.03)
    assert "failed-run" not in told(loss=0.9 * loss * np.exp(-0.3 * T), accuracy=score)[1]


def test_a_reward_that_only_swings_hacks_nothing() -> None:
    """A policy that learns nothing: its reward is better for a while, and the total of its costs falls."""
    noise = np.random.default_rng(1).standard_normal(400)
    reward = -100 + noise + 1.5 * np.exp(-(((T - 0.5) / 0.15) ** 2)) + 0.1 * T
    assert "reward-hacking" not in told(EpRewMean=reward, TotalRewardMean=np.cumsum(reward))[1]


def test_the_sum_of_all_costs_so_far_tells_nothing_that_they_do_not() -> None:
    cost = -100 + np.where(np.arange(400) % 23 == 0, 40.0, 0.0)
    judged = classify({"EpRewMean": cost, "TotalRewardMean": np.cumsum(cost)})
    assert [(f.pattern, f.metric) for f in judged.findings] == [("failed-run", "EpRewMean")]


@pytest.mark.parametrize(("kept", "lost"), [(0.65, False), (0.2, True)])
def test_the_highest_of_many_blocks_is_so_by_chance(kept: float, lost: bool) -> None:
    """Rewards with heavy tails that rise in the second eighth and stay there, or come down half-way."""
    r, t = np.random.default_rng(2), np.arange(8000) / 8000
    level = 10 * np.interp(t, [0, 0.12, 0.2, 0.8, 0.85, 1], [0, 0, 1, 1, kept, kept])
    reward = level + r.exponential(10, 8000) - 10
    assert ("divergence-no-spike" in classify({"reward": reward}).patterns) is lost


def test_a_score_that_only_falls_says_that_a_short_training_lost_what_it_had() -> None:
    """A policy that was trained before, and refuses everything after a few updates."""
    r = np.random.default_rng(1)
    reward = np.r_[0.6, 0.0, 0.4, 0.5, 0.3, r.normal(0.05, 0.15, 15)]
    accuracy = np.r_[0.99, 0.74, 0.66, 0.68, np.full(16, 0.6)]
    judged = classify({"mean_reward": reward, "accuracy": accuracy})
    (fall,) = judged.findings
    assert (judged.verdict, fall.pattern, fall.metric) == ("worrying", "divergence-no-spike", "accuracy")
    assert classify({"mean_reward": reward, "accuracy": accuracy[::-1]}).patterns == ()


def test_a_score_that_falls_over_rows_that_nothing_counts_says_nothing_of_a_reward() -> None:
    """Games of one agent: what a part of the task was worth in each may stand in any order."""
    steps, times = np.arange(400), np.full(400, np.nan)
    columns = {"reward": 30 + 8 * NOISE[0], "gold_score": 5 - 4 * T + NOISE[1]}
    series = assign({name: Series(name, Role.OTHER, steps, v, times) for name, v in columns.items()})
    for axis, pattern in ("row", "plateau"), ("epoch", "divergence-no-spike"):
        table = Attempt("a", (), series, facts={"format": "csv"}, axis=axis)
        assert classify(stitch([table])).patterns == (pattern,)


def test_the_mean_of_all_episodes_so_far_does_not_speak_for_them() -> None:
    score = np.r_[3.0, np.tile([0.0, 0.0, 1.0, 0.0, 0.0], 6)]
    so_far = np.cumsum(score) / np.arange(1, len(score) + 1)
    assert classify({"Reward": score, "Mean Reward": so_far}).patterns == ()
    assert classify({"Reward": score, "accuracy": so_far}).patterns == (FELL,)


def test_a_mean_that_still_holds_the_training_before_says_nothing_of_this_one() -> None:
    """The window of the mean is full of better episodes, which leave it one by one."""
    rewards = 30.0 + 12.0 * NOISE[0, :60]
    mean = 250.0 - 3.0 * np.arange(60)
    assert FELL not in told(Train__TotalReward=rewards, Train__MovingAvgReward=mean)[1]
    assert FELL in told(Train__TotalReward=rewards, Eval__Score=mean)[1]


def test_the_reward_in_another_unit_is_no_second_judge() -> None:
    """Four episodes at first by chance, then a task that is learned."""
    reward = np.r_[np.full(4, 1.9), 0.05 + 0.02 * NOISE[0, :22], 1.05 + 0.04 * NOISE[1, :44]]
    assert "reward-hacking" not in told(Average_Reward=reward, Reward_per_Step=reward / 20)[1]


@pytest.mark.parametrize(("first", "verdict"), [(0.1, "good"), (0.96, "unexpected"), (0.985, "unexpected")])
def test_a_score_that_is_there_within_the_first_points_was_learned(first: float, verdict: str) -> None:
    score = np.r_[first, np.clip(0.985 + 0.01 * NOISE[0, :300], 0, 1)]
    assert told(train_acc=score)[0] == verdict


@pytest.mark.parametrize(("end", "verdict"), [((6.0, 5.0), "bad"), ((6.0,), "good"), ((13.0, 12.5), "good")])
def test_a_fall_just_before_the_log_ends_is_told_where_it_is_the_deepest(
    end: tuple[float, ...], verdict: str
) -> None:
    """Means over episodes, which had fallen and come back before; one value alone may be chance."""
    t = np.arange(90)
    reward = np.interp(t, [0, 30, 55, 66, 80, 90], [1, 2, 12, 4, 17, 17.5]) + 0.5 * NOISE[0, :90]
    reward[-len(end) :] = end
    assert classify({"reward": reward}).verdict == verdict


@pytest.mark.parametrize("n_solved", [20, 60, 200])
def test_a_task_that_is_solved_within_the_first_points_was_learned(n_solved: int) -> None:
    """The reward reaches its ceiling in 18 points and stays there: its first block holds the whole rise."""
    solved = np.concatenate([np.linspace(0, 1, 18), np.ones(n_solved)])
    assert told(avg_reward=solved)[0] == "good"
    falls_back = np.concatenate([np.linspace(0, 1, 18), np.zeros(n_solved)])
    assert told(avg_reward=falls_back)[0] != "good"


def test_scores_of_classes_at_few_steps_are_no_course() -> None:
    """An evaluation prints the recall of each of twenty classes, the rarest last."""
    steps = np.repeat([0, 100, 200], 20)
    recall = np.tile(np.linspace(90, 0, 20), 3)
    attempt = Attempt("a", (), {"recall": Series("recall", Role.SCORE, steps, recall, np.full(60, np.nan))})
    assert classify(stitch([attempt])).patterns == ()


def test_wins_and_losses_have_no_median_that_could_rise() -> None:
    """4,000 games that are won as often as lost: medians of blocks are 1 and -1 by turns."""
    games = np.sign(np.random.default_rng(5).standard_normal(4000))
    assert told(episode_reward=games) == ("worrying", ("plateau",))
    later_won = np.where(
        np.random.default_rng(6).uniform(size=4000) < 0.5 + 0.4 * np.arange(4000) / 4000, 1.0, -1.0
    )
    assert told(episode_reward=later_won) == ("good", ("noisy-healthy",))


@pytest.mark.parametrize(
    ("first", "verdict"), [(10_000, "bad"), (20_000, "worrying"), (40_000, "unexpected")]
)
def test_a_reward_that_is_told_from_the_second_evaluation_on_may_have_failed(
    first: int, verdict: str
) -> None:
    """A trend that chance explains: only where much came before the log, it may have risen there."""
    steps = first + 10_000 * np.arange(80)
    reward = 8 * np.random.default_rng(0).standard_normal(80) + np.linspace(-620, -616, 80)
    assert classify({"reward": (steps, reward)}).verdict == verdict


@pytest.mark.parametrize(("late", "has_failed"), [(10.0, False), (-50.0, True)])
def test_an_agent_that_explores_has_not_failed_if_its_evaluations_get_better(
    late: float, has_failed: bool
) -> None:
    """The reward of a training is that of what is tried, and hides what was learned."""
    evaluated = np.where(np.arange(25) < 14, -50.0, late - 3 * np.arange(25) % 8)
    tried = np.arange(400), 4 * NOISE[0] - 25
    judged = classify({"ep_rew_mean": tried, "eval/mean_reward": (16 * np.arange(25), evaluated)})
    assert ("failed-run" in judged.patterns) is has_failed


@pytest.mark.parametrize(
    ("last", "learned", "pattern"),
    [(2100, 0, "noisy-healthy"), (1200, 0, "failed-run"), (400, 0, "failed-run"), (400, 5, "reward-hacking")],
)
def test_an_agent_that_plays_against_itself_may_be_told_by_its_elo(
    last: int, learned: int, pattern: str
) -> None:
    """It wins half of its games, whatever it has learned; and its Elo falls where draws are lost for both."""
    reward, elo = 0.3 * NOISE[0] + learned * T, np.linspace(1200, last, 400) + 9 * NOISE[1]
    judged = classify({"Environment/Cumulative Reward": reward, "Self-play/ELO": elo})
    assert pattern in judged.patterns or pattern == "noisy-healthy"
    assert judged.verdict == ("bad" if pattern == "failed-run" else "good")


@pytest.mark.parametrize(("last", "failed"), [(0.81, False), (0.05, True)])
def test_an_agent_that_was_stopped_while_it_acted_at_random_has_not_failed(last: float, failed: bool) -> None:
    """Unless the share of random actions was never to come down."""
    returns = -30 + 4 * NOISE[0, :80]
    assert ("failed-run" in told(reward=returns, epsilon=np.linspace(0.99, last, 80))[1]) is failed
    assert "failed-run" in told(reward=returns, epsilon=np.full(80, 0.8))[1]


def test_a_cost_that_is_the_same_in_a_few_rows_says_that_nothing_was_learned() -> None:
    """One episode that ended, and its return is told again and again."""
    assert told(ep_rew_mean=np.full(28, -3.2e6)) == ("bad", ("failed-run",))
    assert told(ep_rew_mean=np.full(28, -3.2e6) + NOISE[0, :28]) == ("unexpected", ())


def test_a_score_that_is_nothing_but_for_a_few_values_is_not_called_good() -> None:
    seldom = np.where(NOISE[0] > 2.0, 0.4, 0.002 + 0.001 * (T > 0.5) + 1e-4 * NOISE[1])
    assert told(IoU=seldom)[0] == "unexpected"
    assert told(IoU=np.clip(0.5 * T + 0.05 * NOISE[1], 0, 1))[0] == "good"


def test_a_score_that_is_nothing_throughout_tells_that_nothing_was_learned() -> None:
    assert told(accuracy=np.zeros(120)) == ("bad", ("failed-run",))
    assert told(accuracy=np.zeros(30))[0] == "unexpected"
    assert told(accuracy=np.full(120, 0.5))[0] == "unexpected"  # nobody knows what guessing gets
    assert told(wer=np.zeros(120))[1] != ("failed-run",)  # no error is left


def test_the_few_rows_of_another_launch_do_not_speak_for_a_run_that_learns_nothing() -> None:
    def attempt(name: str, first: int, values: Floats) -> Attempt:
        steps = first + np.arange(len(values))
        series = Series("IoU", Role.SCORE, steps, values, np.full(len(steps), np.nan))
        return Attempt(name, (name,), {series.metric: series})

    flat = 0.1 + 0.01 * NOISE[0]
    launches = [attempt("a", 0, T[::12] + 0.01 * NOISE[1, ::12]), attempt("b", 34, flat)]
    judged = classify(stitch(launches))
    assert (judged.verdict.value, judged.patterns) == ("unexpected", ())


@pytest.mark.parametrize(
    ("depth", "around", "patterns"),
    [(4.0, 0.0, ("spike-slow-recovery",)), (0.8, 0.0, ()), (4.0, 1000.0, ())],
)
def test_an_agent_that_forgets_and_learns_again_had_a_slump(
    depth: float, around: float, patterns: tuple[str, ...]
) -> None:
    """It stood below its first level for a fifth of the log; one that stays above it only varies, and so does
    one that moves by less than a hundredth."""
    steps = np.arange(480)
    level = np.clip(steps / 120, 0.0, 1.5) - depth * ((steps > 240) & (steps < 340))
    reward = level + np.random.default_rng(5).normal(0, 0.2, 480)
    diagnosis = classify({"reward": around + reward})
    assert [p for p in diagnosis.patterns if p == "spike-slow-recovery"] == [*patterns]
    assert diagnosis.verdict == ("worrying" if patterns else "good")


@pytest.mark.parametrize(("depth", "pattern"), [(0.5, "plateau"), (4.0, "spike-slow-recovery")])
def test_a_reward_that_wanders_within_its_scatter_is_no_slump(depth: float, pattern: str) -> None:
    """20,000 episodes, whose mean falls twice and comes back: by half of their scatter, or by four of it."""
    places, fallen = [0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1], [0, -0.1, 1, 1, -0.1, -0.1, 1, 1, 0, 0]
    means = np.interp(np.arange(20_000) / 20_000, places, 50 - depth * np.array(fallen))
    rewards = means + np.random.default_rng(3).normal(0, 1, 20_000)
    assert classify({"ep_reward": rewards}).patterns == (pattern,)


@pytest.mark.parametrize(("end", "verdict"), [(0.5, "good"), (-14.0, "worrying")])
def test_what_an_agent_tries_before_it_learns_anything_is_no_slump(end: float, verdict: str) -> None:
    """From -12 down to -27 within a fifth of the log, then far above its start, or just back to it."""
    places = [0, 0.05, 0.2, 0.3, 0.5, 1]
    levels = np.interp(np.arange(200) / 200, places, [-12, -18, -27, -27, end, end])
    assert told(ep_rew=levels + 0.2 * NOISE[0, :200])[0] == verdict


def test_of_few_rewards_some_large_ones_are_no_level_that_was_lost() -> None:
    """Episodes that last until something fails: most are short, and a few of them go on for long."""
    rewards = [84, 74, 164, 124, 130, 157, 194, 57, 57, 57, 46, 69, 84, 97, 718, 350, 718, 604, 62, 89]
    rewards += [326, 260, 67, 189, 303, 305, 407, 360, 128, 77, 161, 171, 703, 41]
    assert "divergence-no-spike" not in classify({"reward": np.array(rewards, float)}).patterns


@pytest.mark.parametrize(("lucky", "end", "verdict"), [(33e3, 1700, "unexpected"), (33e3, 300, "bad")])
def test_the_first_of_a_hundred_episodes_are_no_level_that_was_lost(
    lucky: float, end: float, verdict: str
) -> None:
    """stable-baselines3 logs the mean of the last 100 episodes. One that was lucky stands out of the first of
    these means until it leaves the window."""
    episodes = np.linspace(1500, end, 1000) + 200 * np.random.default_rng(5).standard_normal(1000)
    episodes[1] = lucky
    means = np.array([episodes[max(k - 100, 0) : k].mean() for k in range(2, 1000, 3)])
    steps = 60 * np.arange(2, 1000, 3)
    rewards = {"rollout/ep_rew_mean": (steps, means)}
    lengths = {"rollout/ep_len_mean": (steps, np.full(len(means), 60.0))}
    assert classify(rewards | lengths).verdict.value == verdict
    assert classify(rewards).verdict.value == "bad"


def test_no_level_was_lost_where_few_means_are_of_a_hundred_episodes() -> None:
    """One of the first episodes wins, and the mean of all so far falls until there are a hundred of them."""
    steps = 4 * np.arange(1, 251)
    n_episodes = np.clip(steps / 9, 1, 100)
    means = np.where(n_episodes >= 14, 1 / n_episodes, 0.0)
    lengths = {"rollout/ep_len_mean": (steps, np.full(250, 9.0))}
    assert told(rollout__ep_rew_mean=means)[0] == "bad"
    assert classify({"rollout/ep_rew_mean": (steps, means)} | lengths).verdict.value == "unexpected"


@pytest.mark.parametrize(
    ("name", "told_from"), [("episode_reward", 100), ("reward", 50), ("ep_rew_mean", 50)]
)
def test_a_value_of_one_episode_tells_less_than_a_mean_of_many(name: str, told_from: int) -> None:
    flat = 74 + NOISE[1, :150]
    assert told(**{name: flat[: told_from - 1]}) == ("unexpected", ())
    assert told(**{name: flat[:told_from]}) == ("worrying", ("plateau",))


def test_a_median_of_rewards_in_fours_that_moves_by_one_of_them_has_not_risen() -> None:
    """Of 0, 4, 8 and so on the median is 0 or 4, by chance, while the mean stays where it is."""
    rng = np.random.default_rng(3)
    merged = 4.0 * rng.geometric(0.49, 10_000) - 4.0
    assert told(rewards=merged) == ("bad", ("failed-run",))
    risen = 4.0 * rng.geometric(np.linspace(0.49, 0.2, 10_000)) - 4.0
    assert told(rewards=risen)[0] == "good"


@pytest.mark.parametrize(("gained", "failed"), [(12.0, False), (0.0, True)])
def test_generations_whose_best_member_gets_better_have_not_failed(gained: float, failed: bool) -> None:
    """Their mean is that of the penalties of other members."""
    noise = np.random.default_rng(4).standard_normal((2, 100))
    best = -14 - gained * np.exp(-np.arange(100) / 20) + 0.5 * noise[1]
    logged = {"Average Fitness": -260 + 40 * noise[0], "Maximum Fitness": best}
    assert ("failed-run" in classify(logged).patterns) is failed


def test_all_that_was_gained_by_swings_and_is_lost_for_good_was_lost() -> None:
    """A value function explodes: from then on no episode reaches the goal."""
    swings = [
        -0.8,
        -0.6,
        -0.5,
        -0.5,
        -0.5,
        -0.2,
        0.4,
        0.5,
        0.4,
        0.6,
        0.5,
        0.5,
        0.5,
        0.5,
        0.4,
        -0.1,
        -0.5,
        -0.3,
    ]
    later = [-0.3, -0.2, 0.8, 0.5, 0.0, -0.4, -0.1, 0.2, 0.8, 0.7, *[0.85] * 5, 0.4, -0.1, -0.6, -0.8]
    assert FELL in told(episode_reward=np.interp(np.arange(228) / 4, range(37), swings + later))[1]
