"""Tracks hold the points of all attempts once: metrics share their steps, and attempts are parts of them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.timeline.timeline_logs import HOUR, course, log
from tests.work import n_calls

from chronicle.model import Attempt, Role, Series
from chronicle.timeline import discarded, live, stitch
from chronicle.timeline.courses import one_of_each
from chronicle.timeline.joins import endings

UP = range(1000)


def attempt(name: str, first: int, n: int) -> Attempt:
    """Two metrics at every step and one at every tenth."""
    random, steps = np.random.default_rng(first), np.arange(first, first + n)
    each = {"loss": steps, "lr": steps.copy(), "val/loss": steps[::10]}
    series = {m: Series(m, Role.OTHER, at, random.normal(size=len(at)), at + 1.7e9) for m, at in each.items()}
    return Attempt(name, (name,), series)


@pytest.mark.parametrize("n_attempts", [1, 3])
def test_points_are_in_memory_once(n_attempts: int) -> None:
    given = [attempt(f"{i}.csv", 80 * i, 100) for i in range(n_attempts)]
    timeline = stitch(given)
    loss, lr, validation = (timeline.series[metric] for metric in ("loss", "lr", "val/loss"))
    assert loss.steps is lr.steps and loss.live is lr.live and loss.attempt is lr.attempt
    assert len(validation.steps) < len(loss.steps)
    for held, before in zip(timeline.attempts, given, strict=True):
        assert list(held.series) == list(before.series)
        for metric, series in held.series.items():
            track = timeline.series[metric]
            for column in ("steps", "values", "times"):
                points = getattr(series, column)
                assert np.shares_memory(points, getattr(track, column))
                assert np.array_equal(points, getattr(before.series[metric], column))


def test_metrics_logged_as_often_at_other_steps_share_nothing() -> None:
    steps = {"a": np.arange(50), "b": np.arange(50) * 2, "c": np.arange(50)}
    series = {m: Series(m, Role.OTHER, at, at * 1.0, at * 1.0) for m, at in steps.items()}
    tracks = stitch(Attempt("x", ("x",), series)).series
    assert {m: t.steps.tolist() for m, t in tracks.items()} == {m: at.tolist() for m, at in steps.items()}


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_a_thin_track_has_every_so_manieth_row_of_the_frame(every: int) -> None:
    timeline = stitch([attempt("0", 0, 100), attempt("1", 80, 37)])
    rows = timeline.frame()
    expected = rows[rows.groupby("metric", sort=False).cumcount() % every == 0]
    for metric, track in timeline.series.items():
        ours, theirs = track.pick(slice(None, None, every)), expected[expected["metric"] == metric]
        assert ours.steps.tolist() == theirs["step"].tolist()
        assert ours.values.tolist() == theirs["value"].tolist()
        assert ours.live.tolist() == theirs["live"].tolist()


def test_discarded_counts_steps_and_wall_clock():
    timeline = stitch([log("a", UP, start=0), log("b", range(800, 1600), seed=1, start=HOUR)])
    assert discarded(timeline) == {
        "discarded_steps": 200,
        "discarded_s": 200.0,
        "discarded_tokens": None,
        "discarded_samples": None,
        "live_steps": 1600,
        "total_steps": 1800,
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


def test_discarded_of_separate_trainings_is_summed():
    timeline = stitch([log("a", UP), log("b", UP, seed=1)], relation="seeds")
    assert discarded(timeline) == {
        "discarded_steps": 0,
        "discarded_s": None,
        "discarded_tokens": None,
        "discarded_samples": None,
        "live_steps": 2 * 1000,
        "total_steps": 2 * 1000,
    }


def test_of_series_that_share_their_steps_and_times_one_is_asked() -> None:
    apart = attempt("a.csv", 0, 50).series
    assert [series.metric for series in one_of_each(apart.values())] == ["loss", "lr", "val/loss"]
    loss = apart["loss"]
    beside = Series("lr", Role.LEARNING_RATE, loss.steps, loss.values / 2, loss.times)
    assert [series.metric for series in one_of_each([loss, beside, apart["val/loss"]])] == ["lr", "val/loss"]


def test_how_a_wide_table_ended_is_asked_of_its_columns_once() -> None:
    steps, times = np.arange(20), np.full(20, np.nan)
    wide = {f"w{n}": Series(f"w{n}", Role.OTHER, steps, np.ones(20), times) for n in range(500)}
    timeline = stitch([Attempt("table.csv", (), wide)])
    endings(timeline)
    assert n_calls(lambda: endings(timeline)) < 500
