"""What can go wrong that is not a defect of chronicle, in one taxonomy with one-line meanings.

Every message says what is wrong, where (file, and line or byte where there is one) and what to do.
A traceback is shown only for what is not a ChronicleError.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBUG = "CHRONICLE_DEBUG"  # environment variable: a defect is not contained, and shows its traceback


class ChronicleError(Exception):
    """The root: something the user can mend. The command line prints it plainly."""


class UsageError(ChronicleError):
    """A command was called with something that does not exist or does not fit."""


class ConfigError(ChronicleError):
    """A problem with a configuration file, or with a value in one."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {key}: {problem}" if key else f"{file}: {problem}")
        self.file, self.key = file, key


class LogError(ChronicleError):
    """A log could not be read. ``where`` is the file, or file:line."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where, self.problem = where, problem


class UnknownFormat(LogError):
    """No reader recognises the file."""


class AmbiguousFormat(LogError):
    """Two readers recognise the file; the message names both."""


class BadLog(LogError):
    """A reader recognised the file, and then could not use any of it."""


class Defect(LogError):
    """A reader, stitching, a rule or drawing failed on a log: a defect of chronicle, to be reported."""

    def __init__(self, where: str, failure: str) -> None:
        super().__init__(
            where,
            f"chronicle failed on it, which is a defect ({failure}). "
            f"Remedy: report what `{DEBUG}=1 chronicle classify` prints for it, with the log if you may",
        )
        self.failure = failure

    def __reduce__(self) -> tuple[type, tuple[str, str]]:  # workers send it to their parent
        return type(self), (self.where, self.failure)


class NothingToRead(ChronicleError):
    """There is no log where one was expected (exit code 3)."""


class NotALog(NothingToRead):
    """All that was named tells of a run and is no log: nothing failed (exit code 0)."""


class MissingExtra(ChronicleError):
    """A command needs packages that the base installation leaves out."""

    def __init__(self, command: str, extra: str, package: str) -> None:
        super().__init__(
            f"{command} needs the package {package!r}, which is not installed. "
            f"Remedy: pip install 'training-chronicle[{extra}]'"
        )
        self.command, self.extra = command, extra


class SiteError(ChronicleError):
    """The site engine failed; its own words are in the message."""


@contextmanager
def contained(where: str) -> Iterator[None]:
    """Whatever fails within costs the log ``where`` alone.

    Raises:
        Defect: for any exception but those that a user can mend: a ChronicleError, an OSError.
    """
    try:
        yield
    except (ChronicleError, OSError):
        raise
    except Exception as err:
        if os.environ.get(DEBUG):
            raise
        place = traceback.extract_tb(err.__traceback__)[-1]
        what = " ".join(str(err).split())[:200]
        failure = (
            f"{type(err).__name__}{': ' if what else ''}{what}, {Path(place.filename).name}:{place.lineno}"
        )
        raise Defect(where, failure) from err


_REMEDIES = {
    (errno.ENOSPC, errno.EDQUOT): "make room there; what was kept before is whole",
    (errno.EROFS,): "it is read-only; work in a folder that you may write to (build: --out)",
    (errno.EACCES, errno.EPERM): "check its permissions",
    (errno.EMFILE, errno.ENFILE): "raise the number of files that may be open (ulimit -n)",
    (errno.ENAMETOOLONG,): "choose a shorter name",
}


def os_message(err: OSError) -> str:
    """What the system refused, in a line: where, what, and what to do."""
    remedy = next((words for numbers, words in _REMEDIES.items() if err.errno in numbers), "check the disk")
    where = err.filename2 or err.filename
    return f"{f'{where}: ' if where else ''}{err.strerror or err}. Remedy: {remedy}"
