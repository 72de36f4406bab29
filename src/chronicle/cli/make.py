"""The commands that make a site: build, serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from chronicle.cli.common import ENGINES, PATH, VERDICTS, here, line
from chronicle.errors import NothingToRead, UsageError


@click.command(short_help="Build the gallery of the workspace, or of any logs.")
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
    from chronicle.build import build as build_all
    from chronicle.build import places
    from chronicle.build.sources import expand, spread
    from chronicle.cli import terminal
    from chronicle.workspace.folders import Workspace

    home = Workspace.find(Path.cwd())
    if not paths and home is None:
        raise UsageError("no chronicle.toml here or above. Name logs to build, or: chronicle init DIR")
    workspace = home or Workspace(Path.cwd())
    runs = expand(paths) if paths else list(spread(workspace.runs()))
    if not runs:
        raise NothingToRead(f"no run in {workspace.runs_folder}. Remedy: chronicle add LOG")
    config = workspace.config
    with terminal.progress(len(runs), options["verbose"], quiet or as_json) as progress:
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
        terminal.complain(f"{run_id}: {problem}")
    if options["verbose"] and report.engine_said:
        click.echo(report.engine_said, err=True)
    if as_json:
        click.echo(line(report.to_json()))
    elif not quiet:
        click.echo("\n".join(terminal.told_build(report)))
    verdicts = [entry.verdict for entry in report.entries]
    sys.exit(terminal.exit_code(verdicts, options["fail_on"] or config.fail_on, bool(report.unreadable)))


@click.command(short_help="Serve the site here, built again on changes.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--engine", type=ENGINES, help="Site engine.")
def serve(port: int, engine: str | None) -> None:
    """Build the workspace, serve it on this machine alone, and build again when a log or note changes."""
    from chronicle.cli.serve import serve as serve_site

    serve_site(here(), port, engine, click.echo)
