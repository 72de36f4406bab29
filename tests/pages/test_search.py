"""What search knows of a run, of patterns and of the guide: words, and a bound on their bytes."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

from tests.pages.samples import gallery, healthy, many, rollback, site, small

from chronicle.model import Event, EventKind, Fact, Note
from chronicle.pages import A_RUN, guide_js, search_js
from chronicle.pages.gallery import load_cases
from chronicle.workspace.folders import shipped_file

RUNS = """\
window.chronicleSearch = {"stop":"a am an and are as at be been but by can did do does for from go goes had has have he her his how i if in into is it its me my no not of on or our she should so than that the their them then there these they this to us was we were what when where which who will with would you your","patterns":[["spike-fast-recovery","Fast-recovering spike","good"," · "],["spike-no-full-recovery","Spike, not fully recovered","bad","lasting spike · unstable instability"]],"runs":[
["demo-rollback","A rollback with a lower learning rate","bad","Atlas",[0,1],"decision ada 58900 Back 56000 58500 Fast-recovering spike 2.52 3.88 nats token step 22308 fully recovered 2.26 4.17 58897 Rollback 61400 https example.org log"],
["calm","Calm run calm","good","Atlas",[],"Near-perfect run 4.00 2.00 nats token calm https example.org log"]
]};
"""  # noqa: E501


def test_the_script_of_runs_in_full() -> None:
    assert search_js(small(rollback(), healthy())) == RUNS


def test_a_run_takes_no_more_than_its_bytes_whatever_was_noted() -> None:
    long = Note(" ".join(f"wörd{i}" for i in range(500)), kind="lesson", author="ada")
    hostile = replace(rollback(), notes=(long,), title="\u202e" * 400, run_id="a b\u2028<script>")
    for others, most in ((2, 4_000), (149, 2_000), (1_999, A_RUN)):
        lines = search_js(site([hostile, *many(others)])).split('"runs":[\n')[1].splitlines()[:-1]
        assert len(lines) == others + 1
        assert max(len(line.rstrip(",").encode()) for line in lines) <= most
        first = json.loads(lines[0].rstrip(","))
        assert "wörd0" in first[5] and first[6] == "a%20b%E2%80%A8%3Cscript%3E"


def test_what_run_toml_states_and_how_it_was_tagged_is_found() -> None:
    entry = healthy(facts=(Fact("owner", "Grace", "", "run.toml"), Fact("Points", 7, "points", "counted")))
    entry = replace(entry, about={**entry.about, "tags": ["fp16"], "description": "The second try."})
    text = json.loads(search_js(small(entry)).split('"runs":[\n')[1].splitlines()[0])[5]
    assert {"Grace", "fp16", "second", "try"} <= set(text.split())


def test_a_fault_is_found_by_the_words_of_its_log_and_a_note_by_its_step() -> None:
    said = "A GPU fault was logged on nid005: “NVRM: Xid (PCI:0000:81:00): 79, GPU has fallen off the bus.”"
    fault = Event("fault-a1-400", EventKind.FAULT, "GPU fault", said, "GPU fault", step=400)
    entry = replace(healthy(notes=(Note("The first spike.", step=31_219),)), events=(fault,))
    text = json.loads(search_js(small(entry)).split('"runs":[\n')[1].splitlines()[0])[5]
    assert {"nid005", "Xid", "79", "fallen", "bus", "31219"} <= set(text.split())


def test_a_pattern_and_a_case_are_found_by_every_text_of_their_pages() -> None:
    cases = load_cases([shipped_file("gallery")])
    whole = guide_js(site([], patterns=gallery(), cases=cases), shipped_file("docs"))
    rows = {
        href: text.lower().split()
        for href, _, text in map(json.loads, whole.replace(",\n", "\n").splitlines()[1:-1])
    }
    assert {"lightning", "loader"} <= {*rows["patterns/repeat-data.html"]}  # of its sources
    assert "muon" in rows["patterns/attention-logit-growth.html"]
    assert "muon" in rows["cases/marin-32b.html"]
    assert "lightning" in rows["guide/logging.html#by-framework"]  # not in its first sentence


def test_the_guide_has_an_index_of_its_own_by_section(tmp_path: Path) -> None:
    first = "# One\n\nIntro <b>x1</b>.\n\n## Same *words*\n\n```\n## code\n```\nText.\n"
    (tmp_path / "a.md").write_text(f"{first}\n## Same words\n\nMore [link](b.md).\n")
    (tmp_path / "b.md").write_text(f"---\nsearch:\n  exclude: true\n---\n\n{first}")  # an appendix
    lines = guide_js(small(), tmp_path).splitlines()
    assert lines[1:4] == [
        '["guide/a.html","One","One Intro x1"],',
        '["guide/a.html#same-words","One: Same words","Text"],',
        '["guide/a.html#same-words_1","One: Same words","More link"],',
    ]
    assert lines[4].startswith('["patterns/spike-fast-recovery.html","Fast-recovering spike: causes and')


def test_the_guide_of_the_site_stays_below_what_a_phone_loads_at_once() -> None:
    cases = load_cases([shipped_file("gallery")])
    whole = guide_js(site([], patterns=gallery(), cases=cases), shipped_file("docs"))
    assert len(whole.encode()) <= 210_000 and len(gzip.compress(whole.encode())) <= 75_000
