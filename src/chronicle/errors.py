"""The errors that are not defects of chronicle, each with a message of one line: what is wrong, where (the
file, with line or byte if known) and what to do. Only other exceptions end with a traceback."""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OURS = "training-chronicle"
NOT_REGULAR = "is not a regular file (a pipe, socket or device)"
DEBUG = "CHRONICLE_DEBUG"  # environment variable: if it is set, a defect ends with its traceback


class ChronicleError(Exception):
    """The base class: something that the user can correct. The command line prints only its message."""

    exit_code = 1

    def __init__(self, *parts: str, remedy: str = "") -> None:
        *where, problem = parts
        super().__init__(*where, f"{problem}. Remedy: {remedy}" if remedy else problem)

    def __str__(self) -> str:
        return ": ".join(filter(None, self.args))  # the place, if one is given, and the problem


class UsageError(ChronicleError):
    """A command was called with something that does not exist or does not fit."""

    exit_code = 2


class ConfigError(ChronicleError):
    """A problem with a configuration file, or with a value in one."""

    exit_code = 2


class LogError(ChronicleError):
    """A log could not be read. ``where`` is the file, or file:line."""

    def __init__(self, where: str, problem: str, *, remedy: str = "") -> None:
        super().__init__(where, problem, remedy=remedy)
        self.where, self.problem = self.args


class UnknownFormat(LogError):
    """No reader recognises the file."""


class AmbiguousFormat(LogError):
    """Two readers recognise the file; the message names both."""


class BadLog(LogError):
    """A reader recognised the file but could use nothing in it."""


class Defect(LogError):
    """A reader, stitching, a rule or drawing failed on a log: a defect of chronicle, to be reported."""


class NothingToRead(ChronicleError):
    """There is no log where one was expected (exit code 3)."""

    exit_code = 3


class NotALog(NothingToRead):
    """The named files describe a run, but none is a log: nothing failed (exit code 0)."""

    exit_code = 0


class MissingExtra(ChronicleError):
    """A command needs packages that the base installation leaves out."""

    exit_code = 2

    def __str__(self) -> str:
        command, extra, package = self.args
        needs = f"{command} needs the package {package!r}, which is not installed"
        return f"{needs}. Remedy: pip install {' '.join(map(shlex.quote, _packages_of(extra)))}"


def _packages_of(extra: str) -> list[str]:
    """The packages of an extra by their names, as long as pip does not know chronicle by its own."""
    from importlib import metadata  # which takes a tenth of all that a command imports

    needed: list[str] = []
    with suppress(metadata.PackageNotFoundError):  # run from its source
        needed = [line for line in metadata.requires(_OURS) or [] if re.search(f"extra == .{extra}.", line)]
    return [re.split("[<>=!~; ]", line)[0] for line in needed] or [f"{_OURS}[{extra}]"]


class SiteError(ChronicleError):
    """The site engine failed; the message contains its output."""


@contextmanager
def contained(where: str) -> Iterator[None]:
    """Limits a failure in this block to the log ``where``. Raises Defect for every exception except those
    that a user can mend (ChronicleError and OSError)."""
    try:
        yield
    except (ChronicleError, OSError):
        raise
    except Exception as err:
        if os.environ.get(DEBUG):
            raise
        place = traceback.extract_tb(err.__traceback__)[-1]
        failure = ": ".join(filter(None, (type(err).__name__, " ".join(str(err).split())[:200])))
        failure += f", {Path(place.filename).name}:{place.lineno}"
        remedy = f"report what `{DEBUG}=1 chronicle classify` prints for it, with the log if you may share it"
        raise Defect(where, f"chronicle failed on it, a defect to report ({failure})", remedy=remedy) from err


_REMEDIES = {
    (errno.ENOSPC, errno.EDQUOT): "make room there; what was kept before is whole",
    (errno.EROFS,): "it is read-only; work in a folder that you may write to (build: --out)",
    (errno.EACCES, errno.EPERM): "check its permissions",
    (errno.EMFILE, errno.ENFILE): "raise the number of files that may be open (ulimit -n)",
    (errno.ENAMETOOLONG,): "choose a shorter name",
    (errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ELOOP): "name another place",
    (errno.ENOENT, errno.EINVAL, errno.ENOTSUP): "check the path, or name another place",
}


def remedy_of(err: OSError) -> str:
    """What to do about an error of the operating system."""
    return next((words for numbers, words in _REMEDIES.items() if err.errno in numbers), "check the disk")


def unreadable(path: str | Path, err: OSError) -> LogError:
    """The error of a file or folder that the operating system does not let anybody read."""
    return LogError(str(path), f"cannot be read ({err.strerror or err})", remedy=remedy_of(err))


def only_regular(path: str, flags: int) -> int:
    """An opener for `open` that refuses what a reader could wait for, or read on, for ever. Raises OSError,
    also for a pipe, socket or device."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # `open` refuses a folder by itself
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, path)
    return descriptor


def message_of(err: ChronicleError | OSError) -> str:
    """The message of an error; for an error of the operating system: place, problem and remedy."""
    if not isinstance(err, OSError):
        return str(err)
    where = err.filename2 or err.filename
    return f"{f'{where}: ' if where else ''}{err.strerror or err}. Remedy: {remedy_of(err)}"
