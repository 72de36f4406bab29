"""What a resume lost, seen against the attempts before it: state, weights, the place in the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.classify.asking import diagnosis, findings, near, patterns
from tests.curves import Curve
from tests.curves.runs import (
    clean,
    lower_after_resume,
    reinitialised,
    repeat_data,
    resume_spikes,
    rollback,
    training,
)
from tests.curves.series import validation
from tests.depth import few

from chronicle.classify import classify
from chronicle.classify.resumed import resumes
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import look
from chronicle.model import Attempt, Role, Series
from chronicle.timeline import stitch

KINDS = {"plain": {}, "noisy": {"noise": 0.05}, "autocorrelated": {"rho": 0.6}, "sparse": {"every": 20}}


@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("make", [clean, rollback], ids=["restarts", "rollback"])
def test_exact_resumes_leave_no_trace(kind: str, make: object) -> None:
    for seed in (1, 5):
        assert patterns(make(seed, **KINDS[kind])) == set()  # type: ignore[operator]


@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("height", [8, 25])
def test_a_spike_at_every_resume(kind: str, height: float) -> None:
    run = resume_spikes(3, height, **KINDS[kind])
    assert near(run, "resume-spike", 8 * KINDS[kind].get("every", 1))
    assert patterns(run) == {"resume-spike"}


def test_several_small_ones_together_are_believed_where_one_alone_is_not() -> None:
    """Heights that are 3 to 5 standard errors at each of two joins."""
    seeds = [seed for seed in range(6) if "resume-spike" in patterns(resume_spikes(seed, 3.0, fall=30))]
    assert len(seeds) >= 3


def test_a_higher_level_that_stays_is_no_spike() -> None:
    def change(c: Curve, k: int) -> None:
        if k:
            c.lift += 12 * c.scale

    assert "resume-spike" not in patterns(training(2, change=change))


def test_the_parent_is_the_attempt_that_the_first_samples_fit() -> None:
    """The second attempt went wrong and was abandoned; the third goes on from the first."""

    def change(c: Curve, k: int) -> None:
        if k == 1:
            c.diverge(0.3, height=60, grow=0.5)

    view = look(stitch(training(4, ((0, 800), (800, 1200), (800, 1600)), change).attempts), DEFAULTS)
    (first, *_) = resumes(view, view.attempts[2])
    assert first.parent.name == "attempt-1"
    assert abs(first.over(0, 8).t) < 3


@pytest.mark.parametrize("lift", [1.0, 1.12])
def test_equal_steps_say_more_than_a_line_where_a_course_bends(lift: float) -> None:
    """A rollback of twenty epochs on a course with a floor: a line that is carried on ends below it."""
    epochs = np.r_[1:121, 101:201]
    course = (0.34 + 2.8 * (1 + epochs / 8) ** -0.9) * np.where(np.arange(220) < 120, 1.0, lift)
    found = []
    for seed in range(8):
        noise = 1 + 0.008 * np.random.default_rng(seed).standard_normal(220)
        table = pd.DataFrame({"step": epochs, "loss": course * noise})
        found.append({"resume-spike", "level-shift"} & {*classify(stitch(table)).patterns})
    assert all(found) if lift > 1 else not any(found)


# ---- repeated data ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("overlap", [True, False], ids=["rollback", "resume"])
def test_the_end_of_every_replay_is_seen(kind: str, overlap: bool) -> None:
    run = repeat_data(3, 2, 9, overlap=overlap, **KINDS[kind])
    replays = findings(run, "repeat-data")
    every = KINDS[kind].get("every", 1)
    starts = [f.start_step // every for f in replays]
    assert len(replays) == 2 and diagnosis(run).verdict == "unexpected"
    jumps = [1200, 1600] if overlap else [1200, 1800]
    assert all(abs(a - b) <= 24 for a, b in zip(starts, jumps, strict=True)), starts
    assert {"divergence-no-spike", "divergence-after-spike", "failed-run"}.isdisjoint(patterns(run))


def test_each_replay_is_lower_than_the_one_before() -> None:
    first, second = findings(repeat_data(6, 2, 9, overlap=False), "repeat-data")
    assert second.evidence["jump_log"] > first.evidence["jump_log"] > 0.05
    assert first.evidence["replayed_steps"] == pytest.approx(300, abs=10)


@pytest.mark.parametrize("seed", range(4))
def test_better_data_after_a_resume_are_not_repeated_ones(seed: int) -> None:
    assert "repeat-data" not in patterns(lower_after_resume(seed))


def test_a_jump_that_validation_follows_is_a_shift_of_the_model() -> None:
    def change(c: Curve, k: int) -> None:
        if k:
            c.lift[:300] -= 10 * c.scale
        c.trend = c.trend + c.lift
        c.lift = np.zeros(c.n)
        validation(c, every=20)

    assert "repeat-data" not in patterns(training(5, ((0, 900), (900, 1500)), change))


# ---- new weights -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(KINDS, 2))
@pytest.mark.parametrize("one_file", [True, False], ids=["one log", "two logs"])
def test_new_weights_in_the_middle_of_a_run(kind: str, one_file: bool) -> None:
    for seed in (1, 2):
        run = reinitialised(seed, one_file, **KINDS[kind])
        assert near(run, "reinitialised", 3 * KINDS[kind].get("every", 1))
        assert patterns(run) == {"reinitialised"}


@pytest.mark.parametrize("fall", [3, 20, 60])
def test_a_spike_to_the_first_level_that_comes_back_faster_is_a_spike(fall: float) -> None:
    curve = Curve(4)
    to_the_top = float(curve.trend[0] - curve.trend[1000]) / curve.scale
    assert "reinitialised" not in patterns(curve.spike(0.5, to_the_top, rise=1, fall=fall).run())


@pytest.mark.parametrize(
    ("fall", "left", "expected"),
    [
        (6, 0, {"near-perfect", "spike-fast-recovery"}),
        (24, 0, {"near-perfect", "spike-fast-recovery"}),
        (15, 0.35, {"spike-no-full-recovery"}),
    ],
)
def test_a_spike_is_no_new_weights_though_the_rate_was_warmed_up(
    fall: float, left: float, expected: set[str]
) -> None:
    """Weighted by the rate, the first descent is as fast as the return from a spike, until half the way."""
    steps, random = np.arange(1, 1001), np.random.default_rng(1)
    rate = 3e-4 * np.minimum(1, steps / 50) * (0.55 + 0.45 * np.cos(np.pi * steps / 1000))
    loss = 2 + 8 * (steps + 5.0) ** -0.6 + random.normal(0, 0.02, len(steps))
    loss[450:] += (2.3 - left) * np.exp(-np.arange(550) / fall) + left
    series = {
        role.value: Series(role.value, role, steps, values, np.full(len(steps), np.nan))
        for role, values in {Role.LOSS: loss, Role.LEARNING_RATE: rate}.items()
    }
    assert {*classify(stitch([Attempt("run", ("run",), series)])).patterns} == expected


@pytest.mark.parametrize("seed", range(3))
def test_new_weights_late_in_a_schedule_learn_as_slowly_as_their_rate(seed: int) -> None:
    """The second descent takes three times the steps, and the log ends before it has gone half of the way."""
    steps = np.arange(1, 2001)
    rate = 3e-3 * np.minimum(1, steps / 100) * (0.1 + 0.45 * (1 + np.cos(np.pi * steps / 2000)))
    learning = np.cumsum(rate) / 3e-3
    learning[1367:] -= learning[1367]
    loss = 3 + 1.2 * np.exp(-np.maximum(learning - 30, 0) / 90)
    loss += np.random.default_rng(seed).normal(size=len(steps)) * (0.005 + 0.1 * (4.2 - loss) / 1.2)
    series = {
        role.value: Series(role.value, role, steps, values, np.full(len(steps), np.nan))
        for role, values in {Role.LOSS: loss, Role.LEARNING_RATE: rate}.items()
    }
    assert {*classify(stitch([Attempt("run", ("run",), series)])).patterns} == {"reinitialised"}


def test_a_climb_to_the_first_level_is_no_new_weights() -> None:
    """New weights are there at once; what climbs for 40 samples and learns as it first did was a spike."""
    run = reinitialised(1, True)
    (attempt,) = run.attempts
    (loss,) = (s for s in attempt.series.values() if s.role is Role.LOSS)
    values, at = loss.values.copy(), run.events[0].start_step
    i = int(np.searchsorted(loss.steps, at))
    climb = np.exp(np.linspace(np.log(values[i - 1]), np.log(values[i]), 40))
    values = np.concatenate([values[:i], climb, values[i:-40]])
    risen = replace(attempt, series={loss.metric: replace(loss, values=values)})
    assert "reinitialised" not in classify(stitch([risen])).patterns


@pytest.mark.parametrize("every", [1, 25])
def test_an_attempt_that_begins_higher_and_stays_there_is_a_shift_at_the_join(every: int) -> None:
    def change(c: Curve, k: int) -> None:
        if k == 1:
            c.lift += 20 * c.scale

    run = training(3, ((0, 1000), (1000, 1600)), change, every=every)
    (shift,) = findings(run, "level-shift")
    assert (shift.attempt, shift.start_step, shift.runner_up) == ("attempt-2", 1000 * every, "resume-spike")
    assert diagnosis(run).verdict == "worrying"


def test_learning_within_a_few_samples_cannot_be_compared() -> None:
    """A curve that falls within three samples, and a spike that does so too."""
    curve = Curve(5, 200, every=100, decay=3.0)
    to_the_top = float(curve.trend[0] - curve.trend[100]) / curve.scale
    assert "reinitialised" not in patterns(curve.spike(0.5, to_the_top, rise=1, fall=1).run())


@pytest.mark.parametrize("slower", [0.4, 1.0, 2.5])
def test_new_weights_with_other_settings_learn_at_another_pace(slower: float) -> None:
    """The level of an untrained model tells them from a spike, whose return is ever faster."""
    t = np.r_[np.arange(1000) / 1000, np.arange(1000) / 1000 / slower]
    loss = 1 + 6 * (1 + 60 * t) ** -0.8 + 0.02 * np.random.default_rng(2).standard_normal(2000)
    assert "reinitialised" in classify({"loss": loss}).patterns
    away = 7 - loss[999]
    spike = np.r_[
        loss[:1000], loss[999] - 0.1 * np.arange(1000) / 1000 + away * np.exp(-np.arange(1000) / 30)
    ]
    assert "reinitialised" not in classify({"loss": spike}).patterns


def test_a_step_that_is_logged_twice_is_compared_once() -> None:
    steps = np.array([int(str(step).replace("3", "4")) for step in range(60)])
    values = 3 / (1 + np.arange(60)) ** 0.2
    loss = Series("loss", Role.LOSS, steps, values, np.full(60, np.nan))
    timeline = stitch([Attempt("a", ("a",), {"loss": loss})], run_id="a")
    assert [(join.from_step, join.to_step) for join in timeline.joins] == [(49, 40)]
    assert classify(timeline).verdict == "good"
