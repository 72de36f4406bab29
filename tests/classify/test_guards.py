"""What a rule asks besides its evidence: each test is a false alarm if that question is taken away."""

from __future__ import annotations

import numpy as np
import pytest
from tests.classify.asking import diagnosis, findings, patterns
from tests.curves import Curve, Run, runs
from tests.curves.series import grad_norm, learning_rate
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.report import numbered
from chronicle.classify.rules.slow_changes import last_block
from chronicle.classify.thresholds import DEFAULTS
from chronicle.model import Floats, Role, Verdict
from chronicle.timeline import stitch

SEEDS = pytest.mark.parametrize("seed", few([1, 2, 3], 1))


@SEEDS
def test_a_calm_log_of_fine_decimals_is_not_quantised(seed: int) -> None:
    """Few values because hardly anything happens: they stand closer than a thousandth of the loss."""
    c = Curve(seed, 4000)
    c.trend[:], c.spread[:] = np.log(2.0), 1e-4
    c.after.append(lambda values: np.round(values, 5))
    assert "quantised-loss" not in patterns(c.run())


@pytest.mark.parametrize(("rise", "turned"), [(0.05, False), (0.12, True)])
def test_a_loss_that_has_risen_as_much_and_come_back_has_not_turned(rise: float, turned: bool) -> None:
    steps = np.arange(640)
    y = (
        -1e-4 * steps
        + np.where((steps >= 160) & (steps < 240), 0.05, 0.0)
        + np.where(steps >= 480, rise, 0.0)
    )
    assert (last_block(DEFAULTS, steps, y, 8, 1e-3) is not None) is turned


@SEEDS
def test_zeros_are_no_news_in_a_loss_that_crosses_zero(seed: int) -> None:
    c = grad_norm(Curve(seed))
    c.render = lambda trend, off: 2.0 - np.exp(trend) + off
    c.raw |= dict.fromkeys(range(1970, 2000), 0.0)
    c.extra["grad_norm"][1][1970:] = np.nan
    assert "nan-inf" not in patterns(c.run())


@SEEDS
def test_standing_still_long_after_the_rate_came_down_is_no_plateau(seed: int) -> None:
    c = learning_rate(Curve(seed, gain=12, decay=0.5))
    c.extra["lr"][1][400:] *= 0.05
    assert "plateau" not in patterns(c.flat(0.5).run())


@SEEDS
def test_scores_that_are_never_good_have_understood_nothing(seed: int) -> None:
    c, t = Curve(seed, 1000), np.arange(1000.0)
    c.log("accuracy", Role.SCORE, 0.6 - 0.5 * np.exp(-t / 10))
    c.log("val_accuracy", Role.VALIDATION_SCORE, 0.1 + 0.3 / (1 + np.exp((600 - t) / 20)))
    assert "grokking" not in patterns(c.run())


@SEEDS
def test_two_dozen_samples_that_are_higher_are_no_new_level(seed: int) -> None:
    c = Curve(seed, 3000, noise=0.02, rho=0.0)
    c.lift[1500:1524] += 2.5 * c.scale
    assert "level-shift" not in patterns(c.run())


@SEEDS
def test_half_the_rate_after_a_rollback_is_a_remedy(seed: int) -> None:
    def change(c: Curve, k: int) -> None:
        c.log("lr", Role.LEARNING_RATE, np.full(c.n, 1.5e-4 if k else 3e-4))

    assert "lr-not-restored" not in patterns(runs.training(seed, ((0, 1000), (800, 1600)), change))


@pytest.mark.parametrize(("climbs_in", "restored"), [(1, False), (6, True)])
def test_a_pause_in_a_steep_climb_is_no_other_process(climbs_in: int, restored: bool) -> None:
    c = Curve(1)
    c.seconds = c.seconds + np.where(np.arange(c.n) >= 1000, 600.0, 0.0)
    climbed = np.clip((np.arange(c.n) - 1000 + climbs_in // 2 + 1), 0, climbs_in)
    c.log("lr", Role.LEARNING_RATE, 3e-4 * 2.0**climbed)
    assert ("lr-not-restored" not in patterns(c.run())) is restored


@SEEDS
def test_two_joins_together_show_what_neither_shows_for_certain(seed: int) -> None:
    starts = [f.start_step for f in findings(runs.resume_spikes(seed, 4.0), "resume-spike")]
    assert starts == [800, 1500]


@SEEDS
def test_a_short_attempt_whose_line_fits_anything_excuses_no_jump(seed: int) -> None:
    """The second of three attempts has 16 points that rise by chance, and its vague line meets the third."""

    def change(c: Curve, k: int) -> None:
        if k == 1:
            c.lift += 0.6 * c.scale * np.arange(c.n)
        if k == 2:
            c.lift += 12 * c.scale * c.pulse(0, 1, 15)

    attempts = runs.training(seed, ((0, 800), (784, 800), (800, 1500)), change).attempts
    d = classify(stitch(attempts, order=[a.name for a in attempts], relation="attempts"))
    spikes = [f for f in d.findings if f.pattern == "resume-spike"]
    assert ("attempt-3", 800) in {(f.attempt, f.start_step) for f in spikes}


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_a_gradient_norm_that_rises_all_the_time_leads_nothing(seed: int) -> None:
    c = Curve(seed)
    for at in (0.3, 0.5, 0.7, 0.9):
        c.spike(at, 20)
    norm = grad_norm(c).extra["grad_norm"][1]
    for a in np.random.default_rng(seed).integers(100, 1950, 20).tolist():
        norm *= np.exp(np.log(6) * c.pulse(a, 2, 6))
    assert "grad-norm-precursor" not in patterns(c.run())


@SEEDS
def test_slow_rises_of_two_data_sets_are_one_event_if_they_overlap(seed: int) -> None:
    c = Curve(seed)
    for name, at in (("web", 1000), ("code", 1040)):
        own = c.trend + c.own_noise(0.01) + 0.4 * c.pulse(at, 20, 120)
        c.log(f"loss/{name}", Role.DATASET_LOSS, np.exp(own), dataset=name)
    assert [f.evidence["data_sets"] for f in findings(c.run(), "multi-dataset-spike")] == [
        ["loss/code", "loss/web"]
    ]


@pytest.mark.parametrize(("spikes", "verdict"), [((0.5,), Verdict.GOOD), ((0.3, 0.5, 0.7), Verdict.WORRYING)])
def test_one_fast_spike_is_good_and_several_in_a_short_run_worry(
    spikes: tuple[float, ...], verdict: Verdict
) -> None:
    c = Curve(1)
    for at in spikes:
        c.spike(at, 20, fall=4)
    run: Run = c.run()
    assert diagnosis(run).verdict is verdict


@pytest.mark.parametrize(("residue", "verdict"), [(0.2, Verdict.WORRYING), (0.4, Verdict.BAD)])
def test_a_spike_that_is_nearly_back_worries_and_is_not_bad(residue: float, verdict: Verdict) -> None:
    run = Curve(1).spike(0.5, 40, fall=6, residue=residue).run()
    assert patterns(run) == {"spike-no-full-recovery"} and diagnosis(run).verdict is verdict


@pytest.mark.parametrize(("end", "verdict"), [(1.0, Verdict.GOOD), (0.3, Verdict.BAD)])
def test_scores_that_rose_and_fell_again_make_no_run_good(end: float, verdict: Verdict) -> None:
    score = np.where(np.arange(100) < 60, 1 - np.exp(-np.arange(100) / 20), end)
    assert classify({"accuracy": score}).verdict is verdict


def test_two_findings_of_one_name_and_place_have_an_id_each() -> None:
    spikes = findings(Curve(1).spike(0.3, 20).run(), "spike-fast-recovery")
    ids = [f.id for f in numbered(spikes * 3, "~")]
    assert ids == [spikes[0].id, f"{spikes[0].id}~2", f"{spikes[0].id}~3"]


@pytest.mark.parametrize(
    ("at", "validation", "verdict"),
    [
        (0.3, None, Verdict.BAD),
        (0.3, 0.2, Verdict.BAD),
        (0.3, 0.02, Verdict.WORRYING),  # it is the data, or how the loss is counted
        (0.8, None, Verdict.WORRYING),  # it may come down yet
    ],
)
def test_a_higher_level_is_bad_where_it_lasts_and_validation_has_it_too(
    at: float, validation: float | None, verdict: Verdict
) -> None:
    steps, rng = np.arange(2000), np.random.default_rng(0)
    fall, up = 2 + 3 / np.sqrt(1 + steps / 20), steps >= 2000 * at
    columns = {"loss": (steps, fall * np.exp(0.2 * up + 0.01 * rng.standard_normal(2000)))}
    if validation is not None:
        columns["val_loss"] = (steps[::50], (fall * np.exp(validation * up))[::50])
    judged = classify(columns)
    assert ("level-shift" in judged.patterns, judged.verdict) == (True, verdict)


def jump(seed: int, then: Floats) -> Floats:
    """A falling loss that is up by one log unit from sample 600 on, and then follows ``then`` [log]."""
    i = np.arange(600 + len(then))
    log = np.log(2 + 6 / np.sqrt(1 + i / 30)) + 0.01 * np.random.default_rng(seed).standard_normal(len(i))
    log[600:] += 1 + then
    return np.exp(log)


@SEEDS
def test_a_spike_has_a_far_side(seed: int) -> None:
    """What jumps and stays, or jumps and climbs, is a divergence without a spike."""
    back, climb = -0.5 * (1 - np.exp(-np.arange(200) / 5)), np.linspace(0, 1, 200)

    def patterns_after(then: Floats) -> set[str]:
        return set(classify({"loss": jump(seed, then)}).patterns) - {"failed-run"}

    assert patterns_after(np.zeros(200)) == {"divergence-no-spike"}
    assert patterns_after(climb) == {"divergence-no-spike"}
    assert patterns_after(np.r_[climb[:20], np.full(20, np.nan)]) == {"divergence-no-spike", "nan-inf"}
    assert patterns_after(np.r_[back[:20], np.full(20, np.nan)]) == {"divergence-after-spike", "nan-inf"}
    assert "divergence-after-spike" in patterns_after(back + 2 * climb)


@SEEDS
def test_a_far_side_is_seen_where_a_loss_crosses_zero(seed: int) -> None:
    """A reward that is subtracted: from -1 up to 1, and half of the way back, or not."""
    i, noise = np.arange(800), 0.02 * np.random.default_rng(seed).standard_normal(800)
    stays = np.where(i < 600, -1.0, 1.0) + noise
    back = stays - (i >= 620) + 3e-3 * np.maximum(i - 700, 0)
    assert "divergence-after-spike" not in classify({"loss": stays}).patterns
    assert "divergence-after-spike" in classify({"loss": back}).patterns


@SEEDS
def test_what_a_later_event_adds_is_not_left_over_of_an_earlier_one(seed: int) -> None:
    """A spike of which a tenth is left when the loss jumps for good is the beginning of that divergence."""
    then = np.r_[-0.9 * (1 - np.exp(-np.arange(200) / 10)), np.full(200, 0.5)]
    first, second = (f for f in classify({"loss": jump(seed, then)}).findings if f.pattern != "failed-run")
    assert (first.start_step, first.pattern) == (600, "divergence-after-spike")
    assert (second.start_step, second.pattern) == (800, "divergence-no-spike")
    assert first.evidence["residual_log"] == pytest.approx(0.1, abs=0.02)
    assert second.evidence["residual_log"] == pytest.approx(1.4, abs=0.1)


@SEEDS
def test_a_step_to_a_value_that_never_changes_again_is_no_level(seed: int) -> None:
    loss = jump(seed, np.full(100, -0.5))
    assert "level-shift" in classify({"loss": loss}).patterns
    loss[600:] = loss[600]
    assert {"divergence-no-spike", "frozen-metric"} <= set(classify({"loss": loss}).patterns)


@pytest.mark.parametrize("points", [8, 15, 16])
def test_few_points_are_said_to_be_few(points: int) -> None:
    judged = classify({"loss": np.linspace(3, 2, points)})
    few = f"Good so far: nothing stood out in {points} points, which are too few to call a run healthy."
    good = "Good: nothing stood out, and nothing worrying was found on the live course."
    assert (judged.verdict, judged.because) == (Verdict.GOOD, few if points < 16 else good)


def test_a_loss_that_only_rounding_moves_is_frozen() -> None:
    """A total in single precision goes to and fro between two neighbours."""
    loss = np.where(np.arange(200) % 3 == 1, 270.13504028, 270.1350708)
    assert classify({"total_loss": loss}).verdict == "bad"
    assert "frozen-metric" in classify({"total_loss": loss}).patterns
    moving = 270.13504028 * (1 - 3e-7 * np.arange(200))
    assert "frozen-metric" not in classify({"total_loss": moving}).patterns


@SEEDS
@pytest.mark.parametrize(("tail_degrees", "is_named"), [(2.5, False), (30.0, True)])
def test_a_high_sample_is_a_spike_where_the_others_of_its_log_are_not_as_wild(
    seed: int, tail_degrees: float, is_named: bool
) -> None:
    """Small batches: of noise with heavy tails one sample of thousands is always far out."""
    c = Curve(seed, 3000, every=10, noise=0.05, rho=0.0, df=tail_degrees)
    c.noise[1699:1704] = 0.0
    c.lift[1701] = 20 * 0.05
    spikes = [f.start_step for f in diagnosis(c.run()).findings if f.pattern == "spike-fast-recovery"]
    assert (17010 in spikes) is is_named


@SEEDS
@pytest.mark.parametrize(("others", "verdict"), [(25.0, "good"), (0.0, "bad")])
def test_a_log_ends_with_a_small_batch_if_others_were_as_far_out(
    seed: int, others: float, verdict: str
) -> None:
    """The last batch of each epoch holds few samples, and a log ends with an epoch."""
    c = Curve(seed, 1200, noise=0.03)
    c.lift[59:-1:60] = others * 0.03 * np.resize([1.0, -1.0], 19)
    c.lift[-1] = 24 * 0.03
    assert str(diagnosis(c.run()).verdict) == verdict


def test_a_running_mean_wanders_without_a_slow_spike() -> None:
    """Of a mean over fifty samples any stretch differs so from those beside it."""
    rng, mean = np.random.default_rng(3), np.empty(3000)
    samples = (1.0 + 2.0 / (1.0 + np.arange(3000) / 50)) * np.exp(0.3 * rng.standard_normal(3000))
    mean[0] = samples[:20].mean()
    for i in range(1, 3000):
        mean[i] = mean[i - 1] + 0.02 * (samples[i] - mean[i - 1])
    assert not [f.pattern for f in classify({"loss": mean}).findings if "recovery" in f.pattern]


def test_a_loss_that_is_printed_with_two_decimals_does_not_rise_from_zero() -> None:
    """0.00 and 0.01 are the same loss, rounded."""
    rng, t = np.random.default_rng(3), np.arange(1000) / 1000
    loss = np.round(3.0 * np.exp(-7.0 * t + (0.05 + 0.5 * t) * rng.standard_normal(1000)), 2)
    assert (loss == 0.0).any()
    assert not [f.pattern for f in classify({"loss": loss}).findings if f.start_step > 700]
