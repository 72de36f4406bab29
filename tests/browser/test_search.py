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
from tests.story.told_specimens import specimen

from chronicle.model import Entry, Note
from chronicle.pages import guide_js, search_js
from chronicle.pages.gallery import SiteData, load_cases
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
    "GPU fell off the bus at step 8,000, what do I check before I go on?": [
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
    "gpu-fell-off-the-bus-at-step-8000-what-do-i-check-before-i-go-on",
}
FIRST_OF_GUIDE = "async text => (await window.chronicleAsk(text)).find(doc => doc.kind === 'guide').href"
FIRST_RUN = "async text => (await window.chronicleAsk(text)).find(doc => doc.kind === 'run').href"
REAL_RUNS = (  # runs of the gallery: those that answer a question, and those that share its words
    *("algoperf-wmt-slow-spike", "bloom-176B-success", "lab-batch-ramp", "lab-loss-scale", "lab-lost-nodes"),
    *(
        "lab-lr-too-high",
        "lab-nan",
        "lab-optimizer-lost",
        "lab-overfitting",
        "lab-ratio-skew",
        "lab-reward-hacked",
    ),
    *("lab-router-collapse", "lab-schedule-lost", "lab-schedule-too-short", "lab-slow-node", "lab-stale-log"),
    *("lab-stalled-loader", "lab-z-loss-of-the-wrong-sign", "104B-glitch-1"),
)
TYPED = {  # a run, a pattern and a place of the guide, each among the first three of its kind
    "validation goes up": (
        "lab-overfitting",
        "overfitting",
        "guide/questions.html#the-validation-loss-rises",
    ),
    "optimizer state not restored": ("lab-optimizer-lost", "resume-spike", "patterns/resume-spike.html"),
    "slow training": ("lab-slow-node", "throughput-drop", "patterns/throughput-drop.html"),
    "node died": ("lab-lost-nodes", "", "guide/hardware.html"),
    "GPU lost": ("lab-lost-nodes", "", "guide/hardware.html#gpu-fell-off-the-bus"),
    "Xid 79": ("lab-lost-nodes", "", "guide/hardware.html#nvidia-xid-what-to-do"),
    "GPU memory error": ("lab-lost-nodes", "", "guide/hardware.html"),
    "Lightning": ("", "", "guide/logging.html#by-framework"),
    "muon": ("", "", "cases/marin-32b.html"),
    "qk-clip": ("", "attention-logit-growth", "patterns/attention-logit-growth.html"),
    "step 31216": ("bloom-176B-success", "", ""),
    "31 216": ("bloom-176B-success", "", ""),
    "learning rate warmup": (
        "lab-schedule-lost",
        "lr-not-restored",
        "guide/beyond-the-loss.html#warm-up-and-cooldown",
    ),
    "how do I add a run": ("", "", "guide/commands.html#add"),
    "compare two runs": (
        "",
        "",
        "guide/commands.html#compare|guide/classifier-course.html|patterns/near-perfect.html",
    ),
    "loss spike after resume": ("lab-optimizer-lost", "resume-spike", "patterns/resume-spike.html"),
    "nan": ("lab-nan", "nan-inf", "patterns/nan-inf.html"),
    "BLOOM spike": ("bloom-176B-success", "", "cases/bloom-176b.html"),
    "fp16 overflow": ("lab-loss-scale", "loss-scale-collapse", "guide/questions.html#the-loss-is-nan"),
    "learning rate too high": ("lab-lr-too-high", "divergence-no-spike", ""),
    "grad norm explodes": ("", "grad-norm-precursor", "patterns/grad-norm-precursor.html"),
    "tokens per second": ("lab-slow-node", "throughput-drop", ""),
    "batch size": ("lab-batch-ramp", "batch-ramp", "patterns/batch-ramp.html"),
    "z-loss": ("lab-z-loss-of-the-wrong-sign", "output-logit-drift", "patterns/output-logit-drift.html"),
    "MoE load balance": ("lab-router-collapse", "router-collapse", "guide/questions.html#the-router"),
    "rewards hacking": ("lab-reward-hacked", "reward-hacking", "patterns/reward-hacking.html"),
    "job hangs": ("lab-stalled-loader", "hang", "guide/questions.html#the-job-hangs"),
    "preempted": ("lab-lost-nodes", "", "guide/formats/machine-log.html"),
    "loss does not go down": ("", "failed-run", ""),
    "wandb": ("", "", "guide/formats/wandb.html"),
    "divergance": ("lab-lr-too-high", "divergence-no-spike", "patterns/divergence-no-spike.html"),
    "halving the loss scale": ("lab-loss-scale", "loss-scale-collapse", "patterns/loss-scale-collapse.html"),
}
FIRST_THREE = """async text => { const docs = await window.chronicleAsk(text);
  return ["run", "pattern", "guide"].map(
    kind => docs.filter(doc => doc.kind === kind).slice(0, 3).map(doc => doc.href)); }"""
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
    return written(tmp_path_factory.mktemp("search"), site(archive(), patterns=gallery()))


@pytest.fixture(scope="module")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The search of real runs, with the gallery, its cases and the guide."""
    root = tmp_path_factory.mktemp("real-runs")
    cases = load_cases([shipped_file("gallery")])
    return written(root, site([specimen(name).entry for name in REAL_RUNS], patterns=gallery(), cases=cases))


def written(root: Path, data: SiteData) -> Path:
    shutil.copytree(shipped_file("templates") / "assets", root / "assets")
    (root / "assets" / "search-runs.js").write_text(search_js(data), "utf-8")
    (root / "assets" / "search-guide.js").write_text(guide_js(data, shipped_file("docs")), "utf-8")
    (root / "index.html").write_text(PAGE, "utf-8")
    return root


@pytest.fixture
def opened(chromium: Browser, folder: Path) -> Iterator[Opened]:
    yield from opened_page(chromium, folder, {"viewport": {"width": 1280, "height": 800}})


@pytest.mark.slow
def test_the_answer_comes_first_and_a_run_that_has_it_before_the_guide(opened: Opened) -> None:
    page, patterns = opened.go("index.html"), {e.run_id: e.diagnosis.patterns for e in archive()}
    for question, answer in QUESTIONS:
        first = page.evaluate(FIRST_RUN, question).split("/")[1]
        assert first == answer or set(patterns[first]) & set(answer.split("|")), (question, first)
        page.evaluate("document.querySelector('.ch-ask').click()")
        page.get_by_role("searchbox").fill(question)
        page.wait_for_function("/found$/.test(document.querySelector('dialog [role=status]').textContent)")
        assert page.locator(".ch-found h2").first.inner_text().startswith(("Runs", "Patterns")), question
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_what_teams_type_finds_the_run_the_pattern_and_the_place_in_the_guide(
    chromium: Browser, real_runs: Path
) -> None:
    for opened in opened_page(chromium, real_runs, {"viewport": {"width": 1280, "height": 800}}):
        page = opened.go("index.html")
        for question, (run, pattern, place) in TYPED.items():
            runs, patterns, places = page.evaluate(FIRST_THREE, question)
            assert not run or f"runs/{run}/index.html" in runs, (question, runs)
            assert not pattern or f"patterns/{pattern}.html" in patterns, (question, patterns)
            wanted = tuple(place.split("|"))
            assert not place or any(found.startswith(wanted) for found in places), (question, places)


@pytest.mark.slow
def test_a_match_of_every_word_hides_no_better_one(chromium: Browser, real_runs: Path) -> None:
    """One run has both words by chance; those whose titles or patterns have the rare one are there too."""
    for opened in opened_page(chromium, real_runs, {"viewport": {"width": 1280, "height": 800}}):
        runs = opened.go("index.html").evaluate(FIRST_THREE, "slow training")[0]
        assert runs == ["runs/lab-slow-node/index.html", "runs/algoperf-wmt-slow-spike/index.html", *runs[2:]]


@pytest.mark.slow
@pytest.mark.parametrize("question", READERS)
def test_a_reader_in_need_is_led_to_the_answer(chromium: Browser, built: Path, question: str) -> None:
    """By the search of the site as it is built, and the first thing that it finds."""
    for opened in opened_page(chromium, built, {"viewport": {"width": 1280, "height": 800}}):
        page = opened.go("index.html")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("searchbox").fill(question)
        page.locator(".ch-found a").first.wait_for()
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
