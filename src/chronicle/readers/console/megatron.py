"""Megatron-LM, Megatron-DeepSpeed and NeMo: ``iteration N/ M | key: value | ...``, a line a logged step.

Fields come in any order, behind any prefix of a launcher, and two records may share a line. If all steps
since the last record were skipped, or the loss is NaN, these trainers leave the loss out; it is read as NaN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Attempt, Floats, Mask, Steps
from chronicle.readers.columns import number
from chronicle.readers.console.chunks import Chunk, Line, time_in
from chronicle.readers.console.log import SETTING, Log
from chronicle.readers.step_axis import step_rank

Bytes = NDArray[np.uint8]

NAME = "megatron"
MARKS = (rb"iteration +\d+ */ *\d+ *\|[^|\n]{1,100}: {0,20}[^\s|]{1,60} *\|",)

_LINE = re.compile(
    rb"iteration +\d+ */ *\d+ *\||(?:validation|test) (?:loss at|results on) |world size: \d"
    rb"|training is done\]|successfully (?:sav|load)ed checkpoint|" + SETTING
)
_RECORD = re.compile(r"iteration +(?P<step>\d{1,20}) */ *\d+ *\|")
_EVALUATION = re.compile(
    r"(?P<split>validation|test) (?:loss at (?:iteration +(?P<step>\d{1,20})|the end of training)|results)"
    r"(?: (?:on|for) (?P<of>[^|]{1,80}?)(?: set| data)?)? *\|"  # the results are those of a task
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
    """One attempt, arguments and sizes as facts, checkpoints as events. Raises BadLog without a number."""
    log, templates = Log(path, NAME), list[Template]()
    for chunk in log.chunks():
        for line in _others(log, chunk, templates):
            if not (_record(log, line) or _evaluation(log, line) or _fact(log, line)):
                log.look_for_fault(line)
    _name_missing_losses(log)
    return [log.attempt()]


def _others(log: Log, chunk: Chunk, templates: list[Template]) -> Iterator[Line]:
    """Keeps the records of a chunk that fit a template, and yields the other lines that matter."""
    lines, numbers = Lines.of(chunk.data), np.asarray(chunk.numbers)
    records = np.flatnonzero(lines.n_fields[: len(numbers) - chunk.unfinished] > 2)
    known, times = np.full(len(numbers), -1), np.full(len(numbers), np.nan)
    for template in _templates(lines, records, known, chunk.data, templates):
        at, steps, columns, times_s = template.find(lines, records[known[records] < 0])
        known[at], times[at] = steps, times_s
        log.rows.extend(numbers[at], steps, columns, times_s)
    left = np.flatnonzero(known < 0)
    places = zip(lines.starts[left].tolist(), lines.ends[left].tolist(), strict=True)
    texts = [chunk.data[start:end] for start, end in places]
    behind = left[(left > 0) & (known[left - 1] >= 0)]  # right behind a record, whose step they have
    where = zip(known[behind - 1].tolist(), times[behind - 1].tolist(), strict=True)
    reached = dict(zip(numbers[behind].tolist(), where, strict=True))
    if texts:
        others = replace(chunk, data=b"\n".join(texts), numbers=numbers[left].tolist())
        yield from log.lines_in(others, _LINE, reached=reached)
    if len(known) and known[-1] >= 0:
        log.step, log.time = int(known[-1]), float(times[-1])


def _templates(
    lines: Lines, records: Steps, known: Steps, data: bytes, templates: list[Template]
) -> Iterator[Template]:
    """The templates so far, then new ones, each learned from the first lines that fit none before."""
    yield from templates
    while len(left := records[known[records] < 0]) >= _FEWEST and len(templates) < _MOST_TEMPLATES:
        texts = [data[lines.starts[line] : lines.ends[line]] for line in left[:_FEWEST].tolist()]
        new = next((learned for learned in map(learn, texts) if learned and learned not in templates), None)
        if new is None:
            return
        templates.append(new)
        yield new


def _record(log: Log, line: Line) -> bool:
    matches = list(_RECORD.finditer(line.text))
    ends = [*(match.start() for match in matches[1:]), len(line.text)]
    for match, end in zip(matches, ends, strict=False):
        values = _values(log, line, line.text[match.end() : end])
        step = values.pop("global_step", float(match["step"]))
        clock = line.text[max(0, match.start() - _CLOCK_CHARACTERS) : match.start()]
        if values:
            at = line._replace(time=time_in(clock))
            log.add(at, int(step) if step == step // 1 else int(match["step"]), values)
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
            log.not_a_number(line, name)
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
    if log.take_setting(line):
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
    """Fills in NaN where no loss stands beside skipped iterations or a gradient norm that is not finite."""
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


_HEAD = re.compile(rb".*?iteration(?P<step> +\d+) */ *\d+ *")
_CLOCK = re.compile(
    rb"(?<![\d-])\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?P<fraction>[.,]\d{1,9})?(?:Z| ?UTC)?(?! ?[+-]\d\d)"
)
_SECONDS = 19  # characters of a clock to its seconds, of which these are digits
_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_MOST_FIELDS, _MOST_BYTES = 256, 1 << 14


@dataclass(frozen=True, eq=False)
class Lines:
    """Where the lines of a chunk, [start, end), and the fields in them stand."""

    buffer: Bytes
    starts: Steps
    ends: Steps
    marks: Steps  # every "|" and every end of a line
    first: Steps  # index into marks of the first one of each line
    n_fields: Steps

    @classmethod
    def of(cls, data: bytes) -> Lines:
        buffer = np.frombuffer(data + b"\n", np.uint8)
        marks = np.flatnonzero((buffer == ord("|")) | (buffer == ord("\n")))
        last = np.flatnonzero(buffer[marks] == ord("\n"))
        first = np.concatenate([[0], last[:-1] + 1])
        ends = marks[last]
        return cls(buffer, np.concatenate([[0], ends[:-1] + 1]), ends, marks, first, last - first + 1)


class Field(NamedTuple):
    """A field of a template: the bytes up to its number, the name of the number, and how many blanks follow
    it. A field without a number consists of blanks, its ``key``, and has no name."""

    key: bytes
    name: str = ""
    n_after: int = 0


@dataclass(frozen=True)
class Template:
    """How lines of one kind are written, which are read at once, as columns of bytes. ``clocks`` are dates in
    the head, of which the first is used: where it begins, and the number of digits after the seconds."""

    head: bytes
    step: slice
    clocks: tuple[tuple[int, int], ...]
    fields: tuple[Field, ...]

    def find(self, lines: Lines, among: Steps) -> tuple[Steps, Steps, dict[str, Floats], Floats]:
        """The lines, among those with these indices, that fit the template and hold a number in every field:
        their indices, their steps, a column for each name, and their times."""
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
        return among[fits], steps[fits].astype(np.int64), columns, times[fits]

    def _head(self, buffer: Bytes, starts: Steps) -> tuple[Floats, Floats, Mask]:
        steps, fits = floats(buffer, starts + self.step.start, starts + self.step.stop)
        fits &= steps < 2.0**53
        head, own = _windows(buffer, starts, len(self.head)), np.frombuffer(self.head, np.uint8)
        times, fixed = np.full(len(starts), np.nan), np.ones(len(own), bool)
        fixed[self.step] = False
        fits &= ((head[self.step] - np.uint8(ord("0")) <= 9) | (head[self.step] == ord(" "))).all(axis=0)
        for start, n_decimals in reversed(self.clocks):
            end = start + _SECONDS + bool(n_decimals) + n_decimals
            times = _times(head[start:end])
            fixed[start + _DIGITS] = fixed[start + _SECONDS + 1 : end] = False
            fits &= ~np.isnan(times)
        return np.where(fits, steps, 0), times, fits & _same(head[fixed], own[fixed].tobytes())


def learn(line: bytes) -> Template | None:
    """The template of a line; None if it is no record, or if other lines cannot be read by it."""
    head, *rest = line.split(b"|")
    match, clocks = _HEAD.fullmatch(head), list(_CLOCK.finditer(head))
    fields = tuple(map(_field, rest))
    names = [field.name for field in fields if field.name]
    if match is None or not names or len(fields) > _MOST_FIELDS or len(line) > _MOST_BYTES:
        return None
    if any(field.key.strip() and not field.name for field in fields) or len(set(names)) < len(names):
        return None
    if any(step_rank(name) == 0 for name in names):
        return None  # `global_step` among the fields is a better step than that of the head
    places = tuple((clock.start(), max(len(clock["fraction"] or b"") - 1, 0)) for clock in clocks)
    if not places and not math.isnan(time_in(head.decode("utf-8", "replace"))):
        return None  # a date in another form
    return Template(head, slice(*match.span("step")), places, fields)


def _field(field: bytes) -> Field:
    key, colon, value = field.partition(b":")
    try:
        float(value)
        return Field(key + colon, key.decode().strip(), len(value) - len(value.rstrip(b" ")))
    except ValueError:
        return Field(field)


def _windows(buffer: Bytes, starts: Steps, length: int) -> Bytes:
    if not length or not len(starts):
        return np.empty((length, len(starts)), np.uint8)
    windows = np.ndarray((len(buffer) - length + 1,), f"V{length}", buffer, strides=(1,))
    return np.ascontiguousarray(windows[starts].view(np.uint8).reshape(-1, length).T)


def _same(columns: Bytes, wanted: bytes) -> Mask:
    return np.asarray((columns == np.frombuffer(wanted, np.uint8)[:, None]).all(axis=0))


def _times(columns: Bytes) -> Floats:
    """Unix seconds of clocks in UTC, one in each column; NaN where it is no date."""
    digits = columns - np.uint8(48)
    decimals = digits[_SECONDS + 1 :]
    known = (digits[_DIGITS] <= 9).all(axis=0) & (decimals <= 9).all(axis=0) & digits[:4].any(axis=0)
    cells = np.ascontiguousarray(columns[:_SECONDS].T).view(f"S{_SECONDS}")[:, 0]
    cells = np.where(known, cells, b"NaT")
    try:
        seconds = cells.astype("M8[s]").astype(np.float64)
    except ValueError:  # one of them is no date: all lines are then read one by one
        return np.full(len(cells), np.nan)
    fraction = 10.0 ** np.arange(len(decimals))[::-1] @ decimals.astype(np.float64) / 10.0 ** len(decimals)
    return np.where(known, seconds + fraction, np.nan)


_BLANK = ord(" ")
_FEWEST_CELLS = 64  # for which importing pyarrow is worth its time


def floats(buffer: Bytes, starts: Steps, ends: Steps) -> tuple[Floats, Mask]:
    """The numbers in ``buffer[starts[i]:ends[i]]``, which may follow blanks, and which cells hold one; the
    value of any other cell is NaN. Cells stand in ascending order."""
    if len(starts) >= _FEWEST_CELLS and (read := _many_floats(buffer, starts, ends)) is not None:
        return read, np.ones(len(starts), bool)
    values, known = np.full(len(starts), np.nan), np.zeros(len(starts), bool)
    for at, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        with suppress(ValueError):
            values[at] = float(buffer[start:end].tobytes())
            known[at] = True
    return values, known


def _many_floats(buffer: Bytes, starts: Steps, ends: Steps) -> Floats | None:
    """The numbers of cells, rounded as `float` does; None if pyarrow cannot read one of them."""
    import pyarrow as pa

    while (blank := (buffer[starts] == _BLANK) & (starts < ends - 1)).any():
        starts = starts + blank
    bounds = np.column_stack([starts, ends]).astype(np.int64).ravel()  # of cells, and of what parts them
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(buffer)]
    cells = pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers)[::2]
    with suppress(pa.ArrowInvalid):
        read = cells.cast(pa.float64())  # taken as it lies in memory: pyarrow's own way imports pandas
        return np.frombuffer(read.buffers()[1], np.float64, len(read), 8 * read.offset)
    return None
