"""The site engine: one row a engine, called as a process of its own over a folder of Markdown.

The default is mkdocs with the Material theme, whose end of life is announced for May 2027: the same folder
and the same mkdocs.yml are therefore kept buildable with properdocs and zensical.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chronicle.build.workers import run_module
from chronicle.errors import MissingExtra, SiteError, UsageError


class Engine(NamedTuple):
    """``python -m module build``; one that takes no --site-dir writes to site_dir of the mkdocs.yml."""

    module: str
    extra: str
    takes_site_dir: bool = True


_REFUSED = re.compile(r"(?:OSError|PermissionError): \[Errno (\d+)\] ([^:]*)(?:: '(.*?)')?")  # of a traceback

ENGINES = {
    "mkdocs": Engine("mkdocs", "site"),
    "properdocs": Engine("properdocs", "engines"),
    "zensical": Engine("zensical", "engines", takes_site_dir=False),
}


def build_site(engine: str, config: Path, made: Path, *, strict: bool, epoch: int) -> str:
    """Runs the engine over the folder that ``config`` (a mkdocs.yml) names; returns what it printed.

    It writes the folder ``made``. ``epoch`` (Unix seconds) stands for the time of the build, so that the same
    input gives the same bytes.

    Raises:
        MissingExtra: the engine is not installed.
        SiteError: the engine failed; its last words are in the message.
        OSError: the system refused it something.
    """
    row = ENGINES[engine]
    if importlib.util.find_spec(row.module) is None:
        raise MissingExtra(f"--engine {engine}", row.extra, row.module)
    environment = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": str(epoch), **os.environ}
    with _config(row, config, made) as (file, options):
        command = ["build", "--config-file", str(file), *options, *(["--strict"] if strict else [])]
        code, printed = run_module(row.module, command, environment, config.parent)
    if code:
        lines = printed.strip().splitlines()
        for refused in filter(None, map(_REFUSED.match, reversed(lines[-3:]))):
            raise OSError(int(refused[1]), refused[2], refused[3])
        tail = "\n".join(lines[-15:])
        raise SiteError(f"{engine} failed (exit {code}):\n{tail}")
    return printed.strip()


@contextmanager
def _config(row: Engine, config: Path, made: Path) -> Iterator[tuple[Path, list[str]]]:
    """The file and the options that let an engine write to ``made``."""
    if row.takes_site_dir:
        yield config, ["--site-dir", str(made)]
        return
    place, line = os.path.relpath(made, config.parent), re.compile(r"^site_dir:.*\n?", re.MULTILINE)
    text = line.sub("", config.read_text("utf-8")).rstrip("\n")
    file = config.with_name(f".{config.name}.chronicle.yml")  # beside it: its paths are relative
    try:
        write_bytes(file, f"{text}\nsite_dir: {json.dumps(place)}\n".encode())
        yield file, ["--clean"]
    finally:
        file.unlink(missing_ok=True)


def write_bytes(file: Path, data: bytes) -> bool:
    """Writes a file unless it already holds ``data``; true if it was written.

    The content appears at once or not at all, so that an interrupted build leaves no half page.
    """
    try:
        if file.read_bytes() == data:
            return False
    except OSError:
        file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
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
