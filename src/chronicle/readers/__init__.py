"""Readers of training logs: one module a format, chosen by the content of the file.

    attempts = read("logs/")          # every attempt of one run, columns of numpy, roles assigned
    reading = read_all("logs/")       # the same, and what could not be read
    runs_below("experiments/")        # which runs there are, and which files belong to each

A reader is a module with ``NAME``, ``SUFFIXES`` (a hint only), ``identify(head) -> bool`` and
``read(path) -> list[Attempt]``. Other packages add theirs as entry points of the group "chronicle.readers".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from chronicle.errors import LogError, NothingToRead, UnknownFormat
from chronicle.metrics import roles
from chronicle.model import Attempt, Role, relocated
from chronicle.readers.arrange import arrange
from chronicle.readers.dispatch import (
    READERS,
    all_readers,
    is_log,
    is_text,
    log_like,
    read_file,
    read_files,
    run_key,
    runs_of,
)
from chronicle.readers.files import RunSource, runs_in, scan, stored_runs
from chronicle.readers.packed import plain_name
from chronicle.readers.protocol import plugins
from chronicle.readers.text import clean
from chronicle.workspace.locations import address_of, is_address

__all__ = [
    "READERS",
    "Reading",
    "RunSource",
    "local",
    "read",
    "read_all",
    "runs_below",
    "runs_of_store",
    "what_to_do",
]

_MOST_NAMED = 5

Aliases = Sequence[tuple[str, Role]]


@dataclass(frozen=True)
class Reading:
    """All attempts that could be read, and an error for each log that could not."""

    attempts: tuple[Attempt, ...]
    problems: tuple[LogError, ...]


def read(path: str | Path, *, aliases: Aliases = ()) -> list[Attempt]:
    """All attempts of the run at ``path``: a log file, or a folder with all that is below it.

    ``aliases`` are (regular expression of a metric's name, role), which win over the alias table.

    Raises:
        LogError: there are logs, and none could be read (the first problem is raised).
        NothingToRead: there is no log, or none with a number in it.
    """
    reading = read_all(path, aliases=aliases)
    if not reading.attempts:
        nothing = f"{path}: no log with a number in it. {what_to_do(local(path))}"
        raise next(iter(reading.problems), NothingToRead(nothing))
    return list(reading.attempts)


def read_all(path: str | Path, *, aliases: Aliases = (), only: str = "") -> Reading:
    """As `read`, but one bad file among others stops nothing: it is in ``problems``.

    ``path`` may be an address (see `local`). ``only`` names one run of a store that holds several; the
    attempts of the others are left out.

    Raises:
        NothingToRead: there is no such file or folder.
    """
    path = local(path)
    folder = path.is_dir() and not is_log(path)
    attempts: list[Attempt] = []
    problems = list(plugins()[1])
    unknown: list[LogError] = []
    files = list(scan(path, is_log).all_logs()) if folder else [path]
    for file, found in zip(files, _chosen(files, only) if only else read_files(files), strict=True):
        if isinstance(found, LogError):
            name = plain_name(file)
            document = name.endswith(".json") and name != "trainer_state.json"
            (unknown if document and isinstance(found, UnknownFormat) else problems).append(found)
            continue
        relative = file.relative_to(path).as_posix() if folder else file.name
        attempts += [_named(one, relative + one.name.removeprefix(file.name)) for one in found]
    if not attempts:  # a .json of an unknown kind is a configuration where a log lies beside it
        problems += unknown
    attempts = [replace(one, series=roles.assign(one.series, aliases)) for one in arrange(attempts)]
    address = address_of(path)
    if address:
        attempts = [_told(one, str(path), address) for one in attempts]
        problems = [_told_problem(one, str(path), address) for one in problems]
    return Reading(tuple(attempts), tuple(problems))


def local(path: str | Path) -> Path:
    """A path as it is; what lies behind an address (`s3://bucket/run`) as its mirror on this machine.

    Raises:
        ChronicleError: as `chronicle.readers.remote.fetch`.
    """
    if isinstance(path, str) and is_address(path):
        from chronicle.readers.remote import fetch  # with all that it takes to fetch, which few need

        return fetch(path, log_like=log_like, is_log=is_log)
    return Path(path)


def _chosen(files: list[Path], only: str) -> Iterator[list[Attempt] | LogError]:
    """The attempts of one run in stores. A store is read once for all that is asked of it in turn."""
    for file in files:
        try:
            info = file.stat()
            found = _whole_store(file, info.st_size, info.st_mtime_ns)
            yield [one for one in found if one.facts.get("run") == only]
        except LogError as err:
            yield err
        except OSError:
            yield from read_files([file])


@lru_cache(maxsize=1)
def _whole_store(file: Path, size: int, time_ns: int) -> list[Attempt]:
    return read_file(file)


def _named(attempt: Attempt, name: str) -> Attempt:
    """The attempt under a name; file names that are no UTF-8 are written out, so that pages can hold them."""
    return replace(
        attempt,
        name=clean(name),
        sources=tuple(map(clean, attempt.sources)),
        faults=tuple(relocated(fault, clean) for fault in attempt.faults),
    )


def _told(attempt: Attempt, mirror: str, address: str) -> Attempt:
    """What was read of a mirror, under its address."""

    def published(source: str) -> str:
        return source.replace(mirror, address)

    faults = tuple(relocated(fault, published) for fault in attempt.faults)
    return replace(attempt, sources=tuple(map(published, attempt.sources)), faults=faults)


def _told_problem(problem: LogError, mirror: str, address: str) -> LogError:
    where, what = (text.replace(mirror, address) for text in (problem.where, problem.problem))
    return type(problem)(where, what)


def what_to_do(path: Path) -> str:
    """What to do where nothing at a path is a log: look at the texts there, or name a log."""
    texts = list(islice(scan(path, is_text).all_logs(), _MOST_NAMED + 1)) if path.is_dir() else []
    if not texts:
        return f"Remedy: name a log of a known format ({', '.join(one.NAME for one in all_readers())})"
    named = ", ".join(clean(str(text.relative_to(path))) for text in texts[:_MOST_NAMED])
    more = ", ..." if len(texts) > _MOST_NAMED else ""
    return f"No reader knows {named}{more}. Remedy: `chronicle doctor` on one of them says what it lacks"


def runs_below(path: str | Path) -> list[RunSource]:
    """The runs at ``path``: one for a file, one for a folder of attempts, many for a folder of runs.

    Where all logs of a folder belong to one run, the folder itself stands for them.
    """
    path = local(path)
    if not path.is_dir() or is_log(path):
        name = run_key(path) or path.name
        return runs_of_store(path) or [RunSource(name, (path,))]
    folder = scan(path, is_log)
    return runs_in(folder, runs_of, run_key) if any(folder.all_logs()) else []


def runs_of_store(path: Path, prefix: str = "") -> list[RunSource]:
    """The runs of a file that holds several, `prefix/<file>/<run>`; [] for any other."""
    return stored_runs(path, runs_of, prefix)
