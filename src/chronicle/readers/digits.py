"""Decimal numbers in a buffer of bytes, many at once, each with exactly the value that `float` gives it.

Cells that are written alike, with dot and exponent at the same places from the right, are read by a few
operations on whole columns of characters. A mantissa below 2**53 times or over a power of ten up to 10**22 is
rounded once, so it is exact (Clinger, "How to read floating point numbers accurately", 1990); every other
cell, ``nan`` and ``inf`` among them, goes to `float` itself.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Floats, Steps

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]

WIDEST = 24  # bytes of a cell that is read together with others
_MOST_SHAPES = 8  # ways to write a number in one call; cells of further ones go to `float`
_FEWEST = 8  # cells for which it is worth while
_EXACT, _MOST_TENS = 2.0**53, 22
_TENS = 10.0 ** np.arange(_MOST_TENS + 1)
_BLANK, _DASH, _DOT, _PLUS, _E = b" -.+e"
_SHAPE = re.compile(rb" *-?\d+(?P<dot>\.?)(?P<decimals>\d*)(?:(?P<e>[eE][+-]?)(?P<exponent>\d{1,3}))?")


def floats(buffer: Bytes, starts: Steps, ends: Steps) -> tuple[Floats, Mask]:
    """The numbers in ``buffer[starts[i]:ends[i]]``, blanks before them allowed, and which cells hold one.

    A cell that is no number, as `float` sees it, has the value NaN. Memory: some 20 bytes a cell and byte.
    """
    values, known = np.full(len(starts), np.nan), np.zeros(len(starts), bool)
    lengths = ends - starts
    width = int(min(np.max(lengths, initial=1), WIDEST))
    left = np.flatnonzero((lengths > 0) & (lengths <= width) & (ends >= width))
    left = left[(buffer[ends[left] - 1] - np.uint8(48)) <= 9]
    for _ in range(_MOST_SHAPES if len(left) >= _FEWEST else 0):
        numbers, read = _alike(_cells(buffer, ends[left], lengths[left], width))
        if read.all():
            values[left], known[left] = numbers, True
            break
        values[left[read]], known[left[read]] = numbers[read], True
        left = left[~read][1 - int(read[0]) :]  # the first gave the shape: if that was none, it is for float
        if len(left) < _FEWEST:
            break
    for at in np.flatnonzero(~known).tolist():
        try:
            values[at] = float(buffer[starts[at] : ends[at]].tobytes())
            known[at] = True
        except ValueError:
            continue
    return values, known


def _cells(buffer: Bytes, ends: Steps, lengths: Steps, width: int) -> Bytes:
    """One cell a column of ``width`` bytes, at its lower end, with blanks above."""
    windows = np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))
    cells = np.ascontiguousarray(windows[ends - width].view(np.uint8).reshape(-1, width).T)
    np.copyto(cells, _BLANK, where=np.arange(width)[:, None] < width - lengths)
    return cells


def _alike(cells: Bytes) -> tuple[Floats, Mask]:
    """The values of the cells that are written as the first one is, and which these are."""
    width, n_cells = cells.shape
    shape = _SHAPE.fullmatch(cells[:, 0].tobytes())
    if shape is None:
        return np.empty(n_cells), np.zeros(n_cells, bool)
    n_decimals, has_dot = len(shape["decimals"]), len(shape["dot"])
    end = width - len(shape["e"] or b"") - len(shape["exponent"] or b"")
    point = end - n_decimals - has_dot
    digits = cells[:end] - np.uint8(48)
    is_digit = digits <= 9
    fits, negative = _leading(cells[:point], is_digit[:point])
    fits &= is_digit[point + has_dot :].all(axis=0)
    if has_dot:
        fits &= cells[point] == _DOT
    tens: Steps | int = -n_decimals
    if shape["e"]:
        exponents, plausible = _exponents(cells[end:], len(shape["e"]))
        tens, fits = tens + exponents, fits & plausible
    weights = 10.0 ** np.concatenate([np.arange(point)[::-1] + n_decimals, np.arange(n_decimals)[::-1]])
    weights = np.insert(weights, point, [0.0] * has_dot)
    mantissas = weights @ (digits * is_digit).astype(np.float64)
    fits &= (mantissas < _EXACT) & (np.abs(tens) <= _MOST_TENS)
    scale = _TENS[np.minimum(np.abs(tens), _MOST_TENS)]
    values = np.where(np.less(tens, 0), mantissas / scale, mantissas * scale)
    return np.where(negative, -values, values), fits


def _leading(cells: Bytes, is_digit: Mask) -> tuple[Mask, Mask]:
    """Which cells are blanks, a minus or none, and digits, to the end; and which are negative."""
    dash = cells == _DASH
    other = is_digit | dash
    fits = (other | (cells == _BLANK)).all(axis=0) & is_digit[-1]
    fits &= (is_digit[1:] >= other[:-1]).all(axis=0)  # after a minus or a digit stands a digit
    return fits, dash.any(axis=0)


def _exponents(cells: Bytes, n_marks: int) -> tuple[Steps, Mask]:
    """Exponents written as ``e-05`` (``n_marks`` 2) or ``e5`` (1), and which cells are written so."""
    digits = cells[n_marks:] - np.uint8(48)
    fits = ((cells[0] | 32) == _E) & (digits <= 9).all(axis=0)
    exponents = digits[0].astype(np.int64)
    for digit in digits[1:]:
        exponents = 10 * exponents + digit
    if n_marks > 1:
        minus = cells[1] == _DASH
        fits &= minus | (cells[1] == _PLUS)
        exponents = np.where(minus, -exponents, exponents)
    return exponents, fits
