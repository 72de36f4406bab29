"""JSON lines: one object a logged step; nested objects are flattened with "/".

Lines without a number (configuration, events) are facts. NaN and Infinity are read as Python writes them,
numbers in strings (fairseq) as numbers, null as not measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Fault, Role
from chronicle.readers import tables
from chronicle.readers.cells import number
from chronicle.readers.hyperparameters import below_config, named_facts
from chronicle.readers.tables import Column
from chronicle.readers.text import Lines, clean, head_lines
from chronicle.roles import role_of

NAME = "jsonl"
SUFFIXES = (".jsonl", ".ndjson", ".json")

MAX_EVENTS, MAX_DEPTH, MAX_LIST = 1000, 8, 16

Row = dict[str, Any]


def identify(path: Path) -> bool:
    """The first line is one whole JSON object. A file of one line, or of lines longer than the head, is
    JSON lines only if its suffix says so: it may as well be any JSON document."""
    lines = [line.strip() for line in head_lines(path) if line.strip()][:2]
    if not lines or not lines[0].startswith('{"') or '"log_history"' in lines[0]:
        return False
    by_suffix = path.suffix.lower() in SUFFIXES[:2]
    try:
        return isinstance(json.loads(lines[0]), dict) and (len(lines) > 1 or by_suffix)
    except (ValueError, RecursionError):
        return len(lines) == 1 and by_suffix


def read(path: Path) -> list[Attempt]:
    """One attempt, a row for each line with a step. A line without one that holds a metric belongs to the
    step before it; any other is an event (fact "events"). Lines before the first step are facts: what the
    training was started with. Where no line holds a step, those with a known metric are rows, or all lines.

    Raises:
        BadLog: no line holds a number.
    """
    lines, faults = Lines(path), list[Fault]()
    rows, early, events = list[Row](), list[Row](), list[Row]()
    truncated = False
    for row in _rows(lines, faults):
        if row is None:
            truncated = True
        elif any(map(_counts_steps, row)) or (rows and any(map(_is_metric, row))):
            rows.append(row)
        elif not rows:
            early.append(row)
        else:
            events.append({"row": len(rows), **row})
    if not rows:
        early, rows, events = _without_steps(early)
    facts: dict[str, Any] = named_facts(item for row in early for item in row.items())
    if events:
        facts["events"] = events[:MAX_EVENTS]
    columns = columns_of(rows)
    return [tables.attempt(path, len(rows), columns, facts=facts, faults=faults, truncated=truncated)]


def _without_steps(found: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """Facts, rows and events of a log in which nothing counts steps."""
    metric = [any(map(_is_metric, row)) for row in found]
    if not any(metric):
        return ([], found, []) if len(found) > 1 else (found, [], [])
    first = metric.index(True)
    rows = [row for row, is_row in zip(found, metric, strict=True) if is_row]
    n_rows = np.cumsum(metric).tolist()
    events = [
        {"row": n, **row} for row, n, is_row in zip(found, n_rows, metric, strict=True) if n and not is_row
    ]
    return found[:first], rows, events


def _rows(lines: Lines, faults: list[Fault]) -> Iterator[Row | None]:
    """The objects of all lines, flat; None for a last line that was cut."""
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            if lines.unfinished:
                yield None
            else:
                faults.append(Fault(f"{lines.path}:{lines.number}", "line is no JSON; skipped"))
            continue
        if isinstance(record, dict):
            yield dict(flat(record))
        else:
            faults.append(Fault(f"{lines.path}:{lines.number}", "line is no JSON object; skipped"))


def flat(
    record: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, float | int | str]]:
    """(name, number or text) of a nested object, names joined with "/"; null is left out."""
    for name, value in record.items():
        key, kind = clean(name), type(value)
        if kind is float or kind is int:
            yield prefix + key, value
        elif kind is str:
            yield prefix + key, clean(value) if (parsed := number(value)) is None else parsed
        elif kind is bool:
            yield prefix + key, int(value)
        elif kind is dict and depth < MAX_DEPTH:
            yield from flat(value, f"{prefix}{key}/", depth + 1)
        elif kind is list and len(value) <= MAX_LIST and depth < MAX_DEPTH:
            named = {key: value[0]} if len(value) == 1 else {f"{key}/{i}": v for i, v in enumerate(value)}
            yield from flat(named, prefix, depth + 1)


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


def _counts_steps(name: str) -> bool:
    return tables.step_rank(name) is not None


def _is_metric(name: str) -> bool:
    return not name.startswith("_") and role_of(name) is not Role.OTHER and not below_config(name)
