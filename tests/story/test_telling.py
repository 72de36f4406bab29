"""Events of small runs: what is one happening, its id, what notes mean, and the order it is told in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.figures.runs import attempt, diagnosis, falling, finding, rolled_back, run, series
from tests.story.told_specimens import specimen

import chronicle
from chronicle.model import (
    Attempt,
    Change,
    Diagnosis,
    Event,
    EventKind,
    Fault,
    Finding,
    JoinKind,
    NotAssessed,
    Note,
    Place,
    Role,
    Timeline,
    Verdict,
)
from chronicle.story import card, deciding, tell
from chronicle.story.measured import finding_groups
from chronicle.story.telling import _END_SENTENCES, coarse
from chronicle.timeline import stitch
from chronicle.timeline.joins import _BY_ORDER, FAULTS, LOGGED_ENDINGS
from chronicle.workspace.config import RunConfig

LONG = run(np.arange(900), falling(900))


def events_by_id(timeline: Timeline, judged: Diagnosis, *notes: Note) -> dict[str, Event]:
    """The events of a run by their ids."""
    return {event.id: event for event in tell(timeline, judged, RunConfig(), notes).events}


def groups(*findings: object) -> list[list[tuple[str, int]]]:
    return [
        [(part.pattern, part.start_step) for part in happening.parts]
        for happening in finding_groups(LONG, diagnosis(*findings))
    ]


def test_the_title_of_an_event_names_what_is_no_rise_of_the_loss() -> None:
    found = (
        finding("divergence-after-spike", 300, None),
        finding("divergence-no-spike", 301, None, severity=0.4),
        finding("loss-scale-collapse", 300, None, "loss_scale", severity=0.3),
    )
    titles = [event.title for event in tell(LONG, diagnosis(*found)).events if event.mark]
    assert titles == ["Divergence after a spike, with loss-scale collapse"]


def test_what_several_rules_saw_of_one_rise_is_one_happening() -> None:
    assert groups(
        finding("spike-fast-recovery", 100, 130, "loss/pmd"),
        finding("multi-dataset-spike", 100, 130, "loss/pmd"),
        finding("spike-slow-recovery", 120, 400),
        finding("spike-fast-recovery", 500, 510),
    ) == [
        [("spike-fast-recovery", 100), ("multi-dataset-spike", 100), ("spike-slow-recovery", 120)],
        [("spike-fast-recovery", 500)],
    ]


def test_a_consequence_is_a_happening_of_its_own() -> None:
    spike, nan = finding("divergence-after-spike", 100, None), finding("nan-inf", 300, None)
    assert groups(spike, nan) == [[("divergence-after-spike", 100)], [("nan-inf", 300)]]


def test_a_divergence_that_goes_on_is_one_happening() -> None:
    def rise(start: int, height_log: float, residual_log: float) -> Finding:
        divergence = finding("divergence-no-spike", start, None)
        return replace(divergence, evidence={"height_log": height_log, "residual_log": residual_log})

    assert groups(rise(100, 4.0, 2.0), rise(300, 9.0, 9.0)) == [
        [("divergence-no-spike", 100), ("divergence-no-spike", 300)]
    ]
    came_down = [[("divergence-no-spike", 100)], [("divergence-no-spike", 300)]]
    assert groups(rise(100, 4.0, 1.9), rise(300, 9.0, 9.0)) == came_down
    loss = np.concatenate([np.full(100, 2.0), np.full(200, 6.0), np.linspace(7.0, 50.0, 100)])
    event = next(
        e
        for e in events_by_id(
            run(np.arange(400), loss), diagnosis(rise(100, 1.1, 1.1), rise(300, 2.1, 2.1))
        ).values()
        if e.patterns
    )
    assert event.sentence == (
        "The loss turned upwards at step 100, without a spike, rose from 2.00 to 50.00 by step 399 and did "
        "not come down again. It came in 2 stages."
    )


def test_what_is_no_spike_comes_in_stages_and_does_not_peak() -> None:
    drops = [replace(finding("lr-decay-drop", at, 300), evidence={"drop_log": -0.1}) for at in (100, 101)]
    told = events_by_id(run(np.arange(400), np.linspace(4.0, 2.0, 400)), diagnosis(*drops)).values()
    assert [e.sentence.split(". ")[-1] for e in told if e.patterns] == ["It came in 2 stages."]


def test_a_property_of_the_log_and_the_speed_are_not_mixed_with_the_loss() -> None:
    assert groups(
        finding("quantised-loss", 0, 899),
        finding("spike-fast-recovery", 1, 9),
        finding("throughput-drop", 100, 400, "tokens/s"),
        finding("spike-fast-recovery", 200, 210),
        finding("rising-spike-rate", 200, 800),
    ) == [
        [("quantised-loss", 0)],
        [("spike-fast-recovery", 1)],
        [("throughput-drop", 100)],
        [("spike-fast-recovery", 200)],
        [("rising-spike-rate", 200)],
    ]


def test_attempts_are_not_mixed() -> None:
    spike, shift = finding("spike-fast-recovery", 100, 110), finding("level-shift", 100, None, name="b.csv")
    assert [len(spike.parts) for spike in finding_groups(rolled_back(), diagnosis(spike, shift))] == [1, 1]


def test_the_gravest_name_leads_over_the_steps_of_all() -> None:
    (happening,) = finding_groups(
        LONG, diagnosis(finding("spike-fast-recovery", 98, 110), finding("spike-slow-recovery", 100, 300))
    )
    assert (happening.lead.pattern, happening.lead.start_step, happening.lead.end_step) == (
        "spike-slow-recovery",
        98,
        300,
    )


@pytest.mark.parametrize("steps", [(58_897, 58_900), (7, 7), (1_234_567, 1_240_000)])
def test_a_detection_that_moves_a_little_keeps_its_id(steps: tuple[int, int]) -> None:
    before, after = steps
    assert coarse(before) == coarse(after)


def test_an_id_names_family_attempt_and_place() -> None:
    timeline, judged = rolled_back(), diagnosis(finding("divergence-no-spike", 312, None, name="b.csv"))
    (event,) = [e for e in events_by_id(timeline, judged).values() if e.patterns]
    assert (event.id, event.also) == ("rise-a2-310", ("rise-a2-300", "rise-a2-320"))


def test_the_same_rise_under_another_name_has_the_same_id() -> None:
    ids = {
        next(i for i, e in events_by_id(LONG, diagnosis(finding(pattern, 400, 450))).items() if e.patterns)
        for pattern in ("spike-fast-recovery", "spike-slow-recovery", "level-shift", "divergence-no-spike")
    }
    assert ids == {"rise-a1-400"}


def test_events_of_one_place_are_told_apart_by_a_number() -> None:
    timeline = run(np.arange(0, 90_000, 10), falling(9000))
    spikes = [finding("spike-fast-recovery", at, at + 20) for at in (58_600, 58_900, 59_200)]
    events = events_by_id(timeline, diagnosis(*spikes))
    assert [i for i, e in events.items() if e.patterns] == [
        "rise-a1-59000",
        "rise-a1-59000.2",
        "rise-a1-59000.3",
    ]


def test_ids_are_unique_and_old_ones_lead_to_one_event() -> None:
    spikes = [finding("spike-fast-recovery", at, at + 2) for at in range(10, 800, 9)]
    events = tell(LONG, diagnosis(*spikes)).events
    names = [name for event in events for name in (event.id, *event.also)]
    assert len(names) == len(set(names))


SPIKE = finding("spike-fast-recovery", 100, 110)


@pytest.mark.parametrize(
    ("note", "of"),
    [
        (Note("a", event="rise-a1-100"), "rise-a1-100"),
        (Note("a", event="rise-a1-110"), "rise-a1-100"),  # where the detection was before
        (Note("a", event="rise-a1-104"), "rise-a1-100"),  # near enough
        (Note("a", event="rise-a1-700"), ""),
        (Note("a", event="rise-a1-" + 5000 * "7"), ""),  # more digits than Python takes for a number
        (Note("a", event="rise-a2-100"), ""),
        (Note("a", event="hang-a1-100"), ""),
        (Note("a", step=105), "rise-a1-100"),
        (Note("a", step=300), ""),
        (Note("a"), ""),
    ],
)
def test_which_event_a_note_speaks_of(note: Note, of: str) -> None:
    events = events_by_id(LONG, diagnosis(SPIKE), note)
    assert events["note-undated"].of == of
    if of and note.event:
        assert note.event in (events[of].id, *events[of].also)


def test_a_note_on_a_step_that_was_trained_twice_belongs_to_what_had_happened_by_then() -> None:
    """A note on a later rollback, and one on the spike before it, went to a divergence that was discarded."""
    loss = falling(990)

    def part(name: str, first: int, last: int, began_s: float) -> Attempt:
        steps = np.arange(first, last, 10)
        logged = series("loss", steps, loss[steps])
        return attempt(name, replace(logged, times=began_s + 10.0 * np.arange(len(steps))))

    parts = part("a.csv", 0, 600, 0), part("b.csv", 310, 900, 90_000), part("c.csv", 810, 990, 180_000)
    timeline = stitch(parts)
    found = diagnosis(
        finding("divergence-no-spike", 500, None),
        finding("spike-fast-recovery", 540, 560, name="b.csv"),
        joins=timeline.joins,
    )
    at = ("1970-01-01T03:00Z", "1970-01-03T00:00Z")
    notes = [Note("a", at[0], step=550), Note("b", at[1], step=550), Note("c", step=800), Note("d", step=590)]
    of = {
        e.sentence: e.of for e in tell(timeline, found, RunConfig(), notes).events if e.kind is EventKind.NOTE
    }
    assert of == {"a": "rise-a1-500", "b": "rise-a2-540", "c": "rollback-a3", "d": "rise-a1-500"}


def test_of_many_restarts_the_story_tells_those_that_undid_a_divergence() -> None:
    """With more than four restarts it only counted what was discarded."""
    loss, ends = falling(2000), [(0, 400), (300, 700), (690, 900), (890, 1200), (1190, 1500), (1490, 2000)]
    logged = ((f"{name}.csv", np.arange(*steps)) for name, steps in zip("abcdef", ends, strict=True))
    timeline = stitch([attempt(name, series("loss", steps, loss[steps])) for name, steps in logged])
    lost = finding("divergence-no-spike", 350, None)
    undone = {"left_pattern": "divergence-no-spike", "left_start_step": 350, "margin_steps": 50}
    first, *others = timeline.joins
    story = tell(timeline, diagnosis(lost, joins=(replace(first, evidence=undone), *others)))
    assert "The run has 6 attempts (5 rollbacks, which undid a divergence), and " in story.headline
    told = [event.kind for event in story.events if event.sentence in story.paragraphs[0]]
    assert told == [EventKind.FINDING, EventKind.ROLLBACK]
    decision = Note("Back to 300.", "2026-11-01T09:00Z", "decision", 399, "ada")
    story = tell(
        timeline, diagnosis(lost, joins=(replace(first, evidence=undone), *others)), RunConfig(), [decision]
    )
    said = "later. The decision of 2026-11-01 (ada) was: “Back to 300.” The run went back"
    assert said in story.paragraphs[0] and "ada" not in story.paragraphs[1]


def evaluated(*values: float, metric: str = "eval_loss", role: Role = Role.VALIDATION_LOSS) -> Timeline:
    held_out = series(metric, np.arange(len(values)) * (900 // len(values)), values, role)
    return stitch([attempt("a.csv", series("loss", np.arange(900), falling(900)), held_out)])


@pytest.mark.parametrize(
    ("timeline", "said"),
    [
        (evaluated(0.9, 0.8, 0.95), "eval_loss was lowest at step 300 (0.800) and ended at 0.950."),
        (evaluated(0.9, 0.8, 0.7), "eval_loss ended at its lowest value, 0.700."),
        (
            evaluated(0.2, 0.48, 0.45, metric="coco/bbox_mAP", role=Role.SCORE),
            "coco/bbox_mAP was highest at step 300 (0.480) and ended at 0.450.",
        ),
        (evaluated(*falling(900), metric="train_acc", role=Role.SCORE), ""),
    ],
)
def test_a_headline_tells_how_good_the_model_became(timeline: Timeline, said: str) -> None:
    """A detector and a fine-tuning told only of their training loss."""
    headline = tell(timeline, diagnosis(SPIKE)).headline
    assert said in headline and ("lowest" in headline or "highest" in headline) is bool(said)
    overfits = finding("overfitting", 300, None, [*timeline.series][1])
    assert "ended at" not in tell(timeline, diagnosis(overfits)).headline


def test_notes_are_events_by_their_kind() -> None:
    decision = Note("Back to 300.", "2026-11-18T22:41+01:00", "decision", 350, "ada")
    lesson = Note("Clip earlier.", "2026-11-18T22:41+01:00", "lesson", None, "bo")
    events = events_by_id(LONG, diagnosis(), decision, lesson)
    first, second = events["note-202611182241"], events["note-202611182241.2"]
    assert (first.kind, first.title, first.who, first.step) == (EventKind.DECISION, "Decision", "ada", 350)
    assert (second.kind, second.title, second.time) == (EventKind.NOTE, "Lesson", "2026-11-18T22:41+01:00")


def test_notes_on_one_event_stand_as_they_were_written() -> None:
    kinds = ("hypothesis", "decision", "tried", "decision", "outcome")
    days = ("2026-11-18", "2026-11-18", "2026-11-18", "2026-11-19", "2026-11-19")
    notes = [Note(kind, day, kind, None, "ada", "rise-a1-100") for kind, day in zip(kinds, days, strict=True)]
    events = events_by_id(LONG, diagnosis(SPIKE), *notes)
    assert [event.sentence for event in events.values() if event.of] == list(kinds)


def test_a_rollback_comes_after_what_it_left() -> None:
    timeline = rolled_back()
    judged = diagnosis(
        finding("divergence-after-spike", 350, None),
        finding("spike-fast-recovery", 500, 510, name="b.csv"),
        joins=timeline.joins,
    )
    story = tell(timeline, judged)
    assert [(e.kind.value, e.mark, e.live) for e in story.events] == [
        ("launch", "", True),
        ("finding", "1", False),
        ("rollback", "A", True),
        ("finding", "2", True),
        ("end", "", True),
    ]
    assert story.events[1].sentence.endswith(" This branch was discarded later.")
    assert story.events[1].short.endswith(" · discarded")
    assert story.events[2].sentence == (
        "The run went back from step 399 to step 300, and 100 steps were discarded. "
        "The learning rate rose from 0.000323 to 0.001."
    )


def test_a_discarded_branch_decides_nothing() -> None:
    timeline = rolled_back()
    gone = finding("divergence-after-spike", 350, None, severity=1.0)
    kept = finding("spike-no-full-recovery", 500, None, name="b.csv", severity=0.1)
    story = tell(timeline, diagnosis(gone, kept, joins=timeline.joins))
    assert [event.mark for event in deciding(story.events, Verdict.BAD)] == ["2"]
    assert "discarded later" not in story.headline
    assert story.paragraphs[0].startswith("Before the spike, the loss")
    assert not any("does not count" in paragraph for paragraph in story.paragraphs)
    assert "This branch was discarded later. The run went back from step 399" in story.paragraphs[0]
    many = [replace(join, discarded_steps=1) for join in timeline.joins for _ in range(5)]
    story = tell(timeline, diagnosis(gone, kept, joins=tuple(many)))
    assert "1 finding lies on a branch that was discarded and does not count." in story.paragraphs[-1]


def test_the_restarts_of_a_headline_are_a_sentence() -> None:
    timeline = rolled_back()
    story = tell(timeline, diagnosis(finding("plateau", 500, None, name="b.csv"), joins=timeline.joins))
    assert " The run has 2 attempts (1 rollback), and 100 steps were discarded. " in story.headline
    (join,) = timeline.joins
    again = replace(join, kind=JoinKind.RELAUNCH, to_step=398, discarded_steps=1)
    story = tell(timeline, diagnosis(SPIKE, joins=(again, again)))
    assert " The run has 2 attempts (2 relaunches), and 2 steps were discarded. " in story.headline
    assert {e.sentence for e in story.events if e.kind is EventKind.RELAUNCH} == {
        "The run was started again from step 398 after step 399, and 1 step was discarded. "
        "The learning rate rose from 0.000323 to 0.001 at step 300."
    }


def test_the_story_goes_on_where_the_headline_stops() -> None:
    """Its first paragraph told every sentence of the headline again, and how the log ends."""
    found = [finding("level-shift", at, None, severity=at / 1000) for at in (100, 300, 500, 700)]
    story = tell(LONG, diagnosis(*found, verdict=Verdict.WORRYING))
    told = [e.sentence for e in story.events if e.sentence in story.headline and e.patterns]
    assert len(told) == 2
    assert story.paragraphs == (
        "There were 2 more level shifts over steps 100 to 500.",
        "The verdict is worrying because of 4 level shifts over steps 100 to 700.",
    )


@pytest.mark.parametrize(
    ("rises", "spike", "words"),
    [
        ([300], 100, "Before the divergence, the loss jumped "),
        ([300, 600], 100, "The loss jumped "),
        ([300, 600], 450, "The loss rose "),
        ([300], 700, "The loss jumped "),
    ],
)
def test_the_story_says_how_it_stands_to_the_headline(rises: list[int], spike: int, words: str) -> None:
    found = [finding("divergence-no-spike", at, None) for at in rises]
    story = tell(LONG, diagnosis(*found, finding("spike-fast-recovery", spike, spike + 9)))
    assert story.paragraphs[0].startswith(words) and story.paragraphs[0].endswith(
        " and was back after 9 steps."
    )


def test_no_paragraph_repeats_the_headline() -> None:
    few = replace(diagnosis(verdict=Verdict.GOOD), because="Good so far: nothing stood out in 10 points.")
    story = tell(LONG, few)
    assert story.headline == f"{few.because} The log ends at step 899."
    assert story.paragraphs == ()


def test_a_verdict_that_no_finding_has_alone_gives_its_reason() -> None:
    many = replace(
        diagnosis(SPIKE, verdict=Verdict.WORRYING), because="Worrying: more spikes than a good run has."
    )
    assert tell(LONG, many).paragraphs[0] == ("The verdict is worrying: more spikes than a good run has.")


def test_nobody_can_tell_is_a_badge() -> None:
    judged = replace(diagnosis(verdict=Verdict.UNEXPECTED), because="Cannot tell: no loss was logged.")
    story = tell(LONG, judged)
    assert (story.badge, story.headline) == ("cannot tell", f"{judged.because} The log ends at step 899.")
    odd = diagnosis(finding("grokking", 500, 510), verdict=Verdict.UNEXPECTED)
    assert tell(LONG, odd).badge == "unexpected"


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"ended": "finished"}, "The training finished at step 899."),
        ({"ended": "crashed"}, "The process crashed after step 899."),
        ({}, "The log ends at step 899."),
    ],
)
def test_how_a_run_ended(facts: dict[str, str], sentence: str) -> None:
    log = replace(attempt("a.csv", series("loss", np.arange(900), falling(900))), facts=facts)
    assert events_by_id(stitch([log]), diagnosis())["end"].sentence == sentence


@pytest.mark.parametrize(
    ("n_points", "words"),
    [
        (900, "loss 4.00 → 2.00; ends at step 899"),
        (8, "loss 4.00 → 2.00 in 8 points, too few to be judged; ends at step 7"),
    ],
)
def test_the_card_of_a_run_without_a_finding_tells_its_course(n_points: int, words: str) -> None:
    log = attempt("a.csv", series("loss", np.arange(n_points), np.linspace(4.0, 2.0, n_points)))
    assert card(tell(stitch([log]), diagnosis()).events, Verdict.GOOD) == words


def test_the_card_of_a_run_without_a_loss_says_so() -> None:
    log = attempt("a.csv", series("temperature", np.arange(9), np.linspace(4.0, 2.0, 9), Role.OTHER))
    words = "no loss or reward to judge, ends at step 8"
    assert card(tell(stitch([log]), diagnosis()).events, Verdict.UNEXPECTED) == words


def test_a_log_that_is_cut_may_go_on() -> None:
    log = replace(attempt("a.csv", series("loss", np.arange(900), falling(900))), truncated=True)
    assert events_by_id(stitch([log]), diagnosis())["end"].sentence == (
        "The last record, at step 899, is incomplete: the training is still running, or it was killed."
    )


def faulty(*faults: Fault) -> Timeline:
    return replace(LONG, faults=faults)


def test_faults_of_one_kind_and_step_are_one_event() -> None:
    place = Place("dmesg.log", 7)
    faults = [Fault(place, "Xid 79: gone", kind="xid", host=host, at_step=280) for host in ("n1", "n2")]
    events = events_by_id(faulty(*faults, Fault(place, "Xid 79: gone", kind="xid", at_step=300)), diagnosis())
    assert events["fault-xid-280"].sentence == (
        "At step 280 a fault was logged twice on n1, n2: “Xid 79: gone”."
    )
    assert events["fault-xid-300"].sentence == "At step 300 a fault was logged: “Xid 79: gone”."


def test_what_is_logged_within_a_minute_of_one_step_is_one_crash() -> None:
    """A job that crashed 14 times had 44 events: signals, and exceptions of its launcher a second later."""

    def fault(kind: str, what: str, time: float, number: int = 1) -> Fault:
        return Fault(Place("a.log", 7), what, number, time, kind, "", 280)

    begun = 1.7e9
    first = fault("nccl", "watchdog", begun), fault("signal", "SIGTERM", begun + 1, 6)
    again = fault("signal", "SIGABRT", begun + 90), fault("exception", "ChildFailedError", begun + 91)
    told = [
        e for e in events_by_id(faulty(*first, *again), diagnosis()).values() if e.kind is EventKind.FAULT
    ]
    assert [(e.id, e.also, e.title, e.sentence) for e in told] == [
        (
            "fault-nccl-280",
            (),  # the second crash has this name
            "Fault: NCCL, signal",
            "At step 280 faults were logged: “watchdog” and “SIGTERM” 6 times.",
        ),
        (
            "fault-signal-280",
            ("fault-exception-280",),
            "Fault: signal, exception",
            "At step 280 faults were logged: “SIGABRT” and “ChildFailedError”.",
        ),
    ]
    timeless = [replace(each, at_time=np.nan) for each in (*first, *again)]
    (event,) = (e for e in events_by_id(faulty(*timeless), diagnosis()).values() if e.kind is EventKind.FAULT)
    assert event.title == "Fault: NCCL, signal, exception"


def test_a_fault_without_a_message_is_quoted_without_its_colon() -> None:
    failed = Fault(Place("a.log", 7), "torch.errors.ChildFailedError:", kind="exception", at_step=280)
    (event,) = (e for e in events_by_id(faulty(failed), diagnosis()).values() if e.kind is EventKind.FAULT)
    assert event.sentence == "At step 280 a fault was logged: “torch.errors.ChildFailedError”."


def test_what_a_person_or_a_scheduler_ended_is_no_fault() -> None:
    stop = Fault(Place("a.log", 7), "stopped by hand (KeyboardInterrupt)", 31, kind="cancelled", at_step=280)
    (event,) = (e for e in events_by_id(faulty(stop), diagnosis()).values() if e.kind is EventKind.FAULT)
    assert (event.title, event.sentence) == (
        "Stop: cancelled",
        "At step 280 a stop was logged 31 times: “stopped by hand (KeyboardInterrupt)”.",
    )


def test_very_many_faults_end_in_one_event() -> None:
    faults = [Fault(Place("x"), f"fault {k}", kind="nccl", at_step=k) for k in range(500)]
    events = [e for e in events_by_id(faulty(*faults), diagnosis()).values() if e.kind is EventKind.FAULT]
    assert len(events) == 200 and events[-1].sentence == "301 more faults followed."


def test_what_came_shortly_before_a_finding_is_named_the_nearest_first() -> None:
    fault = Fault(Place("x"), "NCCL timeout", kind="nccl", at_step=95)
    events = events_by_id(faulty(fault), diagnosis(SPIKE))
    assert events["rise-a1-100"].causes == ("5 steps after the fault (NCCL)",)
    assert events_by_id(faulty(replace(fault, at_step=20)), diagnosis(SPIKE))["rise-a1-100"].causes == ()


def test_the_story_tells_a_cause_before_its_consequence_and_faults_before_the_restart() -> None:
    steps, rate = np.arange(900), np.where(np.arange(900) < 300, 1e-3, 1e-2)
    series_of = (
        series("loss", steps, np.where(steps < 305, falling(900), 9.0)),
        series("lr", steps, rate, Role.LEARNING_RATE),
    )
    found = diagnosis(finding("divergence-after-spike", 305, None))
    story = tell(stitch([attempt("a.csv", *series_of)]), found)
    assert story.headline.startswith("The loss jumped from")
    assert story.paragraphs == (
        "Before the divergence, the learning rate rose from 0.001 to 0.01 at step 300.",
    )


def test_the_verdict_names_what_it_rests_on_where_the_headline_does_not() -> None:
    """In a sentence, with places: numbers of findings say nothing to who reads them alone."""
    over = [finding("level-shift", at, at + 20) for at in (100, 200, 400)]
    lost, nan = finding("divergence-after-spike", 300, None), finding("nan-inf", 600, None)
    worrying = tell(LONG, diagnosis(*over, nan, finding("plateau", 500, None), verdict=Verdict.WORRYING))
    assert worrying.paragraphs[-1] == (
        "The verdict is worrying because of 3 level shifts over steps 100 to 400 and the plateau at step 500."
    )
    assert tell(LONG, diagnosis(lost, nan)).paragraphs == ()


def test_a_review_is_set_beside_the_classifier_where_they_differ() -> None:
    """A review that said the same was followed by what the headline had said already."""
    lost, nan = finding("divergence-after-spike", 300, None), finding("nan-inf", 600, None)
    same, other = (Note("Seen before.", "2026-11-18", f"review {v}", None, "ada") for v in ("bad", "good"))
    assert tell(LONG, diagnosis(lost, nan), RunConfig(), [same]).paragraphs == (
        "ada judged this run bad on 2026-11-18, as the classifier does: “Seen before.”",
    )
    assert tell(LONG, diagnosis(lost, nan), RunConfig(), [other]).paragraphs == (
        "ada judged this run good on 2026-11-18, where the classifier says bad: “Seen before.”",
        "The classifier's verdict is bad because of the divergence at step 300 and the NaN stretch at step"
        " 600.",
    )


def test_a_story_has_the_latest_decisions_and_outcome_of_people_and_what_is_open() -> None:
    lost = finding("divergence-after-spike", 300, None)
    kinds = "decision", "hypothesis", "decision", "outcome", "decision", "lesson", "hypothesis", ""
    days = enumerate(kinds, 1)
    notes = [Note(f"Text\nof {day}.", f"2026-11-0{day}T09:00Z", kind, None, "ada") for day, kind in days]
    (said,) = tell(LONG, diagnosis(lost), RunConfig(), [*reversed(notes)]).paragraphs
    assert said == (
        "The hypothesis of 2026-11-02 (ada) was: “Text of 2.” "
        "The decision of 2026-11-03 (ada) was: “Text of 3.” "
        "The outcome of 2026-11-04 (ada) was: “Text of 4.” "
        "The decision of 2026-11-05 (ada) was: “Text of 5.” "
        "The lesson of 2026-11-06 (ada) was: “Text of 6.” "
        "Still open is the hypothesis of 2026-11-07 (ada): “Text of 7.”"
    )
    undated = Note("Back.", kind="decision")
    assert tell(LONG, diagnosis(lost), RunConfig(), [undated]).paragraphs == ("The decision was: “Back.”",)
    undated = replace(undated, text="Back")  # a quotation ends a sentence in any case
    assert tell(LONG, diagnosis(lost), RunConfig(), [undated]).paragraphs == ("The decision was: “Back”.",)


def test_every_end_that_a_log_can_state_has_its_sentence() -> None:
    assert {*LOGGED_ENDINGS, *FAULTS, *_BY_ORDER, "in NaN", "cut off", ""} == {*_END_SENTENCES}
    assert all(sentence.endswith(".") and "{}" in sentence for sentence in _END_SENTENCES.values())


def test_a_reason_why_findings_do_not_count_is_given_once() -> None:
    spikes = [
        replace(f, evidence={"explained_by": "an epoch ended there"})
        for f in (finding("spike-fast-recovery", at, at + 5) for at in (100, 200))
    ]
    lost = finding("divergence-after-spike", 300, None)
    first = tell(LONG, diagnosis(*spikes, lost)).paragraphs[0]
    assert first.count("It does not count against the run (an epoch ended there).") == 1
    assert first.endswith("It does not count either.")


def test_what_nobody_logged_is_told_where_the_verdict_hangs_on_it() -> None:
    """How many patterns could not be judged stood in nearly every story, and said nothing."""
    slow = replace(
        diagnosis(finding("throughput-drop", 100, 400), verdict=Verdict.WORRYING),
        not_assessed=(
            NotAssessed("near-perfect", ("loss",)),
            NotAssessed("overfitting", ("validation-loss",)),
        ),
    )
    assert tell(LONG, slow).paragraphs == (
        "No loss was logged that could be judged: the verdict rests on other series.",
    )
    assert tell(LONG, replace(slow, not_assessed=slow.not_assessed[1:])).paragraphs == ()
    open_ = replace(slow, findings=(), because="Worrying: a fault ended the run (aborted).")
    assert tell(LONG, open_).paragraphs == ("No loss was logged that could be judged.",)


def test_the_first_reward_of_many_that_scatter_is_no_level() -> None:
    """The very first episode went better than most: the levels of the first and last eighth are compared."""
    rewards = np.linspace(-4000, -2000, 400) + 1000 * np.random.default_rng(2).standard_normal(400)
    rewards[0] = -1200.0
    timeline = chronicle.stitch({"Reward": rewards})
    assert tell(timeline, chronicle.classify(timeline)).headline == (
        "The objective rose from −3\u202f711 to about −2\u202f116 over steps 0 to 399, scattering by about"
        " 1\u202f040 from value to value, and nothing disturbed it for long. The log ends at step 399."
    )


def test_of_an_agent_no_loss_is_missed() -> None:
    """Its reward is what is judged, and the reason names it."""
    reward = chronicle.stitch({"rollout/ep_rew_mean": np.arange(60.0)})
    judged = chronicle.classify(reward)
    assert judged.because == "Good: rollout/ep_rew_mean got better, from 0 to 59.00, and kept what it gained."
    said = " ".join(tell(reward, judged).paragraphs)
    assert "no loss" not in said.lower()
    flat = {"rollout/ep_rew_mean": np.r_[1.0, 2.0, 1.5, 0.5, 2.0, 1.0, 1.5, 1.0, 2.0, 0.5, 1.5, 1.0]}
    assert chronicle.classify(flat).because == (
        "Cannot tell: rollout/ep_rew_mean shows no clear gain, and no loss was logged that could be judged."
    )


def test_what_something_explains_does_not_count() -> None:
    part = finding("multi-dataset-spike", 100, 130)
    part = replace(part, evidence={**part.evidence, "explained_by": "the whole did not rise"}, severity=1.0)
    story = tell(LONG, diagnosis(part, finding("level-shift", 500, None), verdict=Verdict.WORRYING))
    (spike,) = [e for e in story.events if "multi-dataset-spike" in e.patterns]
    assert spike.verdict is Verdict.GOOD
    assert spike.sentence.endswith(" It does not count against the run (the whole did not rise).")
    assert spike not in deciding(story.events, Verdict.WORRYING) and spike.sentence not in story.headline


def test_a_rise_with_which_an_attempt_begins_is_told_of_the_restart() -> None:
    timeline = rolled_back()
    (join,) = timeline.joins
    rise = finding("level-shift", join.to_step, None, name="b.csv")
    story = tell(timeline, diagnosis(rise, joins=timeline.joins, verdict=Verdict.WORRYING))
    assert f" at the restart at step {join.to_step} and stayed up" in story.headline


def test_what_leads_a_rise_belongs_to_that_rise_alone() -> None:
    """A gradient that grew once before two rises told them as one, with the numbers of the smaller."""

    def leads(start: int, rise: int) -> Finding:
        precursor = finding("grad-norm-precursor", start, rise, "grad_norm")
        return replace(precursor, evidence={"loss_start_step": float(rise)})

    assert groups(
        leads(70, 80),
        leads(70, 700),
        leads(390, 700),
        finding("spike-fast-recovery", 80, 100),
        finding("divergence-no-spike", 700, None),
    ) == [
        [("grad-norm-precursor", 70), ("spike-fast-recovery", 80)],
        [("grad-norm-precursor", 70), ("grad-norm-precursor", 390), ("divergence-no-spike", 700)],
    ]


def test_what_was_found_often_is_told_in_its_place() -> None:
    severe = [replace(finding("level-shift", at, at + 20), severity=at / 1000) for at in (100, 300, 500, 700)]
    words = tell(LONG, diagnosis(*severe)).paragraphs[0]
    assert words == "There were 2 more level shifts over steps 100 to 500."


def changing(values: Sequence[float], role: Role, name: str) -> dict[str, Event]:
    steps = np.arange(len(values))
    log = attempt("a.csv", series("loss", steps, falling(len(values))), series(name, steps, values, role))
    return events_by_id(stitch([log]), diagnosis())


def test_a_jump_of_the_learning_rate_is_a_change_of_schedule_and_a_warm_up_is_none() -> None:
    rate = [1e-4 * k for k in range(1, 21)] + [2e-3 * 0.99**k for k in range(60)]
    assert all(e.kind is not EventKind.SCHEDULE for e in changing(rate, Role.LEARNING_RATE, "lr").values())
    from_almost_nothing = [1e-6 + 1e-5 * k for k in range(60)] + [6e-4 * k / 60 for k in range(60, -1, -1)]
    events = changing(from_almost_nothing, Role.LEARNING_RATE, "lr").values()
    assert [e.sentence for e in events if e.kind is EventKind.SCHEDULE] == []
    kicked = changing([3e-3] * 40 + [3e-1] * 2 + [3e-3] * 40, Role.LEARNING_RATE, "lr")
    assert [e.sentence for e in kicked.values() if e.kind is EventKind.SCHEDULE] == [
        "The learning rate rose from 0.003 to 0.3 at step 40.",
        "The learning rate fell from 0.3 to 0.003 at step 42.",
    ]


def test_a_batch_that_grows_is_told_stage_by_stage_and_a_ramp_at_once() -> None:
    stages = changing([16] * 30 + [32] * 30 + [64] * 30, Role.BATCH_SIZE, "batch_size")
    assert [e.sentence for e in stages.values() if e.kind is EventKind.BATCH] == [
        "The batch size rose from 16 to 32 at step 30.",
        "The batch size rose from 32 to 64 at step 60.",
    ]
    ramp = changing([size for size in range(16, 64, 2) for _ in range(5)], Role.BATCH_SIZE, "batch_size")
    assert [e.sentence for e in ramp.values() if e.kind is EventKind.BATCH] == [
        "The batch size rose from 16 to 62 in 23 stages over steps 5 to 115."
    ]
    saw = changing([size for _ in range(10) for size in (8, 64) for _ in range(5)], Role.BATCH_SIZE, "batch")
    assert [e.sentence for e in saw.values() if e.kind is EventKind.BATCH] == [
        "The batch size changed 19 times over steps 5 to 95, between 8 and 64."
    ]


def test_a_warm_up_of_few_samples_is_one_change() -> None:
    rate = [1e-3, 2e-3, 3e-3, 4e-3, 5e-3] + [5e-3] * 40
    events = changing(rate, Role.LEARNING_RATE, "lr")
    assert [(e.sentence, e.short, e.end_step) for e in events.values() if e.kind is EventKind.SCHEDULE] == [
        (
            "The learning rate warmed up from 0.001 to 0.005 over steps 1 to 4.",
            "learning rate 0.001 → 0.005 over steps 1 to 4",
            4,
        )
    ]


def test_a_warm_up_is_one_event_and_no_change_however_seldom_or_coarsely_it_was_logged() -> None:
    """A rate of two digits rose in four events, and one logged every 500 steps was an experiment."""
    coarse = [0.0] * 3 + [0.01 * k for k in range(1, 6) for _ in range(8)] + [0.05] * 40
    for rate, sentence in (
        (coarse, "The learning rate warmed up from 0.01 to 0.05 over steps 11 to 35."),
        (
            [1e-6] + [3e-4 * 0.9**k for k in range(20)],
            "The learning rate warmed up from 1 × 10⁻⁶ to 0.0003 by step 1.",
        ),
    ):
        events = changing(rate, Role.LEARNING_RATE, "lr").values()
        assert [(e.title, e.sentence) for e in events if e.kind is EventKind.SCHEDULE] == [
            ("Warm-up", sentence)
        ]


STAIRCASE = [0.001] * 30 + [0.002] * 30 + [0.004] + [0.008] * 30


@pytest.mark.parametrize(
    ("rate", "sentences"),
    [
        (
            [float(f"{3.75e-5 * k:.2e}") for k in range(9)] + [3e-4 * 0.999**k for k in range(40)],
            ["The learning rate warmed up from 3.75 × 10⁻⁵ to 0.0003 over steps 2 to 8."],
        ),
        (
            [2e-5, 4e-5, 5e-5] + [5e-5] * 40,  # it ends between two rows
            ["The learning rate warmed up from 2 × 10⁻⁵ to 5 × 10⁻⁵ over steps 1 to 2."],
        ),
        (
            [3e-4] * 40 + [2.4e-4, 1.8e-4, 1.2e-4, 6e-5],
            ["The learning rate fell from 0.0003 to 6 × 10⁻⁵ over steps 40 to 43."],
        ),
        ([1.0] * 20 + [round(1 - k / 990, 2) for k in range(990)], []),  # as long as the log
        (
            STAIRCASE,
            [
                "The learning rate rose from 0.001 to 0.002 at step 30.",
                "The learning rate rose from 0.002 to 0.008 in 2 stages over steps 60 to 61.",
            ],
        ),
    ],
)
def test_even_moves_from_row_to_row_are_no_stages(rate: Sequence[float], sentences: list[str]) -> None:
    events = changing(rate, Role.LEARNING_RATE, "lr").values()
    assert [e.sentence for e in events if e.kind is EventKind.SCHEDULE] == sentences


def test_times_tokens_and_days() -> None:
    steps = np.arange(900)
    loss = replace(series("loss", steps, falling(900)), times=1.7e9 + 60.0 * steps)
    timeline = stitch([attempt("a.csv", loss)])
    config = RunConfig(tokens_per_step=1000.0, date="2023-01-01")
    (event,) = [e for e in tell(timeline, diagnosis(SPIKE), config).events if e.patterns]
    assert (event.time, event.elapsed_s, event.duration_s) == ("2023-11-14T23:53:20Z", 6000.0, 600.0)
    assert event.tokens == 100_000.0
    assert {e.time for e in tell(LONG, diagnosis(SPIKE), config).events} == {"2023-01-01"}


def test_where_the_first_step_is_not_the_earliest_nothing_is_told_since_the_start() -> None:
    """Blocks of rows were sorted by step, and the launch was told 22 min after the start."""
    steps = np.arange(900)
    times = 1.7e9 + np.where(steps < 800, 60.0 * (steps + 100), 60.0 * (steps - 800))
    timeline = stitch([attempt("a.csv", replace(series("loss", steps, falling(900)), times=times))])
    told = tell(timeline, diagnosis(SPIKE)).events
    assert {event.elapsed_s for event in told} == {None} and all(event.time for event in told)


def test_the_story_does_not_depend_on_when_it_is_told() -> None:
    timeline, judged = rolled_back(), diagnosis(SPIKE, finding("divergence-after-spike", 350, None))
    assert tell(timeline, judged) == tell(timeline, judged)


def test_a_run_without_values_has_a_story() -> None:
    story = tell(Timeline("r", (), (), {}), replace(diagnosis(), because="No loss was logged."))
    assert (story.headline, story.events) == ("No loss was logged.", ())


def test_what_changed_at_a_restart_is_told_in_sentences() -> None:
    timeline = rolled_back()
    changes = (
        Change("seed", 1, 2),
        Change("samples read", 1000, 1200, None),
        Change("learning rate", 2e-5, 1e-4, None, 310),
        Change("precision", None, "bf16"),
        Change("nodes", "a", "b"),
        Change("job", 1, 2),
    )

    def sentence(number: int) -> str:
        joins = tuple(replace(join, changes=changes[:number]) for join in timeline.joins)
        events = tell(replace(timeline, joins=joins), diagnosis(joins=joins)).events
        rollback = next(event.sentence for event in events if event.kind is EventKind.ROLLBACK)
        return rollback.partition("discarded.")[2].strip()

    assert sentence(0) == ""
    assert sentence(1) == "The seed changed from 1 to 2."
    assert sentence(3) == (
        "The seed changed from 1 to 2, 200 samples were left out and the learning rate rose from "
        "2 × 10⁻⁵ to 0.0001 at step 310."
    )
    assert sentence(6).endswith("the precision was stated as bf16 and 2 more values changed.")


@pytest.mark.parametrize("name", ["104B-en-fail", "lab-lost-nodes", "ptl-repeat-data-p3"])
def test_findings_are_numbered_in_the_order_they_are_told_in(name: str) -> None:
    """Figures counted along the axis, lists went from attempt to attempt: 1, 4, 2, 5, 3."""
    marks = [event.mark for event in specimen(name).story.events if event.kind is EventKind.FINDING]
    assert marks == [str(number) for number in range(1, len(marks) + 1)]


def test_what_came_before_at_one_step_is_told_in_one_breath() -> None:
    said = [event.causes for event in specimen("104B-en-fail").story.events if event.step == 18_897]
    assert said == [("397 million tokens after the rollback D and the resume spike",)]


def three_trainings(*more: Finding) -> tuple[str, dict[str, str]]:
    """The headline and the sentences of findings in a log of three trainings, one after the other."""
    lengths, ends = (40, 60, 50), (0.5, 0.9, 0.7)
    steps = np.concatenate([np.arange(n) for n in lengths])
    loss = np.concatenate([np.linspace(2, end, n) for n, end in zip(lengths, ends, strict=True)])
    timeline = stitch(attempt("a.csv", series("loss", steps, loss)))
    story = tell(timeline, diagnosis(*more))
    return story.headline, {e.id: e.sentence for e in story.events if e.kind is not EventKind.LAUNCH}


def test_how_several_trainings_ended_is_told_in_brackets() -> None:
    """ "which end at steps 30 to 1 030, 3 crashed, 1 NCCL error" was no sentence."""
    steps = np.arange(60)
    logs = [attempt(f"{n}.csv", series("loss", steps, falling(60) * (1 + n))) for n in range(3)]
    ended = [
        replace(log, facts={"ended": how}) for log, how in zip(logs, ("crashed", "", "crashed"), strict=True)
    ]
    headline = tell(stitch(ended, relation="seeds"), diagnosis()).headline
    assert "The logs hold 3 trainings, which all end at step 59 (2 crashed)." in headline


def test_of_several_trainings_the_headline_says_how_many_and_how_they_ended() -> None:
    headline, events = three_trainings(finding("spike-slow-recovery", 30, None, name="a.csv#2"))
    assert headline == (
        "In the second of 3 trainings the loss jumped at step 30 and had not come all the way back when the "
        "training ended. The log holds 3 trainings, which end at steps 39 to 59. The loss ends at a level "
        "between 0.577 (the first) and 0.956 (the second)."
    )
    assert events["end"] == "The log ends at step 49 of the third of 3 trainings."


def test_a_training_that_its_log_numbers_is_called_so() -> None:
    parts = [
        replace(attempt("a.csv", series("loss", np.arange(40), np.linspace(2, end, 40))), name=f"a.csv#{k}")
        for k, end in enumerate((0.5, 0.9), 1)
    ]
    folds = [replace(part, facts={"trial": f"fold {k}"}) for k, part in enumerate(parts)]
    story = tell(stitch(folds), diagnosis(finding("spike-slow-recovery", 30, 35, name="a.csv#2")))
    assert story.headline == (
        "In fold 1, the second of 2 trainings, the loss jumped at step 30 and was back after 5 steps. "
        "The log holds 2 trainings, which both end at step 39. The loss ends at a level between 0.577 "
        "(fold 0) and 0.956 (fold 1)."
    )
