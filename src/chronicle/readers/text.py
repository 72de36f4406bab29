"""Text logs: lines and blocks of them, encoding, the head a format is known by, and faults up to a limit."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

from chronicle.model import Fault, Place

HEAD_BYTES = 8192
_MOST_ZEROS = 1 << 26  # at the start of a file, of which the rest is looked at
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")  # bytes that no text has; 1b begins a colour


@dataclass(frozen=True)
class Head:
    """The beginning of a file, read once and shown to every reader in turn.

    ``start`` holds the first `HEAD_BYTES`, enough to know a format by; ``size`` is that of the file [bytes].
    Two are equal where the file has not changed in between: what was found out of one holds for the other.
    """

    path: Path
    size: int
    changed_ns: int
    start: bytes = field(compare=False, repr=False)

    @classmethod
    def of(cls, path: Path) -> Head:
        """The beginning of the file at ``path``. Raises OSError."""
        info = path.stat()
        return cls(path, info.st_size, info.st_mtime_ns, head(path))

    def opened(self) -> TextIO:
        """The whole file as text; a small one is not read again. Raises OSError."""
        whole = len(self.start) == self.size < HEAD_BYTES
        file: BinaryIO = io.BytesIO(self.start) if whole else self.path.open("rb")
        return io.TextIOWrapper(file, encoding_of(self.start), "replace")

    @cached_property
    def lines(self) -> list[str]:
        """Whole lines at the start; [] where the bytes are no text. One long line is given cut.

        A file system may fill with zeros what was never written before a crash: lines before them are text.
        """
        start, encoding = self.start, encoding_of(self.start)
        if encoding != "utf-16" and b"\0" in start:
            whole = start[: start.rfind(b"\n", 0, start.index(b"\0")) + 1]
            return [] if _CONTROL.search(whole) else whole.decode(encoding, errors="replace").splitlines()
        lines = start.decode(encoding, errors="replace").splitlines()
        return lines[:-1] if len(start) == HEAD_BYTES and len(lines) > 1 else lines


def head(path: Path) -> bytes:
    """The first few KB, enough to know a format by.

    A log that is emptied while its writer goes on begins with as many zeros as it had bytes: they are passed
    over, unless nothing follows them.
    """
    with path.open("rb") as file:
        first = start = file.read(HEAD_BYTES)
        while start and not start.strip(b"\0") and file.tell() < _MOST_ZEROS:
            start = file.read(HEAD_BYTES)
        return first if start is first else start.lstrip(b"\0") or first


def encoding_of(start: bytes) -> str:
    """UTF-16 where its mark says so, else UTF-8 with or without a mark."""
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def head_lines(path: Path) -> list[str]:
    """Whole lines at the start of the file, as `Head.lines`."""
    return Head.of(path).lines


class Lines:
    """Iterates over the lines of a file, without their ends.

    ``number`` is the number of the line last given, from 1; ``unfinished`` is True after the last line
    if it has no line end: it is being written, or was cut.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.unfinished = path, 0, False

    def __iter__(self) -> Iterator[str]:
        with self.path.open(encoding=encoding_of(head(self.path)), errors="replace") as file:
            for self.number, line in enumerate(file, 1):
                self.unfinished = not line.endswith("\n")
                yield line if self.unfinished else line[:-1]


Line = tuple[int, str, bool]  # number from 1, text, whether it has no end


def clean(text: str) -> str:
    """The text with lone surrogates, which JSON can spell and no file can hold, written out as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


MOST_DIGITS = 640  # of a whole number: the least that Python can be set to turn into an integer


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


JSON = json.JSONDecoder(parse_int=_whole)


def from_json(text: str | bytes) -> Any:
    """The value of a JSON text; a whole number of more digits than Python takes is a float, or infinite.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deep.
    """
    return JSON.decode(text if isinstance(text, str) else text.decode("utf-8", "surrogatepass"))


FIRST_BYTES = 1 << 16  # the first block is small: readers look at it with care, and learn from it
BLOCK_BYTES = 1 << 22  # of a line that are read at a time
SMALL_BYTES = 1 << 18  # of which the objects that a parser makes fit a processor's cache


class Readable(Protocol):
    """What blocks are read from: an open file, at its beginning or behind a line."""

    def tell(self) -> int: ...

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


def blocks(path: Path, size: int, file: Readable) -> Iterator[bytes]:
    """A file as UTF-8 without a mark, in blocks of about ``size`` bytes, the first of `FIRST_BYTES`.

    They end with a line feed; a last line without one is a block of its own. Of a hole, the zeros that a file
    system puts where nothing was written before a crash, a line is given a few: there may be gigabytes of
    them. ``file`` is the one at ``path``, from where it is to be read.
    """
    if encoding_of(head(path)) == "utf-16":
        with path.open(encoding="utf-16", errors="replace", newline="\n") as text:
            while part := text.read(size) + text.readline():
                yield from _whole_and_cut(part.encode())
        return
    mark = b"" if file.tell() else codecs.BOM_UTF8
    block = (file.read(FIRST_BYTES) + _line_end(file)).removeprefix(mark)
    while block:
        yield from _whole_and_cut(block)
        block = file.read(size) + _line_end(file)


def _whole_and_cut(block: bytes) -> Iterator[bytes]:
    end = block.rfind(b"\n") + 1
    return filter(None, (block[:end], block[end:]))


def _line_end(file: Readable) -> bytes:
    pieces = []
    while piece := file.readline(BLOCK_BYTES):
        pieces.append(piece if piece.strip(b"\0") else b"\0")
        if piece.endswith(b"\n"):
            break
    return b"".join(pieces)


def numbered_lines(block: bytes, n_before: int) -> Iterator[Line]:
    """The lines of a block: number (after ``n_before`` others), without its end, and whether it had none."""
    lines = io.StringIO(block.decode("utf-8", "replace"), newline=None)
    for number, line in enumerate(lines, n_before + 1):
        yield number, line.removesuffix("\n"), not line.endswith("\n")


MOST_FAULTS = 100  # that are listed one by one; the rest is one fault with a count


class Faults(list[Fault]):
    """The faults of one log, in order; those beyond ``limit`` are counted, and `all` sums them up."""

    def __init__(self, path: Path, limit: int = MOST_FAULTS) -> None:
        super().__init__()
        self.path, self.limit, self.n_more = path, limit, 0

    def add(self, what: str, *, line: int | None = None, byte: int | None = None) -> None:
        """Lists one more fault, or counts it where enough are listed."""
        if len(self) < self.limit:
            self.append(Fault(Place(str(self.path), line=line, byte=byte), what))
        else:
            self.n_more += 1

    def all(self, rest: str = "more lines are damaged; skipped") -> list[Fault]:
        """All that are listed, and one for the ``rest`` where there are more."""
        return [*self, *([Fault(Place(str(self.path)), rest, self.n_more)] if self.n_more else [])]

    def state(self) -> Any:
        """All of them, as JSON."""
        return [[*vars(fault.place).values(), fault.what, fault.count] for fault in self], self.n_more

    def restore(self, state: Any) -> None:
        """Goes on from a state."""
        rows, self.n_more = state
        self[:] = [Fault(Place(str(self.path), *place), what, count) for _, *place, what, count in rows]
