"""fairseq and metaseq: ``… | train_inner | {"epoch": 1, "loss": "16.475", "num_updates": "100", ...}``.

Numbers are strings, losses are in bits (logarithms to base 2). ``train`` is the mean of an epoch, ``valid``
an evaluation; an overflow of the gradients lowers the loss scale, which is a point of its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from chronicle.model import Attempt
from chronicle.readers.console.log import Line, Log
from chronicle.readers.console.pairs import NUMBER, numbers

NAME = "fairseq"
MARKS = (
    rb'\| (?:train_inner|train|valid\w{0,40}) \| (?:\{"|epoch \d)|\bnum_updates=\d+, ',
    rb'\[(?:train_inner|train|valid\w{0,40})\]\[INFO\] - (?:\{"|epoch \d)',
)

_TAG = r"train_inner|train|(?:valid|test)\w{0,40}"
_LINE = re.compile(
    rb'(?:\| |\[)(?:train_inner|train|valid\w*|test\w*)(?: \||\]\[INFO\] -) (?:\{"|epoch )'
    rb"|\bnum_updates=|gradient overflow detected"
)
_JSON = re.compile(rf'(?:\| |\[)(?P<tag>{_TAG})(?: \||\]\[INFO\] -) (?P<json>\{{".*\}})\s*$')
_BARS = re.compile(rf"(?:\| |\[)(?P<tag>{_TAG})(?: \||\]\[INFO\] -) (?P<rest>epoch \d+ \|.*)")
_EQUALS = re.compile(rf"\b(\w{{1,80}})=({NUMBER})(?=,|\s|$)")
_FIELD = re.compile(rf"\| (\w{{1,80}}) ({NUMBER})(?= \||\s*$)")
_SCALE = re.compile(rf"setting loss scale to: ({NUMBER})")
_STEP = "num_updates"
_LOSS = re.compile(r"(?:^|_)(?:nll_)?loss$")


def read(path: Path) -> list[Attempt]:
    """One attempt, overflows as events. Raises BadLog where no record holds a number."""
    log = Log(path)
    for line in log.lines(_LINE):
        if match := _SCALE.search(line.text):
            log.event(line, "overflow")
            log.add(line, log.step or 0, numbers([("loss_scale", match[1])]))
        elif values := _values(log, line):
            _add(log, line, values)
    losses = [name for name in log.rows.columns if _LOSS.search(name)]
    return [log.attempt(units=dict.fromkeys(losses, "bits"))]


def _values(log: Log, line: Line) -> dict[str, float]:
    if match := _JSON.search(line.text):
        try:
            record: dict[str, Any] = json.loads(match["json"])
        except (ValueError, RecursionError):
            log.fault(line.number, "statistics are no JSON; line skipped")
            return {}
        cells = [
            (str(name), str(value)) for name, value in record.items() if not isinstance(value, dict | list)
        ]
        return numbers(cells)
    if match := _BARS.search(line.text):
        values = numbers(_FIELD.findall(match["rest"]))
        return {name if name == _STEP else f"{match['tag']}_{name}": value for name, value in values.items()}
    return numbers(_EQUALS.findall(line.text))


def _add(log: Log, line: Line, values: dict[str, float]) -> None:
    """A record at its number of updates, whatever the name is prefixed with."""
    counters = [name for name in values if name == _STEP or name.endswith("_" + _STEP)]
    updates = [value for value in map(values.pop, counters) if value == value // 1]
    if updates and values:
        log.add(line, int(updates[0]), values)
