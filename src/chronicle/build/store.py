"""What is kept of each run in build/entries, and how it is known to be whole and made from just these inputs.

An entry is kept under a key, a hash over all that it was made from, and with the hash of each of its files.
A log is known by the hash of its content. Size and times of a file are a shortcut that is only taken where it
is safe: the time at which its inode changed cannot be set back, and it must lie well before the moment at
which the content was hashed (what git calls a racy timestamp).
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from chronicle.build.engines import stamp_of, write_bytes
from chronicle.workspace.folders import RunFolder
from chronicle.workspace.notes import BESIDE, NOTES

ENTRY = "entry.json"
ROW = "row.json"  # what other pages than its own show of a run, and the names that are not published
KEPT = "kept.json"  # the key of an entry, and the hashes of its files
MEMORY = "inputs.json"  # the hash of each input, with what it looked like then
Rows = dict[str, list[Any]]  # of each file its size, time (ns) and SHA-256
_RACY_NS = 2_000_000_000  # the coarsest clock of a file system (FAT)
_HAS_CHANGE_TIME = os.name == "posix"  # elsewhere that field holds when a file was made


class Seen(NamedTuple):
    """What a file looked like: size, times of content and inode (ns), inode and device; and its SHA-256."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int
    sha256: str

    def was_still(self, at_ns: int) -> bool:
        """Whether a look at ``at_ns`` would have seen any change since."""
        return _HAS_CHANGE_TIME and max(self.modified_ns, self.changed_ns) + _RACY_NS < at_ns


def fingerprint(run: RunFolder, settings: object, memory: Path) -> str:
    """SHA-256 over the content of every input of a run and over ``settings`` (anything with a stable repr).

    ``memory`` is a folder that keeps the hash of each file, so that a log of gigabytes is hashed once and
    then only looked at; without it, or with an unusable one, all is hashed.
    """
    now_ns = time.time_ns()
    known, known_at_ns = _recalled(memory / MEMORY)
    roots = [r for r in (run.folder, *run.logs, *run.beside) if r]
    seen: dict[str, Seen] = {}
    total = hashlib.sha256(repr(settings).encode())
    fresh = False
    for file in inputs(run):
        before = known.get(str(file))
        look = _look(file, before if before and before.was_still(known_at_ns) else None)
        fresh |= look is not before
        digest = look if isinstance(look, str) else look.sha256
        if isinstance(look, Seen):
            seen[str(file)] = look
        name = next((file.relative_to(r).as_posix() for r in roots if file.is_relative_to(r)), file.name)
        total.update(f"{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
    if fresh or len(known) != len(seen):
        _remember(memory / MEMORY, seen, now_ns)
    return total.hexdigest()


def changed_unseen(memory: Path) -> list[Path]:
    """Inputs that look as they did when they were hashed, and hold something else. Reads all of them."""
    known, known_at_ns = _recalled(memory / MEMORY)
    found = []
    for name, before in known.items():
        look = _look(Path(name), None)
        if before.was_still(known_at_ns) and isinstance(look, Seen):
            found += [Path(name)] if look[:-1] == before[:-1] and look != before else []
    return found


def _recalled(memory: Path) -> tuple[dict[str, Seen], int]:
    """What a memory holds, and when that was seen: the time of its file, so that equal content is equal."""
    try:
        text, at_ns = memory.read_text("utf-8", errors="surrogateescape"), memory.stat().st_mtime_ns
        rows = {name: Seen(*row) for name, row in json.loads(text).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}, 0
    is_whole = all([*map(type, row)] == [int] * 5 + [str] for row in rows.values())
    return (rows, at_ns) if is_whole else ({}, 0)


def _remember(memory: Path, seen: Mapping[str, Seen], at_ns: int) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(memory, json.dumps(seen).encode("utf-8", errors="surrogateescape"))
    os.utime(memory, ns=(at_ns, at_ns))


def _look(file: Path, before: Seen | None) -> Seen | str:
    """How a file looks, with its hash: that of ``before`` if it looks the same; a word if it has none."""
    try:
        stat = file.stat()
        marks = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
        if before and before[:-1] == marks:
            return before
        if not file.is_file():  # a pipe or a device: opening it might never end
            return "special"
        return Seen(*marks, sha256_of(file))
    except OSError as err:
        return f"unreadable: {err.errno}"


def sha256_of(file: Path) -> str:
    """The hash of a file's content. Raises OSError."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def keep(folder: Path, key: str, files: Iterable[str]) -> Rows:
    """Notes what an entry was made from, and its files, after these were written; returns the files."""
    rows: Rows = {name: [*_stamp(folder, name), sha256_of(folder / name)] for name in files}
    write_bytes(folder / KEPT, json.dumps({"key": key, "files": rows}, indent=1).encode())
    return rows


def forget(folder: Path) -> None:
    """The next build reads the inputs of an entry, and makes it, again."""
    (folder / KEPT).unlink(missing_ok=True)
    (folder / MEMORY).unlink(missing_ok=True)


def kept_files(folder: Path) -> dict[str, str]:
    """The files of a kept entry, with their hashes; {} where nothing is kept."""
    return {name: str(row[2]) for name, row in _kept(folder).get("files", {}).items()}


def kept(folder: Path, key: str) -> Rows:
    """The files of an entry that was made from just what ``key`` says, and that are as they were; else none.

    The hash of what a build reads of it is always looked at, that of the others where size or time differ.
    """
    found = _kept(folder)
    rows: Rows = found.get("files", {})
    if found.get("key") != key or any(_differs(folder, name, row, True) for name, row in rows.items()):
        return {}
    moved = any(_stamp(folder, name) != row[:2] for name, row in rows.items())
    return keep(folder, key, rows) if moved else rows  # whole, but copied here from elsewhere


def _stamp(folder: Path, name: str) -> list[int]:
    return [*(stamp_of(f"{folder}/{name}") or ())]


def damaged(folder: Path, *, shortcut: bool = False) -> list[str]:
    """Files of a kept entry that are missing, or hold something else than what was written."""
    return [
        name for name, row in _kept(folder).get("files", {}).items() if _differs(folder, name, row, shortcut)
    ]


def _differs(folder: Path, name: str, row: list[Any], shortcut: bool) -> bool:
    if shortcut and name not in (ENTRY, ROW) and _stamp(folder, name) == row[:2]:
        return False
    try:
        return sha256_of(folder / name) != str(row[2])
    except OSError:
        return True


def _kept(folder: Path) -> dict[str, Any]:
    """The content of KEPT; {} where there is none, or none that can be used."""
    try:
        kept = json.loads((folder / KEPT).read_bytes())
        if all(len(row) == 3 and Path(name).name == name for name, row in kept["files"].items()):
            return {"key": str(kept["key"]), "files": kept["files"]}
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        pass
    return {}


@cache
def code_sha256() -> str:
    """SHA-256 over chronicle's own source: another version of it may say or draw something else."""
    package = Path(__file__).parent.parent
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def inputs(run: RunFolder) -> list[Path]:
    """Every file below the logs of a run, and its own run.toml, notes and label; each once, sorted."""
    return sorted({*run.own_files, *(file for log in (*run.logs, *run.beside) for file in _below(log))})


def newest(runs: Iterable[RunFolder]) -> int:
    """Unix seconds of the youngest log: the time that a build of these runs speaks of."""
    files = [file for run in runs for file in inputs(run) if file.name not in (NOTES, BESIDE)]
    return max((stamp[1] // 10**9 for file in files if (stamp := stamp_of(file))), default=0)


def _below(log: Path) -> Iterator[Path]:
    """The files that reading a log may open: all of a folder, with links; the write-ahead log of SQLite."""
    if not log.is_dir():
        yield log
        beside = log.with_name(f"{log.name}-wal")  # what is not in the file itself yet
        yield from [beside] if beside.is_file() else []
        return
    entered: set[tuple[int, int]] = set()
    for folder, folders, names in os.walk(log, followlinks=True):
        stat = os.stat(folder)
        if (stat.st_dev, stat.st_ino) in entered:  # a link has led back
            folders.clear()
            continue
        entered.add((stat.st_dev, stat.st_ino))
        yield from (Path(folder) / name for name in names if not name.startswith("."))
