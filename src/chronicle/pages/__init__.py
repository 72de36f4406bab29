"""From entries and pattern pages to the Markdown of the site: functions from values to values.

A page kind is a function ``kind(site, render) -> Iterator[Page]``; `PAGE_KINDS` lists them. Templates come
from the folders of ``SiteData.templates``, the first one that has a name wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chronicle.pages import chronology, lists
from chronicle.pages.gallery import Page, PatternPage, SiteData, load, load_cases, load_gallery
from chronicle.pages.lists import home
from chronicle.pages.run_page import runs
from chronicle.pages.search import guide_js, search_js
from chronicle.pages.words import renderer
from chronicle.workspace.folders import shipped

__all__ = (
    "PAGE_KINDS", "Page", "PatternPage", "SiteData", "assets", "load", "load_cases", "load_gallery", "pages",
)  # fmt: skip

PAGE_KINDS = (
    home, lists.browse, chronology.chronology, chronology.experiments_page, runs, lists.patterns,
    lists.cases, lists.reviews, lists.unreadable, lists.missing,
)  # fmt: skip


def pages(site: SiteData) -> Iterator[Page]:
    """Every generated page.

    Raises:
        ConfigError: a template that fails, with its name and line.
    """
    render = renderer(site.templates)
    for kind in PAGE_KINDS:
        yield from kind(site, render)


def assets(site: SiteData) -> Iterator[tuple[str, str | bytes | Path]]:
    """Style sheets, scripts and data of the pages: path below build/docs, and the content or a file."""
    yield "assets/entries.js", lists.entries_js(site)
    yield "assets/events.js", chronology.events_js(site)
    yield chronology.ATOM, chronology.atom(site)
    yield chronology.JSON, chronology.json_feed(site)
    yield "assets/search-runs.js", search_js(site)
    yield "assets/search-guide.js", guide_js(site, shipped("docs"))
    files: dict[str, Path] = {}
    for folder in reversed(site.templates):
        paths = [path for kind in ("assets", "theme") for path in (folder / kind).glob("*") if path.is_file()]
        files |= {f"{path.parent.name}/{path.name}": path for path in paths}
    yield from sorted(files.items())
