"""patterns/: the index of all patterns, and one page each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from chronicle.model import Verdict
from chronicle.pages import schematic
from chronicle.pages.cards import card
from chronicle.pages.data import VERDICTS, Page, PatternPage, Render, SiteData
from chronicle.pages.escape import Html
from chronicle.pages.shapes import SHAPES

_LINK = re.compile(r"(?<=\]\()(?:\.\./)+(good|worrying|bad|unexpected|docs)/(?=[\w.-]+)")
CARDS = 8  # cards of other runs on a pattern's page


@dataclass(frozen=True)
class Item:
    """A pattern in a list: its page relative to the site's root, what it says, how many runs show it."""

    id: str
    href: str
    title: str
    gist: str
    runs: int


def pages(site: SiteData, render: Render) -> Iterator[Page]:
    """The index and the pages."""
    values = {"base": "../", "columns": columns(site)}
    yield Page("patterns/index.md", render("patterns.md.j2", values))
    for page in site.patterns:
        yield Page(f"patterns/{page.id}.md", render("pattern.md.j2", _values(site, page)))


def columns(site: SiteData) -> list[tuple[Verdict, list[Item]]]:
    """Patterns by verdict, the most frequent first."""
    items = {verdict: [_item(site, p) for p in site.patterns if p.verdict is verdict] for verdict in VERDICTS}
    return [(verdict, sorted(found, key=lambda item: -item.runs)) for verdict, found in items.items()]


def drawing(size: str, pattern: str | None) -> Html | None:
    """The schematic of a pattern as SVG, ``main`` or ``small``; None for a pattern that has none."""
    if pattern not in SHAPES:
        return None
    return Html(getattr(schematic, size)(pattern))


def _item(site: SiteData, page: PatternPage) -> Item:
    gist = re.split(r"(?<=[.!?])\s", page.lead, maxsplit=1)[0]
    return Item(page.id, f"patterns/{page.id}.html", page.title, gist, len(site.showing.get(page.id, ())))


def _values(site: SiteData, page: PatternPage) -> dict[str, object]:
    showing = site.showing.get(page.id, ())
    specimens = [site.entry_of[run_id] for run_id in page.specimens if run_id in site.entry_of]
    others = [entry for entry in showing if entry.run_id not in page.specimens]
    findings = sum(f.pattern == page.id for e in showing for f in e.diagnosis.findings)
    return {
        "base": "../",
        "site": site,
        "page": page,
        "body": Html(_LINK.sub(_moved, page.body)),
        "drawing": drawing("main", page.id),
        "alike": [(drawing("small", other.pattern), other) for other in page.lookalikes],
        "own_drawing": drawing("small", page.id),
        "specimens": [card(entry) for entry in specimens],
        "others": [card(entry) for entry in others[:CARDS]],
        "runs": len(showing),
        "findings": findings,
    }


def _moved(link: re.Match[str]) -> str:
    """A link of a gallery file to another one, or to docs/, as it must be on the page made from it."""
    return "../guide/" if link[1] == "docs" else ""
