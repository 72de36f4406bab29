"""What the name of a metric says by itself: its role by the table of aliases, its data set, its unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache, lru_cache

import numpy as np

from chronicle.metrics import aliases
from chronicle.model import Role, Series

compiled = cache(re.compile)  # when a name first gets to it: all take longer than reading a short log
_SPELLED = re.compile("|".join(aliases.SPELLED))
_A_NUMBER, _LONG_NUMBER = re.compile(r"\b\d+\b"), re.compile(r"\d\d+")
# A new word begins at "Norm" of "gradNorm", "LR" of "currentLR" and "Policy" of "MLPPolicy", not in "TFLOPs".
_HUMP = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z]{2})(?=[A-Z]{2,}(?![A-Za-z]))|(?<=[A-Z]{2})(?=[A-Z][a-z]{2})"
)
_WORD = re.compile(r"[^\W_]+")
_ITS_VALUE, A_LOSS = re.compile(r"\b(loss|objective) values?\b"), re.compile(aliases.A_LOSS)
WINDOW_EPISODES = 100  # of Gym and stable-baselines3: fewer tell little of an agent
_LONGEST_NAME = 1000  # characters; the patterns take quadratic time, so longer names are not searched
_MOST_NAMES = 1 << 17  # names kept in a cache: every metric of a run is looked up several times
_LOSS_NAME = re.compile(r"(?s)(?i:(.*?)(?<![a-z])(?:per[ _]token[ _])?(?:loss|losses)(?![a-z])(.*))")
_LEAD = re.compile(r"(?i)^(train|training|dataset|datasets|source|domain|subset|corpus|by)(?=[/_. -])")
# Of a model, or of the set that it is trained on.
_SIZE = re.compile(
    r"(?:(?:n|num|number of|model|total|trainable) )*param(?:eter)?s"
    r"|(?:n|num|number of) train(?:ing)?(?: (?:samples|examples|images))?"
    r"|train(?:ing)? (?:(?:n|num) (?:samples|examples|images)|(?:set )?sizes?)"
)
_COUNTED = {Role.TOKENS: "tokens", Role.SAMPLES: "samples", Role.EPOCH: "epochs"}
COUNTERS = tuple(_COUNTED)
_UNITS = (
    (r"\btflops?\b", "TFLOP/s"),
    (r"\b(tokens?|toks?)\b", "tokens/s"),
    (r"\b(words?|wps)\b", "words/s"),
    (r"\b(samples?|examples?)\b", "samples/s"),
    (r"\b(its?|iters?|iterations?|steps?)\b", "steps/s"),
)
_OF_PLAYERS = aliases.COMPONENTS | aliases.BESIDE_PLAYERS
_OF_ONE_SIDE = aliases.GENERATORS | aliases.OPPONENTS | aliases.DISTANCES | {"idt", "identity"}
MIN_POINTS = 8  # fewer points than this are no series to judge
LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
MEASURES = (Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE)  # of how well a model does
JUDGED = (*LOSSES, *MEASURES)


class Linear(str):
    """A regular expression of a stranger. RE2 matches it in a time in proportion to the text, where Python's
    own way may not come to an end (``(a+)+b``), and cannot be stopped."""

    def fullmatch(self, text: str) -> bool:
        """Whether it matches the whole text. Raises ValueError: RE2 does not know the expression."""
        import pyarrow as pa  # here and below, because the import takes longer than most logs do
        import pyarrow.compute as pc

        pattern = rf"\A(?:{self})\z"
        found = pc.match_substring_regex(pa.scalar(text.encode("utf-8", "replace").decode()), pattern)
        return bool(found.as_py())

    def sub(self, by: str, text: str) -> str:
        """The text with ``by`` in the place of what it matches. Raises ValueError as `fullmatch` does."""
        import pyarrow as pa
        import pyarrow.compute as pc

        where = pa.scalar(text.encode("utf-8", "replace").decode())
        return str(pc.replace_substring_regex(where, pattern=str(self), replacement=by).as_py())


@lru_cache(maxsize=_MOST_NAMES)
def plain(metric: str) -> str:
    """The name as lower-case words, for comparisons: "train/gradNorm" gives "train grad norm"."""
    words = metric if metric.islower() else _HUMP.sub(" ", metric).lower()
    for spelled, word in aliases.SPELLED.items() if _is_spelled(_LONG_NUMBER.sub("00", words)) else ():
        words = re.sub(spelled, f" {word} ", words)
    return " ".join(_WORD.findall(words))


_is_spelled = lru_cache(maxsize=4096)(_SPELLED.search)


@lru_cache(maxsize=_MOST_NAMES)
def name_words(metric: str) -> frozenset[str]:
    """The words of a name, without their order: "train/gradNorm" gives train, grad and norm."""
    return frozenset(plain(metric).split())


@lru_cache(maxsize=_MOST_NAMES)
def loss_words(metric: str) -> frozenset[str]:
    """The words of a loss's name, except "loss" and those that only say that it is the whole loss."""
    return _loss_words(plain(metric))


@lru_cache(maxsize=_MOST_NAMES)
def role_of(metric: str) -> Role:
    """The role that the name alone implies; OTHER for an unknown or very long name."""
    return Role.OTHER if len(metric) > _LONGEST_NAME else _role_of_numbered(without_numbers(metric))


def without_numbers(metric: str) -> str:
    """The name with 00 in place of every number of several digits, such as those of layers and experts."""
    return _LONG_NUMBER.sub("00", metric)


@lru_cache(maxsize=16)  # the many files of a run log the same names, and a table may have 100,000 of them
def without_their_numbers(metrics: tuple[str, ...]) -> dict[str, str]:
    """Each name and what `without_numbers` makes of it, of all in one go."""
    alike = without_numbers("\n".join(metrics)).split("\n")
    has_line_ends = len(alike) != len(metrics)
    return dict(zip(metrics, map(without_numbers, metrics) if has_line_ends else alike, strict=True))


@lru_cache(maxsize=16)
def roles_of(metrics: tuple[str, ...]) -> dict[str, Role]:
    """The role that each name alone implies, as `role_of` tells it."""
    alike = without_their_numbers(metrics).items()
    return {name: Role.OTHER if len(name) > _LONGEST_NAME else role_of(numbered) for name, numbered in alike}


@lru_cache(maxsize=4096)
def _role_of_numbered(metric: str) -> Role:
    """The role of a name from `without_numbers`: all layers, heads and experts share one cached answer."""
    name = _A_NUMBER.sub("0", plain(metric))
    role = next((a.role for a in aliases.ALIASES if compiled(a.pattern).search(name)), Role.OTHER)
    if role not in (Role.LOSS, Role.DATASET_LOSS):
        return role
    parts = _loss_words(name)
    if not parts or not A_LOSS.search(name):
        return Role.LOSS
    if role is Role.LOSS and parts & aliases.COMPONENTS:
        return Role.PART_LOSS
    return Role.DATASET_LOSS if parts & aliases.CORPORA else role


def _loss_words(plain_name: str) -> frozenset[str]:
    words = _ITS_VALUE.sub("loss", plain_name.replace("cross entropy", "loss")).split()
    return frozenset(w for w in words if not (w in aliases.TOTALS or w.isdigit() or A_LOSS.fullmatch(w)))


_CALLED = ("episode", "game", "generation", "round", "frame")


def called(counter: str) -> str:
    """What the counter of this name calls a step: ``episode``; empty if it has no word of its own."""
    words = (word.removesuffix("s") for word in re.split(r"[\W_]", counter.lower()) if len(word) > 2)
    return next((noun for word in words for noun in _CALLED if noun.startswith(word)), "")


def is_of_one_episode(metric: str) -> bool:
    """Whether the name is that of what each episode came to (`episode reward`), and of no mean of several."""
    words = name_words(metric)
    return bool(words & aliases.OF_EPISODES) and not words & aliases.SECOND_CHOICE


def of_full_window(reward: Series, beside: Mapping[str, Series]) -> Series:
    """The part of a mean of the last 100 episodes (stable-baselines3) from the step on at which so many have
    ended; before, it may be the mean of a single one. Any other reward is returned as it is."""
    for name, lengths in beside.items() if aliases.OF_MEANS.issubset(name_words(reward.metric)) else ():
        if aliases.OF_LENGTHS.issubset(name_words(name)) and lengths.has_steps_of(reward):
            full = np.logical_or.accumulate(reward.steps >= WINDOW_EPISODES * lengths.values)
            return reward.pick(full) if full.any() else reward
    return reward


def with_role(roles: Mapping[str, Role], *wanted: Role, but: Collection[str] = ()) -> list[str]:
    """The names that have one of these roles, except those in ``but``."""
    return [name for name, role in roles.items() if role in wanted and name not in but]


def names_a_loss(metric: str) -> bool:
    """Whether the name is that of a loss, or of a part of one."""
    return role_of(metric) in (*LOSSES, Role.PART_LOSS)


def is_error(name: str) -> bool:
    """Whether the name is that of an error, which is a loss if no other loss is logged."""
    return re.search(aliases.AN_ERROR, plain(name)) is not None


def is_bound(name: str) -> bool:
    """Whether the name is that of a bound of the log of a probability."""
    return aliases.A_BOUND in name_words(name)


def is_cost(name: str) -> bool:
    """Whether the name is that of a quantity that an optimisation makes small, if nothing else is judged."""
    return re.search(aliases.A_COST, plain(name)) is not None


def is_of_training(error: str, errors: Collection[str]) -> bool:
    """Whether an error is one of the training, by its words or because another one is that of an
    evaluation."""
    words = name_words(error)
    held_out = (name_words(name) - aliases.OF_EVALUATION for name in errors if name != error)
    return not words.isdisjoint(aliases.OF_TRAINING | {"cost"}) or words in held_out


def says_nothing(word: str) -> bool:
    """Whether a word before "loss" has no known meaning: it names no part, no data and no training phase."""
    name = f"{word} loss"
    parts = loss_words(name)
    return role_of(name) is Role.LOSS and bool(parts) and not parts & aliases.COMPONENTS


def dataset_of(metric: str) -> str:
    """The data set in the name of a loss, as it is spelled: "train/per_token_loss/code" gives "code"."""
    match = _LOSS_NAME.fullmatch(metric)
    for side in reversed(match.groups() if match else ()):
        side = side.strip("/_. -")
        while lead := _LEAD.match(side):
            side = side[lead.end() :].strip("/_. -")
        if name_words(side) - aliases.TOTALS:
            return side
    return metric


def unit_of(metric: str, role: Role) -> str | None:
    """The unit that the name states, for times, rates and counts; None where it states none."""
    if role not in (Role.STEP_TIME, Role.THROUGHPUT):
        return _COUNTED.get(role)
    name = plain(metric)
    if role is Role.STEP_TIME:
        units = {"ms": "ms", **dict.fromkeys(("s", "sec", "secs", "seconds"), "s")}
        stated = {units[word] for word in name.split() if word in units}
        return min(stated, default=None)  # the smaller one
    per_second = re.search(r"\b(s|sec|secs|second|wps|tflops?)\b", name)
    return next((unit for pattern, unit in _UNITS if per_second and re.search(pattern, name)), None)


def players(metrics: Collection[str]) -> list[str]:
    """The metrics that are losses of the players of an adversarial training: `G_GAN`, `G_L1`, `D_real`
    (pix2pix), `cycle_A`. Empty without generator or opponent; single letters count only without others. A
    group that all names have in front (`gan/D_error`, `gan/G_error`) says nothing of each."""
    in_group = len(metrics) > 1 and len({metric.rpartition("/")[0] for metric in metrics}) == 1
    names = {metric: plain(metric.rpartition("/")[2] if in_group else metric) for metric in metrics}
    words_in = {m: {*name.split()} for m, name in names.items() if _OF_PLAYERS.issuperset(name.split())}
    parts = [metric for metric, words in words_in.items() if words & _OF_ONE_SIDE]
    if any(len(name) == 1 and metric not in parts for metric, name in names.items()):
        parts = [metric for metric in parts if len(names[metric]) > 1]
    has = set[str]().union(*(words_in[metric] for metric in parts))
    return parts if has & aliases.GENERATORS and has & aliases.OPPONENTS else []


def part_rank(metric: str) -> int:
    """How well a part represents the whole loss, 0 best; an opponent's may not fall in training."""
    words = loss_words(metric)
    kinds = (aliases.OPPONENTS, 2), (aliases.DISTANCES, 0), (aliases.STEERING, 3)
    return next((rank for kind, rank in kinds if words & kind), 1)


def is_of_opponent(metric: str) -> bool:
    """Whether a metric is the loss of an opponent, which rises while the other player learns."""
    return part_rank(metric) == 2


def is_of_self_play(metric: str, logged: Collection[str]) -> bool:
    """Whether a metric is an Elo, or the share of games won where a pool, a league or an Elo is logged."""
    is_win = compiled(aliases.A_WIN).search(plain(metric)) is not None
    return is_win and any(aliases.OF_SELF_PLAY & name_words(name) for name in logged)


def is_extreme(metric: str) -> bool:
    """Whether a metric is the best or the worst of several values, which also changes with their spread."""
    return bool({"max", "min", "best", "worst", "highest", "lowest"} & name_words(metric))


def is_spread(metric: str, logged: Collection[str]) -> bool:
    """Whether a metric is the spread of values whose mean is among those that are ``logged`` (plain names):
    `Std Test AUC` beside `Averaged Test AUC`. Alone, `std_acc` may be the standard accuracy."""
    name, spread = plain(metric), compiled(aliases.SPREADS)
    if spread.search(name) is None:
        return False
    return any(" ".join(spread.sub(mean, name).split()) in logged for mean in ("", *aliases.MEANS))


def is_total(name: str) -> bool:
    """Whether a name says only that it is the whole of something, and perhaps of which phase."""
    return own_words(name) in ({"total"}, {"tot"})


def own_words(name: str) -> frozenset[str]:
    """The words of a name without those of a phase, if it has others: "rec" for "train_rec" and "val_rec"."""
    words = name_words(name)
    return words - aliases.OF_TRAINING - aliases.OF_EVALUATION or words


def are_sizes(name: str, values: Collection[float]) -> bool:
    """Whether values are numbers of parameters or of training samples, each of another model."""
    named = _SIZE.fullmatch(plain(name)) is not None
    return named and len({*values}) == len(values) and not any(value % 1 for value in values)


def is_whole_reward(name: str) -> bool:
    """Whether no word of a reward says which term of it, or which player's, it is."""
    others = re.sub(aliases.REWARDED, "", plain(name)).split()
    known = aliases.OF_WHOLE_REWARDS | aliases.OF_EVALUATION
    return known.issuperset(word for word in others if not word.isdigit())


def whole_rewards(rewards: list[str]) -> list[str]:
    """The rewards without the terms that a whole is made of, if both are logged: several that differ in other
    words than those of a whole alone (`Episode/rew_torques`, `Episode/rew_collision`)."""
    words = {name: frozenset(word for word in name_words(name) if not word.isdigit()) for name in rewards}
    shared = {name: own & aliases.OF_WHOLE_REWARDS for name, own in words.items()}
    others = [name for name in rewards if shared[name] < words[name]]
    families = [family for family, n in Counter(shared[name] for name in others).items() if n > 1]
    terms = [name for name in others if any(family <= shared[name] for family in families)]
    return [name for name in rewards if name not in terms] if len(others) < len(rewards) else rewards
