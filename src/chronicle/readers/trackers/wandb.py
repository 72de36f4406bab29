"""Weights & Biases: the `.wandb` file of a run, online or offline, read without the package wandb. A resumed
run has a folder for each launch, all with the same id.

The file has LevelDB's log format (log_format.md), with CRC-32 (IEEE) where LevelDB has CRC-32C: a block has
32,768 bytes; a fragment has a checksum (4 bytes), a length (2), a type (1: whole, 2: first, 3: middle, 4:
last) and its bytes, and never crosses the end of a block. Records are protobuf messages, with the field
numbers of wandb_internal.proto. Clients put the name of a metric into `key`, since December 2024 into
`nested_key`, whose parts are joined with "." as W&B shows them.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from chronicle.errors import BadLog
from chronicle.metrics.values import short_node_list
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.columns import Table, as_float, number
from chronicle.readers.console.machine import MachineFaults
from chronicle.readers.events.tfrecord import BYTES, VARINT, decoded, fields, last_of, messages, signed, texts
from chronicle.readers.facts import config_facts, leaves
from chronicle.readers.step_axis import Column
from chronicle.readers.text import Head, json_or_none
from chronicle.readers.trackers import attempt_of_calls, only_file, read_launch

LONGEST = 1 << 12  # characters that are kept of a console line that has not ended yet

_FOLDER = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>[\w-]+)", re.ASCII)
_CLIENT_FOLDERS = frozenset(["files", "logs", "tmp"])  # made by the client in the folder of a launch
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DROPPED = re.compile(r"Tried to log to step \d+ that is less than the current step (\d+)")

# Fields of records by number, and the names of the facts that they hold.
_RUN = {1: "run", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 12: "sweep"}
_RUN |= {13: "host"}
_ENVIRONMENT = {2: "python", 6: "program", 12: "host", 18: "gpu_type", 25: "cuda"}
_ENDED = {0: "finished", 255: "killed"}  # every other exit code: crashed

MAGIC = b":W&B\xe1\xbe\x00"  # identifier, 0xBEE1, version 0
BLOCK, HEADER = 32768, 7  # bytes
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4

RECORD, REST = "a record is damaged; skipped", "damaged; skipped to the next block"
ZEROS = "only zeros; skipped to the next block with other bytes"

_NO_CONTENT = (16, 19, 200)  # fields of a Record that say how it was sent

_HEADER = struct.Struct("<IHB")
_VALUE_KEY = b"\x82\x01"  # of field 16, value_json


def identify(head: Head) -> bool:
    """Whether a file begins with W&B's seven bytes."""
    return head.start.startswith(MAGIC)


def read(path: Path) -> list[Attempt]:
    """One attempt, with an explicit optimizer step as its axis if one is logged, else W&B's own step. It is
    truncated if the last record is cut, or none says how the run ended. Raises BadLog without a number."""
    run = _Run(path)
    faults, is_cut = faults_of_records(path, run.add)
    return [run.attempt(faults, is_cut)]


def faults_of_records(path: Path, take: Callable[[bytes], None]) -> tuple[list[Fault], bool]:
    """Calls ``take`` with each record of a file in LevelDB's log format, of which it may make nothing
    (ValueError, struct.error); returns what is damaged, and whether the last record is cut."""
    unreadable = 0
    with path.open("rb") as file:
        frames = Frames(file)
        for record in frames:
            try:
                take(record)
            except (ValueError, struct.error):
                unreadable += 1
    faults = [Fault(Place(str(path), byte=at), problem) for at, problem in frames.damage]
    if unreadable:
        faults.append(Fault(Place(str(path)), "record is not a protobuf message; skipped", unreadable))
    return faults, frames.truncated


def identify_folder(path: Path) -> bool:
    """Whether a folder has one run file that is not empty."""
    return only_file(path, "*.wandb", identify) is not None


def read_folder(path: Path) -> list[Attempt]:
    """The attempt of the run file in a folder. Raises as `read`."""
    return read_launch(path, only_file(path, "*.wandb", identify), read)


def foreign(path: Path) -> list[Path]:
    """The entries in the folder of a launch that W&B's client did not make."""
    own = _CLIENT_FOLDERS | {file.name for file in path.glob("*.wandb")}
    return [entry for entry in sorted(path.iterdir()) if entry.name not in own]


def run_key(path: Path) -> str:
    """The id of the run of a launch's folder, or of the `.wandb` file in it; "" for other paths."""
    own, around = map(_FOLDER.fullmatch, (path.name, path.parent.name))
    launch = own or around  # most paths are asked no more
    if launch:
        launch = own if path.is_dir() else around
    return launch["id"] if launch else ""


class _Run:
    """A run file under construction, record by record."""

    def __init__(self, path: Path) -> None:
        self.path, self.history, self.console = path, History(), _Console(path)
        self.step_metrics = set[str]()  # declared as the x axis of other metrics
        self._facts: dict[str, Any] = {}
        self._config: dict[str, Any] = {}
        self._takers: dict[int, Callable[[bytes], object]] = {  # by the field of a Record
            2: self.history.add,
            4: self.console.output,
            5: lambda message: updates(message, self._config),
            10: self.console.alert,
            12: lambda message: self.step_metrics.update(texts(message, {4: "x"}).values()),
            13: self.console.output,
            17: self._run,
            18: self._exit,
            23: lambda _: self.console.report("marked as about to be preempted", "preemption"),
            26: self._environment,
        }

    def add(self, record: bytes) -> None:
        """Raises ValueError if the bytes are not a protobuf message."""
        contents = ((n, value) for n, kind, value in fields(record) if kind == BYTES and n not in _NO_CONTENT)
        kind, message = next(contents, (0, b""))
        if take := self._takers.get(kind):
            take(message)

    def attempt(self, faults: list[Fault], truncated: bool) -> Attempt:
        """The finished run. Raises BadLog if it logged nothing."""
        if not self.history.n_rows:
            remedy = "remove it, or wait until it is written to"
            raise BadLog(str(self.path), "no metric was logged", remedy=remedy)
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        faults = [*faults, *self.console.faults()]
        facts = {**self.console.machine.facts, **self._facts, **config_facts(config)}
        columns = {name: column for name, column in self.history.columns().items() if name != "_runtime"}
        is_cut = truncated or "ended" not in facts
        table = Table(self.path, self.history.n_rows, columns, facts, faults, is_cut)
        return attempt_of_calls(table, self.step_metrics)

    def _run(self, message: bytes) -> None:
        self._facts |= texts(message, _RUN)
        for config in messages(message, 4):
            updates(config, self._config)
        for started in messages(message, 17):
            self._facts["started_at"] = seconds_of(started)
        for git in messages(message, 21):
            self._facts |= texts(git, {1: "git_remote", 2: "git_commit"})
        if tags := messages(message, 10):
            self._facts["tags"] = ", ".join(tag.decode("utf-8", "replace") for tag in tags)
        if last_of(message, VARINT).get(18):
            self._facts["resumed"] = True

    def _environment(self, message: bytes) -> None:
        """Job and nodes come from Slurm's variables, which W&B stores in lower case and without `SLURM_`."""
        entries = [texts(entry, {1: "key", 2: "value"}) for entry in messages(message, 27)]
        slurm = {entry.get("key", ""): entry.get("value", "") for entry in entries}
        nodes = short_node_list(slurm.get("job_nodelist") or slurm.get("nodelist", ""))
        facts = {"job": slurm.get("job_id"), "nodes": nodes}
        self._facts |= texts(message, _ENVIRONMENT)
        self._facts |= {key: str(value) for key, value in facts.items() if value}
        if gpu_count := last_of(message, VARINT).get(19):
            self._facts["gpu_count"] = gpu_count

    def _exit(self, message: bytes) -> None:
        code = signed(last_of(message, VARINT).get(1, 0))
        self._facts |= {"exit_code": code, "ended": _ENDED.get(code, "crashed")}


class _Console:
    """The faults that a run reports: in console output, in alerts, and in notices of preemption."""

    def __init__(self, path: Path) -> None:
        self.path, self.machine = path, MachineFaults(path)
        self._unfinished_lines: dict[int, str] = {}  # by stream
        self._reported: list[Fault] = []
        self._dropped, self._below = 0, ""
        self._number, self._time = 0, math.nan

    def output(self, message: bytes) -> None:
        """Adds a piece of console output. Raises ValueError if the bytes are not a protobuf message."""
        parts, stream = last_of(message, BYTES), last_of(message, VARINT).get(1, 0)
        self._time = seconds_of(parts[2]) if 2 in parts else self._time
        text = self._unfinished_lines.get(stream, "") + parts.get(3, b"").decode("utf-8", "replace")
        # A progress bar redraws its line after "\r"; old clients write lines in pieces.
        *lines, rest = text.replace("\r", "\n").split("\n")
        self._unfinished_lines[stream] = rest[-LONGEST:]
        for line in filter(None, lines):
            self._look(line)

    def alert(self, message: bytes) -> None:
        parts = texts(message, {1: "title", 2: "text", 3: "level"})
        alert = f"alert ({parts.get('level', '').lower()}): {parts.get('title', '')}: {parts.get('text', '')}"
        self.report(alert[:500], "alert")

    def report(self, what: str, kind: str) -> None:
        self._reported.append(Fault(Place(str(self.path)), what, at_time=self._time, kind=kind))

    def faults(self) -> list[Fault]:
        for line in filter(None, self._unfinished_lines.values()):
            self._look(line)
        self._unfinished_lines.clear()
        faults = [*self.machine.faults(self._time), *self._reported]
        if self._dropped:
            problem = f"W&B dropped rows that were logged below the step it was at, {self._below}"
            faults.append(Fault(Place(str(self.path)), problem, self._dropped))
        return faults

    def _look(self, line: str) -> None:
        line = _ESCAPES.sub("", line)
        self._number += 1
        if dropped := _DROPPED.search(line):
            self._dropped, self._below = self._dropped + 1, dropped[1]
        elif self.machine.worth_a_look(line.encode("utf-8", "replace")):
            self.machine.look(self._number, line, time=self._time)


@dataclass
class Frames:
    """Iterates over the payloads of all complete records of a file that starts with MAGIC. ``damage`` lists
    (byte, problem) of what was skipped; ``truncated`` says whether the last record is cut. A damaged record
    is skipped, with the rest of its block if the next record cannot be found."""

    file: BinaryIO
    damage: list[tuple[int, str]] = field(default_factory=list)
    truncated: bool = False

    def __iter__(self) -> Iterator[bytes]:
        parts = list[bytes]()  # of a record that was begun
        for kind, data in self._fragments():
            if kind in (WHOLE, FIRST):
                parts = [data]
            elif parts:
                parts.append(data)
            if kind in (WHOLE, LAST) and parts:
                yield b"".join(parts)
            parts = parts if kind in (FIRST, MIDDLE) else []
        self.truncated |= bool(parts)

    def _fragments(self) -> Iterator[tuple[int, bytes]]:
        """(type, bytes) of each fragment; (0, b"") for one that was skipped."""
        start, zeros = 0, -1
        while block := self.file.read(BLOCK):
            at = 0 if start else len(MAGIC)
            if zeros >= 0 and any(block):
                self.damage.append((zeros, ZEROS))
                zeros = -1
            while at + HEADER <= len(block):
                end, kind = _fragment(block, at)
                if kind:
                    yield kind, block[at + HEADER : end]
                elif not any(block[at:]):
                    zeros = start + at if zeros < 0 else zeros
                    end = len(block)
                elif len(block) < end <= BLOCK and len(block) < BLOCK:
                    self.truncated = True
                    return
                else:
                    goes_on = _fragment(block, end)[1] > 0
                    self.damage.append((start + at, RECORD if goes_on else REST))
                    yield 0, b""
                    end = end if goes_on else len(block)
                at = end
            self.truncated |= at < len(block) < BLOCK
            start += len(block)
        self.truncated |= zeros >= 0


def _fragment(block: bytes, at: int) -> tuple[int, int]:
    """End and type of the fragment at a place of a block; type 0 if it is damaged or cut."""
    if at + HEADER > len(block):
        return at + HEADER, 0
    check, length, kind = _HEADER.unpack_from(block, at)
    end = at + HEADER + length
    right = WHOLE <= kind <= LAST and end <= len(block) and zlib.crc32(block[at + 6 : end]) == check
    return end, kind if right else 0


class History:
    """Columns under construction, with one row for each history record."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._cells = defaultdict[str, tuple["array[int]", "array[float]"]](lambda: (array("q"), array("d")))
        self._names: dict[bytes, str] = {}  # by the bytes of an item before its value
        self._steps = array("q")

    def add(self, message: bytes) -> None:
        """Appends a row. Raises ValueError if the bytes are not a protobuf message."""
        items, step = list[tuple[str, bytes]](), 0
        for n, kind, value in fields(message):
            if n == 1 and kind == BYTES:
                items.append(self._named(value))
            elif n == 2 and kind == BYTES:
                step = signed(last_of(value, VARINT).get(1, 0))
        # an image, a video or a histogram is no metric: newer clients log its width and its size one by one
        media = {name.removesuffix("._type") for name, _ in items if name.endswith("._type")}
        for name, text in items:
            if media and name.rpartition(".")[0] in media:
                continue
            if name == "_step" and text.lstrip(b"-").isdigit() and len(text) < 20:
                step = int(text)
            else:
                self._keep(name, text)
        self._steps.append(max(-(1 << 63), min(step, (1 << 63) - 1)))
        self.n_rows += 1

    def columns(self) -> dict[str, Column]:
        counter = {"_step": Column(np.array(self._steps), np.arange(self.n_rows))} if self.n_rows else {}
        columns = ((name, np.array(values), np.array(rows)) for name, (rows, values) in self._cells.items())
        return counter | {name: Column(values, rows) for name, values, rows in columns}

    def _named(self, item: bytes) -> tuple[str, bytes]:
        """Like `named`, but faster for values of less than 128 bytes, which nearly all are: the names before
        them are remembered."""
        before, _, rest = item.partition(_VALUE_KEY)
        text = rest[1:]
        is_short = len(text) > 0 and rest[0] == len(text)
        if is_short and (known := self._names.get(before)):
            return known, text
        name, parsed = named(item)
        if is_short and parsed == text:
            self._names[before] = name
        return name, parsed

    def _keep(self, name: str, text: bytes) -> None:
        try:
            self._put(name, float(text))
        except ValueError:
            for path, value in leaves(name, json_or_none(text), "."):
                self._put(path, number(value) if isinstance(value, str) else as_float(value))

    def _put(self, name: str, value: float | None) -> None:
        if value is not None:
            rows, values = self._cells[name]
            rows.append(self.n_rows)
            values.append(value)


def named(item: bytes) -> tuple[str, bytes]:
    """(name, JSON) of a HistoryItem, ConfigItem, SummaryItem or StatsItem."""
    name = b".".join(messages(item, 2) or messages(item, 1)[-1:])
    return decoded(name), last_of(item, BYTES).get(16, b"")


def seconds_of(timestamp: bytes) -> float:
    """Unix seconds of a protobuf Timestamp."""
    parts = last_of(timestamp, VARINT)
    return float(signed(parts.get(1, 0)) + signed(parts.get(2, 0)) / 1e9)


def updates(message: bytes, into: dict[str, Any]) -> None:
    """Applies a ConfigRecord or SummaryRecord to a mapping of plain values."""
    for n, kind, value in fields(message):
        if (n, kind) == (1, BYTES):
            name, text = named(value)
            into[name] = json_or_none(text)
        elif (n, kind) == (2, BYTES):
            into.pop(named(value)[0], None)
