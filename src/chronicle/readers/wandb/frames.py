"""The records of a `.wandb` file: LevelDB's log format, with CRC-32 (IEEE) where LevelDB has CRC-32C.

A block has 32,768 bytes; a fragment has a checksum (4 bytes), a length (2), a type (1: whole, 2: first,
3: middle, 4: last) and its bytes, and never crosses the end of a block. Source: LevelDB's log_format.md.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

MAGIC = b":W&B\xe1\xbe\x00"  # identifier, 0xBEE1, version 0
BLOCK, HEADER = 32768, 7  # bytes
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4

RECORD, REST = "a record is damaged; skipped", "damaged; skipped to the next block"
ZEROS = "nothing but zeros; skipped to the next block with something else"

_HEADER = struct.Struct("<IHB")


@dataclass
class Frames:
    """Iterates over the payloads of all whole records of a file, which starts with MAGIC, block by block.

    ``damage`` holds (byte, what is wrong) of what was skipped; ``truncated`` is true where the last record
    is cut. Damage costs the record it is in, or the rest of its block where the next record is not found.
    """

    file: BinaryIO
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
        start, zeros = 0, -1
        while block := self.file.read(BLOCK):
            at = 0 if start else len(MAGIC)
            if zeros >= 0 and any(block):
                self.damage.append((zeros, ZEROS))
                zeros = -1
            while at + HEADER <= len(block):
                end, kind = intact(block, at)
                if kind:
                    yield kind, block[at + HEADER : end]
                elif not any(block[at:]):
                    zeros = start + at if zeros < 0 else zeros
                    end = len(block)
                elif len(block) < end <= BLOCK and len(block) < BLOCK:
                    self.truncated = True
                    return
                else:
                    goes_on = intact(block, end)[1] > 0
                    self.damage.append((start + at, RECORD if goes_on else REST))
                    yield 0, b""
                    end = end if goes_on else len(block)
                at = end
            self.truncated |= at < len(block) < BLOCK
            start += len(block)
        self.truncated |= zeros >= 0


def intact(block: bytes, at: int) -> tuple[int, int]:
    """End and type of the fragment at a place of a block; type 0 where it is damaged or cut."""
    if at + HEADER > len(block):
        return at + HEADER, 0
    check, length, kind = _HEADER.unpack_from(block, at)
    end = at + HEADER + length
    right = WHOLE <= kind <= LAST and end <= len(block) and zlib.crc32(block[at + 6 : end]) == check
    return end, kind if right else 0
