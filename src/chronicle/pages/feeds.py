"""The log as feeds, the newest events first: Atom (RFC 4287) and JSON Feed 1.1.

Ids are UUIDs of the site's title, the run and the event, so that they outlive a move of the site. Without
``site_url`` links are relative to the feed in Atom, which allows that, and left out in JSON, which does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from chronicle.metrics.values import moment
from chronicle.pages.chronology import Row, rows_of
from chronicle.pages.gallery import SiteData
from chronicle.pages.words import plain

MOST = 100  # events of a feed: a reader has fetched the older ones
ATOM, JSON = "feed.xml", "feed.json"


def atom(site: SiteData) -> str:
    """The Atom feed; it has no entry where no event has a time."""
    rows = _rows(site)
    newest = max((moment(row.time) for row in rows), default=0.0)
    home = f"<link rel='alternate' href={quoteattr(site.site_url or './')}/>"
    own = f"<link rel='self' href={quoteattr(site.site_url + ATOM)}/>" if site.site_url else ""
    return "\n".join([
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_id(site, '')}</id><title>{_xml(site.title)}</title><updated>{_time(newest)}</updated>",
        f"{home}{own}<author><name>{_xml(site.title)}</name></author><generator>chronicle</generator>",
        *(_entry(site, row) for row in rows),
        "</feed>\n",
    ])  # fmt: skip


def json_feed(site: SiteData) -> str:
    """The JSON feed of the same events."""
    said = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": plain(site.title),
        **({"home_page_url": site.site_url, "feed_url": site.site_url + JSON} if site.site_url else {}),
        "items": [dict(_item(site, row)) for row in _rows(site)],
    }
    return json.dumps(said, ensure_ascii=False, indent=1) + "\n"


def _rows(site: SiteData) -> list[Row]:
    return [row for row in rows_of(site) if moment(row.time)][:MOST]


def _entry(site: SiteData, row: Row) -> str:
    event = row.event
    link = f"<link href={quoteattr(site.site_url + row.href)}/>"
    who = f"<author><name>{_xml(event.who)}</name></author>" if event.who else ""
    return (
        f"<entry><id>{_id(site, row.href)}</id><title>{_xml(_title(row))}</title>"
        f"<updated>{_time(moment(row.time))}</updated>{link}{who}"
        f"<category term={quoteattr(row.kind)}/><content>{_xml(event.sentence)}</content></entry>"
    )


def _item(site: SiteData, row: Row) -> Iterator[tuple[str, object]]:
    yield "id", _id(site, row.href)
    if site.site_url:
        yield "url", site.site_url + row.href
    yield "title", plain(_title(row))
    yield "content_text", plain(row.event.sentence)
    yield "date_published", _time(moment(row.time))
    if row.event.who:
        yield "authors", [{"name": plain(row.event.who)}]
    yield "tags", [plain(row.kind)]


def _title(row: Row) -> str:
    return f"{row.event.title}: {row.title}"


def _id(site: SiteData, href: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'{plain(site.title)} {href}')}"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _xml(text: str) -> str:
    return escape(plain(text))
