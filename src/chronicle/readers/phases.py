"""Rows of a table that say of which phase they are: a column `mode`, `phase` or `split` with train and val.

    {"mode": "train", "epoch": 1, "iter": 150, "loss": 2.5}
    {"mode": "val", "epoch": 1, "iter": 625, "mAP": 0.2}        of OpenMMLab; `iter` counts the evaluation

What was measured in an evaluation says so in its name then, and stands where the training was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from chronicle.metrics.roles import role_of
from chronicle.model import Role, Steps
from chronicle.readers import tables
from chronicle.readers.tables import Column

PHASE_NAMES = ("mode", "phase", "split", "stage", "subset")
TRAINING = {"train", "training"}
OF_BOTH = {Role.LEARNING_RATE, Role.EPOCH, Role.BATCH_SIZE, Role.TOKENS, Role.SAMPLES, Role.LOSS_SCALE}
EVALUATIONS = {"val", "valid", "validation", "eval", "evaluation", "test", "dev"}


def told_apart(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns, what was measured in an evaluation in columns of its own; all as they are where no column
    of text names phases."""
    name = next((name for name, column in columns.items() if _names_phases(name, column)), None)
    others = {key: column for key, column in columns.items() if key != name}
    if name is None:
        return others
    words = np.array([str(word).strip().lower() for word in columns[name].values])
    rows = {word: columns[name].rows[words == word] for word in dict.fromkeys(words.tolist())}
    training = np.concatenate([rows[word] for word in rows if word in TRAINING])
    evaluated = {word: of_word for word, of_word in rows.items() if word in EVALUATIONS}
    with_epochs = any(tables.plain(key) == "epoch" for key in others)
    made: dict[str, Column] = {}
    for key, column in others.items():
        if tables.is_counter(key):
            in_epoch = with_epochs and tables.plain(key) != "epoch"
            made[key] = _without(column, evaluated, training) if in_epoch else column
            continue
        if _says_so(key) or role_of(key) in OF_BOTH:
            made[key] = column
            continue
        parts = {key: column.only(training)}
        parts |= {f"{word}/{key}": column.only(of_word) for word, of_word in evaluated.items()}
        made |= {as_: part for as_, part in parts.items() if len(part.rows)}
    return made


def _names_phases(name: str, column: Column) -> bool:
    if tables.plain(name) not in PHASE_NAMES or column.values.dtype != object:
        return False
    words = {str(word).strip().lower() for word in column.values}
    return bool(words & TRAINING and words & EVALUATIONS) and words <= TRAINING | EVALUATIONS


def _without(column: Column, evaluated: Mapping[str, Steps], training: Steps) -> Column:
    """A counter without the rows of evaluations in which it goes on from nowhere: these stand where the
    training was. Where it goes on within the interval of the training's rows, it tells where an epoch ended.
    """
    own = column.only(training)
    of_evaluation = column.only(np.concatenate(list(evaluated.values())))
    forward = np.diff(own.values)
    before = np.searchsorted(own.rows, of_evaluation.rows) - 1
    if not np.any(forward > 0):
        return column
    ahead = of_evaluation.values - own.values[before]
    kept = (before < 0) | ((ahead >= 0) & (ahead < np.median(forward[forward > 0])))
    return column.only(np.setdiff1d(column.rows, of_evaluation.rows[~kept]))


def _says_so(name: str) -> bool:
    return bool(EVALUATIONS & set(re.split(r"[\W_]+", name.lower())))
