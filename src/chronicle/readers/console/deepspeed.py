"""DeepSpeed: the lines of its engine, ``step=10, skipped=0, lr=[...]``, and of DeepSpeed-Chat.

The engine prints no loss: it comes from the script, as ``epoch: 0|step: 5|act_loss: ...`` of DeepSpeed-Chat
or as a line with a pair ``loss: ...``. Such lines without a step belong to the last one. Several engines of a
process (actor, critic) print the same line at a step: the metrics of the second are named ``lr (2)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.columns import number
from chronicle.readers.console.log import Epochs, Line, Log
from chronicle.readers.console.pairs import ARGUMENT, argument, numbers, pairs
from chronicle.readers.hyperparameters import Scalar, config_facts

NAME = "deepspeed"
MARKS = (rb"step=\d+, skipped=\d+, lr=\[|step=\d+, RunningAvgSamplesPerSec|\|ppo_ep: \d+\|",)

_LINE = re.compile(
    rb"step=\d|/\d+, \w{0,20}SamplesPerSec=|tep: \d|steps: \d|Attempted loss scale: |reward score: "
    rb"|\|E2E latency=|ppl: |loss *[:=] *[-\dni]|exits successfully|return code = -?\d|" + ARGUMENT,
    re.IGNORECASE,
)
_NUMBER = r"(?:[-+]?\d[\d.]*(?:e[-+]?\d+)?|nan|-?inf)"
_ENGINE = re.compile(r"\bstep=(?P<step>\d{1,19}), skipped=(?P<skipped>\d+), lr=\[(?P<lr>[^\]]{0,2000})\]")
_TIMER = re.compile(r"(?:global_step=|\b\d+/)(?P<step>\d{1,19}), (?P<fields>(?:Running)?\w*SamplesPerSec=.*)")
_SCRIPT = re.compile(
    r"epoch: *(?P<epoch>\d{1,9}) *[|,] *step: *(?P<step>\d{1,18}) *[|,]"
    r"(?: *rank: *(?P<who>\d+),)?(?P<fields>.*)",
    re.IGNORECASE,
)
_PIPELINE = re.compile(r"\bsteps: (?P<step>\d{1,19}) (?P<fields>loss: .*)")
_OVERFLOW = re.compile(r"overflow.{0,300}Attempted loss scale: (?P<scale>[\d.e+]+)", re.IGNORECASE)
_ASSIGNED = re.compile(rf"(\w[\w /-]{{0,60}}(?:\(\w{{1,20}}\))?) ?[=:] ?({_NUMBER})")
_SECONDS = ("E2E latency", "Gather latency", "Generate time", "Training time", "Others", "iter time (s)")
UNITS = dict.fromkeys(_SECONDS, "s") | {"MemAllocated": "GB", "MaxMemAllocated": "GB"}
_EXIT = re.compile(r"exits with return code = (?P<code>-?\d{1,9})")


def read(path: Path) -> list[Attempt]:
    """One attempt, arguments as facts. Raises BadLog where no record holds a number."""
    log, arguments = Log(path), dict[str, Scalar]()
    records = _Records(log)
    for line in log.lines(_LINE):
        if given := argument(line.text):
            arguments.setdefault(*given)
        elif not records.take(line) and not _end(log, line):
            log.look(line)
    log.facts |= config_facts(arguments)
    return [log.attempt(units=UNITS)]


def _end(log: Log, line: Line) -> bool:
    if "exits successfully" in line.text:
        log.fact("ended", "finished")
    elif match := _EXIT.search(line.text):
        log.facts |= {"ended": "crashed", "exit_code": int(match["code"])}
    return "exits successfully" in line.text


class _Records:
    """The records of a log, line by line: what a rank, an engine and an epoch before said is known."""

    def __init__(self, log: Log) -> None:
        self.log, self.epochs = log, Epochs()
        self._engine = (-1, "", 0)  # step, rank and number of the engine that spoke last
        self._forms: tuple[tuple[re.Pattern[str], Callable[[Line, re.Match[str]], None]], ...] = (
            (_ENGINE, self._of_engine),
            (_TIMER, self._fields),
            (_SCRIPT, self._of_script),
            (_PIPELINE, self._fields),
            (_OVERFLOW, self._overflow),
        )

    def take(self, line: Line) -> bool:
        """Whether the line is a record, which is then kept."""
        for form, keep in self._forms:
            if match := form.search(line.text):
                keep(line, match)
                return True
        return self._without_step(line)

    def _of_engine(self, line: Line, match: re.Match[str]) -> None:
        step, who = int(match["step"]), line.prefix.who
        rates = [rate for cell in match["lr"].split(",") if (rate := number(cell)) is not None]
        before, spoke, engine = self._engine
        if spoke == who or before < 0:
            engine = engine + 1 if step == before else 1
            self._engine = step, who, engine
        suffix = f" ({engine})" if engine > 1 else ""
        values = {"skipped": float(match["skipped"])}
        if len(set(rates)) == 1:
            values["lr"] = rates[0]
        else:
            values |= {f"lr/{group}": rate for group, rate in enumerate(rates)}
        self.log.add(line, step, {name + suffix: value for name, value in values.items()}, who=who)

    def _fields(self, line: Line, match: re.Match[str]) -> None:
        self.log.add(line, int(match["step"]), _assigned(match["fields"]), who=line.prefix.who)

    def _of_script(self, line: Line, match: re.Match[str]) -> None:
        step = self.epochs.step(int(match["epoch"]), int(match["step"]))
        values = {"epoch": float(match["epoch"])} | _assigned(match["fields"])
        self.log.add(line, step, values, who=match["who"] or line.prefix.who)

    def _overflow(self, line: Line, match: re.Match[str]) -> None:
        scale = number(match["scale"].rstrip("."))
        if scale is not None:
            self.log.add(line, self.log.step or 0, {"Attempted loss scale": scale})

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
