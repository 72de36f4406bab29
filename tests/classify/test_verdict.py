"""Laws of the diagnosis over a zoo of runs: declared patterns only, live course only, honest gaps."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.classify.asking import diagnosis
from tests.curves import Curve, Run, runs
from tests.curves.series import datasets, grad_norm, learning_rate, ratio, throughput, validation
from tests.depth import few

from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.classify.patterns import BY_ID
from chronicle.classify.rules import RULES
from chronicle.classify.rules.whole_run import NOISY, PERFECT
from chronicle.classify.view import look
from chronicle.model import Attempt, Fault, Place, Role, Series, Verdict
from chronicle.pages.words import role_words
from chronicle.timeline import stitch

DOCS = Path(__file__).parents[2] / "docs" / "classifier-thresholds.md"


def zoo() -> dict[str, Run]:
    """Runs of every kind: healthy, shaped, with other series, with several attempts."""
    everything = throughput(validation(ratio(learning_rate(grad_norm(datasets(Curve(1).spike(0.5, 30)))))))
    return {
        "healthy": Curve(1).run(),
        "everything": everything.run(),
        "diverges": Curve(2).diverge(0.5, 80).run(),
        "nan": Curve(3).nan(0.5, 20).run(),
        "shift": Curve(4).shift(0.4, 12).run(),
        "improves": Curve(5).improve(0.5, 60).run(),
        "tiny": Curve(6, 5).run(),
        "rollback": runs.rollback(1),
        "resume spikes": runs.resume_spikes(1),
        "repeat data": runs.repeat_data(1),
        "reinitialised": runs.reinitialised(1),
        "all fail": runs.all_fail(1),
    }


ZOO = zoo()


def test_the_rules_cover_the_list_of_patterns() -> None:
    declared = {p for rule in RULES for p in rule.patterns} | {PERFECT, NOISY}
    assert declared == set(BY_ID)


@pytest.mark.parametrize("name", few(ZOO, 6))
def test_a_rule_names_only_what_it_declares(name: str) -> None:
    timeline = stitch(ZOO[name].attempts)
    for rule in RULES:  # each looks anew: none may live on what another one left in a view
        assert {f.pattern for f in rule.find(look(timeline, DEFAULTS))} <= set(rule.patterns), rule.name


@pytest.mark.parametrize("name", ZOO)
def test_a_diagnosis_holds_together(name: str) -> None:
    d = diagnosis(ZOO[name])
    assert d.patterns == tuple(sorted({f.pattern for f in d.findings}))
    assert [f.severity for f in d.findings] == sorted((f.severity for f in d.findings), reverse=True)
    assert not {n.pattern for n in d.not_assessed} & set(d.patterns)
    assert d.because.startswith((f"{d.verdict.title()}: ", "Cannot tell: ")) and d.because.endswith(".")
    assert all(f.runner_up is None or f.runner_up in BY_ID for f in d.findings)
    assert d == diagnosis(ZOO[name])


@pytest.mark.parametrize("name", ZOO)
def test_what_is_good_has_its_own_finding(name: str) -> None:
    d = diagnosis(ZOO[name])
    assert (d.verdict is Verdict.GOOD) == bool(set(d.patterns) & {PERFECT, NOISY})


def test_a_dead_branch_is_judged_but_gives_no_verdict() -> None:
    lost, course = Curve(1).diverge(0.7, 80).loss, Curve(1).loss
    first = _attempt("a", np.arange(2000), lost)
    second = _attempt("b", np.arange(1200, 2400), np.r_[course[1200:], course[-400:]])
    d = classify(stitch([first, second], order=["a", "b"]))
    assert {f.attempt for f in d.findings if f.pattern == "divergence-no-spike"} == {"a"}
    assert d.verdict is not Verdict.BAD


def test_a_part_that_rises_while_the_whole_loss_falls_does_not_worry() -> None:
    t, noise = np.arange(600) / 600, np.exp(0.01 * np.random.default_rng(1).standard_normal((3, 600)))
    whole = (5000 * np.exp(-20 * t) + 100 * (1 + 9 * t) ** -1) * noise[0]
    parts = {"loss/web": whole * noise[1], "loss/books": np.where(t < 0.4, 0.6, 0.9) * noise[2]}
    judged = classify({"loss": whole, **parts})
    rises = [f for f in judged.findings if f.metric == "loss/books"]
    assert judged.verdict == "good" and rises
    why = "the loss that decides the verdict did not rise with it"
    assert {f.evidence["explained_by"] for f in rises} == {why}
    assert classify({"loss": parts["loss/books"]}).verdict != "good"


@pytest.mark.parametrize(("at", "named"), [(20, False), (300, True)])
def test_a_bump_that_begins_in_the_start_up_is_no_event(at: int, named: bool) -> None:
    """It is back within an eighth of the log; later in the log it is a slow spike."""
    t, noise = np.arange(1000), np.random.default_rng(4).standard_normal(1000)
    hump = np.where(t < at, 0.0, 0.3 * np.exp(-np.maximum(t - at, 0) / 25))
    loss = 3 * (1 + t / 300) ** -0.5 * np.exp(hump + 0.01 * noise)
    judged = classify({"loss": (50 * t, loss)})
    assert ("spike-slow-recovery" in judged.patterns, judged.verdict) == (
        (named, "worrying" if named else "good")
    )


@pytest.mark.parametrize(("times", "named"), [(2.2, False), (6.0, True)])
def test_a_spike_above_the_first_values_counts_in_the_start_up_too(times: float, named: bool) -> None:
    """Rows at log-spaced steps: half of them lie in the first hundredth of the log."""
    steps = np.unique(np.geomspace(1, 100_000, 300).astype(int))
    noise, at = np.random.default_rng(6).standard_normal(len(steps)), 140
    jump = np.exp(np.log(times) * np.exp(-np.maximum(np.arange(len(steps)) - at, 0) / 3))
    jump[:at] = 1.0
    loss = (2 + 8 * (1 + steps / 50) ** -0.5) * jump * np.exp(0.01 * noise)
    judged = classify({"loss": (steps, loss)})
    assert judged.verdict == "good" and ("spike-fast-recovery" in judged.patterns) == named


def test_parts_that_find_their_levels_in_the_start_up_are_no_event() -> None:
    """As in physics-informed networks: one term swings, another one has a hump when most of it is learned."""
    t, noise = np.arange(430), np.exp(0.0005 * np.random.default_rng(5).standard_normal((3, 430)))
    edge = (1 - 0.4 * np.exp(-t / 15) * np.cos((t - 4) / 5)) * noise[0]
    edge[:2] = 0.8, 4.0
    inner = (3000 * (1 + t / 2) ** -3 + 9 * np.exp(-(((t - 25) / 8) ** 2)) + 0.05) * noise[1]
    whole = (4000 * (1 + t / 4) ** -2.0 + 1) * noise[2]
    judged = classify({"loss": whole, "loss/edge": edge, "loss/inner": inner})
    assert (judged.verdict, judged.patterns) == ("good", ("near-perfect",))


@pytest.mark.parametrize(("rise_log", "verdict"), [(0.2, "good"), (0.9, "bad")])
def test_a_rise_within_an_epoch_counts_if_it_is_larger_than_the_step_before_it(
    rise_log: float, verdict: str
) -> None:
    """A fine-tuning of three epochs: the loss steps down by 0.45 where each of them begins."""
    epoch = np.arange(1200) / 400
    loss = np.exp(-0.45 * np.floor(epoch) + rise_log * np.maximum(epoch - 2.2, 0) / 0.8)
    noise = np.exp(0.06 * np.random.default_rng(2).standard_normal(1200))
    judged = classify({"loss": loss * noise, "epoch": epoch})
    assert judged.verdict == verdict
    assert [(f.start_step, f.evidence["epoch"]) for f in judged.findings if "epoch" in f.evidence] == [
        (400, 1.0),
        (800, 2.0),
    ]


@pytest.mark.parametrize("ends", [0.0, 1.0])
def test_a_rise_at_a_learning_rate_of_nothing_is_the_data(ends: float) -> None:
    t = np.arange(900) / 900
    turns = 0.25 * np.exp(1.5 * np.maximum(t - 0.8, 0)) + 0.6 * np.exp(-9 * t)
    loss = turns * np.exp(0.06 * np.random.default_rng(2).standard_normal(900))
    rate = 1e-5 * (1 + np.cos(np.pi * t * (1 - ends)))
    judged = classify({"loss": loss, "learning_rate": rate})
    (rise,) = (f for f in judged.findings if f.pattern == "divergence-no-spike")
    assert (judged.verdict, rise.evidence.get("explained_by")) == (
        ("bad", None) if ends else ("good", "the learning rate was nearly zero, so the data caused it")
    )


@pytest.mark.parametrize("absent", [0.0, float("nan")])
@pytest.mark.parametrize(
    ("where", "verdict"),
    [(range(300, 1500, 150), "worrying"), (range(1500, 1900, 3), "bad"), (range(1990, 2000), "bad")],
)
def test_a_few_values_that_were_lost_in_passing_worry(where: range, verdict: str, absent: float) -> None:
    loss = Curve(1).loss.copy()
    loss[list(where)] = absent
    judged = classify({"loss": loss})
    assert (judged.verdict, "nan-inf" in judged.patterns) == (verdict, True)


@pytest.mark.parametrize(
    ("lost", "verdict", "named"),
    [
        (range(8, 13), "worrying", True),
        (range(5), "good", False),  # it had not been worked out yet
        (range(1, 18, 2), "good", False),  # it is worked out in every second row
    ],
)
def test_a_held_out_loss_that_is_nan_in_passing_worries(lost: range, verdict: str, named: bool) -> None:
    held_out = 1.2 * (1 + np.arange(20) / 2.0) ** -0.3
    held_out[list(lost)] = np.nan
    judged = classify({"loss": Curve(1, 20).loss, "val_loss": held_out})
    assert (judged.verdict, "nan-inf" in judged.patterns) == (verdict, named)


CALM = "nothing stood out, and nothing worrying was found on the live course."
FAULT = "Worrying: a fault ended the run ({}); nothing worrying was found before it."


@pytest.mark.parametrize(
    ("ended", "kind", "verdict", "because"),
    [
        (None, "", "good", f"Good: {CALM}"),
        ("finished", "nccl", "good", f"Good: {CALM}"),
        ("crashed", "", "worrying", FAULT.format("crashed")),
        (None, "out-of-memory", "worrying", FAULT.format("out of memory")),
        ("killed", "", "good", f"Good until it was stopped (killed): {CALM}"),
        (None, "time-limit", "good", f"Good until it was stopped (time limit): {CALM}"),
    ],
)
def test_a_good_curve_that_a_fault_ended_waits_for_somebody(
    ended: str | None, kind: str, verdict: str, because: str
) -> None:
    loss = Curve(1).loss
    last = (Fault(Place("a"), "told", kind=kind, at_step=len(loss) - 1),) if kind else ()
    plain = _attempt("a", np.arange(len(loss)), loss)
    judged = classify(stitch([replace(plain, sources=("a",), faults=last, facts={"ended": ended})]))
    assert (judged.verdict, judged.because) == (verdict, because)
    assert judged.patterns == (("near-perfect",) if verdict == "good" else ())


def test_a_run_of_which_nothing_is_known_but_the_fault_that_ended_it_waits_for_somebody() -> None:
    """A reward of twenty steps that only scatters tells nothing; without any, there may be no training."""
    scatters = 0.3 + 0.1 * np.random.default_rng(0).standard_normal(20)
    for role, verdict in (Role.OBJECTIVE, "worrying"), (Role.OTHER, "unexpected"):
        run = _attempt("a", np.arange(20), scatters, metric="reward", role=role)
        fault = Fault(Place("a"), "told", kind="out-of-memory", at_step=19)
        judged = classify(stitch([replace(run, sources=("a",), faults=(fault,))]))
        assert (judged.verdict, judged.patterns) == (verdict, ())
        assert judged.because.startswith(FAULT.format("out of memory") if verdict == "worrying" else "Cannot")
        assert classify(stitch([run])).verdict == "unexpected"


def test_a_step_up_where_a_setting_changed_was_planned() -> None:
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(800))
    t, late = np.arange(800), np.arange(800) >= 400
    loss, setting = 3 * (1 + t / 20) ** -0.2 * np.where(late, 1.3, 1.0) * noise, np.where(late, 1024, 512)
    unlimited = np.where(late, np.inf, 1.0)  # infinity less infinity warned on the screen of the user
    for value in (setting.astype(float), unlimited):
        judged = classify({"loss": loss, "seq_len": value})
        shifts = [f for f in judged.findings if f.pattern == "level-shift"]
        assert {f.evidence.get("explained_by") for f in shifts} == {"seq_len was set anew"}
    assert (judged.verdict, classify({"loss": loss}).verdict) == ("good", "worrying")


@pytest.mark.parametrize(("end", "verdict"), [(0.6, "worrying"), (0.0, "bad")])
def test_a_step_up_that_no_validation_loss_shows_is_bad_where_a_held_out_score_is_lost(
    end: float, verdict: str
) -> None:
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(400))
    t, late = np.arange(400), np.arange(400) >= 180
    loss, held_out = 3 * (1 + t / 20) ** -0.2 * np.where(late, 1.3, 1.0) * noise, np.full(400, 3.0)
    judged = classify({"train_loss": loss, "val_loss": held_out, "val_dice": np.where(late, end, 0.7)})
    assert (judged.verdict, judged.patterns) == (verdict, ("level-shift",))


@pytest.mark.parametrize(("before", "verdict"), [(0.0, "good"), (0.1, "worrying")])
def test_a_step_up_where_a_part_of_the_loss_is_switched_on_was_planned(before: float, verdict: str) -> None:
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(800))
    t, late = np.arange(800), np.arange(800) >= 400
    loss, part = 3 * (1 + t / 20) ** -0.2 * np.where(late, 1.3, 1.0) * noise, np.where(late, 0.2, before)
    judged = classify({"loss": loss, "loss_adv": part * noise})
    assert judged.verdict == verdict
    shifts = [f for f in judged.findings if f.pattern == "level-shift" and f.metric == "loss"]
    why = {f.evidence.get("explained_by") for f in shifts}
    assert why == {None if before else "loss_adv was switched on"}


@pytest.mark.parametrize(("climbs", "verdict"), [(0.0, "good"), (0.008, "bad")])
def test_a_rise_where_the_weight_of_a_part_is_switched_on_was_planned(climbs: float, verdict: str) -> None:
    """Unless most of the rise comes later."""
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(400))
    t, weight = np.arange(400), np.clip((np.arange(400) - 199) / 6, 0, 0.3)
    loss = (1 + t / 20) ** -0.2 * (1 + weight) * np.exp(climbs * np.maximum(t - 200, 0))
    judged = classify({"loss": loss * noise, "kl_weight": weight, "accuracy": 1 - (1 + t / 20) ** -0.2})
    why = {f.evidence.get("explained_by") for f in judged.findings if f.metric == "loss" and f.severity > 0.2}
    assert judged.verdict == verdict
    assert why == {None if climbs else "kl_weight was switched on"}


@pytest.mark.parametrize(
    "names", [("ce", "kl"), ("diff_loss", "id_loss"), ("Reconstruction Loss", "KL Divergence")]
)
@pytest.mark.parametrize(
    ("rest", "rising", "verdict"), [(0.0, 1.0, "good"), (0.0, 3.0, "bad"), (2.0, 1.0, "bad")]
)
def test_a_loss_that_rises_by_more_than_any_of_its_parts_is_weighed_anew(
    rest: float, rising: float, verdict: str, names: tuple[str, str]
) -> None:
    """But not if a part rises as well, nor if most of the loss is no logged part, which may have risen."""
    t, noise = np.arange(1200) / 1200, np.exp(0.05 * np.random.default_rng(8).standard_normal(1200))
    up = np.clip((t - 0.4) / 0.2, 0, 1)
    ce, kl = 0.2 * (1 + 9 * t) ** -0.3 * noise, 3 / (1 + t)
    loss = ce * rising**up + 0.005 * kl if rising > 1 else ce + (0.005 + 0.1 * up) * kl + rest * (1 + up)
    parts = dict(zip(names, (ce * rising**up, kl), strict=True))
    judged = classify({"loss": loss, **parts, "accuracy": 0.5 + 0.4 * t})
    why = "no logged part of the loss rose with it, so their weights changed"
    rises = {f.evidence.get("explained_by") for f in judged.findings if f.pattern.startswith("divergence")}
    assert (judged.verdict, rises) == (verdict, {None if verdict == "bad" else why})


def test_an_agent_that_plays_for_its_data_is_slow_where_games_are_long() -> None:
    loss = 3 * (1 + np.arange(200)) ** -0.3 * np.exp(0.01 * np.random.default_rng(3).standard_normal(200))
    seconds = np.where(np.arange(200) < 60, 150.0, 165.0) + np.arange(200) % 3
    assert classify({"total_loss": loss, "iter_time": seconds}).verdict == "worrying"
    of_play = {"policy_loss": 0.8 * loss, "value_loss": 0.2 * loss}
    assert classify({"total_loss": loss, "iter_time": seconds, **of_play}).verdict == "good"


@pytest.mark.parametrize(("floor", "verdict"), [(0.05, "good"), (0.3, "worrying")])
def test_a_slow_spike_of_a_loss_that_is_learned_worries_nobody(floor: float, verdict: str) -> None:
    """It stays below a twentieth of the first value, or it does not."""
    t, noise = np.arange(600), np.random.default_rng(5).standard_normal(600)
    hump = np.where(t < 400, 0.0, 0.6 * np.exp(-np.maximum(t - 400, 0) / 60))
    judged = classify({"loss": (floor + 2 * np.exp(-t / 30)) * np.exp(hump + 0.01 * noise)})
    assert "spike-slow-recovery" in judged.patterns and judged.verdict == verdict


@pytest.mark.parametrize(("floor", "verdict"), [(0.2, "worrying"), (2.0, "bad")])
@pytest.mark.parametrize(("n", "seed"), [(100, 0), (200, 1)])
def test_a_climb_at_the_end_of_what_was_learned_is_not_bad(
    n: int, seed: int, floor: float, verdict: str
) -> None:
    """It goes on rising to the end of the log, and stays below a twentieth of its first value, or not."""
    t, noise = np.arange(n), np.random.default_rng(seed).standard_normal(n)
    climb = np.exp(0.5 * np.maximum(t / n - 0.6, 0) / 0.4 + 0.03 * noise)
    judged = classify({"epoch": t, "train_loss": (floor + 10 * np.exp(-t / 4)) * climb})
    assert (judged.verdict, judged.patterns) == (verdict, ("divergence-no-spike",))


@pytest.mark.parametrize(("floor", "verdict"), [(3e-8, "good"), (3e-5, "worrying")])
def test_a_rise_below_what_32_bits_can_tell_of_the_first_value_is_nothing(floor: float, verdict: str) -> None:
    """What was learned to the last digit: the loss is four times its lowest value, and next to nothing."""
    k, noise = np.arange(240.0), np.random.default_rng(0).standard_normal(240)
    loss = 5 * np.exp(-k / 2) + floor * (1 + 3 * np.clip((k - 100) / 100, 0, 1))
    assert classify({"train_loss": loss * np.exp(0.05 * noise)}).verdict == verdict


def test_two_lone_spikes_of_a_long_run_take_none_of_its_time() -> None:
    loss = (
        3 * np.exp(0.01 * np.random.default_rng(4).standard_normal(2000)) * (1 + np.arange(2000) / 20) ** -0.3
    )
    lone, long = loss.copy(), loss.copy()
    lone[[900, 1400]] *= 1.8
    for at in (600, 900, 1200, 1500):
        long[at : at + 8] *= 1.8
    diagnoses = [classify({"step": np.arange(2000) * 10, "loss": values}) for values in (lone, long)]
    assert [sum(f.pattern == "spike-fast-recovery" for f in judged.findings) for judged in diagnoses] == [
        2,
        4,
    ]
    assert [judged.verdict for judged in diagnoses] == ["good", "worrying"]
    assert diagnoses[1].because == "Worrying: 4 fast spikes together lasted for more than 1 % of the run."


@pytest.mark.parametrize(("spikes", "verdict"), [((40, 70), "good"), ((40, 70, 85), "worrying")])
def test_two_spikes_of_a_hundred_epochs_that_are_back_at_once_are_no_worry(
    spikes: tuple[int, ...], verdict: str
) -> None:
    t, noise = np.arange(100), np.random.default_rng(2).standard_normal(100)
    loss = (0.2 + 2 * (1 + t) ** -0.8) * np.exp(0.01 * noise)
    loss[[*spikes]] *= 3
    judged = classify({"epoch": t, "loss": loss})
    assert sum(f.pattern == "spike-fast-recovery" for f in judged.findings) == len(spikes)
    assert judged.verdict == verdict


def test_an_agent_whose_losses_end_in_nan_is_bad() -> None:
    r = np.random.default_rng(5)
    reward = 100 * np.arange(400) / 400 + r.normal(0, 3, 400)
    losses = np.where(np.arange(400) < 300, r.normal(0, 0.02, 400), np.inf)
    judged = classify({"reward": reward, "policy_loss": losses})
    assert (judged.verdict, judged.patterns) == ("bad", ("nan-inf",))


@pytest.mark.parametrize(("end", "verdict"), [(0.0, "good"), (1e-4, "good"), (0.05, "worrying")])
def test_what_fails_after_the_schedule_was_done_is_no_fault_of_the_training(end: float, verdict: str) -> None:
    loss = Curve(1).loss
    steps = np.arange(len(loss))
    rate = end + (1 - end) * 0.5 * (1 + np.cos(np.pi * steps / steps[-1]))
    series = {
        **_attempt("a", steps, loss).series,
        **_attempt("a", steps, rate, "lr", Role.LEARNING_RATE).series,
    }
    assert classify(stitch([Attempt("a", (), series, facts={"ended": "crashed"})])).verdict == verdict


def test_the_loss_of_a_policy_that_makes_its_own_data_is_no_yardstick() -> None:
    """In self-play the loss falls, rises for good as the games get better, and nothing else is logged."""
    step, noise = np.arange(2000), np.random.default_rng(3).standard_normal(2000)
    loss = (2 + 3 * np.exp(-step / 100) + 0.9 * np.clip((step - 600) / 600, 0, 1)) * np.exp(0.02 * noise)
    entropy = 1.8 + 2.6 * np.exp(-step / 300)
    assert classify({"loss": loss}).verdict == "bad"
    assert classify({"loss": loss, "entropy": entropy}).verdict == "worrying"


def test_a_fault_that_a_later_attempt_made_good_ended_nothing() -> None:
    loss = Curve(1).loss
    first = replace(_attempt("a", np.arange(1000), loss[:1000]), facts={"ended": "crashed"})
    second = _attempt("b", np.arange(900, len(loss)), loss[900:])
    assert classify(stitch([first, second], order=["a", "b"])).verdict == "good"


def test_a_launch_that_never_learned_and_was_begun_anew_is_no_failed_run() -> None:
    noise = np.random.default_rng(7).standard_normal(400)
    first = _attempt("a", np.arange(100), -300 + noise[:100], metric="reward", role=Role.OBJECTIVE)
    rises = -300 + 10 * np.arange(400) + noise
    second = _attempt("b", np.arange(400), rises, metric="reward", role=Role.OBJECTIVE)
    judged = [classify(stitch(launches)) for launches in ([first, second], [first])]
    assert [(d.verdict, "failed-run" in d.patterns) for d in judged] == [("good", False), ("bad", True)]


def test_a_series_with_too_few_points_is_not_called_missing() -> None:
    losses = _attempt("a", np.arange(600), Curve(1).loss[:600])
    evaluations = _attempt(
        "a", np.array([0, 200, 400]), np.array([3.0, 2.5, 2.2]), "val", Role.VALIDATION_LOSS
    )
    run = stitch([replace(losses, series={**losses.series, **evaluations.series})])
    missing = {n.pattern: n.missing for n in classify(run).not_assessed}
    assert missing["overfitting"] == ("8-points-of-validation-loss",)
    assert role_words("8-points-of-validation-loss") == "8 points of validation loss"
    assert role_words("8-points-of-policy-kl") == "8 points of divergence from the reference"


@pytest.mark.parametrize(("beside", "verdict"), [("train/pool_size", "unexpected"), ("train/size", "bad")])
def test_a_win_rate_falls_where_the_opponents_get_better(beside: str, verdict: str) -> None:
    t = np.arange(200)
    rate = np.clip(np.minimum(0.2 + t / 50, 1.0) - np.clip((t - 100) / 60, 0, 0.5), 0, 1)
    rate += 0.02 * np.random.default_rng(2).standard_normal(200)
    judged = classify({"train/win_rate": rate, beside: np.where(t < 100, 1.0, 4.0)})
    assert (judged.verdict, judged.patterns) == (verdict, ("divergence-no-spike",))


@pytest.mark.parametrize(("decades", "verdict"), [(4.0, "good"), (0.0, "unexpected")])
def test_a_loss_that_fell_by_decades_is_told_through_wild_noise(decades: float, verdict: str) -> None:
    noise = np.random.default_rng(3).standard_normal(600)
    fall = np.log(10.0) * decades * np.exp(-np.arange(600) / 8)
    rise = 0.3 * np.arange(600) / 600  # the levels of eighths alone do not tell that it fell
    assert classify({"loss": np.exp(fall + rise + 0.8 * noise)}).verdict == verdict


@pytest.mark.parametrize(("back", "verdict"), [(0.0, "good"), (2.0, "unexpected")])
def test_a_loss_that_falls_beyond_chance_is_told_through_wild_noise(back: float, verdict: str) -> None:
    """As single batches of a fine-tuning do; unless it came back at the end."""
    noise = np.random.default_rng(4).standard_normal(64)
    way = np.linspace(0, -2.0, 64) + np.clip(np.arange(64) - 50, 0, 1) * back
    assert classify({"loss": np.exp(way + 0.8 * noise)}).verdict == verdict


@pytest.mark.parametrize(("fall", "verdict"), [(0.0, "unexpected"), (0.3, "good")])
def test_a_loss_round_nothing_tells_nothing_unless_it_falls(fall: float, verdict: str) -> None:
    """As that of a policy gradient, which is no measure of what was learned."""
    loss = 0.05 * np.random.default_rng(1).standard_normal(60) - fall * np.linspace(0, 1, 60)
    assert classify({"loss": loss}).verdict == verdict


@pytest.mark.parametrize(
    ("last_loss", "held_out_acc", "verdict"),
    [(10.49, 0.282, "unexpected"), (9.49, 0.282, "good"), (10.49, 0.382, "good")],
)
def test_a_score_of_the_training_is_no_gain_where_no_loss_falls_and_none_is_held_out(
    last_loss: float, held_out_acc: float, verdict: str
) -> None:
    """A classifier that gives all one answer from its second epoch on, which is right for some more."""
    log = {
        "loss": [10.10, last_loss, last_loss, last_loss],
        "val_loss": [11.57, 11.57, 11.57, 11.57],
        "acc": [0.339, 0.349, 0.349, 0.349],
        "val_acc": [0.282, held_out_acc, held_out_acc, held_out_acc],
    }
    assert classify({name: np.array(values) for name, values in log.items()}).verdict == verdict


def test_what_could_not_be_judged_is_said() -> None:
    missing = {n.pattern: n.missing for n in classify({"loss": Curve(1).loss}).not_assessed}
    assert missing == {
        "lr-decay-drop": ("learning-rate",),
        "batch-ramp": ("batch-size",),
        "multi-dataset-spike": ("dataset-loss",),
        "resume-spike": ("attempts",),
        "resume-ratio-skew": ("ratio",),
        "lr-not-restored": ("learning-rate", "attempts"),
        "grad-norm-precursor": ("grad-norm",),
        "attention-logit-growth": ("attention-logit",),
        "output-logit-drift": ("output-logit",),
        "entropy-collapse": ("policy-entropy", "objective"),
        "length-explosion": ("answer-length", "objective"),
        "kl-blow-up": ("policy-kl", "objective"),
        "clip-saturation": ("clipped-share",),
        "reward-hacking": ("objective", "validation-score"),
        "router-collapse": ("expert-load",),
        "overfitting": ("validation-loss",),
        "throughput-drop": ("throughput",),
        "hang": ("step-time",),
        "loss-scale-collapse": ("loss-scale",),
        "repeat-data": ("attempts",),
    }


@pytest.mark.parametrize("what", [[], {}, {"loss": [2.0]}, {"loss": [float("nan")] * 40}, {"x": [1.0] * 40}])
def test_nothing_to_judge_is_said_and_not_called_good(what: object) -> None:
    d = classify(what)
    assert d.verdict is not Verdict.GOOD and d.because
    if "nan-inf" not in d.patterns:
        assert {n.pattern for n in d.not_assessed} == set(BY_ID)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "../../etc/loss", "loss\u202e", ""])
def test_names_from_logs_are_only_names(name: str) -> None:
    d = classify([_attempt(name, np.arange(400), Curve(1, 400).nan(0.9, 40).loss, metric=name)])
    assert [f.metric for f in d.findings if f.pattern == "nan-inf"] == [name]


def test_a_threshold_can_be_changed() -> None:
    run = stitch(Curve(1).spike(0.5, 20, fall=4).run().attempts)
    assert "spike-fast-recovery" in classify(run).patterns
    assert "spike-fast-recovery" not in classify(run, replace(DEFAULTS, rise=0.5)).patterns


def test_every_threshold_has_a_unit_a_reason_and_a_line_in_the_docs() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+?) \| (.+?) \|$", DOCS.read_text(), re.M)
    assert rows == [
        (f.name, f"{getattr(DEFAULTS, f.name):g}", f.metadata["unit"], f.metadata["why"])
        for f in fields(Thresholds)
    ]
    assert all(f.metadata["unit"] and f.metadata["why"] for f in fields(Thresholds))


def _attempt(
    name: str, steps: np.ndarray, values: np.ndarray, metric: str = "loss", role: Role = Role.LOSS
) -> Attempt:
    return Attempt(name, (), {metric: Series(metric, role, steps, values, np.full(len(steps), np.nan))})


def test_the_best_score_so_far_is_no_gain_beside_the_score_itself() -> None:
    steps, noise = np.arange(60), np.random.default_rng(3).standard_normal(60)
    best = (steps, 0.5 + 0.1 * np.maximum.accumulate(noise))
    score = (steps, 0.5 + 0.1 * noise)
    assert classify({"accuracy": score, "best_accuracy": best}).because.startswith("Cannot tell: ")
    assert classify({"best_accuracy": best}).because.startswith("Good: best_accuracy got better")
