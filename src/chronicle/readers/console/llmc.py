"""llm.c ``main.log``: ``s:250 tel:6.17``, ``s:250 trl:6.18 lr:0.0002 norm:0.90``, ``s:250 eval:0.26``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from chronicle.model import Attempt, Role
from chronicle.readers.console.log import NAN, Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import NUMBER, numbers
from chronicle.readers.text import Head

NAME = "llm.c"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(rb"^s:\d+ ")
_STEP = re.compile(r"s:(\d{1,18}) ")
_PAIR = re.compile(rf"\b(\w{{1,80}}):({NUMBER})(?=\s|$)")


def identify(head: Head) -> bool:
    """A line that begins with the step and a training or validation loss."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt. ``eval`` is the accuracy on HellaSwag.

    Raises:
        BadLog: no record holds a number.
    """
    log = Log(path)
    for line in log.lines(_LINE):
        step, values = _STEP.match(line.text), numbers(_PAIR.findall(line.text))
        values.pop("s", None)
        if step and values:
            log.add(line, int(step[1]), values, time=NAN)
    attempt = log.attempt()
    series = dict(attempt.series)
    if "eval" in series:
        series["eval"] = replace(series["eval"], role=Role.VALIDATION_SCORE)
    return [replace(attempt, series=series)]
