"""The compiled scanners against the careful readers, bit for bit, and decimals against `float`."""

from __future__ import annotations

import struct
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
from chronicle.readers.kernel import compiled, decimals


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
    engine, file = compiled.compiled(), tmp_path / "log"
    for seed in range(part * 250, part * 250 + 250):
        file.write_bytes(content(seed))
        monkeypatch.setattr(blocks, "BLOCK_BYTES", (7, 64, 1 << 22)[seed % 3])
        monkeypatch.setattr(json_rows, "HEAD_BYTES", (1, 100)[seed % 2])
        monkeypatch.setattr(user, "engine_for", lambda path: None)
        careful = attempts(reader.read, file)
        monkeypatch.setattr(user, "engine_for", lambda path: engine)
        assert attempts(reader.read, file) == careful, seed


# --- decimals ---


def scope() -> dict[str, Any]:
    made = {name: value for name, value in vars(decimals).items() if not name.startswith("__")}
    for name, value in list(made.items()):
        if isinstance(value, FunctionType):
            made[name] = numba.njit(FunctionType(value.__code__, made, name))
    return made


NUMBER = scope()["number"]


def number(text: str, *, strict: bool = False) -> tuple[int, int, float]:
    """Kind, end and value of what stands at the begin of a text."""
    bits = np.zeros(1, np.uint64)
    buffer = np.frombuffer(text.encode() + b"\n", np.uint8)
    kind, end = NUMBER(buffer, 0, strict, bits, bits.view(np.float64), 0)
    value = bits.view(np.int64)[0] if kind == decimals.WHOLE else bits.view(np.float64)[0]
    return kind, end, float(value)


def same(text: str) -> bool:
    """Whether a number is read to its end, with the bits that `float` gives it; or left to `float`."""
    kind, end, value = number(text)
    return kind == decimals.ODD or (
        end == len(text) and struct.pack("d", value) == struct.pack("d", float(text))
    )


decimal = st.builds(
    "{}{}.{}e{}".format,
    st.sampled_from(["", "-"]),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(-320, 320),
)


@settings(max_examples=2000, deadline=None)
@given(st.one_of(st.floats().map(repr), decimal, st.integers(-(2**64), 2**64).map(str)))
def test_a_decimal_has_the_bits_that_float_gives_it(text: str) -> None:
    assert same(text)


@settings(max_examples=1000, deadline=None)
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 10), st.sampled_from(["", "1"]))
def test_a_decimal_halfway_between_two_doubles_goes_to_the_even_one(low: int, places: int, more: str) -> None:
    assert same(f"{(2 * low + 1) << places}.0{more}")


@settings(max_examples=1000, deadline=None)
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
