"""Readers of training logs: one module a format, chosen by the content of the file.

    attempts = read("logs/")          # every attempt of one run, columns of numpy, roles assigned
    reading = read_all("logs/")       # the same, and what could not be read
    runs_below("experiments/")        # which runs there are, and which files belong to each

What a reader is, and how other packages add theirs, says `chronicle.readers.catalogue`.
"""

from __future__ import annotations

import errno
import gc
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chronicle import errors
from chronicle.errors import BadLog, LogError, NothingToRead, UnknownFormat, contained, unreadable
from chronicle.metrics import roles
from chronicle.metrics.roles import Overrides
from chronicle.model import Attempt, Fault, Place
from chronicle.readers import find
from chronicle.readers.arrange import arrange
from chronicle.readers.catalogue import READERS, Reader, all_readers, having, hook, plugins
from chronicle.readers.facts import side_facts
from chronicle.readers.find import RunSource, is_log, runs_of_store, scan
from chronicle.readers.packed import error_named_back, named_back, respelled, unpacked
from chronicle.readers.text import clean, version_of

if TYPE_CHECKING:
    from chronicle.workspace.config import Confines

__all__ = ["READERS", "Reading", "RunSource", "read", "read_all", "runs_below", "runs_of_store"]

ASK_DOCTOR = "`chronicle doctor` shows what its lines lack"
_UNKNOWN = (
    f"no reader knows this format. Remedy: {ASK_DOCTOR}; "
    "convert it to CSV with a column `step`, or write a reader (docs/own-reader.md)"
)
# What is no text and no log, by its ending, and how it becomes one.
_EXPORTS = {
    ".xlsx .xls .ods": "save the sheet as CSV",
    ".pt .pth .ckpt .joblib": "loading it can run any code; load it where it was made, and save its history "
    "with json.dump",
    ".mat .h5 .hdf5": "write its history as CSV with the program that made it",
}
_FOREIGN = "is not read, because it is in the folder of a launch. Remedy: move it beside that folder"
_AIM = ".aim"  # the folder of a repository that only Aim's own package opens
_LACKS_AIM = "Remedy: install aim, because only Aim's own package reads the Aim repository in it"
_UNTRUSTED_AIM = (
    "holds an Aim repository, which only Aim's own package reads, and not if it is untrusted. "
    "Remedy: export its runs, or build without --untrusted if you trust them"
)
_LINK = "repair or remove the link"
_MOST_NAMED = 5


@dataclass(frozen=True)
class Reading:
    """All attempts that could be read, and an error for each log that could not."""

    attempts: tuple[Attempt, ...]
    problems: tuple[LogError, ...]


def read(path: str | Path, *, aliases: Overrides = ()) -> list[Attempt]:
    """Reads all attempts of the run at ``path``: a log file, or a folder with all that is below it.
    ``aliases`` are pairs (regular expression of a metric's name, role), which win over the alias table. If
    there are logs and none can be read, the problem of the first is raised (LogError); NothingToRead if none
    holds a number."""
    reading = read_all(path, aliases=aliases)
    if not reading.attempts:
        nothing = f"{path}: no log with a number in it. {what_to_do(local(path))}"
        raise next(iter(reading.problems), NothingToRead(nothing))
    return list(reading.attempts)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pauses the collection of garbage: reading and judging a run make millions of objects and hardly a
    cycle, and up to a fifth of their time went into looking for them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@collection_paused()
def read_all(path: str | Path, *, aliases: Overrides = (), only: str = "") -> Reading:
    """Reads like `read`, but a bad file among others stops nothing: its error is in ``problems``. ``path``
    may also be an address (see `local`). Of a store of several runs, only the one called ``only`` is read, if
    it is given. Raises NothingToRead if there is no such file or folder."""
    path = local(path)
    folder = path.is_dir() and not is_log(path)
    attempts, problems = list[Attempt](), list(plugins()[1])
    files = list(scan(path, is_log).all_logs()) if folder else [path]
    for file, outcome in zip(files, _chosen(files, only) if only else read_files(files), strict=True):
        if isinstance(outcome, LogError):
            problems.append(outcome)
            continue
        relative = file.relative_to(path).as_posix() if folder else file.name
        for log in outcome:  # file names that are no UTF-8 are written out, so that pages can hold them
            attempts.append(respelled(log, clean, name=clean(relative + log.name.removeprefix(file.name))))
    attempts = arrange(attempts, side_facts(path, path if folder else path.parent))
    for k, log in enumerate(roles.assign_all(attempts, aliases)):
        attempts[k] = log
    if "mirror" in path.parts:  # asked of mirrors alone: the import takes long
        from chronicle.workspace.folders import address_of

        own, address = str(path), address_of(path)

        def published(text: str) -> str:
            return text.replace(own, address or own)

        attempts = [respelled(log, published) for log in attempts]
        problems = [type(err)(published(err.where), published(err.problem)) for err in problems]
    return Reading(tuple(attempts), tuple(problems))


def local(path: str | Path, confines: Confines | None = None) -> Path:
    """The path under which something can be read on this machine: a path as it is, and for an address
    (`s3://bucket/run`) its mirror. A folder with a repository of Aim and no log is mirrored in the same way,
    if Aim is installed. ``confines`` say where a server may redirect a fetch to (None: to any public host).
    Raises LogError if only Aim's own package reads the folder and ``confines`` trust nothing, and what
    `chronicle.readers.remote.fetch` raises."""
    if isinstance(path, str) and "://" in path:
        from chronicle.readers.remote import fetch  # with all that it takes to fetch, which few need
        from chronicle.workspace.folders import is_address

        if is_address(path):
            return fetch(path, confines)
    path = Path(path)
    if os.path.isdir(path / _AIM) and find_spec("aim") and not any(scan(path, is_log).all_logs()):
        if confines and not confines.trusted:
            raise LogError(str(path), _UNTRUSTED_AIM)
        return local(f"aim://{path.resolve()}", confines)
    return path


def _chosen(files: list[Path], only: str) -> Iterator[list[Attempt] | LogError]:
    """Yields the attempts of the run called ``only`` in each store, or its error. A store is read once, even
    if its runs are asked for one after the other."""
    for file in files:
        try:
            attempts = _whole_store(file, *version_of(file))
            yield [attempt for attempt in attempts if attempt.facts.get("run") == only]
        except LogError as err:
            yield err
        except OSError:
            yield from read_files([file])


@lru_cache(maxsize=1)
def _whole_store(file: Path, *_version: int) -> list[Attempt]:
    return read_file(file)


def what_to_do(path: Path, files: Iterable[Path] | None = None) -> str:
    """A remedy for a path at which nothing is a log: look at its texts, or name a log. ``files`` are the
    files at the path (None: they are listed here)."""
    if path.name == _AIM or os.path.isdir(path / _AIM):
        return _LACKS_AIM
    if path.is_file() or files is None:
        files = [] if path.is_file() else find.files_below(path)
    texts = list(islice(filter(find.is_text, files), _MOST_NAMED + 1))  # no other file is opened
    if not texts:
        return "Remedy: name a log of a known format (docs/formats.md)"
    return nobody_reads([str(text.relative_to(path)) for text in texts], are_all=False)


def nobody_reads(names: Sequence[str], are_all: bool = True) -> str:
    """The message that no reader knows some texts. ``are_all`` is false if others were left unopened."""
    named, rest = ", ".join(map(clean, names[:_MOST_NAMED])), len(names) - _MOST_NAMED
    if rest > 0:
        named += f" and {rest} more" if are_all else " and others"
    which = "it" if len(names) == 1 else "one of them"
    return f"No reader knows {named}. Remedy: `chronicle doctor` on {which} says what it lacks"


@collection_paused()
def runs_below(path: str | Path) -> list[RunSource]:
    """The runs at ``path``: one for a file, one for a folder of attempts, many for a folder of runs. Where
    all logs of a folder belong to one run, the folder itself stands for them."""
    path = local(path)
    if not path.is_dir() or is_log(path):
        return runs_of_store(path) or [RunSource(find.run_key(path) or path.name, (path,))]
    folder = scan(path, is_log)
    return find.runs_in(folder) if any(folder.all_logs()) else []


def read_file(path: Path) -> list[Attempt]:
    """All attempts of one file, or of a folder that is one log; the fact "format" names the reader. Raises
    NothingToRead where there is no such file, and LogError where it cannot be read."""
    try:
        if os.path.isdir(path) and (readers := find.folder_claims(path)):
            reader = _only(readers, path)
            attempts = hook(reader, "read_folder", path)
            unread = tuple(Fault(Place(str(log)), _FOREIGN) for log in find.foreign_logs(reader, path))
            return _by(reader, [replace(attempt, faults=(*attempt.faults, *unread)) for attempt in attempts])
        _require_regular(path)
        with unpacked(path) as file:
            if file.path == path:
                return _plain(path)
            try:
                _require_regular(file.path)
                return [named_back(attempt, file, path) for attempt in _plain(file.path)]
            except LogError as err:
                raise error_named_back(err, file, path) from err
    except OSError as err:
        raise unreadable(path, err) from err


def read_files(paths: Sequence[Path]) -> Iterator[list[Attempt] | LogError]:
    """Reads each file like `read_file`, in order. Errors are yielded in place of attempts, except
    NothingToRead, which is raised. Files whose names are those of a reader with `read_many`, which is faster,
    are handed to it together."""
    faster = having("read_many")

    def reader_of(path: Path) -> Any:
        named = (reader for reader in faster if any(suffix in path.name for suffix in reader.SUFFIXES))
        return next(named, None) if faster and os.path.isfile(path) else None

    for reader, group in groupby(paths, key=reader_of):
        files = list(group)
        for path, outcome in zip(files, _together(reader, files), strict=False):
            try:
                if isinstance(outcome, list):
                    yield _by(reader, outcome)
                else:
                    yield outcome or read_file(path)
            except LogError as err:
                yield err


def _together(reader: Any, files: list[Path]) -> Iterator[Any]:
    """Yields the attempts or the error of each of many files; None for a file that the reader leaves to
    others, and for all files from the first one on at which it fails."""
    with suppress(Exception):
        for path, outcome in zip(files, reader.read_many(files) if reader else (), strict=False):
            yield unreadable(path, outcome) if isinstance(outcome, OSError) else outcome
    yield from repeat(None)


def _plain(path: Path) -> list[Attempt]:
    reader = _only(find.claims(path), path)
    with contained(str(path)):
        return _by(reader, reader.read(path))


def _by(reader: Reader, attempts: list[Attempt]) -> list[Attempt]:
    return [replace(attempt, facts={"format": reader.NAME, **attempt.facts}) for attempt in attempts]


def _only(readers: list[Reader], path: Path) -> Reader:
    """The one reader that claims a log. Raises UnknownFormat if there is none, and AmbiguousFormat if there
    are several."""
    if not readers:
        for reader in all_readers():
            if lacks := hook(reader, "lacks", path):
                raise UnknownFormat(str(path), lacks)
        for suffixes, remedy in _EXPORTS.items():
            if path.suffix.lower() in suffixes.split():
                raise UnknownFormat(str(path), f"files like {path.suffix} are not read", remedy=remedy)
        raise UnknownFormat(str(path), _UNKNOWN)
    if len(readers) > 1:
        names = " and ".join(repr(reader.NAME) for reader in readers)
        problem = f"readers {names} both claim it. Remedy: uninstall one of them"
        raise errors.AmbiguousFormat(str(path), problem)
    return readers[0]


def _require_regular(path: Path) -> None:
    """Raises an error for a file that cannot be opened, that is empty, or that would block the reader for
    ever."""
    try:
        info = path.stat()
    except OSError as err:
        if err.errno == errno.ELOOP:
            raise LogError(str(path), "is a link that leads to itself", remedy=_LINK) from None
        if err.errno == errno.ENOENT and path.is_symlink():
            problem = f"is a link to {path.readlink()}, which does not exist"
            raise LogError(str(path), problem, remedy=_LINK) from None
        if err.errno == errno.ENOENT:
            raise NothingToRead(str(path), "no such file or folder", remedy="check the path") from None
        raise
    if stat.S_ISDIR(info.st_mode):  # only a folder that could not be listed comes here
        os.scandir(path).close()
    if not stat.S_ISREG(info.st_mode):
        raise LogError(str(path), errors.NOT_REGULAR, remedy="name a file")
    if not info.st_size:
        raise BadLog(str(path), "is empty", remedy="remove it, or wait until it is written to")
