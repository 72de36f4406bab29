"""Hugging Face Trainer on the console: ``{'loss': 2.27, 'grad_norm': nan, 'epoch': 0.4}``.

The line of the Trainer itself names no step. Where its progress bar is in the log too, it tells the step;
else the training lines are counted. The last line (train_runtime) sums up and is a fact.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
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
_ROUNDED = 0.006, 0.0006  # epochs are printed with two decimals, or with four digits: a share of them
_MOST_BARS = 64
_ASKED = 64  # lines of a training that are asked how many steps an epoch has


@dataclass
class Row:
    """A line of a training between two of its bars; ``crowded`` with others that cannot be of one step."""

    line: Line
    values: dict[str, float]
    under: str  # the total of the bar that was drawn last
    before: int = 0
    after: int = 0
    crowded: bool = False

    @property
    def epoch(self) -> float:
        """As the line says; NaN where it says nothing that can be compared."""
        epoch = self.values.get("epoch", math.nan)
        return epoch if 0 < epoch < 1e6 else math.nan

    def fits(self, n: int, steps_per_epoch: float) -> bool:
        """Whether it was printed at step ``n``, for all that its epoch says."""
        least, share = _ROUNDED
        return abs(n / steps_per_epoch - self.epoch) <= max(least, share * self.epoch)

    def step(self, steps_per_epoch: float) -> int:
        """Its step: that of the bar after it, unless only the bar before, or in a crowd none, fits its
        epoch."""
        if not steps_per_epoch or math.isnan(self.epoch):
            return self.after
        fitting = (n for n in (self.after, self.before) if self.fits(n, steps_per_epoch))
        return next(fitting, round(self.epoch * steps_per_epoch) if self.crowded else self.after)


@dataclass
class Bars:
    """The lines of one training, and the bars that tell their steps.

    The Trainer draws its bar again after it has printed a line. A terminal or a buffer may have moved things,
    or kept only some bars; how many steps an epoch has then tells which bar is that of the line.
    """

    total: str = ""  # of the training's bar; others are those of evaluations
    end_epoch: float = math.nan  # the epoch at which the training came to its end
    latest: str = ""  # the total of the last bar, whichever it was
    drawn: dict[str, int] = field(default_factory=dict)  # the last place of a bar by its total
    places: dict[str, set[int]] = field(default_factory=dict)  # and all of them
    waiting: list[Row] = field(default_factory=list)  # for a bar
    rows: list[Row] = field(default_factory=list)  # between two bars

    def draw(self, n: int, total: str) -> Iterator[Row]:
        """Takes a bar; gives the lines of a training that is over by now, which know all bars there are."""
        before = self.drawn.get(total, n)
        if total in self.drawn or len(self.drawn) < _MOST_BARS:
            self.drawn[total] = n
            self.places.setdefault(total, set()).add(n)
        self.latest = total
        losses = [row for row in self.waiting if "loss" in row.values]
        if self.total not in ("", total) and any(row.under == total for row in losses):
            yield from self.placed()  # another launch: that one did not say that it ended
        if losses and not self.total:  # what a buffer held back may come out in an evaluation
            self.total = next(iter(self.drawn)) if len(losses) > 1 else total
        if total != self.total:
            return
        self._place(before, n, len(losses) > 1)
        if not math.isnan(self.end_epoch):
            yield from self.placed()

    def _place(self, before: int, after: int, crowded: bool) -> None:
        self.rows += [replace(row, before=before, after=after, crowded=crowded) for row in self.waiting]
        self.waiting = []

    def end(self) -> Iterator[Row]:
        """The lines of a log that is over. The last bar stands for those that a buffer kept back: several, or
        one before the summary."""
        ended = not math.isnan(self.end_epoch)
        kept_back = sum("loss" in row.values for row in self.waiting) > 1 - ended
        if not self.total and (ended or kept_back):
            self.total = next(iter(self.drawn), "")
        if kept_back and self.total:
            self._place(self.drawn[self.total], self.drawn[self.total], True)
        return self.placed()

    def placed(self) -> Iterator[Row]:
        """The lines so far, each with its step as ``after``; another training may follow. What was written
        into the log twice, by the program and by `tee`, is told once."""
        steps_per_epoch, told = self._steps_per_epoch(), (-1, dict[str, float]())
        for row in self.rows:
            if told != (told := (row.step(steps_per_epoch), row.values)):
                yield replace(row, after=told[0])
        self.places.pop(self.total, None)
        self.total, self.end_epoch, self.rows = "", math.nan, []

    def _steps_per_epoch(self) -> float:
        """By lines between two drawings of one bar, else by the end of the training, else by the bar that
        most lines agree with. 0 where no line names an epoch."""
        rows = [row for row in self.rows if not math.isnan(row.epoch) and "loss" in row.values]
        sure = [row for row in rows if row.after == row.before and not row.crowded and row.after]
        if sure:
            last = max(sure, key=lambda row: row.epoch)
            return last.after / last.epoch
        places = sorted(self.places.get(self.total, ()))
        if rows and self.end_epoch > 0 and places[-1] == int(self.total):
            return places[-1] / self.end_epoch
        if rows and len(places) - (0 in places) == 1:  # the last of the lines is nearest to it
            return places[-1] / rows[-1].epoch
        asked = rows[:: len(rows) // _ASKED + 1]
        maybe = [n / row.epoch for row in asked for n in (row.after, row.before) if n]

        def agreeing(steps: float) -> int:
            return sum(row.fits(nearest(places, row.epoch * steps), steps) for row in asked)

        return max(maybe, key=agreeing, default=0.0)


def nearest(places: Sequence[int], step: float) -> int:
    """The place, of one or more in ascending order, that is nearest to a step."""
    at = bisect_left(places, step)
    return min(places[max(at - 1, 0) : at + 1], key=lambda place: abs(place - step))


def read(path: Path) -> list[Attempt]:
    """One attempt. Raises BadLog where no line holds a number."""
    bars = Bars()
    log = Log(path, NAME, bars=bars, n_rows=0, filtered=0)
    log.axis, own = "row", log.own
    for line, values in _dictionaries(log, bars):
        if _SUMMARY in values:
            log.fact("summary", values)
            bars.end_epoch = values.get("epoch", 0.0)
            continue
        filtered = values.get("loss") == 0.0 and not math.isfinite(values.get("grad_norm", 0.0))
        own["filtered"] += int(filtered)
        step = next(filter(None, (values.pop(name, None) for name in _STEPS)), None)
        if step is not None and step == step // 1:
            log.axis = "step"
            log.add(line, int(step), values)
        elif not own["n_rows"] and bars.drawn:  # drawn before the first line, if at all
            log.axis = "step"
            bars.waiting.append(Row(line, values, bars.latest))
        else:
            own["n_rows"] += int("loss" in values or not own["n_rows"])
            log.add(line, own["n_rows"], values)
    for row in bars.end():
        log.add(row.line, row.after, row.values)
    if bars.waiting:  # no bar came after them: the end is missing
        log.truncated = True
    attempt = log.attempt()
    if filtered := own["filtered"]:
        what = "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss"
        attempt = replace(attempt, faults=(*attempt.faults, Fault(Place(str(path)), what, filtered)))
    return [attempt]


def _dictionaries(log: Log, bars: Bars) -> Iterator[tuple[Line, dict[str, float]]]:
    """The dictionaries; bars on the way give the lines that wait for them their step."""
    for line in log.lines(_LINE):
        if bar := _BAR.match(line.text):
            for row in bars.draw(int(bar[1]), bar[2]) if not line.unfinished else ():
                log.add(row.line, row.after, row.values)
        for match in _DICT.finditer(line.text):
            items = _OF.sub(r"'\1': \2", match[1])
            values = numbers(_ITEM.findall(items)) if _EPOCH in items else {}
            if values and not line.unfinished:
                yield line, values
