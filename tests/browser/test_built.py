"""From logs to a browser: a workspace built by the command, one of its runs hostile in every place."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import Opened, opened_page
from tests.depth import few

from chronicle.cli.serve import Site
from chronicle.workspace.folders import shipped_file

pytestmark = pytest.mark.browser

RUNS = ("ptl-repeat-data-p3", "lab-garbage-spike", "lab-lost-nodes")  # the last has the tallest beginning
ATTACK = "<script>alert(1)</script>"
KINDS = [
    *("index.html", "browse.html", "chronicle.html", "experiments.html", "404.html"),
    *("patterns/index.html", "patterns/repeat-data.html", "cases/index.html", "cases/opt-175b.html"),
    *(f"runs/{run}/index.html" for run in RUNS),
    *("guide/index.html", "guide/site.html", "guide/speed.html"),
    "assets/view.html#run=ptl-repeat-data-p3",
    "assets/view.html#run=ptl-repeat-data-p3&run=lab-garbage-spike",
]
PHONE = {"viewport": {"width": 360, "height": 740}}
DARK = {"viewport": {"width": 1360, "height": 900}, "color_scheme": "dark"}
SCREENS = [pytest.param(PHONE, id="phone"), pytest.param(DARK, id="dark")]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `chronicle build --strict` makes of three runs."""
    root = tmp_path_factory.mktemp("team")
    (root / "chronicle.toml").write_text(f'title = "{ATTACK}"\n', "utf-8")
    shutil.copyfile(shipped_file("mkdocs.yml"), root / "mkdocs.yml")
    for run in RUNS:
        shutil.copytree(shipped_file("runs") / run, root / "runs" / run)
    hostile = root / "runs" / "a run <b>with & odd name"
    hostile.mkdir()
    rows = "".join(f"{i},{3 / (1 + i) ** 0.2:.6f},{i % 7}\n" for i in range(400))
    (hostile / "log.csv").write_text(f"step,train/loss,{ATTACK}\n{rows}", "utf-8")
    (hostile / "run.toml").write_text(
        f'title = "{ATTACK}"\nquote = "{ATTACK}"\nproject = "{ATTACK}"\n', "utf-8"
    )
    (hostile / "notes.md").write_text(f"# heading\n\n{ATTACK} **bold** [x](javascript:alert(2))\n", "utf-8")
    command = [sys.executable, "-m", "chronicle", "build", "--strict", "--jobs", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root / "build" / "site"


@pytest.fixture
def opened(chromium: Browser, workspace: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    yield from opened_page(chromium, workspace, getattr(request, "param", DARK))


@pytest.fixture(scope="module")
def served(workspace: Path) -> Iterator[str]:
    """The address of the same site over http, with the headers of `chronicle serve`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(workspace))) as server:
        Thread(target=partial(server.serve_forever, 0.01), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("opened", few(SCREENS, 1), indirect=True)
def test_every_kind_of_page_works_over_http_as_from_disk(opened: Opened, served: str) -> None:
    page = opened.page
    for path in KINDS:
        page.goto("about:blank")  # from one hash to another nothing is asked of the server
        answer = page.goto(f"{served}/{path}")
        assert answer is not None and answer.status == 200, path
        page.wait_for_load_state("load")
        assert page.locator("h1").count() == 1, path
        width = page.viewport_size["width"] if page.viewport_size else 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        if "assets/view" in path:
            page.wait_for_selector("#panels[data-drawn]")
    page.goto(f"{served}/index.html")
    page.keyboard.press("/")
    page.get_by_role("searchbox", name="Search").fill("garbage")
    page.locator(".ch-found a").first.wait_for()
    for feed in ("feed.xml", "feed.json"):
        assert page.request.get(f"{served}/{feed}").ok
    page.goto(f"{served}/browse.html#verdict=good")
    page.locator(".ch-browse .ch-card").first.click()
    page.wait_for_url(re.compile("/runs/"))
    page.go_back()
    page.wait_for_url(re.compile(r"browse\.html#verdict=good$"))
    assert page.locator(".ch-chip").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("opened", SCREENS, indirect=True)
def test_every_page_of_a_built_site_is_whole(opened: Opened) -> None:
    paths = sorted(p.relative_to(opened.root).as_posix() for p in (opened.root / "runs").rglob("*.html"))
    assert len(paths) == len(RUNS) + 1
    for path in ["index.html", "browse.html", "patterns/repeat-data.html", *paths]:
        page = opened.go(path)
        page.evaluate("[...document.images].forEach(i => i.loading = 'eager')")
        page.wait_for_function("[...document.images].every(i => i.complete)")
        assert page.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)") == []
        width = page.viewport_size["width"] if page.viewport_size else 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


# Whether each image is the one of its sources that the width asks for, and has arrived: a browser chooses
# anew, and loads, some time after the width has changed.
ALL_CHOSEN = """() => [...document.images].filter(i => i.checkVisibility()).every(image => {
  const sources = [...image.parentElement.querySelectorAll(':scope > source')];
  const chosen = sources.find(source => !source.media || matchMedia(source.media).matches);
  const wanted = chosen ? new URL(chosen.srcset, document.baseURI).href : image.currentSrc;
  return image.complete && image.currentSrc === wanted;
})"""

# Of each figure that is seen, how large its smallest text is on the screen. Text of a figure in a file has
# the size that the style sheet in it gives it at this width.
TEXT_SIZES = """async () => {
  const smallest = (svg, scale) => Math.min(
    ...[...svg.querySelectorAll('text')].map(text => scale * parseFloat(getComputedStyle(text).fontSize)));
  const sizes = [...document.querySelectorAll('.ch-sch')].filter(svg => svg.getBoundingClientRect().width)
    .map(svg => smallest(svg, svg.getBoundingClientRect().width / svg.viewBox.baseVal.width));
  const shown = [...document.querySelectorAll('.ch-fig img')].filter(image => image.checkVisibility());
  for (const image of shown) {
    const frame = document.createElement('iframe');
    const scale = Math.min(image.clientWidth / image.naturalWidth, image.clientHeight / image.naturalHeight);
    frame.style.width = `${scale * image.naturalWidth}px`;
    frame.srcdoc = figures[decodeURI(image.currentSrc).split(/[/#]/).slice(-3, -1).join('/')];
    await new Promise(done => { frame.onload = done; document.body.append(frame); });
    sizes.push(smallest(frame.contentDocument, scale));
    frame.remove();
  }
  return sizes;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("opened", [{"viewport": {"width": 1440, "height": 700}}], indirect=True)
def test_text_in_figures_has_at_least_eleven_pixels_at_every_width(opened: Opened) -> None:
    files = (opened.root / "runs").rglob("*-*.svg")
    drawn = {f"{file.parent.name}/{file.name}": file.read_text("utf-8") for file in files}
    for path in ("index.html", "patterns/repeat-data.html", *(f"runs/{run}/index.html" for run in RUNS)):
        page = opened.go(path)
        page.evaluate("drawn => { figures = drawn }", drawn)
        page.evaluate("[...document.images].forEach(i => i.loading = 'eager')")
        for width in (1440, 1024, 1000, 820, 768, 767, 390, 360):
            page.set_viewport_size({"width": width, "height": 700})
            page.wait_for_function(ALL_CHOSEN)
            sizes = page.evaluate(TEXT_SIZES)
            assert sizes == [] or min(sizes) >= 10.99, (path, width, sizes)


def test_one_thumbnail_serves_both_themes(opened: Opened) -> None:
    thumb = opened.root / "runs" / RUNS[0] / "thumb.svg"
    page = opened.page
    page.goto(thumb.as_uri())
    colours = {"light": set(), "dark": set()}
    for scheme, seen in colours.items():
        page.emulate_media(color_scheme=scheme)
        seen |= set(
            page.evaluate("[...document.querySelectorAll('g path')].map(p => getComputedStyle(p).color)")
        )
    assert colours["light"] == colours["dark"] <= {"rgb(59, 125, 191)", "rgb(128, 128, 128)"}
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgba(0, 0, 0, 0)"


@pytest.mark.slow
def test_a_finding_of_a_real_run_has_its_zoom(opened: Opened) -> None:
    page = opened.go("runs/ptl-repeat-data-p3/index.html")
    event = page.locator(".ch-log > li:has(img)").first
    link = page.locator(f".ch-key a[href='#{event.get_attribute('id')}']")
    link.click()
    assert event.locator("h3").inner_text().startswith(link.inner_text())
    assert event.locator("img:visible").count() == 1


@pytest.mark.slow
def test_a_hostile_log_is_only_text(opened: Opened) -> None:
    folder = next(p for p in (opened.root / "runs").iterdir() if p.name.startswith("a-run"))
    page = opened.go(f"runs/{folder.name}/index.html")
    assert page.locator("h1").inner_text().startswith(ATTACK)
    assert page.locator(".ch-log p", has_text="**bold** [x](javascript:alert(2))").count() == 1
    assert page.locator(".ch-log a, .ch-log strong").count() == 0
    page.locator("summary", has_text="metrics").click()
    assert page.locator("th", has_text=ATTACK).count() == 1
    opened.go("browse.html")
    assert page.locator(".ch-card strong", has_text=ATTACK).count() == 1


@pytest.mark.slow
def test_a_run_opens_on_its_whole_figure_and_prints_on_six_sheets(chromium: Browser, workspace: Path) -> None:
    for opened in opened_page(chromium, workspace, {"viewport": {"width": 1280, "height": 800}}):
        for run in RUNS:
            page = opened.go(f"runs/{run}/index.html")
            box = page.locator(".ch-fig img:visible").first.bounding_box()
            assert box is not None and box["y"] + box["height"] <= 800, run
            page.evaluate(
                "document.querySelectorAll('details').forEach(d => d.open = true)"
            )  # as the theme does
            sheets = len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4")))
            assert 0 < sheets <= 6, run
            page.emulate_media(media="print")  # an event's badge, heading and words stay together
            breaks = page.locator(".ch-log > li:not(:has(.ch-aside))").evaluate_all(
                "items => items.map(item => getComputedStyle(item).breakInside)"
            )
            assert set(breaks) == {"avoid"}, run
            page.emulate_media(media="null")


def test_figures_below_the_fold_are_there_when_the_page_has_loaded(
    chromium: Browser, workspace: Path
) -> None:
    """Paper is printed without a screen as well, where nobody scrolls: only the dark figures may wait."""
    for opened in opened_page(chromium, workspace, {"viewport": {"width": 800, "height": 300}}):
        page = opened.go("runs/lab-garbage-spike/index.html")
        drawn = page.locator(".ch-light img").evaluate_all(
            "e => e.map(i => i.complete && i.naturalWidth > 0)"
        )
        assert len(drawn) >= 2 and all(drawn)
        cards = opened.go("browse.html").locator("img.ch-thumb")
        ready = "i => i.complete && i.naturalWidth > 0 && i.loading !== 'lazy'"
        drawn = cards.evaluate_all(f"e => e.map({ready})")
        assert len(drawn) >= 2 and all(drawn)


@pytest.mark.slow
def test_the_data_of_an_event_are_saved_as_csv(chromium: Browser, workspace: Path) -> None:
    for opened in opened_page(chromium, workspace, {"viewport": {"width": 1280, "height": 800}}):
        page = opened.go("runs/lab-garbage-spike/index.html")
        event = page.locator(".ch-log > li:has(figure)").first
        with page.expect_download() as saved:
            event.get_by_role("button", name="data as CSV").click()
        assert saved.value.suggested_filename == f"{event.get_attribute('id')}.csv"
        head, *rows = saved.value.path().read_text("utf-8").splitlines()
        assert head == "attempt,metric,live,step,value"
        kept = opened.root / "runs/lab-garbage-spike/series.csv.gz"
        logged = gzip.decompress(kept.read_bytes()).decode("utf-8")
        peak = max((row.rsplit(",", 1) for row in rows if ",true,600" in row), key=lambda row: float(row[1]))
        assert float(peak[1]) > 15 and len(rows) > 40 and "600" in logged
