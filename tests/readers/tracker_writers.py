"""Stores of trackers, written for tests from the same points, without the packages of the trackers."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
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
    said = b"".join(nested(numbers[k], v.encode()) for k, v in texts.items() if k in numbers)
    said += nested(17, key(1, 0) + varint(int(start)))
    if "commit" in texts:
        said += nested(21, nested(2, texts["commit"].encode()))
    return nested(17, nested(1, run_id.encode()) + nested(4, updates) + said)


def wandb_exit(code: int) -> bytes:
    """A Record that ends a run."""
    return nested(18, (key(1, 0) + varint(code) if code else b"") + key(2, 0) + varint(60))


def wandb_output(text: str) -> bytes:
    """A Record with a piece of console output."""
    return nested(13, nested(3, text.encode()))


def wandb_metric(step_metric: str) -> bytes:
    """A Record of define_metric."""
    return nested(12, nested(2, b"*") + nested(4, step_metric.encode()))
