"""What chronicle understood of a log, line by line where it is console text, and what it did not.

`examine` reads the log as every command does, and looks over the reader's shoulder.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.doctor.shapes import Kind, kinds_of, unread_kinds
from chronicle.model import Attempt, Fault
from chronicle.readers import read_all
from chronicle.readers.console.log import watched
from chronicle.readers.dispatch import all_readers, claims
from chronicle.readers.text import encoding_of, head


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

    ``problem`` says why nothing was read. ``kinds`` are the kinds of lines, the most frequent first.
    """

    path: str
    n_bytes: int
    encoding: str
    line_ends: str
    format: str
    claimed_by: tuple[str, ...]
    n_readers: int
    problem: str
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
    """The report of one log: a file, or a folder that is read as one run.

    Raises:
        NothingToRead: there is no such file.
    """
    problem, attempts, named = "", tuple[Attempt, ...](), tuple[str, ...]()
    with watched() as logs:
        try:
            named = tuple(reader.NAME for reader in claims(path)) if path.is_file() else ()
            reading = read_all(path)
            attempts = reading.attempts
            problem = "\n".join(map(str, reading.problems))
        except OSError as err:
            problem = f"{path}: cannot be read ({err.strerror})"
    kinds, lines = kinds_of(logs)
    if not attempts and not kinds and path.is_file():
        kinds = unread_kinds(path)
    encoding, ends = _text_of(path)
    return Report(
        path=str(path),
        n_bytes=path.stat().st_size if path.is_file() else 0,
        encoding=encoding,
        line_ends=ends,
        format=", ".join(dict.fromkeys(str(one.facts.get("format", "")) for one in attempts)),
        claimed_by=named,
        n_readers=len(all_readers()),
        problem=problem,
        lines=lines,
        kinds=kinds,
        attempts=tuple(map(_read, attempts)),
        faults=tuple(fault for one in attempts for fault in one.faults),
    )


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
    """Encoding and line ends of the start of a file; "binary" or "" where it is no text or no file."""
    try:
        start = head(path)
    except OSError:
        return "", ""
    encoding = encoding_of(start)
    if encoding == "utf-16":
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
