"""Finds the logs in a folder, their readers, and which of them make a run. docs/folders.md has the same
rules.

Hidden files are passed over, and a folder is entered once, whatever links lead to it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from chronicle.errors import LogError, UsageError, contained
from chronicle.metrics.aliases import COMPONENTS, OF_PHASES
from chronicle.metrics.names import names_a_loss
from chronicle.metrics.values import grouped, natural
from chronicle.readers.catalogue import Reader, by_rank, having, hook, is_of_logs
from chronicle.readers.console.chunks import may_be_log
from chronicle.readers.csv_cells import names_its_rows
from chronicle.readers.facts import BY_TIME, is_side_file
from chronicle.readers.packed import begins_archive, plain_name, unpacked
from chronicle.readers.text import Head, OnDemand, version_of

# Files in the folder of a run that are no logs, though a reader might take them for one.
NOT_LOGS = frozenset(
    (
        *("label.json", "label.toml", "run.toml", "entry.json", "chronicle.toml"),
        *("notes.md", "NOTES.log", "series.csv", "series.csv.gz"),
        *("debug.log", "debug-internal.log", "debug-core.log"),  # of the W&B client itself
        "wandb-events.jsonl",  # what old clients wrote of the machine
    )
)
# Folders that are part of the folder they are in, and no runs.
WRAPPERS = frozenset(["logs", "log", "tb", "tensorboard", "tb_logs", "lightning_logs", "csv_logs", "csv"])
WRAPPERS |= {"events", "vis_data"}
_PASSED_OVER = NOT_LOGS | {"chronicle-site", "node_modules", "__pycache__"}
LOOK_LIMIT = "CHRONICLE_LOOK_LIMIT"  # environment variable: the most files that are no logs in what is named
_MOST_OTHERS = 50_000
_MOST_REMEMBERED = 8192  # files
# Paths and versions of files that are logs: a folder is searched for its runs, and again when they are read.
_KNOWN_LOGS = set[tuple[str, tuple[int, ...]]]()
_TABLES = (".csv", ".tsv")
_HIDDEN_STORES = frozenset([".neptune"])
_TRACKED = "wandb"  # a folder of launches; part of the folder around it where that has a log of its own
_ATTEMPT = re.compile(
    r"(?i)(version|v|attempt|try|restart|resumed?|segment|part|checkpoint|job|launch|phase|stage)[-_]?\d+"
)
_LAUNCH = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+")  # of the HF Trainer: runs/May04_12-00-00_host
# First words of file names that say what a log is, not which run it is of.
_COMMON_WORDS = OF_PHASES | {
    *("metrics", "metric", "log", "logs", "history", "progress", "results", "result", "stats", "run"),
    *("measurements", "trainer", "loss", "losses", "epoch", "output", "scalars", "dmesg", "kern", "kernel"),
    *("syslog", "journal", "slurm", "job", "stdout", "stderr", "monitor"),
}
# In every name by which a tracker's client tells its launches: their time, number or hash. To ask the readers
# of all clients about other names takes as long as reading a small log.
_OF_CLIENTS = re.compile(r"\d{8}|[0-9a-f]{32}|run__")
_RANKS = re.compile(r"^(?:\d+\.)+")  # of the processes that write beside each other: 0.monitor.csv

# What a text has to be named for it to be missed where it is not read.
_NAMED_AS_LOG = re.compile(r"(?i)\.(?:log|out)$|(?:log|train|loss|metric|history|progress)\w*\.txt$")

# What says that a run was launched again, at the end of a name.
AGAIN = re.compile(
    r"(?i)[-_. ]?(?<![a-z])(re(sum|start|launch|run|try|tried)\w*|cont(d|inu(ed?|ing|ation))?)"
    r"([-_. ]?\d+[kM]?)?$"
)
_LAST_WORD = re.compile(r"(?<!\de)[-_. ]+([A-Za-z]+\d*|(?<!\d\.)\d+)$")

Wanted = Callable[[Path], bool]


def claims(path: Path) -> list[Reader]:
    """The readers that recognise a file; those with a FALLBACK are only asked if no other does. They are
    asked again only if the file has changed. Raises Defect if one of them fails, and OSError."""
    return list(_claims(path, *version_of(path)))


@lru_cache(maxsize=_MOST_OTHERS)
def _claims(path: Path, *version: int) -> tuple[Reader, ...]:
    return _claiming(Head.of(path, *version))


def _claiming(begin: Head) -> tuple[Reader, ...]:
    with contained(str(begin.path)):
        for readers in by_rank(begin):
            if claiming := tuple(reader for reader in readers if reader.identify(begin)):
                return claiming
    return ()


@contextmanager
def _beginning(path: Path, *version: int) -> Iterator[Head]:
    """The beginning of a file, or of what it unpacks to, which is read once for all readers. Raises what
    `unpacked` raises."""
    begin = Head.of(path, *version)
    if not begins_archive(begin.start):
        yield begin
        return
    with unpacked(path, begin_only=True) as file:
        yield Head.of(file.path)


def log_like(path: Path) -> bool:
    """Whether the name of a file says that it is a log; if it cannot be read then, that is a problem."""
    return _is_named_as_log(plain_name(path))


def _is_named_as_log(name: str) -> bool:
    return "tfevents" in name or is_of_logs(os.path.splitext(name)[1].lower())


def is_log(path: Path) -> bool:
    """Whether something in a folder is to be read: its name says that it is a log, or a reader knows it.
    Empty event files and run files of W&B (of a job that died at once) are not, nor are tables of data that
    no reader knows."""
    try:
        info = os.stat(path)
        if stat.S_ISDIR(info.st_mode):
            return bool(folder_claims(path))
        if is_side_file(path):
            return False
        if stat.S_ISREG(info.st_mode):
            if "tfevents" in path.name or path.name.endswith(".wandb"):
                return info.st_size > 0
            name = plain_name(path)
            says_little = name.endswith(_TABLES) or _may_be_settings(name) or not _is_named_as_log(name)
            if says_little and info.st_size:  # files of the kernel have no bytes
                return _begins_as_log(path, name, *version_of(path, info))
    except (LogError, OSError):
        pass
    return log_like(path)


def _begins_as_log(path: Path, name: str, *version: int) -> bool:
    """Whether the first lines of a file are those of a log. Raises LogError and OSError."""
    if (known := (str(path), version)) in _KNOWN_LOGS:
        return True
    with _beginning(path, *version) as begin:
        # what readers say is not kept: most of what is asked here is no log
        begins = (name.endswith(_TABLES) and not names_its_rows(begin.lines)) or bool(_claiming(begin))
    if begins and len(_KNOWN_LOGS) < _MOST_REMEMBERED:
        _KNOWN_LOGS.add(known)
    return begins


def _may_be_settings(name: str) -> bool:
    """Whether a name says as little as that of any JSON document: trainers keep much in such files."""
    return name.endswith(".json") and name != "trainer_state.json"


def is_text(path: Path) -> bool:
    """Whether a file may be the text of a log: it contains a number, and its name is not that of a
    program."""
    try:
        if not path.is_file() or is_side_file(path):
            return False
        begin = Head.of(path)
        has_number = b"\0" not in begin.start and any(byte in begin.start for byte in b"0123456789")
        return has_number and (_may_be_settings(plain_name(path)) or may_be_log(begin))
    except OSError:
        return False


def files_below(path: Path) -> Iterator[Path]:
    """All files below a folder, in order; the path itself for a file, or if it cannot be listed."""
    return iter([path]) if path.is_file() else scan(path, os.path.isfile).all_logs()


def unknown_logs(path: Path) -> list[Path]:
    """The texts below a folder that are logs by their names but that no reader knows. Links are not
    followed."""
    named: list[Path] = []
    for folder, below, names in os.walk(path):
        below[:] = sorted((n for n in below if n[0] != "." and n not in _PASSED_OVER), key=natural)
        names = [n for n in names if _NAMED_AS_LOG.search(n) and n[0] != "." and n not in NOT_LOGS]
        named += (Path(folder, name) for name in sorted(names, key=natural))
    return [file for file in named if not is_log(file) and is_text(file)]


def folder_claims(path: Path) -> list[Reader]:
    """The readers for which the whole folder is one log. Raises OSError."""
    names = {*os.listdir(path)}
    names |= {"*." + name.rpartition(".")[2] for name in names if "." in name}
    asked = (r for r in having("identify_folder") if getattr(r, "may_hold", lambda _: True)(names))
    claiming = [reader for reader in asked if hook(reader, "identify_folder", path)]
    return [r for r in claiming if hook(r, "run_key", path) or not any(foreign_logs(r, path))]


def foreign_logs(reader: Reader, folder: Path) -> Iterator[Path]:
    """The logs in a folder that its reader does not read, although it takes the folder for one log. Raises
    OSError."""
    for entry in hook(reader, "foreign", folder):
        if entry.name not in NOT_LOGS and not entry.name.startswith("."):
            yield from scan(entry, is_log).all_logs() if entry.is_dir() else filter(is_log, [entry])


def holds_log(path: Path) -> bool:
    """Whether something in a folder is a log, or contains one, and is not passed over."""
    if path.name in _PASSED_OVER or path.name.startswith("."):
        return False
    return is_log(path) or (path.is_dir() and any(scan(path, is_log).all_logs()))


def runs_of_store(path: Path, prefix: str = "") -> list[RunSource]:
    """The runs of a file that holds several, `prefix/<file>/<run>`; [] for any other."""
    try:
        if not path.is_file():
            return []
        with _beginning(path) as begin:  # of a packed store that is no text, the rest is needed too
            stores = _stores(begin.path)
            if not stores and (begin.path == path or b"\0" not in begin.start):
                return []
        with unpacked(path) as file:
            stores = stores if file.path == path else _stores(file.path)
            names = list(hook(stores[0], "runs", file.path)) if len(stores) == 1 else []
    except (LogError, OSError):
        return []
    within = f"{prefix}/{path.stem}".lstrip("/")
    return [RunSource(f"{within}/{name}", (path,), name) for name in names] if len(names) > 1 else []


def _stores(path: Path) -> list[Reader]:
    return [reader for reader in claims(path) if hasattr(reader, "runs")]


def run_key(path: Path) -> str:
    """What the names of logs in one folder have in common if they are attempts of one run; "" if a name says
    nothing."""
    named = any(map(_OF_CLIENTS.search, (path.name, path.parent.name)))
    readers = (reader for reader in having("run_key") if named or not isinstance(reader, OnDemand))
    try:
        with contained(str(path)):
            return next((key for reader in readers if (key := reader.run_key(path))), "")
    except (LogError, OSError):
        return ""


@dataclass(frozen=True)
class RunSource:
    """One run: its id (a relative path) and its files; a folder stands for all logs below it. ``only`` is the
    name of one run in a store of several (the fact "run" of its attempts). ``readings`` are the results of
    reading its files, if they were compared with those of others."""

    run_id: str
    paths: tuple[Path, ...]
    only: str = ""
    readings: Mapping[Path, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Folder:
    """A folder with the logs in it, the folders in it that are one log each (``whole``), and those that hold
    logs at any depth."""

    path: Path
    logs: list[Path] = field(default_factory=list)
    whole: list[Path] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)

    def all_logs(self) -> Iterator[Path]:
        """All logs below, in natural order."""
        yield from self.logs
        yield from self.whole
        for folder in self.folders:
            yield from folder.all_logs()


@dataclass
class _Scanned:
    """The state of a scan: the folders that it passes over or has entered, and how many files were not
    wanted."""

    folders: set[tuple[int, int]]
    n_others: int = 0
    most_others: int = field(default_factory=lambda: int(os.environ.get(LOOK_LIMIT) or _MOST_OTHERS))

    @classmethod
    def around(cls, path: Path) -> _Scanned:
        """Begins a scan of a folder. No link in it is followed to the folders around it."""
        seen = cls(set())
        for above in path.resolve().parents:
            seen.enters(above)
        return seen

    def enters(self, path: Path) -> bool:
        """Notes a folder; returns whether it is entered for the first time. Raises OSError."""
        info, n_before = path.stat(), len(self.folders)
        self.folders.add((info.st_dev, info.st_ino))
        return len(self.folders) > n_before

    def count(self, path: Path, *, wanted: bool) -> bool:
        """Notes a file; returns whether it is wanted. Raises UsageError if too many files are not."""
        self.n_others += not wanted
        if self.n_others > self.most_others:
            remedy = f"name the folder of the runs, or set {LOOK_LIMIT} to the number that may be skipped"
            raise UsageError(f"{self.most_others:,} files up to {path.parent} are not logs", remedy=remedy)
        return wanted


def scan(path: Path, wanted: Wanted, seen: _Scanned | None = None) -> Folder:
    """Makes the tree of logs below ``path``. A folder that cannot be listed counts as a log, so that it is
    reported. Raises UsageError for the root of a file system, or if very many files are no logs."""
    folder = Folder(path)
    if seen is None and path.resolve() == path.resolve().parent:
        raise UsageError(f"{path} is the root of a file system", remedy="name the folder of the runs")
    try:
        seen = seen or _Scanned.around(path)
        if not seen.enters(path):
            return folder
        entries = sorted(os.scandir(path), key=lambda entry: (entry.is_symlink(), natural(entry.name)))
    except OSError:
        folder.logs.append(path)
        return folder
    for entry in entries:
        if entry.name in _PASSED_OVER or (entry.name.startswith(".") and entry.name not in _HIDDEN_STORES):
            continue
        below = Path(entry.path)
        if not (os.path.isdir(below) if entry.is_symlink() else entry.is_dir()):
            folder.logs += [below] if seen.count(below, wanted=wanted(below)) else []
        elif wanted(below):
            folder.whole += [below] if seen.enters(below) else []
        elif any((inner := scan(below, wanted, seen)).all_logs()):
            folder.folders.append(inner)
    return folder


def runs_in(folder: Folder, prefix: str = "") -> list[RunSource]:
    """The runs in a folder: the folder itself with its parts, and the folders and stores in it that are no
    parts."""
    stores = [run for log in folder.logs for run in runs_of_store(log, prefix)]
    stored = {path for run in stores for path in run.paths}
    logs = [log for log in folder.logs if log not in stored]
    parts, inner = _parts_and_runs(folder, prefix, logs)
    by_key = grouped(folder.whole, lambda path: run_key(path) or path.name)  # launches of one run each
    launched = [RunSource(_within(prefix, key), tuple(paths)) for key, paths in by_key.items()]
    if len(launched) == 1 and not (inner or parts or folder.logs):
        return [RunSource(launched[0].run_id, (folder.path,))]
    run_id, runs = prefix or folder.path.name or "run", stores + launched + inner
    families = _families(logs)
    if not runs and (parts or len(families) < 2):
        return [RunSource(run_id, (folder.path,))]
    if parts or len(families) == 1:
        families = {"": [*logs, *(part.path for part in parts)]}
    ids = (_within(prefix, name) if name else run_id for name in families)
    return [*map(RunSource, ids, map(tuple, families.values())), *runs]


def _parts_and_runs(folder: Folder, prefix: str, logs: list[Path]) -> tuple[list[Folder], list[RunSource]]:
    """The folders in a folder that are parts of the run of its ``logs``, and the runs in all others."""
    parts: list[Folder] = []
    inner: list[RunSource] = []
    has_states = any(below.path.name.startswith("checkpoint-") for below in folder.folders)  # HF Trainer
    for below in folder.folders:
        runs_below = runs_in(below, _within(prefix, below.path.name))
        is_one_run = [(run.paths, run.only) for run in runs_below] == [((below.path,), "")]
        name = below.path.name  # one that only says where logs are
        is_wrapped = is_one_run and (name.lower() in WRAPPERS or (name == _TRACKED and bool(logs)))
        is_part = is_wrapped or _is_part(below, beside_logs=has_states or bool(logs))
        if is_part or _of_add_scalars(below, logs):
            parts.append(below)
        else:
            inner += runs_below
    return parts, inner


def _within(prefix: str, name: str) -> str:
    return f"{prefix}/{name}".lstrip("/")


def _is_part(folder: Folder, *, beside_logs: bool) -> bool:
    """Whether a folder holds an attempt or a writer of the run of the folder around it."""
    name = folder.path.name
    launches = name == "runs" and all(_LAUNCH.fullmatch(below.path.name) for below in folder.folders)
    is_beside = beside_logs and (launches or bool(BY_TIME.fullmatch(name)))
    return bool(_ATTEMPT.fullmatch(name)) or name.lower() in OF_PHASES or is_beside


def _of_add_scalars(folder: Folder, beside: list[Path]) -> bool:
    """Whether all logs in a folder were written for event files beside it: see `home_of_scalars`."""
    logs = list(folder.all_logs()) if any("tfevents" in log.name for log in beside) else []
    homes = set[str]()
    with suppress(LogError, OSError):
        for log in logs:
            attempts = [part for reader in claims(log) if "tfevents" in log.name for part in reader.read(log)]
            tags = [tag for attempt in attempts for tag in attempt.series]
            home, _ = (home_of_scalars(str(log.parent), tags[0]) if len(tags) == 1 else None) or ("", "")
            homes.add(home)
        return homes == {str(folder.path.parent)}
    return False


def home_of_scalars(folder: str, tag: str) -> tuple[str, str] | None:
    """The folder of a writer and the name of a curve, where ``folder`` is the one that `add_scalars` made for
    it: `<tag>_<name>` below the writer's, of tensorboardX `<tag>/<name>`; None for any other.

    >>> home_of_scalars("runs/a/loss_step_val", "loss/step")
    ('runs/a', 'val')
    """
    for between in "_/":
        made = "/" + tag.replace("/", between) + between
        home, made_by, name = folder.rpartition(made)
        if made_by and name and "/" not in name:
            return home, name
    return None


def _families(logs: list[Path]) -> dict[str, list[Path]]:
    """The logs of one folder by run: by their key, else by the part of their names that they share. If names
    tell runs apart, a log whose name only says what it is (`slurm.out`) is a run of that name. Several logs
    that are parts of one training (`train.csv` and `val.csv`) belong to the run of the folder ("")."""
    if sum(_first_word(log) in COMPONENTS and names_a_loss(log.stem) for log in logs) > 1:
        return {"": logs}  # named after what they hold
    if any(plain_name(log) == "loss.csv" for log in logs) and _count_alike(logs):
        return {"": logs}
    by_name = grouped(logs, lambda log: run_key(log) or _shared_name(log).lower())
    if sum(map(bool, by_name)) < 2:
        return {"": logs} if logs else {}
    families: dict[str, list[Path]] = {}
    unnamed = by_name.pop("", [])
    for family in by_name.values():
        families[run_key(family[0]) or _shared_name(family[0])] = family
    parts = [log for log in unnamed if _is_part_of_training(log)]
    for log in unnamed:
        name = "" if len(parts) > 1 and log in parts else _stem(log)
        families.setdefault(name, []).append(log)
    return families


def _count_alike(logs: list[Path]) -> bool:
    """Whether each log begins with the same two counts, and several have one number without a name behind
    them (d3rlpy): they are named after their metrics. Blind to files that were cut at their beginning."""
    starts = [[line.split(",") for line in Head.of(log).lines[:2]] for log in logs]
    rows = [next((row for row in start if row[0].isdecimal()), []) for start in starts]
    n_bare = sum(start[:1] == [row] and len(row) == 3 for start, row in zip(starts, rows, strict=True))
    return n_bare > 1 and all(rows) and len({tuple(row[:2]) for row in rows}) == 1


def _is_part_of_training(log: Path) -> bool:
    """Whether a log holds a phase or a part of a training, and its name does not say of which training."""
    word = _first_word(log)
    return "tfevents" in log.name or word in OF_PHASES or (word in COMPONENTS and names_a_loss(log.stem))


def _shared_name(log: Path) -> str:
    """The name of a log without what tells it from other logs of its run; "" if that says only what it is.

    >>> [_shared_name(Path(name)) for name in ("adam-2.csv", "bert_val.csv", "llama-7b.log", "0.monitor.csv")]
    ['adam', 'bert', 'llama-7b', '']
    """
    stem = _stem(log)
    if _first_word(log) in _COMMON_WORDS or _is_part_of_training(log) or _ATTEMPT.match(stem):
        return ""
    while (shorter := _without_last_word(AGAIN.sub("", stem))) not in ("", stem):
        stem = shorter
    return stem


def _first_word(log: Path) -> str:
    return re.split(r"[-_.\s\d]", _RANKS.sub("", _stem(log).lower()), maxsplit=1)[0]


def _without_last_word(name: str) -> str:
    """The name without its last word, if that is a letter, a number or an attempt, or says what a log
    holds."""
    last = _LAST_WORD.search(name)
    if last is None:
        return name
    word = last[1].lower()
    is_attempt = len(word) == 1 or word.isdigit() or _ATTEMPT.fullmatch(word)
    is_part = is_attempt or word.rstrip("0123456789") in _COMMON_WORDS
    return name[: last.start()] if is_part else name


def _stem(log: Path) -> str:
    return plain_name(log).rpartition(".")[0] or plain_name(log)
