"""Weights & Biases: the `.wandb` file of a run, online or offline, read without the package wandb.

Points come from history records, with what the run says of itself: configuration, git commit, host, GPUs,
how it ended. Console output is searched for faults of the machine. A run that was resumed has a folder for
each launch, all with the same id.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.metrics.values import canonical
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.console.machine import Faults
from chronicle.readers.events.tfrecord import BYTES, VARINT, fields, messages, numbers, texts
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.text import Head
from chronicle.readers.trackers import attempt_of_calls, only_file, read_launch
from chronicle.readers.trackers import wandb_records as records
from chronicle.readers.trackers.wandb_records import MAGIC, Frames, History, body, seconds_of, updates

LONGEST = 1 << 12  # characters of a line without an end that are kept

_FOLDER = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>[\w-]+)", re.ASCII)
_CLIENTS = frozenset(["files", "logs", "tmp"])  # what the client keeps in the folder of a launch
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DROPPED = re.compile(r"Tried to log to step \d+ that is less than the current step (\d+)")

# Fields of records by number, and the facts that they are.
_RUN = {1: "run", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 12: "sweep"}
_RUN |= {13: "host"}
_ENVIRONMENT = {2: "python", 6: "program", 12: "host", 18: "gpu_type", 25: "cuda"}
_ENDED = {0: "finished", 255: "killed"}  # every other exit code: crashed


def identify(head: Head) -> bool:
    """The file starts with W&B's seven bytes."""
    return head.start.startswith(MAGIC)


def read(path: Path) -> list[Attempt]:
    """One attempt, on the axis of an explicit optimizer step where one is logged, else of W&B's own.

    It is truncated where the last record is cut, or none says how the run ended: the run is live, or was
    killed before the client could write. Raises BadLog where no history record holds a number.
    """
    run, unreadable = _Run(path), 0
    with path.open("rb") as file:
        frames = Frames(file)
        for record in frames:
            try:
                run.add(*body(record))
            except ValueError:
                unreadable += 1
    faults = [Fault(Place(str(path), byte=at), problem) for at, problem in frames.damage]
    if unreadable:
        faults.append(Fault(Place(str(path)), "record is no protobuf message; skipped", unreadable))
    return [run.attempt(faults, frames.truncated)]


def identify_folder(path: Path) -> bool:
    """A folder with one run file that something was written to."""
    return only_file(path, "*.wandb", identify) is not None


def read_folder(path: Path) -> list[Attempt]:
    """The attempt of the run file in a folder. Raises as `read`."""
    return read_launch(path, only_file(path, "*.wandb", identify), read)


def foreign(path: Path) -> list[Path]:
    """What lies in the folder of a launch and was not put there by W&B's client."""
    own = _CLIENTS | {file.name for file in path.glob("*.wandb")}
    return [entry for entry in sorted(path.iterdir()) if entry.name not in own]


def run_key(path: Path) -> str:
    """The id of the run whose launch the folder (or the `.wandb` file in it) holds; "" for any other."""
    folder = path if path.is_dir() else path.parent
    launch = _FOLDER.fullmatch(folder.name)
    return launch["id"] if launch else ""


class _Run:
    """A run file under construction, record by record."""

    def __init__(self, path: Path) -> None:
        self.path, self.history, self.console = path, History(), _Console(path)
        self.step_metrics = set[str]()  # declared as x axis of others
        self._facts: dict[str, Any] = {}
        self._config: dict[str, Any] = {}
        self._takers: dict[int, Callable[[bytes], object]] = {
            records.HISTORY: self.history.add,
            records.OUTPUT_RAW: self.console.output,
            records.OUTPUT: self.console.output,
            records.ALERT: self.console.alert,
            records.PREEMPTING: self.console.preempting,
            records.RUN: self._run,
            records.CONFIG: lambda message: updates(message, self._config),
            records.METRIC: lambda message: self.step_metrics.update(texts(message, {4: "x"}).values()),
            records.ENVIRONMENT: self._environment,
            records.EXIT: self._exit,
        }

    def add(self, kind: int, message: bytes) -> None:
        if take := self._takers.get(kind):
            take(message)

    def attempt(self, faults: list[Fault], truncated: bool) -> Attempt:
        """The finished run. Raises BadLog where it logged nothing."""
        if not self.history.n_rows:
            problem = "no metric was logged. Remedy: remove it, or wait until it is written to"
            raise BadLog(str(self.path), problem)
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        faults = [*faults, *self.console.listed()]
        facts = {**self.console.machine.facts, **self._facts, **config_facts(config)}
        columns = {name: column for name, column in self.history.columns().items() if name != "_runtime"}
        known: dict[str, Any] = {"faults": faults, "truncated": truncated or "ended" not in facts}
        of_run = self.path, self.history.n_rows, columns
        return attempt_of_calls(*of_run, "_step", facts=facts, declared=self.step_metrics, **known)

    def _run(self, message: bytes) -> None:
        facts: dict[str, Any] = texts(message, _RUN)
        for config in messages(message, 4):
            updates(config, self._config)
        for started in messages(message, 17):
            facts["started_at"] = seconds_of(started)
        for git in messages(message, 21):
            facts |= texts(git, {1: "git_remote", 2: "git_commit"})
        tags = [tag.decode("utf-8", "replace") for tag in messages(message, 10)]
        if tags:
            facts["tags"] = ", ".join(tags)
        if numbers(message, {18: "resumed"}).get("resumed"):
            facts["resumed"] = True
        self._facts |= facts

    def _environment(self, message: bytes) -> None:
        """Job and nodes are in Slurm's environment as W&B keeps it: names in lower case, without `SLURM_`."""
        entries = [texts(entry, {1: "key", 2: "value"}) for entry in messages(message, 27)]
        slurm = {entry.get("key", ""): entry.get("value", "") for entry in entries}
        nodes = canonical(slurm.get("job_nodelist") or slurm.get("nodelist", ""))
        facts = {"job": slurm.get("job_id"), "nodes": nodes}
        self._facts |= texts(message, _ENVIRONMENT) | numbers(message, {19: "gpu_count"})
        self._facts |= {key: str(value) for key, value in facts.items() if value}

    def _exit(self, message: bytes) -> None:
        code = numbers(message, {1: "exit_code"}).get("exit_code", 0)
        self._facts |= {"exit_code": code, "ended": _ENDED.get(code, "crashed")}


class _Console:
    """What a run tells of faults, record by record: console output by lines, alerts, a notice of preemption.
    `listed` gives the faults with the facts that console lines state."""

    def __init__(self, path: Path) -> None:
        self.path, self.machine = path, Faults(path)
        self._open: dict[int, str] = {}  # stream -> a line whose end is still to come
        self._reported: list[Fault] = []
        self._dropped, self._below = 0, ""
        self._number, self._time = 0, math.nan

    def output(self, message: bytes) -> None:
        """Takes a piece of console output. Raises ValueError where the bytes are no protobuf message."""
        stream, text = 0, b""
        for number, kind, value in fields(message):
            if (number, kind) == (1, VARINT):
                stream = value
            elif (number, kind) == (2, BYTES):
                self._time = seconds_of(value)
            elif (number, kind) == (3, BYTES):
                text = value
        for line in self._lines(stream, text.decode("utf-8", "replace")):
            self._look(line)

    def alert(self, message: bytes) -> None:
        parts = texts(message, {1: "title", 2: "text", 3: "level"})
        alert = f"alert ({parts.get('level', '').lower()}): {parts.get('title', '')}: {parts.get('text', '')}"
        self._report(alert[:500], "alert")

    def preempting(self, _: bytes) -> None:
        self._report("marked as about to be preempted", "preemption")

    def _report(self, what: str, kind: str) -> None:
        self._reported.append(Fault(Place(str(self.path)), what, at_time=self._time, kind=kind))

    def listed(self) -> list[Fault]:
        for line in self._open.values():
            self._look(line)
        self._open.clear()
        faults = [*self.machine.listed(self._time), *self._reported]
        if self._dropped:
            problem = f"W&B dropped rows that were logged below the step it was at, {self._below}"
            faults.append(Fault(Place(str(self.path)), problem, self._dropped))
        return faults

    def _lines(self, stream: int, text: str) -> Iterator[str]:
        """Whole lines: of a progress bar that redraws itself, and of pieces in which old clients wrote."""
        whole = f"{self._open.pop(stream, '')}{text}".replace("\r", "\n")
        *lines, rest = whole.split("\n")
        if rest:
            self._open[stream] = rest[-LONGEST:]
        yield from (_ESCAPES.sub("", line) for line in lines if line)

    def _look(self, line: str) -> None:
        self._number += 1
        dropped = _DROPPED.search(line) if "Tried to log to step" in line else None
        if dropped:
            self._dropped, self._below = self._dropped + 1, dropped[1]
        elif self.machine.worth_a_look(line.encode("utf-8", "replace")):
            self.machine.look(self._number, line, time=self._time)
