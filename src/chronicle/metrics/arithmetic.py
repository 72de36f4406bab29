"""Equations between metrics that hold in every row but for rounding: shares of one, and parts of a total."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics.values import grouped
from chronicle.model import Floats, Series

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
_WORD, _DIGITS = re.compile(r"[^\W_]+"), re.compile(r"\d+")


# A decorator for functions that compute with logged numbers, which may be NaN, infinite or huge. The results
# are only compared, so numpy need not warn.
any_numbers = np.errstate(all="ignore")


def median(values: NDArray[Any]) -> float:
    """As `numpy.median`, NaN for no values; but faster for short rows, and without importing `numpy.ma`."""
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


def equal(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Where values are exactly equal (NaN equals NaN): both were written by one program."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def zeros_in_front(values: Floats) -> int:
    """How many zeros stand before the first loss, as in a row before the training or while an agent only
    collects: those in front of all other values, if there are others and no zero among them."""
    zeros = int(np.count_nonzero(values == 0))
    return zeros if zeros < len(values) and not values[:zeros].any() else 0


def is_filler(values: Floats) -> NDArray[np.bool_]:
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
        same_steps = metric.steps is total.steps or np.array_equal(metric.steps, total.steps)
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
    for shared_by in (_without_last_part, _without_last_word, _without_first_word):
        families += (group for group in grouped(names, shared_by).values() if 1 < len(group) <= _MOST_SHARES)
    return families


def _without_last_part(name: str) -> str:
    return name[: max(map(name.rfind, "/.:")) + 1]


def _without_last_word(name: str) -> str:
    """The name without its last word, or digits; backwards, as a pattern takes quadratic time."""
    backwards = name[::-1]
    word = _WORD.match(backwards)
    if word and word.end() == len(name):
        word = _DIGITS.match(backwards)
    return name[: len(name) - word.end()] if word else name


def _without_first_word(name: str) -> str:
    word = _WORD.match(name)
    return name[word.end() :] if word and word.end() < len(name) else name


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
