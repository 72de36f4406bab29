"""Families of logs that rules over single events read wrongly: each is judged by its label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.curves.families import FAMILIES, in_families

from chronicle.build.entry import diagnosis_json
from chronicle.classify import classify
from chronicle.classify.course import CLIMBS, HEALTHY, NEVER, STOPPED, WAITS, compete
from chronicle.classify.measure import trend
from chronicle.model import Role
from chronicle.score import judge
from chronicle.score.labels import Label

SEED = 1  # how many pass of seeds that nothing was tuned on: docs/classifier-looks.md
CASES = {case.kind: case for case in in_families([SEED])}


@pytest.mark.parametrize("kind", CASES)
def test_a_log_as_users_have_them_is_judged_as_its_label_says(kind: str) -> None:
    case = CASES[kind]
    result = judge(case.label, diagnosis_json(kind, classify(case.attempts)))
    assert (result.passed, result.missing, result.forbidden) == (True, (), ())


def test_families_are_the_same_for_the_same_seed_and_labelled_with_known_patterns() -> None:
    again = {case.kind: case for case in in_families([SEED])}
    assert len(again) == len(FAMILIES) and all(isinstance(case.label, Label) for case in again.values())
    for kind, case in CASES.items():
        for metric, series in case.attempts[0].series.items():
            assert (series.values == again[kind].attempts[0].series[metric].values).all()


def course(kind: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Log values of a loss in 2,000 samples."""
    t = np.arange(2000) / 2000
    values = {
        NEVER: np.full(2000, 2.3),
        HEALTHY: 2 + 6 * (1 + t / 0.02) ** -0.5,
        STOPPED: 2 + 6 * (1 + np.minimum(t, 0.3) / 0.1) ** -0.5,
        WAITS: 2 + 6 * (1 + np.maximum(t - 0.5, 0) / 0.02) ** -0.5,
        CLIMBS: 2 + 0.8 * np.exp(-t / 0.4) - 0.8 * np.exp(-t / 0.012),
    }
    return np.log(values[kind] * np.exp(0.02 * np.random.default_rng(0).standard_normal(2000)))


@pytest.mark.parametrize("kind", [NEVER, HEALTHY, STOPPED, WAITS, CLIMBS])
def test_the_explanation_that_made_a_course_wins(kind: str) -> None:
    contest = compete(np.arange(2000.0), course(kind))
    assert contest is not None and contest.winner == kind
    scores = {name: explanation.score for name, explanation in contest.explanations.items()}
    best = max(score for name, score in scores.items() if name != kind)
    assert kind in (NEVER, HEALTHY) or scores[kind] - best > 10


@pytest.mark.parametrize(("stops_at", "stands_still"), [(None, False), (0.4, True)])
@pytest.mark.parametrize("seed", range(3))
def test_a_loss_that_slows_down_to_the_end_does_not_stand_still(
    stops_at: float | None, stands_still: bool, seed: int
) -> None:
    """A learning rate that nobody logged follows a cosine; or the fall is over at once."""
    t = np.linspace(0, 1, 10_000)
    way = t + np.sin(np.pi * t) / np.pi if stops_at is None else np.minimum(t / stops_at, 1)
    values = 254 - 20 * way + np.random.default_rng(seed).normal(0, 1.5, 10_000)
    found = classify({"loss": values}).patterns
    assert ("plateau" in found) == stands_still


@pytest.mark.parametrize("skipped", [0, 20], ids=["learning rate from the start", "twenty steps are skipped"])
def test_a_loss_waits_for_no_learning_in_steps_that_are_skipped(skipped: int) -> None:
    """A quarter of a hundred steps stays at the first level; nothing else is logged but the learning rate."""
    n, z = np.arange(100), np.random.default_rng(2).standard_normal(100)
    loss = 9 + 2 * np.exp(-np.maximum(n - 25, 0) / 25) + 0.004 * z
    rate = np.maximum(n - skipped, 0) / 1e6 + (1e-6 if not skipped else 0.0)
    found = classify({"loss": (n, loss), "lr": (n, rate)}).patterns
    assert ("plateau" in found) is (skipped == 0)


def test_a_loss_that_explodes_after_a_fall_does_so_where_it_jumps() -> None:
    """It has halved before: that is no climb from the first step on, however high the jump is."""
    n = np.arange(500)
    loss = 0.13 + 0.2 * np.exp(-n / 6)
    loss[35:100] = 16.0
    loss[100:] = 0.15 + 0.3 * np.exp(-(n[100:] - 100) / 80)
    loss *= np.exp(0.1 * np.random.default_rng(2).standard_normal(500))
    (slow,) = [f for f in classify({"loss": loss}).findings if f.pattern == "spike-slow-recovery"]
    assert 30 <= slow.start_step <= 36


def test_guessing_is_no_learning_unless_a_score_moves() -> None:
    loss = np.log(10) * np.exp(0.01 * np.random.default_rng(1).standard_normal(600))
    loss[:5] = [6.0, 4.0, 3.0, 2.6, 2.4]
    assert classify({"loss": loss}).verdict == "bad"
    accuracy = np.linspace(0.1, 0.6, 600)
    assert "failed-run" not in classify({"loss": loss, "accuracy": accuracy}).patterns


@pytest.mark.parametrize("shift", [0.0, -5000.0])
def test_an_objective_is_judged_by_its_rise_whatever_its_sign(shift: float) -> None:
    noise = 5 * np.random.default_rng(2).standard_normal(400)
    t = np.arange(400) / 400
    rises, stays = shift + 100 * np.minimum(t / 0.5, 1) + noise, shift + noise
    falls = shift + 100 * np.interp(t, [0, 0.4, 0.6, 0.7, 1], [0, 1, 1, 0, 0]) + noise
    by_name = {name: classify({"ep_rew_mean": v}) for name, v in (("a", rises), ("b", stays), ("c", falls))}
    assert [d.verdict for d in by_name.values()] == ["good", "bad", "bad"]
    assert ["failed-run" in d.patterns for d in by_name.values()] == [False, True, False]
    assert (
        Role.OBJECTIVE not in by_name["c"].findings[0].evidence and by_name["c"].findings[0].start_step >= 150
    )


def test_a_rise_that_noise_hides_from_block_to_block_is_seen_over_the_whole_course() -> None:
    """A score climbs by less than its values differ from one to the next; without the climb it fails."""
    noise = np.random.default_rng(4).standard_normal((6, 300))
    climb = np.linspace(0, 1.0, 300)
    assert {classify({"reward": climb + off}).verdict for off in noise} == {"good"}
    assert {classify({"reward": off}).verdict for off in noise} == {"bad"}
    assert {classify({"reward": off - climb}).verdict for off in noise} <= {"bad", "worrying"}


@pytest.mark.parametrize("values", [np.zeros(80), np.repeat([0.0, 1.0, 0.0], 60), np.arange(80.0)])
def test_the_trend_is_the_rank_correlation_of_means(values: np.ndarray) -> None:
    means = pd.Series([part.mean() for part in np.array_split(values, 64)])
    ranks = means.rank()
    correlation = ranks.corr(pd.Series(range(64))) if ranks.nunique() > 1 else 0.0
    assert np.sign(trend(values)) == np.sign(round(correlation, 9))
    assert abs(trend(values)) <= abs(correlation) * 63**0.5 + 1e-9


@pytest.mark.parametrize(("kept", "verdict"), [(0.2, "bad"), (0.55, "worrying"), (0.8, "good")])
def test_an_objective_that_keeps_a_part_of_what_it_gained_worries(kept: float, verdict: str) -> None:
    noise = np.random.default_rng(2).standard_normal(400)
    falls = 100 * np.interp(np.arange(400) / 400, [0, 0.4, 0.5, 0.6, 1], [0, 1, 1, kept, kept]) + noise
    diagnosis = classify({"ep_rew_mean": falls})
    assert (diagnosis.verdict, "divergence-no-spike" in diagnosis.patterns) == (verdict, verdict != "good")


@pytest.mark.parametrize(
    ("end", "verdict", "pattern"), [(-1.0, "bad", "divergence-no-spike"), (1.0, "worrying", "plateau")]
)
def test_what_begins_at_its_best_and_loses_it_did_not_fail_to_learn(
    end: float, verdict: str, pattern: str
) -> None:
    """An agent that was trained before, or is good at once: its reward has gone."""
    noise = np.random.default_rng(4).standard_normal(300)
    judged = classify(
        {"reward": 350 + 100 * np.interp(np.arange(300), [0, 60, 150], [1, 1, end]) + 5 * noise}
    )
    assert (judged.verdict, judged.patterns) == (verdict, (pattern,))


@pytest.mark.parametrize("points", [18, 30, 45])
def test_a_short_log_of_an_objective_tells_what_is_clear(points: int) -> None:
    """Evaluations every so many thousand steps: twenty of them are a whole training."""
    t, noise = np.linspace(0, 1, points), np.random.default_rng(6).standard_normal(points)
    ways = {
        "rises": 1 - np.exp(-4 * t),
        "stays": 0 * t,
        "falls": np.interp(t, [0, 0.4, 0.6, 1], [0, 1, 0, 0]),
    }
    judged = {name: classify({"return": 30 * way + noise}) for name, way in ways.items()}
    assert [d.verdict for d in judged.values()] == ["good", "unexpected", "bad"]
    assert judged["stays"].patterns == ()  # what so few points do not show may yet be there


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("slip", "collapses"), [(2.0, False), (7.0, False), (20.0, True)])
def test_what_an_objective_gained_in_its_first_values_counts(slip: float, collapses: bool, seed: int) -> None:
    t = np.arange(200)
    reached = np.interp(t, [3, 40, 199], [-17, -14, -14 - slip])
    returns = np.where(t < 2, -43, reached) + 0.2 * np.random.default_rng(seed).standard_normal(200)
    assert ("divergence-no-spike" in classify({"return": returns}).patterns) is collapses


def test_single_episodes_of_an_agent_that_fails_in_nearly_all_are_no_rise() -> None:
    returns = np.full(64, -50.0)
    returns[[12, 15, 16, 33, 34, 44]] = [-48, -47, -47, -44, -49, -46]
    assert classify({"return": returns}).patterns == ()  # more may yet be learned than 64 episodes show
    assert classify({"return": np.tile(returns, 2)}).patterns == ("failed-run",)


def test_a_good_objective_is_named_so_and_one_that_stands_still_in_a_later_log_is_a_plateau() -> None:
    noise = np.random.default_rng(2).standard_normal(60)
    rises = classify({"ep_rew_mean": np.minimum(np.arange(60), 30) + noise})
    assert (rises.verdict, rises.patterns) == ("good", ("near-perfect",))
    later = classify({"ep_rew_mean": (np.arange(251, 401), np.resize(noise, 150))})
    assert (later.verdict, later.patterns) == ("worrying", ("plateau",))


def test_the_pace_of_an_environment_does_not_worry() -> None:
    t = np.arange(400) / 400
    noise = np.random.default_rng(3).standard_normal((2, 400))
    speed = np.where(t < 0.4, 1340, 1200) + noise[0]
    beside = {"time/fps": speed, "ep_rew_mean": 100 * np.minimum(2 * t, 1) + 5 * noise[1]}
    diagnosis = classify(beside)
    assert diagnosis.verdict == "good" and "throughput-drop" in diagnosis.patterns
    falls = (9 * np.exp(-3 * t) + 1) * np.exp(0.01 * noise[1])
    assert classify({"time/fps": speed, "loss": falls}).verdict == "worrying"


@pytest.mark.parametrize(("accuracy", "stands_still"), [((0.998, 1.0), False), ((0.998, 0.8), True)])
def test_nothing_stands_still_where_nothing_is_left_to_learn(
    accuracy: tuple[float, float], stands_still: bool
) -> None:
    loss = 0.744 + 0.02 * np.exp(-np.arange(200) / 3)
    scores = {"train_acc": np.full(200, accuracy[0]), "val_acc": np.full(200, accuracy[1])}
    assert ("plateau" in classify({"loss": loss, **scores}).patterns) is stands_still


def test_what_has_converged_may_end_without_a_learning_rate() -> None:
    t = np.arange(400) / 400
    rate = np.maximum(1e-3 * np.exp(-20 * t), 1e-9)
    noise = np.exp(0.02 * np.random.default_rng(4).standard_normal(400))
    learned, stopped = ((first * np.exp(-20 * t) + 1) * noise for first in (10.0, 0.5))
    assert "plateau" not in classify({"loss": learned, "lr": rate}).patterns
    assert "plateau" in classify({"loss": stopped, "lr": rate}).patterns


@pytest.mark.parametrize(
    ("opponent", "verdict"),
    [
        (0.0, "good"),  # it stays, or falls as it should
        (-0.7, "good"),
        (-6.0, "bad"),  # it has won
        (1.0, "bad"),  # both rise
    ],
)
def test_a_player_may_lose_ground_to_an_opponent_who_has_not_won(opponent: float, verdict: str) -> None:
    t, r = np.arange(300) / 300, np.random.default_rng(5)
    late, noise = np.maximum(t - 0.8, 0) / 0.2, np.exp(0.03 * r.standard_normal((2, 300)))
    generator = (15 * np.exp(-20 * t) + 0.7 + 1.8 * late**0.5) * noise[0]
    discriminator = (14 * np.exp(-20 * t) + 1.1) * np.exp(opponent * late**0.5) * noise[1]
    assert classify({"loss": generator}).verdict == "bad"
    both = classify({"Generator loss": generator, "Discriminator loss": discriminator})
    assert both.verdict == verdict
    assert ("divergence-no-spike" in both.patterns) == (verdict == "bad")


@pytest.mark.parametrize("decimals", [12, 2], ids=["in full", "whose last losses are printed as zero"])
def test_a_generator_rises_for_good_where_its_opponent_wins(decimals: int) -> None:
    t, r = np.arange(400) / 400, np.random.default_rng(7)
    noise = np.exp(0.03 * r.standard_normal((2, 400)))
    generator = 0.7 * np.exp(3 * np.maximum(t - 0.2, 0)) * noise[0]
    discriminator = 1.4 * np.exp(-12 * np.maximum(t - 0.2, 0)) * noise[1]
    both = classify({"G Loss": generator, "D Loss": np.round(discriminator, decimals)})
    assert both.verdict == "bad" and "divergence-no-spike" in both.patterns


def test_a_player_who_begins_to_lose_less_than_its_opponent_has_not_lost() -> None:
    """The discriminator begins far off, while the loss of the generator is next to nothing."""
    t, r = np.arange(300) / 300, np.random.default_rng(9)
    noise = np.exp(0.2 * r.standard_normal((2, 300)))
    generator = np.where(t < 0.2, 0.003, 0.5) * noise[0]
    discriminator = (np.where(t < 0.2, 26.0, 6.0 * np.exp(-2 * t))) * noise[1]
    assert classify({"loss": generator}).verdict == "bad"
    assert classify({"g_loss": generator, "d_loss": discriminator}).verdict == "good"


def test_a_spike_of_one_player_is_a_round_of_the_game() -> None:
    t, r = np.arange(400) / 400, np.random.default_rng(5)
    generator = 1.2 * np.exp(0.02 * r.standard_normal(400))
    generator[200:204] *= 1.5
    assert "spike-fast-recovery" in classify({"loss": generator}).patterns
    players = classify(
        {"G_loss": generator, "D_loss": (0.6 + 0.4 * np.exp(-9 * t)) * np.exp(0.1 * r.standard_normal(400))}
    )
    assert "spike-fast-recovery" not in players.patterns


def test_nothing_is_said_of_the_course_of_one_player() -> None:
    t, r = np.arange(400) / 400, np.random.default_rng(6)
    still = 2.0 / (1 + 8 * np.maximum(t - 0.4, 0)) * np.exp(0.02 * r.standard_normal(400))
    assert "plateau" in classify({"loss": still}).patterns
    players = classify({"G_loss": still, "D_loss": 0.7 * np.exp(0.1 * r.standard_normal(400))})
    assert players.verdict == "good" and "plateau" not in players.patterns


@pytest.mark.parametrize(("decimals", "stands_still"), [(12, True), (4, False)])
def test_a_rate_that_is_written_too_coarsely_is_not_nothing(decimals: int, stands_still: bool) -> None:
    t, noise = np.arange(600) / 600, np.exp(0.05 * np.random.default_rng(7).standard_normal(600))
    rate = 1e-4 * np.maximum(1 - 2 * t, 0)
    diagnosis = classify({"loss": (1.9 + 0.2 * np.exp(-t / 0.2)) * noise, "lr": np.round(rate, decimals)})
    assert ("plateau" in diagnosis.patterns) == stands_still


def test_the_last_step_of_a_schedule_in_steps_is_trained_for_something() -> None:
    k, noise = np.arange(600), np.exp(0.03 * np.random.default_rng(2).standard_normal(600))
    loss = 0.9 + 1.5 * (1 + k / 20) ** -0.6
    loss[200:] -= 0.25 * (1 - np.exp(-(k[200:] - 200) / 8))
    loss[400:] = loss[399] - 0.03 * (1 - np.exp(-(k[400:] - 400) / 8))
    rate = np.choose(k // 200, [0.1, 0.01, 0.001])
    assert classify({"loss": loss * noise, "lr": rate}).patterns == ("lr-decay-drop", "near-perfect")


@pytest.mark.parametrize(("noise", "stands_still"), [(0.005, True), (0.2, False)])
def test_noise_that_hides_a_fall_shows_no_standstill(noise: float, stands_still: bool) -> None:
    """1.2 to 0.88 in a twentieth of a thousand steps, then level, or falling by 4 % below the noise."""
    t, r = np.arange(1000) / 1000, np.random.default_rng(4)
    falls = 0.0 if stands_still else 0.04
    loss = (0.88 + 0.35 * np.exp(-t / 0.01)) * np.exp(noise * r.standard_normal(1000) - falls * t)
    assert ("plateau" in classify({"loss": loss}).patterns) is stands_still


@pytest.mark.parametrize(("back", "verdict"), [(True, "good"), (False, "worrying")])
def test_a_fall_that_an_objective_came_back_from_before_is_how_it_swings(back: bool, verdict: str) -> None:
    """Down by half of what was gained at the end; the same fall had been there before, or had not."""
    places = [0, 0.3, 0.5, 0.7, 0.9, 1] if back else [0, 0.3, 0.31, 0.7, 0.9, 1]
    levels = [0, 100, 30, 101, 50, 50] if back else [0, 100, 100, 101, 50, 50]
    noise = np.random.default_rng(2).standard_normal(400)
    rewards = np.interp(np.arange(400) / 400, places, levels) + noise
    assert classify({"ep_rew_mean": rewards}).verdict == verdict


def test_a_validation_loss_that_came_down_tells_of_no_standstill() -> None:
    """Where the training loss is not logged, it may have converged."""
    level = 0.129 + 0.14 * np.exp(-np.arange(50) / 1.5) + np.random.default_rng(3).normal(0, 1e-4, 50)
    assert classify({"val_loss": level}).verdict == "good"
    assert "plateau" in classify({"train_loss": level}).patterns


@pytest.mark.parametrize(
    "values", [29 + np.arange(60) / 2, 0.1 * np.arange(192), 5e-324 * np.arange(90), np.full(40, 0.1)]
)
def test_a_straight_line_rises_as_far_as_its_ranks_do(values: np.ndarray) -> None:
    n_means = min(64, len(values))
    rises = 0.0 if values[0] == values[-1] else (n_means - 1) ** 0.5
    assert trend(values) == pytest.approx(rises)


def test_a_loss_at_the_level_of_guessing_is_learned_where_that_of_a_data_set_falls() -> None:
    """What is left of one of two tasks is its entropy, 3.0, which is the logarithm of twenty by chance."""
    k, noise = np.arange(90), 1e-3 * np.random.default_rng(0).standard_normal((2, 90))
    loss, of_text = np.log(20) + 1.2 * np.exp(-k / 2) + noise[0], 3.5 + noise[1]
    logged = {"loss": loss, "text_loss": of_text}
    assert "failed-run" not in classify({**logged, "code_loss": 4 * np.exp(-k / 15)}).patterns
    assert "failed-run" in classify({**logged, "code_loss": 2.5 + noise[1]}).patterns


@pytest.mark.parametrize(("ends_at", "found"), [(0.0, False), (0.5, True), (1.0, True)])
@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_a_whole_cooldown_does_not_lower_is_where_learning_ends(
    ends_at: float, found: bool, seed: int
) -> None:
    """As of fine-tuning a language model: 2.1 falls to the entropy of its data, and no further."""
    t = np.arange(600) / 600
    loss = 1.2 + 0.9 * np.maximum(1 - 4 * t, 0) + np.random.default_rng(seed).normal(0, 0.03, 600)
    rate = 2e-4 * (ends_at + (1 - ends_at) * (1 + np.cos(np.pi * t)) / 2)
    judged = classify({"loss": loss, "learning_rate": rate})
    assert ("plateau" in judged.patterns) is found


@pytest.mark.parametrize("seed", range(3))
def test_noise_hides_no_learning_at_a_rate_of_zero(seed: int) -> None:
    at, noise = np.arange(750), 0.16 * np.random.default_rng(seed).standard_normal(750)
    rate = 3e-3 * np.maximum(1 - at / 250, 0.0)
    loss = np.exp(0.48 + 0.7 * np.exp(-np.minimum(at, 250) / 60) + noise)
    assert "plateau" in classify({"loss": loss, "lr": rate}).patterns


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_that_learned_before_it_climbed_has_not_climbed_from_the_first_step_on(seed: int) -> None:
    places = [0, 1, 4, 9, 14, 25, 60, 110, 130, 139, 160]
    course = np.interp(np.arange(160), places, [1.93, 1.5, 1.02, 1.9, 1.2, 1.2, 1.8, 2.0, 2.6, 2.8, 1.98])
    judged = classify({"loss": np.exp(course + 0.1 * np.random.default_rng(seed).standard_normal(160))})
    assert judged.verdict == "bad" and "divergence-no-spike" in judged.patterns
