"""The store of entries in build/entries: whether an entry is complete, and made from the present inputs.

Logs are identified by the hash of their content. Size and times of a file replace its hash only if this is
safe: the change time of its inode, which cannot be set back, must be well before the moment at which the
content was hashed (git calls a later one a racy timestamp). `chronicle check` reads all files instead, since
a failing disk changes neither size nor time; the next build makes a damaged entry again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

import orjson

from chronicle.build.site import MARKER, code_sha256, missing_pages, stamp_of, stamps, write_bytes
from chronicle.readers.facts import side_files
from chronicle.workspace.folders import RunFolder, Workspace
from chronicle.workspace.locks import Say, locked
from chronicle.workspace.notes import BESIDE, NOTES

ENTRY = "entry.json"
ROW = "row.json"  # the part of an entry that other pages show, and the names that are not published
KEPT = "kept.json"  # the key of an entry, and the hashes of its files
MEMORY = "inputs.json"  # the hash of each input, with the size and times that it had then
Rows = dict[str, list[Any]]  # size, time (ns) and SHA-256 of each file
FileState = list[int] | str  # size, times of content and inode (ns), inode, device; or why it has no hash
_PART_BYTES = 1 << 16  # hashed at a time: file_digest clears a buffer of four times that for each small file
_RACY_NS = 2_000_000_000  # the coarsest clock of a file system (FAT)
_HAS_CHANGE_TIME = os.name == "posix"  # elsewhere the field holds the time of creation
_REBUILD_REMEDY = "Remedy: chronicle build, which makes it again"


def fingerprint(run: RunFolder, settings: object, memory: Path) -> str:
    """SHA-256 over the content of every input of a run and over ``settings`` (anything with a stable repr).

    The folder ``memory`` keeps the hash of each file, so that an unchanged log is not hashed again; without a
    usable memory all files are hashed. Inputs that are in ``run.seen`` are not examined again.
    """
    roots = [f"{root}{os.sep}" for root in (run.folder, *run.logs, *run.machine_logs) if root]
    total = hashlib.sha256(repr(settings).encode())
    digests = {file: row[-1] for file, row in run.seen.items()} or _digests(run, memory)
    for file, digest in digests.items():
        within = next((file[len(root) :] for root in roots if file.startswith(root)), "")
        name = within.replace(os.sep, "/") or os.path.basename(file)
        total.update(f"{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _digests(run: RunFolder, memory: Path) -> dict[str, str]:
    """The hash of every input, or why it has none; new hashes are kept in ``memory``."""
    known, now_ns = Memory(memory), time.time_ns()
    rows = {file: known.row(file, state) for file, state in inputs(run).items()}
    seen: Rows = {file: row for file, row in rows.items() if isinstance(row, list)}
    is_fresh = any(row is not known.seen.get(file) for file, row in seen.items())
    if is_fresh or len(seen) != len(known.seen) or known.code != code_sha256():
        content = json.dumps([code_sha256(), seen], ensure_ascii=False)
        write_bytes(memory / MEMORY, content.encode("utf-8", errors="surrogateescape"))
        os.utime(memory / MEMORY, ns=(now_ns, now_ns))
    return {file: row if isinstance(row, str) else row[-1] for file, row in rows.items()}


def last_seen(run: RunFolder, memory: Path) -> Rows:
    """The rows of a run's inputs, if none changed since this version of chronicle hashed them; else none."""
    known = Memory(memory)
    if known.code != code_sha256():
        return {}
    states = inputs(run)
    same = states.keys() == known.seen.keys() and all(map(known.is_unchanged, states, states.values()))
    return known.seen if same else {}


def changed_unseen(memory: Path) -> list[Path]:
    """Inputs whose content changed although size and times did not. Reads all of them."""
    known = Memory(memory)
    alike = (name for name in known.seen if known.is_unchanged(name, _state(name)))
    return [Path(name) for name in alike if not _has_hash(name, known.seen[name][-1])]


class Memory:
    """The hashes of a run's inputs that a folder keeps: ``seen`` has the `FileState` of each file at the time
    ``at_ns``, with its SHA-256; ``code`` is the version that took them. All are empty if none is usable."""

    def __init__(self, folder: Path) -> None:
        self.seen: Rows = {}
        self.at_ns, self.code = 0, ""
        with suppress(OSError, ValueError, AttributeError, TypeError):
            with open(f"{folder}/{MEMORY}", "rb") as stream:
                code, rows = json.loads(stream.read().decode("utf-8", "surrogateescape"))
                at_ns = os.stat(stream.fileno()).st_mtime_ns  # not in the file, whose bytes stay the same
            if all(isinstance(row, list) and len(row) == 6 for row in rows.values()):
                self.seen, self.at_ns, self.code = rows, at_ns, code

    def is_unchanged(self, file: str, state: FileState) -> bool:
        """Whether a file is certainly unchanged, judged by its size and times."""
        before = self.seen.get(file)
        if before is None or before[:-1] != state or not _HAS_CHANGE_TIME:
            return False
        return bool(max(before[1:3]) + _RACY_NS < self.at_ns)  # otherwise it may have changed after the hash

    def row(self, file: str, state: FileState) -> list[Any] | str:
        """The state of a file and its hash, the known one if the state is the same; or why it has none."""
        if isinstance(state, str):
            return state
        try:
            return self.seen[file] if self.is_unchanged(file, state) else [*state, sha256_of(file)]
        except OSError as err:
            return f"unreadable: {err.errno}"


def _state(file: str | os.DirEntry[str]) -> FileState:
    try:
        stat = os.stat(file) if isinstance(file, str) else file.stat()
    except OSError as err:
        return f"unreadable: {err.errno or 0}"
    if not S_ISREG(stat.st_mode):  # a pipe or a device: opening it might never end
        return "special"
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev]


def sha256_of(file: str | Path) -> str:
    """The hash of a file's content. Raises OSError."""
    total = hashlib.sha256()
    with open(file, "rb", buffering=0) as stream:
        while part := stream.read(_PART_BYTES):
            total.update(part)
    return total.hexdigest()


def _has_hash(file: str | Path, digest: str) -> bool:
    """Whether the content of a file has this hash; false if it cannot be read."""
    try:
        return sha256_of(file) == digest
    except OSError:
        return False


def note_kept(folder: Path, key: str, files: Iterable[str]) -> Rows:
    """Records the key of an entry, and the stamps and hashes of its written files, which are returned."""
    rows: Rows = {name: [*_stamp(folder, name), sha256_of(folder / name)] for name in files}
    write_bytes(folder / KEPT, json.dumps({"key": key, "files": rows}, indent=1).encode())
    return rows


def forget(folder: Path) -> None:
    """Lets the next build read the inputs of an entry again, and make the entry again."""
    for name in (KEPT, MEMORY):
        (folder / name).unlink(missing_ok=True)


def kept_files(folder: Path, key: str) -> Rows:
    """The files of an entry, if it was made from the inputs with this ``key`` and they are unchanged; else
    none. Files that a build reads are always hashed, the others only if their size or time differs."""
    made_from, rows = manifest(folder)
    stamps = {name: _stamp(folder, name) for name in rows}
    if made_from != key or any(_differs(folder, name, row, stamps[name]) for name, row in rows.items()):
        return {}
    moved = any(stamps[name] != row[:2] for name, row in rows.items())
    return note_kept(folder, key, rows) if moved else rows  # moved: the folder was copied from elsewhere


def damaged(folder: Path, *, shortcut: bool = False) -> list[str]:
    """The files of a kept entry that are missing or have other content than was written. With ``shortcut``
    a file whose size and time are unchanged is not read, unless it is the entry itself."""
    rows = manifest(folder)[1].items()
    return [n for n, row in rows if _differs(folder, n, row, _stamp(folder, n), every=not shortcut)]


def _stamp(folder: Path, name: str) -> list[int]:
    return stamp_of(f"{folder}/{name}", follow=False)  # no build has made a link


def _differs(folder: Path, name: str, row: list[Any], stamp: list[int], *, every: bool = False) -> bool:
    is_trusted = stamp == row[:2] and name not in (ENTRY, ROW) and not every
    return not is_trusted and not (stamp and _has_hash(f"{folder}/{name}", str(row[2])))


def manifest(folder: Path) -> tuple[str, Rows]:
    """The content of KEPT: the key and the files. Both are empty if the file is missing or unusable."""
    try:
        with open(f"{folder}/{KEPT}", "rb") as stream:
            kept = orjson.loads(stream.read())
        if all(len(row) == 3 and os.path.basename(name) == name for name, row in kept["files"].items()):
            return str(kept["key"]), kept["files"]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        pass
    return "", {}


def inputs(run: RunFolder) -> dict[str, FileState]:
    """Every file that is read below and beside the logs of a run, its run.toml, notes and label, sorted.
    Of a run with a problem, such as a link out of the workspace, no log is read."""
    states: dict[str, FileState] = {}
    for log in () if run.problem else (*run.logs, *run.machine_logs):
        _add_below(str(log), states, set())
        if str(log) in states:  # it is a file
            states |= {str(file): _state(str(file)) for file, _ in side_files(log)}
    if run.problem or run.folder not in run.logs:
        states |= {str(file): _state(str(file)) for file in run.own_files}
    return dict(sorted(states.items()))


def newest(runs: Iterable[RunFolder]) -> int:
    """Unix seconds of the newest log, which a build of these runs uses as its time."""
    files = [(file, state) for run in runs for file, state in (run.seen or inputs(run)).items()]
    logs = (m[1] for file, m in files if not isinstance(m, str) and not file.endswith((NOTES, BESIDE)))
    return max(logs, default=0) // 10**9


def _add_below(log: str, states: dict[str, FileState], entered: set[tuple[int, int]]) -> None:
    """Adds the files that reading a log may open: all files of a folder, also behind links, and the
    write-ahead log of a SQLite file."""
    try:
        entries = list(os.scandir(log))
        stat = os.stat(log)
    except NotADirectoryError:
        states[log] = _state(log)
        if os.path.isfile(write_ahead := f"{log}-wal"):  # holds what is not yet in the file itself
            states[write_ahead] = _state(write_ahead)
        return
    except OSError as err:
        states[log] = f"unreadable: {err.errno or 0}"
        return
    if (stat.st_dev, stat.st_ino) in entered:  # a link has led back
        return
    entered.add((stat.st_dev, stat.st_ino))
    for entry in entries:
        if os.path.isdir(entry) if entry.is_symlink() else entry.is_dir():  # one may lead to itself
            if not (entry.is_symlink() and _is_around(log, entry.path)):
                _add_below(entry.path, states, entered)
        elif not entry.name.startswith("."):
            states[entry.path] = _state(entry)


def _is_around(folder: str, link: str) -> bool:
    """Whether a link leads to its folder or to one above it, which no reader enters from there."""
    return os.path.join(os.path.realpath(folder), "").startswith(os.path.join(os.path.realpath(link), ""))


def check(workspace: Workspace, say: Say) -> tuple[list[str], list[str]]:
    """The damage in a workspace (its runs, kept entries, site and git repository), and remarks that are no
    damage. Waits for a running build, and says so. Raises OSError: a damaged entry cannot be forgotten."""
    build = workspace.root / "build"
    entries = sorted(f for f in (build / "entries").glob("*") if f.is_dir() and not f.is_symlink())
    with locked(build / "lock", f"the build in {workspace.root}", say):
        flaws = [flaw for run in workspace.runs() for flaw in _of_run(run)]
        flaws += [flaw for folder in entries for flaw in _of_entry(folder)]
        flaws += _of_site((workspace.root / workspace.config.out).resolve(), build / "docs", entries)
    return [*flaws, *_damage_of_git(workspace.root)], _changed_since_commit(workspace)


def _of_run(run: RunFolder) -> Iterator[str]:
    if run.problem:
        yield f"{run.run_id}: {run.problem}"
    for root, folders, names in os.walk(run.folder or ""):
        for path in (Path(root) / name for name in (*folders, *names)):
            if path.is_symlink() and not path.exists():
                yield f"{path}: is a link to a file that does not exist. Remedy: correct or remove it"
            elif path.is_file() and not os.access(path, os.R_OK):
                yield f"{path}: cannot be read. Remedy: check its permissions"
    try:
        if run.notes_file and os.access(run.notes_file, os.R_OK):
            run.notes_file.read_text("utf-8-sig")
    except UnicodeDecodeError as err:
        what = "is not UTF-8, and pages show a replacement character"
        yield f"{run.notes_file}@{err.start}: {what}. Remedy: save it as UTF-8"


def _of_entry(folder: Path) -> Iterator[str]:
    spoiled, unseen = damaged(folder), changed_unseen(folder)
    for name in spoiled:
        what = "has other content than was written" if (folder / name).exists() else "is missing"
        yield f"{folder / name}: {what}. {_REBUILD_REMEDY}"
    for log in unseen:
        what = "has changed although its size and times have not: a failing disk, or a tool that resets them"
        remedy = "compare it with a copy of your own; the next build reads it again"
        yield f"{log}: {what}. Remedy: {remedy}"
    if spoiled or unseen:
        forget(folder)


def _of_site(site: Path, docs: Path, entries: list[Path]) -> Iterator[str]:
    if not (site / MARKER).exists():
        return
    for page in missing_pages(stamps(site), stamps(docs)):
        yield f"{site / page}: is missing. {_REBUILD_REMEDY}"
    rows = ((entry.name, name, row) for entry in entries for name, row in manifest(entry)[1].items())
    for path, row in ((f"runs/{run_id}/{name}", row) for run_id, name, row in rows):
        if (site / path).is_file() and (docs / path).is_file() and not _has_hash(site / path, row[2]):
            yield f"{site / path}: differs from the stored result of the run. {_REBUILD_REMEDY}"


def _damage_of_git(root: Path) -> Iterator[str]:
    fsck = _git(root, "fsck", "--no-progress", "--no-dangling")
    if fsck and fsck.returncode not in (0, 128):  # 128: no repository
        errors = (fsck.stderr or fsck.stdout).strip().splitlines() or ["git fsck failed"]
        yield f"{root}: the git repository is damaged ({errors[0]}). Remedy: clone it again"


def _changed_since_commit(workspace: Workspace) -> list[str]:
    names = ["--no-ext-diff", "--name-only", "-z", "--relative", "HEAD", "--"]
    status = _git(workspace.root, "diff", *names, workspace.config.runs)
    changed = status.stdout.split("\0") if status and not status.returncode else []
    return [f"{name}: differs from the last commit (`git diff` shows how)" for name in changed if name]


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Runs git without starting any program that the configuration of the repository names, because the
    repository may come from a stranger. None if git is not installed."""
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    except OSError:
        return None
