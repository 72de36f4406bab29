"""Keras on the console: ``Epoch 1/10``, then a bar that ends ``1875/1875 [====] - 5s 2ms/step - loss: 0.4``.

The last bar of each epoch is read; those before it show running means of the epoch.
"""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import Line, Log
from chronicle.readers.console.pairs import NUMBER, numbers

NAME = "keras-console"
MARKS = (rb"\b(\d+)/\1 (?:\[=+\]|(?:\xe2\x94\x81)+) [^\n]{0,300} - \w{0,40}loss: [-\dni]",)

_LINE = re.compile(rb"^Epoch \d+/\d+|\d/\d{1,18} (?:\[=|\xe2\x94\x81)")
_EPOCH = re.compile(r"^Epoch (\d{1,9})/\d+")
_BAR = re.compile(r"(?P<n>\d{1,18})/(?P<total>\d{1,18}) (?:\[=+\]|━+) (?P<rest>.*)")
_PAIR = re.compile(rf"- ([A-Za-z_][\w./ -]{{0,80}}?): ({NUMBER})(?= -|\s*$)")


def read(path: Path) -> list[Attempt]:
    """One attempt; its axis counts epochs. Raises BadLog where no bar of a whole epoch holds a number."""
    log, epoch = Log(path), 0
    log.axis = "epoch"
    waiting: list[tuple[Line, int, dict[str, float]]] = []
    for line in log.lines(_LINE):
        if begun := _EPOCH.match(line.text):
            _keep(log, waiting)
            epoch = int(begun[1])
        elif (bar := _BAR.search(line.text)) and bar["n"] == bar["total"] and not line.unfinished:
            if bar["rest"].startswith("- ETA"):  # drawn before the epoch is over
                continue
            values = numbers(_PAIR.findall(bar["rest"]))
            waiting[:] = [(line, epoch, values)] if values else waiting
    _keep(log, waiting)
    return [log.attempt()]


def _keep(log: Log, waiting: list[tuple[Line, int, dict[str, float]]]) -> None:
    """The last finished bar of an epoch is what the epoch came to."""
    for record in waiting:
        log.add(*record)
    waiting.clear()
