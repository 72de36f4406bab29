"""unreadable.md: logs that nothing could be made of, and what to do; only where there are some."""

from __future__ import annotations

from collections.abc import Iterator

from chronicle.pages.data import Page, Render, SiteData
from chronicle.pages.escape import address

LISTED = 150  # rows; a page stays below 100 KB


def pages(site: SiteData, render: Render) -> Iterator[Page]:
    """The page of unreadable logs, if there are any."""
    if not site.unreadable:
        return
    rows = [
        (name, problem, f"runs/{address(name)}/index.html" if name in site.entry_of else "")
        for name, problem in site.unreadable[:LISTED]
    ]
    values = {"base": "", "rows": rows, "more": max(0, len(site.unreadable) - LISTED)}
    yield Page("unreadable.md", render("unreadable.md.j2", values))
