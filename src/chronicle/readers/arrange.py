"""Finds out what several logs of one run are to each other (writers of one process, copies of one state, one
after the other), and gives them the facts of the files beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from chronicle.metrics.aliases import OF_EVALUATION, OF_PHASES, OF_TRAINING
from chronicle.metrics.arithmetic import any_numbers, median, rounding
from chronicle.metrics.names import JUDGED, name_words, role_of
from chronicle.metrics.values import gathered, grouped, natural
from chronicle.model import Attempt, Fault, Place, Role, Series, Steps
from chronicle.readers.columns import LENGTH, REWARD
from chronicle.readers.facts import BY_TIME, SideFacts, home_of
from chronicle.readers.find import home_of_scalars
from chronicle.readers.step_axis import MANY

# The name of an event file: Unix seconds, then host and process.
_EVENT_FILE = re.compile(r"tfevents\.([0-9]{10})(?:\.(.+?\.[0-9]+)\.[0-9]+(?:\.v2)?$)?")
_CLOCKS_S = 1.0  # by which a time in a name may be before the one that it belongs to

_MOSTLY = 0.9  # share of the points of another counter that are far from the steps around them
_LEAST_FACTOR = 2.0  # by which two counters differ
_LEAST_LINEARITY = 0.99  # correlation of two counters of one thing
_MOST_NAMED = 3  # series of another counter
_FEWEST_EPOCHS = 3  # of which a table and a log say the same; fewer may be chance
_PRINTED = 1e-4  # by which two loggers may differ of a value
_EQUAL, _MEAN = "equal", "mean"  # how the values of a table are those of a log


@any_numbers
def arrange(attempts: Sequence[Attempt], side_facts: Sequence[SideFacts] = ()) -> list[Attempt]:
    """Puts the attempts of one run in order: copies are left out, files of several writers are joined, and
    the attempts are sorted by the clock if all have one, else by name. ``side_facts`` are the facts in files
    beside the logs. Names are paths relative to the folder that was read."""
    attempts, asides = _asides(_side_by_side(_courses(attempts)))
    attempts = _with_facts(attempts, [*side_facts, *asides])
    attempts = [_on_one_counter(log) for log in _join_writers(_branches_of_states(_with_episodes(attempts)))]
    if len(attempts) < 2:
        return attempts
    attempts = sorted(attempts, key=lambda log: natural(log.name))
    moments = {id(log): started(log) for log in attempts}
    if all(map(math.isfinite, moments.values())):
        attempts = sorted(attempts, key=lambda log: moments[id(log)])
    return _with_tables_of_epochs(_at_their_epochs(attempts))


def _at_their_epochs(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Moves the steps of resumed attempts that count the batches of an epoch from 0 in a log of their own to
    where the same epochs are in the attempts before."""
    begun, placed = dict[int, int](), list[Attempt]()  # the first step of each epoch
    for log in attempts:
        own = {} if any(log.sources == other.sources for other in placed[-1:]) else _epochs_begun(log)
        # the first of a log may begin in the middle
        lengths = {int(n) for steps in ([*begun.values()], [*own.values()][1:]) for n in np.diff(steps)}
        if begun and own and min(own) > min(begun) and len(lengths) == 1:
            first, length = begun[min(begun)], lengths.pop()
            moved = length * (min(own) - min(begun))
            if 0 <= own[min(own)] - first < length and min(own) <= max(begun) + 1:
                series = {name: replace(s, steps=s.steps + moved) for name, s in log.series.items()}
                log, own = replace(log, series=series), {n: step + moved for n, step in own.items()}
        begun = dict(sorted({**own, **begun}.items()))
        placed.append(log)
    return placed


@any_numbers
def _with_tables_of_epochs(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Joins a table of epochs to the log of the same training beside it that counts steps: both say the same
    of each epoch, as where a script prints its batches and keeps a table of its epochs."""
    tables = [log for log in attempts if log.axis == "epoch"]
    logs = attempts if tables else ()
    ends = {id(log): ended for log in logs if len(ended := _epochs_ended(log)) >= _FEWEST_EPOCHS}
    joined = {id(log): log for log in attempts}
    for table in tables if ends else ():
        near = [log for log in attempts if id(log) in ends and _around(log) == _around(table)]
        placed = [(log, _at_steps_of_epochs(table, log, ends[id(log)])) for log in near]
        of_same = [(log, own) for log, own in placed if own is not None]
        if len(of_same) == 1:
            ((log, own),) = of_same
            host = joined[id(log)]
            with_table = _merged(_Written(host), _Written(replace(table, series=own)))
            joined[id(log)] = replace(with_table, facts={**table.facts, **host.facts})
            del joined[id(table)]
    return [joined[id(log)] for log in attempts if id(log) in joined]


def _epochs_ended(log: Attempt) -> dict[int, int]:
    """The last step of each epoch of a log that counts steps and names whole epochs, else {}."""
    begun = _epochs_begun(log)
    last = max((int(series.steps[-1]) for series in log.series.values() if len(series)), default=0)
    later = [*begun.values()][1:]
    return dict(zip(begun, [*(step - 1 for step in later), last], strict=True)) if begun else {}


def _at_steps_of_epochs(table: Attempt, log: Attempt, ended: Mapping[int, int]) -> dict[str, Series] | None:
    """The series of a table of epochs at the last steps of these epochs in a log, without those that the log
    has itself; None unless both say the same of at least half of its epochs. The one may count the epochs
    from 0, the other from 1."""
    numbers, steps = np.array([*ended]), np.array([*ended.values()])
    length = median(np.diff(steps))
    judged = {name: s for name, s in table.series.items() if role_of(name) in JUDGED and len(s)}
    for shift in (0, 1, -1):
        alike = {name: _is_of_epochs(s, log, numbers - shift, steps) for name, s in judged.items()}
        if not any(map(bool, alike.values())):
            continue
        placed = dict[str, Series]()
        for name in (name for name in table.series if alike.get(name) != _EQUAL):
            epochs = table.series[name].steps + shift
            beyond = (epochs - numbers[-1]).clip(0) * length - (numbers[0] - epochs).clip(0) * length
            at = np.interp(epochs, numbers, steps) + beyond
            new = f"epoch/{name}" if name in log.series else name
            placed[new] = replace(table.series[name], metric=new, steps=at.astype(np.int64))
        return placed
    return None


def _is_of_epochs(own: Series, log: Attempt, numbers: Steps, ends: Steps) -> str:
    """Whether a log has the same values of epochs: _EQUAL if those of one of its series at the ends of epochs
    are these, _MEAN if the means over them are; else ""."""
    known = np.isin(own.steps, numbers) & np.isfinite(own.values)
    epochs, values = own.steps[known], own.values[known]
    rows, enough = np.searchsorted(numbers, epochs), max(_FEWEST_EPOCHS, len(own) // 2)
    if len(np.unique(values)) < _FEWEST_EPOCHS:
        return ""
    for series in (s for name, s in log.series.items() if role_of(name) in JUDGED and len(s)):
        at = np.searchsorted(ends, series.steps)
        inside = at < len(ends)
        at, there = at[inside], series.values[inside]
        counts = np.bincount(at, minlength=len(ends))
        last, sums = np.full(len(ends), np.nan), np.bincount(at, there, minlength=len(ends))
        last[at] = there
        said = counts[rows] > 0
        slack = rounding(values) + rounding(there).max(initial=0.0) + _PRINTED * np.abs(values)
        for kind, of_epochs in ((_EQUAL, last), (_MEAN, sums / np.maximum(counts, 1))):
            same = np.abs(of_epochs[rows] - values) <= slack
            if np.count_nonzero(said) >= enough and same[said].all() and np.ptp(values) > 8 * slack.max():
                return kind
    return ""


def _epochs_begun(log: Attempt) -> dict[int, int]:
    """The first step of each epoch, if a log counts steps and also names whole epochs, in order and without a
    gap; {} for any other log."""
    epochs = next((s for name, s in log.series.items() if role_of(name) is Role.EPOCH and len(s)), None)
    if log.axis != "step" or epochs is None or (epochs.values % 1 != 0).any():
        return {}
    numbers, first = np.unique(epochs.values, return_index=True)
    step_by_epoch = dict(zip(numbers.astype(int).tolist(), epochs.steps[first].tolist(), strict=True))
    in_order = np.ptp(numbers) == len(numbers) - 1 and (np.diff(epochs.steps[first]) > 0).all()
    return step_by_epoch if in_order else {}


def _courses(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Leaves out tables of results that lie beside logs; a fault of the first log says so."""
    courses = [log for log in attempts if log.axis != "item"]
    if not courses:
        return list(attempts)
    tables = [(log.facts["rows"], source) for log in attempts if log.axis == "item" for source in log.sources]
    asides = [Fault(Place(source), f"its rows are {rows}; left out") for rows, source in tables]
    return [replace(courses[0], faults=(*courses[0].faults, *asides)), *courses[1:]]


def _side_by_side(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Joins tables of one folder that have the same rows, since the meaning of a column depends on the
    others: files of one column each (`losses.npy` and `rewards.npy`), and files of the same unknown columns,
    which are named after their files, as d3rlpy writes the gradients of each part of a model."""

    def place(log: Attempt) -> tuple[Any, ...]:
        column, *others = log.series.values()
        rows = hash((column.steps.tobytes(), column.times.tobytes()))
        names = (*log.series,) if others else ()
        return _around(log), log.axis, log.facts.get("format"), log.facts.get("run"), len(column), rows, names

    def parts_of(logs: Iterable[Attempt]) -> list[_Written]:
        in_order = sorted(logs, key=lambda log: natural(log.name))
        stems = [log.name.rpartition("/")[2].rpartition(".")[0] for log in in_order]
        return [
            _Written(log, before=f"{stem}/" if len(log.series) > 1 else "")
            for stem, log in zip(stems, in_order, strict=True)
        ]

    def are_one(parts: Sequence[_Written]) -> bool:
        names = [part.before + name for part in parts for name in part.log.series]
        return len(parts) > 1 and len({*names}) == len(names)

    said_nothing = {Role.OTHER, Role.EPOCH}
    silent = [
        a for a in attempts if a.facts.get("format") == "csv" and {*map(role_of, a.series)} == said_nothing
    ]
    alone = [a for a in attempts if len(a.series) == 1]
    tables = [*filter(are_one, map(parts_of, grouped(alone + silent, place).values()))]
    joined = {id(parts[0].log): _merged(*parts) for parts in tables}
    left = {id(part.log) for _, *parts in tables for part in parts}
    return [joined.get(id(log), log) for log in attempts if id(log) not in left]


def _on_one_counter(attempt: Attempt) -> Attempt:
    """Moves all series of an event file to the steps of the longest series, each point to where it was
    written. A series of evaluations, which may count batches of their own, or of epochs is only taken for the
    longest if there is no other."""
    counters = {id(series.steps) for series in attempt.series.values()}
    if len(counters) < 2 or not _is_of_events(attempt):
        return attempt
    logged = filter(len, attempt.series.values())
    alike = grouped(logged, lambda series: (len(series), int(series.steps[0]), int(series.steps[-1])))
    trained = [g for g in alike.values() if any(map(_is_of_training_step, g))] or alike.values()
    axis, *_ = max(trained, key=lambda group: (len(group[0]), len(group)), default=[None])
    if axis is None or len(axis) < 2 or len(alike) < 2 or not (np.diff(axis.times) >= 0).all():
        return attempt
    others = [curve for group in alike.values() if _counts_other(axis, group[0]) for curve in group]
    if not others:
        return attempt
    moved = {}
    for curve in others:  # a slower counter (epochs) is logged at its end, a faster one when that is over
        before, after = _steps_around(axis, curve)
        moved[curve.metric] = replace(curve, steps=before if np.ptp(curve.steps) < np.ptp(before) else after)
    rows = "".join(f"; {len(curve)} rows by {curve.metric}" for curve in others[:_MOST_NAMED])
    facts = {"step_counter": f"{axis.metric}{rows}", **attempt.facts}
    return replace(attempt, series={**attempt.series, **moved}, facts=facts)


def _is_of_training_step(series: Series) -> bool:
    return role_of(series.metric) is not Role.EPOCH and not name_words(series.metric) & OF_EVALUATION


def _counts_other(axis: Series, other: Series) -> bool:
    """Whether two series of one process count different things: one is far behind the other, always by the
    same factor."""
    if not np.isfinite(other.times).all():
        return False
    before, after = _steps_around(axis, other)
    slack = 2 * median(np.abs(np.diff(axis.steps)))
    outside = (other.steps < before - slack) | (other.steps > after + slack)
    begun = other.times >= axis.times[0]
    steps, reached = other.steps[begun].astype(np.float64), before[begun].astype(np.float64)
    if np.mean(outside) < _MOSTLY or len(steps) < MANY or not np.ptp(steps) or not np.ptp(reached):
        return False
    factor = np.ptp(reached) / np.ptp(steps)
    return bool(
        max(factor, 1 / factor) >= _LEAST_FACTOR and np.corrcoef(steps, reached)[0, 1] >= _LEAST_LINEARITY
    )


def _steps_around(axis: Series, other: Series) -> tuple[Steps, Steps]:
    """The steps of a series just before and just after the points of another one were written."""
    at = np.searchsorted(axis.times, other.times, side="right")
    return axis.steps[np.maximum(at - 1, 0)], axis.steps[np.minimum(at, len(axis) - 1)]


def _with_episodes(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Joins the files in which the environments of one training log their episodes, and puts the episodes at
    the steps of the log in the same folder that began with them. Their rewards are then scores, because that
    log is what is judged."""

    def is_monitor(log: Attempt) -> bool:
        return log.series.keys() >= {REWARD, LENGTH} and "started_at" in log.facts

    rest, joint = [log for log in attempts if not is_monitor(log)], list[Attempt]()
    for folder, monitors in grouped(filter(is_monitor, attempts), _around).items():
        for episodes in map(_episodes, _launches(monitors)):
            joint.append(_at_steps_of(episodes, [log for log in rest if _around(log) == folder]))
    return rest + joint


def _launches(monitors: Sequence[Attempt]) -> Collection[list[Attempt]]:
    """Groups the files of environments by launch: those of one launch run at the same time. A later launch
    with fewer environments leaves the files of the others as they were."""
    begins = [float(monitor.facts["started_at"]) for monitor in monitors]
    launch, end, of = 0, -math.inf, dict[int, int]()
    for i in sorted(range(len(monitors)), key=begins.__getitem__):
        launch += begins[i] > end
        of[i], end = launch, max(end, float(monitors[i].series[LENGTH].times.max(initial=begins[i])))
    return gathered((of[i], monitor) for i, monitor in enumerate(monitors)).values()


def _at_steps_of(episodes: Attempt, logs: Iterable[Attempt]) -> Attempt:
    """Puts episodes at the steps of the log that began at about the same time, if there is one."""
    others = [log for log in logs if math.isfinite(started(log))]
    if not others:
        return episodes
    nearest = min(others, key=lambda log: abs(_begun(log) - _begun(episodes)))
    axis = max(nearest.series.values(), key=len)
    steps = np.interp(episodes.series[LENGTH].times, axis.times, axis.steps).astype(np.int64)
    placed = {metric: replace(curve, steps=steps) for metric, curve in episodes.series.items()}
    placed[REWARD] = replace(placed[REWARD], role=Role.SCORE)
    return replace(episodes, series=placed)


def _episodes(monitors: Sequence[Attempt]) -> Attempt:
    """Joins the episodes of all environments in the order in which they ended; steps are counted over all
    environments. The clock of a file starts again with each launch that appends to it."""
    environments = [monitor.series for monitor in monitors]
    ended = np.concatenate([own[LENGTH].times for own in environments])
    order = np.argsort(ended, kind="stable") if len(environments) > 1 else np.arange(len(ended))
    steps = np.cumsum(np.concatenate([own[LENGTH].values for own in environments])[order]).astype(np.int64)
    series = dict[str, Series]()
    for metric in environments[0]:
        having = (own for own in environments if metric in own)
        logged = [own[metric] for own in having if len(own[metric]) == len(own[LENGTH])]
        if len(logged) == len(environments):  # of every episode
            values = np.concatenate([curve.values for curve in logged])[order]
            times = np.concatenate([curve.times for curve in logged])[order]
            series[metric] = Series(metric, Role.OTHER, steps, values, times)
    return replace(_merged(*map(_Written, monitors)), series=series)


def started(attempt: Attempt) -> float:
    """When the first point that has a time was logged [Unix s]; NaN if no point has one."""
    clocks = {id(s.times): s.times for s in attempt.series.values() if s.times.size}  # most series share them
    firsts = (float(times[0]) for times in clocks.values())
    return min((time for time in firsts if not math.isnan(time)), default=math.nan)


def _asides(attempts: Iterable[Attempt]) -> tuple[list[Attempt], list[SideFacts]]:
    """Separates event files that hold hyperparameters and no curve, which become facts of the other attempts.
    `add_hparams` writes one into a folder of its own, with at most one result of each metric."""
    kept, asides = list[Attempt](), list[Attempt]()
    for log in attempts:
        made_for_it = BY_TIME.fullmatch(_around(log).rpartition("/")[2])
        only_results = made_for_it and all(len(s) <= 1 for s in log.series.values())
        (asides if _is_of_events(log) and (not log.series or only_results) else kept).append(log)
    if not kept:
        return [log for log in asides if log.series], []
    facts_aside = []
    for log in asides:
        results = {tag: float(s.values[-1]) for tag, s in log.series.items() if len(s)}
        facts = {**log.facts, "summary": results} if results else {**log.facts}
        folder, at_time = home_of(log.name)
        at_time = _begun(log) if math.isnan(at_time) else at_time
        facts_aside.append(SideFacts(folder, at_time, facts, _process(log)))
    return kept, facts_aside


def _with_facts(attempts: Sequence[Attempt], side_facts: Iterable[SideFacts]) -> list[Attempt]:
    """Adds the facts of the files around each attempt to its own facts, which come first; nearer files come
    before others."""
    facts: list[dict[str, Any]] = [{} for _ in attempts]
    begun = [_begun(log) for log in attempts]
    for side in side_facts:
        home = f"{side.folder}/"
        near = [k for k, a in enumerate(attempts) if not side.folder or f"{a.name}/".startswith(home)]
        before = [k for k in near if begun[k] <= side.at_time + _CLOCKS_S]
        ours = [k for k in near if side.process and _process(attempts[k]) == side.process]
        for k in ours or ([max(before, key=begun.__getitem__)] if before else near):
            facts[k] |= side.facts
    return [replace(a, facts={**f, **a.facts}) if f else a for a, f in zip(attempts, facts, strict=True)]


def _begun(attempt: Attempt) -> float:
    """When a log was made [Unix s], by its name, else by its first point; NaN if neither says so."""
    stamp = _EVENT_FILE.search(attempt.name)
    return float(stamp[1]) if stamp else started(attempt)


def _process(attempt: Attempt) -> str:
    stamp = _EVENT_FILE.search(attempt.name)
    return stamp[2] or "" if stamp else ""


def _branches_of_states(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Leaves out the states in checkpoint folders that are the beginning of a later one, as most are. A state
    with other values is of a branch that the training left, or of another training with the same folder: it
    is kept, and of a later one only the rows that both do not share."""

    def reached(attempt: Attempt) -> tuple[float, int]:
        step = attempt.facts.get("global_step")
        return step if isinstance(step, int | float) else 0.0, sum(map(len, attempt.series.values()))

    in_checkpoint = re.compile(r"(^|/)checkpoint-\d+/(?=trainer_state\.json$)")
    kept = list[Attempt]()
    for same in grouped(attempts, lambda attempt: in_checkpoint.sub(r"\1", attempt.name)).values():
        branches = list[Attempt]()
        for state in sorted(same, key=reached)[::-1] if len(same) > 1 else same:
            if not any(_is_repeated(state, other) for other in branches):
                branches.insert(0, state)
        kept += [_since_fork(state, branches[:k]) for k, state in enumerate(branches)]
    return kept


def _equal_rows(own: Series, other: Series | None) -> int:
    """How many rows at the beginning of a series also stand in another series."""
    n = min(len(own), len(other)) if other else 0
    if other is None or not n:
        return 0
    same_values = np.isclose(own.values[:n], other.values[:n], rtol=0.0, atol=0.0, equal_nan=True)
    same = (own.steps[:n] == other.steps[:n]) & same_values
    return n if same.all() else int(np.argmin(same))


def _is_repeated(state: Attempt, other: Attempt) -> bool:
    return all(_equal_rows(s, other.series.get(name)) == len(s) for name, s in state.series.items())


def _since_fork(state: Attempt, earlier: Sequence[Attempt]) -> Attempt:
    """The state without the rows at its beginning that it shares with the most similar earlier state."""
    if not earlier and all(len(s.steps) for s in state.series.values()):
        return state
    series, latest_fork = state.series, -math.inf
    for other in earlier:
        equal = {name: _equal_rows(s, other.series.get(name)) for name, s in state.series.items()}
        fork = min(s.steps[equal[name]] for name, s in state.series.items() if equal[name] < len(s))
        if fork > latest_fork:
            latest_fork = fork
            shared = {n: np.count_nonzero(s.steps[: equal[n]] < fork) for n, s in state.series.items()}
            series = {name: s.pick(slice(shared[name], None)) for name, s in state.series.items()}
    return replace(state, series={name: s for name, s in series.items() if len(s)})


class _Written(NamedTuple):
    """A log, and how it was written: the folder of its process (``home``), the name of its writer ("" for the
    first), and the prefix of its tags."""

    log: Attempt
    home: str = ""
    writer: str = ""
    before: str = ""

    @classmethod
    def of(cls, log: Attempt) -> _Written:
        folder, tag = f"/{_around(log)}".rstrip("/"), next(iter(log.series), "")
        if len(log.series) == 1 and (scalars := home_of_scalars(folder, tag)):
            name = f"{tag}/{scalars[1]}"
            return cls(replace(log, series={name: replace(log.series[tag], metric=name)}), *scalars)
        home, _, name = folder.rpartition("/")
        return cls(log, home, name, f"{name}/") if name.lower() in OF_PHASES else cls(log, folder)


def _join_writers(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Joins event files in train/, validation/ and so on into one attempt for each process; the folder is put
    in front of their tags. Files of the first writer (train/, or the folder around) lead. Each other file
    follows the one of its process, else the one that was running when it was begun."""
    by_home = grouped(map(_Written.of, filter(_is_of_events, attempts)), attrgetter("home"))
    rest = [log for log in attempts if not _is_of_events(log)]
    return rest + [joined for group in by_home.values() for joined in _joined(group)]


def _joined(group: list[_Written]) -> list[Attempt]:
    # of the folder around the writers, of train/, of the others
    ranked = grouped(group, lambda part: 1 if part.writer.lower() in OF_TRAINING else 2 * bool(part.writer))
    leading, *others = (ranked[rank] for rank in sorted(ranked))
    if not others:
        return [part.log for part in group]
    leaders = sorted(leading, key=lambda part: _begun(part.log))

    def led_by(part: _Written) -> int:
        ours = [i for i, (leader, *_) in enumerate(leaders) if _process(leader) == _process(part.log) != ""]
        running = [i for i in ours or range(len(leaders)) if _begun(leaders[i].log) <= _begun(part.log)]
        return (running or ours[:1] or [0])[-1]

    followers = grouped(chain(*others), led_by)
    return [_merged(leader, *followers.get(i, ())) for i, leader in enumerate(leaders)]


def _is_of_events(attempt: Attempt) -> bool:
    return attempt.facts.get("format") == "event file"


def _around(attempt: Attempt) -> str:
    """The folder in which the log of an attempt lies, relative to the folder that was read."""
    return attempt.name.rpartition("/")[0]


def _merged(*parts: _Written) -> Attempt:
    """Joins the series of several logs into one attempt, which has the name of the first."""
    series = dict[str, Series]()
    for part in parts:
        for tag, points in part.log.series.items():
            name = part.before + tag
            while name in series:
                name += " (2)"
            series[name] = replace(points, metric=name)
    sources = tuple(source for part in parts for source in part.log.sources)
    faults = tuple(fault for part in parts for fault in part.log.faults)
    is_cut = any(part.log.truncated for part in parts)
    return replace(parts[0].log, sources=sources, series=series, faults=faults, truncated=is_cut)
