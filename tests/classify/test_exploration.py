"""A policy that has settled too early, and policies that have every right to settle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import findings, patterns
from tests.curves import Curve
from tests.curves.series import agent

from chronicle.classify import classify
from chronicle.model import Role, Verdict

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
    shares = np.linspace(1.0, -1.0, 2000), np.r_[np.linspace(1, 0, 200), np.zeros(800), np.full(1000, 0.5)]
    for share in shares:
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
