"""Stitching hundreds of attempts: as if each pair were looked at, in a time that grows as they do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import few
from tests.timeline.test_copies import some
from tests.timeline.test_timeline_laws import log_of
from tests.timeline.timeline_logs import HOUR, alive, joins, log
from tests.work import n_calls

from chronicle.model import Attempt
from chronicle.timeline import stitch
from chronicle.timeline.courses import Course, process
from chronicle.timeline.courses import course as course_of
from chronicle.timeline.relation import reached, side_by_side
from chronicle.timeline.trainings import LatestAttempts

UP = range(1000)


def slow_evidence(latest: Course, after: Course) -> tuple[bool, int, bool, bool, bool]:
    old, new = latest.attempt.facts, after.attempt.facts
    stated = [(old[name], new[name]) for name in ("run", "seed") if name in old and name in new]
    hosts = [p and p[0] for p in (process(latest.attempt), process(after.attempt))]
    return (
        not side_by_side(latest, after),
        sum(1 if str(a) == str(b) else -1 for a, b in stated),
        latest.name.rpartition("/")[0] == after.name.rpartition("/")[0],
        bool(reached(latest, after)),
        hosts[0] is not None and hosts[0] == hosts[1],
    )


def random_course(rng, number: int) -> Course:
    first, folder = rng.integers(50), some(rng, "a/", "b/")
    steps = range(first, first + rng.integers(1, 60))
    attempt = log(folder + str(number), steps, number, some(rng, None, 0.0, 30.0, HOUR))
    stated = {"run": some(rng, "x", "y"), "seed": some(rng, 1, "1", 2), "host": some(rng, "m", "n"), "pid": 1}
    facts = {name: value for name, value in stated.items() if rng.integers(2)}
    return course_of(replace(attempt, facts=facts))


@given(st.integers(0, 2**32), st.integers(2, 9))
def test_the_training_with_the_strongest_evidence_is_chosen(seed, number):
    rng = np.random.default_rng(seed)
    *trainings, after = [random_course(rng, k) for k in range(number + 1)]
    latest = LatestAttempts(len(trainings))
    for number, training in enumerate(trainings):
        latest[number] = training
    evidence = [slow_evidence(training, after) for training in trainings]
    best = [k for k, scores in enumerate(evidence) if scores == max(evidence)]
    chosen, decided = latest.best_training(np.arange(len(trainings)), after)
    assert chosen in best
    assert decided or chosen == best[-1]
    assert decided or len(best) > 1


def of_many(kind: str, number: int) -> list[Attempt]:
    """Attempts of one run: seeds at a time or one after the other, relaunches, a crash loop, resumes."""
    made = {
        "seeds": lambda k: (range(100), k * HOUR),
        "seeds at a time": lambda k: (range(100), k * 1.0),
        "no times": lambda k: (range(20 + 37 * k % 100), None),
        "crash loop": lambda k: (range(500, 520 + k % 7), k * HOUR),
        "rollbacks": lambda k: (range(50 * k, 50 * k + 100), k * HOUR),
    }[kind]
    return [log(f"a{k}", made(k)[0], k, made(k)[1]) for k in range(number)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(["seeds", "seeds at a time", "no times", "crash loop", "rollbacks"], 2))
def test_time_grows_with_the_attempts_and_not_with_their_pairs(kind):
    """A thousand attempts took a minute where each pair was looked at by itself."""
    timeline = stitch(of_many(kind, 1000))
    assert (len(timeline.attempts), timeline.copies) == (1000, ())
    few, many = (n_calls(partial(stitch, of_many(kind, number))) for number in (100, 200))
    assert many < 3 * few  # each pair looked at: four times as many


def facts(attempt, **stated):
    return replace(attempt, facts=stated)


def scaled(series, factor):
    return replace(series, values=series.values * factor)


def seeds(how):
    """Two seeds side by side, both killed and both rolled back, a little later each."""
    logs = [
        log("a1", UP, 0, 0), log("b1", range(900), 1, 10),
        log("a2", range(600, 1600), 2, HOUR), log("b2", range(500, 1500), 3, HOUR + 10),
    ]  # fmt: skip
    return [how(attempt, k % 2) for k, attempt in enumerate(logs)]


WAYS = {
    "run": lambda attempt, k: facts(attempt, run=f"run-{k}"),
    "seed": lambda attempt, k: facts(attempt, seed=k),
    "folder": lambda attempt, k: replace(attempt, name=f"seed-{k}/{attempt.name}"),
    "host": lambda attempt, k: facts(attempt, host=f"node-{k}", pid=attempt.name),
    "level": lambda attempt, k: log_of(attempt.name, [scaled(attempt.series["loss"], 1 + k)]),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_restarts_of_two_seeds_that_interleave_go_each_to_their_own(way):
    timeline = stitch(seeds(WAYS[way]))
    pairs = [(b[-2:], a[-2:], lost) for _, b, a, _, _, lost in joins(timeline)]
    assert pairs == [("a1", "a2", 400), ("b1", "b2", 400)]
    assert [(n[-2:], a, b) for n, a, b in alive(timeline)] == [
        ("a1", 0, 599),
        ("b1", 0, 499),
        ("a2", 600, 1599),
        ("b2", 500, 1499),
    ]
    assert not any("may belong to any" in doubt for doubt in timeline.doubts)


def test_seeds_that_nothing_tells_apart_are_a_doubt():
    doubts = stitch(seeds(lambda attempt, k: attempt)).doubts
    assert [d for d in doubts if "may belong to any" in d] == [
        "a2 may belong to any of several trainings: no process, seed, folder or loss level decides. It was "
        "taken to continue b1, the latest one. Give each training a run of its own and name its logs in "
        "`paths` of run.toml."
    ]


def test_seeds_by_word_of_run_toml_keep_their_rollbacks():
    """One after the other, each killed and rolled back: the word says what those at step 0 are."""
    logs = [log("a1", UP, 0, 0), log("a2", range(600, 1600), 1, HOUR), log("b1", range(900), 2, 2 * HOUR),
            log("b2", range(500, 1500), 3, 3 * HOUR)]  # fmt: skip
    timeline = stitch(logs, relation="seeds")
    assert joins(timeline) == [
        ("rollback", "a1", "a2", 999, 600, 400),
        ("rollback", "b1", "b2", 899, 500, 400),
    ]
    assert [back.attempts for back in timeline.step_backs] == [("a2", "b1")]


def test_a_process_cannot_go_on_from_one_that_still_runs():
    """Seed b runs through; a dies and resumes meanwhile."""
    logs = [log("a1", range(500), 0, 0), log("b1", range(3000), 1, 10), log("a2", range(400, 1400), 2, 600)]
    assert joins(stitch(logs)) == [("rollback", "a1", "a2", 499, 400, 100)]
