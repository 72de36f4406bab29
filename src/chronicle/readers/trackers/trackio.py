"""Trackio: the SQLite database of a project, `<project>.db`, with all its runs. What Trackio exports as
Parquet is a table like any other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.metrics.values import moment
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.json_lines import Row, columns_of, flat
from chronicle.readers.text import Head, json_or_none
from chronicle.readers.trackers import NOTHING, Store, attempt_of_calls, names_of, opened, tables_of

_COLUMNS = {"run_name", "step", "timestamp", "metrics"}


def identify(head: Head) -> bool:
    """Whether a file is an SQLite database with the tables of Trackio."""
    columns = tables_of(head.path)
    return "configs" in columns and set(columns.get("metrics", ())) >= _COLUMNS


def is_store(path: Path) -> bool:
    """Whether the file exists and is a database of Trackio."""
    with suppress(OSError):
        return path.is_file() and identify(Head.of(path))
    return False


def runs(path: Path) -> list[str]:
    """The names (the fact "run") of all runs in the database."""
    with opened(path) as store:
        return list(names_of(store.rows("metrics", ("run_id", "run_name"))).values())


def read(path: Path) -> list[Attempt]:
    """One attempt for each run. Raises BadLog if there is none, or the whole database is damaged."""
    with opened(path) as store:
        rows, broken = defaultdict[tuple[Any, Any], list[Row]](list), Counter[tuple[Any, Any]]()
        columns = ("run_id", "run_name", "step", "timestamp", "metrics")
        for run_id, run_name, step, timestamp, text in store.rows("metrics", columns):
            cells = _object(text)
            if cells is None or not isinstance(step, int):
                broken[run_id, run_name] += 1
                continue
            row = {**dict(flat(cells)), "_step": step, "_timestamp": str(timestamp)}
            rows[run_id, run_name].append(row)
        configs = {(i, n): _object(c) for i, n, c in store.rows("configs", ("run_id", "run_name", "config"))}
        alerts = _alerts(path, store)
        attempts = []
        for key, name in names_of(rows).items():
            faults = [*store.faults, *alerts[key]]
            if broken[key]:
                faults.append(Fault(Place(str(path)), "row is no JSON object; skipped", broken[key]))
            # Trackio itself adds `_Username`, `_Created` and the like.
            config = {name: v for name, v in (configs.get(key) or {}).items() if not name.startswith("_")}
            with suppress(BadLog):  # raised for a run that logged only texts and media
                facts = {"run": name, "project": path.stem, **config_facts(config)}
                known: dict[str, Any] = {"facts": facts, "faults": faults, "name": f"{path.name}: {name}"}
                of_run, is_cut = (path, len(rows[key]), columns_of(rows[key])), bool(store.faults)
                attempts.append(attempt_of_calls(*of_run, truncated=is_cut, **known))
    if not attempts:
        raise BadLog(str(path), NOTHING)
    return attempts


def _alerts(path: Path, store: Store) -> dict[tuple[Any, Any], list[Fault]]:
    """The alerts that trainings sent with `trackio.alert`, by run."""
    alerts = defaultdict[tuple[Any, Any], list[Fault]](list)
    columns = ("run_id", "run_name", "timestamp", "level", "title", "text", "step")
    for run_id, run_name, timestamp, level, title, text, step in store.rows("alerts", columns):
        alert = f"alert ({level}): {title}" + (f": {text}" if text else "")
        at_time, at_step = moment(str(timestamp), math.nan), step if isinstance(step, int) else None
        fault = Fault(Place(str(path)), alert[:500], at_time=at_time, kind="alert", at_step=at_step)
        alerts[run_id, run_name].append(fault)
    return alerts


def _object(text: Any) -> Row | None:
    """The JSON object in a cell, which older versions of Trackio store as text, newer ones as bytes."""
    content = json_or_none(text) if isinstance(text, str | bytes) else None
    return content if isinstance(content, dict) else None
