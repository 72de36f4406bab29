"""The lineage figure: rows, joins and words of runs with two attempts and with very many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image
from tests.figures.runs import diagnosis
from tests.timeline.test_timeline_laws import RUNS
from tests.timeline.timeline_logs import HOUR, log

from chronicle.figures import draw
from chronicle.figures.lineage import end_marker, fitted, lineage
from chronicle.figures.scales import SMALL_PX
from chronicle.figures.style import NARROW, TOKENS, WIDE, save, text_px, theme
from chronicle.model import Timeline
from chronicle.timeline import stitch
from chronicle.timeline.endings import HOWS, Ending, endings


def rolled_back_twice() -> Timeline:
    """b goes back from a's end, c goes back beyond b's start, d resumes."""
    spans = {"a": range(1000), "b": range(800, 900), "c": range(600, 1300), "d": range(1300, 1500)}
    logs = [log(name, steps, k, k * HOUR) for k, (name, steps) in enumerate(spans.items())]
    ends = ["crashed", "killed", "nonsense", "finished"]
    return stitch([replace(one, facts={"ended": end}) for one, end in zip(logs, ends, strict=True)])


def many(attempts: int) -> Timeline:
    """Every attempt goes back a little and on for longer."""
    return stitch([log(f"a{k:02d}", range(100 * k, 100 * k + 150), k, k * HOUR) for k in range(attempts)])


def words(timeline, width=WIDE):
    return [said for _, _, said in lineage(timeline, "step", width).rows]


def test_what_became_of_each_attempt():
    assert words(rolled_back_twice()) == [
        "crashed, back to 800, 199 steps discarded, after 43.4 min",
        "killed, back to 600, 299 steps discarded, after 58.4 min",
        "resumed, after 48.4 min",
        "finished, latest",
    ]


def test_what_the_classifier_saw_is_told_where_no_log_says_how_it_ended():
    timeline = stitch([log("a", range(1000)), log("b", range(800, 1600))])
    seen = {"left_pattern": "divergence-no-spike", "left_start_step": 900, "margin_steps": 100}
    judged = replace(timeline, joins=tuple(replace(j, evidence=seen) for j in timeline.joins))
    assert words(judged)[0] == "divergence without a spike, back to 800, 199 steps discarded"


def test_a_join_leads_down_from_the_attempt_that_held_its_step():
    timeline = rolled_back_twice()
    plan = lineage(timeline, "step", WIDE)
    assert [(j.before, plan.holder(j), j.after) for j in timeline.joins] == [
        (0, 0, 1),
        (1, 0, 2),
        (2, 2, 3),
    ]


@pytest.mark.parametrize(
    ("change", "how"),
    [
        ({}, ""),
        ({"truncated": True}, "cut off"),
        *(({"facts": {"ended": how}, "truncated": True}, how) for how in HOWS),
        ({"facts": {"ended": "<b>"}}, ""),
    ],
)
def test_how_a_process_ended(change, how):
    assert endings(stitch([replace(log("a", range(50)), **change)]))[0].how == how


def test_a_loss_that_is_no_number_at_the_end_is_said():
    one = log("a", range(50))
    one.series["loss"].values[-1] = np.nan
    assert [(e.how, e.then) for e in endings(stitch([one]))] == [("in NaN", "latest")]


def test_an_attempt_lives_up_to_the_step_that_was_gone_back_to():
    sparse = stitch([log("a", range(0, 1000, 100), 0, 0), log("b", range(450, 1500, 50), 1, HOUR)])
    assert [bar.spans for bar, _, _ in lineage(sparse, "step", WIDE).rows] == [
        ((0, 450, True), (450, 900, False)),
        ((450, 1450, True),),
    ]


def test_branches_that_were_left_and_trainings_of_their_own():
    branch = stitch([log("a", range(1000)), log("b", range(800, 900)), log("c", range(1001, 1200))])
    assert words(branch) == ["resumed", "given up", "latest"]
    seeds = stitch([log("a", range(99), 0, 0), log("b", range(99), 1, 1)], relation="seeds")
    assert words(seeds) == ["a: a training of its own", "b: a training of its own"]


@pytest.mark.parametrize(
    ("how", "then", "mark"),
    [
        ("finished", "latest", "o"),
        ("node failure", "rolled back", "X"),
        ("in NaN", "latest", "X"),
        ("NCCL error", "resumed", "X"),
        ("preempted", "resumed", "|"),
        ("", "rolled back", "|"),
        ("cut off", "latest", ">"),
        ("", "apart", ">"),
    ],
)
def test_the_mark_of_an_end(how, then, mark):
    assert end_marker(Ending(0, how, then)) == mark


@pytest.mark.parametrize("attempts", [2, 40, 70])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_rows_stay_readable(attempts, width):
    plan = lineage(many(attempts), "step", width)
    assert plan.row_px >= 1.5 * SMALL_PX and len(plan.rows) == min(attempts, 60)
    assert plan.height < 60 * 34 + 80
    alt, caption = plan.words("T")
    assert alt.startswith(f"T: lineage of {len(plan.rows)} attempts over step ")
    assert ("are not drawn" in caption) is (attempts > 60)


@pytest.mark.parametrize("said", ["", "x" * 500, "\u202e<b>" * 90, "短い" * 60])
def test_words_fit_their_place(said):
    assert text_px(fitted(said, 200), SMALL_PX) <= 200


@pytest.mark.slow
def test_files_colours_and_bytes(tmp_path):
    timeline = rolled_back_twice()
    figure = draw(timeline, diagnosis(joins=timeline.joins), tmp_path, title="A run")[1]
    assert (figure.name, sorted(figure.files)) == (
        "lineage",
        ["dark", "dark-narrow", "light", "light-narrow"],
    )
    for variant, (file, width, height) in figure.files.items():
        colours = TOKENS[variant.split("-")[0]]
        with theme(colours):
            save(lineage(timeline, "step", width).paint(colours), tmp_path / "again.webp")
        assert (tmp_path / file).read_bytes() == (tmp_path / "again.webp").read_bytes()
        with Image.open(tmp_path / file) as image:
            assert image.size == (2 * width, 2 * height)
            seen = set(image.convert("RGB").get_flattened_data())
        assert {rgb(colours[name]) for name in ("live", "dead", "ink2")} <= seen


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_two_attempts_need_no_figure_of_their_own(tmp_path, unsaved):
    timeline = stitch([log("a", range(100)), log("b", range(50, 150))])
    figures = draw(timeline, diagnosis(joins=timeline.joins), tmp_path, title="A run")
    assert [figure.name for figure in figures] == ["whole", "thumb"]


@settings(max_examples=40)
@given(RUNS)
def test_any_run_has_a_lineage_or_none(attempts):
    timeline = stitch(attempts)
    assert len(endings(timeline)) == len(timeline.attempts)
    plan = lineage(timeline, "step", NARROW)
    if plan is not None:
        assert [end.attempt for _, end, _ in plan.rows] == [bar.attempt for bar, _, _ in plan.rows]
        assert all(plan.words("\u202e"))
