"""The folder of a site: made beside the one that people read, checked, and put in its place in one step.

Until then yesterday's site is whole, whatever happens to a build; afterwards today's is. Only a folder that
holds our mark is ever replaced, and what a person hid in it (`.git`, a name beginning with a dot) is kept.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chronicle.build.engines import Stamps, stamps, write_tree
from chronicle.errors import SiteError, UsageError
from chronicle.workspace.locks import remove

MARKER = ".chronicle-site"  # a folder without it is not ours, and is left alone
_NOT_WHOLE = (errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.ENOTSUP)  # where two names cannot be exchanged
# A mount point, or a folder of others above.
_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
_HERE, _EXCHANGE, _SWAP = -100, 2, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def claim(out: Path) -> None:
    """Raises UsageError where ``out`` may not become a site: it holds what chronicle did not make."""
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).exists():
        raise UsageError(
            f"{out} is not empty and was not made by chronicle, and a build replaces its folder. "
            "Remedy: name another --out, or remove the folder yourself"
        )
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file. Name a folder with --out")


def lacking(site: Stamps, docs: Stamps) -> list[str]:
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
        spare = new_site if is_spare else shutil.copytree(new_site, _beside(out))
        _exchange(spare, out)
    except OSError as err:
        if err.errno not in _NO_RENAME:
            raise
        # Where a folder cannot be renamed, it is filled file by file: each page is old or new, never half.
        files = [file for file in new_site.rglob("*") if file.is_file()]
        content = [(file.relative_to(new_site).as_posix(), file.read_bytes()) for file in files]
        write_tree(out, content, stamps(out))
        spare, is_spare = new_site, False
    hidden_to(out, spare)
    for left in () if is_spare else (spare, new_site):
        remove(left)


def clear(new_site: Path, out: Path) -> None:
    """Makes room for a site that is to be made, of what a build that was killed left there.

    What people hid goes on in ``out``; ``new_site`` may hold anything else afterwards.
    """
    away, beside = _away(new_site), _beside(out)
    if not out.exists() and away.is_dir():  # killed between two steps
        away.rename(out)
    for left in (new_site, away, beside):
        hidden_to(out, left)
    for left in (away, beside):
        remove(left)


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


def _beside(out: Path) -> Path:
    return out.with_name(f".{out.name}.chronicle-next")


def _exchange(new_site: Path, out: Path) -> None:
    """Lets two folders change their names, in one step where the system can."""
    if not out.exists():
        new_site.rename(out)
        return
    try:
        _exchanged(new_site, out)
    except OSError as err:
        if err.errno not in _NOT_WHOLE:
            raise
        away = _away(new_site)  # two steps: who reads in between finds nothing
        out.rename(away)
        new_site.rename(out)
        away.rename(new_site)


def _away(new_site: Path) -> Path:
    return new_site.with_name(f"{new_site.name}.old")


def _exchanged(path: Path, other: Path) -> None:
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
