"""The frames of an event file (TFRecord): length (8 bytes), its checksum (4), payload, its checksum (4).

All places that may be the header of an event are tested at once; only the gaps between chains of events, that
is, other records and damage, are visited. Checksums are CRC-32C (Castagnoli et al. 1993), computed for many
rows at a time and with two bytes in each lookup. Rows are aligned at their ends: leading zeros do not change
a checksum that starts from zero. Payloads are protobuf messages, read without their schema.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Mask
from chronicle.readers.packed import begins_archive
from chronicle.readers.text import clean

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
Ints = NDArray[np.int64]
Damage = list[tuple[int, str]]

HEADER, FOOTER = 12, 4  # bytes of a frame before and after its payload
FIRST_BYTE = 0x09  # key of wall_time, with which an event begins

POLYNOMIAL = 0x82F63B78  # 0x1EDC6F41, reflected
SEGMENT = 256  # bytes; longer rows are cut into pieces of this size and folded
NARROWEST = 32  # bytes of a row; wider ones have a multiple of it, or beyond a segment a power of two
ROWS_BYTES = 1 << 21  # of rows that are processed together
# By n: masks of all but the first n bytes of a word.
_HIGH_BYTES = ~np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


class Gap(NamedTuple):
    """Where bytes that are no record begin, and whether all are zeros, as where nothing was written."""

    begin: int
    is_zero: bool


@dataclass
class Frames:
    """Payloads ``begin:end`` in the order of the file, and its ``damage``: (byte, problem). In a part of a
    file, the next one is read from ``stop`` on, with the ``gap`` that may go on there."""

    begin: Ints
    end: Ints
    damage: Damage
    truncated: bool
    stop: int
    gap: Gap | None


def is_event_log(buffer: U8 | bytes) -> bool:
    """Whether the first record is an event, or names an event version although damaged, and no archive."""
    start = bytes(buffer[:64])
    if b"brain.Event:" in start:
        return not begins_archive(start)
    if len(start) <= HEADER:
        return False
    return start[HEADER] == FIRST_BYTE and _is_header(*struct.unpack("<QI", start[:HEADER]))


def _is_header(length: int, checksum: int) -> bool:
    return bool(masked_crcs_of_words(np.array([length], np.uint64))[0] == checksum)


def word(buffer: U8, at: Ints, dtype: str) -> NDArray[Any]:
    """The numbers of type ``dtype`` at the given places; places outside the buffer are moved to its ends."""
    size = np.dtype(dtype).itemsize
    if len(buffer) < size:
        return np.zeros(len(at), dtype)
    view = np.ndarray((len(buffer) - size + 1,), dtype, buffer, 0, (1,))
    return view[np.maximum(np.minimum(at, len(buffer) - size), 0)]  # np.clip is slower for few places


def frames(
    buffer: U8, stops: Sequence[int], *, last: bool = True, follow: int = 0, gap: Gap | None = None
) -> list[Frames]:
    """The frames of files, or of parts of them, in a buffer, that end at ``stops``. After damage, reading
    goes on at the next header with a correct checksum. If a part is not the ``last`` one, ``follow`` bytes
    follow, and incomplete frames are left to the next part, to which the ``gap`` at the end is passed on."""
    head, after, cut = _headers(buffer, np.array(stops, np.int64), follow)
    bounds = np.searchsorted(head, [0, *stops])
    places = zip(bounds, bounds[1:], [0, *stops], stops, strict=False)
    return [
        _Part(buffer, head[i:j], after[i:j], cut, low, high, follow, last, gap).walk()
        for i, j, low, high in places
    ]


def _headers(buffer: U8, stops: Ints, follow: int) -> tuple[Ints, Ints, Ints]:
    """Begin and end of all frames with an event's header, a few inside others, and the begin of cut ones."""
    last = max(0, len(buffer) - HEADER - FOOTER)
    at = np.flatnonzero(buffer[HEADER : HEADER + last] == FIRST_BYTE)
    length = word(buffer, at, "<u8")
    fits = length <= last + follow
    at, length = at[fits], length[fits]
    head = at[masked_crcs_of_words(length) == word(buffer, at + 8, "<u4")]
    after = head + word(buffer, head, "<i8") + HEADER + FOOTER
    fits = after <= stops[np.minimum(np.searchsorted(stops, head, side="right"), len(stops) - 1)]
    return head[fits], after[fits], head[~fits]


@dataclass
class _Part:
    """The reading of a file or of a part of one, from ``at`` to ``high``: where the frames with the header of
    an event begin (``head``) and end (``after``), and where those begin that are ``cut``."""

    buffer: U8
    head: Ints
    after: Ints
    cut: Ints
    at: int
    high: int
    follow: int
    last: bool
    gap: Gap | None
    begins: list[Ints] = field(default_factory=list)
    ends: list[Ints] = field(default_factory=list)
    damage: Damage = field(default_factory=list)
    truncated: bool = False

    @cached_property
    def chain_ends(self) -> Ints:
        """The number of the last frame of each chain of events."""
        return np.append(np.flatnonzero(self.after[:-1] != self.head[1:]), len(self.head) - 1)

    def walk(self) -> Frames:
        """All frames in order; a chain of events is taken in one step."""
        goes_on = True
        while goes_on and self.at < self.high:
            goes_on = self._step()
        if self.last and self.gap:
            if self.gap.is_zero:
                self.truncated = True
            else:
                self._close_gap(self.high)
        begin, end = (np.concatenate([self.head[:0], *of_chains]) for of_chains in (self.begins, self.ends))
        return Frames(begin + HEADER, end - FOOTER, self.damage, self.truncated, self.at, self.gap)

    def _step(self) -> bool:
        """Reads on from ``at``; False if only the next part can tell what begins there."""
        i = int(np.searchsorted(self.head, self.at))
        next_event = int(self.head[i]) if i < len(self.head) else self.high
        if next_event == self.at:
            self._close_gap(self.at)
            chain = slice(i, int(self.chain_ends[np.searchsorted(self.chain_ends, i)]) + 1)
            return self._take(self.head[chain], self.after[chain])
        end = None if self.gap else self._end_of_odd(next_event)
        if end is None:
            return self._skip_to(next_event)
        if end > self.high:
            self.truncated, self.at = True, self.high
            return True
        return end > self.at and self._take(np.array([self.at]), np.array([end]))

    def _take(self, begins: Ints, ends: Ints) -> bool:
        self.begins.append(begins)
        self.ends.append(ends)
        self.at = int(ends[-1])
        return True

    def _skip_to(self, next_event: int) -> bool:
        """Adds what is no record to the gap. If no event follows in this part, the next part searches on from
        where the header of one may begin; then False."""
        is_left = not self.last and next_event == self.high
        to = next_event
        if is_left:
            cut = self.cut[np.searchsorted(self.cut, self.at) :][:1].tolist()
            to = max(self.at, min([self.high - HEADER - FOOTER, *cut]))
        begin, is_zero = self.gap or (self.at, True)
        self.gap = Gap(begin, is_zero and not self.buffer[self.at : to].any())
        self.at = to
        return not is_left

    def _close_gap(self, at: int) -> None:
        if self.gap:
            n_bytes = at - self.gap.begin
            self.damage.append((self.gap.begin, f"length of a record is damaged; {n_bytes} bytes skipped"))
        self.gap = None

    def _end_of_odd(self, next_event: int) -> int | None:
        """The end of a frame without the header of an event: beyond the file if the frame is cut, ``at``
        itself if only the next part can tell; None if there is no frame."""
        if self.high - self.at < HEADER:
            return self.at + HEADER if self.last else self.at
        payload = self.at + HEADER
        length, check = struct.unpack("<QI", self.buffer[self.at : payload].tobytes())
        end = int(payload + length + FOOTER)
        may_follow = not self.last and self.high < end <= self.high + self.follow
        if _is_header(length, check):
            return self.at if may_follow else end
        # The length may be right although its checksum is wrong: then the payload has a correct checksum.
        if end <= next_event and intact(self.buffer, np.array([payload]), np.array([end - FOOTER]))[0]:
            self.damage.append((self.at, "checksum of the length is wrong; the record is whole and kept"))
            return end
        return self.at if may_follow and next_event == self.high else None


def intact(buffer: U8, begin: Ints, end: Ints) -> Mask:
    """Which payloads match the checksum that follows them."""
    return np.asarray(masked_crcs(buffer, begin, end) == word(buffer, end, "<u4"))


def masked_crcs(buffer: U8, begin: Ints, end: Ints) -> U32:
    """Masked CRC-32C of ``buffer[begin[i]:end[i]]`` for every i."""
    result = np.zeros(len(begin), np.uint32)
    length = end - begin
    wide = NARROWEST << np.ceil(np.log2(np.maximum(1, length / NARROWEST))).astype(np.int64)
    widths = np.where(length <= SEGMENT, np.maximum(1, -(-length // NARROWEST)) * NARROWEST, wide)
    early = end < widths
    if early.any():  # at the start of the buffer there is no room for leading zeros
        room = int(widths[early].max())
        buffer_with_room = np.concatenate([np.zeros(room, np.uint8), buffer[: end[early].max()]])
        result[early] = masked_crcs(buffer_with_room, begin[early] + room, end[early] + room)
        widths[early] = 0
    for width in sorted({*widths[widths > 0].tolist()}):  # `np.unique` alone imports numpy.ma
        at, n_rows = np.flatnonzero(widths == width), max(1, ROWS_BYTES // width)
        for part in np.split(at, range(n_rows, len(at), n_rows)):
            result[part] = _masked_rows(buffer, begin[part], end[part], width)
    return result


def masked_crcs_of_words(words: NDArray[np.uint64]) -> U32:
    """Masked CRC-32C of each 64-bit number (the lengths of frames), stored with its lowest byte first."""
    return _masked(_checksums(words.astype("<u8").view(np.uint8).reshape(-1, 8)) ^ _of_inversion()[8])


def _masked_rows(buffer: U8, begin: Ints, end: Ints, width: int) -> U32:
    whole = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, 0, (1,))
    rows = whole[end - width].view(np.uint8).reshape(-1, width)
    pad = width - (end - begin)
    if width <= SEGMENT:
        words = rows.view("<u8")
        for column in range(-(-int(pad.max()) // 8)):
            words[:, column] &= _HIGH_BYTES[np.maximum(np.minimum(pad - 8 * column, 8), 0)]
        return _masked(_checksums(rows) ^ _of_inversion()[end - begin])
    rows[np.arange(width) < pad[:, None]] = 0
    for k in range(4):
        rows[np.arange(len(rows)), pad + k] ^= 0xFF
    return _masked(_checksums(rows))


def _masked(state: U32) -> U32:
    """Checksums as they are stored in a TFRecord (TensorFlow's `crc32c::Mask`)."""
    crc = ~state
    return np.asarray(((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8), np.uint32)


def _checksums(rows: U8) -> U32:
    """The checksum of each row (of an even number of bytes), from zero and without inversions. Long rows are
    cut into SEGMENTs, whose checksums are combined in pairs."""
    table, span = _words_table(), min(SEGMENT, rows.shape[1])
    words = rows.reshape(-1, span).view("<u2")
    state = np.zeros(len(words), np.uint32)
    for column in range(words.shape[1]):
        state = table.take((state ^ words[:, column]) & 0xFFFF) ^ (state >> 16)
    while len(state) > len(rows):
        state = _after_zeros(state[0::2], span) ^ state[1::2]
        span *= 2
    return state


def _after_zeros(state: U32, n_bytes: int) -> U32:
    """The checksum after ``n_bytes`` more zero bytes. It is linear: one table for each byte of the state."""
    parts = [table.take((state >> (8 * k)) & 0xFF) for k, table in enumerate(_zeros_tables(n_bytes))]
    return np.asarray(parts[0] ^ parts[1] ^ parts[2] ^ parts[3], np.uint32)


@lru_cache(maxsize=64)
def _zeros_tables(n_bytes: int) -> U32:
    if n_bytes > 1:  # a power of two
        return np.stack([_after_zeros(table, n_bytes // 2) for table in _zeros_tables(n_bytes // 2)])
    return _after_bits(np.arange(256, dtype=np.uint32) << (8 * np.arange(4, dtype=np.uint32))[:, None], 8)


@lru_cache(maxsize=1)
def _of_inversion() -> U32:
    """By length: what the inversion of the start adds to a checksum, which is linear."""
    table, states = _zeros_tables(1)[0].tolist(), [0xFFFFFFFF]
    for _ in range(SEGMENT):
        states.append(table[states[-1] & 0xFF] ^ (states[-1] >> 8))
    return np.array(states, np.uint32)


@lru_cache(maxsize=1)
def _words_table() -> U32:
    return _after_bits(np.arange(1 << 16, dtype=np.uint32), 16)


def _after_bits(state: U32, n_bits: int) -> U32:
    """The checksum after ``n_bits`` more zero bits."""
    for _ in range(n_bits):
        state = np.asarray((state >> 1) ^ (state & 1) * np.uint32(POLYNOMIAL), np.uint32)
    return state


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field: an int for varints, else bytes. Raises ValueError."""
    at, end = 0, len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 0x80 else varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(message, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = (message[at], at + 1) if at < end and message[at] < 0x80 else varint(message, at)
        elif (size := {FIXED64: 8, FIXED32: 4}.get(kind, -1)) < 0:
            raise ValueError(f"wire type {kind}")
        if at + size > end:
            raise ValueError("a field is longer than its message")
        yield number, kind, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """The unsigned number at a place, with seven bits in each byte, and the place after it."""
    value = 0
    for n, byte in enumerate(message[at : at + 10]):
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + n + 1
    raise ValueError("a varint without end")


def signed(value: int) -> int:
    """A 64-bit number in two's complement."""
    return value - (1 << 64) if value >> 63 else value


def last_of(message: bytes, wanted: int) -> dict[int, Any]:
    """The fields of one wire type by number; the last one of each number."""
    return {number: value for number, kind, value in fields(message) if kind == wanted}


def messages(message: bytes, wanted: int) -> list[bytes]:
    """The messages or strings in all fields of one number."""
    return [value for number, kind, value in fields(message) if (number, kind) == (wanted, BYTES)]


def decoded(content: bytes) -> str:
    """The text of a field; bytes that are not UTF-8 are written as escapes."""
    return clean(content.decode("utf-8", "backslashreplace"))


def texts(message: bytes, names: Mapping[int, str]) -> dict[str, str]:
    """The non-empty text fields of a message, by the names given to their numbers."""
    named = ((names[n], v) for n, kind, v in fields(message) if kind == BYTES and n in names and v)
    return {name: decoded(value) for name, value in named}
