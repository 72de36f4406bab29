"""Reads CSV and TSV: a row for each logged step, blank where nothing was measured; or long, a row for each
value. A table of several runs gives an attempt for each. Comments that are JSON are facts.

The folder of DVCLive is a log of such tables: a TSV for each metric, whose path below the folder of metrics
(`plots/metrics`; of version 1 `plots/scalars` or `scalars`) is its name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import BadLog
from chronicle.metrics.aliases import OF_RANDOM_ACTIONS, OF_TRAINING, RUN_NAMES
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.names import MEASURES, name_words, names_a_loss, role_of
from chronicle.metrics.values import moment
from chronicle.model import Attempt, Fault, Floats, Place, Role, Series
from chronicle.readers import items, runs_in_table
from chronicle.readers.columns import (
    FLAGS,
    LENGTH,
    REWARD,
    WRAPPED,
    Table,
    attempt_of,
    is_blank,
    iso_seconds,
    names_by_values,
    number,
    text_of,
)
from chronicle.readers.csv_cells import (
    Cells,
    cells_of,
    delimiter_of,
    first_rows,
    header_names,
    repeats_names,
    rows_of_numbers,
    share_of_numbers,
)
from chronicle.readers.facts import named_facts
from chronicle.readers.json_lines import Row, flat, tells_of_training
from chronicle.readers.runs_in_table import (
    TableReader,
    attempts_of,
    curve_named_by,
    loss_of,
    names_of_runs,
)
from chronicle.readers.step_axis import Column, column_key, counts_steps, is_whole
from chronicle.readers.text import Head, clean, encoding_of, json_or_none

_MONTH = re.compile(r"\d{4}-\d\d")
_LOGS = frozenset(("log", "logs", "history"))  # words of a file's name
_RESULTS = _LOGS | {"metrics", "results", "accuracy", "acc", "scores", "rewards", "curve", "curves"}
_JUDGED = (*MEASURES, Role.GRAD_NORM, Role.LEARNING_RATE)  # what a training is judged by, beside losses
_OF_PANDAS = ["0"]  # the header of a list that pandas wrote
DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv

# Of an environment that Gym's Monitor wraps, as in stable-baselines3: a comment, and a row an episode.
_OF_GYM = {"t_start": "started_at"}
_EPISODE = {"r": REWARD, "l": LENGTH, "t": "elapsed (s)"}

METRIC_FOLDERS = ("plots/metrics", "plots/scalars", "scalars")
MOST_FILES = 10_000


# --- which files are tables ---


def identify(head: Head) -> bool:
    """Whether a text is a table of numbers: a line of names above rows of as many cells, or one whose name
    says what its columns are; or a table whose cells are lists or curves."""
    if head.is_of_words:
        return False
    if _lists(head)[0] or _has_lists_in_cells(head):
        return True
    header, *body = first_rows(head) or [[]]
    if not header or _is_row(header):
        return bool(names_of(head.path, [header, *body]) or _names_by_values(head))
    if len(header) == 1:
        return is_metric(head.path, header[0], [cell for row in body for cell in row])
    return not repeats_names(header, body) and _are_rows(head.path, header, body)


def _is_row(header: Sequence[str]) -> bool:
    """Whether a first line holds numbers, perhaps behind a date, and so is no header."""
    numeric = [number(cell.rpartition(": ")[2]) is not None for cell in header]  # as `4: 96`, of a dictionary
    numeric[1:] = [
        cell in FLAGS or not cell or known for cell, known in zip(header[1:], numeric[1:], strict=True)
    ]
    is_first = numeric[0] or (len(header) > 1 and all(numeric[1:]) and _is_date(header[0]))
    return is_first and all(numeric[1:]) and header != _OF_PANDAS


def _are_rows(path: Path, header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether rows of as many cells as there are names hold mostly numbers and blanks: most rows, or if a
    name counts steps, one of them. A name that is a number must be explained by the name of the file."""
    counts = any(map(counts_steps, header))
    says_more = counts or any(names_a_loss(n) or role_of(n) is Role.OBJECTIVE for n in header)
    apart = [says_more and column_key(name) in items.PLACES for name in header]
    shares = (share_of_numbers(row, apart) for row in body if len(row) == len(header))
    if counts:
        return not body or any(share >= 0.5 for share in shares)
    are_names = all(number(cell.rpartition(": ")[2]) is None for cell in header)
    is_explained = are_names or bool(loss_of(path))
    return is_explained and 2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)


@any_numbers
def names_of(path: Path, rows: Sequence[Sequence[str]]) -> list[str]:
    """The names of the columns of a table without a header, by the name of its file; [] if that says none.
    The last column is the loss, score or reward; those before it grow: steps, dates, or epochs and steps
    (d3rlpy). Only rewards are all whole. Two columns of rewards are the best and the mean of a population if
    the first is never less (NEAT-Python). Values of a `train_log` are its loss, unless they rise between 0
    and 1, as scores do."""
    width, role = len(rows[0]) if rows else 0, role_of(path.stem)
    dated = width == 2 and iso_seconds([row[0] for row in rows]) is not None
    read = [[value for cell in row[dated:] if (value := number(cell)) is not None] for row in rows]
    whole = [row for row in read if len(row) == width - dated]
    if width not in (1, 2, 3) or len(whole) < max(width, len(rows) // 2 + 1) or len(read[0]) < width - dated:
        return []
    *counters, values = np.array(whole).T
    if role is not Role.OBJECTIVE and is_whole(values).all():
        return []
    if role is Role.OBJECTIVE and len(counters) == 1 and _are_best_and_mean(counters[0], values):
        return [f"best {path.stem}", f"mean {path.stem}"]
    metric = loss_of(path)
    if not metric and (role in MEASURES or (width > 1 and role is not Role.OTHER) or _count_as_one(counters)):
        metric = path.stem
    may_be_score = values.min() >= 0 and values.max() <= 1 and values[0] < values[-1]
    if not metric and _says_log_of_training(path.stem) and not may_be_score:
        metric = "train"
    names = ["datetime"] if dated else _names_of_counters(path, counters)
    return [*names, metric] if metric and len(names) == width - 1 else []


def _count_as_one(counters: Sequence[Floats]) -> bool:
    """Whether two columns count epochs and steps, always as many steps in an epoch."""
    if len(counters) != 2 or len(counters[0]) < 3:
        return False
    epochs, steps = (column[counters[0] * counters[1] != 0] for column in counters)
    return len({*(steps / epochs).tolist()}) == 1


def _are_best_and_mean(best: Floats, mean: Floats) -> bool:
    """Whether no mean is above its best, but for rounding, and the best do not count the rows."""
    counts = is_whole(best).all() and (np.diff(best) > 0).all()
    return bool(((best >= mean) | np.isclose(best, mean, rtol=1e-9, atol=0)).all() and not counts)


def _names_of_counters(path: Path, counters: Sequence[Floats]) -> list[str]:
    """The names of columns without a header, all of which count: epochs, of which there are fewer, and steps;
    [] for any others. Steps may begin again once, with another launch, and those of losses may stay."""
    if not counters or not is_whole(np.array(counters)).all():
        return []
    first, moves, alone = counters[0], np.diff(counters), len(counters) == 1
    begins_again = first[1:][moves[0] != 1].tolist() in ([0], [1])
    growing = ((moves > 0) | ((moves == 0) & (alone and bool(loss_of(path))))).all()
    if not growing and not (alone and begins_again):
        return []
    if alone:
        begins = "".join(Head.of(path).lines[:1]).lower()
        return ["epoch" if begins.startswith("epoch") else "step"]
    return ["step", "epoch"] if first[-1] > counters[1][-1] else ["epoch", "step"]


@lru_cache(maxsize=1)
def _names_by_values(head: Head) -> list[str]:
    """The names of the columns of a table without a header, by their values, if the file is named after a
    loss, or after results and two columns are known, or one is how often an agent explores; else []."""
    name = head.path.stem + " log" * (head.path.suffix == ".log")
    of_losses = bool(loss_of(head.path)) and not name_words(name) <= OF_TRAINING  # `train.csv` may be data
    if not of_losses and name_words(name).isdisjoint(_RESULTS):
        return []
    rows = rows_of_numbers(head.lines[:-1])  # the last one may be cut
    names = names_by_values(np.array(rows), of_losses=of_losses) if rows else []
    explores = any(name_words(column) & OF_RANDOM_ACTIONS for column in names)
    is_said = of_losses or _says_log_of_training(name) or explores
    return names if is_said or sum(map(tells_of_training, names)) > 1 else []


def _says_log_of_training(name: str) -> bool:
    """Whether the name of a file says that it is the log of a training, and nothing else: `train_logs_2`."""
    words = {word for word in name_words(name) if not word.isdigit()}
    return bool(words & OF_TRAINING and words & _LOGS) and words <= OF_TRAINING | _LOGS


def is_metric(path: Path, name: str, cells: Sequence[str]) -> bool:
    """Whether a single column under a name is a metric, by that name or by the name of the file."""
    numbers = [value for cell in cells if (value := number(cell)) is not None]
    if 2 * len(numbers) <= len(cells):
        return False
    named = role_of(name) in _JUDGED or names_a_loss(name) or bool(loss_of(path))
    return role_of(name) in MEASURES or (named and not is_whole(np.array(numbers)).all())


def _is_date(cell: str) -> bool:
    return moment(cell) != 0.0 or _MONTH.fullmatch(cell) is not None


def lacks(path: Path) -> str:
    """What is missing from a table of numbers, and how it becomes readable; "" for any other file."""
    rows = first_rows(head := Head.of(path))
    blanks = all(len(row) == 1 < len(row[0].split()) for row in rows)
    rows = [row[0].split() for row in rows] if blanks else rows
    blanks |= " " in map(delimiter_of, head.lines)
    dated = all(len(row) > 1 and _is_date(row[0]) for row in rows)
    cells = [cell for row in rows for cell in row[dated:] if cell not in FLAGS and not is_blank(cell)]
    if not cells or any(number(cell) is None for cell in cells):
        return ""
    parted = "separate them by commas, and " if blanks else ""
    names = "`loss`, or name the file after it (`val_loss.csv`)" if len(rows[0]) == 1 else "`step,loss`"
    names += f" and so on for all {len(rows[0])} columns" if len(rows[0]) > 2 else ""
    remedy = f"{parted}write their names into a first line, such as {names}"
    return f"holds numbers without names. Remedy: {remedy}"


def read(path: Path) -> list[Attempt]:
    """All attempts of the file, several for a table of several runs. Raises BadLog without a number."""
    table = _table(path)
    if not table.n_rows:
        problem = "has a header and no rows"
        raise BadLog(str(path), problem, remedy="remove it, or wait until it is written to")
    return attempts_of(table)


def _table(path: Path) -> Table:
    head = Head.of(path)
    if listed := _listed(head):
        return Table.of(path, listed[0], truncated=listed[1])
    rows = first_rows(head)
    names = [] if rows[:1] == [_OF_PANDAS] else names_of(path, rows) or _names_by_values(head)
    cells = Cells(path, names)
    columns, facts = {**cells.table.columns}, _facts(cells.comments)
    if sorted(column_key(name).replace("walltime", "wall_time") for name in cells.names[:4]) == DOWNLOADED:
        value = next(name for name in cells.names if column_key(name) == "value")
        columns[path.stem.partition("-tag-")[2] or path.stem] = columns.pop(value)
    columns = _of_episodes(columns, cells.n_rows, facts.get("started_at"))
    return replace(cells.table, columns=columns, facts=facts)


def _facts(comments: Sequence[str]) -> dict[str, Any]:
    headers = (json_or_none(comment.lstrip("# ")) for comment in comments)
    mappings = (header for header in headers if isinstance(header, dict))
    facts = (fact for mapping in mappings for fact in named_facts(flat(mapping)).items())
    return {_OF_GYM.get(name, name): value for name, value in facts}


def _of_episodes(columns: dict[str, Column], n_rows: int, begun: Any) -> dict[str, Column]:
    """The columns of a `monitor.csv` of Gym under their full names, after the steps so far and a clock that
    begins at ``begun`` [Unix s]; the columns of any other table as they are."""
    is_monitor = isinstance(begun, int | float) and columns.keys() >= _EPISODE.keys()
    if not is_monitor or len(columns["l"].rows) != n_rows:
        return columns
    lengths, elapsed = columns["l"], columns["t"]
    named = {_EPISODE.get(name, name): column for name, column in columns.items()}
    clock = Column(begun + elapsed.values, elapsed.rows)
    return {"timesteps": Column(np.cumsum(lengths.values), lengths.rows), "timestamp": clock} | named


def runs(path: Path) -> list[str]:
    """The runs in a table of several (the fact "run"); [] for any other table. Raises BadLog for a bad
    header."""
    names, *rows = first_rows(head := Head.of(path)) or [[]]
    several = {*map(column_key, names)} & {*RUN_NAMES} or _listed(head) is not None
    several = several or any(name.strip().endswith(runs_in_table.EXTREMES) for name in names)
    several = several or (loss_of(path) and len(names) > 2) or _may_hold_runs(head, names, rows)
    return names_of_runs(_table(path)) if several else []


def _may_hold_runs(head: Head, names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    if len(rows) < 2:
        return False
    last = next(csv.reader([head.last_line], delimiter=delimiter_of(head.lines[0])), [])
    cells = ([*map(text_of, row)] for row in (*rows[:2], last))
    return items.may_hold_runs(*(dict(zip(names, row, strict=False)) for row in cells))


# --- lists of numbers ---
_LONGEST_ROW, _AROUND = 1 << 20, ", \t\n"  # characters of a row without names; around its numbers
_LONGEST_LIST = 1 << 24  # characters of a cell: by default the csv module reads 131,072
_NAMED_LIST = re.compile(r"\s*([A-Za-z][\w ./-]{0,40}?)\s?[:=]\s{0,4}\[([^\[\]]*)(?:\][ \t]*[;,]?|\Z)")
_WITH_NUMBER = re.compile(r"[ :=]-?\d+\.\d+%?$")  # "loss 0.5", which is no name
# A header, and the first row up to some numbers of its first list.
_WITH_LISTS = re.compile(
    r"""([^\r\n\[]{1,1000})\r?\n([^\r\n"'\[\]]{0,1000})["']?\[\s?(?:[-+.\deEnaif]+,? +){2}"""
)
_NumberLists = list[tuple[str, list[float]]]  # each with its name


def _opening(head: Head) -> str:
    """The beginning of a text in which a list may begin; "" for any other text."""
    return head.start.decode(encoding_of(head.start), "replace") if b"[" in head.start else ""


def _rows_of_columns(lists: Mapping[str, Sequence[float]]) -> list[Row]:
    """The rows of a table whose columns are these lists. Shorter lists have no cells in the last rows."""
    columns = ([(name, value) for value in values] for name, values in lists.items())
    return [dict(filter(None, cells)) for cells in zip_longest(*columns)]


@lru_cache(maxsize=1)
def _has_lists_in_cells(head: Head) -> bool:
    """Whether each row of the table is a training, whose losses or rewards are a list in one cell. If a
    column counts steps, a list belongs to the step of its row instead."""
    if not (match := _WITH_LISTS.match(_opening(head))):
        return False
    names = list(map(str.strip, match[1].split(delimiter := delimiter_of(match[1]))))
    listed = names[match[2].count(delimiter) :][:1]
    moves = any(names_a_loss(name) or role_of(name) is Role.OBJECTIVE for name in listed)
    names = [word for name in names for word in re.split(r"\s{2,}", name)]
    return moves and not any(counts_steps(name) or _WITH_NUMBER.search(name) for name in names)


def _rows_of_cells(head: Head) -> tuple[list[Row], bool]:
    """The rows of all trainings whose courses are lists in cells, each with its run, and whether the last
    list is cut. A run is named by the first column whose cells all differ (`Fold 3`), else by its number."""
    with head.opened() as file:
        first = file.readline()
        delimiter = delimiter_of(first)
        names = header_names(*cells_of([first], delimiter))
        usual = csv.field_size_limit(_LONGEST_LIST)
        try:
            rows = [dict(zip(names, cells, strict=False)) for cells in cells_of(file, delimiter) if cells]
        except csv.Error as err:
            raise BadLog(str(head.path), f"cannot be read ({err})") from err
        finally:
            csv.field_size_limit(usual)
    lists = [{n: values for n, cell in row.items() if (values := _list_in(cell))} for row in rows]
    unique = (n for n in filter(None, names) if len({row.get(n) for row in rows}) == len(rows))
    label = next((name for name in unique if not any(name in of_row for of_row in lists)), "")
    listed = list[Row]()
    for number_of, (row, of_row) in enumerate(zip(rows, lists, strict=True), 1):
        run = {"run": f"{label} {row[label]}" if label else str(number_of)} if len(rows) > 1 else {}
        listed += [run | cells for cells in _rows_of_columns(of_row)]
    return listed, bool(lists) and not lists[-1]


@lru_cache(maxsize=1)
def _lists(head: Head) -> tuple[_NumberLists, bool]:
    """The lists of numbers of which a text consists, each behind its name (`val_loss = [0.7, 0.5]`), and
    whether the last is cut; none for any other text. One at least is named after a loss, a score or a reward,
    or the file is. In such a file, lists without names may be rows; see `_rows_without_names`."""
    if head.size > MOST_BYTES or not _NAMED_LIST.match(_opening(head)):
        return _rows_without_names(head) if curve_named_by(head.path) and head.is_text else ([], False)
    with head.opened() as file:
        text = WRAPPED.sub(r"\1", file.read())
    if is_cut := text.rfind("[") > text.rfind("]"):
        text = text[: text.rfind(",")]  # behind which a number may be cut
    lists = [(name, _list_in(f"[{cells}]")) for name, cells in _NAMED_LIST.findall(text)]
    whole = [len(values) for _, values in lists[: -1 if is_cut else None] or lists]
    alone = not _NAMED_LIST.sub("", text).strip() and min(whole) >= FEWEST_ROWS
    told = any(tells_of_training(name) for name, _ in lists) or curve_named_by(head.path)
    return (lists, is_cut) if alone and told else ([], False)


def _rows_without_names(head: Head) -> tuple[_NumberLists, bool]:
    """The lists in a file of rows that are the whole course of a loss each, as `numpy.savetxt` writes them,
    with many more numbers than there are rows; or the only row of a file named after a reward."""
    with head.opened() as file:
        first = file.readline(_LONGEST_ROW)
        values = _list_in(f"[{first.strip(_AROUND)}]")
        may_be = not is_whole(np.array(values)).all() if loss_of(head.path) else head.size <= len(first) + 1
        if len(values) < 8 * max(head.size // max(len(first), 1), 2) or not may_be:
            return [], False
        lines = [first, *(line for line in file if line.strip())]
    if is_cut := not lines[-1].endswith("\n"):
        lines[-1] = re.sub(r"[^\s,]*$", "", lines[-1])
    return [("", _list_in(f"[{line.strip(_AROUND)}]")) for line in lines], is_cut


def _listed(head: Head) -> tuple[list[Row], bool] | None:
    """The rows of a text of lists, and whether its end is cut; None for any other text. Lists are columns if
    the name of one tells what it is, else a run each."""
    lists, is_cut = _lists(head)
    if not lists:
        return _rows_of_cells(head) if _has_lists_in_cells(head) else None
    if any(tells_of_training(name) for name, _ in lists):
        return _rows_of_columns(dict(lists)), is_cut
    names = [name for name, _ in lists]
    are_unique = len({*names}) == len(names)
    runs = names if are_unique else [f"{name} {n}".strip() for n, name in enumerate(names, 1)]
    named = [{"run": run} if len(runs) > 1 else {} for run in runs]
    metric = curve_named_by(head.path)
    return [run | {metric: v} for run, (_, values) in zip(named, lists, strict=True) for v in values], is_cut


def _list_in(cell: str) -> list[float]:
    """The numbers of a list in a cell, as Python or NumPy prints it; [] for any other cell."""
    text = cell.strip()
    values = [number(part) for part in re.split(r",\s*|\s+", text[1:-1].strip())] if text[:1] == "[" else []
    return [value for value in values if value is not None] if text[-1:] == "]" and None not in values else []


# --- tables in documents ---
_RULE = re.compile(r"[|+:=\s-]*(?:--|==|-:)[|+:=\s-]*")  # below a header, and around the rows of other tables
_DOCUMENTS = (".md", ".markdown", ".rst")
_HEADING = re.compile(rb"\s*(#{1,6} |---\s|[^\r\n]+\r?\n(={3,}|-{3,})\s)")  # of a document, at its beginning
_NOT_YET = "no log"  # of a training loss, at an evaluation before the first one
FEWEST_ROWS, MOST_BYTES = 3, 1 << 20


def _rows_in_bars(lines: Iterable[str]) -> tuple[list[Row], bool]:
    """The rows of all tables with bars between their cells that have a column of steps and one of a loss or a
    score, and whether the last row is cut. Rows that contain a text compare trainings, and are left out."""
    rows, names, above, is_cut = list[Row](), list[str](), list[str](), False
    for raw_line in lines:
        line = raw_line.strip()
        is_rule = _RULE.fullmatch(line) is not None
        is_cut = bool(names) and not raw_line.endswith("\n") and not is_rule
        if "|" not in line and not is_rule:
            names, above = [], []
        elif not is_rule:
            above = [cell.strip(" *`") for cell in line.strip("|").split("|")]
            is_cut &= len(above) != len(names) or not line.endswith("|")
            cells = ["" if cell.lower() == _NOT_YET else cell for cell in above]
            numeric = all(is_blank(cell) or number(cell) is not None for cell in cells)
            if names and numeric and len(cells) == len(names) and not is_cut:
                row = zip(names, cells, strict=True)
                rows.append({name: number(cell) for name, cell in row if not is_blank(cell)})
        elif not names and any(map(counts_steps, above)) and any(map(tells_of_training, above)):
            names = header_names(above)
    return rows, is_cut


def _is_in_bars(head: Head) -> bool:
    """Whether a document contains a table with bars of at least three rows, or a text is nothing else."""
    is_named = head.path.suffix in _DOCUMENTS
    if (head.is_of_words and not is_named) or (b"|" not in head.start and head.size == len(head.start)):
        return False
    is_document = is_named or _HEADING.match(head.start)
    if is_document and head.size <= MOST_BYTES:
        with head.opened() as file:
            return len(_rows_in_bars(file)[0]) >= FEWEST_ROWS
    written = [line for line in head.lines if line.strip()]
    alone = all("|" in line or _RULE.fullmatch(line.strip()) for line in written)
    return alone and len(_rows_in_bars(f"{line}\n" for line in written)[0]) >= FEWEST_ROWS


def _table_in_bars(path: Path) -> Table:
    with Head.of(path).opened() as file:
        rows, truncated = _rows_in_bars(file)
    return Table.of(path, rows, truncated=truncated)


BY_NAME = {"markdown": TableReader(_is_in_bars, _table_in_bars)}

# --- DVCLive ---


def identify_folder(path: Path) -> bool:
    """Whether the folder has a place for metrics, and the first file in it counts steps for its own name."""
    _, file = next(_metric_files(path), (path, None))
    if file is None:
        return False
    names = next((line.split("\t") for line in Head.of(file).lines if line.strip()), [])
    return 2 <= len(names) <= 3 and {"step", file.stem} <= set(map(str.strip, names))


def read_folder(path: Path) -> list[Attempt]:
    """One attempt with all metrics; a file without a number is a fault. Raises BadLog if no file has one."""
    series, faults, truncated = dict[str, Series](), list[Fault](), False
    for folder, file in _metric_files(path):
        try:
            cells = Cells(file)
            column = next((name for name in reversed(cells.names) if not counts_steps(name)), "")
            wanted = {n: c for n, c in cells.table.columns.items() if n in (column, "step", "timestamp")}
            metric = attempt_of(replace(cells.table, columns=wanted))
        except BadLog as problem:
            faults.append(Fault(Place(str(file)), problem.problem))
            continue
        name = clean(file.relative_to(folder).with_suffix("").as_posix())
        series[name] = replace(next(iter(metric.series.values())), metric=name, rows=None)
        faults += metric.faults
        truncated |= metric.truncated
    if not series:
        raise BadLog(str(path), "holds no numbers", remedy="check that it is the folder of a training")
    facts = {"framework": "dvclive"}
    return [Attempt(path.name, (str(path),), series, facts, tuple(faults), truncated, "step")]


def _metric_files(path: Path) -> Iterator[tuple[Path, Path]]:
    """The first folder for metrics that holds any, and each file in it, in order of their names."""
    for folder in (path / name for name in METRIC_FOLDERS):
        if files := sorted(file for file in folder.rglob("*.tsv") if file.is_file()):
            return ((folder, file) for file in files[:MOST_FILES])
    return iter(())
