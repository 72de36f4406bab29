"""Finds the runs at some paths, and the runs to which the logs of machines belong.

Kernel logs (`dmesg`) and job logs in a folder of their own concern a run that names the same job, or the only
run that was active when a fault happened (within an hour, and on one of its nodes if it names them).

Neighbouring folders may hold attempts of one training (`train/`, `train_resume1/`) or two runs (`lr0.1/`,
`lr0.2/`): those with similar names are read, and are one training if later steps continue earlier ones.
"""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from chronicle.build.store import Rows, last_seen
from chronicle.errors import ChronicleError, NotALog, NothingToRead, UsageError, unreadable
from chronicle.metrics.aliases import has_year, in_year_of
from chronicle.metrics.values import clipped, first_few, grouped, hosts_of, instant, moment, natural, plural
from chronicle.model import Attempt, Entry, Fault
from chronicle.readers import local, read_all, runs_below, runs_of_store, what_to_do
from chronicle.readers.console import FORMATS
from chronicle.readers.facts import is_side_file
from chronicle.readers.find import AGAIN, RunSource, claims, folder_claims, holds_log, is_log, scan
from chronicle.timeline import goes_on
from chronicle.timeline.courses import course, wall_clock
from chronicle.timeline.joins import AROUND_S, MACHINE_LOG
from chronicle.timeline.relation import Pair, Relation
from chronicle.workspace import folders
from chronicle.workspace.config import Confines
from chronicle.workspace.folders import RunFolder, Workspace, path_words, safe_id, with_unique_ids

_FETCHES = 4  # runs whose logs are fetched at the same time
_MOST_NAMED = 3  # runs that a message names
_NUMBER = re.compile(r"[-_. ]?\d{1,3}$")
_DATE_IN_NAME = re.compile(  # 20261122_073444, 2026-11-22-07-34, May04_12-00-00
    r"(?<!\d)(20\d\d[-_.]?[01]\d[-_.]?[0-3]\d|[A-Z][a-z]{2}[0-3]\d)[-_T]?[0-2]\d([-_.:]?[0-5]\d){1,2}(?!\d)"
)
_RANDOM_ID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{16,}(?![0-9A-Za-z])")  # the id of a tracker for a launch
_MOST_FOLDERS = 32  # folders with similar names that are compared: more would take too long to read
_TEXTS = frozenset(form.NAME for form in FORMATS)
_NEIGHBOURS = 8  # runs in and below one folder that are compared as possible copies


def expand(paths: Sequence[Path], *, trusted: bool = True) -> list[RunFolder]:
    """The runs below ``paths``: logs, folders of logs, run folders (with a run.toml) and workspaces.

    The second run of an id gets a number. If the paths are not ``trusted``, no address and no link in a
    run.toml or a folder is followed.

    Raises:
        UsageError: a path does not exist.
        NotALog: the paths hold only files that belong beside a log.
        NothingToRead: no path holds a log.
    """
    aside = passed_over(paths)
    if len(aside) == len(paths):
        raise NotALog(no_logs(aside))
    runs = [run for path in paths if path not in aside for run in _runs_at(path, trusted)]
    if not runs:
        first = next((path for path in paths if path.is_dir()), paths[0])
        raise NothingToRead(f"no log in {', '.join(map(path_words, paths))}. {what_to_do(first)}")
    return with_unique_ids(runs)


def passed_over(paths: Sequence[Path]) -> list[Path]:
    """The paths that hold only files that belong beside a log: a pattern such as `run/*` names them too."""
    return [path for path in paths if _is_aside(path)]


def _is_aside(path: Path) -> bool:
    if path.is_file():
        return is_side_file(path)
    files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    shown = (file for file in files if not file.name.startswith(".") and file.name not in folders.OUR_FILES)
    are_aside = map(is_side_file, shown)
    return next(are_aside, False) and all(are_aside)


def no_logs(aside: Iterable[Path]) -> str:
    """The message about paths that were passed over."""
    paths = ", ".join(map(path_words, aside))
    return f"{paths}: no log, only files that are read together with a log beside them"


def must_exist(path: Path) -> None:
    """Raises UsageError if a path does not exist. A broken link passes: it is reported as a log."""
    if path.is_symlink():
        try:
            path.stat()
        except OSError as err:
            if err.errno == errno.ELOOP:
                problem = f"{path_words(path)} is a link that leads back to itself"
                raise UsageError(problem, remedy="remove it") from err
    elif not path.exists():
        raise UsageError(f"no such file or folder: {path_words(path)}", remedy="check the path")


def _runs_at(path: Path, trusted: bool) -> Iterator[RunFolder]:
    must_exist(path)
    around = Workspace.find(path)
    workspace = around if around is None or trusted else around.untrusted()
    confines = workspace.confines if workspace else Confines(path.resolve(), (), trusted)
    if not trusted:
        confines.require_links(path)
    place, runs_folder = path.resolve(), workspace.runs_folder.resolve() if workspace else None
    if folders.is_run_folder(path) or (path.is_dir() and place.parent == runs_folder):
        yield from spread([folders.run_in(place, confines)])
    elif workspace and ((path / folders.CONFIG).is_file() or place == runs_folder):
        yield from spread(workspace.runs())
    elif path.is_dir() and any(map(folders.is_run_folder, path.iterdir())):
        yield from spread(folders.run_in(f.resolve(), confines) for f in sorted(path.iterdir()) if f.is_dir())
    else:
        runs = joined(runs_below(local(path, confines)))
        for source in runs:
            run = RunFolder(safe_id(source.run_id), source.paths, only=source.only, name=source.run_id)
            yield replace(run, readings=source.readings, searched_for=path.is_dir() and len(runs) > 1)


def named(workspace: Workspace, run_ids: Sequence[str] = ()) -> list[RunFolder]:
    """The runs of these ids (by default all of the workspace), as a build calls them; the id of a folder that
    holds several names each of them. Nothing is fetched. Raises UsageError with the nearest id."""
    run_folders, entries = {run.run_id: run for run in workspace.runs()}, workspace.entries
    if not run_folders.keys() >= {*run_ids} or not run_ids:  # else no other folder need be looked into
        runs = spread(run_folders.values(), entries, fetch=False)
    else:
        runs = spread((run_folders[run_id] for run_id in run_ids), entries, fetch=False)
    chosen = list[RunFolder]()
    for run_id in run_ids:
        folder = run_folders[run_id].folder if run_id in run_folders else None
        within = [run for run in runs if folder and run.folder == folder]
        chosen += within or [workspace.run(run_id, [*run_folders.values(), *runs])]
    return list({run.run_id: run for run in chosen}.values()) if run_ids else runs


def spread(runs: Iterable[RunFolder], entries: Path | None = None, *, fetch: bool = True) -> list[RunFolder]:
    """The runs; a store of several runs (a tracker's database) among their logs is replaced by its runs. A
    folder of one run that is unchanged since the last build, whose results are in ``entries``, stays shut.
    Unless they are to be fetched, logs behind addresses are left as they were fetched last."""
    runs, run_folders, seen = list(runs), list[RunFolder](), dict[str, Rows]()
    if entries:
        seen = {run.run_id: last_seen(run, entries / run.run_id) for run in runs if run.logs == (run.folder,)}
    with ThreadPoolExecutor(_FETCHES) as threads:
        unseen = [run for run in runs if not seen.get(run.run_id)]
        fetched = threads.map(_with_logs, unseen) if fetch else iter(unseen)
        for run in runs:
            rows = seen.get(run.run_id)
            run_folders += [replace(run, seen=rows)] if rows else _without_stores(next(fetched))
    return with_unique_ids(run_folders)


def _without_stores(run: RunFolder) -> list[RunFolder]:
    """The runs of the stores among the logs of a run, and the run itself if it has other logs. A log that
    cannot be looked into is the problem of its run."""
    try:
        files = [file for log in run.logs for file in (sorted(log.iterdir()) if log.is_dir() else [log])]
    except OSError as err:
        return [replace(run, problem=run.problem or unreadable(err.filename or run.title, err))]
    stores = {file: held for file in files if (held := runs_of_store(file, run.run_id))}
    if not stores:
        return [run]
    held_by = [(replace(run, logs=(file,)), source) for file, held in stores.items() for source in held]
    runs = [replace(of, run_id=safe_id(s.run_id), name=s.run_id, only=s.only) for of, s in held_by]
    apart = {*stores, *run.own_files}
    rest = tuple(f for f in files if f not in apart and (f in run.logs or holds_log(f)))
    return [*runs, replace(run, logs=rest)] if rest else runs


def _with_logs(run: RunFolder) -> RunFolder:
    """The run, after its logs behind addresses were fetched; a failure becomes the run's problem."""
    try:
        for log in run.logs:
            local(folders.address_of(log) or log, run.confines)
    except ChronicleError as err:
        return replace(run, problem=err)
    return run


class _Activity:
    """When a run was active (first and last Unix seconds of each attempt) and on which hosts, if known."""

    def __init__(self, entry: Entry) -> None:
        self.run_id, rows = entry.run_id, entry.attempts
        times = [(row.get("started"), row.get("ended")) for row in rows]
        self.spans = [[moment(str(time)) for time in ends] for ends in times if all(ends)]
        self.jobs = {row["job"] for row in rows if row.get("job")}
        # Without domains, because logs write the same name with and without.
        self.hosts = {h.partition(".")[0] for row in rows for h in hosts_of(row.get("nodes") or "")}

    def may_have_had(self, fault: Fault) -> bool:
        """Whether the fault happened while an attempt ran, on a host that may be one of its own."""
        near = any(
            first - AROUND_S <= in_year_of(fault.at_time, last) <= last + AROUND_S  # False for NaN
            for first, last in self.spans
        )
        return near and not (self.hosts and fault.host and fault.host.partition(".")[0] not in self.hosts)


def only_machines(entry: Entry) -> bool:
    """Whether nothing but logs of machines and jobs was read."""
    return not entry.metrics and all(row.get("format") == MACHINE_LOG for row in entry.attempts)


def refused(run: RunFolder) -> Iterator[ChronicleError]:
    """Why nothing is read of a run without a log: the error of each of its files that belongs beside none."""
    for log in run.logs:
        files = sorted(log.rglob("*")) if log.is_dir() else [log]
        for file in files if not holds_log(log) or not log.is_dir() else ():
            is_own = file.name.startswith(".") or file in run.own_files or is_side_file(file)
            with suppress(NothingToRead):
                yield from () if is_own or not file.is_file() else read_all(file).problems


def runs_concerned(logs: Sequence[Attempt], entries: Iterable[Entry]) -> tuple[list[str], str]:
    """The ids of the runs that machine logs concern, by job or by time; if there are none, the problem."""
    runs, jobs = [*map(_Activity, entries)], {str(log.facts.get("job")) for log in logs}
    faults = [fault for log in logs for fault in log.faults]
    present = [[run.run_id for run in runs if run.may_have_had(fault)] for fault in faults]
    run_ids = {run.run_id for run in runs if jobs & run.jobs}
    run_ids |= {there[0] for there in present if len(there) == 1}
    maybe = sorted({run_id for there in present for run_id in there})
    of_job = all(log.facts.get("log_of") == "job" for log in logs)
    of_machines = [fault for fault in faults if fault.kind != "read"]
    return sorted(run_ids), "" if run_ids else _of_no_run(of_machines, maybe, of_job)


def _of_no_run(faults: Sequence[Fault], maybe: Sequence[str], of_job: bool) -> str:
    """The problem of machine logs that concern no run for certain, with the runs that are possible."""
    what = plural(len(faults), "fault")
    if faults:
        first = faults[0]
        time = instant(first.at_time) if has_year(first.at_time) else ""
        where = ", ".join(filter(None, (time, first.host)))
        what += f", first: {clipped(first.what, 120)}" + (f" ({where})" if where else "")
    which = clipped(first_few(maybe, _MOST_NAMED), 200)
    why = "no run here names the same job or ran at that time"
    if maybe:
        why = f"it may belong to {which}, which ran at the same time"
    remedy = "put it into the folder of its run, or name it among the paths of its run.toml"
    log = "the output of a job that logged no values" if of_job else "the log of a machine, not of a training"
    return f"{log} ({what}); {why}. Remedy: {remedy}"


def joined(sources: Sequence[RunSource]) -> list[RunSource]:
    """The runs, after those that continue a neighbouring one were merged with it, under its id. A few runs
    keep the results of reading, so that they need not be read again."""
    groups = grouped(sources, lambda run: (run.run_id, "") if run.only else _stem(run.run_id)).values()
    runs = _without_duplicates([run for group in groups for run in _trainings(group)])
    return runs if len(sources) <= _NEIGHBOURS else [replace(run, readings={}) for run in runs]


def _without_duplicates(runs: Sequence[RunSource]) -> list[RunSource]:
    """The runs, after two logs of one training in different formats (a console and event files) were merged,
    or a console and the file of its logger. Two logs of any other format are two trainings, and a run of a
    store is read only from there."""
    log_folders = {path.parent for run in runs for path in run.paths if not path.is_dir()}

    def outermost(run: RunSource) -> Path | None:
        around = [folder for folder in log_folders if run.paths[0].is_relative_to(folder)]
        return min(around, key=lambda folder: len(folder.parts), default=None)

    kept = {run.run_id: run for run in runs}
    for group in grouped((run for run in runs if not run.only), outermost).values():
        formats = {run.run_id: _format(run) for run in group if 1 < len(group) <= _NEIGHBOURS}
        if len(set(formats.values())) < 2 and _TEXTS.isdisjoint(formats.values()):
            continue
        merged = _merged(map(_read, group), partial(_are_copies, formats))
        kept |= {run.run_id: run for run in merged}
        for run_id in formats.keys() - {run.run_id for run in merged}:
            del kept[run_id]
    return list(kept.values())


def _merged(
    sources: Iterable[RunSource], belong_together: Callable[[RunSource, RunSource], bool]
) -> list[RunSource]:
    """The runs, each merged with the first earlier one to which it belongs, under the id of that one."""
    runs: list[RunSource] = []
    for source in sources:
        k = next((k for k, run in enumerate(runs) if belong_together(run, source)), None)
        if k is None:
            runs.append(source)
        else:
            readings = {**runs[k].readings, **source.readings}
            runs[k] = replace(runs[k], paths=(*runs[k].paths, *source.paths), readings=readings)
    return runs


def _format(source: RunSource) -> str:
    """The reader of the first log of a run."""
    first = next(iter(scan(path, is_log).all_logs()) if (path := source.paths[0]).is_dir() else iter([path]))
    try:
        return " ".join(reader.NAME for reader in (folder_claims if first.is_dir() else claims)(first))
    except (ChronicleError, OSError):
        return ""


def _are_copies(formats: Mapping[str, str], run: RunSource, other: RunSource) -> bool:
    """Whether an attempt of each of two runs has the same values at its steps, and the format of both is not
    the same, or is that of a console."""
    if formats[run.run_id] == formats[other.run_id] not in _TEXTS:
        return False
    courses = [[known for a in _attempts(source) if (known := course(a))] for source in (run, other)]
    return any(Pair(a, b, a).copied is Relation.SAME for a in courses[0] for b in courses[1])


def _stem(run_id: str) -> tuple[str, str]:
    """The folder of a run, and its name without the parts that distinguish launches of one training."""
    around, _, name = run_id.rpartition("/")
    name = _RANDOM_ID.sub("*", _DATE_IN_NAME.sub("*", name))
    while (shorter := _NUMBER.sub("", AGAIN.sub("", name))) not in ("", name):
        name = shorter
    return around, name


def _trainings(group: list[RunSource]) -> list[RunSource]:
    """The trainings among runs with similar names, each launch merged with the one that it continues."""
    if not 1 < len(group) <= _MOST_FOLDERS:
        return group
    by_time = sorted(map(_read, group), key=_begun)
    return _merged(by_time, lambda one, later: goes_on(_attempts(one), _attempts(later)))


def _read(source: RunSource) -> RunSource:
    """The run with the results of reading its logs; without any if one of them cannot be read."""
    try:
        return source if source.readings else replace(source, readings={p: read_all(p) for p in source.paths})
    except (ChronicleError, OSError):
        return source


def _attempts(source: RunSource) -> tuple[Attempt, ...]:
    read = ((path, attempt) for path, reading in source.readings.items() for attempt in reading.attempts)
    return tuple(replace(attempt, name=f"{path}/{attempt.name}") for path, attempt in read)


def _begun(source: RunSource) -> tuple[float, tuple[Any, ...]]:
    """The key that orders runs by the begin of their first attempt (unknown ones last), then by name."""
    first = min((wall_clock(attempt)[0] for attempt in _attempts(source)), default=math.nan)
    return math.inf if math.isnan(first) else first, natural(source.run_id)
