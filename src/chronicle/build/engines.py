"""Site engines, a row each, which run as processes over a folder of Markdown; and writing that folder.

The default is mkdocs with the Material theme. Its end of life is announced for May 2027, so the same folder
and the same mkdocs.yml can also be built with properdocs and zensical.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from chronicle.build.part import NEVER, NOT_NOW
from chronicle.build.workers import run_module
from chronicle.errors import MissingExtra, SiteError, UsageError
from chronicle.pages.words import as_html

Stamps = dict[str, list[int]]  # path below a folder: size, and time of content (ns)


class Engine(NamedTuple):
    """An engine is called as ``python -m module build``. ``in_parts``: it can render single pages
    (`chronicle.build.part`)."""

    module: str
    extra: str
    in_parts: bool = True


class NotInParts(Exception):
    """Single pages of a site cannot be rendered: never (argument true), or not after these changes."""


LISTED = "changed.json"  # beside the new site: the pages that the engine has to render
PART = str(Path(__file__).with_name("part.py"))  # run as a file: importing chronicle would take too long
_REFUSED = re.compile(r"(?:OSError|PermissionError): \[Errno (\d+)\] ([^:]*)(?:: '(.*?)')?")  # of a traceback

# Empty lines and indentation (a tenth of the bytes of a page), except in elements where they have a meaning.
_INDENTED = re.compile(rb"(<(pre|textarea|script|style)\b.*?</\2>)|\n\s+", re.DOTALL)
# Files of a theme that no page loads: source maps, and the theme's search if the site has its own.
_OF_MAKERS, _OF_SEARCH = ("assets/*s/**/*.map",), ("assets/*s/lunr/**/*.js", "assets/*s/workers/*.js")

ENGINES = {
    "mkdocs": Engine("mkdocs", "site"),
    "properdocs": Engine("properdocs", "engines"),
    "zensical": Engine("zensical", "engines", in_parts=False),
}


def build_site(
    engine: str,
    config: Path,
    new_site: Path,
    *,
    title: str = "",
    strict: bool,
    epoch: int,
    changed: Collection[str] | None = None,
    docs: Collection[str] = (),
) -> str:
    """Runs the engine over the folder that ``config`` (a mkdocs.yml) names; returns what it printed.

    It writes the folder ``new_site``. If only the ``changed`` files of ``docs`` (all that the engine may
    read) are to be rendered, that folder already holds the rest of the site. ``title`` is the title of the
    site (default: that of mkdocs.yml); it is escaped, because themes print it raw. ``epoch`` (Unix seconds)
    replaces the time of the build, so that the same input gives the same bytes.

    Raises:
        MissingExtra: the engine is not installed.
        NotInParts: ``changed`` was given, and this site can only be rendered as a whole.
        SiteError: the engine failed; the message has the last lines that it printed.
        OSError: the engine could not read or write a file.
    """
    row = ENGINES[engine]
    if importlib.util.find_spec(row.module) is None:
        raise MissingExtra(f"--engine {engine}", row.extra, row.module)
    environment = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": str(epoch), **os.environ}
    ours = config.with_name(f".{config.name}.chronicle.yml")  # beside it: paths in it are relative
    listed, place = new_site.with_name(LISTED), os.path.relpath(new_site, config.parent)
    if changed is not None:
        paths = json.dumps([sorted(changed), sorted(docs)], ensure_ascii=False)
        write_bytes(listed, paths.encode("utf-8", "surrogateescape"))
    alone = [row.module, str(listed) if changed is not None else ""] if row.in_parts else []
    command = [*alone, "build", "--config-file", str(ours), "--clean", *["--strict"] * strict]
    try:
        write_bytes(ours, _settings(config.read_text("utf-8"), site_dir=place, site_name=as_html(title)))
        code, printed = run_module(PART if alone else row.module, command, environment, config.parent)
    finally:
        for file in (ours, listed):
            file.unlink(missing_ok=True)
    if changed is not None and code in (NEVER, NOT_NOW):
        raise NotInParts(code == NEVER)
    if code:
        lines = printed.strip().splitlines()
        for refused in filter(None, map(_REFUSED.match, reversed(lines[-3:]))):
            raise OSError(int(refused[1]), refused[2], refused[3])
        raise SiteError("\n".join([f"{engine} failed (exit {code}):", *lines[-15:]]))
    _remove_unused(new_site)
    return printed.strip()


def _remove_unused(new_site: Path) -> None:
    """Removes theme files that no page loads, and empty lines and indentation of pages."""
    unasked = _OF_MAKERS if (new_site / "search").is_dir() else _OF_MAKERS + _OF_SEARCH
    for file in chain.from_iterable(map(new_site.glob, unasked)):
        file.unlink()
    for path, entry in files_below(str(new_site), hidden=False):
        if path.endswith(".html") and os.stat(entry).st_nlink < 2:  # else it is that of the last site
            page = (new_site / path).read_bytes()
            write_bytes(new_site / path, _INDENTED.sub(lambda kept: kept[1] or b"\n", page).lstrip())


def _settings(config: str, **values: str) -> bytes:
    """The text of a mkdocs.yml, ``config``, with these values replaced, except empty ones."""
    known = {key: value for key, value in values.items() if value}
    lines = re.sub(rf"^(?:{'|'.join(known)}):.*\n?", "", config, flags=re.MULTILINE)
    settings = "".join(f"{key}: {json.dumps(value)}\n" for key, value in known.items())
    return f"{lines.rstrip()}\n{settings}".encode()


def write_bytes(file: Path, data: bytes) -> bool:
    """Writes a file unless it already holds ``data``; true if it was written. The new content appears
    completely or not at all."""
    try:
        if file.read_bytes() == data:
            return False
    except OSError:
        file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(file)
    return True


def stamps(folder: str | Path, *, hidden: bool = False) -> Stamps:
    """Size and time of every file below a folder. ``hidden`` files, which people keep in a site, are included
    only on request. A link, which no build makes, has neither size nor time."""
    return {path: stamp_of(file, follow=False) for path, file in files_below(str(folder), hidden)}


def files_below(folder: str, hidden: bool = True) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All files below a folder, with their paths relative to it; nothing if the folder does not exist."""
    folders = [""] if os.path.isdir(folder) else []
    while folders:
        within = folders.pop()
        with os.scandir(f"{folder}/{within}") as entries:
            for entry in entries:
                if entry.name[0] == "." and not hidden:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{within}{entry.name}/")
                else:
                    yield within + entry.name, entry


def write_tree(
    folder: Path, files: Iterable[tuple[str, str | bytes | Path | None]], standing: Stamps | None = None
) -> Stamps:
    """Makes ``folder`` hold exactly ``files``: a relative path, and text, bytes or a file to copy.

    None is the content of a file that already stands there unchanged. All other files are removed. A file
    that a build made (it lies beside ``folder``) is hard-linked instead of copied; a file that people write
    is not, because editing one would change the other. ``standing`` is the result of `stamps` for the folder,
    if it is known; the new result is returned. Raises UsageError: a path leads out of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    standing = stamps(folder, hidden=True) if standing is None else standing
    links = {path for path, stamp in standing.items() if not stamp}
    for path in links:  # nothing may be written through a link
        os.unlink(folder / path)
    now: Stamps = {}
    for path, content in files:
        if content is None:
            now[path] = standing[path]
            continue
        target = Path(os.path.normpath(folder / path))
        if target == folder or not target.is_relative_to(folder) or "\0" in path:
            raise UsageError(f"{path!r} leads out of {folder}: nothing is written there")
        _place_file(target, content, folder.parent)
        now[target.relative_to(folder).as_posix()] = stamp_of(target)
    for path in standing.keys() - links - now.keys():
        remove_file(folder, path)
    return now


def remove_file(folder: Path, path: str) -> None:
    """Removes a file below a folder, if it is there, and the folders above it that are empty then."""
    place = folder / path
    place.unlink(missing_ok=True)
    while (place := place.parent) != folder:
        try:
            place.rmdir()
        except OSError:  # the folder is not empty
            return


def _place_file(target: Path, content: str | bytes | Path, made_here: Path) -> None:
    if not isinstance(content, Path):
        write_bytes(target, content.encode() if isinstance(content, str) else content)
    elif stamp_of(content) != stamp_of(target) or not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        put = share if content.is_relative_to(made_here) else shutil.copy2
        put(content, target)


def share(source: str | Path, target: str | Path) -> None:
    """Hard-links a file, or copies it with its time if it cannot be linked. Raises OSError."""
    try:
        os.link(source, target)  # a thousand runs have ten thousand figures, which need not be stored twice
    except OSError:
        shutil.copy2(source, target)


def stamp_of(file: str | os.PathLike[str], *, follow: bool = True) -> list[int]:
    """Size and time (ns) of a file, by which changes are noticed; empty if there is no regular file."""
    try:
        stat = os.stat(file, follow_symlinks=follow)
    except OSError:
        return []
    return [stat.st_size, stat.st_mtime_ns] if S_ISREG(stat.st_mode) else []


@cache
def code_sha256() -> str:
    """SHA-256 over chronicle's own source, because another version may give other results."""
    package = Path(__file__).parent.parent
    total = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        total.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()
