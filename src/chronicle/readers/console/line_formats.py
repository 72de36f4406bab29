"""Formats whose records are a step and pairs of a name and a number in one line: a row each, one reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronicle.model import Attempt, Role
from chronicle.readers.columns import number
from chronicle.readers.console.log import Log
from chronicle.readers.console.pairs import NUMBER, comma_number
from chronicle.readers.console.prefixes import NAN, Prefix

_POWERS = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15}
_NEVER = re.compile(r"(?!)")


def short_number(cell: str) -> float | None:
    """The number in a cell as 85.8G; None where it is none."""
    cell = cell.strip()
    power = _POWERS.get(cell[-1:], 1.0)
    value = number(cell if power == 1.0 else cell[:-1])
    return None if value is None else value * power


@dataclass(frozen=True)
class LineFormat:
    """How the lines of one trainer are written, and the reader of them.

    ``line`` finds the lines that are looked at. ``record`` has the groups ``step`` and ``rest``, in which
    ``pair`` finds names, numbers and their units, and may have ``total`` (steps) and ``evaluation``.
    """

    NAME: str
    MARKS: tuple[bytes, ...]
    line: re.Pattern[bytes]
    record: re.Pattern[str]
    pair: re.Pattern[str]
    single: re.Pattern[str] = _NEVER  # nothing but ``step``, ``value`` and perhaps ``name``, else of the loss
    early: re.Pattern[str] = _NEVER  # ``name`` and ``value`` of the step whose line follows
    checkpoint: re.Pattern[str] = _NEVER  # ``what`` (sav, load) is done at a ``place``
    ranks: bool = False  # several ranks print a step; the first of them is read
    repeated: tuple[str, ...] = ()  # metrics by which a line of another rank is known that has no prefix
    bare: bool = False  # a step counts, though no number can be read beside it
    clock_anywhere: bool = False  # in the line, not only in front of it
    as_number: Callable[[str], float | None] = comma_number
    units: Mapping[str, str] = field(default_factory=dict)  # those that no line tells
    durations: tuple[str, ...] = ()  # in ms or s by line, and no number before there is a mean
    roles: Mapping[str, Role] = field(default_factory=dict)  # those that no name tells
    SUFFIXES: tuple[str, ...] = ()

    def read(self, path: Path) -> list[Attempt]:
        """One attempt. Raises BadLog where no record holds a number."""
        log, units, early = Log(path), dict(self.units), dict[str, float]()
        before: tuple[object, ...] = ()
        for line in log.lines(self.line):
            if match := self.single.match(line.text):
                values = self._numbers([(match.groupdict().get("name", "loss"), match["value"])])
                log.add(line, int(match["step"]), values, time=NAN)
                continue
            prefix = line.prefix if self.ranks else Prefix(line.text)
            if match := self.record.search(prefix.text):
                if total := match.groupdict().get("total"):
                    log.fact("total_steps", int(total))
                values = self._values(match, units)
                content = (match["step"], *map(values.get, self.repeated))
                again, before = self.repeated and not prefix.who and content == before, content
                time = None if self.clock_anywhere else prefix.time
                if (values or self.bare) and not again:
                    taken = log.add(line, int(match["step"]), values | early, time=time, who=prefix.who)
                    early = {} if taken else early
            elif match := self.early.search(prefix.text):
                early |= self._numbers([(match["name"], match["value"])])
            elif match := self.checkpoint.search(line.text):
                log.event(line, f"checkpoint-{match['what'].lower()}ing", place=match["place"][:200])
        attempt = log.attempt(units=units)
        series = {
            name: replace(one, role=self.roles.get(name, one.role)) for name, one in attempt.series.items()
        }
        return [replace(attempt, series=series)]

    def _values(self, match: re.Match[str], units: dict[str, str]) -> dict[str, float]:
        """The numbers of a record. Its units are noted: the first that a log tells of a metric stays."""
        of = "validation/" if match.groupdict().get("evaluation") else ""
        pairs = [(of + name.strip(), text, unit) for name, text, unit in self.pair.findall(match["rest"])]
        units |= {name: unit for name, _, unit in pairs if unit and name not in units}
        known = [pair for pair in pairs if not (pair[0] in self.durations and "n" in pair[1])]
        values = self._numbers((name, text) for name, text, _ in known)
        for name, _, unit in known:
            if name in self.durations and unit == "s" and units[name] == "ms":
                values[name] *= 1000
        return values

    def _numbers(self, pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
        """The pairs whose text is a number; the last of equal names stays."""
        return {name: value for name, text in pairs if (value := self.as_number(text)) is not None}


LINE_FORMATS = {
    one.NAME: one
    for one in (
        # iteration: 10 / 900 | consumed_tokens: 85.8G | lm_loss: 2.38 | lr: 3e-05 | ...
        # Values have the three digits that are printed.
        LineFormat(
            "nanotron",
            MARKS=(rb"iteration: \d+ / \d+ \| ",),
            line=re.compile(rb"iteration: \d+ / \d+ \||(?:Saving|Loading) checkpoint (?:at|from) "),
            record=re.compile(r"iteration: (?P<step>\d{1,20}) / \d+ \|(?P<rest>.*)"),
            pair=re.compile(r"(?:^|(?<=\|))([^|:]*):([^|]*)()"),
            checkpoint=re.compile(r"(?P<what>Sav|Load)ing checkpoint (?:at|from) (?P<place>\S+)"),
            ranks=True,
            bare=True,
            clock_anywhere=True,
            as_number=short_number,
            units={"cuda_memory_allocated": "bytes", "cuda_max_memory_reserved": "bytes"},
        ),
        # s:250 tel:6.17
        # s:250 trl:6.18 lr:0.0002 norm:0.90
        # s:250 eval:0.26                           the accuracy on HellaSwag
        LineFormat(
            "llm.c",
            MARKS=(rb"(?m)^s:\d+ t[er]l:-?[\dni]",),
            line=re.compile(rb"^s:\d+ "),
            record=re.compile(r"^s:(?P<step>\d{1,18}) (?P<rest>.*)"),
            pair=re.compile(rf"\b(?!s:)(\w{{1,80}}):({NUMBER})(?=\s|$)()"),
            roles={"eval": Role.VALIDATION_SCORE},
        ),
        # step:125/4150 val_loss:4.85 train_time:30ms step_avg:nanms
        # This file begins with the whole source. Seeds one after the other go back to step 0.
        LineFormat(
            "modded-nanogpt",
            MARKS=(rb"\bstep:\d+/\d+ (?:train|val)_loss:[\dni]\S{0,30} train_time:\d",),
            line=re.compile(rb"\bstep:\d+/\d+ "),
            record=re.compile(r"\bstep:(?P<step>\d{1,18})/(?P<total>\d{1,18}) (?P<rest>.*)"),
            pair=re.compile(rf"\b(\w{{1,80}}):({NUMBER})(ms|s)?(?=\s|$)"),
            clock_anywhere=True,
            durations=("train_time", "step_avg"),
        ),
        # step: 10  loss: 8.0491  grad_norm: 2.31  memory: 27.57GiB(29.01%)  tps: 6,722  mfu: 12.50%
        # 1 8.049097                                of its files of expected losses, which begin as a model
        #                                           that knows nothing does: at ln(vocabulary)
        LineFormat(
            "torchtitan",
            MARKS=(
                rb"\bstep: *\d+ +loss: +[-\dni]\S{0,30} [^\n]{0,200}(?:memory|tps|wps|grad_norm): ",
                rb"\A1 +(?:[5-9]|1[0-5])\.\d+\n2 +(?:\d|1[0-5])\.\d+\n3 +(?:\d|1[0-5])\.\d+\n",
            ),
            line=re.compile(rb"\bstep: *\d+ +loss: |^\d+ +[-\d.nai]+\s*$"),
            record=re.compile(r"(?P<evaluation>\bvalidat\w+ )?\bstep: *(?P<step>\d{1,18})(?P<rest> +.*)"),
            pair=re.compile(rf"\b(\w{{1,80}}): *({NUMBER})(GiB|%)?(?=[\s(]|$)"),
            single=re.compile(rf"^(?P<step>\d{{1,18}}) +(?P<value>{NUMBER})\s*$"),
            ranks=True,
            repeated=("loss", "grad_norm"),
        ),
        # iter 0: loss 10.9, time 12.00ms, mfu 1.0%
        # step 0: train loss 4.2, val loss 4.3
        # 10 | loss 8.9012 | lr 1.000000e-05 | 300.12ms | mfu 1.23%             of llama2.c
        # step   911 | loss: 4.988997 | lr 5.9697e-04 | norm: 0.5693 | dt: 405.63ms | tok/sec: 1292520.48
        # validation loss: 4.3
        # 250 val 6.1234                            of the log.txt of build-nanogpt
        LineFormat(
            "nanogpt",
            MARKS=(
                rb"\biter \d+: loss [-\dni]\S{0,30}, time |\bstep \d+: train loss [-\dni]",
                rb"\bstep +\d+(?:/\d+)? \| (?:train )?loss:? +[-\dni]",
                rb"(?m)^\d+ (?:val|train) -?\d+\.\d+$|^\d+ \| loss [-\dni]\S{0,30} \| lr \d",
            ),
            line=re.compile(
                rb"\biter \d+: |\bstep +\d+(?:/\d+)?(?: \||: (?:train|val))|^\d+ (?:val|hella|train|\| loss) "
                rb"|\bvalidation loss: |\bHellaSwag accuracy: "
            ),
            record=re.compile(
                r"(?:\b(?:iter|step) +|^(?=\d+ \| loss ))(?P<step>\d{1,18})(?:/\d+)?(?::| \|)(?P<rest>.*)"
            ),
            pair=re.compile(rf"(?<![\w.])([A-Za-z][\w/ .-]{{0,60}}?):? *({NUMBER}) ?(ms|%|s)?(?=\s|,|\||$)"),
            single=re.compile(rf"^(?P<step>\d{{1,18}}) (?P<name>val|hella|train) (?P<value>{NUMBER})\s*$"),
            early=re.compile(
                rf"\b(?P<name>validation loss|HellaSwag accuracy): (?:\d+/\d+=)?(?P<value>{NUMBER})\s*$"
            ),
            ranks=True,
        ),
        # Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999, Tokens/sec 387.7
        # Iter 200: Val loss 2.9, Val took 20.1s
        LineFormat(
            "mlx",
            MARKS=(rb"\bIter \d+: (?:Train|Val) loss [-\dni]",),
            line=re.compile(rb"\bIter \d+: (?:Train|Val|Test) "),
            record=re.compile(r"\bIter (?P<step>\d{1,18}): (?P<rest>.*)"),
            pair=re.compile(rf"\b([A-Z][\w/ ]{{0,60}}?) ({NUMBER}) ?(GB|s)?(?=,|\s|$)"),
            clock_anywhere=True,
        ),
    )
}
