"""The pages on the timeline and on Python: every example runs and prints what the page shows."""

from __future__ import annotations

import doctest
import inspect
import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from chronicle.timeline import stitch
from chronicle.workspace.config import RunConfig, from_table

STAGES = Path(__file__).parents[2] / "src" / "chronicle" / "timeline"
DOCS = Path(__file__).parents[2] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def test_the_examples_in_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "python.md").read_text("utf-8")
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", page, re.S))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "python.md", "docs/python.md", 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=said.append)
    assert (result.failed, "".join(said)) == (0, "")
    assert result.attempted > 30


def test_the_keys_that_decide_exist() -> None:
    page = (DOCS / "timeline.md").read_text("utf-8")
    block = re.search(r"```toml\n(.*?)```", page, re.S)
    assert block
    config = from_table(RunConfig, tomllib.loads(block[1]), "run.toml")
    assert (config.relation, config.order) == ("attempts", ["first.csv", "second.csv"])


def test_every_doubt_names_a_key_of_run_toml() -> None:
    keys = {f.name for f in fields(RunConfig)}
    code = "".join(file.read_text("utf-8") for file in sorted(STAGES.glob("*.py")))
    assert code.count("in run.toml") + code.count("of run.toml") >= 6
    assert set(re.findall(r"`(\w+)[^`]*` (?:in|of) run\.toml", code)) == (
        {"order", "relation", "paths", "roles", "tokens_per_step"} & keys
    )


def test_stitch_has_the_arguments_that_the_page_names() -> None:
    assert {"order", "relation", "run_id"} <= set(inspect.signature(stitch).parameters)


def test_every_key_of_the_evidence_of_a_join_is_on_the_page() -> None:
    page = (DOCS / "timeline.md").read_text("utf-8")
    code = "".join(
        (STAGES.parent / name).read_text("utf-8") for name in ("timeline/joins.py", "classify/resumed.py")
    )
    keys = set(re.findall(r'"((?:same|loss|lr|common|inside|left|margin|again|discarded)_\w+)"', code))
    assert len(keys) >= 17
    assert {key for key in keys if f"`{key}`" not in page} == set()
