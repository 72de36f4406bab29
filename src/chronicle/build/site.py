"""The folder of a site: what the last site was made from, and how the new one takes its place.

Only what has changed since the last build is rendered, judged by size and time of each file; after any other
change everything. The new site is made in a folder of its own, checked, and exchanged with the old one in a
single step. Only a folder with our marker file is ever replaced, and hidden files in it are kept.

The end of life of mkdocs is announced for May 2027: properdocs and zensical build the same folder.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from chronicle.build.part import NEVER, NOT_NOW
from chronicle.build.workers import run_module
from chronicle.errors import MissingExtra, SiteError, UsageError
from chronicle.metrics.values import first_few
from chronicle.pages.words import as_html
from chronicle.workspace.locks import remove

Stamps = dict[str, list[int]]  # path below a folder: size, and time of content (ns)


class Engine(NamedTuple):
    """Runs as ``python -m module build``. ``in_parts``: it renders single pages (`chronicle.build.part`)."""

    module: str
    extra: str
    in_parts: bool = True


class NotInParts(Exception):
    """Single pages of a site cannot be rendered: never (argument true), or not after these changes."""


_UNFINISHED = ".chronicle-part"  # ends the name of a file that is being written
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


class SiteRecord(NamedTuple):
    """What is known of the last site: engine, title, a ``key`` over everything that all pages are rendered
    with, its time (``epoch``), the stamps of build/docs, and a hash of the stamps of the site.

    ``in_parts``: whether the engine can render single pages of it (None: not tried yet). ``parts``: what each
    page of build/docs was made from, as a hash.
    """

    engine: str = ""
    title: str = ""
    strict: bool = False
    epoch: int = 0
    key: str = ""
    in_parts: bool | None = None
    docs: Stamps = {}
    site: str = ""
    parts: Mapping[str, str] = {}


def build_site(site: SiteRecord, config: Path, new_site: Path, changed: Collection[str] | None = None) -> str:
    """Runs the engine of ``site`` over the folder that ``config`` (a mkdocs.yml) names.

    It writes ``new_site``; what it printed is returned. If only the ``changed`` files of build/docs are to be
    rendered, that folder already holds the rest of the site. The title is escaped, because themes print it
    raw; an empty one is that of mkdocs.yml. The time of the site replaces that of the build, so that the same
    input gives the same bytes.

    Raises:
        MissingExtra: the engine is not installed.
        NotInParts: ``changed`` was given, and this site can only be rendered as a whole.
        SiteError: the engine failed; the message has the last lines that it printed.
        OSError: the engine could not read or write a file.
    """
    row, place, title = ENGINES[site.engine], os.path.relpath(new_site, config.parent), as_html(site.title)
    if importlib.util.find_spec(row.module) is None:
        raise MissingExtra(f"--engine {site.engine}", row.extra, row.module)
    environment = {"NO_MKDOCS_2_WARNING": "1", "SOURCE_DATE_EPOCH": str(site.epoch), **os.environ}
    settings = config.with_name(f".{config.name}.chronicle.yml")  # beside it: paths in it are relative
    listed = new_site.with_name(LISTED) if changed is not None else None
    part = [row.module, str(listed or "")] if row.in_parts else []
    strict = ["--strict"] if site.strict else []
    command = [*part, "build", "--config-file", str(settings), "--clean", *strict]
    try:
        if listed:
            paths = json.dumps([sorted(changed or ()), sorted(site.docs)], ensure_ascii=False)
            write_bytes(listed, paths.encode("utf-8", "surrogateescape"))
        write_bytes(settings, _settings(config.read_text("utf-8"), site_dir=place, site_name=title))
        code, printed = run_module(PART if part else row.module, command, environment, config.parent)
    finally:
        for file in filter(None, (settings, listed)):
            file.unlink(missing_ok=True)
    if changed is not None and code in (NEVER, NOT_NOW):
        raise NotInParts(code == NEVER)
    lines = printed.strip().splitlines()
    if code and (refused := next(filter(None, map(_REFUSED.match, reversed(lines[-3:]))), None)):
        raise OSError(int(refused[1]), refused[2], refused[3])
    if code:
        raise SiteError("\n".join([f"{site.engine} failed (exit {code}):", *lines[-15:]]))
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
    # With the indented lines that go on with a value.
    lines = re.sub(rf"^(?:{'|'.join(known)}):.*\n?(?:[ \t].*\n?)*", "", config, flags=re.MULTILINE)
    settings = "".join(f"{key}: {json.dumps(value)}\n" for key, value in known.items())
    return f"{lines.rstrip()}\n{settings}".encode()


def write_bytes(file: Path, data: bytes) -> bool:
    """Writes a file, completely or not at all, unless it already holds ``data``; true if it was written."""
    try:
        if file.read_bytes() == data:
            return False
    except OSError:
        file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}{_UNFINISHED}")  # the next build writes over what a kill left
    unfinished.write_bytes(data)
    unfinished.replace(file)
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
        if not isinstance(content, Path):
            write_bytes(target, content.encode() if isinstance(content, str) else content)
        elif stamp_of(content) != stamp_of(target) or not target.exists():
            put_file(content, target, linked=content.is_relative_to(folder.parent))
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


def put_file(source: Path, target: Path, *, linked: bool) -> None:
    """Puts a file in the place of another one. It is hard-linked on request, for a thousand runs have ten
    thousand figures, which need not be stored twice; otherwise, or if that fails, copied with its time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if linked:
        with suppress(OSError):
            os.link(source, target)
            return
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


MEMORY = "build/made.json"
_TOOLS = ("mkdocs", "properdocs", "mkdocs-material", "markdown", "pymdown-extensions", "jinja2", "pygments")
MARKER = ".chronicle-site"  # a folder without this file was not made by chronicle, and is left alone
# Errors if two folders cannot exchange their names: at a mount point, without permission, on some systems.
_REFUSALS = "EACCES EPERM EROFS EBUSY ENOSYS EINVAL EXDEV ENOTSUP"
_NO_EXCHANGE = {getattr(errno, name) for name in _REFUSALS.split()}
_HERE, _EXCHANGE, _SWAP = -100, 2, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def last_record(root: Path) -> SiteRecord:
    """The record of the last site; an empty one if there is none, or if it cannot be used."""
    try:
        record = SiteRecord(*json.loads((root / MEMORY).read_bytes()))
        within = all(path[0] != "/" and ".." not in path.split("/") for path in record.docs)
        stamped = all(isinstance(stamp, list) for stamp in record.docs.values())
        return record if within and stamped and isinstance(record.parts, dict) else SiteRecord()
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return SiteRecord()


def make_site(root: Path, out: Path, before: SiteRecord, now: SiteRecord) -> str:
    """Renders what has changed in build/docs since the site of the record ``before``, and puts the new site
    at ``out`` in one step; returns what the engine printed. ``now`` names the engine, the time and the files.
    Raises what `chronicle.build.build` raises."""
    names = "build/next", "build/docs", MEMORY, "mkdocs.yml"
    new_site, docs, memory, config = (root / name for name in names)
    make_room(new_site, out)
    new_site.with_name(LISTED).unlink(missing_ok=True)  # of a build that was killed
    now = now._replace(key=_shared_by_all_pages(now, config))
    changed = _changed(before.docs, now.docs, docs)
    same = before.key == now.key and before.site == _looks(stamps(out))
    if same and before.in_parts and not changed and before.epoch == now.epoch:
        return ""
    printed: str | None = None
    in_parts = ENGINES[now.engine].in_parts and (before.in_parts if before.key == now.key else None)
    if same and in_parts is not False:
        _carry_over(before, changed, out, new_site)
        try:
            printed, in_parts = build_site(now, config, new_site, changed), True
            for path in changed & now.docs.keys():
                if not path.endswith(".md"):  # files that are not pages are the same in the site
                    put_file(docs / path, new_site / path, linked=True)
        except NotInParts as err:
            in_parts = False if err.args[0] else None
    if printed is None:
        remove(new_site)
        printed = build_site(now, config, new_site)
    made = stamps(new_site)
    now = now._replace(site=_looks(made), in_parts=in_parts)
    memory.unlink(missing_ok=True)  # the record is invalid until the new site is in its place
    put_in_place(new_site, out, missing_pages(made, now.docs))
    write_bytes(memory, json.dumps(now, separators=(",", ":")).encode("utf-8", "surrogateescape"))
    return printed


def _shared_by_all_pages(now: SiteRecord, config: Path) -> str:
    """A hash over what all pages are rendered with: mkdocs.yml, the engine, its packages, our own source."""
    from importlib import metadata  # which takes a tenth of all that the other commands import

    versions = {d.name: d.version for name in _TOOLS for d in metadata.distributions(name=name)}
    ours = now.engine, now.title, now.strict, code_sha256(), config.read_bytes()
    return hashlib.sha256(repr((ours, sys.version, versions)).encode()).hexdigest()


def _looks(site: Stamps) -> str:
    return hashlib.sha256(repr(sorted(site.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _changed(before: Stamps, now: Stamps, docs: Path) -> set[str]:
    """Files of ``docs`` that changed, came or went, and pages that name a page that came or went."""
    came_or_went = {path for path in now.keys() ^ before.keys() if path.endswith(".md")}
    changed = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
    others = now.keys() - changed if came_or_went else ()
    for path in (path for path in others if path.endswith(".md") and not path.startswith("runs/")):
        text = (docs / path).read_text("utf-8")
        changed |= {path for page in came_or_went if page in text}
    return changed


def _carry_over(before: SiteRecord, changed: Iterable[str], out: Path, new_site: Path) -> None:
    """Makes ``new_site`` hold exactly the unchanged files of the site ``out``.

    Pages and figures are hard-linked, because they are never changed in place. Files that an engine writes
    with every build (its index, its map of the site) are copied. Since ``new_site`` is the site before
    ``out``, it already has nearly all of these files, and only a few links are needed.
    """
    rendered = {*map(_page_of, changed)}
    from_docs = {*map(_page_of, before.docs)} - rendered
    below = files_below(str(new_site)), files_below(str(out), hidden=False)
    inode_in_new, inode_in_old = ({path: file.inode() for path, file in files} for files in below)
    for path in inode_in_new.keys() - (from_docs & inode_in_old.keys()):
        remove_file(new_site, path)
    for path in inode_in_old.keys() - rendered:
        if path not in from_docs or inode_in_new.get(path) != inode_in_old.get(path):
            put_file(out / path, new_site / path, linked=path in from_docs)


def _page_of(path: str) -> str:
    return f"{path[:-3]}.html" if path.endswith(".md") else path


def check_claim(out: Path) -> None:
    """Raises UsageError if ``out`` may not be replaced: it is a file, or holds files of others."""
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        problem = f"{out} is not empty and was not made by chronicle, and a build replaces its folder"
        raise UsageError(problem, remedy="name another --out, or remove the folder yourself")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file", remedy="name a folder with --out")


def missing_pages(site: Stamps, docs: Stamps) -> list[str]:
    """Pages that are missing or empty in a site made from ``docs``, among Home and the pages of runs."""
    pages = [p for p in docs if p == "index.md" or (p.startswith("runs/") and p.endswith("/index.md"))]
    return [page for page in map(_page_of, pages) if not (site.get(page) or [0])[0]]


def put_in_place(new_site: Path, out: Path, missing: Sequence[str]) -> None:
    """Puts the site ``new_site`` in the place of ``out``, unless pages are ``missing`` in it.

    If the two exchange their names, the old site stays as ``new_site``: the next build starts from it.

    Raises:
        SiteError: pages are missing; ``out`` is unchanged.
        OSError: it cannot be put there; ``out`` is complete, old or new.
    """
    if missing:
        named = first_few(missing, 3)
        raise SiteError(f"the site engine did not make {named}; the last site was left unchanged")
    (new_site / MARKER).touch()
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        is_spare = new_site.stat().st_dev == out.parent.stat().st_dev
        spare = new_site if is_spare else shutil.copytree(new_site, _new_site_beside(out))
        _exchange(spare, out)
    except OSError as err:
        if err.errno not in _NO_EXCHANGE:
            raise
        # Fill the folder file by file: each page is old or new, never incomplete.
        files = (file for file in new_site.rglob("*") if file.is_file())
        content = ((file.relative_to(new_site).as_posix(), file.read_bytes()) for file in files)
        write_tree(out, content, stamps(out))
        spare, is_spare = new_site, False
    hidden_to(out, spare)
    for left in () if is_spare else (spare, new_site):
        remove(left)


def make_room(new_site: Path, out: Path) -> None:
    """Removes what a killed build left where a new site is to be made. Hidden files that people had put there
    are moved to ``out``; ``new_site`` may still hold other files."""
    for left in (new_site, _new_site_beside(out)):
        hidden_to(out, left)
    remove(_new_site_beside(out))


def hidden_to(out: Path, old: Path) -> None:
    """Moves hidden files that people put into an old site to ``out``. What is no folder is removed."""
    if not old.is_dir() or old.is_symlink():
        remove(old)
        return
    for entry in os.scandir(old):
        if not entry.name.startswith(".") or entry.name == MARKER:
            continue
        if entry.name.endswith(_UNFINISHED) or os.path.lexists(out / entry.name):
            remove(Path(entry.path))
        else:
            shutil.move(entry.path, out / entry.name)


def _new_site_beside(out: Path) -> Path:
    return out.with_name(f".{out.name}.chronicle-next")


def _exchange(path: Path, other: Path) -> None:
    """Exchanges the names of two folders in one step; if ``other`` does not exist, ``path`` gets its name."""
    if not other.exists():
        path.rename(other)
        return
    libc: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    first, second = os.fsencode(path), os.fsencode(other)
    if sys.platform == "linux" and hasattr(libc, "renameat2"):
        failed = libc.renameat2(_HERE, first, _HERE, second, _EXCHANGE)
    elif sys.platform == "darwin" and hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(first, second, _SWAP)
    else:
        raise OSError(errno.ENOSYS, "no exchange of names", str(path))
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path), None, str(other))
