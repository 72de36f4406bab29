"""Home: of a team what asks for somebody, what is new, what runs; of the reference gallery how to learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import moment
from chronicle.model import VERDICTS, Entry, Event, EventKind, Verdict
from chronicle.pages.chronology import day_words
from chronicle.pages.gallery import Page, SiteData
from chronicle.pages.happened import Happened, figure, last_time
from chronicle.pages.lists import Card, card, columns, has_reviews, worst_first
from chronicle.pages.words import Render, place
from chronicle.story import CANNOT_TELL, deciding
from chronicle.workspace.config import WorkspaceConfig

ATTENTION, NEWS, SHELVES, ON_A_SHELF = 8, 12, 6, 4  # rows, rows, projects, cards of each
_ASKS = (Verdict.BAD, Verdict.WORRYING, CANNOT_TELL)
_DAY_S = 86_400
_OPEN_ENDS = ("", "cut off")
_CALM = having(Trait.CALM)


def home(site: SiteData, render: Render) -> Iterator[Page]:
    """index.md. All that is relative to a time is so to the newest event, so that a build can be repeated."""
    tally = Counter(entry.badge for entry in site.entries)
    specimens = {run_id for page in site.patterns for run_id in page.specimens}
    # The reference gallery: nobody gave it a title, and the pattern pages show its runs.
    teaching = site.title == WorkspaceConfig.title and not specimens.isdisjoint(site.entry_of)
    shown = hero(site) if teaching else None
    urgent = [entry for entry in worst_first(site) if needs_attention(entry)]
    news, more = week(site.happened)
    values = {
        "site": site,
        "teaching": teaching,
        "tally": [(badge, tally[badge]) for badge in (*VERDICTS, CANNOT_TELL) if tally[badge]],
        "hero": shown,
        "hero_card": card(shown) if shown else None,
        "figure": figure(shown, "whole") if shown else None,
        "folder": place(shown.run_id).removesuffix("index.html") if shown else "",
        "attention": [card(entry) for entry in urgent[:ATTENTION]],
        "urgent": len(urgent),
        "news": news,
        "more_news": more,
        "until": f"{day_words(news[0].day)} {news[0].day[:4]}" if news else "",
        "training": [] if teaching else [card(entry) for entry in in_training(site.entries)],
        "shelves": [] if teaching else shelves(site.entries),
        "reviewed": has_reviews(site),
        **columns(site),
    }
    yield Page("index.md", render("home.md.j2", values))


def needs_attention(entry: Entry) -> bool:
    """Whether a run is bad or worrying, or nobody can tell, and no decision or review came after that."""
    if entry.badge not in _ASKS:
        return False
    decided = (event for event in entry.events if event.kind is EventKind.DECISION)
    reviewed = (event for event in entry.events if event.kind is EventKind.REVIEW and not event.of)
    grave = max((event.time[:10] for event in deciding(entry.events, entry.verdict)), default="")
    return not any(not event.time or event.time[:10] >= grave for event in (*decided, *reviewed))


def week(rows: Sequence[Happened]) -> tuple[list[Happened], int]:
    """What happened in the seven days up to the newest event, newest first; and how much more than that."""
    dated = [row for row in rows if row.time]
    since = moment(dated[0].time) - 7 * _DAY_S if dated else 0.0
    recent = [row for row in dated if moment(row.time) >= since]
    return recent[:NEWS], len(recent[NEWS:])


def in_training(entries: Sequence[Entry]) -> list[Entry]:
    """Runs whose log tells of no end and goes on to within a day of the newest log there is."""
    ends = [(entry, end) for entry in entries if (end := _end(entry))]
    newest = max((moment(end.time) for _, end in ends), default=0.0)
    return [entry for entry, end in ends if end.ending in _OPEN_ENDS and newest - moment(end.time) <= _DAY_S]


def _end(entry: Entry) -> Event | None:
    """The end of a run that was logged with a time of day, not read off a picture or made as a specimen."""
    if entry.about.get("data", "log") != "log" or entry.about.get("synthetic"):
        return None
    ends = (
        event for event in entry.events if event.kind is EventKind.END and len(event.time) > len("2026-11-18")
    )
    return next(ends, None)


def shelves(entries: Sequence[Entry]) -> list[tuple[str, int, list[Card]]]:
    """The newest runs of each project, and how many it has; the project with the newest run first.

    Projects of a single run share the last shelf, which has no name.
    """
    number = Counter(str(entry.about.get("project", "")) for entry in entries)
    of: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: -moment(last_time(entry))):
        project = str(entry.about.get("project", ""))
        of.setdefault(project if number[project] > 1 else "", []).append(entry)
    named = [project for project in of if project][:SHELVES]
    return [
        (project, len(of[project]), [card(run) for run in of[project][:ON_A_SHELF]])
        for project in [*named, ""]
        if project in of
    ]


def hero(site: SiteData) -> Entry | None:
    """The run whose figure stands on top: real, with something to see in it, ended well, and long."""

    def rank(entry: Entry) -> tuple[bool, bool, bool, int]:
        synthetic = entry.about.get("synthetic") or entry.about.get("data") in ("synthetic", "tiny training")
        eventful = any(f.end_step is not None and f.pattern not in _CALM for f in entry.diagnosis.findings)
        last_step = max((int(row.get("last_step") or 0) for row in entry.attempts), default=0)
        return not synthetic, eventful, entry.verdict is Verdict.GOOD, last_step

    return max((entry for entry in site.entries if figure(entry, "whole")), key=rank, default=None)
