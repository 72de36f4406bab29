"""The short torture: kills and refusals, counted by operation. The long one is `benchmarks.torture`."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import torture


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "most"),
    [
        (torture.kills_by_operation, 3),
        (torture.killed_adds_and_notes, 4),
        (torture.refusals, 1),
        (torture.at_once, 1),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_no_promise_is_broken(what, most: int, tmp_path: Path) -> None:
    tally = what(torture.Torture(tmp_path, 2), most)
    assert tally.broken == []
    assert tally.done >= most


def test_a_broken_promise_is_noted() -> None:
    tally = torture.Tally()
    tally.holds([], "an empty site")
    tally.holds("site", "a site")
    assert tally.broken == ["an empty site"]


def test_points_are_spread_from_the_first_to_the_last() -> None:
    assert torture.spread_over(100, 4) == [1, 34, 67, 100]
    assert torture.spread_over(3, 9) == [1, 2, 3]
    assert torture.spread_over(0, 5) == []
