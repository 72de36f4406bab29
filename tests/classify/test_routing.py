"""Routers that send everything to a few experts, and routers that only look like it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from chronicle.classify import classify
from chronicle.model import Finding

COLLAPSE = "router-collapse"
STEPS, EXPERTS = 600, 8
LOSS = 1.0 + 1.5 * np.exp(-np.arange(STEPS) / 100) + 0.01 * np.random.default_rng(1).normal(size=STEPS)


def collapses(logged: Mapping[str, NDArray[np.float64]]) -> list[Finding]:
    return [f for f in classify({"loss": LOSS, **logged}).findings if f.pattern == COLLAPSE]


def loads(gone: int, at: int = 100) -> NDArray[np.float64]:
    """Shares [step, expert]: alike, until at a step the first expert gets what the last ``gone`` had."""
    shares = np.random.default_rng(2).dirichlet(np.full(EXPERTS, 200.0), STEPS)
    shares[at:, 0] += shares[at:, EXPERTS - gone :].sum(1)
    shares[at:, EXPERTS - gone :] = 0.0
    return shares


def by_expert(
    shares: NDArray[np.float64], name: str = "moe/layer_3/expert_{}/load"
) -> dict[str, NDArray[np.float64]]:
    return {name.format(k): column for k, column in enumerate(shares.T)}


@pytest.mark.parametrize("unit", [1.0, 4096.0, EXPERTS], ids=["shares", "tokens", "multiples of the mean"])
@pytest.mark.parametrize("name", ["moe/layer_3/expert_{}/load", "tokens_per_expert/expert_{}"])
def test_a_router_that_uses_a_few_experts(name: str, unit: float) -> None:
    (collapse,) = collapses(by_expert(loads(5) * unit, name))
    assert collapse.metric == name.format(0) and collapse.start_step == 100
    assert collapse.evidence["idle_share"] == pytest.approx(5 / 8)
    assert collapse.evidence["busiest_times"] == pytest.approx(6, abs=0.3)


def test_the_worst_of_several_layers_is_told() -> None:
    layers = {k: loads(gone) for k, gone in enumerate((0, 3, 6, 0))}
    logged = {n: v for k, s in layers.items() for n, v in by_expert(s, f"layer_{k}/expert_{{}}/load").items()}
    assert [f.metric for f in collapses(logged)] == ["layer_2/expert_0/load"]


@pytest.mark.parametrize(
    "shares",
    [
        pytest.param(loads(0), id="alike"),
        pytest.param(loads(1), id="one idle expert"),
        pytest.param(
            np.random.default_rng(3).dirichlet(np.full(EXPERTS, 0.5), STEPS), id="uneven by the batch"
        ),
        pytest.param(loads(5, 400)[::-1], id="fair after a while"),
    ],
)
def test_no_collapse(shares: NDArray[np.float64]) -> None:
    assert collapses(by_expert(shares)) == []


@pytest.mark.parametrize(("name", "above"), [("train/load imbalance", 0.0), ("e_max_violation:mean", 1.0)])
def test_the_largest_load_alone(name: str, above: float) -> None:
    """As a multiple of the mean, or what it has above that; it must have grown."""
    busiest = EXPERTS * loads(5).max(1)
    (collapse,) = collapses({name: busiest - above})
    assert (
        collapse.evidence["busiest_times"] == pytest.approx(6, abs=0.3)
        and "idle_share" not in collapse.evidence
    )
    assert collapses({name: np.full(STEPS, 6.0) - above}) == []  # of a small batch: as large from the start


def test_what_is_no_whole_layer_is_not_judged() -> None:
    logged = by_expert(loads(5))
    assert collapses(dict(list(logged.items())[:3])) == []
    assert collapses({"moe/load_balancing_loss": EXPERTS * loads(5).max(1)}) == []
    assert collapses(by_expert(np.zeros((STEPS, EXPERTS)))) == []
    assert collapses(by_expert(np.full((STEPS, EXPERTS), np.nan))) == []


@pytest.mark.parametrize(("taken", "found"), [(0.86, True), (0.55, True), (0.45, False)])
def test_one_expert_that_takes_most_tokens_leaves_the_others_too_little(taken: float, found: bool) -> None:
    """However alike the others share the rest."""
    shares = np.random.default_rng(2).dirichlet(np.full(EXPERTS, 200.0), STEPS)
    shares[100:, 1:] *= (1 - taken) / shares[100:, 1:].sum(1, keepdims=True)
    shares[100:, 0] = taken
    assert [f.start_step for f in collapses(by_expert(shares))] == [100] * found
