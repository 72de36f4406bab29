"""A block of whole lines of a CSV file: its cells by column, and the lines that are left to Python.

Cells stand in one list in the order of the file, each with its row and the number of its bin:
``column`` for numbers, ``column + n_columns`` for integers of a column that keeps them exact, and
``column + 2 * n_columns`` for texts, whose bits are place and length. Blank cells stand nowhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chronicle.readers.kernel.decimals import ODD, REAL, WHOLE, number

TAB, NEWLINE, RETURN, BLANK, QUOTE = 9, 10, 13, 32, 34
LONGEST = 1000  # bytes of a cell that is read here
TEXT_BITS = np.uint64(32)


def scan(
    buffer: Any,
    delimiter: int,
    whole: Any,
    first_name: Any,
    bins: Any,
    rows: Any,
    bits: Any,
    floats: Any,
    odd: Any,
) -> tuple[int, int, int, int]:
    """Reads all lines: numbers of cells, rows, odd lines and lines.

    ``whole``: whether a column keeps integers. ``odd`` gets begin, end, line and row of each odd line; its
    row is kept free. ``first_name``: bytes of the first name; a line that begins so repeats the header.
    """
    at, n, row, n_odd, line = 0, 0, 0, 0, 0
    while at < len(buffer):
        begin = at
        at, filled, state = csv_line(
            buffer, at, delimiter, whole, first_name, bins, rows, bits, floats, n, row
        )
        if state == 1:
            n = filled
            row += 1
        elif state == ODD_LINE:
            at = end_of_line(buffer, at)
            odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = begin, at, line, row
            n_odd += 1
            row += 1
        line += 1
        at += 1
        if buffer[at - 1] == RETURN and at < len(buffer) and buffer[at] == NEWLINE:
            at += 1
    return n, row, n_odd, line


ODD_LINE = 2


def csv_line(
    buffer: Any,
    at: int,
    delimiter: int,
    whole: Any,
    first_name: Any,
    bins: Any,
    rows: Any,
    bits: Any,
    floats: Any,
    n: int,
    row: int,
) -> tuple[int, int, int]:
    """Reads one line into the slots from ``n`` on: its end, the next slot, and 0 blank, 1 a row, 2 odd."""
    column, n_columns, seen = 0, len(whole), False
    while True:
        begin = at
        at = after_blanks(buffer, at, delimiter)
        too_many = column >= n_columns and (begin != at or not ends(buffer[at], delimiter))
        if too_many or at - begin > LONGEST:
            return at, n, ODD_LINE
        if not ends(buffer[at], delimiter):
            seen = True
            kind, at = csv_cell(buffer, at, delimiter, bits, floats, n)
            if kind == ODD_LINE + 2 or (kind == ODD and column == 0 and names(buffer, bits[n], first_name)):
                return at, n, ODD_LINE
            if kind >= 0:
                if kind == WHOLE and not whole[column]:
                    floats[n] = np.float64(np.int64(bits[n]))
                    kind = REAL
                bins[n] = column + n_columns * (0 if kind == REAL else 1 if kind == WHOLE else 2)
                rows[n] = row
                n += 1
        if buffer[at] != delimiter:
            break
        column += 1
        at += 1
    if not seen and (delimiter == TAB or column == 0):
        return at, n, 0
    return at, n, 1 if column + 1 >= n_columns else ODD_LINE


def csv_cell(buffer: Any, at: int, delimiter: int, bits: Any, floats: Any, n: int) -> tuple[int, int]:
    """What a cell is (ODD: a text; -1 nothing between quotes; 4 the line is odd), and its end."""
    quoted = buffer[at] == QUOTE
    begin = at + 1 if quoted else at
    if quoted and buffer[begin] == QUOTE:
        return (-1 if ends(buffer[begin + 1], delimiter) else 4), begin + 1
    kind, end = number(buffer, begin, False, bits, floats, n)
    if quoted:
        if kind == ODD or buffer[end] != QUOTE or not ends(buffer[end + 1], delimiter):
            return 4, end
        return kind, end + 1
    end = after_blanks(buffer, end, delimiter)
    if kind != ODD and ends(buffer[end], delimiter) and end - begin < LONGEST:
        return kind, end
    while not ends(buffer[end], delimiter) and buffer[end] != QUOTE:
        end += 1
    if buffer[end] == QUOTE or end - begin >= LONGEST:
        return 4, end
    bits[n] = (np.uint64(end - begin) << TEXT_BITS) | np.uint64(begin)
    return ODD, end


def names(buffer: Any, text: Any, name: Any) -> bool:
    """Whether a text cell says the first name of the header (blanks behind it aside)."""
    at = np.int64(text & np.uint64(0xFFFFFFFF))
    end = at + np.int64(text >> TEXT_BITS)
    while end > at and buffer[end - 1] == BLANK:
        end -= 1
    i = 0
    while i < len(name) and at + i < end and buffer[at + i] == name[i]:
        i += 1
    return i == len(name) and at + i == end


def ends(byte: int, delimiter: int) -> bool:
    """Whether a cell ends at this byte."""
    return byte in (delimiter, NEWLINE, RETURN)


def after_blanks(buffer: Any, at: int, delimiter: int) -> int:
    """The next place that holds no blank."""
    while buffer[at] == BLANK or (buffer[at] == TAB and delimiter != TAB):
        at += 1
    return at


def end_of_line(buffer: Any, at: int) -> int:
    """The next line end."""
    while buffer[at] != NEWLINE and buffer[at] != RETURN:
        at += 1
    return at


def group(
    bins: Any, rows: Any, bits: Any, stops: Any, place: Any, sorted_rows: Any, sorted_bits: Any
) -> None:
    """Puts cells in order of their bins, in each as they stood; ``stops`` gets the end of each bin.

    ``place`` is as long as ``stops``, and memory.
    """
    stops[:] = 0
    for i in range(len(bins)):
        stops[bins[i]] += 1
    before = 0
    for i in range(len(stops)):
        place[i] = before
        before += stops[i]
        stops[i] = before
    for i in range(len(bins)):
        at = place[bins[i]]
        place[bins[i]] = at + 1
        sorted_rows[at] = rows[i]
        sorted_bits[at] = bits[i]
