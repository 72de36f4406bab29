"""The benchmark of very many attempts, files and columns measures what it says."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from benchmarks import many
from benchmarks.many import attempts, columns, no_logs, packages, rows

import chronicle
from chronicle.errors import NothingToRead


def test_each_case_is_what_it_is_called(tmp_path: Path) -> None:
    for make in (attempts, columns, no_logs):
        (folder := tmp_path / make.__name__).mkdir()
        make(folder, 12)
    run = chronicle.stitch(chronicle.read(tmp_path / "attempts"))
    assert len(run.attempts) == 12 and len(run.joins) == 11
    (wide,) = chronicle.read(tmp_path / "columns")
    assert len(wide.series) == 11
    assert len([*(tmp_path / "no_logs").rglob("*.*")]) == 12
    try:
        chronicle.read(tmp_path / "no_logs")
    except NothingToRead:
        return
    raise AssertionError("a file that is no log was read")


def test_the_other_version_has_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "chronicle").mkdir()
    with pytest.raises(ArgumentTypeError) as refused:
        packages(str(tmp_path))
    remedy = "Remedy: name the `src` folder of a checkout of the other version"
    assert str(refused.value) == f"{tmp_path} holds no package chronicle. {remedy}"
    (tmp_path / "chronicle" / "__init__.py").touch()
    assert packages(str(tmp_path)) == tmp_path.resolve()


@pytest.mark.slow
def test_each_case_is_measured_beside_its_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "TRIES", 1)  # of which the best counts
    measured = [*rows(0.0, Path(chronicle.__file__).parent.parent)]
    assert [(name, goal, ratio) for name, _, goal, _, _, _, ratio in measured] == [
        ("2 attempts, `chronicle classify`", "≤ 8 s", "≤ 0.32"),
        ("2 files that are no logs, `chronicle doctor`", "≤ 2 s", "≤ 0.17"),
        ("2 columns of a CSV, `chronicle.read`", "≤ 3 s", "≤ 0.24"),
    ]
    for _, cpu, _, peak, other_cpu, ratio, _ in measured:
        assert re.fullmatch(r"\d+\.\d s", cpu) and re.fullmatch(r"\d+\.\d s", other_cpu)
        assert re.fullmatch(r"\d+ MiB", peak) and re.fullmatch(r"\d+\.\d\d", ratio)
