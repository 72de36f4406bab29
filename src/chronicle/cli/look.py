"""The commands that look at logs and write nothing: classify, explain, doctor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chronicle.cli.common import PATH, VERDICTS, line
from chronicle.errors import ChronicleError, ConfigError, NothingToRead, UsageError

if TYPE_CHECKING:
    from chronicle.model import Diagnosis, Timeline
    from chronicle.workspace.folders import RunFolder

PRESETS = click.Choice(["olmo-128-6", "olmo2-spike-score", "kill-loss-spike", "lightning-spike"])


@click.command(short_help="Diagnose runs without building anything.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run, as `chronicle schema` says.")
@click.option("--fail-on", type=VERDICTS, help="Exit with 1 when a run has this verdict or a graver one.")
@click.option(
    "--preset", "presets", type=PRESETS, multiple=True, help="Compare with a published rule; repeatable."
)
def classify(paths: tuple[Path, ...], as_json: bool, fail_on: str | None, presets: tuple[str, ...]) -> None:
    """Diagnose the runs in PATHS (log files or folders) without building anything."""
    from chronicle.cli import terminal

    verdicts, unreadable = [], False
    for run, made, problems in _diagnosed(paths):
        if made is not None:
            verdicts.append(made[1].verdict)
            click.echo(_answer(run.run_id, *made, presets, as_json))
        for problem in problems:
            terminal.complain(problem)
            unreadable = True
    sys.exit(terminal.exit_code(verdicts, fail_on or "", unreadable))


def _answer(
    run_id: str, timeline: Timeline, diagnosis: Diagnosis, presets: tuple[str, ...], as_json: bool
) -> str:
    """What `chronicle classify` prints of one run."""
    from chronicle.build.facts import machine_faults
    from chronicle.build.schema import diagnosis_json
    from chronicle.cli import terminal
    from chronicle.cli.compare import compare, comparison_lines

    compared = [*compare(timeline, diagnosis, presets)]
    if as_json:
        return line(diagnosis_json(run_id, diagnosis, machine_faults(timeline), compared))
    beside = (words for comparison in compared for words in comparison_lines(comparison, diagnosis))
    return "\n".join(
        (*terminal.told_run(run_id, timeline, diagnosis), *(f"  {terminal.printable(w)}" for w in beside))
    )


@click.command(short_help="Explain a diagnosis, or one finding of it.")
@click.argument("run", type=PATH)
@click.argument("finding", default="")
def explain(run: Path, finding: str) -> None:
    """Explain why RUN (a run of the workspace, a log or a folder) was judged as it was.

    Each finding with its criteria (what was measured, against what, met or not), its evidence, and the
    pattern it would be otherwise. FINDING is its number, or a pattern: also one that was not found.
    """
    from chronicle.cli import terminal
    from chronicle.cli.explain import explain as explained
    from chronicle.workspace.folders import Workspace

    home = Workspace.find(Path.cwd())
    known = {folder.run_id: folder.folder for folder in home.runs()} if home else {}
    unreadable = False
    for folder, made, problems in _diagnosed((known.get(str(run)) or run,)):
        if made is not None:
            click.echo("\n".join(map(terminal.printable, (folder.run_id, *explained(made[1], finding)))))
        for problem in problems:
            terminal.complain(problem)
            unreadable = True
    sys.exit(int(unreadable))


def _diagnosed(
    paths: tuple[Path, ...],
) -> Iterator[tuple[RunFolder, tuple[Timeline, Diagnosis] | None, list[str]]]:
    """Each run of ``paths`` with what was made of it (None: nothing could be read) and what was wrong."""
    from chronicle.build.produce import diagnose
    from chronicle.build.sources import expand
    from chronicle.workspace.config import WorkspaceConfig
    from chronicle.workspace.folders import Workspace

    home = Workspace.find(Path.cwd())
    config = home.config if home else WorkspaceConfig()
    for run in expand(paths):
        try:
            timeline, diagnosis, problems = diagnose(run, config)
        except (ConfigError, UsageError):
            raise
        except ChronicleError as err:
            yield run, None, [str(err)]
        else:
            yield run, (timeline, diagnosis), problems


@click.command(short_help="Show what was understood of a log, and what not.")
@click.argument("paths", nargs=-1, required=True, metavar="LOG...", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a log.")
def doctor(paths: tuple[Path, ...], as_json: bool) -> None:
    """Show what chronicle understood of each LOG, and what not.

    Which reader took it and why, the kinds of lines it found with the first of each, the role and unit of
    each metric, the lines not understood, attempts and faults. A folder is read as one run.
    """
    from chronicle.build.sources import must_exist
    from chronicle.cli.doctor import examine
    from chronicle.cli.doctor.told import told

    for path in paths:
        must_exist(path)
    reports = [examine(path) for path in paths]
    for report in reports:
        click.echo(line(report.to_json()) if as_json else "\n".join(told(report)))
    if not any(report.attempts or report.problem for report in reports):
        raise NothingToRead(f"no log in {', '.join(map(str, paths))}. Remedy: name the log itself")
    sys.exit(int(any(report.problem or not report.attempts for report in reports)))
