"""Hugging Face Trainer on the console: ``{'loss': 2.27, 'grad_norm': nan, 'epoch': 0.4}``.

The line names no step. Where the Trainer's progress bar is in the log too, it is redrawn after each such line
and tells the step; else the training lines are counted. The last line (train_runtime) sums up and is a fact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronicle.model import Attempt, Fault
from chronicle.readers.console.log import Line, Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import numbers

NAME = "hf-console"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(rb"\{'[\w./ -]+': |^ *\d+%\|[^|]*\| *\d+/\d+ \[")
_DICT = re.compile(r"\{('[^{}]*)\}")
_EPOCH = "'epoch': "
_ITEM = re.compile(r"'([^']{1,200})': '?([^,'}]{1,60})'?")
_BAR = re.compile(r"^ *\d+%\|[^|]*\| *(\d{1,18})/(\d{1,18}) \[")
_SUMMARY = "train_runtime"


@dataclass
class Bars:
    """Lines that wait for the step, which the bar of the training tells when it is drawn again."""

    seen: bool = False
    total: str = ""
    waiting: list[tuple[Line, dict[str, float]]] = field(default_factory=list)

    def step(self, n: str, total: str) -> int | None:
        """The step that a bar tells; None if it is not the bar of the training."""
        self.seen = True
        if not self.total and any("loss" in values for _, values in self.waiting):
            self.total = total
        return int(n) if total == self.total else None


def identify(path: Path) -> bool:
    """A dictionary of the Trainer, as Python prints it."""
    return owner(path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt.

    Raises:
        BadLog: no line holds a number.
    """
    log, bars, n_rows, filtered = Log(path), Bars(), 0, 0
    log.axis = "row"
    for line, values in _told(log, bars):
        if _SUMMARY in values:
            log.fact("summary", values)
            continue
        filtered += values.get("loss") == 0.0 and not math.isfinite(values.get("grad_norm", 0.0))
        if bars.seen:
            log.axis = "step"
            bars.waiting.append((line, values))
        else:
            n_rows += "loss" in values or not n_rows
            log.add(line, n_rows, values)
    if bars.waiting:  # no bar came after them: the end is missing
        log.truncated = True
    attempt = log.attempt()
    return [attempt if not filtered else _with_fault(attempt, filtered)]


def _told(log: Log, bars: Bars) -> Iterator[tuple[Line, dict[str, float]]]:
    """The dictionaries; bars on the way give the lines that wait for them their step."""
    for line in log.lines(_LINE):
        if bar := _BAR.match(line.text):
            step = None if line.unfinished else bars.step(bar[1], bar[2])
            for waiting, values in bars.waiting if step is not None else ():
                log.add(waiting, step or 0, values)
            bars.waiting = [] if step is not None else bars.waiting
        for found in _DICT.finditer(line.text):
            values = numbers(_ITEM.findall(found[1])) if _EPOCH in found[1] else {}
            if values and not line.unfinished:
                yield line, values


def _with_fault(attempt: Attempt, filtered: int) -> Attempt:
    what = "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss"
    return replace(attempt, faults=(*attempt.faults, Fault(attempt.sources[0], what, filtered)))
