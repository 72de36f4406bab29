"""What an entry was made from, as a hash: equal hashes mean that nothing need be read again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from chronicle.workspace.folders import NOTES, RunFolder

_MEMORY = "inputs.json"


def fingerprint(run: RunFolder, settings: object, memory: Path) -> str:
    """SHA-256 over the content of every input of a run and over ``settings`` (anything with a stable repr).

    ``memory`` is a folder that keeps the hash of each file with its size and time, so that a log of
    gigabytes is hashed once and then only looked at; without it, or with an unusable one, all is hashed.
    """
    known = _recall(memory)
    seen: dict[str, list[object]] = {}
    total = hashlib.sha256(repr(settings).encode())
    for file in inputs(run):
        mark, digest = _digest(file, known)
        if mark:
            seen[str(file)] = [*mark, digest]
        total.update(f"{_relative(run, file)}\0{digest}\0".encode("utf-8", "surrogateescape"))
    memory.mkdir(parents=True, exist_ok=True)
    (memory / _MEMORY).write_text(json.dumps(seen), "utf-8", errors="surrogateescape")
    return total.hexdigest()


@cache
def code_sha256() -> str:
    """SHA-256 over chronicle's own source: another version of it may say or draw something else."""
    package = Path(__file__).parent.parent
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def inputs(run: RunFolder) -> Iterator[Path]:
    """Every file below the logs of a run, and its own run.toml, notes and label; each once, sorted."""
    files: set[Path] = set(run.own_files)
    for log in (*run.logs, *run.beside):
        files.update(_below(log))
    yield from sorted(files)


def newest(runs: Iterable[RunFolder]) -> int:
    """Unix seconds of the youngest log: the time that a build of these runs speaks of."""
    times = [_mtime(file) for run in runs for file in inputs(run) if file.name != NOTES]
    return int(max(times, default=0))


def _below(log: Path) -> Iterator[Path]:
    if not log.is_dir():
        yield log
        return
    for folder, _, names in os.walk(log):  # does not follow links to folders: no loops
        yield from (Path(folder) / name for name in names if not name.startswith("."))


def _digest(file: Path, known: dict[str, list[object]]) -> tuple[list[int], str]:
    try:
        stat = file.stat()
        mark = [stat.st_size, stat.st_mtime_ns]
        before = known.get(str(file))
        if before and before[:2] == mark and isinstance(before[2], str):
            return mark, before[2]
        if not file.is_file():  # a pipe or a device: opening it might never end
            return [], "special"
        with file.open("rb") as stream:
            return mark, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as err:
        return [], f"unreadable: {err.errno}"


def _recall(memory: Path) -> dict[str, list[object]]:
    try:
        known = json.loads((memory / _MEMORY).read_text("utf-8", errors="surrogateescape"))
        return {k: v for k, v in known.items() if isinstance(v, list) and len(v) == 3}
    except (OSError, ValueError, AttributeError):
        return {}


def _relative(run: RunFolder, file: Path) -> str:
    roots = [r for r in (run.folder, *run.logs, *run.beside) if r]
    return next((file.relative_to(r).as_posix() for r in roots if file.is_relative_to(r)), file.name)


def _mtime(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
