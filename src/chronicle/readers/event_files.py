"""TensorBoard event files: scalars as simple_value or tensor, any number of tags and of values a record.

A damaged record costs itself and is counted; a cut end is the state ``truncated``; steps that go back keep
both branches, equal steps all their values. Files without a scalar (a job that died, a rank with nothing to
write, a text log) give no attempt.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Role, Series
from chronicle.readers.crc32c import U8, masked_crc
from chronicle.readers.event_frames import FIRST_BYTE, HEADER, frames, intact
from chronicle.readers.event_scalars import Points, decode
from chronicle.readers.text import head

NAME = "event file"
SUFFIXES = (".tfevents",)

MOST_FAULTS = 100  # listed one by one; the rest is one line with a count


def identify(path: Path) -> bool:
    """The first record is an event, or its version stands near the start (where the first is damaged)."""
    start = head(path)
    if b"brain.Event:" in start[:64]:
        return True
    if len(start) <= HEADER:
        return False
    (checksum,) = struct.unpack("<I", start[8:HEADER])
    return masked_crc(start[:8]) == checksum and start[HEADER] == FIRST_BYTE


def read(path: Path) -> list[Attempt]:
    """One attempt; none where the file holds no scalar and is not damaged.

    Raises:
        BadLog: no record could be read.
    """
    buffer = mapped(path)
    found = frames(buffer)
    right = intact(buffer, found.begin, found.end)
    wrong = found.begin[~right] - HEADER
    damage = found.damage + [(int(at), "checksum of a record is wrong; skipped") for at in wrong]
    tags, broken = dict[str, int](), list[int]()
    points = decode(buffer, found.begin[right], found.end[right], tags, broken)
    damage += [(at - HEADER, "record is no event; skipped") for at in broken]
    if not len(points.tag):
        if damage:
            raise BadLog(f"{path}@{damage[0][0]}", f"{damage[0][1]}; and no scalar is left")
        return []
    series, faults = series_of(points, list(tags)), _faults(path, damage)
    return [Attempt(path.name, (str(path),), series, {}, faults, found.truncated)]


def mapped(path: Path) -> U8:
    """The bytes of a file, mapped into memory; a copy only where it cannot be mapped (an empty file)."""
    with path.open("rb") as file:
        try:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except (ValueError, OSError):
            return np.frombuffer(file.read(), np.uint8)


def series_of(points: Points, tags: list[str]) -> dict[str, Series]:
    """One series a tag, in the order in which the tags first come."""
    narrow = np.uint16 if len(tags) < 1 << 16 else np.int64  # 16 bits are sorted by radix, in linear time
    order = np.argsort(points.tag.astype(narrow), kind="stable")
    stop = np.cumsum(np.bincount(points.tag, minlength=len(tags)))
    series = {}
    groups = [order[begin:end] for begin, end in zip([0, *stop[:-1]], stop, strict=True)]
    for number in sorted(np.flatnonzero(np.diff(stop, prepend=0)), key=lambda number: int(groups[number][0])):
        tag, at = tags[number], groups[number]
        series[tag] = Series(tag, Role.OTHER, points.step[at], points.value[at], points.wall_time[at])
    return series


def _faults(path: Path, damage: list[tuple[int, str]]) -> tuple[Fault, ...]:
    listed = [Fault(f"{path}@{at}", what) for at, what in sorted(damage)[:MOST_FAULTS]]
    if len(damage) > MOST_FAULTS:
        listed.append(Fault(str(path), "more records are damaged; skipped", len(damage) - MOST_FAULTS))
    return tuple(listed)
