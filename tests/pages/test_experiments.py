"""The table of what was tried: which events make a row, and what stands in it."""

from __future__ import annotations

from dataclasses import replace

from tests.pages.samples import EVENTS, healthy, rollback, small

from chronicle.model import Entry, EventKind, JoinKind
from chronicle.pages import SiteData
from chronicle.pages.chronology import experiments, experiments_page
from chronicle.pages.words import renderer

LAUNCH, DIP, LEFT, ROLLBACK, DECISION, END = EVENTS


def table(data: SiteData) -> str:
    return next(experiments_page(data, renderer(data.templates))).text


def rows(entry: Entry) -> list[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...], str]]:
    return [(row.event.id, row.done, row.why, row.outcome, row.hours) for row in experiments(entry)]


def test_a_decision_on_a_finding_and_a_rollback() -> None:
    assert rows(rollback()) == [
        (
            LEFT.id,
            (DECISION.sentence,),
            (LEFT.sentence,),
            (
                "The run went back from step 61\u202f400 to step 56\u202f000"
                " and 5\u202f400 steps were discarded.",
            ),
            "",
        ),
        (ROLLBACK.id, (ROLLBACK.sentence,), (), (), "7.50"),
    ]
    assert rows(healthy()) == []


def test_hypothesis_and_outcome_stand_beside_what_they_speak_of() -> None:
    said = [
        replace(
            DECISION, id=f"note-{kind}", title=kind.capitalize(), sentence=f"{kind}!", kind=EventKind.NOTE
        )
        for kind in ("hypothesis", "tried", "outcome", "review")
    ]
    notes = [replace(note, of=ROLLBACK.id) for note in said]
    alone = replace(said[1], id="note-alone", of="")
    finished = replace(END, sentence="The training finished at step 100\u202f000.", ending="finished")
    entry = replace(rollback(), events=(LAUNCH, ROLLBACK, *notes, alone, finished))
    assert rows(entry) == [
        (ROLLBACK.id, (ROLLBACK.sentence, "tried!"), ("hypothesis!",), ("outcome!",), "7.50"),
        ("note-alone", ("tried!",), (), ("The training finished at step 100\u202f000.",), ""),
    ]


def test_a_plain_resume_is_no_experiment_and_a_change_of_schedule_is() -> None:
    joins = tuple(replace(join, changes=(), kind=JoinKind.RESUME) for join in rollback().diagnosis.joins)
    resume = replace(ROLLBACK, kind=EventKind.RESUME, id="resume-a2")
    rate = replace(ROLLBACK, kind=EventKind.SCHEDULE, id="schedule-change-a1-5", sentence="The rate fell.")
    entry = replace(rollback(), diagnosis=replace(rollback().diagnosis, joins=joins), events=(resume, rate))
    assert [row[0] for row in rows(entry)] == ["schedule-change-a1-5"]


def test_the_page_has_the_newest_first_and_says_where_there_is_none() -> None:
    old = replace(rollback(), run_id="old", events=(replace(ROLLBACK, time="2025-01-01"),))
    data = small(old, rollback())
    text = table(data)
    assert text.index("demo-rollback/index.html&#35;rise-a1-59000") < text.index("runs/old/index.html")
    empty = small(healthy())
    assert "<p>No run was changed while it trained." in table(empty)
