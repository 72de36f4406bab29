"""Marks never cover each other: laws over the layout functions, which the painter follows."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.figures.runs import finding

from chronicle.figures.layout import (
    BADGE_PX,
    LETTER_PX,
    MOST_BADGES,
    Band,
    badges,
    bands,
    fills,
    letters,
    spread,
)
from chronicle.figures.plan import LEFT, RIGHT
from chronicle.figures.style import NARROW, WIDE
from chronicle.model import Join, JoinKind, Verdict

WIDTHS = [WIDE - LEFT - RIGHT, NARROW - LEFT - RIGHT]
PATTERNS = ("spike-fast-recovery", "spike-slow-recovery", "divergence-after-spike", "quantised-loss")
PLACES = st.lists(st.floats(0, 1), max_size=MOST_BADGES)


def overlapping(marks, size_px):
    """Pairs of marks of one row that are closer than their size."""
    return [
        (a, b)
        for a, b in combinations(marks, 2)
        if a.row == b.row and abs(a.at_px - b.at_px) < size_px - 1e-6
    ]


@pytest.mark.parametrize("width", WIDTHS)
@given(places=PLACES)
def test_badges_never_overlap_and_stay_on_the_panel(width, places):
    marks = spread([(place * width, str(i)) for i, place in enumerate(places)], BADGE_PX, width)
    assert len(marks) == len(places)
    assert overlapping(marks, BADGE_PX) == []
    assert all(BADGE_PX / 2 - 1e-6 <= mark.at_px <= width - BADGE_PX / 2 + 1e-6 for mark in marks)
    assert max((mark.row for mark in marks), default=0) <= 4


@given(places=PLACES)
def test_badges_keep_the_order_of_what_they_mark(places):
    marks = spread([(place * 800, str(i)) for i, place in enumerate(places)], BADGE_PX, 800)
    assert all(a.wanted_px <= b.wanted_px and a.at_px <= b.at_px for a, b in pairwise(marks))


def test_a_badge_alone_stands_over_its_finding():
    (mark,) = spread([(400.0, "1")], BADGE_PX, 800)
    assert (mark.at_px, mark.row) == (400.0, 0)


@pytest.mark.parametrize("width", WIDTHS)
def test_twelve_findings_close_together_keep_their_badges_apart(width):
    twelve = [(n + 1, finding(PATTERNS[n % 4], 15_000 + 50 * n, 15_030 + 50 * n)) for n in range(12)]
    shown = bands(twelve, {n: f.end_step for n, f in twelve}, 0, 20_000, width)
    marks = badges(shown, frozenset(range(1, 13)), width)
    assert len(marks) == 12 and overlapping(marks, BADGE_PX) == []
    assert max(abs(mark.at_px - mark.wanted_px) for mark in marks) < 4 * BADGE_PX


@pytest.mark.parametrize("width", WIDTHS)
@given(steps=st.lists(st.integers(0, 1000), max_size=120))
def test_letters_of_joins_never_overlap(width, steps):
    joins = [(str(i), Join(JoinKind.RESUME, i, i + 1, s, s, 0)) for i, s in enumerate(steps)]
    marks, lines = letters(joins, 0, 1000, width)
    assert overlapping(marks, LETTER_PX) == []
    assert set(lines) <= set(map(float, steps))


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 400), st.sampled_from(PATTERNS)),
        min_size=1,
        max_size=20,
    )
)
def test_bands_on_one_lane_never_overlap_and_are_never_thinner_than_5_px(spans):
    items = [
        (n, finding(pattern, start, start + length))
        for n, (start, length, pattern) in enumerate(sorted(spans), 1)
    ]
    shown = bands(items, {n: f.end_step for n, f in items}, 0, 1000, 268)
    assert all(band.right_px - band.left_px >= 5 - 1e-6 for band in shown)
    assert all(band.left_px >= 0 and band.right_px <= 268 for band in shown)
    for a, b in combinations(shown, 2):
        assert a.lane != b.lane or a.right_px <= b.left_px or b.right_px <= a.left_px
    tints = fills(shown)
    assert all(a.right_px <= b.left_px for a, b in pairwise(tints))


def test_where_findings_overlap_the_gravest_verdict_has_the_tint():
    def band(number, verdict, left, right):
        return Band(number, verdict, left, right, lane=number, fill=True, open=False)

    shown = [band(1, Verdict.GOOD, 0, 100), band(2, Verdict.BAD, 40, 60), band(3, Verdict.BAD, 50, 70)]
    assert [(f.verdict, f.left_px, f.right_px, f.depth) for f in fills(shown)] == [
        (Verdict.GOOD, 0, 40, 1),
        (Verdict.BAD, 40, 50, 1),
        (Verdict.BAD, 50, 60, 2),
        (Verdict.BAD, 60, 70, 1),
        (Verdict.GOOD, 70, 100, 1),
    ]


def test_a_finding_about_nearly_all_of_the_run_has_no_fill():
    (band,) = bands([(1, finding("near-perfect", 50, 1000))], {1: 1000}, 0, 1000, 800)
    assert not band.fill and fills([band]) == []


def test_a_finding_that_is_not_over_says_so():
    over, still = bands(
        [(1, finding("nan-inf", 0, 10)), (2, finding("nan-inf", 500, None))], {1: 10, 2: 1000}, 0, 1000, 800
    )
    assert (over.open, still.open) == (False, True)
