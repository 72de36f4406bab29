"""From entries and pattern pages to the Markdown of the site: functions from values to values.

A page kind is a module with ``pages(site, render) -> Iterator[Page]``; `PAGE_KINDS` lists them. Templates
come from the folders of ``SiteData.templates``, the first one that has a name wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chronicle.figures.style import css
from chronicle.pages import browse, home, patterns, run, unreadable
from chronicle.pages.data import Page, PatternPage, SiteData
from chronicle.pages.gallery import load, load_gallery
from chronicle.pages.render import renderer

__all__ = ["PAGE_KINDS", "Page", "PatternPage", "SiteData", "assets", "load", "load_gallery", "pages"]

PAGE_KINDS = (home, browse, run, patterns, unreadable)


def pages(site: SiteData) -> Iterator[Page]:
    """Every generated page.

    Raises:
        ConfigError: a template that fails, with its name and line.
    """
    render = renderer(site.templates)
    for kind in PAGE_KINDS:
        yield from kind.pages(site, render)


def assets(site: SiteData) -> Iterator[tuple[str, str | bytes | Path]]:
    """Style sheets, scripts and data of the pages: path below build/docs, and the content or a file."""
    yield "assets/tokens.css", css()
    yield "assets/entries.js", browse.entries_js(site)
    files: dict[str, Path] = {}
    for folder in reversed(site.templates):
        files |= {path.name: path for path in sorted((folder / "assets").glob("*")) if path.is_file()}
    for name, path in sorted(files.items()):
        yield f"assets/{name}", path
