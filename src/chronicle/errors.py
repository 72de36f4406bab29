"""What can go wrong that is not a defect of chronicle, in one taxonomy with one-line meanings.

Every message says what is wrong, where (file, and line or byte where there is one) and what to do.
A traceback is shown only for what is not a ChronicleError.
"""

from __future__ import annotations


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


class NothingToRead(ChronicleError):
    """There is no log where one was expected (exit code 3)."""


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
