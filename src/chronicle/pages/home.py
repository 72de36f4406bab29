"""index.md: what this is, how many runs of each verdict, one real figure, what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chronicle.model import Entry, Verdict
from chronicle.pages.cards import CALM, Card, card, figure
from chronicle.pages.data import VERDICTS, Page, Render, SiteData
from chronicle.pages.escape import address
from chronicle.pages.patterns import columns

ATTENTION = 5  # rows under "Needs attention"


def pages(site: SiteData, render: Render) -> Iterator[Page]:
    """The home page."""
    tally = Counter(entry.verdict for entry in site.entries)
    shown = hero(site)
    urgent = [e for e in site.entries if e.verdict is not Verdict.GOOD]
    values = {
        "base": "",
        "site": site,
        "tally": [(verdict, tally[verdict]) for verdict in VERDICTS],
        "hero": shown,
        "hero_card": card(shown) if shown else None,
        "figure": figure(shown, "whole") if shown else None,
        "folder": f"runs/{address(shown.run_id)}/" if shown else "",
        "attention": attention(urgent),
        "urgent": len(urgent),
        "columns": columns(site),
    }
    yield Page("index.md", render("home.md.j2", values))


def hero(site: SiteData) -> Entry | None:
    """The run whose figure stands on top: real, with something to see in it, ended well, and long."""

    def rank(entry: Entry) -> tuple[bool, bool, bool, int]:
        made = entry.about.get("synthetic") or entry.about.get("data") in ("synthetic", "tiny training")
        eventful = any(f.end_step is not None and f.pattern not in CALM for f in entry.diagnosis.findings)
        return not made, eventful, entry.verdict is Verdict.GOOD, _last_step(entry)

    drawn = [entry for entry in site.entries if figure(entry, "whole")]
    return max(drawn, key=rank, default=None)


def _last_step(entry: Entry) -> int:
    return max((int(row.get("last_step") or 0) for row in entry.attempts), default=0)


def attention(urgent: list[Entry]) -> list[Card]:
    """The gravest runs first, of equal ones the latest."""

    def rank(entry: Entry) -> tuple[int, str]:
        return entry.verdict.rank, max((str(a.get("ended") or "") for a in entry.attempts), default="")

    return [card(entry) for entry in sorted(urgent, key=rank, reverse=True)[:ATTENTION]]
