"""The causes of a step that goes back which are no restart: what is said of each, and what speaks for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tests.timeline.test_one_log import one_file
from tests.timeline.test_timeline_laws import RUNS
from tests.timeline.timeline_logs import HOUR, log, series

from chronicle.build.facts import facts
from chronicle.classify.restarts import step_back_words
from chronicle.timeline import stitch
from chronicle.timeline.courses import clock
from chronicle.workspace.config import RunConfig

UP = range(1000)


def said(attempts, **keys):
    return [step_back_words(back) for back in stitch(attempts, **keys).step_backs]


def swapped():
    steps = np.arange(1000)
    steps[[10, 11, 500, 502]] = steps[[11, 10, 502, 500]]
    return log("f", steps.tolist())


def late():
    """Rows written block by block in the wrong order, and their wall clock tells."""
    steps = [*range(600, 1000), *range(600)]
    one = log("f", steps)
    times = np.asarray(steps, float)
    return replace(one, series={"loss": replace(one.series["loss"], times=times)})


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
    "a relaunch is a join": (lambda: one_file(range(200), UP), {}, []),
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
    assert said(make(), **keys) == expected


def test_seeds_at_one_time_by_wall_clock_and_process():
    logs = [replace(log(name, UP, k, k * 10.0), facts={"host": "n", "pid": k}) for k, name in enumerate("ab")]
    (words,) = said(logs)
    assert words.startswith("b beside a: both ran for 16.5 min, ends 0 steps apart, values ")
    assert words.endswith(" at 1\u202f000 equal steps, another process; a training of its own")


def test_seeds_by_word_of_run_toml():
    (words,) = said([log("a", UP, 0, 0), log("b", range(700), 1, HOUR)], relation="seeds")
    assert words.startswith("b beside a: run.toml says so, ends 300 steps apart")


def test_they_are_rows_of_the_facts_table():
    found = [(f.quantity, f.value, f.unit) for f in facts(stitch(swapped()), RunConfig())]
    assert ("Rows out of order", 3, "rows") in found


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


@given(RUNS)
def test_every_fall_of_a_log_is_a_cut_or_told(attempts):
    """No step goes back in silence: its rows begin an attempt, or are told as rows out of order."""
    timeline = stitch(attempts)
    told = {name for back in timeline.step_backs if back.cause == "disorder" for name in back.attempts}
    cut = {a.name.split("#")[0] for a in timeline.attempts if "#" in a.name}
    logs = {source for a in (*timeline.attempts, *timeline.copies) for source in a.sources}
    for attempt in attempts:
        ticks = clock(attempt)
        if ticks is not None and (ticks.steps[1:] < ticks.steps[:-1]).any():
            assert attempt.name in told | cut
            assert attempt.name in logs | cut
    assert all(step_back_words(back) for back in timeline.step_backs)
