"""The site in a real browser, from file://, as somebody opens it who got it in an archive."""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import ATTACK, Opened

pytestmark = pytest.mark.browser

KINDS = [
    "index.html", "browse.html", "chronicle.html", "experiments.html", "404.html", "cases/index.html",
    "patterns/index.html", "patterns/repeat-data.html", "patterns/attention-logit-growth.html",
    "runs/demo-rollback/index.html", "runs/calm/index.html", "runs/hostile-1f3a/index.html",
    "reviews.html", "unreadable.html", "guide/index.html", "guide/configuration.html",
]  # fmt: skip
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
DARK = {"color_scheme": "dark"}
CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: t => window.copied = t}})"
NO_SCRIPT = {"java_script_enabled": False}


def cards(page: Page) -> int:
    return page.locator(".ch-browse .ch-card").count()


def status(page: Page) -> str:
    return page.locator(".ch-browse [role=status]").inner_text()


def shown(page: Page) -> set[str]:
    """The last word of the file names of all figures that can be seen."""
    figures = page.locator(".ch-fig img:visible")
    for i in range(figures.count()):
        figures.nth(i).scroll_into_view_if_needed()
    return {
        re.sub(r".*-(wide|narrow)", r"\1", name)
        for name in figures.evaluate_all("e => e.map(i => i.currentSrc)")
    }


def row(page: Page, label: str) -> str:
    """The count beside a facet's value."""
    return page.locator(".ch-facets label", has_text=label).locator(".ch-count").inner_text()


@pytest.mark.slow
def test_every_kind_of_page_renders_in_order_without_a_complaint_and_can_be_printed(opened: Opened) -> None:
    """Headings descend by one level, there is one main landmark, and every control has a name.

    It prints on sheets no wider than paper; what only a screen needs stays away.
    """
    for path in KINDS:
        page = opened.go(path)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.evaluate("[...document.images].forEach(i => i.loading = 'eager')")
        page.wait_for_function("[...document.images].every(i => i.complete)")
        assert page.locator("h1").count() == 1, path
        levels = page.locator(".md-content :is(h1, h2, h3)").evaluate_all("e => e.map(h => +h.tagName[1])")
        assert levels[0] == 1, path
        assert all(after - before <= 1 for before, after in pairwise(levels)), path
        assert page.locator("main, [role=main]").count() == 1, path
        nameless = page.locator(".md-content :is(input, select, button):visible").evaluate_all(
            "e => e.filter(x => !(x.ariaLabel || x.textContent.trim() || x.labels?.length)).length"
        )
        assert nameless == 0, path
        broken = "[...document.images].filter(i => !i.naturalWidth && i.offsetParent).length"
        assert page.evaluate(broken) == 0, path
        sheets = len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4")))
        assert 0 < sheets <= 30, path  # 25 or 26 of the longest page, by the fonts of the machine
        page.emulate_media(media="print")
        assert page.locator(".md-header:visible, .ch-bar:visible, .ch-do:visible").count() == 0, path
        page.emulate_media(media="screen")
        assert opened.wrong == [], path


@pytest.mark.slow
@pytest.mark.parametrize("opened", [PHONE], indirect=True)
def test_no_name_makes_a_table_scroll_on_a_phone(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html")
    wider = """() => Array.from({length: 60}, (_, n) => n + 1).filter(n => {
        const code = document.querySelector(".ch-table td code"), table = code.closest(".ch-wrap");
        code.textContent = "n".repeat(n);
        return table.scrollWidth > table.clientWidth;
    })"""
    assert page.evaluate(wider) == []


@pytest.mark.parametrize("opened", [PHONE], indirect=True)
def test_no_column_out_of_sight_makes_rows_tall_on_a_phone(opened: Opened) -> None:
    page = opened.go("guide/formats.html")
    row = page.locator("table tr", has=page.get_by_text("event file", exact=True)).first
    assert row.evaluate("row => row.offsetHeight") < 160  # it was 200, of two lines and a column out of sight
    assert row.evaluate("row => row.lastElementChild.getBoundingClientRect().right <= innerWidth")


@pytest.mark.parametrize("opened", [PHONE], indirect=True)
def test_a_wide_table_of_the_guide_becomes_blocks_that_name_their_columns_on_a_phone(opened: Opened) -> None:
    page = opened.go("guide/configuration.html")
    wide = "tables => tables.filter(t => t.offsetWidth > t.closest('.md-content').clientWidth).length"
    assert page.locator(".md-typeset table").evaluate_all(wide) == 0
    cell = page.locator("table[data-stack] td[data-k]").first
    assert cell.evaluate("cell => getComputedStyle(cell, '::before').content") == '"default: "'
    assert opened.wrong == []


@pytest.mark.slow
def test_a_name_of_one_word_stays_whole_in_a_table(opened: Opened) -> None:
    page = opened.go("experiments.html")
    page.locator("tbody td[data-k=changed]").first.evaluate("td => { td.textContent = 'word '.repeat(200); }")
    renamed = "a => { a.textContent = 'logging_of_a_run'; return a.getClientRects().length; }"
    assert page.locator(".ch-table tbody th a").first.evaluate(renamed) == 1


@pytest.mark.slow
def test_facets_filter_and_their_counts_say_what_a_click_would_give(opened: Opened) -> None:
    page = opened.go("browse.html")
    assert status(page) == "44 of 44 runs"
    assert cards(page) == 24
    bad = int(row(page, "bad"))
    page.get_by_label("bad").check()
    assert status(page) == f"{bad} of 44 runs"
    assert cards(page) == bad
    assert int(row(page, "worrying")) > 0  # of its own facet: what it would add
    project = page.locator(".ch-facets fieldset", has_text="Project").locator("label").first
    would_give = int(project.locator(".ch-count").inner_text())
    project.locator("input").check()
    assert status(page) == f"{would_give} of 44 runs"


def test_a_fact_that_is_a_bare_number_is_no_facet(opened: Opened) -> None:
    page = opened.go("index.html")
    page.goto(page.url.replace("index.html", "browse.html"))
    page.evaluate("""() => {
      const values = [["seed", "0", "1"], ["parameters", "8", "135\u202f808"], ["model", "7 B", "13 B"]];
      const facts = k => values.map(([name, ...of]) => [name, of[k % 2]]);
      window.chronicleEntries.forEach((row, k) => { row[14] = facts(k); });
      document.querySelector(".ch-facets").replaceChildren();
      document.head.append(Object.assign(document.createElement("script"), { src: "assets/browse.js" }));
    }""")
    page.locator(".ch-facets legend", has_text="model").wait_for()
    names = page.locator(".ch-facets legend").all_inner_texts()
    assert "seed" not in names and "parameters" not in names


@pytest.mark.slow
def test_words_filter_too(opened: Opened) -> None:
    page = opened.go("browse.html")
    page.get_by_label("Filter by words").fill("calm near-perfect")
    assert status(page) == "1 of 44 runs"
    page.get_by_label("Filter by words").fill("no such run")
    assert status(page) == "0 of 44 runs"
    page.get_by_role("button", name="clear all").click()
    assert status(page) == "44 of 44 runs"


@pytest.mark.slow
def test_the_chronicle_is_filtered_by_kind_person_project_run_and_words(opened: Opened) -> None:
    page = opened.go("chronicle.html")
    rows, said = page.locator("#happened .ch-log > li"), page.locator("#happened [role=status]")
    total = int(said.inner_text().split()[0])
    assert rows.count() == 150 < total  # the newest
    page.get_by_label("Kind").select_option("decision")
    assert page.url.endswith("#kind=decision")
    decisions = rows.count()
    assert said.inner_text() == f"{decisions} of {total} events"
    assert page.locator("#happened .ch-n[data-kind=decision]").count() == decisions > 0
    page.get_by_label("Project").select_option("Atlas")
    assert page.url.endswith("#kind=decision&project=Atlas")
    page.get_by_label("Run").select_option("demo-rollback")
    page.get_by_label("Person").select_option("ada")
    assert rows.count() == 1
    page.get_by_label("Filter by words").fill("no such event")
    assert page.locator("#happened").inner_text().count("No event matches. Remove a word or a filter.") == 1
    opened.go("browse.html")
    page = opened.go("chronicle.html#run=demo-rollback")
    rows.first.locator("a").click()
    page.wait_for_url(re.compile(r"runs/demo-rollback/index.html#"))


@pytest.mark.slow
def test_an_event_that_moved_is_found_by_its_old_id(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html#rise-a1-58000")
    assert page.locator("#rise-a1-58000").evaluate("e => e.closest('li').id") == "rise-a1-59000"


@pytest.mark.slow
def test_the_state_lives_in_the_address(opened: Opened) -> None:
    page = opened.go("browse.html")
    page.get_by_label("bad").check()
    page.get_by_label("Sort").select_option("name")
    before = [status(page), page.locator(".ch-card strong").all_inner_texts(), page.url]
    page.reload()
    assert [status(page), page.locator(".ch-card strong").all_inner_texts(), page.url] == before
    assert page.get_by_label("bad").is_checked()
    page.evaluate("location.hash = 'verdict=good'")
    expect(page.locator(".ch-chip")).to_have_text(["good ×"])


@pytest.mark.slow
def test_any_page_links_into_a_filtered_view(opened: Opened) -> None:
    page = opened.go("index.html")
    number = page.locator(".ch-tally a", has_text="bad").locator("b").inner_text()
    page.locator(".ch-tally a", has_text="bad").click()
    page.wait_for_url(re.compile("browse"))
    assert status(page) == f"{number} of 44 runs"


@pytest.mark.slow
def test_more_cards_come_on_demand_and_focus_goes_to_the_first_of_them(opened: Opened) -> None:
    page = opened.go("browse.html")
    page.get_by_role("button", name="Show 20 more").click()
    assert cards(page) == 44
    focused = page.evaluate("[...document.querySelectorAll('.ch-card')].indexOf(document.activeElement)")
    assert focused == 24
    assert page.locator(".ch-more").is_hidden()


@pytest.mark.slow
def test_back_finds_the_cards_that_were_shown(opened: Opened) -> None:
    page = opened.go("browse.html")
    page.get_by_label("Sort").select_option("new")
    page.get_by_role("button", name="Show 20 more").click()
    page.locator(".ch-browse .ch-card").last.click()
    page.wait_for_url(re.compile("runs/"))
    page.go_back()
    page.wait_for_url(re.compile(r"browse.html#sort=new&n=48$"))
    assert cards(page) == 44


@pytest.mark.slow
def test_a_facet_shows_seven_values_until_asked_for_all(opened: Opened) -> None:
    page = opened.go("browse.html")
    patterns = page.locator(".ch-facets fieldset", has_text="Pattern")
    assert patterns.locator("label:visible").count() == 7
    patterns.get_by_role("button", name="all").click()
    assert patterns.locator("label:visible").count() > 20


@pytest.mark.slow
def test_the_keyboard_reaches_every_facet_and_keeps_its_place(opened: Opened) -> None:
    page = opened.go("browse.html")
    page.get_by_label("good", exact=False).first.focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.checked") is True
    assert len(page.locator(".ch-chip").all()) == 1
    outline = "getComputedStyle(document.activeElement.closest('label')).outlineStyle"
    assert page.evaluate(outline) == "solid"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["index.html", "runs/calm/index.html"])
def test_search_finds_a_run_and_a_pattern_without_a_network(opened: Opened, path: str) -> None:
    page = opened.go(path)
    assert page.evaluate("typeof window.chronicleSearch") == "undefined"  # no page carries what nobody asks
    page.keyboard.press("/")
    box, links = page.get_by_role("searchbox", name="Search"), page.locator(".ch-found li a")
    box.fill("calm run")
    expect(links.first).to_have_text(re.compile("^Calm run calm"))
    box.fill("memorisation step")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".ch-found a:focus")).to_have_count(1)
    page.get_by_role("heading", name="Patterns", exact=True).wait_for()
    page.locator(".ch-found h2:text-is('Patterns') + ul a").first.click()
    page.wait_for_url(re.compile(r"repeat-data\.html"))


@pytest.mark.slow
def test_search_shows_a_hostile_title_as_text_and_escape_closes_it(opened: Opened) -> None:
    page = opened.go("index.html")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("searchbox", name="Search").fill("onmouseover")
    expect(page.locator(".ch-found li").first).to_contain_text("<img src=x")
    assert page.locator(".ch-found img").count() == 0
    page.keyboard.press("Escape")
    assert page.locator("dialog:visible").count() == 0


@pytest.mark.slow
def test_every_place_of_the_guide_that_search_knows_exists(opened: Opened) -> None:
    page = opened.go("index.html")
    page.evaluate("window.chronicleAsk('loss')")
    wrong = []
    for href, *_ in page.evaluate("window.chronicleGuide"):
        file, _, anchor = href.partition("#")
        text = (opened.root / file).read_text("utf-8")
        if anchor and f'id="{anchor}"' not in text:
            wrong.append(href)
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("opened", [DARK], indirect=True)
def test_dark_readers_get_dark_figures(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html")
    assert shown(page) == {"wide.svg#only-dark"}
    page.locator("label[for^=__palette]:visible").first.click()
    expect(page.locator(".ch-dark").first).to_be_hidden()
    assert shown(page) == {"wide.svg#only-light"}


@pytest.mark.slow
@pytest.mark.parametrize("opened", [PHONE], indirect=True)
def test_what_compares_ticked_runs_stays_in_sight(opened: Opened) -> None:
    page = opened.go("browse.html")
    for place in (0, 1):
        page.locator(".ch-cards input[type=checkbox]").nth(place).check()
    page.locator(".ch-cards > li").last.scroll_into_view_if_needed()
    expect(page.locator(".ch-compare a")).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.parametrize("opened", [PHONE], indirect=True)
def test_phones_get_narrow_figures_only(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html")
    assert shown(page) == {"narrow.svg#only-light"}
    names = "performance.getEntriesByType('resource').map(e => e.name)"
    assert [name for name in page.evaluate(names) if "-wide.svg" in name] == []


@pytest.mark.slow
@pytest.mark.parametrize("opened", [DARK], indirect=True)
def test_paper_is_always_light(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(".ch-dark:visible").count() == 0
    assert page.locator(".ch-light:visible").count() == 2
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--c-page')").strip() == "#FFFFFF"


@pytest.mark.parametrize("opened", [NO_SCRIPT], indirect=True)
def test_without_scripts_there_is_a_list(opened: Opened) -> None:
    page = opened.go("browse.html")
    assert page.locator(".ch-plain a:visible").count() == 44
    assert page.locator(".ch-browse:visible").count() == 0


@pytest.mark.slow
def test_a_hostile_run_is_only_text(opened: Opened) -> None:
    """The fixture fails on any dialog; here: the attack is readable, and made no element."""
    for path in ("runs/hostile-1f3a/index.html", "browse.html", "unreadable.html", "index.html"):
        page = opened.go(path)
        assert page.locator("img[src=x], [onmouseover], [onerror]").count() == 0, path
    page = opened.go("runs/hostile-1f3a/index.html")
    assert page.locator("h1").inner_text().startswith(ATTACK[:40])
    assert page.title().startswith(ATTACK[:40])


@pytest.mark.slow
def test_every_link_and_anchor_of_the_site_leads_somewhere(built: Path) -> None:
    pages = {path: path.read_text("utf-8") for path in built.rglob("*.html")}
    named = {path: re.findall(r'\sid="([^"]+)"', text) for path, text in pages.items()}
    ids = {path: set(map(html.unescape, anchors)) for path, anchors in named.items()}
    wrong, seen = [], 0
    for path, text in pages.items():
        for link in re.findall(r'\s(?:href|src)="([^"]+)"', text):
            address = urlsplit(html.unescape(link))
            if address.scheme or address.netloc:
                continue
            seen += 1
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            known = target in ids and _leads(target, unquote(address.fragment), ids[target])
            if not known and (target in ids or not target.exists()):
                wrong.append((path.name, link))
    assert seen > 5_000
    assert wrong == []


def _leads(target: Path, fragment: str, ids: set[str]) -> bool:
    """Whether a fragment is an id of the page, or the state of one that scripts read, as ``verdict=bad``."""
    is_state = target.name in ("browse.html", "chronicle.html", "view.html") and "=" in fragment
    is_attack = fragment.startswith(ATTACK[:9])  # ids are chronicle's own; only the hostile run has others
    return not fragment or is_state or is_attack or fragment in ids


@pytest.mark.slow
def test_an_event_is_copied_as_markdown(opened: Opened) -> None:
    page = opened.go("runs/demo-rollback/index.html")
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: t => window.copied = t}})"
    )
    page.locator("#rise-a1-59000").get_by_role("button", name="copy as Markdown").click()
    page.locator("#rise-a1-59000").get_by_text("copied", exact=True).wait_for()
    link = page.url.split("#")[0] + "#rise-a1-59000"
    assert page.evaluate("window.copied") == (
        f"**[Spike, not fully recovered]({link})** (A rollback with a lower learning rate, "
        "2026-11-18 19:02Z, 10 h after the start): The loss jumped from 2.26 to 4.17 nats/token at step "
        "58 897 and came back only in part.\n"
    )


@pytest.mark.slow
def test_the_keyboard_alone_reaches_a_run_through_search(opened: Opened) -> None:
    page = opened.go("404.html")
    page.keyboard.press("/")
    page.keyboard.type("calm")
    page.locator(".ch-found a").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"runs/calm/index\.html"))


@pytest.mark.slow
def test_home_tells_a_reader_who_comes_back_what_is_new(opened: Opened) -> None:
    page = opened.go("index.html")
    assert page.locator("#new").inner_text() == ""
    newest = page.locator(".ch-log [data-time]").first.get_attribute("data-time")
    page.evaluate("t => localStorage.setItem('chronicle.seen ' + document.title, Date.parse(t) - 1)", newest)
    page = opened.go("browse.html") and opened.go("index.html")
    assert re.fullmatch(r"\d+ since you were last here\.", page.locator("#new").inner_text())
    assert page.locator(".ch-log .new").count() == int(page.locator("#new").inner_text().split()[0])
