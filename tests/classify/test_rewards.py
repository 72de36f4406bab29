"""Policies that settle too early, answers that swell, judges that differ; and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.classify.asking import findings, patterns
from tests.curves import Curve
from tests.curves.series import agent

from chronicle.classify import classify
from chronicle.model import Finding, Role, Verdict

COLLAPSE = "entropy-collapse"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("points", [200, 2000])
@pytest.mark.parametrize("level", [0.3, 0.6, 0.85])
def test_a_policy_that_settles_early_and_low(level: float, points: int, sign: int) -> None:
    (finding,) = findings(agent(Curve(3, points), level, sign=sign).run(), COLLAPSE)
    assert finding.metric == "entropy" and finding.start_step <= 0.1 * points
    assert finding.evidence["objective_level"] == pytest.approx(level, abs=0.02)
    assert finding.evidence["missing_share"] == pytest.approx(1 - level, abs=0.02)


@pytest.mark.parametrize(
    "settled",
    [
        pytest.param({"level": 0.97}, id="it got all there is"),
        pytest.param({"left": 0.2}, id="a fall by four fifths is usual"),
        pytest.param({"gone_at": 0.95}, id="it had its time to look"),
        pytest.param({"level": 0.05}, id="rewards of an unknown scale"),
    ],
)
def test_no_collapse(settled: dict[str, float]) -> None:
    assert COLLAPSE not in patterns(agent(Curve(3), **settled).run())


def test_without_an_objective_nobody_can_tell() -> None:
    curve = agent(Curve(3))
    del curve.extra["reward"]
    assert COLLAPSE not in patterns(curve.run())
    entropy = 3.0 * np.exp(-np.arange(400.0) / 20)
    missing = {n.pattern: n.missing for n in classify({"entropy": entropy}).not_assessed}
    assert missing[COLLAPSE] == ("objective",)


def test_a_reward_that_goes_on_rising_is_none() -> None:
    curve = agent(Curve(3))
    curve.log("reward", Role.OBJECTIVE, 0.3 + 0.4 * np.arange(curve.n) / curve.n + curve.own_noise(0.01))
    assert COLLAPSE not in patterns(curve.run())


def test_an_entropy_that_comes_back_or_passes_through_zero_is_none() -> None:
    comes_back = np.r_[np.linspace(1, 0, 200), np.zeros(800), np.full(1000, 0.5)]
    a_little_below = np.r_[np.linspace(1, -0.02, 200), np.full(1800, -0.02)]
    for share in (np.linspace(1.0, -1.0, 2000), comes_back, a_little_below):
        curve = agent(Curve(3))
        curve.log("entropy", Role.POLICY_ENTROPY, 2.0 * share + curve.own_noise(0.01))
        assert COLLAPSE not in patterns(curve.run())


def test_returns_beyond_one_are_held_against_their_own_past() -> None:
    """A return that stands still at its best may be all there is; one that fell from it is not."""
    curve, t = agent(Curve(3)), np.arange(2000) / 2000
    curve.log("reward", Role.OBJECTIVE, 500 * (1 - np.exp(-t / 0.02)) + curve.own_noise(5.0))
    assert COLLAPSE not in patterns(curve.run())
    fell = np.where(t < 0.2, 500 * np.minimum(t / 0.1, 1), 350)
    curve.log("reward", Role.OBJECTIVE, fell + curve.own_noise(5.0))
    (finding,) = findings(curve.run(), COLLAPSE)
    assert finding.evidence["best_level"] == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize("seed", [0, 1])
def test_returns_so_noisy_that_nobody_sees_them_fall_have_lost_nothing(seed: int) -> None:
    curve, t = agent(Curve(seed, 400)), np.arange(400) / 400
    fell = np.where(t < 0.2, 500 * np.minimum(t / 0.1, 1), 440)
    assert COLLAPSE not in patterns(curve.log("reward", Role.OBJECTIVE, fell + curve.own_noise(200.0)).run())


def test_costs_have_no_best_of_one() -> None:
    curve = agent(Curve(3))
    curve.log("reward", Role.OBJECTIVE, -0.3 - 0.5 * np.exp(-np.arange(2000) / 50) + curve.own_noise(0.01))
    assert COLLAPSE not in patterns(curve.run())


@pytest.mark.parametrize("odd", [0.0, 5e-324, 1e308, -1e308, np.nan, np.inf])
@pytest.mark.parametrize("where", [slice(0, 10), slice(1000, None), slice(None)])
@pytest.mark.parametrize("name", ["entropy", "reward"])
def test_odd_values_are_data(name: str, where: slice, odd: float) -> None:
    curve = agent(Curve(3))
    role, values, _ = curve.extra[name]
    values = values.copy()
    values[where] = odd
    assert patterns(curve.log(name, role, values).run()) is not None


def test_a_policy_that_settles_low_is_not_called_good() -> None:
    """It was, before anybody looked at entropies: the reward rises and stands still, as at convergence."""
    logged = {name: values for name, (_, values, _) in agent(Curve(3)).extra.items()}
    d = classify(logged)
    assert (d.verdict, d.patterns) == (Verdict.WORRYING, (COLLAPSE,))


T = np.arange(1500) / 1500
NOISE = 0.02 * np.random.default_rng(5).normal(size=(3, 1500))
LEARNED = 0.2 + 0.3 * (1 - np.exp(-T / 0.05))  # half of what can be had, within a tenth of the log


def findings_of(pattern: str, **logged: NDArray[np.float64]) -> list[Finding]:
    named = {name.replace("__", "/"): values for name, values in logged.items()}
    return [f for f in classify(named).findings if f.pattern == pattern]


@pytest.mark.parametrize("name", ["completions__mean_length", "response_length__mean"])
def test_answers_that_grow_for_nothing(name: str) -> None:
    length = 100 * np.exp(2 * T) * (1 + NOISE[0])
    (finding,) = findings_of("length-explosion", reward=LEARNED + NOISE[1], **{name: length})
    assert finding.evidence["length_now"] == pytest.approx(700, rel=0.1)
    assert 600 <= finding.start_step <= 1000


@pytest.mark.parametrize(
    ("reward", "length"),
    [
        pytest.param(0.2 + 0.7 * T, 100 * np.exp(2 * T), id="the reward pays for it"),
        pytest.param(LEARNED, 100 * (1 + 0.8 * T), id="less than twice"),
        pytest.param(LEARNED, 100 + 300 * np.exp(-(((T - 0.5) / 0.1) ** 2)), id="it came back"),
        pytest.param(LEARNED, 100 * np.exp(-2 * T), id="shorter"),
    ],
)
def test_no_length_explosion(reward: NDArray[np.float64], length: NDArray[np.float64]) -> None:
    assert not findings_of("length-explosion", reward=reward + NOISE[1], completions__mean_length=length)


def test_the_length_of_an_episode_is_no_length_of_an_answer() -> None:
    assert not findings_of(
        "length-explosion", reward=LEARNED + NOISE[1], rollout__ep_len_mean=100 * np.exp(2 * T)
    )


TURNS = np.interp(T, [0, 0.2, 1], [0.3, 0.6, 0.1])


@pytest.mark.parametrize(("name", "sign"), [("eval__judge_score", 1), ("eval__error_rate_regret_score", -1)])
def test_a_judge_that_no_longer_agrees(name: str, sign: int) -> None:
    (finding,) = findings_of("reward-hacking", reward=0.2 + T + NOISE[0], **{name: sign * (TURNS + NOISE[1])})
    assert 150 <= finding.start_step <= 450
    assert sign * finding.evidence["best_score"] == pytest.approx(0.58, abs=0.03)
    assert sign * finding.evidence["last_score"] == pytest.approx(0.12, abs=0.03)


@pytest.mark.parametrize(
    ("reward", "score"),
    [
        pytest.param(0.2 + T, 0.3 + 0.3 * T, id="they agree"),
        pytest.param(TURNS, TURNS, id="both are lost"),
        pytest.param(0.2 + T, np.interp(T, [0, 0.2, 1], [0.3, 0.6, 0.55]), id="a little less in the end"),
        pytest.param(np.interp(T, [0, 0.2, 1], [0.3, 0.6, 0.6]), TURNS, id="the reward stood still"),
        pytest.param(0.2 + T, np.interp(T, [0, 0.5, 0.7, 1], [0.0, 0.6, -0.6, 0.3]), id="it swings"),
        pytest.param(
            np.interp(T, [0.3, 0.5, 0.97, 1], [0.6, -4, 0.9, -0.1]), TURNS, id="the reward is lower"
        ),
    ],
)
def test_no_reward_hacking(reward: NDArray[np.float64], score: NDArray[np.float64]) -> None:
    assert not findings_of("reward-hacking", reward=reward + NOISE[0], eval__judge_score=score + NOISE[1])


def test_a_judge_of_few_evaluations() -> None:
    scores = np.full(len(T), np.nan)
    scores[::40] = (TURNS + 0.3 * NOISE[1])[::40]  # every fortieth step is evaluated: 25 values
    (finding,) = findings_of("reward-hacking", reward=0.2 + T + NOISE[0], eval__judge_score=scores)
    assert finding.metric == "eval/judge_score"


def test_a_penalty_beside_the_reward_only_falls() -> None:
    falls = findings_of("reward-hacking", reward=0.2 + T + NOISE[0], penalty_reward=-3 * T + NOISE[1])
    assert not falls


def test_the_best_of_a_batch_falls_where_answers_come_closer() -> None:
    assert not findings_of("reward-hacking", reward=0.2 + T + NOISE[0], reward__max=TURNS + NOISE[1])


LOST = np.interp(T, [0, 0.1, 0.7, 0.8], [0.2, 0.6, 0.6, 0.0])
LEAVES = np.interp(T, [0, 0.1, 0.7, 1.0], [0.0, 0.05, 0.06, 3.0])


@pytest.mark.parametrize("name", ["kl", "objective__kl", "KL_ref", "actor__kl_loss"])
@pytest.mark.parametrize("times", [1e-3, 1.0, 1e6])
def test_a_policy_that_runs_away_and_loses_its_reward(name: str, times: float) -> None:
    (finding,) = findings_of("kl-blow-up", reward=LOST + NOISE[0], **{name: times * LEAVES * (1 + NOISE[1])})
    assert 1040 <= finding.start_step <= 1070  # it comes down from 1,050 to 1,200
    assert finding.evidence["divergence_factor"] == pytest.approx(40, abs=12)
    assert not findings_of("divergence-no-spike", reward=LOST + NOISE[0], **{name: LEAVES})


@pytest.mark.parametrize(
    ("reward", "divergence"),
    [
        pytest.param(LEARNED, LEAVES, id="the reward stands"),
        pytest.param(LOST, 0.05 + 0.01 * T, id="the divergence stands"),
        pytest.param(
            LOST, np.interp(T, [0, 0.1, 0.7, 1.0], [0.0, 0.05, 0.06, 0.3]), id="five times is no flight"
        ),
        pytest.param(LOST, NOISE[2], id="an estimate that is noise around nothing"),
    ],
)
def test_no_kl_blow_up(reward: NDArray[np.float64], divergence: NDArray[np.float64]) -> None:
    assert not findings_of("kl-blow-up", reward=reward + NOISE[0], objective__kl=divergence)


def test_the_divergence_from_the_last_update_is_another_one() -> None:
    for name in ("train__approx_kl", "kl_coef", "target_kl", "ppo__policy__old_kl"):
        assert not findings_of("kl-blow-up", reward=LOST + NOISE[0], **{name: LEAVES})


@pytest.mark.parametrize(("n_rows", "at"), [(120, 80), (120, 60), (400, 300), (200, 160)])
@pytest.mark.parametrize("seed", range(3))
def test_a_collapse_begins_where_the_reward_leaves_its_best_level(n_rows: int, at: int, seed: int) -> None:
    steps = np.arange(n_rows)
    reward = 500 * (1 - np.exp(-steps / 10)) + np.random.default_rng(seed).normal(0, 5, n_rows)
    reward[at:] = np.random.default_rng(seed).normal(5, 3, n_rows - at)
    (collapse,) = (
        f for f in classify({"episode_reward": reward}).findings if f.pattern == "divergence-no-spike"
    )
    assert at <= collapse.start_step <= at + max(n_rows // 64, 1)
