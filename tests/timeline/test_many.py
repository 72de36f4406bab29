"""Stitching hundreds of attempts: as if each pair were looked at, in a time that grows as they do."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timeline.timeline_logs import HOUR, course, log, series

from chronicle.metrics.roles import assign
from chronicle.model import Attempt
from chronicle.timeline import copies, stitch
from chronicle.timeline.courses import Course, process, reached, side_by_side
from chronicle.timeline.courses import course as course_of
from chronicle.timeline.trainings import Tips


def some(rng, *options):
    return options[rng.integers(len(options))]


def log_of_two(rng, number: int) -> Attempt:
    """A log of one of two processes as several loggers write it: some of its steps, rounded, cut, with wrong
    values here and there and steps logged again, with a clock of its own."""
    steps = np.arange(rng.integers(30), rng.integers(50, 90), some(rng, 1, 1, 2, 5))
    values = np.round(course(range(90), rng.integers(2)), some(rng, 3, 16))[steps]
    values[rng.integers(len(steps), size=rng.integers(5))] = some(rng, 7.0, np.nan, np.inf)
    rows = np.sort(np.append(np.arange(len(steps)), rng.integers(len(steps), size=rng.integers(3))))
    metric = some(rng, "loss", "loss", "loss", "loss", "train_loss", "val_loss", "lr")
    loss = series(metric, steps[rows], values[rows], some(rng, None, None, 0.0, 30.0, 300.0))
    facts = some(rng, {}, {}, {}, {"host": "a", "pid": 1}, {"host": "a", "pid": 2})
    return Attempt(some(rng, "a/", "b/") + str(number), (str(number),), assign({metric: loss}), facts=facts)


def slow_one_of_each(courses: list[Course]) -> tuple[list[str], list[str]]:
    """Each log against each of those kept."""
    kept: list[Course] = []
    found: list[str] = []
    for one in sorted(courses, key=copies._worth):
        twins = ((i, copies.shift(other, one)) for i, other in enumerate(kept))
        twin, by = next(((i, by) for i, by in twins if by is not None), (None, 0))
        parts = (i for i, other in enumerate(kept) if copies.is_part(other, one))
        home = next(parts, None) if twin is None else twin
        if twin is not None:
            found.append(one.name)
        if home is None:
            kept.append(one)
        else:
            more = copies.with_series_of(kept[home].attempt, copies._shifted(one.attempt, by))
            kept[home] = course_of(more)
    return [one.name for one in kept], found


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_copies_are_those_that_a_look_at_each_pair_finds(seed, number):
    rng = np.random.default_rng(seed)
    courses = [course_of(log_of_two(rng, k)) for k in range(number)]
    kept, found = copies.without_copies(courses)
    assert ([one.name for one in kept], [one.name for one in found]) == slow_one_of_each(courses)


def slow_speaks_for(tip: Course, after: Course) -> tuple[bool, int, bool, bool, bool]:
    old, new = tip.attempt.facts, after.attempt.facts
    stated = [(old[name], new[name]) for name in ("run", "seed") if name in old and name in new]
    hosts = [p and p[0] for p in (process(tip.attempt), process(after.attempt))]
    return (
        not side_by_side(tip, after),
        sum(1 if str(a) == str(b) else -1 for a, b in stated),
        tip.name.rpartition("/")[0] == after.name.rpartition("/")[0],
        bool(reached(tip, after)),
        hosts[0] is not None and hosts[0] == hosts[1],
    )


def tip_of(rng, number: int) -> Course:
    first, folder = rng.integers(50), some(rng, "a/", "b/")
    steps = range(first, first + rng.integers(1, 60))
    one = log(folder + str(number), steps, number, some(rng, None, 0.0, 30.0, HOUR))
    stated = {"run": some(rng, "x", "y"), "seed": some(rng, 1, "1", 2), "host": some(rng, "m", "n"), "pid": 1}
    facts = {name: value for name, value in stated.items() if rng.integers(2)}
    return course_of(replace(one, facts=facts))


@given(st.integers(0, 2**32), st.integers(2, 9))
def test_the_home_is_that_for_which_most_speaks(seed, number):
    rng = np.random.default_rng(seed)
    *trainings, after = [tip_of(rng, k) for k in range(number + 1)]
    tips = Tips(len(trainings))
    for number, one in enumerate(trainings):
        tips[number] = one
    spoken = [slow_speaks_for(one, after) for one in trainings]
    best = [k for k, words in enumerate(spoken) if words == max(spoken)]
    home, decided = tips.home(range(len(trainings)), after)
    assert home in best
    assert decided or home == best[-1]
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


@pytest.mark.parametrize("kind", ["seeds", "seeds at a time", "no times", "crash loop", "rollbacks"])
def test_time_grows_with_the_attempts_and_not_with_their_pairs(kind):
    """A thousand attempts took a minute where each pair was looked at by itself."""
    logs = of_many(kind, 1000)
    began = time.process_time()
    timeline = stitch(logs)
    assert (len(timeline.attempts), timeline.copies) == (1000, ())
    assert time.process_time() - began < 4.0
