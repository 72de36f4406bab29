"""Arguments that a trainer prints as ``name ........ value``, one a line: facts of the run."""

from __future__ import annotations

import re

from chronicle.readers.columns import number
from chronicle.readers.hyperparameters import Scalar

# As bytes this finds a line that may hold one.
MARK = rb" \.{3,} "
_ARGUMENT = re.compile(r"(?:^|[\s\]:])(?P<name>\w{1,80}) \.{3,} (?P<value>\S.*)$")
_TRUTHS = {"True": True, "False": False}


def argument(text: str) -> tuple[str, Scalar] | None:
    """Name and value of the argument in a line; None where it holds none, or its value is None."""
    found = _ARGUMENT.search(text)
    if found is None or (cell := found["value"].strip()) == "None":
        return None
    value = number(cell)
    if value is None:
        return found["name"], _TRUTHS.get(cell, cell)
    whole = re.fullmatch(r"[+-]?\d{1,15}", cell)
    return found["name"], int(value) if whole else value
