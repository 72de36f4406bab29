"""The command line: all commands in one group.

Exit codes: 0 all is well; 1 findings at or above --fail-on, or something unreadable; 2 usage or
configuration; 3 nothing to read.
"""

from chronicle.cli import people  # noqa: F401  # its commands are added to the group
from chronicle.cli.commands import CONTEXT, cli

__all__ = ["CONTEXT", "cli"]
