"""What is found in an event file, which comes in pieces: columns, texts, and what is damaged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.event_frames import HEADER, Damage, Frames
from chronicle.readers.event_scalars import Found
from chronicle.readers.event_wire import Text
from chronicle.readers.growing import Growing

MOST_AHEAD = 128  # times the points of a part: room that is taken for the rest of its file
Column = tuple[Steps, Floats, Floats]  # steps, values and times of a tag, or of a part of it


@dataclass
class Log:
    """What was found in one file so far; tags stand in the order in which they first come."""

    path: Path
    size: int = 0  # bytes of a large file
    columns: dict[str, Column] = field(default_factory=dict)
    growing: dict[str, list[Growing]] = field(default_factory=dict)  # columns of a large file
    texts: dict[str, Text] = field(default_factory=dict)
    damage: Damage = field(default_factory=list)
    truncated: bool = False
    problem: OSError | None = None
    is_other: bool = False  # no event file, by how it begins

    def add(self, tag: str, part: Column, piece: Piece) -> None:
        """Adds the points of a tag in a piece."""
        if piece.is_whole:
            self.columns[tag] = part
            return
        growing = self.growing.get(tag)
        if growing is None:
            growing = self.growing[tag] = [Growing(piece.expected(len(part[0]))) for _ in part]
        for whole, more in zip(growing, part, strict=True):
            whole.extend(more)

    def finish(self) -> None:
        """Makes columns of those that grew; tags that follow each other at the same steps share them."""
        before = np.empty(0, np.int64)
        for tag, (steps, values, times) in self.growing.items():
            before = before if np.array_equal(before, steps.values) else steps.values
            self.columns[tag] = before, values.values, times.values
        self.growing.clear()

    def note(self, piece: Piece, wrong: list[int], found: Found) -> None:
        """Adds what is damaged in a piece, places counted from the begin of the file, and its texts."""
        shift = piece.base - piece.low
        self.damage += [(at + shift, what) for at, what in piece.frames.damage]
        for places, what in ((wrong, "checksum of a record is wrong"), (found.broken, "record is no event")):
            self.damage += [(at - HEADER + shift, f"{what}; skipped") for at in places[piece.within(places)]]
        self.truncated |= piece.frames.truncated
        texts = found.texts[piece.within(found.texts, key=itemgetter(0))]
        self.texts |= {text.tag: text for _, text in texts}


def _none() -> Frames:
    return Frames(np.empty(0, np.int64), np.empty(0, np.int64), [], False, 0)


@dataclass
class Piece:
    """A file or a part of one: where it stands in its batch and in its file, and its frames."""

    log: Log
    low: int
    high: int
    base: int = 0
    frames: Frames = field(default_factory=_none)
    is_last: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole file."""
        return self.is_last and not self.base

    def expected(self, n_points: int) -> int:
        """How many points the rest of the file, from here on, holds if it goes on with so many as here."""
        n_times = (self.log.size - self.base) / (self.high - self.low)
        return int(1.05 * n_points * min(n_times, MOST_AHEAD))

    def within(self, places: list[Any], key: Callable[[Any], int] | None = None) -> slice:
        """Which of the places in the batch, in their order, stand in this piece."""
        return slice(bisect_left(places, self.low, key=key), bisect_left(places, self.high, key=key))
