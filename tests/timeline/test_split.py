"""Stitching by example: one log whose step goes back, for each of the five reasons."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timeline.test_timeline_laws import RUNS
from tests.timeline.timeline_logs import HOUR, alive, course, joins, log, names, series
from tests.work import n_calls

from chronicle.build.entry import facts
from chronicle.model import Attempt, Role, Series
from chronicle.readers import read_all
from chronicle.story.restarts import step_back_words
from chronicle.timeline import stitch
from chronicle.timeline.courses import clock
from chronicle.timeline.split import attempt_starts
from chronicle.workspace.config import RunConfig

UP = range(1000)
NONE: list[object] = []


def one_file(*parts: range, start: float | None = None, **more: Series) -> Attempt:
    """A log that holds attempts over ``parts`` one after the other, each with noise of its own."""
    whole = log("f", [s for part in parts for s in part], start=start, **more)
    whole.series["loss"].values[:] = np.concatenate([course(part, seed) for seed, part in enumerate(parts)])
    return whole


def test_the_steps_that_columns_share_are_looked_at_once():
    steps, none = np.arange(50), np.full(50, np.nan)

    def table(columns: int) -> Attempt:
        many = {f"x{k}": Series(f"x{k}", Role.OTHER, steps, steps + float(k), none) for k in range(columns)}
        return Attempt("f", (), many)

    few, many = (n_calls(lambda n=n: stitch([table(n)])) for n in (100, 1100))
    assert many - few < 180 * 1000  # 74 calls more a column where each is asked


def test_a_rollback_in_one_file():
    timeline = stitch(one_file(UP, range(800, 1600)))
    assert joins(timeline) == [("rollback", "f#1", "f#2", 999, 800, 200)]
    assert alive(timeline) == [("f#1", 0, 799), ("f#2", 800, 1599)]


BESIDE = {
    "grows": lambda n: np.arange(n),
    "grows from 1": lambda n: np.arange(1, n + 1),
    "falls": lambda n: np.arange(n)[::-1],
    "is the same": lambda n: np.zeros(n),
    "begins again": lambda n: np.arange(n) % 7,
    "begins again with each attempt": lambda n: np.r_[np.arange(n // 2), np.arange(n - n // 2)],
    "is unknown": lambda n: np.full(n, np.nan),
    "is infinite at first": lambda n: np.r_[np.inf, np.arange(n - 1)],
}


@pytest.mark.parametrize("n_again", [1, 2, 40, 400])
@pytest.mark.parametrize("beside", BESIDE)
def test_no_column_beside_a_rollback_stops_the_stitching(beside: str, n_again: int) -> None:
    """A table whose rows are numbered from 0 was a defect of chronicle where its step went back."""
    n = 1000 + n_again
    values = BESIDE[beside](n).astype(float)
    steps = np.r_[np.arange(1000), 1000 - n_again // 2 + np.arange(n_again)]
    column = Series("row_number", Role.OTHER, steps, values, np.full(n, np.nan))
    attempt = one_file(UP, range(1000 - n_again // 2, 1000 + n_again - n_again // 2), row_number=column)
    live = [steps for _, *steps in alive(stitch(attempt))]
    assert live[0][0] == 0 and live[-1][1] == max(steps)


def test_a_later_stage_whose_loss_has_another_name_is_an_attempt_of_its_own():
    """A training of 600 steps, and behind it in the same log a fine-tuning of 300, which share a rate."""

    def with_rows(metric: str, steps: range, first_row: int) -> Series:
        rows = first_row + np.arange(len(steps))
        return replace(series(metric, steps, course(steps, first_row)), rows=rows)

    rate = with_rows("lr", range(600), 0)
    later = with_rows("lr", range(300), 600)
    joined = {
        name: np.append(getattr(rate, name), getattr(later, name)) for name in ("steps", "values", "times")
    }
    rate = replace(rate, rows=np.arange(900), **joined)
    tuned = with_rows("Training loss", range(300), 600)
    whole = log("f", [], **{"loss": with_rows("loss", range(600), 0), "Training loss": tuned, "lr": rate})
    first, second = stitch([whole]).attempts
    assert {name: len(s) for name, s in first.series.items()} == {"loss": 600, "lr": 600}
    assert {name: len(s) for name, s in second.series.items()} == {"Training loss": 300, "lr": 300}


def pauses(seconds: dict[int, float], rows: int = 600, each: float = 1.0) -> np.ndarray:
    """Times of rows that are ``each`` seconds apart, but for some rows which have a pause before them."""
    return 1.7e9 + np.cumsum([seconds.get(row, each) for row in range(rows)])


def timed(times: np.ndarray, back: int = 50, **more: Series) -> Attempt:
    """A log of 600 rows whose step goes back after half of them."""
    whole = one_file(range(300), range(300 - back, 600 - back), **more)
    return replace(whole, series={m: replace(s, times=times[-len(s) :]) for m, s in whole.series.items()})


def test_a_pause_as_long_as_that_of_a_launch_is_a_resume():
    """MLflow, Trackio: three launches write into one store; the third goes on where the second had ended."""
    timeline = stitch(timed(pauses({300: 90.0, 450: 50.0})))
    assert joins(timeline) == [
        ("rollback", "f#1", "f#2", 299, 250, 50),
        ("resume", "f#2", "f#3", 399, 400, 0),
    ]
    assert timeline.doubts == (
        "f continues at step 400 after a pause as long as that of a launch, with a clock that starts again, "
        "or off the schedule of its learning rate, which was taken for a resume. It may have been a hang.",
    )


def test_a_loss_that_is_summed_up_is_said_to_be():
    whole = log("f", range(300))
    whole.series["loss"].values[:] = np.concatenate(
        [part.cumsum() for part in np.split(course(range(300), 0), 3)]
    )
    assert stitch(whole).doubts == (
        "loss of f rises at every row and begins again with one term, so it was taken for a sum since "
        "the beginning of each epoch: figures show the sums, the text and the verdict are about what rows "
        "add. If it is no sum, give it another role with `roles` in run.toml.",
    )


@pytest.mark.parametrize(
    "seconds",
    [
        {450: 90.0},  # no launch is known by its pause: the process went back by itself
        {300: 90.0, 450: 40.0},  # shorter than half of that of the launch
        {300: 90.0} | dict.fromkeys(range(50, 600, 100), 60.0),  # evaluations come again
        {300: 90.0, 450: 90.0, 100: 15.0},  # a checkpoint, and a pause not far above it
    ],
)
def test_other_pauses_are_no_resumes(seconds):
    assert [kind for kind, *_ in joins(stitch(timed(pauses(seconds))))] == ["rollback"]


def test_a_pause_alone_is_left_to_those_who_look_for_hangs():
    whole = log("f", UP, start=0)
    whole.series["loss"].times[500:] += HOUR
    assert joins(stitch(whole)) == NONE


@pytest.mark.parametrize(("begins", "resumed"), [(400, True), (500, False)])
def test_seconds_of_a_process_that_begin_anew_within_an_epoch_are_a_resume(begins, resumed):
    """Epochs of 250 steps. Seconds that begin anew with the epoch are those of the epoch."""
    elapsed = series("time_elapsed", UP, [k if k < begins else k - begins for k in UP])
    epochs = series("epoch", UP, [k // 250 for k in UP])
    epochs = replace(epochs, role=Role.EPOCH)
    timeline = stitch(log("f", UP, start=None, elapsed=elapsed, epochs=epochs))
    resume = [("resume", "f#1", "f#2", begins - 1, begins, 0)]
    assert joins(timeline) == (resume if resumed else NONE)


@pytest.mark.parametrize(
    ("begins", "resumed"),
    [
        ([400], True),
        ([500], False),  # an epoch may be 500 steps
        ([600], False),  # and may be 600 steps, of which the second one was not done
        ([200, 700], True),
        ([300, 600, 900], False),
        ([100, 400, 700], False),  # the log begins within an epoch
    ],
)
def test_seconds_that_begin_anew_at_unequal_distances_are_those_of_a_process(begins, resumed):
    """No epoch is logged. Seconds of an epoch begin anew at equal distances."""
    launched = np.searchsorted(begins, UP, side="right")
    elapsed = series("elapsed", UP, UP - np.array([0, *begins])[launched])
    timeline = stitch(log("f", UP, start=None, elapsed=elapsed))
    resumes = [("resume", f"f#{k + 1}", f"f#{k + 2}", row - 1, row, 0) for k, row in enumerate(begins)]
    assert joins(timeline) == (resumes if resumed else NONE)


def test_the_seconds_of_a_step_that_mostly_stand_still_are_no_clock_of_a_process() -> None:
    """They fall now and then to what the first step took, as told with two digits."""
    steps = np.arange(54, 64)
    seconds = [1.26, 1.27, 1.27, 1.27, 1.26, 1.27, 1.28, 1.28, 1.28, 1.28]
    assert joins(stitch(log("f", steps, start=None, time=series("time", steps, seconds)))) == NONE


def test_seconds_that_begin_anew_in_a_table_of_epochs_are_a_resume(tmp_path):
    """As Ultralytics appends to results.csv: `time` counts the seconds since the launch."""
    rows = [f"{k},{20.5 * (k if k <= 30 else k - 30)},{3 / k + 0.01 * (k % 3)}" for k in range(1, 51)]
    path = tmp_path / "results.csv"
    path.write_text("\n".join(["epoch,time,train/box_loss", *rows]) + "\n")
    timeline = stitch(read_all(path).attempts)
    assert [join[0::3] for join in joins(timeline)] == [("resume", 30)]


def test_a_clean_resume_leaves_no_trace_in_a_plain_table():
    """Steps and the schedule go on, and there is no clock: as in DVCLive, a CSV and JSON lines."""
    rate = series("lr", range(240), np.linspace(0.1, 0.01, 240))
    timeline = stitch(one_file(range(180), range(180, 240), rate=rate))
    assert (names(timeline), joins(timeline), timeline.doubts) == (["f"], NONE, ())


def test_four_seeds_in_one_file():
    timeline = stitch(one_file(UP, UP, UP, UP))
    assert (names(timeline), joins(timeline)) == (["f#1", "f#2", "f#3", "f#4"], NONE)
    assert timeline.doubts == (
        "f#1, f#2, f#3 and f#4 cover the same steps and end at the same step. They were taken as separate "
        'trainings, all live. `relation = "attempts"` in run.toml makes them attempts of one training.',
    )


def test_a_relaunch_in_one_file():
    """Where the first one ended in NaN: else another training was appended, and nothing of it is lost."""
    timeline = stitch(one_file(range(200), UP))
    assert (names(timeline), joins(timeline)) == (["f#1", "f#2"], NONE)
    assert timeline.doubts == (
        "f#1 and f#2 cover the same steps and stand one after the other in one log, and nothing says that "
        "the earlier one died. They were taken as separate trainings, both live. "
        '`relation = "attempts"` in run.toml makes them attempts of one training.',
    )
    died = one_file(range(200), UP)
    died.series["loss"].values[199] = np.nan
    assert joins(stitch(died)) == [("relaunch", "f#1", "f#2", 199, 0, 200)]


def test_episodes_that_begin_again_begin_a_training():
    """The first episode of each took as long as it took: by its steps a later one goes back to step 4."""
    steps = [1000 * k for k in (2, 3, 4, 5, 6, 2, 3, 4, 5, 4, 6, 7, 8, 9, 10, 2, 3)]
    episodes = series("episode", steps, [1, 2, 3, 4, 5, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 1, 2])
    timeline = stitch(log("f", steps, episode=episodes))
    assert (names(timeline), joins(timeline)) == (["f#1", "f#2", "f#3", "f#4"], NONE)
    assert [(a.series["loss"].steps[0], len(a.series["loss"])) for a in timeline.attempts] == [
        (2000, 5),
        (2000, 4),
        (4000, 6),
        (2000, 2),
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_launches_of_a_few_epochs_each_in_one_file(first):
    """More than a quarter of all rows go back, and some of them by two steps only: each to the very start."""
    lengths = (3, 2, 3, 2, 12)
    timeline = stitch(one_file(*(range(first, first + n) for n in lengths)))
    assert [len(a.series["loss"]) for a in timeline.attempts] == list(lengths)
    assert not any(back.cause == "disorder" for back in timeline.step_backs)


def test_a_log_of_more_than_a_thousand_launches_is_cut_at_each():
    """Two thousand trainings were sorted into one, for nobody restarts so often; but they begin so often."""
    starts_of = {n: attempt_starts(one_file(*[range(12)] * n).series["loss"]) for n in (8, 1200)}
    assert starts_of == {n: [*range(12, 12 * n, 12)] for n in (8, 1200)}
    few, many = (n_calls(partial(stitch, one_file(*[range(12)] * n))) for n in (40, 80))
    assert many < 3 * few


def test_many_short_trainings_that_each_begin_at_the_first_step_are_cut():
    """A sweep of thirty trainings of five epochs each in one log was sorted into one of 150 rows."""
    log_of_sweep = one_file(*[range(1, 6)] * 30)
    assert attempt_starts(log_of_sweep.series["loss"]) == [*range(5, 150, 5)]
    pairs = one_file(*[range(1, 4)] * 30)  # so short ones may be ranks that write by turns
    assert attempt_starts(pairs.series["loss"]) == []
    stopped = one_file(*(range(1, n + 1) for n in (6, 2, 2, 1, 4, 2, 1, 3, 5, 1, 2, 7, 1, 2, 1, 3, 1, 1, 2)))
    assert len(attempt_starts(stopped.series["loss"])) == 18  # which write equally often


def test_a_metric_that_only_the_second_launch_logs_is_not_cut_in_two():
    second = series("accuracy", range(1, 11), np.linspace(0.1, 0.9, 10))
    both = one_file(range(1, 8), range(1, 11), accuracy=replace(second, rows=np.arange(7, 17)))
    loss = replace(both.series["loss"], rows=np.arange(17))
    timeline = stitch(replace(both, series={**both.series, "loss": loss}))
    assert [list(a.series) for a in timeline.attempts] == [["loss"], ["loss", "accuracy"]]


@pytest.mark.parametrize(
    "steps",
    [
        [1, 2, 3, 5, 4, 6, 7, 8],  # two rows changed places
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 10, 11],  # a row much too late
        [1, 2, 9, 3, 4, 5, 6, 7, 8, 10, 11],  # a row much too early
        [5, 3, 8, 1, 2, 7, 6, 4],  # no order at all
    ],
)
def test_rows_out_of_order_are_sorted(steps):
    timeline = stitch({"loss": (steps, np.arange(len(steps)))})
    assert (names(timeline), joins(timeline)) == (["data"], NONE)
    assert timeline.series["loss"].steps.tolist() == sorted(steps)
    assert timeline.series["loss"].values.tolist() == np.argsort(steps, kind="stable").tolist()


def test_rows_of_one_process_are_ordered_by_wall_clock():
    steps = [*range(500, 1000), *range(500)]
    times = np.asarray(steps, float)
    loss = Series("loss", stitch({"loss": [1.0]}).series["loss"].role, np.array(steps), course(steps), times)
    timeline = stitch(Attempt("f", ("f",), {"loss": loss}))
    assert (names(timeline), timeline.doubts) == (["f"], ())
    assert timeline.series["loss"].times.tolist() == list(range(1000))


def test_blocks_out_of_order_are_sorted_with_a_doubt():
    timeline = stitch(one_file(range(500, 1000), range(500)))
    assert (names(timeline), joins(timeline), alive(timeline)) == (["f"], NONE, [("f", 0, 999)])
    assert timeline.doubts == (
        "Blocks of rows of f are out of order, and no step is in two of them, so they were sorted as one "
        'attempt. `relation = "attempts"` in run.toml cuts the log where the step goes back.',
    )
    cut = stitch(one_file(range(500, 1000), range(500)), relation="attempts")
    assert names(cut) == ["f#1", "f#2"]


def test_blocks_that_a_clock_has_in_their_order_are_two_attempts():
    blocks = one_file(range(500, 1000), range(500), start=1.7e9)
    assert (names(stitch(blocks)), joins(stitch(blocks))) == (["f#1", "f#2"], NONE)


def test_equal_steps_are_sub_samples():
    steps = np.repeat(np.arange(30), 55)
    timeline = stitch({"loss": (steps, np.arange(len(steps)))})
    assert (names(timeline), len(timeline.series["loss"]), timeline.doubts) == (["data"], 30 * 55, ())


def test_a_short_return_with_other_values_is_a_restart():
    steps = [*range(100), 98, 99, *range(100, 200)]
    timeline = stitch({"loss": (steps, course(steps))})
    assert joins(timeline) == [("rollback", "data#1", "data#2", 99, 98, 2)]


def test_a_short_return_with_the_same_values_is_a_repetition():
    steps = [*range(100), 98, 99, *range(100, 200)]
    timeline = stitch({"loss": (steps, np.sqrt(steps))})
    assert (names(timeline), len(timeline.series["loss"])) == (["data"], 202)


def test_ranks_that_write_one_log_together_are_sorted_with_a_doubt():
    steps = [s for k in range(0, 400, 4) for s in [*range(k, k + 4)] * 2]
    timeline = stitch({"loss": (steps, course(steps))})
    assert names(timeline) == ["data"]
    assert timeline.doubts == (
        "The step of data goes back in 100 of 800 rows, which were taken to be out of order and sorted. "
        "If several processes wrote this log, name the log of one of them in `paths` of run.toml.",
    )


VAL = [0, 250, 500, 750, 1000, 800, 1000, 1250, 1500]


@pytest.mark.parametrize("wall_clock", [True, False])
def test_a_sparse_series_is_cut_where_the_clock_is(wall_clock):
    parts = (range(1010), range(800, 1600))
    times = np.array([0, 250, 500, 750, 1000, 1009.9, 1210, 1460, 1710.0])
    val = series("val_loss", VAL, np.arange(9))
    val = Series(val.metric, val.role, val.steps, val.values, times if wall_clock else val.times)
    timeline = stitch(one_file(*parts, start=0 if wall_clock else None, val=val))
    assert timeline.series["val_loss"].attempt.tolist() == [0] * 5 + [1] * 4
    assert timeline.series["val_loss"].live.tolist() == [True] * 4 + [False] + [True] * 4


def test_a_sparse_series_without_a_fall_of_its_own_is_cut_at_a_repeated_step():
    val = series("val_loss", [0, 500, 1000, 1000, 1500], np.arange(5))
    timeline = stitch(one_file(range(1010), range(800, 1600), val=val))
    assert timeline.series["val_loss"].attempt.tolist() == [0, 0, 0, 1, 1]
    assert timeline.series["val_loss"].live.tolist() == [True, True, False, True, True]


def test_a_bookkeeping_value_at_step_0_makes_no_relaunch():
    logs = [
        log(name, steps, start=start, hp=series("hp_metric", [0], [-1.0], start))
        for name, steps, start in (("a", UP, 0), ("b", range(1000, 2000), HOUR))
    ]
    timeline = stitch(logs)
    assert joins(timeline) == [("resume", "a", "b", 999, 1000, 0)]
    assert timeline.series["hp_metric"].live.tolist() == [False, True]


def test_a_bookkeeping_value_at_step_0_is_no_start_of_a_launch_with_one_row():
    logs = [
        log(name, steps, start=start, hp=series("hp_metric", [0], [-1.0], start))
        for name, steps, start in (("a", [49], 0), ("b", range(49, 700, 50), HOUR))
    ]
    assert joins(stitch(logs)) == [("relaunch", "a", "b", 49, 49, 1)]


@st.composite
def untidy(draw):
    """Rows of one log as they come: attempts, rows that swapped places, steps that were logged twice."""
    steps: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, max(steps, default=0)))
        steps += range(first, first + draw(st.integers(1, 60)))
    for k in draw(st.lists(st.integers(0, max(len(steps) - 2, 0)), max_size=12)):
        steps[k : k + 2] = steps[k : k + 2][::-1]
    values = draw(st.lists(st.sampled_from([1.0, 1.001, 2.0, np.nan]), min_size=1, max_size=5))
    return series("loss", steps, [values[k % len(values)] for k in range(len(steps))])


@given(untidy())
def test_the_glance_at_all_falls_at_once_says_what_a_look_at_each_says(loss):
    fast = attempt_starts(loss)
    with pytest.MonkeyPatch.context() as patch:
        module = sys.modules[attempt_starts.__module__]
        patch.setattr(module, "_are_disorder", lambda series, down: [False] * len(down))
        assert attempt_starts(loss) == fast


def swapped_neighbours(number):
    """A course of which every tenth row has changed places with its neighbour."""
    rows = np.arange(number)
    rows[1:-1:10], rows[2::10] = rows[2::10].copy(), rows[1:-1:10].copy()
    return rows, course(rows)


def test_time_grows_with_the_rows_and_not_with_the_falls():
    """A hundred thousand swapped neighbours took ten seconds when each was looked at by itself."""
    timeline = stitch({"loss": swapped_neighbours(200_000)})
    assert (len(timeline.attempts), len(timeline.doubts)) == (1, 1)
    few, many = (n_calls(partial(stitch, {"loss": swapped_neighbours(n)})) for n in (2_000, 200_000))
    assert many < 100 * few


def words_of(attempts, **keys):
    return [step_back_words(back) for back in stitch(attempts, **keys).step_backs]


def swapped():
    steps = np.arange(1000)
    steps[[10, 11, 500, 502]] = steps[[11, 10, 502, 500]]
    return log("f", steps.tolist())


def late():
    """Rows written block by block in the wrong order, and their wall clock tells."""
    steps = [*range(600, 1000), *range(600)]
    attempt = log("f", steps)
    times = np.asarray(steps, float)
    return replace(attempt, series={"loss": replace(attempt.series["loss"], times=times)})


def again():
    steps = sorted([*range(100), 50, 60, 60])
    values = [3.0 if s == 60 else 9.0 - k / 50 for k, s in enumerate(steps)]
    return replace(log("f", steps), series={"loss": series("loss", steps, values)})


CASES = {
    "nothing": (lambda: log("f", UP), {}, []),
    "rows out of order": (
        swapped,
        {},
        ["f: 3 of 1\u202f000 rows out of order, at most 2 rows from their place; sorted by step"],
    ),
    "rows in the order of their wall clock": (
        late,
        {},
        ["f: 1 of 1\u202f000 rows out of order; put in order by wall clock"],
    ),
    "repeated steps": (
        again,
        {},
        ["f: 3 rows at the step of the row before, 2 of them with an equal value; kept"],
    ),
    "a rollback is a join": (lambda: one_file(UP, range(800, 1600)), {}, []),
    "a relaunch is a join": (lambda: [log("a", range(200)), log("b", UP)], {}, []),
    "a training after another one": (
        lambda: one_file(range(200), UP),
        {},
        [
            "f#2 beside f#1: nothing says that the one before died, ends 800 steps apart, values 0.88 % "
            "apart at 200 equal steps; a training of its own"
        ],
    ),
    "seeds in one log": (
        lambda: one_file(UP, UP),
        {},
        [
            "f#2 beside f#1: ends 0 steps apart, values 1.2 % apart at 1\u202f000 equal steps; "
            "a training of its own"
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_cause_says_what_speaks_for_it(case):
    make, keys, expected = CASES[case]
    assert words_of(make(), **keys) == expected


def test_seeds_at_one_time_by_wall_clock_and_process():
    logs = [replace(log(name, UP, k, k * 10.0), facts={"host": "n", "pid": k}) for k, name in enumerate("ab")]
    (words,) = words_of(logs)
    assert words.startswith("b beside a: both ran for 16.5 min, ends 0 steps apart, values ")
    assert words.endswith(" at 1\u202f000 equal steps, another process; a training of its own")


def test_seeds_by_word_of_run_toml():
    (words,) = words_of([log("a", UP, 0, 0), log("b", range(700), 1, HOUR)], relation="seeds")
    assert words.startswith("b beside a: run.toml says so, ends 300 steps apart")


def test_they_are_rows_of_the_facts_table():
    rows = [(f.quantity, f.value, f.unit) for f in facts(stitch(swapped()), RunConfig())]
    assert ("Rows out of order", 3, "rows") in rows


def test_many_of_one_cause_are_one_row():
    timeline = stitch([log(f"s{k}", UP, k, k * 1.0) for k in range(6)])
    rows = [
        (f.value, f.unit, f.how) for f in facts(timeline, RunConfig()) if f.quantity == "Separate trainings"
    ]
    assert [how.partition(":")[0] for _, _, how in rows[:3]] == [
        "s1 beside s0",
        "s2 beside s1",
        "s3 beside s2",
    ]
    assert rows[3:] == [(2, "trainings", "likewise: s4, s5")]
    assert rows[0][:2] == (1, "training")


@pytest.mark.slow
@given(RUNS)
def test_every_fall_of_a_log_is_a_cut_or_told(attempts):
    """No step goes back in silence: its rows begin an attempt, or are told as rows out of order."""
    timeline = stitch(attempts)
    disordered = {name for back in timeline.step_backs if back.cause == "disorder" for name in back.attempts}
    cut = {a.name.split("#")[0] for a in timeline.attempts if "#" in a.name}
    logs = {source for a in (*timeline.attempts, *timeline.copies) for source in a.sources}
    for attempt in attempts:
        ticks = clock(attempt)
        if ticks is not None and (ticks.steps[1:] < ticks.steps[:-1]).any():
            assert attempt.name in disordered | cut
            assert attempt.name in logs | cut
    assert all(step_back_words(back) for back in timeline.step_backs)


def test_a_launch_that_stopped_after_its_first_row() -> None:
    """Keras' CSVLogger with `append=True`: the first launch ends after one epoch."""
    timeline = stitch(one_file(range(1), range(8), range(8)))
    assert names(timeline) == ["f#1", "f#2", "f#3"]
    each_twice = one_file(range(1), range(8), range(1), range(8))  # each launch logs its first step twice
    assert names(stitch(each_twice)) == ["f#1", "f#2"]


@pytest.mark.parametrize(
    ("pause_s", "attempts"), [(20.0, ["f#1", "f#2", "f#3"]), (0.5, ["f#1", "f#2"]), (2.0, ["f#1", "f#2"])]
)
def test_a_launch_after_one_row_takes_less_time_than_an_epoch_but_not_none(
    pause_s: float, attempts: list[str]
) -> None:
    """A start of 20 seconds where epochs take 30; processes that print the same step do so at once."""
    whole = one_file(range(1), range(8), range(8), start=0.0)
    loss = whole.series["loss"]
    loss.times[:] = np.cumsum([0.0, pause_s, *([30.0] * 15)])
    assert names(stitch(whole)) == attempts


def test_a_restart_from_a_checkpoint_whose_loss_is_nearly_the_same() -> None:
    """Two launches from one checkpoint give losses that differ in the sixth digit: they are trained twice."""
    whole = one_file(range(0, 7600, 20), range(7520, 7580, 20), range(7520, 7780, 20))
    loss = whole.series["loss"]
    loss.values[380:383] = loss.values[376:379] * 1.000003
    loss.values[383:386] = loss.values[376:379] * 1.000007
    assert names(stitch(whole)) == ["f#1", "f#2", "f#3"]


def test_a_second_launch_far_below_the_first_is_no_block_out_of_order() -> None:
    assert names(stitch(one_file(range(6001, 7000), range(1, 30)))) == ["f#1", "f#2"]
    assert names(stitch(one_file(range(500, 1000), range(500)))) == ["f"]


def test_a_counter_of_every_hundredth_episode_begins_again() -> None:
    """The steps are those at which the hundredth episode ended, so they tell no launch."""
    steps = [10315, 15983, 28469, 42320, 55278, 15452, 7632, 6233]
    episodes = [100.0, 200.0, 300.0, 400.0, 500.0, 100.0, 100.0, 100.0]
    more = [*np.cumsum(np.full(8, 6000)) + 6233], [200.0 + 100 * k for k in range(8)]
    whole = log("f", [*steps, *more[0]], episodes=series("episodes", [*steps, *more[0]], episodes + more[1]))
    assert names(stitch(whole)) == ["f#1", "f#2", "f#3", "f#4"]


@pytest.mark.parametrize("logged", [("batch", "epoch"), ("batch",)])
def test_a_counter_of_batches_begins_again_with_each_epoch(logged) -> None:
    """Two trainings in one table, of 20 and of 30 epochs; their iterations count on over the epochs."""
    steps = [*range(60), *range(90)]
    columns = {
        "batch": series("batch", steps, [float(k % 3) for k in steps]),
        "epoch": series("epoch", steps, [float(k // 3) for k in steps]),
    }
    timeline = stitch(log("f", steps, **{name: columns[name] for name in logged}))
    assert [len(a.series["loss"]) for a in timeline.attempts] == [60, 90]


def test_a_score_of_few_evaluations_does_not_hide_a_launch() -> None:
    """The judged score is logged every fiftieth step, and a launch of 30 steps has none."""
    whole = one_file(range(500), range(30), range(500))
    rows = np.flatnonzero(np.arange(1030) % 50 == 40)
    steps = whole.series["loss"].steps[rows]
    won = series("win_rate", steps, np.linspace(0.1, 0.9, len(rows)))
    loss = replace(whole.series["loss"], role=Role.PART_LOSS)
    both = {"loss": loss, "win_rate": replace(won, role=Role.OBJECTIVE)}
    assert names(stitch(replace(whole, series=both))) == ["f#1", "f#2", "f#3"]


def test_a_clock_that_leaps_where_a_step_is_logged_again_is_a_resume() -> None:
    """Seconds since the start, and from a resume on Unix seconds, with the step of the checkpoint twice."""
    steps = [*range(400), *range(399, 800)]
    elapsed = np.where(np.arange(801) < 400, 0.0, 1.7e9) + np.arange(801.0)
    whole = log("f", steps, time=series("time", steps, elapsed))
    assert names(stitch(whole)) == ["f#1", "f#2"]
    steady = log("f", steps, time=series("time", steps, np.arange(801.0)))
    assert names(stitch(steady)) == ["f"]


def test_a_stretch_that_a_file_holds_twice_is_used_once() -> None:
    """As when the output of a launch is put into a log by hand, and a second time with what followed it."""
    whole = timed(pauses({}), back=300)
    loss = whole.series["loss"]
    again = replace(loss, values=np.tile(loss.values[:300], 2), times=np.tile(loss.times[:300], 2))
    assert names(stitch(replace(whole, series={"loss": again}))) == ["f#1"]
    untimed = replace(again, times=np.full(600, np.nan))  # two launches with one seed look so, too
    assert names(stitch(replace(whole, series={"loss": untimed}))) == ["f#1", "f#2"]


def test_a_column_with_blanks_goes_with_its_rows() -> None:
    """Two restarts, and between them one of a single row, which is none: speeds stand in rows of the
    training, and evaluations begin a launch or end it. No clock says where they belong."""
    launches = [range(0, 700, 20), range(500, 1080, 20), [1000], range(1100, 2200, 20), range(1900, 4000, 20)]
    rows = [(step, 5 - step / 1000 + n / 100, n + 1.0, None) for n, of in enumerate(launches) for step in of]
    for at, step in ((120, 1900), (64, 1080), (35, 500)):
        rows.insert(at, (step, None, None, 4.0))
    logged = {}
    for column, role in enumerate((Role.LOSS, Role.THROUGHPUT, Role.VALIDATION_LOSS), 1):
        at = np.array([n for n, row in enumerate(rows) if row[column] is not None])
        steps, values = (np.array([rows[n][k] for n in at]) for k in (0, column))
        logged[role.value] = Series(role.value, role, steps, values, np.full(len(at), np.nan), rows=at)
    timeline = stitch(Attempt("f", ("f",), logged))
    assert joins(timeline) == [
        ("rollback", "f#1", "f#2", 680, 500, 200),
        ("rollback", "f#2", "f#3", 2180, 1900, 300),
    ]
    own = [attempt.series for attempt in timeline.attempts]
    assert [sorted({*series["throughput"].values.tolist()}) for series in own] == [[1], [2, 3, 4], [5]]
    held_out = [series["validation-loss"].steps.tolist() for series in own if "validation-loss" in series]
    assert held_out == [[500, 1080], [1900]]
