"""Event files in batches: many small ones at a time, large ones in parts; decoded by several threads.

numpy lets other threads run while it works, and works best on tens of thousands of records: files are read
side by side until they are so many. A file is read, not mapped: one that shrinks meanwhile would end the
process.
"""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from io import FileIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.events.scalars import Points, Text, decode
from chronicle.readers.events.tfrecord import (
    FOOTER,
    HEADER,
    U8,
    Damage,
    Frames,
    Gap,
    Ints,
    frames,
    intact,
    is_event_log,
)
from chronicle.readers.read_on import Arrays, Mark, Source

WORKERS = "CHRONICLE_READ_WORKERS"  # environment variable: threads that decode
BATCH_BYTES = 1 << 22
Column = tuple[Steps, Floats, Floats]  # steps, values and times of a tag, or of a part of it
_Growing = tuple["array[int]", "array[float]", "array[float]"]  # without a second copy in memory


@dataclass
class Log:
    """What was found in one file so far; tags stand in the order in which they first come."""

    path: Path
    size: int = 0  # bytes of a large file
    columns: dict[str, Column] = field(default_factory=dict)
    growing: dict[str, _Growing] = field(default_factory=dict)  # columns of a large file
    texts: dict[str, Text] = field(default_factory=dict)
    damage: Damage = field(default_factory=list)
    truncated: bool = False
    problem: OSError | None = None
    is_other: bool = False  # no event file, by how it begins
    source: Source | None = None  # of a large file

    def state(self, arrays: Arrays) -> Any:
        """What stands before the mark."""
        arrays += [np.asarray(column) for growing in self.growing.values() for column in growing]
        texts = [(tag, plugin, content.decode("latin-1")) for tag, plugin, content in self.texts.values()]
        return list(self.growing), texts, self.damage

    def restore(self, state: Any, arrays: Arrays) -> None:
        """Goes on from a state."""
        tags, texts, damage = state
        for number, tag in enumerate(tags):
            steps, values, times = arrays[3 * number : 3 * number + 3]
            self.grow(tag, (steps, values, times))
        self.texts = {tag: Text(tag, plugin, content.encode("latin-1")) for tag, plugin, content in texts}
        self.damage = [(at, what) for at, what in damage]

    def grow(self, tag: str, part: Column) -> None:
        """Adds points to the columns of a tag."""
        growing: Sequence[array[Any]] = self.growing.setdefault(tag, (array("q"), array("d"), array("d")))
        for column, more in zip(growing, part, strict=True):
            column.frombytes(more.tobytes())

    def finish(self) -> None:
        """Makes columns of those that grew; tags that follow each other at the same steps share them."""
        before = np.empty(0, np.int64)
        for tag, growing in self.growing.items():
            steps, values, times = map(np.asarray, growing)
            before = before if np.array_equal(before, steps) else steps
            self.columns[tag] = before, values, times


@dataclass
class Piece:
    """A file or a part of one: where it stands in its batch and in its file, and its frames."""

    log: Log
    low: int
    high: int
    base: int = 0
    is_last: bool = True
    frames: Frames = field(default_factory=Frames)
    mark: Mark = Mark()  # the end of its last record, if no record up to there is damaged

    def add(self, tag: str, part: Column) -> None:
        if self.is_last and not self.base:  # the whole file
            self.log.columns[tag] = part
        else:
            self.log.grow(tag, part)


class Batch(NamedTuple):
    """Pieces side by side."""

    buffer: U8
    pieces: list[Piece]


# A batch with the points of each tag in each piece (by its number), in the order of the log; and what is
# damaged and the texts, each with a place in the buffer.
_Decoded = tuple[list[Piece], list[tuple[int, str, Column]], Damage, list[tuple[int, Text]]]


def logs(paths: Sequence[Path]) -> Iterator[Log]:
    """The content of event files, in their order."""
    waiting: deque[Future[_Decoded]] = deque()
    workers = n_workers()
    batches = _batches(map(Log, paths))
    first = [*islice(batches, 2)]
    if len(first) < 2:  # threads that have nothing to do side by side cost more than a small run
        for batch in first:
            yield from _completed(_decoded(batch))
        return
    with ThreadPoolExecutor(workers) as threads:
        for batch in chain(first, batches):
            waiting.append(threads.submit(_decoded, batch))
            if len(waiting) > workers:
                yield from _completed(waiting.popleft().result())
        while waiting:
            yield from _completed(waiting.popleft().result())


def n_workers() -> int:
    """Threads that decode: as the environment says, else two, but one in a process that is a worker."""
    setting = os.environ.get(WORKERS, "")
    if setting.isdecimal() and int(setting):
        return int(setting)
    process = sys.modules.get("multiprocessing.process")  # a worker has imported it
    return 1 if process and process.parent_process() else min(2, os.cpu_count() or 1)


def _batches(logs: Iterable[Log]) -> Iterator[Batch]:
    """Small files side by side, and the parts of large ones."""
    pieces: list[Piece]  # memory of a buffer is only taken where it is written to
    buffer, pieces, used = np.empty(2 * BATCH_BYTES, np.uint8), [], 0
    for log in logs:
        low = used
        try:
            with open(log.path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size > BATCH_BYTES:
                    if pieces:
                        yield _framed(buffer[:used], pieces)
                    buffer, pieces, used = np.empty(2 * BATCH_BYTES, np.uint8), [], 0
                    low, log.size = 0, size
                    yield from _parts(log, file)
                    continue
                used += file.readinto(buffer[low : low + size].data) or 0
        except OSError as err:
            log.problem = err
        log.is_other = not is_event_log(buffer[low:used])
        pieces.append(Piece(log, low, used))
        if used >= BATCH_BYTES:
            yield _framed(buffer[:used], pieces)
            buffer, pieces, used = np.empty(2 * BATCH_BYTES, np.uint8), [], 0
    if pieces:
        yield _framed(buffer[:used], pieces)


def _parts(log: Log, file: FileIO) -> Iterator[Batch]:
    """A large file in parts, each with what the one before it could not use."""
    source = log.source = Source(log.path, file, "event file")
    if source.state is not None:
        log.restore(source.state, source.arrays)
    rest, base, is_last, gap, sound = np.empty(0, np.uint8), source.mark.offset, False, None, True
    while not is_last:
        room = np.empty(len(rest) + max(BATCH_BYTES, len(rest)), np.uint8)  # a long record is not tried often
        room[: len(rest)] = rest
        n_read = file.readinto(room[len(rest) :].data) or 0
        buffer = room[: len(rest) + n_read]
        log.is_other = log.is_other or (not base and not is_event_log(buffer))
        piece = Piece(log, 0, len(buffer), base, is_last=not n_read)
        batch = _framed(buffer, [piece], max(0, log.size - base - len(buffer)), gap)
        is_last = piece.is_last = piece.is_last or piece.frames.truncated  # by a record that no file holds
        stop, gap = piece.frames.stop, piece.frames.gap
        # where a chain of records was broken, more of the file may tell that it goes on elsewhere
        sound = sound and not piece.frames.damage and gap is None
        if sound and len(piece.frames.end):
            stop_of_last = int(piece.frames.end[-1]) + FOOTER
            source.passed(buffer[:stop_of_last], stop_of_last)
        piece.mark = source.mark if sound else Mark()
        yield batch
        rest, base = buffer[stop:], base + stop
        gap = gap and Gap(gap.begin - stop, gap.is_zero)


def _framed(buffer: U8, pieces: list[Piece], follow: int = 0, gap: Gap | None = None) -> Batch:
    stops = [piece.high for piece in pieces]
    chains = frames(buffer, stops, last=pieces[0].is_last, follow=follow, gap=gap)
    for piece, frame in zip(pieces, chains, strict=True):
        piece.frames = frame
    return Batch(buffer, pieces)


def _decoded(batch: Batch) -> _Decoded:
    buffer, pieces = batch
    begin = np.concatenate([piece.frames.begin for piece in pieces])
    end = np.concatenate([piece.frames.end for piece in pieces])
    right = intact(buffer, begin, end)
    contents = decode(buffer, begin[right], end[right])
    piece_of = np.repeat(np.arange(len(pieces)), [len(piece.frames.begin) for piece in pieces])[right]
    damage = [(at, "checksum of a record is wrong; skipped") for at in begin[~right].tolist()]
    damage += [(at, "record is no event; skipped") for at in contents.broken]
    columns = _columns(contents.points, piece_of[contents.points.record], list(contents.tags))
    return pieces, columns, damage, contents.texts


def _columns(points: Points, piece: Ints, tags: list[str]) -> list[tuple[int, str, Column]]:
    """The points of each tag in each piece, in the order in which these first come."""
    key = piece * len(tags) + points.tag
    narrow = key.max(initial=0) < 1 << 16  # 16 bits are sorted by radix, in linear time
    order = np.argsort(key.astype(np.uint16) if narrow else key, kind="stable")
    key, step, value, wall_time = key[order], points.step[order], points.value[order], points.wall_time[order]
    low = np.flatnonzero(np.diff(key, prepend=-1))
    high = np.append(low[1:], len(key))
    columns = []
    for group in np.argsort(order[low]).tolist():
        number, tag = divmod(int(key[low[group]]), len(tags))
        part = slice(low[group], high[group])
        columns.append((number, tags[tag], (step[part], value[part], wall_time[part])))
    return columns


def _completed(decoded: _Decoded) -> Iterator[Log]:
    """Gives each log its part of a batch; those that are complete with it come out."""
    pieces, columns, damage, texts = decoded
    for number, tag, column in columns:
        pieces[number].add(tag, column)
    lows = [piece.low for piece in pieces]
    for at, what in damage:
        piece = pieces[bisect(lows, at) - 1]
        piece.log.damage.append((at - HEADER + piece.base - piece.low, what))
    for at, text in texts:
        pieces[bisect(lows, at) - 1].log.texts[text.tag] = text
    for piece in pieces:
        piece.log.damage += [(at + piece.base - piece.low, what) for at, what in piece.frames.damage]
        piece.log.truncated |= piece.frames.truncated
        if piece.is_last:
            if piece.log.source:
                piece.log.source.keep(piece.mark, piece.log.state)
            piece.log.finish()
            yield piece.log
