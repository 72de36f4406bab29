"""CSV and TSV: one row a logged step, blank where nothing was measured; or long, one row a value.

A blank cell (also NA, null, None) is "not measured in this row"; a spelled nan is data. A table of several
runs gives an attempt a run.
"""

from __future__ import annotations

import csv
from pathlib import Path

from chronicle.errors import BadLog
from chronicle.model import Attempt
from chronicle.readers import tables
from chronicle.readers.cells import number, share_of_numbers
from chronicle.readers.csv_rows import Table, delimiter_of, has_decimal_commas
from chronicle.readers.dvclive import is_dvclive, read_dvclive
from chronicle.readers.file_names import is_metric, loss_of, names_of
from chronicle.readers.runs_in_table import EXTREMES, RUN_NAMES, attempts_of, runs_of
from chronicle.readers.text import Head, head_lines

NAME = "csv"
SUFFIXES = (".csv", ".tsv")

_OF_PANDAS = ["0"]  # the header of a list that pandas wrote
DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv


def identify(head: Head) -> bool:
    """A line of names, and below it rows of as many cells, most of them numbers or blank.

    Names that are numbers, and rows that do not fit, are only forgiven where a name counts steps, or the file
    is named after a loss; then the line of names may be missing too.
    """
    header, *body = _begin(head.path) or [[]]
    numeric = [number(cell) is not None for cell in header]
    if not header or (all(numeric) and header != _OF_PANDAS):
        return bool(names_of(head.path, [header, *body]))
    if len(header) == 1:
        return is_metric(head.path, header[0], [cell for row in body for cell in row])
    shares = [share_of_numbers(row) if len(row) == len(header) else 0.0 for row in body]
    if any(tables.step_rank(name) is not None for name in header):
        return not body or max(shares) >= 0.5
    return (not any(numeric) or bool(loss_of(head.path))) and (
        2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)
    )


def _begin(path: Path) -> list[list[str]]:
    """The cells of the first lines; [] where they are no lines of a table."""
    lines = [line for line in head_lines(path) if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[" or any(c < " " and c != "\t" for c in lines[0]):
        return []
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return []
    delimiter = delimiter_of(lines[0])
    if has_decimal_commas(even[1:], delimiter):
        even[1:] = [line.replace(",", ".") for line in even[1:]]
    return list(csv.reader(even, delimiter=delimiter))


def lacks(path: Path) -> str:
    """What a table of numbers lacks to be read; "" for what is no such table."""
    rows = _begin(path)
    blanks = all(len(row) == 1 < len(row[0].split()) for row in rows)
    rows = [row[0].split() for row in rows] if blanks else rows
    if not rows or any(number(cell) is None for row in rows for cell in row):
        return ""
    parted = "part them by commas, and " if blanks else ""
    names = "`loss`, or name the file after it (`val_loss.csv`)" if len(rows[0]) == 1 else "`step,loss`"
    names += f" and so on for all {len(rows[0])} columns" if len(rows[0]) > 2 else ""
    return (
        f"holds numbers without names. Remedy: {parted}write their names into a first line, such as {names}"
    )


def read(path: Path) -> list[Attempt]:
    """All attempts of the file (more than one only for a table of several runs).

    Raises:
        BadLog: nothing but a header, or no number in it.
    """
    rows = _begin(path)
    table = Table(path, [] if rows[:1] == [_OF_PANDAS] else names_of(path, rows))
    if sorted(map(tables.plain, table.names)) == DOWNLOADED:
        value = next(name for name in table.names if tables.plain(name) == "value")
        table.columns[path.stem.partition("-tag-")[2] or path.stem] = table.columns.pop(value)
    if not table.n_rows:
        raise BadLog(str(path), "has a header and no rows. Remedy: remove it, or wait until it is written to")
    return attempts_of(path, table.n_rows, table.columns, faults=table.faults, truncated=table.truncated)


def identify_folder(path: Path) -> bool:
    """A folder of DVCLive: tables of one metric each, together one log."""
    return is_dvclive(path)


def read_folder(path: Path) -> list[Attempt]:
    """The attempt of such a folder. Raises BadLog where it holds no number."""
    return read_dvclive(path)


def runs(path: Path) -> list[str]:
    """The runs of a table of several, as the fact "run" of their attempts calls them; [] for any other.

    The rows are only read where a column names runs.

    Raises:
        BadLog: the header cannot be read.
    """
    header = next((line for line in head_lines(path) if line.strip()), "")
    names = (
        next(csv.reader([header], delimiter=delimiter_of(header)), []) if header.count('"') % 2 == 0 else []
    )
    plain = {tables.plain(name) for name in names}
    several = plain & set(RUN_NAMES) or any(name.strip().endswith(EXTREMES) for name in names)
    if not several and not (loss_of(path) and len(names) > 2):
        return []
    return [run for run in runs_of(path, Table(path).columns) if run]
