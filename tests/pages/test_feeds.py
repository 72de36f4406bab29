"""The feeds against the rules of their formats: RFC 4287, RFC 3339, JSON Feed 1.1."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from tests.pages.samples import EVENTS, healthy, many, rollback, site, small

from chronicle.pages import SiteData
from chronicle.pages.chronology import MOST, atom, json_feed

ATOM = "{http://www.w3.org/2005/Atom}"
RFC_3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
ONCE = ("id", "title", "updated")
AT_MOST_ONCE = ("content", "published", "rights", "source", "summary", "generator", "subtitle")


def hostile() -> SiteData:
    event = replace(EVENTS[2], title="<b>&\x00", sentence="]]> <script>\u202e", who="\"'>", id="rise-a1-7")
    return small(replace(rollback(), events=(event,), title="</title>&"), title="<&>\ud800")


SITES = [small(), small(healthy()), small(rollback()), site(many(90)), hostile()]
SITES += [replace(data, site_url="https://log.example.org/") for data in SITES]


@pytest.mark.parametrize("data", SITES)
def test_atom_is_valid(data: SiteData) -> None:
    feed = ElementTree.fromstring(atom(data))
    entries = feed.findall(f"{ATOM}entry")
    for element in [feed, *entries]:
        children = [child.tag.removeprefix(ATOM) for child in element]
        assert all(children.count(name) == 1 for name in ONCE), children
        assert all(children.count(name) <= 1 for name in AT_MOST_ONCE), children
        assert re.fullmatch(RFC_3339, element.findtext(f"{ATOM}updated", ""))
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", element.findtext(f"{ATOM}id", ""))
        assert element.findtext(f"{ATOM}title")
    assert feed.findtext(f"{ATOM}author/{ATOM}name")  # where the feed has one, an entry needs none
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(entries) <= MOST
    for link in feed.iter(f"{ATOM}link"):
        assert bool(urlsplit(link.attrib["href"]).scheme) is bool(data.site_url)
    rel = [link.get("rel") for link in feed.findall(f"{ATOM}link")]
    assert rel == ["alternate"] + (["self"] if data.site_url else [])


@pytest.mark.parametrize("data", SITES)
def test_json_is_valid(data: SiteData) -> None:
    feed = json.loads(json_feed(data))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"]
    assert isinstance(feed["items"], list)
    for item in feed["items"]:
        assert item["id"] and isinstance(item["id"], str)
        assert item["content_text"] or item.get("content_html")
        assert re.fullmatch(RFC_3339, item["date_published"])
        assert all(author["name"] for author in item.get("authors", []))
        assert isinstance(item["tags"], list)
        assert bool(item.get("url")) is bool(data.site_url)
    assert len({item["id"] for item in feed["items"]}) == len(feed["items"])


def test_an_id_stays_when_the_site_moves_and_both_feeds_have_it() -> None:
    data = small(rollback())
    moved = replace(data, site_url="https://log.example.org/")
    ids = [[item["id"] for item in json.loads(json_feed(one))["items"]] for one in (data, moved)]
    assert ids[0] == ids[1] == re.findall(r"<entry><id>([^<]+)", atom(data))


def test_an_entry_in_full() -> None:
    (item, _) = json.loads(json_feed(replace(small(rollback()), site_url="https://l.org/")))["items"]
    assert item == {
        "id": item["id"],
        "url": "https://l.org/runs/demo-rollback/index.html#note-202611182241",
        "title": "Decision: A rollback with a lower learning rate",
        "content_text": "Back to 56 000. Not 58 500.",
        "date_published": "2026-11-18T21:41:00+00:00",
        "authors": [{"name": "ada"}],
        "tags": ["decision"],
    }
