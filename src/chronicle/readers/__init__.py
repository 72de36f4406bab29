"""Readers of training logs: one module a format, chosen by the content of the file.

    attempts = read("logs/")          # every attempt of one run, columns of numpy, roles assigned
    reading = read_all("logs/")       # the same, and what could not be read
    runs_below("experiments/")        # which runs there are, and which files belong to each

A reader is a module with ``NAME``, ``SUFFIXES`` (a hint only), ``identify(path) -> bool`` and
``read(path) -> list[Attempt]``. Other packages add theirs as entry points of the group "chronicle.readers".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chronicle import roles
from chronicle.errors import LogError, NothingToRead, UnknownFormat
from chronicle.model import Attempt, Role
from chronicle.readers import csv_tables, json_lines

READERS = (csv_tables, json_lines)

Aliases = Sequence[tuple[str, Role]]


@dataclass(frozen=True)
class Reading:
    """All attempts that could be read, and one error for each log that could not."""

    attempts: tuple[Attempt, ...]
    problems: tuple[LogError, ...]


@dataclass(frozen=True)
class RunSource:
    """One run: its id (a relative path, "/" between folders) and the files it consists of."""

    run_id: str
    paths: tuple[Path, ...]


def read(path: str | Path, *, aliases: Aliases = ()) -> list[Attempt]:
    """All attempts of the run at ``path``, a log file or a directory."""
    reading = read_all(path, aliases=aliases)
    if not reading.attempts:
        raise next(iter(reading.problems), NothingToRead(f"{path}: no log found"))
    return list(reading.attempts)


def read_all(path: str | Path, *, aliases: Aliases = ()) -> Reading:
    """As `read`, but never raises for one bad file: what could not be read is in ``problems``."""
    path = Path(path)
    files = (
        [path]
        if path.is_file()
        else sorted(p for p in path.rglob("*") if p.is_file() and p.name != "label.json")
    )
    attempts: list[Attempt] = []
    problems: list[LogError] = []
    for file in files:
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        try:
            claims = [reader for reader in READERS if reader.identify(file)]
            if not claims:
                raise UnknownFormat(str(file), "no reader knows this format")
            for attempt in claims[0].read(file):
                named = attempt.name.replace(file.name, name, 1)
                attempts.append(replace(attempt, name=named, series=roles.assign(attempt.series, aliases)))
        except LogError as problem:
            problems.append(problem)
    return Reading(tuple(attempts), tuple(problems))


def runs_below(path: str | Path) -> list[RunSource]:
    """Which runs there are at ``path``: a file or a directory of one run, or a directory of runs."""
    path = Path(path)
    return [RunSource(path.name, (path,))]
