"""Trackio: the SQLite database of a project, `<project>.db`, with all its runs.

Each run is an attempt with the fact "run". What Trackio exports as Parquet is a table like any other (see
`chronicle.readers.parquet`). The package trackio is not needed.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.columns import attempt_of, iso_seconds
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.json_lines import Row, columns_of, flat
from chronicle.readers.sqlite_store import Store, opened, tables_of
from chronicle.readers.text import Head
from chronicle.readers.trackers import on_one_axis, without_summary

NAME = "trackio"
SUFFIXES: tuple[str, ...] = ()

_COLUMNS = {"run_name", "step", "timestamp", "metrics"}
_NOTHING = "no run logged a metric. Remedy: name the store that the training wrote to"


def identify(head: Head) -> bool:
    """An SQLite database with the tables of Trackio."""
    found = tables_of(head.path)
    return "configs" in found and set(found.get("metrics", ())) >= _COLUMNS


def is_store(path: Path) -> bool:
    """Whether there is such a file, and it is a database of Trackio."""
    try:
        return path.is_file() and identify(Head.of(path))
    except OSError:
        return False


def runs(path: Path) -> list[str]:
    """The runs of the database, as the fact "run" of their attempts calls them."""
    with _database(path) as store:
        return list(_names(store.rows("metrics", ("run_id", "run_name"))).values())


def read(path: Path) -> list[Attempt]:
    """An attempt a run.

    Raises:
        BadLog: there is none, or the database is damaged from the beginning.
    """
    with _database(path) as store:
        rows: dict[tuple[Any, Any], list[Row]] = {}
        broken: Counter[tuple[Any, Any]] = Counter()
        columns = ("run_id", "run_name", "step", "timestamp", "metrics")
        for run_id, run_name, step, timestamp, text in store.rows("metrics", columns):
            cells = _object(text)
            if cells is None or not isinstance(step, int):
                broken[run_id, run_name] += 1
                continue
            row = {**dict(flat(cells)), "_step": step, "_timestamp": str(timestamp)}
            rows.setdefault((run_id, run_name), []).append(row)
        configs = {(a, b): _object(c) for a, b, c in store.rows("configs", ("run_id", "run_name", "config"))}
        alerts = _alerts(path, store)
        attempts = []
        for key, name in _names(iter(rows)).items():
            faults = [*store.faults, *alerts.get(key, [])]
            if broken[key]:
                faults.append(Fault(Place(str(path)), "row is no JSON object; skipped", broken[key]))
            attempts += _attempt(path, name, rows[key], configs.get(key), faults, store.truncated)
    if not attempts:
        raise BadLog(str(path), _NOTHING)
    return attempts


def _attempt(
    path: Path, name: str, rows: list[Row], config: Row | None, faults: list[Fault], truncated: bool
) -> list[Attempt]:
    columns = on_one_axis(columns_of(rows), "_step")
    facts = {"run": name, "project": path.stem, **config_facts(_without_own(config or {}))}
    try:
        attempt = attempt_of(
            path,
            len(rows),
            columns,
            name=f"{path.name}: {name}",
            facts=facts,
            faults=faults,
            truncated=truncated,
        )
    except BadLog:  # a run that logged texts and media only
        return []
    return [without_summary(attempt)]


@contextmanager
def _database(path: Path) -> Iterator[Store]:
    try:
        with opened(path) as store:
            yield store
    except sqlite3.Error as err:
        raise BadLog(str(path), f"is a damaged database ({err}). Remedy: restore it from a copy") from err


def _names(keys: Iterator[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """What to call each (run_id, run_name), in order: its name, and a part of its id where two share it."""
    distinct = list(dict.fromkeys(keys))
    names = Counter(name for _, name in distinct)
    return {
        (run_id, name): str(name) if names[name] == 1 else f"{name} {str(run_id)[:8]}"
        for run_id, name in distinct
    }


def _alerts(path: Path, store: Store) -> dict[tuple[Any, Any], list[Fault]]:
    """What the training itself reported (`trackio.alert`), by run."""
    found: dict[tuple[Any, Any], list[Fault]] = {}
    columns = ("run_id", "run_name", "timestamp", "level", "title", "text", "step")
    for run_id, run_name, timestamp, level, title, text, step in store.rows("alerts", columns):
        times = iso_seconds([str(timestamp)])
        what = f"alert ({level}): {title}" + (f": {text}" if text else "")
        fault = Fault(
            Place(str(path)),
            what[:500],
            at_time=float(times[0]) if times is not None else float("nan"),
            kind="alert",
            at_step=step if isinstance(step, int) else None,
        )
        found.setdefault((run_id, run_name), []).append(fault)
    return found


def _object(text: Any) -> Row | None:
    """The object of a cell, which older versions of Trackio kept as text, newer ones as bytes."""
    try:
        found = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _without_own(config: Row) -> Row:
    """The configuration without what Trackio adds (`_Username`, `_Created`, ...)."""
    return {key: value for key, value in config.items() if not key.startswith("_")}
