"""The frames of an event file (TFRecord): length (8 bytes), its checksum (4), payload, its checksum (4).

They are not walked one by one: every place that may be the header of an event is tried at once, and the
walk only visits the gaps in the chain, that is, what is no event or is damaged.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.readers.crc32c import U8, Ints, masked_crc, masked_crcs, masked_crcs_of_words
from chronicle.readers.packed import begins_archive

HEADER, FOOTER = 12, 4  # bytes of a frame before and after its payload
BLOCK = 1 << 24  # bytes that are searched for headers at a time
FIRST_BYTE = 0x09  # key of wall_time, with which an event begins

Mask = NDArray[np.bool_]
Damage = list[tuple[int, str]]


@dataclass
class Frames:
    """Payloads ``begin:end`` in the order of the file, and what was in the way: (byte, what is wrong).

    ``stop`` is where it ended: before the end of a part of a file, where the rest is needed to go on.
    """

    begin: Ints
    end: Ints
    damage: Damage
    truncated: bool
    stop: int


class Headers(NamedTuple):
    """Begin and end of all frames that can only be events (a few may stand inside another one)."""

    head: Ints
    after: Ints


def is_event_log(buffer: U8) -> bool:
    """The first record is an event, or its version stands near the start (where the first is damaged).

    It may stand so in an archive, which is none.
    """
    start = buffer[:64].tobytes()
    if b"brain.Event:" in start:
        return not begins_archive(start)
    if len(start) <= HEADER:
        return False
    (checksum,) = struct.unpack("<I", start[8:HEADER])
    return masked_crc(start[:8]) == checksum and start[HEADER] == FIRST_BYTE


def word(buffer: U8, at: Ints, dtype: str) -> NDArray[Any]:
    """Numbers of ``dtype`` that stand at any places; outside the buffer, whatever stands at its ends."""
    size = np.dtype(dtype).itemsize
    if len(buffer) < size:
        return np.zeros(len(at), dtype)
    view = np.ndarray((len(buffer) - size + 1,), dtype, buffer, 0, (1,))
    return view[np.clip(at, 0, len(buffer) - size)]


def frames(buffer: U8, known: Headers, low: int, high: int, *, last: bool = True) -> Frames:
    """Finds all frames of a file or a part of one, which stands at ``low:high``.

    Where the chain is broken, it goes on at the next header with a right checksum. ``last`` is false for a
    part that others follow: what is not whole there is left to them.
    """
    first, beyond = np.searchsorted(known.head, [low, high])
    head, after = known.head[first:beyond], known.after[first:beyond]
    breaks = np.append(np.flatnonzero(after[:-1] != head[1:]), len(head) - 1)
    runs: list[tuple[Ints, Ints]] = []
    result, at = Frames(head, after, [], False, high), low
    while at < high:
        i = int(np.searchsorted(head, at))
        if i < len(head) and head[i] == at:
            stop = int(breaks[np.searchsorted(breaks, i)]) + 1
            runs.append((head[i:stop], after[i:stop]))
            at = int(after[stop - 1])
            continue
        upto = int(head[i]) if i < len(head) else high
        if not last and _goes_beyond(buffer, at, upto, high):
            result.stop = at
            break
        goes_on_at, is_frame = _odd_frame(buffer, at, upto, high, result)
        if is_frame:
            runs.append((np.array([at]), np.array([goes_on_at])))
        at = goes_on_at
    empty = np.empty(0, np.int64)
    result.begin = np.concatenate([empty, *(begin for begin, _ in runs)]) + HEADER
    result.end = np.concatenate([empty, *(end for _, end in runs)]) - FOOTER
    return result


def headers(buffer: U8, stops: Ints) -> Headers:
    """The headers in a buffer of files, or parts of them, that end at ``stops``."""
    places = [np.empty(0, np.int64)]
    last = len(buffer) - HEADER - FOOTER
    for low in range(0, last, BLOCK):
        at = np.flatnonzero(buffer[low + HEADER : min(low + BLOCK, last) + HEADER] == FIRST_BYTE) + low
        length = word(buffer, at, "<u8")
        at, length = at[length < last], length[length < last]
        places.append(at[masked_crcs_of_words(length) == word(buffer, at + 8, "<u4")])
    head = np.concatenate(places)
    after = head + word(buffer, head, "<i8") + HEADER + FOOTER
    fits = after <= stops[np.minimum(np.searchsorted(stops, head, side="right"), len(stops) - 1)]
    return Headers(head[fits], after[fits])


def _goes_beyond(buffer: U8, at: int, known: int, high: int) -> bool:
    """Whether what stands at ``at`` can only be told by what comes after ``high``."""
    if high - at < HEADER:
        return True
    length, check = struct.unpack("<QI", buffer[at : at + HEADER].tobytes())
    if masked_crc(buffer[at : at + 8].tobytes()) == check:
        return bool(at + HEADER + length + FOOTER > high)
    return known == high


def _odd_frame(buffer: U8, at: int, known: int, size: int, result: Frames) -> tuple[int, bool]:
    """Where to go on after ``at``, where no event begins, and whether what lies between is a whole frame.

    ``known`` is the next place that has the header of an event, ``size`` the end of the file. Damage and a
    cut end are noted in ``result``.
    """
    if size - at < HEADER or (known == size and not buffer[at:size].any()):
        result.truncated = True
        return size, False
    length, check = struct.unpack("<QI", buffer[at : at + HEADER].tobytes())
    end = at + HEADER + length
    header_right = masked_crc(buffer[at : at + 8].tobytes()) == check
    if end + FOOTER > size and header_right:
        result.truncated = True
        return size, False
    # a damaged header is given a chance where its record would end before the next one
    ends_early = end + FOOTER <= known
    if header_right or (ends_early and intact(buffer, np.array([at + HEADER]), np.array([end]))[0]):
        if not header_right:
            result.damage.append((at, "checksum of the length is wrong; the record is whole and kept"))
        return int(end + FOOTER), True
    result.damage.append((at, f"length of a record is damaged; {known - at} bytes skipped"))
    return known, False


def intact(buffer: U8, begin: Ints, end: Ints) -> Mask:
    """Which payloads have the checksum that stands behind them."""
    right = np.zeros(len(begin), bool)
    long = end - begin >= 4
    right[long] = masked_crcs(buffer, begin[long], end[long]) == word(buffer, end[long], "<u4")
    for i in np.flatnonzero(~long):
        right[i] = masked_crc(buffer[begin[i] : end[i]].tobytes()) == word(buffer, end[i : i + 1], "<u4")[0]
    return right
