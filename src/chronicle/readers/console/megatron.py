"""Megatron-LM, Megatron-DeepSpeed and NeMo: ``iteration N/ M | key: value | ...``, a line a logged step.

Fields come in any order, behind any prefix of a launcher, and two records may share a line. Where all steps
since the last line were skipped, or the loss is NaN, these trainers leave the loss out: it is NaN there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from chronicle.model import Attempt, Floats, Steps
from chronicle.readers.columns import number
from chronicle.readers.console.arguments import MARK, argument
from chronicle.readers.console.chunks import Chunk
from chronicle.readers.console.fields import Lines, Template, learn
from chronicle.readers.console.log import Line, Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.prefix import time_in
from chronicle.readers.hyperparameters import Scalar, config_facts
from chronicle.readers.text import Head

NAME = "megatron"
SUFFIXES: tuple[str, ...] = ()

_TOLD = re.compile(
    rb"iteration +\d+ */ *\d+ *\||(?:validation|test) loss at |world size: \d|training is done\]"
    rb"|successfully (?:sav|load)ed checkpoint|" + MARK
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


def identify(head: Head) -> bool:
    """A line with an iteration of how many, and fields between bars."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt, with arguments and sizes as facts, checkpoints as events.

    Raises:
        BadLog: no record holds a number.
    """
    log, arguments, templates = Log(path), dict[str, Scalar](), list[Template]()
    for chunk in log.chunks():
        for line in _others(log, chunk, templates):
            if not (_record(log, line) or _evaluation(log, line) or _fact(log, line, arguments)):
                log.look(line)
    log.facts |= config_facts(arguments)
    _name_missing_losses(log)
    return [log.attempt()]


def _others(log: Log, chunk: Chunk, templates: list[Template]) -> Iterator[Line]:
    """Keeps the records of a chunk that are written alike, and gives what else there is to be told."""
    lines, numbers = Lines.of(chunk.data), np.asarray(chunk.numbers)
    records = np.flatnonzero(lines.n_fields > 2)
    records = records[
        : len(records) - (chunk.unfinished and len(records) and records[-1] == len(numbers) - 1)
    ]
    known, times = np.full(len(numbers), -1), np.full(len(numbers), np.nan)
    for template in _templates(lines, records, known, chunk.data, templates):
        found = template.find(lines, records[known[records] < 0])
        known[found.lines], times[found.lines] = found.steps, found.times
        log.rows.extend(numbers[found.lines], found.steps, found.columns, found.times)
    left = np.flatnonzero(known < 0)
    raws = [
        chunk.data[start:end]
        for start, end in zip(lines.starts[left].tolist(), lines.ends[left].tolist(), strict=True)
    ]
    yield from log.told(
        raws, numbers[left].tolist(), _TOLD, chunk.unfinished, _reached(known, times, left, numbers)
    )
    if len(known) and known[-1] >= 0:
        log.step, log.time = int(known[-1]), float(times[-1])


def _templates(
    lines: Lines, records: Steps, known: Steps, data: bytes, templates: list[Template]
) -> Iterator[Template]:
    """The templates so far, then a new one of the first line that fits none, while there are such lines."""
    yield from templates
    while len(left := records[known[records] < 0]) >= _FEWEST and len(templates) < _MOST_TEMPLATES:
        for line in left[:_FEWEST].tolist():
            template = learn(data[lines.starts[line] : lines.ends[line]])
            if template and template not in templates:
                templates.append(template)
                yield template
                break
        else:
            return


def _reached(known: Steps, times: Floats, left: Steps, numbers: Steps) -> dict[int, tuple[int, float]]:
    """By the number of a line that is left: step and time of the record right before it, if that is known."""
    left = left[(left > 0) & (known[left - 1] >= 0)]
    reached = zip(known[left - 1].tolist(), times[left - 1].tolist(), strict=True)
    return dict(zip(numbers[left].tolist(), reached, strict=True))


def _record(log: Log, line: Line) -> bool:
    found = list(_RECORD.finditer(line.text))
    ends = [match.start() for match in found[1:]] + [len(line.text)]
    for match, end in zip(found, ends, strict=False):
        values = _values(log, line, line.text[match.end() : end])
        step = values.pop("global_step", float(match["step"]))
        clock = line.text[max(0, match.start() - _CLOCK_CHARACTERS) : match.start()]
        if values:
            log.add(line, int(step) if step == step // 1 else int(match["step"]), values, time=time_in(clock))
    return bool(found)


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
    found = _EVALUATION.search(line.text)
    if found is None:
        return False
    of = found["of"] or found["split"]
    prefix = of if of in ("validation", "test") else f"{found['split']}/{of}"
    values = _values(log, line, line.text[found.end() :])
    step = log.step if found["step"] is None else int(found["step"])
    if values and step is not None:
        log.add(line, step, {f"{prefix}/{name}": value for name, value in values.items()})
    return True


def _fact(log: Log, line: Line, arguments: dict[str, Scalar]) -> bool:
    if given := argument(line.text):
        arguments.setdefault(*given)
    elif found := _CHECKPOINT.search(line.text):
        log.event(line, f"checkpoint-{found['what']}ed", checkpoint_step=int(found["step"]))
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
        log.rows.fill(name, np.flatnonzero(has_cause & ~has_loss), np.nan)
