"""The envelope against a slow twin, and the law that no sample is lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.figures.panels import Line, Panel, Segment
from chronicle.figures.scales import Scale, Window
from chronicle.figures.strokes import envelope, strokes
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
    np.testing.assert_array_equal(np.column_stack([fast.centre, fast.low, fast.mid, fast.high]), slow)


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


def test_a_short_attempt_has_columns_as_wide_as_a_long_one():
    noise = np.random.default_rng(1).normal(size=60_000)
    long = Segment(np.arange(50_000.0), noise[:50_000], True)
    short = Segment(np.arange(50_000.0, 60_000.0), noise[50_000:], True)
    panel = Panel("loss", None, Role.LOSS, [Line("loss", "loss", [long, short])])
    (stroke,) = strokes(panel, Scale(-4, 4), Window(0, 60_000, 600))
    gaps = np.diff(stroke.x[np.isfinite(stroke.x)])
    assert gaps == pytest.approx(100)
