"""What `event_frames` and `event_scalars` find, found by machine code, where it is loaded.

An ``engine`` holds the entries of `kernel.event_block`.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from chronicle.readers.crc32c import U8, Ints
from chronicle.readers.event_frames import FOOTER, HEADER, Frames, Mask, frames, headers
from chronicle.readers.event_scalars import Plain

SLOTS = 1 << 16  # room for half as many tags
LEAST_VALUE = 9  # bytes of a number with an empty tag


def all_frames(engine: SimpleNamespace, buffer: U8, stops: Ints, *, last: bool = True) -> list[Frames]:
    """The frames of files that end at ``stops``; as `event_frames.frames` does from where a chain breaks."""
    begin, end = (np.empty(len(buffer) // (HEADER + FOOTER), np.int64) for _ in range(2))
    n_frames, reached = np.empty_like(stops), np.empty_like(stops)
    engine.chains(buffer, stops, begin, end, n_frames, reached)
    found, first = [], 0
    for n, at, high in zip(n_frames.tolist(), reached.tolist(), stops.tolist(), strict=True):
        chain = Frames(begin[first : first + n], end[first : first + n], [], False, high)
        found.append(chain if at == high else _with_rest(chain, buffer[at:high], at, last=last))
        first += n
    return found


def _with_rest(chain: Frames, buffer: U8, at: int, *, last: bool) -> Frames:
    """A chain with the frames in what comes behind it, which stands at ``at``."""
    rest = frames(buffer, headers(buffer, np.array([len(buffer)])), 0, len(buffer), last=last)
    return Frames(
        np.concatenate([chain.begin, rest.begin + at]),
        np.concatenate([chain.end, rest.end + at]),
        [(place + at, what) for place, what in rest.damage],
        rest.truncated,
        rest.stop + at,
    )


def intact(engine: SimpleNamespace, buffer: U8, begin: Ints, end: Ints) -> Mask:
    """As `event_frames.intact`."""
    right = np.empty(len(begin), bool)
    engine.checked(buffer, begin, end, right)
    return right


def plain(engine: SimpleNamespace, buffer: U8, begin: Ints, end: Ints, tags: dict[str, int]) -> Plain | None:
    """As `event_scalars.plain`; None where there are too many tags."""
    wall_time, step = np.empty(len(begin)), np.empty(len(begin), np.int64)
    known = np.empty(len(begin), bool)
    n_most = int((end - begin).sum()) // LEAST_VALUE + 1
    record, tag, value = np.empty(n_most, np.int64), np.empty(n_most, np.int64), np.empty(n_most)
    slots, (at, size) = np.full(SLOTS, -1, np.int32), np.empty((2, SLOTS // 2), np.int64)
    n, n_tags = engine.events(
        buffer,
        begin,
        end,
        (wall_time.view(np.uint64), step, known),
        (record, tag, value.view(np.uint64), value, value.view(np.float32)),
        (slots, at, size),
    )
    if n_tags < 0:
        return None
    spans = zip(at[:n_tags].tolist(), (at + size)[:n_tags].tolist(), strict=True)
    names = [buffer[low:high].tobytes().decode("utf-8", "backslashreplace") for low, high in spans]
    numbers: Ints = np.array([tags.setdefault(name, len(tags)) for name in names], np.int64)
    return Plain(wall_time, step, known, record[:n], numbers[tag[:n]], value[:n])
