"""Finds what the rows of a table are: of several courses, of phases, or no steps of a training but results of
configurations, items of a data set, moments of a simulation, or episodes of an evaluation.

Each function returns the columns that show it, and [] if the rows may be the course of a training.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.metrics import aliases
from chronicle.metrics.aliases import OF_EVALUATION, OF_PHASES, OF_TRAINING, TIME_NAMES, word_set
from chronicle.metrics.arithmetic import median
from chronicle.metrics.names import (
    JUDGED,
    LOSSES,
    are_sizes,
    is_of_one_episode,
    name_words,
    names_a_loss,
    plain,
    role_of,
)
from chronicle.metrics.values import moment
from chronicle.model import Role
from chronicle.readers.columns import iso_seconds
from chronicle.readers.step_axis import (
    ITS_NUMBER,
    Column,
    column_key,
    counters_of,
    is_counter,
    names_one_of,
)

# Columns that say where a row belongs; roles of what is measured.
_OF_RUN = (*aliases.ID_NAMES, *aliases.RUN_NAMES, *aliases.PHASE_NAMES)
PLACES = frozenset((*TIME_NAMES, *aliases.METRIC_NAMES, *aliases.PART_NAMES, *_OF_RUN))

FEWEST_ITEMS = 3  # rows of results
_RANKED = 8  # rows whose order is no chance
LARGEST_GRID = 10_000  # rows of a table of results
_NUMBER_OF = re.compile(r"^(?:n|num|number_of|max)_")
_A_WORD = re.compile(r"[^\W\d_]{2}")
_COUNTING = "epoch|ep|step|iter|iteration|checkpoint|ckpt|batch|round|episode"
_COUNTED = re.compile(rf"(?i)(?<![a-z])(?:{_COUNTING})s?(?![a-z])")
_FLAGS = frozenset(("true", "false", "yes", "no", "none", "nan"))
_PLACE = frozenset(("id", "idx", "index"))  # in a data set, or of a row
# What stays as it is while one model is trained, in plain words; and numbers of items, not of processes.
SETTING = re.compile(
    r"(?:hidden|embedding|embed|latent) (?:size|dim|width|units)|(?:(?:n|num) )?(?:layers|heads|units)"
    r"|width|depth|horizon|seed|dropout|weight decay"
)
ITEM = re.compile(
    r"name|(?!(?:batch|step|epoch|episode|iter|iteration|round|gpu|rank|worker|process|env|device)\b)\w+ id"
    r"|(?:trial|config|configuration|(?:cv )?fold|member|repeat)(?: (?:no|number|index))?|(?:random )?seed"
)
_FEWEST_MOMENTS, _LEAST_DISTANCE_S = 16, 900.0  # a training may log each minute, as its clock has no seconds
_FEWEST_SETTINGS = 3  # two numbers may count the rows: a cycle and what is in it
# What a model says of an item, and what is so.
_PREDICTED = re.compile(r"(?:y )?pred(?:s|icted|ictions?)?(?: (?:class|label|value)s?)?")
_TRUE = re.compile(r"(?:(?:y )?true|actual|ground truth)(?: (?:class|label|value)s?)?|labels?|targets?")

# Whole numbers under these names say of which course a row is; the second ones, of which training.
_OF_COURSE = re.compile(
    r"(?:\w+ )?(?:agent|algo(?:rithm)?|client|config|domain|env(?:ironment)?|exp(?:eriment)?|fold|group|layer"
    r"|member|method|model|node|participant|party|peer|player|repeat|repetition|replica|seed|simulation"
    r"|site|subject|task|trial|user|variant)(?: (?:id|idx|index|no|num|number))?"
)
_OF_TRAININGS = word_set("""
    algo algorithm config exp experiment fold method model optimizer repeat repetition replica seed simulation
    trial variant
""")
_MOST_IN_TURNS = 256  # courses of one training
_FEWEST_BACK = {np.less_equal: 0.45, np.less: 0.0}  # share of the rows that go back, if there are several

Columns = Mapping[str, Column]


@dataclass(frozen=True)
class Courses:
    """How the rows of a table belong to several courses: the columns that say so (``keys``), what they call
    the course of each row, and the steps. The courses are runs, each under a text, or trials (folds, seeds)
    of one run; or those of one training (``of_one``), such as clients, whose rows take turns."""

    keys: tuple[str, ...]
    labels: Column
    steps: NDArray[Any]
    are_runs: bool
    of_one: bool


def courses_in(columns: Columns) -> Courses | None:
    """How several courses are told apart; None for a single one. Texts (model, data set), and numbers whose
    names say so (fold, client), tell if a counter that mostly stays always grows beside each of them, or if
    one that falls never does; as few are taken as do. A course has more than three rows on average. Blind to
    a resume within a course; a text that changes at a resume (the machine) parts it."""
    n_rows = max((len(column.rows) for column in columns.values()), default=0)
    filled = {name: column for name, column in columns.items() if len(column.rows) == n_rows}
    numbers = {name: column for name, column in filled.items() if not column.is_text}
    anything = (column.values for column in numbers.values() if _begins_again(column.values))
    ways = [*product(chain(counters_of(numbers).values(), anything), _FEWEST_BACK)]
    ways = [(steps, way) for steps, way in ways if _n_back(steps, way) > _FEWEST_BACK[way] * n_rows]
    may_tell = {name: c for name, c in filled.items() if ways and _may_name_courses(name, c)}
    coded = {name: codes_of(column, n_rows)[0] for name, column in may_tell.items()}
    coded = {name: codes for name, codes in coded.items() if n_rows > FEWEST_ITEMS * (codes.max() + 1)}
    for steps, way in ways:
        chosen, codes = _telling(steps, way, coded)
        n_courses = int(codes.max()) + 1
        if not chosen or n_rows <= FEWEST_ITEMS * n_courses:
            continue
        take_turns = int(np.count_nonzero(np.diff(codes))) >= n_courses
        are_runs = any(filled[name].is_text for name in chosen)
        if are_runs and not take_turns:  # all that says which run it is; the timeline parts trials of a run
            chosen = [n for n, own in coded.items() if len({*zip(codes, own, strict=True)}) == n_courses]
            chosen = [n for n in chosen if filled[n].is_text or SETTING.fullmatch(plain(n))]
        names = [name for name in filled if name in chosen and coded[name].any()]
        labels = map("/".join, zip(*(_labels(name, filled[name]) for name in names), strict=True))
        of_one = take_turns and n_courses <= _MOST_IN_TURNS
        of_one &= not any(_OF_TRAININGS & name_words(name) for name in names)
        column = Column(np.array([*labels], object), np.arange(n_rows))
        return Courses(tuple(names), column, steps, are_runs, of_one)
    return None


def _telling(
    steps: NDArray[Any], way: np.ufunc, coded: Mapping[str, NDArray[np.intp]]
) -> tuple[list[str], NDArray[np.intp]]:
    """The columns, by their codes, beside whose joint values steps do not go back in this way, and the codes
    of these; none if the steps go back anyway."""
    chosen, codes, n_back = list[str](), np.zeros(len(steps), np.intp), _n_back(steps, way)
    while n_back:
        joint = {name: codes * len(steps) + own for name, own in coded.items() if name not in chosen}
        n_left = {name: _n_back(steps, way, both) for name, both in joint.items()}
        if (least := min(n_left.values(), default=n_back)) == n_back:
            return [], codes
        chosen.append(next(name for name, n in n_left.items() if n == least))
        codes, n_back = np.unique(joint[chosen[-1]], return_inverse=True)[1], least
    return chosen, codes


def _n_back(steps: NDArray[Any], way: np.ufunc, codes: NDArray[np.intp] | None = None) -> int:
    """How often steps fall, or stay as well, from row to row of each course."""
    order = np.arange(len(steps)) if codes is None else np.argsort(codes, kind="stable")
    within = True if codes is None else np.diff(codes[order]) == 0
    return int(np.count_nonzero(way(steps[order][1:], steps[order][:-1]) & within))


def _may_name_courses(name: str, column: Column) -> bool:
    if column.is_text:
        return column_key(name) not in PLACES and not phases_in(name, column)
    named = _OF_COURSE.fullmatch(plain(name)) or SETTING.fullmatch(plain(name))
    return named is not None and names_runs(column)


def codes_of(column: Column, n_rows: int) -> tuple[NDArray[np.int64], list[str]]:
    """The number of the text in each row (-1: none), and the texts in the order in which they first come."""
    order: dict[Any, int] = {}
    cells = column.values if column.is_text else column.values.astype(np.int64)
    codes = np.full(n_rows, -1, np.int64)
    codes[column.rows] = [order.setdefault(cell, len(order)) for cell in cells.tolist()]
    return codes, [str(text) for text in order]


def _labels(name: str, column: Column) -> list[str]:
    """What the cells of a column call the course of each row."""
    cells, word = column.values.tolist(), ITS_NUMBER.sub("", plain(name))
    return cells if column.is_text else [f"{word} {cell:g}" for cell in cells]


def may_hold_runs(*rows: Mapping[str, Any]) -> bool:
    """Whether the first rows of a table and its last one may be of several runs: a text that is no date is
    not the same in all. Numbers tell trainings of one run apart."""
    differ = (n for n, cell in rows[0].items() if any(row.get(n, cell) != cell for row in rows[1:]))
    texts = {n for row in rows for n, cell in row.items() if isinstance(cell, str) and not moment(cell)}
    return any(name in texts and column_key(name) not in PLACES for name in differ)


def _begins_again(values: NDArray[Any]) -> bool:
    """Whether values go up by 1 and begin again at the first one: steps under a name that is not known."""
    if len(values) < 2 or values[1] - values[0] != 1:  # of nearly all of 100,000 columns
        return False
    return bool(((np.diff(values) == 1) | (values[1:] == values[:1])).all())


def names_runs(column: Column) -> bool:
    """Whether the cells name runs: texts, or whole numbers (seeds) that come again and again."""
    values = column.values
    if column.is_text or not len(values):
        return bool(len(values))
    are_whole = np.isfinite(values).all() and np.all(values == np.floor(values))
    return bool(are_whole) and 2 * len(np.unique(values)) <= len(values) + 1


def phases_in(name: str, column: Column) -> list[str]:
    """The word for its phase in each cell of a column that tells them apart, as a flag does (`is_validation`)
    or one of texts: of any name where it holds nothing else; [] for any other column."""
    is_flag, phase = (key := column_key(name)).startswith("is_"), key.removeprefix("is_")
    if not (phase in OF_PHASES if is_flag else column.is_text):
        return []
    texts = (str(word).strip().lower() for word in column.values)
    words = [next(filter(OF_PHASES.__contains__, re.split(r"[\W_]+", text)), text) for text in texts]
    if is_flag:
        other = "train" if phase in OF_EVALUATION else "val"
        of_flag = {"true": phase, "1": phase, "1.0": phase, "false": other, "0": other, "0.0": other}
        words = [of_flag.get(word, "") for word in words]
    known = Counter(word for word in words if word in OF_PHASES)
    both = known.keys() & OF_TRAINING and known.keys() & OF_EVALUATION
    enough = len(words) // 2 + 1 if is_flag or phase in aliases.PHASE_NAMES else len(words)
    return words if both and known.total() >= enough else []


def grid_columns(columns: Columns, n_rows: int) -> list[str]:
    """The settings in a table with a few results of each of several trainings, say after 10, 50 and 100
    epochs; [] for any other table. Its steps begin again and again, and a setting changes where they do and
    nowhere else. No counter grows in every row of such a table."""
    if not FEWEST_ITEMS <= n_rows <= LARGEST_GRID:
        return []
    filled = {n: c.values for n, c in columns.items() if len(c.rows) == n_rows}
    if any(is_counter(n) and not columns[n].is_text and (c[1:] > c[:-1]).all() for n, c in filled.items()):
        return []
    for name, steps in filled.items():
        may_count = not columns[name].is_text and float(steps[0]).is_integer() and _may_count(name)
        if may_count and np.array_equal(steps, np.floor(steps)):
            begins = np.flatnonzero(steps[1:] <= steps[:-1]) + 1
            if _are_steps_of_grid(steps, begins):
                return [n for n, cells in filled.items() if n != name and is_setting(n, cells, begins)]
    return []


def _are_steps_of_grid(steps: NDArray[Any], begins: NDArray[np.intp]) -> bool:
    """Whether steps that begin again at these rows are those of several trainings in a table of results. One
    training would be logged from its first step on, at equal distances; but three rows are no log if the
    steps begin again that often."""
    is_size = 4 * len(begins) > 3 * len(steps)  # such as that of a batch, which hardly ever grows
    is_size |= 2 * len(np.unique(steps)) > len(steps)  # or the tokens of one: steps of a grid come again
    if len(begins) + 1 < FEWEST_ITEMS or is_size:
        return False
    longest = max(np.split(steps, begins), key=len)
    gaps = np.diff(longest)
    is_logged = longest[0] in (0, 1, *gaps[:1]) and bool((gaps == gaps[:1]).all())
    is_repeated = len(longest) <= FEWEST_ITEMS and len(begins) >= _RANKED
    return len(longest) < _RANKED and (is_repeated or not is_logged)


def _may_count(name: str) -> bool:
    return is_counter(name) or is_counter(_NUMBER_OF.sub("", column_key(name)))


def is_setting(name: str, cells: NDArray[Any], begins: NDArray[np.intp]) -> bool:
    """Whether the cells change only where the steps begin again, and each value comes again or stays."""
    if role_of(name) in JUDGED or _may_count(name) or column_key(name) in PLACES:
        return False
    changes = np.flatnonzero(cells[1:] != cells[:-1]) + 1
    stays = 2 * (len(begins) + 1) <= len(cells) or 2 * len(set(cells.tolist())) <= len(cells)
    return bool(len(changes) and np.isin(changes, begins).all() and stays)


def item_columns(columns: Columns, n_rows: int) -> list[str]:
    """The columns that say of which configuration or item each row of a table without a counter is; [] if
    none does. In a ranking, whose rows are sorted from the best loss or score on, as no training goes, whole
    numbers that come again are settings, whatever their names are."""
    of_episodes = any(names_one_of(name, aliases.LAUNCH_NAMES) for name in columns)
    if of_episodes and Role.OBJECTIVE in map(role_of, columns):
        return []  # episodes and what each of them was worth, perhaps in another world each time
    if names := [name for name, column in columns.items() if _names_items(name, column, n_rows)]:
        return names
    filled = {n: c.values for n, c in columns.items() if not c.is_text and len(c.values) == n_rows}
    is_ranking = n_rows >= _RANKED and any(_ranks(name, values) for name, values in filled.items())
    ranked = [name for name, values in filled.items() if is_ranking and _is_grid(values)]
    return ranked or crossed_settings(filled) or moments(columns)


def _ranks(name: str, values: NDArray[Any]) -> bool:
    """Whether no row is better by this column than the one before, and some are worse."""
    role = role_of(name)
    badness = values * (1.0 if role in LOSSES else -1.0)
    before, after = badness[:-1], badness[1:]  # compared, not subtracted: they may be infinite
    ordered = (after >= before).all() and 2 * np.count_nonzero(after > before) > len(values)
    return role in JUDGED and bool(ordered)


def _is_grid(values: NDArray[Any]) -> bool:
    """Whether a column holds few whole numbers, each of which comes again after others."""
    distinct, changes = len(np.unique(values)), int(np.count_nonzero(values[1:] != values[:-1]))
    return bool((values == np.round(values)).all()) and 1 < distinct <= min(changes, len(values) // 2)


def _names_items(name: str, column: Column, n_rows: int) -> bool:
    """Whether a column alone says of which configuration or item each row is, by texts that differ or by
    settings that no training changes. A column ``name`` only counts if nearly all of its texts differ."""
    cells = column.values.tolist()
    n_distinct = len(set(cells))
    is_place = column_key(name) in PLACES and not (name == "name" and 10 * n_distinct > 9 * n_rows)
    if n_rows < FEWEST_ITEMS or is_place or 2 * len(cells) < n_rows:
        return False
    # Settings come again after others, as in a grid; what changes once or twice is a phase of a training.
    n_changes = sum(a != b for a, b in pairwise(cells))
    comes_again = n_changes >= n_distinct > 1
    if column.is_text:
        are_enough = comes_again or (n_distinct > 1 and 4 * n_distinct >= n_rows)
        return are_enough and _are_items(set(map(str, cells)))
    was_drawn = plain(name) in _PLACE and any(a > b for a, b in pairwise(cells))
    is_item = (was_drawn or ITEM.fullmatch(plain(name)) is not None) and n_distinct == len(cells)
    is_setting = comes_again and SETTING.fullmatch(plain(name)) is not None
    return is_item or is_setting or are_sizes(name, cells)


def _are_items(texts: Collection[str]) -> bool:
    """Whether texts name things: most have a word, and few name a step (`model_epoch10.pt`) or are flags."""
    n_with_word = sum(_A_WORD.search(text) is not None for text in texts)
    n_steps = sum(_COUNTED.search(text) is not None for text in texts)
    return 2 * n_with_word > len(texts) >= 2 * n_steps and not {text.lower() for text in texts} <= _FLAGS


def predictions(columns: Columns) -> list[str]:
    """The columns of predictions and of true values in a table whose rows are items; [] if either is missing,
    if the table has no metric, or if a counter never falls: then each prediction belongs to a step."""
    perhaps = (name for name in columns if "pred" in name.lower())  # asked of each of 100,000 columns
    predicted = [name for name in perhaps if _PREDICTED.fullmatch(plain(name))]
    truth = [name for name in columns if _TRUE.fullmatch(plain(name))] if predicted else []
    if not truth:
        return []
    is_measured = any(role_of(name) is not Role.OTHER for name in columns)
    counted = counters_of(columns).values()
    is_course = any((steps[1:] >= steps[:-1]).all() for steps in counted)
    return [*predicted, *truth] if is_measured and not is_course else []


def moments(columns: Columns) -> list[str]:
    """The column of the moments at which rows were measured or simulated; [] if there is none. Its dates have
    equal distances of at least a quarter of an hour, but for days and hours that are left out."""
    for name, column in columns.items():
        dates = column.values.tolist() if column.is_text and len(column.values) >= _FEWEST_MOMENTS else []
        if not dates or iso_seconds(dates[:_FEWEST_MOMENTS]) is None or (times := iso_seconds(dates)) is None:
            continue
        gaps = np.diff(times)
        if (least := gaps.min()) >= _LEAST_DISTANCE_S and median(gaps) == least and not (gaps % least).any():
            return [name]
    return []


def crossed_settings(columns: Mapping[str, NDArray[Any]]) -> list[str]:
    """The first columns of a table of results, if they contain whole numbers and each combination of these
    once, as in a grid that was searched; [] for any other table."""
    settings = list[str]()
    n_combined = 1
    for name, values in columns.items():
        n_combined *= (n := len(np.unique(values)))
        settings.append(name)
        if n < 2 or n_combined > len(values) or (values % 1).any():
            return []
        if n_combined == len(values) and len(settings) >= _FEWEST_SETTINGS:
            rows = np.column_stack([columns[name] for name in settings])
            return settings if len(np.unique(rows, axis=0)) == len(rows) else []
    return []


def evaluated_episodes(path: Path, columns: Columns) -> list[str]:
    """The column that numbers the episodes of an evaluation, in a file that is named after an evaluation, or
    where nothing counts, those of what each episode came to; [] if there are none, or if another counter
    grows: then the agent is evaluated while it learns."""
    if not any(word.startswith("eval") for word in plain(path.stem).split()):
        return []
    counted = counters_of(columns)
    of_each = [name for name in columns if is_of_one_episode(name)]  # `episode_rewards`, `episode_lengths`
    if not counted and len(of_each) > 1 and Role.OBJECTIVE in map(role_of, of_each):
        return of_each
    growing = [name for name, values in counted.items() if len(values) > 1 and (np.diff(values) > 0).all()]
    each = all((np.diff(counted[name]) == 1).all() for name in growing)
    of_episodes = [name for name in growing if names_one_of(name, aliases.LAUNCH_NAMES)]
    return of_episodes if each and of_episodes == growing else []


_MODEL = re.compile(
    r"(?i)(?:best_|saved_)?(?:model|checkpoint|ckpt|policy|agent|weights)(?:_(?:path|file|dir))?"
)
_SAVED = re.compile(r"(?i)\w\.(?:zip|pth?|ckpt|safetensors|pkl|h5|keras|onnx|tar|bin)$")  # a file of weights
_OF_LEARNING = OF_TRAINING | {"timesteps", "epoch", "epochs", "lr", "learning", "iteration", "iterations"}
_ROUNDED = 0.005  # of a mean, that is logged with two decimals or more


def are_episodes_of_evaluation(columns: Columns, facts: Mapping[str, Any]) -> bool:
    """Whether rows without a loss are episodes of one evaluation. They are if a fact names the file of a
    saved model and nothing is of a training, or if all columns are results of an evaluation, none of them
    counts, and a fact states the mean of one."""
    if not facts or any(map(names_a_loss, columns)):
        return False
    saved = (_MODEL.fullmatch(name) and _SAVED.search(str(fact)) for name, fact in facts.items())
    if any(saved) and _OF_LEARNING.isdisjoint(chain.from_iterable(map(name_words, (*columns, *facts)))):
        return True
    if not all(map(names_an_evaluation, columns)) or any(map(is_counter, columns)):
        return False
    means = [fact for name, fact in facts.items() if isinstance(fact, float) and "mean" in name_words(name)]
    own = [float(c.values.mean()) for c in columns.values() if not c.is_text and len(c.values)]
    return any(abs(mean - fact) <= _ROUNDED * max(abs(fact), 1.0) for fact in means for mean in own)


_ENDS_EPISODE = frozenset(("done", "dones", "terminal", "terminated", "game over"))
_NO, _YES = frozenset(("false", "0", "0.0")), frozenset(("true", "1", "1.0"))


def are_steps_of_episode(columns: Columns) -> bool:
    """Whether rows with a reward are the steps of one episode: a column says in the last row alone that it is
    over."""
    if Role.OBJECTIVE not in map(role_of, columns):
        return False
    ends = (column.values.tolist() for name, column in columns.items() if plain(name) in _ENDS_EPISODE)
    told = [[str(cell).lower() for cell in cells] for cells in ends if len(cells) >= FEWEST_ITEMS]
    return any(last in _YES and _NO.issuperset(cells) for *cells, last in told)


@lru_cache(maxsize=4096)
def names_an_evaluation(name: str) -> bool:
    """Whether a word of a metric's name says that it was measured in an evaluation."""
    return bool(OF_EVALUATION & set(re.split(r"[\W_]+", name.lower())))
