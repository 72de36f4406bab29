"""MLPerf training logs: ``:::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.2, ...}``.

The steps are those of the first counter among ``step``, ``samples_count`` and ``epoch_num`` that any record
of statistics has. Records without it stand at the step that was reached when they were printed, or at the
first. The summary of a block names the step at which it began: its metrics are called ``block/...`` and stand
at its end. Whether ``eval_accuracy`` is a loss depends on the benchmark.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

from chronicle.model import Attempt, Role
from chronicle.readers.columns import number, numbers
from chronicle.readers.console.log import Line, Log
from chronicle.readers.text import clean

NAME = "mlperf"
MARKS = (rb':::MLL(?:OG)? (?:\{"|\d{9,11}\.\d+ \w+: \{)',)

_LINE = re.compile(rb":::MLL(?:OG)? ")
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
    """A record: its key ("" if the line is none), its content, and its time in Unix seconds (NaN unknown)."""

    line: Line
    key: str
    value: Any
    metadata: dict[str, Any]
    time: float

    @classmethod
    def of(cls, log: Log, line: Line) -> LogRecord:
        old = _OLD.search(line.text)
        match = old or _NEW.search(line.text)
        record = log.json(line, match["json"] if match else "")
        if old and record:
            record = {"time_ms": float(old["time"]) * 1000} | record | {"key": old["key"]}
        metadata, time_ms = record.get("metadata"), number(str(record.get("time_ms")))
        metadata = metadata if isinstance(metadata, dict) else {}
        key, time_s = str(record.get("key", "")), (time_ms or math.nan) / 1000
        return cls(line, key, record.get("value"), metadata, time_s)


def read(path: Path) -> list[Attempt]:
    """One attempt. Hyperparameters, seed and status are facts. Raises BadLog where no step has a number."""
    training = _Training(path)
    for line in training.log.lines(_LINE):
        training.take(LogRecord.of(training.log, line))
    return [training.attempt()]


def _counter(path: Path) -> str:
    """The counter of the log: the best one that a record of statistics has."""
    rank = list(_COUNTERS)
    scan = Log(path, f"{NAME} counter", best=rank[-1])
    for line in scan.lines(_LINE):
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
        self.log = Log(path, f"{NAME} {self._counter}", training=self)
        self._reached: int | None = None
        self._before = set[tuple[int | None, str, float]]()  # step, name and value in the last record
        self._began = set[int]()
        self._waiting: list[tuple[Line, dict[str, float], float]] = []  # for the first step

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
        self._waiting += [(record.line, new, record.time)] if new else []
        if step is not None:
            for waiting, waited, time in self._waiting:
                self.log.add(waiting, step, waited, time=time)
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
