"""The log over all runs: their events by month and day, newest first; as a page, as data, as Markdown, as
feeds: Atom (RFC 4287) and JSON Feed 1.1. Beside it the table of what was tried, and what came of it.

Ids of the feeds are UUIDs of the site's title, the run and the event, so that they outlive a move of the
site. Without ``site_url`` links are relative in Atom, which allows that, and left out in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from chronicle.metrics.values import clipped, level, moment
from chronicle.model import Entry, EventKind, Join, JoinKind
from chronicle.pages.gallery import Page, RunEvent, SiteData, dated_events
from chronicle.pages.words import Render, as_json, plain

LISTED = 150  # rows of the list for browsers without scripts
TRIED = 200  # rows of the table of experiments, the newest first
MOST = 100  # events of a feed: a reader has fetched the older ones
ATOM, JSON = "feed.xml", "feed.json"
_LONGEST = 400  # characters of a sentence
_SET = (EventKind.SCHEDULE, EventKind.BATCH)
_COLUMNS = ("tried", "decision"), ("hypothesis",), ("outcome", "lesson")  # kinds of notes: done, why, outcome


@dataclass(frozen=True)
class Experiment(RunEvent):
    """What was done about an event, why, and what came of it; ``hours`` is empty where unknown."""

    done: tuple[str, ...]
    why: tuple[str, ...]
    outcome: tuple[str, ...]
    hours: str


def chronology(site: SiteData, render: Render) -> Iterator[Page]:
    """chronicle.md: the newest rows as a list, and the place where all of them are filtered."""
    newest = site.happened[:LISTED]
    values = {"months": by_month(newest), "shown": len(newest), "all": len(site.happened)}
    yield Page("chronicle.md", render("chronicle.md.j2", values))


def by_month(listed: Iterable[RunEvent]) -> list[tuple[str, list[tuple[str, list[RunEvent]]]]]:
    """Months, in them days, in them rows, all in the order given."""
    months = []
    for month, in_month in groupby(listed, lambda row: row.day[:7]):
        days = [(day_words(day), list(same)) for day, same in groupby(in_month, lambda row: row.day)]
        months.append((day_words(f"{month}-01", "{0:%B %Y}") or "No date", days))
    return months


def day_words(day: str, form: str = "{0.day} {0:%B}") -> str:
    """``2026-11-05`` as ``5 November``; empty where it is no day."""
    try:
        return form.format(datetime.fromisoformat(day))
    except ValueError:
        return ""


def events_js(site: SiteData) -> str:
    """The data of chronicle.js, one array a row; a script, because fetch fails on file://.

    time, kind, verdict, mark, title, sentence, who, run, title of the run, href, project
    """
    lines = []
    for row in site.happened:
        event, sentence = row.event, clipped(plain(row.event.sentence), _LONGEST)
        about = event.verdict or "", event.mark, event.title, sentence, event.who
        texts = row.time, row.kind, *about, row.run, row.title, row.href, row.entry.about.get("project", "")
        lines.append(as_json([plain(text) for text in texts]))
    return "window.chronicleEvents = [\n{}\n];\n".format(",\n".join(lines))


def experiments_page(site: SiteData, render: Render) -> Iterator[Page]:
    """experiments.md: the table over all runs, the newest first."""
    tried = [row for entry in site.entries for row in experiments(entry)]
    tried.sort(key=lambda row: -moment(row.time))
    values = {"rows": tried[:TRIED], "more": len(tried[TRIED:])}
    yield Page("experiments.md", render("experiments.md.j2", values))


def experiments(entry: Entry) -> Iterator[Experiment]:
    """The experiments of a run in the order of its events.

    They are restarts that went back or at which something changed, changes of schedule and batch, and what
    somebody noted as tried, decided, supposed or come out; each with the notes that speak of it.
    """
    joins = {f"{join.kind.value}-a{join.after + 1}": join for join in entry.diagnosis.joins}
    for event in entry.events:
        row, join = RunEvent(entry, event), joins.get(event.id)
        notes = [row, *(RunEvent(entry, note) for note in row.notes)]
        texts = [(note.note_kind, note.event.sentence) for note in notes]
        done, why, outcome = ([text for kind, text in texts if kind in kinds] for kinds in _COLUMNS)
        restarted = join is not None and bool(join.changes or join.kind is not JoinKind.RESUME)
        changed = restarted or event.kind in _SET
        if event.of or not (done or why or outcome or changed):
            continue
        done = [event.sentence] * changed + done
        why = [event.sentence] * (event.kind is EventKind.FINDING) + why
        outcome = outcome or [row.after] * bool(row.after)
        yield Experiment(entry, event, tuple(done), tuple(why), tuple(outcome), _hours(join))


def _hours(join: Join | None) -> str:
    seconds = (join.evidence.get("discarded_s") or 0.0) + (join.gap_s or 0.0) if join else 0.0
    return "" if not seconds else level(seconds / 3600) if seconds >= 36 else "< 0.01"


def markdown(entries: Iterable[Entry], first: str = "", last: str = "") -> str:
    """The log as Markdown, for the appendix of a paper: dated events from day ``first`` to day ``last``."""
    kept = [r for r in dated_events(entries) if r.time and first <= r.day and (not last or r.day <= last)]
    lines = ["# Chronicle", ""]
    for month, days in by_month(kept):
        lines += [f"## {month}", ""]
        for day, same in days:
            lines += [f"### {day}", "", *(f"- {_markdown_row(row)}" for row in same), ""]
    return "\n".join(lines) if kept else "# Chronicle\n\nNo dated event.\n"


def _markdown_row(row: RunEvent) -> str:
    event = row.event
    title, where, sentence = (
        "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in plain(text))
        for text in (event.title, row.title + (f", {event.who}" if event.who else ""), event.sentence)
    )
    return f"{row.hour} **{title}** ({where}): {sentence}"


def atom(site: SiteData) -> str:
    """The Atom feed; it has no entry where no event has a time."""
    items, title = list(_items(site)), escape(plain(site.title))
    newest = items[0]["date_published"] if items else _time(0.0)
    home = f"<link rel='alternate' href={quoteattr(site.site_url or './')}/>"
    own = f"<link rel='self' href={quoteattr(site.site_url + ATOM)}/>" if site.site_url else ""
    return "\n".join([
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_id(site, '')}</id><title>{title}</title><updated>{newest}</updated>",
        f"{home}{own}<author><name>{title}</name></author><generator>chronicle</generator>",
        *map(_atom_entry, items),
        "</feed>\n",
    ])  # fmt: skip


def _atom_entry(item: Mapping[str, Any]) -> str:
    names = "".join(f"<author><name>{escape(who['name'])}</name></author>" for who in item.get("authors", ()))
    title, text = escape(item["title"]), escape(item["content_text"])
    return (
        f"<entry><id>{item['id']}</id><title>{title}</title><updated>{item['date_published']}</updated>"
        f"<link href={quoteattr(item['url'])}/>{names}<category term={quoteattr(item['tags'][0])}/>"
        f"<content>{text}</content></entry>"
    )


def json_feed(site: SiteData) -> str:
    """The JSON feed of the same events."""
    addresses = {"home_page_url": site.site_url, "feed_url": site.site_url + JSON} if site.site_url else {}
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": plain(site.title),
        **addresses,
        "items": [{k: v for k, v in item.items() if k != "url" or addresses} for item in _items(site)],
    }
    return json.dumps(feed, ensure_ascii=False, indent=1) + "\n"


def _items(site: SiteData) -> Iterator[dict[str, Any]]:
    for row in [row for row in site.happened if moment(row.time)][:MOST]:
        yield {
            "id": _id(site, row.href),
            "url": site.site_url + row.href,
            "title": plain(f"{row.event.title}: {row.title}"),
            "content_text": plain(row.event.sentence),
            "date_published": _time(moment(row.time)),
            **({"authors": [{"name": plain(row.event.who)}]} if row.event.who else {}),
            "tags": [plain(row.kind)],
        }


def _id(site: SiteData, href: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'{plain(site.title)} {href}')}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
