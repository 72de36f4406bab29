"""Decides what a metric is: by its name, by its neighbours if the name alone does not tell (is
``loss_python`` a data set, or a part of the loss?), else by its values; and which series a run is judged
by."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

import numpy as np

from chronicle.errors import UsageError
from chronicle.metrics import aliases, names
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.by_values import Roles, SeriesByName, revised, roles_by_values
from chronicle.metrics.names import (
    LOSSES,
    MIN_POINTS,
    Linear,
    loss_words,
    name_words,
    plain,
    role_of,
    with_role,
)
from chronicle.model import Attempt, Role, Series

SCORES = (Role.SCORE, Role.VALIDATION_SCORE)
AnySeries = TypeVar("AnySeries", bound=Series)
Overrides = Sequence[tuple[str, Role]]
_AS_LONG = 0.9  # share of the longest loss that counts as equally long: a total may begin a little later
_COURSE_STEPS = 16  # the fewest of a course
_LEAST_SPAN = 0.1  # share of the longest span [steps]: a loss that is logged for less is not that of the run
_SELDOM = 0.2  # share of the points of the judged metric: an evaluation is logged more seldom
_EVALUATED = re.compile(aliases.EVALUATED)
_L_OF = re.compile(r"l (?!\d)")
_AVERAGED = re.compile(r"^(average|avg|mean) ")


def assign(series: SeriesByName, overrides: Overrides = ()) -> dict[str, Series]:
    """Sets role, data set and unit of the series of one log, as `assign_all` does."""
    return _assigned(series, roles_by_values([series]), overrides)


def assign_all(attempts: Sequence[Attempt], overrides: Overrides = ()) -> Iterator[Attempt]:
    """Sets role, data set and unit of the series in the logs of one run. ``overrides`` are pairs (regular
    expression of the whole name, role); the first match wins over the table, and so does a role that the
    reader gave. What the values of one log say of a name holds for all logs. In a log whose axis is "item",
    only ``overrides`` give roles. An attempt is yielded before the next is asked for, so that no two copies
    of all need be in memory. Raises UsageError if an override is not a regular expression."""
    by_value = roles_by_values(log.series for log in attempts)
    for log in attempts:
        if log.axis != "item":
            yield replace(log, series=_assigned(log.series, by_value, overrides))
            continue
        patterns = [pattern for pattern, _ in overrides]
        stated = {n: s for n, s in log.series.items() if any(_matches(pattern, n) for pattern in patterns)}
        yield replace(log, series={**log.series, **_assigned(stated, {}, overrides)})


@any_numbers
def _assigned(series: SeriesByName, by_value: Roles, overrides: Overrides) -> dict[str, Series]:
    """The series of one log with role, data set and unit set. ``overrides`` win over what the reader says,
    and this over what the values tell, except of an objective."""
    given: dict[str, Role] = {n: metric.role for n, metric in series.items() if metric.role is not Role.OTHER}
    revisable = (name for name in series if given.get(name, Role.OBJECTIVE) is Role.OBJECTIVE)
    given |= {name: by_value[name] for name in revisable if name in by_value}
    for pattern, role in reversed(overrides):
        given |= {name: Role(role) for name in series if _matches(pattern, name)}
    roles = revised(series, _by_all_names(series, tuple(given.items()))) | given
    assigned = dict(series)  # a table may have 100,000 columns, most of which nothing is known of
    for name in (n for n, metric in series.items() if not roles[n] is metric.role is Role.OTHER):
        metric, role = series[name], roles[name]
        unit = metric.unit or names.unit_of(name, role)
        dataset = names.dataset_of(name) if role is Role.DATASET_LOSS else ""
        if role is not metric.role or unit != metric.unit or dataset != metric.dataset:
            # `replace` takes five times as long, and a folder of small files holds thousands of series
            columns = metric.steps, metric.values, metric.times
            assigned[name] = Series(metric.metric, role, *columns, unit, dataset, rows=metric.rows)
    return assigned


def _by_all_names(series: SeriesByName, given: tuple[tuple[str, Role], ...]) -> dict[str, Role]:
    """The roles that the names of a log imply together. A metric that is logged once, as a result at the end,
    does not decide what the others are, and neither does a part of a loss that is off."""
    roles = dict(by_names(tuple(series), given))
    off = {name for name in with_role(roles, Role.LOSS) if loss_words(name) and not series[name].values.any()}
    again = tuple(name for name, own in series.items() if len(own.steps) > 1 and name not in off)
    if off or (len(again) < len(series) and any(len(series[name]) >= MIN_POINTS for name in again)):
        roles |= (theirs := by_names(again, given))
        roles |= dict.fromkeys(off if Role.LOSS in theirs.values() else (), Role.PART_LOSS)
    return roles


@lru_cache(maxsize=16)  # the many files of a run log the same names
def by_names(metrics: tuple[str, ...], given: tuple[tuple[str, Role], ...]) -> dict[str, Role]:
    """The roles that the names of a whole log imply, together with those that are given."""
    if short := _without_component(metrics):
        given_short = tuple((short.get(name, name), role) for name, role in given)
        roles = by_names(tuple(short.values()), given_short)
        return {name: roles[own] for name, own in short.items()}
    known = dict(given)
    stands_for = _representatives(metrics, known)
    logged = {plain(name) for name in stands_for.values()}
    won = {name: name.replace("losses", "wins").replace("loss rate", "win rate") for name in logged}
    of_games = {name for name in logged if won[name] != name and won[name] in logged}  # `losses`: lost games
    roles = {n: Role.OTHER if plain(n) in of_games else role_of(n) for n in stands_for.values()}
    spreads = (n for n in with_role(roles, *SCORES, but=known) if names.is_spread(n, logged))
    roles |= dict.fromkeys(spreads, Role.OTHER)
    if Role.GRAD_NORM not in roles.values():
        unknown = with_role(roles, Role.OTHER, but=known)
        bare = (name for name in unknown if plain(name) in ("grad", "grads", "gradient"))
        roles |= dict.fromkeys(bare, Role.GRAD_NORM)
    roles = _errors(_phases(roles | known), known)
    roles = _objectives(_losses(roles, known), known)
    roles = _totals(roles | known, Role.GRAD_NORM, Role.OTHER)
    return {name: roles[first] for name, first in stands_for.items()}


def _without_component(metrics: Sequence[str]) -> dict[str, str]:
    """The names without their first level if all share it and it is that of a component (`critic/loss`): it
    names an agent then, and not what a loss is of. {} for any other names."""
    groups = {name.partition("/")[0] for name in metrics if "/" in name}
    if len(groups) != 1 or not groups <= aliases.COMPONENTS:
        return {}
    short = {name: name.removeprefix(f"{min(groups)}/") for name in metrics}
    return short if len({*short.values()}) == len(short) > 1 else {}


def _representatives(metrics: tuple[str, ...], known: Roles) -> dict[str, str]:
    """Maps each name to the one that is decided in its place. Unknown names that differ only in a number
    (layers, heads, experts) are decided together, since a table may have 100,000 columns."""
    first_alike, stands_for = dict[str, str](), dict[str, str]()
    by_name = names.roles_of(metrics)
    for name, numbered in names.without_their_numbers(metrics).items():
        is_alone = name in known or by_name[name] is not Role.OTHER
        stands_for[name] = name if is_alone else first_alike.setdefault(numbered, name)
    return stands_for


def _matches(pattern: str, metric: str) -> bool:
    try:
        matched = pattern.fullmatch(metric) if isinstance(pattern, Linear) else re.fullmatch(pattern, metric)
        return bool(matched)
    except re.error as err:
        raise UsageError(f"roles: {pattern!r} is not a regular expression ({err})") from err


def _losses(roles: Roles, given: Roles) -> dict[str, Role]:
    """Decides by all names of the log what its losses are: those with an unknown word in their names, the
    parts of a loss without a total, which are judged themselves, but no single one of one side (a generator
    without its discriminator), and names that are a loss only where no other name speaks of one. A KL beside
    the loss of a reconstruction is a part, too."""
    decided = dict(roles) | _losses_of_unknown_words(roles, given)
    others = with_role(roles, Role.OTHER, but=given)
    parts = with_role(roles, Role.PART_LOSS)
    if not parts:
        beside = aliases.BESIDE_A_LOSS if with_role(roles, Role.LOSS) else aliases.OF_DETECTORS
        bare = [name for name in others if plain(name) in beside]
        parts = names.players(others) + (bare if len(bare) > 1 else [])
        decided |= dict.fromkeys(parts, Role.PART_LOSS)
    elif any(aliases.OF_AUTOENCODERS[0] & loss_words(part) for part in parts):
        of_divergence = aliases.OF_AUTOENCODERS[1] | aliases.DIVERGENCE
        decided |= dict.fromkeys((n for n in others if names.own_words(n) <= of_divergence), Role.PART_LOSS)
    of_one_side = any(aliases.NEVER_ALONE & loss_words(name) for name in parts)
    has_whole = not {Role.LOSS, Role.DATASET_LOSS}.isdisjoint(decided.values())
    if not has_whole and (len(parts) > 1 or not of_one_side):
        decided |= dict.fromkeys((name for name in parts if name not in given), Role.LOSS)
    totals = {name: role_of(f"{name} loss") for name in filter(names.is_total, others)}
    if set(LOSSES).isdisjoint(decided.values()) and not any(map(names.is_bound, decided)):
        decided |= _losses_by_other_names(decided, others, totals)
    of_totals = {*totals.values()}
    known = {*decided.values()}
    is_pair = len(of_totals) > 1  # `train_total` beside `val_total`
    is_held_out = of_totals == {Role.VALIDATION_LOSS} and Role.LOSS in known  # `val_total` beside `loss`
    return decided | totals if is_pair or (is_held_out and Role.VALIDATION_LOSS not in known) else decided


def _losses_of_unknown_words(roles: Roles, given: Roles) -> dict[str, Role]:
    """The roles of losses with an unknown word in their names, where a total or a data set is known. Beside
    parts of a loss, and alone beside a total, one is a part; else they are losses of data sets, if there are
    several of these. An extreme (`loss_max`) is a part."""
    free, of_data = with_role(roles, Role.LOSS, but=given), with_role(roles, Role.DATASET_LOSS)
    unknown = [name for name in free if not names.is_error(name) and loss_words(name) - aliases.COMPONENTS]
    has_total = len(unknown) < len(with_role(roles, Role.LOSS))
    if not has_total and not of_data:
        return {}
    decided = dict.fromkeys(unknown, Role.PART_LOSS)
    if with_role(roles, Role.PART_LOSS):
        # `loss_source` beside `loss_distill`: the source names no data
        of_no_data = aliases.COMPONENTS | aliases.KINDS_OF_DATA
        of_total = (n for n in of_data if has_total and n not in given and loss_words(n) <= of_no_data)
        return decided | dict.fromkeys(of_total, Role.PART_LOSS)
    corpora = [name for name in unknown if not names.is_extreme(name)]
    are_several = len(corpora) + len(of_data) > 1
    return decided | dict.fromkeys(corpora if are_several else (), Role.DATASET_LOSS)


def _losses_by_other_names(roles: Roles, others: Sequence[str], totals: Roles) -> dict[str, Role]:
    """The roles of losses in a log in which no name speaks of a loss: errors, costs, bare totals or parts.
    ``totals`` are the names that only say that they are a total, and their roles if they are losses."""
    losses = {name: Role.LOSS for name in others if plain(name) in ("error", "err", "energy")}
    if not {*_JUDGED} & {*roles.values(), *losses.values()}:
        losses |= dict.fromkeys(filter(names.is_cost, others), Role.LOSS)
    # A bare `Total` beside names of parts alone (`Rec`, `KL`), or beside no unknown name, is their loss.
    of_parts = [n for n in others if n not in totals and names.own_words(n) <= aliases.COMPONENTS]
    if totals and (of_parts or len(totals) == len(others)):
        return losses | dict.fromkeys(of_parts, Role.PART_LOSS) | {**totals}
    # A divergence alone is that from a teacher, and `rec` without one may be a recall.
    bare = [name for name in of_parts if name_words(name) <= aliases.COMPONENTS]
    rebuilt, divergence = ({*map(plain, bare)} & kind for kind in aliases.OF_AUTOENCODERS)
    if (rebuilt and divergence) or len(divergence) == len(bare) or (rebuilt - {"rec"} and len(bare) > 1):
        losses |= dict.fromkeys(bare, Role.LOSS)
    return losses


def _objectives(roles: Roles, given: Roles) -> dict[str, Role]:
    """Makes rewards the objective, as an agent is trained for them, and the losses beside them parts. If
    preferences are learned, or rewards predicted, rewards stay scores. Entropy beside an objective is that of
    the policy."""
    decided, rewards = _rewards(roles, given)
    words = [{*plain(name).split()} for name in roles]
    if any(aliases.PREFERENCES & own or own >= aliases.PREDICTED for own in words):
        return decided | dict.fromkeys(rewards, Role.SCORE)
    if not rewards and Role.OBJECTIVE not in given.values():
        of_losses = [loss_words(name) for name in with_role(decided, *LOSSES, Role.PART_LOSS)]
        of_ppo = sum(not aliases.OF_PPO.isdisjoint(own) for own in of_losses) > 1
        of_agent = _are_of_agent(of_losses, of_ppo=of_ppo)
        rewards = _other_rewards(decided, of_agent=of_agent, has_losses=bool(of_losses))
        if not rewards:
            return _by_cost(decided, given, of_ppo=of_agent and of_ppo)
    of_episodes = [name for name in rewards if aliases.OF_EPISODES & name_words(name)]
    if rewards != of_episodes:  # a term of one, or a mean of many, stands for none beside a whole
        whole = (name for name in of_episodes if names.is_whole_reward(name))
        of_episodes = [name for name in whole if not aliases.OF_WINDOWS & name_words(name)]
    if of_episodes:  # what an episode came to, not what a step or a part of it was worth
        decided |= dict.fromkeys(rewards, Role.SCORE)
    steering = with_role(decided, Role.LOSS, Role.DATASET_LOSS, but=given)
    decided |= dict.fromkeys(steering, Role.PART_LOSS)
    decided |= dict.fromkeys(of_episodes or rewards, Role.OBJECTIVE)
    return _totals(decided | _of_a_policy(decided, given), Role.OBJECTIVE, Role.SCORE)


def _rewards(roles: Roles, given: Roles) -> tuple[dict[str, Role], list[str]]:
    """The roles, in which rewards that are not judged have another one, and the names of the rewards that are
    left."""
    # `critic/returns` beside `critic/advantages`: what a value function learns to say, of no episode
    plain_names = {*map(plain, roles)}
    of_returns = (name for name in roles if "returns" in plain(name) and name not in given)
    learned = (n for n in of_returns if plain(n).replace("returns", "advantages") in plain_names)
    decided = dict(roles) | dict.fromkeys(learned, Role.OTHER)
    logged = with_role(decided, Role.OBJECTIVE, but=given)
    asked_for = _asked_for(logged, decided)
    rewards = names.whole_rewards(asked_for)
    left = (name for name in (*logged, *asked_for) if name not in rewards)
    return decided | {name: Role.OTHER if name in asked_for else Role.SCORE for name in left}, rewards


def _are_of_agent(losses: Sequence[frozenset[str]], *, of_ppo: bool) -> bool:
    """Whether all losses, given by the words of their names, are an agent's, or its opponent's where it
    imitates an expert. If several are parts of PPO, a bare `loss` is their sum."""
    of_any = aliases.OF_AGENTS | aliases.OPPONENTS
    has_own = not losses or any(aliases.OF_AGENTS & own for own in losses)
    return has_own and all(of_any & own for own in losses if own or not of_ppo)


def _other_rewards(roles: Roles, *, of_agent: bool, has_losses: bool) -> list[str]:
    """The bare scores in a log of an agent, or else the rewards of its evaluations; [] for any other log."""
    plain_names = {*map(plain, roles)}
    explores = not aliases.EXPLORING.isdisjoint(plain_names)
    if not of_agent and not explores:
        return []
    scores = aliases.BARE_SCORES | ({"r"} if explores else set())
    scores |= {"rm"} if plain_names >= aliases.OF_OPENRLHF else set()
    unnamed = with_role(roles, Role.OTHER, Role.SCORE)
    bare = [name for name in unnamed if _AVERAGED.sub("", plain(name)) in scores]
    evaluated = with_role(roles, Role.VALIDATION_SCORE) if has_losses and not bare else []
    return bare + [n for n in evaluated if role_of(_EVALUATED.sub("", plain(n))) is Role.OBJECTIVE]


def _of_a_policy(roles: Roles, given: Roles) -> dict[str, Role]:
    """What the names of entropies, ratios and divergences mean beside an objective."""
    parts = with_role(roles, Role.PART_LOSS, but=given)
    own = {n: Role.POLICY_ENTROPY for n in parts if re.search(r"(?<!cross )\bentropy\b", plain(n))}
    # The ratio of the new policy to the old one is none of a mixture.
    ratios = with_role(roles, Role.RATIO, but=given)
    own |= {n: Role.OTHER for n in ratios if plain(n).endswith(("ratio", "ratios"))}
    unknown = with_role({**roles, **own}, Role.OTHER, Role.PART_LOSS, but=given)
    return own | {n: Role.POLICY_KL for n in unknown if re.search(aliases.FROM_REFERENCE, plain(n))}


def _by_cost(roles: Roles, given: Roles, *, of_ppo: bool) -> dict[str, Role]:
    """The roles in a log without a reward. The loss of a policy gradient, whose scale is that of the
    advantages, says nothing, but a cost beside it is what is made small."""
    words = aliases.OF_POLICY_GRADIENT if of_ppo else aliases.ADVANTAGES
    if all(words.isdisjoint(name_words(name)) for name in roles):
        return dict(roles)
    losses = with_role(roles, Role.LOSS, Role.DATASET_LOSS, but=given)
    costs = filter(names.is_cost, (*losses, *with_role(roles, Role.OTHER, but=given)))
    return dict(roles) | dict.fromkeys(losses, Role.PART_LOSS) | dict.fromkeys(costs, Role.LOSS)


def _asked_for(rewards: list[str], roles: Roles) -> list[str]:
    """The rewards without those that only stand beside what a training is judged by. The score of the task
    goes before a reward that was scaled or from which a penalty was taken. Where answers are logged, each is
    an episode, and a `return` beside its `reward` is what a value function learns. Games won stand beside any
    other reward, and beside the loss of a network that learns from a search."""
    by_name = {plain(name): name for name in roles}
    for of_policy, of_task in aliases.SCORES_OF_TASKS:
        rewards = [
            by_name.get(plain(name).replace(of_policy, of_task), name) if of_policy in plain(name) else name
            for name in rewards
        ]
    if Role.ANSWER_LENGTH in roles.values():
        values = {name for name in by_name if name.replace("return", "reward") in {*by_name} - {name}}
        rewards = [name for name in rewards if plain(name) not in values]
    losses = [loss_words(n) for n in with_role(roles, *LOSSES, Role.PART_LOSS)]
    words = {word for name in by_name for word in name.split()}
    searches = set() in losses and all({word} in losses for word in aliases.OF_SEARCH)
    given = [name for name in rewards if not re.search(aliases.A_WIN, plain(name))]
    return given if given or (searches and not words & aliases.OF_POLICY_GRADIENT) else rewards


def _phases(roles: Roles) -> dict[str, Role]:
    """`train` beside `valid`, or `t_loss` beside `v_loss`, are losses where no other name speaks of one.
    Beside a loss of the training they are something else: scores mostly. Where several names come again with
    a `v_` before them, or `vl_` or `val_` (`val_data` beside `data_loss`), those were of a validation."""
    known = {plain(name): role for name, role in roles.items()}
    losses = {loss_words(n): plain(n) for n in with_role(roles, Role.LOSS, Role.PART_LOSS)}
    twins = dict[str, Role]()
    for name in roles:
        prefix, _, rest = plain(name).partition(" ")
        of_training = [prefix_of_training + rest for prefix_of_training in aliases.TWINS.get(prefix, ())]
        if roles[name] is Role.OTHER and prefix in aliases.OF_EVALUATION and rest:
            of_training.append(losses.get(frozenset(rest.split()), ""))
        if twin := next(filter(known.__contains__, of_training), ""):
            twins[name] = known[twin]
    if len(twins) > 1:
        held_out = {Role.LOSS: Role.VALIDATION_LOSS, Role.SCORE: Role.VALIDATION_SCORE}
        held_out[Role.PART_LOSS] = Role.PART_LOSS
        return dict(roles) | {name: held_out.get(role, Role.OTHER) for name, role in twins.items()}
    ours = {name for name in roles if plain(name) in aliases.OF_TRAINING}
    theirs = {name for name in roles if plain(name) in aliases.OF_EVALUATION}
    bare = set(filter(names.is_error, with_role(roles, Role.LOSS)))  # errors of neither
    others = {role for name, role in roles.items() if name not in ours | theirs | bare}
    if ours and (Role.LOSS in others or (Role.PART_LOSS in others and not theirs)):
        return dict(roles) | {name: Role.OTHER for name in ours | theirs if "loss" not in plain(name)}
    if not ours or not theirs or not others.isdisjoint(LOSSES):
        return dict(roles)
    return dict(roles) | dict.fromkeys(ours, Role.LOSS) | dict.fromkeys(theirs, Role.VALIDATION_LOSS)


def _errors(roles: Roles, given: Roles) -> dict[str, Role]:
    """Leaves out errors beside a loss, which the training is judged by. Without one, a squared error stands
    for the loss, or else the kind that is logged first."""
    judged = with_role(roles, Role.LOSS, Role.VALIDATION_LOSS, but=given)
    errors = list(filter(names.is_error, judged))
    losses = {role for name, role in roles.items() if name not in errors} & set(LOSSES)
    if any(aliases.STANDING & loss_words(name) for name in with_role(roles, Role.PART_LOSS)):
        losses.add(Role.LOSS)
    stay = _of_first_kind(_errors_beside(losses, errors, roles), roles)
    left_out = [name for name in errors if name not in stay]
    parts = (name for name in left_out if judged != errors and _L_OF.match(plain(name)))  # `L_recon`
    return dict(roles) | dict.fromkeys(left_out, Role.OTHER) | dict.fromkeys(parts, Role.PART_LOSS)


def _errors_beside(losses: Collection[Role], errors: Sequence[str], roles: Roles) -> Sequence[str]:
    """The errors that may be judged beside losses of these roles: one of the validation beside a loss of the
    training alone, and one of the training beside a loss of the validation alone."""
    if not losses:
        return errors
    if losses == {Role.VALIDATION_LOSS}:
        return [name for name in errors if names.is_of_training(name, errors)]
    held_out = [name for name in errors if roles[name] is Role.VALIDATION_LOSS]
    return [] if Role.VALIDATION_LOSS in losses else held_out


def _of_first_kind(errors: Sequence[str], roles: Roles) -> set[str]:
    """Chooses one kind of errors: a squared error of the training, or else the kind that is logged first."""
    kinds = {name: name_words(name) & aliases.ERROR_WORDS for name in errors}
    of_training = [kind for name, kind in kinds.items() if roles[name] is Role.LOSS] or [*kinds.values()]
    first = min(of_training, key=aliases.SQUARED.isdisjoint, default=set[str]())
    of_first = {name for name, kind in kinds.items() if kind == first}
    held_out = [name for name in kinds if roles[name] is Role.VALIDATION_LOSS]
    if first == {"cost"} and of_first.isdisjoint(held_out):  # which says nothing of how others are measured
        of_first |= {name for name in held_out if kinds[name] == kinds[held_out[0]]}
    return of_first


def _totals(roles: Roles, total: Role, part: Role) -> dict[str, Role]:
    """Of several gradient norms, or objectives, those with the fewest words are wholes, and the others parts.
    Words for a total, a mean or a population do not make a part."""
    own = {name: name_words(name) for name, role in roles.items() if role is total}
    n_words = {name: len(words - aliases.OF_WHOLES) for name, words in own.items()}
    fewest = min(n_words.values(), default=0)
    return dict(roles) | {name: part for name, n in n_words.items() if n > fewest}


def judged_loss(series: Iterable[AnySeries], fewest: int = MIN_POINTS) -> AnySeries | None:
    """The loss that a run is judged by; None where no loss has ``fewest`` points. A training loss comes
    before losses by data set, and those before a validation loss."""
    return _first(series, LOSSES, fewest)


def judged(series: Iterable[AnySeries], fewest: int = MIN_POINTS) -> AnySeries | None:
    """What a run is judged by: a loss, or where none is logged an objective, or a score whose direction is
    known; None where none has ``fewest`` points. Which way is better, `direction` says."""
    return _first(series, _JUDGED, fewest)


_JUDGED = (*LOSSES[:2], Role.OBJECTIVE, LOSSES[2], *SCORES)


def shown_metric(series: Iterable[AnySeries]) -> AnySeries | None:
    """The metric that is judged, or, if none is long enough for that, the one that would be."""
    return judged(series := list(series)) or judged(series, fewest=1)


def evaluations(series: Iterable[AnySeries]) -> list[AnySeries]:
    """The metrics that tell how good a model became, beside the judged one: losses of held-out data, their
    scores, and other scores that are logged as seldom as an evaluation."""
    shown = shown_metric(series := list(series))
    seldom = _SELDOM * len(shown) if shown is not None else 0
    others = [s for s in series if s is not shown and np.count_nonzero(np.isfinite(s.values)) > 1]
    evaluated = [s for s in others if s.role in (Role.VALIDATION_LOSS, Role.VALIDATION_SCORE)]
    evaluated += [s for s in others if s.role is Role.SCORE and len(s) <= seldom]
    return sorted(evaluated, key=lambda s: s.role in SCORES)


def _first(series: Iterable[AnySeries], roles: Sequence[Role], fewest: int) -> AnySeries | None:
    """Chooses a series of the first of ``roles`` that has one of ``fewest`` points: of those with the most
    steps the one with the shortest name. A series with a value a step comes before one with several, if these
    are a course; one that is called a loss before others (`nll`), a value before its running mean, and
    `train_loss` before a bare `loss`. A log of the first steps alone is left out."""
    candidates = [s for s in series if s.role in roles and len(s) >= fewest]
    first = min((roles.index(s.role) for s in candidates), default=0)
    of_kind = [s for s in candidates if s.role is roles[first]]
    if len(of_kind) < 2:
        return next(iter(of_kind), None)
    spans = [np.ptp(s.steps[np.isfinite(s.values)]) if len(s) else 0 for s in of_kind]
    of_kind = [s for s, span in zip(of_kind, spans, strict=True) if span >= _LEAST_SPAN * max(spans)]
    n_steps = {s.metric: 1 + int(np.count_nonzero(s.steps[1:] != s.steps[:-1])) for s in of_kind}
    enough = _AS_LONG * max(n_steps.values())

    def order(s: Series) -> tuple[bool, bool, bool, int]:
        words = plain(s.metric).split()
        repeats = len(s) >= 2 * n_steps[s.metric] >= 2 * _COURSE_STEPS
        return repeats, "loss" not in words, bool({*words} & aliases.SECOND_CHOICE), len(s.metric)

    longest = {plain(s.metric): s for s in of_kind if n_steps[s.metric] >= enough}
    best = min((s for s in of_kind if n_steps[s.metric] >= enough), key=order)
    return longest.get(f"train {plain(best.metric)}", best)


def direction(series: Series) -> int:
    """-1 where less of a metric is better, 1 where more is, 0 where its role says neither."""
    if series.role not in SCORES:
        return 1 if series.role is Role.OBJECTIVE else -(series.role in (*LOSSES, Role.PART_LOSS))
    words = name_words(series.metric)
    return -1 if aliases.BETTER_LOWER & words or any(place <= words for place in aliases.PLACES) else 1
