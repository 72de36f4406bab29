"""Marks never cover each other: laws over what places them, which the painter follows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.figures.runs import diagnosis, falling, finding, run

from chronicle.classify.patterns import BY_ID
from chronicle.figures import draw
from chronicle.figures.annotations import (
    BADGE_PX,
    LETTER_PX,
    MOST_BADGES,
    Band,
    FaultLane,
    FaultMark,
    JoinMarks,
    Occurrence,
    badges,
    bands,
    fills,
    spread,
)
from chronicle.figures.layout import GAP_PX, LEFT_PX, Scene, whole_plan
from chronicle.figures.scales import RIGHT_PX, Window
from chronicle.figures.sheet import NARROW, WIDE, text_px
from chronicle.model import Fault, Join, JoinKind, Place, Verdict

WIDTHS = [width - LEFT_PX - RIGHT_PX for width in (WIDE, NARROW)]
PATTERNS = ("spike-fast-recovery", "spike-slow-recovery", "divergence-after-spike", "quantised-loss")
PLACES = st.lists(st.floats(0, 1), max_size=MOST_BADGES)


def occurrence(number, finding):
    """A finding with a badge; one that is not over ends at step 1000."""
    end = 1000 if finding.end_step is None else finding.end_step
    return Occurrence(number, finding, end, 0, BY_ID[finding.pattern].verdict)


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
    twelve = [
        occurrence(n + 1, finding(PATTERNS[n % 4], 15_000 + 50 * n, 15_030 + 50 * n)) for n in range(12)
    ]
    marks = badges(bands(twelve, Window(0, 20_000, width)), width)
    assert len(marks) == 12 and overlapping(marks, BADGE_PX) == []
    assert max(abs(mark.at_px - mark.wanted_px) for mark in marks) < 4 * BADGE_PX


@pytest.mark.parametrize("width", WIDTHS)
@given(steps=st.lists(st.integers(0, 1000), max_size=120))
def test_letters_of_joins_never_overlap(width, steps):
    joins = [(str(i), Join(JoinKind.RESUME, i, i + 1, s, s, 0)) for i, s in enumerate(steps)]
    marks = JoinMarks(joins, Window(0, 1000, width))
    assert overlapping(marks.letters, LETTER_PX) == []
    assert set(marks.lines) <= set(map(float, steps))


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 400), st.sampled_from(PATTERNS)),
        min_size=1,
        max_size=20,
    )
)
def test_bands_on_one_lane_never_overlap_and_are_never_thinner_than_5_px(spans):
    items = [
        occurrence(n, finding(pattern, start, start + length))
        for n, (start, length, pattern) in enumerate(sorted(spans), 1)
    ]
    shown = bands(items, Window(0, 1000, 268))
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
    (band,) = bands([occurrence(1, finding("near-perfect", 50, 1000))], Window(0, 1000, 800))
    assert not band.fill and fills([band]) == []


def test_a_finding_that_is_not_over_says_so():
    items = [occurrence(1, finding("nan-inf", 0, 10)), occurrence(2, finding("nan-inf", 500, None))]
    over, still = bands(items, Window(0, 1000, 800))
    assert (over.open, still.open) == (False, True)


KINDS = ("xid", "nccl", "out-of-memory", "preemption", "<b>", "")


def fault(step: int | None, kind: str = "xid") -> Fault:
    return Fault(Place("dmesg", 1), "what", kind=kind, at_step=step)


def lane(faults, width):
    return FaultLane(faults, Window(0, 1000, width)).marks


def extent(mark: FaultMark) -> tuple[float, float]:
    """What a mark covers, with its words."""
    words = 4 + 6 + text_px(mark.words)
    left = mark.at_px - (words if mark.side < 0 else 4)
    return left, mark.at_px + (words if mark.side > 0 else 4)


@pytest.mark.parametrize("width", [820.0, 270.0])
@given(placed=st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(KINDS)), max_size=40))
def test_words_cover_no_other_mark_and_stay_on_the_panel(width, placed):
    marks = lane([fault(step, kind) for step, kind in placed], width)
    covered = [extent(mark) for mark in marks]
    assert all(a[1] <= b[0] + 1 for a, b in pairwise(covered))
    assert all(left >= -5 and right <= width + 5 for left, right in covered)  # a cross is 8 px wide


def test_faults_next_to_each_other_are_one_mark_with_all_their_kinds():
    marks = lane([fault(500, "xid"), fault(501, "nccl"), fault(502, "signal"), fault(700)], 800)
    assert [(mark.step, mark.words, mark.side) for mark in marks] == [
        (500, "Xid, NCCL +1", 1),
        (700, "Xid", 1),
    ]


def test_where_two_kinds_have_no_room_one_is_named():
    narrow = lane([fault(500, "xid"), fault(500, "out-of-memory"), fault(570)], 800)
    assert [mark.words for mark in narrow] == ["Xid, out of memory", "Xid"]
    tight = lane([fault(0, "xid"), fault(0, "out-of-memory"), fault(100, "nccl")], 800)
    assert [(mark.words, mark.side) for mark in tight] == [("Xid +1", 1), ("NCCL", 1)]


def test_a_fault_without_a_step_or_outside_has_no_mark():
    assert lane([fault(None), fault(-1), fault(1001)], 800) == []


def test_the_figure_grows_by_the_lane_and_tells_of_it(tmp_path):
    calm = run(range(300), falling(300))
    failed = replace(calm, faults=(fault(120), fault(130, "nccl")))
    plans = [
        whole_plan(Scene(case, diagnosis()), width) for width in (WIDE, NARROW) for case in (calm, failed)
    ]
    assert [b.height - a.height for a, b in (plans[:2], plans[2:])] == [FaultLane.height + GAP_PX - 4] * 2
    figures = draw(failed, diagnosis(), tmp_path, (), title="t")
    assert "Faults beside the curves: Xid at step 120; NCCL at step 130." in figures[0].alt
    assert "Crosses mark faults of machines and jobs, which are listed below." in figures[0].caption
    assert (tmp_path / "whole-wide.svg").read_bytes() == plans[1].paint().svg()
