"""No regular expression of a console reader can backtrack without end, whatever a line holds."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from chronicle.readers import console
from chronicle.readers.console import machine, pairs

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def expressions() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Every expression that a module of the console holds, also in a table of its own, by its name; and those
    of two tables that are compiled when they are first needed."""
    yield from (("pairs._WORDINGS", re.compile(pattern)) for _, pattern, _ in pairs._WORDINGS)
    yield from (("machine.ROWS", row.pattern) for row in machine.ROWS)
    for module in pkgutil.iter_modules(console.__path__):
        names = vars(importlib.import_module(f"{console.__name__}.{module.name}"))
        left = [
            (f"{module.name}.{name}", value) for name, value in names.items() if not name.startswith("__")
        ]
        while left:
            name, value = left.pop()
            if isinstance(value, re.Pattern):
                yield name, value
            elif isinstance(value, tuple | list | dict):
                inner = value.values() if isinstance(value, dict) else value
                left += [(name, expression) for expression in inner]
            elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
                left += [(name, expression) for expression in vars(value).values()]


def runs_away(tree: Any, literals: frozenset[int] | None = None) -> bool:
    """Whether a repeat without end stands in another, and no character of the outer parts its rounds.

    ``literals`` are the characters that each round of the repeats around this part must have; None outside
    of any. Where one of them is none that the inner repeat takes, each text is parted in one way alone.
    """
    if literals is not None:
        literals |= {argument for what, argument in tree if what is _constants.LITERAL}
    for what, argument in tree:
        endless = what in _REPEATS and argument[1] is _constants.MAXREPEAT
        if endless and literals is not None:
            takes = _compiler.compile(argument[2])
            if not any(takes.fullmatch(chr(literal)) is None for literal in literals):
                return True
        inside = frozenset[int]() if endless and literals is None else literals
        if any(runs_away(inner, inside) for inner in _inner(argument)):
            return True
    return False


def _inner(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from _inner(part)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    {
        r"(a+)+b": True,
        r"(?:a*b?)*c": True,
        r"(?:\w+ ?)+:": True,
        r"(x|\d+)*y": True,
        r"(?:\.\w+)+": False,
        r"(?:\[\d+\] )+": False,
        r"(?:\w{1,9} ?){1,9}": False,
        r"a+b+c+": False,
    }.items(),
)
def test_what_runs_away(expression: str, wanted: bool) -> None:
    assert runs_away(_parser.parse(expression)) is wanted


def test_no_expression_runs_away() -> None:
    all_of_them = dict.fromkeys(expressions())
    assert len(all_of_them) > 150
    assert [
        name
        for name, expression in all_of_them
        if runs_away(_parser.parse(expression.pattern, expression.flags & ~re.UNICODE))
    ] == []
