"""What a log tells again: by a second handler, in the summary of an epoch, or with a bar that is redrawn."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chronicle.readers.console.line_records import Record
from chronicle.readers.console.line_shapes import Reading
from chronicle.readers.console.pairs import Pair, counts, is_judged, is_known

_ROUNDED, _FEWEST_DECIMALS = 1e-4, 3  # by which a number is known again that was rounded
_REMAINING = re.compile(r"\[[\d:]+<")  # the clock of a bar: [00:12<01:10
_RATE = re.compile(r"([\d.]+)(?:it/s|s/it)")


class Repeats:
    """What was told last, and whether it is told again, which makes no other sample of it: by a second
    handler of the logger, by the summary of an epoch with fewer counters and digits, or by a `tqdm` bar that
    is drawn with the numbers of the last count, until `set_postfix` gives it new ones or it ends."""

    def __init__(self) -> None:
        self._last: tuple[Any, ...] = ((), (), 0, 0, "")  # names, values, place, counters, evaluation
        self._drawn = (-1.0, "", "")  # count, numbers, rate
        self._again, self._redraws = False, 0  # how much oftener such a bar was given numbers than not
        # names, step, count and values of the record before
        self._measured: tuple[tuple[str, ...], int, float, Mapping[str, float]] = ((), -1, -1.0, {})

    def again(self, record: Record) -> bool:
        """Whether a record tells nothing new; else it is kept. An evaluation goes on in uncounted lines."""
        text = record.sources[0].line.text
        if "<" in text and _REMAINING.search(text):
            return self._redrawn(record)
        names, values, at, n_counters, evaluation = self._last
        own, place = len(record.counters) + (record.epoch is not None), record.sources[0].at
        shared = {*names} & {*record.shape} if evaluation and not own and not record.is_block else ()
        if any(map(is_judged, shared)):
            record.evaluation = evaluation
        apart = record.counters or place != at or own < n_counters
        alike = apart and not record.is_block and record.evaluation == evaluation
        if alike and _holds(names, values, record, rounded=own < n_counters):
            return True
        if len(record.shape) == own:  # a heading: what was measured before it is what its summary says again
            self._last = names, values, at, n_counters, record.evaluation
        elif own or any(map(is_known, record.shape)):
            self._last = record.shape, record.values, place, own, record.evaluation
        return False

    def without_repeated(self, record: Record, step: int, values: dict[str, float]) -> dict[str, float]:
        """The values without those that a line with other names has just told of the same step, as rounded,
        unless another count stands beside them: `batch 3, loss: 2.5000` above `loss: 2.49999; part: 0.1`."""
        names, at_step, at_count, before = self._measured
        count = record.counters[0][1].value if record.counters else at_count
        self._measured = record.shape, step, count, values
        if (step, count) != (at_step, at_count) or record.shape == names:
            return values
        return {n: v for n, v in values.items() if n not in before or not _is_rounded(v, before[n])}

    def goes_on(self, told: Reading, n_counters: int) -> bool:
        """Whether what was told last was of the same form, and is told again only with equal numbers."""
        before = self._last[0], *self._last[2:]
        return before == (told.form.names, told.at, n_counters, told.form.evaluation)

    def pass_on(self, values: Sequence[float], step: int, count: float) -> None:
        """Keeps in mind the last of many records of the same form, no two of which are equal."""
        names = self._last[0]
        self._last = names, values, *self._last[2:]
        self._measured = names, step, count, dict(zip(names, values, strict=True))

    def _redrawn(self, record: Record) -> bool:
        """Whether a bar has the numbers that it had before, at the next count or at its end."""
        at = next((pair for pair in record.pairs if pair.name == "progress"), None)
        counted = ("progress", record.epoch.name if record.epoch else "")
        others = [pair.value for pair in record.pairs if pair.name not in counted]
        if at is None or not others:
            return False
        (count, numbers, rate), given = self._drawn, repr(others)  # NaN is NaN
        rates = _RATE.findall(record.sources[0].line.text)
        if self._again:  # what is given at the count of a redraw is new, whatever it is
            self._redraws += 1 if at.value == count else -1
        moved, ends = at.value != count, at.value == at.of
        drawn = (at.value, given, "".join(rates))
        closed = bool(rates) and not moved and drawn[2] != rate
        again = numbers == given and (ends or (self._redraws >= 0 and (moved or closed or not self._again)))
        self._drawn, self._again = drawn, again and moved
        return again


def _holds(names: Sequence[str], values: Sequence[float], record: Record, *, rounded: bool) -> bool:
    """Whether all that a record tells was told before; what a summary measured may be ``rounded``."""
    if not rounded and not (record.values and record.values[-1] in values):  # so are most
        return False
    before = dict(zip(names, values, strict=True))
    pairs = zip(record.shape, record.values, strict=True)
    told = [(name, value) for name, value in pairs if not (rounded and counts(Pair(name, value)))]
    return bool(told) and all(
        value == (was := before.get(name, math.nan)) or (rounded and _is_rounded(value, was))
        for name, value in told
    )


def _is_rounded(one: float, other: float) -> bool:
    """Whether two numbers are one, up to the last decimal that both have, or to a ten-thousandth."""
    places = min(len(f"{number:.9f}".rstrip("0").partition(".")[2]) for number in (one, other))
    unit = 1.01 * 10.0**-places if places >= _FEWEST_DECIMALS else 0.0
    return abs(one - other) <= max(unit, _ROUNDED * abs(other))
