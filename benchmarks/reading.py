"""How long does a reader wait at 3,000 runs? Browse until it responds, and the search until its first result.

    python -m benchmarks.reading [--runs 3000] [--write]

A Chromium opens the pages from disk, each time in a new context with an empty cache; the table gives the
median of five. Browse is ready when its cards and filters are shown; then a filter is ticked and words are
typed. A search first loads its scripts.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from benchmarks.page import of_runs
from chronicle.model import Fact
from chronicle.pages import guide_js, search_js
from chronicle.pages.gallery import load_gallery
from chronicle.pages.lists import entries_js
from chronicle.workspace.folders import shipped_file

TIMES = 5
HEAD = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="stylesheet" href="assets/chronicle.css">'
)
READY = """() => new Promise(done => {
  const isReady = () => document.querySelector('.ch-cards .ch-card');
  const look = () => isReady() ? done(performance.now()) : setTimeout(look, 1);
  look();
})"""
ACT = """([selector, words]) => new Promise(done => {
  const box = document.querySelector(selector), start = performance.now();
  if (words) { box.value = words; box.dispatchEvent(new Event('input')); } else box.click();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""
ASK = """async words => {
  const start = performance.now(), found = await window.chronicleAsk(words);
  if (!found.length) throw new Error('nothing found');
  return performance.now() - start;
}"""


def make(root: Path, runs: int) -> None:
    """Browse and the search of an archive of ``runs`` entries, each with facts as filters."""
    from tests.pages.samples import many, site  # the entries of the tests

    facts = [("model", "model-{}", 9), ("owner", "owner {}", 37), ("learning rate", "{}e-5", 400)]
    entries = [
        replace(entry, facts=tuple(Fact(name, form.format(i % n), "", "run.toml") for name, form, n in facts))
        for i, entry in enumerate(many(runs))
    ]
    data = site(entries, patterns=load_gallery([shipped_file("gallery")]))
    shutil.copytree(shipped_file("templates") / "assets", root / "assets")
    scripts = {"entries": entries_js(data), "search-runs": search_js(data)}
    for name, text in {**scripts, "search-guide": guide_js(data, shipped_file("docs"))}.items():
        (root / "assets" / f"{name}.js").write_text(text, "utf-8")
    body = (shipped_file("templates") / "browse.md.j2").read_text("utf-8").split("# Browse the runs\n")[1]
    body = body.replace('{% include "list.md.j2" %}', "")
    search = '<div class="md-header__inner"></div><script src="assets/search.js"></script>'
    (root / "browse.html").write_text(f'{HEAD}<body class="md-typeset">{body}{search}</body></html>', "utf-8")


def waits(page: Page) -> list[float]:
    """Milliseconds of each measured action, on a page that was just opened."""
    ready = page.evaluate(READY)
    filters = [".ch-facets input", ""], ["#browse input[type=search]", "run 12"]
    acted = [page.evaluate(ACT, one) for one in filters]
    asked = [page.evaluate(ASK, words) for words in ("divergence", "rollback lower rate", "divergance")]
    return [ready, *acted, *asked]


def measure(runs: int, root: Path) -> list[tuple[str, str, str]]:
    make(root, runs)
    taken = []
    with sync_playwright() as play:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(TIMES):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page = context.new_page()
            page.goto((root / "browse.html").as_uri(), wait_until="commit")
            taken.append(waits(page))
            context.close()
        browser.close()
    named = [
        ("Browse: cards and filters are there", "≤ 0.5 s"),
        ("Browse: a filter is ticked", ""),
        ("Browse: words are typed", ""),
        ("search: first result, its scripts loaded for it", "≤ 0.5 s"),
        ("search: another question", ""),
        ("search: a misspelled one", ""),
    ]
    middle = [median(times) / 1000 for times in zip(*taken, strict=True)]
    return [(name, f"{s:.2f} s", goal) for (name, goal), s in zip(named, middle, strict=True)]


if __name__ == "__main__":
    of_runs("reading", __doc__, measure)
