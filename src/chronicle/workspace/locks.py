"""What two processes must not do at once, and what one that is killed would leave behind.

Both rest on the locks of the operating system (flock; on Windows a locked byte). Such a lock ends with its
holder, however that ends, so none is ever stale: what a killed holder left is seen by its lock being free.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Say = Callable[[str], None]
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)  # where there are none
_LOCKED_BYTE = 1 << 30  # of Windows: the locked byte must not be one that says who holds the lock
_SCRATCH_NAME = re.compile(r"\.chronicle-scratch-[0-9a-f]{16}")
_own_folders: dict[Path, int] = {}  # scratch folders of this process, and what holds each
_swept_folders: set[Path] = set()


@contextmanager
def locked(file: Path, what: str, say: Say) -> Iterator[None]:
    """Holds the lock ``file`` (made where it is missing, never removed), waiting for whoever has it. ``what``
    is what it guards, as in "the workspace". ``say`` is told who is waited for, with id and age, and what is
    taken over from a holder that was killed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)  # it is emptied
    with os.fdopen(os.open(file, flags, 0o644), "a+b") as stream:
        if _lock(stream.fileno()) is False:
            say(f"waiting for {what}: {_holder(file) or 'another process'} is at work there")
            _wait(stream.fileno())
        elif held := _holder(file):
            say(f"{what} was left locked by {held}, which did not end well; taken over")
        who = {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        _write(stream.fileno(), json.dumps(who).encode())
        try:
            yield
        finally:
            _write(stream.fileno(), b"")


@contextmanager
def appending(file: Path) -> Iterator[Callable[[bytes], None]]:
    """A function that adds bytes to the end of a file whole or not at all; nobody else does meanwhile. Where
    nothing could be added to a file that was not there, there is none afterwards."""

    def add(data: bytes) -> None:
        size = os.fstat(stream.fileno()).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(stream.fileno(), data[written:])
            os.fsync(stream.fileno())
        except BaseException:
            os.truncate(stream.fileno(), size)
            if not size:
                with suppress(OSError):  # Windows removes no file that is open
                    file.unlink()
            raise

    while True:
        with file.open("ab", buffering=0) as stream:
            _wait(stream.fileno())
            if file.exists() and os.path.samefile(file, stream.fileno()):  # else its holder has removed it
                yield add
                return


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A new folder of this process alone, below ``parent`` or where temporary files belong; gone afterwards.
    What killed processes left there is removed the first time. Raises OSError."""
    place = parent or Path(tempfile.gettempdir())
    if place not in _swept_folders:
        _swept_folders.add(place)
        sweep(place)
    folder = place
    while folder not in _own_folders:
        folder = place / f".chronicle-scratch-{os.urandom(8).hex()}"
        folder.mkdir(0o700)
        held = _held(folder)
        if held is not None and folder.is_dir():  # a sweep may have come between the two
            _own_folders[folder] = held
    try:
        yield folder
    finally:
        _leave(folder, _own_folders.pop(folder, -1))


def leave_nothing() -> None:
    """Removes the scratch folders of this process, for one that ends at once."""
    for folder in list(_own_folders):
        _leave(folder, _own_folders.pop(folder))


def sweep(place: Path | None = None) -> int:
    """Removes what killed processes left where temporary files belong, or in ``place``; how many there were.
    Only folders of just the name that `scratch` gives, of this user, that no process holds."""
    removed = 0
    try:
        entries = [e for e in os.scandir(place or tempfile.gettempdir()) if _SCRATCH_NAME.fullmatch(e.name)]
    except OSError:
        return 0
    for entry in entries:
        with suppress(OSError):  # another removes it
            info, folder = entry.stat(follow_symlinks=False), Path(entry.path)
            own = sys.platform == "win32" or (
                info.st_uid == os.getuid() and stat.S_IMODE(info.st_mode) == 0o700
            )
            held = _held(folder) if own and entry.is_dir(follow_symlinks=False) else None
            if held is not None and held >= 0:  # where a folder has no lock, nobody can tell
                _leave(folder, held)
                removed += 1
    return removed


def remove(path: Path) -> None:
    """Removes a file, a folder with all in it, or a link, never what that leads to; there may be none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _leave(folder: Path, held: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if held >= 0:
        os.close(held)


def _held(folder: Path) -> int | None:
    """A descriptor that holds the lock of a folder; -1 where folders have none, None if another holds it."""
    if sys.platform == "win32":
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    has_lock = _lock(descriptor)
    if not has_lock:
        os.close(descriptor)
    return descriptor if has_lock else None if has_lock is False else -1


def _lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Takes the lock of what is open; false where another holds it, None where there are no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as err:
        return None if err.errno in _NO_LOCKS else False
    return True


def _wait(descriptor: int) -> None:
    while _lock(descriptor, wait=True) is False:  # Windows gives up after ten seconds
        pass


def _write(descriptor: int, text: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.write(descriptor, text)  # opened to append: at the start of what is empty


def _holder(file: Path) -> str:
    """Who wrote into a lock that it holds it, with the age of that in seconds; "" where nobody did."""
    text = file.read_bytes()[:1000]
    try:
        who = json.loads(text)
        age = max(0, round(time.time() - float(who["since"])))
        return f"process {int(who['process'])} on {str(who['host'])[:100]} (for {age} s)"
    except (ValueError, KeyError, TypeError):
        return "another process" if text else ""
