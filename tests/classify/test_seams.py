"""Which pauses of a log are another process: not those of a loop that evaluates and has a schedule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.classify.plain_loops import BASE, BATCHES, SCHEDULES, STEPS, log
from tests.depth import few

from chronicle.classify import classify
from chronicle.model import Attempt
from chronicle.timeline import stitch

TAKEN_OVER = {"lr-not-restored", "resume-spike"}


def places(attempt: Attempt) -> list[int]:
    """The steps at which another process went on."""
    joins = stitch([attempt]).joins
    assert {join.kind for join in joins} <= {"resume"}
    return [join.to_step for join in joins]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", few(SCHEDULES, 4))
def test_evaluations_at_the_end_of_epochs_are_no_joins(schedule: str) -> None:
    attempt = log(SCHEDULES[schedule])
    assert places(attempt) == []
    assert TAKEN_OVER.isdisjoint(classify(stitch([attempt])).patterns)


@pytest.mark.parametrize("schedule", ["multi_step", "once", "warm_restarts", "restarts_within"])
def test_one_evaluation_at_the_very_step_of_the_schedule_is_no_join(schedule: str) -> None:
    """A loop that evaluates and saves where the rate changes, and nowhere else."""
    rate = SCHEDULES[schedule]

    def evaluates(epoch: int) -> float:
        return 120.0 * (abs(rate(epoch * BATCHES) / rate(epoch * BATCHES - 1) - 1) > 0.3)

    assert places(log(rate, evaluates=evaluates)) == []


def test_a_clock_of_whole_seconds_makes_no_pauses() -> None:
    """Fifty steps a second: each tick of the clock is a pause beside a median of none."""
    attempt = log(SCHEDULES["one_cycle"], evaluates=lambda epoch: 0.0, step_s=0.02, whole_seconds=True)
    (rate,) = (s for s in attempt.series.values() if s.metric == "lr")
    at = int((rate.times[1:] > rate.times[:-1]).nonzero()[0][8]) + 1
    rate.values[at:] *= 2.5
    assert places(attempt) == []


def test_no_process_starts_within_half_a_second() -> None:
    def rate(step: int) -> float:
        return BASE * (1 - 0.5 * step / STEPS) * (2.0 if step >= 9 * BATCHES else 1.0)

    for pause_s, starts in ((0.5, []), (30.0, [9 * BATCHES])):
        attempt = log(rate, evaluates=lambda epoch, s=pause_s: s * (epoch == 9), step_s=0.005)
        assert places(attempt) == starts


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_a_process_that_began_its_schedule_anew_is_one(schedule: str, seed: int) -> None:
    """It evaluates after each epoch, and after the tenth it is launched again, from its checkpoint but not
    with its rate."""
    at = 10 * BATCHES

    def decayed(step: int) -> float:
        return BASE * (
            (1 - 0.8 * step / STEPS) if schedule == "linear" else SCHEDULES["one_cycle"](step) / BASE
        )

    def rate(step: int) -> float:
        return decayed(step) if step < at else 2.0 * BASE * (1 - 0.5 * (step - at) / STEPS)

    attempt = log(rate, seed, evaluates=lambda epoch: 45.0 if epoch == 10 else 6.0)
    assert places(attempt) == [at]
    (lost,) = (f for f in classify(stitch([attempt])).findings if f.pattern == "lr-not-restored")
    assert lost.start_step == at and lost.evidence["how"] == "is higher"


@pytest.mark.parametrize("schedule", ["multi_step", "each_epoch"])
def test_a_resume_at_a_milestone_lost_no_learning_rate(schedule: str) -> None:
    """The second process begins where the schedule cuts the rate as it had done before."""
    whole = log(SCHEDULES[schedule])
    (steps,) = {s.steps.tobytes(): s.steps for s in whole.series.values()}.values()
    first, then = steps < 14 * BATCHES, steps >= 14 * BATCHES
    parts = [
        replace(whole, name=name, sources=(name,), series={m: s.pick(k) for m, s in whole.series.items()})
        for name, k in (("one.csv", first), ("two.csv", then))
    ]
    timeline = stitch(parts)
    assert [join.kind for join in timeline.joins] == ["resume"]
    assert "lr-not-restored" not in classify(timeline).patterns


def test_a_rate_that_warms_up_again_after_a_resume_is_no_schedule_that_goes_on() -> None:
    """It begins where the earlier one was, by chance, and climbs: there is no jump that could come again."""

    def rate(step: int) -> float:
        return BASE if step < 10 * BATCHES else BASE * min(1 + (step - 10 * BATCHES) / 2, 8.0)

    whole = log(rate)
    steps = whole.series["lr"].steps
    parts = [
        replace(whole, name=name, sources=(name,), series={m: s.pick(k) for m, s in whole.series.items()})
        for name, k in (("one.csv", steps < 10 * BATCHES), ("two.csv", steps >= 10 * BATCHES))
    ]
    assert "lr-not-restored" in classify(stitch(parts)).patterns
