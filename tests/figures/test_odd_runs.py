"""Nothing that a log may hold makes a figure fail: neither values, nor steps, nor names, nor findings."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.figures.runs import attempt, diagnosis, falling, finding, run, series

from chronicle.classify.patterns import PATTERNS
from chronicle.figures import whole_alt, whole_caption, zoom_alt
from chronicle.figures.layout import Scene, thumbnail, whole_plan, zoom_plan
from chronicle.figures.sheet import NARROW, WIDE
from chronicle.story import tell
from chronicle.timeline import stitch

SVG = "{http://www.w3.org/2000/svg}"
NAN, INF = float("nan"), float("inf")
LEVEL = falling(400)


def painted(timeline, judged):
    """Every figure of a run is XML whose paths are numbers; the plan of the whole."""
    run = Scene(timeline, judged)
    by_mark = {event.mark: event for event in tell(timeline, judged).events if event.patterns}
    plans = [whole_plan(run, width) for width in (WIDE, NARROW)]
    zooms = [(item, zoom_plan(run, item, WIDE)) for item in run.zooms()]
    for sheet in [*(plan.paint() for plan in [*plans, *(plan for _, plan in zooms)]), thumbnail(run)]:
        drawn = ElementTree.fromstring(sheet.svg())
        numbers = " ".join(path.get("d", "") for path in drawn.iter(f"{SVG}path"))
        assert drawn.tag == f"{SVG}svg" and re.fullmatch(r"[MlLhvz0-9 .-]*", numbers)
    assert whole_alt("run", run, plans[0], by_mark) and whole_caption(run, plans[0])
    assert all(zoom_alt(item.number, by_mark, plan) for item, plan in zooms)
    return plans[0]


ODD = {
    "one point": ([5], [1.0]),
    "two points": ([5, 6], [1.0, 2.0]),
    "one step again and again": ([7] * 50, LEVEL[:50]),
    "steps backwards": (np.arange(400)[::-1], LEVEL),
    "constant": (np.arange(400), np.full(400, 2.5)),
    "zero": (np.arange(400), np.zeros(400)),
    "negative": (np.arange(400), -50 * LEVEL),
    "all NaN": (np.arange(400), np.full(400, NAN)),
    "all Inf": (np.arange(400), np.full(400, INF)),
    "every other NaN": (np.arange(400), np.where(np.arange(400) % 2, LEVEL, NAN)),
    "one huge": (np.arange(400), np.where(np.arange(400) == 200, 1e30, LEVEL)),
    "one hugely negative": (np.arange(400), np.where(np.arange(400) == 200, -1e308, LEVEL)),
    "largest and smallest": (np.arange(4), [1.7e308, -1.7e308, 5e-324, 0]),
    "tiny": (np.arange(400), 1e-300 * LEVEL),
    "huge": (np.arange(400), 1e300 * LEVEL),
    "huge steps": (np.arange(400) + 2**53, LEVEL),
    "steps that are one number as floats": (np.arange(400) + (2**63 - 401), LEVEL),
    "negative steps": (np.arange(400) - 10**9, LEVEL),
    "a hole": (np.r_[0:200, 10**9 : 10**9 + 200], LEVEL),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_values_and_steps_are_drawn(name):
    steps, values = ODD[name]
    lowest, highest = int(min(steps)), int(max(steps))
    judged = diagnosis(
        finding("nan-inf", (lowest + highest) // 2, (lowest + highest) // 2),
        finding("frozen-metric", lowest, None),
        finding("plateau", lowest - 100, highest + 100),
    )
    painted(run(steps, values), judged)


@pytest.mark.parametrize("value", [NAN, INF])
def test_a_thumbnail_without_a_value_shows_crosses(value):
    sheet = thumbnail(Scene(run(np.arange(400), np.full(400, value)), diagnosis()))
    drawn = ElementTree.fromstring(sheet.svg())
    assert [path.get("class") for path in drawn.iter(f"{SVG}path")] == ["live s", "live s"]


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "$\\frac{1}{0}$",
        "$x_{1$",
        "../../etc/passwd",
        "漢字 \u202e𝕏\u0301\x00\n\r\t\x1b[31m",
        "\ud800",
        "%s {0} \\n",
        "a" * 5000,
        " ",
        "_",
    ],
)
def test_names_out_of_logs_are_drawn_as_they_are(name):
    timeline = stitch([attempt(name, series(name, range(100), LEVEL[:100], unit=name), axis=name)])
    painted(timeline, diagnosis(finding("spike-fast-recovery", 50, 60, name, name)))


@pytest.mark.slow
def test_a_hundred_attempts_are_drawn():
    parts = [
        attempt(f"{i:03}", series("loss", range(3 * i, 3 * i + 5), LEVEL[3 * i : 3 * i + 5]))
        for i in range(100)
    ]
    timeline = stitch(parts)
    plan = painted(timeline, diagnosis(joins=timeline.joins))
    assert len(plan.joins.letters) == 24 and plan.height < 650


def test_points_that_are_overtaken_one_by_one_are_drawn():
    first = attempt("a", series("loss", np.arange(400), LEVEL))
    second = attempt("b", series("loss", np.arange(0, 400, 2), LEVEL[::2]))
    painted(stitch([first, second]), diagnosis())


@pytest.mark.slow
def test_forty_findings_of_every_pattern_are_drawn():
    forty = [finding(PATTERNS[n % len(PATTERNS)].id, 10 * n, 10 * n + 3 * (n % 3)) for n in range(40)]
    plan = painted(run(np.arange(400), LEVEL), diagnosis(*forty))
    assert len(plan.findings.badges) == 30


@pytest.mark.slow
@settings(max_examples=examples(12, 5))
@given(
    values=st.lists(st.floats(allow_subnormal=True), min_size=1, max_size=80),
    first=st.integers(-(2**40), 2**40),
    gap=st.integers(0, 2**20),
    spans=st.lists(st.tuples(st.integers(-5, 90), st.none() | st.integers(0, 90)), max_size=4),
)
def test_any_run_is_drawn(values, first, gap, spans):
    steps = first + gap * np.arange(len(values))
    drawn_findings = [
        finding("level-shift", first + gap * a, None if length is None else first + gap * (a + length))
        for a, length in spans
    ]
    painted(run(steps, values), diagnosis(*drawn_findings))
