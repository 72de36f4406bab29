"""The folder of DVCLive: a TSV for each metric, whose path below the folder of metrics is its name.

Versions from 2 on write `plots/metrics/**/x.tsv`, version 1 `plots/scalars` or `scalars`, with a column
`timestamp` before the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place, Series
from chronicle.readers import tables
from chronicle.readers.cells import number
from chronicle.readers.csv_rows import Table
from chronicle.readers.text import clean, head_lines

PLACES = ("plots/metrics", "plots/scalars", "scalars")
PARAMETERS = "params.yaml"
MOST_FILES, MOST_PARAMETERS = 10_000, 1000


def is_dvclive(path: Path) -> bool:
    """Whether the folder has a place for metrics, and the first file in it counts steps for its own name."""
    files = _files(path)
    _, file = next(files, (path, None))
    if file is None:
        return False
    names = next((line.split("\t") for line in head_lines(file) if line.strip()), [])
    return 2 <= len(names) <= 3 and {"step", file.stem} <= set(map(str.strip, names))


def read_dvclive(path: Path) -> list[Attempt]:
    """One attempt of all metrics; a file that holds no number is a fault.

    Raises:
        BadLog: no file holds a number.
    """
    series, faults, truncated = dict[str, Series](), list[Fault](), False
    for place, file in _files(path):
        try:
            one = _metric(file)
        except BadLog as problem:
            faults.append(Fault(Place(str(file)), problem.problem))
            continue
        name = clean(file.relative_to(place).with_suffix("").as_posix())
        series[name] = replace(next(iter(one.series.values())), metric=name)
        faults += one.faults
        truncated |= one.truncated
    if not series:
        raise BadLog(str(path), "holds no numbers. Remedy: check that it is the folder of a training")
    facts = {"framework": "dvclive", **_parameters(path / PARAMETERS)}
    return [Attempt(path.name, (str(path),), series, facts, tuple(faults), truncated, "step")]


def _files(path: Path) -> Iterator[tuple[Path, Path]]:
    """The first place for metrics that holds any, and each file in it, in order of their names."""
    for place in (path / place for place in PLACES):
        found = place.rglob("*.tsv") if place.is_dir() else ()
        files = sorted(file for file in found if file.is_file())[:MOST_FILES]
        if files:
            yield from ((place, file) for file in files)
            return


def _metric(file: Path) -> Attempt:
    """The column of a file that is neither step nor clock."""
    table = Table(file)
    column = next((name for name in reversed(table.names) if tables.step_rank(name) is None), "")
    kept = {n: c for n, c in table.columns.items() if n == column or n in ("step", "timestamp")}
    return tables.attempt(file, table.n_rows, kept, faults=table.faults, truncated=table.truncated)


def _parameters(file: Path) -> dict[str, Any]:
    """What `log_params` wrote, one name and value a line; lists and nested tables are left out."""
    lines = head_lines(file) if file.is_file() else []
    pairs = [line.partition(": ") for line in lines if line[:1].strip() and not line.startswith(("#", "-"))]
    values = {name.strip("'\""): text.strip().strip("'\"") for name, colon, text in pairs if colon}
    known = {f"config/{clean(name)}": number(text) for name, text in values.items()}
    texts = {f"config/{clean(name)}": clean(text) for name, text in values.items()}
    made = {name: texts[name] if value is None else value for name, value in known.items() if texts[name]}
    return dict(list(made.items())[:MOST_PARAMETERS])
