"""What the values of a log say by arithmetic alone, but for rounding: which metrics are shares of one or
parts of a total, and which are sums or means since the beginning of an epoch.

A progress bar shows the mean since the epoch began, so its loss has the form of saw teeth: only the last
value of a tooth is a measurement, or, of a few long ones, what was added in parts of them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics.values import gathered
from chronicle.model import Floats, Mask, Role, Series, Steps

SORTED_VALUES = 1024  # up to this many values, sorting is as fast as partitioning
FEWEST_ROWS = 8  # an equation that holds in fewer rows may be chance
_SAMPLED_ROWS = 512  # rows that are compared, evenly spread over the log
_MOST_TERMS = 48  # of one equation
_ROWS_PER_TERM = 3
_MOST_SHARES = 4096  # of one mixture
_MOST_DIGITS = 9  # after the decimal point; a number with more was not rounded for a log
_SINGLE_ROUNDING = 2e-6  # relative rounding error of single precision
_COARSEST_ROUNDING = 0.1  # share of a curve's spread; with a coarser rounding nearly any sum would fit
_NEARLY_ALL = 0.95  # share of the values of a curve
_LEAST_SHARE = 1e-4  # share of the total that a part must contribute
_FEWEST_SHOWN = 4  # new numbers, and rows in which each of them is shown
_REGULAR_SHARE = 0.8  # of these numbers are shown equally long
_FEWEST_SUMS, _SUMMED_ROWS = 3, 16  # sums, and rows of most of them; chance lets no loss rise so often
_FEWEST_FILLED = 8  # rows; a single -1 may be a value
_FIRST_TERM_TIMES = 4.0  # the usual term of a sum: the first one is no larger
SPEED = (Role.THROUGHPUT, Role.STEP_TIME)
TOOTH_SAMPLES = 6  # the fewest of a tooth whose shape is judged
FEWEST_TEETH = 3  # of that length
_MEAN_EXPONENT = -0.6  # of bends against position, at most: -1 for a mean, 0 for single samples
_MOST_POSITIONS = 64  # of a tooth, by which its bends are judged
_MEAN_SAMPLES = 32  # the fewest of a mean since the start
_STILL_SHARE = 0.05  # of the way of a mean in the first half of its rows
_MEAN_ERRORS = 4.0  # standard errors of that exponent, below which it is not that of samples
_LOG_NOISE_SPREAD = 1.11  # [log units] standard deviation of the log of Gaussian magnitudes
_PARTS = 8  # of a tooth
_RESET_TIMES = 3.0  # the last moves of a tooth: so far is the next tooth away
_FEWEST_UNMARKED = 4  # teeth that no other series marks
_MOST_RESETS = 0.75  # share of these that begin far away
_RESET_SHARE = 1 / 8  # of their length, in usual moves: a mean of n samples moves by an n-th of what one does
_AS_UNLIKE = 2.0  # how much more samples may differ late in a tooth than early
# Of a mean that is undone although no name tells of one, from generated curves: how much more late values may
# bend, and how opposed neighbours may be (the differences of noise: -0.5).
_MORE_LATE, _LEAST_ALIKE = 1.8, -0.25
_FIRST_MOVES, _FIRST_TIMES = 8, 4.0  # how much more they may differ at first, where no name tells of a mean
_GOES_ON = 1.0  # the same, from one tooth to the next
_MOST_PLACES = 4096  # at which the second tooth may begin
# In lines that are names: the first word, if it is not all; and in names that are written backwards, in which
# no pattern takes quadratic time, the last part, and the last word, or digits.
_FIRST_WORD = re.compile(r"(?m)^[^\W_]++(?=[^\n])")
_LAST_PART, _LAST_WORD = re.compile(r"(?m)^[^/.:\n]+"), re.compile(r"(?m)^(?:[^\W_]++(?=[^\n])|\d+)")


# A decorator for functions that compute with logged numbers, which may be NaN, infinite or huge. The results
# are only compared, so numpy need not warn.
any_numbers = np.errstate(all="ignore")


def median(values: NDArray[Any]) -> float:
    """Computes what `numpy.median` does (NaN for no values), faster for short rows, and without importing
    `numpy.ma`."""
    n = len(values)
    if not n:
        return math.nan
    row, half = values.copy(), n // 2
    if n > SORTED_VALUES:
        row.partition((half - 1, half, n - 1))
    else:
        row.sort()
    if row[-1] != row[-1]:
        return math.nan  # sorting moves NaN to the end
    return float(row[half] if n % 2 else (row[half - 1] + row[half]) / 2)


def finite_of(values: Floats) -> Floats:
    """The values without NaN and Inf."""
    return values[np.isfinite(values)]


def equal(a: Floats, b: Floats) -> Mask:
    """Where values are exactly equal (NaN equals NaN): both were written by one program."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def zeros_in_front(values: Floats) -> int:
    """How many zeros stand before the first loss, as in a row before the training or while an agent only
    collects: those in front of all other values, if there are others and no zero among them."""
    zeros = int(np.count_nonzero(values == 0))
    return zeros if zeros < len(values) and not values[:zeros].any() else 0


def is_filler(values: Floats) -> Mask:
    """Where -1 stands for a loss that was not measured: in several rows, if the loss is never negative
    otherwise, and no whole number. Empty cells of other tables say the same."""
    filler = np.asarray(values == -1)
    if np.count_nonzero(filler) >= _FEWEST_FILLED:
        others = values[~filler]
        if (others % 1 > 0).any() and not (others < 0).any():
            return filler
    return np.zeros(len(values), bool)


@any_numbers
def terms_of_sums(values: Floats) -> Floats | None:
    """What was added at each row, of a loss that is summed up from the start of each epoch on: it rises at
    every row, and begins again with no more than what is added at one. None for other values."""
    if len(values) < _FEWEST_SUMS * _SUMMED_ROWS:
        return None
    terms = np.diff(values, prepend=0.0)
    begins = np.flatnonzero(np.append(True, ~(terms[1:] > 0)))
    if len(begins) < _FEWEST_SUMS or median(np.diff(begins)) < _SUMMED_ROWS:
        return None
    terms[begins] = values[begins]
    most = _FIRST_TERM_TIMES * median(terms)
    return terms if terms.min() > 0 and terms[begins].max() <= most else None


def first_showings(values: Floats, *, in_bar: bool = False) -> NDArray[np.intp] | None:
    """The rows of what is shown again until it is measured anew every so many rows; None for other values. A
    bar is not redrawn at every count, and may end between two measurements; where it is redrawn at each, what
    it shows for twice as long or more was measured as often."""
    firsts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    lengths = np.diff(firsts)
    usual = median(lengths) if len(lengths) >= _FEWEST_SHOWN else 0.0
    is_usual = lengths >= _FEWEST_SHOWN if in_bar else lengths == usual
    if usual < _FEWEST_SHOWN or np.mean(is_usual) < _REGULAR_SHARE:
        return None
    if not in_bar or (lengths[1:] % usual).any():
        return firsts
    return np.append(0, np.arange(firsts[1], len(values), int(usual)))


def is_new(steps: Steps, values: Floats) -> Mask:
    """Which rows are not the one before again."""
    return np.append(True, (np.diff(steps) != 0) | ~equal(values[1:], values[:-1]))


def teeth(series: Series, epoch: Series | None, own_steps: Iterable[Steps]) -> NDArray[np.intp] | None:
    """The rows at which a running mean begins again, the first one among them; None for any other series.
    ``epoch`` is the series of epochs, and ``own_steps`` has the steps of all series of the log."""
    for begins in _may_begin(series, epoch, own_steps):
        lengths = np.diff(np.append(begins, len(series)))
        if np.count_nonzero(lengths >= TOOTH_SAMPLES) >= FEWEST_TEETH and _is_running_mean(series, begins):
            return begins
    return None


def means_of_parts(series: Series, begins: NDArray[np.intp]) -> Series:
    """A running mean as the means of parts of each tooth: of few long epochs the last values alone would be
    no course."""
    teeth = np.split(np.arange(len(series)), begins[1:])
    parts = [part for tooth in teeth for part in np.array_split(tooth, _PARTS) if len(part)]
    first, last = (np.array([part[place] for part in parts]) for place in (0, -1))
    nth = np.arange(len(series)) - np.repeat(begins, [*map(len, teeth)])
    total = series.values * (nth + 1)
    before = np.where(nth[first] > 0, total[first - 1], 0.0)
    return replace(series.pick(last), values=(total[last] - before) / (last - first + 1))


def without_mean(series: Series, *, is_named: bool) -> Series:
    """Undoes a mean since the start of the log, if a loss or another metric is logged as one. If no name says
    so (``is_named``), a learning curve that flattens may look like one, but falls faster at first."""
    known = series.pick(np.isfinite(series.values))
    if len(known) < _MEAN_SAMPLES:
        return series
    between = between_rows(known)
    if len(between) < len(series) or _has_arrived(known.values):
        return series
    begins_late = 2 * known.steps[0] > known.steps[1]  # later than a loss since the start does
    if series.role in (Role.LOSS, Role.PART_LOSS) and (begins_late or between.values.min() <= 0):
        return series
    # What was measured differs alike throughout, which it does not where a mean is of the last hundred, and
    # not high and low in turns beyond chance, as differences of rows do that are each a mean of their own.
    moves = np.abs(np.diff(between.values))
    is_steep = median(moves[:_FIRST_MOVES]) > _FIRST_TIMES * median(moves)
    if not is_named and (is_steep or not _scatters_alike(between.values)):
        return series
    early, late = map(median, np.array_split(moves, 2))
    last = between.values[len(known) // 2 :]
    if not 0 < max(early, late) <= _AS_UNLIKE * min(early, late):
        return series
    return between if np.corrcoef(last[1:], last[:-1])[0, 1] >= -2.0 / len(last) ** 0.5 else series


def _scatters_alike(undone: Floats) -> bool:
    """Whether values bend as much late as early, and neighbours around their trend are not opposed: from a
    curve that is no mean, undoing one makes the differences of its noise, and ever larger ones."""
    early, _, late = map(median, np.array_split(np.abs(np.diff(undone, 2)[_FIRST_MOVES:]), 3))
    third = len(undone) // 3
    halves = undone[_FIRST_MOVES : 2 * third], undone[third:]  # which overlap; either may hold an event
    alike = min(map(_likeness, halves))
    return bool(late <= _MORE_LATE * early and alike >= _LEAST_ALIKE)


def _likeness(values: Floats) -> float:
    """The correlation of neighbours around a parabola."""
    rows = np.arange(len(values))
    off = values - np.polyval(np.polyfit(rows, values, 2), rows)
    return float(np.corrcoef(off[1:], off[:-1])[0, 1])


def between_rows(mean: Series) -> Series:
    """Undoes a mean since the start of the log, if a speed or a reward is logged as one."""
    differs = np.append(np.diff(mean.steps) != 0, True)  # the row of an evaluation repeats a step
    mean = mean.pick(differs[: len(mean)])
    gaps = np.diff(mean.steps.astype(float))
    if len(mean) < _MEAN_SAMPLES or gaps.min() <= 0 or not _is_running_mean(mean, np.zeros(1, np.intp)):
        return mean
    gaps = np.append(min(gaps[0], max(mean.steps[0], 1)), gaps)  # at step 0 or 1 one step was made
    inverse = -1.0 if mean.role is Role.THROUGHPUT else 1.0  # the time until a row is its steps over the mean
    between = (np.diff(gaps.cumsum() * mean.values**inverse, prepend=0.0) / gaps) ** inverse
    return mean if mean.role in SPEED and (between <= 0).any() else replace(mean, values=between)


def _has_arrived(mean: Floats) -> bool:
    """Whether a mean came half of its way early and then stood still, as that of all samples never does."""
    parts = np.array_split(mean, 16)
    first, middle, last = (median(parts[place]) for place in (0, 8, -1))
    came, range_ = abs(middle - first), float(np.ptp(mean))
    return came >= 0.5 * range_ > 0 and abs(last - middle) <= _STILL_SHARE * came


def _may_begin(
    series: Series, epoch: Series | None, own_steps: Iterable[Steps]
) -> Iterator[NDArray[np.intp]]:
    """Indices at which teeth may begin, the first sample among them, one array for each possibility: where a
    repeated step grows; where the epoch changes, which may be logged at its end or start; or, without either,
    behind each point of a series with steps of its own (``own_steps``), such as evaluations, if rare enough,
    and at all multiples of a place, if means of equally unlike samples begin there."""
    steps = series.steps
    moves = steps[1:] != steps[:-1]
    if np.count_nonzero(moves) < 0.5 * len(steps):
        yield np.append(0, np.flatnonzero(moves) + 1)
    elif epoch is not None and len(epoch) > 1:
        known = np.flatnonzero(np.isfinite(epoch.values))
        whole, at = np.floor(epoch.values[known] + 1e-6), epoch.steps[known]
        edges = np.flatnonzero(np.diff(whole)) + 1
        for rows in (np.searchsorted(steps, at[edges]), np.searchsorted(steps, at[edges - 1], "right")):
            yield np.unique(np.append(0, rows[rows < len(steps)]))
    else:
        for ends in (ends for ends in own_steps if len(ends) * TOOTH_SAMPLES <= len(steps)):
            rows = np.searchsorted(steps, ends, "right")
            yield np.unique(np.append(0, rows[rows < len(steps)]))
        yield from (np.arange(0, len(steps), place) for place in _unmarked_lengths(series.values))


@any_numbers
def _unmarked_lengths(values: Floats) -> list[int]:
    """The lengths that teeth may have which no other series marks: most of them begin far from the end of the
    one before, but their samples go on as before."""
    if len(values) < _FEWEST_UNMARKED * TOOTH_SAMPLES:
        return []
    moves = np.abs(np.diff(values, prepend=np.nan))
    places = np.arange(TOOTH_SAMPLES, len(values) // _FEWEST_UNMARKED + 1)
    far = np.maximum(places * _RESET_SHARE, _RESET_TIMES) * median(finite_of(moves))
    likely, lengths = np.flatnonzero(moves[places] > far)[:_MOST_PLACES], list[int]()
    for place, least in zip(places[likely].tolist(), far[likely].tolist(), strict=True):
        if np.mean(moves[place::place] > least) >= _MOST_RESETS and _go_on(values, place):
            lengths.append(place)
    return lengths


def _go_on(means: Floats, length: int) -> bool:
    """Whether the samples of which these are running means go on over teeth of a length, as unlike late in a
    tooth as early."""
    sums = means[: len(means) // length * length].reshape(-1, length) * np.arange(1, length + 1)
    samples, quarter = np.diff(sums, prepend=0.0, axis=1), max(length // 4, 2)
    first, last = samples[:, :quarter], samples[:, -quarter:]
    early, late = (median(np.abs(np.diff(part, axis=1)).ravel()) for part in (first, last))
    ends, begins = np.median(last[:-1], axis=1), np.median(first[1:], axis=1)
    goes_on = median(np.abs(begins - ends)) <= _GOES_ON * min(early, late)
    return goes_on and 0 < max(early, late) <= _AS_UNLIKE * min(early, late)


def _is_running_mean(series: Series, begins: NDArray[np.intp]) -> bool:
    """Whether teeth bend (second differences) less and less, as a mean does, and the next begins far away."""
    lengths = np.diff(np.append(begins, len(series)))
    is_long, length = np.repeat(lengths >= TOOTH_SAMPLES, lengths), np.repeat(lengths, lengths)
    nth = np.arange(len(series)) - np.repeat(begins, lengths) + 1  # sample of its tooth, from 1
    moves = np.diff(series.values, prepend=np.nan)
    late, resets = np.abs(moves[is_long & (2 * nth > length)]), np.abs(moves[begins[1:]])
    late, resets = late[~np.isnan(late)], resets[~np.isnan(resets)]
    known = np.isfinite(resets).any() and np.isfinite(late).any()
    if len(begins) > 1 and (not known or median(resets) < _RESET_TIMES * median(late)):
        return False
    bends = np.abs(np.diff(moves, prepend=np.nan))
    has_bend = np.isfinite(bends) & (nth > 2) & is_long
    bends, nth = bends[has_bend], nth[has_bend]
    # Bends smaller than the last digit of the log are not seen, and nor are those behind them.
    grain = np.diff(np.unique(finite_of(series.values))).min(initial=np.inf)
    last = min(int(nth.max(initial=0)), _MOST_POSITIONS)
    hidden = next((n for n in range(3, last + 1) if not median(bends[nth == n]) > grain), last + 1)
    if hidden < TOOTH_SAMPLES:
        return False
    x, y = np.log(nth[nth < hidden]), np.log(np.maximum(bends[nth < hidden], 0.5 * grain))
    width = float(((x - x.mean()) ** 2).sum())
    exponent = float(((x - x.mean()) * y).sum()) / width
    return bool(exponent <= min(_MEAN_EXPONENT, -_MEAN_ERRORS * _LOG_NOISE_SPREAD / width**0.5))


def shares(series: Mapping[str, Series]) -> list[tuple[str, ...]]:
    """Groups of metrics that are shares of a mixture: they are logged at the same steps under names that
    differ in one place, lie within [0, 1], and sum to one in every row. Constant settings are no shares."""
    group_of: dict[str, tuple[str, ...]] = {}
    candidates = [n for n, s in series.items() if len(s.steps) >= FEWEST_ROWS and 0 <= s.values[0] <= 1]
    for family in _families(tuple(candidates)):
        at_equal_steps: dict[bytes, list[str]] = {}
        for name in family:
            sampled = series[name].values[_some_rows(len(series[name]))]
            if name not in group_of and sampled.min() >= 0 and sampled.max() <= 1:  # False with a NaN
                at_equal_steps.setdefault(series[name].steps.tobytes(), []).append(name)
        for group in map(tuple, at_equal_steps.values()):
            if len(group) > 1 and _sum_to_one([series[name] for name in group]):
                group_of |= dict.fromkeys(group, group)
    return list(dict.fromkeys(group_of.values()))


@any_numbers
def is_retold(curve: Series, others: Sequence[Series]) -> bool:
    """Whether nearly all values of a curve repeat one of the others at that step, each about as often."""
    if len(curve) < FEWEST_ROWS or not all(map(len, others)):
        return False
    tolerance, same = rounding(curve.values), []
    for other in others:
        at = np.minimum(np.searchsorted(other.steps, curve.steps), len(other) - 1)
        same.append((np.abs(curve.values - other.values[at]) <= tolerance) & (other.steps[at] == curve.steps))
    about_as_often = all(np.mean(each) >= 1 / (1 + len(others)) for each in same)
    fine = bool(tolerance.max() <= _COARSEST_ROUNDING * np.std(curve.values))
    return fine and about_as_often and bool(np.mean(np.any(same, axis=0)) >= _NEARLY_ALL)


@any_numbers
def parts_of(total: Series, series: Mapping[str, Series]) -> dict[str, float]:
    """The weights of the metrics whose weighted sum is the total in every row; {} if there are none. A single
    metric is no part: a total is proportional to its copy in another unit."""
    if len(total) < FEWEST_ROWS:
        return {}
    rows = _some_rows(len(total))
    sums = total.values[rows]
    most = min(_MOST_TERMS, len(rows) // _ROWS_PER_TERM)
    finite: dict[str, Floats] = {}
    for name, metric in series.items():
        same_steps = metric.has_steps_of(total)
        if metric is not total and same_steps and np.isfinite(metric.values[rows]).all():
            finite[name] = metric.values[rows]
            if len(finite) > most:
                return {}
    if len(finite) < 2 or not np.isfinite(sums).all():
        return {}
    names = before = [name for name, term in finite.items() if not _is_multiple(sums, term)]
    for is_last in (False, False, True):  # terms that contribute too little are removed twice
        if len(names) < 2:
            return {}
        terms = np.column_stack([finite[name] for name in names])
        scale = np.maximum(np.abs(terms).max(axis=0), 1e-300)  # all terms are brought to one size
        weights = np.linalg.lstsq(terms / scale, sums, rcond=1e-10)[0] / scale
        if not is_last:
            matter = np.mean(np.abs(terms * weights), axis=0) > _LEAST_SHARE * np.mean(np.abs(sums))
            before, names = names, [name for name, counts in zip(names, matter, strict=True) if counts]
    if len(names) < len(before) or not (weights > 0).all() or not _are_equal(sums, terms, weights):
        return {}
    return dict(zip(names, weights.tolist(), strict=True))


def _are_equal(sums: Floats, terms: Floats, weights: Floats) -> bool:
    """Whether the weighted sum is the total in every row, but for a rounding far below the total's spread."""
    off = np.abs(sums - terms @ weights)
    if (off <= _SINGLE_ROUNDING * (np.abs(sums) + np.abs(terms) @ weights)).all():
        return True
    most = _COARSEST_ROUNDING * np.std(sums)
    if off.max() > most:  # finding the rounding of all terms takes longer
        return False
    rounded = rounding(sums) + sum(w * rounding(t) for w, t in zip(weights, terms.T, strict=True))
    return bool((off <= rounded).all() and rounded.max() <= most)


def _is_multiple(sums: Floats, term: Floats) -> bool:
    square = float(term @ term)
    weight = float(term @ sums) / square if 0 < square < np.inf else 0.0
    off = np.abs(sums - weight * term)
    if off.max() > _COARSEST_ROUNDING * np.abs(sums).max():
        return False
    return bool((off <= rounding(sums) + abs(weight) * rounding(term)).all())


def rounding(values: Floats) -> Floats:
    """The largest rounding error of each number: half of its last digit, and that of single precision."""
    exact = (d for d in range(_MOST_DIGITS) if np.array_equal(np.round(values, d), values))
    return np.asarray(0.51 * 10.0 ** -next(exact, _MOST_DIGITS) + _SINGLE_ROUNDING * np.abs(values))


@lru_cache(maxsize=64)
def _some_rows(n: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    return np.linspace(0, n - 1, min(n, _SAMPLED_ROWS)).astype(np.intp)


@lru_cache(maxsize=16)  # the many files of a run log the same names
def _families(names: tuple[str, ...]) -> list[list[str]]:
    """Groups of names that differ only in their last part, in their last word, or in their first word."""
    families = list[list[str]]()
    for keys in _shared_parts(names):  # of 100,000 names most are alone, and need no list
        sizes = {key: n for key, n in Counter(keys).items() if 1 < n <= _MOST_SHARES}
        if sizes:
            families += gathered(pair for pair in zip(keys, names, strict=True) if pair[0] in sizes).values()
    return families


def _shared_parts(names: Sequence[str]) -> Iterator[list[str]]:
    """The names without their last part, without their last word, or digits, and without their first word."""
    text = "\n".join([name.replace("\n", "\v") for name in names])
    backwards = text[::-1]
    yield _LAST_PART.sub("", backwards)[::-1].split("\n")
    yield _LAST_WORD.sub("", backwards)[::-1].split("\n")
    yield _FIRST_WORD.sub("", text).split("\n")


def _sum_to_one(group: Sequence[Series]) -> bool:
    """Whether the values sum to one in each row, and are neither all constant nor all 0 or 1."""
    values = np.stack([series.values[_some_rows(len(series))] for series in group])
    if np.isin(values, (0.0, 1.0)).all() or (values == values[:, :1]).all():
        return False
    off = np.abs(values.sum(axis=0) - 1)
    return off.max() <= _COARSEST_ROUNDING and bool((off <= sum(rounding(row) for row in values)).all())


def are_counts(values: Floats) -> bool:
    """Whether all values are whole numbers, and not as small as those of a loss may be."""
    return bool(((values % 1 == 0) & (values >= 10)).all())


_Z = 1.96  # of a normal distribution, for an interval of 95 %


def wilson(part: int, n: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a share ``part`` / ``n``, n > 0; it lies within 0 to 1."""
    share, z2 = part / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def median_interval(n: int) -> tuple[int, int]:
    """Ranks, from 0, of the values between which the median lies with 95 %, by the binomial distribution."""
    below, rank = 0.0, 0
    while rank < n // 2 and (below := below + math.comb(n, rank) / 2**n) <= 0.025:
        rank += 1
    rank = max(rank - 1, 0)
    return rank, n - 1 - rank
