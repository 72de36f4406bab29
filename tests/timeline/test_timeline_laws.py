"""Laws of stitching over every kind of log: nothing lost, nothing invented, no two courses at once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.timeline.timeline_logs import HOUR, log, series

from chronicle.model import Attempt, JoinKind, Timeline
from chronicle.timeline import discarded, live, stitch
from chronicle.timeline.joins import COSTS

BIGGEST = 2**63 - 1
VALUES = st.floats(allow_nan=True, allow_infinity=True, width=32)
METRICS = ("loss", "val_loss", "lr", "<script>alert(1)</script>")


@st.composite
def wild_series(draw, metric):
    steps = draw(
        st.one_of(
            st.lists(st.integers(-BIGGEST - 1, BIGGEST), max_size=12),
            st.lists(st.integers(0, 30), max_size=40),
            st.builds(lambda a, n: list(range(a, a + n)), st.integers(0, 50), st.integers(0, 60)),
        )
    )
    values = draw(st.lists(VALUES, min_size=len(steps), max_size=len(steps)))
    start = draw(st.one_of(st.none(), st.integers(0, 200)))
    return series(metric, steps, values, start)


@st.composite
def wild_attempt(draw, name):
    metrics = draw(st.lists(st.sampled_from(METRICS), unique=True, max_size=4))
    return log_of(name, [draw(wild_series(m)) for m in metrics])


def log_of(name, columns):
    attempt = log(name, [])
    return Attempt(name, (name,), {s.metric: s for s in columns} | ({} if columns else dict(attempt.series)))


WILD = st.integers(0, 5).flatmap(lambda n: st.tuples(*(wild_attempt(f"log-{k}") for k in range(n)))).map(list)


@st.composite
def restarts(draw):
    """A training as launched: every attempt begins somewhere in what was reached before."""
    logs, reached, time = [], 0, 0.0
    for k in range(draw(st.integers(1, 5))):
        first = draw(st.sampled_from([0, *range(min(10, reached), reached + 1)]))
        length = draw(st.integers(2, 80))
        logs.append(log(f"a{k}", range(first, first + length), k, time if draw(st.booleans()) else None))
        reached, time = first + length, time + HOUR
    return logs


RUNS = st.one_of(WILD, restarts())
RELATIONS = st.sampled_from([None, "attempts", "seeds"])


def points(attempts) -> Counter:
    return Counter(
        (s.metric, int(step), np.float64(value).tobytes())
        for a in attempts
        for s in a.series.values()
        for step, value in zip(s.steps, s.values, strict=True)
    )


def comparable(timeline: Timeline):
    """Everything a timeline says, in a form that compares."""
    return (
        [(a.name, a.sources) for a in timeline.attempts],
        [(j.kind, j.before, j.after, j.from_step, j.to_step, j.discarded_steps) for j in timeline.joins],
        {
            m: [column.tobytes() for column in (t.steps, t.values, t.times, t.attempt, t.live)]
            for m, t in sorted(timeline.series.items())
        },
    )


@pytest.mark.slow
@given(RUNS, RELATIONS)
def test_no_point_is_lost_or_invented(attempts, relation):
    timeline = stitch(attempts, relation=relation)
    assert points(timeline.attempts) + points(timeline.copies) >= points(attempts)
    assert points(timeline.attempts) <= points(attempts)
    tracks = Counter(
        (t.metric, int(s), np.float64(v).tobytes())
        for t in timeline.series.values()
        for s, v in zip(t.steps, t.values, strict=True)
    )
    assert tracks == points(timeline.attempts)


@pytest.mark.slow
@given(RUNS, RELATIONS)
def test_stitching_is_idempotent(attempts, relation):
    once = stitch(attempts, relation=relation)
    assert comparable(stitch(list(once.attempts), relation=relation)) == comparable(once)


@pytest.mark.slow
@given(RUNS, RELATIONS, st.randoms(use_true_random=False))
def test_the_order_in_which_attempts_are_given_does_not_matter(attempts, relation, random):
    shuffled = list(attempts)
    random.shuffle(shuffled)
    timeline = stitch(attempts, relation=relation)
    again = stitch(shuffled, relation=relation)
    assert comparable(again) == comparable(timeline)
    assert (sorted(again.doubts), [c.name for c in again.copies]) == (
        sorted(timeline.doubts),
        [c.name for c in timeline.copies],
    )


@pytest.mark.slow
@given(RUNS)
def test_live_points_of_one_training_never_share_a_step(attempts):
    timeline = stitch(attempts, relation="attempts")
    home = trainings(timeline)
    for track in timeline.series.values():
        for training in set(home.values()):
            mine = track.live & np.isin(track.attempt, [k for k, t in home.items() if t == training])
            owners: dict[int, set[int]] = {}
            for step, attempt in zip(track.steps[mine], track.attempt[mine], strict=True):
                owners.setdefault(int(step), set()).add(int(attempt))
            assert all(len(a) == 1 for a in owners.values())


@pytest.mark.slow
@given(RUNS, RELATIONS)
def test_the_live_mask_is_that_of_a_slow_twin(attempts, relation):
    timeline = stitch(attempts, relation=relation)
    for track in timeline.series.values():
        assert track.live.tolist() == slow_live(timeline, track.metric)


@given(restarts())
def test_discarded_steps_are_the_dead_spans(attempts):
    """Of logs of every step, as many steps as points were discarded; one that ends an attempt and begins
    the next was not."""
    timeline = stitch(attempts, relation="attempts")
    loss = timeline.series["loss"]
    again = sum(j.to_step == j.from_step and not j.discarded_steps for j in timeline.joins)
    count = discarded(timeline)
    assert min(j.discarded_steps for j in timeline.joins) >= 0 if timeline.joins else True
    assert count["discarded_steps"] == np.count_nonzero(~loss.live) - again
    assert count["total_steps"] == count["live_steps"] + count["discarded_steps"]


@pytest.mark.slow
@given(RUNS)
def test_what_is_made_of_a_timeline_never_fails(attempts):
    timeline = stitch(attempts)
    count = discarded(timeline)
    assert set(count) == {"discarded_steps", *COSTS, "live_steps", "total_steps"}
    for track in timeline.series.values():
        steps, values = live(track)
        assert (steps[1:] >= steps[:-1]).all() and len(steps) == len(values) == track.live.sum()


@pytest.mark.slow
@settings(max_examples=examples(25))  # pandas is imported by the first example
@given(WILD)
def test_frame_has_every_point(attempts):
    timeline = stitch(attempts)
    table = timeline.frame()
    assert len(table) == sum(len(t) for t in timeline.series.values())
    assert list(table.columns) == ["run", "attempt", "metric", "role", "live", "step", "value", "time"]


@pytest.mark.parametrize("step", [BIGGEST, -BIGGEST - 1, -1, 0])
def test_extreme_steps_survive(step):
    timeline = stitch({"loss": ([step], [float("nan")])})
    assert timeline.series["loss"].steps.tolist() == [step]
    assert live(timeline.series["loss"])[0].tolist() == [step]


def trainings(timeline: Timeline) -> dict[int, int]:
    """Training of each attempt: those that no join leads into begin one."""
    source = {j.after: j.before for j in timeline.joins}

    def root(k):
        return root(source[k]) if k in source else k

    return {k: root(k) for k in range(len(timeline.attempts))}


def slow_live(timeline: Timeline, metric: str) -> list[bool]:
    """By the definition, point by point: alive is what lies on the way to the latest attempt of its training
    and was neither rolled back over nor logged again further on that way."""
    track = timeline.series[metric]
    source = {j.after: j for j in timeline.joins}
    home = trainings(timeline)
    empty = {k for k, a in enumerate(timeline.attempts) if not any(len(s) for s in a.series.values())}
    alive = []
    for step, k in zip(track.steps.tolist(), track.attempt.tolist(), strict=True):
        later, node = [], max(a for a in home if home[a] == home[k] and a not in empty)
        while node != k and node in source:
            later.append(node)
            node = source[node].before
        overtaken = node != k
        for a in later:
            join = source[a]
            overtaken |= join.kind is JoinKind.RELAUNCH
            overtaken |= join.kind is JoinKind.ROLLBACK and step >= join.to_step
            overtaken |= step in track.steps[track.attempt == a].tolist()
        alive.append(not overtaken)
    return alive
