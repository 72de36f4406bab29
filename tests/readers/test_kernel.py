"""The compiled scanners against the careful readers, bit for bit, and decimals against `float`."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers import tables as generated

from chronicle.errors import LogError
from chronicle.model import Attempt
from chronicle.readers import blocks, csv_rows, csv_tables, json_lines, json_rows
from chronicle.readers.kernel import compiled, decimals, stored, words


def attempts(read: Callable[[Path], list[Attempt]], file: Path) -> Any:
    """All that a reader says of a file, in a form that can be compared bit for bit."""
    try:
        found = read(file)
    except LogError as err:
        return str(err)
    return [
        (
            repr((one.name, one.facts, one.faults, one.truncated, one.axis)),
            [
                (name, s.steps.tolist(), s.values.tobytes(), s.times.tobytes())
                for name, s in one.series.items()
            ],
        )
        for one in found
    ]


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize(
    ("reader", "user", "content"),
    [(csv_tables, csv_rows, generated.csv_bytes), (json_lines, json_lines, generated.json_bytes)],
    ids=["csv", "jsonl"],
)
def test_a_compiled_table_is_the_table_read_with_care(
    reader: Any, user: Any, content: Any, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, file = compiled.compiled("tables"), tmp_path / "log"
    for seed in range(part * 100, part * 100 + 100):
        file.write_bytes(content(seed))
        monkeypatch.setattr(blocks, "BLOCK_BYTES", (7, 64, 1 << 22)[seed % 3])
        monkeypatch.setattr(json_rows, "HEAD_BYTES", (1, 100)[seed % 2])
        monkeypatch.setattr(user, "engine_for", lambda path: None)
        careful = attempts(reader.read, file)
        monkeypatch.setattr(user, "engine_for", lambda path: engine)
        assert attempts(reader.read, file) == careful, seed


LONG = "9" * 10_000_000
LONG_LINES = {
    "a number": (f"2,{LONG}", f'{{"step": {LONG}}}'),
    "a text": (f"2,x{LONG}", f'{{"step": 2, "a": "{LONG}"}}'),
    "blanks": (f"2,{' ' * len(LONG)}2", '{"step": 2, "loss":' + " " * len(LONG) + "2}"),
    "cells": ("2" + ",1" * 5_000_000, '{"a":' * 200_000),
}


@pytest.mark.parametrize("what", LONG_LINES)
def test_a_line_of_ten_megabytes_is_as_with_care(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, record = LONG_LINES[what]
    table = f"step,loss\n1,2.5\n{cell}\n3,2.0\n"
    lines = f'{{"step": 1, "loss": 2.5}}\n{record}\n{{"step": 3, "loss": 2.0}}\n'
    for content, reader, user in ((table, csv_tables, csv_rows), (lines, json_lines, json_lines)):
        (tmp_path / "log").write_text(content)
        monkeypatch.setattr(user, "engine_for", lambda path: None)
        careful = attempts(reader.read, tmp_path / "log")
        monkeypatch.setattr(user, "engine_for", lambda path: compiled.compiled("tables"))
        assert attempts(reader.read, tmp_path / "log") == careful


def test_rows_on_both_sides_of_damage_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f'{{"step": {i}, "loss": {i / 7!r}, "val": {{"loss": {i / 3!r}}}}}' for i in range(5000)]
    lines[1000], lines[2000], lines[3000] = '{"step": 1000, "lo', '{"step": 2000, "tags": [1, 2]}', "[]"
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + '\n{"step": 50')
    monkeypatch.setattr(json_lines, "engine_for", lambda path: compiled.compiled("tables"))
    (attempt,) = json_lines.read(tmp_path / "log.jsonl")
    assert attempt.truncated
    assert [(Path(fault.where).name, fault.what) for fault in attempt.faults] == [
        ("log.jsonl:1001", "line is no JSON; skipped"),
        ("log.jsonl:3001", "line is no JSON object; skipped"),
    ]
    kept = [i for i in range(5000) if i not in (1000, 2000, 3000)]
    assert attempt.series["val/loss"].steps.tolist() == kept
    assert attempt.series["val/loss"].values.tolist() == [i / 3 for i in kept]
    assert attempt.series["tags/1"].steps.tolist() == [2000]


def test_a_compiler_is_only_waited_for_where_the_file_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.csv"
    file.write_text("step,loss\n1,2.5\n")
    code = (
        "import sys; from pathlib import Path; from chronicle.readers import read;"
        "from chronicle.readers.kernel import compiled;"
        "compiled.COMPILE_FROM = int(sys.argv[2]); read(Path(sys.argv[1])); print('llvmlite' in sys.modules)"
    )
    for least, imported in (("16000000", "False"), ("1", "True")):
        command = [sys.executable, "-c", code, str(file), least]
        found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert found.stdout.split() == [imported]
    monkeypatch.setattr(compiled, "available", lambda: False)
    assert blocks.engine_for(file) is None


def test_machine_code_is_made_once_and_anew_where_its_file_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"code")
        return b"code"

    assert [stored.kept("name", make) for _ in range(3)] == [b"code"] * 3
    assert len(made) == 1
    (file,) = (tmp_path / "cache").iterdir()
    for damaged in (b"", file.read_bytes()[:-1], file.read_bytes()[:-1] + b"!"):
        file.write_bytes(damaged)
        assert (stored.kept("name", make), stored.kept("name", make)) == (b"code", b"code")
    assert len(made) == 4


def test_machine_code_is_made_where_no_folder_can_be_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "folders", lambda: iter([Path("/dev/null/cache")]))
    assert stored.kept("name", lambda: b"code") == b"code"


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, np.int64), np.zeros((3, 3), np.int32), np.zeros(6, np.int32)[::2]], ids=repr
)
def test_machine_code_takes_no_array_of_another_kind(wrong: Any) -> None:
    ints, words, places = np.zeros(3, np.int32), np.zeros(3, np.uint64), np.zeros(3, np.int64)
    group = compiled.compiled("tables").csv_group
    assert group(ints, ints, words, places, places.copy(), ints.copy(), words.copy()) == ()
    with pytest.raises(TypeError, match="is wanted"):
        group(wrong, ints, words, places, places.copy(), ints.copy(), words.copy())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_marks_of_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes("step,löss\n1,2.5\n".encode(encoding))
    (attempt,) = csv_tables.read(tmp_path / "log.csv")
    assert attempt.series["löss"].values.tolist() == [2.5]
    assert (blocks.engine_for(tmp_path / "log.csv") is None) or encoding != "utf-16"


# --- decimals ---


def scope() -> dict[str, Any]:
    known = vars(words) | vars(decimals)
    made = {name: value for name, value in known.items() if not name.startswith("__")}
    for name, value in list(made.items()):
        if isinstance(value, FunctionType):
            made[name] = numba.njit(FunctionType(value.__code__, made, name))
    return made


SCOPE = scope()
NUMBER = SCOPE["number"]


def number(text: str, *, strict: bool = False, behind: str = "\n") -> tuple[int, int, float]:
    """Kind, end and value of what stands at the begin of a text."""
    bits = np.zeros(1, np.uint64)
    buffer = np.frombuffer((text + behind).encode(), np.uint8)
    kind, end = NUMBER(buffer, 0, strict, bits, bits.view(np.float64), 0)
    value = bits.view(np.int64)[0] if kind == decimals.WHOLE else bits.view(np.float64)[0]
    return kind, end, float(value)


def same(text: str) -> bool:
    """Whether a number is read to its end, with the bits that `float` gives it; or left to `float`.

    Digits are read eight at a time only where a buffer has so many bytes left.
    """
    for behind in ("\n", ",12345678\n", "\n\xff\xff\xff\xff\xff\xff\xff\n"):
        kind, end, value = number(text, behind=behind)
        whole = end == len(text) and struct.pack("d", value) == struct.pack("d", float(text))
        if kind != decimals.ODD and not whole:
            return False
    return True


decimal = st.builds(
    "{}{}.{}e{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(-320, 320),
)


@settings(max_examples=600, deadline=None)
@given(st.one_of(st.floats().map(repr), decimal, st.integers(-(2**64), 2**64).map(str)))
def test_a_decimal_has_the_bits_that_float_gives_it(text: str) -> None:
    assert same(text)


@settings(max_examples=300, deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 10), st.sampled_from(["", "1"]))
def test_a_decimal_halfway_between_two_doubles_goes_to_the_even_one(low: int, places: int, more: str) -> None:
    assert same(f"{(2 * low + 1) << places}.0{more}")


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789", max_size=30), st.text("/:.e, \x00\x7fé", min_size=1, max_size=9))
def test_digits_end_at_the_first_byte_that_is_none(text: str, behind: str) -> None:
    buffer = np.frombuffer((text + behind + "12345678\n").encode(), np.uint8)
    w, end = SCOPE["many_digits"](buffer, 0, np.uint64(0))
    assert (int(w), int(end)) == (int(text or "0") % 2**64, len(text))


@settings(max_examples=300, deadline=None)
@given(st.floats(2.3e-308, 1.7e308))
def test_what_loggers_write_is_never_left_to_float(value: float) -> None:
    assert number(repr(value))[0] == decimals.REAL


@pytest.mark.parametrize(
    ("text", "kind", "in_json"),
    [
        ("1", 1, 1), ("-7", 1, 1), ("1.5", 2, 2), ("1e5", 2, 2), ("1E-05", 2, 2), ("-0.0", 2, 2),
        ("+1", 1, 0), ("007", 1, 0), ("1.", 2, 0), (".5", 2, 0), ("-0", 0, 0), ("-", 0, 0), (".", 0, 0),
        ("1e", 0, 0),
        ("NaN", 2, 2), ("nan", 2, 0), ("-nan", 2, 0), ("-NaN", 2, 0), ("Infinity", 2, 2), ("-Infinity", 2, 2),
        ("inf", 2, 0), ("INF", 2, 0), ("9223372036854775807", 1, 1), ("9223372036854775808", 0, 0),
        ("1e-400", 0, 0), ("0.12345678901234567890", 0, 0), ("x", 0, 0), ("", 0, 0),
    ],
)  # fmt: skip
def test_what_is_a_number(text: str, kind: int, in_json: int) -> None:
    assert (number(text)[0], number(text, strict=True)[0]) == (kind, in_json)


def test_a_constant_of_another_module_belongs_to_the_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code holds its value: code that was kept must not outlive it."""
    before = compiled._seal([decimals], "host")
    assert compiled._seal([decimals], "host") == before
    monkeypatch.setattr(decimals, "WHOLE", decimals.WHOLE + 1)
    assert compiled._seal([decimals], "host") != before
