"""Stage 5: the step of each record, by what counts in the log.

A `Plan` says which names count; `plan.py` makes it from a look at the log. A `Course` follows the records in
order and turns their counts into steps that continue over epochs, until a launch begins again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.console.counters import Epochs, Pair, axis_of, key_of
from chronicle.readers.console.line_records import Record
from chronicle.readers.console.line_shapes import Form

_NO_RANK = 1 << 30
_MOST_COUNTED = 2.0**53
_NO_STEPS = np.empty(0, np.int64)
_WHOLE_PASS = 0.9  # of the batches: if they restart after so many, the next epoch begins


@dataclass(frozen=True)
class Plan:
    """How a log is to be read. ``counters`` are the keys of what counts. ``phases``: words beside the names
    tell evaluations apart. ``twofold``: counters that tell both an epoch and, by what they count up to, a
    batch in it. ``outer`` names what counts the restarts of the counter in the same lines, as epochs do.
    ``stages``: counters of another stage of the training. If no name counts, rows are counted (``by_row``),
    or ``row_counter`` names what only grows; ``of_items``: each row is the result of a trial."""

    is_log: bool = False
    counters: frozenset[str] = frozenset()
    by_row: bool = False
    row_counter: str = ""
    of_items: bool = False
    phases: bool = False
    outer: str = ""
    twofold: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()


class Position(NamedTuple):
    """Where a log is: the step, and the epoch and the count from which it follows."""

    step: int | None
    epoch: float
    at_count: float


START = Position(None, 0.0, 0.0)


class Course:
    """Where a log is, record by record. Only the counters of the ``plan`` count. Where phases are told apart,
    an evaluation stands where the training is."""

    def __init__(self, plan: Plan) -> None:
        self.counter, self.axis = "", "step"
        self._plan = plan
        self._epochs = Epochs()
        self._rank = _NO_RANK  # of the best counter so far, which alone counts
        self._shape: tuple[str, ...] = ()  # of the last record that counted
        self.announce_launch()
        self.launch()

    def announce_launch(self) -> None:
        """A launch may begin here: an epoch that is named from now on is one of the new launch."""
        self._announced_epoch = 0.0

    def launch(self) -> None:
        """Starts anew, in the epoch that was named since the launch was announced, if there was one."""
        self.last: int | None = None
        self._epoch, self._n_epochs, self._epochs = self._announced_epoch, 0, Epochs(self._epochs.begun)
        self._counts_passes, self._epoch_named, self._beside_epoch = False, False, False
        self._counted_in_epoch = False  # whether the epoch that was named last has a count
        self._count = Pair("", -1.0)  # the last one
        self.announce_launch()

    @property
    def position(self) -> Position:
        return Position(self.last, self._epoch, self._count.value)

    def is_behind(self, before: Position, *, counted: bool) -> bool:
        """Whether the log is not further than it was, by its steps or by what was ``counted``."""
        if counted:
            return self._count.value <= before.at_count and (
                self._counts_passes or self._epoch <= before.epoch
            )
        if self.last is None or before.step is None or self.last <= before.step:
            return True
        return self._epoch < before.epoch

    def begins_stage(self, record: Record) -> bool:
        """Whether a record is of another stage, which has a counter of its own."""
        own = {key_of(pair) for _, pair in record.counters} & self._plan.counters
        current = self.counter.lower()
        if not (own and current) or current in own or not self._plan.stages & {current, *own}:
            return False
        self._rank = _NO_RANK
        return True

    def is_unnamed_evaluation(self, record: Record) -> bool:
        """Whether a record counts up to another end than the training: an evaluation, though no word says so.
        It lacks the epoch that the training tells beside its count, or it is the shorter loop of an epoch
        that a heading names."""
        pair, before = record.counters[0][1] if record.counters else self._count, self._count
        other_end = 0 < pair.of != before.of > 0 and pair.name == before.name and record.epoch is None
        return other_end and (self._beside_epoch or (self._counted_in_epoch and pair.of < before.of))

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether the record itself counts."""
        plan = self._plan
        if plan.outer and record.epoch is None:
            record.epoch = next((pair for pair in record.pairs if pair.name == plan.outer), None)
        epoch = record.epoch
        stands_still = plan.phases and bool(record.evaluation) and self.last is not None
        if epoch and math.isfinite(epoch.value) and not stands_still:
            if not self._epoch_named and self._count in (pair for _, pair in record.counters):
                self._epochs = Epochs()  # a bar that was drawn before its epoch was known is drawn again
            self._epoch, self._counts_passes, self._epoch_named = epoch.value, False, True
            self._counted_in_epoch = False
            self._announced_epoch, self._n_epochs = epoch.value, epoch.of
        known = False
        for rank, pair in record.counters:
            # In the next launch, a bar may have another end.
            is_same_bar = self.last is None and record.shape == self._shape
            if key_of(pair) in plan.counters or is_same_bar:
                known, self._shape = True, record.shape
                if rank <= self._rank and not (stands_still and self._is_other(pair)):
                    self._count_on(rank, pair, epoch is not None)
                    return self.last, True
        if epoch and self._rank == _NO_RANK and epoch.value == self._epoch // 1:
            self.last, self.axis, self.counter = int(self._epoch), "epoch", epoch.name
            return self.last, len(record.pairs) > 1
        return self.last, known

    def go_on(self, form: Form, values: Mapping[int, Floats], ends: Mapping[int, Steps]) -> Steps:
        """The steps of the first of many records of a form, as long as they do nothing but count on."""
        of = {place: int(ends[place][0]) if place in ends else 0 for _, place, _ in form.ranked}
        keys = {place: key_of(Pair(name, 0.0, of[place])) for _, place, name in form.ranked}
        counting = ((rank, place) for rank, place, _ in form.ranked if keys[place] in self._plan.counters)
        rank, at = next((best for best in counting if best[0] <= self._rank), (_NO_RANK, -1))
        before, used = self._count, [*of, *([form.epoch] if form.epoch >= 0 else [])]
        if rank != self._rank or at < 0 or any(place not in values for place in used):
            return _NO_STEPS
        is_other = (form.names[at], of[at]) != (before.name, before.of) or keys[at] in self._plan.twofold
        if is_other or not self._epochs.is_at(self._epoch) or _is_round(before):
            return _NO_STEPS
        counts = values[at]
        goes_on = counts > np.append(before.value, counts[:-1])
        for place, end in of.items():
            goes_on &= (values[place] % 1 == 0) & (values[place] >= 0) & (values[place] < _MOST_COUNTED)
            goes_on &= ends[place] == end if place in ends else True
        if form.epoch >= 0:
            goes_on &= (values[form.epoch] == self._epoch) & self._epoch_named
        n = len(counts) if goes_on.all() else int(goes_on.argmin())
        if not n:
            return _NO_STEPS
        steps = self._epochs.go_on(counts[:n].astype(np.int64))
        self.last, self._count = int(steps[-1]), before._replace(value=float(counts[n - 1]))
        begins_passes = before.of > 0 and not self._epoch
        self._counts_passes = form.epoch < 0 and (self._counts_passes or begins_passes)
        return steps

    def _is_other(self, pair: Pair) -> bool:
        """Whether a pair does not continue the last count: an evaluation may count its own batches."""
        before = self._count
        return key_of(pair) != key_of(before) or pair.of != before.of or pair.value < before.value

    def _count_on(self, rank: int, pair: Pair, has_epoch: bool) -> None:
        if self._begins_training(pair):
            self._announced_epoch = 1.0  # since the last epoch had the number of epochs, they count from 1
            self.launch()
        self._rank, self.counter, self.axis, self._beside_epoch = rank, pair.name, axis_of(rank), has_epoch
        self._counted_in_epoch = self._epoch_named
        if self._plan.twofold and key_of(pair) in self._plan.twofold:  # `Batch 3/100`: epoch 3, batch 100
            self._epoch, pair = pair.value, Pair(pair.name, pair.of)
        if _is_round(pair):
            self.last = int(pair.value)
        else:
            self.last = self._epochs.step(self._epoch_of(pair, has_epoch), int(pair.value), pair.of)
        self._count = pair

    def _begins_training(self, pair: Pair) -> bool:
        """Whether a count restarts in the last epoch of all, towards another end: another training."""
        before = self._count
        other_end = pair.name == before.name and 0 < before.of != pair.of > 0 and pair.value < before.value
        return other_end and 0 < self._n_epochs <= self._epoch

    def _epoch_of(self, pair: Pair, has_epoch: bool) -> float:
        """The epoch of a count; if none is ever named, whole passes over the batches are counted."""
        before = self._count
        if (
            (self._counts_passes or (not has_epoch and not self._epoch))
            and before.of
            and pair.of == before.of
        ):
            self._counts_passes = True
            self._epoch += pair.value < before.value and before.value >= _WHOLE_PASS * before.of
        return self._epoch


def _is_round(pair: Pair) -> bool:
    """Whether rounds of federated learning are counted, which contain epochs."""
    return pair.name.lower().endswith("round")
