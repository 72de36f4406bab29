"""Lines of fields parted by ``|``, many at once: the line of a trainer is written the same way each time.

A `Template` is what one line of this kind teaches: the words before each number, and the places of the clock
and the step in its head. Lines that fit it are read by operations on whole columns of characters; every other
line is left to the reader's own, slow way, with the same result.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.columns import step_rank
from chronicle.readers.console.prefix import time_in
from chronicle.readers.digits import Bytes, Mask, floats

_HEAD = re.compile(rb".*?iteration(?P<step> +\d+) */ *\d+ *")
_CLOCK = re.compile(
    rb"(?<![\d-])\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?P<fraction>[.,]\d{1,9})?(?:Z| ?UTC)?(?! ?[+-]\d\d)"
)
_PARTS = ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))  # of a clock: year, month, ..., second
_SECONDS = 19  # characters of a clock to its seconds
_MOST_FIELDS, _MOST_BYTES = 256, 1 << 14


@dataclass(frozen=True, eq=False)
class Lines:
    """Places of the lines of a chunk and of the fields in them: [start, end) of lines, ends of fields."""

    buffer: Bytes
    starts: Steps
    ends: Steps
    marks: Steps  # every "|" and every end of a line
    first: Steps  # index into marks of the first one of each line
    n_fields: Steps

    @classmethod
    def of(cls, data: bytes) -> Lines:
        """The lines of a text."""
        buffer = np.frombuffer(data + b"\n", np.uint8)
        marks = np.flatnonzero((buffer == ord("|")) | (buffer == ord("\n")))
        last = np.flatnonzero(buffer[marks] == ord("\n"))
        first = np.concatenate([[0], last[:-1] + 1])
        ends = marks[last]
        return cls(buffer, np.concatenate([[0], ends[:-1] + 1]), ends, marks, first, last - first + 1)


@dataclass(frozen=True)
class Found:
    """Lines that fit a template: their indices, their steps and times, and a column a key."""

    lines: Steps
    steps: Steps
    times: Floats
    columns: dict[str, Floats]


@dataclass(frozen=True)
class Field:
    """A field as a template has it: the bytes up to its number, the name of the number, and the blanks after
    it.

    A field without a number is all ``key``, blanks, and has no name.
    """

    key: bytes
    name: str
    n_after: int


@dataclass(frozen=True)
class Template:
    """How lines of one kind are written. ``clocks`` are the places of dates in the head; the first counts.

    A place is that of the first character, and how many digits a fraction of a second has.
    """

    head: bytes
    step: slice
    clocks: tuple[tuple[int, int], ...]
    fields: tuple[Field, ...]

    def find(self, lines: Lines, among: Steps) -> Found:
        """The lines, of those with these indices, that are written so and hold a number in every field."""
        among = among[lines.n_fields[among] == len(self.fields) + 1]
        ends = lines.marks[lines.first[among][:, None] + np.arange(len(self.fields) + 1)]
        fits = ends[:, 0] - lines.starts[among] == len(self.head)
        fits &= (np.diff(ends) > [len(field.key) for field in self.fields]).all(axis=1)
        among, ends = among[fits], ends[fits]
        steps, times, fits = self._head(lines.buffer, lines.starts[among])
        columns: dict[str, Floats] = {}
        for field, before, end in zip(self.fields, ends.T, ends.T[1:], strict=False):
            fits &= _same(_windows(lines.buffer, before + 1, len(field.key)), field.key)
            if field.name:
                start = before + 1 + len(field.key)
                columns[field.name], known = floats(lines.buffer, start, end - field.n_after)
                fits &= known
            else:
                fits &= end - before == len(field.key) + 1
        columns = {name: column[fits] for name, column in columns.items()}
        return Found(among[fits], steps[fits].astype(np.int64), times[fits], columns)

    def _head(self, buffer: Bytes, starts: Steps) -> tuple[Floats, Floats, Mask]:
        """Steps and times, and which heads are written as this one."""
        steps, fits = floats(buffer, starts + self.step.start, starts + self.step.stop)
        fits &= steps < 2.0**53
        head, own = _windows(buffer, starts, len(self.head)), np.frombuffer(self.head, np.uint8)
        times, fixed = np.full(len(starts), np.nan), np.ones(len(own), bool)
        fixed[self.step] = False
        fits &= ((head[self.step] - np.uint8(ord("0")) <= 9) | (head[self.step] == ord(" "))).all(axis=0)
        for start, n_decimals in reversed(self.clocks):
            end = start + _SECONDS + bool(n_decimals) + n_decimals
            times = _times(head[start:end])
            fixed[_digits_in(start, n_decimals)] = False
            fits &= ~np.isnan(times)
        return np.where(fits, steps, 0), times, fits & _same(head[fixed], own[fixed].tobytes())


def learn(line: bytes) -> Template | None:
    """The template of a line; None where it is no line of this kind, or one that others cannot be like."""
    head, *rest = line.split(b"|")
    found, clocks = _HEAD.fullmatch(head), list(_CLOCK.finditer(head))
    fields = tuple(map(_field, rest))
    names = [field.name for field in fields if field.name]
    if found is None or not names or len(fields) > _MOST_FIELDS or len(line) > _MOST_BYTES:
        return None
    if any(field.key.strip() and not field.name for field in fields) or len(set(names)) < len(names):
        return None
    if any(step_rank(name) == 0 for name in names):
        return None  # `global_step` among the fields says more than the head
    places = tuple((clock.start(), max(len(clock["fraction"] or b"") - 1, 0)) for clock in clocks)
    if not places and not math.isnan(time_in(head.decode("utf-8", "replace"))):
        return None  # a date in another form
    return Template(head, slice(*found.span("step")), places, fields)


def _digits_in(clock: int, n_decimals: int) -> list[int]:
    """Where a clock at this place has digits."""
    places = [place for start, end in _PARTS for place in range(start, end)]
    return [clock + place for place in (*places, *range(_SECONDS + 1, _SECONDS + 1 + n_decimals))]


def _field(field: bytes) -> Field:
    key, colon, value = field.partition(b":")
    try:
        float(value)
        return Field(key + colon, key.decode().strip(), len(value) - len(value.rstrip(b" ")))
    except ValueError:
        return Field(field, "", 0)


def _windows(buffer: Bytes, starts: Steps, length: int) -> Bytes:
    """A column of ``length`` bytes from each of the starts."""
    if not length or not len(starts):
        return np.empty((length, len(starts)), np.uint8)
    windows = np.ndarray((len(buffer) - length + 1,), f"V{length}", buffer, strides=(1,))
    return np.ascontiguousarray(windows[starts].view(np.uint8).reshape(-1, length).T)


def _same(columns: Bytes, wanted: bytes) -> Mask:
    """Which columns hold these bytes."""
    own = np.frombuffer(wanted, np.uint8)
    return np.asarray((columns == own[:, None]).all(axis=0))


def _times(columns: Bytes) -> Floats:
    """Unix seconds of clocks in UTC, one a column, with a fraction or without; NaN where it is no date."""
    digits = columns - np.uint8(48)
    known = np.ones(columns.shape[1], bool)
    parts = []
    for start, end in _PARTS:
        known &= (digits[start:end] <= 9).all(axis=0)
        parts.append(10.0 ** np.arange(end - start)[::-1] @ digits[start:end].astype(np.float64))
    year, month, day, hour, minute, second = (part.astype(np.int64) for part in parts)
    known &= (year > 0) & (month > 0) & (month < 13) & (day > 0) & (hour < 24) & (minute < 60) & (second < 60)
    months = (year - 1970) * 12 + month - 1
    days = months.astype("M8[M]").astype("M8[D]") + (day - 1)
    known &= days.astype("M8[M]").astype(np.int64) == months
    seconds = days.astype(np.int64) * 86400.0 + hour * 3600 + minute * 60 + second
    decimals = digits[_SECONDS + 1 :]
    known &= (decimals <= 9).all(axis=0)
    seconds += 10.0 ** np.arange(len(decimals))[::-1] @ decimals.astype(np.float64) / 10.0 ** len(decimals)
    return np.where(known, seconds, np.nan)
