"""Stitching by example: copies of one log, parts of one log, and what is made of a timeline."""

from __future__ import annotations

import numpy as np
from tests.timeline_logs import HOUR, course, log, names, series

from chronicle.model import Attempt
from chronicle.timeline import discarded, live, stitch

UP = range(1000)
NONE: list[object] = []


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
