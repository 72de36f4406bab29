"""Builds a site: makes the entry of every run (cached, in parallel), then one site of all entries.

work/                     the folder of mkdocs.yml: a workspace, or .<out>-cache for bare paths
  build/entries/<run>/    entry.json, row.json, figures, series.csv.gz, kept.json    the durable product
  build/read-on/          how far growing logs have been read, so that reading can continue there
  build/docs/             what the site engine reads
  build/next/             the site that is being made; between builds, the previous site
  build/lock              held while a build runs
out/                      the site
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from chronicle.build import site
from chronicle.build.produce import READ_ON, Outcome, Product, Run, produce
from chronicle.build.redact import redactor_of, with_names
from chronicle.build.site import SiteRecord, Stamps, check_claim, code_sha256, write_bytes
from chronicle.build.sources import only_machines, runs_concerned
from chronicle.build.store import ENTRY, newest
from chronicle.build.workers import in_processes, on_cluster
from chronicle.errors import ChronicleError, ConfigError, MissingExtra, UsageError
from chronicle.model import Attempt, Entry
from chronicle.pages import assets, pages
from chronicle.pages.gallery import SiteData, by_wrong_clock, load_cases, load_gallery
from chronicle.workspace.config import WorkspaceConfig, require_no_link
from chronicle.workspace.folders import RunFolder, Workspace, shipped_file
from chronicle.workspace.locks import Say, locked, remove, sweep

Progress = Callable[[Outcome, int], None]
_FEW_RUNS = 3  # up to this number, runs are read faster than a pool of processes starts


@dataclass(frozen=True)
class Report:
    """The result of a build."""

    outcomes: tuple[Outcome, ...]
    site: Path
    engine_output: str
    titles: Mapping[str, str]  # of the runs that could not be read, as they may be published

    @property
    def entries(self) -> list[Entry]:
        return [o.entry for o in self.outcomes if o.entry]

    @property
    def unreadable(self) -> list[tuple[str, str]]:
        """What could not be read, and what is wrong with it: the id of a run, or the title of one that has
        no page, whose id may be seen nowhere else."""
        named = ((o.run_id if o.entry else self.titles[o.run_id], o.problems) for o in self.outcomes)
        return [(name, problem) for name, problems in named for problem in problems]

    def to_json(self) -> dict[str, Any]:
        """The object that `chronicle build --json` prints."""
        shown = ((entry.run_id, entry.verdict, entry.diagnosis.patterns) for entry in self.entries)
        runs = [{"run": run, "verdict": verdict, "patterns": [*patterns]} for run, verdict, patterns in shown]
        unreadable = [{"run": o.run_id, "problem": text} for o in self.outcomes for text in o.problems]
        return {"schema": "chronicle/build/1", "site": str(self.site), "runs": runs, "unreadable": unreadable}


class Places(NamedTuple):
    """Where a build works: ``root`` holds mkdocs.yml; the site goes to ``out``."""

    root: Path
    out: Path


def places(workspace: Workspace | None, out: Path | None) -> Places:
    """A workspace is built in its own folder; bare paths, and an untrusted workspace, in a hidden folder
    beside the site. Raises ConfigError: the workspace has no mkdocs.yml. Raises UsageError: a folder that a
    build makes is a link, or the site would lie inside or around the runs or one of these folders."""
    root = workspace.root if workspace else Path.cwd()
    out = out or (workspace.root / workspace.config.out if workspace else Path("chronicle-site"))
    target = Path(os.path.abspath(out))
    in_workspace = workspace is not None and workspace.trusted
    work = root if in_workspace else target.with_name(f".{target.name}-cache")
    folders = [work / "build" / name for name in ("entries", READ_ON, "docs", "next", "lock")]
    require_no_link(root, target, *folders)  # a build removes unknown files from these folders
    if workspace:
        folders += [root / getattr(workspace.config, name) for name in ("runs", "gallery", "templates")]
    if any(target.is_relative_to(folder) or folder.is_relative_to(target) for folder in folders):
        problem = f"{target} is where the workspace or a build keeps its own files"
        raise UsageError(problem, remedy="name another --out")
    if not in_workspace:
        check_claim(target)
        write_bytes(work / "mkdocs.yml", shipped_file("mkdocs.yml").read_bytes())
    elif not (root / "mkdocs.yml").is_file():
        raise ConfigError("mkdocs.yml", "", f"is missing in {root}", remedy="chronicle init .")
    return Places(work, target.resolve())


def build(
    workspace: Workspace,
    runs: Sequence[RunFolder],
    where: Places,
    *,
    engine: str | None = None,
    strict: bool = False,
    jobs: int | None = None,
    dask: str = "",
    progress: Progress = lambda outcome, total: None,
    say: Say = lambda text: None,
    unknown: Sequence[str] = (),
) -> Report:
    """Reads, classifies and draws what changed, writes all pages, runs the site engine and publishes.

    Engine and number of workers come from chronicle.toml unless they are given. Only one build at a time runs
    in a workspace; ``say`` is called with a line about a build that is waited for. The old site is replaced
    in the last step. ``dask`` is the address of a scheduler whose workers read the runs. ``unknown`` are
    names of texts that no reader knows, which the site lists.

    Raises:
        MissingExtra: the packages of a site are not installed.
        UsageError: the folder of the site holds files that chronicle did not make.
        SiteError: the engine failed. Problems of single runs are in the report instead.
        OSError: a file cannot be written, for example because the disk is full.
    """
    for module, package in (("jinja2", "jinja2"), ("matplotlib", "matplotlib"), ("yaml", "pyyaml")):
        if importlib.util.find_spec(module) is None:
            raise MissingExtra("chronicle build", "site", package)
    check_claim(where.out)
    sweep()  # removes what a killed build has unpacked
    config, store = workspace.config, where.root / "build" / "entries"
    with locked(where.root / "build" / "lock", f"the build in {where.root}", say):
        before = site.last_record(where.root)
        outcomes = _made(runs, config, store, config.jobs if jobs is None else jobs, progress, dask)
        built, redact = {outcome.run_id for outcome in outcomes if outcome.entry}, redactor_of(config.redact)
        unread = {run.run_id: redact(run.title) for run in runs if run.run_id not in built}
        report, unknown = Report(tuple(outcomes), where.out, "", unread), [*map(redact, unknown)]
        for entry in report.entries:
            if time := by_wrong_clock(entry):
                say(f"{entry.run_id}: {time[:10]} is the date of a wrong clock, so it is listed last")
        parts, docs = _pages(workspace, report, where.root / "build" / "docs", before, unknown)
        title = config.title if config.title != WorkspaceConfig.title else ""  # the default is no choice
        now = SiteRecord(engine or config.engine, title, strict, newest(runs), docs=docs, parts=parts)
        return replace(report, engine_output=site.make_site(where.root, where.out, before, now))


def _made(
    runs: Sequence[RunFolder], config: WorkspaceConfig, store: Path, jobs: int, progress: Progress, dask: str
) -> list[Outcome]:
    """The outcome of every run. Afterwards ``store`` holds the entries of these runs alone."""
    for link in filter(Path.is_symlink, (*store.glob("*"), *store.with_name(READ_ON).glob("*"))):
        link.unlink()  # nothing may be written or removed through a link
    outcomes = make_entries(runs, config, store, jobs, progress, dask)
    outcomes = with_machines(runs, outcomes, config, store)
    gc.freeze()  # the entries of all runs stay to the end: exclude them from garbage collection
    current = {run.run_id for run in runs} | {outcome.folder.name for outcome in outcomes}
    for folder in (folder for folder in store.glob("*") if folder.name not in current):
        remove(folder)  # the logs of this run were removed, so its pages are removed too
    return outcomes


def _pages(
    workspace: Workspace, report: Report, docs: Path, before: SiteRecord, unknown: Sequence[str]
) -> tuple[dict[str, str], Stamps]:
    """Writes all pages. Returns a hash of what each page was made from, and the stamps of all files."""
    config, outcome_of = workspace.config, {outcome.run_id: outcome for outcome in report.outcomes}
    patterns, cases = load_gallery(workspace.galleries), load_cases(workspace.galleries)
    standing = site.stamps(docs, hidden=True)
    kept = {run_id: row for run_id, outcome in outcome_of.items() if (row := outcome.files.get(ENTRY))}
    data = SiteData(
        report.entries,
        patterns,
        report.unreadable,
        config.title,
        workspace.templates,
        cases,
        config.site_url,
        config.edit_url,
        full_entry=lambda entry: outcome_of[entry.run_id].full_entry(),
        known={run_id: row[2] for run_id, row in kept.items()},
        shared=_shared(config, patterns, cases, workspace.templates),
        unknown=unknown,
        standing={p: of for p, of in before.parts.items() if standing.get(p) == before.docs.get(p)},
    )
    parts: dict[str, str] = {}
    return parts, site.write_tree(docs, _site_files(data, report.outcomes, standing, parts), standing)


def _shared(config: WorkspaceConfig, patterns: object, cases: object, templates: Sequence[Path]) -> str:
    """A hash over everything except entries that the page of a run is made from."""
    folders = *templates, shipped_file("gallery") / "sketches"
    files = [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    texts = [file.read_bytes() for file in files]
    settings = config.title, config.site_url, config.edit_url
    return hashlib.sha256(repr((code_sha256(), settings, patterns, cases, texts)).encode()).hexdigest()


def make_entries(
    runs: Sequence[RunFolder],
    config: WorkspaceConfig,
    store: Path,
    jobs: int,
    progress: Progress,
    dask: str = "",
) -> list[Outcome]:
    """The map step: the outcome of every run, in the order given; runs are independent of each other."""
    products = [Product(run, config, store / run.run_id) for run in runs]
    gc.disable()  # thousands of entries are loaded, all of which stay: collection would only cost time
    try:
        outcomes = {p.run.run_id: outcome for p in products if (outcome := p.cached()) is not None}
        gc.freeze()
    finally:
        gc.enable()
    for outcome in outcomes.values():
        progress(outcome, len(runs))
    left = [product for product in products if product.run.run_id not in outcomes]
    workers = min(jobs or os.cpu_count() or 1, len(left))
    if dask and left:
        made = on_cluster(produce, [product.anywhere() for product in left], dask, _of_killed)
    elif workers > 1 and len(left) > _FEW_RUNS:
        made = in_processes(produce, left, workers, _of_killed)
    else:
        made = (produce(product) for product in left)
    with closing(made):
        for outcome in made:
            outcomes[outcome.run_id] = outcome
            progress(outcome, len(runs))
    return [outcomes[run.run_id] for run in runs]


def _of_killed(product: Product) -> Outcome:
    what = "the process that read it was killed. Remedy: check whether the machine has enough memory"
    return Outcome(product.run.run_id, product.folder, None, (f"{product.run.run_id}: {what}",))


def with_machines(
    runs: Sequence[RunFolder], outcomes: list[Outcome], config: WorkspaceConfig, store: Path
) -> list[Outcome]:
    """Assigns machine logs in folders of their own to the runs that they concern, which are made again. One
    that concerns no run is a problem. Without any training nothing changes."""
    entries = {o.run_id: with_names(o.entry, o.names) for o in outcomes if o.entry}
    apart = {run_id for run_id, entry in entries.items() if only_machines(entry)}
    trained = [entry for run_id, entry in entries.items() if run_id not in apart]
    if not apart or not trained:
        return outcomes
    machine_logs: dict[str, tuple[Path, ...]] = {}
    remade: dict[str, Outcome] = {}
    for run in (run for run in runs if run.run_id in apart):
        logs: list[Attempt] = []
        try:
            logs, _ = Run(run, config).read()
            concerned, problem = runs_concerned(logs, trained)
        except ChronicleError as err:  # the log has changed since it was read
            concerned, problem = [], run.published(str(err))
        for run_id in concerned:
            machine_logs[run_id] = (*machine_logs.get(run_id, ()), *run.logs)
        if not concerned:
            problem = redactor_of(config.redact, logs)(problem)
            remade[run.run_id] = Outcome(run.run_id, store / run.run_id, None, (problem,))
    left = [o for o in outcomes if o.run_id not in apart or o.run_id in remade]
    for run in (run for run in runs if run.run_id in machine_logs):
        with_logs = replace(run, machine_logs=machine_logs[run.run_id])
        product = Product(with_logs, config, store / f"{run.run_id}+machines")
        remade[run.run_id] = product.cached() or produce(product)
    return [remade.get(o.run_id, o) for o in left]


def _site_files(
    data: SiteData, outcomes: Sequence[Outcome], standing: Stamps, parts: dict[str, str]
) -> Iterator[tuple[str, str | bytes | Path | None]]:
    """All files of build/docs. None is the content of a file that already stands there unchanged."""
    for page in pages(data):
        if page.made_of:
            parts[page.path] = page.made_of
        yield page.path, page.text
    yield from assets(data)
    for outcome in outcomes:
        for name, row in outcome.files.items():
            path = f"runs/{outcome.run_id}/{name}"
            yield path, None if row and standing.get(path) == row[:2] else outcome.folder / name
    guide = shipped_file("docs")
    for file in sorted([*guide.rglob("*.md"), *guide.rglob("*.webp")]):
        yield f"guide/{file.relative_to(guide).as_posix()}", file
