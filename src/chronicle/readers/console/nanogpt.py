"""nanoGPT and build-nanogpt.

    iter 0: loss 10.9, time 12.00ms, mfu 1.0%
    step 0: train loss 4.2, val loss 4.3
    10 | loss 8.9012 | lr 1.000000e-05 | 300.12ms | mfu 1.23%            of llama2.c
    step   911 | loss: 4.988997 | lr 5.9697e-04 | norm: 0.5693 | dt: 405.63ms | tok/sec: 1292520.48

and the ``log.txt`` of build-nanogpt: ``250 val 6.1234``, ``250 hella 0.2487``, ``250 train 6.101523``.
"""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import NAN, Log
from chronicle.readers.console.marks import owner
from chronicle.readers.console.numerals import NUMBER, numbers
from chronicle.readers.text import Head

NAME = "nanogpt"
SUFFIXES: tuple[str, ...] = ()

_LINE = re.compile(
    rb"\biter \d+: |\bstep +\d+(?:/\d+)?(?: \||: (?:train|val))|^\d+ (?:val|hella|train|\| loss) "
    rb"|\bvalidation loss: |\bHellaSwag accuracy: "
)
_STEP = re.compile(r"(?:\b(?:iter|step) +|^(?=\d+ \| loss ))(\d{1,18})(?:/\d+)?(?::| \|)(.*)")
_SHORT = re.compile(rf"^(\d{{1,18}}) (val|hella|train) ({NUMBER})\s*$")
_EVALUATION = re.compile(rf"\b(validation loss|HellaSwag accuracy): (?:\d+/\d+=)?({NUMBER})\s*$")
_PAIR = re.compile(rf"(?<![\w.])([A-Za-z][\w/ .-]{{0,60}}?):? *({NUMBER}) ?(ms|%|s)?(?=\s|,|\||$)")


def identify(head: Head) -> bool:
    """A line of one of the four kinds."""
    return owner(head.path) == NAME


def read(path: Path) -> list[Attempt]:
    """One attempt; of several ranks that print the same step the first is read.

    An evaluation that is printed alone is of the step whose line follows it.

    Raises:
        BadLog: no record holds a number.
    """
    log, units, waiting = Log(path), dict[str, str](), dict[str, float]()
    for line in log.lines(_LINE):
        if found := _SHORT.match(line.text):
            log.add(line, int(found[1]), numbers([(found[2], found[3])]), time=NAN)
            continue
        prefix = line.prefix
        if found := _STEP.search(prefix.text):
            pairs = [(name.strip(), value, unit) for name, value, unit in _PAIR.findall(found[2])]
            units = {name: unit for name, _, unit in pairs if unit} | units
            values = numbers((name, value) for name, value, _ in pairs)
            if values and log.add(line, int(found[1]), values | waiting, who=prefix.who, time=prefix.time):
                waiting = {}
        elif found := _EVALUATION.search(prefix.text):
            waiting |= numbers([(found[1], found[2])])
    return [log.attempt(units=units)]
