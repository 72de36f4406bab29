"""axe-core finds nothing to complain of on any kind of page, wide and light, narrow and dark.

No page scrolls sideways either: that is looked at on the same visit, for opening a page is most of the work.
"""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page
from tests.browser.conftest import Opened
from tests.browser.test_site import KINDS
from tests.depth import LONG, few

pytestmark = pytest.mark.browser

WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
ROWS = "ol > li:nth-child(n+21), tbody > tr:nth-child(n+21)"  # like those before them
SIZES = few([pytest.param(PHONE, id="phone"), pytest.param(WIDE, id="wide")], short=1)


def violations(page: Page) -> list[tuple[str, str]]:
    """Id of each rule that is violated, and the first element that does; axe loads no style sheet again.

    A short run looks at the first twenty rows of a list or table: the work grows faster than their number.
    """
    if not LONG:
        page.evaluate("rows => document.querySelectorAll(rows).forEach(row => row.remove())", ROWS)
    options = {"preload": False, "resultTypes": ["violations"]}
    broken = Axe().run(page, options=options).response["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in broken]


@pytest.mark.slow
@pytest.mark.parametrize("opened", SIZES, indirect=True)
def test_no_kind_of_page_violates_a_rule_or_scrolls_sideways(opened: Opened) -> None:
    broken, widths = {}, {}
    for path in (*KINDS, "chronicle.html#run=hostile-1f3a"):
        page = opened.go(path)
        widths[path] = page.evaluate("document.documentElement.scrollWidth")
        broken[path] = violations(page)
    assert {path: rules for path, rules in broken.items() if rules} == {}
    assert widths == dict.fromkeys(widths, page.viewport_size["width"])


@pytest.mark.slow
@pytest.mark.parametrize("opened", SIZES, indirect=True)
def test_neither_does_what_opens_on_a_page(opened: Opened) -> None:
    page = opened.go("index.html")
    page.keyboard.press("/")
    page.get_by_role("searchbox", name="Search").fill("rollback")
    page.locator(".ch-found a").first.wait_for()
    assert violations(page) == []
    page = opened.go("browse.html#verdict=bad&q=run")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page) == []
    page = opened.go("runs/demo-rollback/index.html")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page) == []
