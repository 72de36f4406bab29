"""How far a text log is: the step of each of its records, by what counts in it, and what is told again.

A record repeats another by a second handler of the logger, in the summary of an epoch, or with a bar that is
drawn anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.console.line_records import Record
from chronicle.readers.console.line_shapes import Form, Reading
from chronicle.readers.console.pairs import Epochs, Pair, axis_of, counts, is_judged, is_known, key_of

_NO_RANK = 1 << 30
_MOST_COUNTED = 2.0**53
_NO_STEPS = np.empty(0, np.int64)
_WHOLE_PASS = 0.9  # of the batches; where so many were seen and they begin again, that is the next epoch
_ROUNDED, _FEWEST_DECIMALS = 1e-4, 3  # by which a number is known again that was rounded
_REMAINING = re.compile(r"\[[\d:]+<")  # the clock of a bar: [00:12<01:10
_RATE = re.compile(r"([\d.]+)(?:it/s|s/it)")


@dataclass(frozen=True)
class Plan:
    """What a look at a log says of it. ``phases``: a word beside the names tells evaluations apart;
    ``twofold``: counters that tell an epoch and a batch in it. Where no name counts, rows are counted
    (``by_row``), or what ``row_counter`` names, which only grows; ``of_items``: each row is a result."""

    is_log: bool = False
    counters: frozenset[str] = frozenset()
    by_row: bool = False
    row_counter: str = ""
    of_items: bool = False
    phases: bool = False
    twofold: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()


class Course:
    """Where a log is: the step of each of its records, given in their order. Only the counters of the
    ``plan`` count. Where phases are told apart, an evaluation stands where the training is; a twofold counter
    tells the epoch and the batch in it (``Batch 3/100``, where no batch is the last)."""

    def __init__(self, plan: Plan) -> None:
        self.counter, self.axis = "", "step"
        self._plan = plan
        self._epochs = Epochs()
        self._rank = _NO_RANK
        self._shape: tuple[str, ...] = ()  # of the latest record that counted
        self.announce()
        self.launch()

    def is_left(self, record: Record) -> bool:
        """Whether a record is of another stage, which is counted by a name of its own."""
        own = {key_of(pair) for _, pair in record.counters} & self._plan.counters
        now = self.counter.lower()
        if not (own and now) or now in own or not self._plan.stages & {now, *own}:
            return False
        self._rank = _NO_RANK
        return True

    def is_aside(self, record: Record) -> bool:
        """Whether a record counts towards another end than the training, and leaves out the epoch that this
        tells beside its count: an evaluation, of which no word says so."""
        pair, before = record.counters[0][1] if record.counters else self._count, self._count
        other_end = 0 < pair.of != before.of > 0 and pair.name == before.name
        return other_end and record.epoch is None and self._tells_epoch

    def announce(self) -> None:
        """A launch may begin here: an epoch that is named from now on is one of the new launch."""
        self._epoch_since = 0.0

    def launch(self) -> None:
        """Begins anew, in the epoch that was named since the launch was announced, if there was one."""
        self.last: int | None = None
        self._epoch, self._n_epochs, self._epochs = self._epoch_since, 0, Epochs(self._epochs.begun)
        self._passes, self._epoch_logged, self._tells_epoch = False, False, False
        self._count = Pair("", -1.0)
        self.announce()

    @property
    def place(self) -> tuple[int | None, float, float]:
        """The step, and the epoch and the count that it was told by."""
        return self.last, self._epoch, self._count.value

    def is_behind(self, place: tuple[int | None, float, float], *, counted: bool) -> bool:
        """Whether the log is no further than it was, by its steps or by what was ``counted``."""
        step, epoch, count = place
        if counted:
            return self._count.value <= count and (self._passes or self._epoch <= epoch)
        return self.last is None or step is None or self.last <= step

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether it holds what counts in this log."""
        plan, epoch = self._plan, record.epoch
        evaluation = plan.phases and bool(record.evaluation)
        if epoch and math.isfinite(epoch.value) and not (evaluation and self.last is not None):
            if not self._epoch_logged and self._count in (pair for _, pair in record.counters):
                self._epochs = Epochs()  # a bar that was drawn before it knew its epoch is drawn again
            self._epoch, self._passes, self._epoch_logged = epoch.value, False, True
            self._epoch_since, self._n_epochs = epoch.value, epoch.of
        known = False
        for rank, pair in record.counters:
            # of the next launch, a bar may have another end
            resized = self.last is None and record.shape == self._shape
            if key_of(pair) in plan.counters or resized:
                known, self._shape = True, record.shape
                if rank <= self._rank and not (evaluation and self.last is not None and self._is_other(pair)):
                    self._count_on(rank, pair, epoch is not None)
                    return self.last, True
        if epoch and self._rank == _NO_RANK and epoch.value == self._epoch // 1:
            self.last, self.axis, self.counter = int(self._epoch), "epoch", epoch.name
            return self.last, len(record.pairs) > 1
        return self.last, known

    def go_on(self, form: Form, values: Mapping[int, Floats], ends: Mapping[int, Steps]) -> Steps:
        """The steps of the first of many records of a form, as long as they only count on."""
        of = {place: int(ends[place][0]) if place in ends else 0 for _, place, _ in form.ranked}
        keys = {place: key_of(Pair(name, 0.0, of[place])) for _, place, name in form.ranked}
        counting = ((rank, place) for rank, place, _ in form.ranked if keys[place] in self._plan.counters)
        rank, at = next((best for best in counting if best[0] <= self._rank), (_NO_RANK, -1))
        before, others = self._count, [values.get(place) for place in (*of, *[form.epoch][form.epoch < 0 :])]
        if rank != self._rank or at < 0 or any(column is None for column in others):
            return _NO_STEPS
        is_other = (form.names[at], of[at]) != (before.name, before.of) or keys[at] in self._plan.twofold
        if is_other or not self._epochs.is_at(self._epoch) or before.name.lower().endswith("round"):
            return _NO_STEPS
        counts = values[at]
        goes_on = counts > np.append(before.value, counts[:-1])
        for place, end in of.items():
            goes_on &= (values[place] % 1 == 0) & (values[place] >= 0) & (values[place] < _MOST_COUNTED)
            goes_on &= ends[place] == end if place in ends else True
        if form.epoch >= 0:
            goes_on &= (values[form.epoch] == self._epoch) & self._epoch_logged
        n = len(counts) if goes_on.all() else int(goes_on.argmin())
        if not n:
            return _NO_STEPS
        steps = self._epochs.go_on(counts[:n].astype(np.int64))
        self.last, self._count = int(steps[-1]), before._replace(value=float(counts[n - 1]))
        self._passes = form.epoch < 0 and (self._passes or (before.of > 0 and not self._epoch))
        return steps

    def _is_other(self, pair: Pair) -> bool:
        """Whether a pair does not go on from the last count: an evaluation may count its own batches."""
        before = self._count
        return key_of(pair) != key_of(before) or pair.of != before.of or pair.value < before.value

    def _count_on(self, rank: int, pair: Pair, has_epoch: bool) -> None:
        if self._is_over(pair):
            self._epoch_since = 1.0  # as that was the last one, epochs count from 1
            self.launch()
        self._rank, self.counter, self.axis, self._tells_epoch = rank, pair.name, axis_of(rank), has_epoch
        if self._plan.twofold and key_of(pair) in self._plan.twofold:
            self._epoch, pair = pair.value, Pair(pair.name, pair.of)
        if pair.name.lower().endswith("round"):  # of federated learning: epochs are within it
            self.last = int(pair.value)
        else:
            self.last = self._epochs.step(self._pass(pair, has_epoch), int(pair.value), pair.of)
        self._count = pair

    def _is_over(self, pair: Pair) -> bool:
        """Whether a count begins anew in the last of all epochs, towards another end: of another training."""
        before = self._count
        other_end = pair.name == before.name and 0 < before.of != pair.of > 0 and pair.value < before.value
        return other_end and 0 < self._n_epochs <= self._epoch

    def _pass(self, pair: Pair, has_epoch: bool) -> float:
        """The epoch of a counter; where none is ever told, whole passes over the batches are counted."""
        before = self._count
        if (self._passes or (not has_epoch and not self._epoch)) and before.of and pair.of == before.of:
            self._passes = True
            self._epoch += pair.value < before.value and before.value >= _WHOLE_PASS * before.of
        return self._epoch


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

    def is_repeat(self, record: Record) -> bool:
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

    def goes_on(self, reading: Reading) -> bool:
        """Whether what was told last was of the same form, and is told again only with equal numbers."""
        form, before = reading.form, (self._last[0], *self._last[2:])
        return before == (form.names, reading.at, form.n_counters, form.evaluation)

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
    repeated = [(name, value) for name, value in pairs if not (rounded and counts(Pair(name, value)))]
    return bool(repeated) and all(
        value == (was := before.get(name, math.nan)) or (rounded and _is_rounded(value, was))
        for name, value in repeated
    )


def _is_rounded(one: float, other: float) -> bool:
    """Whether two numbers are one, up to the last decimal that both have, or to a ten-thousandth."""
    places = min(len(f"{number:.9f}".rstrip("0").partition(".")[2]) for number in (one, other))
    unit = 1.01 * 10.0**-places if places >= _FEWEST_DECIMALS else 0.0
    return abs(one - other) <= max(unit, _ROUNDED * abs(other))
