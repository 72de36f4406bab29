"""The entry point: the one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading

import click

from chronicle.cli import cli
from chronicle.errors import (
    ChronicleError,
    ConfigError,
    MissingExtra,
    NotALog,
    NothingToRead,
    UsageError,
    os_message,
)


def main() -> None:
    """Runs the command line. Exit codes are those that `chronicle.cli` lists.

    A signal that ends it (SIGTERM, SIGHUP) first lets it put away what it has begun.
    """
    before = {number: signal.signal(number, _end) for number in _ENDINGS if _is_default(number)}
    try:
        _run()
    except _Ended as end:
        os.kill(os.getpid(), end.number)  # its action is the usual one again
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _run() -> None:
    try:
        cli(prog_name="chronicle", standalone_mode=False)
    except click.exceptions.Exit as err:
        sys.exit(err.exit_code)
    except click.ClickException as err:
        err.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ChronicleError, OSError) as err:
        from chronicle.cli.terminal import complain, say

        (say if isinstance(err, NotALog) else complain)(
            os_message(err) if isinstance(err, OSError) else str(err)
        )
        sys.exit(exit_code_of(err))


class _Ended(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number


_ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
    raise _Ended(number)


def _is_default(number: int) -> bool:
    """Whether the action of a signal may be set here, and nobody has (nohup ignores SIGHUP)."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(number) == signal.SIG_DFL


def exit_code_of(err: Exception) -> int:
    """0 what is no failure, 3 nothing to read, 2 usage or configuration, 1 anything else."""
    if isinstance(err, NotALog):
        return 0
    if isinstance(err, NothingToRead):
        return 3
    return 2 if isinstance(err, UsageError | ConfigError | MissingExtra) else 1


if __name__ == "__main__":
    main()
