"""Hugging Face Trainer on the console: ``{'loss': 2.27, 'grad_norm': nan, 'epoch': 0.4}``.

The line of the Trainer itself names no step. Where its progress bar is in the log too, it tells the step;
else the training lines are counted. The last line (train_runtime) sums up and is a fact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronicle.model import Attempt, Fault, Place
from chronicle.readers.console.log import Line, Log
from chronicle.readers.console.pairs import numbers

NAME = "hf-console"
MARKS = (rb"\{'[^{}\n]{0,4000}?'epoch': '?\d",)

_LINE = re.compile(rb"\{'[\w./ -]+': |^ *\d+%\|[^|]*\| *\d+/\d+ \[")
_DICT = re.compile(r"\{('[^{}]*)\}")
_EPOCH = "'epoch': "
_ITEM = re.compile(r"'([^']{1,200})': '?([^,'}]{1,60})'?")
_BAR = re.compile(r"^ *\d+%\|[^|]*\| *(\d{1,18})/(\d{1,18}) \[")
_OF = re.compile(r"'(global_step)/max_steps': '(\d{1,18})/\d+'")  # ms-swift
_STEPS = ("global_step", "step")  # of trainers that tell it
_SUMMARY = "train_runtime"
_ROUNDED = 0.006  # epochs are printed with two decimals
_MOST_BARS = 64


@dataclass
class Bars:
    """Lines that wait for their step, and the bars that tell it.

    The Trainer draws its bar again after it has printed a line. Where a terminal or a buffer has moved
    things, the bars before and after a line differ: then that one is taken which fits the epoch of the line,
    and where neither does, the step is reckoned from the epoch.
    """

    total: str = ""  # of the training's bar; others are those of evaluations
    epochs: int = 0  # how many the training has, found out by the bars that fit
    ended: bool = False
    drawn: dict[str, int] = field(default_factory=dict)  # the last place of a bar by its total
    waiting: list[tuple[Line, dict[str, float]]] = field(default_factory=list)

    def draw(self, n: int, total: str) -> list[tuple[Line, dict[str, float], int]]:
        before = self.drawn.get(total, n)
        if total in self.drawn or len(self.drawn) < _MOST_BARS:
            self.drawn[total] = n
        if not self.total and any("loss" in values for _, values in self.waiting):
            self.total = total
        if total != self.total:
            return []
        places = (n, before)
        crowd = sum("loss" in values for _, values in self.waiting) > 1  # they cannot all be of this step
        for _, values in self.waiting:
            fits = (self._epochs_if(values, place) for place in places)
            self.epochs = self.epochs or next(filter(None, fits), 0)
        placed = [(line, values, self._step(values, places, crowd)) for line, values in self.waiting]
        self.waiting = []
        if self.ended:
            self.total, self.epochs, self.ended = "", 0, False
        return placed

    def end(self, epoch: float) -> None:
        """The training came to its end after so many epochs; another one may follow."""
        self.ended = True
        if not self.epochs and 0.5 < epoch < 1e6 and abs(epoch - round(epoch)) <= _ROUNDED:
            self.epochs = round(epoch)

    def _step(self, values: dict[str, float], places: tuple[int, int], crowd: bool) -> int:
        epoch = values.get("epoch", math.nan)
        if not self.epochs or not math.isfinite(epoch) or (places[0] == places[1] and not crowd):
            return places[0]
        fitting = (place for place in places if self._epochs_if(values, place) == self.epochs)
        return next(fitting, round(epoch * int(self.total) / self.epochs))

    def _epochs_if(self, values: dict[str, float], n: int) -> int:
        """How many epochs the training has if a line was printed at step ``n``; 0 where no number fits."""
        epoch, total = values.get("epoch", math.nan), int(self.total)
        if not n or not total or not 0 < epoch < 1e6:
            return 0
        epochs = round(epoch * total / n)
        return epochs if abs(n * epochs / total - epoch) <= _ROUNDED else 0


def read(path: Path) -> list[Attempt]:
    """One attempt. Raises BadLog where no line holds a number."""
    log, bars, n_rows, filtered = Log(path), Bars(), 0, 0
    log.axis = "row"
    for line, values in _dictionaries(log, bars):
        if _SUMMARY in values:
            log.fact("summary", values)
            bars.end(values.get("epoch", math.nan))
            continue
        filtered += values.get("loss") == 0.0 and not math.isfinite(values.get("grad_norm", 0.0))
        step = next(filter(None, (values.pop(name, None) for name in _STEPS)), None)
        if step is not None and step == step // 1:
            log.axis = "step"
            log.add(line, int(step), values)
        elif not n_rows and bars.drawn:  # the bar is drawn before the first line, if it is in the log at all
            log.axis = "step"
            bars.waiting.append((line, values))
        else:
            n_rows += "loss" in values or not n_rows
            log.add(line, n_rows, values)
    if bars.waiting:  # no bar came after them: the end is missing
        log.truncated = True
    attempt = log.attempt()
    if filtered:
        what = "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss"
        attempt = replace(attempt, faults=(*attempt.faults, Fault(Place(str(path)), what, filtered)))
    return [attempt]


def _dictionaries(log: Log, bars: Bars) -> Iterator[tuple[Line, dict[str, float]]]:
    """The dictionaries; bars on the way give the lines that wait for them their step."""
    for line in log.lines(_LINE):
        if bar := _BAR.match(line.text):
            for waiting, values, step in bars.draw(int(bar[1]), bar[2]) if not line.unfinished else ():
                log.add(waiting, step, values)
        for match in _DICT.finditer(line.text):
            items = _OF.sub(r"'\1': \2", match[1])
            values = numbers(_ITEM.findall(items)) if _EPOCH in items else {}
            if values and not line.unfinished:
                yield line, values
