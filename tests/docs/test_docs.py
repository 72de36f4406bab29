"""The guide is a contract: what the code has, the guide has, and what the guide shows, works."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify
from tests.docs.docs_text import DOCS, PARTS, between
from tests.logs import healthy
from tests.readers.gold import EXAMPLES, examples, gold_of

from chronicle.classify.patterns import PATTERNS
from chronicle.readers import READERS
from chronicle.readers.text import Head
from chronicle.workspace.config import RunConfig, WorkspaceConfig, from_table

PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", PARTS)
def test_generated_part_is_up_to_date(name: str) -> None:
    page, make = PARTS[name]
    shown = between(name, (DOCS / page).read_text("utf-8"))[2].strip()
    assert shown == make().strip(), "run: python -m tests.docs.docs_text"


HEADINGS = ("What is read", "What is not read", "How restarts show", "Example")


@pytest.mark.parametrize("reader", READERS, ids=lambda r: r.NAME)
def test_format_has_its_page_its_row_and_examples(reader) -> None:
    name = f"formats/{reader.NAME.replace(' ', '-')}.md"
    page = (DOCS / name).read_text("utf-8")
    assert tuple(re.findall(r"^## (.*)$", page, re.M)) == HEADINGS
    assert f"\n| [{reader.NAME}]({name}) | " in (DOCS / "formats.md").read_text("utf-8")
    assert page.split("## Example")[1].strip()
    claimed = [e for e in examples() if reader.identify(Head.of(EXAMPLES / e))]
    assert claimed and all(gold_of(e).exists() for e in claimed)


def test_every_page_of_a_format_is_of_a_reader() -> None:
    names = {reader.NAME.replace(" ", "-") for reader in READERS}
    assert {page.stem for page in (DOCS / "formats").glob("*.md")} == names


def test_the_walk_of_one_log_goes_through_files_that_exist() -> None:
    """A name without a folder is in that of the name before it."""
    walk = (DOCS / "design.md").read_text("utf-8").split("\nA walk of one CSV", 1)[1].split("\n\n")[1]
    source, folder, missing = DOCS.parent / "src" / "chronicle", "", []
    for name in re.findall(r"`([\w/]+)`", walk):
        folder = name.rpartition("/")[0] or folder
        file = source / folder / f"{name.rpartition('/')[2]}.py"
        missing += [] if file.is_file() else [file]
    assert walk.count("\n") > 10 and missing == []


def test_links_lead_somewhere() -> None:
    patterns = {p.id for p in PATTERNS} | {"index"}
    cases = {case.stem for case in (DOCS.parent / "gallery" / "cases").glob("*.md")} | {"index"}
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if target.startswith("../patterns/"):
                is_there = target.removeprefix("../patterns/").removesuffix(".md") in patterns
            elif target.startswith("../cases/"):
                is_there = Path(target).stem in cases
            else:
                is_there = (page.parent / target).exists()
            assert is_there, f"{page.name} links to {target}"


def test_links_into_a_page_lead_to_a_heading() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*\.md)?#([^)]+)\)", page.read_text("utf-8")):
            if not target.startswith(("../patterns/", "../cases/")):
                file = page.parent / target if target else page
                assert anchor in anchors(file), f"{page.name} links to {target}#{anchor}"


@cache
def anchors(page: Path) -> set[str]:
    """The anchors that the engine gives to the headings of a page."""
    text = page.read_text("utf-8")
    headings = re.findall(r"^##+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {slugify(re.sub(r"[*`\[\]]", "", heading), "-") for heading in headings}


def test_examples_of_configuration_are_valid() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (DOCS / "configuration.md").read_text("utf-8"), re.S)
    workspace, withheld, run = map(tomllib.loads, blocks)
    assert from_table(WorkspaceConfig, workspace, "chronicle.toml").fail_on == "bad"
    assert from_table(WorkspaceConfig, withheld, "chronicle.toml").redact.allow == ["^AKIAEXAMPLE"]
    assert from_table(RunConfig, run, "run.toml").gpus == 64


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    pages = DOCS.glob("*.md")  # those of the formats stand in their own index
    missing = [p.name for p in pages if p.name != "index.md" and f"({p.name})" not in index]
    assert missing == []


def test_the_readme_s_python_runs(tmp_path, monkeypatch) -> None:
    (tmp_path / "logs").mkdir()
    healthy(tmp_path / "logs" / "run-7", points=60)
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```python\n(.*?)```", (DOCS.parent / "README.md").read_text("utf-8"), re.S)
    assert block
    scope: dict[str, object] = {}
    exec(block[1], scope)
    assert scope["timeline"].attempts
    assert scope["diagnosis"].not_assessed
