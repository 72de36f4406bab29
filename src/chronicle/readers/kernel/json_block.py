"""A block of whole JSON lines: its values by column, and the lines that are left to Python.

A line is taken for a chain of known segments: the bytes between one value and the next, such as
``, "loss": `` or ``}, "val": {"loss": ``, each allowed where the objects that are open are those it was
learned with. What comes out is as in `csv_block`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chronicle.readers.kernel.csv_block import (
    BLANK,
    LONGEST,
    NEWLINE,
    QUOTE,
    RETURN,
    TAB,
    TEXT_BITS,
    end_of_line,
)
from chronicle.readers.kernel.decimals import ODD, REAL, WHOLE, number, spelled
from chronicle.readers.kernel.words import ONE, ZERO

NULL, TEXT = 3, 4
TRUE_, FALSE_, NULL_ = (116, 114, 117, 101), (102, 97, 108, 115, 101), (110, 117, 108, 108)
BACKSLASH = 92
FROM, TO, BEFORE, AFTER, COLUMN, OPENS_FROM, OPENS_TO = 0, 1, 2, 3, 4, 5, 6  # of a row of ``segments``


def scan(buffer: Any, learned: Any, cells: Any, odd: Any) -> tuple[int, int, int, int]:
    """Reads all lines: numbers of cells, rows, odd lines and lines.

    ``learned``: the bytes of all segments; where those of each stand, the objects open before and after it,
    its column (-1 ends the line) and which names it opens; these names; the row in which a name came last and
    the segment that came last after each (memory); whether a column keeps integers; and whether a value in it
    makes the line a row. ``cells``: bins, rows, and bits as words and as doubles.
    """
    at, n, row, n_odd, line = 0, 0, 0, 0, 0
    while at < len(buffer):
        begin = at
        while buffer[at] == BLANK or buffer[at] == TAB:
            at += 1
        if buffer[at] != NEWLINE and buffer[at] != RETURN:
            at, filled = json_line(buffer, begin, learned, cells, n, row)
            if filled < 0:
                at = end_of_line(buffer, at)
                odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = begin, at, line, row
                n_odd += 1
            else:
                n = filled
            row += 1
        line += 1
        at += 1
        if buffer[at - 1] == RETURN and at < len(buffer) and buffer[at] == NEWLINE:
            at += 1
    return n, row, n_odd, line


def json_line(buffer: Any, at: int, learned: Any, cells: Any, n: int, row: int) -> tuple[int, int]:
    """Reads one line into the slots from ``n`` on: a place in it, and the next slot; -1 for an odd line."""
    literals, segments, opens, seen, following, keeps, counts = learned
    bins, rows, bits, floats = cells
    last, context, is_row, n_columns = 0, 0, False, len(keeps)
    while True:
        found = next_segment(buffer, at, literals, segments, following[last], context)
        if found < 0:
            return at, -1
        following[last] = found
        last, context = found + 1, segments[found, AFTER]
        at += segments[found, TO] - segments[found, FROM]
        column = segments[found, COLUMN]
        if column < 0:
            return at, (n if is_row and (buffer[at] == NEWLINE or buffer[at] == RETURN) else -1)
        for i in range(segments[found, OPENS_FROM], segments[found, OPENS_TO]):
            if seen[opens[i]] == row:
                return at, -1  # a name that comes twice
            seen[opens[i]] = row
        kind, at = one_value(buffer, at, bits, floats, n)
        if kind == ODD:
            return at, -1
        if kind != NULL:
            if kind == WHOLE and not keeps[column]:
                floats[n] = np.float64(np.int64(bits[n]))
                kind = REAL
            bins[n] = column + n_columns * (0 if kind == REAL else 1 if kind == WHOLE else 2)
            rows[n] = row
            n += 1
            is_row = is_row or counts[column]


def next_segment(buffer: Any, at: int, literals: Any, segments: Any, first: int, context: int) -> int:
    """The segment that stands at ``at``, looked for from ``first`` on and around; -1 where there is none."""
    for i in range(len(segments)):
        j = first + i
        if j >= len(segments):
            j -= len(segments)
        if segments[j, BEFORE] == context:
            k = segments[j, FROM]
            shift = at - k
            while k < segments[j, TO] and buffer[k + shift] == literals[k]:
                k += 1
            if k == segments[j, TO]:
                return j
    return -1


def one_value(buffer: Any, at: int, bits: Any, floats: Any, n: int) -> tuple[int, int]:
    """What a value is, and its end. True and false are integers."""
    if buffer[at] == QUOTE:
        end = at + 1
        while buffer[end] >= BLANK and buffer[end] != QUOTE and buffer[end] != BACKSLASH:
            end += 1
        bits[n] = (np.uint64(end - at - 1) << TEXT_BITS) | np.uint64(at + 1)
        return (TEXT if buffer[end] == QUOTE and end - at < LONGEST else ODD), end + 1
    if spelled(buffer, at, TRUE_, 0):
        bits[n] = ONE
        return WHOLE, at + 4
    if spelled(buffer, at, FALSE_, 0):
        bits[n] = ZERO
        return WHOLE, at + 5
    if spelled(buffer, at, NULL_, 0):
        return NULL, at + 4
    return number(buffer, at, True, bits, floats, n)
