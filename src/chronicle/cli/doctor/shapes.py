"""Kinds of lines in console text: what they were taken for, the fields in them, and the first of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from chronicle.model import Fault, Steps
from chronicle.readers.console.chunks import chunks
from chronicle.readers.console.log import Log, text_of
from chronicle.readers.console.marks import sample
from chronicle.readers.console.pairs import pairs
from chronicle.readers.console.prefix import split
from chronicle.readers.console.rows import Rows

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
