"""The only place that writes generated files: into one folder, only what changed, nothing outside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from chronicle.errors import UsageError


def inside(folder: Path, relative: str) -> Path:
    """The path ``relative`` below ``folder``; UsageError if it would lead out of it."""
    target = Path(os.path.normpath(folder / relative))
    if not target.is_relative_to(folder) or "\0" in relative:
        raise UsageError(f"{relative!r} leads out of {folder}: nothing is written there")
    return target


def write_bytes(file: Path, data: bytes) -> bool:
    """Writes a file unless it already holds ``data``; true if it was written.

    The content appears at once or not at all, so that an interrupted build leaves no half page.
    """
    try:
        if file.read_bytes() == data:
            return False
    except OSError:
        file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    part.write_bytes(data)
    part.replace(file)
    return True


def write_tree(folder: Path, files: Iterable[tuple[str, str | bytes | Path]]) -> int:
    """Makes ``folder`` hold exactly ``files`` (relative path, text or bytes or a file to copy).

    Files that are not among them are removed. Returns how many files were written or removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    wanted: set[Path] = set()
    changed = 0
    for relative, content in files:
        target = inside(folder, relative)
        wanted.add(target)
        changed += _put(target, content)
    return changed + _prune(folder, wanted)


def _put(target: Path, content: str | bytes | Path) -> bool:
    if not isinstance(content, Path):
        return write_bytes(target, content.encode() if isinstance(content, str) else content)
    if _same(content, target):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(content, target)  # a thousand runs have ten thousand figures: no need to hold them twice
    except OSError:
        shutil.copy2(content, target)  # keeps the time, which is what `_same` compares next time
    return True


def _same(source: Path, target: Path) -> bool:
    try:
        ours, theirs = source.stat(), target.stat()
    except OSError:
        return False
    return (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)


def _prune(folder: Path, wanted: set[Path]) -> int:
    removed = 0
    for path in sorted(folder.rglob("*"), reverse=True):  # children before their folder
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in wanted:
            path.unlink()
            removed += 1
    return removed
