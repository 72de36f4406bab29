"""What an installation needs and brings: first steps that work in a checkout, and a wheel that holds all."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from chronicle.workspace.folders import shipped_file

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NAME = PROJECT["project"]["name"]
TEXTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "lab").rglob("*.md")]


def test_nobody_is_told_to_install_from_an_index_what_is_not_there() -> None:
    told = re.compile(rf"pip install[^\n`]*{NAME}")
    assert [file.name for file in TEXTS if told.search(file.read_text("utf-8"))] == []


def test_every_extra_that_is_installed_somewhere_exists() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for file in [*TEXTS, ROOT / "Makefile"]:
        for named in re.findall(r"'\.\[([\w,]+)\]'", file.read_text("utf-8")):
            assert set(named.split(",")) <= extras.keys(), (file.name, named)


def test_a_site_is_built_without_the_tools_of_the_tests() -> None:
    """What `make site` would run in a fresh checkout."""
    commands = subprocess.run(["make", "-n", "site", "BIN=none/bin", "SITE=none/site", "TEST=none/test"],
                          cwd=ROOT, capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "'.[site]'" in commands and "chronicle build" in commands
    assert "test" not in commands.replace("none/test", "")


def test_the_wheel_holds_what_is_read_at_run_time() -> None:
    inside = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    read = {name for file in (ROOT / "src").rglob("*.py")
            for name in re.findall(r'\bshipped_file\("([\w.]+)"\)', file.read_text("utf-8"))}  # fmt: skip
    assert read == inside.keys()
    for name, target in inside.items():
        assert target == f"chronicle/shipped/{name}"
        assert shipped_file(name) == ROOT / name and shipped_file(name).exists()
