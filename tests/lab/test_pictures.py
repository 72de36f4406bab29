"""Each kind of page has its picture in the guide, small, and nowhere else."""

from __future__ import annotations

import re

from lab.pictures import DOCS, KINDS, SITES, name, table
from tests.pages.samples import healthy, rollback, site

from chronicle.pages import guide_js, pages
from chronicle.pages.gallery import load_cases
from chronicle.workspace.folders import shipped_file

MOST = 60_000  # bytes of a picture
RARE = {"unreadable.md"}  # the two sites have no such page


def kind(path: str) -> str:
    """A page's path without what says which run, pattern or case it is."""
    path = re.sub(r"#.*|\.(md|html)$", "", path).removesuffix(".html")
    return re.sub(r"^(runs|patterns|cases)/(?!index)[^/]+(/index)?$", r"\1/*", path)


def test_each_kind_of_page_has_its_picture() -> None:
    shown = {kind(re.sub("#.*", "", address)) for _, *addresses in KINDS.values() for address in addresses}
    data = site([rollback(), healthy()], cases=load_cases([shipped_file("gallery")]))
    assert {kind(page.path) for page in pages(data) if page.path not in RARE} <= shown
    assert {"assets/view", "guide/index"} <= shown


def test_each_picture_is_there_and_small_and_shown() -> None:
    wanted = {
        name(place, kind)
        for kind, (_, *addresses) in KINDS.items()
        for place, address in zip(SITES, addresses, strict=True)
        if address
    }
    taken = {file.name: file.stat().st_size for file in (DOCS / "pictures").glob("site-*")}
    assert taken.keys() == wanted
    assert [file for file, size in taken.items() if size > MOST] == []
    assert table() in (DOCS / "site.md").read_text("utf-8")


def test_the_search_does_not_know_them() -> None:
    assert ".webp" not in guide_js(site([rollback()]), shipped_file("docs"))
