"""Event files in batches: many small ones at a time, large ones in parts; decoded by several threads.

numpy lets other threads run while it works, and works best on tens of thousands of records: files are joined
until they are so many. A file is read, not mapped: one that shrinks meanwhile would end the process.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from chronicle.readers.crc32c import U8, Ints
from chronicle.readers.event_frames import HEADER, Damage, Frames, Mask, frames, headers, intact
from chronicle.readers.event_scalars import Found, Points, decode
from chronicle.readers.event_wire import Text

WORKERS = "CHRONICLE_READ_WORKERS"  # environment variable: threads that decode
BATCH_BYTES = 1 << 22


@dataclass
class Log:
    """What was found in one file so far; tags have numbers in the order in which they first come."""

    path: Path
    tags: dict[str, int] = field(default_factory=dict)
    parts: list[Points] = field(default_factory=list)
    texts: dict[str, Text] = field(default_factory=dict)
    damage: Damage = field(default_factory=list)
    truncated: bool = False
    problem: OSError | None = None
    base: int = 0  # bytes of the file that were used up

    @property
    def points(self) -> Points:
        """All of them, in the order of the file."""
        return Points(*map(np.concatenate, zip(*self.parts, strict=True)))

    def add(self, points: Points, names: list[str]) -> None:
        """Adds points whose tags are numbered by ``names``."""
        n_points = len(points.tag)
        first = np.full(len(names), n_points)  # where each tag comes first: the last one that is written
        first[points.tag[::-1]] = np.arange(n_points - 1, -1, -1)
        used = np.flatnonzero(first < n_points)
        numbers = np.zeros(len(names), np.int64)
        for number in used[np.argsort(first[used])].tolist():
            numbers[number] = self.tags.setdefault(names[number], len(self.tags))
        self.parts.append(points._replace(record=points.record[:0], tag=numbers[points.tag]))

    def note(self, piece: _Piece, wrong: Ints, found: Found) -> None:
        """Adds what is damaged in a piece, places counted from the begin of the file, and its texts."""
        shift, high = piece.base - piece.low, piece.found.stop
        damage = piece.found.damage + [
            (int(begin) - HEADER, "checksum of a record is wrong; skipped") for begin in wrong
        ]
        damage += [(at - HEADER, "record is no event; skipped") for at in piece.within(found.broken)]
        self.damage += [(at + shift, what) for at, what in damage]
        self.truncated |= piece.found.truncated
        self.texts |= {text.tag: text for at, text in found.texts if piece.low <= at < high}


@dataclass
class _Piece:
    """A file or a part of one: where it stands in its batch and in its file, and its frames."""

    log: Log
    low: int
    base: int
    found: Frames
    is_last: bool = False

    def within(self, places: list[int]) -> list[int]:
        """Those of the places in the batch, in their order, that stand in this piece."""
        return places[bisect_left(places, self.low) : bisect_left(places, self.found.stop)]


Whole = list[tuple[Log, bytes]]  # files with their content (of a large one, the last part)


@dataclass
class _Batch:
    buffer: U8
    pieces: list[_Piece]

    @property
    def records(self) -> tuple[Ints, Ints]:
        """Begin and end of all payloads."""
        empty = np.empty(0, np.int64)
        begin = np.concatenate([empty, *(piece.found.begin for piece in self.pieces)])
        return begin, np.concatenate([empty, *(piece.found.end for piece in self.pieces)])


def logs(paths: Iterable[Path], workers: int = 0) -> Iterator[Log]:
    """The content of event files, in their order; ``workers`` threads, by default as `n_workers` says."""
    workers = workers or n_workers()
    waiting: deque[Future[_Decoded]] = deque()
    with ThreadPoolExecutor(workers) as threads:
        for work in _batches(Log(path) for path in paths):
            waiting.append(threads.submit(_decoded, work))
            if len(waiting) > workers:
                yield from _taken(*waiting.popleft().result())
        while waiting:
            yield from _taken(*waiting.popleft().result())


def n_workers() -> int:
    """Threads that decode: as the environment says, else two, but one in a process that is a worker."""
    told = os.environ.get(WORKERS, "")
    if told.isdecimal() and int(told):
        return int(told)
    process = sys.modules.get("multiprocessing.process")  # a worker has imported it
    return 1 if process and process.parent_process() else min(2, os.cpu_count() or 1)


def _batches(logs: Iterable[Log]) -> Iterator[_Batch | Whole]:
    """Files to be joined, and parts of large ones, whose frames are found one after the other."""
    waiting: Whole = []
    size = 0
    for log in logs:
        content = b""
        try:
            with log.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size <= BATCH_BYTES:
                    content = file.read()
                else:
                    if waiting:
                        yield waiting
                    waiting, size = [], 0
                    content = yield from _parts(log, file)
        except OSError as err:
            log.problem = err
        waiting.append((log, content))
        size += len(content)
        if size >= BATCH_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _parts(log: Log, file: BinaryIO) -> Generator[_Batch, None, bytes]:
    """A large file in parts, each with what the one before it could not use; the last one is given back."""
    content, want = file.read(BATCH_BYTES), BATCH_BYTES
    while more := file.read(want):
        buffer = np.frombuffer(content, np.uint8)
        known = headers(buffer, np.array([len(buffer)]))
        found = frames(buffer, known, 0, len(buffer), last=False)
        yield _Batch(buffer, [_Piece(log, 0, log.base, found)])
        log.base += found.stop
        content = content[found.stop :] + more
        want = max(BATCH_BYTES, len(content) - len(more))  # a record that is longer is not tried too often
    return content


def _joined(waiting: Whole) -> _Batch:
    buffer = np.frombuffer(b"".join(content for _, content in waiting), np.uint8)
    stops = np.cumsum([len(content) for _, content in waiting], dtype=np.int64)
    known = headers(buffer, stops)
    pieces, low = [], 0
    for (log, _), high in zip(waiting, stops.tolist(), strict=True):
        found = frames(buffer, known, low, high)
        pieces.append(_Piece(log, low, log.base, found, is_last=True))
        low = high
    return _Batch(buffer, pieces)


_Decoded = tuple[_Batch, Mask, Points, Found]


def _decoded(work: _Batch | Whole) -> _Decoded:
    """A batch, which of its records have the right checksum, and what is in them."""
    batch = work if isinstance(work, _Batch) else _joined(work)
    begin, end = batch.records
    right = intact(batch.buffer, begin, end)
    found = Found()
    return batch, right, decode(batch.buffer, begin[right], end[right], found), found


def _taken(batch: _Batch, right: Mask, points: Points, found: Found) -> Iterator[Log]:
    """Gives each log its part of a batch; those that are complete with it come out."""
    names, first, kept = list(found.tags), 0, 0
    for piece in batch.pieces:
        log, begin = piece.log, piece.found.begin
        is_right = right[first : first + len(begin)]
        n_right = int(np.count_nonzero(is_right))
        low, high = np.searchsorted(points.record, [kept, kept + n_right])
        if high > low:
            columns: Any = (column[low:high] for column in points)
            log.add(Points(*columns), names)
        first, kept = first + len(begin), kept + n_right
        log.note(piece, begin[~is_right], found)
        if piece.is_last:
            yield log
