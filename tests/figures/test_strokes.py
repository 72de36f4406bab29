"""The envelope against a slow twin, and the law that no sample is lost."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.figures.scales import Line, Pane, Panel, Scale, Segment, Window
from chronicle.figures.sheet import Sheet
from chronicle.figures.strokes import Curves, clips, envelope, strokes
from chronicle.model import Role

VALUES = st.lists(
    st.floats(-1e9, 1e9) | st.just(float("nan")) | st.just(float("inf")), min_size=1, max_size=300
)


def slowly(steps, values, first, last, columns):
    """Column by column, sample by sample."""
    samples = {}
    for step, value in zip(steps, values, strict=True):
        column = min(max(int((step - first) * (columns / (last - first))), 0), columns - 1)
        samples.setdefault(column, []).append(value)
    rows = []
    for column, inside in sorted(samples.items()):
        known = [v for v in inside if np.isfinite(v)]
        centre = first + (column + 0.5) * ((last - first) / columns)
        rows.append((centre, min(known), np.median(known), max(known)) if known else (centre, *[np.nan] * 3))
    return np.array(rows)


@given(values=VALUES, columns=st.integers(1, 40), gap=st.integers(1, 7))
def test_the_envelope_is_the_slow_one(values, columns, gap):
    steps = np.arange(len(values), dtype=float) * gap
    first, last = 0.0, max(1.0, steps[-1])
    fast = envelope(steps, np.array(values), first, last, columns)
    slow = slowly(steps, values, first, last, columns)
    np.testing.assert_array_equal(np.column_stack(fast), slow)


@pytest.mark.parametrize("at", [0, 700_000, 999_999])
def test_one_sample_among_a_million_is_drawn_at_full_strength(at):
    values = 2 + 0.03 * np.random.default_rng(3).normal(size=1_000_000)
    values[at] = 3.9
    line = Line("loss", "loss", [Segment(np.arange(1_000_000.0), values, True)])
    panel = Panel("loss", None, Role.LOSS, [line])
    (stroke,) = strokes(panel, Scale(1.5, 4), Window(0, 999_999, 824))
    column = int(np.nanargmax(stroke.high))
    assert stroke.high[column] == 3.9
    assert stroke.tall[column] and stroke.tall.sum() == 1
    assert abs(stroke.x[column] - at) <= 999_999 / 824


def test_no_shade_spans_steps_that_were_not_logged():
    noise = np.random.default_rng(3).normal(size=10_000)
    steps = np.append(np.arange(5_000.0), np.arange(15_000.0, 20_000.0))
    panel = Panel("loss", None, Role.LOSS, [Line("loss", "loss", [Segment(steps, noise, True)])])
    (stroke,) = strokes(panel, Scale(-4, 4), Window(0, 19_999, 400))
    areas = []

    class Recorder(Sheet):
        def area(self, x, y, token, z, **style):
            areas.append(np.asarray(x))

    stroke.paint(Pane(Recorder(400, 100), 0, 0, 100, Window(0, 19_999, 400), Scale(-4, 4)))
    parts = np.split(areas[-1], np.flatnonzero(np.isnan(areas[-1])))
    assert max(np.nanmax(part) - np.nanmin(part) for part in parts if np.isfinite(part).any()) < 110


def test_a_short_attempt_has_columns_as_wide_as_a_long_one():
    noise = np.random.default_rng(1).normal(size=60_000)
    long = Segment(np.arange(50_000.0), noise[:50_000], True)
    short = Segment(np.arange(50_000.0, 60_000.0), noise[50_000:], True)
    panel = Panel("loss", None, Role.LOSS, [Line("loss", "loss", [long, short])])
    (stroke,) = strokes(panel, Scale(-4, 4), Window(0, 60_000, 600))
    gaps = np.diff(stroke.x[np.isfinite(stroke.x)])
    assert gaps == pytest.approx(100)


def test_each_of_many_spikes_beyond_the_frame_has_a_mark_with_its_value():
    """One mark for a chain of spikes would tell the value of the first and be silent about all others."""
    steps, values = np.arange(900.0), np.full(900, 2.0)
    values[[50, 150, 160, 250, 350]] = [9, 4, 5, 3.02, 6]  # two are neighbours, and one is hardly beyond
    panel = Panel("loss", None, Role.LOSS, [Line("loss", "loss", [Segment(steps, values, True)])])
    marks = clips(panel, Scale(1.5, 3), Window(0, 900, 720), cut_from=6)
    assert [(clip.x, clip.words) for clip in marks] == [(50, "≥ 9.00"), (350, "≥ 6.00"), (160, "5.00")]


@pytest.mark.parametrize(("width", "shown"), [(824, "arxiv-long-name-of-a-set"), (268, "arxiv-l…-set")])
def test_the_name_of_a_line_is_shortened_where_it_would_cover_a_curve(width, shown):
    steps = np.arange(400.0)
    restless = np.where(steps < 240, np.where(steps % 2, 1.05, 2.95), 1.05)  # leaves room at the right alone
    lines = [
        Line("arxiv-long-name-of-a-set", "a", [Segment(steps, np.full(400, 2.0), True)]),
        Line("web", "b", [Segment(steps, restless, True)], "second"),
    ]
    window, scale, sheet = Window(0, 399, width), Scale(1, 3), Sheet(900, 200)
    curves = Curves(Panel("loss", None, Role.LOSS, lines), scale, 170, window, np.inf)
    curves.paint(Pane(sheet, 54, 20, 170, window, scale), 5)
    names = re.findall(r'font-weight="700">(.*?)</text>', sheet.svg().decode())
    assert names == [shown, "web"]
