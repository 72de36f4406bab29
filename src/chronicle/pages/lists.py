"""Pages that list runs: Browse, patterns, cases, unreadable logs; and a run as a card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from chronicle.metrics.values import clipped, plural, value_words
from chronicle.model import VERDICTS, Entry, Figure, Verdict
from chronicle.pages import schematic
from chronicle.pages.chronology import last_time
from chronicle.pages.gallery import Page, PatternPage, Render, SiteData
from chronicle.pages.precedents import precedents, statistics
from chronicle.pages.sketches import SHAPES
from chronicle.pages.words import Html, address, plain
from chronicle.story import card as told

SHOWN = 5  # events of this archive on a pattern's page
LISTED = 150  # rows of a plain list: long titles and sentences included, it stays far below 100 KB
_CAPTION = 160  # characters of a title or a measure on a card
_LINK = re.compile(r"(?<=\]\()(?:\.\./)+(good|worrying|bad|unexpected|cases|docs)/(?=[\w.-]+)")


@dataclass(frozen=True)
class Card:
    """What a card shows. ``href`` and ``thumb`` are relative to the site's root; ``thumb`` may be empty."""

    href: str
    title: str
    verdict: str
    measure: str
    meta: str
    thumb: str


@dataclass(frozen=True)
class Item:
    """A pattern in a list: its page relative to the site's root, what it says, how many runs show it."""

    id: str
    href: str
    title: str
    gist: str
    runs: int


def browse(site: SiteData, render: Render) -> Iterator[Page]:
    """browse.md: cards with facets, and plain lists where scripts do not run, on as many pages as needed."""
    ranked = _worst_first(site)
    parts = [ranked[i : i + LISTED] for i in range(0, len(ranked), LISTED)] or [[]]
    numbers = [
        (number, f"browse-{number}" if number > 1 else "browse") for number in range(1, len(parts) + 1)
    ]
    for (number, name), part in zip(numbers, parts, strict=True):
        groups = [(badge, list(cards)) for badge, cards in groupby(map(card, part), lambda c: c.verdict)]
        values = {"number": number, "parts": numbers, "groups": groups, "runs": len(ranked)}
        template = "browse.md.j2" if number == 1 else "browse-more.md.j2"
        yield Page(f"{name}.md", render(template, values))


def patterns(site: SiteData, render: Render) -> Iterator[Page]:
    """patterns/: the index of all patterns, and one page each."""
    values = {"base": "../", "columns": columns(site, seen=True), "unseen": columns(site, seen=False)}
    yield Page("patterns/index.md", render("patterns.md.j2", values))
    for page in site.patterns:
        yield Page(f"patterns/{page.id}.md", render("pattern.md.j2", _pattern_values(site, page)))


def cases(site: SiteData, render: Render) -> Iterator[Page]:
    """cases/: the shelf of public logbooks, and one page each; only where there are some."""
    if not site.cases:
        return
    yield Page("cases/index.md", render("cases.md.j2", {"base": "../", "cases": site.cases}))
    for case in site.cases:
        runs = [card(site.entry_of[run_id]) for run_id in case.runs if run_id in site.entry_of]
        body = Html(_linked(case.body, "../patterns/"))
        values = {"base": "../", "site": site, "case": case, "body": body, "runs": runs}
        yield Page(f"cases/{case.id}.md", render("case.md.j2", values))


def unreadable(site: SiteData, render: Render) -> Iterator[Page]:
    """unreadable.md: logs that nothing could be made of, and what to do; only where there are some."""
    if not site.unreadable:
        return
    rows = [
        (name, problem, f"runs/{address(name)}/index.html" if name in site.entry_of else "")
        for name, problem in site.unreadable[:LISTED]
    ]
    values = {"base": "", "rows": rows, "more": max(0, len(site.unreadable) - LISTED)}
    yield Page("unreadable.md", render("unreadable.md.j2", values))


def missing(site: SiteData, render: Render) -> Iterator[Page]:
    """404.md: what a server shows in the place of a page that is not there; it works from disk too."""
    yield Page("404.md", render("404.md.j2", {"base": "", "site": site}))


def entries_js(site: SiteData) -> str:
    """The data of browse.js: one array a run, in this order; a script, because fetch fails on file://.

    id, title, verdict, patterns, project, kinds of joins, kind of source, points, measure, meta, href, thumb,
    day, steps discarded, facts of run.toml as name and value
    """
    names = {pattern: plain(site.pattern_title(pattern)) for pattern in sorted(site.showing)}
    compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    rows = ",\n".join(compact(_row(entry)) for entry in _worst_first(site))
    return f"window.chroniclePatterns = {compact(names)};\nwindow.chronicleEntries = [\n{rows}\n];\n"


def card(entry: Entry) -> Card:
    """The card of a run."""
    thumb = figure(entry, "thumb")
    path = next(iter(thumb.files.values()))[0] if thumb else ""
    folder, project = f"runs/{address(entry.run_id)}", _caption(str(entry.about.get("project", "")))
    return Card(
        href=f"{folder}/index.html",
        title=_caption(entry.title or entry.run_id),
        verdict=entry.badge,
        measure=_caption(told(entry.events, entry.verdict)),
        meta=" · ".join(filter(None, (project, last_time(entry)[:10], plural(points(entry), "point")))),
        thumb=f"{folder}/{path}" if path else "",
    )


def points(entry: Entry) -> int:
    """Points logged, over all metrics and attempts."""
    return sum(int(row.get("points") or 0) for row in entry.metrics)


def figure(entry: Entry, name: str) -> Figure | None:
    """The figure of a name, if it was drawn."""
    return next((f for f in entry.figures if f.name == name), None)


def columns(site: SiteData, *, seen: bool) -> list[tuple[Verdict, list[Item]]]:
    """Patterns that runs show, by verdict, the most frequent first; or those that none does."""
    items: dict[Verdict, list[Item]] = {verdict: [] for verdict in VERDICTS}
    for page in site.patterns:
        gist, runs = re.split(r"(?<=[.!?])\s", page.lead, maxsplit=1)[0], len(site.showing.get(page.id, ()))
        if bool(runs) is seen:
            items[page.verdict].append(Item(page.id, f"patterns/{page.id}.html", page.title, gist, runs))
    return [(verdict, sorted(listed, key=lambda item: -item.runs)) for verdict, listed in items.items()]


def drawing(size: str, pattern: str | None) -> Html | None:
    """The schematic of a pattern as SVG, ``main`` or ``small``; None for a pattern that has none."""
    return Html(getattr(schematic, size)(pattern)) if pattern in SHAPES else None


def _worst_first(site: SiteData) -> list[Entry]:
    return sorted(site.entries, key=lambda entry: -entry.verdict.rank)


def _row(entry: Entry) -> list[object]:
    shown = card(entry)
    return [
        plain(entry.run_id),
        shown.title,
        entry.badge,
        [plain(pattern) for pattern in entry.diagnosis.patterns],
        plain(entry.about.get("project") or "no project"),
        sorted({join.kind.value for join in entry.diagnosis.joins}) or ["none logged"],
        "synthetic" if entry.about.get("synthetic") else plain(entry.about.get("data") or "log"),
        points(entry),
        shown.measure,
        shown.meta,
        shown.href,
        shown.thumb,
        last_time(entry)[:10],
        sum(join.discarded_steps for join in entry.diagnosis.joins),
        [[_caption(f.quantity), _caption(value_words(f.value))] for f in entry.facts if f.how == "run.toml"],
    ]


def _pattern_values(site: SiteData, page: PatternPage) -> dict[str, object]:
    found = precedents(site, page.id)
    return {
        "base": "../",
        "site": site,
        "page": page,
        "body": Html(_linked(page.body, "")),
        "drawing": drawing("main", page.id),
        "alike": [(drawing("small", other.pattern), other) for other in page.lookalikes],
        "own_drawing": drawing("small", page.id),
        "specimens": [card(site.entry_of[run_id]) for run_id in page.specimens if run_id in site.entry_of],
        "events": found[:SHOWN],
        "numbers": list(statistics(site, page.id, found)),
        "runs": len(site.showing.get(page.id, ())),
    }


def _linked(body: str, patterns: str) -> str:
    """Text with its links between files of the gallery, or to docs/, as the page made from it needs them."""
    places = {"docs": "../guide/", "cases": "../cases/"}
    return _LINK.sub(lambda link: places.get(link[1], patterns), body)


def _caption(text: str) -> str:
    return clipped(plain(text), _CAPTION)
