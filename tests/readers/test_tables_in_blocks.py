"""Tables read in blocks against the same read line by line, bit for bit, and decimals against `float`."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples, few
from tests.fresh import printed_by
from tests.readers import tables as generated

from chronicle.errors import LogError
from chronicle.model import Attempt
from chronicle.readers import csv_cells, csv_tables, json_lines, read_on, text


def attempts(read: Callable[[Path], list[Attempt]], file: Path) -> Any:
    """All that a reader says of a file, in a form that can be compared bit for bit."""
    try:
        outcome = read(file)
    except LogError as err:
        return str(err)
    return [
        (
            repr((attempt.name, attempt.facts, attempt.faults, attempt.truncated, attempt.axis)),
            [
                (name, s.steps.tolist(), s.values.tobytes(), s.times.tobytes())
                for name, s in attempt.series.items()
            ],
        )
        for attempt in outcome
    ]


def with_care(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line by itself."""
    monkeypatch.setattr(csv_cells.Cells, "_read_plain", lambda *_: False)
    monkeypatch.setattr(csv_cells.Cells, "_numbers", lambda *_: None)
    monkeypatch.setattr(json_lines, "_objects", lambda block: ())
    monkeypatch.setattr(json_lines, "_shapes", lambda records, counts: [])


def in_blocks(monkeypatch: pytest.MonkeyPatch, size: int = 1 << 22, first: int = 1) -> None:
    """Lines together that are alike, whether or not pyarrow has been imported."""
    monkeypatch.undo()
    monkeypatch.setattr(csv_cells, "SMALL_BYTES", 0)
    monkeypatch.setattr(text, "FIRST_BYTES", first)
    monkeypatch.setattr(read_on, "blocks", lambda path, _, file: text.blocks(path, size, file))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (csv_tables, generated.csv_bytes),
        (csv_tables, generated.plain_csv_bytes),
        (json_lines, generated.json_bytes),
    ],
    ids=["csv", "plain csv", "jsonl"],
)
def test_a_table_in_blocks_is_the_table_read_with_care(
    reader: Any, content: Any, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log"
    for seed in few(range(part * 100, part * 100 + 100), 20):
        file.write_bytes(content(seed))
        with_care(monkeypatch)
        careful = attempts(reader.read, file)
        in_blocks(monkeypatch, (7, 64, 1 << 22)[seed % 3], (1, 100)[seed % 2])
        assert attempts(reader.read, file) == careful, seed


LONG = "9" * 2_000_000  # more than a block and than what pyarrow reads in one go
LONG_LINES = {
    "a number": (f"2,{LONG}", f'{{"step": {LONG}}}'),
    "a text": (f"2,x{LONG}", f'{{"step": 2, "a": "{LONG}"}}'),
    "blanks": (f"2,{' ' * len(LONG)}2", '{"step": 2, "loss":' + " " * len(LONG) + "2}"),
    "cells": ("2" + ",1" * 1_000_000, '{"a":' * 200_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LONG_LINES)
def test_a_line_longer_than_a_block_is_as_with_care(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, record = LONG_LINES[what]
    table = f"step,loss\n1,2.5\n{cell}\n3,2.0\n"
    lines = f'{{"step": 1, "loss": 2.5}}\n{record}\n{{"step": 3, "loss": 2.0}}\n'
    for content, reader in ((table, csv_tables), (lines, json_lines)):
        (tmp_path / "log").write_text(content)
        with_care(monkeypatch)
        careful = attempts(reader.read, tmp_path / "log")
        in_blocks(monkeypatch, 1 << 20)
        assert attempts(reader.read, tmp_path / "log") == careful


def test_rows_on_both_sides_of_damage_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f'{{"step": {i}, "loss": {i / 7!r}, "val": {{"loss": {i / 3!r}}}}}' for i in range(5000)]
    lines[1000], lines[2000], lines[3000] = '{"step": 1000, "lo', '{"step": 2000, "tags": [1, 2]}', "[]"
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + '\n{"step": 50')
    in_blocks(monkeypatch)
    (attempt,) = json_lines.read(tmp_path / "log.jsonl")
    assert attempt.truncated
    assert [(Path(fault.where).name, fault.what) for fault in attempt.faults] == [
        ("log.jsonl:1001", "line is not JSON; skipped"),
        ("log.jsonl:3001", "line is not a JSON object; skipped"),
    ]
    kept = [i for i in range(5000) if i not in (1000, 2000, 3000)]
    assert attempt.series["val/loss"].steps.tolist() == kept
    assert attempt.series["val/loss"].values.tolist() == [i / 3 for i in kept]
    assert attempt.series["tags/1"].steps.tolist() == [2000]


@pytest.mark.slow
def test_no_table_waits_for_pandas(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("step,loss,none\n" + "".join(f"{i},2.5,\n" for i in range(60_000)))
    code = (
        "import sys; from pathlib import Path; from chronicle.readers import read;"
        "read(Path(sys.argv[1])); print({'pandas', 'pyarrow', 'pyarrow.compute'} & {*sys.modules})"
    )
    assert printed_by(code, file, folder=tmp_path) == "{'pyarrow'}\n"


@pytest.mark.slow
def test_a_table_is_read_without_threads_that_could_outlive_it(tmp_path: Path) -> None:
    """A process that ended while those of pyarrow began was aborted. Two others remain."""
    file = tmp_path / "log.csv"
    file.write_text("step,loss\n" + "".join(f"{i},2.5\n" for i in range(600_000)))
    code = (
        "import psutil, pyarrow.csv, sys; from pathlib import Path; from chronicle.readers import read;"
        "process = psutil.Process(); before = process.num_threads(); read(Path(sys.argv[1]));"
        "print(process.num_threads() - before <= 2)"
    )
    assert printed_by(code, file, folder=tmp_path) == "True\n"


@pytest.mark.slow
def test_a_table_imports_no_reader_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n" + "".join(f"{i},2.5\n" for i in range(20)))
    others = ("chronicle.readers.console.", "chronicle.readers.events", "importlib.metadata", "numpy.ma.")
    code = (
        "import sys; from pathlib import Path; from chronicle.readers import read; read(Path(sys.argv[1]));"
        f"print(sorted(m for m in sys.modules if m.startswith({(*others, 'email', 'pyarrow')})))"
    )
    printed = printed_by(code, tmp_path / "log.csv", folder=tmp_path)
    assert printed == "['chronicle.readers.console.chunks']\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_marks_of_encodings(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.csv").write_bytes("step,löss\n1,2.5\n2,1.5\n".encode(encoding))
    in_blocks(monkeypatch)
    (attempt,) = csv_tables.read(tmp_path / "log.csv")
    assert attempt.series["löss"].values.tolist() == [2.5, 1.5]


@pytest.mark.parametrize(
    "cell", ["0x10", "1_000", "nan(7)", "-0", "1e999", "+5", "NA", " 7 ", "9" * 19, "12"]
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_what_pyarrow_and_python_spell_differently_is_as_with_care(
    cell: str, delimiter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["step", "loss", "lr"], *([str(i), f"{i / 7!r}", "1"] for i in range(20)), ["", "", ""]]
    rows += [[cell, "2.5", ""], ["31", cell, cell], ["32", "0.5", ""]]
    file = tmp_path / "log"
    file.write_text("".join(delimiter.join(row) + "\n" for row in rows))
    with_care(monkeypatch)
    careful = attempts(csv_tables.read, file)
    in_blocks(monkeypatch, 100)
    assert attempts(csv_tables.read, file) == careful


def test_a_spelled_nan_and_a_text_cost_no_later_block_its_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{i},{i / 7!r},,{'nan' if i % 3 else i},{'ab'[i % 2]}\n" for i in range(3000)]
    (tmp_path / "log.csv").write_text("step,loss,none,grad_norm,host\n" + "".join(rows))
    in_blocks(monkeypatch, 1 << 12, 1 << 12)
    monkeypatch.setattr(csv_cells.Cells, "add_lines", only_once(csv_cells.Cells.add_lines))
    (attempt,) = csv_tables.read(tmp_path / "log.csv")
    assert attempt.series["loss"].values.tolist() == [i / 7 for i in range(3000)]
    assert [i for i, v in enumerate(attempt.series["grad_norm"].values) if v == v] == [*range(0, 3000, 3)]


def only_once(read_lines: Any) -> Any:
    """The method, which may be called once: for the first block."""
    calls: list[None] = []

    def counted(self: Any, lines: Any) -> None:
        calls.append(None)
        assert len(calls) == 1
        read_lines(self, lines)

    return counted


# --- decimals ---

decimal = st.builds(
    "{}{}.{}e{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(-320, 320),
)
halfway = st.builds(
    lambda low, places, more: f"{(2 * low + 1) << places}.0{more}",
    st.integers(2**52, 2**53 - 1),
    st.integers(0, 10),
    st.sampled_from(["", "1"]),
)
odd = st.sampled_from(["+1", "007", "1.", ".5", "-0", "-0.0", "1E-05", "1e-400", "inf", "-Infinity", "1e400"])


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(st.lists(st.one_of(st.floats().map(repr), decimal, halfway, odd, st.integers().map(str)), min_size=1))
def test_a_decimal_has_the_bits_that_float_gives_it(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.csv"
        file.write_text("x,loss\n" + "".join(f"{i}.5,{text}\n" for i, text in enumerate(texts)))
        in_blocks(monkeypatch)
        (attempt,) = csv_tables.read(file)
    bits = [struct.pack("d", value) for value in attempt.series["loss"].values]
    assert bits == [struct.pack("d", float(text)) for text in texts]


def test_a_hole_in_a_file_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The zeros that a machine that fell leaves behind a log, and between two parts of it."""
    monkeypatch.setattr(text, "BLOCK_BYTES", 1000)
    file = tmp_path / "a.jsonl"
    rows = [f'{{"step": {step}, "loss": {step / 7}}}\n'.encode() for step in range(5000)]
    file.write_bytes(b"".join(rows[:4000]) + bytes(1_000_000) + b"".join(rows[4000:]) + bytes(1_000_000))
    with file.open("rb") as opened:
        pieces = list(text.blocks(file, 1000, opened))
    assert sum(map(len, pieces)) < sum(map(len, rows)) + 6000
    assert max(map(len, pieces[1:])) < 4000
    assert b"".join(pieces).replace(b"\0", b"") == b"".join(rows)
    (attempt,) = json_lines.read(file)
    steps = [*range(4000), *range(4001, 5000)]  # a line of zeros and a row is no row
    assert attempt.series["loss"].steps.tolist() == steps
    assert attempt.truncated


@pytest.mark.parametrize(
    "second",
    [b'{"step": 2, "loss": 1.5', b'{"step": 2}, {"step": 3}', b'["step"]', b"", b'{"step": 2,', b"2, {}"],
    ids=["open", "two objects", "a list", "blank", "a comma at its end", "a number"],
)
def test_a_block_is_parsed_as_one_list_only_if_each_line_is_an_object(second: bytes) -> None:
    first, last = b'{"step": 1, "loss": 2.5}', b'{"step": 4, "loss": 1.0}'
    assert json_lines._objects(b"\n".join([first, last, b""])) == [
        {"step": 1, "loss": 2.5},
        {"step": 4, "loss": 1.0},
    ]
    assert json_lines._objects(b"\n".join([first, second, last, b""])) == ()
    assert json_lines._objects(b"\n".join([first, last])) == ()  # its last line may be cut


WIDE = {
    "numbers": ["1,0.5,-0.0,1e3,nan,inf", "2,0.25,1_0,-1e-3,NaN,-inf", "3, 1 ,2,3,4,5"],
    "steps that are no whole numbers": ["1.5,0.5,1,1,1,1", "2.5,0.25,1,1,1,1"],
    "a blank": ["1,0.5,1,1,1,1", "2,,1,1,1,1", "3,0.25,1,1,1,1"],
    "a text": ["1,0.5,1,1,1,1", "2,oops,1,1,1,1", "3,0.25,1,1,1,1"],
    "a row with a comma more": ["1,0.5,1,1,1,1", "2,0.25,1,1,1,1,", "3,0.25,1,1,1,1"],
    "a single row": ["1,0.5,1,1,1,1"],
    "more rows than columns": [f"{n},0.5,1,1,1,{n}" for n in range(9)],
}


@pytest.mark.parametrize("rows", WIDE.values(), ids=WIDE)
def test_columns_that_are_read_together_are_those_read_one_by_one(
    rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All numbers of a table with more columns than rows are read at once."""
    (file := tmp_path / "log.csv").write_text("\n".join(["step,loss,a,b,c,d", *rows]) + "\n")
    together, real = list[bool](), csv_cells.Cells._numbers

    def noting(table: csv_cells.Cells, rows: list[list[str]]) -> Any:
        together.append((numbers := real(table, rows)) is not None)
        return numbers

    monkeypatch.setattr(csv_cells.Cells, "_numbers", noting)
    at_once = attempts(csv_tables.read, file)
    with_care(monkeypatch)
    assert at_once == attempts(csv_tables.read, file)
    assert any(together) is (rows in (WIDE["numbers"], WIDE["steps that are no whole numbers"]))
