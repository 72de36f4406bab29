"""Event files in batches: many small ones at a time, large ones in parts; decoded by several threads.

numpy lets other threads run while it works, and works best on tens of thousands of records:
files are read side by side until they are so many. A file is read, not mapped: one that shrinks meanwhile
would end the process.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from io import FileIO
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.events.scalars import Found, Points, decode
from chronicle.readers.events.tfrecord import (
    HEADER,
    U8,
    Damage,
    Frames,
    Ints,
    frames,
    headers,
    intact,
    is_event_log,
)
from chronicle.readers.events.wire import Text
from chronicle.readers.growing import Growing

WORKERS = "CHRONICLE_READ_WORKERS"  # environment variable: threads that decode
BATCH_BYTES = 1 << 22


class _Batch(NamedTuple):
    """Pieces side by side; the frames of whole files are found where they are decoded."""

    buffer: U8
    pieces: list[Piece]
    is_whole: bool = True


class _Decoded(NamedTuple):
    """The points of a batch in groups, and what else was found: those of one tag in one piece stand together.

    ``groups``: piece, number of the tag, and begin and end in ``points``, in the order of the log.
    """

    pieces: list[Piece]
    points: Column
    groups: list[tuple[int, int, int, int]]
    wrong: list[int]
    found: Found


def logs(paths: Sequence[Path], workers: int = 0) -> Iterator[Log]:
    """The content of event files, in their order; ``workers`` threads, by default as `n_workers` says."""
    workers = workers or n_workers()
    waiting: deque[Future[_Decoded]] = deque()
    with ThreadPoolExecutor(workers) as threads:
        for batch in _batches(map(Log, paths)):
            waiting.append(threads.submit(_decoded, batch))
            if len(waiting) > workers:
                yield from _taken(waiting.popleft().result())
        while waiting:
            yield from _taken(waiting.popleft().result())


def n_workers() -> int:
    """Threads that decode: as the environment says, else two, but one in a process that is a worker."""
    told = os.environ.get(WORKERS, "")
    if told.isdecimal() and int(told):
        return int(told)
    process = sys.modules.get("multiprocessing.process")  # a worker has imported it
    return 1 if process and process.parent_process() else min(2, os.cpu_count() or 1)


def _batches(logs: Iterable[Log]) -> Iterator[_Batch]:
    """Small files side by side, and the parts of large ones."""
    room, pieces, used = _empty()
    for log in logs:
        low = used
        try:
            with open(log.path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size > BATCH_BYTES:
                    if pieces:
                        yield _Batch(room[:used], pieces)
                    room, pieces, used = _empty()
                    low = used
                    log.size = size
                    yield from _parts(log, file)
                    continue
                used += _read(file, room[low : low + size])
        except OSError as err:
            log.problem = err
        log.is_other = not is_event_log(room[low:used])
        pieces.append(Piece(log, low, used))
        if used >= BATCH_BYTES:
            yield _Batch(room[:used], pieces)
            room, pieces, used = _empty()
    if pieces:
        yield _Batch(room[:used], pieces)


def _empty() -> tuple[U8, list[Piece], int]:
    """Room for a batch, of which nothing is used; memory is only taken where it is written to."""
    return np.empty(2 * BATCH_BYTES, np.uint8), [], 0


def _parts(log: Log, file: FileIO) -> Iterator[_Batch]:
    """A large file in parts, each with what the one before it could not use."""
    rest, base, n_read = np.empty(0, np.uint8), 0, 1
    while n_read:
        room = np.empty(len(rest) + max(BATCH_BYTES, len(rest)), np.uint8)  # a long record is not tried often
        room[: len(rest)] = rest
        n_read = _read(file, room[len(rest) :])
        buffer = room[: len(rest) + n_read]
        log.is_other = log.is_other or (not base and not is_event_log(buffer))
        (found,) = _frames(buffer, [len(buffer)], last=not n_read)
        yield _Batch(buffer, [Piece(log, 0, len(buffer), base, found, is_last=not n_read)], is_whole=False)
        rest, base = buffer[found.stop :], base + found.stop


def _read(file: FileIO, room: U8) -> int:
    """Reads what has room: the number of bytes."""
    return file.readinto(room.data) or 0


def _frames(buffer: U8, stops: list[int], *, last: bool = True) -> list[Frames]:
    """The frames of files, or parts of them, that end at ``stops``."""
    known = headers(buffer, np.array(stops, np.int64))
    return [frames(buffer, known, *span, last=last) for span in zip([0, *stops], stops, strict=False)]


def _decoded(batch: _Batch) -> _Decoded:
    """What is in the records with the right checksum."""
    buffer, pieces, is_whole = batch
    if is_whole:
        for piece, its in zip(pieces, _frames(buffer, [piece.high for piece in pieces]), strict=True):
            piece.frames = its
    begin = np.concatenate([piece.frames.begin for piece in pieces])
    end = np.concatenate([piece.frames.end for piece in pieces])
    right = intact(buffer, begin, end)
    found = Found()
    points = decode(buffer, begin[right], end[right], found)
    piece_of = np.repeat(np.arange(len(pieces)), [len(piece.frames.begin) for piece in pieces])[right]
    column, groups = _grouped(points, piece_of[points.record], len(found.tags))
    return _Decoded(pieces, column, groups, begin[~right].tolist(), found)


def _grouped(points: Points, piece: Ints, n_tags: int) -> tuple[Column, list[tuple[int, int, int, int]]]:
    """Points by piece and tag, in each in the order of the log, and the groups as `_Decoded` has them."""
    key = piece * n_tags + points.tag
    narrow = key.max(initial=0) < 1 << 16  # 16 bits are sorted by radix, in linear time
    order = np.argsort(key.astype(np.uint16) if narrow else key, kind="stable")
    key = key[order]
    low = np.flatnonzero(np.diff(key, prepend=-1))
    high = np.append(low[1:], len(key))
    first = np.argsort(order[low])
    low, high = low[first], high[first]
    groups = zip(*(a.tolist() for a in (*np.divmod(key[low], max(n_tags, 1)), low, high)), strict=True)
    return (points.step[order], points.value[order], points.wall_time[order]), list(groups)


def _taken(made: _Decoded) -> Iterator[Log]:
    """Gives each log its part of a batch; those that are complete with it come out."""
    names = list(made.found.tags)
    steps, values, times = made.points
    for number, tag, low, high in made.groups:
        piece = made.pieces[number]
        piece.log.add(names[tag], (steps[low:high], values[low:high], times[low:high]), piece)
    for piece in made.pieces:
        piece.log.note(piece, made.wrong, made.found)
        if piece.is_last:
            piece.log.finish()
            yield piece.log


MOST_AHEAD = 128  # times the points of a part: room that is taken for the rest of its file
Column = tuple[Steps, Floats, Floats]  # steps, values and times of a tag, or of a part of it


@dataclass
class Log:
    """What was found in one file so far; tags stand in the order in which they first come."""

    path: Path
    size: int = 0  # bytes of a large file
    columns: dict[str, Column] = field(default_factory=dict)
    growing: dict[str, list[Growing]] = field(default_factory=dict)  # columns of a large file
    texts: dict[str, Text] = field(default_factory=dict)
    damage: Damage = field(default_factory=list)
    truncated: bool = False
    problem: OSError | None = None
    is_other: bool = False  # no event file, by how it begins

    def add(self, tag: str, part: Column, piece: Piece) -> None:
        """Adds the points of a tag in a piece."""
        if piece.is_whole:
            self.columns[tag] = part
            return
        growing = self.growing.get(tag)
        if growing is None:
            growing = self.growing[tag] = [Growing(piece.expected(len(part[0]))) for _ in part]
        for whole, more in zip(growing, part, strict=True):
            whole.extend(more)

    def finish(self) -> None:
        """Makes columns of those that grew; tags that follow each other at the same steps share them."""
        before = np.empty(0, np.int64)
        for tag, (steps, values, times) in self.growing.items():
            before = before if np.array_equal(before, steps.values) else steps.values
            self.columns[tag] = before, values.values, times.values
        self.growing.clear()

    def note(self, piece: Piece, wrong: list[int], found: Found) -> None:
        """Adds what is damaged in a piece, places counted from the begin of the file, and its texts."""
        shift = piece.base - piece.low
        self.damage += [(at + shift, what) for at, what in piece.frames.damage]
        for places, what in ((wrong, "checksum of a record is wrong"), (found.broken, "record is no event")):
            self.damage += [(at - HEADER + shift, f"{what}; skipped") for at in places[piece.within(places)]]
        self.truncated |= piece.frames.truncated
        texts = found.texts[piece.within(found.texts, key=itemgetter(0))]
        self.texts |= {text.tag: text for _, text in texts}


def _none() -> Frames:
    return Frames(np.empty(0, np.int64), np.empty(0, np.int64), [], False, 0)


@dataclass
class Piece:
    """A file or a part of one: where it stands in its batch and in its file, and its frames."""

    log: Log
    low: int
    high: int
    base: int = 0
    frames: Frames = field(default_factory=_none)
    is_last: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole file."""
        return self.is_last and not self.base

    def expected(self, n_points: int) -> int:
        """How many points the rest of the file, from here on, holds if it goes on with so many as here."""
        n_times = (self.log.size - self.base) / (self.high - self.low)
        return int(1.05 * n_points * min(n_times, MOST_AHEAD))

    def within(self, places: list[Any], key: Callable[[Any], int] | None = None) -> slice:
        """Which of the places in the batch, in their order, stand in this piece."""
        return slice(bisect_left(places, self.low, key=key), bisect_left(places, self.high, key=key))
