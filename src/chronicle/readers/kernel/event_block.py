"""Frames of event files: their chain, their checksums, and the scalars in their payloads.

The shapes of records that are known here are those of `event_scalars`; where a chain breaks, and for a record
of any other shape, the careful readers go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chronicle.readers.crc32c import slices
from chronicle.readers.event_frames import FOOTER, HEADER
from chronicle.readers.event_scalars import FAR, LARGE, LONGEST_TAG, STRING
from chronicle.readers.kernel.words import (
    B1,
    B2,
    B3,
    B4,
    B5,
    B6,
    B7,
    B8,
    THREE,
    ZERO,
    eight_bytes,
    four_bytes,
)

MOST_PROBES = 64  # slots that are tried for a tag
T0, T1, T2, T3, T4, T5, T6, T7 = slices()
BITS_32, BITS_8, BITS_7 = np.uint64(0xFFFFFFFF), np.uint64(0xFF), np.uint64(0x7F)
TURN_RIGHT, TURN_LEFT, DELTA = np.uint64(15), np.uint64(17), np.uint64(0xA282EAD8)
MIXER = np.uint64(0x9E3779B97F4A7C15)


def chains(buffer: Any, stops: Any, begin: Any, end: Any, n_frames: Any, reached: Any) -> tuple[int]:
    """Finds the payloads of files, or parts of them, that end at ``stops``: their number.

    Of each file: the number of its frames, and the place behind them: its end, or where the chain breaks.
    """
    n, at = 0, 0
    for i in range(len(stops)):
        first, room = n, stops[i] - HEADER - FOOTER
        while at <= room:
            length = eight_bytes(buffer, at)
            state = eight_more(length ^ BITS_32)
            if length > np.uint64(room - at) or four_bytes(buffer, at + 8) != masked_state(state):
                break
            begin[n], end[n] = at + HEADER, at + HEADER + np.int64(length)
            at = end[n] + FOOTER
            n += 1
        n_frames[i], reached[i] = n - first, at
        at = stops[i]
    return (n,)


def checked(buffer: Any, begin: Any, end: Any, right: Any) -> None:
    """Tells which payloads have the checksum that stands behind them."""
    for i in range(len(begin)):
        at, state = begin[i], BITS_32
        while at + 8 <= end[i]:
            state = eight_more(state ^ eight_bytes(buffer, at))
            at += 8
        n_left = np.uint64(end[i] - at) << THREE  # bits, which go to the end of a word of zeros
        if n_left > ZERO:
            left = (last_bytes(buffer, end[i], n_left) ^ state) << (B8 - n_left)
            state = eight_more(left) ^ (state >> n_left)
        right[i] = four_bytes(buffer, end[i]) == masked_state(state)


def eight_more(word: Any) -> Any:
    """The state of a checksum after eight bytes, to which the state before them was added."""
    low = (
        T7[word & BITS_8] ^ T6[(word >> B1) & BITS_8] ^ T5[(word >> B2) & BITS_8] ^ T4[(word >> B3) & BITS_8]
    )
    high = T3[(word >> B4) & BITS_8] ^ T2[(word >> B5) & BITS_8] ^ T1[(word >> B6) & BITS_8] ^ T0[word >> B7]
    return np.uint64(low ^ high)


def last_bytes(buffer: Any, stop: int, n_bits: Any) -> Any:
    """The bytes before ``stop``, of so many bits, as a word. Eight bytes stand there: those of a header."""
    return eight_bytes(buffer, stop - 8) >> (B8 - n_bits)


def masked_state(state: Any) -> Any:
    """A checksum as it is stored."""
    crc = state ^ BITS_32
    return (((crc >> TURN_RIGHT) | (crc << TURN_LEFT)) + DELTA) & BITS_32


def events(buffer: Any, begin: Any, end: Any, records: Any, values: Any, tags: Any) -> tuple[int, int]:
    """Reads payloads: the number of values, and that of tags, which is negative where they are too many.

    ``records``: wall time (bits of a double), step, and whether the shape is known. ``values``: record, tag,
    and number (as bits, double and single of the same memory). ``tags``: slots by hash, -1 where they are
    free; place and length of each tag, of which there is half the room of the slots.
    """
    wall_time, step, known = records
    n, n_tags = 0, 0
    for i in range(len(begin)):
        stop = end[i]
        at = event_head(buffer, begin[i], stop, wall_time, step, i)
        is_summary = at < stop and buffer[at] == 0x2A
        size, first = field_length(buffer, at + 1, stop)
        known[i] = first + size == stop and (is_summary or other_event(buffer[at]))
        at, filled = first, n
        while known[i] and is_summary and at < stop:
            at, filled, n_tags = one_scalar(buffer, at, stop, i, filled, n_tags, values, tags)
            known[i] = at <= stop
            if n_tags < 0:
                return n, n_tags
        if known[i]:
            n = filled
    return n, n_tags


def event_head(buffer: Any, at: int, stop: int, wall_time: Any, step: Any, i: int) -> int:
    """Reads wall time and step of a record: the place behind them."""
    wall_time[i], step[i] = ZERO, 0
    if stop - at < 10 or buffer[at] != 0x09:
        return FAR
    wall_time[i] = eight_bytes(buffer, at + 1)
    if buffer[at + 9] != 0x10:
        return at + 9
    word, at = base_128(buffer, at + 10, stop)
    step[i] = np.int64(word)
    return at


def other_event(key: int) -> bool:
    """Whether an event holds a graph, a version, a message, ...: no scalar."""
    return key in (0x1A, 0x22, 0x32, 0x3A, 0x42, 0x4A, 0x52)


def one_scalar(
    buffer: Any, at: int, stop: int, i: int, n: int, n_tags: int, values: Any, tags: Any
) -> tuple[int, int, int]:
    """Reads one Summary.Value: the place after it (far outside: unknown), next slot, number of tags."""
    record, tag, bits, doubles, singles = values
    size, at = field_length(buffer, at + 1, stop) if buffer[at] == 0x0A else (FAR, at)
    after = at + size
    if after > stop or at == after or buffer[at] != 0x0A:
        return FAR, n, n_tags
    tag_size, tag_at = field_length(buffer, at + 1, after)
    body = tag_at + tag_size
    if body >= after or tag_size > LONGEST_TAG or n == len(record):
        return FAR, n, n_tags
    is_number, tail = one_number(buffer, body, after, bits, doubles, singles, n)
    if tail < after and buffer[tail] == 0x4A:  # metadata
        size, tail = field_length(buffer, tail + 1, after)
        tail += size
    if tail != after:
        return FAR, n, n_tags
    if is_number:
        record[n] = i
        tag[n], n_tags = number_of_tag(buffer, tag_at, tag_size, tags, n_tags)
        n += 1
    return after, n, n_tags


def one_number(
    buffer: Any, at: int, stop: int, bits: Any, doubles: Any, singles: Any, n: int
) -> tuple[bool, int]:
    """Reads what a value holds into slot ``n``: whether it is a number, and the place after it."""
    key = buffer[at]
    if key == 0x15:
        as_double(four_bytes(buffer, at + 1), 1, bits, doubles, singles, n)
        return True, at + 5
    if key not in (0x22, 0x2A, 0x32, 0x42):
        return False, FAR
    size, at = field_length(buffer, at + 1, stop)
    after = at + size
    if after > stop or key != 0x42:
        return False, after
    if size > LARGE and buffer[at] == 0x08 and buffer[at + 1] != STRING:
        return False, after
    return True, tensor_number(buffer, at, after, bits, doubles, singles, n)


def tensor_number(buffer: Any, at: int, stop: int, bits: Any, doubles: Any, singles: Any, n: int) -> int:
    """Reads a TensorProto of one element: the place after it."""
    if stop - at < 4 or buffer[at] != 0x08:
        return FAR
    dtype, at = buffer[at + 1], at + 2
    if buffer[at] == 0x12 and buffer[at + 1] == 0:
        at += 2
    n_bytes = 4 if dtype in (1, 3) else 8
    key = buffer[at]
    if dtype not in (1, 2, 3, 9):
        return FAR
    if (dtype == 1 and key == 0x2D) or (dtype == 2 and key == 0x31):
        at += 1
    elif key == 0x22 or (dtype == 1 and key == 0x2A) or (dtype == 2 and key == 0x32):
        at += 2 if buffer[at + 1] == n_bytes else FAR
    else:
        return FAR
    if at + n_bytes != stop:
        return FAR
    word = eight_bytes(buffer, at) if n_bytes == 8 else four_bytes(buffer, at)
    as_double(word, dtype, bits, doubles, singles, n)
    return stop


def as_double(word: Any, dtype: int, bits: Any, doubles: Any, singles: Any, n: int) -> None:
    """Puts a number of a type of TensorFlow into slot ``n``."""
    bits[n] = word
    if dtype == 1:
        doubles[n] = np.float64(singles[2 * n])
    elif dtype == 3:
        doubles[n] = np.float64(np.int32(word))
    elif dtype == 9:
        doubles[n] = np.float64(np.int64(word))


def number_of_tag(buffer: Any, at: int, size: int, tags: Any, n_tags: int) -> tuple[int, int]:
    """The number of the tag that stands at ``at``, and how many there are; negative where it has no room."""
    slots, tag_at, tag_size = tags
    key = np.uint64(size)
    for k in range(0, size - 7, 8):
        key = mixed(key ^ eight_bytes(buffer, at + k))
    if size % 8 > 0:
        key = mixed(key ^ last_bytes(buffer, at + size, np.uint64(size % 8 * 8)))
    slot = np.int64(key & np.uint64(len(slots) - 1))
    for _ in range(MOST_PROBES):
        known = slots[slot]
        if known < 0:
            if n_tags == len(tag_at):
                break
            slots[slot], tag_at[n_tags], tag_size[n_tags] = n_tags, at, size
            return n_tags, n_tags + 1
        if tag_size[known] == size and alike(buffer, tag_at[known], at, size):
            return known, n_tags
        slot = (slot + 1) & (len(slots) - 1)
    return 0, -1


def mixed(key: Any) -> Any:
    """A hash with the last word mixed in."""
    key *= MIXER
    return key ^ (key >> B4)


def alike(buffer: Any, a: int, b: int, size: int) -> bool:
    """Whether the same bytes stand at both places."""
    k = 0
    while k + 8 <= size and eight_bytes(buffer, a + k) == eight_bytes(buffer, b + k):
        k += 8
    while k < size and buffer[a + k] == buffer[b + k]:
        k += 1
    return k == size


def field_length(buffer: Any, at: int, stop: int) -> tuple[Any, int]:
    """The length of a field and the place after it; one that goes beyond ``stop`` ends far outside."""
    word, at = base_128(buffer, at, stop)
    return (np.int64(word) if at <= stop and word <= np.uint64(stop - at) else FAR), at


def base_128(buffer: Any, at: int, stop: int) -> tuple[Any, int]:
    """A varint and the place after it; one without end ends far outside."""
    word, shift = ZERO, ZERO
    while at < stop and shift < np.uint64(70):
        byte = np.uint64(buffer[at])
        word |= (byte & BITS_7) << shift
        at += 1
        if byte <= BITS_7:
            return word, at
        shift += np.uint64(7)
    return word, FAR
