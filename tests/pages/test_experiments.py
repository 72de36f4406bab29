"""The table of experiments: which events and notes make a row, and what stands in it."""

from __future__ import annotations

from dataclasses import replace

from tests.pages.samples import CALM, EVENTS, healthy, rollback, small

from chronicle.model import Entry, Event, EventKind, JoinKind, Verdict
from chronicle.pages.chronology import experiments, experiments_page
from chronicle.pages.gallery import SiteData
from chronicle.pages.words import renderer

_, DIP, LEFT, ROLLBACK, DECISION, END = EVENTS
LAUNCH = replace(EVENTS[0], elapsed_s=0.0)
RATE = Event(
    "schedule-change-a1-5", EventKind.SCHEDULE, "Schedule change", "The rate rose at step 5.", step=5
)
BACK = replace(RATE, id="schedule-change-a1-9", sentence="The rate fell at step 9.", step=9)
SPIKE = replace(DIP, step=6, end_step=8, causes=("1 step after the schedule change",))

Row = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str]


def table(data: SiteData) -> str:
    return next(experiments_page(data, renderer(data.templates))).text


def rows(entry: Entry) -> list[Row]:
    return [(row.event.id, row.changed, row.why, row.outcome, row.hours) for row in experiments(entry)]


def said(kind: str, hour: int, of: str = "") -> Event:
    """A note on an event, or on the run as a whole, whose text is its kind and hour."""
    as_kind = EventKind.DECISION if kind == "decision" else EventKind.NOTE
    name, time = f"note-{kind}-{hour}", f"2026-11-18T{hour:02}:00Z"
    return Event(name, as_kind, kind.capitalize(), f"{kind} at {hour}", time=time, of=of)


def run(*events: Event, joins: bool = False) -> Entry:
    diagnosis = rollback().diagnosis if joins else replace(rollback().diagnosis, joins=())
    return replace(rollback(), events=events, diagnosis=diagnosis)


def test_a_rollback_with_what_it_undid_and_what_was_decided_about_that_is_one_row() -> None:
    assert rows(rollback()) == [
        (
            "rollback-a2",
            (ROLLBACK.sentence, DECISION.sentence),
            (LEFT.sentence,),
            ("No finding followed up to step 100\u202f000.",),
            "7.50",
        )
    ]
    assert rows(healthy()) == []


def test_a_fault_before_a_restart_is_why_and_the_next_restart_is_no_outcome() -> None:
    fault = Event("fault-xid-60000", EventKind.FAULT, "Fault: Xid", "A GPU was lost.", step=61_399)
    (join,) = rollback().diagnosis.joins
    first = replace(join, evidence={}, changes=(), gap_s=None)
    later = replace(first, before=1, after=2, from_step=70_000, to_step=69_000)
    again = replace(ROLLBACK, id="rollback-a3", sentence="The run went back to step 69\u202f000.")
    entry = run(LAUNCH, fault, ROLLBACK, said("tried", 9, ROLLBACK.id), again, END, joins=True)
    entry = replace(entry, diagnosis=replace(entry.diagnosis, joins=(first, later)))
    assert rows(entry) == [
        (
            "rollback-a2",
            (ROLLBACK.sentence, "tried at 9"),
            ("A GPU was lost.",),
            ("No finding followed up to step 70\u202f000.",),
            "",  # nobody logged when
        )
    ]


def test_a_restart_that_merely_went_on_is_no_experiment() -> None:
    joins = tuple(
        replace(join, changes=(), evidence={}, kind=JoinKind.RESUME) for join in rollback().diagnosis.joins
    )
    resume = replace(ROLLBACK, kind=EventKind.RESUME, id="resume-a2")
    entry = run(LAUNCH, resume, DIP, END)
    assert rows(replace(entry, diagnosis=replace(entry.diagnosis, joins=joins))) == []


def test_changes_that_follow_each_other_are_one_row_and_what_they_caused_is_the_outcome() -> None:
    notes = said("hypothesis", 9, RATE.id), said("decision", 10, SPIKE.id), said("lesson", 11, SPIKE.id)
    assert rows(run(LAUNCH, RATE, SPIKE, BACK, *notes, END)) == [
        (
            RATE.id,
            (RATE.sentence, BACK.sentence),
            ("hypothesis at 9",),
            (SPIKE.sentence, "Decision: decision at 10", "Lesson: lesson at 11"),
            "0",
        )
    ]


def test_a_decision_on_a_finding_is_what_was_done_and_an_outcome_before_it_is_why() -> None:
    notes = said("outcome", 9, DIP.id), said("decision", 10, DIP.id), said("lesson", 11, DIP.id)
    why = (DIP.sentence, "outcome at 9")
    assert rows(run(LAUNCH, DIP, *notes, END)) == [
        (DIP.id, ("decision at 10",), why, ("Lesson: lesson at 11",), "0")
    ]
    assert rows(run(LAUNCH, DIP, notes[1], END))[0][3] == ("No finding followed up to step 100\u202f000.",)
    lasting = replace(DIP, end_step=None, verdict=Verdict.WORRYING)
    assert rows(run(LAUNCH, lasting, notes[1], END))[0][3] == ()  # nobody noted what came of it
    assert rows(run(LAUNCH, DIP, notes[0], notes[2], END)) == []  # nothing was done


def test_a_run_with_a_plan_is_one_row_with_all_that_was_said_of_it() -> None:
    plan = said("hypothesis", 8), said("tried", 9), said("outcome", 14)
    seen = said("hypothesis", 10, LEFT.id), said("decision", 12, LEFT.id)
    assert rows(run(LAUNCH, CALM, DIP, LEFT, *seen, *plan, END)) == [
        (
            "note-hypothesis-8",
            ("tried at 9",),
            ("hypothesis at 8",),
            (
                DIP.sentence,
                LEFT.sentence,
                "Hypothesis: hypothesis at 10",
                "Decision: decision at 12",
                "outcome at 14",
            ),
            "",  # nobody logged when it ended
        )
    ]


def test_a_plan_that_came_true_has_the_course_of_the_run_as_its_outcome() -> None:
    entry = replace(run(LAUNCH, CALM, said("hypothesis", 8), END), verdict=Verdict.GOOD)
    assert rows(entry) == [
        ("note-hypothesis-8", ("The run as a whole.",), ("hypothesis at 8",), (CALM.sentence,), "0")
    ]


def test_what_is_told_of_a_run_in_turn_is_a_row_for_each_thing_that_was_done() -> None:
    kinds = "outcome", "tried", "outcome", "hypothesis", "tried", "lesson", "decision", "hypothesis"
    told = [said(kind, hour) for hour, kind in enumerate(kinds)]
    expected = [
        ("note-tried-1", ("tried at 1",), (), ("outcome at 2",)),
        ("note-hypothesis-3", ("tried at 4",), ("hypothesis at 3",), ("Lesson: lesson at 5",)),
        ("note-decision-6", ("decision at 6",), (), ()),
    ]
    assert [row[:4] for row in rows(run(CALM, *told, END))] == expected
    # Notes on what speaks of all of the run speak of the run.
    assert [
        row[:4] for row in rows(run(CALM, *(replace(note, of=CALM.id) for note in told), END))
    ] == expected


def test_hours_trained_after_a_failure_that_was_never_over_are_lost() -> None:
    end = replace(END, elapsed_s=45_000.0)  # 2.5 hours after the spike
    assert rows(run(LAUNCH, LEFT, DECISION, end))[0][4] == "2.50"
    assert rows(run(LAUNCH, replace(LEFT, live=False), DECISION, end))[0][4] == "0"
    assert rows(run(DIP, replace(DECISION, of=DIP.id), END))[0][4] == ""  # nobody logged when


def test_an_experiment_is_dated_by_what_was_done_and_not_by_the_finding() -> None:
    found = replace(DIP, time="2026-09-21T08:00:00Z")
    notes = replace(said("hypothesis", 9, DIP.id), time="2026-11-29"), said("decision", 10, DIP.id)
    assert [row.time for row in experiments(run(LAUNCH, found, *notes, END))] == ["2026-11-18T10:00Z"]
    logged = replace(RATE, time="2026-11-02T08:00:00Z")
    assert [row.time for row in experiments(run(LAUNCH, logged, said("tried", 9, RATE.id), END))] == [
        logged.time
    ]
    # Nobody logged when the rate rose: the note on it has a date.
    assert [row.day for row in experiments(run(LAUNCH, RATE, said("tried", 9, RATE.id), END))] == [
        "2026-11-18"
    ]


def test_what_was_noted_before_an_act_is_why_and_what_was_noted_later_is_not() -> None:
    notes = said("note", 9, DIP.id), said("decision", 10, DIP.id), said("note", 11, DIP.id)
    assert rows(run(LAUNCH, DIP, *notes, END))[0][1:3] == (("decision at 10",), (DIP.sentence, "note at 9"))
    elsewhere, here, tried = (
        replace(said(kind, hour), step=step)
        for kind, hour, step in (("note", 7, 3), ("note", 8, 4), ("tried", 9, 4))
    )
    told = elsewhere, here, tried, said("outcome", 10), said("tried", 12)
    assert [row[1:4] for row in rows(run(CALM, *told, END))] == [
        (("tried at 9",), ("note at 8",), ("outcome at 10",)),
        (("tried at 12",), (), ()),
    ]


def test_the_page_has_the_newest_first_and_says_what_nobody_noted() -> None:
    old = replace(rollback(), run_id="old", events=(replace(ROLLBACK, time="2025-01-01"),))
    text = table(small(old, rollback()))
    # Nobody logged when the run went back: the decision has a date.
    assert text.index("demo-rollback/index.html&#35;rollback-a2") < text.index("runs/old/index.html")
    assert '<td data-k="why"><span class="ch-no">not noted</span></td>' in text
    assert "<p>No run was changed while it trained." in table(small(healthy()))
