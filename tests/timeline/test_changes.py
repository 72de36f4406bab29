"""What a join carries: what changed, what the overtaken steps cost, and whose training it goes on with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timeline.test_timeline_laws import RUNS, log_of
from tests.timeline.timeline_logs import HOUR, alive, course, joins, log, series

from chronicle.classify.restarts import restart
from chronicle.errors import UsageError
from chronicle.model import Change, Role
from chronicle.timeline import on_axis, stitch
from chronicle.timeline.joins import expected
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


@pytest.mark.parametrize("metric", ["consumed_samples", "consumed_tokens"])
@pytest.mark.parametrize(("first", "said"), [(512_000, []), (0, [0]), (600_000, [600_000])])
def test_the_data_cursor_goes_on_or_a_change_says_where_it_is(metric, first, said):
    before = logged("a", UP, 0, metric, 512.0 * np.arange(1000))
    found = changes(before, logged("b", ON, HOUR, metric, first + 512.0 * np.arange(500)))
    word = metric.removeprefix("consumed_")
    assert found == [(f"{word} read", pytest.approx(512_000), now, word, 1000) for now in said]


def test_a_replay_is_a_cursor_that_is_behind_at_the_same_step():
    before = logged("a", UP, 0, "consumed_samples", 8.0 * np.arange(1000))
    after = logged("b", AGAIN, HOUR, "consumed_samples", 8.0 * np.arange(800))
    assert changes(before, after) == [("samples read", 6400.0, 0.0, "samples", 800)]


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
    found = changes(before, after)
    assert (len(found), max(len(str(c[1])) for c in found)) == (100, 200)


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
    assert [j.discarded_steps for j in timeline.joins] == [0, 49]


def facts(attempt, **stated):
    return replace(attempt, facts=stated)


def scaled(one, factor):
    return replace(one, values=one.values * factor)


def seeds(how):
    """Two seeds side by side, both killed and both rolled back, a little later each."""
    logs = [
        log("a1", UP, 0, 0), log("b1", range(900), 1, 10),
        log("a2", range(600, 1600), 2, HOUR), log("b2", range(500, 1500), 3, HOUR + 10),
    ]  # fmt: skip
    return [how(one, k % 2) for k, one in enumerate(logs)]


WAYS = {
    "run": lambda one, k: facts(one, run=f"run-{k}"),
    "seed": lambda one, k: facts(one, seed=k),
    "folder": lambda one, k: replace(one, name=f"seed-{k}/{one.name}"),
    "host": lambda one, k: facts(one, host=f"node-{k}", pid=one.name),
    "level": lambda one, k: log_of(one.name, [scaled(one.series["loss"], 1 + k)]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_restarts_of_two_seeds_that_interleave_go_each_to_their_own(way):
    timeline = stitch(seeds(WAYS[way]))
    pairs = [(b[-2:], a[-2:], lost) for _, b, a, _, _, lost in joins(timeline)]
    assert pairs == [("a1", "a2", 399), ("b1", "b2", 399)]
    assert [(n[-2:], a, b) for n, a, b in alive(timeline)] == [
        ("a1", 0, 599),
        ("b1", 0, 499),
        ("a2", 600, 1599),
        ("b2", 500, 1499),
    ]
    assert not any("may belong to any" in doubt for doubt in timeline.doubts)


def test_seeds_that_nothing_tells_apart_are_a_doubt():
    doubts = stitch(seeds(lambda one, k: one)).doubts
    assert [d for d in doubts if "may belong to any" in d] == [
        "a2 may belong to any of several trainings: no process, seed, folder or level of the loss tells; "
        "taken as going on from b1, the latest. Give each training a run of its own and name its logs in "
        "`paths` of run.toml."
    ]


def test_seeds_by_word_of_run_toml_keep_their_rollbacks():
    """One after the other, each killed and rolled back: the word says what those at step 0 are."""
    logs = [log("a1", UP, 0, 0), log("a2", range(600, 1600), 1, HOUR), log("b1", range(900), 2, 2 * HOUR),
            log("b2", range(500, 1500), 3, 3 * HOUR)]  # fmt: skip
    timeline = stitch(logs, relation="seeds")
    assert joins(timeline) == [
        ("rollback", "a1", "a2", 999, 600, 399),
        ("rollback", "b1", "b2", 899, 500, 399),
    ]
    assert [back.attempts for back in timeline.step_backs] == [("a2", "b1")]


def test_a_process_cannot_go_on_from_one_that_still_runs():
    """Seed b runs through; a dies and resumes meanwhile."""
    logs = [log("a1", range(500), 0, 0), log("b1", range(3000), 1, 10), log("a2", range(400, 1400), 2, 600)]
    assert joins(stitch(logs)) == [("rollback", "a1", "a2", 499, 400, 99)]


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
    told = draw(
        st.dictionaries(st.sampled_from(("seed", "config/x", "config/global_batch_size")), ANY | st.text())
    )
    return replace(log_of(name, columns), facts=told)


@given(hostile("a"), hostile("b"), st.sampled_from(AXES))
def test_whatever_is_logged_nothing_fails(a, b, axis):
    timeline = stitch([a, b], relation="attempts")
    for join in timeline.joins:
        assert restart(join, gpus=8, tokens_per_step=1e6)
    try:
        assert on_axis(timeline, axis, tokens_per_step=1e300).timeline.attempts
    except UsageError as err:
        assert "axis" in str(err)


@given(RUNS)
def test_a_log_that_follows_its_own_twin_has_not_changed(attempts):
    for attempt in attempts:
        timeline = stitch([attempt, replace(attempt, name="later")], relation="attempts", order=None)
        planned = [c for j in timeline.joins for c in j.changes if isinstance(c, Change)]
        assert len(timeline.copies) or not [c for c in planned if c.quantity == "seed"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 60))
def test_what_is_expected_is_logged_or_on_the_line_of_the_last_samples(values, step):
    one = series("lr", range(len(values)), values)
    at = expected(one, step)
    if step <= len(values) - 1 or len(values) < 4:
        assert at == pytest.approx(float(np.interp(step, np.arange(len(values)), values)))
    else:
        line = np.polyfit(np.arange(len(values))[-6:], values[-6:], 1)
        assert at == pytest.approx(float(np.polyval(line, step)), rel=1e-6, abs=1e-3)


def test_the_roles_compared_are_those_a_reader_gives():
    attempt = logged("a", UP, 0, "consumed_samples", np.arange(1000.0))
    assert attempt.series["consumed_samples"].role is Role.SAMPLES
    assert course(UP).shape == (1000,)
