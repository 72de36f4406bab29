"""Megatron-LM, Megatron-DeepSpeed and NeMo: ``iteration N/ M | key: value | ...``, a line a logged step.

Fields come in any order, behind any prefix of a launcher, and two records may share a line. Where all steps
since the last line were skipped, or the loss is NaN, these trainers leave the loss out: it is NaN there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Steps
from chronicle.readers.columns import number, step_rank
from chronicle.readers.console.chunks import Chunk
from chronicle.readers.console.log import SETTING, Line, Log
from chronicle.readers.console.prefixes import time_in

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]

NAME = "megatron"
MARKS = (rb"iteration +\d+ */ *\d+ *\|[^|\n]{1,100}: {0,20}[^\s|]{1,60} *\|",)

_LINE = re.compile(
    rb"iteration +\d+ */ *\d+ *\||(?:validation|test) loss at |world size: \d|training is done\]"
    rb"|successfully (?:sav|load)ed checkpoint|" + SETTING
)
_RECORD = re.compile(r"iteration +(?P<step>\d{1,20}) */ *\d+ *\|")
_EVALUATION = re.compile(
    r"(?P<split>validation|test) loss at (?:iteration +(?P<step>\d{1,20})|the end of training)"
    r"(?: (?:on|for) (?P<of>[^|]{1,80}?)(?: set| data)?)? *\|"
)
_SIZES = re.compile(r"([\w-]{1,60}(?: parallel)?[ -]size): (\d+)")
_CHECKPOINT = re.compile(
    r"successfully (?P<what>sav|load)ed checkpoint.{0,500}? (?:at|from) iteration +(?P<step>\d{1,18})\b"
)
_LOSS = re.compile(r"(?<!_)\bloss$")
_NORM = "grad norm"
_CAUSES = ("number of skipped iterations", "number of nan iterations", _NORM, f"total {_NORM}")
_MOST_TEMPLATES, _FEWEST = 16, 4
_CLOCK_CHARACTERS = 100  # before the word "iteration", among which the clock is


def read(path: Path) -> list[Attempt]:
    """One attempt, arguments and sizes as facts, checkpoints as events. Raises BadLog: it holds no number."""
    log, templates = Log(path, NAME, learned=[]), list[Template]()
    for chunk in log.chunks():
        if not templates:  # those of the lines before, where it is read on
            templates += filter(None, (learn(line.encode("latin-1")) for line in log.own["learned"]))
        for line in _others(log, chunk, templates):
            if not (_record(log, line) or _evaluation(log, line) or _fact(log, line)):
                log.look(line)
    _name_missing_losses(log)
    return [log.attempt()]


def _others(log: Log, chunk: Chunk, templates: list[Template]) -> Iterator[Line]:
    """Keeps the records of a chunk that are written alike, and gives what else there is to be told."""
    fields, numbers, lines = Fields.of(chunk.data), np.asarray(chunk.numbers), chunk.lines
    records = np.flatnonzero(fields.n_fields[: len(numbers) - chunk.unfinished] > 2)
    known, times = np.full(len(numbers), -1), np.full(len(numbers), np.nan)
    for template in _templates(lines, records, known, templates, log.own["learned"]):
        at, steps, columns, times_s = template.find(fields, records[known[records] < 0])
        known[at], times[at] = steps, times_s
        log.rows.extend(numbers[at], steps, columns, times_s)
    left = np.flatnonzero(known < 0)
    behind = left[(left > 0) & (known[left - 1] >= 0)]  # they stand where the record right before them is
    where = zip(known[behind - 1].tolist(), times[behind - 1].tolist(), strict=True)
    reached = dict(zip(numbers[behind].tolist(), where, strict=True))
    others = [lines[at] for at in left.tolist()]
    yield from log.among(others, numbers[left].tolist(), _LINE, chunk.unfinished, reached)
    if len(known) and known[-1] >= 0:
        log.step, log.time = int(known[-1]), float(times[-1])


def _templates(
    lines: list[bytes], records: Steps, known: Steps, templates: list[Template], learned: list[str]
) -> Iterator[Template]:
    """The templates so far, then a new one of the first line that fits none, while there are such lines."""
    yield from templates
    while len(left := records[known[records] < 0]) >= _FEWEST and len(templates) < _MOST_TEMPLATES:
        texts = [lines[at] for at in left[:_FEWEST].tolist()]
        tried = ((template, text) for text in texts if (template := learn(text)))
        new, text = next((one for one in tried if one[0] not in templates), (None, b""))
        if new is None:
            return
        templates.append(new)
        learned.append(text.decode("latin-1"))
        yield new


def _record(log: Log, line: Line) -> bool:
    matches = list(_RECORD.finditer(line.text))
    ends = [*(match.start() for match in matches[1:]), len(line.text)]
    for match, end in zip(matches, ends, strict=False):
        values = _values(log, line, line.text[match.end() : end])
        step = values.pop("global_step", float(match["step"]))
        clock = line.text[max(0, match.start() - _CLOCK_CHARACTERS) : match.start()]
        if values:
            log.add(line, int(step) if step == step // 1 else int(match["step"]), values, time=time_in(clock))
    return bool(matches)


def _values(log: Log, line: Line, fields: str) -> dict[str, float]:
    values = {}
    for field in fields.split("|"):
        name, _, cell = field.partition(":")
        name = name.strip()
        value = number(cell)
        if value is not None:
            values[name] = value
        elif name and not line.unfinished:
            log.strange(line, name)
    return values


def _evaluation(log: Log, line: Line) -> bool:
    match = _EVALUATION.search(line.text)
    if match is None:
        return False
    of = match["of"] or match["split"]
    prefix = of if of in ("validation", "test") else f"{match['split']}/{of}"
    values = _values(log, line, line.text[match.end() :])
    step = log.step if match["step"] is None else int(match["step"])
    if values and step is not None:
        log.add(line, step, {f"{prefix}/{name}": value for name, value in values.items()})
    return True


def _fact(log: Log, line: Line) -> bool:
    if log.is_setting(line):
        return True
    if match := _CHECKPOINT.search(line.text):
        log.event(line, f"checkpoint-{match['what']}ed", checkpoint_step=int(match["step"]))
    elif "world size" in line.text:
        for name, size in _SIZES.findall(line.text):
            log.fact("world_size" if name == "world size" else f"config/{name.replace(' ', '-')}", int(size))
    elif "training is done]" in line.text:
        log.fact("ended", "finished")
    else:
        return False
    return True


def _name_missing_losses(log: Log) -> None:
    """Where no loss stands beside skipped iterations or a norm that is no number, it was none: NaN."""
    columns = log.rows.columns
    losses = [name for name in columns if _LOSS.search(name)]
    has_loss, has_cause = np.zeros((2, len(log.rows)), bool)
    for name in losses:
        has_loss[np.asarray(columns[name][1])] = True
    for name in _CAUSES:
        values, rows = map(np.asarray, columns.get(name, ([], [])))
        cause = ~np.isfinite(values) if name.endswith(_NORM) else values > 0
        has_cause[rows[cause].astype(np.int64)] = True
    for name in losses or ["lm loss"]:
        rows = np.flatnonzero(has_cause & ~has_loss)
        log.rows.fill(name, rows, np.full(len(rows), np.nan))


_HEAD = re.compile(rb".*?iteration(?P<step> +\d{1,15}) */ *\d+ *")
_CLOCK = re.compile(
    rb"(?<![\d-])\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?P<fraction>[.,]\d{1,9})?(?:Z| ?UTC)?(?! ?[+-]\d\d)"
)
_SECONDS = 19  # characters of a clock to its seconds, of which these are digits
_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_MOST_FIELDS, _MOST_BYTES = 256, 1 << 14


@dataclass(frozen=True, eq=False)
class Fields:
    """The fields of the lines of a chunk, each with the "|" or the end of the line behind it."""

    cells: pa.Array
    first: Steps  # index of the first field of each line
    n_fields: Steps

    @classmethod
    def of(cls, data: bytes) -> Fields:
        import pyarrow as pa

        buffer = np.frombuffer(data + b"\n", np.uint8)
        ends = np.flatnonzero((buffer == ord("|")) | (buffer == ord("\n"))) + 1
        last = np.flatnonzero(buffer[ends - 1] == ord("\n"))
        first = np.concatenate([[0], last[:-1] + 1])
        places = np.concatenate([[0], ends]).astype(np.int32)
        buffers = [None, pa.py_buffer(places), pa.py_buffer(buffer)]
        return cls(pa.Array.from_buffers(pa.binary(), len(ends), buffers), first, last - first + 1)


@dataclass(frozen=True)
class Template:
    """How lines of one kind are written. ``clocks`` are the places of dates in the head; the first counts.

    A place is that of the first character, and how many digits a fraction of a second has. A field is its key
    and a number, of this name; a field without a name is the key alone, which is blank.
    """

    head: bytes
    step: slice
    clocks: tuple[tuple[int, int], ...]
    fields: tuple[tuple[bytes, str], ...]

    def find(self, fields: Fields, among: Steps) -> tuple[Steps, Steps, dict[str, Floats], Floats]:
        """The lines, of those with these indices, that are written so and hold a number in every field.

        Their indices, their steps, a column a name, and their times.
        """
        import pyarrow.compute as pc

        among = among[fields.n_fields[among] == len(self.fields) + 1]
        cells = [fields.cells.take(fields.first[among] + at) for at in range(len(self.fields) + 1)]
        fits = np.array(pc.equal(pc.binary_length(cells[0]), len(self.head) + 1))
        for cell, (key, name) in zip(cells[1:], self.fields, strict=True):
            fits &= np.asarray(pc.equal(pc.binary_slice(cell, 0, len(key) if name else -1), key))
        if not fits.all():
            among, cells = among[fits], [cell.filter(fits) for cell in cells]
        steps, times, fits = self._head(b"".join(cells[0].to_pylist()), len(among))
        columns: dict[str, Floats] = {}
        for cell, (key, name) in zip(cells[1:], self.fields, strict=True):
            if name:
                columns[name], known = floats(pc.binary_slice(cell, len(key), -1))
                fits &= known
        columns = {name: column[fits] for name, column in columns.items()}
        return among[fits], steps[fits], columns, times[fits]

    def _head(self, heads: bytes, n_lines: int) -> tuple[Steps, Floats, Mask]:
        """Steps and times, and which heads, of the length of this one, are written as this one."""
        head = np.frombuffer(heads, np.uint8).reshape(n_lines, len(self.head) + 1).T
        own, fixed = np.frombuffer(self.head, np.uint8), np.ones(len(self.head), bool)
        digits = head[self.step] - np.uint8(ord("0"))
        is_digit = digits <= 9
        fits = (is_digit | (head[self.step] == ord(" "))).all(axis=0) & is_digit[-1]
        fits &= (is_digit[1:] >= is_digit[:-1]).all(axis=0)
        steps = 10 ** np.arange(len(digits))[::-1] @ (digits * is_digit).astype(np.int64)
        times, fixed[self.step] = np.full(n_lines, np.nan), False
        for start, n_decimals in reversed(self.clocks):
            end = start + _SECONDS + bool(n_decimals) + n_decimals
            times = _times(head[start:end])
            fixed[start + _DIGITS] = fixed[start + _SECONDS + 1 : end] = False
            fits &= ~np.isnan(times)
        return steps, times, fits & (head[:-1][fixed] == own[fixed, None]).all(axis=0)


def learn(line: bytes) -> Template | None:
    """The template of a line; None where it is no line of this kind, or one that others cannot be like."""
    head, *rest = line.split(b"|")
    match, clocks = _HEAD.fullmatch(head), list(_CLOCK.finditer(head))
    fields = tuple(map(_field, rest))
    names = [name for _, name in fields if name]
    if match is None or not names or len(fields) > _MOST_FIELDS or len(line) > _MOST_BYTES:
        return None
    if any(key.strip() and not name for key, name in fields) or len(set(names)) < len(names):
        return None
    if any(step_rank(name) == 0 for name in names):
        return None  # `global_step` among the fields says more than the head
    places = tuple((clock.start(), max(len(clock["fraction"] or b"") - 1, 0)) for clock in clocks)
    if not places and not math.isnan(time_in(head.decode("utf-8", "replace"))):
        return None  # a date in another form
    return Template(head, slice(*match.span("step")), places, fields)


def _field(field: bytes) -> tuple[bytes, str]:
    key, colon, value = field.partition(b":")
    try:
        float(value)
        return key + colon, key.decode().strip()
    except ValueError:
        return field, ""


def _times(columns: Bytes) -> Floats:
    """Unix seconds of clocks in UTC, one a column, with a fraction or without; NaN where it is no date."""
    digits = columns - np.uint8(48)
    decimals = digits[_SECONDS + 1 :]
    known = (digits[_DIGITS] <= 9).all(axis=0) & (decimals <= 9).all(axis=0) & digits[:4].any(axis=0)
    cells = np.ascontiguousarray(columns[:_SECONDS].T).view(f"S{_SECONDS}")[:, 0]
    cells = np.where(known, cells, b"NaT")
    try:
        seconds = cells.astype("M8[s]").astype(np.float64)
    except ValueError:  # one of them is no date: each of the lines is then read with care
        return np.full(len(cells), np.nan)
    fraction = 10.0 ** np.arange(len(decimals))[::-1] @ decimals.astype(np.float64) / 10.0 ** len(decimals)
    return np.where(known, seconds + fraction, np.nan)


def floats(cells: pa.Array) -> tuple[Floats, Mask]:
    """The numbers in cells of bytes, each as `float` reads it, and which cells hold one: others have NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.ascii_trim_whitespace(cells.view(pa.string()))
    try:
        if not pc.any(pc.match_substring(texts, "(")).as_py():  # nan(1) is a number to pyarrow alone
            return np.array(pc.cast(texts, pa.float64())), np.ones(len(cells), bool)
    except pa.ArrowInvalid:
        pass  # one of them is written in another way, or is none
    values, known = np.full(len(cells), np.nan), np.zeros(len(cells), bool)
    for at, cell in enumerate(cells.to_pylist()):
        with suppress(ValueError):
            values[at], known[at] = float(cell), True
    return values, known
