"""The records of a W&B run that chronicle uses, by the protobuf wire format.

Field numbers are those of wandb_internal.proto. Until spring 2024 clients put the name of a metric into
`key`, since December 2024 into `nested_key`; both are read, nested names joined with "." as W&B shows them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from chronicle.readers.columns import Column, number
from chronicle.readers.event_wire import BYTES, VARINT, fields, signed
from chronicle.readers.hyperparameters import as_float, leaves
from chronicle.readers.text import clean

HISTORY, SUMMARY, CONFIG, ALERT, METRIC, OUTPUT_RAW, RUN, EXIT, ENVIRONMENT = 2, 3, 5, 10, 12, 13, 17, 18, 26
OUTPUT, PREEMPTING = 4, 23

_ITEM, _STEP = 0x0A, 0x12  # fields 1 and 2 of a HistoryRecord
_VALUE_KEY = b"\x82\x01"  # field 16, value_json
_EXACT = 2.0**53  # up to here whole numbers are exact in a float


def body(record: bytes) -> tuple[int, bytes]:
    """(field number, message) of what a Record holds; (0, b"") where it is nothing known.

    Raises:
        ValueError: the bytes are no protobuf message.
    """
    for name, kind, value in fields(record):
        if kind == BYTES and name not in (16, 19, 200):
            return name, value
    return 0, b""


class Cells(NamedTuple):
    """A metric under construction: in which rows, and what."""

    rows: array[int]
    values: array[float]


class History:
    """Columns under construction, one row a history record.

    Nearly all items are a name of less than 128 bytes and a number, and names repeat in every record: they
    are looked up by the bytes that spell them, and only what is written otherwise is parsed field by field.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._cells: dict[str, Cells] = {}
        self._known: dict[bytes, Cells] = {}
        self._counted = Cells(array("q"), array("d"))  # stands for `_step` among the known
        self._steps = array("q")

    def add(self, message: bytes) -> None:
        """Appends a row. Raises ValueError where the bytes are no protobuf message."""
        if not self._add_known(message):
            self._add_any(message)
        self.n_rows += 1

    def columns(self) -> dict[str, Column]:
        """All columns, `_step` first."""
        every = {"_step": Column(np.array(self._steps), np.arange(self.n_rows))} if self.n_rows else {}
        return every | {
            name: Column(np.array(cells.values), np.array(cells.rows, np.int64))
            for name, cells in self._cells.items()
        }

    def _add_known(self, message: bytes) -> bool:
        """Appends a row of which every item is known; else nothing, and False."""
        at, end, known, step, declared = 0, len(message), self._known, None, b""
        found: list[tuple[Cells, float]] = []
        try:
            while at < end:
                key, size = message[at], message[at + 1]
                at += 2
                stop = at + size
                if key == _ITEM and size < 128:
                    value = (
                        at + 4 + message[at + 1]
                    )  # after a key, a length, the name, and the key of the value
                    cells = known.get(message[at:value])
                    if cells is None or value + 1 + message[value] != stop:
                        return False
                    found.append((cells, float(message[value + 1 : stop])))
                elif key == _STEP and size < 128:
                    declared = message[at:stop]
                else:
                    return False
                at = stop
        except (IndexError, ValueError):
            return False
        if at != end:
            return False
        for cells, cell in found:
            if cells is not self._counted:
                cells.rows.append(self.n_rows)
                cells.values.append(cell)
            elif abs(cell) < _EXACT:
                step = int(cell)
        self._steps.append(_declared(declared) if step is None else step)
        return True

    def _add_any(self, message: bytes) -> None:
        """Appends a row, field by field, and remembers what is written as nearly all items are."""
        items, step, declared = list[bytes](), None, 0
        for field, kind, value in fields(message):
            if field == 1 and kind == BYTES:
                items.append(value)
            elif field == 2 and kind == BYTES:
                declared = _declared(value)
        for item, (name, text) in [(item, named(item)) for item in items]:
            prefix = _simple(item, text)
            if name == "_step" and text.lstrip(b"-").isdigit() and len(text) < 20:
                step = int(text)
                if prefix:
                    self._known[prefix] = self._counted
            else:
                self._keep(name, text, prefix)
        step = declared if step is None else step
        self._steps.append(max(-(1 << 63), min(step, (1 << 63) - 1)))

    def _keep(self, name: str, text: bytes, prefix: bytes) -> None:
        try:
            self._put(name, float(text))
        except ValueError:
            for path, value in leaves(name, parsed(text), "."):
                cell = number(value) if isinstance(value, str) else as_float(value)
                if cell is not None:
                    self._put(path, cell)
        else:
            if prefix:
                self._known[prefix] = self._cells[name]

    def _put(self, name: str, value: float) -> None:
        cells = self._cells.get(name)
        if cells is None:
            cells = self._cells[name] = Cells(array("q"), array("d"))
        cells.rows.append(self.n_rows)
        cells.values.append(value)


def _declared(step: bytes) -> int:
    """The number in a HistoryStep."""
    return next((signed(v) for n, k, v in fields(step) if (n, k) == (1, VARINT)), 0)


def _simple(item: bytes, text: bytes) -> bytes:
    """What stands before the length of the value in an item of a short name and value; b"" for any other."""
    value = len(item) - len(text) - 1
    short = len(item) < 128 and len(text) > 0 and value > 3 and item[value] == len(text)
    prefix = item[:value] if short else b""
    return prefix if prefix.endswith(_VALUE_KEY) and 4 + prefix[1] == value else b""


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
