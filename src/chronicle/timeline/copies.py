"""What `stitch` takes, turned into attempts, and logs that hold what another one holds: copies in another
format, metrics of one process spread over several files, and a log of the whole run beside logs of its
attempts.

Looking at each pair of hundreds of logs takes long. So one log is first compared with all others at a few of
its steps, by one pass over arrays. What that rules out is no copy for certain; the rest gets a closer look.

`stitch` takes attempts, a pandas DataFrame, or plain arrays. A table of several seeds, with a column that
tells which row is of which, becomes an attempt a seed.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import UsageError
from chronicle.metrics.aliases import FRAME_STEP_NAMES
from chronicle.metrics.roles import LOSSES, assign
from chronicle.model import Attempt, Floats, Role, Series, Steps
from chronicle.timeline.courses import PART, Course, Index, Mask, by_name, course
from chronicle.timeline.relation import (
    SAME,
    SAME_TIME_S,
    Pair,
    Relation,
    are_equal,
    common,
    heads,
    moved,
    same,
)

_FEW = 8  # so many logs are soon looked at one by one
_PROBES = np.arange(1, 17) * (math.sqrt(5) - 1) / 2 % 1  # places in a log, in step with no period of it
_COVERED = 0.95  # share of the steps of the whole that its attempts must have, and none of them alone
_UNEQUAL = -9  # one value in so many may be another one

Part = tuple[int, int, Course]  # first and last step that an attempt shares with the log of the whole


def without_copies(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """Attempts that differ, and the copies: (kept, copies).

    Of two copies the one with more points stays and takes over the series that only the other has.
    """
    ranked = sorted(courses, key=_worth)
    logs = _Logs([log.clock for log in ranked])
    kept: dict[int, Course] = {}
    copies: list[Attempt] = []
    for rank, log in enumerate(ranked):
        originals: dict[Relation | None, tuple[int, int]] = {}  # the first that is related so, and the shift
        for k in logs.may_be_of(rank, log):
            two = Pair(kept[k], log, kept[k])
            originals.setdefault(two.copied, (k, two.shift or 0))
            if Relation.SAME in originals:
                copies.append(log.attempt)
                break
        if home := originals.get(Relation.SAME, originals.get(Relation.PART)):
            rank, by = home
            other = replace(log.attempt, series={m: moved(s, by) for m, s in log.attempt.series.items()})
            log = course(with_series_of(kept[rank].attempt, other)) or log
        kept[rank] = log
        logs.keep(rank, log)
    return list(kept.values()), copies


def _worth(log: Course) -> tuple[int, bool, object]:
    return (-sum(map(len, log.attempt.series.values())), math.isnan(log.started), by_name(log.name))


class _Logs:
    """The clocks of all logs by rank, and which logs are kept so far."""

    def __init__(self, clocks: Sequence[Series]) -> None:
        self._clocks = clocks
        self._kept, self._changed = np.zeros((2, len(clocks)), bool)  # changed: has another clock by now
        self._first, self._last, self._kind = np.zeros((3, len(clocks)), np.int64)
        self._kinds: dict[frozenset[str], int] = {}  # what logs may measure, each in another number
        self._begins = np.array([clock.steps[0] for clock in clocks], np.int64)
        # NaN where a row has no time, and then times rule nothing out.
        self._times = np.array([(c.times.min(), c.times.max()) for c in clocks]).T

    @cached_property
    def _points(self) -> tuple[Steps, Floats, Index]:
        """Steps, values and ranks of all logs, in the order of their steps."""
        rows = [heads(clock.steps) for clock in self._clocks]
        steps, values = (
            np.concatenate([getattr(clock, name)[at] for clock, at in zip(self._clocks, rows, strict=True)])
            for name in ("steps", "values")
        )
        order = np.argsort(steps, kind="stable")
        return steps[order], values[order], np.repeat(np.arange(len(rows)), [*map(len, rows)])[order]

    def keep(self, rank: int, log: Course) -> None:
        """Keeps a log, or another one in its place."""
        self._changed[rank] = log.clock is not self._clocks[rank]
        self._first[rank], self._last[rank], self._kept[rank] = log.first, log.last, True
        self._kind[rank] = self._kinds.setdefault(frozenset(log.attempt.series), len(self._kinds))

    def may_be_of(self, rank: int, log: Course) -> list[int]:
        """Ranks of the logs kept that may be copies of another one, or have no metric in common with it."""
        near = np.flatnonzero(self._kept & (self._first <= log.last) & (self._last >= log.first))
        other = np.array([kind.isdisjoint(log.attempt.series) for kind in self._kinds], bool)
        equal = near
        for ruled_out in (self._at_another_time, self._with_other_values):
            if len(equal) > _FEW:
                equal = equal[self._changed[equal] | ~ruled_out(equal, rank)]
        return [*np.union1d(equal, near[other[self._kind[near]]] if len(near) else near).tolist()]

    def _at_another_time(self, ranks: Index, rank: int) -> Mask:
        """Whether no row of one clock was logged at the time of one of the other."""
        starts, ends = self._times
        later = starts[ranks] > ends[rank] + SAME_TIME_S
        return np.asarray(later | (ends[ranks] < starts[rank] - SAME_TIME_S))

    def _with_other_values(self, ranks: Index, rank: int) -> Mask:
        """Whether at more than three of eight of a few steps, where copies differ at one in twenty (of two
        noisy seeds one value in seven is the same); but for logs that count from 0 or from 1 where this one
        does not, and have other values at equal steps."""
        clock, rows = self._clocks[rank], heads(self._clocks[rank].steps)
        rows = rows[np.unique((_PROBES * len(rows)).astype(np.intp))]
        steps, values, by_rank = self._points
        low = np.searchsorted(steps, clock.steps[rows])
        high = np.searchsorted(steps, clock.steps[rows], "right")
        at = [slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        there, whose = (np.concatenate([points[rows] for rows in at]) for points in (values, by_rank))
        expected = np.repeat(clock.values[rows], high - low)
        with np.errstate(over="ignore", invalid="ignore"):  # values may be as large as floats get
            off = np.abs(there - expected) > SAME * abs(expected)
        logged = np.bincount(whose, minlength=len(self._clocks))[ranks]
        differing = np.bincount(whose[off], minlength=len(self._clocks))[ranks]
        begins, begin = self._begins[ranks], int(self._begins[rank])
        return np.asarray((8 * differing > 3 * logged) & (begins != begin - 1) & (begins != begin + 1))


def with_series_of(keeper: Attempt, other: Attempt) -> Attempt:
    """The keeper with the series that only the other log has, whatever they are called there, and with the
    times of those that both have, where it has none."""
    own = list(keeper.series.values())

    def may_be_one(a: Series, b: Series) -> bool:  # a file may not say of which phase a loss is
        return a.role is b.role or (a.role in LOSSES and b.role in LOSSES)

    new = {
        metric: s
        for metric, s in other.series.items()
        if metric not in keeper.series and not any(may_be_one(o, s) and are_equal(o, s) for o in own)
    }
    timed = {}
    for metric in keeper.series.keys() & other.series.keys():
        own_rows, there = keeper.series[metric], other.series[metric]
        if not np.isfinite(own_rows.times).any():
            here, there = common(own_rows, there)
            times = np.full(len(own_rows), np.nan)
            times[np.searchsorted(own_rows.steps, here.steps)] = there.times
            timed[metric] = replace(own_rows, times=times)
    return replace(
        keeper,
        series={**keeper.series, **timed, **new},
        sources=tuple(dict.fromkeys((*keeper.sources, *other.sources))),
        facts={**other.facts, **keeper.facts},
        faults=(*keeper.faults, *other.faults),
    )


def without_logs_of_the_whole(courses: Sequence[Course]) -> tuple[list[Course], list[Attempt]]:
    """The logs, and those set aside that tell the whole of what several others tell in parts: a trainer's
    state beside an event file a process.

    The log of the whole tells one course, without what was overtaken or with what should have been; the
    others tell the restarts. So they are the attempts, and the log of the whole is a copy of them. Only a log
    that is the one of its format is asked. What it alone logged goes to the attempts, by step.
    """
    formats = Counter(log.attempt.facts.get("format") for log in courses)
    kept = list(courses)
    wholes: list[Attempt] = []
    for whole in courses:
        if formats[whole.attempt.facts.get("format")] > 1 or PART.search(whole.name):
            continue
        parts = sorted(_parts(whole, kept), key=lambda part: (part[:2], part[2].name))
        if _covered(whole, parts) and not any(_covered(whole, [part]) for part in parts):
            kept = [log for log in kept if log is not whole and all(log is not part[2] for part in parts)]
            kept += _with_rows_of(whole.attempt, parts)
            wholes.append(whole.attempt)
    return kept, wholes


def _parts(whole: Course, others: Sequence[Course]) -> Iterator[Part]:
    """Of other logs those steps at which they have the values of the whole, without a break."""
    for log in others:
        if log is whole:
            continue
        a, b = common(whole.clock, log.clock)
        score = np.concatenate([[0], np.cumsum(np.where(same(a.values, b.values), 1, _UNEQUAL))])
        end = int(np.argmax(score - np.minimum.accumulate(score)))
        rows = slice(int(np.argmin(score[: end + 1])), end)
        if are_equal(a.pick(rows), b.pick(rows)):
            yield int(a.steps[rows][0]), int(a.steps[rows][-1]), log


def _covered(whole: Course, parts: Sequence[Part]) -> bool:
    steps = whole.clock.steps
    inside = np.zeros(len(steps), bool)
    for first, last, _ in parts:
        inside |= (steps >= first) & (steps <= last)
    return bool(inside.mean() >= _COVERED)


def _with_rows_of(whole: Attempt, parts: Sequence[Part]) -> Iterator[Course]:
    """The attempts with the metrics that only the whole has, each up to where the next one begins."""
    begins = np.array([first for first, _, _ in parts[1:]])
    for number, (_, _, log) in enumerate(parts):
        rows = {
            m: s.pick(np.searchsorted(begins, s.steps, side="right") == number)
            for m, s in whole.series.items()
        }
        rest = replace(whole, series={m: s for m, s in rows.items() if len(s)}, facts={}, faults=())
        yield course(with_series_of(log.attempt, rest)) or log


_FILLED = 0.5  # share of rows from which on a column is one that every row fills
_TAIL_SAMPLES = 3  # blank cells at the end of a column that are no news
_MOST_NAMED = 4  # runs that a message lists
_SEED_COLUMNS = ("seed", "random_seed")
_MOST_SEEDS = 1000  # of them in a table; a random number a row is no seed of a training
_TAKES = (
    "stitch takes attempts (chronicle.read gives them), a pandas DataFrame, or a mapping of metric to "
    "values or (steps, values)"
)


def attempts_from(what: Any) -> list[Attempt]:
    """The attempts in whatever was given.

    Raises:
        UsageError: it is nothing that can be stitched; the message says what is wrong and what is taken.
    """
    attempts = _attempts(what)
    stated: dict[tuple[str, ...], dict[str, None]] = {}
    for attempt in attempts:
        if attempt.sources and (run := attempt.facts.get("run")):
            stated.setdefault(attempt.sources, {})[repr(str(run))] = None
    for sources, names in stated.items():
        if len(names) > 1:
            named = ", ".join([*names][:_MOST_NAMED] + ["..."] * (len(names) > _MOST_NAMED))
            what = f"{sources[0]} holds {len(names)} runs ({named})"
            raise UsageError(f"{what}: stitch one at a time. chronicle.runs(path) gives each of them")
    return [part for attempt in attempts for part in _by_seed(attempt)]


def _attempts(what: Any) -> list[Attempt]:
    if isinstance(what, Attempt):
        return [what]
    if isinstance(what, Mapping):
        return [_data([_given(str(metric), given) for metric, given in what.items()])]
    pandas = sys.modules.get("pandas")  # a DataFrame exists only where pandas was imported
    if pandas is not None and isinstance(what, pandas.DataFrame):
        return _from_frame(what)
    attempts = list(what) if isinstance(what, Iterable) and not isinstance(what, str | bytes) else [what]
    strange = next((a for a in attempts if not isinstance(a, Attempt)), None)
    if strange is not None:
        raise UsageError(f"{_TAKES}; not {type(strange).__name__}")
    return attempts


def _data(series: Iterable[Series], name: str = "data") -> Attempt:
    return Attempt(name, (), assign({column.metric: column for column in series}))


def _given(metric: str, given: Any) -> Series:
    """Steps and values; bare values are counted from 0."""
    if not isinstance(given, tuple):
        values = _numbers(metric, given)
        return _series(metric, np.arange(len(values)), values)
    if len(given) != 2:
        raise UsageError(f"metric {metric!r}: a tuple must be (steps, values), not {len(given)} items")
    return _series(metric, _steps(metric, given[0]), _numbers(metric, given[1]))


def _numbers(metric: str, given: Any) -> Floats:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as err:
        raise UsageError(f"metric {metric!r}: values must be numbers ({err})") from err
    if values.ndim != 1:
        raise UsageError(f"metric {metric!r}: values must have one dimension, not {values.ndim}")
    return values


def _steps(metric: str, given: Any) -> Steps:
    """Whole steps, exact up to 2**63 - 1 (a detour through float64 would round them)."""
    try:
        raw = np.asarray(given)
        whole = raw.astype(np.int64) if raw.dtype.kind in "iub" else np.rint(raw.astype(np.float64))
    except (TypeError, ValueError, OverflowError) as err:
        raise UsageError(f"metric {metric!r}: steps must be whole numbers ({err})") from err
    beyond = whole.dtype.kind == "f" and (abs(whole) > 2**62).any()
    if whole.ndim != 1 or beyond or not np.isfinite(whole).all():
        raise UsageError(f"metric {metric!r}: steps must be one dimension of finite whole numbers")
    return whole.astype(np.int64)


def _series(metric: str, steps: Steps, values: Floats) -> Series:
    if len(steps) != len(values):
        raise UsageError(f"metric {metric!r}: {len(steps)} steps and {len(values)} values")
    return Series(metric, Role.OTHER, steps, values, np.full(len(steps), np.nan))


def _from_frame(table: Any) -> list[Attempt]:
    if {"metric", "step", "value"} <= set(table.columns):
        return _from_long(table)
    names = [c for c in table.columns if str(c).strip().lower() in FRAME_STEP_NAMES]
    step = min(names, key=lambda c: FRAME_STEP_NAMES.index(str(c).strip().lower()), default=None)
    steps = _steps(str(step or "index"), table.index if step is None else table[step])
    columns = {str(c): table[c] for c in table.columns if c != step and table[c].dtype.kind in "ifub"}
    if not columns:
        raise UsageError("the DataFrame has no column of numbers beside the step")
    series = []
    for metric, column in columns.items():
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        logged = _logged(values) if len(columns) > 1 else slice(None)
        series.append(_series(metric, steps[logged], values[logged]))
    return [_data(series)]


def _logged(values: Floats) -> NDArray[np.bool_]:
    """Which cells of a column were logged: a table has NaN for "not measured" and for a loss that is NaN.

    NaN at the end of a column that was filled in most rows, for longer than ever before, is data.
    """
    logged = ~np.isnan(values)
    filled = np.flatnonzero(logged)
    if len(filled):
        end = filled[-1] + 1
        longest_gap = int(np.diff(filled, prepend=-1).max()) - 1
        if len(filled) > _FILLED * end and len(values) - end > max(_TAIL_SAMPLES, 2 * longest_gap):
            logged[end:] = True
    return logged


def _from_long(table: Any) -> list[Attempt]:
    """A table as `frame` makes it; run, attempt, role and time may be missing."""
    import pandas as pd

    if "run" in table.columns and table["run"].nunique() > 1:
        raise UsageError("the DataFrame holds several runs: stitch one at a time, table[table.run == ...]")
    names = table["attempt"].astype(str) if "attempt" in table.columns else np.full(len(table), "data")
    attempts = []
    for name, rows in table.groupby(names, sort=False):
        series, roles = [], {}
        for metric, part in rows.groupby(rows["metric"].astype(str), sort=False):
            column = _given(metric, (part["step"], part["value"]))
            if "time" in part.columns:
                since = pd.to_datetime(part["time"], utc=True) - pd.Timestamp(0, tz="UTC")
                column = replace(column, times=np.asarray(since / pd.Timedelta(seconds=1), dtype=np.float64))
            if "role" in part.columns and part["role"].iloc[0] in list(Role):
                roles[metric] = Role(part["role"].iloc[0])
            series.append(column)
        own = _data(series, str(name))
        named = {m: replace(s, role=roles.get(m, s.role)) for m, s in own.series.items()}
        attempts.append(replace(own, series=named))
    return attempts


def _by_seed(attempt: Attempt) -> list[Attempt]:
    """An attempt a seed, called ``table.csv, seed 3``, if a column says which row is of which.

    Only where every metric was logged in every row, and not where the seed is another one from row to row.
    """
    column = next((attempt.series[name] for name in _SEED_COLUMNS if name in attempt.series), None)
    rest = {m: s for m, s in attempt.series.items() if s is not column}
    if column is None or not rest or not all(np.array_equal(s.steps, column.steps) for s in rest.values()):
        return [attempt]
    seeds, which = np.unique(column.values, return_inverse=True)
    if not 1 < len(seeds) <= min(_MOST_SEEDS, len(column) // 2):
        return [attempt]
    if not all(abs(seed) < 2**63 and seed.is_integer() for seed in seeds.tolist()):
        return [attempt]
    return [
        replace(
            attempt,
            name=f"{attempt.name}, seed {int(seed)}",
            series={m: s.pick(which == k) for m, s in rest.items()},
            facts={**attempt.facts, "seed": int(seed)},
        )
        for k, seed in enumerate(seeds)
    ]
