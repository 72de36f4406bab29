"""Every page kind with every text of a log, a note or a configuration replaced by a hostile one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any

import markdown
import pytest
import yaml
from tests.depth import few
from tests.pages.samples import FAST, LOST, healthy, rollback, small
from tests.pages.test_escape import EXTENSIONS, HOSTILE, Reader

from chronicle.model import Entry
from chronicle.pages import assets, pages
from chronicle.pages.gallery import Page, SiteData
from chronicle.pages.words import as_html, plain

# Words of our own, which decide what a page looks like; everything else is somebody else's text.
OURS = {"schema", "pattern", "patterns", "runner_up", "role", "data", "missing", "files", "badge"}
ONE_LINE = [text for text in HOSTILE if "\n" not in text and text]


def poisoned(value: Any, text: str) -> Any:
    """The value with every text of others in it replaced, also inside tuples and tables."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = OURS | ({"name"} if type(value).__name__ == "Figure" else set())
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        return replace(value, **{k: v if k in kept else poisoned(v, text) for k, v in named.items()})
    if isinstance(value, Mapping):
        return {k: v if k in OURS else poisoned(v, text) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(poisoned(v, text) for v in value)
    return text if isinstance(value, str) and not isinstance(value, Enum) else value


def ordinary() -> Entry:
    """An entry that has something to say in every section of a page."""
    about = {"project": "p", "source": "s", "licence": "l", "quote": "q", "description": "d", "tags": ["t"]}
    return replace(rollback(), about={**about, "data": "log"})


def hostile_site(text: str) -> SiteData:
    page = replace(
        poisoned(LOST, text), id=LOST.id, title=text, lookalikes=LOST.lookalikes, causes=LOST.causes
    )
    data = small(poisoned(ordinary(), text), healthy("other", diagnosis=ordinary().diagnosis))
    page = replace(page, body=LOST.body, specimens=LOST.specimens)
    return replace(
        data,
        patterns=(replace(FAST, title=text, lead=text), page),
        unreadable=[(text, text)],
        unknown=[text],
        title=text,
    )


def read(page: str) -> tuple[dict[str, Any], Reader]:
    """The front matter of a page, and its HTML."""
    _, head, body = page.split("---\n", 2)
    return yaml.safe_load(head), Reader(markdown.markdown(body, extensions=EXTENSIONS))


@cache
def made(text: str) -> tuple[Page, ...]:
    return tuple(pages(hostile_site(text)))


@cache
def harmless() -> list[tuple[dict[str, Any], Reader]]:
    return [read(page.text) for page in made("word")]


TEXTS = few(ONE_LINE, 6)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_a_hostile_text_changes_no_element_of_any_page(text: str) -> None:
    for page, (expected_head, expected) in zip(made(text), harmless(), strict=True):
        head, body = read(page.text)
        assert head.keys() == expected_head.keys()
        assert body.elements == expected.elements, page.path
        assert ("word" in expected.text) <= (plain(text).strip()[:80] in body.text), page.path


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_titles_are_escaped_where_a_theme_prints_them_raw(text: str) -> None:
    titles = [yaml.safe_load(page.text.split("---\n", 2)[1])["title"] for page in made(text)]
    assert titles.count(str(as_html(text))) == 4  # home, the run, two patterns


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_the_data_of_browse_stay_data(text: str) -> None:
    script = dict(assets(hostile_site(text)))["assets/entries.js"]
    assert isinstance(script, str)
    rows = json.loads(script.split("window.chronicleEntries = ")[1].removesuffix(";\n"))
    assert rows[0][4] == plain(text)
    assert re.fullmatch(r"runs/[\w%.~-]+/index\.html", rows[0][10])


@pytest.mark.parametrize("text", ["../../../etc/passwd", "..", "a/b", "/root", "C:\\x", "a\nb", "%2e%2e/x"])
def test_no_page_leaves_its_folder(text: str) -> None:
    run = next(p for p in pages(hostile_site(text)) if p.path.startswith("runs/"))
    assert re.fullmatch(r"runs/(?!\.)[\w%.~-]+/index\.md", run.path)
    assert "\n" not in run.path


def test_notes_keep_their_lines_and_nothing_else() -> None:
    entry, hostile = rollback(), "# no heading\n\n- no list\n<b>not bold</b>"
    events = tuple(replace(e, sentence=hostile) if e.of else e for e in entry.events)
    page = next(p.text for p in pages(small(replace(entry, events=events))) if p.path.startswith("runs/"))
    shown = "&#35; no heading<br><br>- no list<br>&#60;b&#62;not bold&#60;/b&#62;"
    assert shown in page
