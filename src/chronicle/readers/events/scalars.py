"""The scalars of event records, decoded field by field for many records at once.

`decode` knows the layouts that all common writers produce; any other record goes to `event`, which is slow.
Field numbers are those of TensorFlow's event.proto, summary.proto and tensor.proto.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Floats, Mask
from chronicle.readers.events import tfrecord
from chronicle.readers.events.tfrecord import BYTES, U8, Ints, fields, last_of, messages, signed, word

FAR = 1 << 50  # a place outside every file
LONGEST_TAG = 128  # bytes; records with a longer one are decoded one by one

# Keys of the fields as they stand in the file: number * 8 + wire type.
WALL_TIME, STEP, SUMMARY = 0x09, 0x10, 0x2A  # of Event
VALUE = 0x0A  # of Summary
TAG, SIMPLE_VALUE, TENSOR, METADATA = 0x0A, 0x15, 0x42, 0x4A  # of Summary.Value
DTYPE, SHAPE, CONTENT = 0x08, 0x12, 0x22  # of TensorProto
FLOATS, FLOAT, DOUBLES, DOUBLE = 0x2A, 0x2D, 0x32, 0x31  # float_val and double_val, packed and not
DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}
# Skipped: other kinds of Event (versions, graphs, messages) and of Summary.Value.
_IS_OTHER = np.isin(np.arange(256), [0x1A, 0x22, 0x32, 0x3A, 0x42, 0x4A, 0x52])
_IS_BULK = np.isin(np.arange(256), [0x22, 0x2A, 0x32, TENSOR])  # image, histogram, audio, large tensors
LARGE = 256  # bytes; a larger tensor is not a scalar
STRING = 7  # dtype of a tensor of texts
_ITEM_BYTES = np.array([np.dtype(DTYPES[code]).itemsize if code in DTYPES else 0 for code in range(256)])
_LOW_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # masks of the first n bytes


class Points(NamedTuple):
    """Scalars in the order of the log, each with the number of its record and of its tag; times in Unix s."""

    record: Ints
    tag: Ints
    step: Ints
    wall_time: Floats
    value: Floats


class Decoded(NamedTuple):
    """The content of payloads: points, tags with their numbers, the numbers of payloads that are not events,
    and texts with the numbers of their payloads."""

    points: Points
    tags: dict[str, int]
    broken: list[int]
    texts: list[tuple[int, Text]]


def decode(buffer: U8, begin: Ints, end: Ints) -> Decoded:
    """The content of the payloads ``begin:end``, whose checksums were verified."""
    tags, broken, texts = dict[str, int](), list[int](), list[tuple[int, Text]]()
    with np.errstate(invalid="ignore"):  # converting a signalling NaN would warn
        wall_time, step, at, known = _events(buffer, begin, end)
        record, tag, value = _all_values(buffer, at, end, known, tags)
    odd: list[tuple[int, int, float]] = []
    for i in np.flatnonzero(~known).tolist():
        try:
            wall_time[i], step[i], scalars, own = event(buffer[begin[i] : end[i]].tobytes())
        except ValueError:
            broken.append(i)
            continue
        texts += [(i, text) for text in own]
        odd += [(i, tags.setdefault(name, len(tags)), number) for name, number in scalars]
    if odd:
        more = zip(*odd, strict=True)
        record, tag, value = (np.append(*both) for both in zip((record, tag, value), more, strict=True))
    if np.any(record[1:] < record[:-1]):
        order = np.argsort(record, kind="stable")
        record, tag, value = record[order], tag[order], value[order]
    return Decoded(Points(record, tag, step[record], wall_time[record], value), tags, broken, texts)


def _events(buffer: U8, begin: Ints, end: Ints) -> tuple[Floats, Ints, Ints, Mask]:
    """Wall time, step, place of the first value, and whether the layout is known. For a record of another
    kind (a graph, a version), which has no value, the place is its end."""
    fits = _byte(buffer, begin) == WALL_TIME
    wall_time = word(buffer, begin + 1, "<f8").astype(np.float64)
    at = begin + 9
    has_step = _byte(buffer, at) == STEP
    step, after = varints(buffer, at + 1)
    at = np.where(has_step, after, at)
    key = _byte(buffer, at)
    size, at = _length(buffer, at + 1)
    fits &= (at + size == end) & ((key == SUMMARY) | _IS_OTHER[key])
    return wall_time, np.where(has_step, step, 0), np.where(_IS_OTHER[key], end, at), fits


def _all_values(
    buffer: U8, at: Ints, end: Ints, known: Mask, tags: dict[str, int]
) -> tuple[Ints, Ints, Floats]:
    """(record, tag, value) of all values: the first value of every summary, then the second ones, and so on.
    Records with a value of unknown layout are removed from ``known``; new tags get the next numbers."""
    live = np.flatnonzero(known & (at < end))
    at, parts = at[live], [(live[:0], live[:0], np.empty(0))]
    while len(live):
        tag, value, at, fits, numbers = _values(buffer, at, end[live], tags)
        known[live[~fits]] = False
        parts.append((live[numbers], tag, value))
        more = fits & (at < end[live])
        live, at = live[more], at[more]
    record, tag, value = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    keep = known[record]
    return record[keep], tag[keep], value[keep]


def _values(buffer: U8, at: Ints, end: Ints, tags: dict[str, int]) -> tuple[Ints, Floats, Ints, Mask, Mask]:
    """The Summary.Value at each place: tags and numbers of those that have one, the place after it, whether
    its layout is known, and whether it has a number. Images, histograms and the like are skipped."""
    fits = _byte(buffer, at) == VALUE
    size, at = _length(buffer, at + 1)
    after = at + size
    tag_size, tag_at = _length(buffer, at + 1)
    body = tag_at + tag_size
    fits &= (after <= end) & (_byte(buffer, at) == TAG) & (tag_size <= LONGEST_TAG) & (body < after)
    kind = _byte(buffer, body)
    length, start = _length(buffer, body + 1)
    is_large = (length > LARGE) & (_byte(buffer, start) == DTYPE) & (_byte(buffer, start + 1) != STRING)
    bulk = fits & _IS_BULK[kind] & ((kind != TENSOR) | is_large)
    value = word(buffer, body + 1, "<f4").astype(np.float64)
    tail = np.where(bulk, start + length, body + 5)
    tensors = np.flatnonzero(fits & ~bulk & (kind == TENSOR))
    if len(tensors):
        value[tensors], tail[tensors], fits[tensors] = _tensors(buffer, body[tensors])
    fits &= (kind == SIMPLE_VALUE) | (kind == TENSOR) | bulk
    rest = np.flatnonzero(fits & (tail != after))  # only metadata may follow the number
    metadata_size, metadata_at = _length(buffer, tail[rest] + 1)
    fits[rest] = (_byte(buffer, tail[rest]) == METADATA) & (metadata_at + metadata_size == after[rest])
    number = fits & ~bulk
    return _tag_numbers(buffer, tag_at[number], tag_size[number], tags), value[number], after, fits, number


def _tensors(buffer: U8, body: Ints) -> tuple[Floats, Ints, Mask]:
    """The TensorProto without dimensions at each place: its number, its end, whether its layout is known."""
    size, at = _length(buffer, body + 1)
    end = at + size
    fits, dtype = _byte(buffer, at) == DTYPE, _byte(buffer, at + 1)
    at = at + 2
    at += np.where((_byte(buffer, at) == SHAPE) & (_byte(buffer, at + 1) == 0), 2, 0)
    key, item_bytes = _byte(buffer, at), _ITEM_BYTES[dtype]
    single = ((key == FLOAT) & (dtype == 1)) | ((key == DOUBLE) & (dtype == 2))
    packed = (key == CONTENT) | ((key == FLOATS) & (dtype == 1)) | ((key == DOUBLES) & (dtype == 2))
    packed &= _byte(buffer, at + 1) == item_bytes
    at += np.where(single, 1, 2)
    fits &= (single | packed) & (item_bytes > 0) & (at + item_bytes == end)
    value = np.zeros(len(body))
    for code, numpy_type in DTYPES.items():
        rows = np.flatnonzero(fits & (dtype == code))
        value[rows] = word(buffer, at[rows], numpy_type)
    return value, end, fits


def _tag_numbers(buffer: U8, at: Ints, size: Ints, tags: dict[str, int]) -> Ints:
    """The number of each tag; new tags get the next numbers, in the order of the log. Tags are grouped by a
    hash, and then compared byte by byte with the first of their group."""
    words = [
        word(buffer, at + low, "<u8") & _LOW_BYTES[np.maximum(np.minimum(size - low, 8), 0)]
        for low in range(0, int(size.max(initial=0)), 8)
    ]
    _, first, group = np.unique(tag_hashes(size, words), return_index=True, return_inverse=True)
    if any(np.any(part != part[first][group]) for part in (size, *words)):
        first = group = np.arange(len(at))  # two tags have one hash: no grouping
    numbers = np.empty(len(first), np.int64)
    for i in np.argsort(first).tolist():
        start = int(at[first[i]])
        name = buffer[start : start + int(size[first[i]])].tobytes().decode("utf-8", "backslashreplace")
        numbers[i] = tags.setdefault(name, len(tags))
    return numbers[group]


def tag_hashes(size: Ints, words: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A hash of each tag, given its size in bytes and its text as words of eight bytes."""
    key = size.astype(np.uint64)
    for word_ in words:
        key = (key ^ word_) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(32)
    return key


def varints(buffer: U8, at: Ints) -> tuple[Ints, Ints]:
    """Varints at these places, as int64, and the places after them (FAR for one that does not end)."""
    byte = _byte(buffer, at)
    value, after = (byte & 0x7F).astype(np.int64), at + 1
    more = np.flatnonzero(byte & 0x80)
    for shift in range(7, 70, 7):
        if not len(more):
            break
        byte = _byte(buffer, after[more])
        value[more] |= (byte & 0x7F).astype(np.int64) << shift
        after[more] += 1
        more = more[byte >= 0x80]
    after[more] = FAR
    return value, after


def _length(buffer: U8, at: Ints) -> tuple[Ints, Ints]:
    """The length of a field and the place after it; an impossible length is limited to FAR."""
    value, after = varints(buffer, at)
    return np.minimum(value.view(np.uint64), np.uint64(FAR)).view(np.int64), after


def _byte(buffer: U8, at: Ints) -> U8:
    return buffer.take(at, mode="clip")


MAX_TEXT = 1 << 20  # bytes; texts are not read from larger tensors

# dtype of a tensor: (numpy type of tensor_content, field that holds its values one by one)
_BFLOAT16, _HALF = 14, 19  # 16-bit floats, which are stored as integers
_TENSOR_DTYPES: dict[int, tuple[str, int]] = {
    1: ("<f4", 5), 2: ("<f8", 6), 3: ("<i4", 7), 4: ("u1", 7), 5: ("<i2", 7), 6: ("i1", 7), 9: ("<i8", 10),
    10: ("?", 11), _BFLOAT16: ("<u2", 13), 17: ("<u2", 7), _HALF: ("<u2", 13), 22: ("<u4", 16),
    23: ("<u8", 17),
}  # fmt: skip
_FLOAT_FIELDS, _UNSIGNED_FIELDS = {5: "<f4", 6: "<f8"}, (16, 17)


class Text(NamedTuple):
    """What a plugin logged under a tag: the string in a tensor (`text`), or its own message (`hparams`)."""

    tag: str
    plugin: str
    content: bytes


def event(payload: bytes) -> tuple[float, int, list[tuple[str, float]], list[Text]]:
    """The wall time [Unix s], step, scalars (tag, value) and texts of one record. Raises ValueError."""
    (wall_time,) = struct.unpack("<d", last_of(payload, tfrecord.FIXED64).get(1, bytes(8)))
    step = signed(last_of(payload, tfrecord.VARINT).get(2, 0))
    values = [_summary_value(value) for summary in messages(payload, 5) for value in messages(summary, 1)]
    scalars = [(tag, scalar) for tag, scalar, _ in values if scalar is not None]
    return wall_time, step, scalars, [text for _, _, texts in values for text in texts]


def _summary_value(message: bytes) -> tuple[str, float | None, list[Text]]:
    parts, simple = last_of(message, BYTES), last_of(message, tfrecord.FIXED32).get(2)
    tag, tensor = parts.get(1, b"").decode("utf-8", "backslashreplace"), parts.get(8)
    scalar = struct.unpack("<f", simple)[0] if simple else None
    scalar = _tensor(tensor) if tensor is not None else scalar
    may_be_text = b"text" in message or b"hparams" in message
    about = last_of(last_of(parts.get(9, b"") if may_be_text else b"", BYTES).get(1, b""), BYTES)
    plugin, texts = about.get(1, b"").decode("utf-8", "replace"), [about.get(2, b"")]
    if plugin == "text":
        texts = messages(tensor, 8)[:1] if tensor and len(tensor) <= MAX_TEXT else []
    return tag, scalar, [Text(tag, plugin, text) for text in texts if plugin in ("text", "hparams")]


def _tensor(message: bytes) -> float | None:
    """The number that a tensor of one element holds; None for any other tensor."""
    last = {(number, kind): value for number, kind, value in fields(message)}
    dtype, content, shape = (last.get(key, b"") for key in ((1, tfrecord.VARINT), (4, BYTES), (2, BYTES)))
    if dtype not in _TENSOR_DTYPES:
        return None
    sizes = (signed(last_of(size, tfrecord.VARINT).get(1, 0)) for size in messages(shape, 2))
    numpy_type, own = _TENSOR_DTYPES[dtype]
    cells: Any = [cell for field in fields(message) if field[0] == own for cell in _cells(*field)]
    if content:
        cells = np.frombuffer(content, numpy_type)
    if len(cells) != 1 or math.prod(sizes) != 1:
        return None
    if dtype == _BFLOAT16:
        return float(np.uint32((int(cells[0]) & 0xFFFF) << 16).view(np.float32))
    return float(np.uint16(int(cells[0]) & 0xFFFF).view(np.float16) if dtype == _HALF else cells[0])


def _cells(number: int, kind: int, value: Any) -> list[Any]:
    if kind != tfrecord.VARINT and number in _FLOAT_FIELDS:
        return [*np.frombuffer(value, _FLOAT_FIELDS[number])]
    cells, at = [value] if kind == tfrecord.VARINT else [], 0
    while kind == BYTES and at < len(value):
        cell, at = tfrecord.varint(value, at)
        cells.append(cell)
    return [cell if number in _UNSIGNED_FIELDS else signed(cell) for cell in cells]
