"""TensorBoard event files: scalars as simple_value or tensor, any number of tags and of values a record;
hyperparameters and texts as facts.

A damaged record costs itself and is counted; a cut end is the state ``truncated``; steps that go back keep
both branches, equal steps all their values. Files without a scalar (a job that died, a rank with nothing to
write, a text log) give no attempt.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from chronicle.errors import BadLog, LogError
from chronicle.model import Attempt, Fault, Role, Series
from chronicle.readers.crc32c import masked_crc
from chronicle.readers.event_batches import Log, logs
from chronicle.readers.event_facts import facts_of
from chronicle.readers.event_frames import FIRST_BYTE, HEADER
from chronicle.readers.event_scalars import Points
from chronicle.readers.text import head

NAME = "event file"
SUFFIXES = (".tfevents",)
FALLBACK = -1  # a checksum is beyond doubt: no other reader need be asked

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
    (found,) = read_many([path])
    if isinstance(found, LogError | OSError):
        raise found
    return found


def read_many(paths: Iterable[Path]) -> Iterator[list[Attempt] | LogError | OSError]:
    """As `read` of each of the files, in their order, but faster for many; what it raises is given."""
    for log in logs(paths):
        try:
            yield log.problem or _attempts(log)
        except LogError as err:
            yield err


def _attempts(log: Log) -> list[Attempt]:
    if not log.parts:
        if log.damage:
            at, what = min(log.damage)
            raise BadLog(f"{log.path}@{at}", f"{what}; and no scalar is left")
        return []
    series, faults = series_of(log.points, list(log.tags)), _faults(log.path, log.damage)
    facts = facts_of(log.texts.values())
    return [Attempt(log.path.name, (str(log.path),), series, facts, faults, log.truncated)]


def series_of(points: Points, tags: list[str]) -> dict[str, Series]:
    """One series a tag, in the order in which the tags first come."""
    narrow = np.uint16 if len(tags) < 1 << 16 else np.int64  # 16 bits are sorted by radix, in linear time
    order = np.argsort(points.tag.astype(narrow), kind="stable")
    stop = np.cumsum(np.bincount(points.tag, minlength=len(tags))).tolist()
    step, value, wall_time = points.step[order], points.value[order], points.wall_time[order]
    groups = [(begin, end) for begin, end in zip([0, *stop], stop, strict=False) if begin < end]
    series = {}
    for begin, end in sorted(groups, key=lambda group: int(order[group[0]])):
        tag, at = tags[points.tag[order[begin]]], slice(begin, end)
        series[tag] = Series(tag, Role.OTHER, step[at], value[at], wall_time[at])
    return series


def _faults(path: Path, damage: list[tuple[int, str]]) -> tuple[Fault, ...]:
    listed = [Fault(f"{path}@{at}", what) for at, what in sorted(damage)[:MOST_FAULTS]]
    if len(damage) > MOST_FAULTS:
        listed.append(Fault(str(path), "more records are damaged; skipped", len(damage) - MOST_FAULTS))
    return tuple(listed)
