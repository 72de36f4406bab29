"""Takes a run from its logs to its entry on disk: reads, stitches, classifies and draws it. It is cached.

`runs` finds the runs at some paths, for `chronicle.runs` and for the commands.
"""

from __future__ import annotations

import csv
import gc
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from gzip import GzipFile
from io import TextIOWrapper
from itertools import repeat
from pathlib import Path

import numpy as np
import orjson

from chronicle.build.entry import entry_from_json, make_entry, to_json
from chronicle.build.redact import Redactor, redactor_of
from chronicle.build.site import code_sha256
from chronicle.build.sources import expand, no_logs, passed_over, refused
from chronicle.build.store import ENTRY, MEMORY, ROW, Rows, damaged, fingerprint, kept_files, note_kept
from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.errors import ChronicleError, ConfigError, NotALog, NothingToRead, UsageError, contained
from chronicle.model import COLUMNS, Attempt, Diagnosis, Entry, Role, Timeline, relocated
from chronicle.pages.gallery import for_lists
from chronicle.readers import Reading, collection_paused, local, read_all
from chronicle.readers.packed import respelled
from chronicle.readers.read_on import kept_in
from chronicle.story import picture_edge, tell
from chronicle.timeline import on_axis, stitch
from chronicle.timeline.axes import OnAxis
from chronicle.workspace.config import WorkspaceConfig, unknown
from chronicle.workspace.folders import RunFolder, Workspace, path_words
from chronicle.workspace.locks import remove

_NOTHING_KNOWN = "no column counts steps, and no metric is recognised"
_ASK_DOCTOR = "`chronicle doctor` shows what is in it"
READ_ON = "read-on"  # folder beside the entries: how far growing logs have been read
POINTS, _VIEW = "series.csv.gz", "view.js"
_DATA_POINTS = 50_000  # rows of the CSV of a page; of a longer run it has every k-th point of each metric


@dataclass(frozen=True)
class Outcome:
    """The result for one run: the part of its entry that lists show (`chronicle.pages.gallery.for_lists`), or
    the ``problems`` of its logs. ``remarks`` are worth saying, but no problems.

    ``files`` below ``folder`` belong to the page of the run, with size, time and hash if the next build may
    use them. ``names`` maps the numbers in its texts to hosts and users; it is not published.
    """

    run_id: str
    folder: Path
    entry: Entry | None
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    files: Rows = field(default_factory=dict)
    cached: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def full_entry(self) -> Entry:
        """The complete entry. Raises OSError or ValueError if it cannot be read."""
        return _read_entry(self.folder)


@dataclass(frozen=True)
class Product:
    """One run and the folder of its entry. Small and picklable, because workers receive nothing else."""

    run: RunFolder
    config: WorkspaceConfig
    folder: Path

    def anywhere(self) -> Product:
        """A copy with absolute paths, for a process with another working directory."""
        run = self.run
        logs, of_machines = (tuple(log.absolute() for log in logs) for logs in (run.logs, run.machine_logs))
        run = replace(run, logs=logs, machine_logs=of_machines)
        return replace(self, run=run, folder=self.folder.absolute())

    def key(self) -> str:
        config = self.config
        shared = (config.roles, config.units, config.thresholds, config.false_alarms, config.x, config.redact)
        return fingerprint(self.run, (code_sha256(), shared, self.run.config), self.folder)

    def cached(self) -> Outcome | None:
        """The entry of an earlier build, if it was made from the same inputs; None if it cannot be used."""
        try:
            files = {} if self.run.problem else kept_files(self.folder, self.key())
            return self.outcome(files, cached=True) if files else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def outcome(self, files: Rows, problems: Iterable[str] = (), *, cached: bool = False) -> Outcome:
        """The outcome as it was written. Raises OSError, ValueError, KeyError or TypeError: no usable row."""
        with open(f"{self.folder}/{ROW}", "rb") as stream:
            row = orjson.loads(stream.read())
        entry, published = entry_from_json(row["entry"]), {n: r for n, r in files.items() if n != ROW}
        rest = tuple(problems), (), published, cached, row["names"]
        return Outcome(self.run.run_id, self.folder, entry, *rest)


def produce(product: Product) -> Outcome:
    """Makes the entry of one run. Problems of its logs are in the outcome and are never raised. Raises
    OSError: the entry cannot be written."""
    run, folder = replace(product.run, seen={}), product.folder
    try:
        with contained(_logs_of(run)):
            return _make(replace(product, run=run))
    except ChronicleError as err:
        remove(folder)
        message = (redactor_of(product.config.redact)(run.published(str(err))),)
        problems, remarks = ((), message) if isinstance(err, NotALog) else (message, ())
        return Outcome(run.run_id, folder, None, problems, remarks)


def _make(product: Product) -> Outcome:
    run, folder = product.run, product.folder
    gc.freeze()  # exclude existing objects, such as the entries of other runs, from the collection below
    key = product.key()  # taken before reading: rows that arrive later are for the next build
    with kept_in(folder.parent.with_name(READ_ON), code_sha256()):
        timeline, diagnosis, problems = Run(run, product.config).diagnose()
    attempts = tuple(respelled(attempt, run.published) for attempt in timeline.attempts)
    faults = tuple(relocated(fault, run.published) for fault in timeline.faults)
    timeline = replace(timeline, attempts=attempts, faults=faults)
    redact = redactor_of(product.config.redact, timeline.attempts, timeline.faults, run.config.facts)
    timeline, diagnosis = redact.value(timeline), redact.value(diagnosis)
    problems = [redact(run.published(problem)) for problem in problems]
    for old in folder.iterdir():
        if old.name != MEMORY:
            remove(old)
    entry = _write(product, timeline, diagnosis, problems, key, redact)
    gc.collect()  # figures are full of reference cycles, and would stay until ten more runs are drawn
    drawn = [file for figure in entry.figures for file, _, _ in figure.files.values()]
    files: Rows = {name: [] for name in (*drawn, ENTRY, POINTS, _VIEW)}
    if not problems and product.key() == key:  # else the next build tries again
        files = note_kept(folder, key, (*files, ROW))
    return product.outcome(files, problems)


@dataclass(frozen=True)
class Run:
    """One run: where its logs are, what its run.toml says, and the settings of its workspace."""

    folder: RunFolder
    settings: WorkspaceConfig = field(default_factory=WorkspaceConfig)

    @property
    def run_id(self) -> str:
        """The id: from the name of its folder or log, or from the name that its tracker gave it."""
        return self.folder.run_id

    def read(self) -> tuple[list[Attempt], list[str]]:
        """All attempts, with the roles and units that the configuration declares, and the problems."""
        folder = self.folder
        attempts: list[Attempt] = []
        problems: list[ChronicleError] = []
        for log in (*folder.logs, *folder.machine_logs):
            reading = self._reading(log)
            several = len(folder.logs) > 1 or log in folder.machine_logs
            within = f"{log.name}/" if several and log.is_dir() else ""
            attempts += [  # the attempt of a folder that is one log already has the name of the folder
                a if f"{a.name}:".startswith(f"{log.name}:") else replace(a, name=f"{within}{a.name}")
                for a in reading.attempts
            ]
            problems += reading.problems
        if not attempts:
            if aside := passed_over((*folder.logs, *folder.machine_logs)):
                raise NotALog(no_logs(aside))
            if problems:
                raise problems[0]
            nothing = NothingToRead(_logs_of(folder), "no series of numbers is in it", remedy=_ASK_DOCTOR)
            raise next(refused(folder), nothing)
        return [*map(self._as_stated, attempts)], [str(problem) for problem in problems]

    def _reading(self, log: Path) -> Reading:
        """What was read of a log when the runs were sought, if no more is wanted; else it is read now."""
        folder = self.folder
        stated = (*folder.config.roles.items(), *self.settings.roles.items())
        known: Reading | None = None if stated or folder.only else folder.readings.get(log)
        # A log that was removed since is read again, which reports it as missing.
        if known and all(Path(source).exists() for a in known.attempts for source in a.sources):
            return known
        aliases = [(name, Role(role)) for name, role in stated]
        return read_all(log, aliases=aliases, only=folder.only if log in folder.logs else "")

    def _as_stated(self, attempt: Attempt) -> Attempt:
        """The attempt with the units and the axis that the configuration states."""
        stated = self.folder.config
        units = {**self.settings.units, **stated.units}
        if not units and not stated.axis:
            return attempt
        series = {m: replace(s, unit=units[m]) if m in units else s for m, s in attempt.series.items()}
        attempt = replace(attempt, series=series)
        return replace(attempt, axis=stated.axis, called="") if stated.axis else attempt

    def timeline(self) -> Timeline:
        """The run, read and stitched. Raises ChronicleError if nothing of it can be read."""
        return self._stitched()[0]

    @collection_paused()
    def diagnose(self) -> tuple[Timeline, Diagnosis, list[str]]:
        """The run, read, stitched and classified, and the problems of single logs. Raises ChronicleError:
        nothing of the run can be read, or its configuration is wrong."""
        timeline, problems = self._stitched()
        with contained(_logs_of(self.folder)):
            return timeline, classify(timeline, thresholds(self.settings)), problems

    def _stitched(self) -> tuple[Timeline, list[str]]:
        if self.folder.problem:
            raise self.folder.problem
        attempts, problems = self.read()
        logs = [attempt for attempt in attempts if not _is_data(attempt)]
        if not logs and self.folder.searched_for and not problems:
            remedy = "name it alone to have it read"
            raise NotALog(f"{_logs_of(self.folder)}: {_NOTHING_KNOWN}", remedy=remedy)
        left_out = [attempt.name for attempt in attempts if _is_data(attempt)] if logs else []
        stated = self.folder.config
        with contained(_logs_of(self.folder)):
            order, relation = stated.order or None, stated.relation or None
            timeline = stitch(logs or attempts, run_id=self.run_id, order=order, relation=relation)
        doubts = [f"{name} was left out: {_NOTHING_KNOWN}" for name in left_out]
        return replace(timeline, doubts=(*timeline.doubts, *doubts)), problems


def _is_data(attempt: Attempt) -> bool:
    """Whether a log is a table in which nothing counts and no name is known: data that lie beside logs."""
    known = any(series.role is not Role.OTHER for series in attempt.series.values())
    return len(attempt.series) > 0 and attempt.axis in ("item", "row") and not known


def _logs_of(run: RunFolder) -> str:
    return ", ".join(map(path_words, run.logs)) or str(run.folder)


def last_entry(root: Path, run_id: str) -> tuple[Entry | None, str]:
    """The entry of a run from the last build in ``root``, and its state: built, not built or damaged."""
    folder = root / "build" / "entries" / run_id
    try:
        return (None, "damaged") if damaged(folder, shortcut=True) else (_read_entry(folder), "built")
    except (OSError, ValueError):
        return None, "not built"


def last_entries(root: Path, runs: Iterable[RunFolder]) -> list[Entry]:
    """The entries of the runs that the last build has read. Raises NothingToRead if there are none."""
    entries = (last_entry(root, run.run_id)[0] for run in runs)
    if not (built := [entry for entry in entries if entry is not None]):
        raise NothingToRead("no run has been built yet", remedy="chronicle build")
    return built


def thresholds(config: WorkspaceConfig) -> Thresholds:
    """The classifier's thresholds, with those of chronicle.toml. Raises ConfigError: an unknown threshold, or
    a rate of false alarms for which no thresholds were measured."""
    valid = [field.name for field in fields(DEFAULTS)]
    for name in config.thresholds:
        if name not in valid:
            raise ConfigError("chronicle.toml", f"thresholds.{name}", unknown(name, valid))
    try:
        base = Thresholds.at(config.false_alarms) if config.false_alarms else DEFAULTS
    except ValueError as err:
        raise ConfigError("chronicle.toml", "false_alarms", str(err)) from err
    return replace(base, **config.thresholds)


def _write(
    product: Product,
    timeline: Timeline,
    diagnosis: Diagnosis,
    problems: list[str],
    key: str,
    redact: Redactor,
) -> Entry:
    """Writes the entry, its figures, its points as CSV, and the script of the interactive view."""
    from chronicle.figures import draw, view_script

    run, folder, day = product.run, product.folder, product.run.config.date
    # What is left of a day that is withheld would be none.
    config = redact.value(replace(run.config, date=day if redact(day) == day else ""))
    notes = [replace(note, text=redact(note.text)) for note in run.notes]
    x, warnings = _x_axis(timeline, config.x or product.config.x, config.tokens_per_step)
    story = tell(timeline, diagnosis, config, notes)
    title, edge = redact(run.title), picture_edge(timeline, config)
    entry = make_entry(
        run.run_id,
        timeline,
        diagnosis,
        config,
        story=story,
        notes=notes,
        title=title,
        figures=draw(timeline, diagnosis, folder, story.events, title=title, x=x, edge=edge),
        warnings=[*problems, *warnings, *redact.withheld()],
        inputs_sha256=key,
    )
    row = {"entry": to_json(for_lists(entry)), "names": redact.names}  # what lists show, and withheld names
    texts = {
        ROW: json.dumps(row, ensure_ascii=False),
        ENTRY: json.dumps(to_json(entry), ensure_ascii=False, indent=1, allow_nan=False),
        _VIEW: view_script(timeline, entry, config.tokens_per_step),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, "utf-8", errors="replace")
    write_points(folder / POINTS, timeline)
    return entry


def _x_axis(timeline: Timeline, axis: str, tokens_per_step: float) -> tuple[OnAxis | None, list[str]]:
    """Places the run on another axis than steps, if one is wanted; or says why that is not possible."""
    try:
        return (on_axis(timeline, axis, tokens_per_step=tokens_per_step) if axis != "step" else None), []
    except UsageError as err:
        return None, [f"drawn over steps: {err}"]


def write_points(file: Path, timeline: Timeline) -> None:
    """Writes the rows of `Timeline.frame` without importing pandas, which would take 60 MiB of memory."""
    every = max(1, -(-sum(map(len, timeline.series.values())) // _DATA_POINTS))
    names = np.array([attempt.name for attempt in timeline.attempts], dtype=object)
    tracks = [track.pick(slice(None, None, every)) for track in timeline.series.values()]
    finest = "microseconds" if any((t.times % 1 > 0).any() for t in tracks) else "seconds"

    def clock(time: float) -> str:
        try:
            return datetime.fromtimestamp(time, UTC).isoformat(" ", finest)
        except (OverflowError, ValueError, OSError):  # NaN, or in no year of the calendar
            return ""

    # compressed to an eighth, with no time of the build, so that equal points give equal bytes
    with GzipFile(file, "wb", mtime=0) as packed, TextIOWrapper(packed, "utf-8", "replace", "") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        for t in tracks:
            values = ("" if value != value else value for value in t.values.tolist())
            run, metric, role = map(repeat, (timeline.run_id, t.metric, t.role.value))
            known = names[t.attempt], metric, role, t.live.tolist(), t.steps.tolist()
            table.writerows(zip(run, *known, values, map(clock, t.times.tolist()), strict=False))


def _read_entry(folder: Path) -> Entry:
    return entry_from_json(orjson.loads((folder / ENTRY).read_bytes()))


def runs(path: str | Path, *more: str | Path) -> list[Run]:
    """The runs at these paths: logs, stores, folders of logs, run folders, workspaces, addresses.

    A store or a folder of several runs gives each of them, as the commands do.

    Raises:
        UsageError: a path that does not exist.
        NothingToRead: no path holds a log.
    """
    workspace = Workspace.find(Path.cwd())
    settings = workspace.config if workspace else WorkspaceConfig()
    return [Run(run, settings) for run in expand([local(place) for place in (path, *more)])]
