"""What the name of a file says of a table that does not name its columns: `val_loss.csv` holds that loss.

The name is only asked where the table is silent, and after nothing but losses: other numbers without a
name may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from chronicle.metrics.aliases import OF_EVALUATION, OF_TRAINING
from chronicle.metrics.roles import names_a_loss, plain, role_of, says_nothing
from chronicle.model import Role
from chronicle.readers import tables
from chronicle.readers.cells import number
from chronicle.readers.tables import Column

_SCORES = (Role.SCORE, Role.VALIDATION_SCORE)
_TOLD = (*_SCORES, Role.GRAD_NORM, Role.LEARNING_RATE)  # what a training is told by, beside losses
_ASIDE = frozenset(("time", "elapsed", "seconds", "sec", "s", "minutes", "duration", "n", "id", "seed"))
_VALUE = frozenset(("value", "values", "y", "0"))  # "0" is what pandas calls a column without a name


def loss_of(path: Path) -> str:
    """The name of a file that is named after a loss, without its ending; "" for any other."""
    return path.stem if names_a_loss(path.stem) else ""


def names_of(path: Path, rows: Sequence[Sequence[str]]) -> list[str]:
    """Names of the columns of a table without a header, by the name of its file; [] where it tells none.

    One column is the loss; before it may stand one of whole numbers that grow, the steps.
    """
    loss, width = loss_of(path), len(rows[0]) if rows else 0
    read = [[value for cell in row if (value := number(cell)) is not None] for row in rows]
    cells = [row for row in read if len(row) == width]  # a damaged row is forgiven
    if not loss or width not in (1, 2) or len(read[0]) < width or 2 * len(cells) <= len(rows):
        return []
    steps, values = [row[0] for row in cells], [row[-1] for row in cells]
    counted = _are_whole(steps) and all(before < after for before, after in pairwise(steps))
    known = not _are_whole(values) and (width == 1 or (counted and len(cells) > 1))
    return ["step", loss][-width:] if known else []


def is_metric(path: Path, name: str, cells: Sequence[str]) -> bool:
    """Whether a single column under a name is a metric, by that name or by the name of the file."""
    numbers = [value for cell in cells if (value := number(cell)) is not None]
    told = role_of(name) in _TOLD or names_a_loss(name) or bool(loss_of(path))
    return 2 * len(numbers) > len(cells) and (role_of(name) in _SCORES or (told and not _are_whole(numbers)))


def by_file(path: Path, columns: Mapping[str, Column]) -> dict[str, dict[str, Column]]:
    """Columns by run, where the name of the file alone says that they are losses; one run "" else.

    Where several columns have names that say nothing of a part, of data or of a phase, each is that of a run:
    who logs parts of one training says so.
    """
    columns = _of_score(path, columns)
    loss = loss_of(path)
    metrics = [name for name in columns if not tables.is_counter(name)]
    if not loss or any(map(names_a_loss, metrics)):
        return {"": columns}
    silent = [name for name in metrics if role_of(name) is Role.OTHER and not _is_aside(name, columns[name])]
    if len(silent) > 1 and len(silent) == len(metrics) and all(map(says_nothing, silent)):
        shared = {name: column for name, column in columns.items() if name not in silent}
        return {name: {**shared, loss: columns[name]} for name in silent}
    alone = len(silent) == 1 and tables.plain(silent[0]) in _VALUE
    named = {name: loss if alone else f"{loss}/{name}" for name in silent}
    return {"": {named.get(name, name): column for name, column in columns.items()}}


def _of_score(path: Path, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Columns `train` and `val` of `accuracy.csv` under that name, for alone they are those of a loss."""
    phases = (OF_TRAINING | OF_EVALUATION) if role_of(path.stem) in _SCORES else frozenset[str]()
    return {f"{path.stem}/{n}" if plain(n) in phases else n: column for n, column in columns.items()}


def _is_aside(name: str, column: Column) -> bool:
    """Whether these are texts, a clock or a count. Only names tell, for they stay when a log grows."""
    words = set(plain(name).split())
    return column.values.dtype == object or tables.plain(name) in tables.TIME_NAMES or bool(words & _ASIDE)


def _are_whole(values: Sequence[float]) -> bool:
    return all(value == value // 1 for value in values)
