"""TensorBoard event files: scalars as simple_value or tensor, with any number of tags and of values in a
record; hyperparameters and texts as facts. Files without a scalar (a job that died, a rank with nothing to
write, a text log) give no attempt, or one without series, whose facts go to the others.

Files are read in batches of tens of thousands of records, many small ones together and large ones in parts,
by several threads. They are not mapped into memory: one that shrinks meanwhile would end the process.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog, LogError
from chronicle.model import Attempt, Floats, Role, Series, Steps
from chronicle.readers.events import tfrecord
from chronicle.readers.events.scalars import MAX_TEXT, Points, Text, decode
from chronicle.readers.events.tfrecord import Frames, Gap, frames, is_event_log, last_of, messages
from chronicle.readers.facts import MAX_ENTRIES, Scalar, config_facts
from chronicle.readers.read_on import Mark, Source
from chronicle.readers.text import Faults, Head, json_or_none

# Field numbers are those of plugin_data.proto (HParams) and struct.proto.
_SESSION_START, _SESSION_END = 3, 4  # of HParamsPluginData
_ENDED = {1: "finished", 2: "crashed"}  # of Status; 3 is running
_EXACT = 2.0**53  # the format only has floats; whole ones up to this become integers
_CONFIG_TAG = re.compile(r"(?i)config|configuration|cfg|hparams|hyper_?param(eter)?s")  # of all settings
_SUFFIX = "/text_summary"  # PyTorch's writer adds it to tags of texts
# Of a part of a large file, and the share of it that small files decoded together have: what stays of these
# lies in memory between what was only needed to decode them.
BATCH_BYTES, SHARE_OF_SMALL = 1 << 21, 4
MANY_FILES = 8  # in a batch: most of its time is Python's own then, for which threads wait for each other
Column = tuple[Steps, Floats, Floats]  # steps, values and times of a tag, or of a part of it


def identify(head: Head) -> bool:
    """Whether a file begins like an event file."""
    return is_event_log(head.start)


def read(path: Path) -> list[Attempt]:
    """Reads one attempt, without series if the file only holds texts and hyperparameters; none if it holds
    nothing. Raises BadLog if the file is damaged and has no scalar left."""
    (log,) = logs([path])
    if log.problem:
        raise log.problem
    return _attempts(log)


def read_many(paths: Sequence[Path]) -> Iterator[list[Attempt] | LogError | OSError | None]:
    """Reads many files like `read`, but faster. Errors are yielded, not raised; None stands for a file that
    is no event file."""
    for log in logs(paths):
        try:
            yield log.problem or (None if log.is_other else _attempts(log))
        except LogError as err:
            yield err


def _attempts(log: Log) -> list[Attempt]:
    columns = log.columns()
    all_steps = [steps for steps, _, _ in columns.values()]
    # as where `add_scalar` is given no step: some tag has several points, and all are at step 0
    uncounted = any(len(steps) > 1 for steps in all_steps) and not any(map(np.any, all_steps))
    columns = _counted(columns) if uncounted else columns
    series = {tag: Series(tag, Role.OTHER, *column) for tag, column in columns.items()}
    faults = Faults(log.path)
    for at, problem in sorted(log.damage):
        if not series:
            raise BadLog(f"{log.path}@{at}", f"{problem}; and no scalar is left")
        faults.add(problem, byte=at)
    if not series and not log.texts:
        return []
    facts, listed = facts_of(log.texts.values()), tuple(faults.all("more records are damaged; skipped"))
    axis = "row" if uncounted else "step"
    return [Attempt(log.path.name, (str(log.path),), series, facts, listed, log.truncated, axis=axis)]


def _counted(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The points of the longest tags are counted, and others stand where their clock says."""
    longest = max((times for _, _, times in columns.values()), key=len)
    rows = np.arange(len(longest))

    def at(times: Floats) -> Steps:
        return rows if len(times) == len(rows) else np.searchsorted(longest, times, "right").clip(1) - 1

    return {tag: (at(times), values, times) for tag, (_, values, times) in columns.items()}


def facts_of(texts: Iterable[Text]) -> dict[str, Scalar]:
    """Every hyperparameter and text as `config/<name>`, and how the session ended."""
    config: dict[str, Any] = {}
    facts: dict[str, Scalar] = {}
    for text in texts:
        if len(config) >= MAX_ENTRIES:
            break
        if text.plugin == "text":
            tag, content = text.tag.removesuffix(_SUFFIX), text.content.decode("utf-8", "replace")
            value = json_or_none(content) if len(content) < MAX_TEXT else None  # as trainers log arguments
            value = value if isinstance(value, int | float | dict) else content
            config |= value if isinstance(value, dict) and _CONFIG_TAG.fullmatch(tag) else {tag: value}
        else:
            with suppress(ValueError):
                _add_session(text.content, config, facts)
    return {**config_facts(config), **facts}


def _add_session(message: bytes, config: dict[str, Any], facts: dict[str, Scalar]) -> None:
    for start in messages(message, _SESSION_START):
        for entry in (last_of(parameter, tfrecord.BYTES) for parameter in messages(start, 1)):
            config[entry.get(1, b"").decode("utf-8", "backslashreplace")] = _struct_value(entry.get(2, b""))
        if begun := last_of(start, tfrecord.FIXED64).get(5):
            facts["started_at"] = float(struct.unpack("<d", begun)[0])
    for end in messages(message, _SESSION_END):
        ended, is_dated = last_of(end, tfrecord.VARINT).get(1), 2 in last_of(end, tfrecord.FIXED64)
        if ended in _ENDED and is_dated:  # `add_hparams` writes "finished" without a time at the start
            facts["ended"] = _ENDED[ended]


def _struct_value(message: bytes) -> Scalar | None:
    """The number, text or bool in a google.protobuf.Value; None for anything else."""
    if number := last_of(message, tfrecord.FIXED64).get(2):
        (real,) = struct.unpack("<d", number)
        return int(real) if abs(real) < _EXACT and real.is_integer() else float(real)
    if (text := last_of(message, tfrecord.BYTES).get(3)) is not None:
        return str(text.decode("utf-8", "replace"))
    flag = last_of(message, tfrecord.VARINT).get(4)
    return None if flag is None else bool(flag)


@dataclass
class Log:
    """The content of one file so far; tags are in the order of their first points."""

    path: Path
    parts: dict[str, list[Column]] = field(default_factory=dict)  # by tag
    texts: dict[str, Text] = field(default_factory=dict)
    damage: tfrecord.Damage = field(default_factory=list)
    truncated: bool = False
    problem: OSError | None = None
    is_other: bool = False  # it does not begin like an event file
    source: Source | None = None  # set for a large file

    def columns(self) -> dict[str, Column]:
        """The columns of each tag; in a large file, successive tags with equal steps share one array."""
        columns, before = dict[str, Column](), np.empty(0, np.int64)
        for tag, parts in self.parts.items():
            columns[tag] = parts[0]
            if len(parts) > 1:
                steps, values, times = map(np.concatenate, zip(*parts, strict=True))
                before = before if np.array_equal(before, steps) else steps
                columns[tag] = before, values, times
        return columns

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of a log that is read on later: its content before the mark."""
        parts = {tag: [column] for tag, column in self.columns().items()}
        return {"parts": parts, "texts": self.texts, "damage": self.damage}


@dataclass
class Piece:
    """A file or a part of one, at ``low:high`` in its batch and at ``base`` in its file."""

    log: Log
    low: int
    high: int
    base: int = 0
    is_last: bool = True
    mark: Mark = Mark()  # the end of its last record, if no record up to there is damaged


class Batch(NamedTuple):
    """Pieces in one buffer, and the frames of each."""

    buffer: tfrecord.U8
    pieces: list[Piece]
    frames: list[Frames]


# A batch, and by the numbers of its pieces: points by tag in the order of the log, damage by place, texts.
_Decoded = tuple[Batch, list[tuple[int, str, Column]], list[tuple[int, int, str]], list[tuple[int, Text]]]


def logs(paths: Sequence[Path]) -> Iterator[Log]:
    """The content of event files, in their order."""
    for has_many, batches in groupby(_batches(map(Log, paths)), lambda batch: len(batch.pieces) > MANY_FILES):
        decode = partial(map, _decoded) if has_many else _in_threads
        yield from chain.from_iterable(map(_completed, decode(batches)))


def _in_threads(batches: Iterator[Batch]) -> Iterator[_Decoded]:
    first = [*islice(batches, 2)]
    if len(first) < 2:  # for a single batch, starting threads would take longer
        yield from map(_decoded, first)
        return
    from concurrent.futures import ThreadPoolExecutor  # with logging, which few logs need

    waiting, workers = deque[Any](), n_workers()
    with ThreadPoolExecutor(workers) as threads:
        for batch in chain(first, batches):
            waiting.append(threads.submit(_decoded, batch))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def n_workers() -> int:
    """The number of decoding threads: two, or one in a worker process."""
    process = sys.modules.get("multiprocessing.process")  # every worker process has imported it
    return 1 if process and process.parent_process() else min(2, os.cpu_count() or 1)


def _batches(logs: Iterable[Log]) -> Iterator[Batch]:
    pieces, contents = list[Piece](), list[bytes]()
    for log in logs:
        content = b""
        try:
            with open(log.path, "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                if size > BATCH_BYTES:
                    yield from _side_by_side(pieces, contents)
                    yield from _parts(log, file, size)
                    continue
                content = file.read(size)
        except OSError as err:
            log.problem = err
        log.is_other = not is_event_log(content)
        low = pieces[-1].high if pieces else 0
        pieces.append(Piece(log, low, low + len(content)))
        contents.append(content)
        if low + len(content) >= BATCH_BYTES // SHARE_OF_SMALL:
            yield from _side_by_side(pieces, contents)
    yield from _side_by_side(pieces, contents)


def _side_by_side(pieces: list[Piece], contents: list[bytes]) -> Iterator[Batch]:
    if pieces:
        buffer, own = np.frombuffer(b"".join(contents), np.uint8), [*pieces]
        contents.clear()
        pieces.clear()
        yield Batch(buffer, own, frames(buffer, [piece.high for piece in own]))


def _parts(log: Log, file: FileIO, size: int) -> Iterator[Batch]:
    source = log.source = Source(log.path, file, "event file")
    source.restore(log)
    rest, base, is_last, gap, sound = np.empty(0, np.uint8), source.mark.offset, False, None, True
    while not is_last:
        room = np.empty(len(rest) + max(BATCH_BYTES, len(rest)), np.uint8)  # doubles for a long record
        room[: len(rest)] = rest
        n_read = file.readinto(room[len(rest) :].data) or 0
        buffer = room[: len(rest) + n_read]
        log.is_other = log.is_other or (not base and not is_event_log(buffer))
        follow = max(0, size - base - len(buffer))
        (part,) = frames(buffer, [len(buffer)], last=not n_read, follow=follow, gap=gap)
        is_last = not n_read or part.truncated  # it is truncated by a record longer than the file
        # After damage, a longer file may be cut into records differently, so that reading cannot go on here.
        sound = sound and not part.damage and part.gap is None
        if sound and len(part.end):
            stop_of_last = int(part.end[-1]) + tfrecord.FOOTER
            source.passed(buffer[:stop_of_last], stop_of_last)
        mark = source.mark if sound else Mark()
        yield Batch(buffer, [Piece(log, 0, len(buffer), base, is_last, mark)], [part])
        rest, base = buffer[part.stop :], base + part.stop
        gap = part.gap and Gap(part.gap.begin - part.stop, part.gap.is_zero)


def _decoded(batch: Batch) -> _Decoded:
    begin = np.concatenate([part.begin for part in batch.frames])
    end = np.concatenate([part.end for part in batch.frames])
    piece = np.repeat(np.arange(len(batch.pieces)), [len(part.begin) for part in batch.frames])
    right = tfrecord.intact(batch.buffer, begin, end)
    wrong = zip(piece[~right].tolist(), begin[~right].tolist(), strict=True)
    damage = [(n, at - tfrecord.HEADER, "checksum of a record is wrong; skipped") for n, at in wrong]
    begin, piece = begin[right], piece[right]
    contents = decode(batch.buffer, begin, end[right])
    no_event = ((int(piece[i]), int(begin[i]) - tfrecord.HEADER) for i in contents.broken)
    damage += [(*place, "record is not an event; skipped") for place in no_event]
    columns = _columns(contents.points, piece[contents.points.record], list(contents.tags))
    return batch, columns, damage, [(int(piece[i]), text) for i, text in contents.texts]


def _columns(points: Points, piece: tfrecord.Ints, tags: list[str]) -> list[tuple[int, str, Column]]:
    key = piece * len(tags) + points.tag
    narrow = key.max(initial=0) < 1 << 16  # numpy sorts 16-bit integers in linear time
    order = np.argsort(key.astype(np.uint16) if narrow else key, kind="stable")
    key, step, value, wall_time = key[order], points.step[order], points.value[order], points.wall_time[order]
    low = np.flatnonzero(np.diff(key, prepend=-1))
    high = np.append(low[1:], len(key))
    steps, times = _shared(step, low), _shared(wall_time, low)
    columns = []
    for group in np.argsort(order[low]).tolist():
        number, tag = divmod(int(key[low[group]]), len(tags))
        columns.append((number, tags[tag], (steps[group], value[low[group] : high[group]], times[group])))
    return columns


def _shared(values: NDArray[Any], low: tfrecord.Ints) -> list[NDArray[Any]]:
    """The values from each ``low`` up to the next. A stretch that is equal bit for bit to the one before it
    is the same array, as the steps of tags are that are logged together."""
    if not len(values):
        return []
    high = np.append(low[1:], len(values))
    bits, size = values.view(np.int64), high - low
    before = np.maximum(np.arange(len(bits)) - np.repeat(size, size), 0)
    equal = np.logical_and.reduceat(bits == bits[before], low)
    shares = np.append(False, equal[1:] & (size[1:] == size[:-1]))
    arrays = list[NDArray[Any]]()
    for is_shared, start, stop in zip(shares.tolist(), low.tolist(), high.tolist(), strict=True):
        arrays.append(arrays[-1] if is_shared else values[start:stop].copy())  # the rest need not stay
    return arrays


def _completed(decoded: _Decoded) -> Iterator[Log]:
    """Adds the content of a batch to its logs; yields those that are now complete."""
    batch, columns, damage, texts = decoded
    for number, tag, column in columns:
        batch.pieces[number].log.parts.setdefault(tag, []).append(column)
    for number, text in texts:
        batch.pieces[number].log.texts[text.tag] = text
    damage += [(n, at, problem) for n, part in enumerate(batch.frames) for at, problem in part.damage]
    for piece, at, problem in ((batch.pieces[n], at, problem) for n, at, problem in damage):
        piece.log.damage.append((at + piece.base - piece.low, problem))
    for piece, part in zip(batch.pieces, batch.frames, strict=True):
        piece.log.truncated |= part.truncated
        if piece.is_last:
            if piece.log.source:
                piece.log.source.keep(piece.mark, piece.log)
            yield piece.log
