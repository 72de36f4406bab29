"""The feeds against the rules of their formats: RFC 4287, RFC 3339, JSON Feed 1.1."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from urllib.parse import urlsplit
from xml.etree import ElementTree

import jsonschema
import pytest
from tests.pages.samples import EVENTS, healthy, many, rollback, site, small

from chronicle.pages.chronology import MOST, atom, json_feed
from chronicle.pages.gallery import SiteData

ATOM = "{http://www.w3.org/2005/Atom}"
RFC_3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
ONCE = ("id", "title", "updated")
AT_MOST_ONCE = ("content", "published", "rights", "source", "summary", "generator", "subtitle")


TEXT, URL = {"type": "string"}, {"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*:[^\s<>\"\\^`{|}]+$"}
DATE = {"type": "string", "pattern": f"^{RFC_3339}$"}


def closed(required: list[str], **properties: object) -> dict[str, object]:
    """An object with no other keys than extensions: an underscore and a letter, and no dot."""
    rest = {"patternProperties": {"^_[A-Za-z][^.]*$": {"type": "object"}}, "additionalProperties": False}
    return {"type": "object", "required": required, "properties": properties, **rest}


AUTHOR = closed([], name=TEXT, url=URL, avatar=URL) | {"minProperties": 1}
COMMON = {"authors": {"type": "array", "items": AUTHOR}, "author": AUTHOR, "language": TEXT}
FILE = {"size_in_bytes": {"type": "number"}, "duration_in_seconds": {"type": "number"}}
FILE = closed(["url", "mime_type"], url=URL, mime_type=TEXT, title=TEXT, **FILE)
ITEM = closed(
    ["id"],
    **dict.fromkeys(["title", "content_html", "content_text", "summary"], TEXT),
    **dict.fromkeys(["url", "external_url", "image", "banner_image"], URL),
    **dict.fromkeys(["date_published", "date_modified"], DATE),
    **COMMON,
    id=TEXT | {"minLength": 1},
    tags={"type": "array", "items": TEXT},
    attachments={"type": "array", "items": FILE},
) | {"anyOf": [{"required": ["content_html"]}, {"required": ["content_text"]}]}
JSON_FEED = closed(
    ["version", "title", "items"],
    **dict.fromkeys(["title", "description", "user_comment"], TEXT),
    **dict.fromkeys(["home_page_url", "feed_url", "next_url", "icon", "favicon"], URL),
    **COMMON,
    version={"const": "https://jsonfeed.org/version/1.1"},
    expired={"type": "boolean"},
    hubs={"type": "array", "items": closed(["type", "url"], type=TEXT, url=URL)},
    items={"type": "array", "items": ITEM},
)
"""JSON Feed 1.1 as a JSON Schema, key by key from https://jsonfeed.org/version/1.1."""


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
    jsonschema.validate(feed, JSON_FEED)
    assert all(bool(item.get("url")) is bool(data.site_url) for item in feed["items"])
    assert len({item["id"] for item in feed["items"]}) == len(feed["items"])
    assert ("feed_url" in feed) is ("home_page_url" in feed) is bool(data.site_url)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"version": "1.1"}, "'https://jsonfeed.org/version/1.1' was expected"),
        ({"home_page_url": "./"}, "'./' does not match"),
        ({"feeds": []}, "'feeds' does not match any of the regexes: '^_[A-Za-z][^.]*$'"),
        ({"items": [{"content_text": "It rose."}]}, "'id' is a required property"),
        ({"items": [{"id": "1"}]}, "{'id': '1'} is not valid under any of the given schemas"),
        ({"items": [{"id": 1, "content_text": ""}]}, "1 is not of type 'string'"),
        ({"items": [{"id": "1", "content_text": "", "date_published": "2026-11-18"}]}, "does not match"),
        ({"items": [{"id": "1", "content_text": "", "authors": [{}]}]}, "{} should be non-empty"),
        ({"items": [{"id": "1", "content_text": "", "tags": [None]}]}, "None is not of type 'string'"),
    ],
)
def test_a_feed_that_is_none_is_refused(keys: dict[str, object], said: str) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Runs", "_ours": {"a": 1}, "items": []}
    jsonschema.validate(feed, JSON_FEED)
    with pytest.raises(jsonschema.ValidationError, match=re.escape(said)):
        jsonschema.validate({**feed, **keys}, JSON_FEED)


def test_an_id_stays_when_the_site_moves_and_both_feeds_have_it() -> None:
    data = small(rollback())
    moved = replace(data, site_url="https://log.example.org/")
    ids = [[item["id"] for item in json.loads(json_feed(place))["items"]] for place in (data, moved)]
    assert ids[0] == ids[1] == re.findall(r"<entry><id>([^<]+)", atom(data))


def test_an_entry_in_full() -> None:
    (item, _) = json.loads(json_feed(replace(small(rollback()), site_url="https://l.org/")))["items"]
    assert item == {
        "id": item["id"],
        "url": "https://l.org/runs/demo-rollback/index.html#note-202611182241",
        "title": "Decision: A rollback with a lower learning rate",
        "content_text": "Back to 56 000. Not 58 500.",
        "date_published": "2026-11-18T21:41:00Z",
        "authors": [{"name": "ada"}],
        "tags": ["decision"],
    }
