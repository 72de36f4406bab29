"""Rollbacks that went back far enough, and those that did not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.timeline.timeline_logs import HOUR, log

from chronicle.classify import classify
from chronicle.timeline import stitch

RISE = 1.5 / 300


def diverged(name, steps, onset, seed=0, start=0.0):
    """A log whose loss rises without end from a step on (None: it does not)."""
    attempt = log(name, steps, seed, start)
    rise = np.zeros(len(steps)) if onset is None else np.maximum(0, np.asarray(steps) - onset) * RISE
    loss = attempt.series["loss"]
    return replace(attempt, series={"loss": replace(loss, values=loss.values + rise)})


def evidence(*attempts):
    diagnosis = classify(stitch(list(attempts)))
    return [
        {k: v for k, v in j.evidence.items() if k.split("_")[0] in ("inside", "left", "margin", "again")}
        for j in diagnosis.joins
    ]


def test_a_rollback_to_a_step_before_the_disturbance_says_how_far_before():
    (rollback,) = evidence(diverged("a", range(3000), 2500), diverged("b", range(2000, 4000), None, 1, HOUR))
    assert rollback["left_pattern"] == "divergence-no-spike"
    assert 2480 <= rollback["left_start_step"] <= 2600
    assert rollback["margin_steps"] == rollback["left_start_step"] - 2000
    assert not {"inside_pattern", "again_step"} & rollback.keys()


def test_a_rollback_into_the_disturbance_did_not_go_back_far_enough():
    (rollback,) = evidence(diverged("a", range(3000), 2300), diverged("b", range(2800, 4000), 2300, 1, HOUR))
    assert rollback["inside_pattern"] == "divergence-no-spike"
    assert 2280 <= rollback["inside_start_step"] <= 2450
    assert "margin_steps" not in rollback


def test_a_rollback_of_a_healthy_run_says_nothing():
    assert evidence(diverged("a", range(3000), None), diverged("b", range(2500, 4000), None, 1, HOUR)) == [{}]


def test_a_resume_is_not_judged():
    assert evidence(diverged("a", range(3000), 2500), diverged("b", range(3000, 4000), None, 1, HOUR)) == [{}]


@pytest.mark.parametrize("back_to", [2600, 1500])
def test_a_second_rollback_is_judged_by_the_attempt_that_held_the_step(back_to):
    rollbacks = evidence(
        diverged("a", range(3000), 2300),
        diverged("b", range(2800, 3200), None, 1, HOUR),
        diverged("c", range(back_to, 3500), None, 2, 2 * HOUR),
    )
    assert ("inside_pattern" in rollbacks[1]) is (back_to > 2450)


@pytest.mark.slow
@settings(max_examples=examples(15, 5))
@given(st.integers(1, 2999))
def test_inside_and_margin_are_never_both_said(to_step):
    (rollback,) = evidence(
        diverged("a", range(0, 3000, 5), 2300), diverged("b", range(to_step, 4000, 5), None, 1, HOUR)
    )
    assert not ({"inside_pattern", "margin_steps"} <= rollback.keys())
    if "margin_steps" in rollback:
        assert rollback["margin_steps"] > 0
