"""The columns of a Parquet file, from its footer alone: Thrift's compact protocol, as far as the schema.

With this a file is known for a log, or for data that somebody trains on, before pyarrow is needed.
Source: parquet.thrift (FileMetaData, SchemaElement) and the compact protocol's specification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from chronicle.readers.protobuf import varint
from chronicle.readers.text import clean

MAGIC = b"PAR1"
MAX_FOOTER = 1 << 24  # bytes
MAX_DEPTH = 16

BOOLEAN, INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY = 0, 1, 2, 4, 5, 6
NUMBERS = (BOOLEAN, INT32, INT64, FLOAT, DOUBLE)

_TRUE, _FALSE, _BYTE, _INTS, _DOUBLE, _BINARY = 1, 2, 3, (4, 5, 6), 7, 8
_LISTS, _MAP, _STRUCT = (9, 10), 11, 12
_REPEATED = 2


class Leaf(NamedTuple):
    """A column: names from the outermost struct joined with ".", its physical type, whether it is a list."""

    name: str
    kind: int
    repeated: bool


def leaves_of(path: Path) -> list[Leaf]:
    """The columns of a Parquet file; [] where it is none, or is damaged."""
    try:
        footer = _footer(path)
        elements = _Compact(footer).struct(0).get(2) if footer else None
        return list(_leaves(elements)) if isinstance(elements, list) else []
    except (ValueError, RecursionError):
        return []


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            return b""
        file.seek(0)
        start = file.read(4)
        file.seek(size - 8)
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if start != MAGIC or end[4:] != MAGIC or length > min(size - 12, MAX_FOOTER):
            return b""
        file.seek(size - 8 - length)
        return file.read(length)


def _leaves(elements: list[Any]) -> Iterator[Leaf]:
    """Walks the schema, which is written depth first with the number of children at each node."""
    open_nodes: list[tuple[str, int, bool]] = []  # (prefix, children left, inside a list)
    for element in elements:
        if not isinstance(element, dict):
            raise ValueError("a schema of no elements")
        name = clean(bytes(element.get(4, b"")).decode("utf-8", "backslashreplace"))
        n_children, kind = int(element.get(5, 0)), int(element.get(1, -1))
        repeated = element.get(3) == _REPEATED
        prefix, in_list = "", False
        if open_nodes:
            prefix, left, in_list = open_nodes.pop()
            if left > 1:
                open_nodes.append((prefix, left - 1, in_list))
        if not n_children:
            yield Leaf(prefix + name, kind, repeated or in_list)
        else:
            below = f"{prefix}{name}." if element is not elements[0] else ""
            open_nodes.append((below, n_children, repeated or in_list))


@dataclass
class _Compact:
    """Reads values of Thrift's compact protocol. Raises ValueError where the bytes are none."""

    data: bytes
    at: int = 0

    def struct(self, depth: int) -> dict[int, Any]:
        """Fields by their numbers. Of the outermost struct only the part up to the schema (field 2)."""
        found: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 15
            number = number + delta if delta else self._signed()
            found[number] = self._value(kind, depth + 1)
            if depth == 0 and number >= 2:
                break
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in _INTS:
            return self._signed()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._unsigned())
        if kind in _LISTS:
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth)
        raise ValueError(f"type {kind}")

    def _list(self, depth: int) -> list[Any]:
        header = self._byte()
        size, kind = header >> 4, header & 15
        if size == 15:
            size = self._unsigned()
        if size > len(self.data) - self.at:
            raise ValueError("a list longer than its bytes")
        return [
            bool(self._byte()) if kind in (_TRUE, _FALSE) else self._value(kind, depth + 1)
            for _ in range(size)
        ]

    def _byte(self) -> int:
        (byte,) = self._bytes(1)
        return byte

    def _bytes(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError("cut")
        self.at += size
        return self.data[self.at - size : self.at]

    def _unsigned(self) -> int:
        value, self.at = varint(self.data, self.at)
        return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
