"""What a metric is, by its name, by its neighbours where the name alone does not tell (is ``loss_python`` a
data set, or a part of the loss?), else by its values; and which series a run is judged by."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from chronicle.errors import UsageError
from chronicle.metrics import aliases, names
from chronicle.metrics.arithmetic import any_numbers, median
from chronicle.metrics.by_values import Log, is_clock, roles_by_values
from chronicle.metrics.names import LOSSES, loss_words, name_words, plain, role_of
from chronicle.metrics.values import gathered
from chronicle.model import Role, Series

SCORES = (Role.SCORE, Role.VALIDATION_SCORE)
MIN_POINTS = 8  # fewer points than this are no series to judge
AnySeries = TypeVar("AnySeries", bound=Series)
Roles = Mapping[str, Role]
Overrides = Sequence[tuple[str, Role]]
_AS_LONG = 0.9  # share of the longest loss that counts as equally long: a total may begin a little later
_COURSE_STEPS = 16  # the fewest of a course
_NO_MEAN, _ROUNDED = 0.05, 0.01  # share of rows in which a whole is no mean; of its value, for rounding
_NEAR_LOSS, _ALONG = 0.2, 0.8  # relative difference, and correlation, of a loss that is measured twice
_EVALUATED = re.compile(aliases.EVALUATED)
_L_OF = re.compile(r"l (?!\d)")
_NUMBERED_SET = re.compile(r"\bvalidation_(\d{1,3})[-/](\w+)$")
_FAR_LOWER = 0.8  # of another set's loss: two sets that are held out differ by less
_AVERAGED = re.compile(r"^(average|avg|mean) ")


def assign(series: Log, overrides: Overrides = ()) -> dict[str, Series]:
    """The series of one log with role, data set and unit set; as `assign_all` of this one."""
    return assign_all([series], overrides)[0]


@any_numbers
def assign_all(
    logs: Sequence[Log], overrides: Overrides = (), axes: Sequence[str] = ()
) -> list[dict[str, Series]]:
    """The series of the logs of one run with role, data set and unit set. ``overrides`` are (regular
    expression of the whole name, role); the first match wins over the table, and so does a role that the
    reader gave. What the values of one log tell of a name holds for all. In a log whose ``axes`` say "item",
    only ``overrides`` give roles. Raises UsageError where an override is not a regular expression."""
    by_value = roles_by_values(logs)
    assigned = list[dict[str, Series]]()
    for series, axis in zip(logs, axes or [""] * len(logs), strict=True):
        if axis != "item":
            assigned.append(_assigned(series, by_value, overrides))
            continue
        declared = {n: s for n, s in series.items() if any(_matches(pattern, n) for pattern, _ in overrides)}
        assigned.append({**series, **_assigned(declared, {}, overrides)})
    return assigned


def _assigned(series: Log, by_value: Roles, overrides: Overrides) -> dict[str, Series]:
    given = {name: by_value[name] for name in series if name in by_value}
    by_reader = {name: metric.role for name, metric in series.items() if metric.role is not Role.OTHER}
    given = by_reader | {n: r for n, r in given.items() if by_reader.get(n, Role.OBJECTIVE) is Role.OBJECTIVE}
    for pattern, role in reversed(overrides):
        given |= {name: Role(role) for name in series if _matches(pattern, name)}
    roles = _by_all_names(series, tuple(given.items()))
    for name in _named(roles, Role.STEP_TIME, *LOSSES):
        values = series[name].values
        since_start = roles[name] is Role.STEP_TIME and is_clock(name, values)
        rises = len(values) > 0 and values[-1] >= values[0]
        # `l` may be the length of an episode, `eval_l` games that were lost, `train` stand before the number
        # of an agent, and a `total` be a number of rows
        own = plain(name) if roles[name] in LOSSES else ""
        is_alone = own in ("train", "training") and Role.VALIDATION_LOSS not in roles.values()
        is_number = is_alone or own.split()[-1:] == ["l"]
        is_number |= rises and names.is_total(own)
        is_signed = own in ("error", "err") and (values < 0).any()  # of what is steered
        if since_start or is_signed or (is_number and not (values % 1).any()):
            roles[name] = Role.OTHER
    roles |= dict.fromkeys(_no_data_sets(series, roles), Role.PART_LOSS)
    roles |= dict.fromkeys(_parts_left(series, roles), Role.PART_LOSS)
    roles |= dict.fromkeys(_parts_held_out(roles), Role.PART_LOSS)
    roles |= _logged_throughout(series, roles) | _held_out_unnamed(series, roles)
    roles |= _by_level(series, roles) | _first_set(series, roles)
    roles |= given
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


def _by_all_names(series: Log, given: tuple[tuple[str, Role], ...]) -> dict[str, Role]:
    """What the names of a log tell together. What is told once, as the result at the end, does not say what
    the others are, and no more does a part of a loss that is off."""
    roles = dict(by_names(tuple(series), given))
    off = {name for name in _named(roles, Role.LOSS) if loss_words(name) and not series[name].values.any()}
    again = tuple(name for name in series if len(series[name]) > 1 and name not in off)
    if off or (len(again) < len(series) and any(len(series[name]) >= MIN_POINTS for name in again)):
        roles |= (theirs := by_names(again, given))
        roles |= dict.fromkeys(off if Role.LOSS in theirs.values() else (), Role.PART_LOSS)
    return roles


@lru_cache(maxsize=16)  # the many files of a run log the same names
def by_names(metrics: tuple[str, ...], given: tuple[tuple[str, Role], ...]) -> dict[str, Role]:
    """The roles that the names of a whole log tell, beside those that are given. Unknown names that differ
    only in a number (layers, heads, experts) are decided together: a table may have 100,000 columns."""
    known, first_alike = dict(given), dict[str, str]()
    stands_for = {
        name: name if name in known or role is not Role.OTHER else first_alike.setdefault(numberless, name)
        for name, role, numberless in ((name, role_of(name), names.without_numbers(name)) for name in metrics)
    }
    logged = {plain(name) for name in stands_for.values()}
    won = {name: name.replace("losses", "wins").replace("loss rate", "win rate") for name in logged}
    of_games = {name for name in logged if won[name] != name and won[name] in logged}  # `losses`: lost games
    roles = {n: Role.OTHER if plain(n) in of_games else role_of(n) for n in stands_for.values()}
    spreads = (n for n in _named(roles, *SCORES, but=known) if names.is_spread(n, logged))
    roles |= dict.fromkeys(spreads, Role.OTHER)
    if Role.GRAD_NORM not in roles.values():
        bare = (n for n in _named(roles, Role.OTHER, but=known) if plain(n) in ("grad", "grads", "gradient"))
        roles |= dict.fromkeys(bare, Role.GRAD_NORM)
    errors = _errors(_phases(roles | known), known)
    roles = _totals(_objectives(_losses(errors, known), known) | known, Role.GRAD_NORM, Role.OTHER)
    return {name: roles[first] for name, first in stands_for.items()}


def _matches(pattern: str, metric: str) -> bool:
    try:
        return re.fullmatch(pattern, metric) is not None
    except re.error as err:
        raise UsageError(f"roles: {pattern!r} is not a regular expression ({err})") from err


def _named(roles: Roles, *wanted: Role, but: Collection[str] = ()) -> list[str]:
    return [name for name, role in roles.items() if role in wanted and name not in but]


def _losses(roles: Roles, given: Roles) -> dict[str, Role]:
    """Decides by all names of the log what a loss with an unknown word in its name is. Beside parts of a loss
    it is a part; several beside a total, or one beside a known data set, are data sets; one alone beside a
    total, or an extreme, is a part. Without a total the parts are judged, but no single one of an agent."""
    roles = dict(roles)
    losses, parts = _named(roles, Role.LOSS), _named(roles, Role.PART_LOSS)
    others, free = _named(roles, Role.OTHER, but=given), _named(roles, Role.LOSS, but=given)
    totals = {name: role_of(f"{name} loss") for name in filter(names.is_total, others)}
    unknown = [n for n in free if not names.is_error(n) and loss_words(n) - aliases.COMPONENTS]
    known, has_total = _named(roles, Role.DATASET_LOSS), len(unknown) < len(losses)
    corpora = [name for name in unknown if not names.is_extreme(name)]
    if has_total or known:
        roles |= dict.fromkeys(unknown, Role.PART_LOSS)
    if parts and has_total:  # `loss_source` beside `loss_distill`: the source names no data
        of_total = (n for n in known if loss_words(n) <= aliases.COMPONENTS | aliases.KINDS_OF_DATA)
        roles |= {name: Role.PART_LOSS for name in of_total if name not in given}
    if not parts and (known or has_total) and len(corpora) + len(known) > 1:
        roles |= dict.fromkeys(corpora, Role.DATASET_LOSS)
    if not parts:
        bare = [n for n in others if plain(n) in (aliases.BESIDE_A_LOSS if losses else aliases.OF_DETECTORS)]
        parts = names.players(others) + (bare if len(bare) > 1 else [])
        roles |= dict.fromkeys(parts, Role.PART_LOSS)
    of_an_agent = [name for name in parts if aliases.OF_PPO & loss_words(name)]
    if not {Role.LOSS, Role.DATASET_LOSS} & set(roles.values()) and (len(parts) > 1 or not of_an_agent):
        roles |= dict.fromkeys((name for name in parts if name not in given), Role.LOSS)
    if not set(LOSSES) & set(roles.values()) and not any(map(names.is_bound, roles)):
        roles |= {name: Role.LOSS for name in others if plain(name) in ("error", "err", "energy")}
        if not {*_JUDGED} & set(roles.values()):
            roles |= dict.fromkeys(filter(names.is_cost, others), Role.LOSS)
        # A bare `Total` beside names of parts alone (`Rec`, `KL`), or beside no unknown name, is their loss.
        of_parts = [n for n in others if n not in totals and names.own_words(n) <= aliases.COMPONENTS]
        parts = [name for name in of_parts if name_words(name) <= aliases.COMPONENTS]
        kinds = [{*map(plain, parts)} & kind for kind in aliases.OF_AUTOENCODERS]
        if totals and (of_parts or len(totals) == len(others)):
            roles |= dict.fromkeys(of_parts, Role.PART_LOSS) | totals
        elif all(kinds) or len(kinds[1]) == len(parts) or (kinds[0] - {"rec"} and len(parts) > 1):
            # a divergence alone is that from a teacher, and `rec` without one may be a recall
            roles |= dict.fromkeys(parts, Role.LOSS)
    return roles | totals if len({*totals.values()}) > 1 else roles  # `train_total` beside `val_total`


def _objectives(roles: Roles, given: Roles) -> dict[str, Role]:
    """A reward is what an agent is trained for: it becomes the objective, and the losses beside it are parts.
    Where preferences are learned, or rewards predicted, these stay scores. A bare score, or an evaluation's
    reward, is the objective where all losses are an agent's; so is entropy the policy's."""
    # `critic/returns` beside `critic/advantages`: what a value function learns to say, of no episode
    plain_names = set(map(plain, roles))
    of_returns = (name for name in roles if "returns" in plain(name) and name not in given)
    learned = (n for n in of_returns if plain(n).replace("returns", "advantages") in plain_names)
    roles = dict(roles) | dict.fromkeys(learned, Role.OTHER)
    asked_for = _asked_for(logged := _named(roles, Role.OBJECTIVE, but=given), roles)
    rewards = names.whole_rewards(asked_for)
    left = (name for name in (*logged, *asked_for) if name not in rewards)
    roles |= {name: Role.OTHER if name in asked_for else Role.SCORE for name in left}
    if any(aliases.PREFERENCES & (own := {*n.split()}) or own >= aliases.PREDICTED for n in plain_names):
        return dict(roles) | dict.fromkeys(rewards, Role.SCORE)
    losses = _named(roles, *LOSSES, Role.PART_LOSS)
    words = [loss_words(name) for name in losses]  # where an expert is imitated, of an opponent too
    of_ppo = sum(bool(aliases.OF_PPO & own) for own in words) > 1  # of whose parts a bare `loss` is the sum
    of_an_agent = all((aliases.OF_AGENTS | aliases.OPPONENTS) & own for own in words if own or not of_ppo)
    of_an_agent &= not words or any(aliases.OF_AGENTS & own for own in words)
    explores = any(plain(name) in aliases.EXPLORING for name in roles)
    if not rewards and Role.OBJECTIVE not in given.values() and (of_an_agent or explores):
        bare = {name: _AVERAGED.sub("", plain(name)) for name in _named(roles, Role.OTHER, Role.SCORE)}
        scores = aliases.BARE_SCORES | ({"r"} if explores else set())
        scores |= {"rm"} if plain_names >= aliases.OF_OPENRLHF else set()
        rewards = [name for name, score in bare.items() if score in scores]
        evaluated = _named(roles, Role.VALIDATION_SCORE) if losses and not rewards else []
        rewards += [n for n in evaluated if role_of(_EVALUATED.sub("", plain(n))) is Role.OBJECTIVE]
    if not rewards and Role.OBJECTIVE not in given.values():
        return dict(roles)
    of_episodes = [name for name in rewards if aliases.OF_EPISODES & name_words(name)]
    if of_episodes:  # what an episode came to, not what a step or a part of it was worth
        roles = dict(roles) | dict.fromkeys(rewards, Role.SCORE)
        rewards = of_episodes
    steering = _named(roles, Role.LOSS, Role.DATASET_LOSS, but=given)
    roles = dict(roles) | dict.fromkeys(steering, Role.PART_LOSS) | dict.fromkeys(rewards, Role.OBJECTIVE)
    parts = _named(roles, Role.PART_LOSS, but=given)
    roles |= {n: Role.POLICY_ENTROPY for n in parts if re.search(r"(?<!cross )\bentropy\b", plain(n))}
    of_policies = [n for n in _named(roles, Role.RATIO, but=given) if plain(n).endswith(("ratio", "ratios"))]
    roles |= dict.fromkeys(of_policies, Role.OTHER)  # of the new policy to the old one, not of a mixture
    may_be_kl = _named(roles, Role.OTHER, Role.PART_LOSS, but=given)
    roles |= {n: Role.POLICY_KL for n in may_be_kl if re.search(aliases.FROM_REFERENCE, plain(n))}
    return _totals(roles, Role.OBJECTIVE, Role.SCORE)


def _asked_for(rewards: list[str], roles: Roles) -> list[str]:
    """The rewards without those that only stand beside what a training is judged by. The score of the task
    goes before a reward that was scaled or from which a penalty was taken. Where answers are told, each is an
    episode, and a `return` beside its `reward` is what a value function learns. Games won stand beside any
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
    losses = [loss_words(n) for n in _named(roles, *LOSSES, Role.PART_LOSS)]
    words = {word for name in by_name for word in name.split()}
    searches = set() in losses and all({word} in losses for word in aliases.OF_SEARCH)
    given = [name for name in rewards if not re.search(aliases.A_WIN, plain(name))]
    return given if given or (searches and not words & aliases.OF_POLICY_GRADIENT) else rewards


def _phases(roles: Roles) -> dict[str, Role]:
    """`train` beside `valid`, or `t_loss` beside `v_loss`, are losses where no other name speaks of one.
    Beside a loss of the training they are something else: scores mostly. Where several names come again with
    a `v_` before them, or `vl_` or `val_` (`val_data` beside `data_loss`), those were of a validation."""
    known = {plain(name): role for name, role in roles.items()}
    losses = {loss_words(n): plain(n) for n in _named(roles, Role.LOSS, Role.PART_LOSS)}
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
    bare = set(filter(names.is_error, _named(roles, Role.LOSS)))  # errors of neither
    others = {role for name, role in roles.items() if name not in ours | theirs | bare}
    if ours and (Role.LOSS in others or (Role.PART_LOSS in others and not theirs)):
        return dict(roles) | {name: Role.OTHER for name in ours | theirs if "loss" not in plain(name)}
    if not ours or not theirs or not others.isdisjoint(LOSSES):
        return dict(roles)
    return dict(roles) | dict.fromkeys(ours, Role.LOSS) | dict.fromkeys(theirs, Role.VALIDATION_LOSS)


def _errors(roles: Roles, given: Roles) -> dict[str, Role]:
    """Leaves out errors beside a loss, which the training is judged by. Without one, a squared error stands
    for the loss, or else the kind that is logged first. Beside a loss of the training alone, one of the
    validation stays, and beside a loss of the validation alone, one of the training."""
    judged = _named(roles, Role.LOSS, Role.VALIDATION_LOSS, but=given)
    errors = list(filter(names.is_error, judged))
    losses = {role for name, role in roles.items() if name not in errors} & set(LOSSES)
    if any(aliases.STANDING & loss_words(name) for name in _named(roles, Role.PART_LOSS)):
        losses.add(Role.LOSS)
    kept = [] if Role.VALIDATION_LOSS in losses else errors
    if losses:
        kept = [name for name in kept if roles[name] is Role.VALIDATION_LOSS]
    if losses == {Role.VALIDATION_LOSS}:
        kept = [name for name in errors if names.is_of_training(name, errors)]
    kinds = {name: name_words(name) & aliases.ERROR_WORDS for name in kept}
    of_training = [kind for name, kind in kinds.items() if roles[name] is Role.LOSS] or [*kinds.values()]
    first = min(of_training, key=aliases.SQUARED.isdisjoint, default=set[str]())
    stay = {name for name, kind in kinds.items() if kind == first}
    held_out = [name for name in kinds if roles[name] is Role.VALIDATION_LOSS]
    if first == {"cost"} and stay.isdisjoint(held_out):  # which says nothing of how others are measured
        stay |= {name for name in held_out if kinds[name] == kinds[held_out[0]]}
    left = [name for name in errors if name not in stay]
    parts = (name for name in left if judged != errors and _L_OF.match(plain(name)))  # `L_recon`
    return dict(roles) | dict.fromkeys(left, Role.OTHER) | dict.fromkeys(parts, Role.PART_LOSS)


def _no_data_sets(series: Log, roles: Roles) -> list[str]:
    """The losses that no known word calls those of data sets, if the whole is often above or below all."""
    of_sets = _named(roles, Role.DATASET_LOSS)
    unknown = [name for name in of_sets if not aliases.CORPORA & loss_words(name)]
    for whole in (series[name] for name in _named(roles, Role.LOSS)):
        same = [series[n].values for n in unknown if np.array_equal(series[n].steps, whole.steps)]
        if len(same) < 2 or len(whole) < MIN_POINTS:
            continue
        slack = _ROUNDED * np.abs(whole.values)
        above, below = np.max(same, axis=0) + slack, np.min(same, axis=0) - slack
        if np.mean((whole.values > above) | (whole.values < below)) >= _NO_MEAN:
            return unknown
    return []


def _parts_left(series: Log, roles: Roles) -> list[str]:
    """Where only parts of a loss are logged, all but the one that stands for the whole: of the longest the
    one that several others are of (`G` of `G_content`), else a distance; an opponent's is the last choice."""
    losses = _named(roles, Role.LOSS)
    if any(plain(n) in ("error", "err") or _may_be_whole(n) for n in losses):
        return []
    enough = 0.9 * max((len(series[name]) for name in losses), default=0)
    longest = [name for name in losses if len(series[name]) >= enough]
    wholes = _wholes(longest)
    first = min(longest, key=lambda name: (name not in wholes, names.part_rank(name)), default="")
    return [name for name in losses if name != first]


def _parts_held_out(roles: Roles) -> list[str]:
    """The validation losses that are of a part of the loss, where the whole is validated too: their names say
    the same as that of a part in the training (`vl_loss_phys` and `tr_loss_phys` beside `vl_loss_total`)."""

    def words_by_name(role: Role, phases: Collection[str]) -> dict[str, frozenset[str]]:
        return {name: loss_words(name) - {*phases} for name in _named(roles, role)}

    held_out = words_by_name(Role.VALIDATION_LOSS, aliases.OF_EVALUATION | aliases.TWINS.keys())
    parts = {words for words in words_by_name(Role.PART_LOSS, aliases.OF_TRAINING).values() if words}
    return [name for name, words in held_out.items() if words in parts and not all(held_out.values())]


def _may_be_whole(name: str) -> bool:
    """Whether a loss is not one of several whose names say what they are of."""
    if role_of(name) in (Role.OTHER, Role.PART_LOSS):
        return False
    return not (role_of(name) is Role.LOSS and names.A_LOSS.search(plain(name)) and loss_words(name))


def _wholes(logged: Sequence[str]) -> set[str]:
    """The names of which several others have all words and more, an opponent's aside."""
    words = {name: name_words(name) for name in logged}
    having = gathered((word, name) for name in logged for word in words[name])
    own = [name for name in logged if not names.is_of_opponent(name)]
    longer = {name: min((having[w] for w in words[name]), key=len, default=[]) for name in own}
    return {n for n, others in longer.items() if sum(words[n] < words[other] for other in others) > 1}


def _logged_throughout(series: Log, roles: Roles) -> dict[str, Role]:
    """The rewards that go before an objective which is told over less than half of their steps, or hardly, or
    is the same at all: that of a step, beside what the episode has come to."""
    rated = ((name, series[name]) for name in _named(roles, Role.OBJECTIVE, Role.SCORE))
    moving = {n: s.steps for n, s in rated if len(s) >= MIN_POINTS and (s.values != s.values[0]).any()}
    spans = {name: int(np.ptp(moving.get(name, 0))) for name in _named(roles, Role.OBJECTIVE, Role.SCORE)}
    longest_span = max((spans[name] for name in _named(roles, Role.OBJECTIVE)), default=math.inf)
    rest = (name for name in _named(roles, Role.SCORE) if role_of(name) is Role.OBJECTIVE)
    whole = [name for name in rest if spans[name] > 2 * longest_span]
    if not whole:
        return {}
    longest = max(whole, key=lambda name: (len(series[name]), -len(name)))
    return dict.fromkeys(_named(roles, Role.OBJECTIVE), Role.SCORE) | {longest: Role.OBJECTIVE}


def _held_out_unnamed(series: Log, roles: Roles) -> dict[str, Role]:
    """`loss` beside a `train_loss` of as many other values, where no loss is named as held out: it is."""
    if _named(roles, Role.VALIDATION_LOSS):
        return {}
    losses = {tuple(plain(name).split()): name for name in _named(roles, Role.LOSS)}
    held_out: dict[str, Role] = {}
    for words, name in losses.items():
        if bare := losses.get(tuple(word for word in words if word not in aliases.OF_TRAINING)):
            ours, theirs = series[name].values, series[bare].values
            if len(ours) == len(theirs) and not np.array_equal(ours, theirs, equal_nan=True):
                held_out[bare] = Role.VALIDATION_LOSS
    return held_out


def _by_level(series: Log, roles: Roles) -> dict[str, Role]:
    """What a level tells of names. `train` beside a loss that it goes along is that loss measured again, and
    so `val` is that of the validation. A loss with the values of an opponent's part is that part."""
    by_level: dict[str, Role] = {}
    losses = _named(roles, Role.LOSS)
    bare = [name for name in _named(roles, Role.OTHER) if plain(name) in ("train", "training")]
    if losses and any(_goes_along(series[name], series[loss]) for name in bare for loss in losses):
        evaluated = [n for n in _named(roles, Role.OTHER) if plain(n) in aliases.OF_EVALUATION]
        by_level |= dict.fromkeys(evaluated, Role.VALIDATION_LOSS) | dict.fromkeys(bare, Role.LOSS)
    opponents = [series[name].values for name in _named(roles, Role.PART_LOSS) if names.is_of_opponent(name)]
    same = [n for n in losses if any(np.array_equal(series[n].values, values) for values in opponents)]
    return by_level | dict.fromkeys(same if len(same) < len(losses) else [], Role.PART_LOSS)


def _first_set(series: Log, roles: Roles) -> dict[str, Role]:
    """`validation_0` beside `validation_1` where nothing is of the training: XGBoost's interface for
    scikit-learn numbers all sets it is given. The first is the training's if its losses end far lower."""
    sets = dict[str, dict[int, str]]()
    for name in _named(roles, Role.VALIDATION_LOSS, Role.VALIDATION_SCORE):
        if (match := _NUMBERED_SET.search(name)) and len(series[name]):
            sets.setdefault(match[2], {})[int(match[1])] = name
    ends = [
        [series[names_of_set[n]].values[-1] for n in sorted(names_of_set)]
        for names_of_set in sets.values()
        if 0 in names_of_set and roles[names_of_set[0]] is Role.VALIDATION_LOSS
    ]
    far_lower = all(len(losses) > 1 and losses[0] < _FAR_LOWER * min(losses[1:]) for losses in ends)
    if not ends or not far_lower or _named(roles, Role.LOSS):
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


def _totals(roles: Roles, total: Role, part: Role) -> dict[str, Role]:
    """Of several gradient norms, or objectives, those with the fewest words are wholes, the others parts.
    That one is a total, a mean, or that of a population, says of no part."""
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
    """What is judged; where nothing is long enough to be judged, what would be."""
    return judged(series := list(series)) or judged(series, fewest=1)


def _first(series: Iterable[AnySeries], roles: Sequence[Role], fewest: int) -> AnySeries | None:
    """Of the series of the first role that has some of ``fewest`` points the shortest name of those with the
    most steps: one with a value a step before one with several, where these are a course; one that says that
    it is a loss before others (`nll`), and what is told as it is before its running mean. `train_loss` goes
    before a bare `loss`."""
    candidates = [s for s in series if s.role in roles and len(s) >= fewest]
    first = min((roles.index(s.role) for s in candidates), default=0)
    of_kind = [s for s in candidates if s.role is roles[first]]
    if len(of_kind) < 2:
        return next(iter(of_kind), None)
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
    return -1 if aliases.BETTER_LOWER & name_words(series.metric) else 1
