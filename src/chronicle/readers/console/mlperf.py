"""MLPerf training logs: ``:::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.2, ...}``.

What counts the steps is the first of ``step``, ``samples_count`` and ``epoch_num`` that any record of
statistics has. Other records, and those that count something else, stand at the step that was reached when
they were printed, those before the first step at that one. A summary of a block carries the step that the
block began with: its metrics are called ``block/...`` and stand at the block's end. Whether ``eval_accuracy``
is a loss depends on the benchmark.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chronicle.model import Attempt, Role
from chronicle.readers.columns import number
from chronicle.readers.console.log import Line, Log
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.text import clean, from_json

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


@dataclass
class State:
    """What the records so far say: the counter of steps, the step that this run reached, and what a block
    began with."""

    counter: str = ""
    reached: int | None = None
    before: set[tuple[int | None, str, float]] = field(default_factory=set)  # what the last record said
    began: set[int] = field(default_factory=set)
    parameters: dict[str, Any] = field(default_factory=dict)
    waiting: list[tuple[Line, dict[str, float], float]] = field(default_factory=list)  # for the first step


def read(path: Path) -> list[Attempt]:
    """One attempt. Hyperparameters, seed and status are facts. Raises BadLog where no step has a number."""
    log, state = Log(path), State(_counter(path))
    log.axis = _COUNTERS[state.counter]
    for line in log.lines(_LINE):
        key, record = _record(log, line)
        metadata = record.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        seconds = number(str(record.get("time_ms"))) or math.nan
        if key in _SERIES_KEYS:
            _point(log, line, state, key, record.get("value"), metadata, seconds / 1000)
        elif key == "run_start":
            state.reached, state.began = None, set()
            log.facts.pop("ended", None)
        elif key == "block_start":
            state.began = {int(v) for name in _BEGINS if (v := _whole(metadata.get(name))) is not None}
        elif key:
            _fact(log, line, state, key, record.get("value"), metadata)
    log.facts |= config_facts(state.parameters)
    benchmark = str(log.facts.get("benchmark", ""))
    log.axis = _COUNTED.get(benchmark, log.axis)
    attempt = log.attempt()
    role = Role.VALIDATION_LOSS if benchmark in LOSSES else Role.VALIDATION_SCORE
    directed = {
        name: replace(series, role=role, unit=LOSSES.get(benchmark))
        for name, series in attempt.series.items()
        if name.startswith("eval_accuracy")
    }
    return [replace(attempt, series={**attempt.series, **directed})]


def _counter(path: Path) -> str:
    """The counter of the log: of the first record of statistics, and if none has one of the evaluations."""
    scan, rank = Log(path), list(_COUNTERS)
    best = rank[-1]
    for line in scan.lines(_LINE):
        if any(f'"{key}"' in line.text or f" {key}: " in line.text for key in _SERIES_KEYS):
            metadata = _record(scan, line)[1].get("metadata")
            names = [n for n in rank if isinstance(metadata, dict) and _whole(metadata.get(n)) is not None]
            best = min([best, *names], key=rank.index)
            if best == rank[0]:
                break
    return best


def _record(log: Log, line: Line) -> tuple[str, dict[str, Any]]:
    """Key and content of a record; "" where it is none."""
    old = _OLD.search(line.text)
    match = old or _NEW.search(line.text)
    try:
        record = from_json(match["json"]) if match else None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        if not line.unfinished:
            log.fault(line.number, "record is no JSON; line skipped")
        return "", {}
    if old:
        record.setdefault("time_ms", float(old["time"]) * 1000)
    return (old["key"] if old else str(record.get("key", ""))), record


def _point(
    log: Log, line: Line, state: State, key: str, value: Any, metadata: dict[str, Any], seconds: float
) -> None:
    values = dict(_values(key, value))
    step = _whole(metadata.get(state.counter))
    if step is not None and state.reached is not None and step < state.reached:
        if step in state.began:
            values = {f"block/{name}": one for name, one in values.items()}
        step = None  # it counts something else, as the steps of an evaluation
    if "ended" in log.facts:  # the run is summed up
        for name, one in values.items():
            log.fact(f"summary/{name}", one)
        return
    step = state.reached = state.reached if step is None else step
    if "lr" in metadata and isinstance(metadata["lr"], int | float):
        values["lr"] = float(metadata["lr"])
    new = {name: value for name, value in values.items() if (step, name, value) not in state.before}
    state.before = {(step, name, value) for name, value in values.items()}
    state.waiting += [(line, new, seconds)] if new else []
    if step is not None:
        for waiting, said, time in state.waiting:
            log.add(waiting, step, said, time=time)
        state.waiting.clear()


def _values(key: str, value: Any) -> dict[str, float]:
    """The numbers of a record: those of its object by their own names, a single one by its key."""
    if isinstance(value, dict):
        prefix = "" if key == "tracked_stats" else f"{key}/"
        cells = {f"{prefix}{clean(str(name))}": cell for name, cell in value.items()}
    else:
        cells = {key: value}
    read = ((name, number(str(cell))) for name, cell in cells.items() if _is_scalar(cell))
    return {name: one for name, one in read if one is not None and name not in _COUNTERS}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _whole(value: Any) -> int | None:
    """A whole number of a counter; a list of [epoch, iteration] is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if value == value // 1 and abs(value) < 2**63 else None


def _fact(log: Log, line: Line, state: State, key: str, value: Any, metadata: dict[str, Any]) -> None:
    if key == "run_stop":
        status = str(metadata.get("status", ""))
        log.facts["ended"] = _ENDS.get(status, clean(status))
        log.event(line, key, status=clean(status))
    elif key in _FACTS:
        log.fact(_FACTS[key], value)
    elif _is_scalar(value) and not key.startswith("submission"):
        state.parameters.setdefault(key, value)
