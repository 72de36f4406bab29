"""The interactive view in a real Chromium, from the file system and without a network."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import Opened, opened_page
from tests.browser.test_axe import violations
from tests.figures.runs import attempt, diagnosis, falling, finding, series
from tests.figures.runs import view as view_of

from chronicle.model import Event, EventKind, Fact, Join, JoinKind, Role, Verdict
from chronicle.timeline import stitch
from chronicle.workspace.folders import shipped_file

pytestmark = pytest.mark.browser

WIDE = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"}
STEPS, SPIKE = 1_000_000, 654_321
STOPS = {"run-3": [100, 300], "run-4": [200]}
OPEN = [
    (100, "Level shift", Verdict.WORRYING),
    (300, "Divergence", Verdict.BAD),
    (350, "Odd", Verdict.UNEXPECTED),
]
ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with the data of one run: a million steps, one of them a spike, and a rollback."""
    root = tmp_path_factory.mktemp("view")
    shutil.copytree(shipped_file("templates") / "assets", root / "assets")
    values = falling(STEPS)
    values[SPIKE] = 9.0
    first = attempt("first", series("loss", np.arange(STEPS), values), series(ATTACK, [0, STEPS], [1, 2]))
    again = attempt("again", series("loss", np.arange(STEPS - 999, STEPS + 999), falling(1998)))
    spike = finding("spike-fast-recovery", SPIKE, SPIKE + 9)
    event = Event("s", EventKind.FINDING, "Spike", ATTACK, "", "1", SPIKE, SPIKE + 9, verdict=Verdict.GOOD)
    (root / "runs" / "run-1").mkdir(parents=True)
    script = view_of(stitch([first, again], relation="attempts"), diagnosis(spike), (event,), title=ATTACK)
    (root / "runs" / "run-1" / "view.js").write_text(script, "utf-8")
    (root / "runs" / "run-2").mkdir()
    other = stitch([attempt("other", series("train_loss", np.arange(500), falling(500)))])
    facts = (Fact("Tokens", 1024.0, "tokens", ""), Fact("Format", "csv", "", ""))
    script = view_of(
        other, diagnosis(verdict=Verdict.GOOD), (), title="Other", headline="It fell.", facts=facts
    )
    (root / "runs" / "run-2" / "view.js").write_text(script, "utf-8")
    for name, norm in (("run-3", "grad_norm"), ("run-4", "train/gnorm")):
        (root / "runs" / name).mkdir()
        both = series("loss", np.arange(500), falling(500)), series(norm, [0, 9], [1, 2], Role.GRAD_NORM)
        at = [Event(f"e{s}", EventKind.NOTE, f"At {s}", "It fell.", step=s) for s in STOPS[name]]
        joins = (Join(JoinKind.ROLLBACK, 0, 0, 250, 50, 199),) if name == "run-4" else ()
        at += [Event("r", EventKind.ROLLBACK, "Back", "From 250.", "", "A", step=50) for _ in joins]
        judged = replace(diagnosis(), joins=joins)
        script = view_of(stitch([attempt(name, *both)]), judged, tuple(at), title=name)
        (root / "runs" / name / "view.js").write_text(script, "utf-8")
    (root / "runs" / "run-6").mkdir()
    reward = series("reward", np.arange(500), -falling(500), Role.OBJECTIVE)
    script = view_of(stitch([attempt("agent", reward)]), diagnosis(), (), title="Agent")
    (root / "runs" / "run-6" / "view.js").write_text(script, "utf-8")
    (root / "runs" / "run-7").mkdir()
    scale = np.repeat([65_536.0, 32.0], 250)
    curves = [series("train_loss", np.arange(500), np.where(np.arange(500) < 400, falling(500), np.nan))]
    curves += [series("val_loss", np.arange(0, 500, 50), falling(10), Role.VALIDATION_LOSS)]
    curves += [series("loss_scale", np.arange(500), scale, Role.LOSS_SCALE)]
    at = [
        Event(f"f{step}", EventKind.FINDING, title, "It rose.", "", str(i + 1), step, verdict=verdict)
        for i, (step, title, verdict) in enumerate(OPEN)
    ]
    script = view_of(stitch([attempt("lost", *curves)]), diagnosis(), tuple(at), title="Lost")
    (root / "runs" / "run-7" / "view.js").write_text(script, "utf-8")
    (root / "runs" / "run-5").mkdir()
    tokens = attempt("tokens", series("loss", np.arange(500), falling(500)), axis="million tokens")
    script = view_of(stitch([tokens]), diagnosis(), (), title="Tokens")
    (root / "runs" / "run-5" / "view.js").write_text(script, "utf-8")
    return root


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "phone"])
def opened(chromium: Browser, folder: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    yield from opened_page(chromium, folder, request.param)


def shown(opened: Opened, more: str = "") -> Page:
    page = opened.go(f"assets/view.html#run=run-1{more}")
    page.wait_for_selector("#panels[data-drawn]")
    return page


def after(page: Page, act: str) -> None:
    """Does something, and waits until it was drawn."""
    drawn = page.get_attribute("#panels", "data-drawn")
    page.evaluate(act)
    page.wait_for_function(f"document.getElementById('panels').dataset.drawn !== '{drawn}'")


def test_the_planted_spike_is_reached(opened: Opened) -> None:
    page = shown(opened)
    assert page.inner_text("#events button") == "Spike"
    after(page, "document.querySelector('#events button').click()")
    ends = page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
    assert float(ends["from"]) < SPIKE < float(ends["to"]) < float(ends["from"]) + STEPS / 50
    box = page.locator("canvas").first.bounding_box()
    at = page.evaluate(f"document.querySelector('canvas').scaleX({SPIKE})")
    page.mouse.move(box["x"] + at, box["y"] + 90)
    page.wait_for_function("document.getElementById('readout').textContent.includes('loss')")
    assert "loss 9 at 654\u202f321" in page.inner_text("#readout")
    assert opened.wrong == []


def test_keyboard_axes_dead_branches_and_smoothing(opened: Opened) -> None:
    page = shown(opened)
    page.focus("#panels")
    for key, is_whole in [("+", False), ("ArrowRight", False), ("-", True), ("+", False), ("0", True)]:
        drawn = page.get_attribute("#panels", "data-drawn")
        page.keyboard.press(key)
        page.wait_for_function(f"document.getElementById('panels').dataset.drawn !== '{drawn}'")
        assert ("from=" not in page.evaluate("location.hash")) is is_whole, key
    for box, word in [("#log", "log=1"), ("#dead", "dead=0")]:
        after(page, f"document.querySelector('{box}').click()")
        assert word in page.evaluate("location.hash")
    after(
        page,
        "{const s = document.getElementById('smooth'); s.value = 5; s.dispatchEvent(new Event('input'))}",
    )
    assert page.inner_text("#smooth-words") == "mean of 33 points"
    assert opened.wrong == []


def test_a_link_shows_what_was_seen_and_no_text_runs(opened: Opened) -> None:
    page = shown(opened, "&from=1000&to=2000&log=1&hide=1")
    assert page.is_checked("#log")
    assert page.locator("canvas").count() == 1
    assert page.inner_text("#title") == ATTACK and page.inner_text("#events span:last-child").endswith(ATTACK)
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert opened.wrong == []


def lost(opened: Opened, more: str = "") -> Page:
    page = opened.go(f"assets/view.html#run=run-7{more}")
    page.wait_for_selector("#panels[data-drawn]")
    return page


PIXELS = """places => { const canvas = document.querySelector('canvas'), ratio = devicePixelRatio;
  const { width, height } = canvas, often = { willReadFrequently: true };
  const copy = new OffscreenCanvas(width, height).getContext('2d', often);
  copy.drawImage(canvas, 0, 0);
  return places.map(([x, y]) => [...copy.getImageData(x * ratio, y * ratio, 1, 1).data].join()); }"""


def test_each_curve_of_a_panel_is_named_behind_a_piece_of_its_line(opened: Opened) -> None:
    page = lost(opened)
    names = page.evaluate("[...document.querySelectorAll('canvas')].map(c => c.names.map(n => n.words))")
    assert names[0] == ["train_loss", "val_loss"] and ["loss_scale", "· log scale"] in names
    places = page.evaluate("document.querySelector('canvas').names.map(n => [65 + n.x, 10 + 16 * n.row])")
    assert "0,0,0,0" not in page.evaluate(PIXELS, places)  # where nothing is drawn
    assert opened.wrong == []


def test_a_finding_that_is_not_over_is_shaded_to_the_end(opened: Opened) -> None:
    page = lost(opened)
    left, late = page.evaluate("[50, 200].map(step => document.querySelector('canvas').scaleX(step))")
    bottom = page.evaluate("document.querySelector('canvas').box[3]") - 3  # a loss that falls is far above it
    before, within = page.evaluate(PIXELS, [[left, bottom], [late, bottom]])
    assert before != within
    assert opened.wrong == []


def test_the_shape_of_a_mark_carries_the_verdict(opened: Opened) -> None:
    page = lost(opened)
    shapes = page.locator("#events .mark").evaluate_all(
        "all => all.map(mark => getComputedStyle(mark).clipPath)"
    )
    assert shapes == [
        "polygon(50% 0px, 100% 100%, 0px 100%)",
        "none",
        "polygon(50% 0px, 100% 50%, 50% 100%, 0px 50%)",
    ]


def test_values_that_are_missing_are_explained_and_a_step_is_whole(opened: Opened) -> None:
    page = lost(opened)
    bar = "A bar at the upper edge of a panel marks values that are NaN or infinite."
    assert page.inner_text("#held").endswith(bar)
    box = page.locator("canvas").first.bounding_box()
    at = page.evaluate("document.querySelector('canvas').scaleX(123.4)")
    page.mouse.move(box["x"] + at, box["y"] + 90)
    page.wait_for_function("document.getElementById('readout').textContent.includes('train_loss')")
    assert re.match(r"step 12\d · ", page.inner_text("#readout"))
    after(page, "document.querySelectorAll('#metrics input')[0].click()")
    assert bar not in page.inner_text("#held")
    assert opened.wrong == []


def test_runs_are_laid_over_each_other(opened: Opened) -> None:
    page = shown(opened, "&run=run-2")
    assert page.locator("#legend li").all_inner_texts() == [f"{ATTACK} bad.", "Other good. It fell."]
    assert page.inner_text("#title") == f"{ATTACK} · Other"
    assert (
        page.locator("#metrics input").count() == 2
    )  # the judged losses share a panel, though their names differ
    rows = page.evaluate(
        "[...document.querySelectorAll('#facts tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert rows == [
        ["What differs", ATTACK, "Other"],
        ["Tokens", "–", "1\u202f024 tokens"],
        ["Format", "–", "csv"],
    ]
    first = page.locator("#metrics label").first.text_content()
    assert first == " loss · train_loss"  # what each of them is judged by
    assert page.evaluate("location.hash").startswith("#run=run-1&run=run-2")
    assert page.get_attribute("#back", "href") == "../browse.html"
    assert opened.wrong == []


def test_a_reward_and_a_loss_do_not_share_a_panel(opened: Opened) -> None:
    """A reward of -5000 pressed the losses beside it into a line."""
    page = shown(opened, "&run=run-2&run=run-6")
    names = page.locator("#metrics label").all_text_contents()
    assert "loss · train_loss" in names[0] and [name for name in names if "reward" in name] == [" reward"]
    assert opened.wrong == []


def test_a_validation_loss_is_compared_too(opened: Opened) -> None:
    """It shares a panel with its loss, of which only the judged one was laid over that of other runs."""
    page = opened.go("assets/view.html#run=run-7&run=run-2")
    page.wait_for_selector("#panels[data-drawn]")
    assert " val_loss" in page.locator("#metrics label").all_text_contents()
    assert opened.wrong == []


def test_the_menu_of_metrics_stays_inside_the_window(opened: Opened) -> None:
    page = shown(opened, "&run=run-7")
    page.click("#metrics summary")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_what_several_runs_share_goes_before_what_only_one_of_them_has(opened: Opened) -> None:
    page = opened.go("assets/view.html#run=run-6&run=run-3&run=run-4")
    page.wait_for_selector("#panels[data-drawn]")
    assert page.locator("#metrics label").all_text_contents() == [" loss", " grad_norm", " reward"]
    assert opened.wrong == []


def test_an_axis_names_the_units_of_all_runs_that_are_laid_over_it(opened: Opened) -> None:
    """The unit of the first one stood there alone, and steps were drawn over millions of tokens."""
    page = opened.go("assets/view.html#run=run-5&run=run-2")
    page.wait_for_selector("#panels[data-drawn]")
    assert page.locator("#axis option").all_text_contents()[0] == "million tokens or step"
    assert opened.wrong == []


def test_metrics_of_one_kind_share_a_panel_whatever_they_are_called(opened: Opened) -> None:
    page = opened.go("assets/view.html#run=run-3&run=run-4")
    page.wait_for_selector("#panels[data-drawn]")
    assert page.locator("#metrics label").all_text_contents() == [" loss", " grad_norm"]
    assert opened.wrong == []


def test_events_of_several_runs_stand_side_by_side_in_the_order_of_the_axis(opened: Opened) -> None:
    page = opened.go("assets/view.html#run=run-3&run=run-4")
    page.wait_for_selector("#panels[data-drawn]")
    events = page.locator("#events li")
    said = [" ".join(text.split()) for text in events.all_inner_texts()]
    assert said == [
        "· run-3 At 100 It fell.",
        "· run-4 At 200 It fell.",
        "A run-4 Back From 250.",  # where the run went back, not where it then stood
        "· run-3 At 300 It fell.",
    ]
    boxes = events.evaluate_all("all => all.map(one => [one.offsetLeft, one.offsetTop])")
    wide = page.viewport_size == WIDE["viewport"]
    assert (boxes[0][0] == boxes[3][0] < boxes[1][0]) is wide
    assert (boxes[0][1] == boxes[1][1] < boxes[3][1]) is wide


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "&run=run-2"], ids=["one", "two"])
def test_no_view_violates_a_rule(opened: Opened, more: str) -> None:
    page = shown(opened, more)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page) == []


def test_a_link_followed_on_the_page_itself_is_another_view(opened: Opened) -> None:
    page = shown(opened)
    page.evaluate("location.hash = 'run=run-2'")
    page.wait_for_selector("#title:text-is('Other')")
    assert page.get_attribute("#back", "href") == "../runs/run-2/index.html"
    assert opened.wrong == []


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "%2e%2e"])
def test_the_hash_leads_nowhere_else(opened: Opened, name: str) -> None:
    page = opened.go(f"assets/view.html#run={name}")
    assert page.inner_text("#title") == "The address names no run."
    assert page.locator("script").count() == 1
