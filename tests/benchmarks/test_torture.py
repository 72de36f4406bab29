"""The short torture: kills and refusals, counted by operation. The long one is `benchmarks.torture`."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import torture


@pytest.mark.slow
def test_no_promise_is_broken(tmp_path: Path) -> None:
    """One after the other in one workspace, as in the long torture: its sites are built from nothing once."""
    place = torture.Torture(tmp_path, 2)
    tallies = [
        torture.kills_by_operation(place, 3),
        torture.refusals(place, 1),
        torture.at_once(place, 1, builds=2),
        torture.killed_adds_and_notes(place, 2),
    ]
    assert [tally.broken for tally in tallies] == [[], [], [], []]
    assert [tally.done for tally in tallies] == [3, 3, 2, 4]


def test_a_broken_promise_is_noted() -> None:
    tally = torture.Tally()
    tally.holds([], "an empty site")
    tally.holds("site", "a site")
    assert tally.broken == ["an empty site"]


def test_points_are_spread_from_the_first_to_the_last() -> None:
    assert torture.spread_over(100, 4) == [1, 34, 67, 100]
    assert torture.spread_over(3, 9) == [1, 2, 3]
    assert torture.spread_over(0, 5) == []
