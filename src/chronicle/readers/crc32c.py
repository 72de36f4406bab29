"""CRC-32C (Castagnoli) as TFRecord files use it: of one byte string, and of many at once.

Many at once: rows are aligned at their ends, so that rows of several lengths share one table (zeros in
front do not change a checksum that starts from zero), and two bytes are looked up at a time.
Source: Castagnoli et al. 1993, polynomial 0x1EDC6F41; the mask is TensorFlow's `crc32c::Mask`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78  # reflected
SEGMENT = 256  # bytes; longer rows are cut into pieces of this size and folded
NARROWEST = 32  # bytes of a row
_HIGH_BYTES = ~np.array(
    [(1 << 8 * n) - 1 for n in range(9)], np.uint64
)  # all but the first n bytes of a word

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
Ints = NDArray[np.int64]


def masked(crc: int) -> int:
    """The checksum as it is stored in a TFRecord."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """Masked CRC-32C of one byte string, byte by byte: the slow obvious way."""
    table = _bytes_table().tolist()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return masked(crc ^ 0xFFFFFFFF)


def masked_crcs(buffer: U8, begin: Ints, end: Ints) -> U32:
    """Masked CRC-32C of ``buffer[begin[i]:end[i]]`` for every i; each at least 4 bytes long."""
    result = np.zeros(len(begin), np.uint32)
    widths = _width(end - begin)
    for width in np.unique(widths):
        at = np.flatnonzero(widths == width)
        early = end[at] < width  # no room for the zeros in front: at the very start of the buffer
        for i in at[early]:
            result[i] = masked_crc(buffer[begin[i] : end[i]].tobytes())
        at = at[~early]
        if not len(at):
            continue
        for part in np.split(at, range((1 << 21) // width, len(at), (1 << 21) // width)):
            result[part] = _masked_rows(buffer, begin[part], end[part], int(width))
    return result


def masked_crcs_of_words(words: NDArray[np.uint64]) -> U32:
    """Masked CRC-32C of each 64-bit number (the lengths of frames), stored with its lowest byte first."""
    rows = (words ^ np.uint64(0xFFFFFFFF)).astype("<u8").view(np.uint8).reshape(-1, 8)
    return _finished(_plain_rows(rows))


def _width(length: Ints) -> Ints:
    """Row width by length: multiples of 8 bytes, and of a power of two of SEGMENT where they are longer."""
    short = np.maximum(NARROWEST, -(-length // 8) * 8)
    pieces = np.maximum(1, -(-length // SEGMENT))
    long = SEGMENT << np.ceil(np.log2(pieces)).astype(np.int64)
    return np.where(short <= SEGMENT, short, long)


def _masked_rows(buffer: U8, begin: Ints, end: Ints, width: int) -> U32:
    whole = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, 0, (1,))
    rows = whole[end - width].view(np.uint8).reshape(-1, width)
    pad = width - (end - begin)
    if width <= SEGMENT:
        words = rows.view("<u8")
        for column in range(4 if width == NARROWEST else 1):  # wider rows are less than a word too long
            words[:, column] &= _HIGH_BYTES[np.clip(pad - 8 * column, 0, 8)]
        return _finished(_plain_rows(rows) ^ _of_inversion()[end - begin])
    rows[np.arange(width) < pad[:, None]] = 0
    for k in range(4):
        rows[np.arange(len(rows)), pad + k] ^= 0xFF
    return _finished(_fold(rows))


def _finished(state: U32) -> U32:
    crc = state ^ np.uint32(0xFFFFFFFF)
    return np.asarray(((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8), np.uint32)


def _fold(rows: U8) -> U32:
    """Checksum, from zero, of each row; long rows are cut into SEGMENTs and these joined two by two."""
    n_rows, width = rows.shape
    if width <= SEGMENT:
        return _plain_rows(rows)
    state = _plain_rows(rows.reshape(-1, SEGMENT)).reshape(n_rows, -1)
    span = SEGMENT
    while state.shape[1] > 1:
        state = _after_zeros(state[:, 0::2], span) ^ state[:, 1::2]
        span *= 2
    return state[:, 0]


def _plain_rows(rows: U8) -> U32:
    """Checksum, from zero and without inversions, of each row of an even number of bytes."""
    table, words = _words_table(), rows.view("<u2")
    state = np.zeros(len(rows), np.uint32)
    for column in range(words.shape[1]):
        state = table.take((state ^ words[:, column]) & 0xFFFF) ^ (state >> 16)
    return state


def _after_zeros(state: U32, n_bytes: int) -> U32:
    """The checksum after ``n_bytes`` more zero bytes; linear, so one table a byte of the state."""
    tables = _zeros_tables(n_bytes)
    parts = [tables[k].take((state >> (8 * k)) & 0xFF) for k in range(4)]
    return np.asarray(parts[0] ^ parts[1] ^ parts[2] ^ parts[3], np.uint32)


@lru_cache(maxsize=64)
def _zeros_tables(n_bytes: int) -> U32:
    if n_bytes > SEGMENT:
        half = _zeros_tables(n_bytes // 2)
        return np.stack([_after_zeros(half[k], n_bytes // 2) for k in range(4)])
    state = np.arange(256, dtype=np.uint32)[None, :] << (8 * np.arange(4, dtype=np.uint32)[:, None])
    rows = np.zeros((4 * 256, n_bytes), np.uint8)
    rows[:, :4] = state.reshape(-1, 1).view(np.uint8).reshape(-1, 4)
    return _plain_rows(rows).reshape(4, 256)


@lru_cache(maxsize=1)
def _of_inversion() -> U32:
    """By length: what the inversion of the first four bytes adds to a checksum (it is linear)."""
    rows = np.zeros((SEGMENT + 1, SEGMENT), np.uint8)
    for length in range(4, SEGMENT + 1):
        rows[length, SEGMENT - length : SEGMENT - length + 4] = 0xFF
    return _plain_rows(rows)


@lru_cache(maxsize=1)
def _bytes_table() -> U32:
    state = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        state = np.asarray((state >> 1) ^ (state & 1) * np.uint32(POLYNOMIAL), np.uint32)
    return state


@lru_cache(maxsize=1)
def _words_table() -> U32:
    table, word = _bytes_table(), np.arange(1 << 16, dtype=np.uint32)
    first = table[word & 0xFF] ^ (word >> 8)
    return np.asarray(table[first & 0xFF] ^ (first >> 8), np.uint32)
