"""Stitching by example: how separate logs are ordered and joined, and what lives after it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.curves import runs
from tests.timeline.timeline_logs import HOUR, alive, course, joins, log, names, series

from chronicle.errors import UsageError
from chronicle.metrics.values import natural
from chronicle.timeline import stitch

UP = range(1000)
NONE: list[object] = []


def test_a_single_log_has_no_joins_and_lives():
    timeline = stitch([log("a", UP)])
    assert (names(timeline), joins(timeline), alive(timeline)) == (["a"], NONE, [("a", 0, 999)])
    assert (timeline.copies, timeline.doubts) == ((), ())


def test_a_resume_goes_on():
    timeline = stitch([log("b", range(1000, 1500), start=5000), log("a", UP, start=0)])
    assert joins(timeline) == [("resume", "a", "b", 999, 1000, 0)]
    assert alive(timeline) == [("a", 0, 999), ("b", 1000, 1499)]
    assert (timeline.joins[0].gap_s, timeline.joins[0].at_time) == (5000 - 999, 5000)


def test_an_epoch_that_an_empty_bar_told_begins_no_launch():
    a, b = (log(name, ticks, epoch=series("epoch", [ticks[0] - 1, *ticks], np.ones(len(ticks) + 1)))
            for name, ticks in (("a", range(1, 1000)), ("b", range(800, 1600))))  # fmt: skip
    assert joins(stitch([a, b])) == [("rollback", "a", "b", 999, 800, 200)]


def test_a_rollback_leaves_what_it_overtook_dead():
    timeline = stitch([log("a", UP, start=0), log("b", range(800, 1600), seed=1, start=HOUR)])
    assert joins(timeline) == [("rollback", "a", "b", 999, 800, 200)]
    assert alive(timeline) == [("a", 0, 799), ("b", 800, 1599)]
    assert timeline.doubts == ()


def test_the_evidence_of_a_rollback_is_taken_at_equal_steps():
    lr = {"lr": series("lr", UP, np.full(1000, 3e-4), 0)}
    after = {"lr": series("lr", range(800, 1600), np.full(800, 1.5e-4), HOUR)}
    a, b = log("a", UP, start=0, **lr), log("b", range(800, 1600), seed=1, start=HOUR, **after)
    evidence = stitch([a, b]).joins[0].evidence
    assert evidence == {
        "metric": "loss",
        "loss_before": float(np.median(a.series["loss"].values[800:805])),
        "loss_after": float(np.median(b.series["loss"].values[:5])),
        "common_samples": 200,
        "lr_before": 3e-4,
        "lr_after": 1.5e-4,
        "lr_ratio": 0.5,
        "discarded_s": 200.0,
    }


def test_a_second_rollback_may_go_back_beyond_the_first():
    logs = [
        log("a", UP, start=0),
        log("b", range(800, 1200), seed=1, start=HOUR),
        log("c", range(600, 1300), seed=2, start=2 * HOUR),
    ]
    timeline = stitch(logs)
    assert joins(timeline) == [("rollback", "a", "b", 999, 800, 200), ("rollback", "b", "c", 1199, 600, 600)]
    assert alive(timeline) == [("a", 0, 599), ("c", 600, 1299)]


def test_a_branch_that_was_given_up_is_dead_and_its_trunk_lives():
    logs = [
        log("trunk", range(1001), start=0),
        log("branch", range(800, 901), seed=1, start=HOUR),
        log("trunk-2", range(1001, 1500), seed=2, start=2 * HOUR),
    ]
    timeline = stitch(logs)
    assert joins(timeline) == [
        ("rollback", "trunk", "branch", 1000, 800, 0),
        ("resume", "trunk", "trunk-2", 1000, 1001, 101),
    ]
    assert alive(timeline) == [("trunk", 0, 1000), ("trunk-2", 1001, 1499)]
    assert timeline.doubts == (
        "trunk-2 starts at a later step than branch reached. It was taken to continue an earlier attempt "
        "that did reach this step, so branch counts as discarded. `order` in run.toml makes each attempt "
        "continue the one before it.",
    )
    stitched = stitch(logs, order=["trunk", "branch", "trunk-2"])
    assert joins(stitched) == [
        ("rollback", "trunk", "branch", 1000, 800, 201),
        ("resume", "branch", "trunk-2", 900, 1001, 0),
    ]
    assert stitched.doubts == ()


def test_a_few_lost_lines_at_the_end_of_a_killed_process_are_no_other_branch():
    logs = [
        log("a", range(1001), start=0),
        log("b", range(600, 900), seed=1, start=HOUR),
        log("c", range(910, 1500), seed=2, start=2 * HOUR),
    ]
    assert joins(stitch(logs))[1] == ("resume", "b", "c", 899, 910, 0)


def test_a_relaunch_throws_everything_away():
    timeline = stitch([log("a", UP, start=0), log("b", range(2000), seed=1, start=HOUR)])
    assert joins(timeline) == [("relaunch", "a", "b", 999, 0, 1000)]
    assert alive(timeline) == [("b", 0, 1999)]
    assert timeline.doubts == (
        "The step starts again in b. That was taken for a relaunch that replaces a. "
        '`relation = "seeds"` in run.toml keeps both live.',
    )
    assert stitch([log("a", UP, start=0), log("b", range(2000), 1, HOUR)], relation="attempts").doubts == ()


def test_a_counter_that_begins_anew_while_the_loss_goes_on_throws_nothing_away():
    """Weights that went on were not discarded, whatever the counter says."""
    first, second = log("a", UP, start=0), log("b", range(500), start=HOUR)
    second.series["loss"].values[:] = course(range(1000, 1500))
    timeline = stitch([first, second])
    assert (joins(timeline), alive(timeline)) == (NONE, [("a", 0, 999), ("b", 0, 499)])
    assert timeline.doubts == (
        "a and b cover the same steps and the loss or the data go on where the step starts again (a next "
        "stage, or a new counter?). They were taken as separate trainings, both live. "
        '`relation = "attempts"` in run.toml makes them attempts of one training.',
    )


def test_logs_that_begin_at_a_late_step_come_from_a_checkpoint():
    timeline = stitch([log("a", range(7750, 8100), start=0), log("b", range(7750, 9000), seed=1, start=HOUR)])
    assert joins(timeline) == [("rollback", "a", "b", 8099, 7750, 350)]


def test_weeks_apart_from_start_to_the_same_end_are_seeds():
    weeks = 14 * 24 * HOUR
    timeline = stitch([log("a", UP, start=0), log("b", UP, seed=1, start=weeks)])
    assert (joins(timeline), alive(timeline)) == (NONE, [("a", 0, 999), ("b", 0, 999)])
    assert timeline.doubts == (
        "a and b cover the same steps and end at the same step. They were taken as separate trainings, both "
        'live. `relation = "attempts"` in run.toml makes them attempts of one training.',
    )
    joined = stitch([log("a", UP, start=0), log("b", UP, seed=1, start=weeks)], relation="attempts")
    assert (joins(joined), alive(joined)) == ([("relaunch", "a", "b", 999, 0, 1000)], [("b", 0, 999)])
    assert joined.doubts == ()


def test_processes_at_the_same_time_are_not_joined():
    timeline = stitch([log("rank0", UP, start=0), log("rank1", range(500, 900), seed=1, start=450)])
    assert (joins(timeline), alive(timeline)) == (NONE, [("rank0", 0, 999), ("rank1", 500, 899)])
    assert "ran at the same time" in timeline.doubts[0]


def test_seeds_keep_their_own_rollbacks():
    logs = [
        log("s1-a", range(600), start=0),
        log("s1-b", range(400, 1000), seed=1, start=HOUR),
        log("s2-a", range(1000), seed=2, start=2 * HOUR),
        log("s2-b", range(900, 1200), seed=3, start=3 * HOUR),
    ]
    timeline = stitch(logs)
    assert joins(timeline) == [
        ("rollback", "s1-a", "s1-b", 599, 400, 200),
        ("rollback", "s2-a", "s2-b", 999, 900, 100),
    ]
    assert alive(timeline) == [("s1-a", 0, 399), ("s1-b", 400, 999), ("s2-a", 0, 899), ("s2-b", 900, 1199)]


def test_seeds_by_word_of_run_toml():
    logs = [log("a", UP), log("b", range(300), seed=1), log("c", range(700), seed=2)]
    timeline = stitch(logs, relation="seeds")
    assert joins(timeline) == NONE
    assert sorted(alive(timeline)) == [("a", 0, 999), ("b", 0, 299), ("c", 0, 699)]


def test_wall_clock_comes_before_names_and_steps():
    logs = [log("run-2", range(1200), start=0), log("run-1", range(1000, 2000), start=HOUR)]
    assert names(stitch(logs)) == ["run-2", "run-1"]


def test_numbers_in_names_decide_without_wall_clock():
    logs = [log(f"run-{k}", range(100 * k, 100 * k + 300), seed=k) for k in (10, 2, 1)]
    timeline = stitch(logs)
    assert names(timeline) == ["run-1", "run-2", "run-10"]
    assert timeline.doubts == (
        "run-10 begins 501 steps after the end of run-2: logs between them are missing, or they count steps "
        "differently. List all logs under `paths` in run.toml.",
    )
    assert [j.kind.value for j in timeline.joins] == ["rollback", "resume"]


def test_numbers_against_first_steps_are_doubted():
    logs = [log("run-6", range(1000, 2000)), log("run-5-blue", range(1700, 1900), seed=1)]
    timeline = stitch(logs)
    assert joins(timeline) == [("rollback", "run-5-blue", "run-6", 1899, 1000, 900)]
    assert timeline.doubts == (
        "Logs overlap in steps and not all have wall clock times. The order of the attempts was taken from "
        "the numbers in their names, against the order of their first steps. State another with `order` in "
        "run.toml.",
    )
    assert joins(stitch(logs, order=["run-6", "run-5-blue"])) == [
        ("rollback", "run-6", "run-5-blue", 1999, 1700, 300)
    ]


def test_rotated_logs_are_a_chain_whatever_their_numbers():
    logs = [log("out.1", range(500, 1000)), log("out.2", range(500)), log("out", range(1000, 1500))]
    timeline = stitch(logs)
    assert (names(timeline), timeline.doubts) == (["out.2", "out.1", "out"], ())


def test_first_steps_decide_where_names_say_nothing():
    logs = [log("red", range(300, 900), seed=1), log("blue", range(600))]
    timeline = stitch(logs)
    assert joins(timeline) == [("rollback", "blue", "red", 599, 300, 300)]
    assert "taken from their first steps" in timeline.doubts[0]


def test_an_order_that_names_no_attempt():
    with pytest.raises(UsageError, match=r"^order names 'c', which is no attempt\. Attempts: a, b$"):
        stitch([log("a", UP), log("b", range(1000, 1100))], order=["c"])


def test_an_unknown_relation():
    with pytest.raises(UsageError, match=r"^relation must be one of 'attempts', 'seeds', not 'seed'$"):
        stitch([log("a", UP)], relation="seed")


@pytest.mark.parametrize(
    "kind, kinds",
    [
        ("clean", ["resume", "resume"]),
        ("rollback", ["rollback"]),
        ("repeat_data", ["resume", "rollback"]),
        ("all_fail", ["rollback"] * 3),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_generated_trainings_are_joined_as_they_were_made(kind, kinds, seed):
    timeline = stitch(getattr(runs, kind)(seed).attempts)
    assert [j.kind.value for j in timeline.joins] == kinds
    assert timeline.doubts == ()


def test_names_are_in_natural_order_however_long_their_numbers():
    runs_ = ["run-2", "run-10", "run-" + "8" * 5000, "run-" + "9" * 5000, "run-1" + "0" * 5000]
    timeline = stitch([log(name, range(5), seed) for seed, name in enumerate(reversed(runs_))])
    assert sorted(runs_, key=natural) == runs_
    assert len(timeline.attempts) == 5
