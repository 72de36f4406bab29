"""Which files are logs, and which of them make a run. docs/formats.md states the same rules in prose.

Hidden files are passed over, and a folder is entered once, whatever links lead to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Files in the folder of a run that are no logs, though a reader might take them for one.
NOT_LOGS = frozenset(
    ["label.json", "label.toml", "run.toml", "entry.json", "notes.md", "series.csv", "chronicle.toml"]
)
NOT_RUNS = frozenset(["chronicle-site", "node_modules", "__pycache__"])
# Folders that are part of the folder they are in, and no runs.
WRAPPERS = frozenset(["logs", "log", "tb", "tensorboard", "tb_logs", "lightning_logs", "csv_logs", "events"])
WRITERS = ("train", "training", "validation", "valid", "val", "eval", "evaluation", "test", "dev")
_ATTEMPT = re.compile(
    r"(version|v|attempt|try|restart|resume|resumed|segment|part|checkpoint|job|launch|phase|stage)[-_]?\d+",
    re.IGNORECASE,
)
_LAUNCH = re.compile(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+")  # of the HF Trainer: runs/May04_12-00-00_host
# First words of file names that say what a log is, not which run it is of.
_COMMON_WORDS = {*WRITERS, "metrics", "metric", "log", "logs", "history", "progress", "results", "result"}
_COMMON_WORDS |= {"stats", "measurements", "trainer", "loss", "losses", "epoch", "run", "output", "scalars"}
_COMMON_WORDS |= {"dmesg", "kern", "kernel", "syslog", "journal", "slurm", "job", "stdout", "stderr"}

IsLog = Callable[[Path], bool]


@dataclass(frozen=True)
class RunSource:
    """One run: its id (a relative path) and its files; a folder stands for all logs below it."""

    run_id: str
    paths: tuple[Path, ...]


@dataclass
class Folder:
    """A folder with the logs in it, and the folders in it that hold logs at any depth."""

    path: Path
    logs: list[Path] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)

    def all_logs(self) -> Iterator[Path]:
        """All logs below, in natural order."""
        yield from self.logs
        for folder in self.folders:
            yield from folder.all_logs()


def natural(path: Path | str) -> list[tuple[int, str]]:
    """A sort key by which run-2 comes before run-10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", str(path))]


def scan(path: Path, is_log: IsLog, seen: set[tuple[int, int]] | None = None) -> Folder:
    """The tree of logs below ``path``; a folder that cannot be listed counts as a log, to be reported."""
    folder, seen = Folder(path), set() if seen is None else seen
    try:
        info = path.stat()
        if (info.st_dev, info.st_ino) in seen:
            return folder
        seen.add((info.st_dev, info.st_ino))
        entries = sorted(os.scandir(path), key=lambda entry: (entry.is_symlink(), natural(entry.name)))
    except OSError:
        folder.logs.append(path)
        return folder
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NOT_LOGS | NOT_RUNS:
            continue
        if os.path.isdir(entry.path):
            below = scan(Path(entry.path), is_log, seen)
            folder.folders += [below] if below.logs or below.folders else []
        elif is_log(Path(entry.path)):
            folder.logs.append(Path(entry.path))
    return folder


def runs_in(folder: Folder, prefix: str = "") -> list[RunSource]:
    """The runs of a folder: itself with its parts, and the folders in it that are no parts."""
    run_id = prefix or folder.path.name or "run"
    parts: list[Folder] = []
    runs: list[RunSource] = []
    for below in folder.folders:
        inner = runs_in(below, f"{prefix}/{below.path.name}".lstrip("/"))
        wrapped = below.path.name.lower() in WRAPPERS and [run.paths for run in inner] == [(below.path,)]
        if wrapped or _is_part(below, beside_logs=bool(folder.logs)):
            parts.append(below)
        else:
            runs += inner
    families = _families(folder.logs)
    if not runs and (parts or len(families) < 2):
        return [RunSource(run_id, (folder.path,))]
    if parts or len(families) == 1:
        families = {"": [*folder.logs, *(part.path for part in parts)]}
    own = [
        RunSource(f"{prefix}/{name}".strip("/") if len(families) > 1 else run_id, tuple(paths))
        for name, paths in families.items()
    ]
    return own + runs


def _is_part(folder: Folder, *, beside_logs: bool) -> bool:
    """Whether a folder holds an attempt or a writer of the run of the folder around it."""
    name = folder.path.name
    launches = name == "runs" and all(_LAUNCH.fullmatch(below.path.name) for below in folder.folders)
    return bool(_ATTEMPT.fullmatch(name)) or name.lower() in WRITERS or (beside_logs and launches)


def _families(logs: list[Path]) -> dict[str, list[Path]]:
    """The logs of one folder by run: by first word of their names, if two or more of those name a run."""
    by_word: dict[str, list[Path]] = {}
    for log in logs:
        word = re.split(r"[-_.\s\d]", log.name.lower(), maxsplit=1)[0]
        by_word.setdefault("" if "tfevents" in log.name or word in _COMMON_WORDS else word, []).append(log)
    named = [word for word in by_word if word]
    return by_word if len(named) > 1 else {"": logs} if logs else {}
