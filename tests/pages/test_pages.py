"""Home, Browse, patterns and unreadable logs: the whole text of small ones, and their rules."""

# ruff: noqa: E501 (the expected pages are written out as they are)

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from tests.pages.samples import FAST, LOST, gallery, healthy, many, rollback, site, small

from chronicle.classify.patterns import PATTERNS
from chronicle.model import Entry, Verdict
from chronicle.pages import assets, pages
from chronicle.pages.gallery import SiteData
from chronicle.pages.lists import LISTED_ROWS, browse
from chronicle.pages.words import renderer

HOME = """\
---
title: "chronicle"
hide: [navigation, toc]
---
<div class="ch-hero">
<div>
<h1>Learn to read a training curve</h1>
<p class="ch-lead">What happened in 2 training runs: every spike, divergence, restart and surprise, named, drawn and kept.</p>
<ul class="ch-tally">
<li><a href="browse.html#verdict=good"><b>1</b> <span class="ch-verdict" data-v="good">good</span></a></li>
<li><a href="browse.html#verdict=bad"><b>1</b> <span class="ch-verdict" data-v="bad">bad</span></a></li>
</ul>
<p class="ch-small"><a href="unreadable.html">1 log could not be read</a></p>
</div>
<a class="ch-poster" href="runs/demo-rollback/index.html" aria-label="A rollback with a lower learning rate: the page of the run"><figure class="ch-fig">
<picture class="ch-light"><source media="(max-width: 767px)" srcset="runs/demo-rollback/whole-narrow.svg#only-light" width="344" height="260"><img src="runs/demo-rollback/whole-wide.svg#only-light" width="900" height="300" class="ch-flat" style="--h: 300px" alt="Loss over 100 thousand steps" decoding="async"></picture>
<picture class="ch-dark"><source media="(max-width: 767px)" srcset="runs/demo-rollback/whole-narrow.svg#only-dark" width="344" height="260"><img src="runs/demo-rollback/whole-wide.svg#only-dark" width="900" height="300" class="ch-flat" style="--h: 300px" alt="Loss over 100 thousand steps" loading="lazy" decoding="async"></picture>
<figcaption>train/loss, whole run.</figcaption>
</figure>
<span class="ch-small">A rollback with a lower learning rate. The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897.</span></a>
</div>

## Needs attention { #attention }

<p>Nothing: every run that is bad or worrying has a decision or a review.</p>

## The week up to 18 November 2026 { #news }

<p class="ch-small" role="status" id="new"></p>
<ol class="ch-log timed">
<li class="said" data-time="2026-11-18T22:41+01:00"><span class="ch-when">2026-11-18</span><span class="ch-n dot" data-kind="decision"></span><div><p><a href="runs/demo-rollback/index.html&#35;note-202611182241">Decision</a> Back to 56 000.<br>Not 58 500.</p><p class="ch-when">A rollback with a lower learning rate · ada</p></div></li>
<li data-time="2026-11-18T19:02:00Z"><span class="ch-when">2026-11-18</span><span class="ch-n" data-v="bad">2</span><div><p><a href="runs/demo-rollback/index.html&#35;rise-a1-59000">Spike, not fully recovered</a> The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.</p><p class="ch-when">A rollback with a lower learning rate</p></div></li>
</ol>
<p class="ch-small"><a href="chronicle.html">The whole chronicle</a></p>

## Patterns { #patterns }

<section>
<div class="ch-quad">
<div><h3 data-v="good"><span class="ch-verdict" data-v="good">good</span></h3><ul>
<li><a href="patterns/spike-fast-recovery.html">Fast-recovering spike</a><a class="ch-count" href="browse.html#pattern=spike-fast-recovery" aria-label="Fast-recovering spike: 1 run">1</a></li>
</ul></div>
<div><h3 data-v="worrying"><span class="ch-verdict" data-v="worrying">worrying</span></h3><ul>
</ul></div>
<div><h3 data-v="bad"><span class="ch-verdict" data-v="bad">bad</span></h3><ul>
<li><a href="patterns/spike-no-full-recovery.html">Spike, not fully recovered</a><a class="ch-count" href="browse.html#pattern=spike-no-full-recovery" aria-label="Spike, not fully recovered: 1 run">1</a></li>
</ul></div>
<div><h3 data-v="unexpected"><span class="ch-verdict" data-v="unexpected">unexpected</span></h3><ul>
</ul></div>
</div>


</section>
<script src="assets/home.js" defer></script>
"""
BROWSE = """\
---
title: Browse
hide: [navigation, toc]
---
# Browse the runs

<section id="browse" class="ch-browse">
<details><summary>Filters</summary><form class="ch-facets" aria-label="Filters"></form></details>
<div>
<div class="ch-bar"><input type="search" aria-label="Filter by words" placeholder="Words of a title or a pattern"><select aria-label="Sort"><option value="bad">Worst first</option><option value="new">Newest first</option><option value="cost">Most steps discarded first</option><option value="size">Most points first</option><option value="name">By name</option></select><span role="status" aria-live="polite"></span></div>
<div class="ch-chips"></div>
<p class="ch-compare" aria-live="polite" hidden> <a href="assets/view.html">Compare them</a></p>
<ul class="ch-cards"></ul>
<button type="button" class="ch-more" hidden>Show more</button>
</div>
</section>
<section class="ch-plain">
<h2 data-v="bad"><span class="ch-verdict" data-v="bad">bad</span></h2>
<ul>
<li><a href="runs/demo-rollback/index.html">A rollback with a lower learning rate</a>: 2.26 → 4.17 nats/token at step 58\u202f897</li>
</ul>
<h2 data-v="good"><span class="ch-verdict" data-v="good">good</span></h2>
<ul>
<li><a href="runs/calm/index.html">Calm run calm</a>: 4.00 → 2.00 nats/token, calm</li>
</ul>
</section>
<script src="assets/entries.js" defer></script><script src="assets/browse.js" defer></script>
"""
INDEX = """\
---
title: Patterns
hide: [navigation, toc]
---
# Patterns

<p class="ch-lead">What a training curve can show, by verdict. The number is how many runs here show it.</p>

<section>
<div class="ch-quad">
<div><h2 data-v="good"><span class="ch-verdict" data-v="good">good</span></h2><ul>
<li><svg/><a href="../patterns/spike-fast-recovery.html">Fast-recovering spike</a><a class="ch-count" href="../browse.html#pattern=spike-fast-recovery" aria-label="Fast-recovering spike: 1 run">1</a><p>A peak.</p></li>
</ul></div>
<div><h2 data-v="worrying"><span class="ch-verdict" data-v="worrying">worrying</span></h2><ul>
</ul></div>
<div><h2 data-v="bad"><span class="ch-verdict" data-v="bad">bad</span></h2><ul>
<li><svg/><a href="../patterns/spike-no-full-recovery.html">Spike, not fully recovered</a><a class="ch-count" href="../browse.html#pattern=spike-no-full-recovery" aria-label="Spike, not fully recovered: 1 run">1</a><p>It came down, but not to where it was.</p></li>
</ul></div>
<div><h2 data-v="unexpected"><span class="ch-verdict" data-v="unexpected">unexpected</span></h2><ul>
</ul></div>
</div>


</section>
"""
PATTERN = """\
---
title: "Spike, not fully recovered"
hide: [navigation]
---
<p class="ch-crumb"><a href="index.html">Patterns</a> / bad / <code>spike-no-full-recovery</code></p>

<div markdown="1">

# Spike, not fully recovered { #pattern }

</div>

<div class="ch-tags"><span class="ch-verdict big" data-v="bad">bad</span> <span class="ch-tag">also called: lasting spike</span></div>
<p class="ch-lead">It came down, but not to where it was. Look at the trend, not at the level.</p>

<div data-v="bad"><svg/><svg/></div>

## In the runs of this archive { #here }

<p>1 run of 2 shows it. <a href="../browse.html#pattern=spike-no-full-recovery">Browse it</a></p>
<ol class="ch-log">
<li><span class="ch-n" data-v="bad">2</span><div><p><a href="../runs/demo-rollback/index.html&#35;rise-a1-59000">A rollback with a lower learning rate</a> The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.</p>
<p class="ch-aside"><b>Decision</b>, ada<br>Back to 56 000.<br>Not 58 500.</p>
<p class="ch-small">Then: The run went back from step 61\u202f400 to step 56\u202f000 and 5\u202f400 steps were discarded.</p>
</div></li>
</ol>


## How to read it

See [that one](spike-fast-recovery.md) and [the guide](../guide/classifier.md).

## How chronicle decides

<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Criterion</th><th>Threshold</th><th>Needs</th></tr></thead><tbody>
<tr><th scope="row">Left at the end</th><td data-k="threshold">≥ 6 scales</td><td data-k="needs">training loss</td></tr>
</tbody></table></div>

## What looks like it

<ul class="ch-alike">
<li data-v="bad" class="this"><svg/><h3><span class="ch-verdict" data-v="bad">bad</span><br>Spike, not fully recovered</h3><p>This pattern.</p></li>
<li data-v="good"><svg/><h3><span class="ch-verdict" data-v="good">good</span><br><a href="spike-fast-recovery.html">Fast-recovering spike</a></h3><p>It is back at the trend.</p></li>
<li data-v="good"><h3><span class="ch-verdict" data-v="good">good</span><br>Change of data</h3><p>It has no peak.</p></li>
</ul>

## Likely causes

<div class="ch-wrap"><table class="ch-table stack"><thead><tr><th>Cause</th><th>Evidence</th><th>How to tell</th></tr></thead><tbody>
<tr><th scope="row">A bad batch</th><td><span class="ch-ev guess">guess</span></td><td>Look at the batches before it.</td></tr>
</tbody></table></div>

<div class="ch-two" markdown="1">
<div markdown="1">

## What to do now

<ol class="ch-steps">
<li>Roll back to before it.</li>
</ol>

</div>
<div markdown="1">

## How to prevent it

<ol class="ch-steps">
<li>Clip updates.</li>
</ol>

</div>
</div>

## Specimens

<ul class="ch-cards">
<li><a class="ch-card" href="../runs/demo-rollback/index.html"><img class="ch-thumb" src="../runs/demo-rollback/thumb.svg" width="320" height="160" alt=""><span class="ch-verdict" data-v="bad">bad</span><strong>A rollback with a lower learning rate</strong><span class="ch-measure">2.26 → 4.17 nats/token at step 58\u202f897</span><span class="ch-meta">Atlas · 2026-11-18 · 106\u202f080 points</span></a></li>
</ul>

## Sources

<ul class="ch-sources">
<li>A book, <a href="https://example.org/book" rel="noopener noreferrer">https://example.org/book</a>. Chapter 2.</li>
</ul>
"""
UNREADABLE = """\
---
title: Unreadable logs
hide: [navigation, toc]
---
# Unreadable logs

<p class="ch-lead">1 log could not be read. The rest of the gallery is complete without it.</p>

<section class="ch-unread">
<h2>No column of steps</h2>
<ul>
<li><a href="runs/calm/index.html">calm</a> <span class="ch-no">log.csv</span></li>
</ul>
</section>
"""
ENTRIES = """\
window.chroniclePatterns = {"near-perfect":"Near-perfect run","spike-fast-recovery":"Fast-recovering spike","spike-no-full-recovery":"Spike, not fully recovered"};
window.chronicleEntries = [
["demo-rollback","A rollback with a lower learning rate","bad",["spike-fast-recovery","spike-no-full-recovery"],"Atlas",["rollback"],"log",106080,"2.26 → 4.17 nats/token at step 58\u202f897","Atlas · 2026-11-18 · 106\u202f080 points","runs/demo-rollback/index.html","runs/demo-rollback/thumb.svg","2026-11-18",5400,[]],
["calm","Calm run calm","good",["near-perfect"],"Atlas",["none logged"],"log",106080,"4.00 → 2.00 nats/token, calm","Atlas · 106\u202f080 points","runs/calm/index.html","runs/calm/thumb.svg","",0,[]]
];
"""
CHRONICLE = """\
---
title: Chronicle
hide: [navigation, toc]
---
# Chronicle

<p class="ch-lead">What happened in all runs, newest first. Times are those of the logs; “day only” where the source gives no more. As a feed: <a href="feed.xml" type="application/atom+xml">Atom</a>, <a href="feed.json">JSON</a> (<code>site_url</code> in <code>chronicle.toml</code> lets feed readers open their items).</p>

<section id="happened">
<div class="ch-bar"><input type="search" aria-label="Filter by words" placeholder="Filter by words"><select aria-label="Kind"></select><select aria-label="Person"></select><select aria-label="Project"></select><select aria-label="Run"></select><span role="status" aria-live="polite"></span></div>
<div class="ch-days">
<div class="ch-month"><h2>November 2026</h2>
<div>
<h3>18 November</h3>
<ol class="ch-log timed">
<li class="said" data-time="2026-11-18T22:41+01:00"><span class="ch-when">22:41+01:00</span><span class="ch-n dot" data-kind="decision"></span><div><p><a href="runs/demo-rollback/index.html&#35;note-202611182241">Decision</a> Back to 56 000.<br>Not 58 500.</p><p class="ch-when">A rollback with a lower learning rate · ada</p></div></li>
<li data-time="2026-11-18T19:02:00Z"><span class="ch-when">19:02Z</span><span class="ch-n" data-v="bad">2</span><div><p><a href="runs/demo-rollback/index.html&#35;rise-a1-59000">Spike, not fully recovered</a> The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.</p><p class="ch-when">A rollback with a lower learning rate</p></div></li>
</ol>
</div>
</div>
</div>
<button type="button" class="ch-more" hidden>Show more</button>
</section>
<script src="assets/events.js" defer></script><script src="assets/chronicle.js" defer></script>
"""
EVENTS = """\
window.chronicleEvents = [
["2026-11-18T22:41+01:00","decision","","","Decision","Back to 56 000. Not 58 500.","ada","demo-rollback","A rollback with a lower learning rate","runs/demo-rollback/index.html#note-202611182241","Atlas"],
["2026-11-18T19:02:00Z","finding","bad","2","Spike, not fully recovered","The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.","","demo-rollback","A rollback with a lower learning rate","runs/demo-rollback/index.html#rise-a1-59000","Atlas"]
];
"""


def made(data: SiteData) -> dict[str, str]:
    """All pages by path."""
    return {page.path: page.text for page in pages(data)}


SMALL = small(rollback(), healthy(), unreadable=[("calm", "log.csv: no column of steps")])


def test_the_pages_of_a_small_site() -> None:
    assert list(made(SMALL)) == [
        "index.md",
        "browse.md",
        "chronicle.md",
        "experiments.md",
        "runs/demo-rollback/index.md",
        "runs/calm/index.md",
        "patterns/index.md",
        "patterns/spike-fast-recovery.md",
        "patterns/spike-no-full-recovery.md",
        "unreadable.md",
        "404.md",
    ]


def test_home_in_full() -> None:
    assert made(SMALL)["index.md"] == HOME


def test_browse_in_full() -> None:
    assert made(SMALL)["browse.md"] == BROWSE


def test_the_chronicle_in_full() -> None:
    assert made(SMALL)["chronicle.md"] == CHRONICLE


def test_the_data_of_the_chronicle_in_full() -> None:
    assert dict(assets(SMALL))["assets/events.js"] == EVENTS


def test_the_index_of_patterns_in_full() -> None:
    assert re.sub("<svg.*?</svg>", "<svg/>", made(SMALL)["patterns/index.md"]) == INDEX


def test_a_pattern_in_full() -> None:
    page = made(SMALL)["patterns/spike-no-full-recovery.md"]
    assert re.sub("<svg.*?</svg>", "<svg/>", page) == PATTERN


def test_unreadable_logs_in_full() -> None:
    assert made(SMALL)["unreadable.md"] == UNREADABLE


def test_texts_that_no_reader_knows_are_listed() -> None:
    pages_with = made(small(rollback(), unknown=["logs/a/train.log"]))
    assert '<a href="unreadable.html">No reader knows 1 text</a>' in pages_with["index.md"]
    assert (
        pages_with["unreadable.md"]
        == """\
---
title: Unreadable logs
hide: [navigation, toc]
---
# Unreadable logs

<section class="ch-unread">
<h2>Texts that no reader knows</h2>
<p>They are named as logs, but nothing in them repeats as the values of a training do. Often they come from an evaluation, a download or a job that failed at its start.</p>
<p><strong>What to do:</strong> nothing, if there was no training. Otherwise <code>chronicle doctor logs/a/train.log</code> says line by line what it lacks.</p>
<ul>
<li>logs/a/train.log</li>
</ul>
</section>
"""
    )


def test_unreadable_logs_are_listed_by_what_is_to_be_done() -> None:
    job = "the output of a job that logged no values ({}); no run here names it. Remedy: put it into `runs`"
    several = [
        ("x", "x.csv: is empty. Remedy: remove it"),
        ("a", job.format("1 fault, first: killed (9)")),
        ("b", job.format("2 faults")),
    ]
    page = made(small(rollback(), unreadable=several, unknown=["/logs/a/x.log", "/logs/b/c/y.log"]))[
        "unreadable.md"
    ]
    first = page[page.index("<h2>") : page.index("</section>")]
    assert (
        first
        == """\
<h2>The output of a job that logged no values; no run here names it <span class="ch-no">2</span></h2>
<p><strong>What to do:</strong> put it into <code>runs</code>.</p>
<ul>
<li><b>a</b> <span class="ch-no">1 fault, first: killed (9)</span></li>
<li><b>b</b> <span class="ch-no">2 faults</span></li>
</ul>
"""
    )
    assert page.index("<h2>Is empty</h2>") < page.index("<p>Below <code>/logs</code>:</p>")
    assert "<li>a/x.log</li>\n<li>b/c/y.log</li>" in page


def test_a_command_that_shows_what_is_in_a_log_has_its_path() -> None:
    problem = "runs/x/x.csv: no series of numbers is in it. Remedy: `chronicle doctor` shows what is in it"
    page = made(small(rollback(), unreadable=[("x", problem)]))["unreadable.md"]
    assert "<code>chronicle doctor runs/x/x.csv</code> shows what is in it." in page


def test_no_page_of_unreadable_logs_where_there_are_none() -> None:
    pages_without = made(small(rollback()))
    assert "unreadable.md" not in pages_without
    assert "could not be read" not in pages_without["index.md"]


def test_the_data_of_browse_in_full() -> None:
    assert dict(assets(SMALL))["assets/entries.js"] == ENTRIES


def test_the_data_of_browse_is_valid_and_complete() -> None:
    data = site(many(70))
    patterns, entries = dict(assets(data))["assets/entries.js"].split(";\nwindow.chronicleEntries = ")
    titles = json.loads(patterns.removeprefix("window.chroniclePatterns = "))
    rows = json.loads(entries.removesuffix(";\n"))
    assert len(rows) == 70
    assert {len(row) for row in rows} == {15}
    assert {p for row in rows for p in row[3]} == set(titles)


def test_an_empty_site_says_how_to_begin() -> None:
    empty = made(small())
    assert "<code>chronicle add LOG</code>" in empty["index.md"]
    assert "ch-poster" not in empty["index.md"]
    assert "<p>No run yet.</p>" in empty["browse.md"]


def test_plain_lists_go_on_over_pages_of_their_own() -> None:
    full = site(many(2 * LISTED_ROWS + 1))
    data = {page.path: page.text for page in browse(full, renderer(full.templates))}
    lists = [data[name] for name in ("browse.md", "browse-2.md", "browse-3.md")]
    links = [run for page in lists for run in re.findall(r'<li><a href="runs/([^/]+)/', page)]
    assert sorted(links) == [entry.run_id for entry in many(2 * LISTED_ROWS + 1)]
    assert '<b>list 2</b> <a href="browse-3.html">list 3</a>' in lists[1]


@pytest.mark.slow
def test_every_shipped_pattern_has_a_page_and_a_place_in_the_index() -> None:
    data = made(site([rollback()]))
    for page in gallery():
        assert f"patterns/{page.id}.md" in data
        assert f'href="../patterns/{page.id}.html"' in data["patterns/index.md"]
    assert {page.id for page in gallery()} == {p.id for p in PATTERNS}


def test_a_pattern_of_a_teams_own_is_a_pattern() -> None:
    own = replace(FAST, id="our-own", title="Our own")
    runs = [healthy(diagnosis=replace(healthy().diagnosis, patterns=("our-own",)))]
    data = made(replace(small(), patterns=(own, LOST), entries=runs))
    assert "<h1" not in data["patterns/our-own.md"]
    assert "# Our own { #pattern }" in data["patterns/our-own.md"]
    assert '<a class="ch-tag" href="../../patterns/our-own.html">Our own</a>' in data["runs/calm/index.md"]


@pytest.mark.slow
def test_every_link_between_pages_leads_to_a_page() -> None:
    data = site([*many(40), rollback()], unreadable=[("calm", "broken")])
    everything = made(data)
    for path, text in everything.items():
        folder = path.rsplit("/", 1)[0] if "/" in path else ""
        for link in re.findall(r'href="([^"#]+)\.html', text):
            if not link.startswith("http") and not link.endswith("assets/view"):  # which is an asset
                assert _resolved(folder, link) + ".md" in everything, (path, link)


def _resolved(folder: str, link: str) -> str:
    parts = folder.split("/") if folder else []
    for part in link.split("/"):
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_browse_has_the_worst_first_and_of_one_verdict_the_severest() -> None:
    def run(run_id: str, severity: float, **changes: object) -> Entry:
        events = tuple(replace(event, severity=severity) for event in rollback().events)
        return replace(rollback(), run_id=run_id, events=events, **changes)

    untold = {"verdict": Verdict.UNEXPECTED, "badge": "cannot tell"}
    odd = {"verdict": Verdict.UNEXPECTED, "badge": "unexpected"}
    runs = [healthy(), run("u", 0.9, **untold), run("o", 0.0, **odd), run("a", 0.2), run("b", 0.7)]
    assert [entry.run_id for entry in site(runs).worst_first] == ["b", "a", "o", "u", "calm"]
