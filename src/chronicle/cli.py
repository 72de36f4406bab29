"""The command line. Heavy modules are imported inside the commands: `chronicle --help` costs next to nothing.

Exit codes: 0 all is well; 1 findings at or above --fail-on, or something unreadable; 2 usage or
configuration; 3 nothing to read.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import chronicle
from chronicle.errors import ChronicleError, ConfigError, NothingToRead, UsageError

if TYPE_CHECKING:
    from chronicle.workspace import Workspace

PATH = click.Path(path_type=Path)
VERDICTS = click.Choice(["good", "unexpected", "worrying", "bad"])
ENGINES = click.Choice(["mkdocs", "properdocs", "zensical"])
KINDS = click.Choice(["hypothesis", "tried", "decision", "lesson"])
SHELLS = click.Choice(["bash", "zsh", "fish"])
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


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


@cli.command(short_help="Make a workspace.")
@click.argument("folder", type=PATH)
def init(folder: Path) -> None:
    """Make a workspace in FOLDER. Files that exist are left as they are."""
    from chronicle import workspace

    for file in workspace.init(folder):
        click.echo(f"made {file}")
    click.echo(f"Next: chronicle add LOG, in {folder}")


@cli.command(short_help="Add logs to the workspace as one run.")
@click.argument("logs", nargs=-1, required=True, type=PATH)
@click.option("--name", default="", help="Id of the run; by default the name of the first log.")
@click.option("--fact", "facts", multiple=True, metavar="KEY=VALUE", help="A line of run.toml; repeatable.")
@click.option("--link", is_flag=True, help="Leave the logs where they are; run.toml gets their paths.")
def add(logs: tuple[Path, ...], name: str, facts: tuple[str, ...], link: bool) -> None:
    """Add LOGS to the workspace as one run: files or folders, copied into runs/NAME."""
    from chronicle import workspace

    folder = workspace.add(_workspace(), logs, name, workspace.facts_of(facts), link)
    click.echo(f"added {folder}\nNext: chronicle build")


@cli.command(short_help="Build the gallery of the workspace, or of any logs.")
@click.argument("paths", nargs=-1, type=PATH)
@click.option(
    "--out", type=PATH, help="Folder of the site. [default: chronicle-site; in a workspace build/site]"
)
@click.option("--engine", type=ENGINES, help="Site engine.")
@click.option("--jobs", type=click.IntRange(0), help="Worker processes; 0 means one a core.")
@click.option("--strict", is_flag=True, help="A warning of the site engine fails the build.")
@click.option("--fail-on", type=VERDICTS, help="Exit with 1 when a run has this verdict or a graver one.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="A line for every run, and the engine's own words.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def build(paths: tuple[Path, ...], out: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Build the gallery: of the workspace, or of any log files and folders (PATHS) without set-up."""
    from chronicle import console
    from chronicle.build import build as build_all
    from chronicle.build import places
    from chronicle.sources import expand
    from chronicle.workspace import Workspace

    home = Workspace.find(Path.cwd())
    if not paths and home is None:
        raise UsageError("no chronicle.toml here or above. Name logs to build, or: chronicle init DIR")
    workspace = home or Workspace(Path.cwd())
    runs = expand(paths) if paths else workspace.runs()
    if not runs:
        raise NothingToRead(f"no run in {workspace.runs_folder}. Remedy: chronicle add LOG")
    config = workspace.config
    with console.progress(len(runs), options["verbose"], quiet or as_json) as progress:
        report = build_all(
            workspace,
            runs,
            places(None if paths else workspace, out),
            engine=options["engine"] or config.engine,
            strict=options["strict"] or config.strict,
            jobs=config.jobs if options["jobs"] is None else options["jobs"],
            progress=progress,
        )
    for run_id, problem in report.unreadable:
        console.complain(f"{run_id}: {problem}")
    if options["verbose"] and report.engine_said:
        click.echo(report.engine_said, err=True)
    if as_json:
        click.echo(_line(report.to_json()))
    elif not quiet:
        click.echo("\n".join(console.told_build(report)))
    verdicts = [entry.verdict for entry in report.entries]
    sys.exit(console.exit_code(verdicts, options["fail_on"] or config.fail_on, bool(report.unreadable)))


@cli.command(short_help="Diagnose runs without building anything.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run, as `chronicle schema` says.")
@click.option("--fail-on", type=VERDICTS, help="Exit with 1 when a run has this verdict or a graver one.")
def classify(paths: tuple[Path, ...], as_json: bool, fail_on: str | None) -> None:
    """Diagnose the runs in PATHS (log files or folders) without building anything."""
    from chronicle import console
    from chronicle.config import WorkspaceConfig
    from chronicle.produce import diagnose
    from chronicle.schema import diagnosis_json
    from chronicle.sources import expand
    from chronicle.workspace import Workspace

    home = Workspace.find(Path.cwd())
    config = home.config if home else WorkspaceConfig()
    verdicts, unreadable = [], False
    for run in expand(paths):
        try:
            timeline, diagnosis, problems = diagnose(run, config)
        except ConfigError:
            raise
        except ChronicleError as err:
            problems, unreadable = [str(err)], True
        else:
            verdicts.append(diagnosis.verdict)
            lines = console.told_run(run.run_id, timeline, diagnosis)
            click.echo(_line(diagnosis_json(run.run_id, diagnosis)) if as_json else "\n".join(lines))
        for problem in problems:
            console.complain(problem)
            unreadable = True
    sys.exit(console.exit_code(verdicts, fail_on or "", unreadable))


@cli.command("list", short_help="List the runs and what the last build said.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run and line.")
def list_runs(as_json: bool) -> None:
    """List the runs of the workspace with what the last build said of them."""
    from chronicle.console import list_lines
    from chronicle.produce import last_entry

    workspace = _workspace()
    rows = [(run.run_id, *last_entry(workspace.root, run.run_id)) for run in workspace.runs()]
    if not rows:
        raise NothingToRead(f"no run in {workspace.runs_folder}. Remedy: chronicle add LOG")
    if not as_json:
        click.echo("\n".join(list_lines(rows)))
        return
    for run_id, entry, state in rows:
        known = {"verdict": entry.verdict, "patterns": entry.diagnosis.patterns} if entry else {}
        click.echo(_line({"run": run_id, "state": state, **known}))


@cli.command(short_help="Add a note to a run.")
@click.argument("run")
@click.argument("text")
@click.option("--step", type=int, help="Step the note speaks of.")
@click.option("--at", help="Time the note speaks of, ISO 8601. [default: now]")
@click.option("--kind", type=KINDS, help="What it is.")
@click.option("--author", default="", help="Who says so.")
def note(run: str, text: str, step: int | None, at: str | None, kind: str | None, author: str) -> None:
    """Add the note TEXT to RUN, at the end of runs/RUN/notes.md. Build reads notes and never writes them."""
    from chronicle.model import Note
    from chronicle.notes import iso_time, write_note

    folder = _workspace().run(run).folder
    assert folder is not None  # runs of a workspace have one
    write_note(folder / "notes.md", Note(text, iso_time(at), kind or "", step, author))
    click.echo(f"noted in {folder / 'notes.md'}")


@cli.command(short_help="Serve the site here, built again on changes.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--engine", type=ENGINES, help="Site engine.")
def serve(port: int, engine: str | None) -> None:
    """Build the workspace, serve it on this machine alone, and build again when a log or note changes."""
    from chronicle.watch import serve as serve_site

    serve_site(_workspace(), port, engine, click.echo)


@cli.command(short_help="Score the classifier on labelled runs.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="The score as one JSON object.")
def score(folder: Path, as_json: bool) -> None:
    """Score the classifier on labelled runs: FOLDER holds one folder a run, each with a label."""
    from chronicle.produce import predict
    from chronicle.score import score_folder

    result = score_folder(folder, predict)
    click.echo(_line(result.to_json()) if as_json else result.table())


@cli.command(short_help="Print the JSON Schema of a diagnosis or an entry.")
@click.argument("what", type=click.Choice(["diagnosis", "entry"]), default="diagnosis")
def schema(what: str) -> None:
    """Print the JSON Schema of a diagnosis (classify --json) or of an entry (entry.json)."""
    from chronicle.schema import json_schema

    click.echo(json.dumps(json_schema(what), indent=2))


@cli.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=SHELLS)
def completion(shell: str) -> None:
    """Print the completion script of a shell: chronicle completion bash >> ~/.bashrc"""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are those that click has
    click.echo(kind(cli, {}, "chronicle", "_CHRONICLE_COMPLETE").source())


def _workspace() -> Workspace:
    from chronicle.workspace import Workspace

    workspace = Workspace.find(Path.cwd())
    if workspace is None:
        raise UsageError("no chronicle.toml here or above. Remedy: chronicle init DIR")
    return workspace


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
