"""What chronicle understood of a log, line by line where it is console text, and what it did not.

`examine` reads the log as every command does, and looks over the reader's shoulder.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np

from chronicle.cli.terminal import printable
from chronicle.errors import LogError
from chronicle.metrics.values import count, level, plural
from chronicle.model import Attempt, Fault, Role, Steps
from chronicle.readers import read_all
from chronicle.readers.console.chunks import chunks
from chronicle.readers.console.log import Log, text_of, watched
from chronicle.readers.console.marks import sample
from chronicle.readers.console.pairs import pairs
from chronicle.readers.console.prefix import split
from chronicle.readers.console.rows import Rows
from chronicle.readers.dispatch import all_readers, claims
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


MOST_KINDS, MOST_SHOWN, MOST_UNREAD, MOST_CHARACTERS, MOST_LINES = 12, 3, 10, 200, 20_000
RECORD, EVENT, FAULT, UNUSABLE = "records", "events", "faults", "unusable"
CUT = "cut"
ASIDE, NOT, BLANK = "known otherwise", "not understood", "blank"


@dataclass(frozen=True)
class Kind:
    """Lines that were taken for one thing: ``fields`` are the metrics in them, ``first`` (number, text)."""

    taken_for: str
    n_lines: int
    fields: tuple[str, ...]
    first: tuple[tuple[int, str], ...]


def kinds_of(logs: Sequence[Log], file: Path | None = None) -> tuple[tuple[Kind, ...], dict[str, int]]:
    """The kinds of lines of the logs that were read, and how many lines were taken for what.

    All logs are of ``file``, if it is given, though it had another name when they were read.
    """
    by_path: dict[Path, list[Log]] = {}
    for log in logs:
        by_path.setdefault(file or log.path, []).append(log)
    kinds, counts = list[Kind](), Counter[str]()
    for path, of_one_file in by_path.items():
        found = list(_of_file(path, of_one_file))
        kinds += found
        for kind in found:
            counts[kind.taken_for] += kind.n_lines
    return tuple(kinds), dict(counts)


def _of_file(path: Path, logs: Sequence[Log]) -> Iterator[Kind]:
    taken = [(RECORD, fields, lines) for log in logs for fields, lines in _records(log.rows)]
    taken += [(EVENT, (str(what),), lines) for log in logs for what, lines in _events(log)]
    listed = [fault for log in logs for fault in log.listed()]
    taken.append((FAULT, (), _lines_of(fault for fault in listed if fault.kind != "read")))
    taken.append((UNUSABLE, (), _lines_of(fault for fault in listed if fault.kind == "read")))
    told = _joined(np.array(log.told_lines) for log in logs)
    other = _joined([*(np.array(log.looked_at) for log in logs), *(lines for _, _, lines in taken)])
    aside = np.setdiff1d(told, other)
    last = [log.n_lines for log in logs if log.truncated]
    taken += [(CUT, (), np.intersect1d(aside, last)), (ASIDE, (), np.setdiff1d(aside, last))]
    taken = sorted((one for one in taken if len(one[2])), key=lambda one: -len(one[2]))
    known = np.unique(_joined(lines for _, _, lines in taken))
    wanted = {int(line) for _, _, lines in taken[:MOST_KINDS] for line in lines[:MOST_SHOWN]}
    texts, unread, n_unread, n_blank = _texts(path, wanted, known)
    for what, fields, lines in taken[:MOST_KINDS]:
        first = [(int(line), texts[int(line)]) for line in lines[:MOST_SHOWN] if int(line) in texts]
        yield Kind(what, len(lines), fields, tuple(first))
    if rest := taken[MOST_KINDS:]:
        yield Kind(RECORD, sum(len(lines) for _, _, lines in rest), (), ())
    if n_unread:
        yield Kind(NOT, n_unread, (), tuple(unread))
    if n_blank:
        yield Kind(BLANK, n_blank, (), ())


def _records(rows: Rows) -> Iterator[tuple[tuple[str, ...], Steps]]:
    """The lines of records by the names of their metrics."""
    marks = np.random.default_rng(0).integers(1, 2**63, len(rows.columns))
    shapes = np.zeros(len(rows), np.int64)
    for mark, (_, at) in zip(marks, rows.columns.values(), strict=True):
        shapes[np.array(at, np.int64)] ^= mark
    lines = np.array(rows.lines, np.int64)
    for shape in dict.fromkeys(shapes.tolist()):
        found = np.flatnonzero(shapes == shape)
        names = [name for name, (_, own) in rows.columns.items() if np.isin(found[0], np.array(own))]
        yield tuple(names), np.unique(lines[found])


def _events(log: Log) -> Iterator[tuple[str, Steps]]:
    lines: dict[str, list[int]] = {}
    for event in log.events:
        lines.setdefault(str(event["event"]), []).append(event["line"])
    return ((what, np.array(at)) for what, at in lines.items())


def _lines_of(faults: Iterable[Fault]) -> Steps:
    return np.array([f.place.line for f in faults if f.place.line is not None], np.int64)


def _joined(parts: Iterable[Steps]) -> Steps:
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _texts(
    path: Path, wanted: set[int], known: Steps
) -> tuple[dict[int, str], list[tuple[int, str]], int, int]:
    """The texts of lines; the first of those not known; how many of these there are, and blank ones."""
    texts, unread, n_unread, n_blank = dict[int, str](), list[tuple[int, str]](), 0, 0
    try:
        for chunk in chunks(path):
            numbers, lines = np.asarray(chunk.numbers), chunk.lines
            strange = ~np.isin(numbers, known)
            for index in np.flatnonzero(strange | np.isin(numbers, list(wanted))).tolist():
                number, text = int(numbers[index]), lines[index]
                if strange[index]:
                    blank = not text.strip()
                    n_blank, n_unread = n_blank + blank, n_unread + (not blank)
                    if not blank and len(unread) < MOST_UNREAD:
                        unread.append((number, _shown(text)))
                else:
                    texts.setdefault(number, _shown(text))
    except OSError:  # a copy that was made for reading, and is gone
        pass
    return texts, unread, n_unread, n_blank


def _shown(line: bytes) -> str:
    return text_of(line[: 4 * MOST_CHARACTERS]).strip()[:MOST_CHARACTERS]


def unread_kinds(path: Path) -> tuple[Kind, ...]:
    """The kinds of lines of a text that nobody reads, by the names of the pairs in them; () for others."""
    shapes: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    for number, line in islice(_lines(path), MOST_LINES):
        shape = tuple(pair.name for pair in pairs(split(text_of(line[:4000])).text))
        counts[shape] += 1
        if len(first := shapes.setdefault(shape, [])) < MOST_SHOWN:
            first.append((number, _shown(line)))
    return tuple(Kind(NOT, n, shape, tuple(shapes[shape])) for shape, n in counts.most_common(MOST_KINDS))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for chunk in chunks(path) if sample(path) else ():
        yield from ((n, line) for n, line in zip(chunk.numbers, chunk.lines, strict=True) if line.strip())


MOST_METRICS, MOST_FAULTS, MOST_NAMES = 40, 20, 12


def told(report: Report) -> Iterator[str]:
    """The lines of the command for one log."""
    yield click.style(printable(report.path), bold=True)
    yield "  " + ", ".join(filter(None, (plural(report.n_bytes, "byte"), report.encoding, report.line_ends)))
    yield f"  {_reader(report)}"
    yield from (f"  {printable(line)}" for line in report.problem.splitlines())
    yield from (f"  doubt: {doubt}" for doubt in report.doubts)
    if report.lines:
        yield "  lines: " + ", ".join(f"{count(n)} {what}" for what, n in report.lines.items())
    for kind in report.kinds:
        yield from _kind(kind)
    for attempt in report.attempts:
        yield from _attempt(attempt)
    for fault in report.faults[:MOST_FAULTS]:
        at = "" if fault.at_step is None else f" (step {count(fault.at_step)})"
        yield f"  {printable(f'{fault.where}: {fault.what}')}{at}" + (
            f" × {count(fault.count)}" if fault.count > 1 else ""
        )
    if len(report.faults) > MOST_FAULTS:
        yield f"  and {plural(len(report.faults) - MOST_FAULTS, 'further fault')}"


def _reader(report: Report) -> str:
    if not report.format:
        return "nothing was read"
    if len(report.claimed_by) == 1:
        others = f"none of the other {report.n_readers - 1} readers claims it"
        return f"format: {printable(report.format)}, known by its content; {others}"
    return f"format: {printable(report.format)}"


def _kind(kind: Kind) -> Iterator[str]:
    names = ", ".join(kind.fields[:MOST_NAMES]) + (", …" if len(kind.fields) > MOST_NAMES else "")
    if kind.first:
        yield printable(
            f"  {kind.taken_for}, {plural(kind.n_lines, 'line')}" + (f": {names}" if names else "")
        )
    for number, text in kind.first:
        yield printable(f"    {number:>7}  {text}")


def _attempt(attempt: Read) -> Iterator[str]:
    cut = ", its end is cut or still to come" if attempt.truncated else ""
    facts = plural(attempt.n_facts, "fact")
    steps = [step for metric in attempt.metrics for step in (metric.first_step, metric.last_step)]
    reach = f"{attempt.axis}s {count(min(steps))} – {count(max(steps))}, " if steps else ""
    yield printable(
        f"  attempt {attempt.name}: {reach}{plural(len(attempt.metrics), 'metric')}, {facts}{cut}"
    )
    shown = attempt.metrics[:MOST_METRICS]
    width = max((len(printable(one.metric)) for one in shown), default=0)
    for one in shown:
        name, unit = printable(one.metric), printable(one.unit or "unit not declared")
        yield (
            f"    {name:<{width}}  {one.role:<16}  {unit:<17}  {count(one.points):>9} points  "
            f"{level(one.first)} … {level(one.last)}"
        )
    if len(attempt.metrics) > MOST_METRICS:
        yield f"    and {plural(len(attempt.metrics) - MOST_METRICS, 'further metric')}"
