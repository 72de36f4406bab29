"""The site engine: one row a engine, called as a process of its own over a folder of Markdown.

The default is mkdocs with the Material theme, whose end of life is announced for May 2027: the same folder
and the same mkdocs.yml are therefore kept buildable with properdocs and zensical.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from chronicle.errors import MissingExtra, SiteError, UsageError

MARKER = ".chronicle-site"  # a folder without it is not ours, and an engine would empty it


class Engine(NamedTuple):
    """``python -m module build``; one that takes no --site-dir writes to site_dir of the mkdocs.yml."""

    module: str
    extra: str
    takes_site_dir: bool = True


ENGINES = {
    "mkdocs": Engine("mkdocs", "site"),
    "properdocs": Engine("properdocs", "engines"),
    "zensical": Engine("zensical", "engines", takes_site_dir=False),
}


def build_site(engine: str, config: Path, out: Path, *, strict: bool, epoch: int) -> str:
    """Runs the engine over the folder that ``config`` (a mkdocs.yml) names; returns what it printed.

    ``epoch`` (Unix seconds) stands for the time of the build, so that the same input gives the same bytes.

    Raises:
        MissingExtra: the engine is not installed.
        UsageError: ``out`` holds files that chronicle did not make.
        SiteError: the engine failed; its last words are in the message.
    """
    row = ENGINES[engine]
    if importlib.util.find_spec(row.module) is None:
        raise MissingExtra(f"--engine {engine}", row.extra, row.module)
    claim(out)
    command = [sys.executable, "-m", row.module, "build", "--config-file", str(config)]
    command += ["--site-dir", str(out)] if row.takes_site_dir else ["--clean"]
    command += ["--strict"] if strict else []
    environment = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": str(epoch), **os.environ}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=config.parent)
    printed = (done.stdout + done.stderr).strip()
    if done.returncode:
        tail = "\n".join(printed.splitlines()[-15:])
        raise SiteError(f"{engine} failed (exit {done.returncode}):\n{tail}")
    written = config.parent / "build" / "site"
    if not row.takes_site_dir and written != out and written.is_dir():
        shutil.copytree(written, out, dirs_exist_ok=True)
        shutil.rmtree(written)
    return printed


def claim(out: Path) -> None:
    """Makes ``out`` a folder of ours; refuses one with files in it that chronicle did not make."""
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise UsageError(
            f"{out} is not empty and was not made by chronicle, and a site engine empties its folder. "
            "Remedy: name another --out, or remove the folder yourself"
        )
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file. Name a folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()


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

    Raises:
        UsageError: a path that leads out of ``folder``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    wanted: set[Path] = set()
    changed = 0
    for relative, content in files:
        target = Path(os.path.normpath(folder / relative))
        if not target.is_relative_to(folder) or "\0" in relative:
            raise UsageError(f"{relative!r} leads out of {folder}: nothing is written there")
        wanted.add(target)
        changed += _put(target, content)
    for path in sorted(folder.rglob("*"), reverse=True):  # children before their folder
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in wanted:
            path.unlink()
            changed += 1
    return changed


def _put(target: Path, content: str | bytes | Path) -> bool:
    if not isinstance(content, Path):
        return write_bytes(target, content.encode() if isinstance(content, str) else content)
    if stamp_of(content) == stamp_of(target) is not None:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(content, target)  # a thousand runs have ten thousand figures: no need to hold them twice
    except OSError:
        shutil.copy2(content, target)  # keeps the time, which is what is compared next time
    return True


def stamp_of(file: Path) -> tuple[int, int] | None:
    """Size and time (ns) of a file, by which a change is seen; None for one that is gone."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns
