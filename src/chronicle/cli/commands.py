"""The commands: their arguments and options, and which part of chronicle each of them calls.

All other modules are loaded when a command uses them: `chronicle --help` loads neither numpy nor pandas.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import chronicle
from chronicle.errors import ChronicleError, ConfigError, MissingExtra, NotALog, NothingToRead, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    import chronicle.build.produce as produce
    from chronicle import build as building
    from chronicle import figures
    from chronicle import score as scoring
    from chronicle import story as telling
    from chronicle.build import entry, sources, store
    from chronicle.cli import doctor as log_doctor
    from chronicle.cli import serve as server
    from chronicle.cli import terminal
    from chronicle.model import Diagnosis, Timeline
    from chronicle.pages import chronology, gallery
    from chronicle.workspace import folders
else:

    class _Module:
        """A module of chronicle that is loaded when something in it is first used."""

        def __init__(self, name: str) -> None:
            self._name = f"chronicle.{name}"

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    building, entry, produce = map(_Module, ("build", "build.entry", "build.produce"))
    sources, store, scoring = map(_Module, ("build.sources", "build.store", "score"))
    log_doctor, server, terminal = map(_Module, ("cli.doctor", "cli.serve", "cli.terminal"))
    figures, gallery, chronology = map(_Module, ("figures", "pages.gallery", "pages.chronology"))
    telling, folders = map(_Module, ("story", "workspace.folders"))


class _Path(click.Path):
    """A path, or an address (`s3://bucket/run`), which is fetched."""

    may_be_address = True  # false for folders that a command makes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:  # an unset variable of a shell; `Path` would take it for the current folder
            raise UsageError("a path is empty", remedy="name a file or folder; the current one is `.`")
        if isinstance(value, str) and folders.is_address(value):
            from chronicle.readers import local

            if not self.may_be_address:
                raise UsageError(f"{value} is an address", remedy="name a folder of this machine")
            return local(value)
        return super().convert(value, param, ctx)


class LazyChoice(click.Choice[str]):
    """A choice of words that a module of chronicle lists. The module is loaded when they are first needed."""

    def __init__(self, module: str, name: str) -> None:
        self._source, self.case_sensitive = (module, name), True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        module, name = self._source
        return tuple(map(str, getattr(import_module(f"chronicle.{module}"), name)))


# The readers report a path that cannot be read, with a remedy.
PATH, MADE = _Path(path_type=Path, readable=False), _Path(path_type=Path, readable=False)
MADE.may_be_address = False
PRESETS, DAY = LazyChoice("score.presets", "PRESETS"), click.DateTime(["%Y-%m-%d"])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
NO_WORKSPACE = "no chronicle.toml in this folder or above it"
GRAVE = "Exit with code 1 if a run has this verdict or a graver one."
FAIL_ON = click.option("--fail-on", type=LazyChoice("model", "Verdict"), help=GRAVE)
ENGINE = click.option("--engine", type=LazyChoice("workspace.config", "ENGINES"), help="Site engine to use.")


@click.group(context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(chronicle.__version__, prog_name="chronicle")
@click.pass_context
def cli(context: click.Context) -> None:
    """Reads the logs of training runs, names what happened, and keeps it as a searchable gallery.

    \b
    chronicle build logs/            build a site of any logs, without set-up
    chronicle classify logs/         print the diagnosis only
    chronicle init my-team           make a workspace that keeps every run
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command(short_help="Make a workspace.")
@click.argument("folder", type=MADE)
def init(folder: Path) -> None:
    """Make a workspace in FOLDER: its settings (chronicle.toml, mkdocs.yml) and an empty runs/.

    Files that exist are left as they are.
    """
    for file in folders.init(folder):
        click.echo(f"made {file}")
    enter = f"cd {shlex.quote(str(folder))} && " if folder.resolve() != Path.cwd() else ""
    click.echo(f"Next: {enter}chronicle add LOG")


@cli.command(short_help="Add logs to the workspace as one run.")
@click.argument("logs", nargs=-1, required=True, type=PATH)
@click.option("--name", default="", help="Id of the run; by default the name of the first log.")
@click.option("--fact", "facts", multiple=True, metavar="KEY=VALUE", help="Line for run.toml; repeatable.")
@click.option("--link", is_flag=True, help="Leave the logs where they are; run.toml then has their paths.")
@click.option("--follow", is_flag=True, help="Also copy the targets of links in LOGS.")
def add(logs: tuple[Path, ...], name: str, facts: tuple[str, ...], link: bool, follow: bool) -> None:
    """Add LOGS to the workspace as one run: files or folders, copied into runs/NAME."""
    workspace, stated = workspace_here(), folders.facts_of(facts)
    folder, left_out = folders.add(workspace, logs, name, stated, link=link, follow=follow)
    for path in left_out:
        terminal.say(f"left out {path}: {'a link' if path.is_symlink() else 'not a regular file'}")
    known_by = f", which commands know as {folder.name}" if name not in ("", folder.name) else ""
    click.echo(f"added {folder}{known_by}\nNext: chronicle build")
    _, unknown = terminal.say_passed_over([folder])
    if not unknown:
        terminal.say(*map(str, sources.refused(folders.run_in(folder, workspace.confines))))


@cli.command("list", short_help="List the runs with their verdicts.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run, each on a line.")
def list_runs(as_json: bool) -> None:
    """List the runs of the workspace with their verdicts from the last build."""
    workspace = workspace_here()
    rows = []
    for run in sources.named(workspace):
        built, state = produce.last_entry(workspace.root, run.run_id)
        machines = built is not None and sources.only_machines(built)
        rows.append((run.run_id, None, "machine logs") if machines else (run.run_id, built, state))
    if not rows:
        raise NothingToRead(f"no run in {workspace.runs_folder}", remedy="chronicle add LOG")
    if not as_json:
        click.echo("\n".join(terminal.list_lines(rows)))
        return
    for run_id, built, state in rows:
        judged = {"verdict": built.verdict, "patterns": built.diagnosis.patterns} if built else {}
        _echo_json({"run": run_id, "state": state, **judged})


@cli.command(short_help="Write the chronicle of all runs as Markdown, or a figure as PNG.")
@click.option("--from", "first", type=DAY, metavar="DAY", help="First day to write, as 2026-11-01.")
@click.option("--to", "last", type=DAY, metavar="DAY", help="Last day to write, as 2026-11-30.")
@click.option("--png", "run", type=PATH, metavar="RUN", help="Write the figure of RUN as PNG instead.")
@click.option("--finding", default="", metavar="N", help="With --png: zoom into the finding of this number.")
@click.option("--dark", is_flag=True, help="With --png: use the colours of the dark theme.")
def export(first: datetime | None, last: datetime | None, run: Path | None, finding: str, dark: bool) -> None:
    """Write the events of all runs as Markdown, newest first, for example for the appendix of a paper.

    Only events of the last build that have a date are written.

    With --png a figure is written instead, into a file in the current folder: the figure of RUN (a run of the
    workspace, a log or a folder), or with --finding the zoom into one of its findings.
    """
    if run is not None:
        if first or last:
            raise UsageError("--from and --to cannot be used with --png", remedy="leave out --png")
        _export_png(run, finding, dark)
        return
    if finding or dark:
        raise UsageError("--finding and --dark need --png RUN", remedy="name a run with --png")
    if first and last and first > last:
        raise UsageError("the day of --from is after that of --to", remedy="exchange the two")
    workspace = workspace_here()
    built = produce.last_entries(workspace.root, sources.named(workspace))
    ends = (day.date().isoformat() if day else "" for day in (first, last))
    click.echo(chronology.markdown(built, *ends), nl=False)


def _export_png(run: Path, finding: str, dark: bool) -> None:
    """Writes the figure of each run that a path holds into the current folder, and says where."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("chronicle export --png", "site", "matplotlib")
    judged = _named(run)
    for run_read, timeline, diagnosis, _ in judged:
        parts = run_read.run_id, finding and f"finding-{finding}", "dark" if dark else ""
        file = Path(f"{'-'.join(filter(None, parts))}.png")
        edge = telling.picture_edge(timeline, run_read.folder.config)
        file.write_bytes(figures.picture(timeline, diagnosis, finding, dark, edge))
        click.echo(f"wrote {terminal.printable(str(file))}")
    sys.exit(int(judged.unreadable))


@cli.command(short_help="Diagnose runs without building anything.")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print JSON as `chronicle schema` describes it.")
@FAIL_ON
@click.option(
    "--preset", "presets", type=PRESETS, multiple=True, help="Compare with this published rule; repeatable."
)
def classify(paths: tuple[Path, ...], as_json: bool, fail_on: str | None, presets: tuple[str, ...]) -> None:
    """Diagnose the runs in PATHS (log files or folders) without building anything."""
    verdicts, judged = [], _JudgedRuns(paths)
    for run, timeline, diagnosis, story in judged:
        compared = [*terminal.flagged_by(timeline, diagnosis, presets)]
        verdicts.append(story.verdict)
        if as_json:
            faults, copies = entry.machine_faults(timeline), [attempt.name for attempt in timeline.copies]
            _echo_json(entry.diagnosis_json(run.run_id, diagnosis, faults, compared, story.events, copies))
        else:
            comparisons = (line for rule in compared for line in terminal.comparison_lines(rule, diagnosis))
            lines = terminal.run_lines(run.run_id, timeline, diagnosis, story)
            click.echo("\n".join((*lines, *(f"  {terminal.printable(line)}" for line in comparisons))))
    sys.exit(terminal.exit_code(verdicts, fail_on or "", judged.unreadable))


@cli.command(short_help="Explain a diagnosis, or one finding of it.")
@click.argument("run", type=PATH)
@click.argument("finding", default="")
def explain(run: Path, finding: str) -> None:
    """Explain why RUN (a run of the workspace, a log or a folder) was judged as it was.

    Shows for each finding its criteria (measured value, threshold, whether it is met), its evidence, the
    second likeliest pattern, and its causes, the likeliest first. FINDING is the number or id of a finding,
    or the id of any pattern, also of one that was not found.
    """
    galleries = (folders.Workspace.find(Path.cwd()) or folders.Workspace(Path.cwd())).galleries
    has_pages = find_spec("yaml") is not None  # the pages need [site]
    page_of = {page.id: page for page in gallery.load_gallery(galleries)} if has_pages else {}
    judged = _named(run)
    for run_read, timeline, diagnosis, story in judged:
        explained = terminal.explain(diagnosis, story, finding, page_of, terminal.axis_of(timeline))
        click.echo("\n".join(map(terminal.printable, (run_read.run_id, *explained))))
    if not has_pages:
        click.echo("The likely causes are on the pages of patterns, which need the extra `site`.")
    sys.exit(int(judged.unreadable))


@cli.command(short_help="Show what differs between runs.")
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN RUN...")
def compare(runs: tuple[Path, ...]) -> None:
    """Show what differs between RUNS (runs of the workspace, logs or folders).

    Shows their verdicts, the facts that differ, the judged metric at the same steps, the highest and the last
    learning rate, and the events of all runs in the order of steps. The site can draw runs over each other:
    tick them on its page Browse.
    """
    judged, most = _named(*runs), terminal.MOST_COMPARED
    compared = list(judged)
    if not 2 <= len(compared) <= most:
        remedy = "name another run" if len(compared) < 2 else "leave some of them out"
        raise UsageError(f"a comparison takes 2 to {most} runs, not {len(compared)}", remedy=remedy)
    click.echo("\n".join(terminal.compared_lines(compared)))
    sys.exit(int(judged.unreadable))


@cli.command(short_help="Show how a log was read, and what was ignored.")
@click.argument("paths", nargs=-1, required=True, metavar="LOG...", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per log.")
def doctor(paths: tuple[Path, ...], as_json: bool) -> None:
    """Show how chronicle read each LOG, and which lines it did not understand.

    The report names the reader, the kinds of lines with examples, the role and unit of each metric, the
    attempts, and the faults. A folder is read as one run.
    """
    for path in paths:
        sources.must_exist(path)
    aside, _ = terminal.say_passed_over(paths)
    reports = [log_doctor.examine(path) for path in paths if path not in aside]
    for report in reports:
        if as_json:
            _echo_json(entry.to_json(report))
        else:
            click.echo("\n".join(log_doctor.report_lines(report)))
    if reports and not any(report["attempts"] or report["problem"] for report in reports):
        named = ", ".join(map(str, paths))
        raise NothingToRead(f"no series of numbers in {named}", remedy="name the log of a training")
    sys.exit(int(any(report["problem"] or not report["attempts"] for report in reports)))


@cli.command(short_help="Build the gallery of the workspace, or of any logs.")
@click.argument("paths", nargs=-1, type=PATH)
@click.option(
    "--out", type=MADE, help="Folder of the site. [default: chronicle-site; in a workspace build/site]"
)
@ENGINE
@click.option("--jobs", type=click.IntRange(0), help="Worker processes; 0 means one per CPU core.")
@click.option(
    "--dask", default="", metavar="ADDRESS", help="Read the runs on the dask cluster of this scheduler."
)
@click.option("--strict", is_flag=True, help="Let a warning of the site engine fail the build.")
@FAIL_ON
@click.option("--untrusted", is_flag=True, help="Use only the runs, as for the pull request of a stranger.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Print each run and the engine's output.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def build(paths: tuple[Path, ...], out: Path | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Build the gallery of the workspace, or of any log files and folders (PATHS), which need no set-up.

    With --untrusted no template, pattern page, mkdocs.yml, address or link of the workspace is used.
    """
    around = folders.Workspace.find(Path.cwd())
    if not paths and around is None:
        raise UsageError(NO_WORKSPACE, remedy="name logs to build, or chronicle init FOLDER")
    trusted = not options["untrusted"]
    workspace = around or folders.Workspace(Path.cwd())
    workspace = workspace if trusted else workspace.untrusted()
    own = [] if paths else sources.spread(workspace.runs(), workspace.entries)
    runs = sources.expand(paths, trusted=trusted) if paths else own
    _, unknown = terminal.say_passed_over(paths)
    if not runs:
        raise NothingToRead(f"no run in {workspace.runs_folder}", remedy="chronicle add LOG")
    config = workspace.config
    with terminal.progress(len(runs), options["verbose"], quiet or as_json) as progress:
        report = building.build(
            workspace,
            runs,
            building.places(None if paths else workspace, out),
            strict=options["strict"] or config.strict,
            **{name: options[name] for name in ("engine", "jobs", "dask")},
            progress=progress,
            say=terminal.say,
            unknown=unknown,
        )
    for name, problem in report.unreadable:  # a single log often has the name of its run
        terminal.complain(problem if problem.startswith(f"{name}:") else f"{name}: {problem}")
    terminal.say(*(remark for outcome in report.outcomes for remark in outcome.remarks))
    if options["verbose"] and report.engine_output:
        click.echo(report.engine_output, err=True)
    if as_json:
        _echo_json(report.to_json())
    elif not quiet:
        click.echo("\n".join(terminal.build_lines(report)))
    verdicts = [built.verdict for built in report.entries]
    sys.exit(terminal.exit_code(verdicts, options["fail_on"] or config.fail_on, bool(report.unreadable)))


@cli.command(short_help="Verify that nothing in the workspace is damaged.")
def check() -> None:
    """Check the runs, the stored results of builds, the site and the git repository for damage.

    Each damaged file is listed with a remedy. The next build repairs what it can make again.
    """
    workspace = workspace_here()
    damage, remarks = store.check(workspace, terminal.say)
    for remark in remarks:
        click.echo(terminal.printable(remark))
    terminal.complain(*damage)
    if not damage:
        click.echo(f"nothing is damaged in {terminal.printable(str(workspace.root))}")
    sys.exit(int(bool(damage)))


@cli.command(short_help="Serve the site locally and rebuild on changes.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0 picks a free one."
)
@ENGINE
def serve(port: int, engine: str | None) -> None:
    """Build the workspace, serve it on this machine only, and rebuild when a log or note changes."""
    server.serve(workspace_here(), port, engine, click.echo)


@cli.command(short_help="Score the classifier on labelled runs.")
@click.argument("folder", type=_Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print the score as one JSON object.")
def score(folder: Path, as_json: bool) -> None:
    """Score the classifier on labelled runs. FOLDER contains a folder with a label for each run."""
    result = scoring.score_folder(folder, predict)
    if as_json:
        _echo_json(result.to_json())
    else:
        click.echo(result.table())


@cli.command(short_help="Print the JSON Schema of a diagnosis or an entry.")
@click.argument("what", type=click.Choice(["diagnosis", "entry"]), default="diagnosis")
def schema(what: str) -> None:
    """Print the JSON Schema of a diagnosis (classify --json) or of an entry (entry.json)."""
    click.echo(json.dumps(entry.json_schema(what), indent=2))


@cli.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell, for example: chronicle completion bash >> ~/.bashrc"""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are those that click has
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "chronicle", "_CHRONICLE_COMPLETE").source())


def predict(folder: Path) -> dict[str, Any]:
    """The diagnosis of one labelled run for `chronicle score`, without its label."""
    with scoring.unlabelled(folder) as copy:
        try:
            judged = ((run.run_id, run.diagnose()[1]) for run in produce.runs(copy))
            return scoring.one_answer([entry.diagnosis_json(*run) for run in judged])
        except ChronicleError as err:
            raise ChronicleError(str(err).replace(str(copy), str(folder))) from err


class _JudgedRuns:
    """Reads and classifies the runs of ``paths``. A log that cannot be read is reported, and noted as
    ``unreadable``; the other runs are still processed. Of a folder in ``only``, which holds several runs,
    those of these ids are."""

    def __init__(self, paths: tuple[Path, ...], only: Mapping[Path, list[str]] = {}) -> None:
        self.paths, self.only, self.unreadable = paths, only, False

    def __iter__(self) -> Iterator[tuple[produce.Run, Timeline, Diagnosis, telling.Story]]:
        run_folders = produce.runs(*self.paths)
        if self.only:
            wanted = ((run, self.only.get(run.folder.folder or Path())) for run in run_folders)
            run_folders = [run for run, ids in wanted if ids is None or run.run_id in ids]
        terminal.say_passed_over(self.paths)
        for run in run_folders:
            try:
                timeline, diagnosis, problems = run.diagnose()
                notes = run.folder.notes
            except (ConfigError, UsageError):
                raise
            except NotALog as err:
                terminal.say(str(err))
                continue
            except ChronicleError as err:
                problems = [str(err)]
            else:
                yield run, timeline, diagnosis, telling.tell(timeline, diagnosis, run.folder.config, notes)
            self.unreadable |= terminal.complain(*problems)


def _named(*runs: Path) -> _JudgedRuns:
    """The runs that are given by their id in the workspace, or by a path. Raises UsageError, with the nearest
    id, for a name that is neither."""
    workspace = folders.Workspace.find(Path.cwd())
    known = {folder.run_id: folder.folder for folder in workspace.runs()} if workspace else {}
    paths, only = list[Path](), dict[Path, list[str]]()
    for run in runs:
        path = known.get(str(run)) or run
        if workspace and path is run and not run.exists() and len(run.parts) == 1:  # one of several in a log
            (held,) = sources.named(workspace, [str(run)])
            only.setdefault(held.folder or run, []).append(held.run_id)
        else:
            paths.append(path)
    return _JudgedRuns((*paths, *only), {path: ids for path, ids in only.items() if path not in paths})


def workspace_here() -> folders.Workspace:
    """The workspace around the current folder. Raises UsageError."""
    workspace = folders.Workspace.find(Path.cwd())
    if workspace is None:
        raise UsageError(NO_WORKSPACE, remedy="go to a workspace, or make one: chronicle init FOLDER")
    return workspace


def _echo_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))
