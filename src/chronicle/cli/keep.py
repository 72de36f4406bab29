"""The commands that keep a workspace: init, add, list, note."""

from __future__ import annotations

from pathlib import Path

import click

from chronicle.cli.common import PATH, here, line
from chronicle.errors import NothingToRead

KINDS = click.Choice(["hypothesis", "tried", "decision", "lesson"])


@click.command(short_help="Make a workspace.")
@click.argument("folder", type=PATH)
def init(folder: Path) -> None:
    """Make a workspace in FOLDER. Files that exist are left as they are."""
    from chronicle.workspace import folders

    for file in folders.init(folder):
        click.echo(f"made {file}")
    click.echo(f"Next: chronicle add LOG, in {folder}")


@click.command(short_help="Add logs to the workspace as one run.")
@click.argument("logs", nargs=-1, required=True, type=PATH)
@click.option("--name", default="", help="Id of the run; by default the name of the first log.")
@click.option("--fact", "facts", multiple=True, metavar="KEY=VALUE", help="A line of run.toml; repeatable.")
@click.option("--link", is_flag=True, help="Leave the logs where they are; run.toml gets their paths.")
def add(logs: tuple[Path, ...], name: str, facts: tuple[str, ...], link: bool) -> None:
    """Add LOGS to the workspace as one run: files or folders, copied into runs/NAME."""
    from chronicle.workspace import folders

    folder = folders.add(here(), logs, name, folders.facts_of(facts), link)
    click.echo(f"added {folder}\nNext: chronicle build")


@click.command("list", short_help="List the runs and what the last build said.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run and line.")
def list_runs(as_json: bool) -> None:
    """List the runs of the workspace with what the last build said of them."""
    from chronicle.build.machines import only_machines
    from chronicle.build.produce import last_entry
    from chronicle.cli.terminal import list_lines

    folders = here()
    built = [(run.run_id, *last_entry(folders.root, run.run_id)) for run in folders.runs()]
    rows = [
        (run_id, None, "machine logs") if entry and only_machines(entry) else (run_id, entry, state)
        for run_id, entry, state in built
    ]
    if not rows:
        raise NothingToRead(f"no run in {folders.runs_folder}. Remedy: chronicle add LOG")
    if not as_json:
        click.echo("\n".join(list_lines(rows)))
        return
    for run_id, entry, state in rows:
        known = {"verdict": entry.verdict, "patterns": entry.diagnosis.patterns} if entry else {}
        click.echo(line({"run": run_id, "state": state, **known}))


@click.command(short_help="Add a note to a run.")
@click.argument("run")
@click.argument("text")
@click.option("--step", type=int, help="Step the note speaks of.")
@click.option("--at", help="Time the note speaks of, ISO 8601. [default: now]")
@click.option("--kind", type=KINDS, help="What it is.")
@click.option("--author", default="", help="Who says so.")
def note(run: str, text: str, step: int | None, at: str | None, kind: str | None, author: str) -> None:
    """Add the note TEXT to RUN, at the end of runs/RUN/notes.md. Build reads notes and never writes them."""
    from chronicle.model import Note
    from chronicle.workspace.notes import iso_time, write_note

    folder = here().run(run).folder
    assert folder is not None  # runs of a workspace have one
    write_note(folder / "notes.md", Note(text, iso_time(at), kind or "", step, author))
    click.echo(f"noted in {folder / 'notes.md'}")
