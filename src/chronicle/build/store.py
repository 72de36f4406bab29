"""What is kept of each run in build/entries, and how it is known to be whole and made from just these inputs.

An entry is kept under a key, a hash over all that it was made from, and with the hash of each of its files.
A log is known by the hash of its content. Size and times of a file are a shortcut that is only taken where it
is safe: the time at which its inode changed cannot be set back, and it must lie well before the moment at
which the content was hashed (what git calls a racy timestamp).

`chronicle check` believes nothing of that and reads all that a workspace holds, since a failing disk changes
neither size nor time. What it finds damaged loses its mark of being kept, so that the next build makes it
again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import orjson

from chronicle.build.engines import stamps, write_bytes
from chronicle.build.site import MARKER, lacking
from chronicle.errors import message_of
from chronicle.workspace.folders import RunFolder, Workspace
from chronicle.workspace.locks import Say, locked
from chronicle.workspace.notes import BESIDE, NOTES

ENTRY = "entry.json"
ROW = "row.json"  # what other pages than its own show of a run, and the names that are not published
KEPT = "kept.json"  # the key of an entry, and the hashes of its files
MEMORY = "inputs.json"  # the hash of each input, with what it looked like then
Rows = dict[str, list[Any]]  # of each file its size, time (ns) and SHA-256
_PIECE = 1 << 18
_RACY_NS = 2_000_000_000  # the coarsest clock of a file system (FAT)
_TYPES = [*[int] * 5, str]  # of the fields of `Seen`
Marks = tuple[int, int, int, int, int]
_HAS_CHANGE_TIME = os.name == "posix"  # elsewhere that field holds when a file was made
_AGAIN = "Remedy: chronicle build, which makes it again"


class Seen(NamedTuple):
    """What a file looked like: size, times of content and inode (ns), inode and device; and its SHA-256."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int
    device: int
    sha256: str


def fingerprint(run: RunFolder, settings: object, memory: Path) -> str:
    """SHA-256 over the content of every input of a run and over ``settings`` (anything with a stable repr).

    ``memory`` is a folder that keeps the hash of each file, so that a log of gigabytes is hashed once and
    then only looked at; without it, or with an unusable one, all is hashed.
    """
    now_ns = time.time_ns()
    known = _recalled(memory)
    roots = [f"{root}{os.sep}" for root in (run.folder, *run.logs, *run.beside) if root]
    seen: dict[str, Seen] = {}
    total = hashlib.sha256(repr(settings).encode())
    for file, marks in inputs(run).items():
        look = known.look(file, marks)
        digest = look if isinstance(look, str) else look.sha256
        if isinstance(look, Seen):
            seen[file] = look
        within = next((file[len(root) :] for root in roots if file.startswith(root)), "")
        name = within.replace(os.sep, "/") or os.path.basename(file)
        total.update(f"{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
    fresh = [file for file, look in seen.items() if look is not known.seen.get(file)]
    if fresh or len(seen) != len(known.seen) or known.code != code_sha256():
        _remember(memory, seen, now_ns)
    return total.hexdigest()


def looks_known(run: RunFolder, memory: Path) -> bool:
    """Whether the inputs of a run look as when this chronicle hashed them last."""
    known = _recalled(memory)
    if known.code != code_sha256():
        return False
    marks_of = inputs(run)
    return marks_of.keys() == known.seen.keys() and all(map(known.is_as_it_was, marks_of, marks_of.values()))


def changed_unseen(memory: Path) -> list[Path]:
    """Inputs that look as they did when they were hashed, and hold something else. Reads all of them."""
    known, changed = _recalled(memory), []
    for name in known.seen:
        marks = _marks(name)
        if known.is_as_it_was(name, marks) and _hashed(name, marks) != known.seen[name]:
            changed.append(Path(name))
    return changed


class Memory(NamedTuple):
    """What the inputs of a run looked like at ``at_ns``, and the hash of the source of who looked."""

    seen: Mapping[str, Seen] = {}
    at_ns: int = 0
    code: str = ""

    def is_as_it_was(self, file: str, marks: Marks | int) -> bool:
        """Whether a file has changed since, as far as its looks tell: never, where they might not."""
        before = self.seen.get(file)
        if before is None or before[:-1] != marks or not _HAS_CHANGE_TIME:  # a look may have missed a change
            return False
        return max(before.modified_ns, before.changed_ns) + _RACY_NS < self.at_ns

    def look(self, file: str, marks: Marks | int) -> Seen | str:
        """How a file looks, with its hash, the known one if it looks the same; a word if it has none."""
        return self.seen[file] if self.is_as_it_was(file, marks) else _hashed(file, marks)


def _recalled(memory: Path) -> Memory:
    """What a folder remembers; the time is that of its file, so that equal content is equal."""
    file = f"{memory}/{MEMORY}"
    try:
        with open(file, "rb") as stream:
            code, table = json.loads(stream.read().decode("utf-8", "surrogateescape"))
            at_ns = os.stat(stream.fileno()).st_mtime_ns
        rows = {name: Seen(*row) for name, row in table.items()}
        is_whole = all([*map(type, row)] == _TYPES for row in rows.values()) and isinstance(code, str)
        return Memory(rows, at_ns, code) if is_whole else Memory()
    except (OSError, ValueError, AttributeError, TypeError):
        return Memory()


def _remember(memory: Path, seen: Mapping[str, Seen], at_ns: int) -> None:
    memory.mkdir(parents=True, exist_ok=True)
    content = json.dumps([code_sha256(), seen], ensure_ascii=False)
    write_bytes(memory / MEMORY, content.encode("utf-8", errors="surrogateescape"))
    os.utime(memory / MEMORY, ns=(at_ns, at_ns))


def _marks(file: str | os.DirEntry[str]) -> Marks | int:
    """What a file looks like (`Seen` without its hash); the number of the error where nobody can look."""
    try:
        stat = os.stat(file) if isinstance(file, str) else file.stat()
    except OSError as err:
        return err.errno or 0
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev


def _hashed(file: str, marks: Marks | int) -> Seen | str:
    if isinstance(marks, int):
        return f"unreadable: {marks}"
    if not os.path.isfile(file):  # a pipe or a device: opening it might never end
        return "special"
    try:
        return Seen(*marks, sha256_of(file))
    except OSError as err:
        return f"unreadable: {err.errno}"


def sha256_of(file: str | Path) -> str:
    """The hash of a file's content. Raises OSError."""
    total = hashlib.sha256()
    with open(file, "rb", buffering=0) as stream:
        while piece := stream.read(_PIECE):  # most files are one
            total.update(piece)
    return total.hexdigest()


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
    return {name: str(row[2]) for name, row in _kept(folder)[1].items()}


def kept(folder: Path, key: str) -> Rows:
    """The files of an entry that was made from just what ``key`` says, and that are as they were; else none.

    The hash of what a build reads of it is always looked at, that of the others where size or time differ.
    """
    made_from, rows = _kept(folder)
    if made_from != key:
        return {}
    stamps = {name: _stamp(folder, name) for name in rows}
    if any(_differs(folder, name, row, stamps[name]) for name, row in rows.items()):
        return {}
    moved = any(stamps[name] != row[:2] for name, row in rows.items())
    return keep(folder, key, rows) if moved else rows  # whole, but copied here from elsewhere


def _stamp(folder: Path, name: str) -> list[int]:
    """Size and time of a file; none of a link, which no build has made."""
    try:
        stat = os.lstat(f"{folder}/{name}")
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns] if S_ISREG(stat.st_mode) else []


def damaged(folder: Path, *, shortcut: bool = False) -> list[str]:
    """Files of a kept entry that are missing, or hold something else than what was written.

    With the ``shortcut`` those of the size and time that they had are not read, but for the entry.
    """
    rows = _kept(folder)[1].items()
    return [n for n, row in rows if _differs(folder, n, row, _stamp(folder, n), every=not shortcut)]


def _differs(folder: Path, name: str, row: list[Any], stamp: list[int], *, every: bool = False) -> bool:
    if stamp == row[:2] and name not in (ENTRY, ROW) and not every:
        return False
    try:
        return not stamp or sha256_of(f"{folder}/{name}") != str(row[2])
    except OSError:
        return True


def _kept(folder: Path) -> tuple[str, Rows]:
    """The content of KEPT: the key and the files; none where there is no such file, or none to be used."""
    try:
        with open(f"{folder}/{KEPT}", "rb") as stream:
            kept = orjson.loads(stream.read())
        if all(len(row) == 3 and os.path.basename(name) == name for name, row in kept["files"].items()):
            return str(kept["key"]), kept["files"]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        pass
    return "", {}


@cache
def code_sha256() -> str:
    """SHA-256 over chronicle's own source: another version of it may say or draw something else."""
    package = Path(__file__).parent.parent
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def inputs(run: RunFolder) -> dict[str, Marks | int]:
    """Every file below the logs of a run, and its own run.toml, notes and label, by its path, sorted.

    With what each looks like; the number of an error for one that nobody can look at.
    """
    marks_of: dict[str, Marks | int] = {}
    for log in (*run.logs, *run.beside):
        _add_below(str(log), marks_of, set())
    if run.folder not in run.logs:
        marks_of |= {str(file): _marks(str(file)) for file in run.own_files}
    return dict(sorted(marks_of.items()))


def newest(runs: Iterable[RunFolder]) -> int:
    """Unix seconds of the youngest log: the time that a build of these runs speaks of."""
    files = [(file, marks) for run in runs for file, marks in inputs(run).items()]
    logs = (m[1] for file, m in files if not isinstance(m, int) and not file.endswith((NOTES, BESIDE)))
    return max(logs, default=0) // 10**9


def _add_below(log: str, marks_of: dict[str, Marks | int], entered: set[tuple[int, int]]) -> None:
    """The files that reading a log may open: all of a folder, with links; the write-ahead log of SQLite."""
    try:
        entries = list(os.scandir(log))
        stat = os.stat(log)
    except NotADirectoryError:
        marks_of[log] = _marks(log)
        if os.path.isfile(write_ahead := f"{log}-wal"):  # what is not in the file itself yet
            marks_of[write_ahead] = _marks(write_ahead)
        return
    except OSError as err:
        marks_of[log] = err.errno or 0
        return
    if (stat.st_dev, stat.st_ino) in entered:  # a link has led back
        return
    entered.add((stat.st_dev, stat.st_ino))
    for entry in entries:
        if os.path.isdir(entry) if entry.is_symlink() else entry.is_dir():  # one may lead to itself
            _add_below(entry.path, marks_of, entered)
        elif not entry.name.startswith("."):
            marks_of[entry.path] = _marks(entry)


class Flaw(NamedTuple):
    """What is not as it was written, and what to do; not ``is_damage`` if that is only worth knowing."""

    where: str
    what: str
    is_damage: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def check(workspace: Workspace, say: Say) -> list[Flaw]:
    """What is damaged in a workspace: its runs, the entries that are kept, the site, and what git holds.

    Waits for a build that is at work; ``say`` is told so.

    Raises:
        OSError: the mark of a damaged entry cannot be removed.
    """
    build = workspace.root / "build"
    entries = sorted(f for f in (build / "entries").glob("*") if f.is_dir() and not f.is_symlink())
    with locked(build / "lock", f"the build in {workspace.root}", say):
        flaws = [flaw for run in workspace.runs() for flaw in _of_run(run)]
        flaws += [flaw for folder in entries for flaw in _of_entry(folder)]
        flaws += _of_site((workspace.root / workspace.config.out).resolve(), build / "docs", entries)
    return [*flaws, *_of_git(workspace)]


def _of_run(run: RunFolder) -> Iterator[Flaw]:
    if run.problem:
        yield Flaw(run.run_id, str(run.problem))
    for root, folders, names in os.walk(run.folder or "", onerror=None):
        for path in (Path(root) / name for name in (*folders, *names)):
            if path.is_symlink() and not path.exists():
                yield Flaw(str(path), "is a link to what does not exist. Remedy: mend the link or remove it")
            elif path.is_file() and not os.access(path, os.R_OK):
                yield Flaw(str(path), "cannot be read. Remedy: check its permissions")
    try:
        if run.notes_file and run.notes_file.is_file():
            run.notes_file.read_text("utf-8-sig")
    except UnicodeDecodeError as err:
        where = f"{run.notes_file}@{err.start}"
        yield Flaw(where, "is no UTF-8; a page shows a sign in its place. Remedy: save it as UTF-8")
    except OSError as err:
        yield Flaw(run.run_id, message_of(err))


def _of_entry(folder: Path) -> Iterator[Flaw]:
    spoiled, unseen = damaged(folder), changed_unseen(folder)
    for name in spoiled:
        what = "holds something else than what was written" if (folder / name).exists() else "is missing"
        yield Flaw(str(folder / name), f"{what}. {_AGAIN}")
    for log in unseen:
        what = "changed, and its size and times did not: a disk that fails, or a tool that hides what it does"
        yield Flaw(
            str(log), f"{what}. Remedy: compare it with a copy of yours; the next build reads it again"
        )
    if spoiled or unseen:
        forget(folder)


def _of_site(site: Path, docs: Path, entries: list[Path]) -> Iterator[Flaw]:
    if not (site / MARKER).exists():
        return
    for page in lacking(stamps(site), stamps(docs)):
        yield Flaw(str(site / page), f"is missing. {_AGAIN}")
    for folder in entries:
        for name, sha256 in kept_files(folder).items():
            file = site / "runs" / folder.name / name
            published = file.is_file() and (docs / file.relative_to(site)).is_file()
            if published and sha256_of(file) != sha256:
                yield Flaw(str(file), f"is not what was kept of the run. {_AGAIN}")


def _of_git(workspace: Workspace) -> Iterator[Flaw]:
    """What git says of its own objects, and which files of runs are not as it holds them."""
    fsck = _git(workspace.root, "fsck", "--no-progress", "--no-dangling")
    if fsck is None or fsck.returncode == 128:  # no git, or no repository
        return
    if fsck.returncode:
        errors = (fsck.stderr or fsck.stdout).strip().splitlines() or ["git fsck failed"]
        yield Flaw(str(workspace.root), f"what git holds is damaged ({errors[0]}). Remedy: clone it anew")
    names = ["--no-ext-diff", "--name-only", "-z", "--relative", "HEAD", "--"]
    status = _git(workspace.root, "diff", *names, workspace.config.runs)
    for name in status.stdout.split("\0") if status and not status.returncode else []:
        if name:
            yield Flaw(name, "differs from what git holds (`git diff` shows how)", is_damage=False)


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Runs git on a repository of strangers: no program that its configuration names is started."""
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    except OSError:
        return None
