"""What a W&B run tells of faults: its console output, line by line, alerts, and a notice of preemption."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from chronicle.model import Fault, Place
from chronicle.readers.console.machine import Faults
from chronicle.readers.event_wire import BYTES, VARINT, fields
from chronicle.readers.wandb.records import seconds, texts

LONGEST = 1 << 12  # characters of a line without an end that are kept

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DROPPED = re.compile(r"Tried to log to step \d+ that is less than the current step (\d+)")


class Console:
    """Gathers faults record by record; `listed` gives them with the facts that console lines state."""

    def __init__(self, path: Path) -> None:
        self.path, self.machine = path, Faults(path)
        self._open: dict[int, str] = {}  # stream -> a line whose end is still to come
        self._told: list[Fault] = []
        self._dropped, self._below = 0, ""
        self._number, self._time = 0, math.nan

    def output(self, message: bytes) -> None:
        """Takes a piece of console output. Raises ValueError where the bytes are no protobuf message."""
        stream, text = 0, b""
        for field, kind, value in fields(message):
            if (field, kind) == (1, VARINT):
                stream = value
            elif (field, kind) == (2, BYTES):
                self._time = seconds(value)
            elif (field, kind) == (3, BYTES):
                text = value
        for line in self._lines(stream, text.decode("utf-8", "replace")):
            self._look(line)

    def alert(self, message: bytes) -> None:
        """Takes an alert that the training sent (`wandb.alert`)."""
        said = texts(message, {1: "title", 2: "text", 3: "level"})
        what = f"alert ({said.get('level', '').lower()}): {said.get('title', '')}: {said.get('text', '')}"
        self._told.append(Fault(Place(str(self.path)), what[:500], at_time=self._time, kind="alert"))

    def preempting(self, _: bytes) -> None:
        """Takes the notice that the machine is about to be taken away (`wandb.mark_preempting`)."""
        what = "marked as about to be preempted"
        self._told.append(Fault(Place(str(self.path)), what, at_time=self._time, kind="preemption"))

    def listed(self) -> list[Fault]:
        """All faults; those of the machine first."""
        for line in self._open.values():
            self._look(line)
        self._open.clear()
        faults = [*self.machine.listed(self._time), *self._told]
        if self._dropped:
            what = f"W&B dropped rows that were logged below the step it was at, {self._below}"
            faults.append(Fault(Place(str(self.path)), what, self._dropped))
        return faults

    def _lines(self, stream: int, text: str) -> Iterator[str]:
        """Whole lines: of a progress bar that redraws itself, and of pieces in which old clients wrote."""
        whole = f"{self._open.pop(stream, '')}{text}".replace("\r", "\n")
        *lines, rest = whole.split("\n")
        if rest:
            self._open[stream] = rest[-LONGEST:]
        for line in lines:
            if line:
                yield _ESCAPES.sub("", line)

    def _look(self, line: str) -> None:
        self._number += 1
        dropped = _DROPPED.search(line) if "Tried to log to step" in line else None
        if dropped:
            self._dropped, self._below = self._dropped + 1, dropped[1]
        elif self.machine.worth_a_look(line.encode("utf-8", "replace")):
            self.machine.look(self._number, line, time=self._time)
