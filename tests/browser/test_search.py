"""Questions to the search, and the answer that must come first; an archive of 3,000 runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import Opened, opened_page
from tests.pages.samples import gallery, healthy, many, rollback, site

from chronicle.model import Entry, Note
from chronicle.pages import guide_js, search_js
from chronicle.workspace.folders import shipped_file

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en"><title>x</title><body><div class="md-header__inner"></div>
<script src="assets/search.js"></script></body></html>"""
READERS = {
    "My loss fell by 0.1 right after a resume, what now?": [
        "Be suspicious. A resume cannot improve a model.",
        "Check the learning rate: compare it with the earlier attempt at equal steps.",
        "Check the validation loss: does it fall too? If it continues as before, the samples are old",
        "Check the batches: compare ids or hashes of the first batches with those of the earlier attempt.",
        "Then go back to a checkpoint from before the first bad resume",
    ],
    "GPU fell off the bus at step 8 000, what do I check before I go on?": [
        "Which checkpoint is complete? It is not always the newest by name, but the newest whose parts",
        "Were there faults before that checkpoint? Memory errors in the hour before the crash may have",
        "Is the node out of the pool?",
        "Will the resume be exact? It needs the same number of ranks, the same data position and the",
        "After the resume, compare the first ten losses and learning rates with those that the previous",
    ],
}
ASKED = {  # in a reader's own words: the section of the page of questions
    "loss NaN at step 300 with fp16": "the-loss-is-nan-at-step-300-with-fp16",
    "validation goes up while training goes down": "the-validation-loss-rises-while-the-training-loss-falls",
    "loss flat at ln(vocab)": "the-loss-is-flat-at-lnvocab-and-does-not-move",
    "grad norm spikes before loss": "the-gradient-norm-spikes-before-the-loss",
    "loss spiked, roll back?": "my-loss-spiked-do-i-roll-back",
    "throughput halves after a node change": "throughput-halves-after-a-node-was-changed",
    "job hangs GPUs 100 %": "the-job-hangs-and-all-gpus-show-100",
    "resume with fewer GPUs": "can-i-resume-with-another-number-of-gpus",
    "reward rises and KL explodes": "the-reward-rises-and-the-kl-explodes",
    "two data sets spike together": "two-data-sets-spike-together",
    "loss drops by epochs in stairs": "the-loss-drops-in-stairs-one-at-each-epoch",
    "MoE router unbalanced": "the-router-of-a-mixture-of-experts-moe-is-unbalanced",
}
WORDS = {  # what else those two readers type
    "loss suddenly better after restart": "resuming.html#my-loss-fell-by-01-right-after-a-resume-what-now",
    "loss lower after resume": "resuming.html#my-loss-fell-by-01-right-after-a-resume-what-now",
    "xid 79": "hardware.html#nvidia-xid-what-to-do",
    "GPU lost node crashed what to check before resume": "hardware.html#"
    "gpu-fell-off-the-bus-at-step-8-000-what-do-i-check-before-i-go-on",
}
FIRST_OF_GUIDE = "async text => (await window.chronicleAsk(text)).find(doc => doc.kind === 'guide').href"
FIRST_RUN = "async text => (await window.chronicleAsk(text)).find(doc => doc.kind === 'run').href"
NOTE = Note("The gyroscope of node 7 was broken.", kind="lesson", author="Grace Hopper")
QUESTIONS = [
    ("demo-rollback", "demo-rollback"),  # an id
    ("run-2999-with-a-rather-long-name", "run-2999-with-a-rather-long-name"),
    ("rollback with a lower learning rate", "demo-rollback"),  # a title
    ("gyroscope", "noted"),  # a word of a note
    ("gyrosocpe brokn", "noted"),  # misspelled, and letters exchanged
    ("Grace Hopper", "noted"),  # who noted it
    ("Zeppelin", "noted"),  # a project
    ("22 308", "demo-rollback"),  # a step of an event
    ("lower rate rolback", "demo-rollback"),
    ("blow-up", "divergence-after-spike|divergence-no-spike|nan-inf|kl-blow-up"),  # what people call it
    ("blowup", "divergence-after-spike|divergence-no-spike|nan-inf|kl-blow-up"),
    ("exploded", "divergence-after-spike|divergence-no-spike|nan-inf"),
    ("NaN", "nan-inf"),
    ("divergance", "divergence-after-spike|divergence-no-spike"),
    ("grokking", "grokking"),
]


def archive() -> list[Entry]:
    noted = healthy("noted", notes=(NOTE,), about={"project": "Zeppelin"})
    return [*many(3000), rollback(), replace(noted, title="A plain run")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search")
    shutil.copytree(shipped_file("templates") / "assets", root / "assets")
    data = site(archive(), patterns=gallery())
    (root / "assets" / "search-runs.js").write_text(search_js(data), "utf-8")
    (root / "assets" / "search-guide.js").write_text(guide_js(data, shipped_file("docs")), "utf-8")
    (root / "index.html").write_text(PAGE, "utf-8")
    return root


@pytest.fixture
def opened(chromium: Browser, folder: Path) -> Iterator[Opened]:
    yield from opened_page(chromium, folder, {"viewport": {"width": 1280, "height": 800}})


@pytest.mark.slow
def test_the_answer_comes_first_and_runs_before_the_guide(opened: Opened) -> None:
    page, patterns = opened.go("index.html"), {e.run_id: e.diagnosis.patterns for e in archive()}
    for question, answer in QUESTIONS:
        first = page.evaluate(FIRST_RUN, question).split("/")[1]
        assert first == answer or set(patterns[first]) & set(answer.split("|")), (question, first)
        page.evaluate("document.querySelector('.ch-ask').click()")
        page.get_by_role("searchbox").fill(question)
        page.wait_for_function("/found$/.test(document.querySelector('dialog [role=status]').textContent)")
        assert page.locator(".ch-found h2").first.inner_text().startswith("Runs"), question
        page.keyboard.press("Escape")


@pytest.mark.slow
@pytest.mark.parametrize("question", READERS)
def test_a_reader_in_need_is_led_to_the_answer(chromium: Browser, built: Path, question: str) -> None:
    """By the search of the site as it is built, and the first thing that it finds."""
    for opened in opened_page(chromium, built, {"viewport": {"width": 1280, "height": 800}}):
        page = opened.go("index.html")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("searchbox").fill(question)
        page.get_by_text("1 found", exact=True).wait_for()
        page.keyboard.press("Enter")
        answer = page.locator("h2:target + p + ol > li")
        answer.last.wait_for()
        for item, sentence in zip(answer.all_inner_texts(), READERS[question], strict=True):
            assert " ".join(item.split()).startswith(sentence)


@pytest.mark.slow
def test_a_question_in_other_words_leads_to_its_section(opened: Opened) -> None:
    page = opened.go("index.html")
    for words, anchor in ASKED.items():
        assert page.evaluate(FIRST_OF_GUIDE, words) == f"guide/questions.html#{anchor}", words
    for words, place in WORDS.items():
        assert page.evaluate(FIRST_OF_GUIDE, words) == f"guide/{place}", words
    text = (shipped_file("docs") / "questions.md").read_text("utf-8")
    assert text.count("\n## ") == len(ASKED)


@pytest.mark.slow
def test_nothing_is_said_to_be_nothing(opened: Opened) -> None:
    page = opened.go("index.html")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("searchbox").fill("qqqqzzzzxxxx")
    page.get_by_text("Nothing matches. Try fewer words.").wait_for()
