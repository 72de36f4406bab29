"""Lines that speak of a fault of a machine, a job or a program: a table, and the fault of a line.

The table is faults.toml beside this file; docs/formats/machine-log.md prints its kinds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from chronicle.model import Fault, Place
from chronicle.readers.text import clean

LONGEST = 200  # characters of a line that a fault quotes
_LOOKED_AT = 4000  # characters of a line that are looked at


@dataclass(frozen=True)
class Row:
    """One row of the table; a line must hold one of ``words`` before ``pattern`` is searched in it."""

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    what: str


_TABLE = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))


def _pattern(texts: Iterable[str]) -> re.Pattern[str]:
    joined = "|".join(texts)
    for name, part in _TABLE["parts"].items():
        joined = joined.replace(f"@{name}@", part)
    return re.compile(joined, re.IGNORECASE)


KINDS: Mapping[str, str] = _TABLE["kinds"]
XIDS = {int(number): meaning for number, meaning in _TABLE["xids"].items()}
ROWS = tuple(
    Row(row["kind"], tuple(row["words"]), _pattern(row["patterns"]), row.get("what", "{line}"))
    for row in _TABLE["rows"]
)

_SIGNALS = {
    "1": "SIGHUP", "2": "SIGINT", "4": "SIGILL", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE",
    "9": "SIGKILL", "10": "SIGUSR1", "11": "SIGSEGV", "12": "SIGUSR2", "15": "SIGTERM",
}  # fmt: skip
_SPELLED = {
    "segmentation fault": "SIGSEGV", "bus error": "SIGBUS", "killed": "SIGKILL", "terminated": "SIGTERM",
    "aborted": "SIGABRT", "floating point exception": "SIGFPE", "illegal instruction": "SIGILL",
}  # fmt: skip
_REASONS = {"time limit": "time-limit", "node failure": "node", "preemption": "preemption"}
_REASONS |= {"job requeue": "preemption", "job requeued": "preemption"}

# A line holds none of these in all but a few cases; `in` is some ten times as fast as an alternation.
_EVERY = {word for row in ROWS for word in row.words}
WORDS = tuple(word for word in _EVERY if not any(other in word for other in _EVERY - {word}))

# What launchers put before the words of a rank, and what kernel and system logs begin with.
_PROCESS = r"[A-Za-z][\w.-]{0,79}:\d+:\d+ \[\d+\] "  # host, process, thread and GPU, as NCCL writes them
RANK = re.compile(
    r"^(?:\[(?:rank|default|\w[\w.-]*:)\d+\]:? ?|\d{1,6}: |\([\w ]{1,40}pid=\d+[^)]{0,60}\) "
    rf"|{_PROCESS}(?:[\w/.-]{{1,80}}:\d+ )?)+"
)
_HOST_OF_PROCESS = re.compile(rf"(?:^|[]: ])(?={_PROCESS})([^:]+)")
_LEAD = re.compile(
    r"^(?:<\d+>)?(?:(?:[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ (?:kernel: )?)?"
    r"(?:\[(?:\s*\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ \d{4})\] )?"
)


def fault_in(line: str) -> Fault | None:
    """The fault that a line tells of, without place and time; None for every other line.

    ``host`` is filled where the message itself names it. A line of 4,000 characters is looked at.
    """
    line = line[:_LOOKED_AT]
    lower = line.lower()
    if not any(map(lower.__contains__, WORDS)):
        return None
    for row in ROWS:
        if any(word in lower for word in row.words) and (match := row.pattern.search(line)):
            return _fault(row, match, line)
    return None


def _fault(row: Row, match: re.Match[str], line: str) -> Fault:
    groups = {name.rstrip("23"): value for name, value in match.groupdict().items() if value}
    kind, words = row.kind, {"name": "a process", **groups}
    if kind == "cancelled":
        reason = groups.get("reason", "").strip().lower()
        kind, words["reason"] = _REASONS.get(reason, kind), f": {reason}" if reason else ""
    if kind == "xid" and "number" in groups:
        words["meaning"] = XIDS.get(int(groups["number"][:6]), "meaning not known")
    if kind == "signal":
        words["signal"] = _signal(groups)
    words["line"] = quoted(line)
    what = row.what.format(**words)
    process = _HOST_OF_PROCESS.search(line[:LONGEST])
    host = groups.get("host") or (process[1] if process else "")
    return Fault(Place(""), clean(what), kind=kind, host=clean(host.rstrip(":,")))


def _signal(groups: dict[str, str]) -> str:
    if "number" in groups:
        return _SIGNALS.get(groups["number"], f"signal {groups['number']}")
    spelled = groups.get("signal", "")
    return _SPELLED.get(spelled.lower(), spelled.upper())


def quoted(line: str) -> str:
    """A line as a fault quotes it: without clock, host and rank, one blank between words, at most `LONGEST`
    characters."""
    text = " ".join(RANK.sub("", _LEAD.sub("", line[:_LOOKED_AT])).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
