"""A small site, built once, and a real Chromium to open it from the file system."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.pages.samples import healthy, many, rollback, site
from tests.pages.test_hostile import ordinary, poisoned

from chronicle.build.site import write_tree
from chronicle.figures.sheet import Sheet
from chronicle.model import Entry, EventKind, Note
from chronicle.pages import assets, pages
from chronicle.pages.gallery import Case, load_cases
from chronicle.workspace.folders import shipped_file

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
ABORTED = "net::ERR_ABORTED"  # the reader went on before the file was there
ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>\" onmouseover='alert(3)' {{ 7*7 }} *b*"


@dataclass
class Opened:
    """A page of the site in a browser, and what went wrong in it."""

    page: Page
    root: Path
    wrong: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Opens ``path`` (with a hash, if there is one) of the site and waits for its scripts."""
        file, _, anchor = path.partition("#")
        self.page.goto((self.root / file).as_uri() + (f"#{anchor}" if anchor else ""))
        self.page.wait_for_load_state("load")
        return self.page


def hostile() -> Entry:
    """A run whose every text tries to run as a script; its id is what a folder could be called."""
    entry: Entry = poisoned(ordinary(), ATTACK)
    return replace(entry, run_id="hostile-1f3a")


def reviewed(entry: Entry) -> Entry:
    """The run with a person's verdict, and with a finding that somebody disputes."""
    disputed = replace(
        entry.events[-1], id="review", kind=EventKind.REVIEW, title="Disputed", of=entry.events[0].id, mark=""
    )
    note = Note("It learned what it was to learn.", "2026-11-20", "review good", author="ada")
    return replace(entry, events=(*entry.events, replace(disputed, patterns=())), notes=(*entry.notes, note))


def public_cases() -> list[Case]:
    """The cases that are shipped: the navigation has their shelf."""
    return list(load_cases([shipped_file("gallery")]))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of 44 runs as the site engine makes it, with one that attacks its readers."""
    root = tmp_path_factory.mktemp("site")
    first, *rest = many(41)
    entries = [rollback(), healthy(), hostile(), reviewed(first), *rest]
    data, guide = (
        site(entries, unreadable=[(ATTACK, ATTACK)], unknown=[ATTACK], cases=public_cases()),
        shipped_file("docs"),
    )
    files = [(page.path, page.text) for page in pages(data)] + [*assets(data), *figures(entries)]
    files += [(f"guide/{path.relative_to(guide).as_posix()}", path) for path in guide.rglob("*.*")]
    write_tree(root / "build" / "docs", files)
    shutil.copyfile(shipped_file("mkdocs.yml"), root / "mkdocs.yml")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return root / "build" / "site"


def figures(entries: list[Entry]) -> Iterator[tuple[str, bytes]]:
    """An empty figure for every figure of every entry."""
    for entry in entries:
        folder = f"runs/{entry.run_id}/"
        yield folder + "entry.json", b"{}"
        yield folder + "series.csv.gz", b"step\n"
        for figure in entry.figures:
            for path, width, height in figure.files.values():
                yield folder + path, Sheet(width, height).svg()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A real Chromium. Without one these tests fail, for a site that nobody opened is not tested."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("no Chromium on PATH. Remedy: apt-get install chromium (make test does it where it may)")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Browser, built: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """A fresh page of 1360 x 900 (or what the test's parameter says) that notes every complaint."""
    wide = {"viewport": {"width": 1360, "height": 900}, "color_scheme": "light"}
    yield from opened_page(chromium, built, wide | getattr(request, "param", {}))


@cache
def screen(browser: Browser, options: str) -> list[Page]:
    """The pages of these options, as JSON, that no test has in use. Tests of one screen take turns with one:
    to open another is more work than most of them do with it."""
    return [browser.new_context(**json.loads(options)).new_page()]


def opened_page(browser: Browser, site: Path, options: dict[str, Any]) -> Iterator[Opened]:
    """A page as if it were fresh; when the test is over, nothing may have gone wrong.

    It goes back with nothing of the test in it, and only from a test that came to its end.
    """
    idle = screen(browser, json.dumps(options, sort_keys=True))
    page = idle.pop() if idle else browser.new_context(**options).new_page()
    result = Opened(page, site)
    heard = {
        "console": lambda m: m.type in ("error", "warning") and result.wrong.append(m.text),
        "pageerror": lambda e: result.wrong.append(str(e)),
        "dialog": lambda d: (result.wrong.append(f"dialog {d.message}"), d.dismiss()),
        "request": lambda r: _local(r.url) or result.wrong.append(f"request to {r.url}"),
        "requestfailed": lambda r: r.failure == ABORTED or result.wrong.append(f"failed {r.url}"),
    }
    for event, hear in heard.items():
        page.on(event, hear)
    yield result
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.goto("about:blank")
    page.emulate_media(media="null", color_scheme=options.get("color_scheme", "light"))
    for event, hear in heard.items():
        page.remove_listener(event, hear)
    assert result.wrong == []
    idle.append(page)


def _local(address: str) -> bool:
    return address.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:"))
