"""The log over all runs: their events by month and day, newest first; as a page, as data, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import clipped, moment
from chronicle.model import Entry, Event, EventKind
from chronicle.pages.gallery import Page, Render, SiteData
from chronicle.pages.words import address, hour, plain
from chronicle.story import SAID

LISTED = 150  # rows of the list for browsers without scripts
_LONGEST = 400  # characters of a sentence
_QUIET = having(Trait.CALM | Trait.PROPERTY)


@dataclass(frozen=True)
class Row:
    """One event of the log: ``time`` as logged (empty: nobody knows), ``href`` from the root of the site."""

    time: str
    run: str
    title: str
    href: str
    event: Event

    @property
    def day(self) -> str:
        return self.time[:10]

    @property
    def hour(self) -> str:
        """``14:52Z``; ``day only`` where no more is known."""
        return hour(self.time) or ("day only" if self.time else "no date")

    @property
    def said(self) -> bool:
        """Whether somebody said it."""
        return bool(said(self.event))

    @property
    def kind(self) -> str:
        """What the filter calls it: a note by what it is, everything else by its kind."""
        return said(self.event) or self.event.kind.value


def said(event: Event) -> str:
    """What kind of note an event is, ``decision``; empty where nobody said it."""
    if event.kind is EventKind.NOTE:
        return event.title.lower()
    return event.kind.value if event.kind in SAID else ""


def rows_of(site: SiteData) -> list[Row]:
    """All events of all runs that have a date, newest first; of a run without dates its end."""
    return rows(site.entries)


def rows(entries: Iterable[Entry]) -> list[Row]:
    """The rows of entries, newest first, those without a date last."""
    found = [row for entry in entries for row in _rows(entry)]
    dated = [row for row in found if row.time]
    dated.sort(key=lambda row: moment(row.time), reverse=True)
    return dated + [row for row in found if not row.time]


def _rows(entry: Entry) -> Iterator[Row]:
    events = [event for event in entry.events if not set(event.patterns) & _QUIET]
    dated = [event for event in events if event.time]
    ended = {event.time[:10] for event in dated if event.kind is EventKind.END}
    # A run of one day is told by its end: where it began says nothing more.
    dated = [event for event in dated if event.kind is not EventKind.LAUNCH or event.time[:10] not in ended]
    if not dated:
        dated = [event for event in events if event.kind is EventKind.END]
    folder = f"runs/{address(entry.run_id)}/index.html"
    for event in reversed(dated):
        yield Row(event.time, entry.run_id, entry.title or entry.run_id, f"{folder}#{event.id}", event)


def last_time(entry: Entry) -> str:
    """The time of the last thing that a run's logs tell, as it stands there; empty where they have none."""
    return max((event.time for event in entry.events if not said(event)), key=moment, default="")


def chronology(site: SiteData, render: Render) -> Iterator[Page]:
    """chronicle.md: the newest rows as a list, and the place where all of them are filtered."""
    listed = rows_of(site)
    values = {
        "base": "",
        "months": by_month(listed[:LISTED]),
        "shown": min(len(listed), LISTED),
        "all": len(listed),
    }
    yield Page("chronicle.md", render("chronicle.md.j2", values))


def by_month(listed: Iterable[Row]) -> list[tuple[str, list[tuple[str, list[Row]]]]]:
    """Months, in them days, in them rows, all in the order given."""
    months = []
    for month, in_month in groupby(listed, lambda row: row.day[:7]):
        days = [(day_words(day), list(same)) for day, same in groupby(in_month, lambda row: row.day)]
        months.append((month_words(month), days))
    return months


def month_words(month: str) -> str:
    """``2026-11`` as ``November 2026``."""
    try:
        return f"{datetime.fromisoformat(f'{month}-01'):%B %Y}"
    except ValueError:
        return "No date"


def day_words(day: str) -> str:
    """``2026-11-05`` as ``5 November``."""
    try:
        date = datetime.fromisoformat(day)
    except ValueError:
        return ""
    return f"{date.day} {date:%B}"


def events_js(site: SiteData) -> str:
    """The data of chronicle.js, one array a row; a script, because fetch fails on file://.

    time, kind, verdict, mark, title, sentence, who, run, title of the run, href
    """
    compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    lines = ",\n".join(compact(_data(row)) for row in rows_of(site))
    return f"window.chronicleEvents = [\n{lines}\n];\n"


def _data(row: Row) -> list[str]:
    event = row.event
    sentence = clipped(plain(event.sentence), _LONGEST)
    verdict = event.verdict.value if event.verdict else ""
    said = [
        row.time,
        row.kind,
        verdict,
        event.mark,
        event.title,
        sentence,
        event.who,
        row.run,
        row.title,
        row.href,
    ]
    return [plain(text) for text in said]


def markdown(entries: Iterable[Entry], first: str = "", last: str = "") -> str:
    """The log as Markdown, for the appendix of a paper: dated events from day ``first`` to day ``last``."""
    kept = [r for r in rows(entries) if r.time and first <= r.day and (not last or r.day <= last)]
    lines = ["# Chronicle", ""]
    for month, days in by_month(kept):
        lines += [f"## {month}", ""]
        for day, same in days:
            lines += [f"### {day}", ""]
            lines += [f"- {_markdown_row(row)}" for row in same]
            lines.append("")
    return "\n".join(lines) if kept else "# Chronicle\n\nNo dated event.\n"


def _markdown_row(row: Row) -> str:
    event = row.event
    who = f", {event.who}" if event.who else ""
    where = _escaped(f"{row.title}{who}")
    return f"{row.hour} **{_escaped(event.title)}** ({where}): {_escaped(event.sentence)}"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in plain(text))
