"""Logs that tell of one process twice: copies in another format, and metrics spread over several files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from chronicle.model import Attempt, Series
from chronicle.timeline.clock import SCHEDULES, clock, course, natural, ran
from chronicle.timeline.split import same

_COMMON_SAMPLES = 8  # fewer equal points than this may be chance
_COMMON_SHARE = 0.6  # of the smaller of the two
_AGREEING = 0.95  # share of the common points that must be equal
_NOISE = 0.25  # two seeds differ by their noise; two roundings by much less than this share of it
_SAME_TIME_S = 60.0  # the clocks of two loggers in one process differ by less


def one_of_each(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[Attempt]]:
    """Attempts that differ, and the copies: (kept, copies).

    Of two copies the one with more points stays and takes over the series that only the other has.
    """
    kept: list[Attempt] = []
    copies: list[Attempt] = []
    for attempt in sorted(attempts, key=_worth):
        twin = next((i for i, other in enumerate(kept) if is_copy(other, attempt)), None)
        part = next((i for i, other in enumerate(kept) if twin is None and is_part(other, attempt)), None)
        if twin is not None:
            kept[twin] = _with_series_of(kept[twin], attempt)
            copies.append(attempt)
        elif part is not None:
            kept[part] = _with_series_of(kept[part], attempt)
        else:
            kept.append(attempt)
    return kept, copies


def _worth(attempt: Attempt) -> tuple[int, bool, object]:
    return (-sum(map(len, attempt.series.values())), ran(attempt) is None, natural(attempt.name))


def is_copy(one: Attempt, other: Attempt) -> bool:
    """Whether two logs hold the same values at the same steps: one run logged in two formats."""
    if one.sources and one.sources == other.sources:
        return False  # two attempts of one file
    a, b = clock(one), clock(other)
    return a is not None and b is not None and a.role not in SCHEDULES and are_equal(a, b)


def are_equal(a: Series, b: Series) -> bool:
    """Same values, but for rounding, at the same steps and, where both are known, at the same times."""
    need = max(_COMMON_SAMPLES, _COMMON_SHARE * min(len(a), len(b)))
    _, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    if len(i) < need or np.count_nonzero(same(a.values[i], b.values[j])) < max(need, _AGREEING * len(i)):
        return False
    finite = np.isfinite(a.values[i]) & np.isfinite(b.values[j])
    i, j = i[finite], j[finite]
    if len(np.unique(a.values[i])) < _COMMON_SAMPLES:
        return False  # a frozen metric is equal in every run
    noise = np.median(np.abs(np.diff(a.values[i])))
    apart_s = np.abs(a.times[i] - b.times[j])
    apart_s = apart_s[np.isfinite(apart_s)]
    return bool(
        np.median(np.abs(a.values[i] - b.values[j])) <= _NOISE * noise
        and (not len(apart_s) or np.median(apart_s) <= _SAME_TIME_S)
    )


def is_part(one: Attempt, other: Attempt) -> bool:
    """Whether two logs are parts of one: no metric in common, mostly the same steps, at the same time."""
    if set(one.series) & set(other.series) or one.axis != other.axis:
        return False
    a, b = course(one), course(other)
    if a is None or b is None:
        return False
    shared = min(a.last, b.last) - max(a.first, b.first)
    if shared <= 0 or shared < _COMMON_SHARE * max(a.last - a.first, b.last - b.first):
        return False
    s, t = ran(one), ran(other)
    return s is None or t is None or min(s[1], t[1]) >= max(s[0], t[0])


def _with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other log has, whatever they are called there."""
    mine = list(keeper.series.values())
    new = {
        metric: s
        for metric, s in other.series.items()
        if metric not in keeper.series and not any(m.role is s.role and are_equal(m, s) for m in mine)
    }
    return replace(
        keeper,
        series={**keeper.series, **new},
        sources=tuple(dict.fromkeys((*keeper.sources, *other.sources))),
        facts={**other.facts, **keeper.facts},
        faults=(*keeper.faults, *other.faults),
    )
