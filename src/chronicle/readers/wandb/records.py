"""The records of a W&B run that chronicle uses, by the protobuf wire format.

Field numbers are those of wandb_internal.proto. Until spring 2024 clients put the name of a metric into
`key`, since December 2024 into `nested_key`; both are read, nested names joined with "." as W&B shows them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from chronicle.readers.cells import number
from chronicle.readers.event_wire import BYTES, VARINT, fields, signed, varint
from chronicle.readers.hyperparameters import leaves
from chronicle.readers.tables import Column
from chronicle.readers.text import clean

HISTORY, SUMMARY, CONFIG, ALERT, METRIC, OUTPUT_RAW, RUN, EXIT, ENVIRONMENT = 2, 3, 5, 10, 12, 13, 17, 18, 26
OUTPUT, PREEMPTING = 4, 23

_VALUE_KEY = b"\x82\x01"  # field 16, value_json


def body(record: bytes) -> tuple[int, bytes]:
    """(field number, message) of what a Record holds; (0, b"") where it is nothing known.

    Raises:
        ValueError: the bytes are no protobuf message.
    """
    for name, kind, value in fields(record):
        if kind == BYTES and name not in (16, 19, 200):
            return name, value
    return 0, b""


class History:
    """Columns under construction, one row a history record.

    The names of metrics are looked up by the bytes that spell them, since they repeat in every record.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._cells: dict[str, tuple[array[int], array[float]]] = {}
        self._names: dict[bytes, str] = {}
        self._steps = array("q")

    def add(self, message: bytes) -> None:
        """Appends a row. Raises ValueError where the bytes are no protobuf message."""
        items, step, declared = list[bytes](), None, 0
        for field, kind, value in fields(message):
            if field == 1 and kind == BYTES:
                items.append(value)
            elif field == 2 and kind == BYTES:
                declared = next((signed(v) for n, k, v in fields(value) if (n, k) == (1, VARINT)), 0)
        cells = [self._item(item) for item in items]
        for name, text in cells:
            if name == "_step" and text.lstrip(b"-").isdigit():
                step = int(text)
            else:
                self._keep(name, text)
        step = declared if step is None else step
        self._steps.append(max(-(1 << 63), min(step, (1 << 63) - 1)))
        self.n_rows += 1

    def columns(self) -> dict[str, Column]:
        """All columns, `_step` first."""
        every = {"_step": Column(np.array(self._steps), np.arange(self.n_rows))} if self.n_rows else {}
        return every | {
            name: Column(np.array(values), np.array(rows, np.int64))
            for name, (rows, values) in self._cells.items()
        }

    def _item(self, item: bytes) -> tuple[str, bytes]:
        """(name, JSON) of an item: what stands before the value is the same each time, and looked up."""
        at = item.find(_VALUE_KEY)
        name = self._names.get(item[:at]) if at > 0 else None
        if name is not None:
            size, begin = varint(item, at + 2)
            if begin + size == len(item):
                return name, item[begin:]
        name, text = named(item)
        if at > 0 and item.endswith(text) and named(item[:at]) == (name, b""):
            self._names[item[:at]] = name
        return name, text

    def _keep(self, name: str, text: bytes) -> None:
        try:
            self._put(name, float(text))
        except ValueError:
            for path, value in leaves(name, parsed(text), "."):
                cell = number(value) if isinstance(value, str) else as_float(value)
                if cell is not None:
                    self._put(path, cell)

    def _put(self, name: str, value: float) -> None:
        rows, values = self._cells.setdefault(name, (array("q"), array("d")))
        rows.append(self.n_rows)
        values.append(value)


def named(item: bytes) -> tuple[str, bytes]:
    """(name, JSON) of a HistoryItem, ConfigItem, SummaryItem or StatsItem."""
    keys, nested, text = list[bytes](), list[bytes](), b""
    for field, kind, value in fields(item):
        if kind == BYTES and field in (1, 2):
            (keys if field == 1 else nested).append(value)
        elif kind == BYTES and field == 16:
            text = value
    return clean(b".".join(nested or keys[-1:]).decode("utf-8", "backslashreplace")), text


def parsed(text: bytes) -> Any:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_float(value: float | int) -> float:
    """The number; a whole number too large for a float is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def updates(message: bytes, into: dict[str, Any]) -> None:
    """Applies a ConfigRecord or SummaryRecord to a mapping of plain values."""
    for field, kind, value in fields(message):
        if kind == BYTES and field == 1:
            name, text = named(value)
            into[name] = parsed(text)
        elif kind == BYTES and field == 2:
            into.pop(named(value)[0], None)


def texts(message: bytes, names: Mapping[int, str]) -> dict[str, str]:
    """The text fields of a message, by the names given to their numbers."""
    return {
        names[field]: clean(value.decode("utf-8", "backslashreplace"))
        for field, kind, value in fields(message)
        if kind == BYTES and field in names and value
    }


def numbers(message: bytes, names: Mapping[int, str]) -> dict[str, int]:
    """The whole-number fields of a message, by the names given to their numbers."""
    return {
        names[field]: signed(value)
        for field, kind, value in fields(message)
        if kind == VARINT and field in names
    }


def messages(message: bytes, wanted: int) -> Iterable[bytes]:
    """The messages in field ``wanted``."""
    return [value for field, kind, value in fields(message) if kind == BYTES and field == wanted]


def seconds(timestamp: bytes) -> float:
    """Unix seconds of a google.protobuf.Timestamp."""
    parts = numbers(timestamp, {1: "seconds", 2: "nanos"})
    return parts.get("seconds", 0) + parts.get("nanos", 0) / 1e9
