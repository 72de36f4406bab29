"""An attempt against those that it may have resumed: as if each pair were looked at, in linear time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples, few
from tests.timeline.timeline_logs import HOUR, log

from chronicle.classify import DEFAULTS, resumed
from chronicle.classify.measure import LINE_SAMPLES, Line, fit, log_step, positive
from chronicle.classify.resumed import AS_SURE_TIMES, JOIN_SAMPLES, MOST_PARENTS, resumes
from chronicle.classify.view import AttemptView, View, look
from chronicle.metrics.aliases import step_gap
from chronicle.timeline import stitch

KINDS = {
    "seeds": lambda k: range(100),
    "crash loop": lambda k: range(500, 520 + k % 7),
    "resumes": lambda k: range(100 * k, 100 * k + 100),
    "rollbacks": lambda k: range(50 * k, 50 * k + 100),
    "far rollbacks": lambda k: range(10 * k, 10 * k + 100),
    "sparse": lambda k: range(300 * k, 300 * k + 500, 3 + k % 2),
}


def run(kind: str, attempts: int, seed: int = 0) -> View:
    logs = [log(f"a{k:03}", KINDS[kind](k), seed + k, k * HOUR) for k in range(attempts)]
    return look(stitch(logs), DEFAULTS)


def slow_lines(parent: AttemptView, attempt: AttemptView) -> list[Line]:
    """Lines of all lengths that end at the first or the eighth step of the later attempt."""
    assert parent.loss is not None and attempt.loss is not None
    (old_steps, old), (steps, _) = positive(parent.loss), positive(attempt.loss)
    gap = DEFAULTS.join_gap * max(step_gap(parent.loss), step_gap(attempt.loss))
    if not old_steps[0] + gap < steps[0] <= old_steps[-1] + gap:
        return []
    lines = []
    for last in (steps[0], steps[JOIN_SAMPLES - 1]):
        before = old_steps < last
        near = log_step(old_steps) >= log_step(steps)[0] - DEFAULTS.horizon
        long = int((before & near).sum())
        lengths = {
            min(int(before.sum()), max(long, LINE_SAMPLES)),
            *(n for n in LINE_SAMPLES * 2 ** np.arange(6) if n < long),
        }
        made = [fit(old_steps[before][-n:], old[before][-n:]) for n in lengths]
        lines += [line for line in made if line is not None and line.n >= JOIN_SAMPLES]
    return lines


def slow_resumes(view: View, attempt: AttemptView) -> list[tuple[str, float, float]]:
    """Of each earlier attempt the surest calm line, and of these all that are as sure as the best."""
    assert attempt.loss is not None
    steps, _ = positive(attempt.loss)
    head = steps[: max(int((log_step(steps) < log_step(steps)[0] + DEFAULTS.horizon).sum()), JOIN_SAMPLES)]
    best: dict[str, Line] = {}
    for parent in view.attempts[: attempt.index]:
        lines = slow_lines(parent, attempt)
        calm = [line for line in lines if line.noise <= AS_SURE_TIMES * min(other.noise for other in lines)]
        if calm:
            best[parent.name] = min(calm, key=lambda line: line.error(head))
    sure = [
        (name, line)
        for name, line in best.items()
        if line.error(head) <= AS_SURE_TIMES * min(other.error(head) for other in best.values())
    ]
    return [(name, line.level, line.noise) for name, line in sure]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(5, 2))
@given(seed=st.integers(0, 2**32))
def test_the_joins_are_those_that_a_look_at_each_pair_finds(kind: str, seed: int) -> None:
    view = run(kind, 12, seed)
    for attempt in view.attempts[1:]:
        joins = [(join.parent.name, join.line.level, join.line.noise) for join in resumes(view, attempt)]
        assert sorted(joins) == sorted(slow_resumes(view, attempt))


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(KINDS, 3))
def test_lines_are_fitted_to_near_attempts_and_not_to_all_pairs(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt has the same number of neighbours, however long the run is."""
    fits: list[int] = []
    monkeypatch.setattr(resumed, "fit", lambda *stretch: fits.append(1) or fit(*stretch))
    counts = []
    for attempts in (50, 100):
        view = run(kind, attempts)
        fits.clear()
        for attempt in view.attempts:
            resumes(view, attempt)
        counts.append(len(fits))
    assert counts[1] <= 2.5 * counts[0]  # of all pairs there are four times as many
    assert counts[1] <= 100 * 2 * 7 * MOST_PARENTS
