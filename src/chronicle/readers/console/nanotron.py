"""nanotron: ``iteration: 10 / 900 | consumed_tokens: 85.8G | lm_loss: 2.38 | ...``, numbers short, with K, M,
G."""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.columns import number
from chronicle.readers.console.log import Log
from chronicle.readers.console.marks import owner
from chronicle.readers.text import Head

NAME = "nanotron"
SUFFIXES: tuple[str, ...] = ()

_TOLD = re.compile(rb"iteration: \d+ / \d+ \||(?:Saving|Loading) checkpoint (?:at|from) ")
_RECORD = re.compile(r"iteration: (?P<step>\d{1,20}) / \d+ \|(?P<fields>.*)")
_CHECKPOINT = re.compile(r"(?P<what>Sav|Load)ing checkpoint (?:at|from) (?P<place>\S+)")
_POWERS = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15}
# Quantities that nanotron prints in SI short form, with the unit that their names do not state.
UNITS = {"cuda_memory_allocated": "bytes", "cuda_max_memory_reserved": "bytes"}


def identify(head: Head) -> bool:
    """A line with ``iteration: N / M |``."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt, checkpoints as events. Values have the three digits that are printed.

    Raises:
        BadLog: no record holds a number.
    """
    log = Log(path)
    for line in log.lines(_TOLD):
        if found := _RECORD.search(line.text):
            fields = [field.partition(":") for field in found["fields"].split("|")]
            values = {name.strip(): short_number(cell) for name, _, cell in fields}
            kept = {name: value for name, value in values.items() if value is not None}
            log.add(line, int(found["step"]), kept, who=line.prefix.who)
        elif found := _CHECKPOINT.search(line.text):
            log.event(line, f"checkpoint-{found['what'].lower()}ing", place=found["place"][:200])
    return [log.attempt(units=UNITS)]


def short_number(cell: str) -> float | None:
    """The number in a cell as 85.8G; None where it is none."""
    cell = cell.strip()
    power = _POWERS.get(cell[-1:], 1.0)
    value = number(cell if power == 1.0 else cell[:-1])
    return None if value is None else value * power
