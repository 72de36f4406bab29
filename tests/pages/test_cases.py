"""The shelf of cases: complete, with sources that are links, and one with the notes on the curves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pages.case_notes import CASES, ROOT, notes
from tests.pages.samples import site

from chronicle.classify.patterns import BY_ID
from chronicle.errors import ConfigError
from chronicle.pages import pages
from chronicle.pages.gallery import load_cases
from chronicle.pages.words import cited
from chronicle.workspace.notes import read_notes

CASE = """---
id: demo
title: Demo
lead: A training, told.
who: A team
log:
  - {when: "2026-01-02", step: 40, kind: decision, said: Back to 40., run: r}
  - {at: the end, said: It ended.}
sources:
  - {title: Logbook, by: "A team, 2026", where: "team/logs, docs/log.md"}
---
See [a spike](../good/spike-fast-recovery.md), [resuming](../../docs/resuming.md), [another](demo.md).
"""


def test_a_case_becomes_a_page_and_a_row_of_the_shelf(tmp_path: Path) -> None:
    made = {page.path: page.text for page in pages(replace(site([]), cases=read(tmp_path, CASE)))}
    text = made["cases/demo.md"]
    assert '<a href="demo.html">Demo</a>' in made["cases/index.md"]
    assert "step 40</td><td><b>Decision.</b> Back to 40.</td>" in text
    assert "the end</td><td>It ended.</td>" in text
    assert "(../patterns/spike-fast-recovery.md)" in text and "(../guide/resuming.md)" in text
    assert '<a href="https://github.com/team/logs/blob/HEAD/docs/log.md"' in text


def test_without_cases_there_is_no_shelf() -> None:
    assert not [page.path for page in pages(site([])) if page.path.startswith("cases/")]


def test_a_mistake_is_named_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, CASE.replace("kind: decision", "kind: guess"))
    words = "'guess' is none of 'event', 'hypothesis', 'tried', 'decision', 'outcome', 'lesson'"
    assert str(caught.value).startswith(f"gallery/cases/demo.md: log[0].kind: {words}")


def read(folder: Path, text: str) -> list:
    (folder / "cases").mkdir()
    (folder / "cases" / "demo.md").write_text(text, "utf-8")
    return load_cases([folder])


def test_the_shelf_has_the_public_logbooks_of_the_seeds() -> None:
    small = {"bigscience-13b", "bigscience-104b", "bloom-176b", "glm-130b", "idefics-80b", "marin-8b"}
    later = {"k2-65b", "marin-32b", "olmo-2", "openclip", "opt-175b", "smollm3-3b"}
    assert small | later <= {case.id for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_is_complete(case) -> None:
    assert case.facts and case.log and case.doubts and case.sources and len(case.body.split()) >= 25
    assert {row.kind for row in case.log} & {"decision", "tried"} and len(case.log) >= 8
    for source in case.sources:
        assert re.search(r'<a href="https://[^"]+"', cited(source.where)), source.where
        assert re.search(r"\b20\d\d\b", source.by) and source.note
    dates = [row.when for row in case.log if row.when]
    assert all(re.fullmatch(r"\d{4}-\d\d(-\d\d)?", date) for date in dates)
    for target in re.findall(r"\]\(([^)#]+)", case.body):
        assert (ROOT / "gallery" / "cases" / target).is_file(), target


@pytest.mark.parametrize("run", notes())
def test_notes_of_a_run_are_the_rows_of_its_case(run: str) -> None:
    file = ROOT / "runs" / run / "notes.md"
    assert file.read_text("utf-8") == notes()[run], "run: python -m tests.pages.case_notes"
    rows = [row for case in CASES for row in case.log if row.run == run]
    assert [note.text for note in read_notes(file)] == [row.said for row in rows]
    assert all(run in case.runs for case in CASES if run in {row.run for row in case.log})


def test_bodies_link_patterns_that_exist() -> None:
    linked = {name for case in CASES for name in re.findall(r"/([\w-]+)\.md\)", case.body)}
    assert linked & set(BY_ID)
