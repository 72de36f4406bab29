"""Repeated data proved by its noise: found where it is, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.timeline.timeline_logs import HOUR, log, series

from chronicle.classify import DEFAULTS, classify
from chronicle.classify.resumed import Noise, alike, noise, period, rereads
from chronicle.classify.view import look
from chronicle.story.measured import Axis
from chronicle.story.restarts import restart
from chronicle.timeline import stitch

BATCHES = 0.04 * np.random.default_rng(7).standard_normal(20_000)  # how hard each batch of the data is
SHARE = 0.8  # of the noise that is the batch; the rest is the model


def training(name, steps, batches, seed=0, low=0.0, start=0.0, every=1):
    """A log whose noise is mostly that of its ``batches``; ``low`` is what a replay hides, in nats."""
    steps, batches = np.asarray(steps), np.asarray(batches)
    own = 0.04 * np.random.default_rng(seed).standard_normal(len(steps))
    loss = 2 + 4 / np.sqrt(1 + steps / 50) + SHARE * BATCHES[batches] + (1 - SHARE) * own - low
    attempt = log(name, steps[::every], 0, start)
    return replace(attempt, series={"loss": replace(attempt.series["loss"], values=loss[::every])})


def proofs(*attempts):
    return rereads(look(stitch(list(attempts), order=[a.name for a in attempts]), DEFAULTS))


def patterns(*attempts):
    return classify(stitch(list(attempts))).patterns


def cursor_lost(low=0.0):
    """Killed at step 600; the resume reads from batch 0 again, and new batches from step 1 200 on."""
    return (
        training("a", range(600), range(600), 1),
        training("b", range(600, 2000), range(1400), 2, np.where(np.arange(1400) < 600, low, 0.0), HOUR),
    )


def test_a_cursor_that_began_anew_is_proved_without_any_fall_of_the_loss():
    proof = proofs(*cursor_lost())[1]
    assert (proof.of, proof.pairing.lag_steps, proof.passes) == ("a", 600, 1)
    assert proof.pairing.last_step == pytest.approx(1199, abs=3)
    assert "repeat-data" in patterns(*cursor_lost())


@pytest.mark.parametrize("peak", [0.0, 60.0])
def test_one_spike_at_the_same_place_is_no_proof(peak):
    losses = [training("a", range(600), range(k, k + 600), k).series["loss"] for k in (1000, 2000)]
    spiky = [replace(s, values=s.values + peak * (np.arange(600) == 300)) for s in losses]
    assert alike(*map(noise, spiky), 0, DEFAULTS) is None


def test_the_replay_ends_with_a_jump():
    findings = classify(stitch(list(cursor_lost(0.1)))).findings
    (replay,) = [f for f in findings if f.pattern == "repeat-data"]
    assert replay.start_step == pytest.approx(1200, abs=16)
    assert replay.confidence > 0.95
    assert replay.evidence["data_lag_steps"] == 600
    assert replay.evidence["noise_alike_share"] > 0.7
    assert replay.criteria[-1].name == "noise like that of data read before"


def test_passes_over_one_shard_are_counted_and_each_is_lower():
    shard = np.tile(np.arange(560, 600), 5)  # a loader that starts its shard of 40 batches anew, five times
    steps = np.arange(600, 1400)
    low = np.where(steps < 800, 0.05 * (1 + (steps - 600) // 40), 0.0)
    batches = np.concatenate([shard, np.arange(600, 1200)])
    proof = proofs(training("a", range(600), range(600), 1), training("b", steps, batches, 2, low, HOUR))[1]
    assert (proof.pairing.lag_steps, proof.passes) == (40, 5)
    assert proof.pairing.last_step == pytest.approx(799, abs=15)  # the jump that ends it blurs its end
    assert proof.fall_log == pytest.approx(0.05 / 2.8, rel=0.5)


@pytest.mark.parametrize("every", [1, 2, 5])
def test_sparse_logs_prove_it_too(every):
    new = range(600, 2000), range(1400)
    attempts = training("a", range(600), range(600), 1, every=every), training("b", *new, 2, every=every)
    assert proofs(*attempts)[1].pairing.lag_steps == 600


HEALTHY = {
    "a resume that reads on": (range(600, 1600), range(600, 1600)),
    "a rollback with its cursor": (range(400, 1600), range(400, 1600)),
    "a rollback that skips what it had read": (range(400, 1600), range(600, 1800)),
    "another seed of the data": (range(600, 1600), range(10_000, 11_000)),
}


@pytest.mark.parametrize("what", HEALTHY)
def test_honest_resumes_prove_nothing(what):
    steps, batches = HEALTHY[what]
    attempts = training("a", range(600), range(600), 1), training("b", steps, batches, 2, start=HOUR)
    assert proofs(*attempts) == {}
    assert "repeat-data" not in patterns(*attempts)


@pytest.mark.parametrize(("what", "same"), list(zip(HEALTHY, [False, True, False, False], strict=True)))
def test_a_rollback_says_that_its_cursor_went_back_too(what, same):
    steps, batches = HEALTHY[what]
    attempts = training("a", range(600), range(600), 1), training("b", steps, batches, 2, start=HOUR)
    (join,) = classify(stitch(list(attempts))).joins
    reasons = [w for w in restart(join, Axis()).why if "the same data" in w]
    assert reasons == ["the same data at the same steps (noise alike to 94 % at 200 equal steps)"] * same


@pytest.mark.parametrize("epoch", [25, 200, 450])
def test_epochs_in_the_same_order_are_no_fault_of_a_resume(epoch):
    batches = np.arange(2000) % epoch
    attempts = (
        training("a", range(700), batches[:700], 1),
        training("b", range(700, 1700), batches[700:1700], 2),
    )
    assert proofs(*attempts) == {}


def test_a_first_attempt_proves_nothing():
    assert proofs(training("a", range(1000), np.arange(1000) % 40)) == {}


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(100, 700), st.integers(100, 700), st.floats(0, 0.8))
def test_noise_of_its_own_is_never_a_proof(seed, old, new, memory):
    """Also where it is smoothed, as running means in logs are."""
    rng = np.random.default_rng(seed)
    walk = [np.zeros(old + new)]
    drawn = 0.03 * rng.standard_normal(old + new)
    for k in range(1, old + new):
        drawn[k] += memory * drawn[k - 1]
    y = 3 + drawn + walk[0]
    a = replace(log("a", range(old)), series={"loss": typed(range(old), y[:old])})
    b = replace(log("b", range(old, old + new)), series={"loss": typed(range(old, old + new), y[old:])})
    assert proofs(a, b) == {}


def typed(steps, values):
    return replace(log("x", steps).series["loss"], values=np.asarray(values))


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), max_size=80),
    st.lists(st.integers(0, 2**62), max_size=80),
)
def test_any_series_is_looked_at(values, steps):
    n = min(len(values), len(steps))
    residual = noise(series("loss", sorted(steps[:n]), values[:n]))
    if residual is not None:
        for lag in (0, 1, 2**40):
            pairing = alike(residual, residual, lag, DEFAULTS)
            assert pairing is None or (pairing.lag_steps >= 0 and pairing.share <= 1.0001)
        assert period(residual, DEFAULTS) is None or period(residual, DEFAULTS).lag_steps > 0


def slow_share(old, new, lag):
    """Correlation by the definition, over all pairs at one lag."""
    shared = [(old[k - lag], new[k]) for k in new if k - lag in old]
    x, y = np.array(shared).T
    return float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


@settings(max_examples=examples(30))
@given(st.integers(0, 1000), st.integers(0, 60))
def test_the_correlation_is_that_of_a_slow_twin(seed, lag):
    batches = np.arange(200)
    a = noise(training("a", range(200), batches, seed).series["loss"])
    b = noise(training("b", range(lag, lag + 60), batches[:60], seed + 1).series["loss"])
    likeness = alike(a, b, lag, DEFAULTS)
    by_place = [{residual.first + k: v for k, v in enumerate(residual.values) if v} for residual in (a, b)]
    assert likeness.pairs == 60
    assert likeness.share == pytest.approx(slow_share(*by_place, lag))


def test_two_stretches_without_a_step_in_common_are_not_alike() -> None:
    """Also where the later one ended before the earlier one began."""
    values = np.sin(np.arange(1000.0))
    earlier, later = Noise(500, 1, values), Noise(0, 1, values[:400])
    assert alike(earlier, later, 0, DEFAULTS) is None
