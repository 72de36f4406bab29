"""The records of a `.wandb` file: LevelDB's log format, with CRC-32 (IEEE) where LevelDB has CRC-32C.

A block has 32,768 bytes; a fragment has a checksum (4 bytes), a length (2), a type (1: whole, 2: first,
3: middle, 4: last) and its bytes, and never crosses the end of a block. Source: LevelDB's log_format.md.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

MAGIC = b":W&B\xe1\xbe\x00"  # identifier, 0xBEE1, version 0
BLOCK, HEADER = 32768, 7  # bytes
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4

_HEADER = struct.Struct("<IHB")


@dataclass
class Frames:
    """Iterates over the payloads of all whole records of ``content``, which starts with MAGIC.

    ``damage`` holds (byte, what is wrong) of what was skipped; ``truncated`` is true where the last record
    is cut. Damage costs the record it is in, or the rest of its block where the next record is not found.
    """

    content: bytes
    damage: list[tuple[int, str]] = field(default_factory=list)
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        parts, begun = list[bytes](), False
        for kind, data in self._fragments():
            if kind in (WHOLE, FIRST):
                parts, begun = [], True
            if begun:
                parts.append(data)
            if kind in (WHOLE, LAST) and begun:
                yield b"".join(parts)
            begun = begun and kind in (FIRST, MIDDLE)
        self.truncated |= begun

    def _fragments(self) -> Iterator[tuple[int, bytes]]:
        """(type, bytes) of each fragment; (0, b"") where one was skipped."""
        at, size, content, view = len(MAGIC), len(self.content), self.content, memoryview(self.content)
        while at < size:
            if at + HEADER <= size and at % BLOCK <= BLOCK - HEADER:  # as nearly all are
                check, length, kind = _HEADER.unpack_from(content, at)
                end = at + HEADER + length
                if WHOLE <= kind <= LAST and end <= size and zlib.crc32(view[at + 6 : end]) == check:
                    yield kind, content[at + HEADER : end]
                    at = end
                    continue
            room = min(BLOCK - at % BLOCK, size - at)
            if room < HEADER:
                self.truncated |= at + room == size and room < BLOCK - at % BLOCK
                at += room
                continue
            end = at + HEADER + _HEADER.unpack_from(content, at)[1]
            if self._cut(at, end):
                self.truncated = True
                return
            goes_on = self._intact(end)
            self.damage.append(
                (at, "a record is damaged; skipped" if goes_on else "damaged; skipped to the next block")
            )
            yield 0, b""
            at = end if goes_on else at - at % BLOCK + BLOCK

    def _intact(self, at: int) -> bool:
        """Whether a whole fragment with the right checksum stands at ``at``."""
        if at + HEADER > len(self.content):
            return False
        check, length, kind = _HEADER.unpack_from(self.content, at)
        typed = self.content[at + 6 : at + HEADER + length]
        return bool(WHOLE <= kind <= LAST and len(typed) == 1 + length and zlib.crc32(typed) == check)

    def _cut(self, at: int, end: int) -> bool:
        """Whether the log ends at ``at``: its last fragment is cut, or only zeros follow."""
        last_block = at - at % BLOCK + BLOCK >= len(self.content)
        fits = end <= at - at % BLOCK + BLOCK
        return last_block and ((end > len(self.content) and fits) or not any(self.content[at:]))
