"""Stage 5 for what is printed twice, which makes no second sample of it.

A record repeats another one through a second handler of the logger, in the summary of an epoch (with fewer
counters and digits), or in a `tqdm` bar that is redrawn with the numbers of the last count, until
`set_postfix` gives it new ones or it ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chronicle.readers.console.counters import PROGRESS, Pair, counts, is_judged, is_known
from chronicle.readers.console.line_records import Record
from chronicle.readers.console.line_shapes import Reading

_ROUNDED, _FEWEST_DECIMALS = 1e-4, 3  # by which a number is recognised that was rounded
_BAR_CLOCK = re.compile(r"\[[\d:]+<")  # [00:12<01:10
_BAR_RATE = re.compile(r"([\d.]+)(?:it/s|s/it)")


class _Said(NamedTuple):
    """What a record said: names, values, where the words of its line begin, how many counters, evaluation."""

    names: Sequence[str] = ()
    values: Sequence[float] = ()
    start: int = 0
    n_counters: int = 0
    evaluation: str = ""


class _Drawing(NamedTuple):
    """A bar: its count, its other numbers, and its rates."""

    at_count: float = -1.0
    numbers: str = ""
    rates: str = ""


class _Measured(NamedTuple):
    """What stood at a step: the names of the record, and its step, count and values."""

    names: Sequence[str] = ()
    step: int = -1
    at_count: float = -1.0
    values: Mapping[str, float] = {}


class Repeats:
    """What was printed last, and whether it is printed again."""

    def __init__(self) -> None:
        self._last, self._drawing, self._measured = _Said(), _Drawing(), _Measured()
        self._was_redrawn = False
        self._n_redraws = 0  # redrawn bars that got new numbers at the same count, minus those that did not

    def is_repeat(self, record: Record) -> bool:
        """Whether a record says nothing new; if it does, it is remembered. An evaluation that continues in
        lines without a counter is noted in these records."""
        text = record.sources[0].line.text
        if "<" in text and _BAR_CLOCK.search(text):
            return self._is_redrawn(record)
        last, n_counters = self._last, len(record.counters) + (record.epoch is not None)
        start = record.sources[0].start
        shared = {*last.names} & {*record.shape} if not (n_counters or record.is_block) else ()
        if last.evaluation and any(map(is_judged, shared)):
            record.evaluation = last.evaluation
        is_summary = n_counters < last.n_counters
        comparable = record.counters or start != last.start or is_summary
        comparable = comparable and not record.is_block and record.evaluation == last.evaluation
        if comparable and _contains(last, record, rounded=is_summary):
            return True
        if len(record.shape) == n_counters:  # a heading: the summary below it is of what came before it
            self._last = _Said(last.names, last.values, last.start, last.n_counters, record.evaluation)
        elif n_counters or any(map(is_known, record.shape)):
            self._last = _Said(record.shape, record.values, start, n_counters, record.evaluation)
        return False

    def without_repeated(self, record: Record, step: int, values: dict[str, float]) -> dict[str, float]:
        """The values without those that a line with other names has just told of the same step and count,
        rounded or not: `batch 3, loss: 2.5000` above `loss: 2.49999; part: 0.1`."""
        before = self._measured
        count = record.counters[0][1].value if record.counters else before.at_count
        self._measured = _Measured(record.shape, step, count, values)
        if (step, count) != (before.step, before.at_count) or record.shape == before.names:
            return values
        known = before.values
        return {n: v for n, v in values.items() if n not in known or not _is_rounded(v, known[n])}

    def goes_on(self, reading: Reading) -> bool:
        """Whether the last record was of the same form, so that only equal numbers would be a repeat."""
        form, last = reading.form, self._last
        before = last.names, last.start, last.n_counters, last.evaluation
        return before == (form.names, reading.start, form.n_counters, form.evaluation)

    def pass_on(self, values: Sequence[float], step: int, count: float) -> None:
        """Remembers the last of many records of the same form, no two of which are equal."""
        names = self._last.names
        self._last = self._last._replace(values=values)
        self._measured = _Measured(names, step, count, dict(zip(names, values, strict=True)))

    def _is_redrawn(self, record: Record) -> bool:
        """Whether a bar has the numbers that it had before, at the next count or at its end."""
        bar = next((pair for pair in record.pairs if pair.name == PROGRESS), None)
        counters = (PROGRESS, record.epoch.name if record.epoch else "")
        numbers = [pair.value for pair in record.pairs if pair.name not in counters]
        if bar is None or not numbers:
            return False
        last, rates = self._drawing, "".join(_BAR_RATE.findall(record.sources[0].line.text))
        drawing = _Drawing(bar.value, repr(numbers), rates)  # as text, in which NaN equals NaN
        moved, at_end = bar.value != last.at_count, bar.value == bar.of
        if self._was_redrawn:  # numbers that come at the count of a redraw are new, whatever they are
            self._n_redraws += -1 if moved else 1
        is_closed = bool(rates) and not moved and rates != last.rates
        may_be_redraw = self._n_redraws >= 0 and (moved or is_closed or not self._was_redrawn)
        is_again = drawing.numbers == last.numbers and (at_end or may_be_redraw)
        self._drawing, self._was_redrawn = drawing, is_again and moved
        return is_again


def _contains(said: _Said, record: Record, *, rounded: bool) -> bool:
    """Whether all that a record says was said before; the numbers of a summary may be ``rounded``."""
    if not rounded and not (record.values and record.values[-1] in said.values):  # which settles most records
        return False
    before = dict(zip(said.names, said.values, strict=True))
    pairs = zip(record.shape, record.values, strict=True)
    repeated = [(name, value) for name, value in pairs if not (rounded and counts(Pair(name, value)))]
    return bool(repeated) and all(
        value == (was := before.get(name, math.nan)) or (rounded and _is_rounded(value, was))
        for name, value in repeated
    )


def _is_rounded(one: float, other: float) -> bool:
    """Whether two numbers are equal up to the last decimal that both have, or to a ten-thousandth."""
    places = min(len(f"{number:.9f}".rstrip("0").partition(".")[2]) for number in (one, other))
    unit = 1.01 * 10.0**-places if places >= _FEWEST_DECIMALS else 0.0
    return abs(one - other) <= max(unit, _ROUNDED * abs(other))
