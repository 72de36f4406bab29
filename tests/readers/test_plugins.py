"""Readers of other packages: found by their entry point, and harmless when they are broken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.readers.writers import csv_log

from chronicle.errors import BadLog
from chronicle.model import Attempt, Role, Series
from chronicle.readers import dispatch, read, read_all


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
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SimpleNamespace]]:
    """Entry points as if packages were installed."""
    points: list[SimpleNamespace] = []
    monkeypatch.setattr(
        dispatch, "entry_points", lambda group: points if group == "chronicle.readers" else []
    )
    dispatch.plugins.cache_clear()
    yield points
    dispatch.plugins.cache_clear()


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
    assert [one.name for one in reading.attempts] == ["b.csv"]
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


def test_one_that_fails_to_identify_claims_nothing(installed: list, tmp_path: Path) -> None:
    installed.append(point(Broken))
    csv_log(tmp_path / "b.csv", {"loss": [(1, 2.0)]})
    assert len(read_all(tmp_path).attempts) == 1
