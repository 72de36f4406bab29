"""Signs around an event: each asked of a log made by hand, in which the answer is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from tests.story.told_specimens import RUNS, specimen
from tests.timeline.timeline_logs import log

import chronicle
from chronicle.model import Diagnosis, Event, EventKind, Finding, Verdict
from chronicle.pages.gallery import advice, load_gallery
from chronicle.story import tell
from chronicle.story.measured import RunView
from chronicle.story.signs import Sign
from chronicle.story.signs import around as placed

ONSET = 100
STEPS = np.arange(200)
FLAT = np.full(200, 2.0)


def held(value: float, start: int = ONSET, stop: int = 200, base: float = 1.0) -> Any:
    """A series that is ``base``, and ``value`` from ``start`` to before ``stop``."""
    return np.where((start <= STEPS) & (stop > STEPS), value, base)


def around(at: int = ONSET, **columns: Any) -> dict[str, bool]:
    """The signs around an event at one step of a log with these columns."""
    timeline = chronicle.stitch(pd.DataFrame({"step": STEPS, "loss": FLAT} | columns))
    diagnosis = Diagnosis(Verdict.GOOD, (), (), timeline.joins, ())
    name = timeline.attempts[0].name
    event = Event("e", EventKind.FINDING, "E", "It rose.", step=at, attempt=name)
    return dict(placed(RunView(timeline, diagnosis), event, [event]).signs)


def test_what_was_not_logged_is_not_told() -> None:
    signs = around()
    unknown = {Sign.RATE_ROSE, Sign.GRADIENT_LED, Sign.ONE_SOURCE, Sign.SCALE_LED, Sign.EPOCH_ENDED}
    assert not unknown & set(signs)
    assert not {Sign.VALIDATION_STILL, Sign.FAULT_NEAR, Sign.FIRST_SAMPLE, Sign.DECIMAL} & set(signs)


def test_only_findings_have_signs() -> None:
    events = specimen("lab-lr-kick").story.events
    assert {event.kind for event in events if event.signs} == {EventKind.FINDING}


def test_a_rate_that_rose_and_one_that_is_zero() -> None:
    assert around(lr=held(3e-3, base=1e-3))["rate-rose"]
    assert not around(lr=held(1e-3, base=1e-3))["rate-rose"]
    assert not around(lr=held(3e-3, start=150, base=1e-3))["rate-rose"]
    assert around(lr=held(0.0, base=1e-3))["rate-zero"]
    assert not around(lr=held(5e-4, base=1e-3))["rate-zero"]


def test_a_gradient_that_leads_and_one_that_jumps_along() -> None:
    led, jumped = around(grad_norm=held(5.0, start=96)), around(grad_norm=held(5.0))
    assert led["gradient-led"] and not led["gradient-jumped"]
    assert jumped["gradient-jumped"] and not jumped["gradient-led"]
    calm = around(grad_norm=held(2.0))
    assert not calm["gradient-led"] and not calm["gradient-jumped"]
    assert around(grad_norm=held(np.nan))["gradient-nan"]


def test_one_source_far_ahead_of_the_other() -> None:
    ahead, behind, near = (held(value, stop=110, base=2.0) for value in (4.0, 2.1, 3.0))
    assert around(**{"loss": (ahead + behind) / 2, "loss/a": ahead, "loss/b": behind})["one-source"]
    assert not around(**{"loss": (ahead + near) / 2, "loss/a": ahead, "loss/b": near})["one-source"]


def test_a_loss_scale_that_fell_before() -> None:
    assert around(loss_scale=held(1024.0, start=96, base=65536.0))["scale-led"]
    assert not around(loss_scale=held(1024.0, base=65536.0))["scale-led"]


def test_worse_than_an_untrained_model_and_young() -> None:
    loss = np.where(STEPS < 8, 5.0, 2.0)
    assert around(loss=np.where(STEPS == ONSET, 9.0, loss))["above-start"]
    assert not around(loss=np.where(STEPS == ONSET, 4.0, loss))["above-start"]
    signs = around(ONSET + 13_000, step=STEPS + 13_000)
    assert not signs["young"] and "above-start" not in signs  # nobody knows how it began
    assert around()["young"]


def test_an_epoch_that_ends_there_and_validation_that_stays() -> None:
    assert around(epoch=STEPS / 100)["epoch-ended"]
    assert not around(epoch=STEPS / 300)["epoch-ended"]
    still = np.where(STEPS % 20 == 0, 2.1, np.nan)
    assert around(loss=held(2.6, base=2.0), val_loss=still)["validation-still"]
    moved = np.where(STEPS % 20 == 0, held(2.7, base=2.1), np.nan)
    assert not around(loss=held(2.6, base=2.0), val_loss=moved)["validation-still"]


def test_a_reward_that_was_lost_has_causes_of_its_own() -> None:
    reward = np.random.default_rng(0).normal(0, 0.02, 200) + np.where(STEPS < 120, STEPS / 60, 0.1)
    timeline = chronicle.stitch(pd.DataFrame({"step": STEPS, "reward": reward}))
    (event,) = (
        e for e in tell(timeline, chronicle.classify(timeline)).events if "divergence-no-spike" in e.patterns
    )
    assert event.signs["objective"] and not around()["objective"]
    page = next(page for page in load_gallery([RUNS.parent / "gallery"]) if page.id == "divergence-no-spike")
    of_reward, of_loss = (
        [row.cause.cause for row in advice(replace(event, signs=signs), page).causes]
        for signs in (event.signs, around())
    )
    assert of_reward[:2] == [
        "The policy moved too far in one step: the rate is too high, "
        "or nothing keeps the policy near its reference",
        "Advantages that are estimated within a group (GRPO) make the updates unstable",
    ]
    assert not {"Initial weights too large for the width", "Learning rate too high"} & set(of_reward)
    assert "Initial weights too large for the width" in of_loss and not set(of_reward[:2]) & set(of_loss)


def test_the_lost_score_of_an_agent_has_the_causes_of_its_reward() -> None:
    wins = np.where(STEPS < 120, STEPS / 120, 0.1) + np.random.default_rng(0).normal(0, 0.01, 200)

    def of_agent(**columns: Any) -> bool:
        timeline = chronicle.stitch(pd.DataFrame({"step": STEPS, "success_rate": wins} | columns))
        name = timeline.attempts[0].name
        lost = Finding("divergence-no-spike", "success_rate", name, 120, 120, None, 0.5, 0.9, id="f")
        view = RunView(timeline, Diagnosis(Verdict.BAD, (), (lost,), timeline.joins, ()))
        event = Event("e", EventKind.FINDING, "E", "It fell.", step=120, attempt=name, parts=("f",))
        return placed(view, event, [event]).signs["objective"]

    assert of_agent(reward=FLAT)
    assert not of_agent()


def test_a_sudden_fall_without_a_logged_rate_is_first_a_cut_of_the_rate() -> None:
    page = next(page for page in load_gallery([RUNS.parent / "gallery"]) if page.id == "grokking")
    event = Event("e", EventKind.FINDING, "E", "It fell.", step=ONSET, patterns=("grokking",))
    unknown, known = (
        [row.cause.cause for row in advice(replace(event, signs=signs), page).causes]
        for signs in (around(), around(lr=held(1e-3, base=1e-3)))
    )
    assert unknown[0] == "The learning rate was cut, by a schedule in steps"
    assert known[-1] == unknown[0]


def test_at_a_restart_and_after_one() -> None:
    lost, shifted = specimen("lab-optimizer-lost"), specimen("ptl-repeat-data-p1")
    (first, *_) = (event.signs for event in lost.story.events if event.patterns)
    assert first["resumed"] and first["after-resume"] and first["every-resume"] and not first["first-sample"]
    (later,) = (event.signs for event in shifted.story.events if event.patterns)
    assert later["after-resume"] and not later["resumed"] and "first-sample" not in later
    assert not around()["after-resume"]


def signs_of(*events: Event) -> dict[str, bool]:
    """The signs around the last of these events, in three attempts that went on from each other."""
    logs = [log(name, range(first, first + 200), k) for k, (name, first) in enumerate(FIRST_STEPS.items())]
    timeline = chronicle.stitch(logs)
    assert [join.kind.value for join in timeline.joins] == ["resume", "resume"]
    diagnosis = Diagnosis(Verdict.GOOD, (), (), timeline.joins, ())
    return dict(placed(RunView(timeline, diagnosis), events[-1], events).signs)


FIRST_STEPS = {"a": 0, "b": 200, "c": 400}


def rise(event_id: str, step: int, attempt: str, ending: str = "") -> Event:
    return Event(event_id, EventKind.FINDING, "Rise", "It rose.", step=step, attempt=attempt, ending=ending)


def test_a_rise_at_one_of_two_restarts_does_not_come_at_each() -> None:
    assert signs_of(rise("e", 400, "c"))["every-resume"] is False
    assert signs_of(rise("d", 200, "b"), rise("e", 400, "c"))["every-resume"] is True


def test_what_still_lasts_of_an_earlier_event_of_the_attempt_is_no_calm() -> None:
    event = rise("e", 550, "c")
    assert signs_of(rise("d", 420, "c"), event)["calm-before"] is True  # it is over
    assert signs_of(rise("d", 420, "c", "it did not end"), event)["calm-before"] is False
    assert signs_of(rise("d", 220, "b", "it did not end"), event)["calm-before"] is True
    assert signs_of(replace(rise("d", 530, "c"), title="Shift"), event)["calm-before"] is False


def test_of_several_causes_of_one_name_the_nearest_is_told() -> None:
    """A change of the schedule 10 steps before was told with those 15, 20, 25 and 30 steps before."""
    timeline = chronicle.stitch(pd.DataFrame({"step": STEPS, "loss": FLAT}))
    name = timeline.attempts[0].name
    changes = [
        Event(f"s-{at}", EventKind.SCHEDULE, "Schedule change", "It rose.", step=at, attempt=name)
        for at in (70, 80, 90)
    ]
    batch = Event("b", EventKind.BATCH, "Batch change", "It grew.", step=80, attempt=name)
    event = Event("e", EventKind.FINDING, "E", "It rose.", step=ONSET, attempt=name)
    view = RunView(timeline, Diagnosis(Verdict.GOOD, (), (), timeline.joins, ()))
    assert placed(view, event, [*changes, batch, event]).causes == (
        "10 steps after the schedule change",
        "20 steps after the batch change",
    )
    kinds = "signal", "NCCL, signal", "signal"
    faults = [Event(f"f-{k}", EventKind.FAULT, f"Fault: {k}", "", step=95, attempt=name) for k in kinds]
    assert placed(view, event, [*faults, event]).causes == ("5 steps after the faults (signal, NCCL)",)
    assert placed(view, event, [faults[0], event]).causes == ("5 steps after the fault (signal)",)
