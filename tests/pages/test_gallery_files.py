"""Pattern pages as people write them: what is read, what is refused and with which words."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from chronicle.errors import ConfigError
from chronicle.model import Verdict
from chronicle.pages.gallery import Cause, Condition, Lookalike, PatternPage, Source, load_gallery
from chronicle.workspace.folders import shipped_file

GOOD = """---
id: our-own
title: Our own
also_called: [this, that]
typed: what people type
lead: >-
  Two lines
  of it.
criteria:
  - {criterion: A rise, threshold: 3, needs: training loss}
lookalikes:
  - {pattern: null, title: Another, verdict: good, how: It differs.}
causes:
  - {cause: Haste, evidence: proved, tell: Look at the clock.}
now: [Wait.]
prevent: []
sources:
  - {title: A paper, where: "arXiv:1"}
specimens: [run-1]
---
Prose **here**.
"""


def parse(text: str, name: str, verdict: Verdict) -> PatternPage:
    """The page of a gallery folder that has this file alone."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / verdict / f"{name}.md"
        file.parent.mkdir()
        file.write_text(text)
        (page,) = load_gallery([Path(folder)])
    return page


def test_a_page_in_full() -> None:
    page = parse(GOOD, "our-own", Verdict.WORRYING)
    assert page.title == "Our own"
    assert page.lead == "Two lines of it."
    assert page.also_called == ("this", "that") and page.typed == "what people type"
    assert page.criteria == (Condition("A rise", "3", "training loss"),)
    assert page.lookalikes == (Lookalike(None, "Another", Verdict.GOOD, "It differs."),)
    assert page.causes == (Cause("Haste", "proved", "Look at the clock."),)
    assert page.sources == (Source("A paper", "arXiv:1", ""),)
    assert (page.now, page.prevent, page.specimens) == (("Wait.",), (), ("run-1",))
    assert page.body == "Prose **here**."


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("id: our-own", "id: other"), "id: is 'other', but the file is called our-own.md"),
        (("title: Our own", "titel: Our own"), "titel: unknown key. Did you mean 'title'?"),
        (("title: Our own\n", ""), "title: must be a text, not None"),
        (
            ("evidence: proved", "evidence: certain"),
            "causes[0].evidence: 'certain' is none of 'proved', 'reported', 'guess'",
        ),
        (
            ("verdict: good", "verdict: fine"),
            "lookalikes[0].verdict: 'fine' is none of 'good', 'unexpected', 'worrying', 'bad'",
        ),
        (
            ("how: It differs.", "why: x"),
            "lookalikes[0].why: unknown key. Remedy: use one of how, pattern, title, verdict",
        ),
        (("now: [Wait.]", "now: Wait."), "now: must be a list of texts, not 'Wait.'"),
        (("now: [Wait.]", "now: [{a: 1}]"), "now[0]: must be a text, not {'a': 1}"),
        (("criteria:\n  - {", "criteria:\n  - [] # {"), "criteria[0]: must be a table, not []"),
        (("  - {title: A paper, where", "  - {note: x, where"), "sources[0].title: must be a text, not None"),
        (("specimens: [run-1]", "specimens: {}}"), "front matter is not valid YAML"),
        (("---\nid", "id"), "must begin with front matter between two lines of ---"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(change: tuple[str, str], problem: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(ConfigError) as caught:
        parse(GOOD.replace(*change), "our-own", Verdict.WORRYING)
    assert str(caught.value).startswith(f"gallery/worrying/our-own.md: {problem}")


def test_front_matter_must_be_a_table() -> None:
    with pytest.raises(ConfigError, match="front matter must be a table of keys"):
        parse("---\n- a\n---\n", "x", Verdict.GOOD)


@pytest.mark.slow
def test_a_teams_page_wins_and_a_new_one_is_added(tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "our-own.md").write_text(GOOD, "utf-8")
    theirs = GOOD.replace("our-own", "nan-inf").replace("title: Our own", "title: Not a number")
    (folder / "nan-inf.md").write_text(theirs, "utf-8")
    merged = {page.id: page for page in load_gallery([tmp_path, shipped_file("gallery")])}
    assert merged["nan-inf"].title == "Not a number"
    assert merged["our-own"].verdict is Verdict.BAD
    shipped = {page.id for page in load_gallery([shipped_file("gallery")])}
    assert merged.keys() == shipped | {"our-own", "nan-inf"}
