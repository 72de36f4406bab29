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
from chronicle.model import Attempt, Fault, Floats, Place, Series, Steps
from chronicle.readers.columns import counts_steps
from chronicle.readers.find import WRITERS
from chronicle.readers.side_files import BY_TIME, Told, home_of

# The name of an event file: Unix seconds, then host and process.
_EVENT_FILE = re.compile(r"tfevents\.([0-9]{10})(?:\.(.+?\.[0-9]+)\.[0-9]+(?:\.v2)?$)?")
_CLOCKS_S = 1.0  # by which a time in a name may be before the one that it belongs to

_OF_MONITOR = {"t_start", "env_id"}  # facts that Gym's Monitor writes
_LEFT_OUT = "tells of one environment what the log beside it tells of all; left out. Read it alone to see it"
_COUNTER = "step_counter"  # the fact that names one of several counters of a log
_MOSTLY, _FEWEST = 0.9, 3  # share of the steps of a log that a counter of another one has


def arrange(attempts: Sequence[Attempt], told: Sequence[Told] = ()) -> list[Attempt]:
    """The attempts of one run: copies left out, writers joined, in order of the clock where all have one.

    ``told`` is what files beside them tell. Names are paths relative to the folder that was read.
    """
    attempts, asides = _asides(_without_environments(attempts))
    attempts = _with_facts(_equated(attempts), [*told, *asides])
    attempts = sorted(_join_writers(_latest_states(attempts)), key=lambda one: natural(one.name))
    starts = [started(one) for one in attempts]
    if all(map(math.isfinite, starts)):
        attempts = [one for _, one in sorted(zip(starts, attempts, strict=True), key=lambda pair: pair[0])]
    return attempts


def _without_environments(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts without the `n.monitor.csv` of single environments beside the log of their trainer.

    They count the steps of their own environment alone, and the trainer's log tells the mean of all.
    """
    folders = [one.name.rpartition("/")[0] for one in attempts]
    alone = [one.facts.keys() >= _OF_MONITOR for one in attempts]
    trainers = {folder: k for k, folder in enumerate(folders) if not alone[k]}
    kept = list(attempts)
    for k, one in enumerate(attempts):
        if alone[k] and (leader := trainers.get(folders[k])) is not None:
            faults = (*kept[leader].faults, Fault(Place(one.sources[0]), _LEFT_OUT))
            kept[leader] = replace(kept[leader], faults=faults)
    return [one for k, one in enumerate(kept) if not alone[k] or folders[k] not in trainers]


def _equated(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts, those with several counters on the axis on which the other logs of the run stand.

    A table may count iterations and tell the environment's steps beside them, which its event file counts.
    """
    if not any(_COUNTER in one.facts for one in attempts):
        return list(attempts)
    steps = [_all_steps(one) for one in attempts if _COUNTER not in one.facts and one.axis == "step"]
    return [_on_axis_of(one, steps) if _COUNTER in one.facts and steps else one for one in attempts]


def _on_axis_of(attempt: Attempt, others: Sequence[Steps]) -> Attempt:
    own = _all_steps(attempt)
    for name, counter in attempt.series.items():
        if not counts_steps(name) or np.any(np.diff(counter.steps) <= 0):
            continue
        if any(_are_in(steps, counter.values) and not _are_in(steps, own) for steps in others):
            return _counted_by(attempt, name)
    return attempt


def _are_in(steps: Steps, values: Steps | Floats) -> bool:
    return len(steps) >= _FEWEST and bool(np.mean(np.isin(steps, values)) >= _MOSTLY)


def _all_steps(attempt: Attempt) -> Steps:
    columns = {id(s.steps): s.steps for s in attempt.series.values()}  # metrics of the same rows share theirs
    return np.unique(np.concatenate([np.empty(0, np.int64), *columns.values()]))


def _counted_by(attempt: Attempt, name: str) -> Attempt:
    """The attempt with its steps as one of its metrics counts them; what counted them is a metric then."""
    counter = attempt.series[name]
    was = str(attempt.facts[_COUNTER]).partition(";")[0]
    old = replace(counter, metric=was, values=counter.steps.astype(np.float64))
    series = {metric: one for metric, one in attempt.series.items() if metric != name} | {was: old}
    moved = {
        metric: replace(one, steps=np.interp(one.steps, counter.steps, counter.values).astype(np.int64))
        for metric, one in series.items()
    }
    return replace(attempt, series=moved, facts={**attempt.facts, _COUNTER: name})


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
    the attempt that ran when they were begun.
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
    ranks = {id(one): _writer_rank(one) for one in group}
    first = min(ranks.values())
    others = [one for one in group if ranks[id(one)] != first]
    if not others:
        return group
    leaders = sorted((one for one in group if ranks[id(one)] == first), key=started)
    followers: dict[int, list[Attempt]] = {}
    for one in others:
        running = [i for i, leader in enumerate(leaders) if started(leader) <= started(one)]
        followers.setdefault(running[-1] if running else 0, []).append(one)
    return [_one_of(leader, followers.get(i, [])) for i, leader in enumerate(leaders)]


def _writer_rank(attempt: Attempt) -> int:
    """0 for the folder around the writers, then train/, then the others, which rank equal."""
    name = _folder(attempt).lower()
    return 1 if name in OF_TRAINING else 2 if name in WRITERS else 0


def _folder(attempt: Attempt) -> str:
    """The name of the folder that the log of an attempt lies in; "" for that which was read."""
    return attempt.name.rpartition("/")[0].rpartition("/")[2]


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
