"""A text log as chunks of whole lines, in memory that does not grow with the file or with its lines.

What terminals and operating systems leave in a log is taken out here, once: byte order marks, UTF-16,
``\\r\\n``, colours (ANSI escapes). A progress bar that redraws itself with ``\\r`` becomes lines; line
numbers stay those that an editor shows.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from chronicle.readers.text import encoding_of

CHUNK_BYTES = 1 << 21
MAX_LINE_BYTES = 1 << 20

_LINE_END = re.compile(rb"[\r\n]")
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Lines of a log that follow each other.

    ``data`` is UTF-8, its lines parted by ``\\n`` without one at the end. ``numbers`` are their numbers in
    the file, from 1. ``unfinished``: the last line has no end yet. ``cut``: lines that were too long and lost
    their end.
    """

    data: bytes
    numbers: Sequence[int]
    unfinished: bool = False
    cut: int = 0

    @property
    def lines(self) -> list[bytes]:
        """Its lines, as many as ``numbers``."""
        return self.data.split(b"\n")


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The file from its start to its end as it is now. Raises OSError."""
    first, rest, cut, dropping = 1, b"", 0, False
    for block in _utf8(path, size):
        if dropping:
            line_end = _LINE_END.search(block)
            if line_end is None:
                continue
            block, dropping = block[line_end.start() :], False
        data = rest + block
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        if end:
            chunk = _chunk(data[:end], first, cut)
            yield chunk
            first, cut = chunk.numbers[-1] + (data[end - 1 : end] == b"\n"), 0
        rest = data[end:]
        if len(rest) > MAX_LINE_BYTES:  # so long a line keeps its start; what follows of it is dropped
            rest, cut, dropping = rest[:MAX_LINE_BYTES], 1, True
    if rest:
        yield _chunk(rest, first, cut, last=True)


def _utf8(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        block = file.read(size)
        if encoding_of(block) == "utf-16":
            decode = codecs.getincrementaldecoder("utf-16")("replace").decode
            while block:
                yield decode(block).encode("utf-8", "replace")
                block = file.read(size)
        block = block.removeprefix(codecs.BOM_UTF8)
        while block:
            yield block
            block = file.read(size)


def plain(data: bytes) -> bytes:
    """The text without colours, every line end as ``\\n`` or a lone ``\\r``."""
    if b"\x1b" in data:
        data = _ESCAPE.sub(b"", data)
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _chunk(data: bytes, first: int, cut: int, *, last: bool = False) -> Chunk:
    data = plain(data)
    unfinished = last and not data.endswith(b"\n")  # after a lone "\r" an empty line waits for its text
    data = data if unfinished else data[:-1]
    if b"\r" not in data:
        return Chunk(data, range(first, first + data.count(b"\n") + 1), unfinished, cut)
    numbers, number = [first], first
    for end in re.findall(rb"[\r\n]", data):
        number += end == b"\n"
        numbers.append(number)
    return Chunk(data.replace(b"\r", b"\n"), numbers, unfinished, cut)
