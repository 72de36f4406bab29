"""The folder of a site: what it was made of, and how it is made beside the one that people read.

A build makes only what has changed since the last one. A file is known by its size and time, as a build left
it. Whatever does not fit together (another mkdocs.yml or engine, a page that somebody edited in the site, a
build that was killed) makes the whole site anew.

The new site is checked and put in its place in one step: until then yesterday's site is whole, whatever
happens to a build; afterwards today's is. Only a folder that holds our mark is ever replaced, and what a
person hid in it (`.git`, a name beginning with a dot) is kept.
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
MARKER = ".chronicle-site"  # a folder without it is not ours, and is left alone
# Where two folders cannot exchange their names: a mount point, a folder of others above, some systems.
_NO_EXCHANGE = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY,
    errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.ENOTSUP,
)  # fmt: skip
_HERE, _EXCHANGE, _SWAP = -100, 2, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


class SiteRecord(NamedTuple):
    """The last site: engine, title, a ``key`` of all it is rendered with, the time it speaks of, the files of
    build/docs, and a hash of what its own look like.

    ``in_parts`` says whether the engine can be asked for single pages of it (None: nobody has tried), and
    ``parts`` what each page of build/docs was rendered from, where that is known.
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
    """What is known of the last site; nothing where there is none, or nothing that can be used."""
    try:
        record = SiteRecord(*json.loads((root / MEMORY).read_bytes()))
        within = all(path[0] != "/" and ".." not in path.split("/") for path in record.docs)
        stamped = all(isinstance(stamp, list) for stamp in record.docs.values())
        return record if within and stamped and isinstance(record.parts, dict) else SiteRecord()
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return SiteRecord()


def make_site(root: Path, out: Path, before: SiteRecord, now: SiteRecord) -> str:
    """Makes the site of build/docs, as far as that is not as ``before``; returns what the engine printed.
    ``now`` says by which engine, of what time and of which files. The site appears at ``out`` in one step.
    Errors are those of `chronicle.build.build`."""
    names = "build/next", "build/docs", MEMORY, "mkdocs.yml"
    new_site, docs, memory, config = (root / name for name in names)
    make_room(new_site, out)
    new_site.with_name(engines.LISTED).unlink(missing_ok=True)  # of a build that was killed
    # All that every page is rendered with: mkdocs.yml, the engine, its packages, our own source.
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
                if not path.endswith(".md"):  # no page, and therefore the same in a site
                    (new_site / path).parent.mkdir(parents=True, exist_ok=True)
                    engines.share(docs / path, new_site / path)
        except engines.NotInParts as err:
            in_parts = False if err.args[0] else None
    if printed is None:
        remove(new_site)
        printed = site()
    made = engines.stamps(new_site)
    now = now._replace(site=_looks(made), in_parts=in_parts)
    memory.unlink(missing_ok=True)  # until the new one is in its place nothing is known
    put_in_place(new_site, out, missing_pages(made, now.docs))
    engines.write_bytes(memory, json.dumps(now, separators=(",", ":")).encode("utf-8", "surrogateescape"))
    return printed


def _looks(site: engines.Stamps) -> str:
    return hashlib.sha256(repr(sorted(site.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _changed(before: engines.Stamps, now: engines.Stamps, docs: Path) -> set[str]:
    """Files of ``docs`` that are not as they were, gone ones too, and pages that name what came or went."""
    came_or_went = {path for path in now.keys() ^ before.keys() if path.endswith(".md")}
    changed = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
    others = now.keys() - changed if came_or_went else ()
    for path in (path for path in others if path.endswith(".md") and not path.startswith("runs/")):
        text = (docs / path).read_text("utf-8")
        changed |= {path for page in came_or_went if page in text}
    return changed


def _carry_over(before: SiteRecord, changed: Iterable[str], out: Path, new_site: Path) -> None:
    """Makes ``new_site`` hold what did not change of the site ``out``, and nothing else.

    Pages and figures become one file with those of ``out``: nobody writes them. What an engine writes anew
    with every build (its index, its map of the site) is copied. What ``new_site`` was before is the site
    before ``out``, which has nearly all of its files: those are left, so that a site of any size takes few
    changes.
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
    """What an engine makes of a file of build/docs: a page of one of Markdown, the same of any other."""
    return f"{path[:-3]}.html" if path.endswith(".md") else path


def check_claim(out: Path) -> None:
    """Raises UsageError where ``out`` may not become a site: it holds what chronicle did not make."""
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        problem = f"{out} is not empty and was not made by chronicle, and a build replaces its folder"
        raise UsageError(problem, remedy="name another --out, or remove the folder yourself")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file", remedy="name a folder with --out")


def missing_pages(site: engines.Stamps, docs: engines.Stamps) -> list[str]:
    """Pages that ``docs`` has, and a site made of it has not: its home, and those of the runs."""
    pages = [p for p in docs if p == "index.md" or (p.startswith("runs/") and p.endswith("/index.md"))]
    wanted = [f"{page[:-3]}.html" for page in pages]
    return [page for page in wanted if not (site.get(page) or [0])[0]]


def put_in_place(new_site: Path, out: Path, missing: Sequence[str]) -> None:
    """Puts the site ``new_site`` in the place of ``out``, unless pages are ``missing`` in it.

    What was there stays as ``new_site``, where the two have exchanged their names: the next site begins with
    it.

    Raises:
        SiteError: pages are missing in it; ``out`` is as it was.
        OSError: it cannot be put there; ``out`` is whole, old or new.
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
        # The folder is filled file by file then: each page is old or new, never half.
        files = (file for file in new_site.rglob("*") if file.is_file())
        content = ((file.relative_to(new_site).as_posix(), file.read_bytes()) for file in files)
        engines.write_tree(out, content, engines.stamps(out))
        spare, is_spare = new_site, False
    hidden_to(out, spare)
    for left in () if is_spare else (spare, new_site):
        remove(left)


def make_room(new_site: Path, out: Path) -> None:
    """Makes room for a site that is to be made, of what a build that was killed left there. What people hid
    goes on in ``out``; ``new_site`` may hold anything else afterwards."""
    for left in (new_site, _new_site_beside(out)):
        hidden_to(out, left)
    remove(_new_site_beside(out))


def hidden_to(out: Path, old: Path) -> None:
    """Lets what people hid in the folder of an old site go on in ``out``; what is no folder is removed."""
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
    """Lets two folders exchange their names in one step; where there is only one, it gets the other name."""
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
