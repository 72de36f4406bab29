"""The gradient norm before a spike, and spikes that come more often."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import diagnosis, findings, patterns
from tests.curves import Curve
from tests.curves.series import grad_norm

from chronicle.classify.measure import rises_by
from chronicle.classify.rules.numerics import above_by_chance, at_least_by_chance, laplace


@pytest.mark.parametrize("lead", [2, 4, 12, 30])
@pytest.mark.parametrize("every", [1, 20])
def test_the_lead_of_the_gradient_norm_is_measured(lead: int, every: int) -> None:
    run = grad_norm(Curve(lead, every=every).spike(0.3, 25).spike(0.6, 25), lead=lead).run()
    precursors = findings(run, "grad-norm-precursor")
    assert [f.metric for f in precursors] == ["grad_norm"] * 2
    for f in precursors:
        assert f.evidence["lead_steps"] == pytest.approx(lead * every, abs=3 * every)


def test_rises_without_a_spike_lower_the_confidence_and_are_counted() -> None:
    curve = Curve(8).spike(0.3, 25).spike(0.6, 25)
    (sure, _), (less, _) = (
        findings(grad_norm(c, lead=6, alone=alone).run(), "grad-norm-precursor")
        for c, alone in ((curve, 0), (Curve(8).spike(0.3, 25).spike(0.6, 25), 3))
    )
    assert sure.evidence["rises_of_gradient_norm"] == 2 < less.evidence["rises_of_gradient_norm"]
    assert less.evidence["rises_before_a_spike"] == 2 and less.confidence < sure.confidence


def test_what_the_gradient_norm_warned_of_decides_the_verdict() -> None:
    run = grad_norm(Curve(8, 8000).spike(0.3, 25).spike(0.6, 25), lead=6).run()
    assert patterns(run) == {"grad-norm-precursor", "spike-fast-recovery"}
    assert str(diagnosis(run).verdict) == "good"


@pytest.mark.parametrize("seed", range(4))
def test_a_gradient_norm_that_rises_with_the_loss_or_not_at_all_leads_nothing(seed: int) -> None:
    at_once = grad_norm(Curve(seed).spike(0.3, 25).spike(0.6, 25), lead=0).run()
    assert "grad-norm-precursor" not in patterns(at_once)
    assert patterns(grad_norm(Curve(seed)).run()) == set()


def test_spikes_that_come_more_and_more_often_are_a_rising_rate() -> None:
    curve = Curve(1, 4000)
    for at in 1 - 0.75 * 0.72 ** np.arange(12):
        curve.spike(float(at), 25)
    (finding,) = findings(curve.run(), "rising-spike-rate")
    assert finding.evidence["of"] == "spikes in the second half" and finding.evidence["p_value"] < 0.005


def test_spikes_that_grow_taller_are_a_rising_rate() -> None:
    curve = Curve(2, 4000)
    for k in range(9):
        curve.spike(0.1 + 0.095 * k, 15 * 1.35**k)
    (finding,) = findings(curve.run(), "rising-spike-rate")
    assert finding.evidence["of"] == "height in the last third" and finding.evidence["factor"] > 2


@pytest.mark.parametrize("seed", range(3))
def test_spikes_at_an_even_rate_have_no_trend(seed: int) -> None:
    curve = Curve(seed, 3000)
    for k in range(10):
        curve.spike(0.07 + 0.09 * k, 25)
    assert "rising-spike-rate" not in patterns(curve.run())


@pytest.mark.slow
def test_the_trend_tests_are_calibrated() -> None:
    """Where nothing happens, one run in forty is called at p < 0.025, whatever the number of spikes."""
    rng = np.random.default_rng(0)
    for n in (6, 20):
        chance = [above_by_chance(laplace(rng.uniform(size=n))) < 0.025 for _ in range(4000)]
        assert np.mean(chance) == pytest.approx(0.025, abs=0.01)
        chance = [above_by_chance(rises_by(rng.normal(size=n))) < 0.025 for _ in range(4000)]
        assert np.mean(chance) == pytest.approx(0.025, abs=0.015)


def test_the_binomial_tail() -> None:
    assert at_least_by_chance(0, 5, 0.3) == pytest.approx(1.0)
    assert at_least_by_chance(5, 5, 0.3) == pytest.approx(0.3**5)
    assert at_least_by_chance(1, 4, 0.5) == pytest.approx(1 - 0.5**4)


@pytest.mark.parametrize("seed", range(6))
def test_a_lead_is_seen_before_a_slow_rise_as_well(seed: int) -> None:
    """Single samples of a slow rise leave its line late; the loss counts as risen from where it began."""
    curve = Curve(seed).spike(0.5, 15, rise=40, fall=30)
    assert "grad-norm-precursor" in patterns(grad_norm(curve, lead=16).run())
