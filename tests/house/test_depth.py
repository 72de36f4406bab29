"""A short run takes some members of a family and says how many it left; a long one takes all."""

from __future__ import annotations

import pytest
from tests import depth


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out here is not counted as left out of the tests."""
    monkeypatch.setattr(depth, "left", {})


def taken() -> list[object]:
    return [
        depth.few("abcdefghij", 4),
        depth.few("abcdefghij", 1),
        depth.few("ab", 4),
        depth.firsts(["a1", "b1", "a2"], "aba"),
        depth.examples(60),
        depth.turns("abcde", 4),
    ]


def test_a_short_run_takes_members_from_the_first_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "LONG", False)
    assert taken() == [["a", "d", "g", "j"], ["a"], ["a", "b"], ["a1", "b1"], 15, ["b", "e"]]
    assert depth.summary() == "short run: 64 members of families were left to `make long`"


def test_a_long_run_takes_all_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "LONG", True)
    assert taken() == [[*"abcdefghij"], [*"abcdefghij"], ["a", "b"], ["a1", "b1", "a2"], 60, [*"abcde"]]
    assert depth.summary() == "long run: every member of every family"
