"""One TensorBoard event at a time, by the protobuf wire format: slow, obvious, and able to read any shape.

The fast kernel hands over what it does not know; the tests hold it against this module. Field numbers are
those of event.proto, summary.proto and tensor.proto of TensorFlow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

MAX_TEXT = 1 << 20  # bytes of a tensor of strings that is looked into
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# dtype of a tensor: (numpy type of tensor_content, field that holds its values one by one)
_BFLOAT16, _HALF = 14, 19
_DTYPES: dict[int, tuple[str, int]] = {
    1: ("<f4", 5),
    2: ("<f8", 6),
    3: ("<i4", 7),
    4: ("u1", 7),
    5: ("<i2", 7),
    6: ("i1", 7),
    9: ("<i8", 10),
    10: ("?", 11),
    _BFLOAT16: ("<u2", 13),
    17: ("<u2", 7),
    _HALF: ("<u2", 13),
    22: ("<u4", 16),
    23: ("<u8", 17),
}
_FIXED = {5: ("<f", 4, FIXED32), 6: ("<d", 8, FIXED64)}  # fields of floats; all others hold varints


class Text(NamedTuple):
    """What a plugin (`text`, `hparams`) logged under a tag: a string of a tensor, or its own message."""

    tag: str
    plugin: str
    content: bytes


class Event(NamedTuple):
    """When (Unix s), at which step, and the scalars (tag, value) and texts in the order of the record."""

    wall_time: float
    step: int
    scalars: list[tuple[str, float]]
    texts: list[Text]


def event(payload: bytes) -> Event:
    """Parses one record.

    Raises:
        ValueError: the bytes are no protobuf message.
    """
    wall_time, step, scalars, texts = 0.0, 0, list[tuple[str, float]](), list[Text]()
    for number, kind, value in fields(payload):
        if (number, kind) == (1, FIXED64):
            (wall_time,) = struct.unpack("<d", value)
        elif (number, kind) == (2, VARINT):
            step = signed(value)
        elif (number, kind) == (5, BYTES):
            values = [v for n, k, v in fields(value) if (n, k) == (1, BYTES)]
            scalars += [scalar for v in values if (scalar := summary_value(v))]
            texts += [text for v in values if b"text" in v or b"hparams" in v for text in _texts(v)]
    return Event(wall_time, step, scalars, texts)


def summary_value(message: bytes) -> tuple[str, float] | None:
    """(tag, value) of a Summary.Value; None where it holds something else than one number."""
    tag, number = "", None
    for field, kind, value in fields(message):
        if (field, kind) == (1, BYTES):
            tag = value.decode("utf-8", "backslashreplace")
        elif (field, kind) == (2, FIXED32):
            (number,) = struct.unpack("<f", value)
        elif (field, kind) == (8, BYTES):
            number = tensor(value)
    return None if number is None else (tag, number)


def _texts(message: bytes) -> list[Text]:
    """What a Summary.Value of the text plugin or of HParams holds."""
    tag, plugin, content, strings = "", "", b"", list[bytes]()
    for field, kind, value in fields(message):
        if (field, kind) == (1, BYTES):
            tag = value.decode("utf-8", "backslashreplace")
        elif (field, kind) == (8, BYTES) and len(value) <= MAX_TEXT:
            strings += [v for n, k, v in fields(value) if (n, k) == (8, BYTES)]
        elif (field, kind) == (9, BYTES):
            data = {n: v for n, k, v in fields(value) if (n, k) == (1, BYTES)}.get(1, b"")
            parts = {n: v for n, k, v in fields(data) if k == BYTES}
            plugin, content = parts.get(1, b"").decode("utf-8", "replace"), parts.get(2, b"")
    if plugin == "text":
        return [Text(tag, plugin, text) for text in strings[:1]]
    return [Text(tag, plugin, content)] if plugin == "hparams" else []


def tensor(message: bytes) -> float | None:
    """The number that a tensor of one element holds; None for any other tensor."""
    dtype, n_elements, content = 0, 1, b""
    cells: dict[int, list[Any]] = {}
    for field, kind, value in fields(message):
        if (field, kind) == (1, VARINT):
            dtype = value
        elif (field, kind) == (2, BYTES):
            n_elements = _elements(value)
        elif (field, kind) == (4, BYTES):
            content = value
        elif field in (5, 6, 7, 10, 11, 13, 16, 17):
            cells.setdefault(field, []).extend(_cells(field, kind, value))
    if dtype not in _DTYPES or n_elements != 1:
        return None
    numpy_type, field = _DTYPES[dtype]
    if content:
        whole = len(content) == np.dtype(numpy_type).itemsize
        values = np.frombuffer(content, numpy_type).tolist() if whole else []
    else:
        values = cells.get(field, [])
    return _as_float(dtype, values[0]) if len(values) == 1 else None


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field: int for varints, else the bytes."""
    at, end = 0, len(message)
    while at < end:
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(message, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = varint(message, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if at + size > end:
            raise ValueError("a field is longer than its message")
        yield number, kind, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of seven bits a byte, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise ValueError("a varint without end")


def signed(value: int) -> int:
    """A 64-bit number in two's complement."""
    return value - (1 << 64) if value >> 63 else value


def _elements(shape: bytes) -> int:
    """Number of elements of a TensorShapeProto."""
    n_elements = 1
    for field, kind, dim in fields(shape):
        if (field, kind) == (2, BYTES):
            n_elements *= next((signed(v) for n, k, v in fields(dim) if (n, k) == (1, VARINT)), 0)
    return n_elements


def _cells(field: int, kind: int, value: Any) -> list[Any]:
    """The values of a repeated field, one by one or packed."""
    if field in _FIXED:
        code, size, one = _FIXED[field]
        if kind not in (one, BYTES) or len(value) % size:
            raise ValueError("a float of odd length")
        return [cell for (cell,) in struct.iter_unpack(code, value)]
    if kind == VARINT:
        return [value]
    cells, at = [], 0
    while kind == BYTES and at < len(value):
        cell, at = varint(value, at)
        cells.append(cell)
    return cells


def _as_float(dtype: int, value: Any) -> float:
    if dtype == _BFLOAT16:
        return float(struct.unpack("<f", struct.pack("<I", (value & 0xFFFF) << 16))[0])
    if dtype == _HALF:
        return float(struct.unpack("<e", struct.pack("<H", value & 0xFFFF))[0])
    return float(value if dtype in (1, 2, 22, 23) else signed(value) if value >= 0 else value)
