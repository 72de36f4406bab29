"""One TensorBoard event at a time, by the protobuf wire format: slow, obvious, and able to read any shape.

The fast kernel hands over what it does not know; the tests hold it against this module. Field numbers are
those of event.proto, summary.proto and tensor.proto of TensorFlow.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from chronicle.readers.protobuf import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    fields,
    last_of,
    messages,
    signed,
    varint,
)

MAX_TEXT = 1 << 20  # bytes of a tensor of strings that is looked into

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
_FIXED = {5: ("<f", 4, FIXED32), 6: ("<d", 8, FIXED64)}  # fields of floats
_VARINTS = (7, 10, 11, 13, 16, 17)  # fields of all other numbers


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
            values = messages(value, 1)
            scalars += [scalar for v in values if (scalar := summary_value(v))]
            texts += [text for v in values if b"text" in v or b"hparams" in v for text in _texts(v)]
    return Event(wall_time, step, scalars, texts)


def summary_value(message: bytes) -> tuple[str, float] | None:
    """(tag, value) of a Summary.Value; None where it holds something else than one number."""
    tag, scalar = "", None
    for number, kind, value in fields(message):
        if (number, kind) == (1, BYTES):
            tag = value.decode("utf-8", "backslashreplace")
        elif (number, kind) == (2, FIXED32):
            (scalar,) = struct.unpack("<f", value)
        elif (number, kind) == (8, BYTES):
            scalar = tensor(value)
    return None if scalar is None else (tag, scalar)


def _texts(message: bytes) -> list[Text]:
    """What a Summary.Value of the text plugin or of HParams holds."""
    tag, plugin, content, strings = "", "", b"", list[bytes]()
    for number, kind, value in fields(message):
        if (number, kind) == (1, BYTES):
            tag = value.decode("utf-8", "backslashreplace")
        elif (number, kind) == (8, BYTES) and len(value) <= MAX_TEXT:
            strings += messages(value, 8)
        elif (number, kind) == (9, BYTES):
            metadata = last_of(last_of(value, BYTES).get(1, b""), BYTES)
            plugin, content = metadata.get(1, b"").decode("utf-8", "replace"), metadata.get(2, b"")
    if plugin == "text":
        return [Text(tag, plugin, text) for text in strings[:1]]
    return [Text(tag, plugin, content)] if plugin == "hparams" else []


def tensor(message: bytes) -> float | None:
    """The number that a tensor of one element holds; None for any other tensor."""
    dtype, n_elements, content = 0, 1, b""
    cells: dict[int, list[Any]] = {}
    for number, kind, value in fields(message):
        if (number, kind) == (1, VARINT):
            dtype = value
        elif (number, kind) == (2, BYTES):
            n_elements = _elements(value)
        elif (number, kind) == (4, BYTES):
            content = value
        elif number in _FIXED or number in _VARINTS:
            cells.setdefault(number, []).extend(_cells(number, kind, value))
    if dtype not in _DTYPES or n_elements != 1:
        return None
    numpy_type, number = _DTYPES[dtype]
    values = cells.get(number, [])
    if content:
        whole = len(content) == np.dtype(numpy_type).itemsize
        values = np.frombuffer(content, numpy_type).tolist() if whole else []
    return _as_float(dtype, values[0]) if len(values) == 1 else None


def _elements(shape: bytes) -> int:
    """Number of elements of a TensorShapeProto."""
    n_elements = 1
    for dimension in messages(shape, 2):
        sizes = (signed(v) for n, k, v in fields(dimension) if (n, k) == (1, VARINT))
        n_elements *= next(sizes, 0)
    return n_elements


def _cells(number: int, kind: int, value: Any) -> list[Any]:
    """The values of a repeated field, one by one or packed."""
    if number in _FIXED:
        code, size, unpacked = _FIXED[number]
        if kind not in (unpacked, BYTES) or len(value) % size:
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
