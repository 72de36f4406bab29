"""What is listed of an entry is all that other pages than its own show of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pages.samples import EVENTS, healthy, many, rollback, site

from chronicle.model import EventKind, Fact, Note
from chronicle.pages import assets, pages
from chronicle.pages.gallery import SiteData, for_lists


def archive() -> SiteData:
    """Runs with all that any page may show: notes, reviews of a run and of a finding, facts of run.toml."""
    review = replace(EVENTS[4], id="review", kind=EventKind.REVIEW, title="Disputed", who="ada")
    run = replace(
        rollback(),
        events=(*EVENTS, review),
        notes=(Note("Good after all.", "2026-11-19", "review good", author="ada"),),
        facts=(*rollback().facts, Fact("owner", "Grace", "", "run.toml")),
    )
    return site([run, healthy(), *many(9)], unreadable=[("x", "no log")], site_url="https://l.org/")


@pytest.mark.slow
def test_pages_of_what_is_listed_are_those_of_whole_entries() -> None:
    data = archive()
    whole = {entry.run_id: entry for entry in data.entries}
    thin = replace(data, entries=[for_lists(e) for e in data.entries], full_entry=lambda e: whole[e.run_id])
    assert all(len(repr(row)) < len(repr(whole[row.run_id])) for row in thin.entries)
    for kind in (pages, assets):
        assert list(kind(thin)) == list(kind(data))
