"""Loss scale, attention logits and output logits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.classify.asking import diagnosis, findings, near, patterns
from tests.curves import Curve
from tests.curves.series import logits, loss_scale

from chronicle.classify import classify
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Finding, Role, Series
from chronicle.timeline import stitch


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("at", [0.3, 0.9])
def test_a_collapse_of_the_loss_scale_is_seen_where_it_begins(every: int, at: float) -> None:
    run = loss_scale(Curve(1, every=every), collapse_at=at).run()
    assert near(run, "loss-scale-collapse", 3 * every) and diagnosis(run).verdict == "bad"


def test_the_halvings_of_a_scale_are_counted_over_its_whole_fall() -> None:
    """From 2^16 to 2^4 by nine halvings at once, two doublings, and five halvings far later."""
    power = np.full((curve := Curve(1, 800)).n, 16.0)
    power[300:309], power[309:], power[330:], power[345:] = 16 - np.arange(1, 10), 7, 8, 9
    power[500:505], power[505:] = 9 - np.arange(1, 6), 4
    curve.log("loss_scale", Role.LOSS_SCALE, 2.0**power)
    (collapse,) = [f for f in classify(curve.run().attempts).findings if f.pattern == "loss-scale-collapse"]
    measured = [collapse.evidence[key] for key in ("halvings", "halved", "scale_before", "lowest_scale")]
    assert measured == [9.0, 14.0, 65_536.0, 16.0]
    assert (collapse.start_step, collapse.peak_step) == (300, 504)


def test_the_search_for_the_first_scale_and_a_lone_halving_are_normal() -> None:
    """Twelve halvings in the first twelve samples; later one up and one down in a thousand."""
    assert patterns(loss_scale(Curve(2, 4000), warmup=20).run()) == set()


@pytest.mark.parametrize(("later", "is_found"), [(0, False), (6, True)], ids=["stays", "falls again"])
def test_the_search_for_the_first_scale_may_take_longer_than_a_tenth_of_a_short_log(
    later: int, is_found: bool
) -> None:
    """From 2^32 to 2^17 in the first fifteen of 100 samples; half way it stays, or is halved six times."""
    curve = Curve(4, 100)
    power = 32.0 - np.minimum(np.arange(curve.n), 15) - np.clip(np.arange(curve.n) - 50, 0, later)
    curve.log("loss_scale", Role.LOSS_SCALE, 2.0**power)
    assert ("loss-scale-collapse" in patterns(curve.run())) is is_found


def test_a_scale_that_ends_below_one_is_a_collapse_even_from_the_start() -> None:
    curve = Curve(3)
    curve.log("loss_scale", Role.LOSS_SCALE, 2.0 ** (8 - np.arange(curve.n) / 100))
    assert "loss-scale-collapse" in patterns(curve.run())


def test_a_scale_that_halves_once_in_hundred_samples_has_not_collapsed() -> None:
    curve = Curve(3)
    curve.log("loss_scale", Role.LOSS_SCALE, 2.0 ** (32 - np.arange(curve.n) // 100))
    assert patterns(curve.run()) == set()


@pytest.mark.parametrize(
    ("last", "is_found"), [(0, False), (8, True)], ids=["found its level", "falls again"]
)
def test_a_scale_that_doubles_as_often_as_it_halves_has_not_collapsed(last: int, is_found: bool) -> None:
    """From 2^7 it falls to one within fifty samples and stays about there; at the end it falls once more."""
    curve = Curve(3)
    power = 7.0 - np.minimum(np.arange(curve.n) / 7, 7).astype(int) - (np.arange(curve.n) // 20 % 2)
    power[-20:] -= last
    curve.log("loss_scale", Role.LOSS_SCALE, 2.0**power)
    assert ("loss-scale-collapse" in patterns(curve.run())) is is_found


@pytest.mark.parametrize("end", [150, 400, 5000])
@pytest.mark.parametrize("points", [200, 2000])
def test_growing_attention_logits(end: float, points: int) -> None:
    run = logits(Curve(4, points), attention_end=end).run()
    (finding,) = findings(run, "attention-logit-growth")
    assert finding.evidence["last_logit"] == pytest.approx(end, rel=0.3)
    assert 0.2 * points <= finding.start_step <= 0.6 * points


def test_severity_rises_with_the_logit() -> None:
    ends = [
        findings(logits(Curve(4), end).run(), "attention-logit-growth")[0].severity for end in (150, 1e3, 1e4)
    ]
    assert ends == sorted(ends) and ends[0] < ends[-1]


@pytest.mark.parametrize("end", [30, 60, 90])
def test_logits_of_small_models_idle_below_a_hundred(end: float) -> None:
    assert patterns(logits(Curve(5), attention_end=end).run()) == set()


def test_logits_that_grow_fast_are_told_one_doubling_before_they_are_high() -> None:
    """What is either of two conditions is no necessary criterion, and both say on which side they lie."""
    curve = logits(Curve(5))
    curve.log("max_attention_logit", Role.ATTENTION_LOGIT, 0.5 * 150 ** (np.arange(curve.n) / curve.n))
    (finding,) = findings(curve.run(), "attention-logit-growth")
    criteria = [(c.name, c.threshold, c.met) for c in finding.criteria]
    assert criteria[0] == ("largest logit at the end", "> 50, one doubling away", True)


def test_high_logits_that_stand_still_are_no_growth() -> None:
    curve = logits(Curve(5))
    curve.log("max_attention_logit", Role.ATTENTION_LOGIT, 150 + curve.own_noise(3.0))
    assert patterns(curve.run()) == set()


@pytest.mark.parametrize("drift", [-12.0, 8.0, 30.0])
def test_a_drift_of_the_output_logits_either_way(drift: float) -> None:
    (finding,) = findings(logits(Curve(6), output_drift=drift).run(), "output-logit-drift")
    assert finding.evidence["drift_nats"] == pytest.approx(drift, rel=0.15)


@pytest.mark.parametrize("drift", [0.0, 1.0, -2.0])
def test_output_logits_that_stay_about_where_they_were(drift: float) -> None:
    assert patterns(logits(Curve(7), output_drift=drift).run()) == set()


def test_output_logits_that_shoot_past_where_they_end_have_drifted() -> None:
    """A z-loss of the wrong sign: log Z jumps from 4 to 800, and comes back by half of it."""
    level = np.interp(np.arange(700), [0, 280, 310, 699], [3.3, 6.7, 800.0, 440.0])
    noise = np.random.default_rng(4).standard_normal((2, 700))
    judged = classify({"loss": 2.0 + 0.05 * noise[0], "log_z": level * (1 + 0.01 * noise[1])})
    assert "output-logit-drift" in judged.patterns


@pytest.mark.parametrize("digits", [5, 6])
def test_bfloat16_is_told_from_values_of_a_few_digits(digits: int) -> None:
    loss = 1.2 + np.exp(-np.arange(600) / 90 + 0.1 * np.random.default_rng(5).standard_normal(600))
    mantissa, exponent = np.frexp(loss)
    halves = np.ldexp(np.rint(mantissa * 256) / 256, exponent)
    printed = {
        name: [float(f"{v:.{digits}g}") for v in values] for name, values in (("a", halves), ("b", loss))
    }
    assert "quantised-loss" in classify({"loss": np.array(printed["a"])}).patterns
    assert "quantised-loss" not in classify({"loss": np.array(printed["b"])}).patterns


STEPS = np.arange(600)
LOSSES = 2.0 + np.exp(-STEPS / 100) + 0.01 * np.random.default_rng(2).normal(size=600)
NORMS = 3.0 * np.exp(0.2 * np.random.default_rng(3).normal(size=600))


def clipping(stated: dict[str, object], **logged: NDArray[np.float64]) -> list[Finding]:
    series = {"loss": LOSSES, **logged}
    columns = {name: Series(name, Role.OTHER, STEPS, v, STEPS.astype(float)) for name, v in series.items()}
    log = Attempt("a", ("a",), assign(columns), facts=stated)
    return [f for f in classify(stitch([log])).findings if f.pattern == "clip-saturation"]


@pytest.mark.parametrize(
    ("stated", "logged"),
    [
        pytest.param({"config/max_grad_norm": 1.0}, {"grad_norm": NORMS}, id="above the limit"),
        pytest.param(
            {"config/trainer/gradient_clip_val": 1.0}, {"grad_norm": NORMS}, id="by Lightning's name"
        ),
        pytest.param({}, {"grad_clip_fraction": np.full(600, 0.97)}, id="a share"),
        pytest.param({}, {"clip": np.full(600, 98.0), "gnorm": NORMS}, id="per cent, as fairseq has it"),
        pytest.param({}, {"grad_norm": np.minimum(NORMS, 2.1)}, id="logged after clipping"),
        pytest.param({"config/clip_grad": 2.1}, {"grad_norm": np.minimum(NORMS, 2.1)}, id="both"),
    ],
)
def test_clipping_at_every_step(stated: dict[str, object], logged: dict[str, NDArray[np.float64]]) -> None:
    (saturation,) = clipping(stated, **logged)
    assert saturation.start_step == 0 and saturation.evidence["clipped_share"] > 0.95


@pytest.mark.parametrize(
    ("stated", "logged"),
    [
        pytest.param({"config/max_grad_norm": 3.5}, {"grad_norm": NORMS}, id="half of the time"),
        pytest.param({}, {"grad_norm": NORMS}, id="no limit is known"),
        pytest.param({"config/max_grad_norm": 0}, {"grad_norm": NORMS}, id="0 is no clipping"),
        pytest.param({"config/clip_ratio": 0.2}, {"grad_norm": NORMS}, id="another thing that is clipped"),
        pytest.param({}, {"grad_norm": np.full(600, 1.0)}, id="a norm that never was another"),
        pytest.param({}, {"clip": np.linspace(100, 50, 600)}, id="less and less"),
        pytest.param({"config/max_grad_norm": "1.0"}, {"grad_norm": NORMS}, id="a limit in words"),
        pytest.param({"config/clip_grad": True}, {"grad_norm": NORMS}, id="a switch is no limit"),
    ],
)
def test_no_clip_saturation(stated: dict[str, object], logged: dict[str, NDArray[np.float64]]) -> None:
    assert not clipping(stated, **logged)


def test_clipping_is_told_from_where_it_always_holds() -> None:
    grown = NORMS * np.where(STEPS < 200, 0.1, 1.0)
    (saturation,) = clipping({"config/max_grad_norm": 1.0}, grad_norm=grown)
    assert 190 <= saturation.start_step <= 210
