"""What the values of a log tell of metrics whose names decide nothing: shares that sum to one, and parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

import numpy as np

from chronicle.metrics import aliases, names
from chronicle.metrics.arithmetic import FEWEST_ROWS, any_numbers, are_counts, is_retold, parts_of, shares
from chronicle.metrics.names import LOSSES, loss_words, name_words, names_a_loss, plain, role_of
from chronicle.metrics.values import grouped
from chronicle.model import Floats, Role, Series

Log = Mapping[str, Series]  # by name
_A_MEAN = 0.01  # weights that sum to one but for this are those of a mean: of data sets, not of parts
_MOST_ASKED = 16  # logs with the same names
_MOST_NAMED = 4  # names that a reason lists
_NEGATED = {Role.SCORE: Role.LOSS, Role.VALIDATION_SCORE: Role.VALIDATION_LOSS}
_TOTALS = ("total", "sum")
_PHASES = (aliases.OF_TRAINING, aliases.OF_EVALUATION)
_OF_PHASES = _PHASES[0] | _PHASES[1]
_CLOCKS = ("time", "seconds", "time s", "time sec")  # of a step, or since the start


class ByValues(NamedTuple):
    """The role of a series that its values tell, and why."""

    role: Role
    why: str


def roles_by_values(logs: Iterable[Log]) -> dict[str, Role]:
    """The roles that the values of the logs of one run tell; what they tell of one holds for all. Of many
    logs with the same names, as of a run that was restarted a thousand times, the longest are asked."""
    alike = grouped(logs, tuple).values()
    asked = (nlargest(_MOST_ASKED, own, key=_longest) if len(own) > _MOST_ASKED else own for own in alike)
    return {name: by.role for log in chain(*asked) for name, by in by_values(log).items()}


def _longest(log: Log) -> int:
    return max(map(len, log.values()), default=0)


@any_numbers
def by_values(series: Log) -> dict[str, ByValues]:
    """What the values of a log tell of names that decide nothing: shares sum to one, parts to a total; and
    a bare loss may be that of the training and that of the evaluation in turn."""
    open_names, totals = _undecided(tuple(series))
    undecided = {name: series[name] for name in open_names}
    decided: dict[str, ByValues] = {}
    for family in shares({name: metric for name, metric in undecided.items() if role_of(name) is Role.OTHER}):
        listed = ", ".join(family[:_MOST_NAMED]) + (", …" if len(family) > _MOST_NAMED else "")
        why = f"lies in [0, 1] and sums to one with {listed}"
        decided |= {name: ByValues(Role.RATIO, why) for name in family}
    in_phases = [name for name in series if plain(name) in _OF_PHASES]
    if all(are_counts(series[name].values) for name in in_phases):
        decided |= dict.fromkeys(in_phases, ByValues(Role.OTHER, "counts something, in whole numbers"))
    decided |= _made_small(series) | _negated(series)
    if not totals:
        return decided
    decided |= _retold(series, totals)
    known = {name: metric for name, metric in series.items() if role_of(name) is Role.PART_LOSS}
    for total in totals:
        candidates = {n: metric for n, metric in (undecided | known).items() if n not in decided}
        if "total" in name_words(total):  # of which a bare `loss` may be a part
            candidates |= {n: series[n] for n in totals if n != total and "total" not in name_words(n)}
        if unnamed := role_of(total) is Role.OTHER:
            losses = {n: metric for n, metric in candidates.items() if names_a_loss(n)}
            candidates = losses if len(losses) != 1 else candidates  # `t` of "loss rc:0.2 rf:0.3 t:0.5"
        weights = parts_of(series[total], candidates)
        weights = weights if not unnamed or any(map(names_a_loss, weights)) else {}
        mean = bool(weights) and abs(sum(weights.values()) - 1) < _A_MEAN and not (known or unnamed)
        why = f"{total} = " + " + ".join(f"{weight:.4g} × {name}" for name, weight in weights.items())
        role = Role.DATASET_LOSS if mean else Role.PART_LOSS
        free = undecided.keys() | {*totals}
        fits = (n for n in weights if n in free and (role is Role.PART_LOSS or role_of(n) is Role.LOSS))
        decided |= dict.fromkeys(fits, ByValues(role, why))
        if unnamed:
            named = [n for n in series if n not in decided and role_of(n) in (Role.LOSS, Role.PART_LOSS)]
            says_so = plain(total) in _TOTALS  # which `t`, a time perhaps, does not
            decided |= _bare_total(series[total], named if says_so else [], why if weights else "")
    return decided


def _retold(series: Log, totals: Sequence[str]) -> dict[str, ByValues]:
    """Bare losses that tell again, in turn, those of the training and of the evaluation."""
    decided = dict[str, ByValues]()
    for bare in totals:
        named = ({f"{phase} {plain(bare)}" for phase in phases} for phases in _PHASES)
        beside = ([name for name in series if plain(name) in own] for own in named)
        of_both = [max(own, key=lambda name: len(series[name]), default="") for own in beside]
        if all(of_both) and is_retold(series[bare], [series[name] for name in of_both]):
            decided[bare] = ByValues(Role.OTHER, f"tells again what {' and '.join(of_both)} tell")
    return decided


def _made_small(series: Log) -> dict[str, ByValues]:
    """A fitness of which less is better, as a loss: the best of each generation lies below the mean, and
    falls. One that is told at checkpoints alone may lag below a mean that rises, but rises with it. A bare
    score that only falls while the steps grow, as no reward does by chance, is told where it is better."""
    words = {n: name_words(n) for n, m in series.items() if Role.OBJECTIVE in (m.role, role_of(n))}
    decided = dict[str, ByValues]()
    for name in (n for n in series if plain(n) in aliases.BARE_SCORES):
        moves = np.diff(series[name].values)[np.diff(series[name].steps) > 0]
        if len(moves) >= FEWEST_ROWS and (moves < 0).all():
            decided[name] = ByValues(Role.LOSS, "is made small: it falls from each row to the next")
    for name, best in series.items() if words else ():
        rest = name_words(name) ^ {"best"}
        for mean in (n for n, own in words.items() if "best" not in rest and own - {*aliases.MEANS} == rest):
            means = series[mean]
            if not np.array_equal(best.steps, means.steps) or not (best.values <= means.values).all():
                continue
            if (best.values < means.values).any() and best.values[-1] < best.values[0]:
                why = f"is made small: {name} lies below {mean}, and falls"
                decided |= {name: ByValues(Role.OTHER, why), mean: ByValues(Role.LOSS, why)}
    return decided


def _negated(series: Log) -> dict[str, ByValues]:
    """A logarithm of probabilities that is never below zero, or a bound of one that begins above it, as a
    loss, where no other one is logged but errors that are told less often: its sign was changed."""
    decided = dict[str, ByValues]()
    for name, metric in series.items():
        negated = _NEGATED.get(role_of(name))
        of_bound = negated is not None and names.is_bound(name)
        if of_bound or plain(name) in aliases.LOG_PROBABILITIES:
            values = metric.values[:1] if of_bound else metric.values
            if (values >= 0).all():
                decided[name] = ByValues(negated or Role.LOSS, "is told with its sign changed")
    most = max((len(series[name]) for name in decided), default=0)
    losses = [name for name in series if role_of(name) in LOSSES]
    return decided if all(names.is_error(n) and len(series[n]) < most for n in losses) else {}


def _bare_total(total: Series, others: Sequence[str], why: str) -> dict[str, ByValues]:
    """A bare `total` as the loss if it is the sum of losses, for which ``why`` is the equation, or else if it
    counts nothing and stands beside ``others`` that are called losses: they are parts of it then."""
    if why or not others or not (total.values % 1 > 0).any():
        return {total.metric: ByValues(Role.LOSS, why)} if why else {}
    why = f"is called a total beside {', '.join(others[:_MOST_NAMED])}"
    return {total.metric: ByValues(Role.LOSS, why)} | dict.fromkeys(others, ByValues(Role.PART_LOSS, why))


def is_clock(name: str, values: Floats) -> bool:
    """Whether seconds are those since the start and no durations: since that of the log if they only grow, or
    of each epoch if most rows grow and a quarter at most begin again, at half of the row before or less."""
    values = values[np.isfinite(values)]
    moves = np.diff(values)
    if len(falls := np.flatnonzero(moves < 0)):
        begins_again = len(falls) <= len(values) / 4 and (values[falls + 1] <= values[falls] / 2).all()
        return bool(begins_again and np.count_nonzero(moves > 0) >= len(values) / 2)
    return plain(name) in _CLOCKS and len(values) > 2 and bool(values[-1] > values[0])


@lru_cache(maxsize=16)
def _undecided(logged: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that decide nothing, and those that say that they are the whole loss, or else a whole."""
    roles = {name: role_of(name) for name in logged}
    losses = [n for n, role in roles.items() if role is Role.LOSS and not names.is_error(n)]
    totals = tuple(name for name in losses if not loss_words(name))
    in_part = set(losses) - set(totals)
    unknown = [name for name, role in roles.items() if role is Role.OTHER or name in in_part]
    return tuple(unknown), totals or tuple(name for name in unknown if plain(name) in (*_TOTALS, "t"))
