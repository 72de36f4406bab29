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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from chronicle.build.part import NEVER, NOT_NOW
from chronicle.build.workers import run_module
from chronicle.errors import MissingExtra, SiteError, UsageError


class Engine(NamedTuple):
    """``python -m module build``; one that takes no --site-dir writes to site_dir of the mkdocs.yml.

    The others are mkdocs or grew from it: they can be asked for single pages, see `chronicle.build.part`.
    """

    module: str
    extra: str
    takes_site_dir: bool = True


class NotInParts(Exception):
    """The pages of a site depend on each other: always (true), or with these changes."""


LISTED = "changed.json"  # beside the site that is made: the pages that an engine is asked for
PART = str(Path(__file__).with_name("part.py"))  # run as a file: it needs no other of ours
_REFUSED = re.compile(r"(?:OSError|PermissionError): \[Errno (\d+)\] ([^:]*)(?:: '(.*?)')?")  # of a traceback

ENGINES = {
    "mkdocs": Engine("mkdocs", "site"),
    "properdocs": Engine("properdocs", "engines"),
    "zensical": Engine("zensical", "engines", takes_site_dir=False),
}


def build_site(
    engine: str, config: Path, made: Path, *, strict: bool, epoch: int, changed: Iterable[str] | None = None
) -> str:
    """Runs the engine over the folder that ``config`` (a mkdocs.yml) names; returns what it printed.

    It writes the folder ``made``; where only ``changed`` files are given, that holds the rest of the site.
    ``epoch`` (Unix seconds) stands for the time of the build, so that the same input gives the same bytes.

    Raises:
        MissingExtra: the engine is not installed.
        NotInParts: ``changed`` was given, and this site can only be made as a whole.
        SiteError: the engine failed; its last words are in the message.
        OSError: the system refused it something.
    """
    row = ENGINES[engine]
    if importlib.util.find_spec(row.module) is None:
        raise MissingExtra(f"--engine {engine}", row.extra, row.module)
    environment = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": str(epoch), **os.environ}
    with _config(row, config, made) as (file, options):
        command = ["build", "--config-file", str(file), *options, *(["--strict"] if strict else [])]
        if changed is None:
            code, printed = run_module(row.module, command, environment, config.parent)
        else:
            listed = made.with_name(LISTED)
            write_bytes(listed, json.dumps(sorted(changed)).encode("utf-8", "surrogateescape"))
            part = [row.module, str(listed), *command]
            code, printed = run_module(PART, part, environment, config.parent)
            listed.unlink()
            if code in (NEVER, NOT_NOW):
                raise NotInParts(code == NEVER)
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


def write_tree(folder: Path, files: Iterable[tuple[str, str | bytes | Path | None]]) -> int:
    """Makes ``folder`` hold exactly ``files``: a relative path, and text, bytes or a file to copy.

    None is the content of a file that is there as it should be. Files that are not among them are removed.
    A file beside ``folder``, which a build has made, is linked and not copied: one that people write never
    is, since whoever edits the copy would edit theirs. Returns how many files were written or removed.

    Raises:
        UsageError: a path that leads out of ``folder``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    wanted: set[str] = set()
    changed = 0
    for relative, content in files:
        target = Path(os.path.normpath(folder / relative))
        if not target.is_relative_to(folder) or "\0" in relative:
            raise UsageError(f"{relative!r} leads out of {folder}: nothing is written there")
        wanted.add(str(target))
        changed += content is not None and _put(target, content, folder.parent)
    for within, folders, names in os.walk(folder, topdown=False):  # children before their folder
        for name in (*names, *(name for name in folders if os.path.islink(f"{within}/{name}"))):
            if f"{within}/{name}" not in wanted:
                os.unlink(f"{within}/{name}")
                changed += 1
        if not names and within != str(folder) and not os.listdir(within):
            os.rmdir(within)
    return changed


def _put(target: Path, content: str | bytes | Path, made_here: Path) -> bool:
    if not isinstance(content, Path):
        return write_bytes(target, content.encode() if isinstance(content, str) else content)
    if stamp_of(content) == stamp_of(target) is not None:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if content.is_relative_to(made_here):
        with suppress(OSError):
            os.link(content, target)  # a thousand runs have ten thousand figures: no need to hold them twice
            return True
    shutil.copy2(content, target)  # keeps the time, which is what is compared next time
    return True


def stamp_of(file: str | Path) -> tuple[int, int] | None:
    """Size and time (ns) of a file, by which a change is seen; None for one that is gone."""
    try:
        stat = os.stat(file)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns
