"""What several logs of one run are to each other: writers of one process, copies of one state, an order.
What files beside them tell becomes facts of those it belongs to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chronicle.metrics.aliases import OF_TRAINING
from chronicle.metrics.values import natural
from chronicle.model import Attempt, Floats, Role, Series, Steps
from chronicle.readers.columns import LENGTH, REWARD, counts_steps
from chronicle.readers.find import WRITERS
from chronicle.readers.side_files import BY_TIME, Told, home_of
from chronicle.readers.step_axis import MANY

# The name of an event file: Unix seconds, then host and process.
_EVENT_FILE = re.compile(r"tfevents\.([0-9]{10})(?:\.(.+?\.[0-9]+)\.[0-9]+(?:\.v2)?$)?")
_CLOCKS_S = 1.0  # by which a time in a name may be before the one that it belongs to

_COUNTER = "step_counter"  # the fact that names one of several counters of a log
_MOSTLY, _FEWEST = 0.9, 3  # share of the steps of a log that a counter of another one has
_CELLS = ("values", "times")  # of a series
_FACTOR, _LINEAR = 2.0, 0.99  # by which two counters differ at least, and how evenly
_MOST_NAMED = 3  # series of another counter


def arrange(attempts: Sequence[Attempt], told: Sequence[Told] = ()) -> list[Attempt]:
    """The attempts of one run: copies left out, writers joined, in order of the clock where all have one.

    ``told`` is what files beside them tell. Names are paths relative to the folder that was read.
    """
    attempts, asides = _asides(attempts)
    if any(_COUNTER in one.facts for one in attempts):
        steps = [_all_steps(one) for one in attempts if _COUNTER not in one.facts and one.axis == "step"]
        attempts = [_on_axis_of(one, steps) if _COUNTER in one.facts else one for one in attempts]
    attempts = _with_facts(attempts, [*told, *asides])
    attempts = [_on_one_counter(one) for one in _join_writers(_latest_states(_with_episodes(attempts)))]
    attempts = sorted(attempts, key=lambda one: natural(one.name))
    starts = [started(one) for one in attempts]
    if all(map(math.isfinite, starts)):
        attempts = [one for _, one in sorted(zip(starts, attempts, strict=True), key=lambda pair: pair[0])]
    return attempts


def _on_axis_of(attempt: Attempt, others: Sequence[Steps]) -> Attempt:
    """An attempt with several counters on the axis on which the other logs of the run stand.

    A table may count iterations and tell the environment's steps beside them, which its event file counts.
    """
    own = _all_steps(attempt)
    for name, counter in attempt.series.items():
        if not counts_steps(name) or np.any(np.diff(counter.steps) <= 0):
            continue
        if any(_are_in(steps, counter.values) and not _are_in(steps, own) for steps in others):
            break
    else:
        return attempt
    # What counted the steps is a metric now.
    was = str(attempt.facts[_COUNTER]).partition(";")[0]
    series = {metric: one for metric, one in attempt.series.items() if metric != name}
    series[was] = replace(counter, metric=was, values=counter.steps.astype(np.float64))
    moved = {
        metric: replace(one, steps=np.interp(one.steps, counter.steps, counter.values).astype(np.int64))
        for metric, one in series.items()
    }
    return replace(attempt, series=moved, facts={**attempt.facts, _COUNTER: name})


def _are_in(steps: Steps, values: Steps | Floats) -> bool:
    return len(steps) >= _FEWEST and bool(np.mean(np.isin(steps, values)) >= _MOSTLY)


def _all_steps(attempt: Attempt) -> Steps:
    columns = {id(s.steps): s.steps for s in attempt.series.values()}  # metrics of the same rows share theirs
    return np.unique(np.concatenate([np.empty(0, np.int64), *columns.values()]))


def _on_one_counter(attempt: Attempt) -> Attempt:
    """The attempt of event files with all its series on one counter, that of the longest of them.

    A series that counts something else (epochs beside steps, batches beside epochs) stands at the step that
    the counter had reached when it was written, an epoch at its end.
    """
    if attempt.facts.get("format") != "event file":
        return attempt
    alike: dict[tuple[int, ...], list[Series]] = {}  # series with one length, first and last step
    for series in attempt.series.values():
        if len(series):
            alike.setdefault((len(series), int(series.steps[0]), int(series.steps[-1])), []).append(series)
    axis, *_ = max(alike.values(), key=lambda group: (len(group[0]), len(group)), default=[None])
    if axis is None or len(alike) < 2 or not (np.diff(axis.times) >= 0).all():
        return attempt
    others = [one for group in alike.values() if _counts_other(axis, group[0]) for one in group]
    if not others:
        return attempt
    moved = {}
    for one in others:  # a slower counter, as of epochs, is logged at its end, a faster one when that is over
        before, after = _beside(axis, one)
        reached = before if np.ptp(one.steps) < np.ptp(before) else after
        moved[one.metric] = replace(one, steps=reached)
    rows = "".join(f"; {len(one)} rows by {one.metric}" for one in others[:_MOST_NAMED])
    facts = {_COUNTER: f"{axis.metric}{rows}", **attempt.facts}
    return replace(attempt, series={**attempt.series, **moved}, facts=facts)


def _counts_other(axis: Series, other: Series) -> bool:
    """Whether the steps of two series of one process are those of two counters: at equal times one of them
    is far behind, and by the same factor throughout."""
    if not np.isfinite(other.times).all():
        return False
    before, after = _beside(axis, other)
    slack = 2 * np.median(np.abs(np.diff(axis.steps)))
    outside = (other.steps < before - slack) | (other.steps > after + slack)
    begun = other.times >= axis.times[0]
    steps, reached = other.steps[begun].astype(np.float64), before[begun].astype(np.float64)
    if np.mean(outside) < _MOSTLY or len(steps) < MANY or not np.ptp(steps) or not np.ptp(reached):
        return False
    factor = np.ptp(reached) / np.ptp(steps)
    even = float(np.corrcoef(steps, reached)[0, 1])
    return bool(max(factor, 1 / factor) >= _FACTOR and even >= _LINEAR)


def _beside(axis: Series, other: Series) -> tuple[Steps, Steps]:
    """The steps of a series just before and just after the points of another one were written."""
    at = np.searchsorted(axis.times, other.times, side="right")
    return axis.steps[np.maximum(at - 1, 0)], axis.steps[np.minimum(at, len(axis) - 1)]


def _with_episodes(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts, what the environments of one training tell of their episodes as one: at the steps of the
    log in their folder that was begun with them, if it has times, and judged no more, as that log is."""
    by_folder: dict[str, list[Attempt]] = {}
    for one in attempts:
        if one.series.keys() >= {REWARD, LENGTH} and "started_at" in one.facts:
            by_folder.setdefault(_around(one), []).append(one)
    rest = [one for one in attempts if all(one is not e for ones in by_folder.values() for e in ones)]
    found = []
    for folder, ones in by_folder.items():
        episodes = _episodes(ones)
        beside = [one for one in rest if _around(one) == folder and math.isfinite(started(one))]
        if beside:
            log = min(beside, key=lambda one: abs(_begun(one) - _begun(episodes)))
            axis = max(log.series.values(), key=len)
            steps = np.interp(episodes.series[LENGTH].times, axis.times, axis.steps).astype(np.int64)
            placed = {metric: replace(one, steps=steps) for metric, one in episodes.series.items()}
            placed[REWARD] = replace(placed[REWARD], role=Role.SCORE)
            episodes = replace(episodes, series=placed)
        found.append(episodes)
    return rest + found


def _episodes(ones: Sequence[Attempt]) -> Attempt:
    """The episodes of all environments in the order in which they ended, at the steps of all of them."""
    parts = [one.series for one in ones]
    order = np.argsort(np.concatenate([series[LENGTH].times for series in parts]), kind="stable")
    columns = {
        metric: [np.concatenate([getattr(series[metric], of) for series in parts])[order] for of in _CELLS]
        for metric in parts[0]
        if all(metric in series and len(series[metric]) == len(series[LENGTH]) for series in parts)
    }
    steps = np.cumsum(columns[LENGTH][0]).astype(np.int64)
    series = {m: Series(m, Role.OTHER, steps, values, times) for m, (values, times) in columns.items()}
    return replace(_one_of(ones[0], ones[1:]), series=series)


def started(attempt: Attempt) -> float:
    """Unix seconds of the first point that has a time; NaN without one."""
    firsts = (float(s.times[0]) for s in attempt.series.values() if len(s))
    return min((time for time in firsts if not math.isnan(time)), default=math.nan)


def _asides(attempts: Iterable[Attempt]) -> tuple[list[Attempt], list[Told]]:
    """The attempts, and what event files tell that hold hyperparameters and no curve.

    `add_hparams` writes one into a folder of its own, with at most a result of each metric.
    """
    kept, asides = list[Attempt](), list[Attempt]()
    for one in attempts:
        single = all(len(s) <= 1 for s in one.series.values()) and BY_TIME.fullmatch(_folder(one))
        is_aside = one.facts.get("format") == "event file" and (not one.series or single)
        (asides if is_aside else kept).append(one)
    if not kept:
        return [one for one in asides if one.series], []
    told = []
    for one in asides:
        results = {tag: float(s.values[-1]) for tag, s in one.series.items() if len(s)}
        facts = {**one.facts, "summary": results} if results else {**one.facts}
        folder, at_time = home_of(one.name)
        at_time = _created(one) if math.isnan(at_time) else at_time
        told.append(Told(folder, at_time, facts, _process(one)))
    return kept, told


def _with_facts(attempts: Sequence[Attempt], told: Iterable[Told]) -> list[Attempt]:
    """The attempts with what files tell that lie beside them or above, or below: there by process or time.

    What lies nearer wins, and before all what an attempt says of itself.
    """
    facts: list[dict[str, Any]] = [{} for _ in attempts]
    begun = [_begun(one) for one in attempts]
    for one in told:
        home = f"{one.folder}/"
        beside = [k for k, a in enumerate(attempts) if not one.folder or f"{a.name}/".startswith(home)]
        before = [k for k in beside if begun[k] <= one.at_time + _CLOCKS_S]
        ours = [k for k in beside if one.process and _process(attempts[k]) == one.process]
        for k in ours or ([max(before, key=begun.__getitem__)] if before else beside):
            facts[k] |= one.facts
    return [replace(a, facts={**f, **a.facts}) if f else a for a, f in zip(attempts, facts, strict=True)]


def _begun(attempt: Attempt) -> float:
    """Unix seconds at which the log was made, by its name, else of its first point; NaN without either."""
    created = _created(attempt)
    return started(attempt) if math.isnan(created) else created


def _created(attempt: Attempt) -> float:
    found = _EVENT_FILE.search(attempt.name)
    return float(found[1]) if found else math.nan


def _process(attempt: Attempt) -> str:
    found = _EVENT_FILE.search(attempt.name)
    return found[2] or "" if found else ""


def _latest_states(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Of the states in checkpoint folders and the one beside them, which repeat each other, the furthest."""
    kept: dict[str, Attempt] = {}
    for attempt in attempts:
        state = attempt.name
        if state.rpartition("/")[2] == "trainer_state.json":
            state = re.sub(r"(^|/)checkpoint-\d+/(?=[^/]*$)", r"\1", state)
            if state in kept and _reached(kept[state]) > _reached(attempt):
                continue
        kept[state] = attempt
    return list(kept.values())


def _reached(attempt: Attempt) -> float:
    step = attempt.facts.get("global_step", 0)
    return float(step) if isinstance(step, int | float) else 0.0


def _join_writers(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Event files in train/, validation/, ... are writers of one process: one attempt, tags with the folder.

    A file of the first writer (train/, or the folder around) is an attempt; those of the others belong to
    the attempt of their process, else to the one that ran when they were begun.
    """
    events = [one for one in attempts if one.facts.get("format") == "event file"]
    rest = [one for one in attempts if one.facts.get("format") != "event file"]
    by_folder: dict[str, list[Attempt]] = {}
    for one in events:
        folder = f"/{one.name}".rpartition("/")[0]
        around = folder.rpartition("/")[0]
        by_folder.setdefault(around if _folder(one).lower() in WRITERS else folder, []).append(one)
    return rest + [joined for group in by_folder.values() for joined in _joined(group)]


def _joined(group: list[Attempt]) -> list[Attempt]:
    ranked: list[list[Attempt]] = [[], [], []]  # of the folder around the writers, of train/, of the others
    for one in group:
        name = _folder(one).lower()
        ranked[1 if name in OF_TRAINING else 2 if name in WRITERS else 0].append(one)
    leading, *others = filter(None, ranked)
    if not others:
        return group
    leaders = sorted(leading, key=_begun)
    followers: dict[int, list[Attempt]] = {}
    for one in (one for one in group if one not in leading):
        ours = [i for i, leader in enumerate(leaders) if _process(leader) == _process(one) != ""]
        running = [i for i in ours or range(len(leaders)) if _begun(leaders[i]) <= _begun(one)]
        followers.setdefault((running or ours[:1] or [0])[-1], []).append(one)
    return [_one_of(leader, followers.get(i, [])) for i, leader in enumerate(leaders)]


def _folder(attempt: Attempt) -> str:
    """The name of the folder that the log of an attempt lies in; "" for that which was read."""
    return _around(attempt).rpartition("/")[2]


def _around(attempt: Attempt) -> str:
    """The folder that the log of an attempt lies in, relative to that which was read."""
    return attempt.name.rpartition("/")[0]


def _one_of(leader: Attempt, followers: Sequence[Attempt]) -> Attempt:
    series: dict[str, Series] = {}
    for one in (leader, *followers):
        folder = _folder(one)
        for tag, points in one.series.items():
            name = f"{folder}/{tag}" if folder.lower() in WRITERS else tag
            while name in series:
                name += " (2)"
            series[name] = replace(points, metric=name)
    return replace(
        leader,
        sources=tuple(source for one in (leader, *followers) for source in one.sources),
        series=series,
        faults=tuple(fault for one in (leader, *followers) for fault in one.faults),
        truncated=leader.truncated or any(one.truncated for one in followers),
    )
