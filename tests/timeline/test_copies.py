"""Stitching by example: copies of one log, parts of one log, and what is made of a timeline."""

from __future__ import annotations

import numpy as np
import pytest
from tests.timeline.timeline_logs import HOUR, course, joins, log, names, series

from chronicle.model import Attempt
from chronicle.timeline import discarded, live, stitch

UP = range(1000)


def test_one_run_in_two_formats_is_judged_once():
    events = log("events", UP, start=0, norm=series("grad_norm", UP, np.arange(1000.0), 0))
    half = range(0, 1000, 2)
    rounded = np.round(events.series["loss"].values[::2], 4)
    more = {"m": series("train_loss", half, rounded), "v": series("val_loss", [0, 500], [9.0, 3.0])}
    table = log("table.csv", half, **more)
    table.series["loss"].values[:] = rounded
    timeline = stitch([table, events])
    assert (names(timeline), [c.name for c in timeline.copies]) == (["events"], ["table.csv"])
    assert list(timeline.series) == ["loss", "grad_norm", "val_loss"]
    assert timeline.attempts[0].sources == ("events", "table.csv")


def test_seeds_and_frozen_losses_are_no_copies():
    smooth = [log(n, UP, start=None) for n in "ab"]
    for seed, attempt in enumerate(smooth):
        noise = 1 + 5e-4 * np.random.default_rng(seed).standard_normal(1000)
        attempt.series["loss"].values[:] = 3 * noise
    assert stitch(smooth).copies == ()
    for attempt in smooth:
        attempt.series["loss"].values[:] = 4.085
    assert stitch(smooth).copies == ()


def test_the_same_values_an_hour_apart_are_another_process():
    timeline = stitch([log("a", UP, start=0), log("b", UP, start=HOUR)])
    assert (names(timeline), timeline.copies) == (["a", "b"], ())


def test_metrics_in_files_of_their_own_are_one_attempt():
    logs = [
        Attempt(n, (n,), stitch({n: (UP, course(UP, k))}).attempts[0].series)
        for k, n in enumerate(("loss", "grad_norm"))
    ]
    timeline = stitch(logs)
    assert (names(timeline), timeline.copies) == (["grad_norm"], ())
    assert timeline.attempts[0].sources == ("grad_norm", "loss")


def test_discarded_counts_steps_and_wall_clock():
    timeline = stitch([log("a", UP, start=0), log("b", range(800, 1600), seed=1, start=HOUR)])
    assert discarded(timeline) == {
        "discarded_steps": 199,
        "discarded_s": 200.0,
        "live_steps": 1599,
        "total_steps": 1798,
    }
    assert discarded(stitch([log("a", UP), log("b", range(800, 1600), seed=1)]))["discarded_s"] is None


def test_live_points_in_step_order():
    timeline = stitch([log("a", UP, start=0), log("b", range(800, 1600), seed=1, start=HOUR)])
    steps, values = live(timeline.series["loss"])
    assert steps.tolist() == list(range(1600))
    assert values[800:].tolist() == course(range(800, 1600), 1).tolist()


def test_frame_is_long_and_knows_what_is_dead():
    timeline = stitch([log("a", [0, 1, 2], start=0), log("b", [2, 3], 1, start=60)], run_id="r")
    table = timeline.frame()
    assert table.drop(columns="value").to_dict("list") == {
        "run": ["r"] * 5,
        "attempt": ["a", "a", "a", "b", "b"],
        "metric": ["loss"] * 5,
        "role": ["loss"] * 5,
        "live": [True, True, False, True, True],
        "step": [0, 1, 2, 2, 3],
        "time": list(table["time"]),
    }
    assert str(table["time"].dt.tz) == "UTC"
    assert [t.isoformat()[11:19] for t in table["time"]] == [
        "00:00:00",
        "00:00:01",
        "00:00:02",
        "00:01:00",
        "00:01:01",
    ]


EVENTS = "events.out.tfevents.{}.node-{}.{}.0"


def test_two_processes_are_no_copies_however_alike():
    logs = [log(EVENTS.format(1700000000, k, 41), UP) for k in (1, 2)]
    assert stitch(logs).copies == ()
    one_process = [log(EVENTS.format(1700000000, 1, 41) + end, UP) for end in ("", ".v2")]
    assert [c.name for c in stitch(one_process).copies] == [EVENTS.format(1700000000, 1, 41) + ".v2"]


@pytest.mark.parametrize("node, same", [(1, True), (2, False)])
def test_a_join_tells_whether_the_process_is_the_same(node, same):
    a = log(EVENTS.format(1700000000, 1, 41), UP, start=0)
    b = log(EVENTS.format(1700003600, node, 41), range(1000, 1500), 1, HOUR)
    assert stitch([a, b]).joins[0].evidence["same_process"] is same


def test_a_renamed_metric_does_not_break_the_course():
    after = stitch({"train/loss": (range(1000, 1500), course(range(1000, 1500)))}).attempts[0]
    timeline = stitch([log("a", UP), Attempt("b", ("b",), after.series)])
    assert joins(timeline) == [("resume", "a", "b", 999, 1000, 0)]
    assert timeline.joins[0].evidence["metric"] == "train/loss"


def test_a_log_with_other_metrics_over_part_of_the_steps_stands_beside():
    logs = [
        log("train", UP),
        Attempt("gpu", ("gpu",), {"temperature": series("temperature", range(300), [60.0] * 300)}),
    ]
    timeline = stitch([*logs, log("train-2", range(900, 1500), seed=1)], order=["train", "gpu", "train-2"])
    assert joins(timeline) == [("rollback", "train", "train-2", 999, 900, 99)]
    assert timeline.series["temperature"].live.all()


def test_discarded_of_separate_trainings_is_summed():
    timeline = stitch([log("a", UP), log("b", UP, seed=1)], relation="seeds")
    assert discarded(timeline) == {
        "discarded_steps": 0,
        "discarded_s": None,
        "live_steps": 2 * 999,
        "total_steps": 2 * 999,
    }
