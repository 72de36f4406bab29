"""What a join carries: what changed, what the overtaken steps cost, and whose training it goes on with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timeline.test_copies import EVENTS
from tests.timeline.test_timeline_laws import RUNS, log_of
from tests.timeline.timeline_logs import HOUR, course, joins, log, series

from chronicle.errors import UsageError
from chronicle.metrics.values import Axis
from chronicle.model import Attempt, Change, Role
from chronicle.story.restarts import restart
from chronicle.timeline import on_axis, stitch
from chronicle.timeline.joins import expected_at
from chronicle.workspace.config import AXES

UP, AGAIN, ON = range(1000), range(800, 1600), range(1000, 1500)


def changes(before, after):
    timeline = stitch([before, after], relation="attempts")
    return [(c.quantity, c.before, c.after, c.unit, c.at_step) for c in timeline.joins[0].changes]


def logged(name, steps, start, metric, values, seed=0):
    return log(name, steps, seed, start, **{metric: series(metric, steps, values, start)})


def test_a_learning_rate_is_compared_at_the_first_step_that_both_logged():
    decay = np.linspace(3e-4, 1e-4, 1600)
    before = logged("a", UP, 0, "lr", decay[:1000])
    assert changes(before, logged("b", AGAIN, HOUR, "lr", decay[800:])) == []
    assert changes(before, logged("b", AGAIN, HOUR, "lr", decay[800:] / 2)) == [
        ("learning rate", pytest.approx(decay[800]), pytest.approx(decay[800] / 2), None, 800)
    ]


def test_a_resume_is_compared_with_the_extension_of_what_was():
    decay = np.linspace(3e-4, 1e-4, 1600)
    before = logged("a", UP, 0, "lr", decay[:1000])
    assert changes(before, logged("b", ON, HOUR, "lr", decay[1000:1500])) == []
    ((quantity, was, now, unit, step),) = changes(before, logged("b", ON, HOUR, "lr", decay[:500]))
    assert (quantity, unit, step) == ("learning rate", None, 1000)
    assert (was, now) == (pytest.approx(decay[1000]), 3e-4)


def test_a_coarse_schedule_that_bends_has_not_changed():
    """A cosine that is told once an epoch lies up to half of its moves off the line that carries it on."""
    rates = [2.78e-2, 2.46e-2, 2.15e-2, 1.84e-2, 1.56e-2, 1.30e-2, 1.07e-2, 8.75e-3, 7.19e-3]
    before = logged("a", range(6), 0, "lr", rates[:6])
    assert changes(before, logged("b", range(6, 9), HOUR, "lr", rates[6:])) == []
    ((_, was, now, _, step),) = changes(before, logged("b", range(6, 9), HOUR, "lr", rates[:3]))
    assert (round(was, 5), now, step) == (0.00974, 2.78e-2, 6)


@pytest.mark.parametrize(
    ("steps", "again", "kind", "discarded"),
    [
        ([49, 99, 149, 199], range(149, 700, 50), "rollback", 100),  # from a checkpoint of step 100
        ([99, 199, 299], range(199, 800, 100), "rollback", 200),
        ([99, 199, 299], range(99, 800, 100), "relaunch", 300),
        ([99, 199, 299], range(124, 800, 25), "relaunch", 300),  # it logs more often
        # without what was measured before the first step
        ([0, 100, 200], range(100, 800, 100), "relaunch", 201),
        ([25], range(25, 400, 25), "relaunch", 1),  # it died after its first row
        ([375], range(375, 800, 25), "resume", 0),
    ],
)
def test_a_short_launch_at_regular_steps_tells_where_the_next_one_begins(steps, again, kind, discarded):
    timeline = stitch([log("a", steps, 0, 0), log("b", again, 1, HOUR)])
    assert [(join.kind.value, join.to_step) for join in timeline.joins] == [(kind, again[0])]
    assert timeline.joins[0].discarded_steps == discarded


@pytest.mark.parametrize("metric", ["consumed_samples", "consumed_tokens"])
@pytest.mark.parametrize(("first", "cursors"), [(512_000, []), (0, [0]), (600_000, [600_000])])
def test_the_data_cursor_goes_on_or_a_change_says_where_it_is(metric, first, cursors):
    before = logged("a", UP, 0, metric, 512.0 * np.arange(1000))
    noted = changes(before, logged("b", ON, HOUR, metric, first + 512.0 * np.arange(500)))
    word = metric.removeprefix("consumed_")
    assert noted == [(f"{word} read", pytest.approx(512_000), now, word, 1000) for now in cursors]


def test_a_replay_is_a_cursor_that_is_behind_at_the_same_step():
    before = logged("a", UP, 0, "consumed_samples", 8.0 * np.arange(1000))
    after = logged("b", AGAIN, HOUR, "consumed_samples", 8.0 * np.arange(800))
    assert changes(before, after) == [("samples read", 6400.0, 0.0, "samples", 800)]


@pytest.mark.parametrize(("epoch", "epochs"), [(5, []), (6, []), (0, [0.0])])
def test_an_epoch_that_is_counted_whole_goes_on_with_the_next_one(epoch, epochs):
    """Lightning logs 4, 4, ..., 5 and after a resume at the edge 6: nothing was left out."""
    before = logged("a", UP, 0, "epoch", np.arange(1000) // 170 * 1.0)
    after = logged("b", ON, HOUR, "epoch", epoch + np.arange(500) // 170 * 1.0)
    assert [now for _, _, now, *_ in changes(before, after)] == epochs


def test_facts_that_differ_are_changes_and_those_of_every_process_are_not():
    old = {"pid": 1, "host": "a", "seed": 1, "world_size": 64, "started_at": 5, "config/lr": "1e-4"}
    new = {"pid": 2, "host": "b", "seed": 2, "world_size": 32, "started_at": 9, "config/lr": 0.0001}
    before = replace(log("a", UP, 0, 0), facts={**old, "config/data": "v1", "nodes": 8})
    after = replace(log("b", AGAIN, 1, HOUR), facts={**new, "config/warm": True})
    assert changes(before, after) == [
        ("host", "a", "b", None, None),
        ("seed", 1, 2, None, None),
        ("world size", 64, 32, "processes", None),
        ("config/data", "v1", None, None, None),
        ("config/warm", None, True, None, None),
    ]


def test_names_of_nodes_have_no_unit_and_numbers_of_them_have():
    named = replace(log("a", UP, 0, 0), facts={"nodes": "n[1-4]"})
    other = replace(log("b", AGAIN, 1, HOUR), facts={"nodes": "n[1-3,5]"})
    assert changes(named, other) == [("nodes", "n[1-4]", "n[1-3,5]", None, None)]
    counted = [
        replace(log(name, UP, 0, at), facts={"nodes": n}) for name, n, at in (("a", 4, 0), ("b", 3, HOUR))
    ]
    assert changes(*counted) == [("nodes", 4, 3, "nodes", None)]


def test_a_hostile_configuration_costs_a_hundred_changes():
    before = replace(log("a", UP, 0, 0), facts={f"config/{k}": "x" * 10_000 for k in range(5000)})
    after = replace(log("b", AGAIN, 1, HOUR), facts={f"config/{k}": k for k in range(5000)})
    noted = changes(before, after)
    assert (len(noted), max(len(str(c[1])) for c in noted)) == (100, 200)


def test_discarded_seconds_tokens_and_samples_are_those_of_the_overtaken_steps():
    attempts = [
        log(
            name, steps, 0, start,
            tokens=series("tokens_seen", steps, 1000.0 * np.asarray(steps), start),
            samples=series("consumed_samples", steps, 2.0 * np.asarray(steps), start),
        )
        for name, steps, start in [("a", UP, 0), ("b", AGAIN, HOUR), ("c", range(700, 900), 2 * HOUR)]
    ]  # fmt: skip
    costs = [
        {k: v for k, v in join.evidence.items() if k.startswith("discarded")}
        for join in stitch(attempts, relation="attempts").joins
    ]
    assert costs == [
        {"discarded_s": 200, "discarded_tokens": 200_000, "discarded_samples": 400},
        {"discarded_s": 100 + 799, "discarded_tokens": (100 + 799) * 1000, "discarded_samples": 1798},
    ]


def test_a_branch_that_is_left_costs_what_it_was_and_gives_back_what_it_had_overtaken():
    timeline = stitch([log("a", UP, 0, 0), log("b", range(700, 750), 1, HOUR), log("c", ON, 2, 2 * HOUR)])
    assert [j.evidence.get("discarded_s") for j in timeline.joins] == [None, 49]
    assert [j.discarded_steps for j in timeline.joins] == [0, 50]


@pytest.mark.slow
@given(RUNS)
def test_changes_are_differences_and_costs_are_not_negative(attempts):
    for join in stitch(attempts).joins:
        assert all(c.before != c.after for c in join.changes if c.before == c.before)
        assert all(v >= 0 for k, v in join.evidence.items() if k in ("discarded_tokens", "discarded_samples"))


ANY = st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def hostile(draw, name):
    """Counters, rates and batch sizes of any floats there are, and facts of any kind."""
    first, n = draw(st.integers(0, 40)), draw(st.integers(1, 20))
    metrics = ("loss", "lr", "consumed_samples", "consumed_tokens", "batch_size", "epoch")
    values = st.lists(ANY, min_size=n, max_size=n)
    columns = [
        series(m, range(first, first + n), draw(values), draw(st.none() | st.integers(0, 99)))
        for m in metrics
    ]
    stated = draw(
        st.dictionaries(st.sampled_from(("seed", "config/x", "config/global_batch_size")), ANY | st.text())
    )
    return replace(log_of(name, columns), facts=stated)


@pytest.mark.slow
@given(hostile("a"), hostile("b"), st.sampled_from(AXES))
def test_whatever_is_logged_nothing_fails(a, b, axis):
    timeline = stitch([a, b], relation="attempts")
    for join in timeline.joins:
        assert restart(join, Axis(), gpus=8, tokens_per_step=1e6)
    try:
        assert on_axis(timeline, axis, tokens_per_step=1e300).timeline.attempts
    except UsageError as err:
        assert "axis" in str(err)


@pytest.mark.slow
@given(RUNS)
def test_a_log_that_follows_its_own_twin_has_not_changed(attempts):
    for attempt in attempts:
        timeline = stitch([attempt, replace(attempt, name="later")], relation="attempts", order=None)
        planned = [c for j in timeline.joins for c in j.changes if isinstance(c, Change)]
        assert [c for c in planned if c.quantity == "seed"] == []


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 60))
def test_what_is_expected_is_logged_or_on_the_line_of_the_last_samples(values, step):
    curve = series("lr", range(len(values)), values)
    at = expected_at(curve, step)
    if step <= len(values) - 1 or len(values) < 4:
        assert at == pytest.approx(float(np.interp(step, np.arange(len(values)), values)))
    else:
        line = np.polyfit(np.arange(len(values))[-6:], values[-6:], 1)
        assert at == pytest.approx(float(np.polyval(line, step)), rel=1e-6, abs=1e-3)


def test_the_roles_compared_are_those_a_reader_gives():
    attempt = logged("a", UP, 0, "consumed_samples", np.arange(1000.0))
    assert attempt.series["consumed_samples"].role is Role.SAMPLES
    assert course(UP).shape == (1000,)


@pytest.mark.parametrize("node, same", [(1, True), (2, False)])
def test_a_join_tells_whether_the_process_is_the_same(node, same):
    a = log(EVENTS.format(1700000000, 1, 41), UP, start=0)
    b = log(EVENTS.format(1700003600, node, 41), range(1000, 1500), 1, HOUR)
    assert stitch([a, b]).joins[0].evidence["same_process"] is same


def test_the_events_of_a_log_are_no_setting_that_changed():
    saved = {"event": "checkpoint-saved", "line": 21, "step": 999}
    before, after = log("a", UP), log("b", ON, 0, HOUR)
    before, after = replace(before, facts={"events": [saved]}), replace(after, facts={"events": []})
    assert changes(before, after) == []


def test_a_renamed_metric_does_not_break_the_course():
    after = stitch({"train/loss": (range(1000, 1500), course(range(1000, 1500)))}).attempts[0]
    timeline = stitch([log("a", UP), Attempt("b", ("b",), after.series)])
    assert joins(timeline) == [("resume", "a", "b", 999, 1000, 0)]
    assert timeline.joins[0].evidence["metric"] == "train/loss"


@pytest.mark.parametrize("relation", ["", "attempts"])
def test_a_log_of_steps_does_not_continue_one_of_epochs(relation):
    epochs = replace(log("cifar.log", range(1, 21)), axis="epoch")
    timeline = stitch([epochs, log("robot.log", range(200, 12000, 200))], relation=relation)
    if relation:
        assert joins(timeline) == [("resume", "cifar.log", "robot.log", 20, 200, 0)]
        return
    assert [b.evidence["because"] for b in timeline.step_backs] == ["axis"]
    assert timeline.doubts == (
        "cifar.log and robot.log count different things, epochs and steps. They were taken as separate "
        'trainings, both live. `relation = "attempts"` in run.toml makes them attempts of one training.',
    )
