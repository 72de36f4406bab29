"""Faults of machines and jobs (Xid, NCCL, out of memory, signals), with time, host and step.

`MachineFaults` gathers them from the lines of a log. The readers of console logs use it, so that a fault
stands at the step at which it was printed. The reader "machine-log" takes kernel, system and job logs, in
which nothing else can be read; their faults join the curves when the run is stitched. The table faults.toml
beside this file says which lines tell of a fault; docs/formats/machine-log.md lists its kinds.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from chronicle.metrics.aliases import has_year, in_year_of
from chronicle.metrics.values import moment, short_node_list
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.console.chunks import SYSTEM_CLOCK, may_be_log, stamp
from chronicle.readers.text import HEAD_BYTES, Head, Lines, clean, encoding_of

LONGEST = 200  # characters of a line that a fault quotes
_SEARCHED = 4000  # characters of a line that are searched


@dataclass(frozen=True)
class Row:
    """One row of the table; a line must hold one of ``words`` before ``pattern`` is searched in it, which is
    compiled then, as few logs have a fault."""

    kind: str
    words: tuple[str, ...]
    texts: tuple[str, ...]
    what: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        joined = "|".join(self.texts)
        for name, part in _TABLE["parts"].items():
            joined = joined.replace(f"@{name}@", part)
        return re.compile(joined, re.IGNORECASE)


_TABLE = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))

KINDS: Mapping[str, str] = _TABLE["kinds"]
XIDS = {int(number): meaning for number, meaning in _TABLE["xids"].items()}
ROWS = tuple(
    Row(row["kind"], tuple(row["words"]), tuple(row.get("patterns", ["."])), row.get("what", "{line}"))
    for row in _TABLE["rows"]
)

# Hardly any line holds one of these; `in` is some ten times as fast as an alternation.
_EVERY = {word for row in ROWS for word in row.words}
WORDS = tuple(word for word in _EVERY if not any(other in word for other in _EVERY - {word}))

# What launchers put in front of the words of a rank, and what lines of kernel and system logs begin with.
_PROCESS = r"[A-Za-z][\w.-]{0,79}:\d+:\d+ \[\d+\] "  # host, process, thread and GPU, as NCCL writes them
RANK = re.compile(
    r"^(?:\[(?:rank|default|\w[\w.-]*:)\d+\]:? ?|\d{1,6}: |\([\w ]{1,40}pid=\d+[^)]{0,60}\) "
    rf"|{_PROCESS}(?:[\w/.-]{{1,80}}:\d+ )?)+"
)
# And what PyTorch writes behind it: a letter, day, clock, process and place in its source.
_GLOG = re.compile(r"^\[[EWIF]\d{3,4} \d\d:\d\d:\d\d[.\d]{0,10} (?:\d{1,10} )?[\w/.-]{1,80}:\d{1,6}\] ")
_HOST_OF_PROCESS = re.compile(rf"(?:^|[]: ])(?={_PROCESS})([^:]+)")
_LEAD = re.compile(
    r"^(?:<\d+>)?(?:(?:[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ (?:kernel: )?)?"
    r"(?:\[(?:\s*\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ \d{4})\] )?"
)


def fault_in(line: str) -> Fault | None:
    """The fault that a line reports, without place and time; None for every other line. Its ``host`` is set
    if the message itself names it. The first 4,000 characters of the line are searched."""
    line = line[:_SEARCHED]
    lower = line.lower()
    if not any(map(lower.__contains__, WORDS)):
        return None
    text = RANK.sub("", line)
    for row in ROWS:
        if any(word in lower for word in row.words) and (match := row.pattern.search(text)):
            return _fault(row, match, line)
    return None


def _fault(row: Row, match: re.Match[str], line: str) -> Fault:
    groups = {name.rstrip("23"): value for name, value in match.groupdict().items() if value}
    kind, words = row.kind, {"name": "a process", **groups}
    if kind == "cancelled":
        reason = groups.get("reason", "").strip().lower()
        kind, words["reason"] = _TABLE["reasons"].get(reason, kind), f": {reason}" if reason else ""
    if kind == "xid" and "number" in groups:
        words["meaning"] = XIDS.get(int(groups["number"][:6]), "meaning not known")
    if kind == "signal":
        name, number = groups.get("signal", ""), groups.get("number")
        otherwise = f"signal {number}" if number else name.upper()
        words["signal"] = _TABLE["signals"].get(number or name.lower(), otherwise)
        kind = "cancelled" if words["signal"] == "SIGINT" else kind  # the keyboard sends it
    words["line"] = quoted(line)
    what = row.what.format(**words)
    process = _HOST_OF_PROCESS.search(line[:LONGEST])
    host = groups.get("host") or (process[1] if process else "")
    return Fault(Place(""), clean(what), kind=kind, host=clean(host.rstrip(":,")))


def quoted(line: str) -> str:
    """A line as a fault quotes it: at most `LONGEST` characters, without clock, host and rank."""
    text = " ".join(_GLOG.sub("", RANK.sub("", _LEAD.sub("", line[:_SEARCHED]))).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


MOST_FAULTS = 1000
_SAME_S, _SAME_LINES = 600.0, 2000  # within which the same fault, of another rank or a retry, is one fault
_SYSTEM_LINES = 3  # at the start of a log, by which it is that of a kernel or a system
_PROSE = re.compile(r"\s|[*#/-]|.*\be\.g\.")  # items of lists and comments, which may mention signals
_LINES_BEFORE = 40  # among which the clock of a line without one is sought

_BYTES = tuple(map(str.encode, (*WORDS, "traceback (most", "nodelist", "slurm_", "setting system clock")))
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]{0,120}(?:: .*|$)")
# A progress bar of another thread may stand before the last line of a traceback.
_BAR = re.compile(r"\[\d\d:\d\d(?::\d\d)?[<,]")
_CANCELLED = re.compile(r"CANCELLED AT ([\d-]+T[\d:]+)")
_NODES = re.compile(r"\b(?:SLURM_(?:JOB_|STEP_)?NODELIST|[Nn]ode[Ll]ist)\s*[=:]\s*[\"']?([^\s\"';|]{1,4000})")
_JOB = re.compile(r"\bSLURM_JOB(?:_?ID)\s*[=:]\s*[\"']?(\d{1,20})")
_PROGRAM = r"[\w./()-]+(?:\[\d+\])?: "
_SYSTEM_LINE = re.compile(
    r"^(?:<\d+>)?\[\s*\d+\.\d{6}\](?:\[\s*[TC]\d+\])? "
    rf"|^[A-Z][a-z]{{2}}\s+\d+ \d\d:\d\d:\d\d \S+ {_PROGRAM}"
    rf"|^\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\S* [\w.-]+ {_PROGRAM}"
    r"|^\[[A-Z][a-z]{2} [A-Z][a-z]{2}\s+\d+ [\d:]+ \d{4}\] "
)


class MachineFaults:
    """Faults and facts of one log. The same fault again within ten minutes is counted, not listed."""

    FRESH = ("path",)

    def __init__(self, path: Path) -> None:
        self.path, self.facts = path, dict[str, str]()
        self._listed: list[Fault] = []
        self._latest = dict[tuple[str, str, str], tuple[int, int]]()  # of a kind: index and line of the last
        self._open: set[str] = set()
        self._before: deque[tuple[int, str]] = deque(maxlen=_LINES_BEFORE)
        self._booted, self._dated, self._more = math.nan, math.nan, 0

    def worth_a_look(self, data: bytes) -> bool:
        """Whether any line of a piece of a log may report a fault or a fact: faster than by lines."""
        return bool(self._open) or any(map(data.lower().__contains__, _BYTES))

    def look(self, number: int, line: str, *, step: int | None = None, time: float = math.nan) -> None:
        """Notes the fault or fact of a line. ``step`` and ``time`` are those that the log has reached; a
        clock in the line itself, or in the few before it, wins over ``time``."""
        if math.isnan(self._booted) and (clock := SYSTEM_CLOCK.search(line[:300])):
            self._booted = float(clock[2]) - float(clock[1])
        fault = self._of_traceback(line) or fault_in(line)
        self._note_facts(line)
        if math.isfinite(time):
            self._dated = time
        if fault is not None:
            before = (text for at, text in reversed(self._before) if at >= number - _LINES_BEFORE)
            at_time = next(filter(math.isfinite, map(self._time, (line, *before))), time)
            host = fault.host or clean(stamp(line).host[:80])
            place = Place(str(self.path), line=number)
            self._add(number, replace(fault, place=place, host=host, at_step=step, at_time=at_time))
            self._before.clear()
        self._before.append((number, line))

    def faults(self, near: float = math.nan) -> tuple[Fault, ...]:
        """All faults in the order of the log. A time without a year is moved next to a time that the log
        names elsewhere, else next to ``near``; without either it stays in the placeholder year."""
        near = self._dated if math.isfinite(self._dated) else near
        faults = self._listed
        if not math.isnan(near):
            faults = [replace(fault, at_time=in_year_of(fault.at_time, near)) for fault in faults]
        more = Fault(Place(str(self.path)), "further faults of machines are not listed", self._more)
        return (*faults, more) if self._more else tuple(faults)

    def _time(self, line: str) -> float:
        if cancelled := _CANCELLED.search(line):
            return moment(cancelled[1], math.nan)
        written = stamp(line)
        since_boot = self._booted + written.since_boot
        at_time = written.time if math.isnan(since_boot) else since_boot
        if has_year(at_time) and math.isfinite(at_time):
            self._dated = at_time
        return at_time

    def _add(self, number: int, fault: Fault) -> None:
        key = (fault.kind, fault.host, fault.what)
        at, line = self._latest.get(key, (-1, 0))
        apart = fault.at_time - self._listed[at].at_time if at >= 0 else math.inf
        if number - line <= _SAME_LINES if math.isnan(apart) else abs(apart) <= _SAME_S:
            self._listed[at] = replace(self._listed[at], count=self._listed[at].count + 1)
            self._latest[key] = at, number
        elif len(self._listed) < MOST_FAULTS:
            self._latest[key] = len(self._listed), number
            self._listed.append(fault)
        else:
            self._more += 1

    def _of_traceback(self, line: str) -> Fault | None:
        """The fault in the last line of a traceback; prefixes tell those of several ranks apart."""
        if not self._open and _TRACEBACK not in line:
            return None
        rank = RANK.match(line)
        prefix, words = (rank[0].rstrip(), line[rank.end() :]) if rank else ("", line)
        if _TRACEBACK in words:
            self._open.add(prefix)
        elif prefix in self._open and words.strip() and not words[:1].isspace() and not _BAR.search(words):
            self._open.discard(prefix)
            if _EXCEPTION.match(words):
                return fault_in(words) or Fault(Place(""), clean(quoted(words)), kind="exception")
        return None

    def _note_facts(self, line: str) -> None:
        if not any(word in line for word in ("odelist", "odeList", "SLURM_")):
            return
        nodes, job = _NODES.search(line), _JOB.search(line)
        if nodes and "(null)" not in nodes[1] and (hosts := short_node_list(nodes[1])):
            self.facts.setdefault("nodes", clean(hosts))
        if job:
            self.facts.setdefault("job", job[1])


def identify(head: Head) -> bool:
    """Whether a text has a fault at its beginning or end, or begins with lines of a kernel or system log."""
    start = head.lines if may_be_log(head) else []
    if not start or _of_host(start):
        return bool(start)
    end = b""
    if head.size > HEAD_BYTES:
        with head.path.open("rb") as file:
            file.seek(head.size - HEAD_BYTES)
            end = file.read()
    lines = [*start, *end.decode(encoding_of(head.start), errors="replace").splitlines()[1:]]
    if not any(map("\n".join(lines).lower().__contains__, WORDS)):
        return False
    faults = ((fault_in(line), line) for line in lines)
    return any(fault and not (fault.kind == "signal" and _PROSE.match(line)) for fault, line in faults)


def read(path: Path) -> list[Attempt]:
    """One attempt without series: what the log says of machines and jobs. The fact "log_of" is "host" for a
    kernel or system log, which may report on other jobs, too, and else "job"."""
    lines, machine_faults = Lines(path), MachineFaults(path)
    for line in lines:
        machine_faults.look(lines.number, line)
    facts = {"log_of": "host" if _of_host(Head.of(path).lines) else "job", **machine_faults.facts}
    return [Attempt(path.name, (str(path),), {}, facts, machine_faults.faults())]


def _of_host(start: list[str]) -> bool:
    system = sum(_SYSTEM_LINE.match(line) is not None for line in start)
    return system >= _SYSTEM_LINES and 2 * system >= len(start)
