"""JSON lines: one object a logged step; nested objects are flattened with "/".

Lines without a number (configuration, events) are facts. NaN and Infinity are read as Python writes them,
numbers in strings (fairseq) as numbers, null as not measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt
from chronicle.readers.blocks import engine_for
from chronicle.readers.json_rows import JsonLog, Row, cells_of
from chronicle.readers.runs_in_table import RUN_NAMES, runs_of
from chronicle.readers.tables import Column
from chronicle.readers.text import Head, Lines, encoding_of, head, head_lines, numbered

__all__ = ["Row", "columns_of", "flat"]

NAME = "jsonl"
SUFFIXES = (".jsonl", ".ndjson", ".json")

LONGEST_FIRST = 1 << 18  # characters of a first line that holds the whole configuration
MOST_EMPTY = 100  # lines before the first that tells something
_OBJECT, _EMPTY = re.compile(r'\{\s*"'), re.compile(r"\{\s*\}")


def identify(head: Head) -> bool:
    """The first line that is no empty object is one whole JSON object, with another line below it. A file of
    one line, or whose first line is very long, is JSON lines only if its suffix says so: it may as well be
    any JSON document."""
    if not "".join(head.lines).lstrip().startswith("{"):
        return False
    first, second = _begin(head.path)
    if not _OBJECT.match(first) or '"log_history"' in first:
        return False
    by_suffix = head.path.suffix.lower() in SUFFIXES[:2]
    try:
        return isinstance(json.loads(first), dict) and (bool(second) or by_suffix)
    except (ValueError, RecursionError):
        return by_suffix and (not second or len(first) == LONGEST_FIRST)


def _begin(path: Path) -> tuple[str, str]:
    """The first two lines that are neither blank nor an empty object; "" where there are none."""
    with path.open(encoding=encoding_of(head(path)), errors="replace") as file:
        lines = (file.readline(LONGEST_FIRST).strip() for _ in range(MOST_EMPTY))
        told = (line for line in lines if line and not _EMPTY.fullmatch(line))
        return next(told, ""), next(told, "")


def read(path: Path) -> list[Attempt]:
    """An attempt a run, a row for each line with a step. A line without one that holds a metric belongs to
    the step before it; any other is an event (fact "events"). Lines before the first step are facts: what
    the training was started with. Where no line holds a step, those with a known metric are rows, or all.

    Raises:
        BadLog: no line holds a number.
    """
    return _log(path).attempts()


def runs(path: Path) -> list[str]:
    """The runs that a key of the lines names, as the fact "run" of their attempts; [] where none does.

    The lines are only read where one of the first has such a key.
    """
    if not any(f'"{name}":' in line for line in head_lines(path) for name in RUN_NAMES):
        return []
    return [run for run in runs_of(path, _log(path).columns()) if run]


def _log(path: Path) -> JsonLog:
    log = JsonLog(path)
    engine = engine_for(path)
    if engine:
        log.read_blocks(engine)
    else:
        log.read_lines(numbered(Lines(path)))
    return log


def flat(record: Mapping[str, Any]) -> Iterator[tuple[str, float | int | str]]:
    """(name, number or text) of a nested object, names joined with "/"; null is left out."""
    return ((name, value) for name, value in cells_of(record) if value is not None)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """Columns from flat rows, in the order of their first cells; text among numbers is left out."""
    cells: dict[str, tuple[list[int], list[Any]]] = {}
    for index, row in enumerate(rows):
        for key, value in row.items():
            at, values = cells.setdefault(key, ([], []))
            at.append(index)
            values.append(value)
    return {key: _column(at, values) for key, (at, values) in cells.items()}


def _column(at: list[int], values: list[Any]) -> Column:
    kinds = set(map(type, values))
    if str in kinds:
        kinds.discard(str)
        wanted: Any = str if sum(type(v) is str for v in values) > len(values) / 2 else (int, float)
        kept = [(i, v) for i, v in zip(at, values, strict=True) if isinstance(v, wanted)]
        at, values = [i for i, _ in kept], [v for _, v in kept]
        if wanted is str:
            return Column(np.array(values, dtype=object), np.array(at, dtype=np.int64))
    return Column(_numbers(values, kinds == {int}), np.array(at, dtype=np.int64))


def _numbers(values: list[Any], whole: bool) -> NDArray[Any]:
    """int64 where all are whole and fit, else float64 (an int too large even for that is inf)."""
    try:
        return np.array(values, dtype=np.int64 if whole else np.float64)
    except OverflowError:
        return np.array([float(str(value)) for value in values])
