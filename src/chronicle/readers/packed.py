"""Compressed logs: known by their first bytes, and unpacked to a file that goes away after reading.

An archive that is cut or damaged gives what stands before. What it unpacks to is bounded, in bytes and as a
multiple of the archive, so that an archive made to fill a disk does not.
"""

from __future__ import annotations

import bz2
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from chronicle.errors import LogError, MissingExtra
from chronicle.model import Attempt, Fault, Place, relocated
from chronicle.readers.text import head

LIMIT = "CHRONICLE_UNPACK_LIMIT_GB"  # environment variable: the most that one archive may unpack to
LIMIT_GB = 16.0
MOST_TIMES, FREE_BYTES = 250, 1 << 26  # of the archive's size; not looked at below so many bytes
PIECE = 1024  # bytes unpacked at a time; of the formats here they become 128 MB at most
BEGIN_BYTES = 1 << 20  # enough of a log to know its format by

CUT, DAMAGED = "is cut", "is damaged"


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("reading a log packed by Zstandard", "zstd", "zstandard") from None
    return zstandard.ZstdDecompressor().decompressobj()


# First bytes, suffix, and a decompressor of one member of an archive.
_PACKINGS: tuple[tuple[bytes, str, Callable[[], Any]], ...] = (
    (b"\x1f\x8b\x08", ".gz", lambda: zlib.decompressobj(zlib.MAX_WBITS | 16)),
    (b"BZh", ".bz2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", ".xz", lambda: lzma.LZMADecompressor(memlimit=1 << 28)),
    (b"\x28\xb5\x2f\xfd", ".zst", _zstd),
)
_SUFFIXES = {suffix for _, suffix, _ in _PACKINGS}


@dataclass(frozen=True)
class Unpacked:
    """A file with the content of an archive, and whether that is CUT, DAMAGED or "" for whole."""

    path: Path
    state: str


def plain_name(path: Path) -> str:
    """The name without the suffix of a packing: `run.csv` of `run.csv.gz`."""
    return path.stem if path.suffix.lower() in _SUFFIXES else path.name


def begins_archive(start: bytes) -> bool:
    """Whether an archive begins so."""
    return _decompressor(start) is not None


def _decompressor(start: bytes) -> Callable[[], Any] | None:
    return next((make for magic, _, make in _PACKINGS if start.startswith(magic)), None)


@contextmanager
def unpacked(path: Path, *, begin_only: bool = False) -> Iterator[Unpacked]:
    """The content of a file, in a temporary one of its plain name; of a file that is not packed, itself.

    With ``begin_only`` there are about BEGIN_BYTES of it.

    Raises:
        LogError: it unpacks to more than it may, or by a package that is not installed.
        OSError: it cannot be read, or the disk is full.
    """
    make = _decompressor(head(path))
    if make is None:
        yield Unpacked(path, "")
        return
    from chronicle.workspace.locks import scratch  # with all that it takes to lock, which few logs need

    with scratch() as folder:
        plain = folder / (plain_name(path) or "log")
        with path.open("rb") as source, plain.open("wb") as out:
            try:
                state = _unpack(source, out, make, path, BEGIN_BYTES if begin_only else 0)
            except MissingExtra as err:
                raise LogError(str(path), str(err)) from None
        yield Unpacked(plain, state)


def _unpack(source: BinaryIO, out: BinaryIO, make: Callable[[], Any], path: Path, enough: int) -> str:
    machine, made, setting = make(), 0, os.environ.get(LIMIT)
    most = min(LIMIT_GB * 1e9, max(FREE_BYTES, MOST_TIMES * path.stat().st_size))
    most = float(setting) * 1e9 if setting else most
    while piece := source.read(PIECE):
        while piece:
            if machine.eof:  # archives may be joined, and filled up with zeros
                if not piece.strip(b"\0"):
                    break
                machine = make()
            try:
                content = machine.decompress(piece)
            except Exception:  # of every library its own
                return DAMAGED
            out.write(content)
            made += len(content)
            piece = machine.unused_data if machine.eof else b""
        if made > most:
            what = f"unpacks from {_size(path.stat().st_size)} to more than {_size(most)}"
            remedy = f"set {LIMIT} to as many GB as you allow it, or unpack it yourself"
            raise LogError(str(path), f"{what}. Remedy: if it is no trap, {remedy}")
        if enough and made > enough:
            return ""
    return "" if machine.eof else CUT


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


def respelled(attempt: Attempt, spell: Callable[[str], str]) -> Attempt:
    """The attempt with its sources, and the places of its faults, spelled in another way."""
    faults = tuple(relocated(fault, spell) for fault in attempt.faults)
    return replace(attempt, sources=tuple(map(spell, attempt.sources)), faults=faults)


def named_back(attempt: Attempt, file: Unpacked, path: Path) -> Attempt:
    """What was read of ``file``, under the names of the archive at ``path``, with the archive's own state."""
    attempt = respelled(attempt, lambda source: source.replace(str(file.path), str(path)))
    damage = Fault(Place(str(path)), "the archive is damaged; read up to there")
    return replace(
        attempt,
        name=path.name + attempt.name.removeprefix(file.path.name),
        faults=(*attempt.faults, *([damage] if file.state == DAMAGED else [])),
        truncated=attempt.truncated or bool(file.state),
    )


def error_named_back(err: LogError, file: Unpacked, path: Path) -> LogError:
    """A problem with ``file`` as one of the archive at ``path``."""
    where = err.where.replace(str(file.path), str(path))
    archive = f"the archive {file.state}, and what is left " if file.state else ""
    return type(err)(where, archive + err.problem.replace(str(file.path), str(path)))
