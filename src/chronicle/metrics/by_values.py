"""The roles of metrics according to their values: of metrics whose names decide nothing (shares that sum to
one, parts of a total), and of those whose names mislead (a clock that is called a time, a part of a loss that
stands for the whole)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

import numpy as np

from chronicle.metrics import aliases, arithmetic, names
from chronicle.metrics.arithmetic import FEWEST_ROWS, any_numbers, finite_of, median
from chronicle.metrics.names import (
    LOSSES,
    MIN_POINTS,
    loss_words,
    name_words,
    names_a_loss,
    plain,
    role_of,
    with_role,
)
from chronicle.metrics.values import first_few, gathered, grouped
from chronicle.model import Floats, Mask, Role, Series

SeriesByName = Mapping[str, Series]
Roles = Mapping[str, Role]
_NO_MEAN, _ROUNDED = 0.05, 0.01  # share of rows in which a whole is no mean; of its value, for rounding
_NEAR_LOSS, _ALONG = 0.2, 0.8  # relative difference, and correlation, of a loss that is measured twice
_NUMBERED_SET = re.compile(r"\bvalidation_(\d{1,3})[-/](\w+)$")
_FAR_LOWER = 0.8  # of another set's loss: two sets that are held out differ by less
_A_MEAN = 0.01  # weights that sum to one but for this are those of a mean: of data sets, not of parts
_MOST_ASKED = 16  # logs with the same names
_MOST_NAMED = 4  # names that a reason lists
_AGAINST = -0.8  # correlation of a score with a loss
_NEGATED = {Role.SCORE: Role.LOSS, Role.VALIDATION_SCORE: Role.VALIDATION_LOSS}
_TOTALS = ("total", "sum")
_BARE_TOTALS = (*_TOTALS, "t")
# Names that only values tell more of.
_BARE = {*_BARE_TOTALS} | aliases.OF_PHASES | aliases.BARE_SCORES | aliases.LOG_PROBABILITIES
_PHASES = (aliases.OF_TRAINING, aliases.OF_EVALUATION)
_BARE_TRAINING = ("train", "training")
# Roles of which the values of several decide; one alone keeps what its name says.
_COMPARED = (*LOSSES, Role.PART_LOSS, Role.OBJECTIVE, Role.SCORE, Role.VALIDATION_SCORE)
_CLOCKS = ("time", "seconds", "time s", "time sec")  # of a step, or since the start


class ByValues(NamedTuple):
    """The role that a series has according to its values, and why."""

    role: Role
    why: str


def measured_rows(values: Floats, role: Role) -> slice | Mask:
    """The rows in which a metric was measured. A loss was not in rows of zeros before the first one is known,
    nor where -1 stands in its place; a throughput was not where it is negative, unless all values are."""
    kept = np.ones(len(values), bool)
    if role in LOSSES:
        kept = ~arithmetic.is_filler(values)
        kept[: arithmetic.zeros_in_front(values)] = False
    elif role is Role.THROUGHPUT:
        kept = ~(values < 0)
    return kept if kept.any() and not kept.all() else slice(None)


def measurements(values: Floats, role: Role) -> tuple[slice | Mask, Floats]:
    """The rows in which a loss was measured, and the measurements. A loss may be logged as a running sum,
    whose terms are the measurements. Other metrics are returned as they are."""
    if role not in LOSSES:
        return slice(None), values
    rows = measured_rows(values, role)
    terms = arithmetic.terms_of_sums(values[rows])
    return rows, values[rows] if terms is None else terms


def roles_by_values(logs: Iterable[SeriesByName]) -> dict[str, Role]:
    """The roles in the logs of one run according to their values; a role in one log holds for all. Of many
    logs with the same names, as of a run that was restarted a thousand times, only the longest count."""
    alike = grouped(logs, tuple).values()
    asked = (nlargest(_MOST_ASKED, own, key=_longest) if len(own) > _MOST_ASKED else own for own in alike)
    return {name: by.role for log in chain(*asked) for name, by in by_values(log).items()}


def _longest(log: SeriesByName) -> int:
    return max(map(len, log.values()), default=0)


@any_numbers
def by_values(series: SeriesByName) -> dict[str, ByValues]:
    """The roles of metrics whose names decide nothing, according to the values of a log. Shares sum to one,
    and parts to a total; a bare loss may be that of the training and that of the evaluation in turn."""
    undecided_names, totals, telling = _undecided(logged := tuple(series))
    undecided, by_name = {name: series[name] for name in undecided_names}, names.roles_of(logged)
    decided = _shares({name: metric for name, metric in undecided.items() if by_name[name] is Role.OTHER})
    in_phases = [name for name in telling if plain(name) in aliases.OF_PHASES]
    if all(arithmetic.are_counts(series[name].values) for name in in_phases):
        decided |= dict.fromkeys(in_phases, ByValues(Role.OTHER, "counts something, in whole numbers"))
    else:
        decided |= _scores_of_phases(series, in_phases)
    decided |= _made_small(series, telling) | _negated(series, telling)
    decided |= _retold(series, totals)
    for total in totals:
        decided |= _by_total(total, totals, series, undecided, decided)
    return decided


def _shares(of_no_role: SeriesByName) -> dict[str, ByValues]:
    """The metrics that sum to one in each row, as the ratios of a mixture do."""
    decided = dict[str, ByValues]()
    for family in arithmetic.shares(of_no_role):
        reason = f"lies in [0, 1] and sums to one with {first_few(family, _MOST_NAMED)}"
        ratio = ByValues(Role.RATIO, reason)
        decided |= dict.fromkeys(family, ratio)
    return decided


def _by_total(
    total: str,
    totals: Sequence[str],
    series: SeriesByName,
    undecided: SeriesByName,
    decided: Mapping[str, ByValues],
) -> dict[str, ByValues]:
    """The roles of the metrics whose weighted sum is a total, and of a total that no name calls a loss."""
    known = {name: metric for name, metric in series.items() if role_of(name) is Role.PART_LOSS}
    candidates = {n: metric for n, metric in {**undecided, **known}.items() if n not in decided}
    if "total" in name_words(total):  # of which a bare `loss` may be a part
        candidates |= {n: series[n] for n in totals if n != total and "total" not in name_words(n)}
    is_unnamed = role_of(total) is Role.OTHER
    if is_unnamed:
        losses = {n: metric for n, metric in candidates.items() if names_a_loss(n)}
        candidates = losses if len(losses) != 1 else candidates  # `t` of "loss rc:0.2 rf:0.3 t:0.5"
    weights = arithmetic.parts_of(series[total], candidates)
    if is_unnamed and not any(map(names_a_loss, weights)):
        weights = {}
    why = f"{total} = " + " + ".join(f"{weight:.4g} × {name}" for name, weight in weights.items())
    is_mean = bool(weights) and abs(sum(weights.values()) - 1) < _A_MEAN and not (known or is_unnamed)
    free = [name for name in weights if name in undecided or name in totals]
    if is_mean:
        data_sets = (name for name in free if role_of(name) is Role.LOSS)
        return dict.fromkeys(data_sets, ByValues(Role.DATASET_LOSS, why))
    parts = dict.fromkeys(free, ByValues(Role.PART_LOSS, why))
    if not is_unnamed:
        return parts
    others = (name for name in series if name not in decided and name not in parts)
    named = [name for name in others if role_of(name) in (Role.LOSS, Role.PART_LOSS)]
    says_so = plain(total) in _TOTALS  # which `t`, a time perhaps, does not
    return parts | _bare_total(series[total], named if says_so else [], why if weights else "")


def _scores_of_phases(series: SeriesByName, names: Sequence[str]) -> dict[str, ByValues]:
    """`Train` and `Val` beside a loss are scores if they are shares or per cent, and that of the training
    rises as the loss falls, as the examples of PyTorch Geometric print them."""
    ours = [name for name in names if plain(name) in aliases.OF_TRAINING]
    loss = next((metric for name, metric in series.items() if role_of(name) is Role.LOSS), None)
    shares = (series[name].values for name in names if len(series[name]))
    if loss is None or not 0 < len(ours) < len(names) or any(v.min() < 0 or v.max() > 100 for v in shares):
        return {}
    trained = (metric for metric in map(series.__getitem__, ours) if metric.has_steps_of(loss))
    enough = (metric.values for metric in trained if len(metric) >= FEWEST_ROWS)
    if not any(np.corrcoef(values, loss.values)[0, 1] <= _AGAINST for values in enough):
        return {}
    why = f"lies in [0, 100], and that of the training rises as {loss.metric} falls"
    return {n: ByValues(Role.SCORE if n in ours else Role.VALIDATION_SCORE, why) for n in names}


def _retold(series: SeriesByName, totals: Sequence[str]) -> dict[str, ByValues]:
    """The bare losses that repeat, in turn, the losses of the training and those of the evaluation."""
    decided = dict[str, ByValues]()
    for bare in totals:
        named = ({f"{phase} {plain(bare)}" for phase in phases} for phases in _PHASES)
        of_phases = ([name for name in series if plain(name) in own] for own in named)
        of_both = [max(own, key=lambda name: len(series[name]), default="") for own in of_phases]
        if all(of_both) and arithmetic.is_retold(series[bare], [series[name] for name in of_both]):
            decided[bare] = ByValues(Role.OTHER, f"repeats {' and '.join(of_both)}")
    return decided


def _made_small(series: SeriesByName, telling: Sequence[str]) -> dict[str, ByValues]:
    """The scores of which less is better, which are losses. Of a fitness, the best of each generation is
    below the mean, and falls; one that is only logged at checkpoints may lag below a mean that rises, but
    rises with it. A bare score that falls in each row whose step grows is made small, as no reward falls so
    by chance."""
    named = {name for name in telling if role_of(name) is Role.OBJECTIVE}
    words = {n: name_words(n) for n, m in series.items() if m.role is Role.OBJECTIVE or n in named}
    decided = dict[str, ByValues]()
    for name in (n for n in telling if plain(n) in aliases.BARE_SCORES):
        moves = np.diff(series[name].values)[np.diff(series[name].steps) > 0]
        if len(moves) >= FEWEST_ROWS and (moves < 0).all():
            decided[name] = ByValues(Role.LOSS, "is minimised: it falls from each row to the next")
    for name, best in series.items() if words else ():
        rest = name_words(name) ^ {"best"}
        for mean in (n for n, own in words.items() if "best" not in rest and own - {*aliases.MEANS} == rest):
            means = series[mean]
            if not best.has_steps_of(means) or not (best.values <= means.values).all():
                continue
            if (best.values < means.values).any() and best.values[-1] < best.values[0]:
                why = f"is minimised: {name} lies below {mean}, and falls"
                decided |= {name: ByValues(Role.OTHER, why), mean: ByValues(Role.LOSS, why)}
    return decided


def _negated(series: SeriesByName, telling: Sequence[str]) -> dict[str, ByValues]:
    """The losses whose sign was changed: a logarithm of probabilities that is never below zero, or a bound of
    one that begins above zero. {} if another loss is logged, except errors that are logged less often."""
    decided = dict[str, ByValues]()
    for name in telling:
        negated, values = _NEGATED.get(role_of(name)), series[name].values
        of_bound = negated is not None and names.is_bound(name)
        may_be = of_bound or plain(name) in aliases.LOG_PROBABILITIES
        if may_be and ((values[:1] if of_bound else values) >= 0).all():
            decided[name] = ByValues(negated or Role.LOSS, "is logged with its sign changed")
    most = max((len(series[name]) for name in decided), default=0)
    losses = [name for name in telling if role_of(name) in LOSSES]
    return decided if all(names.is_error(n) and len(series[n]) < most for n in losses) else {}


def _bare_total(total: Series, others: Sequence[str], why: str) -> dict[str, ByValues]:
    """The role of a bare `total`. It is the loss if it is a sum of losses (``why`` is the equation), or if it
    counts nothing and ``others`` are called losses, which are then its parts."""
    if why or not others or not (total.values % 1 > 0).any():
        return {total.metric: ByValues(Role.LOSS, why)} if why else {}
    why = f"is called a total beside {', '.join(others[:_MOST_NAMED])}"
    return {total.metric: ByValues(Role.LOSS, why)} | dict.fromkeys(others, ByValues(Role.PART_LOSS, why))


@lru_cache(maxsize=16)
def _undecided(logged: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The names that decide nothing; those of the whole loss, or, without any, of what may be a total; and
    all that say anything, which few of 100,000 columns do."""
    roles, alike = names.roles_of(logged), names.without_their_numbers(logged)
    losses = [n for n, role in roles.items() if role is Role.LOSS and not names.is_error(n)]
    totals = tuple(name for name in losses if not loss_words(name))
    in_part = set(losses) - set(totals)
    unknown = tuple(name for name, role in roles.items() if role is Role.OTHER or name in in_part)
    bare = {name for name in unknown if _is_bare(alike[name])}
    telling = tuple(name for name, role in roles.items() if role is not Role.OTHER or name in bare)
    return unknown, totals or tuple(n for n in unknown if n in bare and plain(n) in _BARE_TOTALS), telling


@lru_cache(maxsize=4096)  # no such name has a number in it, and names of 100,000 columns differ in theirs
def _is_bare(name: str) -> bool:
    return plain(name) in _BARE


# --- roles by name that the values contradict ---


def revised(series: SeriesByName, by_name: Roles) -> dict[str, Role]:
    """The roles by name, corrected where the values contradict them: a clock is no duration, numbers of rows
    or games are no losses, and one of several losses is the whole one or the one that is held out."""
    roles = dict(by_name)
    for name in with_role(roles, Role.STEP_TIME, Role.TOKENS, *LOSSES):
        if _is_misnamed(name, series[name].values, roles):
            roles[name] = Role.OTHER
    compared = with_role(roles, *_COMPARED)
    if not compared or (len(compared) == 1 and not any(plain(name) in _BARE_TRAINING for name in roles)):
        return roles
    roles |= dict.fromkeys(_no_data_sets(series, roles), Role.PART_LOSS)
    roles |= dict.fromkeys(_parts_left(series, roles), Role.PART_LOSS)
    roles |= dict.fromkeys(_parts_held_out(roles), Role.PART_LOSS)
    roles |= _logged_throughout(series, roles) | _held_out_unnamed(series, roles)
    roles |= _by_level(series, roles) | _first_set(series, roles)
    return roles


def _is_misnamed(name: str, values: Floats, roles: Roles) -> bool:
    """Whether what is called a duration is a clock, what is called a number of tokens is that of an answer or
    a batch, which falls and rises, or what is called a loss is a number of something. `l`
    may be the length of an episode, `eval_l` the number of games lost, `train` the number of an agent, and a
    `total` a number of rows. The `error` of a controller has a sign."""
    if roles[name] is Role.STEP_TIME:
        return _is_clock(name, values)
    if roles[name] is Role.TOKENS:
        moves = np.diff(finite_of(values))
        return bool(min((moves < 0).sum(), (moves > 0).sum()) > len(moves) / 4)
    own = plain(name)
    if own in ("error", "err") and (values < 0).any():
        return True
    rises = len(values) > 0 and values[-1] >= values[0]
    is_alone = own in _BARE_TRAINING and Role.VALIDATION_LOSS not in roles.values()
    may_count = is_alone or own.split()[-1:] == ["l"] or (rises and names.is_total(own))
    return may_count and not (values % 1).any()


def _is_clock(name: str, values: Floats) -> bool:
    """Whether seconds are a clock and not durations. They count from the start of the log if they only grow,
    or of each epoch if most rows grow and at most a quarter begin again, at half of the row before or
    less."""
    values = finite_of(values)
    moves = np.diff(values)
    if len(falls := np.flatnonzero(moves < 0)):
        begins_again = len(falls) <= len(values) / 4 and (values[falls + 1] <= values[falls] / 2).all()
        return bool(begins_again and np.count_nonzero(moves > 0) >= len(values) / 2)
    return plain(name) in _CLOCKS and len(values) > 2 and bool(values[-1] > values[0])


def _no_data_sets(series: SeriesByName, roles: Roles) -> list[str]:
    """The losses of data sets without a known name, if the loss is often outside of their range, as no mean
    is."""
    unknown = [name for name in with_role(roles, Role.DATASET_LOSS) if not aliases.CORPORA & loss_words(name)]
    for loss in (series[name] for name in with_role(roles, Role.LOSS)):
        same = [series[n].values for n in unknown if series[n].has_steps_of(loss)]
        if len(same) < 2 or len(loss) < MIN_POINTS:
            continue
        slack = _ROUNDED * np.abs(loss.values)
        above, below = np.max(same, axis=0) + slack, np.min(same, axis=0) - slack
        if np.mean((loss.values > above) | (loss.values < below)) >= _NO_MEAN:
            return unknown
    return []


def _parts_left(series: SeriesByName, roles: Roles) -> list[str]:
    """If only parts of a loss are logged, all but the one that stands for the whole. That is one of the
    longest: the one of which others are parts (`G` of `G_content`), or else a distance, and an opponent's
    only as the last choice."""
    losses = with_role(roles, Role.LOSS)
    if any(plain(n) in ("error", "err") or _may_be_whole(n) for n in losses):
        return []
    enough = 0.9 * max((len(series[name]) for name in losses), default=0)
    longest = [name for name in losses if len(series[name]) >= enough]
    wholes = _wholes(longest)
    first = min(longest, key=lambda name: (name not in wholes, names.part_rank(name)), default="")
    return [name for name in losses if name != first]


def _parts_held_out(roles: Roles) -> list[str]:
    """The validation losses of parts, if the whole loss is validated too. Their names have the same words as
    that of a part in the training (`vl_loss_phys` and `tr_loss_phys`, where there is `vl_loss_total`)."""

    def words_by_name(role: Role, phases: Collection[str]) -> dict[str, frozenset[str]]:
        return {name: loss_words(name) - {*phases} for name in with_role(roles, role)}

    held_out = words_by_name(Role.VALIDATION_LOSS, aliases.OF_EVALUATION | aliases.TWINS.keys())
    parts = {words for words in words_by_name(Role.PART_LOSS, aliases.OF_TRAINING).values() if words}
    return [name for name, words in held_out.items() if words in parts and not all(held_out.values())]


def _may_be_whole(name: str) -> bool:
    """Whether a loss may be the whole one: its name does not say of what it is the loss."""
    if role_of(name) in (Role.OTHER, Role.PART_LOSS):
        return False
    return not (role_of(name) is Role.LOSS and names.A_LOSS.search(plain(name)) and loss_words(name))


def _wholes(logged: Sequence[str]) -> set[str]:
    """The names, other than an opponent's, whose words are all in several other, longer names."""
    words = {name: name_words(name) for name in logged}
    having = gathered((word, name) for name in logged for word in words[name])
    own = [name for name in logged if not names.is_of_opponent(name)]
    longer = {name: min((having[w] for w in words[name]), key=len, default=[]) for name in own}
    return {n for n, others in longer.items() if sum(words[n] < words[other] for other in others) > 1}


def _logged_throughout(series: SeriesByName, roles: Roles) -> dict[str, Role]:
    """The roles of rewards if the objective was logged over less than half of their steps, has too few
    points, or is constant: then the longest of the other rewards, as that of a step, is the objective."""
    rated = ((name, series[name]) for name in with_role(roles, Role.OBJECTIVE, Role.SCORE))
    moving = {n: s.steps for n, s in rated if len(s) >= MIN_POINTS and (s.values != s.values[0]).any()}
    spans = {name: int(np.ptp(moving.get(name, 0))) for name in with_role(roles, Role.OBJECTIVE, Role.SCORE)}
    longest_span = max((spans[name] for name in with_role(roles, Role.OBJECTIVE)), default=math.inf)
    rest = (name for name in with_role(roles, Role.SCORE) if role_of(name) is Role.OBJECTIVE)
    longer = [name for name in rest if spans[name] > 2 * longest_span]
    if not longer:
        return {}
    longest = max(longer, key=lambda name: (len(series[name]), -len(name)))
    return dict.fromkeys(with_role(roles, Role.OBJECTIVE), Role.SCORE) | {longest: Role.OBJECTIVE}


def _held_out_unnamed(series: SeriesByName, roles: Roles) -> dict[str, Role]:
    """The role of a bare `loss` beside a `train_loss` with as many other values: held out, if no other loss
    is."""
    if with_role(roles, Role.VALIDATION_LOSS):
        return {}
    losses = {tuple(plain(name).split()): name for name in with_role(roles, Role.LOSS)}
    held_out: dict[str, Role] = {}
    for words, name in losses.items():
        if bare := losses.get(tuple(word for word in words if word not in aliases.OF_TRAINING)):
            ours, theirs = series[name].values, series[bare].values
            if len(ours) == len(theirs) and not np.array_equal(ours, theirs, equal_nan=True):
                held_out[bare] = Role.VALIDATION_LOSS
    return held_out


def _by_level(series: SeriesByName, roles: Roles) -> dict[str, Role]:
    """The roles that follow from the level of values. `train` is a loss if it goes along with one, which it
    measures again, and then `val` is the loss of the validation. A loss with the values of an opponent's part
    is that part, and one with those of a validation loss is this, unless it is named after the training."""
    by_level: dict[str, Role] = {}
    losses = with_role(roles, Role.LOSS)
    others = with_role(roles, Role.OTHER) if losses else []
    bare = [name for name in others if plain(name) in _BARE_TRAINING]
    if any(_goes_along(series[name], series[loss]) for name in bare for loss in losses):
        evaluated = [name for name in others if plain(name) in aliases.OF_EVALUATION]
        by_level |= dict.fromkeys(evaluated, Role.VALIDATION_LOSS) | dict.fromkeys(bare, Role.LOSS)
    validated = [series[name].values for name in with_role(roles, Role.VALIDATION_LOSS)]
    may_be_held_out = (n for n in losses if name_words(n).isdisjoint(aliases.OF_TRAINING))
    for name in (n for n in may_be_held_out if len(series[n]) >= MIN_POINTS):
        if any(np.array_equal(series[name].values, values) for values in validated):
            by_level[name] = Role.VALIDATION_LOSS
    opponents = [series[n].values for n in with_role(roles, Role.PART_LOSS) if names.is_of_opponent(n)]
    same = [n for n in losses if any(np.array_equal(series[n].values, values) for values in opponents)]
    return by_level | dict.fromkeys(same if len(same) < len(losses) else [], Role.PART_LOSS)


def _first_set(series: SeriesByName, roles: Roles) -> dict[str, Role]:
    """The roles of the numbered sets `validation_0`, `validation_1`, … if no metric is of the training.
    XGBoost's interface for scikit-learn numbers all sets; the first is that of the training if its losses end
    far lower."""
    sets = dict[str, dict[int, str]]()
    for name in with_role(roles, Role.VALIDATION_LOSS, Role.VALIDATION_SCORE):
        if (match := _NUMBERED_SET.search(name)) and len(series[name]):
            sets.setdefault(match[2], {})[int(match[1])] = name
    ends = [
        [series[names_of_set[n]].values[-1] for n in sorted(names_of_set)]
        for names_of_set in sets.values()
        if 0 in names_of_set and roles[names_of_set[0]] is Role.VALIDATION_LOSS
    ]
    far_lower = all(len(losses) > 1 and losses[0] < _FAR_LOWER * min(losses[1:]) for losses in ends)
    if not ends or not far_lower or with_role(roles, Role.LOSS):
        return {}
    trained = {Role.VALIDATION_LOSS: Role.LOSS, Role.VALIDATION_SCORE: Role.SCORE}
    return {first: trained[roles[first]] for names_of_set in sets.values() if (first := names_of_set.get(0))}


def _goes_along(measured: Series, loss: Series) -> bool:
    """Whether the values of a series are near those of a loss at the same steps, and vary as they do."""
    if min(len(measured), len(loss)) < MIN_POINTS or (np.diff(loss.steps) < 0).any():
        return False
    there = np.interp(measured.steps, loss.steps, loss.values)
    near = median(np.abs(measured.values - there)) <= _NEAR_LOSS * median(np.abs(there))
    return near and bool(np.corrcoef(measured.values, there)[0, 1] >= _ALONG)
