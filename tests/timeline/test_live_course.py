"""Whatever was launched, and however its logs were kept, the live course is that of a slow obvious twin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.timeline.timeline_logs import HOUR, log

from chronicle.model import Attempt
from chronicle.timeline import live, stitch

LEAST = 12  # logged points of a launch, and of a copy: fewer that are equal may be chance


@dataclass(frozen=True)
class Launch:
    """The logged steps of a process (one a second), in a launch an hour after the one before."""

    steps: range
    number: int

    def log(self, name: str) -> Attempt:
        return log(name, self.steps, self.number, self.number * HOUR)


@st.composite
def histories(draw: Any) -> list[Launch]:
    """Each launch begins at the start, where a process had ended, or some points before; and what it logged
    may be cut in any place."""
    launches: list[Launch] = []
    ends = [0]
    for number in range(draw(st.integers(1, 6))):
        end = draw(st.sampled_from(ends[-3:]))
        back = draw(st.sampled_from([0, 0, *range(5, 60)]))
        first = end - back if end - back >= LEAST else 0
        length = draw(st.integers(LEAST, 150))
        ends.append(first + length)
        kept = draw(st.sampled_from([length, length, draw(st.integers(LEAST, length))]))
        launches.append(Launch(range(first, first + kept), number))
    return launches


def slow_course(launches: list[Launch]) -> dict[int, float]:
    """Launch by launch: it goes on from the latest one on the way here that got as far as it begins, takes
    the place of all from there on, and at the start the place of everything."""
    way: list[Launch] = []
    for after in launches:
        reaching = [k for k, launch in enumerate(way) if reaches(launch.steps, after.steps)]
        way = [*way[: reaching[-1] + 1 if reaching else len(way)], after]
    course: dict[int, float] = {}
    for launch in way:
        begin = -1 if launch.steps[0] <= 2 else launch.steps[0]
        course = {step: value for step, value in course.items() if step < begin}
        values = launch.log("").series["loss"].values
        course |= dict(zip(launch.steps, values.tolist(), strict=True))
    return course


def reaches(before: range, after: range) -> bool:
    return before[-1] + max(2, 0.1 * (before[-1] - before[0])) >= after[0]


def course_of(logs: list[Attempt]) -> dict[int, float]:
    steps, values = live(stitch(logs, relation="attempts").series["loss"])
    return dict(zip(steps.tolist(), values.tolist(), strict=True))


def prefix(attempt: Attempt, rows: int) -> Attempt:
    return replace(attempt, series={m: s.pick(slice(rows)) for m, s in attempt.series.items()})


def rounded(attempt: Attempt) -> Attempt:
    return replace(
        attempt, series={m: replace(s, values=np.round(s.values, 6)) for m, s in attempt.series.items()}
    )


@pytest.mark.slow
@given(histories(), st.data())
def test_logs_in_any_order_with_copies_of_them_and_of_their_beginnings(
    launches: list[Launch], data: Any
) -> None:
    logs = [launch.log(f"log-{launch.number}") for launch in launches]
    for k, whole in enumerate(list(logs)):
        for how in data.draw(st.lists(st.sampled_from(["whole", "beginning", "rounded"]), max_size=2)):
            rows = len(whole.series["loss"])
            kept = data.draw(st.integers(LEAST, rows)) if how == "beginning" else rows
            copy = prefix(rounded(whole) if how == "rounded" else whole, kept)
            name = f"copy-{k}-{len(logs)}"
            logs.append(replace(copy, name=name, sources=(name,)))
    expected = slow_course(launches)
    live_losses = course_of(data.draw(st.permutations(logs)))
    assert live_losses.keys() == expected.keys()
    assert [live_losses[step] for step in expected] == pytest.approx(list(expected.values()), abs=1e-6)


@pytest.mark.slow
@given(histories())
def test_one_log_to_which_every_launch_appends(launches: list[Launch]) -> None:
    goes_back = [after.steps[0] <= before.steps[-1] for before, after in pairwise(launches)]
    # of more than two pauses for each return nobody can tell whether they are evaluations
    assume(not any(goes_back) or goes_back.count(False) <= 2 * goes_back.count(True))
    parts = [launch.log("").series["loss"] for launch in launches]
    arrays = {
        name: np.concatenate([getattr(s, name) for s in parts]) for name in ("steps", "values", "times")
    }
    whole = replace(launches[0].log("log"), series={"loss": replace(parts[0], **arrays)})
    assert course_of([whole]) == slow_course(launches)
