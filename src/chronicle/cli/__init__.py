"""The command line: all commands in one group.

Exit codes: 0 all is well; 1 findings at or above --fail-on, or something unreadable; 2 usage or
configuration; 3 nothing to read.
"""

from __future__ import annotations

import os

import click

import chronicle
from chronicle.cli import commands

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
COMMANDS: tuple[click.Command, ...] = (
    commands.init,
    commands.add,
    commands.build,
    commands.classify,
    commands.explain,
    commands.doctor,
    commands.list_runs,
    commands.note,
    commands.serve,
    commands.score,
    commands.schema,
    commands.completion,
)


@click.group(context_settings=CONTEXT)
@click.version_option(chronicle.__version__, prog_name="chronicle")
@click.pass_context
def cli(context: click.Context) -> None:
    """Reads the logs of training runs, names what happened, and keeps it as a searchable gallery.

    \b
    chronicle build logs/            a site of any logs, no set-up
    chronicle classify logs/         the diagnosis alone
    chronicle init my-team           a workspace that keeps every run
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


for command in COMMANDS:
    cli.add_command(command)
