"""DeepSpeed: the lines of its engine, ``step=10, skipped=0, lr=[...]``, and of DeepSpeed-Chat.

The engine prints no loss: it comes from the script, as ``epoch: 0|step: 5|act_loss: ...`` of DeepSpeed-Chat
or as a line with a pair ``loss: ...``. Such lines without a step belong to the last one. Several engines of a
process (actor, critic) print the same line at a step: the metrics of the second are named ``lr (2)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.columns import number
from chronicle.readers.console.log import SETTING, Epochs, Line, Log
from chronicle.readers.console.pairs import numbers, pairs

NAME = "deepspeed"
MARKS = (rb"step=\d+, skipped=\d+, lr=\[|step=\d+, RunningAvgSamplesPerSec|\|ppo_ep: \d+\|",)

_LINE = re.compile(
    rb"step=\d|/\d+, \w{0,20}SamplesPerSec=|tep: \d|steps: \d|Attempted loss scale: |reward score: "
    rb"|\|E2E latency=|ppl: |loss *[:=] *[-\dni]|exits successfully|return code = -?\d|" + SETTING,
    re.IGNORECASE,
)
_NUMBER = r"(?:[-+]?\d[\d.]*(?:e[-+]?\d+)?|nan|-?inf)"
# What a record looks like: its step, where it tells one, and its fields.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\bstep=(?P<step>\d{1,19}), skipped=(?P<skipped>\d+), lr=\[(?P<lr>[^\]]{0,2000})\]",
        r"(?:global_step=|\b\d+/)(?P<step>\d{1,19}), (?P<fields>(?:Running)?\w*SamplesPerSec=.*)",
        r"epoch: *(?P<epoch>\d{1,9}) *[|,] *step: *(?P<step>\d{1,18}) *[|,]"
        r"(?: *rank: *(?P<who>\d+),)?(?P<fields>.*)",
        r"\bsteps: (?P<step>\d{1,19}) (?P<fields>loss: .*)",
        r"overflow.{0,300}(?P<fields>Attempted loss scale: [\d.e+]*\d)",
    )
)
_ASSIGNED = re.compile(rf"(\w[\w /-]{{0,60}}(?:\(\w{{1,20}}\))?) ?[=:] ?({_NUMBER})")
_SECONDS = ("E2E latency", "Gather latency", "Generate time", "Training time", "Others", "iter time (s)")
UNITS = dict.fromkeys(_SECONDS, "s") | {"MemAllocated": "GB", "MaxMemAllocated": "GB"}
_EXIT = re.compile(r"exits with return code = (?P<code>-?\d{1,9})")


def read(path: Path) -> list[Attempt]:
    """One attempt, arguments as facts. Raises BadLog where no record holds a number."""
    log = Log(path)
    records = _Records(log)
    for line in log.lines(_LINE):
        if log.is_setting(line):
            continue
        if "exits successfully" in line.text:
            log.fact("ended", "finished")
        elif not records.take(line):
            if match := _EXIT.search(line.text):
                log.facts |= {"ended": "crashed", "exit_code": int(match["code"])}
            log.look(line)
    return [log.attempt(units=UNITS)]


class _Records:
    """The records of a log, line by line: what a rank, an engine and an epoch before said is known."""

    def __init__(self, log: Log) -> None:
        self.log, self.epochs = log, Epochs()
        self._engine = (-1, "", 0)  # step, rank and number of the engine that spoke last

    def take(self, line: Line) -> bool:
        """Whether the line is a record, which is then kept: of another step, or of the last one."""
        match = next((match for form in _FORMS if (match := form.search(line.text))), None)
        if match is None:
            return self._without_step(line)
        told, who = match.groupdict(), line.prefix.who
        step = int(told["step"]) if "step" in told else self.log.step or 0
        values = self._of_engine(step, who, told) if "lr" in told else _assigned(told["fields"])
        if epoch := told.get("epoch"):
            step, values = self.epochs.step(int(epoch), step), {"epoch": float(epoch)} | values
        self.log.add(line, step, values, who=told.get("who") or who)
        return True

    def _of_engine(self, step: int, who: str, told: Mapping[str, str]) -> dict[str, float]:
        before, spoke, engine = self._engine
        if spoke == who or before < 0:
            engine = engine + 1 if step == before else 1
            self._engine = step, who, engine
        suffix = f" ({engine})" if engine > 1 else ""
        rates = [rate for cell in told["lr"].split(",") if (rate := number(cell)) is not None]
        names = ["lr"] if len(set(rates)) == 1 else [f"lr/{group}" for group in range(len(rates))]
        values = {"skipped": float(told["skipped"]), **dict(zip(names, rates, strict=False))}
        return {name + suffix: value for name, value in values.items()}

    def _without_step(self, line: Line) -> bool:
        text = line.prefix.text
        values = _assigned(text) if text.startswith("|") else {pair.name: pair.value for pair in pairs(text)}
        known = text.startswith("|E2E") or any("loss" in name.lower() or name == "ppl" for name in values)
        if not known and "reward score" not in text:
            return False
        if values and self.log.step is not None:
            self.log.add(line, self.log.step, values, who=line.prefix.who)
        return True


def _assigned(text: str) -> dict[str, float]:
    return numbers(_ASSIGNED.findall(text), number)
