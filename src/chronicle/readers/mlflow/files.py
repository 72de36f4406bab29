"""A run in MLflow's file store: meta.yaml, and a file for each metric, parameter and tag.

A line of a metric is `milliseconds value step`. A name with slashes is a path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from chronicle.model import Attempt, Fault, Place
from chronicle.readers.mlflow.run import Run, about
from chronicle.readers.text import Lines, clean, head_lines

MAX_FILES = 10_000  # metrics, parameters or tags of one run
MAX_TEXT = 1000


def is_run(folder: Path) -> bool:
    """Whether the folder is a run: its meta.yaml names one, and it has metrics."""
    return (folder / "metrics").is_dir() and bool(meta(folder).keys() & {"run_id", "run_uuid"})


def meta(folder: Path) -> dict[str, str]:
    """The lines `key: value` of meta.yaml, without quotes; {} without the file."""
    try:
        lines = head_lines(folder / "meta.yaml")
    except OSError:
        return {}
    pairs = (line.partition(": ") for line in lines)
    return {key: clean(value.strip().strip("'\"")) for key, _, value in pairs if value}


def run_of(folder: Path) -> Attempt:
    """The run as an attempt; one whose series is empty where it logged nothing."""
    said = meta(folder)
    tags = dict(_texts(folder / "tags"))
    facts = {"run": said.get("run_id") or said.get("run_uuid", ""), **about(_row(said), tags)}
    run = Run(facts, params=dict(_texts(folder / "params")))
    faults, truncated = list[Fault](), False
    for name, file in _named(folder / "metrics"):
        truncated |= _read_metric(run, name, file, faults)
    return run.attempt(folder, folder.name, faults, truncated)


def _row(said: dict[str, str]) -> dict[str, str]:
    return {**said, "name": said.get("run_name", "")}


def _read_metric(run: Run, name: str, file: Path, faults: list[Fault]) -> bool:
    """Takes all whole lines; whether the last one is cut."""
    lines = Lines(file)
    try:
        for line in lines:
            cells = line.split()
            if lines.unfinished:
                return True
            if len(cells) >= 3:
                run.point(name, cells[2], cells[1], cells[0])
            elif cells:
                run.broken += 1
    except OSError as err:
        faults.append(Fault(Place(str(file)), f"cannot be read ({err.strerror})"))
    return False


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for name, file in _named(folder):
        try:
            with file.open(encoding="utf-8", errors="replace") as text:
                yield name, clean(text.read(MAX_TEXT))
        except OSError:
            continue


def _named(folder: Path) -> Iterator[tuple[str, Path]]:
    """(name, file) of all regular files below, in natural order of their paths; links are not followed."""
    n_files = 0
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            n_files += 1
            if n_files > MAX_FILES:
                return
            if not path.is_symlink() and path.is_file():
                yield clean(path.relative_to(folder).as_posix()), path
