"""Formats whose records are dictionaries, as Python or JSON writes them.

Hugging Face's Trainer: ``{'loss': 2.27, 'grad_norm': nan, 'epoch': 0.4}``. These lines name no step. The
Trainer's progress bar tells it, where the log has it; otherwise training lines are counted. The last line
(with train_runtime) is a summary, and becomes a fact.

MLPerf: ``:::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.2, ...}``. The steps are those of the
first counter among ``step``, ``samples_count`` and ``epoch_num`` that any record of statistics has. Records
without it stand at the step that was reached when they were printed, or at the first. The summary of a block
names the step at which it began: its metrics are called ``block/...`` and stand at its end. Whether
``eval_accuracy`` is a loss depends on the benchmark.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from chronicle.metrics.arithmetic import any_numbers
from chronicle.model import Attempt, Fault, Floats, Mask, Place, Role, Steps
from chronicle.readers.columns import CLOSING, FILTERED_LOSS, number, numbers
from chronicle.readers.console.chunks import Line, words_start
from chronicle.readers.console.log import Log
from chronicle.readers.text import clean

# --- Hugging Face's Trainer ---
_A_TEXT = r": (?:True|False|None)\b|: '(?!-?nan|-?inf)[A-Za-z_/]"  # a value of settings: `'cuda': True`
_NO_TRAINING = rf"(?!eval_|{CLOSING}|[^{{}}\n]{{0,4000}}?(?:{_A_TEXT}))"
_HF_MARKS = (rf"\{{'{_NO_TRAINING}[^{{}}\n]{{0,4000}}?'epoch': '?\d".encode(),)

_HF_LINE = re.compile(rb"\{'[\w./ -]+': |(?:^|[\s:|)\]>])\d+%\|[^|]*\| *\d+/\d+ \[")
_DICT = re.compile(r"\{('[^{}]*)\}")
_EPOCH = "'epoch': "
_ITEM = re.compile(r"'([^']{1,200})': '?([^,'}]{1,60})'?")
_BAR = re.compile(r" *\d+%\|[^|]*\| *(\d{1,18})/(\d{1,18}) \[")
_OF = re.compile(r"'(global_step)/max_steps': '(\d{1,18})/\d+'")  # ms-swift
_STEPS = ("global_step", "step")  # of trainers whose lines name the step
_OF_TRAINING = re.compile(r"loss|(?!eval|train|test)\w+_loss")  # SetFit calls it embedding_loss
_EPOCH_ERROR, _EPOCH_ERROR_SHARE = 0.006, 0.0006  # epochs are printed with two decimals, or with four digits
_LATE_EPOCHS = 0.1  # by which the last bar is further than an evaluation, at least
_MOST_BARS, _MOST_EPOCHS = 64, 1e6
_LINES_COMPARED = 64  # of a training, to find out how many steps an epoch has


class Row(NamedTuple):
    """A training line that waits for its bar. ``bar_total`` is that of the bar that was drawn last."""

    line: Line
    values: dict[str, float]
    bar_total: str


@dataclass
class Bars:
    """The lines of one training, and the bars that show their steps. The Trainer redraws its bar after it has
    printed a line, but a terminal or a buffer may have moved lines, or kept only some bars. How many steps an
    epoch has then shows which bar belongs to a line."""

    total: str = ""  # what the training's bar counts up to; other bars are those of evaluations
    loss: str = ""  # the name of the loss in lines of the training
    end_epoch: float = math.nan  # the epoch at which the training ended
    latest: str = ""  # the total of the last bar, whichever it was
    drawn: dict[str, int] = field(default_factory=dict)  # by total: the last count of the bar
    places: dict[str, array[int]] = field(default_factory=dict)  # by total: all counts of the bar
    waiting: list[Row] = field(default_factory=list)  # for a bar
    rows: array[int] = field(default_factory=lambda: array("q"))  # of the log, each at the bar after its line
    before: array[int] = field(default_factory=lambda: array("q"))  # by row: the count of the bar before it
    crowded: array[int] = field(default_factory=lambda: array("b"))  # by row: whether others share its bars
    with_loss: array[int] = field(default_factory=lambda: array("b"))  # by row

    def draw(self, n: int, total: str, log: Log) -> None:
        """Takes a bar, and places the lines of a training that has ended by now: all its bars are known."""
        before = self.drawn.get(total, n)
        if total in self.drawn or len(self.drawn) < _MOST_BARS:
            if self.drawn.get(total) != n:
                self.places.setdefault(total, array("q")).append(n)
            self.drawn[total] = n
        self.latest = total
        losses = [row for row in self.waiting if self.loss in row.values]
        if self.total not in ("", total) and any(row.bar_total == total for row in losses):
            self._settle(log)  # another launch begins: the one before printed no summary
        if losses and not self.total:  # a buffer may have held lines back until an evaluation
            own = losses[0].bar_total  # which is under way, unless it is that of a preparation
            own = own if str(self.drawn.get(own, own)) != own else total
            self.total = next(iter(self.drawn)) if len(losses) > 1 else own
        if total != self.total:
            return
        self._place(before, n, len(losses) > 1, log)
        if not math.isnan(self.end_epoch):
            self._settle(log)

    def _place(self, before: int, after: int, crowded: bool, log: Log) -> None:
        for line, values, _ in self.waiting:
            self.rows.append(len(log.rows))
            log.add(line, after, values)
            self.before.append(before)
            self.crowded.append(crowded)
            self.with_loss.append(self.loss in values)
        self.waiting = []

    def end(self, log: Log) -> None:
        """Places the lines at the end of the log. Those that a buffer held back stand at the last bar."""
        ended = not math.isnan(self.end_epoch) or str(self.drawn.get(self.total)) == self.total
        kept_back = bool(self.waiting) if ended else sum(self.loss in row.values for row in self.waiting) > 1
        if not self.total and (ended or kept_back):
            self.total = next(iter(self.drawn), "")
        if kept_back and self.total:
            self._place(self.drawn[self.total], self.drawn[self.total], True, log)
        self._settle(log)

    @any_numbers  # a bar may stand at 0 until the end
    def _settle(self, log: Log) -> None:
        """Places each line so far at its step: that of the bar after it, unless only the bar before fits its
        epoch, or none among several lines. Another training may follow."""
        rows, steps = np.array(self.rows, np.int64), np.array(log.rows.steps, np.int64)
        epochs = log.rows.column("epoch")[rows]
        epochs[~((epochs > 0) & (epochs < _MOST_EPOCHS))] = np.nan  # these cannot be compared
        flags = (np.array(column, bool) for column in (self.crowded, self.with_loss))
        placed = Placed(steps[rows], np.array(self.before, np.int64), epochs, *flags)
        places = np.unique(np.array(self.places.pop(self.total, ()), np.int64))
        ends_at = self.end_epoch if len(places) and str(places[-1]) == self.total else math.nan
        steps_per_epoch, is_sure = placed.steps_per_epoch(places, ends_at)
        if steps_per_epoch:
            steps[rows] = placed.steps(steps_per_epoch, is_sure=is_sure)
            log.rows.steps, log.step = array("q", steps.tobytes()), int(steps[rows[-1]])
        self.total, self.end_epoch = "", math.nan
        self.rows, self.before = array("q"), array("q")
        self.crowded, self.with_loss = array("b"), array("b")


class Placed(NamedTuple):
    """The lines of a training: the counts of the bars ``after`` and ``before`` each, its epoch (NaN unknown),
    whether it shares its bars with others, and whether it has a loss."""

    after: Steps
    before: Steps
    epochs: Floats
    crowded: Mask
    with_loss: Mask

    def steps(self, steps_per_epoch: float, *, is_sure: bool) -> Steps:
        """The step of each line."""
        counted = self._counted(steps_per_epoch)
        return (
            counted if _fit_alone(counted, self.epochs) else self._fitting(steps_per_epoch, is_sure=is_sure)
        )

    def _fitting(self, steps_per_epoch: float, *, is_sure: bool) -> Steps:
        """The step of each line: that of the bar ``after`` it, or ``before`` it, whichever fits its epoch
        first; that of its epoch if neither does and several lines share the bars, or one was held back."""
        after, before, by_epoch = self.after, self.before, np.rint(self.epochs * steps_per_epoch)
        # A buffer may have held an evaluation back.
        is_far = np.abs(after / steps_per_epoch - self.epochs) > _LATE_EPOCHS
        has_no_bar = self.crowded | (is_sure & (after == before) & is_far & ~self.with_loss)
        has_no_bar &= by_epoch < 2.0**63
        fitting = [_fit(steps, self.epochs, steps_per_epoch) for steps in (after, before)]
        by_epoch = np.where(has_no_bar, by_epoch, 0).astype(np.int64)
        return np.select([*fitting, has_no_bar], [after, before, by_epoch], after)

    def _counted(self, steps_per_epoch: float) -> Steps:
        """The steps if all lines were held back in a buffer: each time as many as were due since the time
        before, at the same distance, or all to the end. The bar after them where they are not."""
        ends, n_lines = np.unique(self.after[self.with_loss], return_counts=True)
        distances = np.diff(ends, prepend=0) / n_lines
        if len(ends) == 1 < n_lines[0]:
            distances = np.rint(self.epochs[self.with_loss][-1:] * steps_per_epoch / n_lines)
        regular = len(ends) > 0 and n_lines[0] > 1 and distances[0] % 1 == 0 and np.ptp(distances) == 0
        return (np.cumsum(self.with_loss) * distances[0]).astype(np.int64) if regular else self.after

    def steps_per_epoch(self, places: Steps, end_epoch: float) -> tuple[float, bool]:
        """From lines between two drawings of the same count, which is sure, else from the end of the training
        (NaN unknown), else the number with which most lines agree. 0 if no line names an epoch. ``places``
        are all counts of the bar."""
        own = self.with_loss & ~np.isnan(self.epochs)
        after, before, epochs = self.after[own], self.before[own], self.epochs[own]
        sure = np.flatnonzero((after == before) & ~self.crowded[own] & (after > 0))
        if len(sure):
            last = sure[np.argmax(epochs[sure])]
            return float(after[last] / epochs[last]), True
        if not len(epochs) or not len(places):
            return 0.0, False
        if end_epoch > 0:
            return float(places[-1] / end_epoch), False
        if len(places) - (places[0] == 0) == 1:  # the last line is nearest to it
            return float(places[-1] / epochs[-1]), False
        some = slice(None, None, len(epochs) // _LINES_COMPARED + 1)
        after, before, epochs = after[some], before[some], epochs[some]
        maybe = (np.stack([after, before], axis=1) / epochs[:, None]).ravel()

        def agreeing(steps: float) -> int:
            near = np.rint(np.interp(epochs * steps, places, np.arange(len(places)))).astype(np.int64)
            return int(np.count_nonzero(_fit(places[near], epochs, steps)))

        return float(max(maybe[maybe > 0], key=agreeing, default=0.0)), False


def _fit(steps: Steps, epochs: Floats, steps_per_epoch: float) -> Mask:
    """Whether the epochs of lines agree with these steps."""
    with np.errstate(invalid="ignore"):
        error = np.maximum(_EPOCH_ERROR, _EPOCH_ERROR_SHARE * epochs)
        return np.asarray(np.abs(steps / steps_per_epoch - epochs) <= error)


def _fit_alone(steps: Steps, epochs: Floats) -> bool:
    """Whether the epochs of lines agree with these steps at the number of steps an epoch that fits best."""
    known = ~np.isnan(epochs)
    steps, epochs = steps[known], epochs[known]
    return bool(_fit(steps, epochs, float(np.sum(steps**2.0) / np.sum(steps * epochs))).all())


@dataclass
class _Lines:
    """How many lines of a training were counted, and what the last ones said."""

    n_rows: int = 0
    n_filtered: int = 0  # losses that the Trainer filtered
    has_ended: bool = False
    epoch: float = math.nan
    first_epoch: float = math.nan
    before: dict[str, float] = field(default_factory=dict)  # of the last record
    is_doubled: bool | None = None  # whether records come twice, as the first one does

    def new_in_repeated(self, values: Mapping[str, float]) -> dict[str, float] | None:
        """What is new in a record that comes again where the first one does: a callback prints what the
        Trainer rounds, or rounds some of what the Trainer prints. None for any other record."""
        before, self.before = self.before, dict(values)
        is_same = bool(before) and all(_is_rounded(name, value, values) for name, value in before.items())
        if before and self.is_doubled is None:
            self.is_doubled = is_same
        if not (self.is_doubled and is_same):
            return None
        self.before = {}
        return {name: value for name, value in values.items() if name not in before}

    def count(self, values: Mapping[str, float], loss: str) -> None:
        """Counts a training line, from one again where the epochs restart, or fall after a summary or to
        where the learning rate has not been warmed up yet."""
        self.epoch, before = values.get("epoch", math.nan), self.epoch
        is_first = self.epoch <= self.first_epoch + _EPOCH_ERROR or values.get("learning_rate") == 0.0
        if self.epoch < before and (self.has_ended or is_first):
            self.n_rows, self.has_ended = 0, False
        if not self.n_rows:
            self.first_epoch = self.epoch
        self.n_rows += loss in values or not self.n_rows


def _read_hf(path: Path) -> list[Attempt]:
    """Reads one attempt. Raises BadLog if no line contains a number."""
    bars, lines = Bars(), _Lines()
    log = Log(path, "hf-console", bars=bars, lines=lines)
    log.axis = "row"
    for line, values in _dictionaries(log, bars):
        if (more := lines.new_in_repeated(values)) is not None:
            if bars.waiting:
                bars.waiting[-1].values.update(more)
            elif lines.n_rows and more:
                log.add(line, lines.n_rows, more)
            continue
        bars.loss = bars.loss or next(filter(_OF_TRAINING.fullmatch, sorted(values)), "")
        if CLOSING in values and bars.loss not in values:  # some log the time so far in each line
            log.fact("summary", values)
            log.facts["ended"] = "finished"  # whatever fails after it
            bars.end_epoch, lines.has_ended = values.get("epoch", 0.0), True
            continue
        if bars.loss in values:
            log.facts.pop("ended", None)  # a training that went on after its end
        lines.n_filtered += values.get(bars.loss) == 0.0 and not math.isfinite(values.get("grad_norm", 0.0))
        step = next(filter(None, (values.pop(name, None) for name in _STEPS)), None)
        if step is not None and step == step // 1:
            log.axis = "step"
            log.add(line, int(step), values)
        elif not lines.n_rows and bars.drawn:  # drawn before the first line, if at all
            log.axis = "step"
            bars.waiting.append(Row(line, values, bars.latest))
        else:
            lines.count(values, bars.loss)
            log.add(line, lines.n_rows, values)
    bars.end(log)
    log.truncated |= bool(bars.waiting)  # no bar came after them: the end is missing
    attempt = log.attempt()
    if filtered := lines.n_filtered:
        attempt = replace(attempt, faults=(*attempt.faults, Fault(Place(str(path)), FILTERED_LOSS, filtered)))
    return [attempt]


def _is_rounded(name: str, value: float, exact: Mapping[str, float]) -> bool:
    """Whether a value is one of these, or a rounded epoch or learning rate."""
    if name not in exact or name == "epoch":
        return name in exact and round(value, 2) == round(exact[name], 2)
    is_rate = name == "learning_rate" and value == float(f"{exact[name]:.4e}")
    return value == exact[name] or is_rate or (math.isnan(value) and math.isnan(exact[name]))


def _dictionaries(log: Log, bars: Bars) -> Iterator[tuple[Line, dict[str, float]]]:
    """The dictionaries of the log. Bars between them place the lines that wait for their steps."""
    for line in log.lines(_HF_LINE):
        if line.unfinished:
            continue
        if "%|" in line.text and (bar := _BAR.match(line.text, words_start(line.text)[1])):
            bars.draw(int(bar[1]), bar[2], log)
        for match in _DICT.finditer(line.text):
            items = _OF.sub(r"'\1': \2", match[1])
            are_settings = "loss" not in items and re.search(_A_TEXT, items)
            if _EPOCH in items and not are_settings and (values := numbers(_ITEM.findall(items))):
                yield line, values


# --- MLPerf ---
_MLPERF_MARKS = (rb':::MLL(?:OG)? (?:\{"|\d{9,11}\.\d+ \w+: \{)',)

_MLPERF_LINE = re.compile(rb":::MLL(?:OG)? ")
_OLD = re.compile(r":::MLL (?P<time>\d{9,11}\.\d+) (?P<key>\w+): (?P<json>\{.*\})\s*$")
_NEW = re.compile(r":::MLL(?:OG)? (?P<json>\{.*\})\s*$")
_COUNTERS = {"step": "step", "samples_count": "sample", "epoch_num": "epoch"}
_BEGINS = ("samples_count", "first_epoch_num", "epoch_num", "step")
# Benchmarks whose eval_accuracy is a loss or an error rate (less is better), and its unit.
LOSSES = {
    "gpt3": "nats/token", "llama31_405b": "nats/token", "llama31_8b": "nats/token",
    "llama2_70b_lora": "nats/token", "flux1": None, "rnnt": "word error rate",
}  # fmt: skip
# Benchmarks whose counters say "step" or "epoch" and mean something else.
_COUNTED = {"bert": "sample", "llama31_405b": "sample", "llama31_8b": "sample", "gpt3": "token"}
_FACTS = {"submission_benchmark": "benchmark", "submission_org": "org", "submission_platform": "platform"}
_SERIES_KEYS = (
    "eval_accuracy", "eval_loss", "eval_error", "train_loss", "throughput", "tracked_stats", "learning_rate",
    "grad_norm", "loss",
)  # fmt: skip
_ENDS = {"success": "finished", "aborted": "aborted"}


class LogRecord(NamedTuple):
    """A record: its line at the time that it tells, its key ("" if the line is none), and its content."""

    line: Line
    key: str
    value: Any
    metadata: dict[str, Any]

    @classmethod
    def of(cls, log: Log, line: Line) -> LogRecord:
        old = _OLD.search(line.text)
        match = old or _NEW.search(line.text)
        record = log.json(line, match["json"] if match else "")
        if old and record:
            record = {"time_ms": float(old["time"]) * 1000} | record | {"key": old["key"]}
        metadata, time_ms = record.get("metadata"), number(str(record.get("time_ms")))
        metadata = metadata if isinstance(metadata, dict) else {}
        line = line._replace(time=(time_ms or math.nan) / 1000)
        return cls(line, str(record.get("key", "")), record.get("value"), metadata)


def _read_mlperf(path: Path) -> list[Attempt]:
    """One attempt. Hyperparameters, seed and status are facts. Raises BadLog where no step has a number."""
    training = _Training(path)
    for line in training.log.lines(_MLPERF_LINE):
        training.take(LogRecord.of(training.log, line))
    return [training.attempt()]


def _counter(path: Path) -> str:
    """The counter of the log: the best one that a record of statistics has."""
    rank = list(_COUNTERS)
    scan = Log(path, "mlperf counter", best=rank[-1])
    for line in scan.lines(_MLPERF_LINE):
        if any(f'"{key}"' in line.text or f" {key}: " in line.text for key in _SERIES_KEYS):
            metadata = LogRecord.of(scan, line).metadata
            known = (name for name in rank if _whole(metadata.get(name)) is not None)
            scan.state["best"] = min([scan.state["best"], *known], key=rank.index)
            if scan.state["best"] == rank[0]:
                break
    return str(scan.state["best"])


class _Training:
    """What the records so far say: the step that the run has reached, and with which counts a block began."""

    FRESH = ("log",)

    def __init__(self, path: Path) -> None:
        self._counter = _counter(path)
        self.log = Log(path, f"mlperf {self._counter}", training=self)
        self._reached: int | None = None
        self._before = set[tuple[int | None, str, float]]()  # step, name and value in the last record
        self._began = set[int]()
        self._waiting: list[tuple[Line, dict[str, float]]] = []  # for the first step

    def take(self, record: LogRecord) -> None:
        if record.key in _SERIES_KEYS:
            self._point(record)
        elif record.key == "run_start":
            self._reached, self._began = None, set()
            self.log.facts.pop("ended", None)
        elif record.key == "block_start":
            self._began = {int(v) for name in _BEGINS if (v := _whole(record.metadata.get(name))) is not None}
        elif record.key == "run_stop":
            status = clean(str(record.metadata.get("status", "")))
            self.log.facts["ended"] = _ENDS.get(status, status)
            self.log.event(record.line, record.key, status=status)
        elif record.key in _FACTS:
            self.log.fact(_FACTS[record.key], record.value)
        elif record.key and _is_scalar(record.value) and not record.key.startswith("submission"):
            self.log.add_settings({record.key: record.value})

    def _point(self, record: LogRecord) -> None:
        values, reached = _values(record.key, record.value), self._reached
        step = _whole(record.metadata.get(self._counter))
        if step is not None and reached is not None and step < reached:
            if step in self._began:
                values = {f"block/{name}": number for name, number in values.items()}
            step = None  # another counter, such as the steps of an evaluation
        if "ended" in self.log.facts:  # this is a summary of the run
            for name, number in values.items():
                self.log.fact(f"summary/{name}", number)
            return
        step = self._reached = reached if step is None else step
        if isinstance(rate := record.metadata.get("lr"), int | float):
            values["lr"] = float(rate)
        new = {name: value for name, value in values.items() if (step, name, value) not in self._before}
        self._before = {(step, name, value) for name, value in values.items()}
        self._waiting += [(record.line, new)] if new else []
        if step is not None:
            for line, waiting in self._waiting:
                self.log.add(line, step, waiting)
            self._waiting.clear()

    def attempt(self) -> Attempt:
        log = self.log
        benchmark = str(log.facts.get("benchmark", ""))
        log.axis = _COUNTED.get(benchmark, _COUNTERS[self._counter])
        judged = [name for name in log.rows.columns if name.startswith("eval_accuracy")]
        role = Role.VALIDATION_LOSS if benchmark in LOSSES else Role.VALIDATION_SCORE
        log.rows.roles |= dict.fromkeys(judged, role)
        log.rows.units |= dict.fromkeys(judged, LOSSES.get(benchmark) or "")
        return log.attempt()


def _values(key: str, value: Any) -> dict[str, float]:
    """The numbers of a record: those in its object by their own names, a single one by the record's key."""
    if isinstance(value, dict):
        prefix = "" if key == "tracked_stats" else f"{key}/"
        cells = {f"{prefix}{clean(str(name))}": cell for name, cell in value.items()}
    else:
        cells = {key: value}
    kept = {name: str(cell) for name, cell in cells.items() if _is_scalar(cell) and name not in _COUNTERS}
    return numbers(kept.items(), number)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _whole(value: Any) -> int | None:
    """The whole number of a counter; None for anything else, such as a list of [epoch, iteration]."""
    is_number = _is_scalar(value) and not isinstance(value, str)
    return int(value) if is_number and value == value // 1 and abs(value) < 2**63 else None


BY_NAME = {
    "hf-console": SimpleNamespace(MARKS=_HF_MARKS, read=_read_hf),
    "mlperf": SimpleNamespace(MARKS=_MLPERF_MARKS, read=_read_mlperf),
}
