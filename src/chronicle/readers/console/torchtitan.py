"""torchtitan: ``step: 10  loss: 8.0491  grad_norm: 2.31  memory: 27.57GiB(29.01%)  tps: 6,722  mfu: 12.50%``,
and its files of expected losses, a step and a loss a line (``1 8.049097``).
"""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import NAN, Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import NUMBER, numbers
from chronicle.readers.text import Head

NAME = "torchtitan"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(rb"\bstep: *\d+ +loss: |^\d+ +[-\d.nai]+\s*$")
_STEP = re.compile(r"(?P<evaluation>\bvalidat\w+ )?\bstep: *(?P<step>\d{1,18})(?P<rest> +.*)")
_EXPECTED = re.compile(rf"^(\d{{1,18}}) +({NUMBER})\s*$")
_PAIR = re.compile(rf"\b(\w{{1,80}}): *({NUMBER})(GiB|%)?(?=[\s(]|$)")


def identify(head: Head) -> bool:
    """A step with its loss and what else torchtitan tells of it, or lines of nothing but step and loss."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt; of several ranks that print the same step the first is read.

    Raises:
        BadLog: no record holds a number.
    """
    log, units = Log(path), dict[str, str]()
    before: tuple[str, float | None, float | None] | None = None  # ranks without a prefix say the same
    for line in log.lines(_LINE):
        if found := _EXPECTED.match(line.text):
            log.add(line, int(found[1]), numbers([("loss", found[2])]), time=NAN)
        elif found := _STEP.search(line.text):
            prefix = line.prefix
            pairs = _PAIR.findall(found["rest"])
            of = "validation/" if found["evaluation"] else ""
            units = {of + name: unit for name, _, unit in pairs if unit} | units
            values = numbers((of + name, text) for name, text, _ in pairs)
            told = (found["step"], values.get("loss"), values.get("grad_norm"))
            if values and (prefix.who or told != before):
                log.add(line, int(found["step"]), values, who=prefix.who, time=prefix.time)
            before = told
    return [log.attempt(units=units)]
