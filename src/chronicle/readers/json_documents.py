"""JSON documents that hold a training: a list of logged rows somewhere in them, or columns as lists.

    {"run_info": {...}, "train_info": {"metrics": [{"step": 250, "train loss": 1.32}, ...]}}     rows
    {"loss": [2.1, 1.7, ...], "val_loss": [2.2, 1.9, ...]}                                       columns
    {"training": {"l2": [2.1, 1.7, ...]}, "valid_0": {"l2": [2.2, 1.9, ...]}}                    of boosting
    {"loss": {"0": 2.1, "1": 1.7, ...}, ...}                                                     of pandas
    {"loss": [[20, 2.1], [40, 1.7], ...], ...}                                                   of pairs
    {"1": {"loss": 2.1}, "2": {"loss": 1.7}, ...}                                                rows by step
    [[1700000000.5, 10, 2.1], [1700000001.5, 20, 1.7], ...]                                      TensorBoard's
    [2.1, 1.7, ...]                                                              in a file losses.json
    [[200, 2.1, 2.2], [400, 1.7, 1.9], ...]                                      step, training and held out
    {"loss": {"train": {"x": [0, 1, ...], "y": [2.1, 1.7, ...]}}, ...}           of a chart

A document is only claimed where such rows or columns are in it: at least 8 rows that count steps, or epochs
beside a decimal number, or that hold numbers alone, a loss and no id; or 3 that count anything beside a loss
or a score; or columns of at least 4 numbers (3 if a loss stands beside its held-out loss), one of which is a
loss or a score, or which are what a phase measured.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from chronicle.metrics.aliases import OF_PHASES
from chronicle.metrics.names import names_a_loss, role_of
from chronicle.model import Role
from chronicle.readers import json_lines
from chronicle.readers.columns import WRAPPED, Table, begin_alike, number
from chronicle.readers.facts import MAX_DEPTH, leaves, named_facts, values_in, yaml_prefix
from chronicle.readers.items import names_an_evaluation
from chronicle.readers.json_lines import Row, flat, flat_rows, parsed, tells_of_training, whole_document
from chronicle.readers.runs_in_table import TableReader, curve_named_by, loss_of
from chronicle.readers.step_axis import counted_by, is_counter
from chronicle.readers.text import Head, clean

MIN_ROWS, MIN_JUDGED_ROWS, MIN_CELLS = 8, 3, 4
MAX_BYTES = 1 << 28
_FIRST_TIME, _LAST_TIME = 1e9, 1e10  # Unix seconds: the years 2001 to 2286
_NUMBERED = re.compile(r"(?:(?P<what>epoch|step|iter(?:ation)?|round|episode)[ _-]?)?(?P<number>\d{1,15})")
# `valid_steps`; `return_mean_T` of PyMARL in the info.json of Sacred
_OWN_STEPS = re.compile(r"(?i)([a-z_ ]{0,30}?)[_ ]?(?:step|iter(?:ation)?|update)s?|(?P<of>.+)_(?-i:T)")
_OF_ONE = re.compile(r"(?i)(?:phase|stage|part|session|task|agent|player|team)(?![a-z])[^/]*$")
_OF_RUN = re.compile(r"(?i)(?:^|[^a-z])(?:seed|fold|run|trial|repeat)[ _-]?\d+(?:/|$)")
_OF_TABLE = re.compile(r"(?:^|/)\d+(?:/|$)")  # a key that is the number of a row
MAX_TABLES, MAX_RUNS = 1000, 200
_NAMES = ("name", "run", "run_name", "label", "model", "method", "algorithm", "config", "seed", "fold")
MOST_PYTHON_BYTES = 1 << 24
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_IN_PYTHON = re.compile(r"\{\s*'[^'\n]{1,60}':\s*[\[{]|\[\s*'")  # a dictionary of lists, or a list of texts
_LIST_IN_YAML = re.compile(r"(?m)^ *['\"]?[A-Za-z][\w ./-]{0,60}['\"]?:\n *- [-+.\d][^\n:]*\n *- [-+.\dn]")
_NAN, _INF = re.compile(r"\bnan\b"), re.compile(r"\binf\b")


@dataclass(frozen=True)
class Found:
    """Rows found at a path of the document (keys joined with "/"), and whether they count anything."""

    path: str
    rows: list[Row]
    counted: bool = True


def identify(head: Head) -> bool:
    """Whether a file is a JSON document of no other format that contains rows or columns of a training."""
    start = "\n".join(head.lines).lstrip()
    inner = start[1:].lstrip()[:1]  # a line of a log may begin with "["
    rows = start.startswith("[") and (inner in ("{", "[") or bool(curve_named_by(head.path)))
    if not (rows or start.startswith("{")) or head.size > MAX_BYTES:
        return False
    if json_lines.identify(head) or json_lines.is_state(head):
        return False
    try:
        return holds_training(_document(head)[0], head.path)
    except (ValueError, RecursionError):
        return False


def holds_training(document: Any, path: Path) -> bool:
    """Whether a document contains rows or columns of a training."""
    return next(_found(document), None) is not None or bool(_named_by_file(document, path))


def _document(head: Head) -> tuple[Any, bool]:
    """The document in a file and whether it is cut, as `json_lines.parsed` returns them. A small file may
    also hold what Python prints of a dictionary or of a list. Raises ValueError if it holds neither."""
    if head.size > MOST_PYTHON_BYTES or not _IN_PYTHON.match("\n".join(head.lines).lstrip()):
        return parsed(head)
    with head.opened() as file:
        text = WRAPPED.sub(r"\1", file.read().strip())
    try:
        return ast.literal_eval(_NAN.sub("None", _INF.sub("1e999", text))), False
    except (SyntaxError, MemoryError) as err:
        raise ValueError(str(err)) from err


def _yaml(head: Head) -> tuple[Any, bool]:
    """The document in a YAML file up to where it is damaged, or cut in a line, and whether it is."""
    with head.opened() as file:
        lines, _, rest = file.read().rpartition("\n")
    document, is_whole = yaml_prefix(lines + "\n")
    return document, bool(rest) or not is_whole


def _is_yaml(head: Head) -> bool:
    """Whether a text is a YAML document that contains rows or columns of a training, a number in a line."""
    if head.size > MOST_PYTHON_BYTES or not _LIST_IN_YAML.search("\n".join(head.lines)):
        return False
    return holds_training(_yaml(head)[0], head.path)


def _table(path: Path) -> Table:
    """The table in a JSON document. Raises BadLog if the file is no complete one."""
    document, faults = whole_document(path, _document)
    return table_in(path, document, faults=faults)


def _table_of_yaml(path: Path) -> Table:
    document, is_cut = _yaml(Head.of(path))
    return table_in(path, document, truncated=is_cut)


def table_in(path: Path, document: Any, **known: Any) -> Table:
    """The table in the document of a file, with what else is ``known`` of it. If the document contains
    several tables, the name of a metric begins with the path of its table."""
    tables = list(islice(_found(document), MAX_TABLES))
    rows = _rows(tables) or _named_by_file(document, path)
    logged = {f"{table.path}/{name}".lstrip("/") for table in tables for name in table.rows[0]}
    leaves_of = leaves("", document, "/") if isinstance(document, dict) else ()
    others = (fact for fact in leaves_of if fact[0] not in logged and not _OF_TABLE.search(fact[0]))
    return Table.of(path, rows, facts=named_facts(others), **known)


def _rows(tables: list[Found]) -> list[Row]:
    """The rows of all tables. Tables without a counter run over the same iterations, so their rows are
    joined: with those of the only table with a counter, or, if they are more, as steps of their own."""
    if len(tables) == 1 and not names_a_phase(tables[0].path):
        return tables[0].rows
    if by_run := _by_run(tables):
        return [{"run": run} | row for run, of_run in by_run.items() for row in _rows(of_run)]
    parallel = [table for table in tables if not table.counted]
    counted = [[*_prefixed(table)] for table in tables if table.counted]
    if not parallel:
        return _in_epochs(counted)
    rows = list[Row]({} for _ in range(max(len(table.rows) for table in parallel)))
    for table in parallel:
        _put(_prefixed(table), len(table.rows), rows)
    host = next((t for t in counted if len(t) == len(rows)), counted[0] if len(counted) == 1 else [])
    name = next((n for n in host[0] if _counted(n)), "") if host else ""
    if not name or not all(isinstance(row.get(name), int | float) for row in host):
        return [row for table in (*counted, rows) for row in table]
    if len(rows) > len(host):
        return sorted([*host, *({name: n} | row for n, row in enumerate(rows))], key=itemgetter(name))
    _put(rows, len(rows), host)
    return [row for table in counted for row in table]


def _in_epochs(tables: Sequence[list[Row]]) -> list[Row]:
    """The rows of all tables. If one table has steps and epochs that only grow, and the others have whole
    epochs, each row of these comes behind the steps of its epoch, the first of which may end at 1.0."""
    rows = [row for table in tables for row in table]
    if not all(isinstance(row.get("epoch"), int | float) for row in rows):
        return rows
    counters = (
        {counted_by(n) for row in table for n, cell in row.items() if type(cell) is int} for table in tables
    )
    of_steps = [table for table, counted in zip(tables, counters, strict=True) if "step" in counted]
    alone = [row for table in tables if table not in of_steps for row in table]
    epochs = [row["epoch"] for table in of_steps for row in table]
    if len(of_steps) != 1 or epochs != sorted(epochs) or any(row["epoch"] % 1 for row in alone):
        return rows
    first = 1 if any(epoch % 1 for epoch in epochs) else epochs[0]
    ends = [row["epoch"] - alone[0]["epoch"] + first for row in alone]
    by_epoch = sorted(zip(epochs + ends, of_steps[0] + alone, strict=True), key=itemgetter(0))
    return [row for _, row in by_epoch]


def _by_run(tables: Sequence[Found]) -> dict[str, list[Found]]:
    """The tables of each run, if the keys at one place of the paths name runs; else {}. They do if the same
    tables are below each of them, and these are numbered as seeds or runs, or have a loss and a result of an
    evaluation, or a reward, as parts of one training do not. Phases, stages, and agents that play together
    are no runs."""
    keys = [table.path.split("/") for table in tables]
    shared = next((n for n, level in enumerate(zip(*keys, strict=False)) if len({*level}) > 1), -1)
    by_run = dict[str, list[Found]]()
    for table, path_keys in zip(tables, keys, strict=True) if shared >= 0 else ():
        inner = replace(table, path="/".join(path_keys[shared + 1 :]))
        by_run.setdefault("/".join(path_keys[: shared + 1]), []).append(inner)
    shapes = [{(table.path, *sorted(table.rows[0])) for table in of_run} for of_run in by_run.values()]
    apart = any(map(names_a_phase, by_run)) or any(map(_OF_ONE.search, by_run))
    if len(shapes) < 2 or apart or any(shape != shapes[0] for shape in shapes):
        return {}
    names = [f"{path}/{name}" for path, *names in shapes[0] for name in names]
    roles = set(map(role_of, names))
    has_both = Role.LOSS in roles and any(map(names_an_evaluation, names))
    return by_run if has_both or Role.OBJECTIVE in roles or all(map(_OF_RUN.search, by_run)) else {}


def _found(
    value: Any, path: str = "", depth: int = 0, above: Mapping[str, Any] = _NOTHING
) -> Iterator[Found]:
    """The tables in a value. ``above`` are counters of the object around it, for columns of equal length."""
    if isinstance(value, list):
        if (rows := _logged_rows(value)) is not None:
            yield Found(path, rows, counted=any(_counted(name) for row in rows for name in row))
        elif depth < MAX_DEPTH:
            named = ((f"{path}/{key}".lstrip("/"), run) for key, run in _by_name(value))
            inner = [table for place, run in named for table in _found(run, place, depth + 1)]
            of_chart = all(isinstance(curve, dict) and {*"xy"} <= curve.keys() for curve in value)
            yield from inner if of_chart or _by_run(inner) else ()
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        counting = {key: cells for key, cells in value.items() if is_counter(key) and _are_cells(cells)}
        if rows := rows_of_columns(value, path, {} if counting else above):
            yield Found(path, rows, counted=any(map(_counted, rows[0])))
        elif rows := _rows_of_chart(value, path):
            yield Found(path.rpartition("/")[0], rows)
        is_read = bool(rows) and all(isinstance(inner, dict) for inner in value.values())  # row by row
        for key, inner in value.items():
            if isinstance(inner, dict | list) and not is_read:
                yield from _found(inner, f"{path}/{clean(key)}".lstrip("/"), depth + 1, counting or above)


def _by_name(objects: Sequence[Any]) -> Iterator[tuple[str, Row]]:
    """The objects of a list, each with the name that it has under one of `_NAMES`, or else its number, from 1
    on; nothing if they are many, or have a counter: then they are episodes or epochs of one training."""
    if not 1 < len(objects) <= MAX_RUNS or not all(isinstance(run, dict) for run in objects):
        return iter(())
    for key in objects[0]:
        places = {run[key] for run in objects if isinstance(run.get(key), int | float)}
        if _counted(key) and len(places) == len(objects):
            return iter(())
    for key in _NAMES:
        names = [str(run[key]) for run in objects if isinstance(run.get(key), str | int)]
        if len({*names}) == len(objects):
            return zip(map(clean, names), objects, strict=True)
    return ((str(n), run) for n, run in enumerate(objects, 1))


def _logged_rows(value: list[Any]) -> list[Row] | None:
    """The objects of a list, flattened, if enough and at least half of them are rows of a log; else None."""
    if len(value) < MIN_JUDGED_ROWS or not all(isinstance(row, dict) for row in value):
        return None
    rows = flat_rows(value)
    kinds = [set(map(_counted, row)) - {""} for row in rows]
    measured = (any(isinstance(cell, float) for cell in row.values()) for row in rows)
    steps = sum("step" in k or ("epoch" in k and m) for k, m in zip(kinds, measured, strict=True))
    steps = steps or sum(map(json_lines.is_bare, rows))
    judged = sum(
        bool(kind) and any(map(tells_of_training, row)) for kind, row in zip(kinds, rows, strict=True)
    )
    logged = judged if len(rows) < MIN_ROWS else max(steps, judged)
    return rows if logged >= MIN_JUDGED_ROWS and 2 * logged >= len(rows) else None


def _counted(name: str) -> str:
    """What a column of this name counts, such as "step", "epoch" or "batch"; "" if it counts nothing."""
    return counted_by(name) or ("batch" if is_counter(name) else "")


def _named_by_file(document: Any, path: Path) -> list[Row]:
    """The rows of a list whose metric is named by the file: a list of numbers, also in quotes, of a step with
    one number or two, or of time, step and value, as TensorBoard exports them; or those of an object of lists
    of losses, which are columns under any names. [] for any other document."""
    if isinstance(document, dict) and loss_of(path):
        columns = dict(values_in(document))
        are_losses = all(isinstance(cells, list) and _are_decimal(cells) for cells in columns.values())
        longest = max(map(len, columns.values())) if are_losses and columns else 0
        return [{n: cells[i] for n, cells in columns.items() if i < len(cells)} for i in range(longest)]
    if not isinstance(document, list) or len(document) < MIN_CELLS:
        return []
    if all(map(_is_point, document)):
        metric = path.stem.partition("-tag-")[2] or path.stem
        return [{"wall_time": t, "step": s, metric: v} for t, s, v in document]
    metric = curve_named_by(path)
    if metric and (by_step := _numbered(document)):
        return [{"step": step, metric: value} for step, value in by_step.items()]
    if metric and (of_both := _with_held_out(document)):
        return [{"step": step, metric: loss, f"val_{metric}": other} for step, loss, other in of_both]
    values = [(int if v.isdecimal() else number)(v) if isinstance(v, str) else v for v in document]
    kinds = float if loss_of(path) else int | float  # a reward may be whole
    if not metric or 2 * sum(isinstance(value, kinds) for value in values) <= len(values):
        return []
    return [{metric: value} if isinstance(value, int | float) else {} for value in values]


def _with_held_out(rows: list[Any]) -> list[tuple[int, float, float]]:
    """The rows of a list of (step, loss of the training, loss held out), in which the steps grow and both
    losses begin at about the same level, since nothing has been learned yet; [] for any other list."""
    triples = [tuple(row) for row in rows if isinstance(row, list) and len(row) == 3]
    is_whole = len(_numbered([[*triple[:2]] for triple in triples])) == len(rows)
    losses = [cell for triple in triples for cell in triple[1:]]
    if not is_whole or not all(isinstance(loss, float) and loss > 0 for loss in losses):
        return []
    return triples if begin_alike(*losses[:2]) else []


def _is_point(row: Any) -> bool:
    match row:
        case [int() | float() as time, int(), int() | float()]:
            return _FIRST_TIME < time < _LAST_TIME
    return False


def _numbered(value: Any) -> dict[int, Any]:
    """The values by number of an object whose keys are numbers (`7`, `epoch_7`), or of a list of pairs of a
    number that grows and a value, in the order of the numbers; {} for anything else."""
    if isinstance(value, list):
        pairs = [p for p in value if isinstance(p, list) and len(p) == 2 and type(p[0]) is int]
        grows = len(pairs) == len(value) and all(before[0] < after[0] for before, after in pairwise(pairs))
        return {number: cell for number, cell in pairs if grows}
    keys = [*map(_NUMBERED.fullmatch, value)] if isinstance(value, dict) else []
    if not all(keys) or len({key["what"] for key in keys if key}) != 1:
        return {}
    by_number = {int(key["number"]): value[key[0]] for key in keys if key}
    return {number: by_number[number] for number in sorted(by_number)}


def rows_of_columns(value: Mapping[str, Any], path: str, above: Mapping[str, Any]) -> list[Row]:
    """The rows of an object of columns, or of an object of rows by step; [] for any other object. The steps
    of columns may be in ``above``, the object around them."""
    if rows := _rows_by_step(value):
        return rows if all(any(map(tells_of_training, row)) for row in rows) else []
    numbered = {key: _numbered(cells) for key, cells in value.items()}
    lists = ((key, list(numbered[key].values()) or cells) for key, cells in value.items())
    fewest = fewest_cells(value)
    columns = {clean(key): [*map(_spelled, cells)] for key, cells in lists if _are_cells(cells, fewest)}
    if not any(map(tells_of_training, columns)) and not _measures(path, columns):
        return []
    of_pairs = {clean(key): numbered[key] for key, cells in value.items() if isinstance(cells, list)}
    if rows := _rows_by_own_steps(columns) or _rows_of_pairs({key: of_pairs.get(key, {}) for key in columns}):
        return rows
    n_rows = max(map(len, columns.values()))
    columns = {clean(key): cells for key, cells in above.items() if len(cells) == n_rows} | columns
    index = next((list(cells) for cells in numbered.values() if len(cells) == n_rows), [])
    if index and index != list(range(n_rows)) and not any(map(_counted, columns)):
        columns = {"step": index} | columns
    rows = list[Row]({} for _ in range(n_rows))
    row_of_number, by_count = {number: row for row, number in enumerate(index)}, _by_count(columns, n_rows)
    for key, cells in columns.items():
        own = [row_of_number[number] for number in numbered.get(key, ()) if number in row_of_number]
        fits = len(own) == len(cells) and 2 * own[-1] >= n_rows - 1  # the epochs 1 to 9 are no steps 1 to 9
        own = own if fits else by_count.get(len(cells), [])
        for row, cell in zip(own or _ends(len(cells), n_rows), cells, strict=True):
            rows[row][key] = cell
    return rows


def _rows_by_step(value: Mapping[str, Any]) -> list[Row]:
    """The rows of an object whose keys are numbers and whose values are rows; [] for any other object."""
    by_number = _numbered(value)
    if len(by_number) < MIN_JUDGED_ROWS or not all(isinstance(row, dict) for row in by_number.values()):
        return []
    if _holds_course(next(iter(by_number.values()))):
        return []  # of a fold each
    match = _NUMBERED.fullmatch(next(iter(value)))
    counter = (match["what"] if match else "") or "step"
    return [{counter: number} | dict(flat(row)) for number, row in by_number.items()]


def _holds_course(row: Mapping[str, Any]) -> bool:
    """Whether a list of losses stands somewhere in an object."""
    inner = (_holds_course(cell) for cell in row.values() if isinstance(cell, dict))
    return any(_are_cells(cell) and names_a_loss(key) for key, cell in row.items()) or any(inner)


def _rows_of_chart(value: Mapping[str, Any], path: str) -> list[Row]:
    """The rows of a curve as it is drawn, whose metric is its path: steps under `x`, values under `y`; [] for
    any other object."""
    axes = [value[axis] for axis in "xy" if _are_cells(value.get(axis))]
    if len({*map(len, axes)}) != 1 or len(axes) < 2 or not tells_of_training(path):
        return []
    return [{"step": step, path.rpartition("/")[2]: cell} for step, cell in zip(*axes, strict=True)]


def _by_count(columns: Mapping[str, Sequence[Any]], n_rows: int) -> dict[int, list[int]]:
    """The rows in which a step comes for the first time, and those in which it comes again, as the step of an
    evaluation does; the keys are their numbers. A column with as many cells belongs to these rows."""
    steps = next((c for key, c in columns.items() if counted_by(key) == "step" and len(c) == n_rows), [])
    first = {step: row for row, step in reversed([*enumerate(steps)])}
    again = sorted({*range(len(steps))} - {*first.values()})
    return {len(again): again, len(first): sorted(first.values())} if again else {}


def _rows_by_own_steps(columns: Mapping[str, Sequence[Any]]) -> list[Row]:
    """The rows of columns that have steps of their own: `valid_losses` belong to `valid_steps`,
    `train_losses` to `train_steps` or `steps`; [] if any column has none."""
    named = ((_OWN_STEPS.fullmatch(key), cells) for key, cells in columns.items())
    counting = {match["of"] or match[1] or "": cells for match, cells in named if match}
    rising = {of: cells for of, cells in counting.items() if None not in cells}
    rising = {of: cells for of, cells in rising.items() if all(a <= b for a, b in pairwise(cells))}
    rows = dict[int, Row]()
    for key, cells in columns.items() if any(rising) else ():
        own = (of for of in sorted(rising, key=len, reverse=True) if key.lower().startswith(of.lower()))
        of = next((of for of in own if len(rising[of]) == len(cells)), None)
        if of is None:
            return []
        for step, cell in zip(rising[of], cells, strict=True) if not _OWN_STEPS.fullmatch(key) else ():
            rows.setdefault(step, {"step": step})[key] = cell
    return [rows[step] for step in sorted(rows)]


def _rows_of_pairs(columns: Mapping[str, Mapping[int, Any]]) -> list[Row]:
    """The rows of columns of pairs, at each step of any of them; [] if one is no such column or ends before
    half of the steps of another, since the epochs 1 to 9 are no steps 1 to 9."""
    ends = [max(by_step, default=0) for by_step in columns.values()]
    rows = dict[int, Row]()
    for key, by_step in columns.items() if 2 * min(ends) > max(ends) else ():
        for step, cell in by_step.items():
            rows.setdefault(step, {"step": step})[key] = _spelled(cell)
    return [rows[step] for step in sorted(rows)]


def fewest_cells(names: Iterable[str]) -> int:
    """How many numbers make a column: fewer if there is a loss and the same held out, as of Keras."""
    return MIN_JUDGED_ROWS if set(map(role_of, names)) >= {Role.LOSS, Role.VALIDATION_LOSS} else MIN_CELLS


def _are_cells(value: Any, fewest: int = MIN_CELLS) -> bool:
    is_column = isinstance(value, list) and len(value) >= fewest
    return is_column and all(isinstance(_spelled(cell), int | float | None) for cell in value)


def _spelled(cell: Any) -> Any:
    """The number in a cell that is a text ("tensor(2.5, device='cuda:0')") or an object of numpy as Sacred
    writes it ({"py/object": "numpy.float64", "value": 2.5}); any other cell as it is."""
    if isinstance(cell, dict) and str(cell.get("py/object")).startswith("numpy."):
        return cell.get("value")
    return cell if not isinstance(cell, str) or (value := number(cell)) is None else value


def _put(cells: Iterable[Row], n_cells: int, rows: list[Row]) -> None:
    for place, cell in zip(_ends(n_cells, len(rows)), cells, strict=True):
        rows[place] |= flat(cell)


def _ends(n_cells: int, n_rows: int) -> range:
    """The rows to which the cells of a shorter column belong: each is the last of equally many rows."""
    stride = n_rows // n_cells
    return range(stride - 1, stride * n_cells, stride)


def _measures(path: str, columns: Mapping[str, list[Any]]) -> bool:
    """Whether columns are metrics of boosting, which may have any name: the path ends with that of a phase,
    all columns are equally long, and most of their numbers have decimals."""
    are_floats = all(map(_are_decimal, columns.values()))
    return names_a_phase(path) and len({len(cells) for cells in columns.values()}) == 1 and are_floats


def _are_decimal(cells: Sequence[Any]) -> bool:
    """Whether there are enough cells for a course, and most are numbers with decimals."""
    return len(cells) >= MIN_CELLS and 2 * sum(isinstance(cell, float) for cell in cells) > len(cells)


def names_a_phase(path: str) -> bool:
    """Whether the last part of a path says that it is of the training, or of an evaluation."""
    words = re.split(r"[\W\d_]+", path.rpartition("/")[2].lower())
    return not OF_PHASES.isdisjoint(words)


def _prefixed(table: Found) -> Iterator[Row]:
    """The rows of a table, with its path in front of all names but those of counters."""
    names = dict.fromkeys(name for row in table.rows for name in row)
    full_names = {n: n if _counted(n) else f"{table.path}/{n}".lstrip("/") for n in names}
    return ({full_names[name]: cell for name, cell in row.items()} for row in table.rows)


BY_NAME = {"json": TableReader(identify, _table), "yaml": TableReader(_is_yaml, _table_of_yaml)}
