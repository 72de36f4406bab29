"""The folder of a site: what the last site was made from, and how the new one takes its place.

A build renders only what has changed since the last build, judged by size and time of each file. After any
other change (another mkdocs.yml or engine, a page edited in the site, a killed build) it renders everything.

The new site is made in a folder of its own, checked, and exchanged with the old one in a single step, so that
a complete site is there at every moment. Only a folder with our marker file is ever replaced, and hidden
files that people put into it (such as `.git`) are kept.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from chronicle.build import engines
from chronicle.errors import SiteError, UsageError
from chronicle.workspace.locks import remove

MEMORY = "build/made.json"
_TOOLS = ("mkdocs", "properdocs", "mkdocs-material", "markdown", "pymdown-extensions", "jinja2", "pygments")
MARKER = ".chronicle-site"  # a folder without this file was not made by chronicle, and is left alone
# Errors if two folders cannot exchange their names: at a mount point, without permission, on some systems.
_NO_EXCHANGE = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY,
    errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.ENOTSUP,
)  # fmt: skip
_HERE, _EXCHANGE, _SWAP = -100, 2, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


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
    docs: engines.Stamps = {}
    site: str = ""
    parts: Mapping[str, str] = {}


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
    new_site.with_name(engines.LISTED).unlink(missing_ok=True)  # of a build that was killed
    # Everything that all pages are rendered with: mkdocs.yml, the engine, its packages, our own source.
    versions = {d.name: d.version for name in _TOOLS for d in metadata.distributions(name=name)}
    ours = now.engine, now.title, now.strict, engines.code_sha256(), config.read_bytes()
    now = now._replace(key=hashlib.sha256(repr((ours, sys.version, versions)).encode()).hexdigest())
    changed = _changed(before.docs, now.docs, docs)
    same = before.key == now.key and before.site == _looks(engines.stamps(out))
    if same and before.in_parts and not changed and before.epoch == now.epoch:
        return ""
    site = partial(
        engines.build_site, now.engine, config, new_site, title=now.title, strict=now.strict, epoch=now.epoch
    )
    in_parts, printed = before.in_parts if before.key == now.key else None, None
    if not engines.ENGINES[now.engine].in_parts:
        in_parts = False
    if same and in_parts is not False:
        _carry_over(before, changed, out, new_site)
        try:
            printed, in_parts = site(changed=changed, docs=now.docs), True
            for path in changed & now.docs.keys():
                if not path.endswith(".md"):  # files that are not pages are the same in the site
                    (new_site / path).parent.mkdir(parents=True, exist_ok=True)
                    engines.share(docs / path, new_site / path)
        except engines.NotInParts as err:
            in_parts = False if err.args[0] else None
    if printed is None:
        remove(new_site)
        printed = site()
    made = engines.stamps(new_site)
    now = now._replace(site=_looks(made), in_parts=in_parts)
    memory.unlink(missing_ok=True)  # the record is invalid until the new site is in its place
    put_in_place(new_site, out, missing_pages(made, now.docs))
    engines.write_bytes(memory, json.dumps(now, separators=(",", ":")).encode("utf-8", "surrogateescape"))
    return printed


def _looks(site: engines.Stamps) -> str:
    return hashlib.sha256(repr(sorted(site.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _changed(before: engines.Stamps, now: engines.Stamps, docs: Path) -> set[str]:
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
    again = {*map(_page_of, changed)}
    standing = {*map(_page_of, before.docs)} - again
    files = engines.files_below(str(new_site)), engines.files_below(str(out), hidden=False)
    there, here = ({path: file.inode() for path, file in below} for below in files)
    for path in there.keys() - (standing & here.keys()):
        engines.remove_file(new_site, path)
    for path in here.keys() - again:
        if path not in standing or there.get(path) != here.get(path):
            target = new_site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            (engines.share if path in standing else shutil.copy2)(out / path, target)


def _page_of(path: str) -> str:
    return f"{path[:-3]}.html" if path.endswith(".md") else path


def check_claim(out: Path) -> None:
    """Raises UsageError if ``out`` may not be replaced: it is a file, or holds files of others."""
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        problem = f"{out} is not empty and was not made by chronicle, and a build replaces its folder"
        raise UsageError(problem, remedy="name another --out, or remove the folder yourself")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file", remedy="name a folder with --out")


def missing_pages(site: engines.Stamps, docs: engines.Stamps) -> list[str]:
    """Pages that are missing or empty in a site made from ``docs``, among Home and the pages of runs."""
    pages = [p for p in docs if p == "index.md" or (p.startswith("runs/") and p.endswith("/index.md"))]
    wanted = [f"{page[:-3]}.html" for page in pages]
    return [page for page in wanted if not (site.get(page) or [0])[0]]


def put_in_place(new_site: Path, out: Path, missing: Sequence[str]) -> None:
    """Puts the site ``new_site`` in the place of ``out``, unless pages are ``missing`` in it.

    If the two exchange their names, the old site stays as ``new_site``: the next build starts from it.

    Raises:
        SiteError: pages are missing; ``out`` is unchanged.
        OSError: it cannot be put there; ``out`` is complete, old or new.
    """
    if missing:
        named = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise SiteError(f"the site engine made no {named}; the site of the last build is left as it is")
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
        engines.write_tree(out, content, engines.stamps(out))
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
    """Moves hidden files that people put into the folder of an old site to ``out``. If ``old`` is not a
    folder it is removed."""
    if not old.is_dir() or old.is_symlink():
        remove(old)
        return
    for entry in os.scandir(old):
        if not entry.name.startswith(".") or entry.name == MARKER:
            continue
        if os.path.lexists(out / entry.name):
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
