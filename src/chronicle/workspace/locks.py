"""Locks between processes, and temporary folders that do not outlive a killed process.

Both use locks of the operating system (flock; on Windows a locked byte). Such a lock ends with the process
that holds it, so it is never stale: a folder whose lock is free was left behind by a killed process.
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
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)  # not supported
_LOCKED_BYTE = 1 << 30  # on Windows: far behind the text that says who holds the lock
_SCRATCH_NAME = re.compile(r"\.chronicle-scratch-[0-9a-f]{16}")
_own_folders: dict[Path, int] = {}  # scratch folders of this process, with the descriptors of their locks
_swept_folders: set[Path] = set()


@contextmanager
def locked(file: Path, what: str, say: Say) -> Iterator[None]:
    """Holds the lock ``file``, after waiting for its present holder. The file is created if necessary and
    never removed. ``what`` names what it guards ("the build in …"). ``say`` gets one line about the process
    that is waited for, or about a killed one whose work is taken over."""
    file.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)  # it is emptied
    with os.fdopen(os.open(file, flags, 0o644), "a+b") as stream:
        if _lock(stream.fileno()) is False:
            say(f"waiting for {what}: {_holder(file) or 'another process'} is using it")
            _wait(stream.fileno())
        elif held := _holder(file):
            say(f"{what} was left locked by {held}, which was killed; continuing after it")
        who = {"process": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        _write(stream.fileno(), json.dumps(who).encode())
        try:
            yield
        finally:
            _write(stream.fileno(), b"")


@contextmanager
def appending(file: Path) -> Iterator[Callable[[bytes], None]]:
    """A function that appends bytes to a file completely or not at all, while no other process appends. If
    the file did not exist and nothing could be written, it does not exist afterwards."""

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
                with suppress(OSError):  # Windows does not remove an open file
                    file.unlink()
            raise

    while True:
        with file.open("ab", buffering=0) as stream:
            _wait(stream.fileno())
            if file.exists() and os.path.samefile(file, stream.fileno()):  # else the last holder removed it
                yield add
                return


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A new temporary folder of this process, below ``parent`` or in the system's temporary folder, removed
    afterwards. At the first use, folders left there by killed processes are removed. Raises OSError."""
    place = parent or Path(tempfile.gettempdir())
    if place not in _swept_folders:
        _swept_folders.add(place)
        sweep(place)
    folder = place
    while folder not in _own_folders:
        folder = place / f".chronicle-scratch-{os.urandom(8).hex()}"
        folder.mkdir(0o700)
        held = _held(folder)
        if held is not None and folder.is_dir():  # a sweep may have removed it before it was locked
            _own_folders[folder] = held
    try:
        yield folder
    finally:
        _leave(folder, _own_folders.pop(folder, -1))


def leave_nothing() -> None:
    """Removes the scratch folders of this process, before it ends without unwinding."""
    for folder in list(_own_folders):
        _leave(folder, _own_folders.pop(folder))


def sweep(place: Path | None = None) -> int:
    """Removes the folders that killed processes left in ``place`` (default: the system's temporary folder),
    and returns their number. Only folders that are named as `scratch` names them, belong to this user, and
    are held by no process are removed."""
    removed = 0
    try:
        entries = [e for e in os.scandir(place or tempfile.gettempdir()) if _SCRATCH_NAME.fullmatch(e.name)]
    except OSError:
        return 0
    for entry in entries:
        with suppress(OSError):  # another process removes it at the same time
            info, folder = entry.stat(follow_symlinks=False), Path(entry.path)
            mode_and_owner = stat.S_IMODE(info.st_mode), info.st_uid
            own = sys.platform == "win32" or mode_and_owner == (0o700, os.getuid())
            held = _held(folder) if own and entry.is_dir(follow_symlinks=False) else None
            if held is not None and held >= 0:  # without locks a folder may still be in use
                _leave(folder, held)
                removed += 1
    return removed


def remove(path: Path) -> None:
    """Removes a file, a folder with its contents, or a link, but never a link's target. It may be missing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _leave(folder: Path, held: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if held >= 0:
        os.close(held)


def _held(folder: Path) -> int | None:
    """A descriptor that holds the lock of a folder. -1: folders have none. None: another process has it."""
    if sys.platform == "win32":
        return -1
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    has_lock = _lock(descriptor)
    if not has_lock:
        os.close(descriptor)
        return None if has_lock is False else -1
    return descriptor


def _lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Takes the lock of an open file or folder. False: another holds it. None: it cannot be locked here."""
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
    os.write(descriptor, text)  # the file is empty now, and opened for appending


def _holder(file: Path) -> str:
    """The process that holds a lock by its own account, with the age of the lock; "" if the file is empty."""
    text = file.read_bytes()[:1000]
    try:
        who = json.loads(text)
        age = max(0, round(time.time() - float(who["since"])))
        return f"process {int(who['process'])} on {str(who['host'])[:100]} (for {age} s)"
    except (ValueError, KeyError, TypeError):
        return "another process" if text else ""
