"""Stitching: makes one timeline of the logs of a training.

`stitch` cuts logs that hold several attempts, sets copies aside, orders and joins the attempts, and marks
every point as live or dead. Each stage is a module of its own; docs/timeline.md states the rules.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from chronicle.errors import UsageError
from chronicle.metrics.aliases import FRAME_STEP_NAMES
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.roles import assign
from chronicle.metrics.values import first_few, grouped
from chronicle.model import Attempt, Floats, Join, Mask, Role, Series, Steps, Timeline
from chronicle.timeline.axes import OnAxis, on_axis
from chronicle.timeline.copies import without_copies, without_logs_of_the_whole, without_other_ranks
from chronicle.timeline.courses import by_name, course, in_order
from chronicle.timeline.joins import faults_in_order, without_machines
from chronicle.timeline.relation import Pair, Relation, reached
from chronicle.timeline.split import split
from chronicle.timeline.trainings import as_parts_of_tracks, discarded, live, relate, tracks
from chronicle.workspace.config import RELATIONS

__all__ = ["OnAxis", "discarded", "goes_on", "live", "on_axis", "stitch"]
_FILLED_SHARE = 0.5  # a column with values in a larger share of its rows is logged in every row
_TAIL_SAMPLES = 3  # up to this many NaN at the end of a column are "not measured", whatever precedes them
_MOST_NAMED = 4  # runs that a message lists
_SHARED_METRICS = 0.5  # share of the metrics of the smaller log that the other one must have too
_MOST_SEEDS = 1000  # in a table; a column with more values does not hold seeds of trainings


@any_numbers
def stitch(
    what: Any, *, run_id: str = "run", order: Sequence[str] | None = None, relation: str | None = None
) -> Timeline:
    """The timeline of one run. Pure, and independent of the order in which attempts are given.

    Args:
        what: attempts (what `chronicle.read` gives), one attempt, a pandas DataFrame (one column a metric
            and the step in a column or the index; or long, as `Timeline.frame` makes it), or a mapping of
            metric to values or to (steps, values).
        run_id: the name of the run.
        order: names of attempts in the order they ran; the others follow in the order that the logs imply.
        relation: what logs over the same steps are: "attempts" (parts of one training) or "seeds" (separate
            trainings); None or "": the logs decide.

    Raises:
        UsageError: ``what`` is none of these, ``order`` names no attempt, or ``relation`` is another word.
    """
    if relation and relation not in RELATIONS:
        words = ", ".join(map(repr, filter(None, RELATIONS)))
        raise UsageError(f"relation must be one of {words}, not {relation!r}")
    logs, machines = without_machines(_attempts_from(what))
    parts, split_doubts, backs = split(logs, relation_given=bool(relation))
    kept, wholes = without_logs_of_the_whole([c for part in parts if (c := course(part))])
    kept, ranks = without_other_ranks(kept)
    kept, copies = without_copies(kept)
    copies += [*wholes, *ranks]
    backs.sort(key=lambda back: (by_name(back.attempts[0]), back.cause))
    empty = sorted((part for part in parts if not course(part)), key=lambda part: by_name(part.name))
    courses, order_doubts = in_order(kept, [*copies, *empty], order or ())
    trainings, join_doubts = relate(courses, relation or "", order_given=bool(order))
    attempts = [*(c.attempt for c in courses), *empty]
    series = tracks(attempts, trainings)
    joins = sorted((join for t in trainings for join in t.joins.values()), key=lambda join: join.after)
    return Timeline(
        run_id, as_parts_of_tracks(series, attempts), tuple(joins), series, copies=tuple(copies),
        doubts=(*split_doubts, *order_doubts, *join_doubts),
        step_backs=(*backs, *(t.departure for t in trainings if t.departure is not None)),
        faults=faults_in_order([*attempts, *copies, *machines], series),
    )  # fmt: skip


def goes_on(before: Sequence[Attempt], after: Sequence[Attempt]) -> bool:
    """Whether the attempts of two logs belong to one training, and none of them starts it again."""
    names, others = ({m for attempt in attempts for m in attempt.series} for attempts in (before, after))
    if len(names & others) < max(1, _SHARED_METRICS * min(len(names), len(others))):
        return False
    called = [{a.facts["name"] for a in attempts if "name" in a.facts} for attempts in (before, after)]
    if all(called) and called[0].isdisjoint(called[1]):
        return False
    timeline = stitch((*before, *after))
    first = {source for attempt in before for source in attempt.sources}
    known = [first.issuperset(attempt.sources) for attempt in timeline.attempts]
    over = [join for join in timeline.joins if known[join.before] != known[join.after]]
    apart = [back.evidence["because"] for back in timeline.step_backs if back.cause == "seeds"]
    one_training = all(because == "evaluation" for because in apart)
    return bool(over) and one_training and all(_resumes(timeline, join) for join in over)


def _resumes(timeline: Timeline, join: Join) -> bool:
    """Whether a join continues from steps that were logged, in a process with the same seed."""
    before, after = (course(timeline.attempts[k]) for k in (join.before, join.after))
    assert before is not None and after is not None  # attempts that are joined have points
    two = Pair(before, after, before)
    on = two.relation() in (Relation.CONTINUES, Relation.OVERTAKES) and not two.begins_at_root
    return on and two.same_fact("seed") is not False and bool(reached(before, after))


def _attempts_from(what: Any) -> list[Attempt]:
    """The attempts in ``what``. Raises UsageError if it is none of the types, or holds several runs."""
    attempts = _attempts(what)
    stated = (attempt for attempt in attempts if attempt.sources and attempt.facts.get("run"))
    for (source, *_), own in grouped(stated, attrgetter("sources")).items():
        if len(names := [*dict.fromkeys(repr(str(attempt.facts["run"])) for attempt in own)]) > 1:
            named = first_few(names, _MOST_NAMED)
            advice = "stitch one at a time. chronicle.runs(path) gives each of them"
            raise UsageError(f"{source} holds {len(names)} runs ({named}): {advice}")
    return [part for attempt in attempts for part in _by_seed(attempt)]


def _attempts(what: Any) -> list[Attempt]:
    if isinstance(what, Mapping):
        return [_data([_as_series(str(metric), given) for metric, given in what.items()])]
    pandas = sys.modules.get("pandas")  # a DataFrame exists only where pandas was imported
    if pandas is not None and isinstance(what, pandas.DataFrame):
        return _from_frame(what)
    attempts = list(what) if isinstance(what, Iterable) and not isinstance(what, str | bytes) else [what]
    if (strange := next((a for a in attempts if not isinstance(a, Attempt)), None)) is not None:
        takes = "attempts (chronicle.read gives them), a pandas DataFrame, or a mapping of metric to values"
        raise UsageError(f"stitch takes {takes} or (steps, values); not {type(strange).__name__}")
    return attempts


def _data(series: Iterable[Series], name: str = "data") -> Attempt:
    return Attempt(name, (), assign({column.metric: column for column in series}))


def _as_series(metric: str, given: Any) -> Series:
    """A series from (steps, values), or from values alone, whose steps are then counted from 0."""
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
    """Whole steps, exact up to 2**63 - 1: integers are not converted through float64, which rounds them."""
    try:
        raw = np.asarray(given)
        steps = raw.astype(np.int64) if raw.dtype.kind in "iub" else np.rint(raw.astype(np.float64))
    except (TypeError, ValueError, OverflowError) as err:
        raise UsageError(f"metric {metric!r}: steps must be whole numbers ({err})") from err
    beyond = steps.dtype.kind == "f" and (abs(steps) > 2**62).any()
    if steps.ndim != 1 or beyond or not np.isfinite(steps).all():
        raise UsageError(f"metric {metric!r}: steps must be one dimension of finite whole numbers")
    return steps.astype(np.int64)


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
        raise UsageError("the DataFrame has no column of numbers other than the step")
    cells = {m: np.asarray(c.to_numpy(dtype=np.float64, na_value=np.nan)) for m, c in columns.items()}
    logged = {m: _logged(values) if len(columns) > 1 else slice(None) for m, values in cells.items()}
    return [_data(_series(m, steps[logged[m]], values[logged[m]]) for m, values in cells.items())]


def _logged(values: Floats) -> Mask:
    """Which cells of a column were logged. A NaN may mean "not measured", or be a loss that is NaN: it is
    data at the end of a column with values in most rows, if no gap before has as many."""
    logged = ~np.isnan(values)
    filled = np.flatnonzero(logged)
    if len(filled):
        end = filled[-1] + 1
        longest_gap = int(np.diff(filled, prepend=-1).max()) - 1
        if len(filled) > _FILLED_SHARE * end and len(values) - end > max(_TAIL_SAMPLES, 2 * longest_gap):
            logged[end:] = True
    return logged


def _from_long(table: Any) -> list[Attempt]:
    """The attempts in a table as `Timeline.frame` makes it; run, attempt, role and time may be missing."""
    import pandas as pd

    if "run" in table.columns and table["run"].nunique() > 1:
        raise UsageError("the DataFrame holds several runs: stitch one at a time, table[table.run == ...]")
    names = table["attempt"].astype(str) if "attempt" in table.columns else np.full(len(table), "data")
    attempts = []
    for name, rows in table.groupby(names, sort=False):
        series, roles = [], {}
        for metric, part in rows.groupby(rows["metric"].astype(str), sort=False):
            column = _as_series(metric, (part["step"], part["value"]))
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
    """One attempt for each seed, named ``table.csv, seed 3``, if a column holds the seed of each row, every
    metric has a value in every row, and each seed has several rows; else the attempt as it is."""
    column = next((attempt.series[name] for name in ("seed", "random_seed") if name in attempt.series), None)
    rest = {m: s for m, s in attempt.series.items() if s is not column}
    if column is None or attempt.axis == "item" or not rest:
        return [attempt]
    seeds, which = np.unique(column.values, return_inverse=True)
    several = 1 < len(seeds) <= min(_MOST_SEEDS, len(column) // 2)
    whole = several and all(abs(seed) < 2**63 and seed.is_integer() for seed in seeds.tolist())
    if not whole or not all(s.has_steps_of(column) for s in rest.values()):
        return [attempt]
    parts = []
    for k, seed in enumerate(map(int, seeds)):
        series, facts = {m: s.pick(which == k) for m, s in rest.items()}, {**attempt.facts, "seed": seed}
        parts.append(replace(attempt, name=f"{attempt.name}, seed {seed}", series=series, facts=facts))
    return parts
