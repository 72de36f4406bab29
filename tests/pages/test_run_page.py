"""A run's page: the whole text of a small one, and what it says where something is missing."""

# ruff: noqa: E501 (the expected pages are written out as they are)

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.pages.samples import DIP, EVENTS, LOST, SPIKE, healthy, rollback, site, small

from chronicle.model import Criterion, Entry, EventKind, Fact, NotAssessed, Verdict
from chronicle.pages import pages
from chronicle.pages.gallery import Cause
from chronicle.story.signs import Sign

ROLLBACK = """\
---
title: "A rollback with a lower learning rate"
description: "The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897."
hide: [navigation]
---
<p class="ch-crumb"><a href="../../browse.html">Runs</a> / <a href="../../browse.html#project=Atlas">Atlas</a> / <code>demo-rollback</code></p>

<div markdown="1">

# A rollback with a lower learning rate { #run }

</div>

<div class="ch-tags"><span class="ch-verdict big" data-v="bad">bad</span>
<a class="ch-tag" href="../../patterns/spike-fast-recovery.html">Fast-recovering spike</a>
<a class="ch-tag" href="../../patterns/spike-no-full-recovery.html">Spike, not fully recovered</a>
</div>
<p class="ch-lead wide">The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897.</p>

<section>
<figure class="ch-fig">
<picture class="ch-light"><source media="(max-width: 767px)" srcset="whole-narrow.svg#only-light" width="344" height="260"><img src="whole-wide.svg#only-light" width="900" height="300" class="ch-flat" style="--h: 300px" alt="Loss over 100 thousand steps" decoding="async"></picture>
<picture class="ch-dark"><source media="(max-width: 767px)" srcset="whole-narrow.svg#only-dark" width="344" height="260"><img src="whole-wide.svg#only-dark" width="900" height="300" class="ch-flat" style="--h: 300px" alt="Loss over 100 thousand steps" loading="lazy" decoding="async"></picture>
<figcaption>train/loss, whole run.</figcaption>
</figure>

<p class="ch-small"><a href="../../assets/view.html#run=demo-rollback">Interactive view</a>: zoom, other axes, values under the pointer.</p>
<ol class="ch-key">
<li><span class="ch-n" data-v="good">1</span><span><a href="#rise-a1-22000">Fast-recovering spike</a> 2.52 → 3.88 nats/token at step 22\u202f308</span></li>
<li><span class="ch-n" data-v="bad">2</span><span><a href="#rise-a1-59000">Spike, not fully recovered</a> 2.26 → 4.17 nats/token at step 58\u202f897</span></li>
<li><span class="ch-n join">A</span><span><a href="#rollback-a2">Rollback</a> from step 61\u202f400 to step 56\u202f000</span></li>
</ol>
</section>

## What happened { #story }

<section>
<p>The verdict is bad because of “Spike, not fully recovered” at step 58\u202f897.</p>
<p><strong>What to do now</strong>, from the page on <a href="../../patterns/spike-no-full-recovery.html">Spike, not fully recovered</a>:</p>
<ol class="ch-steps">
<li>Roll back to before it.</li>
</ol>
</section>

## Events { #events }

<section>
<ol class="ch-log">
<li id="launch"><span class="ch-n dot" data-kind="launch"></span><div>
<h3>Launch</h3>
<p>The log begins at step 0.</p>
</div></li>
<li id="rise-a1-22000"><span class="ch-n" data-v="good">1</span><div>
<h3>Fast-recovering spike</h3>
<p>The loss jumped from 2.52 to 3.88 nats/token at step 22\u202f308 and was back after 94 steps.</p>
</div></li>
<li id="rise-a1-59000"><span class="ch-n" data-v="bad">2</span><div><span id="rise-a1-58000"></span>
<p class="ch-when">2026-11-18 19:02Z, 10 h after the start</p>
<h3>Spike, not fully recovered</h3>
<p>The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.</p>
<p class="ch-small">It came 94 steps after the fast-recovering spike.</p>
<p class="ch-aside" id="note-202611182241"><b>Decision</b>, ada, <time>2026-11-18 22:41+01:00</time><br>Back to 56 000.<br>Not 58 500.</p>
<figure class="ch-fig">
<picture class="ch-light"><source media="(max-width: 767px)" srcset="finding-2-narrow.svg#only-light" width="344" height="260"><img src="finding-2-wide.svg#only-light" width="900" height="300" class="ch-flat" style="--h: 300px" alt="The spike at step 58\u202f897" decoding="async"></picture>
<picture class="ch-dark"><source media="(max-width: 767px)" srcset="finding-2-narrow.svg#only-dark" width="344" height="260"><img src="finding-2-wide.svg#only-dark" width="900" height="300" class="ch-flat" style="--h: 300px" alt="The spike at step 58\u202f897" loading="lazy" decoding="async"></picture>
<figcaption>Same steps on every panel.</figcaption>
</figure>

</div></li>
<li id="rollback-a2"><span class="ch-n join">A</span><div>
<h3>Rollback</h3>
<p>The run went back from step 61\u202f400 to step 56\u202f000 and 5\u202f400 steps were discarded.</p>
</div></li>
<li id="end"><span class="ch-n dot" data-kind="end"></span><div>
<h3>End</h3>
<p>The log ends at step 100\u202f000.</p>
</div></li>
</ol>
</section>

## Facts

<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Quantity</th><th class="num">Value</th><th>Unit</th><th>How obtained</th></tr></thead><tbody>
<tr><th scope="row">Points logged</th><td class="num">106\u202f080</td><td data-k="unit">points</td><td class="ch-no">counted</td></tr>
<tr><th scope="row">Lowest train/loss</th><td class="num">2.14</td><td data-k="unit"></td><td class="ch-no">at step 99\u202f000</td></tr>
<tr><th scope="row">Tokens</th><td class="num ch-no">not logged</td><td data-k="unit"></td><td class="ch-no"></td></tr>
</tbody></table></div>
<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Attempt</th><th class="num">Steps</th><th>Started</th><th>What became of it</th></tr></thead><tbody>
<tr><th scope="row" title="attempt-1.jsonl">1 · attempt-1.jsonl</th><td class="num" data-k="steps">0 – 61\u202f400</td><td class="ch-time ch-no" data-k="started">not logged</td><td></td></tr>
<tr><th scope="row" title="attempt-2.jsonl">2 · attempt-2.jsonl</th><td class="num" data-k="steps">56\u202f000 – 100\u202f000</td><td class="ch-time ch-no" data-k="started">not logged</td><td></td></tr>
</tbody></table></div>
<details class="ch-fold"><summary>1 restart in detail</summary><div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Join</th><th>Attempts</th><th>What changed</th><th>Discarded</th><th>Evidence</th></tr></thead><tbody>
<tr><th scope="row">A · rollback 61\u202f400 → 56\u202f000</th><td data-k="attempts">1 → 2, after 7.5 h</td><td data-k="changed">the learning rate fell from 0.0001 to 7.5 × 10⁻⁵ · the seed changed from 1 to 2</td><td data-k="discarded">5\u202f400 steps</td><td data-k="evidence">it restarted 2\u202f897 steps before the spike began</td></tr>
</tbody></table></div></details>
<details class="ch-fold"><summary>1 metric</summary><div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Metric</th><th>What it is</th><th>Unit</th><th class="num">Points</th><th class="num">Steps</th></tr></thead><tbody>
<tr><th scope="row">train/loss</th><td>training loss</td><td data-k="unit">nats/token</td><td class="num" data-k="points">106\u202f080</td><td class="num" data-k="steps">0 – 100\u202f000</td></tr>
</tbody></table></div>
</details>

## What the logs leave open

<ul class="ch-doubts">
<li>attempt-2.jsonl: the last record is cut</li>
</ul>

## Evidence { #evidence }

<section>
<details class="ch-fold"><summary>2 · Spike, not fully recovered: why it has this name</summary>
<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Criterion</th><th class="num">Value</th><th class="num">Threshold</th><th>Met</th></tr></thead><tbody>
<tr><th scope="row">Rise above the extrapolated trend</th><td class="num" data-k="value">1.91 nats</td><td class="num" data-k="threshold">≥ 6 scales</td><td><span class="ch-pass">met</span></td></tr>
<tr><th scope="row">Back at the trend for 100 steps</th><td class="num" data-k="value">never</td><td class="num" data-k="threshold">≤ 2 000 steps</td><td><span class="ch-fail">not met</span></td></tr>
<tr><th scope="row">Validation loss agrees</th><td class="num" data-k="value">not logged</td><td class="num" data-k="threshold">≤ 2 scales</td><td><span class="ch-open">not assessed</span></td></tr>
</tbody></table></div>
<p><strong>Otherwise:</strong> Divergence after a spike if the loss went on rising for 400 steps more</p>
</details>
<details class="ch-fold"><summary>1 pattern not assessed, by what was not logged</summary>
<ul class="ch-needs">
<li><strong>Gradient norm:</strong> Gradient norm leads</li>
</ul>
</details>
</section>

## What it cost

<div class="ch-wrap"><table class="ch-table stack"><tbody>
<tr><th scope="row">Steps discarded</th><td class="num">5\u202f400</td><td class="ch-no">of 106\u202f080 trained, sum over joins</td></tr>
</tbody></table></div>

## Likely causes

<section>
<h3>2 · <a href="../../patterns/spike-no-full-recovery.html">Spike, not fully recovered</a></h3>
<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Cause</th><th>In general</th><th>How to tell</th></tr></thead><tbody>
<tr><th scope="row">A bad batch</th><td><span class="ch-ev guess">guess</span></td><td>Look at the batches before it.</td></tr>
</tbody></table></div>
</section>

## Cite and data

<div class="ch-wrap"><table class="ch-table stack"><tbody>
<tr><th scope="row">Permalink</th><td><code>runs/demo-rollback/index.html</code></td></tr>
<tr><th scope="row">Citation</th><td>chronicle, “A rollback with a lower learning rate”, run <code>demo-rollback</code></td></tr>
<tr><th scope="row">Data</th><td><a href="series.csv.gz">series.csv.gz</a> · <a href="entry.json">entry.json</a></td></tr>
<tr><th scope="row">Source</th><td><a href="https://example.org/log" rel="noopener noreferrer">https://example.org/log</a></td></tr>
<tr><th scope="row">Licence</th><td>CC0-1.0</td></tr>
<tr><th scope="row">Judged by</th><td>classifier 1</td></tr>
</tbody></table></div>
<script src="../../assets/run.js" defer></script>
"""


def page_of(entry: Entry, *others: Entry) -> str:
    """The page of one run among others."""
    made = {page.path: page.text for page in pages(small(entry, *others))}
    return made[f"runs/{entry.run_id}/index.md"]


def section(page: str, title: str) -> str:
    """What stands under a heading."""
    return page.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]


def test_the_page_of_a_run_with_a_rollback_in_full() -> None:
    assert page_of(rollback(), healthy()) == ROLLBACK


def test_a_calm_run_has_no_empty_sections() -> None:
    page = page_of(healthy())
    titles = [line[3:].split(" {")[0] for line in page.splitlines() if line.startswith("## ")]
    assert titles == ["What happened", "Events", "Facts", "Evidence", "Cite and data"]
    assert "ch-say" not in page and "ch-aside" not in page


def test_a_doubt_is_told_once_and_what_to_write_is_code() -> None:
    doubt = 'a.log#1 and a.log#2 end at the same step. `relation = "attempts"` makes them one training.'
    coded = "a.log&#35;1 and a.log&#35;2 end at the same step. <code>relation = &#34;attempts&#34;</code> makes them one training."
    page = page_of(healthy(warnings=(doubt, "a.log: the last record is cut"), story=(doubt,)))
    assert f"<p>{coded}</p>" in section(page, "What happened") and page.count("one training.") == 1
    assert "<li>a.log: the last record is cut</li>" in section(page, "What the logs leave open")
    page = page_of(healthy(warnings=(doubt,), story=(doubt,)))
    assert "What the logs leave open" not in page
    assert f"<li>{coded}</li>" in section(page_of(healthy(warnings=(doubt,))), "What the logs leave open")


def test_findings_keep_their_numbers_and_the_gravest_comes_first() -> None:
    both = replace(rollback().diagnosis, findings=(replace(DIP, criteria=SPIKE.criteria), SPIKE))
    why = section(page_of(replace(rollback(), diagnosis=both)), "Evidence")
    assert re.findall("<summary>(.*): why", why) == [
        "2 · Spike, not fully recovered",
        "1 · Fast-recovering spike",
    ]


def test_a_note_that_speaks_of_no_event_is_an_event() -> None:
    *events, note, end = EVENTS
    page = page_of(replace(rollback(), events=(*events, replace(note, of="", kind=EventKind.NOTE), end)))
    events_shown = section(page, "Events")
    assert '<li id="note-202611182241"><span class="ch-n dot" data-kind="note"></span>' in events_shown
    assert "ch-aside" not in events_shown


def test_a_finding_on_a_discarded_branch_says_so() -> None:
    events = tuple(replace(e, live=e.mark != "2") for e in EVENTS)
    events_shown = section(page_of(replace(rollback(), events=events)), "Events")
    assert '<li id="rise-a1-59000" class="dead">' in events_shown
    assert '<h3>Spike, not fully recovered <span class="ch-no">discarded</span></h3>' in events_shown


def test_a_run_that_nobody_can_judge_has_a_badge_of_its_own() -> None:
    page = page_of(healthy(verdict=Verdict.UNEXPECTED, badge="cannot tell"))
    assert '<span class="ch-verdict big" data-v="cannot tell">cannot tell</span>' in page


def test_what_was_not_logged_is_grouped_by_what_is_missing() -> None:
    missing = (
        NotAssessed("grad-norm-precursor", ("grad-norm",)),
        NotAssessed("resume-spike", ("attempts",)),
        NotAssessed("lr-not-restored", ("learning-rate", "attempts")),
        NotAssessed("repeat-data", ("attempts",)),
    )
    entry = replace(rollback(), diagnosis=replace(rollback().diagnosis, not_assessed=missing))
    section_shown = section(page_of(entry), "Evidence").split("by what was not logged</summary>")[1]
    assert re.findall("<li>(.*)</li>", section_shown) == [
        "<strong>A second attempt:</strong> Resume spike, Learning rate not restored (also learning rate), "
        "Repeated data after a resume",
        "<strong>Gradient norm:</strong> Gradient norm leads",
    ]


def test_what_speaks_for_a_cause_and_against_it_is_said_in_words() -> None:
    cause = Cause("A restart", "guess", "", (Sign.RESUMED, Sign.GRADIENT_LED, Sign.RATE_ROSE))
    signs = {Sign.RESUMED.value: True, Sign.GRADIENT_LED.value: False}
    events = tuple(replace(event, signs=signs) for event in EVENTS)
    shown = site([replace(rollback(), events=events)], patterns=(replace(LOST, causes=(cause,)),))
    (page,) = (page.text or "" for page in pages(shown) if page.path == "runs/demo-rollback/index.md")
    (cell,) = re.findall('data-k="in this run">(.*?)</td>', page)
    assert re.sub("<.*?>", "", cell) == (
        "speaks for it: it begins at a restart. speaks against it: the gradient norm did not lead. "
        "not logged: learning rate."
    )


def test_marks_of_criteria_have_a_word_each() -> None:
    page = page_of(rollback())
    for mark, word in [("pass", "met"), ("fail", "not met"), ("open", "not assessed")]:
        assert f'<span class="ch-{mark}">{word}</span>' in page


def test_evidence_is_in_the_unit_that_the_log_counts() -> None:
    criteria = (Criterion("recovery", 326.0, "steps", "<= 150 steps", False),)
    diagnosis = replace(rollback().diagnosis, findings=(replace(SPIKE, criteria=criteria), DIP))
    attempts = tuple({**row, "axis": "epoch"} for row in rollback().attempts)
    page = page_of(replace(rollback(), diagnosis=diagnosis, attempts=attempts))
    assert ">326 epochs<" in page and ">≤ 150 epochs<" in page
    assert "if the loss went on rising for 400 epochs more" in page


@pytest.mark.slow
def test_many_findings_do_not_make_an_endless_page() -> None:
    criteria = tuple(Criterion(f"test {i}", 1.0, "", ">= 0", True) for i in range(9))
    findings = tuple(replace(SPIKE, id=f"rise@{i}", criteria=criteria) for i in range(500))
    lead = EVENTS[2]
    events = tuple(
        replace(lead, id=f"rise-a1-{i}", mark=str(i), parts=(f"rise@{i}",), also=()) for i in range(500)
    )
    diagnosis = replace(rollback().diagnosis, findings=findings)
    page = page_of(replace(rollback(), diagnosis=diagnosis, events=events))
    assert re.findall("(\\d+) more are in", page) == ["476", "460"]
    assert len(page.encode()) < 80_000


def test_what_decides_and_the_end_are_on_the_page_however_much_came_before() -> None:
    """The 57th event of a run decided its verdict, and links of the chronicle to it and to its end led nowhere."""
    entry, lead = rollback(), EVENTS[2]
    dips = tuple(
        replace(lead, id=f"rise-a1-{i}", mark=str(i), verdict=Verdict.GOOD, severity=0.1, also=())
        for i in range(60)
    )
    grave = replace(lead, id="rise-a1-900", mark="61", also=())
    end = replace(lead, id="end", kind=EventKind.END, title="End", mark="", patterns=(), also=())
    page = page_of(replace(entry, events=(*dips, grave, end)))
    listed = re.findall('<li id="([^"]+)"', page)
    assert listed[-2:] == ["rise-a1-900", "end"] and len(listed) == 40
    assert all(f'id="{event.id}"' in page for event in dips)


def test_a_page_of_everything_in_masses_says_what_it_leaves_out() -> None:
    entry = rollback()
    note = replace(EVENTS[4], sentence="a long note\n" * 1000, of="")
    masses = {
        "facts": entry.facts[:1] * 101,
        "attempts": entry.attempts[:1] * 102,
        "metrics": entry.metrics * 103,
        "warnings": entry.warnings * 104,
        "events": tuple(replace(note, id=f"note-{i}") for i in range(105)),
    }
    page = page_of(replace(entry, **masses))
    assert re.findall("(\\d+) more are in", page) == ["65", "41", "42", "43", "44"]
    assert "… (10799 more characters)" in page
    assert len(page.encode()) < 110_000


def test_configured_values_are_folded_away() -> None:
    facts = (Fact("Job", "4711", "", "a"), Fact("config/lr", 0.0006, "", "a"), Fact("config/x", 1, "", "a"))
    page = page_of(replace(rollback(), facts=facts))
    before, fold = page.split("<summary>2 configured values</summary>")
    assert '<th scope="row">Job</th><td class="num">4711</td>' in before
    assert '<th scope="row">lr</th><td class="num">0.0006</td>' in fold.split("</details>")[0]
    assert "configured value" not in page_of(rollback())


@pytest.mark.slow
def test_where_the_data_come_from_is_said() -> None:
    for about, said in [
        ({"data": "digitised picture"}, "Digitised from a published picture"),
        ({"data": "synthetic"}, "Illustration. A generator made this run"),
        ({"data": "tiny training"}, "A real training of a tiny model"),
        ({"data": "log", "quote": "It spiked."}, "“It spiked.”"),
    ]:
        assert said in page_of(healthy(about=about))
    assert "ch-note" not in page_of(healthy(about={}))


def test_a_run_without_figures_has_a_page() -> None:
    page = page_of(replace(rollback(), figures=()))
    assert "<figure" not in page
    assert "ch-key" in page


def test_the_same_in_other_runs_says_what_was_done_and_how_it_ended() -> None:
    other = replace(rollback(), run_id="other", title="The other one")
    precedents = section(page_of(rollback(), other, healthy()), "The same in other runs")
    assert "demo-rollback" not in precedents
    assert (
        '<a href="../../runs/other/index.html&#35;rise-a1-59000">The other one</a> The loss jumped'
        in precedents
    )
    assert "<b>Decision</b>, ada<br>Back to 56 000.<br>Not 58 500." in precedents
    assert (
        "Then: The run went back from step 61\u202f400 to step 56\u202f000 and 5\u202f400 steps were discarded."
        in precedents
    )


@pytest.mark.slow
def test_the_verdict_of_a_page_is_the_entrys() -> None:
    for verdict in Verdict:
        page = page_of(healthy(verdict=verdict, badge=verdict.value))
        assert f'<span class="ch-verdict big" data-v="{verdict}">' in page


def test_an_event_of_several_patterns_is_named_and_advised_by_the_one_that_says_most() -> None:
    """Three labels contradicted each other, and the advice was that of the rise, not of its cause."""
    both = "spike-no-full-recovery", "loss-scale-collapse", "divergence-no-spike"
    event = replace(EVENTS[2], patterns=both)
    entry = replace(rollback(), events=(event,))
    entry = replace(entry, diagnosis=replace(entry.diagnosis, patterns=tuple(sorted(both))))
    scale = replace(LOST, id="loss-scale-collapse", title="Loss-scale collapse", now=("Use bf16.",))
    (text,) = (
        page.text
        for page in pages(replace(small(entry), patterns=(LOST, scale)))
        if page.path == "runs/demo-rollback/index.md"
    )
    tags = text[text.index('<div class="ch-tags">') : text.index('<p class="ch-lead')]
    assert re.findall(r"(?<=>)[A-Z][^<]+(?=</(?:a|span)>)", tags) == [
        "Loss-scale collapse",
        "Spike, not fully recovered",
    ]
    assert "<li>Use bf16.</li>" in section(text, "What happened")
    assert "Roll back to before it." not in section(text, "What happened")


def test_a_page_writes_thousands_alike_and_gives_a_reason_once() -> None:
    """A description said "7,000" beside "7 005", and one reason stood under eight events."""
    why = "It does not count against the run (no other loss rose with it)."
    events = tuple(replace(EVENTS[2], id=f"rise-{k}", sentence=f"It rose. {why}") for k in range(3))
    about = {**rollback().about, "description": "At step 7,000 of 1,250,000, with lr 1,5 and 12,34."}
    page = page_of(replace(rollback(), events=events, about=about))
    assert "At step 7\u202f000 of 1\u202f250\u202f000, with lr 1,5 and 12,34." in page
    assert (page.count(why), page.count("It does not count either.")) == (1, 2)


def test_what_several_metrics_show_has_one_table() -> None:
    """Five data sets that rose together had the same table five times."""
    entry = rollback()
    ids = [f"{SPIKE.id}/{name}" for name in ("web", "code")]
    others = [
        replace(SPIKE, metric=f"loss/{n}", id=i, severity=0.9)
        for n, i in zip(("web", "code"), ids, strict=True)
    ]
    findings = (*entry.diagnosis.findings, *others)
    events = [replace(e, parts=(*e.parts, *ids)) if SPIKE.id in e.parts else e for e in entry.events]
    several = replace(entry, events=events, diagnosis=replace(entry.diagnosis, findings=findings))
    text = page_of(several)
    assert text.count("Rise above the extrapolated trend") == 1
    assert "<h4>Spike, not fully recovered, train/loss</h4>" in text
    assert "The same in loss/web, loss/code; " in text
