"""Finds the column of a table that counts the steps, and the step at which each of its rows stands.

A table may hold several counters: calls of a tracker beside optimizer steps, steps beside epochs. One is the
axis; the others tell the steps of rows in which it is blank. Steps that begin anew in each epoch go on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics.aliases import (
    CONSOLE_IN_EPOCH_NAMES,
    EPOCH_NAMES,
    IN_EPOCH_NAMES,
    LAUNCH_NAMES,
    STEP_NAMES,
    word_set,
)
from chronicle.metrics.arithmetic import any_numbers, median
from chronicle.metrics.names import role_of
from chronicle.model import Fault, Floats, Mask, Place, Role, Steps
from chronicle.readers.text import clean

MANY = 4  # values of another counter between two steps: more than a single evaluation
MOSTLY = 0.5  # share of the steps of a second counter within the range of the first, if they count the same

_CACHED_NAMES = 1 << 17  # each is looked up several times
_WRONG_STEPS_SHARE = 0.05  # of the cells of a step column may hold no whole number: that is damage
_WRONG_EPOCHS_SHARE = 0.01  # of the cells of an epoch column may hold no epoch
_LEAST_FALL_SHARE = 0.05  # of the range of the middle 80 %: by so much an amount usually falls
_RISES_PER_FALL = 4  # at least, of a counter that falls without beginning again
_FAR_MOVES = 2.0  # of a learning rate, the largest: a schedule that begins again is not so far from its begin
_RESTARTS_SHARE = 0.8  # of the epochs that begin below the end of the one before, if each counts its steps
_RANK = {name: rank for rank, (name, _) in enumerate(STEP_NAMES)}
_BETWEEN_WORDS = re.compile(r"[\s.\-]+")
_NUMBER_OF = re.compile(r"(?:num|number)_of_")
# Behind what is counted: "iteration index", `step_count`.
ITS_NUMBER = re.compile(r"(?<=[a-z])[ _](?:index|idx|number|id)$|(?<=step|date|tion|iter)_(?:counte?r?|num)$")
_NUMBERS = ("index", "idx", "number", "id", "count", "counter", "num")  # with which these end
_TOTAL_PREFIXES = ("max_", "total_", "num_")  # what it counts up to: `global_step/max_steps`
_COUNTERS = {*IN_EPOCH_NAMES, *EPOCH_NAMES}  # of what may begin again
_TRACKER_STEP = "_step"  # counts calls of the tracker: any step that the trainer counts is preferred

EPOCH_WORDS = ("epoch", "ep")
# Words that make a counter's name one that does not count: "best step", "save every 100 steps".
_NO_COUNT = word_set("""
    accum accumulation best checkpoint every final first fps grad gradient inner last log max min n next num
    patience per ppo save saved total until warmup
""")
_LENGTHS = {"episode steps", "episode_steps"}  # how many an episode has
_IN_BRACKETS = re.compile(r"\(\w*\)$")
_N_STEP_RANKS = 2 * len(STEP_NAMES)  # of `step_rank`; names that only count in a console come after these


@lru_cache(maxsize=_CACHED_NAMES)
def column_key(name: str) -> str:
    """The form in which names are compared: in lower case, with `_` for blanks, dots and dashes, and `num_`
    for `number_of_`."""
    key = _BETWEEN_WORDS.sub("_", name.strip().lower())
    return _NUMBER_OF.sub("num_", key, count=1) if "_of_" in key else key


def names_one_of(name: str, names: Collection[str]) -> bool:
    """Whether a column has one of these names, or that of a number of one: `episode_id`."""
    return (key := column_key(name)) in names or _without_number(key) in names


def _without_number(key: str) -> str:
    """The name of what is counted, without a word for its number at the end. 100,000 columns ask for it."""
    return ITS_NUMBER.sub("", key) if key.endswith(_NUMBERS) else key


@lru_cache(maxsize=_CACHED_NAMES)
def step_rank(name: str) -> int | None:
    """How well a name says that the column counts steps (0 is best); None where it does not."""
    of, _, total = name.rpartition("/")
    if total.startswith(_TOTAL_PREFIXES) and total.isidentifier() and column_key(of) in _RANK:
        name = of
    last, below = _counted_in(name[name.rfind("/") + 1 :])
    if not last and not below:
        return None
    counted = _of_number(name)
    if counted in _RANK:
        return _RANK[counted] + (len(_RANK) if counted == _TRACKER_STEP else 0)
    return len(_RANK) + _RANK[below] if below and below != "epoch" else None


@lru_cache(maxsize=4096)
def rank_of_name(name: str) -> int | None:
    """How well a name in a console counts steps (0 is best); None where it does not, or counts epochs."""
    name = _IN_BRACKETS.sub("", name)
    rank, last = step_rank(name), last_word(name.replace("-", "_"))
    if last in EPOCH_WORDS or name.lower() in _LENGTHS:
        return None
    if rank is None and may_count(name):
        rank = step_rank(last) if " " in name else None
        if rank is None and last in CONSOLE_IN_EPOCH_NAMES:
            rank = _N_STEP_RANKS + CONSOLE_IN_EPOCH_NAMES.index(last)
    return rank


@lru_cache(maxsize=4096)
def last_word(name: str) -> str:
    """The last word of a name in lower case, without what stands in brackets behind it, or `index`."""
    return re.split(r"[\s/.]", ITS_NUMBER.sub("", _IN_BRACKETS.sub("", name.lower())))[-1]


def may_count(name: str) -> bool:
    """Whether no word of a name says that it is a setting or a record: "best step", "steps per epoch"."""
    return _NO_COUNT.isdisjoint(re.split(r"[\s/._]", name.lower()))


def axis_of_rank(rank: int) -> str:
    """What a counter of this rank counts."""
    return STEP_NAMES[rank % len(STEP_NAMES)][1] if rank < _N_STEP_RANKS else "step"


def _of_number(name: str) -> str:
    key = column_key(name)
    return key if key in _RANK else _without_number(key)


@lru_cache(maxsize=_CACHED_NAMES)
def _counted_in(level: str) -> tuple[str, str]:
    """The names of what the last level of a name counts: as a whole, and behind its last dot; "" for nothing.
    Most of 100,000 columns share theirs with others."""
    keys = map(_of_number, (level, level[level.rfind(".") + 1 :]))
    counted, below = (key if key in _RANK else "" for key in keys)
    return counted, below


def counts_steps(name: str) -> bool:
    """Whether a column of this name counts steps, samples, tokens or epochs."""
    return step_rank(name) is not None


def counted_by(name: str) -> str:
    """What a column of this name counts: step, sample, token or epoch; "" for none that counts."""
    rank = step_rank(name)
    return "" if rank is None else axis_of_rank(rank)


def counters_of(columns: Mapping[str, Column]) -> dict[str, NDArray[Any]]:
    """The numbers of all columns that count what a training has done, by name."""
    return {name: c.values for name, c in columns.items() if is_counter(name) and not c.is_text}


@lru_cache(maxsize=_CACHED_NAMES)
def is_counter(name: str) -> bool:
    """Whether a name is that of a column that counts steps, or may be."""
    return counts_steps(name) or names_one_of(name, _COUNTERS)


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one column: ``values`` stand in ``rows``; other rows have none. NaN is data. ``values``
    are int64 where all are whole numbers, float64 where they are numbers, else object (text)."""

    values: NDArray[Any]
    rows: Steps

    @property
    def is_text(self) -> bool:
        return bool(self.values.dtype.hasobject)

    def only(self, rows: Steps) -> Column:
        return self.where(np.isin(self.rows, rows))

    def where(self, kept: Mask) -> Column:
        return self if kept.all() else Column(self.values[kept], self.rows[kept])

    def whole(self) -> Column:
        """The column without cells that are not whole numbers of 64 bits."""
        return self if self.values.dtype == np.int64 else self.where(is_whole(self.values))


NO_COLUMN = Column(np.empty(0), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Axis:
    """What counts the steps of a table. ``name`` is that of the column ("" where the rows are counted),
    ``counts`` what it counts, ``column`` its cells and those that other counters gave it, ``placed`` how many
    rows each of these gave a step, and ``others`` whether another column counts steps too."""

    name: str
    counts: str
    column: Column | None = None
    placed: Mapping[str, int] = field(default_factory=dict)
    others: bool = False

    @property
    def counter(self) -> str:
        """Which counter it is, if a log has several; else ""."""
        rows = "".join(f"; {n} rows by {clean(name)}" for name, n in self.placed.items())
        return clean(self.name) + rows if rows or self.others else ""


def axis_of(columns: Mapping[str, Column]) -> Axis:
    """Decides what counts the steps of a table with these columns of numbers. A column whose name may mean
    other things counts if its values do, and if no other column tells more than the epoch."""
    axis = axis_by_name(columns)
    if axis.counts not in ("epoch", "row"):
        return axis
    inner = ((IN_EPOCH_NAMES, "step", epochs_of(columns)), (EPOCH_NAMES, "epoch", NO_COLUMN))
    for names, counted, epochs in inner if axis.counts == "row" else inner[:1]:
        for name, column in columns.items():
            if names_one_of(name, names) and _is_axis(column.values) and counts_up(column.whole(), epochs):
                return Axis(name, counted, column)
    return axis


@any_numbers
def axis_by_name(columns: Mapping[str, Column], declared: Collection[str] = ()) -> Axis:
    """Decides like `axis_of`, but by the names of the columns alone. Columns that the training ``declared``
    as steps come first. The best name wins that, with the help of the others, gives a step to at least half
    as many rows as any other does."""
    counting = [name for name in columns if name in declared or step_rank(name) is not None]
    counts = {name: "step" if name in declared else counted_by(name) for name in counting}
    counting.sort(key=lambda n: (counts[n] != "step", n not in declared, step_rank(n) or 0, n))
    whole = {name: columns[name].whole() for name in counting if _is_axis(columns[name].values)}
    counters = [name for name, column in whole.items() if not _is_amount(name, column, columns)]
    moving = [name for name in counters if np.ptp(whole[name].values) > 0]
    if not counters:
        return Axis("", "row")
    best = (moving or counters)[0]
    if counts[best] != "step" or len(moving) < 2:
        return Axis(best, counts[best], columns[best])
    candidates = [name for name in moving if counts[name] == "step"]
    filled = [equated(columns, name, [other for other in moving if other != name]) for name in candidates]
    n_rows = [0 if axis.column is None else len(axis.column.rows) for axis in filled]
    fullest = next(axis for axis, n in zip(filled, n_rows, strict=True) if 2 * n >= max(n_rows))
    return replace(fullest, others=len(candidates) > 1)


def _is_amount(name: str, column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether a column with the name of a counter counts nothing. It stands still, or begins again with each
    episode; or its name is a plural, and it goes up and down, or falls again and again while episodes or
    epochs are counted, as the `steps` of an episode do."""
    values = column.values
    if not (values[1:] < values[:-1]).any():
        return len(values) >= MANY and not np.ptp(values)
    episodes = next((c for n, c in columns.items() if names_one_of(n, LAUNCH_NAMES)), NO_COLUMN)
    if _falls_with_episodes(column, episodes, name):
        return True
    epochs = epochs_of(columns)
    up_and_down = goes_up_and_down(column, epochs) or _falls_between_epochs(column, epochs)
    return column_key(name).endswith("s") and up_and_down


def equated(columns: Mapping[str, Column], name: str, others: Sequence[str]) -> Axis:
    """A counter that also has a step in rows in which only one of the ``others`` goes on counting. A few such
    rows get the step before them. For many, rows that have both counters show how one follows from the other;
    without such rows, counters of steps over the same range are taken for one."""
    column, placed = columns[name], dict[str, int]()
    axis = column.whole()
    for other in others:
        more = _placed(axis, columns[other].whole(), same=counted_by(other) == "step")
        if len(more.rows):
            placed[other], axis, column = len(more.rows), _merged(axis, more), _merged(column, more)
    return Axis(name, counted_by(name), column, placed)


def _merged(first: Column, second: Column) -> Column:
    rows = np.concatenate([first.rows, second.rows])
    order = np.argsort(rows, kind="stable")
    return Column(np.concatenate([first.values, second.values])[order], rows[order])


def _placed(axis: Column, counter: Column, *, same: bool) -> Column:
    """The steps of rows that only ``counter`` has; none if the row before says as much, or if nothing shows
    them."""
    alone = counter.where(~np.isin(counter.rows, axis.rows))
    if not len(axis.rows) or not len(alone.rows):
        return NO_COLUMN
    gap = np.searchsorted(axis.rows, alone.rows)  # rows in one gap between two steps have one number
    firsts = np.append(True, (np.diff(alone.values) != 0) | (np.diff(gap) > 0))
    moves = np.bincount(gap[firsts], minlength=len(axis.rows) + 1)[gap] >= MANY
    placed, early = moves | (gap == 0), (gap == 0) & ~moves
    steps = _translated(axis, counter, alone.values[placed].astype(np.float64), same=same)
    if steps is None:
        return NO_COLUMN
    return Column(np.where(early[placed], np.minimum(steps, axis.values[0]), steps), alone.rows[placed])


def _translated(axis: Column, counter: Column, values: Floats, *, same: bool) -> Steps | None:
    """The steps at which a counter has these values; None if the rows that have both do not show it. If both
    count steps (``same``), steps are interpolated; an epoch stands for its end."""
    if not len(values):
        return None
    both = axis.rows[np.isin(axis.rows, counter.rows)]
    at, steps = (side.only(both).values.astype(np.float64) for side in (counter, axis))
    if not len(both):  # the same steps under two names
        low, high = float(axis.values.min()), float(axis.values.max())
        within = np.mean((values >= low) & (values <= high)) if same and low < high else 0.0
        return _as_steps(values) if within >= MOSTLY and len(values) >= MANY else None
    order = np.lexsort((steps, at))
    at, steps = at[order], steps[order]
    if at[0] == at[-1] or np.any(np.diff(steps) < 0):
        return None
    ends = np.append(np.diff(at) > 0, True)  # the last step of each value
    at, last = at[ends], steps[ends]
    slope = (last[-1] - last[0]) / (at[-1] - at[0])
    if same and len(at) >= MANY and np.array_equal(np.round(last[0] + slope * (at - at[0])), last):
        return _as_steps(np.round(last[0] + slope * (values - at[0])))
    if same:
        return _as_steps(np.interp(values, at, last))
    before = np.searchsorted(at, values, side="right") - 1
    return _as_steps(np.where(before < 0, steps[0], last[before]))


def _as_steps(values: Floats) -> Steps:
    return np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)


@any_numbers
def goes_up_and_down(counter: Column, epochs: Column) -> bool:
    """Whether values rise and fall within epochs about as often, far and without beginning again."""
    values = counter.values
    forward, within = np.diff(values), np.diff(_epoch_at(counter.rows, epochs)) <= 0
    rises, falls = forward[within & (forward > 0)], within & (forward < 0)
    n_falls = np.count_nonzero(falls)
    if _RISES_PER_FALL * n_falls <= len(rises) or _RISES_PER_FALL * len(rises) <= n_falls:
        return False
    known = np.sort(values)
    tenth = len(known) // 10
    far = median(-forward[falls]) > _LEAST_FALL_SHARE * float(known[-1 - tenth] - known[tenth])
    # The other falls are those of one of several writers behind another.
    return far and bool(np.any(values[1:][falls] > known[0] + median(rises)))


def _falls_between_epochs(counter: Column, epochs: Column) -> bool:
    """Whether values fall again and again where the epoch goes up, and rarely rise within it."""
    forward, up = np.diff(counter.values), np.diff(_epoch_at(counter.rows, epochs)) > 0
    n_falls = np.count_nonzero((forward < 0) & up)
    return bool(n_falls >= MANY and n_falls > np.count_nonzero((forward > 0) & ~up))


def _falls_with_episodes(counter: Column, episodes: Column, name: str) -> bool:
    """Whether values fall again and again while episodes are counted: to the first of all, if they rise
    within each; or, if the ``name`` is a plural, about as often as they rise."""
    values = counter.only(episodes.rows).values
    forward, up = np.diff(values), np.diff(episodes.only(counter.rows).values) > 0
    n_falls, n_rises = (np.count_nonzero(way) for way in (forward[up] < 0, forward > 0))
    anew = bool((values[1:][up] == values[:1]).all() and (forward[~up] > 0).all())
    often = column_key(name).endswith("s") and _RISES_PER_FALL * n_falls > n_rises
    return bool(n_falls >= MANY and (anew or often))


def _is_axis(values: NDArray[Any]) -> bool:
    """Whether these are whole numbers that fit 64 bits, a rare wrong one and NaN aside."""
    if values.dtype == np.int64:
        return True
    values = values[~np.isnan(values)]
    wrong = len(values) - (n_whole := int(np.count_nonzero(is_whole(values))))
    return n_whole > 0 and wrong <= max(1.0, _WRONG_STEPS_SHARE * len(values)) and n_whole >= 4 * wrong


def is_whole(values: NDArray[Any]) -> Mask:
    """Which are whole numbers that fit 64 bits."""
    return np.asarray((values == np.floor(values)) & (np.abs(values) < 2.0**63))


def steps_of(path: Path, column: Column | None, n_rows: int) -> tuple[Steps, tuple[Fault, ...]]:
    """The steps of all rows, and a fault about wrong ones. A blank row has the step of the row before it, or
    else the first step."""
    if column is None:
        return np.arange(n_rows, dtype=np.int64), ()
    known = column.whole()
    steps = known.values.astype(np.int64, copy=False)
    if len(steps) == n_rows:
        return steps, ()
    latest = np.maximum(np.searchsorted(known.rows, np.arange(n_rows), side="right") - 1, 0)
    broken = len(column.rows) - len(known.rows)
    problem = "step is not a whole number; taken from the row before"
    return steps[latest], (Fault(Place(str(path)), problem, broken),) if broken else ()


def epochs_of(columns: Mapping[str, Column]) -> Column:
    """The column that counts epochs; an empty one where none does."""
    return next((c for name, c in columns.items() if column_key(name) in EPOCH_NAMES), NO_COLUMN)


def epochs_by_row(axis: Axis, steps: Steps, columns: Mapping[str, Column]) -> Column:
    """The epoch of each row: as it is logged, or by how often the steps began again before it. The latter
    holds if no epoch is logged but the steps are named, or scheduled, as those of an epoch, or if rows of
    their own say that an epoch is over."""
    epochs = epochs_of(columns)
    if not len(epochs.rows):
        in_epoch = names_one_of(axis.name, IN_EPOCH_NAMES) and not names_one_of(axis.name, LAUNCH_NAMES)
        in_epoch = in_epoch or (axis.counts == "step" and _schedule_goes_on(steps, columns))
        return _passes(steps) if in_epoch else epochs
    if axis.column is None or axis.counts != "step" or np.isin(epochs.rows, axis.column.rows).any():
        return epochs
    falls = np.flatnonzero(np.diff(steps) < 0)
    next_step = np.searchsorted(axis.column.rows, epochs.rows)  # before which row with a step each stands
    begun = np.searchsorted(axis.column.rows, falls + 1)
    rising = np.all(np.diff(epochs.values) > 0)
    return _passes(steps) if len(falls) and rising and np.isin(begun, next_step).all() else epochs


def _schedule_goes_on(steps: Steps, columns: Mapping[str, Column]) -> bool:
    """Whether a learning rate goes on as usual wherever the steps begin again, far from where it began."""
    anew = np.flatnonzero(np.diff(steps) < 0) + 1
    if not len(anew) or (steps[anew] != steps[0]).any():
        return False
    rates = (c.values for n, c in columns.items() if role_of(n) is Role.LEARNING_RATE)
    for rate in (values for values in rates if len(values) == len(steps)):
        moves = np.abs(np.diff(rate))
        usual = np.delete(moves, anew - 1).max(initial=0.0)
        if (moves[anew - 1] <= usual).all() and (np.abs(rate[anew] - rate[0]) > _FAR_MOVES * usual).all():
            return True
    return False


def _passes(steps: Steps) -> Column:
    return Column(np.append(0, np.cumsum(np.diff(steps) < 0)), np.arange(len(steps)))


def steps_per_epoch(steps: Steps, epochs: Column) -> int | None:
    """The length of an epoch, if ``steps`` (by row) begin again whenever the epoch goes up, below the end of
    one of the two epochs before; None if they continue. It is the most frequent last step of complete epochs,
    and one interval between logged steps more if steps count from 0."""
    rows, epoch = whole_epochs(epochs) if len(epochs.rows) else (epochs.rows, epochs.rows)
    if len(rows) < 2:
        return None
    step, up = steps[rows], np.diff(epoch) > 0
    order = np.argsort(epoch, kind="stable")  # a wrong epoch, or a resume, parts no epoch in two
    begins = np.append(0, np.flatnonzero(np.diff(epoch[order]) > 0) + 1)
    highest, lowest = (way.reduceat(step[order], begins) for way in (np.maximum, np.minimum))
    ends = np.maximum(highest, np.append(highest[0], highest[:-1]))
    if len(begins) < 2 or np.mean(lowest[1:] < ends[:-1]) < _RESTARTS_SHARE:
        return None
    usual, _ = Counter(highest[:-1].tolist()).most_common(1)[0]  # the last epoch may not be over
    forward = np.diff(step)
    within = forward[~up & (forward > 0)]
    interval = int(median(within)) if len(within) else 1
    return int(usual) + (interval if median(lowest) <= 0 else 0)


def across_epochs(steps: Steps, epochs: Column, length: int) -> Steps:
    """The steps of all rows counted over all epochs of ``length`` steps; epochs count from 0 or from 1. A row
    without an epoch belongs to the epoch of the row before it."""
    rows, epoch = whole_epochs(epochs)
    known = np.full(len(steps), -1)
    known[rows] = np.arange(len(rows))
    done = epoch[np.maximum(np.maximum.accumulate(known), 0)] - min(int(epoch[0]), 1)
    return np.asarray(steps + length * done, np.int64)


def counts_up(counter: Column, epochs: Column) -> bool:
    """Whether the values of a column count: they grow, and begin again only with an epoch. Without epochs
    they must begin again at the first value. A single value may count, and so may 1, 1, 2, 2 of phases."""
    values = counter.values
    if len(values) < 2:
        return len(values) == 1
    n_each = int(np.argmax(values != values[0]))
    if n_each > 1 and np.array_equal(values, values[0] + np.arange(len(values)) // n_each):
        return True
    forward, up = np.diff(values), np.diff(_epoch_at(counter.rows, epochs)) > 0
    rises, falls, stays = (np.count_nonzero(way & ~up) for way in (forward > 0, forward < 0, forward == 0))
    if stays >= rises:
        return False
    if not len(epochs.rows):
        begin = values[0] + median(forward[forward > 0])
        return bool(rises >= 2 * falls and np.all(values[1:][forward < 0] <= begin))
    restarting = np.mean(forward[up] <= 0) if up.any() else 0.0
    by_epoch = restarting >= _RESTARTS_SHARE and np.array_equal(epochs.values, np.floor(epochs.values))
    return bool(4 * falls <= rises and (restarting == 0 or by_epoch))


def _epoch_at(rows: Steps, epochs: Column) -> NDArray[Any]:
    """The epoch of each row; that of the row before for a row without one, and 0 if there are no epochs."""
    if not len(epochs.rows):
        return np.zeros(len(rows))
    latest = np.maximum(np.searchsorted(epochs.rows, rows, side="right") - 1, 0)
    return np.asarray(np.floor(epochs.values[latest]))


def whole_epochs(epochs: Column) -> tuple[Steps, Steps]:
    """The rows with a whole, small epoch, and their epochs; none if other epochs are not rare. A single row
    that goes back to before the first epoch is wrong as well; several are a training that began again."""
    rows, values = epochs.rows, epochs.values
    fits = (np.abs(values) < 1 << 31) & (values == np.floor(values))
    early = np.pad(fits & (values < values[np.argmax(fits)] if len(values) else fits), 1)
    single = early[1:-1] & ~early[:-2] & ~early[2:]
    for known in (fits & ~single, fits):
        wrong = np.count_nonzero(~known)
        if wrong <= max(1.0, _WRONG_EPOCHS_SHARE * len(values)) and 4 * wrong <= len(values):
            return rows[known], values[known].astype(np.int64)
    return np.empty(0, np.int64), np.empty(0, np.int64)
