"""From paths on the command line to the runs they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from chronicle.errors import ChronicleError, NothingToRead, UsageError
from chronicle.readers import local, runs_below, runs_of_store, what_to_do
from chronicle.workspace.folders import CONFIG, RUN_CONFIG, RunFolder, Workspace, run_in, safe_id
from chronicle.workspace.locations import address_of, shown

_FETCHES = 4  # runs whose logs are fetched at a time


def expand(paths: Sequence[Path]) -> list[RunFolder]:
    """The runs below ``paths``: logs, folders of logs, run folders (with a run.toml) and workspaces.

    Two runs of the same id are told apart by a number.

    Raises:
        UsageError: a path that does not exist.
        NothingToRead: no path holds a log.
    """
    runs = [run for path in paths for run in _runs_at(path)]
    if not runs:
        folders = [path for path in paths if path.is_dir()] or list(paths)
        raise NothingToRead(f"no log in {', '.join(map(shown, paths))}. {what_to_do(folders[0])}")
    return list(_distinct(runs))


def must_exist(path: Path) -> None:
    """Raises UsageError for a path that somebody named and that leads nowhere; a broken link is a log."""
    if not path.exists() and not path.is_symlink():
        raise UsageError(f"no such file or folder: {shown(path)}")


def _runs_at(path: Path) -> Iterator[RunFolder]:
    must_exist(path)
    if (path / RUN_CONFIG).is_file():
        yield from spread([run_in(path.resolve())])
    elif (path / CONFIG).is_file():
        workspace = Workspace.find(path)
        yield from spread(workspace.runs()) if workspace else ()
    elif path.is_dir() and any(path.glob(f"*/{RUN_CONFIG}")):
        yield from spread(run_in(f.resolve()) for f in sorted(path.iterdir()) if f.is_dir())
    else:
        yield from (RunFolder(safe_id(s.run_id), s.paths, only=s.only) for s in runs_below(path))


def spread(runs: Iterable[RunFolder]) -> Iterator[RunFolder]:
    """The runs, each store of several runs among their logs (a tracker's database) as its runs."""
    for run in _fetched(list(runs)):
        files = [file for log in run.logs for file in (sorted(log.iterdir()) if log.is_dir() else [log])]
        stores = {file: found for file in files if (found := runs_of_store(file, run.run_id))}
        if not stores:
            yield run
            continue
        for file, found in stores.items():
            yield from (
                replace(run, run_id=safe_id(one.run_id), logs=(file,), only=one.only) for one in found
            )
        rest = tuple(file for file in files if file not in stores and file not in run.own_files)
        if rest:
            yield replace(run, logs=rest)


def _fetched(runs: list[RunFolder]) -> Iterator[RunFolder]:
    """The runs, with what lies behind an address; where it cannot be had, that is the run's problem."""
    with ThreadPoolExecutor(_FETCHES) as threads:
        yield from threads.map(_with_logs, runs)


def _with_logs(run: RunFolder) -> RunFolder:
    try:
        for log in run.logs:
            local(address_of(log) or log)
    except ChronicleError as err:
        return replace(run, problem=err)
    return run


def _distinct(runs: list[RunFolder]) -> Iterator[RunFolder]:
    seen: Counter[str] = Counter()
    for run in runs:
        seen[run.run_id] += 1
        number = seen[run.run_id]
        yield run if number == 1 else replace(run, run_id=f"{run.run_id}-{number}")
