"""Golden values of Megatron-LM's functional tests: a JSON object of metrics, each with its steps and values.

`"nan"` is a text there and says that the step was not run or not logged: missing data, and no NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Role, Series
from chronicle.readers.hyperparameters import as_float
from chronicle.readers.json_lines import whole_document
from chronicle.readers.text import Head, clean

NAME = "megatron-golden"
SUFFIXES: tuple[str, ...] = ()

_WORDS = ('"start_step"', '"step_interval"', '"values"')


def identify(head: Head) -> bool:
    """A JSON object whose first metric has a start, an interval and values."""
    start = "\n".join(head.lines).lstrip()
    return start.startswith("{") and all(word in start for word in _WORDS)


def read(path: Path) -> list[Attempt]:
    """One attempt.

    Raises:
        BadLog: it is no whole JSON document, or holds no number.
    """
    document, faults = whole_document(path)
    series = {
        clean(metric): made
        for metric, golden in (document.items() if isinstance(document, dict) else ())
        if isinstance(golden, dict) and len(made := _series(clean(metric), golden))
    }
    if not series:
        raise BadLog(str(path), "holds no numbers. Remedy: check that it is the log of a training")
    return [Attempt(path.name, (str(path),), series, faults=faults)]


def _series(metric: str, golden: dict[str, Any]) -> Series:
    told = [(step, as_float(value)) for step, value in _points(golden) if type(value) in (float, int)]
    steps, values = (np.array([one[i] for one in told], dtype) for i, dtype in enumerate((np.int64, float)))
    return Series(metric, Role.OTHER, steps, values, np.full(len(steps), np.nan))


def _points(golden: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """(step, value) of all values: by their steps, or (old files) a list of one value an interval."""
    values = golden.get("values")
    if isinstance(values, dict):
        for step, value in values.items():
            if step.lstrip("-").isdecimal() and len(step) < 19:
                yield int(step), value
    elif isinstance(values, list):
        start, interval = golden.get("start_step"), golden.get("step_interval")
        if isinstance(start, int) and isinstance(interval, int) and abs(start) + abs(interval) < 1 << 40:
            yield from ((start + i * interval, value) for i, value in enumerate(values))
