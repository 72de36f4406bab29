"""The log over all runs: which events it has, in which order, and as Markdown."""

from __future__ import annotations

from dataclasses import replace

from tests.pages.samples import EVENTS, healthy, rollback

from chronicle.model import EventKind
from chronicle.pages.chronology import by_month, markdown
from chronicle.pages.gallery import dated_events


def test_newest_first_whatever_the_zone_and_undated_last() -> None:
    times = ["2026-11-18T10:00:00Z", "2026-11-18T10:30+01:00", "2026-11-19", "", "2025-01-02T00:00:00Z"]
    events = tuple(replace(EVENTS[2], id=f"rise-{k}", time=time) for k, time in enumerate(times))
    undated = replace(rollback(), run_id="other", events=(EVENTS[0], EVENTS[-1]))
    listed = dated_events([replace(rollback(), events=events), undated])
    assert [row.time for row in listed] == [times[2], times[0], times[1], times[4], ""]
    assert [(row.entry.run_id, row.event.kind) for row in listed[-1:]] == [("other", EventKind.END)]


def test_a_run_of_one_day_is_told_by_its_end() -> None:
    launch, end = EVENTS[0], EVENTS[-1]
    day = replace(launch, time="2026-11-18T01:00:00Z"), replace(end, time="2026-11-18T09:00:00Z")
    assert [row.event.title for row in dated_events([replace(rollback(), events=day)])] == ["End"]
    long = day[0], replace(end, time="2026-11-20T09:00:00Z")
    assert [row.event.title for row in dated_events([replace(rollback(), events=long)])] == ["End", "Launch"]


def test_a_calm_run_is_no_event_of_the_log() -> None:
    dated = tuple(replace(event, time="2026-11-18") for event in healthy().events)
    assert dated_events([healthy(events=dated)]) == []


def test_months_and_days() -> None:
    times = ["2026-11-18T10:00:00Z", "2026-11-05", "2026-09-30", ""]
    events = tuple(replace(EVENTS[-1], id=f"end-{k}", time=time) for k, time in enumerate(times[:3]))
    undated = replace(rollback(), events=(EVENTS[-1],))
    months = by_month(dated_events([replace(rollback(), events=events), undated]))
    assert [(month, [(day, len(same)) for day, same in days]) for month, days in months] == [
        ("November 2026", [("18 November", 1), ("5 November", 1)]),
        ("September 2026", [("30 September", 1)]),
        ("No date", [("", 1)]),
    ]


def test_the_log_as_markdown_in_full() -> None:
    assert markdown([rollback(), healthy()]) == (
        "# Chronicle\n"
        "\n"
        "## November 2026\n"
        "\n"
        "### 18 November\n"
        "\n"
        "- 22:41+01:00 **Decision** (A rollback with a lower learning rate, ada): Back to 56 000. "
        "Not 58 500.\n"
        "- 19:02Z **Spike, not fully recovered** (A rollback with a lower learning rate): The loss jumped "
        "from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.\n"
    )


def test_days_are_kept_to_both_ends_and_text_of_others_is_no_markup() -> None:
    assert markdown([rollback()], "2026-11-19") == "# Chronicle\n\nNo dated event.\n"
    assert "Decision" in markdown([rollback()], "2026-11-18", "2026-11-18")
    hostile = replace(EVENTS[4], sentence="# no *heading*\n<b>x</b>")
    text = markdown([replace(rollback(), events=(hostile,))])
    assert text.endswith("ada): \\# no \\*heading\\* \\<b\\>x\\</b\\>\n")
