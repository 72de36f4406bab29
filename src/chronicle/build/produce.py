"""One run from its logs to its entry on disk: read, stitch, classify, draw, write. Cached by content."""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from chronicle.build.entry import make_entry
from chronicle.build.fingerprint import code_sha256, fingerprint
from chronicle.build.schema import diagnosis_json, entry_from_json, entry_json
from chronicle.build.sources import expand
from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.classify import VERSION as CLASSIFIER
from chronicle.errors import ChronicleError, ConfigError, LogError, NothingToRead, UsageError
from chronicle.model import Attempt, Diagnosis, Entry, Fault, Role, Timeline, relocated
from chronicle.readers import read_all
from chronicle.score import one_answer, unlabelled
from chronicle.timeline import OnAxis, on_axis, stitch, thin
from chronicle.workspace.config import RunConfig, WorkspaceConfig, unknown
from chronicle.workspace.folders import RunFolder
from chronicle.workspace.locations import shown
from chronicle.workspace.notes import read_notes

_KEY, _ENTRY, _DATA = "key", "entry.json", "series.csv"
_DATA_POINTS = 50_000  # a page's CSV holds at most so many points; a longer run is thinned, and says so


@dataclass(frozen=True)
class Outcome:
    """What became of one run: its entry, or what is wrong with its logs.

    ``files``, below ``folder``, belong to its page.
    """

    run_id: str
    folder: Path
    entry: Entry | None
    problems: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    cached: bool = False


@dataclass(frozen=True)
class Product:
    """One run and the folder its entry is kept in. Small and picklable: a worker gets nothing else."""

    run: RunFolder
    config: WorkspaceConfig
    folder: Path

    def key(self) -> str:
        config = self.config
        shared = (config.roles, config.units, config.thresholds, config.false_alarms, config.x)
        return fingerprint(self.run, (code_sha256(), shared, self.run.config), self.folder)

    def cached(self) -> Outcome | None:
        """The entry made before, if it was made from just this; an unusable cache counts as none."""
        if self.run.problem:
            return None
        try:
            if (self.folder / _KEY).read_text() != self.key():
                return None
            entry = entry_from_json(json.loads((self.folder / _ENTRY).read_text("utf-8")))
            files = _files(entry)
            if not all((self.folder / f).is_file() for f in files):
                return None
        except (OSError, ValueError):
            return None
        return Outcome(self.run.run_id, self.folder, entry, files=files, cached=True)


def produce(product: Product) -> Outcome:
    """Makes the entry of one run anew. Whatever is wrong with its logs is in the outcome, never raised."""
    run = product.run
    try:
        timeline, diagnosis, problems = diagnose(run, product.config)
    except ChronicleError as err:
        shutil.rmtree(product.folder, ignore_errors=True)
        return Outcome(run.run_id, product.folder, None, (run.told(str(err)),))
    timeline, problems = _published(timeline, run), [run.told(problem) for problem in problems]
    key = product.key()
    for old in product.folder.iterdir():
        if old.name != "inputs.json":
            old.unlink()
    entry = _write(product, timeline, diagnosis, problems, key)
    _clear()
    if not problems:  # an entry with an unreadable log is tried again next time
        (product.folder / _KEY).write_text(key)
    return Outcome(run.run_id, product.folder, entry, tuple(problems), _files(entry))


def _clear() -> None:
    """Frees what a run leaves behind: figures are full of cycles, and would wait for those of ten more runs.

    What is left is not looked at again, which makes this cheap for all but the first run of a process.
    """
    gc.collect()
    gc.freeze()


def diagnose(run: RunFolder, config: WorkspaceConfig) -> tuple[Timeline, Diagnosis, list[str]]:
    """Reads, stitches and classifies a run; also what was wrong with single logs of it.

    Raises:
        ChronicleError: nothing of the run could be read, or its configuration is wrong.
    """
    if run.problem:
        raise run.problem
    attempts, problems = read_run(run, config)
    order: Sequence[str] | None = run.config.order or None
    timeline = stitch(attempts, run_id=run.run_id, order=order, relation=run.config.relation or None)
    del attempts  # the timeline has them, without a copy of their points
    return timeline, classify(timeline, thresholds(config)), problems


def predict(folder: Path) -> dict[str, Any]:
    """The diagnosis of one labelled run for `chronicle score`, made without a look at its label."""
    with unlabelled(folder) as copy:
        try:
            runs = expand([copy])
            made = [diagnosis_json(run.run_id, diagnose(run, WorkspaceConfig())[1]) for run in runs]
        except ChronicleError as err:
            raise ChronicleError(str(err).replace(str(copy), str(folder))) from err
    return one_answer(made)


def last_entry(root: Path, run_id: str) -> tuple[Entry | None, str]:
    """What the last build in the workspace ``root`` said of a run, and "built" or "not built"."""
    try:
        text = (root / "build" / "entries" / run_id / _ENTRY).read_text("utf-8")
        return entry_from_json(json.loads(text)), "built"
    except (OSError, ValueError):
        return None, "not built"


def read_run(run: RunFolder, config: WorkspaceConfig) -> tuple[list[Attempt], list[str]]:
    """All attempts of a run, with roles and units as its configuration declares them, and the problems."""
    aliases = [(name, Role(role)) for name, role in [*run.config.roles.items(), *config.roles.items()]]
    attempts: list[Attempt] = []
    problems: list[LogError | NothingToRead] = []
    for log in (*run.logs, *run.beside):
        reading = read_all(log, aliases=aliases, only=run.only if log in run.logs else "")
        several = len(run.logs) > 1 or log in run.beside
        within = f"{log.name}/" if several and log.is_dir() else ""
        attempts += [  # one whose folder is one log has its name already
            a if f"{a.name}:".startswith(f"{log.name}:") else replace(a, name=f"{within}{a.name}")
            for a in reading.attempts
        ]
        problems += reading.problems
    if not attempts:
        raise problems[0] if problems else NothingToRead(f"{run.run_id}: no log in {_named(run)}")
    units = {**config.units, **run.config.units}
    return [_with_units(a, units) for a in attempts], [str(p) for p in problems]


def thresholds(config: WorkspaceConfig) -> Thresholds:
    """The classifier's thresholds with those of chronicle.toml.

    Raises:
        ConfigError: a name that it does not have, or a rate of false alarms that was not measured.
    """
    valid = [field.name for field in fields(DEFAULTS)]
    for name in config.thresholds:
        if name not in valid:
            raise ConfigError("chronicle.toml", f"thresholds.{name}", unknown(name, valid))
    try:
        base = Thresholds.at(config.false_alarms) if config.false_alarms else DEFAULTS
    except ValueError as err:
        raise ConfigError("chronicle.toml", "false_alarms", str(err)) from err
    return replace(base, **config.thresholds)


def _write(
    product: Product, timeline: Timeline, diagnosis: Diagnosis, problems: list[str], key: str
) -> Entry:
    from chronicle.figures import draw

    run, config, folder = product.run, product.run.config, product.folder
    x, warnings = _over(timeline, config.x or product.config.x, config.tokens_per_step)
    entry = make_entry(
        run.run_id,
        timeline,
        diagnosis,
        config,
        notes=read_notes(run.notes_file) if run.notes_file else (),
        figures=draw(timeline, diagnosis, folder, title=_title(run, config), x=x),
        warnings=[*problems, *warnings],
        inputs_sha256=key,
        classifier_version=CLASSIFIER,
    )
    _write_data(timeline, folder / _DATA)
    text = json.dumps(entry_json(entry), ensure_ascii=False, indent=1, allow_nan=False)
    (folder / _ENTRY).write_text(text, "utf-8", errors="replace")
    return entry


def _published(timeline: Timeline, run: RunFolder) -> Timeline:
    """The timeline with faults that say where they are in the run, wherever that is on this machine."""

    def told(faults: Iterable[Fault]) -> tuple[Fault, ...]:
        return tuple(relocated(fault, run.told) for fault in faults)

    attempts = tuple(replace(attempt, faults=told(attempt.faults)) for attempt in timeline.attempts)
    return replace(timeline, attempts=attempts, faults=told(timeline.faults))


def _over(timeline: Timeline, axis: str, tokens_per_step: float) -> tuple[OnAxis | None, list[str]]:
    """The axis that the whole run is drawn over, or None and why it is drawn over steps."""
    if axis == "step":
        return None, []
    try:
        return on_axis(timeline, axis, tokens_per_step=tokens_per_step), []
    except UsageError as err:
        return None, [f"drawn over steps: {err}"]


def _write_data(timeline: Timeline, file: Path) -> None:
    """The points of a run as CSV in long form; of a long run every k-th point of each metric."""
    every = max(1, -(-sum(map(len, timeline.series.values())) // _DATA_POINTS))
    thinned = {metric: thin(track, every) for metric, track in timeline.series.items()}
    frame = replace(timeline, series=thinned).frame()
    frame.to_csv(file, index=False, lineterminator="\n", errors="replace")


def _files(entry: Entry) -> tuple[str, ...]:
    drawn = [file for figure in entry.figures for file, _, _ in figure.files.values()]
    return (*drawn, _ENTRY, _DATA)


def _with_units(attempt: Attempt, units: Mapping[str, str]) -> Attempt:
    if not units.keys() & attempt.series.keys():
        return attempt
    series = {m: replace(s, unit=units.get(m, s.unit)) for m, s in attempt.series.items()}
    return replace(attempt, series=series)


def _title(run: RunFolder, config: RunConfig) -> str:
    return config.title or run.run_id


def _named(run: RunFolder) -> str:
    return ", ".join(map(shown, run.logs)) or str(run.folder)
