"""modded-nanogpt ``<uuid>.txt``: its whole source, then ``step:125/4150 val_loss:4.85 train_time:30ms ...``.

``nanms`` in the first steps means that no average is known yet; it is left out. Times are in ms or s by year.
"""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import NUMBER, numbers
from chronicle.readers.text import Head

NAME = "modded-nanogpt"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(rb"\bstep:\d+/\d+ ")
_STEP = re.compile(r"\bstep:(\d{1,18})/(\d{1,18}) ")
_PAIR = re.compile(rf"\b(\w{{1,80}}):({NUMBER})(ms|s)?(?=\s|$)")
_DURATIONS = ("train_time", "step_avg")


def identify(head: Head) -> bool:
    """A step of how many, a loss and a training time."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt; several seeds in one file go back to step 0 and are told apart when they are stitched.

    Raises:
        BadLog: no record holds a number.
    """
    log = Log(path)
    units: dict[str, str] = {}
    for line in log.lines(_LINE):
        step = _STEP.search(line.text)
        if step is None:
            continue
        found = _PAIR.findall(line.text, step.end())
        units |= {name: unit for name, _, unit in found if unit and name not in units}
        values = numbers((name, text) for name, text, _ in found if not (name in _DURATIONS and "n" in text))
        seconds = {name for name, _, unit in found if unit == "s"}
        values = {
            name: value * 1000 if name in seconds and units[name] == "ms" else value
            for name, value in values.items()
        }
        log.fact("total_steps", int(step[2]))
        if values:
            log.add(line, int(step[1]), values)
    return [log.attempt(units=units)]
