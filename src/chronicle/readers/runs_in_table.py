"""Finds the runs, phases and losses in a table, by its columns and by the name of its file.

Several runs in one table are told apart by a column that names them, or by names of columns; long tables are
made wide. What a column `mode`, `phase` or `split` calls an evaluation says so in its name then, and stands
where the training was. A table in which nothing counts may hold results, a row for each configuration or
item, on the axis "item". Where a table does not name its columns, the name of the file does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import BadLog
from chronicle.metrics import aliases, names
from chronicle.metrics.aliases import MEANS, OF_EVALUATION, OF_PHASES, OF_TRAINING, TIME_NAMES, word_set
from chronicle.metrics.arithmetic import any_numbers, median
from chronicle.metrics.names import LOSSES, MEASURES, name_words, names_a_loss, plain, role_of, says_nothing
from chronicle.metrics.values import distinct_names
from chronicle.model import Attempt, Role, Steps
from chronicle.readers import items
from chronicle.readers.columns import Table, attempt_of, columns_of
from chronicle.readers.step_axis import (
    NO_COLUMN,
    Column,
    column_key,
    counted_by,
    is_counter,
    last_word,
)
from chronicle.readers.text import Head, clean

_FITNESS = {"best", "avg", "average", "mean", "max", "min"}
OF_BOTH = {Role.LEARNING_RATE, Role.EPOCH, Role.BATCH_SIZE, Role.TOKENS, Role.SAMPLES, Role.LOSS_SCALE}
EXTREMES = ("__MIN", "__MAX")  # columns beside each metric in a W&B export, whose names begin with the run

_ASIDE = word_set("time elapsed seconds sec s minutes duration n id index seed")
_OF_RUNS, _OF_SETTINGS = "results of runs", "settings of runs"  # columns of their names
_TRIAL = "trial"  # the fact that tells apart several trainings of one run
_MOST_NAMED = 3  # columns that tell results apart
_VALUE = frozenset(("value", "values", "data", "y", "0"))  # "0" is what pandas calls a column without a name

Columns = Mapping[str, Column]
Cells = TypeVar("Cells")  # of a column, as the reader of a log keeps them


@any_numbers
def attempts_of(table: Table) -> list[Attempt]:
    """Makes an attempt of each run or trial in a table that holds a number; it is called `<file>: <run>` if
    there are several. Raises BadLog if no run holds a number."""
    by_run = runs_of(table)
    attempts, problems = list[Attempt](), list[BadLog]()
    for run, columns in by_run.items():
        facts = {"run": run, **table.facts} if run and _TRIAL not in columns else table.facts
        own = replace(table, columns=columns, facts=facts)
        if len(by_run) > 1 or _OF_RUNS in columns:  # its own rows alone are counted
            rows = np.unique(np.concatenate([NO_COLUMN.rows, *(column.rows for column in columns.values())]))
            columns = {n: Column(c.values, np.searchsorted(rows, c.rows)) for n, c in columns.items()}
            name = f"{table.path.name}: {run}" if len(by_run) > 1 else ""
            own = replace(own, n_rows=len(rows), columns=columns, name=name)
        try:
            attempts.append(_course_or_items(own))
        except BadLog as problem:
            problems.append(problem)
    if not attempts:
        raise problems[0]
    return attempts


def names_of_runs(table: Table) -> list[str]:
    """The names of the runs in a table, which are the fact "run" of their attempts; [] if it holds one."""
    return [run for run, columns in runs_of(table).items() if run and _TRIAL not in columns]


@dataclass(frozen=True)
class TableReader:
    """A reader of files that hold one table each, in which ``table`` finds the columns. Raises BadLog where
    that does, or if no column holds a number."""

    identify: Callable[[Head], bool]
    table: Callable[[Path], Table]

    def read(self, path: Path) -> list[Attempt]:
        """An attempt for each run."""
        return attempts_of(self.table(path))

    def runs(self, path: Path) -> list[str]:
        """The names of the runs; [] if the table holds one."""
        return names_of_runs(self.table(path))


def _course_or_items(table: Table) -> Attempt:
    """The attempt of a table, on the axis "item" if its rows are results of configurations or of items. If
    steps without an order, or all the same, seem to count the rows, only numbers of items say so."""
    columns, n_rows = table.columns, table.n_rows
    table = replace(table, columns=by_phase(columns))
    if items.are_episodes_of_evaluation(columns, table.facts):
        return attempt_of(replace(table, rows_are="episodes of an evaluation"))
    if items.are_steps_of_episode(columns):
        return attempt_of(replace(table, rows_are="the steps of one episode"))
    attempt = _of_generations(attempt_of(table))
    names = [_OF_RUNS] if _OF_RUNS in columns else items.predictions(columns)
    names = names or items.grid_columns(columns, n_rows) or items.evaluated_episodes(table.path, columns)
    steps = max((series.steps for series in attempt.series.values()), key=len)
    n_moves, n_down = (np.count_nonzero(way(steps[1:], steps[:-1])) for way in (np.not_equal, np.less))
    if not names and attempt.axis == "row":
        names = items.item_columns(columns, n_rows)
    elif not names and (4 * n_down > n_moves or not n_moves):
        names = [name for name in items.item_columns(columns, n_rows) if items.ITEM.fullmatch(plain(name))]
    if not names:
        return attempt
    rows_are = f"configurations or items ({', '.join(map(clean, names[:_MOST_NAMED]))})"
    return attempt_of(replace(table, rows_are=rows_are))


def _of_generations(attempt: Attempt) -> Attempt:
    """The attempt, with the roles of what an evolution logs where its steps are generations."""
    if attempt.called != "generation":
        return attempt
    series = attempt.series
    roles = roles_by_program({n: (s.values, s.steps) for n, s in series.items()}, attempt.called)
    return replace(attempt, series={n: replace(s, role=roles.get(n, s.role)) for n, s in series.items()})


def places_rows(name: str) -> bool:
    """Whether a column of this name says where its rows belong: their step, clock, run, phase or metric."""
    return is_counter(name) or column_key(name) in items.PLACES


# --- runs ---


@any_numbers
def runs_of(table: Table) -> dict[str, dict[str, Column]]:
    """Splits columns by run, in the order in which the runs first come; a run that nothing names is called
    "". Runs are told apart by a column of ids or names, by columns of settings, by what a W&B export puts
    before its metrics, or by columns that only the name of the file calls losses. Trials of one run are split
    as well. A long table (metrics beside values) becomes a wide one, and one result of each of several runs a
    single table."""
    columns = table.columns
    by_key = {column_key(name): name for name in columns}
    keys = [by_key[key] for key in dict.fromkeys((*aliases.ID_NAMES, *aliases.RUN_NAMES)) if key in by_key]
    keys = [name for name in keys if items.names_runs(columns[name])]
    if not keys and (courses := items.courses_in(columns)):
        columns = {name: column for name, column in columns.items() if name not in courses.keys}
        if courses.of_one:
            return by_file(table.path, _beside_each_other(columns, courses))
        columns[_OF_SETTINGS] = courses.labels
        columns |= {} if courses.are_runs else {_TRIAL: courses.labels}
        keys = [_OF_SETTINGS]
    value = next((by_key[key] for key in aliases.VALUE_NAMES if key in by_key), "")
    runs = _split(columns, keys) if keys else _exported(columns)
    if value and not columns[value].is_text and (metrics := _metrics(columns, by_key)):
        runs = {run: _widened(of_run, metrics, value) for run, of_run in runs.items()}
    elif list(runs) == [""]:
        return by_file(table.path, dict(columns))
    return {"": _results_of(runs)} if _are_results(runs) else runs


def _are_results(runs: Mapping[str, Columns]) -> bool:
    """Whether each of several runs has one result of each metric, and no course."""
    n_rows = sum(max((len(c.rows) for c in of_run.values()), default=0) for of_run in runs.values())
    if len(runs) < items.FEWEST_ITEMS or not 0 < n_rows <= items.LARGEST_GRID:
        return False
    return all(len(set(c.values.tolist())) == 1 for of_run in runs.values() for c in of_run.values())


def _results_of(runs: Mapping[str, Columns]) -> dict[str, Column]:
    """A table with a row for each run, of its results."""
    results = ({n: c.values.tolist()[0] for n, c in of_run.items()} for of_run in runs.values())
    return columns_of({_OF_RUNS: run, **result} for run, result in zip(runs, results, strict=True))


def _metrics(columns: Columns, by_key: Mapping[str, str]) -> list[str]:
    """The columns of text that name the metric in a long table, the whole first; those that vary."""
    texts = {key: name for key, name in by_key.items() if columns[name].is_text}
    of_metrics = [texts[key] for key in aliases.METRIC_NAMES if key in texts]
    of_parts = [texts[key] for key in aliases.PART_NAMES if key in texts]
    telling = [name for name in columns if name in of_metrics and len(set(columns[name].values)) > 1]
    return (telling or of_metrics[:1]) + of_parts


def _exported(columns: Columns) -> dict[str, dict[str, Column]]:
    """Splits the columns of a W&B export by run: they are named ``<run> - <metric>``, with __MIN and __MAX
    beside them. The first column of no run is the axis of the chart, and counts the steps, whatever its name
    is."""
    logged = {name: c for name, c in columns.items() if not name.endswith(EXTREMES)}
    if len(logged) == len(columns):
        return {"": logged}
    runs: dict[str, dict[str, Column]] = {}
    shared = {name: c for name, c in logged.items() if " - " not in name}
    if shared:
        name, column = next(iter(shared.items()))
        is_known = is_counter(name) or _is_aside(name, column)
        if not is_known and not (column.values % 1).any() and (np.diff(column.values) > 0).all():
            shared["_step"] = shared.pop(name)
    for name, column in logged.items():
        run, dash, metric = name.rpartition(" - ")
        if dash:
            runs.setdefault(run, dict(shared)).setdefault(metric, column)
    return runs or {"": logged}


def _split(columns: Columns, keys: Sequence[str]) -> dict[str, dict[str, Column]]:
    """Splits the other columns by run. If ids stand beside names, they tell apart runs of the same name."""
    codes, ids = items.codes_of(columns[keys[0]], _n_rows(columns))
    labels = ids
    if len(keys) > 1:
        name = columns[keys[-1]]
        names = dict(zip(name.rows.tolist(), name.values.tolist(), strict=True))
        first = dict(zip(*map(np.ndarray.tolist, np.unique(codes, return_index=True)), strict=True))
        given = [str(names.get(first.get(i, -1), run_id)) for i, run_id in enumerate(ids)]
        labels = [*distinct_names(zip(ids, given, strict=True)).values()]
    codes[codes < 0] = len(labels)  # rows that name no run
    labels = [*labels, ""]
    by_label = {name: _parts(c, codes, len(labels)) for name, c in columns.items() if name not in keys}
    by_run = dict[str, dict[str, Column]]()
    for i, label in enumerate(labels):
        by_run[label] = {name: of_runs[i] for name, of_runs in by_label.items() if len(of_runs[i].rows)}
    return {label: of_run for label, of_run in by_run.items() if label or of_run}


def _n_rows(columns: Columns) -> int:
    return 1 + max(int(c.rows.max(initial=-1)) for c in columns.values())


def _parts(column: Column, codes: NDArray[np.int64], n_parts: int) -> list[Column]:
    code = codes[column.rows]
    order = np.argsort(code, kind="stable")
    places = np.split(order, np.searchsorted(code[order], np.arange(n_parts)))[1:]  # without rows below 0
    return [Column(column.values[at], column.rows[at]) for at in places]


def _beside_each_other(columns: Columns, courses: items.Courses) -> dict[str, Column]:
    """A table in which the courses that take turns stand beside each other, a row for each of their steps.
    The name of a course is put before its metrics; what is the same in all (the learning rate) stays one
    column, as do counters and clocks."""
    n_rows, steps = len(courses.steps), courses.steps
    codes, labels = items.codes_of(courses.labels, n_rows)
    own = np.unique(np.column_stack([codes, steps]), axis=0, return_inverse=True)[1].ravel()
    order, nth = np.argsort(own, kind="stable"), np.empty(n_rows)
    nth[order] = np.arange(n_rows) - np.searchsorted(own[order], own[order])  # of the same step, of a course
    places = np.unique(np.column_stack([steps, nth]), axis=0, return_index=True, return_inverse=True)
    rows = np.sort(places[1])[places[2].ravel()]
    wide = dict[str, Column]()
    for name, column in columns.items():
        order = np.argsort(rows[column.rows], kind="stable")
        moved = Column(column.values[order], rows[column.rows][order])
        is_first = np.diff(moved.rows, prepend=-1) > 0
        is_same = is_first[1:] | (moved.values[1:] == moved.values[:-1])
        if is_same.all() or is_counter(name) or column_key(name) in TIME_NAMES:
            wide[name] = moved.where(is_first)
            continue
        code = codes[column.rows][order]
        parts = {f"{label}/{name}": moved.where(code == k) for k, label in enumerate(labels)}
        wide |= {metric: part for metric, part in parts.items() if len(part.rows)}
    return wide


def _widened(columns: Columns, metrics: Sequence[str], value: str) -> dict[str, Column]:
    """Converts a long table to a wide one, with a column for each name in its columns ``metrics``, joined
    with "/"."""
    if value not in columns or not any(name in columns for name in metrics):
        return dict(columns)
    n_rows = _n_rows(columns)
    codes, wide = items.codes_of(
        _joined([columns[name] for name in metrics if name in columns], n_rows), n_rows
    )
    wide_columns = dict(zip(wide, _parts(columns[value], codes, len(wide)), strict=True))
    return {name: c for name, c in columns.items() if name not in (*metrics, value)} | wide_columns


def _joined(texts: Sequence[Column], n_rows: int) -> Column:
    if len(texts) == 1:
        return texts[0]
    names = np.full(n_rows, "", object)
    for column in texts:
        names[column.rows] += np.where(names[column.rows] == "", "", "/").astype(object) + column.values
    rows = np.flatnonzero(names != "")
    return Column(names[rows], rows)


# --- phases ---


def by_phase(columns: Columns) -> dict[str, Column]:
    """Moves what was measured in an evaluation into columns of its own, if a column of text names phases. A
    word that names none, as damage makes them, is kept as a phase of its own."""
    may_tell = ((n, c) for n, c in columns.items() if c.is_text or column_key(n).startswith("is_"))
    by_column = ((n, items.phases_in(n, c)) for n, c in may_tell)
    name, phases = next((pair for pair in by_column if pair[1]), ("", []))
    if not phases:
        return _by_keys(columns)
    others, words = {key: column for key, column in columns.items() if key != name}, np.array(phases)
    rows = {word: columns[name].rows[words == word] for word in dict.fromkeys(words.tolist())}
    training = np.concatenate([rows[word] for word in rows if word in OF_TRAINING])
    evaluated = {word: of_word for word, of_word in rows.items() if word in OF_EVALUATION}
    aside = {word: of_word for word, of_word in rows.items() if word not in OF_TRAINING}
    has_epochs, split = any(column_key(key) == "epoch" for key in others), dict[str, Column]()
    for key, column in others.items():
        if is_counter(key):
            is_in_epoch = has_epochs and column_key(key) != "epoch"
            split[key] = _without(column, evaluated, training) if is_in_epoch else column
        elif items.names_an_evaluation(key) or role_of(key) in OF_BOTH:
            split[key] = column
        else:
            parts = {key: column.only(training)}
            parts |= {f"{word}/{key}": column.only(of_word) for word, of_word in aside.items()}
            split |= {metric: part for metric, part in parts.items() if len(part.rows)}
    return split


def _by_keys(columns: Columns) -> dict[str, Column]:
    """Puts `val/` in front of what rows of another table share with those of a training. mmengine writes
    `iter` and `step` in a training, and in an evaluation behind it `step` alone, which may be the epoch: such
    rows lack a counter that repeats another one, a loss and a learning rate."""
    counters = {n: c for n, c in columns.items() if counted_by(n) == "step" and not c.is_text}
    for (_, own), (name, counter) in permutations(counters.items(), 2):
        rows = counter.rows[~np.isin(counter.rows, own.rows)]
        behind = len(rows) and len(own.rows) and rows[0] > own.rows[0]
        if not behind or not np.array_equal(counter.only(own.rows).values, own.values):
            continue
        steering = (c.rows for n, c in columns.items() if role_of(n) in (*LOSSES, Role.LEARNING_RATE))
        rows = rows[~np.isin(rows, np.concatenate([NO_COLUMN.rows, *steering]))]
        apart = {name: _without(counter, {"val": rows}, own.rows)}
        for metric, column in columns.items():
            evaluated, training = column.only(rows), column.only(own.rows)
            if len(evaluated.rows) and len(training.rows) and not is_counter(metric):
                apart |= {metric: training, f"val/{metric}": evaluated}
        return {**columns, **apart}
    return dict(columns)


def _without(column: Column, evaluated: Mapping[str, Steps], training: Steps) -> Column:
    """A counter without the rows of evaluations that do not continue it, as these stand where the training
    was. An evaluation within an interval of the training's rows says where an epoch ended."""
    own = column.only(training)
    of_evaluation = column.only(np.concatenate(list(evaluated.values())))
    forward = np.diff(own.values)
    before = np.searchsorted(own.rows, of_evaluation.rows) - 1
    if not np.any(forward > 0):
        return column
    ahead = of_evaluation.values - own.values[before]
    goes_on = (before < 0) | ((ahead >= 0) & (ahead < median(forward[forward > 0])))
    return column.where(~np.isin(column.rows, of_evaluation.rows[~goes_on]))


# --- names of files ---


@lru_cache(maxsize=64)
def loss_of(path: Path) -> str:
    """The name of a file without its suffix, if it is that of a loss; "" for any other file."""
    return path.stem if names_a_loss(path.stem) else ""


def curve_named_by(path: Path) -> str:
    """The name of a file without its suffix, if it is that of a loss or a reward; "" for any other file."""
    return loss_of(path) or (path.stem if role_of(path.stem) is Role.OBJECTIVE else "")


def by_file(path: Path, columns: dict[str, Column]) -> dict[str, dict[str, Column]]:
    """Columns by run, if the name of the file alone says that they are losses; else one run "". Several
    columns whose names say nothing are a run each, since parts of one training have names."""
    if role_of(path.stem) in MEASURES:  # alone, `train` and `val` are those of a loss
        columns = {f"{path.stem}/{n}" if plain(n) in OF_PHASES else n: c for n, c in columns.items()}
    columns = held_out_by_file(path, columns)
    loss = loss_of(path)
    metrics = [name for name in columns if not is_counter(name)] if loss else []
    if not loss or any(map(names_a_loss, metrics)):
        return {"": columns}
    silent = [name for name in metrics if role_of(name) is Role.OTHER and not _is_aside(name, columns[name])]
    if len(silent) > 1 and len(silent) == len(metrics) and all(map(says_nothing, silent)):
        shared = {name: column for name, column in columns.items() if name not in silent}
        return {name: {**shared, loss: columns[name]} for name in silent}
    is_alone = len(silent) == 1 and column_key(silent[0]) in _VALUE
    named = {name: loss if is_alone else f"{loss}/{name}" for name in silent}
    return {"": {named.get(name, name): column for name, column in columns.items()}}


def held_out_by_file(path: Path, columns: Mapping[str, Cells]) -> dict[str, Cells]:
    """Columns by name, with the word of the evaluation that the name of their file tells in front of what was
    measured in it."""
    words = plain(path.stem).split()
    word = next((word for word in words if word in OF_EVALUATION), "")
    if not word or not (_are_held_out(words, columns) or _lies_beside_training(path, word)):
        return dict(columns)
    own = {n for n in columns if is_counter(n) or _tells_phase(n) or role_of(n) in OF_BOTH}
    return {n if n in own else f"{word}/{n}": column for n, column in columns.items()}


def roles_by_program(columns: Mapping[str, tuple[Any, Any]], counter: str) -> dict[str, Role]:
    """The roles of metrics whose names only make sense in the lines of one program; each has its values."""
    roles = dict[str, Role]()
    if (learn := columns.get("learn")) and learn[0][-1] > learn[0][0]:
        # CatBoost names no metric, but each of its trees fits the training data better: what rises is a score
        roles |= {"learn": Role.SCORE, "test": Role.VALIDATION_SCORE}
    if names.called(counter) == "generation":  # whose best and mean are the objective
        kinds = {name: kind for name in columns if (kind := _of_population(name))}
        roles |= {name: Role.OBJECTIVE for name, kind in kinds.items() if kind != "min"}
        # A first generation is made at random: what ends below it, its least value too, is made small.
        falls = {kind for name, kind in kinds.items() if columns[name][0][-1] < columns[name][0][0]}
        if "min" in falls and falls & {*MEANS}:
            roles |= {name: Role.LOSS if kind in MEANS else Role.OTHER for name, kind in kinds.items()}
    return roles


def _of_population(name: str) -> str:
    """What of the fitness of a population a column holds: its mean, or its best or least value; "" for
    another column."""
    words = name_words(name) - {"score", "f"}  # of pymoo: `f_avg`
    kinds = {last_word(name)} & _FITNESS or (words if words <= _FITNESS else set())
    return next(iter(sorted(kinds)), "")


def _tells_phase(name: str) -> bool:
    """Whether the name of a metric says that it is of an evaluation, or of the training."""
    return items.names_an_evaluation(name) or not OF_TRAINING.isdisjoint(name_words(name))


def _are_held_out(words: Sequence[str], names: Iterable[str]) -> bool:
    """Whether a file of such a name (`val_loss.txt`) holds a loss whose own name does not say that it is held
    out, and nothing of the training."""
    is_loss = "loss" in words and OF_TRAINING.isdisjoint(words)
    return is_loss and not any(map(_tells_phase, names)) and any(map(names_a_loss, names))


def _lies_beside_training(path: Path, word: str) -> bool:
    """Whether a file that is named alike, but after the training in place of this evaluation, lies beside it:
    val.jsonl and train.jsonl, test_log.txt and train_log.txt. A folder of many files is not listed."""
    for written in (str.lower, str.capitalize, str.upper):
        own = re.compile(rf"(?<![A-Za-z]){written(word)}(?![a-z])")
        names = {own.sub(written(training), path.stem, count=1) for training in OF_TRAINING} - {path.stem}
        if any(os.path.isfile(path.parent / f"{name}{path.suffix}") for name in names):
            return True
    return False


def _is_aside(name: str, column: Column) -> bool:
    """Whether a column holds texts, a clock or a count. Only the name decides, as it stays when a log
    grows."""
    return column.is_text or column_key(name) in TIME_NAMES or bool(name_words(name) & _ASIDE)
