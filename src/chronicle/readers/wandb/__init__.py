"""Weights & Biases: the `.wandb` file of a run, online or offline, read without the package wandb.

Points come from history records, with what the run says of itself: configuration, git commit, host, GPUs,
how it ended. Console output is searched for faults of the machine. A run that was resumed has a folder for
each launch, all with the same id.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault
from chronicle.readers import tables
from chronicle.readers.text import head
from chronicle.readers.trackers import on_one_axis, without_summary
from chronicle.readers.wandb.facts import About, metadata_facts
from chronicle.readers.wandb.frames import MAGIC, Frames
from chronicle.readers.wandb.records import HISTORY, History, body

NAME = "wandb"
SUFFIXES = (".wandb",)

_FOLDER = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>[\w-]+)", re.ASCII)
_MAX_METADATA = 1 << 24  # bytes


def identify(path: Path) -> bool:
    """The file starts with W&B's seven bytes."""
    return head(path).startswith(MAGIC)


def read(path: Path) -> list[Attempt]:
    """One attempt, on the axis of an explicit optimizer step where one is logged, else of W&B's own.

    It is truncated where the last record is cut, or none says how the run ended: the run is live, or was
    killed before the client could write.

    Raises:
        BadLog: no history record holds a number.
    """
    frames, history, about = Frames(path.read_bytes()), History(), About()
    unreadable = 0
    for record in frames:
        try:
            kind, message = body(record)
            if kind == HISTORY:
                history.add(message)
            else:
                about.add(kind, message)
        except ValueError:
            unreadable += 1
    faults = [Fault(f"{path}@{at}", what) for at, what in frames.damage]
    if unreadable:
        faults.append(Fault(str(path), "record is no protobuf message; skipped", unreadable))
    if not history.n_rows:
        raise BadLog(str(path), "no metric was logged. Remedy: remove it, or wait until it is written to")
    facts = {**metadata_facts(_metadata(path)), **about.facts()}
    columns = {name: column for name, column in history.columns().items() if name != "_runtime"}
    attempt = tables.attempt(
        path,
        history.n_rows,
        on_one_axis(columns, "_step", about.step_metrics),
        facts=facts,
        faults=faults,
        truncated=frames.truncated or "ended" not in facts,
    )
    return [without_summary(attempt)]


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
