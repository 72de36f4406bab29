"""The guide's pages for people who read curves and who set up logging, held to the list of patterns."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import chronicle
from chronicle.classify.patterns import BY_ID, PATTERNS
from chronicle.model import Role

DOCS = Path(__file__).resolve().parents[2] / "docs"


def linked(text: str) -> list[str]:
    return re.findall(r"\.\./patterns/([\w-]+)\.md", text)


def rows() -> list[list[str]]:
    """Rows of the table of series: series, role, how often, needed for, also helps."""
    section = (DOCS / "logging.md").read_text("utf-8").split("## Series")[1].split("\n## ")[0]
    return [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")][2:]


def test_reading_names_every_pattern() -> None:
    assert sorted(set(linked((DOCS / "reading.md").read_text("utf-8")))) == sorted(BY_ID)


def test_logging_says_for_each_role_just_which_patterns_need_it() -> None:
    needed = {role: [p.id for p in PATTERNS if role in p.needs] for role in Role}
    needed[Role.LOSS] = [p.id for p in PATTERNS if p.needs == (Role.LOSS,) and p.needs_attempts == 1]
    said = {role: linked(row[3]) for row in rows() for role in re.findall(r"`([\w-]+)`", row[1])}
    assert {role: ids for role, ids in needed.items() if ids} == {r: ids for r, ids in said.items() if ids}


def test_logging_says_which_patterns_need_several_attempts() -> None:
    (row,) = (row for row in rows() if not row[1].strip())
    assert linked(row[3]) == [p.id for p in PATTERNS if p.needs_attempts > 1]


def test_logging_counts_no_pattern_as_needed_and_as_helped() -> None:
    for row in rows():
        assert not set(linked(row[3])) & set(linked(row[4])), row[0]
        assert set(linked(row[3]) + linked(row[4])) <= set(BY_ID)


def snippets() -> list[str]:
    text = (DOCS / "logging.md").read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.S)


def test_what_the_first_snippet_writes_is_understood(tmp_path: Path) -> None:
    scope: dict[str, Any] = {}
    exec(snippets()[0], scope)
    log = scope["Log"](tmp_path)
    for step in range(20):
        log(step, loss=2.0 - step / 20, grad_norm=0.3, lr=1e-3, batch_size=8)
    log.file.close()
    (attempt,) = chronicle.read(tmp_path)
    roles = {name: series.role for name, series in attempt.series.items()}
    assert roles["loss"] is Role.LOSS and roles["grad_norm"] is Role.GRAD_NORM
    assert roles["lr"] is Role.LEARNING_RATE and roles["batch_size"] is Role.BATCH_SIZE
    assert attempt.series["loss"].times[0] > 1.7e9


def test_snippets_are_python() -> None:
    assert len(snippets()) == 4
    for snippet in snippets():
        ast.parse(snippet)
