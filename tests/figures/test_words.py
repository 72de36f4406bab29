"""Words of a figure cover no curve that they need not cover, no other words, and stand where they belong."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.path import Path
from tests.figures.runs import attempt, diagnosis, falling, finding, run, series

from chronicle.classify.patterns import BY_ID
from chronicle.figures import whole_caption
from chronicle.figures.layout import Scene, whole_plan
from chronicle.figures.scales import Line, Pane, Panel, Scale, Segment, Window
from chronicle.figures.sheet import HALF_CAPITAL_PX, NARROW, WIDE, Sheet, bold_px
from chronicle.figures.strokes import Room, strokes
from chronicle.model import Role
from chronicle.timeline import stitch

SVG = "{http://www.w3.org/2000/svg}"
NAN = float("nan")
WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])


def labels(plan) -> dict[str, tuple[float, float, float, float]]:
    """The bold words over the curves: left, top, right and foot of each."""
    boxes = {}
    for text in ElementTree.fromstring(plan.paint().svg()).iter(f"{SVG}text"):
        if text.get("class").endswith(" h"):
            x, y = float(text.get("x")), float(text.get("y"))
            boxes[text.text] = (x, y - 8, x + bold_px(text.text), y)
    return boxes


def overlapping(boxes):
    return [
        (a, b)
        for (a, p), (b, q) in combinations(boxes.items(), 2)
        if p[0] < q[2] and q[0] < p[2] and p[1] < q[3] and q[1] < p[3]
    ]


def passes(steps, values, pane, box) -> bool:
    """Whether a line goes through a box: it is followed in steps of a hundredth of a pixel column."""
    fine = np.linspace(steps[0], steps[-1], 100_001)
    x, y = pane.x(fine), pane.y(np.interp(fine, steps, values))
    left, top, width, height = box
    return bool(((x > left + 1) & (x < left + width - 1) & (y > top) & (y < top + height)).any())


@given(
    values=st.lists(st.floats(0, 10), min_size=4, max_size=40), left=st.floats(0, 250), top=st.floats(0, 180)
)
def test_a_room_knows_every_curve_that_passes_a_box(values, left, top):
    steps, heights, window = np.arange(len(values)) * 10.0, np.array(values), Window(0, 400, 300)
    panel = Panel("loss", None, Role.LOSS, [Line("loss", "loss", [Segment(steps, heights, True)])])
    scale = Scale(0, 10)
    pane = Pane(Sheet(400, 300), 0, 0, 200, window, scale)
    room, box = Room(pane, strokes(panel, scale, window)), (left, top, 40.0, 13.0)
    assert room.covered(box) > 0 or not passes(steps, heights, pane, box)


@WIDTHS
def test_names_of_lines_cover_no_line_and_not_each_other(width):
    steps = np.arange(300)
    lines = [
        series(f"{name}/loss", steps, falling(300, k) + 0.25 * k, Role.DATASET_LOSS, dataset=name)
        for k, name in enumerate("abc")
    ]
    names_apart(lines, width)


@WIDTHS
def test_a_name_stands_off_where_lines_are_close_together_at_the_foot(width):
    """Under them is the frame, and just above each stands the next one."""
    steps = np.arange(300)
    fall = np.where(steps < 60, 10.0, 1.0)
    lines = [
        series(f"{name}/loss", steps, fall + 0.5 * k, Role.DATASET_LOSS, dataset=name)
        for k, name in enumerate(["validation", "training", "b"])
    ]
    names_apart(lines, width)


def names_apart(lines, width):
    plan = whole_plan(Scene(stitch([attempt("x", *lines)]), diagnosis(finding("level-shift", 90, 99))), width)
    (curves,) = plan.curves
    boxes = labels(plan)
    assert len(boxes) == len(curves.panel.lines) > 1 and overlapping(boxes) == []
    top = plan.findings.lift + 24
    pane = Pane(Sheet(1, 1), 54, top, curves.height, plan.window, curves.scale)
    for left, upper, right, foot in boxes.values():
        box = (left, upper, right - left, foot - upper)
        assert not any(passes(s.steps, s.values, pane, box) for s in curves.panel.segments())


@WIDTHS
def test_no_name_floats_where_its_line_has_ended_in_nan(width):
    steps = np.arange(400)
    ended = np.where(steps < 250, falling(400), NAN)
    lines = [
        series("train/loss", steps, ended),
        series("val/loss", steps[::10], ended[::10] + 0.1, Role.VALIDATION_LOSS),
    ]
    judged = diagnosis(finding("nan-inf", 250, None, "train/loss", "x"))
    plan = whole_plan(Scene(stitch([attempt("x", *lines)]), judged), width)
    boxes = labels(plan)
    last = 54 + plan.window.px(250)
    assert {"train/loss", "val/loss"} <= set(boxes) and overlapping(boxes) == []
    assert all(boxes[name][2] <= last + 1 for name in ("train/loss", "val/loss"))


@WIDTHS
def test_a_peak_that_the_frame_cuts_has_its_value(width):
    values = falling(400)
    values[200] = 512.0
    assert "512" in labels(whole_plan(Scene(run(np.arange(400), values), diagnosis()), width))


@pytest.mark.parametrize("number", ["7", "12", "30"])
@pytest.mark.parametrize("pattern", ["spike-slow-recovery", "spike-fast-recovery", "nan-inf", "grokking"])
def test_a_number_stays_within_its_badge(number, pattern):
    many = [finding(pattern, 10 * n, 10 * n + 2) for n in range(1, int(number) + 1)]
    drawn = ElementTree.fromstring(
        whole_plan(Scene(run(np.arange(400), falling(400)), diagnosis(*many)), WIDE).paint().svg()
    )
    (text,) = [t for t in drawn.iter(f"{SVG}text") if t.text == number and t.get("class").startswith("on_")]
    x, y = (float(text.get(name)) for name in "xy")
    half, capital = bold_px(number) / 2, 2 * HALF_CAPITAL_PX
    corners = [(x + a * (half - 1), y - b * capital) for a in (-1, 1) for b in (0, 1)]
    shapes = badges(drawn, BY_ID[pattern].verdict)
    assert any(all(holds(corner) for corner in corners) for holds in shapes)


def badges(drawn, verdict):
    """For each badge of a verdict whether it holds a point."""
    for path in drawn.iter(f"{SVG}path"):
        token, *form = path.get("class", "none").split()
        numbers = [float(n) for n in re.findall(r"-?(?:\d+\.\d+|\.\d+|\d+)", path.get("d"))]
        if token == verdict and form == ["d"]:
            centre, reach = np.array(numbers[:2]), float(path.get("stroke-width")) / 2
            yield lambda point, centre=centre, reach=reach: np.hypot(*(centre - point)) <= reach
        elif token == verdict and not form and not path.get("opacity"):
            outline = Path(np.cumsum(np.reshape(numbers, (-1, 2)), axis=0))
            yield outline.contains_point


def test_a_caption_says_where_the_drawn_series_end_before_the_log():
    """The axis of a run that diverged at step 72 stopped at 100 of 10 666 steps, "over the whole run"."""
    logged = [series("loss", range(100), falling(100))]
    for over in ("the whole run", "steps 0 to 99; other series go on to step 999"):
        drawn = Scene(stitch([attempt("a.csv", *logged)]), diagnosis())
        assert whole_caption(drawn, whole_plan(drawn, WIDE)).startswith(f"loss over {over}. ")
        logged.append(series("clock", range(1000), range(1000), Role.OTHER))
