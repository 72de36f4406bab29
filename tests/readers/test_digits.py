"""Numbers read many at once are those that `float` gives, bit for bit."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from chronicle.readers.console.megatron import floats

FORMATS = (
    "%.6E", "%.1f", "%8.0f", "%.3f", "%.17g", "%g", "%r", "%e", "%.0f.", "-%.0f", "%12.5f", "%.2e0", "+%f",
)  # fmt: skip
ODD = (
    b"nan", b"-inf", b"", b"  ", b"1.", b".5", b"1_0", b"- 5", b"--5", b"5-", b"1e400", b"1 2", b"0x10",
    b"\xb2",
)  # fmt: skip


def read(cells: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([len(cell) + 1 for cell in cells], dtype=np.int64) - 1
    starts = ends - [len(cell) for cell in cells]
    return floats(np.frombuffer(b"|".join(cells) + b"|", np.uint8), starts, ends)


def agrees(cells: list[bytes]) -> None:
    for cell, value, known in zip(cells, *read(cells), strict=True):
        try:
            wanted = float(cell)
        except ValueError:
            assert not known, cell
            assert np.isnan(value)
        else:
            assert known, cell
            assert value.tobytes() == np.float64(wanted).tobytes(), cell


def number(random_: random.Random) -> float:
    exponent = random_.choice([0, 0, 3, 20, 300])
    return random_.gauss(0, 1) * 10.0 ** random_.randint(-exponent, exponent)


@pytest.mark.parametrize("seed", range(40))
def test_every_number_is_the_one_float_gives(seed):
    random_ = random.Random(seed)
    for _ in range(12):
        usual, share_odd = random_.choice(FORMATS), random_.random() / 3
        cells = []
        for _ in range(random_.choice([1, 7, 9, 60])):
            form = random_.choice(FORMATS) if random_.random() < share_odd else usual
            cell = bytearray(form % number(random_), "ascii")
            if random_.random() < share_odd / 4:
                cell[random_.randrange(len(cell))] = random_.choice(b" -+.eE0x9_nan")
            cells.append(b" " * random_.randint(0, 5) + bytes(cell))
        agrees(cells)


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_cell_is_what_float_says_of_it_among_others(odd):
    agrees([b"1.50", b"2.25", odd] * 10)
    agrees([odd] * 10)
    agrees([odd])


def test_mantissas_and_exponents_at_the_edge_of_what_is_exact():
    agrees([b"9007199254740991", b"9007199254740992", b"9007199254740993", b"9999999999999999"] * 4)
    agrees([b"1.0E%+03d" % exponent for exponent in range(-30, 31)])
    agrees([b"0.%d" % (10**digits + 1) for digits in range(25)])


def test_no_cell_gives_nothing():
    empty = np.empty(0, np.int64)
    values, known = floats(np.frombuffer(b"1", np.uint8), empty, empty)
    assert len(values) == len(known) == 0


def test_cells_may_overlap_and_stand_at_the_very_start():
    text = b"123456.25"
    places = np.array(list(pairwise(range(10))), np.int64)
    values, known = floats(np.frombuffer(text, np.uint8), places[:, 0].copy(), places[:, 1].copy())
    assert known.tolist() == [True] * 6 + [False] + [True] * 2
    assert values[known].tolist() == [1, 2, 3, 4, 5, 6, 2, 5]
