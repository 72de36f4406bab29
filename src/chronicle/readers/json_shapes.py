"""Segments of JSON lines, learned from lines that were read with care: what the kernel knows lines by."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from chronicle.readers.blocks import Cells, room, sort
from chronicle.readers.text import clean

MOST_SEGMENTS, LONGEST_LINE, MOST_DEPTH = 4096, 1 << 20, 8
_TOKEN = re.compile(rb'[ \t]*("[^"\\\x00-\x1f]*"|[{}:,]|[^\s"{}\[\]:,]+)')

Path = tuple[str, ...]  # of keys, the first that of the line itself


class Segment(NamedTuple):
    """The bytes between two values: the objects open before and after, the value's key; () ends the line."""

    before: Path
    literal: bytes
    after: Path
    key: Path


@dataclass
class Shapes:
    """What was learned so far; ``columns`` are the names of the columns, by number."""

    columns: dict[str, int] = field(default_factory=dict)
    _segments: dict[Segment, tuple[int, ...]] = field(default_factory=dict)
    _numbers: dict[Any, int] = field(default_factory=dict)
    _tables: tuple[Any, ...] = ()

    def learn(self, line: str) -> None:
        """Takes up the segments of a line that holds a row; a shape that the kernel cannot know is left."""
        found = segments(line.encode("utf-8", "surrogatepass")) if len(line) < LONGEST_LINE else []
        if not found or len(self._segments) + len(found) > MOST_SEGMENTS:
            return
        names = [name_of(segment.key) for segment, _ in found]
        paths = [path for segment, opened in found for path in (*opened, segment.key)]
        if len(set(names)) == len(names) and len(set(paths)) == len(paths):
            for segment, opened in found:
                self._add(segment, opened)

    def _add(self, segment: Segment, opened: list[Path]) -> None:
        if segment in self._segments:
            return
        numbers, name = self._numbers, name_of(segment.key)
        # an object, a value, and a column that two paths name alike: none may come twice in a line
        names: list[Any] = [*opened, segment.key, name] if segment.key else []
        if segment.key:
            self.columns.setdefault(name, len(self.columns))
        self._segments[segment] = tuple(numbers.setdefault(one, len(numbers)) for one in names)
        self._tables = ()

    def tables(self) -> tuple[Any, ...]:
        """Literals, segments and opened names as the kernel takes them, and how many names there are."""
        if not self._tables:
            contexts: dict[Path, int] = {(): 0}
            rows, at, opened = list[list[int]](), 0, 0
            for segment, names in self._segments.items():
                column = self.columns[name_of(segment.key)] if segment.key else -1
                before, after = (
                    contexts.setdefault(path, len(contexts)) for path in (segment.before, segment.after)
                )
                ends = at + len(segment.literal), opened + len(names)
                rows.append([at, ends[0], before, after, column, opened, ends[1]])
                at, opened = ends
            literals = np.frombuffer(b"".join(segment.literal for segment in self._segments), np.uint8)
            opens = np.array([i for names in self._segments.values() for i in names], np.int64)
            self._tables = literals, np.array(rows, np.int64).reshape(-1, 7), opens, len(self._numbers)
        return self._tables


def name_of(key: Path) -> str:
    """The name of the column of a key: its path without the line itself."""
    return "/".join(key[1:])


def segments(line: bytes) -> list[tuple[Segment, list[Path]]]:
    """The segments of a line of JSON, with the objects each opens; [] for one with lists or escapes."""
    found, opened = list[tuple[Segment, list[Path]]](), list[Path]()
    path, key, last, at, is_value = list[str](), "", 0, 0, True
    before: Path = ()
    while match := _TOKEN.match(line, at):
        token, at = match[1], match.end()
        if token == b"{":
            path.append(key)
            opened.append(tuple(path))
            is_value = False
        elif token == b"}":
            path = path[:-1]
        elif token in b":,":
            is_value = token == b":"
        elif is_value:
            segment = Segment(before, line[last : match.start(1)], tuple(path), (*path, key))
            found.append((segment, opened))
            before, opened, last = tuple(path), [], at
        else:
            key = clean(token[1:-1].decode("utf-8", "replace"))
        if len(path) > MOST_DEPTH:
            return []
    if at < len(line.rstrip(b" \t")) or path or not found:
        return []
    return [*found, (Segment(before, line[last:], (), ()), [])]


def scan_block(
    engine: SimpleNamespace, tables: tuple[Any, ...], keeps: Any, counts: Any, block: bytes
) -> Cells:
    """What the kernel finds in a block of whole lines."""
    literals, rows_of_segments, opens, n_names = tables
    seen, following = np.full(n_names, -1), np.zeros(len(rows_of_segments) + 1, np.int64)
    learned = (literals, rows_of_segments, opens, seen, following, keeps, counts)
    *cells, odd = room(block)
    n, n_rows, n_odd, n_lines = engine.json_scan(np.frombuffer(block, np.uint8), learned, tuple(cells), odd)
    bins, rows, bits, _ = cells
    sorted_ = sort(engine, 3 * len(keeps), bins[:n], rows[:n], bits[:n])
    return Cells(block, n_rows, n_lines, *sorted_, odd[:n_odd].tolist())
