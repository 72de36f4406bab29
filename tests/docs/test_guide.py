"""Pages for people who read curves, set up logging or act on a verdict, held to patterns and tables."""

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


def below(head: str) -> list[list[str]]:
    """The rows of the table in the appendix on verdicts that begins with this head."""
    table = (DOCS / "verdict-measured.md").read_text("utf-8").split(head)[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_page_on_trust_sums_up_its_appendix() -> None:
    page = (DOCS / "trust-the-verdict.md").read_text("utf-8")
    rounds, samples = below("| logs, first result |"), below("| logs | repositories |")
    logs = sum(int(re.findall(r"round, (\d+)", row[0])[0]) for row in rounds)
    right = sum(int(row[1].split()[0]) for row in rounds)
    assert f"| {right} of {logs:,} labelled logs" in page
    assert f"({right} of {logs:,})" in (DOCS.parent / "README.md").read_text("utf-8")
    right, wrong = (sum(int(row[column]) for row in samples) for column in (3, 5))
    assert f"| {right} of {right + wrong} alarms" in page
