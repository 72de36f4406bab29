"""What chronicle understood of a log, line by line where it is console text, and what it did not.

`examine` reads the log as every command does, and looks over the reader's shoulder.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.cli.doctor.shapes import Kind, kinds_of, unread_kinds
from chronicle.errors import LogError
from chronicle.model import Attempt, Fault, Role
from chronicle.readers import read_all
from chronicle.readers.catalogue import all_readers
from chronicle.readers.console.log import Log, watched
from chronicle.readers.find import claims
from chronicle.readers.packed import unpacked
from chronicle.readers.text import encoding_of, head

_OF_TRAINING = {Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS, Role.SCORE, Role.VALIDATION_SCORE}
_OF_TRAINING |= {Role.GRAD_NORM, Role.LEARNING_RATE}


@dataclass(frozen=True)
class Metric:
    """One metric of an attempt, with its role and unit, and how many points it has from where to where."""

    metric: str
    role: str
    unit: str | None
    points: int
    first_step: int
    last_step: int
    first: float
    last: float


@dataclass(frozen=True)
class Read:
    """One attempt as it was read."""

    name: str
    axis: str
    truncated: bool
    n_facts: int
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Report:
    """All that can be said of one log. ``lines`` counts the lines of console text by what they were taken
    for.

    ``problem`` says why nothing was read. ``doubts`` say what makes it doubtful that this is the log of a
    training. ``kinds`` are the kinds of lines, the most frequent first.
    """

    path: str
    n_bytes: int
    encoding: str
    line_ends: str
    format: str
    claimed_by: tuple[str, ...]
    n_readers: int
    problem: str
    doubts: tuple[str, ...]
    lines: dict[str, int]
    kinds: tuple[Kind, ...]
    attempts: tuple[Read, ...]
    faults: tuple[Fault, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values; NaN as null."""
        return {
            **{name: value for name, value in asdict(self).items() if name != "faults"},
            "faults": [
                {"where": f.where, "what": f.what, "kind": f.kind, "count": f.count, "step": f.at_step}
                for f in self.faults
            ],
        } | {"attempts": [_plain(asdict(attempt)) for attempt in self.attempts]}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def examine(path: Path) -> Report:
    """The report of one log: a file, packed or not, or a folder that is read as one run.

    Raises:
        NothingToRead: there is no such file.
    """
    with watched() as logs:
        reading = read_all(path)
    try:
        seen = _seen(path, logs)
    except (OSError, LogError):  # why it cannot be read stands among the problems
        seen = _Seen()
    return Report(
        path=str(path),
        n_bytes=path.stat().st_size if path.is_file() else 0,
        encoding=seen.encoding,
        line_ends=seen.line_ends,
        format=", ".join(dict.fromkeys(str(one.facts.get("format", "")) for one in reading.attempts)),
        claimed_by=seen.claimed_by,
        n_readers=len(all_readers()),
        problem="\n".join(map(str, reading.problems)),
        doubts=tuple(_doubts(reading.attempts)),
        lines=seen.lines,
        kinds=seen.kinds,
        attempts=tuple(map(_read, reading.attempts)),
        faults=tuple(fault for one in reading.attempts for fault in one.faults),
    )


@dataclass(frozen=True)
class _Seen:
    """What the file itself shows, apart from what was read of it."""

    encoding: str = ""
    line_ends: str = ""
    claimed_by: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)


def _seen(path: Path, logs: Sequence[Log]) -> _Seen:
    if not path.is_file():
        kinds, lines = kinds_of(logs)
        return _Seen(kinds=kinds, lines=lines)
    with unpacked(path) as file:
        named = tuple(reader.NAME for reader in claims(file.path))
        kinds, lines = kinds_of(logs, file.path)
        return _Seen(*_text_of(file.path), named, kinds if named else unread_kinds(file.path), lines)


def _doubts(attempts: Sequence[Attempt]) -> Iterator[str]:
    """What a reader of the report should know before trusting it: a table of other data is read as well."""
    read = [attempt for attempt in attempts if attempt.series]
    if read and not any(one.role in _OF_TRAINING for attempt in read for one in attempt.series.values()):
        yield (
            "no metric is known for a loss, a score, a norm or a learning rate: is this the log of a"
            " training? If it is, say so with `roles` in run.toml"
        )
    if any(attempt.axis == "row" for attempt in read):
        yield "nothing in it counts the steps: its rows are counted"


def _read(attempt: Attempt) -> Read:
    metrics = (
        Metric(
            name,
            str(one.role),
            one.unit,
            len(one),
            int(one.steps[0]),
            int(one.steps[-1]),
            float(one.values[0]),
            float(one.values[-1]),
        )
        for name, one in attempt.series.items()
        if len(one)
    )
    return Read(attempt.name, attempt.axis, attempt.truncated, len(attempt.facts), tuple(metrics))


def _text_of(path: Path) -> tuple[str, str]:
    """Encoding and line ends of the start of a file; "binary" and "" where it is no text."""
    start = head(path)
    if encoding_of(start) == "utf-16":
        return "UTF-16", ""
    if b"\0" in start:
        return "binary", ""
    ends = [name for name, end in (("CRLF", b"\r\n"), ("LF", b"\n"), ("CR", b"\r")) if end in start]
    return "UTF-8 with a byte order mark" if start.startswith(BOM_UTF8) else _plain_encoding(start), (
        ends or [""]
    )[0]


def _plain_encoding(start: bytes) -> str:
    try:
        start[: -4 or None].decode("ascii")
        return "ASCII"
    except UnicodeDecodeError as err:
        try:
            start[: max(len(start) - 4, 0)].decode("utf-8")
            return "UTF-8"
        except UnicodeDecodeError:
            return f"not UTF-8 (byte {err.start}); what is none is shown as U+FFFD"
