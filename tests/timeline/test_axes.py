"""A timeline over samples, tokens and wall clock: where each step stands, and what cannot be derived."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.figures.runs import diagnosis, finding
from tests.timeline.test_timeline_laws import RUNS
from tests.timeline.timeline_logs import HOUR, log, series

from chronicle.build.produce import Product, produce
from chronicle.errors import UsageError
from chronicle.figures import draw
from chronicle.figures.scales import time_ticks
from chronicle.model import Fault, Place
from chronicle.story import tell
from chronicle.timeline import on_axis, stitch
from chronicle.workspace.config import AXES, RunConfig, WorkspaceConfig
from chronicle.workspace.folders import run_in

UP, AGAIN = range(1000), range(800, 1600)


def pair(metric, first, second, start=0.0):
    """Two attempts, the second a rollback, with one more metric each."""
    logs = [("a", UP, first, start), ("b", AGAIN, second, HOUR + start)]
    return stitch([log(n, s, k, t, x=series(metric, s, v, t)) for k, (n, s, v, t) in enumerate(logs)])


def places(timeline, metric="loss"):
    track = timeline.series[metric]
    return [track.steps[track.attempt == k].tolist() for k in range(len(timeline.attempts))]


def test_a_counter_is_taken_as_it_was_logged():
    timeline = pair("consumed_samples", 8.0 * np.arange(1000), 8.0 * np.arange(800, 1600))
    over = on_axis(timeline, "samples")
    assert (over.axis, over.how) == ("sample", "consumed_samples, as logged")
    assert places(over.timeline) == [[8 * k for k in UP], [8 * k for k in AGAIN]]
    assert [(j.from_step, j.to_step, j.discarded_steps) for j in over.timeline.joins] == [(7992, 6400, 200)]
    assert over.timeline.series["loss"].live.tolist() == timeline.series["loss"].live.tolist()
    assert {a.axis for a in over.timeline.attempts} == {"sample"}


def test_a_batch_that_grew_is_cumulated_and_a_rollback_goes_on_from_where_its_step_was():
    ramp = np.where(np.arange(1000) < 500, 10.0, 40.0)
    over = on_axis(pair("batch_size", ramp, np.full(800, 100.0)), "samples")
    first, second = places(over.timeline)
    assert (first[0], first[499], first[500], first[999]) == (0, 4990, 5030, 4990 + 500 * 40)
    assert (second[0], second[1]) == (first[800], first[800] + 100)
    assert over.how == "batch_size, cumulated"


@pytest.mark.parametrize(
    ("axis", "keys", "facts", "first", "how"),
    [
        ("tokens", {"tokens_per_step": 2e6}, {}, 2_000_000, "step × tokens_per_step"),
        ("samples", {}, {"config/global_batch_size": 512}, 512, "step × global_batch_size"),
        ("time", {}, {}, 1, "wall clock"),
    ],
)
def test_what_a_step_is_worth(axis, keys, facts, first, how):
    timeline = stitch([replace(log("a", UP, 0, 1.7e9), facts=facts)])
    over = on_axis(timeline, axis, **keys)
    assert (places(over.timeline)[0][:2], over.how) == ([0, first], how)


def test_a_batch_that_changed_at_a_resume_counts_from_there():
    sizes = {"a": 512, "b": 1024}
    logs = [
        replace(log(n, s, 0, t), facts={"config/global_batch_size": sizes[n]})
        for n, s, t in (("a", UP, 0), ("b", range(1000, 1200), HOUR))
    ]
    assert places(on_axis(stitch(logs), "samples").timeline)[1][:2] == [512_000, 513_024]


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("samples", "a has no samples axis: it needs a series of samples or of batch sizes, or a global "
         "batch size in its configuration"),
        ("tokens", "a has no tokens axis: it needs a series of tokens (or `tokens_per_step` in run.toml)"),
        ("time", "a has no time axis: it needs wall clock times"),
        ("epoch", "axis must be one of 'step', 'samples', 'tokens', 'time', not 'epoch'"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_is_said(axis, message):
    with pytest.raises(UsageError) as caught:
        on_axis(stitch([log("a", UP)]), axis)
    assert str(caught.value) == message


def test_findings_and_faults_stand_where_their_steps_stand():
    timeline = pair("consumed_samples", 8.0 * np.arange(1000), 8.0 * np.arange(800, 1600))
    timeline = replace(timeline, faults=(Fault(Place("k", 1), "Xid 79", kind="xid", at_step=900),))
    over = on_axis(timeline, "samples")
    moved = over.finding(finding("spike-fast-recovery", 850, 870, name="b"))
    assert (moved.start_step, moved.peak_step, moved.end_step) == (6800, 6800, 6960)
    assert over.finding(finding("level-shift", 850, None, name="a")).end_step is None
    assert over.timeline.faults[0].at_step == 7200


@pytest.mark.slow
def test_the_whole_run_is_drawn_over_it_and_zooms_are_not(tmp_path):
    timeline = pair("consumed_samples", 8.0 * np.arange(1000), 8.0 * np.arange(800, 1600))
    judged = diagnosis(finding("spike-fast-recovery", 900, 910, name="b"), joins=timeline.joins)
    events = tell(timeline, judged, RunConfig(), ()).events
    whole, zoom, *_ = draw(timeline, judged, tmp_path, events, title="T", x=on_axis(timeline, "samples"))
    assert "loss over samples 0 to 12\u202f792. 1 Fast-recovering spike: " in whole.alt
    assert whole.caption.endswith("The x axis counts samples (consumed_samples, as logged).")
    assert "over steps 900 to 908" in zoom.alt


def test_clocks_have_round_ticks():
    assert [label for _, label in time_ticks(0, 50, 8)] == ["0", "10 s", "20 s", "30 s", "40 s", "50 s"]
    assert [label for _, label in time_ticks(0, 5 * HOUR, 8)] == ["0", "1 h", "2 h", "3 h", "4 h", "5 h"]
    assert [label for _, label in time_ticks(0, 90 * 24 * HOUR, 4)] == ["0", "50 d"]
    assert len(time_ticks(0, 1e12, 8)) <= 9


@pytest.mark.slow
def test_an_entry_says_why_it_is_drawn_over_steps(tmp_path):
    (tmp_path / "run").mkdir()
    rows = "\n".join(f"{k},{3 - k / 1000}" for k in range(200))
    (tmp_path / "run" / "log.csv").write_text(f"step,loss\n{rows}\n")
    (tmp_path / "run" / "run.toml").write_text('x = "tokens"\n')
    entry = produce(Product(run_in(tmp_path / "run"), WorkspaceConfig(), tmp_path / "entry")).full_entry()
    (warning,) = entry.warnings
    assert warning.startswith("drawn over steps: log.csv has no tokens axis")


def slow_places(steps, sizes, base):
    """By the definition: each step adds what was last logged, one step at a time."""
    at, place, size_at = base, {}, dict(zip(steps, sizes, strict=True))
    for step in range(steps[0], steps[-1] + 1):
        if step > steps[0]:
            at += next(size_at[s] for s in steps if s >= step)
        place[step] = at
    return [place[s] for s in steps]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30), st.data())
def test_cumulated_batches_are_those_of_a_slow_twin(gaps, data):
    steps = np.cumsum(gaps).tolist()
    sizes = data.draw(st.lists(st.integers(1, 4096), min_size=len(steps), max_size=len(steps)))
    timeline = stitch([log("a", steps, x=series("batch_size", steps, sizes))])
    assert places(on_axis(timeline, "samples").timeline)[0] == slow_places(steps, sizes, steps[0] * sizes[0])


@settings(max_examples=examples(60))
@given(RUNS, st.sampled_from(AXES))
def test_no_point_is_lost_and_none_overtakes_another(attempts, axis):
    timeline = stitch(attempts)
    try:
        over = on_axis(timeline, axis, tokens_per_step=1e6)
    except UsageError:
        return
    for metric, track in timeline.series.items():
        moved = over.timeline.series[metric]
        assert moved.values.tobytes() == track.values.tobytes() and moved.live.tolist() == track.live.tolist()
        for k in set(track.attempt.tolist()):
            mine = track.attempt == k
            order = np.argsort(track.steps[mine], kind="stable")
            ahead = moved.steps[mine][order]
            assert (ahead[1:] >= ahead[:-1]).all()
    if axis == "step":
        assert over.timeline is timeline
