"""Stores of trackers, written for tests from the same points, without the packages of the trackers."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.readers.writers import Points, rows, varint

WANDB_HEADER = b":W&B\xe1\xbe\x00"
BLOCK = 32768


def wandb_log(file: Path, points: Points, *, start: float = 1.7e9, **run: Any) -> None:
    """A run file: run, history at one row a second, exit with code 0."""
    history = [
        wandb_history(
            {**{k: v for k, v in row.items() if k != "step"}, "_timestamp": start + i}, int(row["step"])
        )
        for i, row in enumerate(rows(points))
    ]
    file.write_bytes(wandb_file([wandb_run(start=start, **run), *history, wandb_exit(0)]))


def wandb_file(records: Iterable[bytes]) -> bytes:
    """The bytes of a `.wandb` file with these records."""
    out = bytearray(WANDB_HEADER)
    for record in records:
        left, first = record, True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += bytes(room)
                continue
            piece, left = left[: room - 7], left[room - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not left]
            typed = bytes([kind]) + piece
            out += struct.pack("<IH", zlib.crc32(typed), len(piece)) + typed
            first = False
            if not left:
                break
    return bytes(out)


def key(number: int, kind: int = 2) -> bytes:
    """The key of a protobuf field."""
    return varint(number << 3 | kind)


def nested(number: int, content: bytes) -> bytes:
    """A length-delimited field of any number."""
    return key(number) + varint(len(content)) + content


def wandb_item(name: str | Sequence[str], value: Any, *, old: bool = False) -> bytes:
    """An item with the name in `nested_key`, or (old clients) in `key`."""
    parts = [name] if isinstance(name, str) else list(name)
    number = 1 if old else 2
    spelled = b"".join(nested(number, part.encode("utf-8", "surrogatepass")) for part in parts)
    return spelled + nested(16, json.dumps(value).encode())


def wandb_history(values: Mapping[Any, Any], step: int, *, old: bool = False) -> bytes:
    """A Record with a row of the history."""
    items = b"".join(nested(1, wandb_item(k, v, old=old)) for k, v in (values | {"_step": step}).items())
    counted = key(1, 0) + varint(step) if step else b""
    return nested(2, items + nested(2, counted))


def wandb_run(
    *, start: float = 1.7e9, run_id: str = "a1b2c3d4", config: Mapping[str, Any] | None = None, **texts: str
) -> bytes:
    """A Record with what a run says of itself. ``texts``: project, name, host, commit."""
    updates = b"".join(nested(1, wandb_item(k, v, old=True)) for k, v in (config or {}).items())
    numbers = {"project": 3, "name": 8, "host": 13}
    record = b"".join(nested(numbers[k], v.encode()) for k, v in texts.items() if k in numbers)
    record += nested(17, key(1, 0) + varint(int(start)))
    if "commit" in texts:
        record += nested(21, nested(2, texts["commit"].encode()))
    return nested(17, nested(1, run_id.encode()) + nested(4, updates) + record)


def wandb_exit(code: int) -> bytes:
    """A Record that ends a run."""
    return nested(18, (key(1, 0) + varint(code) if code else b"") + key(2, 0) + varint(60))


def wandb_output(text: str, *, at: int = 1_700_000_000, stream: int = 0) -> bytes:
    """A Record with a piece of console output, to stderr (0) or stdout (1)."""
    return nested(
        13, key(1, 0) + varint(stream) + nested(2, key(1, 0) + varint(at)) + nested(3, text.encode())
    )


def wandb_metric(step_metric: str) -> bytes:
    """A Record of define_metric."""
    return nested(12, nested(2, b"*") + nested(4, step_metric.encode()))


_MLFLOW = """
CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT, source_version TEXT,
    lifecycle_stage TEXT, experiment_id INTEGER);
CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN,
    PRIMARY KEY (key, timestamp, step, run_uuid, value, is_nan));
CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT, PRIMARY KEY (key, run_uuid));
CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT, PRIMARY KEY (key, run_uuid));
INSERT INTO experiments VALUES (1, 'tiny-lm', 'active');
"""
_TRACKIO = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT, run_name TEXT, config TEXT);
CREATE TABLE alerts (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT, timestamp TEXT, run_name TEXT,
    title TEXT, text TEXT, level TEXT, step INTEGER);
"""


def mlflow_log(file: Path, points: Points, *, run: str = "r1", name: str = "baseline") -> None:
    """A database of MLflow with a run more, one point a second; infinity as the package stores it."""
    with closing(sqlite3.connect(file)) as store, store:
        if not store.execute("SELECT name FROM sqlite_master").fetchall():
            store.executescript(_MLFLOW)
        store.execute(
            "INSERT INTO runs VALUES (?, ?, 'FINISHED', 1700000000000, '', 'active', 1)", (run, name)
        )
        for metric, values in points.items():
            for i, (step, value) in enumerate(values):
                stored = (
                    0.0
                    if value != value
                    else min(max(value, -1.7976931348623157e308), 1.7976931348623157e308)
                )
                row = (metric, stored, 1_700_000_000_000 + 1000 * i, run, step, value != value)
                store.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", row)


def mlflow_folder(folder: Path, points: Points, *, run: str = "r1") -> None:
    """A run in the file store of MLflow."""
    folder.mkdir(parents=True)
    meta = (
        "experiment_id: '1'",
        f"run_id: {run}",
        "run_name: baseline",
        "start_time: 1700000000000",
        "status: 3",
    )
    (folder / "meta.yaml").write_text("\n".join(meta) + "\n")
    for metric, values in points.items():
        file = folder / "metrics" / metric
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "".join(f"{1_700_000_000_000 + 1000 * i} {v} {s}\n" for i, (s, v) in enumerate(values))
        )


def trackio_log(file: Path, points: Points, *, run: str = "r1", name: str = "baseline") -> None:
    """A database of Trackio with a run more; NaN and infinity as the package stores them."""
    with closing(sqlite3.connect(file)) as store, store:
        if not store.execute("SELECT name FROM sqlite_master").fetchall():
            store.executescript(_TRACKIO)
        for i, row in enumerate(rows(points)):
            cells = {k: _spelled(v) for k, v in row.items() if k != "step"}
            at = f"2024-01-01T00:00:{i:02d}+00:00"
            values = (run, at, name, int(row["step"]), json.dumps(cells).encode())
            store.execute(
                "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
                values,
            )
        config = (run, name, json.dumps({"lr": 0.1, "_Created": "now"}))
        store.execute("INSERT INTO configs (run_id, run_name, config) VALUES (?, ?, ?)", config)


def _spelled(value: float) -> float | str:
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def wandb_alert(title: str, text: str) -> bytes:
    """A Record of wandb.alert."""
    return nested(10, nested(1, title.encode()) + nested(2, text.encode()) + nested(3, b"WARN"))
