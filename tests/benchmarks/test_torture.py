"""The short torture: kills and refusals, counted by operation. The long one is `benchmarks.torture`.

`make test` takes the kills alone, one of a build and one of each command; `make long` takes all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import torture
from tests.depth import few


@pytest.mark.slow
def test_no_promise_is_broken(tmp_path: Path) -> None:
    """One after the other in one workspace, as in the long torture: its sites are built from nothing once."""
    kills, rounds, dying = len(few(range(3), 1)), len(few(range(1), 0)), len(few(range(2), 1))
    kinds = few(torture.REFUSALS, 0)
    place = torture.Torture(tmp_path, 2)
    tallies = [
        torture.kills_by_operation(place, kills),
        torture.refusals(place, 1, kinds),
        torture.at_once(place, rounds, builds=2),
        torture.killed_adds_and_notes(place, dying),
    ]
    assert [tally.broken for tally in tallies] == [[], [], [], []]
    assert [tally.done for tally in tallies] == [kills, len(kinds), 2 * rounds, 2 * dying]


def test_a_broken_promise_is_noted() -> None:
    tally = torture.Tally()
    tally.holds([], "an empty site")
    tally.holds("site", "a site")
    assert tally.broken == ["an empty site"]


def test_points_are_spread_from_the_first_to_the_last() -> None:
    assert torture.spread_over(100, 4) == [1, 34, 67, 100]
    assert torture.spread_over(3, 9) == [1, 2, 3]
    assert torture.spread_over(0, 5) == []
