"""What all readers share: the head by which a format is recognised, encodings, lines and blocks of text,
faults up to a limit, and a reader as a row, whose module is only imported when it is needed.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from chronicle.errors import only_regular
from chronicle.model import Attempt, Fault, Place

HEAD_BYTES = 8192
# The first bytes of formats that several readers ask for.
SQLITE_STARTS, PARQUET_STARTS = b"SQLite format 3\0", b"PAR1"
NPY_STARTS, ZIP_STARTS = b"\x93NUMPY", b"PK\x03\x04"
_MOST_ZEROS = 1 << 26  # bytes at the start of a file that are skipped
_CONTROLS = bytes([*range(1, 8), *range(14, 27), *range(28, 32)])  # that no text has; 27 begins a colour
_LONE_ZERO = re.compile(rb"(?<!\0)\0(?!\0)")  # a damaged byte; where there are more, nothing was written
_BLANKS = codecs.BOM_UTF8 + b" \t\n\r\v\f\0"
_MOST_CONTROLS = 0.01  # of a text
_NUMBER = re.compile(rb"\d+|nan|inf", re.IGNORECASE)
Kind = tuple[bool, bool, bytes, bytes]  # has it zeros, is it text, its first byte but blanks, its first byte
# The suffixes of documents and programs, which may quote a log.
_OF_WORDS = re.compile(
    r"\.(md|rst|py[ix]?|ipynb|sh|bash|sbatch|slurm|ya?ml|toml|html?|xml|svg|[jt]sx?|css|cc?|hh?|[ch](pp|xx)|cuh?|go|rs"
    r"|java|kt|scala|swift|rb|php|lua|pl|sql|proto|cmake|tex|bib|patch|diff|lock|ini|cfg|conf)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Head:
    """The beginning of a file, read once and shown to every reader in turn. ``start`` holds the first
    `HEAD_BYTES`; ``size`` is that of the file [bytes]. Two heads are equal if the file has not changed."""

    path: Path
    size: int
    changed_ns: int
    start: bytes = field(compare=False, repr=False)

    def __hash__(self) -> int:  # needed often, and that of a path takes longer
        return self.changed_ns

    @classmethod
    def of(cls, path: Path, *version: int) -> Head:
        """The head of the file, which is not read again while its ``version`` is the same. Raises OSError."""
        return _head(path, *(version or version_of(path)))

    def opened(self) -> TextIO:
        """The whole file as text; a small one is not read again. Raises OSError."""
        file = io.BytesIO(self.start) if len(self.start) == self.size < HEAD_BYTES else self.path.open("rb")
        return io.TextIOWrapper(file, encoding_of(self.start), "replace")

    @property
    def opens(self) -> bytes:
        """The first byte that is no blank and no byte order mark; b"" where it is not known."""
        return b"" if _utf16_of(self.start) else self.start.lstrip(_BLANKS)[:1]

    @cached_property
    def kind(self) -> Kind:
        """What is known of the file before any reader looks at it."""
        return b"\0" in self.start, self.is_text, self.opens, self.start[:1]

    @cached_property
    def is_of_words(self) -> bool:
        """Whether the name is that of a document or a program, which may quote a log."""
        return _OF_WORDS.fullmatch(self.path.suffix) is not None

    @cached_property
    def n_numbers(self) -> float:
        """How many runs of digits, or parts of words that may be NaN or infinity, are in the file; infinity
        where it goes on beyond the start, or has zeros. A cheap test that settles most short texts."""
        is_whole = self.size == len(self.start) < HEAD_BYTES and b"\0" not in self.start
        return len(_NUMBER.findall(self.start)) if is_whole else math.inf

    @property
    def is_text(self) -> bool:
        """Whether a reader of text may find anything in the file."""
        return self.is_clean or bool(self.lines)

    @cached_property
    def is_clean(self) -> bool:
        """Whether the start has no zero bytes other than those of UTF-16, or is text apart from them."""
        if b"\0" not in self.start or _utf16_of(self.start):
            return True
        written = self.start.replace(b"\0", b"")
        n_controls = len(written) - len(written.translate(None, _CONTROLS))
        return written != b"" and n_controls <= _MOST_CONTROLS * len(written)

    @cached_property
    def lines(self) -> list[str]:
        """The whole lines at the start, before any stretch of zeros; [] if it is no text. A single long line
        is cut, and a single zero byte in a text is left out."""
        text, is_cut = self.start, len(self.start) == HEAD_BYTES
        if b"\0" in text and not _utf16_of(text):
            text = _LONE_ZERO.sub(b"", text) if self.is_clean else text
        if b"\0" in text and not _utf16_of(text):
            text, is_cut = text[: text.rfind(b"\n", 0, text.index(b"\0")) + 1], False
            if not text or len(text.translate(None, _CONTROLS)) < len(text):
                return []
        lines = text.decode(encoding_of(self.start), errors="replace").splitlines()
        return lines[:-1] if is_cut and len(lines) > 1 else lines

    @property
    def last_line(self) -> str:
        """The last line of the file, of which at most `HEAD_BYTES` are read. Raises OSError."""
        with self.path.open("rb") as file:
            file.seek(max(self.size - HEAD_BYTES, 0))
            lines = file.read().decode(encoding_of(self.start), "replace").rstrip().splitlines()
        return lines[-1] if lines else ""


def version_of(path: Path, info: os.stat_result | None = None) -> tuple[int, ...]:
    """What changes when a file is written to; ``info`` may be its known state. Raises OSError."""
    info = info or os.stat(path)
    return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


@lru_cache(maxsize=256)
def _head(path: Path, *_version: int) -> Head:
    """Reads the head of a file. A log that is emptied while its writer goes on begins with as many zeros as
    it had bytes: these are skipped, unless nothing follows them."""
    with open(path, "rb", 0, opener=only_regular) as file:
        info = os.fstat(file.fileno())
        first = start = file.read(min(info.st_size, HEAD_BYTES) or HEAD_BYTES)
        while start and not start.strip(b"\0") and file.tell() < _MOST_ZEROS:
            start = file.read(HEAD_BYTES)
    start = first if start is first else start.lstrip(b"\0") or first
    return Head(path, info.st_size, info.st_mtime_ns, start)


def encoding_of(start: bytes) -> str:
    """The encoding of a text: UTF-16 if its mark or its zeros say so, GB 18030 for that of a Chinese Windows,
    1252 for that of a western one, else UTF-8 with or without a mark."""
    if encoding := _utf16_of(start):
        return encoding
    return "utf-8-sig" if start.isascii() else _encoding_of_windows(start)


def _utf16_of(start: bytes) -> str:
    """Which UTF-16 the bytes are, by the mark, or by zeros in every other byte, as ASCII has them, between
    bytes of a text; "" for none."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    ways = (("utf-16-le", start[::2], start[1::2]), ("utf-16-be", start[1::2], start[::2]))
    for encoding, low, high in ways if b"\0" in start else ():
        of_ascii = {byte for byte, beside in zip(low, high, strict=False) if not beside}
        if 4 * high.count(0) > len(high) and of_ascii.isdisjoint((0, *_CONTROLS)):
            return encoding
    return ""


# Two bytes of a common Chinese character or punctuation mark; few pairs of bytes in other encodings match.
_CHINESE = re.compile(rb"(?:[\xb0-\xf7\xa1\xa3][\xa1-\xfe])+")
_WESTERN = re.compile(rb"(?<=[A-Za-z])[\xc0-\xff]|[\xc0-\xff](?=[a-z])")  # an accented letter in a word
_MOST_PAIRS, _FEWEST_LETTERS = 0.9, 4


@lru_cache(maxsize=64)
def _encoding_of_windows(start: bytes) -> str:
    """GB 18030 or 1252 if the bytes are not UTF-8 (apart from a last character that is cut) but pairs of
    GB 2312, or several letters with accents; else UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        n_high = len(start.translate(None, bytes(range(128))))
        n_letters = len(_WESTERN.findall(start))
        if n_letters >= max(_FEWEST_LETTERS, _MOST_PAIRS * n_high):
            return "cp1252"
        if sum(map(len, _CHINESE.findall(start))) >= _MOST_PAIRS * n_high:
            return "gb18030"
    return "utf-8-sig"


class Lines:
    """The lines of a file without their ends. ``number`` counts from 1; ``unfinished`` is true for a line
    without an end."""

    def __init__(self, path: Path) -> None:
        self.path, self.number, self.unfinished = path, 0, False

    def __iter__(self) -> Iterator[str]:
        with self.path.open(encoding=encoding_of(Head.of(self.path).start), errors="replace") as file:
            for self.number, line in enumerate(file, 1):
                self.unfinished = not line.endswith("\n")
                yield line if self.unfinished else line[:-1]


Line = tuple[int, str, bool]  # number from 1, text, whether it has no end


def clean(text: str) -> str:
    """The text with lone surrogates, which JSON can express but no file can hold, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


MOST_DIGITS = 640  # of a whole number: the least that Python can be set to turn into an integer
JSON = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) <= MOST_DIGITS else float(digits))


def from_json(text: str | bytes) -> Any:
    """The value of a JSON text; a whole number with more digits than Python accepts is a float, or infinite.
    Raises ValueError if it is not valid, RecursionError if it is nested too deeply."""
    return JSON.decode(text if isinstance(text, str) else text.decode("utf-8", "surrogatepass"))


def json_or_none(text: Any) -> Any:
    """The value of a JSON text, None if it is not valid, or no text."""
    with suppress(ValueError, RecursionError, AttributeError):
        return from_json(text)
    return None


FIRST_BYTES = 1 << 16  # the first block is small: readers examine it with care, and learn from it
BLOCK_BYTES = 1 << 22  # of a line, read at a time
SMALL_BYTES = 1 << 18  # a block whose parsed objects fit into a processor's cache


def blocks(path: Path, size: int, file: Any) -> Iterator[bytes]:
    """The ``file`` at ``path`` (what has `tell`, `read` and `readline`, at its beginning or after a line) as
    UTF-8 without a byte order mark, in blocks of about ``size`` bytes, the first of `FIRST_BYTES`. Blocks end
    with a line feed; a last line without one is a block of its own, after which reading stops. Of the zeros,
    perhaps gigabytes, of a file system where nothing was written because of a crash, a few are kept."""
    if (encoding := encoding_of(Head.of(path).start)) != "utf-8-sig":
        with path.open(encoding=encoding, errors="replace", newline="\n") as text:
            part = "\n"
            while part.endswith("\n") and (part := text.read(size) + text.readline()):
                yield from _whole_and_cut(part.encode())
        return
    mark = b"" if file.tell() else codecs.BOM_UTF8
    block = (file.read(FIRST_BYTES) + _line_end(file)).removeprefix(mark)
    while block:
        yield from _whole_and_cut(block)
        block = file.read(size) + _line_end(file) if block.endswith(b"\n") else b""


def _whole_and_cut(block: bytes) -> Iterator[bytes]:
    end = block.rfind(b"\n") + 1
    return filter(None, (block[:end], block[end:]))


def _line_end(file: Any) -> bytes:
    pieces = []
    while piece := file.readline(BLOCK_BYTES):
        pieces.append(piece if piece.strip(b"\0") else b"\0\0")
        if piece.endswith(b"\n"):
            break
    return b"".join(pieces)


def numbered_lines(block: bytes, n_before: int) -> Iterator[Line]:
    """The lines of a block, which follows ``n_before`` others, without their ends and single zero bytes."""
    block = _LONE_ZERO.sub(b"", block) if b"\0" in block else block
    text = block.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    *lines, last = text.split("\n")
    for number, line in enumerate(lines, n_before + 1):
        yield number, line, False
    if last:
        yield n_before + len(lines) + 1, last, True


MOST_FAULTS = 100  # listed one by one; the rest is one fault with a count


class Faults(list[Fault]):
    """The faults of one log, in order; those beyond `MOST_FAULTS` are only counted."""

    FRESH = ("path",)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.n_more = path, 0

    def add(self, what: str, *, line: int | None = None, byte: int | None = None) -> None:
        """Lists one more fault, or only counts it if enough are listed."""
        if len(self) < MOST_FAULTS:
            self.append(Fault(Place(str(self.path), line=line, byte=byte), what))
        else:
            self.n_more += 1

    def all(self, rest: str = "further damaged lines were skipped") -> list[Fault]:
        """All listed faults, and one for the ``rest`` if there are more."""
        return [*self, *([Fault(Place(str(self.path)), rest, self.n_more)] if self.n_more else [])]


@dataclass(frozen=True)
class OnDemand:
    """A reader as a row: a module below `chronicle.readers`, or the entry of its BY_NAME. ``hooks`` are its
    optional functions; a folder that is one log holds one of ``folder_has``, names or `*.suffix`. The file is
    as ``starts`` (first bytes), ``opens`` (first byte but blanks) or ``binary`` (with zeros) tell."""

    module: str
    NAME: str
    SUFFIXES: tuple[str, ...] = ()
    FALLBACK: int = 0
    hooks: tuple[str, ...] = ()
    folder_has: tuple[str, ...] = ()
    starts: bytes | tuple[bytes, ...] = b""
    binary: bool = False
    opens: bytes = b""

    def may_be(self, kind: Kind) -> bool:
        """Whether a file of this kind may be of the reader."""
        has_zeros, is_text, opens, first = kind
        if self.starts:
            ways = self.starts if isinstance(self.starts, tuple) else (self.starts,)
            return any(start.startswith(first) for start in ways)
        return (has_zeros if self.binary else is_text) and (not self.opens or opens in self.opens)

    def identify(self, head: Head) -> bool:
        possible = head.start.startswith(self.starts) and self.may_be(head.kind)
        return possible and bool(self._module.identify(head))

    def read(self, path: Path) -> list[Attempt]:
        return list(self._module.read(path))

    def may_hold(self, names: Set[str]) -> bool:
        """Whether a folder with these ``names``, and their suffixes as `*.suffix`, may be one log."""
        return not names.isdisjoint(self.folder_has)

    def __getattr__(self, name: str) -> Any:
        if name not in self.hooks:
            raise AttributeError(name)
        return lambda *given: getattr(self._module, name)(*given)

    @cached_property
    def _module(self) -> Any:
        module = import_module(f"chronicle.readers.{self.module}")
        return getattr(module, "BY_NAME", {}).get(self.NAME, module)
