"""The commands that look at logs and write nothing: classify, doctor."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from chronicle.commands.common import PATH, VERDICTS, line
from chronicle.errors import ChronicleError, ConfigError, NothingToRead


@click.command(short_help="Diagnose runs without building anything.")
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
            click.echo(line(diagnosis_json(run.run_id, diagnosis)) if as_json else "\n".join(lines))
        for problem in problems:
            console.complain(problem)
            unreadable = True
    sys.exit(console.exit_code(verdicts, fail_on or "", unreadable))


@click.command(short_help="Show what was understood of a log, and what not.")
@click.argument("paths", nargs=-1, required=True, metavar="LOG...", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a log.")
def doctor(paths: tuple[Path, ...], as_json: bool) -> None:
    """Show what chronicle understood of each LOG, and what not.

    Which reader took it and why, the kinds of lines it found with the first of each, the role and unit of
    each metric, the lines not understood, attempts and faults. A folder is read as one run.
    """
    from chronicle.doctor import examine
    from chronicle.doctor.told import told

    reports = [examine(path) for path in paths]
    for report in reports:
        click.echo(line(report.to_json()) if as_json else "\n".join(told(report)))
    if not any(report.attempts or report.problem for report in reports):
        raise NothingToRead(f"no log in {', '.join(map(str, paths))}. Remedy: name the log itself")
    sys.exit(int(any(report.problem or not report.attempts for report in reports)))
