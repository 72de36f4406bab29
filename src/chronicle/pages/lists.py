"""Pages that list runs (Home, Browse, patterns, cases, reviews, unreadable logs), and the page of a run."""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import chain, groupby, islice, starmap
from operator import attrgetter
from typing import NamedTuple

from chronicle.classify.patterns import BY_ID, PATTERNS, Trait, having
from chronicle.metrics.arithmetic import median_interval, wilson
from chronicle.metrics.values import clipped, count, gathered, grouped, listed, moment, plural, value_words
from chronicle.model import VERDICTS, Entry, Event, EventKind, Verdict
from chronicle.pages import words
from chronicle.pages.chronology import LISTED_ROWS, day_words, news
from chronicle.pages.gallery import (
    DAY_S,
    Page,
    PatternPage,
    RunEvent,
    SiteData,
    advice,
    figure,
    in_training,
    last_time,
    n_points,
    when,
)
from chronicle.pages.words import Html, Render, as_json, place, plain, slug
from chronicle.story import CANNOT_TELL, deciding, gravest, without_repeated_reasons
from chronicle.story import card as card_words
from chronicle.story.measured import CALM, ENDS, JOINS, OVERALL, RISES, named_patterns
from chronicle.story.restarts import lettered, restart
from chronicle.timeline.axes import axis_of_entry
from chronicle.workspace.folders import shipped_file
from chronicle.workspace.notes import STANCES, last_review, verdict_of

SHOWN_EVENTS = 5  # events of this archive on a pattern's page
MOST_STATED = 100  # facts of run.toml in the data of Browse, which everybody loads for all runs
_CAPTION = 160  # characters of a title or a measure on a card
# For each verdict its patterns: the page, the first sentence of its lead, and the number of runs.
Shown = tuple[PatternPage, str, int]  # the first sentence of a pattern, and the runs that show it
Columns = list[tuple[Verdict, list[Shown]]]
_LINK = re.compile(r"(?<=\]\()(?:\.\./)+(good|worrying|bad|unexpected|cases|docs)/(?=[\w.-]+)")
FEWEST = 5  # statistics need at least so many runs or events, else their intervals say nothing
ATTENTION, NEWS, SHELVES, ON_A_SHELF = 8, 12, 6, 4  # on Home: rows, rows, projects, cards of a project


class Card(NamedTuple):
    """What a card shows. ``href`` and ``thumb`` are relative to the site's root; ``thumb`` may be empty."""

    href: str
    title: str
    verdict: str
    measure: str
    meta: str
    thumb: str


def browse(site: SiteData, render: Render) -> Iterator[Page]:
    """browse.md: cards with facets; for browsers without scripts also plain lists, on further pages."""
    ranked = site.worst_first
    parts = [ranked[i : i + LISTED_ROWS] for i in range(0, len(ranked), LISTED_ROWS)] or [[]]
    numbers = [(i, f"browse-{i}" if i > 1 else "browse") for i in range(1, len(parts) + 1)]
    for (number, name), part in zip(numbers, parts, strict=True):
        groups = [(badge, list(cards)) for badge, cards in groupby(map(card, part), lambda c: c.verdict)]
        values = {"number": number, "parts": numbers, "groups": groups, "runs": len(ranked)}
        yield Page(f"{name}.md", render("browse.md.j2" if number == 1 else "browse-more.md.j2", values))


def patterns(site: SiteData, render: Render) -> Iterator[Page]:
    """patterns/: the index of all patterns, and one page each."""
    index = {"base": "../", "drawing": _drawing, **columns(site)}
    yield Page("patterns/index.md", render("patterns.md.j2", index))
    for page in site.patterns:
        happened = precedents(site, page.id)
        numbers, runs = list(statistics(site, page.id, happened)), len(site.showing.get(page.id, ()))
        shown = {"specimens": _cards_of(site, page.specimens, page.id), "numbers": numbers, "runs": runs}
        values = {
            "base": "../",
            "site": site,
            "page": page,
            "events": happened[:SHOWN_EVENTS],
            **shown,
            "body": Html(_linked(page.body, "")),
            "own_drawing": _drawing(page.id, "small"),
            "drawing": Html(_drawing(page.id, "wide") + _drawing(page.id, "narrow")),
            "alike": [(_drawing(other.pattern, "small"), other) for other in page.lookalikes],
        }
        content = [row.content for row in happened[:SHOWN_EVENTS]], shown
        yield site.page(f"patterns/{page.id}.md", content, partial(render, "pattern.md.j2", values))


def cases(site: SiteData, render: Render) -> Iterator[Page]:
    """cases/: the list of public logbooks, and one page each; nothing if there are none."""
    if not site.cases:
        return
    yield Page("cases/index.md", render("cases.md.j2", {"base": "../", "cases": site.cases}))
    for case in site.cases:
        body, runs = Html(_linked(case.body, "../patterns/")), _cards_of(site, case.runs)
        values = {"base": "../", "site": site, "case": case, "body": body, "runs": runs}
        yield Page(f"cases/{case.id}.md", render("case.md.j2", values))


def reviews(site: SiteData, render: Render) -> Iterator[Page]:
    """reviews.md: what people judged, disagreements first; nothing if there is no review."""
    if not has_reviews(site):
        return
    runs = []  # (entry, last review of it, verdict in it, whether that agrees with the diagnosis)
    for entry in site.entries:
        if (review := last_review(entry.notes)) and (verdict := verdict_of(review)):
            runs.append((entry, review, verdict, verdict is entry.diagnosis.verdict))
    stances = [*chain.from_iterable(map(_stances, site.entries))]
    runs.sort(key=lambda row: (row[3], -moment(row[1].at_time)))
    stances.sort(key=lambda row: (row[2], -moment(row[1].time)))
    tally = Counter((finding.event.patterns[0], confirms) for finding, _, confirms in stances)
    judged = sorted({pattern for pattern, _ in tally}, key=site.pattern_title)
    values = {
        "runs": runs[:LISTED_ROWS],
        "reviewed": len(runs),
        "disagreements": sum(not agrees for *_, agrees in runs),
        "stances": stances[:LISTED_ROWS],
        "judged": len(stances),
        "confirmed": sum(confirms for *_, confirms in stances),
        "patterns": [(p, site.pattern_title(p), tally[p, True], tally[p, False]) for p in judged],
    }
    yield Page("reviews.md", render("reviews.md.j2", values))


def _stances(entry: Entry) -> list[tuple[RunEvent, Event, bool]]:
    """Each finding that people reviewed, with the last review of it, and whether that confirms it."""
    findings = {event.id: event for event in entry.events if event.patterns}
    by_time = sorted(entry.events, key=lambda event: moment(event.time))
    last = {e.of: e for e in by_time if e.kind is EventKind.REVIEW and e.of in findings}
    return [(RunEvent(entry, findings[of]), e, e.title.lower() == STANCES[0]) for of, e in last.items()]


def has_reviews(site: SiteData) -> bool:
    """Whether anybody has reviewed anything."""
    return any(e.kind is EventKind.REVIEW for entry in site.entries for e in entry.events)


def unreadable(site: SiteData, render: Render) -> Iterator[Page]:
    """unreadable.md: logs that could not be read, by reason, and texts that no reader knows; or nothing."""
    if not (site.unreadable or site.unknown):
        return
    rows, texts = list(starmap(_unread, site.unreadable[:LISTED_ROWS])), site.unknown[:LISTED_ROWS]
    groups = sorted(grouped(rows, attrgetter("reason", "remedy")).items(), key=lambda group: -len(group[1]))
    folders = [name.rpartition("/")[0] for name in texts]
    folder = posixpath.commonpath(folders) if len({*map(posixpath.isabs, folders)}) == 1 < len(texts) else ""
    values = {
        "groups": groups,
        "places": {row.name: place(row.name) for row in rows if row.name in site.entry_of},
        "number": len(site.unreadable),
        "more": max(0, len(site.unreadable) - LISTED_ROWS),
        "folder": folder.rstrip("/"),
        "texts": [name[len(folder) :].lstrip("/") for name in texts],
        "first": next(iter(texts), ""),
        "more_texts": len(site.unknown[LISTED_ROWS:]),
    }
    yield Page("unreadable.md", render("unreadable.md.j2", values))


_MESSAGE = re.compile(r"(?:(\S*[./]\S*): )?(.*?)(?: \(((?:[^()]|\([^()]*\))*)\)(.*))?", re.S)


class _Unread(NamedTuple):
    """A log that could not be read, where it is, why, what to do, and what is true of this log only."""

    name: str
    path: str
    reason: str
    remedy: str
    detail: str


def _unread(name: str, problem: str) -> _Unread:
    """The parts of a message ``file: reason (detail). Remedy: remedy``."""
    said, _, remedy = problem.partition(". Remedy: ")
    match = _MESSAGE.fullmatch(said.removeprefix(f"{name}: "))
    where, reason, inner, rest = match.groups("") if match else ("", said, "", "")
    file = where.rpartition("/")[2]
    detail = ": ".join(filter(None, (file if file != name else "", inner)))
    return _Unread(name, where or name, reason + rest, remedy, detail)


def missing(site: SiteData, render: Render) -> Iterator[Page]:
    """404.md: what a server shows instead of a page that does not exist; it works from disk, too."""
    yield Page("404.md", render("404.md.j2", {"site": site}))


def entries_js(site: SiteData) -> str:
    """The data of browse.js, a script because pages from disk may not fetch: a row for each run, whose
    columns `_row` and browse.js list in the same order."""
    names = {pattern: plain(site.pattern_title(pattern)) for pattern in sorted(site.showing)}
    rows = ",\n".join(as_json(_row(entry)) for entry in site.worst_first)
    return f"window.chroniclePatterns = {as_json(names)};\nwindow.chronicleEntries = [\n{rows}\n];\n"


def _row(entry: Entry) -> list[object]:
    shown, stated = card(entry), [fact for fact in entry.facts if fact.how == "run.toml"]
    return [
        plain(entry.run_id),
        shown.title,
        entry.badge,
        [plain(pattern) for pattern in entry.diagnosis.patterns],
        plain(entry.about.get("project") or "no project"),
        sorted({join.kind.value for join in entry.diagnosis.joins}) or ["none logged"],
        "synthetic" if entry.about.get("synthetic") else plain(entry.about.get("data") or "log"),
        n_points(entry),
        shown.measure,
        shown.meta,
        shown.href,
        shown.thumb,
        last_time(entry)[:10],
        sum(join.discarded_steps for join in entry.diagnosis.joins),
        [[_caption(f.quantity), _caption(value_words(f.value))] for f in stated[:MOST_STATED]],
    ]


def card(entry: Entry) -> Card:
    """The card of a run."""
    thumb, page = figure(entry, "thumb"), place(entry.run_id)
    project = _caption(str(entry.about.get("project", "")))
    return Card(
        href=page,
        title=_caption(entry.title or entry.run_id),
        verdict=entry.badge,
        measure=_caption(card_words(entry.events, entry.verdict)),
        meta=" · ".join(filter(None, (project, last_time(entry)[:10], plural(n_points(entry), "point")))),
        thumb=page.replace("index.html", thumb.files["any"][0]) if thumb else "",
    )


def _cards_of(site: SiteData, run_ids: tuple[str, ...], pattern: str = "") -> list[Card]:
    """The cards of runs. One that is known to be of a ``pattern`` and called otherwise says so."""
    return [_card_of(site, site.entry_of[run_id], pattern) for run_id in run_ids if run_id in site.entry_of]


def _card_of(site: SiteData, entry: Entry, pattern: str) -> Card:
    deciding_pattern = next((e.patterns[0] for e in deciding(entry.events, entry.verdict) if e.patterns), "")
    if not deciding_pattern or not pattern or pattern in entry.diagnosis.patterns:
        return card(entry)
    title = site.pattern_title(deciding_pattern)
    called = f"Known to be this pattern. From its log alone chronicle calls it: {title}."
    return card(entry)._replace(measure=_caption(called))


def columns(site: SiteData) -> dict[str, Columns]:
    """``columns``: patterns that runs show, by verdict, the most frequent first; ``unseen``: the others."""
    shown: dict[Verdict, list[Shown]] = {verdict: [] for verdict in VERDICTS}
    unseen: dict[Verdict, list[Shown]] = {verdict: [] for verdict in VERDICTS}
    for page in sorted(site.patterns, key=lambda page: -len(site.showing.get(page.id, ()))):
        gist, runs = re.split(r"(?<=[.!?])\s", page.lead, maxsplit=1)[0], len(site.showing.get(page.id, ()))
        (shown if runs else unseen)[page.verdict].append((page, gist, runs))
    return {"columns": [*shown.items()], "unseen": [*unseen.items()]}


def _drawing(pattern: str | None, size: str) -> Html:
    file = shipped_file("gallery") / "sketches" / f"{pattern}-{size}.svg"
    return Html(file.read_text("utf-8") if pattern in BY_ID else "")


def _linked(body: str, patterns: str) -> str:
    """Text in which links between files of the gallery, or to docs/, lead to the pages made from them."""
    places = {"docs": "../guide/", "cases": "../cases/"}
    return _LINK.sub(lambda link: places.get(link[1], patterns), body)


def _caption(text: str) -> str:
    return clipped(plain(text), _CAPTION)


def precedents(site: SiteData, pattern: str) -> list[RunEvent]:
    """The events that show a pattern: those with notes first, then those that it names, then the newest."""
    happened = [
        RunEvent(entry, event)
        for entry in site.showing.get(pattern, ())
        for event in entry.events
        if event.kind is EventKind.FINDING and pattern in event.patterns
    ]
    return sorted(happened, key=lambda r: (not r.notes, r.event.patterns[0] != pattern, -when(r.time)))


def statistics(site: SiteData, pattern: str, happened: Sequence[RunEvent]) -> Iterator[str]:
    """Sentences about a pattern in this archive, each with its number of cases and an interval of 95 %.
    When an event ends, its first pattern does; the others are parts of it."""
    runs, shown = len(site.entries), len(site.showing.get(pattern, ()))
    happened = [row for row in happened if row.event.patterns[0] == pattern]
    share = partial(_share, is_sample=not site.teaches)
    if shown and runs >= FEWEST:
        yield share(shown, runs, f"runs here {'shows' if shown == 1 else 'show'} it")
    if pattern in OVERALL | having(Trait.WHOLE_RUN):  # these have no end of their own
        return
    closed = [row.event for row in happened if row.event.step is not None and row.event.end_step is not None]
    if len(happened) >= FEWEST:
        were = "was" if len(closed) < 2 else "were"
        yield share(len(closed), len(happened), f"events {were} over when the log ended")
    of_steps = [row.event for row in happened if all(row.get("axis") == "step" for row in row.entry.attempts)]
    taken = sorted(e.end_step - e.step for e in of_steps if e.end_step is not None and e.step is not None)
    if len(taken) > FEWEST:
        low, high = median_interval(len(taken))
        middle = taken[len(taken) // 2]
        ends = "" if site.teaches else f" (95 % interval {count(taken[low])} to {count(taken[high])})"
        yield f"Half of these {count(len(taken))} took {count(middle)} steps or fewer{ends}."


def _share(part: int, n: int, words: str, is_sample: bool) -> str:
    if not is_sample:
        return f"{count(part) if part else 'None'} of the {count(n)} {words}."
    low, high = (count(100 * bound) for bound in wilson(part, n))
    share = f"{count(100 * part / n)} %; 95 % interval {low} to {high} %"
    return f"{count(part) if part else 'None'} of the {count(n)} {words} ({share})."


def home(site: SiteData, render: Render) -> Iterator[Page]:
    """index.md. Times are relative to the newest event, not to the clock, so that a build can be repeated."""
    tally = Counter(entry.badge for entry in site.entries)
    shown = hero(site) if site.teaches else None
    urgent = [entry for entry in site.worst_first if needs_attention(entry)]
    news, more = week(site.happened)
    values = {
        "site": site,
        "teaching": site.teaches,
        "news": news,
        "more_news": more,
        "tally": [(badge, tally[badge]) for badge in (*VERDICTS, CANNOT_TELL) if tally[badge]],
        "hero": shown,
        "hero_card": card(shown) if shown else None,
        "figure": figure(shown, "whole") if shown else None,
        "folder": place(shown.run_id).removesuffix("index.html") if shown else "",
        "attention": [card(entry) for entry in urgent[:ATTENTION]],
        "urgent": len(urgent),
        "answered": sum(map(asks, site.entries)) - len(urgent),
        "until": f"{day_words(news[0].day)} {news[0].day[:4]}" if news else "",
        "training": [] if site.teaches else [card(entry) for entry in in_training(site.entries)],
        "shelves": [] if site.teaches else shelves(site.entries),
        "reviewed": has_reviews(site),
        **columns(site),
    }
    yield Page("index.md", render("home.md.j2", values))


def needs_attention(entry: Entry) -> bool:
    """Whether a run is bad, worrying or undecided, and no decision or review came after its findings."""
    if not asks(entry):
        return False
    decided = (event for event in entry.events if event.kind is EventKind.DECISION)
    reviewed = (event for event in entry.events if event.kind is EventKind.REVIEW and not event.of)
    decisive = (event.time for event in deciding(entry.events, entry.verdict))
    grave = max((time[:10] for time in decisive if when(time)), default="")
    return not any(not event.time or event.time[:10] >= grave for event in (*decided, *reviewed))


def asks(entry: Entry) -> bool:
    """Whether a run is bad, worrying or undecided."""
    return entry.badge in (Verdict.BAD, Verdict.WORRYING, CANNOT_TELL)


def week(rows: Sequence[RunEvent]) -> tuple[list[RunEvent], int]:
    """The news of the seven days up to the newest event, and how many more there are."""
    since = when(rows[0].time) - 7 * DAY_S if rows else 0.0
    recent = [row for row in news(rows) if row.time and when(row.time) >= since]
    return recent[:NEWS], len(recent[NEWS:])


def shelves(entries: Sequence[Entry]) -> list[tuple[str, int, list[Card]]]:
    """Projects with their number of runs and the cards of the newest runs; the project with the newest run
    comes first. Projects of a single run share the last shelf, which has no name."""
    newest_first = sorted(entries, key=lambda entry: -when(last_time(entry)))
    projects = [str(entry.about.get("project", "")) for entry in newest_first]
    number = Counter(projects)
    rows = zip(projects, newest_first, strict=True)
    shelf = gathered((project if number[project] > 1 else "", run) for project, run in rows)
    named = [project for project in shelf if project][:SHELVES]
    shown = [(project, shelf[project]) for project in [*named, ""] if project in shelf]
    return [(project, len(runs), [card(run) for run in runs[:ON_A_SHELF]]) for project, runs in shown]


def hero(site: SiteData) -> Entry | None:
    """The run whose figure is at the top of Home: a real, eventful, good and long one if there is any."""

    def rank(entry: Entry) -> tuple[bool, bool, bool, int]:
        synthetic = entry.about.get("synthetic") or entry.about.get("data") in ("synthetic", "tiny training")
        eventful = any(f.end_step is not None and f.pattern not in CALM for f in entry.diagnosis.findings)
        last_step = max((int(row.get("last_step") or 0) for row in entry.attempts), default=0)
        return not synthetic, eventful, entry.verdict is Verdict.GOOD, last_step

    return max((entry for entry in site.entries if figure(entry, "whole")), key=rank, default=None)


# Whatever the run, its page stays below 100 KB: the rest is in entry.json, and the page says so.
KEY, EVENTS, TABLES, ROWS, CAUSES = 24, 40, 6, 60, 3
ALIKE_EVENTS = 3  # events of other runs for each pattern, and for how many patterns
ABOUT_FIELDS = ("project", "data", "synthetic", "description", "quote", "source", "licence", "tags")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")  # all other numbers have a narrow space there
DESCRIPTION_CHARACTERS = 200  # that the preview of a link shows


def runs(site: SiteData, render: Render) -> Iterator[Page]:
    """A page for each run, made of its entry and of similar events in other runs."""
    events_of = cache(partial(precedents, site))
    for entry in site.entries:
        leads = (e.patterns[0] for e in deciding(entry.events, entry.verdict) if e.patterns)
        alike: list[RunEvent] = []
        for pattern in [p for p in dict.fromkeys(leads) if p not in CALM][:ALIKE_EVENTS]:
            elsewhere = (row for row in events_of(pattern) if row.entry.run_id != entry.run_id)
            alike += islice(elsewhere, ALIKE_EVENTS)
        known = site.known.get(entry.run_id)
        text = partial(_run_page, site, render, entry, alike)
        path = f"runs/{slug(entry.run_id)}/index.md"
        yield site.page(path, known and [known, *(row.content for row in alike)], text)


def _run_page(site: SiteData, render: Render, entry: Entry, alike: list[RunEvent]) -> str:
    entry = site.full_entry(entry)
    facts, config = words.configured(entry.facts)
    stated = entry.about.get("gpus", 0), entry.about.get("tokens_per_step", 0.0)
    axis = axis_of_entry(entry)
    joins = lettered(entry.diagnosis)
    marked = [event for event in entry.events if event.mark]
    events = [event for event in entry.events if not event.of]  # without notes on an event
    kept = _weightiest(entry, events, EVENTS)
    said = without_repeated_reasons([event.sentence for event in kept])
    values = {
        "base": "../../",
        "site": site,
        "entry": entry,
        "facts": facts,
        "config": config,
        "words": words,
        "enumerated": listed,
        "axis": axis,
        "similar": alike,
        "rows": ROWS,
        "reviewer": (review.author or "a person") if (review := last_review(entry.notes)) else "",
        "address": words.address(entry.run_id),
        "whole": figure(entry, "whole"),
        "key": _weightiest(entry, marked, KEY),
        "marked": len(marked),
        "listed": [RunEvent(entry, event) for event in kept],
        "sentences": dict(zip([event.id for event in kept], said, strict=True)),
        "unlisted": [event for event in events if event not in kept],
        "restarts": [(letter, join, restart(join, axis, *stated)) for letter, join in joins[:KEY]],
        "unlisted_joins": len(joins[KEY:]),
        "costs": [fact for fact in entry.costs if fact.value != 0],
        "description": clipped(plain(entry.headline), DESCRIPTION_CHARACTERS),
        "preview": preview.files["any"][0] if (preview := figure(entry, "share")) else "",
        **_labels(entry),
        **_evidence(site, entry),
    }
    return render("run.md.j2", values)


def _labels(entry: Entry) -> dict[str, object]:
    """What run.toml says about a run, and the patterns by which its events are named."""
    about = dict.fromkeys(ABOUT_FIELDS, "") | dict(entry.about)
    about["description"] = _THOUSANDS.sub("\u202f", str(about["description"]))
    shown = {pattern for event in entry.events for pattern in event.patterns}
    named = {p for event in entry.events if event.patterns for p in named_patterns(event.patterns)}
    gone = shown - {pattern for event in entry.events if event.live for pattern in event.patterns}
    pills = [p for p in entry.diagnosis.patterns if p in named or p not in shown]
    return {"about": about, "gone": gone, "pills": pills}


def _weightiest(entry: Entry, events: Sequence[Event], most: int) -> list[Event]:
    """At most so many events, in their order: the ends, the gravest findings, restarts, then others."""
    grave = {event.id: place for place, event in enumerate(gravest(entry.events, entry.verdict))}

    def weight(event: Event) -> tuple[bool, float, bool]:
        return event.kind not in ENDS, grave.get(event.id, math.inf), event.kind not in JOINS

    kept = {event.id for event in sorted(events, key=weight)[:most]}
    return [event for event in events if event.id in kept]


def _evidence(site: SiteData, entry: Entry) -> dict[str, object]:
    """What supports the verdict, what was looked for and not found, and what to do."""
    findings = {finding.id: finding for finding in entry.diagnosis.findings if finding.criteria}
    grave = gravest(entry.events, entry.verdict)
    reasons = ((event, [findings[part] for part in event.parts if part in findings]) for event in grave)
    away = {*entry.diagnosis.patterns, *(n.pattern for n in entry.diagnosis.not_assessed)}
    absent = [site.page_of[p.id] for p in PATTERNS if p.id not in away and p.id in site.page_of]
    by_pattern = gathered((p, event) for event in grave for p in named_patterns(event.patterns))
    pages = [(same[0], site.page_of[p]) for p, same in by_pattern.items() if p in site.page_of]
    # A pattern that is as grave as the rise of the loss in its event says more about the cause.
    pages.sort(key=lambda row: (grave.index(row[0]), -row[1].verdict.rank, row[1].id in RISES))
    bad = [(event, page) for event, page in pages if page.verdict is not Verdict.GOOD and page.causes]
    return {
        "reasons": [(event, words.alike(entry, found)) for event, found in reasons if found][:TABLES],
        "absent": [page for page in absent if page.verdict is not Verdict.GOOD],
        "unassessed": words.unassessed(entry.diagnosis, site.pattern_title),
        "helpful": [advice(event, page) for event, page in bad[:CAUSES]],
    }
