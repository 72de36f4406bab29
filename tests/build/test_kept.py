"""What is kept of a run: never older than its logs, never damaged unseen, and one defect costs one run."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.logs import healthy
from tests.readers.writers import event_log

from chronicle.build.produce import Product, Run, last_entry, produce
from chronicle.build.store import damaged, forget
from chronicle.errors import Defect
from chronicle.model import Attempt, Role, Series
from chronicle.readers import csv_tables, events, read_all, read_on
from chronicle.timeline import stitch
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import RunFolder

module = sys.modules["chronicle.build.produce"]  # its package has a function of that name


@pytest.fixture
def product(tmp_path: Path) -> Product:
    log = healthy(tmp_path / "a.csv")
    return Product(RunFolder("a", (log,)), WorkspaceConfig(), tmp_path / "entries" / "a")


def test_rows_that_come_in_while_a_log_is_read_are_for_the_next_build(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Run.diagnose

    def while_it_grows(run: Run) -> object:
        diagnosed = real(run)
        with run.folder.logs[0].open("a") as log:
            log.writelines(f"{step},nan\n" for step in range(401, 2401))
        return diagnosed

    monkeypatch.setattr(Run, "diagnose", while_it_grows)
    assert produce(product).entry.verdict == "good"
    monkeypatch.setattr(Run, "diagnose", real)
    assert product.cached() is None
    assert produce(product).entry.verdict == "bad"
    assert product.cached().entry.verdict == "bad"


@pytest.fixture
def kept(product: Product) -> Product:
    assert produce(product).entry and product.cached()
    return product


def test_a_halved_figure_is_made_again(kept: Product) -> None:
    figure = next(kept.folder.glob("*.svg"))
    whole = figure.read_bytes()
    figure.write_bytes(whole[: len(whole) // 2])
    assert damaged(kept.folder) == [figure.name]
    assert kept.cached() is None
    produce(kept)
    assert (figure.read_bytes(), damaged(kept.folder)) == (whole, [])


def test_a_cut_table_a_changed_verdict_and_a_lost_file_are_made_again(kept: Product) -> None:
    for spoil in ("series.csv.gz", "entry.json", "whole-wide.svg"):
        produce(kept)
        file = kept.folder / spoil
        times = file.stat().st_atime_ns, file.stat().st_mtime_ns
        if spoil == "entry.json":  # of the same size and time
            entry = file.read_bytes()
            file.write_bytes(entry.replace(b'"verdict": "good"', b'"verdict": "bad "'))
            assert file.read_bytes() != entry
            os.utime(file, ns=times)
        elif spoil == "series.csv.gz":
            file.write_bytes(file.read_bytes()[:-5])
        else:
            file.unlink()
        assert kept.cached() is None, spoil
        assert damaged(kept.folder) == [spoil]


def test_the_packed_table_of_points_has_all_of_them_and_the_same_bytes_again(kept: Product) -> None:
    table = kept.folder / "series.csv.gz"
    before = table.read_bytes()
    timeline, _, _ = Run(kept.run, kept.config).diagnose()
    assert len(pd.read_csv(table)) == sum(map(len, timeline.series.values()))
    produce(kept)
    assert table.read_bytes() == before


def test_the_packed_table_says_what_pandas_would_write(tmp_path: Path) -> None:
    times = np.array([1.7e9, 1.7e9 + 0.25, np.nan, 1.7e9 + 1e-6, -1.5, 86_400.0])
    values = np.array([2.5, np.nan, np.inf, -np.inf, 1e-7, 3e22])
    steps = np.array([0, 10, 20, 30, 40, 2**40])
    first = Attempt('a, with "quotes"', ("a",), {"loss": Series("loss", Role.LOSS, steps, values, times)})
    blank = np.full(6, np.nan)
    second = Attempt("b", ("b",), {"loss": Series("loss", Role.LOSS, steps + 40, abs(values), blank)})
    timeline = stitch([first, second], run_id="r")
    module.write_points(tmp_path / "points.csv.gz", timeline)
    frame = timeline.frame()
    frame["time"] = frame["time"].dt.round("us")
    assert gzip.decompress((tmp_path / "points.csv.gz").read_bytes()).decode() == frame.to_csv(index=False)


def test_a_time_of_no_calendar_is_left_blank_in_the_table(tmp_path: Path) -> None:
    times = np.array([1.7e9, -1e300, 1e300, 1e12, np.nan])
    series = Series("loss", Role.LOSS, np.arange(5), np.full(5, 2.5), times)
    module.write_points(tmp_path / "p.csv.gz", stitch([Attempt("a", ("a",), {"loss": series})], run_id="r"))
    rows = gzip.decompress((tmp_path / "p.csv.gz").read_bytes()).decode().splitlines()
    assert [row.rpartition(",")[2] for row in rows[1:]] == ["2023-11-14 22:13:20+00:00", "", "", "", ""]


def test_what_is_damaged_is_not_told_by_a_list(kept: Product, tmp_path: Path) -> None:
    place = tmp_path / "build" / "entries" / "a"
    shutil.copytree(kept.folder, place)
    assert last_entry(tmp_path, "a")[1] == "built"
    entry = (place / "entry.json").read_text()
    (place / "entry.json").write_text(entry.replace('"verdict": "good"', '"verdict": "bad"'))
    assert last_entry(tmp_path, "a") == (None, "damaged")
    assert last_entry(tmp_path, "b") == (None, "not built")


def test_what_was_copied_from_elsewhere_is_still_kept(kept: Product) -> None:
    for file in kept.folder.iterdir():
        os.utime(file, ns=(10**18, 10**18))
    assert kept.cached()
    assert json.loads((kept.folder / "kept.json").read_text())["files"]["series.csv.gz"][1] == 10**18


@pytest.mark.parametrize("junk", ["", "[]", '{"key": 1}', '{"key": "x", "files": {"../a": [1, 2, "3"]}}'])
def test_a_note_of_what_is_kept_that_cannot_be_used_counts_as_none(kept: Product, junk: str) -> None:
    (kept.folder / "kept.json").write_text(junk)
    assert kept.cached() is None
    forget(kept.folder)
    assert kept.cached() is None


@pytest.mark.parametrize("part", ["stitch", "classify", "make_entry"])
def test_a_defect_costs_one_run(product: Product, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise KeyError("no such\ncolumn")

    monkeypatch.setattr(module, part, broken)
    outcome = produce(product)
    assert outcome.entry is None
    line = broken.__code__.co_firstlineno + 1
    assert outcome.problems == (
        "a.csv: chronicle failed on it, a defect to report "
        f"(KeyError: 'no such\\ncolumn', test_kept.py:{line}). "
        "Remedy: report what `CHRONICLE_DEBUG=1 chronicle classify` prints for it, with the log "
        "if you may share it",
    )
    monkeypatch.setenv("CHRONICLE_DEBUG", "1")
    with pytest.raises(KeyError):
        produce(product)


def test_a_reader_that_fails_costs_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = csv_tables.read

    def broken(path: Path) -> object:
        return np.zeros(3)[7] if path.name == "b.csv" else real(path)

    for name in ("a.csv", "b.csv", "c.csv"):
        healthy(tmp_path / name)
    monkeypatch.setattr(csv_tables, "read", broken)
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["a.csv", "c.csv"]
    (problem,) = reading.problems
    assert isinstance(problem, Defect)
    assert problem.where == str(tmp_path / "b.csv")
    failure = "IndexError: index 7 is out of bounds for axis 0 with size 3, "
    assert problem.problem.startswith(f"chronicle failed on it, a defect to report ({failure}")


def test_one_event_file_that_a_reader_of_many_fails_on_costs_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = events.Log.columns

    def broken(log: events.Log) -> object:
        if log.path.name.endswith("1"):
            raise RecursionError("maximum recursion depth exceeded")
        return real(log)

    for number in range(3):
        event_log(tmp_path / f"events.out.tfevents.{number}", {"loss": [(step, 1.0) for step in range(9)]})
    monkeypatch.setattr(events.Log, "columns", broken)
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == [
        "events.out.tfevents.0",
        "events.out.tfevents.2",
    ]
    assert [problem.where for problem in reading.problems] == [str(tmp_path / "events.out.tfevents.1")]


def test_a_full_disk_is_no_defect_of_a_run(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device", "whole-wide.svg")

    monkeypatch.setattr("chronicle.figures.draw", full)
    with pytest.raises(OSError, match="No space left on device"):
        produce(replace(product))


def test_a_log_that_grew_is_read_on_and_its_entry_is_that_of_a_fresh_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_on, "WORTH_BYTES", 10_000)
    begun, real = list[int](), read_on.Source.__init__

    def noting(self: read_on.Source, *args: Any) -> None:
        real(self, *args)
        begun.append(self.begun)

    monkeypatch.setattr(read_on.Source, "__init__", noting)
    log, sizes = tmp_path / "log.csv", [0]
    rows = [f"{step},{2 + 1 / (step + 1)}\n" for step in range(3000)]
    for n in (2000, 2900, 3000):
        log.write_text("step,loss\n" + "".join(rows[:n]))
        sizes.append(log.stat().st_size)
        entries = []
        for place in ("grown", f"fresh {n}"):
            folder = tmp_path / place / "build" / "entries" / "a"
            folder.mkdir(parents=True, exist_ok=True)
            assert produce(Product(RunFolder("a", (log,)), WorkspaceConfig(), folder)).entry
            entries.append((folder / "entry.json").read_bytes())
        assert entries[0] == entries[1]
    assert begun == [0, 0, sizes[1], 0, sizes[2], 0]
