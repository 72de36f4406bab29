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

import numpy as np

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault
from chronicle.readers import tables
from chronicle.readers.tables import Column
from chronicle.readers.text import head
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
    columns, summary = without_summary(history.columns())
    facts = {**metadata_facts(_metadata(path)), **about.facts(), **({"summary": summary} if summary else {})}
    return [
        tables.attempt(
            path,
            history.n_rows,
            on_one_axis(columns, about.step_metrics),
            facts=facts,
            faults=faults,
            truncated=frames.truncated or "ended" not in facts,
        )
    ]


def run_key(path: Path) -> str:
    """The id of the run whose launch the folder (or the `.wandb` file in it) holds; "" for any other."""
    folder = path if path.is_dir() else path.parent
    found = _FOLDER.fullmatch(folder.name)
    return found["id"] if found else ""


def on_one_axis(columns: dict[str, Column], declared: set[str]) -> dict[str, Column]:
    """The columns with one that counts steps: what was declared as step metric or is named like an
    optimizer step, if it grows and is there in half of the rows; W&B's own counter only where none is.

    W&B counts calls of `log`: one for each micro-batch, evaluation or logged line, whatever the trainer does.
    """
    own = columns.get("_step")
    if own is None:
        return columns
    counted = len(tables.STEP_NAMES)
    ranks = {name: tables.step_rank(name) for name in columns if name not in ("_step", "_runtime")}
    found = [
        (name not in declared, rank if rank is not None else -1, name)
        for name, rank in ranks.items()
        if (rank is not None and tables.STEP_NAMES[rank % counted][1] == "step")
        or (name in declared and rank is None)
    ]
    for _, _, name in sorted(found):
        if 2 * len(columns[name].rows) >= len(own.rows) and _grows(columns[name].values):
            kept = {key: column for key, column in columns.items() if key not in ("_step", "_runtime", name)}
            return {"global_step": columns[name], **kept}
    return {key: column for key, column in columns.items() if key != "_runtime"}


def without_summary(columns: dict[str, Column]) -> tuple[dict[str, Column], dict[str, float]]:
    """The columns without what is only in rows that sum a training up (`train_runtime`), and that.

    The Trainer logs its mean loss there, under a name that looks like the loss of a step.
    """
    closing = [column.rows for name, column in columns.items() if name.endswith("train_runtime")]
    if not closing:
        return columns, {}
    summed = {name for name, column in columns.items() if np.isin(column.rows, closing[0]).all()}
    return (
        {name: column for name, column in columns.items() if name not in summed},
        {name: float(columns[name].values[-1]) for name in columns if name in summed},
    )


def _grows(values: Any) -> bool:
    finite = values[np.isfinite(values)]
    whole = bool(len(finite)) and bool(np.all(finite == np.floor(finite)))
    return whole and (len(values) == 1 or float(np.ptp(finite)) > 0)


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
