"""NVIDIA DLLogger: ``DLL 2020-06-03 16:09:11 - Training Epoch: 0 Training Iteration: 17  step_loss : 1.63``,
and its JSON lines ``DLLL {"datetime": ..., "type": "LOG", "step": [0, 1785], "data": {"step_loss": 1.63}}``.

Where iterations are counted anew in each epoch, those of the epochs before are added.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from chronicle.model import Attempt
from chronicle.readers.columns import number
from chronicle.readers.console.log import Epochs, Line, Log
from chronicle.readers.console.pairs import NUMBER, numbers
from chronicle.readers.hyperparameters import config_facts

NAME = "dllogger"
MARKS = (rb'\bDLLL \{"|\bDLL \d{4}-\d\d-\d\d [^\n]{0,300} : -?[\dni]',)

_LINE = re.compile(rb"\bDLLL? (?:\d{4}-|\{)")
_TEXT = re.compile(r"\bDLL (?P<time>\S+ \S+) - (?P<rest>.*)")
_STEP = re.compile(r"(?:\w+ )?Epoch: (?P<epoch>\d{1,18})(?: (?:\w+ )?Iteration: (?P<step>\d{1,18}))?")
_PARAMETER = re.compile(r"(?<![\w.-])(\w[\w.-]{0,80}) *: (\S+)")
_PAIR = re.compile(rf"([\w./-][\w./ -]{{0,80}}?) : ({NUMBER})(?=\s|$)")
_JSON = re.compile(r"\bDLLL (\{.*\})\s*$")


def read(path: Path) -> list[Attempt]:
    """One attempt; parameters and totals without a step are facts. Raises BadLog where it holds no number."""
    log, parameters, counter = Log(path), dict[str, Any](), Epochs()
    for line in log.lines(_LINE):
        if match := _JSON.search(line.text):
            _document(log, line, match[1], parameters, counter)
        elif match := _TEXT.search(line.text):
            rest = match["rest"]
            if rest.startswith("PARAMETER "):
                parameters = dict(_PARAMETER.findall(rest)) | parameters
            elif step := _STEP.search(rest):
                values = numbers(_PAIR.findall(rest, step.end()))
                places = [int(place) for place in (step["epoch"], step["step"]) if place]
                _add(log, line, places, values, counter)
            else:
                _sum_up(log, numbers(_PAIR.findall(rest)))
    log.facts |= config_facts(parameters)
    return [log.attempt()]


def _document(log: Log, line: Line, text: str, parameters: dict[str, Any], counter: Epochs) -> None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        if not line.unfinished:
            log.fault(line.number, "record is no JSON; line skipped")
        return
    data, step = record.get("data"), record.get("step")
    if not isinstance(data, dict):
        return
    if step == "PARAMETER" or record.get("type") == "PARAMETER":
        parameters |= {str(name): value for name, value in data.items() if str(name) not in parameters}
        return
    cells = ((str(name), number(str(value))) for name, value in data.items())
    values = {name: value for name, value in cells if value is not None}
    places = [place for place in (step if isinstance(step, list) else [step]) if type(place) is int]
    _add(log, line, places, values, counter) if places else _sum_up(log, values)


def _add(log: Log, line: Line, places: list[int], values: dict[str, float], counter: Epochs) -> None:
    """A record at [epoch, iteration] or [iteration]; one of an epoch stands at the last iteration."""
    if not values:
        return
    if len(places) > 1:
        log.add(line, counter.step(float(places[0]), places[1]), {"epoch": float(places[0]), **values})
    else:  # of an epoch as a whole
        log.add(line, places[0] if log.step is None else log.step, values)


def _sum_up(log: Log, values: dict[str, float]) -> None:
    for name, value in values.items():
        log.fact(f"summary/{name}", value)
