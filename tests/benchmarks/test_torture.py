"""The short torture: kills and refusals, counted by operation. The long one is `benchmarks.torture`.

`make test` takes the kills alone, one of a build and one of each command; `make long` takes all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import hostile, torture
from tests.depth import few
from tests.readers.gold import examples

from chronicle.readers.facts import SIDE_FILES


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
        torture.killed_adds(place, dying),
        torture.killed_notes(place, dying),
    ]
    assert [tally.broken for tally in tallies] == [[], [], [], [], []]
    assert [tally.done for tally in tallies] == [kills, len(kinds), 2 * rounds, dying, dying]


@pytest.mark.slow
def test_a_command_that_is_refused_by_the_system_says_so(tmp_path: Path) -> None:
    """The limits of files and of rights: three commands under each, for one of them in a short run."""
    sizes = few((0, 4_000, 10**8), 1)
    tally = torture.limits(torture.Torture(tmp_path, 2), (*sizes, 10**8))
    assert tally.broken == []
    assert tally.done == 3 * (len(sizes) + 2)


@pytest.mark.slow
def test_no_secret_that_is_planted_is_published(tmp_path: Path) -> None:
    tally = hostile.secrets(tmp_path, 1, few(examples(), 5))
    assert tally.broken == []
    assert tally.done > len(SIDE_FILES)


def test_a_broken_promise_is_noted() -> None:
    tally = torture.Tally()
    tally.holds([], "an empty site")
    tally.holds("site", "a site")
    assert tally.broken == ["an empty site"]


def test_points_are_spread_from_the_first_to_the_last() -> None:
    assert torture.spread_over(100, 4) == [1, 34, 67, 100]
    assert torture.spread_over(3, 9) == [1, 2, 3]
    assert torture.spread_over(0, 5) == []
