"""A text log in blocks of whole lines, for parsers that take many lines at once."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from chronicle.readers.text import Line, encoding_of, head

FIRST_BYTES = 1 << 16  # the first block is small: readers look at it with care, and learn from it
BLOCK_BYTES = 1 << 22
SMALL_BYTES = 1 << 18  # of which the objects that a parser makes fit a processor's cache


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The file as UTF-8 without a mark, in blocks of about ``size`` bytes, the first of `FIRST_BYTES`.

    They end with a line feed, the last may end anywhere.
    """
    if encoding_of(head(path)) == "utf-16":
        with path.open(encoding="utf-16", errors="replace", newline="\n") as text:
            while part := text.read(size) + text.readline():
                yield part.encode()
        return
    with path.open("rb") as file:
        block = (file.read(FIRST_BYTES) + file.readline()).removeprefix(codecs.BOM_UTF8)
        while block:
            yield block
            block = file.read(size) + file.readline()


def numbered_lines(block: bytes, n_before: int) -> Iterator[Line]:
    """The lines of a block: number (after ``n_before`` others), without its end, and whether it had none."""
    lines = io.StringIO(block.decode("utf-8", "replace"), newline=None)
    for number, line in enumerate(lines, n_before + 1):
        yield number, line.removesuffix("\n"), not line.endswith("\n")
