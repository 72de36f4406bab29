"""browse.md: all runs as cards with facets, and as plain lists where scripts do not run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from chronicle.model import Entry
from chronicle.pages.cards import Card, card, points
from chronicle.pages.data import Page, Render, SiteData
from chronicle.pages.escape import plain

LISTED = 150  # runs on one plain page: long titles and sentences included, it stays far below 100 KB


def pages(site: SiteData, render: Render) -> Iterator[Page]:
    """The Browse page, and as many plain pages after it as the runs need."""
    ranked = sorted(site.entries, key=lambda entry: -entry.verdict.rank)
    parts = [ranked[i : i + LISTED] for i in range(0, len(ranked), LISTED)] or [[]]
    numbers = [(number, _name(number)) for number in range(1, len(parts) + 1)]
    for (number, name), part in zip(numbers, parts, strict=True):
        values = {"number": number, "parts": numbers, "groups": _groups(part), "runs": len(ranked)}
        template = "browse.md.j2" if number == 1 else "browse-more.md.j2"
        yield Page(f"{name}.md", render(template, values))


def entries_js(site: SiteData) -> str:
    """The data of browse.js: one array a run, in this order; a script, because fetch fails on file://.

    id, title, verdict, patterns, project, kinds of joins, kind of source, points, measure, meta, href, thumb
    """
    names = {pattern: plain(site.pattern_title(pattern)) for pattern in sorted(site.showing)}
    rows = [_row(entry) for entry in sorted(site.entries, key=lambda entry: -entry.verdict.rank)]
    body = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    titles = json.dumps(names, ensure_ascii=False, separators=(",", ":"))
    return f"window.chroniclePatterns = {titles};\nwindow.chronicleEntries = [\n{body}\n];\n"


def _row(entry: Entry) -> list[object]:
    shown = card(entry)
    return [
        plain(entry.run_id),
        shown.title,
        entry.verdict.value,
        [plain(pattern) for pattern in entry.diagnosis.patterns],
        plain(entry.about.get("project") or "no project"),
        sorted({join.kind.value for join in entry.diagnosis.joins}) or ["none logged"],
        "synthetic" if entry.about.get("synthetic") else plain(entry.about.get("data") or "log"),
        points(entry),
        shown.measure,
        shown.meta,
        shown.href,
        shown.thumb,
    ]


def _groups(entries: Sequence[Entry]) -> list[tuple[str, list[Card]]]:
    """Cards by verdict; the entries are in the order of their verdicts already."""
    return [
        (verdict.value, list(found)) for verdict, found in groupby(map(card, entries), lambda c: c.verdict)
    ]


def _name(number: int) -> str:
    return "browse" if number == 1 else f"browse-{number}"
