"""The benchmark of very many attempts, files and columns measures what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.many import CASES, attempts, columns, no_logs, rows

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


@pytest.mark.slow
def test_each_case_is_measured_beside_its_goal() -> None:
    measured = [*rows(0.0)]
    assert [(name, goal) for name, _, goal, _ in measured] == [
        (f"2 {name}", case[3]) for name, case in CASES.items()
    ]
    assert all(
        re.fullmatch(r"\d+\.\d s", cpu) and re.fullmatch(r"\d+ MiB", peak) for _, cpu, _, peak in measured
    )
