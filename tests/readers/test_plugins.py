"""Readers of other packages: found by their entry point, and harmless when they are broken."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.docs.docs_text import DOCS
from tests.readers.writers import csv_log

from chronicle.errors import BadLog
from chronicle.model import Attempt, Role, Series
from chronicle.readers import catalogue, read, read_all, runs_below


class Mine:
    """Reads files of one number."""

    NAME, SUFFIXES = "mine", (".mine",)

    def identify(self, path: Path) -> bool:
        return path.read_bytes().startswith(b"mine:")

    def read(self, path: Path) -> list[Attempt]:
        value = float(path.read_text().removeprefix("mine:"))
        series = Series("loss", Role.OTHER, np.array([1]), np.array([value]), np.array([np.nan]))
        return [Attempt(path.name, (str(path),), {"loss": series})]


class Broken(Mine):
    """Fails at everything."""

    NAME = "broken"

    def identify(self, path: Path) -> bool:
        raise RuntimeError("no idea")


@pytest.fixture
def installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[SimpleNamespace]]:
    """Entry points as if packages were installed."""
    points: list[SimpleNamespace] = []
    packages = tmp_path_factory.mktemp("packages")
    (packages / "mine.dist-info").mkdir()
    (packages / "mine.dist-info" / "entry_points.txt").write_text(f"[{catalogue.GROUP}]\n")
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: {catalogue.GROUP: points}[group])
    catalogue.plugins.cache_clear()
    yield points
    catalogue.plugins.cache_clear()


def point(load: object) -> SimpleNamespace:
    return SimpleNamespace(name="mine", value="my_package:reader", load=load)


def test_a_reader_of_another_package_reads_its_files(installed: list, tmp_path: Path) -> None:
    installed.append(point(Mine))
    (tmp_path / "a.mine").write_text("mine:2.5")
    (attempt,) = read(tmp_path)
    assert (attempt.series["loss"].role, attempt.facts["format"]) == (Role.LOSS, "mine")


def test_what_it_raises_is_the_problem_of_the_one_file(installed: list, tmp_path: Path) -> None:
    installed.append(point(Mine))
    (tmp_path / "a.mine").write_text("mine:no number")
    csv_log(tmp_path / "b.csv", {"loss": [(1, 2.0)]})
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["b.csv"]
    (problem,) = reading.problems
    assert isinstance(problem, BadLog)
    assert problem.problem == (
        "reader 'mine' failed: ValueError(\"could not convert string to float: 'no number'\"). "
        "Remedy: tell its authors"
    )


@pytest.mark.parametrize("load", [lambda: 1 / 0, lambda: object()], ids=["raises", "is no reader"])
def test_one_that_cannot_be_loaded_is_told_and_stops_nothing(load, installed: list, tmp_path: Path) -> None:
    installed.append(point(load))
    csv_log(tmp_path / "b.csv", {"loss": [(1, 2.0)]})
    reading = read_all(tmp_path)
    assert len(reading.attempts) == 1
    assert [p.where for p in reading.problems] == ["reader 'mine' (my_package:reader)"]
    assert "cannot be loaded" in reading.problems[0].problem


def test_the_reader_that_the_guide_shows_is_found_and_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module and the entry point as they stand in docs/own-reader.md, installed as a package is."""
    text = (DOCS / "own-reader.md").read_text("utf-8")
    module, project, log = (
        re.search(rf"```{kind}\n(.*?)```", text, re.S)[1] for kind in ("python", "toml", "text")
    )
    table = tomllib.loads(project)["project"]
    (entry,) = table["entry-points"]["chronicle.readers"].items()
    site = tmp_path / "site"
    about = site / f"{table['name'].replace('-', '_')}-{table['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[chronicle.readers]\n{entry[0]} = {entry[1]}\n")
    (site / f"{entry[1]}.py").write_text(module)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.losses").write_text(log)
    (tmp_path / "logs" / "cut.losses").write_text(log + "40 2.3")
    (tmp_path / "logs" / "bad.losses").write_text("#losses\n")
    monkeypatch.syspath_prepend(site)
    catalogue.plugins.cache_clear()
    try:
        reading = read_all(tmp_path / "logs")
    finally:
        catalogue.plugins.cache_clear()
    whole, cut = reading.attempts
    assert whole.facts["format"] == "losses"
    assert whole.series["loss"].steps.tolist() == [10, 20, 30]
    assert str(whole.series["loss"].values.tolist()) == "[2.51, nan, 2.38]"
    assert whole.series["lr"].role is Role.LEARNING_RATE
    assert (whole.truncated, cut.truncated, len(cut.series["loss"])) == (False, True, 3)
    assert [p.problem for p in reading.problems] == ["holds no line of three numbers. Remedy: remove it"]


class Store(Mine):
    """Has all that a reader may have, and fails at each."""

    FALLBACK = 3

    def identify_folder(self, path: Path) -> bool:
        return path.name == "whole"

    def read_folder(self, path: Path) -> list[Attempt]:
        raise RuntimeError("no idea")

    def runs(self, path: Path) -> list[str]:
        raise RuntimeError("no idea")

    run_key = runs


def test_what_a_reader_may_have_fails_alone(installed: list, tmp_path: Path) -> None:
    installed.append(point(Store))
    (tmp_path / "whole").mkdir()
    (tmp_path / "a.mine").write_text("mine:2.5")
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["a.mine"]
    assert [p.problem for p in reading.problems] == [
        "reader 'mine' failed: RuntimeError('no idea'). Remedy: tell its authors"
    ]
    assert [run.run_id for run in runs_below(tmp_path)] == [tmp_path.name, "whole"]


def test_one_that_fails_to_identify_claims_nothing(installed: list, tmp_path: Path) -> None:
    installed.append(point(Broken))
    csv_log(tmp_path / "b.csv", {"loss": [(1, 2.0)]})
    assert len(read_all(tmp_path).attempts) == 1
