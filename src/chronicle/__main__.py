"""The entry point: the one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys

import click

from chronicle.cli import cli
from chronicle.errors import ChronicleError, ConfigError, MissingExtra, NothingToRead, UsageError, told


def main() -> None:
    """Runs the command line. Exit codes are those that `chronicle.cli` lists."""
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
    except ChronicleError as err:
        from chronicle.cli.terminal import complain

        complain(str(err))
        sys.exit(exit_code_of(err))
    except OSError as err:
        from chronicle.cli.terminal import complain

        complain(told(err))
        sys.exit(1)


def exit_code_of(err: ChronicleError) -> int:
    """3 nothing to read, 2 usage or configuration, 1 anything else."""
    if isinstance(err, NothingToRead):
        return 3
    return 2 if isinstance(err, UsageError | ConfigError | MissingExtra) else 1


if __name__ == "__main__":
    main()
