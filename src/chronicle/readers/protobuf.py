"""Protobuf messages without their schema: fields by number and wire type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chronicle.readers.text import clean

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field: int for varints, else the bytes.

    Raises ValueError where the bytes are no protobuf message.
    """
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


def last_of(message: bytes, wanted: int) -> dict[int, Any]:
    """The fields of one wire type by number; of those that repeat, the last."""
    return {number: value for number, kind, value in fields(message) if kind == wanted}


def messages(message: bytes, wanted: int) -> list[bytes]:
    """The messages, or strings, in the field of a number."""
    return [value for number, kind, value in fields(message) if (number, kind) == (wanted, BYTES)]


def texts(message: bytes, names: Mapping[int, str]) -> dict[str, str]:
    """The text fields of a message that are not empty, by the names given to their numbers."""
    return {
        names[number]: clean(value.decode("utf-8", "backslashreplace"))
        for number, kind, value in fields(message)
        if kind == BYTES and number in names and value
    }


def numbers(message: bytes, names: Mapping[int, str]) -> dict[str, int]:
    """The whole-number fields of a message, by the names given to their numbers."""
    return {names[n]: signed(value) for n, value in last_of(message, VARINT).items() if n in names}
