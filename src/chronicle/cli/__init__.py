"""The command line: all commands in one group, and those that record what people say about a run.

Exit codes: 0 success; 1 findings at or above --fail-on, or something unreadable; 2 wrong usage or
configuration; 3 nothing to read.
"""

from __future__ import annotations

import click

from chronicle.cli.commands import LazyChoice, workspace_here
from chronicle.cli.commands import cli as cli
from chronicle.errors import UsageError

EVENT = click.option("--event", default="", metavar="ID", help="Id of the event, from `chronicle explain`.")
AT = click.option("--at", help="Time to record, as 2026-11-18T22:41+01:00. [default: now]")
AUTHOR = click.option("--author", default="", help="Name of the author. [default: user.name of git]")


@cli.command(short_help="Add a note to a run.")
@click.argument("run")
@click.argument("text")
@EVENT
@click.option("--step", type=int, help="Step to record. [default: step of the event]")
@AT
@click.option("--kind", type=LazyChoice("workspace.notes", "NOTE_KINDS"), help="Kind of the note.")
@AUTHOR
def note(
    run: str, text: str, event: str, step: int | None, at: str | None, kind: str | None, author: str
) -> None:
    """Add the note TEXT at the end of runs/RUN/notes.md. A build reads notes and never writes them.

    The note is compared with the last build of the run: an unknown event is an error, and a step outside of
    the run is a warning.
    """
    if not text.strip():
        raise UsageError("the note is empty", remedy="give it a TEXT")
    _write(run, text, kind or "", event, step, at, author)


@cli.command(short_help="Record your verdict on a run or a finding.")
@click.argument("run")
@click.argument("says", type=LazyChoice("workspace.notes", "JUDGEMENTS"), metavar="WORD")
@click.argument("text", default="")
@EVENT
@AT
@AUTHOR
def review(run: str, says: str, text: str, event: str, at: str | None, author: str) -> None:
    """Judge RUN. WORD is its verdict (good, unexpected, worrying or bad), and TEXT says why.

    With --event, WORD is confirmed or disputed and applies to that finding only. Pages, filters and exit
    codes use the latest verdict of a person; the verdict of the classifier is shown beside it. A reviewed
    run is no longer listed under "Needs attention". Reviews are written to runs/RUN/notes.md.
    """
    from chronicle.workspace.notes import STANCES

    of_event = says in STANCES
    if of_event and not event:
        remedy = f"name it with --event ID (`chronicle explain {run}` has the ids)"
        raise UsageError(f"{says} applies to one finding", remedy=remedy)
    if event and not of_event:
        problem = f"--event goes with {' or '.join(STANCES)}; {says} is the verdict of a whole run"
        raise UsageError(problem, remedy="leave out --event")
    _write(run, text, says if of_event else f"review {says}", event, None, at, author)


@cli.command("triage", short_help="Review the findings that are still open.")
@click.argument("runs", nargs=-1)
@AUTHOR
def go_through_runs(runs: tuple[str, ...], author: str) -> None:
    """Review the open findings of RUNS (by default of all runs), the gravest run first.

    A finding is open if it makes its run worse than good and nobody has reviewed it or the run. Each finding
    is shown with its curve from the last build. Answer with one key: c confirms, d disputes, n adds a note,
    s skips, q quits. After the findings of a run you may give a verdict on the run. Every answer is written
    to notes.md immediately.
    """
    from chronicle.cli.triage import go_through
    from chronicle.workspace.notes import author_in

    workspace = workspace_here()
    go_through(workspace, runs, author or author_in(workspace.root))


def _write(run: str, text: str, kind: str, event: str, step: int | None, at: str | None, author: str) -> None:
    """Adds a note to a run, prints the file, and warns if the note does not fit the run, or concerns all the
    runs that its folder holds."""
    from chronicle.build.produce import last_entry
    from chronicle.build.sources import named
    from chronicle.cli.terminal import outside, printable
    from chronicle.model import Note
    from chronicle.workspace.notes import author_in, iso_time

    workspace = workspace_here()
    written = Note(text, iso_time(at), kind, step, author or author_in(workspace.root), event)
    first, *others = named(workspace, [run])
    ids = ", ".join(other.run_id for other in (first, *others))
    if others and event:
        problem = f"{run} holds {1 + len(others)} runs, and an event is that of one of them"
        raise UsageError(problem, remedy=f"name one of {ids}")
    warning = "" if others else outside(written, last_entry(workspace.root, first.run_id)[0])
    if others:
        warning = f"this concerns all {1 + len(others)} runs of {run}; for one alone name it: {ids}"
    (workspace.run(run) if others else first).add_note(written)
    click.echo(f"noted in {printable(str(first.notes_file))}")
    if warning:
        click.echo(f"warning: {printable(warning)}", err=True)
