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
from chronicle.readers.runs_in_table import EXTREMES, RUN_NAMES, attempts_of, runs_of
from chronicle.readers.text import head_lines

NAME = "csv"
SUFFIXES = (".csv", ".tsv")

DOWNLOADED = ["step", "value", "wall_time"]  # from TensorBoard: run-<run>-tag-<tag>.csv


def identify(path: Path) -> bool:
    """A line of names, and below it rows of as many cells, most of them numbers or blank.

    Names that are numbers, and rows that do not fit, are only forgiven where a name counts steps.
    """
    lines = [line for line in head_lines(path) if line.strip()]
    if not lines or lines[0].lstrip()[:1] in "{[" or any(c < " " and c != "\t" for c in lines[0]):
        return False
    even = [line for line in lines[:7] if line.count('"') % 2 == 0]
    if even[:1] != lines[:1]:
        return False
    delimiter = delimiter_of(lines[0])
    if has_decimal_commas(even[1:], delimiter):
        even[1:] = [line.replace(",", ".") for line in even[1:]]
    header, *body = csv.reader(even, delimiter=delimiter)
    numeric = [number(cell) is not None for cell in header]
    if len(header) < 2 or all(numeric):
        return False
    shares = [share_of_numbers(row) if len(row) == len(header) else 0.0 for row in body]
    if any(tables.step_rank(name) is not None for name in header):
        return not body or max(shares) >= 0.5
    return not any(numeric) and 2 * sum(share > 0.5 for share in shares) >= max(len(body), 1)


def read(path: Path) -> list[Attempt]:
    """All attempts of the file (more than one only for a table of several runs).

    Raises:
        BadLog: nothing but a header, or no number in it.
    """
    table = Table(path)
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
    if not plain & set(RUN_NAMES) and not any(name.strip().endswith(EXTREMES) for name in names):
        return []
    return [run for run in runs_of(Table(path).columns) if run]
