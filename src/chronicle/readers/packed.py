"""Packed logs: archives of one file, and JSON records that each hold one line of text, as Docker keeps them.

An archive is unpacked into a temporary file up to its damage, and what is read from that file is given back
under the name of the archive. How much may be unpacked is limited: a small archive may hold any number of
bytes. The members of an archive of ZIP are found where it is cut, too.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from bisect import insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chronicle.errors import LogError, MissingExtra
from chronicle.model import Attempt, Fault, Place, relocated
from chronicle.readers.text import ZIP_STARTS, Head, json_or_none

LIMIT = "CHRONICLE_UNPACK_LIMIT_GB"  # environment variable: the most that one archive may unpack to
LIMIT_GB = 16.0
MOST_TIMES = 250  # the most that an archive may unpack to, as a multiple of its size,
FREE_BYTES = 1 << 26  # which is only checked above so many bytes
PIECE = 1024  # bytes unpacked at a time, which become 128 MB at most in the formats here
BEGIN_BYTES = 1 << 20  # enough of a log to recognise its format

CUT, DAMAGED = "is cut", "is damaged"


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("reading a log packed by Zstandard", "zstd", "zstandard") from None
    return zstandard.ZstdDecompressor().decompressobj()


class _WrappedLines:
    """Unwraps lines of text from the JSON records in which Docker and log collectors keep them; it is used
    like a decompressor. A line without a clock of its own gets the time of its record."""

    eof, unused_data, _rest = True, b"", b""

    def decompress(self, piece: bytes) -> bytes:
        *records, self._rest = (self._rest + piece).split(b"\n")
        self.eof = not self._rest
        return "".join(map(_unwrapped, filter(None, records))).encode("utf-8", "replace")


def _unwrapped(record: bytes) -> str:
    fields = _fields(record)
    text = str(fields[key]).rstrip("\n") if (key := _text_key(fields)) else ""
    time = next((str(fields[name]) for name in _TIMES if name in fields), "") if text else ""
    own_clock = text.startswith("{") or _CLOCK.search(text)
    return f"{time} {text}\n" if _CLOCK.search(time) and not own_clock else f"{text}\n"


_TEXT_KEYS = ("log", "message", "msg", "line", "textPayload")
_TIMES = ("time", "timestamp", "ts", "@timestamp")
_ABOUT_RECORDS = {*_TIMES, "level", "severity", "lineno", "pid", "process", "thread", "ingestionTime"}
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_FRACTION = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")


def _fields(record: bytes) -> Any:
    """A JSON record, with the fields of its payload where Google Cloud Logging keeps them apart."""
    fields = json_or_none(record)
    payload = fields.get("jsonPayload") if isinstance(fields, dict) else None
    return {**payload, **fields} if isinstance(payload, dict) else fields


def _text_key(fields: Any) -> str | None:
    """The key under which a JSON record holds a line of text; None if a measurement stands beside it."""
    if not isinstance(fields, dict) or _measures(fields):
        return None
    return next((name for name in _TEXT_KEYS if isinstance(fields.get(name), str)), None)


def _measures(value: Any) -> bool:
    """Whether a JSON value is or holds a number that is not about the record itself."""
    if isinstance(value, dict):
        value = [v for name, v in value.items() if name not in _ABOUT_RECORDS]
    if isinstance(value, list):
        return any(map(_measures, value))
    return type(value) in (int, float) or bool(_FRACTION.fullmatch(str(value)))


# First bytes, suffix, and a decompressor of one member, which takes as long to import as a short log to read.
_PACKINGS: tuple[tuple[bytes, str, Callable[[], Any]], ...] = (
    (b"\x1f\x8b\x08", ".gz", lambda: zlib.decompressobj(zlib.MAX_WBITS | 16)),
    (b"BZh", ".bz2", lambda: import_module("bz2").BZ2Decompressor()),
    (b"\xfd7zXZ\0", ".xz", lambda: import_module("lzma").LZMADecompressor(memlimit=1 << 28)),
    (b"\x28\xb5\x2f\xfd", ".zst", _zstd),
)
_SUFFIXES = {suffix for _, suffix, _ in _PACKINGS}


class Unpacked(NamedTuple):
    """A file with the content of an archive, and the state of the archive: CUT, DAMAGED, or "" if it is
    whole."""

    path: Path
    state: str


def plain_name(path: Path) -> str:
    """The name without the suffix of an archive: `run.csv` of `run.csv.gz`."""
    stem, point, ending = path.name.rpartition(".")
    return stem if stem and (point + ending).lower() in _SUFFIXES else path.name


def begins_archive(start: bytes) -> bool:
    """Whether these are the first bytes of an archive."""
    return _decompressor(start) is not None


def _decompressor(start: bytes) -> Callable[[], Any] | None:
    records = [r for r in start.split(b"\n")[:-1] if r.strip()] if start.startswith(b"{") else []
    if len(records) > 1 and all(_text_key(_fields(record)) for record in records):
        return _WrappedLines
    return next((make for magic, _, make in _PACKINGS if start.startswith(magic)), None)


@contextmanager
def unpacked(path: Path, *, begin_only: bool = False) -> Iterator[Unpacked]:
    """The content of an archive in a temporary file with its plain name; any other file as it is. With
    ``begin_only`` about BEGIN_BYTES of it. Raises LogError if it unpacks to more than it may, or needs a
    package that is not installed, and OSError."""
    make = _decompressor(Head.of(path).start)
    if make is None:
        yield Unpacked(path, "")
        return
    from chronicle.workspace.locks import scratch  # imports much that few logs need

    with scratch() as folder:
        plain = folder / (plain_name(path) or "log")
        with path.open("rb") as source, plain.open("wb") as out:
            try:
                state = unpack(source, out, make, path, BEGIN_BYTES if begin_only else 0)
            except MissingExtra as err:
                raise LogError(str(path), str(err)) from None
        yield Unpacked(plain, state)


def unpack(source: BinaryIO, out: BinaryIO, make: Callable[[], Any], path: Path, enough: int) -> str:
    """Writes the content up to its damage, or ``enough`` bytes (0: all); its state. Raises as `unpacked`."""
    machine, n_made, most = make(), 0, most_unpacked(path)
    while piece := source.read(PIECE):
        while piece:
            if machine.eof:  # another archive may follow, or padding
                if not piece.strip(b"\0"):
                    break
                machine = make()
            try:
                content = machine.decompress(piece)
            except Exception:  # each library raises its own
                return DAMAGED
            out.write(content)
            n_made += len(content)
            piece = machine.unused_data if machine.eof else b""
        if n_made > most:
            raise too_large(path)
        if enough and n_made > enough:
            return ""
    return "" if machine.eof else CUT


_MEMBER = struct.Struct("<8xH4xLL4xHH")  # packing, checksum, sizes of it, its name and the rest of its head
_IN_64_BITS, _DEFLATED = 0xFFFFFFFF, 8


class Member(NamedTuple):
    """A member of a ZIP archive: where it begins and ends in the file, behind its own head, and whether the
    list of the archive names no other."""

    name: str
    begin: int
    end: int
    packing: int
    checksum: int
    is_only: bool

    def content(self, file: BinaryIO, path: Path, enough: int) -> bytes:
        """What the first ``enough`` bytes unpack to, up to their damage. Raises as `unpacked`."""
        file.seek(self.begin)
        packed = file.read(min(self.end - self.begin, enough))
        if self.packing != _DEFLATED:
            return packed
        unpack(BytesIO(packed), out := BytesIO(), lambda: zlib.decompressobj(-zlib.MAX_WBITS), path, enough)
        return out.getvalue()


def zip_members(file: BinaryIO, size: int) -> Iterator[Member]:
    """The members of an archive of ``size`` bytes. They are sought one behind the other, as in a copy that is
    cut, and where the list at its end says."""
    from zipfile import ZipFile, ZipInfo

    listed = dict[int, ZipInfo]()  # by where they begin
    with suppress(Exception):
        listed = {info.header_offset: info for info in ZipFile(file).infolist()}
    places = sorted({0, *(at for at in listed if 0 < at < size)})
    for at in places:
        file.seek(at)
        start = file.read(_MEMBER.size)
        if not start.startswith(ZIP_STARTS) or len(start) < _MEMBER.size:
            continue
        packing, checksum, n_packed, n_name, n_rest = _MEMBER.unpack(start)
        name, rest = file.read(n_name).decode("utf-8", "replace"), file.read(n_rest)
        n_packed = int.from_bytes(rest[12:20], "little") if n_packed == _IN_64_BITS else n_packed
        if info := listed.get(at):
            n_packed, checksum = info.compress_size, info.CRC
        begin = file.tell()
        end = begin + (n_packed or size)  # unknown if it was written to a pipe
        if end < size and end not in listed:
            insort(places, end)
        yield Member(name, begin, end, packing, checksum, len(listed) == 1)


def most_unpacked(path: Path) -> float:
    """The bytes to which an archive may unpack."""
    if setting := os.environ.get(LIMIT):
        return float(setting) * 1e9
    return min(LIMIT_GB * 1e9, max(FREE_BYTES, MOST_TIMES * path.stat().st_size))


def too_large(path: Path) -> LogError:
    """The error about an archive that unpacks to more than it may."""
    what = f"unpacks from {_size(path.stat().st_size)} to more than {_size(most_unpacked(path))}"
    remedy = f"set {LIMIT} to the number of GB that it may take, or unpack it yourself"
    return LogError(str(path), f"{what}. Remedy: if you trust it, {remedy}")


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


def respelled(attempt: Attempt, spell: Callable[[str], str], **changes: Any) -> Attempt:
    """The attempt with its paths rewritten by ``spell``, and with the fields in ``changes`` replaced."""
    faults = tuple(relocated(fault, spell) for fault in attempt.faults)
    return replace(attempt, sources=tuple(map(spell, attempt.sources)), faults=faults, **changes)


def named_back(attempt: Attempt, file: Unpacked, path: Path) -> Attempt:
    """The attempt that was read from ``file``, under the name of the archive at ``path`` and with its
    state."""
    name = path.name + attempt.name.removeprefix(file.path.name)
    truncated = attempt.truncated or bool(file.state)
    if file.state == DAMAGED:
        damage = Fault(Place(str(path)), "the archive is damaged; it was read up to the damage")
        attempt = replace(attempt, faults=(*attempt.faults, damage))
    own, archive = str(file.path), str(path)
    return respelled(attempt, lambda at: at.replace(own, archive), name=name, truncated=truncated)


def error_named_back(err: LogError, file: Unpacked, path: Path) -> LogError:
    """An error about ``file`` as one about the archive at ``path``."""
    where = err.where.replace(str(file.path), str(path))
    archive = f"the archive {file.state}, and what is left " if file.state else ""
    return type(err)(where, archive + err.problem.replace(str(file.path), str(path)))
