"""Home of a team and of the reference gallery: what asks for somebody, what is new, which patterns."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.pages.samples import EVENTS, LOST, gallery, healthy, rollback, site, small

from chronicle.model import Entry, Event, EventKind, Fact, Verdict
from chronicle.pages.chronology import atom
from chronicle.pages.gallery import SiteData, by_wrong_clock
from chronicle.pages.lists import (
    MOST_STATED,
    NEWS,
    ON_A_SHELF,
    entries_js,
    home,
    in_training,
    needs_attention,
    shelves,
    week,
)
from chronicle.pages.words import renderer

LAUNCH, _, LEFT, ROLLBACK, DECISION, END = EVENTS
FOUND = replace(LEFT, time="2026-11-18T19:02:00Z")


def shown(data: SiteData) -> str:
    return next(home(data, renderer(data.templates))).text


def with_events(*events: Event, **changes: Any) -> Entry:
    return replace(rollback(), events=events, **changes)


def noted(kind: str, time: str) -> Event:
    kinds = {"decision": EventKind.DECISION, "review": EventKind.REVIEW}
    of = "" if kind == "review" else DECISION.of
    return replace(DECISION, kind=kinds.get(kind, EventKind.NOTE), title=kind.title(), time=time, of=of)


def test_a_decision_or_review_that_came_after_clears_a_run() -> None:
    assert needs_attention(with_events(FOUND))
    for kind, time, asks in [
        ("decision", "2026-11-19", False),
        ("decision", "2026-11-18T22:41+01:00", False),
        ("review", "2026-11-18", False),
        ("decision", "", False),
        ("decision", "2026-11-17", True),  # on something else, before this happened
        ("lesson", "2026-11-19", True),
    ]:
        assert needs_attention(with_events(FOUND, noted(kind, time))) is asks, (kind, time)


def test_how_many_have_an_answer_is_said_beside_those_that_ask() -> None:
    runs = [with_events(FOUND, run_id="asks")]
    runs += [with_events(FOUND, noted("decision", "2026-11-19"), run_id=f"decided-{k}") for k in range(2)]
    said = re.findall(r'<p class="ch-small">(\d more [^:]*):', shown(site(runs)))
    assert said == ["2 more have a decision or a review"]
    assert "more have" not in shown(site(runs[:1]))


def test_a_plain_end_is_no_news_of_a_day_on_which_the_run_had_other_news() -> None:
    end = replace(END, time="2026-11-18T21:00:00Z")
    found = with_events(FOUND, end, run_id="found")
    alone = with_events(end, run_id="alone", badge="good", verdict=Verdict.GOOD)
    rows, _ = week(site([found, alone]).happened)
    assert [(row.entry.run_id, row.event.title) for row in rows] == [
        ("alone", "End"),
        ("found", "Spike, not fully recovered"),
    ]
    assert rows[0].sentence == "The log ends at step 100\u202f000. The verdict of the run is good."
    (undecided,), _ = week(site([with_events(end, badge="cannot tell")]).happened)
    assert undecided.sentence == "The log ends at step 100\u202f000."
    later = replace(end, time="2026-11-19T08:00:00Z")
    assert len(week(site([with_events(FOUND, later)]).happened)[0]) == 2
    crashed = replace(end, ending="crashed")
    assert len(week(site([with_events(FOUND, crashed)]).happened)[0]) == 2


def test_what_is_bad_worrying_or_not_to_be_told_asks_and_what_only_surprises_does_not() -> None:
    badges = ["good", "unexpected", "worrying", "bad", "cannot tell"]
    asking = [badge for badge in badges if needs_attention(with_events(END, badge=badge))]
    assert asking == ["worrying", "bad", "cannot tell"]


def test_attention_goes_to_the_gravest_and_of_these_to_the_latest() -> None:
    def ended(run_id: str, verdict: Verdict, when: str) -> Entry:
        end = replace(END, time=when)
        return with_events(end, run_id=run_id, verdict=verdict, badge=verdict.value)

    runs = [
        ended("old-bad", Verdict.BAD, "2026-01-01T00:00:00Z"),
        ended("worry", Verdict.WORRYING, "2026-03-01T00:00:00Z"),
        ended("new-bad", Verdict.BAD, "2026-02-01T00:00:00Z"),
        healthy("fine"),
    ]
    rows = shown(site(runs)).split("ch-rows")[1].split("</ul>")[0]
    assert re.findall(r'class="ch-row" href="runs/([a-z-]+)/', rows) == ["new-bad", "old-bad", "worry"]
    listed = re.findall(r'"runs/([a-z-]+)/index.html"', entries_js(site(runs)))
    assert listed == ["new-bad", "old-bad", "worry", "fine"]  # as Browse has them
    assert "<p>Nothing: every run that is bad or worrying" in shown(small(healthy()))


def test_one_run_with_very_many_facts_does_not_slow_browse_for_all() -> None:
    facts = tuple(Fact(f"fact {k}", "x" * 500, None, "run.toml") for k in range(2000))
    data = entries_js(site([with_events(END, facts=facts), healthy("fine")]))
    assert data.count("fact ") == MOST_STATED
    assert len(data) < 400 * MOST_STATED


def test_the_week_is_counted_from_the_newest_event() -> None:
    times = ["2026-11-18T10:00:00Z", "2026-11-11T10:00:00Z", "2026-11-11T09:59:59Z", ""]
    events = [replace(ROLLBACK, id=f"rollback-a{k}", time=time) for k, time in enumerate(times)]
    rows, more = week(small(with_events(*events)).happened)
    assert ([row.time for row in rows], more) == (times[:2], 0)
    many = [replace(ROLLBACK, id=f"rollback-a{k}", time=times[0]) for k in range(NEWS + 3)]
    assert week(small(with_events(*many)).happened)[1] == 3
    assert week(small(healthy()).happened) == ([], 0)


def test_in_training_is_what_tells_of_no_end_and_is_as_new_as_the_newest_log() -> None:
    def run(run_id: str, time: str, ending: str = "", **about: Any) -> Entry:
        return with_events(replace(END, time=time, ending=ending), run_id=run_id, about=about)

    runs = [
        run("newest-but-finished", "2026-11-18T20:00:00Z", "finished"),
        run("open", "2026-11-18T10:00:00Z"),
        run("cut", "2026-11-17T20:00:00Z", "cut off"),
        run("old", "2026-11-17T19:59:59Z"),
        run("crashed", "2026-11-18T19:00:00Z", "crashed"),
        run("of-a-day", "2026-11-18"),
        run("specimen", "2026-11-18T10:00:00Z", data="tiny training"),
    ]
    assert [entry.run_id for entry in in_training(runs)] == ["open", "cut"]
    assert in_training([]) == []
    later = replace(END, id="note-1", kind=EventKind.NOTE, time="2026-11-20T09:00:00Z")
    assert in_training([*runs, with_events(later, run_id="noted")]) == []  # who wrote it saw no newer log


def test_a_date_of_a_wrong_clock_is_the_newest_of_nothing() -> None:
    """A wrong clock hid the news of all other runs, and what is in training, for as long as it was wrong."""

    def run(run_id: str, time: str, *events: Event) -> Entry:
        return with_events(*events, replace(END, time=time, ending=""), run_id=run_id, about={})

    ahead, now = run("ahead", "9999-12-31T20:00:00Z"), run("now", "2026-11-18T10:00:00Z")
    assert [row.time for row in site([now, ahead]).happened] == [
        "2026-11-18T10:00:00Z",
        "9999-12-31T20:00:00Z",
    ]
    assert [row.entry.run_id for row in week(site([ahead, now]).happened)[0]] == ["now"]
    assert [entry.run_id for entry in in_training([ahead, now])] == ["now"]
    assert [card.href for card in shelves([ahead, now])[-1][-1]] == [
        "runs/now/index.html",
        "runs/ahead/index.html",
    ]
    assert "9999" not in atom(site([ahead, now]))
    assert (by_wrong_clock(ahead), by_wrong_clock(now)) == ("9999-12-31T20:00:00Z", "")
    found = replace(FOUND, time="9999-12-31T20:00:00Z")
    assert not needs_attention(with_events(found, noted("review", "2026-11-19")))


def test_shelves_by_project_the_newest_first_and_single_runs_together() -> None:
    def run(run_id: str, project: str, day: int) -> Entry:
        return with_events(replace(END, time=f"2026-11-{day:02}"), run_id=run_id, about={"project": project})

    runs = [run(f"a{day}", "A", day) for day in range(1, 7)]
    runs += [run("b1", "B", 20), run("b2", "B", 1), run("c", "C", 30), run("none", "", 2)]
    shelves_shown = [
        (name, number, [card.href.split("/")[1] for card in cards]) for name, number, cards in shelves(runs)
    ]
    assert shelves_shown == [
        ("B", 2, ["b1", "b2"]),
        ("A", 6, ["a6", "a5", "a4", "a3"]),
        ("", 2, ["c", "none"]),
    ]
    assert ON_A_SHELF == 4


def test_the_reference_gallery_teaches_and_a_team_is_called_by_its_title() -> None:
    reference = shown(small(rollback(), healthy()))
    assert "<h1>Learn to read a training curve</h1>" in reference and "ch-poster" in reference
    for data in (small(rollback(), title="Atlas"), small(healthy())):  # named; no specimen of any pattern
        team = shown(data)
        assert f"<h1>{data.title}</h1>" in team and "ch-poster" not in team and "## Newest runs" in team


def test_patterns_that_no_run_shows_fold_away() -> None:
    text = shown(site([rollback()], patterns=gallery(), title="Atlas"))
    first, folded = text.split("<summary>34 patterns that no run here shows</summary>")
    assert "patterns/spike-no-full-recovery.html" in first and "patterns/hang.html" not in first
    assert "patterns/hang.html" in folded
    assert "<summary>" not in shown(small(healthy()))  # none at all: nothing is hidden


@pytest.mark.slow
def test_home_shows_a_real_run_before_an_illustration() -> None:
    page = replace(LOST, specimens=("toy", "real"))
    runs = healthy("toy", about={"synthetic": True}), healthy("real")
    assert 'class="ch-poster" href="runs/real/' in shown(site(runs, patterns=(page,)))
