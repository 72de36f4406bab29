"""The lane of faults: marks at their steps, words that cover nothing, the same picture every time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.figures.runs import diagnosis, falling, run

from chronicle.figures import draw
from chronicle.figures.lane import HEIGHT_PX, FaultMark, lane
from chronicle.figures.plan import GAP
from chronicle.figures.style import NARROW, WIDE
from chronicle.figures.subject import subject
from chronicle.figures.text import text_px
from chronicle.figures.whole import whole
from chronicle.model import Fault, Place

KINDS = ("xid", "nccl", "out-of-memory", "preemption", "<b>", "")


def fault(step: int | None, kind: str = "xid") -> Fault:
    return Fault(Place("dmesg", 1), "what", kind=kind, at_step=step)


def extent(mark: FaultMark) -> tuple[float, float]:
    """What a mark covers, with its words."""
    words = 4 + 6 + text_px(mark.words, 11)
    left = mark.at_px - (words if mark.side < 0 else 4)
    return left, mark.at_px + (words if mark.side > 0 else 4)


@pytest.mark.parametrize("width", [820.0, 270.0])
@given(placed=st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(KINDS)), max_size=40))
def test_words_cover_no_other_mark_and_stay_on_the_panel(width, placed):
    marks = lane([fault(step, kind) for step, kind in placed], 0, 1000, width)
    covered = [extent(mark) for mark in marks]
    assert all(a[1] <= b[0] + 1 for a, b in pairwise(covered))
    assert all(left >= -5 and right <= width + 5 for left, right in covered)  # a cross is 8 px wide


def test_faults_next_to_each_other_are_one_mark_with_all_their_kinds():
    marks = lane([fault(500, "xid"), fault(501, "nccl"), fault(502, "signal"), fault(700)], 0, 1000, 800)
    assert [(mark.step, mark.words, mark.side) for mark in marks] == [
        (500, "Xid, NCCL +1", 1),
        (700, "Xid", 1),
    ]


def test_where_two_kinds_have_no_room_one_is_named():
    narrow = lane([fault(500, "xid"), fault(500, "out-of-memory"), fault(570)], 0, 1000, 800)
    assert [mark.words for mark in narrow] == ["Xid, out of memory", "Xid"]
    tight = lane([fault(0, "xid"), fault(0, "out-of-memory"), fault(100, "nccl")], 0, 1000, 800)
    assert [(mark.words, mark.side) for mark in tight] == [("Xid +1", 1), ("NCCL", 1)]


def test_a_fault_without_a_step_or_outside_has_no_mark():
    assert lane([fault(None), fault(-1), fault(1001)], 0, 1000, 800) == []


def test_the_figure_grows_by_the_lane_and_tells_of_it(tmp_path):
    calm = run(range(300), falling(300))
    failed = replace(calm, faults=(fault(120), fault(130, "nccl")))
    plans = [whole(subject(one, diagnosis()), width) for width in (WIDE, NARROW) for one in (calm, failed)]
    assert [b.height - a.height for a, b in (plans[:2], plans[2:])] == [HEIGHT_PX + GAP - 4] * 2
    figures = draw(failed, diagnosis(), tmp_path, title="t")
    assert "Faults beside the curves: Xid at step 120; NCCL at step 130." in figures[0].alt
    assert "Crosses: faults of machines and jobs, listed below." in figures[0].caption
    first = (tmp_path / "whole-dark.webp").read_bytes()
    draw(failed, diagnosis(), tmp_path, title="t")
    assert (tmp_path / "whole-dark.webp").read_bytes() == first
