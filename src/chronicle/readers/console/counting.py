"""Stage 5 of reading console text: finds the step of each record, by what counts in the log.

A `Plan` says which names count; `plan.py` makes it from a look at the log. A `Counting` follows the records
in order and turns their counts into steps that continue over epochs, until a launch begins again.

A record that repeats another one is no second sample: one that came through a second handler of the logger,
stands in the summary of an epoch (with fewer counters and digits), or in a `tqdm` bar that is redrawn with
the numbers of the last count, until `set_postfix` gives it new ones or it ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.console.line_records import IS_OVER, OF_TRAINING, Record
from chronicle.readers.console.line_shapes import Form, Plan, Reading, is_round
from chronicle.readers.console.pairs import PROGRESS, Pair, counts, is_judged, is_known, key_of
from chronicle.readers.step_axis import axis_of_rank, rank_of_name, step_rank

_NO_RANK = 1 << 30
_MOST_COUNTED = 2.0**53
_NO_COUNT = Pair("", -1.0)
LABEL = "label"  # names the number in front of lines, where that counts the rows
_NO_STEPS = np.empty(0, np.int64)
_FEWEST_EPOCHS = 4  # of a training that has no steps; fewer are settings (`epoch: 50`)
_HEADING = re.compile(r"\d\s?[:.)-]{1,2} {1,3}[^\W\d_]{2}")  # `Step 2: Training`
_WHOLE_PASS = 0.9  # of the batches: if they restart after so many, the next epoch begins


def rank_of(pair: Pair) -> int:
    """How well a pair counts, 0 is best; an epoch in rounds counts as a step does that is called so."""
    rank = rank_of_name(pair.name)
    return (step_rank("epoch") or 0) if rank is None else rank


class Epochs:
    """Turns steps that restart in each epoch into one count.

    An epoch is as long as its last step says, and one interval between steps longer if the next one counts
    from 0, as in `step_axis.steps_per_epoch`. An epoch that was there before starts where it started then,
    and so does the first one of a later launch. ``earlier`` has the first steps of the launches before.
    """

    def __init__(self, earlier: Mapping[float, int] | None = None) -> None:
        self.epoch: float | None = None
        self._earlier = earlier or {}
        self._begun: dict[float, int] = {}
        self._offset = 0  # steps before the current epoch
        self._step = 0  # the last step within it
        self._first_step = 0  # of all
        self._interval = 1  # between its last two steps
        self._has_equal_steps = False  # whether a step occurs several times in an epoch

    @property
    def begun(self) -> dict[float, int]:
        """The step at which each epoch began, in this launch and in those before."""
        return {**self._earlier, **self._begun}

    def go_on(self, steps: Steps) -> Steps:
        """The steps over all epochs of many steps, which only grow and belong to the current epoch."""
        before = int(steps[-2]) if len(steps) > 1 else self._step
        if (last := int(steps[-1])) > self._step:  # else an evaluation counts its own batches
            self._step, self._interval = last, last - before
        return self._offset + steps

    def step(self, epoch: float, step: int, length: int = 0) -> int:
        """The step over all epochs; ``length`` is how many steps an epoch has, 0 if that is not known."""
        is_full = 0 < _WHOLE_PASS * length <= self._step
        if step == 0 and epoch == self.epoch and is_full:  # drawn empty before its next epoch is named
            return self._offset + length
        if self.epoch is None:
            self._enter_first(epoch, step, length)
        elif epoch != self.epoch:
            self._enter(epoch, step, length, self.epoch)
        elif step > self._step:
            self._interval = step - self._step
        elif step == self._step:
            self._has_equal_steps = True
        self._step = step if epoch != self.epoch else max(step, self._step)
        self._begun[epoch], self.epoch = self._offset, epoch
        return self._offset + step

    def _enter_first(self, epoch: float, step: int, length: int) -> None:
        """Enters the first epoch of a launch, which began in an earlier one if it is not the first of all."""
        self._first_step = step
        if epoch > (first_epoch := min(self._earlier, default=math.inf)):
            self._offset = length * int(epoch - first_epoch) or self._earlier.get(epoch, 0)
        else:
            self._interval = max(step, 1)

    def _enter(self, epoch: float, step: int, length: int, epoch_before: float) -> None:
        """Enters another epoch: a later one begins where the one before ended if its steps restart, and one
        that was there before where it began then."""
        is_later = epoch > epoch_before
        # An equal step is the same place in a later epoch, unless a step occurs several times in each.
        is_same_place = (length > 0 and self._offset > 0) or not self._has_equal_steps
        restarts = is_later and (step < self._step or (step == self._step and is_same_place))
        n_passed = self._n_steps_between(epoch_before, epoch, step, length) if restarts else 0
        offset = self._offset + n_passed if epoch > min(self.begun) else 0
        if not (restarts and length):  # a length that is known may have changed since
            # Epoch 0 of an earlier launch is that of this one only if this one goes back to it.
            offset = (self._begun if is_later else self.begun).get(epoch, offset)
        self._offset = offset
        if not is_later and epoch == min(self._begun) and step <= self._first_step:
            self._earlier, self._begun = self.begun, {}  # from the start: the epochs may be longer now

    def _n_steps_between(self, before: float, after: float, first_step: int, length: int) -> int:
        """How many steps lie between the begins of two epochs, of which the later one is now entered."""
        if 0 < length >= self._step - self._interval:  # else there were more than it announced
            return length * max(1, int(after - before))  # those between may have logged nothing new
        return self._step + (self._interval if first_step <= 0 else 0)


Position = tuple[int | None, float, float]  # the step, and the epoch and the count from which it follows


@dataclass
class _Launch:
    """Where the launch is that is under way."""

    epochs: Epochs
    epoch: float = 0.0  # of the next count
    n_epochs: int = 0  # as the last line with an epoch says
    last: int | None = None  # step
    count: Pair = _NO_COUNT  # the last one
    distance: float = 0.0  # of the last two counts that were logged in full
    aside: Pair = _NO_COUNT  # the first count of the epoch, where epochs are counted instead
    bar: str = ""  # the key of its bar, if that has another end than those before
    after_epoch: float = 0.0  # how much later than an epoch whose mean is logged the next batches are
    epoch_named: bool = False
    beside_epoch: bool = False  # whether the epoch is named next to the count
    counted_in_epoch: bool = False  # whether the epoch that was named last has a count
    counts_passes: bool = False  # whether whole passes over the batches are the epochs


class Counting:
    """Where a log is, record by record. Where phases are told apart, an evaluation stands at the training."""

    def __init__(self, plan: Plan) -> None:
        self.counter, self.axis = "", "step"
        self._plan = plan
        self._rank = _NO_RANK  # of the best counter so far, which alone counts
        self._shape: tuple[str, ...] = ()  # of the last record that counted
        self._ends = set[int]()  # the numbers of epochs that were named
        self._now = _Launch(Epochs())
        self.announce_launch()

    def announce_launch(self) -> None:
        """A launch may begin here: an epoch that is named from now on is one of the new launch."""
        self._announced_epoch = 0.0

    def launch(self) -> None:
        """Begins a launch, in the epoch that was named since it was announced, if there was one."""
        self._now = _Launch(Epochs(self._now.epochs.begun), self._announced_epoch)
        self.announce_launch()

    @property
    def position(self) -> Position:
        return self._now.last, self._now.epoch, self._now.count.value

    def is_behind(self, before: Position, *, counted: bool) -> bool:
        """Whether the log is not further than it was, by its steps or by what was ``counted``."""
        now, (step, epoch, count) = self._now, before
        if counted:
            return (now.counts_passes or now.epoch <= epoch) and now.count.value <= count
        has_grown = now.last is not None and step is not None and now.last > step
        return not has_grown or now.epoch < epoch

    def has_begun_pass(self, before: Position) -> bool:
        """Whether whole passes over the batches are counted as epochs, and one has begun since."""
        return self._now.counts_passes and self._now.epoch > before[1]

    def begins_stage(self, record: Record, steps: Sequence[int]) -> bool:
        """Whether a record is of another stage, which has a counter of its own, or the first one where epochs
        that begin again had none. ``steps`` are those of the rows so far."""
        if not self._plan.stages and self._rank != _NO_RANK:
            return False
        own = {key_of(pair) for pair in record.counters} & self._plan.counters
        current = key_of(self._now.count)
        if own and record.epoch and self._rank == _NO_RANK and self.counter:
            return record.epoch.value < self._now.epoch and len({*steps}) >= _FEWEST_EPOCHS
        if not (own and self.counter) or current in own or not self._plan.stages & {current, *own}:
            return False
        self._rank = _NO_RANK
        return True

    def ends_elsewhere(self, record: Record) -> bool:
        """Whether a record names an epoch that was there before, of a number of epochs that was not: it is of
        another launch. Numbers that alternate are those of loops in each other."""
        epoch = None if record.evaluation else record.epoch
        return epoch is not None and epoch.of not in {0, *self._ends} and 0 < epoch.value <= self._now.epoch

    def is_unnamed_evaluation(self, record: Record, *, announced: bool) -> bool:
        """Whether a record counts up to another end than the training: an evaluation. It does not name the
        epoch, as the training does next to its count, or measures nothing else; or it is the shorter loop of
        an epoch that a heading names. If it was ``announced``, it is the next loop, however long."""
        now = self._now
        own = (pair for pair in record.counters if pair.name == now.count.name)
        is_inside = record.epoch.value == now.epoch if record.epoch else now.counted_in_epoch
        if is_inside and any(map(self._is_other, own)) and record.measures_evaluations:
            return True
        before = now.count if now.count.of else now.aside
        pair = record.counters[0] if record.counters else before
        is_loop = pair.of > 0 < before.of and pair.name == before.name and record.epoch is None
        in_epoch, other_end = now.counted_in_epoch or before is now.aside, pair.of != before.of
        if is_loop and announced and record.counters and now.epoch_named and in_epoch:
            return other_end or pair.value <= before.value
        return is_loop and other_end and (now.beside_epoch or (in_epoch and pair.of < before.of))

    def step(self, record: Record) -> tuple[int | None, bool]:
        """The step of a record, None before the first, and whether the record itself counts."""
        self._take_outer_for_epoch(record)
        self._begin_next(record)
        now, plan, epoch, is_known = self._now, self._plan, record.epoch, False
        stands_still = plan.phases and bool(record.evaluation) and now.last is not None
        if epoch and math.isfinite(epoch.value) and not stands_still:
            self._enter_epoch(epoch, record)
        for logged in record.counters:
            pair = logged._replace(name=plan.alike.get(key_of(logged), logged.name))
            is_next = record.shape == self._shape
            if now.last is None and is_next:  # in the next launch, a bar may have another end
                now.bar = key_of(pair)
            if key_of(pair) not in {*plan.counters, now.bar} or self._is_setting(record, pair):
                continue
            is_known, self._shape = True, record.shape
            if rank_of(pair) <= self._rank and not (stands_still and self._is_other(pair)):
                self._count_on(self._in_full(pair, is_next=is_next), epoch is not None)
                return self._now.last, True
        if record.counters and not is_known and not now.aside.of:
            now.aside = record.counters[0]
        if epoch and self._rank == _NO_RANK and epoch.value == now.epoch // 1:
            now.last, self.axis, self.counter = int(now.epoch), "epoch", epoch.name
            return now.last, len(record.pairs) > 1
        return now.last, is_known

    def _take_outer_for_epoch(self, record: Record) -> None:
        """Takes what counts the restarts of the epochs, such as a round, for the epoch of a record, and its
        epoch for a step in it."""
        name = self._plan.outer
        outer = next((pair for pair in record.pairs if pair.name == name), None) if name else None
        if outer is not None and record.epoch:
            record.counters = [record.epoch]
        record.epoch = outer or record.epoch

    def _enter_epoch(self, epoch: Pair, record: Record) -> None:
        """What follows is of the ``epoch`` that a record names, or of the next one if the record gives the
        mean or the end of an epoch whose batches came before."""
        now = self._now
        counts = {(key_of(pair), pair.value) for pair in record.counters}
        if not now.epoch_named and (key_of(now.count), now.count.value) in counts:
            now.epochs = Epochs()  # the same count was logged, as by a bar, before its epoch was named
        tells_end = any(map(is_judged, record.shape)) or IS_OVER.search(record.words)
        is_mean = bool(tells_end) and not record.counters
        if is_mean and not (now.epoch_named or epoch.value) and now.last is not None:
            now.after_epoch = 1.0
        now.counted_in_epoch &= epoch.value == now.epoch
        now.epoch, now.n_epochs = epoch.value + now.after_epoch * is_mean, epoch.of
        now.epoch_named, now.counts_passes = True, False
        now.aside = _NO_COUNT
        self._announced_epoch = epoch.value
        self._ends.add(epoch.of)

    def _begin_next(self, record: Record) -> None:
        """Begins a launch where the epochs begin again after the last of all, or at the first if nobody tells
        how many there are, and a bar has another end: another model is trained now, as a probe of a first."""
        now, epoch = self._now, record.epoch
        bar = next((pair for pair in record.counters if pair.name == now.count.name), _NO_COUNT)
        ended = epoch is not None and now.epoch > epoch.value <= max(now.n_epochs, 1) <= now.epoch + 1
        if epoch and ended and 0 < bar.of != now.count.of > 0 and not record.evaluation:
            self._announced_epoch = epoch.value
            self.launch()
            self._now.bar = key_of(bar)

    def _is_setting(self, record: Record, pair: Pair) -> bool:
        """Whether nothing has counted yet, and a count stands behind other whole numbers, as a size does
        (`Images: 5000, Batch: 8`); or no step has, and it stands before other words, as that of a stage."""
        if record.epoch or record.is_block:
            return False
        if record.shape[0] == pair.name:
            is_heading = _HEADING.search(record.words) and not any(map(is_judged, record.shape))
            return bool(is_heading) and self._rank == _NO_RANK and key_of(pair) in self._plan.beside_metrics
        is_whole = not any(value % 1 for value in record.values)
        return self._now.last is None and is_whole and record.shape not in self._plan.moving

    def go_on(self, form: Form, values: Mapping[int, Floats], ends: Mapping[int, int]) -> Steps:
        """The steps of the first of many records of a form, as long as they do nothing but count on."""
        of = {at: ends.get(at, 0) for _, at, _ in form.ranked}
        keys = {at: key_of(Pair(name, 0.0, of[at])) for _, at, name in form.ranked}
        known = {*self._plan.counters, self._now.bar}
        counting = ((rank, at) for rank, at, _ in form.ranked if keys[at] in known and rank <= self._rank)
        rank, at = next(counting, (_NO_RANK, -1))
        now, before, used = self._now, self._now.count, [*of, *([form.epoch] if form.epoch >= 0 else [])]
        if rank != self._rank or at < 0 or any(place not in values for place in used):
            return _NO_STEPS
        is_other = (form.names[at], of[at]) != (before.name, before.of) or keys[at] in self._plan.twofold
        if is_other or not (_is_global(before.name) or now.epochs.epoch == now.epoch):
            return _NO_STEPS
        counts = values[at]
        goes_on = counts > np.append(before.value, counts[:-1])
        for place in of:
            goes_on &= (values[place] % 1 == 0) & (values[place] >= 0) & (values[place] < _MOST_COUNTED)
        if form.epoch >= 0:
            goes_on &= (values[form.epoch] == now.epoch) & now.epoch_named
        n = len(counts) if goes_on.all() else int(goes_on.argmin())
        if not n:
            return _NO_STEPS
        own_steps = counts[:n].astype(np.int64)
        steps = own_steps if _is_global(before.name) else now.epochs.go_on(own_steps)
        now.last, now.count = int(steps[-1]), before._replace(value=float(counts[n - 1]))
        now.counts_passes = form.epoch < 0 and (now.counts_passes or (before.of > 0 and not now.epoch))
        return steps

    def _is_other(self, pair: Pair) -> bool:
        """Whether a pair does not continue the last count: an evaluation may count its own batches."""
        before = self._now.count
        return key_of(pair) != key_of(before) or pair.of != before.of or pair.value < before.value

    def _in_full(self, pair: Pair, *, is_next: bool) -> Pair:
        """A count in thousands (``12K``) as the one that is meant if the distance of full counts goes on."""
        before = self._now.count
        expected = before.value + self._now.distance * is_next
        if pair.unit and before is not _NO_COUNT:
            return pair._replace(value=expected) if abs(expected - pair.value) < pair.unit else pair
        if pair.name == before.name and not before.unit and pair.value > before.value >= 0:
            self._now.distance = pair.value - before.value
        return pair

    def _count_on(self, pair: Pair, has_epoch: bool) -> None:
        now, before = self._now, self._now.count
        restarts = pair.name == before.name and 0 < before.of != pair.of > 0 and pair.value < before.value
        if restarts and 0 < now.n_epochs <= now.epoch:  # towards another end: another training
            self._announced_epoch = 1.0  # since the last epoch had the number of epochs, they count from 1
            self.launch()
            now = self._now
        self._rank, self.counter = rank_of(pair), pair.name
        self.axis = axis_of_rank(self._rank)
        now.beside_epoch, now.counted_in_epoch = has_epoch, now.epoch_named
        if self._plan.twofold and key_of(pair) in self._plan.twofold:  # `Batch 3/100`: epoch 3, batch 100
            now.epoch, pair = pair.value, Pair(pair.name, pair.of)
        if _is_global(pair.name):
            now.last = int(pair.value)
        else:
            is_other = (pair.name, pair.of) != (before.name, before.of)
            begins_another = is_other and not (pair.value or has_epoch)  # which is no next pass of this one
            from_zero = pair.value == 0 and before.value == before.of and pair.name != PROGRESS  # 9/9, 0/9
            length = 0 if begins_another else pair.of + from_zero
            now.last = now.epochs.step(self._epoch_of(pair, has_epoch), int(pair.value), length)
        now.count = pair

    def _epoch_of(self, pair: Pair, has_epoch: bool) -> float:
        """The epoch of a count; if none is ever named, whole passes over the batches are counted."""
        now, before = self._now, self._now.count
        counts_passes = now.counts_passes or not (has_epoch or now.epoch)
        is_same = (pair.name, pair.of) == (before.name, before.of)
        if counts_passes and is_same and pair.of not in {0, *self._plan.ends}:
            now.counts_passes = True
            now.epoch += pair.value < before.value and before.value >= _WHOLE_PASS * before.of
        return now.epoch


def _is_global(name: str) -> bool:
    """Whether no epoch begins the count again: if it falls, another training has begun."""
    return is_round(name) or name.lower().startswith("global")


_ROUNDED, _FEWEST_DECIMALS = 1e-4, 3  # by which a number is recognised that was rounded
_SELDOM = 256  # draws with new numbers, of which even a fast bar has one with the old ones
_BAR_CLOCK = re.compile(r"\[[\d:]+<")  # [00:12<01:10
_BAR_RATE = re.compile(r"([\d.]+)(?:it/s|s/it)")


class _Said(NamedTuple):
    """What a record said: names and values, the place where the words of its line begin, the number of
    counters, and whether it is of an evaluation."""

    names: Sequence[str] = ()
    values: Sequence[float] = ()
    start: int = 0
    n_counters: int = 0
    evaluation: str = ""


class Repeats:
    """What was printed last, and whether it is printed again."""

    def __init__(self) -> None:
        self._last, self._was_redrawn = _Said(), False
        self._drawing = -1.0, 0, "", ""  # the count of a bar and its end, its other numbers, and its rates
        # The names of a record, its step, count and values, and whether it was a bar.
        self._measured: tuple[Sequence[str], int, float, Mapping[str, float], bool] = (), -1, -1.0, {}, False
        self._n_redraws = dict[int, float]()  # by the end of a bar: seen at a count, minus how often not

    def is_repeat(self, record: Record) -> bool:
        """Whether a record says nothing new. One without a counter may continue an evaluation."""
        if _is_drawn(record):
            return self._is_redrawn(record)
        last, start = self._last, record.line.start
        n_counters = len(record.counters) + (record.epoch is not None)
        shared = {*last.names} & {*record.shape} if not (n_counters or record.is_block) else ()
        may_go_on = not record.evaluation and not OF_TRAINING.match(record.words)
        if last.evaluation and may_go_on and any(map(is_judged, shared)):
            record.evaluation = last.evaluation
        is_summary = n_counters < last.n_counters
        comparable = record.counters or start != last.start or is_summary
        comparable = comparable and not {*last.values}.isdisjoint(record.values)  # settles most records
        if comparable and not record.is_block and record.evaluation == last.evaluation:
            named = zip(record.shape, record.values, strict=True)
            said = {pair for pair in named if not (is_summary and counts(Pair(*pair)))}
            if said and said.issubset(zip(last.names, last.values, strict=True)):
                return True
        if len(record.shape) == n_counters:  # a heading: the summary below it is of what came before it
            self._last = _Said(last.names, last.values, last.start, last.n_counters, record.evaluation)
        elif n_counters or any(map(is_known, record.shape)):
            self._last = _Said(record.shape, record.values, start, n_counters, record.evaluation)
        return False

    def without_repeated(self, record: Record, step: int, values: dict[str, float]) -> dict[str, float]:
        """The values without those that a line with other names has just logged of the same step and count,
        rounded or not: `batch 3, loss: 2.5000` above `loss: 2.49999; part: 0.1`."""
        names, step_before, count_before, known, was_bar = self._measured
        is_bar = _is_drawn(record)
        counts_on = record.counters and record.counters[0].name != PROGRESS  # a bar may lag behind
        count = record.counters[0].value if counts_on else count_before
        self._measured = record.shape, step, count, values, is_bar
        if (step, count) != (step_before, count_before) or record.shape == names or (is_bar and was_bar):
            return values  # what a bar shows again is left out when all of it is known
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
        self._measured = names, step, count, dict(zip(names, values, strict=True)), False

    def _is_redrawn(self, record: Record) -> bool:
        """Whether a bar has the numbers that it had before, at the next count or at its end."""
        bar = next((pair for pair in record.pairs if pair.name == PROGRESS), None)
        names = (PROGRESS, record.epoch.name if record.epoch else "")
        numbers = [pair.value for pair in record.pairs if pair.name not in names]
        if bar is None or not numbers:
            return False
        count_before, of_before, numbers_before, rates_before = self._drawing
        rates, text = "".join(_BAR_RATE.findall(record.line.text)), repr(numbers)  # NaN equals NaN
        moved, at_end = bar.value != count_before, bar.value == bar.of
        if bar.of == of_before and (self._was_redrawn or (moved and text != numbers_before)):
            weight = 1 - 2 * moved if self._was_redrawn else -1 / _SELDOM
            self._n_redraws[bar.of] = self._n_redraws.get(bar.of, 0) + weight
        is_closed = bool(rates) and not moved and rates != rates_before
        may_be_redraw = self._n_redraws.get(bar.of, 0) > -1 and (moved or is_closed or not self._was_redrawn)
        is_redrawn = text == numbers_before and (at_end or may_be_redraw)
        self._drawing, self._was_redrawn = (bar.value, bar.of, text, rates), is_redrawn and moved
        return is_redrawn


def _is_drawn(record: Record) -> bool:
    """Whether a record is that of a bar, which is drawn again and again."""
    text = record.line.text
    return "<" in text and _BAR_CLOCK.search(text) is not None


def _is_rounded(one: float, other: float) -> bool:
    """Whether two numbers are equal up to the last decimal that both have, or to a ten-thousandth."""
    places = min(len(f"{number:.9f}".rstrip("0").partition(".")[2]) for number in (one, other))
    unit = 1.01 * 10.0**-places if places >= _FEWEST_DECIMALS else 0.0
    return abs(one - other) <= max(unit, _ROUNDED * abs(other))
