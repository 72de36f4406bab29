"""Labels: what people saw in a run, in the file label.toml or label.json of its folder."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from chronicle.classify.patterns import BY_ID, Trait, having
from chronicle.errors import ConfigError, NothingToRead
from chronicle.model import Verdict
from chronicle.workspace.config import from_table, nearest
from chronicle.workspace.folders import OUR_FILES

LABEL_FILES = ("label.toml", "label.json")
_OF_FOLDER = ("id", "files")  # fields that follow from its folder

STEP_LIKE, LOSS_IS_HEALTHY = having(Trait.STEP), having(Trait.LEARNS)


@dataclass(frozen=True)
class Event:
    """One thing to be found. Steps are those of the log; ``end_step`` None: not over when the log ends.
    ``also_ok`` are other names that are right for it; an ``optional`` event is real but debatable: finding or
    missing it changes nothing."""

    pattern: str
    start_step: float
    tolerance_steps: float
    peak_step: float | None = None
    end_step: float | None = None
    also_ok: tuple[str, ...] = ()
    series: str | None = None
    attempt: str | None = None
    optional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """All patterns that are a right name for the event."""
        return (self.pattern, *self.also_ok)

    @property
    def window(self) -> tuple[float, float]:
        """First and last step that belong to the event: an extra finding between them is no false alarm."""
        end = float("inf") if self.end_step is None else self.end_step
        ends = (self.start_step, self.peak_step or self.start_step, end)
        last = max(ends[:2] if self.pattern in STEP_LIKE else ends)
        return self.start_step - self.tolerance_steps, last + self.tolerance_steps


@dataclass(frozen=True)
class Label:
    """What is right for a run. ``required`` patterns must be found ("a|b": one of the two is enough),
    ``forbidden`` ones must not. ``main_series`` are the series that are judged; ``steps_healthy`` counts
    their finite logged points outside every event. ``files`` is how many logs the run has. ``seed_picture``
    names the published picture that a digitised curve was read from: a picture passes if all its curves
    do."""

    id: str
    verdict: Verdict
    verdict_also_ok: tuple[Verdict, ...] = ()
    required: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    main_series: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    steps_healthy: int = 0
    seed_picture: str | None = None
    files: int = 1

    @property
    def masking(self) -> tuple[Event, ...]:
        """Events inside whose windows the main series is not healthy."""
        judged = (None, *self.main_series)
        return tuple(e for e in self.events if e.pattern not in LOSS_IS_HEALTHY and e.series in judged)


def _label_file(folder: Path) -> Path | None:
    return next((folder / name for name in LABEL_FILES if (folder / name).is_file()), None)


def labelled(folder: Path) -> list[Path]:
    """The folders below ``folder`` that hold a label, by name. Raises NothingToRead: there are none."""
    folders = sorted(f for f in folder.iterdir() if f.is_dir() and _label_file(f)) if folder.is_dir() else []
    if not folders:
        remedy = "put a label.toml beside the logs in the folder of each run"
        raise NothingToRead(f"{folder}: no labelled runs", remedy=remedy)
    return folders


def load_label(folder: Path) -> Label:
    """The label in a run's folder.

    Raises:
        ConfigError: it cannot be read, lacks a verdict, or names a verdict or pattern that does not exist.
    """
    file = _label_file(folder)
    if file is None:
        raise NothingToRead(f"{folder}: no label.toml")
    name = f"{folder.name}/{file.name}"
    try:
        text = file.read_text("utf-8-sig")
        table = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as err:
        raise ConfigError(name, "", f"is not a label: {err}") from err
    if isinstance(table, dict):  # everything else in it is for people
        table = {spec.name: table.get(spec.name) for spec in fields(Label) if spec.name not in _OF_FOLDER}
    logs = (f for f in folder.rglob("*") if f.is_file() and f.name not in (*OUR_FILES, *LABEL_FILES))
    label = from_table(Label, table, name, id=folder.name, files=sum(1 for _ in logs))
    named = [("required", p) for entry in label.required for p in entry.split("|")]
    named += [("allowed", p) for p in label.allowed] + [("forbidden", p) for p in label.forbidden]
    named += [("events", p) for event in label.events for p in event.names]
    for key, pattern in named:
        if pattern not in BY_ID:
            hint = nearest(pattern, BY_ID, f"Remedy: use one of {', '.join(BY_ID)}")
            raise ConfigError(name, key, f"{pattern!r} is not a pattern. {hint}")
    return label
