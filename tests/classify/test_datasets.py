"""Spikes of single data sets, and bumps that are the mixture of the batch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import findings, near, patterns
from tests.curves import Curve
from tests.curves.series import datasets, ratio
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.rules.loss_shapes import SPIKES

KINDS = {
    "plain": {},
    "noisy": {"noise": 0.05},
    "sparse": {"points": 400, "every": 50},
    "quiet": {"noise": 0.004},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("height", [12, 30])
def test_a_spike_of_all_data_sets_is_one_simultaneous_event(kind: str, height: float) -> None:
    run = datasets(Curve(5, **KINDS[kind]).spike(0.5, height)).run()
    (finding,) = findings(run, "multi-dataset-spike")
    assert finding.evidence["kind"] == "simultaneous" and finding.metric is None
    assert finding.evidence["data_sets"] == ["loss/books", "loss/code", "loss/web"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", few([1, 2], 1))
def test_a_spike_of_one_data_set_names_it(kind: str, seed: int) -> None:
    run = datasets(Curve(seed, **KINDS[kind]).spike(0.5, 30), spiking=["code"]).run()
    (finding,) = findings(run, "multi-dataset-spike")
    assert (finding.metric, finding.evidence["kind"]) == ("loss/code", "single")
    assert finding.evidence["data_sets"] == ["loss/code"] and finding.evidence["of"] == 3
    spikes = (f for pattern in SPIKES for f in findings(run, pattern))
    shapes = [f for f in spikes if f.metric == "loss/code"]
    assert [f.start_step for f in shapes] == [finding.start_step]  # how it came back, beside whose it was


@pytest.mark.parametrize(("at", "named"), [(0.03, False), (0.5, True)])
def test_a_spike_of_one_data_set_in_the_start_up_is_no_event(at: float, named: bool) -> None:
    run = datasets(Curve(1, noise=0.05).spike(at, 30), spiking=["code"]).run()
    assert (len(findings(run, "multi-dataset-spike")) == 1) == named


def test_two_spikes_far_apart_are_two_events() -> None:
    run = datasets(Curve(4).spike(0.3, 20).spike(0.7, 20)).run()
    assert len(findings(run, "multi-dataset-spike")) == 2


def test_healthy_data_sets_and_one_data_set_alone_are_no_event() -> None:
    assert patterns(datasets(Curve(3)).run()) == set()
    assert "multi-dataset-spike" not in patterns(datasets(Curve(3).spike(0.5, 20), names=["web"]).run())


def test_a_hump_in_the_first_samples_of_a_data_set_has_no_line_that_it_rises_from() -> None:
    t, noise = np.arange(800) / 800, np.random.default_rng(1).standard_normal((2, 800))
    hard = (0.15 + 0.4 * np.exp(-2 * t)) * np.exp(0.008 * noise[0])
    hard[:8] = [0.44, 0.5, 0.53, 0.53, 0.545, 0.547, 0.548, 0.548]
    losses = {"hard_loss_metric": hard, "full_loss_metric": 0.187 * np.exp(0.003 * noise[1])}
    assert "multi-dataset-spike" not in classify(losses).patterns


@pytest.mark.parametrize("kind", ["plain", "noisy", "sparse"])
@pytest.mark.parametrize("seed", few([1, 2], 1))
def test_a_bump_under_a_skewed_mixture_takes_the_name_of_the_skew(kind: str, seed: int) -> None:
    run = ratio(Curve(seed, **KINDS[kind]), height=12).run()
    assert patterns(run) == {"resume-ratio-skew"} and near(run, "resume-ratio-skew", 5 * run_gap(kind))
    assert findings(run, "resume-ratio-skew")[0].evidence["ratio"] == "mix/images"


def run_gap(kind: str) -> int:
    return KINDS[kind].get("every", 1)


def test_a_real_spike_under_a_skewed_mixture_keeps_its_name() -> None:
    """The single data sets are up as well: then it is not the mixture."""
    curve = datasets(ratio(Curve(6), at=(0.5,), height=0.0).spike(0.5, 25, fall=15))
    assert "resume-ratio-skew" not in patterns(curve.run())


def test_a_ratio_that_changes_without_the_loss_is_no_finding() -> None:
    assert patterns(ratio(Curve(7), height=0.0).run()) == set()


def test_a_ratio_is_asked_again_under_a_bump_of_the_loss() -> None:
    """Its dip is too small to be seen alone (in 2 of 8), and large enough at a place that is known."""
    curves = [ratio(Curve(s), at=(0.6,), depth=0.12, hold=30, height=15) for s in range(8)]
    assert sum("resume-ratio-skew" in patterns(c.run()) for c in curves) >= 5
    calm = [ratio(Curve(s), at=(0.6,), depth=0.0, hold=30, height=15) for s in range(8)]
    assert not any("resume-ratio-skew" in patterns(c.run()) for c in calm)
