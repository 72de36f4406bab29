"""MLX LM: ``Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999, Tokens/sec 387.7``, and
``Iter 200: Val loss 2.9, Val took 20.1s``.
"""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import NUMBER, numbers
from chronicle.readers.text import Head

NAME = "mlx"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(rb"\bIter \d+: (?:Train|Val|Test) ")
_STEP = re.compile(r"\bIter (\d{1,18}): ")
_PAIR = re.compile(rf"\b([A-Z][\w/ ]{{0,60}}?) ({NUMBER}) ?(GB|s)?(?=,|\s|$)")


def identify(head: Head) -> bool:
    """An iteration with a training or validation loss."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt.

    Raises:
        BadLog: no record holds a number.
    """
    log, units = Log(path), dict[str, str]()
    for line in log.lines(_LINE):
        step = _STEP.search(line.text)
        if step is None:
            continue
        pairs = _PAIR.findall(line.text, step.end())
        units = {name: unit for name, _, unit in pairs if unit} | units
        values = numbers((name, text) for name, text, _ in pairs)
        if values:
            log.add(line, int(step[1]), values)
    return [log.attempt(units=units)]
