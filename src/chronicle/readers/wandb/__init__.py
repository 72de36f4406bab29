"""Weights & Biases: the `.wandb` file of a run, online or offline, read without the package wandb.

Points come from history records, with what the run says of itself: configuration, git commit, host, GPUs,
how it ended. Console output is searched for faults of the machine. A run that was resumed has a folder for
each launch, all with the same id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.columns import attempt_of
from chronicle.readers.find import NOT_LOGS, scan
from chronicle.readers.text import Head
from chronicle.readers.trackers import on_one_axis, without_summary
from chronicle.readers.wandb import records
from chronicle.readers.wandb.console import Console
from chronicle.readers.wandb.facts import ABOUT, About, metadata_facts
from chronicle.readers.wandb.frames import MAGIC, Frames
from chronicle.readers.wandb.records import History, body

NAME = "wandb"
SUFFIXES = (".wandb",)

_FOLDER = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>[\w-]+)", re.ASCII)
_CLIENTS = frozenset(["files", "logs", "tmp"])  # what the client keeps in the folder of a launch
_MAX_METADATA = 1 << 24  # bytes


def identify(head: Head) -> bool:
    """The file starts with W&B's seven bytes."""
    return head.start.startswith(MAGIC)


def read(path: Path) -> list[Attempt]:
    """One attempt, on the axis of an explicit optimizer step where one is logged, else of W&B's own.

    It is truncated where the last record is cut, or none says how the run ended: the run is live, or was
    killed before the client could write.

    Raises:
        BadLog: no history record holds a number.
    """
    run, unreadable = _Run(path), 0
    with path.open("rb") as file:
        frames = Frames(file)
        for record in frames:
            try:
                run.add(*body(record))
            except ValueError:
                unreadable += 1
    faults = [Fault(Place(str(path), byte=at), what) for at, what in frames.damage]
    if unreadable:
        faults.append(Fault(Place(str(path)), "record is no protobuf message; skipped", unreadable))
    return [run.attempt(faults, frames.truncated)]


class _Run:
    """A run file under construction, record by record."""

    def __init__(self, path: Path) -> None:
        self.path, self.history, self.about, self.console = path, History(), About(), Console(path)
        self._takers: dict[int, Callable[[bytes], object]] = {
            records.HISTORY: self.history.add,
            records.OUTPUT_RAW: self.console.output,
            records.OUTPUT: self.console.output,
            records.ALERT: self.console.alert,
            records.PREEMPTING: self.console.preempting,
            **{kind: partial(self.about.add, kind) for kind in ABOUT},
        }

    def add(self, kind: int, message: bytes) -> None:
        """Takes a record. Raises ValueError where its bytes are no protobuf message."""
        take = self._takers.get(kind)
        if take is not None:
            take(message)

    def attempt(self, faults: list[Fault], truncated: bool) -> Attempt:
        """The finished run. Raises BadLog where it logged nothing."""
        if not self.history.n_rows:
            what = "no metric was logged. Remedy: remove it, or wait until it is written to"
            raise BadLog(str(self.path), what)
        told = [*faults, *self.console.listed()]
        facts = {**metadata_facts(_metadata(self.path)), **self.console.machine.facts, **self.about.facts()}
        columns = {name: column for name, column in self.history.columns().items() if name != "_runtime"}
        attempt = attempt_of(
            self.path,
            self.history.n_rows,
            on_one_axis(columns, "_step", self.about.step_metrics),
            facts=facts,
            faults=told,
            truncated=truncated or "ended" not in facts,
        )
        return without_summary(attempt)


def identify_folder(path: Path) -> bool:
    """A folder with one run file that something was written to; with other logs only one named a launch."""
    file = _run_file(path)
    return file is not None and (bool(run_key(path)) or not any(_others(file)))


def read_folder(path: Path) -> list[Attempt]:
    """The attempt of the run file in a folder; other logs there are told as faults. Raises as `read`."""
    file = _run_file(path)
    if file is None:
        raise BadLog(str(path), "holds no run file of W&B. Remedy: name another folder")
    what = "is not read, as it lies in the folder of a launch. Remedy: move it beside that folder"
    unread = tuple(Fault(Place(str(other)), what) for other in _others(file))
    return [replace(one, name=path.name, faults=(*one.faults, *unread)) for one in read(file)]


def _others(run_file: Path) -> Iterator[Path]:
    """The logs in the folder of a run file that W&B's client did not put there."""
    from chronicle.readers.find import is_log  # which asks this reader too

    for entry in sorted(run_file.parent.iterdir()):
        if entry.name in NOT_LOGS | _CLIENTS | {run_file.name} or entry.name.startswith("."):
            continue
        yield from scan(entry, is_log).all_logs() if entry.is_dir() else filter(is_log, [entry])


def _run_file(folder: Path) -> Path | None:
    """The one run file of a folder; None where there is none, several, or one that nothing was written to."""
    try:
        files = sorted(folder.glob("*.wandb"))
        return files[0] if len(files) == 1 and files[0].is_file() and identify(Head.of(files[0])) else None
    except OSError:
        return None


def run_key(path: Path) -> str:
    """The id of the run whose launch the folder (or the `.wandb` file in it) holds; "" for any other."""
    folder = path if path.is_dir() else path.parent
    found = _FOLDER.fullmatch(folder.name)
    return found["id"] if found else ""


def _metadata(path: Path) -> dict[str, Any]:
    """`files/wandb-metadata.json` beside the run file; {} without one."""
    file = path.parent / "files" / "wandb-metadata.json"
    try:
        if not file.is_file() or file.stat().st_size > _MAX_METADATA:
            return {}
        found = json.loads(file.read_text("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
