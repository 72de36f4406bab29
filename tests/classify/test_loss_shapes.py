"""Worked examples of every loss shape, as a whole diagnosis in words, and laws over many seeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.classify.asking import diagnosis, findings, patterns
from tests.curves import Curve, runs
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.patterns import BY_ID
from chronicle.classify.rules.loss_shapes import RULE
from chronicle.model import Attempt, Diagnosis, Role, Series
from chronicle.timeline import stitch

UNITS = ("_log", "_steps", "_samples", "_loss", "_scales", "_share")


def summary(d: Diagnosis) -> list[str]:
    """The reason of the verdict, then pattern, metric, start, peak and end of each finding."""
    return [
        d.because,
        *(f"{f.pattern} {f.metric} {f.start_step} {f.peak_step} {f.end_step}" for f in d.findings),
    ]


EXAMPLES = {
    "healthy": (
        Curve(1),
        "Good: nothing stood out, and nothing worrying was found on the live course.",
        "near-perfect loss 0 None 1999",
    ),
    "noisy": (
        Curve(1, noise=0.1),
        "Good: nothing stood out, and nothing worrying was found on the live course.",
        "noisy-healthy loss 0 None 1999",
    ),
    "fast": (
        Curve(1).spike(0.5, 20, rise=2, fall=8),
        "Good: 1 spike came back fast, and nothing worrying was found on the live course.",
        "spike-fast-recovery loss 1000 1001 1014",
        "near-perfect loss 0 None 1999",
    ),
    "slow": (
        Curve(1).spike(0.5, 30, rise=2, fall=150),
        "Worrying: Slow-recovering spike in loss from step 1\u202f000.",
        "spike-slow-recovery loss 1000 1001 1303",
    ),
    "not fully": (
        Curve(1).spike(0.5, 40, rise=2, fall=15, residue=0.4),
        "Bad: Spike, not fully recovered in loss from step 1\u202f000.",
        "spike-no-full-recovery loss 1000 1001 None",
    ),
    "shift": (
        Curve(1).shift(0.5, 10),
        "Worrying: Level shift in loss from step 1\u202f000.",
        "level-shift loss 1000 1112 None",
    ),
    "tall shift": (
        Curve(1).shift(0.5, 30),
        "Worrying: Level shift in loss from step 1\u202f000.",
        "level-shift loss 1000 1112 None",
    ),
    "diverges": (
        Curve(1).diverge(0.5, 60),
        "Bad: Divergence without a spike in loss from step 1\u202f071.",
        "divergence-no-spike loss 1071 1996 None",
    ),
    "diverges after a spike": (
        Curve(1).diverge(0.5, 60, spike=40),
        "Bad: Divergence after a spike in loss from step 1\u202f000, and 1 more.",
        "divergence-after-spike loss 1000 1001 None",
        "divergence-no-spike loss 1169 1996 None",
    ),
    "nan": (
        Curve(1).nan(0.8, 400),
        "Bad: NaN or Inf in loss from step 1\u202f600.",
        "nan-inf loss 1600 1600 None",
    ),
    "frozen": (
        Curve(1).freeze(0.5, 200),
        "Bad: Frozen metric in loss from step 1\u202f000.",
        "frozen-metric loss 1000 None 1199",
    ),
    "bfloat16": (
        Curve(1).quantise(),
        "Good: nothing stood out, and nothing worrying was found on the live course.",
        "quantised-loss loss 0 None 1999",
        "near-perfect loss 0 None 1999",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    curve, *expected = EXAMPLES[name]
    assert summary(diagnosis(curve.run())) == expected


def test_the_reason_counts_as_the_log_does() -> None:
    """A finding at epoch 1000 was said to begin at step 1000."""
    (log,) = Curve(1).freeze(0.5, 200).run().attempts
    assert (
        classify([replace(log, axis="epoch")]).because == "Bad: Frozen metric in loss from epoch 1\u202f000."
    )


def test_every_criterion_of_a_finding_says_what_was_measured() -> None:
    (finding,) = findings(Curve(1).spike(0.5, 20, rise=2, fall=8).run(), "spike-fast-recovery")
    assert [(c.name, c.value, c.unit, c.threshold, c.met) for c in finding.criteria] == [
        ("height over the trend", 0.19459, "log units", ">= 0.025", True),
        ("evidence", 20.658, "noise scales", ">= 15 or two samples beyond the tail", True),
        ("gained in one jump", 0.86263, "of the height", ">= 0.6", True),
        (
            "left of the height",
            0.14906,
            "of the height",
            "<= 0.15, at most 0.03 log units; or 0.8 noise scales",
            True,
        ),
        ("recovery", 14, "steps", "<= 150, or 10 samples", True),
    ]
    assert finding.runner_up == "spike-slow-recovery"
    assert finding.runner_up_if == "it had taken more than 150 steps"


@pytest.mark.parametrize("fall_samples", [1, 2, 4, 8])
@pytest.mark.parametrize("seed", few(range(4), 1))
def test_recovery_is_counted_to_the_sample_that_was_back(fall_samples: int, seed: int) -> None:
    """Not to where a mean that lags behind it came down; 85 % are lost after 1.9 time constants."""
    (finding,) = findings(Curve(seed).spike(0.5, 20, fall=fall_samples).run(), "spike-fast-recovery")
    assert finding.evidence["recovery_steps"] == pytest.approx(1 + 1.9 * fall_samples, abs=4)


@pytest.mark.parametrize(("axis", "pattern"), [("step", "fast"), ("epoch", "slow"), ("token", "slow")])
def test_150_are_few_where_they_are_steps_of_the_optimizer(axis: str, pattern: str) -> None:
    (attempt,) = Curve(3).spike(0.5, 30, fall=20).run().attempts
    names = classify(stitch([replace(attempt, axis=axis)])).patterns
    assert f"spike-{pattern}-recovery" in names


def test_a_loss_that_is_next_to_nothing_after_all_has_not_diverged() -> None:
    """From 3 to 0.02, up to 0.14 and half of the way back: seven times its trend, and 2 % of what it was."""
    rng, n = np.random.default_rng(1), np.arange(600)
    loss = (0.02 + 3 * np.exp(-n / 20) + 0.12 * (n >= 500)) * np.exp(0.05 * rng.standard_normal(600))
    assert classify({"train/loss": loss}).verdict == "worrying"
    assert classify({"train/loss": loss + 1.0 + 2.0 * (n >= 500)}).verdict == "bad"


def test_zeros_beside_a_dead_gradient_norm_are_hidden_nan() -> None:
    rng, loss, norm = np.random.default_rng(0), np.empty(400), np.full(400, 1.0)
    loss[:] = (2 + 3 * np.exp(-np.arange(400) / 50)) * np.exp(0.01 * rng.standard_normal(400))
    loss[300:], norm[300:] = 0.0, math.nan
    assert summary(classify({"train/loss": loss, "grad_norm": norm})) == [
        "Bad: NaN or Inf in train/loss from step 300.",
        "nan-inf train/loss 300 300 None",
    ]


@pytest.mark.parametrize(
    ("n_rows", "pattern"), [(2000, "spike-slow-recovery"), (20_000, "spike-fast-recovery")]
)
def test_where_there_are_more_rows_than_epochs_a_row_is_a_step(n_rows: int, pattern: str) -> None:
    loss = 2 + 0.02 * np.random.default_rng(4).standard_normal(n_rows)
    loss[1000:1040] += np.linspace(1, 0, 40)
    series = Series("loss", Role.LOSS, np.arange(n_rows), loss, np.full(n_rows, np.nan))
    log = Attempt("a", (), {"loss": series}, axis="row")
    assert [f.pattern for f in classify([log]).findings if "spike" in f.pattern] == [pattern]


@pytest.mark.parametrize(
    ("rows", "norm", "is_found"),
    [(2, math.nan, True), (5, math.inf, True), (1, math.nan, False), (5, 0.0, False)],
)
def test_a_few_zeros_are_hidden_nan_where_the_gradient_norm_of_each_is_none(rows, norm, is_found) -> None:
    """What Hugging Face's Trainer writes when it filters NaN, and is stopped a few rows later."""
    loss, norms = Curve(1).loss[:240].copy(), np.ones(240)
    loss[-rows:], norms[-rows:] = 0.0, norm
    assert ("nan-inf" in classify({"loss": loss, "grad_norm": norms}).patterns) is is_found


def test_a_loss_that_is_zero_all_the_while_lost_no_values() -> None:
    assert "nan-inf" not in classify({"loss": np.zeros(100), "grad_norm": np.zeros(100)}).patterns


@pytest.mark.parametrize(
    ("lowest", "zeros", "is_found"),
    [
        (9.0, range(100, 300, 15), True),
        (9.0, range(392, 400), True),
        (9.0, range(104, 400, 5), True),
        (9.0, (100, 200), False),
        (0.02, range(392, 400), False),
    ],
    ids=["among", "at the end", "among and last", "two", "of a loss that was nearly zero"],
)
def test_exact_zeros_of_a_loss_that_is_never_near_zero_are_lost_values(lowest, zeros, is_found) -> None:
    values = lowest + 3 * np.exp(-np.arange(400) / 40)
    values += 0.005 * lowest * np.random.default_rng(0).standard_normal(400)
    values[list(zeros)] = 0.0
    diagnosis = classify({"loss": values})
    assert not {*diagnosis.patterns} - {"nan-inf", "near-perfect", "plateau"}
    assert [f.evidence["zero_samples"] for f in diagnosis.findings if f.pattern == "nan-inf"] == (
        [len(zeros)] if is_found else []
    )


@pytest.mark.parametrize(("first", "is_lost"), [(0, False), (200, True)])
def test_zeros_scattered_over_a_whole_log_are_batches_with_nothing_to_lose(first: int, is_lost: bool) -> None:
    """Images without any object; from a later step on such zeros are lost values."""
    rng, n = np.random.default_rng(0), np.arange(400)
    loss = 9.0 + 3 * np.exp(-n / 40) + 0.05 * rng.standard_normal(400)
    loss[(rng.random(400) < 0.3) & (n >= first)] = 0.0
    assert ("nan-inf" in classify({"loss": loss}).patterns) is is_lost


@pytest.mark.parametrize(("leaves_by", "is_frozen"), [(0.01, False), (0.05, True)])
def test_a_value_that_is_left_by_its_last_printed_digit_is_not_frozen(leaves_by, is_frozen) -> None:
    """Two decimals, of a loss that had been lower before: it falls more slowly than they show."""
    n = np.arange(60)
    fell = 0.8 + 3.0 * np.exp(-n / 8) + 0.02 * np.random.default_rng(0).standard_normal(60)
    settles = 1.15 + 0.3 * np.exp(-np.arange(12) / 2.5)
    loss = np.round(np.r_[fell, settles, np.full(60, 1.15), np.full(30, 1.15 - leaves_by)], 2)
    assert ("frozen-metric" in classify({"loss": loss}).patterns) is is_frozen


def test_a_mean_of_a_few_errors_is_zero_now_and_then() -> None:
    """Twenty answers a batch: zero lies one error below the lowest value, as all values do below the next."""
    errors = np.random.default_rng(0).poisson(2.0 + 18.0 * np.exp(-np.arange(1000) / 200))
    assert np.sum(errors == 0) > 20
    assert "nan-inf" not in classify({"loss": errors / 20}).patterns


def test_zeros_at_the_start_of_a_loss_that_begins_below_its_last_decimal_are_no_lost_values() -> None:
    """A generator whose critic knows nothing yet: its loss is zero, or nearly, and rises."""
    loss = 1.0 + 0.1 * np.random.default_rng(0).standard_normal(400)
    loss[:40] = np.where(np.arange(40) % 4 < 2, 0.0, 3e-8)
    assert "nan-inf" not in classify({"g_loss": loss}).patterns


def test_zeros_of_a_part_are_none_while_the_whole_goes_on() -> None:
    """No object in the batch costs nothing; where the sum is zero as well, values were lost."""
    rng, n = np.random.default_rng(0), np.arange(400)
    boxes, classes = ((1 + np.exp(-n / 50)) * np.exp(0.1 * rng.standard_normal(400)) for _ in range(2))
    boxes[50::30] = 0.0
    zeros = boxes == 0.0
    for total, is_lost in ((boxes + classes, False), (np.where(zeros, 0.0, boxes + classes), True)):
        columns = {
            "loss": (Role.LOSS, total),
            "box": (Role.DATASET_LOSS, boxes),
            "class": (Role.DATASET_LOSS, classes),
        }
        series = {m: Series(m, role, n, v, np.full(400, math.nan)) for m, (role, v) in columns.items()}
        assert ("nan-inf" in classify(stitch([Attempt("a", (), series)])).patterns) is is_lost


def test_a_rise_has_to_rise() -> None:
    """spaCy's log of a healthy training, whose first row is told before anything was learned."""
    loss = [0.25, 4.69, 4.34, 3.92, 3.54, 3.24, 3.00, 2.66, 2.50, 2.20, 2.01]
    assert classify({"loss": np.array(loss)}).patterns == ()


def test_a_rise_is_told_from_the_lowest_level_of_a_loss_that_went_on_falling_first() -> None:
    steps = np.arange(60)
    loss = np.where(steps < 20, 5 - 0.1 * steps, np.where(steps < 30, 3 - 0.03 * (steps - 20), 2.7))
    loss = loss + 0.02 * np.maximum(steps - 30, 0) + 0.005 * np.random.default_rng(0).standard_normal(60)
    (rise,) = classify({"loss": loss}).findings
    assert rise.pattern == "divergence-no-spike"
    assert rise.evidence["before_loss"] == pytest.approx(2.7, abs=0.03)
    assert rise.evidence["peak_loss"] == pytest.approx(3.28, abs=0.03)


@pytest.mark.parametrize(
    ("lost", "found"), [((0, 1), False), ((0, 4), False), ((0, 40), True), ((1, 2), True)]
)
def test_a_mean_of_nothing_yet_is_no_loss_that_went_nan(lost: tuple[int, int], found: bool) -> None:
    loss = 2.0 * np.exp(-np.arange(200) / 100)
    loss[slice(*lost)] = math.nan
    assert ("nan-inf" in classify({"loss": loss, "lr": np.ones(200)}).patterns) is found
    assert "nan-inf" in classify({"loss": np.r_[math.inf, loss], "lr": np.ones(201)}).patterns


@pytest.mark.parametrize(("loss", "found"), [([math.nan] * 3, True), ([2.0, math.nan], True), ([2.0], False)])
def test_a_loss_of_few_points_that_ends_in_nan(loss: list[float], found: bool) -> None:
    assert ("nan-inf" in classify({"loss": loss, "accuracy": [0.3] * len(loss)}).patterns) is found


@pytest.mark.parametrize(("scales", "found"), [([2.0**32, 2.0**31, 2.0**30], False), ([2.0**16] * 3, True)])
def test_steps_that_are_skipped_to_find_a_loss_scale_have_no_loss(scales: list[float], found: bool) -> None:
    rows = {"lm loss": [math.nan] * 3, "loss scale": scales, "accuracy": [0.3] * 3}
    assert ("nan-inf" in classify(rows).patterns) is found


def test_a_row_in_which_every_metric_is_nan_was_never_written() -> None:
    loss, norm = Curve(1).loss.copy(), np.ones(2000)
    loss[::3] = norm[::3] = math.nan
    assert "nan-inf" not in classify({"loss": loss, "grad_norm": norm}).patterns
    assert "nan-inf" in classify({"loss": loss, "grad_norm": np.ones(2000)}).patterns


def test_what_an_update_yields_is_nan_where_none_came_before_a_row() -> None:
    """Every other row of an agent, up to the last one; and every row from the middle on."""
    reward = np.linspace(0, 9, 400) + 0.5 * np.random.default_rng(2).standard_normal(400)
    loss, entropy = np.full(400, 0.5), np.linspace(1.4, 0.9, 400)
    between, lost = np.arange(400) % 2 == 1, np.arange(400) >= 200
    for nan, found in ((between, False), (lost, True)):
        series = {"policy_loss": loss, "value_loss": loss, "entropy": entropy}
        logged = {name: np.where(nan, math.nan, values) for name, values in series.items()}
        assert ("nan-inf" in classify({"mean_reward": reward, **logged}).patterns) is found
        assert "nan-inf" in classify({"mean_reward": reward, **logged, "value_loss": loss}).patterns


@pytest.mark.parametrize("rows", [1, 5, 400])
def test_rows_of_nan_up_to_the_end_are_a_training_that_went_nan(rows: int) -> None:
    loss, held_out = Curve(1).loss.copy(), Curve(2).loss.copy()
    loss[-rows:] = held_out[-rows:] = math.nan
    (nan,) = [f for f in classify({"loss": loss, "val_loss": held_out}).findings if f.pattern == "nan-inf"]
    assert nan.start_step == 2000 - rows
    loss[700:1100] = held_out[700:1100] = math.nan  # rows of which nobody wrote as many before
    assert "nan-inf" not in classify({"loss": loss, "val_loss": held_out}).patterns


def test_a_run_whose_attempts_all_die_has_failed_and_one_that_never_learns_too() -> None:
    assert "failed-run" in patterns(runs.all_fail(1))
    flat = 2.3 + 0.01 * np.random.default_rng(0).standard_normal(400)
    assert summary(classify({"loss": flat}))[1:] == ["failed-run loss 0 None None"]
    assert "failed-run" not in patterns(runs.rollback(1))


@pytest.mark.parametrize("seed", few(range(5), 1))
@pytest.mark.parametrize("noise", [0.004, 0.01, 0.03])
@pytest.mark.parametrize(
    "kind", ["spike-fast-recovery", "spike-slow-recovery", "level-shift", "divergence-no-spike"]
)
def test_what_was_injected_is_named_where_it_was_injected(kind: str, noise: float, seed: int) -> None:
    curve = Curve(seed + 20, noise=noise)
    tall = 0.25 / noise  # the same height in log units, well above every noise here
    made = {
        "spike-fast-recovery": lambda: curve.spike(0.5, tall, rise=2, fall=6),
        "spike-slow-recovery": lambda: curve.spike(0.5, tall, rise=2, fall=120),
        "level-shift": lambda: curve.shift(0.5, tall),
        "divergence-no-spike": lambda: curve.diverge(0.5, 4 * tall),
    }[kind]().run()
    (finding,) = findings(made, kind)
    assert abs(finding.start_step - made.events[0].start_step) <= (120 if "diverg" in kind else 3)


@pytest.mark.parametrize("points,every", [(60, 100), (300, 50), (2000, 1), (20000, 1)])
def test_healthy_curves_of_any_length_raise_no_alarm(points: int, every: int) -> None:
    alarms = set(RULE.patterns) | {"failed-run"}
    seeds = range(2 if points > 10_000 else 8)
    named = [patterns(Curve(s, points, every=every, noise=0.01, df=5).run()) & alarms for s in seeds]
    assert named == [set()] * len(named)


@pytest.mark.parametrize("seed", range(4))
def test_a_flat_loss_with_wandering_noise_does_not_diverge(seed: int) -> None:
    assert not {
        p for p in patterns(Curve(seed, rho=0.9, noise=0.02).flat(0.1).run()) if p.startswith("diverg")
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_findings_are_whole(name: str) -> None:
    for f in diagnosis(EXAMPLES[name][0].run()).findings:
        assert f.criteria and f.runner_up in BY_ID and f.runner_up_if
        assert 0 <= f.severity <= 1 and 0 < f.confidence <= 1
        if f.pattern in RULE.patterns and f.pattern not in ("nan-inf", "frozen-metric"):
            assert [k for k in f.evidence if not k.endswith(UNITS)] == []


@pytest.mark.parametrize(
    ("validation", "first", "frozen"), [(True, 1.0, False), (False, 1.0, True), (True, 0.01, True)]
)
def test_a_training_at_rest_is_no_frozen_metric(validation: bool, first: float, frozen: bool) -> None:
    falls = np.maximum(first * np.exp(-np.arange(400) / 20) + 0.004, 0.004)
    loss = np.where(
        np.arange(400) < 150, falls * np.exp(0.01 * np.random.default_rng(1).standard_normal(400)), 0.004
    )
    held = np.where(np.arange(400) < (150 if validation else 400), 1.1 * falls, 0.005)
    assert ("frozen-metric" in classify({"loss": loss, "val_loss": held}).patterns) == frozen


@pytest.mark.parametrize(("digits", "floor"), [(4, 0.0), (4, 0.0123), (3, 0.69)])
def test_a_loss_that_falls_below_its_last_printed_digit_is_not_frozen(digits: int, floor: float) -> None:
    loss = 2.3 * np.exp(-np.arange(500) / 20) + floor
    assert "frozen-metric" not in classify({"loss": loss.round(digits)}).patterns
    stale = np.r_[loss[:40], np.full(460, loss[40])].round(digits)  # still on its way down
    assert "frozen-metric" in classify({"loss": stale}).patterns


@pytest.mark.parametrize(("frozen_from", "named"), [(30, True), (80, False)])
def test_a_held_out_loss_that_is_never_computed_again_is_frozen(frozen_from: int, named: bool) -> None:
    noise, at = np.random.default_rng(6).standard_normal((2, 400)), np.arange(400)
    loss, held = (1.3 + 2 * np.exp(-at / 60)) * np.exp(0.05 * noise)
    held[4 * frozen_from :] = held[4 * frozen_from]
    judged = classify({"loss": (at, loss), "val_loss": (at[::4], held[::4])})
    assert ("frozen-metric" in judged.patterns) is named


@pytest.mark.parametrize(("stairs", "frozen"), [((7, 6, 5, 4), False), ((7,), True), ((7, 6, 8, 4), True)])
def test_a_loss_whose_residuals_are_rounded_goes_down_a_staircase(
    stairs: tuple[int, ...], frozen: bool
) -> None:
    """A sum of squares of 32 bits that converged is a square of whole multiples of what they can tell."""
    falls = 5000 * np.exp(-np.arange(400) / 12)
    waits = [np.full(100 + 60 * k, 1.4e-8 * n**2) for k, n in enumerate(stairs)]
    loss = np.r_[np.maximum(falls, 1e-6), *waits]
    assert ("frozen-metric" in classify({"loss": loss}).patterns) == frozen


@pytest.mark.parametrize(("last", "verdict"), [(0.0003, "good"), (0.0291, "bad")])
def test_what_is_learned_to_the_last_printed_digit_is_at_zero(last: float, verdict: str) -> None:
    """Forty epochs with four decimals, of which the last thirty tell that nothing is left to be lost."""
    loss = np.r_[0.0578, 0.0469, 0.0413, 0.0427, 0.0352, 0.0337, last, np.zeros(33)]
    assert classify({"epoch": np.arange(1, 41), "loss": loss}).verdict == verdict


@pytest.mark.parametrize(("level", "frozen"), [(0.11, False), (2.11, True)])
def test_two_decimals_of_a_small_loss_freeze_nothing(level: float, frozen: bool) -> None:
    loss = np.r_[2 * level, 1.2 * level, np.full(60, level)].round(2)
    assert ("frozen-metric" in classify({"loss": loss}).patterns) == frozen


@pytest.mark.parametrize(
    ("logged", "frozen"),
    [
        ({"error_rate": np.r_[np.full(40, 1.0), np.geomspace(0.9, 0.5, 160)]}, False),
        ({"error_rate": np.r_[np.full(40, 0.9), np.geomspace(0.8, 0.5, 160)]}, True),
        (
            {
                "loss": np.geomspace(2, 1, 200),
                "val_loss": np.geomspace(2, 1, 200),
                "val_phys_loss": np.zeros(200),
            },
            False,
        ),
        ({"loss": np.zeros(200)}, True),
    ],
    ids=["an error rate of 1", "one below", "a part that is switched off", "the only loss"],
)
def test_what_can_go_no_further_or_is_switched_off_is_not_frozen(
    logged: dict[str, np.ndarray], frozen: bool
) -> None:
    assert ("frozen-metric" in classify(logged).patterns) == frozen


@pytest.mark.parametrize(("lost", "named"), [(np.nan, {"nan-inf"}), (np.inf, {"nan-inf"}), (1.0, set())])
def test_a_held_out_loss_that_ends_in_nan_is_said_once(lost: float, named: set[str]) -> None:
    loss = (
        3 * (1 + np.arange(400) / 20.0) ** -0.4 * np.exp(0.02 * np.random.default_rng(0).standard_normal(400))
    )
    held_out = np.full(20, 1.0)
    held_out[12:] = lost
    steps = 20 * np.arange(20) + 19
    assert set(classify({"loss": loss, "val_loss": (steps, held_out)}).patterns) & {"nan-inf"} == named
    diverged = np.where(np.arange(400) < 240, loss, 3 * loss)  # it says nothing that the loss does not say
    found = classify({"loss": diverged, "val_loss": (steps, held_out)}).findings
    assert [f.metric for f in found if f.pattern == "nan-inf"] == []
    never = classify({"loss": loss, "val_loss": (steps, np.full(20, np.nan))})  # nobody worked it out
    assert "nan-inf" not in never.patterns


@pytest.mark.parametrize(
    ("left", "pattern"), [(0.0, "spike-slow-recovery"), (0.55, "spike-no-full-recovery")]
)
def test_a_tall_spike_that_is_back_after_as_long_again_still_comes_down(left: float, pattern: str) -> None:
    """A loss of 7 that jumps to 48 in the last tenth of its log, and falls slower the nearer it comes."""
    t = np.arange(200)
    since = np.maximum(t - 181, 0)
    height = np.where(t < 180, 0.0, left + (1.9 - left) * np.exp(-since / (14.0 if left == 0 else 9.0)))
    noise = 0.03 * np.random.default_rng(1).standard_normal(200)
    found = classify({"loss": (6 + 60 * np.exp(-t / 40)) * np.exp(height * 0.999**t + noise)}).patterns
    assert pattern in found


def test_a_loss_that_goes_on_falling_rises_above_no_forecast() -> None:
    """One that fell from 156 below zero within five samples, and lies a little lower in every fifth since."""
    t = np.arange(105)
    falls = -12 + 7 * np.exp(-np.sqrt(t / 20)) - (t % 5 == 0)
    loss = np.r_[156, 150, 105, 70.5, 51.8, falls.round(2)]
    assert classify({"loss": (33 * np.arange(110), loss)}).patterns == ("near-perfect",)
