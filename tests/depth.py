"""How deep a run of the tests goes: `make test` takes some members of a long family, `make long` takes all.

The assertion is the same in both. A short run says at its end how many members it left to the long one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TypeVar

LONG = os.environ.get("CHRONICLE_LONG", "") not in ("", "0")
EXAMPLES = 100 if LONG else 15  # that hypothesis tries, where a test names no number

T = TypeVar("T")
left: dict[str, int] = {}  # members left to the long run, by the place in the code and the test there


def few(members: Iterable[T], short: int) -> list[T]:
    """All members in a long run; in a short one so many, spread evenly from the first to the last."""
    every = list(members)
    if LONG or len(every) <= short:
        return every
    _note(len(every) - short)
    return [every[round(k * (len(every) - 1) / max(short - 1, 1))] for k in range(short)]


def turns(members: Iterable[T], place: int, of: int = 3) -> list[T]:
    """All members in a long run; in a short one each ``of``-th, so that neighbouring places share them."""
    every = list(members)
    if LONG:
        return every
    taken = every[place % of :: of]
    _note(len(every) - len(taken))
    return taken


def firsts(members: Iterable[T], groups: Iterable[object]) -> list[T]:
    """All members in a long run; in a short one the first of each group, ``groups`` naming that of each."""
    every = list(members)
    if LONG:
        return every
    first: dict[object, T] = {}
    for member, group in zip(every, groups, strict=True):
        first.setdefault(group, member)
    _note(len(every) - len(first))
    return list(first.values())


def examples(long: int, short: int = 15) -> int:
    """How many examples hypothesis tries of a test that is worth ``long``, and ``short`` in a short run."""
    if LONG or long <= short:
        return long
    _note(long - short)
    return short


def summary() -> str:
    """What a run says of its depth at its end."""
    if LONG:
        return "long run: every member of every family"
    return f"short run: {sum(left.values()):,} members of families were left to `make long`"


def _note(n: int) -> None:
    caller = sys._getframe(2)
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    left[f"{caller.f_code.co_filename}:{caller.f_lineno} {test}"] = n
